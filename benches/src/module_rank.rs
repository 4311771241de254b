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

use bellerophon::ckks::vectors::Vectors;
use bellerophon::ckks::{
    self, Ciphertext, CkksOps, Complex64, Encoder, EvaluationKeys, Evaluator, Interval, KeyLevels,
    Params, ParamsSpec, RankReduction, SecretKey,
};
use bellerophon::mlwe::{self, RankStep, RelinStrategy, Security, paper::DPad, rank_schedule};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use common::prelude::*;
use rand::RngExt;
use rand_chacha::ChaCha20Rng;

use crate::measure::Rows;

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

const REDUCING: &str = "rank reduction";
const SQUARING: &str = "squaring";

/// Squares an encrypted vector through all levels at several module ranks
#[derive(Debug, Parser)]
#[command(version)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Sets of Table 5 of the paper, with commas between [default: I,II,III, or II under --small]
    #[arg(long, value_name = "SETS", value_delimiter = ',',
          value_parser = PossibleValuesParser::new(SETS).map(|name| named(&name)))]
    set: Vec<DPad>,
}

/// The names of the sets of Table 5.
const SETS: [&str; 6] = ["I", "II", "III", "IV", "V", "VI"];

fn named(name: &str) -> DPad {
    let place = SETS.iter().position(|known| *known == name).expect("one of the names");
    DPad::TABLE_5[place]
}

/// The defaults of the common flags.
pub const DEFAULTS: Defaults<'_> = Defaults { presets: &[PRESET], threads: Some(1) };

pub fn run(arguments: &Arguments, console: &Console) -> Result<Facts, Failure> {
    let small = arguments.common.small;
    let sets = match (&arguments.set[..], small) {
        ([], true) => &DPad::TABLE_5[1..2],
        ([], false) => &DPad::TABLE_5[..3],
        (sets, _) => sets,
    };
    let (mut rows, mut errors) = (vec![], vec![]);
    let mut rng = random::fresh()?;
    for &set in sets {
        let ways: &[_] = match set.rank() {
            1 => &[("rank1", false)],
            _ => &[("direct", false), ("direct", true), ("dpad", false), ("dpad", true)],
        };
        for &(strategy, reduce) in ways {
            let reduced = if reduce { ", with rank reduction" } else { "" };
            console.say(format_args!("{}, {strategy}{reduced} ...", set.name()));
            let (row, error) = measure(set, strategy, reduce, small, &mut rng)?;
            rows.push(row);
            errors.push(error);
        }
    }
    let rows = Rows(rows);
    let errors = Errors {
        max: errors.iter().map(|error| error.max).fold(0.0, f64::max),
        mean: errors.iter().map(|error| error.mean).sum::<f64>() / errors.len() as f64,
    };
    let report = Report {
        engine: "ckks of module rank".into(),
        eval_s: rows.sum("seconds_total"),
        ..Report::of(rows.sum("slots") as usize, PRESET, &Stages::default(), &errors)
    };
    Ok(rows.report(report))
}

/// A rank with its keys, and the rank reduction from the rank before.
struct Stage {
    evaluator: Evaluator,
    secret: SecretKey,
    reduction: Option<RankReduction>,
}

/// A set at one of its ranks, with products by the requested strategy. Below the set's own rank,
/// DPad chooses its temporary rank by its work.
fn params(set: DPad, step: &RankStep, strategy: &str) -> ckks::Result<Params> {
    let lattice = step.spec.clone();
    let params = Params::new(ParamsSpec { lattice, widths: vec![], log_scale: LOG_SCALE });
    let params = params?;
    let lattice = params.lattice();
    let route = if strategy != "dpad" {
        Ok(RelinStrategy::direct(lattice))
    } else if step.rank == set.rank() {
        let paper = set.relin_strategy()?;
        RelinStrategy::new(
            lattice,
            1,
            Some((paper.raised().spec().rank, paper.raised().spec().p.clone())),
        )
    } else {
        RelinStrategy::choose(lattice, lattice.q().limbs())
    };
    params.relinearizing(route?)
}

