//! Logistic regression on one ciphertext against the same procedure on `f64`.

use crate::common::{World, max_error, refusal};
use bellerophon_circuits::learning::{
    LogisticRegression, LogisticSpec, accuracy, area_under_curve,
};
use bellerophon_ckks::{
    ErrorKind, KeyLevels, LevelGroup, ModulusChain, Params, ParamsSpec, Security,
};

/// A toy chain with levels for training and inference.
fn params(levels: usize) -> Params {
    let chain = ModulusChain {
        degree: 1 << 10,
        first_bits: 55,
        levels: vec![LevelGroup::single(40, levels)],
        special: (50, 2),
    };
    Params::new(ParamsSpec::from_chain(&chain, 40, Security::Insecure).unwrap()).unwrap()
}

/// Rows in `[-1, 1]` and labels that follow a plane, with some noise.
fn table(world: &World, rows: usize, features: usize) -> (Vec<Vec<f64>>, Vec<bool>) {
    let x: Vec<Vec<f64>> = (0..rows).map(|_| world.reals(features)).collect();
    let labels = x
        .iter()
        .zip(world.reals(rows))
        .map(|(row, noise)| row[0] - 0.5 * row[1] + 0.3 * noise + 0.1 > 0.0)
        .collect();
    (x, labels)
}

/// A weight in all slots of its block, and zeros in the blocks without one.
fn in_blocks(regression: &LogisticRegression, weights: &[f64]) -> Vec<f64> {
    let block = block(regression);
    let mut slots = vec![0.0; regression.slots()];
    for (slots, weight) in slots.chunks_mut(block).zip(weights) {
        slots.fill(*weight);
    }
    slots
}

/// The scores of some rows in every block, and zeros for the rows that there are not.
fn in_every_block(regression: &LogisticRegression, scores: &[f64]) -> Vec<f64> {
    let mut block = vec![0.0; block(regression)];
    block[..scores.len()].copy_from_slice(scores);
    block.repeat(regression.slots() / block.len())
}

/// Slots of a feature.
fn block(regression: &LogisticRegression) -> usize {
    regression.spec().rows.next_power_of_two()
}

#[test]
fn training_follows_the_clear_procedure() {
    // Rows and features that are no powers of two, and that are.
    for (rows, features, iterations, degree) in
        [(37, 5, 4, 3), (16, 3, 2, 5), (29, 2, 3, 7), (9, 6, 1, 3), (1, 1, 2, 3)]
    {
        let spec = LogisticSpec { iterations, degree, ..LogisticSpec::new(rows, features) };
        let regression = LogisticRegression::new(spec).unwrap();
        let left = LogisticRegression::SCORE_LEVELS + regression.probability_levels();
        let level = regression.levels() + left;
        let params = params(level);
        let keys = regression.training_keys(level).and(&regression.inference_keys(left));
        let world = World::of(params, keys, 1);
        let eval = world.evaluator();
        let (x, labels) = table(&world, rows, features.max(2));
        let x: Vec<Vec<f64>> = x.into_iter().map(|row| row[..features].to_vec()).collect();

        let packed = regression.pack_training(&x, &labels).unwrap();
        let mut seen = vec![];
        let table = world.encrypt_span(&packed);
        let model = regression.train(&eval, &table, |t| seen.push(t)).unwrap();
        assert_eq!(seen, (1..=iterations).collect::<Vec<_>>());
        assert_eq!(model.level(), left, "the levels that were stated");
        let expected = regression.train_clear(&x, &labels).unwrap();
        world.check(&model, &in_blocks(&regression, &expected));
        let found = regression.weights(&world.decrypt(&model)).unwrap();
        assert!(found.iter().any(|w| w.abs() > 0.1), "{found:?}");

        // Inference under the encrypted model, on fewer rows than the block holds.
        let some = &x[..rows.div_ceil(2)];
        let score = |row: &Vec<f64>| {
            expected[0] + row.iter().zip(&expected[1..]).map(|(x, w)| x * w).sum::<f64>()
        };
        let scores = in_every_block(&regression, &some.iter().map(score).collect::<Vec<_>>());
        let fresh = world.encrypt_span_at(&regression.pack(some).unwrap(), left);
        let encrypted = regression.scores(&eval, &model, &fresh).unwrap();
        world.check(&encrypted, &scores);
        let probabilities = regression.probabilities(&eval, &encrypted).unwrap();
        assert_eq!(probabilities.level(), 0);
        let expected: Vec<f64> = scores.iter().map(|&s| regression.sigmoid().eval(s)).collect();
        // Errors of the weights may be related, and count as amplitudes.
        let (noise, found) = (probabilities.metadata().noise(), world.decrypt(&probabilities));
        assert!(noise < 1e-4 && max_error(&found, &expected) <= 16.0 * noise, "{noise:e}");
        let (lo, hi) = (probabilities.range().lo(), probabilities.range().hi());
        assert!(expected.iter().all(|&p| lo - 1e-9 <= p && p <= hi + 1e-9), "[{lo}, {hi}]");
    }
}

