//! Table look-up on [`LweVec`]: programmable bootstrapping of every value, with input and output
//! under the ring secret.

use std::ops::RangeInclusive;

use bellerophon_mlwe::{self as mlwe, KeyId};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{During, Result, try_map};

use crate::ciphertext::Ciphertext;
use crate::encoding::{Encoding, OutputEncoding};
use crate::external_product::Accumulator;
use crate::lwe_vec::{Deviation, LweMeta, LweVec};
use crate::modulus_switching::{Mod2NCiphertext, switch_modulus};
use crate::pbs::Evaluator;
use crate::progress::LookupProgress;
use crate::tabulate::Samples;
use crate::test_polynomial::{TableDomain, TestPolynomial};
use crate::{blind_rotate, error, noise};

impl Evaluator<'_> {
    /// `f` of every value, by one programmable bootstrapping (PBS) each.
    ///
    /// The steps are: modulus switch `q0 -> q`, key switch `n' -> n`, modulus switch to `2N`, blind
    /// rotation, sample extraction. `f` is called only on the tracked range of the values. The
    /// result is `f` at an argument whose error has the standard deviation
    /// [`index_std`](Self::index_std), plus the noise of the blind rotation. The metadata of the
    /// result has both: the effect of the argument error where `f` is steepest
    /// ([`LweMeta::index`](crate::LweMeta::index)), and the noise
    /// ([`LweMeta::noise`](crate::LweMeta::noise)).
    ///
    /// # Errors
    /// [`ErrorKind::Range`] if the range with its guard band does not fit the table, or the results
    /// do not fit a given encoding; [`ErrorKind::NotFinite`] if `f` is not finite somewhere in the
    /// range. Both are returned before any look-up.
    pub fn map(
        &self,
        values: &LweVec,
        f: impl Fn(f64) -> f64,
        output: OutputEncoding,
    ) -> Result<LweVec> {
        let run = |work: &mut _| self.map_in(work, values, &[&f], output);
        self.with_progress(values.len(), run).during("map")
    }

    /// The standard deviation of the argument error of a look-up on these values, in units of the
    /// values. It includes their own predicted error, both modulus switches and the key switch.
    pub fn index_std(&self, values: &LweVec) -> f64 {
        self.argument_error(values, values.variance().sqrt())
    }

    /// As [`index_std`](Self::index_std), for the noise of the phase alone, without the index
    /// errors of earlier tables: as predicted, and a bound.
    pub fn noise_std(&self, values: &LweVec) -> Deviation {
        values.meta().noise.map(|own| self.argument_error(values, own))
    }

    /// The argument error of a look-up on values whose own error has the deviation `own`.
    fn argument_error(&self, values: &LweVec, own: f64) -> f64 {
        let index = noise::expected_index_error(self.params, values.in_phase(own));
        index.sqrt() * self.step(&values.meta().encoding)
    }

    /// The step of a table for values of an encoding.
    pub(crate) fn step(&self, encoding: &Encoding) -> f64 {
        encoding.width() / (2 * self.params.spec().ring_degree) as f64
    }

    /// Applies one function to each value, with a common output encoding. It serves, for example,
    /// the leaves of a decision tree, whose results are then added.
    pub fn map_each(
        &self,
        values: &LweVec,
        functions: &[&dyn Fn(f64) -> f64],
        output: OutputEncoding,
    ) -> Result<LweVec> {
        if functions.len() != values.len() {
            return Err(error::table_count(functions.len(), values.len()));
        }
        let run = |work: &mut _| self.map_in(work, values, functions, output);
        self.with_progress(values.len(), run).during("map_each")
    }

    /// [`map`](Self::map) or [`map_each`](Self::map_each) within a longer operation. `functions`
    /// holds one function for all values, one for each value, or one for each of several equal
    /// blocks.
    pub(crate) fn map_in(
        &self,
        work: &mut LookupProgress<'_>,
        values: &LweVec,
        functions: &[&dyn Fn(f64) -> f64],
        output: OutputEncoding,
    ) -> Result<LweVec> {
        // Step 1: tabulate the functions on the tracked range.
        let domain = self.table_domain(values)?;
        let samples: Result<Vec<_>> = functions.iter().map(|f| Samples::new(domain, f)).collect();
        let samples = samples?;
        // Step 2: the output encoding, from the range of the functions and the noise of a look-up.
        let range = Samples::range(&samples);
        let variance = noise::look_up(self.params);
        let encoding = output.resolve(self.params, &range, variance, self.log2_failure)?;
        // Step 3: test polynomials and programmable bootstrapping.
        let tables: Result<Vec<_>> =
            samples.iter().map(|samples| samples.table(self.params, &encoding)).collect();
        let items = self.look_up_values(work, values, &tables?)?;
        // Step 4: the metadata of the results.
        let index = Samples::error(&samples, self.index_cells(values));
        self.results(items, encoding, range, variance, index, values.meta().key)
    }

    /// Two standard deviations in cells of the table: of the index error, including the noise of
    /// the values, and of what errors of the values from earlier tables add to it. First as
    /// predicted, then bounds.
    pub(crate) fn index_cells(&self, values: &LweVec) -> [[f64; 2]; 2] {
        let cells = |v: f64| v / self.step(&values.meta().encoding);
        let Deviation { predicted, bound } = self.noise_std(values);
        let [expected, most] = values.meta().beyond_noise();
        [[predicted, expected.sqrt()], [bound, most.sqrt()]].map(|pair| pair.map(cells))
    }

    /// Fails unless the values belong to the client of the look-up keys.
    pub(crate) fn check_key(&self, values: &LweVec) -> Result<()> {
        let (found, needed) = (values.meta().key, self.keys.key);
        if found == needed { Ok(()) } else { Err(mlwe::error::key_mismatch(found, needed)) }
    }

    /// The table domain for the range of the values. Fails unless the key matches and the range
    /// fits the table with its guard band.
    pub(crate) fn table_domain(&self, values: &LweVec) -> Result<TableDomain> {
        self.check_key(values)?;
        // The guard band covers the largest secrets and shared noise.
        let degree = self.params.spec().ring_degree;
        let index = noise::largest_index_error(self.params, values.largest_phase_variance());
        let guard = noise::guard(index, self.log2_failure);
        let (lo, hi, width) = (values.meta().lo, values.meta().hi, values.meta().encoding.width());
        let step = self.step(&values.meta().encoding);
        TableDomain::with_step(lo, hi, values.middle(), step, degree, guard).map_err(|_| {
            let available = ((degree / 2) as f64 - guard as f64).max(0.0);
            let needed = (hi - lo) * degree as f64 / available;
            error::too_wide_for_table(lo, hi, guard, needed, width)
        })
    }

    /// Applies one test polynomial to each block of values. Input and output have dimension `n'`
    /// and modulus `q0`.
    fn look_up_values(
        &self,
        work: &mut LookupProgress<'_>,
        values: &LweVec,
        tables: &[TestPolynomial],
    ) -> Result<Vec<Ciphertext>> {
        // Value i belongs to block i / block, and uses its test polynomial.
        let mut items = Vec::with_capacity(values.len());
        debug_assert!(values.len().is_multiple_of(tables.len()));
        let block = values.len() / tables.len();
        self.in_batches(values, 1, |start, exponents| {
            let own = start..start + exponents.len();
            let tables: Vec<_> = own.map(|i| &tables[i / block]).collect();
            let rotated = self.blind_rotate(work, exponents, &tables)?;
            items.extend(try_map(&rotated, |accumulator| accumulator.sample_extract(0))?);
            Ok(())
        })?;
        Ok(items)
    }

    /// Converts the values to exponents batch by batch, and calls `look_up` with the position of
    /// the first value of the batch and the exponents. Each value costs `rotations` blind
    /// rotations.
    pub(crate) fn in_batches(
        &self,
        values: &LweVec,
        rotations: usize,
        mut look_up: impl FnMut(usize, &[Mod2NCiphertext]) -> Result<()>,
    ) -> Result<()> {
        // The middle of the range becomes index 0, as the table domain expects.
        let centred = values.centred();
        let size = (blind_rotate::batch() / rotations).max(1);
        for (i, batch) in centred.items().chunks(size).enumerate() {
            look_up(i * size, &self.exponents(batch)?)?;
        }
        Ok(())
    }

    /// Blind rotation by the exponents, of one test polynomial for all or one for each. Every
    /// completed group is reported.
    pub(crate) fn blind_rotate(
        &self,
        work: &LookupProgress<'_>,
        exponents: &[Mod2NCiphertext],
        tables: &[&TestPolynomial],
    ) -> Result<Vec<Accumulator>> {
        let (params, key) = (self.params, &self.keys.rotation);
        blind_rotate::blind_rotate_groups(params, exponents, tables, key, |count| {
            work.advance(count)
        })
    }

    /// Converts ciphertexts of dimension `n'` modulo `q0` to the exponents of a blind rotation.
    pub(crate) fn exponents(&self, items: &[Ciphertext]) -> Result<Vec<Mod2NCiphertext>> {
        try_map(items, |item| {
            // Modulus switch q0 -> q, key switch n' -> n, modulus switch q -> 2N.
            let switched = switch_modulus(item, self.params.modulus());
            let switched = self.keys.switch.apply(self.params, &switched)?;
            self.params.exponents(&switched)
        })
    }

    /// The results of a look-up with their metadata: the variance of the noise in squared units of
    /// the phase, and the index error in units of the result.
    pub(crate) fn results(
        &self,
        items: Vec<Ciphertext>,
        encoding: Encoding,
        range: RangeInclusive<f64>,
        phase_variance: f64,
        index: Deviation,
        key: KeyId,
    ) -> Result<LweVec> {
        let unit = encoding.width() / self.params.ring_modulus().value() as f64;
        let noise = Deviation::of_variance(phase_variance * unit * unit);
        let (lo, hi) = range.into_inner();
        LweVec::from_parts(self.params, items, LweMeta { encoding, lo, hi, noise, index, key })
    }
}

