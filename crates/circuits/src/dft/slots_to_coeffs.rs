//! SlotsToCoeffs: the decoding matrix on ciphertexts. Metadata ([`SlotsToCoeffs::meta`]) beside
//! computation ([`SlotsToCoeffs::apply`]).
//!
//! **Padding** that may be nonzero is cleared: the first matrix is multiplied by the mask of the
//! values, at no level. The coefficients of the padding are then zero up to noise, whatever the
//! slots held.

use std::sync::{Arc, Mutex, PoisonError};

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use bellerophon_ckks::cost::Work;
use bellerophon_ckks::encode::check_scale;
use bellerophon_ckks::rotation_plan::RotationCosts;
use bellerophon_ckks::simulator::one_key;
use bellerophon_ckks::{
    Bounds, Ciphertext, CiphertextMeta, Evaluator, Interval, KeyLevels, Metadata, Params, Result,
    noise,
};
use bellerophon_mlwe as mlwe;

use super::{DftMeta, apply_all, decoding_factors, place};
use crate::diagonals::Diagonals;
use crate::lintrans::{Giants, LinearOptions, LinearTransform, Mixing};
use crate::{error, lintrans};

/// The specification of [`SlotsToCoeffs`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct S2cSpec {
    /// Levels, at least 1. One level multiplies by the full matrix, with as many diagonals as
    /// slots.
    pub levels: usize,
    /// Level of the result; 0 before an extraction.
    pub output_level: usize,
    /// Scale of the coefficients for an operand at the default scale: a value `v` becomes the
    /// coefficient `scale * v`. In proportion for operands at another scale. Costs nothing: it is a
    /// factor of the matrix.
    pub scale: f64,
    /// Whether the coefficients are wanted modulo the primes of the output level and may wrap
    /// around there. Only intermediate results must then fit their modulus.
    pub modular: bool,
    /// Encode the diagonals without a short period now and keep them, at `limbs * N * 8` bytes
    /// each.
    pub encode_ahead: bool,
    /// Keys of the giant steps: with [`Giants::Horner`], one key for each level.
    pub giants: Giants,
}

/// The homomorphic decoding of vectors of one slot count, prepared.
///
/// See the [module](super) for the coefficients that hold the values.
#[derive(Clone, Debug)]
pub struct SlotsToCoeffs {
    pub(crate) params: Params,
    pub(crate) slots: usize,
    pub(crate) spec: S2cSpec,
    /// In the order of application.
    pub(crate) transforms: Vec<LinearTransform>,
    /// The factor of each matrix but the last.
    share: f64,
    /// Diagonals of the last matrix.
    diagonals: usize,
    first: Diagonals,
    /// The first matrix for the last number of slots and of values that had padding to be cleared.
    cleared: Arc<Mutex<Option<Cleared>>>,
}

/// The first matrix with the mask of a number of values, for vectors of a number of slots.
#[derive(Clone, Debug)]
struct Cleared {
    slots: usize,
    len: usize,
    transform: Arc<LinearTransform>,
}

impl S2cSpec {
    /// The options of a matrix whose diagonals every product encodes.
    fn options(&self) -> LinearOptions {
        LinearOptions { encode_ahead: false, giants: self.giants, ..LinearOptions::default() }
    }
}

impl SlotsToCoeffs {
    /// Prepares the transform for vectors of `slots` slots.
    pub fn new(params: &Params, slots: usize, spec: S2cSpec) -> Result<Self> {
        error::check_slot_count(params, slots)?;
        let highest = params.max_level();
        let room = highest.saturating_sub(spec.output_level);
        if !(1..=room).contains(&spec.levels) {
            let reason = format!(
                "{} levels down to level {}: need 1 to {room} of the chain's {highest}",
                spec.levels, spec.output_level
            );
            return Err(error::shape(reason));
        }
        check_scale(spec.scale)?;

        // Step 1: the grouped stages.
        let mut factors = decoding_factors(params.embedding(), slots, spec.levels);

        // Step 2: the scale of the coefficients.
        let factor = spec.scale / params.scale();
        // All of it goes into the last matrix, after the rounding errors of the others. A small
        // factor is spread over all of them: diagonals of one matrix would be encoded at a small
        // scale.
        let share = if spec.modular { factor.powf(1.0 / spec.levels as f64) } else { 1.0 };
        let last = factor / share.powi(spec.levels as i32 - 1);
        let count = factors.len();
        factors = factors
            .into_iter()
            .enumerate()
            .map(|(i, matrix)| matrix.scaled(if i + 1 == count { last } else { share }))
            .collect();
        let diagonals = factors.last().map_or(0, |m| m.len());

        // Step 3: one linear transform for each matrix, from the highest level down.
        let highest = spec.output_level + spec.levels;
        let transforms = factors
            .iter()
            .enumerate()
            .map(|(i, matrix)| {
                let at = LinearOptions { encode_ahead: spec.encode_ahead, ..spec.options() };
                LinearTransform::new(params, matrix, highest - i, at)
            })
            .collect::<Result<_>>()?;
        let (params, first) = (params.clone(), factors.swap_remove(0));
        let cleared = Arc::default();
        Ok(Self { params, slots, spec, transforms, share, diagonals, first, cleared })
    }

