//! ModRaise and a matrix in one key switch that takes no prime of the chain: level-conserving
//! rescaling with aggregated keys (eprint 2025/1403).
//!
//! The matrix is a sum of automorphisms `sigma_k`, each multiplied by a real polynomial `m_k`. A
//! ciphertext `(b, a)` modulo `q_0` under the sparse secret `s'` has the phase `b + a s'` over the
//! integers. Its image is
//!
//! ```text
//! sum_k m_k sigma_k(b + a s') = sum_k m_k sigma_k(b) + sum_k sigma_k(a) m_k sigma_k(s').
//! ```
//!
//! The factors are rounded at a scale that the special primes hold, not at that of a prime of the
//! chain: `M_k = round(m_k P' / C)` with `C = floor(P' / 2^f)`, where `P'` is a product of the
//! first special primes. The rows of the key encrypt the whole second product,
//!
//! ```text
//! row_k = (-<a_k, s> + e_k + C M_k sigma_k(s'), a_k)   modulo Q P',
//! ```
//!
//! so that `(sum_k C M_k sigma_k(b), 0) + sum_k sigma_k(a) row_k` is `P'` times the image. One
//! mod-down by `P'` completes it at the top of the chain. The coefficients of `a` are below
//! `q_0 / 2`: they need no digits, and few special primes suffice. `sum_k M_k sigma_k(b)` is an
//! integer polynomial far below `Q`: it is computed modulo few primes and converted.
//!
//! The rows are key switches from `s'` at the same time: the sparse secret is the message of the
//! key, as in [`ModRaiseKey`](crate::ModRaiseKey). A key serves one matrix; its fingerprint names
//! the matrix.

use std::sync::Arc;

use bellerophon_ring::error::ensure;
use bellerophon_ring::{
    Automorphism, BaseConverter, During, ModDown, Ntt, PackedPoly, Poly, Result, Ring,
    sample::{Seed, uniform_from_seed},
    wire::Fingerprint,
};
use num_traits::ToPrimitive;
use rand::CryptoRng;
use zeroize::Zeroizing;

use crate::ciphertext::{Ciphertext, packed_len};
use crate::encrypt::{SEED_BYTES, error_poly, sub_product};
use crate::key_id::KeyIdent;
use crate::keyswitch::check_end;
use crate::params::{Params, check_primes};
use crate::secret::SecretKey;
use crate::{error, noise};

/// `f`: the largest `log2` of the scale of the rounded factors. Coefficients stay below `2^61` for
/// factors up to 8.
const LOG_SCALE: u32 = 58;

/// The largest share of one rounding in the noise of a key, where the special primes suffice.
const SHARE: f64 = 1.0 / 16.0;

/// A term of the matrix: an automorphism and the index of the polynomial that multiplies the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RaiseTerm {
    /// The exponent of the automorphism, odd.
    pub exponent: usize,
    /// The index of the polynomial.
    pub factor: usize,
}

/// A matrix prepared for [`apply`](Self::apply). Clones share it.
#[derive(Clone)]
pub struct RaiseTransform(Arc<Inner>);

struct Inner {
    params: Params,
    /// `q_0..q_L`, then the special primes of `P'`.
    ring: Ring,
    down: ModDown,
    /// `C` modulo every prime of the ring.
    factor: Vec<u64>,
    terms: Vec<(Automorphism, usize)>,
    /// The coefficients of the `M_k`.
    matrix: Vec<Vec<i64>>,
    /// The first primes of the chain, which hold `sum_k M_k sigma_k(b)`.
    exact: Ring,
    /// The `M_k` modulo these primes.
    encoded: Vec<PackedPoly>,
    /// From these primes to the others of the ring.
    extension: BaseConverter,
    /// `f`.
    log_scale: u32,
    noise: f64,
    fingerprint: Fingerprint,
}

/// Prints the shape only.
impl std::fmt::Debug for RaiseTransform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RaiseTransform")
            .field("terms", &self.0.terms.len())
            .field("primes", &self.0.ring.limbs())
            .finish_non_exhaustive()
    }
}

