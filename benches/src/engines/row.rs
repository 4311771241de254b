//! One engine at one size, measured.

use bellerophon::lwe::{
    Ciphertext, Encoding, Engine, Evaluator, Headroom, LweVec, OutputEncoding, Params, Result,
    RgswGadget, SecretKey, SeededBlindRotationKey, SeededLookupKeys, TableDomain, TestPolynomial,
    encrypt, noise, paper::Ntru128, phase,
};
use bellerophon::mlwe::security::{self, NTRU_TERNARY_SIGMA};
use bellerophon::mlwe::{KeyId, Security};
use common::facts::Facts;
use common::stats::Errors;
use rand::RngExt;
use rand_chacha::ChaCha20Rng;
use std::f64::consts::PI;

use super::contender::Contender;
use super::sigmoid;
use crate::measure::{Seconds, timed};

/// Runs of single look-ups and of batches, of which the fastest counts.
const REPETITIONS: usize = 3;

/// The ends of the table's domain.
const END: f64 = 8.0;

/// The encoding width of the results, which range from 0 to 1.
const WIDTH: f64 = 2.5;

/// The constant function that shows the noise.
const LEVEL: f64 = 0.25;

/// The outcome of a run of look-ups.
struct Run {
    keygen_s: f64,
    /// Bytes in transit of the blind-rotation key and of the key switches, and in memory.
    bytes: [usize; 3],
    single: Seconds,
    /// Of each value of a batch.
    batch: Seconds,
    errors: Errors,
    predicted: f64,
    /// Standard deviation of the results of a constant function, measured and predicted.
    noise: [f64; 2],
    ciphertext_bytes: usize,
}

/// Measures look-ups of `count` values: counted, predicted and measured figures.
///
/// `degree` is that of the tables, `dimension` the LWE dimension, `log2_modulus` the modulus of the
/// rotation's rows. Security is the smallest over all keys of the set, and that of the
/// blind-rotation key; `secure` sets keep the margin of the security tables. Bytes of keys are
/// those in transit (seeds for masks, residues packed to the bits of their primes), those of the
/// blind-rotation key as the paper counts them, with masks as long as bodies, and those in memory,
/// in words of 64 bits, with the key switch out of NTRU. Transforms and multiplications are those
/// of a rotation; schoolbook ones count the square of the degree for each product of polynomials,
/// as the paper does. Errors are those of the sigmoid on [-8, 8]; noise bits are `-log2` of the
/// standard deviation of a constant table, relative to the encoding width.
pub fn measure(contender: &Contender, count: usize, rng: &mut ChaCha20Rng) -> Result<Facts> {
    let params = Params::new(contender.spec.clone())?;
    let run = match contender.by_table {
        true => by_table(&params, count, rng),
        false => look_ups(&params, count, rng),
    }?;
    let (degree, spec) = (params.spec().ring_degree, params.spec());
    let (engine, log2_modulus, digits, base_log) = match (params.rgsw(), spec.engine) {
        (Some(context), Engine::Rgsw(gadget)) => {
            let base_log = match gadget {
                RgswGadget::Digits { base_log, .. } => base_log,
                _ => params.ring_modulus().bits(),
            };
            ("rgsw", context.ring().log2_modulus(), context.digits(), base_log)
        }
        (_, Engine::Ntru(ntru)) => {
            ("ntru", (ntru.modulus as f64).log2(), ntru.count, ntru.base_log)
        }
        _ => unreachable!("a context of the engine"),
    };
    let [rotation, switch, memory] = run.bytes;
    let rotation_bits = match engine {
        "ntru" => security::ntru_estimate_bits(degree, log2_modulus, NTRU_TERNARY_SIGMA),
        _ => security::estimate_bits(degree, spec.ring_secret, log2_modulus, spec.ring_sigma),
    };
    // NTRU has no masks that a seed could replace.
    let unseeded = if engine == "rgsw" { 2 * rotation } else { rotation };
    Ok(Facts::default()
        .with("set", contender.name)
        .with("engine", engine)
        .with("degree", degree)
        .with("dimension", params.spec().dimension)
        .with("log2_modulus", log2_modulus)
        .with("digits", digits)
        .with("base_log", base_log)
        .with("security_bits", params.security_bits())
        .with("rotation_security_bits", rotation_bits)
        .with("secure", spec.security != Security::Insecure)
        .with("rotation_key_bytes", rotation)
        .with("switch_key_bytes", switch)
        .with("key_bytes", rotation + switch)
        .with("unseeded_key_bytes", unseeded)
        .with("key_memory_bytes", memory)
        .with("transforms", params.transforms())
        .with("multiplications", params.multiplications())
        .with("schoolbook_multiplications", params.products() * (degree * degree) as f64)
        .with("keygen_s", run.keygen_s)
        .with("single_ms", 1e3 * run.single.wall)
        .with("batch_ms", 1e3 * run.batch.wall)
        .with("batch_cpu_ms", run.batch.cpu.map(|seconds| 1e3 * seconds))
        .with("error_bits_mean", run.errors.mean_bits())
        .with("predicted_error_bits_mean", -run.predicted.log2())
        .with("max_abs_err", run.errors.max)
        .with("mean_abs_err", run.errors.mean)
        .with("noise_bits", -(run.noise[0] / WIDTH).log2())
        .with("predicted_noise_bits", -(run.noise[1] / WIDTH).log2())
        .with("n", count)
        .with("ciphertext_bytes", run.ciphertext_bytes))
}

