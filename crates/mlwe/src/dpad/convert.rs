//! Conversion between ranks over a small ring and RLWE over a large one, for messages in slots:
//! section 4.2 of the paper, and the ring switch of section 4.3.
//!
//! `R_N` has rank `f = N / n` over `R_n`, `Y = X^f`. A message `m(Y)` of the small ring, in its `n/2`
//! slots, is `m(X^f)` in the large ring, which is how the large ring holds `n/2` slots.
//!
//! - Large to small: [`ModuleMap::extract`], exact, without keys and without a transform.
//! - Small to large: [`ModuleMap::embed`] leaves `m` at every `f`-th coefficient and values without
//!   meaning between; [`RingConversion::clear`] sums the images under the group of automorphisms that
//!   fix `Y`, which cancels them and multiplies the rest by `f`.

use rand::CryptoRng;

use crate::galois::rotation_exponent;
use crate::rank::RankReduceKey;
use crate::{Ciphertext, Error, GaloisKeys, ModuleMap, Params, Result, SecretKey};

/// The exponents of the automorphisms of Algorithm 5: rotations by `n/2, n, 2n, .., N/4` slots,
/// which generate the group that fixes `X^(N/n)`.
///
/// None unless `1 < small < large`, both powers of two.
pub fn trace_exponents(large: usize, small: usize) -> Vec<usize> {
    if !(large.is_power_of_two() && small.is_power_of_two()) {
        return vec![];
    }
    let steps = std::iter::successors(Some(small / 2), |step| Some(step * 2));
    steps
        .take_while(|&step| step > 0 && 2 * step < large)
        .map(|step| rotation_exponent(large, step as i64))
        .collect()
}

/// A [`ModuleMap`] with the Galois keys that make an embedded message one in slots.
///
/// Noise: [`noise::trace`](crate::noise::trace).
#[derive(Debug, Clone)]
pub struct RingConversion {
    large: Params,
    map: ModuleMap,
    galois: GaloisKeys,
    exponents: Vec<usize>,
}

impl RingConversion {
    /// The conversion between the rank of `small` and the rings of `large`, for up to `limbs` limbs;
    /// `secret` is the secret over the large ring, [`ModuleMap::extract_secret`] of which is that
    /// over the small one.
    ///
    /// # Errors
    /// As for [`ModuleMap::new`] and [`GaloisKeys::generate`]; [`Error::Rank`] unless the rank of
    /// `small` is `f` times that of the large ring.
    pub fn generate<R: CryptoRng + ?Sized>(
        secret: &SecretKey,
        small: &Params,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        let large = secret.params();
        let map = ModuleMap::new(large, small, limbs)?;
        // Before any key is made.
        map.check_module_rank("generate keys of a conversion of rings")?;
        let exponents = trace_exponents(large.degree(), small.degree());
        let galois = GaloisKeys::generate(secret, exponents, limbs, rng)?;
        Self::from_parts(large, small, map, galois)
    }

    /// Puts a map between two parameter sets and Galois keys over the large ring together.
    ///
    /// # Errors
    /// [`Error::MissingGaloisKey`] if one of [`trace_exponents`] has no key,
    /// [`Error::ParamsMismatch`] if keys or map belong to another set, [`Error::Rank`] unless the rank
    /// over the small ring is `f` times that over the large one.
    pub fn from_parts(
        large: &Params,
        small: &Params,
        map: ModuleMap,
        galois: GaloisKeys,
    ) -> Result<Self> {
        let op = "assemble a conversion of rings";
        large.check(op, map.large().fingerprint())?;
        small.check(op, map.small().fingerprint())?;
        map.check_module_rank(op)?;
        let exponents = trace_exponents(large.degree(), small.degree());
        for &exponent in &exponents {
            large.check(op, galois.get(op, exponent)?.key().shape().to.fingerprint)?;
        }
        Ok(Self { large: large.clone(), map, galois, exponents })
    }

    /// The maps between the rings.
    pub fn map(&self) -> &ModuleMap {
        &self.map
    }

    /// The Galois keys.
    pub fn galois(&self) -> &GaloisKeys {
        &self.galois
    }

    /// `f`: what [`from_rank`](Self::from_rank) and [`clear`](Self::clear) multiply messages by.
    pub fn factor(&self) -> usize {
        self.map.factor()
    }

    /// Large to small: the message `m(X^f)` becomes `m(Y)` at rank `R f`.
    ///
    /// # Errors
    /// Those of [`ModuleMap::extract`].
    pub fn to_rank(&self, ct: &Ciphertext) -> Result<Ciphertext> {
        self.map.extract(ct)
    }

