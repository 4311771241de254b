//! Parameter sets of several ranks, for golden files and for fuzz targets.

use std::sync::Arc;

use bellerophon::{
    circuits::bootstrap::{BootstrapSpec, Bootstrapper},
    ckks::{self, LevelGroup, ModulusChain},
    mlwe::{self, SecretKey, Security},
};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

/// Sets of different ranks and degrees with one chain of primes: 5 levels.
pub struct Ranks {
    /// Rank 1 over the ring of twice the degree, and rank 2 over the ring of the degree.
    pub conversion: (ckks::Params, ckks::Params),
    /// Their lattices.
    pub rings: (mlwe::Params, mlwe::Params),
    /// Rank 1 over both rings.
    pub switch: (ckks::Params, ckks::Params),
    /// Their lattices.
    pub switched: (mlwe::Params, mlwe::Params),
    /// Rank 2 and rank 1 over the ring of the degree.
    pub reduction: (ckks::Params, ckks::Params),
    /// A secret of rank 1 over the ring of twice the degree.
    pub secret: SecretKey,
    /// Rank 2 over the ring of the degree, and a bootstrap of four slots over the ring of twice the
    /// degree.
    pub bootstrap: (ckks::Params, Arc<Bootstrapper>),
}

impl Ranks {
    /// The sets over a ring of this degree.
    ///
    /// # Panics
    /// If there are no such primes.
    pub fn new(degree: usize) -> Self {
        let chain = ModulusChain {
            degree: 2 * degree,
            first_bits: 50,
            levels: vec![LevelGroup::single(40, 5)],
            special: (51, 1),
        };
        let spec = ckks::ParamsSpec::from_chain(&chain, 40, Security::Insecure).unwrap();
        let at = |degree: usize, rank: usize| {
            let mut spec = spec.clone();
            (spec.lattice.degree, spec.lattice.rank) = (degree, rank);
            ckks::Params::new(spec).unwrap()
        };
        let (large, module, small) = (at(2 * degree, 1), at(degree, 2), at(degree, 1));
        let lattices =
            |a: &ckks::Params, b: &ckks::Params| (a.lattice().clone(), b.lattice().clone());
        let rng = &mut ChaCha20Rng::seed_from_u64(7);
        Self {
            rings: lattices(&large, &module),
            switched: lattices(&large, &small),
            secret: SecretKey::generate(large.lattice(), rng).unwrap(),
            conversion: (large.clone(), module.clone()),
            switch: (large, small.clone()),
            reduction: (module, small),
            bootstrap: bootstrap_at_rank(degree),
        }
    }
}

/// Rank 2 over a ring of this degree, and a bootstrap of four slots over the ring of twice the
/// degree.
fn bootstrap_at_rank(degree: usize) -> (ckks::Params, Arc<Bootstrapper>) {
    let spec = BootstrapSpec::new(4);
    // The chain from which the golden files were made, with the levels of EvalMod of that time.
    let now = spec.chain(2 * degree, 40, 2, (50, 2)).unwrap();
    let reduction = now.levels.iter().map(|levels| levels.count).sum::<usize>() - 6;
    let levels = vec![
        LevelGroup::single(40, 4),
        LevelGroup::single(49, reduction - 2),
        LevelGroup::pairs(59, 1),
        LevelGroup::pairs(54, 1),
        LevelGroup::single(49, 2),
    ];
    let chain = ModulusChain { levels, ..now };
    let large = ckks::ParamsSpec::from_chain(&chain, 40, Security::Insecure).unwrap();
    let mut small = large.clone();
    (small.lattice.degree, small.lattice.rank) = (degree, 2);
    let large = ckks::Params::new(large).unwrap();
    let bootstrapper = Arc::new(Bootstrapper::new(&large, spec).unwrap());
    (ckks::Params::new(small).unwrap(), bootstrapper)
}
