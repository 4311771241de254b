//! The server: holds tables and public keys, evaluates at points that it does not see.

use bellerophon_lwe as lwe;
use bellerophon_mlwe::KeyId;
use bellerophon_ring::{Ntt, Poly, sample::SecretRng};
use rand::{CryptoRng, RngExt};
use zeroize::Zeroizing;

use super::budget::PrivacyBudget;
use super::function::{Function, sparse_selector};
use super::privacy::{self, HALF_OF_THE_ROOM, circuit_privacy};
use super::query::{Form, Mask, Query, Shape};
use super::response::Response;
use crate::exact::{
    Ciphertext, NoiseBound, PackingKeys, Params, Plaintext, PublicKey, SeededPackingKeys,
    check_key, noise, pack_leaves, sum_of_products,
};
use crate::{Error, Result, par};

/// The public keys of a client, as they travel.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerKeys {
    pub(crate) packing: SeededPackingKeys,
    pub(crate) public: PublicKey,
}

impl ServerKeys {
    /// Identity of the client's secret key.
    pub fn key(&self) -> KeyId {
        self.packing.key()
    }

    /// How many automorphisms there are keys for: `log2 N`.
    pub fn automorphisms(&self) -> usize {
        self.packing.len()
    }

    /// Bytes with residues packed to the bits of their primes, seeds included.
    pub fn byte_len(&self, params: &Params) -> usize {
        self.packing.byte_len(params) + self.public.byte_len(params)
    }
}

/// A server with the keys of one client.
#[derive(Debug, Clone)]
pub struct Server {
    params: Params,
    packing: PackingKeys,
    public: PublicKey,
}

/// Products that are summed at a time, with their masks.
const CHUNK: usize = 8;

impl Server {
    /// Expands the keys of a client.
    ///
    /// # Errors
    /// Those of the lattice layer for keys of other parameters.
    pub fn new(params: &Params, keys: &ServerKeys) -> Result<Self> {
        let packing = keys.packing.expand(params)?;
        Ok(Self { params: params.clone(), packing, public: keys.public.clone() })
    }

    /// The function at the points of the query, in ring ciphertexts modulo the first prime.
    ///
    /// `p ceil(D / N)` products in the paper's form, one for each bucket in the compact one; one automorphism
    /// for each value. Runs on the active rayon pool.
    ///
    /// # Errors
    /// [`Error::PlainModulus`] for a function modulo another `t`; [`Error::Shape`] for one of other
    /// domains than the query's; those of the lattice layer for a query of other parameters or another
    /// client than the keys.
    pub fn evaluate(&self, function: &Function, query: &Query) -> Result<Response> {
        let selection = self.selection(function, query)?;
        let order: Vec<usize> = (0..query.shape.values()).collect();
        let packed = self.pack(&order, |value| selection.value(value))?;
        self.respond(query.id, &query.shape, packed)
    }

