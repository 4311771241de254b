//! Integers and paired vectors as bytes: they come back, and statements that cannot hold are
//! refused.

use bellerophon_ckks::{
    Ciphertext, CiphertextMeta, Declaration, Encoder, Error, ErrorKind, EvaluationKeys, Evaluator,
    Interval, KeyLevels, LevelGroup, ModulusChain, Params, ParamsSpec, Published, Security,
    encrypt, encrypt_seeded,
};
use bellerophon_mlwe::SecretKey;
use bellerophon_ring::{error::refusal, wire::Wire};
use bellerophon_testing::bytes::{read, write};
use bincode::serde::{borrow_decode_from_slice, encode_to_vec};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::fbt::{
    EncoderExt, FbtSpec, IntVec, PairedVec, PublishExt, SeededIntVec, SeededPairedVec,
};

fn params(rank: usize) -> Params {
    // Primes that serve the ring of the whole module, too.
    let chain = ModulusChain {
        degree: 64 * rank,
        first_bits: 55,
        levels: vec![LevelGroup::single(45, 3)],
        special: (50, 2),
    };
    let mut spec = ParamsSpec::from_chain(&chain, 45, Security::Insecure).unwrap();
    (spec.lattice.degree, spec.lattice.rank) = (64, rank);
    Params::new(spec).unwrap()
}

fn real(lo: f64, hi: f64) -> Interval {
    Interval::real(lo, hi).unwrap()
}

/// The ring of these tests has 32 slots: one part, and both.
const COUNTS: [usize; 2] = [3, 40];

struct World {
    params: Params,
    secret: SecretKey,
    eval: Evaluator,
    rng: ChaCha20Rng,
}

impl World {
    fn new(rank: usize) -> Self {
        let (mut rng, params) = (ChaCha20Rng::seed_from_u64(1), params(rank));
        let secret = SecretKey::generate(params.lattice(), &mut rng).unwrap();
        let keys =
            EvaluationKeys::generate(&params, &secret, &KeyLevels::default(), &mut rng).unwrap();
        let eval = Evaluator::new(&params, &keys).unwrap();
        Self { params, secret, eval, rng }
    }

    fn paired(&mut self, count: usize) -> (PairedVec, SeededPairedVec) {
        let (values, range) = (vec![2.0; count], real(0.0, 15.0));
        let scale = self.params.scale();
        let plain = Encoder::new(&self.params).encode_paired(&values, range, scale, 3).unwrap();
        let whole = encrypt(&self.params, &plain, &self.secret, &mut self.rng).unwrap();
        let fresh = encrypt_seeded(&self.params, &plain, &self.secret, &mut self.rng).unwrap();
        let fresh = SeededPairedVec::seeded(fresh, range, count).unwrap();
        (PairedVec::new(whole, range, count).unwrap(), fresh)
    }

    fn integers(&mut self, count: usize) -> (IntVec, SeededIntVec) {
        let (whole, fresh) = self.paired(count);
        // Reals of that range are no integers by themselves.
        let marked = IntVec::new(whole.inner().clone(), 16, count).unwrap();
        let seeded = SeededIntVec::seeded(fresh.inner().clone(), 16, count).unwrap();
        assert!(marked.is_of_reals() && seeded.expand(&self.params).unwrap().is_of_reals());
        let of = |whole| IntVec::of_values(whole, 16, false).unwrap();
        (of(whole), SeededIntVec::of_values(fresh, 16, false).unwrap())
    }
}

/// Writes and reads.
fn again<T>(world: &World, object: &T) -> T
where
    T: Wire<Params = Params>,
{
    read(&world.params, &write(&world.params, object)).unwrap().unwrap()
}

