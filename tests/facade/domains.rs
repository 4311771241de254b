//! Ranges and padding of what look-ups return: chains of them over one domain, and sums, in toy
//! dimensions.

use crate::common::{Party, encrypt, errors, params_of, party, spread};
use bellerophon::ckks::KeyLevels;
use bellerophon::lwe::{self, Headroom, SortOrder};
use bellerophon::prelude::*;
use bellerophon::{Bridge, Engine, ErrorKind, lookup};

#[track_caller]
fn within(y: &Ciphertext, lo: f64, hi: f64) {
    let range = y.range();
    assert!(lo <= range.lo() && range.hi() <= hi, "{range:?} is not within [{lo}, {hi}]");
}

/// Ten look-ups one after the other over one domain: the range stays, errors add up as independent
/// ones.
#[cfg(feature = "long-tests")]
#[test]
fn look_ups_chain_over_one_domain() {
    let needs = Needs::new().map().bridge(Bridge::Ring).bridge(Bridge::Linear);
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &needs, 51);
    let values = spread(200, -1.0, 1.0);
    let x = encrypt(&client, &values, -1.0..=1.0);
    for bridge in [Bridge::Ring, Bridge::Linear] {
        let mut y = x.clone();
        let mut first = 0.0;
        for step in 0..10 {
            let negation = MapRequest::new(|v| -v).over(-1.0..=1.0).bridge(bridge);
            let negation = negation.engines([Engine::Rgsw]);
            y = server.map_with(&y, &negation).unwrap();
            within(&y, -1.0, 1.0);
            if step == 0 {
                first = y.metadata().noise();
            }
        }
        let growth = y.metadata().noise() / first;
        assert!((growth / 10f64.sqrt() - 1.0).abs() < 0.05, "{growth}");
        let found = client.decrypt(&y).unwrap();
        let square: f64 = found.iter().zip(&values).map(|(a, b)| (a - b).powi(2)).sum();
        let ratio = (square / 200.0).sqrt() / y.metadata().noise();
        assert!((0.6..1.3).contains(&ratio), "{bridge:?}: {ratio}");
    }
}

/// Sorting, tables and comparisons of what sorting leaves, all over the domain of the values.
#[cfg(feature = "long-tests")]
#[test]
fn sorted_values_stay_in_their_domain() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 52);
    let domain = server.within(-1.0..=1.0);
    let values = spread(8, -1.0, 1.0);
    let x = encrypt(&client, &values, -1.0..=1.0);
    let sorted = domain.sort(&x, SortOrder::Ascending).unwrap();
    within(&sorted, -1.0, 1.0);
    let tables = |f: fn(f64) -> f64| MapRequest::new(f).engines([Engine::Rgsw]);
    let turned = server.map_with(&sorted, &tables(|v| -v)).unwrap();
    within(&turned, -1.0, 1.0);
    let down = domain.sort(&turned, SortOrder::Descending).unwrap();
    within(&down, -1.0, 1.0);
    let largest = domain.largest(&down, 3).unwrap();
    within(&largest, -1.0, 1.0);
    let mut expected: Vec<f64> = values.iter().map(|v| -v).collect();
    expected.sort_by(|a, b| b.total_cmp(a));
    let found = client.decrypt(&largest).unwrap();
    let (_, max) = errors(&found, expected[..3].iter().copied());
    assert!(max < 6.0 * largest.metadata().noise(), "{max} {}", largest.metadata().noise());
    // Again and again: the range stays, the excess grows, and guard bands grow with it.
    let inputs = spread(24, -1.0, 1.0);
    let mut again = encrypt(&client, &inputs, -1.0..=1.0);
    let mut excess = again.metadata().excess();
    for _ in 0..2 {
        again = domain.sort(&again, SortOrder::Ascending).unwrap();
        within(&again, -1.0, 1.0);
        // The excess counts amplitudes, as the bound does, and the noise variances.
        let noise = again.meta().noise;
        assert!(again.metadata().excess() > excess && noise.excess <= noise.bound);
        excess = again.metadata().excess();
    }
    // The tail of the excess is exponential: a third time takes a statement of the range.
    assert!(domain.sort(&again, SortOrder::Ascending).is_err());
    again = server.assume_range(&again, -1.0..=1.0).unwrap();
    again = domain.sort(&again, SortOrder::Ascending).unwrap();
    let mut expected = inputs;
    expected.sort_by(f64::total_cmp);
    let (_, max) = errors(&client.decrypt(&again).unwrap(), expected.into_iter());
    assert!(max < 6.0 * again.metadata().noise(), "{max} {}", again.metadata().noise());
    // Values at the very ends of the domain do not wrap, whatever noise moves them out of it.
    let ends: Vec<f64> = (0..24).map(|i| if i % 2 == 0 { -1.0 } else { 1.0 }).collect();
    let sorted = domain.sort(&encrypt(&client, &ends, -1.0..=1.0), SortOrder::Ascending).unwrap();
    let same = client.decrypt(&server.map_with(&sorted, &tables(|v| v)).unwrap()).unwrap();
    let expected = (0..24).map(|i| if i < 12 { -1.0 } else { 1.0 });
    assert!(errors(&same, expected).1 < 0.4, "{same:?}");
    // Decisions may be wrong by all of their range, and stay in it.
    let signs = server.map(&x, f64::signum).unwrap();
    within(&signs, -1.0, 1.0);
    let same = server.map_with(&signs, &tables(|v| v).over(-1.0..=1.0)).unwrap();
    let found = client.decrypt(&same).unwrap();
    for (found, value) in found.iter().zip(&values) {
        assert!((found - value.signum()).abs() < 0.1 || value.abs() < 0.05, "{value}: {found}");
    }
}

