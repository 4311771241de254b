//! NTRU blind rotation for a ternary secret: one external product for each coordinate.
//!
//! As in [`cggi`](super::cggi), with NTRU' encryptions `EK+` of `[s = 1]` and `EK-` of `[s = -1]`:
//! `AC += ((X^a - 1) EK+ + (X^-a - 1) EK-) (.) AC`. The accumulator is one polynomial instead of
//! two. A step therefore costs `d + 1` transforms instead of `2 d + 2`, and reads a quarter of the
//! key. Exponents are residues modulo `2N`.

use std::ops::Range;

use bellerophon_ring::{Coeff, MonomialTable, Ntt, Poly, aligned::AlignedVec, each_chunk};
use zeroize::Zeroizing;

use super::ntru_parts::{Streams, initial_accumulator};
use crate::modulus_switching::Mod2NCiphertext;
use crate::ntru::{NtruContext, NtruGadgetCiphertext, NtruSecret, row};
use crate::test_polynomial::TestPolynomial;

/// The NTRU' encryptions of all coordinates. Layout, outermost first: coordinate, line of eight
/// positions, digit, sign.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Cmux {
    words: AlignedVec,
}

impl Cmux {
    /// Encrypts coordinates in `{-1, 0, 1}`.
    pub(super) fn generate(
        context: &NtruContext,
        secret: &NtruSecret,
        lwe: &[i64],
        streams: &Streams,
    ) -> Self {
        let (element, rows) = (2 * context.digit_words(), 2 * context.gadget().digits());
        let mut words = AlignedVec::zeroed(lwe.len() * element);
        each_chunk(&mut words, element, |j, out| {
            let mut rng = streams.of(j);
            for (sign, value) in [1, -1].into_iter().enumerate() {
                // [s = value] for s in {-1, 0, 1}, without a branch. In NTT form a constant
                // polynomial has the same value at every position.
                let bit = lwe[j] * (lwe[j] + value) / 2;
                let mut message = Zeroizing::new(context.ring().zero::<Ntt>());
                message.limb_mut(0).fill(bit as u64);
                for t in 0..rows / 2 {
                    let row = row(context, secret, t, &message, &mut rng);
                    MonomialTable::interleave(out, row.limb(0), 2 * t + sign, rows);
                }
            }
        });
        Self { words }
    }

    /// The key of rows in the order of [`rows`](Self::rows).
    pub(super) fn of_rows(context: &NtruContext, rows: &[u64]) -> Self {
        let (n, element) = (context.degree(), 2 * context.digit_words());
        let mut words = AlignedVec::zeroed(rows.len());
        each_chunk(&mut words, element, |j, out| {
            for (i, row) in rows[j * element..(j + 1) * element].chunks(n).enumerate() {
                MonomialTable::interleave(out, row, i, element / n);
            }
        });
        Self { words }
    }

    /// The words in the layout that a rotation reads.
    pub(super) fn into_words(self) -> AlignedVec {
        self.words
    }

    /// The key of words in the layout that a rotation reads.
    pub(super) fn of_words(words: AlignedVec) -> Self {
        Self { words }
    }

    /// The rows of some coordinates. Layout, outermost first: coordinate, digit, sign.
    pub(super) fn rows(&self, context: &NtruContext, coordinates: Range<usize>) -> AlignedVec {
        let (n, element) = (context.degree(), 2 * context.digit_words());
        let mut rows = AlignedVec::zeroed(coordinates.len() * element);
        each_chunk(&mut rows, element, |j, out| {
            let words = &self.words[(coordinates.start + j) * element..][..element];
            for (i, row) in out.chunks_mut(n).enumerate() {
                MonomialTable::deinterleave(words, row, i, element / n);
            }
        });
        rows
    }

    pub(super) fn words(&self) -> usize {
        self.words.len()
    }

    /// Rotates test polynomials by the exponents of their values. The coordinates are the outer
    /// loop: one key element serves the whole group while it is in cache.
    pub(super) fn rotate(
        &self,
        context: &NtruContext,
        entry: &NtruGadgetCiphertext,
        group: &[(&TestPolynomial, &Mod2NCiphertext)],
    ) -> Vec<Poly<Coeff>> {
        let table = context.table();
        let mut digits = AlignedVec::zeroed(context.digit_words());
        let mut product = AlignedVec::zeroed(context.degree());
        // Step 1: AC = NTRU(f X^b).
        let start = |(f, value): &(&TestPolynomial, &Mod2NCiphertext)| {
            initial_accumulator(context, entry, &f.rotated(value.b() as usize), &mut digits)
        };
        let mut accumulators: Vec<_> = group.iter().map(start).collect();
        // Step 2: AC += ((X^k - 1) EK+ + (X^-k - 1) EK-) (.) AC for each coordinate.
        for (j, element) in self.words.chunks_exact(2 * context.digit_words()).enumerate() {
            for (accumulator, (_, value)) in accumulators.iter_mut().zip(group) {
                let k = value.a()[j] as usize;
                if k == 0 {
                    // The exponent is public. Both factors are zero, so AC does not change.
                    continue;
                }
                let accumulator = accumulator.limb_mut(0);
                context.decompose(accumulator, &mut digits);
                context.monomials().ternary_product(table, k, &digits, element, &mut product);
                table.inverse(&mut product);
                table.add_assign(accumulator, &product);
            }
        }
        accumulators
    }
}

/// Size only: the contents are public, but take many megabytes.
impl std::fmt::Debug for Cmux {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cmux of {} words", self.words.len())
    }
}
