//! Circuits that go down in rank by themselves (DPad-HE, section 2.2 and RQ4).

use std::{borrow::Cow, sync::Arc};

use bellerophon_mlwe::{SecretKey, pad_rank, rank_schedule};
use rand::CryptoRng;

use super::RankReduction;
use crate::{Ciphertext, Error, EvaluationKeys, Evaluator, KeySpec, Params, ParamsSpec, Result};

/// Levels that an operand keeps above the lowest one of an operation, for its scale to be matched.
const SPARE_LEVELS: usize = 2;

impl Params {
    /// The sets at the ranks `r, r / 2, r / 4, ..` that a circuit passes through as its modulus
    /// shrinks, this one first: each has the first levels of the chain, as many as keep it as secure
    /// as this set asks ([`rank_schedule`]).
    ///
    /// This one alone where half the rank is not a whole number or has no secure level, and for sparse
    /// secrets.
    ///
    /// # Errors
    /// Those of [`Params::new`].
    pub fn ranks(&self) -> Result<Vec<Self>> {
        let mut sets = vec![self.clone()];
        for step in rank_schedule(self.lattice(), self.lattice().security()).into_iter().skip(1) {
            let level = self.level_at(step.limbs);
            let mut lattice = step.spec;
            lattice.q.truncate(self.limbs_at(level));
            let widths = (1..=level).map(|l| self.limbs_at(l) - self.limbs_at(l - 1)).collect();
            let log_scale = self.scale().log2().round() as u32;
            sets.push(Self::new(ParamsSpec { lattice, widths, log_scale })?);
        }
        Ok(sets)
    }
}

/// Evaluation keys at every rank that a circuit passes through, and the keys from each to the next.
/// Cheap to clone: the keys are shared.
#[derive(Debug, Clone)]
pub struct ReducingKeys {
    ranks: Vec<(Params, EvaluationKeys)>,
    /// `reductions[i]` leads from `ranks[i]` to `ranks[i + 1]`.
    reductions: Vec<Arc<RankReduction>>,
}

impl ReducingKeys {
    /// The keys of `spec` at every one of [`Params::ranks`], as far up as its levels go. The secrets
    /// of the smaller ranks are the first parts of `secret`; nothing but keys is kept of them.
    ///
    /// # Errors
    /// Those of [`Params::ranks`], [`EvaluationKeys::generate`] and [`RankReduction::generate`].
    pub fn generate<R: CryptoRng + ?Sized>(
        params: &Params,
        secret: &SecretKey,
        spec: &KeySpec,
        rng: &mut R,
    ) -> Result<Self> {
        let (mut ranks, mut reductions) = (vec![], vec![]);
        let mut above: Option<(Params, SecretKey)> = None;
        for set in params.ranks()? {
            let (secret, spec) = match &above {
                None => (secret.clone(), spec.clone()),
                Some((from, secret)) => {
                    let (key, part) = RankReduction::generate(from, secret, &set, rng)?;
                    reductions.push(Arc::new(key));
                    (part, spec.clone().up_to(set.max_level()))
                }
            };
            ranks.push((set.clone(), EvaluationKeys::generate(&set, &secret, &spec, rng)?));
            above = Some((set, secret));
        }
        Ok(Self { ranks, reductions })
    }

    /// Parameters and keys of every rank, the largest first.
    pub fn ranks(&self) -> impl ExactSizeIterator<Item = (&Params, &EvaluationKeys)> {
        self.ranks.iter().map(|(params, keys)| (params, keys))
    }

    /// Bytes of all keys in seeded, packed form.
    pub fn byte_len(&self) -> usize {
        let own: usize = self.ranks.iter().map(|(_, keys)| keys.byte_len()).sum();
        let down = self.reductions.iter().map(|r| {
            let key = r.key().key();
            key.seeded_byte_len(r.to().lattice())
        });
        own + down.sum::<usize>()
    }
}

/// An evaluator of vectors of rank `r` that brings every vector to a smaller rank as soon as its
/// level allows that, and goes on there at less cost.
///
/// It is an [`Arithmetic`](crate::Arithmetic), so any program runs on it unchanged; results are those
/// of an [`Evaluator`] but for the noise of the reductions, which their accounts know.
/// - Fresh vectors and results are reduced to the smallest rank with as many levels as they have. A
///   vector that meets one with fewer levels goes down to where it keeps two levels more.
/// - Operands of several ranks meet at the largest of them; padding with zeros takes them there, at
///   no cost.
/// - A linear transform is carried out at the rank that it was prepared for
///   ([`params_at`](Self::params_at) of its level is the fastest). What takes several levels in one
///   operation, such as a polynomial, is done at the rank at which it begins.
/// - [`padded`](Self::padded) gives results back at the rank of the client's own secret.
///
/// Refreshing takes an [`Evaluator`].
///
/// ```
/// use bellerophon_ckks::{
///     Arithmetic, Chain, Encoder, Interval, KeySpec, Levels, Params, ParamsSpec, ReducingEvaluator,
///     ReducingKeys, Result, SecretKey, Security, decrypt_values, encrypt,
/// };
/// use rand::SeedableRng;
///
/// # fn main() -> Result<()> {
/// // A toy ring of degree 2^9 at rank 4.
/// let chain = Chain {
///     degree: 1 << 9,
///     first_bits: 50,
///     levels: vec![Levels::single(40, 12)],
///     special: (50, 1),
/// };
/// let mut spec = ParamsSpec::from_chain(&chain, 40, Security::Insecure)?;
/// spec.lattice.rank = 4;
/// let params = Params::new(spec)?;
///
/// let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
/// let secret = SecretKey::generate(params.lattice(), &mut rng)?;
/// let keys = ReducingKeys::generate(&params, &secret, &KeySpec::new().multiply(12), &mut rng)?;
/// let eval = ReducingEvaluator::new(&keys)?;
///
/// let unit = Interval::real(-1.0, 1.0)?;
/// let plain = Encoder::new(&params).encode(&[0.5, -0.9], unit, params.scale(), params.limbs())?;
/// let mut x = encrypt(&params, &plain, &secret, &mut rng)?;
/// let mut ranks = vec![];
/// while x.level() > 0 {
///     x = eval.square(&x)?;
///     ranks.push(x.lattice().rank());
/// }
/// assert_eq!((ranks[0], ranks[11]), (4, 1));
/// let found: Vec<f64> = decrypt_values(&params, &eval.padded(&x)?, &secret)?;
/// assert!(found[0].abs() < 1e-5 && found[1].abs() < 1e-5);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ReducingEvaluator {
    evaluators: Vec<Evaluator>,
    reductions: Vec<Arc<RankReduction>>,
}

