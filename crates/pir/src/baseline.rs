//! The split-domain method, on which ring packing improves, as a slow reference: results in the
//! exponent, one key switch for each coefficient (Iliashenko, Izabachene, Mertens and Pereira,
//! "Homomorphically counting elements with the same property", PoPETs 2022, as reviewed in section
//! 4.2.1 of the paper).
//!
//! From an encryption of `X^i` the server computes one of `X^f(i)`. It writes the ciphertext as `N`
//! LWE ciphertexts, one for each coefficient, and sums those of all `x` with `f(x) = y` for each
//! `y`. The results are not the coefficients of a ring ciphertext. Mask entry `k` of all `y`
//! together is a polynomial `A_k(X) = sum_y A_yk X^y`, and `N` keys, one for each coefficient `s_k`
//! of the secret, switch `sum_k A_k s_k` back to a ring ciphertext. The sum of the results of
//! several points counts how often each value occurs.
//!
//! In comparison, Algorithm 1 has `log2 N` keys in place of `N`, one key switch per point in place
//! of `N`, and values below `t` in place of values below `N`.

use bellerophon_mlwe::KeyId;
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{
    DigitGadget, Error, Ntt, Poly, Result,
    aligned::AlignedVec,
    error::operation,
    sample::{Seed, uniform_from_seed},
    try_map,
};
use rand::CryptoRng;
use zeroize::Zeroizing;

use super::client::Client;
use super::{query::Query, query_layout::QueryLayout};
use crate::bfv::{Ciphertext, LOG2_FAILURE, NoiseBound, Params, Switching, check_key, noise};
use crate::error;

/// The `N` switching keys of the split-domain method, over one prime in digits.
#[derive(Debug, Clone)]
pub struct SplitDomainKeys {
    params: Params,
    gadget: DigitGadget,
    seed: Seed,
    /// Digit `j` of coefficient `k` is body `k d + j`: an encryption of `g_j s_k`.
    bodies: Vec<Poly<Ntt>>,
    key: KeyId,
}

impl SplitDomainKeys {
    /// Generates the keys of a client. In memory they take `16 N^2` bytes for each digit.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for parameters with special primes.
    pub fn generate<R: CryptoRng + ?Sized>(client: &Client, rng: &mut R) -> Result<Self> {
        let (params, secret) = (client.params(), client.secret());
        let Switching::Digits(gadget) = params.switching() else {
            let what = "gadget";
            let (found, needed) = ("special primes".to_string(), "digits of one prime");
            return Err(error::value(what, found, needed));
        };
        // An encryption of g_j s_k, as a constant, for every coefficient k and digit j.
        let (seed, factors) = (Seed::random(rng), gadget.factors());
        let q = params.ring().modulus(0);
        let mut bodies = Vec::with_capacity(params.degree() * factors.len());
        for &coefficient in secret.coefficients() {
            for factor in &factors {
                let message = Zeroizing::new(q.mul(*factor, q.from_i64(coefficient)));
                let scaled = |_: usize, _: &_, i: usize| if i == 0 { *message } else { 0 };
                bodies.push(secret.body(&seed, bodies.len() as u64, rng, scaled).0);
            }
        }
        Ok(Self { params: params.clone(), gadget: *gadget, seed, bodies, key: secret.id() })
    }

    /// Bytes with residues packed to the bits of their primes, the seed included.
    pub fn byte_len(&self) -> usize {
        self.seed.0.len() + self.bodies.len() * self.params.packed_len(self.params.ring())
    }

