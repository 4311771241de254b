//! A client and a server that bootstraps functionally, on a toy ring.

use bellerophon_circuits::bootstrap::{BootstrapKeys, EvaluatorExt, SimulatorExt};
use bellerophon_circuits::fbt::{EncoderExt, FbtSpec, FunctionalBootstrapper, IntVec, PairedVec};
use bellerophon_ckks::simulator::Simulator;
use bellerophon_ckks::{
    Encoder, Evaluator, Interval, Params, ParamsSpec, SecretKind, Security, encrypt,
};

use super::World;

pub struct Functional {
    pub world: World,
    pub bootstrapper: FunctionalBootstrapper,
    pub eval: Evaluator,
}

/// The structure of the full-size sets with a small ring and one level for the user.
pub fn functional(log_degree: u32, spec: FbtSpec, special: usize) -> Functional {
    functional_at(42, log_degree, spec, special)
}

/// The same with a level for the user of `log_scale` bits, the scale.
pub fn functional_at(log_scale: u32, log_degree: u32, spec: FbtSpec, special: usize) -> Functional {
    let chain = spec.chain(1 << log_degree, log_scale, 1, (50, special));
    let mut set = ParamsSpec::from_chain(&chain, log_scale, Security::Insecure).unwrap();
    set.lattice.secret = SecretKind::Sparse(64);
    let params = Params::new(set).unwrap();
    let bootstrapper = FunctionalBootstrapper::new(&params, spec).unwrap();
    let world = World::of(params, bootstrapper.keys(), 1);
    let keys = {
        let rng = &mut *world.rng.borrow_mut();
        BootstrapKeys::generate(bootstrapper.raising(), &world.secret, rng).unwrap()
    };
    let eval = world.evaluator().with_functional(bootstrapper.clone(), keys).unwrap();
    Functional { world, bootstrapper, eval }
}

impl Functional {
    pub fn integers(&self, x: &[usize], p: usize) -> IntVec {
        self.integers_at(x, p, self.bootstrapper.input_level())
    }

    pub fn integers_at(&self, x: &[usize], p: usize, level: usize) -> IntVec {
        let encoder = Encoder::new(&self.world.params);
        let plain = encoder.encode_integers(&self.bootstrapper, x, p, level).unwrap();
        let rng = &mut *self.world.rng.borrow_mut();
        let inner = encrypt(&self.world.params, &plain, &self.world.secret, rng).unwrap();
        IntVec::new(inner, p, x.len()).unwrap()
    }

    pub fn reals(&self, x: &[f64], range: Interval) -> PairedVec {
        let params = &self.world.params;
        let limbs = params.limbs_at(self.bootstrapper.input_level());
        let plain = Encoder::new(params).encode_paired(x, range, params.scale(), limbs).unwrap();
        let rng = &mut *self.world.rng.borrow_mut();
        let inner = encrypt(params, &plain, &self.world.secret, rng).unwrap();
        PairedVec::new(inner, range, x.len()).unwrap()
    }

    pub fn decrypt(&self, x: &IntVec) -> Vec<usize> {
        x.decrypt(&self.world.params, &self.world.secret, -40.0).unwrap()
    }

    pub fn simulator(&self) -> Simulator {
        Simulator::new(&self.world.params).with_functional(self.bootstrapper.clone()).unwrap()
    }
}
