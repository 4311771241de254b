//! Noise flooding: results for anyone but the owner of the key.

use std::fmt;

use bellerophon_ckks::{
    Ciphertext,
    noise_flooding::{self, Flooding, NoiseBound},
};
use bellerophon_mlwe::KeyId;
use rand::CryptoRng;

#[cfg(doc)]
use crate::ckks;
use crate::{ClientKey, During, ErrorKind, Result, client::system_rng};

/// `log2` of the probability that the error of some value exceeds [`FloodedValues::bits`].
const LOG2_FAILURE: f64 = -20.0;

/// The number of results of one key that will ever be shared, and how well they hide the key. Make
/// one budget per key, keep it as long as the key, and do not copy it: two budgets of `q` results
/// at the same bits are one of `2 q`. Flooded look-ups ([`Evaluator::map_flooded`]) count as
/// results.
///
/// Results are reserved before they are shared. A program that may stop, or restart from an older
/// state, must store the remaining budget that [`reserve`](Self::reserve) returns, and be sure that
/// it is on the disk, *before* it releases any reserved result. A crash then loses results that
/// were never shared, but never a count.
///
/// [`Evaluator::map_flooded`]: crate::Evaluator::map_flooded
#[derive(Debug, PartialEq)]
pub struct DecryptionBudget {
    key: KeyId,
    flooding: Flooding,
    left: u64,
    reserved: u64,
}

impl DecryptionBudget {
    /// A budget of `queries` results of a key ([`ClientKey::id`]) at `statistical_bits` bits of
    /// statistical security (1 to 64; 30 or more are advised). If the bounds on their noise hold,
    /// all results together are within a statistical distance of `2^(-bits / 2) / sqrt(48)` of
    /// results that do not depend on the key
    /// ([`ckks::noise_flooding`](bellerophon_ckks::noise_flooding)). The flooding noise grows with
    /// the root of the number of results, and by half a bit for each bit.
    ///
    /// # Errors
    /// For no results, and for bits outside that range.
    pub fn new(key: KeyId, queries: u64, statistical_bits: f64) -> Result<Self> {
        let flooding = Flooding::new(queries, statistical_bits)?;
        Ok(Self { key, flooding, left: queries, reserved: 0 })
    }

    /// Restores a budget from the remaining number of results, as [`reserve`](Self::reserve)
    /// returned it. Results that were reserved and not shared are lost.
    ///
    /// # Errors
    /// As [`new`](Self::new), and if `left` exceeds `queries`.
    pub fn resume(key: KeyId, queries: u64, statistical_bits: f64, left: u64) -> Result<Self> {
        let budget = Self::new(key, queries, statistical_bits)?;
        if left > queries {
            return Err(ErrorKind::SharingSpent { wanted: left, left: queries, queries }
                .during("DecryptionBudget"));
        }
        Ok(Self { left, ..budget })
    }

