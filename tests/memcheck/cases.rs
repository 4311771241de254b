//! What runs under memcheck, on secrets that are marked. Masks are public: their seeds are not
//! marked, nor are the identities of keys.

use std::{convert::Infallible, hint::black_box};

use bellerophon::{
    Flooding, bfv,
    ckks::{
        self, Encoder, Interval, LevelGroup, ModulusChain, noise_flooding::decrypt_flooded,
        simulator::Simulator,
    },
    lwe,
    mlwe::{self, PublicKey, RelinKeys, RelinStrategy, SecretKey, SecretKind, Security},
    ring::{
        Modulus,
        backend::memcheck::{mark_public, mark_secret},
        prime,
        sample::{self, Gaussian, SecretRng},
    },
};
use rand::{Rng, SeedableRng, TryCryptoRng, TryRng};
use rand_chacha::ChaCha20Rng;

/// A case, and the words of the report that it must cause.
pub struct Case {
    pub name: &'static str,
    pub run: fn(),
    pub must_report: Option<&'static str>,
}

pub const ALL: &[Case] = &[
    Case { name: "control-branch", run: branch, must_report: Some("Conditional jump") },
    Case { name: "control-address", run: address, must_report: Some("Use of uninitialised value") },
    Case { name: "sampling", run: sampling, must_report: None },
    Case { name: "lattice", run: lattice, must_report: None },
    Case { name: "slots", run: slots, must_report: None },
    Case { name: "lwe", run: lwe_values, must_report: None },
    Case { name: "exact", run: exact, must_report: None },
];

/// Bytes of a seed; nothing else is drawn in requests of this size.
const SEED: usize = 32;

/// A generator that marks what it returns, as a function of number and bytes of the request.
struct Marked {
    rng: ChaCha20Rng,
    requests: usize,
    is_secret: Box<dyn Fn(usize, usize) -> bool>,
}

impl Marked {
    fn new(is_secret: impl Fn(usize, usize) -> bool + 'static) -> Self {
        let rng = ChaCha20Rng::seed_from_u64(2026);
        Self { rng, requests: 0, is_secret: Box::new(is_secret) }
    }

    /// Everything is secret.
    fn all() -> Self {
        Self::new(|_, _| true)
    }

    /// Everything but seeds is secret.
    fn but_seeds() -> Self {
        Self::new(|_, bytes| bytes != SEED)
    }

    /// The first requests are secret.
    fn first(count: usize) -> Self {
        Self::new(move |request, _| request < count)
    }
}

impl TryRng for Marked {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.next_u64() as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.fill_bytes(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.rng.fill_bytes(bytes);
        if (self.is_secret)(self.requests, bytes.len()) {
            mark_secret(bytes);
        }
        self.requests += 1;
        Ok(())
    }
}

impl TryCryptoRng for Marked {}

/// A branch on a secret.
fn branch() {
    let secret = Marked::all().next_u64();
    if secret % 3 == 1 {
        // Not a value that could be selected without a branch.
        println!("a branch was taken");
    }
}

/// An address that depends on a secret.
fn address() {
    let table: Vec<u64> = (0..256).collect();
    let secret = Marked::all().next_u64();
    black_box(table[secret as usize & 255]);
}

fn sampling() {
    const N: usize = 1024;
    let rng = &mut Marked::all();
    black_box(&sample::ternary(N, rng));
    black_box(&sample::ternary_fixed_weight(N, 192, rng).unwrap());
    black_box(&sample::bounded(N, 5, rng));
    black_box(&sample::zo(N, rng));
    for deviation in [0.5, 3.2, 54.0, 2f64.powi(40)] {
        black_box(&Gaussian::new(deviation).unwrap().sample(N, rng));
    }
    let key = [7; 32];
    mark_secret(&key);
    let mut words = [0; 4096];
    SecretRng::new(&key).fill_bytes(&mut words);
    black_box(&words);
}

/// Keys, encryption under both kinds of keys, and the phase: rank 1 and 2, a dense and a sparse
/// secret, primes of either arithmetic.
fn lattice() {
    let dense = |dimension| (SecretKind::Ternary, 2 * dimension);
    let sparse = |dimension| (SecretKind::Sparse(64), 3 * dimension);
    for (rank, bits) in [(1, 45), (1, 60), (2, 45)] {
        for (kind, requests) in [dense(rank << 10), sparse(rank << 10)] {
            let params = lattice_params(rank, bits, kind);
            let rng = &mut Marked::first(requests);
            let key = SecretKey::generate(&params, rng).unwrap();
            // Two words more: the identity.
            assert_eq!(rng.requests, requests + 2);
            mark_secret(key.coefficients(0));
            let message: Vec<i64> = (0..1024).map(|i| i % 1000 - 500).collect();
            mark_secret(&message);
            let ring = params.q();
            let message = ring.forward(ring.from_signed(&message));
            let rng = &mut Marked::but_seeds();
            let encrypted = key.encrypt(&message, rng).unwrap();
            black_box(&encrypted.phase(&key).unwrap());
            let public = PublicKey::generate(&key, rng);
            let encrypted = public.encrypt(&params, &message, rng).unwrap();
            black_box(&encrypted.phase(&key).unwrap());
            if rank == 1 {
                let strategy = RelinStrategy::choose(&params, ring.limbs()).unwrap();
                black_box(&RelinKeys::generate(&strategy, &key, ring.limbs(), rng).unwrap());
            }
        }
    }
}

