//! Results for others than the owner of the key.

use std::fmt;

use bellerophon_ckks::{
    self as ckks, Ciphertext,
    sharing::{self, Flooding, NoiseBound},
};
use bellerophon_mlwe::KeyId;
use rand::CryptoRng;

use crate::{ClientKey, Error, Result, client::system_rng};

/// The probability, as `log2`, with which some value errs by more than [`Shared::bits`] says.
const LOG2_FAILURE: f64 = -20.0;

/// How many results of one key will ever be shared, and how well they are to hide it. Make one for each
/// key, keep it as long as the key, and do not copy it: two budgets of `q` results at the same bits are one
/// of `2 q`. Flooded look-ups ([`Evaluator::map_flooded`]) count as results.
///
/// Results are reserved before they are shared. A program that may stop, or run again from an older
/// state, stores what [`reserve`](Self::reserve) leaves, and sees it safe on the disk, *before* any of
/// the results reserved leaves it: what it loses then are results that were never shared, and no counts.
///
/// [`Evaluator::map_flooded`]: crate::Evaluator::map_flooded
#[derive(Debug, PartialEq)]
pub struct SharingBudget {
    key: KeyId,
    flooding: Flooding,
    left: u64,
    reserved: u64,
}

impl SharingBudget {
    /// `queries` results of a key ([`ClientKey::id`]) at so many bits of statistical security (1 to 64; 30
    /// or more are advised). If the bounds on their noise hold, all of them together are within a
    /// statistical distance of `2^(-bits / 2) / sqrt(48)` of results
    /// that know nothing of the key ([`ckks::sharing`](bellerophon_ckks::sharing)). Noise grows as the
    /// root of the number of results, and by half a bit for each bit.
    ///
    /// # Errors
    /// For no results, and for bits outside that range.
    pub fn new(key: KeyId, queries: u64, statistical_bits: f64) -> Result<Self> {
        let flooding = Flooding::new(queries, statistical_bits)?;
        Ok(Self { key, flooding, left: queries, reserved: 0 })
    }

    /// The budget as it stood when some of its results had been reserved: for programs that store what
    /// [`reserve`](Self::reserve) leaves. Results that were reserved and not shared are lost.
    ///
    /// # Errors
    /// As [`new`](Self::new), and for more left than there were.
    pub fn resume(key: KeyId, queries: u64, statistical_bits: f64, left: u64) -> Result<Self> {
        let budget = Self::new(key, queries, statistical_bits)?;
        if left > queries {
            return Err(Error::SharingSpent { wanted: left, left: queries, queries });
        }
        Ok(Self { left, ..budget })
    }

    /// Takes so many results out of what is left, for the calls to come, and returns what is left then:
    /// the number to be stored before any of those results is released.
    ///
    /// # Errors
    /// [`Error::SharingSpent`] when fewer are left; then none is reserved.
    pub fn reserve(&mut self, results: u64) -> Result<u64> {
        let (left, queries) = (self.left, self.flooding.queries());
        let spent = Error::SharingSpent { wanted: results, left, queries };
        self.left = left.checked_sub(results).ok_or(spent)?;
        self.reserved += results;
        Ok(self.left)
    }

    /// Results that are left, and not reserved.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Results that are reserved, and not shared yet.
    pub fn reserved(&self) -> u64 {
        self.reserved
    }

    /// The key whose results they are.
    pub fn key(&self) -> KeyId {
        self.key
    }

    /// The terms on which results are flooded.
    pub fn flooding(&self) -> &Flooding {
        &self.flooding
    }

    /// `log2` of the statistical distance that all results together stay below, if the bounds on their
    /// noise hold.
    pub fn log2_distance(&self) -> f64 {
        self.flooding.log2_distance()
    }

