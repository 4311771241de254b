//! Queries: encrypted points and their public shape.

use bellerophon_mlwe::KeyId;
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{
    Ntt, Poly, Result,
    sample::{Seed, uniform_from_seed},
    wire::Fingerprint,
};

use super::batch_code::{self, BatchCode, GROUPS};
use crate::bfv::{Block, Ciphertext, LOG2_FAILURE, NoiseBound, Params, Switching, noise};
use crate::error;
use crate::query_layout::QueryLayout;

/// The public shape of a query, which determines its sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    form: QueryLayout,
    domains: Vec<usize>,
    points: usize,
    degree: usize,
    /// Buckets per group; 0 in the paper's layout.
    buckets: usize,
}

/// Limit on the points of one query.
pub(crate) const MAX_POINTS: usize = 1 << 16;

/// Limit on the ciphertexts of one query.
pub(crate) const MAX_CIPHERTEXTS: usize = 1 << 17;

/// Limit on the bytes of their bodies in memory: `2^17` ciphertexts at `N = 2^11` over one prime.
pub(crate) const MAX_BYTES: usize = 1 << 31;

/// The largest domain.
pub(crate) const MAX_DOMAIN: usize = 1 << 28;

impl Shape {
    /// A query for `points` points of the domains of all variables.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for a compact query of several variables, or a domain that needs more
    /// than `2^17` ciphertexts or 2 GiB of bodies; [`ErrorKind::TooManyValues`] for more points
    /// than that allows; [`ErrorKind::Noise`] if some table of these sizes would make a value wrong
    /// with a probability above `2^-40`.
    pub fn new(
        params: &Params,
        form: QueryLayout,
        domains: &[usize],
        points: usize,
    ) -> Result<Self> {
        // Step 1: domains and points within their limits.
        if let Some(&found) = domains.iter().find(|&&domain| domain == 0 || domain > MAX_DOMAIN) {
            let needed = format!("1 to {MAX_DOMAIN}");
            return Err(error::shape("size of a domain", found, needed));
        }
        let variables = domains.len();
        if variables == 0 || variables > 64 || form == QueryLayout::Compact && variables > 1 {
            let needed = match form {
                QueryLayout::Paper => "1 to 64",
                QueryLayout::Compact => "1 in a compact query; sums take the paper's form",
            };
            let (what, needed) = ("number of variables", needed.to_string());
            return Err(error::shape(what, variables, needed));
        }
        let refuse = |most| Err(error::too_many_points(points, most));
        if points == 0 || points > MAX_POINTS {
            return refuse(MAX_POINTS);
        }
        // Step 2: the number of ciphertexts, before any of them is made.
        let buckets =
            if form == QueryLayout::Compact { batch_code::buckets_for(points) } else { 0 };
        let shape =
            Self { form, domains: domains.to_vec(), points, degree: params.degree(), buckets };
        let bytes = params.degree() * params.limbs() * size_of::<u64>();
        let limit = MAX_CIPHERTEXTS.min(MAX_BYTES / bytes);
        if shape.ciphertexts() > limit {
            let most = limit / shape.blocks();
            if form == QueryLayout::Paper && most > 0 {
                return refuse(most);
            }
            let (what, found) = ("size of a domain", domains.iter().sum());
            let needed = format!("one for at most {limit} ciphertexts");
            return Err(error::shape(what, found, needed));
        }
        // Step 3: the noise of the response, for the worst table.
        let log2_failure = noise::log2_failure(params, shape.packed_noise(params)?);
        if log2_failure > LOG2_FAILURE {
            return Err(error::noise(log2_failure, LOG2_FAILURE));
        }
        Ok(shape)
    }

    /// The layout that takes fewer ciphertexts.
    pub fn best_form(params: &Params, domains: &[usize], points: usize) -> QueryLayout {
        // An impossible layout loses; the paper's layout wins a tie.
        let count =
            |form| Self::new(params, form, domains, points).map(|shape| shape.ciphertexts());
        match (count(QueryLayout::Paper), count(QueryLayout::Compact)) {
            (Ok(paper), Ok(compact)) if compact < paper => QueryLayout::Compact,
            (Err(_), Ok(_)) => QueryLayout::Compact,
            _ => QueryLayout::Paper,
        }
    }

