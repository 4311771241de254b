//! Automorphisms `X -> X^g` of ciphertexts: rotations and conjugation of slots.
//!
//! Convention: the key of `phi: X -> X^g` switches from `s` to `phi^-1(s)`, and `phi` is applied
//! after the switch. The digits of a ciphertext then serve every automorphism unchanged (hoisting),
//! and only `r + 1` polynomials are permuted instead of all digits. With `(b', a') = KeySwitch(a)`:
//!
//! `b + <a, s> = b + b' + <a', phi^-1(s)>`, so `(phi(b + b'), phi(a'))` has phase `phi(b + <a, s>)`
//! under `s`.

mod cache;
mod key_set;

use bellerophon_ring::error::ensure;
use bellerophon_ring::{
    Addend, Automorphism, Digits, Epilogue, Ntt, Poly, Result, Rotated, error::operation,
};
use rand::CryptoRng;
use zeroize::Zeroizing;

pub use cache::GaloisCache;
pub use key_set::{GaloisKeys, GaloisSource};

use crate::ciphertext::{Ciphertext, packed_len};
use crate::ciphertext_qp::CiphertextQP;
use crate::encrypt::SEED_BYTES;
use crate::error;
use crate::hoisted_digits::HoistedDigits;
use crate::keyswitch::{KeySwitchKey, SeededKeySwitchKey};
use crate::params::Params;
use crate::secret::SecretKey;

/// The exponent `g = 5^step mod 2N` that rotates the slots left by `step`. A negative step rotates
/// right.
pub fn rotation_exponent(degree: usize, step: i64) -> usize {
    let order = 2 * degree as u64;
    // 5 generates a group of order N/2. Square and multiply.
    let mut exponent = step.rem_euclid(degree as i64 / 2) as u64;
    let (mut base, mut result) = (5u64, 1u64);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * base % order;
        }
        base = base * base % order;
        exponent >>= 1;
    }
    result as usize
}

/// The exponent `g = 2N - 1` that conjugates every slot.
pub fn conjugation_exponent(degree: usize) -> usize {
    2 * degree - 1
}

/// `g^-1 mod 2N` for an odd exponent `g`.
pub fn inverse_exponent(degree: usize, exponent: usize) -> usize {
    // Newton's iteration in the 2-adic integers: each step doubles the number of correct low bits.
    let inverse = (0..6).fold(exponent, |inverse, _| {
        inverse.wrapping_mul(2usize.wrapping_sub(exponent.wrapping_mul(inverse)))
    });
    inverse & (2 * degree - 1)
}

/// The key of one automorphism.
#[derive(Debug, Clone)]
pub struct GaloisKey {
    map: Automorphism,
    key: KeySwitchKey,
}

impl GaloisKey {
    /// Generates the key of `X -> X^exponent` for ciphertexts of up to `limbs` limbs. The exponent
    /// is odd and taken modulo `2N`.
    pub fn generate<R: CryptoRng + ?Sized>(
        secret: &SecretKey,
        exponent: usize,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        let params = secret.params();
        // phi on the ciphertext ring, and phi^-1 on the ring of the keys.
        let map = params.q().automorphism(exponent)?;
        let ring = params.gadget().ring(params.limbs());
        let inverse = ring.automorphism(inverse_exponent(params.degree(), map.exponent()))?;
        // The target secret is phi^-1(s), so that phi can be applied after the switch.
        let from: Vec<&Poly<Ntt>> = (0..params.rank()).map(|i| secret.ntt(i)).collect();
        let to: Vec<Zeroizing<Poly<Ntt>>> =
            from.iter().map(|s| Zeroizing::new(ring.apply_ntt(s, &inverse))).collect();
        let to: Vec<&Poly<Ntt>> = to.iter().map(|poly| &**poly).collect();
        let end = secret.into();
        let key = KeySwitchKey::generate_between(params, &from, end, &to, end, limbs, rng)?;
        Ok(Self { map, key })
    }

    /// Assembles a key from its exponent and a stored switching key, whose masks are expanded.
    pub fn from_parts(params: &Params, exponent: usize, key: SeededKeySwitchKey) -> Result<Self> {
        let shape = key.shape();
        shape.check_one_secret()?;
        // An automorphism maps a rank to itself.
        ensure(shape.from_rank == shape.to_rank, || error::rank(shape.from_rank, shape.to_rank))?;
        let map = params.q().automorphism(exponent)?;
        Ok(Self { map, key: key.into_expanded(params)? })
    }

