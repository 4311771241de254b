//! Parameters for people: from what a program needs to a checked set, with the reasons.
//!
//! ```
//! use bellerophon_ckks::{Security, choose::Requirements};
//!
//! # fn main() -> bellerophon_ckks::Result<()> {
//! // 1000 numbers, two products in a row, 20 bits right in the worst of them.
//! let (security, bootstraps) = (Security::Bits128, false);
//! let requirements = Requirements { security, slots: 1000, depth: 2, bits: 20.0, bootstraps };
//! let choice = requirements.choose()?;
//! println!("{choice}"); // what was chosen and why; sizes and times to expect
//! assert!(choice.bits() >= 20.0 && choice.params().max_level() == 2);
//! # Ok(())
//! # }
//! ```
//!
//! # What is promised
//! Any program that multiplies numbers of `[-1, 1]` at most `depth` deep ends with an error below
//! `2^-bits` in the worst slot, except with probability `2^-40` ([`LOG2_FAILURE`]). Squaring again
//! and again is the worst of these programs: it doubles the error each time. Numbers may grow to 8 in
//! between; what is larger, and sums of many terms, [`Shadow`](crate::shadow::Shadow) follows.
//!
//! With [`bootstraps`](Requirements::bootstraps), the same holds from one refresh to the next: of a
//! vector of numbers of `[-1, 1]` that is refreshed and then multiplied `depth` deep. It is the error
//! made since the refresh; what the vector was off by before stays, and grows with the products.
//!
//! # How it is chosen
//! For each ring from the smallest that has the slots: the least scale at which the predicted
//! noise keeps the promise, one level of that size for every product, and of all ways to cut the key
//! switch into digits whose special primes the security bound leaves room for, the one with the
//! least predicted time. The first ring in which there is one is taken: time and sizes double from
//! ring to ring. Sets that refresh have a secret of weight 256 where the tables know it, since its
//! noise is smaller, and a dense one where that has no room or the tables end; the sparse secret under
//! the lowest modulus alone ([`bootstrap`](crate::bootstrap)) exists in rings of `2^14` to `2^16`.

mod cost;
mod explain;
mod refreshing;

use bellerophon_mlwe::{
    self as mlwe, SecretKind, Security,
    security::{self, Model},
};

pub use cost::{Predicted, PredictedRefresh, Work};
pub use refreshing::Refreshing;
use refreshing::{Candidate, Found};

use crate::{Account, Chain, Error, Interval, Levels, Params, ParamsSpec, Result};

/// `log2` of the probability with which the error of a result may exceed the promise.
pub const LOG2_FAILURE: f64 = -40.0;

/// Bits of the lowest modulus above the scale: a sign, and values below 8 with a bit to spare.
const WHOLE_BITS: u32 = 5;

/// Scales that are tried. Above, the lowest prime would exceed the 61 bits of a modulus.
const LOG_SCALES: std::ops::RangeInclusive<u32> = 30..=56;

/// Largest size of primes on the fastest kernels; levels above it are pairs of half the size.
const FAST_BITS: u32 = 50;

/// Rings that are tried: those between which the security tables hold.
const LOG_DEGREES: std::ops::RangeInclusive<u32> = 11..=17;

/// No modulus of any ring has room for so many levels of the least scale.
const MOST_LEVELS: usize = 128;

/// What a program needs of its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Requirements {
    /// The security of every key; not [`Security::Insecure`].
    pub security: Security,
    /// Numbers in one ciphertext, at least 1.
    pub slots: usize,
    /// Products one after the other.
    pub depth: usize,
    /// Bits after the binary point that are right in the worst slot in the end.
    pub bits: f64,
    /// Whether programs run out of levels: the set then refreshes vectors of numbers of `[-1, 1]`, and
    /// `depth` and `bits` count from one refresh to the next.
    pub bootstraps: bool,
}

/// A parameter set chosen for some [`Requirements`]. [`Display`](std::fmt::Display) explains it.
#[derive(Debug, Clone)]
pub struct Choice {
    requirements: Requirements,
    params: Params,
    chain: Chain,
    log_scale: u32,
    bits: f64,
    refreshing: Option<Refreshing>,
}

impl Requirements {
    /// The smallest set that meets them.
    ///
    /// # Errors
    /// [`Error::TooManyValues`] for more slots than any ring has; [`Error::Unreachable`], which names
    /// the precision and the depth that can be had, when the scale or the modulus would have to be
    /// larger than there are; [`Error::NoValues`] and [`Error::Params`] for what makes no sense.
    pub fn choose(&self) -> Result<Choice> {
        self.check()?;
        if self.bootstraps {
            return self.choose_refreshing();
        }
        self.search().ok_or_else(|| {
            let bits = (1..self.bits.min(64.0).ceil() as u32).rev().find(|&bits| {
                let coarser = Self { bits: f64::from(bits), ..*self };
                coarser.fits() && coarser.search().is_some()
            });
            let depth = (0..self.depth.min(MOST_LEVELS)).rev().find(|&depth| {
                let shallower = Self { depth, ..*self };
                shallower.fits() && shallower.search().is_some()
            });
            self.unreachable(bits, depth, 1 << LOG_DEGREES.end(), SecretKind::Ternary)
        })
    }

