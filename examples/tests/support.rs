//! The code that the programs in `examples/` share: arguments, tables, errors, output.

#[path = "../apps/table/entries.rs"]
mod entries;

use bellerophon::{Dense, Preset};
use clap::{FromArgMatches, Parser, ValueEnum};
use common::args::{Common, Data, WITH_LOOKUPS, WITH_VALUES, parse_numbers, parse_range};
use common::console::Stages;
use common::data::{Column, generated, load, load_table, read_table};
use common::facts::Facts;
use common::function::Function;
use common::memory;
use common::output::{self, write_out};
use common::program::{Defaults, Failure};
use common::stats::{Errors, close, equal, right_place, standardise};
use common::text::decode;
use common::unit::Unit;
use entries::{Entries, Sbox};

#[derive(Debug, Parser)]
struct Flags {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    data: Data,
    #[arg(long, value_parser = parse_range, allow_hyphen_values = true)]
    range: Option<[f64; 2]>,
}

fn parse(arguments: &[&str]) -> Result<Flags, clap::Error> {
    Flags::try_parse_from(std::iter::once(&"program").chain(arguments))
}

fn why(failure: Failure) -> String {
    match failure {
        Failure::Input(why) => why,
        Failure::Run(why) => panic!("this is the fault of the input, not of the run: {why}"),
    }
}

fn data(arguments: &[&str]) -> Data {
    parse(arguments).unwrap().data
}

#[test]
fn arguments_are_read_in_both_spellings() {
    for range in [&["--range=-8,8"][..], &["--range", "-8,8"]] {
        assert_eq!(parse(range).unwrap().range, Some([-8.0, 8.0]));
    }
    let flags = parse(&["--json", "--threads", "2", "--preset", "functions"]).unwrap();
    assert!(flags.common.json && !flags.common.small);
    assert_eq!(flags.common.threads, Some(2));
    assert_eq!(flags.common.preset().unwrap(), Preset::Functions);
    let dense = parse(&["--preset", "functions-dense"]).unwrap();
    assert_eq!(dense.common.preset().unwrap(), Preset::Dense(Dense::Functions));
    assert_eq!(parse(&[]).unwrap().common.preset().unwrap(), Preset::Functions);
}

