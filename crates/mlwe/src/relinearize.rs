//! Relinearization by a [`RelinStrategy`]: Algorithm 1 (DPad-HE), and the direct and larger-ring
//! variants.

use std::borrow::Cow;

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::error::ensure;
use bellerophon_ring::{Addend, During, Epilogue, Ntt, Poly, Result, error::operation};
use rand::CryptoRng;
use zeroize::Zeroizing;

use crate::ciphertext::{Ciphertext, check_divisors};
use crate::dpad::strategy::{Packed, RelinStrategy};
use crate::error;
use crate::key_id::KeyIdent;
use crate::keyswitch::KeySwitchKey;
use crate::params::Params;
use crate::rank_reduction::{RankReduceKey, check_extension};
use crate::secret::SecretKey;
use crate::tensor::{Tensor, Terms, index_pairs};

/// The keys of a [`RelinStrategy`]: the cross-relinearization key, and the rank-down key if the
/// strategy has a temporary rank.
///
/// The cross-relinearization key switches `s (x) s` to `(s || s')`. The rank-down key switches the
/// masks beyond the rank of `s` from `s'` back to `s`. A rescale is fused into the last division.
///
/// Noise: [`RelinStrategy::noise`], [`RelinStrategy::noise_rescaled`].
#[derive(Debug, Clone)]
pub struct RelinKeys {
    strategy: RelinStrategy,
    cross: KeySwitchKey,
    down: Option<RankReduceKey>,
}

impl RelinKeys {
    /// Generates keys for products of up to `limbs` limbs. A temporary rank gets a fresh secret.
    pub fn generate<R: CryptoRng + ?Sized>(
        strategy: &RelinStrategy,
        secret: &SecretKey,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        // A temporary rank gets fresh components s'; otherwise the switch stays under the secret.
        let work = work_secret(strategy, secret)?;
        let raised = match strategy.is_raised() {
            true => Cow::Owned(work.extend_rank(strategy.raised(), rng)?),
            false => Cow::Borrowed(&*work),
        };
        Self::between(strategy, secret, &work, &raised, limbs, rng)
    }

    /// As [`generate`](Self::generate), with a given secret at the temporary rank. Other keys may
    /// use the same secret ([`RankHoistedKeys`](crate::RankHoistedKeys)). It must be a
    /// [`SecretKey::extend_rank`] of `secret`, or of [`ModuleMap::embed_secret`] of `secret` if the
    /// strategy uses a larger ring.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] unless `raised` is an extension of the secret as
    /// [`SecretKey::extend_rank`] makes it; without a temporary rank it must be the secret itself.
    ///
    /// [`ModuleMap::embed_secret`]: crate::ModuleMap::embed_secret
    pub fn generate_under<R: CryptoRng + ?Sized>(
        strategy: &RelinStrategy,
        secret: &SecretKey,
        raised: &SecretKey,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        strategy.raised().check(raised.params().fingerprint())?;
        let work = work_secret(strategy, secret)?;
        // A given secret must extend this one securely, or be this one.
        if strategy.is_raised() {
            check_extension(raised, &work)?;
        } else if raised.id() != work.id() {
            return Err(error::key_mismatch(raised.id(), work.id()));
        }
        Self::between(strategy, secret, &work, raised, limbs, rng)
    }

    /// Generates the keys from the base secret, the secret in the working ring, and the secret at
    /// the temporary rank.
    fn between<R: CryptoRng + ?Sized>(
        strategy: &RelinStrategy,
        secret: &SecretKey,
        work: &SecretKey,
        raised: &SecretKey,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        // The cross-relinearization key encrypts s_i s_j under (s || s'). In a larger ring,
        // `factor` products are packed into one polynomial.
        let products = match strategy.factor() {
            1 => products(raised, secret.params().rank()),
            factor => packed_products(secret, raised.params(), factor),
        };
        let products: Vec<&Poly<Ntt>> = products.iter().map(|poly| &**poly).collect();
        let cross = KeySwitchKey::generate(&products, secret.into(), raised, limbs, rng)?;
        // The rank-down key encrypts s' under s.
        let down = match strategy.is_raised() {
            true => Some(RankReduceKey::generate(raised, work, limbs, rng)?),
            false => None,
        };
        Ok(Self { strategy: strategy.clone(), cross, down })
    }

