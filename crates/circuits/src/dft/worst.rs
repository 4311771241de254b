//! Worst-case noise of S2C and C2S: a bound for arbitrarily correlated errors.
//!
//! Every matrix is a multiple of a unitary one, which lengthens all vectors by one factor: a group
//! of `k` stages by `2^(k/2)` ([module](super)). That holds for vectors that repeat after the slots
//! of the transform. Errors do not repeat. In a ring of more slots a rotation brings other copies
//! than the matrix assumes. Hence:
//! - S2C: only the coefficients of polynomials in `X^(N / 2 slots)` count in its result. The
//!   projection onto them keeps the repeated part of an error and lengthens nothing.
//! - C2S: the whole error counts in later steps. With few slots it may grow by the norm of the
//!   matrix of the moduli ([`LinearTransform::bounded`](crate::lintrans::LinearTransform)).
//!
//! The rounding errors of the diagonals are multiplied by the slots of the operand: in S2C by the
//! largest magnitude, for each diagonal. The operand of C2S is a random polynomial. A slot of a
//! product is a sum of its slots with fixed weights, the roundings of all diagonals there, and is
//! bounded like one slot times the root of the sum of the squared weights.

use bellerophon_ckks::metadata::rules::MetadataRules;
use bellerophon_ckks::{Bounds, CiphertextMeta, Interval, Metadata, Result};

use super::{CoeffsToSlots, SlotsToCoeffs, even_borders};
use crate::error;

impl SlotsToCoeffs {
    /// The worst case of [`meta`](Self::meta), with a key for every rotation. The noise bounds the
    /// error at the coefficients of the values, `|e|_2 / sqrt(N)`.
    pub(crate) fn bounded(&self, rules: MetadataRules<'_>, x: &Metadata) -> Result<Metadata> {
        let params = rules.params();
        rules.check_prepared(self.level(), x.level)?;
        // The operand of the first matrix has its padding still.
        let mut largest = x.meta.bounds.slots().bound();
        let x = rules.drop_to_level(x, self.level())?;
        let (cleared, meta) = self.clearing(&x.meta)?;
        let x = Metadata { meta, ..x };
        let CiphertextMeta { len, bounds, .. } = x.meta;
        // Step 1: the scale of the coefficients.
        let factor = self.spec.scale / params.scale();
        let scale = x.meta.scale * factor;
        let mut z = x;
        let last = self.transforms.len() - 1;
        let borders = even_borders(self.slots, self.spec.levels);
        // Step 2: the matrices one after the other.
        for (i, transform) in self.applied(cleared.as_deref()).enumerate() {
            // A group of k stages lengthens by 2^(k/2), times its factor.
            let stages = borders[i + 1] - borders[i];
            let mut lengthening = 2f64.powf(0.5 * f64::from(stages));
            lengthening *= self.share(i);
            // The range of the last operand is that of the coefficients.
            if i == last {
                let mut reach = bounds.slots().bound();
                if self.spec.modular {
                    let limbs = params.limbs_at(self.spec.output_level);
                    reach = reach.min(0.25 * params.capacity(limbs, scale));
                }
                let coefficients = reach * factor / transform.norm;
                z.meta.bounds = Bounds::all(Interval::complex(coefficients)?);
            }
            let message = largest * z.meta.scale;
            let rounded = transform.roundings() * message;
            z = transform.bounded_by(rules, &z, lengthening, rounded)?;
            // The padding is gone after the first matrix.
            largest = if i == 0 { bounds.slots().bound() } else { largest };
            largest *= transform.norm;
        }
        // Step 3: the metadata of the coefficients.
        let meta = CiphertextMeta { scale, slots: self.slots, len, bounds, noise: z.meta.noise };
        let result = Metadata { meta, ..z };
        if !self.spec.modular {
            rules.check_range(&result)?;
        }
        Ok(result)
    }
}

impl CoeffsToSlots {
    /// The worst case of [`meta`](Self::meta), with a key for every rotation. `message` bounds
    /// every sum of the operand's slots with fixed weights, of squares with the sum 1, in units of
    /// the message. The matrices are multiples of unitary ones: times their factor, the bound holds
    /// for the operand of each of them.
    pub(crate) fn bounded(
        &self,
        rules: MetadataRules<'_>,
        x: &Metadata,
        message: f64,
    ) -> Result<Metadata> {
        let factor = self.spec.factor;
        error::check_slots(&x.meta, self.slots)?;
        rules.check_prepared(self.spec.input_level, x.level)?;
        let whole = self.slots == rules.params().max_slots();
        let bound = x.meta.bounds.slots().bound() * 2f64.sqrt();
        let mut typical = bound * (self.slots as f64).sqrt();
        let (mut z, mut message) = (*x, message);
        for transform in &self.transforms {
            z.meta.bounds = Bounds::all(Interval::complex(typical)?);
            let rounded = transform.roundings_of_random() * message * z.meta.scale;
            // Unitary only where the slots fill the ring; Schur's bound otherwise.
            z = match whole {
                true => transform.bounded_by(rules, &z, self.gain, rounded)?,
                false => transform.bounded_by(rules, &z, transform.schur(), rounded)?,
            };
            typical *= self.gain;
            message *= self.gain;
        }
        z.meta.scale *= factor;
        z.meta.bounds = Bounds::all(Interval::complex(bound)?);
        Ok(z)
    }
}
