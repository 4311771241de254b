//! Preparation of a function over a domain: the cheapest evaluation that reaches an error.

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use std::{fmt, sync::Arc};

use bellerophon_ring::decimal;

use super::accuracy::Accuracy;
use super::fit::{LEAST_ERROR, MAX_DEGREE, certified_error, least_degree, mean_square, minimax};
use super::function::{Function, Iteration};
use super::iterate::Program;
use crate::chebyshev::Chebyshev;
use crate::error;
use crate::polynomial::Polynomial;
use bellerophon_ckks::{Error, Interval, Result};

/// Largest magnitude of the ends of a domain: beyond, values of polynomials overflow.
const LARGEST_END: f64 = 1e100;

/// A function over a domain with a certified error, by a polynomial or by an iteration from one.
/// Prepared once, applied to any number of ciphertexts by
/// [`CircuitOps::apply`](crate::CircuitOps::apply).
///
/// ```
/// use bellerophon_circuits::CircuitOps;
/// use bellerophon_circuits::approx::{Accuracy, Approximation, Function, Known};
/// # use bellerophon_ckks::{Interval, LevelGroup, ModulusChain, Params, ParamsSpec, Security};
/// # use bellerophon_ckks::simulator::Simulator;
///
/// # fn main() -> bellerophon_ckks::Result<()> {
/// # let levels = vec![LevelGroup::single(45, 6)];
/// # let chain = ModulusChain { degree: 1 << 10, first_bits: 55, levels, special: (50, 2) };
/// # let params = Params::new(ParamsSpec::from_chain(&chain, 45, Security::Insecure)?)?;
/// let f = Function::from(Known::Sigmoid);
/// let sigmoid = Approximation::new(&f, -8.0, 8.0, Accuracy::bits(16.0))?;
/// println!("{sigmoid}"); // sigmoid(x) on [-8, 8]: degree 27, error 2^-16.2, 6 levels, ..
/// assert!(sigmoid.error() <= 2f64.powi(-16) && sigmoid.levels() == 6);
///
/// let simulator = Simulator::new(&params); // or an evaluator
/// let x = simulator.encrypt(&[-5.0, -1.0, 0.5, 8.0], Interval::real(-8.0, 8.0)?, 6)?;
/// let y = simulator.apply(&x, &sigmoid)?;
/// for (x, y) in x.reals().into_iter().zip(y.reals()) {
///     assert!((y - 1.0 / (1.0 + (-x).exp())).abs() < sigmoid.error() + 1e-6);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Approximation {
    name: Arc<str>,
    lo: f64,
    hi: f64,
    error: f64,
    pub(crate) program: Program,
}

impl Approximation {
    /// The function `f` on a domain that contains `[lo, hi]`, to an accuracy, with the fewest
    /// relinearizations at the fewest levels.
    ///
    /// The candidates are polynomials up to degree 1023, minimax polynomials where they save a
    /// level, and iterations (Goldschmidt for `1/x`, Newton for roots, squarings for `e^x`). A
    /// domain of width at most 2 may be widened so that its map onto `[-1, 1]` takes no level:
    /// [`domain`](Self::domain) is the actual one.
    ///
    /// # Errors
    /// [`ErrorKind::Domain`] unless `lo < hi`, both within `1e100`, [`ErrorKind::Accuracy`]
    /// for an error below `2^-40`, one that reaches the [spread](Accuracy::within_spread) of `f`,
    /// or one that no candidate reaches (`f` has a singularity in or near the domain).
    pub fn new(f: &Function, lo: f64, hi: f64, accuracy: Accuracy) -> Result<Self> {
        check_domain(lo, hi)?;
        accuracy.within_spread(f.name(), |x| f.value(x), lo, hi)?;
        Self::of_accuracy(f, lo, hi, accuracy)
    }

    /// As [`new`](Self::new), also for an error that reaches the spread of `f`.
    pub(super) fn of_accuracy(f: &Function, lo: f64, hi: f64, accuracy: Accuracy) -> Result<Self> {
        let refuse = |reason| error::approximation(f.name().into(), reason);
        let error = accuracy.error()?;
        if error < LEAST_ERROR.exp2() {
            let reason = format!("error {error:e}: need at least 2^{LEAST_ERROR}");
            return Err(refuse(reason));
        }
        let candidates = domains(lo, hi).into_iter().flat_map(|[lo, hi]| {
            programs(f, lo, hi, error)
                .into_iter()
                .map(move |(program, error)| (program, error, lo, hi))
        });
        let best = candidates.min_by_key(|(p, ..)| (p.levels(), p.relinearizations()));
        let (program, error, lo, hi) = best.ok_or_else(|| {
            refuse(format!(
                "no candidate reaches an error of {} on [{lo:?}, {hi:?}]: allow a larger error, \
                 or a domain farther from where the function is singular",
                decimal(error)
            ))
        })?;
        Ok(Self { name: f.name().into(), lo, hi, error, program })
    }

