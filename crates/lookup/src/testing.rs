//! Parameters for tests.

use bellerophon_ckks::{self as ckks, LevelGroup, ModulusChain};
use bellerophon_lwe::{self as lwe, Engine, RgswGadget};
use bellerophon_mlwe::{SecretKind, Security};
use bellerophon_ring::prime;

use crate::params::{LutParams, LutSpec};

/// Look-ups with both bridges in toy dimensions, which protect nothing.
pub(crate) fn toy() -> LutParams {
    toy_with(|_| {})
}

/// The same with changes of the tables.
pub(crate) fn toy_with(change: impl FnOnce(&mut lwe::ParamsSpec)) -> LutParams {
    let chain = ModulusChain {
        degree: 1 << 11,
        first_bits: 45,
        levels: vec![LevelGroup::single(44, 15)],
        special: (50, 3),
    };
    let spec = ckks::ParamsSpec::from_chain(&chain, 44, Security::Insecure).unwrap();
    let slots = ckks::Params::new(spec).unwrap();
    let mut spec = lwe::ParamsSpec {
        dimension: 64,
        modulus: prime::ntt_primes_below(64, 28, 1, &[]).unwrap()[0].value(),
        secret: SecretKind::Sparse(16),
        sigma: 3.2,
        key_switch_base_log: 2,
        key_switch_digits: 14,
        ring_degree: 1 << 10,
        ring_modulus: slots.lattice().q().modulus(0).value(),
        engine: Engine::Rgsw(RgswGadget::Digits { base_log: 16, count: 2 }),
        ring_secret: SecretKind::Ternary,
        ring_sigma: 3.2,
        security: Security::Insecure,
    };
    change(&mut spec);
    let (ring_bridge, highest_level) = (Some(16), slots.max_level());
    let spec = LutSpec { tables: spec, log2_failure: -60.0, ring_bridge, highest_level };
    LutParams::new(&slots, spec).unwrap()
}
