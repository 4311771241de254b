//! The cost of a relinearization, and the search for the cheapest strategy.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Modulus, Result, prime};

use super::rotate::RankHoistedKeys;
use super::schedule::largest_log2_modulus;
use super::strategy::{RelinStrategy, raised_secret};
use crate::keyswitch_cost::{RelinCost, SLACK_BITS, Switch, smallest_special};
use crate::params::Params;
use crate::{error, security};

/// Upper bound on the bits of special primes in chosen strategies: the fastest kernels need primes
/// below `2^50`.
const SPECIAL_BITS: f64 = 50.0;

/// Largest ratio of a temporary rank to the rank; `r^ <= 2 r` in the paper.
const MOST_RAISED: usize = 2;

/// The numbers of a strategy that determine its cost.
#[derive(Debug, Clone, Copy)]
struct Plan {
    factor: usize,
    /// Temporary rank over the ring of the strategy, bits and number of its special primes.
    temporary: Option<(usize, f64, usize)>,
}

impl Plan {
    /// Builds the strategy. Fails if no suitable primes or ring exist.
    fn strategy(&self, params: &Params) -> Result<RelinStrategy> {
        // Without a temporary rank no primes have to be found.
        let Some((rank, log2_p, count)) = self.temporary else {
            return RelinStrategy::new(params, self.factor, None);
        };
        // Special primes of equal size, distinct from the chain.
        let q: Vec<Modulus> = params.q().moduli().cloned().collect();
        let bits = (log2_p / count as f64).ceil() as u32;
        let p = prime::ntt_primes_below(params.degree() * self.factor, bits, count, &q)?;
        let p = p.iter().map(Modulus::value).collect();
        RelinStrategy::new(params, self.factor, Some((rank, p)))
    }

    /// The cost at `limbs` limbs.
    fn cost(&self, params: &Params, limbs: usize) -> RelinCost {
        // The switch of `components` polynomials to `columns` columns with the given special
        // primes.
        let log2_q = sizes(params, limbs);
        let (rank, factor) = (params.rank(), self.factor);
        let degree = params.degree() * factor;
        let packed = (rank * (rank + 1) / 2).div_ceil(factor);
        let (work, special) = (rank / factor, params.p().limbs());
        let own = params.p().log2_modulus();
        let switch = |components: usize, columns: usize, (log2_p, special): (f64, usize)| {
            let log2_q = &log2_q;
            Switch { degree, log2_q, log2_p, special, components, columns }.cost()
        };
        // One switch, or the switch to the temporary rank and the switch back.
        let cost = match self.temporary {
            None => switch(packed, work + 1, (own, special)),
            Some((raised, log2_p, count)) => {
                let up = switch(packed, raised + 1, (log2_p, count));
                up.plus(switch(raised - work, work + 1, (own, special)))
            }
        };
        // Packing and unpacking run log2(f) stages on each moved word.
        let moved = (packed + 2 * (work + 1)) * limbs;
        RelinCost { moves: moved as f64 * degree as f64 * (factor as f64).log2(), ..cost }
    }
}

fn sizes(params: &Params, limbs: usize) -> Vec<f64> {
    params.q().moduli().take(limbs).map(Modulus::log2).collect()
}

impl RelinStrategy {
    /// The cost of one relinearization at this level.
    pub fn cost(&self, limbs: usize) -> Result<RelinCost> {
        self.params().check_limbs(limbs)?;
        // The numbers of this strategy, as a plan.
        let temporary = self.is_raised().then(|| {
            let raised = self.raised();
            (raised.rank(), raised.p().log2_modulus(), raised.p().limbs())
        });
        Ok(Plan { factor: self.factor(), temporary }.cost(self.params(), limbs))
    }

    /// The cheapest strategy for products of `limbs` limbs by [`RelinCost::nanoseconds`]. The
    /// candidates are:
    ///
    /// - direct,
    /// - via every larger ring that rank and primes allow,
    /// - in each of these rings, through every temporary rank up to twice its own, with as few
    ///   digits of the whole chain as the security of the parameters allows.
    ///
    /// The special primes of a temporary rank are those for the full chain. For fewer limbs other
    /// special primes, which are not tried, may be cheaper. Strategies for which no suitable primes
    /// or ring exist are skipped.
    ///
    /// Special primes of a temporary rank are below `2^50`. Under
    /// [`Security::Insecure`](crate::Security::Insecure) their product is bounded so that the
    /// temporary rank is as secure as the set itself.
    pub fn choose(params: &Params, limbs: usize) -> Result<Self> {
        params.check_limbs(limbs)?;
        // Rank the plans by cost before primes are searched: the cheapest that exists wins.
        let cost = |plan: &Plan| plan.cost(params, limbs).nanoseconds();
        let mut plans = plans(params);
        plans.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        let made = plans.iter().find_map(|plan| plan.strategy(params).ok());
        Ok(made.unwrap_or_else(|| Self::direct(params)))
    }
}

