//! Plain forms of the messages between client and server.

use bellerophon_mlwe::{self as mlwe, KeyId};
use bellerophon_ring::{
    Result,
    sample::Seed,
    wire::{Limit, List, Packed},
    wire_form,
};

use super::{ExactPublicKeyForm, PackingKeysForm, kind};
use crate::bfv::{Block, Params, PublicKey, SeededPackingKeys};
use crate::encrypted_table::EncryptedFunction;
use crate::error;
use crate::query::{MAX_DOMAIN, Masks, Query, Shape};
use crate::query_layout::QueryLayout;
use crate::response::{Response, most_cut};
use crate::server::ServerKeys;

wire_form! {
    /// The plain form of [`ServerKeys`].
    pub struct ServerKeysForm<'a> for ServerKeys: kind::SERVER_KEYS, "keys for private look-up" {
        packing: PackingKeysForm<'a> = self.packing.to_form(params)?,
        public: ExactPublicKeyForm<'a> = self.public.to_form(params)?,
    }
    fn write(&self, params: &Params) {
        // Both check that they belong to the parameters.
    }
    fn read(params, form) {
        // Both keys of one client, and all automorphisms that packing constants takes.
        let packing = SeededPackingKeys::from_form(params, form.packing)?;
        let public = PublicKey::from_form(params, form.public)?;
        let (found, needed) = (public.key(), packing.key());
        if found != needed {
            return Err(mlwe::error::key_mismatch(found, needed));
        }
        let (found, needed) = (packing.len(), params.degree().trailing_zeros() as usize);
        if found != needed {
            let what = "number of automorphisms";
            return Err(error::shape(what, found, needed.to_string()));
        }
        Ok(Self { packing, public })
    }
}

/// Limit on the variables of a query.
const MOST_VARIABLES: usize = 64;

wire_form! {
    /// The plain form of a [`Query`].
    pub struct QueryForm<'a> for Query: kind::QUERY, "query" {
        id: u128 = self.id,
        key: KeyId = self.key,
        form: QueryLayout = self.shape.form(),
        /// The size of the domain of each variable.
        domains: List<u32, MOST_VARIABLES> =
            List(self.shape.domains().iter().map(|&domain| domain as u32).collect()),
        points: u32 = self.shape.points() as u32,
        /// The seed of the batch code of a compact query.
        batch: Option<Seed> = self.batch,
        /// The seed of the masks, unless they are sent.
        seed: Option<Seed> = seed,
        bodies: Packed<'a> = packed(params, &self.bodies),
        /// One for each body, or none if there is a seed.
        masks: Packed<'a> = masks,
    }
    fn write(&self, params: &Params) {
        params.check(self.fingerprint)?;
        // Either the seed of the masks or the masks themselves.
        let (seed, masks) = match &self.masks {
            Masks::Seed(seed) => (Some(*seed), Packed::default()),
            Masks::Expanded(masks) => (None, packed(params, masks)),
        };
    }
    fn read(params, form) {
        // Step 1: the shape, which bounds all sizes, before memory is allocated.
        let domains: Vec<usize> = form.domains.0.iter().map(|&domain| domain as usize).collect();
        let shape = Shape::new(params, form.form, &domains, form.points as usize)?;
        if form.batch.is_some() != (form.form == QueryLayout::Compact) {
            let (what, found) = ("seed of the batch code", form.batch.is_some().to_string());
            return Err(error::value(what, found, "one with a compact query only"));
        }
        // Step 2: bodies and masks, checked against these sizes.
        let count = shape.ciphertexts();
        let masks = match form.seed {
            Some(seed) => {
                form.masks.check(0)?;
                Masks::Seed(seed)
            }
            None => Masks::Expanded(unpacked(params, &form.masks, count)?),
        };
        Ok(Self {
            id: form.id,
            shape,
            batch: form.batch,
            masks,
            bodies: unpacked(params, &form.bodies, count)?,
            fingerprint: params.fingerprint(),
            key: form.key,
        })
    }
}

/// All polynomials over all primes.
fn packed(params: &Params, block: &Block) -> Packed<'static> {
    // Polynomial by polynomial, limb by limb.
    let (ring, n) = (params.ring(), params.degree());
    Packed::limbs((0..block.len()).flat_map(|i| ring.moduli().zip(block.row(i).chunks(n))))
}

fn unpacked(params: &Params, packed: &Packed, count: usize) -> Result<Block> {
    let (ring, n) = (params.ring(), params.degree());
    // The length is checked before memory is allocated.
    packed.check(Packed::polys_len(ring, count))?;
    let mut block = Block::zero(params, count);
    packed.unpack_limbs(
        block.rows_mut().flat_map(|row| ring.moduli().zip(row.chunks_exact_mut(n))),
    )?;
    Ok(block)
}

