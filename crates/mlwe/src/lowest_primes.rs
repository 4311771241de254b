//! Key switches at the lowest levels with fewer special primes.
//!
//! A digit of a ciphertext of few primes is far smaller than the product `P` of all special primes.
//! A product `P'` of the first few of them serves such a key switch as well: its noise stays about
//! one rounding, and a row of a key has residues modulo `P' Q_l` alone. Those keys belong to
//! parameters of their own ([`Params::lowest`]), under the same secret ([`SecretKey::under`]).
//! Ciphertexts change to these parameters and back without a key ([`Ciphertext::under`]).

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;
use bellerophon_ring::error::ensure;

use crate::ciphertext::Ciphertext;
use crate::key_id::KeyIdent;
use crate::params::{Params, check_chains, check_no_weaker};
use crate::secret::SecretKey;
use crate::{error, noise};

impl Params {
    /// The parameters of the first `limbs` primes, for key switches that stay there: with the
    /// fewest special primes for which the error that the digits contribute to a key switch is at
    /// most that of its rounding. These are the first ones. There are as many digits as with all of
    /// them. [`SecretKey::under`](crate::SecretKey::under) takes the secret along. Both sets share
    /// tables and buffers.
    pub fn lowest(&self, limbs: usize) -> Result<Self> {
        self.check_limbs(limbs)?;
        let count = least_special(self, limbs);
        let mut spec = self.spec().clone();
        spec.q.truncate(limbs);
        spec.p.truncate(count);
        // A smaller modulus of the same secret is at least as secure.
        Self::over(spec, self.q().at_limbs(limbs), self.p().at_limbs(count))
    }
}

impl SecretKey {
    /// The same secret, with the same identity, under the parameters `to`, which differ in primes
    /// alone ([`Params::lowest`]).
    pub fn under(&self, to: &Params) -> Result<Self> {
        let own = self.params();
        ensure(to.degree() == own.degree(), || error::degree(to.degree(), own.degree()))?;
        ensure(to.rank() == own.rank(), || error::rank(to.rank(), own.rank()))?;
        let (found, needed) = (to.spec().secret, own.spec().secret);
        ensure(found == needed, || error::secret(found.to_string(), needed.to_string()))?;
        check_no_weaker(own, to)?;
        Self::restore(to, self.all_coefficients(), self.id())
    }
}

impl Ciphertext {
    /// The same ciphertext under the parameters `to`, whose chain begins with the same primes
    /// ([`Params::lowest`]). `from` are its own parameters.
    pub fn under(self, from: &Params, to: &Params) -> Result<Self> {
        from.check(self.ident.fingerprint)?;
        ensure(self.rank() == to.rank(), || error::rank(self.rank(), to.rank()))?;
        check_chains(from, to, self.limbs())?;
        let ident = KeyIdent { fingerprint: to.fingerprint(), ..self.ident };
        Ok(Self { ident, ..self })
    }
}

