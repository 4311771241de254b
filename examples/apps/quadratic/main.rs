//! Arithmetic and an arbitrary function of an encrypted column of measurements: the program of the
//! quickstart with options.
//!
//! The client standardises a column (iris, or `--csv FILE --column NAME`) and encrypts it. The
//! server, which never sees a value, computes `v = a x^2 + b x + c` in CKKS, applies any function
//! `f` to every value by look-up, returns the results to a CKKS ciphertext by ring packing, and
//! computes `1 - f(v)`. The client decrypts the result and compares it with the exact values.
//!
//! With `--preset full` the server bootstraps the results, so that they have levels again, and
//! computes `v` and `1 - f(v)` a second time, from them.
//!
//! The server learns the length of the column and two ranges that do not depend on it: the
//! standardised column is declared within `--deviations` of 0, and `v` in the domain of the
//! function (`--range`). The client refuses a column outside these ranges.

mod task;

use std::process::ExitCode;

use bellerophon::{Engine, prelude::*};
use common::prelude::*;
use task::{Arguments, Task};

fn main() -> ExitCode {
    program::report(Defaults::of(&WITH_LOOKUPS), run)
}

/// The protocol: client, server, client.
fn run(arguments: &Arguments, console: &Console) -> Result<Facts, Failure> {
    // The client reads its data and checks them: a domain that no look-up takes is refused before
    // any work.
    let task = Task::prepare(arguments)?;
    let params = session::params(&arguments.common)?;
    let function = task.function;
    let [lo, hi] = task.range;
    let table = MapRequest::new(|v| function.value(v)).over(lo..=hi).engines([Engine::Rgsw]);
    params.map_plan(&table).map_err(Failure::input)?;
    task.column.check_fits(&params)?;

    // The client makes keys and encrypts.
    let needs = match task.refreshes {
        0 => Needs::new().multiply().map(),
        _ => Needs::new().multiply().map().bootstrap(),
    };
    let level = params.levels();
    let mut session = Session::open(params, &needs)?;
    let x = session.encrypt(&task.x.values, -task.deviations..=task.deviations, level)?;

    // The server computes. Its refusals depend on the numbers that the user chose.
    let [least, most] = function.declared_results(task.range);
    let results = 1.0 - most..=1.0 - least;
    let mut z = x;
    for round in 0..=task.refreshes {
        if round > 0 {
            z = session.serve("bootstrapping", |server| refreshed(server, &z, &results))?;
            session.made(&z);
        }
        let v = session.serve("quadratic", |server| quadratic(server, &z, &task))?;
        session.made(&v);
        let y = session.follow(|server| server.map_with(&v, &table))?;
        session.made(&y);
        z = session.serve("1 - y", |server| server.add_scalar(&server.neg(&y)?, 1.0))?;
        session.made(&z);
    }
    // The result leaves the server with the metadata that the program declares, and nothing else.
    // Values are decrypted if their error is below half of their magnitude.
    let declared = Declaration::from(results).with_noise(0.25 * (most - least));

    // The client decrypts and compares.
    let got = session.read(&z, declared)?;
    task.report(&session, &got, arguments, console)
}

/// `a x^2 + b x + c`.
///
/// Interval arithmetic treats the two `x` as independent, so it may derive a range that is too
/// wide. The range of `v` is then a promise of the owner of the data, who has checked every value.
fn quadratic(server: &Evaluator, x: &Ciphertext, task: &Task) -> bellerophon::Result<Ciphertext> {
    let ([a, b, c], [lo, hi]) = (task.quadratic, task.range);
    let square = server.mul_scalar(&server.square(x)?, a)?;
    let v = server.add_scalar(&server.add(&square, &server.mul_scalar(x, b)?)?, c)?;
    if lo <= v.range().lo() && v.range().hi() <= hi {
        return Ok(v);
    }
    server.assume_range(&v, lo..=hi)
}

/// The same values with levels for another round. A bootstrap takes values of `[-1, 1]`: others are
/// divided by the largest magnitude of their declared range before, and multiplied after.
fn refreshed(
    server: &Evaluator,
    z: &Ciphertext,
    declared: &std::ops::RangeInclusive<f64>,
) -> bellerophon::Result<Ciphertext> {
    let largest = declared.start().abs().max(declared.end().abs()).max(1.0);
    // The table's results lie in the declared range, and the error of its index moves none out.
    let z = server.assume_range(z, declared.clone())?;
    if largest == 1.0 {
        return server.bootstrap(&z);
    }
    let unit = server.mul_scalar(&z, 1.0 / largest)?;
    server.mul_scalar(&server.bootstrap(&unit)?, largest)
}
