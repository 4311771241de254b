//! Engines that work on whole vectors: polynomials and functional bootstrapping. One generic
//! program runs on ciphertexts and on the simulator, which gives the prediction and the keys.

use bellerophon_circuits::CircuitOps;
use std::borrow::Cow;

use bellerophon_circuits::{
    approx::{Accuracy, Approximation, Sign},
    fbt::{FunctionalBootstrapper, IntTable, PairedVec, PeriodicFunction},
};
use bellerophon_ckks as ckks;
use bellerophon_ckks::{
    CiphertextMeta, CkksOps, ComposedOps, Interval, Metadata,
    noise::{Noise, slot_std},
};
use bellerophon_ring::{Error, Result};

use super::{
    function::{MapFunction, Shape},
    goal::{Goal, LOG2_FAILURE},
};

/// The share of the requested error for the approximation; the rest is for noise.
const SHARE: f64 = 0.5;

/// The same for compositions. Their noise is small, and half a bit costs a level.
const COMPOSED_SHARE: f64 = 0.9;

/// Polynomials for functions with a known slope are tried for errors from this part of the domain's
/// radius on. Below it their degree is out of reach.
const COARSE: f64 = 1.0 / 512.0;

/// `log2` of the factor by which the margin of a sign may exceed the error of the magnitude.
const WIDER: f64 = 4.0;

/// `log2` of the largest margin and error of signs: they must be below 1.
const LARGEST: f64 = -0.1;

/// A function prepared for a whole vector.
pub(crate) enum VectorProgram {
    Approximation(Approximation),
    Sign(Sign),
    Relu(Sign),
    Abs(Sign),
    Series(PeriodicFunction),
    Table(IntTable, usize),
}

impl VectorProgram {
    /// The polynomial, or composition of polynomials, of fewest levels for a goal. Compositions
    /// that must take more than `most` levels are refused without a search.
    pub(crate) fn polynomial(goal: &Goal, most: usize) -> Result<Self> {
        let (lo, hi) = (*goal.domain.start(), *goal.domain.end());
        let (function, log2_error) = (&goal.function, goal.log2_error + SHARE.log2());
        let radius = lo.abs().max(hi.abs());
        // Step 1: the sign is a composition; other functions with a jump are refused.
        if let Shape::Sign = function.shape {
            let margin = (function.gap() / radius).log2().min(LARGEST);
            let log2_error = log2_error.min(LARGEST);
            enough_levels(margin, log2_error, most)?;
            let accuracy = Accuracy::bits(-log2_error);
            return Sign::new(radius, margin.exp2(), accuracy).map(Self::Sign);
        }
        if let Some(place) = function.jump(lo, hi) {
            return Err(across_jump(function, place, "a polynomial"));
        }
        let f = function.bounded(lo, hi);
        let f = f.ok_or_else(|| refusal(function, "a table of integers has no polynomial"))?;
        // Step 2: compositions for ReLU and magnitude. The error of ReLU is half that of the
        // magnitude.
        let composed = |halves: f64| {
            let wanted = goal.log2_error + COMPOSED_SHARE.log2();
            let log2 = (wanted + halves - radius.log2()).min(LARGEST);
            enough_levels(log2 + WIDER, log2, most)?;
            Sign::for_magnitudes(radius, Accuracy::absolute(radius * log2.exp2()))
        };
        let composed = match function.shape {
            Shape::Relu => Some(composed(1.0).map(Self::Relu)),
            Shape::Abs => Some(composed(0.0).map(Self::Abs)),
            _ => None,
        };
        // Step 3: a Chebyshev series; for ReLU and magnitude only if the error is coarse.
        let coarse = log2_error.exp2() > COARSE * 0.5 * (hi - lo);
        let series = (composed.is_none() || coarse)
            .then(|| Approximation::new(&f, lo, hi, budget(goal)).map(Self::Approximation));
        // Step 4: the one with fewest levels, or the last refusal.
        let (found, refused): (Vec<_>, Vec<_>) =
            composed.into_iter().chain(series).partition(Result::is_ok);
        let best = found.into_iter().flatten().min_by_key(Self::levels);
        let refusals = refused.into_iter().filter_map(Result::err);
        best.ok_or_else(|| refusals.last().expect("something was tried"))
    }

