//! What the client sends.

use bellerophon_mlwe::KeyId;
use bellerophon_ring::{
    Ntt, Poly,
    sample::{Seed, uniform_from_seed},
    wire::Fingerprint,
};

use super::batch::{self, BatchCode, GROUPS};
use crate::exact::{Block, Ciphertext, LOG2_FAILURE, NoiseBound, Params, noise};
use crate::{Error, Result};

/// How points are written down. The page of [`lookup`](super) compares the forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// A ciphertext for each block of the domain and each point, as in the paper.
    Paper,
    /// Selections of small buckets, many to a ciphertext.
    Compact,
}

impl std::fmt::Display for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Paper => "paper",
            Self::Compact => "compact",
        })
    }
}

/// The public shape of a query, from which its sizes follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    form: Form,
    domains: Vec<usize>,
    points: usize,
    degree: usize,
    /// Buckets a group; none in the paper's form.
    buckets: usize,
}

/// Points that one query may ask for.
pub(crate) const MAX_POINTS: usize = 1 << 16;

/// Ciphertexts that one query may have.
pub(crate) const MAX_CIPHERTEXTS: usize = 1 << 17;

/// Bytes of their bodies in memory: `2^17` ciphertexts at `N = 2^11` over one prime.
pub(crate) const MAX_BYTES: usize = 1 << 31;

/// The largest domain.
pub(crate) const MAX_DOMAIN: usize = 1 << 28;

impl Shape {
    /// A query for `points` points of the domains of all variables.
    ///
    /// # Errors
    /// [`Error::Shape`] for no variables, a domain without points or of more than `2^28`, one that takes
    /// more ciphertexts than there may be (`2^17`, and 2 GiB of bodies), or a compact query of several
    /// variables; [`Error::TooManyPoints`] for none, more than `2^16` or more than there may be ciphertexts
    /// for; [`Error::Noise`] where some table of these sizes would make a value wrong with a probability
    /// above `2^-40`.
    pub fn new(params: &Params, form: Form, domains: &[usize], points: usize) -> Result<Self> {
        let op = "query";
        if let Some(&found) = domains.iter().find(|&&domain| domain == 0 || domain > MAX_DOMAIN) {
            let needed = format!("1 to {MAX_DOMAIN}");
            return Err(Error::Shape { op, what: "size of a domain", found, needed });
        }
        let variables = domains.len();
        if variables == 0 || variables > 64 || form == Form::Compact && variables > 1 {
            let needed = match form {
                Form::Paper => "1 to 64",
                Form::Compact => "1 in a compact query; sums take the paper's form",
            };
            let (what, needed) = ("number of variables", needed.to_string());
            return Err(Error::Shape { op, what, found: variables, needed });
        }
        let refuse = |most| Err(Error::TooManyPoints { found: points, most });
        if points == 0 || points > MAX_POINTS {
            return refuse(MAX_POINTS);
        }
        let buckets = if form == Form::Compact { batch::buckets_for(points) } else { 0 };
        let shape =
            Self { form, domains: domains.to_vec(), points, degree: params.degree(), buckets };
        let bytes = params.degree() * params.limbs() * size_of::<u64>();
        let limit = MAX_CIPHERTEXTS.min(MAX_BYTES / bytes);
        if shape.ciphertexts() > limit {
            let most = limit / shape.blocks();
            if form == Form::Paper && most > 0 {
                return refuse(most);
            }
            let (what, found) = ("size of a domain", domains.iter().sum());
            let needed = format!("one for at most {limit} ciphertexts");
            return Err(Error::Shape { op, what, found, needed });
        }
        let log2_failure = noise::log2_failure(params, shape.packed_noise(params)?);
        if log2_failure > LOG2_FAILURE {
            return Err(Error::Noise { op, log2_failure, needed: LOG2_FAILURE });
        }
        Ok(shape)
    }

    /// The form that takes fewer ciphertexts.
    pub fn best_form(params: &Params, domains: &[usize], points: usize) -> Form {
        let count =
            |form| Self::new(params, form, domains, points).map(|shape| shape.ciphertexts());
        match (count(Form::Paper), count(Form::Compact)) {
            (Ok(paper), Ok(compact)) if compact < paper => Form::Compact,
            (Err(_), Ok(_)) => Form::Compact,
            _ => Form::Paper,
        }
    }

    /// The form.
    pub fn form(&self) -> Form {
        self.form
    }

    /// The size of the domain of each variable.
    pub fn domains(&self) -> &[usize] {
        &self.domains
    }

    /// How many points are asked for.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Values that come back: one for each point, or for each bucket.
    pub fn values(&self) -> usize {
        match self.form {
            Form::Paper => self.points,
            Form::Compact => GROUPS * self.buckets,
        }
    }

    /// Ciphertexts of the query.
    pub fn ciphertexts(&self) -> usize {
        match self.form {
            Form::Paper => self.points * self.blocks(),
            Form::Compact => self.values().div_ceil(self.together()) * self.blocks(),
        }
    }

    /// Ciphertexts of the response.
    pub fn response_ciphertexts(&self) -> usize {
        self.values().div_ceil(self.degree)
    }

    /// Entries among which one value is selected.
    pub(crate) fn entries(&self) -> usize {
        match self.form {
            Form::Paper => self.domains.iter().sum(),
            Form::Compact => BatchCode::bucket_len(self.domains[0], self.buckets),
        }
    }

    /// Ciphertexts that select one value.
    pub(crate) fn blocks(&self) -> usize {
        match self.form {
            Form::Paper => self.domains.iter().map(|domain| domain.div_ceil(self.degree)).sum(),
            Form::Compact => self.entries().div_ceil(self.degree),
        }
    }

    /// Values that one ciphertext selects.
    pub(crate) fn together(&self) -> usize {
        match self.form {
            Form::Paper => 1,
            Form::Compact => (self.degree / self.entries()).max(1),
        }
    }

    /// The first ciphertext for a value, and the place where its selection begins.
    pub(crate) fn start(&self, value: usize) -> (usize, usize) {
        let (first, slot) = (value / self.together(), value % self.together());
        (first * self.blocks(), slot * self.entries())
    }

    /// The batch code of a seed.
    pub(crate) fn code(&self, seed: &Seed) -> BatchCode {
        BatchCode::new(self.domains[0], self.buckets, seed)
    }

    pub(crate) fn buckets(&self) -> usize {
        self.buckets
    }

    /// Bound on the variance of a selected value, over all tables: that of `t / 2` everywhere, and the
    /// square of `t / 4` for each variable, half an entry from the rounding of the one that was encrypted.
    pub(crate) fn selected_noise(&self, params: &Params) -> f64 {
        let largest = (params.plain() as f64 / 2.0).powi(2);
        let rounded = largest / 4.0 * (self.domains.len() as f64).powi(2);
        noise::product(noise::fresh(params), self.entries() as f64 * largest) + rounded
    }

    /// The same of a packed value modulo the first prime.
    pub(crate) fn packed_noise(&self, params: &Params) -> Result<f64> {
        let limbs = params.limbs();
        let packed = noise::packed(params, limbs, 1, self.selected_noise(params))?;
        Ok(noise::to_one_limb(params, limbs, packed))
    }

    /// Where value `i` stands in the response: ciphertext and coefficient. Values are spread so that
    /// absent neighbours meet in packing.
    pub(crate) fn response_place(values: usize, degree: usize, i: usize) -> (usize, usize) {
        let part = i / degree;
        let here = (values - part * degree).min(degree);
        (part, i % degree * (degree / here.next_power_of_two()))
    }
}

/// Masks as they travel: one seed for all, or expanded by the client.
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
