//! Tables of integers: from a file, or computed.
#![allow(dead_code, reason = "the program and the tests use their own parts of this module")]

use std::ops::RangeInclusive;
use std::path::Path;

use common::program::Failure;
use common::text;

/// The number of entries of a table, and the range of moduli.
pub const SIZES: RangeInclusive<usize> = 2..=1 << 16;

/// A table of integers: entry `k` is the result for `k`.
#[derive(Clone, PartialEq)]
pub struct Entries {
    /// The description of the table.
    pub name: String,
    pub values: Vec<usize>,
    /// The modulus of the results.
    pub modulus: usize,
}

/// Does not show the entries, which may be secrets of a server.
impl std::fmt::Debug for Entries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} entries modulo {}", self.name, self.values.len(), self.modulus)
    }
}

impl Entries {
    /// A table with results modulo `modulus`, or modulo the smallest modulus that holds the
    /// entries.
    pub fn new(name: String, values: Vec<usize>, modulus: Option<usize>) -> Result<Self, Failure> {
        let found = values.len();
        if !SIZES.contains(&found) {
            let [least, most] = [SIZES.start(), SIZES.end()];
            let why = format!("{name}: {found} entries, one per line: need {least} to {most}");
            return Err(Failure::input(why));
        }
        let smallest = values.iter().max().map_or(2, |most| (most + 1).max(2));
        let modulus = modulus.unwrap_or(smallest);
        let most = modulus.min(*SIZES.end());
        if let Some(index) = values.iter().position(|&value| value >= most) {
            let why = format!("{name}: line {}: the entry is not below {most}", index + 1);
            return Err(Failure::input(why));
        }
        Ok(Self { name, values, modulus })
    }

    pub fn read(path: &Path, modulus: Option<usize>) -> Result<Self, Failure> {
        Self::parse(path.display().to_string(), &text::read(path)?, modulus)
    }

    /// A table from its lines. Blank lines at the end do not count.
    pub fn parse(name: String, text: &str, modulus: Option<usize>) -> Result<Self, Failure> {
        let entry = |(index, line): (usize, &str)| {
            line.trim().parse::<usize>().map_err(|_| {
                let why = match line.contains([',', ';', '\t']) {
                    true => "there are several cells: need one entry per line",
                    false => "the entry is not a whole number from 0 on",
                };
                Failure::input(format!("{name}: line {}: {why}", index + 1))
            })
        };
        let values =
            text.trim_end().lines().enumerate().map(entry).collect::<Result<Vec<_>, _>>()?;
        Self::new(name, values, modulus)
    }
}

/// A substitution box like that of AES: the inverse in the field of `2^bits` elements, then a sum
/// of rotations of its bits and a constant.
#[derive(Debug, Clone, Copy)]
pub struct Sbox {
    bits: usize,
    /// The polynomial that defines the field.
    polynomial: usize,
    /// Rotations to the left whose sum is taken.
    rotations: &'static [usize],
    constant: usize,
}

impl Sbox {
    /// The S-box of AES (FIPS 197, section 5.1.1).
    pub const AES: Self =
        Self { bits: 8, polynomial: 0x11b, rotations: &[0, 1, 2, 3, 4], constant: 0x63 };

    /// The S-box of Simplified AES (Musa, Schaefer and Wedig, Cryptologia 27, 2003).
    pub const SIMPLIFIED: Self =
        Self { bits: 4, polynomial: 0b10011, rotations: &[0, 2, 3], constant: 0b1001 };

    pub fn entries(&self) -> Vec<usize> {
        (0..1 << self.bits).map(|x| self.substitute(x)).collect()
    }

    fn substitute(&self, x: usize) -> usize {
        let y = self.inverse(x);
        let mask = (1 << self.bits) - 1;
        let rotated = |r: &usize| (y << r | y >> (self.bits - r)) & mask;
        self.rotations.iter().map(rotated).fold(self.constant, |sum, term| sum ^ term)
    }

    /// `x^(2^bits - 2)`: the inverse, and 0 for 0.
    fn inverse(&self, x: usize) -> usize {
        (0..(1 << self.bits) - 2).fold(1, |power, _| self.product(power, x))
    }

    fn product(&self, x: usize, y: usize) -> usize {
        let (mut x, mut sum) = (x, 0);
        for bit in 0..self.bits {
            if y >> bit & 1 == 1 {
                sum ^= x;
            }
            x <<= 1;
            if x >> self.bits & 1 == 1 {
                x ^= self.polynomial;
            }
        }
        sum
    }
}
