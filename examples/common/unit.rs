//! The unit in which a client encrypts values of a range.

/// Values are far from zero if the middle of their range exceeds this multiple of half its width.
const FAR: f64 = 4.0;

/// The least and the largest of some values.
pub fn ends(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let with = |[lo, hi]: [f64; 2], x: f64| [lo.min(x), hi.max(x)];
    values.fold([f64::INFINITY, f64::NEG_INFINITY], with)
}

/// The map of a range onto [-1, 1]. Values that are small, or close to each other and far from
/// zero, fill the range of the encryption after it, and are not lost in its noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    /// The middle of the range.
    pub centre: f64,
    /// Half the width of the range, up to the rounding of its middle.
    pub half: f64,
}

impl Unit {
    /// The unit of a range `LO < HI`.
    pub fn of([lo, hi]: [f64; 2]) -> Self {
        let centre = 0.5 * lo + 0.5 * hi;
        Self { centre, half: (hi - centre).max(centre - lo) }
    }

    /// The unit of a feature of a model with a constant of its own: the largest magnitude, about
    /// zero. Values far from zero are centred, since they would be nearly a second constant.
    pub fn of_feature(values: impl Iterator<Item = f64>) -> Self {
        let [lo, hi] = ends(values);
        let unit = Self::of([lo, hi]);
        let largest = hi.abs().max(lo.abs());
        match unit.half > 0.0 && unit.centre.abs() > FAR * unit.half {
            true => unit,
            false => Self { centre: 0.0, half: if largest > 0.0 { largest } else { 1.0 } },
        }
    }

    /// A value of the range as a number of [-1, 1].
    pub fn enter(self, value: f64) -> f64 {
        // The quotient of an end of the range may exceed 1 by rounding.
        ((value - self.centre) / self.half).clamp(-1.0, 1.0)
    }

    /// The value of a number.
    pub fn leave(self, number: f64) -> f64 {
        self.centre + self.half * number
    }
}
