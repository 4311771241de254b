//! Table 2: analytic functions, by the polynomials that the paper takes.

use bellerophon::circuits::CircuitOps;
use std::hint::black_box;

use bellerophon::circuits::{chebyshev::Chebyshev, polynomial::Polynomial};
use bellerophon_ckks::{CkksOps, Interval, Result, simulator::Simulator};

use super::page::{HEAAN, Table, columns, ms};
use super::world::{World, params};
use crate::figures::measure::Bench;
use common::{program::Failure, stats::Errors};

/// One row: the argument of the polynomial as a function of `x`, the function, and the paper's
/// milliseconds.
struct Task {
    name: &'static str,
    domain: [f64; 2],
    /// The argument of the polynomial is `sign x + shift`.
    sign: i64,
    shift: f64,
    degree: usize,
    polynomial: fn(f64) -> f64,
    function: fn(f64) -> f64,
    paper: f64,
}

const TASKS: [Task; 3] = [
    // 1/x = 1/(1 - y) = (1 + y)(1 + y^2)(1 + y^4)(1 + y^8) with y = 1 - x (HEAAN, algorithm 2).
    Task {
        name: "1/x",
        domain: [0.75, 1.25],
        sign: -1,
        shift: 1.0,
        degree: 15,
        polynomial: |y| (1.0 + y) * (1.0 + y.powi(2)) * (1.0 + y.powi(4)) * (1.0 + y.powi(8)),
        function: |x| 1.0 / x,
        paper: 167.0,
    },
    Task {
        name: "exp",
        domain: [-0.25, 0.25],
        sign: 1,
        shift: 0.0,
        degree: 7,
        polynomial: |x| {
            taylor(
                &[1.0, 1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0],
                x,
            )
        },
        function: f64::exp,
        paper: 164.0,
    },
    Task {
        name: "sigmoid",
        domain: [-0.25, 0.25],
        sign: 1,
        shift: 0.0,
        degree: 7,
        polynomial: |x| {
            taylor(&[0.5, 0.25, 0.0, -1.0 / 48.0, 0.0, 1.0 / 480.0, 0.0, -17.0 / 80640.0], x)
        },
        function: |x| 1.0 / (1.0 + (-x).exp()),
        paper: 161.0,
    },
];

fn taylor(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// The program, on ciphertexts or on plain vectors.
fn program<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    task: &Task,
    polynomial: &Polynomial,
) -> Result<A::Ciphertext> {
    let y = a.add_scalar(&a.mul_integer(x, task.sign)?, task.shift)?;
    a.polynomial(&y, polynomial, None)
}

/// Measures the three functions on every slot.
pub fn measure(bench: &mut Bench) -> std::result::Result<Table, Failure> {
    let params = params(14, 4)?;
    let mut rows = Vec::new();
    for task in &TASKS {
        let polynomial = Chebyshev::interpolate(task.polynomial, -1.0, 1.0, task.degree);
        let polynomial = Polynomial::new(polynomial);
        // The keys and the precision, before any key is generated.
        let simulator = Simulator::new(&params);
        let [lo, hi] = task.domain;
        let range = Interval::real(lo, hi)?;
        let any = simulator.encrypt_public(&task.domain, range, params.max_level());
        program(&simulator, &any?, task, &polynomial)?;
        let mut world = World::new(&params, &simulator.report().keys)?;
        let x = world.values(lo, hi);
        let ct = world.encrypt(&x, task.domain)?;
        let run = || program(&world.evaluator, &ct, task, &polynomial);
        let result = run()?;
        let found = world.decrypt(&result)?;
        let slots = params.max_slots();
        let time = bench.time(format!("table2/{}", task.name), 1, || {
            let _ = black_box(run());
        });
        let time = time.median_ms;
        let bits = |f: fn(f64) -> f64, shift: fn(&Task, f64) -> f64| {
            let expected: Vec<f64> = x.iter().map(|&x| f(shift(task, x))).collect();
            format!("{:.1}", Errors::between(&expected, &found).max_bits())
        };
        rows.push(vec![
            task.name.to_string(),
            format!("[{lo}, {hi}]"),
            task.degree.to_string(),
            world.log2_q(),
            ms(task.paper),
            ms(time),
            format!("{:.1}", time * 1e3 / slots as f64),
            format!("{:.1}", result.metadata().estimate(&params, -20.0).bits()),
            bits(task.polynomial, |task, x| task.sign as f64 * x + task.shift),
            bits(task.function, |_, x| x),
        ]);
    }
    Ok(Table {
        page: HEAAN,
        name: "table2",
        title: "Table 2: analytic functions of 2^13 values, N = 2^14, one thread",
        columns: columns(
            "function | domain | degree | log2 Q | paper, ms | this library, ms \
             | a value, us | bits predicted | bits of the polynomial, worst slot | bits of the \
             function, worst slot",
        ),
        rows,
    })
}
