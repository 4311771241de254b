//! Parameter sets of the NTRU engine.

use bellerophon_mlwe::security::{SecretKind, Security};
use bellerophon_ring::prime;

use crate::engine::{Engine, NtruRotation, NtruSpec};
use crate::params::ParamsSpec;

/// Parameter sets of the NTRU engine, by the degree of their tables.
///
/// All sets except the paper's have at least 128 bits of security by the security table of NTRU
/// keys, which includes two bits of margin. They use an LWE secret of dimension 1024 and weight
/// 192, and a `q0` of 45 bits. The noise is the predicted standard deviation of the result of a
/// look-up, as a fraction of a period. Multiplied by the width of the output encoding it is the
/// error of a result in addition to the index error. The index error is the predicted standard
/// deviation for fresh values under the ring secret, in steps of a table of `N`. It includes the
/// switch to the LWE secret. Transforms are the average of a coordinate.
///
/// | set | `N` | `log2 Q` | digits | bits of security | transforms | noise | index error |
/// | --- | --- | --- | --- | --- | --- | --- | --- |
/// | [`Paper128`](Self::Paper128) | 1024 | 19.9 | 5 x 4 | 129 | 10.9 | `2^-6.9` | 52.8 |
/// | [`N2048`](Self::N2048) | 2048 | 28.6 | 4 x 6 | 136 | 5 | `2^-12.3` | 4.0 |
/// | [`N4096`](Self::N4096) | 4096 | 44 | 2 x 14 | 134 | 3 | `2^-19.2` | 4.0 |
/// | [`N4096OneDigit`](Self::N4096OneDigit) | 4096 | 44 | 1 x 21 | 134 | 2 | `2^-12.4` | 4.0 |
/// | [`N8192`](Self::N8192) | 8192 | 46 | 2 x 15 | 190 | 3 | `2^-20.0` | 4.2 |
/// | [`N8192OneDigit`](Self::N8192OneDigit) | 8192 | 50 | 1 x 24 | 175 | 2 | `2^-14.9` | 4.2 |
///
/// Security would allow a larger `Q` at 8192. Primes below `2^50` are faster, and primes below
/// `2^46` are the fastest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NtruSet {
    /// The set of Xiang et al., whose keys and multiplications `pegasus-ntru` counts: `n = 512`,
    /// `q = N = 1024`, base `2^4`, general rotation. It is within two bits of the NTRU bound and
    /// therefore marked [`Security::Insecure`]. It serves comparisons only, through
    /// [`blind_rotate_batch`](crate::blind_rotate_batch) and
    /// [`paper::Ntru128`](crate::paper::Ntru128). With [`Evaluator`](crate::Evaluator) the guard
    /// band takes the whole table: the modulus of 14 bits is too small for the ring-packed key
    /// switch to dimension 512, whose noise comes from more digits than that of a table of LWE
    /// ciphertexts.
    Paper128,
    /// Small keys and coarse tables.
    N2048,
    /// The accuracy of RGSW tables of this degree.
    N4096,
    /// The fastest set.
    N4096OneDigit,
    /// Tables of twice the resolution.
    N8192,
    /// Tables of twice the resolution, with two transforms for each coordinate.
    N8192OneDigit,
}

impl NtruSet {
    /// All sets.
    pub const ALL: [Self; 6] = [
        Self::Paper128,
        Self::N2048,
        Self::N4096,
        Self::N4096OneDigit,
        Self::N8192,
        Self::N8192OneDigit,
    ];

    /// The specification of the set.
    pub fn spec(self) -> bellerophon_ring::Result<ParamsSpec> {
        let ternary = NtruRotation::Ternary;
        match self {
            // The parameters of the paper, except for the prime 12289 instead of 2^14.
            Self::Paper128 => Ok(ParamsSpec {
                dimension: 512,
                modulus: 12289,
                secret: SecretKind::Ternary,
                sigma: 3.7,
                key_switch_base_log: 1,
                key_switch_digits: 14,
                ring_degree: 1024,
                ring_modulus: 67_104_769,
                engine: Engine::Ntru(NtruSpec {
                    modulus: 995_329,
                    base_log: 4,
                    count: 5,
                    rotation: NtruRotation::Any { window: 8 },
                    switch_base_log: 4,
                    switch_count: 6,
                }),
                ring_secret: SecretKind::Ternary,
                ring_sigma: 3.2,
                security: Security::Insecure,
            }),
            // Q, the bits of a digit and the number of digits.
            Self::N2048 => of_degree(2048, 406_818_817, 6, 4, ternary),
            Self::N4096 => of_degree(4096, 17_592_186_028_033, 14, 2, ternary),
            Self::N4096OneDigit => of_degree(4096, 17_592_186_028_033, 21, 1, ternary),
            Self::N8192 => of_degree(8192, 70_368_743_669_761, 15, 2, ternary),
            Self::N8192OneDigit => of_degree(8192, 1_125_899_906_826_241, 24, 1, ternary),
        }
    }
}

