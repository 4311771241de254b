//! Noise flooding: decryption for others than the owner of the key.
//!
//! The noise of a decrypted vector depends on the secret key. Whoever sees the result and the
//! ciphertext can recover the key (Li and Micciancio, "On the security of homomorphic encryption on
//! approximate numbers", EUROCRYPT 2021). Much wider Gaussian noise hides it (Li, Micciancio,
//! Schultz and Sorrell, "Securing approximate homomorphic encryption using differential privacy",
//! CRYPTO 2022). Let `q` results be shared, and let the noise of each decryption be a vector of
//! length at most `t`. Then discrete Gaussian noise of deviation
//!
//! ```text
//! sigma = sqrt(12 q) 2^(s/2) t
//! ```
//!
//! in every coefficient bounds the distance between the `q` results and results that are
//! independent of the key. The Kullback-Leibler divergence is at most
//! `q t^2 / (2 sigma^2) = 2^-s / 24`: that of two Gaussians at distance `t` is `t^2 / (2 sigma^2)`,
//! on the integers as on the reals. By Pinsker's inequality, the statistical distance is at most
//! `2^(-s/2) / sqrt(48)`. The paper calls this `s` bits of statistical security and advises
//! `s >= 30`. The distance between results of two different inputs is at most twice as large, by
//! the triangle inequality.
//!
//! `t` must bound the noise of the program that ran, and whoever decrypts must obtain it
//! independently: the [`CiphertextMeta`](crate::CiphertextMeta) of a ciphertext was written by the
//! server. An average estimate is not enough, since sums of correlated errors exceed it (Guo,
//! Nabokov, Suvanto and Johansson, "Key recovery attacks on approximate homomorphic encryption with
//! non-worst-case noise flooding countermeasures", USENIX Security 2024). Therefore, whoever
//! decrypts runs the program on a [worst-case simulator](crate::simulator::Simulator::worst_case),
//! which gives a [`NoiseBound`]. A [`DecryptionBudget`] counts the results of a key.

mod budget;

use bellerophon_mlwe::SecretKey;
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Poly, Result, sample::Gaussian};
use rand::CryptoRng;
use zeroize::Zeroizing;

pub use budget::{DecryptionBudget, FloodedValues};

use crate::ciphertext::Ciphertext;
use crate::encode::Plaintext;
use crate::encrypt::decrypt_up_to;
use crate::error;
use crate::interval::Interval;
use crate::metadata::Metadata;
use crate::metadata::route::same_scale;
use crate::params::Params;

/// A Gaussian sample exceeds this number of standard deviations with probability below `2^-140`.
/// Such a sample would give a wrong result, but no less hidden: a wrapped sum is a function of the
/// sum.
const REACH: f64 = 14.0;

/// A bound on the noise of the result of a program, from
/// [`Simulator::noise_bound`](crate::simulator::Simulator::noise_bound).
///
/// It belongs to the parameters of the simulator: their chain and relinearization strategy.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseBound {
    params: Params,
    metadata: Metadata,
    length: f64,
}

impl NoiseBound {
    /// The bound for a ciphertext of this metadata.
    pub fn new(params: &Params, metadata: Metadata) -> Self {
        // The noise is measured from the nearest integers to the message: one half per coefficient.
        let each = metadata.meta.noise.total.sqrt() + 0.5;
        let length = each * (params.lattice().spec().degree as f64).sqrt();
        Self { params: params.clone(), metadata, length }
    }

    /// A bound on the Euclidean norm of the `N` coefficients of the noise polynomial, which is the
    /// phase minus the nearest integers to the message.
    pub fn length(&self) -> f64 {
        self.length
    }

    /// The metadata of the program's result; its variances are squares of bounds.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Refuses a ciphertext whose metadata shows that it is not a result of the program. A noise
    /// above the bound shows that the evaluator did something else than the simulator: rotations by
    /// several keys or at a temporary rank, or inputs encrypted under a public key.
    ///
    /// # Errors
    /// [`ErrorKind::Request`] for another level, scale or number of values, and for more noise;
    /// [`ErrorKind::Shape`] for another number of slots, [`ErrorKind::Domain`] for a wider range.
    pub fn check(&self, params: &Params, x: &Ciphertext) -> Result<()> {
        // Step 1: the same parameters, level, scale, slots and number of values.
        params.check_same(&self.params)?;
        let (found, expected) = (x.metadata(), self.metadata);
        let not_of_program =
            |what, found, expected| Err(error::not_of_program(what, found, expected));
        if found.level != expected.level {
            return not_of_program("level", found.level as f64, expected.level as f64);
        }
        if !same_scale(found.meta.scale, expected.meta.scale) {
            return not_of_program("scale", found.meta.scale, expected.meta.scale);
        }
        if found.meta.slots != expected.meta.slots {
            let (found, needed) = (found.meta.slots, expected.meta.slots);
            return Err(error::slot_count(found, needed, needed));
        }
        if found.meta.len != expected.meta.len {
            let [found, expected] = [found, expected].map(|metadata| metadata.meta.len as f64);
            return not_of_program("number of values", found, expected);
        }

        // Step 2: no more noise than the bound. A prediction takes an error of the slots of one
        // period, or of their real parts, for one of all coefficients.
        let degree = self.params.lattice().spec().degree;
        let coefficients = (degree / found.meta.slots) as f64;
        if found.meta.noise.total > coefficients * expected.meta.noise.total {
            let [found, expected] =
                [found, expected].map(|metadata| metadata.meta.noise.total.sqrt());
            return not_of_program("deviation of the noise", found, expected);
        }

        // Step 3: the same range or a narrower one, up to roundings of interval arithmetic.
        let [range, domain] = [found, expected].map(|metadata| metadata.meta.bounds.slots());
        let slack = 1e-9 * domain.bound();
        let wider = match domain.is_real() {
            true => Interval::real(domain.lo() - slack, domain.hi() + slack)?,
            false => Interval::complex(domain.bound() + slack)?,
        };
        if !wider.contains(&range) {
            let (what, found) = ("slots of the ciphertext", range.in_words());
            return Err(error::outside_domain(what, found, domain.lo(), domain.hi()));
        }
        Ok(())
    }
}

