//! What the pipeline tests share.
#![allow(dead_code, reason = "each test program uses its part")]

use std::{
    ops::RangeInclusive,
    sync::{LazyLock, OnceLock},
};

use bellerophon::{ErrorDistribution, ProgramBounds, mlwe::Security, prelude::*};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

/// A client and the server that has its public keys.
pub struct Party {
    pub client: ClientKey,
    pub server: Evaluator,
}

/// The parameters of a preset, which are computed once for all tests of a program.
pub fn params_of(preset: Preset) -> Params {
    static SETS: LazyLock<Vec<OnceLock<Params>>> =
        LazyLock::new(|| Preset::ALL.map(|_| OnceLock::new()).into());
    let place = Preset::ALL.iter().position(|known| *known == preset).unwrap();
    SETS[place].get_or_init(|| Params::preset(preset).unwrap()).clone()
}

/// A small program without bootstraps, for which parameters are chosen.
pub fn small_program() -> ProgramBounds {
    ProgramBounds {
        security: Security::Bits128,
        slots: 100,
        depth: 1,
        accuracy: Accuracy::bits(10.0),
        bootstraps: false,
    }
}

/// The first cases of a test, and all of them with the feature `long-tests`.
pub fn cases<T, const N: usize>(all: [T; N], first: usize) -> impl Iterator<Item = T> {
    all.into_iter().take(if cfg!(feature = "long-tests") { N } else { first })
}

pub fn party(preset: Preset, needs: &Needs, seed: u64) -> Party {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let params = params_of(preset);
    let client = ClientKey::generate_with(&params, &mut rng).unwrap();
    let keys = client.evaluation_keys_with(needs, &mut rng).unwrap();
    Party { client, server: Evaluator::new(keys).unwrap() }
}

/// The reason why a call was refused.
#[track_caller]
pub fn refusal<T>(result: &Result<T, bellerophon::Error>) -> &bellerophon::Error {
    match result {
        Err(error) => error,
        Ok(_) => panic!("not refused"),
    }
}

/// Encrypts from a seeded generator: a look-up of the result then has the same error in every run.
/// The seed follows from the values: the masks and errors of two vectors do not cancel in their
/// difference.
pub fn encrypt(client: &ClientKey, values: &[f64], range: RangeInclusive<f64>) -> Ciphertext {
    // The constants of FNV-1a.
    let mix = |hash: u64, v: &f64| (hash ^ v.to_bits()).wrapping_mul(0x100_0000_01b3);
    let mut rng = ChaCha20Rng::seed_from_u64(values.iter().fold(0xcbf2_9ce4_8422_2325, mix));
    client.encrypt_with(values, range, client.params().levels(), &mut rng).unwrap()
}

/// Numbers spread evenly over an interval, in mixed order.
pub fn spread(count: usize, lo: f64, hi: f64) -> Vec<f64> {
    (0..count).map(|i| lo + (hi - lo) * ((i * 7919) % count) as f64 / count as f64).collect()
}

/// The mean and the largest magnitude of the differences.
pub fn errors(found: &[f64], expected: impl Iterator<Item = f64>) -> (f64, f64) {
    let errors: Vec<f64> = found.iter().zip(expected).map(|(f, e)| (f - e).abs()).collect();
    assert_eq!(errors.len(), found.len());
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    (mean, errors.into_iter().fold(0.0, f64::max))
}

pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

pub fn relu(x: f64) -> f64 {
    x.max(0.0)
}

/// The predicted error of the look-ups of a request.
pub fn law(params: &Params, request: &MapRequest<'_>) -> ErrorDistribution {
    let rows = params.map_plan(request).unwrap().rows;
    rows.into_iter().find_map(|row| row.prediction?.accuracy).expect("look-ups")
}

/// Looks a function up for `count` values spread over [-8, 8] and holds the errors against the
/// prediction from both sides, and against the limits given as `-log2` of mean and maximum.
pub fn check_map(party: &Party, count: usize, f: fn(f64) -> f64, mean_bits: f64, max_bits: f64) {
    let Party { client, server } = party;
    let domain = -8.0..=8.0;
    let values = spread(count, -8.0, 8.0);
    let x = encrypt(client, &values, domain.clone());
    let tables = server.engine().unwrap();
    let request = MapRequest::new(f).over(domain.clone()).engines([tables]);
    let y = server.map_with(&x, &request).unwrap();
    assert_eq!((y.len(), y.level()), (count, client.params().lookups().unwrap().level_after()));
    let found = client.decrypt(&y).unwrap();
    let (mean, max) = errors(&found, values.iter().map(|&v| f(v)));
    let law = law(client.params(), &MapRequest::new(f).over(domain));
    eprintln!(
        "{count} values: mean 2^{:.2} (predicted 2^{:.2}), max 2^{:.2} (95%: 2^{:.2})",
        mean.log2(),
        law.mean_abs.log2(),
        max.log2(),
        law.max_abs(count).log2()
    );
    // A maximum that 99.95% of such vectors stay below.
    assert!(max < law.max_abs(100 * count), "{count}: {max}");
    assert!(max < 2f64.powf(-max_bits), "{count}: {max}");
    if count >= 100 {
        // The mean of n errors scatters by about 1 / sqrt(n) of itself; and the prediction is an
        // average over keys, of which this is one.
        let slack = (5.0 / (count as f64).sqrt()).clamp(0.08, 0.6);
        let ratio = mean / law.mean_abs;
        assert!((ratio - 1.0).abs() < slack, "{count}: {mean} against {ratio}");
        assert!(mean < 2f64.powf(-mean_bits), "{count}: {mean}");
    }
}
