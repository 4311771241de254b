//! Analytic functions, signs and comparisons of full vectors in CKKS: Table 2 of Full-RNS HEAAN
//! (Cheon, Han, Kim, Kim and Song, SAC 2018), and further polynomials of certified error.
//!
//! Smooth functions run in a ring of degree 2^14, as in the paper; comparisons, and the sigmoid
//! that other libraries measure, in a ring of degree 2^15. The parameters have 128-bit security;
//! those of the paper (Core i5 at 2.9 GHz, 55-bit primes, 281-bit modulus, errors of 32 bits
//! claimed) have 80 bits.

use std::process::ExitCode;
use std::time::Instant;

use bellerophon::{
    circuits::approx::{Approximation, Function, Known, Sign},
    ckks::{LevelGroup, ModulusChain, ParamsSpec, Security},
    prelude::*,
};
use common::function::declared_results;
use common::prelude::*;
use rand::RngExt;
use rand_chacha::ChaCha20Rng;

/// The one preset: a set of `N = 2^14` with 7 primes for functions, and `W1` for comparisons.
const PRESET: &str = "analytic";

/// Runs of each function, whose median is reported; one with `--small`.
const RUNS: usize = 5;

/// Margin and error of the comparison.
const MARGIN: f64 = 1.0 / 256.0;

/// Evaluates analytic functions and comparisons on encrypted vectors
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,
}

/// What is known of a row before it runs.
struct Row {
    function: String,
    domain: [f64; 2],
    degree: usize,
    levels: usize,
    relinearisations: usize,
    certified: f64,
    /// Milliseconds in the paper, if it has the function.
    paper_ms: Option<f64>,
}

fn main() -> ExitCode {
    let defaults = Defaults { presets: &[PRESET], threads: Some(1) };
    program::report(defaults, |arguments: &Arguments, _| measure(arguments.common.small))
}

/// A client and its server over one parameter set, and what they measured.
struct Bench {
    session: Session,
    /// The generator of the values.
    rng: ChaCha20Rng,
    runs: usize,
    rows: Vec<Facts>,
    /// Seconds of the functions, and the values of all rows.
    seconds: f64,
    expected: Vec<f64>,
    found: Vec<f64>,
}

impl Bench {
    fn new(slots: ParamsSpec, runs: usize) -> Result<Self, Failure> {
        let params = Params::new(bellerophon::ParamsSpec::arithmetic(PRESET, slots))?;
        let session = Session::open(params, &Needs::new().multiply())?;
        let (rng, rows, expected, found) = (random::seeded(2018), vec![], vec![], vec![]);
        Ok(Self { session, rng, runs, rows, seconds: 0.0, expected, found })
    }

    fn uniform(&mut self, lo: f64, hi: f64) -> Vec<f64> {
        let slots = self.session.params.slots();
        (0..slots).map(|_| self.rng.random_range(lo..=hi)).collect()
    }

    /// Runs a program several times and adds a row with times and errors. The results are declared
    /// in `[least, most]`.
    fn note(
        &mut self,
        row: Row,
        [least, most]: [f64; 2],
        expected: Vec<f64>,
        work: impl Fn(&Evaluator) -> bellerophon::Result<Ciphertext>,
    ) -> Result<(), Failure> {
        let timed = |_| {
            let begin = Instant::now();
            let result = work(&self.session.server)?;
            Ok((begin.elapsed().as_secs_f64(), result))
        };
        let mut runs = (0..self.runs).map(timed).collect::<Result<Vec<_>, Failure>>()?;
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (seconds, result) = runs.swap_remove(runs.len() / 2);
        // The functions are public, and so are the level and the scale of their results.
        let declared = Declaration::from(least..=most).with_level(result.level());
        let found = self.session.read(&result, declared.with_scale(result.meta().scale))?;
        let errors = Errors::between(&expected, &found);
        let count = expected.len();
        self.seconds += seconds;
        self.expected.extend(expected);
        self.found.extend(found);
        let facts = Facts::default()
            .with("function", row.function)
            .with("domain", row.domain)
            .with("ring_degree", self.session.params.ckks().lattice().spec().degree)
            .with("slots", count)
            .with("degree", row.degree)
            .with("levels", row.levels)
            .with("relinearisations", row.relinearisations)
            .with("eval_s", seconds)
            .with("us_per_slot", seconds * 1e6 / count as f64)
            .with("error_bits_worst", errors.max_bits())
            .with("error_bits_mean", errors.mean_bits())
            .with("certified_bits", -row.certified.log2())
            .with("paper_ms", row.paper_ms);
        self.rows.push(facts);
        Ok(())
    }

    fn function(
        &mut self,
        f: &Function,
        plan: &Approximation,
        paper: Option<f64>,
    ) -> Result<(), Failure> {
        let domain = [plan.domain().lo(), plan.domain().hi()];
        let values = self.uniform(domain[0], domain[1]);
        let expected: Vec<f64> = values.iter().map(|&x| f.value(x)).collect();
        let x = self.session.encrypt(&values, domain[0]..=domain[1], plan.levels())?;
        let row = Row {
            function: plan.name().to_string(),
            degree: plan.degree(),
            levels: plan.levels(),
            relinearisations: plan.relinearizations(),
            certified: plan.error(),
            domain,
            paper_ms: paper,
        };
        let declared = declared_results(domain, |x| f.value(x));
        self.note(row, declared, expected, |server| server.apply(&x, plan))
    }