#[cfg(test)]
mod tests {
    use std::{
        cell::Cell,
        ops::ControlFlow,
        sync::{
            Mutex,
            atomic::{AtomicUsize, Ordering},
        },
    };

    use bellerophon_mlwe::SecretKind;
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::encoding::Headroom;
    use crate::engine::NtruRotation;
    use crate::error::refusal;
    use crate::multi_value::EncodedFunction;
    use crate::params::ParamsSpec;
    use crate::params::tests::{insecure, insecure_ntru};
    use crate::testing::Setup;

    /// The look-up of a linear function shows the index error itself. Its standard deviation agrees
    /// with the prediction, bounded from both sides.
    #[test]
    fn index_errors_are_as_predicted() {
        let [ternary, any] = [NtruRotation::Ternary, NtruRotation::Any { window: 16 }]
            .map(|rotation| insecure_ntru(64, 256, rotation));
        let wide = ParamsSpec {
            secret: SecretKind::Bounded(2),
            ..insecure_ntru(32, 1024, NtruRotation::Any { window: 16 })
        };
        for spec in [insecure(64, 256, false), insecure(64, 256, true), ternary, any, wide] {
            let mut s = Setup::new(spec);
            let inputs: Vec<f64> = (0..400).map(|i| -2.0 + f64::from(i) / 100.0).collect();
            // Noise of one and a half steps enters with the values.
            let encoding = s.fit(-2.0..=2.0, 1e22, Headroom::TABLE);
            let x = s.encrypt_with(&inputs, -2.0..=2.0, encoding, 1e11);
            let evaluator = s.evaluator();
            let out = evaluator.map(&x, |v| 3.0 * v, OutputEncoding::Fit(Headroom::TABLE)).unwrap();
            assert_eq!((out.meta().lo, out.meta().hi, out.len()), (-6.0, 6.0, 400));
            let errors: Vec<f64> = (out.decrypt(&s.ring).unwrap().iter().zip(&inputs))
                .map(|(y, v)| y / 3.0 - v)
                .collect();
            let measured = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
            let index = evaluator.index_std(&x).powi(2);
            assert!((out.meta().index.predicted.powi(2) / (9.0 * index) - 1.0).abs() < 0.05);
            let ratio = measured / (out.variance() / 9.0);
            assert!((0.75..1.33).contains(&ratio), "{:?}: {ratio}", s.params.spec().engine);
        }
    }