    /// As [`choose`](Self::choose) with refreshing.
    fn choose_refreshing(&self) -> Result<Choice> {
        let mut known = vec![];
        let degrees: Vec<usize> = self.degrees().collect();
        for (degree, secret) in degrees.iter().flat_map(|&n| Candidate::secrets().map(|s| (n, s))) {
            // Shallower sets than asked for are candidates for the nearest ones.
            let shallow = Self { depth: 1, ..*self };
            let Some(candidate) = Candidate::new(&shallow, degree, secret) else { continue };
            if let Some(Found { params, chain, log_scale, bits, refreshing }) =
                candidate.choose(self)
            {
                let (requirements, refreshing) = (*self, Some(refreshing));
                return Ok(Choice { requirements, params, chain, log_scale, bits, refreshing });
            }
            known.push((degree, secret, candidate));
        }
        let reaches = |bits: f64, depth: usize| {
            let near = Self { bits, depth, ..*self };
            known.iter().any(|(.., candidate)| candidate.choose(&near).is_some())
        };
        let bits = (1..self.bits.min(64.0).ceil() as u32).rev();
        let bits = bits.into_iter().find(|&bits| reaches(f64::from(bits), self.depth));
        let depth = (1..self.depth.min(MOST_LEVELS)).rev().find(|&d| reaches(self.bits, d));
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
        let Self { slots, depth, bits, security, bootstraps } = *self;
        let modulus = bound(security, degree, secret);
        Error::Unreachable { slots, depth, bits, bootstraps, nearest_bits, nearest_depth, modulus }
    }

    fn check(&self) -> Result<()> {
        let refuse = |reason: &str| Err(Error::Params { reason: reason.into() });
        if self.security == Security::Insecure {
            return refuse(
                "requirements without security: chosen sets are always secure, toy sets are made \
                 by ParamsSpec::from_chain",
            );
        }
        if !(self.bits >= 1.0 && self.bits.is_finite()) {
            return refuse("bits of precision: need a finite number of at least 1");
        }
        let (op, most) = ("choose parameters", 1usize << (LOG_DEGREES.end() - 1));
        match self.slots {
            0 => Err(Error::NoValues { op }),
            slots if slots > most => Err(Error::TooManyValues { op, found: slots, slots: most }),
            _ => Ok(()),
        }
    }

    /// The rings that have the slots, by degree.
    fn degrees(&self) -> impl Iterator<Item = usize> {
        let slots = self.slots;
        LOG_DEGREES.map(|log| 1 << log).filter(move |degree| degree / 2 >= slots)
    }

    /// The smallest ring's set, if there is one.
    fn search(&self) -> Option<Choice> {
        self.degrees().find_map(|degree| self.choose_in(degree))
    }

    /// Whether there is one by the nominal sizes of primes.
    fn fits(&self) -> bool {
        self.degrees().any(|degree| {
            let scale = self.log_scale(degree);
            scale.is_some_and(|log_scale| self.chain(degree, log_scale).is_some())
        })
    }

    /// The fastest set in the ring of this degree, or nothing when its modulus is too small.
    fn choose_in(&self, degree: usize) -> Option<Choice> {
        for log_scale in self.log_scale(degree)?..=*LOG_SCALES.end() {
            let chain = self.chain(degree, log_scale)?;
            // Too few primes of this size, or scales that drift too far along the chain, or a
            // modulus a fraction of a bit too large: the next size has more primes nearer to it.
            let spec = ParamsSpec::from_chain(&chain, log_scale, self.security);
            let Ok(params) = spec.and_then(Params::new) else { continue };
            if let Ok(bits) = predicted_bits(&params, self.slots, self.depth)
                && bits >= self.bits
            {
                let (requirements, refreshing) = (*self, None);
                return Some(Choice { requirements, params, chain, log_scale, bits, refreshing });
            }
        }
        None
    }

    /// The least scale at which a ring of this degree keeps the promise where scales do not drift,
    /// if it is not beyond the largest.
    fn log_scale(&self, degree: usize) -> Option<u32> {
        if self.depth > MOST_LEVELS {
            return None;
        }
        let error = log2_error_in_units(degree, self.slots, self.depth);
        let needed = (self.bits + error).ceil().max(f64::from(*LOG_SCALES.start()));
        (needed <= f64::from(*LOG_SCALES.end())).then_some(needed as u32)
    }

