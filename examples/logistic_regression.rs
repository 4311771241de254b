//! Logistic regression trained on encrypted data (Full-RNS HEAAN, section 5.3, Table 4).
//!
//! The client scales every feature by its largest magnitude, or centres it first if it is far from
//! zero, as years are. Both stay secret. It packs the training rows into one ciphertext and encrypts
//! it, declared in [-1, 1]. The server, which never sees a
//! value, trains by Nesterov's accelerated gradient without bootstrapping, and scores encrypted
//! test rows with the encrypted model. The client decrypts scores and probabilities. The same
//! procedure on the plain data is the reference.
//!
//! The figures are those of a cross-validation in five folds, as in eprint 2018/254, whose results
//! the paper compares with: every row is a test row once, under a model trained on the other four
//! fifths. Accuracy counts all rows; the AUC is the mean over the folds. A fixed seed shuffles the
//! rows first. `--small` takes one fold only.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use bellerophon::ckks::{
    self, Ciphertext, CkksOps, Declaration, Encoder, EvaluationKeys, Evaluator, Interval,
    LevelGroup, ModulusChain, ParamsSpec, Published, SecretKey, Security,
    learning::{LogisticRegression, LogisticSpec, accuracy, area_under_curve},
    simulator::Simulator,
};
use clap::Parser;
use common::args::Common;
use common::console::{Console, Stages};
use common::data::{self, Table};
use common::memory::{human, peak_rss_bytes};
use common::output::{self, Report};
use common::program::{self, Defaults, Failure};
use common::random;
use common::stats::Errors;
use common::unit::Unit;
use rand::{RngExt, SeedableRng, rngs::SysRng};
use rand_chacha::ChaCha20Rng;
use serde::Serialize;

const FOLDS: usize = 5;
/// The seed of the order of the rows, and of the embedded table.
const SEED: u64 = 2018;
const KEY_GENERATION: &str = "key generation";

/// Trains a logistic regression on encrypted rows and predicts encrypted rows with it
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Numeric table to read (comma separated, first line = column names) instead of the embedded
    /// one
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Column with the label, 0 or 1 [default: the first column]
    #[arg(long, value_name = "NAME")]
    label: Option<String>,

    /// Write a table of label, expected and got probability, one line per row of the data, in order
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Steps of the gradient descent
    #[arg(long, value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u8).range(1..))]
    iterations: u8,
}

/// The parameter sets, by the ring whose chain has the levels of the training.
#[derive(Debug, Clone, Copy)]
struct Preset {
    name: &'static str,
    degree: usize,
    /// Bits of all primes together that a dense ternary secret allows at 128 bits.
    budget: u32,
    special: (u32, usize),
    /// Degree of the sigmoid's polynomial.
    sigmoid: usize,
}

const PRESETS: [Preset; 2] = [
    Preset { name: "logistic-3", degree: 1 << 15, budget: 867, special: (45, 3), sigmoid: 3 },
    Preset { name: "logistic-7", degree: 1 << 16, budget: 1746, special: (50, 4), sigmoid: 7 },
];

/// Scales that leave enough precision for the weights, and beyond which nothing is gained.
const LOG_SCALES: std::ops::RangeInclusive<u32> = 30..=45;

/// Bits of the first prime beyond the scale: the range of a probability, with a margin.
const HEADROOM: u32 = 6;

impl Preset {
    /// A chain with this many levels, at the largest scale that security allows.
    fn params(self, levels: usize) -> Result<ckks::Params, Failure> {
        let special = self.special.0 * self.special.1 as u32;
        let log_scale = (self.budget - special - HEADROOM) / (levels as u32 + 1);
        if log_scale < *LOG_SCALES.start() {
            return Err(Failure::input(format!(
                "{levels} levels are more than the preset {} has at 128 bits; ask for fewer \
                 --iterations, or for the preset {}",
                self.name, PRESETS[1].name
            )));
        }
        let log_scale = log_scale.min(*LOG_SCALES.end());
        let chain = ModulusChain {
            degree: self.degree,
            first_bits: log_scale + HEADROOM,
            levels: vec![LevelGroup::single(log_scale, levels)],
            special: self.special,
        };
        ParamsSpec::from_chain(&chain, log_scale, Security::Bits128)
            .and_then(ckks::Params::new)
            .map_err(Failure::run)
    }
}

