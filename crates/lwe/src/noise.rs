//! Noise model: the variance of the phase (or of the index) that each operation adds.
//!
//! All formulas are equalities under the usual heuristic that coefficients are independent. The
//! tests bound each from both sides by measurements. `norm2` is `|s|^2`, the weight of a ternary
//! secret.

mod digits;
mod ntru;

use bellerophon_mlwe::security::SecretKind;
use bellerophon_ring::Result;

#[cfg(test)]
pub(crate) use ntru::{ntru_product, ntru_ring_switch};

use crate::error;
use crate::params::{EngineContext, Params};
use digits::{digit_squares, dropped};

/// The variance after a modulus switch from `from` to `to`, of a ciphertext with the variance
/// `variance` before: the noise scales, and every coordinate is rounded.
pub fn modulus_switch(variance: f64, from: f64, to: f64, norm2: f64) -> f64 {
    variance * (to / from).powi(2) + (norm2 + 1.0) / 12.0
}

/// The variance that [`KeySwitchKey::apply`](crate::KeySwitchKey::apply) adds. Each of the `d`
/// digits of every coefficient of the source is multiplied by fresh noise. (The padding to a
/// multiple of `n` is zero and adds none.) The bits that the digits drop are multiplied by the
/// source secret.
pub fn key_switch(params: &Params, source_norm2: f64, source_dimension: usize) -> f64 {
    let gadget = params.key_switch_gadget();
    let sigma2 = params.spec().sigma.powi(2);
    let digits = digit_squares(gadget, params.modulus().value());
    source_dimension as f64 * digits * sigma2 + dropped(gadget) * source_norm2
}

/// The variance that a whole blind rotation adds to the phase of each coefficient of the
/// accumulator.
///
/// A step multiplies the digits of all rows by `X^a - 1` times the noise of `EK+` and by `X^-a - 1`
/// times the noise of `EK-`: `N 4 sigma^2 sum E[digit^2]`. The special modulus divides that by
/// `q'^2` and rounds once. With digits, the dropped bits matter in the `lwe_norm2` steps with a
/// nonzero coordinate, where the factor `X^(a s) - 1` doubles their variance. For NTRU see
/// `ntru_product` and `ntru_ring_switch`: the noise of the accumulator modulo `Q`, scaled by
/// `q0 / Q`, and the key switch to the ring secret.
pub(crate) fn blind_rotation(params: &Params, lwe_norm2: f64, ring_norm2: f64) -> f64 {
    let spec = params.spec();
    let context = match params.engine() {
        EngineContext::Rgsw(context) => context,
        EngineContext::Ntru(context) => return ntru::blind_rotation(params, context, lwe_norm2),
    };
    // The variance of a step for one digit of each of the two components, per E[digit^2].
    let fresh = 2.0 * params.spec().ring_degree as f64 * 4.0 * spec.ring_sigma.powi(2);
    let steps = params.spec().dimension as f64;
    match context.digit_gadget() {
        None => {
            // A digit is a uniform residue modulo q0. Mod-down rounds once in each step.
            let [q0, special] = [0, 1].map(|i| context.ring().modulus(i).value() as f64);
            let digit = q0 * q0 / 12.0;
            steps * (fresh * digit / (special * special) + (1.0 + ring_norm2) / 12.0)
        }
        Some(gadget) => {
            let lost = 2.0 * lwe_norm2 * dropped(gadget) * (1.0 + ring_norm2);
            steps * fresh * digit_squares(gadget, spec.ring_modulus) + lost
        }
    }
}

/// The variance of the index error of a look-up, in squared steps of the table. It consists of the
/// noise of the input (`input_variance`, modulo `q`) and the rounding to `Z_2N`. Engines with even
/// exponents round the mask to even elements.
pub fn index_error(params: &Params, lwe_norm2: f64, input_variance: f64) -> f64 {
    let (q, order) = (params.modulus().value() as f64, 2.0 * params.spec().ring_degree as f64);
    let grid = if params.even_exponents() { 2.0 } else { 1.0 };
    modulus_switch(input_variance, q, order, grid * grid * lwe_norm2)
}

