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

use bellerophon::ckks::{LevelGroup, ModulusChain, Params, ParamsSpec, Security};

use crate::measure::Bench;
use crate::operations::Operations;
use common::program::Failure;

const W1: [&str; 13] = [
    "mul_relin_rescale",
    "rotate",
    "encode",
    "encrypt_pk",
    "decode",
    "add_assign",
    "encrypt_secret",
    "decrypt_decode",
    "add",
    "mul_plain_rescale",
    "square_relin_rescale",
    "rotate_8_hoisted",
    "conjugate",
];

/// Measures the group.
pub fn measure(bench: &mut Bench) -> Result<(), Failure> {
    set(bench, "W1", &ParamsSpec::w1()?, &W1)?;
    if bench.small {
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
        let spec = ParamsSpec::from_chain(&chain, log_scale, Security::Insecure)?;
        set(bench, name, &spec, operations)?;
    }
    Ok(())
}

/// Measures one set, and frees its keys.
fn set(
    bench: &mut Bench,
    name: &str,
    spec: &ParamsSpec,
    operations: &[&str],
) -> Result<(), Failure> {
    let mut set = Operations::new(&Params::new(spec.clone())?, operations)?;
    for operation in operations {
        let row = set.time(bench, &format!("ckks/{name}"), operation)?.row;
        bench.rows.push(match spec.lattice.security {
            Security::Insecure => row.with("security", "insecure"),
            _ => row,
        });
    }
    Ok(())
}