    /// Counts, modulo `t`, how often each value of `function` occurs at the points of a query in
    /// the paper's layout: an encryption of `sum X^f(x)`. `function` is a table of numbers below
    /// `N` for a domain of at most `N` points.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for a compact query or a domain above `N`; [`ErrorKind::Noise`] for
    /// more points than the noise allows.
    pub fn count(&self, function: &[usize], query: &Query) -> Result<Ciphertext> {
        operation("count", || {
            // Step 1: all checks, before any work.
            let params = &self.params;
            let n = params.degree();
            params.check(query.fingerprint)?;
            check_key(query.key, self.key)?;
            if query.shape().form() != QueryLayout::Paper {
                return Err(error::query_layout(query.shape().form(), QueryLayout::Paper));
            }
            let domains = query.shape().domains();
            if domains.len() != 1 || domains[0] > n || function.len() != domains[0] {
                let needed = format!("one table of the query's domain, of at most {n} points");
                return Err(error::shape("size of a table", function.len(), needed));
            }
            if let Some(&found) = function.iter().find(|&&value| value >= n) {
                let needed = format!("below the degree {n}");
                return Err(error::shape("value of a table", found, needed));
            }
            let points: Vec<usize> = (0..query.bodies.len()).collect();
            let log2_failure = noise::log2_failure(params, self.noise(points.len()));
            if log2_failure > LOG2_FAILURE {
                return Err(error::noise(log2_failure, LOG2_FAILURE));
            }
            // Step 2: X^f(x) for every point, and their sum.
            let results = try_map(&points, |&i| Ok::<_, Error>(self.exponent(function, query, i)))?;
            let (ring, mut results) = (params.ring(), results.into_iter());
            let [mut b, mut a] = results.next().ok_or_else(error::no_rows)?;
            for [body, mask] in results {
                ring.add_assign(&mut b, &body);
                ring.add_assign(&mut a, &mask);
            }
            Ok(query.ciphertext(b, a, NoiseBound::of(self.noise(points.len()))))
        })
    }

    /// Bound on the variance of a count over `points` points, for any function:
    ///
    /// ```text
    /// points (N sigma^2 + N^2 sigma^2 sum_j E[digit_j^2] + |s|^2 2^(2r) / 12) + (points / 2)^2.
    /// ```
    ///
    /// The first term is the sum of bodies, all `N` of them if the function is constant. The second
    /// is the noise of `N` key switches of masks that have as many coefficients as the function has
    /// values. The third is the effect of the `r` bits that digits drop, each times one coefficient
    /// of the secret. The last is the rounding error of the encryption. The second term dominates;
    /// it is reached if no value occurs twice.
    pub(crate) fn noise(&self, points: usize) -> f64 {
        let (params, n, points) = (&self.params, self.params.degree() as f64, points as f64);
        let switches = n * noise::products_of_digits(params, &self.gadget);
        let added = n * noise::fresh(params) + switches + noise::dropped_bits(params, &self.gadget);
        points * added + (points / 2.0).powi(2)
    }

    /// An encryption of `X^f(x)` from one of `X^x`.
    fn exponent(&self, function: &[usize], query: &Query, i: usize) -> [Poly<Ntt>; 2] {
        let (ring, n) = (self.params.ring(), self.params.degree());
        let (table, q) = (ring.table(0), ring.modulus(0));
        let Ciphertext { b, a, .. } = query.row(&self.params, i);
        let (b, a) = (ring.inverse(b), ring.inverse(a));
        let (b, a) = (b.limb(0), a.limb(0));
        // Step 1: A_k for every k, and the bodies, summed over all x with f(x) = y.
        let mut masks = AlignedVec::zeroed(n * n);
        let mut body = ring.zero();
        for (x, &y) in function.iter().enumerate() {
            let sum = &mut body.limb_mut(0)[y];
            *sum = q.add(*sum, b[x]);
            for k in 0..n {
                // Coefficient x of a X^k, since X^N = -1.
                let entry = if k <= x { a[x - k] } else { q.neg(a[n + x - k]) };
                let sum = &mut masks[k * n + y];
                *sum = q.add(*sum, entry);
            }
        }
        // Step 2: sum_k A_k s_k by N key switches in digits.
        let mut out = [ring.forward(body), ring.zero()];
        let count = self.gadget.digits();
        let mut digits = AlignedVec::zeroed(n * count);
        for (k, mask) in masks.chunks_exact(n).enumerate() {
            table.signed_digits(&self.gadget, mask, &mut digits);
            for (j, digit) in digits.chunks_exact_mut(n).enumerate() {
                table.forward(digit);
                let row = k * count + j;
                let key = uniform_from_seed(ring, &self.seed, row as u64);
                let mut product = ring.zero();
                for (out, key) in out.iter_mut().zip([&self.bodies[row], &key]) {
                    table.sum_of_products(product.limb_mut(0), &[(digit, key.limb(0))]);
                    ring.add_assign(out, &product);
                }
            }
        }
        out
    }
}

impl Client {
    /// How often each number below `N` occurs, modulo `t`, from [`SplitDomainKeys::count`].
    pub fn read_counts(&self, counts: &Ciphertext) -> Result<Zeroizing<Vec<u64>>> {
        self.secret().decrypt(counts)
    }
}
