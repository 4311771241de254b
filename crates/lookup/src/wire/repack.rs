//! The repacking key of the linear bridge.

use bellerophon_ckks::{CiphertextMeta, Params, SeededCiphertext, wire::MetaForm};
use bellerophon_mlwe::{self as mlwe, KeyId};
use bellerophon_repack::Seeds;
use bellerophon_ring::{Ntt, Poly, Result, wire::Packed, wire_form};

use super::kind;
use crate::{
    error, linear_bridge::repack_key::SeededRepackKey, linear_bridge::tall_diagonals::check_baby,
};

wire_form! {
    /// The plain form of a [`SeededRepackKey`].
    pub struct RepackKeyForm<'a> for SeededRepackKey: kind::REPACK_KEY, "repacking key" {
        /// The client.
        key: u128 = first.inner.ident().key.0,
        /// The LWE dimension.
        dimension: u32 = self.dimension() as u32,
        limbs: u32 = limbs as u32,
        /// The metadata that all encrypted rotations share.
        meta: MetaForm = (&first.meta).into(),
        /// One for each baby step.
        seeds: Seeds<'a> = Seeds::of(self.babies().iter().map(|ct| ct.inner.seed())),
        /// The bodies, in the order of the baby steps.
        bodies: Packed<'a> = Packed::polys(&lattice.q().at_limbs(limbs), bodies.into_iter()),
    }
    fn write(&self, params: &Params) {
        let lattice = params.lattice();
        // The check makes sure that the metadata of one ciphertext is that of all.
        self.check(params)?;
        let first = &self.babies()[0];
        let bodies: Vec<&Poly<Ntt>> = self.babies().iter().map(|ct| ct.inner.b()).collect();
        let limbs = first.inner.b().limbs();
    }
    fn read(params, form) {
        // Step 1: sizes and metadata, before memory is allocated.
        let (lattice, limbs) = (params.lattice(), form.limbs as usize);
        let (dimension, most) = (form.dimension as usize, params.max_slots());
        if dimension == 0 || dimension > most {
            let needed = format!("1 to the {most} slots of the ring");
            return Err(error::shape("LWE dimension", dimension, needed));
        }
        if !(1..=params.limbs()).contains(&limbs) {
            let needed = format!("1 to {}", params.limbs());
            return Err(mlwe::error::limbs(limbs, needed));
        }
        let meta: CiphertextMeta = form.meta.try_into()?;
        meta.check(params, limbs)?;
        // Step 2: seeds and bodies, one for each baby step.
        let count = form.seeds.count();
        check_baby(dimension.next_power_of_two(), count)?;
        let seeds = form.seeds.unpack(count)?;
        let bodies = form.bodies.unpack_polys(&lattice.q().at_limbs(limbs), count)?;
        let baby = |(seed, body)| {
            let inner = mlwe::SeededCiphertext::from_parts(lattice, seed, body, KeyId(form.key))?;
            Ok(SeededCiphertext::new(inner, meta))
        };
        Self::from_parts(dimension, seeds.zip(bodies).map(baby).collect::<Result<_>>()?)
    }
}
