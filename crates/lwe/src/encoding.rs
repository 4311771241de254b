//! Encodings: the map between phases and reals.

use std::ops::RangeInclusive;

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Modulus, Result};

use crate::params::Params;
use crate::{error, noise};

/// Margin for noise on either side of the range, in standard deviations. A value exceeds 9 of them
/// with probability `2^-61`.
const TAIL: f64 = 9.0;

/// Largest distance of values from 0, in widths. Up to it, floating-point bounds are accurate to
/// `2^-27` of a period, a small part of a step of any table.
const MAX_DISTANCE: f64 = (1u64 << 26) as f64;

/// The map `value = center + width * phase / q0`: one period of the phase corresponds to `width`.
///
/// A phase determines its value modulo the width, so a range must be narrower than the width. A
/// table look-up accepts ranges up to half of the width, less a guard band on either side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Encoding {
    center: f64,
    width: f64,
}

/// The operations that an encoding leaves headroom for, between the values that it is fitted to and
/// the next table look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headroom {
    /// Number of values that are added or subtracted before the next table look-up: 1 uses the
    /// whole table for a value, 2 for a difference. Range and deviation grow by this factor. For
    /// the deviation it holds even if the terms share noise.
    pub terms: u32,
    /// Number of consecutive comparators before the next table look-up. Each adds an index error.
    pub levels: u32,
}

impl Headroom {
    /// Headroom for a look-up of the values themselves.
    pub const TABLE: Self = Self { terms: 1, levels: 0 };

    /// Headroom for `levels` consecutive comparators: 1 for a maximum or a comparison of two
    /// values, the depth of the network for sorting.
    pub const fn comparators(levels: u32) -> Self {
        Self { terms: 2, levels }
    }
}

/// The choice of the encoding of a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OutputEncoding {
    /// The finest encoding that holds the range of the function over the tracked range of its
    /// argument, with the noise of the look-up and the requested headroom.
    Fit(Headroom),
    /// A given encoding, so that results of different tables can be added. The range of the
    /// function and the noise must fit one period. For a further look-up they must fit half a
    /// period, less the guard bands.
    Encoding(Encoding),
}

impl OutputEncoding {
    /// The encoding of results in a range, with noise of `phase_variance` as for
    /// [`Encoding::fit`]. Fails if the results do not fit a given encoding.
    pub(crate) fn resolve(
        self,
        params: &Params,
        range: &RangeInclusive<f64>,
        phase_variance: f64,
        log2_failure: f64,
    ) -> Result<Encoding> {
        let (lo, hi) = (*range.start(), *range.end());
        match self {
            Self::Encoding(encoding) => {
                let unit = encoding.width / params.ring_modulus().value() as f64;
                check_period(lo, hi, phase_variance.sqrt() * unit, &encoding)?;
                Ok(encoding)
            }
            Self::Fit(headroom) => {
                Encoding::fit(params, lo, hi, phase_variance, headroom, log2_failure)
            }
        }
    }
}

impl Encoding {
    /// An encoding from the value at phase 0 and the width of a period.
    pub fn new(center: f64, width: f64) -> Result<Self> {
        if !(center.is_finite() && width.is_finite() && width > 0.0) {
            return Err(error::encoding(center, width));
        }
        Ok(Self { center, width })
    }

    /// The finest encoding of `[lo, hi]` with which values, after the operations of `headroom`, fit
    /// a table of `params`.
    ///
    /// `phase_variance` is the variance of the input noise, in squared units of the phase modulo
    /// `q0`. The result of a look-up has the noise of [`noise::look_up`]. `log2_failure` is as in
    /// [`noise::guard`].
    ///
    /// # Errors
    /// [`ErrorKind::Domain`] if the guard band takes the whole table.
    pub fn fit(
        params: &Params,
        lo: f64,
        hi: f64,
        phase_variance: f64,
        headroom: Headroom,
        log2_failure: f64,
    ) -> Result<Self> {
        // Step 1: validate the inputs.
        if !(lo.is_finite() && hi.is_finite() && lo <= hi && (hi - lo).is_finite()) {
            return Err(error::domain(lo, hi));
        }
        if !(phase_variance >= 0.0 && phase_variance.is_finite()) {
            let needed = "a finite number from 0 on";
            return Err(error::number("variance of a phase", phase_variance, needed));
        }
        noise::check_failure(log2_failure)?;
        // Step 2: the noise of one term before the next look-up. Each comparator adds the index
        // error of a look-up.
        let (n, terms) = (params.spec().ring_degree, f64::from(headroom.terms.max(1)));
        let cell = params.ring_modulus().value() as f64 / (2 * n) as f64;
        let fresh = noise::largest_index_error(params, noise::look_up(params));
        let levels = f64::from(headroom.levels);
        let entering = (phase_variance + levels * fresh * cell * cell)
            * noise::comparator_variance_factor(log2_failure).powf(levels);
        // Step 3: the guard band for the sum of all terms, whose deviations add.
        let index = noise::largest_index_error(params, terms * terms * entering);
        let guard = noise::guard(index, log2_failure);
        let available = (n / 2) as f64 - guard as f64;
        // Step 4: the width with which the range of the sum fills the rest of the table. A single
        // point has no width of its own, and any width serves.
        let half = if hi > lo { (hi - lo) / 2.0 } else { lo.abs().max(1.0) };
        if available < 1.0 {
            let reach = terms;
            return Err(error::table_too_small(lo, hi, reach, guard, available, n));
        }
        // The tolerance keeps the rounding of the quotient from losing the last step.
        let width = terms * half * (2 * n) as f64 / available * (1.0 + 1e-9);
        Self::new(lo + (hi - lo) / 2.0, width)
    }