impl RaiseTransform {
    /// Prepares the matrix `sum_k m_k sigma_k`. `encode` returns the coefficients of the
    /// polynomials `m_k`, `N` each, multiplied by the given scale and rounded, of magnitude below
    /// `2^62`. `name` identifies the matrix: the same words for the same matrix on every machine,
    /// also where roundings differ in the last bit.
    pub fn new(
        params: &Params,
        terms: &[RaiseTerm],
        name: &[u64],
        encode: impl FnOnce(f64) -> Vec<Vec<i64>>,
    ) -> Result<Self> {
        ensure(!terms.is_empty(), error::empty)?;
        // Step 1: P', and C = floor(P' / 2^f).
        let special = special_primes(params, terms.len());
        let p = params.p().at_limbs(special);
        let log_scale = LOG_SCALE.min(p.log2_modulus() as u32 - 1);
        let product = p.big_modulus();
        let factor = &product >> log_scale;
        // P' / C = 2^f (1 + r / C) with r = (P' - 2^f C) / 2^f below 1.
        let rest = (&product - (&factor << log_scale)).to_f64().unwrap_or(0.0);
        let scale = f64::from(log_scale).exp2();
        let scale = scale + rest / factor.to_f64().unwrap_or(f64::INFINITY);

        // Step 2: the polynomials at the scale P' / C.
        let matrix = encode(scale);
        check_factors(params, terms, &matrix)?;

        // Step 3: primes that hold the sum of products with b.
        let limbs = exact_limbs(params, terms, &matrix)?;
        let exact = params.q().at_limbs(limbs);
        let ring = params.q().join(&p)?;
        let encode = |m: &Vec<i64>| PackedPoly::new(&exact, &exact.forward(exact.from_signed(m)));
        let encoded = matrix.iter().map(encode).collect();
        let extension = BaseConverter::new(&exact, &ring.slice(limbs..ring.limbs()))?;

        // Step 4: the automorphisms, C modulo every prime, and the fingerprint.
        let maps = terms.iter().map(|term| Ok((ring.automorphism(term.exponent)?, term.factor)));
        let residue = |q: u64| (&factor % q).to_u64().expect("below a word");
        let factor = ring.moduli().map(|q| residue(q.value())).collect();
        let pairs = terms.iter().flat_map(|t| [t.exponent as u64, t.factor as u64]);
        let words = [special as u64, u64::from(log_scale), terms.len() as u64].into_iter();
        let words = words.chain(pairs).chain(name.iter().copied());
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        let bytes = [params.fingerprint().as_bytes().as_slice(), &bytes].concat();
        Ok(Self(Arc::new(Inner {
            down: ModDown::new(params.q(), &p)?,
            factor,
            terms: maps.collect::<Result<_>>()?,
            matrix,
            exact,
            encoded,
            extension,
            log_scale,
            noise: products(params, special, terms.len()) + noise::rounding(params),
            fingerprint: Fingerprint::of_bytes(
                "bellerophon 2026-11-26 matrix of a mod raise",
                &bytes,
            ),
            ring,
            params: params.clone(),
        })))
    }

    /// The parameters of the result.
    pub fn params(&self) -> &Params {
        &self.0.params
    }

    /// Number of terms: rows of a key.
    pub fn terms(&self) -> usize {
        self.0.terms.len()
    }

    /// The ring of the rows of a key: all primes of the chain and the special primes of `P'`.
    pub fn ring(&self) -> &Ring {
        &self.0.ring
    }

    /// Identity of the matrix and the parameters.
    pub fn fingerprint(&self) -> Fingerprint {
        self.0.fingerprint
    }

    /// `log2` of the scale at which the factors are rounded.
    pub fn log2_scale(&self) -> f64 {
        f64::from(self.0.log_scale)
    }

