//! Worst-case noise of functional bootstraps for reals: a bound for arbitrarily correlated errors.
//!
//! **Noise.** Lengths `|e|_2 / sqrt(N)` over the scale, as in the worst case of polynomials:
//! 1. S2C and the switch to the sparse secret leave errors of the value itself: the function
//!    multiplies them by its largest slope.
//! 2. The steps from the mod raise on add an error of the argument of the exponential, whose first
//!    step is a polynomial over `[-1, 1]`.
//! 3. A squaring enlarges an error `d` of `F` to `2 |F| d + N d^2`, where `|F|` is at most 1 plus
//!    the approximation error. A normalisation is the product of `F^2` and `2 - F conj(F)`, each
//!    with such an error.
//! 4. The series is a polynomial of `E` on a circle that contains its values.
//! 5. The real part adds the noise twice, at half the scale, and that of a conjugation.
//! 6. The approximation errors of the exponential and of the series depend on the message and on
//!    the key: they count at their largest magnitude in every slot.
//!
//! Tables are refused: their results are integers, and rounding removes the noise
//! ([`IntVec::decrypt`](super::IntVec::decrypt)).

use bellerophon_ckks::{
    Bounds, Interval, Metadata, Result, metadata::rules::MetadataRules, noise::times,
    origins::Relation, simulator::one_key,
};

use super::exponential::Exponential;
use super::{FbtInput, FunctionalBootstrapper, PeriodicFunction};
use crate::bootstrap::worst::{BoundedRaising, silent};
use crate::error;
use crate::polynomial::eval::plan_noise;
use crate::polynomial::worst::{bounded_plan, step};

impl FunctionalBootstrapper {
    /// The worst case of [`meta`](Self::meta), with a key for every rotation.
    pub(crate) fn bounded(
        &self,
        rules: MetadataRules<'_>,
        x: &Metadata,
        input: FbtInput,
        functions: &[(&PeriodicFunction, f64)],
    ) -> Result<Vec<Metadata>> {
        if functions.iter().any(|(f, _)| f.as_table().is_some()) {
            return Err(error::no_worst_case());
        }
        // Levels, scales and ranges are those of a vector without noise.
        let meta = self.meta(&silent(x), input, functions, &one_key)?;
        let errors = rules.errors();

        // Steps 1 to 4 of the functional bootstrap: 1 and 2 of the module's list.
        let circle = meta.turned.meta(rules, x)?;
        let BoundedRaising { lowered, before, part } = self.raising().bounded(rules, &circle)?;

        // 3: the exponential.
        let e = self.exponential.bounded(rules, &part, &meta.exponential)?;
        let degree = rules.params().lattice().spec().degree as f64;
        let results = functions.iter().zip(meta.results).map(|(&(f, scale), result)| {
            // 4: the series, at half the scale.
            let mut noise = match f.levels() {
                0 => plan_noise(rules, &f.plan, &e, 0.5 * scale, || unreachable!())?,
                _ => bounded_plan(rules, &f.plan, &e, 0.5 * scale)?,
            };
            // 5: both parts, and the conjugation.
            let halves = if input.both { 2 } else { 1 };
            for _ in 1..halves {
                noise = errors.sum(noise, noise, Relation::Related);
            }
            let limbs = rules.params().limbs_at(result.level);
            let switched = rules
                .source(bellerophon_mlwe::noise::automorphism(rules.params().lattice(), limbs));
            noise = errors.with(noise * 4.0, switched);
            // 1: the error of the value itself, of a coefficient per slot, in revolutions.
            let [slope, gain] = f.largest_slopes();
            let per_slot = slope * scale / (self.spec().slots as f64).sqrt();
            let before = before * (per_slot / lowered.meta.scale).powi(2);
            noise = errors.sum(noise, before, Relation::Related);
            // 6: the approximation errors.
            let off = gain * self.exponential.error + f.approximation_error();
            let parts = if input.both { 2f64.sqrt() } else { 1.0 };
            noise = errors.with(noise, errors.mismatch(degree as usize, parts * off * scale));
            let bounded = Metadata {
                meta: bellerophon_ckks::CiphertextMeta { noise, ..result.meta },
                ..result
            };
            rules.check_range(&bounded)?;
            Ok(bounded)
        });
        results.collect()
    }
}

impl Exponential {
    fn bounded(
        &self,
        rules: MetadataRules<'_>,
        part: &Metadata,
        meta: &super::exponential::ExponentialMeta,
    ) -> Result<Metadata> {
        // Step 1 of the exponential: a polynomial.
        let degree = rules.params().lattice().spec().degree as f64;
        let largest = 1.0 + self.error;
        let mut f = *part;
        f.meta.noise = bounded_plan(rules, &self.plan, part, meta.scales[0])?;
        (f.level, f.meta.scale) = (f.level - self.plan.depth(), meta.scales[0]);
        let squared = |f: &mut Metadata, scale: f64| -> Result<()> {
            let step = step(rules, f.level, true, 0.0, scale)?;
            f.meta.noise = f.meta.noise.map(|square| {
                let off = square.sqrt() / f.meta.scale;
                let off = times(2.0 * largest, off) + degree * times(off, off) + step;
                (off * scale).powi(2)
            });
            (f.level, f.meta.scale) = (f.level - 1, scale);
            Ok(())
        };
        // Step 2: the squarings.
        for &scale in &meta.scales[1..] {
            squared(&mut f, scale)?;
        }
        if let Some(factor) = meta.factor {
            // Step 3: F^2, and the product of F and its conjugate, which has one key switch more.
            let mut square = f;
            squared(&mut square, factor)?;
            let mut rest = f;
            let lattice = rules.params().lattice();
            let switched =
                bellerophon_mlwe::noise::automorphism(lattice, rules.params().limbs_at(f.level));
            rest.meta.noise = rules.errors().with(f.meta.noise, rules.source(switched));
            squared(&mut rest, factor)?;
            let step = step(rules, square.level, true, 0.0, meta.scale)?;
            let noise = square.meta.noise.zip(rest.meta.noise, |square, rest| {
                let (a, b) = (square.sqrt() / factor, rest.sqrt() / factor);
                let off = largest * largest * (a + b) + degree * times(a, b) + step;
                (off * meta.scale).powi(2)
            });
            f = Metadata { level: meta.level, ..square };
            (f.meta.noise, f.meta.scale) = (noise, meta.scale);
        }
        f.meta.bounds = Bounds::all(Interval::complex(largest)?);
        Ok(f)
    }
}
