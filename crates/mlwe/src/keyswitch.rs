//! The one key switch: from any secret vector of rank `r1` to any of rank `r2`.
//!
//! A switching key from `s1` in `R^r1` to `s2` in `R^r2` (DPad-HE section 3.1.1, KSGen) holds for
//! every digit `j` of the hybrid gadget and every component `i` a row modulo `P Q`
//!
//! `b_ji = -<a_ji, s2> + e_ji + P g_j s1_i`, `a_ji` uniform in `R^r2`.
//!
//! Switching `c` in `R^r1` decomposes each `c_i` into digits, takes the inner product with the rows
//! and divides by `P`: the result `(b, a)` has
//! `b + <a, s2> = <c, s1> + noise`. A key made at `limbs` limbs serves every level up to
//! `limbs - 1`; rows are stored over `q_0..q_{limbs-1}, p_0..p_{k-1}` and lower levels read the
//! limbs that they need in place.

use std::borrow::Borrow;

use bellerophon_ring::sample::{Seed, uniform_from_seed};
use bellerophon_ring::{Addend, Digits, Finish, Ntt, Poly, Ring, Row, Rows, wire::Fingerprint};
use rand::CryptoRng;
use zeroize::Zeroizing;

use crate::ciphertext::packed_len;
use crate::decomposed::Decomposed;
use crate::encrypt::{
    SEED_BYTES, check_extended, check_residues, error_poly, restrict_extended, sub_product,
};
use crate::extended::ExtendedCiphertext;
use crate::rank::check_no_weaker;
use crate::{Ciphertext, Error, KeyId, Params, Result, SecretKey};

/// Parameters (by fingerprint) and secret key (by identity) at one end of a key switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyEnd {
    /// Fingerprint of the parameters.
    pub fingerprint: Fingerprint,
    /// Identity of the secret key.
    pub key: KeyId,
}

impl From<&SecretKey> for KeyEnd {
    fn from(secret: &SecretKey) -> Self {
        Self { fingerprint: secret.fingerprint(), key: secret.id() }
    }
}

/// What a switching key is apart from its polynomials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyShape {
    /// Whose ciphertexts it takes.
    pub from: KeyEnd,
    /// Whose ciphertexts it gives; its polynomials live in these parameters.
    pub to: KeyEnd,
    /// The most limbs that an input may have.
    pub limbs: usize,
    /// Rank `r1` of the input vector.
    pub from_rank: usize,
    /// Rank `r2` of the output.
    pub to_rank: usize,
}

impl KeyShape {
    /// `Err` unless the key stays under one secret.
    pub(crate) fn check_one_secret(&self, op: &'static str) -> Result<()> {
        check_end(op, self.from, self.to)
    }
}

/// `Err` unless both ends are the same.
fn check_end(op: &'static str, found: KeyEnd, needed: KeyEnd) -> Result<()> {
    if found.fingerprint != needed.fingerprint {
        let (found, needed) = (found.fingerprint, needed.fingerprint);
        return Err(Error::ParamsMismatch { op, found, needed });
    }
    if found.key != needed.key {
        return Err(Error::KeyMismatch { op, found: found.key, needed: needed.key });
    }
    Ok(())
}

/// A switching key with its uniform part as a seed: the form that travels, less than half the size.
#[derive(Debug, Clone, PartialEq)]
pub struct SeededKeySwitchKey {
    shape: KeyShape,
    seed: Seed,
    /// `b_ji` at `j * r1 + i`.
    b: Vec<Poly<Ntt>>,
}

/// A switching key ready for use.
#[derive(Debug, Clone, PartialEq)]
pub struct KeySwitchKey {
    shape: KeyShape,
    seed: Seed,
    /// `b_ji` at `j * r1 + i`.
    b: Vec<Row>,
    /// The masks of row `j * r1 + i`; mask `c` is stream `(j * r1 + i) * r2 + c` of the seed.
    a: Vec<Vec<Row>>,
}