/// The fewest of the first special primes for which the digits of a key switch contribute no more
/// than its rounding; all of them if there is no such number. A digit is then far below `P` where
/// `sigma` is 1 or more, since the digits contribute `r N sigma^2 / 12` or more if one of them is
/// not. The digits are therefore the same as with all special primes.
fn least_special(params: &Params, limbs: usize) -> usize {
    let enough = |&count: &usize| {
        let log2_p = params.p().at_limbs(count).log2_modulus();
        noise::divided_digits(params, params.rank() as f64, limbs, log2_p)
            <= noise::rounding(params)
    };
    (1..params.p().limbs()).find(enough).unwrap_or(params.p().limbs())
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::error::refusal;
    use crate::galois::GaloisKey;
    use crate::noise::measured;
    use crate::params::ParamsSpec;
    use crate::security::SecretKind;
    use crate::testing::{assert_close, message, params, rng, spec};

    /// Fewer special primes, as many digits, the predicted noise of about one rounding; and the
    /// result is a ciphertext of the whole set again.
    #[test]
    fn keys_at_lowest_primes_need_fewer_special_primes() {
        for (rank, special, expected) in [(1, 6, [1, 2, 3]), (2, 3, [1, 2, 3])] {
            let all = params(512, rank, 6, special);
            let secret = SecretKey::generate(&all, &mut rng(1)).unwrap();
            for (limbs, count) in [1, 2, 3].into_iter().zip(expected) {
                let low = all.lowest(limbs).unwrap();
                assert_eq!((low.limbs(), low.p().limbs()), (limbs, count), "{limbs} limbs");
                assert_eq!(low.gadget().digits(limbs), all.gadget().digits(limbs));
                let own = secret.under(&low).unwrap();
                let key = GaloisKey::generate(&own, 5, limbs, &mut rng(2)).unwrap();
                let m = message(&all, limbs, 7);
                let ct = secret.encrypt(&m, &mut rng(3)).unwrap();
                // The key serves ciphertexts under the lowest primes alone.
                assert!(
                    refusal(&key.apply(&low, &ct)).is(
                        &ErrorKind::ParamsMismatch,
                        "use operands and keys of one parameter set"
                    )
                );
                let turned = key.apply(&low, &ct.under(&all, &low).unwrap()).unwrap();
                let ring = all.q().at_limbs(limbs);
                let expected = ring.apply_ntt(&m, &ring.automorphism(5).unwrap());
                let stats = measured::noise(&secret, &turned.under(&low, &all).unwrap(), &expected);
                let switched = noise::automorphism(&low, limbs);
                if count < special {
                    assert!(switched <= 2.0 * noise::rounding(&all));
                }
                let predicted = noise::fresh_secret(&all) + switched;
                assert_close(stats.unwrap().variance, predicted, 1.35);
                let size = |params| GaloisKey::seeded_byte_len(params, limbs).unwrap();
                assert!(size(&low) <= size(&all), "{limbs} limbs");
            }
        }
    }

    #[test]
    fn parameters_that_do_not_fit_are_refused() {
        let all = params(64, 2, 4, 3);
        let secret = SecretKey::generate(&all, &mut rng(1)).unwrap();
        assert!(refusal(&all.lowest(0)).is(&ErrorKind::Level, "limbs where"));
        assert!(refusal(&all.lowest(5)).is(&ErrorKind::Level, "limbs where"));
        let (wide, tall) = (params(128, 2, 4, 3), params(64, 3, 4, 3));
        let sparse = ParamsSpec { secret: SecretKind::Sparse(20), ..spec(64, 2, 4, 3) };
        let sparse = Params::new(sparse).unwrap();
        assert!(
            refusal(&secret.under(&wide)).is(&ErrorKind::Shape, "a polynomial of degree bound")
        );
        assert!(refusal(&secret.under(&tall)).is(&ErrorKind::Shape, "where rank"));
        assert!(refusal(&secret.under(&sparse)).is(&ErrorKind::Shape, "secret key"));
        let ct = secret.encrypt(&message(&all, 3, 7), &mut rng(2)).unwrap();
        let under = |to: &Params| ct.clone().under(&all, to);
        assert!(refusal(&under(&wide)).is(&ErrorKind::Shape, "a polynomial of degree bound"));
        assert!(refusal(&under(&tall)).is(&ErrorKind::Shape, "where rank"));
        assert!(refusal(&under(&all.lowest(2).unwrap())).is(&ErrorKind::Level, "limbs where"));
        let mut other = spec(64, 2, 4, 3);
        other.q.swap(1, 2);
        assert!(
            refusal(&under(&Params::new(other).unwrap()))
                .is(&ErrorKind::ParamsMismatch, "the moduli differ at limb 1 (")
        );
        let foreign = ct.clone().under(&sparse, &all);
        assert!(
            refusal(&foreign)
                .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
        );
    }
}
