//! Packing of LWE values through a module of middle rank, after HERMES (Bae, Cheon, Kim, Park and
//! Stehlé, CRYPTO 2023), for comparison with Algorithm 1 ([`pack_values`](crate::pack_values)).
//!
//! An LWE value of dimension `N` is a module ciphertext of rank `N` over the ring of degree 1.
//! Values as coefficients of one polynomial of a larger ring keep their rank, and a key switch
//! lowers it:
//!
//! ```text
//! rank N over degree 1  ->  rank k over degree d, k = N / d  ->  rank 1 over degree N.
//! ```
//!
//! The first step gathers the `d` values `g, g + k, g + 2 k, ..` into one ciphertext of rank `N`
//! over degree `d` and switches its `N` masks, whose secrets are constants. The second step joins
//! `k` such ciphertexts, the `g`-th times `X^g`, and switches `k` masks of degree `N`. There is no
//! automorphism and no trace: an absent value is a zero, a group without values is skipped, and the
//! noise is that of two key switches for any number of values. The cost is a large key of `N` rows
//! of degree `d` and rank `k`. A small `d` makes the key small and the products of the first step
//! many ([`ModulePacking::multiplications`]).

use bellerophon_lwe as lwe;
use bellerophon_mlwe::{
    self as mlwe, Ciphertext, KeySwitchKey, ModuleMap, Params, SecretKey, SeededKeySwitchKey,
    key_switch, noise,
};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Ntt, Poly, Result, try_map};
use rand::CryptoRng;
use zeroize::Zeroizing;

use crate::error;
use crate::ring_packing::values_by_index;

/// The two parameter sets of a packing through a middle rank.
#[derive(Debug, Clone)]
pub struct ModulePacking {
    map: ModuleMap,
}

/// The two switching keys in the form to send.
#[derive(Debug, Clone, PartialEq)]
pub struct SeededModulePackingKeys {
    first: SeededKeySwitchKey,
    second: SeededKeySwitchKey,
}

/// The two switching keys, expanded.
#[derive(Debug, Clone, PartialEq)]
pub struct ModulePackingKeys {
    first: KeySwitchKey,
    second: KeySwitchKey,
}

impl ModulePacking {
    /// Packing of LWE values modulo the first prime of `ring`, under the coefficients of its
    /// secret, through `middle`: modules of rank `N / d` over the smaller degree `d`.
    pub fn new(ring: &Params, middle: &Params) -> Result<Self> {
        let map = ModuleMap::new(ring, middle, 1)?;
        for (params, what, needed) in
            [(ring, "rank of the ring", 1), (middle, "middle rank", map.factor())]
        {
            if params.spec().rank != needed {
                let (found, needed) = (params.spec().rank, needed.to_string());
                return Err(error::shape(what, found, needed));
            }
        }
        Ok(Self { map })
    }

    /// Generates the keys for values under `secret`. The middle secret is drawn here and dropped.
    pub fn keys<R: CryptoRng + ?Sized>(
        &self,
        secret: &SecretKey,
        rng: &mut R,
    ) -> Result<SeededModulePackingKeys> {
        let (large, small) = (self.map.large(), self.map.small());
        if secret.params().fingerprint() != large.fingerprint() {
            let (found, needed) = (secret.params().fingerprint(), large.fingerprint());
            return Err(mlwe::error::params_mismatch(found, needed));
        }
        let middle = SecretKey::generate(small, rng)?;
        let lift = |params: &Params, coefficients: &[i64]| {
            let ring = params.gadget().ring(params.q().limbs());
            Zeroizing::new(ring.forward(ring.from_signed(coefficients)))
        };
        // Step 1: from the coefficients of the secret, as constants, to the middle secret.
        let mut constant = Zeroizing::new(vec![0; small.spec().degree]);
        let constants: Vec<_> = secret
            .coefficients(0)
            .iter()
            .map(|&s| {
                constant[0] = s;
                lift(small, &constant)
            })
            .collect();
        let constants: Vec<_> = constants.iter().map(|s| &**s).collect();
        let first = KeySwitchKey::generate(&constants, secret.into(), &middle, 1, rng)?.compress();
        // Step 2: from the components of the middle secret, as polynomials in X^k, back to the
        // secret.
        let mut spread = Zeroizing::new(vec![0; large.spec().degree]);
        let components: Vec<_> = (0..small.spec().rank)
            .map(|i| {
                let powers = spread.iter_mut().step_by(small.spec().rank);
                powers.zip(middle.coefficients(i)).for_each(|(x, &s)| *x = s);
                lift(large, &spread)
            })
            .collect();
        let components: Vec<_> = components.iter().map(|s| &**s).collect();
        let second = KeySwitchKey::generate(&components, (&middle).into(), secret, 1, rng)?;
        Ok(SeededModulePackingKeys { first, second: second.compress() })
    }

    /// One ciphertext with value `i` as the coefficient of `X^i`, like that of
    /// [`pack_values`](crate::pack_values) with `n = 1`. Absent values count as zero. Groups run on
    /// the active rayon pool.
    ///
    /// # Errors
    /// Two values of one index are refused: [`ErrorKind::Shape`].
    pub fn pack<'v>(
        &self,
        keys: &ModulePackingKeys,
        values: impl IntoIterator<Item = (usize, &'v lwe::Ciphertext)>,
    ) -> Result<Ciphertext> {
        // Step 1: checks, and groups of indices that are equal modulo k.
        let (degree, rank) = (self.map.large().spec().degree, self.map.factor());
        let mut groups: Vec<Vec<(usize, &lwe::Ciphertext)>> = vec![vec![]; rank];
        for (index, value) in values_by_index(self.map.large().q(), values)? {
            if index >= degree {
                let needed = format!("below the degree {degree}");
                return Err(error::shape("index of a value", index, needed));
            }
            groups[index % rank].push((index / rank, value));
        }
        if groups.iter().all(Vec::is_empty) {
            return Err(error::no_rows());
        }
        // Step 2: every group to the middle rank; then all together to rank 1.
        let parts = try_map(&groups, |group| {
            (!group.is_empty()).then(|| self.gather(keys, group)).transpose()
        })?;
        self.join(keys, &parts)
    }