    /// The minimax polynomial of a degree, by [`remez`](super::remez()); the interpolant in the
    /// Chebyshev nodes where the exchange does not converge.
    pub fn of_degree(f: &Function, lo: f64, hi: f64, degree: usize) -> Result<Self> {
        check_domain(lo, hi)?;
        let best = minimax(f, lo, hi, degree).ok_or_else(|| without_values(f, lo, hi))?;
        Self::of_polynomial(f, best)
    }

    /// The polynomial of a degree nearest to `f` in the mean square over `[lo, hi]`, as logistic
    /// regression uses it for the sigmoid on `[-8, 8]` (Kim, Song, Wang, Xia and Jiang 2018;
    /// Full-RNS HEAAN, section 5.3). Its largest error is certified like any other.
    pub fn least_squares(f: &Function, lo: f64, hi: f64, degree: usize) -> Result<Self> {
        check_domain(lo, hi)?;
        let degree = degree.min(MAX_DEGREE);
        let nearest = f.guarded(|value| mean_square(value, lo, hi, degree));
        Self::of_polynomial(f, nearest.ok_or_else(|| without_values(f, lo, hi))?)
    }

    /// A given polynomial, with its error as an approximation of `f` certified.
    pub(crate) fn of_polynomial(f: &Function, p: Chebyshev) -> Result<Self> {
        let (lo, hi) = (p.lo, p.hi);
        let error = certified_error(f, &p).ok_or_else(|| {
            error::approximation(
                f.name().into(),
                format!("the function is not known to be analytic around [{lo:?}, {hi:?}]"),
            )
        })?;
        let program = Program::Polynomial(Polynomial::new(p));
        Ok(Self { name: f.name().into(), lo, hi, error, program })
    }

    /// The name of the function.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The domain.
    pub fn domain(&self) -> Interval {
        Interval::between(self.lo, self.hi)
    }

    /// Certified bound on the error over the whole domain, without the noise of the scheme.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// Degree as a polynomial in the argument, iterations multiplied out.
    pub fn degree(&self) -> usize {
        self.program.degree()
    }

    /// Levels on a ciphertext whose scale is near the primes of its level.
    pub fn levels(&self) -> usize {
        self.program.levels()
    }

    /// Relinearizations, most of the work.
    pub fn relinearizations(&self) -> usize {
        self.program.relinearizations()
    }

    /// The value at `x` of the domain, without encryption.
    pub fn eval(&self, x: f64) -> f64 {
        self.program.eval(x)
    }

    /// The range of an iteration over a part of the domain, where the function is monotone.
    pub(crate) fn range(&self, of: &Interval) -> Interval {
        let ends = Interval::between(self.eval(of.lo()), self.eval(of.hi()));
        Interval::between(ends.lo() - 2.0 * self.error, ends.hi() + 2.0 * self.error)
    }
}

impl fmt::Display for Approximation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} on [{}, {}]: degree {}, error 2^{:.1}, {} levels, {} relinearizations",
            self.name,
            self.lo,
            self.hi,
            self.degree(),
            self.error.log2(),
            self.levels(),
            self.relinearizations()
        )
    }
}

pub(crate) fn check_domain(lo: f64, hi: f64) -> Result<()> {
    let width = hi - lo;
    let ends = lo.abs().max(hi.abs());
    if lo.is_finite() && hi.is_finite() && width > 0.0 && ends <= LARGEST_END {
        return Ok(());
    }
    Err(error::interval(lo, hi))
}

/// Refuses functions that have no finite value somewhere in a domain.
pub(crate) fn without_values(f: &Function, lo: f64, hi: f64) -> Error {
    error::approximation(
        f.name().into(),
        format!(
            "the function has no value, or one too large for f64, somewhere in [{lo:?}, {hi:?}]: \
             take a domain on which it is defined"
        ),
    )
}

/// The domain, and wider ones of width `2 / k`, whose map onto `[-1, 1]` costs no level.
fn domains(lo: f64, hi: f64) -> Vec<[f64; 2]> {
    let mut all = vec![[lo, hi]];
    let slope = (2.0 / (hi - lo) * (1.0 + 1e-12)).floor();
    if slope >= 1.0 && slope * (hi - lo) < 2.0 * (1.0 - 1e-12) {
        let (width, middle) = (2.0 / slope, 0.5 * (lo + hi));
        all.push([middle - 0.5 * width, middle + 0.5 * width]);
        all.push([lo, lo + width]);
        all.push([hi - width, hi]);
    }
    all
}

