//! The ChaCha20 keystream that seeds are expanded from, sixteen blocks at a time.
//!
//! The library's generator is used without AVX2 and AVX-512, and as the reference in tests. With
//! these instructions one block per lane is faster: the library computes four blocks at a time in
//! one chain of dependent instructions, and its random words have no AVX-512 path.

use chacha20::ChaCha20Rng;
use rand::{Rng, SeedableRng};
use zeroize::Zeroize;

use super::Backend;

/// Blocks computed at a time.
const BLOCKS: usize = 16;
/// The number of 64-bit words in these blocks.
pub(crate) const GROUP: usize = 8 * BLOCKS;

/// ChaCha20 with 20 rounds, a 64-bit counter that starts at 0 and a 64-bit nonce, as a sequence of
/// 64-bit words.
///
/// Sixteen blocks at a time form the rows of a 16 x 8 matrix of little-endian words, which is read
/// column by column: word `16 p + l` of group `g` is word `p` of block `16 g + l`.
pub(crate) struct Keystream {
    key: [u8; 32],
    nonce: u64,
    /// The next block.
    counter: u64,
    backend: Backend,
}

/// Wipes the key, which may belong to a generator of secrets.
impl Drop for Keystream {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl Keystream {
    /// The start of the stream.
    ///
    /// # Panics
    /// If the CPU does not have the back end.
    pub(crate) fn new(key: [u8; 32], nonce: u64, backend: Backend) -> Self {
        assert!(backend.is_detected(), "the CPU must support the back end");
        Self { key, nonce, counter: 0, backend }
    }

    /// The words of the next sixteen blocks.
    pub(crate) fn next(&mut self, out: &mut [u64; GROUP]) {
        match self.backend {
            // SAFETY: `new` has made sure that the CPU has the back end.
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2 | Backend::Avx2Fma => unsafe {
                x86::avx2(&self.start(), self.counter, out)
            },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512 | Backend::Avx512Fma | Backend::Ifma => unsafe {
                x86::avx512(&self.start(), self.counter, out);
            },
            _ => self.portable(out),
        }
        self.counter += BLOCKS as u64;
    }

    fn portable(&self, out: &mut [u64; GROUP]) {
        let mut blocks = [0; 8 * GROUP];
        let mut generator = ChaCha20Rng::from_seed(self.key);
        generator.set_stream(self.nonce);
        generator.set_word_pos(16 * u128::from(self.counter));
        generator.fill_bytes(&mut blocks);
        let (words, _) = blocks.as_chunks();
        for (i, x) in out.iter_mut().enumerate() {
            *x = u64::from_le_bytes(words[8 * (i % BLOCKS) + i / BLOCKS]);
        }
    }

