//! Repeated squaring through every level at module rank 1, 2 and 4 (DPad-HE, section 5, RQ4).
//!
//! The client encrypts a vector in all slots at the highest level of a set of Table 5 of the paper.
//! The server squares it until no level is left. Products are relinearized directly or at the
//! temporary rank of the paper; the rank stays the same, or is halved as soon as the remaining
//! modulus is as secure at half the rank. The client decrypts after every product and compares each
//! slot with the exact square of its input: values vanish by squaring, and with them the errors of
//! earlier levels, so that the final error alone says nothing about the ranks. The last products
//! have the largest errors, since every squaring doubles the deviation of the scale from the
//! primes.

use bellerophon::ckks::{
    self, Ciphertext, CkksOps, Complex64, Encoder, EvaluationKeys, Evaluator, Interval, KeyLevels,
    Params, ParamsSpec, RankReduction, SecretKey,
};
use bellerophon::mlwe::{self, RankStep, RelinStrategy, Security, paper::DPad, rank_schedule};
use clap::{Parser, ValueEnum};
use common::args::Common;
use common::console::{Console, Stages};
use common::memory::{human, peak_rss_bytes};
use common::output::{self, Report};
use common::program::{Defaults, Failure};
use rand::{RngExt, SeedableRng, rngs::StdRng, rngs::SysRng};
use serde::Serialize;

/// The one preset: the paper's sets.
const PRESET: &str = "dpad";

/// Bits of the scale, which are those of the primes of the rescale.
const LOG_SCALE: u32 = 40;

/// The largest magnitude of a value.
const LARGEST: f64 = 0.9;

/// Levels with `--small`.
const SMALL_LEVELS: usize = 11;

/// Products whose precision is averaged.
const PRODUCTS: u32 = 8;

const KEY_GENERATION: &str = "key generation";
const REDUCING: &str = "rank reduction";
const SQUARING: &str = "squaring";

/// Squares an encrypted vector through all levels at several module ranks
#[derive(Debug, Parser)]
#[command(version)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Sets of Table 5 of the paper, with commas between [default: I,II,III, or II under --small]
    #[arg(long, value_name = "SETS", value_delimiter = ',')]
    set: Vec<Set>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "UPPER")]
enum Set {
    I,
    Ii,
    Iii,
    Iv,
    V,
    Vi,
}

impl Set {
    fn paper(self) -> DPad {
        match self {
            Self::I => DPad::SetI,
            Self::Ii => DPad::SetII,
            Self::Iii => DPad::SetIII,
            Self::Iv => DPad::SetIV,
            Self::V => DPad::SetV,
            Self::Vi => DPad::SetVI,
        }
    }
}

/// One run through all levels.
#[derive(Debug, Serialize)]
struct Row {
    set: &'static str,
    /// The rank at the highest level.
    rank: usize,
    strategy: &'static str,
    rank_reduction: bool,
    /// The ranks of the run, each with the level from which on it was used.
    ranks: Vec<(usize, usize)>,
    levels: usize,
    slots: usize,
    /// Seconds of squarings and rank reductions.
    seconds_total: f64,
    seconds_per_multiplication: f64,
    seconds_reducing: f64,
    keygen_s: f64,
    /// Seeded and packed, for all ranks.
    key_bytes: u64,
    ciphertext_bytes: u64,
    /// `-log2` of the largest error that a product, with the rank reduction before it, adds in a
    /// slot, over all levels.
    error_bits_worst: f64,
    /// `-log2` of the largest error that the first product adds in a slot, before scales drift.
    multiplication_bits_worst: f64,
    /// Mean of `-log2` of the errors of slots after the first product.
    multiplication_bits_mean: f64,
    /// The paper's measure, the mean over products of fresh vectors of `-log2` of the l2
    /// norm of the error: of the message polynomial, per coefficient (the norm divided by
    /// `sqrt(n)`). The paper does not say which norm it takes. Its figures, 33.9 and 33.4, are
    /// within a bit of what rounding alone leaves by this one, 34.6 at `N = 2^15`; in slots, or not
    /// divided, rounding leaves 29 and 27.
    multiplication_bits_l2: f64,
    /// The smallest security over all keys, by the tables of the library.
    security_bits: f64,
    /// Whether it is insecure: the paper's sets miss 128 bits, some of them narrowly.
    security: &'static str,
    /// Largest and mean error that a product adds in a slot.
    #[serde(skip)]
    errors: (f64, f64),
}

