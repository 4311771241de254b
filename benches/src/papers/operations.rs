//! Table 1: time per operation.

use std::hint::black_box;

use bellerophon_ckks::{
    CkksOps, Encoder, Interval, KeyLevels, Params, decrypt_values, encrypt_public,
    paper::FullRnsHeaan,
};

use super::page::{HEAAN, Table, columns, ms};
use super::world::World;
use crate::figures::measure::Bench;
use common::program::Failure;

/// The sets, and the paper's milliseconds: Enc, Dec, Add, Cmult, Mult & RS.
const PAPER: [(FullRnsHeaan, [f64; 5]); 3] = [
    (FullRnsHeaan::Depth5, [31.0, 4.6, 2.9, 25.0, 85.0]),
    (FullRnsHeaan::Depth10, [58.0, 7.8, 4.3, 44.0, 164.0]),
    (FullRnsHeaan::Depth15, [177.0, 10.0, 15.5, 125.0, 563.0]),
];

/// Measures the operations of every set, or of the smallest only.
pub fn measure(bench: &mut Bench) -> Result<Table, Failure> {
    let mut rows = Vec::new();
    for (set, paper) in PAPER.into_iter().take(if bench.is_small() { 1 } else { PAPER.len() }) {
        let levels = set.depth();
        let params = set.spec().and_then(Params::new)?;
        let mut world = World::new(&params, &KeyLevels::default().multiply(levels))?;
        let times = times(bench, &mut world, levels)?;
        let degree = format!("2^{}", set.degree().ilog2());
        let security = set.security_bits().to_string();
        let set = [levels.to_string(), degree, world.log2_q(), security];
        let cells = |who: &str, times: &[f64]| -> Vec<String> {
            let set = set.iter().cloned().chain([who.to_string()]);
            set.chain(times.iter().map(|&t| ms(t))).collect()
        };
        rows.push(cells("paper", &paper));
        rows.push(cells("this library", &times));
    }
    Ok(Table {
        page: HEAAN,
        name: "table1",
        title: "Table 1: milliseconds of one operation, one thread",
        columns: columns(
            "L | N | log2 Q | bits of security today |  | Enc | Dec | Add | \
             Cmult | Mult & RS",
        ),
        rows,
    })
}

fn times(
    bench: &mut Bench,
    world: &mut World,
    levels: usize,
) -> bellerophon_ckks::Result<[f64; 5]> {
    let (x, y) = (world.values(-1.0, 1.0), world.values(-1.0, 1.0));
    let (cx, cy) = (world.encrypt(&x, [-1.0, 1.0])?, world.encrypt(&y, [-1.0, 1.0])?);
    let World { params, secret, public, evaluator, rng } = world;
    let encoder = Encoder::new(params);
    let unit = Interval::real(-1.0, 1.0)?;
    let plain = encoder.encode(&x, unit, params.scale(), params.limbs())?;
    let low = evaluator.drop_to_level(&cx, 0)?;
    // An operation that works once works in the loop.
    evaluator.mul(&cx, &cy)?;
    let mut time = |what: &str, operation: &mut dyn FnMut()| {
        bench.time(format!("table1/L{levels}/{what}"), 1, operation).median_ms
    };
    Ok([
        time("encrypt", &mut || {
            let _ = black_box(encrypt_public(params, &plain, public, rng));
        }),
        time("decrypt", &mut || {
            let _ = black_box(decrypt_values::<f64>(params, &low, secret));
        }),
        time("add", &mut || {
            let _ = black_box(evaluator.add(&cx, &cy));
        }),
        time("mul_scalar", &mut || {
            let _ = black_box(evaluator.mul_scalar(&cx, 0.7));
        }),
        time("mul_rescale", &mut || {
            let _ = black_box(evaluator.mul(&cx, &cy));
        }),
    ])
}