    /// Assembles keys that were generated or stored separately.
    pub(crate) fn from_parts(
        strategy: &RelinStrategy,
        cross: KeySwitchKey,
        down: Option<RankReduceKey>,
    ) -> Result<Self> {
        // Step 1: the cross-relinearization key must lead from the base secret to the temporary
        // rank.
        let shape = cross.shape();
        strategy.params().check(shape.from.fingerprint)?;
        strategy.raised().check(shape.to.fingerprint)?;
        if shape.from_rank != strategy.components() {
            let (found, needed) = (shape.from_rank, strategy.components());
            return Err(error::rank(found, needed));
        }
        // Step 2: the rank-down key must start where the cross-relinearization key ends.
        let end = match (&down, strategy.is_raised()) {
            (None, true) => {
                let (found, needed) = (strategy.raised().rank(), strategy.work().rank());
                return Err(error::missing_rank_down_key(found, needed));
            }
            (Some(down), true) => {
                down.key().check_end(shape.to)?;
                // It switches exactly the components beyond the working rank, at every level of
                // the cross-relinearization key.
                let further = strategy.raised().rank() - strategy.work().rank();
                if down.key().shape().from_rank != further {
                    let (found, needed) = (down.key().shape().from_rank, further);
                    return Err(error::rank(found, needed));
                }
                if down.key().limbs() < cross.limbs() {
                    let (found, needed) = (down.key().limbs(), cross.limbs().to_string());
                    return Err(error::limbs(found, needed));
                }
                down.key().shape().to
            }
            (_, false) => shape.to,
        };
        // Step 3: the last key must end at the secret of the ciphertexts.
        strategy.work().check(end.fingerprint)?;
        ensure(end.key == shape.from.key, || error::key_mismatch(end.key, shape.from.key))?;
        // A key that the strategy does not need is dropped.
        let down = down.filter(|_| strategy.is_raised());
        Ok(Self { strategy: strategy.clone(), cross, down })
    }

    /// The strategy.
    pub fn strategy(&self) -> &RelinStrategy {
        &self.strategy
    }

    /// The cross-relinearization key.
    pub fn cross(&self) -> &KeySwitchKey {
        &self.cross
    }

    /// The rank-down key, if the strategy has a temporary rank.
    pub(crate) fn down(&self) -> Option<&RankReduceKey> {
        self.down.as_ref()
    }

    /// Size in bytes of the seeded form, bit-packed.
    pub fn seeded_byte_len(&self) -> usize {
        let down = self.down.as_ref().map(|down| down.key().seeded_byte_len(self.strategy.work()));
        self.cross.seeded_byte_len(self.strategy.raised()) + down.unwrap_or(0)
    }

    /// Size in bytes of the expanded keys in memory.
    pub fn memory_len(&self) -> usize {
        let down = self.down.as_ref().map(|down| down.key().memory_len());
        self.cross.memory_len() + down.unwrap_or(0)
    }

    /// Cuts the rows of both keys into digits too, where switches at some level are then cheaper by
    /// count (key decomposition, see [`bellerophon_ring::KeyDecomposition`]). The results of later
    /// switches are the same bit for bit. The rows take about as much memory again.
    pub fn prepare(&self) -> Result<()> {
        self.cross.prepare(self.strategy.raised())?;
        self.down.as_ref().map_or(Ok(()), |down| down.key().prepare(self.strategy.work()))
    }

    /// Relinearizes a product and rescales it by the last `primes` primes, 0 for none, fused into
    /// the last division: one rounding instead of two.
    ///
    /// # Errors
    /// [`ErrorKind::Parameters`] if `primes` plus the number of special primes exceeds
    /// [`BaseConverter::MAX_SOURCES`](bellerophon_ring::BaseConverter::MAX_SOURCES).
    pub fn relinearize(&self, tensor: Tensor, primes: usize) -> Result<Ciphertext> {
        operation("relinearize", || {
            // Key and level are checked before the product is taken apart.
            self.check(tensor.ident, tensor.limbs(), primes)?;
            self.divide(tensor, primes)
        })
    }

    /// [`relinearize`](Self::relinearize) of `x y`. Without a larger ring, only the quadratic terms
    /// of the product are stored; the linear terms are computed inside the last pass of the key
    /// switch.
    pub fn multiply(&self, x: &Ciphertext, y: &Ciphertext, primes: usize) -> Result<Ciphertext> {
        self.product(x, y, primes).during("multiply")
    }

    fn product(&self, x: &Ciphertext, y: &Ciphertext, primes: usize) -> Result<Ciphertext> {
        let params = self.strategy.params();
        x.operand().check(params, y.operand())?;
        let end = x.ident();
        // Key, level and number of primes are checked before any product is computed.
        self.check(end, x.limbs(), primes)?;
        // Packing into a larger ring needs the whole tensor product.
        if self.strategy.map().is_some() {
            return self.divide(Tensor::product(params, x, y)?, primes);
        }
        // Otherwise store the quadratic terms alone and pass the linear terms as sums of products.
        let Terms { linear, quadratic } = Terms::of(x, y);
        let quadratic: Vec<&[_]> = quadratic.iter().map(Vec::as_slice).collect();
        let quadratic = params.q().at_limbs(x.limbs()).sums_of_products(&quadratic);
        self.finish(linear.into_iter().map(Addend::Products), &quadratic, primes)
    }

