//! Selection between values by an encrypted choice bit.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{During, Result};

use crate::encoding::{Encoding, OutputEncoding};
use crate::lwe_vec::{Deviation, LweVec};
use crate::pbs::Evaluator;
use crate::progress::LookupProgress;
use crate::{error, noise};

impl Evaluator<'_> {
    /// The encoding in which [`gate`](Self::gate) expects the choices for these values. Pass it to
    /// the comparison that computes the choices. It includes the noise of one look-up for the
    /// choices.
    pub fn choice_encoding(&self, values: &LweVec) -> Result<Encoding> {
        let (own, choice) = (values.largest_phase_variance(), noise::look_up(self.params));
        let phase_variance = (own.sqrt() + choice.sqrt()).powi(2);
        Encoding::new(0.0, self.widest_choice(values, phase_variance))
    }

    /// `x` where the choice is 1, and 0 where the choice is 0, with one look-up for each value.
    ///
    /// The scaled choice is added to the value, so that values with choice 0 and values with choice
    /// 1 occupy separate parts of one table: twice their range and a gap of two guard bands.
    ///
    /// # Errors
    /// [`ErrorKind::Range`] if the choices are not within 0 and 1, or their width is larger than
    /// their noise and that of the values allow.
    pub fn gate(&self, choice: &LweVec, values: &LweVec) -> Result<LweVec> {
        let run = |work: &mut _| self.gate_in(work, choice, values);
        let (gated, added) = self.with_progress(values.len(), run).during("gate")?;
        let (lo, hi) = (gated.meta().lo, gated.meta().hi);
        let index = values.meta().index + wrong_choice(choice, values);
        Ok(gated.with_noise(lo..=hi, added.to(values.meta().noise))?.with_index(index))
    }

    /// `a` where the choice is 1, and `b` where the choice is 0, with one look-up for each value.
    /// The choices need the [`choice_encoding`](Self::choice_encoding) of `a - b`. `a` and `b` need
    /// headroom for five terms ([`Headroom`](crate::Headroom)).
    pub fn choose(&self, choice: &LweVec, a: &LweVec, b: &LweVec) -> Result<LweVec> {
        // b + choice (a - b).
        let difference = a.sub(b)?;
        let run = |work: &mut _| self.gate_in(work, choice, &difference);
        let (gated, added) = self.with_progress(a.len(), run).during("choose")?;
        let noise = added.to(a.meta().noise.max(b.meta().noise));
        let index = a.meta().index.max(b.meta().index);
        let index = index + wrong_choice(choice, &difference);
        let range = a.meta().lo.min(b.meta().lo)..=a.meta().hi.max(b.meta().hi);
        Ok(b.add(&gated)?.with_noise(range, noise)?.with_index(index))
    }

    /// The largest width of a choice that separates the values: it shifts them by their range and
    /// the gap. `phase_variance` is the noise of values and choice together.
    fn widest_choice(&self, values: &LweVec, phase_variance: f64) -> f64 {
        // One guard band on either side of the gap, which the noise must not cross.
        let index = noise::largest_index_error(self.params, phase_variance);
        let gap = 2.0 * noise::guard(index, self.log2_failure) as f64;
        let shift = values.meta().hi - values.meta().lo + gap * self.step(&values.meta().encoding);
        values.meta().encoding.width() / shift
    }

    /// The gated values, and the noise that the choice adds to that of the values.
    fn gate_in(
        &self,
        work: &mut LookupProgress<'_>,
        choice: &LweVec,
        values: &LweVec,
    ) -> Result<(LweVec, Added)> {
        // Step 1: the choices must be bits, and their encoding must separate the values.
        let width = values.meta().encoding.width();
        let (lo, hi, found) = (choice.meta().lo, choice.meta().hi, choice.meta().encoding.width());
        let (own, other) = (values.largest_phase_variance(), choice.largest_phase_variance());
        let needed = self.widest_choice(values, (own.sqrt() + other.sqrt()).powi(2));
        if lo < 0.0 || hi > 1.0 || found > needed * (1.0 + 1e-9) {
            return Err(error::choice(lo, hi, found, needed));
        }
        // Step 2: add the choice, scaled so that both have the same width.
        let shift = width / found;
        let moved = choice.scale(shift)?;
        // Step 3: the look-up returns 0 in the lower part of the table and x in the upper part.
        let (lo, hi) = (values.meta().lo, values.meta().hi);
        let middle = f64::midpoint(hi, lo + shift);
        let gated = |sum: f64| if sum < middle { 0.0 } else { (sum - shift).clamp(lo, hi) };
        let output = OutputEncoding::Encoding(Encoding::new(0.0, width)?);
        let out = self.map_in(work, &values.add(&moved)?, &[&gated], output)?;
        // Step 4: the added noise. The function has slope 1, so the index error counts as noise.
        let step = self.step(&values.meta().encoding);
        let index = noise::expected_index_error(self.params, 0.0) * step * step;
        let look_up = Deviation::of_variance(index).hypot(out.meta().noise);
        Ok((out, Added { choice: moved.meta().noise, look_up }))
    }
}

