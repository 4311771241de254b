//! The dual model: an encrypted function and plain points (section 5 of the paper, last paragraph
//! but one).

use bellerophon_mlwe::KeyId;
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{
    Ntt, Poly, Result,
    error::operation,
    sample::{Seed, uniform_from_seed},
    wire::Fingerprint,
};
use rand::{CryptoRng, RngExt};
use zeroize::Zeroizing;

use super::client::{Client, check_points};
use super::function::{Function, selector};
use super::query::MAX_POINTS;
use super::response::Response;
use super::server::Server;
use crate::bfv::{Ciphertext, LOG2_FAILURE, NoiseBound, check_key, noise};
use crate::error;

/// A function of one variable, encrypted block by block by the holder of the secret: ciphertexts of
/// `u_f` in place of `X^i`.
#[derive(Debug, Clone, PartialEq)]
pub struct EncryptedFunction {
    pub(crate) id: u128,
    pub(crate) domain: usize,
    pub(crate) seed: Seed,
    pub(crate) bodies: Vec<Poly<Ntt>>,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) key: KeyId,
}

impl EncryptedFunction {
    pub(crate) fn id(&self) -> u128 {
        self.id
    }
}

impl Client {
    /// Encrypts a function of one variable: `ceil(D / N)` ciphertexts, which reveal only the size
    /// of the domain.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for a function of several variables.
    pub fn encrypt_function<R: CryptoRng + ?Sized>(
        &self,
        function: &Function,
        rng: &mut R,
    ) -> Result<EncryptedFunction> {
        operation("encrypt_function", || {
            let params = self.params();
            function.check(params)?;
            let [table] = function.tables() else {
                let (what, found, needed) =
                    ("number of tables", function.tables().len(), "1".into());
                return Err(error::shape(what, found, needed));
            };
            // Block by block: u_f modulo t, scaled by Q / t; the stream of a mask is the index of
            // its block.
            let seed = Seed::random(rng);
            let (scale, t) = (params.scale(), params.plain() as i64);
            let body = |(stream, block): (usize, &[i64])| {
                let selector = Zeroizing::new(selector(params, 0, block));
                let scaled = |limb: usize, q: &bellerophon_ring::Modulus, i: usize| {
                    scale.apply(limb, q, (selector[i] + (t & (selector[i] >> 63))) as u64)
                };
                self.secret().body(&seed, stream as u64, rng, scaled).0
            };
            let bodies = table.chunks(params.degree()).enumerate().map(body).collect();
            let (fingerprint, key) = (params.fingerprint(), self.secret().id());
            Ok(EncryptedFunction {
                id: rng.random(),
                domain: table.len(),
                seed,
                bodies,
                fingerprint,
                key,
            })
        })
    }

    /// Reads the values of an encrypted function at `points` plain points, in the order of the
    /// points ([`Server::evaluate_encrypted`](super::Server::evaluate_encrypted)).
    ///
    /// # Errors
    /// [`ErrorKind::Bytes`] for a response of another function or another number of points.
    pub fn read_encrypted(
        &self,
        function: &EncryptedFunction,
        points: usize,
        response: &Response,
    ) -> Result<Zeroizing<Vec<u64>>> {
        operation("read_encrypted", || {
            // The response names the function, since no query belongs to it.
            if response.id != function.id() {
                let reason = "it is one of another function";
                return Err(error::wrong_response(reason));
            }
            if response.values != points {
                let reason = "it has not one value for each point";
                return Err(error::wrong_response(reason));
            }
            response.decrypt(self.secret())
        })
    }
}

impl Server {
    /// Evaluates an encrypted function at plain points: products with monomials, which add no
    /// noise, are packed. The holder of the secret reads the values with
    /// [`Client::read_encrypted`](super::Client::read_encrypted), in the order of the points. A
    /// response does not say which points it is for: the two sides agree on them.
    ///
    /// # Errors
    /// [`ErrorKind::TooManyValues`] for more than `2^16` points; [`ErrorKind::Noise`] if a value
    /// could be wrong with a probability above `2^-40`.
    pub fn evaluate_encrypted(
        &self,
        function: &EncryptedFunction,
        points: &[usize],
    ) -> Result<Response> {
        operation("evaluate_encrypted", || {
            // Step 1: all checks, before any work.
            let params = self.params();
            params.check(function.fingerprint)?;
            check_key(function.key, self.key())?;
            if points.is_empty() || points.len() > MAX_POINTS {
                return Err(error::too_many_points(points.len(), MAX_POINTS));
            }
            check_points(points, function.domain)?;
            let variance = self.packing_noise(noise::fresh(params))?;
            let log2_failure = noise::log2_failure(params, variance);
            if log2_failure > LOG2_FAILURE {
                return Err(error::noise(log2_failure, LOG2_FAILURE));
            }
            // Step 2: masks, once for all points of a block.
            let masks: Vec<_> = (0..function.bodies.len() as u64)
                .map(|i| uniform_from_seed(params.ring(), &function.seed, i))
                .collect();
            let (fingerprint, key) = (function.fingerprint, function.key);
            let noise = NoiseBound::fresh(params);
            // Step 3: X^i u_f has f(i) as its constant coefficient; Algorithm 1 packs those.
            let packed = self.pack(points, |point| {
                let (block, place) = (point / params.degree(), point % params.degree());
                let (b, a) = (function.bodies[block].clone(), masks[block].clone());
                let mut value = Ciphertext { b, a, noise, fingerprint, key };
                value.mul_monomial_assign(params, place)?;
                Ok(value)
            })?;
            self.respond_with(function.id, points.len(), packed, variance)
        })
    }
}
