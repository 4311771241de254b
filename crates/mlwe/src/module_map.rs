//! One lattice as modules over rings of different degree: `R_N` is a module of rank `f = N / n`
//! over `R_n`, with `Y = X^f`.
//!
//! The maps of DPad-HE section 4.1, all in NTT form:
//!
//! | map | definition on coefficients |
//! | --- | --- |
//! | `pi` ([`ModuleMap::split`]) | `a -> (a_0, ..., a_{f-1})` with `a(X) = sum_j X^j a_j(X^f)` |
//! | `pi^-1` ([`ModuleMap::join`]) | its inverse |
//! | `epsilon` ([`ModuleMap::constant_part`]) | `a -> a_0`, every `f`-th coefficient |
//! | `iota` ([`ModuleMap::lift`]) | `b(Y) -> b(X^f)` |
//!
//! [`SubringMap`] implements the maps on polynomials. This file applies them to ciphertexts and
//! secrets.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::error::ensure;
use bellerophon_ring::{Ntt, Poly, Result, SubringMap};
use zeroize::Zeroizing;

use crate::ciphertext::Ciphertext;
use crate::error;
use crate::params::{Params, check_no_weaker, check_primes};
use crate::secret::SecretKey;

/// The maps between two degrees, for the first `limbs` primes that both parameter sets share.
///
/// They convert ciphertexts of rank `R` over the large ring to ciphertexts of rank `R f` over the
/// small ring and back. [`embed_subring`](Self::embed_subring) keeps the rank.
#[derive(Debug, Clone)]
pub struct ModuleMap {
    large: Params,
    small: Params,
    rings: SubringMap,
}

impl ModuleMap {
    /// Prepares the maps for up to `limbs` limbs.
    pub fn new(large: &Params, small: &Params, limbs: usize) -> Result<Self> {
        // The small degree must divide the large one.
        let (large_degree, small_degree) = (large.degree(), small.degree());
        if !large_degree.is_multiple_of(small_degree) {
            return Err(error::degree(small_degree, large_degree));
        }
        // Both chains must begin with the same primes.
        check_primes(small, large, limbs)?;
        let rings = SubringMap::new(large.q(), &small.q().at_limbs(limbs))?;
        Ok(Self { large: large.clone(), small: small.clone(), rings })
    }

    /// The parameters over the large ring.
    pub fn large(&self) -> &Params {
        &self.large
    }

    /// The parameters over the small ring.
    pub fn small(&self) -> &Params {
        &self.small
    }

    /// `f = N / n`.
    pub fn factor(&self) -> usize {
        self.rings.factor()
    }

    /// The largest number of limbs of an input.
    pub(crate) fn limbs(&self) -> usize {
        self.rings.limbs()
    }

    /// `pi`: the `f` components of a polynomial.
    pub(crate) fn split(&self, poly: &Poly<Ntt>) -> Result<Vec<Poly<Ntt>>> {
        self.check(poly, &self.large)?;
        Ok(self.rings.split(poly))
    }

    /// `pi^-1`: the polynomial with the given `f` components.
    pub fn join(&self, parts: &[Poly<Ntt>]) -> Result<Poly<Ntt>> {
        ensure(parts.len() == self.factor(), || error::rank(parts.len(), self.factor()))?;
        // All components are over the small ring, at one level.
        for part in parts {
            self.check(part, &self.small)?;
            if part.limbs() != parts[0].limbs() {
                let needed = parts[0].limbs().to_string();
                return Err(error::limbs(part.limbs(), needed));
            }
        }
        Ok(self.rings.join(&parts.iter().collect::<Vec<_>>()))
    }

    /// `epsilon`: component 0 alone, one sum per value.
    pub(crate) fn constant_part(&self, poly: &Poly<Ntt>) -> Result<Poly<Ntt>> {
        self.check(poly, &self.large)?;
        Ok(self.rings.constant_part(poly))
    }

    /// `iota`: `b(X^f)`, a copy of the values.
    pub(crate) fn lift(&self, poly: &Poly<Ntt>) -> Result<Poly<Ntt>> {
        self.check(poly, &self.small)?;
        Ok(self.rings.lift(poly))
    }

