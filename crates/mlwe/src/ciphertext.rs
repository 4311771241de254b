//! Ciphertexts of any rank, and the operations that need no key.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::error::ensure;
use bellerophon_ring::{BaseConverter, During, Ntt, Poly, Result, Ring};
use zeroize::Zeroizing;

use crate::error;
use crate::key_id::{KeyId, KeyIdent};
use crate::params::Params;
use crate::secret::SecretKey;

/// A ciphertext `(b, a_1, ..., a_r)` modulo `q_0 * ... * q_l` with phase `b + <a, s>`, every
/// polynomial in NTT form.
///
/// A ciphertext holds neither tables nor a scale. It carries the fingerprint of its parameters and
/// the identity of its secret key.
#[derive(Debug, Clone, PartialEq)]
pub struct Ciphertext {
    pub(crate) b: Poly<Ntt>,
    pub(crate) a: Vec<Poly<Ntt>>,
    pub(crate) ident: KeyIdent,
}

impl Ciphertext {
    /// Assembles a ciphertext from its polynomials.
    pub fn new(params: &Params, b: Poly<Ntt>, a: Vec<Poly<Ntt>>, key: KeyId) -> Result<Self> {
        // As many masks as the rank, all with the limbs of the body.
        ensure(a.len() == params.rank(), || error::rank(a.len(), params.rank()))?;
        params.check_poly(&b)?;
        for mask in &a {
            params.check_poly(mask)?;
            if mask.limbs() != b.limbs() {
                let needed = b.limbs().to_string();
                return Err(error::limbs(mask.limbs(), needed));
            }
        }
        Ok(Self { b, a, ident: KeyIdent { fingerprint: params.fingerprint(), key } })
    }

    /// The ciphertext whose polynomials are these columns, the body first.
    pub(crate) fn of_columns(columns: Vec<Poly<Ntt>>, ident: KeyIdent) -> Self {
        let mut columns = columns.into_iter();
        let b = columns.next().expect("a ciphertext has a body");
        Self { b, a: columns.collect(), ident }
    }

    /// The trivial encryption `(m, 0, ..., 0)`: without noise and without secrecy.
    pub fn trivial(params: &Params, message: Poly<Ntt>, key: KeyId) -> Result<Self> {
        params.check_poly(&message)?;
        let ring = params.q().at_limbs(message.limbs());
        // Zero masks: the phase is the message under every secret.
        let a = (0..params.rank()).map(|_| ring.zero()).collect();
        Self::new(params, message, a, key)
    }

    /// The body `b`.
    pub fn b(&self) -> &Poly<Ntt> {
        &self.b
    }

    /// All masks.
    pub fn masks(&self) -> &[Poly<Ntt>] {
        &self.a
    }

    /// The polynomials: the body, then the masks.
    pub fn into_parts(self) -> (Poly<Ntt>, Vec<Poly<Ntt>>) {
        (self.b, self.a)
    }

    /// Mutable body and masks, for in-place operations that keep their shapes.
    pub fn polys_mut(&mut self) -> impl Iterator<Item = &mut Poly<Ntt>> {
        std::iter::once(&mut self.b).chain(&mut self.a)
    }

    /// Module rank.
    pub fn rank(&self) -> usize {
        self.a.len()
    }

    /// Number of limbs, level plus one.
    pub fn limbs(&self) -> usize {
        self.b.limbs()
    }

    /// The parameters and the secret key that it belongs to.
    pub fn ident(&self) -> KeyIdent {
        self.ident
    }

    /// Size in bytes with residues bit-packed to the width of their primes.
    pub fn byte_len(&self, params: &Params) -> usize {
        (self.rank() + 1) * packed_len(&params.q().at_limbs(self.limbs()))
    }

    /// The ring of this ciphertext's level.
    pub fn ring(&self, params: &Params) -> Ring {
        params.q().at_limbs(self.limbs())
    }

    /// Drops levels: the same phase modulo the first `limbs` primes.
    pub fn truncate(&mut self, limbs: usize) -> Result<()> {
        // At least one limb remains.
        if limbs == 0 || limbs > self.limbs() {
            return Err(error::limbs(limbs, format!("1 to {}", self.limbs())));
        }
        self.polys_mut().for_each(|poly| poly.truncate(limbs));
        Ok(())
    }

    /// `self += other`.
    pub fn add_assign(&mut self, params: &Params, other: &Self) -> Result<()> {
        self.operand().check(params, other.operand()).during("add_assign")?;
        let ring = self.ring(params);
        self.zip_mut(other).for_each(|(x, y)| ring.add_assign(x, y));
        Ok(())
    }

    /// `self -= other`.
    pub fn sub_assign(&mut self, params: &Params, other: &Self) -> Result<()> {
        self.operand().check(params, other.operand()).during("sub_assign")?;
        let ring = self.ring(params);
        self.zip_mut(other).for_each(|(x, y)| ring.sub_assign(x, y));
        Ok(())
    }

