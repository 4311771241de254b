//! Toy sets by their parts, and the server of a program with such a set.

use crate::common::{Party, errors, spread};
use bellerophon::ParamsSpec;
use bellerophon::lwe::{self, NtruSpec};
use bellerophon::mlwe::Security;
use bellerophon::prelude::*;
use bellerophon::{
    circuits::bootstrap::BootstrapSpec,
    ckks::{self, LevelGroup, ModulusChain},
};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

pub fn generator() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(29)
}

/// A client and a server with the keys for some needs, which are as large as foretold.
pub fn party(params: &Params, needs: &Needs) -> Party {
    let client = ClientKey::generate_with(params, &mut generator()).unwrap();
    let keys = client.evaluation_keys_with(needs, &mut generator()).unwrap();
    let foretold = params.evaluation_key_bytes(needs).unwrap();
    assert_eq!(keys.byte_len(), foretold, "{params}: {needs:?}");
    Party { client, server: Evaluator::new(keys).unwrap() }
}

/// The parts of a toy set.
#[derive(Debug, Clone, Copy)]
pub struct Parts {
    pub rank: usize,
    pub lookup: bool,
    pub ring: Option<usize>,
    pub bootstrap: bool,
    pub ntru: bool,
}

impl Parts {
    pub const ARITHMETIC: Self =
        Self { rank: 1, lookup: false, ring: None, bootstrap: false, ntru: false };

    pub fn spec(self) -> ParamsSpec {
        let toy = Preset::Insecure(Toy::Functions).spec().unwrap();
        let bootstrap = self.bootstrap.then(|| BootstrapSpec::new((1 << 10) / self.rank));
        let chain = match (&bootstrap, self.lookup) {
            (Some(bootstrap), _) => bootstrap.chain(1 << 11, 42, 5, (49, 6)).unwrap(),
            (None, true) => ModulusChain {
                degree: 1 << 11,
                first_bits: 45,
                levels: vec![LevelGroup::single(44, 15)],
                special: (50, 3),
            },
            (None, false) => ModulusChain {
                degree: 1 << 11,
                first_bits: 50,
                levels: vec![LevelGroup::single(40, 4), LevelGroup::pairs(40, 1)],
                special: (50, 2),
            },
        };
        let log_scale = if bootstrap.is_some() { 42 } else { chain.levels[0].bits };
        let slots = ckks::ParamsSpec::from_chain(&chain, log_scale, Security::Insecure).unwrap();
        let slots = slots.at_rank(self.rank).unwrap();
        let lookup = self.lookup.then(|| {
            let spec = toy.lookup.unwrap();
            let engine = match self.ntru {
                true => {
                    let ntru = NtruSpec::for_degree(spec.ring_degree, spec.security);
                    lwe::Engine::Ntru(ntru.unwrap().unwrap())
                }
                false => spec.engine,
            };
            bellerophon::lwe::ParamsSpec { ring_modulus: slots.lattice.q[0], engine, ..spec }
        });
        let name = format!("{self:?}");
        ParamsSpec {
            lookup,
            ring_bridge: self.ring,
            bootstrap,
            ..ParamsSpec::arithmetic(name, slots)
        }
    }
}

/// One need, and what it is for.
pub fn serve(params: &Params, name: &str, needs: &Needs) {
    let Party { client, server } = party(params, needs);
    let values = spread(8, -1.0, 1.0);
    let x = client.encrypt(&values, -1.0..=1.0).unwrap();
    let rotated = |steps: usize| (0..8).map(move |i| (i + steps) % 8);
    let (y, expected): (_, Vec<f64>) = match name {
        "multiply" => (server.square(&x).unwrap(), values.iter().map(|v| v * v).collect()),
        "rotate" => {
            let y = server.rotate(&server.rotate(&x, 1).unwrap(), -3).unwrap();
            (y, rotated(6).map(|i| values[i]).collect())
        }
        "rotate_any" => (server.rotate(&x, 5).unwrap(), rotated(5).map(|i| values[i]).collect()),
        "conjugate" => (server.conjugate(&x).unwrap(), values.clone()),
        "refresh" => (server.bootstrap(&x).unwrap(), values.clone()),
        "keys" => {
            let low = server.drop_to_level(&x, 1).unwrap();
            (server.rotate(&low, 2).unwrap(), rotated(2).map(|i| values[i]).collect())
        }
        "map corrected" => {
            let y = server
                .map_with(
                    &x,
                    &MapRequest::new(f64::sin).over(-1.0..=1.0).typical(Accuracy::bits(9.0)),
                )
                .unwrap();
            (y, values.iter().map(|v| v.sin()).collect())
        }
        _ => {
            let y = server.map_with(&x, &MapRequest::new(f64::sin).over(-1.0..=1.0)).unwrap();
            (y, values.iter().map(|v| v.sin()).collect())
        }
    };
    let allowed = if name.starts_with("map") { 0.2 } else { 1e-3 };
    let (_, worst) = errors(&client.decrypt(&y).unwrap(), expected.into_iter());
    assert!(worst < allowed, "{name} of {}: {worst:e}", params.name());
}
