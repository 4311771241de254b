//! Repacking on ciphertexts: every shape, every error, noise from both sides.

use bellerophon_circuits::eval_mod::{Mod1, Mod1Output, Mod1Spec};
use bellerophon_ckks::{
    Ciphertext, Encoder, EvaluationKeys, Evaluator, Interval, KeyLevels, LevelGroup, ModulusChain,
    Params, ParamsSpec, SecretKey, SecretKind, Security, decrypt, decrypt_values, encrypt,
};
use bellerophon_lwe as lwe;
use bellerophon_ring::{ErrorKind, Modulus, prime, refusal};
use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha20Rng;

use crate::linear_bridge::{
    layout::Layout,
    linear_repack::{partial_decryption, repack},
    noise,
    repack_key::{RepackKey, SeededRepackKey, rotation_steps},
    tall_diagonals::{RowMajor, Tiling},
    transform::linear_transform,
};

/// One owner's keys over an insecure set, and an LWE secret with its repacking key.
struct World {
    params: Params,
    secret: SecretKey,
    keys: EvaluationKeys,
    lwe: lwe::SecretKey,
    repack: RepackKey,
    /// `K + 1/2`: phases have no more multiples of `q` but with negligible probability.
    multiples: f64,
    rng: ChaCha20Rng,
}

impl World {
    fn new(degree: usize, levels: usize, n: usize, baby: usize) -> Self {
        let chain = ModulusChain {
            degree,
            first_bits: 45,
            levels: vec![LevelGroup::single(44, levels)],
            special: (50, 2),
        };
        Self::over(&chain, Security::Insecure, 16, n, baby)
    }

    fn over(
        chain: &ModulusChain,
        security: Security,
        weight: usize,
        n: usize,
        baby: usize,
    ) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        let spec = ParamsSpec::from_chain(chain, 44, security).unwrap();
        let params = Params::new(spec).unwrap();
        let secret = SecretKey::generate(params.lattice(), &mut rng).unwrap();
        let steps = rotation_steps(n, baby).unwrap();
        let spec = KeyLevels::default().rotate(steps, params.max_level());
        let keys = EvaluationKeys::generate(&params, &secret, &spec, &mut rng).unwrap();
        let lwe = lwe::SecretKey::generate(n, SecretKind::Sparse(weight), &mut rng).unwrap();
        let seeded = SeededRepackKey::generate(
            &params,
            lwe.coefficients(),
            &secret,
            baby,
            params.limbs(),
            &mut rng,
        );
        let repack = seeded.unwrap().expand(&params).unwrap();
        let multiples = 7.0 * ((weight + 1) as f64 / 12.0).sqrt() + 0.5;
        Self { params, secret, keys, lwe, repack, multiples, rng }
    }

    fn evaluator(&self) -> Evaluator {
        Evaluator::new(&self.params, &self.keys).unwrap()
    }

    /// Uniform phases modulo `q`, encrypted with noise of width 3.2.
    fn values(&mut self, q: Modulus, count: usize) -> Vec<lwe::Ciphertext> {
        let half = q.value() as i64 / 2;
        (0..count)
            .map(|_| {
                let phase = self.rng.random_range(-half..=half);
                lwe::encrypt(&q, &self.lwe, phase, 3.2, &mut self.rng).unwrap()
            })
            .collect()
    }

    /// `(b + <a, s>) / q` over the integers.
    fn exact(&self, values: &[lwe::Ciphertext]) -> Vec<f64> {
        let sum = |value: &lwe::Ciphertext| -> f64 {
            let q = value.modulus();
            let product = |(&a, &s): (&u64, &i64)| (q.center(a) * s) as i128;
            let sum = value.a().iter().zip(self.lwe.coefficients()).map(product).sum::<i128>();
            (sum + q.center(value.b()) as i128) as f64 / q.value() as f64
        };
        values.iter().map(sum).collect()
    }

    fn decrypted(&self, ct: &Ciphertext) -> Vec<f64> {
        let plain = decrypt(&self.params, ct, &self.secret).unwrap();
        let slots = Encoder::new(&self.params).decode_slots(&plain).unwrap();
        slots.iter().map(|z| z.re).collect()
    }

    /// Standard deviation of the real part of each slot of the ring.
    fn slot_std(&self, variance: f64, scale: f64) -> f64 {
        bellerophon_ckks::noise::slot_std(variance, self.params.max_slots(), scale, true)
    }

    /// Root of the mean square, and largest, error of all slots of the ring, not just those of one
    /// period.
    fn error(&self, ct: &Ciphertext, expected: &[f64]) -> (f64, f64) {
        let (inner, meta) = ct.clone().into_parts();
        let slots = self.params.max_slots();
        let meta = bellerophon_ckks::CiphertextMeta { slots, len: slots, ..meta };
        let whole = Ciphertext::from_parts(&self.params, inner, meta).unwrap();
        let errors: Vec<f64> = self
            .decrypted(&whole)
            .iter()
            .enumerate()
            .map(|(i, x)| x - expected[i % expected.len()])
            .collect();
        let mean_square = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
        (mean_square.sqrt(), errors.iter().fold(0.0, |m: f64, e| m.max(e.abs())))
    }
}

