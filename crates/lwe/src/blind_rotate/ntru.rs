//! Blind rotation on NTRU ciphertexts: the code that its two variants share.
//!
//! The accumulator is one polynomial modulo `Q`.
//!
//! 1. The product of the test polynomial with an NTRU' encryption of `1 / f` is an NTRU encryption
//!    of the test polynomial: the initial accumulator.
//! 2. One external product for each coordinate rotates it, by CMUX
//!    ([`ntru_cmux`](super::ntru_cmux)) or by automorphisms
//!    ([`ntru_automorphism`](super::ntru_automorphism)).
//! 3. A ring key switch converts it to a ciphertext under the ring secret modulo `q0`.
//!
//! Key generation samples `f` and erases it afterwards.

use std::ops::Range;

use bellerophon_ring::{Coeff, Modulus, Poly, Result, aligned::AlignedVec};
use rand::CryptoRng;

use super::{ntru_automorphism::AutomorphismRotation, ntru_cmux::Cmux, ntru_parts::Streams};
use crate::engine::NtruRotation;
use crate::external_product::Accumulator;
use crate::modulus_switching::Mod2NCiphertext;
use crate::ntru::switch::{RingSwitchKey, SeededRingSwitchKey};
use crate::ntru::{NtruContext, NtruGadgetCiphertext, NtruSecret};
use crate::params::Params;
use crate::secret::SecretKey;
use crate::test_polynomial::TestPolynomial;

/// The compressed key. An NTRU ciphertext has no mask that a seed could replace, so only the
/// ring-switching key is compressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeededNtruRotationKey {
    pub(super) own: NtruKeyMaterial,
    pub(super) switch: SeededRingSwitchKey,
}

/// The expanded NTRU blind-rotation key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NtruRotationKey {
    pub(super) own: NtruKeyMaterial,
    pub(super) switch: RingSwitchKey,
}

/// All ciphertexts under `f`: the key without the ring key switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NtruKeyMaterial {
    /// NTRU' of `1 / f`.
    entry: NtruGadgetCiphertext,
    steps: Steps,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Steps {
    Ternary(Cmux),
    Any(Box<AutomorphismRotation>),
}

impl SeededNtruRotationKey {
    /// Encrypts the coordinates of an LWE secret under a fresh `f`, and `f` under the ring secret.
    pub(super) fn generate<R: CryptoRng + ?Sized>(
        context: &NtruContext,
        sigma: f64,
        lwe: &[i64],
        ring: &SecretKey,
        rng: &mut R,
    ) -> Result<Self> {
        // `secret` is erased on return: later steps need only the switch to the ring secret.
        let secret = NtruSecret::generate(context, rng)?;
        let switch = SeededRingSwitchKey::generate(context, sigma, &secret, ring, rng)?;
        Ok(Self { own: NtruKeyMaterial::generate(context, &secret, lwe, rng)?, switch })
    }

    pub(super) fn expand(&self, context: &NtruContext) -> NtruRotationKey {
        NtruRotationKey { own: self.own.clone(), switch: self.switch.expand(context) }
    }
}

impl NtruKeyMaterial {
    pub(crate) fn generate<R: CryptoRng + ?Sized>(
        context: &NtruContext,
        secret: &NtruSecret,
        lwe: &[i64],
        rng: &mut R,
    ) -> Result<Self> {
        // Step 1: NTRU' of 1 / f, which encrypts the test polynomial.
        let entry = NtruGadgetCiphertext::of_values(context, secret, secret.inverse(), rng);
        // Step 2: the coordinates of the LWE secret.
        let streams = Streams::new(rng);
        let steps = match context.spec().rotation {
            NtruRotation::Ternary => Steps::Ternary(Cmux::generate(context, secret, lwe, &streams)),
            NtruRotation::Any { window } => Steps::Any(Box::new(AutomorphismRotation::generate(
                context, secret, lwe, window, &streams,
            )?)),
        };
        Ok(Self { entry, steps })
    }

    /// The rows of a part in the layout that a rotation reads.
    pub(super) fn arrange(context: &NtruContext, rows: AlignedVec) -> AlignedVec {
        match context.spec().rotation {
            NtruRotation::Ternary => Cmux::of_rows(context, &rows).into_words(),
            NtruRotation::Any { .. } => rows,
        }
    }

