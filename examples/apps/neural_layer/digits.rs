//! Drawn images of digits: 8 by 8 pixels, shifted, of uneven ink, with noise.

use rand::RngExt;
use rand_chacha::ChaCha20Rng;

use common::random;

pub const SIDE: usize = 8;

pub const PIXELS: usize = SIDE * SIDE;

/// The digits, as seven rows of five pixels each, from the top; the leftmost pixel is bit 4.
const GLYPHS: [[u8; 7]; 10] = [
    [0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110],
    [0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
    [0b01110, 0b10001, 0b00001, 0b00010, 0b00100, 0b01000, 0b11111],
    [0b11111, 0b00010, 0b00100, 0b00010, 0b00001, 0b10001, 0b01110],
    [0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010],
    [0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110],
    [0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110],
    [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000],
    [0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110],
    [0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100],
];

pub const CLASSES: usize = GLYPHS.len();

/// Standard deviation of the noise on every pixel.
const NOISE: f64 = 0.2;

/// An image and the digit on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    /// Row by row, from 0 (paper) to 1 (ink).
    pub pixels: Vec<f64>,
    pub digit: usize,
}

/// Draws images of all digits in turn.
pub fn draw(count: usize, rng: &mut ChaCha20Rng) -> Vec<Image> {
    (0..count)
        .map(|i| {
            let digit = i % CLASSES;
            let (down, right) = (rng.random_range(0..=1), rng.random_range(0..=3));
            let ink = rng.random_range(0.5..=1.0);
            let inked = |place: usize| {
                let (row, column) = (place / SIDE, place % SIDE);
                let line = row.checked_sub(down).and_then(|row| GLYPHS[digit].get(row));
                let bit = column.checked_sub(right).filter(|&column| column < 5);
                line.zip(bit).is_some_and(|(line, column)| line >> (4 - column) & 1 == 1)
            };
            let pixels = (0..PIXELS)
                .map(|place| {
                    let value = if inked(place) { ink } else { 0.0 };
                    (value + NOISE * random::normal(rng)).clamp(0.0, 1.0)
                })
                .collect();
            Image { pixels, digit }
        })
        .collect()
}
