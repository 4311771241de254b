//! Meta-BTS: iterated bootstrapping for more precision (Bae, Cheon, Cho, Kim and Kim, eprint
//! 2022/1167).
//!
//! ```text
//! Step 1:  y = bootstrap(x)
//! Step 2:  r = x - y at the lowest level, the error of y, within a known bound
//! Step 3:  y <- y + bootstrap(r), where r is enlarged to the bound of a bootstrap
//! Step 4:  repeat steps 2 and 3 for every further round
//! ```

use std::{f64::consts::FRAC_1_SQRT_2, sync::Arc};

use bellerophon_ckks::{
    Bounds, CiphertextMeta, CkksOps, Interval, Metadata, Result, noise::Noise,
    noise_model::NoiseModel, origins::Relation, simulator::one_key,
};

use super::Bootstrapper;
use super::evaluate::{BootstrapMeta, bootstrapped as bootstrap_to};
use crate::error;

/// Most rounds: the scale limits the precision long before.
const MAX_ROUNDS: usize = 8;

/// `log2` of the probability that the error of a round exceeds the bound for the next round.
const LOG2_ROUND_FAILURE: f64 = -64.0;

pub(crate) fn check_rounds(rounds: usize) -> Result<()> {
    if (1..=MAX_ROUNDS).contains(&rounds) {
        return Ok(());
    }
    let reason = format!("iterated bootstrap: {rounds} rounds: need 1 to {MAX_ROUNDS}");
    Err(error::params(reason))
}

/// The metadata of a difference of a vector and its bootstrap, of at most `most`, as the message of
/// the next round: noise included. Padding that the bootstrap has cleared still has all of its
/// range there, unless it was `clear` before.
fn remainder(x: &CiphertextMeta, most: f64, real: bool, clear: bool) -> Result<CiphertextMeta> {
    let values = if real { Interval::real(-most, most)? } else { Interval::complex(most)? };
    let padding = if clear { values } else { x.bounds.padding };
    Ok(CiphertextMeta { bounds: Bounds { values, padding }, noise: Noise::NONE, ..*x })
}

/// `x` bootstrapped in rounds.
pub(crate) fn bootstrapped<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    rounds: usize,
) -> Result<A::Ciphertext> {
    check_rounds(rounds)?;
    let Some(bootstrapper) = a.attached::<Arc<Bootstrapper>>() else {
        return bootstrap_to(a, x, a.metadata(x).meta.scale); // refused
    };
    let x = a.drop_to_level(x, bootstrapper.input_level().min(a.metadata(x).level))?;
    let of_x = a.metadata(&x);
    let CiphertextMeta { scale, bounds, .. } = of_x.meta.with_zero_padding();
    let (real, clear) = (bounds.slots().is_real(), of_x.meta.is_clear());
    if rounds == 1 {
        return bootstrap_to(a, &x, scale);
    }
    // A bound on the noise of the worst slot of a bootstrapped vector, in units of the message.
    let worst = |x: &Metadata| {
        let BootstrapMeta { approximation, mut result, .. } =
            bootstrapper.meta(x, scale, &one_key)?;
        result.meta.noise += -approximation;
        // The copies of a vector of few slots in all slots of the bootstrap differ in their errors.
        Ok::<_, bellerophon_ckks::Error>(
            bootstrapper.in_all_slots(&result).worst(LOG2_ROUND_FAILURE),
        )
    };
    // Step 1. All variances start from the excess, the part of the error outside the range.
    let beyond = Noise::new(of_x.meta.noise.excess);
    let x = a.with_metadata(x, CiphertextMeta { noise: beyond, ..of_x.meta });
    let mut noise = worst(&a.metadata(&x))?;
    let mut result = bootstrap_to(a, &x, scale)?;
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
        let meta = remainder(&a.metadata(&rest).meta, off, real, clear)?;
        // Step 3: bootstrap it and add it.
        let rest = a.with_metadata(rest, meta);
        noise = worst(&a.metadata(&rest))?;
        let rest = bootstrap_to(a, &rest, scale)?;
        last = a.metadata(&rest).meta.noise;
        let sum = a.add(&result, &rest)?;
        let meta = CiphertextMeta { bounds, noise: last + beyond, ..a.metadata(&sum).meta };
        result = a.with_metadata(sum, meta);
    }
    let meta = CiphertextMeta { noise: last + of_x.meta.noise, ..a.metadata(&result).meta };
    Ok(a.with_metadata(result, meta))
}