    /// Index errors of a value that is added to itself are equal. A table of the sum counts them
    /// so.
    #[test]
    fn shared_index_errors_are_predicted() {
        let mut s = Setup::new(insecure(64, 1024, true));
        let encoding = s.fit(-1.0..=1.0, 1e6, Headroom::TABLE);
        let x = s.encrypt(&[0.0; 400], -1.0..=1.0, encoding);
        let evaluator = s.evaluator();
        let ratio = |x: &LweVec| {
            let found = x.decrypt(&s.ring).unwrap();
            found.iter().map(|v| v * v).sum::<f64>() / found.len() as f64 / x.variance()
        };
        let room = OutputEncoding::Fit(Headroom { terms: 16, levels: 0 });
        let mut y = evaluator.map(&x, |v| f64::from(u8::from(v > 0.0)), room).unwrap();
        assert!((0.8..1.2).contains(&ratio(&y)), "{}", ratio(&y));
        for doublings in 1..=4 {
            y = y.add(&y).unwrap();
            assert!((0.8..1.2).contains(&ratio(&y)), "{doublings}: {}", ratio(&y));
            assert!(y.meta().index.bound >= y.meta().index.predicted);
        }
        // The identity passes them on, with an index error of its own.
        let same = evaluator.map(&y, |v| v, OutputEncoding::Fit(Headroom::TABLE)).unwrap();
        assert!((0.8..1.2).contains(&ratio(&same)), "{}", ratio(&same));
    }

