//! The decoding matrix applied to ciphertexts.

use bellerophon_mlwe as mlwe;

use super::{Course, carried_out, decoding_factors, place};
use crate::linear::{Giants, LinearOptions, LinearTransform, Turns};
use crate::{
    Account, Bounds, Ciphertext, Error, Evaluator, Interval, KeySpec, Meta, Params, Result,
    encode::check_scale, noise, turn::Turn,
};

/// How to prepare a [`SlotsToCoeffs`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct S2cOptions {
    /// Levels that it takes, at least 1: in one level it multiplies by the full matrix of as many
    /// diagonals as slots.
    pub levels: usize,
    /// Level of the result; 0 on the way to extraction.
    pub output_level: usize,
    /// Scale of the coefficients for an operand of the default scale: a value `v` becomes the
    /// coefficient `scale * v`. Operands of another scale have it in proportion. Free: a factor of
    /// the matrix.
    pub scale: f64,
    /// Encode all diagonals now and keep them, which costs up to `limbs * N * 8` bytes each.
    pub encode_ahead: bool,
    /// How the giant rotations are performed: with [`Giants::Horner`] one key serves those of a
    /// level.
    pub giants: Giants,
}

/// The homomorphic decoding of vectors of one slot count, prepared.
///
/// See the [module](super) for the places at which the values end up.
#[derive(Clone, Debug)]
pub struct SlotsToCoeffs {
    params: Params,
    slots: usize,
    options: S2cOptions,
    /// In the order of application.
    transforms: Vec<LinearTransform>,
    /// Diagonals of the last one.
    diagonals: usize,
}

impl SlotsToCoeffs {
    /// Prepares the transform for vectors of `slots` slots.
    ///
    /// # Errors
    /// [`Error::SlotCount`] for a count that the ring does not have, [`Error::Linear`] for a number
    /// of levels outside 1 to the highest, [`Error::Scale`], [`Error::LevelTooHigh`] when the chain is too
    /// short.
    pub fn new(params: &Params, slots: usize, options: S2cOptions) -> Result<Self> {
        let op = "prepare slots to coefficients";
        let most = params.max_slots();
        if !slots.is_power_of_two() || slots > most {
            return Err(Error::SlotCount { op, found: slots, least: 1, most });
        }
        let highest = params.max_level();
        let room = highest.saturating_sub(options.output_level);
        if !(1..=room).contains(&options.levels) {
            let reason = format!(
                "{} levels down to level {}: need 1 to {room} of the chain's {highest}",
                options.levels, options.output_level
            );
            return Err(Error::Linear { op, reason });
        }
        check_scale(op, options.scale)?;
        let mut factors = decoding_factors(params.embedding(), slots, options.levels);
        let last = factors.pop().expect("there is a factor for every level");
        factors.push(last.scaled(options.scale / params.scale()));
        let diagonals = factors.last().map_or(0, |m| m.len());
        let highest = options.output_level + options.levels;
        let transforms = factors
            .iter()
            .enumerate()
            .map(|(i, matrix)| {
                let at = LinearOptions::at_level(highest - i)
                    .encode_ahead(options.encode_ahead)
                    .giants(options.giants);
                LinearTransform::new(params, matrix, at)
            })
            .collect::<Result<_>>()?;
        Ok(Self { params: params.clone(), slots, options, transforms, diagonals })
    }

    /// Slots of the vectors.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// How it was prepared.
    pub fn options(&self) -> &S2cOptions {
        &self.options
    }

    /// Least level of an operand; operands above it are dropped to it.
    pub fn level(&self) -> usize {
        self.options.output_level + self.options.levels
    }

    /// The matrices in the order of application.
    pub(crate) fn transforms(&self) -> &[LinearTransform] {
        &self.transforms
    }

    /// Key switches of one application.
    pub fn rotations(&self) -> usize {
        self.transforms.iter().map(LinearTransform::rotations).sum()
    }

    /// The rotation keys that it takes, each at the level at which it is used.
    pub fn keys(&self) -> KeySpec {
        self.transforms.iter().fold(KeySpec::new(), |keys, m| {
            keys.rotate(m.rotation_steps().into_iter().map(|step| step as i64), m.level())
        })
    }