    /// Extract of modules (DPad-HE, section 4.1): a ciphertext over the large ring with phase `m`
    /// becomes a ciphertext of rank `R f` over the small ring with phase `epsilon(m)`, that is
    /// every `f`-th coefficient. The map adds no noise. The secret of the result is
    /// [`extract_secret`](Self::extract_secret).
    pub fn extract(&self, ct: &Ciphertext) -> Result<Ciphertext> {
        self.large.check(ct.ident.fingerprint)?;
        self.check_module_rank()?;
        // The body keeps component 0; each mask becomes its f components.
        let b = self.constant_part(&ct.b)?;
        let mut a = Vec::with_capacity(self.small.rank());
        for mask in &ct.a {
            a.extend(self.split(mask)?);
        }
        Ciphertext::new(&self.small, b, a, ct.ident.key)
    }

    /// Embed: a ciphertext of rank `R f` over the small ring with phase `m` becomes a ciphertext of
    /// rank `R` over the large ring. Every `f`-th coefficient of its phase is a coefficient of `m`
    /// (`epsilon` of the phase is `m`); the others are meaningless. The secret of the result is
    /// [`embed_secret`](Self::embed_secret).
    pub fn embed(&self, ct: &Ciphertext) -> Result<Ciphertext> {
        self.small.check(ct.ident.fingerprint)?;
        self.check_module_rank()?;
        // The body becomes b(X^f); f masks are joined into one.
        let b = self.lift(&ct.b)?;
        let masks = ct.a.chunks_exact(self.factor()).map(|parts| self.join(parts));
        Ciphertext::new(&self.large, b, masks.collect::<Result<_>>()?, ct.ident.key)
    }

    /// The subring embedding `Y -> X^f`: a ciphertext over the small ring becomes a ciphertext of
    /// the same rank over the large ring with phase `m(X^f)`, without added noise. The secret of
    /// the result is [`subring_secret`](Self::subring_secret).
    pub fn embed_subring(&self, ct: &Ciphertext) -> Result<Ciphertext> {
        self.small.check(ct.ident.fingerprint)?;
        self.check_equal_rank()?;
        // Every polynomial is lifted, so the rank stays.
        let a = ct.a.iter().map(|mask| self.lift(mask)).collect::<Result<_>>()?;
        Ciphertext::new(&self.large, self.lift(&ct.b)?, a, ct.ident.key)
    }

    /// The secret of extracted ciphertexts, `rho^-1 (pi(s))` of section 4.1:
    /// `(s_0, Y s_{f-1}, ..., Y s_1)` for each component. It keeps the identity of the key.
    pub fn extract_secret(&self, secret: &SecretKey) -> Result<SecretKey> {
        self.large.check(secret.params().fingerprint())?;
        check_no_weaker(secret.params(), &self.small)?;
        self.check_module_rank()?;
        let (f, n) = (self.factor(), self.small.degree());
        let mut out = Zeroizing::new(Vec::with_capacity(self.small.dimension()));
        for component in 0..self.large.rank() {
            let s = secret.coefficients(component);
            // s_0: every f-th coefficient.
            out.extend((0..n).map(|i| s[i * f]));
            for j in 1..f {
                // Y s_{f-j}: the multiplication by Y wraps the top coefficient and negates it.
                out.push(-s[n * f - j]);
                out.extend((1..n).map(|i| s[i * f - j]));
            }
        }
        SecretKey::restore(&self.small, &out, secret.id())
    }

    /// The secret of embedded ciphertexts, inverse to [`extract_secret`](Self::extract_secret). It
    /// keeps the identity of the key.
    pub fn embed_secret(&self, secret: &SecretKey) -> Result<SecretKey> {
        self.small.check(secret.params().fingerprint())?;
        check_no_weaker(secret.params(), &self.large)?;
        self.check_module_rank()?;
        let (f, n) = (self.factor(), self.small.degree());
        let mut out = Zeroizing::new(vec![0; self.large.dimension()]);
        for (component, s) in out.chunks_exact_mut(n * f).enumerate() {
            // Component 0 returns to every f-th coefficient.
            for (i, &x) in secret.coefficients(component * f).iter().enumerate() {
                s[i * f] = x;
            }
            for j in 1..f {
                // Component j is Y s_{f-j}: undo the multiplication by Y.
                let t = secret.coefficients(component * f + j);
                s[n * f - j] = -t[0];
                (1..n).for_each(|i| s[i * f - j] = t[i]);
            }
        }
        SecretKey::restore(&self.large, &out, secret.id())
    }

