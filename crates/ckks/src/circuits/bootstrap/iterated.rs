//! Meta-BTS: iterated bootstrapping for more precision (Bae, Cheon, Cho, Kim and Kim, eprint
//! 2022/1167).
//!
//! ```text
//! Step 1:  y = bootstrap(x)
//! Step 2:  r = x - y at the lowest level, the error of y, within a known bound
//! Step 3:  y <- y + bootstrap(r), where r is enlarged to the bound of a bootstrap
//! Step 4:  repeat steps 2 and 3 for every further round
//! ```

use super::evaluate::BootstrapMeta;
use crate::{
    Bounds, CiphertextMeta, CkksOps, Interval, Metadata, Result, error, noise::Noise,
    rotation_plan::RotationCost,
};

/// Most rounds: the scale limits the precision long before.
const MAX_ROUNDS: usize = 8;

/// `log2` of the probability that the error of a round exceeds the bound for the next round.
const LOG2_ROUND_FAILURE: f64 = -64.0;

/// Refuses numbers of rounds outside their range.
pub(crate) fn check_rounds(rounds: usize) -> Result<()> {
    if (1..=MAX_ROUNDS).contains(&rounds) {
        return Ok(());
    }
    let reason = format!("iterated bootstrap: {rounds} rounds: need 1 to {MAX_ROUNDS}");
    Err(error::params(reason))
}

/// `x` bootstrapped in rounds; see
/// [`CkksOps::bootstrap_iterated`](crate::CkksOps::bootstrap_iterated).
pub(crate) fn bootstrapped<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    rounds: usize,
) -> Result<A::Ciphertext> {
    check_rounds(rounds)?;
    let Some(bootstrapper) = a.bootstrapper() else {
        return a.bootstrap_to(x, a.metadata(x).meta.scale); // refused
    };
    let x = a.drop_to_level(x, bootstrapper.input_level().min(a.metadata(x).level))?;
    let of_x = a.metadata(&x);
    let CiphertextMeta { scale, bounds, .. } = of_x.meta.with_zero_padding();
    if rounds == 1 {
        return a.bootstrap_to(&x, scale);
    }
    // A bound on the noise of the worst slot of a bootstrapped vector, in units of the message.
    let costs = |_: &Metadata, step| Ok(RotationCost::one_key(step));
    let worst = |x: &Metadata| {
        let BootstrapMeta { approximation, mut result, .. } =
            bootstrapper.meta(x, scale, &costs)?;
        result.meta.noise += -approximation;
        // The copies of a vector of few slots in all slots of the bootstrap differ in their errors.
        Ok::<_, crate::Error>(bootstrapper.in_all_slots(&result).worst(LOG2_ROUND_FAILURE))
    };
    // Step 1. All variances start from the excess, the part of the error outside the range.
    let beyond = Noise::new(of_x.meta.noise.excess);
    let x = a.with_metadata(x, CiphertextMeta { noise: beyond, ..of_x.meta });
    let mut noise = worst(&a.metadata(&x))?;
    let mut result = a.bootstrap_to(&x, scale)?;
    let mut last = Noise::NONE;
    // The approximation error holds at the default scale; at a smaller scale a value is a smaller
    // part of q_0.
    let biased = bootstrapper.approximation_error() * a.params().scale() / scale;
    // The approximation error after a round is proportional to its input, which an integer factor
    // enlarges to at least half of the bound.
    let mut residual = biased;
    for _ in 1..rounds {
        // Step 2: the error so far, and a bound on it.
        let known = a.drop_to_level(&result, of_x.level)?;
        let rest = a.sub(&x, &known)?;
        let off = residual + noise;
        residual = biased * (2.0 * off).min(1.0);
        let range = match bounds.slots().is_real() {
            true => Interval::real(-off, off)?,
            false => Interval::complex(off)?,
        };
        // The message of this round is the whole difference, noise included. Padding that the
        // bootstrap has cleared still has all of its range there.
        let meta = a.metadata(&rest).meta;
        let padding = if of_x.meta.is_clear() { range } else { meta.bounds.padding };
        let of_rest = Bounds { values: range, padding };
        let meta = CiphertextMeta { bounds: of_rest, noise: Noise::NONE, ..meta };
        // Step 3: bootstrap it and add it.
        let rest = a.with_metadata(rest, meta);
        noise = worst(&a.metadata(&rest))?;
        let rest = a.bootstrap_to(&rest, scale)?;
        last = a.metadata(&rest).meta.noise;
        let sum = a.add(&result, &rest)?;
        let meta = CiphertextMeta { bounds, noise: last + beyond, ..a.metadata(&sum).meta };
        result = a.with_metadata(sum, meta);
    }
    let meta = CiphertextMeta { noise: last + of_x.meta.noise, ..a.metadata(&result).meta };
    Ok(a.with_metadata(result, meta))
}
