//! Every type that can be read.

use bellerophon::{
    Bridge, ClientKey, Engine, EvaluationKeys, Needs, Params, Result,
    circuits::{self, bootstrap::BootstrapKeys, fbt},
    ckks::{self, CkksOps, SeededCiphertext},
    format::{Context, SecretBytes},
    lookup::{RingBridgeKeys, SeededRepackKey},
    lwe,
    mlwe::{
        self, GaloisKey, KeySwitchKey, ModRaiseKey, PublicKey, RankReduceKey, RelinKeys, SecretKind,
    },
    ring::wire::SecretWire,
};

use crate::{
    Memory, Read, Shape, Target, World, bfv, envelope, integers, lookups, ranks,
    target::{ANY, object, sample, streamed},
    world::rng,
};

/// Secrets come with their transforms modulo every prime, two bytes of them with eight for each;
/// they are read by their owner alone.
const TRANSFORMS: Memory = Memory { factor: 40, more: 0 };

/// A parameter set is a few hundred bytes, from which the reader makes its tables: these are
/// limited by what parameters may be, not by the length of their bytes.
const TABLES: Memory = Memory { factor: 4, more: 64 << 20 };

/// The batch code of a compact query is chosen by a table for the points that are asked for, at
/// most `2^16`: 1.5 MiB.
const BATCH: Memory = Memory { factor: 4, more: 2 << 20 };

/// Rotations at a temporary rank, which is twice the rank here, have two masks for every body; a
/// set of them brings the parameters of that rank.
const HOISTED: Memory = Memory { factor: 5, more: 64 << 10 };

/// LWE polynomials of eight coefficients take more than these.
const SHORT: Memory = Memory { factor: 4, more: 64 << 10 };

/// The entries of a request are nodes of trees, and its levels are computed.
const REQUESTS: Memory = Memory { factor: 64, more: 1 << 20 };

/// Keys of several ranks come with the parameters of each, and expand two masks for a body.
const RANKS: Memory = Memory { factor: 5, more: 4 << 20 };

