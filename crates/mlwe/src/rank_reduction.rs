//! Changes of rank within one ring.
//!
//! - Reduction to an independent secret: [`KeySwitchKey::between`], for any two ranks.
//! - Reduction to a part of the same secret: [`RankReduceKey`] (DPad-HE section 3.1.1, RankReduce)
//!   drops the last components and switches only those: `(b, a[..r']) + KeySwitch(a[r'..])`.
//! - Increase: [`pad_rank`] appends zero masks.
//!
//! After [`ModuleMap::extract`](crate::ModuleMap::extract), a rank reduction switches to a ring of
//! smaller degree.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::error::ensure;
use bellerophon_ring::{Addend, During, Epilogue, Ntt, Result};
use rand::CryptoRng;

use crate::ciphertext::{Ciphertext, check_divisors};
use crate::error;
use crate::keyswitch::KeySwitchKey;
use crate::params::{Params, check_chains, check_no_weaker};
use crate::secret::SecretKey;
use crate::security::SecretKind;

/// The key from the last components of a secret to its first components.
#[derive(Debug, Clone, PartialEq)]
pub struct RankReduceKey {
    key: KeySwitchKey,
}

impl RankReduceKey {
    /// RdKGen: the key from components `r'..r` of `from` to `to`, for ciphertexts of up to `limbs`
    /// limbs. `to` must hold the first `r'` components of `from` ([`SecretKey::truncate_rank`]).
    pub fn generate<R: CryptoRng + ?Sized>(
        from: &SecretKey,
        to: &SecretKey,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        // A reduction drops at least one component.
        let (rank, kept) = (from.params().rank(), to.params().rank());
        ensure(kept < rank, || error::rank(kept, rank - 1))?;
        check_part(from, to)?;
        // Only the dropped components are switched.
        let key = KeySwitchKey::between_components(from, kept..rank, to, limbs, rng)?;
        Ok(Self { key })
    }

    /// The switching key.
    pub fn key(&self) -> &KeySwitchKey {
        &self.key
    }

    /// RankReduce; `params` are those of the result.
    pub fn reduce(&self, params: &Params, ct: &Ciphertext) -> Result<Ciphertext> {
        self.divide(params, ct, 0).during("RankReduceKey::reduce")
    }

    /// [`reduce`](Self::reduce) and a rescale by the last `primes` primes, fused into one division
    /// with one rounding.
    pub(crate) fn reduce_rescale(
        &self,
        params: &Params,
        ct: &Ciphertext,
        primes: usize,
    ) -> Result<Ciphertext> {
        // At least one limb remains after the rescale.
        if primes >= ct.limbs() {
            let needed = format!("more than the {primes} to divide by");
            return Err(error::limbs(ct.limbs(), needed));
        }
        self.divide(params, ct, primes)
    }

    /// `(b, a[..r']) + KeySwitch(a[r'..])`, with the addition inside the division.
    fn divide(&self, params: &Params, ct: &Ciphertext, primes: usize) -> Result<Ciphertext> {
        check_divisors(params.p().limbs() + primes)?;
        self.key.check_source(ct)?;
        // Masks beyond `kept` are switched; body and kept masks are added to the quotient.
        let kept = self.key.shape().to_rank;
        let dropped = ct.a.get(kept..).ok_or_else(|| error::rank(ct.rank(), kept))?;
        let stay = std::iter::once(&ct.b).chain(&ct.a[..kept]);
        let epilogue = Epilogue {
            addends: stay.map(|poly| Some(Addend::Poly(poly))).collect(),
            primes,
            map: None,
        };
        Ok(self.key.finish(&self.key.digits(params, dropped)?, &epilogue))
    }
}

/// Wraps a stored switching key.
impl From<KeySwitchKey> for RankReduceKey {
    fn from(key: KeySwitchKey) -> Self {
        Self { key }
    }
}

/// Appends zero masks. The phase is unchanged under any secret that begins with the secret of the
/// ciphertext. `to` and `key` are the parameters and the identity of that secret. The caller
/// guarantees that it begins with the secret of the ciphertext.
pub fn pad_rank(
    from: &Params,
    ct: &Ciphertext,
    to: &Params,
    key: crate::key_id::KeyId,
) -> Result<Ciphertext> {
    from.check(ct.ident.fingerprint)?;
    ensure(to.rank() >= ct.rank(), || error::rank(to.rank(), ct.rank()))?;
    // Degree and primes must match at the level of the ciphertext.
    check_chains(from, to, ct.limbs())?;
    let ring = to.q().at_limbs(ct.limbs());
    let mut a = ct.a.clone();
    a.resize_with(to.rank(), || ring.zero::<Ntt>());
    Ciphertext::new(to, ct.b.clone(), a, key)
}

/// `Err` unless `part` holds the first components of `whole`. The comparison is constant-time: it
/// reads every coefficient before it branches.
pub(crate) fn check_part(whole: &SecretKey, part: &SecretKey) -> Result<()> {
    let (whole, part) = (whole.all_coefficients(), part.all_coefficients());
    // Or over all differences: no early exit on secret data.
    let difference = whole.iter().zip(part).fold(0, |all, (&x, &y)| all | (x ^ y));
    if difference != 0 {
        return Err(error::secret(
            "a secret that is not the first part of the other".into(),
            "SecretKey::truncate_rank of it".into(),
        ));
    }
    Ok(())
}

