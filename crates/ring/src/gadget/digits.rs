//! The digits of polynomials, converted to any prime when they are needed.

use std::sync::Arc;

use crate::aligned::AlignedVec;
use crate::backend;
use crate::gadget::{HybridGadget, KeyDecomposition, KeyRows};
use crate::packed_poly::Shape;
use crate::par::{self, HEAVY};
use crate::poly::{Ntt, Poly};
use crate::ring::Ring;

/// The digits of some polynomials, prepared for conversion to any prime.
#[derive(Debug)]
pub struct Digits<'a> {
    gadget: &'a HybridGadget,
    inputs: Vec<&'a Poly<Ntt>>,
    limbs: usize,
    source: Source<'a>,
    /// The key decomposition whose auxiliary primes the digits are taken modulo. `None` for the
    /// primes of the key.
    auxiliary: Option<&'a KeyDecomposition>,
}

#[derive(Debug, Clone)]
pub(super) enum Source<'a> {
    /// By component: the blocks of each digit, as conversion reads them.
    Prepared(Arc<[AlignedVec]>),
    /// Stored digits by component, then digit.
    Stored(&'a [Vec<Poly<Ntt>>]),
}

impl HybridGadget {
    /// Prepares the digits of polynomials of the same level.
    ///
    /// # Panics
    /// Without inputs, or if the inputs differ in their number of limbs or have more limbs than the
    /// chain.
    pub fn digits_of<'a>(&'a self, inputs: &[&'a Poly<Ntt>]) -> Digits<'a> {
        let limbs = inputs[0].limbs();
        assert!(
            inputs.iter().all(|a| a.limbs() == limbs),
            "all polynomials must have the same level"
        );
        let ring = self.q().at_limbs(limbs);
        let rows = inputs.iter().map(|a| {
            ring.check(a);
            self.prepare(a)
        });
        Digits {
            gadget: self,
            inputs: inputs.to_vec(),
            limbs,
            source: Source::Prepared(rows.collect()),
            auxiliary: None,
        }
    }

    /// Stored digits of every component, over the primes of the key.
    ///
    /// # Panics
    /// Unless each component has all digits of the level.
    pub fn stored_digits<'a>(&'a self, digits: &'a [Vec<Poly<Ntt>>]) -> Digits<'a> {
        let limbs = digits[0][0].limbs() - self.p().limbs();
        for component in digits {
            assert_eq!(
                component.len(),
                self.digits(limbs),
                "each component needs all digits of the level"
            );
            component.iter().for_each(|digit| self.ring(limbs).check(digit));
        }
        let source = Source::Stored(digits);
        Digits { gadget: self, inputs: vec![], limbs, source, auxiliary: None }
    }

    /// The blocks that conversion reads, digit by digit.
    fn prepare(&self, a: &Poly<Ntt>) -> AlignedVec {
        let (n, limbs) = (a.degree(), a.limbs());
        let count = self.digits(limbs);
        let size = |digit: usize| self.converter(digit, limbs).layout().len();
        let mut blocks = self.q().scratch((0..count).map(size).sum());
        let mut rest = &mut blocks[..];
        // Split the buffer into one part per digit, then fill the parts in parallel.
        let mut digits = Vec::with_capacity(count);
        for digit in 0..count {
            let (own, others) = std::mem::take(&mut rest).split_at_mut(size(digit));
            digits.push(own);
            rest = others;
        }
        let most = self.primes(0, limbs).len();
        par::each_with(
            digits,
            n * most,
            HEAVY,
            || (),
            |_, digit, out| {
                let primes = self.primes(digit, limbs);
                let own = &a.data()[primes.start * n..primes.end * n];
                self.converter(digit, limbs).write_blocks(own, out);
            },
        );
        blocks
    }
}

impl Digits<'_> {
    /// The number of decomposed polynomials.
    pub(crate) fn components(&self) -> usize {
        match &self.source {
            Source::Prepared(rows) => rows.len(),
            Source::Stored(digits) => digits.len(),
        }
    }

    /// The limbs of the decomposed polynomials.
    pub fn limbs(&self) -> usize {
        self.limbs
    }

    /// The digits as polynomials, by component; each over
    /// [`HybridGadget::ring`]`(limbs)`.
    pub(crate) fn store(&self) -> Vec<Vec<Poly<Ntt>>> {
        if let Source::Stored(digits) = &self.source {
            return digits.to_vec();
        }
        let ring = self.ring();
        (0..self.components())
            .map(|component| {
                (0..self.count())
                    .map(|digit| {
                        let mut poly = ring.uninit();
                        let row = digit * self.components() + component;
                        ring.each(&mut poly, HEAVY, |_, i, limb| match self.ready(row, i) {
                            Some(ready) => limb.copy_from_slice(ready),
                            None => self.write_limbs(row, &mut [(i, limb)]),
                        });
                        poly
                    })
                    .collect()
            })
            .collect()
    }

    /// The primes that the digits are taken modulo.
    pub(crate) fn ring(&self) -> &Ring {
        match self.auxiliary {
            None => self.gadget.ring(self.limbs),
            Some(decomposition) => decomposition.ring(),
        }
    }

