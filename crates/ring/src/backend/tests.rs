//! Every back end against the scalar one, bit for bit.

mod base_conversion;

use proptest::prelude::*;

use super::*;
use crate::error::{ErrorKind, refusal};
use crate::testing::{packed, words};
use crate::{primality, prime};
use base_conversion::compare_transforms_of_sums;

/// The scalar table and those of all other back ends that run here, for one degree and size.
struct Tables {
    scalar: NttTable,
    others: Vec<NttTable>,
}

fn tables(degree: usize, bits: u32) -> Tables {
    tables_of(degree, prime::ntt_primes_below(degree, bits, 1, &[]).unwrap()[0])
}

fn tables_of(degree: usize, q: Modulus) -> Tables {
    let scalar = NttTable::with_backend(degree, q, Backend::Scalar).unwrap();
    let others = Backend::ALL
        .into_iter()
        .skip(1)
        .filter_map(|backend| NttTable::with_backend(degree, q, backend).ok());
    Tables { scalar, others: others.collect() }
}

/// The sizes at which an arithmetic changes: lazy and strict 52-bit, lazy and strict 64-bit, and
/// the largest.
const BITS: [u32; 10] = [20, 45, 46, 47, 49, 50, 55, 56, 60, 61];

/// Runs a kernel on the scalar and on every other back end, from the same output buffer.
fn assert_same(
    Tables { scalar, others }: &Tables,
    start: &[u64],
    kernel: impl Fn(&NttTable, &mut [u64]),
) {
    let mut expected = start.to_vec();
    kernel(scalar, &mut expected);
    assert!(expected.iter().all(|&x| x < scalar.modulus().value()));
    for table in others {
        let mut found = start.to_vec();
        kernel(table, &mut found);
        assert!(found == expected, "{:?} modulo {}", table.backend(), table.modulus().value());
    }
}

fn compare_transforms(tables: &Tables, seed: u64) {
    let (degree, q) = (tables.scalar.degree(), tables.scalar.modulus().value());
    for start in [words(degree, 4 * q, seed), vec![4 * q - 1; degree], vec![0; degree]] {
        assert_same(tables, &start, forward_ntt);
    }
    for start in [words(degree, q, seed), vec![q - 1; degree], vec![0; degree]] {
        assert_same(tables, &start, inverse_ntt);
        let mut row = start.clone();
        inverse_ntt(&tables.scalar, &mut row);
        mul_constant(&tables.scalar, &mut row, q - 2);
        for count in [1, 2] {
            let layout = Layout::new(degree, count);
            let mut expected = vec![0; layout.len()];
            copy_to_bursts(&row, &mut layout.bursts_of_rows(&mut expected)[count - 1]);
            for table in std::iter::once(&tables.scalar).chain(&tables.others) {
                let (mut buffer, mut found) = (vec![0; degree], vec![0; layout.len()]);
                let bursts = &mut layout.bursts_of_rows(&mut found)[count - 1];
                inverse_to_bursts(table, &start, q - 2, &mut buffer, bursts);
                assert!(found == expected, "{:?} modulo {q}", table.backend());
            }
        }
    }
}

/// Primes on both sides of three bounds: the largest prime for which the IFMA back end does not
/// reduce at all (its transform takes residues below `4q`, or larger ones from conversions to
/// smaller primes); `2^49` and the largest prime for which it reduces after three stages; `2^48`
/// and `2^50`, the same in floating point; and the largest prime for which the other back ends do
/// not reduce at all.
#[test]
fn transforms_are_exact_where_there_is_least_room() {
    for log in [7u32, 12, 13, 15, 17] {
        let order = 2u64 << log;
        let limit = |most: u64| (1u64 << 52) / (most + 17 + u64::from(log.max(12)));
        let start = |most: u64| most / order * order + 1;
        let down = |most| {
            (0..).map(|k| start(most) - k * order).find(|&q| primality::is_prime(q)).unwrap()
        };
        let up = |most| {
            (1..).map(|k| start(most) + k * order).find(|&q| primality::is_prime(q)).unwrap()
        };
        let (power, last) = (1 << 49, (1 << 49) + (1 << 40));
        let neon = [1 << 48, 1 << 50];
        // The largest prime for which words are not reduced.
        let lazy = (1 << 63) / (8 * 17 + 8);
        let most = [limit(4), power, last, lazy];
        let sides = most.into_iter().chain(neon).flat_map(|most| [down(most), up(most)]);
        for q in sides.chain([down(limit(26))]) {
            let q = Modulus::new(q).unwrap();
            compare_transforms(&tables_of(1 << log, q), q.value());
            if log < 14 {
                compare_transforms_of_sums(1 << log, q, 50, q.value());
                compare_transforms_of_sums(1 << log, q, 56, q.value());
                compare_transforms_of_sums(1 << log, q, 60, q.value());
            }
        }
    }
}