/// Rows scaled to [-1, 1], and their labels.
struct Data {
    table: Table,
    label: String,
    rows: Vec<Vec<f64>>,
    labels: Vec<bool>,
    /// Row numbers, shuffled; fold `k` tests every fifth row from the `k`-th.
    order: Vec<usize>,
}

impl Data {
    /// Rows and labels of the fold: for training, and for tests (their numbers).
    fn fold(&self, fold: usize) -> (Vec<Vec<f64>>, Vec<bool>, Vec<usize>) {
        let test: Vec<usize> = self.order.iter().copied().skip(fold).step_by(FOLDS).collect();
        let train = self.order.iter().enumerate().filter(|(i, _)| i % FOLDS != fold);
        let train: Vec<usize> = train.map(|(_, &row)| row).collect();
        (
            train.iter().map(|&row| self.rows[row].clone()).collect(),
            train.iter().map(|&row| self.labels[row]).collect(),
            test,
        )
    }
}

fn main() -> ExitCode {
    let names = PRESETS.map(|preset| preset.name);
    program::run(Defaults { presets: &names, threads: None }, |arguments: &Arguments| {
        output::check_out(arguments.out.as_deref(), arguments.csv.as_deref())?;
        let named = |preset: &Preset| preset.name == arguments.common.preset;
        let preset = PRESETS.into_iter().find(named).expect("one of the names");
        let data = prepare(arguments)?;
        compute(arguments, preset, &data)
    })
}

/// Reads, scales and checks the data. All errors of the user are found here.
fn prepare(arguments: &Arguments) -> Result<Data, Failure> {
    let table = match &arguments.csv {
        Some(path) => data::load_table(Some(path), &[])?,
        None => embedded(),
    };
    let place = arguments.label.as_deref().map_or(Ok(0), |name| table.place(name))?;
    let source = &table.source;
    if table.names.len() < 2 {
        return Err(Failure::input(format!("{source}: a label and a feature are needed")));
    }
    if table.rows.len() < FOLDS {
        let found = table.rows.len();
        return Err(Failure::input(format!("{source}: {found} rows: need at least {FOLDS}")));
    }
    let labels = table.labels(place)?;
    let features: Vec<usize> = (0..table.names.len()).filter(|&c| c != place).collect();
    let unit = |&c: &usize| Unit::of_feature(table.rows.iter().map(|row| row[c]));
    let units: Vec<Unit> = features.iter().map(unit).collect();
    let scaled =
        |row: &Vec<f64>| features.iter().zip(&units).map(|(&c, unit)| unit.enter(row[c])).collect();
    let rows = table.rows.iter().map(scaled).collect();
    let order = random::shuffled(labels.len(), &mut random::seeded(SEED));
    let data = Data { label: table.names[place].clone(), table, rows, labels, order };
    check_folds(&data)?;
    Ok(data)
}

/// Refuses folds with rows of one label: no model separates them, and no ranking is measured.
fn check_folds(data: &Data) -> Result<(), Failure> {
    for fold in 0..FOLDS {
        let (_, train, test) = data.fold(fold);
        let test = test.iter().map(|&row| data.labels[row]).collect();
        for (what, labels) in [("training", train), ("test", test)] {
            if labels.iter().all(|&label| label == labels[0]) {
                return Err(Failure::input(format!(
                    "{}: the {what} rows of fold {} of {FOLDS} have only one label: take a table \
                     with more rows of the rarer one",
                    data.table.source,
                    fold + 1
                )));
            }
        }
    }
    Ok(())
}

