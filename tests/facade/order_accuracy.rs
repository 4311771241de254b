//! The predicted error of functions of several values: against the noise that results carry, and
//! against measured errors from both sides.

use bellerophon::{ErrorKind, OrderFunction, SortOrder, prelude::*};

use crate::common::{Party, encrypt, errors, params_of, party, spread};

/// Root mean square of the differences.
fn rms(found: &[f64], expected: &[f64]) -> f64 {
    let squares: f64 = found.iter().zip(expected).map(|(f, e)| (f - e).powi(2)).sum();
    (squares / expected.len() as f64).sqrt()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// The first vector wins everywhere: a comparator computes `b + max(a - b, 0)`, so that each adds
/// its error. Where the last vector wins, none does.
#[test]
fn the_error_of_a_maximum_is_as_predicted() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 51);
    let values = spread(400, 0.25, 1.0);
    // Differences between 0.66 and 1.13, anywhere between the cells of a table.
    let low: Vec<f64> = values.iter().map(|v| 0.37 * v - 0.5).collect();
    let (x, y) = (encrypt(&client, &values, -1.0..=1.0), encrypt(&client, &low, -1.0..=1.0));
    for operands in [vec![&x, &y], vec![&x, &y, &y, &y]] {
        let function = OrderFunction::Max { vectors: operands.len() };
        let law = client.params().order_accuracy(-1.0..=1.0, function).unwrap();
        assert_eq!(law.comparators, operands.len().ilog2() as usize);
        let max = server.within(-1.0..=1.0).max(&operands).unwrap();
        // The noise that the result carries is the prediction of the worst case.
        let ratio = max.metadata().noise() / law.worst_rms;
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
        let found = client.decrypt(&max).unwrap();
        let ratio = rms(&found, &values) / law.rms;
        assert!((0.75..1.25).contains(&ratio), "{}: {ratio}", operands.len());
        assert!(errors(&found, values.iter().copied()).1 < law.max_abs(400 * 20));
    }
}

/// In a sort about half of the comparators change a given value, and some layers have none for it.
#[test]
fn the_error_of_sorted_values_is_as_predicted() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 52);
    let within = server.within(-1.0..=1.0);
    let (mut squares, mut runs) = (0.0, 0.0);
    let law = |function| client.params().order_accuracy(-1.0..=1.0, function).unwrap();
    let sort = law(OrderFunction::Sort { values: 8 });
    for shift in 0..6 {
        let mut values = spread(8, -1.0, 1.0);
        values.rotate_left(shift);
        let x = encrypt(&client, &values, -1.0..=1.0);
        let y = within.sort(&x, SortOrder::Ascending).unwrap();
        let ratio = y.metadata().noise() / sort.worst_rms;
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
        let found = client.decrypt(&y).unwrap();
        squares += rms(&found, &sorted(&values)).powi(2);
        runs += 1.0;
        // Consecutive values differ by 0.25, more than the gap: the order holds.
        assert!(sort.order_gap() < 0.25 && found.is_sorted(), "{} {found:?}", sort.order_gap());
        let three = client.decrypt(&within.largest(&x, 3).unwrap()).unwrap();
        let expected: Vec<f64> = sorted(&values).into_iter().rev().take(3).collect();
        let few = law(OrderFunction::Largest { values: 8, count: 3 });
        assert!(errors(&three, expected.into_iter()).1 < few.max_abs(3 * 20));
        let one = client.decrypt(&within.largest(&x, 1).unwrap()).unwrap();
        let single = law(OrderFunction::Largest { values: 8, count: 1 });
        assert_eq!(single.comparators, 3);
        assert!((one[0] - sorted(&values)[7]).abs() < single.max_abs(20));
    }
    let ratio = (squares / runs).sqrt() / sort.rms;
    assert!((0.35..1.2).contains(&ratio), "{ratio}");
}

#[test]
fn what_cannot_be_predicted_is_refused() {
    let params = params_of(Preset::Insecure(Toy::Functions));
    let refused = |domain, function| params.order_accuracy(domain, function).unwrap_err();
    let sort = OrderFunction::Sort { values: 4 };
    for domain in [1.0..=1.0, 2.0..=-2.0, f64::NAN..=1.0] {
        assert!(refused(domain, sort).is(&ErrorKind::Domain, "domain"));
    }
    for none in [
        OrderFunction::Max { vectors: 0 },
        OrderFunction::MaxPool { window: 0 },
        OrderFunction::Sort { values: 0 },
        OrderFunction::Largest { values: 3, count: 0 },
        OrderFunction::Largest { values: 3, count: 4 },
    ] {
        refused(0.0..=1.0, none);
    }
    let tables = params_of(Preset::Insecure(Toy::Tables));
    let error = tables.order_accuracy(0.0..=1.0, sort).unwrap_err();
    assert!(error.is(&ErrorKind::Unsupported, "' have no look-ups: take"), "{error}");
}
