//! Rank-hoisted rotations: Algorithm 2 (DPad-HE).
//!
//! Consecutive rotations are computed at the temporary rank, where a key switch has few digits. One
//! rank-down at the end returns to the original rank. With keys for plus and minus the powers of
//! two only, a rotation by any step takes `log2(n/2) / 3` of them on average (non-adjacent form). A
//! small set of keys therefore serves every step.

use std::collections::BTreeSet;
use std::sync::Arc;

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::error::ensure;
use bellerophon_ring::{Addend, Epilogue, KeyRows, Ntt, Poly, Result};
use rand::CryptoRng;

use crate::ciphertext::Ciphertext;
use crate::error;
use crate::galois::{GaloisKey, GaloisKeys, rotation_exponent};
use crate::params::{Params, check_chains};
use crate::rank_reduction::{RankReduceKey, check_extension};
use crate::secret::SecretKey;

/// The step as a sum of the fewest signed powers of two, no two adjacent, smallest first
/// (Reitwiesner's non-adjacent form).
///
/// Steps are taken modulo the `degree / 2` slots; the representative nearest to zero is used.
pub fn non_adjacent_form(degree: usize, step: i64) -> Vec<i64> {
    let slots = degree as i64 / 2;
    let step = step.rem_euclid(slots.max(1));
    // The representative nearest to zero has the shortest form.
    let mut rest = if 2 * step > slots { step - slots } else { step };
    let (mut power, mut form) = (1, vec![]);
    while rest != 0 {
        if rest & 1 == 1 {
            // Choose the digit 1 or -1 that leaves a multiple of four.
            let digit = 2 - rest.rem_euclid(4);
            form.push(digit * power);
            rest -= digit;
        }
        rest >>= 1;
        power *= 2;
    }
    form
}

/// Galois keys at a temporary rank, and the rank-down key.
///
/// Noise: [`noise::hoisted_rotations`](crate::noise::hoisted_rotations).
#[derive(Debug, Clone)]
pub struct RankHoistedKeys {
    base: Params,
    raised: Params,
    /// Keys under `(s || s')`, modulo `Q P^`.
    galois: GaloisKeys,
    down: RankReduceKey,
}