const fn target(
    name: &'static str,
    samples: fn(&'static World) -> Vec<Vec<u8>>,
    read: fn(&'static World, &[u8]) -> Result<Read>,
) -> Target {
    Target { name, samples, read, shape: Shape::Single, memory: Memory::DEFAULT }
}

/// All targets.
pub static TARGETS: &[Target] = &[
    Target {
        memory: TABLES,
        ..target("lattice_params", lattice_params, |_, b| object::<mlwe::Params, _>(&ANY, b))
    },
    target("lattice_ciphertext", lattice_ciphertexts, |w, b| {
        object::<mlwe::Ciphertext, _>(w.lattice(), b)
    }),
    target("fresh_lattice_ciphertext", fresh_lattice_ciphertexts, |w, b| {
        object::<mlwe::SeededCiphertext, _>(w.lattice(), b)
    }),
    target("public_key", public_keys, |w, b| object::<PublicKey, _>(w.lattice(), b)),
    target("switching_key", switching_keys, |w, b| object::<KeySwitchKey, _>(w.lattice(), b)),
    target("galois_key", galois_keys, |w, b| object::<GaloisKey, _>(w.lattice(), b)),
    target("rank_key", rank_keys, |w, b| object::<RankReduceKey, _>(w.lattice(), b)),
    target("relinearisation_keys", relinearisation_keys, |w, b| {
        object::<RelinKeys, _>(&w.route, b)
    }),
    Target {
        memory: RANKS,
        ..target("ring_conversion", ranks::ring_conversions, |w, b| {
            object::<mlwe::RingConversion, _>(&w.ranks().rings, b)
        })
    },
    Target {
        memory: RANKS,
        ..target("ring_switch_keys", ranks::ring_switch_keys, |w, b| {
            object::<mlwe::RingSwitchKeys, _>(&w.ranks().switched, b)
        })
    },
    target("rank_reduction", ranks::reductions, |w, b| {
        object::<ckks::RankReduction, _>(&w.ranks().reduction, b)
    }),
    Target {
        memory: RANKS,
        ..target("rank_conversion", ranks::conversions, |w, b| {
            object::<ckks::RankConversion, _>(&w.ranks().conversion, b)
        })
    },
    Target {
        memory: RANKS,
        ..target("ring_switch", ranks::switches, |w, b| {
            object::<ckks::RingSwitch, _>(&w.ranks().switch, b)
        })
    },
    Target {
        memory: RANKS,
        ..target("rank_bootstrap", ranks::bootstraps, |w, b| {
            object::<circuits::rank_bootstrap::RankBootstrap, _>(&w.ranks().bootstrap, b)
        })
    },
    Target {
        memory: RANKS,
        ..target("reducing_keys", ranks::reducing_keys, |w, b| {
            object::<ckks::ReducingKeys, _>(&w.ranks().reduction.0, b)
        })
    },
    Target {
        memory: REQUESTS,
        ..target("key_levels", ranks::key_levels, |w, b| {
            object::<ckks::KeyLevels, _>(w.params.ckks(), b)
        })
    },
    Target {
        memory: REQUESTS,
        ..target("needs", ranks::needs, |w, b| object::<Needs, _>(&w.tables().0, b))
    },
    target("raising_key", raising_keys, |w, b| object::<ModRaiseKey, _>(w.lattice(), b)),
    Target {
        memory: TABLES,
        ..target("slot_params", slot_params, |_, b| object::<ckks::Params, _>(&ANY, b))
    },
    target("vector", vectors, |w, b| object::<ckks::Ciphertext, _>(&w.params, b)),
    target("published_vector", published_vectors, |w, b| {
        object::<ckks::Published, _>(&w.params, b)
    }),
    target("provided_vector", provided_vectors, |w, b| object::<ckks::Provided, _>(&w.params, b)),
    target("fresh_vector", fresh_vectors, |w, b| streamed::<SeededCiphertext, _>(&w.params, b)),
    target("paired", integers::paired, |w, b| object::<fbt::PairedVec, _>(&w.params, b)),
    target("fresh_paired", integers::fresh_paired, |w, b| {
        streamed::<fbt::SeededPairedVec, _>(&w.params, b)
    }),
    target("published_paired", integers::published_paired, |w, b| {
        object::<ckks::Published<fbt::PairedVec>, _>(&w.params, b)
    }),
    target("integers", integers::integers, |w, b| object::<fbt::IntVec, _>(&w.params, b)),
    target("fresh_integers", integers::fresh_integers, |w, b| {
        streamed::<fbt::SeededIntVec, _>(&w.params, b)
    }),
    target("provided_integers", integers::provided_integers, |w, b| {
        object::<ckks::Provided<fbt::IntVec>, _>(&w.params, b)
    }),
    target("published_integers", integers::published_integers, |w, b| {
        object::<ckks::Published<fbt::IntVec>, _>(&w.params, b)
    }),
    target("bootstrapping_keys", bootstrap_keys, |w, b| {
        object::<BootstrapKeys, _>(w.bootstrapper().raising(), b)
    }),
    Target { memory: TABLES, ..target("params", params, |_, b| object::<Params, _>(&ANY, b)) },
    Target {
        memory: TRANSFORMS,
        ..target("secret_key", secret_keys, |w, b| read_secret::<ClientKey, _>(&w.params, b))
    },
    target("lwe_value", lookups::lwe_values, |w, b| {
        object::<lwe::Ciphertext, _>(&w.lookups().tables[0].params, b)
    }),
    target("table_values", lookups::table_values, |w, b| {
        object::<lwe::LweVec, _>(&w.lookups().tables[0].params, b)
    }),
    target("published_values", lookups::published_values, |w, b| {
        object::<lwe::PublishedValues, _>(&w.lookups().tables[0].params, b)
    }),
    target("lwe_switching_key", lookups::lwe_switching_keys, |w, b| {
        object::<lwe::SeededKeySwitchKey, _>(&w.lookups().tables[0].params, b)
    }),
    target("rotation_key", lookups::rotation_keys, |w, b| {
        object::<lwe::SeededBlindRotationKey, _>(&w.lookups().tables[0].params, b)
    }),
    target("rotation_part", lookups::rotation_parts, |w, b| {
        object::<lwe::RotationPart, _>(&w.lookups().tables[1].params, b)
    }),
    target("lookup_keys", lookups::lookup_keys, |w, b| {
        object::<lwe::SeededLookupKeys, _>(&w.lookups().tables[1].params, b)
    }),
    target("repacking_key", lookups::repacking_keys, |w, b| {
        object::<SeededRepackKey, _>(w.params.ckks(), b)
    }),
    target("ring_bridge_keys", lookups::ring_bridge_keys, |w, b| {
        object::<RingBridgeKeys, _>(&w.lookups().bridge, b)
    }),
    Target {
        memory: TABLES,
        ..target("exact_params", bfv::exact_params, |_, b| {
            object::<bellerophon::bfv::Params, _>(&ANY, b)
        })
    },
    target("exact_ciphertext", bfv::exact_ciphertexts, |w, b| {
        object::<bellerophon::bfv::Ciphertext, _>(&w.exact()[1], b)
    }),
    target("fresh_exact_ciphertext", bfv::fresh_exact_ciphertexts, |w, b| {
        object::<bellerophon::bfv::SeededCiphertext, _>(&w.exact()[1], b)
    }),
    target("exact_public_key", bfv::exact_public_keys, |w, b| {
        object::<bellerophon::bfv::PublicKey, _>(&w.exact()[1], b)
    }),
    target("packing_keys", bfv::packing_keys, |w, b| {
        object::<bellerophon::bfv::SeededPackingKeys, _>(&w.exact()[1], b)
    }),
    target("lookup_server_keys", bfv::lookup_server_keys, |w, b| {
        object::<bellerophon::pir::ServerKeys, _>(&w.exact()[0], b)
    }),
    Target {
        memory: BATCH,
        ..target("query", bfv::queries, |w, b| {
            object::<bellerophon::pir::Query, _>(&w.exact()[0], b)
        })
    },
    target("response", bfv::responses, |w, b| {
        object::<bellerophon::pir::Response, _>(&w.exact()[0], b)
    }),
    target("encrypted_function", bfv::encrypted_functions, |w, b| {
        object::<bellerophon::pir::EncryptedFunction, _>(&w.exact()[0], b)
    }),
    Target {
        memory: TRANSFORMS,
        ..target("exact_secret_key", bfv::secret_keys, |w, b| {
            read_secret::<bellerophon::bfv::SecretKey, _>(&w.exact()[1], b)
        })
    },
    Target {
        memory: TRANSFORMS,
        ..target("lookup_client", bfv::clients, |w, b| {
            read_secret::<bellerophon::pir::Client, _>(&w.exact()[0], b)
        })
    },
    target("lookup_pending", bfv::pendings, |w, b| {
        read_secret::<bellerophon::pir::Pending, _>(&w.exact()[0], b)
    }),
    Target {
        shape: Shape::Set,
        memory: HOISTED,
        ..target("evaluation_keys", evaluation_keys, |w, b| read_evaluation_keys(&w.params, b))
    },
    Target {
        shape: Shape::Set,
        ..target("evaluation_keys_bootstrapping", evaluation_keys_bootstrap, |w, b| {
            read_evaluation_keys(&w.bootstrapping, b)
        })
    },
    Target {
        shape: Shape::Set,
        ..target("evaluation_keys_functional", evaluation_keys_functional, |w, b| {
            read_evaluation_keys(&w.functional().0, b)
        })
    },
    Target {
        shape: Shape::Set,
        memory: SHORT,
        ..target("evaluation_keys_tables", evaluation_keys_tables, |w, b| {
            read_evaluation_keys(&w.tables().0, b)
        })
    },
];

fn lattice_params(world: &'static World) -> Vec<Vec<u8>> {
    let spec = world.lattice().spec().clone();
    let sparse = mlwe::Params::new(mlwe::ParamsSpec { secret: SecretKind::Sparse(4), ..spec });
    let sets = [world.lattice(), world.raised.params(), &sparse.unwrap()];
    sets.map(|params| sample(&ANY, params)).to_vec()
}

fn lattice_ciphertexts(world: &'static World) -> Vec<Vec<u8>> {
    let of = |limbs: usize| {
        let ct = ckks::encrypt(
            world.params.ckks(),
            &world.plaintext(limbs),
            &world.secret,
            &mut rng(10),
        );
        sample(world.lattice(), ct.unwrap().lattice())
    };
    vec![of(4), of(1)]
}

fn fresh_lattice_ciphertexts(world: &'static World) -> Vec<Vec<u8>> {
    let of = |limbs: usize| {
        let ct = ckks::encrypt_seeded(
            world.params.ckks(),
            &world.plaintext(limbs),
            &world.secret,
            &mut rng(11),
        );
        sample(world.lattice(), &ct.unwrap().inner)
    };
    vec![of(4), of(2)]
}

fn public_keys(world: &'static World) -> Vec<Vec<u8>> {
    vec![sample(world.lattice(), &PublicKey::generate(&world.secret, &mut rng(12)))]
}

fn switching_keys(world: &'static World) -> Vec<Vec<u8>> {
    let of = |from: &mlwe::SecretKey, limbs: usize| {
        let key = KeySwitchKey::between(from, &world.secret, limbs, &mut rng(13)).unwrap();
        sample(world.lattice(), &key)
    };
    vec![of(&world.other, 4), of(&world.raised, 2)]
}

fn galois_keys(world: &'static World) -> Vec<Vec<u8>> {
    let conjugation = mlwe::conjugation_exponent(world.lattice().spec().degree);
    let of = |exponent: usize, limbs: usize| {
        let key = GaloisKey::generate(&world.secret, exponent, limbs, &mut rng(14)).unwrap();
        sample(world.lattice(), &key)
    };
    vec![of(5, 4), of(conjugation, 2)]
}

fn rank_keys(world: &'static World) -> Vec<Vec<u8>> {
    let key = RankReduceKey::generate(&world.raised, &world.secret, 3, &mut rng(15)).unwrap();
    vec![sample(world.lattice(), &key)]
}

fn relinearisation_keys(world: &'static World) -> Vec<Vec<u8>> {
    let of = |limbs: usize| {
        let key = RelinKeys::generate(&world.route, &world.secret, limbs, &mut rng(16)).unwrap();
        sample(&world.route, &key)
    };
    vec![of(4), of(2)]
}

fn raising_keys(world: &'static World) -> Vec<Vec<u8>> {
    let key = ModRaiseKey::generate(&world.raised, &world.secret, 3, &mut rng(17)).unwrap();
    vec![sample(world.lattice(), &key)]
}

fn slot_params(world: &'static World) -> Vec<Vec<u8>> {
    let plain = world.params.ckks();
    let routed = plain.clone().relinearizing(world.route.clone()).unwrap();
    let bridged = world.lookups().slots.clone();
    let sets = [plain.clone(), routed, world.bootstrapping.ckks().clone(), bridged];
    sets.iter().map(|params| sample(&ANY, params)).collect()
}

fn vectors(world: &'static World) -> Vec<Vec<u8>> {
    let of = |level: usize| {
        let ct = world.client.encrypt_with(&[0.5, -0.25, 3.0], -4.0..=4.0, level, &mut rng(18));
        sample(&world.params, &ct.unwrap())
    };
    let slots = world.params.ckks();
    let complex = [ckks::Complex64::new(0.5, 1.0)];
    let disc = ckks::Interval::complex(2.0).unwrap();
    let complex = ckks::Encoder::new(slots).encode(&complex, disc, slots.scale(), 2).unwrap();
    let complex = ckks::encrypt(slots, &complex, &world.secret, &mut rng(19)).unwrap();
    vec![of(3), of(0), sample(&world.params, &complex)]
}

fn published_vectors(world: &'static World) -> Vec<Vec<u8>> {
    let slots = world.params.ckks();
    let keys = ckks::EvaluationKeys::generate(
        slots,
        &world.secret,
        &ckks::KeyLevels::default(),
        &mut rng(21),
    );
    let evaluator = ckks::Evaluator::new(slots, &keys.unwrap()).unwrap();
    let ct = world.client.encrypt_with(&[0.5, -0.25, 3.0], -4.0..=4.0, 1, &mut rng(22)).unwrap();
    let real = evaluator.publish(&ct, -4.0..=4.0).unwrap();
    let declared = ckks::Declaration::complex(4.0).with_noise(1e-3);
    let complex = evaluator.publish(&evaluator.mul_i(&ct).unwrap(), declared).unwrap();
    vec![sample(&world.params, &real), sample(&world.params, &complex)]
}

fn provided_vectors(world: &'static World) -> Vec<Vec<u8>> {
    let public = world.client.public_key_with(&mut rng(23)).unwrap();
    let of = |level: usize| {
        let values = [0.5, -0.25, 3.0];
        let provided = public.encrypt_with(&values, -4.0..=4.0, level, &mut rng(24)).unwrap();
        sample(&world.params, &provided)
    };
    vec![of(3), of(1)]
}

fn fresh_vectors(world: &'static World) -> Vec<Vec<u8>> {
    let of = |level: usize| {
        let values = [0.5, -0.25, 3.0];
        let ct = world.client.encrypt_seeded_with(&values, -4.0..=4.0, level, &mut rng(20));
        sample(&world.params, &ct.unwrap())
    };
    vec![of(3), of(1)]
}

fn bootstrap_keys(world: &'static World) -> Vec<Vec<u8>> {
    let all = key_set(&world.bootstrap_client, &Needs::new().bootstrap());
    let last = envelope::split_set(&all).pop();
    vec![last.expect("they come last").to_vec()]
}

fn params(world: &'static World) -> Vec<Vec<u8>> {
    [&world.params, &world.bootstrapping, &world.tables().0, &world.functional().0]
        .map(|params| sample(&ANY, params))
        .to_vec()
}

fn secret_keys(world: &'static World) -> Vec<Vec<u8>> {
    vec![world.client.to_secret_bytes().unwrap().expose().to_vec()]
}

fn key_set(client: &ClientKey, needs: &Needs) -> Vec<u8> {
    let mut bytes = Vec::new();
    client.evaluation_keys_with(needs, &mut rng(23)).unwrap().write_to(&mut bytes).unwrap();
    bytes
}

fn evaluation_keys(world: &'static World) -> Vec<Vec<u8>> {
    vec![
        key_set(&world.client, &Needs::new().multiply().rotate([1])),
        key_set(&world.client, &world.needs),
        key_set(&world.client, &Needs::new()),
    ]
}

fn evaluation_keys_bootstrap(world: &'static World) -> Vec<Vec<u8>> {
    vec![envelope::special_keys(&key_set(&world.bootstrap_client, &Needs::new().bootstrap()))]
}

fn evaluation_keys_functional(world: &'static World) -> Vec<Vec<u8>> {
    let client = &world.functional().1;
    vec![envelope::special_keys(&key_set(client, &Needs::new().functional()))]
}

fn evaluation_keys_tables(world: &'static World) -> Vec<Vec<u8>> {
    let client = &world.tables().1;
    let of = |bridge, engine| {
        let needs = Needs::new().map_with([engine]).bridge(bridge);
        envelope::special_keys(&key_set(client, &needs))
    };
    vec![of(Bridge::Ring, Engine::Rgsw), of(Bridge::Linear, Engine::Rgsw)]
}

fn read_secret<T, P>(params: &'static P, bytes: &[u8]) -> Result<Read>
where
    T: SecretWire + 'static,
    P: Context<T::Params>,
{
    let secret: T = SecretBytes::new(bytes.to_vec()).read(params)?;
    let write = move || {
        let bytes = SecretBytes::of(params, &secret).expect("what was read can be written");
        bytes.expose().to_vec()
    };
    Ok(Read { write: Box::new(write), used: bytes.len() })
}

fn read_evaluation_keys(params: &'static Params, mut bytes: &[u8]) -> Result<Read> {
    let len = bytes.len();
    let keys = EvaluationKeys::read_from(params, &mut bytes, 1 << 30)?;
    let write = move || {
        let mut bytes = Vec::new();
        keys.write_to(&mut bytes).expect("what was read can be written");
        bytes
    };
    Ok(Read { write: Box::new(write), used: len - bytes.len() })
}
