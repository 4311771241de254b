//! Parameter search: from the needs of a program to a checked parameter set, with the reasons.
//!
//! # Guarantee
//! Any program that multiplies numbers of `[-1, 1]` to a depth of at most `depth` ends with an
//! error within the accuracy in the worst slot, except with probability `2^-40` ([`LOG2_FAILURE`]).
//! Repeated squaring is the worst of these programs: each squaring doubles the error. Intermediate
//! numbers may grow to 8. For larger numbers and sums of many terms, use a
//! [`Simulator`](bellerophon_ckks::simulator::Simulator).
//!
//! With [`bootstraps`](ProgramBounds::bootstraps), the same holds from one bootstrap to the next,
//! for a vector of numbers of `[-1, 1]` that is bootstrapped and then multiplied to depth `depth`.
//! The bound counts the error since the bootstrap. Earlier error remains and grows with the
//! products.
//!
//! # Search
//! The search tries rings from the smallest that has the slots. In each ring it takes
//! 1. the smallest scale at which the predicted noise meets the guarantee;
//! 2. one level of that size for every product;
//! 3. among all digit sizes of the key switch whose special primes fit the security bound, the one
//!    with the least predicted time.
//!
//! The first ring with a solution wins, since time and sizes double from ring to ring.
//!
//! Sets with bootstrapping have a sparse secret of weight 1024 if the security tables cover it,
//! since its noise is smaller, and otherwise (or if the modulus does not fit) a dense secret. The
//! sparse secret of the encapsulation under the lowest modulus ([`bootstrap`](crate::bootstrap)) is
//! available in rings of degree `2^14` to `2^16`.

mod bootstrapping;
mod bounds;
mod cost;
mod explain;
mod reduction;
mod selected;

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use bellerophon_ckks::cost::FAST_BITS;
pub use bellerophon_ckks::cost::Work;
use bellerophon_ckks::{Error, Interval, LevelGroup, ModulusChain, Params, ParamsSpec, Result};
use bellerophon_mlwe::{self as mlwe, SecretKind, Security};
use bootstrapping::Candidate;
pub use bounds::{LOG2_FAILURE, ProgramBounds};
use bounds::{MOST_LEVELS, bound, by_product, log2_size, squared};
pub use cost::{Predicted, PredictedBootstrap};
pub use reduction::ReductionChoice;
pub use selected::{SelectedBootstrap, SelectedParams};

use crate::{approx::Accuracy, error};

/// Bits of the lowest modulus above the scale: a sign, values below 8, and one spare bit.
const WHOLE_BITS: u32 = 5;

/// `log2` of the scales tried. Above, the lowest prime would exceed the 61 bits of a modulus.
const LOG_SCALES: std::ops::RangeInclusive<u32> = 30..=56;

/// `log2` of the ring degrees tried: those that the security tables cover.
const LOG_DEGREES: std::ops::RangeInclusive<u32> = 11..=17;

impl ProgramBounds {
    /// The smallest set that meets these requirements.
    ///
    /// ```
    /// use bellerophon_circuits::{approx::Accuracy, param_search::ProgramBounds};
    /// use bellerophon_ckks::Security;
    ///
    /// # fn main() -> bellerophon_ckks::Result<()> {
    /// // 1000 numbers, two products in a row, 20 correct bits in the worst slot.
    /// let (security, bootstraps) = (Security::Bits128, false);
    /// let accuracy = Accuracy::bits(20.0);
    /// let requirements = ProgramBounds { security, slots: 1000, depth: 2, accuracy, bootstraps };
    /// let choice = requirements.choose()?;
    /// println!("{choice}"); // the set with its reasons, sizes and times
    /// assert!(choice.bits >= 20.0 && choice.params.max_level() == 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::TooManyValues`] for more slots than any ring has. [`ErrorKind::Accuracy`] if
    /// the scale or the modulus would have to exceed the largest one; the error names the nearest
    /// precision and depth. [`ErrorKind::Length`] and [`ErrorKind::Parameters`] for invalid
    /// requirements.
    pub fn choose(&self) -> Result<SelectedParams> {
        self.check()?;
        if self.bootstraps {
            return self.choose_bootstrapping();
        }
        self.search().ok_or_else(|| {
            // Nothing found: search for the largest precision at this depth, and the largest depth
            // at this precision.
            let bits = (1..self.bits().min(64.0).ceil() as u32).rev().find(|&bits| {
                let coarser = Self { accuracy: Accuracy::bits(f64::from(bits)), ..*self };
                coarser.fits() && coarser.search().is_some()
            });
            let depth = (0..self.depth.min(MOST_LEVELS)).rev().find(|&depth| {
                let shallower = Self { depth, ..*self };
                shallower.fits() && shallower.search().is_some()
            });
            self.unreachable(bits, depth, 1 << LOG_DEGREES.end(), SecretKind::Ternary)
        })
    }

