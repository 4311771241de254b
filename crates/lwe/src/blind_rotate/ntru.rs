//! Blind rotation on NTRU ciphertexts: what its two forms share.
//!
//! The accumulator is one polynomial modulo `Q`. It begins as the product of the table with an
//! NTRU' encryption of `1 / f`, which is an NTRU encryption of the table; the coordinates turn it
//! ([`cmux`](super::ntru_cmux) or [`xiang`](super::xiang)); and a ring key switch brings it
//! under the ring secret modulo `q0`. `f` is made with the key and forgotten.

use std::ops::Range;

use bellerophon_ring::{Coeff, Modulus, Poly, aligned::AlignedVec};
use chacha20::ChaCha20Rng;
use rand::{CryptoRng, SeedableRng};
use zeroize::Zeroizing;

use super::{ntru_cmux::Cmux, xiang::Xiang};
use crate::{
    Exponents, LookupTable, NtruRotation, Params, Result, SecretKey,
    ntru::{
        NtruContext, NtruGadgetCiphertext, NtruSecret,
        switch::{RingSwitchKey, SeededRingSwitchKey},
    },
    rgsw::Accumulator,
};

/// The key as it travels. NTRU ciphertexts have no mask that a seed could stand for: only the
/// ring-switching key is shorter than in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeededNtruRotationKey {
    pub(super) own: UnderF,
    pub(super) switch: SeededRingSwitchKey,
}

/// The NTRU blind-rotation key ready for use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NtruRotationKey {
    pub(super) own: UnderF,
    pub(super) switch: RingSwitchKey,
}

/// What stands under `f`: all but the way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnderF {
    /// NTRU' of `1 / f`.
    entry: NtruGadgetCiphertext,
    steps: Steps,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Steps {
    Ternary(Cmux),
    Any(Box<Xiang>),
}

/// A generator for each coordinate, all from one key that stays here, so that coordinates can be
/// made in any order.
pub(super) struct Streams(Zeroizing<[u8; 32]>);

impl Streams {
    fn new<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut key = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *key);
        Self(key)
    }

    pub(super) fn of(&self, coordinate: usize) -> ChaCha20Rng {
        let mut rng = ChaCha20Rng::from_seed(*self.0);
        rng.set_stream(coordinate as u64);
        rng
    }
}

impl SeededNtruRotationKey {
    /// Encrypts the coordinates of an LWE secret under a fresh `f`, and `f` under a ring secret.
    pub(super) fn generate<R: CryptoRng + ?Sized>(
        context: &NtruContext,
        sigma: f64,
        lwe: &[i64],
        ring: &SecretKey,
        rng: &mut R,
    ) -> Result<Self> {
        let secret = NtruSecret::generate(context, rng)?;
        let switch = SeededRingSwitchKey::generate(context, sigma, &secret, ring, rng)?;
        Ok(Self { own: UnderF::generate(context, &secret, lwe, rng)?, switch })
    }

    pub(super) fn expand(&self, context: &NtruContext) -> NtruRotationKey {
        NtruRotationKey { own: self.own.clone(), switch: self.switch.expand(context) }
    }
}

impl UnderF {
    pub(crate) fn generate<R: CryptoRng + ?Sized>(
        context: &NtruContext,
        secret: &NtruSecret,
        lwe: &[i64],
        rng: &mut R,
    ) -> Result<Self> {
        let entry = NtruGadgetCiphertext::of_values(context, secret, secret.inverse(), rng);
        let streams = Streams::new(rng);
        let steps = match context.spec().rotation {
            NtruRotation::Ternary => Steps::Ternary(Cmux::generate(context, secret, lwe, &streams)),
            NtruRotation::Any { window } => {
                Steps::Any(Box::new(Xiang::generate(context, secret, lwe, window, &streams)?))
            }
        };
        Ok(Self { entry, steps })
    }

    /// The rows of a part in the order in which a rotation reads them.
    pub(super) fn arrange(context: &NtruContext, rows: AlignedVec) -> AlignedVec {
        match context.spec().rotation {
            NtruRotation::Ternary => Cmux::of_rows(context, &rows).into_words(),
            NtruRotation::Any { .. } => rows,
        }
    }

