//! Encoding of integers, and of values in both parts of the slots.

use std::borrow::Borrow;

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use bellerophon_ckks::{Encoder, Interval, Plaintext, Result};

use super::FunctionalBootstrapper;
use super::int_vec::reals;
use super::paired::{slot_range, slots_of};
#[cfg(doc)]
use super::{IntVec, PairedVec};

/// Encodings for functional bootstraps, by an [`Encoder`].
pub trait EncoderExt: Borrow<Encoder> {
    /// Encodes integers of `0 .. p` for functional bootstraps of these parameters, at a scale that
    /// takes no level there. Its encryption becomes an [`IntVec`].
    ///
    /// # Errors
    /// [`ErrorKind::Range`] for an integer that is not below `p`, by its place;
    /// [`ErrorKind::Shape`] for a modulus that is not in `2..=65536`; those of
    /// [`encode_paired`](Self::encode_paired).
    fn encode_integers(
        &self,
        bootstrapper: &FunctionalBootstrapper,
        integers: &[usize],
        modulus: usize,
        level: usize,
    ) -> Result<Plaintext> {
        let (values, range) = reals(integers, modulus)?;
        let limbs = bootstrapper.params().limbs_of(level)?;
        let scale = bootstrapper.integer_scale(modulus);
        Ok(self.encode_paired(&values, range, scale, limbs)?.of_integers(modulus))
    }

    /// Encodes up to `N` reals of a declared range in both parts of the slots, as
    /// [`encode`](Encoder::encode) does in the real parts: what is encrypted becomes a
    /// [`PairedVec`].
    fn encode_paired(
        &self,
        values: &[f64],
        range: Interval,
        scale: f64,
        limbs: usize,
    ) -> Result<Plaintext> {
        let encoder = self.borrow();
        let slots = encoder.params().max_slots();
        let both = values.len() > slots;
        if !both {
            return encoder.encode(values, range, scale, limbs);
        }
        let parts = slots_of(values, &range, slots)?;
        encoder.encode(&parts, slot_range(&range, both)?, scale, limbs)
    }
}

impl EncoderExt for Encoder {}
