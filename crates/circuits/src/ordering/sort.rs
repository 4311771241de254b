//! Sorting and the largest values, by networks.

use bellerophon_ckks::{CiphertextMeta, CkksOps, Result};

use super::network::{self, Stage};
use super::unit::{Unit, opened};
use super::{Comparator, SortOrder};
use crate::error;

impl Comparator {
    /// The values of a vector in order, by Batcher's bitonic network: every stage compares all
    /// slots with a rotated copy at once. Padding stays behind the values and is zero in the
    /// result.
    ///
    /// Takes [`levels`](Self::levels) levels for each of its [`stages`](Self::stages),
    /// and two more. Each value is within its [`error`](Self::error).
    ///
    /// ```
    /// # use bellerophon_circuits::bootstrap::{BootstrapSpec, Bootstrapper, SimulatorExt};
    /// use bellerophon_circuits::ordering::{Comparator, SortOrder, OrderTask};
    /// # use bellerophon_ckks::{Interval, Params, ParamsSpec, Security, simulator::Simulator};
    /// # let spec = BootstrapSpec { encode_ahead: false, ..BootstrapSpec::new(1 << 4) };
    /// # let chain = spec.chain(1 << 10, 42, 9, (49, 9))?;
    /// # let params = Params::new(ParamsSpec::from_chain(&chain, 42, Security::Insecure)?)?;
    /// # let bootstrapper = Bootstrapper::new(&params, spec)?;
    /// let a = Simulator::new(&params).with_bootstrapping(bootstrapper)?.with_auto_bootstrap()?;
    /// let range = Interval::real(-1.0, 1.0)?; // declared: it is public
    /// let x = a.encrypt(&[0.5, -0.25, 0.125, -1.0, 0.75], range, 11)?;
    /// let comparator = Comparator::new(1.0 / 64.0)?;
    /// let sorted = comparator.sort(&a, &x, SortOrder::Ascending)?;
    /// let bound = 2.0 * comparator.error(OrderTask::Sort { len: 5 }); // the range has width 2
    /// for (found, expected) in sorted.reals().iter().zip([-1.0, -0.25, 0.125, 0.5, 0.75]) {
    ///     assert!((found - expected).abs() < bound);
    /// }
    /// # Ok::<(), bellerophon_ckks::Error>(())
    /// ```
    pub fn sort<A: CkksOps>(
        &self,
        a: &A,
        x: &A::Ciphertext,
        order: SortOrder,
    ) -> Result<A::Ciphertext> {
        let len = a.metadata(x).meta.len;
        let stages = network::sorting(len.next_power_of_two(), order);
        a.composed("sort", || self.through(a, x, &stages, order, len))
    }

    /// The `k` largest values of a vector, largest first, in the first `k` slots; the other slots
    /// are padding. Blocks of `k` values (rounded up to a power of two) are sorted, then merged in
    /// pairs and halved: fewer stages than a sort.
    ///
    /// Takes [`levels`](Self::levels) levels for each of its [`stages`](Self::stages), and two
    /// more. Each value is within its [`error`](Self::error).
    pub fn top_k<A: CkksOps>(&self, a: &A, x: &A::Ciphertext, k: usize) -> Result<A::Ciphertext> {
        let len = a.metadata(x).meta.len;
        a.composed("top k", || {
            if k == 0 || k > len {
                let reason = format!("the {k} largest of {len} values: need k from 1 to {len}");
                return Err(error::shape(reason));
            }
            let wires = len.next_power_of_two();
            let stages = network::selection(k.next_power_of_two(), wires);
            self.through(a, x, &stages, SortOrder::Descending, k)
        })
    }

    /// `x` through a network; the result has its first `kept` wires.
    fn through<A: CkksOps>(
        &self,
        a: &A,
        x: &A::Ciphertext,
        stages: &[Stage],
        order: SortOrder,
        kept: usize,
    ) -> Result<A::Ciphertext> {
        let CiphertextMeta { len, bounds, .. } = a.metadata(x).meta;
        let unit = Unit::of(bounds.values, &self.sign)?;
        let wires = len.next_power_of_two();
        // Padding that is as far behind as a value can be: it ties with those, which costs nothing.
        let last = match order {
            SortOrder::Ascending => unit.place(bounds.values.hi()),
            SortOrder::Descending => unit.place(bounds.values.lo()),
        };
        let mut u = unit.entered(a, x, last)?;
        for stage in stages {
            u = self.exchanged(a, u, *stage, wires, &unit)?;
        }
        unit.left(a, &u, kept)
    }

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
