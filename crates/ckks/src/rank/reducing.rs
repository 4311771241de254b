//! Automatic rank reduction (DPad-HE, section 2.2 and RQ4).

use std::{borrow::Cow, sync::Arc};

use bellerophon_mlwe::{self as mlwe, SecretKey, pad_rank, rank_schedule};
use bellerophon_ring::{Result, wire::Fingerprint};
use rand::CryptoRng;

use super::RankReduction;
use crate::ciphertext::Ciphertext;
use crate::error;
use crate::eval::Evaluator;
use crate::keys::{EvaluationKeys, KeyLevels};
use crate::params::{Params, ParamsSpec};

/// Levels that an operand keeps above the lowest operand of an operation, to match its scale.
const SPARE_LEVELS: usize = 2;

impl Params {
    /// The sets of ranks `r, r / 2, r / 4, ..` that a circuit passes through as its modulus
    /// shrinks, this set first. Each has the first levels of the chain, as many as its security
    /// allows ([`rank_schedule`]).
    ///
    /// Only this set if the rank is odd, if half the rank has no secure level, and for sparse
    /// secrets.
    pub fn ranks(&self) -> Result<Vec<Self>> {
        let mut sets = vec![self.clone()];
        for step in
            rank_schedule(self.lattice(), self.lattice().spec().security).into_iter().skip(1)
        {
            // The schedule counts limbs; take the highest level that has no more.
            let level = self.level_at(step.limbs);
            let mut lattice = step.spec;
            lattice.q.truncate(self.limbs_at(level));
            let widths = self.widths(level).collect();
            let log_scale = self.scale().log2().round() as u32;
            sets.push(Self::new(ParamsSpec { lattice, widths, log_scale })?);
        }
        Ok(sets)
    }
}

/// Evaluation keys at every rank that a circuit passes through, and the keys from each rank to the
/// next. Cheap to clone: the keys are shared.
#[derive(Debug, Clone)]
pub struct ReducingKeys {
    ranks: Vec<(Params, EvaluationKeys)>,
    /// `reductions[i]` reduces from `ranks[i]` to `ranks[i + 1]`.
    reductions: Vec<Arc<RankReduction>>,
}