/// Iterated bootstrapping (Meta-BTS); see
/// [`CircuitOps::bootstrap_iterated`].
///
/// Each round bootstraps the difference of the vector and the result so far, as a message
/// without noise. No slot of it exceeds `N / sqrt(2)` times its length `|e|_2 / sqrt(N)`. An
/// evaluator states a smaller range, from the average noise, and scales the difference up
/// further. As long as that range holds, its result is at least as exact as this bound.
///
/// If all slots of the ring are complex values, a round corrects the whole error of the round
/// before. Otherwise it reads only the part that the values consist of (real parts, or one
/// period of repeating slots). The other part stays in the noise polynomial: the noise that
/// bootstraps add, without the errors of S2C and of the approximation.
pub(crate) fn bounded<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    rounds: usize,
) -> Result<A::Ciphertext> {
    check_rounds(rounds)?;
    // Step 1: drop to the input level of the bootstrap.
    let least = a.attached::<Arc<Bootstrapper>>().map_or(0, |b| b.input_level());
    let x = a.drop_to_level(x, least.min(a.metadata(x).level))?;
    let of_x = a.metadata(&x);
    let CiphertextMeta { scale, slots, bounds, noise, .. } = of_x.meta;
    if rounds == 1 {
        return bootstrap_to(a, &x, scale);
    }
    let clear = of_x.meta.is_clear();
    let bounds = Bounds::padded(bounds.values, of_x.meta.len < slots);
    let real = bounds.slots().is_real();
    let whole = !real && slots == a.params().max_slots();

    // Step 2: the first bootstrap. Its message is the vector as it is, noise included.
    let of_message =
        CiphertextMeta { noise: Noise { excess: noise.excess, ..Noise::NONE }, ..of_x.meta };
    let message = a.as_message(x, of_message);
    let mut result = bootstrap_to(a, &message, scale)?;
    let rules = a.params().rules().with_errors(NoiseModel::Worst);
    let added = |x: &A::Ciphertext| -> Result<Noise> {
        let bootstrapper = a.attached::<Arc<Bootstrapper>>().ok_or_else(error::no_bootstrapping)?;
        Ok(bootstrapper.bounded(rules, &a.metadata(x), scale)?.added)
    };

    // Step 3: every further round bootstraps the remainder and adds it to the result.
    // `remaining` is the error of the values, `uncorrected` the noise in the part that rounds
    // do not read.
    let (mut remaining, mut uncorrected) = (Noise::NONE, added(&message)?);
    for _ in 1..rounds {
        let known = a.drop_to_level(&result, of_x.level)?;
        let rest = a.sub(&message, &known)?;
        let of_rest = a.metadata(&rest).meta;
        let length = of_rest.noise.total.sqrt() / scale;
        let most = a.params().lattice().spec().degree as f64 * FRAC_1_SQRT_2 * length;
        let rest = a.as_message(rest, remainder(&of_rest, most, real, clear)?);
        let bootstrapped = bootstrap_to(a, &rest, scale)?;
        remaining = a.metadata(&bootstrapped).meta.noise;
        if !whole {
            remaining = NoiseModel::Worst.sum(remaining, uncorrected, Relation::Related);
            uncorrected = NoiseModel::Worst.sum(uncorrected, added(&rest)?, Relation::Related);
        }
        let sum = a.add(&result, &bootstrapped)?;
        let meta = CiphertextMeta { bounds, noise: remaining, ..a.metadata(&sum).meta };
        result = a.as_message(sum, meta);
    }

    // Step 4: the noise of the input, which was part of the message, on top.
    let noise = NoiseModel::Worst.sum(remaining, noise, Relation::Related);
    let meta = CiphertextMeta { noise, ..a.metadata(&result).meta };
    Ok(a.as_message(result, meta))
}