impl RankHoistedKeys {
    /// The temporary rank and special primes at which rotations of `limbs` limbs by any step cost
    /// least, chosen as in [`RelinStrategy::choose`]. The estimate for one rotation is
    /// `log2(n / 2) / 3` key switches and one rank-down.
    pub fn choose(params: &Params, limbs: usize) -> Result<Params> {
        params.check_limbs(limbs)?;
        let log2_q = sizes(params, limbs);
        // Step 1: the cost of one switch in the base ring, in nanoseconds.
        let switch = |components: usize, columns: usize, log2_p: f64, special: usize| {
            let (degree, log2_q) = (params.degree(), &log2_q[..]);
            Switch { degree, log2_q, log2_p, special, components, columns }.cost().nanoseconds()
        };
        // Step 2: the cost of a rotation. The non-adjacent form of a step has log2(n / 2) / 3 terms
        // on average; one rank-down follows.
        let rotations = f64::from((params.degree() / 2).ilog2()) / 3.0;
        let own = (params.p().log2_modulus(), params.p().limbs());
        let cost = |&(raised, log2_p, special): &(usize, f64, usize)| {
            rotations * switch(raised, raised + 1, log2_p, special)
                + switch(raised - params.rank(), params.rank() + 1, own.0, own.1)
        };
        // Step 3: temporary ranks in the base ring, as rotations do not change the ring, by cost.
        let plans = plans(params).into_iter().filter(|plan| plan.factor == 1);
        let mut candidates: Vec<_> = plans.filter_map(|plan| plan.temporary).collect();
        candidates.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        let build =
            |&temporary| Plan { factor: 1, temporary: Some(temporary) }.strategy(params).ok();
        let made = candidates.iter().find_map(build);
        made.map(|strategy| strategy.raised().clone()).ok_or_else(|| {
            error::parameter("rank", params.rank().to_string(), format!(
                "a temporary rank above it that is secure ({}) at log2 Q = {:.0}; take a smaller Q",
                params.spec().security,
                params.q().log2_modulus()
            ))
        })
    }
}

/// A lower bound on the security in bits (default model) of the keys at every temporary rank that
/// [`RelinStrategy::choose`] and [`RankHoistedKeys::choose`] can choose for these parameters, at
/// any number of limbs. It is a lower bound because primes are smaller than the planned sizes.
/// `None` if there is no such temporary rank.
pub fn temporary_security_bits(params: &Params) -> Option<f64> {
    let log2_q = params.q().log2_modulus();
    // The modulus at a temporary rank is at most Q P^.
    let bits = plans(params).into_iter().filter_map(|plan| {
        let (rank, log2_p, _) = plan.temporary?;
        let secret = raised_secret(params.spec().secret, params.rank() / plan.factor, rank);
        let dimension = rank * plan.factor * params.degree();
        Some(security::estimate_bits(dimension, secret, log2_q + log2_p, params.spec().sigma))
    });
    bits.reduce(f64::min)
}

