//! A network whose weights, sums and activations are integers, trained in the clear.
//!
//! A network of reals is trained first. Then training continues with weights and activations
//! rounded to grids in every forward pass (the gradient passes through the rounding), which trains
//! the network of integers. Sums are integers modulo [`IntegerNetwork::modulus`]; ReLU, rescaling
//! and rounding are one table of that many entries, the same for all neurons of a layer.
#![allow(dead_code, reason = "the program and the tests use their own parts of this module")]

use rand_chacha::ChaCha20Rng;

use super::images::{INK, Image};
use common::network::{Linear, Network};
use common::random;

/// Steps per unit of the pixels, which range from 0 to 1 in the network: the client encrypts
/// integers up to this.
pub const SHADES: usize = 4;

/// The largest activation.
pub const TOP: usize = 7;

/// The share of half the modulus that the sums of the training images fill before weights are
/// rounded.
const FILLING: f64 = 0.7;

/// The share of the largest activation of the training that [`TOP`] represents.
const SATURATION: f64 = 0.7;

/// Steps per unit of the weights of the last layer, whose sums have no bound.
const SCORE_STEPS: f64 = 16.0;

/// Standard deviation of the noise that the training adds to every pixel, against overfitting.
const NOISE: f64 = 0.2;

/// The length of the training.
#[derive(Debug, Clone, Copy)]
pub struct Training {
    /// Passes over the images before and after weights are rounded.
    epochs: [usize; 2],
}

impl Training {
    /// Until the network does not improve any more.
    pub const FULL: Self = Self { epochs: [60, 60] };
    pub const SHORT: Self = Self { epochs: [10, 5] };

    /// Step sizes of the network of reals and of the rounded one.
    const RATES: [f64; 2] = [0.05, 0.02];
}

/// The integer that encodes a pixel: 0 to [`SHADES`].
pub fn shade(pixel: usize) -> usize {
    (pixel * SHADES + INK / 2) / INK
}

/// A network of reals trained by gradient descent: `widths` from the pixels to the classes.
pub fn train(
    images: &[Image],
    widths: &[usize],
    training: Training,
    rng: &mut ChaCha20Rng,
) -> Network {
    let mut network = Network::random(widths, rng);
    let rates = rates(training.epochs[0], Training::RATES[0]);
    network.descend(images.len(), rates, rng, |network, batch, gradients, rng| {
        for &i in batch {
            let noisy = |&p: &usize| unit(p) + NOISE * random::normal(rng);
            let pixels = images[i].pixels.iter().map(noisy).collect();
            let values = network.forward(pixels, |_, v| v.max(0.0));
            network.accumulate(&values, images[i].digit, |_| f64::INFINITY, gradients);
        }
    });
    network
}

/// The step sizes of a training: the last passes take smaller steps.
fn rates(epochs: usize, rate: f64) -> impl Iterator<Item = f64> {
    (0..epochs).map(move |epoch| rate * if 3 * epoch > 2 * epochs { 0.2 } else { 1.0 })
}

/// The pixels of an image from 0 to 1.
pub fn pixels(image: &Image) -> Vec<f64> {
    image.pixels.iter().map(|&p| unit(p)).collect()
}

/// The grids of a network: steps per unit of the weights and of the inputs of each layer.
#[derive(Debug, Clone, PartialEq)]
struct Grids {
    weights: Vec<f64>,
    inputs: Vec<f64>,
}

impl Grids {
    /// Grids on which the sums of these images fill the modulus.
    fn of(network: &Network, images: &[Image], modulus: usize) -> Self {
        let mut grids = Self { weights: vec![], inputs: vec![SHADES as f64] };
        let last = network.layers.len() - 1;
        for (i, layer) in network.layers[..last].iter().enumerate() {
            let (mut low, mut high) = (0.0f64, 0.0f64);
            for image in images {
                for sum in layer.apply(&network.forward(pixels(image), |_, v| v.max(0.0))[i]) {
                    (low, high) = (low.min(sum), high.max(sum));
                }
            }
            let reach = high.max(-low);
            grids.weights.push(FILLING * 0.5 * modulus as f64 / (reach * grids.inputs[i]));
            grids.inputs.push(TOP as f64 / (SATURATION * high));
        }
        grids.weights.push(SCORE_STEPS);
        grids
    }