    /// Small to large, `Eval o Embed`: the message `m(Y)` at rank `R f` becomes `f m(X^f)`.
    ///
    /// # Errors
    /// Those of [`ModuleMap::embed`] and [`GaloisKey::apply`](crate::GaloisKey::apply).
    pub fn from_rank(&self, ct: &Ciphertext) -> Result<Ciphertext> {
        self.clear(self.map.embed(ct)?)
    }

    /// As [`from_rank`](Self::from_rank) with the message `m(X^f)` itself, not `f` times it: the embedded
    /// ciphertext is multiplied by `f^-1` modulo every prime first. What a coefficient of the message
    /// is off by stays as it is, and the automorphisms add their noise in full.
    ///
    /// Noise: `V` and [`noise::trace`](crate::noise::trace) of 0.
    ///
    /// # Errors
    /// As for [`from_rank`](Self::from_rank).
    pub fn from_rank_divided(&self, ct: &Ciphertext) -> Result<Ciphertext> {
        let mut embedded = self.map.embed(ct)?;
        let ring = embedded.ring(&self.large);
        let factor = self.factor() as u64;
        let inverses: Vec<u64> = ring
            .moduli()
            .map(|q| q.inv(factor % q.value()))
            .collect::<std::result::Result<_, _>>()?;
        for poly in std::iter::once(&mut embedded.b).chain(&mut embedded.a) {
            ring.mul_residues_assign(poly, &inverses);
        }
        self.clear(embedded)
    }

    /// `f (iota o epsilon)` of the message: coefficients between multiples of `f` go, those at
    /// multiples are multiplied by `f` (Algorithm 5, `log2(f)` automorphisms).
    ///
    /// As printed, line 3 rotates the input of the algorithm in every round; it is the sum so far
    /// that must be rotated, so that the rounds reach all `f` elements of the group.
    ///
    /// # Errors
    /// Those of [`GaloisKey::apply`](crate::GaloisKey::apply).
    pub fn clear(&self, mut ct: Ciphertext) -> Result<Ciphertext> {
        for &exponent in &self.exponents {
            let key = self.galois.get("clear coefficients", exponent)?;
            let image = key.apply(&self.large, &ct)?;
            ct.add_assign(&self.large, &image)?;
        }
        Ok(ct)
    }
}

/// The keys of a ring switch, `Eval o Embed o RankReduce o Extract` (section 4.3): from a ring of
/// degree `N` to one of degree `N' < N`, for messages in the slots of the ring of degree `n <= N'`.
#[derive(Debug, Clone)]
pub struct RingSwitchKeys {
    down: ModuleMap,
    reduce: RankReduceKey,
    module: Params,
    up: RingConversion,
}

impl RingSwitchKeys {
    /// Keys from `secret` to the ring of `target`, whose chain begins with the same `limbs` primes,
    /// for messages in the slots of degree `n = degree`. Gives the secret over the target ring too:
    /// it is a part of `secret`.
    ///
    /// # Errors
    /// [`Error::Degree`] unless `n` divides the target's degree, and that the degree of `secret`;
    /// [`Error::Rank`] unless the target's dimension is the smaller one; those of
    /// [`SecretKey::truncate_rank`], [`ModuleMap::new`] and [`Params::new`].
    pub fn generate<R: CryptoRng + ?Sized>(
        secret: &SecretKey,
        target: &Params,
        degree: usize,
        limbs: usize,
        rng: &mut R,
    ) -> Result<(Self, SecretKey)> {
        let op = "generate keys of a ring switch";
        let source = secret.params();
        let view = |params: &Params| {
            if degree == 0 || !params.degree().is_multiple_of(degree) {
                return Err(Error::Degree { op, found: degree, needed: params.degree() });
            }
            params.module_view(params.degree() / degree)
        };
        let (whole, module) = (view(source)?, view(target)?);
        let down = ModuleMap::new(source, &whole, limbs)?;
        let extracted = down.extract_secret(secret)?;
        let part = extracted.truncate_rank(&module, rng)?;
        let reduce = RankReduceKey::generate(&extracted, &part, limbs, rng)?;
        let embedded = ModuleMap::new(target, &module, limbs)?.embed_secret(&part)?;
        let up = RingConversion::generate(&embedded, &module, limbs, rng)?;
        Ok((Self { down, reduce, module, up }, embedded))
    }

    /// What the switch multiplies messages by: `N' / n`.
    pub fn factor(&self) -> usize {
        self.up.factor()
    }

    /// The rank reduction.
    pub fn reduce(&self) -> &RankReduceKey {
        &self.reduce
    }

    /// The small ring as the middle of the switch has it: the target's dimension at degree `n`.
    pub fn module(&self) -> &Params {
        &self.module
    }

