//! The keys of ring packing: one automorphism for each stage.

use std::collections::BTreeMap;

use bellerophon_mlwe::{
    self as mlwe, GaloisKey, GaloisKeys, KeyId, SeededKeySwitchKey, inverse_exponent,
};
use bellerophon_repack::ring_packing::{input_count, monomial, stages};
use bellerophon_ring::{
    Automorphism, DigitGadget, Ntt, Poly, Result, Ring,
    aligned::AlignedVec,
    sample::{Seed, uniform_from_seed},
    try_map,
    wire::Fingerprint,
};
use rand::CryptoRng;
use zeroize::Zeroizing;

use super::ciphertext::SEED_BYTES;
use super::params::Switching;
use super::{Params, SecretKey};

/// The `log2(N / n)` keys of [`pack`](super::pack) for messages in powers of `X^(N/n)`, expanded.
#[derive(Debug, Clone)]
pub struct PackingKeys {
    pub(crate) params: Params,
    pub(crate) key: KeyId,
    pub(crate) n: usize,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// The seed of all masks, and one key for each stage, in order.
    Digits(Seed, Vec<DigitKey>),
    Special(GaloisKeys),
}

/// [`PackingKeys`] with their uniform parts as seeds: the form to send.
#[derive(Debug, Clone, PartialEq)]
pub struct SeededPackingKeys {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) key: KeyId,
    pub(crate) n: usize,
    pub(crate) kind: SeededKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SeededKind {
    /// Digit `j` of stage `i` is body `i d + j`; its mask is the stream of that number.
    Digits(Seed, Vec<Poly<Ntt>>),
    /// By exponent.
    Special(BTreeMap<usize, SeededKeySwitchKey>),
}

impl SeededPackingKeys {
    /// Generates the keys for inputs of `n` coefficients each; `n = 1` packs constants.
    pub fn generate<R: CryptoRng + ?Sized>(
        secret: &SecretKey,
        n: usize,
        rng: &mut R,
    ) -> Result<Self> {
        let params = secret.params();
        input_count(params.degree(), n)?;
        // One key for each stage, in the gadget of the parameters.
        let kind = match (params.switching(), secret.lattice()) {
            (Switching::Special(_), Some(lattice)) => {
                let exponents = stages(params.degree(), n).map(|stage| stage.exponent);
                let keys = GaloisKeys::generate(lattice, exponents, params.limbs(), rng)?;
                SeededKind::Special(seeded(&keys))
            }
            (Switching::Digits(gadget), _) => digit_bodies(secret, n, gadget, rng)?,
            (Switching::Special(_), None) => {
                unreachable!("a secret has the kind of its parameters")
            }
        };
        Ok(Self { fingerprint: params.fingerprint(), key: secret.id(), n, kind })
    }

    /// The keys with their uniform parts expanded.
    pub fn expand(&self, params: &Params) -> Result<PackingKeys> {
        params.check(self.fingerprint)?;
        // Each gadget expands in its own form: residues of one prime, or keys of the lattice layer.
        let kind = match &self.kind {
            SeededKind::Digits(seed, bodies) => {
                Kind::Digits(*seed, self.expand_digits(params, seed, bodies)?)
            }
            SeededKind::Special(keys) => {
                let Switching::Special(lattice) = params.switching() else {
                    unreachable!("keys have the kind of their parameters")
                };
                let keys = keys
                    .iter()
                    .map(|(&exponent, key)| GaloisKey::from_parts(lattice, exponent, key.clone()));
                Kind::Special(keys.collect::<mlwe::Result<_>>()?)
            }
        };
        Ok(PackingKeys { params: params.clone(), key: self.key, n: self.n, kind })
    }

    fn expand_digits(
        &self,
        params: &Params,
        seed: &Seed,
        bodies: &[Poly<Ntt>],
    ) -> Result<Vec<DigitKey>> {
        let Switching::Digits(gadget) = params.switching() else {
            unreachable!("keys have the kind of their parameters")
        };
        let (ring, digits) = (params.ring(), gadget.digits());
        let stages: Vec<_> = stages(params.degree(), self.n).collect();
        // The keys of a stage are its digits; the masks are streams of one seed.
        try_map(&stages, |stage| {
            let rows = stage.index * digits..(stage.index + 1) * digits;
            Ok(DigitKey {
                map: ring.automorphism(stage.exponent)?,
                monomial: monomial(ring, stage.distance),
                gadget: *gadget,
                bodies: bodies[rows.clone()].to_vec(),
                masks: rows.map(|row| uniform_from_seed(ring, seed, row as u64)).collect(),
            })
        })
    }

    /// The number of automorphisms: `log2(N / n)`.
    pub(crate) fn len(&self) -> usize {
        match &self.kind {
            SeededKind::Digits(..) => (self.degree() / self.n).trailing_zeros() as usize,
            SeededKind::Special(keys) => keys.len(),
        }
    }

    fn degree(&self) -> usize {
        match &self.kind {
            SeededKind::Digits(_, bodies) => bodies.first().map_or(self.n, Poly::degree),
            SeededKind::Special(_) => self.n << self.len(),
        }
    }

    /// Identity of the secret key.
    pub(crate) fn key(&self) -> KeyId {
        self.key
    }