/// The noise that a choice adds to that of the values.
struct Added {
    /// The noise of the choice, which the values may share.
    choice: Deviation,
    /// The noise of the look-up, which no other value has.
    look_up: Deviation,
}

impl Added {
    fn to(&self, values: Deviation) -> Deviation {
        (values + self.choice).hypot(self.look_up)
    }
}

/// The error that wrong choices cause at the value of the largest magnitude.
fn wrong_choice(choice: &LweVec, values: &LweVec) -> Deviation {
    choice.meta().index * values.meta().lo.abs().max(values.meta().hi.abs())
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::encoding::Headroom;
    use crate::params::tests::insecure;
    use crate::testing::Setup;

    #[test]
    fn choices_select_within_the_predicted_error() {
        let mut s = Setup::new(insecure(32, 1024, true));
        let encoding = s.fit(-1.0..=3.0, 1e6, Headroom { terms: 5, levels: 1 });
        let (x, y) = ([-1.0, 3.0, 0.5, 2.0, -1.0, 3.0], [3.0, -1.0, 2.0, 0.5, -1.0, 3.0]);
        let a = s.encrypt(&x, -1.0..=3.0, encoding);
        let b = s.encrypt(&y, -1.0..=3.0, encoding);
        let evaluator = s.evaluator();
        let difference = a.sub(&b).unwrap();
        let output = OutputEncoding::Encoding(evaluator.choice_encoding(&difference).unwrap());
        for threshold in [-9.0, 0.0, 9.0] {
            // Choose `a` nowhere, where it is larger, everywhere.
            let chosen = |d: f64| f64::from(u8::from(d > -threshold));
            let choice = evaluator.map(&difference, chosen, output).unwrap();
            let choice = choice.clone().within(0.0..=1.0).unwrap();
            let chosen_one = evaluator.choose(&choice, &a, &b).unwrap();
            assert_eq!((chosen_one.meta().lo, chosen_one.meta().hi), (-1.0, 3.0));
            let gated = evaluator.gate(&choice, &difference).unwrap();
            let bound = 6.0 * chosen_one.meta().noise.predicted;
            assert!(bound < 0.2, "{bound}");
            let (chosen_one, gated) =
                (chosen_one.decrypt(&s.ring).unwrap(), gated.decrypt(&s.ring).unwrap());
            for i in 0..6 {
                let first = x[i] - y[i] > -threshold;
                let (one, gate) = if first { (x[i], x[i] - y[i]) } else { (y[i], 0.0) };
                assert!((chosen_one[i] - one).abs() < bound, "{threshold} {i}: {}", chosen_one[i]);
                assert!((gated[i] - gate).abs() < bound, "{threshold} {i}: {}", gated[i]);
            }
        }
    }

    #[test]
    fn choices_that_do_not_keep_values_apart_are_refused() {
        let mut s = Setup::new(insecure(8, 256, true));
        let encoding = s.fit(0.0..=1.0, 1e6, Headroom { terms: 5, levels: 0 });
        let x = s.encrypt(&[0.5], 0.0..=1.0, encoding);
        let right = s.evaluator().choice_encoding(&x).unwrap();
        let wide = Encoding::new(0.0, 1.1 * right.width()).unwrap();
        let choice = s.encrypt(&[1.0], 0.0..=1.0, wide);
        let error = s.evaluator().gate(&choice, &x).unwrap_err();
        assert!(error.is(&ErrorKind::Range, "compute them in the encoding of"), "{error}");
        let choice = s.encrypt(&[2.0], 0.0..=2.0, right);
        let error = s.evaluator().gate(&choice, &x).unwrap_err();
        assert!(error.is(&ErrorKind::Range, "2] of width"), "{error}");
        // The largest allowed width, and more noise than a look-up adds.
        let choice = s.encrypt(&[1.0], 0.0..=1.0, right);
        s.evaluator().gate(&choice, &x).unwrap();
        let noisy = choice
            .with_noise(0.0..=1.0, Deviation::of_variance((right.width() / 128.0).powi(2)))
            .unwrap();
        let error = s.evaluator().gate(&noisy, &x).unwrap_err();
        assert!(error.is(&ErrorKind::Range, "1] of width"), "{error}");
    }
}
