//! The key switch: from any secret vector of rank `r1` to any secret vector of rank `r2`.
//!
//! A switching key from `s1` in `R^r1` to `s2` in `R^r2` (DPad-HE section 3.1.1, KSGen) holds one
//! row modulo `P Q` for every digit `j` of the hybrid gadget and every component `i`:
//!
//! `b_ji = -<a_ji, s2> + e_ji + P g_j s1_i`, with `a_ji` uniform in `R^r2`.
//!
//! The switch of `c` in `R^r1` decomposes each `c_i` into digits, takes the inner product of digits
//! and rows, and divides by `P`. The result `(b, a)` satisfies `b + <a, s2> = <c, s1> + noise`.
//!
//! A key generated at `limbs` limbs serves every level up to `limbs - 1`. Its rows are stored over
//! `q_0..q_{limbs-1}, p_0..p_{k-1}`. Lower levels read a subset of these limbs in place.

mod seeded;

use std::borrow::Borrow;
use std::sync::{Arc, OnceLock};

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::error::ensure;
use bellerophon_ring::{
    Addend, DecomposedRows, Digits, Epilogue, GadgetKey, KeyDecomposition, KeyRows, Modulus, Ntt,
    PackedPoly, Poly, Result, Ring,
    error::operation,
    map_items,
    sample::{Seed, uniform_from_seed},
};
use rand::CryptoRng;
use zeroize::Zeroizing;

pub use seeded::SeededKeySwitchKey;

use crate::ciphertext::Ciphertext;
use crate::ciphertext_qp::CiphertextQP;
use crate::encrypt::{check_extended, error_poly, restrict_extended, sub_product};
use crate::error;
use crate::hoisted_digits::HoistedDigits;
use crate::key_id::KeyIdent;
use crate::keyswitch_cost::Switch;
use crate::params::{Params, check_chains, check_no_weaker};
use crate::secret::SecretKey;

impl From<&SecretKey> for KeyIdent {
    fn from(secret: &SecretKey) -> Self {
        Self { fingerprint: secret.params().fingerprint(), key: secret.id() }
    }
}

/// The metadata of a switching key: everything except its polynomials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwitchKeyInfo {
    /// The secret of the input ciphertexts.
    pub from: KeyIdent,
    /// The secret of the output ciphertexts, whose parameters the key polynomials belong to.
    pub to: KeyIdent,
    /// The largest number of limbs of an input.
    pub limbs: usize,
    /// Rank `r1` of the input vector.
    pub from_rank: usize,
    /// Rank `r2` of the output.
    pub to_rank: usize,
}

impl SwitchKeyInfo {
    /// `Err` unless source and target are the same secret.
    pub(crate) fn check_one_secret(&self) -> Result<()> {
        check_end(self.from, self.to)
    }
}

/// `Err` unless both identities are equal.
pub(crate) fn check_end(found: KeyIdent, needed: KeyIdent) -> Result<()> {
    if found.fingerprint != needed.fingerprint {
        let (found, needed) = (found.fingerprint, needed.fingerprint);
        return Err(error::params_mismatch(found, needed));
    }
    // Parameters can be equal while keys differ, so both are compared.
    ensure(found.key == needed.key, || error::key_mismatch(found.key, needed.key))
}

/// A switching key ready for use.
#[derive(Debug, Clone)]
pub struct KeySwitchKey {
    shape: SwitchKeyInfo,
    seed: Seed,
    /// `b_ji` at `j * r1 + i`.
    b: Vec<PackedPoly>,
    /// The masks of row `j * r1 + i`; mask `c` is stream `(j * r1 + i) * r2 + c` of the seed.
    a: Vec<Vec<PackedPoly>>,
    /// The same rows cut into digits, after [`prepare`](Self::prepare). `None` if that never pays.
    decomposed: OnceLock<Option<Arc<Decomposed>>>,
}

/// Keys are equal if their rows are, prepared or not.
impl PartialEq for KeySwitchKey {
    fn eq(&self, other: &Self) -> bool {
        let rows = |key: &Self| (key.shape, key.seed);
        rows(self) == rows(other) && self.b == other.b && self.a == other.a
    }
}

/// The rows of a key, cut into digits.
#[derive(Debug)]
struct Decomposed {
    decomposition: KeyDecomposition,
    rows: DecomposedRows,
    /// The levels at which the switch with these rows is the cheaper one: by limbs, from one on.
    pays: Vec<bool>,
}

