//! The numbers that slots hold.

use num_complex::Complex64;

use crate::interval::Interval;

/// A number that a slot holds: `f64` or [`Complex64`].
pub trait SlotValue: Copy + Send + Sync + sealed::Sealed {
    /// Whether the type is real.
    const REAL: bool;
    /// The value as a complex number.
    fn to_complex(self) -> Complex64;
    /// The value of a decoded slot; `f64` drops the imaginary part.
    fn from_complex(value: Complex64) -> Self;
    /// Whether the value lies in a range. A real number lies in a disc if its magnitude does. A
    /// complex number lies in no real range, even with imaginary part zero.
    fn lies_in(self, range: &Interval) -> bool;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for num_complex::Complex64 {}
}

impl SlotValue for f64 {
    const REAL: bool = true;

    fn to_complex(self) -> Complex64 {
        Complex64::new(self, 0.0)
    }

    fn from_complex(value: Complex64) -> Self {
        value.re
    }

    fn lies_in(self, range: &Interval) -> bool {
        (range.lo()..=range.hi()).contains(&self)
    }
}

impl SlotValue for Complex64 {
    const REAL: bool = false;

    fn to_complex(self) -> Complex64 {
        self
    }

    fn from_complex(value: Complex64) -> Self {
        value
    }

    fn lies_in(self, range: &Interval) -> bool {
        !range.is_real() && self.norm() <= range.bound()
    }
}
