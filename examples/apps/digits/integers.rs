//! A network whose weights, sums and activations are integers, trained in the clear.
//!
//! A network of reals is trained first. Then training continues with weights and activations
//! rounded to grids in every forward pass (the gradient passes through the rounding), which trains
//! the network of integers. Sums are integers modulo [`IntegerNetwork::modulus`]; ReLU, rescaling
//! and rounding are one table of that many entries, the same for all neurons of a layer.
#![allow(dead_code, reason = "the program and the tests use their own parts of this module")]

use rand_chacha::ChaCha20Rng;

use super::images::{INK, Image};
use common::linear::{Linear, best, surprise};
use common::random;

/// Images per step of the gradient descent.
const BATCH: usize = 16;

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
    /// For a quick run.
    pub const SHORT: Self = Self { epochs: [10, 5] };

    /// Step sizes of the network of reals and of the rounded one.
    const RATES: [f64; 2] = [0.05, 0.02];
}

/// The integer that encodes a pixel: 0 to [`SHADES`].
pub fn shade(pixel: usize) -> usize {
    (pixel * SHADES + INK / 2) / INK
}

/// Linear layers with a ReLU between two of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    pub layers: Vec<Linear>,
}

/// The grids of a network: steps per unit of the weights and of the inputs of each layer.
#[derive(Debug, Clone, PartialEq)]
struct Grids {
    weights: Vec<f64>,
    inputs: Vec<f64>,
}

impl Network {
    /// A network of reals trained by gradient descent on the cross entropy: `widths` from the
    /// pixels to the classes.
    pub fn train(
        images: &[Image],
        widths: &[usize],
        training: Training,
        rng: &mut ChaCha20Rng,
    ) -> Self {
        let layer = |pair: &[usize]| Linear::random(pair[1], pair[0], rng);
        let mut network = Self { layers: widths.windows(2).map(layer).collect() };
        network.descend(images, None, (training.epochs[0], Training::RATES[0]), rng);
        network
    }

    /// The digit on an image.
    pub fn digit(&self, image: &Image) -> usize {
        best(
            self.forward(image.pixels.iter().map(|&p| unit(p)).collect(), None)
                .last()
                .expect("scores"),
        )
    }

    /// The inputs of every layer, and the scores.
    fn forward(&self, pixels: Vec<f64>, grids: Option<&Grids>) -> Vec<Vec<f64>> {
        let mut values = vec![pixels];
        for (i, layer) in self.layers.iter().enumerate() {
            let mut sums = layer.apply(&values[i]);
            if i + 1 < self.layers.len() {
                for sum in &mut sums {
                    *sum = match grids {
                        None => sum.max(0.0),
                        Some(g) => activation(*sum * g.inputs[i + 1]) / g.inputs[i + 1],
                    };
                }
            }
            values.push(sums);
        }
        values
    }

    /// The weights on their grids, as multiples of its steps.
    fn on(&self, grids: &Grids) -> Vec<Linear> {
        let layer = |((layer, weights), inputs): ((&Linear, &f64), &f64)| Linear {
            weights: layer
                .weights
                .iter()
                .map(|row| row.iter().map(|w| (w * weights).round()).collect())
                .collect(),
            bias: layer.bias.iter().map(|b| (b * weights * inputs).round()).collect(),
        };
        self.layers.iter().zip(&grids.weights).zip(&grids.inputs).map(layer).collect()
    }

    /// The network with its weights rounded to their grids.
    fn rounded(&self, grids: &Grids) -> Self {
        let unit = |((layer, weights), inputs): ((Linear, &f64), &f64)| Linear {
            weights: layer
                .weights
                .iter()
                .map(|row| row.iter().map(|w| w / weights).collect())
                .collect(),
            bias: layer.bias.iter().map(|b| b / (weights * inputs)).collect(),
        };
        let layers = self.on(grids).into_iter().zip(&grids.weights).zip(&grids.inputs);
        Self { layers: layers.map(unit).collect() }
    }

    /// Gradient descent; the forward pass uses the grids if there are any.
    fn descend(
        &mut self,
        images: &[Image],
        grids: Option<&Grids>,
        (epochs, rate): (usize, f64),
        rng: &mut ChaCha20Rng,
    ) {
        let mut gradients: Vec<Linear> = self.layers.iter().map(Linear::zero_like).collect();
        for epoch in 0..epochs {
            // The last passes take smaller steps.
            let rate = rate / BATCH as f64 * if 3 * epoch > 2 * epochs { 0.2 } else { 1.0 };
            for batch in random::shuffled(images.len(), rng).chunks(BATCH) {
                let forward = grids.map_or_else(|| self.clone(), |grids| self.rounded(grids));
                for &i in batch {
                    let noisy = |&p: &usize| {
                        let v = unit(p) + NOISE * random::normal(rng);
                        grids.map_or(v, |g| (v * g.inputs[0]).round() / g.inputs[0])
                    };
                    let pixels = images[i].pixels.iter().map(noisy).collect();
                    forward.accumulate(pixels, images[i].digit, grids, &mut gradients);
                }
                for (layer, gradient) in self.layers.iter_mut().zip(&mut gradients) {
                    layer.step(gradient, rate);
                }
            }
        }
    }

