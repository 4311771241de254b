//! Logistic regression trained on encrypted data (Full-RNS HEAAN, section 5.3, Table 4).
//!
//! The client scales every feature by its largest magnitude, or centres it first if it is far from
//! zero, as years are. Both stay secret. It packs the training rows into one ciphertext and
//! encrypts it, declared in [-1, 1]. The server, which never sees a value, trains by Nesterov's
//! accelerated gradient without bootstrapping, and scores encrypted test rows with the encrypted
//! model. The client decrypts scores and probabilities. The same procedure on the plain data is the
//! reference.
//!
//! The figures are those of a cross-validation in five folds, as in eprint 2018/254, whose results
//! the paper compares with: every row is a test row once, under a model trained on the other four
//! fifths. Accuracy counts all rows; the AUC is the mean over the folds. A fixed seed shuffles the
//! rows first. `--small` takes one fold only.

use std::path::PathBuf;
use std::process::ExitCode;

use bellerophon::{
    circuits::learning::{LogisticRegression, LogisticSpec, accuracy, area_under_curve},
    ckks::{self, Interval, LevelGroup, ModulusChain, ParamsSpec, Security, simulator::Simulator},
    prelude::*,
};
use common::data::{self, Table};
use common::prelude::*;
use common::unit::Unit;
use rand::RngExt;