/// The slotwise median of nine, by a network of 20 comparators.
#[cfg(feature = "long-tests")]
#[test]
fn a_median_network_stays_in_its_domain() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 53);
    let domain = server.within(0.0..=1.0);
    let rows: Vec<Vec<f64>> = (0..9)
        .map(|i| (0..30).map(|j| f64::from((i * 37 + j * 53) % 101) / 100.0).collect())
        .collect();
    let mut lanes: Vec<Ciphertext> =
        rows.iter().map(|row| encrypt(&client, row, 0.0..=1.0)).collect();
    let compare = |lanes: &mut Vec<Ciphertext>, i: usize, j: usize| {
        let pair = [&lanes[i], &lanes[j]];
        let (min, max) = (domain.min(&pair).unwrap(), domain.max(&pair).unwrap());
        (lanes[i], lanes[j]) = (min, max);
        within(&lanes[i], 0.0, 1.0);
        within(&lanes[j], 0.0, 1.0);
    };
    // Every row of three in order, then every column, then a diagonal.
    let three = [(0, 1), (1, 2), (0, 1)];
    for row in [0, 3, 6] {
        three.iter().for_each(|(i, j)| compare(&mut lanes, row + i, row + j));
    }
    // The largest of the smallest, the median of the medians, the smallest of the largest.
    compare(&mut lanes, 0, 3);
    compare(&mut lanes, 3, 6);
    three.iter().for_each(|(i, j)| compare(&mut lanes, 1 + 3 * i, 1 + 3 * j));
    compare(&mut lanes, 5, 8);
    compare(&mut lanes, 2, 5);
    for (i, j) in [(2, 4), (4, 6), (2, 4)] {
        compare(&mut lanes, i, j);
    }
    let found = client.decrypt(&lanes[4]).unwrap();
    let median = |j: usize| {
        let mut column: Vec<f64> = rows.iter().map(|row| row[j]).collect();
        column.sort_by(f64::total_cmp);
        column[4]
    };
    let noise = lanes[4].metadata().noise();
    let (_, max) = errors(&found, (0..30).map(median));
    assert!(max < 5.0 * noise && noise < 0.1, "{max} {noise}");
    assert!(max > 0.05 * noise, "suspiciously exact: {max} {noise}");
}

/// Look-ups over the carried range: of a constant, of a range that rounding has widened, of one
/// that is too narrow or too wide.
#[test]
fn the_carried_range_is_the_domain() {
    let Party { client, server } =
        party(Preset::Insecure(Toy::Functions), &Needs::new().multiply().map(), 54);
    let values = [0.5, -1.5, 2.0];
    let x = encrypt(&client, &values, -2.0..=2.0);
    let square = server.square(&x).unwrap();
    let table = |f: fn(f64) -> f64| MapRequest::new(f).engines([Engine::Rgsw]);
    let y = server.map_with(&square, &table(f64::sqrt)).unwrap();
    within(&y, 0.0, 2.0);
    // The range of a polynomial includes its error.
    let y = server.map(&square, f64::sqrt).unwrap();
    within(&y, -0.01, 2.01);
    assert!(errors(&client.decrypt(&y).unwrap(), values.iter().map(|v| v.abs())).1 < 0.2);
    let same = server.map_with(&x, &MapRequest::new(f64::exp).over(-2.0..=2.0)).unwrap();
    let carried = server.map(&x, f64::exp).unwrap();
    assert_eq!(same.metadata(), carried.metadata());
    for (lo, hi) in [(5.0, 5.0), (0.0, 0.0), (-1e6, -1e6 + 1e-4), (1e-12, 1e-12)] {
        let x = encrypt(&client, &[lo; 4], lo..=hi);
        let y = server.map(&x, |v| v + 1.0).unwrap();
        let found = client.decrypt(&y).unwrap();
        assert!(
            errors(&found, [lo + 1.0; 4].into_iter()).1 < 1e-3 * lo.abs().max(1.0),
            "{lo}: {found:?}"
        );
        assert!(y.range().lo() <= lo + 1.0 && lo + 1.0 <= y.range().hi());
    }
    for range in [0.0..=1e-3, -1e5..=1e5] {
        let x = encrypt(&client, &[*range.end()], range);
        let refused = server.map_with(&x, &table(f64::exp)).unwrap_err();
        assert!(
            refused.is(&ErrorKind::Domain, "wide: multiply the values by a constant"),
            "{refused}"
        );
        assert!(refused.to_string().contains("multiply the values"), "{refused}");
    }
}

