//! Encryption under the secret key (seeded) and under a public key.

use bellerophon_ring::error::ensure;
use bellerophon_ring::{
    During, Ntt, Poly, Result, Ring, SmallProductSum,
    sample::{self, Seed},
};
use rand::CryptoRng;
use zeroize::Zeroizing;

use crate::ciphertext::{Ciphertext, packed_len};
use crate::key_id::{KeyId, KeyIdent};
use crate::params::Params;
use crate::secret::SecretKey;
use crate::{error, noise};

/// A fresh secret-key encryption in serializable form: the masks are replaced by a seed.
#[derive(Debug, Clone, PartialEq)]
pub struct SeededCiphertext {
    seed: Seed,
    b: Poly<Ntt>,
    ident: KeyIdent,
}

impl SeededCiphertext {
    /// Expands the masks from the seed.
    pub fn expand(&self, params: &Params) -> Result<Ciphertext> {
        params.check(self.ident.fingerprint)?;
        // Mask i is stream i of the seed.
        let ring = params.q().at_limbs(self.b.limbs());
        let a = (0..params.rank())
            .map(|i| sample::uniform_from_seed(&ring, &self.seed, i as u64))
            .collect();
        Ciphertext::new(params, self.b.clone(), a, self.ident.key)
    }

    /// The body `b`.
    pub fn b(&self) -> &Poly<Ntt> {
        &self.b
    }

    /// The seed of the masks; mask `i` is stream `i`.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The parameters and the secret key that it belongs to.
    pub fn ident(&self) -> KeyIdent {
        self.ident
    }

    /// Size in bytes with residues bit-packed to the width of their primes, seed included.
    pub fn byte_len(&self, params: &Params) -> usize {
        SEED_BYTES + packed_len(&params.q().at_limbs(self.b.limbs()))
    }

    /// Assembles a ciphertext from stored parts.
    pub fn from_parts(params: &Params, seed: Seed, b: Poly<Ntt>, key: KeyId) -> Result<Self> {
        params.check_poly(&b)?;
        check_residues(&params.q().at_limbs(b.limbs()), &b)?;
        Ok(Self { seed, b, ident: KeyIdent { fingerprint: params.fingerprint(), key } })
    }
}

/// Length of a seed in wire formats.
pub(crate) const SEED_BYTES: usize = 32;

impl SecretKey {
    /// Encrypts a plaintext of any number of limbs: `b = m + e - <a, s>` with `a` uniform.
    ///
    /// Coefficient variance of the noise: [`noise::fresh_secret`](crate::noise::fresh_secret).
    pub fn encrypt<R: CryptoRng + ?Sized>(
        &self,
        message: &Poly<Ntt>,
        rng: &mut R,
    ) -> Result<Ciphertext> {
        let (ct, a) = self.encrypt_with_masks(message, rng).during("encrypt")?;
        Ciphertext::new(self.params(), ct.b, a, ct.ident.key)
    }

    /// As [`encrypt`](Self::encrypt), with the masks as a seed.
    pub fn encrypt_seeded<R: CryptoRng + ?Sized>(
        &self,
        message: &Poly<Ntt>,
        rng: &mut R,
    ) -> Result<SeededCiphertext> {
        Ok(self.encrypt_with_masks(message, rng).during("encrypt_seeded")?.0)
    }

    fn encrypt_with_masks<R: CryptoRng + ?Sized>(
        &self,
        message: &Poly<Ntt>,
        rng: &mut R,
    ) -> Result<(SeededCiphertext, Vec<Poly<Ntt>>)> {
        let params = self.params();
        // Step 1: a fresh seed for the masks and a fresh error.
        params.check_poly(message)?;
        let limbs = message.limbs();
        let ring = params.q().at_limbs(limbs);
        let seed = Seed::random(rng);
        let mut b = error_poly(params, &ring, rng);
        // Step 2: b = e - <a, s>.
        let masks: Vec<Poly<Ntt>> =
            (0..params.rank()).map(|i| sample::uniform_from_seed(&ring, &seed, i as u64)).collect();
        for (i, mask) in masks.iter().enumerate() {
            let secret = Zeroizing::new(self.ntt(i).limb_range(0..limbs));
            sub_product(&ring, &mut b, mask.clone(), &secret);
        }
        // Step 3: add the message.
        ring.add_assign(&mut b, message);
        Ok((SeededCiphertext { seed, b, ident: self.into() }, masks))
    }
}