impl SeededKeySwitchKey {
    /// The key with its uniform part expanded; `params` are those of the output.
    pub fn expand(&self, params: &Params) -> Result<KeySwitchKey> {
        KeySwitchKey::expanded(params, self.shape, self.seed, self.b.iter().collect())
    }

    /// As [`expand`](Self::expand); the bodies go one by one, so that they are not there twice.
    pub fn into_expanded(self, params: &Params) -> Result<KeySwitchKey> {
        KeySwitchKey::expanded(params, self.shape, self.seed, self.b)
    }

    /// Shape and identities.
    pub fn shape(&self) -> &KeyShape {
        &self.shape
    }

    /// The seed of the masks.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The bodies `b_ji` at `j * r1 + i`, over `q_0..q_{limbs-1}, p_0..p_{k-1}`.
    pub fn bodies(&self) -> &[Poly<Ntt>] {
        &self.b
    }

    /// Bytes when residues are packed to the bits of their primes, seed included.
    pub fn byte_len(&self, params: &Params) -> usize {
        SEED_BYTES + self.b.len() * packed_len(params.gadget().ring(self.shape.limbs))
    }

    /// Assembles the stored parts.
    ///
    /// # Errors
    /// If the polynomials do not fit the shape and the parameters.
    pub fn from_parts(
        params: &Params,
        shape: KeyShape,
        seed: Seed,
        b: Vec<Poly<Ntt>>,
    ) -> Result<Self> {
        let op = "assemble a switching key";
        params.check(op, shape.to.fingerprint)?;
        params.check_limbs(op, shape.limbs)?;
        let rows = params.gadget().digits(shape.limbs).saturating_mul(shape.from_rank);
        if shape.to_rank != params.rank() {
            return Err(Error::Rank { op, found: shape.to_rank, needed: params.rank() });
        }
        if b.len() != rows || rows == 0 {
            return Err(Error::Rank { op, found: b.len(), needed: rows.max(1) });
        }
        for poly in &b {
            check_extended(params, op, shape.limbs, poly)?;
            check_residues(op, params.gadget().ring(shape.limbs), poly)?;
        }
        Ok(Self { shape, seed, b })
    }
}

impl KeySwitchKey {
    /// A key from the secret vector `from` to the secret key `to`, for inputs of up to `limbs`
    /// limbs.
    ///
    /// `from` holds each component in NTT form over `q_0..q_L, p_0..p_{k-1}` of the parameters of
    /// `to` (as [`SecretKey::ntt`] does); `source` says whose ciphertexts the key takes.
    ///
    /// # Errors
    /// [`Error::Empty`] for no components, [`Error::Limbs`] or [`Error::Degree`] for bad shapes.
    pub fn generate<R: CryptoRng + ?Sized>(
        from: &[&Poly<Ntt>],
        source: KeyEnd,
        to: &SecretKey,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        let target: Vec<&Poly<Ntt>> = (0..to.params().rank()).map(|i| to.ntt(i)).collect();
        Self::generate_between(to.params(), from, source, &target, to.into(), limbs, rng)
    }

    /// A key from all components of `from` to `to`, which may have another rank and other special
    /// primes, and another chain beyond the first `limbs` primes.
    ///
    /// # Errors
    /// [`Error::Degree`] for rings of different degree, [`Error::Moduli`] if the first `limbs`
    /// primes differ, [`Error::Limbs`] if there are not so many, [`Error::Parameter`] if the target
    /// asks for less security.
    pub fn between<R: CryptoRng + ?Sized>(
        from: &SecretKey,
        to: &SecretKey,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        let all = 0..from.params().rank();
        Self::between_components(from, all, to, limbs, rng)
    }

