//! The engines of blind rotation: what is chosen of each.

/// The gadget decomposition of the accumulator in an RGSW external product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RgswGadget {
    /// One digit, the whole residue modulo `q0`, over the two primes `q0, q'`. The product is
    /// divided by `q'`. A step costs eight transforms. This gadget has the lowest noise.
    SpecialModulus {
        /// The special prime `q' = 1 mod 2n'`.
        modulus: u64,
    },
    /// Signed digits in base `2^base_log` over `q0` alone. The digits cover the upper
    /// `base_log * count` bits, and the bits below are rounded away. With two digits a step costs
    /// six transforms. The noise is larger.
    Digits {
        /// Bits of a digit.
        base_log: u32,
        /// Number of digits, one or two.
        count: usize,
    },
}

/// The parameters of an NTRU engine: blind rotation on one polynomial modulo `Q` under an NTRU
/// secret, then a key switch to the ring secret modulo `q0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NtruSpec {
    /// `Q`, a prime `1 mod 2n'` other than `q0`, within the NTRU bound of the security table.
    pub modulus: u64,
    /// Bits of a digit of the external product. The digits cover the upper `base_log * count` bits
    /// of `Q`, and the bits below are rounded away.
    pub base_log: u32,
    /// Number of these digits. An external product costs `count + 1` transforms.
    pub count: usize,
    /// The variant of blind rotation.
    pub rotation: NtruRotation,
    /// Bits of a digit of the ring key switch modulo `q0`.
    pub switch_base_log: u32,
    /// Number of these digits.
    pub switch_count: usize,
}

/// The two variants of NTRU blind rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NtruRotation {
    /// CMUX rotation for ternary LWE secrets: one external product and two NTRU' ciphertexts for
    /// each coordinate, with all `2n'` exponents.
    Ternary,
    /// The rotation of Xiang et al. for LWE secrets with coordinates of any size, including
    /// [`SecretKind::Bounded`](bellerophon_mlwe::SecretKind): one external product, about one
    /// automorphism and one NTRU' ciphertext for each coordinate, with even exponents of the mask.
    Any {
        /// Automorphism keys exist for `5^1` to `5^window`. More keys mean fewer automorphisms.
        window: usize,
    },
}

/// The engine of a blind rotation: the kind of its ciphertexts, with their parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// RGSW ciphertexts under the ring secret.
    Rgsw(RgswGadget),
    /// NTRU ciphertexts, with fewer transforms, smaller keys and more noise.
    Ntru(NtruSpec),
}

impl Engine {
    /// The parameters of the NTRU engine, or `None` for RGSW.
    pub fn ntru(&self) -> Option<&NtruSpec> {
        match self {
            Self::Rgsw(_) => None,
            Self::Ntru(spec) => Some(spec),
        }
    }

    /// Whether the engine supports any LWE secret. Such an engine needs even exponents of the mask.
    pub(crate) fn allows_any_secret(&self) -> bool {
        self.ntru().is_some_and(|ntru| matches!(ntru.rotation, NtruRotation::Any { .. }))
    }
}
