//! Any function of an encrypted column of numbers: by look-up, by a polynomial, or by functional
//! bootstrapping.
//!
//! The client encrypts a column of any length (generated, a column of iris, or
//! `--csv FILE --column NAME`). The server applies the function to every value: by programmable
//! bootstrapping of each value (`rgsw`, PEGASUS, or `ntru`), by a polynomial of certified error on
//! all values at once (`poly`, CKKS), or by functional bootstrapping of up to 65536 values at once
//! (`fbt`). The client decrypts the results and compares them with the exact values.

mod bootstrap;
mod polynomial;

use std::process::ExitCode;

use bellerophon::circuits::approx::Approximation;
use bellerophon::circuits::fbt::PeriodicFunction;
use bellerophon::{Bridge, prelude::*};
use clap::ValueEnum;
use common::args::{parse_range, parse_within};
use common::data::{self, Column};
use common::function::Function;
use common::prelude::*;
use common::stats;

/// Number of generated values, and the largest number of values with `--small`.
const GENERATED: usize = 1024;
const SMALL: usize = 64;

const SEED: u64 = 2021;

/// The declared error of a result, in units of the spread of the function's values. An error above
/// half of the largest value is refused at decryption.
const NOISE: f64 = 0.125;

/// Correct bits of values around 1 under the noise of the slots.
const SLOT_NOISE_BITS: f64 = 20.0;

const POLYNOMIAL: &str = "polynomial";
const BOOTSTRAP: &str = "functional bootstrap";

/// The default: the preset that suits the engine.
const AUTO: &str = "auto";

const WITH_SERIES: [&str; 2] = [Preset::Smooth.name(), Preset::Insecure(Toy::Smooth).name()];

/// More values than this take functional bootstrapping if the choice is free. A look-up takes tens
/// of milliseconds per value; a functional bootstrap of up to 65536 values takes as long as a few
/// hundred look-ups.
const MANY: usize = 512;

/// Applies a function to an encrypted column and compares with exact values
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    data: Data,

    /// The function
    #[arg(long, value_name = "NAME", default_value = "relu")]
    function: Function,

    /// Its domain, which must contain all values, is declared for them and becomes public [default:
    /// -8,8; -4,4 for exp and sin, 0.5,16.5 for reciprocal]
    #[arg(long, value_name = "LO,HI", value_parser = parse_range, allow_hyphen_values = true)]
    range: Option<[f64; 2]>,

    /// The engine that evaluates the function
    #[arg(long, value_name = "NAME", default_value = "auto")]
    engine: Engine,

    /// The bridge between slots and tables
    #[arg(long, value_name = "NAME", default_value = "auto")]
    bridge: Way,

    /// Require absolute errors of at most 2^-B: a polynomial, a series or a corrected look-up of
    /// that precision, or a refusal that names the reachable error; without it, a plain table
    /// suffices
    #[arg(long, value_name = "B", value_parser = |text: &str| parse_within(text, 1.0..=30.0))]
    bits: Option<f64>,

    /// Tables of degree 2^LOG instead of the preset's: larger ones are slower and more precise
    #[arg(long, value_name = "LOG", value_parser = clap::value_parser!(u32).range(11..=14))]
    degree: Option<u32>,

    /// Number of values to generate, uniform in the domain, if no column is read [default: 1024]
    #[arg(long, value_name = "N", conflicts_with_all = ["csv", "column"])]
    count: Option<usize>,
}

/// The engine that evaluates a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// A polynomial if the function is smooth on the domain and --bits allow it; otherwise
    /// functional bootstrapping for more than 512 values, and tables for fewer
    Auto,
    /// A Chebyshev polynomial of certified error, on all slots at once
    Poly,
    /// Functional bootstrapping: a Fourier series of known error, on up to 65536 values at once
    Fbt,
    /// Programmable bootstrapping of each value by blind rotation with RGSW keys
    Rgsw,
    /// The same with NTRU keys
    Ntru,
}

impl Engine {
    /// The engine of the tables, if there are any.
    fn of_tables(self) -> bellerophon::Engine {
        match self {
            Self::Ntru => bellerophon::Engine::Ntru,
            _ => bellerophon::Engine::Rgsw,
        }
    }
}

/// The bridges between slots and tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Way {
    /// The cheaper bridge that the preset has
    Auto,
    /// The ring bridge, through the ring of the tables
    Ring,
    /// The linear bridge of PEGASUS, Fig. 6: a key switch per value to LWE, a linear transform back
    Linear,
}

