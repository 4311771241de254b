//! The kernels of the back ends with 64-bit arithmetic ([`shoup64`](super::shoup64)), listed once.

/// The kernels of one back end: `features` names the target features, `simd` the vectors, and
/// `rows` how many rows a sum of the first NTT pass takes at once.
macro_rules! shoup64_kernels {
    (features: $features:literal, simd: $simd:ty, rows: $rows:literal) => {
        /// The arithmetic of a table on this back end.
        ///
        /// # Safety
        /// The CPU must have the features.
        #[inline(always)]
        pub(super) unsafe fn arithmetic<const HEADROOM: u32>(
            table: &NttTable,
        ) -> Word<$simd, HEADROOM> {
            // SAFETY: demanded of the caller.
            Word::new(unsafe { <$simd>::assume() }, table.modulus())
        }

        #[target_feature(enable = $features)]
        pub(super) fn forward_over_pieces(table: &NttTable, a: &mut [u64], done: u32) {
            with_headroom!(table, HEADROOM => {
                // SAFETY: this function has the target features.
                ntt::forward_over_pieces(unsafe { arithmetic::<HEADROOM>(table) }, table, a, done)
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
            with_headroom!(table, HEADROOM => {
                // SAFETY: this function has the target features.
                let f = unsafe { arithmetic::<HEADROOM>(table) };
                ntt::inverse_piece::<_, { 2 * RECORD }>(f, table, last, from, index, a)
            });
        }

        #[target_feature(enable = $features)]
        pub(super) fn inverse_over_pieces(table: &NttTable, last: [[u64; 2]; 2], a: &mut [u64]) {
            with_headroom!(table, HEADROOM => {
                // SAFETY: this function has the target features.
                ntt::inverse_over_pieces(unsafe { arithmetic::<HEADROOM>(table) }, table, last, a)
            });
        }

        #[target_feature(enable = $features)]
        pub(super) fn inverse_to_blocks(
            table: &NttTable,
            last: [[u64; 2]; 2],
            a: &mut [u64],
            bursts: &mut [&mut [u64]],
        ) {
            with_headroom!(table, HEADROOM => {
                // SAFETY: this function has the target features.
                let f = unsafe { arithmetic::<HEADROOM>(table) };
                ntt::inverse_to_blocks(f, table, last, a, bursts)
            });
        }

        #[target_feature(enable = $features)]
        pub(super) fn add_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
            // SAFETY: this function has the target features.
            pointwise_words::add_assign(unsafe { arithmetic::<{ shoup64::WHOLE }>(table) }, a, b);
        }

        #[target_feature(enable = $features)]
        pub(super) fn sub_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
            // SAFETY: this function has the target features.
            pointwise_words::sub_assign(unsafe { arithmetic::<{ shoup64::WHOLE }>(table) }, a, b);
        }

        #[target_feature(enable = $features)]
        pub(super) fn neg_assign(table: &NttTable, a: &mut [u64]) {
            scalar::neg_assign(table, a);
        }

        #[target_feature(enable = $features)]
        pub(super) fn mul_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
            // SAFETY: this function has the target features.
            pointwise::mul_assign(unsafe { arithmetic::<{ shoup64::WHOLE }>(table) }, a, b);
        }

        #[target_feature(enable = $features)]
        pub(super) fn mul_add_assign(table: &NttTable, acc: &mut [u64], a: &[u64], b: &[u64]) {
            // SAFETY: this function has the target features.
            let f = unsafe { arithmetic::<{ shoup64::WHOLE }>(table) };
            pointwise::mul_add_assign(f, acc, a, b);
        }

        #[target_feature(enable = $features)]
        pub(super) fn sum_of_products(
            table: &NttTable,
            out: &mut [u64],
            pairs: &[(&[u64], &[u64])],
        ) {
            with_headroom_of_rows!(table, true, HEADROOM => {
                // SAFETY: this function has the target features.
                let f = unsafe { arithmetic::<HEADROOM>(table) };
                pointwise_words::sum_of_products(f, out, pairs)
            });
        }

        #[target_feature(enable = $features)]
        pub(super) fn columns_of_products(
            table: &NttTable,
            rows: &[&[u64]],
            columns: &mut [Column],
            part: Part,
        ) {
            with_headroom_of_rows!(table, true, HEADROOM => {
                // SAFETY: this function has the target features.
                let f = unsafe { arithmetic::<HEADROOM>(table) };
                pointwise_words::columns_of_products(f, rows, columns, part)
            });
        }

        #[target_feature(enable = $features)]
        pub(super) fn sum_of_terms(
            table: &NttTable,
            out: &mut [u64],
            first: usize,
            terms: &[Term],
        ) {
            with_headroom_of_rows!(table, true, HEADROOM => {
                // SAFETY: this function has the target features.
                let f = unsafe { arithmetic::<HEADROOM>(table) };
                pointwise_words::sum_of_terms(f, out, first, terms)
            });
        }

        #[target_feature(enable = $features)]
        pub(super) fn mul_constant(table: &NttTable, a: &mut [u64], w: u64) {
            // SAFETY: this function has the target features.
            pointwise::mul_constant(unsafe { arithmetic::<{ shoup64::WHOLE }>(table) }, a, w);
        }

        #[target_feature(enable = $features)]
        pub(super) fn sub_mul_constant(table: &NttTable, a: &mut [u64], b: &[u64], w: u64) {
            // SAFETY: this function has the target features.
            let f = unsafe { arithmetic::<{ shoup64::WHOLE }>(table) };
            pointwise::sub_mul_constant(f, a, b, w);
        }

        #[target_feature(enable = $features)]
        pub(super) fn add_multiple(table: &NttTable, acc: &mut [u64], a: &[u64], w: u64) {
            // SAFETY: this function has the target features.
            pointwise::add_multiple(unsafe { arithmetic::<{ shoup64::WHOLE }>(table) }, acc, a, w);
        }

        #[target_feature(enable = $features)]
        pub(super) fn weighted_sum(table: &NttTable, out: &mut [u64], sum: WeightedRows) {
            with_headroom_of_rows!(table, sum.row_bits() <= shoup64::LAZY_BITS, HEADROOM => {
                // SAFETY: this function has the target features.
                pointwise_words::weighted_sum(unsafe { arithmetic::<HEADROOM>(table) }, out, sum)
            });
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
                        let fit = bits.iter().all(|&bits| bits <= shoup64::LAZY_BITS);
                        with_headroom_of_rows!(table, fit, HEADROOM => {
                            // SAFETY: this function has the target features.
                            let f = [unsafe { arithmetic::<HEADROOM>(table) }];
                            let source =
                                ntt_sources::Sum::<_, false, 1, $rows>::new(f, target, bits);
                            ntt_first_pass::first_pass(target, blocks, steps, source, stages)
                        });
                    }
                    RowKind::One(p) => {
                        let fit = p >> 9 < table.modulus().value();
                        with_headroom_of_rows!(table, fit, HEADROOM => {
                            // SAFETY: this function has the target features.
                            let f = [unsafe { arithmetic::<HEADROOM>(table) }];
                            let source = ntt_sources::Centered::<_, false, 1>::new(f, target, p);
                            ntt_first_pass::first_pass(target, blocks, steps, source, stages)
                        });
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
            with_headroom!(table, HEADROOM => {
                // SAFETY: this function has the target features.
                let f = unsafe { arithmetic::<HEADROOM>(table) };
                ntt_first_pass::first_stages(f, table, residues, out, step)
            });
        }

        #[target_feature(enable = $features)]
        pub(super) fn forward_piece(table: &NttTable, a: &mut [u64], piece: Piece) {
            // SAFETY: this function has the target features.
            unsafe {
                with_headroom!(table, HEADROOM => {
                    let f = arithmetic::<HEADROOM>(table);
                    ntt::forward_piece::<_, { 2 * RECORD }>(f, table, a, piece)
                });
            }
        }

        #[target_feature(enable = $features)]
        pub(super) fn quotient(
            table: &NttTable,
            out: &mut [u64],
            terms: QuotientTerms,
            factors: [u64; 2],
        ) {
            // SAFETY: this function has the target features.
            let f = unsafe { arithmetic::<{ shoup64::WHOLE }>(table) };
            pointwise::quotient(f, out, terms, factors);
        }

        #[target_feature(enable = $features)]
        pub(super) fn reduce_centered(table: &NttTable, out: &mut [u64], a: &[u64], p: u64) {
            // SAFETY: this function has the target features.
            let f = unsafe { arithmetic::<{ shoup64::WHOLE }>(table) };
            pointwise_words::reduce_centered(
                f,
                table.modulus(),
                out,
                a,
                p,
            );
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
            // SAFETY: this function has the target features.
            let arithmetic = unsafe { arithmetic::<{ shoup64::WHOLE }>(table) };
            pointwise_words::add_scaled_difference(arithmetic, table.modulus(), acc, a, b, p, w);
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
            let arithmetic = unsafe { arithmetic::<{ shoup64::WHOLE }>(table) };
            cmux::ternary_product(arithmetic, table, monomials, k, digits, key, out);
        }

        #[target_feature(enable = $features)]
        pub(super) fn signed_digits(
            table: &NttTable,
            gadget: &DigitGadget,
            out: &mut [u64],
            a: &[u64],
        ) {
            // SAFETY: this function has the target features.
            let f = unsafe { arithmetic::<{ shoup64::WHOLE }>(table) };
            pointwise_words::signed_digits(
                f,
                table.modulus(),
                gadget,
                out,
                a,
            );
        }

        #[target_feature(enable = $features)]
        pub(super) fn quotients(
            table: &NttTable,
            out: &mut [u8],
            rows: &[u64],
            reciprocals: &[f64],
        ) {
            scalar::quotients(table, out, rows, reciprocals);
        }

        #[target_feature(enable = $features)]
        pub(super) fn permute_signed(table: &NttTable, out: &mut [u64], a: &[u64], h: u32) {
            // SAFETY: this function has the target features.
            let f = unsafe { arithmetic::<{ shoup64::WHOLE }>(table) };
            pointwise_words::permute_signed(f, out, a, h);
        }
    };
}

pub(super) use shoup64_kernels;
