//! Group `bridge`: LWE values to the slots of one ciphertext, at the sizes of a preset: by the ring
//! bridge (`ring`: ring packing, mod raise, CoeffsToSlots, the reduction modulo `q0`) and by the
//! linear transform of PEGASUS, Fig. 5, with the reduction modulo `q` (`linear`).
//!
//! The values are encrypted directly under their source secret. `key_bytes` counts all keys of the
//! path in seeded wire form. `max_abs_err` is relative to the sines of the phases without their
//! noise, which the reduction returns by contract.

use std::f64::consts::TAU;

use bellerophon::lookup::{
    Layout, Reduction, RepackKey, RingBridge, RingBridgeKeys, SeededRepackKey,
    linear_bridge::{repack, rotation_steps},
};
use bellerophon::lwe::{self, Ciphertext};
use bellerophon::mlwe::SecretKey;
use bellerophon::ring::Modulus;
use bellerophon::{Params, Preset};
use bellerophon::{
    circuits::eval_mod::Mod1Output,
    ckks::{EvaluationKeys, Evaluator, KeyLevels, decrypt_values},
};
use rand::{CryptoRng, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::measure::Bench;
use common::program::Failure;
use common::stats::Errors;

/// Values to pack.
const COUNT: usize = 1024;

/// Values to pack with the ring bridge.
const RING_COUNTS: [usize; 2] = [1024, 4096];

/// Rotations of the LWE secret in the repacking key, as in the facade.
const BABY_STEPS: usize = 32;

/// Measures the group.
pub fn measure(bench: &mut Bench, preset: Preset) -> Result<(), Failure> {
    let params = Params::preset(preset)?;
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    if params.lookups()?.ring().is_some() {
        let bridge = OverRing::generate(&params, rng)?;
        for count in RING_COUNTS {
            bridge.measure(bench, count)?;
        }
    }
    let bridge = Bridge::generate(&params, rng)?;

    let mut latest = None;
    let row = bench.time(format!("bridge/linear/{COUNT}"), 1, || latest = Some(bridge.cross()));
    let result = latest.transpose()?;
    let error = result.map(|found| bridge.error(&found)).transpose()?;
    row.extra.insert("preset", params.name().into());
    row.extra.insert("key_bytes", bridge.key_bytes.into());
    row.extra.insert("max_abs_err", error.into());
    Ok(())
}

/// The ring bridge with its keys.
struct OverRing<'a> {
    params: &'a Params,
    ring: &'a RingBridge,
    secret: SecretKey,
    evaluator: Evaluator,
    keys: RingBridgeKeys,
    key_bytes: usize,
    values: Vec<Ciphertext>,
    expected: Vec<f64>,
}

impl<'a> OverRing<'a> {
    fn generate(params: &'a Params, rng: &mut impl CryptoRng) -> bellerophon::Result<Self> {
        let (slots, lookups) = (params.ckks(), params.lookups()?);
        let lookup = lookups.lwe_params();
        let ring = lookups.ring().ok_or_else(bellerophon::lookup::error::no_ring_bridge)?;
        let secret = SecretKey::generate(slots.lattice(), rng)?;
        let small = lwe::SecretKey::generate_ring(lookup, rng)?;
        let keys = RingBridgeKeys::generate(ring, &secret, &small, rng)?;
        let arithmetic = EvaluationKeys::generate(slots, &secret, &ring.keys(), rng)?;
        let (values, expected) =
            phases(RING_COUNTS[1], lookup.ring_modulus(), &small, lookup.spec().ring_sigma, rng)?;
        Ok(Self {
            params,
            ring,
            evaluator: Evaluator::new(slots, &arithmetic)?,
            key_bytes: arithmetic.byte_len() + keys.byte_len(),
            secret,
            keys,
            values,
            expected,
        })
    }

    fn measure(&self, bench: &mut Bench, count: usize) -> bellerophon::Result<()> {
        let layout = Layout::in_order(count)?;
        let (slots, reduction) = (self.params.ckks(), Reduction::Sine);
        let output = Mod1Output { amplitude: 1.0, scale: slots.scale() };
        let level = self.params.lookups()?.level_after();
        let cross = || {
            let values = &self.values[..count];
            let (evaluator, keys) = (&self.evaluator, &self.keys);
            self.ring.lwe_to_slots(evaluator, keys, values, &layout, reduction, output, level)
        };
        let mut latest = None;
        let row = bench.time(format!("bridge/ring/{count}"), 1, || latest = Some(cross()));
        if let Some(result) = latest.transpose()? {
            let found: Vec<f64> = decrypt_values(slots, &result, &self.secret)?;
            let error = Errors::between(&self.expected[..count], &found).max;
            row.extra.insert("max_abs_err", error.into());
        }
        row.extra.insert("preset", self.params.name().into());
        row.extra.insert("key_bytes", self.key_bytes.into());
        Ok(())
    }
}

/// Values whose phases lie within a sixth of the period, about as far as look-ups of the facade go,
/// and the sines of these phases.
fn phases(
    count: usize,
    modulus: &Modulus,
    secret: &lwe::SecretKey,
    sigma: f64,
    rng: &mut impl CryptoRng,
) -> bellerophon::Result<(Vec<Ciphertext>, Vec<f64>)> {
    let period = modulus.value() as f64;
    let value = |i: usize| {
        // Permuted, so that every part of the values spans them all.
        let fraction = (((i * 619) % count) as f64 / count as f64 - 0.5) / 3.0;
        let phase = (period * fraction).round() as i64;
        Ok((lwe::encrypt(modulus, secret, phase, sigma, rng)?, (TAU * fraction).sin()))
    };
    Ok((0..count).map(value).collect::<bellerophon::Result<Vec<_>>>()?.into_iter().unzip())
}

/// The values on one side, with the keys and plans that bring them to the other.
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
        let (slots, lookup, top) = (params.ckks(), params.lookups()?.lwe_params(), params.levels());
        let secret = SecretKey::generate(slots.lattice(), rng)?;
        let baby = BABY_STEPS.min(lookup.spec().dimension);
        let giants = rotation_steps(lookup.spec().dimension, baby)?;
        let needs = KeyLevels::default().multiply(top - 1).rotate(giants, top);
        let keys = EvaluationKeys::generate(slots, &secret, &needs, rng)?;
        let lwe = lwe::SecretKey::generate_lwe(lookup, rng)?;
        let coefficients = lwe.coefficients();
        let key = SeededRepackKey::generate(slots, coefficients, &secret, baby, top + 1, rng)?;
        let (values, expected) = phases(COUNT, lookup.modulus(), &lwe, lookup.spec().sigma, rng)?;
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
        let output = Mod1Output { amplitude: 1.0, scale: params.ckks().scale() };
        repack(
            &self.evaluator,
            &self.key,
            &self.values,
            &self.layout,
            params.lookups()?.reduction(),
            output,
            params.lookups()?.level_after(),
        )
    }

    fn error(&self, result: &bellerophon::Ciphertext) -> bellerophon::Result<f64> {
        let found: Vec<f64> = decrypt_values(self.params.ckks(), result, &self.secret)?;
        Ok(Errors::between(&self.expected, &found).max)
    }
}