    /// As [`between`](Self::between) for some components of `from` only.
    pub(crate) fn between_components<R: CryptoRng + ?Sized>(
        from: &SecretKey,
        components: std::ops::Range<usize>,
        to: &SecretKey,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        check_chains("generate a switching key", from.params(), to.params(), limbs)?;
        // Whoever learns the target's secret learns the source's.
        check_no_weaker(from.params(), to.params())?;
        let ring = to.params().gadget().ring(to.params().limbs());
        let lifted: Vec<Zeroizing<Poly<Ntt>>> = components
            .map(|i| Zeroizing::new(ring.forward(ring.from_signed(from.coefficients(i)))))
            .collect();
        let lifted: Vec<&Poly<Ntt>> = lifted.iter().map(|poly| &**poly).collect();
        Self::generate(&lifted, from.into(), to, limbs, rng)
    }

    /// The general form: both secrets as polynomials over `q_0..q_L, p_0..p_{k-1}`.
    pub(crate) fn generate_between<R: CryptoRng + ?Sized>(
        params: &Params,
        from: &[&Poly<Ntt>],
        source: KeyEnd,
        to: &[&Poly<Ntt>],
        target: KeyEnd,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        let op = "generate a switching key";
        if from.is_empty() {
            return Err(Error::Empty { op });
        }
        params.check_limbs(op, limbs)?;
        for poly in from.iter().chain(to) {
            check_extended(params, op, params.limbs(), poly)?;
        }
        let shape =
            KeyShape { from: source, to: target, limbs, from_rank: from.len(), to_rank: to.len() };
        let restrict = |polys: &[&Poly<Ntt>]| -> Vec<Zeroizing<Poly<Ntt>>> {
            let at_level = |poly: &&Poly<Ntt>| restrict_extended(poly, limbs, params.limbs());
            polys.iter().map(|poly| Zeroizing::new(at_level(poly))).collect()
        };
        let (from, to) = (restrict(from), restrict(to));
        let (ring, gadget) = (params.gadget().ring(limbs), params.gadget());
        let seed = Seed::random(rng);
        let rows = gadget.digits(limbs) * from.len();
        let errors: Vec<_> = (0..rows).map(|_| error_poly(params, ring, rng)).collect();
        let rows = each_row(errors, |row, mut b| {
            let mut a = Vec::with_capacity(to.len());
            for (mask, secret) in masks(ring, &shape, &seed, row).zip(&to) {
                a.push(Row::new(ring, &mask));
                sub_product(ring, &mut b, mask, secret);
            }
            let mut message = from[row % from.len()].clone();
            ring.mul_residues_assign(&mut message, &gadget.factor(row / from.len(), limbs));
            ring.add_assign(&mut b, &message);
            (Row::new(ring, &b), a)
        });
        Ok(Self::of(shape, seed, rows))
    }

    /// From bodies that fit the shape.
    fn expanded<P: Borrow<Poly<Ntt>> + Send>(
        params: &Params,
        shape: KeyShape,
        seed: Seed,
        b: Vec<P>,
    ) -> Result<Self> {
        params.check("expand a switching key", shape.to.fingerprint)?;
        let ring = params.gadget().ring(shape.limbs);
        let rows = each_row(b, |row, b| {
            let masks = masks(ring, &shape, &seed, row).map(|mask| Row::new(ring, &mask));
            (Row::new(ring, b.borrow()), masks.collect())
        });
        Ok(Self::of(shape, seed, rows))
    }

    fn of(shape: KeyShape, seed: Seed, rows: Vec<(Row, Vec<Row>)>) -> Self {
        let (b, a) = rows.into_iter().unzip();
        Self { shape, seed, b, a }
    }

    /// Shape and identities.
    pub fn shape(&self) -> &KeyShape {
        &self.shape
    }

    /// The most limbs that an input may have.
    pub fn limbs(&self) -> usize {
        self.shape.limbs
    }

    /// The seed of the masks.
    pub(crate) fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The bodies `b_ji` at `j * r1 + i`.
    pub(crate) fn bodies(&self) -> &[Row] {
        &self.b
    }

    /// The form that travels.
    pub fn compress(&self) -> SeededKeySwitchKey {
        let b = self.b.iter().map(Row::unpack).collect();
        SeededKeySwitchKey { shape: self.shape, seed: self.seed, b }
    }

