//! Look-ups to a requested accuracy: the error meets the request and the prediction, and impossible
//! requests are refused.

use crate::common::{cases, encrypt, params_of, refusal};
use bellerophon::prelude::*;
use bellerophon::{Bridge, Engine, ErrorKind, Prediction};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

struct World {
    client: ClientKey,
    server: Evaluator,
    rng: ChaCha20Rng,
}

fn world(preset: Preset, needs: &Needs) -> World {
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let params = params_of(preset);
    let client = ClientKey::generate_with(&params, &mut rng).unwrap();
    let keys = client.evaluation_keys_with(needs, &mut rng).unwrap();
    assert_eq!(keys.byte_len(), params.evaluation_key_bytes(needs).unwrap());
    let server = Evaluator::new(keys).unwrap();
    World { client, server, rng }
}

impl World {
    /// Mean and largest error, in units of `max(1, max |f|)`, with the plan.
    fn errors(
        &mut self,
        f: fn(f64) -> f64,
        (lo, hi): (f64, f64),
        bits: f64,
        (count, level): (usize, Option<usize>),
    ) -> (f64, f64, Prediction) {
        let inputs: Vec<f64> = (0..count).map(|_| self.rng.random_range(lo..hi)).collect();
        let x = encrypt(&self.client, &inputs, lo..=hi);
        let x = level.map_or(x.clone(), |level| self.server.drop_to_level(&x, level).unwrap());
        let scale = (0..=1000).map(|i| f(lo + (hi - lo) * f64::from(i) / 1000.0).abs());
        let scale = scale.fold(1.0, f64::max);
        let accuracy = Accuracy::absolute(scale * (-bits).exp2());
        let request = MapRequest::new(f).over(lo..=hi).typical(accuracy);
        let plan = planned(self.client.params(), &request.clone().level(x.level()));
        let y = self.server.map_with(&x, &request).unwrap();
        let found = self.client.decrypt(&y).unwrap();
        let errors: Vec<f64> = found.iter().zip(&inputs).map(|(y, &x)| (y - f(x)).abs()).collect();
        let mean = errors.iter().sum::<f64>() / count as f64;
        let worst = errors.iter().copied().fold(0.0, f64::max);
        // The range is that of the exact values.
        let least = found.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(y.range().lo() - 9.0 * y.metadata().noise() <= least);
        assert_eq!((y.level(), y.meta().slots), (plan.output_level, x.meta().slots));
        let anew = self.server.map_plan(&x, &request).unwrap();
        assert_eq!(anew.prediction().unwrap().output_level, plan.output_level);
        if plan.order > Some(0) {
            // Negligible beside the request: the metadata have nothing of other blocks.
            let noise = y.metadata().noise() / scale;
            assert!((2f64.powi(-40)..2f64.powf(-bits - 1.0)).contains(&noise), "{noise} {mean}");
        }
        (mean / scale, worst / scale, plan)
    }
}

