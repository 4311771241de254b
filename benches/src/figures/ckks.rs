//! Group `ckks`: operations on full vectors at the top level of the sets on which libraries are
//! compared.
//!
//! | set | `N` | primes | special | security |
//! | --- | --- | --- | --- | --- |
//! | `W1` | `2^15` | 50 + 13 x 45 bits | 3 x 49 | 128 bits |
//! | `SetI` (DPad-HE) | `2^15` | 60 + 19 x 40 | 60 | 128 bits at the time |
//! | `SetIV` (DPad-HE) | `2^16` | 60 + 41 x 40 | 60 | 128 bits at the time |
//! | `HEAAN10` (Full-RNS HEAAN, Table 1) | `2^15` | 11 x 55 | 11 x 55, one digit | none today |
//!
//! Rows of sets below 128 bits say `"security": "insecure"`. A small run measures `W1` only.

use std::hint::black_box;

use bellerophon_ckks::{
    CkksOps, Encoder, EvaluationKeys, Evaluator, Interval, KeyLevels, LevelGroup, ModulusChain,
    Params, ParamsSpec, encrypt, encrypt_public,
};
use bellerophon_mlwe::{PublicKey, SecretKey, Security};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::measure::Bench;
use common::program::Failure;

/// A set and the operations that are measured on it.
struct Set {
    name: &'static str,
    spec: ParamsSpec,
    operations: &'static [&'static str],
}

/// Measures the group.
pub fn measure(bench: &mut Bench) -> Result<(), Failure> {
    let w1 = ParamsSpec::w1()?;
    let operations =
        &["mul_relin_rescale", "rotate", "encode", "encrypt_pk", "decode", "add_assign"];
    set(bench, &Set { name: "W1", spec: w1, operations })?;
    if bench.is_small() {
        return Ok(());
    }
    let chain = |degree, first_bits, levels: (u32, usize), special| ModulusChain {
        degree,
        first_bits,
        levels: vec![LevelGroup::single(levels.0, levels.1)],
        special,
    };
    let others = [
        ("SetI", chain(1 << 15, 60, (40, 19), (60, 1)), 40, &["mul_rescale"][..]),
        ("SetIV", chain(1 << 16, 60, (40, 41), (60, 1)), 40, &["mul_rescale"]),
        ("HEAAN10", chain(1 << 15, 55, (55, 10), (55, 11)), 55, &["mul_rescale", "encrypt_pk"]),
    ];
    for (name, chain, log_scale, operations) in others {
        let spec = ParamsSpec::from_chain(&chain, log_scale, Security::Insecure);
        set(bench, &Set { name, spec: spec?, operations })?;
    }
    Ok(())
}

/// Measures one set, and frees its keys.
fn set(bench: &mut Bench, set: &Set) -> Result<(), Failure> {
    let params = Params::new(set.spec.clone())?;
    let (top, limbs) = (params.max_level(), params.limbs());
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let secret = SecretKey::generate(params.lattice(), &mut rng)?;
    let public = PublicKey::generate(&secret, &mut rng);
    let mut needs = KeyLevels::default().multiply(top);
    if set.operations.contains(&"rotate") {
        needs = needs.rotate([1], top);
    }
    let keys = EvaluationKeys::generate(&params, &secret, &needs, &mut rng)?;
    let evaluator = Evaluator::new(&params, &keys)?;
    let encoder = Encoder::new(&params);
    let values = |shift: usize| -> Vec<f64> {
        (0..params.max_slots()).map(|i| ((i + shift) % 17) as f64 / 16.0).collect()
    };
    let range = Interval::real(0.0, 1.0)?;
    let encode =
        |values: &[f64]| encoder.encode(values, range, params.scale(), limbs).map_err(Failure::run);
    let (plain, other, zero) =
        (encode(&values(0))?, encode(&values(5))?, encode(&vec![0.0; params.max_slots()])?);
    let mut fresh = |plain| encrypt(&params, plain, &secret, &mut rng).map_err(Failure::run);
    let (x, y, nothing) = (fresh(&plain)?, fresh(&other)?, fresh(&zero)?);
    let (numbers, mut sum) = (values(0), x.clone());

    for &operation in set.operations {
        // An operation that works once here works in the loop.
        let mut run = || -> bellerophon_ckks::Result<()> {
            match operation {
                "rotate" => drop(black_box(evaluator.rotate(&x, 1)?)),
                "encode" => {
                    drop(black_box(encoder.encode(&numbers, range, params.scale(), limbs)?))
                }
                "encrypt_pk" => {
                    drop(black_box(encrypt_public(&params, &plain, &public, &mut rng)?));
                }
                "decode" => drop(black_box(encoder.decode::<f64>(&plain)?)),
                "add_assign" => evaluator.add_assign(&mut sum, &nothing)?,
                _ => drop(black_box(evaluator.mul(&x, &y)?)),
            }
            Ok(())
        };
        run()?;
        let name = format!("ckks/{}/{operation}", set.name);
        let row = bench.time(name, 1, || {
            let _ = run();
        });
        if set.spec.lattice.security == Security::Insecure {
            row.extra.insert("security", "insecure".into());
        }
    }
    Ok(())
}
