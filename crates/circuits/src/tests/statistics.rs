//! Statistics of encrypted columns against the same on `f64`.

use bellerophon_ckks::{
    Ciphertext, CkksOps, ComposedOps, ErrorKind, KeyLevels, LevelGroup, ModulusChain, Params,
    ParamsSpec, Security,
};

use crate::approx::{Accuracy, Approximation, Function, Known};
use crate::statistics::DataTable;
use crate::tests::common;
use crate::tests::common::{World, refusal};

fn params(rank: usize) -> Params {
    params_with(rank, 3)
}

fn params_with(rank: usize, levels: usize) -> Params {
    let chain = ModulusChain {
        degree: 1 << (11 - rank),
        first_bits: 55,
        levels: vec![LevelGroup::single(45, levels)],
        special: (50, 2),
    };
    let mut spec = ParamsSpec::from_chain(&chain, 45, Security::Insecure).unwrap();
    spec.lattice.rank = rank;
    Params::new(spec).unwrap()
}

fn columns(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    (0..rows[0].len()).map(|c| rows.iter().map(|row| row[c]).collect()).collect()
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn covariance(x: &[f64], y: &[f64], divisor: f64) -> f64 {
    let (mx, my) = (mean(x), mean(y));
    x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum::<f64>() / divisor
}

/// Every row of the result holds the columns' values.
fn check(world: &World, table: &DataTable, ct: &Ciphertext, level: usize, expected: &[f64]) {
    assert_eq!(ct.level(), level);
    let all = world.evaluator().with_len(ct.clone(), table.slots()).unwrap();
    let rows = table.unpack(&world.decrypt::<f64>(&all));
    let allowed = 16.0 * ct.metadata().noise() + 1e-12;
    assert!(allowed < 1e-6);
    for row in rows.unwrap() {
        for (found, expected) in row.iter().zip(expected) {
            assert!((found - expected).abs() < allowed, "{found} {expected} {allowed:e}");
            assert!(ct.range().lo() - 1e-9 <= *expected && *expected <= ct.range().hi() + 1e-9);
        }
    }
}

#[test]
fn columns_of_any_shape() {
    for (rank, rows, count) in [(1, 37, 3), (2, 37, 3), (1, 64, 4), (1, 5, 1), (1, 2, 9), (1, 8, 1)]
    {
        let whole = DataTable::new(rows, count).unwrap();
        let world = World::of(params(rank), whole.keys(3).multiply(3), 1);
        let eval = world.evaluator();
        // Columns far from zero, of different widths; what a computation left in the padding.
        let rows: Vec<Vec<f64>> = (0..rows)
            .map(|_| {
                world
                    .reals(count)
                    .iter()
                    .enumerate()
                    .map(|(c, x)| x / (c + 1) as f64 + 0.5)
                    .collect()
            })
            .collect();
        let packed = whole.pack(&rows).unwrap();
        let x = eval.add_scalar(&world.encrypt_span(&packed), 0.25).unwrap();
        let rows: Vec<Vec<f64>> =
            rows.iter().map(|row| row.iter().map(|x| x + 0.25).collect()).collect();
        let columns = columns(&rows);
        let each = |f: &dyn Fn(&[f64]) -> f64| columns.iter().map(|c| f(c)).collect::<Vec<_>>();

        let level = if rows.len().is_power_of_two() { 3 } else { 2 };
        let sums = whole.sums(&eval, &x).unwrap();
        check(&world, &whole, &sums, level, &each(&|c| c.iter().sum()));
        check(&world, &whole, &whole.means(&eval, &x).unwrap(), 2, &each(&mean));
        for table in [whole, whole.sample().unwrap()] {
            let d = table.divisor();
            let variances = table.variances(&eval, &x).unwrap();
            check(&world, &table, &variances, 1, &each(&|c| covariance(c, c, d)));
            let square = eval.square(&x).unwrap();
            let squares: Vec<Vec<f64>> =
                columns.iter().map(|c| c.iter().map(|x| x * x).collect()).collect();
            let expected: Vec<f64> =
                columns.iter().zip(&squares).map(|(x, y)| covariance(x, y, d)).collect();
            let found = table.covariances(&eval, &x, &square).unwrap();
            check(&world, &table, &found, 0, &expected);

            let diagonals = table.covariance_matrix(&eval, &x).unwrap();
            let diagonals: Vec<Vec<f64>> = diagonals.iter().map(|ct| world.decrypt(ct)).collect();
            for (i, row) in table.symmetric(&diagonals).unwrap().iter().enumerate() {
                for (j, found) in row.iter().enumerate() {
                    let expected = covariance(&columns[i], &columns[j], d);
                    assert!((found - expected).abs() < 1e-8, "({i}, {j}): {found} {expected}");
                }
            }
        }

        let centred = eval.with_len(whole.centred(&eval, &x).unwrap(), whole.slots()).unwrap();
        assert_eq!(centred.level(), 1);
        let centred: Vec<f64> = world.decrypt(&centred);
        let means = each(&mean);
        let expected: Vec<Vec<f64>> =
            rows.iter().map(|row| row.iter().zip(&means).map(|(x, m)| x - m).collect()).collect();
        let expected = zero_padded(&whole, &expected);
        assert!(common::max_error(&centred, &expected) < 1e-9, "padding included");
    }
}

/// The slots of a table with zeros in its padding.
fn zero_padded(table: &DataTable, rows: &[Vec<f64>]) -> Vec<f64> {
    let stride = table.slots() / rows.len().next_power_of_two();
    let mut slots = vec![0.0; table.slots()];
    for (i, row) in rows.iter().enumerate() {
        slots[i * stride..][..row.len()].copy_from_slice(row);
    }
    slots
}

#[test]
fn columns_divided_by_their_deviation() {
    let root =
        Approximation::new(&Function::from(Known::InverseSqrt), 0.01, 0.5, Accuracy::bits(17.0))
            .unwrap();
    let levels = DataTable::correlation_levels(&root);
    for (rows, count) in [(37, 3), (16, 2)] {
        let table = DataTable::new(rows, count).unwrap().sample().unwrap();
        let world = World::of(params_with(1, levels), table.keys(levels), 3);
        let eval = world.evaluator();
        let rows: Vec<Vec<f64>> = (0..rows)
            .map(|_| {
                let x = world.reals(count);
                (0..count).map(|c| x[c] * 0.8 / (c + 1) as f64 + 0.3 * x[0]).collect()
            })
            .collect();
        let columns = columns(&rows);
        let means: Vec<f64> = columns.iter().map(|c| mean(c)).collect();
        let spread = |c: &[f64]| covariance(c, c, table.divisor());
        assert!(columns.iter().all(|c| (0.01..0.5).contains(&spread(c))));
        let x = world.encrypt_span(&table.pack(&rows).unwrap());
        let close = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 4e-5, "{found} {expected}");
        };

        let variances = table.variances(&eval, &x).unwrap();
        let deviations = table.standard_deviations(&eval, &variances, &root).unwrap();
        assert_eq!(deviations.level(), levels - 2 - root.levels() - 1);
        let found: Vec<f64> = world.decrypt(&deviations);
        columns.iter().zip(&found).for_each(|(c, &found)| close(found, spread(c).sqrt()));

        let scaled = table.standardised(&eval, &x, &root).unwrap();
        assert_eq!(scaled.level(), levels - DataTable::standardised_levels(&root));
        let found: Vec<f64> = world.decrypt(&eval.with_len(scaled, table.slots()).unwrap());
        let expected: Vec<Vec<f64>> = rows
            .iter()
            .map(|row| {
                (0..count).map(|c| (row[c] - means[c]) / spread(&columns[c]).sqrt()).collect()
            })
            .collect();
        let expected = zero_padded(&table, &expected);
        expected.iter().zip(&found).for_each(|(&e, &f)| close(f, e));

        let diagonals = table.correlations(&eval, &x, &root).unwrap();
        assert!(diagonals.iter().all(|ct| ct.level() == 0));
        let diagonals: Vec<Vec<f64>> = diagonals.iter().map(|ct| world.decrypt(ct)).collect();
        for (i, row) in table.symmetric(&diagonals).unwrap().iter().enumerate() {
            for (j, &found) in row.iter().enumerate() {
                let both = (spread(&columns[i]) * spread(&columns[j])).sqrt();
                close(found, covariance(&columns[i], &columns[j], table.divisor()) / both);
            }
        }
    }
}

