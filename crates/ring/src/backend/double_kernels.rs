//! The kernels of the back ends in floating point ([`double`](super::double)), listed once.

/// Runs an expression with [`is_lazy`] of a table as a constant.
macro_rules! with_lazy {
    ($table:expr, $lazy:ident => $run:expr) => {
        if $crate::backend::double::is_lazy($table.modulus()) {
            const $lazy: bool = true;
            $run
        } else {
            const $lazy: bool = false;
            $run
        }
    };
}

/// The transforms and the pointwise products of one back end: `features` names the target features,
/// `simd` the vectors.
macro_rules! double_kernels {
    (features: $features:literal, simd: $simd:ty) => {
        /// The arithmetic of a table on this back end.
        ///
        /// # Safety
        /// The CPU must have the features.
        #[inline(always)]
        pub(super) unsafe fn arithmetic<const LAZY: bool>(table: &NttTable) -> Double<$simd, LAZY> {
            // SAFETY: demanded of the caller.
            Double::new(unsafe { <$simd>::assume() }, table.modulus())
        }

        #[target_feature(enable = $features)]
        pub(super) fn forward_over_pieces(table: &NttTable, a: &mut [u64], done: u32) {
            with_lazy!(table, LAZY => {
                // SAFETY: this function has the target features.
                ntt::forward_over_pieces(unsafe { arithmetic::<LAZY>(table) }, table, a, done)
            });
        }

        #[target_feature(enable = $features)]
        pub(super) fn inverse_piece(
            table: &NttTable,
            last: [[u64; 2]; 2],
            from: Option<&[u64]>,
            index: usize,
            a: &mut [u64],
        ) {
            with_lazy!(table, LAZY => {
                // SAFETY: this function has the target features.
                let f = unsafe { arithmetic::<LAZY>(table) };
                ntt::inverse_piece::<_, RECORD>(f, table, last, from, index, a)
            });
        }

        #[target_feature(enable = $features)]
        pub(super) fn inverse_over_pieces(table: &NttTable, last: [[u64; 2]; 2], a: &mut [u64]) {
            with_lazy!(table, LAZY => {
                // SAFETY: this function has the target features.
                ntt::inverse_over_pieces(unsafe { arithmetic::<LAZY>(table) }, table, last, a)
            });
        }

        #[target_feature(enable = $features)]
        pub(super) fn inverse_to_blocks(
            table: &NttTable,
            last: [[u64; 2]; 2],
            a: &mut [u64],
            bursts: &mut [&mut [u64]],
        ) {
            with_lazy!(table, LAZY => {
                // SAFETY: this function has the target features.
                ntt::inverse_to_blocks(unsafe { arithmetic::<LAZY>(table) }, table, last, a, bursts)
            });
        }

        #[target_feature(enable = $features)]
        pub(super) fn mul_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
            // SAFETY: this function has the target features.
            pointwise::mul_assign(unsafe { arithmetic::<false>(table) }, a, b);
        }

        #[target_feature(enable = $features)]
        pub(super) fn mul_add_assign(table: &NttTable, acc: &mut [u64], a: &[u64], b: &[u64]) {
            // SAFETY: this function has the target features.
            pointwise::mul_add_assign(unsafe { arithmetic::<false>(table) }, acc, a, b);
        }

        #[target_feature(enable = $features)]
        pub(super) fn mul_constant(table: &NttTable, a: &mut [u64], w: u64) {
            with_lazy!(table, LAZY => {
                // SAFETY: this function has the target features.
                pointwise::mul_constant(unsafe { arithmetic::<LAZY>(table) }, a, w)
            });
        }

        #[target_feature(enable = $features)]
        pub(super) fn sub_mul_constant(table: &NttTable, a: &mut [u64], b: &[u64], w: u64) {
            with_lazy!(table, LAZY => {
                // SAFETY: this function has the target features.
                pointwise::sub_mul_constant(unsafe { arithmetic::<LAZY>(table) }, a, b, w)
            });
        }

        #[target_feature(enable = $features)]
        pub(super) fn add_multiple(table: &NttTable, acc: &mut [u64], a: &[u64], w: u64) {
            with_lazy!(table, LAZY => {
                // SAFETY: this function has the target features.
                pointwise::add_multiple(unsafe { arithmetic::<LAZY>(table) }, acc, a, w)
            });
        }

        #[target_feature(enable = $features)]
        pub(super) fn forward_piece(table: &NttTable, a: &mut [u64], piece: Piece) {
            with_lazy!(table, LAZY => {
                // SAFETY: this function has the target features.
                let f = unsafe { arithmetic::<LAZY>(table) };
                ntt::forward_piece::<_, RECORD>(f, table, a, piece)
            });
        }

        #[target_feature(enable = $features)]
        pub(super) fn quotient(
            table: &NttTable,
            out: &mut [u64],
            terms: QuotientTerms,
            factors: [u64; 2],
        ) {
            with_lazy!(table, LAZY => {
                // SAFETY: this function has the target features.
                pointwise::quotient(unsafe { arithmetic::<LAZY>(table) }, out, terms, factors)
            });
        }
    };
}

