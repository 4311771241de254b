//! Published values: values that leave the server with declared metadata instead of tracked
//! metadata.

use std::ops::RangeInclusive;

use bellerophon_mlwe::noise::{DECLARED_LOG2, declared_log2};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;

use crate::error;
use crate::lwe_vec::{Deviation, LweVec};

/// The requirement on the declared noise.
const NOISE: &str = "at least the predicted deviation, from 2^-300 to 2^300";

/// Values that may leave their server. Their metadata reveals nothing about messages and noise
/// except the bounds that the program declares.
///
/// The declared noise is the noise of the phase: the difference between a value and the entry that
/// its table returned. The index error of the look-up ([`LweMeta::index`](crate::LweMeta::index))
/// depends on the table, and is neither declared nor revealed. It is predicted as zero in further
/// computations on published values; its bound is the width of the declared range, which such an
/// error does not exceed.
///
/// The width of the encoding stays as it is, because decryption needs it. A program chooses it for
/// its tables ([`OutputEncoding`](crate::OutputEncoding)). A width that is fitted to the results of
/// a table reveals the range of that table.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedValues {
    values: LweVec,
    log2_noise: i32,
}

impl PublishedValues {
    /// `log2` of the declared standard deviation of the noise, in units of the values.
    pub fn log2_noise(&self) -> i32 {
        self.log2_noise
    }

    /// Replaces the metadata by the declared range and noise. The caller has checked that they
    /// cover the values.
    pub(crate) fn of(values: LweVec, range: RangeInclusive<f64>, log2_noise: i32) -> Result<Self> {
        if !DECLARED_LOG2.contains(&log2_noise) {
            return Err(error::declaration("noise", NOISE));
        }
        let width = range.end() - range.start();
        let values = values
            .with_noise(range, Deviation::of_variance(f64::from(2 * log2_noise).exp2()))?
            .with_index(Deviation { predicted: 0.0, bound: width });
        Ok(Self { values: values.centred(), log2_noise })
    }

    /// Deserialized values, whose range is the declared one.
    pub(crate) fn restore(values: LweVec, log2_noise: i32) -> Result<Self> {
        let range = values.meta().lo..=values.meta().hi;
        Self::of(values, range, log2_noise)
    }
}

impl AsRef<LweVec> for PublishedValues {
    fn as_ref(&self) -> &LweVec {
        &self.values
    }
}

impl AsRef<LweVec> for LweVec {
    fn as_ref(&self) -> &LweVec {
        self
    }
}

impl LweVec {
    /// Prepares values for leaving the server: the metadata becomes the range and the noise that
    /// the program declares. `noise` is a standard deviation of the
    /// [phase](crate::LweMeta::noise) in units of the values, and is rounded up to a power of
    /// two.
    ///
    /// # Errors
    /// [`ErrorKind::Declaration`] if messages may leave the declared range or noise may exceed the
    /// declared noise; the error does not reveal by how much.
    pub fn publish(&self, range: RangeInclusive<f64>, noise: f64) -> Result<PublishedValues> {
        // Step 1: the range, with a tolerance for the rounding of computed ends.
        let slack = 1e-9 * (range.end() - range.start()).max(range.end().abs());
        if self.meta().lo < range.start() - slack || self.meta().hi > range.end() + slack {
            let needed = "a range that contains every possible value of the operations";
            return Err(error::declaration("range", needed));
        }
        // Step 2: the noise, rounded up to a power of two.
        let too_small = error::declaration("noise", NOISE);
        let log2_noise = declared_log2(noise).ok_or(too_small.clone())?;
        if self.meta().noise.bound > f64::from(log2_noise).exp2() {
            return Err(too_small);
        }
        // Step 3: replace the tracked metadata.
        PublishedValues::of(self.clone(), range, log2_noise)
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::encoding::Encoding;
    use crate::error::refusal;
    use crate::params::tests::insecure;
    use crate::testing::Setup;

    /// Results of different ranges and noise get the same declaration, and still decrypt to their
    /// values.
    #[test]
    fn nothing_but_the_declaration_is_said() {
        let mut s = Setup::new(insecure(8, 64, false));
        let encoding = Encoding::new(0.0, 16.0).unwrap();
        let publish = |values: &LweVec| values.publish(-2.0..=2.0, 0.01);
        let mut encrypt = |range: RangeInclusive<f64>| s.encrypt(&[0.5, 1.0], range, encoding);
        let (x, y) = (encrypt(0.0..=1.0), encrypt(-1.0..=1.5));
        // One of them with an index error.
        let y = y.scale(0.75).unwrap().with_index(Deviation::of_variance(1.0));
        let (px, py) = (publish(&x).unwrap(), publish(&y).unwrap());
        for published in [&px, &py] {
            let values: &LweVec = published.as_ref();
            assert_eq!(
                (values.meta().lo, values.meta().hi, published.log2_noise()),
                (-2.0, 2.0, -6)
            );
            assert_eq!(values.variance(), 2f64.powi(-12));
            assert_eq!(values.meta().noise.bound, 2f64.powi(-6));
            assert_eq!(values.meta().index.bound, 4.0);
        }
        let found = px.as_ref().decrypt(&s.ring).unwrap();
        assert!((found[0] - 0.5).abs() < 1e-6 && (found[1] - 1.0).abs() < 1e-6);
        // Values that may exceed the declaration are rejected.
        let refused = |x: &LweVec, range, noise| {
            let error = x.publish(range, noise).unwrap_err();
            assert!(
                error.is(&ErrorKind::Declaration, "does not cover the values: declare"),
                "{error}"
            );
        };
        refused(&x, 0.0..=0.5, 0.01);
        refused(&x, 0.0..=1.0, 0.1 * x.meta().noise.bound);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            refused(&x, 0.0..=1.0, bad);
        }
        assert!(x.publish(0.0..=f64::NAN, 0.01).is_err());
        assert!(
            refusal(&x.publish(-20.0..=20.0, 0.01))
                .is(&ErrorKind::Range, "encode the inputs with headroom for more")
        );
    }
}
