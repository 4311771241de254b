//! Key decomposition: the rows of a key are cut into digits too, and digits are multiplied with
//! digits as integers (Kim, Lee, Seo and Song, CRYPTO 2023).
//!
//! An inner product `sum_j d_j r_j` modulo `P Q` needs every digit `d_j` modulo every prime of the
//! key: with one special prime, as many transforms as the square of the number of primes. The
//! primes of the key are cut into a few runs with products `D_k`. Let `r_jk` be the centred
//! representative of `[r_j]_{D_k}`. Modulo the primes of run `k`,
//!
//! `sum_j d_j r_j = sum_j d_j r_jk`,
//!
//! and the right side is a sum of integers of at most
//!
//! `B_k = N sum_j (Q'_j / 2) (D_k / 2)`,
//!
//! which is exact modulo any `T > 2 B_k`. The sums are computed modulo auxiliary primes with
//! product `T`. Digits are transformed for these primes alone, a few of them instead of all. Each
//! sum is brought back once: inverse transforms for the primes of `T`, and an exact conversion to
//! the primes of its run.

use std::{convert::Infallible, ops::Range};

use crate::backend::{self, Layout};
use crate::basis_extension::BaseConverter;
use crate::error::Result;
use crate::gadget::hybrid_gadget::digit_starts;
use crate::gadget::{DecomposedRows, HybridGadget, KeyRows};
use crate::modulus::Modulus;
use crate::packed_poly::PackedPoly;
use crate::par::{self, HEAVY};
use crate::poly::{Ntt, Poly};
use crate::prime;
use crate::ring::Ring;

/// `log2(T / 2 B)` at least: the rounded quotients of the conversion from `T` are exact below
/// `T / 2` up to a relative error of `2^-40`.
const MARGIN_BITS: f64 = 1.0 / 128.0;

/// The constants of a key decomposition: the runs `D_k` and the auxiliary primes.
#[derive(Debug, Clone)]
pub struct KeyDecomposition {
    /// The auxiliary primes.
    ring: Ring,
    /// The special primes, then the chain. A level has a prefix of them.
    primes: Ring,
    special: usize,
    /// Digit `k` of the key consists of the primes `starts[k]..starts[k + 1]`.
    starts: Vec<usize>,
    /// `converters[j][s - 1]`: from the first `s` primes of digit `j` of the gadget to the
    /// auxiliary primes.
    converters: Vec<Vec<BaseConverter>>,
    /// From the auxiliary primes to the primes of each digit of the key.
    back: Vec<BaseConverter>,
}

impl KeyDecomposition {
    /// Upper bound on the bits of auxiliary primes: six bytes in a [`PackedPoly`], and transforms
    /// that reduce after three stages.
    pub const PRIME_BITS: u32 = 48;

    /// `log2(2 B)` with a margin, for key digits below `2^key_digit` and sums over `components`
    /// polynomials with gadget digits below `2^digits`: the least `log2 T`.
    pub fn log2_product(
        degree: usize,
        components: usize,
        digits: impl Iterator<Item = f64>,
        key_digit: f64,
    ) -> f64 {
        let sum: f64 = digits.fold(f64::NEG_INFINITY, |sum, digit| {
            // log2(2^sum + 2^digit) without overflow.
            let (most, least) = (sum.max(digit), sum.min(digit));
            most + (least - most).exp2().ln_1p() / std::f64::consts::LN_2
        });
        let terms = (degree as f64 * components as f64).log2();
        // 2 B = N components (sum_j Q'_j) D_k / 2.
        terms + sum + key_digit - 1.0 + MARGIN_BITS
    }