/// The other kernels of one back end that differ from those of `words`, which has the same
/// registers: sums of products, and what reads residues of other primes. `rows` is how many lines a
/// sum of the first NTT pass takes at once.
#[cfg(target_arch = "x86_64")]
macro_rules! double_sums {
    (features: $features:literal, words: $words:ident, rows: $rows:literal) => {
        pub(super) use super::$words::{
            add_assign, neg_assign, permute, permute_signed, quotients, signed_digits, sub_assign,
        };

        #[target_feature(enable = $features)]
        pub(super) fn sum_of_products(
            table: &NttTable,
            out: &mut [u64],
            pairs: &[(&[u64], &[u64])],
        ) {
            // SAFETY: this function has the target features.
            let f = unsafe { arithmetic::<false>(table) };
            pointwise_words::sum_of_products(f, out, pairs);
        }

        #[target_feature(enable = $features)]
        pub(super) fn columns_of_products(
            table: &NttTable,
            rows: &[&[u64]],
            columns: &mut [Column],
            part: Part,
        ) {
            // SAFETY: this function has the target features.
            let f = unsafe { arithmetic::<false>(table) };
            pointwise_words::columns_of_products(f, rows, columns, part);
        }

        #[target_feature(enable = $features)]
        pub(super) fn sum_of_terms(
            table: &NttTable,
            out: &mut [u64],
            first: usize,
            terms: &[Term],
        ) {
            // SAFETY: this function has the target features.
            let f = unsafe { arithmetic::<false>(table) };
            pointwise_words::sum_of_terms(f, out, first, terms);
        }

        #[target_feature(enable = $features)]
        pub(super) fn weighted_sum(table: &NttTable, out: &mut [u64], sum: WeightedRows) {
            if sum.row_bits() > MAX_BITS {
                return super::$words::weighted_sum(table, out, sum);
            }
            // SAFETY: this function has the target features.
            let f = unsafe { arithmetic::<false>(table) };
            pointwise_words::weighted_sum(f.for_rows(sum.row_bits()), out, sum);
        }

        #[target_feature(enable = $features)]
        pub(super) fn first_pass(
            targets: &mut [Target],
            blocks: Blocks,
            steps: &Range<usize>,
            rows: RowKind,
        ) {
            let stages = |table: &_, residues: &_, out: &mut _, step| {
                first_stages(table, residues, out, step)
            };
            for target in targets.as_chunks_mut().0 {
                let table = target[0].table;
                match rows {
                    RowKind::Several(bits) => {
                        let most = bits.iter().copied().max().unwrap_or(0);
                        if most > MAX_BITS {
                            let kernel = |table: &_, out: &mut _, sum: WeightedRows| {
                                super::$words::weighted_sum(table, out, sum)
                            };
                            let source = ntt_sources::Reduced::new(target, bits, kernel);
                            ntt_first_pass::first_pass(target, blocks, steps, source, stages)
                        } else {
                            // SAFETY: this function has the target features.
                            let f = [unsafe { arithmetic::<false>(table) }.for_rows(most)];
                            let source =
                                ntt_sources::Sum::<_, false, 1, $rows>::new(f, target, bits);
                            ntt_first_pass::first_pass(target, blocks, steps, source, stages)
                        }
                    }
                    RowKind::One(p) if p > 1 << MAX_BITS => {
                        // SAFETY: this function has the target features.
                        let f = [unsafe {
                            super::$words::arithmetic::<{ super::shoup64::WHOLE }>(table)
                        }];
                        let source = ntt_sources::Centered::<_, false, 1>::new(f, target, p);
                        ntt_first_pass::first_pass(target, blocks, steps, source, stages)
                    }
                    RowKind::One(p) => {
                        // SAFETY: this function has the target features.
                        let f = [unsafe { arithmetic::<true>(table) }];
                        let source = ntt_sources::Centered::<_, false, 1>::new(f, target, p);
                        ntt_first_pass::first_pass(target, blocks, steps, source, stages)
                    }
                }
            }
        }

        /// [`ntt_first_pass::first_stages`], compiled once for all sources of residues.
        #[inline(never)]
        #[target_feature(enable = $features)]
        fn first_stages(
            table: &NttTable,
            residues: &ntt_first_pass::Residues,
            out: &mut [u64],
            step: usize,
        ) {
            with_lazy!(table, LAZY => {
                // SAFETY: this function has the target features.
                let f = unsafe { arithmetic::<LAZY>(table) };
                ntt_first_pass::first_stages(f, table, residues, out, step)
            });
        }

        #[target_feature(enable = $features)]
        pub(super) fn reduce_centered(table: &NttTable, out: &mut [u64], a: &[u64], p: u64) {
            if p > 1 << MAX_BITS {
                return super::$words::reduce_centered(table, out, a, p);
            }
            // SAFETY: this function has the target features.
            let f = unsafe { arithmetic::<true>(table) };
            pointwise_words::reduce_centered(f, table.modulus(), out, a, p);
        }

        #[target_feature(enable = $features)]
        pub(super) fn add_scaled_difference(
            table: &NttTable,
            acc: &mut [u64],
            a: &[u64],
            b: &[u64],
            p: &Modulus,
            w: u64,
        ) {
            if p.bits() > MAX_BITS {
                return super::$words::add_scaled_difference(table, acc, a, b, p, w);
            }
            // SAFETY: this function has the target features.
            let f = unsafe { arithmetic::<false>(table) };
            pointwise_words::add_scaled_difference(f, table.modulus(), acc, a, b, p, w);
        }

        #[target_feature(enable = $features)]
        pub(super) fn ternary_product(
            table: &NttTable,
            monomials: &MonomialTable,
            k: usize,
            digits: &[u64],
            key: &[u64],
            out: &mut [u64],
        ) {
            // SAFETY: this function has the target features.
            let f = unsafe { arithmetic::<false>(table) };
            cmux::ternary_product(f, table, monomials, k, digits, key, out);
        }
    };
}

#[cfg(target_arch = "x86_64")]
pub(super) use double_sums;
pub(super) use {double_kernels, with_lazy};