    /// The variance of the noise of [`apply`](Self::apply) by the key and the mod-down:
    /// `K N sigma^2 (q_0 / P')^2 / 12 + (|s|^2 + 1) / 12` for `K` terms. The rounding of the
    /// factors is an error of the matrix and not included.
    pub fn noise(&self) -> f64 {
        self.0.noise
    }

    /// `sum_k m_k sigma_k` of the phase of a ciphertext of one limb over the integers, modulo `Q`
    /// under the target of the key, with noise of variance [`noise`](Self::noise).
    pub fn apply(&self, key: &RaiseTransformKey, ct: &Ciphertext) -> Result<Ciphertext> {
        let Inner { params, ring, exact, .. } = &*self.0;
        let mask = self.check(key, ct).during("RaiseTransform::apply")?;
        // Step 1: the centred integer coefficients of b and a.
        let (q0, lowest) = (params.q().modulus(0), params.q().at_limbs(1));
        let integers = |poly: &Poly<Ntt>| -> Vec<i64> {
            lowest.inverse(poly.clone()).limb(0).iter().map(|&x| q0.center(x)).collect()
        };
        let maps: Vec<&Automorphism> = self.0.terms.iter().map(|(map, _)| map).collect();
        // Step 2: C sum_k M_k sigma_k(b), modulo few primes and then modulo all.
        let body = exact.forward(exact.from_signed(&integers(ct.b())));
        let factors = self.0.terms.iter().map(|&(_, factor)| &self.0.encoded[factor]).collect();
        let sum = exact.sums_of_images(&body, &maps, &[factors]).swap_remove(0);
        let mut body = self.extended(sum);
        ring.mul_residues_assign(&mut body, &self.0.factor);
        // Step 3: sum_k sigma_k(a) row_k.
        let mask = ring.forward(ring.from_signed(&integers(mask)));
        let mut columns = ring.sums_of_images(&mask, &maps, &key.columns());
        ring.add_assign(&mut columns[0], &body);
        // Step 4: divide by P'.
        let columns = columns.into_iter().map(|column| self.0.down.apply(column)).collect();
        Ok(Ciphertext::of_columns(columns, key.to))
    }

    /// The one mask of a ciphertext of one limb. Fails unless matrix and source are those of the
    /// key.
    fn check<'a>(&self, key: &RaiseTransformKey, ct: &'a Ciphertext) -> Result<&'a Poly<Ntt>> {
        key.check_matrix(self)?;
        check_end(ct.ident(), key.from)?;
        ensure(ct.limbs() == 1, || error::limbs(ct.limbs(), "1".into()))?;
        match ct.masks() {
            [mask] => Ok(mask),
            masks => Err(error::rank(masks.len(), 1)),
        }
    }

    /// An integer polynomial below the exact primes, modulo all primes of the ring.
    fn extended(&self, sum: Poly<Ntt>) -> Poly<Ntt> {
        let Inner { ring, exact, extension, .. } = &*self.0;
        let rest = ring.slice(exact.limbs()..ring.limbs());
        let others = rest.forward(extension.convert_centered(&exact.inverse(sum.clone())));
        // The exact primes come first.
        let mut out = Poly::zero(ring.degree(), ring.limbs());
        let (low, high) = out.data_mut().split_at_mut(sum.data().len());
        low.copy_from_slice(sum.data());
        high.copy_from_slice(others.data());
        out
    }
}

/// Fails unless every term has a polynomial of the degree of the parameters.
fn check_factors(params: &Params, terms: &[RaiseTerm], matrix: &[Vec<i64>]) -> Result<()> {
    let degree = params.degree();
    for term in terms {
        let length = matrix.get(term.factor).map_or(0, Vec::len);
        if length != degree {
            return Err(error::parameter(
                "factor of a term of a mod raise",
                format!("polynomial {} of {length} coefficients", term.factor),
                format!("one of {degree} coefficients"),
            ));
        }
    }
    Ok(())
}