    /// Cuts the primes of a key with `limbs` primes of the chain into maximal runs of at most
    /// `2^key_digit`, for inner products over up to `components` polynomials.
    pub fn new(
        gadget: &HybridGadget,
        limbs: usize,
        components: usize,
        key_digit: f64,
    ) -> Result<Self> {
        let (q, p) = (gadget.q().at_limbs(limbs), gadget.p());
        let primes = p.join(&q)?;
        // Step 1: cut the primes into the digits of the key.
        let starts = digit_starts(&primes, key_digit);
        let runs = || starts.windows(2).map(|run| primes.slice(run[0]..run[1]));
        // Step 2: auxiliary primes apart from those of the key, as many as the sums need.
        let largest = runs().map(|run| run.log2_modulus()).fold(0.0, f64::max);
        let count = gadget.digits(limbs);
        let digits = (0..count).map(|j| gadget.log2_digit(j, limbs));
        let needed = Self::log2_product(q.degree(), components, digits, largest);
        let taken: Vec<Modulus> = primes.moduli().copied().collect();
        let mut auxiliary = (needed / f64::from(Self::PRIME_BITS)).ceil() as usize;
        let ring = loop {
            let found = prime::ntt_primes_below(q.degree(), Self::PRIME_BITS, auxiliary, &taken)?;
            // The primes are slightly below their bits: one more may be needed.
            if found.iter().map(Modulus::log2).sum::<f64>() >= needed {
                break Ring::new(q.degree(), &found)?;
            }
            auxiliary += 1;
        };
        // Step 3: conversions of digits to the auxiliary primes, and of sums back.
        let converters = (0..count).map(|j| {
            let Range { start, end } = gadget.primes(j, limbs);
            (start + 1..=end).map(|end| BaseConverter::new(&q.slice(start..end), &ring)).collect()
        });
        let converters: Result<Vec<Vec<_>>> = converters.collect();
        let back: Result<Vec<_>> = runs().map(|run| BaseConverter::new(&ring, &run)).collect();
        let special = p.limbs();
        Ok(Self { ring, primes, special, starts, converters: converters?, back: back? })
    }

    /// The number of primes of the chain in the keys.
    pub(super) fn limbs(&self) -> usize {
        self.primes.limbs() - self.special
    }

    /// The ring modulo the auxiliary primes.
    pub(crate) fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The number of digits of the key that a level with `limbs` limbs reads.
    pub(super) fn key_digits(&self, limbs: usize) -> usize {
        self.starts.partition_point(|&start| start < self.special + limbs)
    }

    /// From the first `primes` primes of a digit of the gadget to the auxiliary primes.
    pub(super) fn converter(&self, digit: usize, primes: usize) -> &BaseConverter {
        &self.converters[digit][primes - 1]
    }

    /// From the auxiliary primes to the primes of a digit of the key.
    pub(super) fn back(&self, digit: usize) -> &BaseConverter {
        &self.back[digit]
    }

    /// The layout of sums for the conversions back.
    pub(super) fn layout(&self) -> Layout {
        self.back[0].layout()
    }

    /// The digit of the key that has limb `i` of `limbs` limbs and the special primes, and the
    /// place of the limb in this digit.
    pub(super) fn place(&self, i: usize, limbs: usize) -> (usize, usize) {
        let prime = if i < limbs { self.special + i } else { i - limbs };
        let digit = self.starts.partition_point(|&start| start <= prime) - 1;
        (digit, prime - self.starts[digit])
    }

    /// The rows of a key, cut into digits and transformed for the auxiliary primes.
    ///
    /// # Panics
    /// Unless the rows have the primes of this decomposition.
    pub fn rows(&self, rows: &KeyRows) -> DecomposedRows {
        let columns = self.starts.windows(2).flat_map(|run| {
            rows.columns.iter().map(move |column| self.cut(run[0]..run[1], column))
        });
        DecomposedRows { columns: columns.collect(), count: rows.columns.len() }
    }

    /// One digit of the rows of a column.
    fn cut(&self, range: Range<usize>, rows: &[&PackedPoly]) -> Vec<PackedPoly> {
        let run = self.primes.slice(range.clone());
        // The primes of the key and the auxiliary primes are distinct.
        let converter = BaseConverter::new(&run, &self.ring).expect("distinct primes");
        let limbs = self.limbs();
        let Ok(rows) = par::try_map(rows, |row| {
            assert_eq!(row.limbs(), self.primes.limbs(), "the rows must be over Q and P");
            // Step 1: the limbs of this digit.
            let mut own: Poly<Ntt> = run.uninit();
            for (i, prime) in range.clone().enumerate() {
                let stored =
                    if prime < self.special { limbs + prime } else { prime - self.special };
                row.unpack_limb(stored, own.limb_mut(i));
            }
            // Step 2: the centred representative modulo the auxiliary primes, in NTT form.
            let mut blocks = run.scratch(converter.layout().len());
            converter.write_blocks(own.data(), &mut blocks);
            let mut digit: Poly<Ntt> = self.ring.uninit();
            let degree = self.ring.degree();
            converter
                .write_outer(&blocks, digit.data_mut().chunks_mut(degree).enumerate().collect());
            self.ring.each(&mut digit, HEAVY, |table, _, limb| {
                backend::finish_forward(table, limb);
            });
            Ok::<_, Infallible>(PackedPoly::new(&self.ring, &digit))
        });
        rows
    }
}