    /// The same digits modulo the auxiliary primes of a key decomposition. `None` for digits that
    /// are stored modulo the primes of the key.
    pub(super) fn modulo<'b>(&'b self, decomposition: &'b KeyDecomposition) -> Option<Digits<'b>> {
        let Source::Prepared(_) = &self.source else { return None };
        Some(Digits {
            gadget: self.gadget,
            inputs: self.inputs.clone(),
            limbs: self.limbs,
            source: self.source.clone(),
            auxiliary: Some(decomposition),
        })
    }

    /// The largest number of primes in a digit: the number of rows that its conversion reads.
    pub(super) fn rows(&self) -> usize {
        let rows = (0..self.count()).map(|digit| self.gadget.primes(digit, self.limbs).len());
        rows.max().unwrap_or(0)
    }

    pub(super) fn source(&self) -> &Source<'_> {
        &self.source
    }

    /// Whether the digits are stored, modulo the primes of a key.
    pub fn are_stored(&self) -> bool {
        matches!(self.source, Source::Stored(_))
    }

    /// Whether the digits are taken modulo auxiliary primes.
    pub(super) fn is_auxiliary(&self) -> bool {
        self.auxiliary.is_some()
    }

    /// The number of limbs that are computed together, out of `limbs`.
    pub(super) fn together(&self, limbs: usize) -> usize {
        par::together(limbs, self.rows())
    }

    pub(crate) fn gadget(&self) -> &HybridGadget {
        self.gadget
    }

    /// The number of digits of each component.
    pub(crate) fn count(&self) -> usize {
        self.gadget.digits(self.limbs)
    }

    pub(crate) fn check_rows(&self, rows: &KeyRows) {
        let needed = self.count() * self.components();
        let shape = match self.auxiliary {
            Some(decomposition) => Shape::of(decomposition.ring()),
            None => {
                assert!(
                    self.limbs <= rows.limbs,
                    "the rows must have at least as many limbs as the digits"
                );
                Shape::of(self.gadget.ring(rows.limbs))
            }
        };
        for column in &rows.columns {
            assert!(column.len() >= needed, "need a row for every digit");
            assert!(
                column.iter().all(|row| *row.shape() == shape),
                "the rows must be over the primes of the key"
            );
        }
    }

    /// The limb of the rows that has the prime of limb `i` of the digits.
    pub(crate) fn stored_limb(&self, rows: &KeyRows, i: usize) -> usize {
        match self.auxiliary {
            None if i >= self.limbs => rows.limbs + i - self.limbs,
            _ => i,
        }
    }

    /// The largest number of digits that are not [`ready`](Self::ready) at a prime.
    pub(crate) fn converted(&self) -> usize {
        match self.source {
            Source::Prepared(_) => self.count() * self.components(),
            Source::Stored(_) => 0,
        }
    }

    /// Writes limbs of a digit that are not [`ready`](Self::ready), in NTT form.
    pub(crate) fn write_limbs(&self, row: usize, targets: &mut [(usize, &mut [u64])]) {
        self.write_outer(row, targets.iter_mut().map(|(i, out)| (*i, &mut **out)).collect());
        for (i, out) in targets {
            backend::finish_forward(self.ring().table(*i), out);
        }
    }

    /// Limb `i` of a digit, counted as the rows are, if it is in memory in NTT form.
    pub(crate) fn ready(&self, row: usize, i: usize) -> Option<&[u64]> {
        let (component, digit) = (row % self.components(), row / self.components());
        match &self.source {
            Source::Stored(digits) => Some(digits[component][digit].limb(i)),
            // A digit is congruent to its polynomial modulo its own primes.
            Source::Prepared(_)
                if self.auxiliary.is_none()
                    && self.gadget.primes(digit, self.limbs).contains(&i) =>
            {
                Some(self.inputs[component].limb(i))
            }
            Source::Prepared(_) => None,
        }
    }

    /// Writes limbs of a digit that are not [`ready`](Self::ready), up to the last stages of the
    /// NTT.
    pub(super) fn write_outer(&self, row: usize, mut targets: Vec<(usize, &mut [u64])>) {
        let Source::Prepared(blocks) = &self.source else { return };
        let (component, digit) = (row % self.components(), row / self.components());
        let (gadget, limbs) = (self.gadget, self.limbs);
        let size = |digit: usize| gadget.converter(digit, limbs).layout().len();
        let start: usize = (0..digit).map(size).sum();
        let blocks = &blocks[component][start..start + size(digit)];
        if let Some(decomposition) = self.auxiliary {
            let primes = gadget.primes(digit, limbs).len();
            return decomposition.converter(digit, primes).write_outer(blocks, targets);
        }
        // The converter counts the primes of the full chain before the special primes.
        for (i, _) in &mut targets {
            *i = if *i < limbs { *i } else { gadget.q().limbs() + *i - limbs };
        }
        gadget.converter(digit, limbs).write_outer(blocks, targets);
    }
}