impl ReducingEvaluator {
    /// An evaluator with the given keys.
    ///
    /// # Errors
    /// Those of [`Evaluator::new`].
    pub fn new(keys: &ReducingKeys) -> Result<Self> {
        let evaluators = keys.ranks().map(|(params, keys)| Evaluator::new(params, keys));
        let evaluators = evaluators.collect::<Result<_>>()?;
        Ok(Self { evaluators, reductions: keys.reductions.clone() })
    }

    /// The evaluators of the ranks, the largest first.
    pub fn evaluators(&self) -> &[Evaluator] {
        &self.evaluators
    }

    /// The parameters of vectors at this level: those of the smallest rank that has it.
    pub fn params_at(&self, level: usize) -> &Params {
        self.evaluators[self.rank_at(level)].params()
    }

    /// The vector at the rank of the first parameters, under the secret that the keys were made from:
    /// padded with zeros, exact.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] and [`Error::KeyMismatch`] for a vector of none of the ranks.
    pub fn padded(&self, x: &Ciphertext) -> Result<Ciphertext> {
        Ok(self.at("pad", x, 0)?.into_owned())
    }

    /// The smallest rank that has this level.
    fn rank_at(&self, level: usize) -> usize {
        let has = |e: &&Evaluator| e.params().max_level() >= level;
        self.evaluators.iter().take_while(has).count().saturating_sub(1)
    }

    /// The evaluator of powers that some reducing evaluator has left at its rank of this index. Powers
    /// of other sets are refused by any evaluator here.
    pub(super) fn evaluator_at(&self, rank: usize) -> &Evaluator {
        &self.evaluators[rank.min(self.evaluators.len() - 1)]
    }

    /// Which of the ranks a vector has.
    fn rank_of(&self, op: &'static str, x: &Ciphertext) -> Result<usize> {
        let found = x.lattice().fingerprint();
        let own = |e: &Evaluator| e.params().fingerprint() == found;
        let rank = self.evaluators.iter().position(own).ok_or(Error::ParamsMismatch {
            op,
            left: self.evaluators[0].params().fingerprint(),
            right: found,
        })?;
        self.evaluators[rank].check(op, x)?;
        Ok(rank)
    }

    /// The rank at which operands meet: the smallest that has the lowest of their levels and those
    /// to spare above it that there are.
    pub(super) fn meeting<'x>(&self, x: impl IntoIterator<Item = &'x Ciphertext>) -> usize {
        let levels = x.into_iter().map(Ciphertext::level);
        let (low, high) = levels.fold((usize::MAX, 0), |(low, high), l| (low.min(l), high.max(l)));
        self.rank_at(high.min(low.saturating_add(SPARE_LEVELS)))
    }

    /// The index of the evaluator with these parameters.
    pub(super) fn rank_with(&self, op: &'static str, params: &Params) -> Result<usize> {
        let found = params.fingerprint();
        let own = |e: &Evaluator| e.params().fingerprint() == found;
        let left = self.evaluators[0].params().fingerprint();
        let missing = Error::ParamsMismatch { op, left, right: found };
        self.evaluators.iter().position(own).ok_or(missing)
    }

    /// A vector at one of the ranks: reduced, or padded with zeros.
    pub(super) fn at<'x>(
        &self,
        op: &'static str,
        x: &'x Ciphertext,
        rank: usize,
    ) -> Result<Cow<'x, Ciphertext>> {
        let from = self.rank_of(op, x)?;
        if rank < from {
            let (low, high) = (&self.evaluators[from], &self.evaluators[rank]);
            let (params, key) = (high.params(), high.keys().secret_id());
            let inner = pad_rank(low.params().lattice(), x.lattice(), params.lattice(), key)?;
            return Ok(Cow::Owned(Ciphertext::at_level(params, inner, *x.meta())));
        }
        let mut reduced = Cow::Borrowed(x);
        for reduction in &self.reductions[from..rank] {
            reduced = Cow::Owned(reduction.apply(&reduced).map_err(|error| error.named(op))?);
        }
        Ok(reduced)
    }

    /// A result at the smallest rank that has its level.
    pub(super) fn settled(&self, op: &'static str, x: Ciphertext) -> Result<Ciphertext> {
        let rank = self.rank_at(x.level());
        if self.rank_of(op, &x)? >= rank {
            return Ok(x);
        }
        Ok(self.at(op, &x, rank)?.into_owned())
    }
}