    #[test]
    fn tables_chain_and_results_of_different_tables_add() {
        let mut s = Setup::new(insecure(64, 1024, true));
        let inputs = [-4.0, -1.0, 0.0, 2.5, 4.0];
        let encoding = s.fit(-4.0..=4.0, 1e12, Headroom::TABLE);
        let x = s.encrypt(&inputs, -4.0..=4.0, encoding);
        let evaluator = s.evaluator();
        let relu = evaluator.map(
            &x,
            |v| v.max(0.0),
            OutputEncoding::Fit(Headroom { terms: 2, levels: 0 }),
        );
        let relu = relu.unwrap();
        let width = OutputEncoding::Encoding(relu.meta().encoding);
        let sine = evaluator.map(&x, f64::sin, width).unwrap();
        assert_eq!(sine.meta().encoding.width(), relu.meta().encoding.width());
        let sum = relu.add(&sine).unwrap();
        let root = evaluator
            .map(&sum, |v| v.max(0.0).sqrt(), OutputEncoding::Fit(Headroom::TABLE))
            .unwrap();
        let slack = 6.0 * (2.0 * evaluator.index_std(&x) + evaluator.index_std(&sum));
        for (got, v) in root.decrypt(&s.ring).unwrap().iter().zip(inputs) {
            let exact: f64 = v.max(0.0) + v.sin();
            let (lo, hi) = ((exact - slack).max(0.0).sqrt(), (exact + slack).max(0.0).sqrt());
            assert!((lo - 0.01..=hi + 0.01).contains(got), "{v}: {got} {lo} {hi}");
        }
    }

    #[test]
    fn functions_are_called_on_the_carried_range_only() {
        let mut s = Setup::new(insecure(8, 64, false));
        let encoding = s.fit(0.5..=3.0, 1.0, Headroom::TABLE);
        let x = s.encrypt(&[0.5, 3.0], 0.5..=3.0, encoding);
        let evaluator = s.evaluator();
        let (least, most) = (Cell::new(f64::INFINITY), Cell::new(0.0f64));
        let watched = |v: f64| {
            least.set(least.get().min(v));
            most.set(most.get().max(v));
            v.ln()
        };
        let out = evaluator.map(&x, watched, OutputEncoding::Fit(Headroom::TABLE)).unwrap();
        assert_eq!((least.get(), most.get()), (0.5, 3.0));
        assert_eq!((out.meta().lo, out.meta().hi), (0.5f64.ln(), 3f64.ln()));
        let error = evaluator
            .map(&x, |v| (v - 1.0).ln(), OutputEncoding::Fit(Headroom::TABLE))
            .unwrap_err();
        assert!(error.is(&ErrorKind::NotFinite, "the function is not finite at 0.5, which is"));
        let narrow = OutputEncoding::Encoding(Encoding::new(0.0, 1.0).unwrap());
        assert!(
            refusal(&evaluator.map(&x, |v| v, narrow))
                .is(&ErrorKind::Range, "encode the inputs with headroom for more")
        );
        let wide = x.add(&x).unwrap();
        let error = evaluator.map(&wide, |v| v, OutputEncoding::Fit(Headroom::TABLE)).unwrap_err();
        assert!(
            error.op() == "map"
                && error.is(&ErrorKind::Range, "encode the inputs with headroom for more"),
            "{error}"
        );
    }