/// A public key: `r` encryptions of zero modulo `Q P` (DPad-HE section 2.2.3, with special primes
/// added).
///
/// Encryption computes modulo `Q P'` and divides by `P'`. Its noise is that of one rounding,
/// `(|s|^2 + 1) / 12`, instead of `sigma^2 (4/3 r N + 1)`. Encryption modulo `Q` alone would cost
/// two bits. One special prime suffices for `P'`, unless it is very small.
#[derive(Debug, Clone, PartialEq)]
pub struct PublicKey {
    seed: Seed,
    /// `b_i = -<A_i, s> + e_i`.
    b: Vec<Poly<Ntt>>,
    /// `A_ij` row by row: stream `i * r + j` of the seed.
    a: Vec<Vec<Poly<Ntt>>>,
    ident: KeyIdent,
}

impl Params {
    /// The number of special primes that public-key encryption uses: the smallest number for which
    /// the divided noise has less than a thousandth of the variance of one rounding, or all of
    /// them.
    pub(crate) fn encryption_primes(&self) -> usize {
        // public_product / P'^2 <= rounding / 1000, solved for log2 P'.
        let enough = 0.5 * (1000.0 * noise::public_product(self) / noise::rounding(self)).log2();
        let suffices = |&count: &usize| self.p().at_limbs(count).log2_modulus() >= enough;
        (1..self.p().limbs()).find(suffices).unwrap_or(self.p().limbs())
    }
}

impl PublicKey {
    /// Generates a public key.
    pub fn generate<R: CryptoRng + ?Sized>(secret: &SecretKey, rng: &mut R) -> Self {
        let params = secret.params();
        // b_i = e_i - <A_i, s> over all primes, special ones included.
        let ring = params.gadget().ring(params.limbs());
        let seed = Seed::random(rng);
        let a = public_masks(params, &seed);
        let b = a
            .iter()
            .map(|row| {
                let mut b = error_poly(params, ring, rng);
                for (j, mask) in row.iter().enumerate() {
                    sub_product(ring, &mut b, mask.clone(), secret.ntt(j));
                }
                b
            })
            .collect();
        Self { seed, b, a, ident: secret.into() }
    }

    /// Assembles a key from stored bodies, and expands the masks from the seed.
    pub(crate) fn from_parts(
        params: &Params,
        seed: Seed,
        b: Vec<Poly<Ntt>>,
        key: KeyId,
    ) -> Result<Self> {
        ensure(b.len() == params.rank(), || error::rank(b.len(), params.rank()))?;
        // The parts may come from untrusted input: check shapes and residues.
        for poly in &b {
            check_extended(params, params.limbs(), poly)?;
            check_residues(params.gadget().ring(params.limbs()), poly)?;
        }
        let a = public_masks(params, &seed);
        Ok(Self { seed, b, a, ident: KeyIdent { fingerprint: params.fingerprint(), key } })
    }

    /// The seed of the masks.
    pub(crate) fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The `r` bodies.
    pub(crate) fn bodies(&self) -> &[Poly<Ntt>] {
        &self.b
    }