    /// The series for functional bootstrapping.
    pub(crate) fn series(bootstrapper: &FunctionalBootstrapper, goal: &Goal) -> Result<Self> {
        let (lo, hi) = (*goal.domain.start(), *goal.domain.end());
        let function = &goal.function;
        // Tables of integers are exact; functions of reals take a Fourier series.
        if let Shape::Table(entries) = &function.shape {
            let table = IntTable::real(entries.len(), |k| entries[k])?;
            return Ok(Self::Table(table, entries.len()));
        }
        if let Some(place) = function.jump(lo, hi) {
            return Err(across_jump(function, place, "a series"));
        }
        let f = function.continuous();
        let f = f.ok_or_else(|| refusal(function, "a series needs a continuous function"))?;
        bootstrapper.real_function(&f, lo, hi, budget(goal)).map(Self::Series)
    }

    /// A bound on the error for exact input without noise.
    pub(crate) fn error(&self) -> f64 {
        match self {
            Self::Approximation(f) => f.error(),
            Self::Sign(sign) => sign.error(),
            Self::Relu(sign) => 0.5 * sign.magnitude_error(),
            Self::Abs(sign) => sign.magnitude_error(),
            Self::Series(f) => f.approximation_error(),
            Self::Table(table, _) => table.function().approximation_error(),
        }
    }

    /// The levels that it takes, without those of functional bootstrapping.
    fn levels(&self) -> usize {
        match self {
            Self::Approximation(f) => f.levels(),
            Self::Sign(sign) => sign.levels(),
            Self::Relu(sign) | Self::Abs(sign) => sign.levels() + 1,
            Self::Series(f) => f.levels(),
            Self::Table(table, _) => table.function().levels(),
        }
    }

    /// Whether the program is functional bootstrapping.
    fn bootstraps(&self) -> bool {
        matches!(self, Self::Series(_) | Self::Table(..))
    }

    /// A bound on the noise of the worst result, except with probability
    /// `2^`[`LOG2_FAILURE`], without the approximation error: by the
    /// variances of the slots, which count the largest slope of the program, and by the excess.
    pub(crate) fn noise(&self, result: &Metadata) -> f64 {
        let CiphertextMeta { slots, scale, noise, bounds, .. } = result.meta;
        let unit = slot_std(1.0, slots, scale, bounds.slots().is_real());
        // The largest variances of a series include its approximation error.
        let included = if self.bootstraps() { (self.error() / unit).powi(2) } else { 0.0 };
        let predicted = Noise { peak: (noise.peak - included).max(noise.total), ..noise };
        let excess = Noise::new((noise.excess - included).max(0.0));
        let worst = |noise: Noise| unit * noise.worst(slots, LOG2_FAILURE);
        worst(predicted).max(worst(excess))
    }

    /// A description for the table of engines.
    pub(crate) fn detail(&self) -> String {
        match self {
            Self::Approximation(f) => {
                format!("degree {}, {} relinearizations", f.degree(), f.relinearizations())
            }
            Self::Sign(sign) | Self::Relu(sign) | Self::Abs(sign) => {
                format!("composition of degrees {:?}", sign.degrees())
            }
            Self::Series(f) => format!("series of degree {}", f.series().degree()),
            Self::Table(_, entries) => format!("table of {entries} entries"),
        }
    }

    /// The result of the program, whose noise is to be that against the function, not against the
    /// polynomial: with the approximation error `e`, which the noise of a series includes. Its
    /// square adds to the variances. It is the same for equal values, so it adds to the bound for
    /// errors of any correlation as an amplitude. The range is that of the polynomial, and
    /// includes it.
    pub(crate) fn with_error<A: CkksOps>(&self, a: &A, y: A::Ciphertext) -> A::Ciphertext {
        let meta = a.metadata(&y).meta;
        let CiphertextMeta { slots, scale, noise, bounds, .. } = meta;
        let unit = slot_std(1.0, slots, scale, bounds.slots().is_real());
        let error = if self.bootstraps() { 0.0 } else { self.error() / unit };
        let noise = Noise {
            total: noise.total + error * error,
            peak: noise.peak + error * error,
            bound: (noise.bound.sqrt() + error).powi(2),
            ..noise
        };
        a.with_metadata(y, CiphertextMeta { noise, ..meta })
    }

    /// Applies the program to a vector whose values lie in a domain.
    pub(crate) fn apply<A: CkksOps>(
        &self,
        a: &A,
        x: &A::Ciphertext,
        domain: &Interval,
    ) -> Result<A::Ciphertext> {
        match self {
            Self::Approximation(f) => a.apply(x, f),
            Self::Sign(sign) => a.sign(x, sign),
            Self::Relu(sign) => a.relu(x, sign),
            Self::Abs(sign) => a.abs(x, sign),
            // Functional bootstrapping works on paired vectors: the reals fill the real parts.
            Self::Series(f) => {
                let x = filled(a, x, domain)?.into_owned();
                let results = a.functions_of(&PairedVec::of_reals(a, x)?, &[f])?;
                Ok(only(results).into_inner())
            }
            // A table reads the values as integers modulo the number of its entries.
            Self::Table(table, entries) => {
                let integers = a.integers().from_reals(x, *entries)?;
                let results = a.integers().real_tables(&integers, &[table])?;
                Ok(only(results).into_inner())
            }
        }
    }
}