    /// The exponent `g` in `[1, 2N)`.
    pub fn exponent(&self) -> usize {
        self.map.exponent()
    }

    /// Size in bytes of a key for up to `limbs` limbs in seeded, bit-packed form. No key is
    /// generated.
    pub fn seeded_byte_len(params: &Params, limbs: usize) -> Result<usize> {
        params.check_limbs(limbs)?;
        let rows = params.gadget().digits(limbs) * params.rank();
        Ok(SEED_BYTES + rows * packed_len(params.gadget().ring(limbs)))
    }

    /// The switching key from `s` to `phi^-1(s)`.
    pub fn key(&self) -> &KeySwitchKey {
        &self.key
    }

    /// `phi(ct)`: the phase of the result is `phi` of the phase, plus key-switch noise.
    pub fn apply(&self, params: &Params, ct: &Ciphertext) -> Result<Ciphertext> {
        operation("GaloisKey::apply", || {
            self.key.check_source(ct)?;
            Ok(self.finish(ct, &self.key.digits(params, ct.masks())?))
        })
    }

    /// As [`apply`](Self::apply), with the digits of `ct.masks()` computed before (hoisting).
    pub fn apply_decomposed(
        &self,
        params: &Params,
        ct: &Ciphertext,
        digits: &HoistedDigits,
    ) -> Result<Ciphertext> {
        self.check_digits(ct, digits)?;
        Ok(self.finish(ct, &self.key.stored(params, digits)?))
    }

    /// The switch, the addition of the body, mod-down and the permutation in one pass.
    fn finish(&self, ct: &Ciphertext, digits: &Digits) -> Ciphertext {
        // The permutation is the last step, so the digits do not depend on phi.
        let map = Some(&self.map);
        let epilogue =
            Epilogue { addends: vec![Some(Addend::Poly(&ct.b))], map, ..Epilogue::default() };
        self.key.finish(digits, &epilogue)
    }

    /// As [`apply_decomposed`](Self::apply_decomposed) without mod-down: `P phi(ct)`. A sum of many
    /// rotations then needs one division.
    pub fn apply_extended(
        &self,
        params: &Params,
        ct: &Ciphertext,
        digits: &HoistedDigits,
    ) -> Result<CiphertextQP> {
        self.check_digits(ct, digits)?;
        // P (b, 0) + P KeySwitch(a), then phi.
        let mut switched = self.key.product(&self.key.stored(params, digits)?);
        switched.add_body_assign(params, &ct.b)?;
        switched.apply(params, &self.map);
        Ok(switched)
    }

    /// `phi(ct)` of a ciphertext modulo `P Q_l`, added to `sum` if given. The masks are divided by
    /// `P` so that they can be decomposed. Body and result stay modulo `P Q_l`.
    pub fn rotate_extended(
        &self,
        params: &Params,
        ct: CiphertextQP,
        sum: Option<CiphertextQP>,
    ) -> Result<CiphertextQP> {
        params.check(ct.ident.fingerprint)?;
        if let Some(sum) = &sum {
            ct.operand().check(params, sum.operand())?;
        }
        let CiphertextQP { b, a, limbs, ident } = ct;
        self.key.check_end(ident)?;
        // Step 1: mod-down of the masks alone.
        let masks: Vec<_> = a.into_iter().map(|mask| params.gadget().mod_down(mask)).collect();
        // Step 2: key switch of the masks; body and sum enter the same pass.
        let digits = self.key.digits(params, &masks)?;
        // Body and masks of the sum as columns.
        let onto = sum.map(|sum| std::iter::once(sum.b).chain(sum.a).collect());
        let columns = digits.rotated_product(&self.key.rows(), &b, &self.map, onto);
        Ok(CiphertextQP::of_columns(columns, limbs, ident))
    }