/// All strategies that the security of the parameters allows.
fn plans(params: &Params) -> Vec<Plan> {
    let log2_q = sizes(params, params.limbs());
    let total: f64 = log2_q.iter().sum();
    // A ring serves if the rank divides and all primes have its roots of unity.
    let serves = |factor: &usize| {
        let order = 2 * (params.degree() * factor) as u64;
        params.rank().is_multiple_of(*factor)
            && params.q().moduli().chain(params.p().moduli()).all(|q| q.value() % order == 1)
    };
    let mut plans = vec![];
    // Step 1: for each larger ring whose roots of unity all primes have, no temporary rank.
    for factor in std::iter::successors(Some(1), |f| Some(2 * f)).take_while(serves) {
        plans.push(Plan { factor, temporary: None });
        let work = params.rank() / factor;
        // Step 2: every temporary rank, with the largest modulus that its dimension allows.
        for rank in work + 1..=MOST_RAISED * work {
            let secret = raised_secret(params.spec().secret, work, rank);
            let dimension = rank * factor * params.degree();
            let security = params.spec().security;
            let bound = largest_log2_modulus(params, security, dimension, secret);
            let Some(bound) = bound else { continue };
            // Step 3: the fewest digits that fit. More digits at one rank mean smaller special
            // primes and more of everything else.
            let special = (1..log2_q.len().max(2)).find_map(|digits| {
                let least = smallest_special(&log2_q, digits) - SLACK_BITS / 2.0;
                let fewest = (least / SPECIAL_BITS).ceil() as usize;
                // Primes have whole bits: one prime more may come closer to `least`.
                (fewest..=fewest + 1)
                    .map(|count| ((least / count as f64).ceil() * count as f64, count))
                    .find(|(log2_p, _)| total + log2_p <= bound)
            });
            if let Some((log2_p, count)) = special {
                plans.push(Plan { factor, temporary: Some((rank, log2_p, count)) });
            }
        }
    }
    plans
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::{ErrorKind, PackedPoly};

    use super::*;
    use crate::dpad::RelinKind;
    use crate::error::refusal;
    use crate::keyswitch_cost::runs;
    use crate::paper::DPad;
    use crate::params::ParamsSpec;
    use crate::security::{SecretKind, Security};
    use crate::testing::{params, spec};

    #[test]
    fn digits_are_cut_as_the_gadget_cuts_them() {
        let q: Vec<f64> = [60.0; 1].into_iter().chain([40.0; 19]).collect();
        assert_eq!(runs(&q, 60.0), [1; 20]);
        assert_eq!(runs(&q, 280.0), [6, 7, 7]);
        assert_eq!(runs(&q, 420.0), [10, 10]);
        assert_eq!(runs(&q, 820.0), [20]);
        assert_eq!(runs(&q[..3], 280.0), [3]);
        assert_eq!(smallest_special(&q, 1), 820.0);
        assert_eq!(smallest_special(&q, 2), 420.0);
        assert_eq!(smallest_special(&q, 3), 280.0);
        assert_eq!(smallest_special(&q, 20), 60.0);
        for (special, limbs) in [(1, 7), (2, 7), (3, 6)] {
            let params = params(64, 1, 7, special);
            let cut = runs(&sizes(&params, limbs), params.p().log2_modulus());
            let gadget = params.gadget();
            let expected: Vec<usize> =
                (0..gadget.digits(limbs)).map(|j| gadget.primes(j, limbs).len()).collect();
            assert_eq!(cut, expected);
        }
    }

    #[test]
    fn work_is_that_of_the_tables() {
        // Table 1 at k = 1, r = 3, l + 1 = 4 limbs: 6 components of 4 digits, 5 primes, 4 columns.
        let params = params(64, 3, 4, 1);
        let direct = RelinStrategy::direct(&params).cost(4).unwrap();
        let transforms = 6.0 * (4.0 + 4.0 * 4.0) + 4.0 * 5.0;
        assert_eq!(direct.butterflies, transforms * 64.0 * 6.0);
        assert_eq!(direct.products, 6.0 * 4.0 * 5.0 * 4.0 * 64.0);
        assert_eq!(direct.moves, 0.0);
        // Section 3.3.1: two digits of two primes to rank 4, one component of four digits back.
        let p: Vec<Modulus> = params.q().moduli().cloned().collect();
        let p = prime::ntt_primes_below(64, 50, 2, &p).unwrap();
        let p = p.iter().map(Modulus::value).collect();
        let strategy = RelinStrategy::new(&params, 1, Some((4, p))).unwrap();
        let cost = strategy.cost(4).unwrap();
        assert_eq!(cost.products, (6.0 * 2.0 * 6.0 * 5.0 + 4.0 * 5.0 * 4.0) * 64.0);
        // Keys hold what products read.
        let mut rng = crate::testing::rng(1);
        for strategy in [RelinStrategy::direct(&params), strategy] {
            let secret = crate::secret::SecretKey::generate(&params, &mut rng).unwrap();
            let keys =
                crate::relinearize::RelinKeys::generate(&strategy, &secret, 4, &mut rng).unwrap();
            let residues = |key: &crate::keyswitch::KeySwitchKey, params: &Params| {
                let ring = params.gadget().ring(4);
                key.memory_len() / PackedPoly::bytes_over(ring) * 64 * ring.limbs()
            };
            let down = keys.down().map_or(0, |down| residues(down.key(), strategy.work()));
            let all = residues(keys.cross(), strategy.raised()) + down;
            assert_eq!(all as f64, strategy.cost(4).unwrap().products);
        }
        assert!(
            refusal(&RelinStrategy::direct(&params).cost(5)).is(&ErrorKind::Level, "5 limbs where")
        );
        assert!(refusal(&RelinStrategy::choose(&params, 0)).is(&ErrorKind::Level, "limbs where"));
    }

    #[test]
    fn chosen_routes_are_secure_and_no_dearer_than_others() {
        let sets = [
            ParamsSpec { security: Security::Bits128, ..spec(4096, 4, 8, 1) },
            ParamsSpec { security: Security::Bits128, ..spec(8192, 2, 8, 1) },
            spec(512, 4, 6, 1),
            spec(512, 1, 2, 1),
            DPad::Rank3.spec().unwrap(),
        ];
        for set in sets {
            let params = Params::new(set).unwrap();
            for limbs in [2, params.limbs()] {
                let chosen = RelinStrategy::choose(&params, limbs).unwrap();
                let cost = |strategy: &RelinStrategy| strategy.cost(limbs).unwrap().nanoseconds();
                assert!(cost(&chosen) <= cost(&RelinStrategy::direct(&params)));
                assert_eq!(chosen.params(), &params);
                if params.spec().security == Security::Bits128 {
                    assert!(chosen.raised().security_bits() >= 128.0);
                } else {
                    let share = |p: &Params| p.log2_modulus() / p.dimension() as f64;
                    assert!(share(chosen.raised()) <= share(&params) * 1.0001);
                }
            }
        }
    }

    /// Shallow ones do not.
    #[test]
    fn deep_sets_of_rank_four_take_a_temporary_rank() {
        let params = Params::new(DPad::Rank4.spec().unwrap()).unwrap();
        let deep = RelinStrategy::choose(&params, 20).unwrap();
        assert_eq!(deep.kind(), RelinKind::DPad);
        assert!(deep.digits(20).unwrap() <= 3);
        let cost = |strategy: &RelinStrategy| strategy.cost(20).unwrap().nanoseconds();
        assert!(2.0 * cost(&deep) < cost(&RelinStrategy::direct(&params)));
        // The paper's own special primes are larger than any that are chosen here.
        let paper = DPad::Rank4.relin_strategy().unwrap();
        assert!(cost(&deep) < 1.1 * cost(&paper));
        let flat = Params::new(spec(512, 2, 1, 1)).unwrap();
        assert_eq!(RelinStrategy::choose(&flat, 1).unwrap().kind(), RelinKind::Direct);
    }

    #[test]
    fn temporary_rotation_ranks_are_as_secure_as_the_set() {
        let set = ParamsSpec { security: Security::Bits128, ..spec(4096, 2, 2, 1) };
        let params = Params::new(set).unwrap();
        let raised = RankHoistedKeys::choose(&params, 2).unwrap();
        assert!((3..=4).contains(&raised.rank()) && raised.security_bits() >= 128.0);
        assert_eq!(raised.q().limbs(), 2);
        // At rank 1 there is one larger rank to try, with fewer digits than the set's own.
        let params = self::params(64, 1, 7, 1);
        let raised = RankHoistedKeys::choose(&params, 7).unwrap();
        assert_eq!(raised.rank(), 2);
        assert!(raised.gadget().digits(7) < params.gadget().digits(7));
        assert!(
            refusal(&RankHoistedKeys::choose(&params, 8)).is(&ErrorKind::Level, "8 limbs where")
        );
    }

    /// The bound on temporary ranks holds for each of them, and is that of the weakest.
    #[test]
    fn temporary_ranks_are_counted_as_they_are_made() {
        let secure = |rank, limbs, secret| {
            let base = spec(4096, rank, limbs, 1);
            Params::new(ParamsSpec { secret, security: Security::Bits128, ..base }).unwrap()
        };
        let (dense, sparse) = (SecretKind::Ternary, SecretKind::Sparse(256));
        for params in [secure(2, 2, dense), secure(4, 6, dense), secure(2, 2, sparse)] {
            let bound = temporary_security_bits(&params).unwrap();
            let made: Vec<f64> = plans(&params)
                .iter()
                .filter(|plan| plan.temporary.is_some())
                .map(|plan| plan.strategy(&params).unwrap().raised().security_bits())
                .collect();
            let weakest = made.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(
                bound >= 128.0 && bound <= weakest && weakest - bound < 1.0,
                "{bound} {made:?}"
            );
            for limbs in 1..=params.limbs() {
                let raised = RankHoistedKeys::choose(&params, limbs).unwrap();
                assert!(raised.security_bits() >= bound);
                let strategy = RelinStrategy::choose(&params, limbs).unwrap();
                assert!(!strategy.is_raised() || strategy.raised().security_bits() >= bound);
            }
        }
        // 45 + 50 of 106 bits at 4096, of 214 at rank 2; and no room beyond the tables.
        assert!(temporary_security_bits(&secure(1, 1, dense)).unwrap() > 190.0);
        let largest = ParamsSpec { security: Security::Bits128, ..spec(1 << 17, 1, 1, 1) };
        assert_eq!(temporary_security_bits(&Params::new(largest).unwrap()), None);
    }

    #[test]
    fn routes_that_cannot_be_made_are_passed_over() {
        // The cheapest strategy of this set needs a rank above the largest supported one.
        let params = params(8, 1023, 4, 1);
        let cost = |plan: &Plan| plan.cost(&params, 4).nanoseconds();
        let plans = plans(&params);
        let best = plans.iter().min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap();
        assert!(matches!(best.temporary, Some((rank, ..)) if rank > 1024));
        assert!(refusal(&best.strategy(&params)).is(&ErrorKind::Parameters, "parameter rank ="));
        let chosen = RelinStrategy::choose(&params, 4).unwrap();
        assert_eq!(chosen.kind(), RelinKind::Direct);
    }
}