    /// Adds the gradient of one image.
    fn accumulate(
        &self,
        pixels: Vec<f64>,
        digit: usize,
        grids: Option<&Grids>,
        gradients: &mut [Linear],
    ) {
        let values = self.forward(pixels, grids);
        let mut delta = surprise(values.last().expect("scores"), digit);
        for (i, layer) in self.layers.iter().enumerate().rev() {
            gradients[i].accumulate(&delta, &values[i]);
            if i == 0 {
                break;
            }
            let top = grids.map_or(f64::INFINITY, |grids| TOP as f64 / grids.inputs[i]);
            let back = layer.back(&delta).into_iter().zip(&values[i]);
            delta = back.map(|(d, &v)| if v > 0.0 && v < top { d } else { 0.0 }).collect();
        }
    }

    /// Grids on which the sums of these images fill the modulus.
    fn grids(&self, images: &[Image], modulus: usize) -> Grids {
        let mut grids = Grids { weights: vec![], inputs: vec![SHADES as f64] };
        let last = self.layers.len() - 1;
        for (i, layer) in self.layers[..last].iter().enumerate() {
            let (mut low, mut high) = (0.0f64, 0.0f64);
            for image in images {
                let pixels = image.pixels.iter().map(|&p| unit(p)).collect();
                for sum in layer.apply(&self.forward(pixels, None)[i]) {
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

    /// The network of integers that results from further training.
    pub fn into_integers(
        mut self,
        images: &[Image],
        modulus: usize,
        training: Training,
        rng: &mut ChaCha20Rng,
    ) -> IntegerNetwork {
        let grids = self.grids(images, modulus);
        self.descend(images, Some(&grids), (training.epochs[1], Training::RATES[1]), rng);
        let integer = |layer: Linear| IntegerLayer {
            weights: layer
                .weights
                .iter()
                .map(|row| row.iter().map(|&w| w as i64).collect())
                .collect(),
            bias: layer.bias.iter().map(|&b| b as i64).collect(),
        };
        let hidden = 0..self.layers.len() - 1;
        let ratio = |i: usize| grids.inputs[i + 1] / (grids.weights[i] * grids.inputs[i]);
        let ratios = hidden.map(ratio).collect();
        let layers = self.on(&grids).into_iter().map(integer).collect();
        IntegerNetwork { layers, ratios, modulus }
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

/// Integer weights of a layer.
#[derive(Debug, Clone, PartialEq)]
pub struct IntegerLayer {
    /// Row by row, one row per output.
    pub weights: Vec<Vec<i64>>,
    pub bias: Vec<i64>,
}

impl IntegerLayer {
    /// The layer's sums.
    pub fn sums(&self, x: &[usize]) -> Vec<i64> {
        let row = |(row, bias): (&Vec<i64>, &i64)| {
            bias + row.iter().zip(x).map(|(w, &x)| w * x as i64).sum::<i64>()
        };
        self.weights.iter().zip(&self.bias).map(row).collect()
    }
}

/// A network of integers.
#[derive(Debug, Clone, PartialEq)]
pub struct IntegerNetwork {
    pub layers: Vec<IntegerLayer>,
    /// Activations per sum, of each layer but the last.
    ratios: Vec<f64>,
    /// The modulus of the sums that are activated.
    pub modulus: usize,
}

impl IntegerNetwork {
    /// The activation for a sum of a layer modulo the modulus: the table.
    pub fn activation(&self, layer: usize, residue: usize) -> usize {
        let p = self.modulus as i64;
        let sum = (residue as i64 + p / 2).rem_euclid(p) - p / 2;
        activation(sum as f64 * self.ratios[layer]) as usize
    }

    /// The scores of an image.
    pub fn scores(&self, image: &Image) -> Vec<i64> {
        let mut x: Vec<usize> = image.pixels.iter().map(|&p| shade(p)).collect();
        let (last, hidden) = self.layers.split_last().expect("a layer of scores");
        for (i, layer) in hidden.iter().enumerate() {
            let residue = |sum: i64| sum.rem_euclid(self.modulus as i64) as usize;
            x = layer.sums(&x).into_iter().map(|s| self.activation(i, residue(s))).collect();
        }
        last.sums(&x)
    }
}

/// The index of the largest score, the first one of equal ones.
pub fn largest(scores: &[i64]) -> usize {
    let most = scores.iter().max();
    scores.iter().position(|score| Some(score) == most).unwrap_or(0)
}