impl RankHoistedKeys {
    /// Generates keys for rotations by plus and minus every power of two, of ciphertexts of up to
    /// `limbs` limbs. `raised` is a [`SecretKey::extend_rank`] of `secret`. Relinearization may use
    /// the same secret ([`RelinKeys::generate_under`](crate::RelinKeys::generate_under)).
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] or [`ErrorKind::Parameters`] unless `raised` is as secure as
    /// [`SecretKey::extend_rank`] makes it.
    pub fn generate<R: CryptoRng + ?Sized>(
        secret: &SecretKey,
        raised: &SecretKey,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        check_extension(raised, secret)?;
        let exponents = Self::exponents(secret.params().degree());
        let down = RankReduceKey::generate(raised, secret, limbs, rng)?;
        let galois = GaloisKeys::generate(raised, exponents, limbs, rng)?;
        Self::from_parts(secret.params(), raised.params(), galois, Some(down))
    }

    /// The exponents of the rotations by plus and minus every power of two, each once.
    pub fn exponents(degree: usize) -> BTreeSet<usize> {
        // +-2^k for every 2^k up to half of the slots; at the top both signs coincide.
        let powers = (0..(degree / 4).ilog2() + 1).flat_map(|k| [1i64 << k, -(1i64 << k)]);
        powers.map(|step| rotation_exponent(degree, step)).collect()
    }

    /// Assembles any Galois keys at the rank of `raised` and the rank-down key to `base`.
    pub fn from_parts(
        base: &Params,
        raised: &Params,
        galois: GaloisKeys,
        down: Option<RankReduceKey>,
    ) -> Result<Self> {
        let Some(down) = down else {
            let (found, needed) = (raised.rank(), base.rank());
            return Err(error::missing_rank_down_key(found, needed));
        };
        // The rank-down key must lead from `raised` to `base`.
        let shape = *down.key().shape();
        raised.check(shape.from.fingerprint)?;
        base.check(shape.to.fingerprint)?;
        if base.rank() + shape.from_rank != raised.rank() {
            let needed = raised.rank().saturating_sub(base.rank());
            return Err(error::rank(shape.from_rank, needed));
        }
        check_chains(base, raised, shape.limbs)?;
        // The Galois keys must be under the secret at the temporary rank.
        for key in galois.iter() {
            key.key().check_end(shape.from)?;
        }
        Ok(Self { base: base.clone(), raised: raised.clone(), galois, down })
    }

    /// The Galois keys at the temporary rank.
    pub fn galois(&self) -> &GaloisKeys {
        &self.galois
    }

    /// The rank-down key.
    pub fn down(&self) -> &RankReduceKey {
        &self.down
    }

    /// The parameters at the temporary rank.
    pub fn raised(&self) -> &Params {
        &self.raised
    }

    /// Size in bytes of all keys in seeded, bit-packed form.
    pub fn seeded_byte_len(&self) -> usize {
        self.galois.byte_len(&self.raised) + self.down.key().seeded_byte_len(&self.base)
    }

    /// Rotates the slots left by `step`, or right for a negative step, as a sequence of the powers
    /// of two in the non-adjacent form of the step.
    pub fn rotate(&self, ct: &Ciphertext, step: i64) -> Result<Ciphertext> {
        // One automorphism per term of the non-adjacent form.
        let degree = self.base.degree();
        let powers = non_adjacent_form(degree, step);
        let exponents: Vec<usize> =
            powers.into_iter().map(|step| rotation_exponent(degree, step)).collect();
        self.apply(ct, &exponents)
    }

    /// Applies the automorphisms `X -> X^g` of the given exponents in `[1, 2n)` in order, with one
    /// rank-down. Without exponents, returns a copy of the ciphertext.
    pub fn apply(&self, ct: &Ciphertext, exponents: &[usize]) -> Result<Ciphertext> {
        let end = self.down.key().shape().to;
        self.base.check(ct.ident.fingerprint)?;
        ensure(ct.ident.key == end.key, || error::key_mismatch(ct.ident.key, end.key))?;
        // Fetch and check every key before any computation.
        let keys: Vec<Arc<GaloisKey>> =
            exponents.iter().map(|&g| self.galois.get(g)).collect::<Result<_>>()?;
        let further = self.raised.rank() - self.base.rank();
        self.down.key().check_digits(further, ct.limbs())?;
        for key in &keys {
            key.key().check_digits(self.raised.rank(), ct.limbs())?;
        }
        let Some((first, further)) = keys.split_first() else { return Ok(ct.clone()) };
        // Lines 1 to 4 of Algorithm 2 (DPad-HE): rank-up and the first automorphism, fused.
        let mut ct = self.first(first, ct)?;
        // The further automorphisms stay at the temporary rank.
        for key in further {
            ct = key.apply(&self.raised, &ct)?;
        }
        // Line 5: one rank-down to the original rank.
        self.down.reduce(&self.base, &ct)
    }

    /// The first automorphism. Line 1 of Algorithm 2 appends zero masks. Their digits are zero too,
    /// so these digits and their key rows are left out.
    fn first(&self, galois: &GaloisKey, ct: &Ciphertext) -> Result<Ciphertext> {
        // Digits of the masks of the base rank, cut for the special primes P^.
        let key = galois.key();
        let masks: Vec<&Poly<Ntt>> = ct.masks().iter().collect();
        let digits = self.raised.gadget().digits_of(&masks);
        let count = self.raised.gadget().digits(ct.limbs());
        // Rows of the key for the first masks alone, column by column.
        let row = |at: usize| key.row(at / ct.rank(), at % ct.rank());
        let rows = 0..count * ct.rank();
        let bodies = rows.clone().map(|at| row(at).0).collect();
        let masks = (0..self.raised.rank()).map(|c| rows.clone().map(|at| &row(at).1[c]).collect());
        let columns = std::iter::once(bodies).chain(masks).collect();
        // Switch, add the body, mod-down and permute in one pass.
        let map = Some(galois.map());
        let epilogue =
            Epilogue { addends: vec![Some(Addend::Poly(&ct.b))], map, ..Epilogue::default() };
        let rows = KeyRows { columns, limbs: key.limbs() };
        let columns = digits.divided_product(&rows, &epilogue);
        Ok(Ciphertext::of_columns(columns, key.shape().to))
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::{ErrorKind, Modulus, prime};

    use super::*;
    use crate::error::refusal;
    use crate::galois::conjugation_exponent;
    use crate::noise::{self, measured};
    use crate::params::ParamsSpec;
    use crate::security::Security;
    use crate::testing::{assert_close, message, params, rng};

    /// Parameters and a secret, and the same at a temporary rank with two special primes more.
    fn world(degree: usize, rank: usize, raised: usize) -> (SecretKey, SecretKey) {
        let base = params(degree, rank, 4, 1);
        let q: Vec<Modulus> = base.q().moduli().cloned().collect();
        let p = prime::ntt_primes_below(degree, 50, 3, &q).unwrap();
        let p = p.iter().map(Modulus::value).collect();
        let raised = Params::new(ParamsSpec { rank: raised, p, ..base.spec().clone() }).unwrap();
        let secret = SecretKey::generate(&base, &mut rng(1)).unwrap();
        let extended = secret.extend_rank(&raised, &mut rng(2)).unwrap();
        (secret, extended)
    }

    #[test]
    fn forms_are_sums_of_non_adjacent_signed_powers() {
        for degree in [8usize, 64, 1024] {
            let slots = degree as i64 / 2;
            for step in -slots..=slots {
                let form = non_adjacent_form(degree, step);
                assert_eq!((form.iter().sum::<i64>() - step).rem_euclid(slots), 0);
                let mut last = 0;
                for x in form {
                    assert!(x.unsigned_abs().is_power_of_two() && x.abs() <= slots / 2);
                    assert!(x.abs() > 2 * last, "{step}");
                    last = x.abs();
                }
            }
        }
        assert_eq!(non_adjacent_form(1024, 7), [-1, 8]);
        assert_eq!(non_adjacent_form(1024, -256), non_adjacent_form(1024, 256));
        assert!(non_adjacent_form(1024, 0).is_empty() && non_adjacent_form(1024, 512).is_empty());
    }

    #[test]
    fn any_step_at_any_rank() {
        for (rank, raised) in [(1, 2), (2, 3), (3, 5)] {
            let (secret, raised) = world(256, rank, raised);
            let base = secret.params().clone();
            let keys = RankHoistedKeys::generate(&secret, &raised, 4, &mut rng(3)).unwrap();
            // Plus and minus 64 of 128 slots are one rotation.
            assert_eq!(keys.galois().exponents().len(), 13);
            for limbs in [1, 4] {
                let m = message(&base, limbs, 7);
                let ct = secret.encrypt(&m, &mut rng(4)).unwrap();
                for step in [0i64, 1, -2, 64, 37, -63, 127] {
                    let rotated = keys.rotate(&ct, step).unwrap();
                    let ring = base.q().at_limbs(limbs);
                    let map = ring.automorphism(rotation_exponent(256, step)).unwrap();
                    let expected = ring.apply_ntt(&m, &map);
                    let stats = measured::noise(&secret, &rotated, &expected).unwrap();
                    let count = non_adjacent_form(256, step).len();
                    let predicted = noise::fresh_secret(&base)
                        + noise::hoisted_rotations(&base, keys.raised(), count, limbs);
                    assert_close(stats.variance, predicted, 1.5);
                }
            }
        }
    }

    #[test]
    fn first_rotation_is_that_of_the_padded_ciphertext() {
        let (secret, raised) = world(64, 2, 3);
        let (base, high) = (secret.params(), raised.params());
        let keys = RankHoistedKeys::generate(&secret, &raised, 4, &mut rng(3)).unwrap();
        let ct = secret.encrypt(&message(base, 3, 7), &mut rng(4)).unwrap();
        let padded = crate::rank_reduction::pad_rank(base, &ct, high, raised.id()).unwrap();
        let galois = keys.galois().get(5).unwrap();
        let expected = galois.apply(high, &padded).unwrap();
        assert_eq!(keys.first(&galois, &ct).unwrap(), expected);
        assert_eq!(keys.rotate(&ct, 1).unwrap(), keys.down().reduce(base, &expected).unwrap());
        assert_eq!(keys.apply(&ct, &[]).unwrap(), ct);
    }

    /// The fresh components protect the secret modulo more than it may be used with alone.
    #[test]
    fn secrets_that_do_not_hide_the_first_are_refused() {
        let (secret, raised) = world(256, 2, 3);
        let mut short = secret.all_coefficients().to_vec();
        short.resize(3 * 256, 0);
        let bare = SecretKey::from_coefficients(raised.params(), &short, &mut rng(5)).unwrap();
        let refused = RankHoistedKeys::generate(&secret, &bare, 3, &mut rng(3));
        assert!(refusal(&refused).is(&ErrorKind::Shape, "secret key"));
        let set = |rank, security| {
            let spec = ParamsSpec { security, ..crate::testing::spec(4096, rank, 2, 1) };
            Params::new(spec).unwrap()
        };
        let secure = SecretKey::generate(&set(2, Security::Bits128), &mut rng(1)).unwrap();
        let refused = secure.extend_rank(&set(3, Security::Insecure), &mut rng(2));
        assert!(refusal(&refused).is(&ErrorKind::Parameters, "parameter security ="));
        secure.extend_rank(&set(3, Security::Bits128), &mut rng(2)).unwrap();
        // Nor may its parts and views be weaker.
        let weak = |refused: bellerophon_ring::Result<SecretKey>| {
            assert!(refusal(&refused).is(&ErrorKind::Parameters, "parameter security ="));
        };
        weak(secure.truncate_rank(&set(1, Security::Insecure), &mut rng(2)));
        let (from, to) = (secure.params(), set(2, Security::Insecure));
        let other = SecretKey::generate(&to, &mut rng(3)).unwrap();
        let refused = crate::keyswitch::KeySwitchKey::between(&secure, &other, 2, &mut rng(4));
        assert!(refusal(&refused).is(&ErrorKind::Parameters, "parameter security ="));
        let view = ParamsSpec { security: Security::Insecure, ..from.spec().clone() };
        let view = Params::new(view).unwrap().module_view(2).unwrap();
        weak(crate::module_map::ModuleMap::new(from, &view, 2).unwrap().extract_secret(&secure));
    }

    #[test]
    fn misfits_are_named() {
        let (secret, raised) = world(64, 1, 2);
        let base = secret.params();
        let keys = RankHoistedKeys::generate(&secret, &raised, 3, &mut rng(3)).unwrap();
        let ct = secret.encrypt(&message(base, 4, 7), &mut rng(4)).unwrap();
        assert!(refusal(&keys.rotate(&ct, 1)).is(&ErrorKind::Level, "4 limbs where"));
        let ct = raised.encrypt(&message(raised.params(), 3, 7), &mut rng(4)).unwrap();
        assert!(
            refusal(&keys.rotate(&ct, 1))
                .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
        );
        let other = SecretKey::generate(base, &mut rng(9)).unwrap();
        let foreign = other.encrypt(&message(base, 3, 7), &mut rng(4)).unwrap();
        assert!(
            refusal(&keys.rotate(&foreign, 1))
                .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
        );
        let ct = secret.encrypt(&message(base, 3, 7), &mut rng(4)).unwrap();
        let exponent = conjugation_exponent(64);
        let refused = keys.apply(&ct, &[exponent]);
        assert!(
            refusal(&refused)
                .is(&ErrorKind::MissingKey { need: "" }, "no key for the automorphism X -> X^127")
        );
        let parts = |galois: GaloisKeys, down| {
            RankHoistedKeys::from_parts(base, raised.params(), galois, down)
        };
        let refused = parts(keys.galois().clone(), None);
        assert!(
            refusal(&refused)
                .is(&ErrorKind::MissingKey { need: "" }, "no rank-down key from rank 2 to rank 1")
        );
        let own = GaloisKeys::generate(&secret, [5], 3, &mut rng(5)).unwrap();
        let refused = parts(own, Some(keys.down().clone()));
        assert!(
            refusal(&refused)
                .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
        );
        let strange = other.extend_rank(raised.params(), &mut rng(5)).unwrap();
        let strange = GaloisKeys::generate(&strange, [5], 3, &mut rng(5)).unwrap();
        let refused = parts(strange, Some(keys.down().clone()));
        assert!(
            refusal(&refused)
                .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
        );
        // A rank-down key from a set that is not above.
        let (flat, _) = world(64, 1, 2);
        let down = crate::keyswitch::KeySwitchKey::between(&flat, &secret, 3, &mut rng(6)).unwrap();
        let down = down.compress().expand(base).unwrap();
        let refused = RankHoistedKeys::from_parts(
            base,
            flat.params(),
            GaloisKeys::default(),
            Some(down.into()),
        );
        assert!(refusal(&refused).is(&ErrorKind::Shape, "where rank"));
        let refused = RankHoistedKeys::generate(&other, &raised, 3, &mut rng(3));
        assert!(refusal(&refused).is(&ErrorKind::Shape, "secret key"));
    }
}
