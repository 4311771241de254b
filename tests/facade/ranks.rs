//! Parameter sets of a module rank above 1 through the facade (DPad-HE).

use bellerophon::ckks::{
    self, CkksOps, Interval, LevelGroup, ModulusChain, ReducingEvaluator, paper::FullRnsHeaan,
    simulator::Simulator,
};
use bellerophon::mlwe::{RankHoistedKeys, RelinKind, RelinStrategy, Security};
use bellerophon::prelude::*;
use bellerophon::{ErrorKind, ParamsSpec};

/// A toy set of dimension `2^11` with ten levels, as a module of a rank.
fn params(rank: usize) -> Params {
    let chain = ModulusChain {
        degree: 1 << 11,
        first_bits: 50,
        levels: vec![LevelGroup::single(40, 10)],
        special: (50, 1),
    };
    let slots = ckks::ParamsSpec::from_chain(&chain, 40, Security::Insecure).unwrap();
    Params::new(ParamsSpec::arithmetic("toy rank", slots.at_rank(rank).unwrap())).unwrap()
}

fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4), "{found:?}");
}

/// `x^2 rotated by 3, plus y`.
fn program<A: CkksOps>(a: &A, x: &A::Ciphertext, y: &A::Ciphertext) -> ckks::Result<A::Ciphertext> {
    a.add(&a.rotate(&a.square(x)?, 3)?, y)
}

#[test]
fn the_same_program_at_every_rank() {
    let x: Vec<f64> = (0..8).map(|i| f64::from(i) / 8.0).collect();
    let y = [0.25; 8];
    let expected: Vec<f64> = (0..8).map(|i| x[(i + 3) % 8].powi(2) + 0.25).collect();
    for rank in [1, 2, 4] {
        let params = params(rank);
        assert_eq!(params.slots(), 1024 / rank);
        // The route is chosen without a word, and named.
        let route = params.ckks().relin_strategy();
        assert!(rank > 1 || route.kind() == RelinKind::Direct);
        assert!(rank < 4 || route.kind() != RelinKind::Direct);
        let shown = params.to_string();
        assert_eq!(rank > 1, shown.contains(&format!("module rank {rank}")), "{shown}");
        assert_eq!(rank > 1, shown.contains(&format!("relinearized {route}")), "{shown}");
        // Dimension 2048, and 1024 at half the rank; of a quarter, 512, nothing is known.
        let bits = params.security_bits();
        assert!(bits <= route.raised().security_bits());
        assert_eq!(bits > 0.0, rank < 4, "{bits}");
        let client = ClientKey::generate(&params).unwrap();
        let needs = Needs::new().multiply().rotate_any();
        let keys = client.evaluation_keys(&needs).unwrap();
        assert_eq!(keys.byte_len(), params.evaluation_key_bytes(&needs).unwrap());
        let server = Evaluator::new(keys).unwrap();
        let (cx, cy) =
            (client.encrypt(&x, -2.0..=2.0).unwrap(), client.encrypt(&y, -2.0..=2.0).unwrap());
        let result = program(&server, &cx, &cy).unwrap();
        close(&client.decrypt(&result).unwrap(), &expected);
        // The simulator predicts level and scale, and the noise, too, if rotations have their own
        // keys.
        let simulator = Simulator::new(params.ckks());
        let (range, level) = (Interval::real(-2.0, 2.0).unwrap(), params.levels());
        let (sx, sy) = (
            simulator.encrypt(&x, range, level).unwrap(),
            simulator.encrypt(&y, range, level).unwrap(),
        );
        let foretold = program(&simulator, &sx, &sy).unwrap();
        assert_eq!(foretold.metadata().level, result.level());
        let own = client.evaluation_keys(&Needs::new().keys(&simulator.report().keys)).unwrap();
        let result = program(&Evaluator::new(own).unwrap(), &cx, &cy).unwrap();
        close(&client.decrypt(&result).unwrap(), &expected);
        assert!(result.metadata().noise() <= 1.5 * foretold.metadata().noise());
    }
}

#[test]
fn circuits_go_down_in_rank_by_themselves() {
    let params = params(4);
    let client = ClientKey::generate(&params).unwrap();
    let keys = client.reducing_keys(&Needs::new().multiply()).unwrap();
    let server = ReducingEvaluator::new(&keys).unwrap();
    let mut ct = client.encrypt(&[0.99, -0.995], -1.0..=1.0).unwrap();
    let mut expected = [0.99f64, -0.995];
    while ct.level() > 0 {
        ct = server.square(&ct).unwrap();
        expected.iter_mut().for_each(|x| *x *= *x);
    }
    assert!(ct.lattice().rank() < 4);
    close(&client.decrypt(&server.padded(&ct).unwrap()).unwrap(), &expected);
    let refused = client.reducing_keys(&Needs::new().bootstrap()).unwrap_err();
    assert!(refused.is(&ErrorKind::Unsupported, "' have no bootstrapping: take"), "{refused}");
}

#[test]
fn ranks_of_a_secure_set_are_as_secure() {
    // Dimension 2^13 at rank 2: 214 bits.
    let chain = ModulusChain {
        degree: 1 << 13,
        first_bits: 45,
        levels: vec![LevelGroup::single(40, 3)],
        special: (45, 1),
    };
    let spec = ckks::ParamsSpec::from_chain(&chain, 40, Security::Bits128).unwrap();
    let module = ckks::ParamsSpec { ..spec.clone().at_rank(2).unwrap() };
    let params = Params::new(ParamsSpec::arithmetic("module", module)).unwrap();
    assert!(params.security_bits() >= 128.0, "{params}");
    let ranks = params.ckks().ranks().unwrap();
    assert_eq!(ranks.len(), 2);
    for set in ranks {
        assert!(set.lattice().security_bits() >= 128.0);
        assert!(set.relin_strategy().raised().security_bits() >= 128.0);
        // What this rank publishes counts for the whole set, rotations by any step included.
        let raised = RankHoistedKeys::choose(set.lattice(), set.limbs()).unwrap();
        let keys = [set.lattice(), set.relin_strategy().raised(), &raised];
        let weakest =
            keys.map(|keys| keys.security_bits()).into_iter().fold(f64::INFINITY, f64::min);
        assert!(weakest >= params.security_bits() && weakest >= 128.0);
    }
    // Another route by hand, and what does not divide.
    let slots = params.ckks().clone();
    let direct = RelinStrategy::direct(slots.lattice());
    assert_eq!(slots.relinearizing(direct.clone()).unwrap().relin_strategy(), &direct);
    assert!(spec.clone().at_rank(3).is_err() && spec.at_rank(0).is_err());
    // The sets of the papers come at a rank too.
    let paper = FullRnsHeaan::ALL[0].spec().unwrap().at_rank(2).unwrap();
    assert_eq!(paper.lattice.rank, 2);
}
