//! Evaluation keys as they travel: a list of what comes, then one key after the other.
//!
//! Each key stands in an envelope of its own, the blind-rotation key in several, so that neither side
//! holds the packed form of more than one. Behind the last stand 32 bytes: the BLAKE3 hash of the
//! hashes of all envelopes, the list first. That is the name of the set.

use std::{
    io::{Read, Write},
    path::Path,
    sync::Arc,
};

use bellerophon_ckks as ckks;
use bellerophon_lwe::{self as lwe, BlindRotationKey, LookupKeys, RotationPart};
use bellerophon_mlwe::{
    self as mlwe, GaloisKey, GaloisKeys, KeyEnd, KeyId, RankHoistedKeys, RankReduceKey, RelinKeys,
};
use bellerophon_repack::{RingBridgeKeys, SeededRepackKey};
use bellerophon_ring::wire::{Fingerprint, Fingerprinted, List, Wire};
use serde::{Deserialize, Serialize};

use super::{ContentHash, FormatError, Header, codec, envelope, kind, store};
use crate::{
    Error, EvaluationKeys, Params, Result,
    keys::{LinearKeys, Parts, TableKeys},
};

const NAME: &str = "evaluation keys";

/// The most keys of a set.
const MOST_KEYS: usize = 4096;

/// The temporary rank of hoisted rotations is at most so many times the rank.
const MOST_RAISED: usize = 2;

/// Coordinates of a part of a blind-rotation key.
const COORDINATES: usize = 64;

/// What comes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct KeyList {
    /// The client.
    key: u128,
    parts: List<Part, MOST_KEYS>,
}

/// One key of a set, in the order in which they travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Part {
    Relinearisation,
    /// The automorphism of an exponent, for so many limbs.
    Galois(u32, u32),
    /// The way back from the temporary rank of hoisted rotations.
    Hoisted,
    /// The automorphism of an exponent at that rank.
    HoistedGalois(u32),
    Refresh,
    /// A blind-rotation key in so many parts, and the key that switches its results back, for tables
    /// whose parameters have this fingerprint.
    Tables(Fingerprint, u32),
    RingBridge,
    /// The two keys of the linear bridge: down, and up.
    LinearBridge,
}

impl Part {
    /// Lists are in this order, and have no two with the same.
    fn place(self) -> (u32, u32) {
        match self {
            Self::Relinearisation => (0, 0),
            Self::Galois(exponent, _) => (1, exponent),
            Self::Hoisted => (2, 0),
            Self::HoistedGalois(exponent) => (3, exponent),
            Self::Refresh => (4, 0),
            Self::Tables(..) => (5, 0),
            Self::RingBridge => (6, 0),
            Self::LinearBridge => (7, 0),
        }
    }
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

    fn to_form(&self, params: &mlwe::Params) -> mlwe::Result<HoistedKeyForm<'_>> {
        let raised = self.raised.spec().into();
        Ok(HoistedKeyForm { raised, down: self.down.to_form(params)? })
    }

    fn from_form(params: &mlwe::Params, form: HoistedKeyForm) -> mlwe::Result<Self> {
        let down = RankReduceKey::from_form(params, form.down)?;
        // The tables of another ring would be as large as somebody likes.
        let spec = form.raised.into_spec(params.security())?;
        let ranks = params.rank() + 1..=MOST_RAISED * params.rank();
        let own = (spec.degree, &spec.q) == (params.degree(), &params.spec().q);
        if !own || !ranks.contains(&spec.rank) {
            let (degree, rank) = (spec.degree, spec.rank);
            return Err(mlwe::Error::Parameter {
                field: "parameters of hoisted rotations",
                found: format!("degree {degree}, rank {rank}, {} primes", spec.q.len()),
                needed: format!("degree and primes of the parameters below, rank {ranks:?}"),
            });
        }
        Ok(Self { raised: mlwe::Params::new(spec)?, down })
    }
}