fn prime_of(bits: u32) -> Modulus {
    prime::ntt_primes_below(1024, bits, 1, &[]).unwrap()[0]
}

/// Repeats `count` values under a layout and compares every slot with the exact sums.
fn check_repacking(world: &mut World, q: Modulus, layout: &Layout, level: usize) -> f64 {
    let values = world.values(q, layout.rows());
    // At level 0 the range needs room: 2^44 * 1 is half of the modulus.
    let range = if level == 0 { 0.25 } else { 1.0 };
    let factor = range / world.multiples;
    let ct = partial_decryption(
        &world.evaluator(),
        &world.repack,
        &values,
        layout,
        factor,
        world.multiples,
        level,
    )
    .unwrap();
    assert_eq!((ct.meta().slots, ct.level()), (layout.slots(), level));
    assert_eq!(ct.len(), if layout.is_prefix() { layout.rows() } else { layout.slots() });
    assert!((ct.range().bound() - range).abs() < 1e-12);
    let exact: Vec<f64> = world.exact(&values).iter().map(|x| x * factor).collect();
    assert!(exact.iter().all(|x| x.abs() < 1.0));
    let (deviation, largest) = world.error(&ct, &layout.place(&exact));
    // From both sides, by the estimate that the ciphertext carries and by the closed formula.
    let columns = world.repack.babies()[0].meta().slots;
    let tiling = Tiling::new(layout.slots(), columns, world.repack.baby_steps()).unwrap();
    let row =
        noise::mask_row_square(world.repack.dimension(), factor, layout.rows(), layout.slots());
    let input = world.repack.babies()[0].meta();
    let variance = noise::linear_transform(&world.params, &tiling, row, input, level).total;
    let (rows, slots) = (layout.rows(), layout.slots());
    for predicted in [ct.meta().noise.total, variance] {
        let ratio = deviation / world.slot_std(predicted, ct.meta().scale);
        assert!((0.7..1.2).contains(&ratio), "{rows} in {slots} at {level}: {ratio}");
    }
    let formula = world.slot_std(variance, ct.meta().scale);
    // Rescaling errs by a product with the secret in each slot, hence the long tail.
    assert!(largest < 12.0 * formula, "{rows} in {slots} at {level}: {largest:e}");
    largest
}

#[test]
fn every_number_of_values_is_repacked() {
    let n = 64;
    let mut world = World::new(1024, 3, n, 8);
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    for count in [1, 2, 3, 5, 8, 9, n / 2, n - 1, n, n + 1, 150, 4 * n - 1, 4 * n, 511, 512] {
        let q = if count % 2 == 0 { prime_of(28) } else { prime_of(45) };
        check_repacking(&mut world, q, &Layout::in_order(count).unwrap(), 1);
        let slots = (2 * count).next_power_of_two().min(512);
        let mut positions: Vec<usize> = (0..slots).collect();
        positions.shuffle(&mut rng);
        positions.truncate(count);
        check_repacking(&mut world, q, &Layout::new(slots, &positions).unwrap(), 1);
    }
}