    /// `self = -self`.
    pub fn neg_assign(&mut self, params: &Params) -> Result<()> {
        params.check(self.ident.fingerprint)?;
        let ring = self.ring(params);
        self.polys_mut().for_each(|poly| ring.neg_assign(poly));
        Ok(())
    }

    /// Adds a plaintext of the same number of limbs to the phase.
    pub fn add_plain_assign(&mut self, params: &Params, plain: &Poly<Ntt>) -> Result<()> {
        self.check_plain(params, plain).during("add_plain_assign")?;
        // Only the body carries the message.
        self.ring(params).add_assign(&mut self.b, plain);
        Ok(())
    }

    /// Multiplies the phase by a plaintext of the same number of limbs.
    pub fn mul_plain_assign(&mut self, params: &Params, plain: &Poly<Ntt>) -> Result<()> {
        self.check_plain(params, plain).during("mul_plain_assign")?;
        let ring = self.ring(params);
        // The phase is linear, so every polynomial is multiplied.
        self.polys_mut().for_each(|poly| ring.mul_assign(poly, plain));
        Ok(())
    }

    /// Multiplies the phase by a small integer.
    pub fn mul_signed_assign(&mut self, params: &Params, factor: i64) -> Result<()> {
        params.check(self.ident.fingerprint)?;
        let ring = self.ring(params);
        self.polys_mut().for_each(|poly| ring.mul_signed_assign(poly, factor));
        Ok(())
    }

    /// Divides the phase by the product of the last `primes` primes with one rounding, and drops
    /// these primes (Full-RNS HEAAN, section 4, Rescale).
    ///
    /// # Errors
    /// [`ErrorKind::Parameters`] if `primes` exceeds [`BaseConverter::MAX_SOURCES`].
    pub fn rescale(self, params: &Params, primes: usize) -> Result<Self> {
        self.check_rescale(params, primes).during("rescale")?;
        let ring = self.ring(params);
        let Self { b, a, ident } = self;
        // Each polynomial is divided with exact rounding.
        let divide = |poly| bellerophon_ring::rescale(&ring, poly, primes);
        Ok(Self { b: divide(b), a: a.into_iter().map(divide).collect(), ident })
    }

    fn check_rescale(&self, params: &Params, primes: usize) -> Result<()> {
        params.check(self.ident.fingerprint)?;
        check_divisors(primes)?;
        // At least one prime is dropped and one remains.
        if primes == 0 || self.limbs() <= primes {
            let needed = format!("more than {}", primes.max(1));
            return Err(error::limbs(self.limbs(), needed));
        }
        Ok(())
    }

    /// `b + <a, s>`: message plus noise, the first half of decryption. Keep it secret: enough
    /// phases determine the secret key.
    pub fn phase(&self, secret: &SecretKey) -> Result<Zeroizing<Poly<Ntt>>> {
        self.check_secret(secret).during("phase")?;
        let ring = self.ring(secret.params());
        let mut phase = Zeroizing::new(self.b.clone());
        // phase = b + sum_i a_i s_i at the level of the ciphertext.
        for (i, mask) in self.a.iter().enumerate() {
            let mut s = Zeroizing::new(secret.ntt(i).clone());
            s.truncate(self.limbs());
            ring.mul_add_assign(&mut phase, mask, &s);
        }
        Ok(phase)
    }

    fn check_secret(&self, secret: &SecretKey) -> Result<()> {
        secret.params().check(self.ident.fingerprint)?;
        let (found, needed) = (self.ident.key, secret.id());
        ensure(found == needed, || error::key_mismatch(found, needed))
    }

    fn zip_mut<'a>(
        &'a mut self,
        other: &'a Self,
    ) -> impl Iterator<Item = (&'a mut Poly<Ntt>, &'a Poly<Ntt>)> {
        self.polys_mut().zip(std::iter::once(&other.b).chain(&other.a))
    }

    pub(crate) fn operand(&self) -> Operand {
        Operand { ident: self.ident, limbs: self.limbs() }
    }

    fn check_plain(&self, params: &Params, plain: &Poly<Ntt>) -> Result<()> {
        params.check(self.ident.fingerprint)?;
        params.check_poly(plain)?;
        if self.limbs() != plain.limbs() {
            let needed = self.limbs().to_string();
            return Err(error::limbs(plain.limbs(), needed));
        }
        Ok(())
    }
}

/// Size in bytes of one polynomial of this ring, bit-packed. Each limb starts at a byte boundary.
pub(crate) fn packed_len(ring: &Ring) -> usize {
    ring.moduli().map(|q| (ring.degree() * q.bits() as usize).div_ceil(8)).sum()
}

/// `Err` unless mod-down or rescale can divide by this many primes at once.
pub(crate) fn check_divisors(primes: usize) -> Result<()> {
    if primes > BaseConverter::MAX_SOURCES {
        return Err(error::parameter(
            "primes",
            primes.to_string(),
            format!("at most {} divided out at once", BaseConverter::MAX_SOURCES),
        ));
    }
    Ok(())
}

