//! Value ranges and interval arithmetic. Every ciphertext carries the ranges of its slots.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;
use bellerophon_ring::error::ensure;

use crate::error;

/// A set of numbers that contains every slot of a vector: a real interval `[lo, hi]`, or, for
/// complex slots, the disc `|z| <= hi` (then `lo = -hi`).
///
/// The operations are interval arithmetic: the result contains `x op y` for all `x` and `y` of the
/// operands. Ranges describe the exact messages. The noise of the scheme is not included and has
/// its own estimate ([`crate::noise`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    lo: f64,
    hi: f64,
    complex: bool,
}

/// Ends that differ by less than this share of their magnitude are one number and its roundings.
const POINT: f64 = 16.0 * f64::EPSILON;

impl Interval {
    /// The single number 0.
    pub const ZERO: Self = Self { lo: 0.0, hi: 0.0, complex: false };

    /// The real interval `[lo, hi]`.
    ///
    /// # Errors
    /// [`ErrorKind::Domain`] when an end is not finite or `lo > hi`.
    pub fn real(lo: f64, hi: f64) -> Result<Self> {
        if !lo.is_finite() || !hi.is_finite() || lo > hi {
            return Err(error::interval(lo, hi));
        }
        Ok(Self { lo, hi, complex: false })
    }

    /// The disc `|z| <= bound`.
    pub fn complex(bound: f64) -> Result<Self> {
        if !bound.is_finite() || bound < 0.0 {
            return Err(error::disc(bound));
        }
        Ok(Self::disc(bound))
    }

    fn disc(bound: f64) -> Self {
        Self { lo: -bound, hi: bound, complex: true }
    }

    /// The interval between two reals, in any order.
    pub fn between(a: f64, b: f64) -> Self {
        Self { lo: a.min(b), hi: a.max(b), complex: false }
    }

    /// The interval with both ends moved outwards by `error`.
    pub fn widened(&self, error: f64) -> Self {
        Self { lo: self.lo - error, hi: self.hi + error, ..*self }
    }

    /// Lower end (minus the bound for complex values).
    pub fn lo(&self) -> f64 {
        self.lo
    }

    /// Upper end (the bound for complex values).
    pub fn hi(&self) -> f64 {
        self.hi
    }

    /// The ends, as messages print them.
    pub fn in_words(&self) -> String {
        let complex = if self.complex { " (complex)" } else { "" };
        format!("[{:?}, {:?}]{complex}", self.lo, self.hi)
    }

    /// Whether all values are real.
    pub fn is_real(&self) -> bool {
        !self.complex
    }

    /// The largest magnitude.
    pub fn bound(&self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }

    /// The size of what the values tell: the width or, if it is smaller, the largest magnitude. The
    /// values of a single point, up to roundings of its ends, are known: their magnitude.
    pub fn extent(&self) -> f64 {
        let (width, bound) = (self.hi - self.lo, self.bound());
        if width > POINT * bound { width.min(bound) } else { bound }
    }

    /// Whether every value of `other` lies in `self`.
    pub fn contains(&self, other: &Self) -> bool {
        // No real interval contains a disc, not even the disc of radius 0.
        (self.complex || !other.complex) && self.lo <= other.lo && other.hi <= self.hi
    }

