//! How phases stand for reals.

use std::ops::RangeInclusive;

use bellerophon_ring::Modulus;

use crate::{Error, Params, Result, noise, values::check_turn};

/// `value = center + width * phase / q0`: one turn of the phase is `width`.
///
/// Values are known modulo the width, so a range must be narrower than it; a table takes ranges
/// up to half of it, less a guard band on either side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Encoding {
    center: f64,
    width: f64,
}

/// What an encoding keeps room for, between the values that it is fitted to and the next table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// How many values are added or subtracted on the way to the next table: 1 leaves the whole
    /// table to a value, 2 to a difference. Range and deviation are so many times the wider, the
    /// deviation whatever noise the terms share.
    pub terms: u32,
    /// How many comparators a value goes through one after the other; each adds an index error.
    pub levels: u32,
}

impl Room {
    /// For a table of the values themselves.
    pub const TABLE: Self = Self { terms: 1, levels: 0 };

    /// For `levels` comparators one after the other: 1 for a maximum or a comparison of two, the
    /// depth of a network for sorting.
    pub const fn comparators(levels: u32) -> Self {
        Self { terms: 2, levels }
    }
}

/// Where the encoding of a result comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Output {
    /// As fine as the range of the function over the carried range of its argument, the noise that
    /// the look-up leaves, and the room asked for allow.
    Fit(Room),
    /// Given, so that results of different tables can be added. The range of the function and the
    /// noise must fit in its turn; for a table afterwards, in half of it less the guard bands.
    Encoding(Encoding),
}

impl Output {
    /// The encoding of results in a range, with noise of `phase_variance` as for
    /// [`Encoding::fit`]; a given one is refused that they do not fit.
    pub(crate) fn resolve(
        self,
        op: &'static str,
        params: &Params,
        range: &RangeInclusive<f64>,
        phase_variance: f64,
        log2_failure: f64,
    ) -> Result<Encoding> {
        let (lo, hi) = (*range.start(), *range.end());
        match self {
            Self::Encoding(encoding) => {
                let unit = encoding.width / params.ring_modulus().value() as f64;
                check_turn(op, lo, hi, phase_variance.sqrt() * unit, &encoding)?;
                Ok(encoding)
            }
            Self::Fit(room) => Encoding::fit(params, lo, hi, phase_variance, room, log2_failure),
        }
    }
}

impl Encoding {
    /// An encoding from the value at phase 0 and the width of a turn.
    ///
    /// # Errors
    /// [`Error::Encoding`] if one is not finite, or the width not positive.
    pub fn new(center: f64, width: f64) -> Result<Self> {
        if !(center.is_finite() && width.is_finite() && width > 0.0) {
            return Err(Error::Encoding { center, width });
        }
        Ok(Self { center, width })
    }

    /// The finest encoding of `[lo, hi]` that a table of `params` takes after what `room` says.
    ///
    /// `phase_variance` is the noise with which a value enters, in units of the phase modulo
    /// `q0`, squared; a table leaves [`noise::blind_rotation`]. `log2_failure` is as in
    /// [`noise::guard`].
    ///
    /// # Errors
    /// [`Error::Domain`] if the range is not one, [`Error::Number`] if the variance is negative or not
    /// finite or the failure probability none, [`Error::TableTooSmall`] if the guard band leaves
    /// nothing of the table.
    pub fn fit(
        params: &Params,
        lo: f64,
        hi: f64,
        phase_variance: f64,
        room: Room,
        log2_failure: f64,
    ) -> Result<Self> {
        if !(lo.is_finite() && hi.is_finite() && lo <= hi && (hi - lo).is_finite()) {
            return Err(Error::Domain { lo, hi });
        }
        if !(phase_variance >= 0.0 && phase_variance.is_finite()) {
            let needed = "a finite number from 0 on";
            return Err(Error::Number {
                what: "variance of a phase",
                found: phase_variance,
                needed,
            });
        }
        noise::check_failure(log2_failure)?;
        let (n, terms) = (params.ring_degree(), f64::from(room.terms.max(1)));
        let cell = params.ring_modulus().value() as f64 / (2 * n) as f64;
        let fresh = noise::largest_index_error(params, noise::look_up(params));
        let levels = f64::from(room.levels);
        let entering = (phase_variance + levels * fresh * cell * cell)
            * noise::contested(log2_failure).powf(levels);
        let index = noise::largest_index_error(params, terms * terms * entering);
        let guard = noise::guard(index, log2_failure);
        let available = (n / 2) as f64 - guard as f64;
        // A constant still needs a width; any will do.
        let half = if hi > lo { (hi - lo) / 2.0 } else { lo.abs().max(1.0) };
        if available < 1.0 {
            let reach = terms;
            return Err(Error::TableTooSmall { lo, hi, reach, guard, available, degree: n });
        }
        // The rounding of the quotient must not cost the last step.
        let width = terms * half * (2 * n) as f64 / available * (1.0 + 1e-9);
        Self::new(lo + (hi - lo) / 2.0, width)
    }

    /// The value at phase 0.
    pub fn center(&self) -> f64 {
        self.center
    }

    /// By how much the value grows in a full turn of the phase.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// The phase modulo `q` of a value, in `(-q/2, q/2)`.
    pub fn encode(&self, value: f64, q: &Modulus) -> i64 {
        let turns = (value - self.center) / self.width;
        let phase = ((turns - turns.round()) * q.value() as f64).round() as i64;
        q.center(q.from_i64(phase))
    }

    /// The value nearest to `near` that a phase modulo `q` stands for.
    pub fn decode(&self, phase: i64, q: &Modulus, near: f64) -> f64 {
        let value = self.center + self.width * (phase as f64 / q.value() as f64);
        value - self.width * ((value - near) / self.width).round()
    }
}

impl std::fmt::Display for Encoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} + {} per turn", self.center, self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            assert!(matches!(Encoding::new(center, width), Err(Error::Encoding { .. })));
        }
    }

    #[test]
    fn room_makes_turns_wider() {
        let params = Params::new(insecure(8, 256, false)).unwrap();
        let fit = |lo, hi, room| Encoding::fit(&params, lo, hi, 1.0, room, -60.0);
        let table = fit(-1.0, 3.0, Room::TABLE).unwrap();
        assert_eq!(table.center(), 1.0);
        assert!(table.width() > 8.0 && table.width() < 12.0, "{}", table.width());
        let difference = fit(-1.0, 3.0, Room::comparators(1)).unwrap();
        assert!(difference.width() > 2.0 * table.width());
        let network = fit(-1.0, 3.0, Room::comparators(10)).unwrap();
        assert!(network.width() > difference.width());
        assert!(fit(2.0, 2.0, Room::TABLE).unwrap().width() > 8.0);
        assert!(matches!(fit(2.0, 1.0, Room::TABLE), Err(Error::Domain { .. })));
        for variance in [f64::NAN, -1.0, f64::INFINITY] {
            let error = Encoding::fit(&params, 0.0, 1.0, variance, Room::TABLE, -60.0).unwrap_err();
            assert!(matches!(error, Error::Number { what: "variance of a phase", .. }), "{error}");
        }
        for failure in [f64::NAN, 0.0, 1.0, f64::INFINITY, f64::NEG_INFINITY] {
            let error = Encoding::fit(&params, 0.0, 1.0, 1.0, Room::TABLE, failure).unwrap_err();
            assert!(matches!(error, Error::Number { .. }), "{error}");
        }
        let endless = fit(0.0, 1.0, Room::comparators(1_000_000));
        assert!(matches!(endless, Err(Error::TableTooSmall { .. })));
    }
}
