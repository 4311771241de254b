//! Double hoisting: weighted sums of rotations of one ciphertext or of a few, modulo `P Q_l`
//! throughout (Bossuat, Mouchet, Troncoso-Pastoriza and Hubaux, eprint 2020/1203, section 4). The
//! digits of a ciphertext are shared by all its rotations, and mod-down is left to the caller.

use std::borrow::Cow;
use std::sync::Arc;

use bellerophon_ring::error::ensure;
use bellerophon_ring::{Digits, Factor, Ntt, Poly, Result, Rotated, Weighted};

use crate::ciphertext::Ciphertext;
use crate::ciphertext_qp::CiphertextQP;
use crate::encrypt::check_extended;
use crate::error;
use crate::galois::GaloisKey;
use crate::params::Params;

/// One rotation of an operand.
#[derive(Debug, Clone)]
pub enum Rotation<'a> {
    /// A rotation by a key, still to be computed: the index of the operand, and the key.
    Key(usize, Arc<GaloisKey>),
    /// A ciphertext that is already rotated, or an operand itself: same level, same key.
    Done(Cow<'a, Ciphertext>),
}

impl CiphertextQP {
    /// `P sum_t factor_t rotation_t` for every row of `sums`. Digits and rotations are computed
    /// limb by limb and not stored. Factors are polynomials over `q_0..q_{limbs-1}, p_0..p_{k-1}`.
    /// For a factor that is not stored, `write(x, i, limb)` writes limb `i` in NTT form.
    pub fn sums_of_rotations<T: Sync>(
        params: &Params,
        operands: &[&Ciphertext],
        rotations: &[Rotation],
        sums: &[Vec<Weighted<T>>],
        write: impl Fn(&T, usize, &mut [u64]) + Sync + Send,
    ) -> Result<Vec<Self>> {
        // Step 1: check every index and every stored factor before any computation.
        let ct = *operands.first().ok_or_else(error::empty)?;
        ensure(!rotations.is_empty(), error::empty)?;
        let alike = |other: &Ciphertext| ct.operand().check(params, other.operand());
        operands.iter().try_for_each(|operand| alike(operand))?;
        for term in sums.iter().flatten() {
            ensure(term.row < rotations.len(), || error::no_rotation(term.row, rotations.len()))?;
            if let Factor::Stored(poly) = term.factor {
                check_extended(params, ct.limbs(), poly)?;
            }
        }
        // Step 2: collect the rotations. Those already computed enter as P times a ciphertext.
        let rotated: Vec<Rotated> = rotations
            .iter()
            .map(|rotation| match rotation {
                Rotation::Key(operand, key) => {
                    let given = operands.len();
                    let no_operand = error::no_rotation(*operand, given);
                    let ct = operands.get(*operand).ok_or(no_operand)?;
                    key.rotated(*operand, ct)
                }
                Rotation::Done(done) => {
                    alike(done)?;
                    let columns = std::iter::once(&done.b).chain(&done.a);
                    Ok(Rotated::Lifted(columns.collect()))
                }
            })
            .collect::<Result<_>>()?;
        // Step 3: digits, key-switch products and sums, one limb of Q_l P at a time.
        let digits = operands
            .iter()
            .map(|ct| params.gadget().digits_of(&ct.masks().iter().collect::<Vec<&Poly<Ntt>>>()));
        let rows = Digits::transform(&digits.collect::<Vec<_>>(), &rotated, sums, write);
        let row = |columns| Self::of_columns(columns, ct.limbs(), ct.ident);
        Ok(rows.into_iter().map(row).collect())
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::error::refusal;
    use crate::galois::GaloisKeys;
    use crate::hoisted_digits::HoistedDigits;
    use crate::secret::SecretKey;
    use crate::testing::{message, params, rng};

    #[test]
    fn rows_are_those_of_rotations_made_one_by_one() {
        let params = params(64, 2, 3, 2);
        let mut rng = rng(1);
        let secret = SecretKey::generate(&params, &mut rng).unwrap();
        let keys = GaloisKeys::generate(&secret, [5, 25], params.limbs(), &mut rng).unwrap();
        let keys: Vec<_> = keys.iter().collect();
        let ct = secret.encrypt(&message(&params, 3, 7), &mut rng).unwrap();
        let ring = params.gadget().ring(ct.limbs());
        let plain = |t: i64| ring.forward(ring.from_signed(&vec![t + 2; params.degree()]));
        let stored = plain(0);
        let rotations = [
            Rotation::Key(0, keys[0].clone()),
            Rotation::Done(Cow::Borrowed(&ct)),
            Rotation::Key(1, keys[1].clone()),
        ];
        let sums = [
            vec![
                Weighted { row: 0, factor: Factor::Stored(&stored) },
                Weighted { row: 2, factor: Factor::Written(1) },
            ],
            vec![Weighted { row: 1, factor: Factor::Written(2) }],
        ];
        let write = |t: &i64, i: usize, limb: &mut [u64]| limb.copy_from_slice(plain(*t).limb(i));
        let two = secret.encrypt(&message(&params, 3, 8), &mut rng).unwrap();
        let sum = |ct: &Ciphertext| {
            CiphertextQP::sums_of_rotations(&params, &[ct, &two], &rotations, &sums, write)
        };
        let found = sum(&ct).unwrap();

        let image = |k: usize| {
            let ct = [&ct, &two][k];
            let digits = HoistedDigits::new(&params, ct.masks()).unwrap();
            keys[k].apply_extended(&params, ct, &digits).unwrap()
        };
        let mut first = image(0);
        first.mul_plain_assign(&params, &stored).unwrap();
        first.mul_plain_add_assign(&params, &image(1), &plain(1)).unwrap();
        let mut second = CiphertextQP::lift(&params, &ct).unwrap();
        second.mul_plain_assign(&params, &plain(2)).unwrap();
        assert!(found == [first, second]);

        let other = SecretKey::generate(&params, &mut rng).unwrap();
        let foreign = other.encrypt(&message(&params, 3, 7), &mut rng).unwrap();
        assert!(
            refusal(&sum(&foreign))
                .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
        );
        let none = CiphertextQP::sums_of_rotations(&params, &[&ct], &[], &sums, write);
        assert!(refusal(&none).is(&ErrorKind::Length, "no operands; give at least one"));
        let fewer = &rotations[..2];
        let missing = CiphertextQP::sums_of_rotations(&params, &[&ct], fewer, &sums, write);
        assert!(
            refusal(&missing)
                .is(&ErrorKind::Argument, "a factor for rotation 2, counted from 0, of")
        );
        let alone = CiphertextQP::sums_of_rotations(&params, &[&ct], &rotations, &sums, write);
        assert!(
            refusal(&alone).is(&ErrorKind::Argument, "a factor for rotation 1, counted from 0, of")
        );
        let mut lower = ct.clone();
        lower.truncate(2).unwrap();
        let uneven =
            CiphertextQP::sums_of_rotations(&params, &[&ct, &lower], &rotations, &sums, write);
        assert!(refusal(&uneven).is(&ErrorKind::Level, "2 limbs where"));
    }
}
