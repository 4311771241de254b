//! Sorting and the largest values, by networks.

use super::{
    Comparator, Order,
    network::{self, Stage},
    unit::{Unit, opened},
};
use crate::{CiphertextMeta, CkksOps, During, ErrorKind, KeyLevels, Result};

impl Comparator {
    /// Stages of [`sort`](Self::sort) of `len` values: `r (r + 1) / 2` for up to `2^r`.
    pub fn sort_stages(len: usize) -> usize {
        network::sorting(len.next_power_of_two(), Order::Ascending).len()
    }

    /// Stages of [`top_k`](Self::top_k): `s (s + 1) / 2 + (r - s) (s + 1)` for `k` up to `2^s` of
    /// up to `2^r` values.
    pub fn top_k_stages(len: usize, k: usize) -> usize {
        let wires = len.next_power_of_two();
        network::selection(k.next_power_of_two().min(wires), wires).len()
    }

    /// Bound on the error of every value of [`sort`](Self::sort), as a part of the width of the
    /// declared range: [`exchange_error`](Self::exchange_error) for each stage, since an exact
    /// network enlarges no error of its operands.
    pub fn sort_error(&self, len: usize) -> f64 {
        Self::sort_stages(len) as f64 * self.exchange_error()
    }

    /// Bound on the error of every value of [`top_k`](Self::top_k), as
    /// [`sort_error`](Self::sort_error).
    pub fn top_k_error(&self, len: usize, k: usize) -> f64 {
        Self::top_k_stages(len, k) as f64 * self.exchange_error()
    }

    /// The keys of [`sort`](Self::sort) and [`top_k`](Self::top_k) of up to `len` values, up to
    /// `level`: the level of the operand or, with bootstrapping, the level after a bootstrap,
    /// whichever is higher.
    pub fn sort_keys(len: usize, level: usize) -> KeyLevels {
        let distances = (0..len.next_power_of_two().ilog2()).map(|i| 1i64 << i);
        let steps = distances.flat_map(|d| [d, -d]);
        Self::products(level).rotate(steps, level)
    }

    /// The values of a vector in order, by Batcher's bitonic network: every stage compares all
    /// slots with a rotated copy at once. Padding stays behind the values and is zero in the
    /// result.
    ///
    /// Takes [`levels`](Self::levels) levels for each of [`sort_stages`](Self::sort_stages) stages,
    /// and two more. Each value is within [`sort_error`](Self::sort_error).
    ///
    /// # Errors
    /// Those of all functions here ([module](super)).
    pub fn sort<A: CkksOps>(
        &self,
        a: &A,
        x: &A::Ciphertext,
        order: Order,
    ) -> Result<A::Ciphertext> {
        let op = "sort";
        let len = a.metadata(x).meta.len;
        let stages = network::sorting(len.next_power_of_two(), order);
        a.composed(op, || self.through(a, x, &stages, order, len).during(op))
    }

    /// The `k` largest values of a vector, largest first, in the first `k` slots; the other slots
    /// are padding. Blocks of `k` values (rounded up to a power of two) are sorted, then merged in
    /// pairs and halved: fewer stages than a sort.
    ///
    /// Takes [`levels`](Self::levels) levels for each of [`top_k_stages`](Self::top_k_stages)
    /// stages, and two more. Each value is within [`top_k_error`](Self::top_k_error).
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for a `k` that is zero or above the number of values, and those of all
    /// functions here ([module](super)).
    pub fn top_k<A: CkksOps>(&self, a: &A, x: &A::Ciphertext, k: usize) -> Result<A::Ciphertext> {
        let op = "top k";
        let len = a.metadata(x).meta.len;
        a.composed(op, || {
            if k == 0 || k > len {
                let reason = format!("the {k} largest of {len} values: need k from 1 to {len}");
                return Err(ErrorKind::Shape { reason }.during(op));
            }
            let wires = len.next_power_of_two();
            let stages = network::selection(k.next_power_of_two(), wires);
            self.through(a, x, &stages, Order::Descending, k).during(op)
        })
    }

    /// `x` through a network; the result has its first `kept` wires.
    fn through<A: CkksOps>(
        &self,
        a: &A,
        x: &A::Ciphertext,
        stages: &[Stage],
        order: Order,
        kept: usize,
    ) -> Result<A::Ciphertext> {
        let CiphertextMeta { len, bounds, .. } = a.metadata(x).meta;
        let unit = Unit::of(bounds.values, self.sign())?;
        let wires = len.next_power_of_two();
        // Padding that is as far behind as a value can be: it ties with those, which costs nothing.
        let last = match order {
            Order::Ascending => unit.place(bounds.values.hi()),
            Order::Descending => unit.place(bounds.values.lo()),
        };
        let mut u = unit.entered(a, x, last)?;
        for stage in stages {
            u = self.exchanged(a, u, *stage, wires, &unit)?;
        }
        unit.left(a, &u, kept)
    }

    /// One stage of a network on the first `wires` slots.
    fn exchanged<A: CkksOps>(
        &self,
        a: &A,
        u: A::Ciphertext,
        stage: Stage,
        wires: usize,
        unit: &Unit,
    ) -> Result<A::Ciphertext> {
        let (before, u) = opened(a, u);
        let distance = stage.distance as i64;
        let u = self.ready(a, u)?;
        // Step 1: differences of all slots to those at the distance; the first slot of a pair holds
        // its own.
        let d = a.sub(&u, &a.rotate(&u, distance)?)?;
        // Step 2: their signs, and what the first slot of each pair gains by the exchange.
        let signs = self.signs(a, &d)?;
        let gain = self.gain(a, &d, &signs, &stage.weights(wires, before.meta.slots))?;
        // Step 3: the second slot loses as much.
        let y = a.sub(&a.add(&u, &gain)?, &a.rotate(&gain, -distance)?)?;
        unit.settled(a, y, &before)
    }
}
