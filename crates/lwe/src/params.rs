//! Parameters: [`ParamsSpec`] is a literal of plain numbers, [`Params`] the checked, immutable set.

use std::sync::Arc;

use bellerophon_mlwe::security::{
    self, Model, NTRU_TERNARY_SIGMA, SecretKind, Security, TABLE_SIGMA, lwe_estimate_bits,
    lwe_max_log2_q_over_sigma,
};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{DigitGadget, Modulus, Result, Ring, wire::Fingerprint};
use rand::CryptoRng;
use zeroize::Zeroizing;

use crate::ciphertext::Ciphertext;
use crate::engine::{Engine, NtruRotation, RgswGadget};
use crate::error;
use crate::modulus_switching::Mod2NCiphertext;
use crate::ntru::NtruContext;
use crate::rgsw::RgswContext;
use crate::secret::{BOUNDS, LARGEST, SecretKey};

/// The specification of a parameter set for programmable bootstrapping. [`Params::new`] checks it.
#[derive(Debug, Clone, PartialEq)]
pub struct ParamsSpec {
    /// LWE dimension `n`, a power of two. Blind rotation has one step for each coordinate.
    pub dimension: usize,
    /// LWE modulus `q`, a prime `1 mod 2n`, in which the key switch to dimension `n` works. It only
    /// has to be large enough to keep the rounding of that switch below one step of the table.
    pub modulus: u64,
    /// The LWE secret. Its norm determines the index error of a look-up, so a sparse secret is
    /// better where the security table allows it. All engines except [`NtruRotation::Any`] need a
    /// ternary secret.
    pub secret: SecretKind,
    /// Standard deviation of the noise of LWE key-switching keys: 0.5 to `2^32`, and at least 3.2
    /// unless [`Security::Insecure`].
    pub sigma: f64,
    /// Bits of a digit of the LWE key switch. Smaller digits mean less noise and more products.
    pub key_switch_base_log: u32,
    /// Number of these digits. If `base_log * digits` is below the bits of `q`, the lower bits are
    /// rounded away.
    pub key_switch_digits: usize,
    /// Degree `n'` of the ring of the test polynomials, which is the resolution of the tables.
    pub ring_degree: usize,
    /// `q0`, a prime `1 mod 2n'`: the modulus of the results of look-ups.
    pub ring_modulus: u64,
    /// The engine of blind rotation.
    pub engine: Engine,
    /// The ring secret.
    pub ring_secret: SecretKind,
    /// Standard deviation of the noise of the blind-rotation key: 0.5 to `2^32`, and at least 3.2
    /// unless [`Security::Insecure`].
    pub ring_sigma: f64,
    /// The required security.
    pub security: Security,
}

/// The rings and constants of an engine.
#[derive(Debug)]
pub(crate) enum EngineContext {
    Rgsw(RgswContext),
    Ntru(NtruContext),
}

/// A checked parameter set with its rings and constants. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Params(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    spec: ParamsSpec,
    lwe_ring: Ring,
    key_switch_gadget: DigitGadget,
    engine: EngineContext,
    table_ring: Ring,
    security_bits: f64,
    fingerprint: Fingerprint,
}

impl Params {
    /// Checks the ranges, the primes and, unless [`Security::Insecure`], the security of all keys.
    ///
    /// # Errors
    /// [`ErrorKind::Parameters`] names the field, [`ErrorKind::Insecure`] the key that is too weak.
    pub fn new(spec: ParamsSpec) -> Result<Self> {
        // Step 1: dimension, noise and secrets.
        check_dimension_noise_and_secrets(&spec)?;
        // Step 2: the ring and the gadget of the LWE key switch.
        let modulus = Modulus::new(spec.modulus)?;
        if modulus.bits() > 56 {
            let found = spec.modulus.to_string();
            return Err(error::parameter("modulus", found, "at most 56 bits".into()));
        }
        let lwe_ring = Ring::new(spec.dimension, &[modulus])?;
        let key_switch_gadget =
            DigitGadget::new(modulus, spec.key_switch_base_log, spec.key_switch_digits)?;
        // Step 3: the constants of the engine.
        let q0 = Modulus::new(spec.ring_modulus)?;
        let (engine, table_ring) = match spec.engine {
            Engine::Rgsw(gadget) => {
                let context = RgswContext::new(spec.ring_degree, q0, gadget)?;
                let ring = context.ring().at_limbs(1);
                (EngineContext::Rgsw(context), ring)
            }
            Engine::Ntru(ntru) => {
                let context = NtruContext::new(spec.ring_degree, q0, ntru)?;
                let ring = context.table_ring().clone();
                (EngineContext::Ntru(context), ring)
            }
        };
        // Step 4: the security of all keys.
        let security_bits = check_security(&spec, modulus.log2(), &engine)?;
        Ok(Self(Arc::new(Inner {
            fingerprint: fingerprint(&spec),
            spec,
            lwe_ring,
            key_switch_gadget,
            engine,
            table_ring,
            security_bits,
        })))
    }