    /// The key of [arranged](Self::arrange) rows of all coordinates and of [`shared`](Self::shared)
    /// ones, which are of the context.
    pub(super) fn of_rows(
        context: &NtruContext,
        coordinates: AlignedVec,
        shared: &[u64],
    ) -> Result<Self> {
        let (entry, rest) = shared.split_at(context.digit_words());
        let steps = match context.spec().rotation {
            NtruRotation::Ternary => Steps::Ternary(Cmux::of_words(coordinates)),
            NtruRotation::Any { window } => {
                Steps::Any(Box::new(Xiang::of_rows(context, window, coordinates, rest)?))
            }
        };
        Ok(Self { entry: NtruGadgetCiphertext::of_rows(context, entry), steps })
    }

    /// The rows of some coordinates: coordinate, digit, and sign if the rotation is ternary.
    pub(super) fn rows(&self, context: &NtruContext, coordinates: Range<usize>) -> AlignedVec {
        match &self.steps {
            Steps::Ternary(cmux) => cmux.rows(context, coordinates),
            Steps::Any(xiang) => {
                let element = context.digit_words();
                let words = coordinates.start * element..coordinates.end * element;
                copied(&xiang.coordinates()[words])
            }
        }
    }

    /// The rows of no coordinate: the entry, and of the general rotation the last one and the
    /// automorphisms.
    pub(super) fn shared(&self) -> AlignedVec {
        let entry = self.entry.rows();
        let all: Vec<u64> = match &self.steps {
            Steps::Ternary(_) => return copied(entry),
            Steps::Any(xiang) => {
                std::iter::once(entry).chain(xiang.rest()).flatten().copied().collect()
            }
        };
        copied(&all)
    }

    /// Words in memory.
    pub(crate) fn words(&self) -> usize {
        let steps = match &self.steps {
            Steps::Ternary(cmux) => cmux.words(),
            Steps::Any(xiang) => xiang.words(),
        };
        self.entry.rows().len() + steps
    }

    /// Bytes of all rows packed to the bits of the modulus.
    pub(crate) fn packed_bytes(&self, modulus: &Modulus) -> usize {
        (self.words() * modulus.bits() as usize).div_ceil(8)
    }

    /// Tables rotated by the exponents of their values, modulo `Q` under `f`.
    pub(crate) fn rotate(
        &self,
        context: &NtruContext,
        group: &[(&LookupTable, &Exponents)],
    ) -> Vec<Poly<Coeff>> {
        match &self.steps {
            Steps::Ternary(cmux) => cmux.rotate(context, &self.entry, group),
            Steps::Any(xiang) => {
                let rotate = |&(table, value)| xiang.rotate(context, &self.entry, table, value);
                group.iter().map(rotate).collect()
            }
        }
    }
}

impl NtruRotationKey {
    /// Words in memory.
    pub(super) fn words(&self) -> usize {
        self.own.words() + self.switch.words()
    }

    /// NTRU' ciphertexts of a coordinate, and those of none: the entry, and of the general rotation
    /// minus the sum of the coordinates, the automorphisms, and `X -> 1 / X`.
    pub(super) fn ciphertexts(context: &NtruContext) -> [usize; 2] {
        match context.spec().rotation {
            NtruRotation::Ternary => [2, 1],
            NtruRotation::Any { window } => [1, 1 + 2 + window],
        }
    }

    /// Bytes on the wire: all rows packed to the bits of `Q`, and the seeded switch.
    pub(super) fn wire_bytes(params: &Params, context: &NtruContext) -> usize {
        let bits = context.gadget().modulus().bits() as usize;
        let [each, shared] = Self::ciphertexts(context);
        let words = (each * params.dimension() + shared) * context.digit_words();
        (words * bits).div_ceil(8) + SeededRingSwitchKey::wire_bytes(context)
    }

    /// Tables rotated by the exponents of their values.
    pub(super) fn rotate(
        &self,
        context: &NtruContext,
        group: &[(&LookupTable, &Exponents)],
    ) -> Vec<Accumulator> {
        let rotated = self.own.rotate(context, group);
        rotated.into_iter().map(|c| self.switch.apply(context, c)).collect()
    }
}

pub(super) fn copied(words: &[u64]) -> AlignedVec {
    let mut copy = AlignedVec::zeroed(words.len());
    copy.copy_from_slice(words);
    copy
}

/// An encryption of the table times `X^b`: its coefficients scaled to `Q`, times NTRU' of `1 / f`.
pub(super) fn enter(
    context: &NtruContext,
    entry: &NtruGadgetCiphertext,
    coefficients: &[u64],
    digits: &mut AlignedVec,
) -> Poly<Coeff> {
    let mut table = context.table_ring().zero::<Coeff>();
    table.limb_mut(0).copy_from_slice(coefficients);
    let mut c = context.scaled_from_table(table);
    context.multiply(c.limb_mut(0), entry.rows(), digits);
    c
}
