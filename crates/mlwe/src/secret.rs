//! Secret keys.

use std::fmt;

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::error::ensure;
use bellerophon_ring::{Ntt, Poly, Result, sample};
use rand::CryptoRng;
use zeroize::Zeroizing;

use crate::error;
use crate::key_id::KeyId;
use crate::params::{Params, check_no_weaker};
use crate::security::{SecretKind, Security};

/// A secret vector `s` in `R^r` with coefficients in `{-1, 0, 1}`.
///
/// Wiped on drop, redacted in `Debug`, without `PartialEq`. Cloning copies the secret.
#[derive(Clone)]
pub struct SecretKey {
    params: Params,
    id: KeyId,
    /// The `rank` components in order, `N` coefficients each.
    coefficients: Zeroizing<Vec<i64>>,
    /// Each component in NTT form over `q_0..q_L, p_0..p_{k-1}`.
    ntt: Vec<Zeroizing<Poly<Ntt>>>,
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The public identity only.
        f.debug_struct("SecretKey").field("id", &self.id).finish_non_exhaustive()
    }
}

impl SecretKey {
    /// Draws a secret of the kind given by the parameters.
    pub fn generate<R: CryptoRng + ?Sized>(params: &Params, rng: &mut R) -> Result<Self> {
        let coefficients = match params.spec().secret {
            SecretKind::Ternary => sample::ternary(params.dimension(), rng),
            SecretKind::Sparse(weight) => {
                sample::ternary_fixed_weight(params.dimension(), weight, rng)?
            }
            SecretKind::Bounded(w) => sample::bounded(params.dimension(), w, rng),
        };
        Self::build(params, coefficients, KeyId::random(rng))
    }

    /// Wraps given coefficients: `rank` components of `N` coefficients in order. Draws a new
    /// identity from `rng`.
    ///
    /// Only the range of the coefficients is checked. Their distribution is up to the caller (they
    /// may be part of another secret).
    pub(crate) fn from_coefficients<R: CryptoRng + ?Sized>(
        params: &Params,
        coefficients: &[i64],
        rng: &mut R,
    ) -> Result<Self> {
        Self::restore(params, coefficients, KeyId::random(rng))
    }

    /// Rebuilds a stored secret from its coefficients, component by component, and its identity.
    pub fn restore(params: &Params, coefficients: &[i64], id: KeyId) -> Result<Self> {
        if coefficients.len() != params.dimension() {
            return Err(error::secret(
                format!("{} coefficients", coefficients.len()),
                format!("rank * degree = {}", params.dimension()),
            ));
        }
        // All coefficients are read: the time does not depend on them.
        let outside = coefficients.iter().fold(false, |bad, &c| bad | (c.unsigned_abs() > 1));
        if outside {
            return Err(error::secret(
                "a coefficient that is not ternary".into(),
                "coefficients -1, 0 and 1".into(),
            ));
        }
        Self::build(params, Zeroizing::new(coefficients.to_vec()), id)
    }

