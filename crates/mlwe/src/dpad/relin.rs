//! Relinearisation along a route: Algorithm 1 of the paper, and its neighbours.

use std::borrow::Cow;

use bellerophon_ring::{Addend, Finish, Ntt, Poly};
use rand::CryptoRng;
use zeroize::Zeroizing;

use super::route::{Packed, RelinRoute};
use crate::ciphertext::check_divisors;
use crate::keyswitch::{KeyEnd, KeySwitchKey, SeededKeySwitchKey};
use crate::rank::{RankReduceKey, SeededRankReduceKey, check_extension};
use crate::tensor::{Terms, index_pairs};
use crate::{Ciphertext, Error, Params, Result, SecretKey, Tensor};

/// The keys of a [`RelinRoute`], ready for use: the cross-relinearisation key, and the rank-down key
/// if there is a temporary rank.
///
/// The cross key takes `s (x) s` to `(s || s')`; its masks beyond the rank of `s` are switched back
/// by the rank-down key, `s'` to `s`. Rescaling joins the last division.
///
/// Noise: [`RelinRoute::noise`], [`RelinRoute::noise_rescaled`].
#[derive(Debug, Clone)]
pub struct RelinKeys {
    route: RelinRoute,
    cross: KeySwitchKey,
    down: Option<RankReduceKey>,
}

/// [`RelinKeys`] with their uniform parts as seeds: the form that travels.
#[derive(Debug, Clone, PartialEq)]
pub struct SeededRelinKeys {
    cross: SeededKeySwitchKey,
    down: Option<SeededRankReduceKey>,
}

impl RelinKeys {
    /// Keys for products of up to `limbs` limbs. A temporary rank gets a secret of its own.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] for a secret of other parameters, [`Error::Limbs`].
    pub fn generate<R: CryptoRng + ?Sized>(
        route: &RelinRoute,
        secret: &SecretKey,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        let work = work_secret(route, secret)?;
        let raised = match route.is_raised() {
            true => Cow::Owned(work.extend_rank(route.raised(), rng)?),
            false => Cow::Borrowed(&*work),
        };
        Self::between(route, secret, &work, &raised, limbs, rng)
    }

    /// As [`generate`](Self::generate) with the secret at the temporary rank given, which other keys
    /// may stand under too ([`RankHoistedKeys`](crate::RankHoistedKeys)): a
    /// [`SecretKey::extend_rank`] of `secret`, or of [`ModuleMap::embed_secret`] of it where the
    /// route goes through a larger ring.
    ///
    /// # Errors
    /// As for [`generate`](Self::generate), and [`Error::Secret`] unless `raised` begins with the
    /// secret and goes on as [`SecretKey::extend_rank`] does, or is the secret itself
    /// ([`Error::KeyMismatch`]) where the route has no temporary rank.
    ///
    /// [`ModuleMap::embed_secret`]: crate::ModuleMap::embed_secret
    pub fn generate_under<R: CryptoRng + ?Sized>(
        route: &RelinRoute,
        secret: &SecretKey,
        raised: &SecretKey,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        let op = "generate relinearisation keys";
        route.raised().check(op, raised.fingerprint())?;
        let work = work_secret(route, secret)?;
        if route.is_raised() {
            check_extension(raised, &work)?;
        } else if raised.id() != work.id() {
            return Err(Error::KeyMismatch { op, found: raised.id(), needed: work.id() });
        }
        Self::between(route, secret, &work, raised, limbs, rng)
    }

    fn between<R: CryptoRng + ?Sized>(
        route: &RelinRoute,
        secret: &SecretKey,
        work: &SecretKey,
        raised: &SecretKey,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        let products = match route.factor() {
            1 => products(raised, secret.params().rank()),
            factor => packed_products(secret, raised.params(), factor),
        };
        let products: Vec<&Poly<Ntt>> = products.iter().map(|poly| &**poly).collect();
        let cross = KeySwitchKey::generate(&products, secret.into(), raised, limbs, rng)?;
        let down = match route.is_raised() {
            true => Some(RankReduceKey::generate(raised, work, limbs, rng)?),
            false => None,
        };
        Ok(Self { route: route.clone(), cross, down })
    }

