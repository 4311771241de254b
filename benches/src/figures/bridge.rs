//! Group `bridge`: LWE values to the slots of one ciphertext, at the sizes of a preset: by the ring
//! bridge (`ring`: ring packing, mod raise, CoeffsToSlots, the reduction modulo `q0`) and by the
//! linear transform of PEGASUS, Fig. 5, with the reduction modulo `q` (`linear`; `lt_of` is the
//! transform alone).
//!
//! The values are encrypted directly under their source secret. `key_bytes` counts all keys of the
//! path in seeded wire form. `max_abs_err` is relative to the sines of the phases without their
//! noise, which the reduction returns by contract.

use std::f64::consts::TAU;

use bellerophon::circuits::eval_mod::Mod1Output;
use bellerophon::ckks::{Ciphertext, KeyLevels};
use bellerophon::lookup::linear_bridge::{partial_decryption, repack, rotation_steps};
use bellerophon::lookup::{Layout, Reduction, RingBridge, RingBridgeKeys, SeededRepackKey};
use bellerophon::ring::Modulus;
use bellerophon::{Params, Preset, lwe};
use common::facts::Facts;
use common::program::Failure;
use common::stats::Errors;
use rand::CryptoRng;

use crate::measure::{Bench, Timed};
use crate::world::World;

/// Values to pack.
const COUNT: usize = 1024;

/// Values to pack with the ring bridge.
const RING_COUNTS: [usize; 2] = [1024, 4096];

/// Values of the linear transform alone.
const LINEAR_COUNTS: [usize; 4] = [64, 256, 1024, 4096];

/// Rotations of the LWE secret in the repacking key, as in the facade.
const BABY_STEPS: usize = 32;

/// Measures the group.
pub fn measure(bench: &mut Bench, preset: Preset) -> Result<(), Failure> {
    let params = Params::preset(preset)?;
    if let Some(ring) = params.lookups()?.ring() {
        over_ring(bench, &params, ring)?;
    }
    linear(bench, &params)
}

fn over_ring(bench: &mut Bench, params: &Params, ring: &RingBridge) -> Result<(), Failure> {
    let (lookups, sizes) = (params.lookups()?, params.lookups()?.lwe_params());
    let mut world = World::new(params.ckks(), &ring.keys())?;
    let small = lwe::SecretKey::generate_ring(sizes, &mut world.rng)?;
    let keys = RingBridgeKeys::generate(ring, &world.secret, &small, &mut world.rng)?;
    let key_bytes = world.evaluator.keys().byte_len() + keys.byte_len();
    let (sigma, most) = (sizes.spec().ring_sigma, RING_COUNTS[1]);
    let (values, sines) = phases(most, sizes.ring_modulus(), &small, sigma, &mut world.rng)?;
    let (output, level) = (output(params), lookups.level_after());
    for count in RING_COUNTS.into_iter().filter(|&count| count <= params.slots()) {
        let (layout, values) = (Layout::in_order(count)?, &values[..count]);
        let timed = bench.time(format!("bridge/ring/{count}"), 1, || {
            let (sine, evaluator) = (Reduction::Sine, &world.evaluator);
            ring.lwe_to_slots(evaluator, &keys, values, &layout, sine, output, level)
        })?;
        bench.rows.push(row(params, &world, timed, &sines[..count], key_bytes)?);
    }
    Ok(())
}

fn linear(bench: &mut Bench, params: &Params) -> Result<(), Failure> {
    let (lookups, sizes) = (params.lookups()?, params.lookups()?.lwe_params());
    let (slots, top) = (params.ckks(), params.levels());
    let baby = BABY_STEPS.min(sizes.spec().dimension);
    let giants = rotation_steps(sizes.spec().dimension, baby)?;
    let needs = KeyLevels::default().multiply(top - 1).rotate(giants, top);
    let mut world = World::new(slots, &needs)?;
    let World { secret: own, rng, .. } = &mut world;
    let secret = lwe::SecretKey::generate_lwe(sizes, rng)?;
    let key = SeededRepackKey::generate(slots, secret.coefficients(), own, baby, top + 1, rng)?;
    let key_bytes = world.evaluator.keys().byte_len() + key.byte_len(slots);
    let key = key.expand(slots)?;
    let (reduction, sigma) = (lookups.reduction(), sizes.spec().sigma);
    for count in LINEAR_COUNTS.into_iter().filter(|&count| count <= params.slots()) {
        let (values, sines) = phases(count, sizes.modulus(), &secret, sigma, &mut world.rng)?;
        let (layout, evaluator) = (Layout::in_order(count)?, &world.evaluator);
        let timed = bench.time(format!("bridge/linear/lt_of_{count}"), 1, || {
            let (factor, bound) = (1.0 / reduction.width(), reduction.bound());
            partial_decryption(evaluator, &key, &values, &layout, factor, bound, top - 1)
        })?;
        bench.rows.push(timed.row.with("preset", params.name()));
        if count == COUNT {
            let (output, level) = (output(params), lookups.level_after());
            let timed = bench.time(format!("bridge/linear/{count}"), 1, || {
                repack(evaluator, &key, &values, &layout, reduction, output, level)
            })?;
            bench.rows.push(row(params, &world, timed, &sines, key_bytes)?);
        }
    }
    Ok(())
}

fn output(params: &Params) -> Mod1Output {
    Mod1Output { amplitude: 1.0, scale: params.ckks().scale() }
}

/// The row of a bridge, with the error of its result.
fn row(
    params: &Params,
    world: &World,
    timed: Timed<Ciphertext>,
    sines: &[f64],
    key_bytes: usize,
) -> Result<Facts, Failure> {
    let error = Errors::between(sines, &world.decrypt(&timed.last)?).max;
    let row = timed.row.with("preset", params.name()).with("key_bytes", key_bytes);
    Ok(row.with("max_abs_err", error))
}

/// Values whose phases lie within a sixth of the period, about as far as look-ups of the facade go,
/// and the sines of these phases.
fn phases(
    count: usize,
    modulus: &Modulus,
    secret: &lwe::SecretKey,
    sigma: f64,
    rng: &mut impl CryptoRng,
) -> bellerophon::Result<(Vec<lwe::Ciphertext>, Vec<f64>)> {
    let period = modulus.value() as f64;
    let value = |i: usize| {
        // Permuted, so that every part of the values spans them all.
        let fraction = (((i * 619) % count) as f64 / count as f64 - 0.5) / 3.0;
        let phase = (period * fraction).round() as i64;
        Ok((lwe::encrypt(modulus, secret, phase, sigma, rng)?, (TAU * fraction).sin()))
    };
    Ok((0..count).map(value).collect::<bellerophon::Result<Vec<_>>>()?.into_iter().unzip())
}
