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
use bellerophon::ckks::noise_flooding::{NoiseBound, decrypt_flooded};
use bellerophon::ckks::{self, Encoder, Interval, Plaintext, simulator::Simulator};
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
    let clock = Stages::default();
    let rng = &mut random::seeded(SEED);
    let keys = clock.run(KEY_GENERATION, || Keys::generate(params.ckks(), rng))?;
    let operands = Operands::new(&keys, rng)?;
    let time = if *small { SHORT } else { TIME };
    let rng = random::fresh()?;
    let mut test = Measurements { count, time, equal, rng, rows: Vec::new() };
    clock.run(MEASUREMENT, || {
        samplers(&mut test, keys.slots.lattice().spec().sigma)?;
        operands.on_keys(&mut test);
        operands.on_messages(&mut test);
        early_exit(&mut test);
        Ok::<(), Failure>(())
    })?;

    // `least_ns` is the smallest difference that would have been found. Encoding is not promised to
    // take constant time, and controls show the sensitivity of this machine.
    let same = test.rows.iter().filter(|row| row.case.wanted == Wanted::Same).count();
    let (pairs, exact) = (test.rows.iter().map(|row| row.count), Errors { max: 0.0, mean: 0.0 });
    let report = Report {
        security_bits: params.security_bits(),
        eval_s: clock.seconds(&[MEASUREMENT]),
        ciphertext_bytes: operands.vector.lattice().byte_len(keys.slots.lattice()) as u64,
        ..Report::of(pairs.sum(), preset, &clock, &exact)
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

/// Two keys of one identity, with all coefficients 1 and with random ones; and another key.
struct Keys<'p> {
    slots: &'p ckks::Params,
    ones: Vec<i64>,
    drawn: SecretKey,
    other: SecretKey,
}

impl<'p> Keys<'p> {
    fn generate(slots: &'p ckks::Params, rng: &mut ChaCha20Rng) -> bellerophon::Result<Self> {
        let lattice = slots.lattice();
        let drawn = SecretKey::generate(lattice, rng)?;
        let other = SecretKey::generate(lattice, rng)?;
        Ok(Self { slots, ones: vec![1; lattice.dimension()], drawn, other })
    }

    fn restored(&self, coefficients: &[i64], of: &SecretKey) -> SecretKey {
        SecretKey::restore(self.slots.lattice(), coefficients, of.id()).expect("those of a key")
    }

    fn copy(&self, key: &SecretKey) -> SecretKey {
        self.restored(key.all_coefficients(), key)
    }

    /// Both classes read both keys: what caches hold before a measurement does not depend on the
    /// class.
    fn ones_or_drawn(&self, class: usize) -> SecretKey {
        let random = black_box(0i64.wrapping_sub(class as i64));
        let both = self.ones.iter().zip(self.drawn.all_coefficients());
        let chosen: Vec<i64> = both.map(|(one, d)| (d & random) | (one & !random)).collect();
        self.restored(&chosen, &self.drawn)
    }
}

/// What the cases on keys and messages share.
struct Operands<'k> {
    keys: &'k Keys<'k>,
    encoder: Encoder,
    unit: Interval,
    length: usize,
    plain: Plaintext,
    /// The plaintext under the first key, and under the other.
    vector: ckks::Ciphertext,
    of_other: ckks::Ciphertext,
    /// A result to be shared, and the bound on its noise.
    result: ckks::Ciphertext,
    bound: NoiseBound,
    flooding: Flooding,
}

impl<'k> Operands<'k> {
    fn new(keys: &'k Keys<'k>, rng: &mut ChaCha20Rng) -> bellerophon::Result<Self> {
        let slots = keys.slots;
        let (encoder, unit) = (Encoder::new(slots), Interval::real(-1.0, 1.0)?);
        let length = slots.max_slots().min(DRAWS);
        let values = random_values(length, rng);
        let plain = encoder.encode(&values, unit, slots.scale() / 64.0, slots.limbs_at(0))?;
        let level = slots.max_level().min(1);
        let result = encoder.encode(&values, unit, slots.scale(), slots.limbs_at(level))?;
        let simulator = Simulator::new(slots).worst_case();
        Ok(Self {
            vector: ckks::encrypt(slots, &plain, &keys.drawn, rng)?,
            of_other: ckks::encrypt(slots, &plain, &keys.other, rng)?,
            result: ckks::encrypt(slots, &result, &keys.drawn, rng)?,
            bound: simulator.noise_bound(&simulator.encrypt(&values, unit, level)?)?,
            flooding: Flooding::new(1, 30.0)?,
            keys,
            encoder,
            unit,
            length,
            plain,
        })
    }

