//! Analytic functions, signs and comparisons of full vectors in CKKS: Table 2 of Full-RNS HEAAN
//! (Cheon, Han, Kim, Kim and Song, SAC 2018), and further polynomials of certified error.
//!
//! Smooth functions run in a ring of degree 2^14, as in the paper; comparisons, and the sigmoid
//! that other libraries measure, in a ring of degree 2^15. The parameters have 128-bit security;
//! those of the paper have less.

use std::process::ExitCode;
use std::time::Instant;

use bellerophon::ckks::{
    self, Ciphertext, CkksOps, ComposedOps, Declaration, Encoder, EvaluationKeys, Evaluator,
    Interval, KeyLevels, LevelGroup, ModulusChain, Params, ParamsSpec, SecretKey, Security,
    approx::{Accuracy, Approximation, Function, Known, Sign},
    decrypt_values, encrypt,
};
use clap::Parser;
use common::args::Common;
use common::console::{Console, Stages};
use common::function::declared_results;
use common::memory::{human, peak_rss_bytes};
use common::output::{self, Report};
use common::program::{self, Defaults, Failure};
use common::stats::Errors;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use serde::Serialize;

const KEY_GENERATION: &str = "key generation";

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

/// A measured function.
#[derive(Debug, Serialize)]
struct Row {
    function: String,
    domain: [f64; 2],
    ring_degree: usize,
    slots: usize,
    degree: usize,
    levels: usize,
    relinearisations: usize,
    eval_s: f64,
    us_per_slot: f64,
    error_bits_worst: f64,
    error_bits_mean: f64,
    certified_bits: f64,
    /// Milliseconds in the paper, if it has the function.
    paper_ms: Option<f64>,
}

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct Analytic {
    #[serde(flatten)]
    report: Report,
    rows: Vec<Row>,
}

fn main() -> ExitCode {
    program::run(Defaults { presets: &[PRESET], threads: Some(1) }, |arguments: &Arguments| {
        let common = &arguments.common;
        let outcome = measure(common.small).map_err(Failure::run)?;
        show(&Console::new(common.json), &outcome);
        if common.json { output::print_json(&outcome) } else { Ok(()) }
    })
}

/// A client and its server over one parameter set.
struct World {
    secret: SecretKey,
    evaluator: Evaluator,
    rng: ChaCha20Rng,
    runs: usize,
    rows: Vec<Row>,
    /// Largest error, sum of errors and number of values over all rows.
    errors: (f64, f64, usize),
}

impl World {
    fn new(spec: ParamsSpec, runs: usize, stages: &mut Stages) -> ckks::Result<Self> {
        let params = Params::new(spec)?;
        let mut rng = ChaCha20Rng::seed_from_u64(2018);
        stages.run(KEY_GENERATION, || {
            let secret = SecretKey::generate(params.lattice(), &mut rng)?;
            let needs = KeyLevels::default().multiply(params.max_level());
            let keys = EvaluationKeys::generate(&params, &secret, &needs, &mut rng)?;
            let evaluator = Evaluator::new(&params, &keys)?;
            Ok(Self { secret, evaluator, rng, runs, rows: vec![], errors: (0.0, 0.0, 0) })
        })
    }

    fn params(&self) -> &Params {
        self.evaluator.params()
    }

    fn uniform(&mut self, lo: f64, hi: f64) -> Vec<f64> {
        let slots = self.params().max_slots();
        (0..slots).map(|_| self.rng.random_range(lo..=hi)).collect()
    }

    /// An encryption at the lowest level that leaves `levels`.
    fn encrypt(
        &mut self,
        values: &[f64],
        levels: usize,
        range: [f64; 2],
    ) -> ckks::Result<Ciphertext> {
        let params = self.params().clone();
        let limbs = params.limbs_at(levels);
        let range = Interval::real(range[0], range[1])?;
        let plain = Encoder::new(&params).encode(values, range, params.scale(), limbs)?;
        encrypt(&params, &plain, &self.secret, &mut self.rng)
    }