    /// The specification that the set was built from.
    pub fn spec(&self) -> &ParamsSpec {
        &self.0.spec
    }

    /// A hash of every field except the required security. It is equal for equal schemes on any
    /// machine.
    pub fn fingerprint(&self) -> Fingerprint {
        self.0.fingerprint
    }

    /// The LWE modulus `q`.
    pub fn modulus(&self) -> &Modulus {
        self.0.lwe_ring.modulus(0)
    }

    /// The ring of degree `n` modulo `q` of the LWE key switch.
    pub fn lwe_ring(&self) -> &Ring {
        &self.0.lwe_ring
    }

    /// The digits of the LWE key switch.
    pub fn key_switch_gadget(&self) -> &DigitGadget {
        &self.0.key_switch_gadget
    }

    /// `q0`, the modulus of the results of look-ups.
    pub fn ring_modulus(&self) -> &Modulus {
        self.table_ring().modulus(0)
    }

    /// The ring of degree `n'` modulo `q0`, of the test polynomials and of rotated accumulators.
    pub(crate) fn table_ring(&self) -> &Ring {
        &self.0.table_ring
    }

    /// The constants of the external product, if the engine is RGSW.
    pub fn rgsw(&self) -> Option<&RgswContext> {
        match &self.0.engine {
            EngineContext::Rgsw(context) => Some(context),
            EngineContext::Ntru(_) => None,
        }
    }

    /// The constants of the external product, if the engine is NTRU.
    pub(crate) fn ntru(&self) -> Option<&NtruContext> {
        match &self.0.engine {
            EngineContext::Rgsw(_) => None,
            EngineContext::Ntru(context) => Some(context),
        }
    }

    /// The rings and constants of the engine.
    pub(crate) fn engine(&self) -> &EngineContext {
        &self.0.engine
    }

    /// Whether the engine rotates by even exponents of the mask only.
    pub(crate) fn even_exponents(&self) -> bool {
        self.0.spec.engine.allows_any_secret()
    }

    /// Whether one blind rotation serves several functions of a value
    /// ([`Evaluator::maps`](crate::Evaluator::maps)). The noise of the engine must be low enough.
    pub fn one_rotation_for_several(&self) -> bool {
        matches!(self.0.spec.engine, Engine::Rgsw(RgswGadget::SpecialModulus { .. }))
    }

    /// The number of transforms of degree `n'` in a blind rotation, to which its running time is
    /// proportional. For the automorphisms of a general NTRU rotation it is the expected number.
    pub fn transforms(&self) -> f64 {
        match &self.0.engine {
            // For every limb: forward transforms of the digits of both components, and inverse
            // transforms of the two components of the product.
            EngineContext::Rgsw(context) => {
                (self.spec().dimension * context.ring().limbs() * (context.rows() + 2)) as f64
            }
            // The external products, and the ring key switch with its two components.
            EngineContext::Ntru(context) => {
                let switch = context.switch_gadget().digits() + 2;
                self.ntru_products(context) * (context.gadget().digits() + 1) as f64 + switch as f64
            }
        }
    }

    /// The number of products of two polynomials modulo one prime in a blind rotation, of digits by
    /// rows.
    pub fn products(&self) -> f64 {
        match &self.0.engine {
            EngineContext::Rgsw(context) => {
                (self.spec().dimension * context.ring().limbs() * context.rows() * 2) as f64
            }
            EngineContext::Ntru(context) => {
                let switch = 2 * context.switch_gadget().digits();
                self.ntru_products(context) * context.gadget().digits() as f64 + switch as f64
            }
        }
    }

    /// The number of multiplications modulo a prime in a blind rotation: of the transforms, of the
    /// digits by the rows (two of a ternary coordinate, one of a general coordinate), and of the
    /// sums by `X^a - 1`.
    pub fn multiplications(&self) -> f64 {
        let n = self.spec().ring_degree as f64;
        let butterflies = self.transforms() * n / 2.0 * n.log2();
        let (signs, columns) = match &self.0.engine {
            _ if self.0.spec.engine.allows_any_secret() => (1.0, 0.0),
            EngineContext::Rgsw(context) => (2.0, 2.0 * context.ring().limbs() as f64),
            EngineContext::Ntru(_) => (2.0, 1.0),
        };
        let factors = signs * columns * self.spec().dimension as f64;
        butterflies + (signs * self.products() + factors) * n
    }

