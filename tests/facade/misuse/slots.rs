//! Arithmetic, rotations and levels of slots.

use bellerophon::{
    Ciphertext, ClientKey, Declaration, Evaluator, Needs, Paired, Preset, Toy,
    circuits::{
        diagonals::Diagonals,
        lintrans::{LinearOptions, LinearTransform},
        statistics::Table,
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
        refused_on_slots!(record, why, server, CkksOps::add(x, y));
        refused_on_slots!(record, why, server, CkksOps::sub(y, x));
        refused_on_slots!(record, why, server, CkksOps::mul(x, y));
        refused!(record, why, CkksOps::mul_no_rescale(server, x, y));
        refused!(record, why, Evaluator::add_many(server, &[x, y]));
        refused!(record, why, CkksOps::add_many(server, &[x, y]));
        refused!(record, why, CkksOps::mul_add_many(server, &[(x, y)], &[], 0.0, None));
        refused_on_slots!(
            record,
            why,
            server,
            CkksOps::linear_combination(&[(x, 1.0), (y, 1.0)], 0.0, None)
        );
        refused_on_slots!(
            record,
            why,
            server,
            CkksOps::dot_values(&[x, y], &[vec![0.5; 3], vec![0.5; 3]])
        );
        refused_on_slots!(record, why, server, ComposedOps::dot(&[x, x], &[x, y]));
    }
    let y = foreign;
    let why = "another key";
    refused_on_slots!(record, why, server, CkksOps::neg(y));
    refused_on_slots!(record, why, server, CkksOps::square(y));
    refused!(record, why, CkksOps::square_no_rescale(server, y));
    refused_on_slots!(record, why, server, CkksOps::add_scalar(y, 1.0));
    refused_on_slots!(record, why, server, CkksOps::mul_scalar(y, 0.5));
    refused_on_slots!(record, why, server, CkksOps::mul_integer(y, 3));
    refused_on_slots!(record, why, server, CkksOps::mul_i(y));
    refused_on_slots!(record, why, server, CkksOps::mul_complex(y, Complex64::I));
    refused_on_slots!(record, why, server, CkksOps::add_values(y, &[0.5; 3]));
    refused_on_slots!(record, why, server, CkksOps::mul_values(y, &[0.5; 3]));
    refused!(record, why, CkksOps::mul_values_to(server, y, &[0.5; 3], scale));

    let why = "no keys";
    refused_on_slots!(record, why, bare, CkksOps::mul(x, x));
    refused_on_slots!(record, why, bare, CkksOps::square(x));
    refused!(record, why, CkksOps::mul_no_rescale(bare, x, x));
    refused!(record, why, CkksOps::square_no_rescale(bare, x));
    refused!(record, why, CkksOps::mul_add_many(bare, &[(x, x)], &[], 0.0, None));
    refused_on_slots!(record, why, bare, ComposedOps::dot(&[x], &[x]));

    let why = "no levels";
    refused_on_slots!(record, why, server, CkksOps::mul(spent, spent));
    refused_on_slots!(record, why, server, CkksOps::square(spent));
    refused_on_slots!(record, why, server, CkksOps::mul_scalar(spent, 0.3));
    refused_on_slots!(record, why, server, CkksOps::mul_complex(spent, Complex64::new(0.3, 0.1)));
    refused_on_slots!(record, why, server, CkksOps::mul_values(spent, &[0.5; 3]));
    refused!(record, why, CkksOps::mul_values_to(server, spent, &[0.5; 3], scale));
    refused!(record, why, CkksOps::mul_add_many(server, &[(spent, spent)], &[], 0.0, None));
    refused_on_slots!(record, why, server, CkksOps::linear_combination(&[(spent, 0.3)], 0.0, None));
    refused_on_slots!(record, why, server, CkksOps::dot_values(&[spent], &[vec![0.5; 3]]));
    refused_on_slots!(record, why, server, ComposedOps::dot(&[spent], &[spent]));

    for bad in BAD {
        let why = format!("the number {bad}");
        refused_on_slots!(record, why, server, CkksOps::add_scalar(x, bad));
        refused_on_slots!(record, why, server, CkksOps::mul_scalar(x, bad));
        refused_on_slots!(record, why, server, CkksOps::mul_complex(x, Complex64::new(0.0, bad)));
        refused_on_slots!(record, why, server, CkksOps::add_values(x, &[0.5, bad, 0.5]));
        refused_on_slots!(record, why, server, CkksOps::mul_values(x, &[0.5, bad, 0.5]));
        refused!(record, why, CkksOps::mul_values_to(server, x, &[0.5, bad, 0.5], scale));
        refused!(record, why, CkksOps::mul_values_to(server, x, &[0.5; 3], bad));
        refused_on_slots!(record, why, server, CkksOps::dot_values(&[x], &[vec![0.5, bad, 0.5]]));
        refused_on_slots!(record, why, server, CkksOps::linear_combination(&[(x, bad)], 0.0, None));
        refused_on_slots!(record, why, server, CkksOps::linear_combination(&[(x, 1.0)], bad, None));
        refused_on_slots!(
            record,
            why,
            server,
            CkksOps::linear_combination(&[(x, 1.0)], 0.0, Some(bad))
        );
        refused!(record, why, CkksOps::mul_add_many(server, &[(x, x)], &[(x, bad)], 0.0, None));
        refused!(record, why, CkksOps::mul_add_many(server, &[(x, x)], &[], bad, None));
    }
    let why = "a large number";
    refused_on_slots!(record, why, server, CkksOps::mul_scalar(x, 1e300));
    refused_on_slots!(record, why, server, CkksOps::add_scalar(x, 1e300));
    refused_on_slots!(record, why, server, CkksOps::mul_complex(x, Complex64::new(1e300, 0.0)));
    refused_on_slots!(record, why, server, CkksOps::mul_values(x, &[1e300; 3]));
    refused_on_slots!(record, why, server, CkksOps::add_values(x, &[1e300; 3]));
    for k in [i64::MAX, i64::MIN] {
        refused_on_slots!(record, why, server, CkksOps::mul_integer(spent, k));
    }

    for values in [&[][..], &[0.5], &[0.5; 4], &[0.5; 5000]] {
        let why = format!("{} values", values.len());
        refused_on_slots!(record, why, server, CkksOps::add_values(x, values));
        refused_on_slots!(record, why, server, CkksOps::mul_values(x, values));
        refused!(record, why, CkksOps::mul_values_to(server, x, values, scale));
        refused_on_slots!(record, why, server, CkksOps::dot_values(&[x], &[values.to_vec()]));
    }
    let why = "no operands";
    refused!(record, why, Evaluator::add_many::<Ciphertext>(server, &[]));
    refused!(record, why, CkksOps::add_many(server, &[]));
    refused_on_slots!(record, why, server, ComposedOps::dot(&[], &[]));
    refused_on_slots!(record, why, server, CkksOps::linear_combination(&[], 0.0, None));
    refused!(record, why, CkksOps::mul_add_many(server, &[], &[], 0.0, None));
    refused!(record, why, Evaluator::dot_values::<f64>(server, &[], &[]));
    refused_on_slots!(record, "unequal counts", server, ComposedOps::dot(&[x], &[x, x]));
    refused_on_slots!(
        record,
        "unequal counts",
        server,
        CkksOps::dot_values(&[x, x], &[vec![0.5; 3]])
    );
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
        refused_on_slots!(record, why, on, CkksOps::rotate(x, 1));
        refused_on_slots!(record, why, on, CkksOps::rotate(x, i64::MIN + 1));
        refused_on_slots!(record, why, on, CkksOps::rotate_many(x, &[1, 2]));
        refused_on_slots!(record, why, on, CkksOps::sum_of_rotations(&[(x, &[0, 1][..])]));
        refused_on_slots!(record, why, on, CkksOps::conjugate(x));
        refused_on_slots!(record, why, on, ComposedOps::sum_slots(x));
        refused_on_slots!(record, why, on, ComposedOps::inner_sum(x, 2, 1));
        refused_on_slots!(record, why, on, ComposedOps::replicate(x, 2, 1));
        refused_on_slots!(record, why, on, ComposedOps::replicate_slot(x, 0));
        refused_on_slots!(record, why, on, CircuitOps::transform(x, m));
    }
    refused_on_slots!(record, "no keys", bare, CkksOps::real_part(complex));
    let why = "another key";
    refused_on_slots!(
        record,
        why,
        server,
        CkksOps::real_part(&bare.mul_i(foreign).unwrap_or(foreign.clone()))
    );
    refused_on_slots!(record, why, server, ComposedOps::mask(foreign, 0..1));
    refused_on_slots!(record, why, server, ComposedOps::mask_slots(foreign, &[0]));
    refused_on_slots!(record, why, server, ComposedOps::clear_padding(foreign));

    let why = "no levels";
    refused_on_slots!(record, why, server, ComposedOps::replicate_slot(spent, 0));
    refused_on_slots!(record, why, server, ComposedOps::mask(spent, 0..1));
    refused_on_slots!(record, why, server, ComposedOps::mask_slots(spent, &[0]));
    refused_on_slots!(record, why, server, ComposedOps::clear_padding(spent));
    refused_on_slots!(record, why, server, CircuitOps::transform(spent, m));

    refused_on_slots!(record, "no operands", server, CkksOps::sum_of_rotations(&[]));
    refused_on_slots!(record, "no steps", server, CkksOps::sum_of_rotations(&[(x, &[][..])]));
    refused_on_slots!(
        record,
        "another length",
        server,
        CkksOps::sum_of_rotations(&[(x, &[1][..]), (short, &[1])])
    );
    for (count, stride) in [(0, 1), (5, 1), (usize::MAX, 1), (usize::MAX, i64::MIN)] {
        let why = format!("{count} at distance {stride}");
        refused_on_slots!(record, why, server, ComposedOps::inner_sum(x, count, stride));
        refused_on_slots!(record, why, server, ComposedOps::replicate(x, count, stride));
    }
    refused_on_slots!(record, "padding", server, ComposedOps::replicate_slot(x, 3));
    refused_on_slots!(record, "no slot", server, ComposedOps::replicate_slot(x, usize::MAX));
    refused_on_slots!(record, "no slots", server, ComposedOps::mask(x, 2..9));
    refused_on_slots!(record, "no slots", server, ComposedOps::mask(x, usize::MAX - 1..usize::MAX));
    refused_on_slots!(record, "no slot", server, ComposedOps::mask_slots(x, &[usize::MAX]));
    refused_on_slots!(record, "a larger matrix", server, CircuitOps::transform(x, &matrix(8, 1)));
    refused_on_slots!(record, "a smaller matrix", server, CircuitOps::transform(x, &matrix(2, 1)));
    for table in [Table::new(64, 64).unwrap(), Table::new(1, 2).unwrap()] {
        let (t, on) = (&table, server);
        refused!(record, "another shape", Table::sums(t, on, x));
        refused!(record, "another shape", Table::means(t, on, x));
        refused!(record, "another shape", Table::variances(t, on, x));
        refused!(record, "another shape", Table::covariances(t, on, x, x));
        refused!(record, "another shape", Table::covariance_matrix(t, on, x));
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
        refused_on_slots!(record, "a higher level", server, CkksOps::drop_to_level(spent, level));
        refused!(record, "a higher level", CkksOps::match_scale(server, spent, scale, level));
    }
    refused_on_slots!(record, "another key", server, CkksOps::drop_to_level(foreign, 1));
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
    refused!(record, "elsewhere", Evaluator::assume_range(server, x, 3.0..=4.0));
    refused!(record, "no number", Evaluator::assume_range(server, x, f64::NAN..=4.0));
    for range in [f64::NAN..=4.0, 1.0..=-1.0] {
        refused!(record, "no interval", Evaluator::keep_within(server.clone(), range));
    }
    for bad in [f64::NAN, f64::INFINITY] {
        let why = "no number for the padding";
        refused_on_slots!(record, why, server, ComposedOps::move_padding(x, bad));
    }
    refused!(record, "reversed", Evaluator::assume_range(server, x, 1.0..=-1.0));
    refused!(record, "too wide", Evaluator::assume_range(server, spent, -1e30..=1e30));
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        refused!(record, "no deviation", Evaluator::assume_noise(server, x, bad));
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

    refused_on_slots!(record, "no keys", bare, CircuitOps::bootstrap(x));
    refused!(record, "no keys", CircuitOps::bootstrap_to(bare, x, scale));
    refused_on_slots!(record, "no keys", bare, CircuitOps::bootstrap_iterated(x, 2));
    refused!(record, "no keys", Evaluator::with_auto_bootstrap(bare.clone()));
    let other =
        party(Preset::Insecure(Toy::Bootstrapping), &Needs::new().multiply().bootstrap(), 1);
    let (on, encrypt) = (&other.server, |range| other.client.encrypt(&[0.5], range).unwrap());
    let own = &encrypt(-1.0..=1.0);
    let spent = &on.drop_to_level(own, 0).unwrap();
    let wide = &encrypt(-2.0..=2.0);
    for (why, x) in [("no levels", spent), ("out of range", wide), ("other parameters", x)] {
        refused_on_slots!(record, why, on, CircuitOps::bootstrap(x));
        refused!(record, why, CircuitOps::bootstrap_to(on, x, scale));
        refused!(record, why, Vectors::refreshed(on, x, scale));
        refused_on_slots!(record, why, on, CircuitOps::bootstrap_iterated(x, 2));
    }
    for rounds in [0, 9, usize::MAX] {
        refused_on_slots!(record, "no rounds", on, CircuitOps::bootstrap_iterated(own, rounds));
    }
    for bad in [f64::NAN, 0.0, -1.0] {
        refused!(record, "no scale", CircuitOps::bootstrap_to(on, own, bad));
    }
    refused_on_slots!(record, "other parameters", server, CkksOps::add(x, own));
}