    /// Reserves `results` decryptions for later calls and returns the remaining budget. Store that
    /// number before any of those results is released.
    ///
    /// # Errors
    /// [`ErrorKind::SharingSpent`] if fewer are left; then none is reserved.
    pub fn reserve(&mut self, results: u64) -> Result<u64> {
        // Both counters change together, or neither does.
        let (left, queries) = (self.left, self.flooding.queries());
        let spent =
            ErrorKind::SharingSpent { wanted: results, left, queries }.during("DecryptionBudget");
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

    /// The key to which the budget belongs.
    pub fn key(&self) -> KeyId {
        self.key
    }

    /// The terms of the flooding: number of results and statistical bits.
    pub fn flooding(&self) -> &Flooding {
        &self.flooding
    }

    /// Refuses results of another key, and results without a reservation.
    pub(crate) fn check(&self, key: KeyId) -> Result<()> {
        if key != self.key {
            return Err(
                bellerophon_mlwe::ErrorKind::KeyMismatch { found: key, needed: self.key }.into()
            );
        }
        if self.reserved == 0 {
            return Err(ErrorKind::NotReserved.into());
        }
        Ok(())
    }

    /// Counts a result that was [checked](Self::check).
    pub(crate) fn spend(&mut self) {
        self.reserved -= 1;
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

impl ClientKey {
    /// Decrypts a vector with noise flooding, for anyone but the owner of the key: the added noise
    /// hides that of the computation, which depends on the key ([`decrypt`](Self::decrypt)).
    ///
    /// `bound` is the worst-case noise of the program that made the vector. The owner of the key
    /// computes it by running the program on the simulator. The noise in the metadata of a
    /// ciphertext is an average, and its sender may have written anything.
    ///
    /// ```
    /// use bellerophon::{DecryptionBudget, ckks::{self, Interval, simulator::Simulator},
    /// prelude::*};
    ///
    /// // The program, for the server and for the simulator.
    /// fn program<A: CkksOps>(a: &A, x: &A::Ciphertext) -> ckks::Result<A::Ciphertext> {
    ///     a.mul(x, &a.add_scalar(x, 1.0)?)
    /// }
    ///
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let params = Params::preset(Preset::ToyInsecure)?;
    /// let client = ClientKey::generate(&params)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().multiply())?)?;
    /// let x = client.encrypt(&[0.5, -1.0], -1.0..=1.0)?;
    /// let y = program(&*server, &x)?;
    ///
    /// // The worst-case noise of the program, with any values of that number and range.
    /// let simulator = Simulator::new(params.ckks()).worst_case();
    /// let any = simulator.encrypt(&[0.0; 2], Interval::real(-1.0, 1.0)?, params.levels())?;
    /// let bound = simulator.noise_bound(&program(&simulator, &any)?)?;
    ///
    /// // Ten results of this key will ever be shared. Store the remaining number before the first.
    /// let mut budget = DecryptionBudget::new(client.id(), 10, 30.0)?;
    /// let left = budget.reserve(1)?;
    /// # assert_eq!(left, 9);
    /// let shared = client.decrypt_flooded(&y, &bound, &mut budget)?;
    /// assert!((shared.values[0] - 0.75).abs() < (-shared.bits).exp2() && shared.bits > 5.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The promise covers arithmetic on slots, including polynomials, transforms and bootstrapping
    /// ([`Simulator::worst_case`](ckks::simulator::Simulator::worst_case)). These conditions apply:
    /// - No look-ups: the index error of a look-up ([`Evaluator::map`] and others), some thousandth
    ///   of its domain, depends on the key, and no bound covers it.
    /// - The vector comes from the program. Crafted ciphertexts are not covered.
    /// - The evaluator has a rotation key for every step
    ///   ([`Report::keys`](ckks::simulator::Report::keys)). Evaluators with
    ///   [`Needs::rotate_any`](crate::Needs::rotate_any) or with fewer keys compose rotations.
    /// - The inputs are encrypted as on the simulator: under the secret key, or for
    ///   [`Simulator::encrypt_public`](ckks::simulator::Simulator::encrypt_public) under the public
    ///   key.
    ///
    /// A vector that carries more noise than the bound is refused. The number of values is that of
    /// the program.
    ///
    /// [`Evaluator::map`]: crate::Evaluator::map
    ///
    /// # Errors
    /// [`ErrorKind::NotReserved`] if no result is reserved; an error for a budget of another key;
    /// [`ErrorKind::NothingLeft`] if the noise would be as large as the values; and those of
    /// [`decrypt_flooded`](bellerophon_ckks::noise_flooding::decrypt_flooded): a vector whose level
    /// or scale is not that of the program's result, and one that could wrap around its modulus. A
    /// refused call takes nothing from the budget.
    pub fn decrypt_flooded(
        &self,
        ciphertext: &Ciphertext,
        bound: &NoiseBound,
        budget: &mut DecryptionBudget,
    ) -> Result<FloodedValues> {
        self.decrypt_flooded_with(ciphertext, bound, budget, &mut system_rng())
    }

    /// As [`decrypt_flooded`](Self::decrypt_flooded), from a given generator of `rand` 0.10
    /// ([`bellerophon::rand`](crate::rand)). The generator must be unknown to those with whom
    /// the result is shared, and serve no other result: the difference of two results under the
    /// same noise has no noise, and reveals the key.
    ///
    /// # Errors
    /// As [`decrypt_flooded`](Self::decrypt_flooded).
    pub fn decrypt_flooded_with<R: CryptoRng + ?Sized>(
        &self,
        ciphertext: &Ciphertext,
        bound: &NoiseBound,
        budget: &mut DecryptionBudget,
        rng: &mut R,
    ) -> Result<FloodedValues> {
        // Step 1: refusals. They take nothing from the budget.
        budget.check(self.id()).during("decrypt_flooded")?;
        let flooding = budget.flooding();
        let noise = noise_flooding::Predicted::new(bound, flooding);
        let (worst, largest) =
            (noise.worst(LOG2_FAILURE), bound.metadata().meta.bounds.values.bound());
        if worst >= largest {
            return Err(ErrorKind::NothingLeft { noise: worst, largest }.during("decrypt_flooded"));
        }
        // Step 2: decryption, with the flooding noise added before decoding.
        let params = self.params().ckks();
        let flooded = noise_flooding::decrypt_flooded(
            params,
            ciphertext,
            self.slots(),
            bound,
            flooding,
            rng,
        )?;
        // Step 3: the values leave this function, so the result counts.
        let values = self.encoder().decode(&flooded)?;
        budget.spend();
        Ok(FloodedValues { values, bits: -worst.log2(), noise: noise.slot_std() })
    }
}