    /// As [`choose`](Self::choose) with bootstrapping.
    fn choose_bootstrapping(&self) -> Result<SelectedParams> {
        // Step 1: the first ring and secret with a set that meets the requirements.
        let mut known = vec![];
        let degrees: Vec<usize> = self.degrees().collect();
        for (degree, secret) in degrees.iter().flat_map(|&n| Candidate::secrets().map(|s| (n, s))) {
            // A candidate of depth 1 serves the search for the nearest depth as well.
            let shallow = Self { depth: 1, ..*self };
            let Some(candidate) = Candidate::new(&shallow, degree, secret) else { continue };
            if let Some(set) = candidate.choose(self) {
                return Ok(set);
            }
            known.push((degree, secret, candidate));
        }

        // Step 2: none. Search the same candidates for the nearest precision and depth.
        let reaches = |accuracy: Accuracy, depth: usize| {
            let near = Self { accuracy, depth, ..*self };
            known.iter().any(|(.., candidate)| candidate.choose(&near).is_some())
        };
        let bits = (1..self.bits().min(64.0).ceil() as u32).rev();
        let bits = bits.into_iter().find(|&b| reaches(Accuracy::bits(f64::from(b)), self.depth));
        let depth = (1..self.depth.min(MOST_LEVELS)).rev().find(|&d| reaches(self.accuracy, d));
        let (degree, secret) = known
            .last()
            .map_or((1 << LOG_DEGREES.end(), SecretKind::Ternary), |&(n, secret, _)| (n, secret));
        Err(self.unreachable(bits, depth, degree, secret))
    }

    fn unreachable(
        &self,
        nearest_bits: Option<u32>,
        nearest_depth: Option<usize>,
        degree: usize,
        secret: SecretKind,
    ) -> Error {
        let Self { slots, depth, security, bootstraps, .. } = *self;
        let bits = self.bits();
        let modulus = bound(security, degree, secret);
        error::unreachable(slots, depth, bits, bootstraps, nearest_bits, nearest_depth, modulus)
    }

    fn check(&self) -> Result<()> {
        let refuse = |reason: &str| Err(error::params(reason.into()));
        if self.security == Security::Insecure {
            return refuse(
                "Security::Insecure was requested: need a secure level for a parameter search; \
                 make toy sets by ParamsSpec::from_chain",
            );
        }
        // Written so that NaN is refused.
        let precise = self.bits() >= 1.0;
        if !precise {
            return refuse("the accuracy: need an error above 0, up to 1/2");
        }
        let most = 1usize << (LOG_DEGREES.end() - 1);
        match self.slots {
            0 => Err(error::no_values()),
            slots if slots > most => Err(error::too_many_values(slots, most)),
            _ => Ok(()),
        }
    }

    /// The degrees of the rings that have the slots, in ascending order.
    fn degrees(&self) -> impl Iterator<Item = usize> {
        let slots = self.slots;
        LOG_DEGREES.map(|log| 1 << log).filter(move |degree| degree / 2 >= slots)
    }

    /// The set of the smallest ring that has one.
    fn search(&self) -> Option<SelectedParams> {
        self.degrees().find_map(|degree| self.choose_in(degree))
    }

    /// Whether some ring has a set, judged by nominal prime sizes: a fast check before the search.
    fn fits(&self) -> bool {
        self.degrees().any(|degree| {
            let scale = self.log_scale(degree);
            scale.is_some_and(|log_scale| self.chain(degree, log_scale).is_some())
        })
    }

