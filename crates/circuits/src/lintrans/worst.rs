//! Worst-case noise of linear transforms: a bound for arbitrarily correlated errors.
//!
//! **Noise.** Lengths are `|e|_2 / sqrt(N)`. `q` is the divisor of the level, `d_k` are the
//! diagonals, `p_k` their periods, `m` is the largest magnitude of an operand's slot times its
//! scale.
//! 1. The error of the operand becomes at most `q |M|` times as long, where
//!    `|M| <= sqrt(|M|_1 |M|_inf)` (the largest sums of moduli of a column and of a row; Schur).
//!    The bound also holds for repeated vectors, whose errors are not repeated: sums over rows and
//!    columns do not depend on the copy that a rotation brings.
//! 2. The key switch of a baby step `b`, of length `k`, is multiplied by every diagonal of that
//!    step: `q k sum_t max |d_t|`, over all diagonals of a step other than 0. A step with a far
//!    step has that key switch too.
//! 3. Diagonals are rounded to integers: `2 p_t` coefficients by at most 1/2 each, a polynomial of
//!    length at most `sqrt(p_t / 2N)` with slots of at most `p_t`. Products with the operand and
//!    its error `e_b` add `sum_t (sqrt(p_t / 2N) m + p_t |e_b|)`.
//! 4. Every giant step adds a key switch; double hoisting adds one rounding at the end.
//! 5. The rescale divides all of it by `q` and rounds.

use bellerophon_ckks::metadata::rules::MetadataRules;
use bellerophon_ckks::noise::times;
use bellerophon_ckks::{Bounds, CiphertextMeta, Metadata, Result};
use bellerophon_mlwe as mlwe;

use super::{Hoisting, LinearTransform};

impl LinearTransform {
    /// The worst-case metadata of `M x`, with a key for every rotation.
    pub(crate) fn bounded(&self, rules: MetadataRules<'_>, x: &Metadata) -> Result<Metadata> {
        let message = x.meta.bounds.slots().bound() * x.meta.scale;
        self.bounded_by(rules, x, self.schur(), self.roundings() * message)
    }

    /// Number 3 of the list for an operand of slots up to 1: `sum_t sqrt(p_t / 2N)`.
    pub(crate) fn roundings(&self) -> f64 {
        self.rounded().sum()
    }

    /// As [`roundings`](Self::roundings) where every sum of the operand's slots with fixed weights
    /// is at most the root of the sum of the squared weights, as for the slots of a random
    /// polynomial: `sqrt(sum_t p_t / 2N)`. In each slot the diagonals have different factors.
    pub(crate) fn roundings_of_random(&self) -> f64 {
        self.rounded().map(|length| length * length).sum::<f64>().sqrt()
    }

    /// Bounds on the lengths of the rounding errors of all diagonals.
    fn rounded(&self) -> impl Iterator<Item = f64> {
        let degree = self.params.lattice().spec().degree as f64;
        let terms = self.rows.iter().flat_map(|row| &row.terms);
        terms.map(move |term| (term.period as f64 / (2.0 * degree)).sqrt())
    }

    /// Schur's bound `sqrt(|M|_1 |M|_inf)` on the factor by which the matrix lengthens a vector.
    pub(crate) fn schur(&self) -> f64 {
        (self.norm * self.columns).sqrt()
    }

    /// As [`bounded`](Self::bounded) for a matrix that lengthens vectors at most `lengthening`
    /// times. `rounded` bounds the length of the operand times the rounding errors of the diagonals
    /// (number 3).
    pub(crate) fn bounded_by(
        &self,
        rules: MetadataRules<'_>,
        x: &Metadata,
        lengthening: f64,
        rounded: f64,
    ) -> Result<Metadata> {
        // Numbers are those of the module's list.
        let operand = self.operand(x)?;
        rules.check_range(&operand)?;
        let (params, level) = (&self.params, self.level);
        let (lattice, limbs) = (params.lattice(), params.limbs_at(level));
        let divisor = params.divisor(level);
        let double = self.options.hoisting == Hoisting::Double;
        let rounding = mlwe::noise::rounding(lattice);
        let switch = mlwe::noise::automorphism(lattice, limbs);
        // Under double hoisting the mod-down of a baby step comes at the end.
        let near = rules.source(if double { switch - rounding } else { switch }).sqrt();
        let switched = |baby: usize| match self.split(baby) {
            (0, 0) => 0.0,
            (0, _) => near,
            (_, 0) => rules.source(switch).sqrt(),
            _ => rules.source(switch).sqrt() + near,
        };

        // 3: the roundings of the diagonals, multiplied by the operand.
        let mut added = rounded;
        if double {
            added += rules.source(rounding).sqrt();
        }
        // The factor of the operand's error by the rounding of diagonals.
        let mut of_error = 0.0;
        for term in self.rows.iter().flat_map(|row| &row.terms) {
            let period = term.period as f64;
            // 2: the key switch of the baby step, multiplied by the rounded diagonal.
            added += (divisor * term.bound + period) * switched(term.baby);
            of_error += period;
        }
        // 4: the giant steps.
        let (_, giants, _) = self.counts();
        added += giants as f64 * rules.source(switch).sqrt();

        // 1: the error of the operand.
        let noise = operand.meta.noise.map(|square| {
            let length = times(square.sqrt(), divisor * lengthening + of_error) + added;
            length * length
        });
        let bounds = Bounds::all(self.range(&operand.meta));
        let scale = operand.meta.scale * divisor;
        let sum = Metadata { level, meta: CiphertextMeta { scale, bounds, noise, ..operand.meta } };
        // 5: rescale.
        let mut product = rules.rescaled(&sum)?;
        product.meta.len = x.meta.len;
        Ok(product)
    }
}
