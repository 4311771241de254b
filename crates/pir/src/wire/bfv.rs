//! Plain forms of the exact scheme: parameters, ciphertexts, packing keys.

use bellerophon_mlwe::{
    self as mlwe, KeyId, KeyIdent, Security, SeededKeySwitchKey, SwitchKeyInfo, wire::SecurityForm,
};
use bellerophon_repack::{Seeds, row_packing_exponents};
use bellerophon_ring::{
    Ntt, Poly, Result, Ring,
    sample::Seed,
    wire::{List, Packed},
    wire_form,
};
use serde::{Deserialize, Serialize};

use super::kind;
use crate::bfv::{
    Ciphertext, KeyGadget, MOST_PRIMES, NoiseBound, Params, ParamsSpec, PublicKey,
    SeededCiphertext, SeededKind, SeededPackingKeys, Switching,
};

/// The plain form of [`Params`](crate::bfv::Params).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParamsForm {
    degree: u32,
    q: List<u64, MOST_PRIMES>,
    plain: u64,
    gadget: GadgetForm,
    sigma: f64,
    security: SecurityForm,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum GadgetForm {
    Digits { base_log: u32, count: u32 },
    Special(List<u64, MOST_PRIMES>),
}

wire_form! {
    // A reader states the security that it requires; [`Security::Insecure`] accepts any set.
    for Params: kind::EXACT_PARAMS, "parameters of exact plaintexts" as ParamsForm;
    fn write(&self, _: &Security) {
        // The specification determines everything that is derived from it.
        let spec = self.spec();
        Ok(ParamsForm {
            degree: spec.degree as u32,
            q: List(spec.q.clone()),
            plain: spec.plain,
            gadget: match &spec.gadget {
                KeyGadget::Digits { base_log, count } => {
                    GadgetForm::Digits { base_log: *base_log, count: *count as u32 }
                }
                KeyGadget::Special(primes) => GadgetForm::Special(List(primes.clone())),
            },
            sigma: spec.sigma,
            security: spec.security.into(),
        })
    }
    fn read(wanted, form) {
        // The constructor checks all sizes and the security of the set.
        Self::new(ParamsSpec {
            degree: form.degree as usize,
            q: form.q.0,
            plain: form.plain,
            gadget: match form.gadget {
                GadgetForm::Digits { base_log, count } => {
                    KeyGadget::Digits { base_log, count: count as usize }
                }
                GadgetForm::Special(primes) => KeyGadget::Special(primes.0),
            },
            sigma: form.sigma,
            security: form.security.checked(*wanted)?,
        })
    }
}

wire_form! {
    /// The plain form of a [`SeededCiphertext`].
    pub struct SeededExactForm<'a> for SeededCiphertext:
        kind::SEEDED_EXACT_CIPHERTEXT, "fresh exact ciphertext"
    {
        key: KeyId = self.key,
        seed: Seed = self.seed,
        /// Over all primes.
        body: Packed<'a> = Packed::polys(params.ring(), std::iter::once(&self.b)),
    }
    fn write(&self, params: &Params) {
        params.check(self.fingerprint)?;
    }
    fn read(params, form) {
        // A fresh ciphertext has all limbs, so its length is known.
        let b = form.body.unpack_polys(params.ring(), 1)?.remove(0);
        let (fingerprint, key) = (params.fingerprint(), form.key);
        Ok(Self { seed: form.seed, b, fingerprint, key })
    }
}

wire_form! {
    /// The plain form of a [`Ciphertext`](crate::bfv::Ciphertext).
    pub struct ExactForm<'a> for Ciphertext: kind::EXACT_CIPHERTEXT, "exact ciphertext" {
        key: KeyId = self.key,
        limbs: u32 = self.limbs() as u32,
        /// The bound on its noise.
        variance: f64 = self.noise.variance(),
        rounding: f64 = self.noise.rounding(),
        independent: bool = self.noise.independent(),
        /// The body, then the mask.
        // Body and mask at the limbs that are left.
        polys: Packed<'a> = Packed::polys(&self.ring(params), [&self.b, &self.a].into_iter()),
    }
    fn write(&self, params: &Params) {
        params.check(self.fingerprint)?;
    }
    fn read(params, form) {
        // The number of limbs determines the length of the residues.
        let limbs = form.limbs as usize;
        if !(1..=params.limbs()).contains(&limbs) {
            let needed = format!("1 to {}", params.limbs());
            return Err(mlwe::error::limbs(limbs, needed));
        }
        // The bound is a claim of the peer: it must be a number.
        let noise =
            NoiseBound::restore(form.variance, form.rounding, form.independent)?;
        let (b, a) = pair(&form.polys, &params.ring().at_limbs(limbs))?;
        let (fingerprint, key) = (params.fingerprint(), form.key);
        Ok(Self { b, a, noise, fingerprint, key })
    }
}

