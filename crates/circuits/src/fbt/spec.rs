//! Options of functional bootstrapping, and its modulus chains.

use std::ops::RangeInclusive;

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use bellerophon_ckks::{LevelGroup, ModulusChain, ParamsSpec, Result};
use bellerophon_mlwe::{SecretKind, Security};
use serde::{Deserialize, Serialize};

use super::exponential::{Exponential, series_depth};
use crate::{bootstrap::BootstrapSpec, error};

/// `log2` of the largest useful error of an exponential.
const LOG2_ERROR: f64 = -20.0;

/// The largest `log2` of the ratio of the scale at S2C to the default scale.
pub(super) const LOG_ENLARGEMENT: u32 = 16;

/// Bits of the levels of S2C of small tables, whose diagonals must not be divided far.
const SMALL_S2C: u32 = 30;

/// Weight of the secret of the full-size parameters.
const WEIGHT: usize = 1024;

/// The specification of a functional bootstrap: the matrices, the exponential, and the sizes of the
/// levels.
///
/// From the lowest prime up, a chain has the levels of S2C, of the user, of the series, of the
/// exponential and of C2S.
///
/// **Failure.** With `h` nonzero coefficients of the sparse secret, a coefficient after the mod
/// raise is at most `(h + 1) / 2` times `q_0`, for all masks. The interval of the exponential has
/// that width: overflow cannot cause a failure. Noise can: it may move an integer beyond the
/// tolerance of the table. That has at most the probability [`log2_failure`](Self::log2_failure)
/// for a whole vector; otherwise the operation is refused ([`ErrorKind::Noise`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FbtSpec {
    /// Most slots of the vectors, a power of two up to `2^16`; a vector of fewer slots is repeated.
    #[serde(with = "crate::wire::word")]
    pub slots: usize,
    /// Nonzero coefficients of the sparse secret during the mod raise, at most 4096. The multiple
    /// of `q_0` that the mod raise adds is at most `weight / 2`, for all masks: it never leaves the
    /// interval of the exponential.
    #[serde(with = "crate::wire::word")]
    pub weight: usize,
    /// `log2` of the probability that noise moves some value of a vector beyond the tolerance of a
    /// table, -256 to -1.
    pub log2_failure: f64,
    /// Degree of the Chebyshev series of the exponential, at most 255.
    #[serde(with = "crate::wire::word")]
    pub degree: usize,
    /// Squarings after it.
    #[serde(with = "crate::wire::word")]
    pub doublings: usize,
    /// Whether the last squaring brings `E` back to the circle: necessary for tables of many
    /// entries, useless for functions of reals.
    pub normalised: bool,
    /// Bits of the lowest prime.
    pub q0_bits: u32,
    /// Bits of each level of S2C, at most 16 of them.
    #[serde(
        deserialize_with = "crate::wire::word::levels::<_, { FbtSpec::MOST_TRANSFORM_LEVELS }>"
    )]
    pub s2c: Vec<u32>,
    /// Bits of each level of the series, in the order of their use: the depth of the deepest
    /// series.
    #[serde(deserialize_with = "crate::wire::word::levels::<_, { FbtSpec::MOST_SERIES_LEVELS }>")]
    pub series: Vec<u32>,
    /// Bits of each level of the exponential, in the order of their use.
    #[serde(
        deserialize_with = "crate::wire::word::levels::<_, { FbtSpec::MOST_EXPONENTIAL_LEVELS }>"
    )]
    pub exponential: Vec<u32>,
    /// Bits of each level of C2S, at most 16 of them. It has one matrix more: the mod raise applies
    /// the first one at no level.
    #[serde(
        deserialize_with = "crate::wire::word::levels::<_, { FbtSpec::MOST_TRANSFORM_LEVELS }>"
    )]
    pub c2s: Vec<u32>,
    /// Baby steps of each matrix of C2S, at most 1024: one key for two of them at the highest
    /// levels if there are more than two.
    #[serde(with = "crate::wire::word")]
    pub babies: usize,
    /// Keep the diagonals without a period encoded: faster, with more memory. Not part of the
    /// bytes: the reader chooses.
    #[serde(skip)]
    pub encode_ahead: bool,
}