/// What two operands must have in common.
#[derive(Clone, Copy)]
pub(crate) struct Operand {
    pub(crate) ident: KeyIdent,
    pub(crate) limbs: usize,
}

impl Operand {
    /// `Err` unless both operands have the given parameters, one key and one level.
    pub(crate) fn check(self, params: &Params, other: Self) -> Result<()> {
        params.check(self.ident.fingerprint)?;
        // Parameters first, then key, then level: the first mismatch is reported.
        params.check(other.ident.fingerprint)?;
        let (found, needed) = (other.ident.key, self.ident.key);
        ensure(found == needed, || error::key_mismatch(found, needed))?;
        ensure(self.limbs == other.limbs, || error::limbs(other.limbs, self.limbs.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::error::refusal;
    use crate::testing::{message, params, rng};

    #[test]
    fn linear_operations_act_on_the_phase() {
        for rank in [1, 3] {
            let params = params(64, rank, 3, 1);
            let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
            let (x, y) = (message(&params, 2, 1), message(&params, 2, 2));
            let cx = secret.encrypt(&x, &mut rng(2)).unwrap();
            let cy = secret.encrypt(&y, &mut rng(3)).unwrap();
            let (px, py) = (cx.phase(&secret).unwrap(), cy.phase(&secret).unwrap());
            let ring = cx.ring(&params);
            let check = |ct: &Ciphertext, expected: &dyn Fn(&mut Poly<Ntt>)| {
                let mut phase = (*px).clone();
                expected(&mut phase);
                assert_eq!(*ct.phase(&secret).unwrap(), phase);
            };
            let apply = |f: &dyn Fn(&mut Ciphertext) -> Result<()>| {
                let mut ct = cx.clone();
                f(&mut ct).unwrap();
                ct
            };
            check(&apply(&|c| c.add_assign(&params, &cy)), &|p| ring.add_assign(p, &py));
            check(&apply(&|c| c.sub_assign(&params, &cy)), &|p| ring.sub_assign(p, &py));
            check(&apply(&|c| c.neg_assign(&params)), &|p| ring.neg_assign(p));
            check(&apply(&|c| c.add_plain_assign(&params, &y)), &|p| ring.add_assign(p, &y));
            check(&apply(&|c| c.mul_plain_assign(&params, &y)), &|p| ring.mul_assign(p, &y));
            check(&apply(&|c| c.mul_signed_assign(&params, -7)), &|p| {
                ring.mul_signed_assign(p, -7);
            });
            let dropped = apply(&|c| c.truncate(1));
            let mut expected = (*px).clone();
            expected.truncate(1);
            assert_eq!(*dropped.phase(&secret).unwrap(), expected);
            let trivial = Ciphertext::trivial(&params, y.clone(), secret.id()).unwrap();
            assert_eq!(*trivial.phase(&secret).unwrap(), y);
        }
    }

    #[test]
    fn operands_that_do_not_belong_together_are_refused() {
        let params = params(64, 1, 3, 1);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let other = SecretKey::generate(&params, &mut rng(2)).unwrap();
        let encrypt =
            |key: &SecretKey, limbs| key.encrypt(&message(&params, limbs, 1), &mut rng(1)).unwrap();
        let mut ct = encrypt(&secret, 2);
        let error = ct.add_assign(&params, &encrypt(&other, 2)).unwrap_err();
        assert!(
            error.op() == "add_assign"
                && error.is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
        );
        let error = ct.sub_assign(&params, &encrypt(&secret, 3)).unwrap_err();
        assert!(error.is(&ErrorKind::Level, "3 limbs where"));
        assert_eq!(error.to_string(), "sub_assign: 3 limbs where 2 are needed");
        assert!(refusal(&ct.truncate(0)).is(&ErrorKind::Level, "0 limbs where"));
        assert!(refusal(&ct.truncate(3)).is(&ErrorKind::Level, "3 limbs where"));
        let plain = message(&params, 1, 1);
        assert!(
            refusal(&ct.mul_plain_assign(&params, &plain)).is(&ErrorKind::Level, "limbs where")
        );
        let foreign = crate::testing::params(64, 1, 2, 1);
        assert!(
            refusal(&ct.neg_assign(&foreign))
                .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
        );
        let (b, mut a) = ct.clone().into_parts();
        assert_eq!(Ciphertext::new(&params, b.clone(), a.clone(), secret.id()).unwrap(), ct);
        a.push(b.clone());
        let error = Ciphertext::new(&params, b, a, secret.id()).unwrap_err();
        assert!(error.is(&ErrorKind::Shape, "rank 2 where rank 1 is needed"));
    }

    #[test]
    fn sizes_count_packed_residues() {
        let params = params(64, 2, 3, 1);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let ct = secret.encrypt(&message(&params, 2, 1), &mut rng(1)).unwrap();
        let bits: u32 = ct.ring(&params).moduli().map(|q| q.bits()).sum();
        assert_eq!(ct.byte_len(&params), 3 * 8 * bits as usize);
    }
}