    /// The guard band is necessary: values at the ends of the range stay at their end, and without
    /// headroom for it they are rejected.
    #[test]
    fn the_ends_of_the_range_do_not_wrap() {
        let [ternary, any] = [NtruRotation::Ternary, NtruRotation::Any { window: 16 }]
            .map(|rotation| insecure_ntru(64, 256, rotation));
        for spec in [insecure(64, 256, false), ternary, any] {
            let mut s = Setup::new(spec);
            let encoding = s.fit(-1.0..=1.0, 1e6, Headroom::TABLE);
            let ends: Vec<f64> = (0..200).map(|i| if i % 2 == 0 { -1.0 } else { 1.0 }).collect();
            let x = s.encrypt(&ends, -1.0..=1.0, encoding);
            let evaluator = s.evaluator();
            let out = evaluator.map(&x, f64::signum, OutputEncoding::Fit(Headroom::TABLE)).unwrap();
            for (got, end) in out.decrypt(&s.ring).unwrap().iter().zip(&ends) {
                assert!((got - end).abs() < 1e-3, "{got} {end}");
            }
            let bare = Encoding::new(0.0, 4.0).unwrap();
            let x = s.encrypt(&ends, -1.0..=1.0, bare);
            let error = s
                .evaluator()
                .map(&x, f64::signum, OutputEncoding::Fit(Headroom::TABLE))
                .unwrap_err();
            assert!(error.is(&ErrorKind::Range, "encode the inputs with headroom for more"));
            // A larger failure probability needs a smaller guard band.
            let encoding =
                Encoding::fit(&s.params, -1.0, 1.0, 1e6, Headroom::TABLE, -10.0).unwrap();
            let x = s.encrypt(&ends, -1.0..=1.0, encoding);
            assert!(
                s.evaluator().map(&x, f64::signum, OutputEncoding::Fit(Headroom::TABLE)).is_err()
            );
            let lax = s.evaluator().with_failure(-10.0).unwrap();
            lax.map(&x.select(&[0]).unwrap(), f64::signum, OutputEncoding::Fit(Headroom::TABLE))
                .unwrap();
        }
    }

