//! LWE values to slots, without a table.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use std::f64::consts::TAU;

use bellerophon_circuits::eval_mod::Mod1Output;
use bellerophon_ckks::{Ciphertext, Interval, noise::Noise};
use bellerophon_lwe::LweVec;
use bellerophon_mlwe as mlwe;
use bellerophon_ring::Result;

use crate::{
    error,
    evaluator::LookupEvaluator,
    linear_bridge::layout::Layout,
    map::{self, Added},
    ring_bridge::reduction::Reduction,
    stage::Stage,
};

/// Standard deviations of noise that must fit beside the range of the packed values.
const TAIL: f64 = 9.0;

impl LookupEvaluator<'_> {
    /// Packs LWE values into the slots of a vector, at a level up to that of the reduction
    /// ([`RingBridge::highest_level`](crate::RingBridge::highest_level)); a lower level is faster.
    /// Slots without a value hold zero.
    ///
    /// [`Reduction::Sine`] is for values that each equal one end of their range: it is right at
    /// both ends and needs no inversion, so results return at a higher level. With
    /// [`Reduction::Identity`] a polynomial inverts the sine. Its error adds to that of the values.
    ///
    /// # Errors
    /// [`ErrorKind::Range`] for values that reach too far from the middle of their range.
    pub fn pack(
        &self,
        values: &LweVec,
        layout: &Layout,
        level: usize,
        reduction: Reduction,
    ) -> Result<Ciphertext> {
        let lookups = self.lookups;
        let (ring, keys) = self.ring_bridge()?;
        let highest = lookups.highest_level(reduction);
        if highest.is_none_or(|highest| level > highest) {
            return Err(error::level(level, highest));
        }
        if values.meta().key != keys.id() {
            let (found, needed) = (values.meta().key, keys.id());
            return Err(mlwe::error::key_mismatch(found, needed));
        }
        // Step 1: the amplitude of the sine, and whether the values reach too far.
        let (lo, hi, width) = (values.meta().lo, values.meta().hi, values.meta().encoding.width());
        let deviation = values.meta().noise.bound;
        let half = (hi - lo) / 2.0;
        let (most, amplitude) = match reduction {
            Reduction::Identity => (ring.reach(), width / TAU),
            // At both ends the sine must be half the range. A range of a single point takes any
            // amplitude.
            Reduction::Sine if half > 0.0 => (0.25, half / (TAU * half / width).sin()),
            Reduction::Sine => (0.25, width / TAU),
        };
        let reach = (half + TAIL * deviation) / width;
        if reach > most {
            return Err(error::too_wide_to_pack(lo, hi, deviation, width, reach, most));
        }
        let observer = self.observer();
        let len = values.len();
        observer.tell(Stage::Repacking, 0, len)?;
        self.counts.packed(len);
        // Step 2: ring packing and the reduction, of the values around the middle of their range.
        let centred = values.centred();
        let scale = lookups.slots().scale();
        let output = Mod1Output { amplitude, scale };
        let evaluator = self.arithmetic;
        let packed =
            ring.lwe_to_slots(evaluator, keys, centred.items(), layout, reduction, output, level)?;
        let center = centred.meta().encoding.center();
        let moved = map::add_to_values(evaluator, &packed, layout, center)?;
        // Step 3: the metadata: the error against the messages, and the part that moves values out
        // of their range.
        let polynomial = match reduction {
            Reduction::Identity => amplitude * ring.reduction(reduction).approximation_error(),
            Reduction::Sine => 0.0,
        };
        let [predicted, bound] = values.meta().beyond_noise();
        let index = Noise { bound, ..Noise::new(predicted) };
        let error = Added { noise: deviation.hypot(polynomial), index };
        let bounds = map::bounds(Interval::real(lo, hi)?, layout);
        let result = map::with_error(evaluator.params(), moved, bounds, error)?;
        observer.tell(Stage::Repacking, len, len)?;
        Ok(result)
    }

    /// The highest level of packed values with [`Reduction::Identity`].
    ///
    /// # Errors
    /// [`ErrorKind::Level`] for a chain that is too short.
    pub fn pack_level(&self) -> Result<usize> {
        self.lookups.ring().ok_or_else(error::no_ring_bridge)?;
        let highest = self.lookups.highest_level(Reduction::Identity);
        highest.ok_or_else(|| error::level(0, highest))
    }
}
