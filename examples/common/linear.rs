//! A linear layer of a network, trained in the clear.

use rand_chacha::ChaCha20Rng;

use super::random;

/// The momentum of the gradient descent.
const MOMENTUM: f64 = 0.9;

/// `y = M x + b`.
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    /// Row by row, one row per output.
    pub weights: Vec<Vec<f64>>,
    pub bias: Vec<f64>,
}

impl Linear {
    /// Normal weights of variance `2 / inputs`, and no bias.
    pub fn random(outputs: usize, inputs: usize, rng: &mut ChaCha20Rng) -> Self {
        let deviation = (2.0 / inputs as f64).sqrt();
        let row = |_| (0..inputs).map(|_| deviation * random::normal(rng)).collect();
        Self { weights: (0..outputs).map(row).collect(), bias: vec![0.0; outputs] }
    }

    /// A layer of zeros with the shape of another layer.
    pub fn zero_like(other: &Self) -> Self {
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

    /// The gradient at the inputs from that at the outputs: `M^T delta`.
    pub fn back(&self, delta: &[f64]) -> Vec<f64> {
        let inputs = self.weights.first().map_or(0, Vec::len);
        let column = |i: usize| self.weights.iter().zip(delta).map(|(row, d)| row[i] * d).sum();
        (0..inputs).map(column).collect()
    }

    /// Adds the gradient of one image: `delta` at the outputs, `x` at the inputs.
    pub fn accumulate(&mut self, delta: &[f64], x: &[f64]) {
        for ((row, bias), delta) in self.weights.iter_mut().zip(&mut self.bias).zip(delta) {
            row.iter_mut().zip(x).for_each(|(w, x)| *w += delta * x);
            *bias += delta;
        }
    }

    /// One step of gradient descent with momentum; then scales the gradient by the momentum.
    pub fn step(&mut self, gradient: &mut Self, rate: f64) {
        let move_all = |values: &mut [f64], gradient: &mut [f64]| {
            for (value, gradient) in values.iter_mut().zip(gradient) {
                *value -= rate * *gradient;
                *gradient *= MOMENTUM;
            }
        };
        self.weights.iter_mut().zip(&mut gradient.weights).for_each(|(w, g)| move_all(w, g));
        move_all(&mut self.bias, &mut gradient.bias);
    }
}

/// The gradient of the cross entropy of one image with respect to its scores: the softmax, less 1
/// at the digit.
pub fn surprise(scores: &[f64], digit: usize) -> Vec<f64> {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = scores.iter().map(|s| (s - most).exp()).collect();
    let total: f64 = powers.iter().sum();
    let delta = |(class, p): (usize, &f64)| p / total - f64::from(u8::from(class == digit));
    powers.iter().enumerate().map(delta).collect()
}

/// The index of the largest score.
pub fn best(scores: &[f64]) -> usize {
    let largest = scores.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    largest.map_or(0, |(place, _)| place)
}