/// 200 rows of six features whose label follows a logistic model, from a fixed seed.
fn embedded() -> Table {
    let weights = [1.5, -2.0, 1.0, 0.5, 0.0, -0.75];
    let mut rng = random::seeded(SEED);
    let rows = (0..200)
        .map(|_| {
            let x: Vec<f64> = weights.iter().map(|_| rng.random_range(-1.0..1.0)).collect();
            let score: f64 = x.iter().zip(weights).map(|(x, w)| 2.0 * w * x).sum();
            let label = rng.random_range(0.0..1.0) < 1.0 / (1.0 + (-score).exp());
            [f64::from(u8::from(label))].into_iter().chain(x).collect()
        })
        .collect();
    let names = ["label", "a", "b", "c", "d", "e", "f"].map(String::from).to_vec();
    Table { source: "generated from a fixed seed".to_string(), names, rows }
}

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct Logistic<'a> {
    #[serde(flatten)]
    report: Report,
    accuracy: f64,
    accuracy_clear: f64,
    auc: f64,
    auc_clear: f64,
    s_per_iteration: f64,
    train_s: f64,
    rows: usize,
    features: usize,
    iterations: usize,
    folds: usize,
    sigmoid_degree: usize,
    levels: usize,
    log2_qp: f64,
    source: &'a str,
    label: &'a str,
    #[serde(serialize_with = "Stages::as_seconds")]
    stages: &'a Stages,
}

/// The results of the test rows: encrypted, and by the same procedure in the clear.
#[derive(Default)]
struct Outcome {
    /// Row numbers, in the order in which they were tested.
    rows: Vec<usize>,
    labels: Vec<bool>,
    scores: Vec<f64>,
    scores_clear: Vec<f64>,
    probabilities: Vec<f64>,
    probabilities_clear: Vec<f64>,
    auc: Vec<f64>,
    auc_clear: Vec<f64>,
}