/// The prediction for the tables of a request.
fn planned(params: &Params, request: &MapRequest<'_>) -> Prediction {
    params.map_plan(request).unwrap().prediction().unwrap().clone()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Toy dimensions: what a correction gains is the same, but tables are coarse.
#[test]
fn corrections_take_the_index_error_away() {
    let mut w =
        world(Preset::Insecure(Toy::Functions), &Needs::new().map_with([Engine::Corrected]));
    let (mean, worst, plan) = w.errors(f64::tanh, (-4.0, 4.0), 9.0, (256, None));
    assert!(plan.order > Some(0) && worst < 2f64.powi(-9), "{worst} {plan:?}");
    let ratio = mean / plan.accuracy.as_ref().unwrap().mean_abs;
    assert!((0.4..1.6).contains(&ratio), "measured / predicted = {ratio}");
    // An operand without levels is packed beside the tables, as its plan states.
    let (mean, worst, raised) = w.errors(f64::tanh, (-4.0, 4.0), 9.0, (256, Some(2)));
    assert!(worst < 2f64.powi(-9), "{worst}");
    assert_ne!(raised.accuracy, plan.accuracy);
    let ratio = mean / raised.accuracy.unwrap().mean_abs;
    assert!((0.4..1.6).contains(&ratio), "raised: measured / predicted = {ratio}");
    // By its derivatives, to the accuracy that was planned for them.
    let slope = |x: f64| 1.0 - x.tanh().powi(2);
    let bend = |x: f64| -2.0 * x.tanh() * slope(x);
    let derivatives: [&dyn Fn(f64) -> f64; 2] = [&slope, &bend];
    let inputs: Vec<f64> = (0..256).map(|_| w.rng.random_range(-4.0..4.0)).collect();
    let x = encrypt(&w.client, &inputs, -4.0..=4.0);
    for level in [x.level(), 2] {
        let x = w.server.drop_to_level(&x, level).unwrap();
        let tanh = MapRequest::new(f64::tanh)
            .over(-4.0..=4.0)
            .derivatives(&derivatives)
            .typical(Accuracy::bits(9.0));
        let plan = planned(w.client.params(), &tanh.clone().level(level));
        assert!((Some(1)..=Some(2)).contains(&plan.order));
        let y = w.server.map_with(&x, &tanh).unwrap();
        let found = w.client.decrypt(&y).unwrap();
        let errors: Vec<f64> =
            found.iter().zip(&inputs).map(|(y, x)| (y - x.tanh()).abs()).collect();
        let mean = errors.iter().sum::<f64>() / 256.0;
        assert!(errors.iter().all(|&e| e < 2f64.powi(-9)));
        let ratio = mean / plan.accuracy.unwrap().mean_abs;
        assert!((0.4..1.6).contains(&ratio), "level {level}: measured / predicted = {ratio}");
    }
    let tanh = MapRequest::new(f64::tanh).over(-4.0..=4.0);
    let one = tanh.clone().derivatives(&derivatives[..1]).typical(Accuracy::bits(14.0)).level(9);
    let refused = w.client.params().map_plan(&one);
    assert!(matches!(refusal(&refused).kind(), ErrorKind::Accuracy { .. }), "{refused:?}");
    let pole: [&dyn Fn(f64) -> f64; 1] = [&|_| f64::INFINITY];
    let refused =
        w.server.map_with(&x, &tanh.derivatives(&pole).typical(Accuracy::bits(9.0))).unwrap_err();
    assert!(
        refused.is(&ErrorKind::NotFinite, "which is in the range of the values: define"),
        "{refused}"
    );
    // What a plain table does well enough takes one.
    let (_, worst, plan) = w.errors(sigmoid, (-4.0, 4.0), 4.0, (64, None));
    assert!(plan.order == Some(0) && worst < 2f64.powi(-4), "{worst} {plan:?}");
}

/// On NTRU one rotation for each table, all of one index: as exact, with the keys of plain tables.
#[test]
fn corrections_work_on_ntru() {
    for engines in cases([vec![Engine::Ntru], vec![Engine::Corrected, Engine::Ntru]], 1) {
        let mut w = world(Preset::Insecure(Toy::Functions), &Needs::new().map_with(engines));
        assert_eq!(w.server.engine(), Some(Engine::Ntru));
        let (mean, worst, _) = w.errors(f64::tanh, (-4.0, 4.0), 9.0, (256, None));
        let params = w.client.params();
        let tanh = MapRequest::new(f64::tanh)
            .over(-4.0..=4.0)
            .typical(Accuracy::bits(9.0))
            .engines([Engine::Ntru]);
        let plan = planned(params, &tanh);
        assert!(plan.order > Some(0) && worst < 2f64.powi(-9), "{worst} {plan:?}");
        let ratio = mean / plan.accuracy.unwrap().mean_abs;
        assert!((0.4..1.6).contains(&ratio), "measured / predicted = {ratio}");
    }
}

/// A range that is known to be narrower than the domain, and a length that is padded: neither
/// spoils the plan, and nothing is said of the padding that is not so.
#[test]
fn narrow_ranges_and_padding_are_no_harm() {
    let w = world(
        Preset::Insecure(Toy::Functions),
        &Needs::new().map_with([Engine::Corrected]).rotate([1]),
    );
    let inputs = [1.5, 2.0, 1.0];
    let x = encrypt(&w.client, &inputs, 1.0..=2.0);
    for level in [x.level(), 2] {
        let x = w.server.drop_to_level(&x, level).unwrap();
        let sqrt = MapRequest::new(f64::sqrt).over(0.25..=8.0);
        // Bits of the largest value.
        let of_largest = |bits: f64| Accuracy::absolute(2f64.sqrt() * (-bits).exp2());
        let y = w.server.map_with(&x, &sqrt.clone().typical(of_largest(8.5))).unwrap();
        let found = w.client.decrypt(&y).unwrap();
        for (y, x) in found.iter().zip(inputs) {
            assert!((y - x.sqrt()).abs() < 2f64.powi(-8), "{y} {x}");
        }
        let rotated = w.server.rotate(&y, 1).unwrap();
        let last = w.client.decrypt(&rotated).unwrap()[2];
        let range = rotated.range();
        assert!(last.abs() < 1e-5 && range.lo() <= 0.0, "level {level}: {last} {range:?}");
        // The range makes a function as good as its largest value there.
        let order = |bits| {
            let plan = w.server.map_plan(&x, &sqrt.clone().typical(of_largest(bits))).unwrap();
            plan.prediction().unwrap().order
        };
        assert!(order(8.5) > Some(0) && order(2.0) == Some(0));
    }
}

impl World {
    /// The largest error of a look-up, by a plan that is prepared and by none, which give the same.
    fn worst(
        &self,
        x: &Ciphertext,
        inputs: &[f64],
        range: std::ops::RangeInclusive<f64>,
        bits: f64,
    ) -> f64 {
        let (middle, half) =
            (f64::midpoint(*range.start(), *range.end()), range.end() - range.start());
        let f = |v: f64| (3.0 * (v - middle) / half).tanh();
        let request = MapRequest::new(f).over(range).typical(Accuracy::bits(bits));
        let plan = self.server.map_plan(x, &request).unwrap();
        assert!(plan.prediction().unwrap().order > Some(0));
        let y = self.server.map_with(x, &request.clone().planned(&plan)).unwrap();
        assert_eq!(y, self.server.map_with(x, &request).unwrap());
        let y = self.client.decrypt(&y).unwrap();
        assert_eq!(y.len(), inputs.len());
        y.iter().zip(inputs).map(|(y, &v)| (y - f(v)).abs()).fold(0.0, f64::max)
    }

    /// A look-up of so many values in so many slots.
    fn looks_up(&self, count: usize, slots: usize) {
        let inputs: Vec<f64> = (0..count).map(|i| f64::from(i as u32 % 97) / 97.0 - 0.5).collect();
        let mut all = inputs.clone();
        all.resize(slots, 0.25);
        let x = encrypt(&self.client, &all, -0.5..=0.5);
        let x = self.server.with_len(x, count).unwrap();
        let worst = self.worst(&x, &inputs, -0.5..=0.5, 9.0);
        assert!(worst < 2f64.powi(-9), "{count} in {slots}: {worst}");
    }
}

/// Vectors with more slots than values, and unusual scales and amplitudes.
#[test]
fn operands_of_all_shapes() {
    let w = world(Preset::Insecure(Toy::Functions), &Needs::new().map_with([Engine::Corrected]));
    w.looks_up(3, 16);
    w.looks_up(1, 1);
    // A narrow domain, a wide one, and a scale of its own with levels to spare and without.
    for width in [2f64.powi(-4), 300.0] {
        let inputs = [-0.5, 0.0, 0.3, 0.5].map(|v| v * width);
        let x = encrypt(&w.client, &inputs, -width / 2.0..=width / 2.0);
        for level in [x.level(), 5, 2] {
            let x = w.server.drop_to_level(&x, level).unwrap();
            let worst = w.worst(&x, &inputs, -width / 2.0..=width / 2.0, 9.0);
            assert!(worst < 2f64.powi(-9), "width {width}, level {level}: {worst}");
        }
    }
    let inputs = [-0.5, 0.0, 0.3, 0.5];
    let x = encrypt(&w.client, &inputs.map(|v| v * 8.0), -4.0..=4.0);
    let x = w.server.reinterpret_scale(x, 0.125).unwrap();
    for level in [x.level(), 5] {
        let x = w.server.drop_to_level(&x, level).unwrap();
        let worst = w.worst(&x, &inputs, -0.5..=0.5, 9.0);
        assert!(worst < 2f64.powi(-9), "level {level}: {worst}");
    }
}

/// Vectors with so many values that no two tables fit one vector.
#[cfg(feature = "long-tests")]
#[test]
fn many_values_are_corrected() {
    let w = world(Preset::Insecure(Toy::Functions), &Needs::new().map_with([Engine::Corrected]));
    let slots = w.client.params().slots();
    w.looks_up(slots / 2 + 1, slots);
    w.looks_up(slots, slots);
}

#[test]
fn what_cannot_be_had_is_refused() {
    let w = world(Preset::Insecure(Toy::Functions), &Needs::new().map_with([Engine::Corrected]));
    let x = w.client.encrypt(&[0.5], -4.0..=4.0).unwrap();
    let error = w
        .server
        .map_with(&x, &MapRequest::new(|x| x.max(0.0)).typical(Accuracy::bits(20.0)))
        .unwrap_err();
    let ErrorKind::Accuracy { log2_reached: Some(reached) } = error.kind() else {
        panic!("{error}")
    };
    assert!((-12.0..0.0).contains(reached), "{error}");
    let plain = world(Preset::Insecure(Toy::Functions), &Needs::new().map_with([Engine::Rgsw]));
    let x = plain.client.encrypt(&[0.5], -4.0..=4.0).unwrap();
    let tanh = MapRequest::new(f64::tanh).over(-4.0..=4.0).typical(Accuracy::bits(9.0));
    let error = plain.server.map_with(&x, &tanh).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::MissingKey { .. }), "{error}");
    assert!(error.to_string().contains("`Needs::map_with([Engine::Corrected])`"), "{error}");
    // The linear bridge is too noisy for corrections.
    let linear = w.server.map_with(&x, &tanh.clone().bridge(Bridge::Linear)).unwrap_err();
    assert!(matches!(linear.kind(), ErrorKind::Request), "{linear}");
    let linear = w.client.params().map_plan(&tanh.clone().bridge(Bridge::Linear)).unwrap_err();
    assert!(matches!(linear.kind(), ErrorKind::Request), "{linear}");
    // Too few levels for the correction.
    let low = w.server.drop_to_level(&w.client.encrypt(&[0.5], -4.0..=4.0).unwrap(), 1).unwrap();
    assert!(w.server.map_with(&low, &tanh).is_err());
    let plan = |level| w.client.params().map_plan(&tanh.clone().level(level));
    let refused = plan(1).unwrap_err();
    assert_eq!(refused.op(), "map_plan");
    let ErrorKind::OutOfLevels { needed: 2, left: 1 } = refused.kind() else {
        panic!("{refused}");
    };
    let refused = plan(w.client.params().levels() + 1).unwrap_err();
    assert!(refused.is(&ErrorKind::Level, "choose a lower level, or take parameters"), "{refused}");
}

/// Twelve bits in the worst value, at 128 bits of security, where a plain table gives three to six.
#[cfg(feature = "long-tests")]
#[test]
fn twelve_bits_at_real_sizes() {
    let mut w = world(Preset::Functions, &Needs::new().map_with([Engine::Corrected]));
    type Case = (&'static str, fn(f64) -> f64, f64, Option<usize>);
    let cases: [Case; 5] = [
        ("sigmoid", sigmoid, 8.0, None),
        ("tanh", f64::tanh, 8.0, None),
        ("exp", f64::exp, 4.0, None),
        ("sin", f64::sin, 8.0, None),
        ("tanh, raised", f64::tanh, 8.0, Some(2)),
    ];
    for (name, f, end, level) in cases {
        let (mean, worst, _) = w.errors(f, (-end, end), 12.0, (48, level));
        assert!(worst < 2f64.powi(-12) && mean < 2f64.powi(-14), "{name}: {worst} {mean}");
    }
}
