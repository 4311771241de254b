//! Table 3: mean and variance of `2^13` numbers in one ciphertext.

use std::hint::black_box;

use bellerophon_ckks::{
    CkksOps, ComposedOps, Evaluator, Interval, KeyLevels, Params, Result,
    simulator::{SimCiphertext, Simulator},
};

use super::page::{HEAAN, Table, columns, ms};
use super::world::{World, params};
use crate::figures::measure::Bench;
use common::program::Failure;

/// The mean in every slot: rotations and additions; the scale absorbs the division.
fn mean<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
    let n = a.metadata(x).meta.slots;
    a.reinterpret_scale(a.sum_slots(x)?, 1.0 / n as f64)
}

/// The variance in every slot, `(n sum x^2 - (sum x)^2) / n^2`; the scale absorbs the division.
fn variance<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
    let n = a.metadata(x).meta.slots;
    let sum = a.sum_slots(x)?;
    let squares = a.sum_slots(&a.square(x)?)?;
    let difference = a.sub(&a.mul_integer(&squares, n as i64)?, &a.square(&sum)?)?;
    a.reinterpret_scale(difference, (n as f64).powi(-2))
}

/// The keys of a program on a full vector, found on the simulator.
fn keys(
    params: &Params,
    program: impl Fn(&Simulator, &SimCiphertext) -> Result<SimCiphertext>,
) -> std::result::Result<KeyLevels, Failure> {
    let simulator = Simulator::new(params);
    let unit = Interval::real(-1.0, 1.0)?;
    let x = simulator.encrypt_public(&vec![1.0; params.max_slots()], unit, params.max_level());
    program(&simulator, &x?)?;
    Ok(simulator.report().keys)
}

/// Measures both.
pub fn measure(bench: &mut Bench) -> std::result::Result<Table, Failure> {
    let params = params(14, 2)?;
    let needs = keys(&params, mean)?.and(&keys(&params, variance)?);
    let mut world = World::new(&params, &needs)?;
    let x = world.values(-1.0, 1.0);
    let n = x.len() as f64;
    let true_mean = x.iter().sum::<f64>() / n;
    let true_variance = x.iter().map(|x| x * x).sum::<f64>() / n - true_mean * true_mean;
    let ct = world.encrypt(&x, [-1.0, 1.0])?;
    let mut rows = Vec::new();
    for (name, paper, truth, program) in [
        ("mean", 307.0, true_mean, mean::<Evaluator> as fn(&_, &_) -> _),
        ("variance", 518.0, true_variance, variance::<Evaluator>),
    ] {
        let result = program(&world.evaluator, &ct)?;
        let found = world.decrypt(&result)?;
        let worst = found.iter().map(|y| (y - truth).abs()).fold(0.0, f64::max);
        let time = bench.time(format!("table3/{name}"), 1, || {
            let _ = black_box(program(&world.evaluator, &ct));
        });
        rows.push(vec![
            name.to_string(),
            format!("2^{}", x.len().ilog2()),
            world.log2_q(),
            ms(paper),
            ms(time.median_ms),
            format!("{:.1}", result.metadata().estimate(&params, -20.0).bits()),
            format!("{:.1}", -worst.log2()),
        ]);
    }
    Ok(Table {
        page: HEAAN,
        name: "table3",
        title: "Table 3: statistics of one packed ciphertext, N = 2^14, one thread",
        columns: columns(
            "function | numbers | log2 Q | paper, ms | this library, ms | bits \
             predicted | bits, worst slot",
        ),
        rows,
    })
}
