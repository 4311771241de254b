//! The server: holds tables and the public keys of a client, and evaluates at points that it never
//! sees.

use bellerophon_lwe as lwe;
use bellerophon_mlwe::KeyId;
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Error, Ntt, Poly, Result, error::operation, sample::SecretRng, try_map};
use rand::{CryptoRng, RngExt};
use zeroize::Zeroizing;

use super::budget::PrivacyBudget;
use super::function::{Function, sparse_selector};
use super::privacy::{self, HALF_OF_THE_ROOM, circuit_privacy};
use super::query::{Mask, Query, Shape};
use super::query_layout::QueryLayout;
use super::response::Response;
use crate::bfv::{
    Ciphertext, NoiseBound, PackingKeys, Params, Plaintext, PublicKey, SeededPackingKeys,
    check_key, noise, pack_leaves, sum_of_products,
};
use crate::error;

/// The public keys of a client, in the form to send.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerKeys {
    pub(crate) packing: SeededPackingKeys,
    pub(crate) public: PublicKey,
}

impl ServerKeys {
    /// Bytes with residues packed to the bits of their primes, seeds included.
    pub fn byte_len(&self, params: &Params) -> usize {
        self.packing.byte_len(params) + self.public.byte_len(params)
    }

    /// Identity of the client's secret key.
    pub fn key(&self) -> KeyId {
        self.packing.key()
    }
}

/// A server with the keys of one client.
///
/// # Who learns what
/// The server sees ciphertexts, the numbers of points and variables, the domains and the seed of
/// the batch code. The client learns the values at its points; what else, depends on the method.
/// [`evaluate`](Self::evaluate) promises nothing: whoever has guessed a table can check the guess.
/// [`evaluate_values`](Self::evaluate_values) re-randomises masks, but the noise of every value
/// reveals one sum of entries. [`evaluate_private`](Self::evaluate_private) and
/// [`evaluate_shuffled`](Self::evaluate_shuffled) re-randomise and flood, and state a distance
/// ([`circuit_privacy`]), statistical in the noise, computational (RLWE) in the masks. A
/// [`PrivacyBudget`] counts it over several answers.
///
/// **All of this is about clients that follow the protocol.** A client that does not can select
/// sums of entries. It can also send masks and keys that hide nothing and receive whole blocks of
/// the table in the response, since the public key is its own. The length of the response bounds
/// such a leak: `2 N log2 q_0` bits a ciphertext. A server that must resist a dishonest client
/// needs a proof that queries and keys are well formed, which this library does not have.
#[derive(Debug, Clone)]
pub struct Server {
    params: Params,
    packing: PackingKeys,
    public: PublicKey,
}

/// Products that are summed at a time, to bound the memory of expanded masks.
const CHUNK: usize = 8;

impl Server {
    /// Expands the keys of a client.
    pub fn new(params: &Params, keys: &ServerKeys) -> Result<Self> {
        let packing = keys.packing.expand(params)?;
        Ok(Self { params: params.clone(), packing, public: keys.public.clone() })
    }

    /// Evaluates the function at the points of the query. The response has ring ciphertexts modulo
    /// the first prime.
    ///
    /// This takes `p ceil(D / N)` products in the paper's layout, one product for each bucket in
    /// the compact layout, and one automorphism for each value. It runs on the active rayon pool.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for a function whose domains differ from those of the query.
    pub fn evaluate(&self, function: &Function, query: &Query) -> Result<Response> {
        operation("evaluate", || {
            let selection = self.selection(function, query)?;
            // Products are computed when packing needs them.
            let order: Vec<usize> = (0..query.shape.values()).collect();
            let packed = self.pack(&order, |value| selection.value(value))?;
            self.respond(query.id, &query.shape, packed)
        })
    }

