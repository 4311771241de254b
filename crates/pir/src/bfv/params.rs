//! Parameters of exact plaintexts: specification in, checked parameters out.

use std::sync::Arc;

use bellerophon_mlwe::{
    self as mlwe,
    security::{self, SecretKind, Security},
};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{
    DigitGadget, Modulus, Result, Ring, prime, sample::Gaussian, wire::Fingerprint,
};

use crate::error;

/// Limit on the number of primes, and on that of special primes: more than any set needs.
pub(crate) const MOST_PRIMES: usize = 64;

/// How the keys of automorphisms are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyGadget {
    /// Signed digits of base `2^base_log` modulo the one prime. The lowest bits, which `count`
    /// digits do not cover, are rounded away. More digits mean less noise, more work and larger
    /// keys.
    Digits {
        /// `w`, 1 to 32.
        base_log: u32,
        /// Number of digits.
        count: usize,
    },
    /// Special primes. A digit covers primes of the ciphertexts up to the product of these.
    Special(Vec<u64>),
}

/// An unchecked parameter set; [`Params::new`] checks it. Secrets are uniform ternary.
#[derive(Debug, Clone, PartialEq)]
pub struct ParamsSpec {
    /// Ring degree `N`, a power of two.
    pub degree: usize,
    /// The primes of ciphertexts, each `1 mod 2N`. [`KeyGadget::Digits`] takes exactly one.
    pub q: Vec<u64>,
    /// The modulus `t` of plaintexts, 2 to `2^32`, prime or not. It is at most an eighth of every
    /// prime, and its square is at most an eighth of the product of all.
    pub plain: u64,
    /// The gadget of the key switch of automorphisms.
    pub gadget: KeyGadget,
    /// Standard deviation of the error.
    pub sigma: f64,
    /// The security level to check, for the whole modulus of the keys.
    pub security: Security,
}

impl ParamsSpec {
    /// The set for private look-up: `N = 2^11`, one prime of 50 bits (the security table allows
    /// 53), three digits of 12 bits. It answers modulo any `t` up to `2^17` for domains of up to
    /// `2^21` points.
    pub fn lookup(plain: u64) -> Result<Self> {
        let q = prime::ntt_primes_below(1 << 11, 50, 1, &[])?;
        Ok(Self {
            degree: 1 << 11,
            q: vec![q[0].value()],
            plain,
            gadget: KeyGadget::Digits { base_log: 12, count: 3 },
            sigma: security::TABLE_SIGMA,
            security: Security::Bits128,
        })
    }

    /// The set of the paper's section 5: `N = 2^11`, one prime of 54 bits, four digits of 14 bits.
    /// It has 128 bits of security in the model of its time ([`Security::Bits128Classical`]) and
    /// 126 in the default one.
    pub fn paper(plain: u64) -> Result<Self> {
        let q = prime::ntt_primes_below(1 << 11, 54, 1, &[])?;
        Ok(Self {
            q: vec![q[0].value()],
            gadget: KeyGadget::Digits { base_log: 14, count: 4 },
            security: Security::Bits128Classical,
            ..Self::lookup(plain)?
        })
    }

    /// A set with headroom for circuit privacy by noise flooding: `N = 2^13`, two primes of 50 bits
    /// and a special one. The headroom depends on `t`, the domain and the number of points
    /// ([`circuit_privacy`](crate::circuit_privacy) has a table).
    pub fn flooding(plain: u64) -> Result<Self> {
        let primes = prime::ntt_primes_below(1 << 13, 50, 3, &[])?;
        let value = |i: usize| primes[i].value();
        Ok(Self {
            degree: 1 << 13,
            q: vec![value(1), value(2)],
            gadget: KeyGadget::Special(vec![value(0)]),
            ..Self::lookup(plain)?
        })
    }
}

/// The checked gadget of the key switch.
#[derive(Debug)]
pub(crate) enum Switching {
    Digits(DigitGadget),
    Special(mlwe::Params),
}

struct Inner {
    spec: ParamsSpec,
    ring: Ring,
    switching: Switching,
    gaussian: Gaussian,
    security_bits: f64,
    fingerprint: Fingerprint,
}

