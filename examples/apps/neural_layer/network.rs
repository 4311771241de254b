//! Two linear layers with a ReLU between them, trained in the clear.

use rand_chacha::ChaCha20Rng;

use super::digits::Image;
use common::linear::surprise;
pub use common::linear::{Linear, best};
use common::random;

/// Images per step of the gradient descent.
const BATCH: usize = 16;

/// Step size.
const RATE: f64 = 0.05;

/// Largest magnitude that each output of a layer can have for inputs from 0 to 1.
fn extents(layer: &Linear) -> impl Iterator<Item = f64> {
    layer.weights.iter().zip(&layer.bias).map(|(row, bias)| {
        let sum = |keep: fn(&&f64) -> bool| row.iter().filter(keep).sum::<f64>();
        (bias + sum(|w| **w > 0.0)).abs().max((bias + sum(|w| **w < 0.0)).abs())
    })
}

/// The network.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    pub first: Linear,
    pub second: Linear,
}

impl Network {
    /// Trains by gradient descent on the cross entropy.
    pub fn train(images: &[Image], hidden: usize, epochs: usize, rng: &mut ChaCha20Rng) -> Self {
        let classes = images.iter().map(|image| image.digit).max().map_or(0, |most| most + 1);
        let inputs = images.first().map_or(0, |image| image.pixels.len());
        let first = Linear::random(hidden, inputs, rng);
        let mut network = Self { second: Linear::random(classes, hidden, rng), first };
        let mut gradients = (Linear::zero_like(&network.first), Linear::zero_like(&network.second));
        for _ in 0..epochs {
            for batch in random::shuffled(images.len(), rng).chunks(BATCH) {
                batch.iter().for_each(|&i| network.accumulate(&images[i], &mut gradients));
                network.first.step(&mut gradients.0, RATE / BATCH as f64);
                network.second.step(&mut gradients.1, RATE / BATCH as f64);
            }
        }
        network
    }

    fn accumulate(&self, image: &Image, gradients: &mut (Linear, Linear)) {
        let hidden = self.hidden(&image.pixels);
        let scores = self.second.apply(&hidden);
        let output = surprise(&scores, image.digit);
        let back = self.second.back(&output).into_iter().zip(&hidden);
        let inner: Vec<f64> = back.map(|(d, h)| if *h > 0.0 { d } else { 0.0 }).collect();
        gradients.0.accumulate(&inner, &image.pixels);
        gradients.1.accumulate(&output, &hidden);
    }

    /// The output of the ReLU of the first layer.
    pub fn hidden(&self, pixels: &[f64]) -> Vec<f64> {
        self.first.apply(pixels).into_iter().map(|v| v.max(0.0)).collect()
    }

    /// A score for every class.
    pub fn scores(&self, pixels: &[f64]) -> Vec<f64> {
        self.second.apply(&self.hidden(pixels))
    }

    /// The same network with the inputs of the ReLU scaled so that, for any image, they fill
    /// `[-reach, reach]`: `relu(c v) = c relu(v)`, so the second layer can divide by `c`.
    pub fn filling(mut self, reach: f64) -> Self {
        let factors: Vec<f64> = extents(&self.first).map(|r| reach / r.max(1e-9)).collect();
        let rows = self.first.weights.iter_mut().zip(&mut self.first.bias);
        for ((row, bias), factor) in rows.zip(&factors) {
            row.iter_mut().for_each(|w| *w *= factor);
            *bias *= factor;
        }
        for row in &mut self.second.weights {
            row.iter_mut().zip(&factors).for_each(|(w, factor)| *w /= factor);
        }
        self
    }
}