impl KeySwitchKey {
    /// Generates a key from the secret vector `from` to the secret key `to`, for inputs of up to
    /// `limbs` limbs.
    ///
    /// `from` holds each component in NTT form over `q_0..q_L, p_0..p_{k-1}` of the parameters of
    /// `to` (the form of [`SecretKey::ntt`]). `source` identifies the secret of the input
    /// ciphertexts.
    pub fn generate<R: CryptoRng + ?Sized>(
        from: &[&Poly<Ntt>],
        source: KeyIdent,
        to: &SecretKey,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        // The target secret in the form of the rows.
        let target: Vec<&Poly<Ntt>> = (0..to.params().rank()).map(|i| to.ntt(i)).collect();
        Self::generate_between(to.params(), from, source, &target, to.into(), limbs, rng)
    }

    /// Generates a key from all components of `from` to `to`. The target may have another rank,
    /// other special primes, and another chain beyond the first `limbs` primes.
    ///
    /// # Errors
    /// [`ErrorKind::Parameters`] if the target has a lower security level than the source.
    pub fn between<R: CryptoRng + ?Sized>(
        from: &SecretKey,
        to: &SecretKey,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        let all = 0..from.params().rank();
        Self::between_components(from, all, to, limbs, rng)
    }

    /// As [`between`](Self::between), for a range of components of `from`.
    pub(crate) fn between_components<R: CryptoRng + ?Sized>(
        from: &SecretKey,
        components: std::ops::Range<usize>,
        to: &SecretKey,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        check_chains(from.params(), to.params(), limbs)?;
        // The key encrypts the source secret under the target secret, so the target must be at
        // least as secure.
        check_no_weaker(from.params(), to.params())?;
        // The source coefficients, lifted to the ring of the target.
        let ring = to.params().gadget().ring(to.params().limbs());
        let lifted: Vec<Zeroizing<Poly<Ntt>>> = components
            .map(|i| Zeroizing::new(ring.forward(ring.from_signed(from.coefficients(i)))))
            .collect();
        let lifted: Vec<&Poly<Ntt>> = lifted.iter().map(|poly| &**poly).collect();
        Self::generate(&lifted, from.into(), to, limbs, rng)
    }

    /// The general form of key generation: both secrets are polynomials over
    /// `q_0..q_L, p_0..p_{k-1}`.
    pub(crate) fn generate_between<R: CryptoRng + ?Sized>(
        params: &Params,
        from: &[&Poly<Ntt>],
        source: KeyIdent,
        to: &[&Poly<Ntt>],
        target: KeyIdent,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        ensure(!from.is_empty(), error::empty)?;
        // Checks first: nothing is drawn from `rng` for bad arguments.
        params.check_limbs(limbs)?;
        for poly in from.iter().chain(to) {
            check_extended(params, params.limbs(), poly)?;
        }
        let shape = SwitchKeyInfo {
            from: source,
            to: target,
            limbs,
            from_rank: from.len(),
            to_rank: to.len(),
        };
        // Step 1: restrict both secrets to the limbs of the key.
        let restrict = |polys: &[&Poly<Ntt>]| -> Vec<Zeroizing<Poly<Ntt>>> {
            let at_level = |poly: &&Poly<Ntt>| restrict_extended(poly, limbs, params.limbs());
            polys.iter().map(|poly| Zeroizing::new(at_level(poly))).collect()
        };
        let (from, to) = (restrict(from), restrict(to));
        // Step 2: draw one seed for all masks, and one error per row.
        let (ring, gadget) = (params.gadget().ring(limbs), params.gadget());
        let seed = Seed::random(rng);
        let rows = gadget.digits(limbs) * from.len();
        let errors: Vec<_> = (0..rows).map(|_| error_poly(params, ring, rng)).collect();
        // Step 3: for each row, b = e - <a, s2> + P g_j s1_i. The factor is P modulo the primes of
        // digit j and zero modulo all others.
        let rows = map_items(errors, |row, mut b| {
            let mut a = Vec::with_capacity(to.len());
            for (mask, secret) in masks(ring, &shape, &seed, row).zip(&to) {
                a.push(PackedPoly::new(ring, &mask));
                sub_product(ring, &mut b, mask, secret);
            }
            // The message P g_j s1_i.
            let mut message = from[row % from.len()].clone();
            ring.mul_residues_assign(&mut message, &gadget.factor(row / from.len(), limbs));
            ring.add_assign(&mut b, &message);
            (PackedPoly::new(ring, &b), a)
        });
        Ok(Self::of(shape, seed, rows))
    }

    /// Expands bodies that are already checked against the shape.
    fn expanded<P: Borrow<Poly<Ntt>> + Send>(
        params: &Params,
        shape: SwitchKeyInfo,
        seed: Seed,
        b: Vec<P>,
    ) -> Result<Self> {
        params.check(shape.to.fingerprint)?;
        // Bodies are packed as they are; masks come from their streams of the seed.
        let ring = params.gadget().ring(shape.limbs);
        let rows = map_items(b, |row, b| {
            let masks = masks(ring, &shape, &seed, row).map(|mask| PackedPoly::new(ring, &mask));
            (PackedPoly::new(ring, b.borrow()), masks.collect())
        });
        Ok(Self::of(shape, seed, rows))
    }

