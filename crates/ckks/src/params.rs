//! CKKS parameters: the literal form and the checked, immutable form.

use std::{fmt, sync::Arc};

use bellerophon_mlwe::{self as mlwe, RelinStrategy};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::error::ensure;
use bellerophon_ring::{Result, Ring, wire::Fingerprint};

use crate::embedding::Embedding;
use crate::error::{self, rounded_up};
use crate::sparse_slots::SparseTransforms;

/// Smallest and largest supported default scale, in bits.
const LOG_SCALES: std::ops::RangeInclusive<u32> = 10..=100;

/// Largest supported divisor of one rescaling, in bits.
const MAX_LOG_DIVISOR: f64 = 120.0;

/// A CKKS parameter set as written down: lattice parameters, levels and default scale.
///
/// [`ParamsSpec::from_chain`] makes one from prime sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct ParamsSpec {
    /// Ring degree, rank, primes `q_0 .. q_L`, special primes, secret, noise, security.
    pub lattice: mlwe::ParamsSpec,
    /// Number of primes of each level above 0: a rescaling at level `l` divides by `widths[l - 1]`
    /// consecutive primes. Level 0 has `q_0` alone. If empty, every prime is a level of its own.
    pub widths: Vec<usize>,
    /// `log2` of the default scale, by which encoding multiplies the message. A message `m` fits a
    /// level of modulus `Q` while `|m| 2^log_scale < Q / 2`. The noise of one operation is about
    /// `2^13 / 2^log_scale` at `N = 2^15`.
    pub log_scale: u32,
}

/// A checked CKKS parameter set with the tables of encoding and evaluation.
///
/// Cloning is cheap: the contents are behind an `Arc`. Methods without a `Result` panic for a level
/// or a number of limbs that the chain does not have.
#[derive(Clone)]
pub struct Params {
    inner: Arc<Inner>,
    /// How products are relinearized.
    relin_strategy: Arc<RelinStrategy>,
}

struct Inner {
    lattice: mlwe::Params,
    log_scale: u32,
    /// Number of limbs at level `0, 1, .. L`.
    limbs: Vec<usize>,
    /// The product of the primes of level `0, 1, .. L`.
    divisors: Vec<f64>,
    /// The ring at `1, 2, ..` limbs.
    rings: Vec<Ring>,
    /// `log2` of `Q` at `1, 2, ..` limbs.
    log2_modulus: Vec<f64>,
    embedding: Embedding,
    sparse: SparseTransforms,
    /// The sparse transforms modulo the special primes.
    sparse_special: SparseTransforms,
}

/// Equal lattice, levels, scale and relinearization strategy.
impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.inner, &other.inner);
        let chain = (&a.lattice, &a.limbs, a.log_scale) == (&b.lattice, &b.limbs, b.log_scale);
        chain && self.relin_strategy == other.relin_strategy
    }
}

impl Params {
    /// Checks the literal parameters and prepares the tables.
    ///
    /// # Errors
    /// Those of [`mlwe::Params::new`] (security among them). [`ErrorKind::Parameters`] if the
    /// default scale is not in `2^10..=2^100`, or if the widths do not sum to the primes after
    /// `q_0`, contain a zero, or give a level whose primes multiply to more than `2^120`.
    pub fn new(spec: ParamsSpec) -> Result<Self> {
        Self::over(mlwe::Params::new(spec.lattice)?, &spec.widths, spec.log_scale)
    }

    /// As [`new`](Self::new) over checked lattice parameters.
    pub fn over(lattice: mlwe::Params, widths: &[usize], log_scale: u32) -> Result<Self> {
        // At rank 1 a product takes one key switch, so there is nothing to choose.
        let relin_strategy = match lattice.spec().rank {
            1 => RelinStrategy::direct(&lattice),
            _ => RelinStrategy::choose(&lattice, lattice.q().limbs())?,
        };
        Self::with_relin_strategy(relin_strategy, widths, log_scale)
    }

