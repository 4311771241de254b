//! Table 3: mean and variance of `2^13` numbers in one ciphertext.

use bellerophon::Result;
use bellerophon::ckks::{CkksOps, ComposedOps, Evaluator};
use common::program::Failure;

use super::page::{HEAAN, Table, ms};
use super::params;
use crate::measure::Bench;
use crate::world::World;

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

/// Measures both.
pub fn measure(bench: &mut Bench) -> std::result::Result<Table, Failure> {
    let params = params(14, 2)?;
    let (unit, ones) = ([-1.0, 1.0], vec![1.0; params.max_slots()]);
    let of_mean = World::needs(&params, &ones, unit, mean)?;
    let needs = of_mean.and(&World::needs(&params, &ones, unit, variance)?);
    let mut world = World::new(&params, &needs)?;
    let x = world.values(-1.0, 1.0);
    let n = x.len() as f64;
    let true_mean = x.iter().sum::<f64>() / n;
    let true_variance = x.iter().map(|x| x * x).sum::<f64>() / n - true_mean * true_mean;
    let ct = world.encrypt(&x, unit)?;
    let mut rows = Vec::new();
    for (name, paper, truth, program) in [
        ("mean", 307.0, true_mean, mean::<Evaluator> as fn(&_, &_) -> _),
        ("variance", 518.0, true_variance, variance::<Evaluator>),
    ] {
        let timed = bench.time(format!("table3/{name}"), 1, || program(&world.evaluator, &ct))?;
        bench.rows.push(timed.row);
        let found = world.decrypt(&timed.last)?;
        let worst = found.iter().map(|y| (y - truth).abs()).fold(0.0, f64::max);
        let (log_n, log2_q, worst) = (x.len().ilog2(), world.log2_q(), -worst.log2());
        let (paper, here) = (ms(paper), ms(timed.ms));
        let predicted = timed.last.metadata().estimate(&params, -20.0).bits();
        rows.push(format!(
            "{name} | 2^{log_n} | {log2_q} | {paper} | {here} | {predicted:.1} | {worst:.1}"
        ));
    }
    Ok(Table::new(
        HEAAN,
        "table3",
        "Table 3: statistics of one packed ciphertext, N = 2^14, one thread",
        "function | numbers | log2 Q | paper, ms | this library, ms | bits predicted | bits, \
         worst slot",
        rows,
    ))
}