/// Checked parameters: cheap to clone, immutable, shared.
#[derive(Clone)]
pub struct Params {
    inner: Arc<Inner>,
}

impl std::fmt::Debug for Params {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Params")
            .field("spec", &self.inner.spec)
            .field("security_bits", &self.security_bits())
            .field("fingerprint", &format_args!("{}", self.fingerprint()))
            .finish()
    }
}

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint() == other.fingerprint()
    }
}

impl Params {
    /// Checks the specification and builds the tables.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for digits over several primes; [`ErrorKind::Insecure`] below the
    /// stated security.
    pub fn new(spec: ParamsSpec) -> Result<Self> {
        // Step 1: the number of primes, before anything is computed from them.
        let special = match &spec.gadget {
            KeyGadget::Digits { .. } => 0,
            KeyGadget::Special(primes) => primes.len(),
        };
        if let Some(found) = [spec.q.len(), special].into_iter().find(|&len| len > MOST_PRIMES) {
            let needed = format!("at most {MOST_PRIMES}, and as many special ones");
            return Err(error::shape("primes", found, needed));
        }
        let moduli: Vec<Modulus> =
            spec.q.iter().map(|&q| Modulus::new(q)).collect::<bellerophon_ring::Result<_>>()?;
        // Step 2: t against every prime and against Q, so that noise has headroom above the
        // rounding.
        let (least, all) = (spec.q.iter().min().map_or(0.0, |&q| (q as f64).log2()), log2(&spec.q));
        let bits = (spec.plain as f64).log2();
        if !(2..=1 << 32).contains(&spec.plain) || bits > least - 3.0 || 2.0 * bits > all - 3.0 {
            let found = spec.plain.to_string();
            let needed = "2 to 2^32, an eighth of every prime, the root of an eighth of all";
            return Err(error::value("plaintext modulus t", found, needed));
        }
        // Step 3: the gadget. Security counts the largest modulus under which anything is
        // published: Q for digits, Q P with special primes.
        let (switching, security_bits) = match &spec.gadget {
            KeyGadget::Digits { base_log, count } => {
                let [q] = moduli[..] else {
                    let needed = "1 for a gadget of digits".to_string();
                    return Err(error::shape("primes", moduli.len(), needed));
                };
                let (kind, n) = (SecretKind::Ternary, spec.degree);
                security::check(spec.security, n, kind, q.log2(), spec.sigma)?;
                let bits = security::estimate_bits(n, kind, q.log2(), spec.sigma);
                (Switching::Digits(DigitGadget::new(q, *base_log, *count)?), bits)
            }
            KeyGadget::Special(p) => {
                let lattice = mlwe::Params::new(mlwe::ParamsSpec {
                    degree: spec.degree,
                    rank: 1,
                    q: spec.q.clone(),
                    p: p.clone(),
                    secret: SecretKind::Ternary,
                    sigma: spec.sigma,
                    security: spec.security,
                })?;
                let bits = lattice.security_bits();
                (Switching::Special(lattice), bits)
            }
        };
        // Step 4: the tables.
        let inner = Inner {
            ring: Ring::new(spec.degree, &moduli)?,
            switching,
            gaussian: Gaussian::new(spec.sigma)?,
            security_bits,
            fingerprint: fingerprint(&spec),
            spec,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The specification that these parameters were built from.
    pub(crate) fn spec(&self) -> &ParamsSpec {
        &self.inner.spec
    }

    /// Ring degree `N`.
    pub fn degree(&self) -> usize {
        self.inner.spec.degree
    }

    /// `R_Q`, all primes of ciphertexts.
    pub fn ring(&self) -> &Ring {
        &self.inner.ring
    }

    /// Number of limbs of a fresh ciphertext.
    pub(crate) fn limbs(&self) -> usize {
        self.inner.spec.q.len()
    }

    /// The modulus `t` of plaintexts.
    pub fn plain(&self) -> u64 {
        self.inner.spec.plain
    }

    /// Standard deviation of the error.
    pub(crate) fn sigma(&self) -> f64 {
        self.inner.spec.sigma
    }

    /// Expected `|s|^2`.
    pub(crate) fn secret_norm2(&self) -> f64 {
        SecretKind::Ternary.expected_norm2(self.degree())
    }

    /// Estimated security in bits (default model) of everything that is made public.
    pub fn security_bits(&self) -> f64 {
        self.inner.security_bits
    }

    /// A hash of every field of the specification except the security level.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.inner.fingerprint
    }

    pub(crate) fn gaussian(&self) -> &Gaussian {
        &self.inner.gaussian
    }

    pub(crate) fn switching(&self) -> &Switching {
        &self.inner.switching
    }

    /// Multiplication by `Q / t`.
    pub(crate) fn scale(&self) -> Scale {
        let (ring, t) = (self.ring(), self.plain());
        // Q m / t = floor(Q / t) m + (Q mod t) m / t: the first term by residues, the second in one
        // word.
        let (floor, rest) = (ring.big_modulus() / t, ring.big_modulus() % t);
        let residue = |q: &Modulus| (&floor % q.value()).iter_u64_digits().next().unwrap_or(0);
        let floor = ring.moduli().map(residue).collect();
        let rest = rest.iter_u64_digits().next().unwrap_or(0);
        Scale { floor, rest, t, inverse: ((1u128 << 64) / u128::from(t)) as u64 }
    }

    /// `Err` unless `found` is the fingerprint of these parameters.
    pub(crate) fn check(&self, found: Fingerprint) -> Result<()> {
        if found == self.fingerprint() {
            return Ok(());
        }
        let needed = self.fingerprint();
        Err(mlwe::error::params_mismatch(found, needed))
    }

    /// A coefficient in `[0, t)` as the number of least magnitude.
    pub(crate) fn center(&self, value: u64) -> i64 {
        let t = self.plain();
        // All ones where value > t / 2, without a branch.
        let above = ((t / 2).wrapping_sub(value) as i64) >> 63;
        value as i64 - (t as i64 & above)
    }

    /// Bytes of a polynomial of `limbs` limbs with residues packed to the bits of their primes.
    pub(crate) fn packed_len(&self, ring: &Ring) -> usize {
        ring.moduli().map(|q| (self.degree() * q.bits() as usize).div_ceil(8)).sum()
    }
}

/// Multiplies numbers modulo `t` by `Q / t` and rounds, in constant time.
#[derive(Debug)]
pub(crate) struct Scale {
    /// `floor(Q / t)` modulo each prime.
    floor: Vec<u64>,
    /// `Q mod t`.
    rest: u64,
    t: u64,
    /// `floor(2^64 / t)`.
    inverse: u64,
}

impl Scale {
    /// `round(Q m / t)` modulo prime `limb`, for `m` in `[0, t)`.
    pub(crate) fn apply(&self, limb: usize, q: &Modulus, m: u64) -> u64 {
        // x = (Q mod t) m + floor(t / 2) is below 2^64, since t is at most 2^32. The estimated
        // quotient x / t, at most t, is too small by at most one.
        let x = self.rest * m + self.t / 2;
        let quotient = ((u128::from(x) * u128::from(self.inverse)) >> 64) as u64;
        // Add one where the remainder is still t or more, without a branch: m may be secret.
        let rest = x - quotient * self.t;
        let quotient = quotient + 1 - (rest.wrapping_sub(self.t) >> 63);
        q.add(q.mul(self.floor[limb], m), quotient)
    }
}

/// `log2` of the product.
fn log2(primes: &[u64]) -> f64 {
    primes.iter().map(|&q| (q as f64).log2()).sum()
}

/// The hash of every field except the security level. Lists are preceded by their lengths.
fn fingerprint(spec: &ParamsSpec) -> Fingerprint {
    let gadget = match &spec.gadget {
        KeyGadget::Digits { base_log, count } => vec![0, u64::from(*base_log), *count as u64],
        KeyGadget::Special(primes) => {
            [1, primes.len() as u64].into_iter().chain(primes.iter().copied()).collect()
        }
    };
    // The context string is part of the hash: it names the kind of object and its version.
    let head = [spec.degree as u64, spec.plain, spec.sigma.to_bits(), spec.q.len() as u64];
    let words = head.into_iter().chain(spec.q.iter().copied()).chain(gadget);
    Fingerprint::of("bellerophon 2026-11-24 parameters of exact plaintexts", words)
}