/// Look-ups of values under the ring secret, by the engine of the library.
fn look_ups(params: &Params, count: usize, rng: &mut ChaCha20Rng) -> Result<Run> {
    let lwe = SecretKey::generate_lwe(params, rng)?;
    let ring = SecretKey::generate_ring(params, rng)?;
    let key = KeyId(1);
    let (seeded, keygen) = timed(|| SeededLookupKeys::generate(params, &lwe, &ring, key, rng));
    let seeded = seeded?;
    let rotation = SeededBlindRotationKey::byte_len(params);
    let switch = seeded.byte_len(params) - rotation;
    let keys = seeded.expand(params)?;
    drop(seeded);

    let sigma2 = params.spec().ring_sigma.powi(2);
    let encoding = Encoding::fit(params, -END, END, sigma2, Headroom::TABLE, -60.0)?;
    let inputs: Vec<f64> = (0..count).map(|_| rng.random_range(-END..END)).collect();
    let x = LweVec::encrypt(params, &ring, key, &inputs, encoding, -END..=END, rng)?;
    let evaluator = Evaluator::new(params, &keys);
    // The paper's set is too noisy for a table that would use its results.
    let output = OutputEncoding::Encoding(Encoding::new(0.5, WIDTH)?);
    let map = |x: &LweVec| evaluator.map(x, sigmoid, output);
    let one = x.select(&[0])?;
    let (single, _) = fastest(REPETITIONS, || map(&one))?;
    let (batch, y) = fastest(if count > 8 { REPETITIONS } else { 1 }, || map(&x))?;

    let flat = evaluator.map(&x, |_| LEVEL, output)?.decrypt(&ring)?;
    let expected: Vec<f64> = inputs.iter().map(|&x| sigmoid(x)).collect();
    let index = evaluator.index_std(&x);
    Ok(Run {
        keygen_s: keygen.wall,
        bytes: [rotation, switch, keys.rotation.memory_bytes()],
        single,
        batch: batch.each(count),
        errors: Errors::between(&expected, &y.decrypt(&ring)?),
        predicted: predicted(index, y.meta().noise.predicted.powi(2)),
        noise: [deviation(&flat), y.meta().noise.predicted],
        ciphertext_bytes: count * (params.spec().ring_degree + 1) * 8,
    })
}

/// Look-ups of values under the LWE secret, by the paper's table of LWE ciphertexts.
fn by_table(params: &Params, count: usize, rng: &mut ChaCha20Rng) -> Result<Run> {
    let lwe = SecretKey::generate_lwe(params, rng)?;
    let (keys, keygen) = timed(|| Ntru128::generate(&lwe, rng));
    let keys = keys?;
    let (q, q0, n) = (params.modulus(), *params.ring_modulus(), params.spec().ring_degree);
    let domain = TableDomain::fit(-END, END, n, n / 8)?;
    let encode = |y: f64| ((y - 0.5) * q0.value() as f64 / WIDTH).round() as i64;
    let table = TestPolynomial::new(q0, domain, sigmoid, encode)?;
    let inputs: Vec<f64> = (0..count).map(|_| rng.random_range(-END..END)).collect();
    let sigma = params.spec().sigma;
    let values = inputs.iter().map(|&x| encrypt(q, &lwe, domain.encode(x, q), sigma, rng));
    let values = values.collect::<Result<Vec<_>>>()?;
    let (single, _) = fastest(REPETITIONS, || keys.look_up(&values[..1], &table))?;
    let (batch, found) = fastest(REPETITIONS, || keys.look_up(&values, &table))?;
    let period = q.value() as f64;
    let decrypt = |found: Vec<Ciphertext>| -> Result<Vec<f64>> {
        found.iter().map(|y| Ok(0.5 + WIDTH * phase(y, &lwe)? as f64 / period)).collect()
    };
    let flat = TestPolynomial::new(q0, domain, |_| LEVEL, encode)?;
    let flat = decrypt(keys.look_up(&values, &flat)?)?;
    let expected: Vec<f64> = inputs.iter().map(|&x| sigmoid(x)).collect();
    let index = noise::index_error(params, lwe.norm2(), sigma * sigma).sqrt() * domain.step();
    let variance = keys.variance() * (WIDTH / period).powi(2);
    let [rotation, switch] = keys.key_bytes();
    Ok(Run {
        keygen_s: keygen.wall,
        bytes: [rotation, switch, keys.memory_bytes()],
        single,
        batch: batch.each(count),
        errors: Errors::between(&expected, &decrypt(found)?),
        predicted: predicted(index, variance),
        noise: [deviation(&flat), variance.sqrt()],
        ciphertext_bytes: count * (params.spec().dimension + 1) * 8,
    })
}

/// The smallest times of several runs, and the result of the last run.
fn fastest<T>(runs: usize, mut f: impl FnMut() -> Result<T>) -> Result<(Seconds, T)> {
    let (result, mut best) = timed(&mut f);
    let mut last = result?;
    for _ in 1..runs {
        let (result, seconds) = timed(&mut f);
        (last, best) = (result?, best.min(seconds));
    }
    Ok((best, last))
}

/// The mean error of the sigmoid for a normal error of the index, in units of the argument, and of
/// the result.
fn predicted(index: f64, variance: f64) -> f64 {
    const POINTS: usize = 1000;
    let at = |i: usize| -END + 2.0 * END * (i as f64 + 0.5) / POINTS as f64;
    let slope = |x: f64| sigmoid(x) * (1.0 - sigmoid(x));
    let deviation = |x: f64| (slope(x) * index).hypot(variance.sqrt());
    let mean = (0..POINTS).map(|i| deviation(at(i))).sum::<f64>() / POINTS as f64;
    mean * (2.0 / PI).sqrt()
}

/// The standard deviation of the results of the constant function.
fn deviation(results: &[f64]) -> f64 {
    let squares: f64 = results.iter().map(|y| (y - LEVEL).powi(2)).sum();
    (squares / results.len() as f64).sqrt()
}