    /// Bytes with residues packed to the bits of their primes, seeds included.
    pub(crate) fn byte_len(&self, params: &Params) -> usize {
        // Bodies in the bits of their primes; each key of the lattice layer has a seed of its own.
        match (&self.kind, params.switching()) {
            (SeededKind::Special(keys), Switching::Special(lattice)) => {
                keys.values().map(|key| key.byte_len(lattice)).sum()
            }
            (SeededKind::Digits(_, bodies), _) => {
                SEED_BYTES + bodies.len() * params.packed_len(params.ring())
            }
            (SeededKind::Special(_), Switching::Digits(_)) => 0,
        }
    }
}

impl PackingKeys {
    /// Identity of the secret key.
    pub(crate) fn key(&self) -> KeyId {
        self.key
    }

    /// The form to send.
    pub fn compress(&self) -> SeededPackingKeys {
        let kind = match &self.kind {
            Kind::Digits(seed, keys) => {
                let bodies = keys.iter().flat_map(|key| &key.bodies).cloned();
                SeededKind::Digits(*seed, bodies.collect())
            }
            Kind::Special(keys) => SeededKind::Special(seeded(keys)),
        };
        SeededPackingKeys { fingerprint: self.params.fingerprint(), key: self.key, n: self.n, kind }
    }
}

/// The switching keys of a set with their masks as seeds.
fn seeded(keys: &GaloisKeys) -> BTreeMap<usize, SeededKeySwitchKey> {
    keys.iter().map(|key| (key.exponent(), key.key().compress())).collect()
}

/// The bodies `b_j = -a_j phi^-1(s) + e_j + g_j s` for every stage and digit.
fn digit_bodies<R: CryptoRng + ?Sized>(
    secret: &SecretKey,
    n: usize,
    gadget: &DigitGadget,
    rng: &mut R,
) -> Result<SeededKind> {
    let params = secret.params();
    // One seed for all masks: the mask of body i is stream i.
    let (ring, seed) = (params.ring(), Seed::random(rng));
    let mut bodies = Vec::new();
    for stage in stages(params.degree(), n) {
        let inverse = inverse_exponent(params.degree(), stage.exponent);
        let target = Zeroizing::new(ring.apply_ntt(secret.ntt(), &ring.automorphism(inverse)?));
        for factor in gadget.factors() {
            // e_j - a_j phi^-1(s)
            let error = params.gaussian().sample(params.degree(), rng);
            let mut body = ring.forward_signed(&error);
            let mut masked = Zeroizing::new(uniform_from_seed(ring, &seed, bodies.len() as u64));
            ring.mul_assign(&mut masked, &target);
            ring.sub_assign(&mut body, &masked);
            // + g_j s
            let mut message = Zeroizing::new(secret.ntt().clone());
            ring.mul_residues_assign(&mut message, &[factor]);
            ring.add_assign(&mut body, &message);
            bodies.push(body);
        }
    }
    Ok(SeededKind::Digits(seed, bodies))
}

/// The automorphism of one stage over one prime, its key in digits, and the monomial of the stage.
///
/// As in the lattice layer, the key switches from `s` to `phi^-1(s)` and the automorphism is
/// applied afterwards.
#[derive(Debug, Clone)]
pub(crate) struct DigitKey {
    map: Automorphism,
    pub(crate) monomial: Poly<Ntt>,
    gadget: DigitGadget,
    bodies: Vec<Poly<Ntt>>,
    masks: Vec<Poly<Ntt>>,
}

/// Scratch memory of one automorphism.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// Body and mask: the input, overwritten by the result.
    pub(crate) b: Poly<Ntt>,
    pub(crate) a: Poly<Ntt>,
    product: Poly<Ntt>,
    digits: AlignedVec,
}

impl DigitKey {
    pub(crate) fn scratch(&self, ring: &Ring) -> Scratch {
        // All digits of one mask at a time.
        let digits = AlignedVec::zeroed(ring.degree() * self.gadget.digits());
        Scratch { b: ring.zero(), a: ring.zero(), product: ring.zero(), digits }
    }

    /// Replaces `(b, a)` in the scratch memory by `phi(b, a)`.
    pub(crate) fn apply(&self, ring: &Ring, scratch: &mut Scratch) {
        let (table, n) = (ring.table(0), ring.degree());
        let Scratch { b, a, product, digits } = scratch;
        // Step 1: gadget decomposition of the mask, which needs coefficients.
        table.inverse(a.limb_mut(0));
        table.signed_digits(&self.gadget, a.limb(0), digits);
        digits.chunks_exact_mut(n).for_each(|digit| table.forward(digit));
        // Step 2: the inner products of the digits with the key, under phi^-1(s).
        let multiply = |rows: &[Poly<Ntt>], product: &mut Poly<Ntt>| {
            let rows = rows.iter().map(|row| row.limb(0));
            let pairs: Vec<_> = digits.chunks_exact(n).zip(rows).collect();
            table.sum_of_products(product.limb_mut(0), &pairs);
        };
        // Step 3: add the body and apply phi, which maps phi^-1(s) back to s.
        multiply(&self.bodies, product);
        ring.add_assign(product, b);
        ring.apply_ntt_into(b, product, &self.map);
        multiply(&self.masks, product);
        ring.apply_ntt_into(a, product, &self.map);
    }
}
