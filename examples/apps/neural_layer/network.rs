//! A network of two linear layers with a ReLU between them, trained in the clear.

use rand_chacha::ChaCha20Rng;

use super::digits::{CLASSES, Image, PIXELS};
use common::network::{Linear, Network};

const RATE: f64 = 0.05;

pub fn train(images: &[Image], hidden: usize, epochs: usize, rng: &mut ChaCha20Rng) -> Network {
    let mut network = Network::random(&[PIXELS, hidden, CLASSES], rng);
    let rates = vec![RATE; epochs];
    network.descend(images.len(), rates, rng, |network, batch, gradients, _| {
        for &i in batch {
            let values = network.forward(images[i].pixels.clone(), |_, v| v.max(0.0));
            network.accumulate(&values, images[i].digit, |_| f64::INFINITY, gradients);
        }
    });
    network
}

/// Largest magnitude that each output of a layer can have for inputs from 0 to 1.
fn extents(layer: &Linear) -> impl Iterator<Item = f64> {
    layer.weights.iter().zip(&layer.bias).map(|(row, bias)| {
        let sum = |keep: fn(&&f64) -> bool| row.iter().filter(keep).sum::<f64>();
        (bias + sum(|w| **w > 0.0)).abs().max((bias + sum(|w| **w < 0.0)).abs())
    })
}

/// The same network with the inputs of the ReLU scaled so that, for any image, they fill
/// `[-reach, reach]`: `relu(c v) = c relu(v)`, so the second layer can divide by `c`.
pub fn filling(mut network: Network, reach: f64) -> Network {
    let [first, second] = &mut network.layers[..] else { panic!("two layers") };
    let factors: Vec<f64> = extents(first).map(|r| reach / r.max(1e-9)).collect();
    for ((row, bias), factor) in first.weights.iter_mut().zip(&mut first.bias).zip(&factors) {
        row.iter_mut().for_each(|w| *w *= factor);
        *bias *= factor;
    }
    for row in &mut second.weights {
        row.iter_mut().zip(&factors).for_each(|(w, factor)| *w /= factor);
    }
    network
}