    /// The operands of [`apply_extended`](Self::apply_extended), for evaluation limb by limb with
    /// the digits of an operand.
    pub(crate) fn rotated<'a>(&'a self, operand: usize, ct: &'a Ciphertext) -> Result<Rotated<'a>> {
        // The checks of `apply`; the work is left to the caller.
        self.key.check_source(ct)?;
        self.key.check_digits(ct.rank(), ct.limbs())?;
        Ok(Rotated::Switched { operand, rows: self.key.rows(), body: &ct.b, map: &self.map })
    }

    /// The automorphism.
    pub(crate) fn map(&self) -> &Automorphism {
        &self.map
    }

    fn check_digits(&self, ct: &Ciphertext, digits: &HoistedDigits) -> Result<()> {
        self.key.check_source(ct)?;
        // The digits must be those of this level.
        if digits.limbs != ct.limbs() {
            let needed = ct.limbs().to_string();
            return Err(error::limbs(digits.limbs, needed));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::error::refusal;
    use crate::galois::GaloisKeys;
    use crate::testing::{assert_close, message, params, rng};
    use crate::{noise, noise::measured};

    #[test]
    fn exponents_form_a_group() {
        for degree in [8, 64, 1024] {
            assert_eq!(rotation_exponent(degree, 0), 1);
            assert_eq!(rotation_exponent(degree, 1), 5);
            assert_eq!(rotation_exponent(degree, degree as i64 / 2), 1);
            for step in [1, 3, -7] {
                let there = rotation_exponent(degree, step);
                let back = rotation_exponent(degree, -step);
                assert_eq!(there * back % (2 * degree), 1);
                assert_eq!(inverse_exponent(degree, there), back);
            }
            let conjugation = conjugation_exponent(degree);
            assert_eq!(inverse_exponent(degree, conjugation), conjugation);
        }
    }

    #[test]
    fn automorphisms_move_the_phase() {
        for rank in [1, 2] {
            let params = params(512, rank, 4, 2);
            let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
            let exponents = [5, 25, conjugation_exponent(512), rotation_exponent(512, -3)];
            let keys = GaloisKeys::generate(&secret, exponents, 3, &mut rng(2)).unwrap();
            for limbs in [1, 2, 3] {
                let m = message(&params, limbs, 7);
                let ct = secret.encrypt(&m, &mut rng(4)).unwrap();
                let digits = HoistedDigits::new(&params, ct.masks()).unwrap();
                let ring = params.q().at_limbs(limbs);
                for exponent in exponents {
                    let key = keys.get(exponent).unwrap();
                    assert!(keys.covers(exponent, limbs) && !keys.covers(exponent, 4));
                    let image = key.apply(&params, &ct).unwrap();
                    let expected = ring.apply_ntt(&m, &ring.automorphism(exponent).unwrap());
                    let stats = measured::noise(&secret, &image, &expected).unwrap();
                    let predicted =
                        noise::fresh_secret(&params) + noise::automorphism(&params, limbs);
                    assert_close(stats.variance, predicted, 1.35);
                    // Hoisted: the same bits.
                    assert_eq!(key.apply_decomposed(&params, &ct, &digits).unwrap(), image);
                    // Divided late: the same up to one rounding.
                    let late = key.apply_extended(&params, &ct, &digits).unwrap();
                    let late = late.mod_down(&params).unwrap();
                    let stats = measured::noise(&secret, &late, &expected).unwrap();
                    assert_close(stats.variance, predicted, 1.35);
                    // The wire form gives the same key.
                    let wire = key.key().compress();
                    let wire = GaloisKey::from_parts(&params, exponent, wire).unwrap();
                    assert_eq!(wire.apply(&params, &ct).unwrap(), image);
                }
            }
        }
    }

    #[test]
    fn extended_sums_divide_once() {
        let params = params(512, 1, 3, 2);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let keys = GaloisKeys::generate(&secret, [5, 25], 3, &mut rng(2)).unwrap();
        let m = message(&params, 3, 7);
        let ct = secret.encrypt(&m, &mut rng(4)).unwrap();
        let digits = HoistedDigits::new(&params, ct.masks()).unwrap();
        let mut sum = CiphertextQP::lift(&params, &ct).unwrap();
        let mut expected = m.clone();
        let extended = params.gadget().ring(3);
        let three = extended.forward(extended.from_signed(&{
            let mut constant = vec![0; 512];
            constant[0] = 3;
            constant
        }));
        for exponent in [5, 25] {
            let key = keys.get(exponent).unwrap();
            let image = key.apply_extended(&params, &ct, &digits).unwrap();
            sum.mul_plain_add_assign(&params, &image, &three).unwrap();
            let map = params.q().automorphism(exponent).unwrap();
            let mut term = params.q().apply_ntt(&m, &map);
            params.q().mul_signed_assign(&mut term, 3);
            params.q().add_assign(&mut expected, &term);
        }
        let ct = sum.mod_down(&params).unwrap();
        let stats = measured::noise(&secret, &ct, &expected).unwrap();
        // One rounding for three terms; the fresh noise e + 3 phi(e) + 3 phi'(e).
        let digits = noise::automorphism(&params, 3) - noise::rounding(&params);
        let predicted =
            19.0 * noise::fresh_secret(&params) + 18.0 * digits + noise::rounding(&params);
        assert_close(stats.variance, predicted, 1.4);
    }

    #[test]
    fn extended_ciphertexts_rotate_with_undivided_bodies() {
        let params = params(512, 1, 3, 2);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let key = GaloisKey::generate(&secret, 5, 3, &mut rng(2)).unwrap();
        let m = message(&params, 3, 7);
        let ct = secret.encrypt(&m, &mut rng(4)).unwrap();
        let map = params.q().automorphism(5).unwrap();
        let mut expected = m;
        let mut sum = CiphertextQP::lift(&params, &ct).unwrap();
        let turns = 4;
        for _ in 0..turns {
            sum = key.rotate_extended(&params, sum, None).unwrap();
            expected = params.q().apply_ntt(&expected, &map);
        }
        // Added within the rotation, or afterwards.
        let onto = CiphertextQP::lift(&params, &ct).unwrap();
        let mut after = key.rotate_extended(&params, sum.clone(), None).unwrap();
        after.add_assign(&params, &onto).unwrap();
        assert!(key.rotate_extended(&params, sum.clone(), Some(onto)).unwrap() == after);
        let stats = measured::noise(&secret, &sum.mod_down(&params).unwrap(), &expected).unwrap();
        // Each rotation rounds the mask alone, the last division both polynomials.
        let digits = noise::automorphism(&params, 3) - noise::rounding(&params);
        let mask = noise::rounding(&params) - 1.0 / 12.0;
        let predicted = noise::fresh_secret(&params)
            + turns as f64 * (digits + mask)
            + noise::rounding(&params)
            - mask;
        // The first rotation divides a multiple of P, without a rounding error.
        assert_close(stats.variance, predicted, 1.35);
        let foreign = SecretKey::generate(&params, &mut rng(5)).unwrap();
        let foreign = foreign.encrypt(&expected, &mut rng(4)).unwrap();
        let foreign = CiphertextQP::lift(&params, &foreign).unwrap();
        let refused = key.rotate_extended(&params, after, Some(foreign.clone()));
        assert!(
            refusal(&refused)
                .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
        );
        let refused = key.rotate_extended(&params, foreign, None);
        assert!(
            refusal(&refused)
                .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
        );
    }

    #[test]
    fn missing_and_foreign_keys_are_named() {
        let params = params(64, 1, 2, 1);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let keys = GaloisKeys::generate(&secret, [5, 5 + 128], 1, &mut rng(2)).unwrap();
        assert_eq!(keys.exponents().len(), 1);
        let error = keys.get(25).unwrap_err();
        assert!(error.is(
            &ErrorKind::MissingKey { need: "" },
            "X -> X^25; generate it with the others (there are 1 keys)"
        ));
        let other = SecretKey::generate(&params, &mut rng(5)).unwrap();
        let ct = other.encrypt(&message(&params, 1, 1), &mut rng(1)).unwrap();
        let refused = keys.get(5).unwrap().apply(&params, &ct);
        assert!(
            refusal(&refused)
                .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
        );
        assert!(GaloisKey::generate(&secret, 4, 1, &mut rng(1)).is_err());
        // Of two keys for one automorphism the one for more limbs stays.
        let mut keys = keys;
        keys.insert(GaloisKey::generate(&secret, 5, 2, &mut rng(2)).unwrap());
        keys.insert(GaloisKey::generate(&secret, 5, 1, &mut rng(2)).unwrap());
        assert!(keys.covers(5, 2));
    }
}
