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
    ckks::{
        self, Ciphertext, CkksOps, Declaration, Encoder, EvaluationKeys, Evaluator, Interval,
        KeyLevels, LevelGroup, ModulusChain, ParamsSpec, SecretKey, Security, simulator::Simulator,
    },
};
use common::data::{self, Table};
use common::prelude::*;
use common::unit::Unit;
use rand::RngExt;
use rand_chacha::ChaCha20Rng;

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
        Ok(ckks::Params::new(ParamsSpec::from_chain(&chain, log_scale, Security::Bits128)?)?)
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
    let stages = Stages::default();
    let level = params.max_level();
    let needs = fit.training_keys(level).and(&fit.inference_keys(after));
    let mut parties = stages.run(KEY_GENERATION, || Parties::open(&params, &needs))?;

    // The declarations of scores and probabilities, for any table and rows of the shape and the
    // range.
    let simulator = Simulator::new(&params);
    let unit = Interval::real(*UNIT.start(), *UNIT.end())?;
    let any = |level| simulator.encrypt(&vec![0.0; fit.slots()], unit, level);
    let model = fit.train(&simulator, &any(level)?, |_| {})?;
    let foreseen = predictions(&fit, &simulator, &model, &any(after)?)?;
    let [declared_scores, declared_probabilities] = foreseen.each_ref().map(Declaration::from);

    let folds = if arguments.common.small { 1 } else { FOLDS };
    let mut outcome = Outcome::default();
    let mut ciphertext_bytes = 0;
    for fold in 0..folds {
        let (rows, labels, test) = data.fold(fold);
        let test_rows: Vec<Vec<f64>> = test.iter().map(|&row| data.rows[row].clone()).collect();

        // The client.
        let table = parties.encrypt(&fit.pack_training(&rows, &labels)?, level)?;
        ciphertext_bytes = table.lattice().byte_len(params.lattice()) as u64;
        let queries = parties.encrypt(&fit.pack(&test_rows)?, after)?;

        // The server.
        let server = &parties.server;
        let model = stages.run(TRAINING, || fit.train(server, &table, |_| {}))?;
        let [scores, probabilities] =
            stages.run(PREDICTION, || predictions(&fit, server, &model, &queries))?;

        // The client, and the same procedure in the clear.
        let scores = parties.read(&scores, declared_scores)?;
        let probabilities = parties.read(&probabilities, declared_probabilities)?;
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
    let lattice = params.lattice();
    if let Some(path) = &arguments.out {
        write(path, &outcome)?;
    }
    let train_s = stages.seconds(&[TRAINING]);
    let report = Report {
        security_bits: params.security_bits(),
        engine: "ckks".to_string(),
        eval_s: stages.seconds(&[TRAINING, PREDICTION]),
        eval_key_bytes: parties.server.keys().byte_len() as u64,
        ciphertext_bytes,
        ..Report::of(rows.len(), preset.name, &stages, &errors)
    };
    Ok(Facts::of(report)
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
        .seconds("stages", &stages))
}

/// The client and its server on the CKKS scheme alone: a [`Session`] takes parameters that promise
/// correct bits for any program, and these are made for one.
struct Parties {
    secret: SecretKey,
    server: Evaluator,
    rng: ChaCha20Rng,
}

impl Parties {
    fn open(params: &ckks::Params, needs: &KeyLevels) -> Result<Self, Failure> {
        let mut rng = random::fresh()?;
        let secret = SecretKey::generate(params.lattice(), &mut rng)?;
        let keys = EvaluationKeys::generate(params, &secret, needs, &mut rng)?;
        Ok(Self { secret, server: Evaluator::new(params, &keys)?, rng })
    }

    /// The client encrypts values of [`UNIT`] at a level.
    fn encrypt(&mut self, values: &[f64], level: usize) -> ckks::Result<Ciphertext> {
        let params = self.server.params();
        let range = Interval::real(*UNIT.start(), *UNIT.end())?;
        let limbs = params.limbs_at(level);
        let plain = Encoder::new(params).encode(values, range, params.scale(), limbs)?;
        ckks::encrypt(params, &plain, &self.secret, &mut self.rng)
    }

    /// The server publishes a result as the program declares it, and the client decrypts it.
    fn read(&self, result: &Ciphertext, declared: Declaration) -> ckks::Result<Vec<f64>> {
        let published = self.server.publish(result, declared)?;
        ckks::decrypt_values(self.server.params(), published.as_ref(), &self.secret)
    }
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
