//! Functional bootstrapping of whole vectors: exact tables of integers, and functions of reals.

use bellerophon_circuits::fbt::{IntVec, PairedVec, PublishExt};
#[cfg(doc)]
use bellerophon_ckks as ckks;
use bellerophon_ckks::Published;
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Result, error::operation};

use crate::client::ClientKey;
use crate::evaluator::Evaluator;

impl ClientKey {
    /// Decrypts integers modulo their modulus. Accepts a [published](Evaluator::publish_integers)
    /// result, and within one process any vector of integers.
    ///
    /// Rounding removes the noise, so the result may be shown to anyone. It is that of the program
    /// on the integers in the clear, except with the failure probability of the parameters and
    /// those of the preceding functional bootstraps ([`Evaluator::failures`]). This assumes a
    /// server that runs the program, and noise as predicted: `docs/security/sharing.md`, "Exact
    /// integers", states the assumptions. [`decrypt_paired`](Self::decrypt_paired) of the same
    /// vector is for the owner of the key only.
    ///
    /// # Errors
    /// [`ErrorKind::Noise`] if noise may have changed an integer with more than the failure
    /// probability of the parameters.
    pub fn decrypt_integers(&self, integers: &impl AsRef<IntVec>) -> Result<Vec<usize>> {
        operation("decrypt_integers", || {
            let log2_failure = self.params().functional()?.spec().log2_failure;
            integers.as_ref().decrypt(self.params().ckks(), &self.slots, log2_failure)
        })
    }

    /// Decrypts a paired vector. The warning about noise at [`decrypt`](Self::decrypt) applies.
    /// Accepts a [published](ckks::Evaluator::publish_paired) result, and within one process any
    /// paired vector.
    pub fn decrypt_paired(&self, values: &impl AsRef<PairedVec>) -> Result<Vec<f64>> {
        operation("decrypt_paired", || values.as_ref().decrypt(self.params().ckks(), &self.slots))
    }
}

impl Evaluator {
    /// Publishes integers: the form in which they leave the server. Their metadata states the
    /// modulus and the number of integers, and that they decrypt exactly except with the failure
    /// probability of the parameters ([`ckks::Evaluator::publish_integers`]). So the metadata does
    /// not depend on the table. Takes no level.
    ///
    /// ```
    /// use bellerophon::{format, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// let params = Params::preset(Preset::Insecure(Toy::Tables))?;
    /// let client = ClientKey::generate(&params)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().functional())?)?;
    /// let fresh = client.encrypt_seeded(&[3, 250, 7], Modulo(256))?; // half the bytes
    /// let x = fresh.expand(params.ckks())?;
    /// let sum = server.integers().add_constant(&x, 77)?; // 0 to 331 before its reduction
    /// assert!(server.publish_integers(&sum).is_err());
    /// let y = server.integers().table(&sum, |k| k)?;
    /// let answer = format::to_bytes(&params, &server.publish_integers(&y)?)?;
    /// let y: Published<IntVec> = format::from_bytes(&params, &answer)?;
    /// assert_eq!(client.decrypt_integers(&y)?, [80, 71, 84]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Noise`] for integers that an identity table must reduce first.
    pub fn publish_integers(&self, x: &IntVec) -> Result<Published<IntVec>> {
        operation("publish_integers", || {
            // Integers that would decrypt wrongly more often than this are refused.
            let log2_failure = self.params().functional()?.spec().log2_failure;
            self.arithmetic.publish_integers(x, log2_failure)
        })
    }
}
