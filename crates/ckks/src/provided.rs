//! Vectors that others encrypt under the public key of an owner.

use bellerophon_mlwe::{self as mlwe, PublicKey};
use bellerophon_ring::{Result, error::ensure};
use rand::CryptoRng;
use serde::{Deserialize, Serialize};

use crate::ciphertext::{Ciphertext, CiphertextMeta};
use crate::encode::Plaintext;
use crate::encrypt::encrypt_public;
use crate::error::{self, LevelScale};
use crate::params::Params;
use crate::stated::{ByProvider, Payload, Stated};
use crate::wire::{RangeForm, kind};

/// A vector encrypted under a public key, in the form in which it travels to the server.
///
/// It carries the number of values and the declared range. Scale and predicted noise are those that
/// the parameters give to every public-key encryption, so that a provider cannot misstate them. A
/// provider who encrypts values outside the declared range spoils the results that use them.
///
/// It dereferences to the vector, which every operation takes.
pub type Provided<T = Ciphertext> = Stated<T, ByProvider>;

/// What a sender states of a vector.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VectorStatement {
    /// The scale; of provided vectors, that of the parameters.
    pub scale: f64,
    /// Slots of one period.
    pub slots: u32,
    /// Number of values.
    pub len: u32,
    /// The declared range of the values.
    pub range: RangeForm,
}

impl VectorStatement {
    /// What is stated of the values of a vector.
    pub(crate) fn of(meta: &CiphertextMeta) -> Self {
        let CiphertextMeta { scale, slots, len, bounds, .. } = meta;
        let range = (&bounds.values).into();
        Self { scale: *scale, slots: *slots as u32, len: *len as u32, range }
    }
}

impl Payload<ByProvider> for Ciphertext {
    const KIND: u16 = kind::PROVIDED;
    const NAME: &'static str = "vector encrypted under a public key";
    type Statement = VectorStatement;

    fn from_statement(
        params: &Params,
        lattice: mlwe::Ciphertext,
        statement: &VectorStatement,
    ) -> Result<Self> {
        let VectorStatement { scale, slots, len, range } = *statement;
        let range = range.try_into()?;
        let level = params.check_limbs(lattice.limbs())?;
        check_scale(params, scale, level)?;
        // The encoding of the values, then public-key encryption, as the parameters predict them.
        let rules = params.rules();
        let encoded = rules.encoding(len as usize, range, slots as usize, scale, level);
        let meta = rules.encrypted_public(&encoded?).meta;
        Self::fresh(params, lattice, meta)
    }

    fn ciphertext(&self) -> &Ciphertext {
        self
    }
}

impl Provided {
    /// Encrypts a vector that is encoded at the scale of the parameters.
    pub fn encrypt<R: CryptoRng + ?Sized>(
        params: &Params,
        plaintext: &Plaintext,
        key: &PublicKey,
        rng: &mut R,
    ) -> Result<Self> {
        check_scale(params, plaintext.scale(), plaintext.level())?;
        let vector = encrypt_public(params, plaintext, key, rng)?;
        Ok(Self { statement: VectorStatement::of(vector.meta()), vector })
    }
}

/// Refuses scales other than that of the parameters.
fn check_scale(params: &Params, scale: f64, level: usize) -> Result<()> {
    let [found, needed] = [scale, params.scale()].map(|scale| LevelScale::new(level, scale));
    let (what, remedy) = ("the vector", "vectors of providers have the scale of the parameters");
    ensure(scale == params.scale(), || error::other_scale(what, found, needed, remedy))
}

/// The ciphertext, with the stated metadata.
impl<By> From<Stated<Ciphertext, By>> for Ciphertext
where
    Ciphertext: Payload<By>,
{
    fn from(x: Stated<Ciphertext, By>) -> Self {
        x.into_inner()
    }
}
