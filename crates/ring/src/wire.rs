//! Serialized forms of objects, and residues bit-packed to the width of their moduli.
//!
//! A form is a plain struct of numbers, seeds and packed residues that serde writes and reads in
//! any format. A form is untrusted: [`Wire::from_form`] checks it against parameters that the
//! reader already has, before memory for it is allocated.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, SeqAccess, Visitor},
    ser,
};

#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::{self, Result};
use crate::modulus::Modulus;
use crate::packed_poly::PackedPoly;
use crate::par;
use crate::poly::{Domain, Poly};
use crate::ring::Ring;

pub(crate) mod bits;
mod fingerprint;
mod form;
mod secret;

pub use bits::Limit;
pub use fingerprint::{Fingerprint, Fingerprinted};
pub use secret::{SecretWire, SecretWords};

use bits::{pack, unpack};

/// An object with a serialized form.
pub trait Wire: Sized {
    /// The type number of this kind of object. It is never reused. The crates count from `0x0100`
    /// (mlwe), `0x0200` (ckks), `0x0300` (lwe), `0x0400` (repack and
    /// pir) and `0x0500` (the facade).
    const KIND: u16;
    /// The name of the type in error messages.
    const NAME: &'static str;
    /// The parameters that a reader needs to check the object.
    type Params: Fingerprinted;
    /// The serialized form. A form that is read borrows from the bytes.
    type Form<'a>: Serialize + Deserialize<'a>;

    /// The serialized form of the object.
    fn to_form(&self, params: &Self::Params) -> Result<Self::Form<'_>>;

    /// Reads the object. Sizes, ranges and every residue are checked against the parameters.
    fn from_form(params: &Self::Params, form: Self::Form<'_>) -> Result<Self>;
}

/// Bit-packed residues, each with as many bits as its modulus, least significant bit first.
///
/// The residues of a limb follow each other without gaps. Each limb starts at a byte boundary, and
/// the unused bits of its last byte are zero. Limbs follow in the order of the primes, polynomials
/// one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Packed<'a>(#[serde(borrow, with = "serde_bytes")] Cow<'a, [u8]>);

impl<'a> Packed<'a> {
    /// Size in bytes of `count` words below a limit.
    pub fn words_len(limit: impl Into<Limit>, count: usize) -> usize {
        let bits = limit.into().bits as usize;
        // In two parts, so that the product with a hostile count cannot overflow.
        (count / 8).saturating_mul(bits).saturating_add((count % 8 * bits).div_ceil(8))
    }

    /// Size in bytes of `count` polynomials of a ring.
    pub fn polys_len(ring: &Ring, count: usize) -> usize {
        // Each limb is padded to whole bytes.
        let limbs = ring.moduli().map(|q| Self::words_len(q, ring.degree()));
        count.saturating_mul(limbs.sum())
    }

    /// Packs words below `q` as one limb.
    pub fn words(q: &Modulus, words: &[u64]) -> Packed<'static> {
        let mut bytes = vec![0; Self::words_len(q, words.len())];
        pack(words, q.bits(), &mut bytes);
        Packed(bytes.into())
    }

