//! Conversion between ranks over a small ring and RLWE over a large ring, for messages in slots
//! (section 4.2 of the paper), and ring switching (section 4.3).
//!
//! `R_N` has rank `f = N / n` over `R_n`, with `Y = X^f`. A message `m(Y)` in the `n/2` slots of
//! the small ring is `m(X^f)` in the large ring: the sparse packing of `n/2` slots.
//!
//! - Large to small: [`ModuleMap::extract`] is exact and needs neither keys nor a transform.
//! - Small to large: [`ModuleMap::embed`] leaves `m` at every `f`-th coefficient and meaningless
//!   values at the others. [`RingConversion::clear`] sums the images under the group of
//!   automorphisms that fix `Y`. The sum cancels the other coefficients and multiplies `m` by `f`.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;
use bellerophon_ring::error::ensure;
use bellerophon_ring::error::operation;
use rand::CryptoRng;

use crate::ciphertext::Ciphertext;
use crate::error;
use crate::galois::{GaloisKeys, rotation_exponent};
use crate::module_map::ModuleMap;
use crate::params::Params;
use crate::rank_reduction::RankReduceKey;
use crate::secret::SecretKey;

/// The exponents of the automorphisms of Algorithm 5: rotations by `n/2, n, 2n, .., N/4` slots.
/// They generate the group that fixes `X^(N/n)`.
///
/// Empty unless `1 < small < large`, both powers of two.
pub fn trace_exponents(large: usize, small: usize) -> Vec<usize> {
    if !(large.is_power_of_two() && small.is_power_of_two()) {
        return vec![];
    }
    // Steps double from n/2 up to N/4.
    let steps = std::iter::successors(Some(small / 2), |step| Some(step * 2));
    steps
        .take_while(|&step| step > 0 && 2 * step < large)
        .map(|step| rotation_exponent(large, step as i64))
        .collect()
}

