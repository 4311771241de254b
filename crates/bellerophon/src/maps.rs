//! Several functions of the same values.

use std::{f64::consts::TAU, ops::RangeInclusive};

use bellerophon_ckks::{Ciphertext, Interval};
use bellerophon_lwe::{Encoding, Output as TableOutput, Room, Table, Values};
use bellerophon_repack::{Layout, RingBridge};

use crate::{
    Error, Evaluator, Result, Stage,
    accuracy::Grid,
    evaluator::range_within,
    map::{Crossing, Deviations, Map, Output, bounds, with_error},
    plan::Way,
};

/// A function of real numbers.
type Function<'f> = &'f dyn Fn(f64) -> f64;

impl Evaluator {
    /// Several functions of every value, each as by [`map_over`](Self::map_over): the values leave their slots
    /// once, and with the keys of [`Needs::map_to`](crate::Needs::map_to) on RGSW one rotation of each
    /// serves all functions. With those of [`Needs::map`](crate::Needs::map), and on NTRU, there is one
    /// for each function.
    ///
    /// All functions of a value are read at the same index: one error of the argument is common to
    /// them. Padding is zero.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().map_to())?)?;
    /// let x = client.encrypt(&[0.5, -1.0], -2.0..=2.0)?;
    /// let both = server.maps(&x, -2.0..=2.0, &[&f64::sin, &f64::cos])?;
    /// # let (sin, cos) = (client.decrypt(&both[0])?, client.decrypt(&both[1])?);
    /// # assert!((sin[1] - (-1f64).sin()).abs() < 0.1 && (cos[0] - 0.5f64.cos()).abs() < 0.1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`map_over`](Self::map_over), over the ring bridge, and if there are no functions.
    pub fn maps(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        functions: &[&dyn Fn(f64) -> f64],
    ) -> Result<Vec<Ciphertext>> {
        let op = "maps";
        let (_, ring, keys) = self.ring_bridge(op)?;
        let map = self.ring_map(op, &domain)?;
        let range = range_within(op, x.range(), &domain)?;
        let outputs = outputs(&map, &range, functions)?;
        let (read, grid) = self.read(op, &[x], domain, functions, &outputs)?;
        let (observer, total) = (self.observer(op), x.len() * read.len());
        observer.tell(Stage::Repacking, 0, total)?;
        let read = read.iter().zip(&outputs).zip(functions);
        let raised = read.enumerate().map(|(i, ((values, output), f))| {
            let crossing = Crossing::Ring(ring, keys);
            let noise = noise(&map, ring, (values, x.len()), output);
            let error = Deviations { noise, index: grid.error(&range, f).sqrt() };
            self.counts.packed(x.len());
            let raised = map.raise(self, &crossing, values.items(), output, error)?;
            observer.tell(Stage::Repacking, (i + 1) * x.len(), total)?;
            Ok(raised)
        });
        let raised: Result<_> = raised.collect();
        raised.map_err(|error: Error| error.named(op))
    }

