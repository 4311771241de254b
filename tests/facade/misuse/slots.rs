//! Arithmetic, rotations and levels of slots.

use bellerophon::{
    Ciphertext, ClientKey, Declaration, Evaluator, Needs, Paired, Preset, Toy,
    circuits::{
        diagonals::Diagonals,
        lintrans::{LinearOptions, LinearTransform},
        statistics::DataTable,
    },
    ckks::{CkksOps, Complex64, ComposedOps},
};
use bellerophon_circuits::CircuitOps;
use bellerophon_ckks::vectors::Vectors;

use super::{BAD, Record, World, stranger, world};
use crate::common::party;

fn small() -> World {
    world(&Needs::new().multiply().rotate([1]).conjugate())
}

/// Operands of another key or length, no keys, no levels, no numbers.
pub fn arithmetic(record: &mut Record) {
    let World { server, bare, x, short, spent, foreign, .. } = &small();
    let scale = server.params().ckks().scale();

    for (why, y) in [("another key", foreign), ("another length", short)] {
        refused!(record, why, CkksOps::add(server, x, y));
        refused!(record, why, CkksOps::sub(server, y, x));
        refused!(record, why, CkksOps::mul(server, x, y));
        refused!(record, why, CkksOps::mul_no_rescale(server, x, y));
        refused!(record, why, CkksOps::add_many(server, &[x, y]));
        refused!(record, why, CkksOps::mul_add_many(server, &[(x, y)], &[], 0.0, None));
        refused!(
            record,
            why,
            CkksOps::linear_combination(server, &[(x, 1.0), (y, 1.0)], 0.0, None)
        );
        refused!(record, why, CkksOps::dot_values(server, &[x, y], &[vec![0.5; 3], vec![0.5; 3]]));
        refused!(record, why, ComposedOps::dot(server, &[x, x], &[x, y]));
    }
    let y = foreign;
    let why = "another key";
    refused!(record, why, CkksOps::neg(server, y));
    refused!(record, why, CkksOps::square(server, y));
    refused!(record, why, CkksOps::square_no_rescale(server, y));
    refused!(record, why, CkksOps::add_scalar(server, y, 1.0));
    refused!(record, why, CkksOps::mul_scalar(server, y, 0.5));
    refused!(record, why, CkksOps::mul_integer(server, y, 3));
    refused!(record, why, CkksOps::mul_i(server, y));
    refused!(record, why, CkksOps::mul_complex(server, y, Complex64::I));
    refused!(record, why, CkksOps::add_values(server, y, &[0.5; 3]));
    refused!(record, why, CkksOps::mul_values(server, y, &[0.5; 3]));
    refused!(record, why, CkksOps::mul_values_to(server, y, &[0.5; 3], scale));

    let why = "no keys";
    refused!(record, why, CkksOps::mul(bare, x, x));
    refused!(record, why, CkksOps::square(bare, x));
    refused!(record, why, CkksOps::mul_no_rescale(bare, x, x));
    refused!(record, why, CkksOps::square_no_rescale(bare, x));
    refused!(record, why, CkksOps::mul_add_many(bare, &[(x, x)], &[], 0.0, None));
    refused!(record, why, ComposedOps::dot(bare, &[x], &[x]));

    let why = "no levels";
    refused!(record, why, CkksOps::mul(server, spent, spent));
    refused!(record, why, CkksOps::square(server, spent));
    refused!(record, why, CkksOps::mul_scalar(server, spent, 0.3));
    refused!(record, why, CkksOps::mul_complex(server, spent, Complex64::new(0.3, 0.1)));
    refused!(record, why, CkksOps::mul_values(server, spent, &[0.5; 3]));
    refused!(record, why, CkksOps::mul_values_to(server, spent, &[0.5; 3], scale));
    refused!(record, why, CkksOps::mul_add_many(server, &[(spent, spent)], &[], 0.0, None));
    refused!(record, why, CkksOps::linear_combination(server, &[(spent, 0.3)], 0.0, None));
    refused!(record, why, CkksOps::dot_values(server, &[spent], &[vec![0.5; 3]]));
    refused!(record, why, ComposedOps::dot(server, &[spent], &[spent]));

    for bad in BAD {
        let why = format!("the number {bad}");
        refused!(record, why, CkksOps::add_scalar(server, x, bad));
        refused!(record, why, CkksOps::mul_scalar(server, x, bad));
        refused!(record, why, CkksOps::mul_complex(server, x, Complex64::new(0.0, bad)));
        refused!(record, why, CkksOps::add_values(server, x, &[0.5, bad, 0.5]));
        refused!(record, why, CkksOps::mul_values(server, x, &[0.5, bad, 0.5]));
        refused!(record, why, CkksOps::mul_values_to(server, x, &[0.5, bad, 0.5], scale));
        refused!(record, why, CkksOps::mul_values_to(server, x, &[0.5; 3], bad));
        refused!(record, why, CkksOps::dot_values(server, &[x], &[vec![0.5, bad, 0.5]]));
        refused!(record, why, CkksOps::linear_combination(server, &[(x, bad)], 0.0, None));
        refused!(record, why, CkksOps::linear_combination(server, &[(x, 1.0)], bad, None));
        refused!(record, why, CkksOps::linear_combination(server, &[(x, 1.0)], 0.0, Some(bad)));
        refused!(record, why, CkksOps::mul_add_many(server, &[(x, x)], &[(x, bad)], 0.0, None));
        refused!(record, why, CkksOps::mul_add_many(server, &[(x, x)], &[], bad, None));
    }
    let why = "a large number";
    refused!(record, why, CkksOps::mul_scalar(server, x, 1e300));
    refused!(record, why, CkksOps::add_scalar(server, x, 1e300));
    refused!(record, why, CkksOps::mul_complex(server, x, Complex64::new(1e300, 0.0)));
    refused!(record, why, CkksOps::mul_values(server, x, &[1e300; 3]));
    refused!(record, why, CkksOps::add_values(server, x, &[1e300; 3]));
    for k in [i64::MAX, i64::MIN] {
        refused!(record, why, CkksOps::mul_integer(server, spent, k));
    }

    for values in [&[][..], &[0.5], &[0.5; 4], &[0.5; 5000]] {
        let why = format!("{} values", values.len());
        refused!(record, why, CkksOps::add_values(server, x, values));
        refused!(record, why, CkksOps::mul_values(server, x, values));
        refused!(record, why, CkksOps::mul_values_to(server, x, values, scale));
        refused!(record, why, CkksOps::dot_values(server, &[x], &[values.to_vec()]));
    }
    let why = "no operands";
    refused!(record, why, CkksOps::add_many::<Ciphertext>(server, &[]));
    refused!(record, why, ComposedOps::dot(server, &[], &[]));
    refused!(record, why, CkksOps::linear_combination(server, &[], 0.0, None));
    refused!(record, why, CkksOps::mul_add_many(server, &[], &[], 0.0, None));
    refused!(record, why, CkksOps::dot_values::<f64>(server, &[], &[]));
    refused!(record, "unequal counts", ComposedOps::dot(server, &[x], &[x, x]));
    refused!(record, "unequal counts", CkksOps::dot_values(server, &[x, x], &[vec![0.5; 3]]));
}

