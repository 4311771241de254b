//! Functions of several values on slots: from slots to LWE, through tables, and back.

use std::ops::RangeInclusive;

use bellerophon_ckks::{self as ckks, Ciphertext};
use bellerophon_lwe::{self as lwe, Encoding, Headroom, LweVec, Network, noise};

use super::evaluator::LookupEvaluator;
use crate::{ErrorKind, Layout, Reduction, Result};

/// The headroom that packing needs, and nothing more.
pub const PACKED: Headroom = Headroom { terms: 2, levels: 0 };

/// The error of packing, as a part of the width that the values reach.
const PACKING_ERROR: f64 = 1.0 / (1u64 << 13) as f64;

impl LookupEvaluator<'_> {
    /// Any function of the values of several vectors, by tables on LWE values. Step 1: slots to
    /// LWE, with `headroom`. Step 2: `f`. Step 3: LWE to slots, at the highest level that the
    /// reduction leaves. [`Reduction::Sine`] is for decisions, whose values are the two ends of
    /// their range.
    ///
    /// # Errors
    /// As [`extract`](Self::extract) and [`pack`](Self::pack), and those of `f`.
    pub fn via_lwe(
        &self,
        operands: &[&Ciphertext],
        domain: &RangeInclusive<f64>,
        (headroom, reduction): (Headroom, Reduction),
        f: impl FnOnce(&lwe::Evaluator<'_>, &[LweVec]) -> lwe::Result<LweVec>,
    ) -> Result<Ciphertext> {
        // Step 1: slots to LWE, in one encoding with the headroom of the function.
        let tables = self.tables()?;
        let values = self.extract(operands, domain.clone(), headroom, None)?;
        // Step 2: the function, by tables on LWE values.
        let found = f(&tables, &values)?;
        // Step 3: LWE to slots. Decisions lie at both ends of their range, where the sine needs no
        // inversion and leaves more levels.
        let level = match reduction {
            Reduction::Identity => self.pack_level()?,
            Reduction::Sine => self.lookups.level_after(),
        };
        let layout = Layout::in_order(found.len())?;
        self.pack(&found, &layout, level, reduction)
    }

    /// The headroom of a tournament that tracks its winner.
    ///
    /// # Errors
    /// If the tables do not support it for so many values; [`ErrorKind::MissingKeys`].
    pub fn tournament(&self, count: usize) -> Result<Headroom> {
        self.tables()?.check_contest(count)?;
        Ok(tournament(count))
    }

    /// The labels 0, 1, .., `count - 1`.
    ///
    /// # Errors
    /// [`ErrorKind::TooManyPlaces`] if packing does not keep them distinguishable;
    /// [`ErrorKind::MissingKeys`].
    pub fn labels(&self, count: usize) -> Result<Vec<f64>> {
        let failure = self.lookups.log2_table_failure();
        let lattice = &self.table_keys()?.lattice;
        if !distinguishable(lattice, failure, count) {
            let most = most_indices(lattice, failure, count);
            return Err(ErrorKind::TooManyPlaces { found: count, most }.into());
        }
        Ok((0..count).map(|i| i as f64).collect())
    }
}

/// The headroom of a tournament of `count` values.
pub fn tournament(count: usize) -> Headroom {
    Headroom::comparators(count.max(1).next_power_of_two().ilog2())
}

/// The headroom of a network of comparators.
pub fn depth(network: &Network) -> Headroom {
    Headroom::comparators(network.depth() as u32)
}

/// The headroom for the first `count` of `places` of the sorted values.
///
/// # Errors
/// If `count` is 0 or above `len`.
pub fn few(len: usize, count: usize, places: impl Iterator<Item = usize>) -> Result<Headroom> {
    if count == 0 || count > len {
        return Err(lwe::ErrorKind::Count { found: count, most: len }.into());
    }
    let places: Vec<usize> = places.take(count).collect();
    Ok(depth(&Network::odd_even(len)?.keep(&places)?))
}

/// Fails unless all vectors have as many values as the first.
///
/// # Errors
/// [`ckks::ErrorKind::LengthMismatch`].
pub fn same_length(operands: &[&Ciphertext]) -> Result<()> {
    let lengths = || operands.iter().map(|x| x.len());
    match lengths().find(|&len| Some(len) != lengths().next()) {
        Some(right) => {
            Err(ckks::ErrorKind::LengthMismatch { left: operands[0].len(), right }.into())
        }
        None => Ok(()),
    }
}

/// Whether labels below `count` return with errors below 1/2, except with probability
/// `2^log2_failure`. The error is that of [`noise::deviations`] standard deviations of a label in
/// its encoding, plus that of packing.
pub fn distinguishable(lattice: &lwe::Params, log2_failure: f64, count: usize) -> bool {
    // The encoding of the labels 0 to `last`, with the noise of a label.
    let (last, variance) = (count.saturating_sub(1) as f64, noise::label(lattice, count));
    let Ok(encoding) = Encoding::fit(lattice, 0.0, last, variance, PACKED, log2_failure) else {
        return false;
    };
    let unit = encoding.width() / lattice.ring_modulus().value() as f64;
    // The largest error of a label: its noise in units of the labels, and the error of packing.
    let reach = noise::deviations(log2_failure) * variance.sqrt() * unit;
    reach + PACKING_ERROR * last < 0.5
}

/// The largest number of labels, below `beyond`, that are [`distinguishable`], by bisection: the
/// error of a label grows with their number.
pub fn most_indices(lattice: &lwe::Params, log2_failure: f64, beyond: usize) -> usize {
    let (mut most, mut beyond) = (1, beyond);
    while beyond - most > 1 {
        let middle = most + (beyond - most) / 2;
        match distinguishable(lattice, log2_failure, middle) {
            true => most = middle,
            false => beyond = middle,
        }
    }
    most
}