#[test]
fn models_tell_the_classes_apart() {
    let world = World::of(params(1), KeyLevels::default(), 3);
    let (x, labels) = table(&world, 200, 4);
    let spec = LogisticSpec { iterations: 10, degree: 7, ..LogisticSpec::new(200, 4) };
    let weights = LogisticRegression::new(spec).unwrap().train_clear(&x, &labels).unwrap();
    let score = |row: &Vec<f64>| weights[0] + (0..4).map(|f| row[f] * weights[f + 1]).sum::<f64>();
    let scores: Vec<f64> = x.iter().map(score).collect();
    assert!(accuracy(&scores, &labels) > 0.85);
    assert!(area_under_curve(&scores, &labels) > 0.93);
}

#[test]
fn what_cannot_be_trained_is_refused() {
    let new = |change: fn(&mut LogisticSpec)| {
        let mut spec = LogisticSpec::new(8, 3);
        change(&mut spec);
        LogisticRegression::new(spec)
    };
    let regression = new(|_| {}).unwrap();
    for wrong in [
        new(|s| s.rows = 0),
        new(|s| s.rows = usize::MAX),
        new(|s| s.features = 0),
        new(|s| s.iterations = 0),
        new(|s| s.degree = 4),
        new(|s| s.rate = f64::NAN),
        new(|s| s.bound = -1.0),
    ] {
        assert!(matches!(refusal(&wrong).kind(), ErrorKind::Shape));
    }
    let rows = vec![vec![0.5; 3]; 8];
    assert!(regression.pack_training(&rows, &[true; 7]).is_err());
    assert!(regression.pack_training(&vec![rows[0].clone(); 9], &[true; 9]).is_err());
    assert!(regression.pack_training(&[], &[]).is_err());
    assert!(regression.pack(&vec![vec![0.5; 2]; 8]).is_err());
    assert!(regression.pack(&[]).is_err());
    assert!(regression.weights(&[0.0; 3]).is_err());

    let world = World::of(params(2), regression.training_keys(2), 4);
    let eval = world.evaluator();
    let table = world.encrypt_span(&regression.pack_training(&rows, &[true; 8]).unwrap());
    let error = regression.train(&eval, &table, |_| {}).unwrap_err();
    assert!(
        error.is(
            &ErrorKind::OutOfLevels { needed: 17, left: 2 },
            "needs 17 level(s), 2 left: encrypt at a"
        ),
        "{error}"
    );
    let short = world.encrypt_span(&[0.5; 16]);
    let error = regression.train(&eval, &short, |_| {}).unwrap_err();
    assert!(error.is(&ErrorKind::Shape, "16 slots: need"), "{error}");
    // Without its keys the training names itself and the step.
    let bare = World::of(params(17), KeyLevels::default().multiply(17), 4);
    let table = bare.encrypt_span(&regression.pack(&rows).unwrap());
    let error = regression.train(&bare.evaluator(), &table, |_| {}).unwrap_err();
    assert_eq!(error.op(), "train a logistic regression");
    assert!(error.is(&ErrorKind::MissingKey { need: "rotate" }, "rotation of"), "{error}");
}

/// Rows far outside `[-1, 1]` make large weights, and the model's range says so.
#[test]
fn models_of_large_features_stay_in_their_range() {
    let spec = LogisticSpec { iterations: 2, bound: 1e6, ..LogisticSpec::new(4, 1) };
    let regression = LogisticRegression::new(spec).unwrap();
    let level = regression.levels();
    let world = World::of(params(level), regression.training_keys(level), 5);
    let rows = [vec![100.0], vec![-100.0], vec![100.0], vec![-100.0]];
    let labels = [true, false, true, false];
    let table = world.encrypt_span(&regression.pack_training(&rows, &labels).unwrap());
    let model = regression.train(&world.evaluator(), &table, |_| {}).unwrap();
    let clear = regression.train_clear(&rows, &labels).unwrap();
    assert!(clear[1] > 100.0, "{clear:?}");
    world.check(&model, &in_blocks(&regression, &clear));
}

#[test]
fn tables_that_cannot_be_are_refused() {
    for (rows, features) in [(4, usize::MAX), (1 << 40, 1 << 40)] {
        let refused = LogisticRegression::new(LogisticSpec::new(rows, features));
        assert!(matches!(refusal(&refused).kind(), ErrorKind::Shape));
    }
    let wide = LogisticRegression::new(LogisticSpec::new(16, 1 << 58)).unwrap();
    assert!(matches!(refusal(&wide.pack(&[vec![1.0]])).kind(), ErrorKind::Shape));
    let endless = LogisticSpec { iterations: usize::MAX, ..LogisticSpec::new(4, 2) };
    assert_eq!(LogisticRegression::new(endless).unwrap().levels(), usize::MAX);
}
