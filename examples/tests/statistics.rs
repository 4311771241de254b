//! The statistics of the program `statistics`, for columns that its client scales.

#[allow(dead_code, reason = "the program uses all of it")]
#[path = "../apps/statistics/columns.rs"]
mod columns;
#[allow(dead_code, reason = "the program uses all of it")]
#[path = "../apps/statistics/moments.rs"]
mod moments;

use bellerophon::{
    circuits::{
        approx::{Accuracy, Approximation, Function, Known},
        statistics::DataTable,
    },
    ckks::{
        Interval, LevelGroup, ModulusChain, Params, ParamsSpec, Security, simulator::Simulator,
    },
};
use columns::{Columns, Origin};
use common::data::{self, load_table, read_table};
use common::program::Failure;
use moments::{Statistic, Truth};

fn columns(text: &str, declared: Option<[f64; 2]>) -> Result<Columns, String> {
    let origin = if declared.is_some() { Origin::Declared } else { Origin::Own };
    Columns::of(read_table(text, "t.csv", &[]).unwrap(), origin, declared).map_err(|e| match e {
        Failure::Input(why) => why,
        Failure::Run(why) => panic!("this is the fault of the input, not of the run: {why}"),
    })
}

fn column(values: impl IntoIterator<Item = f64>) -> String {
    values.into_iter().fold("v\n".to_string(), |text, v| format!("{text}{v:?}\n"))
}

/// All statistics of a table by the functions of the server, on the simulator: results in units of
/// the data, with the largest predicted noise, in units of the scaled data.
fn computed(data: &Columns) -> Vec<(Vec<f64>, f64)> {
    let table = DataTable::new(data.rows.len(), data.names.len()).unwrap();
    let inverse = Function::from(Known::InverseSqrt);
    let root = Approximation::new(&inverse, 1.0 / 256.0, 1.0, Accuracy::bits(20.0)).unwrap();
    let levels = DataTable::correlation_levels(&root);
    let chain = ModulusChain {
        degree: 1 << 9,
        first_bits: 57,
        levels: vec![LevelGroup::single(45, levels)],
        special: (50, 3),
    };
    let params = ParamsSpec::from_chain(&chain, 45, Security::Insecure).and_then(Params::new);
    let simulator = Simulator::new(&params.unwrap());
    let range = Interval::real(-1.0, 1.0).unwrap();
    let x = simulator.encrypt(&table.pack(&data.scaled).unwrap(), range, levels).unwrap();
    let mut variances = vec![];
    let mut all = vec![];
    for statistic in Statistic::ALL {
        let operand = statistic.operand(&x, &variances);
        let results = statistic.of(&simulator, &table, operand, &root).unwrap();
        let slots: Vec<Vec<f64>> = results.iter().map(|result| result.reals()).collect();
        let noise = results.iter().map(|result| result.metadata().noise()).fold(0.0, f64::max);
        let scaled = statistic.read(&table, data.names.len(), &slots).unwrap();
        all.push((
            statistic.in_units(data, &scaled),
            noise / statistic.error_unit(data.rows.len()),
        ));
        if statistic == Statistic::Variance {
            variances = results;
        }
    }
    all
}

/// The statistics of one column, beside a mean and a variance that are known otherwise.
#[track_caller]
fn check(data: &Columns, mean: f64, variance: f64) {
    let truth = Truth::of(&data.scaled);
    let (n, half) = (data.rows.len() as f64, data.unit(0).half);
    let units = [n * half, half, half * half, half, half * half, 1.0, 1.0];
    let known = [n * mean, mean, variance, variance.sqrt(), variance, 1.0];
    for ((statistic, (got, noise)), unit) in
        Statistic::ALL.into_iter().zip(computed(data)).zip(units)
    {
        let expected = statistic.in_units(data, &statistic.expected(&data.scaled, &truth));
        assert_eq!(got.len(), expected.len());
        // Relative to the spread of the column, beside the digits that `f64` has.
        let allowed = 1e-4 * unit + 1e-14 * n * mean.abs();
        for (got, expected) in got.iter().zip(&expected) {
            assert!((got - expected).abs() < allowed, "{statistic:?}: {got} {expected}");
        }
        if let Some(known) = known.get(statistic as usize) {
            assert!((got[0] - known).abs() < allowed, "{statistic:?}: {} {known}", got[0]);
        }
        assert!(noise < 1e-4, "{statistic:?}: noise {noise:e}");
    }
}

#[test]
fn years_times_and_prices_are_right_without_flags() {
    let years = columns(&column((1990..=2022).map(f64::from)), None).unwrap();
    assert_eq!((years.origin, years.ranges[0]), (Origin::Own, [1990.0, 2022.0]));
    check(&years, 2006.0, (33.0 * 33.0 - 1.0) / 12.0);

    // A day of time stamps, one every half hour, in seconds and in nanoseconds.
    let spread = (48.0 * 48.0 - 1.0) / 12.0;
    for second in [1.0, 1e9] {
        let at = |i: i32| 1.6e9 * second + 1800.0 * second * f64::from(i);
        let stamps = columns(&column((0..48).map(at)), None).unwrap();
        let step = 1800.0 * second;
        check(&stamps, 1.6e9 * second + 23.5 * step, spread * step * step);
    }
    // Prices near 1e-6 that differ by parts of it, and values near each other far from zero.
    for (least, step) in [(1e-6, 1e-8), (1e6, 1e-6), (-1e15, 1.0)] {
        let prices = columns(&column((0..21).map(|i| least + step * f64::from(i))), None).unwrap();
        let step = (prices.ranges[0][1] - prices.ranges[0][0]) / 20.0;
        check(&prices, least + 10.0 * step, (21.0 * 21.0 - 1.0) / 12.0 * step * step);
    }
}

#[test]
fn ranges_are_declared_documented_or_the_clients_own() {
    let text = column([1990.0, 2000.0, 2022.0]);
    let declared = columns(&text, Some([1900.0, 2100.0])).unwrap();
    assert_eq!(declared.ranges, [[1900.0, 2100.0]]);
    assert_eq!(declared.scaled, [[-0.1], [0.0], [0.22]]);
    let outside = columns(&text, Some([1900.0, 2000.0])).err().unwrap();
    assert!(outside.contains("row 3, column 'v'") && !outside.contains("2022"), "{outside}");

    let iris = Columns::of(load_table(None, &[]).unwrap(), Origin::Documented, None).unwrap();
    for (name, range) in iris.names.iter().zip(&iris.ranges) {
        assert_eq!(data::documented(None, name), Some(*range));
    }
    assert!(iris.scaled.iter().flatten().all(|x| x.abs() <= 1.0));
    // A table of the user has no documented range, whatever its columns are called.
    assert_eq!(data::documented(Some("t.csv".as_ref()), "petal_width"), None);
}

#[test]
fn columns_without_a_deviation_are_refused() {
    for (values, expected) in [
        (&[0.1; 9][..], "column 'v' has one value only"),
        (&[2000.0], "at least two rows"),
        (&[1e200, 2e200], "half the width"),
        (&[1e-200, 2e-200], "half the width"),
        (&[1e120, 1e120 + 1e105], "within 1e100 of zero"),
    ] {
        let found = columns(&column(values.iter().copied()), None).err().unwrap();
        assert!(found.starts_with("t.csv: ") && found.contains(expected), "{found}");
    }
}
