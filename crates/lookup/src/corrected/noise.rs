//! The noise of values that were packed from several tables.

use bellerophon_ckks::noise::Noise;

/// The noise of a value that was packed from a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackedNoise {
    /// Standard deviation of the noise of the table, which tables of one blind rotation share.
    pub(super) table: f64,
    /// Variances of the value's own noise, such as that of packing.
    pub(super) own: Noise,
}

/// The noise of a linear combination of values from several tables at one index. Tables of one
/// blind rotation share its noise with a correlation that depends on the functions, so their
/// deviations add up. On NTRU, with a rotation for each table, their variances add up.
pub(super) struct NoiseSum {
    one_rotation: bool,
    shared: f64,
    variances: Noise,
}

impl NoiseSum {
    pub(super) fn new(one_rotation: bool) -> Self {
        Self { one_rotation, shared: 0.0, variances: Noise::NONE }
    }

    pub(super) fn add(&mut self, factor: f64, noise: PackedNoise) {
        self.variances += noise.own * factor.powi(2);
        match self.one_rotation {
            true => self.shared += (factor * noise.table).abs(),
            false => self.variances += (factor * noise.table).powi(2),
        }
    }

    pub(super) fn variances(&self) -> Noise {
        self.variances + self.shared * self.shared
    }
}