/// The variance of the index error of a look-up on a value under the ring secret modulo `q0`. It
/// consists of the noise of the value (`variance`, modulo `q0`), the modulus switch to `q`, the key
/// switch from `n'` to `n`, and the modulus switch to `2N`.
pub(crate) fn index_error_of_value(
    params: &Params,
    lwe_norm2: f64,
    ring_norm2: f64,
    variance: f64,
) -> f64 {
    let (q0, q) = (params.ring_modulus().value() as f64, params.modulus().value() as f64);
    // Modulus switch to q, key switch to n, then the index error of the result.
    let switched = modulus_switch(variance, q0, q, ring_norm2)
        + key_switch(params, ring_norm2, params.spec().ring_degree);
    index_error(params, lwe_norm2, switched)
}

/// The index error of a value of this phase variance, for secrets of the expected norm. Accuracy
/// estimates use it.
pub fn expected_index_error(params: &Params, variance: f64) -> f64 {
    let (lwe, ring) = expected_norms(params);
    index_error_of_value(params, lwe, ring, variance)
}

/// The index error of a value of this phase variance, for secrets of the largest norm
/// ([`largest_norm2`]). Guard bands use it.
pub fn largest_index_error(params: &Params, variance: f64) -> f64 {
    let spec = params.spec();
    let lwe = largest_norm2(spec.secret, params.spec().dimension);
    let ring = largest_norm2(spec.ring_secret, params.spec().ring_degree);
    index_error_of_value(params, lwe, ring, variance)
}

/// The noise variance of the result of a look-up, modulo `q0`: blind rotation for secrets of
/// the expected norm, and the rounding of the entries of the table.
pub fn look_up(params: &Params) -> f64 {
    let (lwe, ring) = expected_norms(params);
    blind_rotation(params, lwe, ring) + 1.0 / 12.0
}

/// The noise variance modulo `q0` of an argmax label among `count` lanes
/// ([`Evaluator::arg_max_label`](crate::Evaluator::arg_max_label)). Every lane enters the
/// tournament in one of `ceil(count / 2)` matches, and the label is the sum of one look-up for each
/// of them.
pub fn label(params: &Params, count: usize) -> f64 {
    count.div_ceil(2) as f64 * look_up(params)
}

/// The noise variance modulo `q0` of a result of multi-value bootstrapping
/// ([`Evaluator::maps`](crate::Evaluator::maps) with the special-modulus gadget). It consists of
/// the noise of the blind rotation times `|w|^2` (`norm2`), and the quantisation of the entries to
/// `unit`. The quantisation error counts as uniform; where a function is constant, it is a constant
/// of at most half a unit.
pub fn multi_value(params: &Params, norm2: f64, unit: f64) -> f64 {
    let (lwe, ring) = expected_norms(params);
    norm2 * blind_rotation(params, lwe, ring) + unit * unit / 12.0 + 1.0 / 12.0
}

/// The unit that minimises [`multi_value`]. `steps2` is the sum of the squared differences of
/// neighbouring entries, in squared units of the phase. Because `|w|^2` is `steps2 / unit^2` plus
/// the effect of rounding, the optimum is `unit^4 = 12 steps2` times the variance of the blind
/// rotation.
pub fn multi_value_unit(params: &Params, steps2: f64) -> f64 {
    let (lwe, ring) = expected_norms(params);
    (12.0 * steps2 * blind_rotation(params, lwe, ring)).powf(0.25)
}

/// The expected squared norms of the LWE secret and the ring secret.
fn expected_norms(params: &Params) -> (f64, f64) {
    let spec = params.spec();
    let lwe = spec.secret.expected_norm2(params.spec().dimension);
    (lwe, spec.ring_secret.expected_norm2(params.spec().ring_degree))
}

/// The guard band: the number of steps to keep free at either end of a table, so that an index with
/// an error of variance `index_variance` falls outside the table with probability at most
/// `2^log2_failure`.
///
/// A normal variable exceeds `t` standard deviations with probability below `2 exp(-t^2 / 2)`. One
/// more step covers the rounding to cells. The result is `usize::MAX` for an invalid variance or
/// probability: NaN, a negative variance, or an exponent of 0 or above.
pub fn guard(index_variance: f64, log2_failure: f64) -> usize {
    if check_failure(log2_failure).is_err() || index_variance.is_nan() || index_variance < 0.0 {
        return usize::MAX;
    }
    let reach = deviations(log2_failure) * index_variance.sqrt();
    (reach.ceil() as usize).saturating_add(1)
}