    /// Whether the first matrix clears the padding of a vector: where it may be nonzero, or, for
    /// coefficients that may wrap around, where it may leave the range of the values.
    pub(crate) fn clears(&self, x: &CiphertextMeta) -> bool {
        let Bounds { values, padding } = x.bounds;
        let wraps = self.spec.modular && values.hull(&Interval::ZERO).contains(&padding);
        !(x.is_clear() || wraps)
    }

    /// The first matrix if it clears the padding, and the metadata with zeros there.
    pub(super) fn clearing(
        &self,
        x: &CiphertextMeta,
    ) -> Result<(Option<Arc<LinearTransform>>, CiphertextMeta)> {
        if !self.clears(x) {
            return Ok((None, *x));
        }
        let (slots, len, cleared) = (x.slots, x.len, x.with_zero_padding());
        let mut last = self.cleared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last.as_ref().filter(|last| (last.slots, last.len) == (slots, len)) {
            return Ok((Some(last.transform.clone()), cleared));
        }
        let (matrix, schedule) = (self.first.reading(slots, len), self.first.schedule());
        let transform = LinearTransform::with_schedule(
            &self.params,
            &matrix,
            &schedule,
            self.level(),
            self.spec.options(),
        )?;
        let transform = Arc::new(transform);
        *last = Some(Cleared { slots, len, transform: transform.clone() });
        Ok((Some(transform), cleared))
    }

    /// Least level of an operand; higher operands are dropped to it.
    pub(crate) fn level(&self) -> usize {
        self.spec.output_level + self.spec.levels
    }

    /// The factor of matrix `i`.
    pub(super) fn share(&self, i: usize) -> f64 {
        let others = self.transforms.len() - 1;
        if i < others {
            return self.share;
        }
        self.spec.scale / self.params.scale() / self.share.powi(others as i32)
    }