    /// Puts keys together that were made or stored apart.
    ///
    /// # Errors
    /// [`Error::MissingRankDownKey`] if the route has a temporary rank and there is none;
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`], [`Error::Rank`] or [`Error::Limbs`] if the
    /// keys do not belong to the route, to each other, or to the same levels.
    pub fn from_parts(
        route: &RelinRoute,
        cross: KeySwitchKey,
        down: Option<RankReduceKey>,
    ) -> Result<Self> {
        let op = "assemble relinearisation keys";
        let shape = cross.shape();
        route.params().check(op, shape.from.fingerprint)?;
        route.raised().check(op, shape.to.fingerprint)?;
        if shape.from_rank != route.components() {
            let (found, needed) = (shape.from_rank, route.components());
            return Err(Error::Rank { op, found, needed });
        }
        let end = match (&down, route.is_raised()) {
            (None, true) => {
                let (found, needed) = (route.raised().rank(), route.work().rank());
                return Err(Error::MissingRankDownKey { op, found, needed });
            }
            (Some(down), true) => {
                down.key().check_end(op, shape.to)?;
                let further = route.raised().rank() - route.work().rank();
                if down.key().shape().from_rank != further {
                    let (found, needed) = (down.key().shape().from_rank, further);
                    return Err(Error::Rank { op, found, needed });
                }
                if down.key().limbs() < cross.limbs() {
                    let (found, needed) = (down.key().limbs(), cross.limbs().to_string());
                    return Err(Error::Limbs { op, found, needed });
                }
                down.key().shape().to
            }
            (_, false) => shape.to,
        };
        route.work().check(op, end.fingerprint)?;
        if end.key != shape.from.key {
            return Err(Error::KeyMismatch { op, found: end.key, needed: shape.from.key });
        }
        let down = down.filter(|_| route.is_raised());
        Ok(Self { route: route.clone(), cross, down })
    }

    /// The route.
    pub fn route(&self) -> &RelinRoute {
        &self.route
    }

    /// The cross-relinearisation key.
    pub fn cross(&self) -> &KeySwitchKey {
        &self.cross
    }

    /// The rank-down key, if there is a temporary rank.
    pub fn down(&self) -> Option<&RankReduceKey> {
        self.down.as_ref()
    }

    /// The most limbs that an input may have.
    pub fn limbs(&self) -> usize {
        self.cross.limbs()
    }

    /// The form that travels.
    pub fn compress(&self) -> SeededRelinKeys {
        SeededRelinKeys {
            cross: self.cross.compress(),
            down: self.down.as_ref().map(RankReduceKey::compress),
        }
    }

    /// Bytes of the seeded form when residues are packed to the bits of their primes.
    pub fn seeded_byte_len(&self) -> usize {
        let down = self.down.as_ref().map(|down| down.key().seeded_byte_len(self.route.work()));
        self.cross.seeded_byte_len(self.route.raised()) + down.unwrap_or(0)
    }

    /// Bytes of the expanded keys in memory.
    pub fn memory_len(&self) -> usize {
        let down = self.down.as_ref().map(|down| down.key().memory_len());
        self.cross.memory_len() + down.unwrap_or(0)
    }

    /// The product as a ciphertext.
    ///
    /// # Errors
    /// If the product belongs to another key or has more limbs than the keys.
    pub fn relinearise(&self, tensor: Tensor) -> Result<Ciphertext> {
        self.relinearised("relinearise", tensor, 0)
    }

    /// [`relinearise`](Self::relinearise) and a rescaling by the last `primes` primes in the last
    /// division of the route: one rounding where the two steps have one each.
    ///
    /// # Errors
    /// As for [`relinearise`](Self::relinearise), [`Error::Limbs`] unless a limb is left, and
    /// [`Error::Parameter`] if `primes` and the special primes are more than
    /// [`BaseConverter::MAX_SOURCES`](bellerophon_ring::BaseConverter::MAX_SOURCES).
    pub fn relinearise_rescale(&self, tensor: Tensor, primes: usize) -> Result<Ciphertext> {
        self.relinearised("relinearise and rescale", tensor, primes)
    }

    fn relinearised(&self, op: &'static str, tensor: Tensor, primes: usize) -> Result<Ciphertext> {
        let end = KeyEnd { fingerprint: tensor.fingerprint, key: tensor.key };
        self.check(op, end, tensor.limbs(), primes)?;
        self.divide(tensor, primes)
    }

    /// `relinearise(x y)`.
    ///
    /// # Errors
    /// As for [`Tensor::product`] and [`relinearise`](Self::relinearise).
    pub fn multiply(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.product("multiply", (x, y), 0)
    }

    /// `relinearise(x^2)`.
    ///
    /// # Errors
    /// As for [`multiply`](Self::multiply).
    pub fn square(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.product("square", (x, x), 0)
    }

    /// `relinearise_rescale(x y, primes)`. Unless the route goes through a larger ring, only the quadratic
    /// part of the product is ever stored: the others are worked out where they are added.
    ///
    /// # Errors
    /// As for [`Tensor::product`] and [`relinearise_rescale`](Self::relinearise_rescale).
    pub fn multiply_rescale(
        &self,
        x: &Ciphertext,
        y: &Ciphertext,
        primes: usize,
    ) -> Result<Ciphertext> {
        self.product("multiply and rescale", (x, y), primes)
    }

    fn product(
        &self,
        op: &'static str,
        (x, y): (&Ciphertext, &Ciphertext),
        primes: usize,
    ) -> Result<Ciphertext> {
        let params = self.route.params();
        x.standing().check(params, op, y.standing())?;
        let end = KeyEnd { fingerprint: x.fingerprint, key: x.key };
        self.check(op, end, x.limbs(), primes)?;
        if self.route.map().is_some() {
            return self.divide(Tensor::product(params, x, y)?, primes);
        }
        let Terms { linear, quadratic } = Terms::of(x, y);
        let quadratic: Vec<&[_]> = quadratic.iter().map(Vec::as_slice).collect();
        let quadratic = params.q().prefix(x.limbs()).sums_of_products(&quadratic);
        self.finish(linear.into_iter().map(Addend::Products), &quadratic, primes)
    }

    /// Before any work: what the keys do not take.
    fn check(&self, op: &'static str, found: KeyEnd, limbs: usize, primes: usize) -> Result<()> {
        if primes >= limbs {
            let needed = format!("more than the {primes} to divide by");
            return Err(Error::Limbs { op, found: limbs, needed });
        }
        check_divisors(self.route.work().p().limbs() + primes)?;
        self.cross.check_end(op, found)?;
        self.cross.check_digits(self.route.components(), limbs)
    }

    fn divide(&self, tensor: Tensor, primes: usize) -> Result<Ciphertext> {
        let Packed { stay, quadratic } = self.route.pack(tensor)?;
        self.finish(std::iter::once(&stay.b).chain(&stay.a).map(Addend::Poly), &quadratic, primes)
    }

    /// Switches the quadratic part and adds the others, in the ring of the route.
    fn finish<'a>(
        &self,
        addends: impl Iterator<Item = Addend<'a>>,
        quadratic: &[Poly<Ntt>],
        primes: usize,
    ) -> Result<Ciphertext> {
        let first = if self.down.is_some() { 0 } else { primes };
        let finish = Finish { addends: addends.map(Some).collect(), primes: first, map: None };
        // Line 1 of Algorithm 1, with what needs no switch added in the same pass.
        let digits = self.cross.digits(self.route.raised(), quadratic)?;
        let mut ct = self.cross.finish(&digits, &finish);
        // Lines 2 and 3.
        if let Some(down) = &self.down {
            ct = down.reduce_rescale(self.route.work(), &ct, primes)?;
        }
        self.route.unpack(ct)
    }
}

impl SeededRelinKeys {
    /// The keys with their uniform parts expanded.
    ///
    /// # Errors
    /// As for [`RelinKeys::from_parts`].
    pub fn expand(&self, route: &RelinRoute) -> Result<RelinKeys> {
        let cross = self.cross.expand(route.raised())?;
        let down = self.down.as_ref().map(|down| down.expand(route.work())).transpose()?;
        RelinKeys::from_parts(route, cross, down)
    }

    /// The cross-relinearisation key.
    pub fn cross(&self) -> &SeededKeySwitchKey {
        &self.cross
    }

    /// The rank-down key, if there is one.
    pub fn down(&self) -> Option<&SeededRankReduceKey> {
        self.down.as_ref()
    }

    /// Wraps stored keys; [`expand`](Self::expand) checks that they belong together.
    pub fn from_parts(cross: SeededKeySwitchKey, down: Option<SeededRankReduceKey>) -> Self {
        Self { cross, down }
    }

    /// Bytes of the keys, packed.
    pub fn byte_len(&self, route: &RelinRoute) -> usize {
        let down = self.down.as_ref().map(|down| down.key().byte_len(route.work()));
        self.cross.byte_len(route.raised()) + down.unwrap_or(0)
    }
}

/// The secret in the ring of the route; packing keeps its identity.
fn work_secret<'a>(route: &RelinRoute, secret: &'a SecretKey) -> Result<Cow<'a, SecretKey>> {
    route.params().check("generate relinearisation keys", secret.fingerprint())?;
    match route.map() {
        None => Ok(Cow::Borrowed(secret)),
        Some(map) => Ok(Cow::Owned(map.embed_secret(secret)?)),
    }
}

/// `s_i s_j`, `i <= j < rank`, over `q_0..q_L, p_0..p_{k-1}` of the parameters of a secret that
/// begins with `s`.
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

/// The same in the ring of degree `n factor`: the secret `pi^-1 (rho (t_0, .., t_{f-1}))` for each
/// `f` products `t_j` in turn, so that `epsilon` of its product with the packed polynomials is the
/// sum of the `f` products (section 4.1.1).
fn packed_products(secret: &SecretKey, to: &Params, factor: usize) -> Vec<Zeroizing<Poly<Ntt>>> {
    let params = secret.params();
    let n = params.degree();
    // Coefficients of a product are at most n < q_0 / 2: one prime tells them.
    let ring = params.q().prefix(1);
    let q = ring.modulus(0);
    let pairs: Vec<(usize, usize)> = index_pairs(params.rank()).collect();
    let wide = to.gadget().ring(to.limbs());
    let pack = |chunk: &[(usize, usize)]| {
        let mut packed = Zeroizing::new(vec![0i64; n * factor]);
        for (place, &(i, j)) in chunk.iter().enumerate() {
            let lowest = |i: usize| Zeroizing::new(secret.ntt(i).limb_range(0..1));
            let mut product = lowest(i);
            ring.mul_assign(&mut product, &lowest(j));
            let product = Zeroizing::new(ring.inverse((*product).clone()));
            let t = product.limb(0).iter().map(|&x| q.center(x));
            for (at, x) in t.enumerate() {
                // Component 0 stays in place, component j > 0 goes to X^-j.
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