    /// Packs polynomials with all limbs of `ring`.
    pub fn polys<'p, D: Domain>(
        ring: &Ring,
        polys: impl ExactSizeIterator<Item = &'p Poly<D>>,
    ) -> Packed<'static> {
        Self::limbs(
            polys.flat_map(|poly| ring.moduli().enumerate().map(|(i, q)| (q, poly.limb(i)))),
        )
    }

    /// Packs packed polynomials over `ring` in the format of [`polys`](Self::polys). Only one of
    /// them is unpacked in memory at a time.
    ///
    /// # Panics
    /// If a polynomial has fewer limbs than the ring.
    pub fn rows<'r>(
        ring: &Ring,
        rows: impl ExactSizeIterator<Item = &'r PackedPoly>,
    ) -> Packed<'static> {
        let mut bytes = Vec::with_capacity(Self::polys_len(ring, rows.len()));
        // One polynomial at a time is unpacked.
        for row in rows {
            bytes.extend_from_slice(Self::polys(ring, std::iter::once(&row.unpack())).as_bytes());
        }
        Packed(bytes.into())
    }

    /// Packs limbs of words, each limb with its own limit.
    pub fn limbs<'w, L: Into<Limit>>(
        limbs: impl Iterator<Item = (L, &'w [u64])>,
    ) -> Packed<'static> {
        let limbs: Vec<(Limit, _)> = limbs.map(|(limit, words)| (limit.into(), words)).collect();
        let len = limbs.iter().map(|(q, words)| Self::words_len(*q, words.len())).sum();
        let mut bytes = vec![0; len];
        // Split the output at the limb boundaries, then pack the limbs in parallel.
        let mut rest = &mut bytes[..];
        let mut parts = Vec::with_capacity(limbs.len());
        for (q, words) in limbs {
            let (limb, after) = rest.split_at_mut(Self::words_len(q, words.len()));
            parts.push((words, q.bits, limb));
            rest = after;
        }
        let average =
            parts.iter().map(|(words, ..)| words.len()).sum::<usize>() / parts.len().max(1);
        par::each_with(
            parts,
            average,
            par::HEAVY,
            || (),
            |_, _, (words, bits, out)| {
                pack(words, bits, out);
            },
        );
        Packed(bytes.into())
    }

    /// Unpacks `count` words below `q`.
    ///
    /// # Errors
    /// [`ErrorKind::Bytes`] for a wrong length, before memory is allocated, for a word that is not
    /// below `q`, and for nonzero unused bits.
    pub fn unpack_words(&self, q: &Modulus, count: usize) -> Result<Vec<u64>> {
        // The length is checked before memory is allocated.
        self.check(Self::words_len(q, count))?;
        let mut words = vec![0; count];
        unpack(&self.0, q.into(), &mut words)?;
        Ok(words)
    }

    /// Unpacks `count` polynomials with all limbs of `ring`.
    pub fn unpack_polys<D: Domain>(&self, ring: &Ring, count: usize) -> Result<Vec<Poly<D>>> {
        // The length is checked before memory is allocated.
        self.check(Self::polys_len(ring, count))?;
        let mut polys: Vec<Poly<D>> = (0..count).map(|_| ring.zero()).collect();
        let limbs = polys
            .iter_mut()
            .flat_map(|poly| ring.moduli().zip(poly.data_mut().chunks_mut(ring.degree())));
        self.unpack_limbs(limbs)?;
        Ok(polys)
    }

    /// Unpacks limbs of words, each limb with its own limit. A caller that allocates memory for
    /// them [checks](Self::check) the length first.
    pub fn unpack_limbs<'w, L: Into<Limit>>(
        &self,
        limbs: impl Iterator<Item = (L, &'w mut [u64])>,
    ) -> Result<()> {
        let limbs: Vec<(Limit, _)> = limbs.map(|(limit, words)| (limit.into(), words)).collect();
        self.check(limbs.iter().map(|(q, words)| Self::words_len(*q, words.len())).sum())?;
        // Split the input at the limb boundaries, then unpack the limbs in parallel.
        let mut rest = &self.0[..];
        let mut parts = Vec::with_capacity(limbs.len());
        for (q, words) in limbs {
            let (limb, after) = rest.split_at(Self::words_len(q, words.len()));
            parts.push((limb, q, words, Ok(())));
            rest = after;
        }
        let words = parts.iter().map(|(_, _, words, _)| words.len());
        let average = words.sum::<usize>() / parts.len().max(1);
        par::each_with(
            parts.iter_mut().collect(),
            average,
            par::HEAVY,
            || (),
            |_, _, (limb, q, words, done)| {
                *done = unpack(limb, *q, words);
            },
        );
        parts.into_iter().try_for_each(|(.., done)| done)
    }

    /// The bytes.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// `Err` unless there are exactly `needed` bytes. Call it before allocating memory for the
    /// content.
    pub fn check(&self, needed: usize) -> Result<()> {
        match self.0.len() {
            found if found == needed => Ok(()),
            found => Err(error::packed_length(found, needed)),
        }
    }
}

/// A sequence of at most `MOST` items.
///
/// A longer sequence is refused before any item is read, or written. The memory of a shorter one
/// grows with the items read, not with the announced length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List<T, const MOST: usize>(pub Vec<T>);

impl<T: Serialize, const MOST: usize> Serialize for List<T, MOST> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self.0.len() {
            len if len <= MOST => self.0.serialize(serializer),
            len => Err(ser::Error::custom(format!("a list of {len}: at most {MOST} are read"))),
        }
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for List<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_seq(Items::<T, MOST>(PhantomData)).map(Self)
    }
}