/// The largest number of statistical bits. Bounds on noise fail with a probability that makes more
/// bits meaningless.
const MOST_BITS: f64 = 64.0;

/// The terms of noise flooding: the number of results shared during the lifetime of a key, and the
/// bits of statistical security.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flooding {
    queries: u64,
    statistical_bits: f64,
}

impl Flooding {
    /// Terms for `queries` results at `statistical_bits` bits each. Use 30 bits or more. More than
    /// 64 are refused: the noise bound itself fails with a probability of up to `2^-62` for each
    /// encryption, rounding and key switch of the program.
    pub fn new(queries: u64, statistical_bits: f64) -> Result<Self> {
        if queries == 0 || !(1.0..=MOST_BITS).contains(&statistical_bits) {
            return Err(error::flooding(queries, statistical_bits));
        }
        Ok(Self { queries, statistical_bits })
    }

    /// The number of results.
    pub fn queries(&self) -> u64 {
        self.queries
    }

    /// The standard deviation of the flooding that hides noise of this length: `sqrt(12 q) 2^(s/2)`
    /// times the length.
    pub fn deviation(&self, length: f64) -> f64 {
        (12.0 * self.queries as f64).sqrt() * (self.statistical_bits / 2.0).exp2() * length
    }

    /// `log2` of a bound on the statistical distance between all results together and results that
    /// are independent of the key, provided that the noise bounds hold: `-s / 2 - log2(sqrt(48))`.
    pub fn log2_distance(&self) -> f64 {
        -self.statistical_bits / 2.0 - 48f64.log2() / 2.0
    }
}

/// The predicted flooding of a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predicted {
    /// Standard deviation in a coefficient.
    pub deviation: f64,
    slots: f64,
    scale: f64,
}

impl Predicted {
    /// The flooding that the terms require for this noise bound.
    pub fn new(bound: &NoiseBound, flooding: &Flooding) -> Self {
        let meta = bound.metadata().meta;
        let deviation = flooding.deviation(bound.length());
        Self { deviation, slots: meta.slots as f64, scale: meta.scale }
    }

    /// Standard deviation of the real part of a slot, in units of the message.
    pub fn slot_std(&self) -> f64 {
        self.slots.sqrt() * self.deviation / self.scale
    }

    /// A bound on the flooding in all slots, except with probability `2^log2_failure`:
    /// `sqrt(2 ln(slots / failure))` standard deviations, by the tail of the normal distribution.
    pub fn worst(&self, log2_failure: f64) -> f64 {
        let exponent = self.slots.ln() - log2_failure * std::f64::consts::LN_2;
        (2.0 * exponent).sqrt() * self.slot_std()
    }
}

/// Decrypts for others than the owner of the key: adds a discrete Gaussian of the required
/// deviation to every coefficient before anything is decoded. The [module page](self) states the
/// guarantee and where the bound must come from. Every call is a query; nothing counts it
/// ([`DecryptionBudget::decrypt_flooded`] does).
///
/// # Errors
/// Those of [`NoiseBound::check`] for a ciphertext that is not a result of the program,
/// [`ErrorKind::Range`] if message and flooding together could wrap around the modulus,
/// [`ErrorKind::Parameters`] for a deviation above that of the sampler (`2^56`).
pub fn decrypt_flooded<R: CryptoRng + ?Sized>(
    params: &Params,
    ciphertext: &Ciphertext,
    key: &SecretKey,
    bound: &NoiseBound,
    flooding: &Flooding,
    rng: &mut R,
) -> Result<Plaintext> {
    // Step 1: the ciphertext must be a result of the program that the bound belongs to.
    bound.check(params, ciphertext)?;

    // Step 2: the deviation of the flooding, for which the modulus must have room.
    let deviation = Predicted::new(bound, flooding).deviation;
    let scale = ciphertext.scale();
    let message = bound.metadata().meta.bounds.slots().bound() * scale;
    let magnitude = message + bound.length() + REACH * deviation;
    params.check_range(magnitude / scale, scale, ciphertext.lattice().limbs())?;
    let gaussian = Gaussian::new(deviation)?;

    // Step 3: decrypt and add the flooding before the phase leaves this function.
    let mut plaintext = decrypt_up_to(params, ciphertext, magnitude, key)?;
    let ring = params.ring(plaintext.limbs());
    let noise: Zeroizing<Poly<_>> = Zeroizing::new(
        ring.forward(ring.from_signed(&gaussian.sample(params.lattice().spec().degree, rng))),
    );
    ring.add_assign(&mut plaintext.poly, &noise);
    Ok(plaintext)
}