#[derive(Serialize)]
struct Json<'a> {
    #[serde(flatten)]
    report: Report,
    rows: &'a [Row],
}

/// The defaults of the common flags.
pub const DEFAULTS: Defaults<'_> = Defaults { presets: &[PRESET], threads: Some(1) };

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let small = arguments.common.small;
    let console = Console::new(arguments.common.json);
    let sets = match (&arguments.set[..], small) {
        ([], true) => vec![Set::Ii],
        ([], false) => vec![Set::I, Set::Ii, Set::Iii],
        (sets, _) => sets.to_vec(),
    };
    let mut rows = vec![];
    for set in sets.into_iter().map(Set::paper) {
        let strategies: &[_] = if set.rank() == 1 { &["rank1"] } else { &["direct", "dpad"] };
        for &strategy in strategies {
            let reductions: &[_] = if set.rank() == 1 { &[false] } else { &[false, true] };
            for &reduce in reductions {
                let row = measure(set, strategy, reduce, small)?;
                describe(&console, &row);
                rows.push(row);
            }
        }
    }
    let sum = |part: fn(&Row) -> f64| rows.iter().map(part).sum::<f64>();
    let largest = |part: fn(&Row) -> f64| rows.iter().map(part).fold(0.0, f64::max);
    let report = Report {
        n: rows.iter().map(|row| row.slots).sum(),
        preset: PRESET.into(),
        security_bits: rows.iter().map(|row| row.security_bits).fold(f64::INFINITY, f64::min),
        engine: "ckks of module rank".into(),
        keygen_s: sum(|row| row.keygen_s),
        eval_s: sum(|row| row.seconds_total),
        max_abs_err: largest(|row| row.errors.0),
        mean_abs_err: sum(|row| row.errors.1) / rows.len() as f64,
        eval_key_bytes: rows.iter().map(|row| row.key_bytes).max().unwrap_or(0),
        ciphertext_bytes: rows.iter().map(|row| row.ciphertext_bytes).max().unwrap_or(0),
        peak_rss_bytes: peak_rss_bytes(),
        threads: rayon::current_num_threads(),
    };
    if arguments.common.json { output::print_json(&Json { report, rows: &rows }) } else { Ok(()) }
}

/// A rank with its keys, and the rank reduction from the rank before.
struct Stage {
    evaluator: Evaluator,
    secret: SecretKey,
    reduction: Option<RankReduction>,
}

/// A set at one of its ranks, with products by the requested strategy. Below the set's own rank,
/// DPad chooses its temporary rank by its work.
fn params(set: DPad, step: &RankStep, strategy: &str) -> Result<Params, Failure> {
    let lattice = step.spec.clone();
    let params = Params::new(ParamsSpec { lattice, widths: vec![], log_scale: LOG_SCALE });
    let params = params.map_err(Failure::run)?;
    let lattice = params.lattice();
    let route = if strategy != "dpad" {
        Ok(RelinStrategy::direct(lattice))
    } else if step.rank == set.rank() {
        let paper = set.relin_strategy().map_err(Failure::run)?;
        RelinStrategy::new(
            lattice,
            1,
            Some((paper.raised().spec().rank, paper.raised().spec().p.clone())),
        )
    } else {
        RelinStrategy::choose(lattice, lattice.q().limbs())
    };
    params.relinearizing(route.map_err(Failure::run)?).map_err(Failure::run)
}

/// The ranks of a run, highest first.
fn schedule(set: DPad, reduce: bool, small: bool) -> Result<Vec<RankStep>, Failure> {
    let full = mlwe::Params::new(set.spec().map_err(Failure::run)?).map_err(Failure::run)?;
    // As secure at every rank as the set itself.
    let mut steps = rank_schedule(&full, Security::Insecure);
    if !reduce {
        steps.truncate(1);
    }
    for step in &mut steps {
        if small {
            step.limbs = step.limbs.min(SMALL_LEVELS + 1);
            step.spec.q.truncate(step.limbs);
        }
    }
    Ok(steps)
}

/// Secrets and keys of all ranks.
fn stages(
    set: DPad,
    steps: &[RankStep],
    strategy: &str,
    rng: &mut StdRng,
) -> Result<Vec<Stage>, Failure> {
    let mut stages: Vec<Stage> = vec![];
    for step in steps {
        let params = params(set, step, strategy)?;
        let (reduction, secret) = match stages.last() {
            None => {
                let secret = SecretKey::generate(params.lattice(), rng);
                (None, secret.map_err(Failure::run)?)
            }
            Some(above) => {
                let from = above.evaluator.params();
                let made = RankReduction::generate(from, &above.secret, &params, rng);
                let (reduction, secret) = made.map_err(Failure::run)?;
                (Some(reduction), secret)
            }
        };
        let spec = KeyLevels::default().multiply(params.max_level());
        let keys = EvaluationKeys::generate(&params, &secret, &spec, rng).map_err(Failure::run)?;
        let evaluator = Evaluator::new(&params, &keys).map_err(Failure::run)?;
        stages.push(Stage { evaluator, secret, reduction });
    }
    Ok(stages)
}