#[test]
fn what_is_no_table_is_refused() {
    assert!(matches!(refusal(&DataTable::new(0, 2)).kind(), ErrorKind::Shape));
    assert!(DataTable::new(2, 0).is_err() && DataTable::new(usize::MAX, 2).is_err());
    assert!(DataTable::new(1 << 40, 1 << 40).is_err());
    assert!(DataTable::new(1, 2).unwrap().sample().is_err());
    let table = DataTable::new(6, 2).unwrap();
    assert!(table.pack(&vec![vec![0.5; 2]; 5]).is_err());
    assert!(table.pack(&vec![vec![0.5; 3]; 6]).is_err());
    assert!(table.unpack(&[0.0; 15]).is_err());

    let world = World::of(params(1), KeyLevels::default().multiply(3), 2);
    let eval = world.evaluator();
    let x = world.encrypt_span(&table.pack(&vec![vec![0.5; 2]; 6]).unwrap());
    let error = table.variances(&eval, &x).unwrap_err();
    assert!(
        error.op() == "DataTable::variances"
            && error.is(&ErrorKind::MissingKey { need: "rotate" }, "rotation of"),
        "{error}"
    );
    let low = eval.drop_to_level(&x, 0).unwrap();
    let error = table.means(&eval, &low).unwrap_err();
    assert!(
        error.op() == "DataTable::means" && matches!(error.kind(), ErrorKind::OutOfLevels { .. }),
        "{error}"
    );
    let short = world.encrypt_span(&[0.5; 8]);
    let error = table.means(&eval, &short).unwrap_err();
    assert!(error.is(&ErrorKind::Shape, "8 slots: need"), "{error}");
    let complex = world.encrypt_span(&world.complex(16));
    let error = table.means(&eval, &complex).unwrap_err().to_string();
    assert!(error.contains("complex"), "{error}");
}