    /// As [`evaluate_private`](Self::evaluate_private), with the values in a random order (the
    /// paper's Remark 1). The client learns the values of its points. It learns which point has
    /// which value only as far as the noise of the response reveals it; the distance counted by
    /// `budget` bounds that. The query must have the paper's layout, in which every value belongs
    /// to a point. With [`PrivacyBudget::unstated`] nothing is promised: a client that knows the
    /// possible tables can test orders against the noise.
    ///
    /// # Errors
    /// As [`evaluate_private`](Self::evaluate_private); [`ErrorKind::Shape`] for a compact query.
    pub fn evaluate_shuffled<R: CryptoRng + ?Sized>(
        &self,
        function: &Function,
        query: &Query,
        budget: &mut PrivacyBudget,
        rng: &mut R,
    ) -> Result<Response> {
        operation("evaluate_shuffled", || {
            if query.shape.form() != QueryLayout::Paper {
                return Err(error::query_layout(query.shape.form(), QueryLayout::Paper));
            }
            // Fisher-Yates shuffle.
            let mut order: Vec<usize> = (0..query.shape.values()).collect();
            for i in (1..order.len()).rev() {
                order.swap(i, rng.random_range(0..=i));
            }
            let response = self.flooded(function, query, &order, budget, rng)?;
            Ok(Response { shuffled: true, ..response })
        })
    }

    /// As [`evaluate`](Self::evaluate) with circuit privacy (section 4.3.5): products are
    /// re-randomised by encryptions of zero, packed, flooded with noise and rescaled to the first
    /// prime. The view of a client whose query and keys follow the protocol is within the distance
    /// of [`circuit_privacy`] of a response that depends only on the values at its points, if masks
    /// are as good as uniform. `budget` counts that distance over all answers about the table.
    /// Nothing is promised for a client whose query or keys deviate from the protocol.
    ///
    /// # Errors
    /// [`ErrorKind::Noise`] if one answer has a larger distance than the whole budget,
    /// [`ErrorKind::Budget`] if the rest of the budget is too small. A refused call spends nothing.
    pub fn evaluate_private<R: CryptoRng + ?Sized>(
        &self,
        function: &Function,
        query: &Query,
        budget: &mut PrivacyBudget,
        rng: &mut R,
    ) -> Result<Response> {
        operation("evaluate_private", || {
            let order: Vec<usize> = (0..query.shape.values()).collect();
            self.flooded(function, query, &order, budget, rng)
        })
    }

    /// The values in the given order, re-randomised and flooded.
    fn flooded<R: CryptoRng + ?Sized>(
        &self,
        function: &Function,
        query: &Query,
        order: &[usize],
        budget: &mut PrivacyBudget,
        rng: &mut R,
    ) -> Result<Response> {
        // Step 1: the distance of this answer, which the budget must still hold.
        let selection = self.selection(function, query)?;
        let privacy = circuit_privacy(&self.params, &query.shape)?;
        budget.check(&privacy)?;
        // Step 2: re-randomised values, packed by Algorithm 1.
        let forks = forks(query.shape.values(), rng);
        let make = |value: usize| self.rerandomised(&selection, value, &forks[value]);
        let packed = self.pack(order, make)?;
        // Step 3: noise flooding at the full modulus, before the rescale to the first prime.
        let flooded =
            packed.into_iter().map(|part| privacy::flood(&self.params, part, &privacy, rng));
        let flooded: Vec<Ciphertext> = flooded.collect();
        let mut response = self.respond(query.id, &query.shape, flooded)?;
        // The flooding noise takes half of the threshold, so the variance counts fourfold.
        (response.variance, response.weight) = (privacy.variance, HALF_OF_THE_ROOM);
        budget.spend(&privacy);
        Ok(response)
    }

    /// The function at the points of the query, each as a separate LWE value under the coefficients
    /// of the client's secret: `q m / t` plus noise modulo the first prime, in the order of the
    /// values of the query.
    ///
    /// Products are re-randomised. Otherwise the mask of a single value would be the selected block
    /// of the table times a mask that the client knows. Nothing is flooded: the noise of each value
    /// still reveals to the client, nearly exactly, one sum of the entries from which the value is
    /// selected, weighted by the errors of its query. As many values as entries reveal all entries.
    pub fn evaluate_values<R: CryptoRng + ?Sized>(
        &self,
        function: &Function,
        query: &Query,
        rng: &mut R,
    ) -> Result<Vec<lwe::Ciphertext>> {
        operation("evaluate_values", || {
            // One encryption of zero for each value, then extraction in place of packing.
            let selection = self.selection(function, query)?;
            let forks = forks(query.shape.values(), rng);
            let values: Vec<usize> = (0..query.shape.values()).collect();
            try_map(&values, |&value| {
                self.constant(self.rerandomised(&selection, value, &forks[value])?)
            })
        })
    }