    /// As [`over`](Self::over) the lattice of a given relinearization strategy, without a search
    /// for the cheapest strategy.
    pub fn with_relin_strategy(
        relin_strategy: RelinStrategy,
        widths: &[usize],
        log_scale: u32,
    ) -> Result<Self> {
        let lattice = relin_strategy.params().clone();
        let refuse = |reason: String| Err(error::params(reason));

        // Step 1: check the scale and the grouping of primes into levels.
        if !LOG_SCALES.contains(&log_scale) {
            return refuse(format!("default scale 2^{log_scale}: need 2^10 to 2^100"));
        }
        let full = lattice.q();
        let above = full.limbs() - 1;
        let widths = if widths.is_empty() { vec![1; above] } else { widths.to_vec() };
        let grouped = widths.iter().fold(0usize, |sum, &width| sum.saturating_add(width));
        if grouped != above || widths.contains(&0) {
            return refuse(format!(
                "levels of {widths:?} primes, {grouped} in all: need at least one prime per level \
                 and {above} in all, the primes of the chain after the first"
            ));
        }

        // Step 2: the limbs of each level, and what a rescaling there divides by.
        let mut limbs = vec![1];
        for width in widths {
            limbs.push(limbs[limbs.len() - 1] + width);
        }
        let product = |from: usize, to: usize| -> f64 {
            (from..to).map(|limb| full.modulus(limb).value() as f64).product()
        };
        let mut divisors = vec![product(0, 1)];
        divisors.extend(limbs.windows(2).map(|pair| product(pair[0], pair[1])));
        if let Some(level) = divisors.iter().position(|d| d.log2() > MAX_LOG_DIVISOR) {
            let log2 = divisors[level].log2();
            return refuse(format!(
                "the primes of level {level} multiply to 2^{log2:.1}: need at most \
                 2^{MAX_LOG_DIVISOR}"
            ));
        }

        // Step 3: the ring at every number of limbs, and the tables of encoding.
        let rings: Vec<Ring> = (1..=full.limbs()).map(|limbs| full.at_limbs(limbs)).collect();
        let inner = Inner {
            log_scale,
            limbs,
            divisors,
            log2_modulus: rings.iter().map(Ring::log2_modulus).collect(),
            embedding: Embedding::new(full.degree() / 2),
            sparse: SparseTransforms::new(full),
            sparse_special: SparseTransforms::new(lattice.p()),
            rings,
            lattice,
        };
        Ok(Self { inner: Arc::new(inner), relin_strategy: Arc::new(relin_strategy) })
    }

    /// The same set with another relinearization strategy than the cheapest one
    /// ([`RelinStrategy::choose`]). Key generation and noise prediction follow the strategy;
    /// ciphertexts are the same.
    pub fn relinearizing(self, relin_strategy: RelinStrategy) -> Result<Self> {
        // Equal fingerprints leave the checked security open, so compare the specifications too.
        let lattice = relin_strategy.params();
        self.check(lattice.fingerprint())?;
        if lattice.spec() != self.lattice().spec() {
            let (found, needed) = (lattice.spec().security, self.lattice().spec().security);
            let reason =
                format!("the relinearization strategy was checked for {found}: need {needed}");
            return Err(error::params(reason));
        }
        Ok(Self { relin_strategy: Arc::new(relin_strategy), ..self })
    }

    /// The lowest levels, up to `level`, with as few special primes as key switches there need
    /// ([`mlwe::Params::lowest`]). Levels, scale and slots are the same.
    pub fn lowest_levels(&self, level: usize) -> Result<Self> {
        let limbs = self.limbs_of(level)?;
        let widths: Vec<usize> = self.widths(level).collect();
        let relin_strategy = RelinStrategy::direct(&self.lattice().lowest(limbs)?);
        Self::with_relin_strategy(relin_strategy, &widths, self.inner.log_scale)
    }

    /// How products are relinearized: directly at rank 1, and at larger ranks by the strategy of
    /// least work for products at the highest level ([`RelinStrategy::choose`]).
    /// [`relinearizing`](Self::relinearizing) selects another strategy.
    pub fn relin_strategy(&self) -> &RelinStrategy {
        &self.relin_strategy
    }

    /// The lattice parameters.
    pub fn lattice(&self) -> &mlwe::Params {
        &self.inner.lattice
    }

