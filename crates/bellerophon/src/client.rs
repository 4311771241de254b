//! The owner of the data: secret keys, encryption, decryption.

use std::{fmt, ops::RangeInclusive};

use bellerophon_ckks::{
    self as ckks, Bounds, Ciphertext, Encoder, Interval, Meta, Plaintext, SeededCiphertext,
};
use bellerophon_lwe::{self as lwe, Values};
use bellerophon_mlwe::{KeyId, SecretKey};
use chacha20::ChaCha20Rng;
use rand::{CryptoRng, SeedableRng, rngs::SysRng};

use crate::{Error, EvaluationKeys, Needs, Params, Result, keys::key_spec};

/// The secret keys of one client. It never leaves the client: it has no wire form, and becomes bytes
/// only by a step of its own ([`to_secret_bytes`](Self::to_secret_bytes)); its contents are overwritten
/// on drop, and `Debug` shows its public identity only.
///
/// It holds one secret for the slots and, where the parameters have look-ups, one for LWE values
/// and one for the ring of the tables.
pub struct ClientKey {
    params: Params,
    encoder: Encoder,
    pub(crate) slots: SecretKey,
    pub(crate) lookups: Option<LookupSecrets>,
}

/// The secrets that only look-ups take.
pub(crate) struct LookupSecrets {
    pub(crate) lwe: lwe::SecretKey,
    pub(crate) ring: lwe::SecretKey,
}

/// A generator seeded by the operating system.
pub(crate) fn system_rng() -> ChaCha20Rng {
    ChaCha20Rng::try_from_rng(&mut SysRng).expect("the operating system gives random bytes")
}

impl ClientKey {
    /// Fresh secrets from a generator that the operating system seeds.
    ///
    /// # Errors
    /// None for parameters that [`Params`] accepts.
    pub fn generate(params: &Params) -> Result<Self> {
        Self::generate_with(params, &mut system_rng())
    }

    /// As [`generate`](Self::generate) from a given generator.
    ///
    /// # Errors
    /// As [`generate`](Self::generate).
    pub fn generate_with<R: CryptoRng + ?Sized>(params: &Params, rng: &mut R) -> Result<Self> {
        let slots = SecretKey::generate(params.arithmetic().lattice(), rng)?;
        let lookups = match params.optional_lookups() {
            Some(lookups) => Some(LookupSecrets {
                lwe: lwe::SecretKey::generate_lwe(lookups.lattice(), rng)?,
                ring: lwe::SecretKey::generate_ring(lookups.lattice(), rng)?,
            }),
            None => None,
        };
        Ok(Self::from_secrets(params, slots, lookups))
    }