impl Way {
    /// The bridge, if one is named.
    fn bridge(self) -> Option<Bridge> {
        match self {
            Self::Auto => None,
            Self::Ring => Some(Bridge::Ring),
            Self::Linear => Some(Bridge::Linear),
        }
    }
}

/// The requested preset, or else `usual`, with tables of the requested degree.
fn parameters(arguments: &Arguments, usual: Preset, count: usize) -> Result<Params, Failure> {
    let preset = match arguments.common.preset.as_str() {
        AUTO => usual,
        _ => arguments.common.preset()?,
    };
    let Some(log) = arguments.degree else { return session::params_for_vectors(preset, count) };
    let mut spec = preset.spec()?;
    if let Some(lookup) = &mut spec.lookup {
        let preset = lookup.ring_degree.trailing_zeros();
        lookup.ring_degree = 1 << log;
        if log > preset {
            // More coordinates to switch and smaller cells take the smallest digits.
            let bits = lookup.key_switch_base_log as usize * lookup.key_switch_digits;
            (lookup.key_switch_base_log, lookup.key_switch_digits) = (1, bits);
        }
        if log < preset {
            // The sparse secret of the ring bridge needs the degree of the preset.
            spec.ring_bridge = None;
        }
    }
    Params::new(spec).map_err(Failure::input)
}

/// The computation, and its exact results.
struct Task {
    column: Column,
    function: Function,
    range: [f64; 2],
    expected: Vec<f64>,
}

impl Task {
    /// The largest magnitude of the function on the domain, at least 1.
    fn unit(&self) -> f64 {
        let [lo, hi] = self.range;
        let at = |i: u32| self.function.value(lo + (hi - lo) * f64::from(i) / 1000.0).abs();
        (0..=1000).map(at).fold(1.0, f64::max)
    }
}

/// The means of the computation, and the predicted error.
struct Plan {
    params: Params,
    means: Means,
    /// The predicted largest error of all values together.
    bound: f64,
    /// The level of the encryption.
    level: usize,
}

enum Means {
    Polynomial(Box<Approximation>),
    Series(Box<PeriodicFunction>),
    Table,
    /// A corrected look-up: the requested accuracy in the units of the library, and the degree of
    /// the correction.
    Corrected(f64, usize),
}

fn main() -> ExitCode {
    let presets: Vec<_> = [AUTO].into_iter().chain(WITH_LOOKUPS).chain(WITH_SERIES).collect();
    program::report(Defaults::of(&presets), |arguments: &Arguments, console| {
        output::check_out(arguments.data.out.as_deref(), arguments.data.csv.as_deref())?;
        let task = prepare(arguments)?;
        let plan = plan(arguments, &task)?;
        compute(arguments, &task, &plan, console)
    })
}

/// Reads or generates the values and checks them. All errors of the user are found here.
fn prepare(arguments: &Arguments) -> Result<Task, Failure> {
    let function = arguments.function;
    let range = arguments.range.unwrap_or(match function {
        Function::Exp | Function::Sin => [-4.0, 4.0],
        Function::Sqrt => [-8.0, 8.0],
        function => function.default_range(),
    });
    function.check_range(range).map_err(Failure::Input)?;
    let small = arguments.common.small;
    let count = arguments.common.size(arguments.count, SMALL, GENERATED);
    let own = |count| data::generated(range, count, SEED);
    let column = data::load_or(&arguments.data, small.then_some(SMALL), count, own)?;
    column.check_within(range)?;
    let expected = column.values.iter().map(|&v| function.value(v)).collect();
    Ok(Task { column, function, range, expected })
}

/// Plans the requested engine, and refuses impossible requests before any key is made.
///
/// The free choice is a polynomial if the function is smooth and the polynomial precise enough;
/// otherwise functional bootstrapping for many values and tables for few, or whichever is precise
/// enough.
fn plan(arguments: &Arguments, task: &Task) -> Result<Plan, Failure> {
    use Engine::{Auto, Fbt, Ntru, Poly, Rgsw};
    let plan = |engine: Engine| match engine {
        Poly => polynomial(arguments, task),
        Fbt => series(arguments, task),
        _ => table(arguments, task),
    };
    let many = task.column.values.len() > MANY;
    let smooth = polynomial::is_smooth(task.function, task.range);
    // Near a jump the error of a series is half the jump.
    let jumps = task.function == Function::Sign;
    let [first, second, third] = match arguments.engine {
        Auto if WITH_SERIES.contains(&arguments.common.preset.as_str()) => return plan(Fbt),
        // Both options apply to tables only.
        Auto if arguments.degree.is_some() || arguments.bridge != Way::Auto => {
            return plan(Rgsw);
        }
        Auto if smooth && many => [Poly, Fbt, Rgsw],
        Auto if smooth => [Poly, Rgsw, Fbt],
        Auto if many && !jumps => [Fbt, Rgsw, Poly],
        Auto => [Rgsw, Fbt, Poly],
        named @ (Poly | Fbt | Rgsw | Ntru) => return plan(named),
    };
    plan(first).or_else(|why| plan(second).or_else(|_| plan(third)).map_err(|_| why))
}