    /// Estimated security in bits (default model) of the weakest keys that can be published for
    /// this set: keys modulo `Q P`, relinearization keys, keys at any temporary rank of
    /// [`KeyLevels::rotate_hoisted`](crate::KeyLevels::rotate_hoisted), and the same at every
    /// smaller rank of [`ReducingKeys`](crate::ReducingKeys). Zero if any has no estimate. A
    /// temporary rank that the caller chooses has an estimate of its own.
    pub fn security_bits(&self) -> f64 {
        // The keys of one set: modulo Q P, for relinearization, and at temporary ranks.
        let own = |set: &Self| {
            let known =
                set.lattice().security_bits().min(set.relin_strategy().raised().security_bits());
            mlwe::temporary_security_bits(set.lattice()).map_or(known, |bits| bits.min(known))
        };
        // Smaller ranks without a parameter set have no keys.
        let smaller = self.ranks().into_iter().flatten().skip(1);
        smaller.map(|set| own(&set)).fold(own(self), f64::min)
    }

    /// The number of complex slots, `N / 2`.
    pub fn max_slots(&self) -> usize {
        self.lattice().spec().degree / 2
    }

    /// Number of primes of the full chain.
    pub fn limbs(&self) -> usize {
        self.inner.rings.len()
    }

    /// The highest level `L`: the number of rescalings of the full chain.
    pub fn max_level(&self) -> usize {
        self.inner.limbs.len() - 1
    }

    /// Number of primes of a ciphertext at this level; `level + 1` where every prime is a level.
    pub fn limbs_at(&self, level: usize) -> usize {
        self.inner.limbs[level]
    }

    /// Number of primes of the levels `1, 2, .. level`, each of which one rescaling divides by.
    pub fn widths(&self, level: usize) -> impl Iterator<Item = usize> {
        self.inner.limbs[..=level].windows(2).map(|pair| pair[1] - pair[0])
    }

    /// As [`limbs_at`](Self::limbs_at), for a level that the chain may not have.
    pub fn limbs_of(&self, level: usize) -> Result<usize> {
        self.check_level(level)?;
        Ok(self.limbs_at(level))
    }

    /// The highest level whose ciphertexts have at most `limbs` limbs.
    pub fn level_at(&self, limbs: usize) -> usize {
        assert!(limbs > 0, "no limbs: a ciphertext has at least one");
        self.inner.limbs.partition_point(|&l| l <= limbs) - 1
    }

    /// The default scale.
    pub fn scale(&self) -> f64 {
        2f64.powi(self.inner.log_scale as i32)
    }

    /// The ring of ciphertexts with `limbs` limbs.
    pub fn ring(&self, limbs: usize) -> &Ring {
        &self.inner.rings[limbs - 1]
    }

    /// What a rescaling at this level divides by: the product of its primes, with a relative error
    /// of `2^-53` per prime. At level 0, which cannot be rescaled, `q_0`.
    pub fn divisor(&self, level: usize) -> f64 {
        self.inner.divisors[level]
    }

    /// `log2(q_0 .. q_{limbs - 1})`.
    pub fn log2_modulus(&self, limbs: usize) -> f64 {
        self.inner.log2_modulus[limbs - 1]
    }

    /// The largest magnitude of a message that `limbs` limbs hold at this scale, `Q / (2 scale)`.
    pub fn capacity(&self, limbs: usize, scale: f64) -> f64 {
        // In logarithms: the modulus itself does not fit an `f64` exactly.
        (self.log2_modulus(limbs) - 1.0 - scale.log2()).exp2()
    }

    /// The exponent `5^step mod 2N` of the automorphism that moves slot `j + step` to slot `j`.
    /// Steps count modulo [`max_slots`](Self::max_slots); negative ones rotate to the right.
    pub fn rotation_exponent(&self, step: i64) -> usize {
        mlwe::rotation_exponent(self.lattice().spec().degree, step)
    }

    /// The step in `[0, N/2)` by which `X -> X^exponent` rotates; `None` if it is not a rotation.
    pub fn rotation_step(&self, exponent: usize) -> Option<usize> {
        let order = 2 * self.lattice().spec().degree;
        if exponent % 4 != 1 {
            return None;
        }
        // 5^(2^j) = 1 + 2^(j+2) modulo 2^(j+3): bit j + 2 of what remains is bit j of the step.
        let (mut step, mut rest) = (0usize, exponent % order);
        for j in 0..self.max_slots().trailing_zeros() {
            if rest >> (j + 2) & 1 == 1 {
                step |= 1 << j;
                // Divide by 5^(2^j), so that the next bit can be read.
                rest = rest * self.rotation_exponent(-(1i64 << j)) % order;
            }
        }
        Some(step)
    }