    /// The smallest interval that contains both.
    pub fn hull(&self, other: &Self) -> Self {
        // The hull with a disc is a disc around 0.
        if self.complex || other.complex {
            return Self::disc(self.bound().max(other.bound()));
        }
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi), complex: false }
    }

    /// `x + y`.
    pub fn add(&self, other: &Self) -> Self {
        if self.complex || other.complex {
            return Self::disc(self.bound() + other.bound());
        }
        Self { lo: self.lo + other.lo, hi: self.hi + other.hi, complex: false }
    }

    /// `-x`.
    pub fn neg(&self) -> Self {
        Self { lo: -self.hi, hi: -self.lo, complex: self.complex }
    }

    /// `x - y`.
    pub fn sub(&self, other: &Self) -> Self {
        self.add(&other.neg())
    }

    /// `x y`.
    pub fn mul(&self, other: &Self) -> Self {
        if self.complex || other.complex {
            return Self::disc(self.bound() * other.bound());
        }
        // A bilinear function takes its extremes at the corners.
        let ends = [self.lo * other.lo, self.lo * other.hi, self.hi * other.lo, self.hi * other.hi];
        Self {
            lo: ends.iter().copied().fold(f64::INFINITY, f64::min),
            hi: ends.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            complex: false,
        }
    }

    /// `x^2`, which is never negative for a real `x`.
    pub fn square(&self) -> Self {
        let top = self.bound() * self.bound();
        if self.complex {
            return Self::disc(top);
        }
        // The minimum is 0 if the interval contains 0, else it is at the end nearer to 0.
        let least = if self.lo <= 0.0 && self.hi >= 0.0 {
            0.0
        } else {
            let least = self.lo.abs().min(self.hi.abs());
            least * least
        };
        Self { lo: least, hi: top, complex: false }
    }

    /// `c x` for a real constant.
    pub fn scale(&self, c: f64) -> Self {
        // A negative constant swaps the ends.
        let (a, b) = (c * self.lo, c * self.hi);
        Self { lo: a.min(b), hi: a.max(b), complex: self.complex }
    }

    /// `x + c` for a real constant.
    pub fn shift(&self, c: f64) -> Self {
        self.add(&Self { lo: c, hi: c, complex: false })
    }

    /// The disc of the same bound.
    pub fn as_complex(&self) -> Self {
        Self::disc(self.bound())
    }
}

/// The ranges of a vector: of its values, and of its padding.
///
/// Overflow checks use [`slots`](Self::slots), the domain of a table uses `values`, and reductions
/// clear the padding unless it is [known to be zero](Self::padding_is_zero). A vector without
/// padding carries the range of the values twice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Range of the values `0..len`.
    pub values: Interval,
    /// Range of the padding `len..slots`.
    pub padding: Interval,
}

impl Bounds {
    /// The same range for values and padding.
    pub fn all(range: Interval) -> Self {
        Self { values: range, padding: range }
    }

    /// Values in `range`, zeros in the padding if there is any.
    pub fn padded(range: Interval, has_padding: bool) -> Self {
        Self { values: range, padding: if has_padding { Interval::ZERO } else { range } }
    }

    /// Range of all slots.
    pub fn slots(&self) -> Interval {
        self.values.hull(&self.padding)
    }

    /// Whether the padding is zero up to noise.
    pub fn padding_is_zero(&self) -> bool {
        self.padding.bound() == 0.0
    }

    /// Applies one operation to both ranges.
    pub fn map(&self, f: impl Fn(&Interval) -> Interval) -> Self {
        // Slotwise operations act on padding as on values.
        Self { values: f(&self.values), padding: f(&self.padding) }
    }

    /// Applies an operation of two operands to both ranges.
    pub fn zip(&self, other: &Self, f: impl Fn(&Interval, &Interval) -> Interval) -> Self {
        Self { values: f(&self.values, &other.values), padding: f(&self.padding, &other.padding) }
    }

    /// The bounds after slots have moved: any value or padding may be any of the slots.
    pub fn mixed(&self) -> Self {
        Self::all(self.slots())
    }
}

/// The excess of a range over the domain that passes for rounding, in units of the domain's width.
const SLACK: f64 = 1e-9;

