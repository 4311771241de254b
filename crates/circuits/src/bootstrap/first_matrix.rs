//! The first matrix of C2S, which the mod raise applies without a level
//! ([`RaiseTransform`](mlwe::RaiseTransform)): metadata, worst case and preparation.
//!
//! For vectors of few slots it includes the trace onto their subring, or as much of it as the key
//! has rows for: the trace is a sum of rotations, and so is the matrix.
//!
//! **Noise.** Let `t` be the number of halvings of the slots that the trace includes, `V_x` the
//! noise before the raise, `d_k` the diagonals of the matrix, which is unitary, and `2^f` the scale
//! at which they are rounded.
//! 1. The trace doubles errors in the subring `t` times: `4^t V_x`. A unitary matrix keeps it.
//! 2. The key and the mod-down add [`RaiseTransform::noise`](mlwe::RaiseTransform::noise).
//! 3. Rounding the `2 p` coefficients of a diagonal of period `p` adds `m^2 / 12` times `p / n` for
//!    `n` slots of the ring, divided by `4^f`, where `m` is the root mean square of a slot of the
//!    operand.

use bellerophon_ckks::metadata::rules::MetadataRules;
use bellerophon_ckks::noise::{ENCODING, Noise, Operand, encoding};
use bellerophon_ckks::{CiphertextMeta, Encoder, Metadata, Params, Result};
use bellerophon_mlwe as mlwe;

use crate::diagonals::{Diagonals, rms};

/// The first matrix of C2S, prepared for the mod raise.
#[derive(Debug, Clone)]
pub(crate) struct FirstMatrix {
    /// The matrix as the mod raise applies it.
    pub(crate) transform: mlwe::RaiseTransform,
    /// Slots of the vectors after the trace.
    pub(crate) traced: usize,
    /// The factor by which the trace multiplies the message.
    repeated: f64,
    /// The level of the result.
    level: usize,
    /// Diagonals: their root mean squares and periods.
    diagonals: Vec<(f64, usize)>,
}

/// The share of C2S that the mod raise applies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share {
    /// Halvings of the number of slots by the trace.
    pub halvings: u32,
    /// Butterfly stages.
    pub stages: u32,
}

impl Share {
    /// The share of a C2S of `levels` levels of its own: as many stages as an even division of all
    /// stages of the ring over all matrices gives the first one, halvings by the trace included.
    pub(crate) fn new(params: &Params, slots: usize, levels: usize) -> Self {
        let (all, stages) = (params.max_slots().ilog2(), slots.ilog2());
        let most = all.div_ceil(levels as u32 + 1);
        let halvings = (all - stages).min(most);
        Self { halvings, stages: (most - halvings).min(stages) }
    }
}

impl FirstMatrix {
    /// Prepares a unitary matrix for vectors of its slots, after the halvings of a share.
    pub(crate) fn new(params: &Params, matrix: &Diagonals, share: Share) -> Result<Self> {
        // The trace sums the rotations by multiples of the number of slots that it leaves.
        let traced = params.max_slots() >> share.halvings;
        let copies = 0..1usize << share.halvings;
        let terms: Vec<mlwe::RaiseTerm> = copies
            .flat_map(|copy| matrix.iter().enumerate().map(move |(i, (k, _))| (copy, i, k)))
            .map(|(copy, factor, k)| mlwe::RaiseTerm {
                exponent: params.rotation_exponent((k + copy * traced) as i64),
                factor,
            })
            .collect();
        // The matrix is known from the ring and the numbers of slots and stages.
        let name = [matrix.slots() as u64, share.halvings.into(), share.stages.into()];
        let encoder = Encoder::new(params);
        let encode = |scale: f64| -> Vec<Vec<i64>> {
            let encoded = |(_, values)| encoder.factor_coefficients(values, scale);
            matrix.iter().map(encoded).map(|c| c.signed(params.lattice().spec().degree)).collect()
        };
        let transform = mlwe::RaiseTransform::new(params.lattice(), &terms, &name, encode)?;
        let diagonals = matrix.iter().map(|(_, d)| (rms(d), d.len())).collect();
        let repeated = f64::from(1u32 << share.halvings);
        let level = params.max_level();
        Ok(Self { transform, traced, repeated, level, diagonals })
    }

    /// The metadata after the mod raise and the matrix; `typical` is the root mean square of `x`.
    pub(crate) fn meta(&self, x: CiphertextMeta, typical: f64) -> Metadata {
        // 1: the message and its noise, twice as large after each halving.
        let (params, repeated) = (self.transform.params(), self.repeated);
        let scale = x.scale * repeated;
        let slot = typical * (2.0 * x.slots as f64).sqrt() * scale;
        let operand = Operand { message: slot, noise: x.noise * repeated.powi(2) };
        // 3: products with rounded diagonals.
        let unit = self.transform.log2_scale().exp2();
        let products = self.diagonals.iter().map(|&(rms, period)| {
            let share = 2.0 * period as f64 / params.spec().degree as f64;
            let degree = params.spec().degree;
            operand.noise * (rms * unit).powi(2) + encoding(degree, operand, ENCODING * share)
        });
        let sum = products.fold(Noise::NONE, |sum, product| sum + product);
        // 2: the key and the mod-down.
        let noise = sum * unit.powi(-2) + self.transform.noise();
        Metadata { level: self.level, meta: CiphertextMeta { scale, noise, ..x } }
    }

    /// The worst-case noise after the matrix of an operand without noise. `slot` bounds every sum
    /// of its slots with fixed weights, of squares with the sum 1, after the trace. Each diagonal
    /// of period `p` is rounded in `2 p` coefficients by at most 1/2, a polynomial of length at
    /// most `sqrt(p / 2N)`; in each slot of the product the diagonals are such weights.
    pub(crate) fn bounded(&self, rules: MetadataRules<'_>, slot: f64) -> Noise {
        let degree = rules.params().lattice().spec().degree as f64;
        let squares: f64 = self.diagonals.iter().map(|&(_, p)| p as f64 / (2.0 * degree)).sum();
        let rounding = squares.sqrt() * slot / self.transform.log2_scale().exp2();
        let source = rules.source(self.transform.noise());
        Noise::new(source).map(|square| (square.sqrt() + rounding).powi(2))
    }
}