/// The number of primes that hold `sum_k M_k sigma_k(b)`. A coefficient of a product is at most
/// `|M_k|_2 |b|_2`, and `|b|_2` at most `sqrt(N) q_0 / 2`.
fn exact_limbs(params: &Params, terms: &[RaiseTerm], matrix: &[Vec<i64>]) -> Result<usize> {
    let length = |m: &Vec<i64>| m.iter().map(|&x| (x as f64).powi(2)).sum::<f64>().sqrt();
    let lengths: Vec<f64> = matrix.iter().map(length).collect();
    let sum: f64 = terms.iter().map(|term| lengths[term.factor]).sum();
    let q0 = params.q().modulus(0).value() as f64;
    // One bit for the sign, one for the floating-point quotient of the conversion.
    let needed = (sum * (params.degree() as f64).sqrt() * q0 / 2.0).max(1.0).log2() + 2.0;
    let most = params.limbs().min(BaseConverter::MAX_SOURCES);
    let fits = (1..=most).find(|&limbs| params.q().at_limbs(limbs).log2_modulus() > needed);
    fits.ok_or_else(|| {
        let needed = format!("primes of {needed:.1} bits together");
        error::limbs(params.limbs(), needed)
    })
}

/// The least number of special primes with which a key of `terms` rows adds little noise beside the
/// rounding and the scale of the factors is the largest; all of them if they do not suffice.
fn special_primes(params: &Params, terms: usize) -> usize {
    let all = params.p().limbs();
    let suffices = |special: &usize| {
        params.p().at_limbs(*special).log2_modulus() > f64::from(LOG_SCALE + 1)
            && products(params, *special, terms) <= noise::rounding(params) * SHARE
    };
    (1..all).find(suffices).unwrap_or(all)
}

/// `K N sigma^2 (q_0 / P')^2 / 12`.
fn products(params: &Params, special: usize, terms: usize) -> f64 {
    let ratio = params.q().modulus(0).log2() - params.p().at_limbs(special).log2_modulus();
    (terms * params.degree()) as f64 * params.spec().sigma.powi(2) * (2.0 * ratio).exp2() / 12.0
}

/// The key of a [`RaiseTransform`]: from the sparse secret at `q_0` to the secret at the top of the
/// chain, one row for each term of the matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct RaiseTransformKey {
    from: KeyIdent,
    to: KeyIdent,
    matrix: Fingerprint,
    seed: Seed,
    /// One body for each term, over [`RaiseTransform::ring`].
    b: Vec<PackedPoly>,
    /// By component of the target: mask `c` of row `k` is stream `k * rank + c` of the seed.
    a: Vec<Vec<PackedPoly>>,
}

impl RaiseTransformKey {
    /// Generates the key of a matrix from a secret of rank 1 at `q_0`.
    pub fn generate<R: CryptoRng + ?Sized>(
        transform: &RaiseTransform,
        from: &SecretKey,
        to: &SecretKey,
        rng: &mut R,
    ) -> Result<Self> {
        let Inner { params, ring, factor, terms, matrix, .. } = &*transform.0;
        // Step 1: the source has rank 1, the degree and the first prime of the target.
        params.check(to.params().fingerprint())?;
        let source = from.params();
        if source.degree() != params.degree() {
            let (found, needed) = (source.degree(), params.degree());
            return Err(error::degree(found, needed));
        }
        check_primes(source, params, 1)?;
        ensure(source.rank() == 1, || error::rank(source.rank(), 1))?;
        // Step 2: both secrets modulo Q P'.
        let sparse = Zeroizing::new(ring.forward(ring.from_signed(from.coefficients(0))));
        let secrets: Vec<Zeroizing<Poly<Ntt>>> = (0..params.rank())
            .map(|c| Zeroizing::new(to.ntt(c).limb_range(0..ring.limbs())))
            .collect();
        // Step 3: row k is (-<a_k, s> + e_k + C M_k sigma_k(s'), a_k).
        let seed = Seed::random(rng);
        let b = terms
            .iter()
            .enumerate()
            .map(|(k, (map, index))| {
                let mut b = error_poly(params, ring, rng);
                for (mask, secret) in masks(params, ring, &seed, k).zip(&secrets) {
                    sub_product(ring, &mut b, mask, secret);
                }
                let mut message = Zeroizing::new(ring.apply_ntt(&sparse, map));
                let multiple = ring.forward(ring.from_signed(&matrix[*index]));
                ring.mul_assign(&mut message, &multiple);
                ring.mul_residues_assign(&mut message, factor);
                ring.add_assign(&mut b, &message);
                PackedPoly::new(ring, &b)
            })
            .collect();
        Ok(Self::of(transform, from.into(), to.into(), seed, b))
    }