/// Columns without a partner meet the next row, and their range says so.
#[test]
fn ranges_hold_in_slots_without_meaning() {
    let table = DataTable::new(3, 3).unwrap();
    let world = World::of(params_with(1, 3), table.keys(3), 3);
    let x = world.encrypt_span(&table.pack(&vec![vec![1.0; 3]; 3]).unwrap());
    let matrix = table.covariance_matrix(&world.evaluator(), &x).unwrap();
    let mut least = 0.0f64;
    for entry in &matrix {
        let range = entry.meta().bounds.slots();
        for found in world.decrypt::<f64>(entry) {
            assert!(range.lo() - 1e-6 <= found && found <= range.hi() + 1e-6, "{found} {range:?}");
            least = least.min(found);
        }
    }
    assert!((least + 1.0 / 3.0).abs() < 1e-6, "{least}");
}

/// A coarse root makes deviations and correlations too large, and their ranges say so.
#[test]
fn ranges_allow_for_the_error_of_the_root() {
    let root =
        Approximation::new(&Function::from(Known::InverseSqrt), 0.05, 1.0, Accuracy::bits(1.0))
            .unwrap();
    // What comes of the correlation of a column of this spread with itself: at its largest.
    let off = |spread: &f64| spread * root.eval(spread * spread);
    let spreads = (0..100).map(|i| 0.3 + 0.006 * f64::from(i));
    let spread = spreads.max_by(|a, b| off(a).total_cmp(&off(b))).unwrap();
    assert!(off(&spread) > 1.05);

    let table = DataTable::new(4, 2).unwrap();
    let level = DataTable::correlation_levels(&root);
    let world = World::of(params_with(1, level), table.keys(level), 5);
    let eval = world.evaluator();
    let row = |sign: f64| vec![sign * spread, sign * spread];
    let rows = [1.0, -1.0, 1.0, -1.0].map(row);
    let x = world.encrypt_span(&table.pack(&rows).unwrap());
    let variances = table.variances(&eval, &x).unwrap();
    world.check(
        &table.standard_deviations(&eval, &variances, &root).unwrap(),
        &[spread * off(&spread); 8],
    );
    let correlations = table.correlations(&eval, &x, &root).unwrap();
    let squared = off(&spread).powi(2);
    world.check(&correlations[0], &[squared; 8]);
    // The last column has no partner: it meets the next row, of the other sign.
    world.check(&correlations[1], &[squared, -squared].repeat(4));
}