    /// Of all chains within the security bound, the one with the fastest products.
    fn chain(&self, degree: usize, log_scale: u32) -> Option<Chain> {
        let bound = bound(self.security, degree, SecretKind::Ternary)?;
        let first_bits = log_scale + WHOLE_BITS;
        let level = match log_scale <= FAST_BITS {
            true => Levels::single(log_scale, self.depth),
            false => Levels::pairs(log_scale, self.depth),
        };
        let levels = if self.depth == 0 { vec![] } else { vec![level] };
        let limb = f64::from(log_scale) / level.primes as f64;
        let limbs = 1 + self.depth * level.primes;
        let candidates = (1..=limbs).map(|digit| {
            // A digit of so many primes, the lowest one among them, and a little more.
            let bits = f64::from(first_bits) + (digit - 1) as f64 * limb + 0.5;
            let count = (bits / f64::from(FAST_BITS)).ceil().max(1.0);
            let special = ((bits / count).ceil() as u32, count as usize);
            Chain { degree, first_bits, levels: levels.clone(), special }
        });
        candidates
            .filter(|chain| log2_size(chain) <= bound)
            .min_by(|x, y| Work::of_product(x).seconds().total_cmp(&Work::of_product(y).seconds()))
    }
}

impl Choice {
    /// What was asked for.
    pub fn requirements(&self) -> &Requirements {
        &self.requirements
    }

    /// The checked set.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The sizes of its primes: to change by hand, and to hand to [`ParamsSpec::from_chain`].
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The set as written down.
    ///
    /// # Errors
    /// None: the primes were found before.
    pub fn spec(&self) -> Result<ParamsSpec> {
        let mut spec = ParamsSpec::from_chain(&self.chain, self.log_scale, Security::Insecure)?;
        let lattice = self.params.lattice().spec();
        (spec.lattice.secret, spec.lattice.security) = (lattice.secret, lattice.security);
        Ok(spec)
    }

    /// How it refreshes, where that was asked for.
    pub fn refreshing(&self) -> Option<&Refreshing> {
        self.refreshing.as_ref()
    }

    /// Bits after the binary point that are right in the worst slot in the end; at least those
    /// asked for.
    pub fn bits(&self) -> f64 {
        self.bits
    }

    /// Sizes and times to expect.
    pub fn predicted(&self) -> Predicted {
        let bootstrapper = self.refreshing.as_ref().map(|r| &**r.bootstrapper());
        Predicted::of(&self.params, bootstrapper)
    }
}

/// The largest `log2(Q P)` in a ring of this degree.
fn bound(security: Security, degree: usize, secret: SecretKind) -> Option<f64> {
    let model = match security {
        Security::Bits128 => Model::Bits128,
        Security::Bits128Classical => Model::Bits128Classical,
        Security::Insecure => return None,
    };
    security::max_log2_modulus(degree, secret, model)
}

/// `log2(Q P)` by the nominal sizes of the primes.
fn log2_size(chain: &Chain) -> f64 {
    let levels: f64 = chain.levels.iter().map(|l| f64::from(l.bits) * l.count as f64).sum();
    f64::from(chain.first_bits) + levels + f64::from(chain.special.0) * chain.special.1 as f64
}

/// `log2` of the bound on the error, in units of one over the scale, after `depth` squarings of a
/// fresh public-key encryption: `V_0 = V_rs + 1/12`, `V_{i+1} = 4 V_i + V_rs` with
/// `V_rs = (2 N / 3 + 1) / 12`, the formulas of [`crate::noise`] with what a key switch adds
/// divided away.
fn log2_error_in_units(degree: usize, slots: usize, depth: usize) -> f64 {
    let rounding = (SecretKind::Ternary.expected_norm2(degree) + 1.0) / 12.0;
    let fresh = rounding + crate::noise::ENCODING;
    let variance = (0..depth).fold(fresh, |v, _| 4.0 * v + rounding);
    let slots = slots.next_power_of_two();
    let std = crate::noise::slot_std(variance, slots, 1.0, true);
    (std * crate::noise::worst_factor(slots, LOG2_FAILURE)).log2()
}

/// The promise by the books: a public-key encryption of numbers of `[-1, 1]`, squared `depth` times.
fn predicted_bits(params: &Params, slots: usize, depth: usize) -> Result<f64> {
    let op = "predict precision";
    let (books, slots) = (params.books(), slots.next_power_of_two());
    let ends = [-1.0, 1.0];
    let values = &ends[..slots.min(2)];
    let (values, level) = ((values, Interval::real(-1.0, 1.0)?), params.max_level());
    let mut account = books.encoded(op, values, slots, params.scale(), level)?;
    account.meta.noise += mlwe::noise::fresh_public(params.lattice());
    Ok(squared(params, account, depth)?.estimate(params, LOG2_FAILURE).bits())
}

/// A vector after `depth` squarings.
fn squared(params: &Params, account: Account, depth: usize) -> Result<Account> {
    let (op, books) = ("predict precision", params.books());
    (0..depth).try_fold(account, |account, _| {
        let square = books.relinearised(op, &books.square(&account))?;
        books.rescaled(op, &square)
    })
}
