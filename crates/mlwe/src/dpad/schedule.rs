//! The levels at which a deep circuit can reduce its rank (section 2.2 and RQ4 of the paper).

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;

use crate::error;
use crate::params::{Params, ParamsSpec};
use crate::security::{self, Model, SecretKind, Security};

/// One rank of a circuit, with the number of limbs from which on ciphertexts may have this rank.
#[derive(Debug, Clone, PartialEq)]
pub struct RankStep {
    /// The rank.
    pub rank: usize,
    /// The largest number of limbs at which keys of this rank may be published, and thus at which a
    /// circuit may reduce to this rank.
    pub limbs: usize,
    /// Degree, the first `limbs` primes, special primes and secret kind at this rank.
    pub spec: ParamsSpec,
}

/// The ranks `r, r / 2, r / 4, ..` of a circuit as its modulus shrinks. Each rank `r'` has the
/// highest level with the required security: `log2(Q_l P)` must fit the dimension `r' n`. The key
/// of the reduction and all later keys of this rank are published modulo `Q_l P`. Keys at a
/// temporary rank are checked by their own parameters.
///
/// Ranks are halved: a sequence of reductions by one may allow attacks that halving does not
/// (footnote 4 of the paper). Ranks without a level and ranks outside the tables are left out. The
/// halving stops at an odd rank.
///
/// Under [`Security::Insecure`] a level is allowed if its modulus, relative to the table's bound
/// for 128 bits, is no larger than that of the set. Where the table ends, the ratio of dimensions
/// replaces the ratio of bounds. The result is about as secure as the set.
///
/// The weight of a part of a sparse secret is not known in advance, so no reduction is planned for
/// sparse secrets.
pub fn rank_schedule(params: &Params, security: Security) -> Vec<RankStep> {
    let mut steps = vec![];
    let mut rank = params.rank();
    let sparse = matches!(params.spec().secret, SecretKind::Sparse(_));
    // r, r / 2, r / 4, ..; sparse secrets keep their rank.
    loop {
        if let Some(step) = step(params, security, rank)
            && step.limbs > 0
        {
            steps.push(step);
        }
        if sparse || !rank.is_multiple_of(2) {
            return steps;
        }
        rank /= 2;
    }
}

/// The step at one rank: the largest number of limbs whose modulus fits the dimension.
fn step(params: &Params, security: Security, rank: usize) -> Option<RankStep> {
    let dimension = rank * params.degree();
    let bound = largest_log2_modulus(params, security, dimension, params.spec().secret)?;
    // Keys at this rank are published modulo Q_l P.
    let fits = |&limbs: &usize| {
        params.q().at_limbs(limbs).log2_modulus() + params.p().log2_modulus() <= bound
    };
    let limbs = (1..=params.limbs()).rev().find(fits).unwrap_or(0);
    let q = params.spec().q[..limbs].to_vec();
    Some(RankStep { rank, limbs, spec: ParamsSpec { rank, q, security, ..params.spec().clone() } })
}

/// The largest `log2(Q P)` at a dimension; `None` outside the tables.
pub(crate) fn largest_log2_modulus(
    params: &Params,
    security: Security,
    dimension: usize,
    secret: SecretKind,
) -> Option<f64> {
    let model = match security {
        Security::Bits128 => Model::Bits128,
        Security::Bits128Classical => Model::Bits128Classical,
        // Compare with the set itself, since the level of security is not given.
        Security::Insecure => {
            let own = params.dimension();
            let bound = |n| security::max_log2_modulus(n, secret, Model::Bits128);
            let ratio = match (bound(dimension), bound(own)) {
                (Some(smaller), Some(own)) => smaller / own,
                _ => dimension as f64 / own as f64,
            };
            // The margin exceeds the rounding error at the set's own dimension.
            return Some(params.log2_modulus() * ratio + 1e-6);
        }
    };
    let allowance = security::sigma_allowance(params.spec().sigma)?;
    Some(security::max_log2_modulus(dimension, secret, model)? + allowance)
}