#[test]
fn integers_and_paired_vectors_come_back() {
    for rank in [1, 2] {
        let mut world = World::new(rank);
        for count in COUNTS {
            let (whole, fresh) = world.paired(count);
            assert_eq!(again(&world, &whole), whole);
            assert_eq!(again(&world, &fresh), fresh);
            let expanded = fresh.expand(&world.params).unwrap();
            assert!(expanded.decrypt(&world.params, &world.secret).unwrap().len() == count);
            let declared = Declaration::from(-16.0..=16.0).with_noise(1e-6);
            let published = world.eval.publish_paired(&whole, declared).unwrap();
            assert_eq!(again(&world, &published), published);
            assert_eq!((published.log2_noise(), published.as_ref().range().lo()), (-19, -16.0));
            let noise = published.as_ref().inner().metadata().noise();
            let parts = if count > 32 { 0.5 } else { 0.0 };
            assert!((noise.log2() + 19.0 - parts).abs() < 1e-9);

            let (whole, fresh) = world.integers(count);
            assert_eq!(again(&world, &whole), whole);
            assert_eq!(again(&world, &fresh), fresh);
            let expanded = fresh.expand(&world.params).unwrap();
            assert_eq!(
                expanded.decrypt(&world.params, &world.secret, -64.0).unwrap(),
                vec![2; count]
            );
            // Such integers say nothing of each other but their shape; the declared noise is the
            // largest at which they decrypt.
            let published = world.eval.publish_integers(&whole, -64.0).unwrap();
            assert_eq!(again(&world, &published), published);
            let read: &IntVec = published.as_ref();
            assert_eq!(read.decrypt(&world.params, &world.secret, -64.0).unwrap(), vec![2; count]);
            let stricter = read.decrypt(&world.params, &world.secret, -64.1);
            assert!(matches!(refusal(&stricter).kind(), ErrorKind::Noise));
            let other = world.eval.publish_integers(&expanded, -64.0).unwrap();
            assert_eq!(other.as_ref().values().inner().meta(), read.values().inner().meta());
        }
    }
}

/// Changes bytes and reads.
fn with<T>(world: &World, object: &T, at: usize, new: &[u8]) -> Result<(), Error>
where
    T: Wire<Params = Params>,
{
    let mut bytes = write(&world.params, object);
    bytes[at..at + new.len()].copy_from_slice(new);
    read::<T>(&world.params, &bytes).unwrap().map(|_| ())
}

#[test]
fn shapes_that_cannot_be_are_refused() {
    let mut world = World::new(1);
    let bad_reals = [f64::NAN, f64::INFINITY, -f64::INFINITY];
    let bad_moduli = [0u32, 1, 65537, u32::MAX];
    for count in COUNTS {
        let bad_lengths = [0u32, 4, 32, 33, 64, 65, u32::MAX];
        let (paired, fresh) = world.paired(count);
        // Lowest, highest, number of values, meta.
        for at in [0, 8] {
            for bad in bad_reals {
                let (one, two) = (bad.to_le_bytes(), 20f64.to_le_bytes());
                assert!(
                    refusal(&with(&world, &paired, at, &one)).is(&ErrorKind::Domain, "interval [")
                );
                assert!(
                    refusal(&with(&world, &fresh, at, &one)).is(&ErrorKind::Domain, "interval [")
                );
                // The slots of a fresh vector were encoded for its range.
                assert!(with(&world, &fresh, 8, &two).is_err());
            }
        }
        for bad in bad_lengths {
            // Any number up to N that is more than the slots have is a vector in both parts.
            if count == 40 && (33..=64).contains(&bad) {
                continue;
            }
            let (one, two) = (with(&world, &paired, 16, &bad.to_le_bytes()), bad.to_le_bytes());
            assert!(one.is_err() && with(&world, &fresh, 16, &two).is_err(), "{count} as {bad}");
        }
        let published = world.eval.publish_paired(&paired, -16.0..=16.0).unwrap();
        // Scale, slots, number, the variant of the range, lowest, highest, noise.
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(with(&world, &published, 0, &bad.to_le_bytes()).is_err());
        }
        for bad in [0u32, 3, 64, u32::MAX] {
            assert!(with(&world, &published, 8, &bad.to_le_bytes()).is_err());
        }
        for bad in [0u32, 65, u32::MAX] {
            assert!(with(&world, &published, 12, &bad.to_le_bytes()).is_err());
        }
        for at in [20, 28] {
            for bad in bad_reals.into_iter().chain([1e300]) {
                assert!(with(&world, &published, at, &bad.to_le_bytes()).is_err());
            }
        }
        for bad in [i32::MIN, -301, 301, i32::MAX] {
            assert!(with(&world, &published, 36, &bad.to_le_bytes()).is_err());
        }

        // A disc is no range of reals.
        let mut bytes = write(&world.params, &published);
        bytes.splice(16..36, [1u32.to_le_bytes().to_vec(), 16f64.to_le_bytes().to_vec()].concat());
        let complex = read::<Published<PairedVec>>(&world.params, &bytes).unwrap();
        assert!(refusal(&complex).is(&ErrorKind::Shape, "and a real range"));

        let (integers, fresh) = world.integers(count);
        let published = world.eval.publish_integers(&integers, -128.0).unwrap();
        for bad in bad_moduli {
            assert!(with(&world, &integers, 0, &bad.to_le_bytes()).is_err());
            assert!(with(&world, &fresh, 0, &bad.to_le_bytes()).is_err());
            assert!(with(&world, &published, 0, &bad.to_le_bytes()).is_err());
        }
        // A modulus that the slots were not encoded for.
        assert!(with(&world, &fresh, 0, &17u32.to_le_bytes()).is_err());
        for bad in [0u32, 3, 64, u32::MAX] {
            assert!(with(&world, &published, 4, &bad.to_le_bytes()).is_err());
        }
        for bad in [0u32, 65, u32::MAX] {
            assert!(with(&world, &published, 8, &bad.to_le_bytes()).is_err());
        }
        assert!(with(&world, &published, 12, &0u32.to_le_bytes()).is_err());
        with(&world, &published, 12, &u32::MAX.to_le_bytes()).unwrap();
        for bad in bad_reals.into_iter().chain([0.0, -0.5, -256.5]) {
            assert!(with(&world, &published, 16, &bad.to_le_bytes()).is_err());
        }
        for stated in [-1.0, -256.0] {
            with(&world, &published, 16, &f64::to_le_bytes(stated)).unwrap();
        }
    }
    // Both parts in real slots, or one in complex ones.
    let (_, fresh) = world.paired(40);
    assert!(SeededPairedVec::seeded(fresh.into_inner(), real(0.0, 1.0), 32).is_err());
}

