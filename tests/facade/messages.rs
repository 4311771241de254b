//! What a user reads when a call is refused: the name of the method that was called, what is
//! missing by the method that asks for it, numbers that can be read. Each of these messages has
//! misled someone.

use std::{
    fs,
    ops::{Range, RangeInclusive},
    path::Path,
};

use bellerophon::{
    Engine, Error, Result,
    circuits::approx::{Accuracy, Approximation, Function, Known},
    ckks::{self, SeededCiphertext},
    format,
    prelude::*,
};

use crate::common::{Party, params_of, party};

/// The message of a refusal.
#[track_caller]
fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

/// A message begins with the method that was called, contains some words and not others.
#[track_caller]
fn check<T: std::fmt::Debug>(result: Result<T>, op: &str, with: &[&str], without: &[&str]) {
    let message = message(result);
    assert!(message.starts_with(&format!("{op}: ")), "{message}");
    for word in with {
        assert!(message.contains(word), "{word} is not in: {message}");
    }
    for word in without {
        assert!(!message.contains(word), "{word} is in: {message}");
    }
}

/// A bootstrap that the parameters do not have needs others first; one that they have, its keys.
#[test]
fn missing_bootstraps_say_what_would_help() {
    let toy = party(Preset::Insecure(Toy::Functions), &Needs::new().multiply(), 71);
    let x = toy.client.encrypt(&[0.5], -1.0..=1.0).unwrap();
    for refused in [
        toy.server.bootstrap(&x).map(drop),
        toy.server.bootstrap_iterated(&x, 2).map(drop),
        toy.server.clone().with_auto_bootstrap().map(drop),
    ] {
        let message = message(refused);
        assert!(message.contains(" bootstrapping"), "{message}");
        assert!(message.contains("`Preset::Bootstrapping`"), "{message}");
    }
    let other = party(Preset::Insecure(Toy::Bootstrapping), &Needs::new().multiply(), 71);
    let x = other.client.encrypt(&[0.5], -1.0..=1.0).unwrap();
    let refused = other.server.bootstrap(&x);
    check(refused, "bootstrap", &["`Needs::bootstrap`", "evaluation_keys"], &["KeyLevels"]);
    let refused = other.server.clone().with_auto_bootstrap();
    check(refused, "with_auto_bootstrap", &["`Needs::bootstrap`"], &[]);
    // Functional bootstraps come from operations of another crate, whose errors convert.
    let table: Result<IntVec> = party(Preset::Insecure(Toy::Tables), &Needs::new(), 72).table();
    assert!(message(table).contains("`Needs::functional`"));
}

impl Party {
    /// A table of an integer.
    fn table(&self) -> Result<IntVec> {
        let x = self.client.encrypt(&[1], Modulo(2))?;
        self.server.integers().table(&x, |k| 1 - k)
    }
}

/// The constant is what is too large, at any level: no level, and none of another vector.
#[test]
fn too_large_constants_say_how_large_they_may_be() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new(), 73);
    let x = client.encrypt(&[1.0, 2.0], -2.0..=2.0).unwrap();
    check(
        server.mul_scalar(&x, 1e30),
        "mul_scalar",
        &["the constant is too large", "several steps"],
        &["level", "1e30", "e30"],
    );
    // The stated limit is the limit.
    let refused = server.mul_scalar(&x, 1e30).unwrap_err();
    let limit: f64 = refused
        .message()
        .split("below ")
        .nth(1)
        .unwrap()
        .split(':')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    for (c, fits) in [(1.01 * limit, false), (0.99 * limit, true)] {
        let result = server.mul_scalar(&x, c);
        let constant = matches!(&result, Err(e) if e.to_string().contains("the constant"));
        assert_eq!(constant, !fits, "{result:?}");
    }
}

#[test]
fn numbers_of_results_are_named_as_such() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 74);
    let x = client.encrypt(&[0.5, 0.25, -0.5], -1.0..=1.0).unwrap();
    let within = server.within(-1.0..=1.0);
    let none = within.largest(&x, 0);
    check(none, "largest", &["0 results", "3 value(s)", "from 1 to 3"], &["either side"]);
    check(within.smallest(&x, 4), "smallest", &["4 results", "from 1 to 3"], &[]);
    let short = client.encrypt(&[0.5], -1.0..=1.0).unwrap();
    let refused = within.max(&[&x, &short]);
    check(refused, "max", &["3 values against 1", "`broadcast`"], &[]);
}