impl FbtSpec {
    /// Most levels of S2C, and of C2S.
    pub const MOST_TRANSFORM_LEVELS: usize = 16;

    /// Most levels of the series: a degree of `2^18 - 1`.
    pub const MOST_SERIES_LEVELS: usize = 18;

    /// Most levels of the exponential.
    pub const MOST_EXPONENTIAL_LEVELS: usize = 32;

    /// Options for tables of up to `entries` entries at order 1, on vectors of up to `slots` slots.
    /// The scales rise with the number of entries; from 17 entries on the exponential is
    /// normalised.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] unless there are 2 to `2^16` entries.
    pub fn table(slots: usize, entries: usize) -> Result<Self> {
        if !(2..=1 << 16).contains(&entries) {
            return Err(error::shape(format!("tables of {entries} entries: need 2 to 65536")));
        }
        // Step 1: the depth of the series, whose degree is one less than the entries.
        let depth = series_depth(entries - 1);
        // Step 2: bits of q_0, S2C (bits, levels), bits of the scale, C2S (bits, levels).
        let (q0_bits, s2c, scale, c2s) = match entries {
            0..=2 => (42, (36, 3), 40, (40, 3)),
            3..=16 => (42, (36, 3), 42, (42, 3)),
            17..=1024 => (42, (36, 3), 46, (46, 3)),
            1025..=4096 => (46, (36, 3), 46, (48, 2)),
            _ => (45, (40, 2), 49, (50, 2)),
        };
        // Step 3: the primes of the exponential and of the series.
        let normalised = entries > 16;
        let exponential = match scale {
            46 => graded(9, 46, [48, 50]),
            scale => vec![scale; 8 + usize::from(normalised)],
        };
        let series = if entries > 1024 { falling(scale, depth) } else { vec![scale; depth] };
        Ok(Self {
            slots,
            weight: 32,
            log2_failure: -128.0,
            degree: 31,
            doublings: 3,
            normalised,
            q0_bits,
            s2c: vec![s2c.0; s2c.1],
            series,
            exponential,
            c2s: vec![c2s.0; c2s.1],
            babies: 8,
            encode_ahead: true,
        })
    }

    /// Options for tables of 2 to 16 entries at order 1 with scales just large enough: the chain
    /// fits a ring of degree `2^15`. Levels of the user have `scale` bits, and from 3 entries on
    /// the exponential is normalised.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] unless there are 2 to 16 entries.
    pub fn small_table(slots: usize, entries: usize, scale: u32) -> Result<Self> {
        if !(2..=16).contains(&entries) {
            let reason = format!(
                "small tables of {entries} entries: need 2 to 16, or take `FbtSpec::table` in a \
                 ring of degree 2^16"
            );
            return Err(error::shape(reason));
        }
        let base = Self::table(slots, entries)?;
        let normalised = entries > 2;
        // Results of many entries are compared with smaller cells: E and its powers take more bits.
        let (q0_bits, series, exponential) = match normalised {
            false => (scale + 4, scale, graded(8, scale, [scale + 1, scale + 2])),
            true => (scale + 6, scale + 1, graded(9, scale + 2, [scale + 5, scale + 8])),
        };
        Ok(Self {
            normalised,
            q0_bits,
            s2c: vec![SMALL_S2C; 2],
            series: vec![series; base.series.len()],
            exponential,
            c2s: vec![scale + 3; 2],
            ..base
        })
    }

    /// Options for functions of reals by series of up to a degree, on vectors of up to `slots`
    /// slots.
    pub fn reals(slots: usize, degree: usize) -> Self {
        Self {
            slots,
            weight: 32,
            log2_failure: -128.0,
            degree: 27,
            doublings: 4,
            normalised: false,
            q0_bits: 45,
            s2c: vec![45; 3],
            series: vec![46; series_depth(degree)],
            exponential: graded(9, 46, [48, 50]),
            c2s: vec![48; 3],
            babies: 8,
            encode_ahead: true,
        }
    }