#[test]
fn every_level_and_every_number_of_baby_steps() {
    for baby in [1, 2, 16, 32] {
        let mut world = World::new(256, 3, 32, baby);
        for level in 0..=2 {
            for count in [1, 17, 128] {
                let layout = Layout::in_order(count).unwrap();
                check_repacking(&mut world, prime_of(28), &layout, level);
            }
        }
    }
}

/// A dimension that is no power of two has columns to spare.
#[test]
fn any_dimension_will_do() {
    let mut world = World::new(512, 2, 100, 16);
    for count in [1, 99, 100, 101, 256] {
        let layout = Layout::in_order(count).unwrap();
        check_repacking(&mut world, prime_of(28), &layout, 1);
    }
}

/// The general form: any real matrix, any encrypted vector, baby steps by hoisted rotations of it.
#[test]
fn rotations_of_any_input_serve_as_baby_steps() {
    let (degree, n, baby) = (512, 32, 8);
    let mut world = World::new(degree, 3, n, baby);
    let steps = (1..baby as i64).chain(rotation_steps(n, baby).unwrap());
    let spec = KeyLevels::default().rotate(steps, world.params.max_level());
    world.keys =
        EvaluationKeys::generate(&world.params, &world.secret, &spec, &mut world.rng).unwrap();
    let z: Vec<f64> = (0..n).map(|_| world.rng.random_range(-2.0..2.0)).collect();
    let encoder = Encoder::new(&world.params);
    let plain =
        encoder.encode(&z, Interval::real(-2.0, 2.0).unwrap(), world.params.scale(), 4).unwrap();
    let input = encrypt(&world.params, &plain, &world.secret, &mut world.rng).unwrap();
    let key = RepackKey::from_rotations(&world.evaluator(), &input, n, baby).unwrap();
    assert_eq!((key.dimension(), key.baby_steps(), key.limbs()), (n, baby, 4));
    // With large entries the noise of the input dominates, with small ones that of rescaling.
    let sizes = [1, 7, 32, 33, 200].into_iter().flat_map(|rows| [(rows, 1.0), (rows, 300.0)]);
    for (rows, size) in sizes {
        let entries: Vec<f64> =
            (0..rows * n).map(|_| world.rng.random_range(-size..size)).collect();
        let offsets: Vec<f64> = (0..rows).map(|_| world.rng.random_range(-5.0..5.0)).collect();
        let matrix = RowMajor::new(n, &entries).unwrap();
        let layout = Layout::in_order(rows).unwrap();
        let evaluator = world.evaluator();
        let ct = linear_transform(&evaluator, key.babies(), &matrix, &offsets, &layout, 2).unwrap();
        let product = |row: &[f64]| row.iter().zip(&z).map(|(m, z)| m * z).sum::<f64>();
        let expected: Vec<f64> =
            entries.chunks(n).zip(&offsets).map(|(row, t)| product(row) + t).collect();
        let (deviation, largest) = world.error(&ct, &layout.place(&expected));
        let predicted = world.slot_std(ct.meta().noise.total, ct.meta().scale);
        let ratio = deviation / predicted;
        assert!((0.7..1.2).contains(&ratio), "{rows} of {size}: {ratio}");
        assert!(largest < 12.0 * predicted);
        let values: Vec<f64> = decrypt_values(&world.params, &ct, &world.secret).unwrap();
        assert_eq!(values.len(), rows);
        assert!(values.iter().all(|&x| ct.range().lo() <= x && x <= ct.range().hi()));
    }
}