#[test]
fn missing_keys_are_named_by_the_request_for_them() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 75);
    let x = client.encrypt(&[0.5, 0.25, -0.5], -1.0..=1.0).unwrap();
    // The keys of `map` contain a relinearization key for the low levels only.
    check(server.mul(&x, &x), "mul", &["`Needs::multiply`"], &["KeyLevels", "level"]);
    check(server.square(&x), "square", &["`Needs::multiply`"], &[]);
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new(), 76);
    let x = client.encrypt(&[0.5, 0.25, -0.5], -1.0..=1.0).unwrap();
    let refused = server.rotate(&x, 1);
    check(refused, "rotate", &["`Needs::rotate`", "by 1"], &["[]", "compose", "KeyLevels"]);
    check(server.sum_slots(&x), "sum_slots", &["`Needs::sums`"], &["[]", "inner sum"]);
    check(server.conjugate(&x), "conjugate", &["`Needs::conjugate`"], &[]);
    check(server.map(&x, f64::abs), "map", &["`Needs::map`"], &[]);
    check(server.within(-1.0..=1.0).abs(&x), "abs", &["`Needs::map`"], &[]);
}

/// Lengths: the remedies are methods that exist.
#[test]
fn a_list_of_one_number_is_not_a_number() {
    let Party { client, server } =
        party(Preset::Insecure(Toy::Functions), &Needs::new().multiply(), 77);
    let x = client.encrypt(&[0.5, 0.25, -0.5], -1.0..=1.0).unwrap();
    let refused = server.mul_values(&x, &[2.0]);
    check(refused, "mul_values", &["3 values against 1", "`mul_scalar`", "`broadcast`"], &[]);
    check(server.add_values(&x, &[2.0]), "add_values", &["`add_scalar`"], &[]);
    let pair = client.encrypt(&[0.5, 0.25], -1.0..=1.0).unwrap();
    check(server.mul(&x, &pair), "mul", &["3 values against 2"], &[]);
    check(server.add(&pair, &x), "add", &["2 values against 3"], &[]);
}

/// Bytes of another known type are named, not numbered alone.
#[test]
fn objects_of_another_type_are_named() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new(), 78);
    let params = client.params();
    let x = client.encrypt(&[0.5], -1.0..=1.0).unwrap();
    let published = server.publish(&x, -1.0..=1.0).unwrap();
    let bytes = format::to_bytes(params, &published).unwrap();
    let refused = format::from_bytes::<SeededCiphertext>(params, &bytes);
    let text = message(refused);
    assert!(text.contains("published encrypted vector (type 0x0204)"), "{text}");
    assert!(text.contains("fresh encrypted vector (type 0x0202)"), "{text}");
}