impl EvaluationKeys {
    /// Writes all keys, one at a time, and returns the name of the set. Hoisted rotations travel at
    /// temporary ranks up to twice the rank, those that are chosen by themselves. Wrap the writer to see how far
    /// it has come; the length is [`byte_len`](Self::byte_len) and about 200 bytes for each key.
    ///
    /// # Errors
    /// Those of the writer, and of [`open`](Self::open)'s file where keys wait in one;
    /// [`repack::Error`](bellerophon_repack::Error) for a repacking key that is made of rotations.
    pub fn write_to(&self, writer: &mut impl Write) -> Result<ContentHash> {
        let mut out = Sender { writer, hashes: blake3::Hasher::new() };
        let list = KeyList { key: self.id().0, parts: List(self.list()) };
        let header = Header::new(kind::KEY_LIST, self.params().fingerprint());
        out.send(envelope::seal(header, &list)?)?;
        let (slots, lattice) = (self.params.arithmetic(), self.params.arithmetic().lattice());
        for part in list.parts.0 {
            match part {
                Part::Relinearisation => {
                    out.some(slots.route(), self.arithmetic.relinearisation_keys())?;
                }
                Part::Galois(exponent, _) => {
                    let key = self.arithmetic.galois_keys().get("write keys", exponent as usize)?;
                    out.object(lattice, &*key)?;
                }
                Part::Hoisted => {
                    let hoisted = self.arithmetic.hoisted_keys().map(|keys| HoistedKey {
                        raised: keys.raised().clone(),
                        down: keys.down().clone(),
                    });
                    out.some(lattice, hoisted.as_ref())?;
                }
                Part::HoistedGalois(exponent) => {
                    if let Some(keys) = self.arithmetic.hoisted_keys() {
                        let key = keys.galois().get("write keys", exponent as usize)?;
                        out.object(keys.raised(), &*key)?;
                    }
                }
                Part::Refresh => out.some(&**self.params.bootstrapper()?, self.refresh.as_ref())?,
                Part::Tables(..) => {
                    if let Some(tables) = &self.tables {
                        let (lattice, keys) = (&tables.lattice, &tables.lookup);
                        for part in keys.rotation.parts(lattice, COORDINATES)? {
                            out.object(lattice, &part)?;
                        }
                        out.object(lattice, &keys.switch.compress())?;
                    }
                }
                Part::RingBridge => {
                    if let Some(bridge) = self.params.lookups()?.ring() {
                        out.some(bridge, self.ring.as_deref())?;
                    }
                }
                Part::LinearBridge => {
                    if let Some(keys) = &self.linear {
                        out.object(self.params.lookups()?.lattice(), &keys.down.compress())?;
                        out.object(slots, &keys.repack.compress(slots)?)?;
                    }
                }
            }
        }
        out.finish()
    }

    fn list(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        parts.extend(self.arithmetic.relinearisation_keys().map(|_| Part::Relinearisation));
        let galois = self.arithmetic.galois_keys();
        parts.extend(galois.exponents().map(|exponent| {
            let limbs = galois.limbs(exponent).unwrap_or(0);
            Part::Galois(exponent as u32, limbs as u32)
        }));
        if let Some(keys) = self.arithmetic.hoisted_keys() {
            parts.push(Part::Hoisted);
            let exponents = keys.galois().exponents();
            parts.extend(exponents.map(|exponent| Part::HoistedGalois(exponent as u32)));
        }
        parts.extend(self.refresh.as_ref().map(|_| Part::Refresh));
        parts.extend(self.tables.as_ref().map(|tables| {
            let count = tables.lattice.dimension().div_ceil(COORDINATES);
            Part::Tables(tables.lattice.fingerprint(), count as u32)
        }));
        parts.extend(self.ring.as_ref().map(|_| Part::RingBridge));
        parts.extend(self.linear.as_ref().map(|_| Part::LinearBridge));
        parts
    }