/// The smallest rank of a schedule at which ciphertexts may have `limbs` limbs.
pub fn rank_at(schedule: &[RankStep], limbs: usize) -> Result<&RankStep> {
    // Among the ranks allowed at this level, the smallest.
    let allowed = schedule.iter().filter(|step| step.limbs >= limbs);
    allowed.min_by_key(|step| step.rank).ok_or_else(|| {
        let most = schedule.iter().map(|step| step.limbs).max().unwrap_or(0);
        error::limbs(limbs, format!("at most {most}"))
    })
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::error::refusal;
    use crate::noise::measured;
    use crate::paper::DPad;
    use crate::rank_reduction::RankReduceKey;
    use crate::secret::SecretKey;
    use crate::testing::{message, params, rng, spec};

    #[test]
    fn ranks_halve_where_the_table_allows() {
        // Dimension 16384 and below: 430, 214, 106 bits; primes of 45 under a special one of 50.
        let set = ParamsSpec { security: Security::Bits128, ..spec(4096, 4, 8, 1) };
        let params = Params::new(set).unwrap();
        let schedule = rank_schedule(&params, Security::Bits128);
        let found: Vec<_> = schedule.iter().map(|step| (step.rank, step.limbs)).collect();
        assert_eq!(found, [(4, 8), (2, 3), (1, 1)]);
        for step in &schedule {
            assert!(Params::new(step.spec.clone()).unwrap().security_bits() >= 128.0);
            // One limb more is refused.
            let mut over = step.spec.clone();
            if let Some(&q) = params.spec().q.get(step.limbs) {
                over.q.push(q);
                assert!(
                    refusal(&Params::new(over))
                        .is(&ErrorKind::Insecure, "bits; take fewer or smaller primes, a")
                );
            }
        }
        assert_eq!(rank_at(&schedule, 1).unwrap().rank, 1);
        assert_eq!(rank_at(&schedule, 2).unwrap().rank, 2);
        assert_eq!(rank_at(&schedule, 4).unwrap().rank, 4);
        assert!(refusal(&rank_at(&schedule, 9)).is(&ErrorKind::Level, "9 limbs where"));
        assert!(rank_at(&[], 1).is_err());
        // An odd rank has no half.
        let odd = Params::new(spec(4096, 6, 8, 1)).unwrap();
        let ranks: Vec<_> =
            rank_schedule(&odd, Security::Bits128).iter().map(|step| step.rank).collect();
        assert_eq!(ranks, [6, 3]);
    }

    #[test]
    fn no_reduction_is_planned_for_sparse_secrets() {
        let secret = SecretKind::Sparse(512);
        for security in [Security::Bits128, Security::Insecure] {
            let set = ParamsSpec { secret, security, ..spec(4096, 2, 2, 1) };
            let schedule = rank_schedule(&Params::new(set).unwrap(), security);
            assert_eq!(schedule.iter().map(|step| step.rank).collect::<Vec<_>>(), [2]);
        }
    }

    #[test]
    fn published_sets_stay_as_secure_as_they_are() {
        let params = Params::new(DPad::Rank2.spec().unwrap()).unwrap();
        let own = rank_schedule(&params, Security::Insecure);
        // 440 bits at 16384, so 220 at 8192: 60 + 60 + 2 x 40.
        let found: Vec<_> = own.iter().map(|step| (step.rank, step.limbs)).collect();
        assert_eq!(found, [(2, 9), (1, 3)]);
        // For 128 bits the set is too large at its own rank: one limb less.
        let strict = rank_schedule(&params, Security::Bits128);
        let found: Vec<_> = strict.iter().map(|step| (step.rank, step.limbs)).collect();
        assert_eq!(found, [(2, 8), (1, 3)]);
    }

    #[test]
    fn a_circuit_goes_down_along_its_schedule() {
        let params = params(64, 4, 8, 1);
        let schedule = rank_schedule(&params, Security::Insecure);
        assert_eq!(schedule.iter().map(|step| step.rank).collect::<Vec<_>>(), [4, 2, 1]);
        let mut secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let m = message(&params, 8, 7);
        let mut ct = secret.encrypt(&m, &mut rng(2)).unwrap();
        for step in &schedule[1..] {
            let to = Params::new(step.spec.clone()).unwrap();
            let part = secret.truncate_rank(&to, &mut rng(3)).unwrap();
            let key = RankReduceKey::generate(&secret, &part, step.limbs, &mut rng(4)).unwrap();
            ct.truncate(step.limbs).unwrap();
            ct = key.reduce(&to, &ct).unwrap();
            secret = part;
        }
        assert_eq!(ct.rank(), 1);
        let mut expected = m;
        expected.truncate(ct.limbs());
        let stats = measured::noise(&secret, &ct, &expected).unwrap();
        assert!(stats.max < 200.0, "{stats:?}");
    }
}