/// Decimal numbers, not powers of two, where people choose the number.
#[test]
fn numbers_are_decimal() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 79);
    let x = client.encrypt(&[0.0], 0.0..=0.0).unwrap();
    let x = server.assume_range(&x, 0.0..=0.0).unwrap();
    let plan = |domain| {
        let table = MapRequest::new(f64::abs).over(domain).engines([Engine::Rgsw]);
        client.params().map_plan(&table).map(drop)
    };
    let wide = plan(-1e6..=1e6);
    let text = message(wide);
    assert!(text.contains("too wide") && text.contains("from 0.0156 to 4096 wide"), "{text}");
    assert!(message(plan(0.0..=1e-9)).contains("too narrow"));
    // A range beyond the modulus of a level.
    let low = server.drop_to_level(&x, 1).unwrap();
    let huge = (0..90).try_fold(server.add_scalar(&low, 1.0).unwrap(), |x, _| server.add(&x, &x));
    check(huge, "add", &["may reach", "level 1 holds values below"], &["up to 2^"]);
    // Errors as the caller stated them: no engine, no correction, no series.
    let power = ["2^-"];
    let x = client.encrypt(&[0.5], -1.0..=1.0).unwrap();
    let request = || MapRequest::new(|v: f64| v.max(0.0)).over(-1.0..=1.0);
    let refused = server.map_with(&x, &request().error(Accuracy::absolute(1e-4)));
    check(refused, "map", &["to an error of 1e-4 (", "poly: ", ", needed is 1e-4"], &power);
    let corrected = Needs::new().map_with([Engine::Corrected]);
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &corrected, 79);
    let x = client.encrypt(&[0.5], -1.0..=1.0).unwrap();
    let refused = server.map_with(&x, &request().typical(Accuracy::absolute(1e-6)));
    check(refused, "map", &["below 1e-6 was requested", "reach 5.", "e-4 at best"], &power);
    let smooth = params_of(Preset::Insecure(Toy::Smooth));
    let kink = Function::lipschitz("|x|", f64::abs, 1.0);
    let series =
        smooth.functional().unwrap().real_function(&kink, -1.0, 1.0, Accuracy::absolute(1e-4));
    let text = message(series.map(drop));
    assert!(text.contains("the requested error is 1e-4,") && !text.contains("2^-"), "{text}");
    // Noise in units of the distance between integers.
    let Party { client, server } =
        party(Preset::Insecure(Toy::Tables), &Needs::new().functional(), 79);
    let x = client.encrypt(&[1.0, 2.0], 0.0..=3.0).unwrap();
    let x = server.assume_noise(x, 0.25).unwrap();
    let table =
        server.integers().from_reals(&x, 4).and_then(|x| server.integers().table(&x, |k| k));
    let text = message(table);
    for words in ["the noise may reach 4", " of the distance", "of 4 entries tolerates 0."] {
        assert!(text.contains(words) && !text.contains("reach 2^"), "{text}");
    }
}

/// A program whose `main` returns the error prints its message.
#[test]
fn errors_print_their_message() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new(), 80);
    let x = client.encrypt(&[0.5, 0.25], -1.0..=1.0).unwrap();
    let error: Error = server.rotate(&x, 1).unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
    let structure = format!("{error:#?}");
    assert!(structure.contains("MissingKey") && structure.contains("by 1"), "{structure}");
}

/// A position is called one, and every argument that cannot be right gets a sentence of its own.
#[test]
fn arguments_are_refused_in_a_sentence_that_fits() {
    let Party { client, server } =
        party(Preset::Insecure(Toy::Functions), &Needs::new().sums(4), 81);
    let x = client.encrypt(&[0.5, 0.25, -0.5], -1.0..=1.0).unwrap();
    let nan = f64::NAN;
    let encrypt = |values: &[f64]| client.encrypt(values, -1.0..=1.0).map(drop);
    let disc = |radius: f64| ckks::Interval::complex(radius).map(drop);
    let map = |domain| client.params().map_plan(&MapRequest::new(f64::abs).over(domain)).map(drop);
    let fit = |lo, hi| {
        let exp = Function::from(Known::Exp);
        Approximation::new(&exp, lo, hi, Accuracy::bits(8.0)).map(drop)
    };
    let cases: [(Result<()>, &str, &str); 20] = [
        (encrypt(&[nan, 0.5]), "the value at position 0 of 2 is NaN", "value 0"),
        (encrypt(&[0.5, 2.0]), "the value at position 1 of 2 lies outside", "Interval::"),
        (server.mul_scalar(&x, nan).map(drop), "the constant is NaN or infinite", "position"),
        (server.add_scalar(&x, nan).map(drop), "the constant is NaN or infinite", "value 0"),
        (
            server.move_padding(&x, nan).map(drop),
            "the middle of the moved padding is NaN",
            "value 0",
        ),
        (server.assume_noise(x.clone(), -1.0).map(drop), "deviation of -1.0", "variance"),
        (server.assume_noise(x.clone(), nan).map(drop), "deviation of NaN", "variance"),
        (server.mask(&x, Range { start: 3, end: 1 }).map(drop), "slots 3..1", "slot 3 of"),
        (server.mask(&x, 2..5).map(drop), "slots 2..5: need a range", "slot 5"),
        (server.mask_slots(&x, &[7]).map(drop), "position 7 of 4 slots", "8"),
        (server.replicate_slot(&x, 3).map(drop), "position 3 of 3 values", "slots"),
        (server.inner_sum(&x, 0, 1).map(drop), "need 1 to 4", "power of two"),
        (server.replicate(&x, 0, 1).map(drop), "need 1 to 4", "power of two"),
        (disc(-1.0), "a disc of radius -1.0", "interval"),
        (map(0.5..=0.5), "positive width", "lower"),
        (map(RangeInclusive::new(1.0, 0.5)), "the lower end first", "width"),
        (map(nan..=0.5), "finite ends", "first"),
        (fit(0.5, 0.5), "positive width", "lower"),
        (fit(1.0, 0.5), "the lower end first", "finite"),
        (fit(0.0, 1e101), "at most 1e100", "first"),
    ];
    for (result, with, without) in cases {
        let message = message(result);
        assert!(message.contains(with), "{with} is not in: {message}");
        assert!(!message.contains(without), "{without} is in: {message}");
    }
    let declared = ckks::Declaration::from(-1.0..=1.0).with_noise(-1.0);
    let refused = message(server.publish(&x, declared));
    assert!(refused.contains("need a standard deviation"), "{refused}");
}

