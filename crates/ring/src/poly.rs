//! Residue polynomials: plain data, stored limb by limb with `N` words each.

use std::marker::PhantomData;

use zeroize::Zeroize;

use crate::aligned::AlignedVec;

/// Marks a polynomial in coefficient form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coeff;

/// Marks a polynomial in NTT form: values in the order of [`crate::NttTable::exponents`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ntt;

/// [`Coeff`] or [`Ntt`].
pub trait Domain: sealed::Sealed + Send + Sync + Copy + 'static {}
impl Domain for Coeff {}
impl Domain for Ntt {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Coeff {}
    impl Sealed for super::Ntt {}
}

/// A polynomial modulo `X^N + 1` in RNS form: `limbs` vectors of `N` residues, contiguous and
/// aligned to cache lines.
///
/// The polynomial does not store its primes; the [`crate::Ring`] that operates on it does. Dropping
/// levels drops limbs at the end.
#[derive(Clone, PartialEq, Eq)]
pub struct Poly<D> {
    data: AlignedVec,
    degree: usize,
    domain: PhantomData<D>,
}

impl<D: Domain> Poly<D> {
    /// The zero polynomial of `limbs` limbs of `degree` words.
    pub fn zero(degree: usize, limbs: usize) -> Self {
        Self::over(AlignedVec::zeroed(degree * limbs), degree)
    }

    /// The polynomial with the residues in `data`, limb by limb.
    pub(crate) fn over(data: AlignedVec, degree: usize) -> Self {
        Self { data, degree, domain: PhantomData }
    }

    /// The degree `N`.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The number of limbs.
    pub fn limbs(&self) -> usize {
        self.data.len().checked_div(self.degree).unwrap_or(0)
    }

    /// The residues modulo the `i`-th prime.
    pub fn limb(&self, i: usize) -> &[u64] {
        &self.data[i * self.degree..(i + 1) * self.degree]
    }

    /// The residues modulo the `i`-th prime, mutable.
    pub fn limb_mut(&mut self, i: usize) -> &mut [u64] {
        &mut self.data[i * self.degree..(i + 1) * self.degree]
    }

    /// All residues, limb by limb.
    pub fn data(&self) -> &[u64] {
        &self.data
    }

    /// All residues, limb by limb, mutable.
    pub fn data_mut(&mut self) -> &mut [u64] {
        &mut self.data
    }

    /// Keeps the first `limbs` limbs. Does nothing if there are fewer.
    pub fn truncate(&mut self, limbs: usize) {
        self.data.truncate(limbs * self.degree);
    }

    /// A copy of the limbs in `range`.
    pub fn limb_range(&self, range: std::ops::Range<usize>) -> Self {
        // The copy comes from the pool of the polynomial.
        let mut part = Self::over(self.data.uninit_like(self.degree * range.len()), self.degree);
        part.data.copy_from_slice(&self.data[range.start * self.degree..range.end * self.degree]);
        part
    }

    /// The same words in the other domain, for the in-place transforms.
    pub(crate) fn relabel<E: Domain>(self) -> Poly<E> {
        Poly { data: self.data, degree: self.degree, domain: PhantomData }
    }
}

impl<D> Zeroize for Poly<D> {
    fn zeroize(&mut self) {
        self.data.zeroize();
    }
}

/// Prints the shape only, since a polynomial may be secret.
impl<D: Domain> std::fmt::Debug for Poly<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Poly({} limbs x {})", self.limbs(), self.degree)
    }
}