    /// The number of external products of an NTRU blind rotation, including the one that encrypts
    /// the test polynomial.
    fn ntru_products(&self, context: &NtruContext) -> f64 {
        let n = self.spec().dimension;
        1.0 + match context.spec().rotation {
            NtruRotation::Ternary => n as f64,
            NtruRotation::Any { window } => {
                (n + 1) as f64 + expected_automorphisms(n, self.spec().ring_degree, window)
            }
        }
    }

    /// Switches an LWE ciphertext to modulus `2N`: the exponents by which the engine can rotate.
    pub fn exponents(&self, value: &Ciphertext) -> Result<Mod2NCiphertext> {
        Mod2NCiphertext::on_grid(
            value,
            self.spec().ring_degree,
            if self.even_exponents() { 2 } else { 1 },
        )
    }

    /// Estimated bits of security of the weakest published key (default model), or 0 if no estimate
    /// exists.
    pub fn security_bits(&self) -> f64 {
        self.0.security_bits
    }
}

/// The expected number of automorphisms of a general rotation, for uniform exponents. Of the `N`
/// exponents `+-5^l` a fraction `p = 1 - exp(-n / N)` is visited. The gaps between visited
/// exponents have a geometric distribution, and a gap takes one automorphism for every started
/// window. One more automorphism changes the sign.
pub(crate) fn expected_automorphisms(dimension: usize, degree: usize, window: usize) -> f64 {
    let empty = (-(dimension as f64) / degree as f64).exp();
    degree as f64 * (1.0 - empty) / (1.0 - empty.powi(window as i32)) + 1.0
}

/// The hash of every field except the required security, in the order of [`wire`](crate::wire).
fn fingerprint(spec: &ParamsSpec) -> Fingerprint {
    // Step 1: tags and numbers of the secrets and the engine.
    let secret = |kind| match kind {
        SecretKind::Ternary => [0, 0],
        SecretKind::Sparse(weight) => [1, weight as u64],
        SecretKind::Bounded(bound) => [2, u64::from(bound)],
    };
    let engine = match spec.engine {
        Engine::Rgsw(RgswGadget::SpecialModulus { modulus }) => vec![0, modulus],
        Engine::Rgsw(RgswGadget::Digits { base_log, count }) => {
            vec![1, u64::from(base_log), count as u64]
        }
        Engine::Ntru(ntru) => {
            let window = match ntru.rotation {
                NtruRotation::Ternary => [0, 0],
                NtruRotation::Any { window } => [1, window as u64],
            };
            let digits = [u64::from(ntru.base_log), ntru.count as u64];
            let switch = [u64::from(ntru.switch_base_log), ntru.switch_count as u64];
            [&[2, ntru.modulus], &digits[..], &window, &switch].concat()
        }
    };
    // Step 2: all fields in order.
    let words = [spec.dimension as u64, spec.modulus]
        .into_iter()
        .chain(secret(spec.secret))
        .chain([spec.sigma.to_bits()])
        .chain([u64::from(spec.key_switch_base_log), spec.key_switch_digits as u64])
        .chain([spec.ring_degree as u64, spec.ring_modulus])
        .chain(engine)
        .chain(secret(spec.ring_secret))
        .chain([spec.ring_sigma.to_bits()]);
    Fingerprint::of("bellerophon 2026-11-24 parameters of look-ups", words)
}

