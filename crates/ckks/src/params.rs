//! Literal parameters and their checked, immutable form.

use std::{fmt, sync::Arc};

use bellerophon_mlwe::{self as mlwe, SecretKind, Security};
use bellerophon_ring::{Modulus, NttTable, Ring, prime};

use crate::{Error, Result, embedding::Embedding, sparse::SparseTransforms};

/// Smallest and largest supported default scale, in bits.
const LOG_SCALES: std::ops::RangeInclusive<u32> = 10..=100;

/// A CKKS parameter set as written down: the lattice below and the default scale.
#[derive(Debug, Clone, PartialEq)]
pub struct ParamsSpec {
    /// Ring degree, rank, primes `q_0 .. q_L`, special primes, secret, noise, security.
    pub lattice: mlwe::ParamsSpec,
    /// Fresh encodings multiply the message by `2^log_scale`. A message `m` fits level `l` while
    /// `|m| 2^log_scale < q_0 .. q_l / 2`; the noise of an operation costs about `2^13 / 2^log_scale`
    /// at `N = 2^15`.
    pub log_scale: u32,
}

/// Sizes of primes, from which [`ParamsSpec::from_chain`] picks a modulus chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// Ring degree `N`.
    pub degree: usize,
    /// Bits of `q_0`, which bounds the message at level 0. A prime below `2^first_bits`.
    pub first_bits: u32,
    /// `(bits, count)` of the primes `q_1, q_2, ..` in order: those nearest to `2^bits`, from both
    /// sides (the approximate basis of Full-RNS HEAAN, section 3.1).
    pub levels: Vec<(u32, usize)>,
    /// `(bits, count)` of the special primes, the largest ones below `2^bits`. Their product bounds
    /// the digits of a key switch, runs of consecutive primes of the chain: the larger, the fewer.
    pub special: (u32, usize),
}

impl ParamsSpec {
    /// A rank-one set with a dense ternary secret, `sigma = 3.2` and primes of the given sizes.
    ///
    /// # Errors
    /// [`bellerophon_ring::Error::PrimesExhausted`] when there are too few primes of a size.
    pub fn from_chain(chain: &Chain, log_scale: u32, security: Security) -> Result<Self> {
        let degree = chain.degree;
        let mut q = prime::ntt_primes_below(degree, chain.first_bits, 1, &[])?;
        for &(bits, count) in &chain.levels {
            q.extend(prime::ntt_primes_around(degree, bits, count, &q)?);
        }
        let p = prime::ntt_primes_below(degree, chain.special.0, chain.special.1, &q)?;
        let values = |primes: &[Modulus]| primes.iter().map(Modulus::value).collect();
        Ok(Self {
            lattice: mlwe::ParamsSpec {
                degree,
                rank: 1,
                q: values(&q),
                p: values(&p),
                secret: SecretKind::Ternary,
                sigma: 3.2,
                security,
            },
            log_scale,
        })
    }

    /// The set W1 on which libraries are compared: `N = 2^15`, 14 primes of 45 to 50 bits, three
    /// special primes below `2^50`, scale `2^45`, 128 bits.
    pub fn w1() -> Result<Self> {
        let chain =
            Chain { degree: 1 << 15, first_bits: 50, levels: vec![(45, 13)], special: (50, 3) };
        Self::from_chain(&chain, 45, Security::Bits128)
    }
}

/// A checked CKKS parameter set with everything that encoding and evaluation precompute.
///
/// Cloning is cheap: the contents stand behind an `Arc`.
#[derive(Clone)]
pub struct Params {
    inner: Arc<Inner>,
}

struct Inner {
    lattice: mlwe::Params,
    log_scale: u32,
    /// The ring at `1, 2, .. L + 1` limbs.
    rings: Vec<Ring>,
    /// `log2` of `Q` at `1, 2, .. L + 1` limbs.
    log2_modulus: Vec<f64>,
    embedding: Embedding,
    sparse: SparseTransforms,
}

impl Params {
    /// Checks the literal and prepares the tables.
    ///
    /// # Errors
    /// Those of [`mlwe::Params::new`] (security among them), and [`Error::Params`] when the default
    /// scale is not in `2^10..=2^100`.
    pub fn new(spec: ParamsSpec) -> Result<Self> {
        Self::over(mlwe::Params::new(spec.lattice)?, spec.log_scale)
    }

