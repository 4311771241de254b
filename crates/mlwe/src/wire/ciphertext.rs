//! Serialized forms of ciphertexts and public keys.

use bellerophon_ring::{
    Ring,
    sample::Seed,
    wire::{Packed, Wire},
};
use serde::{Deserialize, Serialize};

use crate::wire::kind;
use crate::{Ciphertext, During, Error, KeyId, Params, PublicKey, Result, SeededCiphertext};

/// The plain form of a [`Ciphertext`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CiphertextForm<'a> {
    key: KeyId,
    limbs: u32,
    /// The body, then the masks.
    #[serde(borrow)]
    polys: Packed<'a>,
}

impl Wire for Ciphertext {
    const KIND: u16 = kind::CIPHERTEXT;
    const NAME: &'static str = "lattice ciphertext";
    type Params = Params;
    type Form<'a> = CiphertextForm<'a>;
    type Error = Error;

    fn to_form(&self, params: &Params) -> Result<CiphertextForm<'_>> {
        params.check(self.fingerprint).during("write a ciphertext")?;
        // The body, then the masks, all at the level of the ciphertext.
        let polys: Vec<_> = std::iter::once(&self.b).chain(&self.a).collect();
        Ok(CiphertextForm {
            key: self.key,
            limbs: self.limbs() as u32,
            polys: Packed::polys(&self.ring(params), polys.into_iter()),
        })
    }

    fn from_form(params: &Params, form: CiphertextForm) -> Result<Self> {
        let ring = level(params, form.limbs).during("read a ciphertext")?;
        // The length is checked before memory is allocated.
        let mut polys = form.polys.unpack_polys(&ring, params.rank() + 1)?.into_iter();
        let b = polys.next().expect("a rank and one are at least one");
        Self::new(params, b, polys.collect(), form.key)
    }
}

/// The plain form of a [`SeededCiphertext`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeededCiphertextForm<'a> {
    key: KeyId,
    limbs: u32,
    seed: Seed,
    #[serde(borrow)]
    body: Packed<'a>,
}

impl Wire for SeededCiphertext {
    const KIND: u16 = kind::SEEDED_CIPHERTEXT;
    const NAME: &'static str = "fresh lattice ciphertext";
    type Params = Params;
    type Form<'a> = SeededCiphertextForm<'a>;
    type Error = Error;

    fn to_form(&self, params: &Params) -> Result<SeededCiphertextForm<'_>> {
        params.check(self.fingerprint()).during("write a ciphertext")?;
        let ring = params.q().at_limbs(self.b().limbs());
        Ok(SeededCiphertextForm {
            key: self.key(),
            limbs: self.b().limbs() as u32,
            seed: *self.seed(),
            body: Packed::polys(&ring, [self.b()].into_iter()),
        })
    }

    fn from_form(params: &Params, form: SeededCiphertextForm) -> Result<Self> {
        let ring = level(params, form.limbs).during("read a ciphertext")?;
        let body = form.body.unpack_polys(&ring, 1)?.remove(0);
        Self::from_parts(params, form.seed, body, form.key)
    }
}

/// The plain form of a [`PublicKey`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublicKeyForm<'a> {
    key: KeyId,
    seed: Seed,
    /// `rank` polynomials over all primes.
    #[serde(borrow)]
    bodies: Packed<'a>,
}

impl Wire for PublicKey {
    const KIND: u16 = kind::PUBLIC_KEY;
    const NAME: &'static str = "public key";
    type Params = Params;
    type Form<'a> = PublicKeyForm<'a>;
    type Error = Error;

    fn to_form(&self, params: &Params) -> Result<PublicKeyForm<'_>> {
        params.check(self.fingerprint()).during("write a public key")?;
        let ring = params.gadget().ring(params.limbs());
        Ok(PublicKeyForm {
            key: self.key(),
            seed: *self.seed(),
            bodies: Packed::polys(ring, self.bodies().iter()),
        })
    }

    fn from_form(params: &Params, form: PublicKeyForm) -> Result<Self> {
        let ring = params.gadget().ring(params.limbs());
        // Bodies are over all primes; the masks are expanded from the seed.
        let bodies = form.bodies.unpack_polys(ring, params.rank())?;
        Self::from_parts(params, form.seed, bodies, form.key)
    }
}

/// The ring of the first `limbs` primes of the chain.
fn level(params: &Params, limbs: u32) -> Result<Ring> {
    params.check_limbs(limbs as usize)?;
    Ok(params.q().at_limbs(limbs as usize))
}
