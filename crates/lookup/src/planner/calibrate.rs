//! Calibration of the cost model by measured kernels.

use std::{collections::VecDeque, hint::black_box, sync::OnceLock, time::Instant};

use bellerophon_lwe::{self as lwe, Engine, NtruRotation, NtruSpec, RgswGadget};
use bellerophon_mlwe::{SecretKind, Security};
use bellerophon_ring::{Result, Ring, prime};
use rand::{
    SeedableRng,
    rngs::{StdRng, SysRng},
};

use super::cost_model::CostModel;

/// Degree and number of the vectors that are transformed and multiplied. The degree is that of the
/// presets, and the vectors exceed the caches of a core. Work on a single prime runs on one thread.
const DEGREE: usize = 1 << 15;
const VECTORS: usize = 12;

/// Bits of their prime.
const BITS: u32 = 50;

/// Degree of the blind rotations, and the dimension of their LWE secret.
const TABLE_DEGREE: usize = 1 << 12;
const DIMENSION: usize = 8;

/// Repetitions, of which the fastest counts. Each takes at most two milliseconds, so that some run
/// uninterrupted on a busy machine.
const ROUNDS: usize = 24;

/// The time of counted work in programs relative to the kernels measured here: programs also read
/// keys and intermediate results from memory, and do work that is not counted. Fitted to the
/// measurements of the program `map_plan` in benches/ (docs/map.md), where every engine is
/// predicted within a third.
const OVER_TRANSFORM: f64 = 1.22;
const OVER_PRODUCT: f64 = 0.72;
const OVER_RGSW: f64 = 1.04;
const OVER_NTRU: f64 = 1.04;

/// The price of a residue of the key in a key switch of LWE values, in multiplications.
const LWE_WORD: f64 = 2.0;

/// The model of this machine, measured when it is first needed.
static THIS_MACHINE: OnceLock<CostModel> = OnceLock::new();

impl CostModel {
    /// The model of this machine: [`calibrate`](Self::calibrate), once for each process;
    /// [`SERVER`](Self::SERVER) if it fails.
    pub fn this_machine() -> Self {
        *THIS_MACHINE.get_or_init(|| Self::calibrate().unwrap_or_default())
    }

    /// Measures a model of this machine: a kernel for every kind of work. Takes less than a tenth
    /// of a second on the calling thread, and writes nothing. The scaling with threads is that of
    /// [`SERVER`](Self::SERVER).
    ///
    /// The result depends on the machine and its load. Programs that must agree on a plan should
    /// share a model, or name the engine ([`MapRequest::engines`](super::MapRequest::engines)).
    pub fn calibrate() -> Result<Self> {
        // Step 1: the vectors of transforms and products.
        let ring = Ring::new(DEGREE, &prime::ntt_primes_below(DEGREE, BITS, 1, &[])?)?;
        let coefficients: Vec<i64> = (0..DEGREE as i64).map(|i| i * 7919 % 10007 - 5000).collect();
        let vector = ring.forward(ring.from_signed(&coefficients));
        let mut vectors = VecDeque::from(vec![vector; VECTORS]);
        let factors = Vec::from(vectors.clone());
        let (left, right) = factors.split_at(VECTORS / 2);
        let pairs: Vec<_> = left.iter().zip(right).collect();
        // Step 2: the blind rotations, with two digits over one prime as in plain tables.
        let rgsw = Rotation::new(Engine::Rgsw(RgswGadget::Digits { base_log: 16, count: 2 }))?;
        let ntru = Rotation::new(Engine::Ntru(NtruSpec {
            modulus: prime::ntt_primes_below(TABLE_DEGREE, 44, 1, &[])?[0].value(),
            base_log: 15,
            count: 2,
            rotation: NtruRotation::Ternary,
            switch_base_log: 12,
            switch_count: 3,
        }))?;
        // Step 3: the measurements, and the price of one unit of each.
        let [transforms, products, rgsw_seconds, ntru_seconds] = fastest([
            &mut || {
                let back = ring.inverse(vectors.pop_front().expect("there are vectors"));
                vectors.push_back(ring.forward(back));
            },
            &mut || drop(black_box(ring.sum_of_products(&pairs))),
            &mut || rgsw.run(),
            &mut || ntru.run(),
        ]);
        let degree = DEGREE as f64;
        let multiplication = OVER_PRODUCT * products / (pairs.len() as f64 * degree);
        Ok(Self {
            step: OVER_TRANSFORM * transforms / (2.0 * degree * degree.log2()),
            multiplication,
            rgsw_step: OVER_RGSW * rgsw_seconds / Self::steps(&rgsw.params),
            ntru_step: OVER_NTRU * ntru_seconds / Self::steps(&ntru.params),
            lwe_word: LWE_WORD * multiplication,
            ..Self::SERVER
        })
    }
}

/// A blind rotation with an LWE secret of small dimension.
struct Rotation {
    params: lwe::Params,
    key: lwe::BlindRotationKey,
    exponents: [lwe::Mod2NCiphertext; 1],
    table: lwe::TestPolynomial,
}

impl Rotation {
    fn new(engine: Engine) -> Result<Self> {
        let spec = lwe::ParamsSpec {
            dimension: DIMENSION,
            modulus: prime::ntt_primes_below(DIMENSION, 28, 1, &[])?[0].value(),
            secret: SecretKind::Ternary,
            sigma: 3.2,
            key_switch_base_log: 2,
            key_switch_digits: 14,
            ring_degree: TABLE_DEGREE,
            ring_modulus: prime::ntt_primes_below(TABLE_DEGREE, 45, 1, &[])?[0].value(),
            engine,
            ring_secret: SecretKind::Ternary,
            ring_sigma: 3.2,
            security: Security::Insecure,
        };
        // The time depends on sizes only: any secrets, value and table serve.
        let params = lwe::Params::new(spec)?;
        let rng = &mut StdRng::try_from_rng(&mut SysRng)
            .expect("the operating system provides random bytes");
        let secret = lwe::SecretKey::generate_lwe(&params, rng)?;
        let of_ring = lwe::SecretKey::generate_ring(&params, rng)?;
        let key = lwe::SeededBlindRotationKey::generate(&params, &secret, &of_ring, rng)?;
        let key = key.expand(&params)?;
        let value = lwe::encrypt(params.modulus(), &secret, 0, 3.2, rng)?;
        let exponents = [params.exponents(&value)?];
        // All entries are zero: the time does not depend on the table.
        let domain = lwe::TableDomain::fit(-1.0, 1.0, TABLE_DEGREE, 16)?;
        let table = lwe::TestPolynomial::new(*params.ring_modulus(), domain, |x| x, |_| 0)?;
        Ok(Self { params, key, exponents, table })
    }

    fn run(&self) {
        let Self { params, key, exponents, table } = self;
        let found = lwe::blind_rotate_batch(params, exponents, &[table], key);
        black_box(found).expect("key, table and value are of one set");
    }
}

/// The shortest time of a call of each kernel. The kernels alternate, so that a busy moment affects
/// all of them.
fn fastest<const K: usize>(mut kernels: [&mut dyn FnMut(); K]) -> [f64; K] {
    let mut least = [f64::INFINITY; K];
    for _ in 0..ROUNDS {
        for (kernel, least) in kernels.iter_mut().zip(&mut least) {
            let begin = Instant::now();
            kernel();
            *least = least.min(begin.elapsed().as_secs_f64());
        }
    }
    least
}