    /// `s(X^f)`, the secret of ciphertexts embedded into the larger ring. It keeps the identity of
    /// the key.
    ///
    /// It has the security of the small ring: never publish anything under it modulo more than the
    /// small ring allows.
    pub fn subring_secret(&self, secret: &SecretKey) -> Result<SecretKey> {
        self.small.check(secret.params().fingerprint())?;
        check_no_weaker(secret.params(), &self.large)?;
        self.check_equal_rank()?;
        // s(X^f): the coefficients at multiples of f, zeros elsewhere.
        let mut out = Zeroizing::new(vec![0; self.large.dimension()]);
        let coefficients = secret.all_coefficients();
        out.iter_mut().step_by(self.factor()).zip(coefficients).for_each(|(x, &s)| *x = s);
        SecretKey::restore(&self.large, &out, secret.id())
    }

    fn check(&self, poly: &Poly<Ntt>, params: &Params) -> Result<()> {
        params.check_poly(poly)?;
        if poly.limbs() > self.limbs() {
            let needed = format!("at most {}, as prepared,", self.limbs());
            return Err(error::limbs(poly.limbs(), needed));
        }
        Ok(())
    }

    pub(crate) fn check_module_rank(&self) -> Result<()> {
        let needed = self.large.rank() * self.factor();
        ensure(self.small.rank() == needed, || error::rank(self.small.rank(), needed))
    }

