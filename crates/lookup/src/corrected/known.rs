//! The operand of a corrected look-up in the slots: itself, or packed beside its tables.

use std::{f64::consts::TAU, ops::RangeInclusive};

use bellerophon_ckks::noise::Noise;
use bellerophon_lwe::{Encoding, Headroom};
use bellerophon_ring::Result;

use crate::{
    error,
    map::{EntryEncoding, Map, reduction_noise},
    params::LutParams,
    ring_bridge::{bridge::RingBridge, reduction::Reduction},
};

/// Headroom of an operand that is packed together with its tables: a sum of eight terms would fit.
pub(super) const RAISED: Headroom = Headroom { terms: 8, levels: 0 };

/// The form of the operand from which the cell is subtracted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Known {
    /// The operand itself, in the slots.
    Itself,
    /// The packed operand: the sine of its phase, `width / 2 pi sin(2 pi (x - center) / width)`,
    /// with noise of these variances.
    Sine { center: f64, width: f64, noise: Noise },
}

impl Known {
    /// The value `g(x)` that the slots hold for `x`.
    pub(super) fn of(&self, x: f64) -> f64 {
        match *self {
            Self::Itself => x,
            Self::Sine { center, width, .. } => width / TAU * (TAU * (x - center) / width).sin(),
        }
    }

    /// The form of an operand at a level: itself if it has enough levels, else packed beside the
    /// tables.
    pub(super) fn of_level(lookups: &LutParams, map: &Map<'_>, level: usize) -> Result<Self> {
        if level >= lookups.level_to_correct() {
            return Ok(Self::Itself);
        }
        // The encoding of the packed operand, with its noise.
        let ring = lookups.ring().ok_or_else(error::no_ring_bridge)?;
        let (lo, hi) = (*map.domain().start(), *map.domain().end());
        let (lwe_params, failure) = (map.lwe_params(), lookups.log2_table_failure());
        let fit = |noise| Encoding::fit(lwe_params, lo, hi, noise, RAISED, failure);
        // The encoding without noise is the narrowest, in which noise is largest.
        let encoding = fit(map.extracted_variance(ring, fit(0.0)?.width()))?;
        let noise = map.extracted_variance(ring, encoding.width());
        let q0 = lwe_params.ring_modulus().value() as f64;
        Ok(Self::raised(lookups, ring, &encoding, encoding.width() * noise.sqrt() / q0))
    }

    /// The packed form of values in an encoding, with noise of standard deviation `std` before
    /// packing.
    pub(super) fn raised(
        lookups: &LutParams,
        ring: &RingBridge,
        encoding: &Encoding,
        std: f64,
    ) -> Self {
        // The noise before packing, that of packing, and the rounding of the reduction.
        let (center, width) = (encoding.center(), encoding.width());
        let q0 = lookups.slots().divisor(0);
        let raised = ring.raising_noise(ring.repeats(1)) / (q0 * q0);
        let reduction = reduction_noise(lookups.slots(), ring.reduction(Reduction::Sine));
        let added = (reduction * TAU.powi(-2) + raised) * width.powi(2);
        Self::Sine { center, width, noise: added + std * std }
    }

    /// The output encoding of a table of `g` over a range, and the factor that brings the packed
    /// operand to the same amplitude.
    pub(super) fn cells(&self, range: &RangeInclusive<f64>) -> (EntryEncoding, i64) {
        let output = EntryEncoding::over(self.of(*range.start()), self.of(*range.end()));
        match *self {
            Self::Itself => (output, 1),
            Self::Sine { width, .. } => {
                let times = (width / TAU / output.gain).floor().max(1.0);
                (EntryEncoding { gain: width / TAU / times, ..output }, times as i64)
            }
        }
    }

    /// Variances of its noise, beside the noise of the vector itself.
    pub(super) fn noise(&self) -> Noise {
        match *self {
            Self::Itself => Noise::NONE,
            Self::Sine { noise, .. } => noise,
        }
    }
}