    /// As [`evaluate_private`](Self::evaluate_private) in a random order (the paper's Remark 1): the client
    /// sees which values its points have, and which of them has which only as far as the noise of the
    /// response tells, for which the distance counted by `budget` is the bound. In the paper's form, where
    /// all values are of points. With [`PrivacyBudget::unstated`] nothing is promised: who knows what tables
    /// there may be can try orders against the noise.
    ///
    /// # Errors
    /// As [`evaluate_private`](Self::evaluate_private); [`Error::Form`] for a compact query.
    pub fn evaluate_shuffled<R: CryptoRng + ?Sized>(
        &self,
        function: &Function,
        query: &Query,
        budget: &mut PrivacyBudget,
        rng: &mut R,
    ) -> Result<Response> {
        if query.shape.form() != Form::Paper {
            return Err(Error::Form {
                op: "shuffle",
                found: query.shape.form(),
                needed: Form::Paper,
            });
        }
        let mut order: Vec<usize> = (0..query.shape.values()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, rng.random_range(0..=i));
        }
        let response = self.drowned(function, query, &order, budget, rng)?;
        Ok(Response { shuffled: true, ..response })
    }

    /// As [`evaluate`](Self::evaluate) with circuit privacy (section 4.3.5): products are re-randomised by
    /// encryptions of zero, packed, drowned in noise, and switched to the first prime. What a client whose
    /// query and keys are as the protocol has them sees is within the distance of [`circuit_privacy`] of a
    /// response that depends on the values at its points alone, if masks are as good as uniform. `budget`
    /// counts that distance over all answers about the table. For a client that makes other queries or
    /// other keys nothing is promised.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate); [`Error::CircuitPrivacy`] where the set cannot give the distance of
    /// the whole budget, [`Error::PrivacySpent`] where too little of it is left. A refused call takes
    /// nothing of the budget.
    pub fn evaluate_private<R: CryptoRng + ?Sized>(
        &self,
        function: &Function,
        query: &Query,
        budget: &mut PrivacyBudget,
        rng: &mut R,
    ) -> Result<Response> {
        let order: Vec<usize> = (0..query.shape.values()).collect();
        self.drowned(function, query, &order, budget, rng)
    }

    /// Values in an order, re-randomised and flooded.
    fn drowned<R: CryptoRng + ?Sized>(
        &self,
        function: &Function,
        query: &Query,
        order: &[usize],
        budget: &mut PrivacyBudget,
        rng: &mut R,
    ) -> Result<Response> {
        let selection = self.selection(function, query)?;
        let privacy = circuit_privacy(&self.params, &query.shape)?;
        budget.check(&privacy)?;
        let forks = forks(query.shape.values(), rng);
        let make = |value: usize| self.rerandomised(&selection, value, &forks[value]);
        let packed = self.pack(order, make)?;
        let flooded =
            packed.into_iter().map(|part| privacy::flood(&self.params, part, &privacy, rng));
        let flooded: Vec<Ciphertext> = flooded.collect();
        let mut response = self.respond(query.id, &query.shape, flooded)?;
        (response.variance, response.weight) = (privacy.variance, HALF_OF_THE_ROOM);
        budget.spend(&privacy);
        Ok(response)
    }

    /// The function at the points of the query, each as an LWE value of its own under the coefficients of
    /// the client's secret, not packed: `q m / t` and noise modulo the first prime, in the order of
    /// the values of the query.
    ///
    /// Products are re-randomised, without which the mask of a single value would be the selected block of
    /// the table times a mask that the client knows. Nothing is flooded: the noise of each value still tells a client
    /// about one sum of the entries among which it selects, with the errors of its query as factors,
    /// nearly exactly. As many values as entries are enough for all of them.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn evaluate_values<R: CryptoRng + ?Sized>(
        &self,
        function: &Function,
        query: &Query,
        rng: &mut R,
    ) -> Result<Vec<lwe::Ciphertext>> {
        let selection = self.selection(function, query)?;
        let forks = forks(query.shape.values(), rng);
        let values: Vec<usize> = (0..query.shape.values()).collect();
        par::map(&values, |&value| {
            self.constant(self.rerandomised(&selection, value, &forks[value])?)
        })
    }

    /// A value and a fresh encryption of zero: its mask is as good as uniform.
    fn rerandomised(
        &self,
        selection: &Selection<'_>,
        value: usize,
        fork: &[u8; 32],
    ) -> Result<Ciphertext> {
        let mut product = selection.value(value)?;
        let zero = self.public.zero(&self.params, &mut SecretRng::new(fork))?;
        product.add_assign(&self.params, &zero)?;
        Ok(product)
    }

    /// The constant coefficient as an LWE value modulo the first prime.
    pub(crate) fn constant(&self, product: Ciphertext) -> Result<lwe::Ciphertext> {
        let product = product.to_one_limb(&self.params)?;
        let ring = self.params.ring().prefix(1);
        let (b, a) = (ring.inverse(product.b), ring.inverse(product.a));
        Ok(lwe::extract(ring.modulus(0), b.limb(0), a.limb(0), 0)?)
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Checks a query and a function, and prepares the factors of products.
    pub(crate) fn selection<'a>(
        &'a self,
        function: &Function,
        query: &'a Query,
    ) -> Result<Selection<'a>> {
        let op = "evaluate";
        let (params, shape) = (&self.params, &query.shape);
        params.check(op, query.fingerprint)?;
        check_key(op, query.key, self.packing.key())?;
        function.check(op, params)?;
        for (found, &needed) in function.domains().into_iter().zip(shape.domains()) {
            if found != needed {
                let (what, needed) = ("size of a table", format!("{needed}, the query's domain"));
                return Err(Error::Shape { op, what, found, needed });
            }
        }
        let (found, needed) = (function.domains().len(), shape.domains().len());
        if found != needed {
            let (what, needed) = ("number of tables", format!("{needed}, as in the query"));
            return Err(Error::Shape { op, what, found, needed });
        }
        let factors = match &query.batch {
            None => Factors::Blocks(function.blocks(params)),
            Some(seed) => {
                let mut entries = Zeroizing::new(vec![0; shape.values() * shape.entries()]);
                let table = &function.tables()[0];
                shape.code(seed).for_each(|point, place| {
                    entries[place.bucket * shape.entries() + place.place] = table[point];
                });
                let count = query.bodies.len();
                let indices: Vec<usize> = (0..count).collect();
                let masks = par::map(&indices, |&i| Ok(query.mask(params, i)))?;
                Factors::Buckets { entries, masks }
            }
        };
        Ok(Selection { params, query, factors })
    }

    /// Packs the values that `make` gives, `order[i]` as value `i` of the response.
    pub(crate) fn pack(
        &self,
        order: &[usize],
        make: impl Fn(usize) -> Result<Ciphertext> + Sync,
    ) -> Result<Vec<Ciphertext>> {
        let (n, limbs) = (self.params.degree(), self.params.limbs());
        let mut parts = vec![vec![None; n]; order.len().div_ceil(n)];
        for (i, &value) in order.iter().enumerate() {
            let (part, place) = Shape::response_place(order.len(), n, i);
            parts[part][place] = Some(value);
        }
        let pack = |leaves: Vec<Option<usize>>| {
            let leaf = |value: Option<usize>| value.map(&make).transpose();
            let packed = pack_leaves(&self.packing, limbs, leaves, leaf)?;
            packed.ok_or(Error::NoRows { op: "evaluate" })
        };
        parts.into_iter().map(pack).collect()
    }

    fn respond(&self, id: u128, shape: &Shape, packed: Vec<Ciphertext>) -> Result<Response> {
        let variance = shape.packed_noise(&self.params)?;
        self.respond_with(id, shape.values(), packed, variance)
    }

    /// The response of packed ciphertexts, noise stated modulo the first prime.
    pub(crate) fn respond_with(
        &self,
        id: u128,
        values: usize,
        packed: Vec<Ciphertext>,
        variance: f64,
    ) -> Result<Response> {
        let params = &self.params;
        let parts =
            packed.into_iter().map(|part| part.to_one_limb(params)).collect::<Result<_>>()?;
        Response::new(params, id, values, parts, variance)
    }

    pub(crate) fn key(&self) -> KeyId {
        self.packing.key()
    }

    pub(crate) fn packing_noise(&self, input: f64) -> Result<f64> {
        let limbs = self.params.limbs();
        let packed = noise::packed(&self.params, limbs, 1, input)?;
        Ok(noise::to_one_limb(&self.params, limbs, packed))
    }
}

