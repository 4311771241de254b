//! Several functions of the same values.

use std::{f64::consts::TAU, ops::RangeInclusive};

use bellerophon_ckks::{Ciphertext, CkksOps, Interval, noise::Noise};
use bellerophon_lwe::{EncodedFunction, Encoding, Headroom, LweVec, OutputEncoding};
use bellerophon_ring::Result;

use crate::{
    bridge_choice::Bridge,
    domain::range_within,
    error_distribution::Grid,
    evaluator::LookupEvaluator,
    linear_bridge::layout::Layout,
    map::{Added, Crossing, EntryEncoding, Map, bounds, with_error},
    ring_bridge::bridge::RingBridge,
    stage::Stage,
};

/// A function of real numbers.
type Function<'f> = &'f dyn Fn(f64) -> f64;

impl<'a> LookupEvaluator<'a> {
    /// Applies several functions to every value, each by a plain table. The values leave the slots
    /// once. One blind rotation of a value serves all functions where the tables allow it
    /// ([`lwe::Params::one_rotation_for_several`](bellerophon_lwe::Params)). All functions of a
    /// value are read at the same index, so they share the error of the argument.
    pub(crate) fn maps(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        functions: &[&dyn Fn(f64) -> f64],
    ) -> Result<Vec<Ciphertext>> {
        // Step 1: the output encoding of each function.
        let (ring, keys) = self.ring_bridge()?;
        let map = self.ring_map(&domain)?;
        let range = range_within(x.range(), &domain)?;
        let outputs = outputs(&map, &range, functions)?;
        // Step 2: slots to LWE, and all tables at one index.
        let (read, grid) = self.read(&[x], domain, functions, &outputs)?;
        // Step 3: LWE to slots, one packing per function.
        let (observer, total) = (self.observer(), x.len() * read.len());
        observer.tell(Stage::Repacking, 0, total)?;
        let read = read.iter().zip(&outputs).zip(functions);
        let raised = read.enumerate().map(|(i, ((values, output), f))| {
            let crossing = Crossing::Ring(ring, keys);
            let noise = noise(&map, ring, values, x.len(), output);
            let error = Added { noise, index: grid.error(&range, f) };
            self.counts.packed(x.len());
            let raised =
                map.lwe_to_slots(self.arithmetic, &crossing, values.items(), output, error)?;
            observer.tell(Stage::Repacking, (i + 1) * x.len(), total)?;
            Ok(raised)
        });
        raised.collect()
    }

    /// Applies several functions to every value of several vectors and packs all results into one
    /// vector, at one amplitude. The results are ordered by function, then by vector, then by
    /// position.
    pub(crate) fn maps_packed(
        &self,
        operands: &[&Ciphertext],
        domain: RangeInclusive<f64>,
        functions: &[&dyn Fn(f64) -> f64],
    ) -> Result<Ciphertext> {
        // Step 1: the output encodings over the hull of all carried ranges.
        let (ring, keys) = self.ring_bridge()?;
        let map = self.ring_map(&domain)?;
        let ranges = operands.iter().map(|x| range_within(x.range(), &domain));
        let ranges = ranges.collect::<Result<Vec<_>>>()?;
        let hull =
            ranges.into_iter().reduce(|a, b| a.start().min(*b.start())..=a.end().max(*b.end()));
        let hull = hull.unwrap_or(domain.clone());
        let mut outputs = outputs(&map, &hull, functions)?;
        // The largest amplitude serves all. Each function keeps its own center, which is added
        // last; a constant is nothing but its center.
        let gains = outputs.iter().filter(|output| output.lo < output.hi).map(|output| output.gain);
        let gain = gains.reduce(f64::max).unwrap_or(1.0);
        outputs.iter_mut().for_each(|output| output.gain = gain);
        let count: usize = operands.iter().map(|x| x.len()).sum();
        let layout = Layout::in_order(count * functions.len())?;
        let slots = self.lookups.slots().max_slots();
        if layout.slots() > slots {
            let found = layout.rows();
            return Err(bellerophon_ckks::error::too_many_values(found, slots));
        }
        // Step 2: slots to LWE, and all tables at one index.
        let (read, grid) = self.read(operands, domain, functions, &outputs)?;
        // Step 3: LWE to slots in one packing; the error is that of the noisiest function.
        let observer = self.observer();
        let total = count * functions.len();
        observer.tell(Stage::Repacking, 0, total)?;
        let least = outputs.iter().map(|output| output.lo - output.center);
        let most = outputs.iter().map(|output| output.hi - output.center);
        let (lo, hi) = (least.fold(0.0, f64::min), most.fold(0.0, f64::max));
        let centred = EntryEncoding { center: 0.0, gain, lo, hi };
        let noises = read.iter().map(|values| noise(&map, ring, values, total, &centred));
        let indices = functions.iter().map(|f| grid.error(&hull, f));
        let index = indices.fold(Noise::NONE, Noise::max);
        let error = Added { noise: noises.fold(0.0, f64::max), index };
        let items: Vec<_> = read.iter().flat_map(|values| values.items().to_vec()).collect();
        self.counts.packed(total);
        let crossing = Crossing::Ring(ring, keys);
        let raised = map.lwe_to_slots(self.arithmetic, &crossing, &items, &centred, error)?;
        // Step 4: the center of each function.
        let centers: Vec<f64> =
            outputs.iter().flat_map(|output| vec![output.center; count]).collect();
        let moved = self.arithmetic.add_values(&raised, &centers)?;
        let lo = outputs.iter().map(|output| output.lo).fold(f64::INFINITY, f64::min);
        let hi = outputs.iter().map(|output| output.hi).fold(f64::NEG_INFINITY, f64::max);
        observer.tell(Stage::Repacking, total, total)?;
        let bounds = bounds(Interval::real(lo, hi)?, &layout);
        with_error(
            self.arithmetic.params(),
            moved,
            bounds,
            Added { noise: 0.0, index: Noise::NONE },
        )
    }

