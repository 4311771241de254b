//! Routes of operands, and equal scales.

/// Scales with a smaller relative difference are equal.
const TOLERANCE: f64 = 1.0 / (1u64 << 40) as f64;

/// Scales with a larger relative difference are never equal, however small they are.
const LOOSEST: f64 = 1.0 / (1u64 << 10) as f64;

/// The largest relative difference of equal scales: `2^-40`, or one unit of an encoded 1 for scales
/// below `2^40`, down to `2^10`.
pub(super) fn tolerance(a: f64, b: f64) -> f64 {
    (1.0 / a.min(b)).clamp(TOLERANCE, LOOSEST)
}

/// Whether two scales are equal up to rounding.
pub fn same_scale(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() <= tolerance(a, b)
}

/// The route of an operand to a level, and to another scale if there is a factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Route {
    /// The level that it is dropped to first.
    pub from: usize,
    /// An integer factor there: the scale absorbs it, the message is unchanged.
    pub factor: Option<i128>,
    /// The level after the rescales that follow; `from` without a factor.
    pub to: usize,
}

impl Route {
    /// Drops levels only.
    pub fn drop_to(level: usize) -> Self {
        Self { from: level, factor: None, to: level }
    }
}

/// The products of a sum before its rescale, and how their factors get there.
#[derive(Debug, Clone, PartialEq)]
pub struct AlignedProducts {
    /// The level of the products.
    pub level: usize,
    /// Their common scale.
    pub scale: f64,
    /// The routes of the two factors of each product.
    pub routes: Vec<(Route, Route)>,
}
