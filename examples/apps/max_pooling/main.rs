//! Max pooling of an encrypted image: the largest pixel of every patch.
//!
//! The client draws an image and encrypts it in one ciphertext. The server extracts the pixels from
//! their slots, finds the largest of every patch by a tournament of comparators, one look-up each,
//! and packs the results into slots again.

mod image;

use std::path::PathBuf;
use std::process::ExitCode;

use bellerophon::lwe::Headroom;
use common::prelude::*;
use common::stats;
use image::Image;

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
    program::report(Defaults::of(&WITH_VALUES), run)
}

fn run(arguments: &Arguments, _: &Console) -> Result<Facts, Failure> {
    let Arguments { common, tables, window, out, .. } = arguments;
    output::check_out(out.as_deref(), None)?;
    let side = common.size(arguments.side, SMALL, SIDE);
    let params = session::params(common)?;
    let fits = side <= LARGEST_SIDE && side * side <= params.slots();
    if side == 0 || !side.is_multiple_of(*window) || !fits {
        return Err(Failure::input(format!(
            "--side {side}: need a multiple of {window} up to {LARGEST_SIDE}, and side^2 up \
             to the {} slots of the preset {}",
            params.slots(),
            params.name()
        )));
    }
    let image = Image::draw(side, &mut random::seeded(SEED));
    let (mut session, level) = Session::with_tables(params, tables)?;

    let x = session.encrypt(&image.pixels, 0.0..=1.0, level)?;
    let y = session.follow(|server| {
        let room = Headroom::comparators((window * window).ilog2());
        let values = server.extract_for(&x, 0.0..=1.0, room)?;
        server.pack(&server.tables()?.max_pool(&values, side, *window)?)
    })?;
    let got = session.read(&y, POOLED)?;

    let (count, expected) = (got.len(), image.pooled(*window));
    let errors = Errors::between(&expected, &got);
    let first = image.windows(*window).into_iter().map(|places| image.pixels[places[0]]);
    output::write_out(out.as_deref(), &first.collect::<Vec<_>>(), &expected, &got)?;
    let right = [stats::close(&expected, &got, CLOSE), 1.0];
    // One look-up per comparator.
    Ok(session
        .outcome("max_pooling", count, session.engine(), &errors, right)
        .with("side", side)
        .with("window", window)
        .with("lookups", count * (window * window - 1)))
}