    /// Bytes of the seeded form when residues are packed to the bits of their primes.
    pub fn seeded_byte_len(&self, params: &Params) -> usize {
        SEED_BYTES + self.b.len() * packed_len(params.gadget().ring(self.shape.limbs))
    }

    /// Bytes of the expanded key in memory, which depend on the machine: see [`Row`].
    pub fn memory_len(&self) -> usize {
        self.b.iter().chain(self.a.iter().flatten()).map(Row::byte_len).sum()
    }

    /// Body and masks of the row of digit `j` and component `i`: an encryption of `P g_j s1_i`
    /// over `q_0..q_{limbs-1}, p_0..p_{k-1}`.
    pub fn row(&self, digit: usize, component: usize) -> (&Row, &[Row]) {
        let row = digit * self.shape.from_rank + component;
        (&self.b[row], &self.a[row])
    }

    /// The inner product of digits and rows: the switched ciphertext times `P`, modulo `P Q_l`.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::Rank`] or [`Error::Limbs`] if the digits do not fit the
    /// key.
    pub fn inner_product(
        &self,
        params: &Params,
        digits: &Decomposed,
    ) -> Result<ExtendedCiphertext> {
        Ok(self.product(&self.stored(params, digits)?))
    }

    /// As [`inner_product`](Self::inner_product) of digits that the key can switch.
    pub(crate) fn product(&self, digits: &Digits) -> ExtendedCiphertext {
        let mut columns = digits.product(&self.rows()).into_iter();
        ExtendedCiphertext {
            b: columns.next().expect("a key has bodies"),
            a: columns.collect(),
            limbs: digits.limbs(),
            fingerprint: self.shape.to.fingerprint,
            key: self.shape.to.key,
        }
    }

    /// The digits of polynomials that this key can switch, not stored.
    pub(crate) fn digits<'a>(&self, params: &'a Params, c: &'a [Poly<Ntt>]) -> Result<Digits<'a>> {
        let op = "key switch";
        params.check(op, self.shape.to.fingerprint)?;
        let limbs = c.first().map_or(0, Poly::limbs);
        self.check_digits(c.len(), limbs)?;
        for poly in c {
            params.check_poly(op, poly)?;
            if poly.limbs() != limbs {
                return Err(Error::Limbs { op, found: poly.limbs(), needed: limbs.to_string() });
            }
        }
        Ok(params.gadget().digits_of(&c.iter().collect::<Vec<_>>()))
    }

    /// Stored digits that this key can switch.
    pub(crate) fn stored<'a>(
        &self,
        params: &'a Params,
        digits: &'a Decomposed,
    ) -> Result<Digits<'a>> {
        let op = "key switch";
        params.check(op, self.shape.to.fingerprint)?;
        params.check(op, digits.fingerprint())?;
        self.check_digits(digits.rank(), digits.limbs())?;
        Ok(params.gadget().stored_digits(digits.components()))
    }

    pub(crate) fn check_digits(&self, rank: usize, limbs: usize) -> Result<()> {
        let op = "key switch";
        if rank != self.shape.from_rank {
            return Err(Error::Rank { op, found: rank, needed: self.shape.from_rank });
        }
        if limbs > self.limbs() {
            let needed = format!("at most {}, the limbs of the key,", self.limbs());
            return Err(Error::Limbs { op, found: limbs, needed });
        }
        Ok(())
    }

    pub(crate) fn rows(&self) -> Rows<'_> {
        let masks = (0..self.shape.to_rank).map(|c| self.a.iter().map(|row| &row[c]).collect());
        let columns = std::iter::once(self.b.iter().collect()).chain(masks);
        Rows { columns: columns.collect(), limbs: self.limbs() }
    }

    /// The inner product with these digits, divided and finished, as a ciphertext of the target.
    pub(crate) fn finish(&self, digits: &Digits, finish: &Finish) -> Ciphertext {
        let mut columns = digits.divided_product(&self.rows(), finish).into_iter();
        Ciphertext {
            b: columns.next().expect("a key has bodies"),
            a: columns.collect(),
            fingerprint: self.shape.to.fingerprint,
            key: self.shape.to.key,
        }
    }

    /// Switches a ciphertext of the source key to the target key: `(b, 0) + KeySwitch(a)`.
    /// `params` are those of the target.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] or [`Error::KeyMismatch`] if the ciphertext is not the source's,
    /// and those of [`key_switch`].
    pub fn switch(&self, params: &Params, ct: &Ciphertext) -> Result<Ciphertext> {
        self.check_source("key switch", ct)?;
        let finish = Finish { addends: vec![Some(Addend::Poly(&ct.b))], ..Finish::default() };
        Ok(self.finish(&self.digits(params, ct.masks())?, &finish))
    }

    /// `Err` unless the ciphertext belongs to the source of the key.
    pub(crate) fn check_source(&self, op: &'static str, ct: &Ciphertext) -> Result<()> {
        self.check_end(op, KeyEnd { fingerprint: ct.fingerprint, key: ct.key })
    }

    /// As [`check_source`](Self::check_source) for what is known of a ciphertext in another form.
    pub(crate) fn check_end(&self, op: &'static str, found: KeyEnd) -> Result<()> {
        check_end(op, found, self.shape.from)
    }
}