    /// Refuses results of another key, and such of which none is reserved.
    pub(crate) fn check(&self, op: &'static str, key: KeyId) -> Result<()> {
        if key != self.key {
            return Err(ckks::Error::KeyMismatch { op, left: self.key, right: key }.into());
        }
        if self.reserved == 0 {
            return Err(Error::NotReserved { op });
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
pub struct Shared {
    /// The values, with the flooding noise.
    pub values: Vec<f64>,
    /// Bits after the binary point that the flooding leaves right in all values, but for a chance of
    /// `2^-20`. From some 20 statistical bits on, the error of the computation itself is smaller by orders;
    /// with one bit and one result it may be a thirtieth.
    pub bits: f64,
    /// Standard deviation of the flooding noise of a value.
    pub noise: f64,
}

/// Without the values, which a caller shows on purpose or not at all.
impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("values", &self.values.len())
            .field("bits", &self.bits)
            .field("noise", &self.noise)
            .finish()
    }
}

impl ClientKey {
    /// The values of a vector for others than the owner of the key, under noise that hides the noise of
    /// the computation, which depends on the key ([`decrypt`](Self::decrypt)).
    ///
    /// `bound` is what the program that made the vector does to noise in the worst case. The owner
    /// of the key works it out, by running the program on a shadow: what a ciphertext says of its own
    /// noise is an average, and comes from whoever computed it.
    ///
    /// ```
    /// use bellerophon::{SharingBudget, ckks::{self, Interval, shadow::Shadow}, prelude::*};
    ///
    /// // The program, for the server and for the shadow alike.
    /// fn program<A: Arithmetic>(a: &A, x: &A::Ciphertext) -> ckks::Result<A::Ciphertext> {
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
    /// // What the program does to noise: any values of the length and the range will do.
    /// let shadow = Shadow::new(params.arithmetic()).worst_case();
    /// let any = shadow.encrypt(&[0.0; 2], Interval::real(-1.0, 1.0)?, params.levels())?;
    /// let bound = shadow.noise_bound(&program(&shadow, &any)?)?;
    ///
    /// // Ten results of this key will ever be shared. One now: what is left is stored first.
    /// let mut budget = SharingBudget::new(client.id(), 10, 30.0)?;
    /// let left = budget.reserve(1)?;
    /// # assert_eq!(left, 9);
    /// let shared = client.decrypt_for_sharing(&y, &bound, &mut budget)?;
    /// assert!((shared.values[0] - 0.75).abs() < (-shared.bits).exp2() && shared.bits > 5.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The promise is about arithmetic on slots: the result of a look-up ([`Evaluator::map`] and the
    /// like) errs by what the key made of its index, a part in some thousand of its domain, and no
    /// bound covers that. Nor does it cover ciphertexts that somebody made up: a vector to be shared
    /// must come from the program. The bound is of evaluators with a rotation key for every step
    /// ([`Report::keys`](ckks::shadow::Report::keys)), not of those with
    /// [`Needs::rotate_any`](crate::Needs::rotate_any) or with fewer keys, which compose rotations, and of
    /// inputs encrypted as the shadow encrypts them: under the secret key
    /// ([`Shadow::encrypt_public`](ckks::shadow::Shadow::encrypt_public) is for the others). A vector that
    /// carries more noise than the bound is refused; the number of values is that of the program.
    ///
    /// [`Evaluator::map`]: crate::Evaluator::map
    ///
    /// # Errors
    /// [`Error::NotReserved`] when no result is reserved, a budget of another key, [`Error::NothingLeft`] where the noise would be
    /// as large as the values, and those of
    /// [`decrypt_flooded`](bellerophon_ckks::sharing::decrypt_flooded): a vector that does not stand
    /// where the program leaves it, and one that could wrap around its modulus. A refused call takes
    /// nothing of the budget.
    pub fn decrypt_for_sharing(
        &self,
        ciphertext: &Ciphertext,
        bound: &NoiseBound,
        budget: &mut SharingBudget,
    ) -> Result<Shared> {
        self.decrypt_for_sharing_with(ciphertext, bound, budget, &mut system_rng())
    }

    /// As [`decrypt_for_sharing`](Self::decrypt_for_sharing) from a given generator, which must be
    /// unknown to those with whom the result is shared, and serve no other result: the difference of two
    /// under the same noise is without noise, and two such results give away the key.
    ///
    /// # Errors
    /// As [`decrypt_for_sharing`](Self::decrypt_for_sharing).
    pub fn decrypt_for_sharing_with<R: CryptoRng + ?Sized>(
        &self,
        ciphertext: &Ciphertext,
        bound: &NoiseBound,
        budget: &mut SharingBudget,
        rng: &mut R,
    ) -> Result<Shared> {
        budget.check("share a result", self.id())?;
        let flooding = budget.flooding();
        let noise = sharing::Predicted::new(bound, flooding);
        let (worst, largest) = (noise.worst(LOG2_FAILURE), bound.range().bound());
        if worst >= largest {
            return Err(Error::NothingLeft { noise: worst, largest });
        }
        let params = self.params().arithmetic();
        let flooded =
            sharing::decrypt_flooded(params, ciphertext, self.slots(), bound, flooding, rng)?;
        let values = self.encoder().decode(&flooded)?;
        budget.spend();
        Ok(Shared { values, bits: -worst.log2(), noise: noise.slot_std() })
    }
}