    fn of(shape: SwitchKeyInfo, seed: Seed, rows: Vec<(PackedPoly, Vec<PackedPoly>)>) -> Self {
        let (b, a) = rows.into_iter().unzip();
        Self { shape, seed, b, a, decomposed: OnceLock::new() }
    }

    /// Ranks, limbs and identities.
    pub fn shape(&self) -> &SwitchKeyInfo {
        &self.shape
    }

    /// The largest number of limbs of an input.
    pub(crate) fn limbs(&self) -> usize {
        self.shape.limbs
    }

    /// The seed of the masks.
    pub(crate) fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The bodies `b_ji` at `j * r1 + i`.
    pub(crate) fn bodies(&self) -> &[PackedPoly] {
        &self.b
    }

    /// Size in bytes of the expanded key in memory. It depends on the machine (see [`PackedPoly`]),
    /// and on whether the key is [prepared](crate::RelinKeys::prepare).
    pub fn memory_len(&self) -> usize {
        let decomposed = self.decomposed.get().and_then(Option::as_ref);
        let rows = self.b.iter().chain(self.a.iter().flatten()).map(PackedPoly::byte_len);
        rows.sum::<usize>() + decomposed.map_or(0, |decomposed| decomposed.rows.memory_len())
    }

    /// Cuts the rows into digits too if switches at some level are then cheaper, by count (key
    /// decomposition, see [`KeyDecomposition`]): the case for keys of many short digits. Later
    /// switches of ciphertexts at such levels use these rows. Their results are the same bit for
    /// bit. The rows are kept beside the others and take about as much memory. `params` are those
    /// of the target.
    pub(crate) fn prepare(&self, params: &Params) -> Result<()> {
        params.check(self.shape.to.fingerprint)?;
        if self.decomposed.get().is_some() {
            return Ok(());
        }
        let decomposed = self.cut(params)?.map(Arc::new);
        // A key that another thread prepared meanwhile is as good. Waiting for it could deadlock:
        // the work above may run other jobs of the pool.
        self.decomposed.set(decomposed).ok();
        Ok(())
    }

    /// The rows cut into digits, if they pay at some level.
    fn cut(&self, params: &Params) -> Result<Option<Decomposed>> {
        let log2_q: Vec<f64> = params.q().moduli().map(Modulus::log2).collect();
        let (components, columns) = (self.shape.from_rank, self.shape.to_rank + 1);
        let switch = |limbs: usize| Switch {
            degree: params.degree(),
            log2_q: &log2_q[..limbs],
            log2_p: params.p().log2_modulus(),
            special: params.p().limbs(),
            components,
            columns,
        };
        // Step 1: the cheapest cut at the top level, and where it is cheaper than whole rows.
        let Some(cut) = switch(self.limbs()).cut() else { return Ok(None) };
        let pays: Vec<bool> =
            (1..=self.limbs()).map(|limbs| switch(limbs).is_cheaper_with(&cut)).collect();
        if !pays.contains(&true) {
            return Ok(None);
        }
        // Step 2: the rows.
        let decomposition =
            KeyDecomposition::new(params.gadget(), self.limbs(), components, cut.log2_digit)?;
        let rows = decomposition.rows(&self.rows());
        Ok(Some(Decomposed { decomposition, rows, pays }))
    }

    /// Body and masks of the row of digit `j` and component `i`: an encryption of `P g_j s1_i`
    /// over `q_0..q_{limbs-1}, p_0..p_{k-1}`.
    pub fn row(&self, digit: usize, component: usize) -> (&PackedPoly, &[PackedPoly]) {
        let row = digit * self.shape.from_rank + component;
        (&self.b[row], &self.a[row])
    }

    /// The inner product of digits and rows: `P` times the switched ciphertext, modulo `P Q_l`.
    pub(crate) fn product(&self, digits: &Digits) -> CiphertextQP {
        // No epilogue: the columns stay modulo P Q_l.
        let columns = digits.product(&self.rows());
        CiphertextQP::of_columns(columns, digits.limbs(), self.shape.to)
    }

