//! Multi-value programmable bootstrapping: several functions from one blind rotation.
//!
//! In the method of Carpov, Izabachène and Mollimard (CT-RSA 2019) every test polynomial `T` is a
//! multiple of one common factor: `T = (unit / 2) (1 + X + .. + X^(N-1)) w` with
//! `w = (1 - X) T / unit`, because `(1 - X) (1 + X + .. + X^(N-1)) = 1 - X^N = 2`. Blind rotation
//! is applied to the common factor, and the result is multiplied by the small polynomial `w` of
//! each function. All functions use the same index.
//!
//! `w` holds the differences of neighbouring entries, quantised to `unit`. The noise variance of
//! the rotation grows by its squared norm. [`noise::multi_value_unit`] is the unit with the least
//! noise. The mean of the first and the last entry is subtracted from a function and added to its
//! results, so that the difference at the negacyclic wrap vanishes. Only coefficient 0 is needed:
//! each function costs an inner product for the body and one inverse transform for the mask.

use bellerophon_ring::{During, Result, try_map};

use crate::ciphertext::Ciphertext;
use crate::encoding::{Encoding, OutputEncoding, check_period};
use crate::external_product::Accumulator;
use crate::lwe_vec::LweVec;
use crate::params::Params;
use crate::pbs::Evaluator;
use crate::progress::LookupProgress;
use crate::sample_extraction::coefficient_mask;
use crate::tabulate::Samples;
use crate::test_polynomial::{TableDomain, TestPolynomial};
use crate::{error, noise};

/// A function for [`Evaluator::maps`], and the encoding of its results.
#[derive(Clone, Copy)]
pub struct EncodedFunction<'f> {
    /// The function.
    pub function: &'f dyn Fn(f64) -> f64,
    /// The encoding of its results.
    pub output: OutputEncoding,
}

impl<'f> EncodedFunction<'f> {
    /// A function and the encoding of its results.
    pub fn new(function: &'f dyn Fn(f64) -> f64, output: OutputEncoding) -> Self {
        Self { function, output }
    }
}

