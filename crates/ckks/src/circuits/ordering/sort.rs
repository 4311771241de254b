//! Sorting and the largest values, by networks.

use super::{
    Comparator, Order,
    network::{self, Stage},
    unit::{Unit, opened},
};
#[cfg(doc)]
use crate::ErrorKind;
use crate::{CiphertextMeta, CkksOps, During, Result, error};

impl Comparator {
    /// The values of a vector in order, by Batcher's bitonic network: every stage compares all
    /// slots with a rotated copy at once. Padding stays behind the values and is zero in the
    /// result.
    ///
    /// Takes [`levels`](Self::levels) levels for each of its [`stages`](Self::stages),
    /// and two more. Each value is within its [`error`](Self::error).
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
    /// Takes [`levels`](Self::levels) levels for each of its [`stages`](Self::stages), and two
    /// more. Each value is within its [`error`](Self::error).
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
                return Err(error::shape(reason).during(op));
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