    /// The first step: the values of a group, with their positions, as a ciphertext of middle rank.
    fn gather(
        &self,
        keys: &ModulePackingKeys,
        group: &[(usize, &lwe::Ciphertext)],
    ) -> Result<Ciphertext> {
        let small = self.map.small();
        let ring = small.q().at_limbs(1);
        // One coordinate of all values, as the coefficients of a polynomial.
        let gathered = |coordinate: &dyn Fn(&lwe::Ciphertext) -> u64| {
            let mut poly = ring.zero();
            for &(position, value) in group {
                poly.limb_mut(0)[position] = coordinate(value);
            }
            ring.forward(poly)
        };
        // Each coordinate of the LWE masks becomes one mask over the small ring.
        let masks: Vec<Poly<Ntt>> = (0..self.map.large().spec().degree)
            .map(|l| gathered(&|value: &lwe::Ciphertext| value.a()[l]))
            .collect();
        // N masks of degree d become k, under the middle secret.
        let switched = key_switch(small, &masks, &keys.first)?;
        let key = switched.ident().key;
        let (mut b, a) = switched.into_parts();
        // The bodies of the values join after the switch, which acts on masks alone.
        ring.add_assign(&mut b, &gathered(&lwe::Ciphertext::b));
        Ciphertext::new(small, b, a, key)
    }

    /// The second step: ciphertexts of middle rank joined and switched to rank 1.
    fn join(&self, keys: &ModulePackingKeys, parts: &[Option<Ciphertext>]) -> Result<Ciphertext> {
        let (large, zero) = (self.map.large(), self.map.small().q().at_limbs(1).zero());
        let joined = |component: &dyn Fn(&Ciphertext) -> Poly<Ntt>| {
            let parts: Vec<_> =
                parts.iter().map(|part| part.as_ref().map_or(zero.clone(), component)).collect();
            self.map.join(&parts)
        };
        // Bodies and masks of all groups, interleaved; an absent group is zero.
        let body = joined(&|part: &Ciphertext| part.b().clone())?;
        let masks = (0..self.map.factor()).map(|l| joined(&|part| part.masks()[l].clone()));
        let masks: Vec<_> = masks.collect::<Result<_>>()?;
        // k masks of degree N become one.
        let switched = key_switch(large, &masks, &keys.second)?;
        let key = switched.ident().key;
        let (mut b, a) = switched.into_parts();
        large.q().at_limbs(1).add_assign(&mut b, &body);
        Ciphertext::new(large, b, a, key)
    }

    /// Variance of the noise of a packed value for values of variance `input`: `input` plus the
    /// noise of a key switch from rank `N` over the small ring and of one from rank `k` over the
    /// large ring ([`bellerophon_mlwe::noise::key_switch`]).
    pub fn noise(&self, input: f64) -> f64 {
        let (large, small) = (self.map.large(), self.map.small());
        input
            + noise::key_switch(small, large.spec().degree, 1)
            + noise::key_switch(large, small.spec().rank, 1)
    }

    /// Multiplications modulo a prime for `groups` groups (of `k`) with values, over one prime and
    /// `p` special primes. A butterfly counts as one multiplication.
    ///
    /// For each group, `N` masks are transformed, transformed back and extended to the special
    /// primes, and the `k + 1` columns of the product are divided. In the second step there are `k`
    /// masks and two columns, and `k + 1` polynomials to join.
    pub fn multiplications(&self, groups: usize) -> f64 {
        let (n, d) = (self.map.large().spec().degree as f64, self.map.small().spec().degree as f64);
        let k = self.map.factor() as f64;
        let special = |params: &Params| params.p().limbs() as f64;
        let butterflies = |degree: f64| degree / 2.0 * degree.log2();
        let switch = |rows: f64, columns: f64, degree: f64, special: f64| {
            let transforms = rows * (1.0 + special) + columns * (special + 1.0);
            transforms * butterflies(degree) + rows * columns * (1.0 + special) * degree
        };
        let (below, above) = (special(self.map.small()), special(self.map.large()));
        let gather = (n + 1.0) * butterflies(d) + switch(n, k + 1.0, d, below);
        groups as f64 * gather + (k + 1.0) * n / 2.0 * k.log2() + switch(k, 2.0, n, above)
    }
}

impl SeededModulePackingKeys {
    /// The keys with their uniform parts expanded.
    pub fn expand(&self, packing: &ModulePacking) -> Result<ModulePackingKeys> {
        let first = self.first.expand(packing.map.small())?;
        Ok(ModulePackingKeys { first, second: self.second.expand(packing.map.large())? })
    }

    /// Bytes with residues packed to the bits of their primes, seeds included.
    pub fn byte_len(&self, packing: &ModulePacking) -> usize {
        self.first.byte_len(packing.map.small()) + self.second.byte_len(packing.map.large())
    }
}

impl ModulePackingKeys {
    /// Bytes in memory.
    #[cfg(test)]
    pub(crate) fn memory_len(&self) -> usize {
        self.first.memory_len() + self.second.memory_len()
    }
}

#[cfg(test)]
mod tests;
