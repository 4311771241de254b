//! The client: holds the secret, encrypts points, reads responses.

use bellerophon_mlwe::KeyId;
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::sample::{SecretRng, Seed};
use bellerophon_ring::wire::Fingerprint;
use bellerophon_ring::{Result, each_item, error::operation};
use rand::{CryptoRng, RngExt};
use zeroize::Zeroizing;

use super::batch_code;
use super::query::{Masks, Query, Shape};
use super::query_layout::QueryLayout;
use super::response::Response;
use super::server::ServerKeys;
use crate::bfv::{Block, Params, PublicKey, SecretKey, SeededPackingKeys, same};
use crate::error;

/// A client of private look-up.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) secret: SecretKey,
    pub(crate) send_masks: bool,
}

/// What the client keeps until the response arrives: the positions of its answers. They are as
/// secret as the points and are wiped on drop.
#[derive(Clone)]
pub struct Pending {
    pub(crate) id: u128,
    pub(crate) key: KeyId,
    pub(crate) fingerprint: Fingerprint,
    /// The index of the value that answers each point.
    pub(crate) values: Zeroizing<Vec<usize>>,
}

impl std::fmt::Debug for Pending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending").field("points", &self.values.len()).finish_non_exhaustive()
    }
}

/// The selection of a bucket without a point: no entry.
const NOTHING: usize = usize::MAX;

impl Client {
    /// A client with a fresh secret.
    pub fn generate<R: CryptoRng + ?Sized>(params: &Params, rng: &mut R) -> Result<Self> {
        Ok(Self { secret: SecretKey::generate(params, rng)?, send_masks: false })
    }

    /// Makes queries carry expanded masks in place of their seed: twice the bytes, and no expansion
    /// on the server.
    pub fn sending_masks(mut self) -> Self {
        self.send_masks = true;
        self
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        self.secret.params()
    }

    pub(crate) fn secret(&self) -> &SecretKey {
        &self.secret
    }

    /// The public keys that a server needs.
    pub fn server_keys<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> Result<ServerKeys> {
        // Values are constants: packing clears all other coefficients (n = 1).
        let packing = SeededPackingKeys::generate(&self.secret, 1, rng)?;
        Ok(ServerKeys { packing, public: PublicKey::generate(&self.secret, rng) })
    }

    /// Encrypts a query for the values of a function of one variable at points of `0..domain`.
    /// Points may be in any order and may repeat.
    ///
    /// Time and memory accesses of encryption do not depend on the points. Those of the search for
    /// an assignment of points to buckets, in a compact query, do.
    ///
    /// # Errors
    /// [`ErrorKind::Domain`] for a point outside the domain; those of [`Shape::new`].
    pub fn query<R: CryptoRng + ?Sized>(
        &self,
        domain: usize,
        points: &[usize],
        form: QueryLayout,
        rng: &mut R,
    ) -> Result<(Query, Pending)> {
        operation("query", || {
            let shape = Shape::new(self.params(), form, &[domain], points.len())?;
            check_points(points, domain)?;
            let (batch, selections, values) = match form {
                QueryLayout::Paper => (
                    None,
                    Zeroizing::new(points.to_vec()),
                    Zeroizing::new((0..points.len()).collect()),
                ),
                QueryLayout::Compact => {
                    // Step 1: the distinct points, each in a bucket of its own.
                    let mut distinct = Zeroizing::new(points.to_vec());
                    distinct.sort_unstable();
                    distinct.dedup();
                    let (seed, places) =
                        batch_code::place(domain, shape.buckets(), &distinct, rng)?;
                    // Step 2: the selection of every bucket, and the bucket that answers each
                    // point.
                    let mut selections = Zeroizing::new(vec![NOTHING; shape.values()]);
                    places.iter().for_each(|place| selections[place.bucket] = place.place);
                    let value = |point: &usize| {
                        let index = distinct.binary_search(point).expect("it is one of them");
                        places[index].bucket
                    };
                    (Some(seed), selections, Zeroizing::new(points.iter().map(value).collect()))
                }
            };
            self.encrypt(shape, batch, &selections, values, rng)
        })
    }

