//! Serialized forms of ciphertexts and public keys.

use bellerophon_ring::{Result, Ring, sample::Seed, wire::Packed, wire_form};

use crate::ciphertext::Ciphertext;
use crate::encrypt::{PublicKey, SeededCiphertext};
use crate::key_id::KeyId;
use crate::params::Params;
use crate::wire::kind;

wire_form! {
    /// The plain form of a [`Ciphertext`].
    pub struct CiphertextForm<'a> for Ciphertext: kind::CIPHERTEXT, "lattice ciphertext" {
        key: KeyId = self.ident.key,
        limbs: u32 = self.limbs() as u32,
        /// The body, then the masks.
        polys: Packed<'a> = Packed::polys(&self.ring(params), polys.into_iter()),
    }
    fn write(&self, params: &Params) {
        params.check(self.ident.fingerprint)?;
        // The body, then the masks, all at the level of the ciphertext.
        let polys: Vec<_> = std::iter::once(&self.b).chain(&self.a).collect();
    }
    fn read(params, form) {
        let ring = ring_of(params, form.limbs)?;
        // The length is checked before memory is allocated.
        let mut polys = form.polys.unpack_polys(&ring, params.rank() + 1)?.into_iter();
        let b = polys.next().expect("a rank and one are at least one");
        Self::new(params, b, polys.collect(), form.key)
    }
}

wire_form! {
    /// The plain form of a [`SeededCiphertext`].
    pub struct SeededCiphertextForm<'a> for SeededCiphertext:
        kind::SEEDED_CIPHERTEXT, "fresh lattice ciphertext"
    {
        key: KeyId = self.ident().key,
        limbs: u32 = self.b().limbs() as u32,
        seed: Seed = *self.seed(),
        body: Packed<'a> = Packed::polys(&ring, [self.b()].into_iter()),
    }
    fn write(&self, params: &Params) {
        params.check(self.ident().fingerprint)?;
        let ring = params.q().at_limbs(self.b().limbs());
    }
    fn read(params, form) {
        let ring = ring_of(params, form.limbs)?;
        let body = form.body.unpack_polys(&ring, 1)?.remove(0);
        Self::from_parts(params, form.seed, body, form.key)
    }
}

wire_form! {
    /// The plain form of a [`PublicKey`].
    pub struct PublicKeyForm<'a> for PublicKey: kind::PUBLIC_KEY, "public key" {
        key: KeyId = self.key(),
        seed: Seed = *self.seed(),
        /// `rank` polynomials over all primes.
        bodies: Packed<'a> = Packed::polys(ring, self.bodies().iter()),
    }
    fn write(&self, params: &Params) {
        params.check(self.ident().fingerprint)?;
        let ring = params.gadget().ring(params.limbs());
    }
    fn read(params, form) {
        let ring = params.gadget().ring(params.limbs());
        // Bodies are over all primes; the masks are expanded from the seed.
        let bodies = form.bodies.unpack_polys(ring, params.rank())?;
        Self::from_parts(params, form.seed, bodies, form.key)
    }
}

/// The ring of the first `limbs` primes of the chain.
fn ring_of(params: &Params, limbs: u32) -> Result<Ring> {
    params.check_limbs(limbs as usize)?;
    Ok(params.q().at_limbs(limbs as usize))
}