    #[test]
    fn values_of_another_client_are_refused() {
        let mut s = Setup::new(insecure(8, 256, false));
        let encoding = s.fit(0.0..=1.0, 1e6, Headroom::comparators(2));
        s.key.0 += 1;
        let x = s.encrypt(&[0.5, 1.0], 0.0..=1.0, encoding);
        let (evaluator, output) = (s.evaluator(), OutputEncoding::Fit(Headroom::TABLE));
        let lanes = x.singles();
        let identity = |v: f64| v;
        let refused = [
            evaluator.map(&x, identity, output).unwrap_err(),
            evaluator
                .maps(
                    &x,
                    &[
                        EncodedFunction::new(&identity, output),
                        EncodedFunction::new(&f64::sin, output),
                    ],
                )
                .unwrap_err(),
            evaluator.max(&[x.clone(), x.clone()]).unwrap_err(),
            evaluator.sort(&x, bellerophon_ring::SortOrder::Ascending).unwrap_err(),
            evaluator.arg_max(&lanes, Headroom::TABLE).unwrap_err(),
            evaluator.arg_max(&lanes[..1], Headroom::TABLE).unwrap_err(),
        ];
        for error in refused {
            assert!(
                error.is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or"),
                "{error}"
            );
        }
        for failure in [f64::NAN, 0.0, 3.0, f64::INFINITY, f64::NEG_INFINITY] {
            let error = evaluator.with_failure(failure).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Argument), "{error}");
        }
    }

    /// Encodings that cannot hold the results are rejected before the first look-up.
    #[test]
    fn too_narrow_encodings_are_refused_before_work() {
        for digits in [false, true] {
            let mut s = Setup::new(insecure(8, 256, digits));
            let encoding = s.fit(0.0..=1.0, 1e6, Headroom::TABLE);
            let x = s.encrypt(&[0.5; 3], 0.0..=1.0, encoding);
            let done = AtomicUsize::new(0);
            let watch = |now: usize, _: usize| {
                done.fetch_max(now, Ordering::Relaxed);
                ControlFlow::Continue(())
            };
            let evaluator = s.evaluator().observed(&watch);
            let identity = |v: f64| v;
            for width in [0.9, 1e-30] {
                let narrow = OutputEncoding::Encoding(Encoding::new(0.0, width).unwrap());
                let wide = OutputEncoding::Fit(Headroom::TABLE);
                let error = evaluator.map(&x, identity, narrow).unwrap_err();
                assert!(
                    error.is(&ErrorKind::Range, "encode the inputs with headroom for more"),
                    "{error}"
                );
                let error = evaluator.maps(
                    &x,
                    &[
                        EncodedFunction::new(&f64::sin, wide),
                        EncodedFunction::new(&identity, narrow),
                    ],
                );
                assert!(
                    refusal(&error)
                        .is(&ErrorKind::Range, "encode the inputs with headroom for more"),
                    "{error:?}"
                );
            }
            assert_eq!(done.load(Ordering::Relaxed), 0);
        }
    }

    /// With an encoding that is fitted to a number of terms their sum fits a table, even if they
    /// share noise. With one that is fitted to comparators the difference of their results fits a
    /// table.
    #[test]
    fn fitted_encodings_are_accepted() {
        // The noise of a look-up is several steps.
        let noisy = crate::params::ParamsSpec { ring_sigma: 2048.0, ..insecure(8, 1024, true) };
        let mut s = Setup::new(noisy);
        let encoding = s.fit(0.0..=1.0, 1e6, Headroom::TABLE);
        let x = s.encrypt(&[0.5], 0.0..=1.0, encoding);
        let evaluator = s.evaluator();
        for terms in [1, 2, 5] {
            let output = OutputEncoding::Fit(Headroom { terms, levels: 0 });
            let y = evaluator.map(&x, |v| v, output).unwrap();
            let sum = (1..terms).fold(y.clone(), |sum, _| sum.add(&y).unwrap());
            evaluator.map(&sum, |v| v, OutputEncoding::Fit(Headroom::TABLE)).unwrap();
        }
        for levels in [1, 6, 21] {
            let mut best = evaluator
                .map(&x, |v| v, OutputEncoding::Fit(Headroom::comparators(levels)))
                .unwrap();
            for _ in 0..levels {
                let (min, max) = evaluator.min_max(&best, &best).unwrap();
                assert!(max.meta().noise.bound > best.meta().noise.bound);
                best = if levels == 1 { max } else { min };
            }
            evaluator.abs(&best.sub(&best).unwrap(), OutputEncoding::Fit(Headroom::TABLE)).unwrap();
        }
    }

    /// A report at the beginning and after every group of at most 16 look-ups, in order. The first
    /// cancels as well as any other, and the evaluator then works as before.
    #[test]
    fn observers_see_every_group_and_can_stop_it() {
        let mut s = Setup::new(insecure(8, 64, true));
        let encoding = s.fit(-1.0..=1.0, 1e6, Headroom::TABLE);
        let x = s.encrypt(&[0.0; 300], -1.0..=1.0, encoding);
        let output = OutputEncoding::Fit(Headroom::TABLE);
        let reports = Mutex::new(vec![]);
        let watch = |done: usize, total: usize| {
            reports.lock().unwrap().push((done, total));
            ControlFlow::Continue(())
        };
        let watched = s.evaluator().observed(&watch);
        let expected = watched.map(&x, |v| v, output).unwrap();
        let all = std::mem::take(&mut *reports.lock().unwrap());
        assert_eq!((all[0], all[all.len() - 1]), ((0, 300), (300, 300)));
        let steps = all.windows(2).map(|pair| pair[1].0 - pair[0].0);
        assert!(steps.into_iter().all(|step| (1..=16).contains(&step)), "{all:?}");
        for stop in [0, 1, 5] {
            let calls = AtomicUsize::new(0);
            let at = |_: usize, _: usize| match calls.fetch_add(1, Ordering::Relaxed) == stop {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            };
            let stopping = s.evaluator().observed(&at);
            let error = stopping.map(&x, |v| v, output).unwrap_err();
            assert_eq!(error.op(), "map");
            let &ErrorKind::Cancelled { done, total: 300, .. } = error.kind() else {
                panic!("{error}")
            };
            assert!(done.div_ceil(16) <= stop && done >= stop, "{stop}: {done}");
            assert_eq!(calls.load(Ordering::Relaxed), stop + 1, "nothing is told after Break");
            // The observer continues from now on.
            assert_eq!(stopping.map(&x, |v| v, output).unwrap(), expected);
        }
    }

    /// An observer may itself look up on the same threads.
    #[test]
    fn observers_can_compute() {
        let mut s = Setup::new(insecure(8, 64, true));
        let encoding = s.fit(-1.0..=1.0, 1e6, Headroom::TABLE);
        let x = s.encrypt(&[0.25; 100], -1.0..=1.0, encoding);
        let (plain, output) = (s.evaluator(), OutputEncoding::Fit(Headroom::TABLE));
        let expected = plain.map(&x, |v| v, output).unwrap();
        let watch = |_: usize, _: usize| match plain.map(&x, |v| v, output) {
            Ok(y) if y == expected => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        };
        assert_eq!(plain.observed(&watch).map(&x, |v| v, output).unwrap(), expected);
    }
}