const FOLDS: usize = 5;
const TRAINING: &str = "training";
const PREDICTION: &str = "prediction";
/// The seed of the order of the rows, and of the embedded table.
const SEED: u64 = 2018;
/// The range of scaled features, and of their products with labels of -1 and 1, for any table.
const UNIT: std::ops::RangeInclusive<f64> = -1.0..=1.0;

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
    fn params(self, levels: usize) -> Result<Params, Failure> {
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
        let slots = ParamsSpec::from_chain(&chain, log_scale, Security::Bits128)?;
        Ok(Params::new(bellerophon::ParamsSpec::arithmetic(self.name, slots))?)
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
    program::report(Defaults::of(&names), |arguments: &Arguments, _| {
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
    let (mut rows, _) = table.split(place);
    for feature in 0..rows[0].len() {
        let unit = Unit::of_feature(rows.iter().map(|row| row[feature]));
        rows.iter_mut().for_each(|row| row[feature] = unit.enter(row[feature]));
    }
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

/// The results of the test rows: encrypted, and by the same procedure in the clear.
#[derive(Default)]
struct Outcome {
    /// Row numbers, in the order in which they were tested.
    rows: Vec<usize>,
    labels: Vec<bool>,
    encrypted: Scored,
    clear: Scored,
}

/// Scores and probabilities of the rows, and the AUC of each fold.
#[derive(Default)]
struct Scored {
    scores: Vec<f64>,
    probabilities: Vec<f64>,
    auc: Vec<f64>,
}

impl Scored {
    fn add(&mut self, scores: &[f64], probabilities: &[f64], labels: &[bool]) {
        self.scores.extend(scores);
        self.probabilities.extend(probabilities);
        self.auc.push(area_under_curve(scores, labels));
    }

    fn mean_auc(&self) -> f64 {
        self.auc.iter().sum::<f64>() / self.auc.len() as f64
    }
}

/// The protocol: client, server, client, once a fold.
fn compute(arguments: &Arguments, preset: Preset, data: &Data) -> Result<Facts, Failure> {
    let features = data.rows[0].len();
    let iterations = usize::from(arguments.iterations);
    let most = data.labels.len() - data.labels.len() / FOLDS;
    let spec =
        LogisticSpec { iterations, degree: preset.sigmoid, ..LogisticSpec::new(most, features) };
    let fit = LogisticRegression::new(spec).map_err(Failure::input)?;
    let after = LogisticRegression::SCORE_LEVELS + fit.probability_levels();
    let params = preset.params(fit.levels() + after)?;
    if fit.slots() > params.slots() {
        return Err(Failure::input(format!(
            "{}: {most} rows of {features} features take {} slots, but one ciphertext of the \
             preset {} holds {}",
            data.table.source,
            fit.slots(),
            preset.name,
            params.slots()
        )));
    }

    // The client.
    let level = params.levels();
    let needs = Needs::new().keys(&fit.training_keys(level)).keys(&fit.inference_keys(after));
    let mut session = Session::open(params, &needs)?;

    // The declarations of scores and probabilities, for any table and rows of the shape and the
    // range.
    let simulator = Simulator::new(session.params.ckks());
    let unit = Interval::real(*UNIT.start(), *UNIT.end())?;
    let any = |level| simulator.encrypt(&vec![0.0; fit.slots()], unit, level);
    let model = fit.train(&simulator, &any(level)?, |_| {})?;
    let foreseen = predictions(&fit, &simulator, &model, &any(after)?)?;
    let [declared_scores, declared_probabilities] = foreseen.each_ref().map(Declaration::from);

    let folds = if arguments.common.small { 1 } else { FOLDS };
    let mut outcome = Outcome::default();
    for fold in 0..folds {
        let (rows, labels, test) = data.fold(fold);
        let test_rows: Vec<Vec<f64>> = test.iter().map(|&row| data.rows[row].clone()).collect();

        // The client.
        let table = session.encrypt(&fit.pack_training(&rows, &labels)?, UNIT, level)?;
        let queries = session.encrypt(&fit.pack(&test_rows)?, UNIT, after)?;

        // The server.
        let model = session.serve(TRAINING, |server| fit.train(server, &table, |_| {}))?;
        let [scores, probabilities] =
            session.serve(PREDICTION, |server| predictions(&fit, server, &model, &queries))?;

        // The client, and the same procedure in the clear.
        let scores = session.read(&scores, declared_scores)?;
        let probabilities = session.read(&probabilities, declared_probabilities)?;
        let (scores, probabilities) = (&scores[..test.len()], &probabilities[..test.len()]);
        let weights = fit.train_clear(&rows, &labels)?;
        let labels: Vec<bool> = test.iter().map(|&row| data.labels[row]).collect();
        let score = |row: &Vec<f64>| {
            weights[0] + row.iter().zip(&weights[1..]).map(|(x, w)| x * w).sum::<f64>()
        };
        let clear: Vec<f64> = test_rows.iter().map(score).collect();
        let probabilities_clear: Vec<f64> = clear.iter().map(|&s| fit.sigmoid().eval(s)).collect();
        outcome.encrypted.add(scores, probabilities, &labels);
        outcome.clear.add(&clear, &probabilities_clear, &labels);
        outcome.rows.extend(test);
        outcome.labels.extend(labels);
    }

    let Outcome { rows, labels, encrypted, clear } = &outcome;
    let errors = Errors::between(&clear.probabilities, &encrypted.probabilities);
    let lattice = session.params.ckks().lattice();
    if let Some(path) = &arguments.out {
        write(path, &outcome)?;
    }
    let train_s = session.stages.seconds(&[TRAINING]);
    Ok(session
        .report(rows.len(), "ckks", &errors)
        .with("accuracy", accuracy(&encrypted.scores, labels))
        .with("accuracy_clear", accuracy(&clear.scores, labels))
        .with("auc", encrypted.mean_auc())
        .with("auc_clear", clear.mean_auc())
        .with("s_per_iteration", train_s / (folds * iterations) as f64)
        .with("train_s", train_s / folds as f64)
        .with("rows", data.labels.len())
        .with("features", features)
        .with("iterations", iterations)
        .with("folds", folds)
        .with("sigmoid_degree", preset.sigmoid)
        .with("levels", level)
        .with("log2_qp", lattice.q().log2_modulus() + lattice.p().log2_modulus())
        .with("source", &data.table.source)
        .with("label", &data.label)
        .seconds("stages", &session.stages))
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
    let [expected, got] =
        [&outcome.clear, &outcome.encrypted].map(|scored| sorted(&scored.probabilities));
    output::write_out(Some(path), &labels, &expected, &got)
}
