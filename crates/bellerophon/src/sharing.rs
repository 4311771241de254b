//! Results for others than the owner of the key.

use bellerophon_ckks::{
    Ciphertext,
    sharing::{self, Flooding, NoiseBound},
};
use rand::CryptoRng;

use crate::{ClientKey, Error, Result, client::system_rng};

/// The probability, as `log2`, with which some value errs by more than [`Shared::bits`] says.
const LOG2_FAILURE: f64 = -20.0;

/// How many results of one key will ever be shared, and how well they are to hide it. Make one for each
/// key, keep it as long as the key, and do not copy it: two budgets of `q` results are one of `2 q`.
#[derive(Debug, PartialEq)]
pub struct SharingBudget {
    flooding: Flooding,
    left: u64,
}

impl SharingBudget {
    /// `queries` results at so many bits of statistical security (1 to 128; 30 or more are advised).
    /// All of them together are within a statistical distance of `2^(-bits / 2) / sqrt(48)` of results
    /// that know nothing of the key ([`ckks::sharing`](bellerophon_ckks::sharing)). Noise grows as the
    /// root of the number of results, and by half a bit for each bit.
    ///
    /// # Errors
    /// For no results, and for bits outside that range.
    pub fn new(queries: u64, statistical_bits: f64) -> Result<Self> {
        let flooding = Flooding::new(queries, statistical_bits)?;
        Ok(Self { flooding, left: queries })
    }

    /// The budget as it stood when some of its results had been shared: for programs that store
    /// [`left`](Self::left).
    ///
    /// # Errors
    /// As [`new`](Self::new), and for more left than there were.
    pub fn resume(queries: u64, statistical_bits: f64, left: u64) -> Result<Self> {
        if left > queries {
            return Err(Error::SharingSpent { queries });
        }
        Ok(Self { left, ..Self::new(queries, statistical_bits)? })
    }

    /// Results that are left.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// `log2` of the statistical distance that all results together stay below.
    pub fn log2_distance(&self) -> f64 {
        self.flooding.log2_distance()
    }
}

/// A result that may be shared.
#[derive(Debug, Clone, PartialEq)]
pub struct Shared {
    /// The values, with the flooding noise.
    pub values: Vec<f64>,
    /// Bits after the binary point that the flooding leaves right in all values, but for a chance of
    /// `2^-20`. The error of the computation itself is smaller by orders.
    pub bits: f64,
    /// Standard deviation of the flooding noise of a value.
    pub noise: f64,
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
    /// let x = client.encrypt_in(&[0.5, -1.0], -1.0..=1.0)?;
    /// let y = program(&*server, &x)?;
    ///
    /// // What the program does to noise: any values of the length and the range will do.
    /// let shadow = Shadow::new(params.arithmetic()).worst_case();
    /// let any = shadow.encrypt(&[0.0; 2], params.levels())?;
    /// let any = shadow.assume_range(any, Interval::real(-1.0, 1.0)?);
    /// let bound = shadow.noise_bound(&program(&shadow, &any)?)?;
    ///
    /// // Ten results of this key will ever be shared.
    /// let mut budget = SharingBudget::new(10, 30.0)?;
    /// let shared = client.decrypt_for_sharing(&y, &bound, &mut budget)?;
    /// assert!((shared.values[0] - 0.75).abs() < (-shared.bits).exp2() && shared.bits > 5.0);
    /// assert_eq!(budget.left(), 9);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The promise is about arithmetic on slots: the result of a look-up ([`Evaluator::map`] and the
    /// like) errs by what the key made of its index, a part in some thousand of its domain, and no
    /// bound covers that. Nor does it cover ciphertexts that somebody made up: a vector to be shared
    /// must come from the program.
    ///
    /// [`Evaluator::map`]: crate::Evaluator::map
    ///
    /// # Errors
    /// [`Error::SharingSpent`] when no result is left, [`Error::NothingLeft`] where the noise would be
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
    /// unknown to those with whom the result is shared.
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
        let SharingBudget { flooding, left } = budget;
        let remaining =
            left.checked_sub(1).ok_or(Error::SharingSpent { queries: flooding.queries() })?;
        let noise = sharing::Predicted::new(bound, flooding);
        let (worst, largest) = (noise.worst(LOG2_FAILURE), ciphertext.range().bound());
        if worst >= largest {
            return Err(Error::NothingLeft { noise: worst, largest });
        }
        let params = self.params().arithmetic();
        let flooded =
            sharing::decrypt_flooded(params, ciphertext, self.slots(), bound, flooding, rng)?;
        let values = self.encoder().decode(&flooded)?;
        *left = remaining;
        Ok(Shared { values, bits: -worst.log2(), noise: noise.slot_std() })
    }
}
