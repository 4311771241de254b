//! Sums of weighted rows to other primes, and their transforms, on every back end.

use super::*;

fn quotient_of(word: u64, rows: usize) -> u8 {
    (word as u8).min(rows as u8)
}

/// Rows in blocks; the quotients are the low bytes of the first one, up to the number of rows.
fn blocks_of(rows: &[&[u64]]) -> (Vec<u64>, Layout) {
    let layout = Layout::new(rows[0].len(), rows.len());
    let mut data = vec![0; layout.len()];
    let low = |values: &[u64], bytes: &mut [u8]| {
        bytes.iter_mut().zip(values).for_each(|(byte, &x)| *byte = quotient_of(x, rows.len()));
    };
    for (row, bursts) in rows.iter().zip(&mut layout.bursts_of_rows(&mut data)) {
        copy_to_bursts(row, bursts);
    }
    if rows.len() > 1 {
        layout.write_quotients(low, &mut data);
    }
    (data, layout)
}

/// Rows in blocks, and the transforms of their weighted sums.
struct Sums<'a> {
    data: Vec<u64>,
    layout: Layout,
    bits: &'a [u32],
    weights: &'a [Vec<u64>],
    expected: Vec<Vec<u64>>,
}

impl<'a> Sums<'a> {
    /// A sum by each of the weights, in natural order and transformed as a whole, with the table at
    /// the same place.
    fn new(
        tables: &[&NttTable],
        rows: &[&[u64]],
        bits: &'a [u32],
        weights: &'a [Vec<u64>],
    ) -> Self {
        let bytes: Vec<u8> = rows[0].iter().map(|&x| quotient_of(x, rows.len())).collect();
        let expected = tables.iter().zip(weights).map(|(table, weights)| {
            let mut out = vec![0; rows[0].len()];
            let (weights, weight) = weights.split_at(rows.len());
            let multiples = Some((&bytes[..], weight[0]));
            weighted_sum(table, &mut out, WeightedRows { rows, bits, weights, multiples });
            forward_ntt(table, &mut out);
            out
        });
        let expected = expected.collect();
        let (data, layout) = blocks_of(rows);
        Self { data, layout, bits, weights, expected }
    }

    /// Sums to one, two and more primes at a time, transformed in two parts: those by the weights
    /// from the given place on.
    fn compare(&self, tables: &[&NttTable], first: usize) {
        let mut found = vec![vec![0; tables[0].degree()]; tables.len()];
        let targets = tables.iter().zip(&self.weights[first..]).zip(&mut found);
        let mut targets: Vec<Target> =
            targets.map(|((table, weights), out)| Target { table, weights, out }).collect();
        let blocks = Blocks { data: &self.data, layout: self.layout };
        forward_outer(&mut targets, blocks, RowKind::Several(self.bits));
        targets.iter_mut().for_each(|target| finish(target.table, target.out));
        assert!(
            found == self.expected[first..][..tables.len()],
            "{:?}",
            tables.iter().map(|t| t.backend()).collect::<Vec<_>>()
        );
    }
}