/// The second half of a transform.
fn finish(table: &NttTable, out: &mut [u64]) {
    let (words, row) = (piece_words(table), out.to_vec());
    for (i, piece) in out.chunks_mut(words).enumerate() {
        let ahead = &[&row[i * words..(i + 1) * words]];
        forward_piece(table, piece, Piece { index: i, ahead, reduced: true });
    }
}

/// Transforms of a single piece, left unreduced, as factors of products.
#[test]
fn products_of_rows_as_their_transforms_leave_them() {
    for bits in BITS {
        for degree in [8, 128, 1 << 12] {
            let tables = tables(degree, bits.max(degree.ilog2() + 6));
            let q = tables.scalar.modulus().value();
            let starts = [vec![4 * q - 1; degree], words(degree, 4 * q, 1), vec![0; degree]];
            let keys = [vec![q - 1; degree], words(degree, q, 2), words(degree, q, 3)];
            assert_same(&tables, &keys[0], |table, out| {
                let rows = starts.clone().map(|mut row| {
                    assert_eq!(piece_words(table), degree);
                    forward_piece(table, &mut row, Piece { reduced: false, ..Piece::reduced(0) });
                    row
                });
                let rows = rows.each_ref().map(|row| &row[..]);
                let keys = keys.each_ref().map(|key| packed(table, key));
                let factors = &keys.each_ref().map(|key| &key[..]);
                let column = Column { out, factors };
                columns_of_products(table, &rows, &mut [column], Part { before: 0, all: 3 });
            });
        }
    }
}

/// Three inverse stages of rows that are zero or `top`, in all combinations: the results are at
/// most `top` too, in the bits of `mask`, and congruent to the exact result.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn compare_inverse_stages<A: simd::Arithmetic>(
    f: A,
    q: &Modulus,
    top: u64,
    mask: u64,
    residue: impl Fn(simd::V<A>) -> simd::V<A>,
) {
    use simd::Wide;
    let w = f.wide();
    for combination in 0..256u64 {
        let rows = [0, 1, 2, 3, 4, 5, 6, 7].map(|row| top * (combination >> row & 1));
        let factors = words(8, q.value(), combination);
        let mut pairs = [[0; 2]; 8];
        let mut x = [w.splat(0); 8];
        let mut exact = rows;
        for i in 0..8 {
            pairs[i] = f.companion(factors[i]);
            x[i] = w.splat(rows[i]);
            exact[i] = q.reduce(rows[i]);
        }
        ntt::inverse_stages(f, &mut x, 1, &pairs);
        for half in [1, 2, 4] {
            for low in (0..8).filter(|row| row & half == 0) {
                let (a, b) = (exact[low], exact[low + half]);
                exact[low] = q.add(a, b);
                let node = 4 / half + low / (2 * half);
                exact[low + half] = q.mul(q.sub(a, b), factors[node]);
            }
        }
        for (x, exact) in x.into_iter().zip(exact) {
            let (mut lazy, mut reduced) = ([0; 8], [0; 8]);
            w.store(x, &mut lazy);
            assert!(lazy[0] & mask <= top, "{} of {top} modulo {}", lazy[0] & mask, q.value());
            w.store(residue(x), &mut reduced);
            assert_eq!(reduced, [exact; 8], "modulo {}", q.value());
        }
    }
}

