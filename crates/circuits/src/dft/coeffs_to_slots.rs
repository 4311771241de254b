//! CoeffsToSlots: the inverse decoding matrix on ciphertexts. Metadata ([`CoeffsToSlots::meta`])
//! beside computation ([`CoeffsToSlots::apply`]).

use bellerophon_ckks::{
    Bounds, Ciphertext, Evaluator, Interval, KeyLevels, Metadata, Params, Result, cost::Work,
    encode::check_scale, rotation_plan::RotationCosts,
};

use super::{Coefficients, DftMeta, apply_all, encoding_groups, even_borders};
use crate::diagonals::Diagonals;
use crate::lintrans::{Giants, Hoisting, LinearOptions, LinearTransform, Mixing};
use crate::{error, lintrans};

/// The specification of [`CoeffsToSlots`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct C2sSpec {
    /// Levels, at least 1.
    pub levels: usize,
    /// Level of the operand, at least `levels`.
    pub input_level: usize,
    /// Scale of the slots per scale of the coefficients. Costs nothing: it is spread over the
    /// matrices. Precision is best near `sqrt(slots)`, where all of them are about unitary.
    pub factor: f64,
    /// Baby steps of each matrix, a power of two: one key each, and one key for the giant steps.
    /// Where a mod raise applies the first matrix, one key serves two of more than two baby steps.
    pub babies: usize,
    /// Encode the diagonals of the first matrix now and keep them, at `N * 8` bytes for each limb,
    /// special primes included. They have no period; the diagonals of the other matrices are cheap
    /// to encode and never kept. Without effect where a mod raise applies the first matrix.
    pub encode_ahead: bool,
}

/// The division of the stages over the matrices.
#[derive(Clone, Copy, PartialEq)]
enum Borders {
    /// Evenly: the transform on its own.
    Even,
    /// This number of stages in the second of two matrices, of short blocks.
    Short(u32),
    /// This number of stages in a first matrix that others apply, the rest evenly.
    First(u32),
}

impl Borders {
    fn ends(self, slots: usize, levels: usize) -> Result<Vec<u32>> {
        let stages = slots.trailing_zeros();
        match self {
            Self::Even => Ok(even_borders(slots, levels)),
            Self::First(first) => {
                let mut ends = even_borders(slots >> first, levels);
                ends.push(stages);
                Ok(ends)
            }
            Self::Short(short) if levels == 2 && short <= stages => Ok(vec![0, short, stages]),
            Self::Short(short) => Err(error::shape(format!(
                "{short} stages of {stages} in the second of {levels} matrices: need two matrices \
                 and no more than there are"
            ))),
        }
    }
}

/// The homomorphic encoding of vectors of one slot count, prepared: the inverse of
/// [`SlotsToCoeffs`](super::SlotsToCoeffs).
///
/// Slot `i` of the result is the coefficient at [`place(i)`](super::place), plus `i` times the one
/// `N / 2` places above. Rotations are hoisted twice ([`Hoisting::Double`]).
#[derive(Clone, Debug)]
pub struct CoeffsToSlots {
    params: Params,
    pub(crate) slots: usize,
    pub(crate) spec: C2sSpec,
    /// In the order of application.
    pub(crate) transforms: Vec<LinearTransform>,
    /// The factor by which each matrix enlarges the root mean square of a vector.
    pub(crate) gain: f64,
    /// The largest sum of moduli of a row of the matrix that was applied before, 1 without one.
    before: f64,
    /// The root mean square of a coefficient of the operand, relative to its bound.
    typical: f64,
}

impl CoeffsToSlots {
    /// Prepares the transform for polynomials in `X^(N / 2 slots)`, which encode vectors of `slots`
    /// slots.
    pub fn new(params: &Params, slots: usize, spec: C2sSpec) -> Result<Self> {
        Ok(Self::with_borders(params, slots, spec, Borders::Even)?.1)
    }

    /// As [`new`](Self::new) in two matrices, where the second, of short blocks, has `short`
    /// stages. Transforms of different slot counts with one number of baby steps then use the same
    /// rotation keys; they differ in the number of giant steps only.
    pub fn in_two(params: &Params, slots: usize, short: u32, spec: C2sSpec) -> Result<Self> {
        Ok(Self::with_borders(params, slots, spec, Borders::Short(short))?.1)
    }

    /// The first matrix, of `stages` stages and unitary, and the transform by the others, whose
    /// operand is the product with the first. The levels of the specification are those of the
    /// others. `typical` is the root mean square of a coefficient, relative to its bound.
    pub(crate) fn after_first(
        params: &Params,
        slots: usize,
        stages: u32,
        spec: C2sSpec,
        typical: f64,
    ) -> Result<(Diagonals, Self)> {
        let (first, rest) = Self::with_borders(params, slots, spec, Borders::First(stages))?;
        Ok((first.expect("made for these borders"), Self { typical, ..rest }))
    }