#[test]
fn programs_have_defaults_of_their_own() {
    let command = |presets, threads| Defaults { presets, threads }.command::<Flags>();
    let parse = |presets, arguments: &[&str]| {
        let matches = command(presets, None)
            .try_get_matches_from(std::iter::once(&"program").chain(arguments))?;
        Common::from_arg_matches(&matches)
    };
    let own: &[&'static str] = &["small-ring", "functions"];
    assert_eq!(parse(own, &[]).unwrap().preset, "small-ring");
    assert_eq!(parse(own, &["--preset", "functions"]).unwrap().preset, "functions");
    for unknown in ["functions-dense", ""] {
        let refused = parse(own, &["--preset", unknown]).unwrap_err().to_string();
        assert!(refused.contains("small-ring, functions"), "{refused}");
    }
    let help = command(own, Some(1)).render_help().to_string();
    assert!(help.contains("[default: small-ring]") && help.contains("[default: 1]"), "{help}");
    let help = command(&WITH_LOOKUPS, None).render_help().to_string();
    assert!(help.contains("[default: functions]") && help.contains("one per core"), "{help}");
}

#[test]
fn presets_with_look_ups_have_them() {
    let with = Preset::ALL.into_iter().filter(|preset| preset.spec().unwrap().lookup.is_some());
    assert!(with.map(Preset::name).eq(WITH_LOOKUPS));
    let ring = |preset: &Preset| preset.spec().unwrap().ring_bridge.is_some();
    let with = Preset::ALL.into_iter().filter(|preset| preset.spec().unwrap().lookup.is_some());
    assert!(with.filter(ring).map(Preset::name).eq(WITH_VALUES));
}

#[test]
fn bad_arguments_are_refused() {
    for bad in [
        &["--threads", "0"][..],
        &["--threads", "-1"],
        &["--threads", "many"],
        &["--threads", "99999"],
        &["--range", "8"],
        &["--range", "8,-8"],
        &["--range", "0,nan"],
        &["--range", "0,inf"],
        &["--csv", "table.csv"],
        &["--unknown"],
        &["stray"],
    ] {
        assert!(parse(bad).is_err(), "{bad:?}");
    }
    assert!(parse_numbers::<3>("1,2").is_err());
    assert!(parse_numbers::<3>("1,2,x").is_err());
    assert_eq!(parse_numbers::<3>("1, -2.5,1e3"), Ok([1.0, -2.5, 1000.0]));
}

#[test]
fn the_iris_table_is_there() {
    for (column, first, last) in [
        ("sepal_length", 5.1, 5.9),
        ("sepal_width", 3.5, 3.0),
        ("petal_length", 1.4, 5.1),
        ("petal_width", 0.2, 1.8),
    ] {
        let read = load(&data(&["--column", column]), "").unwrap();
        assert_eq!(read.values.len(), 150);
        assert_eq!((read.values[0], read.values[149]), (first, last));
    }
    assert_eq!(load(&data(&[]), "petal_width").unwrap().name, "petal_width");
    let unknown = why(load(&data(&["--column", "height"]), "").unwrap_err());
    assert!(unknown.contains("'height'") && unknown.contains("sepal_length"), "{unknown}");
}

#[test]
fn declared_ranges_do_not_depend_on_columns() {
    for column in ["sepal_length", "sepal_width", "petal_length", "petal_width"] {
        let mut read = load(&data(&["--column", column]), "").unwrap();
        assert_eq!(read.declared(None).unwrap(), [0.0, 8.0]);
        assert_eq!(read.declared(Some([-1.0, 9.0])).unwrap(), [-1.0, 9.0]);
        read.values.truncate(2);
        assert_eq!(read.declared(None).unwrap(), [0.0, 8.0]);
        read.values[1] = 123.456;
        let refused = why(read.declared(None).unwrap_err());
        assert!(refused.contains("row 2") && refused.contains(column), "{refused}");
        assert!(!refused.contains("123"), "{refused}");
    }
    assert_eq!(generated([-3.0, 5.0], 10, 1).declared(None).unwrap(), [-3.0, 5.0]);
    // A table of the user has no range unless one is given.
    let path = std::env::temp_dir().join(format!("bellerophon-range-{}.csv", std::process::id()));
    std::fs::write(&path, "sepal_length\n1.5\n2.5\n").unwrap();
    let flags = data(&["--csv", &path.display().to_string(), "--column", "sepal_length"]);
    let read = load(&flags, "");
    std::fs::remove_file(&path).unwrap();
    let read = read.unwrap();
    assert!(why(read.declared(None).unwrap_err()).contains("--range LO,HI"));
    assert_eq!(read.declared(Some([1.0, 3.0])).unwrap(), [1.0, 3.0]);
    assert!(why(read.declared(Some([2.0, 3.0])).unwrap_err()).contains("row 1"));
}

#[test]
fn a_column_is_read_as_it_stands() {
    let table = decode("\u{feff}a, b ,\"c, d\"\r\n1,-2.5e3,x\r\n\"3\", 4 ,y\r\n".as_bytes(), "t");
    let table = table.unwrap();
    let read = |column: &str| read_table(table, "t", &[column.into()]).unwrap().rows;
    assert_eq!(read("a"), [[1.0], [3.0]]);
    assert_eq!(read("b"), [[-2500.0], [4.0]]);
}

#[test]
fn bad_tables_name_source_row_and_column() {
    for (table, column, parts) in [
        ("", "a", &["t.csv", "empty"][..]),
        ("a,b\n", "a", &["t.csv", "no rows"]),
        ("a,b\n1,2\n", "c", &["no column 'c'", "a, b"]),
        ("a,a\n1,2\n", "a", &["'a' appears more than once"]),
        ("a,b\n1,2\n3,x\n", "b", &["row 2 (line 3)", "column 'b'", "the cell is not a number"]),
        ("a,b\n1,2\n3,\n", "b", &["row 2", "is empty"]),
        ("a,b\n1,NaN\n", "b", &["row 1", "the cell is not finite"]),
        ("a,b\n1,1e999\n", "b", &["row 1", "not finite"]),
        ("a,b\n1,2\n3\n", "a", &["row 2", "found 1 cells where the header has 2"]),
    ] {
        let text = why(read_table(table, "t.csv", &[column.into()]).unwrap_err());
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
    let secret = why(read_table("a\n1\n73911O\n", "t", &["a".into()]).unwrap_err());
    assert!(!secret.contains("73911"), "{secret}");
    let binary = why(decode(b"a,b\n1,\xff\n", "t.csv").unwrap_err());
    assert_eq!(binary, "t.csv: line 2: not UTF-8; save the file as UTF-8");
    for utf_16 in [&b"\xff\xfea\0\n\0"[..], b"\xfe\xff\0a\0\n"] {
        let found = why(decode(utf_16, "t.csv").unwrap_err());
        assert_eq!(found, "t.csv: the text is UTF-16; save the file as UTF-8");
    }
    let missing = why(load(&data(&["--csv", "no/such/file", "--column", "a"]), "").unwrap_err());
    assert!(missing.contains("no/such/file"), "{missing}");
}

/// What spreadsheets leave at the end of a file holds no row.
#[test]
fn blank_lines_at_the_end_are_no_rows() {
    for end in ["", "\n", "\n\n", "\n  \n", "\n,\n", "\r\n\r\n", "\n,\n,\n\n"] {
        let text = format!("a,b\n1,2\n3,4{end}");
        assert_eq!(read_table(&text, "t", &[]).unwrap().rows, [[1.0, 2.0], [3.0, 4.0]], "{text:?}");
        let text = format!("a\n1\n3{}", end.replace(',', ""));
        assert_eq!(read_table(&text, "t", &[]).unwrap().rows, [[1.0], [3.0]], "{text:?}");
    }
    let inside = why(read_table("a,b\n1,2\n,\n3,4\n", "t", &[]).unwrap_err());
    assert!(inside.contains("row 2 (line 3), column 'a': the cell is empty"), "{inside}");
    assert!(why(read_table("a,b\n,\n", "t", &[]).unwrap_err()).contains("no rows"));
}

#[test]
fn a_first_line_of_numbers_is_no_header() {
    for (text, columns) in [
        ("5.1,3.5\n4.9,3.0\n", &[][..]),
        ("98765\n4.9\n", &[]),
        ("5.1,,98765\n4.9,3.0,1.4\n", &[]),
        ("NaN,98765\n4.9,3.0\n", &[]),
        ("5.1,98765\n4.9,3.0\n", &["a"]),
        ("5.1,98765\n4.9,3.0\n", &["5.1", "a"]),
    ] {
        let columns: Vec<String> = columns.iter().map(|name| name.to_string()).collect();
        let found = why(read_table(text, "t.csv", &columns).unwrap_err());
        assert!(found.starts_with("t.csv: the first line holds numbers"), "{found}");
        assert!(found.contains("put a line of names above it") && !found.contains("98765"));
    }
    // Years may be names, of columns that are asked for, or beside other names.
    let wide = read_table("1990,1991\n1,2\n", "t", &["1991".into()]).unwrap();
    assert_eq!(wide.rows, [[2.0]]);
    let named = read_table("id,1990\n1,2\n", "t", &[]).unwrap();
    assert_eq!(named.rows, [[1.0, 2.0]]);
}

#[test]
fn other_separators_are_named() {
    for (text, expected) in [
        ("a;b\n1,5;2\n", "semicolons"),
        ("a;b;c, d\n1;2;3\n", "semicolons"),
        ("a\tb\n1\t2\n", "tabs"),
        ("\na\tb\n1\t2\n", "tabs"),
    ] {
        let found = why(read_table(text, "t", &["b".into()]).unwrap_err());
        let separated = format!("t: the cells are separated by {expected}; save the file with");
        assert!(found.starts_with(&separated), "{found}");
    }
    let quoted = read_table("\"a;b;c\",d\n1,2\n", "t", &[]).unwrap();
    assert_eq!(quoted.names, ["a;b;c", "d"]);
}

#[test]
fn files_are_read_in_one_place() {
    let path = std::env::temp_dir().join(format!("bellerophon-read-{}.csv", std::process::id()));
    std::fs::write(&path, "\u{feff}1\r\n0\r\n\r\n").unwrap();
    let entries = Entries::read(&path, None);
    std::fs::write(&path, "\u{feff}a\r\n1\r\n\r\n").unwrap();
    let table = load_table(Some(&path), &["a".to_string()]);
    std::fs::remove_file(&path).unwrap();
    let entries = entries.unwrap();
    assert_eq!(entries.values, [1, 0]);
    assert_eq!(table.unwrap().rows, [[1.0]]);
    let absent = why(Entries::read(&path, None).unwrap_err());
    assert!(absent.contains("bellerophon-read"), "{absent}");
}

#[test]
fn features_far_from_zero_are_centred() {
    let entered = |values: &[f64]| {
        let unit = Unit::of_feature(values.iter().copied());
        values.iter().map(|&x| unit.enter(x)).collect::<Vec<_>>()
    };
    assert_eq!(entered(&[1990.0, 2006.0, 2022.0]), [-1.0, 0.0, 1.0]);
    assert_eq!(entered(&[-2022.0, -1990.0]), [-1.0, 1.0]);
    // Others, and constants, are scaled about zero.
    assert_eq!(entered(&[20.0, 80.0, 40.0]), [0.25, 1.0, 0.5]);
    assert_eq!(entered(&[-1.0, 4.0]), [-0.25, 1.0]);
    assert_eq!(entered(&[2000.0, 2000.0]), [1.0, 1.0]);
    assert_eq!(entered(&[0.0, 0.0]), [0.0, 0.0]);
}

#[test]
fn units_map_ranges_onto_one_interval() {
    let ranges = [[1990.0, 2022.0], [1.6e9, 1.7e9], [0.0, 1e-6], [-1e308, 1e308], [-1.0, 1.0]];
    for [lo, hi] in ranges {
        let unit = Unit::of([lo, hi]);
        assert_eq!([unit.enter(lo), unit.enter(hi)], [-1.0, 1.0], "{lo} {hi}");
        for i in 0..=100 {
            let part = f64::from(i) / 100.0;
            let value = lo * (1.0 - part) + hi * part;
            let number = unit.enter(value);
            assert!((-1.0..=1.0).contains(&number));
            let ulps = f64::EPSILON * lo.abs().max(hi.abs());
            assert!((unit.leave(number) - value).abs() <= ulps, "{lo} {hi} {value}");
        }
    }
    // No float lies between these two ends.
    for ends in [[1e16, 1e16 + 2.0], [-1e16 - 2.0, -1e16]] {
        let unit = Unit::of(ends);
        assert_eq!(ends.map(|end| unit.leave(unit.enter(end))), ends);
    }
}

/// A tie is right with any of the tied places.
#[test]
fn tied_places_are_right() {
    let values = [0.5, 2.0, 1.0, 2.0];
    assert_eq!([0, 1, 2, 3].map(|found| right_place(&values, 1, found, 0.0)), [1, 1, 1, 3]);
    assert_eq!([0, 1, 2, 3].map(|found| right_place(&values, 1, found, 1.0)), [1, 1, 2, 3]);
}

#[test]
fn errors_and_debug_repeat_no_cell() {
    let silent = |text: &str| assert!(!text.contains("98765"), "{text}");
    for cell in ["987654x", "987654e999", "98765 4"] {
        let table = format!("a,b\n1,987654\n1,{cell}\n");
        let refused = read_table(&table, "t", &[]).unwrap_err();
        silent(&format!("{refused:?}"));
        let text = why(refused);
        assert!(text.contains("row 2 (line 3), column 'b'"), "{text}");
    }
    let table = read_table("a\n987654\n", "t", &[]).unwrap();
    silent(&format!("{table:?} {table:#?}"));
    let (source, name, documented) = ("t".into(), "a".into(), None);
    let column = Column { source, name, values: vec![987654.0], documented };
    silent(&format!("{column:?} {column:#?}"));
    silent(&why(column.check_within([-1.0, 1.0]).unwrap_err()));
}

#[test]
fn errors_are_compared_value_by_value() {
    let errors = Errors::between(&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.5, 2.75, 4.0]);
    assert_eq!((errors.max, errors.mean), (0.5, 0.1875));
    assert_eq!(errors.max_bits(), 1.0);
    assert_eq!(Errors::between(&[0.0, 0.0], &[f64::NAN, 0.0]).max, f64::INFINITY);
}

#[test]
fn standardised_columns_have_mean_0_and_deviation_1() {
    let column = standardise(&[1.0, 2.0, 3.0, 6.0]).unwrap();
    assert_eq!((column.mean, column.deviation), (3.0, 3.5f64.sqrt()));
    let sum: f64 = column.values.iter().sum();
    let squares: f64 = column.values.iter().map(|x| x * x).sum();
    assert!(sum.abs() < 1e-12 && (squares - 4.0).abs() < 1e-12);

    assert_eq!(standardise(&[0.1]).unwrap().values, [0.0]);
    assert_eq!(standardise(&[0.1; 7]).unwrap().values, [0.0; 7]);
    assert!(standardise(&[1e308, 1e308, -1e308]).is_none());
    // Time stamps in nanoseconds, whose sum has fewer digits than they differ by.
    let near: Vec<f64> = (0..101).map(|i| 1.6e18 + 256.0 * f64::from(i)).collect();
    let column = standardise(&near).unwrap();
    let deviation = 256.0 * 850f64.sqrt();
    assert!((column.deviation / deviation - 1.0).abs() < 1e-12, "{}", column.deviation);
    assert!((column.values[0] + 12800.0 / deviation).abs() < 1e-12 && column.values[50] == 0.0);
    assert!(standardise(&[]).is_none());
}

#[test]
fn out_is_checked_before_and_written_once() {
    let folder = std::env::temp_dir().join(format!("bellerophon-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let at = |name: &str| folder.join(name).display().to_string();
    let check_out = |flags: Data| output::check_out(flags.out.as_deref(), flags.csv.as_deref());
    assert!(check_out(data(&[])).is_ok());
    assert!(check_out(data(&["--out", &at("new.csv")])).is_ok());
    assert!(!folder.join("new.csv").exists(), "checking writes nothing");
    assert!(check_out(data(&["--out", &at("no/such/folder.csv")])).is_err());
    assert!(check_out(data(&["--out", &folder.display().to_string()])).is_err());

    let path = folder.join("new.csv");
    write_out(Some(&path), &[5.1, 3.0], &[0.25, 0.5], &[0.2501, 0.4999]).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, "input,expected,got\n5.1,0.25,0.2501\n3,0.5,0.4999\n");
    let same =
        check_out(data(&["--csv", &at("new.csv"), "--column", "a", "--out", &at("new.csv")]));
    assert!(why(same.unwrap_err()).contains("file to be read"));
    assert!(check_out(data(&["--out", &at("new.csv")])).is_ok());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "checking keeps what is there");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn facts_are_one_object_in_order() {
    let row = |k: usize| Facts::default().with("k", k).with("key_bytes", 2048 * k);
    let stages = Stages::default();
    stages.run("work", || ());
    stages.made(5);
    let facts = Facts::default()
        .with("z", 0.5)
        .with("a", "text")
        .with("none", None::<f64>)
        .rows("rows", (1..3).map(row))
        .stages(&stages);
    let text = serde_json::to_string(&facts).unwrap();
    let begin = r#"{"z":0.5,"a":"text","none":null,"rows":[{"k":1,"key_bytes":2048},"#;
    assert!(text.starts_with(begin), "{text}");
    assert!(text.contains(r#""stages":{"work":"#), "{text}");
    assert!(text.ends_with(r#""stage_bytes":{"work":5}}"#), "{text}");
    assert_eq!([facts.number("z"), facts.number("a"), facts.number("b")], [Some(0.5), None, None]);
}

#[test]
fn shares_count_close_and_equal_results() {
    assert_eq!(close(&[1.0, 2.0, 3.0, 4.0], &[1.1, 2.5, 3.0, f64::NAN], 0.2), 0.5);
    assert_eq!(equal(&[1, 2, 3, 4], &[1, 2, 0, 4]), 0.75);
}

#[test]
fn memory_is_reported_where_the_system_says() {
    if cfg!(target_os = "linux") {
        let peak = memory::peak_rss_bytes().unwrap();
        assert!(peak > 1 << 20, "a running process takes more than a megabyte: {peak}");
    }
    assert_eq!(memory::human(512), "512 B");
    assert_eq!(memory::human(3 << 29), "1.5 GiB");
}

#[test]
fn functions_are_finite_on_their_default_ranges() {
    for function in Function::value_variants() {
        let ([lo, hi], [a, b, c]) = (function.default_range(), function.default_quadratic());
        function.check_range([lo, hi]).unwrap();
        for i in 0..=1000 {
            let t = i as f64 / 1000.0;
            assert!(function.value(lo + (hi - lo) * t).is_finite(), "{function:?}");
            let x = -4.0 + 8.0 * t;
            let v = a * x * x + b * x + c;
            assert!((lo..=hi).contains(&v), "{function:?} of {v} for x = {x}");
        }
    }
    assert!(Function::Reciprocal.check_range([-1.0, 1.0]).is_err());
    assert!(Function::Reciprocal.check_range([0.0, 1.0]).is_err());
    assert!(Function::Exp.check_range([0.0, 1e4]).is_err());
}

#[test]
fn functions_have_their_known_values() {
    use Function::{Abs, Exp, Reciprocal, Relu, Sigmoid, Sign, Sin, Sqrt, Tanh};
    for (function, v, value) in [
        (Sigmoid, 0.0, 0.5),
        (Tanh, 0.0, 0.0),
        (Relu, -3.0, 0.0),
        (Relu, 3.0, 3.0),
        (Sqrt, 6.25, 2.5),
        (Sqrt, -6.25, 2.5),
        (Abs, -0.75, 0.75),
        (Sin, std::f64::consts::FRAC_PI_6, 0.5),
        (Reciprocal, -4.0, -0.25),
        (Sign, -0.5, -1.0),
        (Sign, 0.0, 0.0),
        (Sign, 0.5, 1.0),
        (Exp, 1.0, std::f64::consts::E),
    ] {
        assert!((function.value(v) - value).abs() < 1e-15, "{function:?}({v})");
    }
    assert!((Sigmoid.value(1.5) + Sigmoid.value(-1.5) - 1.0).abs() < 1e-15);
}

#[test]
fn whole_tables_are_read_and_bad_cells_are_named() {
    let table = read_table("a, b\n1,2\n-3,4e1\n", "table", &[]).unwrap();
    assert_eq!(table.names, ["a", "b"]);
    assert_eq!(table.rows, [[1.0, 2.0], [-3.0, 40.0]]);
    assert_eq!(table.place("b").unwrap(), 1);
    assert!(why(table.place("c").unwrap_err()).contains("a, b"));
    let columns = ["c", "a"].map(String::from);
    let table = read_table("a,b,c\n1,x,2\n3,,4\n", "table", &columns).unwrap();
    assert_eq!((table.names, table.rows), (columns.into(), vec![vec![2.0, 1.0], vec![4.0, 3.0]]));
    for (text, expected) in [
        ("a,b\n1,x\n", "row 1 (line 2), column 'b': the cell is not a number"),
        ("a,b\n1,2\n1,\n", "row 2 (line 3), column 'b': the cell is empty"),
        ("a,b\n1,inf\n", "is not finite"),
        ("a,b\n1\n", "found 1 cells where the header has 2"),
        ("a,a\n1,2\n", "'a' appears more than once"),
        ("a,b\n", "no rows"),
        ("", "empty"),
    ] {
        let found = why(read_table(text, "table", &[]).unwrap_err());
        assert!(found.starts_with("table: ") && found.contains(expected), "{found}");
    }
    assert_eq!(load_table(None, &[]).unwrap().rows.len(), 150);
}

#[test]
fn labels_are_zero_and_one_and_both() {
    let labels = |text: &str| read_table(text, "t", &[]).unwrap().labels(1);
    assert_eq!(labels("a,y\n5,0\n6,1\n7,0\n").unwrap(), [false, true, false]);
    for text in ["a,y\n5,1\n6,1\n", "a,y\n5,0\n6,0\n7,-0\n", "a,y\n5,1\n"] {
        let found = why(labels(text).unwrap_err());
        assert_eq!(found, "t: column 'y' has only one label: need rows of both, 0 and 1");
    }
    let other = why(labels("a,y\n5,1\n6,98765\n").unwrap_err());
    assert!(other.starts_with("t: row 2, column 'y'") && !other.contains("98765"), "{other}");
}

#[test]
fn columns_of_integers_are_checked() {
    let column = |values: &[f64]| {
        let (source, name) = ("table".to_string(), "k".to_string());
        Column { source, name, values: values.to_vec(), documented: None }
    };
    assert_eq!(column(&[0.0, 3.0, -0.0]).integers_below(4).unwrap(), [0, 3, 0]);
    for bad in [4.0, -1.0, 1.5, 1e300] {
        let found = why(column(&[0.0, bad]).integers_below(4).unwrap_err());
        assert_eq!(found, "table: row 2, column 'k': need a whole number from 0 to 3");
    }
}

#[test]
fn tables_of_integers_are_read() {
    let parse = |text: &str, modulus| Entries::parse("t".into(), text, modulus);
    let table = parse("1\n0\r\n 3 \n2\n \n\n", None).unwrap();
    assert_eq!((table.modulus, &*table.name), (4, "t"));
    assert_eq!(table.values, [1, 0, 3, 2]);
    assert_eq!(parse("0\n0\n", None).unwrap().modulus, 2);
    assert_eq!(parse("1\n0\n", Some(65536)).unwrap().modulus, 65536);
    assert_eq!(parse("65535\n0\n", None).unwrap().modulus, 65536);
    for (text, modulus, expected) in [
        ("", None, "0 entries"),
        ("1\n", None, "1 entries"),
        ("1\nx\n", None, "line 2: the entry is not a whole number"),
        ("1;0;3\n", None, "line 1: there are several cells: need one entry per line"),
        ("1\n0\t3\n", None, "line 2: there are several cells"),
        ("1\n-1\n", None, "line 2"),
        ("1\n\n2\n", None, "line 2"),
        ("\n1\n2\n", None, "line 1"),
        ("0.5\n1\n", None, "line 1"),
        ("65536\n1\n", None, "line 1: the entry is not below 65536"),
        ("1\n5\n", Some(5), "line 2: the entry is not below 5"),
    ] {
        let found = why(parse(text, modulus).unwrap_err());
        assert!(found.starts_with("t: ") && found.contains(expected), "{found}");
    }
    let most = "7\n".repeat(1 << 16);
    assert_eq!(parse(&most, None).unwrap().values.len(), 1 << 16);
    assert!(why(parse(&format!("{most}7\n"), None).unwrap_err()).contains("65537 entries"));
}

#[test]
fn substitution_boxes_are_those_of_the_standards() {
    // FIPS 197, Figure 7: the first row, and the example {53}.
    let aes = Sbox::AES.entries();
    let first = [0x63, 0x7c, 0x77, 0x7b, 0xf2, 0x6b, 0x6f, 0xc5, 0x30, 0x01, 0x67, 0x2b];
    assert_eq!(aes[..12], first);
    assert_eq!((aes.len(), aes[0x53], aes[0xff]), (256, 0xed, 0x16));
    let simplified = [9, 4, 10, 11, 13, 1, 8, 5, 6, 2, 0, 3, 12, 14, 15, 7];
    assert_eq!(Sbox::SIMPLIFIED.entries(), simplified);
}