    /// The input of a block, but for the counter.
    #[cfg(target_arch = "x86_64")]
    fn start(&self) -> [u32; 16] {
        let mut words = [0; 16];
        words[..4].copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
        for (word, bytes) in words[4..12].iter_mut().zip(self.key.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        words[14] = self.nonce as u32;
        words[15] = (self.nonce >> 32) as u32;
        words
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{BLOCKS, GROUP};

    /// The same word of several blocks. Values exist only on CPUs with the instructions.
    trait Lanes: Copy {
        /// The number of blocks.
        const BLOCKS: usize;
        fn splat(x: u32) -> Self;
        /// The first lanes.
        fn load(x: &[u32; BLOCKS]) -> Self;
        fn add(self, other: Self) -> Self;
        fn xor(self, other: Self) -> Self;
        /// Rotates left by 16, 12, 8 or 7 bits.
        fn rotate<const BITS: i32>(self) -> Self;
        /// Writes the words `self + 2^32 high`. The word of the block of lane `l` goes to
        /// [`position`]`::<Self>(l)`.
        fn zip(self, high: Self, out: &mut [u64]);
    }

    /// The position of a lane in the output. The instructions pair words within 128 bits: of four
    /// lanes, the first two go to the first half.
    fn position<L: Lanes>(lane: usize) -> usize {
        lane / 4 * 2 + lane % 2 + lane / 2 % 2 * (L::BLOCKS / 2)
    }

    // In every block of this implementation: SAFETY: only `avx512` makes values of this type;
    // loads and stores stay within the arrays.
    #[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all, stated above")]
    impl Lanes for __m512i {
        const BLOCKS: usize = 16;

        #[inline(always)]
        fn splat(x: u32) -> Self {
            unsafe { _mm512_set1_epi32(x as i32) }
        }

        #[inline(always)]
        fn load(x: &[u32; BLOCKS]) -> Self {
            unsafe { _mm512_loadu_si512(x.as_ptr().cast()) }
        }

        #[inline(always)]
        fn add(self, other: Self) -> Self {
            unsafe { _mm512_add_epi32(self, other) }
        }

        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            unsafe { _mm512_xor_si512(self, other) }
        }

        #[inline(always)]
        fn rotate<const BITS: i32>(self) -> Self {
            unsafe { _mm512_rol_epi32::<BITS>(self) }
        }

        #[inline(always)]
        fn zip(self, high: Self, out: &mut [u64]) {
            let (lines, _) = out.as_chunks_mut::<8>();
            unsafe {
                let first = _mm512_unpacklo_epi32(self, high);
                _mm512_storeu_si512(lines[0].as_mut_ptr().cast(), first);
                let second = _mm512_unpackhi_epi32(self, high);
                _mm512_storeu_si512(lines[1].as_mut_ptr().cast(), second);
            }
        }
    }

    // In every block of this implementation: SAFETY: only `avx2` makes values of this type; loads
    // and stores stay within the arrays.
    #[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all, stated above")]
    impl Lanes for __m256i {
        const BLOCKS: usize = 8;

        #[inline(always)]
        fn splat(x: u32) -> Self {
            unsafe { _mm256_set1_epi32(x as i32) }
        }

        #[inline(always)]
        fn load(x: &[u32; BLOCKS]) -> Self {
            unsafe { _mm256_loadu_si256(x.as_ptr().cast()) }
        }

        #[inline(always)]
        fn add(self, other: Self) -> Self {
            unsafe { _mm256_add_epi32(self, other) }
        }

        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            unsafe { _mm256_xor_si256(self, other) }
        }

        #[inline(always)]
        fn rotate<const BITS: i32>(self) -> Self {
            // Rotations by whole bytes take one instruction.
            let bytes = |low: i64, high: i64| unsafe {
                _mm256_shuffle_epi8(self, _mm256_setr_epi64x(low, high, low, high))
            };
            match BITS {
                16 => bytes(0x0504_0706_0100_0302, 0x0d0c_0f0e_0908_0b0a),
                12 => unsafe {
                    _mm256_or_si256(_mm256_slli_epi32::<12>(self), _mm256_srli_epi32::<20>(self))
                },
                8 => bytes(0x0605_0407_0201_0003, 0x0e0d_0c0f_0a09_080b),
                7 => unsafe {
                    _mm256_or_si256(_mm256_slli_epi32::<7>(self), _mm256_srli_epi32::<25>(self))
                },
                _ => unreachable!("ChaCha rotates by four amounts"),
            }
        }

        #[inline(always)]
        fn zip(self, high: Self, out: &mut [u64]) {
            let (lines, _) = out.as_chunks_mut::<4>();
            unsafe {
                let first = _mm256_unpacklo_epi32(self, high);
                _mm256_storeu_si256(lines[0].as_mut_ptr().cast(), first);
                let second = _mm256_unpackhi_epi32(self, high);
                _mm256_storeu_si256(lines[1].as_mut_ptr().cast(), second);
            }
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn avx2(start: &[u32; 16], counter: u64, out: &mut [u64; GROUP]) {
        group::<__m256i>(start, counter, out);
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn avx512(start: &[u32; 16], counter: u64, out: &mut [u64; GROUP]) {
        group::<__m512i>(start, counter, out);
    }

    /// Sixteen blocks. Lane `l` computes the block that [`Lanes::zip`] writes to its position.
    #[inline(always)]
    fn group<L: Lanes>(start: &[u32; 16], counter: u64, out: &mut [u64; GROUP]) {
        for part in (0..BLOCKS).step_by(L::BLOCKS) {
            let counters: [u64; BLOCKS] =
                std::array::from_fn(|lane| counter + (part + position::<L>(lane)) as u64);
            let mut start = start.map(L::splat);
            start[12] = L::load(&counters.map(|x| x as u32));
            start[13] = L::load(&counters.map(|x| (x >> 32) as u32));
            let mut x = start;
            for _ in 0..10 {
                // Columns, then diagonals.
                quarter_round(&mut x, [0, 4, 8, 12]);
                quarter_round(&mut x, [1, 5, 9, 13]);
                quarter_round(&mut x, [2, 6, 10, 14]);
                quarter_round(&mut x, [3, 7, 11, 15]);
                quarter_round(&mut x, [0, 5, 10, 15]);
                quarter_round(&mut x, [1, 6, 11, 12]);
                quarter_round(&mut x, [2, 7, 8, 13]);
                quarter_round(&mut x, [3, 4, 9, 14]);
            }
            for (p, column) in out.chunks_exact_mut(BLOCKS).enumerate() {
                let [low, high] = [2 * p, 2 * p + 1].map(|i| x[i].add(start[i]));
                low.zip(high, &mut column[part..part + L::BLOCKS]);
            }
        }
    }

    #[inline(always)]
    fn quarter_round<L: Lanes>(x: &mut [L; 16], [a, b, c, d]: [usize; 4]) {
        x[a] = x[a].add(x[b]);
        x[d] = x[d].xor(x[a]).rotate::<16>();
        x[c] = x[c].add(x[d]);
        x[b] = x[b].xor(x[c]).rotate::<12>();
        x[a] = x[a].add(x[b]);
        x[d] = x[d].xor(x[a]).rotate::<8>();
        x[c] = x[c].add(x[d]);
        x[b] = x[b].xor(x[c]).rotate::<7>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_ends_make_the_same_words() {
        for (key, nonce, counter) in [
            ([0; 32], 0, 0),
            ([0xa5; 32], u64::MAX, 1 << 20),
            ([7; 32], 1 << 40, u64::from(u32::MAX) - 20),
        ] {
            let words = |backend| {
                let mut stream = Keystream::new(key, nonce, backend);
                stream.counter = counter;
                let mut groups = [[0; GROUP]; 4];
                groups.iter_mut().for_each(|group| stream.next(group));
                groups
            };
            let expected = words(Backend::Scalar);
            for backend in Backend::ALL.into_iter().filter(|b| b.is_detected()) {
                assert!(words(backend) == expected, "{backend:?} {nonce} {counter}");
            }
        }
    }

    /// The first block under key and nonce zero: RFC 8439, appendix A.1, test vector 1 (the 32 bits
    /// in which its counter and nonce differ from these are zero).
    #[test]
    fn known_block() {
        let block = [
            0x903d_f1a0_ade0_b876,
            0x28bd_8653_e56a_5d40,
            0x1aed_8da0_b819_d2bd,
            0xc70d_778b_ccef_36a8,
            0x8d48_5751_7c59_41da,
            0x374a_d8b8_3fe0_2477,
            0x1ca1_1815_f4b8_436a,
            0x8665_eeb2_69b6_87c3,
        ];
        let mut group = [0; GROUP];
        Keystream::new([0; 32], 0, Backend::Scalar).next(&mut group);
        assert!(group.iter().step_by(BLOCKS).eq(&block));
    }
}
