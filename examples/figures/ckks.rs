//! Group `ckks`: operations at the top level of the set W1 (N = 2^15, 14 primes, full vectors).

use bellerophon_ckks::{
    Ciphertext, Encoder, EvaluationKeys, Evaluator, KeySpec, Params, ParamsSpec, encrypt,
};
use bellerophon_mlwe::SecretKey;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::common::program::Failure;
use super::measure::Bench;

/// Measures the group.
pub fn measure(bench: &mut Bench) -> Result<(), Failure> {
    let spec = ParamsSpec::w1().map_err(Failure::run)?;
    let params = Params::new(spec).map_err(Failure::run)?;
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let secret = SecretKey::generate(params.lattice(), &mut rng).map_err(Failure::run)?;
    let needs = KeySpec::new().multiply(params.max_level()).rotate([1], params.max_level());
    let keys =
        EvaluationKeys::generate(&params, &secret, &needs, &mut rng).map_err(Failure::run)?;
    let evaluator = Evaluator::new(&params, &keys).map_err(Failure::run)?;
    let mut fresh = |shift: usize| -> bellerophon_ckks::Result<Ciphertext> {
        let values: Vec<f64> =
            (0..params.max_slots()).map(|i| ((i + shift) % 17) as f64 / 16.0).collect();
        let plaintext = Encoder::new(&params).encode(&values, params.scale(), params.limbs())?;
        encrypt(&params, &plaintext, &secret, &mut rng)
    };
    let x = fresh(0).map_err(Failure::run)?;
    let y = fresh(5).map_err(Failure::run)?;

    // The operations cannot fail in the loop if they do not fail here.
    evaluator.mul(&x, &y).map_err(Failure::run)?;
    evaluator.rotate(&x, 1).map_err(Failure::run)?;
    bench.time("ckks/W1/mul_relin_rescale".to_string(), 1, || {
        let _ = std::hint::black_box(evaluator.mul(&x, &y));
    });
    bench.time("ckks/W1/rotate".to_string(), 1, || {
        let _ = std::hint::black_box(evaluator.rotate(&x, 1));
    });
    Ok(())
}
