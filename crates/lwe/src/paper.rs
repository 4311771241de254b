//! `pegasus-ntru` as described in its paper, as a baseline for comparison.

use bellerophon_ring::{Modulus, Result, sample, try_map};
use chacha20::ChaCha20Rng;
use rand::{CryptoRng, SeedableRng};
use zeroize::Zeroizing;

use crate::blind_rotate::NtruKeyMaterial;
use crate::ciphertext::Ciphertext;
use crate::modulus_switching::switch_modulus;
use crate::noise;
use crate::ntru::NtruSecret;
use crate::params::Params;
use crate::presets::NtruSet;
use crate::sample_extraction::sample_extract;
use crate::secret::SecretKey;
use crate::test_polynomial::TestPolynomial;

/// Bits of a digit of the table-based key switch, and the number of digits: `B_ks = 2^7`,
/// `d_ks = 2`.
const DIGIT_BITS: usize = 7;
const DIGITS: usize = 2;

/// Digit values that have a ciphertext: all except 0.
const VALUES: usize = (1 << DIGIT_BITS) - 1;

/// Programmable bootstrapping of [`NtruSet::Paper128`] with the conversion from NTRU to LWE of
/// section 3.2: blind rotation, sample extraction under `f`, modulus switch to `Q_ks`, and a key
/// switch that sums ciphertexts from a table (`lksk`).
///
/// The engine of this crate ([`Engine::Ntru`](crate::Engine)) instead switches from `f` to the ring
/// secret by one ring key switch, whose key is a thousandth as large. `Q_ks` is 12289; the paper
/// has `2^14`.
pub struct Ntru128 {
    params: Params,
    rotation: NtruKeyMaterial,
    table: TableSwitchKey,
}

impl Ntru128 {
    /// Generates the keys for an LWE secret.
    pub fn generate<R: CryptoRng + ?Sized>(lwe: &SecretKey, rng: &mut R) -> Result<Self> {
        let params = Self::params()?;
        lwe.check(params.spec().dimension)?;
        let context = params.ntru().expect("a set of the NTRU engine");
        let secret = NtruSecret::generate(context, rng)?;
        let rotation = NtruKeyMaterial::generate(context, &secret, lwe.coefficients(), rng)?;
        let table = TableSwitchKey::generate(
            params.modulus(),
            params.spec().sigma,
            secret.coefficients(),
            lwe,
            rng,
        )?;
        Ok(Self { params, rotation, table })
    }

    /// The set: `n = 512`, `N = 1024`, base `2^4`, five digits.
    pub(crate) fn params() -> Result<Params> {
        Params::new(NtruSet::Paper128.spec()?)
    }

    /// Programmable bootstrapping (PBS): applies a test polynomial to every value. Inputs and
    /// outputs have dimension `n` and modulus `Q_ks`.
    pub fn look_up(
        &self,
        values: &[Ciphertext],
        table: &TestPolynomial,
    ) -> Result<Vec<Ciphertext>> {
        let params = &self.params;
        let context = params.ntru().expect("a set of the NTRU engine");
        try_map(values, |value| {
            value.check(params.spec().dimension, params.modulus())?;
            table.check(params)?;
            // Step 1: modulus switch to 2N and blind rotation.
            let exponents = params.exponents(value)?;
            let c = self.rotation.rotate(context, &[(table, &exponents)]).remove(0);
            // Step 2: sample extraction. (0, c) is a ring ciphertext under f.
            let zeros = vec![0; params.spec().ring_degree];
            let under_f = sample_extract(context.gadget().modulus(), &zeros, c.limb(0), 0)?;
            // Step 3: modulus switch to Q_ks, and the key switch from f to the LWE secret.
            self.table.apply(&switch_modulus(&under_f, params.modulus()))
        })
    }

    /// Predicted noise variance of a result, modulo `Q_ks`: of the blind rotation, of the rounding
    /// under `f`, and of one fresh ciphertext for each digit.
    pub fn variance(&self) -> f64 {
        let params = &self.params;
        let (from, to) = (params.ring_modulus().value() as f64, params.modulus().value() as f64);
        let f_norm2 = 2.0 / 3.0 * params.spec().ring_degree as f64;
        let digits = (DIGITS * params.spec().ring_degree) as f64;
        noise::modulus_switch(noise::look_up(params), from, to, f_norm2)
            + digits * params.spec().sigma.powi(2)
    }