/// The largest mean square of `f(x + e + g) - f(x)` over all positions `x` of a table, in squared
/// units of the function: the effect of the index error `e` of a look-up and of the error `g` of
/// its operand on the result.
///
/// `entries` holds `f` cell by cell. The error `e` is normal with standard deviation `index_std`
/// cells, before the rounding to a cell, which adds 1/12 to its variance. Past either end of the
/// entries `f` is constant. Standard deviations of 16 cells and more are sampled at about eight
/// points each.
///
/// For `g` only the standard deviation `error_std` in cells is known ([`operand_error`]). The
/// result is at most the square of the range of `f`.
pub fn table_error(entries: &[f64], index_std: f64, error_std: f64) -> f64 {
    let Some(last) = entries.len().checked_sub(1) else { return 0.0 };
    let lo = entries.iter().copied().fold(f64::INFINITY, f64::min);
    let hi = entries.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if lo == hi {
        return 0.0;
    }
    // Step 1: sampled weights of the normal distribution, up to five standard deviations. An index
    // error larger than the table reads one of the ends, so the deviation is capped.
    let std = index_std.hypot((1.0f64 / 12.0).sqrt()).min(entries.len() as f64);
    let stride = ((std / 8.0) as usize).max(1);
    let reach = (5.0 * std / stride as f64).ceil() as i64;
    let weight = |j: i64| (-0.5 * ((j * stride as i64) as f64 / std).powi(2)).exp();
    let weights: Vec<f64> = (-reach..=reach).map(weight).collect();
    let total: f64 = weights.iter().sum();
    // Step 2: the weighted mean square of the error at each position, and its maximum.
    let mean_square = |position: usize| {
        let error = |j: i64| {
            let read = (position as i64 + j * stride as i64).clamp(0, last as i64);
            entries[read as usize] - entries[position]
        };
        let terms = (-reach..=reach).zip(&weights).map(|(j, weight)| weight * error(j).powi(2));
        terms.sum::<f64>() / total
    };
    let normal = (0..=last).step_by(stride).map(mean_square).fold(0.0, f64::max);
    // Step 3: add the effect of the operand's error, capped by the range of f.
    let range = (hi - lo).powi(2);
    (normal + operand_error(entries, error_std)).min(range)
}

/// The mean square of `f(x + g) - f(x)` at the worst position `x` of a table, in squared units of
/// the function. For the error `g` only the standard deviation `s = error_std` in cells is known.
/// The result is `max D(d)^2 min(1, s^2 / d^2)`, where `D(d)` is the largest change of `f` over `d`
/// cells. The maximum is taken over distances `d` that grow by a quarter each.
pub fn operand_error(entries: &[f64], error_std: f64) -> f64 {
    let next = |distance: &usize| Some((distance + distance / 4).max(distance + 1));
    let distances = std::iter::successors(Some(1), next).take_while(|d| *d < entries.len());
    let change = |distance: usize| {
        let pairs = entries.iter().zip(&entries[distance..]);
        let largest = pairs.map(|(x, y)| (y - x).abs()).fold(0.0, f64::max);
        largest * (error_std / distance as f64).min(1.0)
    };
    distances.map(change).fold(0.0, f64::max).powi(2)
}

/// The number of standard deviations that a normal variable exceeds with probability at most
/// `2^log2_failure`, for an exponent below 0.
pub fn deviations(log2_failure: f64) -> f64 {
    (2.0 * (1.0 - log2_failure) * std::f64::consts::LN_2).sqrt()
}

/// The variance that one comparator adds to its result, in squared units of values whose encoding
/// has this width ([`Evaluator::max`](crate::Evaluator::max)): the index error of the look-up of
/// the difference, and the noise of the look-up.
pub(crate) fn comparator(params: &Params, width: f64) -> f64 {
    let step = width / (2 * params.spec().ring_degree) as f64;
    let unit = width / params.ring_modulus().value() as f64;
    expected_index_error(params, 0.0) * step * step + look_up(params) * unit * unit
}

