//! A ReLU network of three layers on a thousand encrypted images at once, by two functional
//! bootstraps.
//!
//! The network (64 pixels, 32 and 16 neurons, 10 classes) has small integers as weights, sums and
//! activations ([`integers`]), so that the encrypted network equals the clear one bit for bit: sums
//! are exact modulo 256, and ReLU, rescaling and rounding together are one exact table of 256
//! entries.
//!
//! Value `i` of image `k` is in slot `i count + k`: one slot per image in a block, 32 blocks in a
//! vector. The client encrypts the pixels in two such vectors. A layer is a block matrix: a few
//! rotations by multiples of `count` at the lowest levels. One functional bootstrap computes its
//! activations for all neurons and all images.

#[path = "digits/images.rs"]
mod images;
#[path = "digits/integers.rs"]
mod integers;

use std::path::PathBuf;
use std::process::ExitCode;

use bellerophon::ckks::KeyLevels;
use bellerophon::ckks::fbt::{IntTable, IntVec};
use bellerophon::ckks::lintrans::{LinearOptions, LinearTransform};
use bellerophon::ckks::matrix::Matrix;
use bellerophon::prelude::*;
use clap::Parser;
use common::args::Common;
use common::console::Console;
use common::output;
use common::program::{self, Defaults, Failure};
use common::random;
use common::session::{self, Outcome, Session};
use common::stats::Errors;
use images::{CLASSES, Image, PIXELS, SIDE};
use integers::{IntegerLayer, Network, SHADES, TOP, Training};
use serde::Serialize;

/// The seed of the network before training.
const SEED: u64 = 2;

/// Images for the training of the network; the others are encrypted. No writer has images in both
/// parts except the one at the border.
const TRAINED_ON: usize = 773;

/// The default number of images.
const IMAGES: usize = 1024;
const SMALL: usize = 4;

/// The widths of the layers, from the pixels to the classes; `--small` has one layer less.
const WIDTHS: [usize; 4] = [PIXELS, 32, 16, CLASSES];
const SMALL_WIDTHS: [usize; 3] = [PIXELS, 32, CLASSES];

/// Values of an image in a vector.
const BLOCKS: usize = 32;

/// The modulus of sums that are activated: the number of entries of the preset's tables.
const MODULUS: usize = 256;

/// The modulus of scores, which they never reach.
const SCORES: usize = 1 << 16;

const LAYERS: &str = "layers";
const ACTIVATIONS: &str = "activations";

const PRESETS: [&str; 2] = [Preset::Tables8.name(), Preset::ToyTables.name()];

/// Classifies encrypted images of handwritten digits by a network of integers
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Number of images to classify, a power of two from 1 to 1024 [default: 1024]
    #[arg(long, value_name = "N")]
    count: Option<usize>,

    /// Write a table of input (the digit that was written), expected (the digit that the network of
    /// integers finds in the clear) and got, one line per image
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

fn main() -> ExitCode {
    program::run(Defaults { presets: &PRESETS, threads: None }, |arguments: &Arguments| {
        output::check_out(arguments.out.as_deref(), None)?;
        let small = arguments.common.small;
        let count = arguments.count.unwrap_or(if small { SMALL } else { IMAGES });
        if !count.is_power_of_two() || count > IMAGES {
            let need = format!("need a power of two, at most {IMAGES}");
            return Err(Failure::input(format!("--count {count}: {need}")));
        }
        let preset = arguments.common.preset()?;
        let params = session::params_for_vectors(preset, BLOCKS * count)?;
        let most = (params.slots() / BLOCKS).min(IMAGES);
        if count > most {
            return Err(Failure::input(format!(
                "--count {count}: need a power of two, at most {most} for the preset {}",
                params.name()
            )));
        }
        let all = images::all();
        let (training, images) = all.split_at(TRAINED_ON);
        compute(arguments, params, training, &images[..count])
    })
}

/// A layer of integers on vectors of [`BLOCKS`] values of each image.
struct Layer {
    /// One block matrix for each vector of inputs.
    transforms: Vec<LinearTransform>,
    bias: Vec<f64>,
}