    /// The layout.
    pub(crate) fn form(&self) -> QueryLayout {
        self.form
    }

    /// The size of the domain of each variable.
    pub fn domains(&self) -> &[usize] {
        &self.domains
    }

    /// The number of points.
    pub(crate) fn points(&self) -> usize {
        self.points
    }

    /// Values in the response: one for each point, or one for each bucket.
    pub(crate) fn values(&self) -> usize {
        match self.form {
            QueryLayout::Paper => self.points,
            QueryLayout::Compact => GROUPS * self.buckets,
        }
    }

    /// Ciphertexts of the query.
    pub fn ciphertexts(&self) -> usize {
        match self.form {
            QueryLayout::Paper => self.points * self.blocks(),
            QueryLayout::Compact => self.values().div_ceil(self.together()) * self.blocks(),
        }
    }

    /// Ciphertexts of the response.
    pub fn response_ciphertexts(&self) -> usize {
        self.values().div_ceil(self.degree)
    }

    /// Entries from which one value is selected.
    pub(crate) fn entries(&self) -> usize {
        match self.form {
            QueryLayout::Paper => self.domains.iter().sum(),
            QueryLayout::Compact => BatchCode::bucket_len(self.domains[0], self.buckets),
        }
    }

    /// Ciphertexts that hold the selector of one value.
    pub fn blocks(&self) -> usize {
        match self.form {
            QueryLayout::Paper => {
                self.domains.iter().map(|domain| domain.div_ceil(self.degree)).sum()
            }
            QueryLayout::Compact => self.entries().div_ceil(self.degree),
        }
    }

    /// Selectors that one ciphertext holds.
    pub(crate) fn together(&self) -> usize {
        match self.form {
            QueryLayout::Paper => 1,
            QueryLayout::Compact => (self.degree / self.entries()).max(1),
        }
    }

    /// The first ciphertext of the selector of a value, and the coefficient with which it begins.
    pub(crate) fn start(&self, value: usize) -> (usize, usize) {
        // Selectors fill a ciphertext before the next one begins.
        let (first, slot) = (value / self.together(), value % self.together());
        (first * self.blocks(), slot * self.entries())
    }

    /// NTTs of one limb and products of one limb that an evaluation takes, for predictions of time.
    ///
    /// With `L` limbs, a value takes `2 L` products for each block, and an automorphism. That has
    /// `d + 1` NTTs and `2 d` products with `d` digits over one prime. With `k` special primes it
    /// has `d (L + k) + 2 (k + L)` NTTs and `2 d (L + k)` products. Factors take `L` NTTs for each
    /// block, in the compact layout for each block of each bucket.
    pub fn work(&self, params: &Params) -> [f64; 2] {
        let (limbs, values) = (params.limbs(), self.values());
        let switch = match params.switching() {
            Switching::Digits(gadget) => [gadget.digits() + 1, 2 * gadget.digits()],
            Switching::Special(lattice) => {
                let k = lattice.p().limbs();
                let digits = limbs.div_ceil(k);
                [digits * (limbs + k) + 2 * (k + limbs), 2 * digits * (limbs + k)]
            }
        };
        let factors = match self.form {
            QueryLayout::Paper => self.blocks() * limbs,
            QueryLayout::Compact => values * self.blocks() * limbs,
        };
        let products = 2 * limbs * self.blocks();
        [(values * switch[0] + factors) as f64, (values * (switch[1] + products)) as f64]
    }

    /// The batch code of a seed.
    pub(crate) fn code(&self, seed: &Seed) -> BatchCode {
        BatchCode::new(self.domains[0], self.buckets, seed)
    }

    pub(crate) fn buckets(&self) -> usize {
        self.buckets
    }

