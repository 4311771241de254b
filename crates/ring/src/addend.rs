//! What is added to the quotients of a division.

use std::ops::Range;

use crate::{
    Ntt, NttTable, Poly, Ring,
    backend::{self, MAX_PRODUCTS},
};

/// A polynomial that is added to a quotient, see [`Finish`](crate::Finish).
#[derive(Debug, Clone)]
pub enum Addend<'a> {
    /// One that is there.
    Poly(&'a Poly<Ntt>),
    /// The sum of at most 63 products, worked out piece by piece where it is added, so that it never
    /// passes through memory.
    Products(Vec<(&'a Poly<Ntt>, &'a Poly<Ntt>)>),
}

impl Addend<'_> {
    /// Panics unless it is of this ring.
    pub(crate) fn check(&self, ring: &Ring) {
        match self {
            Self::Poly(poly) => ring.check(poly),
            Self::Products(products) => {
                assert!(products.len() <= MAX_PRODUCTS, "at most 63 products");
                products.iter().flat_map(|&(a, b)| [a, b]).for_each(|a| ring.check(a));
            }
        }
    }

    pub(crate) fn limb(&self, i: usize) -> AddendLimb<'_> {
        match self {
            Self::Poly(poly) => AddendLimb::Words(poly.limb(i)),
            Self::Products(products) => {
                AddendLimb::Products(products.iter().map(|(a, b)| (a.limb(i), b.limb(i))).collect())
            }
        }
    }
}

/// A limb of an [`Addend`].
pub(crate) enum AddendLimb<'a> {
    Words(&'a [u64]),
    Products(Vec<(&'a [u64], &'a [u64])>),
}

impl<'a> AddendLimb<'a> {
    /// The limbs that are read.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &'a [u64]> {
        let (words, products) = match self {
            Self::Words(words) => (Some(*words), &[][..]),
            Self::Products(products) => (None, &products[..]),
        };
        words.into_iter().chain(products.iter().flat_map(|&(a, b)| [a, b]))
    }

    /// Words that [`piece`](Self::piece) needs for so many.
    pub(crate) fn room(&self, words: usize) -> usize {
        match self {
            Self::Words(_) => 0,
            Self::Products(_) => words,
        }
    }

    /// Some of the words, which may be worked out in `room`.
    pub(crate) fn piece<'b>(
        &'b self,
        table: &NttTable,
        at: Range<usize>,
        room: &'b mut [u64],
    ) -> &'b [u64] {
        match self {
            Self::Words(words) => &words[at],
            Self::Products(products) => {
                let piece = |&(a, b): &(&'b [u64], &'b [u64])| (&a[at.clone()], &b[at.clone()]);
                let pairs: Vec<_> = products.iter().map(piece).collect();
                backend::sum_of_products(table, room, &pairs);
                room
            }
        }
    }
}