/// Sums and residues of another prime, transformed in two parts.
pub(super) fn compare_transforms_of_sums(degree: usize, q: Modulus, p: u32, seed: u64) {
    let Tables { scalar, others } = tables_of(degree, q);
    // `q - 1` in Montgomery form.
    let most = q.neg(q.inv(q.reduce(1 << 52)).unwrap());
    let q = q.value();
    let p = prime::ntt_primes_below(degree, p, 1, &[]).unwrap()[0];
    let whole: Vec<Vec<u64>> = (0..3).map(|i| words(degree, p.value(), seed ^ i)).collect();
    let tables = || std::iter::once(&scalar).chain(&others);
    // Rows of large primes among others, as many as are reduced at once for some prime, and more.
    let (top, small) = (vec![(1 << 60) - 1; degree], vec![(1 << 50) - 1; degree]);
    // Larger degrees have more pieces; the first few sums suffice for these.
    let all = degree < 1 << 14;
    let mixtures =
        [(2, 6), (11, 4), (1, 10), (1, 11), (2, 7), (3, 2), (3, 3), (4, 58), (11, 3), (11, 9)];
    for (large, others) in mixtures.into_iter().take(if all { mixtures.len() } else { 2 }) {
        let mixed =
            [(&small, 50, others / 2), (&top, 60, large), (&small, 50, others - others / 2)];
        let mixed = mixed.iter().flat_map(|&(row, bits, count)| vec![(&row[..], bits); count]);
        let (rows, bits): (Vec<&[u64]>, Vec<u32>) = mixed.unzip();
        let most = vec![most; rows.len() + 1];
        let weights = [vec![q - 1; rows.len() + 1], most, words(rows.len() + 1, q, seed)];
        let sums = Sums::new(&[&scalar; 3], &rows, &bits, &weights);
        for table in tables() {
            sums.compare(&[table; 2], 0);
            sums.compare(&[table; 2], 1);
        }
    }
    let largest = vec![p.value() - 1; degree];
    let counts = [4, 15, 62, 2, 3, 10, 11, 14, 17, 47, 48];
    for count in counts.into_iter().take(if all { counts.len() } else { 3 }) {
        let rows: Vec<&[u64]> = (0..count).map(|i| &whole[i % 3][..]).collect();
        let bits = vec![p.bits(); count];
        let weights = [vec![most; count + 1], vec![q - 1; count + 1]];
        let sums = Sums::new(&[&scalar; 2], &vec![&largest[..]; count], &bits, &weights);
        for table in tables() {
            sums.compare(&[table; 2], 0);
        }
        let weights: Vec<_> = (0..5).map(|i| words(count + 1, q, seed ^ i)).collect();
        let sums = Sums::new(&[&scalar; 5], &rows, &bits, &weights);
        for table in tables() {
            sums.compare(&[table], 0);
        }
        // All back ends one after the other, some of them twice.
        let mixed: Vec<&NttTable> = tables().chain(others.last()).take(5).collect();
        sums.compare(&mixed, 0);
    }
    for p in [p.value(), (1 << 52) - 1, (1 << 63) - 1] {
        let row = words(degree, p, seed);
        let (data, layout) = blocks_of(&[&row]);
        let mut expected = vec![0; degree];
        reduce_centered(&scalar, &mut expected, &row, p);
        forward_ntt(&scalar, &mut expected);
        for table in tables() {
            for count in [1, 2, 3] {
                let mut found = vec![vec![0; degree]; count];
                let targets = found.iter_mut().map(|out| Target { table, weights: &[], out });
                let mut targets: Vec<Target> = targets.collect();
                forward_outer(&mut targets, Blocks { data: &data, layout }, RowKind::One(p));
                for out in &mut found {
                    finish(table, out);
                    assert!(*out == expected, "{:?} from {p}", table.backend());
                }
            }
        }
    }
}

/// Compares at primes just below and just above a power of two, for one of which `2^52 mod q` is
/// small and for the other large. Sizes are the bits of these primes and of the rows.
fn compare_at_degree(log: u32, sizes: impl IntoIterator<Item = (u32, u32)>) {
    for (bits, p) in sizes {
        let below = prime::ntt_primes_below(1 << log, bits, 1, &[]).unwrap()[0];
        let around = prime::ntt_primes_around(1 << log, bits.min(60), 8, &[]).unwrap();
        let above = around.into_iter().find(|q| q.value() >> bits.min(60) == 1).unwrap();
        for q in [below, above] {
            compare_transforms_of_sums(1 << log, q, p, u64::from(log));
        }
    }
}

const SIZES: [(u32, u32); 13] = [
    (30, 45),
    (45, 50),
    (46, 50),
    (40, 60),
    (48, 50),
    (49, 60),
    (49, 49),
    (50, 49),
    (50, 50),
    (50, 61),
    (61, 50),
    // Just below and just above `2^9` times the prime.
    (44, 53),
    (43, 53),
];

#[test]
fn transforms_in_two_parts_are_those_of_the_whole() {
    for log in [3, 6, 7, 11, 12, 13] {
        compare_at_degree(log, SIZES);
    }
}

// Each size at one of the three degrees with several passes over the whole; the larger ones take
// fewer.

#[test]
fn transforms_in_two_parts_at_degree_2_14() {
    compare_at_degree(14, SIZES.into_iter().step_by(2));
}

#[test]
fn transforms_in_two_parts_at_degree_2_15() {
    compare_at_degree(15, SIZES.into_iter().skip(1).step_by(4));
}

#[test]
fn transforms_in_two_parts_at_degree_2_16() {
    compare_at_degree(16, SIZES.into_iter().skip(3).step_by(4));
}

/// Primes that are reduced more or less often, two at a time in every order, and single ones.
#[test]
fn sums_to_primes_of_several_kinds_at_once() {
    for degree in [1 << 12, 1 << 15] {
        let primes =
            [45, 50, 49, 60].map(|bits| prime::ntt_primes_below(degree, bits, 1, &[]).unwrap()[0]);
        let tables = primes.map(|q| NttTable::new(degree, q).unwrap());
        for order in [[0, 1, 2, 3], [1, 0, 3, 2], [2, 0, 1, 3], [1, 2, 0, 3]] {
            let tables = order.map(|i| &tables[i]);
            for bits in [48, 60] {
                let rows: Vec<_> = (0..3).map(|i| words(degree, 1 << bits, i)).collect();
                let rows: Vec<&[u64]> = rows.iter().map(|row| &row[..]).collect();
                let weights = tables.map(|table| words(4, table.modulus().value(), 7)).to_vec();
                Sums::new(&tables, &rows, &[bits; 3], &weights).compare(&tables, 0);
            }
        }
    }
}