    /// Checks an operand before any computation.
    fn check(&self, found: KeyIdent, limbs: usize, primes: usize) -> Result<()> {
        // At least one limb remains, and one mod-down can divide by all these primes.
        if primes >= limbs {
            let needed = format!("more than the {primes} to divide by");
            return Err(error::limbs(limbs, needed));
        }
        check_divisors(self.strategy.work().p().limbs() + primes)?;
        self.cross.check_end(found)?;
        self.cross.check_digits(self.strategy.components(), limbs)
    }

    /// Relinearizes a stored product in the ring of the strategy.
    fn divide(&self, tensor: Tensor, primes: usize) -> Result<Ciphertext> {
        let Packed { stay, quadratic } = self.strategy.pack(tensor)?;
        self.finish(std::iter::once(&stay.b).chain(&stay.a).map(Addend::Poly), &quadratic, primes)
    }

    /// Switches the quadratic terms and adds the linear ones, in the ring of the strategy.
    fn finish<'a>(
        &self,
        addends: impl Iterator<Item = Addend<'a>>,
        quadratic: &[Poly<Ntt>],
        primes: usize,
    ) -> Result<Ciphertext> {
        // Without a rank-down key the first switch is the last division: it rescales too.
        let first = if self.down.is_some() { 0 } else { primes };
        let epilogue = Epilogue { addends: addends.map(Some).collect(), primes: first, map: None };
        // Line 1 of Algorithm 1 (DPad-HE): the cross switch. The linear terms need no switch and
        // are added in the same pass.
        let digits = self.cross.digits(self.strategy.raised(), quadratic)?;
        let mut ct = self.cross.finish(&digits, &epilogue);
        // Lines 2 and 3 of Algorithm 1: switch the additional masks back to s.
        if let Some(down) = &self.down {
            ct = down.reduce_rescale(self.strategy.work(), &ct, primes)?;
        }
        self.strategy.unpack(ct)
    }
}

/// The secret in the ring of the strategy. Packing keeps its identity.
fn work_secret<'a>(strategy: &RelinStrategy, secret: &'a SecretKey) -> Result<Cow<'a, SecretKey>> {
    strategy.params().check(secret.params().fingerprint())?;
    match strategy.map() {
        None => Ok(Cow::Borrowed(secret)),
        Some(map) => Ok(Cow::Owned(map.embed_secret(secret)?)),
    }
}

/// `s_i s_j`, `i <= j < rank`, over `q_0..q_L, p_0..p_{k-1}` of the parameters of `raised`, whose
/// first components are `s`.
fn products(raised: &SecretKey, rank: usize) -> Vec<Zeroizing<Poly<Ntt>>> {
    let params = raised.params();
    let ring = params.gadget().ring(params.limbs());
    let product = |(i, j)| {
        let mut product = Zeroizing::new(raised.ntt(i).clone());
        ring.mul_assign(&mut product, raised.ntt(j));
        product
    };
    index_pairs(rank).map(product).collect()
}

/// The same products in the ring of degree `n factor`. Each chunk of `f` products
/// `t_0, .., t_{f-1}` becomes the secret `pi^-1 (rho (t_0, .., t_{f-1}))`: `epsilon` of its product
/// with the packed polynomials is the sum of the `f` products (section 4.1.1).
fn packed_products(secret: &SecretKey, to: &Params, factor: usize) -> Vec<Zeroizing<Poly<Ntt>>> {
    let params = secret.params();
    let n = params.degree();
    // Coefficients of a product are at most n < q_0 / 2, so one prime determines them.
    let ring = params.q().at_limbs(1);
    let q = ring.modulus(0);
    let pairs: Vec<(usize, usize)> = index_pairs(params.rank()).collect();
    let wide = to.gadget().ring(to.limbs());
    let pack = |chunk: &[(usize, usize)]| {
        let mut packed = Zeroizing::new(vec![0i64; n * factor]);
        for (place, &(i, j)) in chunk.iter().enumerate() {
            // t = s_i s_j modulo q_0, then its centred coefficients.
            let lowest = |i: usize| Zeroizing::new(secret.ntt(i).limb_range(0..1));
            let mut product = lowest(i);
            ring.mul_assign(&mut product, &lowest(j));
            let product = Zeroizing::new(ring.inverse((*product).clone()));
            let t = product.limb(0).iter().map(|&x| q.center(x));
            for (at, x) in t.enumerate() {
                // Component 0 stays in place; component j > 0 is multiplied by X^-j.
                match (at * factor).checked_sub(place) {
                    Some(at) => packed[at] = x,
                    None => packed[n * factor - place] = -x,
                }
            }
        }
        Zeroizing::new(wide.forward(wide.from_signed(&packed)))
    };
    pairs.chunks(factor).map(pack).collect()
}

#[cfg(test)]
mod tests;
