//! Values as they leave a server: what is said of them is what their program declares.

use std::ops::RangeInclusive;

use bellerophon_mlwe::noise::{DECLARED_LOG2, declared_log2};

use crate::{Error, Result, Values};

/// What covers a noise.
const NOISE: &str = "at least the predicted deviation, from 2^-300 to 2^300";

/// Values that may leave their server: of their messages and noise no more is said than their program
/// declares.
///
/// The declared noise is that of the phase: by how much a value departs from the entry that its table gave. The
/// error of the index at which the table was read ([`Values::index_variance`]) depends on the table; it is
/// neither declared nor told, and counts as zero where published values are computed with again.
///
/// The width of a turn of their encoding stays as it is, since they are decrypted by it. A program chooses
/// it for its tables ([`Output`](crate::Output)); one that is fitted to the results of a table tells of
/// that table how far its results are apart.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedValues {
    values: Values,
    log2_noise: i32,
}

impl PublishedValues {
    /// The values, with the declared range and noise.
    pub fn into_values(self) -> Values {
        self.values
    }

    /// `log2` of the declared standard deviation of the noise, in units of the values.
    pub fn log2_noise(&self) -> i32 {
        self.log2_noise
    }

    /// Values whose messages are as declared.
    pub(crate) fn of(values: Values, range: RangeInclusive<f64>, log2_noise: i32) -> Result<Self> {
        if !DECLARED_LOG2.contains(&log2_noise) {
            return Err(Error::Declaration { what: "noise", needed: NOISE });
        }
        let variance = f64::from(2 * log2_noise).exp2();
        let values = values.assume(range, variance)?.with_index_variance(0.0)?;
        Ok(Self { values: values.centred(), log2_noise })
    }

    /// Values that were read, of the range that was declared.
    pub(crate) fn restore(values: Values, log2_noise: i32) -> Result<Self> {
        let range = values.lo()..=values.hi();
        Self::of(values, range, log2_noise)
    }
}

impl AsRef<Values> for PublishedValues {
    fn as_ref(&self) -> &Values {
        &self.values
    }
}

impl AsRef<Values> for Values {
    fn as_ref(&self) -> &Values {
        self
    }
}

impl Values {
    /// The values as they may leave the server: what is said of them is the range and the noise that their
    /// program declares, the latter a standard deviation of the [phase](Values::deviation) in units of the
    /// values, rounded up to a power of two.
    ///
    /// # Errors
    /// [`Error::Declaration`] where messages may leave the range or noise may exceed what is declared; it
    /// does not say by how much. [`Error::ValueRange`] for a range that is none, [`Error::Wraps`] for
    /// one that the encoding does not hold with such noise.
    pub fn publish(&self, range: RangeInclusive<f64>, noise: f64) -> Result<PublishedValues> {
        // Ends of ranges are computed, and rounded.
        let slack = 1e-9 * (range.end() - range.start()).max(range.end().abs());
        if self.lo() < range.start() - slack || self.hi() > range.end() + slack {
            let needed = "one that holds every value that the operations allow";
            return Err(Error::Declaration { what: "range", needed });
        }
        let no_noise = Error::Declaration { what: "noise", needed: NOISE };
        let log2_noise = declared_log2(noise).ok_or(no_noise.clone())?;
        if self.deviation() > f64::from(log2_noise).exp2() {
            return Err(no_noise);
        }
        PublishedValues::of(self.clone(), range, log2_noise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encoding, params::tests::insecure, testing::Setup};

    /// Results of different ranges and noise are declared to be alike, and decrypt to what they were.
    #[test]
    fn nothing_but_the_declaration_is_said() {
        let mut s = Setup::new(insecure(8, 64, false));
        let encoding = Encoding::new(0.0, 16.0).unwrap();
        let publish = |values: &Values| values.publish(-2.0..=2.0, 0.01);
        let mut encrypt = |range: RangeInclusive<f64>| s.encrypt(&[0.5, 1.0], range, encoding);
        let (x, y) = (encrypt(0.0..=1.0), encrypt(-1.0..=1.5));
        // One of them with the error of a table's index.
        let y = y.scale(0.75).unwrap().with_index_variance(1.0).unwrap();
        let (px, py) = (publish(&x).unwrap(), publish(&y).unwrap());
        for published in [&px, &py] {
            let values: &Values = published.as_ref();
            assert_eq!((values.lo(), values.hi(), published.log2_noise()), (-2.0, 2.0, -6));
            assert_eq!(values.variance(), 2f64.powi(-12));
            assert_eq!(values.deviation(), 2f64.powi(-6));
        }
        let found = px.as_ref().decrypt(&s.ring).unwrap();
        assert!((found[0] - 0.5).abs() < 1e-6 && (found[1] - 1.0).abs() < 1e-6);
        // What may exceed the declaration is refused.
        let refused = |x: &Values, range, noise| {
            let error = x.publish(range, noise).unwrap_err();
            assert!(matches!(error, Error::Declaration { .. }), "{error}");
        };
        refused(&x, 0.0..=0.5, 0.01);
        refused(&x, 0.0..=1.0, 0.1 * x.deviation());
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            refused(&x, 0.0..=1.0, bad);
        }
        assert!(x.publish(0.0..=f64::NAN, 0.01).is_err());
        assert!(matches!(x.publish(-20.0..=20.0, 0.01), Err(Error::Wraps { .. })));
    }
}