/// Moves two rows, congruent to `starts`, through forward stages: the first row down and the second
/// row up by the largest product of each stage, given as lane, factor and product. Both stay
/// congruent to the exact results. Returns the resulting words.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn compare_forward_stages<A: simd::Arithmetic>(
    f: A,
    q: &Modulus,
    [mut low, mut high]: [simd::V<A>; 2],
    [mut down, mut up]: [u64; 2],
    products: &[(u64, u64, u64)],
) -> [u64; 2] {
    use simd::Wide;
    let w = f.wide();
    for &(y, root, product) in products {
        let root = f.root(f.companion(root));
        let (mut difference, mut other) = (w.splat(y), w.splat(y));
        f.forward_butterfly(&mut low, &mut difference, root);
        low = difference;
        f.forward_butterfly(&mut high, &mut other, root);
        let product = q.reduce(product);
        (down, up) = (q.sub(down, product), q.add(up, product));
    }
    [(low, down), (high, up)].map(|(x, exact)| {
        let (mut lazy, mut reduced) = ([0; 8], [0; 8]);
        w.store(x, &mut lazy);
        w.store(f.finish_forward(x), &mut reduced);
        assert_eq!(reduced, [exact; 8], "modulo {}", q.value());
        lazy[0]
    })
}

#[test]
fn factors_of_every_number_of_bytes() {
    for bits in 7..=61 {
        let tables = tables(8, bits);
        let q = tables.scalar.modulus().value();
        for factor in [vec![q - 1; 40], words(40, q, u64::from(bits))] {
            assert_same(&tables, &[0; 40], |table, out| {
                let factors = [&packed(table, &factor)[..]];
                let mut columns = [Column { out, factors: &factors }];
                columns_of_products(table, &[&[1; 40]], &mut columns, Part { before: 0, all: 1 });
                assert_eq!(out, &factor[..]);
            });
        }
    }
}

