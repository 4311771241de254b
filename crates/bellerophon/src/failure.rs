//! How likely it is that anything an evaluator did has failed.

use std::sync::atomic::{AtomicU64, Ordering};

use bellerophon_ckks::FailureProbability;

use crate::{Evaluator, Lookups};

/// What look-ups did that can fail, each with half the probability of a value of a look-up.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Rotations of a table: the index may be off by more than the guard band.
    pub(crate) indices: AtomicU64,
    /// Values packed into slots: the overflow may be more than the reduction takes.
    packed: AtomicU64,
}

impl Counts {
    /// So many values were looked up.
    pub(crate) fn looked_up(&self, values: usize) {
        self.indices.fetch_add(values as u64, Ordering::Relaxed);
    }

    /// So many values were packed.
    pub(crate) fn packed(&self, values: usize) {
        self.packed.fetch_add(values as u64, Ordering::Relaxed);
    }

    /// The sum so far.
    fn add_to(&self, sum: FailureProbability, lookups: &Lookups) -> FailureProbability {
        let half = lookups.log2_table_failure();
        let [indices, packed] =
            [&self.indices, &self.packed].map(|count| count.load(Ordering::Relaxed));
        sum.and(half, indices).and(half, packed)
    }
}

impl Evaluator {
    /// A bound on the probability that anything that this evaluator computed so far came back as garbage: the
    /// sum over the look-ups and refreshes that it did, those on LWE values ([`tables`](Self::tables)) and
    /// those that it made by itself included. Arithmetic never fails like that.
    ///
    /// A value of a look-up counts with half of [`Lookups::log2_failure`] for every rotation of a table and
    /// half for its way up; a refreshed vector with
    /// [`BootstrapSpec::log2_failure`](bellerophon_ckks::bootstrap::BootstrapSpec::log2_failure). What was
    /// begun counts, also where it was cancelled. Copies of an evaluator add up into one sum;
    /// [`counting_anew`](Self::counting_anew) begins another.
    /// [`Params::program_failure`](crate::Params::program_failure) says beforehand what numbers will make.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let params = Params::preset(Preset::ToyInsecure)?;
    /// let client = ClientKey::generate(&params)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().map())?)?;
    /// assert_eq!(server.failures().log2(), f64::NEG_INFINITY);
    /// let x = client.encrypt(&[0.5, -1.25], -2.0..=2.0)?;
    /// server.map_over(&x, -2.0..=2.0, f64::exp)?;
    /// assert_eq!(server.failures(), params.program_failure(2, 0)?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn failures(&self) -> FailureProbability {
        let sum = self.arithmetic.failures();
        match self.keys.params.optional_lookups() {
            Some(lookups) => self.counts.add_to(sum, lookups),
            None => sum,
        }
    }

    /// The same evaluator with a sum of [`failures`](Self::failures) of its own, of nothing so far: for one
    /// program of several.
    pub fn counting_anew(mut self) -> Self {
        self.arithmetic = self.arithmetic.counting_anew();
        self.counts = Default::default();
        self
    }
}
