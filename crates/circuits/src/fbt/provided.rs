//! Integers that others encrypt under the public key of an owner.

#[cfg(doc)]
use bellerophon_ckks::Encoder;
#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use bellerophon_ckks::{
    ByProvider, Ciphertext, Params, Payload, Plaintext, Provided, Result, encrypt_public,
};
use bellerophon_mlwe::{self as mlwe, PublicKey};
use rand::CryptoRng;

use super::IntVec;
use super::int_vec::reduced;
use super::paired::slot_range;
use super::publish::{IntegersStatement, scale_factor};
use crate::error;
use crate::wire::kind;

/// Integers under a public key. A provider cannot misstate their noise. A provider who encrypts
/// other values than integers of `0 .. p` spoils the results that use them.
impl Payload<ByProvider> for IntVec {
    const KIND: u16 = kind::PROVIDED_INTEGERS;
    const NAME: &'static str = "integers encrypted under a public key";
    type Statement = IntegersStatement;

    fn from_statement(
        params: &Params,
        lattice: mlwe::Ciphertext,
        statement: &IntegersStatement,
    ) -> Result<Self> {
        let IntegersStatement { modulus, slots, len, factor } = *statement;
        let (modulus, slots, len) = (modulus as usize, slots as usize, len as usize);
        let level = params.check_limbs(lattice.limbs())?;
        let range = reduced(modulus)?;
        if factor == 0 || len > 2 * params.max_slots() {
            let reason = format!(
                "{len} integers, factor {factor} of the scale: need at most {} and a positive \
                 factor",
                2 * params.max_slots()
            );
            return Err(error::shape(reason));
        }
        // The encoding of the integers, then public-key encryption, as the parameters predict them.
        let both = len > params.max_slots();
        let (len_in_slots, in_slots) = (len.min(params.max_slots()), slot_range(&range, both)?);
        let (rules, scale) = (params.rules(), statement.scale(params));
        let encoded = rules.encoding(len_in_slots, in_slots, slots, scale, level)?;
        let meta = rules.encrypted_public(&encoded).meta;
        statement.of(Ciphertext::fresh(params, lattice, meta)?)
    }

    fn ciphertext(&self) -> &Ciphertext {
        self.values().inner()
    }
}

impl IntVec {
    /// Encrypts an encoding of `len` integers modulo `modulus`
    /// ([`EncoderExt::encode_integers`](crate::fbt::EncoderExt::encode_integers)) under a public
    /// key.
    ///
    /// # Errors
    /// [`ErrorKind::Noise`] for a plaintext of another scale; [`ErrorKind::Shape`] for a modulus
    /// that is not in `2..=65536`, and unless the plaintext has the slots of `len` integers; those
    /// of [`encrypt_public`].
    pub fn provide<R: CryptoRng + ?Sized>(
        params: &Params,
        plaintext: &Plaintext,
        modulus: usize,
        len: usize,
        key: &PublicKey,
        rng: &mut R,
    ) -> Result<Provided<Self>> {
        let needed = "one that a functional bootstrap takes without a level";
        let factor = scale_factor(params, modulus, plaintext.scale());
        let factor = factor.ok_or_else(|| error::unreduced("the scale", needed))?;
        let (lattice, meta) = encrypt_public(params, plaintext, key, rng)?.into_parts();
        // Numbers that do not fit are refused like the largest that do.
        let [modulus, slots, len] =
            [modulus, meta.slots, len].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        Provided::of(params, lattice, IntegersStatement { modulus, slots, len, factor })
    }
}