/// A vector that is too low for a bootstrap is not told to bootstrap.
#[test]
fn what_is_too_low_to_bootstrap_is_told_so() {
    let needs = Needs::new().multiply().bootstrap();
    let Party { client, server } = party(Preset::Insecure(Toy::Bootstrapping), &needs, 82);
    let x = client.encrypt(&[0.5], -1.0..=1.0).unwrap();
    let low = server.drop_to_level(&x, 0).unwrap();
    let with = ["from level", "this one is at level 0", "bootstrap it earlier"];
    check(server.bootstrap(&low), "bootstrap", &with, &["left", "needs"]);
    let with = ["bootstrap while the vector has the levels"];
    check(server.mul(&low, &low), "mul", &with, &["bootstrap before"]);
    let padded = client.encrypt(&[0.5; 3], -1.0..=1.0).unwrap();
    let moved = server.add_scalar(&padded, 1.0).unwrap();
    let low = server.drop_to_level(&moved, 0).unwrap();
    let with = ["padding", "while a level is left", "`clear_padding`"];
    check(server.inner_sum(&low, 2, 1), "inner_sum", &with, &["bootstrap"]);
}

/// All sources below a folder, in one text.
fn sources(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &sources(&path);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text += &fs::read_to_string(path).unwrap();
        }
    }
    text
}

/// Every `Type::name` in the messages of all crates is a method, a field or a variant.
#[test]
fn messages_name_what_exists() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let all = sources(crates);
    let mut found = 0;
    for name in
        ["ring", "mlwe", "ckks", "circuits", "lwe", "repack", "lookup", "pir", "bellerophon"]
    {
        let folder = crates.join(name).join("src/error");
        let source = match folder.is_dir() {
            true => sources(&folder),
            false => fs::read_to_string(folder.with_extension("rs")).unwrap(),
        };
        // The texts of messages: string literals of attributes and functions, not comments.
        let lines = source.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in lines {
            for (k, quoted) in line.split('`').enumerate() {
                let path = quoted.split(['(', ' ']).next().unwrap();
                let Some((_, member)) = path.rsplit_once("::").filter(|_| k % 2 == 1) else {
                    continue;
                };
                if member.contains('{') {
                    continue;
                }
                let known = [
                    format!("fn {member}("),
                    format!("fn {member}<"),
                    format!("pub {member}:"),
                    format!("    {member},"),
                    format!("    {member} = "),
                    format!("    {member}("),
                    format!("    {member} {{"),
                    format!("struct {member} "),
                    format!("enum {member} "),
                ];
                assert!(known.iter().any(|form| all.contains(form)), "{name}: {quoted}");
                found += 1;
            }
        }
    }
    assert!(found > 35, "{found}");
}
