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
    /// The sum of at most 63 products, worked out piece by piece where it is added, so that it need not
    /// pass through memory.
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

    /// A limb; `room` is for a piece of it.
    pub(crate) fn limb<'a>(&'a self, i: usize, room: &'a mut [u64]) -> AddendLimb<'a> {
        match self {
            Self::Poly(poly) => AddendLimb::Words(poly.limb(i)),
            Self::Products(products) => {
                let pairs = products.iter().map(|(a, b)| (a.limb(i), b.limb(i))).collect();
                AddendLimb::Products { pairs, room }
            }
        }
    }
}

/// A limb of an [`Addend`].
pub(crate) enum AddendLimb<'a> {
    Words(&'a [u64]),
    Products { pairs: Vec<(&'a [u64], &'a [u64])>, room: &'a mut [u64] },
}

impl<'a> AddendLimb<'a> {
    /// The limbs that are read.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &'a [u64]> {
        let (words, pairs) = match self {
            Self::Words(words) => (Some(*words), &[][..]),
            Self::Products { pairs, .. } => (None, &pairs[..]),
        };
        words.into_iter().chain(pairs.iter().flat_map(|&(a, b)| [a, b]))
    }

    /// The words of a piece.
    pub(crate) fn piece(&mut self, table: &NttTable, at: Range<usize>) -> &[u64] {
        match self {
            Self::Words(words) => &words[at],
            Self::Products { pairs, room } => {
                let pairs: Vec<_> =
                    pairs.iter().map(|(a, b)| (&a[at.clone()], &b[at.clone()])).collect();
                backend::sum_of_products(table, room, &pairs);
                room
            }
        }
    }
}