    /// Assembles the bodies and expands the masks.
    fn of(
        transform: &RaiseTransform,
        from: KeyIdent,
        to: KeyIdent,
        seed: Seed,
        b: Vec<PackedPoly>,
    ) -> Self {
        let Inner { params, ring, .. } = &*transform.0;
        let mut a: Vec<Vec<PackedPoly>> = vec![Vec::with_capacity(b.len()); params.rank()];
        for k in 0..b.len() {
            for (column, mask) in a.iter_mut().zip(masks(params, ring, &seed, k)) {
                column.push(PackedPoly::new(ring, &mask));
            }
        }
        Self { from, to, matrix: transform.fingerprint(), seed, b, a }
    }

    /// Assembles parts that were read, and expands the masks.
    pub(crate) fn from_bodies(
        transform: &RaiseTransform,
        from: KeyIdent,
        to: KeyIdent,
        matrix: Fingerprint,
        seed: Seed,
        b: Vec<Poly<Ntt>>,
    ) -> Result<Self> {
        transform.params().check(to.fingerprint)?;
        if matrix != transform.fingerprint() {
            let (found, needed) = (matrix, transform.fingerprint());
            return Err(error::params_mismatch(found, needed));
        }
        // Each polynomial is dropped when it is packed.
        let b = b.into_iter().map(|body| PackedPoly::new(transform.ring(), &body)).collect();
        Ok(Self::of(transform, from, to, seed, b))
    }

    /// `Err` unless the key belongs to the matrix.
    pub(crate) fn check_matrix(&self, transform: &RaiseTransform) -> Result<()> {
        let (found, needed) = (self.matrix, transform.fingerprint());
        ensure(found == needed, || error::params_mismatch(found, needed))
    }

    /// The seed of the masks.
    pub(crate) fn seed(&self) -> &Seed {
        &self.seed
    }

    /// One body for each term.
    pub(crate) fn bodies(&self) -> &[PackedPoly] {
        &self.b
    }

    /// The secret of the input ciphertexts.
    pub fn from(&self) -> KeyIdent {
        self.from
    }

    /// The secret of the output ciphertexts.
    pub fn to(&self) -> KeyIdent {
        self.to
    }

    /// The [fingerprint](RaiseTransform::fingerprint) of the matrix.
    pub fn matrix(&self) -> Fingerprint {
        self.matrix
    }

    /// Size in bytes with residues bit-packed to the width of their primes and masks as a seed.
    pub fn seeded_byte_len(&self, transform: &RaiseTransform) -> usize {
        SEED_BYTES + self.b.len() * packed_len(transform.ring())
    }

    /// The rows by column: the bodies, then each mask.
    fn columns(&self) -> Vec<Vec<&PackedPoly>> {
        std::iter::once(&self.b).chain(&self.a).map(|column| column.iter().collect()).collect()
    }
}

/// The masks of a row, expanded from the seed.
fn masks(params: &Params, ring: &Ring, seed: &Seed, row: usize) -> impl Iterator<Item = Poly<Ntt>> {
    let streams = row * params.rank()..(row + 1) * params.rank();
    streams.map(move |stream| uniform_from_seed(ring, seed, stream as u64))
}

#[cfg(test)]
mod tests;
