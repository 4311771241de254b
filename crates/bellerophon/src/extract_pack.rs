//! Slots to LWE values, and LWE values to slots, without a table in between.

use std::ops::RangeInclusive;

use bellerophon_ckks::Ciphertext;
use bellerophon_lookup::{Layout, LookupServer, Reduction};
use bellerophon_lwe::{self as lwe, Headroom, LweVec};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Result, error::operation};

use crate::evaluator::Evaluator;

impl Evaluator {
    /// Extracts the values of a vector as LWE values in the ring of the tables, with an encoding
    /// that leaves a whole table to the domain ([`Headroom::TABLE`]), for any number of
    /// [tables](Self::tables). Takes [`LutParams::levels`](crate::LutParams::levels) levels.
    ///
    /// LWE values keep the noise of the slots: they are for the server. Noise that can move values
    /// out of their range counts as noise of the phase; the rest counts as index error of earlier
    /// tables ([`LweVec`]).
    ///
    /// # Errors
    /// [`ErrorKind::Domain`] for a domain that no table takes, or that does not contain the carried
    /// range; [`ErrorKind::Unsupported`] without a ring bridge.
    pub fn extract(&self, x: &Ciphertext, domain: RangeInclusive<f64>) -> Result<LweVec> {
        operation("extract", || self.extract_for(x, domain, Headroom::TABLE))
    }

    /// As [`extract`](Self::extract), with headroom in the encoding for the operations before the
    /// next table: sums, differences, comparators.
    pub fn extract_for(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        headroom: Headroom,
    ) -> Result<LweVec> {
        operation("extract_for", || {
            Ok(self.lookup()?.extract(&[x], domain, headroom, None)?.remove(0))
        })
    }

    /// As [`extract_for`](Self::extract_for), for several vectors that will be added, compared or
    /// concatenated: their values share one encoding. An integer factor for each vector aligns the
    /// scales. The remaining difference, less than half a cell of the tables, counts as noise.
    ///
    /// # Errors
    /// [`ErrorKind::Scale`], before any work, if the difference is larger. That happens for
    /// unrelated scales on domains more than some ten wide.
    pub fn extract_all(
        &self,
        operands: &[&Ciphertext],
        domain: RangeInclusive<f64>,
        headroom: Headroom,
    ) -> Result<Vec<LweVec>> {
        operation("extract_all", || self.lookup()?.extract(operands, domain, headroom, None))
    }

    /// The evaluator of tables and of functions of several LWE values, with the keys of this
    /// client. It reports to the progress callback of this evaluator.
    pub fn tables(&self) -> Result<lwe::Evaluator<'_>> {
        operation("tables", || self.lookup()?.tables())
    }

    /// Packs LWE values into the slots of a vector, in order, at [`Evaluator::pack_level`]. Padding
    /// is zero.
    ///
    /// A polynomial inverts the sine of the reduction. Its error is below `2^-13` of the width that
    /// the values reach. It takes three levels more than the return of [`map`](Self::map), whose
    /// tables hold the arcsine.
    ///
    /// The range of the result is that of the values, widened if noise may move them out of it by
    /// more than two fifths of half its width. The noise of the result combines that of the values
    /// ([`LweMeta::noise`](lwe::LweMeta::noise)), their index errors
    /// ([`LweMeta::index`](lwe::LweMeta::index)) and the error of the polynomial.
    pub fn pack(&self, values: &LweVec) -> Result<Ciphertext> {
        operation("pack", || {
            let packed = |layout: Layout| self.pack_in(values, &layout, self.pack_level()?);
            Layout::in_order(values.len()).and_then(packed)
        })
    }

    /// As [`pack`](Self::pack) into any slots, at any level up to [`Evaluator::pack_level`]; a
    /// lower level is faster. Slots without a value hold zero.
    ///
    /// One call packs the values of several tables: [`LweVec::concat`] joins them.
    ///
    /// # Errors
    /// [`ErrorKind::Range`] for values that reach more than an eighth of the encoding width from
    /// the middle of their range; [`ErrorKind::Unsupported`] without a ring bridge.
    pub fn pack_in(&self, values: &LweVec, layout: &Layout, level: usize) -> Result<Ciphertext> {
        operation("pack_in", || self.lookup()?.pack(values, layout, level, Reduction::Identity))
    }

    /// As [`pack`](Self::pack) for values that each equal one end of their range: the results of
    /// comparisons, at a level up to [`LutParams::level_after`](crate::LutParams::level_after). The
    /// sine of the reduction is right at both ends and needs no inversion, so results return three
    /// levels higher.
    ///
    /// # Errors
    /// As [`pack_in`](Self::pack_in); values may reach nearly a quarter of the encoding width.
    pub fn pack_ends(&self, values: &LweVec, level: usize) -> Result<Ciphertext> {
        operation("pack_ends", || {
            let layout = Layout::in_order(values.len())?;
            self.lookup()?.pack(values, &layout, level, Reduction::Sine)
        })
    }

    /// The level of the result of [`pack`](Self::pack), the highest possible one.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] without a ring bridge.
    pub fn pack_level(&self) -> Result<usize> {
        operation("pack_level", || self.lookup()?.pack_level())
    }
}