/// The vector with its scale multiplied by a factor.
fn rescaled(x: Ciphertext, factor: f64) -> Ciphertext {
    let meta = CiphertextMeta { scale: x.scale() * factor, ..*x.meta() };
    x.changed(meta)
}

#[test]
fn integers_that_are_not_reduced_are_not_published() {
    let mut world = World::new(1);
    for count in COUNTS {
        let (x, _) = world.integers(count);
        let what = |x: &IntVec| {
            let error = world.eval.publish_integers(x, -128.0).unwrap_err();
            assert!(error.is(&ErrorKind::Noise, "is not that of reduced integers"), "{error}");
            error.message().split(" of these").next().unwrap().to_string()
        };
        let on = crate::circuit_ops::CircuitOps::integers(&world.eval);
        assert_eq!(what(&on.add_constant(&x, 1).unwrap()), "the range");
        assert_eq!(what(&on.modulo(&x, 8).unwrap()), "the range");
        // What an operation or a statement has changed counts as a vector of reals.
        let changed = x.values().inner().clone().assume_noise(0.1).unwrap();
        assert_eq!(what(&IntVec::new(changed.clone(), 16, count).unwrap()), "the source");
        // Noise that is known or stated.
        let integers = |inner| {
            let values = PairedVec::new(inner, real(0.0, 15.0), count).unwrap();
            IntVec::of_values(values, 16, false).unwrap()
        };
        assert_eq!(what(&integers(changed)), "the noise");
        // A scale that no integer brings to the circle, and one beyond it.
        let inner = x.values().inner().clone();
        assert_eq!(what(&integers(rescaled(inner, 1.01))), "the scale");
        let inner = x.values().inner().clone();
        assert_eq!(what(&integers(rescaled(inner, 8192.0))), "the scale");
        for bad in [f64::NAN, 0.0, -257.0, f64::INFINITY] {
            assert!(matches!(
                refusal(&world.eval.publish_integers(&x, bad)).kind(),
                ErrorKind::Shape
            ));
        }
        // The greatest slots that they may have.
        let wide = |bound: f64| {
            let inner = x.values().inner().clone();
            let range = match count > 32 {
                true => Interval::complex(2f64.sqrt() * bound).unwrap(),
                false => real(-bound, bound),
            };
            integers(inner.assume_range_with_padding(range))
        };
        world.eval.publish_integers(&wide(31.9), -128.0).unwrap();
        assert_eq!(what(&wide(32.1)), "the range");
    }
}