/// Fails unless dimension, noise and secrets are within their ranges.
fn check_dimension_noise_and_secrets(spec: &ParamsSpec) -> Result<()> {
    let refuse =
        |field, found: String, needed: &str| Err(error::parameter(field, found, needed.into()));
    if !spec.dimension.is_power_of_two() {
        return refuse("dimension", spec.dimension.to_string(), "a power of two");
    }
    for (field, sigma) in [("sigma", spec.sigma), ("ring_sigma", spec.ring_sigma)] {
        if !(0.5..=4294967296.0).contains(&sigma) {
            return refuse(field, sigma.to_string(), "0.5 to 2^32");
        }
        // The security tables bound q / sigma for sigma of at least 3.2. Narrower errors are
        // easier to attack.
        if spec.security != Security::Insecure && sigma < TABLE_SIGMA {
            let needed = "3.2 or more: the security tables start there (or Security::Insecure)";
            return refuse(field, sigma.to_string(), needed);
        }
    }
    for (field, kind, dimension) in [
        ("secret", spec.secret, spec.dimension),
        ("ring_secret", spec.ring_secret, spec.ring_degree),
    ] {
        match kind {
            SecretKind::Sparse(weight) if !(1..=dimension).contains(&weight) => {
                return refuse(field, format!("weight {weight}"), "1 to the dimension");
            }
            SecretKind::Bounded(w) if !(1..=LARGEST).contains(&w) => {
                return refuse(field, kind.to_string(), BOUNDS);
            }
            SecretKind::Bounded(_) if field == "ring_secret" => {
                return refuse(field, kind.to_string(), "a ternary secret");
            }
            SecretKind::Bounded(_) if !spec.engine.allows_any_secret() => {
                let needed = "a ternary secret for this engine, or NtruRotation::Any";
                return refuse(field, kind.to_string(), needed);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks all keys against the security tables, and returns the smallest estimate in bits.
fn check_security(spec: &ParamsSpec, log2_lwe: f64, engine: &EngineContext) -> Result<f64> {
    // Step 1: the modulus of the rows that are encrypted under the ring secret.
    let (log2_ring, ring_key) = match engine {
        EngineContext::Rgsw(context) => (context.ring().log2_modulus(), "blind-rotation key"),
        EngineContext::Ntru(context) => (context.table_ring().log2_modulus(), "ring-switching key"),
    };
    // Step 2: the bounds of the LWE key-switching key and of the ring key.
    let lwe_ratio = log2_lwe - spec.sigma.log2();
    let ring_ratio = log2_ring - spec.ring_sigma.log2();
    let lwe_bound = lwe_max_log2_q_over_sigma(spec.dimension, spec.secret);
    let model = match spec.security {
        Security::Bits128Classical => Model::Bits128Classical,
        _ => Model::Bits128,
    };
    // The allowance for a wide error includes one bit of margin, so the bound is on the modulus.
    let ring_bound = security::max_log2_modulus(spec.ring_degree, spec.ring_secret, model)
        .zip(security::sigma_allowance(spec.ring_sigma))
        .map(|(bound, allowance)| bound + allowance - spec.ring_sigma.log2());
    let mut keys = vec![
        ("LWE key-switching key", spec.secret, spec.dimension, lwe_ratio, lwe_bound),
        (ring_key, spec.ring_secret, spec.ring_degree, ring_ratio, ring_bound),
    ];
    // Step 3: the estimates. The tables cover no errors narrower than TABLE_SIGMA.
    let lwe_bits = match spec.sigma >= TABLE_SIGMA {
        true => lwe_estimate_bits(spec.dimension, spec.secret, lwe_ratio),
        false => 0.0,
    };
    let ring_bits =
        security::estimate_bits(spec.ring_degree, spec.ring_secret, log2_ring, spec.ring_sigma);
    let mut bits = lwe_bits.min(ring_bits);
    // Step 4: bound and estimate of the NTRU key.
    if let EngineContext::Ntru(context) = engine {
        let (n, log2_q, sigma) =
            (spec.ring_degree, context.ring().log2_modulus(), NTRU_TERNARY_SIGMA);
        let ratio = |log2_q: f64| log2_q - sigma.log2();
        let bound = security::ntru_max_log2_modulus(n, sigma).map(ratio);
        keys.push(("NTRU blind-rotation key", SecretKind::Ternary, n, ratio(log2_q), bound));
        bits = bits.min(security::ntru_estimate_bits(n, log2_q, sigma));
    }
    // Step 5: every key must be within its bound, unless no security is required.
    if spec.security == Security::Insecure {
        return Ok(bits);
    }
    for (what, secret, dimension, log2_ratio, bound) in keys {
        if bound.is_none_or(|bound| log2_ratio > bound) {
            return Err(error::insecure(
                what,
                secret,
                dimension,
                log2_ratio,
                spec.security.name(),
                bound.map_or("a case in the tables".into(), |b| format!("{b:.2}")),
            ));
        }
    }
    Ok(bits)
}

/// The secrets of a parameter set.
impl SecretKey {
    /// Generates an LWE secret of a parameter set.
    pub fn generate_lwe<R: CryptoRng + ?Sized>(params: &Params, rng: &mut R) -> Result<Self> {
        Self::generate(params.spec().dimension, params.spec().secret, rng)
    }

    /// Generates a ring secret of a parameter set.
    pub fn generate_ring<R: CryptoRng + ?Sized>(params: &Params, rng: &mut R) -> Result<Self> {
        Self::generate(params.spec().ring_degree, params.spec().ring_secret, rng)
    }

    /// A stored LWE secret of a parameter set.
    ///
    /// # Errors
    /// If the coefficients are not possible for the distribution of the set
    /// ([`SecretKind::may_be`]).
    pub fn restore_lwe(params: &Params, coefficients: Zeroizing<Vec<i64>>) -> Result<Self> {
        Self::restore(params.spec().dimension, params.spec().secret, coefficients)
    }

    /// A stored ring secret of a parameter set.
    pub fn restore_ring(params: &Params, coefficients: Zeroizing<Vec<i64>>) -> Result<Self> {
        Self::restore(params.spec().ring_degree, params.spec().ring_secret, coefficients)
    }
}

#[cfg(test)]
pub(crate) mod tests;
