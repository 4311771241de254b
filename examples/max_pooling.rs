//! Max pooling of an encrypted image: the largest pixel of every patch.
//!
//! The client draws an image and encrypts it in one ciphertext. The server extracts the pixels from
//! their slots, finds the largest of every patch by a tournament of comparators, one look-up each,
//! and packs the results into slots again.

#[path = "max_pooling/image.rs"]
mod image;

use std::path::PathBuf;
use std::process::ExitCode;

use bellerophon::lwe::Headroom;
use bellerophon::prelude::*;
use clap::Parser;
use common::args::{Common, Tables, WITH_VALUES};
use common::console::Console;
use common::output;
use common::program::{self, Defaults, Failure};
use common::random;
use common::session::{self, CLOSE, Outcome, Session};
use common::stats::Errors;
use image::Image;
use serde::Serialize;

/// The seed of the image.
const SEED: u64 = 15;

/// The declared range of the results: pixels, with the error of tables.
const POOLED: std::ops::RangeInclusive<f64> = -0.25..=1.25;

const SIDE: usize = 16;
const SMALL: usize = 8;
const LARGEST_SIDE: usize = 64;

/// Finds the largest pixel of every patch of an encrypted image
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    tables: Tables,

    /// Rows and columns of the image, a multiple of those of a patch, at most 64 [default: 16]
    #[arg(long, value_name = "N")]
    side: Option<usize>,

    /// Rows and columns of a patch
    #[arg(long, value_name = "2|4", default_value_t = 4, value_parser = parse_window)]
    window: usize,

    /// Write a table of input (the first pixel of the patch), expected and got, one line per patch
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

fn parse_window(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(window @ (2 | 4)) => Ok(window),
        _ => Err("expected 2 or 4".to_string()),
    }
}

fn main() -> ExitCode {
    let defaults = Defaults { presets: &WITH_VALUES, threads: None };
    program::run(defaults, |arguments: &Arguments| {
        output::check_out(arguments.out.as_deref(), None)?;
        let side = arguments.side.unwrap_or(if arguments.common.small { SMALL } else { SIDE });
        let params = session::params(&arguments.common)?;
        let window = arguments.window;
        if side == 0
            || !side.is_multiple_of(window)
            || side > LARGEST_SIDE
            || side * side > params.slots()
        {
            return Err(Failure::input(format!(
                "--side {side}: need a multiple of {window} up to {LARGEST_SIDE}, and side^2 up to \
                 the {} slots of the preset {}",
                params.slots(),
                params.name()
            )));
        }
        compute(arguments, params, &Image::draw(side, &mut random::seeded(SEED)))
    })
}

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct MaxPooling<'a> {
    #[serde(flatten)]
    outcome: Outcome<'a>,
    side: usize,
    window: usize,
    /// Look-ups, one per comparator.
    lookups: usize,
}

/// The protocol: client, server, client.
fn compute(arguments: &Arguments, params: Params, image: &Image) -> Result<(), Failure> {
    let console = Console::new(arguments.common.json);
    let (side, window) = (image.side, arguments.window);
    let (mut session, level) = Session::with_tables(params, &arguments.tables)?;

    let x = session.encrypt(&image.pixels, 0.0..=1.0, level)?;
    let y = session.follow(|server| {
        let room = Headroom::comparators((window * window).ilog2());
        let values = server.extract_for(&x, 0.0..=1.0, room)?;
        server.pack(&server.tables()?.max_pool(&values, side, window)?)
    })?;
    let y = session.publish(&y, POOLED)?;
    let got = session.decrypt(&y)?;

    let expected = image.pooled(window);
    let errors = Errors::between(&expected, &got);
    let close = got.iter().zip(&expected).filter(|(g, e)| (*g - *e).abs() <= CLOSE).count();
    let report = session.report(got.len(), session.engine(), &errors);
    let accuracy = close as f64 / got.len() as f64;
    let outcome = Outcome::new(&session, report, "max_pooling", [accuracy, 1.0]);
    let first: Vec<f64> =
        image.windows(window).iter().map(|places| image.pixels[places[0]]).collect();
    if let Some(path) = &arguments.out {
        output::write_out(path, &first, &expected, &got)?;
    }
    let lookups = got.len() * (window * window - 1);
    console.say(format_args!(
        "{side} x {side} pixels, patches of {window} x {window}: {lookups} comparators"
    ));
    outcome.say_parameters(&console);
    let shade = |v: &f64| [' ', '.', ':', '+', '*', '#'][(v.clamp(0.0, 1.0) * 5.99) as usize];
    let drawn = |values: &[f64], side: usize| -> Vec<String> {
        values.chunks(side).map(|line| line.iter().map(shade).collect()).collect()
    };
    let small = drawn(&got, side / window);
    for (i, line) in drawn(&image.pixels, side).iter().enumerate() {
        console.say(format_args!("{line}    {}", small.get(i).map_or("", String::as_str)));
    }
    console.values(&first, &expected, &got);
    outcome.say_costs(&console, "patches");
    console.say(format_args!("{:.1}% of the patches within a 64th", 100.0 * accuracy));
    let result = MaxPooling { side, window, lookups, outcome };
    if arguments.common.json { output::print_json(&result) } else { Ok(()) }
}