    /// Encrypts a plaintext of any number of limbs.
    ///
    /// Coefficient variance of the noise: [`noise::fresh_public`](crate::noise::fresh_public).
    pub fn encrypt<R: CryptoRng + ?Sized>(
        &self,
        params: &Params,
        message: &Poly<Ntt>,
        rng: &mut R,
    ) -> Result<Ciphertext> {
        let checked =
            params.check(self.ident.fingerprint).and_then(|()| params.check_poly(message));
        checked.during("encrypt")?;
        // Step 1: the ring modulo Q_l P', a part of the ring of the key.
        let (limbs, full) = (message.limbs(), params.limbs());
        let special = params.encryption_primes();
        let ring = params.gadget().ring(limbs).at_limbs(limbs + special);
        let rank = params.rank();
        // Step 2: ephemeral ternary secrets v_i and one error per column.
        let ephemeral: Vec<_> = (0..rank).map(|_| sample::ternary(params.degree(), rng)).collect();
        let ephemeral: Vec<&[i64]> = ephemeral.iter().map(|v| &v[..]).collect();
        let errors: Vec<_> =
            (0..=rank).map(|_| params.gaussian().sample(params.degree(), rng)).collect();
        // Step 3: (b, a_j) = (sum_i v_i b_i + e_0, sum_i v_i A_ij + e_j), divided by P' limb by
        // limb.
        let masks = (0..rank).map(|j| self.a.iter().map(|row| &row[j]).collect());
        let columns = std::iter::once(self.b.iter().collect()).chain(masks);
        let sums: Vec<_> = errors
            .iter()
            .zip(columns)
            .map(|(e, multiples)| SmallProductSum { addend: e, multiples })
            .collect();
        let place = |limb| extended_limb(limb, limbs, full);
        // Limbs of the key at this level: the first `limbs` of Q, then the special primes.
        let quotients = ring.rescaled_sums_of_small_products(&ephemeral, &sums, special, place);
        let mut quotients = quotients.into_iter();
        let mut b = quotients.next().expect("a body");
        let a = quotients.collect();
        // Step 4: the message is added after the division, at its own scale.
        params.q().at_limbs(limbs).add_assign(&mut b, message);
        Ciphertext::new(params, b, a, self.ident.key)
    }

    /// The parameters and the secret key that it belongs to.
    pub(crate) fn ident(&self) -> KeyIdent {
        self.ident
    }

    /// Identity of the secret key.
    pub fn key(&self) -> KeyId {
        self.ident.key
    }
}

/// The masks `A_ij`, expanded from the seed.
fn public_masks(params: &Params, seed: &Seed) -> Vec<Vec<Poly<Ntt>>> {
    let (ring, r) = (params.gadget().ring(params.limbs()), params.rank());
    // Mask (i, j) is stream i r + j.
    (0..r)
        .map(|i| {
            (0..r).map(|j| sample::uniform_from_seed(ring, seed, (i * r + j) as u64)).collect()
        })
        .collect()
}

/// A fresh error in NTT form. It is secret until it is added to a body.
pub(crate) fn error_poly<R: CryptoRng + ?Sized>(
    params: &Params,
    ring: &Ring,
    rng: &mut R,
) -> Poly<Ntt> {
    // The sampler wipes the coefficients on drop.
    let error = params.gaussian().sample(params.degree(), rng);
    ring.forward_signed(&error)
}

/// `acc -= mask * secret`.
pub(crate) fn sub_product(ring: &Ring, acc: &mut Poly<Ntt>, mask: Poly<Ntt>, secret: &Poly<Ntt>) {
    // The product is secret and wiped on drop.
    let mut product = Zeroizing::new(mask);
    ring.mul_assign(&mut product, secret);
    ring.sub_assign(acc, &product);
}

/// The index, in a polynomial over `q_0..q_{full-1}, p_0..p_{k-1}`, of limb `i` of a polynomial
/// over `q_0..q_{limbs-1}, p_0..p_{k-1}`.
pub(crate) fn extended_limb(i: usize, limbs: usize, full: usize) -> usize {
    if i < limbs { i } else { full + i - limbs }
}

/// Copies a polynomial over `q_0..q_{full-1}, p_0..p_{k-1}` to level `limbs <= full`.
pub(crate) fn restrict_extended(poly: &Poly<Ntt>, limbs: usize, full: usize) -> Poly<Ntt> {
    let special = poly.limbs() - full;
    let mut out = Poly::zero(poly.degree(), limbs + special);
    for i in 0..out.limbs() {
        out.limb_mut(i).copy_from_slice(poly.limb(extended_limb(i, limbs, full)));
    }
    out
}

/// `Err` unless every word is a residue. For polynomials from untrusted input.
pub(crate) fn check_residues(ring: &Ring, poly: &Poly<Ntt>) -> Result<()> {
    for (limb, q) in ring.moduli().enumerate() {
        let modulus = q.value();
        if let Some(&found) = poly.limb(limb).iter().find(|&&x| x >= modulus) {
            return Err(error::residue(found, limb, modulus));
        }
    }
    Ok(())
}