fn key_bytes(stage: &Stage) -> usize {
    let lattice = stage.evaluator.params().lattice();
    let reduction = stage.reduction.as_ref().map(|r| r.key().key().seeded_byte_len(lattice));
    stage.evaluator.keys().byte_len() + reduction.unwrap_or(0)
}

fn security_bits(stage: &Stage) -> f64 {
    let params = stage.evaluator.params();
    params.lattice().security_bits().min(params.relin_strategy().raised().security_bits())
}

/// The lowest level of a stage: the next stage begins there.
fn last_level(stages: &[Stage], at: usize) -> usize {
    stages.get(at + 1).map_or(0, |next| next.evaluator.params().max_level())
}

/// The range of all values.
fn declared() -> Result<Interval, Failure> {
    Interval::real(-LARGEST, LARGEST).map_err(Failure::run)
}

/// The slots, also where the values have vanished below the noise.
fn decrypt(stage: &Stage, ct: &Ciphertext) -> Result<Vec<f64>, Failure> {
    ckks::decrypt_noisy(stage.evaluator.params(), ct, &stage.secret).map_err(Failure::run)
}

/// The square, at the default scale again, and the factor that this changes its message by: the
/// deviation of the primes from the scale doubles with every squaring, and forty of them leave the
/// range of `f64`.
fn squared(stage: &Stage, ct: &Ciphertext) -> Result<(Ciphertext, f64), Failure> {
    let square = stage.evaluator.square(ct).map_err(Failure::run)?;
    let factor = square.meta().scale / stage.evaluator.params().scale();
    Ok((stage.evaluator.reinterpret_scale(square, factor).map_err(Failure::run)?, factor))
}

/// For each product, the errors of all slots against the exact squares of the slots before.
fn errors(stages: &[Stage], fresh: &Ciphertext) -> Result<Vec<Vec<f64>>, Failure> {
    let (mut ct, mut values) = (fresh.clone(), decrypt(&stages[0], fresh)?);
    let mut errors = vec![];
    for (at, stage) in stages.iter().enumerate() {
        if let Some(reduction) = &stage.reduction {
            ct = reduction.apply(&ct).map_err(Failure::run)?;
        }
        while ct.level() > last_level(stages, at) {
            let (square, factor) = squared(stage, &ct)?;
            let squares = decrypt(stage, &square)?;
            let error = |(y, x): (&f64, &f64)| (y - x * x * factor).abs();
            errors.push(squares.iter().zip(&values).map(error).collect());
            ct = square;
            values = squares;
        }
    }
    Ok(errors)
}

/// Mean of `-log2` of the l2 norm of the errors of products, per coefficient.
fn l2_bits(stage: &Stage, rng: &mut StdRng) -> Result<f64, Failure> {
    let params = stage.evaluator.params();
    let (slots, encoder) = (params.max_slots(), Encoder::new(params));
    let range = declared()?;
    let mut sum = 0.0;
    for _ in 0..PRODUCTS {
        let mut draw = || -> Result<(Vec<f64>, Ciphertext), Failure> {
            let x: Vec<f64> = (0..slots).map(|_| rng.random_range(-LARGEST..LARGEST)).collect();
            let plain = encoder.encode(&x, range, params.scale(), params.limbs());
            let plain = plain.map_err(Failure::run)?;
            let ct = ckks::encrypt(params, &plain, &stage.secret, rng).map_err(Failure::run)?;
            Ok((x, ct))
        };
        let ((x, cx), (y, cy)) = (draw()?, draw()?);
        let product = stage.evaluator.mul(&cx, &cy).map_err(Failure::run)?;
        let found: Vec<Complex64> =
            ckks::decrypt_values(params, &product, &stage.secret).map_err(Failure::run)?;
        let expected = x.iter().zip(&y).map(|(x, y)| x * y);
        let squares: f64 = found.iter().zip(expected).map(|(z, m)| (z - m).norm_sqr()).sum();
        // Slots and their conjugates are n times the square of the coefficients.
        let coefficients = 2.0 * squares / params.lattice().spec().degree as f64;
        sum -= 0.5 * (coefficients / params.lattice().spec().degree as f64).log2();
    }
    Ok(sum / f64::from(PRODUCTS))
}