    /// The key of the [arranged](Self::arrange) rows of all coordinates and of the
    /// [`shared`](Self::shared) rows. The caller has checked that they belong to the context.
    pub(super) fn of_rows(
        context: &NtruContext,
        coordinates: AlignedVec,
        shared: &[u64],
    ) -> Result<Self> {
        // The shared rows begin with NTRU' of 1 / f.
        let (entry, rest) = shared.split_at(context.digit_words());
        let steps =
            match context.spec().rotation {
                NtruRotation::Ternary => Steps::Ternary(Cmux::of_words(coordinates)),
                NtruRotation::Any { window } => Steps::Any(Box::new(
                    AutomorphismRotation::of_rows(context, window, coordinates, rest)?,
                )),
            };
        Ok(Self { entry: NtruGadgetCiphertext::of_rows(context, entry), steps })
    }

    /// The rows of some coordinates. Layout, outermost first: coordinate, digit, and for the
    /// ternary rotation sign.
    pub(super) fn rows(&self, context: &NtruContext, coordinates: Range<usize>) -> AlignedVec {
        match &self.steps {
            Steps::Ternary(cmux) => cmux.rows(context, coordinates),
            Steps::Any(rotation) => {
                // One NTRU' ciphertext for each coordinate, already in the compressed layout.
                let element = context.digit_words();
                let words = coordinates.start * element..coordinates.end * element;
                copied(&rotation.coordinates()[words])
            }
        }
    }

    /// The rows that belong to no coordinate: NTRU' of `1 / f`, and for the general rotation
    /// `evk_n` and the automorphism keys.
    pub(super) fn shared(&self) -> AlignedVec {
        let entry = self.entry.rows();
        let all: Vec<u64> = match &self.steps {
            Steps::Ternary(_) => return copied(entry),
            Steps::Any(rotation) => {
                std::iter::once(entry).chain(rotation.rest()).flatten().copied().collect()
            }
        };
        copied(&all)
    }

    /// Words in memory.
    pub(crate) fn words(&self) -> usize {
        let steps = match &self.steps {
            Steps::Ternary(cmux) => cmux.words(),
            Steps::Any(rotation) => rotation.words(),
        };
        self.entry.rows().len() + steps
    }

    /// Bytes of all rows packed to the bits of the modulus.
    pub(crate) fn packed_bytes(&self, modulus: &Modulus) -> usize {
        (self.words() * modulus.bits() as usize).div_ceil(8)
    }

    /// Rotates test polynomials by the exponents of their values, modulo `Q` under `f`.
    pub(crate) fn rotate(
        &self,
        context: &NtruContext,
        group: &[(&TestPolynomial, &Mod2NCiphertext)],
    ) -> Vec<Poly<Coeff>> {
        match &self.steps {
            Steps::Ternary(cmux) => cmux.rotate(context, &self.entry, group),
            Steps::Any(rotation) => {
                // The order of the coordinates differs from value to value, so no group is formed.
                let rotate = |&(table, value)| rotation.rotate(context, &self.entry, table, value);
                group.iter().map(rotate).collect()
            }
        }
    }
}

impl NtruRotationKey {
    /// Words in memory.
    pub(super) fn words(&self) -> usize {
        self.own.words() + self.switch.words()
    }

    /// The numbers of NTRU' ciphertexts for each coordinate and for no coordinate. The latter are
    /// NTRU' of `1 / f`, and for the general rotation `evk_n` (minus the sum of the coordinates),
    /// the automorphisms of the window, and `X -> 1 / X`.
    pub(super) fn ciphertexts(context: &NtruContext) -> [usize; 2] {
        match context.spec().rotation {
            NtruRotation::Ternary => [2, 1],
            NtruRotation::Any { window } => [1, 1 + 2 + window],
        }
    }

    /// Serialized bytes: all rows packed to the bits of `Q`, and the compressed ring key switch.
    pub(super) fn wire_bytes(params: &Params, context: &NtruContext) -> usize {
        let bits = context.gadget().modulus().bits() as usize;
        let [each, shared] = Self::ciphertexts(context);
        let words = (each * params.spec().dimension + shared) * context.digit_words();
        (words * bits).div_ceil(8) + SeededRingSwitchKey::wire_bytes(context)
    }

    /// Rotates test polynomials by the exponents of their values, and switches the results to the
    /// ring secret modulo `q0`.
    pub(super) fn rotate(
        &self,
        context: &NtruContext,
        group: &[(&TestPolynomial, &Mod2NCiphertext)],
    ) -> Vec<Accumulator> {
        // Step 1: blind rotation modulo Q under f. Step 2: key switch to the ring secret.
        let rotated = self.own.rotate(context, group);
        rotated.into_iter().map(|c| self.switch.apply(context, c)).collect()
    }
}

/// A copy of the words in an aligned buffer.
pub(super) fn copied(words: &[u64]) -> AlignedVec {
    let mut copy = AlignedVec::zeroed(words.len());
    copy.copy_from_slice(words);
    copy
}