/// A [`ModuleMap`] with the Galois keys that clear the meaningless coefficients of an embedded
/// message.
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
    /// Generates the conversion between the module rank of `small` and the ring of `large`, for up
    /// to `limbs` limbs. `secret` is the secret over the large ring; the secret over the small ring
    /// is [`ModuleMap::extract_secret`] of it.
    pub fn generate<R: CryptoRng + ?Sized>(
        secret: &SecretKey,
        small: &Params,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        let large = secret.params();
        let map = ModuleMap::new(large, small, limbs)?;
        // Checked before any key is generated.
        map.check_module_rank()?;
        let exponents = trace_exponents(large.degree(), small.degree());
        let galois = GaloisKeys::generate(secret, exponents, limbs, rng)?;
        Self::from_parts(large, small, map, galois)
    }

    /// Assembles a map between two parameter sets and Galois keys over the large ring.
    pub fn from_parts(
        large: &Params,
        small: &Params,
        map: ModuleMap,
        galois: GaloisKeys,
    ) -> Result<Self> {
        // Map and keys must belong to the two parameter sets.
        large.check(map.large().fingerprint())?;
        small.check(map.small().fingerprint())?;
        map.check_module_rank()?;
        let exponents = trace_exponents(large.degree(), small.degree());
        // Every automorphism of the trace needs a key, and all keys have one secret.
        let mut end = None;
        for &exponent in &exponents {
            let key = galois.get(exponent)?;
            let to = key.key().shape().to;
            large.check(to.fingerprint)?;
            key.key().check_end(*end.get_or_insert(to))?;
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

    /// Large to small: the message `m(X^f)` becomes `m(Y)` at rank `R f`.
    pub fn to_rank(&self, ct: &Ciphertext) -> Result<Ciphertext> {
        self.map.extract(ct)
    }

    /// Small to large, `Eval o Embed`: the message `m(Y)` at rank `R f` becomes `f m(X^f)`.
    pub fn from_rank(&self, ct: &Ciphertext) -> Result<Ciphertext> {
        self.clear(self.map.embed(ct)?)
    }

    /// As [`from_rank`](Self::from_rank), but the result has the message `m(X^f)` itself, not `f`
    /// times it: the embedded ciphertext is multiplied by `f^-1` modulo every prime first. The
    /// noise of the input is unchanged; the automorphisms add their noise in full.
    ///
    /// Noise: with an input of variance `V`, the sum of `V` and
    /// [`noise::trace`](crate::noise::trace) of 0.
    pub fn from_rank_divided(&self, ct: &Ciphertext) -> Result<Ciphertext> {
        let mut embedded = self.map.embed(ct)?;
        let ring = embedded.ring(&self.large);
        // f is a power of two, so it is invertible modulo every odd prime.
        let factor = self.map().factor() as u64;
        let inverses: Vec<u64> = ring
            .moduli()
            .map(|q| q.inv(factor % q.value()))
            .collect::<std::result::Result<_, _>>()?;
        for poly in std::iter::once(&mut embedded.b).chain(&mut embedded.a) {
            ring.mul_residues_assign(poly, &inverses);
        }
        self.clear(embedded)
    }

    /// The trace: `f (iota o epsilon)` of the message. It cancels the coefficients between
    /// multiples of `f` and multiplies the others by `f` (Algorithm 5 with `log2(f)`
    /// automorphisms).
    ///
    /// Line 3 of Algorithm 5 as printed rotates the input of the algorithm in every round. The
    /// implementation rotates the partial sum instead, as the rounds must reach all `f` elements of
    /// the group.
    pub(crate) fn clear(&self, mut ct: Ciphertext) -> Result<Ciphertext> {
        // Algorithm 5: each round doubles the subgroup that the sum runs over.
        for &exponent in &self.exponents {
            let key = self.galois.get(exponent)?;
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
    /// Generates keys from `secret` to the ring of `target`, whose chain begins with the same
    /// `limbs` primes, for messages in the slots of degree `n = degree`. Also returns the secret
    /// over the target ring, which is a part of `secret`.
    pub fn generate<R: CryptoRng + ?Sized>(
        secret: &SecretKey,
        target: &Params,
        degree: usize,
        limbs: usize,
        rng: &mut R,
    ) -> Result<(Self, SecretKey)> {
        let source = secret.params();
        // Step 1: source and target as modules over the ring of degree n.
        let view = |params: &Params| {
            if degree == 0 || !params.degree().is_multiple_of(degree) {
                return Err(error::degree(degree, params.degree()));
            }
            params.module_view(params.degree() / degree)
        };
        let (whole, module) = (view(source)?, view(target)?);
        // Step 2: extraction, and rank reduction to a part of the extracted secret.
        let down = ModuleMap::new(source, &whole, limbs)?;
        let extracted = down.extract_secret(secret)?;
        let part = extracted.truncate_rank(&module, rng)?;
        let reduce = RankReduceKey::generate(&extracted, &part, limbs, rng)?;
        // Step 3: embedding into the target ring, with the keys of the trace.
        let embedded = ModuleMap::new(target, &module, limbs)?.embed_secret(&part)?;
        let up = RingConversion::generate(&embedded, &module, limbs, rng)?;
        Ok((Self { down, reduce, module, up }, embedded))
    }

    /// Assembles the rank reduction and the conversion to the target ring, for a `source` whose
    /// ciphertexts are switched.
    pub(crate) fn from_parts(
        source: &Params,
        reduce: RankReduceKey,
        up: RingConversion,
    ) -> Result<Self> {
        // Step 1: the source as a module over the ring of the conversion.
        let module = up.map().small().clone();
        let (found, needed) = (module.degree(), source.degree());
        ensure(needed.is_multiple_of(found), || error::degree(found, needed))?;
        let whole = source.module_view(needed / found)?;
        // Step 2: the reduction drops the components that the target does not have.
        let shape = *reduce.key().shape();
        whole.check(shape.from.fingerprint)?;
        module.check(shape.to.fingerprint)?;
        if shape.from_rank + module.rank() != whole.rank() {
            let needed = whole.rank().saturating_sub(module.rank());
            return Err(error::rank(shape.from_rank, needed));
        }
        // Step 3: the trace starts at the secret where the reduction ends.
        let needed = shape.to.key;
        let found = up.galois().iter().map(|key| key.key().shape().to.key).find(|&id| id != needed);
        if let Some(found) = found {
            return Err(error::key_mismatch(found, needed));
        }
        let down = ModuleMap::new(source, &whole, shape.limbs)?;
        Ok(Self { down, reduce, module, up })
    }

    /// The parameters of ciphertexts that are switched.
    pub fn source(&self) -> &Params {
        self.down.large()
    }

    /// The conversion to the target ring.
    pub(crate) fn up(&self) -> &RingConversion {
        &self.up
    }

    /// `N' / n`: the factor by which the switch multiplies messages.
    pub fn factor(&self) -> usize {
        self.up.map().factor()
    }

    /// The rank reduction.
    pub fn reduce(&self) -> &RankReduceKey {
        &self.reduce
    }

    /// The target as a module over the ring of degree `n`.
    pub fn module(&self) -> &Params {
        &self.module
    }

    /// The message `m(X^(N/n))` becomes `(N'/n) m(X^(N'/n))` over the target ring.
    pub fn switch(&self, ct: &Ciphertext) -> Result<Ciphertext> {
        operation("RingSwitchKeys::switch", || {
            // Eval o Embed o RankReduce o Extract, from right to left.
            let reduced = self.reduce.reduce(&self.module, &self.down.extract(ct)?)?;
            self.up.from_rank(&reduced)
        })
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::{ErrorKind, Ntt, Poly};

    use super::*;
    use crate::error::refusal;
    use crate::noise::{self, measured};
    use crate::params::ParamsSpec;
    use crate::testing::{assert_close, message, params, rng};

    const LARGE: usize = 512;

    /// `factor` times the message of the small ring at every `f`-th coefficient.
    fn spread(map: &ModuleMap, large: &Params, m: &Poly<Ntt>) -> Poly<Ntt> {
        let mut lifted = map.lift(m).unwrap();
        large.q().at_limbs(m.limbs()).mul_signed_assign(&mut lifted, map.factor() as i64);
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
                large.q().at_limbs(2).sub_assign(&mut error, &expected);
                let own = map.constant_part(&error).unwrap();
                let ring = small.q().at_limbs(2);
                let own =
                    measured::NoiseStats::of(measured::centered_f64(&ring, &ring.inverse(own)));
                let fresh = noise::fresh_secret(&large);
                let predicted = noise::trace(&large, factor, 2, fresh);
                // As few as eight coefficients.
                let slack = if factor > 8 { 3.5 } else { 1.6 };
                assert_close(own.variance, predicted, slack);
                let all = measured::noise(&secret, &raised, &expected).unwrap();
                assert!(all.variance <= 1.6 * predicted, "{all:?}, {predicted}");
                // Without the factor: the noise that was there is not multiplied either.
                let divided = conversion.from_rank_divided(&ct).unwrap();
                let plain = map.lift(&m).unwrap();
                let phase = divided.phase(&secret).unwrap();
                let mut error = (*phase).clone();
                large.q().at_limbs(2).sub_assign(&mut error, &plain);
                let rest = map.constant_part(&error).unwrap();
                let rest =
                    measured::NoiseStats::of(measured::centered_f64(&ring, &ring.inverse(rest)));
                let predicted = fresh + noise::trace(&large, factor, 2, 0.0);
                assert_close(rest.variance, predicted, slack);
                let all = measured::noise(&secret, &divided, &plain).unwrap();
                assert!(all.variance <= 1.6 * predicted, "{all:?}, {predicted}");
                // Large to small and back: the message times the factor, the noise not more.
                let back = conversion.to_rank(&raised).unwrap();
                let mut scaled = m;
                ring.mul_signed_assign(&mut scaled, factor as i64);
                let stats = measured::noise(&extracted, &back, &scaled).unwrap();
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
            assert_eq!((switched.b().degree(), switched.limbs()), (degree, 2));
            let expected = spread(&into(&target), &target, &m);
            let stats = measured::noise(&part, &switched, &expected).unwrap();
            let module = target.module_view(degree / 64).unwrap();
            let before =
                noise::fresh_secret(&source) + noise::key_switch(&module, (LARGE - degree) / 64, 2);
            let bound = noise::trace(&target, degree / 64, 2, before);
            assert!(stats.variance < 2.0 * bound, "{stats:?}, {bound}");
            // The lower rank has the first part of the secret's weight.
            assert!(part.norm2() <= secret.norm2());
            let high = secret.encrypt(&message(&source, 3, 1), &mut rng(3)).unwrap();
            assert!(refusal(&keys.switch(&high)).is(&ErrorKind::Level, "3 limbs where"));
        }
        let same = RingSwitchKeys::generate(&secret, &source, 64, 2, &mut rng(2));
        assert!(refusal(&same).is(&ErrorKind::Shape, "where rank"));
        let refused = RingSwitchKeys::generate(&secret, &source, 48, 2, &mut rng(2));
        assert!(refusal(&refused).is(&ErrorKind::Shape, "a polynomial of degree bound 48 where"));
    }

    #[test]
    fn misfits_are_named() {
        let large = params(LARGE, 1, 3, 1);
        let small = large.module_view(4).unwrap();
        let secret = SecretKey::generate(&large, &mut rng(1)).unwrap();
        let conversion = RingConversion::generate(&secret, &small, 2, &mut rng(2)).unwrap();
        assert_eq!((conversion.map().factor(), conversion.galois().exponents().len()), (4, 2));
        let map = || conversion.map().clone();
        let refused = RingConversion::from_parts(&large, &small, map(), GaloisKeys::default());
        assert!(
            refusal(&refused)
                .is(&ErrorKind::MissingKey { need: "" }, "generate it with the others (there are")
        );
        let keys = conversion.galois().clone();
        let refused = RingConversion::from_parts(&small, &small, map(), keys.clone());
        assert!(
            refusal(&refused)
                .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
        );
        let refused = RingConversion::from_parts(&large, &large, map(), keys.clone());
        assert!(
            refusal(&refused)
                .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
        );
        // A map between equal ranks takes nothing from one rank to another.
        let flat = ParamsSpec { rank: 1, ..small.spec().clone() };
        let flat = Params::new(flat).unwrap();
        let level = ModuleMap::new(&large, &flat, 2).unwrap();
        let refused = RingConversion::from_parts(&large, &flat, level, keys.clone());
        assert!(refusal(&refused).is(&ErrorKind::Shape, "rank 1 where rank 4 is needed"));
        let refused = RingConversion::generate(&secret, &flat, 2, &mut rng(2));
        assert!(refusal(&refused).is(&ErrorKind::Shape, "rank 1 where rank 4 is needed"));
        let other = Params::new(ParamsSpec { sigma: 4.0, ..large.spec().clone() }).unwrap();
        let refused = RingConversion::from_parts(&other, &small, map(), keys);
        assert!(
            refusal(&refused)
                .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
        );
        let ct = secret.encrypt(&message(&large, 1, 1), &mut rng(1)).unwrap();
        assert!(
            refusal(&conversion.from_rank(&ct))
                .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
        );
        let extracted = conversion.to_rank(&ct).unwrap();
        assert!(
            refusal(&conversion.to_rank(&extracted))
                .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
        );
        let high = secret.encrypt(&message(&large, 3, 1), &mut rng(1)).unwrap();
        assert!(refusal(&conversion.to_rank(&high)).is(&ErrorKind::Level, "3 limbs where"));
    }
}
