//! Group `bridge`: LWE values back into the slots of one ciphertext (the linear transform of
//! PEGASUS, Fig. 5, and the reduction modulo `q`), at the sizes of a preset.
//!
//! The values are encrypted directly under the LWE secret. `key_bytes` is the repacking key with
//! the rotation and relinearisation keys, in seeded wire form; `max_abs_err` is against the sines
//! of the phases without their noise, which the reduction returns by contract.

use std::f64::consts::TAU;

use bellerophon::ckks::{EvaluationKeys, Evaluator, KeySpec, decrypt_values, mod1::Mod1Output};
use bellerophon::lwe::{self, Ciphertext};
use bellerophon::mlwe::SecretKey;
use bellerophon::repack::{Layout, RepackKey, SeededRepackKey, repack, rotation_steps};
use bellerophon::{Params, Preset};
use rand::{CryptoRng, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::common::program::Failure;
use super::common::stats::Errors;
use super::measure::Bench;

/// Values to bring back.
const COUNT: usize = 1024;

/// Rotations of the LWE secret in the repacking key, as the facade makes it.
const BABY_STEPS: usize = 32;

/// Measures the group.
pub fn measure(bench: &mut Bench, preset: Preset) -> Result<(), Failure> {
    let params = Params::preset(preset).map_err(Failure::run)?;
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    let bridge = Bridge::generate(&params, rng).map_err(Failure::run)?;

    let mut latest = None;
    let row = bench.time(format!("bridge/linear/{COUNT}"), 1, || latest = Some(bridge.cross()));
    let result = latest.transpose().map_err(Failure::run)?;
    let error = result.map(|found| bridge.error(&found)).transpose().map_err(Failure::run)?;
    row.extra.insert("preset", params.name().into());
    row.extra.insert("key_bytes", bridge.key_bytes.into());
    row.extra.insert("max_abs_err", error.into());
    Ok(())
}

/// Values on one side, the keys and what else it takes to bring them to the other.
struct Bridge<'a> {
    params: &'a Params,
    secret: SecretKey,
    evaluator: Evaluator,
    key: RepackKey,
    key_bytes: usize,
    layout: Layout,
    values: Vec<Ciphertext>,
    expected: Vec<f64>,
}

impl<'a> Bridge<'a> {
    fn generate(params: &'a Params, rng: &mut impl CryptoRng) -> bellerophon::Result<Self> {
        let (slots, lookup, top) =
            (params.arithmetic(), params.lookups()?.lattice(), params.levels());
        let secret = SecretKey::generate(slots.lattice(), rng)?;
        let baby = BABY_STEPS.min(lookup.dimension());
        let giants = rotation_steps(lookup.dimension(), baby)?;
        let needs = KeySpec::new().multiply(top - 1).rotate(giants, top);
        let keys = EvaluationKeys::generate(slots, &secret, &needs, rng)?;
        let lwe = lwe::SecretKey::generate_lwe(lookup, rng)?;
        let coefficients = lwe.coefficients();
        let key = SeededRepackKey::generate(slots, coefficients, &secret, baby, top + 1, rng)?;
        let turn = lookup.modulus().value() as f64;
        let mut values = Vec::with_capacity(COUNT);
        let mut expected = Vec::with_capacity(COUNT);
        for i in 0..COUNT {
            // Phases within a sixth of a turn, about as far as look-ups of the facade go.
            let fraction = (i as f64 / COUNT as f64 - 0.5) / 3.0;
            let phase = (turn * fraction).round() as i64;
            values.push(lwe::encrypt(lookup.modulus(), &lwe, phase, lookup.spec().sigma, rng)?);
            expected.push((TAU * fraction).sin());
        }
        Ok(Self {
            params,
            evaluator: Evaluator::new(slots, &keys)?,
            key_bytes: keys.byte_len() + key.byte_len(slots),
            key: key.expand(slots)?,
            secret,
            layout: Layout::in_order(COUNT)?,
            values,
            expected,
        })
    }

    fn cross(&self) -> bellerophon::Result<bellerophon::Ciphertext> {
        let params = self.params;
        let output = Mod1Output { amplitude: 1.0, scale: params.arithmetic().scale() };
        Ok(repack(
            &self.evaluator,
            &self.key,
            &self.values,
            &self.layout,
            params.lookups()?.reduction(),
            output,
            params.lookups()?.level_after(),
        )?)
    }

    fn error(&self, result: &bellerophon::Ciphertext) -> bellerophon::Result<f64> {
        let found: Vec<f64> = decrypt_values(self.params.arithmetic(), result, &self.secret)?;
        Ok(Errors::between(&self.expected, &found).max)
    }
}