    fn build(params: &Params, coefficients: Zeroizing<Vec<i64>>, id: KeyId) -> Result<Self> {
        // Every component in NTT form over all primes, wiped on drop.
        let ring = params.gadget().ring(params.limbs());
        let ntt = coefficients
            .chunks_exact(params.degree())
            .map(|component| Zeroizing::new(ring.forward(ring.from_signed(component))))
            .collect();
        Ok(Self { params: params.clone(), id, coefficients, ntt })
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The public identity.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// The `N` coefficients of component `component < rank`. Secret: wipe every copy.
    pub fn coefficients(&self, component: usize) -> &[i64] {
        let degree = self.params.degree();
        &self.coefficients[component * degree..][..degree]
    }

    /// All `rank * N` coefficients, component by component. Secret: wipe every copy.
    pub fn all_coefficients(&self) -> &[i64] {
        &self.coefficients
    }

    /// Component `component < rank` in NTT form over `q_0..q_L, p_0..p_{k-1}`. Secret.
    pub fn ntt(&self, component: usize) -> &Poly<Ntt> {
        &self.ntt[component]
    }

    /// `|s|^2`, the number of nonzero coefficients.
    pub(crate) fn norm2(&self) -> f64 {
        self.coefficients.iter().map(|&c| c * c).sum::<i64>() as f64
    }

    /// The secret of the parameters `to` that consists of the first `to.rank()` components: the
    /// target of a rank reduction (DPad-HE section 3.1.1, RdKGen). Draws a new identity.
    ///
    /// # Errors
    /// [`ErrorKind::Parameters`] if `to` has a lower security level; [`ErrorKind::Shape`] for a
    /// part of a sparse secret with less weight than `to` assumes, unless `to` is
    /// [`Security::Insecure`].
    pub fn truncate_rank<R: CryptoRng + ?Sized>(&self, to: &Params, rng: &mut R) -> Result<Self> {
        // Shape, then security level.
        if to.degree() != self.params.degree() {
            return Err(error::degree(to.degree(), self.params.degree()));
        }
        ensure(to.rank() <= self.params.rank(), || error::rank(to.rank(), self.params.rank()))?;
        check_no_weaker(&self.params, to)?;
        let part = &self.coefficients[..to.dimension()];
        // Chance determines the weight of a part of a sparse secret, so it is checked here.
        let checked = to.spec().security != Security::Insecure && to.rank() < self.params.rank();
        if checked && matches!(self.params.spec().secret, SecretKind::Sparse(_)) {
            let weight = part.iter().map(|&c| c * c).sum::<i64>() as usize;
            let enough = match to.spec().secret {
                SecretKind::Sparse(needed) => weight >= needed,
                SecretKind::Ternary | SecretKind::Bounded(_) => false,
            };
            if !enough {
                return Err(error::secret(
                    format!("a part of a {}", self.params.spec().secret),
                    format!("at least the weight of a secret that is {}", to.spec().secret),
                ));
            }
        }
        Self::from_coefficients(to, part, rng)
    }

    /// A secret of the parameters `to` that begins with this one and continues with fresh
    /// components: `(s || s')` of DPad-HE section 3.2.2, the secret at a temporary rank. Draws a
    /// new identity.
    ///
    /// `s'` protects keys modulo more than `s` alone is allowed to: it is as secret as `s`.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if the fresh components of a sparse secret would be sparser than this
    /// one; [`ErrorKind::Parameters`] if `to` has a lower security level: keys at the larger rank
    /// are samples of this secret too.
    pub fn extend_rank<R: CryptoRng + ?Sized>(&self, to: &Params, rng: &mut R) -> Result<Self> {
        // Step 1: shape, then security level.
        let own = &self.params;
        ensure(to.degree() == own.degree(), || error::degree(to.degree(), own.degree()))?;
        ensure(to.rank() > own.rank(), || error::rank(to.rank(), own.rank() + 1))?;
        check_no_weaker(own, to)?;
        // Step 2: fresh components, with the kind of this secret and at least its density.
        let more = to.dimension() - own.dimension();
        let further = match (own.spec().secret, to.spec().secret) {
            (SecretKind::Ternary, SecretKind::Ternary) => sample::ternary(more, rng),
            (SecretKind::Sparse(own_weight), SecretKind::Sparse(weight))
                if weight * own.rank() >= own_weight * to.rank() =>
            {
                sample::ternary_fixed_weight(more, weight - own_weight, rng)?
            }
            (found, needed) => {
                return Err(error::secret(
                    format!("{needed} at rank {}", to.rank()),
                    format!("the kind and the density of {found} at rank {}", own.rank()),
                ));
            }
        };
        // Step 3: this secret, then the fresh components. Full capacity from the start: a growing
        // vector would leave copies in memory.
        let mut all = Zeroizing::new(Vec::with_capacity(to.dimension()));
        all.extend_from_slice(&self.coefficients);
        all.extend_from_slice(&further);
        Self::build(to, all, KeyId::random(rng))
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::error::refusal;
    use crate::params::ParamsSpec;
    use crate::testing::{params, rng, spec};

    #[test]
    fn extended_secrets_begin_with_the_one_extended() {
        let (short, long) = (params(64, 2, 2, 1), params(64, 5, 2, 3));
        let secret = SecretKey::generate(&short, &mut rng(1)).unwrap();
        let extended = secret.extend_rank(&long, &mut rng(2)).unwrap();
        assert_eq!(extended.all_coefficients()[..128], *secret.all_coefficients());
        assert_ne!(extended.id(), secret.id());
        let more = extended.norm2() - secret.norm2();
        assert!((more - 128.0).abs() < 6.0 * 128f64.sqrt(), "{more} of 192");
        let back = extended.truncate_rank(&short, &mut rng(3)).unwrap();
        assert_eq!(back.all_coefficients(), secret.all_coefficients());
        assert!(
            refusal(&extended.extend_rank(&short, &mut rng(1))).is(&ErrorKind::Shape, "where rank")
        );
        let wide = params(128, 3, 2, 1);
        assert!(
            refusal(&secret.extend_rank(&wide, &mut rng(1)))
                .is(&ErrorKind::Shape, "a polynomial of degree bound")
        );
        // Sparse secrets keep their density.
        let sparse = |rank, weight| {
            let secret = SecretKind::Sparse(weight);
            Params::new(ParamsSpec { secret, ..spec(64, rank, 2, 1) }).unwrap()
        };
        let secret = SecretKey::generate(&sparse(2, 20), &mut rng(1)).unwrap();
        let extended = secret.extend_rank(&sparse(3, 30), &mut rng(2)).unwrap();
        assert_eq!(extended.norm2(), 30.0);
        for unfit in [sparse(3, 29), params(64, 3, 2, 1)] {
            let refused = secret.extend_rank(&unfit, &mut rng(2));
            assert!(refusal(&refused).is(&ErrorKind::Shape, "secret key"));
        }
    }

    #[test]
    fn secrets_are_of_the_kind_asked_for() {
        let params = params(1024, 2, 2, 1);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let third = params.dimension() as f64 / 3.0;
        assert!((secret.norm2() - 2.0 * third).abs() < 6.0 * third.sqrt());
        assert_eq!(secret.all_coefficients()[1024..], *secret.coefficients(1));
        let sparse = ParamsSpec { secret: SecretKind::Sparse(40), ..spec(256, 3, 2, 1) };
        let sparse = Params::new(sparse).unwrap();
        let secret = SecretKey::generate(&sparse, &mut rng(1)).unwrap();
        assert_eq!(secret.norm2(), 40.0);
        assert_eq!(sparse.secret_norm2(), 40.0);
        // The transform is that of the coefficients.
        let ring = sparse.gadget().ring(2);
        for i in 0..3 {
            let back = ring.inverse(secret.ntt(i).clone());
            assert_eq!(back, ring.from_signed(secret.coefficients(i)));
        }
    }

    #[test]
    fn debug_shows_no_coefficients_and_no_polynomials() {
        let params = params(64, 1, 2, 1);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let shown = format!("{secret:?}");
        assert_eq!(shown, format!("SecretKey {{ id: {}, .. }}", secret.id()));
    }

    /// And for no more.
    #[test]
    fn parts_of_sparse_secrets_pass_for_their_weight() {
        let whole = ParamsSpec { secret: SecretKind::Sparse(256), ..spec(4096, 2, 1, 1) };
        let part = ParamsSpec { rank: 1, security: Security::Bits128, ..whole.clone() };
        let dense = ParamsSpec { secret: SecretKind::Ternary, ..part.clone() };
        let unchecked = ParamsSpec { security: Security::Insecure, ..part.clone() };
        let secret = SecretKey::generate(&Params::new(whole).unwrap(), &mut rng(1)).unwrap();
        for refused in [part, dense] {
            let refused = secret.truncate_rank(&Params::new(refused).unwrap(), &mut rng(2));
            assert!(refusal(&refused).is(&ErrorKind::Shape, "secret key"), "{refused:?}");
        }
        secret.truncate_rank(&Params::new(unchecked).unwrap(), &mut rng(2)).unwrap();
    }

    #[test]
    fn stored_secrets_come_back_and_bad_ones_do_not() {
        let params = params(64, 1, 2, 1);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let other = SecretKey::generate(&params, &mut rng(2)).unwrap();
        assert_ne!(secret.id(), other.id());
        let back = SecretKey::restore(&params, secret.all_coefficients(), secret.id()).unwrap();
        assert_eq!(back.ntt(0), secret.ntt(0));
        let copy = SecretKey::from_coefficients(&params, secret.coefficients(0), &mut rng(3));
        assert_ne!(copy.unwrap().id(), secret.id());
        let refused = |coefficients: &[i64]| {
            SecretKey::from_coefficients(&params, coefficients, &mut rng(1)).unwrap_err()
        };
        assert!(refused(&[0; 63]).is(&ErrorKind::Shape, "secret key"));
        for bad in [2, -2, 3, i64::MAX, i64::MIN] {
            let mut coefficients = [0; 64];
            coefficients[7] = bad;
            assert!(refused(&coefficients).is(&ErrorKind::Shape, "secret key"), "{bad}");
        }
    }
}