    /// The exponent `2N - 1` of the automorphism that conjugates every slot.
    pub fn conjugation_exponent(&self) -> usize {
        mlwe::conjugation_exponent(self.lattice().spec().degree)
    }

    /// The canonical embedding of up to [`max_slots`](Self::max_slots) slots, which the encoder
    /// uses.
    pub fn embedding(&self) -> &Embedding {
        &self.inner.embedding
    }

    /// The transforms of sparse polynomials modulo the primes of `Q`.
    pub fn sparse(&self) -> &SparseTransforms {
        &self.inner.sparse
    }

    /// As [`sparse`](Self::sparse) modulo the special primes.
    pub fn sparse_special(&self) -> &SparseTransforms {
        &self.inner.sparse_special
    }

    /// Refuses operands of another parameter set.
    pub fn check(&self, fingerprint: Fingerprint) -> Result<()> {
        if fingerprint != self.lattice().fingerprint() {
            let (needed, found) = (self.lattice().fingerprint(), fingerprint);
            return Err(mlwe::error::params_mismatch(found, needed));
        }
        Ok(())
    }

    /// Refuses keys and bootstrappers of another relinearization strategy.
    pub fn check_relin_strategy(&self, found: &RelinStrategy) -> Result<()> {
        if found == self.relin_strategy() {
            return Ok(());
        }
        let (found, needed) = (found.to_string(), self.relin_strategy().to_string());
        Err(error::route_mismatch(found, needed))
    }

    /// Refuses a chain of other primes, or of the same primes grouped into other levels.
    pub fn check_chain(&self, other: &Self) -> Result<()> {
        self.check(other.lattice().fingerprint())?;
        // The fingerprint is that of the lattice: the grouping into levels is compared one by one.
        for level in 0..=self.max_level().min(other.max_level()) {
            self.check_level_of(other.limbs_at(level), level)?;
        }
        Ok(())
    }

    /// Refuses another chain or another relinearization strategy.
    pub fn check_same(&self, other: &Self) -> Result<()> {
        self.check_chain(other)?;
        self.check_relin_strategy(other.relin_strategy())
    }

    /// Refuses a number of limbs that is not that of the level.
    pub fn check_level_of(&self, limbs: usize, level: usize) -> Result<()> {
        self.check_level(level)?;
        let needed = self.limbs_at(level);
        ensure(limbs == needed, || error::level_limbs(limbs, level, needed))
    }

    /// Refuses levels that this chain does not have.
    pub fn check_level(&self, level: usize) -> Result<()> {
        let highest = self.max_level();
        ensure(level <= highest, || error::level_too_high(level, highest))
    }

    /// The level with this number of limbs; refuses a number that no level has.
    pub fn check_limbs(&self, limbs: usize) -> Result<usize> {
        // Zero limbs are refused below as the wrong number for level 0.
        let level = self.level_at(limbs.max(1));
        self.check_level_of(limbs, level)?;
        Ok(level)
    }

    /// Refuses messages that may wrap around the modulus of `limbs` limbs.
    pub fn check_range(&self, bound: f64, scale: f64, limbs: usize) -> Result<()> {
        self.check_range_of("values", bound, scale, limbs)
    }

    /// As [`check_range`](Self::check_range), for the values or the padding.
    pub fn check_range_of(
        &self,
        what: &'static str,
        bound: f64,
        scale: f64,
        limbs: usize,
    ) -> Result<()> {
        let log2_modulus = self.log2_modulus(limbs);
        let log2_scale = scale.log2();
        let fits = bound == 0.0 || bound.log2() + log2_scale < log2_modulus - 1.0;
        // A negated comparison, which also refuses a NaN bound.
        if !fits {
            let (bound, level) = (rounded_up(bound), self.level_at(limbs));
            let kind = error::range_overflow(what, bound, log2_scale, log2_modulus, level);
            return Err(kind);
        }
        Ok(())
    }
}

impl fmt::Debug for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Params")
            .field("degree", &self.lattice().spec().degree)
            .field("rank", &self.lattice().spec().rank)
            .field("relinearization", &format_args!("{}", self.relin_strategy))
            .field("limbs", &self.inner.limbs)
            .field("log_scale", &self.inner.log_scale)
            .field("security", &self.lattice().spec().security.name())
            .field("security_bits", &self.lattice().security_bits().floor())
            .field("fingerprint", &format_args!("{}", self.lattice().fingerprint()))
            .finish()
    }
}