/// Sums, rotations, masks and matrices.
pub fn rotations(record: &mut Record) {
    let World { server, bare, x, short, spent, foreign, .. } = &small();
    let lattice = server.params().ckks();
    let matrix = |slots, level| {
        let mut diagonals = Diagonals::zero(slots);
        diagonals.add_diagonal(0, vec![Complex64::ONE; slots]);
        diagonals.add_diagonal(1, vec![Complex64::ONE; slots]);
        LinearTransform::new(lattice, &diagonals, level, LinearOptions::default()).unwrap()
    };
    let m = &matrix(4, server.params().levels());
    let complex = &server.mul_i(x).unwrap();

    for (why, on, x) in [("another key", server, foreign), ("no keys", bare, x)] {
        refused!(record, why, CkksOps::rotate(on, x, 1));
        refused!(record, why, CkksOps::rotate(on, x, i64::MIN + 1));
        refused!(record, why, CkksOps::rotate_many(on, x, &[1, 2]));
        refused!(record, why, CkksOps::sum_of_rotations(on, &[(x, &[0, 1][..])]));
        refused!(record, why, CkksOps::conjugate(on, x));
        refused!(record, why, ComposedOps::sum_slots(on, x));
        refused!(record, why, ComposedOps::inner_sum(on, x, 2, 1));
        refused!(record, why, ComposedOps::replicate(on, x, 2, 1));
        refused!(record, why, ComposedOps::replicate_slot(on, x, 0));
        refused!(record, why, CircuitOps::transform(on, x, m));
    }
    refused!(record, "no keys", CkksOps::real_part(bare, complex));
    let why = "another key";
    refused!(
        record,
        why,
        CkksOps::real_part(server, &bare.mul_i(foreign).unwrap_or(foreign.clone()))
    );
    refused!(record, why, ComposedOps::mask(server, foreign, 0..1));
    refused!(record, why, ComposedOps::mask_slots(server, foreign, &[0]));
    refused!(record, why, ComposedOps::clear_padding(server, foreign));

    let why = "no levels";
    refused!(record, why, ComposedOps::replicate_slot(server, spent, 0));
    refused!(record, why, ComposedOps::mask(server, spent, 0..1));
    refused!(record, why, ComposedOps::mask_slots(server, spent, &[0]));
    refused!(record, why, ComposedOps::clear_padding(server, spent));
    refused!(record, why, CircuitOps::transform(server, spent, m));

    refused!(record, "no operands", CkksOps::sum_of_rotations(server, &[]));
    refused!(record, "no steps", CkksOps::sum_of_rotations(server, &[(x, &[][..])]));
    refused!(
        record,
        "another length",
        CkksOps::sum_of_rotations(server, &[(x, &[1][..]), (short, &[1])])
    );
    for (count, stride) in [(0, 1), (5, 1), (usize::MAX, 1), (usize::MAX, i64::MIN)] {
        let why = format!("{count} at distance {stride}");
        refused!(record, why, ComposedOps::inner_sum(server, x, count, stride));
        refused!(record, why, ComposedOps::replicate(server, x, count, stride));
    }
    refused!(record, "padding", ComposedOps::replicate_slot(server, x, 3));
    refused!(record, "no slot", ComposedOps::replicate_slot(server, x, usize::MAX));
    refused!(record, "no slots", ComposedOps::mask(server, x, 2..9));
    refused!(record, "no slots", ComposedOps::mask(server, x, usize::MAX - 1..usize::MAX));
    refused!(record, "no slot", ComposedOps::mask_slots(server, x, &[usize::MAX]));
    refused!(record, "a larger matrix", CircuitOps::transform(server, x, &matrix(8, 1)));
    refused!(record, "a smaller matrix", CircuitOps::transform(server, x, &matrix(2, 1)));
    for table in [DataTable::new(64, 64).unwrap(), DataTable::new(1, 2).unwrap()] {
        let (t, on) = (&table, server);
        refused!(record, "another shape", DataTable::sums(t, on, x));
        refused!(record, "another shape", DataTable::means(t, on, x));
        refused!(record, "another shape", DataTable::variances(t, on, x));
        refused!(record, "another shape", DataTable::covariances(t, on, x, x));
        refused!(record, "another shape", DataTable::covariance_matrix(t, on, x));
    }
}