/// `Err` unless the polynomial is over `q_0..q_{limbs-1}, p_0..p_{k-1}`.
pub(crate) fn check_extended(params: &Params, limbs: usize, poly: &Poly<Ntt>) -> Result<()> {
    ensure(poly.degree() == params.degree(), || error::degree(poly.degree(), params.degree()))?;
    // Polynomials modulo Q_l P have all special primes.
    let needed = limbs + params.p().limbs();
    if poly.limbs() != needed {
        let needed = format!("{needed}, special primes included");
        return Err(error::limbs(poly.limbs(), needed));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::error::refusal;
    use crate::noise::measured;
    use crate::params::ParamsSpec;
    use crate::testing::{self, assert_close, message, params, rng};

    #[test]
    fn symmetric_encryption_has_the_stated_noise() {
        for rank in [1, 2, 3] {
            let params = params(1024, rank, 3, 1);
            let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
            for limbs in 1..=3 {
                let m = message(&params, limbs, 5);
                let seeded = secret.encrypt_seeded(&m, &mut rng(2)).unwrap();
                let ct = seeded.expand(&params).unwrap();
                assert_eq!(ct, secret.encrypt(&m, &mut rng(2)).unwrap());
                let stats = measured::noise(&secret, &ct, &m).unwrap();
                assert_close(stats.variance, noise::fresh_secret(&params), 1.25);
                assert!(seeded.byte_len(&params) * rank.max(2) <= ct.byte_len(&params) + 64);
            }
        }
    }

    #[test]
    fn public_encryption_has_the_noise_of_one_rounding() {
        let spec = ParamsSpec { p: vec![257, 641], ..testing::spec(64, 1, 3, 1) };
        // One special prime of 50 bits does; one of 8 bits leaves too much.
        let large = [1, 2, 3].map(|rank| (params(1024, rank, 3, 2), 1));
        for (params, primes) in large.into_iter().chain([(Params::new(spec).unwrap(), 2)]) {
            assert_eq!(params.encryption_primes(), primes);
            let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
            let public = PublicKey::generate(&secret, &mut rng(2));
            let (seed, b) = (*public.seed(), public.bodies().to_vec());
            assert_eq!(PublicKey::from_parts(&params, seed, b, public.key()).unwrap(), public);
            for limbs in 1..=3 {
                let m = message(&params, limbs, 5);
                let ct = public.encrypt(&params, &m, &mut rng(3)).unwrap();
                let stats = measured::noise(&secret, &ct, &m).unwrap();
                assert_close(stats.variance, noise::fresh_public(&params), 1.25);
            }
        }
    }

    #[test]
    fn masks_at_a_lower_level_are_a_prefix() {
        let params = params(64, 1, 4, 1);
        let seed = Seed([3; 32]);
        let mut full = sample::uniform_from_seed(params.q(), &seed, 0);
        full.truncate(2);
        assert_eq!(full, sample::uniform_from_seed(&params.q().at_limbs(2), &seed, 0));
    }

    #[test]
    fn refuses_foreign_operands() {
        let (first, second) = (params(64, 1, 3, 1), params(64, 1, 2, 1));
        let secret = SecretKey::generate(&first, &mut rng(1)).unwrap();
        let other = SecretKey::generate(&first, &mut rng(2)).unwrap();
        let m = message(&first, 3, 1);
        let ct = secret.encrypt(&m, &mut rng(3)).unwrap();
        assert!(
            refusal(&ct.phase(&other))
                .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
        );
        let public = PublicKey::generate(&secret, &mut rng(2));
        let refused = public.encrypt(&second, &message(&second, 2, 1), &mut rng(1));
        assert!(
            refusal(&refused)
                .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
        );
        let refused = SecretKey::generate(&second, &mut rng(1)).unwrap().encrypt(&m, &mut rng(1));
        assert!(refusal(&refused).is(&ErrorKind::Level, "3 limbs where"));
        let wrong = params(128, 1, 3, 1);
        let refused = secret.encrypt(&message(&wrong, 1, 1), &mut rng(1));
        assert!(
            refusal(&refused).is(&ErrorKind::Shape, "a polynomial of degree bound 128 where 64")
        );
    }
}
