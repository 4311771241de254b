//! Timing leaks: do the times of operations on secrets depend on the secrets? A statistical test in
//! the manner of dudect (Reparaz, Balasch and Verbauwhede, "Dude, is my code constant time?", DATE
//! 2017).
//!
//! Each case runs on two classes of secrets, in pairs of random order, and Wilcoxon's signed ranks
//! compare the times. A case that differs by more than 4.5 standard deviations is measured again;
//! if it differs again in the same direction, the classes differ. The classes of a control cannot
//! differ, or certainly do: a control shows the sensitivity of machine and test. The operands are
//! made anew for every measurement, in the same way for both classes, so that neither has addresses
//! of its own.
//!
//! The exit status is 1 if classes differ although they must not, or if those of a control do not
//! although they must. The program prints a bound on the probability of a false alarm, which holds
//! on any machine (see the module `rank_test`); with --equal both classes are the same, which
//! measures it. For each case the program prints the smallest difference that it would have found:
//! it covers this machine, this build and these classes, and no smaller differences.

mod measure;
mod rank_test;
#[cfg(test)]
mod tests;

use std::hint::black_box;
use std::time::Duration;

use bellerophon::Flooding;
use bellerophon::ckks::{
    self, Encoder, Interval, noise_flooding::decrypt_flooded, simulator::Simulator,
};
use bellerophon::mlwe::SecretKey;
use bellerophon::prelude::*;
use bellerophon::ring::sample::{self, Gaussian};
use common::prelude::*;
use measure::{Case, DRAWS, Measurements, Row, Wanted};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

/// The seed of keys and of fixed data. Order and classes of the measurements are drawn anew.
const SEED: u64 = 2017;

/// Standard deviation of flooding noise, as for shared results.
const WIDE: f64 = (1u64 << 40) as f64;

/// The longest time of one measurement of a case.
const TIME: Duration = Duration::from_secs(60);

/// The same under `--small`.
const SHORT: Duration = Duration::from_secs(2);

const MEASUREMENT: &str = "measurement";

/// Compares the times of operations on two classes of secrets
#[derive(Debug, Parser)]
#[command(version)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Number of pairs per case, within a minute [default: 20000; under --small within 2 seconds]
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    count: usize,

    /// Take one class for both: measures false alarms
    #[arg(long)]
    equal: bool,
}

