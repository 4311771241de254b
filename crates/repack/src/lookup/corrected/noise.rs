//! The noise of values that were packed from several tables.

/// Standard deviations of a value that was packed from a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noise {
    /// Noise of the table, which tables of one blind rotation share.
    pub(super) table: f64,
    /// Noise of the value's own, such as that of packing.
    pub(super) own: f64,
}

/// The noise of a linear combination of values from several tables at one index. Tables of one
/// blind rotation share its noise with a correlation that depends on the functions, so their
/// deviations add up. On NTRU, with a rotation for each table, their variances add up.
pub(super) struct NoiseSum {
    one_rotation: bool,
    shared: f64,
    variance: f64,
}

impl NoiseSum {
    pub(super) fn new(one_rotation: bool) -> Self {
        Self { one_rotation, shared: 0.0, variance: 0.0 }
    }

    pub(super) fn add(&mut self, factor: f64, noise: Noise) {
        self.variance += (factor * noise.own).powi(2);
        match self.one_rotation {
            true => self.shared += (factor * noise.table).abs(),
            false => self.variance += (factor * noise.table).powi(2),
        }
    }

    pub(super) fn std(&self) -> f64 {
        (self.shared * self.shared + self.variance).sqrt()
    }
}
