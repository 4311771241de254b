//! The number of results of one key that are shared, and their decryption.

use std::fmt;

use bellerophon_mlwe::{self as mlwe, KeyId, SecretKey};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;
use bellerophon_ring::error::ensure;
use rand::CryptoRng;

use super::{Flooding, NoiseBound, Predicted, decrypt_flooded};
use crate::ciphertext::Ciphertext;
use crate::encode::{Encoder, check_type};
use crate::error;

/// `log2` of the probability that the error of some value exceeds [`FloodedValues::bits`].
const LOG2_FAILURE: f64 = -20.0;

/// The number of results of one key that will ever be shared, and how well they hide the key. Make
/// one budget per key, keep it as long as the key, and do not copy it: two budgets of `q` results
/// at the same bits are one of `2 q`. Vectors that are flooded in front of a look-up count as
/// results.
///
/// Results are reserved before they are shared. A program that may stop, or restart from an older
/// state, must store the remaining budget that [`reserve`](Self::reserve) returns, and be sure that
/// it is on the disk, *before* it releases any reserved result. A crash then loses results that
/// were never shared, but never a count.
#[derive(Debug, PartialEq)]
pub struct DecryptionBudget {
    key: KeyId,
    flooding: Flooding,
    left: u64,
    reserved: u64,
}

impl DecryptionBudget {
    /// A budget of `queries` results of a key ([`SecretKey::id`]) at `statistical_bits` bits of
    /// statistical security (1 to 64; 30 or more are advised). If the bounds on their noise hold,
    /// all results together are within a statistical distance of `2^(-bits / 2) / sqrt(48)` of
    /// results that do not depend on the key ([module page](super)). The flooding noise grows with
    /// the root of the number of results, and by half a bit for each bit.
    pub fn new(key: KeyId, queries: u64, statistical_bits: f64) -> Result<Self> {
        let flooding = Flooding::new(queries, statistical_bits)?;
        Ok(Self { key, flooding, left: queries, reserved: 0 })
    }

    /// Restores a budget from the remaining number of results, as [`reserve`](Self::reserve)
    /// returned it. Results that were reserved and not shared are lost.
    pub fn resume(key: KeyId, queries: u64, statistical_bits: f64, left: u64) -> Result<Self> {
        let budget = Self::new(key, queries, statistical_bits)?;
        ensure(left <= queries, || error::budget_spent(left, queries, queries))?;
        Ok(Self { left, ..budget })
    }

    /// Reserves `results` decryptions for later calls and returns the remaining budget. Store that
    /// number before any of those results is released.
    ///
    /// # Errors
    /// [`ErrorKind::Budget`] if fewer are left; then none is reserved.
    pub fn reserve(&mut self, results: u64) -> Result<u64> {
        // Both counters change together, or neither does.
        let (left, queries) = (self.left, self.flooding.queries());
        let spent = error::budget_spent(results, left, queries);
        self.left = left.checked_sub(results).ok_or(spent)?;
        self.reserved += results;
        Ok(self.left)
    }

    /// Results that are neither reserved nor shared.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Results that are reserved but not shared yet.
    pub fn reserved(&self) -> u64 {
        self.reserved
    }

    /// The terms of the flooding: number of results and statistical bits.
    pub fn flooding(&self) -> &Flooding {
        &self.flooding
    }

    /// Checks that a result of this key is reserved.
    pub fn check(&self, key: KeyId) -> Result<()> {
        if key != self.key {
            return Err(mlwe::error::key_mismatch(key, self.key));
        }
        ensure(self.reserved != 0, error::not_reserved)
    }

    /// Counts a result that was [checked](Self::check) before.
    pub fn spend(&mut self) {
        self.reserved = self.reserved.saturating_sub(1);
    }

    /// Decrypts a vector with [noise flooding](decrypt_flooded) on the terms of the budget, and
    /// counts it. A refused call takes nothing from the budget.
    ///
    /// # Errors
    /// As [`check`](Self::check) and [`decrypt_flooded`]; [`ErrorKind::Noise`] if the noise
    /// would be as large as the [extent](crate::Interval::extent) of the values;
    /// [`ErrorKind::Complex`] if they may be complex.
    pub fn decrypt_flooded<R: CryptoRng + ?Sized>(
        &mut self,
        encoder: &Encoder,
        ciphertext: &Ciphertext,
        key: &SecretKey,
        bound: &NoiseBound,
        rng: &mut R,
    ) -> Result<FloodedValues> {
        // Step 1: refusals. They take nothing from the budget.
        self.check(key.id())?;
        let noise = Predicted::new(bound, &self.flooding);
        check_type::<f64>(&ciphertext.meta.bounds)?;
        let worst = noise.worst(LOG2_FAILURE);
        let largest = bound.metadata().meta.bounds.values.extent();
        ensure(worst < largest, || error::nothing_left(worst, largest))?;
        // Step 2: decryption, with the flooding noise added before decoding.
        let (params, flooding) = (encoder.params(), &self.flooding);
        let flooded = decrypt_flooded(params, ciphertext, key, bound, flooding, rng)?;
        // Step 3: the values leave this function, so the result counts.
        let values = encoder.decode(&flooded)?;
        self.spend();
        Ok(FloodedValues { values, bits: -worst.log2(), noise: noise.slot_std() })
    }
}

/// A result that may be shared.
#[derive(Clone, PartialEq)]
pub struct FloodedValues {
    /// The values, with the flooding noise.
    pub values: Vec<f64>,
    /// Correct bits after the binary point in all values under the flooding noise, except with
    /// probability `2^-20`. From some 20 statistical bits on, the error of the computation itself
    /// is smaller by orders of magnitude; with one bit and one result it may be a thirtieth.
    pub bits: f64,
    /// Standard deviation of the flooding noise of a value.
    pub noise: f64,
}

/// Does not show the values.
impl fmt::Debug for FloodedValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FloodedValues")
            .field("values", &self.values.len())
            .field("bits", &self.bits)
            .field("noise", &self.noise)
            .finish()
    }
}