/// The variances of a value after `count` comparators in a row, for values of a variance whose
/// encoding has this width: for values that differ by more than the errors, and the one from which
/// the bound of [`LweMeta::noise`](crate::LweMeta::noise) is computed, which holds for equal values
/// too.
pub fn comparators(
    params: &Params,
    width: f64,
    variance: f64,
    count: usize,
    log2_failure: f64,
) -> [f64; 2] {
    let (fresh, factor) = (comparator(params, width), comparator_variance_factor(log2_failure));
    let worst = (0..count).fold(variance, |worst, _| (worst + fresh) * factor);
    [variance + count as f64 * fresh, worst]
}

/// The factor by which each comparator increases the variance that guard bands for `2^log2_failure`
/// are computed from. The result of `r` comparators has one of `2^r` sums of errors. [`guard`] for
/// a `2^r`-th of the probability needs `1 + r / (1 - log2_failure)` times the variance, which is at
/// most the `r`-th power of this factor.
pub(crate) fn comparator_variance_factor(log2_failure: f64) -> f64 {
    1.0 + 1.0 / (1.0 - log2_failure)
}

/// Fails unless `log2_failure` is the `log2` of a probability strictly between 0 and 1.
pub(crate) fn check_failure(log2_failure: f64) -> Result<()> {
    if log2_failure.is_finite() && log2_failure < 0.0 {
        return Ok(());
    }
    let needed = "the log2 of a probability: a finite number below 0";
    Err(error::number("failure probability, as its log2,", log2_failure, needed))
}

