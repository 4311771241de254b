//! Down and up on ciphertexts: every count, layouts, levels, noise, misfits.

use std::sync::Arc;

use bellerophon_circuits::{
    dft::{S2cSpec, SlotsToCoeffs},
    eval_mod::Mod1Output,
    lintrans::Giants,
};
use bellerophon_ckks as ckks;
use bellerophon_ckks::{
    Encoder, EvaluationKeys, Evaluator, Interval, LevelGroup, ModulusChain, Params, ParamsSpec,
    SecretKey, Security, cost::Work, decrypt_values, encrypt,
};
use bellerophon_lwe as lwe;
use bellerophon_mlwe::SecretKind;
use bellerophon_ring::{ErrorKind, refusal};
use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha20Rng;

use super::{
    Reduction, RingBridge, RingBridgeKeys, RingBridgeSpec,
    bridge::{C2S_LEVELS, KEPT},
};
use crate::linear_bridge::layout::Layout;

const DEGREE: usize = 128;

struct World {
    params: Params,
    secret: SecretKey,
    ring: lwe::SecretKey,
    bridge: RingBridge,
    decoding: SlotsToCoeffs,
    keys: RingBridgeKeys,
    evaluator: Evaluator,
    rng: ChaCha20Rng,
}

fn spec(degree: usize) -> RingBridgeSpec {
    RingBridgeSpec { degree, secret: SecretKind::Ternary, weight: 16, log2_failure: -50.0 }
}

fn params(degree: usize, levels: usize) -> Params {
    let chain = ModulusChain {
        degree,
        first_bits: 45,
        levels: vec![LevelGroup::single(44, levels)],
        special: (50, 2),
    };
    Params::new(ParamsSpec::from_chain(&chain, 44, Security::Insecure).unwrap()).unwrap()
}

impl World {
    /// 256 slots over a small ring of 64.
    fn new(levels: usize) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        let params = params(512, levels);
        let bridge = RingBridge::new(&params, spec(DEGREE)).unwrap();
        let options = S2cSpec {
            levels: 2,
            output_level: 0,
            scale: 2f64.powi(28),
            modular: false,
            encode_ahead: false,
            giants: Giants::Direct,
        };
        let decoding = SlotsToCoeffs::new(&params, params.max_slots(), options).unwrap();
        let secret = SecretKey::generate(params.lattice(), &mut rng).unwrap();
        let ring = lwe::SecretKey::generate(DEGREE, SecretKind::Ternary, &mut rng).unwrap();
        let keys = RingBridgeKeys::generate(&bridge, &secret, &ring, &mut rng).unwrap();
        assert_eq!((keys.byte_len(), keys.id()), (bridge.key_bytes(), secret.id()));
        let needs = bridge.keys().and(&decoding.keys());
        let arithmetic = EvaluationKeys::generate(&params, &secret, &needs, &mut rng).unwrap();
        let evaluator = Evaluator::new(&params, &arithmetic).unwrap();
        Self { params, secret, ring, bridge, decoding, keys, evaluator, rng }
    }

    /// Numbers in [-1, 1].
    fn reals(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.rng.random_range(-1.0..=1.0)).collect()
    }

    /// LWE values whose phases are these parts of a turn.
    fn values(&mut self, turns: &[f64]) -> Vec<lwe::Ciphertext> {
        let q0 = self.params.lattice().q().modulus(0);
        let value = |&turn: &f64| {
            let message = (turn * q0.value() as f64).round() as i64;
            lwe::encrypt(q0, &self.ring, message, 3.2, &mut self.rng).unwrap()
        };
        turns.iter().map(value).collect()
    }

    /// `2 pi` times the phases of `values`, as the slots that the layout says.
    fn raised(
        &self,
        values: &[lwe::Ciphertext],
        layout: &Layout,
        reduction: Reduction,
        level: usize,
    ) -> ckks::Ciphertext {
        let output = Mod1Output { amplitude: 1.0, scale: self.params.scale() };
        let bridge = &self.bridge;
        bridge
            .lwe_to_slots(&self.evaluator, &self.keys, values, layout, reduction, output, level)
            .unwrap()
    }

    fn decrypt(&self, ct: &ckks::Ciphertext) -> Vec<f64> {
        decrypt_values(&self.params, ct, &self.secret).unwrap()
    }
}

