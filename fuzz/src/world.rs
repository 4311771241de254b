//! Parameters and secrets of which the targets' objects are, the same in every run.

use std::sync::OnceLock;

use bellerophon::{
    ClientKey, Needs, Params, ParamsSpec, bfv,
    circuits::{
        bootstrap::{BootstrapSpec, Bootstrapper},
        fbt::{EncoderExt, FbtSpec},
    },
    ckks::{self, Encoder, Interval, LevelGroup, ModulusChain},
    mlwe::{self, KeyId, RelinStrategy, SecretKey, Security},
};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

#[path = "../../tests/facade/vectors/rank_sets.rs"]
mod rank_sets;

use crate::{
    envelope,
    lookups::{self, Lookups},
};

pub use rank_sets::Ranks;

/// Everything that objects are made of.
pub struct World {
    /// Slots and nothing else: 3 levels.
    pub params: Params,
    /// Its client.
    pub client: ClientKey,
    /// What the client's keys are for.
    pub needs: Needs,
    /// The client's secret, as the crates below the facade have it.
    pub secret: SecretKey,
    /// Another secret of the lattice: the coefficients of the first, backwards.
    pub other: SecretKey,
    /// A secret of the lattice of rank 2: the first, then the other.
    pub raised: SecretKey,
    /// Products by way of the larger rank.
    pub route: RelinStrategy,
    /// Slots with bootstrapping.
    pub bootstrapping: Params,
    /// Its client.
    pub bootstrap_client: ClientKey,
    degree: usize,
    /// Made when they are needed.
    lookups: OnceLock<Lookups>,
    exact: OnceLock<[bfv::Params; 2]>,
    tables: OnceLock<(Params, ClientKey)>,
    functional: OnceLock<(Params, ClientKey)>,
    ranks: OnceLock<Ranks>,
}

/// Slots over a ring of a degree: the first prime, levels of one prime each, and special primes.
pub fn slots(
    degree: usize,
    first_bits: u32,
    (bits, count): (u32, usize),
    special: (u32, usize),
) -> ckks::ParamsSpec {
    let chain =
        ModulusChain { degree, first_bits, levels: vec![LevelGroup::single(bits, count)], special };
    ckks::ParamsSpec::from_chain(&chain, bits, Security::Insecure).unwrap()
}

/// The generator of a seed.
pub fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

impl World {
    /// Over a ring of this degree, except for bootstrapping, which takes 64 coefficients.
    ///
    /// # Panics
    /// If the parameters are refused, which would be a fault of this program.
    pub fn new(degree: usize) -> Self {
        let slots = slots(degree, 50, (40, 3), (51, 2));
        let params = Params::new(ParamsSpec::arithmetic("tiny", slots)).unwrap();
        let client = ClientKey::generate_with(&params, &mut rng(1)).unwrap();
        let lattice = params.ckks().lattice();
        let spec = mlwe::ParamsSpec { rank: 2, ..lattice.spec().clone() };
        let larger = mlwe::Params::new(spec).unwrap();
        // Behind identity and length: two bytes for each coefficient.
        let stored = client.to_secret_bytes().unwrap();
        let stored = &envelope::object(stored.expose())[24..][..2 * degree];
        let mut coefficients: Vec<i64> = stored
            .chunks_exact(2)
            .map(|word| i64::from(i16::from_le_bytes([word[0], word[1]])))
            .collect();
        let secret = SecretKey::restore(lattice, &coefficients, client.id()).unwrap();
        coefficients.extend_from_within(..);
        coefficients[degree..].reverse();
        let other = SecretKey::restore(lattice, &coefficients[degree..], KeyId(2)).unwrap();
        let bootstrap = BootstrapSpec::new(degree.max(64) / 2);
        let chain = bootstrap.chain(degree.max(64), 40, 2, (50, 2)).unwrap();
        let slots = ckks::ParamsSpec::from_chain(&chain, 40, Security::Insecure).unwrap();
        let spec =
            ParamsSpec { bootstrap: Some(bootstrap), ..ParamsSpec::arithmetic("tiny", slots) };
        let bootstrapping = Params::new(spec).unwrap();
        Self {
            needs: Needs::new().multiply().rotate([1, -1]).conjugate().rotate_any(),
            raised: SecretKey::restore(&larger, &coefficients, KeyId(3)).unwrap(),
            other,
            route: RelinStrategy::new(lattice, 1, Some((2, lattice.spec().p.clone()))).unwrap(),
            bootstrap_client: ClientKey::generate_with(&bootstrapping, &mut rng(5)).unwrap(),
            degree,
            lookups: OnceLock::new(),
            exact: OnceLock::new(),
            tables: OnceLock::new(),
            functional: OnceLock::new(),
            ranks: OnceLock::new(),
            secret,
            bootstrapping,
            client,
            params,
        }
    }

