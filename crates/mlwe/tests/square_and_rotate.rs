//! The public interface, from parameters to a decrypted result: a product, its rescaling and an
//! automorphism.

use bellerophon_mlwe::{
    GaloisKey, Params, ParamsSpec, RelinKeys, RelinStrategy, SecretKey, SecretKind, Security,
    noise::measured,
};
use bellerophon_ring::prime;
use rand::{
    SeedableRng,
    rngs::{StdRng, SysRng},
};

#[test]
fn a_square_is_rescaled_and_rotated() -> Result<(), Box<dyn std::error::Error>> {
    let q = prime::ntt_primes_around(1024, 45, 3, &[])?;
    let p = prime::ntt_primes_below(1024, 50, 1, &q)?;
    let params = Params::new(ParamsSpec {
        degree: 1024,
        rank: 2,
        q: q.iter().map(|q| q.value()).collect(),
        p: p.iter().map(|p| p.value()).collect(),
        secret: SecretKind::Ternary,
        sigma: 3.2,
        security: Security::Insecure, // 185 bits of modulus at dimension 2048
    })?;
    let mut rng = StdRng::try_from_rng(&mut SysRng)?;
    let secret = SecretKey::generate(&params, &mut rng)?;
    let strategy = RelinStrategy::direct(&params);
    let relin = RelinKeys::generate(&strategy, &secret, params.q().limbs(), &mut rng)?;
    let rotate = GaloisKey::generate(&secret, 5, params.q().limbs(), &mut rng)?;

    // 2^40 X, squared and divided by the last prime (about 2^45), then X -> X^5.
    let mut coefficients = vec![0; 1024];
    coefficients[1] = 1 << 40;
    let message = params.q().forward(params.q().from_signed(&coefficients));
    let ct = secret.encrypt(&message, &mut rng)?;
    let ct = rotate.apply(&params, &relin.multiply(&ct, &ct, 0)?.rescale(&params, 1)?)?;

    let ring = ct.ring(&params);
    let phase = measured::centered_f64(&ring, &ring.inverse((*ct.phase(&secret)?).clone()));
    assert!((phase[10] / 2f64.powi(35) - 1.0).abs() < 1e-6);
    assert!(phase[11].abs() < 2f64.powi(12));
    Ok(())
}
