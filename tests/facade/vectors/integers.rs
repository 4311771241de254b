//! Stored encrypted integers, paired vectors and functional bootstrapping.

use bellerophon::{
    circuits::fbt::{FbtSpec, IntVec, PairedVec, SeededIntVec, SeededPairedVec},
    ckks::{Interval, Provided, Published},
};

use super::{Reader, again, close, key_set, stored};

/// Every type: its folder, how many files that has, its reader.
pub const TYPES: [(&str, usize, Reader); 8] = [
    ("evaluation_keys_functional", 1, |s, b| key_set(&s.functional, b)),
    ("fresh_integers", 2, |s, b| again::<SeededIntVec, _>(&s.params, b)),
    ("fresh_paired", 2, |s, b| again::<SeededPairedVec, _>(&s.params, b)),
    ("integers", 2, |s, b| again::<IntVec, _>(&s.params, b)),
    ("paired", 2, |s, b| again::<PairedVec, _>(&s.params, b)),
    ("provided_integers", 2, |s, b| again::<Provided<IntVec>, _>(&s.params, b)),
    ("published_integers", 2, |s, b| again::<Published<IntVec>, _>(&s.params, b)),
    ("published_paired", 2, |s, b| again::<Published<PairedVec>, _>(&s.params, b)),
];

fn span(lo: f64, hi: f64) -> Interval {
    Interval::real(lo, hi).unwrap()
}

/// What was encrypted, in one part of eight slots and in both.
fn expected(file: usize) -> Vec<usize> {
    [2, 0, 3, 1].into_iter().cycle().take([5, 12][file]).collect()
}

#[test]
fn integers_and_paired_vectors_hold_what_they_held() {
    let stored = stored();
    let (params, slots) = (&stored.params, stored.params.ckks());
    let secret = &stored.secrets[0];
    for file in [0, 1] {
        let integers = expected(file);
        let reals: Vec<f64> = integers.iter().map(|&k| k as f64).collect();
        let of = |x: &PairedVec| close(&x.decrypt(slots, secret).unwrap(), &reals);
        let read = |x: &IntVec| x.decrypt(slots, secret, -128.0).unwrap();

        let whole: PairedVec = stored.read(params, &format!("paired/{file}.bin"));
        of(&whole);
        let fresh: SeededPairedVec = stored.read(params, &format!("fresh_paired/{file}.bin"));
        of(&fresh.expand(slots).unwrap());
        for x in [&whole, &fresh.expand(slots).unwrap()] {
            assert_eq!((x.range().lo(), x.range().hi()), (0.0, 3.0));
        }
        let published: Published<PairedVec> =
            stored.read(params, &format!("published_paired/{file}.bin"));
        of(published.as_ref());
        let range = published.as_ref().range();
        assert_eq!((range.lo(), range.hi(), published.log2_noise()), (-4.0, 4.0, -9));

        // One more than that, before a reduction.
        let more: IntVec = stored.read(params, &format!("integers/{file}.bin"));
        let wanted: Vec<usize> = integers.iter().map(|k| (k + 1) % 4).collect();
        assert_eq!((read(&more), more.values().range()), (wanted, &span(1.0, 4.0)));
        let fresh: SeededIntVec = stored.read(params, &format!("fresh_integers/{file}.bin"));
        let fresh = fresh.expand(slots).unwrap();
        assert_eq!((read(&fresh), fresh.values().range()), (integers.clone(), &span(0.0, 3.0)));
        let published: Published<IntVec> =
            stored.read(params, &format!("published_integers/{file}.bin"));
        assert_eq!((published.statement().log2_failure, published.as_ref().modulus()), (-128.0, 4));
        assert_eq!(read(published.as_ref()), integers);

        let provided: Provided<IntVec> =
            stored.read(params, &format!("provided_integers/{file}.bin"));
        assert_eq!((provided.modulus(), provided.values().range()), (4, &span(0.0, 3.0)));
        assert_eq!(read(&provided), integers);
    }
}

#[test]
fn functional_bootstrapping_is_what_it_was() {
    let stored = stored();
    let functional = stored.functional.functional().unwrap();
    let (s2c, c2s) = (3, 3);
    let levels =
        FbtSpec { s2c: vec![36; s2c], c2s: vec![42; c2s], ..FbtSpec::table(32, 4).unwrap() };
    let encode_ahead = functional.spec().encode_ahead;
    assert_eq!(functional.spec(), &FbtSpec { encode_ahead, ..levels });
    assert_eq!((functional.input_level(), functional.least_output_level()), (s2c, s2c + 1));
    let set = stored.keys(&stored.functional, "evaluation_keys_functional/0.bin");
    let own = functional.own_key_sizes();
    assert_eq!(set.byte_len(), own.transit);
}