    /// Encrypts a query for the values of a sum of functions of several variables, in the paper's
    /// layout. Each point has a coordinate in `0..domain` for each of the `domains`.
    pub fn query_sum<P: AsRef<[usize]>, R: CryptoRng + ?Sized>(
        &self,
        domains: &[usize],
        points: &[P],
        rng: &mut R,
    ) -> Result<(Query, Pending)> {
        operation("query_sum", || {
            // Every coordinate is a selection of its own; value i answers point i.
            let shape = Shape::new(self.params(), QueryLayout::Paper, domains, points.len())?;
            let mut selections = Zeroizing::new(Vec::with_capacity(points.len() * domains.len()));
            for (index, point) in points.iter().enumerate() {
                let point = point.as_ref();
                if point.len() != domains.len() {
                    let what = "number of coordinates of a point";
                    let needed = format!("{}, one for each variable", domains.len());
                    return Err(error::shape(what, point.len(), needed));
                }
                for (&point, &domain) in point.iter().zip(domains) {
                    check_point(index, points.len(), point, domain)?;
                }
                selections.extend_from_slice(point);
            }
            let values = Zeroizing::new((0..points.len()).collect());
            self.encrypt(shape, None, &selections, values, rng)
        })
    }

    /// Encrypts the selections, one for each value and variable, as ones among zeros.
    fn encrypt<R: CryptoRng + ?Sized>(
        &self,
        shape: Shape,
        batch: Option<Seed>,
        selections: &[usize],
        values: Zeroizing<Vec<usize>>,
        rng: &mut R,
    ) -> Result<(Query, Pending)> {
        // Step 1: the encoding of 1, which coefficients of selected entries have.
        let params = self.params();
        let scale = params.scale();
        let one: Vec<u64> =
            params.ring().moduli().enumerate().map(|(limb, q)| scale.apply(limb, q, 1)).collect();
        let seed = Seed::random(rng);
        // Step 2: the contents of every ciphertext, and memory for all of them.
        let parts = parts(&shape, params.degree());
        let mut bodies = Block::zero(params, parts.len());
        let mut masks = Block::zero(params, if self.send_masks { parts.len() } else { 0 });
        // Step 3: a separate seed for the errors of each ciphertext, whatever thread encrypts it.
        let jobs: Vec<_> = {
            let mut masks = masks.rows_mut();
            let fork = |body| (Zeroizing::new(rng.random::<[u8; 32]>()), body, masks.next());
            bodies.rows_mut().map(fork).collect()
        };
        // Step 4: encryption in place. Masks are kept only if they are sent.
        each_item(jobs, |i, (fork, body, mask)| {
            let ones = Zeroizing::new(parts[i].ones(selections, params.degree()));
            let mut errors = SecretRng::new(&fork);
            let scaled = |limb: usize, _: &_, i: usize| one[limb] & ones[i];
            let mut unsent = vec![0; if mask.is_some() { 0 } else { body.len() }];
            let mask = mask.unwrap_or(&mut unsent);
            self.secret.write_body(&seed, i as u64, &mut errors, scaled, body, mask);
        });
        let masks = match self.send_masks {
            true => Masks::Expanded(masks),
            false => Masks::Seed(seed),
        };
        let (id, key) = (rng.random(), self.secret.id());
        let fingerprint = params.fingerprint();
        let query = Query { id, shape, batch, masks, bodies, fingerprint, key };
        Ok((query, Pending { id, key, fingerprint, values }))
    }

    /// Reads the answers, in the order of the points, each in `[0, t)`.
    ///
    /// # Errors
    /// [`ErrorKind::Bytes`] for the response to another query, or one with shuffled values.
    pub fn read(&self, pending: &Pending, response: &Response) -> Result<Zeroizing<Vec<u64>>> {
        operation("read", || {
            // Points may share a value: `pending` has the index of the value of each point.
            self.check(pending, response)?;
            if response.shuffled {
                let reason = "its values are shuffled: read_shuffled gives them in no order";
                return Err(error::wrong_response(reason));
            }
            let all = response.decrypt(&self.secret)?;
            let value = |&value: &usize| {
                all.get(value).copied().ok_or_else(|| error::wrong_response("it is too short"))
            };
            Ok(Zeroizing::new(pending.values.iter().map(value).collect::<Result<_>>()?))
        })
    }