#[test]
fn keys_travel_as_seeds_and_bodies() {
    let mut world = World::new(256, 3, 32, 4);
    let generate = |baby, limbs, rng: &mut ChaCha20Rng| {
        let lwe = world.lwe.coefficients();
        SeededRepackKey::generate(&world.params, lwe, &world.secret, baby, limbs, rng)
    };
    let seeded = generate(4, 3, &mut world.rng.clone()).unwrap();
    assert_eq!(seeded, generate(4, 3, &mut world.rng).unwrap());
    let stored = SeededRepackKey::from_parts(32, seeded.babies().to_vec()).unwrap();
    assert_eq!(stored, seeded);
    let key = seeded.expand(&world.params).unwrap();
    assert_eq!((key.limbs(), key.baby_steps(), key.secret_id()), (3, 4, world.secret.id()));
    assert_eq!(key.memory_len(), 4 * 2 * 3 * 256 * 8);
    let bits: u32 = (0..3).map(|i| world.params.lattice().q().modulus(i).bits()).sum();
    assert_eq!(seeded.byte_len(&world.params), 4 * (32 + 256 * bits as usize / 8));
    // Baby step g holds the secret rotated by g.
    for (g, ct) in key.babies().iter().enumerate() {
        let slots = world.decrypted(ct);
        for (r, x) in slots.iter().enumerate() {
            let s = world.lwe.coefficients()[(r + g) % 32] as f64;
            assert!((x - s).abs() < 1e-8, "rotation {g}, slot {r}");
        }
    }
    assert!(matches!(refusal(&generate(3, 3, &mut world.rng)).kind(), ErrorKind::Shape));
    assert!(refusal(&generate(64, 3, &mut world.rng)).is(&ErrorKind::Shape, "is 64"));
    assert_eq!(*refusal(&generate(4, 9, &mut world.rng)).kind(), ErrorKind::Level);
    assert!(SeededRepackKey::from_parts(33, seeded.babies().to_vec()).is_err());
    assert!(SeededRepackKey::from_parts(32, seeded.babies()[..3].to_vec()).is_err());
    for bad in [vec![], vec![2; 4], vec![1; 129]] {
        let rng = &mut world.rng;
        let refused = SeededRepackKey::generate(&world.params, &bad, &world.secret, 1, 2, rng);
        assert!(refused.is_err());
    }
}

#[test]
fn the_stated_rotation_keys_suffice_and_are_needed() {
    assert_eq!(rotation_steps(1024, 32).unwrap(), [32, 64, 128, 256, 512]);
    assert_eq!(rotation_steps(100, 32).unwrap(), [32, 64]);
    assert!(rotation_steps(64, 64).unwrap().is_empty());
    assert!(rotation_steps(64, 3).is_err());
    let mut world = World::new(256, 2, 32, 4);
    world.keys = EvaluationKeys::none(&world.params, world.secret.id());
    let values = world.values(prime_of(28), 8);
    let layout = Layout::in_order(8).unwrap();
    let refused =
        partial_decryption(&world.evaluator(), &world.repack, &values, &layout, 1.0, 8.0, 1);
    let missing = bellerophon_ckks::error::missing_rotation_key(4, 32, vec![]);
    let refused = refusal(&refused);
    assert_eq!((refused.kind(), refused.message()), (missing.kind(), missing.message()));
}

#[test]
fn operands_that_do_not_fit_are_named() {
    let mut world = World::new(256, 2, 32, 4);
    let values = world.values(prime_of(28), 5);
    let layout = Layout::in_order(5).unwrap();
    let call = |values: &[lwe::Ciphertext], layout: &Layout, factor, level| {
        let evaluator = world.evaluator();
        partial_decryption(&evaluator, &world.repack, values, layout, factor, 8.0, level)
    };
    assert!(call(&values, &layout, 1.0, 1).is_ok());
    assert!(
        refusal(&call(&[], &layout, 1.0, 1))
            .is(&ErrorKind::Length, "no rows: at least one is needed")
    );
    assert!(matches!(refusal(&call(&values[1..], &layout, 1.0, 1)).kind(), ErrorKind::Shape));
    let wide = Layout::new(256, &[0, 1, 2, 3, 4]).unwrap();
    assert!(refusal(&call(&values, &wide, 1.0, 1)).is(&ErrorKind::Shape, "is 256"));
    for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(
            refusal(&call(&values, &layout, factor, 1))
                .is(&ErrorKind::Argument, "is not supported: need")
        );
    }
    let refused = call(&values, &layout, 1.0, 2);
    assert!(refusal(&refused).is(
        &ErrorKind::Level,
        "at level 2 needs a repacking key of 4 limbs, this one has 3: ask for a lower level or"
    ));
    let q = *values[0].modulus();
    let mut mixed = values.clone();
    mixed[2] = lwe::Ciphertext::trivial(q, 31, 0);
    assert!(refusal(&call(&mixed, &layout, 1.0, 1)).is(&ErrorKind::Shape, "is 31"));
    mixed[2] = lwe::Ciphertext::trivial(prime_of(45), 32, 0);
    assert!(
        refusal(&call(&mixed, &layout, 1.0, 1)).is(&ErrorKind::Argument, "is not supported: need")
    );
    let large = vec![lwe::Ciphertext::trivial(prime_of(60), 32, 0); 5];
    assert!(
        refusal(&call(&large, &layout, 1.0, 1)).is(&ErrorKind::Argument, "is not supported: need")
    );
    // A range that does not fit the modulus of the result.
    assert_eq!(*refusal(&call(&values, &layout, 8.0, 0)).kind(), ErrorKind::Range);
}