impl Layer {
    fn new(
        params: &Params,
        layer: &IntegerLayer,
        count: usize,
        level: usize,
    ) -> Result<Self, Failure> {
        let inputs = layer.weights.first().map_or(0, Vec::len);
        let transform = |from: usize| {
            // A square block of weights; those beyond the layer are zero.
            let weight = |i: usize, j: usize| layer.weights.get(i)?.get(j).copied();
            let row = |i| (from..from + BLOCKS).map(|j| weight(i, j).unwrap_or(0) as f64).collect();
            let square = Matrix::from_rows(&(0..BLOCKS).map(row).collect::<Vec<Vec<f64>>>())?;
            let options = LinearOptions { encode_ahead: true, ..LinearOptions::default() };
            LinearTransform::new(params.ckks(), &square.times_left(count)?, level, options)
        };
        let transforms = (0..inputs).step_by(BLOCKS).map(transform);
        let transforms = transforms.collect::<Result<_, _>>().map_err(Failure::run)?;
        let bias = (0..BLOCKS).map(|i| layer.bias.get(i).map_or(0.0, |&b| b as f64));
        let bias = bias.flat_map(|b| std::iter::repeat_n(b, count)).collect();
        Ok(Self { transforms, bias })
    }

    /// The sums of a layer, as integers modulo `modulus`. Takes one level.
    fn apply(
        &self,
        server: &Evaluator,
        inputs: &[IntVec],
        modulus: usize,
    ) -> bellerophon::Result<IntVec> {
        let integers = server.integers();
        let mut products = vec![];
        for (x, transform) in inputs.iter().zip(&self.transforms) {
            for real in integers.to_reals(x)? {
                products.push(server.transform(&real, transform)?);
            }
        }
        let sums = server.add_many(&products.iter().collect::<Vec<_>>())?;
        integers.from_reals(&server.add_values(&sums, &self.bias)?, modulus)
    }
}

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct Digits<'a> {
    #[serde(flatten)]
    outcome: Outcome<'a>,
    /// The fraction of images that the network of integers classifies correctly in the clear.
    accuracy_integers: f64,
    /// The server's seconds per image.
    seconds_per_image: f64,
    /// Images with an encrypted score that differs from that of the network of integers in the
    /// clear.
    wrong: usize,
    /// `log2` of a bound on the probability that any result is wrong.
    log2_failure: f64,
    /// Activations of all images together.
    activations: usize,
    bootstraps: usize,
    layers: &'a [usize],
    trained_on: usize,
}