    /// The key of these secrets, which are of these parameters.
    pub(crate) fn from_secrets(
        params: &Params,
        slots: SecretKey,
        lookups: Option<LookupSecrets>,
    ) -> Self {
        let encoder = Encoder::new(params.arithmetic());
        Self { params: params.clone(), encoder, slots, lookups }
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The public identity that ciphertexts and keys of this client carry.
    pub fn id(&self) -> KeyId {
        self.slots.id()
    }

    /// The secret of the slots.
    pub(crate) fn slots(&self) -> &SecretKey {
        &self.slots
    }

    /// What decodes its vectors.
    pub(crate) fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// The public keys for a program: send them to whoever computes.
    ///
    /// # Errors
    /// [`Error::NoLookUps`] and [`Error::NoRefresh`] for needs that the parameters do not serve.
    pub fn evaluation_keys(&self, needs: &Needs) -> Result<EvaluationKeys> {
        self.evaluation_keys_with(needs, &mut system_rng())
    }

    /// As [`evaluation_keys`](Self::evaluation_keys) from a given generator.
    ///
    /// # Errors
    /// As [`evaluation_keys`](Self::evaluation_keys).
    pub fn evaluation_keys_with<R: CryptoRng + ?Sized>(
        &self,
        needs: &Needs,
        rng: &mut R,
    ) -> Result<EvaluationKeys> {
        EvaluationKeys::generate(&self.params, &self.slots, self.lookups.as_ref(), needs, rng)
    }

    /// The public keys for a program that goes down in module rank by itself as its levels are used up
    /// ([`ckks::ReducingEvaluator`]): those of the slots' arithmetic at every one of
    /// [`ckks::Params::ranks`]. What it computes is decrypted once
    /// [padded](ckks::ReducingEvaluator::padded). Look-ups and refreshing take
    /// [`evaluation_keys`](Self::evaluation_keys): asked for here, they add rotation keys that nothing
    /// uses.
    ///
    /// # Errors
    /// [`Error::NoLookUps`] and [`Error::NoRefresh`] for needs that the parameters do not serve.
    pub fn reducing_keys(&self, needs: &Needs) -> Result<ckks::ReducingKeys> {
        self.reducing_keys_with(needs, &mut system_rng())
    }

    /// As [`reducing_keys`](Self::reducing_keys) from a given generator.
    ///
    /// # Errors
    /// As [`reducing_keys`](Self::reducing_keys).
    pub fn reducing_keys_with<R: CryptoRng + ?Sized>(
        &self,
        needs: &Needs,
        rng: &mut R,
    ) -> Result<ckks::ReducingKeys> {
        let spec = key_spec(&self.params, needs)?;
        Ok(ckks::ReducingKeys::generate(self.params.arithmetic(), &self.slots, &spec, rng)?)
    }

    /// Encrypts a vector at the highest level for programs, [`Params::levels`].
    ///
    /// The ciphertext carries, readable by everyone, the number of values and a bound on their
    /// magnitude: the largest one rounded up to two bits behind the leading one (3.1 gives 3.5).
    /// Where that is too much to tell, or a better range is known, use
    /// [`encrypt_in`](Self::encrypt_in).
    ///
    /// # Errors
    /// For no values, more than there are slots, or one that is not finite.
    pub fn encrypt(&self, values: &[f64]) -> Result<Ciphertext> {
        let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let bound = round_up(largest);
        self.encrypt_with(values, -bound..=bound, self.params.levels(), &mut system_rng())
    }

    /// Encrypts a vector at the highest level under a stated range, which is all that the
    /// ciphertext tells of the values besides their number.
    ///
    /// # Errors
    /// As [`encrypt`](Self::encrypt), and for values outside the range.
    pub fn encrypt_in(&self, values: &[f64], range: RangeInclusive<f64>) -> Result<Ciphertext> {
        self.encrypt_with(values, range, self.params.levels(), &mut system_rng())
    }

    /// Encrypts at a given level from a given generator. A lower level makes a smaller ciphertext
    /// that allows fewer multiplications.
    ///
    /// # Errors
    /// As [`encrypt_in`](Self::encrypt_in), and for a level that the parameters do not have.
    pub fn encrypt_with<R: CryptoRng + ?Sized>(
        &self,
        values: &[f64],
        range: RangeInclusive<f64>,
        level: usize,
        rng: &mut R,
    ) -> Result<Ciphertext> {
        let arithmetic = self.params.arithmetic();
        let (plaintext, bounds) = self.encode(values, range, level)?;
        let encrypted = ckks::encrypt(arithmetic, &plaintext, &self.slots, rng)?;
        let (lattice, meta) = encrypted.into_parts();
        Ok(Ciphertext::from_parts(arithmetic, lattice, Meta { bounds, ..meta })?)
    }

    /// As [`encrypt`](Self::encrypt) in the form in which a fresh vector travels: half the bytes, with
    /// a seed for the mask. The server expands it ([`SeededCiphertext::expand`]).
    ///
    /// # Errors
    /// As [`encrypt`](Self::encrypt).
    pub fn encrypt_seeded(&self, values: &[f64]) -> Result<SeededCiphertext> {
        let bound = round_up(values.iter().fold(0.0f64, |m, v| m.max(v.abs())));
        self.encrypt_seeded_with(values, -bound..=bound, self.params.levels(), &mut system_rng())
    }

    /// As [`encrypt_with`](Self::encrypt_with) in the form in which a fresh vector travels.
    ///
    /// # Errors
    /// As [`encrypt_with`](Self::encrypt_with).
    pub fn encrypt_seeded_with<R: CryptoRng + ?Sized>(
        &self,
        values: &[f64],
        range: RangeInclusive<f64>,
        level: usize,
        rng: &mut R,
    ) -> Result<SeededCiphertext> {
        let (plaintext, bounds) = self.encode(values, range, level)?;
        let fresh = ckks::encrypt_seeded(self.params.arithmetic(), &plaintext, &self.slots, rng)?;
        Ok(SeededCiphertext { meta: Meta { bounds, ..fresh.meta }, ..fresh })
    }

    /// Values as a plaintext of a level, with what may be told of them.
    fn encode(
        &self,
        values: &[f64],
        range: RangeInclusive<f64>,
        level: usize,
    ) -> Result<(Plaintext, Bounds)> {
        let arithmetic = self.params.arithmetic();
        let highest = arithmetic.max_level();
        if level > highest {
            Err(ckks::Error::LevelTooHigh { op: "encrypt", wanted: level, highest })?;
        }
        let limbs = arithmetic.limbs_at(level);
        let plaintext = self.encoder.encode(values, arithmetic.scale(), limbs)?;
        let interval = Interval::real(*range.start(), *range.end())?;
        if let Some(index) = values.iter().position(|v| !range.contains(v)) {
            return Err(Error::OutsideRange { op: "encrypt", index, value: values[index], range });
        }
        let bounds = Bounds::padded(interval, values.len() < plaintext.slots());
        Ok((plaintext, bounds))
    }

    /// The values of a vector, as many as were encrypted.
    ///
    /// They carry the noise of the computation, and that noise depends on the secret key (Li and
    /// Micciancio, EUROCRYPT 2021): do not show them to anyone but the owner of the key.
    /// [`decrypt_for_sharing`](Self::decrypt_for_sharing) is for others.
    ///
    /// # Errors
    /// For a ciphertext of another key or other parameters.
    pub fn decrypt(&self, ciphertext: &Ciphertext) -> Result<Vec<f64>> {
        Ok(ckks::decrypt_values(self.params.arithmetic(), ciphertext, &self.slots)?)
    }

    /// LWE values that a server sends as they are, without packing them into slots
    /// ([`Evaluator::tables`](crate::Evaluator::tables)). What [`decrypt`](Self::decrypt) says of
    /// noise holds for them, too.
    ///
    /// # Errors
    /// [`Error::NoLookUps`] for parameters without them; for values of another key.
    pub fn decrypt_values(&self, values: &Values) -> Result<Vec<f64>> {
        let op = "decrypt values";
        let Some(lookups) = &self.lookups else {
            return Err(Error::NoLookUps { op, params: self.params.name().to_string() });
        };
        if values.key() != self.id() {
            let (left, right) = (values.key(), self.id());
            return Err(ckks::Error::KeyMismatch { op, left, right })?;
        }
        Ok(values.decrypt(&lookups.ring)?)
    }
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientKey({:?}, {})", self.id(), self.params.name())
    }
}

/// The least number of the form `m 2^k`, `m` in 4, 5, 6, 7, that is not below `x`; zero for zero.
fn round_up(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    // The unit of a number near the smallest ones would vanish.
    let unit = 2f64.powf(x.log2().floor() - 2.0).max(f64::from_bits(1));
    (x / unit).ceil() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_rounded_to_quarters_of_the_leading_bit() {
        for (x, bound) in
            [(0.0, 0.0), (3.0, 3.0), (3.1, 3.5), (4.0, 4.0), (7.1, 8.0), (0.3, 0.3125)]
        {
            assert_eq!(round_up(x), bound);
        }
        for x in [f64::from_bits(1), 1e-310, 1e-300, 1.7e-5, 1e20] {
            assert!(round_up(x) >= x && round_up(x) <= 1.25 * x);
        }
        assert!(round_up(f64::NAN).is_nan());
    }
}