/// `Err` unless `raised` consists of `secret` and further components that hide it. The further
/// components need at least as many nonzero coefficients as [`SecretKey::extend_rank`] draws, less
/// eight standard deviations. Their parameters must not have a lower security level.
pub(crate) fn check_extension(raised: &SecretKey, secret: &SecretKey) -> Result<()> {
    check_part(raised, secret)?;
    check_no_weaker(secret.params(), raised.params())?;
    // The expected weight of `more` ternary coefficients is 2/3 each, with variance 2/9 each.
    let more = (raised.params().dimension() - secret.params().dimension()) as f64;
    let needed = match raised.params().spec().secret {
        SecretKind::Ternary | SecretKind::Bounded(_) => {
            more * 2.0 / 3.0 - 8.0 * (more * 2.0 / 9.0).sqrt()
        }
        SecretKind::Sparse(weight) => weight as f64 - secret.norm2(),
    };
    let found = raised.norm2() - secret.norm2();
    if found < needed {
        return Err(error::secret(
            "further components of another kind".into(),
            "SecretKey::extend_rank of the other secret".into(),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::error::refusal;
    use crate::noise::{self, measured};
    use crate::params::ParamsSpec;
    use crate::testing::{assert_close, message, params, rng, spec};

    #[test]
    fn reductions_keep_the_phase() {
        for (rank, kept) in [(2, 1), (4, 2), (4, 1), (3, 2)] {
            let whole = params(512, rank, 4, 2);
            // Fewer primes: what makes the smaller rank secure.
            let q = whole.spec().q[..2].to_vec();
            let part = Params::new(ParamsSpec { rank: kept, q, ..whole.spec().clone() }).unwrap();
            let secret = SecretKey::generate(&whole, &mut rng(1)).unwrap();
            let first = secret.truncate_rank(&part, &mut rng(2)).unwrap();
            let key = RankReduceKey::generate(&secret, &first, 2, &mut rng(3)).unwrap();
            let wire = key.key().compress().expand(&part).unwrap();
            assert_eq!(RankReduceKey::from(wire), key);
            let phase_of = |ct: &Ciphertext| ct.phase(&secret).unwrap();
            for limbs in 1..=2 {
                let m = message(&whole, limbs, 7);
                let ct = secret.encrypt(&m, &mut rng(4)).unwrap();
                let reduced = key.reduce(&part, &ct).unwrap();
                assert_eq!(reduced.rank(), kept);
                let stats = measured::noise(&first, &reduced, &m).unwrap();
                let predicted =
                    noise::fresh_secret(&whole) + noise::key_switch(&part, rank - kept, limbs);
                assert_close(stats.variance, predicted, 1.35);
                // Rescaled in the same division: one rounding.
                if limbs == 2 {
                    let rescaled = key.reduce_rescale(&part, &ct, 1).unwrap();
                    let divided =
                        bellerophon_ring::rescale(&ct.ring(&whole), (*phase_of(&ct)).clone(), 1);
                    let stats = measured::noise(&first, &rescaled, &divided).unwrap();
                    // The quotient that it is compared with is rounded too.
                    assert_close(stats.variance, noise::rounding(&part) + 1.0 / 12.0, 1.35);
                }
                let refused = key.reduce_rescale(&part, &ct, limbs);
                assert!(refusal(&refused).is(&ErrorKind::Level, "limbs where"));
                // Padding with zeros goes back up without noise.
                let raised = pad_rank(&part, &reduced, &whole, secret.id()).unwrap();
                assert_eq!(raised.phase(&secret).unwrap(), reduced.phase(&first).unwrap());
            }
        }
    }

    /// Neither the message nor the structure of the error has a number of the secret.
    #[test]
    fn refusals_of_weak_extensions_tell_no_weight() {
        let (whole, part) = (params(64, 3, 2, 1), params(64, 2, 2, 1));
        let secret = SecretKey::generate(&part, &mut rng(1)).unwrap();
        let mut coefficients = secret.all_coefficients().to_vec();
        coefficients.extend([1, 0, 0, 0, 0, 0, 0, 0].repeat(8));
        let raised = SecretKey::from_coefficients(&whole, &coefficients, &mut rng(2)).unwrap();
        let refused = check_extension(&raised, &secret);
        assert!(refusal(&refused).is(&ErrorKind::Shape, "secret key"));
        let said = refused.unwrap_err();
        let said = format!("{said} {said:?} {:?}", said.kind());
        assert!(!said.contains(|c: char| c.is_ascii_digit()), "{said}");
    }

    #[test]
    fn refuses_secrets_that_do_not_fit() {
        let (whole, part) = (params(64, 3, 2, 1), params(64, 2, 2, 1));
        let secret = SecretKey::generate(&whole, &mut rng(1)).unwrap();
        let other = SecretKey::generate(&part, &mut rng(2)).unwrap();
        let refused = RankReduceKey::generate(&secret, &other, 2, &mut rng(3));
        assert!(refusal(&refused).is(&ErrorKind::Shape, "secret key"));
        let refused = RankReduceKey::generate(&other, &secret, 2, &mut rng(3));
        assert!(refusal(&refused).is(&ErrorKind::Shape, "where rank"));
        assert!(
            refusal(&other.truncate_rank(&whole, &mut rng(1))).is(&ErrorKind::Shape, "where rank")
        );
        let wide = params(128, 2, 2, 1);
        assert!(
            refusal(&secret.truncate_rank(&wide, &mut rng(1)))
                .is(&ErrorKind::Shape, "a polynomial of degree bound")
        );
        let ct = secret.encrypt(&message(&whole, 1, 1), &mut rng(1)).unwrap();
        assert!(
            refusal(&pad_rank(&whole, &ct, &part, other.id())).is(&ErrorKind::Shape, "where rank")
        );
        let mut primes = spec(64, 3, 2, 1);
        primes.q.swap(0, 1);
        let swapped = Params::new(primes).unwrap();
        let refused = pad_rank(&whole, &ct, &swapped, other.id());
        assert!(refusal(&refused).is(&ErrorKind::ParamsMismatch, "the moduli differ at limb 0 ("));
    }
}
