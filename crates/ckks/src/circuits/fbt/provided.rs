//! Integers that others encrypt under the public key of an owner.

#[cfg(doc)]
use crate::ErrorKind;
use bellerophon_mlwe::{self as mlwe, PublicKey};
use rand::CryptoRng;

use super::int_vec::reduced;
use super::paired::slot_range;
use super::publish::{scale_factor, unit};
use super::{IntVec, PairedVec};
#[cfg(doc)]
use crate::Encoder;
use crate::{Ciphertext, During, Params, Plaintext, Result, encrypt_public, error};

const READ: &str = "read provided integers";

/// Integers encrypted under a public key, in the form in which they travel to the server.
///
/// It carries the modulus and the number of integers. Range, scale and predicted noise follow from
/// these, from the parameters, and from the integer factor by which the scale divides that of a
/// functional bootstrap: a provider cannot misstate the noise. A provider who encrypts other values
/// than integers of `0 .. p` spoils the results that use them.
#[derive(Debug, Clone, PartialEq)]
pub struct ProvidedIntegers {
    integers: IntVec,
    factor: u32,
}

impl ProvidedIntegers {
    /// Encrypts an encoding of `len` integers modulo `modulus` ([`Encoder::encode_integers`]).
    ///
    /// # Errors
    /// [`ErrorKind::Noise`] for a plaintext of another scale; [`ErrorKind::Shape`] for a modulus
    /// that is not in `2..=65536`, and unless the plaintext has the slots of `len` integers; those
    /// of [`encrypt_public`].
    pub fn encrypt<R: CryptoRng + ?Sized>(
        params: &Params,
        plaintext: &Plaintext,
        shape: (usize, usize),
        key: &PublicKey,
        rng: &mut R,
    ) -> Result<Self> {
        let op = "encrypt_integers";
        let needed = "one that a functional bootstrap takes without a level";
        let factor = scale_factor(params, shape.0, plaintext.scale());
        let factor = factor.ok_or_else(|| error::unreduced("the scale", needed).during(op))?;
        let (lattice, meta) = encrypt_public(params, plaintext, key, rng)?.into_parts();
        Self::of(params, lattice, meta.slots, shape, factor).during(op)
    }

    /// Reads integers from their parts, and derives range, scale and noise.
    pub(crate) fn of(
        params: &Params,
        lattice: mlwe::Ciphertext,
        slots: usize,
        (modulus, len): (usize, usize),
        factor: u32,
    ) -> Result<Self> {
        let level = params.check_limbs(lattice.limbs()).during(READ)?;
        let range = reduced(modulus).during(READ)?;
        if factor == 0 || len > 2 * params.max_slots() {
            let reason = format!(
                "{len} integers, factor {factor} of the scale: need at most {} and a positive \
                 factor",
                2 * params.max_slots()
            );
            return Err(error::shape(reason).during(READ));
        }
        // The encoding of the integers, then public-key encryption, as the parameters predict them.
        let both = len > params.max_slots();
        let scale = unit(params) / (modulus as f64 * f64::from(factor));
        let in_slots = (len.min(params.max_slots()), slot_range(&range, both).during(READ)?);
        let rules = params.rules();
        let encoded = rules.encoding(in_slots, slots, scale, level).during(READ)?;
        let meta = rules.encrypted_public(&encoded).meta;
        let inner = Ciphertext::fresh(params, lattice, meta)?;
        let values = PairedVec::new(inner, range, len)?;
        Ok(Self { integers: IntVec::of_values(values, modulus, false)?, factor })
    }

    /// The integer that brings the scale to that of a functional bootstrap.
    pub(crate) fn factor(&self) -> u32 {
        self.factor
    }
}

/// The integers.
impl From<ProvidedIntegers> for IntVec {
    fn from(x: ProvidedIntegers) -> Self {
        x.integers
    }
}

impl AsRef<IntVec> for ProvidedIntegers {
    fn as_ref(&self) -> &IntVec {
        &self.integers
    }
}

impl std::ops::Deref for ProvidedIntegers {
    type Target = IntVec;

    fn deref(&self) -> &IntVec {
        &self.integers
    }
}