/// The protocol: client, server, client, once a fold.
fn compute(arguments: &Arguments, preset: Preset, data: &Data) -> Result<(), Failure> {
    let console = Console::new(arguments.common.json);
    let features = data.rows[0].len();
    let iterations = usize::from(arguments.iterations);
    let most = data.labels.len() - data.labels.len() / FOLDS;
    let spec =
        LogisticSpec { iterations, degree: preset.sigmoid, ..LogisticSpec::new(most, features) };
    let fit = LogisticRegression::new(spec).map_err(Failure::input)?;
    let after = LogisticRegression::SCORE_LEVELS + fit.probability_levels();
    let params = preset.params(fit.levels() + after)?;
    if fit.slots() > params.max_slots() {
        return Err(Failure::input(format!(
            "{}: {most} rows of {features} features take {} slots, but one ciphertext of the \
             preset {} holds {}",
            data.table.source,
            fit.slots(),
            preset.name,
            params.max_slots()
        )));
    }

    // The client.
    let mut stages = Stages::default();
    let mut rng = ChaCha20Rng::try_from_rng(&mut SysRng).map_err(Failure::run)?;
    let level = params.max_level();
    let spec = fit.training_keys(level).and(&fit.inference_keys(after));
    let (secret, keys) = stages.run(KEY_GENERATION, || -> Result<_, Failure> {
        let secret = SecretKey::generate(params.lattice(), &mut rng).map_err(Failure::run)?;
        let keys = EvaluationKeys::generate(&params, &secret, &spec, &mut rng);
        Ok((secret, keys.map_err(Failure::run)?))
    })?;
    let encoder = Encoder::new(&params);
    let server = Evaluator::new(&params, &keys).map_err(Failure::run)?;
    // Scaled features, and their products with labels of -1 and 1, for any table.
    let unit = Interval::real(-1.0, 1.0).map_err(Failure::run)?;
    let mut encrypt = |values: &[f64], level: usize| -> ckks::Result<Ciphertext> {
        let plain = encoder.encode(values, unit, params.scale(), params.limbs_at(level))?;
        ckks::encrypt(&params, &plain, &secret, &mut rng)
    };

    // The declarations of scores and probabilities, for any table and rows of the shape and the
    // range.
    let simulator = Simulator::new(&params);
    let any = |level| simulator.encrypt(&vec![0.0; fit.slots()], unit, level);
    let model =
        any(level).and_then(|any| fit.train(&simulator, &any, |_| {})).map_err(Failure::run)?;
    let foreseen = any(after).and_then(|rows| predictions(&fit, &simulator, &model, &rows));
    let [declared_scores, declared_probabilities] =
        foreseen.map_err(Failure::run)?.each_ref().map(Declaration::from);

    let folds = if arguments.common.small { 1 } else { FOLDS };
    let mut outcome = Outcome::default();
    let (mut train_s, mut score_s, mut ciphertext_bytes) = (0.0, 0.0, 0);
    for fold in 0..folds {
        let (rows, labels, test) = data.fold(fold);
        let test_rows: Vec<Vec<f64>> = test.iter().map(|&row| data.rows[row].clone()).collect();

        // The client.
        let table = fit.pack_training(&rows, &labels).map_err(Failure::run)?;
        let table = encrypt(&table, level).map_err(Failure::run)?;
        ciphertext_bytes = table.lattice().byte_len(params.lattice()) as u64;
        let packed = fit.pack(&test_rows).map_err(Failure::run)?;
        let queries = encrypt(&packed, after).map_err(Failure::run)?;

        // The server.
        let begin = Instant::now();
        let model =
            stages.run("training", || fit.train(&server, &table, |_| {})).map_err(Failure::run)?;
        train_s += begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        let [scores, probabilities] = stages
            .run("prediction", || predictions(&fit, &server, &model, &queries))
            .map_err(Failure::run)?;
        score_s += begin.elapsed().as_secs_f64();
        let scores = server.publish(&scores, declared_scores).map_err(Failure::run)?;
        let probabilities = server.publish(&probabilities, declared_probabilities);
        let probabilities = probabilities.map_err(Failure::run)?;

        // The client, and the same procedure in the clear.
        let decrypt = |result: &Published| -> Result<Vec<f64>, Failure> {
            let values = ckks::decrypt_values::<f64>(&params, result.as_ref(), &secret);
            let mut values = values.map_err(Failure::run)?;
            values.truncate(test.len());
            Ok(values)
        };
        let (scores, probabilities) = (decrypt(&scores)?, decrypt(&probabilities)?);
        let weights = fit.train_clear(&rows, &labels).map_err(Failure::run)?;
        let score = |row: &Vec<f64>| {
            weights[0] + row.iter().zip(&weights[1..]).map(|(x, w)| x * w).sum::<f64>()
        };
        let clear: Vec<f64> = test_rows.iter().map(score).collect();
        let labels: Vec<bool> = test.iter().map(|&row| data.labels[row]).collect();
        outcome.auc.push(area_under_curve(&scores, &labels));
        outcome.auc_clear.push(area_under_curve(&clear, &labels));
        outcome.probabilities_clear.extend(clear.iter().map(|&s| fit.sigmoid().eval(s)));
        outcome.rows.extend(test);
        outcome.labels.extend(labels);
        outcome.scores.extend(scores);
        outcome.scores_clear.extend(clear);
        outcome.probabilities.extend(probabilities);
    }

    let errors = Errors::between(&outcome.probabilities_clear, &outcome.probabilities);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let lattice = params.lattice();
    let report = Report {
        n: outcome.rows.len(),
        preset: preset.name.to_string(),
        security_bits: params.security_bits(),
        engine: "ckks".to_string(),
        keygen_s: stages.seconds(&[KEY_GENERATION]),
        eval_s: train_s + score_s,
        max_abs_err: errors.max,
        mean_abs_err: errors.mean,
        eval_key_bytes: keys.byte_len() as u64,
        ciphertext_bytes,
        peak_rss_bytes: peak_rss_bytes(),
        threads: rayon::current_num_threads(),
    };
    let result = Logistic {
        accuracy: accuracy(&outcome.scores, &outcome.labels),
        accuracy_clear: accuracy(&outcome.scores_clear, &outcome.labels),
        auc: mean(&outcome.auc),
        auc_clear: mean(&outcome.auc_clear),
        s_per_iteration: train_s / (folds * iterations) as f64,
        train_s: train_s / folds as f64,
        rows: data.labels.len(),
        features,
        iterations,
        folds,
        sigmoid_degree: preset.sigmoid,
        levels: params.max_level(),
        log2_qp: lattice.q().log2_modulus() + lattice.p().log2_modulus(),
        source: &data.table.source,
        label: &data.label,
        stages: &stages,
        report,
    };
    if let Some(path) = &arguments.out {
        write(path, &outcome)?;
    }
    show(&console, &result, &params, &errors);
    if arguments.common.json {
        output::print_json(&result)?;
    }
    Ok(())
}

