//! The epilogue of an inner product: operations fused into its mod-down. These are the addition of
//! further terms, the division by further primes, and an automorphism.

use std::ops::Range;

use crate::automorphism::Automorphism;
use crate::backend::{self, MAX_PRODUCTS};
use crate::ntt::NttTable;
use crate::poly::{Ntt, Poly};
use crate::ring::Ring;

/// The operations fused into the mod-down of an inner product.
#[derive(Debug, Clone, Default)]
pub struct Epilogue<'a> {
    /// For each column, a term added to the quotient by `P`. Columns after the last have no term.
    pub addends: Vec<Option<Addend<'a>>>,
    /// The number of primes at the end of the chain that are divided out together with `P`.
    pub primes: usize,
    /// An automorphism to apply to the result.
    pub map: Option<&'a Automorphism>,
}

impl<'a> Epilogue<'a> {
    /// Panics unless addends and automorphism belong to this ring and there are at most `columns`
    /// addends.
    pub(crate) fn check(&self, ring: &Ring, columns: usize) {
        assert!(self.addends.len() <= columns, "at most one addend per column");
        self.addends.iter().flatten().for_each(|addend| addend.check(ring));
        assert!(
            self.map.is_none_or(|map| map.ntt_map.len() == ring.degree()),
            "the automorphism must have the degree of the ring"
        );
    }

    /// The term of a column.
    pub(crate) fn addend(&self, column: usize) -> Option<&Addend<'a>> {
        self.addends.get(column).and_then(Option::as_ref)
    }
}

/// A polynomial to add to a quotient, see [`Epilogue`](crate::Epilogue).
#[derive(Debug, Clone)]
pub enum Addend<'a> {
    /// A stored polynomial.
    Poly(&'a Poly<Ntt>),
    /// The sum of at most 63 products. It is computed piece by piece where it is added and never
    /// stored as a whole.
    Products(Vec<(&'a Poly<Ntt>, &'a Poly<Ntt>)>),
}

impl Addend<'_> {
    /// Panics unless the addend belongs to this ring.
    pub(crate) fn check(&self, ring: &Ring) {
        match self {
            Self::Poly(poly) => ring.check(poly),
            Self::Products(products) => {
                assert!(products.len() <= MAX_PRODUCTS, "at most 63 products");
                products.iter().flat_map(|&(a, b)| [a, b]).for_each(|a| ring.check(a));
            }
        }
    }

    /// Limb `i` of the addend. `buffer` holds one piece of it.
    pub(crate) fn limb<'a>(&'a self, i: usize, buffer: &'a mut [u64]) -> AddendLimb<'a> {
        match self {
            Self::Poly(poly) => AddendLimb::Words(poly.limb(i)),
            Self::Products(products) => {
                let pairs = products.iter().map(|(a, b)| (a.limb(i), b.limb(i))).collect();
                AddendLimb::Products { pairs, buffer }
            }
        }
    }
}

/// A limb of an [`Addend`].
pub(crate) enum AddendLimb<'a> {
    Words(&'a [u64]),
    Products { pairs: Vec<(&'a [u64], &'a [u64])>, buffer: &'a mut [u64] },
}

impl<'a> AddendLimb<'a> {
    /// The limbs that are read from memory.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &'a [u64]> {
        let (words, pairs) = match self {
            Self::Words(words) => (Some(*words), &[][..]),
            Self::Products { pairs, .. } => (None, &pairs[..]),
        };
        words.into_iter().chain(pairs.iter().flat_map(|&(a, b)| [a, b]))
    }

    /// The words of one piece.
    pub(crate) fn piece(&mut self, table: &NttTable, at: Range<usize>) -> &[u64] {
        match self {
            Self::Words(words) => &words[at],
            Self::Products { pairs, buffer } => {
                let pairs: Vec<_> =
                    pairs.iter().map(|(a, b)| (&a[at.clone()], &b[at.clone()])).collect();
                backend::sum_of_products(table, buffer, &pairs);
                buffer
            }
        }
    }
}
