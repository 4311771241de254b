//! Evaluation keys as they travel: a list of what comes, then one key after the other.
//!
//! Each key stands in an envelope of its own, so that neither side holds the packed form of more than
//! one. Behind the last stand 32 bytes: the BLAKE3 hash of the hashes of all envelopes, the list
//! first. That is the name of the set.

use std::io::{Read, Write};

use bellerophon_ckks as ckks;
use bellerophon_mlwe::{
    self as mlwe, GaloisKey, GaloisKeys, KeyId, RankHoistedKeys, RankReduceKey, RelinKeys,
};
use bellerophon_ring::wire::Wire;
use serde::{Deserialize, Serialize};

use super::{ContentHash, FormatError, Header, codec, envelope, kind};
use crate::{Error, EvaluationKeys, Params, Result};

const NAME: &str = "evaluation keys";

/// The most keys of a set.
const MOST_KEYS: usize = 4096;

/// What comes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct KeyList {
    /// The client.
    key: u128,
    parts: Vec<Part>,
}

/// One key of a set, in the order in which they travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Part {
    Relinearisation,
    /// The automorphism of an exponent.
    Galois(u32),
    /// The way back from the temporary rank of hoisted rotations.
    Hoisted,
    /// The automorphism of an exponent at that rank.
    HoistedGalois(u32),
    Refresh,
}

/// The way back from the temporary rank, with the parameters there.
struct HoistedKey {
    raised: mlwe::Params,
    down: RankReduceKey,
}

#[derive(Serialize, Deserialize)]
struct HoistedKeyForm<'a> {
    raised: mlwe::wire::ParamsForm,
    #[serde(borrow)]
    down: mlwe::wire::KeySwitchKeyForm<'a>,
}

impl Wire for HoistedKey {
    const KIND: u16 = kind::HOISTED_KEY;
    const NAME: &'static str = "key of hoisted rotations";
    type Params = mlwe::Params;
    type Form<'a> = HoistedKeyForm<'a>;
    type Error = mlwe::Error;

    fn fingerprint(params: &mlwe::Params) -> u64 {
        params.fingerprint()
    }

    fn to_form(&self, params: &mlwe::Params) -> mlwe::Result<HoistedKeyForm<'_>> {
        let raised = self.raised.spec().into();
        Ok(HoistedKeyForm { raised, down: self.down.to_form(params)? })
    }

    fn from_form(params: &mlwe::Params, form: HoistedKeyForm) -> mlwe::Result<Self> {
        let raised = mlwe::Params::new(form.raised.into_spec(params.security())?)?;
        Ok(Self { raised, down: RankReduceKey::from_form(params, form.down)? })
    }
}

