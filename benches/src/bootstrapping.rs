//! Bootstrapping of an encrypted vector without levels, at full size.
//!
//! The client encrypts two real vectors that fill the slots, at the lowest level that a bootstrap
//! takes. The server, which never sees a value, joins them as the real and imaginary parts of one
//! vector and bootstraps it. The client decrypts both parts and compares every slot with its input.

use bellerophon::prelude::*;
use bellerophon::{ParamsSpec, Result as Computed};
use bellerophon::{
    circuits::bootstrap::{BootstrapSpec, StageWork},
    ckks::{Complex64, Interval},
};
use common::prelude::*;
use rand::RngExt;
use rand_chacha::ChaCha20Rng;

use crate::measure::timed;

/// The values of `--preset`: the sets with bootstrapping.
const PRESETS: [&str; 2] = ["bootstrapping", "bootstrapping-dense"];

/// Slots with `--small`: the security is the same, and the matrices have fewer diagonals.
const SMALL: usize = 1 << 8;

/// `log2` of the probability that the worst slot exceeds its predicted bound.
const LOG2_FAILURE: f64 = -20.0;

/// Encrypts a vector at the lowest level, bootstraps it, compares with the input
#[derive(Debug, Parser)]
#[command(version)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Bootstrap real numbers, which takes one EvalMod instead of two
    #[arg(long)]
    real: bool,

    /// Iterations: each bootstraps the remaining error of the previous ones (Meta-BTS)
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u8).range(1..=4))]
    rounds: u8,
}

/// The counts of one stage of a bootstrap and its time: the NTTs of one residue polynomial, the
/// bytes of keys, once for every key switch, and the words that basis conversions write; the
/// seconds measured, of all iterations together, and predicted for the transforms, the products and
/// reading the keys, with the largest of these three.
fn row(work: &StageWork, degree: usize, stages: &Stages) -> Facts {
    let stage = work.stage.name();
    let parts = work.parts();
    let [transforms_s, products_s, keys_s] = parts.map(|(_, seconds)| seconds);
    let longest = parts.into_iter().max_by(|x, y| x.1.total_cmp(&y.1));
    Facts::default()
        .with("stage", stage)
        .with("transforms", work.work.transforms.round())
        .with("key_bytes", work.key_bytes)
        .with("conversion_words", work.conversions * degree as f64)
        .with("seconds", stages.seconds(&[stage]))
        .with("transforms_s", transforms_s)
        .with("products_s", products_s)
        .with("keys_s", keys_s)
        .with("bound", longest.map_or("", |(name, _)| name))
}

/// The defaults of the common flags.
pub const DEFAULTS: Defaults<'_> = Defaults { presets: &PRESETS, threads: Some(1) };