    /// The fastest set in the ring of this degree; `None` if its modulus is too small.
    fn choose_in(&self, degree: usize) -> Option<SelectedParams> {
        for log_scale in self.log_scale(degree)?..=*LOG_SCALES.end() {
            let chain = self.chain(degree, log_scale)?;
            // On failure try the next scale, which has more primes near it. Reasons: too few primes
            // of this size, scales that drift too far, or a modulus too large by a fraction of a
            // bit.
            let spec = ParamsSpec::from_chain(&chain, log_scale, self.security);
            let Ok(params) = spec.and_then(Params::new) else { continue };
            if let Ok(bits) = predicted_bits(&params, self.slots, self.depth)
                && bits >= self.bits()
            {
                let (requirements, bootstrap) = (*self, None);
                let set =
                    SelectedParams { requirements, params, chain, log_scale, bits, bootstrap };
                return Some(set);
            }
        }
        None
    }

    /// The least scale that meets the guarantee if scales do not drift.
    fn log_scale(&self, degree: usize) -> Option<u32> {
        if self.depth > MOST_LEVELS {
            return None;
        }
        let error = log2_error_in_units(degree, self.slots, self.depth);
        let needed = (self.bits() + error).ceil().max(f64::from(*LOG_SCALES.start()));
        (needed <= f64::from(*LOG_SCALES.end())).then_some(needed as u32)
    }

    /// The chain with the fastest products among all chains within the security bound.
    fn chain(&self, degree: usize, log_scale: u32) -> Option<ModulusChain> {
        // Step 1: the modulus Q. Above the size of the fastest kernels, two primes per level.
        let bound = bound(self.security, degree, SecretKind::Ternary)?;
        let first_bits = log_scale + WHOLE_BITS;
        let level = match log_scale <= FAST_BITS {
            true => LevelGroup::single(log_scale, self.depth),
            false => LevelGroup::pairs(log_scale, self.depth),
        };
        let levels = if self.depth == 0 { vec![] } else { vec![level] };
        let limb = f64::from(log_scale) / level.primes as f64;
        let limbs = 1 + self.depth * level.primes;

        // Step 2: special primes for every digit size.
        let candidates = (1..=limbs).map(|digit| {
            // The special primes must exceed a digit of `digit` primes, q_0 among them.
            let bits = f64::from(first_bits) + (digit - 1) as f64 * limb + 0.5;
            let count = (bits / f64::from(FAST_BITS)).ceil().max(1.0);
            let special = ((bits / count).ceil() as u32, count as usize);
            ModulusChain { degree, first_bits, levels: levels.clone(), special }
        });
        candidates.filter(|chain| log2_size(chain) <= bound).min_by(by_product)
    }
}

/// `log2` of the bound on the error, in units of one over the scale, after `depth` squarings of a
/// fresh public-key encryption: `V_0 = V_rs + 1/12`, `V_{i+1} = 4 V_i + V_rs` with
/// `V_rs = (2 N / 3 + 1) / 12`. These are the formulas of [`bellerophon_ckks::noise`] without the
/// noise of key switches, which the rescaling divides away.
fn log2_error_in_units(degree: usize, slots: usize, depth: usize) -> f64 {
    let rounding = (SecretKind::Ternary.expected_norm2(degree) + 1.0) / 12.0;
    let fresh = rounding + bellerophon_ckks::noise::ENCODING;
    let variance = (0..depth).fold(fresh, |v, _| 4.0 * v + rounding);
    let slots = slots.next_power_of_two();
    let std = bellerophon_ckks::noise::slot_std(variance, slots, 1.0, true);
    (std * bellerophon_ckks::noise::worst_factor(slots, LOG2_FAILURE)).log2()
}

/// The precision of a public-key encryption, squared `depth` times, by the metadata rules.
fn predicted_bits(params: &Params, slots: usize, depth: usize) -> Result<f64> {
    let (rules, slots) = (params.rules(), slots.next_power_of_two());
    let ends = [-1.0, 1.0];
    let values = &ends[..slots.min(2)];
    let (range, level) = (Interval::real(-1.0, 1.0)?, params.max_level());
    let mut metadata = rules.encoded(values, range, slots, params.scale(), level)?;
    metadata.meta.noise += mlwe::noise::fresh_public(params.lattice());
    Ok(squared(params, metadata, depth)?.estimate(params, LOG2_FAILURE).bits())
}