    /// Which of two numbers of [0, 1] is larger, and the larger one: a quarter of the pairs differ
    /// by just the margin.
    fn comparisons(&mut self, sign: &Sign) -> Result<(), Failure> {
        let (x, mut y) = (self.uniform(0.0, 1.0), self.uniform(0.0, 1.0));
        for (i, (x, y)) in x.iter().zip(&mut y).enumerate() {
            let close = (*x - *y).abs() < sign.threshold();
            if i % 4 == 0 || close {
                *y = if *x < 0.5 { x + sign.threshold() } else { x - sign.threshold() };
            }
        }
        let larger: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x.max(*y)).collect();
        let greater: Vec<f64> = x.iter().zip(&y).map(|(x, y)| f64::from(x > y)).collect();
        let levels = sign.levels() + 1;
        let cx = self.session.encrypt(&x, 0.0..=1.0, levels)?;
        let cy = self.session.encrypt(&y, 0.0..=1.0, levels)?;
        let row = |function: &str, levels: usize, certified: f64| Row {
            function: function.to_string(),
            degree: sign.degrees().iter().product(),
            levels,
            relinearisations: sign.relinearizations() + levels - sign.levels(),
            certified,
            domain: [0.0, 1.0],
            paper_ms: None,
        };
        let (compared, most) = (0.5 * sign.error(), 0.5 * sign.magnitude_error());
        // Both results lie in [0, 1] but for their errors.
        let declared = [-0.25, 1.25];
        let compared = row("x > y", sign.levels(), compared);
        self.note(compared, declared, greater, |e| e.greater(&cx, &cy, sign))?;
        self.note(row("max(x, y)", levels, most), declared, larger, |e| e.max(&cx, &cy, sign))
    }
}

fn measure(small: bool) -> Result<Facts, Failure> {
    let runs = if small { 1 } else { RUNS };
    // 50 + 6 x 45 bits and two special primes of 50: 420 of the 430 bits that 2^14 allows.
    let chain = ModulusChain {
        degree: 1 << 14,
        first_bits: 50,
        levels: vec![LevelGroup::single(45, 6)],
        special: (50, 2),
    };
    let spec = ParamsSpec::from_chain(&chain, 45, Security::Bits128)?;
    let mut smooth = Bench::new(spec, runs)?;
    let all = [
        (Function::from(Known::Inverse), 0.5, 1.5, 27.0, Some(167.0)),
        (Function::from(Known::Exp), -1.0, 1.0, 27.0, Some(164.0)),
        (Function::from(Known::Sigmoid), -1.0, 1.0, 27.0, Some(161.0)),
        (Function::from(Known::Sigmoid), -8.0, 8.0, 16.0, None),
        (Function::from(Known::Tanh), -4.0, 4.0, 16.0, None),
        (Function::from(Known::Sqrt), 0.125, 2.0, 16.0, None),
        (Function::from(Known::InverseSqrt), 0.125, 2.0, 12.0, None),
        (Function::from(Known::Ln), 0.25, 4.0, 16.0, None),
        (Function::from(Known::Gelu), -4.0, 4.0, 14.0, None),
    ];
    for (f, lo, hi, bits, paper) in all {
        smooth.function(&f, &Approximation::new(&f, lo, hi, Accuracy::bits(bits))?, paper)?;
    }
    let mut deep = Bench::new(ParamsSpec::w1()?, runs)?;
    let sigmoid = Function::from(Known::Sigmoid);
    for degree in [31, 63] {
        let plan = Approximation::of_degree(&sigmoid, -8.0, 8.0, degree)?;
        deep.function(&sigmoid, &plan, None)?;
    }
    deep.comparisons(&Sign::new(1.0, MARGIN, Accuracy::absolute(MARGIN))?)?;

    let params = smooth.session.params.ckks();
    let fresh = params.limbs() * params.lattice().spec().degree * 2 * size_of::<u64>();
    let (expected, found) =
        ([smooth.expected, deep.expected].concat(), [smooth.found, deep.found].concat());
    let sessions = [&smooth.session, &deep.session];
    let security = sessions.map(|session| session.params.security_bits());
    let keygen = sessions.map(|session| session.stages.seconds(&[output::KEY_GENERATION]));
    let errors = Errors::between(&expected, &found);
    let report = Report {
        security_bits: security[0].min(security[1]),
        engine: "ckks".to_string(),
        keygen_s: keygen.iter().sum(),
        eval_s: smooth.seconds + deep.seconds,
        eval_key_bytes: sessions.map(|session| session.key_bytes).iter().sum(),
        ciphertext_bytes: fresh as u64,
        ..Report::of(expected.len(), PRESET, &Stages::default(), &errors)
    };
    Ok(Facts::of(report).rows("rows", smooth.rows.into_iter().chain(deep.rows)))
}