#[test]
fn sums_of_few_results_leave_padding_out() {
    sums_of_results_leave_padding_out(&[3, 5]);
}

#[cfg(feature = "long-tests")]
#[test]
fn sums_of_many_results_leave_padding_out() {
    sums_of_results_leave_padding_out(&[150]);
}

/// Padding is zero: sums of results are those of their values, and the range of the slots has the
/// zero.
fn sums_of_results_leave_padding_out(counts: &[usize]) {
    let level = params_of(Preset::Insecure(Toy::Functions)).levels();
    let keys = KeyLevels::default().sum_slots(1024, level);
    let needs = Needs::new()
        .map_with([Engine::Corrected])
        .bridge(Bridge::Ring)
        .bridge(Bridge::Linear)
        .keys(&keys);
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &needs, 55);
    let shifted = |v: f64| 4.0 + v.sin();
    let tables = server.tables().unwrap();
    for &count in counts {
        let values = spread(count, -1.0, 1.0);
        let x = encrypt(&client, &values, -1.0..=1.0);
        let of = |f: &dyn Fn(f64) -> f64| values.iter().map(|&v| f(v)).sum::<f64>();
        let exact = of(&shifted);
        let over = |bridge| server.map_with(&x, &MapRequest::new(shifted).bridge(bridge)).unwrap();
        let many = MapRequest::many(&[&shifted, &f64::exp]).over(-1.0..=1.0);
        let both = server.map_many(&[&x], &many).unwrap();
        let packed = server.map_many(&[&x], &many.packed()).unwrap().remove(0);
        let read = server.extract(&x, -1.0..=1.0).unwrap();
        let room = lwe::OutputEncoding::Fit(Headroom { terms: 2, levels: 0 });
        let read = tables.map(&read, shifted, room).unwrap();
        let bits = server.extract(&x, -1.0..=1.0).unwrap();
        let above = |v: f64| f64::from(u8::from(v > -2.0));
        let bits = tables.map(&bits, above, room).unwrap();
        let within = server.within(-1.0..=5.0);
        let moved = server.add_values(&x, &vec![4.0; count]).unwrap();
        let accuracy = Accuracy::absolute(shifted(1.0) / 512.0);
        let sines = server
            .map_with(&x, &MapRequest::new(shifted).over(-1.0..=1.0).typical(accuracy))
            .unwrap();
        let results = [
            ("map", over(Bridge::Ring), exact),
            ("map over the linear bridge", over(Bridge::Linear), exact),
            ("maps", both[0].clone(), exact),
            ("maps", both[1].clone(), of(&f64::exp)),
            ("maps packed", packed, exact + of(&f64::exp)),
            ("map to", sines, exact),
            ("pack", server.pack(&read).unwrap(), exact),
            ("pack ends", server.pack_ends(&bits, 2).unwrap(), count as f64),
            ("sort", within.sort(&moved, SortOrder::Ascending).unwrap(), of(&|v| 4.0 + v)),
            ("abs", within.abs(&moved).unwrap(), of(&|v| 4.0 + v)),
            ("largest", within.largest(&moved, count).unwrap(), of(&|v| 4.0 + v)),
        ];
        for (op, y, exact) in results {
            let slots = y.metadata().meta.bounds.slots();
            assert!(slots.lo() <= 0.0 && 0.0 <= slots.hi(), "{op}: {slots:?}");
            assert!(y.range().lo() <= slots.hi() && y.len() < y.meta().slots);
            let found = client.decrypt(&server.sum_slots(&y).unwrap()).unwrap()[0];
            let bound = 6.0 * (y.len() as f64).sqrt() * y.metadata().noise() + 1e-3;
            let slack = bound.min(0.45 * y.range().lo().max(0.2));
            assert!((found - exact).abs() < slack, "{op} of {count}: {found} for {exact}");
        }
    }
    // Rows that do not touch: zero between them, which the range includes.
    let x = encrypt(&client, &[0.5, -0.5, 1.0], -1.0..=1.0);
    let moved = server.add_values(&x, &[4.0; 3]).unwrap();
    let values = server.extract_for(&moved, 3.0..=5.0, Headroom { terms: 2, levels: 0 }).unwrap();
    let layout = lookup::Layout::new(8, &[1, 6, 4]).unwrap();
    let y = server.pack_in(&values, &layout, 2).unwrap();
    within(&y, 0.0, 5.0);
    let found = client.decrypt(&y).unwrap();
    let expected = [0.0, 4.5, 0.0, 0.0, 5.0, 0.0, 3.5, 0.0];
    assert!(errors(&found, expected.into_iter()).1 < 0.01, "{found:?}");
}
