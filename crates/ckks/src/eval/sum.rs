//! Sums over slots.
//!
//! A sum of `n` rotations doubles or quadruples a window in stages: with
//! `W_m[j] = x[j] + .. + x[j + m - 1]`
//!
//! ```text
//! W_{r m + t} = sum_{i < r} RotL^{i m}(W_m) + sum_{i < t} RotL^{r m + i}(x).
//! ```
//!
//! The rotations of one window share its decomposition, and one mod-down ends each stage (Full-RNS
//! HEAAN, section 5.2, uses the plain doublings of HEAAN's algorithm 2). A stage of radix 4 takes
//! three keys and about three quarters of the time of two doublings; without its keys, doublings
//! replace it.

use bellerophon_ring::Result;

use crate::ciphertext::CiphertextMeta;
#[cfg(doc)]
use crate::composed_ops::ComposedOps;
use crate::error;
use crate::eval::mask::cleared;
use crate::interval::Bounds;
use crate::keys::KeyLevels;
use crate::metadata::Metadata;
use crate::ops::CkksOps;

/// One stage: `radix` windows of length `window`, and `tail` single slots after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stage {
    window: usize,
    radix: usize,
    tail: usize,
}

impl Stage {
    /// The last stage towards `count`, by quarters or by halves.
    fn last(count: usize, radix: usize) -> Self {
        if count < radix {
            return Self { window: 1, radix: count, tail: 0 };
        }
        Self { window: count / radix, radix, tail: count % radix }
    }

    /// Distances of the rotations of the window, and of the operand itself.
    fn distances(
        self,
    ) -> (impl Iterator<Item = usize> + Clone, impl Iterator<Item = usize> + Clone) {
        let Self { window, radix, tail } = self;
        ((1..radix).map(move |i| i * window), (0..tail).map(move |i| radix * window + i))
    }
}

/// The stages of a sum of `count` terms in the order of application. `usable` tells whether a stage
/// of radix 4 has its keys.
fn stages(mut count: usize, usable: impl Fn(Stage) -> bool) -> Vec<Stage> {
    let mut stages = Vec::new();
    while count > 1 {
        let stage = Some(Stage::last(count, 4)).filter(|&stage| usable(stage));
        let stage = stage.unwrap_or_else(|| Stage::last(count, 2));
        count = stage.window;
        stages.push(stage);
    }
    stages.reverse();
    stages
}

impl KeyLevels {
    /// The rotations of [`ComposedOps::inner_sum`] up to `level`.
    #[must_use]
    pub fn inner_sum(mut self, count: usize, stride: i64, level: usize) -> Self {
        for stage in stages(count, |_| true) {
            let (window, single) = stage.distances();
            // The slots are a power of two: steps may wrap around.
            self =
                self.rotate(window.chain(single).map(|d| (d as i64).wrapping_mul(stride)), level);
        }
        self
    }

    /// The rotations of [`ComposedOps::sum_slots`] for vectors of `slots` slots, up to `level`.
    #[must_use]
    pub fn sum_slots(self, slots: usize, level: usize) -> Self {
        self.inner_sum(slots, 1, level)
    }

    /// The rotations of [`ComposedOps::replicate`] up to `level`.
    #[must_use]
    pub fn replicate(self, count: usize, stride: i64, level: usize) -> Self {
        self.inner_sum(count, stride.wrapping_neg(), level)
    }
}

/// The sum of `count` slots at distance `stride`; see [`ComposedOps::inner_sum`].
pub fn inner_sum<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    count: usize,
    stride: i64,
) -> Result<A::Ciphertext> {
    let slots = a.metadata(x).meta.slots;
    if count == 0 || count > slots {
        let what = "slots or blocks to add up";
        return Err(error::count_out_of_range(what, count, 1, slots));
    }
    // Step 1: padding that may not be zero is cleared.
    let x = &*cleared(a, x)?;
    let metadata = a.metadata(x);
    let CiphertextMeta { len, bounds, .. } = metadata.meta;
    // Step 2: the range of the sum is known in advance, tighter than that of the stages added up.
    let bounds = match count {
        1 => bounds,
        // An odd distance reaches all slots; the padding is zero.
        _ if count == slots && stride % 2 != 0 => Bounds::all(bounds.values.scale(len as f64)),
        _ => Bounds::all(bounds.slots().scale(count as f64)),
    };
    let meta = CiphertextMeta { bounds, ..metadata.meta };
    a.params().rules().check_range(&Metadata { meta, ..metadata })?;
    // Step 3: the stages as rotations, radix 4 only where each rotation has a key of its own.
    let step = |distance: usize| {
        (distance as i64 * stride.rem_euclid(slots as i64)).rem_euclid(slots as i64)
    };
    // A stage of radix 4 takes three keys; with a composed rotation it would be slower than two
    // doublings.
    let usable = |stage: Stage| {
        let (window, single) = stage.distances();
        window.chain(single).map(step).all(|step| a.rotates_by(x, step))
    };
    // Step 4: every stage: windows of the sum so far, and single slots of the operand.
    let mut sum = x.clone();
    for stage in stages(count, usable) {
        let (window, single) = stage.distances();
        let window: Vec<i64> = std::iter::once(0).chain(window).map(step).collect();
        let single: Vec<i64> = single.map(step).collect();
        sum = a.sum_of_rotations(&[(&sum, &window), (x, &single)])?;
    }
    // Step 5: the range known in advance replaces that of the stages.
    let meta = CiphertextMeta { bounds, ..a.metadata(&sum).meta };
    Ok(a.with_metadata(sum, meta))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_cover_every_term_once() {
        for usable in [true, false] {
            for count in 1..200 {
                let mut window = vec![0usize];
                for stage in stages(count, |_| usable) {
                    assert_eq!(stage.window, window.len());
                    let (by_window, single) = stage.distances();
                    let first = window.clone();
                    for d in by_window {
                        window.extend(first.iter().map(|t| t + d));
                    }
                    window.extend(single);
                }
                assert_eq!(window, (0..count).collect::<Vec<_>>());
            }
        }
        let steps =
            |count| -> usize { stages(count, |_| true).iter().map(|s| s.radix - 1 + s.tail).sum() };
        assert_eq!((steps(1), steps(2), steps(256), steps(512)), (0, 1, 12, 13));
    }
}