    /// Runs a program several times and adds a row with times and errors. The results are declared
    /// in `[least, most]`.
    fn note(
        &mut self,
        row: Row,
        [least, most]: [f64; 2],
        expected: &[f64],
        work: impl Fn(&Evaluator) -> ckks::Result<Ciphertext>,
    ) -> ckks::Result<()> {
        let mut seconds = Vec::new();
        let mut result = None;
        for _ in 0..self.runs {
            let begin = Instant::now();
            result = Some(work(&self.evaluator)?);
            seconds.push(begin.elapsed().as_secs_f64());
        }
        seconds.sort_by(f64::total_cmp);
        let eval_s = seconds[seconds.len() / 2];
        let Some(result) = result else { return Ok(()) };
        // The functions are public, and so are the level and the scale of their results.
        let declared = Declaration::from(least..=most).with_level(result.level());
        let declared = declared.with_scale(result.meta().scale);
        let result = self.evaluator.publish(&result, declared)?;
        let found: Vec<f64> = decrypt_values(self.params(), result.as_ref(), &self.secret)?;
        let errors = Errors::between(expected, &found);
        self.errors.0 = self.errors.0.max(errors.max);
        self.errors.1 += errors.mean * expected.len() as f64;
        self.errors.2 += expected.len();
        self.rows.push(Row {
            ring_degree: self.params().lattice().spec().degree,
            slots: expected.len(),
            eval_s,
            us_per_slot: eval_s * 1e6 / expected.len() as f64,
            error_bits_worst: errors.max_bits(),
            error_bits_mean: errors.mean_bits(),
            ..row
        });
        Ok(())
    }

    fn function(
        &mut self,
        f: &Function,
        plan: &Approximation,
        paper: Option<f64>,
    ) -> ckks::Result<()> {
        let domain = [plan.domain().lo(), plan.domain().hi()];
        let values = self.uniform(domain[0], domain[1]);
        let expected: Vec<f64> = values.iter().map(|&x| f.value(x)).collect();
        let x = self.encrypt(&values, plan.levels(), domain)?;
        let row = Row {
            function: plan.name().to_string(),
            degree: plan.degree(),
            levels: plan.levels(),
            relinearisations: plan.relinearizations(),
            certified_bits: -plan.error().log2(),
            paper_ms: paper,
            ..blank(domain)
        };
        let declared = declared_results(domain, |x| f.value(x));
        self.note(row, declared, &expected, |evaluator| evaluator.apply(&x, plan))
    }

    /// Which of two numbers of [0, 1] is larger, and the larger one: a quarter of the pairs differ
    /// by just the margin.
    fn comparisons(&mut self, sign: &Sign) -> ckks::Result<()> {
        let (x, mut y) = (self.uniform(0.0, 1.0), self.uniform(0.0, 1.0));
        for (i, (x, y)) in x.iter().zip(&mut y).enumerate() {
            let close = (*x - *y).abs() < sign.margin();
            if i % 4 == 0 || close {
                *y = if *x < 0.5 { x + sign.margin() } else { x - sign.margin() };
            }
        }
        let larger: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x.max(*y)).collect();
        let greater: Vec<f64> = x.iter().zip(&y).map(|(x, y)| f64::from(x > y)).collect();
        let levels = sign.levels() + 1;
        let (cx, cy) =
            (self.encrypt(&x, levels, [0.0, 1.0])?, self.encrypt(&y, levels, [0.0, 1.0])?);
        let row = |function: &str, levels: usize, error: f64| Row {
            function: function.to_string(),
            degree: sign.degrees().iter().product(),
            levels,
            relinearisations: sign.relinearizations() + levels - sign.levels(),
            certified_bits: -error.log2(),
            ..blank([0.0, 1.0])
        };
        let (compared, most) = (0.5 * sign.error(), 0.5 * sign.magnitude_error());
        // Both results lie in [0, 1] but for their errors.
        let declared = [-0.25, 1.25];
        let compared = row("x > y", sign.levels(), compared);
        self.note(compared, declared, &greater, |e| e.greater(&cx, &cy, sign))?;
        self.note(row("max(x, y)", levels, most), declared, &larger, |e| e.max(&cx, &cy, sign))
    }
}

fn blank(domain: [f64; 2]) -> Row {
    Row {
        function: String::new(),
        domain,
        ring_degree: 0,
        slots: 0,
        degree: 0,
        levels: 0,
        relinearisations: 0,
        eval_s: 0.0,
        us_per_slot: 0.0,
        error_bits_worst: 0.0,
        error_bits_mean: 0.0,
        certified_bits: 0.0,
        paper_ms: None,
    }
}