/// The defaults of the common flags.
pub const DEFAULTS: Defaults<'_> = Defaults { presets: &WITH_LOOKUPS, threads: Some(1) };

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Common { json, small, preset, .. } = &arguments.common;
    let console = Console::new(*json);
    let (count, equal) = (arguments.count, arguments.equal);
    if count < 100 {
        return Err(Failure::input(format!("--count {count}: need at least 100 pairs")));
    }
    let params = Params::preset(arguments.common.preset()?)?;
    let slots = params.ckks();
    let lattice = slots.lattice();
    let mut clock = Stages::default();
    let mut rng = random::seeded(SEED);

    // Step 1: two keys of one identity: all coefficients 1, and random ones; and another key.
    let keys = clock.run(KEY_GENERATION, || -> bellerophon::mlwe::Result<_> {
        Ok([SecretKey::generate(lattice, &mut rng)?, SecretKey::generate(lattice, &mut rng)?])
    });
    let [drawn, other] = keys?;
    let ones = vec![1; lattice.dimension()];
    let restored = |coefficients: &[i64], of: &SecretKey| {
        SecretKey::restore(lattice, coefficients, of.id()).expect("the coefficients are of a key")
    };
    // Both classes read both: what caches hold before a measurement does not depend on the class.
    let ones_or_drawn = |class: usize| {
        let random = black_box(0i64.wrapping_sub(class as i64));
        let both = ones.iter().zip(drawn.all_coefficients());
        let chosen: Vec<i64> = both.map(|(one, d)| (d & random) | (one & !random)).collect();
        restored(&chosen, &drawn)
    };
    // Step 2: the operands: a vector under either key, and samplers of narrow and of wide noise.
    let encoder = Encoder::new(slots);
    let limbs = slots.limbs_at(0);
    let length = slots.max_slots().min(DRAWS);
    let values: Vec<f64> = (0..length).map(|_| rng.random_range(-1.0..1.0)).collect();
    let unit = Interval::real(-1.0, 1.0)?;
    let encoded = |values: &[f64]| encoder.encode(values, unit, slots.scale() / 64.0, limbs);
    let plain = encoded(&values)?;
    let encrypted = |key: &SecretKey, rng: &mut ChaCha20Rng| ckks::encrypt(slots, &plain, key, rng);
    let vector = encrypted(&drawn, &mut rng)?;
    let of_other = encrypted(&other, &mut rng)?;
    let narrow = Gaussian::new(lattice.spec().sigma)?;
    let wide = Gaussian::new(WIDE)?;
    // Step 3: a result to be shared, and the bound on its noise.
    let level = slots.max_level().min(1);
    let fresh = encoder.encode(&values, unit, slots.scale(), slots.limbs_at(level));
    let fresh = fresh.and_then(|plain| ckks::encrypt(slots, &plain, &drawn, &mut rng))?;
    let simulator = Simulator::new(slots).worst_case();
    let bound =
        simulator.encrypt(&values, unit, level).and_then(|shown| simulator.noise_bound(&shown));
    let bound = bound?;
    let terms = Flooding::new(1, 30.0)?;

    // Step 4: the cases.
    let time = if *small { SHORT } else { TIME };
    let rng = random::fresh()?;
    let mut test = Measurements { count, time, equal, rng, rows: Vec::new() };
    clock.run(MEASUREMENT, || {
        use Wanted::{Different, Either, Same};
        let case = |name, classes, wanted| Case { name, classes, wanted };
        test.sampler("Gaussian", 2, |rng| narrow.sample(DRAWS, rng));
        test.sampler("Gaussian that floods", 32, |rng| wide.sample(DRAWS, rng));
        test.sampler("ternary", 2, |rng| sample::ternary(DRAWS, rng));
        test.sampler("ternary of weight 192", 2, |rng| {
            sample::ternary_fixed_weight(DRAWS, 192, rng).is_ok()
        });
        test.sampler("ternary, half zeros", 2, |rng| sample::zo(DRAWS, rng));
        let keys = ["key of ones", "key drawn"];
        let phase = |key: &mut SecretKey| vector.lattice().phase(key).is_ok();
        test.case(case("phase", keys, Same), |class, _| ones_or_drawn(class), phase);
        let copies = |_: usize, _: &mut ChaCha20Rng| restored(drawn.all_coefficients(), &drawn);
        test.case(case("phase, control", ["key drawn", "its copy"], Same), copies, phase);
        let with_rng = |class: usize, rng: &mut ChaCha20Rng| {
            (ones_or_drawn(class), ChaCha20Rng::seed_from_u64(rng.next_u64()))
        };
        test.case(case("encryption", keys, Same), with_rng, |(key, rng)| {
            ckks::encrypt(slots, &plain, key, rng).is_ok()
        });
        let zeros_or = |class: usize, rng: &mut ChaCha20Rng| -> Vec<f64> {
            let random: Vec<f64> = (0..length).map(|_| rng.random_range(-1.0..1.0)).collect();
            random.iter().map(|x| x * class as f64).collect()
        };
        let messages = ["zeros", "random"];
        let message = |class: usize, rng: &mut ChaCha20Rng| {
            let plain = encoded(&zeros_or(class, rng)).expect("as the first vector");
            (plain, ChaCha20Rng::seed_from_u64(rng.next_u64()))
        };
        test.case(case("encryption of a message", messages, Same), message, |(plain, rng)| {
            ckks::encrypt(slots, plain, &drawn, rng).is_ok()
        });
        test.case(case("flooded decryption", keys, Same), with_rng, |(key, rng)| {
            decrypt_flooded(slots, &fresh, key, &bound, &terms, rng).is_ok()
        });
        let pairs = [(&vector, &drawn), (&of_other, &other)];
        // Both are copied, in a random order: neither caches nor addresses depend on the class.
        let pair = |class: usize, rng: &mut ChaCha20Rng| {
            let first = usize::from(rng.random::<bool>());
            let copies = [first, 1 - first].map(|place| {
                let (ciphertext, key) = pairs[place];
                (ciphertext.clone(), restored(key.all_coefficients(), key))
            });
            let [x, y] = copies;
            if class == first { x } else { y }
        };
        let classes = ["first key", "second key"];
        test.case(case("decryption and decoding", classes, Same), pair, |(ct, key)| {
            ckks::decrypt_values::<f64>(slots, ct, key).is_ok()
        });
        let encode =
            |values: &mut Vec<f64>| encoder.encode(values, unit, slots.scale(), limbs).is_ok();
        test.case(case("encoding", messages, Either), zeros_or, encode);
        // A comparison that stops at the first difference.
        let tags = |class: usize, _: &mut ChaCha20Rng| {
            let mut tag = vec![7u8; 4096];
            tag[[0, 4095][class]] = 8;
            tag
        };
        let classes = ["first byte", "last byte"];
        let wanted = if equal { Either } else { Different };
        test.case(case("early exit, control", classes, wanted), tags, |tag| {
            tag.iter().position(|&byte| black_box(byte) != 7)
        });
    });

    // `least_ns` is the smallest difference that would have been found. Encoding is not promised to
    // take constant time, and controls show the sensitivity of this machine.
    let same = test.rows.iter().filter(|row| row.case.wanted == Wanted::Same).count();
    let report = Report {
        security_bits: params.security_bits(),
        eval_s: clock.seconds(&[MEASUREMENT]),
        ciphertext_bytes: vector.lattice().byte_len(lattice) as u64,
        ..Report::of(
            test.rows.iter().map(|row| row.count).sum(),
            preset,
            &clock,
            &Errors { max: 0.0, mean: 0.0 },
        )
    };
    // The bound is on the probability of a false alarm.
    let facts = Facts::of(report)
        .with("log2_false_alarm", rank_test::log2_false_alarm(same))
        .rows("rows", test.rows.iter().map(Row::facts));
    facts.say(&console);
    if *json {
        output::print_json(&facts)?;
    }
    let complaints: Vec<String> = test.rows.iter().filter_map(Row::complaint).collect();
    match complaints.is_empty() {
        true => Ok(()),
        false => Err(Failure::run(complaints.join("; "))),
    }
}