/// Scores and probabilities of rows under a model.
fn predictions<A: CkksOps>(
    fit: &LogisticRegression,
    a: &A,
    model: &A::Ciphertext,
    rows: &A::Ciphertext,
) -> ckks::Result<[A::Ciphertext; 2]> {
    let scores = fit.scores(a, model, rows)?;
    let probabilities = fit.probabilities(a, &scores)?;
    Ok([scores, probabilities])
}

/// The table of `--out`, in the order of the data.
fn write(path: &std::path::Path, outcome: &Outcome) -> Result<(), Failure> {
    let mut order: Vec<usize> = (0..outcome.rows.len()).collect();
    order.sort_by_key(|&i| outcome.rows[i]);
    let sorted = |values: &[f64]| order.iter().map(|&i| values[i]).collect::<Vec<_>>();
    let labels: Vec<f64> = order.iter().map(|&i| f64::from(u8::from(outcome.labels[i]))).collect();
    let (expected, got) = (sorted(&outcome.probabilities_clear), sorted(&outcome.probabilities));
    output::write_out(path, &labels, &expected, &got)
}

/// The report for people.
fn show(console: &Console, result: &Logistic<'_>, params: &ckks::Params, errors: &Errors) {
    let Logistic { rows, features, iterations, folds, source, label, report, .. } = result;
    console.say(format_args!(
        "logistic regression of '{label}' on {features} features, {rows} rows of {source}"
    ));
    console.say(format_args!(
        "{iterations} iterations of Nesterov's gradient on one ciphertext, sigmoid of degree {}, \
         {folds} of {FOLDS} folds",
        result.sigmoid_degree
    ));
    console.say(format_args!(
        "preset {}: N = {}, {} levels at scale 2^{:.0}, log QP = {:.1}, {:.1}-bit security, {} \
         thread(s)\n",
        report.preset,
        params.lattice().spec().degree,
        result.levels,
        params.scale().log2(),
        result.log2_qp,
        report.security_bits,
        report.threads
    ));
    console.say(format_args!("{:12} {:>12} {:>12}", "", "encrypted", "clear"));
    console.say(format_args!(
        "{:12} {:>11.2}% {:>11.2}%",
        "accuracy",
        100.0 * result.accuracy,
        100.0 * result.accuracy_clear
    ));
    console.say(format_args!("{:12} {:>12.4} {:>12.4}", "AUC", result.auc, result.auc_clear));
    console.say(format_args!(
        "\nprobabilities: error at most {:.3e} ({:.1} bits), mean {:.3e} ({:.1} bits)",
        errors.max,
        errors.max_bits(),
        errors.mean,
        errors.mean_bits()
    ));
    console.say(format_args!(
        "training {:.2} s per model, {:.2} s per iteration; keys {:.2} s, {}; table {}",
        result.train_s,
        result.s_per_iteration,
        report.keygen_s,
        human(report.eval_key_bytes),
        human(report.ciphertext_bytes)
    ));
    let peak = report.peak_rss_bytes.map_or_else(|| "unknown".to_string(), human);
    console.say(format_args!("peak memory {peak}"));
}