    /// Bytes of the rotation key in memory.
    pub fn memory_bytes(&self) -> usize {
        8 * self.rotation.words()
    }

    /// Bytes of the rotation key and of `lksk`, packed to the bits of their moduli and without
    /// seeds, as the paper counts them.
    pub fn key_bytes(&self) -> [usize; 2] {
        let q = self.params.ntru().expect("a set of the NTRU engine").gadget().modulus();
        [self.rotation.packed_bytes(q), self.table.packed_bytes(self.params.modulus())]
    }
}

impl std::fmt::Debug for Ntru128 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ntru128, keys of {:?} bytes", self.key_bytes())
    }
}

/// The key `lksk_(i,j,v)`: LWE encryptions of `v B^j f_i` for `0 < v < B`. The phase of this crate
/// is `b + <a, s>`, so the message has no negative sign.
struct TableSwitchKey {
    modulus: Modulus,
    /// Dimension of the target and of the source.
    dimensions: [usize; 2],
    /// Layout, outermost first: coordinate, digit, value, mask and body.
    words: Vec<u16>,
}

impl TableSwitchKey {
    fn generate<R: CryptoRng + ?Sized>(
        modulus: &Modulus,
        sigma: f64,
        source: &[i64],
        target: &SecretKey,
        rng: &mut R,
    ) -> Result<Self> {
        assert!(modulus.bits() as usize <= DIGITS * DIGIT_BITS, "digits for all bits");
        // Step 1: a local key, so that each coordinate has its own stream of randomness.
        let (n, noise) = (target.dimension(), sample::Gaussian::new(sigma)?);
        let mut key = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *key);
        let ciphertext = |value: i64, rng: &mut ChaCha20Rng| {
            let mut a = vec![0; n];
            sample::fill_uniform(modulus, &mut a, rng);
            let product: i64 =
                a.iter().zip(target.coefficients()).map(|(&a, s)| a as i64 * s).sum();
            let body = modulus.from_i64(value + noise.sample(1, rng)[0] - product);
            a.push(body);
            a.into_iter().map(|x| x as u16).collect::<Vec<_>>()
        };
        // Step 2: for each coordinate, digit j and value v, an encryption of v B^j f_i.
        let coordinates: Vec<usize> = (0..source.len()).collect();
        let rows: Result<Vec<_>> = try_map(&coordinates, |&i| {
            let mut rng = ChaCha20Rng::from_seed(*key);
            rng.set_stream(i as u64);
            let mut row = Vec::with_capacity(DIGITS * VALUES * (n + 1));
            for j in 0..DIGITS {
                for v in 1..=VALUES as i64 {
                    row.extend(ciphertext((v << (j * DIGIT_BITS)) * source[i], &mut rng));
                }
            }
            Ok(row)
        });
        Ok(Self { modulus: *modulus, dimensions: [n, source.len()], words: rows?.concat() })
    }

    /// The key switch: the sum of the ciphertexts for all digits of all coordinates, plus the body
    /// of the input.
    fn apply(&self, value: &Ciphertext) -> Result<Ciphertext> {
        let [n, source] = self.dimensions;
        value.check(source, &self.modulus)?;
        let mut sums = vec![0u64; n + 1];
        for (a, row) in value.a().iter().zip(self.words.chunks_exact(DIGITS * VALUES * (n + 1))) {
            for (j, table) in row.chunks_exact(VALUES * (n + 1)).enumerate() {
                // The ciphertext of digit j, unless the digit is 0.
                let v = (a >> (j * DIGIT_BITS)) as usize & VALUES;
                if v != 0 {
                    let entry = &table[(v - 1) * (n + 1)..][..n + 1];
                    sums.iter_mut().zip(entry).for_each(|(sum, &x)| *sum += x as u64);
                }
            }
        }
        let q = &self.modulus;
        let body = q.add(q.reduce(sums.pop().expect("a body")), value.b());
        Ciphertext::new(*q, body, sums.into_iter().map(|x| q.reduce(x)).collect())
    }

    fn packed_bytes(&self, modulus: &Modulus) -> usize {
        (self.words.len() * modulus.bits() as usize).div_ceil(8)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::encrypt::{encrypt, phase};
    use crate::test_polynomial::TableDomain;

    /// The table-based key switch at a small size: phases are preserved, and the noise is that of
    /// one fresh ciphertext for each nonzero digit, bounded from both sides.
    #[test]
    fn the_table_switches_the_secret() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let q = Modulus::new(12289).unwrap();
        let kind = bellerophon_mlwe::SecretKind::Ternary;
        let [source, target] = [32, 16].map(|n| SecretKey::generate(n, kind, &mut rng).unwrap());
        let key = TableSwitchKey::generate(&q, 3.7, source.coefficients(), &target, &mut rng);
        let key = key.unwrap();
        let mut squares = 0.0;
        for i in 0..400 {
            let value = encrypt(&q, &source, i * 30 - 6000, 1.0, &mut rng).unwrap();
            let before = phase(&value, &source).unwrap();
            let after = phase(&key.apply(&value).unwrap(), &target).unwrap();
            squares += (q.center(q.from_i64(after - before)) as f64).powi(2);
        }
        // The high digit of a residue below 12289 has 97 values.
        let digits = 32.0 * (2.0 - 1.0 / 128.0 - 1.0 / 96.0);
        let ratio = squares / 400.0 / (digits * 3.7 * 3.7);
        assert!((0.8..1.25).contains(&ratio), "{ratio}");
        assert!(key.apply(&Ciphertext::trivial(q, 16, 0)).is_err());
    }

    /// The whole look-up at the size of the paper is within six predicted deviations. The paper
    /// counts key sizes of 18.75 and 222.7 MiB. Its rotation key has a key for each of the 1024
    /// automorphisms; here the order of the coordinates saves all but nine.
    #[test]
    fn the_papers_set_works_from_end_to_end() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let params = Ntru128::params().unwrap();
        let lwe = SecretKey::generate_lwe(&params, &mut rng).unwrap();
        let keys = Ntru128::generate(&lwe, &mut rng).unwrap();
        let q = params.modulus();
        let [rotation, table] = keys.key_bytes();
        assert_eq!(rotation, (1 + 512 + 1 + 9) * 5 * 1024 * 20 / 8);
        assert_eq!(table, 1024 * 2 * 127 * 513 * 14 / 8);
        // Two halves of the range: the sign of the value.
        let domain = TableDomain::fit(-1.0, 1.0, 1024, 128).unwrap();
        let q0 = params.ring_modulus();
        let eighth = q0.value() as i64 / 8;
        let sign = TestPolynomial::new(*q0, domain, f64::signum, |y| y as i64 * eighth).unwrap();
        let inputs = [-1.0, -0.6, 0.6, 1.0];
        let encode = |x: f64| domain.encode(x, q);
        let values: Vec<_> = inputs
            .iter()
            .map(|&x| encrypt(q, &lwe, encode(x), params.spec().sigma, &mut rng).unwrap())
            .collect();
        let bound = 6.0 * keys.variance().sqrt();
        assert!(bound < q.value() as f64 / 8.0, "signs are told apart");
        for (x, value) in inputs.iter().zip(keys.look_up(&values, &sign).unwrap()) {
            assert_eq!((value.dimension(), value.modulus()), (512, q));
            let error = phase(&value, &lwe).unwrap() as f64 - x.signum() * q.value() as f64 / 8.0;
            assert!(error.abs() < bound, "{x}: {error} {bound}");
        }
        let wide = Ciphertext::trivial(*q0, 512, 0);
        assert!(keys.look_up(&[wide], &sign).is_err());
        let short = SecretKey::generate(16, params.spec().secret, &mut rng).unwrap();
        assert!(Ntru128::generate(&short, &mut rng).is_err());
    }
}