    fn ring_map(&self, domain: &RangeInclusive<f64>) -> Result<Map<'a>> {
        Map::new(self.lookups, &self.table_keys()?.lwe_params, Bridge::Ring, domain)
    }

    /// Reads the tables of all functions at the values of all operands. The entries are angles,
    /// whose sines the packing returns. The grid describes the error of the common index.
    fn read(
        &self,
        operands: &[&Ciphertext],
        domain: RangeInclusive<f64>,
        functions: &[Function<'_>],
        outputs: &[EntryEncoding],
    ) -> Result<(Vec<LweVec>, Grid)> {
        // Step 1: slots to LWE: the values of all operands in one encoding.
        let tables = self.tables()?;
        let values = LweVec::concat(&self.extract(operands, domain, Headroom::TABLE, None)?)?;
        let (center, degree) = (
            values.centred().meta().encoding.center(),
            self.table_keys()?.lwe_params.spec().ring_degree,
        );
        // Step 2: the grid of the common index, from the tracked noise of the values.
        let step = values.meta().encoding.width() / (2 * degree) as f64;
        let [predicted, bound] = values.meta().beyond_noise();
        let operand = Noise { bound, ..Noise::new(predicted) } * step.powi(-2);
        let index_std = tables.noise_std(&values).bound / step;
        let grid = Grid { center, step, degree, index_std, operand };
        // Step 3: all tables at that index. Their entries are angles of a full period, TAU.
        let angles: Vec<_> = functions
            .iter()
            .zip(outputs)
            .map(|(f, output)| move |x: f64| output.angle(f(x)))
            .collect();
        let encoding = OutputEncoding::Encoding(Encoding::new(0.0, TAU)?);
        let entries: Vec<_> =
            angles.iter().map(|angle| EncodedFunction::new(angle, encoding)).collect();
        let read = tables.maps(&values, &entries)?;
        Ok((read, grid))
    }
}

/// The output encoding of each function for arguments in a range.
fn outputs(
    map: &Map<'_>,
    range: &RangeInclusive<f64>,
    functions: &[Function<'_>],
) -> Result<Vec<EntryEncoding>> {
    let inside =
        |f: Function<'_>| map.entry_encoding(&|x: f64| f(x.clamp(*range.start(), *range.end())));
    functions.iter().map(|&f| inside(f)).collect()
}

/// Standard deviation that blind rotation and the packing of `count` values together add to a
/// value.
fn noise(
    map: &Map<'_>,
    ring: &RingBridge,
    values: &LweVec,
    count: usize,
    output: &EntryEncoding,
) -> f64 {
    let raised = TAU * TAU * map.packing_variance(ring, count);
    output.gain * values.meta().noise.predicted.hypot(raised.sqrt())
}
