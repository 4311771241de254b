//! Responses: packed values, truncated to the bits that decryption needs.

use bellerophon_mlwe::KeyId;
use bellerophon_ring::{Modulus, Result, wire::Fingerprint};
use zeroize::Zeroizing;

use super::query::Shape;
use crate::bfv::{Ciphertext, Params, SecretKey, check_key, noise};
use crate::error;

/// `log2` of the probability of a wrong value that truncation may cause.
const LOG2_TRUNCATED: f64 = -64.0;

/// The fewest bits that truncation leaves of a coefficient of the body and one of the mask
/// together. In memory the two take 16 bytes, so a reader allocates at most four times what it
/// receives.
const LEFT: u32 = 32;

/// The most bits that may be dropped from a coefficient of the body and one of the mask together.
pub(crate) fn most_cut(params: &Params) -> u32 {
    (2 * params.ring().modulus(0).bits()).saturating_sub(LEFT)
}

/// Packed values: ring ciphertexts modulo the first prime, in coefficient form. Their lowest bits
/// may have been dropped.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    pub(crate) id: u128,
    pub(crate) values: usize,
    pub(crate) shuffled: bool,
    /// Bodies and masks, divided by `2^drop` and rounded.
    pub(crate) parts: Vec<[Vec<u64>; 2]>,
    /// Bits dropped from bodies and from masks.
    pub(crate) drop: [u32; 2],
    /// Bound on the variance of the noise, over all tables.
    pub(crate) variance: f64,
    /// Factor of the variance in the probability of failure: 4 where flooding takes half of the
    /// threshold, 1 otherwise.
    pub(crate) weight: f64,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) key: KeyId,
}

impl Response {
    /// The response of these packed ciphertexts of one limb.
    pub(crate) fn new(
        params: &Params,
        id: u128,
        values: usize,
        parts: Vec<Ciphertext>,
        variance: f64,
    ) -> Result<Self> {
        let first = parts.first().ok_or_else(error::no_rows)?;
        let (fingerprint, key) = (first.fingerprint, first.key);
        // Truncation drops low bits, which needs coefficients.
        let ring = params.ring().at_limbs(1);
        let coefficients = |poly| ring.inverse(poly).limb(0).to_vec();
        let parts = parts.into_iter().map(|ct| [coefficients(ct.b), coefficients(ct.a)]).collect();
        let (shuffled, drop, weight) = (false, [0; 2], 1.0);
        Ok(Self { id, values, shuffled, parts, drop, variance, weight, fingerprint, key })
    }

    /// The same response without the lowest bits, which decryption does not need (section 5 of the
    /// paper, last paragraph). Bits are dropped from the masks first, then from the bodies, as long
    /// as a value stays right with a probability of `1 - 2^-64` for any table. At least 32 bits of
    /// the two together are left. The numbers of bits depend only on the shape of the query.
    pub fn truncated(mut self, params: &Params) -> Result<Self> {
        params.check(self.fingerprint)?;
        if self.drop != [0; 2] {
            return Ok(self);
        }
        let bits = params.ring().modulus(0).bits();
        let fits = |body, mask, slack: f64| {
            let variance = self.variance + noise::truncation(params, body, mask);
            noise::log2_failure(params, self.weight * variance) <= LOG2_TRUNCATED - slack
        };
        // Step 1: how many bits can go. Four bits of the exponent are reserved for the bodies.
        let most = most_cut(params);
        let mask = (0..bits.min(most + 1)).rev().find(|&mask| fits(0, mask, 4.0)).unwrap_or(0);
        let bodies = 0..bits.min(most - mask + 1);
        let body = bodies.rev().find(|&body| fits(body, mask, 0.0)).unwrap_or(0);
        // Step 2: drop them.
        self.variance += noise::truncation(params, body, mask);
        self.drop = [body, mask];
        let q = params.ring().modulus(0);
        for polys in &mut self.parts {
            for (poly, drop) in polys.iter_mut().zip(self.drop) {
                poly.iter_mut().for_each(|x| *x = cut(q, *x, drop));
            }
        }
        Ok(self)
    }

    /// The number of ring ciphertexts.
    pub fn ciphertexts(&self) -> usize {
        self.parts.len()
    }

    /// `log2` of a bound on the probability that one value is wrong, over all tables.
    pub fn log2_failure(&self, params: &Params) -> f64 {
        noise::log2_failure(params, self.weight * self.variance)
    }

    /// Bytes with coefficients packed to their remaining bits, for the parameters of this response.
    pub fn byte_len(&self, params: &Params) -> usize {
        let bits = params.ring().modulus(0).bits();
        let poly = |drop: u32| (params.degree() * bits.saturating_sub(drop) as usize).div_ceil(8);
        self.parts.len() * (poly(self.drop[0]) + poly(self.drop[1]))
    }

    /// All values in order.
    pub(crate) fn decrypt(&self, secret: &SecretKey) -> Result<Zeroizing<Vec<u64>>> {
        let params = secret.params();
        params.check(self.fingerprint)?;
        check_key(self.key, secret.id())?;
        let (ring, degree) = (params.ring().at_limbs(1), params.degree());
        let q = ring.modulus(0);
        // Step 1: the plaintexts of all ciphertexts.
        let mut parts = Vec::new();
        for polys in &self.parts {
            let [b, a] = [0, 1].map(|i| {
                let mut poly = ring.zero();
                for (out, &x) in poly.limb_mut(0).iter_mut().zip(&polys[i]) {
                    *out = q.reduce(x << self.drop[i]);
                }
                ring.forward(poly)
            });
            parts.push(secret.round_phase(b, &a));
        }
        // Step 2: the values, from their positions.
        let value = |i| {
            let (part, place) = Shape::response_place(self.values, degree, i);
            parts.get(part).map(|part| part[place])
        };
        let values: Option<Vec<u64>> = (0..self.values).map(value).collect();
        values.map(Zeroizing::new).ok_or_else(|| error::wrong_response("it is too short"))
    }
}

/// `x / 2^drop`, rounded. A value that rounds up to `q` becomes 0.
fn cut(q: &Modulus, x: u64, drop: u32) -> u64 {
    let rounded = (x + ((1u64 << drop) >> 1)) >> drop;
    if rounded << drop >= q.value() { 0 } else { rounded }
}