    /// Bound on the variance of a selected value, over all tables. The worst table has entries of
    /// magnitude `t / 2`. The rounding error of the encrypted one, at most one half, adds up to
    /// `t / 4` for each variable, which is counted by its square.
    pub(crate) fn selected_noise(&self, params: &Params) -> f64 {
        // Entries of magnitude t / 2 in every position.
        let largest = (params.plain() as f64 / 2.0).powi(2);
        // (t / 4)^2 for one variable, times the square of their number.
        let rounded = largest / 4.0 * (self.domains.len() as f64).powi(2);
        noise::product(noise::fresh(params), self.entries() as f64 * largest) + rounded
    }

    /// Bound on the variance of a packed value modulo the first prime.
    pub(crate) fn packed_noise(&self, params: &Params) -> Result<f64> {
        // Packing runs at the full modulus; the response is modulo the first prime.
        let limbs = params.limbs();
        let packed = noise::packed(params, limbs, 1, self.selected_noise(params))?;
        Ok(noise::to_one_limb(params, limbs, packed))
    }

    /// The position of value `i` in the response: ciphertext and coefficient. Values are spread, so
    /// that absent partners meet in the same stage of packing.
    pub(crate) fn response_place(values: usize, degree: usize, i: usize) -> (usize, usize) {
        // Values of one ciphertext are spread evenly over its coefficients.
        let part = i / degree;
        let here = (values - part * degree).min(degree);
        (part, i % degree * (degree / here.next_power_of_two()))
    }
}

/// The masks of a query: one seed for all, or expanded by the client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Masks {
    Seed(Seed),
    Expanded(Block),
}

/// The limbs of one mask.
pub(crate) enum Mask<'a> {
    Made(Poly<Ntt>),
    Sent(&'a [u64]),
}

impl std::ops::Deref for Mask<'_> {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        match self {
            Self::Made(poly) => poly.data(),
            Self::Sent(limbs) => limbs,
        }
    }
}

/// Encrypted points.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub(crate) id: u128,
    pub(crate) shape: Shape,
    /// The seed of the batch code.
    pub(crate) batch: Option<Seed>,
    pub(crate) masks: Masks,
    pub(crate) bodies: Block,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) key: KeyId,
}

impl Query {
    /// The public shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Identity of the client's secret key.
    pub fn key(&self) -> KeyId {
        self.key
    }

    /// Bytes with residues packed to the bits of their primes, seeds included.
    pub fn byte_len(&self, params: &Params) -> usize {
        // Bodies, masks or their seed, and the seed of the batch code.
        let poly = params.packed_len(params.ring());
        let masks = match &self.masks {
            Masks::Seed(seed) => seed.0.len(),
            Masks::Expanded(masks) => masks.len() * poly,
        };
        let batch = self.batch.map_or(0, |seed| seed.0.len());
        self.bodies.len() * poly + masks + batch
    }

    /// Mask `i`.
    pub(crate) fn mask(&self, params: &Params, i: usize) -> Mask<'_> {
        match &self.masks {
            Masks::Seed(seed) => Mask::Made(uniform_from_seed(params.ring(), seed, i as u64)),
            Masks::Expanded(masks) => Mask::Sent(masks.row(i)),
        }
    }

    /// Ciphertext `i`.
    pub(crate) fn row(&self, params: &Params, i: usize) -> Ciphertext {
        // A mask from the seed is a stream of its own: it can be expanded alone.
        let mask = match &self.masks {
            Masks::Seed(seed) => uniform_from_seed(params.ring(), seed, i as u64),
            Masks::Expanded(masks) => masks.poly(i),
        };
        self.ciphertext(self.bodies.poly(i), mask, NoiseBound::fresh(params))
    }

    /// A ciphertext of this query's key.
    pub(crate) fn ciphertext(&self, b: Poly<Ntt>, a: Poly<Ntt>, noise: NoiseBound) -> Ciphertext {
        Ciphertext { b, a, noise, fingerprint: self.fingerprint, key: self.key }
    }
}
