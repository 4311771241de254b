//! A neural network on encrypted images: linear layer, ReLU, linear layer.
//!
//! The network is trained in the clear on drawn images of digits. The client encrypts further
//! images, all in one ciphertext. The server, which knows the network and never sees an image,
//! multiplies by the first matrix in CKKS, applies the ReLU to every value by look-up, returns the
//! results to slots by ring packing and multiplies by the second matrix. The client decrypts a
//! score for each digit.

#[path = "neural_layer/digits.rs"]
mod digits;
#[path = "neural_layer/network.rs"]
mod network;

use std::path::PathBuf;
use std::process::ExitCode;

use bellerophon::ckks::lintrans::{LinearOptions, LinearTransform};
use bellerophon::ckks::{KeyLevels, matrix::Matrix};
use bellerophon::prelude::*;
use clap::Parser;
use common::args::{Common, Tables, WITH_LOOKUPS};
use common::console::Console;
use common::output;
use common::program::{self, Defaults, Failure};
use common::random;
use common::session::{self, Outcome, Session};
use common::stats::Errors;
use digits::{CLASSES, Image, PIXELS, SIDE};
use network::{Linear, Network, best};
use serde::Serialize;

/// The seed of the images, and of the network before training.
const SEED: u64 = 64;

const TRAINED_ON: usize = 6000;
const EPOCHS: usize = 20;
const HIDDEN: usize = 32;

/// The default number of images.
const IMAGES: usize = 16;
const SMALL: usize = 2;

/// The inputs of the ReLU fill `[-REACH, REACH]`.
const REACH: f64 = 8.0;

/// Levels of a product with a matrix.
/// Scores are declared in `[-SCORES, SCORES]`, whatever the network.
const SCORES: f64 = 1024.0;

const LAYER_LEVELS: usize = 1;

const FIRST: &str = "first layer";
const SECOND: &str = "second layer";

/// Classifies encrypted images of digits by a network of two layers
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    tables: Tables,

    /// Number of images to classify, a power of two from 1 to 256 [default: 16]
    #[arg(long, value_name = "N")]
    count: Option<usize>,

    /// Write a table of input (the digit drawn), expected (the digit that the network finds in the
    /// clear) and got, one line per image
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

fn main() -> ExitCode {
    let defaults = Defaults { presets: &WITH_LOOKUPS, threads: None };
    program::run(defaults, |arguments: &Arguments| {
        output::check_out(arguments.out.as_deref(), None)?;
        let count = arguments.count.unwrap_or(if arguments.common.small { SMALL } else { IMAGES });
        let params = session::params(&arguments.common)?;
        let most = (params.slots() / PIXELS).min(256);
        if !count.is_power_of_two() || count > most {
            return Err(Failure::input(format!(
                "--count {count}: need a power of two, at most {most} for the preset {}",
                params.name()
            )));
        }
        let mut rng = random::seeded(SEED);
        let network = Network::train(&digits::draw(TRAINED_ON, &mut rng), HIDDEN, EPOCHS, &mut rng);
        let images = digits::draw(count.max(CLASSES), &mut rng);
        compute(arguments, params, &network, &images[..count])
    })
}

/// A linear layer on images side by side: value `i` of image `k` is in slot `i count + k`.
struct Layer {
    transform: LinearTransform,
    bias: Vec<f64>,
}

impl Layer {
    fn new(params: &Params, layer: &Linear, count: usize, level: usize) -> Result<Self, Failure> {
        let matrix = Matrix::from_rows(&layer.weights).and_then(|m| m.times_left(count));
        let transform = matrix
            .and_then(|m| LinearTransform::new(params.ckks(), &m, level, LinearOptions::default()))
            .map_err(Failure::run)?;
        let bias = layer.bias.iter().flat_map(|b| vec![*b; count]).collect();
        Ok(Self { transform, bias })
    }

    fn apply(&self, server: &Evaluator, x: &Ciphertext) -> bellerophon::Result<Ciphertext> {
        let product = server.with_len(server.transform(x, &self.transform)?, self.bias.len())?;
        server.add_values(&product, &self.bias)
    }
}

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct NeuralLayer<'a> {
    #[serde(flatten)]
    outcome: Outcome<'a>,
    /// Look-ups of the ReLU, all images together.
    lookups: usize,
    pixels: usize,
    hidden: usize,
    classes: usize,
    /// Fraction of the images on which encrypted and clear network agree.
    agreement: f64,
}