/// A seed of its own for each value, whatever thread makes it.
fn forks<R: CryptoRng + ?Sized>(count: usize, rng: &mut R) -> Vec<Zeroizing<[u8; 32]>> {
    (0..count).map(|_| Zeroizing::new(rng.random())).collect()
}

/// A query and what its ciphertexts are multiplied by.
pub(crate) struct Selection<'a> {
    params: &'a Params,
    query: &'a Query,
    factors: Factors<'a>,
}

enum Factors<'a> {
    /// The same for every value, one for each block.
    Blocks(Vec<Plaintext>),
    /// The entries of every bucket; masks are shared by the buckets of a ciphertext.
    Buckets { entries: Zeroizing<Vec<i64>>, masks: Vec<Mask<'a>> },
}

impl Selection<'_> {
    /// The ciphertext with value `value` as its constant coefficient.
    pub(crate) fn value(&self, value: usize) -> Result<Ciphertext> {
        let (params, query) = (self.params, self.query);
        let (ring, bodies) = (params.ring(), &query.bodies);
        let noise = NoiseBound::of(query.shape.selected_noise(params));
        let (first, offset) = query.shape.start(value);
        match &self.factors {
            Factors::Blocks(factors) => {
                let mut sum: Option<[Poly<Ntt>; 2]> = None;
                for (i, factors) in factors.chunks(CHUNK).enumerate() {
                    let at = first + i * CHUNK;
                    let masks: Vec<_> =
                        (at..at + factors.len()).map(|i| query.mask(params, i)).collect();
                    let rows = (at..).map(|i| bodies.row(i)).zip(factors);
                    let of_bodies: Vec<_> = rows.map(|(b, u)| (b, u.poly.data())).collect();
                    let of_masks: Vec<_> =
                        masks.iter().zip(factors).map(|(a, u)| (&a[..], u.poly.data())).collect();
                    let both =
                        [sum_of_products(ring, &of_bodies), sum_of_products(ring, &of_masks)];
                    match &mut sum {
                        None => sum = Some(both),
                        Some(sum) => {
                            sum.iter_mut().zip(&both).for_each(|(x, y)| ring.add_assign(x, y))
                        }
                    }
                }
                let [b, a] = sum.ok_or(Error::NoRows { op: "evaluate" })?;
                Ok(query.ciphertext(b, a, noise))
            }
            Factors::Buckets { entries, masks } => {
                let width = query.shape.entries();
                let bucket = &entries[value * width..(value + 1) * width];
                let factors: Vec<_> = bucket
                    .chunks(params.degree())
                    .map(|block| sparse_selector(params, offset, block))
                    .collect();
                let rows = (first..).map(|i| bodies.row(i)).zip(&factors);
                let of_bodies: Vec<_> = rows.map(|(b, u)| (b, u.data())).collect();
                let rows = masks[first..].iter().zip(&factors);
                let of_masks: Vec<_> = rows.map(|(a, u)| (&a[..], u.data())).collect();
                let (b, a) = (sum_of_products(ring, &of_bodies), sum_of_products(ring, &of_masks));
                Ok(query.ciphertext(b, a, noise))
            }
        }
    }
}