    /// Several functions of every value of several vectors, packed into one vector by one repacking:
    /// the first function of all values of the first vector, of the second, .., then the second
    /// function. For few values a repacking is most of the time, whatever their number.
    ///
    /// All come up at one amplitude: what table and repacking add to a value is relative to the widest
    /// range of the functions, constants aside. A function whose values span 1 beside one whose values
    /// span `1e4` is `1e4` times noisier than alone: functions so different take a call each. The noise
    /// of the result is that of its noisiest function. Padding is zero.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().map())?)?;
    /// let x = client.encrypt(&[0.5, -1.0], -2.0..=2.0)?;
    /// let y = client.encrypt(&[1.5], -2.0..=2.0)?;
    /// let all = server.maps_packed(&[&x, &y], -2.0..=2.0, &[&f64::exp, &f64::abs])?;
    /// let found = client.decrypt(&all)?; // exp 0.5, exp -1, exp 1.5, 0.5, 1, 1.5
    /// # for (found, expected) in found.iter().zip([1.65, 0.37, 4.48, 0.5, 1.0, 1.5]) {
    /// #     assert!((found - expected).abs() < 0.3, "{found} {expected}");
    /// # }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`maps`](Self::maps), and for more results than a vector has slots.
    pub fn maps_packed(
        &self,
        operands: &[&Ciphertext],
        domain: RangeInclusive<f64>,
        functions: &[&dyn Fn(f64) -> f64],
    ) -> Result<Ciphertext> {
        let op = "maps packed";
        let (_, ring, keys) = self.ring_bridge(op)?;
        let map = self.ring_map(op, &domain)?;
        let ranges = operands.iter().map(|x| range_within(op, x.range(), &domain));
        let ranges = ranges.collect::<Result<Vec<_>>>()?;
        let hull =
            ranges.into_iter().reduce(|a, b| a.start().min(*b.start())..=a.end().max(*b.end()));
        let hull = hull.unwrap_or(domain.clone());
        let mut outputs = outputs(&map, &hull, functions)?;
        // One amplitude for all, the largest; each keeps a middle of its own, which is added last, and
        // is all there is of a constant.
        let gains = outputs.iter().filter(|output| output.lo < output.hi).map(|output| output.gain);
        let gain = gains.reduce(f64::max).unwrap_or(1.0);
        outputs.iter_mut().for_each(|output| output.gain = gain);
        let count: usize = operands.iter().map(|x| x.len()).sum();
        let layout = Layout::in_order(count * functions.len())?;
        let slots = self.parameters().slots();
        if layout.slots() > slots {
            let found = layout.rows();
            return Err(bellerophon_ckks::Error::TooManyValues { op, found, slots }.into());
        }
        let (read, grid) = self.read(op, operands, domain, functions, &outputs)?;
        let observer = self.observer(op);
        let total = count * functions.len();
        observer.tell(Stage::Repacking, 0, total)?;
        let least = outputs.iter().map(|output| output.lo - output.center);
        let most = outputs.iter().map(|output| output.hi - output.center);
        let (lo, hi) = (least.fold(0.0, f64::min), most.fold(0.0, f64::max));
        let centred = Output { center: 0.0, gain, lo, hi };
        let noises = read.iter().map(|values| noise(&map, ring, (values, total), &centred));
        let indices = functions.iter().map(|f| grid.error(&hull, f).sqrt());
        let largest = f64::max;
        let error =
            Deviations { noise: noises.fold(0.0, largest), index: indices.fold(0.0, largest) };
        let items: Vec<_> = read.iter().flat_map(|values| values.items().to_vec()).collect();
        self.counts.packed(total);
        let raised = map.raise(self, &Crossing::Ring(ring, keys), &items, &centred, error);
        let raised = raised.map_err(|error| error.named(op))?;
        let centers: Vec<f64> =
            outputs.iter().flat_map(|output| vec![output.center; count]).collect();
        let moved = self.add_values(&raised, &centers)?;
        let lo = outputs.iter().map(|output| output.lo).fold(f64::INFINITY, f64::min);
        let hi = outputs.iter().map(|output| output.hi).fold(f64::NEG_INFINITY, f64::max);
        observer.tell(Stage::Repacking, total, total)?;
        let bounds = bounds(Interval::real(lo, hi)?, &layout);
        Ok(with_error(
            self.arithmetic.params(),
            moved,
            bounds,
            Deviations { noise: 0.0, index: 0.0 },
        )?)
    }

    fn ring_map(&self, op: &'static str, domain: &RangeInclusive<f64>) -> Result<Map<'_>> {
        let (params, tables) = (self.parameters(), self.table_keys(op)?);
        Map::new(params, params.lookups_for(op)?, &tables.lattice, Way::Ring, domain)
    }

    /// Every function of the values of all operands, as angles that the way up returns the sine of, and
    /// the error of the common index.
    fn read(
        &self,
        op: &'static str,
        operands: &[&Ciphertext],
        domain: RangeInclusive<f64>,
        functions: &[Function<'_>],
        outputs: &[Output],
    ) -> Result<(Vec<Values>, Grid)> {
        let tables = self.tables()?;
        let values = Values::concat(&self.extract_by(op, operands, domain, Room::TABLE, None)?)?;
        let (center, degree) =
            (values.centred().encoding().center(), self.table_keys(op)?.lattice.ring_degree());
        let step = values.encoding().width() / (2 * degree) as f64;
        let error_std = values.index_variance().sqrt() / step;
        let index_std = tables.noise_std(&values) / step;
        let grid = Grid { center, step, degree, index_std, error_std };
        let angles: Vec<_> = functions
            .iter()
            .zip(outputs)
            .map(|(f, output)| move |x: f64| output.angle(f(x)))
            .collect();
        let encoding = TableOutput::Encoding(Encoding::new(0.0, TAU)?);
        let entries: Vec<_> =
            angles.iter().map(|angle| -> Table<'_> { (angle, encoding) }).collect();
        let read = tables.maps(&values, &entries).map_err(|error| Error::from(error).named(op))?;
        Ok((read, grid))
    }
}

/// How the entries of each function's table stand for its values, where arguments lie in a range.
fn outputs(
    map: &Map<'_>,
    range: &RangeInclusive<f64>,
    functions: &[Function<'_>],
) -> Result<Vec<Output>> {
    let inside = |f: Function<'_>| map.output(&|x: f64| f(x.clamp(*range.start(), *range.end())));
    functions.iter().map(|&f| inside(f)).collect()
}

/// Standard deviation of what the rotation and the way up add to values, of which `count` go up together.
fn noise(
    map: &Map<'_>,
    ring: &RingBridge,
    (values, count): (&Values, usize),
    output: &Output,
) -> f64 {
    let raised = TAU * TAU * map.raised_turns2(ring, count);
    output.gain * (values.noise_variance() + raised).sqrt()
}