/// `KeySwitch(c)`: a ciphertext with phase `<c, s1> + noise` under the target of the key; `params`
/// are those of the target.
///
/// # Errors
/// [`Error::Rank`] or [`Error::Limbs`] if `c` does not fit the key.
pub fn key_switch(params: &Params, c: &[Poly<Ntt>], key: &KeySwitchKey) -> Result<Ciphertext> {
    Ok(key.finish(&key.digits(params, c)?, &Finish::default()))
}

/// As [`key_switch`] from digits that exist.
pub fn key_switch_decomposed(
    params: &Params,
    digits: &Decomposed,
    key: &KeySwitchKey,
) -> Result<Ciphertext> {
    Ok(key.finish(&key.stored(params, digits)?, &Finish::default()))
}

/// `Err` unless both chains have degree and first `limbs` primes in common.
pub(crate) fn check_chains(
    op: &'static str,
    from: &Params,
    to: &Params,
    limbs: usize,
) -> Result<()> {
    if from.degree() != to.degree() {
        return Err(Error::Degree { op, found: from.degree(), needed: to.degree() });
    }
    check_primes(op, from, to, limbs)
}

/// `Err` unless both chains begin with the same `limbs` primes.
pub(crate) fn check_primes(
    op: &'static str,
    from: &Params,
    to: &Params,
    limbs: usize,
) -> Result<()> {
    from.check_limbs(op, limbs)?;
    to.check_limbs(op, limbs)?;
    let primes = from.spec().q.iter().zip(&to.spec().q).take(limbs).enumerate();
    for (limb, (&found, &needed)) in primes {
        if found != needed {
            return Err(Error::Moduli { op, limb, found, needed });
        }
    }
    Ok(())
}

/// The uniform part of a row.
fn masks(
    ring: &Ring,
    shape: &KeyShape,
    seed: &Seed,
    row: usize,
) -> impl Iterator<Item = Poly<Ntt>> {
    let streams = row * shape.to_rank..(row + 1) * shape.to_rank;
    streams.map(move |stream| uniform_from_seed(ring, seed, stream as u64))
}

/// What `work` makes of each polynomial and its number, in any order.
fn each_row<P: Send, T: Send>(polys: Vec<P>, work: impl Fn(usize, P) -> T + Sync + Send) -> Vec<T> {
    #[cfg(feature = "parallel")]
    {
        use rayon::prelude::*;
        polys.into_par_iter().enumerate().map(|(row, poly)| work(row, poly)).collect()
    }
    #[cfg(not(feature = "parallel"))]
    polys.into_iter().enumerate().map(|(row, poly)| work(row, poly)).collect()
}

#[cfg(test)]
mod tests;