fn measure(small: bool) -> ckks::Result<Analytic> {
    let runs = if small { 1 } else { RUNS };
    let mut stages = Stages::default();

    // 50 + 6 x 45 bits and two special primes of 50: 420 of the 430 bits that 2^14 allows.
    let chain = ModulusChain {
        degree: 1 << 14,
        first_bits: 50,
        levels: vec![LevelGroup::single(45, 6)],
        special: (50, 2),
    };
    let spec = ParamsSpec::from_chain(&chain, 45, Security::Bits128)?;
    let mut smooth = World::new(spec, runs, &mut stages)?;
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
    stages.run("functions, N = 2^14", || {
        all.iter().try_for_each(|(f, lo, hi, bits, paper)| {
            smooth.function(f, &Approximation::new(f, *lo, *hi, Accuracy::bits(*bits))?, *paper)
        })
    })?;

    let mut deep = World::new(ParamsSpec::w1()?, runs, &mut stages)?;
    let sigmoid = Function::from(Known::Sigmoid);
    stages.run("sigmoid, N = 2^15", || {
        [31, 63].into_iter().try_for_each(|degree| {
            deep.function(&sigmoid, &Approximation::of_degree(&sigmoid, -8.0, 8.0, degree)?, None)
        })
    })?;
    let accuracy = Accuracy::absolute(MARGIN);
    stages.run("comparison, N = 2^15", || deep.comparisons(&Sign::new(1.0, MARGIN, accuracy)?))?;

    let worlds = [&smooth, &deep];
    let keys = worlds.iter().map(|w| w.evaluator.keys().byte_len() as u64).sum();
    let params = smooth.params();
    let fresh = params.limbs() * params.lattice().spec().degree * 2 * size_of::<u64>();
    let count = smooth.errors.2 + deep.errors.2;
    let security = worlds.iter().map(|w| w.params().lattice().security_bits());
    let report = Report {
        n: count,
        preset: PRESET.to_string(),
        security_bits: security.fold(f64::INFINITY, f64::min),
        engine: "ckks".to_string(),
        keygen_s: stages.seconds(&[KEY_GENERATION]),
        eval_s: worlds.iter().flat_map(|w| &w.rows).map(|row| row.eval_s).sum(),
        max_abs_err: smooth.errors.0.max(deep.errors.0),
        mean_abs_err: (smooth.errors.1 + deep.errors.1) / count as f64,
        eval_key_bytes: keys,
        ciphertext_bytes: fresh as u64,
        peak_rss_bytes: peak_rss_bytes(),
        threads: rayon::current_num_threads(),
    };
    let rows = smooth.rows.into_iter().chain(deep.rows).collect();
    Ok(Analytic { report, rows })
}

/// The report for people.
fn show(console: &Console, outcome: &Analytic) {
    let Analytic { report, rows } = outcome;
    console.say(format_args!(
        "{:.1}-bit security, {} thread(s); errors and certificates in bits after the binary point\n",
        report.security_bits, report.threads
    ));
    console.say(format_args!(
        "{:12} {:>14} {:>6} {:>7} {:>7} {:>7} {:>9} {:>8} {:>7} {:>7} {:>10} {:>9}",
        "function",
        "domain",
        "N",
        "degree",
        "levels",
        "relins",
        "ms",
        "us/slot",
        "worst",
        "mean",
        "certified",
        "paper, ms"
    ));
    for row in rows {
        let domain = format!("[{}, {}]", row.domain[0], row.domain[1]);
        let paper = row.paper_ms.map_or_else(String::new, |ms| ms.to_string());
        console.say(format_args!(
            "{:12} {domain:>14} {:>6} {:>7} {:>7} {:>7} {:>9.1} {:>8.2} {:>7.1} {:>7.1} {:>10.1} \
             {paper:>9}",
            row.function,
            row.ring_degree,
            row.degree,
            row.levels,
            row.relinearisations,
            row.eval_s * 1e3,
            row.us_per_slot,
            row.error_bits_worst,
            row.error_bits_mean,
            row.certified_bits,
        ));
    }
    let peak = report.peak_rss_bytes.map_or_else(|| "unknown".to_string(), human);
    console.say(format_args!(
        "\nkeys {} in {:.2} s; peak memory {peak}; the paper: Core i5 at 2.9 GHz, 55-bit primes, \
         281-bit modulus, 80 bits of security, errors of 32 bits claimed",
        human(report.eval_key_bytes),
        report.keygen_s
    ));
}