    /// Options for functional bootstraps on the [modulus chain](BootstrapSpec::chain) of a
    /// bootstrap at the scale `2^log_scale`, beside it: tables of up to 256 entries, and series of
    /// reals of up to degree 255. Rotation keys, sparse secret and the first matrix of C2S are
    /// those of the bootstrap, so one set of keys serves both. The exponential takes levels of
    /// EvalMod; the series takes those that are left, and levels of the user.
    ///
    /// # Errors
    /// [`ErrorKind::Parameters`] when no plan of EvalMod meets the specification, or when it has
    /// fewer levels than the exponential.
    pub fn beside(bootstrap: &BootstrapSpec, log_scale: u32) -> Result<Self> {
        let BootstrapSpec { log_reduction, s2c_levels, c2s_levels, .. } = *bootstrap;
        let (degree, doublings, normalised) = (27, 4, true);
        // Step 1: the exponential takes the highest levels of EvalMod.
        let bound = 0.5 * bootstrap.weight as f64 + 0.5;
        let depth = Exponential::new(bound, degree, doublings, normalised)?.depth();
        let reduction = bootstrap.reduction_sizes()?;
        if reduction.len() < depth {
            let reason = format!(
                "EvalMod has {} levels and the exponential of a functional bootstrap takes {depth}",
                reduction.len()
            );
            return Err(error::params(reason));
        }
        let (exponential, rest) = reduction.split_at(depth);
        // Step 2: the deepest series takes the rest, and levels of the user.
        let user = series_depth(255).saturating_sub(rest.len());
        let series = [rest, &vec![log_scale; user]].concat();
        Ok(Self {
            slots: bootstrap.slots,
            weight: bootstrap.weight,
            log2_failure: -128.0,
            degree,
            doublings,
            normalised,
            q0_bits: bootstrap.q0_bits(log_scale),
            s2c: vec![log_scale; s2c_levels],
            series,
            exponential: exponential.to_vec(),
            c2s: vec![log_reduction; c2s_levels],
            babies: bootstrap.babies,
            encode_ahead: bootstrap.encode_ahead,
        })
    }

    /// The modulus chain for these options, with `levels` levels for the user of the size of the
    /// scale; `special` are bits and number of the special primes.
    pub fn chain(
        &self,
        degree: usize,
        log_scale: u32,
        levels: usize,
        special: (u32, usize),
    ) -> ModulusChain {
        let user = vec![log_scale; levels];
        // The options list levels in the order of use, from the top down; a chain lists them from
        // the bottom up.
        let reversed = |bits: &[u32]| bits.iter().rev().copied().collect::<Vec<_>>();
        let all = [
            self.s2c.clone(),
            user,
            reversed(&self.series),
            reversed(&self.exponential),
            self.c2s.clone(),
        ]
        .concat();
        // Consecutive levels of one size form a group.
        let mut groups: Vec<LevelGroup> = vec![];
        for bits in all {
            match groups.last_mut() {
                Some(group) if group.bits == bits => group.count += 1,
                _ => groups.push(LevelGroup::single(bits, 1)),
            }
        }
        ModulusChain { degree, first_bits: self.q0_bits, levels: groups, special }
    }

    /// `log2` of the ratio of the scale at S2C, per revolution, to the default scale. A value at
    /// the default scale is multiplied there by an integer of at most that many bits, which takes
    /// no level. S2C divides by the same ratio, so that a larger one makes its diagonals less
    /// precise; tables of many entries need precise diagonals.
    pub(crate) fn log_enlargement(&self) -> u32 {
        match self.series.len() {
            _ if self.s2c.iter().any(|&bits| bits <= SMALL_S2C) => LOG_ENLARGEMENT / 4,
            0..=7 => LOG_ENLARGEMENT,
            8..=12 => LOG_ENLARGEMENT / 2,
            _ => 2,
        }
    }