    /// The value at phase 0.
    pub fn center(&self) -> f64 {
        self.center
    }

    /// The increase of the value over one period of the phase.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// The phase modulo `q` of a value, in `(-q/2, q/2)`.
    pub(crate) fn encode(&self, value: f64, q: &Modulus) -> i64 {
        // The time of a division may depend on a secret dividend.
        let periods = (value - self.center) * self.width.recip();
        let phase = ((periods - periods.round()) * q.value() as f64).round() as i64;
        q.center(q.from_i64(phase))
    }

    /// The value of a phase modulo `q`: of all values that differ by multiples of the width, the
    /// one nearest to `near`.
    pub(crate) fn decode(&self, phase: i64, q: &Modulus, near: f64) -> f64 {
        let value = self.center + self.width * (phase as f64 * (q.value() as f64).recip());
        value - self.width * ((value - near) * self.width.recip()).round()
    }
}

impl std::fmt::Display for Encoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} + {} per period", self.center, self.width)
    }
}

/// Fails unless the range with its noise fits one period of the encoding.
pub(crate) fn check_period(lo: f64, hi: f64, deviation: f64, encoding: &Encoding) -> Result<()> {
    let (center, width) = (encoding.center(), encoding.width());
    // The comparison is written so that it also rejects infinite and NaN bounds.
    let fits = hi - lo + 2.0 * TAIL * deviation < width;
    if !fits {
        return Err(error::wraps(lo, hi, deviation, width));
    }
    if lo.abs().max(hi.abs()).max(center.abs()) > MAX_DISTANCE * width {
        return Err(error::distant(lo, hi, center, width));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::error::refusal;
    use crate::params::tests::insecure;

    #[test]
    fn encoding_and_decoding_are_inverse_modulo_the_width() {
        let q = Modulus::new((1 << 45) - 229).unwrap();
        let encoding = Encoding::new(3.0, 10.0).unwrap();
        for value in [-1.99, 0.0, 3.0, 7.99] {
            let phase = encoding.encode(value, &q);
            assert!(phase.unsigned_abs() <= q.value() / 2);
            assert!((encoding.decode(phase, &q, 3.0) - value).abs() < 1e-12);
            assert_eq!(phase, encoding.encode(value + 20.0, &q));
            assert!((encoding.decode(phase, &q, 102.0) - value - 100.0).abs() < 10.0);
        }
        for (center, width) in [(0.0, 0.0), (0.0, -1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
            assert!(
                refusal(&Encoding::new(center, width))
                    .is(&ErrorKind::Scale, "per period: need finite numbers and a width")
            );
        }
    }

    #[test]
    fn room_makes_turns_wider() {
        let params = Params::new(insecure(8, 256, false)).unwrap();
        let fit = |lo, hi, room| Encoding::fit(&params, lo, hi, 1.0, room, -60.0);
        let table = fit(-1.0, 3.0, Headroom::TABLE).unwrap();
        assert_eq!(table.center(), 1.0);
        assert!(table.width() > 8.0 && table.width() < 12.0, "{}", table.width());
        let difference = fit(-1.0, 3.0, Headroom::comparators(1)).unwrap();
        assert!(difference.width() > 2.0 * table.width());
        let network = fit(-1.0, 3.0, Headroom::comparators(10)).unwrap();
        assert!(network.width() > difference.width());
        assert!(fit(2.0, 2.0, Headroom::TABLE).unwrap().width() > 8.0);
        assert!(
            refusal(&fit(2.0, 1.0, Headroom::TABLE))
                .is(&ErrorKind::Domain, "]: need finite ends, the lower end first")
        );
        for variance in [f64::NAN, -1.0, f64::INFINITY] {
            let error =
                Encoding::fit(&params, 0.0, 1.0, variance, Headroom::TABLE, -60.0).unwrap_err();
            assert!(error.is(&ErrorKind::Argument, "variance of a phase"), "{error}");
        }
        for failure in [f64::NAN, 0.0, 1.0, f64::INFINITY, f64::NEG_INFINITY] {
            let error =
                Encoding::fit(&params, 0.0, 1.0, 1.0, Headroom::TABLE, failure).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Argument), "{error}");
        }
        let endless = fit(0.0, 1.0, Headroom::comparators(1_000_000));
        assert!(
            refusal(&endless).is(&ErrorKind::Domain, "use a larger degree, a smaller domain or a")
        );
    }
}
