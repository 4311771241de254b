//! Ring packing of several tables of the same values in one vector.
//!
//! Packing several tables takes little longer than packing one. Each table gets a block of slots;
//! rotations move one block after the other to the first. The rotated vectors are right in the
//! first block and arbitrary in the others. At the end of a computation a mask clears the other
//! blocks, and the first is spread over all.

use bellerophon_circuits::eval_mod::Mod1Output;
use bellerophon_ckks as ckks;
use bellerophon_ckks::vectors::Vectors;
use bellerophon_ckks::{Ciphertext, CkksOps, ComposedOps, KeyLevels};
use bellerophon_lwe as lwe;
use bellerophon_ring::Result;

use crate::{
    linear_bridge::layout::Layout,
    ring_bridge::{bridge::RingBridge, keys::RingBridgeKeys, reduction::Reduction},
};

/// The blocks of several tables in one vector.
pub(crate) struct Blocks {
    /// Values per table.
    rows: usize,
    /// Slots of a vector of that many values, which repeats in a block.
    period: usize,
    /// Slots per block.
    stride: usize,
    /// Tables per vector, a power of two.
    together: usize,
}

/// Slots of the smallest block: four blocks fill the smallest CoeffsToSlots.
fn least_stride(ring: &RingBridge) -> usize {
    ring.spec().degree / 8
}

impl Blocks {
    /// The rotation keys, at a level, for any number of values.
    pub(crate) fn keys(ring: &RingBridge, params: &ckks::Params, level: usize) -> KeyLevels {
        let steps = std::iter::successors(Some(least_stride(ring)), |step| Some(2 * step));
        let steps = steps.take_while(|&step| step < params.max_slots());
        KeyLevels::default().rotate(steps.map(|step| step as i64), level)
    }

    /// The blocks for `tables` tables of the values of a vector: as many per vector as slots and
    /// rotation keys allow.
    pub(crate) fn new(
        evaluator: &ckks::Evaluator,
        ring: &RingBridge,
        x: &Ciphertext,
        tables: usize,
        level: usize,
    ) -> Self {
        // Step 1: the smallest block that holds the values and that CoeffsToSlots supports.
        let (rows, period, params) = (x.len(), x.meta().slots, evaluator.params());
        let stride = period.max(least_stride(ring));
        let keys = evaluator.keys().galois_keys();
        let has = |step: usize| {
            let spec = KeyLevels::default().rotate([step as i64], level);
            spec.automorphisms(params)
                .into_iter()
                .all(|(exponent, limbs)| keys.covers(exponent, limbs))
        };
        // Step 2: blocks are added as long as there are slots and the rotation that separates them.
        let most = tables.next_power_of_two().min(params.max_slots() / stride);
        let mut together = 1;
        while together < most && has(together * stride) {
            together *= 2;
        }
        Self { rows, period, stride: if together > 1 { stride } else { period }, together }
    }

    /// Packs all tables at a level and a scale: the sines of their phases, one vector per table,
    /// which is right in its first block.
    pub(crate) fn lwe_to_slots(
        &self,
        evaluator: &ckks::Evaluator,
        ring: &RingBridge,
        keys: &RingBridgeKeys,
        tables: &[&[lwe::Ciphertext]],
        level: usize,
        scale: f64,
    ) -> Result<Vec<Ciphertext>> {
        let output = Mod1Output { amplitude: 1.0, scale };
        let mut sines = Vec::with_capacity(tables.len());
        for group in tables.chunks(self.together) {
            // Step 1: one packing for all tables of a group, each in its block.
            let values: Vec<&lwe::Ciphertext> = group.iter().copied().flatten().collect();
            let layout = Layout::in_blocks(self.rows, self.period, group.len(), self.stride)?;
            let sine = Reduction::Sine;
            let mut all =
                ring.lwe_to_slots(evaluator, keys, &values, &layout, sine, output, level)?;
            // Step 2: rotations bring every block to the first.
            for _ in 1..group.len() {
                let next = evaluator.rotate(&all, self.stride as i64)?;
                sines.push(std::mem::replace(&mut all, next));
            }
            sines.push(all);
        }
        sines.into_iter().map(|sine| self.whole(evaluator, sine)).collect()
    }

    /// A vector of one period, or of fewer blocks, repeated over all blocks. Every slot counts as a
    /// value until the [`mask`](Self::mask).
    pub(crate) fn whole(&self, evaluator: &ckks::Evaluator, x: Ciphertext) -> Result<Ciphertext> {
        let slots = self.stride * self.together;
        evaluator.with_len(evaluator.repeated(x, slots)?, slots)
    }

    /// 1 in the slots of values in the first block, and 0 elsewhere.
    pub(crate) fn mask(&self) -> Vec<f64> {
        let right = |slot: usize| slot < self.stride && slot % self.period < self.rows;
        (0..self.stride * self.together).map(|slot| f64::from(u8::from(right(slot)))).collect()
    }

    /// Spreads the slots under the [`mask`](Self::mask) over all blocks. Returns a vector of one
    /// period.
    pub(crate) fn spread(&self, evaluator: &ckks::Evaluator, x: &Ciphertext) -> Result<Ciphertext> {
        // The masked blocks are zero, so a sum over all blocks copies the first to each of them.
        let (lattice, mut meta) =
            evaluator.inner_sum(x, self.together, self.stride as i64)?.into_parts();
        (meta.slots, meta.len) = (self.period, self.rows);
        Ciphertext::from_parts(evaluator.params(), lattice, meta)
    }
}