/// A bound on `|s|^2` that a secret exceeds with probability below `2^-60`. For a ternary secret
/// `|s|^2` is the weight.
pub fn largest_norm2(secret: SecretKind, dimension: usize) -> f64 {
    let w = match secret {
        SecretKind::Sparse(weight) => return weight as f64,
        SecretKind::Ternary => 1.0,
        SecretKind::Bounded(w) => f64::from(w),
    };
    // Nine standard deviations above the mean of n squares, each of which is at most w^2.
    let (n, mean) = (dimension as f64, w * (w + 1.0) / 3.0);
    let variance = mean * (3.0 * w * w + 3.0 * w - 1.0) / 5.0 - mean * mean;
    (mean * n + 9.0 * (variance * n).sqrt()).min(w * w * n).floor()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::blind_rotate::tests::specs;
    use crate::blind_rotate::{SeededBlindRotationKey, blind_rotate_batch};
    use crate::ciphertext::Ciphertext;
    use crate::encrypt::{encrypt, phase};
    use crate::engine::NtruRotation;
    use crate::external_product::tests::phases;
    use crate::keyswitch::SeededKeySwitchKey;
    use crate::modulus_switching::{Mod2NCiphertext, switch_modulus};
    use crate::params::ParamsSpec;
    use crate::params::tests::{insecure, insecure_ntru_that_drops};
    use crate::secret::SecretKey;
    use crate::test_polynomial::{TableDomain, TestPolynomial};

    fn variance(sample: &[f64]) -> f64 {
        sample.iter().map(|x| x * x).sum::<f64>() / sample.len() as f64
    }

    fn assert_close(what: &str, measured: f64, predicted: f64) {
        let ratio = measured / predicted;
        assert!((0.8..1.25).contains(&ratio), "{what}: measured / predicted = {ratio}");
    }

    /// The error is the variance of the index for a linear function, half the square of the jump
    /// for a step at any index error, and 0 for a constant.
    #[test]
    fn table_errors_are_those_of_the_steepest_place() {
        for index in [0.5, 3.0, 20.0, 100.0] {
            let line: Vec<f64> = (0..4096).map(|k| 0.5 * f64::from(k)).collect();
            let expected = 0.25 * (index * index + 1.0 / 12.0);
            let ratio = table_error(&line, index, 0.0) / expected;
            assert!((0.95..1.03).contains(&ratio), "{index}: {ratio}");
            let step: Vec<f64> = (0..4096).map(|k| f64::from(u8::from(k > 1000))).collect();
            let half = table_error(&step, index, 0.0);
            assert!((0.3..=0.5).contains(&half) || index < 1.0, "{index}: {half}");
        }
        // Errors of any distribution: on a linear function, and as two points far apart.
        let line: Vec<f64> = (0..4096).map(|k| 0.5 * f64::from(k)).collect();
        for std in [0.5, 30.0, 1000.0] {
            let ratio = table_error(&line, 0.0, std) / (0.25 * (std * std + 1.0 / 12.0));
            assert!((0.6..1.1).contains(&ratio), "{std}: {ratio}");
        }
        let bits: Vec<f64> = (0..4096).map(|k| f64::from(u8::from(k == 4095))).collect();
        assert_eq!(table_error(&bits, 0.3, 2000.0), 1.0);
        assert!(table_error(&[0.0, 1.0, 1.0], 1e9, 0.0) <= 1.0);
        assert!(table_error(&[0.0, 1.0, 1.0], 3.0, f64::INFINITY) <= 1.0);
        assert_eq!(table_error(&[2.0; 64], 5.0, 1.0), 0.0);
        assert_eq!(table_error(&[], 5.0, 1.0), 0.0);
    }

    #[test]
    fn key_switch_noise_is_as_predicted() {
        for (base_log, digits) in [(2, 14), (7, 4), (4, 5)] {
            let mut rng = ChaCha20Rng::seed_from_u64(1);
            let spec = ParamsSpec {
                sigma: 50.0,
                key_switch_base_log: base_log,
                key_switch_digits: digits,
                ..insecure(64, 64, false)
            };
            let params = Params::new(spec).unwrap();
            let target = SecretKey::generate_lwe(&params, &mut rng).unwrap();
            let source = SecretKey::generate(1024, params.spec().ring_secret, &mut rng).unwrap();
            let key = SeededKeySwitchKey::generate(&params, &source, &target, &mut rng).unwrap();
            let key = key.expand(&params).unwrap();
            let errors: Vec<f64> = (0..600)
                .map(|_| {
                    let value = encrypt(params.modulus(), &source, 1 << 20, 1.0, &mut rng);
                    let value = value.unwrap();
                    let before = phase(&value, &source).unwrap();
                    let after = phase(&key.apply(&params, &value).unwrap(), &target).unwrap();
                    (after - before) as f64
                })
                .collect();
            let predicted = key_switch(&params, source.norm2(), 1024);
            assert_close("key switch", variance(&errors), predicted);
        }
    }

    #[test]
    fn modulus_switch_and_index_noise_are_as_predicted() {
        let [(_, rgsw), .., (_, any)] = specs(256, 64);
        let wide = |w, dimension| ParamsSpec {
            secret: SecretKind::Bounded(w),
            ..insecure_ntru_that_drops(dimension, 64, NtruRotation::Any { window: 16 })
        };
        // The largest noise that leaves most indices of 128 unchanged.
        for spec in [rgsw, any, wide(2, 256), wide(8, 16)] {
            let mut rng = ChaCha20Rng::seed_from_u64(2);
            let params = Params::new(spec).unwrap();
            let secret = SecretKey::generate_lwe(&params, &mut rng).unwrap();
            let (q0, q) = (params.ring_modulus(), params.modulus());
            let sigma = 2f64.powi(19);
            let mut rounding = Vec::new();
            let mut index = Vec::new();
            for _ in 0..1500 {
                let message = 3 << 40;
                let value = encrypt(q0, &secret, message, sigma, &mut rng).unwrap();
                let switched = phase(&switch_modulus(&value, q), &secret).unwrap() as f64;
                rounding.push(switched - message as f64 * q.value() as f64 / q0.value() as f64);
                let value = encrypt(q, &secret, 0, sigma, &mut rng).unwrap();
                let exponents = params.exponents(&value).unwrap();
                let mask = exponents.a().iter().zip(secret.coefficients());
                let sum = exponents.b() as i64 + mask.map(|(&a, &s)| a as i64 * s).sum::<i64>();
                index.push(((sum + 64).rem_euclid(128) - 64) as f64);
            }
            let ratio = q.value() as f64 / q0.value() as f64;
            let predicted = modulus_switch(sigma * sigma, 1.0, ratio, secret.norm2());
            assert_close("modulus switch", variance(&rounding), predicted);
            let predicted = index_error(&params, secret.norm2(), sigma * sigma);
            assert_close("index", variance(&index), predicted);
        }
    }

    #[test]
    fn blind_rotation_noise_is_as_predicted() {
        let dropping = [
            ("NTRU, ternary, dropping", NtruRotation::Ternary),
            ("NTRU, any, dropping", NtruRotation::Any { window: 16 }),
        ];
        let dropping = dropping.map(|(name, form)| (name, insecure_ntru_that_drops(64, 256, form)));
        let wide = ParamsSpec { secret: SecretKind::Bounded(5), ..dropping[1].1.clone() };
        let wide = ("NTRU, any, dropping, wide secret", wide);
        for (name, spec) in specs(64, 256).into_iter().chain(dropping).chain([wide]) {
            let mut rng = ChaCha20Rng::seed_from_u64(3);
            let params = Params::new(spec).unwrap();
            let lwe = SecretKey::generate_lwe(&params, &mut rng).unwrap();
            let ring = SecretKey::generate_ring(&params, &mut rng).unwrap();
            let key = SeededBlindRotationKey::generate(&params, &lwe, &ring, &mut rng).unwrap();
            let key = key.expand(&params).unwrap();
            let domain = TableDomain::fit(-1.0, 1.0, 256, 0).unwrap();
            let noise: Vec<f64> = (0..256).map(|_| rng.random_range(-1e12..1e12)).collect();
            let table = TestPolynomial::new(
                *params.ring_modulus(),
                domain,
                |x| noise[((x + 1.0) * 127.0) as usize],
                |y| y as i64,
            );
            let table = table.unwrap();
            let values: Vec<_> = (0..20)
                .map(|_| {
                    let value = encrypt(params.modulus(), &lwe, 0, 1e6, &mut rng).unwrap();
                    params.exponents(&value).unwrap()
                })
                .collect();
            let out = blind_rotate_batch(&params, &values, &[&table], &key).unwrap();
            let mut errors = Vec::new();
            for (value, accumulator) in values.iter().zip(&out) {
                let mask = value.a().iter().zip(lwe.coefficients());
                let index = value.b() as i64 + mask.map(|(&a, &s)| a as i64 * s).sum::<i64>();
                for (i, phase) in phases(accumulator, &ring).into_iter().enumerate() {
                    errors.push((phase - table.entry(index - i as i64)) as f64);
                }
            }
            let predicted = blind_rotation(&params, lwe.norm2(), ring.norm2());
            assert_close(name, variance(&errors), predicted);
        }
    }

    /// The guard band is wider for rarer failures and for more noise, and never narrow for NaN.
    #[test]
    fn guards_do_not_collapse() {
        assert!(guard(1.0, -60.0) > guard(1.0, -10.0) && guard(4.0, -60.0) > guard(1.0, -60.0));
        assert_eq!(guard(0.0, -60.0), 1);
        let bad = [f64::NAN, 0.0, 2.0, f64::INFINITY, f64::NEG_INFINITY];
        assert!(bad.iter().all(|&failure| guard(1.0, failure) == usize::MAX));
        let bad = [f64::NAN, -1.0, f64::INFINITY];
        assert!(bad.iter().all(|&variance| guard(variance, -60.0) == usize::MAX));
    }

    /// For any number of comparators the guard band is at least that for the failure probability
    /// divided by the number of sums of errors, and less than a third larger for a network of 64.
    #[test]
    fn guard_bands_hold_for_every_sum_of_errors() {
        for failure in [-61.0, -20.0] {
            for levels in [0, 1, 6, 21] {
                let widened = comparator_variance_factor(failure).powi(levels);
                let wanted = guard(1e6, failure - f64::from(levels));
                assert!(guard(1e6 * widened, failure) >= wanted, "{failure} {levels}");
                assert!(failure > -61.0 || (widened < 1.42 && levels <= 21));
            }
        }
    }

    /// The rotation of a trivial ciphertext by 0 adds no noise.
    #[test]
    fn trivial_values_stay_exact() {
        let value = Ciphertext::trivial(bellerophon_ring::Modulus::new(97).unwrap(), 4, 96);
        let exponents = Mod2NCiphertext::on_grid(&value, 64, 1).unwrap();
        assert!(exponents.a().iter().all(|&a| a == 0));
    }
}