impl Evaluator<'_> {
    /// Several functions of every value, all at the same index of their tables: all results of one
    /// value share the same index error.
    ///
    /// With the special-modulus gadget one blind rotation of each value serves all functions. The
    /// noise of the results is larger than that of [`map`](Self::map), and the metadata includes
    /// it. All results of one value share part of that noise, so their sums have a larger error
    /// than sums of independent results ([`LweMeta::noise`](crate::LweMeta::noise)). With
    /// digits and on NTRU the noise is too large for this method, and the same switched ciphertext
    /// is rotated once for each function.
    pub fn maps(&self, values: &LweVec, tables: &[EncodedFunction<'_>]) -> Result<Vec<LweVec>> {
        let look_ups = values.len() * self.rotations(tables.len());
        self.with_progress(look_ups, |work| self.maps_in(work, values, tables)).during("maps")
    }

    /// The number of blind rotations of [`maps`](Self::maps) for each value, given the number of
    /// functions.
    pub fn rotations(&self, functions: usize) -> usize {
        if self.params.one_rotation_for_several() { functions.min(1) } else { functions }
    }

    /// [`maps`](Self::maps) within a longer operation.
    pub(crate) fn maps_in(
        &self,
        work: &mut LookupProgress<'_>,
        values: &LweVec,
        tables: &[EncodedFunction<'_>],
    ) -> Result<Vec<LweVec>> {
        match tables {
            [] => Err(error::table_count(0, values.len())),
            [only] => Ok(vec![self.map_in(work, values, &[only.function], only.output)?]),
            _ if self.rotations(2) == 1 => self.multi_value(work, values, tables),
            _ => self.repeated(work, values, tables),
        }
    }

    /// One rotation for each function, all of the same exponents.
    fn repeated(
        &self,
        work: &mut LookupProgress<'_>,
        values: &LweVec,
        tables: &[EncodedFunction<'_>],
    ) -> Result<Vec<LweVec>> {
        // Step 1: test polynomial, encoding and index error of each function.
        let domain = self.table_domain(values)?;
        let (variance, cells) = (noise::look_up(self.params), self.index_cells(values));
        let prepared: Result<Vec<_>> = tables
            .iter()
            .map(|EncodedFunction { function, output }| {
                let samples = [Samples::new(domain, function)?];
                let range = Samples::range(&samples);
                let index = Samples::error(&samples, cells);
                let failure = self.log2_failure;
                let encoding = output.resolve(self.params, &range, variance, failure)?;
                Ok((samples[0].table(self.params, &encoding)?, encoding, range, index))
            })
            .collect();
        let prepared = prepared?;
        // Step 2: rotate each value's exponents once for each function, and extract.
        let mut items = vec![Vec::with_capacity(values.len()); tables.len()];
        self.in_batches(values, tables.len(), |_, exponents| {
            let many: Vec<_> = exponents
                .iter()
                .flat_map(|value| std::iter::repeat_n(value.clone(), tables.len()))
                .collect();
            let tables: Vec<_> =
                exponents.iter().flat_map(|_| prepared.iter().map(|(table, ..)| table)).collect();
            let rotated = self.blind_rotate(work, &many, &tables)?;
            for (i, item) in rotated.into_iter().enumerate() {
                items[i % prepared.len()].push(item.sample_extract(0)?);
            }
            Ok(())
        })?;
        // Step 3: the metadata of the results.
        let results =
            items.into_iter().zip(prepared).map(|(items, (_, encoding, range, index))| {
                self.results(items, encoding, range, variance, index, values.meta().key)
            });
        results.collect()
    }

    /// One rotation of the common factor, and one product for each function.
    fn multi_value(
        &self,
        work: &mut LookupProgress<'_>,
        values: &LweVec,
        tables: &[EncodedFunction<'_>],
    ) -> Result<Vec<LweVec>> {
        // Step 1: tabulate the functions and choose their encodings.
        let domain = self.table_domain(values)?;
        let functions: Result<Vec<_>> = tables
            .iter()
            .map(|table| self.function(Samples::new(domain, table.function)?, table.output))
            .collect();
        let functions = functions?;
        // Step 2: the common factor, with the unit of the steepest function, and the w of each.
        let steepest = functions.iter().map(|f| f.steps2).fold(0.0, f64::max);
        let half = (noise::multi_value_unit(self.params, steepest) / 2.0).round().max(1.0);
        let common = common_factor(self.params, domain, half as i64)?;
        let factors: Vec<_> =
            functions.iter().map(|f| Factor::new(self.params, f, 2.0 * half)).collect();
        let variances: Vec<_> = factors
            .iter()
            .map(|factor| noise::multi_value(self.params, factor.norm2, 2.0 * half))
            .collect();
        // Step 3: check that results and noise fit the encodings. `function` could not, since the
        // noise depends on the common unit.
        for (function, variance) in functions.iter().zip(&variances) {
            let (lo, hi) = function.range().into_inner();
            let unit = function.encoding.width() / self.params.ring_modulus().value() as f64;
            check_period(lo, hi, variance.sqrt() * unit, &function.encoding)?;
        }
        // Step 4: rotate the common factor once for each value, and multiply by the w of each
        // function.
        let mut items = vec![Vec::with_capacity(values.len()); tables.len()];
        self.in_batches(values, 1, |_, exponents| {
            let rotated = self.blind_rotate(work, exponents, &[&common])?;
            let products = try_map(&rotated, |x| products(self.params, x, &factors))?;
            for item in products {
                items.iter_mut().zip(item).for_each(|(items, item)| items.push(item));
            }
            Ok(())
        })?;
        // Step 5: the metadata of the results.
        let results = items.into_iter().zip(functions).zip(variances);
        let cells = self.index_cells(values);
        let results = results.map(|((items, function), variance)| {
            let range = function.range();
            let index = Samples::error(std::slice::from_ref(&function.samples), cells);
            self.results(items, function.encoding, range, variance, index, values.meta().key)
        });
        results.collect()
    }

    /// The output encoding and the squared differences of one function.
    fn function(&self, samples: Samples, output: OutputEncoding) -> Result<Function> {
        let q0 = self.params.ring_modulus().value() as f64;
        let range = Samples::range(std::slice::from_ref(&samples));
        // Step 1: the noise at the finest encoding. A range takes at most half a period if a
        // look-up follows, so no encoding is finer than this one, and none has more noise.
        let finest = q0 / (2.0 * (range.end() - range.start()));
        let steps2 = if finest.is_finite() { samples.steps2() * finest * finest } else { 0.0 };
        let unit = noise::multi_value_unit(self.params, steps2);
        let norm2 = if unit > 0.0 { steps2 / (unit * unit) } else { 0.0 };
        let variance = noise::multi_value(self.params, norm2, unit);
        // Step 2: the encoding. With a given encoding the noise is checked later, when the common
        // unit is known.
        let variance = if matches!(output, OutputEncoding::Fit(_)) { variance } else { 0.0 };
        let encoding = output.resolve(self.params, &range, variance, self.log2_failure)?;
        // Step 3: the squared differences at that encoding.
        let per_unit = q0 / encoding.width();
        let steps2 = samples.steps2() * per_unit * per_unit;
        Ok(Function { samples, encoding, steps2 })
    }
}

/// A function at every index with the encoding of its results.
struct Function {
    samples: Samples,
    encoding: Encoding,
    /// The sum of the squared differences of neighbouring entries, in squared units of the phase.
    steps2: f64,
}

impl Function {
    fn range(&self) -> std::ops::RangeInclusive<f64> {
        Samples::range(std::slice::from_ref(&self.samples))
    }
}

/// The common factor `half (1 + X + .. + X^(N-1))`.
fn common_factor(params: &Params, domain: TableDomain, half: i64) -> Result<TestPolynomial> {
    let entry = |k: i64| Ok(if k <= 0 { half } else { -half });
    TestPolynomial::from_entries(*params.ring_modulus(), domain, entry)
}

/// The polynomial `w` of one function, by which the rotated common factor is multiplied.
struct Factor {
    /// `w`, in coefficients and in NTT form.
    coefficients: Vec<i64>,
    ntt: Vec<u64>,
    /// `|w|^2`.
    norm2: f64,
    /// The phase of the subtracted mean of the first and the last entry.
    offset: i64,
}

impl Factor {
    fn new(params: &Params, function: &Function, unit: f64) -> Self {
        let (q0, ring) = (params.ring_modulus(), params.table_ring());
        // Step 1: subtract the mean of the first and the last entry, and quantise.
        let values = function.samples.values();
        let middle = f64::midpoint(values[0], values[values.len() - 1]);
        let per_unit = q0.value() as f64 / function.encoding.width();
        let quantised = |value: f64| ((value - middle) * per_unit / unit).round() as i64;
        // Step 2: the test polynomial. Coefficient j is the entry at index -j for j <= N / 2, and
        // minus the entry at index N - j above.
        let half = values.len() / 2;
        let table: Vec<i64> = (0..values.len())
            .map(|j| match j {
                0.. if j <= half => quantised(values[half - j]),
                _ => -quantised(values[half + values.len() - j]),
            })
            .collect();
        // Step 3: w = (1 - X) T, with X^N = -1 at the wrap.
        let before = std::iter::once(-table[table.len() - 1]).chain(table.iter().copied());
        let coefficients: Vec<i64> = table.iter().zip(before).map(|(x, y)| x - y).collect();
        let mut ntt: Vec<u64> = coefficients.iter().map(|&x| q0.from_i64(x)).collect();
        ring.table(0).forward(&mut ntt);
        let norm2 = coefficients.iter().map(|&x| (x as f64).powi(2)).sum();
        let offset = function.encoding.encode(middle, q0);
        Self { coefficients, ntt, norm2, offset }
    }
}

/// Coefficient 0 of the accumulator times each factor.
fn products(params: &Params, x: &Accumulator, factors: &[Factor]) -> Result<Vec<Ciphertext>> {
    let (q0, table) = (params.ring_modulus(), params.table_ring().table(0));
    let n = x.degree();
    // The transform of the mask serves all factors.
    let mut mask = x.a().to_vec();
    table.forward(&mut mask);
    let mut product = vec![0; n];
    factors
        .iter()
        .map(|factor| {
            // Step 1: the mask of the product, by the NTT.
            table.sum_of_products(&mut product, &[(&mask, &factor.ntt)]);
            table.inverse(&mut product);
            // Step 2: coefficient 0 of the body, as an inner product.
            let b = coefficient_zero(x.b(), &factor.coefficients).rem_euclid(q0.value() as i128);
            let mut out =
                Ciphertext::new(*q0, b as u64, coefficient_mask(q0, &product, 0).collect())?;
            // Step 3: add the subtracted mean.
            out.add_constant(factor.offset);
            Ok(out)
        })
        .collect()
}

/// Coefficient 0 of `b w`: `b_0 w_0 - sum_(j >= 1) b_(N-j) w_j`. No overflow: at most `2^30` terms
/// below `2^45 2^45` each.
fn coefficient_zero(b: &[u64], w: &[i64]) -> i128 {
    let term = |(&b, &w): (&u64, &i64)| b as i128 * w as i128;
    let rest: i128 = b[1..].iter().rev().zip(&w[1..]).map(term).sum();
    term((&b[0], &w[0])) - rest
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::encoding::Headroom;
    use crate::encrypt::phase;
    use crate::error::refusal;
    use crate::params::tests::*;
    use crate::testing::{Count, Setup};

    type F = fn(f64) -> f64;
    const FUNCTIONS: [F; 5] =
        [|v| v, |v| 1.0 / (1.0 + (-v).exp()), |v| v.max(0.0) - 7.0, |v| v.cos(), |_| 2.5];

    fn tables<'f>(functions: &'f [F], room: Headroom) -> Vec<EncodedFunction<'f>> {
        functions.iter().map(|f| EncodedFunction::new(f, OutputEncoding::Fit(room))).collect()
    }

    /// The results against the entries at the true indices, which follow from the secret. The noise
    /// of each function agrees with the prediction, bounded from both sides.
    #[test]
    fn noise_is_as_predicted_and_all_see_the_same_index() {
        let ntru = insecure_ntru(32, 256, crate::engine::NtruRotation::Ternary);
        for spec in [insecure(32, 256, false), insecure(32, 256, true), ntru] {
            let mut s = Setup::new(spec);
            let repeated = !s.params.one_rotation_for_several();
            let encoding = s.fit(-4.0..=4.0, 1e6, Headroom::TABLE);
            let inputs: Vec<f64> = (0..160).map(|i| -4.0 + f64::from(i) / 20.0).collect();
            let x = s.encrypt(&inputs, -4.0..=4.0, encoding);
            let evaluator = s.evaluator();
            let indices = s.indices(&evaluator.exponents(x.centred().items()).unwrap());
            let domain = evaluator.table_domain(&x).unwrap();
            let tables = tables(&FUNCTIONS, Headroom { terms: 2, levels: 0 });
            let out = evaluator.maps(&x, &tables).unwrap();
            assert_eq!(out.len(), FUNCTIONS.len());
            for (i, (f, out)) in FUNCTIONS.iter().zip(&out).enumerate() {
                let got = out.decrypt(&s.ring).unwrap();
                let errors = got.iter().zip(&indices).map(|(y, &k)| y - f(domain.argument(k)));
                let measured = errors.map(|e| e * e).sum::<f64>() / got.len() as f64;
                let ratio = measured / out.meta().noise.predicted.powi(2);
                // Where a function is constant, its rounding is not uniform. A constant function
                // has only an offset, and its table is 0.
                let steep = i == 0 || i == 3 || repeated;
                let expected = match i {
                    4 => 0.0..1e-6,
                    _ if steep => 0.7..1.4,
                    _ => 0.4..1.6,
                };
                assert!(expected.contains(&ratio), "{repeated} {i} {ratio}");
            }
            // The index error is far larger, and the same in all functions.
            let deviation = |y: &LweVec| 6.0 * y.meta().noise.predicted;
            assert!(evaluator.index_std(&x) > 10.0 * out[0].meta().noise.predicted);
            let pairs = out[0].decrypt(&s.ring).unwrap().into_iter();
            for (id, cosine) in pairs.zip(out[3].decrypt(&s.ring).unwrap()) {
                let slack = deviation(&out[0]) + deviation(&out[3]);
                assert!((id.cos() - cosine).abs() < slack, "{id} {cosine}");
            }
        }
    }

    #[test]
    fn one_rotation_serves_all_where_the_gadget_allows() {
        for (digits, look_ups) in [(false, 3), (true, 6)] {
            let mut s = Setup::new(insecure(8, 64, digits));
            let encoding = s.fit(-1.0..=1.0, 1e6, Headroom::TABLE);
            let x = s.encrypt(&[0.0; 3], -1.0..=1.0, encoding);
            let told = Count::default();
            let watch = |done, total| told.tell(done, total);
            let evaluator = s.evaluator().observed(&watch);
            let tables = tables(&FUNCTIONS[..2], Headroom::TABLE);
            evaluator.maps(&x, &tables).unwrap();
            assert_eq!(told.told(), (look_ups, look_ups));
            assert_eq!(evaluator.maps(&x, &tables[..1]).unwrap().len(), 1);
            assert!(
                refusal(&evaluator.maps(&x, &[])).is(&ErrorKind::Length, "0 look-up tables for")
            );
        }
    }

    /// At the real sizes the quantisation of smooth functions has at least 17 bits, the noise of
    /// the identity is below 2^-18.5 of the width of the domain, and the unit minimises the noise.
    #[test]
    fn the_unit_balances_quantisation_and_noise() {
        let params = Params::new(real(false)).unwrap();
        let q0 = params.ring_modulus().value() as f64;
        // The identity from -q0 / 4 to q0 / 4.
        let step = q0 / 2.0 / 4096.0;
        let steps2 = 4095.0 * step * step;
        let unit = noise::multi_value_unit(&params, steps2);
        assert!(q0 / 2.0 / unit > 2f64.powi(17), "{}", (q0 / 2.0 / unit).log2());
        let of = |unit: f64| noise::multi_value(&params, steps2 / (unit * unit), unit);
        assert!(of(unit).sqrt() < q0 / 2.0 * 2f64.powf(-18.5), "{}", of(unit).sqrt().log2());
        assert!(of(unit) < of(1.1 * unit) && of(unit) < of(unit / 1.1));
    }

    /// The real sizes: identity and sigmoid at the same index.
    #[test]
    fn two_functions_at_real_sizes() {
        let mut s = Setup::new(real(false));
        let encoding = s.fit(-8.0..=8.0, 1e6, Headroom::TABLE);
        let x = s.encrypt(&[-8.0, -3.0, 0.0, 0.7, 8.0], -8.0..=8.0, encoding);
        let evaluator = s.evaluator();
        let out = evaluator.maps(&x, &tables(&FUNCTIONS[..2], Headroom::TABLE)).unwrap();
        let (id, sigmoid) = (out[0].decrypt(&s.ring).unwrap(), out[1].decrypt(&s.ring).unwrap());
        let deviation = out[0].meta().noise.predicted;
        assert!(deviation < 16.0 * 2f64.powf(-18.5), "{}", (deviation / 16.0).log2());
        let index = 6.0 * evaluator.index_std(&x);
        for ((id, sigmoid), x) in id.iter().zip(&sigmoid).zip(x.decrypt(&s.ring).unwrap()) {
            assert!((id - x).abs() < index + 6.0 * deviation, "{id} {x}");
            let slack = 6.0 * (out[1].meta().noise.predicted + deviation / 4.0);
            assert!((FUNCTIONS[1](*id) - sigmoid).abs() < slack, "{id} {sigmoid}");
        }
    }

    /// The product with a factor is the function's own test polynomial, up to the quantisation.
    #[test]
    fn factors_rebuild_their_tables() {
        let params = Params::new(insecure(8, 64, false)).unwrap();
        let q0 = params.ring_modulus();
        let domain = TableDomain::fit(-2.0, 1.0, 64, 3).unwrap();
        let samples = Samples::new(domain, |v| v * v * v).unwrap();
        let encoding = Encoding::new(-1.0, 40.0).unwrap();
        let table = samples.table(&params, &encoding).unwrap();
        let function = Function { samples, encoding, steps2: 0.0 };
        let unit = 2f64.powi(20);
        let factor = Factor::new(&params, &function, unit);
        let common = common_factor(&params, domain, 1 << 19).unwrap();
        let key = crate::secret::SecretKey::generate_ring(
            &params,
            &mut <rand_chacha::ChaCha20Rng as rand::SeedableRng>::seed_from_u64(1),
        );
        let key = key.unwrap();
        for k in -32..32i64 {
            let rotated = common.rotated(k.rem_euclid(128) as usize);
            let x = Accumulator::new(*q0, &rotated, &[0; 64]);
            let out = products(&params, &x, std::slice::from_ref(&factor)).unwrap();
            let error = phase(&out[0], &key).unwrap() - table.entry(k);
            assert!(error.unsigned_abs() <= 1 << 19, "{k}: {error}");
        }
    }
}