fn lattice_params(rank: usize, bits: u32, secret: SecretKind) -> mlwe::Params {
    let primes = prime::ntt_primes_below(1 << 10, bits, 4, &[]).unwrap();
    let values: Vec<u64> = primes.iter().map(Modulus::value).collect();
    mlwe::Params::new(mlwe::ParamsSpec {
        degree: 1 << 10,
        rank,
        q: values[1..].to_vec(),
        p: values[..1].to_vec(),
        secret,
        sigma: 3.2,
        security: Security::Insecure,
    })
    .unwrap()
}

/// Vectors of reals: encryption, decryption, and decryption for others. What is decrypted is
/// public to its owner, and decoding may depend on it.
fn slots() {
    let chain = ModulusChain {
        degree: 1 << 11,
        first_bits: 50,
        levels: vec![LevelGroup::single(40, 3)],
        special: (50, 1),
    };
    let spec = ckks::ParamsSpec::from_chain(&chain, 40, Security::Insecure).unwrap();
    let params = ckks::Params::new(spec).unwrap();
    let lattice = params.lattice();
    let key = SecretKey::generate(lattice, &mut Marked::first(2 * lattice.dimension())).unwrap();
    let encoder = Encoder::new(&params);
    let unit = Interval::real(-1.0, 1.0).unwrap();
    let values: Vec<f64> = (0..1024).map(|i| (f64::from(i) / 163.0).sin()).collect();
    let level = params.max_level();
    let plain = encoder.encode(&values, unit, params.scale(), params.limbs_at(level)).unwrap();
    mark_secret(plain.poly().data());
    let rng = &mut Marked::but_seeds();
    let encrypted = ckks::encrypt(&params, &plain, &key, rng).unwrap();
    let decrypted = ckks::decrypt(&params, &encrypted, &key).unwrap();
    let worst = Simulator::new(&params).worst_case();
    let shown = worst.encrypt(&values, unit, level).unwrap();
    let (bound, terms) = (worst.noise_bound(&shown).unwrap(), Flooding::new(1, 1.0).unwrap());
    let flooded = decrypt_flooded(&params, &encrypted, &key, &bound, &terms, rng).unwrap();
    for plain in [&decrypted, &flooded] {
        mark_public(plain.poly().data());
        let found: Vec<f64> = encoder.decode(plain).unwrap();
        assert!(found.iter().zip(&values).all(|(x, y)| (x - y).abs() < 1e-3));
    }
}

/// LWE values: a secret, encryption and phase.
fn lwe_values() {
    const N: usize = 1024;
    let q = prime::ntt_primes_below(N, 45, 1, &[]).unwrap()[0];
    for kind in [SecretKind::Ternary, SecretKind::Sparse(192)] {
        let secret = lwe::SecretKey::generate(N, kind, &mut Marked::all()).unwrap();
        let message = [-123_456_789];
        mark_secret(&message);
        // The first request is for the noise, and the mask follows.
        let rng = &mut Marked::first(1);
        let encrypted = lwe::encrypt(&q, &secret, message[0], 54.0, rng).unwrap();
        let phase = [lwe::phase(&encrypted, &secret).unwrap()];
        mark_public(&phase);
        assert!((black_box(&phase)[0] + 123_456_789).abs() < 1000);
    }
}

/// The exact scheme of private look-up.
fn exact() {
    for spec in [bfv::ParamsSpec::lookup(257), bfv::ParamsSpec::flooding(65537)] {
        let params = bfv::Params::new(spec.unwrap()).unwrap();
        let n = params.degree();
        let key = bfv::SecretKey::generate(&params, &mut Marked::first(2 * n)).unwrap();
        let message: Vec<u64> = (0..n as u64).map(|i| i % 257).collect();
        let encrypted = key.encrypt(&message, &mut Marked::but_seeds()).unwrap();
        let decrypted = key.decrypt(&encrypted).unwrap();
        mark_public(&decrypted);
        assert_eq!(*decrypted, message);
    }
}