#[test]
fn tables_that_cannot_be_are_refused() {
    assert!(matches!(refusal(&DataTable::new(1, 1 << 62)).kind(), ErrorKind::Shape));
    assert!(matches!(refusal(&DataTable::new(usize::MAX, 1)).kind(), ErrorKind::Shape));
    let wide = DataTable::new(1, 1 << 15).unwrap();
    assert!(matches!(refusal(&wide.pack(&[vec![1.0]])).kind(), ErrorKind::Shape));
}

/// The padding of a table lies in a declared range without zero, and counts for nothing.
#[test]
fn tables_of_ranges_without_zero() {
    for (rows, count) in [(5, 3), (3, 1), (8, 3)] {
        let table = DataTable::new(rows, count).unwrap();
        let world = World::of(params(1), table.keys(3).multiply(3), 1);
        let values: Vec<Vec<f64>> = (0..rows)
            .map(|i| (0..count).map(|j| 10.0 + ((i * 7 + j * 3) % 11) as f64).collect())
            .collect();
        let range = bellerophon_ckks::Interval::real(10.0, 20.0).unwrap();
        let x = world.encrypt_in(&table.pack(&values).unwrap(), range, 3);
        let means = table.means(&world.evaluator(), &x).unwrap();
        let expected: Vec<f64> = columns(&values).iter().map(|c| mean(c)).collect();
        check(&world, &table, &means, means.level(), &expected);
        let variances = table.variances(&world.evaluator(), &x).unwrap();
        let expected: Vec<f64> =
            columns(&values).iter().map(|c| covariance(c, c, rows as f64)).collect();
        check(&world, &table, &variances, variances.level(), &expected);
    }
}

/// A table whose rows are one value: every row has the same error, and the sum has 64 times that.
#[test]
fn rows_that_share_an_error_add_up_amplitudes() {
    let table = DataTable::new(64, 1).unwrap();
    let world = World::of(params(1), table.keys(3).multiply(3), 5);
    let eval = world.evaluator();
    let row = eval.replicate_slot(&world.encrypt_span(&[0.75; 64]), 0).unwrap();
    let sums = table.sums(&eval, &row).unwrap();
    let rms = |x: &Ciphertext, exact: f64| {
        let found: Vec<f64> = world.decrypt(x);
        (found.iter().map(|v| (v - exact).powi(2)).sum::<f64>() / found.len() as f64).sqrt()
    };
    let (row_noise, noise) = (row.metadata().noise(), sums.metadata().noise());
    assert!(rms(&sums, 48.0) <= 1.5 * noise && noise >= 64.0 * row_noise, "{noise:e}");
    assert!(noise < 65.0 * row_noise, "{noise:e}");
    // So has a covariance of a column with its rotation; rows with errors of their own count
    // variances.
    let x = world.encrypt_span(&[0.75; 64]);
    let turned = eval.rotate(&x, 1).unwrap();
    let covariance = |y| table.covariances(&eval, &x, y).unwrap().metadata().noise();
    let other = world.encrypt_span(&[0.75; 64]);
    assert!(covariance(&turned) > 4.0 * covariance(&other));
    let own = table.sums(&eval, &x).unwrap().metadata().noise();
    assert!(own < noise / 16.0, "{own:e}");
}