/// Also when they only may exceed what is declared.
#[test]
fn paired_vectors_beyond_declarations_are_refused() {
    let mut world = World::new(1);
    for count in COUNTS {
        let (x, _) = world.paired(count);
        let what = |declared: Declaration| {
            let error = world.eval.publish_paired(&x, declared).unwrap_err();
            let words = error.message().strip_prefix("the declared ").expect("a declaration");
            match error.kind() {
                ErrorKind::Argument => "no noise".to_string(),
                ErrorKind::Declaration => words.split(" does not").next().unwrap().to_string(),
                _ => panic!("{error}"),
            }
        };
        for declared in [0.0..=14.0, 1.0..=15.0, -1.0..=1.0] {
            assert_eq!(what(declared.into()), "range");
        }
        assert_eq!(what(Declaration::complex(100.0)), "range");
        let parts = if count > 32 { 2f64.sqrt() } else { 1.0 };
        let noise = x.inner().metadata().noise() / parts;
        let stated = |noise| what(Declaration::from(0.0..=15.0).with_noise(noise));
        assert_eq!(stated(0.5 * noise), "noise");
        for bad in [0.0, f64::NAN, 1e200] {
            assert_eq!(stated(bad), "no noise");
        }
        let declared = Declaration::from(0.0..=15.0).with_noise(noise);
        world.eval.publish_paired(&x, declared).unwrap();
    }
}

/// A specification with other numbers is refused before anything large is made of it.
#[test]
fn hostile_specifications_are_refused() {
    let spec = FbtSpec::table(32, 4).unwrap();
    let bytes = encode_to_vec(&spec, bincode::config::legacy()).unwrap();
    let decoded = |bytes: &[u8]| {
        let spec: Result<(FbtSpec, usize), _> =
            borrow_decode_from_slice(bytes, bincode::config::legacy());
        spec.map(|(spec, _)| spec)
    };
    let back = decoded(&bytes).unwrap();
    assert_eq!(back, FbtSpec { encode_ahead: false, ..spec.clone() });
    // Lists whose lengths are not believed: of S2C, behind slots, weight, failure, degree,
    // doublings, whether it is normalised, and the bits of q_0.
    let s2c = 4 + 4 + 8 + 4 + 4 + 1 + 4;
    let series = s2c + 8 + 4 * spec.s2c.len();
    let exponential = series + 8 + 4 * spec.series.len();
    let c2s = exponential + 8 + 4 * spec.exponential.len();
    for (at, most) in [(s2c, 16), (series, 18), (exponential, 32), (c2s, 16)] {
        for length in [most + 1, 1 << 40, u64::MAX] {
            let mut bytes = bytes.clone();
            bytes[at..at + 8].copy_from_slice(&length.to_le_bytes());
            assert!(decoded(&bytes).is_err(), "{length} at {at}");
        }
    }
    let refused = |change: &dyn Fn(&mut FbtSpec)| {
        let mut spec = spec.clone();
        change(&mut spec);
        spec.check().unwrap_err();
    };
    refused(&|spec| spec.slots = 0);
    refused(&|spec| spec.slots = u32::MAX as usize);
    refused(&|spec| spec.weight = 4097);
    refused(&|spec| spec.degree = 256);
    refused(&|spec| spec.doublings = 17);
    refused(&|spec| spec.babies = 0);
    refused(&|spec| spec.babies = 1025);
    refused(&|spec| spec.log2_failure = f64::NAN);
    refused(&|spec| spec.log2_failure = 0.0);
    refused(&|spec| spec.s2c.clear());
    refused(&|spec| spec.c2s = vec![50; 17]);
    refused(&|spec| spec.series = vec![50; 19]);
    refused(&|spec| spec.exponential = vec![50; 33]);
    refused(&|spec| spec.exponential.truncate(7));
}
