//! A neural network on encrypted images: linear layer, ReLU, linear layer.
//!
//! The network is trained in the clear on drawn images of digits. The client encrypts further
//! images, all in one ciphertext. The server, which knows the network and never sees an image,
//! multiplies by the first matrix in CKKS, applies the ReLU to every value by look-up, returns the
//! results to slots by ring packing and multiplies by the second matrix. The client decrypts a
//! score for each digit.

mod digits;
mod network;

use std::path::PathBuf;
use std::process::ExitCode;

use bellerophon::circuits::lintrans::{LinearOptions, LinearTransform};
use bellerophon::circuits::matrix::Matrix;
use bellerophon::prelude::*;
use common::network::{Linear, Network, best};
use common::prelude::*;
use common::stats::equal;
use digits::{CLASSES, Image, PIXELS};

const SEED: u64 = 64;

const TRAINED_ON: usize = 6000;
const EPOCHS: usize = 20;
const HIDDEN: usize = 32;

const IMAGES: usize = 16;
const SMALL: usize = 2;

/// The inputs of the ReLU fill `[-REACH, REACH]`.
const REACH: f64 = 8.0;

/// Scores are declared in `[-SCORES, SCORES]`, whatever the network.
const SCORES: f64 = 1024.0;

/// Levels of a product with a matrix.
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
    program::report(Defaults::of(&WITH_LOOKUPS), |arguments: &Arguments, console| {
        output::check_out(arguments.out.as_deref(), None)?;
        let count = arguments.common.size(arguments.count, SMALL, IMAGES);
        let params = session::params(&arguments.common)?;
        session::check_count(count, (params.slots() / PIXELS).min(256), &params)?;
        let mut rng = random::seeded(SEED);
        let network = network::train(&digits::draw(TRAINED_ON, &mut rng), HIDDEN, EPOCHS, &mut rng);
        let images = digits::draw(count.max(CLASSES), &mut rng);
        compute(arguments, params, &network, &images[..count], console)
    })
}

/// A linear layer on images side by side: value `i` of image `k` is in slot `i count + k`.
struct Layer {
    transform: LinearTransform,
    bias: Vec<f64>,
}

impl Layer {
    fn new(
        params: &Params,
        layer: &Linear,
        count: usize,
        level: usize,
    ) -> bellerophon::Result<Self> {
        let matrix = Matrix::from_rows(&layer.weights)?.times_left(count)?;
        let options = LinearOptions::default();
        let transform = LinearTransform::new(params.ckks(), &matrix, level, options)?;
        let bias = layer.bias.iter().flat_map(|b| vec![*b; count]).collect();
        Ok(Self { transform, bias })
    }

    fn apply(&self, server: &Evaluator, x: &Ciphertext) -> bellerophon::Result<Ciphertext> {
        let product = server.with_len(server.transform(x, &self.transform)?, self.bias.len())?;
        server.add_values(&product, &self.bias)
    }
}

fn compute(
    arguments: &Arguments,
    params: Params,
    network: &Network,
    images: &[Image],
    console: &Console,
) -> Result<Facts, Failure> {
    let count = images.len();

    // The server prepares its network for images side by side.
    let lookups = params.lookups().map_err(Failure::input)?;
    let (before, after) = (lookups.levels() + LAYER_LEVELS, lookups.level_after());
    let filling = network::filling(network.clone(), REACH);
    let first = Layer::new(&params, &filling.layers[0], count, before)?;
    let second = Layer::new(&params, &filling.layers[1], count, after)?;
    let keys = first.transform.keys().and(&second.transform.keys());
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
    let relu = relu.engines([arguments.tables.engine]);
    let h = session.follow(|server| server.map_with(&v, &relu))?;
    let y = session.serve(SECOND, |server| second.apply(server, &h))?;

    // The client.
    let got = session.read(&y, -SCORES..=SCORES)?;
    let scores: Vec<Vec<f64>> =
        (0..count).map(|k| (0..CLASSES).map(|i| got[i * count + k]).collect()).collect();
    let expected: Vec<Vec<f64>> =
        images.iter().map(|image| network.scores(&image.pixels)).collect();
    let errors = Errors::between(&expected.concat(), &scores.concat());
    let digits = |scores: &[Vec<f64>]| scores.iter().map(|s| best(s)).collect::<Vec<_>>();
    let (seen, seen_clear) = (digits(&scores), digits(&expected));
    let drawn: Vec<usize> = images.iter().map(|image| image.digit).collect();
    output::write_out(arguments.out.as_deref(), &drawn, &seen_clear, &seen)?;
    console.scores(&expected[0], &scores[0]);
    let right = [equal(&seen, &drawn), equal(&seen_clear, &drawn)];
    // `lookups` are those of the ReLU, all images together; `agreement` is the fraction of the
    // images on which encrypted and clear network agree.
    Ok(session
        .outcome("neural_layer", count, session.engine(), &errors, right)
        .with("lookups", HIDDEN * count)
        .with("pixels", PIXELS)
        .with("hidden", HIDDEN)
        .with("classes", CLASSES)
        .with("agreement", equal(&seen, &seen_clear)))
}
