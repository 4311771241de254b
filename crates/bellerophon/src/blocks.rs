//! Several tables of the same values, brought up in one vector.
//!
//! A repacking of several tables takes little longer than that of one. They stand side by side, a block
//! of slots each, and rotations bring one after the other over the first block. What is computed with
//! the vectors that come of it is right in the first block and means nothing in the others: a mask
//! clears these in the end, and what is left is spread over all of them.

use bellerophon_ckks::{self as ckks, Arithmetic, Ciphertext, KeySpec, mod1::Mod1Output};
use bellerophon_lwe as lwe;
use bellerophon_repack::{Layout, Reduction, RingBridge, RingBridgeKeys};

use crate::Result;

/// Blocks of tables of so many values.
pub(crate) struct Blocks {
    /// Values of a table.
    rows: usize,
    /// Slots of their vectors, which repeat themselves in a block.
    period: usize,
    /// Slots of a block.
    stride: usize,
    /// Tables in one vector, a power of two.
    together: usize,
}

/// Slots of the smallest block: four of them take a C2S of the least number of slots.
fn least_stride(ring: &RingBridge) -> usize {
    ring.spec().degree / 8
}

impl Blocks {
    /// The rotations at a level that any number of values takes.
    pub(crate) fn keys(ring: &RingBridge, params: &ckks::Params, level: usize) -> KeySpec {
        let steps = std::iter::successors(Some(least_stride(ring)), |step| Some(2 * step));
        let steps = steps.take_while(|&step| step < params.max_slots());
        KeySpec::new().rotate(steps.map(|step| step as i64), level)
    }

    /// For some tables of the values of a vector, as many together as there are slots and keys for.
    pub(crate) fn new(
        evaluator: &ckks::Evaluator,
        ring: &RingBridge,
        x: &Ciphertext,
        tables: usize,
        level: usize,
    ) -> Self {
        let (rows, period, params) = (x.len(), x.slots(), evaluator.params());
        let stride = period.max(least_stride(ring));
        let keys = evaluator.keys().galois_keys();
        let has = |step: usize| {
            let spec = KeySpec::new().rotate([step as i64], level);
            spec.automorphisms(params)
                .into_iter()
                .all(|(exponent, limbs)| keys.covers(exponent, limbs))
        };
        let most = tables.next_power_of_two().min(params.max_slots() / stride);
        let mut together = 1;
        while together < most && has(together * stride) {
            together *= 2;
        }
        Self { rows, period, stride: if together > 1 { stride } else { period }, together }
    }

    /// The sines of the phases of all tables at a level and a scale, one vector for each table, which is
    /// right in its first block.
    pub(crate) fn raise(
        &self,
        evaluator: &ckks::Evaluator,
        (ring, keys): (&RingBridge, &RingBridgeKeys),
        tables: &[&[lwe::Ciphertext]],
        (level, scale): (usize, f64),
    ) -> Result<Vec<Ciphertext>> {
        let output = Mod1Output { amplitude: 1.0, scale };
        let mut sines = Vec::with_capacity(tables.len());
        for group in tables.chunks(self.together) {
            let values: Vec<&lwe::Ciphertext> = group.iter().copied().flatten().collect();
            let layout = Layout::in_blocks(self.rows, self.period, group.len(), self.stride)?;
            let sine = Reduction::Sine;
            let mut all = ring.raise(evaluator, keys, &values, &layout, sine, output, level)?;
            for _ in 1..group.len() {
                let next = evaluator.rotate(&all, self.stride as i64)?;
                sines.push(std::mem::replace(&mut all, next));
            }
            sines.push(all);
        }
        sines.into_iter().map(|sine| self.whole(sine)).collect()
    }

    /// A vector of one period, or of fewer blocks, repeated over all blocks, every slot a value: what is
    /// computed is told by slots until the [`mask`](Self::mask).
    pub(crate) fn whole(&self, x: Ciphertext) -> Result<Ciphertext> {
        let slots = self.stride * self.together;
        Ok(x.repeated(slots)?.with_len(slots)?)
    }

    /// 1 where a value is right, and 0 elsewhere.
    pub(crate) fn mask(&self) -> Vec<f64> {
        let right = |slot: usize| slot < self.stride && slot % self.period < self.rows;
        (0..self.stride * self.together).map(|slot| f64::from(u8::from(right(slot)))).collect()
    }

    /// What stands under the [`mask`](Self::mask) in all blocks, as a vector of one period.
    pub(crate) fn spread(&self, evaluator: &ckks::Evaluator, x: &Ciphertext) -> Result<Ciphertext> {
        let (lattice, mut meta) =
            evaluator.inner_sum(x, self.together, self.stride as i64)?.into_parts();
        (meta.slots, meta.len) = (self.period, self.rows);
        Ok(Ciphertext::from_parts(evaluator.params(), lattice, meta)?)
    }
}