/// One, two and three columns, in one part and in several, against sums of products. The other
/// columns have their factors in another order.
fn compare_columns(tables: &Tables, start: &[u64], pairs: &[(&[u64], &[u64])]) {
    let (rows, factors): (Vec<&[u64]>, Vec<&[u64]>) = pairs.iter().copied().unzip();
    let all = rows.len();
    let mut factors = [factors.clone(), factors.clone(), factors];
    factors[1].reverse();
    factors[2].rotate_left(1);
    for (count, size) in [(1, all), (1, 1), (2, all), (2, 4), (3, all), (3, 7)] {
        let mut expected = vec![start.to_vec(); count];
        for (sum, factors) in expected.iter_mut().zip(&factors) {
            let pairs: Vec<_> = rows.iter().copied().zip(factors.iter().copied()).collect();
            sum_of_products(&tables.scalar, sum, &pairs);
        }
        for table in std::iter::once(&tables.scalar).chain(&tables.others) {
            let factors = factors.each_ref().map(|column| {
                column.iter().map(|factor| packed(table, factor)).collect::<Vec<_>>()
            });
            let factors = factors
                .each_ref()
                .map(|column| column.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let mut found = vec![start.to_vec(); count];
            for first in (0..all).step_by(size) {
                let range = first..all.min(first + size);
                let part = Part { before: first, all };
                let columns = found.iter_mut().zip(&factors);
                let mut columns: Vec<_> = columns
                    .map(|(out, factors)| Column { out, factors: &factors[range.clone()] })
                    .collect();
                columns_of_products(table, &rows[range], &mut columns, part);
            }
            assert!(found == expected, "{:?}", table.backend());
        }
    }
}

fn compare_pointwise(degree: usize, bits: u32, seed: u64) {
    let tables = tables(degree, bits);
    let modulus = *tables.scalar.modulus();
    let q = modulus.value();
    let rows: Vec<Vec<u64>> = (0..MAX_PRODUCTS as u64 * 2)
        .map(|i| if i < 2 { vec![q - 1; degree] } else { words(degree, q, seed ^ i) })
        .collect();
    for (a, b) in [(&rows[0], &rows[1]), (&rows[2], &rows[3])] {
        assert_same(&tables, a, |t, out| add_assign(t, out, b));
        assert_same(&tables, a, |t, out| sub_assign(t, out, b));
        assert_same(&tables, a, |t, out| neg_assign(t, &mut out[3..]));
        assert_same(&tables, a, |t, out| mul_assign(t, out, b));
        assert_same(&tables, a, |t, out| mul_add_assign(t, out, a, b));
        assert_same(&tables, a, |t, out| sub_mul_constant(t, out, b, q - 1));
        assert_same(&tables, a, |t, out| add_multiple(t, out, b, q - 1));
        for addend in [None, Some(&rows[4][..])] {
            let terms = QuotientTerms { dividend: a, remainder: b, addend };
            assert_same(&tables, a, |t, out| quotient(t, out, terms, [q - 1, q - 2]));
        }
    }
    assert_same(&tables, &words(degree, 4 * q, seed), |t, out| mul_constant(t, out, q - 2));
    // Three and six are the most that pause between parts at 50 and at 49 bits.
    for count in [1, 2, 3, 4, 6, 7, 15, 16, MAX_PRODUCTS] {
        let random = rows.chunks_exact(2).map(|p| (&p[0][..], &p[1][..]));
        for pairs in [vec![(&rows[0][..], &rows[1][..]); count], random.take(count).collect()] {
            assert_same(&tables, &rows[0], |t, out| sum_of_products(t, out, &pairs));
            compare_columns(&tables, &rows[0], &pairs[..count.min(MAX_PRODUCTS - 1)]);
        }
    }
    for p in [20, 50, 51, 56, 57, 61] {
        let p = prime::ntt_primes_below(degree, p, 1, &[]).unwrap()[0];
        let top = vec![p.value() - 1; degree];
        let wide: Vec<_> = (0..4).map(|i| words(degree, p.value(), seed ^ i)).collect();
        for a in [&top, &wide[0]] {
            assert_same(&tables, a, |t, out| reduce_centered(t, out, a, p.value()));
        }
        for count in [1, 15, 16, MAX_PRODUCTS - 1] {
            let rows: Vec<&[u64]> =
                (0..count).map(|i| if seed == 0 { &top[..] } else { &wide[i % 4] }).collect();
            let weights = if seed == 0 { vec![q - 1; count] } else { words(count, q, seed) };
            let multiples: Vec<u8> = (0..degree).map(|i| (i % 63) as u8).collect();
            let sum = WeightedRows {
                rows: &rows,
                bits: &vec![p.bits(); count],
                weights: &weights,
                multiples: Some((&multiples, q - 1)),
            };
            assert_same(&tables, &top, |t, out| weighted_sum(t, out, sum));
        }
    }
    for p in [(1 << 52) - 1, (1 << 52) + 1, (1 << 63) - 1] {
        let mut a = words(degree, p, seed);
        a[..4].copy_from_slice(&[0, p / 2, p / 2 + 1, p - 1]);
        assert_same(&tables, &a, |t, out| reduce_centered(t, out, &a, p));
        let mut found = vec![0; degree];
        reduce_centered(&tables.scalar, &mut found, &a, p);
        for (&x, &y) in found.iter().zip(&a) {
            let centered = i128::from(y) - if y > p / 2 { i128::from(p) } else { 0 };
            assert_eq!(i128::from(x), centered.rem_euclid(i128::from(q)));
        }
    }
    for other in BITS.map(|bits| prime::ntt_primes_below(degree, bits, 1, &[]).unwrap()[0]) {
        let b = words(degree, other.value(), seed);
        for w in [0, 1, q - 1] {
            assert_same(&tables, &rows[2], |t, out| {
                add_scaled_difference(t, out, &rows[0], &b, &other, w)
            });
        }
    }
    for (base_log, digits) in [(1, 4), (2, 31), (16, 2), (20, 1), (32, 2), (16, 4)] {
        let gadget = DigitGadget::new(modulus, base_log, digits).unwrap();
        // Digits wider than the prime are not residues.
        if base_log < modulus.bits() {
            let mut edges = words(degree, q, seed ^ 7);
            edges[..4].copy_from_slice(&[0, q / 2, q / 2 + 1, q - 1]);
            let start = vec![0; degree * digits];
            assert_same(&tables, &start, |t, out| signed_digits(t, &gadget, out, &edges));
        }
    }
    let limbs = rows[..5].concat();
    let reciprocals = [1.0 / q as f64, 0.5 / q as f64, 0.0, 0.9 / q as f64, 1.0 / q as f64];
    let quotients = |t: &NttTable| {
        let mut out = vec![0xff; degree];
        quotients(t, &mut out, &limbs, &reciprocals);
        out
    };
    let expected = quotients(&tables.scalar);
    for (i, &quotient) in expected.iter().enumerate() {
        let terms = limbs[i..].iter().step_by(degree).zip(reciprocals);
        let sum: f64 = terms.map(|(&y, reciprocal)| y as f64 * reciprocal).sum();
        assert!((f64::from(quotient) - sum).abs() <= 0.5 + 1e-9);
    }
    assert!(tables.others.iter().all(|table| quotients(table) == expected));
    for h in [1, 5, degree as u32 + 1, 2 * degree as u32 - 1] {
        assert_same(&tables, &rows[0], |t, out| permute_signed(t, out, &rows[3], h));
    }
    let map: Vec<u32> = (0..degree as u32).map(|i| i.wrapping_mul(5) % degree as u32).collect();
    let map = Permutation::new(map);
    assert_same(&tables, &rows[0], |t, out| permute(t, out, &rows[3], &map));
}

#[test]
fn sums_of_terms_by_position_and_by_tile() {
    for bits in BITS {
        for degree in [8, 64, 512] {
            let tables = tables(degree, bits.max(degree.ilog2() + 6));
            let q = tables.scalar.modulus().value();
            let whole: Vec<_> = (0..6).map(|seed| words(degree, q, seed)).collect();
            let top = vec![q - 1; degree];
            for count in [0, 1, 14, 15, 16, 64, 130] {
                let term = |i: usize| match i % 3 {
                    0 if degree >= 64 => Term { factor: &whole[i % 5][..degree / 8], row: &top },
                    1 => Term { factor: &top, row: &top },
                    _ => Term { factor: &whole[i % 5], row: &whole[5] },
                };
                let terms: Vec<Term> = (0..count).map(term).collect();
                let first = degree / 128 * 64;
                assert_same(&tables, &top[first..], |t, out| sum_of_terms(t, out, first, &terms));
                let m = tables.scalar.modulus();
                let mut found = top[first..].to_vec();
                sum_of_terms(&tables.scalar, &mut found, first, &terms);
                for (i, &x) in (first..).zip(&found) {
                    let factor = |term: &Term| match term.factor.len() < degree {
                        true => term.factor[i / 64 * 8 + i % 8],
                        false => term.factor[i],
                    };
                    let products = terms.iter().map(|term| m.mul(factor(term), term.row[i]));
                    assert_eq!(x, products.fold(0, |sum, product| m.add(sum, product)));
                }
            }
        }
    }
}

#[test]
fn automorphisms_tile_by_tile() {
    for degree in [128, 1 << 12] {
        let tables = tables(degree, 50);
        let q = tables.scalar.modulus().value();
        let [a, start] = [1, 2].map(|seed| words(degree, q, seed));
        let ring = crate::ring::Ring::new(degree, &[*tables.scalar.modulus()]).unwrap();
        for g in (1..2 * degree).step_by(degree / 32 + 2) {
            let places = ring.automorphism(g).unwrap().ntt_map;
            assert_same(&tables, &start, |t, out| permute(t, out, &a, &places));
        }
    }
}

#[test]
fn back_ends_agree_on_every_degree() {
    for log in 3..=14 {
        for bits in BITS {
            compare_transforms(&tables(1 << log, bits.max(log + 6)), log as u64);
        }
    }
}

#[test]
fn back_ends_agree_on_large_degrees() {
    for log in 15..=17 {
        for bits in [46, 50, 61] {
            compare_transforms(&tables(1 << log, bits), log as u64);
        }
    }
}

#[test]
fn back_ends_agree_position_by_position() {
    for bits in BITS {
        for seed in 0..4 {
            compare_pointwise(64, bits, seed);
        }
    }
}

/// All residues of a small prime in all positions, against the definition.
#[test]
fn products_of_all_residues_of_small_primes() {
    for q in [17, 97, 193] {
        let modulus = Modulus::new(q).unwrap();
        for backend in Backend::ALL {
            let Ok(table) = NttTable::with_backend(8, modulus, backend) else { continue };
            for x in 0..q {
                let b: Vec<u64> = (0..q.next_multiple_of(8)).map(|y| y % q).collect();
                let mut a = vec![x; b.len()];
                mul_assign(&table, &mut a, &b);
                assert!(a.iter().zip(&b).all(|(&a, &y)| a == x * y % q), "{backend:?}");
                mul_add_assign(&table, &mut a, &b, &b);
                assert!(a.iter().zip(&b).all(|(&a, &y)| a == (x * y + y * y) % q), "{backend:?}");
                mul_constant(&table, &mut a, x);
                assert!(a.iter().zip(&b).all(|(&a, &y)| a == (x * y + y * y) * x % q));
            }
        }
    }
}

/// Primes where the quotients of products are worst: at powers of two, and on both sides of
/// `0.7 2^50`, where a shift changes. Products just above and below multiples of the prime.
#[test]
fn products_next_to_multiples_of_the_prime() {
    let starts = [1u64 << 45, 1 << 46, 1 << 48, 1 << 49, 7 * (1 << 50) / 10, 1 << 50, 1 << 59];
    for start in starts {
        let start = start & !15;
        let prime = |q| Modulus::new(q).ok();
        let above = (0..).find_map(|i| prime(start + 16 * i + 1)).unwrap();
        let below = (0..).find_map(|i| prime(start - 16 * i - 15)).unwrap();
        for q in [above, below] {
            let a = words(1024, q.value() - 1, 3).iter().map(|x| x + 1).collect::<Vec<_>>();
            for r in [1, q.value() - 1, 2, q.value() - 2] {
                let b: Vec<u64> = a.iter().map(|&x| q.mul(r, q.pow(x, q.value() - 2))).collect();
                for backend in Backend::ALL {
                    let Ok(table) = NttTable::with_backend(8, q, backend) else { continue };
                    let mut product = a.clone();
                    mul_assign(&table, &mut product, &b);
                    assert!(product.iter().all(|&x| x == r), "{backend:?} {} {r}", q.value());
                }
            }
        }
    }
}

/// Not through `eprintln`, which the test harness hides when a test passes.
#[test]
fn says_what_could_not_be_tested() {
    use std::io::Write;
    let q = prime::ntt_primes_below(64, 50, 1, &[]).unwrap()[0];
    for backend in Backend::ALL {
        if let Err(why) = backend.check(&q) {
            writeln!(std::io::stderr(), "\nNOT TESTED: {why}").unwrap();
        }
    }
}

#[test]
fn refuses_moduli_that_are_too_wide() {
    let q = prime::ntt_primes_below(64, 51, 1, &[]).unwrap()[0];
    for narrow in [Backend::Ifma, Backend::Avx512Fma, Backend::Avx2Fma, Backend::Neon] {
        assert!(refusal(&narrow.check(&q)).is(&ErrorKind::Unsupported, narrow.name()));
        assert_ne!(Backend::fastest(&q), narrow);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn back_ends_agree(log in 3u32..12, bits in 20u32..=61, seed: u64) {
        compare_transforms(&tables(1 << log, bits), seed);
        compare_pointwise(1 << log.min(6), bits, seed);
    }
}

#[test]
fn a_name_limits_the_choice() {
    let allowed = |named| Backend::allowed(named).collect::<Vec<_>>();
    assert_eq!(allowed(Some("scalar")), [Backend::Scalar]);
    assert_eq!(allowed(Some("neon")), [Backend::Neon, Backend::Scalar]);
    assert_eq!(allowed(Some("avx2")), [Backend::Avx2, Backend::Neon, Backend::Scalar]);
    for named in [None, Some("ifma"), Some("nothing")] {
        assert_eq!(allowed(named).len(), Backend::ALL.len());
    }
}