fn polynomial(arguments: &Arguments, task: &Task) -> Result<Plan, Failure> {
    let Task { column, function, range: range @ [lo, hi], .. } = task;
    let params = parameters(arguments, Preset::Functions, column.values.len())?;
    let wanted = arguments.bits.map_or(f64::INFINITY, |bits| (-bits).exp2());
    let plan = polynomial::best(*function, *range, &params).map_err(Failure::Input)?;
    let bound = plan.error() + task.unit() * (-SLOT_NOISE_BITS).exp2();
    if bound > wanted {
        let name = function.name();
        return Err(Failure::input(format!(
            "the best polynomial of {name} on [{lo:?}, {hi:?}] has an error of {bound:.1e}: \
             request fewer --bits"
        )));
    }
    let level = plan.levels() + polynomial::SPARE;
    Ok(Plan { params, bound, level, means: Means::Polynomial(plan.into()) })
}

fn series(arguments: &Arguments, task: &Task) -> Result<Plan, Failure> {
    let Task { column, function, range, .. } = task;
    if arguments.degree.is_some() || arguments.bridge != Way::Auto {
        return Err(Failure::input(
            "--degree and --bridge apply to tables only: leave them out with fbt",
        ));
    }
    let count = column.values.len();
    let params = parameters(arguments, Preset::Smooth, count)?;
    let known = polynomial::known(*function, *range);
    let wanted = match arguments.bits {
        Some(bits) => bootstrap::Wanted::Bits(bits),
        None => bootstrap::Wanted::Best { most: task.unit() / 16.0 },
    };
    let planned = bootstrap::Series::plan(&known, *range, &params, count, wanted)?;
    let level = params.functional().map_err(Failure::input)?.input_level();
    let bootstrap::Series { function, bound } = planned;
    Ok(Plan { params, bound, level, means: Means::Series(function.into()) })
}

/// Plans a table, corrected if an accuracy is requested.
fn table(arguments: &Arguments, task: &Task) -> Result<Plan, Failure> {
    let Task { column, function, range: [lo, hi], .. } = task;
    let (domain, f) = (*lo..=*hi, |v: f64| function.value(v));
    let count = column.values.len();
    let params = parameters(arguments, Preset::Functions, count)?;
    let lookups = params.lookups().map_err(Failure::input)?;
    let (level, level_to_correct) = (lookups.levels(), lookups.level_to_correct());
    let engine = arguments.engine.of_tables();
    let request = MapRequest::new(f).over(domain).engines([engine]);
    let (request, level) = match arguments.bits {
        None => {
            let bridge = arguments.bridge.bridge();
            (bridge.into_iter().fold(request, MapRequest::bridge), level)
        }
        Some(_) if arguments.bridge == Way::Linear => {
            return Err(Failure::input(
                "--bits: the linear bridge is too noisy for the correction: take --bridge ring",
            ));
        }
        Some(bits) => {
            let level = level_to_correct.min(params.levels());
            (request.typical(Accuracy::bits(bits)).level(level), level)
        }
    };
    let plan = params.map_plan(&request).map_err(Failure::input)?;
    // With probability 95%.
    let bound = plan.accuracy().expect("a plan of tables").max_abs(count);
    let order = plan.prediction().and_then(|tables| tables.order).unwrap_or(0);
    let means = arguments.bits.map_or(Means::Table, |bits| Means::Corrected(bits, order));
    Ok(Plan { params, means, bound, level })
}