    /// A value plus a fresh encryption of zero, which makes its mask as good as uniform.
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
        // Sample extraction of coefficient 0, modulo the first prime.
        let product = product.to_one_limb(&self.params)?;
        let ring = self.params.ring().at_limbs(1);
        let (b, a) = (ring.inverse(product.b), ring.inverse(product.a));
        lwe::sample_extract(ring.modulus(0), b.limb(0), a.limb(0), 0)
    }

    /// The parameters.
    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    /// Checks a query and a function, and prepares the factors of products.
    pub(crate) fn selection<'a>(
        &'a self,
        function: &Function,
        query: &'a Query,
    ) -> Result<Selection<'a>> {
        // Step 1: everything that query and function must agree on.
        let (params, shape) = (&self.params, &query.shape);
        self.check_query(query)?;
        function.check(params)?;
        for (found, &needed) in function.domains().into_iter().zip(shape.domains()) {
            if found != needed {
                let (what, needed) = ("size of a table", format!("{needed}, the query's domain"));
                return Err(error::shape(what, found, needed));
            }
        }
        let (found, needed) = (function.domains().len(), shape.domains().len());
        if found != needed {
            let (what, needed) = ("number of tables", format!("{needed}, as in the query"));
            return Err(error::shape(what, found, needed));
        }
        // Step 2: the factors. A compact query needs the table in buckets, by the batch code of its
        // seed.
        let factors = match &query.batch {
            None => Factors::Blocks { skipped: 0, factors: function.blocks(params) },
            Some(seed) => {
                let mut entries = Zeroizing::new(vec![0; shape.values() * shape.entries()]);
                let table = &function.tables()[0];
                shape.code(seed).for_each(|point, place| {
                    entries[place.bucket * shape.entries() + place.place] = table[point];
                });
                self.buckets(query, entries)?
            }
        };
        // A bound over all tables, so that it reveals nothing about this one.
        let noise = NoiseBound::of(shape.selected_noise(params));
        Ok(Selection { params, query, factors, noise })
    }

    /// Checks that a query has these parameters and this client.
    pub(crate) fn check_query(&self, query: &Query) -> Result<()> {
        self.params.check(query.fingerprint)?;
        check_key(query.key, self.packing.key())
    }

    /// Buckets of a compact query with these entries, and the masks that they share.
    pub(crate) fn buckets<'a>(
        &'a self,
        query: &'a Query,
        entries: Zeroizing<Vec<i64>>,
    ) -> Result<Factors<'a>> {
        let indices: Vec<usize> = (0..query.bodies.len()).collect();
        let masks = try_map(&indices, |&i| Ok::<_, Error>(query.mask(&self.params, i)))?;
        Ok(Factors::Buckets { entries, masks })
    }

    /// Packs the values that `make` computes: value `i` of the response is `make(order[i])`.
    pub(crate) fn pack(
        &self,
        order: &[usize],
        make: impl Fn(usize) -> Result<Ciphertext> + Sync,
    ) -> Result<Vec<Ciphertext>> {
        // Step 1: positions in the ciphertexts of the response.
        let (n, limbs) = (self.params.degree(), self.params.limbs());
        let mut parts = vec![vec![None; n]; order.len().div_ceil(n)];
        for (i, &value) in order.iter().enumerate() {
            let (part, place) = Shape::response_place(order.len(), n, i);
            parts[part][place] = Some(value);
        }
        // Step 2: one packing for each ciphertext.
        let pack = |leaves: Vec<Option<usize>>| {
            let leaf = |value: Option<usize>| value.map(&make).transpose();
            let packed = pack_leaves(&self.packing, limbs, leaves, leaf)?;
            packed.ok_or_else(error::no_rows)
        };
        parts.into_iter().map(pack).collect()
    }

    fn respond(&self, id: u128, shape: &Shape, packed: Vec<Ciphertext>) -> Result<Response> {
        let variance = shape.packed_noise(&self.params)?;
        self.respond_with(id, shape.values(), packed, variance)
    }

    /// The response of packed ciphertexts. `variance` is modulo the first prime.
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