    /// What look-ups take.
    pub fn lookups(&self) -> &Lookups {
        self.lookups.get_or_init(|| Lookups::new(self.degree))
    }

    /// What private look-up takes.
    pub fn exact(&self) -> &[bfv::Params; 2] {
        self.exact.get_or_init(|| crate::bfv::sets(self.degree))
    }

    /// Slots with tables and both bridges, and a client.
    pub fn tables(&self) -> &(Params, ClientKey) {
        self.tables.get_or_init(|| lookups::set(self.degree))
    }

    /// Slots with functional bootstrapping by tables of up to four entries, over a ring of at least
    /// 64 coefficients, and a client.
    ///
    /// # Panics
    /// If the parameters are refused, which would be a fault of this program.
    pub fn functional(&self) -> &(Params, ClientKey) {
        self.functional.get_or_init(|| {
            let degree = self.degree.max(64);
            let spec = FbtSpec::table(degree / 2, 4).unwrap();
            let chain = spec.chain(degree, 42, 1, (50, 3));
            let slots = ckks::ParamsSpec::from_chain(&chain, 42, Security::Insecure).unwrap();
            let functional = Some(spec);
            let spec = ParamsSpec { functional, ..ParamsSpec::arithmetic("tiny", slots) };
            let params = Params::new(spec).unwrap();
            let client = ClientKey::generate_with(&params, &mut rng(6)).unwrap();
            (params, client)
        })
    }

    /// Sets of different ranks.
    pub fn ranks(&self) -> &Ranks {
        self.ranks.get_or_init(|| Ranks::new(self.degree))
    }

    /// The lattice of the slots.
    pub fn lattice(&self) -> &mlwe::Params {
        self.params.ckks().lattice()
    }

    /// The bootstrapper of the parameters.
    ///
    /// # Panics
    /// Never: the parameters have bootstrapping.
    pub fn bootstrapper(&self) -> &Bootstrapper {
        self.bootstrapping.bootstrapper().unwrap()
    }

    /// `2, 0, 3, 1, 2, 0, ..` in one part of the slots or in both, at so many primes, with their
    /// range.
    ///
    /// # Panics
    /// If there are not so many places, or primes.
    pub fn paired(&self, count: usize, limbs: usize) -> (ckks::Plaintext, Interval) {
        let slots = self.params.ckks();
        let values: Vec<f64> = [2.0, 0.0, 3.0, 1.0].into_iter().cycle().take(count).collect();
        let range = Interval::real(0.0, 3.0).unwrap();
        let encoder = Encoder::new(slots);
        (encoder.encode_paired(&values, range, slots.scale(), limbs).unwrap(), range)
    }

    /// Some values in slots, at so many primes.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn plaintext(&self, limbs: usize) -> ckks::Plaintext {
        let slots = self.params.ckks();
        let values = [0.5, -0.25, 3.0];
        let range = Interval::real(-4.0, 4.0).unwrap();
        Encoder::new(slots).encode(&values, range, slots.scale(), limbs).unwrap()
    }
}