    /// The exponential; its interval contains every multiple of `q_0` that the mod raise can add.
    pub(crate) fn exponential(&self) -> Result<Exponential> {
        // A coefficient after the mod raise is at most (h + 1) / 2 times q_0 for h nonzero
        // coefficients of the secret.
        let bound = 0.5 * self.weight as f64 + 0.5;
        Exponential::new(bound, self.degree, self.doublings, self.normalised)
    }

    /// Refuses options outside their ranges.
    pub(crate) fn check(&self) -> Result<()> {
        let within = |field: &str, value: f64, range: RangeInclusive<f64>| {
            if range.contains(&value) {
                return Ok(());
            }
            let reason = format!("functional bootstrapping with {field} = {value}: need {range:?}");
            Err(error::params(reason))
        };
        // Step 1: numbers, and the levels of every part.
        within("slots", self.slots as f64, 1.0..=65536.0)?;
        within("weight", self.weight as f64, 1.0..=4096.0)?;
        within("log2_failure", self.log2_failure, -256.0..=-1.0)?;
        for (field, levels, least, most) in [
            ("levels of S2C", &self.s2c, 1, Self::MOST_TRANSFORM_LEVELS),
            ("levels of C2S", &self.c2s, 1, Self::MOST_TRANSFORM_LEVELS),
            ("levels of the series", &self.series, 0, Self::MOST_SERIES_LEVELS),
            ("levels of the exponential", &self.exponential, 1, Self::MOST_EXPONENTIAL_LEVELS),
        ] {
            within(field, levels.len() as f64, least as f64..=most as f64)?;
        }
        within("babies", self.babies as f64, 1.0..=1024.0)?;
        // Step 2: the error of the exponential, and exactly the levels that it takes.
        let exponential = self.exponential()?;
        within(
            "log2 of the error of the exponential",
            exponential.error.log2(),
            -256.0..=LOG2_ERROR,
        )?;
        // The chain must have exactly the levels that the exponential takes.
        let depth = exponential.depth();
        within(
            "levels of the exponential",
            self.exponential.len() as f64,
            depth as f64..=depth as f64,
        )?;
        // Step 3: at most eight stages of a transform in one matrix. C2S always has two matrices at
        // least.
        let stages = self.slots.max(1).ilog2() as usize;
        within("stages in a matrix", stages.div_ceil(self.s2c.len()) as f64, 0.0..=8.0)?;
        Ok(())
    }
}

/// `count` levels, the first two larger: the errors of the first squarings grow most.
fn graded(count: usize, bits: u32, first: [u32; 2]) -> Vec<u32> {
    first.into_iter().chain(std::iter::repeat_n(bits, count - first.len())).collect()
}

/// `count` levels along which the scale falls by one bit every other level: errors of late steps
/// are enlarged little. A level between the scales `s` and `s'` divides by `s^2 / s'`.
fn falling(scale: u32, count: usize) -> Vec<u32> {
    let at = |step: usize| scale - step as u32 / 2;
    (0..count).map(|step| 2 * at(step) - at(step + 1)).collect()
}

impl FbtSpec {
    /// Full-size parameters for functional bootstrapping: `N = 2^16`, 128 bits of security, a
    /// secret of weight 1024, `levels` levels for the user at the scale `2^log_scale`, and special
    /// primes of bits and number `special`.
    pub fn full_size(
        &self,
        log_scale: u32,
        levels: usize,
        special: (u32, usize),
    ) -> Result<ParamsSpec> {
        let chain = self.chain(1 << 16, log_scale, levels, special);
        let mut params = ParamsSpec::from_chain(&chain, log_scale, Security::Insecure)?;
        params.lattice.secret = SecretKind::Sparse(WEIGHT);
        params.lattice.security = Security::Bits128;
        Ok(params)
    }
}