/// Refuses ranges of values or of padding that leave the domain.
pub fn check_domain(bounds: &Bounds, lo: f64, hi: f64) -> Result<()> {
    let slack = SLACK * (hi - lo);
    let domain = Interval::real(lo - slack, hi + slack)?;
    for (what, range) in [("values", &bounds.values), ("padding", &bounds.padding)] {
        ensure(domain.contains(range), || error::outside_domain(what, range.in_words(), lo, hi))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;
    use bellerophon_ring::error::refusal;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn refuses_what_is_no_interval() {
        for (lo, hi) in [(1.0, 0.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
            assert!(refusal(&Interval::real(lo, hi)).is(&ErrorKind::Domain, "interval ["));
        }
        assert!(Interval::complex(-1.0).is_err());
    }

    #[test]
    fn extents_are_widths_of_narrow_ranges() {
        let extent = |lo, hi| Interval::real(lo, hi).unwrap().extent();
        assert_eq!((extent(-2.0, 1.0), extent(0.0, 3.0), extent(5.0, 6.0)), (2.0, 3.0, 1.0));
        assert!((extent(1.0, 1.0 + 1e-13) / 1e-13 - 1.0).abs() < 1e-2);
        assert_eq!((extent(7.0, 7.0), extent(0.3, 0.1 + 0.2)), (7.0, 0.1 + 0.2));
        assert_eq!(extent(0.0, 0.0), 0.0);
        assert_eq!(Interval::complex(2.0).unwrap().extent(), 2.0);
    }

    #[test]
    fn squares_are_never_negative() {
        let range = |lo, hi| Interval::real(lo, hi).unwrap();
        assert_eq!(range(-2.0, 1.0).square(), range(0.0, 4.0));
        assert_eq!(range(-3.0, -2.0).square(), range(4.0, 9.0));
        assert_eq!(range(-2.0, 1.0).mul(&range(-2.0, 1.0)), range(-2.0, 4.0));
        assert_eq!(Interval::complex(2.0).unwrap().square().lo(), -4.0);
    }

    #[test]
    fn padding_follows_apart_from_the_values() {
        let b = Bounds::padded(Interval::real(2.0, 3.0).unwrap(), true).map(|r| r.shift(-2.5));
        assert_eq!(b.values, Interval::real(-0.5, 0.5).unwrap());
        assert_eq!(b.padding, Interval::real(-2.5, -2.5).unwrap());
        assert_eq!(b.slots(), Interval::real(-2.5, 0.5).unwrap());
        assert_eq!(b.mixed(), Bounds::all(b.slots()));
    }

    #[test]
    fn zero_padding_is_known_until_something_is_added() {
        let b = Bounds::padded(Interval::real(2.0, 3.0).unwrap(), true);
        let other = Bounds::all(Interval::real(-1.0, 4.0).unwrap());
        for zero in
            [b.map(|r| r.scale(-2.0)), b.map(Interval::square), b.zip(&other, Interval::mul)]
        {
            assert!(zero.padding_is_zero());
        }
        assert!(b.map(Interval::as_complex).padding_is_zero());
        assert!(!b.map(|r| r.shift(1.0)).padding_is_zero());
        assert!(!b.zip(&other, Interval::add).padding_is_zero() && !b.mixed().padding_is_zero());
    }

    proptest! {
        #[test]
        fn contains_every_result(
            a in -9.0..9.0f64, b in -9.0..9.0f64, c in -9.0..9.0f64, d in -9.0..9.0f64,
            s in 0.0..=1.0f64, t in 0.0..=1.0f64,
        ) {
            let (x, y) = (Interval::between(a, b), Interval::between(c, d));
            let (u, v) = (x.lo() + s * (x.hi() - x.lo()), y.lo() + t * (y.hi() - y.lo()));
            let holds = |range: Interval, value: f64| {
                let slack = 1e-12 * (1.0 + range.bound());
                range.lo() - slack <= value && value <= range.hi() + slack
            };
            prop_assert!(holds(x.add(&y), u + v));
            prop_assert!(holds(x.sub(&y), u - v));
            prop_assert!(holds(x.mul(&y), u * v));
            prop_assert!(holds(x.square(), u * u));
            prop_assert!(holds(x.scale(v), u * v));
            prop_assert!(holds(x.shift(v), u + v));
            prop_assert!(holds(x.neg(), -u));
            prop_assert!(x.hull(&y).contains(&x) && x.hull(&y).contains(&y));
            prop_assert!(x.as_complex().contains(&x) && !x.contains(&x.as_complex()));
        }
    }
}