/// The protocol: client, server, client.
fn compute(
    arguments: &Arguments,
    params: Params,
    training: &[Image],
    images: &[Image],
) -> Result<(), Failure> {
    let console = Console::new(arguments.common.json);
    let count = images.len();
    let small = arguments.common.small;
    let widths: &[usize] = if small { &SMALL_WIDTHS } else { &WIDTHS };

    // The server trains its network and prepares it for images side by side.
    let mut rng = random::seeded(SEED);
    let kind = if small { Training::SHORT } else { Training::FULL };
    let clock = std::time::Instant::now();
    let real = Network::train(training, widths, kind, &mut rng);
    let network = real.clone().into_integers(training, MODULUS, kind, &mut rng);
    console.say(format_args!("trained in the clear: {:.1} s", clock.elapsed().as_secs_f64()));
    let functional = params.functional().map_err(Failure::input)?;
    let level = functional.input_level() + 1;
    let layers = network.layers.iter().map(|layer| Layer::new(&params, layer, count, level));
    let layers = layers.collect::<Result<Vec<_>, _>>()?;
    let table = |i: usize| IntTable::new(MODULUS, TOP + 1, |k| network.activation(i, k));
    let tables = (0..layers.len() - 1).map(table).collect::<Result<Vec<_>, _>>();
    let tables = tables.map_err(Failure::run)?;
    let transforms = layers.iter().flat_map(|layer| &layer.transforms);
    let keys = transforms.fold(KeyLevels::default(), |keys, transform| keys.transform(transform));
    let mut session = Session::open(params, &Needs::new().functional().keys(&keys))?;

    // The client.
    let vectors: Vec<Vec<usize>> = (0..PIXELS)
        .step_by(BLOCKS)
        .map(|from| {
            let pixels = from..from + BLOCKS;
            pixels
                .flat_map(|i| images.iter().map(move |image| integers::shade(image.pixels[i])))
                .collect()
        })
        .collect();
    let vectors: Vec<&[usize]> = vectors.iter().map(Vec::as_slice).collect();
    let mut x = session.encrypt_integers(&vectors, (SHADES + 1).next_power_of_two(), level)?;

    // The server.
    for (layer, table) in layers.iter().zip(&tables) {
        let sums = session.serve(LAYERS, |server| layer.apply(server, &x, MODULUS))?;
        x = session.serve(ACTIVATIONS, |server| server.integers().tables(&sums, &[table]))?;
    }
    let last = &layers[layers.len() - 1];
    let y = session.serve(LAYERS, |server| last.apply(server, &x, SCORES))?;

    // The client.
    let largest = SCORES as f64;
    let declared = Declaration::from(-largest..=largest).with_noise(0.25);
    let y = session.server.publish_paired(y.values(), declared).map_err(Failure::run)?;
    let got = session.decrypt_paired(&[y])?.concat();
    let score = |value: f64| value.round() as i64;
    let scores = |k: usize| (0..CLASSES).map(|i| score(got[i * count + k])).collect::<Vec<_>>();
    let scores: Vec<Vec<i64>> = (0..count).map(scores).collect();
    let expected: Vec<Vec<i64>> = images.iter().map(|image| network.scores(image)).collect();
    let digits = |scores: &[Vec<i64>]| scores.iter().map(|s| integers::largest(s)).collect();
    let (seen, seen_clear): (Vec<usize>, Vec<usize>) = (digits(&scores), digits(&expected));
    let seen_real: Vec<usize> = images.iter().map(|image| real.digit(image)).collect();
    let right = |seen: &[usize]| {
        let same = seen.iter().zip(images).filter(|(digit, image)| **digit == image.digit);
        same.count() as f64 / count as f64
    };
    let reals = |scores: &[Vec<i64>]| scores.concat().iter().map(|&s| s as f64).collect::<Vec<_>>();
    let errors = Errors::between(&reals(&expected), &reals(&scores));
    let report = session.report(count, "fbt", &errors);
    if let Some(path) = &arguments.out {
        let real = |digits: &[usize]| digits.iter().map(|&d| d as f64).collect::<Vec<_>>();
        let written: Vec<usize> = images.iter().map(|image| image.digit).collect();
        output::write_out(path, &real(&written), &real(&seen_clear), &real(&seen))?;
    }
    let result = Digits {
        accuracy_integers: right(&seen_clear),
        seconds_per_image: report.eval_s / count as f64,
        wrong: scores.iter().zip(&expected).filter(|(got, expected)| got != expected).count(),
        log2_failure: session.server.failures().log2(),
        activations: count * widths[1..widths.len() - 1].iter().sum::<usize>(),
        bootstraps: tables.len(),
        layers: widths,
        trained_on: training.len(),
        outcome: Outcome::new(&session, report, "digits", [right(&seen), right(&seen_real)]),
    };
    show(&console, &result, &images[0], &scores[0], &expected[0]);
    if arguments.common.json { output::print_json(&result) } else { Ok(()) }
}

/// The report for people.
fn show(console: &Console, result: &Digits<'_>, image: &Image, scores: &[i64], expected: &[i64]) {
    let Digits { outcome, layers, activations, bootstraps, .. } = result;
    console.say(format_args!(
        "{} images of {SIDE} x {SIDE} pixels, layers {layers:?}: {activations} activations in \
         {bootstraps} bootstraps",
        outcome.count
    ));
    outcome.say_parameters(console);
    for line in image.pixels.chunks(SIDE) {
        let shade = |&p: &usize| [' ', '.', '-', '+', '#'][integers::shade(p)];
        console.say(line.iter().map(shade).collect::<String>());
    }
    console
        .say(format_args!("{:>5} {:>10} {:>10}   the first image", "digit", "clear", "encrypted"));
    for (digit, (clear, encrypted)) in expected.iter().zip(scores).enumerate() {
        console.say(format_args!("{digit:>5} {clear:>10} {encrypted:>10}"));
    }
    console.say(format_args!(
        "\nright: {:.2}% encrypted, {:.2}% in the clear with integers, {:.2}% with reals",
        100.0 * outcome.accuracy,
        100.0 * result.accuracy_integers,
        100.0 * outcome.accuracy_clear
    ));
    console.say(format_args!(
        "{} images with a score that differs from the clear one; the probability of any such image \
         is below 2^{:.0}",
        result.wrong, result.log2_failure
    ));
    outcome.say_costs(console, "images");
}