    fn on_keys(&self, test: &mut Measurements) {
        let Self { keys, plain, vector, result, bound, flooding, .. } = self;
        let slots = keys.slots;
        let classes = ["key of ones", "key drawn"];
        let phase = |key: &mut SecretKey| vector.lattice().phase(key).is_ok();
        test.case(same("phase", classes), |class, _| keys.ones_or_drawn(class), phase);
        let control = same("phase, control", ["key drawn", "its copy"]);
        test.case(control, |_, _| keys.copy(&keys.drawn), phase);
        let with_rng = |class: usize, rng: &mut ChaCha20Rng| {
            (keys.ones_or_drawn(class), ChaCha20Rng::seed_from_u64(rng.next_u64()))
        };
        test.case(same("encryption", classes), with_rng, |(key, rng)| {
            ckks::encrypt(slots, plain, key, rng).is_ok()
        });
        test.case(same("flooded decryption", classes), with_rng, |(key, rng)| {
            decrypt_flooded(slots, result, key, bound, flooding, rng).is_ok()
        });
        let pairs = [(vector, &keys.drawn), (&self.of_other, &keys.other)];
        // Both are copied, in a random order: neither caches nor addresses depend on the class.
        let pair = |class: usize, rng: &mut ChaCha20Rng| {
            let first = usize::from(rng.random::<bool>());
            let copies = [first, 1 - first].map(|place| {
                let (ciphertext, key) = pairs[place];
                (ciphertext.clone(), keys.copy(key))
            });
            let [x, y] = copies;
            if class == first { x } else { y }
        };
        let decryption = same("decryption and decoding", ["first key", "second key"]);
        test.case(decryption, pair, |(ct, key)| {
            ckks::decrypt_values::<f64>(slots, ct, key).is_ok()
        });
    }

    fn on_messages(&self, test: &mut Measurements) {
        let Self { keys: Keys { slots, drawn, .. }, encoder, unit, length, .. } = self;
        let encode =
            |values: &[f64], scale: f64| encoder.encode(values, *unit, scale, slots.limbs_at(0));
        let zeros_or = |class: usize, rng: &mut ChaCha20Rng| -> Vec<f64> {
            random_values(*length, rng).iter().map(|x| x * class as f64).collect()
        };
        let classes = ["zeros", "random"];
        // Both are encoded, in a random order: what encoding leaves behind does not depend on the
        // class.
        let message = |class: usize, rng: &mut ChaCha20Rng| {
            let first = usize::from(rng.random::<bool>());
            let [x, y] = [first, 1 - first].map(|of| {
                encode(&zeros_or(of, rng), slots.scale() / 64.0).expect("as the first vector")
            });
            let plain = if class == first { x } else { y };
            (plain, ChaCha20Rng::seed_from_u64(rng.next_u64()))
        };
        test.case(same("encryption of a message", classes), message, |(plain, rng)| {
            ckks::encrypt(slots, plain, drawn, rng).is_ok()
        });
        let encoding = Case { wanted: Wanted::Either, ..same("encoding", classes) };
        test.case(encoding, zeros_or, |values| encode(values, slots.scale()).is_ok());
    }
}

fn random_values(length: usize, rng: &mut ChaCha20Rng) -> Vec<f64> {
    (0..length).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// A case whose classes must not differ.
fn same(name: &'static str, classes: [&'static str; 2]) -> Case {
    Case { name, classes, wanted: Wanted::Same }
}

/// Samplers, of narrow and of wide noise, too.
fn samplers(test: &mut Measurements, sigma: f64) -> bellerophon::Result<()> {
    let (narrow, wide) = (Gaussian::new(sigma)?, Gaussian::new(WIDE)?);
    test.sampler("Gaussian", 2, |rng| narrow.sample(DRAWS, rng));
    test.sampler("Gaussian that floods", 32, |rng| wide.sample(DRAWS, rng));
    test.sampler("ternary", 2, |rng| sample::ternary(DRAWS, rng));
    test.sampler("ternary of weight 192", 2, |rng| {
        sample::ternary_fixed_weight(DRAWS, 192, rng).is_ok()
    });
    test.sampler("ternary, half zeros", 2, |rng| sample::zo(DRAWS, rng));
    Ok(())
}

/// A control: a comparison that stops at the first difference.
fn early_exit(test: &mut Measurements) {
    let tags = |class: usize, _: &mut ChaCha20Rng| {
        let mut tag = vec![7u8; 4096];
        tag[[0, 4095][class]] = 8;
        tag
    };
    let wanted = if test.equal { Wanted::Either } else { Wanted::Different };
    let case = Case { wanted, ..same("early exit, control", ["first byte", "last byte"]) };
    test.case(case, tags, |tag| tag.iter().position(|&byte| black_box(byte) != 7));
}
