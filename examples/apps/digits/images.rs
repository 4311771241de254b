//! Handwritten digits of 8 by 8 pixels; see `examples/data/README.md`.

const DIGITS: &str = include_str!("../../data/digits.csv");

pub const SIDE: usize = 8;

pub const PIXELS: usize = SIDE * SIDE;

/// The largest value of a pixel.
pub const INK: usize = 16;

pub const CLASSES: usize = 10;

/// An image and the digit on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    /// Row by row, from 0 (paper) to [`INK`].
    pub pixels: Vec<usize>,
    pub digit: usize,
}

/// All images, in the order of the file: the images of a writer are consecutive.
///
/// # Panics
/// If the file differs from the one for which this program was written.
pub fn all() -> Vec<Image> {
    let image = |line: &str| {
        let (digit, pixels) = line.split_once(',').expect("a digit, then pixels");
        let pixel = |c: char| c.to_digit(INK as u32 + 1).expect("a pixel of base 17") as usize;
        let pixels: Vec<usize> = pixels.chars().map(pixel).collect();
        assert_eq!(pixels.len(), PIXELS, "an image of {PIXELS} pixels");
        Image { pixels, digit: digit.parse().expect("a digit") }
    };
    DIGITS.lines().skip(1).map(image).collect()
}