    /// As [`new`](Self::new) over a checked lattice.
    pub fn over(lattice: mlwe::Params, log_scale: u32) -> Result<Self> {
        if !LOG_SCALES.contains(&log_scale) {
            return Err(Error::Params {
                reason: format!("default scale 2^{log_scale}: need 2^10 to 2^100"),
            });
        }
        let full = lattice.q();
        let rings: Vec<Ring> = (1..=full.limbs()).map(|limbs| full.prefix(limbs)).collect();
        let inner = Inner {
            log_scale,
            log2_modulus: rings.iter().map(Ring::log2_modulus).collect(),
            embedding: Embedding::new(full.degree() / 2),
            sparse: SparseTransforms::new(full),
            rings,
            lattice,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The lattice parameters.
    pub fn lattice(&self) -> &mlwe::Params {
        &self.inner.lattice
    }

    /// The ring degree `N`.
    pub fn degree(&self) -> usize {
        self.inner.lattice.degree()
    }

    /// The number of complex slots, `N / 2`.
    pub fn max_slots(&self) -> usize {
        self.degree() / 2
    }

    /// Number of primes `L + 1` of the full chain.
    pub fn limbs(&self) -> usize {
        self.inner.rings.len()
    }

    /// The highest level `L`.
    pub fn max_level(&self) -> usize {
        self.limbs() - 1
    }

    /// The default scale.
    pub fn scale(&self) -> f64 {
        2f64.powi(self.inner.log_scale as i32)
    }

    /// The ring of ciphertexts with `limbs` limbs.
    ///
    /// # Panics
    /// When `limbs` is zero or above [`limbs`](Self::limbs).
    pub fn ring(&self, limbs: usize) -> &Ring {
        &self.inner.rings[limbs - 1]
    }

    /// The prime `q_level` as a number: what a rescaling at that level divides by. Exact below
    /// `2^53`, otherwise correct to `2^-53`.
    ///
    /// # Panics
    /// When the level is above [`max_level`](Self::max_level).
    pub fn prime(&self, level: usize) -> f64 {
        self.modulus(level).value() as f64
    }

    /// The prime `q_level`.
    ///
    /// # Panics
    /// When the level is above [`max_level`](Self::max_level).
    pub fn modulus(&self, level: usize) -> &Modulus {
        self.lattice().q().modulus(level)
    }

    /// `log2(q_0 .. q_{limbs - 1})`.
    ///
    /// # Panics
    /// When `limbs` is zero or above [`limbs`](Self::limbs).
    pub fn log2_modulus(&self, limbs: usize) -> f64 {
        self.inner.log2_modulus[limbs - 1]
    }

    /// The largest magnitude of a message that `limbs` limbs hold at this scale, `Q / (2 scale)`.
    ///
    /// # Panics
    /// When `limbs` is zero or above [`limbs`](Self::limbs).
    pub fn capacity(&self, limbs: usize, scale: f64) -> f64 {
        (self.log2_modulus(limbs) - 1.0 - scale.log2()).exp2()
    }

    /// The exponent `5^step mod 2N` of the automorphism that moves slot `j + step` to slot `j`.
    /// Steps count modulo [`max_slots`](Self::max_slots); negative ones rotate to the right.
    pub fn rotation_exponent(&self, step: i64) -> usize {
        mlwe::rotation_exponent(self.degree(), step)
    }

    /// The step in `[0, N/2)` by which `X -> X^exponent` rotates, or nothing when it is no rotation.
    pub fn rotation_step(&self, exponent: usize) -> Option<usize> {
        let order = 2 * self.degree();
        if exponent % 4 != 1 {
            return None;
        }
        // 5^(2^j) = 1 + 2^(j+2) modulo 2^(j+3): the lowest bits tell the step, bit by bit.
        let (mut step, mut rest) = (0usize, exponent % order);
        for j in 0..self.max_slots().trailing_zeros() {
            if rest >> (j + 2) & 1 == 1 {
                step |= 1 << j;
                rest = rest * self.rotation_exponent(-(1i64 << j)) % order;
            }
        }
        Some(step)
    }

    /// The exponent `2N - 1` of the automorphism that conjugates every slot.
    pub fn conjugation_exponent(&self) -> usize {
        mlwe::conjugation_exponent(self.degree())
    }

    /// Public identity of the lattice parameters, for mismatch errors.
    pub fn fingerprint(&self) -> u64 {
        self.inner.lattice.fingerprint()
    }

    /// The canonical embedding of up to [`max_slots`](Self::max_slots) slots: what the encoder is
    /// made of.
    pub fn embedding(&self) -> &Embedding {
        &self.inner.embedding
    }

    /// The transform modulo `q_limb` of polynomials in `X^(N / degree)`, such as encodings of
    /// `degree / 2` slots: a table for their `degree` coefficients, and for each position of the
    /// transform of degree `N` the position in the small one that holds its value. No positions
    /// when `degree` is `N`.
    ///
    /// # Panics
    /// Unless `degree` is a power of two from 8 to `N` and there is such a limb.
    pub fn small_transform(&self, degree: usize, limb: usize) -> (&NttTable, &[u32]) {
        self.inner.sparse.transform(degree, limb)
    }

    pub(crate) fn sparse(&self) -> &SparseTransforms {
        &self.inner.sparse
    }

    /// Refuses operands of another parameter set.
    pub(crate) fn check(&self, op: &'static str, fingerprint: u64) -> Result<()> {
        if fingerprint != self.fingerprint() {
            let (left, right) = (self.fingerprint(), fingerprint);
            return Err(Error::ParamsMismatch { op, left, right });
        }
        Ok(())
    }

    /// Refuses limb counts that this chain does not have.
    pub(crate) fn check_limbs(&self, op: &'static str, limbs: usize) -> Result<()> {
        if limbs == 0 || limbs > self.limbs() {
            let (wanted, highest) = (limbs.wrapping_sub(1), self.max_level());
            return Err(Error::LevelTooHigh { op, wanted, highest });
        }
        Ok(())
    }

    /// Refuses messages that may wrap around the modulus of `limbs` limbs.
    pub(crate) fn check_range(
        &self,
        op: &'static str,
        bound: f64,
        scale: f64,
        limbs: usize,
    ) -> Result<()> {
        let log2_modulus = self.log2_modulus(limbs);
        let log2_scale = scale.log2();
        let fits = bound == 0.0 || bound.log2() + log2_scale < log2_modulus - 1.0;
        // Written so that a bound that is no number is refused.
        if !fits {
            let level = limbs - 1;
            return Err(Error::RangeOverflow { op, bound, log2_scale, log2_modulus, level });
        }
        Ok(())
    }
}

impl fmt::Debug for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Params")
            .field("degree", &self.degree())
            .field("rank", &self.lattice().rank())
            .field("limbs", &self.limbs())
            .field("log_scale", &self.inner.log_scale)
            .field("fingerprint", &format_args!("{:016x}", self.fingerprint()))
            .finish()
    }
}
