//! Two linear layers with a ReLU between them, trained in the clear.

use rand_chacha::ChaCha20Rng;

use super::common::random;
use super::digits::Image;

/// Images of one step of the gradient.
const BATCH: usize = 16;

/// Length of a step, and how much of the latest step the next one repeats.
const RATE: f64 = 0.05;
const MOMENTUM: f64 = 0.9;

/// `y = M x + b`.
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    /// Row by row, one row an output.
    pub weights: Vec<Vec<f64>>,
    pub bias: Vec<f64>,
}

impl Linear {
    fn random(outputs: usize, inputs: usize, rng: &mut ChaCha20Rng) -> Self {
        let deviation = (2.0 / inputs as f64).sqrt();
        let row = |_| (0..inputs).map(|_| deviation * random::normal(rng)).collect();
        Self { weights: (0..outputs).map(row).collect(), bias: vec![0.0; outputs] }
    }

    fn zero_like(other: &Self) -> Self {
        let weights = other.weights.iter().map(|row| vec![0.0; row.len()]).collect();
        Self { weights, bias: vec![0.0; other.bias.len()] }
    }

    /// The layer's output.
    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        let row = |(row, bias): (&Vec<f64>, &f64)| {
            bias + row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>()
        };
        self.weights.iter().zip(&self.bias).map(row).collect()
    }

    /// Largest magnitude that each output can have for inputs from 0 to 1.
    fn reach(&self) -> impl Iterator<Item = f64> {
        self.weights.iter().zip(&self.bias).map(|(row, bias)| {
            let sum = |keep: fn(&&f64) -> bool| row.iter().filter(keep).sum::<f64>();
            (bias + sum(|w| **w > 0.0)).abs().max((bias + sum(|w| **w < 0.0)).abs())
        })
    }

    /// Adds the gradient of one image: `delta` at the outputs, `x` at the inputs.
    fn accumulate(&mut self, delta: &[f64], x: &[f64]) {
        for ((row, bias), delta) in self.weights.iter_mut().zip(&mut self.bias).zip(delta) {
            row.iter_mut().zip(x).for_each(|(w, x)| *w += delta * x);
            *bias += delta;
        }
    }

    /// One step with momentum; the gradient starts again from what the step repeats.
    fn step(&mut self, gradient: &mut Self) {
        let move_all = |values: &mut [f64], gradient: &mut [f64]| {
            for (value, gradient) in values.iter_mut().zip(gradient) {
                *value -= RATE / BATCH as f64 * *gradient;
                *gradient *= MOMENTUM;
            }
        };
        self.weights.iter_mut().zip(&mut gradient.weights).for_each(|(w, g)| move_all(w, g));
        move_all(&mut self.bias, &mut gradient.bias);
    }
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
                network.first.step(&mut gradients.0);
                network.second.step(&mut gradients.1);
            }
        }
        network
    }

    fn accumulate(&self, image: &Image, gradients: &mut (Linear, Linear)) {
        let hidden = self.hidden(&image.pixels);
        let scores = self.second.apply(&hidden);
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = scores.iter().map(|s| (s - most).exp()).collect();
        let total: f64 = powers.iter().sum();
        let delta =
            |(class, p): (usize, &f64)| p / total - f64::from(u8::from(class == image.digit));
        let output: Vec<f64> = powers.iter().enumerate().map(delta).collect();
        let back = |(i, h): (usize, &f64)| {
            let sum = self.second.weights.iter().zip(&output).map(|(row, d)| row[i] * d).sum();
            if *h > 0.0 { sum } else { 0.0 }
        };
        let inner: Vec<f64> = hidden.iter().enumerate().map(back).collect();
        gradients.0.accumulate(&inner, &image.pixels);
        gradients.1.accumulate(&output, &hidden);
    }

    /// What the ReLU leaves of the first layer.
    pub fn hidden(&self, pixels: &[f64]) -> Vec<f64> {
        self.first.apply(pixels).into_iter().map(|v| v.max(0.0)).collect()
    }

    /// A score for every class.
    pub fn scores(&self, pixels: &[f64]) -> Vec<f64> {
        self.second.apply(&self.hidden(pixels))
    }

    /// The same network with the inputs of the ReLU scaled so that, whatever the image, they fill
    /// `[-reach, reach]`: `relu(c v) = c relu(v)`, so that the second layer divides it out.
    pub fn filling(mut self, reach: f64) -> Self {
        let factors: Vec<f64> = self.first.reach().map(|r| reach / r.max(1e-9)).collect();
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

/// The place of the largest score.
pub fn best(scores: &[f64]) -> usize {
    let largest = scores.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    largest.map_or(0, |(place, _)| place)
}