    /// The matrices, with another first one if there is one.
    pub(super) fn applied<'m>(
        &'m self,
        first: Option<&'m LinearTransform>,
    ) -> impl Iterator<Item = &'m LinearTransform> {
        std::iter::once(first.unwrap_or(&self.transforms[0])).chain(&self.transforms[1..])
    }

    /// Work of one application.
    pub fn work(&self) -> Work {
        lintrans::work(&self.transforms)
    }

    /// Key switches of one application.
    pub(crate) fn rotations(&self) -> usize {
        self.transforms.iter().map(LinearTransform::rotations).sum()
    }

    /// The rotation keys, each at the level of its use.
    pub fn keys(&self) -> KeyLevels {
        lintrans::keys(&self.transforms)
    }

    /// Moves the values from the slots to the coefficients.
    ///
    /// # Errors
    /// [`ErrorKind::Level`] below the level of the first matrix, [`ErrorKind::Shape`] for
    /// a vector of more slots, [`ErrorKind::MissingKey`], [`ErrorKind::Range`] when a
    /// value may wrap around the modulus of the result, and mismatches. A vector of fewer slots is
    /// repeated.
    pub fn apply(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Coefficients> {
        evaluator.check(x)?;
        self.params.check_chain(evaluator.params())?;
        let meta = self.meta(&x.metadata(), &|x, step| evaluator.rotation_cost(x, step))?;
        let (first, _) = self.clearing(x.meta())?;
        let z = apply_all(evaluator, self.applied(first.as_deref()), &meta, x.clone())?;
        Ok(Coefficients { inner: z.into_parts().0, meta: meta.result.meta })
    }

    /// The metadata of the coefficients, with a key for every rotation: scale and noise are those
    /// of the coefficients.
    pub fn lowered(&self, x: &Metadata) -> Result<Metadata> {
        Ok(self.meta(x, &one_key)?.result)
    }

    /// The metadata of [`apply`](Self::apply).
    pub(crate) fn meta(&self, x: &Metadata, costs: RotationCosts<'_>) -> Result<DftMeta> {
        let params = &self.params;
        params.rules().check_prepared(self.level(), x.level)?;
        // The operand of the first matrix has its padding still.
        let mut typical = x.meta.bounds.slots().bound();
        let x = params.rules().drop_to_level(x, self.level())?;
        let (cleared, meta) = self.clearing(&x.meta)?;
        let x = Metadata { meta, ..x };
        let CiphertextMeta { len, bounds, .. } = x.meta;
        let factor = self.spec.scale / params.scale();
        let scale = x.meta.scale * factor;

        // The coefficients must fit the modulus of the result, unless they may wrap around.
        let limbs = params.limbs_at(self.spec.output_level);
        let mut largest = bounds.slots().bound();
        match self.spec.modular {
            true => largest = largest.min(0.25 * params.capacity(limbs, scale)),
            false => params.check_range(largest, scale, limbs)?,
        }

        let transforms: Vec<_> = self.applied(cleared.as_deref()).collect();
        let (last, first) = transforms.split_last().expect("at least one level");
        let (mut z, mut operands) = (x, Vec::with_capacity(transforms.len()));
        // All matrices but the last. Each is a multiple of a unitary matrix, and the matrices after
        // it spread its errors over all coefficients. Noise therefore follows the root mean square
        // of the operand: m slots add up to sqrt(m) times as much. Overflow follows the largest
        // slot, which may hold m times as much.
        for (i, transform) in first.iter().enumerate() {
            operands.push(z);
            let mut average = z;
            average.meta.bounds = Bounds::all(Interval::complex(typical)?);
            let noise = transform.meta(&average, Mixing::Unitary, costs)?.meta.noise;
            z = transform.meta(&z, Mixing::Unitary, costs)?;
            z.meta.noise = noise;
            // The padding is gone after the first matrix.
            typical = if i == 0 { bounds.slots().bound() } else { typical };
            typical *= (transform.norm * self.share).sqrt();
        }
        // The last matrix. The slots of its result have no meaning and no useful range. The
        // coefficients must not wrap around; they are at most as large as the values.
        let coefficients = Interval::complex(largest * factor / last.norm)?;
        z.meta.bounds = Bounds::all(coefficients);
        operands.push(z);
        let result = last.meta(&z, Mixing::Unitary, costs)?;
        // The encoding errors of the last diagonals, multiplied by the operand.
        let rounding = (typical * z.meta.scale / params.divisor(last.level)).powi(2);
        let noise = result.meta.noise + self.diagonals as f64 * rounding * noise::ENCODING;
        let meta = CiphertextMeta { scale, slots: self.slots, len, bounds, noise };
        let result = Metadata { meta, ..result };
        if !self.spec.modular {
            params.rules().check_range(&result)?;
        }
        Ok(DftMeta { operands, result })
    }
}

/// A ciphertext whose plaintext holds values in its coefficients: value `i` times the scale is the
/// coefficient [`place`](Self::place)`(i)`; its imaginary part, if any, the coefficient `N / 2`
/// above. For real values all other coefficients are noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Coefficients {
    inner: mlwe::Ciphertext,
    /// The metadata of the vector, with the scale and the noise of the coefficients.
    meta: CiphertextMeta,
}

impl Coefficients {
    /// Joins a lattice ciphertext with the metadata of the values in its coefficients, for schemes
    /// whose results have this form. Scale and noise are those of the coefficients.
    pub fn from_parts(
        params: &Params,
        inner: mlwe::Ciphertext,
        meta: CiphertextMeta,
    ) -> Result<Self> {
        let (inner, meta) = Ciphertext::from_parts(params, inner, meta)?.into_parts();
        Ok(Self { inner, meta })
    }

    /// The lattice ciphertext.
    pub fn lattice(&self) -> &mlwe::Ciphertext {
        &self.inner
    }

    /// The lattice ciphertext, by value.
    pub fn into_lattice(self) -> mlwe::Ciphertext {
        self.inner
    }

    /// What is known of the values, with the scale and the noise of the coefficients.
    pub fn meta(&self) -> &CiphertextMeta {
        &self.meta
    }

    /// The coefficient that holds value `i`.
    ///
    /// # Panics
    /// When `i` is not below the number of slots of [`meta`](Self::meta).
    pub fn place(&self, i: usize) -> usize {
        place(self.inner.b().degree(), self.meta.slots, i)
    }
}