/// Body and mask.
fn pair(polys: &Packed, ring: &Ring) -> Result<(Poly<Ntt>, Poly<Ntt>)> {
    let mut polys = polys.unpack_polys(ring, 2)?;
    let b = polys.remove(0);
    Ok((b, polys.remove(0)))
}

wire_form! {
    /// The plain form of a [`PublicKey`].
    pub struct ExactPublicKeyForm<'a> for PublicKey:
        kind::EXACT_PUBLIC_KEY, "public key of exact plaintexts"
    {
        key: KeyId = self.key,
        /// The body, then the mask, over all primes.
        polys: Packed<'a> = Packed::polys(params.ring(), [&self.b, &self.a].into_iter()),
    }
    fn write(&self, params: &Params) {
        params.check(self.fingerprint)?;
        // A public key has its mask in full: it is not expanded from a seed.
    }
    fn read(params, form) {
        let (b, a) = pair(&form.polys, params.ring())?;
        Ok(Self { b, a, fingerprint: params.fingerprint(), key: form.key })
    }
}

wire_form! {
    /// The plain form of [`SeededPackingKeys`].
    pub struct PackingKeysForm<'a> for SeededPackingKeys: kind::PACKING_KEYS, "packing keys" {
        key: KeyId = self.key,
        /// Coefficients per input.
        n: u32 = self.n as u32,
        /// One for keys in digits; one for each stage of the packing with special primes.
        seeds: Seeds<'a> = seeds,
        /// Stage by stage of the packing, digit by digit; over `Q P` with special primes.
        bodies: Packed<'a> = bodies,
    }
    fn write(&self, params: &Params) {
        params.check(self.fingerprint)?;
        let (seeds, bodies) = match (&self.kind, params.switching()) {
            (SeededKind::Digits(seed, bodies), _) => {
                (Seeds::of(std::iter::once(seed)), Packed::polys(params.ring(), bodies.iter()))
            }
            (SeededKind::Special(keys), Switching::Special(lattice)) => {
                // The form has the keys in the order of the stages.
                let stages = row_packing_exponents(params.degree(), self.n)?;
                let key = |exponent: usize| {
                    let available = keys.len();
                    let missing =
                        mlwe::error::missing_galois_key(exponent, available);
                    keys.get(&exponent).ok_or(missing)
                };
                let keys: Vec<_> = stages.into_iter().map(key).collect::<mlwe::Result<_>>()?;
                let bodies: Vec<_> = keys.iter().flat_map(|key| key.bodies()).collect();
                let ring = lattice.gadget().ring(params.limbs());
                let seeds = Seeds::of(keys.iter().map(|key| key.seed()));
                (seeds, Packed::polys(ring, bodies.into_iter()))
            }
            (SeededKind::Special(_), Switching::Digits(_)) => {
                unreachable!("keys have the kind of their parameters")
            }
        };
    }
    fn read(params, form) {
        // `n` and the gadget determine the numbers of seeds and bodies.
        let (n, key) = (form.n as usize, form.key);
        let stages = row_packing_exponents(params.degree(), n)?;
        let kind = match params.switching() {
            Switching::Digits(gadget) => {
                let seed = form.seeds.unpack(1)?.next().expect("there is one");
                let rows = stages.len() * gadget.digits();
                SeededKind::Digits(seed, form.bodies.unpack_polys(params.ring(), rows)?)
            }
            Switching::Special(lattice) => {
                let (limbs, seeds) = (params.limbs(), form.seeds.unpack(stages.len())?);
                let rows = lattice.gadget().digits(limbs);
                let ring = lattice.gadget().ring(limbs);
                let mut bodies = form.bodies.unpack_polys(ring, stages.len() * rows)?.into_iter();
                // Each key leads from the secret to itself, of rank 1.
                let end = KeyIdent { fingerprint: lattice.fingerprint(), key };
                let shape = SwitchKeyInfo { from: end, to: end, limbs, from_rank: 1, to_rank: 1 };
                let key = |(exponent, seed)| {
                    let bodies = bodies.by_ref().take(rows).collect();
                    let key = SeededKeySwitchKey::from_parts(lattice, shape, seed, bodies)?;
                    Ok((exponent, key))
                };
                let keys = stages.into_iter().zip(seeds).map(key);
                SeededKind::Special(keys.collect::<mlwe::Result<_>>()?)
            }
        };
        Ok(Self { fingerprint: params.fingerprint(), key, n, kind })
    }
}
