//! Transforms of one residue polynomial: one prime and one polynomial again and again.

use std::time::Instant;

use bellerophon_ring::{NttTable, aligned::AlignedVec, prime};
use tfhe_ntt::prime64::Plan;

use crate::Row;

/// Samples of each side; a sample is a batch of transforms of about 0.2 milliseconds.
const SAMPLES: usize = 201;
const BATCH_US: f64 = 200.0;

/// `{fwd|inv}/{N}/{bits of the prime}`.
pub fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for direction in ["fwd", "inv"] {
        for degree in [4096, 32768, 65536] {
            for bits in [50, 60] {
                rows.push(compare(direction, degree, bits));
            }
        }
    }
    rows
}

fn compare(direction: &str, degree: usize, bits: u32) -> Row {
    let modulus = prime::ntt_primes_below(degree, bits, 1, &[]).expect("such primes exist")[0];
    let table = NttTable::new(degree, modulus).expect("the prime suits the degree");
    let plan = Plan::try_new(degree, modulus.value()).expect("the prime suits the degree");
    // Aligned to cache lines, for both sides.
    let mut ours = AlignedVec::zeroed(degree);
    for (i, x) in (0u64..).zip(ours.iter_mut()) {
        *x = modulus.reduce(i * i * i);
    }
    let mut theirs = ours.clone();
    let (ours_us, theirs_us) = match direction {
        "fwd" => medians(|| table.forward(&mut ours), || plan.fwd(&mut theirs)),
        // Ours includes the division by N, theirs leaves it to a pass that is not timed here.
        _ => medians(|| table.inverse(&mut ours), || plan.inv(&mut theirs)),
    };
    let name = format!("{direction}/{degree}/{bits}");
    Row { name, ours_us, theirs_us, ratio: ours_us / theirs_us }
}

/// Median microseconds of both, sampled in turn.
fn medians(mut ours: impl FnMut(), mut theirs: impl FnMut()) -> (f64, f64) {
    let batch = (BATCH_US / time(&mut ours, 10)).ceil().max(1.0) as usize;
    let mut samples = [Vec::new(), Vec::new()];
    for _ in 0..SAMPLES {
        samples[0].push(time(&mut ours, batch));
        samples[1].push(time(&mut theirs, batch));
    }
    let [ours, theirs] = samples.map(|mut samples| {
        samples.sort_by(f64::total_cmp);
        samples[SAMPLES / 2]
    });
    (ours, theirs)
}

/// Microseconds of one call, averaged over a batch.
fn time(work: &mut impl FnMut(), batch: usize) -> f64 {
    let start = Instant::now();
    for _ in 0..batch {
        work();
    }
    start.elapsed().as_secs_f64() * 1e6 / batch as f64
}
