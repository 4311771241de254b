//! Vectors that others encrypt under the public key of an owner.

#[cfg(doc)]
use crate::ErrorKind;
use std::ops::Deref;

use bellerophon_mlwe::{self as mlwe, PublicKey};
use rand::CryptoRng;

use crate::{
    Ciphertext, CiphertextMeta, During, Interval, LevelScale, Params, Plaintext, Result,
    encrypt_public, error,
};

/// A vector encrypted under a public key, in the form in which it travels to the server.
///
/// It carries the number of values and the declared range. Scale and predicted noise are those that
/// the parameters give to every public-key encryption, so that a provider cannot misstate them. A
/// provider who encrypts values outside the declared range spoils the results that use them.
///
/// It dereferences to a [`Ciphertext`], which every operation takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Provided {
    ciphertext: Ciphertext,
}

impl Provided {
    /// Encrypts a vector that is encoded at the scale of the parameters.
    ///
    /// # Errors
    /// As [`encrypt_public`]; [`ErrorKind::Scale`] for a plaintext of another scale.
    pub fn encrypt<R: CryptoRng + ?Sized>(
        params: &Params,
        plaintext: &Plaintext,
        key: &PublicKey,
        rng: &mut R,
    ) -> Result<Self> {
        check_scale(params, plaintext.scale(), plaintext.level()).during("Provided::encrypt")?;
        Ok(Self { ciphertext: encrypt_public(params, plaintext, key, rng)? })
    }

    /// Reads a vector from its parts, and derives its noise from the parameters.
    pub(crate) fn of(
        params: &Params,
        lattice: mlwe::Ciphertext,
        scale: f64,
        (len, slots): (usize, usize),
        range: Interval,
    ) -> Result<Self> {
        let level = params.check_limbs(lattice.limbs()).during(READ)?;
        check_scale(params, scale, level).during(READ)?;
        let rules = params.rules();
        let encoded = rules.encoding((len, range), slots, scale, level).during(READ)?;
        let meta: CiphertextMeta = rules.encrypted_public(&encoded).meta;
        Ok(Self { ciphertext: Ciphertext::fresh(params, lattice, meta)? })
    }
}

const READ: &str = "read a provided vector";

/// Refuses scales other than that of the parameters.
fn check_scale(params: &Params, scale: f64, level: usize) -> Result<()> {
    if scale == params.scale() {
        return Ok(());
    }
    let [found, needed] =
        [scale, params.scale()].map(|scale| LevelScale { level, log2_scale: scale.log2() });
    let (what, remedy) = ("the vector", "vectors of providers have the scale of the parameters");
    Err(error::other_scale(what, found, needed, remedy))
}

/// The ciphertext.
impl From<Provided> for Ciphertext {
    fn from(x: Provided) -> Self {
        x.ciphertext
    }
}

impl AsRef<Ciphertext> for Provided {
    fn as_ref(&self) -> &Ciphertext {
        &self.ciphertext
    }
}

impl Deref for Provided {
    type Target = Ciphertext;

    fn deref(&self) -> &Ciphertext {
        &self.ciphertext
    }
}