/// Refuses signs that must take more than `most` levels. An odd polynomial of degree `d` within
/// `[-1, 1]` has a slope of at most about `d` at zero, and takes `log2(d + 1)` levels. A
/// composition that rises to `1 - e` over a margin and stays within `1 + e` therefore takes at
/// least `log2` of `(1 - e) / (1 + e)` over the margin.
fn enough_levels(log2_margin: f64, log2_error: f64, most: usize) -> Result<()> {
    let error = log2_error.exp2();
    let least = (((1.0 - error) / (1.0 + error)).log2() - log2_margin).max(1.0).ceil() as usize;
    if least > most {
        return Err(ckks::error::out_of_levels(least, most));
    }
    Ok(())
}

fn only<T>(results: Vec<T>) -> T {
    results.into_iter().next().expect("one function")
}

/// The requested accuracy of an approximation.
fn budget(goal: &Goal) -> Accuracy {
    Accuracy::absolute(SHARE * goal.log2_error.exp2())
}

fn refusal(function: &MapFunction, reason: &str) -> Error {
    bellerophon_circuits::error::approximation(function.name().into(), reason.into())
}

fn across_jump(function: &MapFunction, place: f64, what: &str) -> Error {
    let reason = format!(
        "the function jumps at {place}, and {what} cannot approximate a jump: take a domain on one \
         side of it, `MapFunction::sign`, or an engine with tables"
    );
    refusal(function, &reason)
}

/// The vector with its padding about the middle of a domain, if it lies outside: a series is not
/// bounded there.
fn filled<'c, A: CkksOps>(
    a: &A,
    x: &'c A::Ciphertext,
    domain: &Interval,
) -> Result<Cow<'c, A::Ciphertext>> {
    let CiphertextMeta { len, slots, bounds, .. } = a.metadata(x).meta;
    if len == slots || domain.contains(&bounds.padding) {
        return Ok(Cow::Borrowed(x));
    }
    a.move_padding(x, 0.5 * (domain.lo() + domain.hi())).map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use bellerophon_circuits::approx::Known;
    use bellerophon_ckks::simulator::Simulator;

    use super::*;
    use crate::{engine::Engine, testing};

    /// A stated range includes the errors of the worst slots of a bootstrapped vector, and the
    /// results of programs have them all the same.
    #[test]
    fn stated_ranges_have_the_noise_of_the_worst_slot() {
        let params = testing::toy();
        let params = params.slots();
        let simulator = Simulator::new(params);
        let domain = Interval::real(-1.0, 1.0).unwrap();
        let x = simulator.encrypt(&vec![0.0; 1024], domain, params.max_level()).unwrap();
        let unit = x.metadata().meta.scale.powi(2) / 1024.0;
        let mixed = Noise::varying(2f64.powi(-40) * unit, 2f64.powi(-24) * unit);
        // Metadata of a product take its largest factor where the sign is steepest, too.
        // The cubic for the sigmoid is slightly less steep than it.
        let relu = (MapFunction::relu(), 1.0, 64.0);
        for (function, slope, room) in [relu, (Known::Sigmoid.into(), 0.24, 4.0)] {
            let goal = Goal {
                function,
                domain: -1.0..=1.0,
                log2_error: -10.0,
                engines: [Engine::Poly].into(),
            };
            let program = VectorProgram::polynomial(&goal, usize::MAX).unwrap();
            let noise = |noise: Noise| {
                let meta = CiphertextMeta { noise, ..x.metadata().meta };
                let x = simulator.with_metadata(x.clone(), meta);
                let y = program.apply(&simulator, &x, &domain).unwrap();
                (program.noise(y.metadata()), *x.metadata())
            };
            let (stated, x) = noise(Noise { excess: 0.0, ..mixed });
            let own = slope * x.worst(LOG2_FAILURE);
            assert!(own < stated && stated < room * own, "{}: {stated} {own}", program.detail());
            let (unstated, _) = noise(mixed);
            assert!(stated <= unstated, "{stated} {unstated}");
        }
    }
}