/// A separate seed for each value, so that results do not depend on the number of threads.
fn forks<R: CryptoRng + ?Sized>(count: usize, rng: &mut R) -> Vec<Zeroizing<[u8; 32]>> {
    (0..count).map(|_| Zeroizing::new(rng.random())).collect()
}

/// A query and the factors of its ciphertexts.
pub(crate) struct Selection<'a> {
    pub(crate) params: &'a Params,
    pub(crate) query: &'a Query,
    pub(crate) factors: Factors<'a>,
    /// The noise of a value.
    pub(crate) noise: NoiseBound,
}

pub(crate) enum Factors<'a> {
    /// One factor for each block from the first that the table has, the same for every value.
    Blocks { skipped: usize, factors: Vec<Plaintext> },
    /// The entries of every bucket. The buckets of a ciphertext share its mask.
    Buckets { entries: Zeroizing<Vec<i64>>, masks: Vec<Mask<'a>> },
}

impl Selection<'_> {
    /// The ciphertext with value `value` as its constant coefficient.
    pub(crate) fn value(&self, value: usize) -> Result<Ciphertext> {
        let (params, query) = (self.params, self.query);
        let (ring, noise) = (params.ring(), self.noise);
        let (first, offset) = query.shape.start(value);
        match &self.factors {
            // sum_i ct_i u_i over the blocks, in chunks.
            Factors::Blocks { skipped, factors } => {
                let mut sum: Option<[Poly<Ntt>; 2]> = None;
                for (i, factors) in factors.chunks(CHUNK).enumerate() {
                    let at = first + skipped + i * CHUNK;
                    let masks: Vec<_> =
                        (at..at + factors.len()).map(|i| query.mask(params, i)).collect();
                    let both = self.sum(at, &masks, factors.iter().map(|u| u.poly.data()));
                    match &mut sum {
                        None => sum = Some(both),
                        Some(sum) => {
                            sum.iter_mut().zip(&both).for_each(|(x, y)| ring.add_assign(x, y))
                        }
                    }
                }
                let [b, a] = sum.ok_or_else(error::no_rows)?;
                Ok(query.ciphertext(b, a, noise))
            }
            // The same for the blocks of one bucket, whose factors are made here and dropped.
            Factors::Buckets { entries, masks } => {
                let width = query.shape.entries();
                let bucket = &entries[value * width..(value + 1) * width];
                let factors: Vec<_> = bucket
                    .chunks(params.degree())
                    .map(|block| sparse_selector(params, offset, block))
                    .collect();
                let [b, a] = self.sum(first, &masks[first..], factors.iter().map(|u| u.data()));
                Ok(query.ciphertext(b, a, noise))
            }
        }
    }

    /// `sum_i ct_i u_i` over the ciphertexts from `first` on, with their masks and factors.
    fn sum<'u>(
        &self,
        first: usize,
        masks: &[Mask<'_>],
        factors: impl Iterator<Item = &'u [u64]> + Clone,
    ) -> [Poly<Ntt>; 2] {
        let (ring, bodies) = (self.params.ring(), &self.query.bodies);
        let of_bodies: Vec<_> =
            (first..).zip(factors.clone()).map(|(i, u)| (bodies.row(i), u)).collect();
        let of_masks: Vec<_> = masks.iter().zip(factors).map(|(a, u)| (&a[..], u)).collect();
        [sum_of_products(ring, &of_bodies), sum_of_products(ring, &of_masks)]
    }
}