    /// The transform, and the first matrix if it is applied by others.
    fn with_borders(
        params: &Params,
        slots: usize,
        spec: C2sSpec,
        borders: Borders,
    ) -> Result<(Option<Diagonals>, Self)> {
        error::check_slot_count(params, slots)?;
        let C2sSpec { levels, input_level, factor, babies, .. } = spec;
        if levels == 0 || levels > input_level || !babies.is_power_of_two() {
            let reason = format!(
                "{levels} levels from level {input_level} by {babies} baby steps: need 1 to \
                 {input_level} levels and a power of two of baby steps"
            );
            return Err(error::shape(reason));
        }
        check_scale(factor)?;

        // Step 1: the borders between the groups of stages.
        let ends = borders.ends(slots, levels)?;

        // Step 2: the matrices, each a multiple of a unitary one.
        let unitary = |matrix: Diagonals| {
            let squared: f64 = matrix.iter().map(|(_, d)| d[0].norm_sqr()).sum();
            matrix.scaled(1.0 / squared.sqrt())
        };
        let groups = encoding_groups(params.embedding(), slots, &ends);
        let mut matrices = groups.into_iter().map(unitary);
        let first = match borders {
            Borders::First(_) => matrices.next(),
            _ => None,
        };
        let before = first.as_ref().map_or(1.0, Diagonals::norm);

        // Step 3: one linear transform for each, at double hoisting. The whole is 1 / sqrt(slots)
        // times a unitary matrix; the factor is spread evenly over the transforms.
        let gain = (factor / (slots as f64).sqrt()).powf(1.0 / levels as f64);
        let transform = |(i, matrix): (usize, Diagonals)| {
            let matrix = matrix.scaled(gain);
            let options = LinearOptions {
                encode_ahead: spec.encode_ahead && i == 0 && first.is_none(),
                giants: Giants::Horner,
                hoisting: Hoisting::Double,
                halved: first.is_some(),
            };
            let schedule = matrix.schedule_with_babies(babies);
            LinearTransform::with_schedule(params, &matrix, &schedule, input_level - i, options)
        };
        let transforms = matrices.enumerate().map(transform).collect::<Result<_>>()?;
        let params = params.clone();
        Ok((first, Self { params, slots, spec, transforms, gain, before, typical: 1.0 }))
    }

    pub(crate) fn output_level(&self) -> usize {
        self.spec.input_level - self.spec.levels
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

    /// Moves the values from the coefficients to the slots.
    pub fn apply(&self, evaluator: &Evaluator, x: &Coefficients) -> Result<Ciphertext> {
        self.params.check_chain(evaluator.params())?;
        let x = Ciphertext::from_parts(&self.params, x.lattice().clone(), *x.meta())?;
        evaluator.check(&x)?;
        let meta = self.meta(&x.metadata(), &|x, step| evaluator.rotation_cost(x, step))?;
        Ok(apply_all(evaluator, &self.transforms, &meta, x)?.changed(meta.result.meta))
    }

    /// The metadata of [`apply`](Self::apply) of coefficients.
    pub(crate) fn meta(&self, x: &Metadata, costs: RotationCosts<'_>) -> Result<DftMeta> {
        let C2sSpec { input_level, factor, .. } = self.spec;
        // Step 1: the slots and the level of the operand.
        error::check_slots(&x.meta, self.slots)?;
        let rules = self.params.rules();
        rules.check_prepared(input_level, x.level)?;

        // Step 2: the slots of the operand have no meaning. Overflow follows their largest possible
        // size, the noise of the products their root mean square.
        let bound = x.meta.bounds.slots().bound() * 2f64.sqrt();
        let mut largest = bound * self.slots as f64 * self.before;
        let mut typical = self.typical * bound * (self.slots as f64).sqrt();
        let range = |size: f64| Interval::complex(size).map(Bounds::all);
        let (mut z, mut operands) = (*x, Vec::with_capacity(self.transforms.len()));
        z.meta.bounds = range(typical)?;
        for transform in &self.transforms {
            operands.push(z);
            z = transform.meta(&z, Mixing::Unitary, costs)?;
            largest = (largest * transform.norm).min(bound * factor * self.slots as f64);
            typical *= self.gain;
            z.meta.bounds = range(typical)?;
            self.params.check_range(largest, z.meta.scale, self.params.limbs_at(z.level))?;
        }

        // Step 3: the slots of the result are the coefficients.
        z.meta.scale *= factor;
        z.meta.bounds = range(bound)?;
        Ok(DftMeta { operands, result: z })
    }
}