impl NtruSpec {
    /// The engine with ternary rotation for tables of a degree, whose noise is negligible against
    /// the index error: that of the [`NtruSet`] with enough digits. `None` if the security table
    /// has no NTRU keys of this degree, unless [`Security::Insecure`] is given.
    pub fn for_degree(degree: usize, security: Security) -> bellerophon_ring::Result<Option<Self>> {
        let set = match degree {
            2048 => NtruSet::N2048,
            4096 => NtruSet::N4096,
            8192 => NtruSet::N8192,
            // Other degrees, for tests: the digits of N4096 and a prime of 44 bits.
            _ if security == Security::Insecure => {
                let modulus = prime::ntt_primes_below(degree, 44, 1, &[])?[0].value();
                return Ok(NtruSet::N4096
                    .spec()?
                    .engine
                    .ntru()
                    .map(|set| Self { modulus, ..*set }));
            }
            _ => return Ok(None),
        };
        Ok(set.spec()?.engine.ntru().copied())
    }
}

/// A set of a degree with a ternary LWE secret, given `Q`, the bits of a digit and the number of
/// digits. `Q` is the largest prime within the security bound (or below `2^50` or `2^46`).
fn of_degree(
    degree: usize,
    modulus: u64,
    base_log: u32,
    count: usize,
    rotation: NtruRotation,
) -> bellerophon_ring::Result<ParamsSpec> {
    Ok(ParamsSpec {
        dimension: 1024,
        modulus: prime::ntt_primes_below(1024, 28, 1, &[])?[0].value(),
        secret: SecretKind::Sparse(192),
        sigma: 54.0,
        key_switch_base_log: 2,
        key_switch_digits: 14,
        ring_degree: degree,
        ring_modulus: prime::ntt_primes_below(degree, 45, 1, &[])?[0].value(),
        engine: Engine::Ntru(NtruSpec {
            modulus,
            base_log,
            count,
            rotation,
            switch_base_log: 12,
            switch_count: 3,
        }),
        ring_secret: SecretKind::Ternary,
        ring_sigma: 3.2,
        security: Security::Bits128,
    })
}

#[cfg(test)]
mod tests {
    use bellerophon_mlwe::security::{NTRU_TERNARY_SIGMA, ntru_estimate_bits};
    use bellerophon_ring::ErrorKind;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::blind_rotate::{SeededBlindRotationKey, blind_rotate_batch};
    use crate::encoding::{Encoding, Headroom};
    use crate::encrypt::encrypt;
    use crate::external_product::tests::phases;
    use crate::noise;
    use crate::params::Params;
    use crate::secret::SecretKey;
    use crate::test_polynomial::{TableDomain, TestPolynomial};

    /// The columns of the table of [`NtruSet`].
    #[test]
    fn security_and_noise_are_those_of_the_table() {
        let table = [
            (129, 10.9, 6.9, 52.8),
            (136, 5.0, 12.3, 4.0),
            (134, 3.0, 19.2, 4.0),
            (134, 2.0, 12.4, 4.0),
            (190, 3.0, 20.0, 4.2),
            (175, 2.0, 14.9, 4.2),
        ];
        for (set, (bits, transforms, noise_bits, index)) in NtruSet::ALL.into_iter().zip(table) {
            let params = Params::new(set.spec().unwrap()).unwrap();
            let context = params.ntru().unwrap();
            let log2_q = context.ring().log2_modulus();
            let found = ntru_estimate_bits(params.spec().ring_degree, log2_q, NTRU_TERNARY_SIGMA);
            assert_eq!(found.floor() as i32, bits, "{set:?}");
            if set != NtruSet::Paper128 {
                assert!(params.security_bits() >= 128.0, "{set:?}: {}", params.security_bits());
            }
            let turn = params.ring_modulus().log2();
            let found = turn - noise::look_up(&params).log2() / 2.0;
            assert!((found - noise_bits).abs() < 0.06, "{set:?}: {found}");
            let found = params.transforms() / params.spec().dimension as f64;
            assert!((found - transforms).abs() < 0.06, "{set:?}: {found}");
            let fresh = params.spec().ring_sigma.powi(2);
            let found = noise::expected_index_error(&params, fresh).sqrt();
            assert!((found - index).abs() < 0.06, "{set:?}: {found}");
        }
    }

