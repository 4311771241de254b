//! Level and scale of an operand in messages about two operands.

use std::fmt;

/// Level and scale of a ciphertext or plaintext, as errors about two operands print them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelScale {
    /// Rescalings left.
    pub level: usize,
    /// `log2` of the scale.
    pub log2_scale: f64,
}

impl LevelScale {
    /// A level and a scale.
    pub fn new(level: usize, scale: f64) -> Self {
        Self { level, log2_scale: scale.log2() }
    }
}

impl fmt::Display for LevelScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "level {} at scale 2^{:.9}", self.level, self.log2_scale)
    }
}

/// Prints two operands, and the quotient of their scales if both print alike.
pub(super) fn against(left: &LevelScale, right: &LevelScale) -> String {
    // 2^(difference of the logarithms) - 1, exact for tiny differences.
    let difference = ((left.log2_scale - right.log2_scale) * std::f64::consts::LN_2).exp_m1();
    match left.to_string() == right.to_string() {
        true => format!("{left} against {right} (their quotient is 1 {difference:+.1e})"),
        false => format!("{left} against {right}"),
    }
}
