//! Metadata and computation agree, for the circuits without a prediction of their own in the public
//! API: C2S, the mod raise with its trace, and EvalMod. The others: `tests/ckks/circuits_agree.rs`.

use bellerophon_ckks::simulator::one_key;
use bellerophon_ckks::{
    Encoder, EvaluationKeys, Evaluator, Interval, Params, ParamsSpec, SecretKey, Security, encrypt,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use crate::bootstrap::{BootstrapKeys, BootstrapSpec, Bootstrapper};
use crate::eval_mod::Mod1Output;

/// Bootstrapping of a toy ring step by step, with exactly the keys that the bootstrapper lists.
#[test]
fn steps_of_a_bootstrap_have_their_metadata() {
    let log_degree = 8;
    for slots in [1 << (log_degree - 1), 1 << 6, 1 << 3] {
        let spec = BootstrapSpec { encode_ahead: false, ..BootstrapSpec::new(slots) };
        let chain = spec.chain(1 << log_degree, 42, 1, (49, 6)).unwrap();
        let params = ParamsSpec::from_chain(&chain, 42, Security::Insecure).unwrap();
        let bootstrapper = Bootstrapper::new(&Params::new(params).unwrap(), spec).unwrap();
        let (params, raising) = (bootstrapper.params(), bootstrapper.raising());
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        let secret = SecretKey::generate(params.lattice(), &mut rng).unwrap();
        let keys =
            EvaluationKeys::generate(params, &secret, &bootstrapper.keys(), &mut rng).unwrap();
        let own = BootstrapKeys::generate(raising, &secret, &mut rng).unwrap();
        let evaluator = Evaluator::new(params, &keys).unwrap();

        let values: Vec<f64> = (0..slots).map(|_| rng.random_range(-1.0..1.0)).collect();
        let limbs = params.limbs_at(bootstrapper.input_level());
        let range = Interval::real(-1.0, 1.0).unwrap();
        let plain = Encoder::new(params).encode(&values, range, params.scale(), limbs).unwrap();
        let x = encrypt(params, &plain, &secret, &mut rng).unwrap();
        let meta = raising.meta(&x.metadata(), &one_key).unwrap();

        // S2C, mod raise and trace.
        let coefficients = raising.to_coefficients(&own, &x).unwrap();
        let raised = raising.raise(&evaluator, &own, coefficients, &meta).unwrap();
        assert_eq!(*raised.meta(), meta.raised.meta);
        assert_eq!(params.level_at(raised.lattice().limbs()), meta.raised.level);

        // C2S.
        let predicted = raising.c2s.meta(&meta.raised, &one_key).unwrap().result;
        let found = raising.c2s.apply(&evaluator, &raised).unwrap();
        assert_eq!(found.metadata(), predicted);
        let (re, im) = raising.to_slots(&evaluator, &raised, (&meta, false)).unwrap();
        for part in [&re, &im.unwrap()] {
            assert_eq!(part.metadata(), meta.part);
        }

        // EvalMod.
        let output = Mod1Output { amplitude: 1.0, scale: params.scale() };
        let predicted =
            bootstrapper.reduction().meta(params, &re.metadata(), output).unwrap().result;
        let found = bootstrapper.reduction().apply(&evaluator, &re, output).unwrap();
        assert_eq!(found.metadata(), predicted);
    }
}