/// Reads the items of a [`List`].
struct Items<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Items<T, MOST> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {MOST}")
    }

    fn visit_seq<A: SeqAccess<'de>>(
        self,
        mut sequence: A,
    ) -> std::result::Result<Vec<T>, A::Error> {
        // Refuse an announced length before reading, and an unannounced one while reading.
        if let Some(announced) = sequence.size_hint().filter(|&len| len > MOST) {
            return Err(de::Error::invalid_length(announced, &self));
        }
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
            if items.len() > MOST {
                return Err(de::Error::invalid_length(items.len(), &self));
            }
        }
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::error::{ErrorKind, refusal};
    use crate::poly::{Coeff, Ntt};
    use crate::prime;

    /// The definition: bit `j` of word `i` is bit `i bits + j` of the bytes.
    fn packed_by_bits(words: &[u64], bits: usize) -> Vec<u8> {
        let mut bytes = vec![0; (words.len() * bits).div_ceil(8)];
        for (i, word) in words.iter().enumerate() {
            for j in 0..bits {
                let at = i * bits + j;
                bytes[at / 8] |= ((word >> j & 1) as u8) << (at % 8);
            }
        }
        bytes
    }

    /// A prime of every size.
    fn moduli() -> impl Iterator<Item = Modulus> {
        let primes = [3u64, 5, 11, 17, 37, 67, 131, 257, 521, 1031];
        let large = (11..=60).filter_map(|bits| {
            let found = prime::ntt_primes_below(8, bits, 1, &[]).ok()?;
            Some(found[0].value())
        });
        primes.into_iter().chain(large).map(|q| Modulus::new(q).unwrap())
    }

    #[test]
    fn words_are_packed_as_defined_and_come_back() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let mut sizes = Vec::new();
        for q in moduli() {
            sizes.push(q.bits());
            for count in (0..20).chain([63, 64, 65, 100]) {
                let mut words: Vec<u64> =
                    (0..count).map(|_| rng.random_range(0..q.value())).collect();
                words.iter_mut().step_by(3).for_each(|word| *word = q.value() - 1);
                let packed = Packed::words(&q, &words);
                assert_eq!(packed.as_bytes(), packed_by_bits(&words, q.bits() as usize));
                assert_eq!(packed.as_bytes().len(), Packed::words_len(&q, count));
                assert_eq!(packed.unpack_words(&q, count).unwrap(), words);
            }
        }
        assert!((2..=60).all(|bits| sizes.contains(&bits)), "{sizes:?}");
    }

    #[test]
    fn polynomials_come_back() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let primes = prime::ntt_primes_below(4096, 50, 2, &[]).unwrap();
        let more = prime::ntt_primes_below(4096, 41, 2, &[]).unwrap();
        let ring = Ring::new(4096, &[primes, more].concat()).unwrap();
        let polys: Vec<Poly<Ntt>> =
            (0..3).map(|_| crate::sample::uniform(&ring, &mut rng)).collect();
        let packed = Packed::polys(&ring, polys.iter());
        assert_eq!(packed.as_bytes().len(), 3 * 4096 / 8 * (50 + 50 + 41 + 41));
        assert_eq!(packed.unpack_polys::<Ntt>(&ring, 3).unwrap(), polys);
        let first = &packed.as_bytes()[..4096 / 8 * 50];
        assert_eq!(first, packed_by_bits(polys[0].limb(0), 50));
    }

    #[test]
    fn limbs_of_any_lengths_come_back() {
        let moduli = [17u64, 1031, 257].map(|q| Modulus::new(q).unwrap());
        let words = [(0..3).collect(), vec![], (236..257).collect::<Vec<u64>>()];
        let packed = Packed::limbs(moduli.iter().zip(words.iter().map(|words| &words[..])));
        // Three words of 5 bits, none of 11 and 21 of 9, each limb from a fresh byte on.
        assert_eq!(packed.as_bytes()[..2], packed_by_bits(&words[0], 5));
        assert_eq!(packed.as_bytes()[2..], packed_by_bits(&words[2], 9));
        let mut back = words.clone().map(|words| vec![0; words.len()]);
        packed
            .unpack_limbs(moduli.iter().zip(back.iter_mut().map(|words| &mut words[..])))
            .unwrap();
        assert_eq!(back, words);
        back[1].push(0);
        let refused = packed.unpack_limbs(moduli.iter().zip(back.iter_mut().map(|w| &mut w[..])));
        assert!(refusal(&refused).is(
            &ErrorKind::Bytes,
            "26 bytes of packed residues where the shape takes 28: the bytes are damaged"
        ));
    }

    #[test]
    fn limits_need_not_be_primes() {
        for (value, bits) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (1 << 30, 30), (1 << 60, 60)]
        {
            let limit = Limit::below(value);
            let words = [value - 1; 21];
            let packed = Packed::limbs([(limit, &words[..])].into_iter());
            assert_eq!(packed.as_bytes(), packed_by_bits(&words, bits), "{value}");
            let mut back = [0; 21];
            packed.unpack_limbs([(limit, &mut back[..])].into_iter()).unwrap();
            assert_eq!(back, words);
            let packed = Packed(vec![0xff; packed.as_bytes().len()].into());
            let refused = packed.unpack_limbs([(limit, &mut back[..])].into_iter());
            assert!(refused.is_err(), "{value}");
        }
        for q in moduli() {
            assert_eq!(Limit::from(&q), Limit::below(q.value()));
        }
    }

    #[test]
    fn lists_are_bounded_and_allocate_only_what_is_there() {
        use serde::de::value::{Error, SeqDeserializer};
        let read = |items: &[u64]| {
            List::<u64, 3>::deserialize(SeqDeserializer::<_, Error>::new(items.iter().copied()))
        };
        for len in 0..=3 {
            let items = vec![7; len];
            assert_eq!(read(&items).unwrap().0, items);
        }
        let refused = read(&[7; 4]).unwrap_err().to_string();
        assert_eq!(refused, "invalid length 4, expected at most 3");

        /// Announces more than it has.
        struct Liar(usize);
        impl<'de> SeqAccess<'de> for Liar {
            type Error = Error;
            fn next_element_seed<T: de::DeserializeSeed<'de>>(
                &mut self,
                _: T,
            ) -> std::result::Result<Option<T::Value>, Error> {
                Err(de::Error::custom("there is none"))
            }
            fn size_hint(&self) -> Option<usize> {
                Some(self.0)
            }
        }
        let items = |announced| Items::<u64, 1000>(PhantomData).visit_seq(Liar(announced));
        assert_eq!(items(1000).unwrap_err().to_string(), "there is none");
        let refused = items(usize::MAX).unwrap_err().to_string();
        assert!(refused.ends_with("expected at most 1000"), "{refused}");
    }

    #[test]
    fn bits_behind_the_last_word_are_zero() {
        let q = Modulus::new(257).unwrap();
        for count in 1..30 {
            let packed = Packed::words(&q, &vec![5; count]);
            let used = count * 9 % 8;
            for bit in used..if used == 0 { 0 } else { 8 } {
                let mut bytes = packed.as_bytes().to_vec();
                *bytes.last_mut().unwrap() |= 1 << bit;
                let refused = Packed(bytes.into()).unpack_words(&q, count);
                assert!(
                    refusal(&refused)
                        .is(&ErrorKind::Bytes, "bits are set behind the last residue, in a"),
                    "{count} {bit}"
                );
            }
        }
    }

    #[test]
    fn wrong_lengths_and_unreduced_words_are_refused() {
        let q = Modulus::new(257).unwrap();
        let packed = Packed::words(&q, &[256; 40]);
        for count in [0, 39, 41, usize::MAX / 2, usize::MAX] {
            let refused = packed.unpack_words(&q, count);
            assert!(
                refusal(&refused)
                    .is(&ErrorKind::Bytes, "45 bytes of packed residues where the shape"),
                "{count}"
            );
        }
        // The first, the last, and one between, in a body of any length.
        for count in [1, 3, 8, 30, 200] {
            for at in [0, count / 2, count - 1] {
                let mut words = vec![0; count];
                words[at] = 257;
                let packed = Packed::words(&q, &words);
                let refused = packed.unpack_words(&q, count);
                assert_eq!(refused, Err(error::residue(257, 257)));
            }
        }
        let ring = Ring::new(8, &prime::ntt_primes_below(8, 30, 2, &[]).unwrap()).unwrap();
        let packed = Packed(vec![0xff; 60].into());
        assert!(
            refusal(&packed.unpack_polys::<Coeff>(&ring, 1))
                .is(&ErrorKind::Bytes, "is not below the modulus")
        );
        assert!(packed.unpack_polys::<Coeff>(&ring, 2).is_err());
        assert!(packed.unpack_polys::<Coeff>(&ring, usize::MAX).is_err());
    }
}
