//! Table 2: analytic functions, by the polynomials that the paper takes.

use bellerophon::Result;
use bellerophon::circuits::{CircuitOps, chebyshev::Chebyshev, polynomial::Polynomial};
use bellerophon::ckks::{CkksOps, Evaluator};
use common::{program::Failure, stats::Errors};

use super::page::{HEAAN, Table, ms};
use super::params;
use crate::measure::Bench;
use crate::world::World;

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

const EXP: [f64; 8] =
    [1.0, 1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0];
const SIGMOID: [f64; 8] = [0.5, 0.25, 0.0, -1.0 / 48.0, 0.0, 1.0 / 480.0, 0.0, -17.0 / 80640.0];

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
        polynomial: |x| taylor(&EXP, x),
        function: f64::exp,
        paper: 164.0,
    },
    Task {
        name: "sigmoid",
        domain: [-0.25, 0.25],
        sign: 1,
        shift: 0.0,
        degree: 7,
        polynomial: |x| taylor(&SIGMOID, x),
        function: crate::engines::sigmoid,
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
        let domain @ [lo, hi] = task.domain;
        let needs =
            World::needs(&params, &domain, domain, |a, x| program(a, x, task, &polynomial))?;
        let mut world = World::new(&params, &needs)?;
        let x = world.values(lo, hi);
        let ct = world.encrypt(&x, domain)?;
        let timed = bench.time(format!("table2/{}", task.name), 1, || {
            program::<Evaluator>(&world.evaluator, &ct, task, &polynomial)
        })?;
        bench.rows.push(timed.row);
        let found = world.decrypt(&timed.last)?;
        let bits = |f: &dyn Fn(f64) -> f64| {
            let expected: Vec<f64> = x.iter().map(|&x| f(x)).collect();
            Errors::between(&expected, &found).max_bits()
        };
        let of_polynomial = bits(&|x| (task.polynomial)(task.sign as f64 * x + task.shift));
        let of_function = bits(&task.function);
        let Task { name, degree, .. } = task;
        let (log2_q, paper, here) = (world.log2_q(), ms(task.paper), ms(timed.ms));
        let each = timed.ms * 1e3 / params.max_slots() as f64;
        let predicted = timed.last.metadata().estimate(&params, -20.0).bits();
        rows.push(format!(
            "{name} | [{lo}, {hi}] | {degree} | {log2_q} | {paper} | {here} | {each:.1} | \
             {predicted:.1} | {of_polynomial:.1} | {of_function:.1}"
        ));
    }
    Ok(Table::new(
        HEAAN,
        "table2",
        "Table 2: analytic functions of 2^13 values, N = 2^14, one thread",
        "function | domain | degree | log2 Q | paper, ms | this library, ms | a value, us | bits \
         predicted | bits of the polynomial, worst slot | bits of the function, worst slot",
        rows,
    ))
}