    /// Reads the keys of a client, one at a time, of at most `limit` bytes together, and nothing
    /// behind them. Every key is checked against the parameters, and must be the client's where it says
    /// whose it is: the keys of tables and the one down the linear bridge do not, and give noise if they
    /// are another client's.
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
        let list = input.list(params)?;
        let lattice = params.arithmetic().lattice();
        input.keys(params, list, |input, keys, exponent, limbs| {
            let key = input.galois(lattice, exponent)?;
            if key.limbs() != limbs as usize {
                return Err(disorder("a Galois key of another level than its list says"));
            }
            Ok(keys.insert_galois(key)?)
        })
    }

    /// Keys in a file that [`write_to`](Self::write_to) wrote, of which those of single rotations are
    /// read when they are needed, and kept while all that are kept take up at most `budget` bytes of
    /// memory; keys in use by an operation come on top. All others are read at once. Every key is
    /// checked when it is read; a file that changes is noticed.
    ///
    /// # Errors
    /// As [`read_from`](Self::read_from). Operations report
    /// [`mlwe::Error::Stored`](bellerophon_mlwe::Error::Stored) for a key that cannot be read later.
    pub fn open(
        params: &Params,
        path: impl AsRef<Path>,
        budget: usize,
    ) -> Result<(Self, ContentHash)> {
        let file = store::open(path.as_ref())?;
        let limit = file.metadata().map_err(FormatError::Io)?.len();
        let mut reader = store::From { file: &file, offset: 0 };
        let hashes = blake3::Hasher::new();
        let mut input = Receiver { reader: &mut reader, left: limit, hashes };
        let list = input.list(params)?;
        let lattice = params.arithmetic().lattice();
        let end = KeyEnd { fingerprint: lattice.fingerprint(), key: KeyId(list.key) };
        let shelved = file.try_clone().map_err(FormatError::Io)?;
        let mut keys = store::Store::new(shelved, lattice, end, budget);
        let mut waiting = Vec::new();
        let (mut set, name) = input.keys(params, list, |input, _, exponent, limbs| {
            let (exponent, limbs) = (exponent as usize, limbs as usize);
            let (bytes, hash) = keys.announce(exponent, limbs, input.reader.offset)?;
            input.reader.offset += bytes;
            input.hashes.update(&hash.0);
            waiting.push((exponent, limbs));
            Ok(())
        })?;
        if reader.offset != limit {
            return Err(FormatError::Length { found: limit, needed: reader.offset }.into());
        }
        let keys = Arc::new(keys);
        for (exponent, limbs) in waiting {
            set.arithmetic.insert_stored(exponent, limbs, keys.clone())?;
        }
        Ok((set, name))
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
    fn some<T>(&mut self, params: &T::Params, object: Option<&T>) -> Result<()>
    where
        T: Wire,
        Error: From<T::Error>,
    {
        object.map_or(Ok(()), |object| self.object(params, object))
    }

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
    fn list(&mut self, params: &Params) -> Result<KeyList> {
        let fingerprint = params.fingerprint();
        let bytes = self.receive(NAME, kind::KEY_LIST, fingerprint)?;
        let payload = envelope::open(&bytes, NAME, kind::KEY_LIST, fingerprint)?;
        let list: KeyList = codec::decode(NAME, payload)?;
        if !list.parts.0.is_sorted_by(|one, next| one.place() < next.place()) {
            return Err(disorder("a list that is not in order, or has a key twice"));
        }
        let order = 2 * params.arithmetic().degree() as u32;
        let exponents = list.parts.0.iter().filter_map(|part| match part {
            Part::Galois(exponent, _) | Part::HoistedGalois(exponent) => Some(*exponent),
            _ => None,
        });
        if exponents.into_iter().any(|exponent| exponent % 2 == 0 || exponent >= order) {
            return Err(disorder("an automorphism of an exponent that is even or too large"));
        }
        Ok(list)
    }

    /// The keys of a list, in order; what becomes of a key of a single rotation is for `galois` to
    /// say, which gets its exponent and its limbs.
    fn keys(
        mut self,
        params: &Params,
        list: KeyList,
        mut galois: impl FnMut(&mut Self, &mut ckks::EvaluationKeys, u32, u32) -> Result<()>,
    ) -> Result<(EvaluationKeys, ContentHash)> {
        let (slots, lattice) = (params.arithmetic(), params.arithmetic().lattice());
        let mut keys = ckks::EvaluationKeys::none(slots, KeyId(list.key));
        let mut hoisted: Option<(HoistedKey, GaloisKeys)> = None;
        let mut others = Parts::default();
        for part in list.parts.0 {
            match part {
                Part::Relinearisation => {
                    keys.insert_relinearisation(self.object::<RelinKeys>(slots.route())?)?;
                }
                Part::Galois(exponent, limbs) => galois(&mut self, &mut keys, exponent, limbs)?,
                Part::Hoisted => hoisted = Some((self.object(lattice)?, GaloisKeys::new())),
                Part::HoistedGalois(exponent) => match &mut hoisted {
                    Some((key, galois)) => galois.insert(self.galois(&key.raised, exponent)?),
                    None => return Err(disorder("a hoisted rotation before the way back")),
                },
                Part::Refresh => others.refresh = Some(self.object(&**params.bootstrapper()?)?),
                Part::Tables(fingerprint, count) => {
                    let lattice = params.lookups()?.with_fingerprint(fingerprint);
                    let lattice = lattice.ok_or_else(|| disorder("tables of other parameters"))?;
                    let tables = self.tables(lattice, count, KeyId(list.key))?;
                    others.tables = Some(TableKeys::new(lattice, tables).into());
                }
                Part::RingBridge => match params.lookups()?.ring() {
                    Some(bridge) => {
                        others.ring = Some(self.object::<RingBridgeKeys>(bridge)?.into());
                    }
                    None => return Err(disorder("a ring bridge that the parameters do not have")),
                },
                Part::LinearBridge => {
                    let lookup = params.lookups()?.lattice();
                    let down: lwe::SeededKeySwitchKey = self.object(lookup)?;
                    let up: SeededRepackKey = self.object(slots)?;
                    let dimensions = (down.source_dimension(), up.dimension());
                    if dimensions != (lattice.dimension(), lookup.dimension()) {
                        return Err(disorder("a linear bridge between other secrets"));
                    }
                    others.linear = Some(LinearKeys::new(params, &down, &up)?.into());
                }
            }
        }
        if let Some((HoistedKey { raised, down }, galois)) = hoisted {
            let hoisted = RankHoistedKeys::from_parts(lattice, &raised, galois, Some(down))?;
            keys.insert_hoisted(hoisted)?;
        }
        let name = self.finish()?;
        Ok((EvaluationKeys::assemble(params, keys, others)?, name))
    }

    fn receive(
        &mut self,
        name: &'static str,
        kind: u16,
        fingerprint: Fingerprint,
    ) -> Result<Vec<u8>> {
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
        let bytes = self.receive(T::NAME, T::KIND, params.fingerprint())?;
        super::from_bytes(params, &bytes)
    }

    fn galois(&mut self, params: &mlwe::Params, exponent: u32) -> Result<GaloisKey> {
        let key: GaloisKey = self.object(params)?;
        if key.exponent() != exponent as usize {
            return Err(disorder("a Galois key of another exponent than its list says"));
        }
        Ok(key)
    }

    fn tables(&mut self, lattice: &lwe::Params, count: u32, key: KeyId) -> Result<LookupKeys> {
        if count as usize != lattice.dimension().div_ceil(COORDINATES) {
            return Err(disorder("a blind-rotation key in another number of parts"));
        }
        let parts = (0..count as usize).map(|i| {
            let part: RotationPart = self.object(lattice)?;
            let (first, last) = (i * COORDINATES, (i + 1) * COORDINATES);
            match part.coordinates() == (first..last.min(lattice.dimension())) {
                true => Ok(part),
                false => Err(disorder("a part of a blind-rotation key of other coordinates")),
            }
        });
        let rotation = BlindRotationKey::from_parts(lattice, parts)?;
        let switch: lwe::SeededKeySwitchKey = self.object(lattice)?;
        if switch.source_dimension() != lattice.ring_degree() {
            return Err(disorder("tables with a switching key of another ring"));
        }
        Ok(LookupKeys { rotation, switch: switch.expand(lattice)?, key })
    }

    fn finish(self) -> Result<ContentHash> {
        let mut stated = [0; ContentHash::LEN];
        if self.left < stated.len() as u64 {
            let (found, limit) = (stated.len() as u64, self.left);
            return Err(FormatError::TooLong { name: NAME, found, limit }.into());
        }
        self.reader.read_exact(&mut stated).map_err(FormatError::Io)?;
        let found = ContentHash(*self.hashes.finalize().as_bytes());
        match ContentHash(stated) {
            stated if stated == found => Ok(found),
            stated => Err(FormatError::Damaged { name: NAME, found, stated }.into()),
        }
    }
}
