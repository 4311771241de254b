//! Repeated refreshing.

use crate::{
    Arithmetic, Bounds, Error, Interval, Meta, Result,
    noise::{self, Noise},
};

/// Most rounds of a repeated refresh: the scale ends the precision long before.
const MAX_ROUNDS: usize = 8;

/// `log2` of the probability with which the error of a refresh may exceed what the next round of
/// a repeated refresh takes for its bound.
const LOG2_ROUND_FAILURE: f64 = -64.0;

/// `x` refreshed in rounds; see
/// [`Evaluator::refresh_precisely`](crate::Evaluator::refresh_precisely).
pub(crate) fn refreshed<A: Arithmetic>(
    a: &A,
    x: &A::Ciphertext,
    rounds: usize,
) -> Result<A::Ciphertext> {
    let op = "refresh precisely";
    if !(1..=MAX_ROUNDS).contains(&rounds) {
        let reason = format!("{op}: {rounds} rounds: need 1 to {MAX_ROUNDS}");
        return Err(Error::Params { reason });
    }
    let least = a.bootstrapper().map_or(0, |b| b.input_level());
    let x = a.drop_to_level(x, least.min(a.account(x).level))?;
    let of_x = a.account(&x);
    let Meta { scale, slots, bounds, .. } = of_x.meta;
    if rounds == 1 {
        return a.refresh_to(&x, scale);
    }
    // A round is to hold what departs from the range, so that both variances start from the excess. The
    // total then leaves out the error of the approximation, which the residual counts.
    let beyond = Noise::new(of_x.meta.noise.excess);
    let x = a.restated(x, Meta { noise: beyond, ..of_x.meta });
    let mut result = a.refresh_to(&x, scale)?;
    let mut last = Noise::NONE;
    // Stated for messages at the default scale; at a smaller one a value is less of `q_0`.
    let biased = a.bootstrapper().map_or(0.0, |b| b.approximation_error());
    let biased = biased * a.params().scale() / scale;
    // What the approximation is off by after a round is in proportion to what enters it, which is
    // enlarged by an integer: at least to half of what fits.
    let mut residual = biased;
    for _ in 1..rounds {
        let known = a.drop_to_level(&result, of_x.level)?;
        let rest = a.sub(&x, &known)?;
        let std = a.account(&rest).noise();
        let off = residual + noise::worst_factor(slots, LOG2_ROUND_FAILURE) * std;
        residual = biased * (2.0 * off).min(1.0);
        let range = match bounds.slots().is_real() {
            true => Interval::real(-off, off)?,
            false => Interval::complex(off)?,
        };
        // The message of this round is all that the vectors are apart, noise and all.
        let meta = Meta { bounds: Bounds::all(range), noise: Noise::NONE, ..a.account(&rest).meta };
        let rest = a.refresh_to(&a.restated(rest, meta), scale)?;
        last = a.account(&rest).meta.noise;
        let sum = a.add(&result, &rest)?;
        let meta = Meta { bounds, noise: last + beyond, ..a.account(&sum).meta };
        result = a.restated(sum, meta);
    }
    let meta = Meta { noise: last + of_x.meta.noise, ..a.account(&result).meta };
    Ok(a.restated(result, meta))
}
