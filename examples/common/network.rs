//! Networks of linear layers with a ReLU between two of them, trained in the clear.

use rand_chacha::ChaCha20Rng;

use super::random;

/// Images per step of the gradient descent.
const BATCH: usize = 16;

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

    /// The layer with other weights and another bias.
    pub fn map(&self, weight: impl Fn(f64) -> f64, bias: impl Fn(f64) -> f64) -> Self {
        let row = |row: &Vec<f64>| row.iter().map(|&w| weight(w)).collect();
        let weights = self.weights.iter().map(row).collect();
        Self { weights, bias: self.bias.iter().map(|&b| bias(b)).collect() }
    }

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

/// Linear layers with an activation between two of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    pub layers: Vec<Linear>,
}

impl Network {
    /// Random layers: `widths` from the inputs to the classes.
    pub fn random(widths: &[usize], rng: &mut ChaCha20Rng) -> Self {
        let layer = |pair: &[usize]| Linear::random(pair[1], pair[0], rng);
        Self { layers: widths.windows(2).map(layer).collect() }
    }

    /// The inputs of every layer, and the scores. `activation(i, v)` is the input of layer `i` for
    /// the sum `v`.
    pub fn forward(&self, x: Vec<f64>, activation: impl Fn(usize, f64) -> f64) -> Vec<Vec<f64>> {
        let mut values = vec![x];
        for (i, layer) in self.layers.iter().enumerate() {
            let mut sums = layer.apply(&values[i]);
            if i + 1 < self.layers.len() {
                sums.iter_mut().for_each(|sum| *sum = activation(i + 1, *sum));
            }
            values.push(sums);
        }
        values
    }

    /// A score for every class, with ReLU as activation.
    pub fn scores(&self, x: &[f64]) -> Vec<f64> {
        self.forward(x.to_vec(), |_, v| v.max(0.0)).pop().expect("scores")
    }

    /// Gradient descent with momentum on the cross entropy of as many images as `count`: one pass
    /// for each of the step sizes. `gradient` adds the gradient of a batch of images.
    pub fn descend(
        &mut self,
        count: usize,
        rates: impl IntoIterator<Item = f64>,
        rng: &mut ChaCha20Rng,
        gradient: impl Fn(&Self, &[usize], &mut [Linear], &mut ChaCha20Rng),
    ) {
        let zero = |layer: &Linear| layer.map(|_| 0.0, |_| 0.0);
        let mut gradients: Vec<Linear> = self.layers.iter().map(zero).collect();
        for rate in rates {
            for batch in random::shuffled(count, rng).chunks(BATCH) {
                gradient(self, batch, &mut gradients, rng);
                for (layer, gradient) in self.layers.iter_mut().zip(&mut gradients) {
                    layer.step(gradient, rate / BATCH as f64);
                }
            }
        }
    }

    /// Adds the gradient of one image with the [inputs of every layer](Self::forward). The
    /// derivative of the activation is 1 between 0 and `top` of the layer.
    pub fn accumulate(
        &self,
        values: &[Vec<f64>],
        class: usize,
        top: impl Fn(usize) -> f64,
        gradients: &mut [Linear],
    ) {
        let mut delta = surprise(values.last().expect("scores"), class);
        for (i, layer) in self.layers.iter().enumerate().rev() {
            gradients[i].accumulate(&delta, &values[i]);
            if i > 0 {
                let back = layer.back(&delta).into_iter().zip(&values[i]);
                delta = back.map(|(d, &v)| if v > 0.0 && v < top(i) { d } else { 0.0 }).collect();
            }
        }
    }
}

/// The gradient of the cross entropy of one image with respect to its scores: the softmax, less 1
/// at its class.
fn surprise(scores: &[f64], class: usize) -> Vec<f64> {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = scores.iter().map(|s| (s - most).exp()).collect();
    let total: f64 = powers.iter().sum();
    let delta = |(i, p): (usize, &f64)| p / total - f64::from(u8::from(i == class));
    powers.iter().enumerate().map(delta).collect()
}

/// The index of the largest score, the first one of equal ones.
pub fn best(scores: &[f64]) -> usize {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    scores.iter().position(|&score| score == most).unwrap_or(0)
}