impl EvaluationKeys {
    /// Writes all keys, one at a time, and returns the name of the set. Wrap the writer to see how far
    /// it has come; the length is [`byte_len`](Self::byte_len) and about 200 bytes for each key.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_to(&self, writer: &mut impl Write) -> Result<ContentHash> {
        let mut out = Sender { writer, hashes: blake3::Hasher::new() };
        let list = KeyList { key: self.id().0, parts: self.parts() };
        let header = Header::new(kind::KEY_LIST, self.params().fingerprint());
        out.send(envelope::seal(header, &list)?)?;
        let (arithmetic, lattice) = (self.params.arithmetic(), self.params.arithmetic().lattice());
        if let Some(key) = self.arithmetic.relinearisation_keys() {
            out.object(arithmetic.route(), key)?;
        }
        for key in self.arithmetic.galois_keys().iter() {
            out.object(lattice, &**key)?;
        }
        if let Some(keys) = self.arithmetic.hoisted_keys() {
            let (raised, down) = (keys.raised().clone(), keys.down().clone());
            out.object(lattice, &HoistedKey { raised, down })?;
            for key in keys.galois().iter() {
                out.object(keys.raised(), &**key)?;
            }
        }
        if let Some(keys) = &self.refresh {
            out.object(&**self.params.bootstrapper()?, keys)?;
        }
        out.finish()
    }

    fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        parts.extend(self.arithmetic.relinearisation_keys().map(|_| Part::Relinearisation));
        let exponents = |keys: &GaloisKeys| -> Vec<u32> {
            keys.iter().map(|key| key.exponent() as u32).collect()
        };
        parts.extend(exponents(self.arithmetic.galois_keys()).into_iter().map(Part::Galois));
        if let Some(keys) = self.arithmetic.hoisted_keys() {
            parts.push(Part::Hoisted);
            parts.extend(exponents(keys.galois()).into_iter().map(Part::HoistedGalois));
        }
        parts.extend(self.refresh.as_ref().map(|_| Part::Refresh));
        parts
    }

    /// Reads the keys of a client, one at a time, of at most `limit` bytes together, and nothing
    /// behind them. Every key is checked against the parameters and must be the client's.
    ///
    /// # Errors
    /// [`Error::Format`] for bytes that are damaged, cut short, too long, of another version or
    /// parameter set, or come in another order than their list says; those of the layers below for
    /// keys that are none.
    pub fn read_from(params: &Params, reader: &mut impl Read, limit: u64) -> Result<Self> {
        Ok(Self::read_named(params, reader, limit)?.0)
    }

    /// As [`read_from`](Self::read_from), with the name of the set.
    ///
    /// # Errors
    /// As [`read_from`](Self::read_from).
    pub fn read_named(
        params: &Params,
        reader: &mut impl Read,
        limit: u64,
    ) -> Result<(Self, ContentHash)> {
        let mut input = Receiver { reader, left: limit, hashes: blake3::Hasher::new() };
        let bytes = input.receive(NAME, kind::KEY_LIST, params.fingerprint())?;
        let payload = envelope::open(&bytes, NAME, kind::KEY_LIST, params.fingerprint())?;
        let list: KeyList = codec::decode(NAME, payload)?;
        if list.parts.len() > MOST_KEYS {
            let reason = format!("{} keys: need at most {MOST_KEYS}", list.parts.len());
            return Err(FormatError::Malformed { name: NAME, reason }.into());
        }
        let (slots, lattice) = (params.arithmetic(), params.arithmetic().lattice());
        let mut keys = ckks::EvaluationKeys::none(slots, KeyId(list.key));
        let mut hoisted: Option<(HoistedKey, GaloisKeys)> = None;
        let mut refresh = None;
        for part in list.parts {
            match part {
                Part::Relinearisation => {
                    keys.insert_relinearisation(input.object::<RelinKeys>(slots.route())?)?;
                }
                Part::Galois(exponent) => keys.insert_galois(input.galois(lattice, exponent)?)?,
                Part::Hoisted => hoisted = Some((input.object(lattice)?, GaloisKeys::new())),
                Part::HoistedGalois(exponent) => match &mut hoisted {
                    Some((key, galois)) => galois.insert(input.galois(&key.raised, exponent)?),
                    None => return Err(disorder("a hoisted rotation before the way back")),
                },
                Part::Refresh => refresh = Some(input.object(&**params.bootstrapper()?)?),
            }
        }
        if let Some((HoistedKey { raised, down }, galois)) = hoisted {
            let hoisted = RankHoistedKeys::from_parts(lattice, &raised, galois, Some(down))?;
            keys.insert_hoisted(hoisted)?;
        }
        let name = input.finish()?;
        let keys = Self::assemble(params, keys, refresh)?;
        Ok((keys, name))
    }
}

fn disorder(reason: &str) -> Error {
    FormatError::Malformed { name: NAME, reason: reason.into() }.into()
}

/// Writes envelopes and collects their hashes.
struct Sender<'w, W> {
    writer: &'w mut W,
    hashes: blake3::Hasher,
}

impl<W: Write> Sender<'_, W> {
    fn object<T>(&mut self, params: &T::Params, object: &T) -> Result<()>
    where
        T: Wire,
        Error: From<T::Error>,
    {
        self.send(super::to_bytes(params, object)?)
    }

    fn send(&mut self, sealed: Vec<u8>) -> Result<()> {
        self.hashes.update(&ContentHash::of_sealed(&sealed).0);
        self.writer.write_all(&sealed).map_err(FormatError::Io)?;
        Ok(())
    }

    fn finish(self) -> Result<ContentHash> {
        let name = *self.hashes.finalize().as_bytes();
        self.writer.write_all(&name).map_err(FormatError::Io)?;
        Ok(ContentHash(name))
    }
}

/// Reads envelopes within a limit and collects their hashes.
struct Receiver<'r, R> {
    reader: &'r mut R,
    left: u64,
    hashes: blake3::Hasher,
}

impl<R: Read> Receiver<'_, R> {
    fn receive(&mut self, name: &'static str, kind: u16, fingerprint: u64) -> Result<Vec<u8>> {
        let bytes = envelope::receive(self.reader, name, kind, fingerprint, self.left)?;
        self.left -= bytes.len() as u64;
        self.hashes.update(&ContentHash::of_sealed(&bytes).0);
        Ok(bytes)
    }

    fn object<T>(&mut self, params: &T::Params) -> Result<T>
    where
        T: Wire,
        Error: From<T::Error>,
    {
        let bytes = self.receive(T::NAME, T::KIND, T::fingerprint(params))?;
        super::from_bytes(params, &bytes)
    }

    fn galois(&mut self, params: &mlwe::Params, exponent: u32) -> Result<GaloisKey> {
        let key: GaloisKey = self.object(params)?;
        if key.exponent() != exponent as usize {
            return Err(disorder("a Galois key of another exponent than its list says"));
        }
        Ok(key)
    }

    fn finish(self) -> Result<ContentHash> {
        let mut stated = [0; ContentHash::LEN];
        self.reader.read_exact(&mut stated).map_err(FormatError::Io)?;
        let found = ContentHash(*self.hashes.finalize().as_bytes());
        match ContentHash(stated) {
            stated if stated == found => Ok(found),
            stated => Err(FormatError::Damaged { name: NAME, found, stated }.into()),
        }
    }
}
