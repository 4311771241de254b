use proptest::prelude::*;

use super::*;
use crate::gadget::{Addend, GadgetKey, HybridGadget, KeyDecomposition, KeyRows};
use crate::packed_poly::PackedPoly;
use crate::testing::{gadget, p_residues, values};

/// The limbs of a polynomial that a lower level has.
fn restricted(g: &HybridGadget, a: &Poly<Ntt>, from: usize, to: usize) -> Poly<Ntt> {
    let mut out = g.ring(to).zero();
    for i in 0..out.limbs() {
        let place = if i < to { i } else { from + i - to };
        out.limb_mut(i).copy_from_slice(a.limb(place));
    }
    out
}

/// Digits as polynomials, multiplied, added, divided, added to and permuted one step after the
/// other.
fn check(g: &HybridGadget, components: usize, limbs: usize, stored: usize, seed: u64) {
    let q = g.q().at_limbs(limbs);
    let inputs: Vec<_> = (0..components as u64).map(|i| values(&q, seed ^ i)).collect();
    let inputs: Vec<&Poly<Ntt>> = inputs.iter().collect();
    let keys: Vec<Vec<Poly<Ntt>>> = (0..3)
        .map(|c| {
            let row = |r: usize| values(g.ring(stored), seed + (100 * c + r) as u64);
            (0..g.digits(stored) * components).map(row).collect()
        })
        .collect();
    let packed: Vec<Vec<PackedPoly>> = keys
        .iter()
        .map(|column| column.iter().map(|row| PackedPoly::new(g.ring(stored), row)).collect())
        .collect();
    let columns = packed.iter().map(|column| column.iter().collect()).collect();
    let rows = KeyRows { columns, limbs: stored };
    let digits = g.digits_of(&inputs);
    let ring = g.ring(limbs);
    let kept = digits.store();
    let expected: Vec<Poly<Ntt>> = keys
        .iter()
        .map(|column| {
            let mut sum = ring.zero();
            for (i, component) in kept.iter().enumerate() {
                for (j, digit) in component.iter().enumerate() {
                    let row = restricted(g, &column[j * components + i], stored, limbs);
                    ring.mul_add_assign(&mut sum, digit, &row);
                }
            }
            sum
        })
        .collect();
    let again = g.stored_digits(&kept);
    assert_eq!((again.components(), again.limbs()), (components, limbs));
    assert_eq!(again.store(), kept);
    assert!(digits.product(&rows) == expected && again.product(&rows) == expected);

    let map = g.q().automorphism(5).unwrap();
    let extra = values(&q, seed ^ 99);
    let products = vec![(inputs[0], &extra), (&extra, &extra)];
    let addends = [None, Some(extra.clone()), Some(q.sum_of_products(&products))];
    for (primes, map) in [(0, None), (0, Some(&map)), (1, None), (limbs.min(3) - 1, None)] {
        if primes >= limbs {
            continue;
        }
        let finish = Epilogue {
            addends: vec![
                None,
                Some(Addend::Poly(&extra)),
                Some(Addend::Products(products.clone())),
            ],
            primes,
            map,
        };
        let result = digits.divided_product(&rows, &finish);
        let fewer = Epilogue { addends: finish.addends[..2].to_vec(), ..finish.clone() };
        assert!(digits.divided_product(&rows, &fewer)[..2] == result[..2]);
        assert!(result == again.divided_product(&rows, &finish));
        for (c, (sum, found)) in expected.iter().zip(result).enumerate() {
            let mut sum = sum.clone();
            if let Some(extra) = &addends[c] {
                let mut lifted = ring.zero();
                lifted.data_mut()[..extra.data().len()].copy_from_slice(extra.data());
                ring.mul_residues_assign(&mut lifted, &p_residues(g, limbs));
                ring.add_assign(&mut sum, &lifted);
            }
            let mut quotient = g.divide(sum, primes);
            if let Some(map) = map {
                quotient = g.q().at_limbs(limbs - primes).apply_ntt(&quotient, map);
            }
            assert!(found == quotient, "column {c}, {primes} primes");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn streamed_products_are_those_of_whole_digits(
        seed: u64,
        components in 1usize..3,
        special in 1usize..4,
        limbs in 1usize..8,
        more in 0usize..3,
    ) {
        let g = gadget(16, &[(45, 3), (29, 3), (45, 2)], (50, special));
        check(&g, components, limbs, (limbs + more).min(8), seed);
    }
}

#[test]
fn streamed_products_at_larger_degrees() {
    // Digits in several groups, polynomials in several pieces, primes of every arithmetic.
    check(&gadget(1 << 13, &[(60, 1), (40, 3), (55, 2)], (60, 1)), 1, 6, 6, 1);
    check(&gadget(1 << 14, &[(50, 1), (45, 4)], (50, 2)), 1, 4, 5, 2);
    check(&gadget(1 << 15, &[(50, 1), (45, 5)], (50, 1)), 1, 6, 6, 3);
    check(&gadget(1 << 16, &[(50, 1), (45, 2)], (50, 2)), 1, 3, 3, 4);
    // Wide digits: many limbs are computed together, some are left over, in several groups.
    let wide = gadget(1 << 14, &[(40, 20)], (49, 6));
    assert!(wide.primes(0, 20).len() >= par::WIDE);
    check(&wide, 4, 20, 20, 5);
}

#[test]
#[should_panic(expected = "at most 63 products")]
fn more_products_than_a_sum_holds_are_refused() {
    let g = gadget(16, &[(45, 3)], (50, 1));
    let input = values(g.q(), 1);
    let row = PackedPoly::new(g.ring(3), &values(g.ring(3), 2));
    let rows = KeyRows { columns: vec![vec![&row; g.digits(3)]], limbs: 3 };
    let products = vec![(&input, &input); backend::MAX_PRODUCTS + 1];
    let finish =
        Epilogue { addends: vec![Some(Addend::Products(products))], ..Epilogue::default() };
    g.digits_of(&[&input]).divided_product(&rows, &finish);
}

/// The product by a decomposed key against the product by rows, at every level, with epilogues.
fn check_decomposed(g: &HybridGadget, components: usize, key_digit: f64, seed: u64) {
    let most = g.q().limbs();
    // Keys of all levels, and of fewer.
    for stored in [most, most.div_ceil(2)] {
        let decomposition = KeyDecomposition::new(g, stored, components, key_digit).unwrap();
        let row = |c: usize, r: usize| values(g.ring(stored), seed + (100 * c + r) as u64);
        let packed: Vec<Vec<PackedPoly>> = (0..2)
            .map(|c| {
                let rows = 0..g.digits(stored) * components;
                rows.map(|r| PackedPoly::new(g.ring(stored), &row(c, r))).collect()
            })
            .collect();
        let columns = packed.iter().map(|column| column.iter().collect()).collect();
        let rows = KeyRows { columns, limbs: stored };
        let cut = decomposition.rows(&rows);
        let key = GadgetKey::Decomposed(&decomposition, &cut);
        for limbs in [1, 2, stored.div_ceil(2), stored] {
            let limbs = limbs.min(stored);
            let q = g.q().at_limbs(limbs);
            let inputs: Vec<_> = (0..components as u64).map(|i| values(&q, seed ^ i)).collect();
            let inputs: Vec<&Poly<Ntt>> = inputs.iter().collect();
            let digits = g.digits_of(&inputs);
            assert!(digits.product(key) == digits.product(&rows), "{limbs} of {stored} limbs");
            let map = g.q().automorphism(5).unwrap();
            let addends = vec![None, Some(Addend::Poly(inputs[0]))];
            let epilogue = Epilogue { addends, primes: usize::from(limbs > 1), map: Some(&map) };
            let expected = digits.divided_product(&rows, &epilogue);
            assert!(digits.divided_product(key, &epilogue) == expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn decomposed_keys_give_the_same_product(
        seed: u64, components in 1usize..4, special in 1usize..4, key_digit in 40f64..600.0,
    ) {
        let g = gadget(16, &[(45, 3), (29, 3), (60, 1), (45, 2)], (50, special));
        check_decomposed(&g, components, key_digit, seed);
    }
}

#[test]
fn decomposed_keys_at_larger_degrees() {
    check_decomposed(&gadget(1 << 13, &[(60, 1), (40, 5)], (60, 1)), 1, 180.0, 1);
    check_decomposed(&gadget(1 << 16, &[(60, 1), (40, 3)], (60, 1)), 1, 120.0, 2);
    // Several groups of digits, fetched in parts.
    check_decomposed(&gadget(1 << 12, &[(40, 20)], (49, 1)), 2, 130.0, 3);
}