fn root_mean_square(errors: &[f64]) -> f64 {
    (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt()
}

/// What was in the slots is in LWE values under the small secret, for every count.
#[test]
fn vectors_go_down_to_values() {
    let mut w = World::new(11);
    for count in [1, 2, 63, 64, 65, 100, 128, 256] {
        let numbers = w.reals(count);
        let encoder = Encoder::new(&w.params);
        let limbs = w.params.limbs_at(2);
        let plain = encoder
            .encode(&numbers, Interval::real(-1.0, 1.0).unwrap(), w.params.scale(), limbs)
            .unwrap();
        let x = encrypt(&w.params, &plain, &w.secret, &mut w.rng).unwrap();
        let coefficients = w.decoding.apply(&w.evaluator, &x).unwrap();
        let factor = 1 << 13;
        let values = w.bridge.slots_to_lwe(&w.keys, &coefficients, factor).unwrap();
        assert_eq!(values.len(), count);
        let scale = coefficients.meta().scale * factor as f64;
        let errors: Vec<f64> = values
            .iter()
            .zip(&numbers)
            .map(|(value, x)| {
                assert_eq!(
                    (value.a().len(), value.modulus()),
                    (DEGREE, w.params.lattice().q().modulus(0))
                );
                lwe::phase(value, &w.ring).unwrap() as f64 - x * scale
            })
            .collect();
        let variance =
            coefficients.meta().noise.total * (factor as f64).powi(2) + w.bridge.lowering_noise();
        let ratio = root_mean_square(&errors) / variance.sqrt();
        let least = if count < 32 { 0.0 } else { 0.5 };
        assert!(ratio < 2.0 && ratio >= least, "{count}: {ratio}");
    }
    let high = Encoder::new(&w.params)
        .encode(&[1.0], Interval::real(-1.0, 1.0).unwrap(), w.params.scale(), 2)
        .unwrap();
    let high = encrypt(&w.params, &high, &w.secret, &mut w.rng).unwrap();
    let (inner, meta) = high.into_parts();
    let high = bellerophon_circuits::dft::Coefficients::from_parts(&w.params, inner, meta).unwrap();
    assert!(matches!(refusal(&w.bridge.slots_to_lwe(&w.keys, &high, 1)).kind(), ErrorKind::Shape));
}

/// Around the slots of the small ring, around powers of two, full: all values are right.
#[test]
fn values_of_every_count_come_up() {
    let mut w = World::new(11);
    let level = w.bridge.highest_level(Reduction::Sine).unwrap();
    for count in [1, 3, 63, 64, 65, 127, 128, 129, 200, 256] {
        let turns: Vec<f64> = w.reals(count).iter().map(|x| 0.2 * x).collect();
        let values = w.values(&turns);
        let layout = Layout::in_order(count).unwrap();
        let ct = w.raised(&values, &layout, Reduction::Sine, level);
        assert_eq!((ct.level(), ct.len(), ct.meta().slots), (level, count, layout.slots()));
        let errors: Vec<f64> = w
            .decrypt(&ct)
            .iter()
            .zip(&turns)
            .map(|(found, turn)| found - (std::f64::consts::TAU * turn).sin())
            .collect();
        let predicted =
            ct.metadata().noise() + w.bridge.reduction(Reduction::Sine).approximation_error();
        let ratio = root_mean_square(&errors) / predicted;
        let least = if count < 32 { 0.0 } else { 0.25 };
        assert!(
            ratio < 2.0 && ratio >= least,
            "{count}: {ratio}, noise {:e}",
            ct.metadata().noise()
        );
        assert!(ct.metadata().noise() < 2f64.powi(-16), "{:e}", ct.metadata().noise());
    }
}

/// Any layout, any level, with the sine undone.
#[test]
fn layouts_levels_and_the_identity() {
    let mut w = World::new(14);
    let highest = w.bridge.highest_level(Reduction::Identity).unwrap();
    assert_eq!(w.bridge.highest_level(Reduction::Sine), Some(highest + 3));
    let reach = 0.125;
    for (slots, count, level) in [(8, 5, highest), (64, 64, 1), (256, 90, highest - 1)] {
        let turns: Vec<f64> = w.reals(count).iter().map(|x| reach * x).collect();
        let mut positions: Vec<usize> = (0..slots).collect();
        positions.shuffle(&mut w.rng);
        positions.truncate(count);
        let layout = Layout::new(slots, &positions).unwrap();
        let values = w.values(&turns);
        let ct = w.raised(&values, &layout, Reduction::Identity, level);
        assert_eq!((ct.level(), ct.meta().slots), (level, slots));
        let expected = layout.place(&turns);
        let found = w.decrypt(&ct);
        for (i, (found, turn)) in found.iter().zip(&expected).enumerate() {
            let error = (found / std::f64::consts::TAU - turn).abs();
            assert!(error < reach * 2f64.powi(-13), "slot {i} of {slots}: {error:e}");
        }
    }
}

/// Blocks of rows side by side, and the rows of a block repeated in it.
#[test]
fn blocks_come_up_side_by_side() {
    let mut w = World::new(11);
    let level = w.bridge.highest_level(Reduction::Sine).unwrap();
    let shapes = [(5, 8, 3, 16), (64, 64, 4, 64), (3, 8, 2, 8), (1, 1, 3, 64), (20, 32, 8, 32)];
    for (rows, period, blocks, stride) in shapes {
        let layout = Layout::in_blocks(rows, period, blocks, stride).unwrap();
        let turns: Vec<f64> = w.reals(rows * blocks).iter().map(|x| 0.2 * x).collect();
        let values = w.values(&turns);
        let ct = w.raised(&values, &layout, Reduction::Sine, level);
        assert_eq!((ct.len(), ct.meta().slots), (layout.slots(), layout.slots()));
        let expected = layout.place(&turns);
        let errors = w.decrypt(&ct).into_iter().zip(&expected);
        let errors: Vec<f64> =
            errors.map(|(found, turn)| found - (std::f64::consts::TAU * turn).sin()).collect();
        let approximation = w.bridge.reduction(Reduction::Sine).approximation_error();
        let ratio = root_mean_square(&errors) / (ct.metadata().noise() + approximation);
        assert!(ratio < 2.0, "{blocks} blocks of {rows}, {stride} apart: {ratio}");
        let worst = errors.iter().fold(0.0, |worst: f64, e| worst.max(e.abs()));
        assert!(worst < 2f64.powi(-13), "{blocks} blocks of {rows}: {worst:e}");
    }
    // Coefficients for them would lie between those of the small ring.
    let layout = Layout::in_blocks(3, 4, 2, 128).unwrap();
    let output = Mod1Output { amplitude: 1.0, scale: w.params.scale() };
    let values = w.values(&[0.1; 6]);
    let refused = w
        .bridge
        .lwe_to_slots(&w.evaluator, &w.keys, &values, &layout, Reduction::Sine, output, level)
        .unwrap_err();
    assert!(refused.is(&ErrorKind::Shape, "place of a repeated value is"), "{refused}");
}

#[test]
fn the_keys_named_are_those_taken() {
    let params = params(2048, 11);
    let bridge = RingBridge::new(&params, spec(1024)).unwrap();
    let top = params.max_level();
    let named = bridge.keys().automorphisms(&params);
    for slots in [512, 1024] {
        let taken = bridge.to_slots(slots, top, Reduction::Sine).unwrap().keys();
        let taken = taken.conjugate(top - 2).automorphisms(&params);
        assert_eq!(taken, named, "{slots} slots");
    }
}

/// A program that comes up at many levels keeps the transforms of the last few.
#[test]
fn transforms_to_slots_are_dropped_in_turn() {
    let params = params(512, 14);
    let bridge = RingBridge::new(&params, spec(DEGREE)).unwrap();
    let get = |level| bridge.to_slots(64, level, Reduction::Sine).unwrap();
    let top = params.max_level();
    let first = get(top);
    assert!(Arc::ptr_eq(&first, &get(top)));
    // As long as it is used it stays.
    for level in (3..top).rev() {
        get(level);
        assert!(Arc::ptr_eq(&first, &get(top)));
    }
    let dropped = Arc::downgrade(&first);
    drop(first);
    (3..3 + KEPT).for_each(|level| drop(get(level)));
    assert!(dropped.upgrade().is_none());
    assert_eq!(bridge.to_slots.lock().unwrap().len(), KEPT);
}

#[test]
fn misfits_are_refused() {
    let short = params(512, 6);
    let refused = RingBridge::new(&short, spec(DEGREE)).unwrap_err();
    assert!(refused.is(&ErrorKind::Shape, "highest level is"), "{refused}");
    for degree in [32, 96, 1024] {
        let refused = RingBridge::new(&params(512, 11), spec(degree)).unwrap_err();
        assert!(refused.is(&ErrorKind::Shape, "is needed"), "{refused}");
    }
    let mut w = World::new(11);
    let values = w.values(&[0.1, 0.2]);
    let lwe_to_slots = |values: &[lwe::Ciphertext], rows, level| {
        let layout = Layout::in_order(rows).unwrap();
        let output = Mod1Output { amplitude: 1.0, scale: w.params.scale() };
        let (bridge, reduction) = (&w.bridge, Reduction::Sine);
        bridge
            .lwe_to_slots(&w.evaluator, &w.keys, values, &layout, reduction, output, level)
            .unwrap_err()
    };
    assert!(lwe_to_slots(&values, 3, 0).is(&ErrorKind::Shape, "number of values is"));
    assert!(matches!(lwe_to_slots(&values, 2, 9).kind(), ErrorKind::Level));
    let narrow = lwe::Ciphertext::trivial(*w.params.lattice().q().modulus(0), 64, 0);
    assert!(lwe_to_slots(&[narrow], 1, 0).is(&ErrorKind::Shape, "LWE dimension is"));
    assert!(lwe_to_slots(&vec![values[0].clone(); 257], 257, 0).is(&ErrorKind::Shape, "is needed"));
}

/// The two secrets of the small ring, at the sizes of the presets.
#[test]
fn both_small_secrets_are_checked() {
    let chain = ModulusChain {
        degree: 1 << 15,
        first_bits: 45,
        levels: vec![LevelGroup::single(44, 15)],
        special: (50, 3),
    };
    let params = ParamsSpec::from_chain(&chain, 44, Security::Bits128).unwrap();
    let params = Params::new(params).unwrap();
    let spec = RingBridgeSpec { weight: 128, log2_failure: -60.0, ..spec(4096) };
    let bridge = RingBridge::new(&params, spec.clone()).unwrap();
    assert!(bridge.security_bits() >= 128.0);
    assert_eq!(bridge.highest_level(Reduction::Sine), Some(5));
    // Dense 2048 has room for 53 bits, weight 64 at 4096 for 57.
    for insecure in [
        RingBridgeSpec { degree: 2048, ..spec.clone() },
        RingBridgeSpec { weight: 64, ..spec.clone() },
    ] {
        let refused = RingBridge::new(&params, insecure).unwrap_err();
        assert_eq!(*refused.kind(), ErrorKind::Insecure, "{refused}");
    }
}

/// The counted work of C2S is that of the matrices, for any number of slots.
#[test]
fn work_on_the_way_up_is_that_of_the_matrices() {
    let params = params(512, 13);
    let bridge = RingBridge::new(&params, spec(DEGREE)).unwrap();
    let (sine, level) = (Reduction::Sine, bridge.highest_level(Reduction::Sine).unwrap());
    let start = bridge.start(sine, level).unwrap();
    for slots in [DEGREE / 2, DEGREE, 2 * DEGREE] {
        let matrices = bridge.to_slots(slots, start + C2S_LEVELS, sine).unwrap().work();
        let mut rest = Work::of_switches(&params, start, 1);
        rest += bridge.reduction(sine).work(&params, start);
        let whole = bridge.work(slots, sine, level).unwrap();
        let ratio = (whole.seconds() - rest.seconds()) / matrices.seconds();
        assert!((0.85..1.15).contains(&ratio), "{slots}: {ratio}");
    }
    assert!(
        refusal(&bridge.work(64, sine, level + 1))
            .is(&ErrorKind::Level, "ask for a lower level or use a longer chain")
    );
    assert!(bridge.packing_work(100).seconds() < 0.1 * bridge.packing_work(2000).seconds());
}