fn measure(set: DPad, strategy: &'static str, reduce: bool, small: bool) -> Result<Row, Failure> {
    let mut clock = Stages::default();
    let mut rng = StdRng::try_from_rng(&mut SysRng).map_err(Failure::run)?;
    let steps = schedule(set, reduce, small)?;
    let stages = clock.run(KEY_GENERATION, || stages(set, &steps, strategy, &mut rng))?;
    let first = &stages[0];
    let params = first.evaluator.params();
    let levels = params.max_level();
    let values: Vec<f64> =
        (0..params.max_slots()).map(|_| rng.random_range(-LARGEST..LARGEST)).collect();
    let plain = Encoder::new(params).encode(&values, declared()?, params.scale(), params.limbs());
    let plain = plain.map_err(Failure::run)?;
    let fresh = ckks::encrypt(params, &plain, &first.secret, &mut rng).map_err(Failure::run)?;
    let product = first.evaluator.square(&fresh).map_err(Failure::run)?;

    let (mut ct, mut ranks) = (fresh.clone(), vec![(set.rank(), levels)]);
    for (at, stage) in stages.iter().enumerate() {
        if let Some(reduction) = &stage.reduction {
            ranks.push((reduction.to().lattice().spec().rank, ct.level()));
            ct = clock.run(REDUCING, || reduction.apply(&ct)).map_err(Failure::run)?;
        }
        let last = last_level(&stages, at);
        ct = clock.run(SQUARING, || {
            (last..ct.level()).try_fold(ct, |ct, _| Ok(squared(stage, &ct)?.0))
        })?;
    }
    let after_one = decrypt(first, &product)?;
    let after_one = after_one.iter().zip(&values).map(|(y, x)| (y - x * x).abs());
    let errors = errors(&stages, &fresh)?;
    let largest = |errors: &[f64]| errors.iter().copied().fold(0.0, f64::max);
    let worst = errors.iter().map(|errors| largest(errors)).fold(0.0, f64::max);
    let mean = errors.iter().flatten().sum::<f64>() / (errors.len() * values.len()) as f64;
    // An error of zero counts as one rounding of f64.
    let bits = |error: f64| -error.max(f64::EPSILON).log2();
    let seconds_total = clock.seconds(&[SQUARING, REDUCING]);
    Ok(Row {
        set: set.name(),
        rank: set.rank(),
        strategy,
        rank_reduction: reduce,
        ranks,
        levels,
        slots: values.len(),
        seconds_total,
        seconds_per_multiplication: clock.seconds(&[SQUARING]) / levels as f64,
        seconds_reducing: clock.seconds(&[REDUCING]) + 0.0,
        keygen_s: clock.seconds(&[KEY_GENERATION]),
        key_bytes: stages.iter().map(key_bytes).sum::<usize>() as u64,
        ciphertext_bytes: fresh.lattice().byte_len(params.lattice()) as u64,
        error_bits_worst: bits(worst),
        multiplication_bits_worst: bits(largest(&errors[0])),
        multiplication_bits_mean: after_one.map(bits).sum::<f64>() / values.len() as f64,
        multiplication_bits_l2: l2_bits(first, &mut rng)?,
        security_bits: stages.iter().map(security_bits).fold(f64::INFINITY, f64::min),
        security: "insecure",
        errors: (worst, mean),
    })
}

fn describe(console: &Console, row: &Row) {
    let ranks: Vec<String> =
        row.ranks.iter().map(|(rank, level)| format!("{rank} from level {level}")).collect();
    console.say(format_args!(
        "{} {}, rank {}: {} squarings in {:.2} s, {:.1} ms each, {:.2} s for reductions; keys {}; \
         {:.1} bits in the worst slot of a product, {:.1} of the first; {:.1} after it on \
         average, {:.1} by the l2 norm; {:.0}-bit security (insecure)",
        row.set,
        row.strategy,
        ranks.join(", "),
        row.levels,
        row.seconds_total,
        1e3 * row.seconds_per_multiplication,
        row.seconds_reducing,
        human(row.key_bytes),
        row.error_bits_worst,
        row.multiplication_bits_worst,
        row.multiplication_bits_mean,
        row.multiplication_bits_l2,
        row.security_bits.floor(),
    ));
}