impl ReducingKeys {
    /// Generates the keys of `spec` at each of [`Params::ranks`], up to the levels of that set. The
    /// secrets of the smaller ranks are the first components of `secret` and are not stored.
    pub fn generate<R: CryptoRng + ?Sized>(
        params: &Params,
        secret: &SecretKey,
        spec: &KeyLevels,
        rng: &mut R,
    ) -> Result<Self> {
        let (mut ranks, mut reductions) = (vec![], vec![]);
        let mut above: Option<(Params, SecretKey)> = None;
        for set in params.ranks()? {
            let (secret, spec) = match &above {
                None => (secret.clone(), spec.clone()),
                // A smaller rank: truncate the secret, and lower the request to the levels of the
                // set.
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

    /// Assembles the keys of every rank of a set, and the reductions from each rank to the next.
    pub fn from_parts(
        ranks: Vec<(Params, EvaluationKeys)>,
        reductions: Vec<RankReduction>,
    ) -> Result<Self> {
        for (pair, step) in ranks.windows(2).zip(&reductions) {
            let shape = step.key().key().shape();
            for (found, (_, keys)) in [shape.from.key, shape.to.key].into_iter().zip(pair) {
                let needed = keys.secret_id();
                if found != needed {
                    let kind = mlwe::error::key_mismatch(found, needed);
                    return Err(kind);
                }
            }
        }
        Ok(Self { ranks, reductions: reductions.into_iter().map(Arc::new).collect() })
    }

    /// `Err` unless there are keys for every rank, and a reduction from each rank to the next.
    pub fn check_counts(sets: &[Params], keys: usize, reductions: usize) -> Result<()> {
        let needed = sets.len();
        if (keys, reductions + 1) == (needed, needed) {
            return Ok(());
        }
        let found = format!("{keys} sets of keys and {reductions} reductions");
        let needed =
            format!("{needed} sets for the ranks of the parameters, {} reductions", needed - 1);
        Err(error::key_list(found, needed))
    }

    /// `Err` unless these are the keys of the ranks of `params`.
    pub fn check_params(&self, params: &Params) -> Result<()> {
        let (own, _) = &self.ranks[0];
        params.check(own.lattice().fingerprint())
    }

    /// The keys from each rank to the next.
    pub fn reductions(&self) -> impl ExactSizeIterator<Item = &RankReduction> {
        self.reductions.iter().map(|step| &**step)
    }

    /// Parameters and keys of every rank, the largest first.
    pub fn ranks(&self) -> impl ExactSizeIterator<Item = (&Params, &EvaluationKeys)> {
        self.ranks.iter().map(|(params, keys)| (params, keys))
    }

    /// Bytes of all keys in serialized form, seeded and packed.
    pub fn byte_len(&self) -> usize {
        let own: usize = self.ranks.iter().map(|(_, keys)| keys.byte_len()).sum();
        let reductions = self.reductions.iter().map(|r| {
            let key = r.key().key();
            key.seeded_byte_len(r.to().lattice())
        });
        own + reductions.sum::<usize>()
    }
}

/// An evaluator of vectors of rank `r` that reduces every vector to a smaller rank as soon as its
/// level allows it, since operations cost less there.
///
/// Results are those of an [`Evaluator`] apart from the noise of the reductions, which the metadata
/// includes.
/// - Fresh vectors and results are reduced to the smallest rank that has their level. A vector that
///   meets one of a lower level is reduced to the smallest rank at which it keeps two levels more.
/// - Operands of different ranks meet at the largest of these ranks: padding with zero components
///   is free.
/// - A linear transform runs at the rank that it was prepared for; [`params_at`](Self::params_at)
///   of its level is the fastest. An operation that takes several levels, such as a polynomial,
///   runs at the rank of its start.
/// - [`padded`](Self::padded) returns results at the rank of the client's secret.
/// - Bootstrapping needs an [`Evaluator`].
#[derive(Debug, Clone)]
pub struct ReducingEvaluator {
    evaluators: Vec<Evaluator>,
    reductions: Vec<Arc<RankReduction>>,
}

impl ReducingEvaluator {
    /// An evaluator with the given keys.
    ///
    /// ```
    /// # use bellerophon_ckks::{CkksOps, Encoder, Interval, KeyLevels, LevelGroup, ModulusChain};
    /// # use bellerophon_ckks::{Params, ParamsSpec, SecretKey, Security, encrypt};
    /// use bellerophon_ckks::{ReducingEvaluator, ReducingKeys};
    /// # use rand::SeedableRng;
    /// # let levels = vec![LevelGroup::single(40, 12)];
    /// # let chain = ModulusChain { degree: 1 << 9, first_bits: 50, levels, special: (50, 1) };
    /// # let mut spec = ParamsSpec::from_chain(&chain, 40, Security::Insecure)?;
    /// # spec.lattice.rank = 4;
    /// # let params = Params::new(spec)?;
    /// # let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
    /// # let secret = SecretKey::generate(params.lattice(), &mut rng)?;
    /// let needs = KeyLevels::default().multiply(12);
    /// let keys = ReducingKeys::generate(&params, &secret, &needs, &mut rng)?;
    /// let eval = ReducingEvaluator::new(&keys)?;
    /// # let (unit, limbs) = (Interval::real(-1.0, 1.0)?, params.limbs());
    /// # let plain = Encoder::new(&params).encode(&[0.5, -0.9], unit, params.scale(), limbs)?;
    /// let mut x = encrypt(&params, &plain, &secret, &mut rng)?; // rank 4, level 12
    /// while x.level() > 0 {
    ///     x = eval.square(&x)?;
    /// }
    /// assert_eq!((x.lattice().rank(), eval.padded(&x)?.lattice().rank()), (1, 4));
    /// # Ok::<(), bellerophon_ckks::Error>(())
    /// ```
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

    /// The vector at the rank of the first parameters, under the secret of key generation: padded
    /// with zero components, which is exact.
    pub fn padded(&self, x: &Ciphertext) -> Result<Ciphertext> {
        Ok(self.at(x, 0)?.into_owned())
    }

    /// The index of the smallest rank that has this level.
    fn rank_at(&self, level: usize) -> usize {
        let has = |e: &&Evaluator| e.params().max_level() >= level;
        self.evaluators.iter().take_while(has).count().saturating_sub(1)
    }

    /// The index of the rank of a vector.
    fn rank_of(&self, x: &Ciphertext) -> Result<usize> {
        let rank = self.rank_with(x.lattice().ident().fingerprint)?;
        self.evaluators[rank].check(x)?;
        Ok(rank)
    }

    /// The index of the rank whose parameters have this fingerprint: each has its own.
    pub(super) fn rank_with(&self, found: Fingerprint) -> Result<usize> {
        let fingerprint = |e: &Evaluator| e.params().lattice().fingerprint();
        let rank = self.evaluators.iter().position(|e| fingerprint(e) == found);
        rank.ok_or_else(|| mlwe::error::params_mismatch(found, fingerprint(&self.evaluators[0])))
    }

    /// The index of the rank at which operands meet: the smallest rank that has the lowest of their
    /// levels and [`SPARE_LEVELS`] above it, as far as an operand has them.
    pub(super) fn meeting<'x>(&self, x: impl IntoIterator<Item = &'x Ciphertext>) -> usize {
        // The lowest level decides where the result is, the highest how many levels are to spare.
        let levels = x.into_iter().map(Ciphertext::level);
        let (low, high) = levels.fold((usize::MAX, 0), |(low, high), l| (low.min(l), high.max(l)));
        self.rank_at(high.min(low.saturating_add(SPARE_LEVELS)))
    }

    /// A vector at one of the ranks: reduced, or padded with zeros.
    pub(super) fn at<'x>(&self, x: &'x Ciphertext, rank: usize) -> Result<Cow<'x, Ciphertext>> {
        let from = self.rank_of(x)?;
        // A larger rank: zeros for the additional components.
        if rank < from {
            let (low, high) = (&self.evaluators[from], &self.evaluators[rank]);
            let (params, key) = (high.params(), high.keys().secret_id());
            let inner = pad_rank(low.params().lattice(), x.lattice(), params.lattice(), key)?;
            let padded = Ciphertext::at_level(params, inner, *x.meta(), x.origins.clone());
            return Ok(Cow::Owned(padded));
        }
        // A smaller rank: one reduction after the other.
        let mut reduced = Cow::Borrowed(x);
        for reduction in &self.reductions[from..rank] {
            reduced = Cow::Owned(reduction.apply(&reduced)?);
        }
        Ok(reduced)
    }

    /// A result at the smallest rank that has its level.
    pub(super) fn settled(&self, x: Ciphertext) -> Result<Ciphertext> {
        // Results at this rank or a smaller one stay where they are.
        let rank = self.rank_at(x.level());
        if self.rank_of(&x)? >= rank {
            return Ok(x);
        }
        Ok(self.at(&x, rank)?.into_owned())
    }
}