    /// With the guard band for a failure probability of `2^-60` at least half of every table is
    /// free for values. An error of an entry by a sixteenth of a period, too large for the guard
    /// band of the next table, is even less likely. The paper's set does not have these margins.
    #[test]
    fn failures_are_as_rare_as_stated() {
        for set in NtruSet::ALL.into_iter().skip(1) {
            let params = Params::new(set.spec().unwrap()).unwrap();
            let fresh = params.spec().ring_sigma.powi(2);
            let guard = noise::guard(noise::largest_index_error(&params, fresh), -60.0);
            assert!(4 * guard < params.spec().ring_degree, "{set:?}: {guard}");
            let sixteenth = params.ring_modulus().value() as f64 / 16.0;
            let surprise = sixteenth * sixteenth / noise::look_up(&params) / 2.0;
            assert!(1.0 - surprise / std::f64::consts::LN_2 < -60.0, "{set:?}: {surprise}");
        }
    }

    /// The guard band for the index error of the paper's set takes its whole table.
    #[test]
    fn the_papers_set_has_no_room_for_values() {
        let params = Params::new(NtruSet::Paper128.spec().unwrap()).unwrap();
        let fresh = params.spec().ring_sigma.powi(2);
        let guard = noise::guard(noise::largest_index_error(&params, fresh), -60.0);
        let room = params.spec().ring_degree / 2 - guard;
        assert!((room as f64) < noise::expected_index_error(&params, fresh).sqrt(), "{room}");
        let fit = |variance| Encoding::fit(&params, -1.0, 1.0, variance, Headroom::TABLE, -60.0);
        let error = fit(noise::look_up(&params)).unwrap_err();
        assert!(
            error.is(&ErrorKind::Domain, "use a larger degree, a smaller domain or a"),
            "{error}"
        );
    }

    #[test]
    fn overstretched_moduli_are_refused() {
        let cases = [(2048, 29, 136.0), (4096, 45, 132.0), (4096, 54, 94.0), (2048, 53, 43.0)];
        for (degree, bits, below) in cases {
            let modulus = prime::ntt_primes_below(degree, bits, 2, &[]).unwrap()[1].value();
            let spec = of_degree(degree, modulus, 10, 2, NtruRotation::Ternary).unwrap();
            let error = Params::new(spec.clone()).unwrap_err();
            assert!(error.is(&ErrorKind::Insecure, "NTRU blind-rotation key"), "{error}");
            let spec = ParamsSpec { security: Security::Insecure, ..spec };
            assert!(Params::new(spec).unwrap().security_bits() < below);
        }
        // The paper's set has a smaller margin than the constructor requires.
        let spec = NtruSet::Paper128.spec().unwrap();
        let error = Params::new(ParamsSpec { security: Security::Bits128, ..spec }).unwrap_err();
        assert!(
            error.is(&ErrorKind::Insecure, "dimension 1024, log2 of modulus over error"),
            "{error}"
        );
    }

    #[test]
    fn rotations_at_real_sizes_leave_the_predicted_noise() {
        rotations(NtruSet::ALL.into_iter().step_by(2));
    }

    #[test]
    fn rotations_of_other_sets_leave_predicted_noise() {
        rotations(NtruSet::ALL.into_iter().skip(1).step_by(2));
    }

    /// One rotation of each set at its real size: every coefficient is at the expected position,
    /// and the noise agrees with the prediction, bounded from both sides.
    fn rotations(sets: impl Iterator<Item = NtruSet>) {
        for set in sets {
            let mut rng = ChaCha20Rng::seed_from_u64(1);
            let params = Params::new(set.spec().unwrap()).unwrap();
            let lwe = SecretKey::generate_lwe(&params, &mut rng).unwrap();
            let ring = SecretKey::generate_ring(&params, &mut rng).unwrap();
            let key = SeededBlindRotationKey::generate(&params, &lwe, &ring, &mut rng).unwrap();
            let key = key.expand(&params).unwrap();
            let (n, q0) = (params.spec().ring_degree as i64, params.ring_modulus());
            let domain = TableDomain::fit(-8.0, 8.0, n as usize, 0).unwrap();
            let encode = |y: f64| (y * q0.value() as f64 / 4.0).round() as i64;
            let table = TestPolynomial::new(*q0, domain, f64::tanh, encode).unwrap();
            let value = encrypt(params.modulus(), &lwe, 0, 3.2, &mut rng).unwrap();
            let value = params.exponents(&value).unwrap();
            let out = blind_rotate_batch(&params, std::slice::from_ref(&value), &[&table], &key);
            let mask = value.a().iter().zip(lwe.coefficients());
            let index = value.b() as i64 + mask.map(|(&a, &s)| a as i64 * s).sum::<i64>();
            let errors =
                phases(&out.unwrap()[0], &ring).into_iter().enumerate().map(|(i, phase)| {
                    let expected = table.entry((index - i as i64 + n).rem_euclid(2 * n) - n);
                    q0.center(q0.from_i64(phase - expected)) as f64
                });
            let measured = errors.map(|e| e * e).sum::<f64>() / n as f64;
            let ratio = measured / noise::blind_rotation(&params, lwe.norm2(), ring.norm2());
            assert!((0.7..1.4).contains(&ratio), "{set:?}: {ratio}");
        }
    }
}