/// The ways to evaluate `f` on `[lo, hi]`, each with its certified error, at most `error`.
fn programs(f: &Function, lo: f64, hi: f64, error: f64) -> Vec<(Program, f64)> {
    let mut all = vec![];
    if let Some((p, e)) = least_degree(f, lo, hi, error) {
        all.push((Program::Polynomial(Polynomial::new(p)), e));
    }
    match f.iteration {
        Some(Iteration::Inverse) if lo * hi > 0.0 => all.extend(Program::inverses(lo, hi, error)),
        Some(kind @ (Iteration::Sqrt | Iteration::InverseSqrt)) if lo > 0.0 => {
            all.extend(Program::roots(lo, hi, error, kind == Iteration::Sqrt));
        }
        Some(Iteration::Exp) => all.extend(Program::exponentials(lo, hi, error)),
        _ => {}
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approx::{Known, certify::Proxy};
    use crate::polynomial::power_depth;
    use bellerophon_ckks::ErrorKind;

    fn worst(a: &Approximation, f: &Function) -> f64 {
        (0..=20_000)
            .map(|i| a.domain().lo() + (a.domain().hi() - a.domain().lo()) * i as f64 / 20_000.0)
            .map(|x| (a.eval(x) - f.value(x)).abs())
            .fold(0.0, f64::max)
    }

    #[test]
    fn errors_are_certified_and_not_wasted() {
        let all = [
            (Function::from(Known::Inverse), 0.5, 1.5),
            (Function::from(Known::Inverse), 0.01, 1.0),
            (Function::from(Known::Sqrt), 0.05, 1.0),
            (Function::from(Known::InverseSqrt), 0.05, 1.0),
            (Function::from(Known::Exp), -1.0, 1.0),
            (Function::from(Known::Exp), -8.0, 2.0),
            (Function::from(Known::Ln), 0.5, 4.0),
            (Function::from(Known::Sigmoid), -8.0, 8.0),
            (Function::from(Known::Tanh), -4.0, 4.0),
            (Function::from(Known::Softplus), -8.0, 8.0),
            (Function::from(Known::Silu), -6.0, 6.0),
            (Function::from(Known::Gelu), -4.0, 4.0),
            (Function::from(Known::Sin), -3.0, 3.0),
            (Function::from(Known::Cos), -3.0, 3.0),
        ];
        for (f, lo, hi) in all {
            for bits in [-8.0, -20.0, -30.0] {
                let a = Approximation::new(&f, lo, hi, Accuracy::bits(-bits)).unwrap();
                assert!(a.domain().lo() <= lo && hi <= a.domain().hi(), "{a}");
                let found = worst(&a, &f);
                assert!(found <= a.error() && a.error() <= bits.exp2(), "{a}: {found:e}");
                // Squarings bound the error at the largest value.
                let factor = if matches!(a.program, Program::Polynomial(_)) { 1.03 } else { 8.0 };
                assert!(a.error() < factor * found + 3e-12, "{a}: {found:e}");
            }
        }
    }

    /// A steep function, known by its slope only, takes more samples and not another engine.
    #[test]
    fn steep_functions_are_certified_by_slope() {
        let square = Function::lipschitz("x^2", |x| x * x, 8.0);
        for bits in [-8.0, -12.0, -13.0] {
            let a = Approximation::new(&square, -4.0, 4.0, Accuracy::bits(-bits)).unwrap();
            let found = worst(&a, &square);
            assert!(a.degree() == 2 && found <= a.error() && a.error() <= bits.exp2(), "{a}");
        }
        assert!(Approximation::new(&square, -4.0, 4.0, Accuracy::bits(20.0)).is_err());
    }

    #[test]
    fn integer_slopes_save_the_level_of_the_map() {
        let to = |known: Known, lo, hi, bits| {
            Approximation::new(&Function::from(known), lo, hi, Accuracy::bits(bits)).unwrap()
        };
        let a = to(Known::Exp, -1.0, 1.0, 20.0);
        assert_eq!((a.levels(), a.domain().lo(), a.domain().hi()), (3, -1.0, 1.0));
        // [1, 2.7] is widened to a width of 2, [0.5, 0.9] to one of 0.4.
        let a = to(Known::Ln, 1.0, 2.7, 16.0);
        assert!((a.domain().hi() - a.domain().lo() - 2.0).abs() < 1e-12 && a.levels() == 3, "{a}");
        let a = to(Known::Inverse, 0.5, 0.9, 16.0);
        assert_eq!(a.levels(), power_depth(a.degree() + 1), "{a}");
    }

    #[test]
    fn best_approximations_save_levels() {
        // The truncated series of degree 7 misses this error, the best polynomial does not.
        let f = Function::from(Known::Exp);
        let proxy = Proxy::new(&f, -1.0, 1.0, 1e-8).unwrap();
        let truncated = proxy.certify(&proxy.truncated(7));
        let best = Approximation::of_degree(&f, -1.0, 1.0, 7).unwrap();
        assert!(best.error() < 0.999 * truncated);
        let between = Accuracy::absolute(0.5 * (best.error() + truncated));
        let a = Approximation::new(&f, -1.0, 1.0, between).unwrap();
        assert_eq!((a.degree(), a.levels()), (7, 3), "{a}");
    }

    #[test]
    fn published_least_squares() {
        // Kim, Song, Wang, Xia and Jiang (JMIR Med. Inform. 2018), on [-8, 8], in powers of x / 8.
        let published: [&[f64]; 2] = [
            &[0.5, 1.20096, 0.0, -0.81562],
            &[0.5, 1.73496, 0.0, -4.19407, 0.0, 5.43402, 0.0, -2.50739],
        ];
        for c in published {
            let degree = c.len() - 1;
            let a =
                Approximation::least_squares(&Function::from(Known::Sigmoid), -8.0, 8.0, degree)
                    .unwrap();
            assert_eq!(a.degree(), degree);
            for i in -20..=20 {
                let t = 0.05 * i as f64;
                let theirs = c.iter().rev().fold(0.0, |sum, c| sum * t + c);
                let ours = a.eval(8.0 * t);
                assert!((ours - theirs).abs() < 1e-4, "degree {degree} at {t}: {ours} {theirs}");
            }
            let found = worst(&a, &Function::from(Known::Sigmoid));
            assert!(found <= a.error() && a.error() < 1.03 * found);
        }
    }

    #[test]
    fn functions_known_by_their_slope() {
        let abs = Function::lipschitz("|x|", f64::abs, 1.0);
        let a = Approximation::new(&abs, -1.0, 1.0, Accuracy::bits(6.0)).unwrap();
        let found = worst(&a, &abs);
        assert!(found <= a.error() && a.error() <= 2f64.powi(-6), "{a}");
        assert!(Approximation::new(&abs, -1.0, 1.0, Accuracy::bits(20.0)).is_err());
    }

    #[test]
    fn what_cannot_be_approximated_is_refused() {
        let inverse = Function::from(Known::Inverse);
        for (lo, hi, bits) in [
            (-1.0, 1.0, 10.0),
            (0.0, 1.0, 10.0),
            (0.5, 1.0, 60.0),
            (0.5, 1.0, -3.0),
            (0.5, 1.0, 0.0),
        ] {
            let error = Approximation::new(&inverse, lo, hi, Accuracy::bits(bits)).unwrap_err();
            assert!(
                error.is(&ErrorKind::Accuracy { log2_reached: None }, "approximation of"),
                "{error}"
            );
        }
        for (lo, hi) in
            [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (-f64::MAX, f64::MAX), (1e300, 1.5e308)]
        {
            let error = Approximation::new(&inverse, lo, hi, Accuracy::bits(8.0)).unwrap_err();
            assert!(error.is(&ErrorKind::Domain, "interval ["), "{error}");
        }
    }

    #[test]
    fn functions_without_values_are_refused() {
        let nowhere = Function::lipschitz("nowhere", |_| f64::NAN, 1.0);
        for refused in [
            Approximation::of_degree(&Function::from(Known::Ln), -1.0, 1.0, 5),
            Approximation::of_degree(&Function::from(Known::Exp), 0.0, 1000.0, 5),
            Approximation::least_squares(&Function::from(Known::Sqrt), -1.0, 1.0, 3),
            Approximation::new(&nowhere, -1.0, 1.0, Accuracy::bits(3.0)),
        ] {
            let error = refused.unwrap_err();
            assert!(
                error.is(&ErrorKind::Accuracy { log2_reached: None }, "approximation of"),
                "{error}"
            );
        }
        // The zero function is odd, and of degree 0 there is no odd polynomial.
        let zero = Function::lipschitz("zero", |_| 0.0, 0.0);
        assert_eq!(Approximation::of_degree(&zero, -1.0, 1.0, 0).unwrap().eval(0.5), 0.0);
    }
}
