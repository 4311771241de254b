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

mod images;
mod integers;

use std::path::PathBuf;
use std::process::ExitCode;

use bellerophon::circuits::fbt::{IntTable, IntVec};
use bellerophon::circuits::lintrans::{LinearOptions, LinearTransform};
use bellerophon::circuits::matrix::Matrix;
use bellerophon::ckks::KeyLevels;
use bellerophon::prelude::*;
use common::network::{Linear, best};
use common::prelude::*;
use common::stats;
use images::{CLASSES, Image, PIXELS};
use integers::{IntegerNetwork, SHADES, TOP, Training};

const SEED: u64 = 2;

/// Images for the training of the network; the others are encrypted. No writer has images in both
/// parts except the one at the border.
const TRAINED_ON: usize = 773;

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

const PRESETS: [&str; 2] = [Preset::Tables(8).name(), Preset::Insecure(Toy::Tables).name()];

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
    program::report(Defaults::of(&PRESETS), |arguments: &Arguments, console| {
        output::check_out(arguments.out.as_deref(), None)?;
        let count = arguments.common.size(arguments.count, SMALL, IMAGES);
        let preset = arguments.common.preset()?;
        let params = session::params_for_vectors(preset, BLOCKS * count.clamp(1, IMAGES))?;
        session::check_count(count, (params.slots() / BLOCKS).min(IMAGES), &params)?;
        let all = images::all();
        let (training, images) = all.split_at(TRAINED_ON);
        compute(arguments, params, training, &images[..count], console)
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
        layer: &Linear,
        count: usize,
        level: usize,
    ) -> bellerophon::Result<Self> {
        let inputs = layer.weights.first().map_or(0, Vec::len);
        let transform = |from: usize| {
            // A square block of weights; those beyond the layer are zero.
            let weight = |i: usize, j: usize| layer.weights.get(i)?.get(j).copied();
            let row = |i| (from..from + BLOCKS).map(|j| weight(i, j).unwrap_or(0.0)).collect();
            let square = Matrix::from_rows(&(0..BLOCKS).map(row).collect::<Vec<Vec<f64>>>())?;
            let options = LinearOptions { encode_ahead: true, ..LinearOptions::default() };
            LinearTransform::new(params.ckks(), &square.times_left(count)?, level, options)
        };
        let transforms = (0..inputs).step_by(BLOCKS).map(transform);
        let transforms = transforms.collect::<Result<_, _>>()?;
        let bias = (0..BLOCKS).map(|i| layer.bias.get(i).copied().unwrap_or(0.0));
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

fn compute(
    arguments: &Arguments,
    params: Params,
    training: &[Image],
    images: &[Image],
    console: &Console,
) -> Result<Facts, Failure> {
    let count = images.len();
    let small = arguments.common.small;
    let widths: &[usize] = if small { &SMALL_WIDTHS } else { &WIDTHS };

    // The server trains its network and prepares it for images side by side.
    let mut rng = random::seeded(SEED);
    let kind = if small { Training::SHORT } else { Training::FULL };
    let clock = std::time::Instant::now();
    let real = integers::train(training, widths, kind, &mut rng);
    let network = IntegerNetwork::train(real.clone(), training, MODULUS, kind, &mut rng);
    console.say(format_args!("trained in the clear: {:.1} s", clock.elapsed().as_secs_f64()));
    let functional = params.functional().map_err(Failure::input)?;
    let level = functional.input_level() + 1;
    let layers =
        network.network.layers.iter().map(|layer| Layer::new(&params, layer, count, level));
    let layers = layers.collect::<Result<Vec<_>, _>>()?;
    let table = |i: usize| IntTable::new(MODULUS, TOP + 1, |k| network.activation(i, k));
    let tables = (0..layers.len() - 1).map(table).collect::<Result<Vec<_>, _>>()?;
    let transforms = layers.iter().flat_map(|layer| &layer.transforms);
    let keys = transforms.fold(KeyLevels::default(), |keys, transform| keys.and(&transform.keys()));
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
    let shades = Modulo((SHADES + 1).next_power_of_two());
    let mut x = session.encrypt_all(&vectors, shades, level)?;

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
    let y = session.server.publish_paired(y.values(), declared)?;
    let got = session.decrypt(|client| client.decrypt_paired(&y))?;
    let scores = |k: usize| (0..CLASSES).map(|i| got[i * count + k].round()).collect();
    let scores: Vec<Vec<f64>> = (0..count).map(scores).collect();
    let expected: Vec<Vec<f64>> = images.iter().map(|image| network.scores(image)).collect();
    let real: Vec<Vec<f64>> =
        images.iter().map(|image| real.scores(&integers::pixels(image))).collect();
    let digits = |scores: &[Vec<f64>]| scores.iter().map(|s| best(s)).collect::<Vec<_>>();
    let (seen, seen_clear, seen_real) = (digits(&scores), digits(&expected), digits(&real));
    let written: Vec<usize> = images.iter().map(|image| image.digit).collect();
    let right = |seen: &[usize]| stats::equal(seen, &written);
    let errors = Errors::between(&expected.concat(), &scores.concat());
    output::write_out(arguments.out.as_deref(), &written, &seen_clear, &seen)?;
    console.scores(&expected[0], &scores[0]);
    let wrong = scores.iter().zip(&expected).filter(|(got, expected)| got != expected).count();
    // `accuracy_clear` is that of the network of reals, `accuracy_integers` that of the network of
    // integers in the clear. `wrong` counts images with an encrypted score that differs from the
    // latter's, and `log2_failure` bounds the probability of any.
    Ok(session
        .outcome("digits", count, "fbt", &errors, [right(&seen), right(&seen_real)])
        .with("accuracy_integers", right(&seen_clear))
        .with("seconds_per_image", session.eval_s() / count as f64)
        .with("wrong", wrong)
        .with("log2_failure", session.server.failures().log2())
        .with("activations", count * widths[1..widths.len() - 1].iter().sum::<usize>())
        .with("bootstraps", tables.len())
        .with("layers", widths)
        .with("trained_on", training.len()))
}
