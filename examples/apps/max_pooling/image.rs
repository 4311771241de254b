//! An image, drawn by code, and its largest pixels in the clear.

use rand::RngExt;
use rand_chacha::ChaCha20Rng;

/// A square image of numbers from 0 to 1, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    pub side: usize,
    pub pixels: Vec<f64>,
}

impl Image {
    /// Rings of light around a few random centres on a gradient from dark to light.
    pub fn draw(side: usize, rng: &mut ChaCha20Rng) -> Self {
        let lights: Vec<[f64; 3]> = (0..4)
            .map(|_| {
                let mut place = || rng.random_range(0.0..1.0);
                [place(), place(), 0.05 + 0.3 * place()]
            })
            .collect();
        let pixel = |place: usize| {
            let at = |k: usize| (k as f64 + 0.5) / side as f64;
            let (y, x) = (at(place / side), at(place % side));
            let glow = lights.iter().map(|&[cx, cy, radius]| {
                let away = ((x - cx).hypot(y - cy) - radius) / 0.08;
                (-away * away).exp()
            });
            (0.15 * (x + y) + glow.fold(0.0, f64::max) * 0.7).clamp(0.0, 1.0)
        };
        Self { side, pixels: (0..side * side).map(pixel).collect() }
    }

    /// The indices of the pixels of each window, row by row. Windows do not overlap, and the side
    /// is a multiple of theirs.
    pub fn windows(&self, window: usize) -> Vec<Vec<usize>> {
        let across = self.side / window;
        (0..across * across)
            .map(|k| {
                let corner = k / across * window * self.side + k % across * window;
                (0..window * window).map(|i| corner + i / window * self.side + i % window).collect()
            })
            .collect()
    }

    /// The largest pixel of each window.
    pub fn pooled(&self, window: usize) -> Vec<f64> {
        let largest = |places: &Vec<usize>| {
            places.iter().map(|&place| self.pixels[place]).fold(f64::NEG_INFINITY, f64::max)
        };
        self.windows(window).iter().map(largest).collect()
    }
}