    /// Moves the values from the slots to the coefficients.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`] below [`level`](Self::level), [`Error::SlotCount`] for a vector of
    /// more slots, [`Error::MissingRotationKey`], [`Error::RangeOverflow`] when a value may wrap
    /// around the modulus of the result, and mismatches. A vector of fewer slots takes part
    /// repeated.
    pub fn apply(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Coefficients> {
        let op = "slots to coefficients";
        evaluator.check(op, x)?;
        self.params.check_chain(op, evaluator.params())?;
        let course = self.course(op, &x.account(), &|x, step| evaluator.turn(op, x, step))?;
        let z = carried_out(evaluator, &self.transforms, &course, x.clone())?;
        Ok(Coefficients { inner: z.into_parts().0, meta: course.result.meta })
    }

    /// What will be known of the coefficients, from what is known of the vector, with a key for every
    /// rotation: scale and noise are those of the coefficients.
    ///
    /// # Errors
    /// Those of [`apply`](Self::apply), keys apart.
    pub fn lowered(&self, x: &Account) -> Result<Account> {
        let one_key = |_: &Account, step| Ok(Turn::one_key(step));
        Ok(self.course("slots to coefficients", x, &one_key)?.result)
    }

    /// What is known of the coefficients, and of the operands on the way: scale and noise of the
    /// result are those of the coefficients.
    pub(crate) fn course(&self, op: &'static str, x: &Account, turns: Turns<'_>) -> Result<Course> {
        let (params, Meta { len, bounds, .. }) = (&self.params, x.meta);
        params.books().check_levels(op, self.level(), x.level)?;
        let factor = self.options.scale / params.scale();
        let scale = x.meta.scale * factor;
        let limbs = params.limbs_at(self.options.output_level);
        params.check_range(op, bounds.slots().bound(), scale, limbs)?;

        let (last, first) = self.transforms.split_last().expect("at least one level");
        let (mut z, mut operands) = (*x, Vec::with_capacity(self.transforms.len()));
        // The values seen from here have random phases: a sum of m of them has sqrt(m) their size.
        let mut typical = bounds.slots().bound();
        for transform in first {
            operands.push(z);
            z = transform.account(op, &z, turns)?;
            typical *= transform.norm().sqrt();
        }
        // The slots of the result mean nothing, so neither does their range: what must not wrap is
        // the coefficients, which are no larger than the values.
        let coefficients = Interval::complex(bounds.slots().bound() * factor / last.norm())?;
        z.meta.bounds = Bounds::all(coefficients);
        operands.push(z);
        let result = last.account(op, &z, turns)?;
        let rounding = (typical * z.meta.scale / params.divisor(last.level())).powi(2);
        let noise = result.meta.noise + self.diagonals as f64 * rounding * noise::ENCODING;
        let meta = Meta { scale, slots: self.slots, len, bounds, noise };
        let result = Account { meta, ..result };
        params.books().check_range(op, &result)?;
        Ok(Course { operands, result })
    }
}

/// A ciphertext whose plaintext holds values in its coefficients: value `i` times the scale at
/// [`place`](Self::place)`(i)`, its imaginary part, if any, `N / 2` places above. For real values
/// all other coefficients are noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Coefficients {
    inner: mlwe::Ciphertext,
    /// That of the vector, with the scale and the noise of the coefficients.
    meta: Meta,
}

impl Coefficients {
    /// Joins a lattice ciphertext with what is known of the values in its coefficients: for schemes
    /// that end in it. The metadata are those of the vector, its scale and noise those of the
    /// coefficients.
    ///
    /// # Errors
    /// As for [`Ciphertext::from_parts`].
    pub fn from_parts(params: &Params, inner: mlwe::Ciphertext, meta: Meta) -> Result<Self> {
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

    /// Coefficient per unit of value.
    pub fn scale(&self) -> f64 {
        self.meta.scale
    }

    /// Slots that the vector had.
    pub fn slots(&self) -> usize {
        self.meta.slots
    }

    /// Number of values; the other slots held padding.
    pub fn len(&self) -> usize {
        self.meta.len
    }

    /// Whether there are no values: never, by construction.
    pub fn is_empty(&self) -> bool {
        self.meta.len == 0
    }

    /// The ranges of values and padding, those of the vector before.
    pub fn bounds(&self) -> &Bounds {
        &self.meta.bounds
    }

    /// What is known of the values, with the scale and the noise of the coefficients.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Predicted variance of the noise of a coefficient, against the exact program.
    pub fn variance(&self) -> f64 {
        self.meta.noise.total
    }

    /// The coefficient that holds value `i`.
    ///
    /// # Panics
    /// When `i` is not below [`slots`](Self::slots).
    pub fn place(&self, i: usize) -> usize {
        place(self.inner.degree(), self.meta.slots, i)
    }
}