    /// The digits of `c`, computed on demand, after a check that the key accepts them.
    pub(crate) fn digits<'a>(&self, params: &'a Params, c: &'a [Poly<Ntt>]) -> Result<Digits<'a>> {
        params.check(self.shape.to.fingerprint)?;
        let limbs = c.first().map_or(0, Poly::limbs);
        self.check_digits(c.len(), limbs)?;
        // All components have the same level.
        for poly in c {
            params.check_poly(poly)?;
            ensure(poly.limbs() == limbs, || error::limbs(poly.limbs(), limbs.to_string()))?;
        }
        Ok(params.gadget().digits_of(&c.iter().collect::<Vec<_>>()))
    }

    /// Stored digits, after a check that the key accepts them.
    pub(crate) fn stored<'a>(
        &self,
        params: &'a Params,
        digits: &'a HoistedDigits,
    ) -> Result<Digits<'a>> {
        params.check(self.shape.to.fingerprint)?;
        params.check(digits.fingerprint)?;
        self.check_digits(digits.components.len(), digits.limbs)?;
        Ok(params.gadget().stored_digits(&digits.components))
    }

    pub(crate) fn check_digits(&self, rank: usize, limbs: usize) -> Result<()> {
        ensure(rank == self.shape.from_rank, || error::rank(rank, self.shape.from_rank))?;
        if limbs > self.limbs() {
            let needed = format!("at most {}, the limbs of the key,", self.limbs());
            return Err(error::limbs(limbs, needed));
        }
        Ok(())
    }

    /// The rows as columns: the body first, then each mask.
    pub(crate) fn rows(&self) -> KeyRows<'_> {
        // Column 0 holds the bodies, column c the masks c - 1.
        let masks = (0..self.shape.to_rank).map(|c| self.a.iter().map(|row| &row[c]).collect());
        let columns = std::iter::once(self.b.iter().collect()).chain(masks);
        KeyRows { columns: columns.collect(), limbs: self.limbs() }
    }

    /// The inner product with `digits`, with mod-down and the epilogue fused, as a ciphertext of
    /// the target.
    pub(crate) fn finish(&self, digits: &Digits, epilogue: &Epilogue) -> Ciphertext {
        let rows = self.rows();
        // Stored digits are those modulo the primes of the key.
        let decomposed = self.decomposed.get().and_then(Option::as_ref);
        let decomposed = decomposed
            .filter(|decomposed| !digits.are_stored() && decomposed.pays[digits.limbs() - 1]);
        let key = match decomposed {
            Some(decomposed) => GadgetKey::Decomposed(&decomposed.decomposition, &decomposed.rows),
            None => GadgetKey::Rows(&rows),
        };
        // The product of each limb is divided as soon as it is complete.
        Ciphertext::of_columns(digits.divided_product(key, epilogue), self.shape.to)
    }

    /// Switches a ciphertext of the source key to the target key: `(b, 0) + KeySwitch(a)`.
    /// `params` are those of the target.
    pub fn switch(&self, params: &Params, ct: &Ciphertext) -> Result<Ciphertext> {
        operation("KeySwitchKey::switch", || {
            self.check_source(ct)?;
            // The body needs no switch: it is added inside mod-down.
            let addends = vec![Some(Addend::Poly(&ct.b))];
            let epilogue = Epilogue { addends, ..Epilogue::default() };
            Ok(self.finish(&self.digits(params, ct.masks())?, &epilogue))
        })
    }

    /// `Err` unless the ciphertext belongs to the source of the key.
    pub(crate) fn check_source(&self, ct: &Ciphertext) -> Result<()> {
        self.check_end(ct.ident())
    }

    /// As [`check_source`](Self::check_source), for an operand that is not a [`Ciphertext`].
    pub(crate) fn check_end(&self, found: KeyIdent) -> Result<()> {
        check_end(found, self.shape.from)
    }
}

/// `KeySwitch(c)`: a ciphertext with phase `<c, s1> + noise` under the target of the key; `params`
/// are those of the target.
pub fn key_switch(params: &Params, c: &[Poly<Ntt>], key: &KeySwitchKey) -> Result<Ciphertext> {
    Ok(key.finish(&key.digits(params, c)?, &Epilogue::default()))
}

/// As [`key_switch`], with digits computed before (hoisting).
pub fn key_switch_decomposed(
    params: &Params,
    digits: &HoistedDigits,
    key: &KeySwitchKey,
) -> Result<Ciphertext> {
    Ok(key.finish(&key.stored(params, digits)?, &Epilogue::default()))
}

/// The masks of a row, expanded from the seed.
fn masks(
    ring: &Ring,
    shape: &SwitchKeyInfo,
    seed: &Seed,
    row: usize,
) -> impl Iterator<Item = Poly<Ntt>> {
    // Streams are numbered by row, then by component of the target.
    let streams = row * shape.to_rank..(row + 1) * shape.to_rank;
    streams.map(move |stream| uniform_from_seed(ring, seed, stream as u64))
}

#[cfg(test)]
mod tests;