/// Levels, scales, lengths, ranges, bootstraps, results.
pub fn levels(record: &mut Record) {
    let World { server, bare, x, short, spent, foreign, .. } = &small();
    let scale = server.params().ckks().scale();
    let top = server.params().ckks().max_level();

    refused!(record, "another key", CkksOps::rescale(server, foreign));
    refused!(record, "no levels", CkksOps::rescale(server, spent));
    for level in [3, top + 1, usize::MAX] {
        refused!(record, "a higher level", CkksOps::drop_to_level(server, spent, level));
        refused!(record, "a higher level", CkksOps::match_scale(server, spent, scale, level));
    }
    refused!(record, "another key", CkksOps::drop_to_level(server, foreign, 1));
    refused!(record, "another key", CkksOps::match_scale(server, foreign, scale, 1));
    refused!(record, "no levels", CkksOps::match_scale(server, spent, scale / 3.0, 0));
    for bad in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
        refused!(record, "a bad scale", CkksOps::match_scale(server, x, bad, 1));
        refused!(record, "a bad factor", Vectors::reinterpret_scale(server, x.clone(), bad));
    }
    for len in [0, 5, usize::MAX] {
        refused!(record, format!("length {len}"), CkksOps::with_len(server, x.clone(), len));
    }
    for len in [0, 1, 9999, usize::MAX] {
        refused!(record, format!("length {len}"), Vectors::broadcast(server, short.clone(), len));
    }
    for slots in [0, 2, 5, 1 << 20, usize::MAX] {
        refused!(record, format!("{slots} slots"), Vectors::repeated(server, x.clone(), slots));
    }
    refused!(record, "elsewhere", ComposedOps::assume_range(server, x, 3.0..=4.0));
    refused!(record, "elsewhere", ComposedOps::keep_within(server, x, 3.0..=4.0));
    refused!(record, "no number", ComposedOps::assume_range(server, x, f64::NAN..=4.0));
    for range in [f64::NAN..=4.0, 1.0..=-1.0] {
        refused!(record, "no interval", ComposedOps::keep_within(server, x, range));
    }
    for bad in [f64::NAN, f64::INFINITY] {
        let why = "no number for the padding";
        refused!(record, why, ComposedOps::move_padding(server, x, bad));
    }
    refused!(record, "reversed", ComposedOps::assume_range(server, x, 1.0..=-1.0));
    refused!(record, "too wide", ComposedOps::assume_range(server, spent, -1e30..=1e30));
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        refused!(record, "no deviation", CkksOps::assume_noise(server, x.clone(), bad));
    }
    let other = stranger(server.params());
    refused!(record, "another client", ClientKey::debugger(&other, server));

    let why = "another key";
    refused!(record, why, Evaluator::publish(server, foreign, -1.0..=1.0));
    refused!(record, "too narrow", Evaluator::publish(server, x, -0.5..=0.5));
    refused!(record, "no range", Evaluator::publish(server, x, f64::NAN..=0.5));
    for bad in BAD {
        let declared = Declaration::from(-1.0..=1.0).with_noise(bad);
        refused!(record, "no noise", Evaluator::publish(server, x, declared));
    }
    refused!(record, "another key", Evaluator::admit(server, foreign, -1.0..=1.0));
    for (why, declared) in [
        ("too narrow", Declaration::from(-0.5..=0.5)),
        ("too high", Declaration::from(-1.0..=1.0).with_level(1 << 20)),
        ("no scale", Declaration::from(-1.0..=1.0).with_scale(0.0)),
        ("another number of values", Declaration::from(-1.0..=1.0).with_len(1)),
        ("other slots", Declaration::from(-1.0..=1.0).with_slots(1)),
    ] {
        refused!(record, why, Evaluator::admit(server, x, declared));
        refused!(record, why, Evaluator::publish(server, x, declared));
    }
    let client = &party(Preset::Insecure(Toy::Functions), &Needs::new(), 1).client;
    let pair = &client.encrypt(&[0.5, -0.25], Paired(-1.0..=1.0)).unwrap();
    refused!(record, "too narrow", Evaluator::publish_paired(server, pair, -0.5..=0.5));
    refused!(record, "too narrow", Evaluator::admit_paired(server, pair, -0.5..=0.5));

    refused!(record, "no keys", CircuitOps::bootstrap(bare, x));
    refused!(record, "no keys", CircuitOps::bootstrap_to(bare, x, scale));
    refused!(record, "no keys", CircuitOps::bootstrap_iterated(bare, x, 2));
    refused!(record, "no keys", Evaluator::with_auto_bootstrap(bare.clone()));
    let other =
        party(Preset::Insecure(Toy::Bootstrapping), &Needs::new().multiply().bootstrap(), 1);
    let (on, encrypt) = (&other.server, |range| other.client.encrypt(&[0.5], range).unwrap());
    let own = &encrypt(-1.0..=1.0);
    let spent = &on.drop_to_level(own, 0).unwrap();
    let wide = &encrypt(-2.0..=2.0);
    for (why, x) in [("no levels", spent), ("out of range", wide), ("other parameters", x)] {
        refused!(record, why, CircuitOps::bootstrap(on, x));
        refused!(record, why, CircuitOps::bootstrap_to(on, x, scale));
        refused!(record, why, Vectors::refreshed(on, x, scale));
        refused!(record, why, CircuitOps::bootstrap_iterated(on, x, 2));
    }
    for rounds in [0, 9, usize::MAX] {
        refused!(record, "no rounds", CircuitOps::bootstrap_iterated(on, own, rounds));
    }
    for bad in [f64::NAN, 0.0, -1.0] {
        refused!(record, "no scale", CircuitOps::bootstrap_to(on, own, bad));
    }
    refused!(record, "other parameters", CkksOps::add(server, x, own));
}