fn compute(
    arguments: &Arguments,
    task: &Task,
    plan: &Plan,
    console: &Console,
) -> Result<Facts, Failure> {
    let Task { column, function, range, expected } = task;
    // Step 1: the keys of the engine.
    let bridge = arguments.bridge.bridge();
    let tables = Needs::new().map_with([arguments.engine.of_tables()]);
    let needs = match plan.means {
        Means::Polynomial(_) => Needs::new().multiply(),
        Means::Series(_) => Needs::new().functional(),
        Means::Table => bridge.into_iter().fold(tables, Needs::bridge),
        Means::Corrected(..) => tables.map_with([bellerophon::Engine::Corrected]),
    };
    let degree = plan.params.lookups().ok().map(|lookups| lookups.lwe_params().spec().ring_degree);
    let mut session = Session::open(plan.params.clone(), &needs)?;
    // Step 2: encryption, evaluation and decryption.
    let got = match &plan.means {
        Means::Series(series) => bootstrapped(&mut session, task, plan, series)?,
        _ => in_slots(&mut session, task, plan, arguments.engine.of_tables())?,
    };

    // Step 3: the report.
    let errors = Errors::between(expected, &got);
    let (engine, polynomial, order) = match &plan.means {
        Means::Polynomial(plan) => ("poly", Some(plan.to_string()), None),
        Means::Series(series) => ("fbt", Some(bootstrap::describe(series)), None),
        Means::Table => (session.engine(), None, Some(0)),
        Means::Corrected(_, order) => (session.engine(), None, Some(*order)),
    };
    let right = [stats::close(expected, &got, plan.bound), 1.0];
    output::write_out(arguments.data.out.as_deref(), &column.values, expected, &got)?;
    console.values(&column.values, expected, &got);
    // `predicted_max_err` bounds the errors of all values with probability 95%. `polynomial` says
    // the polynomial or the series in words. `order` is the degree of the correction of a look-up,
    // 0 for a plain table; only tables have it, a bridge and a degree.
    let facts = session
        .outcome(&function.name(), got.len(), engine, &errors, right)
        .with("max_err_bits", errors.max_bits())
        .with("mean_err_bits", errors.mean_bits())
        .with("range", range)
        .with("predicted_max_err", plan.bound)
        .with("polynomial", polynomial)
        .with("order", order)
        .with("bits", arguments.bits)
        .with("bridge", order.map(|_| bridge.map_or(AUTO, Bridge::name)))
        .with("degree", order.and(degree));
    Ok(column.named(facts))
}

/// Applies the function to values in slots, one vector after the other.
fn in_slots(
    session: &mut Session,
    task: &Task,
    plan: &Plan,
    tables: bellerophon::Engine,
) -> Result<Vec<f64>, Failure> {
    let Task { column, function, range: [lo, hi], .. } = task;
    let vectors: Vec<&[f64]> = column.values.chunks(session.params.slots()).collect();
    let table = MapRequest::new(|v| function.value(v)).over(*lo..=*hi).engines([tables]);
    let table = match plan.means {
        Means::Corrected(bits, _) => table.typical(Accuracy::bits(bits)),
        _ => table,
    };
    let [least, most] = function.declared_results(task.range);
    let declared = Declaration::from(least..=most).with_noise(NOISE * (most - least));
    let mut results = vec![];
    for x in session.encrypt_all(&vectors, *lo..=*hi, plan.level)? {
        let y = match &plan.means {
            Means::Polynomial(plan) => {
                session.serve(POLYNOMIAL, |server| server.apply(&x, plan))?
            }
            _ => session.follow(|server| server.map_with(&x, &table))?,
        };
        results.extend(session.read(&y, declared)?);
    }
    Ok(results)
}

/// Applies the function to values in both parts of the slots, one vector after the other.
fn bootstrapped(
    session: &mut Session,
    task: &Task,
    plan: &Plan,
    series: &PeriodicFunction,
) -> Result<Vec<f64>, Failure> {
    let Task { column, function, range: [lo, hi], .. } = task;
    let vectors: Vec<&[f64]> = column.values.chunks(2 * session.params.slots()).collect();
    let [least, most] = function.declared_results(task.range);
    let declared = Declaration::from(least - plan.bound..=most + plan.bound);
    let declared = declared.with_noise(NOISE * (most - least));
    let mut results = vec![];
    for x in session.encrypt_all(&vectors, Paired(*lo..=*hi), plan.level)? {
        let y = session.serve(BOOTSTRAP, |server| server.functions_of(&x, &[series]))?.remove(0);
        let y = session.server.publish_paired(&y, declared)?;
        results.extend(session.decrypt(|client| client.decrypt_paired(&y))?);
    }
    Ok(results)
}