    /// The layers with their weights rounded, as multiples of the steps.
    fn integers(&self, network: &Network) -> Vec<Linear> {
        let layer = |((layer, weights), inputs): ((&Linear, &f64), &f64)| {
            layer.map(|w| (w * weights).round(), |b| (b * weights * inputs).round())
        };
        network.layers.iter().zip(&self.weights).zip(&self.inputs).map(layer).collect()
    }

    /// The network with its weights rounded.
    fn rounded(&self, network: &Network) -> Network {
        let unit = |((layer, weights), inputs): ((Linear, &f64), &f64)| {
            layer.map(|w| w / weights, |b| b / (weights * inputs))
        };
        let layers = self.integers(network).into_iter().zip(&self.weights).zip(&self.inputs);
        Network { layers: layers.map(unit).collect() }
    }
}

/// A pixel from 0 to 1.
fn unit(pixel: usize) -> f64 {
    pixel as f64 / INK as f64
}

/// ReLU and rounding, in steps of the grid.
fn activation(steps: f64) -> f64 {
    steps.round().clamp(0.0, TOP as f64)
}

/// A network of integers, which `f64` holds exactly.
#[derive(Debug, Clone, PartialEq)]
pub struct IntegerNetwork {
    pub network: Network,
    /// Activations per sum, of each layer but the last.
    ratios: Vec<f64>,
    /// The modulus of the sums that are activated.
    pub modulus: usize,
}

impl IntegerNetwork {
    /// The network of integers that results from further training of one of reals.
    pub fn train(
        mut network: Network,
        images: &[Image],
        modulus: usize,
        training: Training,
        rng: &mut ChaCha20Rng,
    ) -> Self {
        let grids = Grids::of(&network, images, modulus);
        let rates = rates(training.epochs[1], Training::RATES[1]);
        let step = &grids.inputs;
        network.descend(images.len(), rates, rng, |network, batch, gradients, rng| {
            // The gradient passes through the rounding.
            let rounded = grids.rounded(network);
            for &i in batch {
                let noisy = |&p: &usize| {
                    ((unit(p) + NOISE * random::normal(rng)) * step[0]).round() / step[0]
                };
                let pixels = images[i].pixels.iter().map(noisy).collect();
                let values = rounded.forward(pixels, |i, v| activation(v * step[i]) / step[i]);
                let top = |i: usize| TOP as f64 / step[i];
                rounded.accumulate(&values, images[i].digit, top, gradients);
            }
        });
        let ratio = |i: usize| step[i + 1] / (grids.weights[i] * step[i]);
        let ratios = (0..network.layers.len() - 1).map(ratio).collect();
        Self { network: Network { layers: grids.integers(&network) }, ratios, modulus }
    }

    /// The activation for a sum of a layer modulo the modulus: the table.
    pub fn activation(&self, layer: usize, residue: usize) -> usize {
        let p = self.modulus as i64;
        let sum = (residue as i64 + p / 2).rem_euclid(p) - p / 2;
        activation(sum as f64 * self.ratios[layer]) as usize
    }

    pub fn scores(&self, image: &Image) -> Vec<f64> {
        let shades = image.pixels.iter().map(|&p| shade(p) as f64).collect();
        let activation = |layer: usize, sum: f64| {
            let residue = sum.rem_euclid(self.modulus as f64) as usize;
            self.activation(layer - 1, residue) as f64
        };
        self.network.forward(shades, activation).pop().expect("scores")
    }
}