/// The ranks of a run, highest first.
fn schedule(set: DPad, reduce: bool, small: bool) -> ckks::Result<Vec<RankStep>> {
    let full = mlwe::Params::new(set.spec()?)?;
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
    rng: &mut ChaCha20Rng,
) -> ckks::Result<Vec<Stage>> {
    let mut stages: Vec<Stage> = vec![];
    for step in steps {
        let params = params(set, step, strategy)?;
        let (reduction, secret) = match stages.last() {
            None => {
                let secret = SecretKey::generate(params.lattice(), rng);
                (None, secret?)
            }
            Some(above) => {
                let from = above.evaluator.params();
                let (reduction, secret) =
                    RankReduction::generate(from, &above.secret, &params, rng)?;
                (Some(reduction), secret)
            }
        };
        let spec = KeyLevels::default().multiply(params.max_level());
        let keys = EvaluationKeys::generate(&params, &secret, &spec, rng)?;
        let evaluator = Evaluator::new(&params, &keys)?;
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
fn declared() -> ckks::Result<Interval> {
    Interval::real(-LARGEST, LARGEST)
}

/// The slots, also where the values have vanished below the noise.
fn decrypt(stage: &Stage, ct: &Ciphertext) -> ckks::Result<Vec<f64>> {
    ckks::decrypt_noisy(stage.evaluator.params(), ct, &stage.secret)
}

/// The square, at the default scale again, and the factor that this changes its message by: the
/// deviation of the primes from the scale doubles with every squaring, and forty of them leave the
/// range of `f64`.
fn squared(stage: &Stage, ct: &Ciphertext) -> ckks::Result<(Ciphertext, f64)> {
    let square = stage.evaluator.square(ct)?;
    let factor = square.meta().scale / stage.evaluator.params().scale();
    Ok((stage.evaluator.reinterpret_scale(square, factor)?, factor))
}

/// For each product, the errors of all slots against the exact squares of the slots before.
fn errors(stages: &[Stage], fresh: &Ciphertext) -> ckks::Result<Vec<Vec<f64>>> {
    let (mut ct, mut values) = (fresh.clone(), decrypt(&stages[0], fresh)?);
    let mut errors = vec![];
    for (at, stage) in stages.iter().enumerate() {
        if let Some(reduction) = &stage.reduction {
            ct = reduction.apply(&ct)?;
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
fn l2_bits(stage: &Stage, rng: &mut ChaCha20Rng) -> ckks::Result<f64> {
    let params = stage.evaluator.params();
    let (slots, encoder) = (params.max_slots(), Encoder::new(params));
    let range = declared()?;
    let mut sum = 0.0;
    for _ in 0..PRODUCTS {
        let mut draw = || -> ckks::Result<(Vec<f64>, Ciphertext)> {
            let x: Vec<f64> = (0..slots).map(|_| rng.random_range(-LARGEST..LARGEST)).collect();
            let plain = encoder.encode(&x, range, params.scale(), params.limbs())?;
            let ct = ckks::encrypt(params, &plain, &stage.secret, rng)?;
            Ok((x, ct))
        };
        let ((x, cx), (y, cy)) = (draw()?, draw()?);
        let product = stage.evaluator.mul(&cx, &cy)?;
        let found: Vec<Complex64> = ckks::decrypt_values(params, &product, &stage.secret)?;
        let expected = x.iter().zip(&y).map(|(x, y)| x * y);
        let squares: f64 = found.iter().zip(expected).map(|(z, m)| (z - m).norm_sqr()).sum();
        // Slots and their conjugates are n times the square of the coefficients.
        let coefficients = 2.0 * squares / params.lattice().spec().degree as f64;
        sum -= 0.5 * (coefficients / params.lattice().spec().degree as f64).log2();
    }
    Ok(sum / f64::from(PRODUCTS))
}

/// One run through all levels, and the errors that a product adds in a slot.
///
/// `ranks` are those of the run, each with the level from which on it was used. Error bits are
/// `-log2` of the largest error that a product, with the rank reduction before it, adds in a slot:
/// over all levels, and of the first product, before scales drift; then the mean over the slots
/// after it. `multiplication_bits_l2` is the paper's measure, the mean over products of fresh
/// vectors of `-log2` of the l2 norm of the error: of the message polynomial, per coefficient (the
/// norm divided by `sqrt(n)`). The paper does not say which norm it takes. Its figures, 33.9 and
/// 33.4, are within a bit of what rounding alone leaves by this one, 34.6 at `N = 2^15`; in slots,
/// or not divided, rounding leaves 29 and 27. The paper's sets miss 128 bits, some narrowly.
fn measure(
    set: DPad,
    strategy: &str,
    reduce: bool,
    small: bool,
    rng: &mut ChaCha20Rng,
) -> ckks::Result<(Facts, Errors)> {
    let clock = Stages::default();
    let steps = schedule(set, reduce, small)?;
    let stages = clock.run(KEY_GENERATION, || stages(set, &steps, strategy, rng))?;
    let first = &stages[0];
    let params = first.evaluator.params();
    let levels = params.max_level();
    let values: Vec<f64> =
        (0..params.max_slots()).map(|_| rng.random_range(-LARGEST..LARGEST)).collect();
    let plain =
        Encoder::new(params).encode(&values, declared()?, params.scale(), params.limbs())?;
    let fresh = ckks::encrypt(params, &plain, &first.secret, rng)?;
    let product = first.evaluator.square(&fresh)?;

    let (mut ct, mut ranks) = (fresh.clone(), vec![(set.rank(), levels)]);
    for (at, stage) in stages.iter().enumerate() {
        if let Some(reduction) = &stage.reduction {
            ranks.push((reduction.to().lattice().spec().rank, ct.level()));
            ct = clock.run(REDUCING, || reduction.apply(&ct))?;
        }
        let last = last_level(&stages, at);
        ct = clock.run(SQUARING, || {
            (last..ct.level()).try_fold(ct, |ct, _| squared(stage, &ct).map(|(square, _)| square))
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
    let facts = Facts::default()
        .with("set", set.name())
        .with("rank", set.rank())
        .with("strategy", strategy)
        .with("rank_reduction", reduce)
        .with("ranks", ranks)
        .with("levels", levels)
        .with("slots", values.len())
        .with("seconds_total", clock.seconds(&[SQUARING, REDUCING]))
        .with("seconds_per_multiplication", clock.seconds(&[SQUARING]) / levels as f64)
        .with("seconds_reducing", clock.seconds(&[REDUCING]) + 0.0)
        .with("keygen_s", clock.seconds(&[KEY_GENERATION]))
        .with("key_bytes", stages.iter().map(key_bytes).sum::<usize>())
        .with("ciphertext_bytes", fresh.lattice().byte_len(params.lattice()))
        .with("error_bits_worst", bits(worst))
        .with("multiplication_bits_worst", bits(largest(&errors[0])))
        .with("multiplication_bits_mean", after_one.map(bits).sum::<f64>() / values.len() as f64)
        .with("multiplication_bits_l2", l2_bits(first, rng)?)
        .with("security_bits", stages.iter().map(security_bits).fold(f64::INFINITY, f64::min))
        .with("security", "insecure");
    Ok((facts, Errors { max: worst, mean }))
}