/// The protocol: client, server, client.
fn compute(
    arguments: &Arguments,
    params: Params,
    network: &Network,
    images: &[Image],
) -> Result<(), Failure> {
    let console = Console::new(arguments.common.json);
    let count = images.len();

    // The server prepares its network for images side by side.
    let lookups = params.lookups().map_err(Failure::input)?;
    let (before, after) = (lookups.levels() + LAYER_LEVELS, lookups.level_after());
    let filling = network.clone().filling(REACH);
    let first = Layer::new(&params, &filling.first, count, before)?;
    let second = Layer::new(&params, &filling.second, count, after)?;
    let keys = KeyLevels::default().transform(&first.transform).transform(&second.transform);
    let needs = arguments.tables.of(&params)?.1.keys(&keys);
    let mut session = Session::open(params, &needs)?;

    // The client.
    let pixels: Vec<f64> =
        (0..PIXELS).flat_map(|place| images.iter().map(move |image| image.pixels[place])).collect();
    let x = session.encrypt(&pixels, 0.0..=1.0, before)?;

    // The server.
    let v = session.serve(FIRST, |server| {
        // Interval arithmetic adds magnitudes; the network was scaled by its exact bound.
        let product = first.apply(server, &x)?;
        server.assume_range(&product, -REACH..=REACH)
    })?;
    let relu = MapRequest::new(|v| v.max(0.0)).over(-REACH..=REACH);
    let relu = relu.engines([arguments.tables.engine.into()]);
    let h = session.follow(|server| server.map_with(&v, &relu))?;
    let y = session.serve(SECOND, |server| second.apply(server, &h))?;

    // The client.
    let y = session.publish(&y, -SCORES..=SCORES)?;
    let got = session.decrypt(&y)?;
    let scores: Vec<Vec<f64>> =
        (0..count).map(|k| (0..CLASSES).map(|i| got[i * count + k]).collect()).collect();
    let expected: Vec<Vec<f64>> =
        images.iter().map(|image| network.scores(&image.pixels)).collect();
    let errors = Errors::between(&expected.concat(), &scores.concat());
    let digits = |scores: &[Vec<f64>]| scores.iter().map(|s| best(s)).collect::<Vec<_>>();
    let (seen, seen_clear) = (digits(&scores), digits(&expected));
    let drawn: Vec<usize> = images.iter().map(|image| image.digit).collect();
    let same = |a: &[usize], b: &[usize]| {
        a.iter().zip(b).filter(|(a, b)| a == b).count() as f64 / count as f64
    };
    let report = session.report(count, session.engine(), &errors);
    let right = [same(&seen, &drawn), same(&seen_clear, &drawn)];
    let outcome = Outcome::new(&session, report, "neural_layer", right);
    if let Some(path) = &arguments.out {
        let real = |digits: &[usize]| digits.iter().map(|&d| d as f64).collect::<Vec<_>>();
        output::write_out(path, &real(&drawn), &real(&seen_clear), &real(&seen))?;
    }
    let result = NeuralLayer {
        lookups: HIDDEN * count,
        pixels: PIXELS,
        hidden: HIDDEN,
        classes: CLASSES,
        agreement: same(&seen, &seen_clear),
        outcome,
    };
    show(&console, &result, &images[0], &scores[0], &expected[0]);
    if arguments.common.json { output::print_json(&result) } else { Ok(()) }
}

/// The report for people.
fn show(
    console: &Console,
    result: &NeuralLayer<'_>,
    image: &Image,
    scores: &[f64],
    expected: &[f64],
) {
    let NeuralLayer { outcome, lookups, .. } = result;
    console.say(format_args!(
        "{} images of {SIDE} x {SIDE} pixels: {PIXELS} -> {HIDDEN} -> {CLASSES}, {lookups} \
         look-ups of the ReLU",
        outcome.count
    ));
    outcome.say_parameters(console);
    for line in image.pixels.chunks(SIDE) {
        let shade = |p: &f64| [' ', '.', '+', '#'][(p * 3.99) as usize];
        console.say(line.iter().map(shade).collect::<String>());
    }
    console
        .say(format_args!("{:>5} {:>10} {:>10}   the first image", "digit", "clear", "encrypted"));
    for (digit, (clear, encrypted)) in expected.iter().zip(scores).enumerate() {
        console.say(format_args!("{digit:>5} {clear:>10.4} {encrypted:>10.4}"));
    }
    console.say(format_args!(
        "\nright: {:.1}% encrypted, {:.1}% in the clear; the same answer on {:.1}%",
        100.0 * outcome.accuracy,
        100.0 * outcome.accuracy_clear,
        100.0 * result.agreement
    ));
    outcome.say_costs(console, "images");
}