    /// The conversion back to a ring.
    pub fn conversion(&self) -> &RingConversion {
        &self.up
    }

    /// The message `m(X^(N/n))` becomes `(N'/n) m(X^(N'/n))` over the target ring.
    ///
    /// # Errors
    /// If the ciphertext belongs to another key or has more limbs than the keys.
    pub fn switch(&self, ct: &Ciphertext) -> Result<Ciphertext> {
        let reduced = self.reduce.reduce(&self.module, &self.down.extract(ct)?)?;
        self.up.from_rank(&reduced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, message, params, rng};
    use crate::{ParamsSpec, measure, noise};
    use bellerophon_ring::{Ntt, Poly};

    const LARGE: usize = 512;

    /// `factor` times the message of the small ring at every `f`-th coefficient.
    fn spread(map: &ModuleMap, large: &Params, m: &Poly<Ntt>) -> Poly<Ntt> {
        let mut lifted = map.lift(m).unwrap();
        large.q().prefix(m.limbs()).mul_signed_assign(&mut lifted, map.factor() as i64);
        lifted
    }

    #[test]
    fn the_group_is_the_one_that_fixes_the_subring() {
        for log in 0..=6 {
            let small = LARGE >> log;
            let exponents = trace_exponents(LARGE, small);
            assert_eq!(exponents.len(), log);
            let group = exponents.iter().fold(vec![1], |group, g| {
                let more: Vec<usize> = group.iter().map(|x| x * g % (2 * LARGE)).collect();
                [group, more].concat()
            });
            let mut group = group;
            group.sort_unstable();
            let expected: Vec<usize> = (0..1 << log).map(|k| 1 + k * 2 * small).collect();
            assert_eq!(group, expected);
        }
        for (large, small) in [(8, 16), (8, 1), (8, 0), (512, 6), (384, 64)] {
            assert!(trace_exponents(large, small).is_empty());
        }
    }

    #[test]
    fn messages_in_slots_go_both_ways_at_every_rank() {
        for rank in [1, 2] {
            let large = params(LARGE, rank, 3, 1);
            let secret = SecretKey::generate(&large, &mut rng(1)).unwrap();
            for factor in [1, 2, 4, 8, 16, 32, 64] {
                let small = large.module_view(factor).unwrap();
                let conversion = RingConversion::generate(&secret, &small, 3, &mut rng(2)).unwrap();
                let map = conversion.map();
                let extracted = map.extract_secret(&secret).unwrap();
                let m = message(&small, 2, 5);
                let ct = extracted.encrypt(&m, &mut rng(3)).unwrap();
                // Small to large: every coefficient, also those between.
                let raised = conversion.from_rank(&ct).unwrap();
                let expected = spread(map, &large, &m);
                let phase = raised.phase(&secret).unwrap();
                let mut error = (*phase).clone();
                large.q().prefix(2).sub_assign(&mut error, &expected);
                let own = map.constant_part(&error).unwrap();
                let ring = small.q().prefix(2);
                let own = measure::NoiseStats::of(measure::centered_f64(&ring, &ring.inverse(own)));
                let fresh = noise::fresh_secret(&large);
                let predicted = noise::trace(&large, factor, 2, fresh);
                // As few as eight coefficients.
                let slack = if factor > 8 { 3.5 } else { 1.6 };
                assert_close(own.variance, predicted, slack);
                let all = measure::noise(&secret, &raised, &expected).unwrap();
                assert!(all.variance <= 1.6 * predicted, "{all:?}, {predicted}");
                // Without the factor: the noise that was there is not multiplied either.
                let divided = conversion.from_rank_divided(&ct).unwrap();
                let plain = map.lift(&m).unwrap();
                let phase = divided.phase(&secret).unwrap();
                let mut error = (*phase).clone();
                large.q().prefix(2).sub_assign(&mut error, &plain);
                let rest = map.constant_part(&error).unwrap();
                let rest =
                    measure::NoiseStats::of(measure::centered_f64(&ring, &ring.inverse(rest)));
                let predicted = fresh + noise::trace(&large, factor, 2, 0.0);
                assert_close(rest.variance, predicted, slack);
                let all = measure::noise(&secret, &divided, &plain).unwrap();
                assert!(all.variance <= 1.6 * predicted, "{all:?}, {predicted}");
                // Large to small and back: the message times the factor, the noise not more.
                let back = conversion.to_rank(&raised).unwrap();
                let mut scaled = m;
                ring.mul_signed_assign(&mut scaled, factor as i64);
                let stats = measure::noise(&extracted, &back, &scaled).unwrap();
                assert_eq!(stats.variance, own.variance);
            }
        }
    }

    #[test]
    fn rings_are_switched_in_one_call() {
        // From degree 512 to 256, 128 and 64 for messages in 32 slots.
        let source = params(LARGE, 1, 4, 2);
        let secret = SecretKey::generate(&source, &mut rng(1)).unwrap();
        for degree in [256, 128, 64] {
            let spec = source.spec();
            let target = ParamsSpec { degree, q: spec.q[..2].to_vec(), ..spec.clone() };
            let target = Params::new(target).unwrap();
            let (keys, part) =
                RingSwitchKeys::generate(&secret, &target, 64, 2, &mut rng(2)).unwrap();
            assert_eq!(keys.factor(), degree / 64);
            let tiny = Params::new(ParamsSpec { degree: 64, ..spec.clone() }).unwrap();
            let m = message(&tiny, 2, 5);
            let into = |params: &Params| ModuleMap::new(params, &tiny, 2).unwrap();
            let lifted = into(&source).lift(&m).unwrap();
            let ct = secret.encrypt(&lifted, &mut rng(3)).unwrap();
            let switched = keys.switch(&ct).unwrap();
            assert_eq!((switched.degree(), switched.limbs()), (degree, 2));
            let expected = spread(&into(&target), &target, &m);
            let stats = measure::noise(&part, &switched, &expected).unwrap();
            let module = target.module_view(degree / 64).unwrap();
            let before =
                noise::fresh_secret(&source) + noise::key_switch(&module, (LARGE - degree) / 64, 2);
            let bound = noise::trace(&target, degree / 64, 2, before);
            assert!(stats.variance < 2.0 * bound, "{stats:?}, {bound}");
            // The lower rank has the first part of the secret's weight.
            assert!(part.norm2() <= secret.norm2());
            let high = secret.encrypt(&message(&source, 3, 1), &mut rng(3)).unwrap();
            assert!(matches!(keys.switch(&high), Err(Error::Limbs { found: 3, .. })));
        }
        let same = RingSwitchKeys::generate(&secret, &source, 64, 2, &mut rng(2));
        assert!(matches!(same, Err(Error::Rank { .. })));
        let refused = RingSwitchKeys::generate(&secret, &source, 48, 2, &mut rng(2));
        assert!(matches!(refused, Err(Error::Degree { found: 48, .. })));
    }

    #[test]
    fn misfits_are_named() {
        let large = params(LARGE, 1, 3, 1);
        let small = large.module_view(4).unwrap();
        let secret = SecretKey::generate(&large, &mut rng(1)).unwrap();
        let conversion = RingConversion::generate(&secret, &small, 2, &mut rng(2)).unwrap();
        assert_eq!((conversion.factor(), conversion.galois().len()), (4, 2));
        let map = || conversion.map().clone();
        let refused = RingConversion::from_parts(&large, &small, map(), GaloisKeys::new());
        assert!(matches!(refused, Err(Error::MissingGaloisKey { .. })));
        let keys = conversion.galois().clone();
        let refused = RingConversion::from_parts(&small, &small, map(), keys.clone());
        assert!(matches!(refused, Err(Error::ParamsMismatch { .. })));
        let refused = RingConversion::from_parts(&large, &large, map(), keys.clone());
        assert!(matches!(refused, Err(Error::ParamsMismatch { .. })));
        // A map between equal ranks takes nothing from one rank to another.
        let flat = ParamsSpec { rank: 1, ..small.spec().clone() };
        let flat = Params::new(flat).unwrap();
        let level = ModuleMap::new(&large, &flat, 2).unwrap();
        let refused = RingConversion::from_parts(&large, &flat, level, keys.clone());
        assert!(matches!(refused, Err(Error::Rank { found: 1, needed: 4, .. })));
        let refused = RingConversion::generate(&secret, &flat, 2, &mut rng(2));
        assert!(matches!(refused, Err(Error::Rank { found: 1, needed: 4, .. })));
        let other = Params::new(ParamsSpec { sigma: 4.0, ..large.spec().clone() }).unwrap();
        let refused = RingConversion::from_parts(&other, &small, map(), keys);
        assert!(matches!(refused, Err(Error::ParamsMismatch { .. })));
        let ct = secret.encrypt(&message(&large, 1, 1), &mut rng(1)).unwrap();
        assert!(matches!(conversion.from_rank(&ct), Err(Error::ParamsMismatch { .. })));
        let extracted = conversion.to_rank(&ct).unwrap();
        assert!(matches!(conversion.to_rank(&extracted), Err(Error::ParamsMismatch { .. })));
        let high = secret.encrypt(&message(&large, 3, 1), &mut rng(1)).unwrap();
        assert!(matches!(conversion.to_rank(&high), Err(Error::Limbs { found: 3, .. })));
    }
}
