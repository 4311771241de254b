//! Work over limbs on the active rayon pool, where it is large enough to pay.

/// Words from which a cheap pass (additions, products) is spread over threads.
pub(crate) const CHEAP: usize = 1 << 17;
/// Words from which a transform or a base conversion is spread over threads.
pub(crate) const HEAVY: usize = 1 << 14;

/// Calls `f(i, limb)` for every limb of `degree` words of `data`, on several threads if `data`
/// has at least `threshold` words.
pub(crate) fn each_limb(
    data: &mut [u64],
    degree: usize,
    threshold: usize,
    f: impl Fn(usize, &mut [u64]) + Sync + Send,
) {
    #[cfg(feature = "parallel")]
    if data.len() >= threshold && data.len() > degree && rayon::current_num_threads() > 1 {
        use rayon::prelude::*;
        data.par_chunks_mut(degree).enumerate().for_each(|(i, limb)| f(i, limb));
        return;
    }
    let _ = threshold;
    data.chunks_mut(degree).enumerate().for_each(|(i, limb)| f(i, limb));
}