pub fn run(arguments: &Arguments, _: &Console) -> Result<Facts, Failure> {
    let Arguments { common, real, rounds } = arguments;
    let stages = Stages::default();
    let mut rng = random::fresh()?;
    // Step 1: parameters and keys; fewer slots with `--small`.
    let preset = common.preset()?;
    let spec = preset.spec()?;
    let bootstrap = spec.bootstrap.clone().map(|full| match common.small {
        true => BootstrapSpec { slots: full.slots.min(SMALL), ..full },
        false => full,
    });
    let params = stages.run("parameters", || Params::new(ParamsSpec { bootstrap, ..spec }))?;
    let (client, keys) = stages.run(KEY_GENERATION, || -> Computed<_> {
        let client = ClientKey::generate(&params)?;
        let keys = client.evaluation_keys(&Needs::new().bootstrap())?;
        Ok((client, keys))
    })?;
    let key_bytes = keys.byte_len();
    stages.made(key_bytes as u64);
    let server = stages.run("matrices", || Evaluator::new(keys))?;

    // Step 2: random numbers of the unit disc, encrypted at the input level.
    let bootstrapper = params.bootstrapper()?;
    let slots = bootstrapper.spec().slots;
    let values: Vec<Complex64> = (0..slots)
        .map(|_| {
            let radius = rng.random_range(0.0f64..1.0).sqrt();
            let z = Complex64::from_polar(radius, rng.random_range(0.0..std::f64::consts::TAU));
            if *real { Complex64::from(z.re) } else { z }
        })
        .collect();
    let (level, output) = (bootstrapper.input_level(), bootstrapper.output_level());
    let low = encrypted(&client, &server, &values, *real, level, &mut rng)?;
    // Step 3: the bootstrap.
    let (fresh, seconds) = timed(|| {
        stages.follow(|callback| {
            let server = server.clone().with_progress(callback);
            match rounds {
                1 => server.bootstrap(&low),
                more => server.bootstrap_iterated(&low, usize::from(*more)),
            }
        })
    });
    let fresh = fresh?;

    // Step 4: decryption, errors and report.
    let found = decrypted(&client, &server, &fresh, *real)?;
    let errors: Vec<f64> = found.iter().zip(&values).map(|(a, b)| (a - b).norm()).collect();
    let errors = Errors::between(&vec![0.0; slots], &errors);
    let arithmetic = params.ckks();
    let bits_of_levels = (level + 1..=output).map(|l| arithmetic.divisor(l).log2());
    let bits = bits_of_levels.clone().fold(f64::INFINITY, f64::min);
    let usable: f64 = bits_of_levels.sum();
    let report = Report {
        security_bits: params.security_bits(),
        engine: "ckks bootstrapping".into(),
        eval_s: seconds.wall,
        eval_key_bytes: key_bytes as u64,
        ciphertext_bytes: low.lattice().byte_len(arithmetic.lattice()) as u64,
        ..Report::of(slots, preset.name(), &stages, &errors)
    };
    let bound = bootstrapper.bootstrapped(&low.metadata())?.worst(LOG2_FAILURE);
    let degree = arithmetic.lattice().spec().degree;
    let works = StageWork::of_bootstrap(bootstrapper, if *real { 1 } else { 2 });
    // `levels_out` are the user's until the next bootstrap, `bits_per_level` those of the smallest,
    // `usable_bits_out` those of the modulus between the two levels. Error bits are `-log2` of the
    // largest and of the mean error of a slot, of the predicted standard deviation, and of the
    // predicted bound on the worst slot after one iteration.
    Ok(Facts::of(report)
        .with("slots", slots)
        .with("levels_out", bootstrapper.levels())
        .with("bits_per_level", bits)
        .with("usable_bits_out", usable)
        .with("error_bits_worst", errors.max_bits())
        .with("error_bits_mean", errors.mean_bits())
        .with("error_bits_predicted", -fresh.metadata().noise().log2())
        .with("error_bits_worst_predicted", -bound.log2())
        .with("log2_failure", params.log2_failure())
        .seconds("stages_s", &stages)
        .rows("stages", works.iter().map(|work| row(work, degree, &stages))))
}

/// One vector of the numbers: encryptions of the real and imaginary parts, joined by the server.
fn encrypted(
    client: &ClientKey,
    server: &Evaluator,
    values: &[Complex64],
    real: bool,
    level: usize,
    rng: &mut ChaCha20Rng,
) -> Computed<Ciphertext> {
    let mut part = |of: fn(&Complex64) -> f64| {
        let values: Vec<f64> = values.iter().map(of).collect();
        client.encrypt_with(&values, -1.0..=1.0, level, rng)
    };
    let re = part(|z| z.re)?;
    if real {
        return Ok(re);
    }
    let both = server.add(&re, &server.mul_i(&part(|z| z.im)?)?)?;
    // The ranges of the parts alone do not imply that the numbers lie in the unit disc.
    Ok(both.assume_range_with_padding(Interval::complex(1.0)?))
}

/// Numbers of the unit disc, and the errors of the bootstrap.
const PUBLISHED: f64 = 1.25;

/// The numbers from the published vector.
fn decrypted(
    client: &ClientKey,
    server: &Evaluator,
    z: &Ciphertext,
    real: bool,
) -> Computed<Vec<Complex64>> {
    let declared = match real {
        true => Declaration::from(-PUBLISHED..=PUBLISHED),
        false => Declaration::complex(PUBLISHED),
    };
    client.decrypt_complex(&server.publish(z, declared)?)
}
