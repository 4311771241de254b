//! The unit in which a client encrypts values of a range.

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