wire_form! {
    /// The plain form of a [`Response`].
    pub struct ResponseForm<'a> for Response: kind::RESPONSE, "response" {
        id: u128 = self.id,
        key: KeyId = self.key,
        values: u32 = self.values as u32,
        shuffled: bool = self.shuffled,
        /// Bits dropped from the coefficients of bodies and of masks.
        drop: (u32, u32) = self.drop.into(),
        variance: f64 = self.variance,
        weight: f64 = self.weight,
        /// The coefficients of body and mask, ciphertext by ciphertext, each in the remaining bits
        /// of the first prime.
        parts: Packed<'a> = Packed::limbs(parts.map(|(limit, poly)| (limit, &poly[..]))),
    }
    fn write(&self, params: &Params) {
        params.check(self.fingerprint)?;
        // Body and mask may have lost different numbers of bits.
        let limits = limits(params, self.drop);
        let parts = self.parts.iter().flat_map(|polys| limits.iter().copied().zip(polys));
    }
    fn read(params, form) {
        // Step 1: the dropped bits and the stated noise.
        let value =
            |what, found: String, needed| Err(error::value(what, found, needed));
        let drop: [u32; 2] = form.drop.into();
        let bits = params.ring().modulus(0).bits();
        if let Some(found) = drop.into_iter().find(|&drop| drop >= bits) {
            return value("bits cut off", found.to_string(), "fewer than the first prime has");
        }
        if drop[0] + drop[1] > most_cut(params) {
            let found = format!("{} and {}", drop[0], drop[1]);
            return value("bits cut off", found, "32 bits of body and mask together to be left");
        }
        for (what, found, least) in
            [("variance", form.variance, 0.0), ("weight of the variance", form.weight, 1.0)]
        {
            if !(least..f64::INFINITY).contains(&found) {
                return value(what, found.to_string(), "a finite number, not too small");
            }
        }
        if form.values == 0 {
            return value("number of values", "0".into(), "at least one");
        }
        // Step 2: the coefficients. Their number is checked before memory is allocated.
        let (values, n) = (form.values as usize, params.degree());
        let (count, limits) = (values.div_ceil(n), limits(params, drop));
        let len = limits.iter().map(|&limit| Packed::words_len(limit, n)).sum::<usize>();
        form.parts.check(count.saturating_mul(len))?;
        let mut parts = vec![[vec![0; n], vec![0; n]]; count];
        let runs = parts.iter_mut().flat_map(|polys| limits.iter().copied().zip(polys));
        form.parts.unpack_limbs(runs.map(|(limit, poly)| (limit, &mut poly[..])))?;
        Ok(Self {
            id: form.id,
            values,
            shuffled: form.shuffled,
            parts,
            drop,
            variance: form.variance,
            weight: form.weight,
            fingerprint: params.fingerprint(),
            key: form.key,
        })
    }
}

/// Upper limits of coefficients whose lowest bits are dropped.
fn limits(params: &Params, drop: [u32; 2]) -> [Limit; 2] {
    // The largest residue, shifted, is the largest coefficient that is left.
    let q = params.ring().modulus(0).value();
    drop.map(|drop| Limit::below(((q - 1) >> drop) + 1))
}

wire_form! {
    /// The plain form of an [`EncryptedFunction`].
    pub struct EncryptedFunctionForm<'a> for EncryptedFunction:
        kind::ENCRYPTED_FUNCTION, "encrypted function"
    {
        id: u128 = self.id,
        key: KeyId = self.key,
        domain: u32 = self.domain as u32,
        seed: Seed = self.seed,
        /// One for each `N` points of the domain, over all primes.
        // The masks are expanded from the seed.
        bodies: Packed<'a> = Packed::polys(params.ring(), self.bodies.iter()),
    }
    fn write(&self, params: &Params) {
        params.check(self.fingerprint)?;
    }
    fn read(params, form) {
        // The domain determines the number of bodies.
        let domain = form.domain as usize;
        if domain == 0 || domain > MAX_DOMAIN {
            let what = "size of the domain";
            let needed = format!("1 to {MAX_DOMAIN}");
            return Err(error::shape(what, domain, needed));
        }
        let count = domain.div_ceil(params.degree());
        Ok(Self {
            id: form.id,
            domain,
            seed: form.seed,
            bodies: form.bodies.unpack_polys(params.ring(), count)?,
            fingerprint: params.fingerprint(),
            key: form.key,
        })
    }
}