/// At the size of the presets: `N = 2^15`, `n = 1024`, at least 128 bits, up to a full vector.
#[test]
fn full_vectors_at_full_size() {
    let chain = ModulusChain {
        degree: 1 << 15,
        first_bits: 45,
        levels: vec![LevelGroup::single(44, 4)],
        special: (50, 3),
    };
    let mut world = World::over(&chain, Security::Bits128, 192, 1024, 32);
    for count in [1000, 1 << 14] {
        check_repacking(&mut world, prime_of(28), &Layout::in_order(count).unwrap(), 1);
    }
}

/// From LWE values to their sines under CKKS, at two levels and amplitudes.
#[test]
fn values_come_back_reduced() {
    let n = 64;
    let mut world = World::new(1024, 11, n, 8);
    let spec = Mod1Spec {
        weight: 16,
        log2_failure: -40.0,
        log2_error: -30.0,
        arcsine: None,
        spare: 0,
        early_bits: [0; 2],
    };
    let reduction = Mod1::new(&spec).unwrap();
    let steps = rotation_steps(n, 8).unwrap();
    let top = world.params.max_level();
    let keys = KeyLevels::default().rotate(steps, top).and(&reduction.keys(top));
    world.keys =
        EvaluationKeys::generate(&world.params, &world.secret, &keys, &mut world.rng).unwrap();
    let deepest = top - 1 - reduction.depth();
    for (count, level, amplitude) in [(1, deepest, 1.0), (100, 1, 8.0), (512, deepest, 0.5)] {
        let q = prime_of(28);
        let values = world.values(q, count);
        let layout = Layout::in_order(count).unwrap();
        let output = Mod1Output { amplitude, scale: world.params.scale() };
        let evaluator = world.evaluator();
        let ct =
            repack(&evaluator, &world.repack, &values, &layout, &reduction, output, level).unwrap();
        assert_eq!((ct.len(), ct.level(), ct.meta().scale), (count, level, world.params.scale()));
        let sine = |value: &lwe::Ciphertext| {
            let phase = lwe::phase(value, &world.lwe).unwrap() as f64;
            amplitude * (std::f64::consts::TAU * phase / q.value() as f64).sin()
        };
        let expected: Vec<f64> = values.iter().map(sine).collect();
        let (deviation, largest) = world.error(&ct, &layout.place(&expected));
        let predicted = world.slot_std(ct.meta().noise.total, ct.meta().scale);
        let ratio = deviation / predicted;
        assert!((0.3..2.0).contains(&ratio), "{count} at {level}: {ratio}");
        assert!(largest < 20.0 * predicted + amplitude * reduction.approximation_error());
    }
    let values = world.values(prime_of(28), 2);
    let refused = repack(
        &world.evaluator(),
        &world.repack,
        &values,
        &Layout::in_order(2).unwrap(),
        &reduction,
        Mod1Output { amplitude: 1.0, scale: world.params.scale() },
        deepest + 1,
    );
    assert!(refusal(&refused).is(&ErrorKind::Level, "ask for a lower level or generate the key"));
}