    /// Reads the answers of [`Server::evaluate_shuffled`](super::Server::evaluate_shuffled), one
    /// for each point, in no order.
    ///
    /// # Errors
    /// [`ErrorKind::Bytes`] for the response to another query, or one with values in order.
    pub fn read_shuffled(
        &self,
        pending: &Pending,
        response: &Response,
    ) -> Result<Zeroizing<Vec<u64>>> {
        operation("read_shuffled", || {
            self.check(pending, response)?;
            if !response.shuffled {
                let reason = "its values are in order: read gives them";
                return Err(error::wrong_response(reason));
            }
            // A shuffled response has one value for each point, equal points included.
            if response.values != pending.values.len() {
                let reason = "it has not one value for each point";
                return Err(error::wrong_response(reason));
            }
            response.decrypt(&self.secret)
        })
    }

    /// Checks that the response answers this query of this client.
    fn check(&self, pending: &Pending, response: &Response) -> Result<()> {
        if pending.id == response.id && pending.key == self.secret.id() {
            return Ok(());
        }
        Err(error::wrong_response("it answers another query"))
    }
}

/// The contents of one ciphertext.
struct Part {
    /// The indices of its selections.
    selections: std::ops::Range<usize>,
    /// The first entry of each that this ciphertext covers.
    first: usize,
    /// Coefficients of each.
    width: usize,
}

impl Part {
    /// All ones at the selected coefficients, zeros elsewhere. Every coefficient is compared, so
    /// that memory accesses do not depend on the selections.
    fn ones(&self, selections: &[usize], degree: usize) -> Vec<u64> {
        let mut ones = vec![0; degree];
        let chosen = &selections[self.selections.clone()];
        for (places, &entry) in ones.chunks_mut(self.width).zip(chosen) {
            let place = entry.wrapping_sub(self.first);
            places.iter_mut().enumerate().for_each(|(i, x)| *x = same(i, place));
        }
        ones
    }
}

/// The contents of the ciphertexts of a query, in order.
fn parts(shape: &Shape, degree: usize) -> Vec<Part> {
    match shape.form() {
        QueryLayout::Paper => {
            // Point by point, variable by variable: one ciphertext for each block of the domain.
            let variables = shape.domains().len();
            let of_point = |point: usize| {
                shape.domains().iter().enumerate().flat_map(move |(variable, &domain)| {
                    let at = point * variables + variable;
                    let blocks = (0..domain).step_by(degree);
                    blocks.map(move |first| Part { selections: at..at + 1, first, width: degree })
                })
            };
            (0..shape.points()).flat_map(of_point).collect()
        }
        QueryLayout::Compact => {
            // As many buckets per ciphertext as fit, or several ciphertexts for one large bucket.
            let (values, together) = (shape.values(), shape.together());
            let width = shape.entries().min(degree);
            let groups = (0..values).step_by(together);
            groups
                .flat_map(|from| {
                    let selections = from..(from + together).min(values);
                    let blocks = (0..shape.entries()).step_by(degree);
                    blocks.map(move |first| Part { selections: selections.clone(), first, width })
                })
                .collect()
        }
    }
}

/// Checks that all points lie in the domain.
pub(crate) fn check_points(points: &[usize], domain: usize) -> Result<()> {
    let count = points.len();
    let mut places = points.iter().enumerate();
    places.try_for_each(|(index, &point)| check_point(index, count, point, domain))
}

/// Checks that one of `count` points lies in the domain.
fn check_point(index: usize, count: usize, point: usize, domain: usize) -> Result<()> {
    if point < domain {
        return Ok(());
    }
    Err(error::point_outside(index, count, domain))
}