    fn check_equal_rank(&self) -> Result<()> {
        if self.small.rank() != self.large.rank() {
            let (found, needed) = (self.small.rank(), self.large.rank());
            return Err(error::rank(found, needed));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::error::refusal;
    use crate::keyswitch::KeySwitchKey;
    use crate::noise::{self, measured};
    use crate::params::ParamsSpec;
    use crate::testing::{assert_close, message, params, rng, spec};

    const LARGE: usize = 512;

    fn factors() -> impl Iterator<Item = usize> {
        (0..=6).map(|log| 1 << log)
    }

    #[test]
    fn extraction_keeps_each_f_th_coefficient_and_noise() {
        for rank in [1, 2] {
            let large = params(LARGE, rank, 3, 1);
            let secret = SecretKey::generate(&large, &mut rng(1)).unwrap();
            let m = message(&large, 2, 5);
            let ct = secret.encrypt(&m, &mut rng(2)).unwrap();
            for factor in factors() {
                let small = large.module_view(factor).unwrap();
                let map = ModuleMap::new(&large, &small, 3).unwrap();
                let extracted_secret = map.extract_secret(&secret).unwrap();
                assert_eq!(extracted_secret.id(), secret.id());
                let extracted = map.extract(&ct).unwrap();
                assert_eq!(extracted.rank(), rank * factor);
                let expected = map.constant_part(&m).unwrap();
                let stats = measured::noise(&extracted_secret, &extracted, &expected).unwrap();
                assert!(stats.max < 6.0 * 3.2, "{}", stats.max);
                // And back: the embedded phase has the message at every f-th coefficient.
                let embedded_secret = map.embed_secret(&extracted_secret).unwrap();
                assert_eq!(embedded_secret.all_coefficients(), secret.all_coefficients());
                let embedded = map.embed(&extracted).unwrap();
                let phase = embedded.phase(&embedded_secret).unwrap();
                let again = map.constant_part(&phase).unwrap();
                assert_eq!(again, *extracted.phase(&extracted_secret).unwrap());
                assert_eq!(map.extract(&embedded).unwrap(), extracted);
            }
        }
    }

    #[test]
    fn subring_embedding_substitutes_a_power() {
        let large = params(512, 1, 2, 1);
        // Primes for the large degree serve the small one.
        let small = Params::new(ParamsSpec { degree: 64, ..large.spec().clone() }).unwrap();
        let map = ModuleMap::new(&large, &small, 2).unwrap();
        let secret = SecretKey::generate(&small, &mut rng(1)).unwrap();
        let m = message(&small, 2, 5);
        let ct = secret.encrypt(&m, &mut rng(2)).unwrap();
        let phase = ct.phase(&secret).unwrap();
        let embedded = map.embed_subring(&ct).unwrap();
        let subring = map.subring_secret(&secret).unwrap();
        assert_eq!(*embedded.phase(&subring).unwrap(), map.lift(&phase).unwrap());
    }

    #[test]
    fn extraction_and_rank_reduction_reach_smaller_rings() {
        // RLWE of degree 512 at one limb to RLWE of degree 64 with special primes of its own.
        let large = params(512, 1, 3, 2);
        let view = large.module_view(8).unwrap();
        let small = Params::new(ParamsSpec {
            q: large.spec().q[..1].to_vec(),
            p: large.spec().p[1..].to_vec(),
            ..spec(64, 1, 1, 1)
        })
        .unwrap();
        let secret = SecretKey::generate(&large, &mut rng(1)).unwrap();
        let target = SecretKey::generate(&small, &mut rng(2)).unwrap();
        let map = ModuleMap::new(&large, &view, 1).unwrap();
        let extracted_secret = map.extract_secret(&secret).unwrap();
        let key = KeySwitchKey::between(&extracted_secret, &target, 1, &mut rng(3)).unwrap();
        let m = message(&large, 1, 5);
        let ct = secret.encrypt(&m, &mut rng(4)).unwrap();
        let switched = key.switch(&small, &map.extract(&ct).unwrap()).unwrap();
        let expected = map.constant_part(&m).unwrap();
        let stats = measured::noise(&target, &switched, &expected).unwrap();
        let predicted = noise::fresh_secret(&large) + noise::key_switch(&small, 8, 1);
        assert_close(stats.variance, predicted, 2.0);
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let large = params(512, 1, 3, 1);
        let small = large.module_view(4).unwrap();
        let map = ModuleMap::new(&large, &small, 2).unwrap();
        let secret = SecretKey::generate(&large, &mut rng(1)).unwrap();
        let ct = secret.encrypt(&message(&large, 3, 1), &mut rng(1)).unwrap();
        assert!(refusal(&map.extract(&ct)).is(&ErrorKind::Level, "3 limbs where"));
        assert!(
            refusal(&map.embed(&ct))
                .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
        );
        assert!(refusal(&map.join(&[])).is(&ErrorKind::Shape, "rank 0 where rank 4 is needed"));
        let other = params(128, 1, 3, 1);
        assert!(
            refusal(&ModuleMap::new(&large, &other, 1))
                .is(&ErrorKind::ParamsMismatch, "); both sets must start with the same primes")
        );
        assert!(
            refusal(&ModuleMap::new(&small, &large, 1))
                .is(&ErrorKind::Shape, "a polynomial of degree bound")
        );
        assert!(refusal(&ModuleMap::new(&large, &small, 4)).is(&ErrorKind::Level, "limbs where"));
        assert!(large.module_view(3).is_err() && large.module_view(512).is_err());
        // A module of the wrong rank has the maps on polynomials but not on ciphertexts.
        let wrong = Params::new(ParamsSpec { rank: 3, ..small.spec().clone() }).unwrap();
        let map = ModuleMap::new(&large, &wrong, 3).unwrap();
        assert!(refusal(&map.extract(&ct)).is(&ErrorKind::Shape, "rank 3 where rank 4 is needed"));
        let three = SecretKey::generate(&wrong, &mut rng(1)).unwrap();
        let three = three.encrypt(&message(&wrong, 1, 1), &mut rng(1)).unwrap();
        assert!(refusal(&map.embed_subring(&three)).is(&ErrorKind::Shape, "where rank"));
    }
}
