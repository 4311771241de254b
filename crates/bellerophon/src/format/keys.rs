//! The byte form of evaluation keys: a list of the keys, then one key after the other.
//!
//! Each key has an envelope of its own, the blind-rotation key several, so that neither side holds
//! the packed form of more than one envelope. The last envelope is followed by 32 bytes: the BLAKE3
//! hash of the hashes of all envelopes, the list first. This hash names the set.

use std::{
    io::{Read, Write},
    path::Path,
    sync::Arc,
};

use bellerophon_ckks as ckks;
use bellerophon_lookup::{Bridge, LinearKeys, RingBridgeKeys, SeededRepackKey, TableKeys};
use bellerophon_lwe::{
    self as lwe, BlindRotationKey, LookupKeys, RotationPart, SeededBlindRotationKey,
};
use bellerophon_mlwe::{
    self as mlwe, GaloisKey, GaloisKeys, KeyId, KeyIdent, RankHoistedKeys, RelinKeys,
    wire::HoistedKey,
};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::wire::{Fingerprint, Fingerprinted, List, Wire};
use bellerophon_ring::{Error, Result};
use serde::{Deserialize, Serialize};

use super::{ContentHash, Header, codec, envelope, kind, kinds, store};
use crate::error;
use crate::keys::EvaluationKeys;
use crate::params::Params;

/// The largest number of keys in a set.
const MOST_KEYS: usize = 4096;

/// Coordinates per part of a blind-rotation key.
const COORDINATES: usize = 64;

/// Bytes of an envelope beside seeds and residues: counts, identities, parameters, header, hash.
const OVERHEAD: usize = 1 << 14;

/// Bytes of an entry of the list, at most.
const ENTRY: usize = 64;

/// The list in front of the keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct KeyList {
    /// The client.
    key: u128,
    parts: List<Part, MOST_KEYS>,
}

/// An entry of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Part {
    Relinearization,
    /// The Galois key of an exponent, with its number of limbs.
    Galois(u32, u32),
    /// The rank-reduction key from the temporary rank of hoisted rotations.
    Hoisted,
    /// The Galois key of an exponent at that rank.
    HoistedGalois(u32),
    Bootstrap,
    /// The fingerprint of the parameters of tables, and the number of parts of their blind-rotation
    /// key. The parts are followed by the key switch back to the LWE secret.
    Tables(Fingerprint, u32),
    RingBridge,
    /// The two keys of the linear bridge: slots to LWE, then LWE to slots.
    LinearBridge,
    Functional,
}

impl Part {
    /// The sort key: a list is strictly increasing.
    fn place(self) -> (u32, u32) {
        match self {
            Self::Relinearization => (0, 0),
            Self::Galois(exponent, _) => (1, exponent),
            Self::Hoisted => (2, 0),
            Self::HoistedGalois(exponent) => (3, exponent),
            Self::Bootstrap => (4, 0),
            Self::Tables(..) => (5, 0),
            Self::RingBridge => (6, 0),
            Self::LinearBridge => (7, 0),
            Self::Functional => (8, 0),
        }
    }
}

impl EvaluationKeys {
    /// Writes all keys, one at a time, and returns the name of the set. Keys of hoisted rotations
    /// can be written for temporary ranks up to twice the rank, which includes the default choice.
    /// A wrapped writer can show the progress: the length is [`byte_len`](Self::byte_len) plus
    /// about 200 bytes per key.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a repacking key that is made of
    /// rotations.
    pub fn write_to(&self, writer: &mut impl Write) -> Result<ContentHash> {
        // Step 1: the list.
        let mut out = Sender { writer, hashes: blake3::Hasher::new() };
        let list = KeyList { key: self.id().0, parts: List(self.list()) };
        // The fingerprint of the whole set binds every key to its parameters.
        let header = Header::new(kind::KEY_LIST, self.params().fingerprint());
        out.send(envelope::seal(header, &list)?)?;
        // Step 2: every key in its order.
        list.parts.0.into_iter().try_for_each(|part| self.write_part(&mut out, part))?;
        // Step 3: the hash of the hashes.
        out.finish()
    }

    /// Writes one key of the list.
    fn write_part<W: Write>(&self, out: &mut Sender<'_, W>, part: Part) -> Result<()> {
        let (slots, lattice) = (self.params.ckks(), self.params.ckks().lattice());
        match part {
            Part::Relinearization => {
                out.some(slots.relin_strategy(), self.arithmetic.relinearization_keys())?;
            }
            Part::Galois(exponent, _) => {
                let key = self.arithmetic.galois_keys().get(exponent as usize)?;
                out.object(lattice, &*key)?;
            }
            Part::Hoisted => {
                if let Some(keys) = self.arithmetic.hoisted_keys() {
                    let (raised, down) = (keys.raised().clone(), keys.down().clone());
                    out.object(lattice, &HoistedKey { raised, down })?;
                }
            }
            Part::HoistedGalois(exponent) => {
                if let Some(keys) = self.arithmetic.hoisted_keys() {
                    let key = keys.galois().get(exponent as usize)?;
                    out.object(keys.raised(), &*key)?;
                }
            }
            Part::Bootstrap => {
                out.some(self.params.bootstrapper()?.raising(), self.bootstrap.as_ref())?
            }
            Part::Tables(..) => {
                if let Some(tables) = &self.lookups.tables {
                    let (lattice, keys) = (&tables.lwe_params, &tables.lookup);
                    for part in keys.rotation.parts(lattice, COORDINATES)? {
                        out.object(lattice, &part)?;
                    }
                    out.object(lattice, &keys.switch.compress())?;
                }
            }
            // The bootstrapping keys of the list are these keys.
            Part::Functional if self.bootstraps_share_keys() => {}
            Part::Functional => {
                out.some(self.params.functional()?.raising(), self.functional.as_ref())?
            }
            Part::RingBridge => {
                if let Some(bridge) = self.params.lookups()?.ring() {
                    out.some(bridge, self.lookups.ring.as_deref())?;
                }
            }
            Part::LinearBridge => {
                if let Some(keys) = &self.lookups.linear {
                    out.object(self.params.lookups()?.lwe_params(), &keys.down.compress())?;
                    out.object(slots, &keys.repack.compress(slots)?)?;
                }
            }
        }
        Ok(())
    }

    /// The list of all keys, in the order of [`Part::place`].
    fn list(&self) -> Vec<Part> {
        // Arithmetic on slots first: relinearization, Galois keys by exponent, hoisted rotations.
        let mut parts = Vec::new();
        parts.extend(self.arithmetic.relinearization_keys().map(|_| Part::Relinearization));
        let galois = self.arithmetic.galois_keys();
        parts.extend(galois.exponents().map(|exponent| {
            let limbs = galois.limbs(exponent).unwrap_or(0);
            Part::Galois(exponent as u32, limbs as u32)
        }));
        // The list has the rank-reduction key in front of the Galois keys of its rank.
        if let Some(keys) = self.arithmetic.hoisted_keys() {
            parts.push(Part::Hoisted);
            let exponents = keys.galois().exponents();
            parts.extend(exponents.map(|exponent| Part::HoistedGalois(exponent as u32)));
        }
        // Then bootstrapping, look-ups with their bridges, and functional bootstrapping.
        parts.extend(self.bootstrap.as_ref().map(|_| Part::Bootstrap));
        parts.extend(self.lookups.tables.as_ref().map(|tables| {
            let count = tables.lwe_params.spec().dimension.div_ceil(COORDINATES);
            Part::Tables(tables.lwe_params.fingerprint(), count as u32)
        }));
        parts.extend(self.lookups.ring.as_ref().map(|_| Part::RingBridge));
        parts.extend(self.lookups.linear.as_ref().map(|_| Part::LinearBridge));
        parts.extend(self.functional.as_ref().map(|_| Part::Functional));
        parts
    }

    /// Reads the keys of a client, one at a time, of at most `limit` bytes in total, and nothing
    /// behind them. Every key is checked against the parameters. Keys that carry an identity must
    /// belong to the client. The keys of tables and the slots-to-LWE key of the linear bridge carry
    /// none: those of another client would give noise.
    ///
    /// # Errors
    /// [`ErrorKind::Bytes`] also for keys in another order than that of their list.
    pub fn read_from(params: &Params, reader: &mut impl Read, limit: u64) -> Result<Self> {
        Ok(Self::read_named(params, reader, limit)?.0)
    }

    /// As [`read_from`](Self::read_from), and returns the name of the set.
    pub fn read_named(
        params: &Params,
        reader: &mut impl Read,
        limit: u64,
    ) -> Result<(Self, ContentHash)> {
        let mut input = Receiver::new(reader, limit);
        let list = input.list(params)?;
        let lattice = params.ckks().lattice();
        input.keys(params, list, |input, keys, exponent, limbs| {
            let key = input.galois(lattice, exponent, (limbs as usize).min(lattice.q().limbs()))?;
            if key.key().shape().limbs != limbs as usize {
                return Err(disorder("a Galois key has another level than in the list"));
            }
            keys.insert_galois(key)
        })
    }

    /// Opens keys in a file that [`write_to`](Self::write_to) wrote. Keys of single rotations are
    /// read on demand and cached in at most `budget` bytes of memory; keys in use by an operation
    /// come on top. All other keys are read at once, those of bootstrapping with the rotations of
    /// S2C among them. Every key is checked when it is read, so changes of the file are detected.
    ///
    /// # Errors
    /// As [`read_from`](Self::read_from). A key that cannot be read later is an
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) of the operation that needs it.
    pub fn open(
        params: &Params,
        path: impl AsRef<Path>,
        budget: usize,
    ) -> Result<(Self, ContentHash)> {
        // Step 1: the list.
        let file = store::open(path.as_ref())?;
        let limit = file.metadata()?.len();
        let mut reader = store::From { file: &file, offset: 0 };
        let mut input = Receiver::new(&mut reader, limit);
        let list = input.list(params)?;
        let lattice = params.ckks().lattice();
        let end = KeyIdent { fingerprint: lattice.fingerprint(), key: KeyId(list.key) };
        // Step 2: every key. The reader skips rotation keys: the store keeps their offset and hash.
        let stored = file.try_clone()?;
        let mut keys = store::Store::new(stored, lattice, end, budget);
        let mut waiting = Vec::new();
        let (mut set, name) = input.keys(params, list, |input, _, exponent, limbs| {
            let (exponent, limbs) = (exponent as usize, limbs as usize);
            // The hash of the skipped envelope still enters the hash of the set.
            let (bytes, hash) = keys.announce(exponent, limbs, input.reader.offset)?;
            input.reader.offset += bytes;
            input.hashes.update(&hash.0);
            waiting.push((exponent, limbs));
            Ok(())
        })?;
        // A file holds nothing behind the keys.
        if reader.offset != limit {
            return Err(error::envelope_length(limit, reader.offset));
        }
        // Step 3: the rotation keys, by reference to the store.
        let keys = Arc::new(keys);
        for (exponent, limbs) in waiting {
            set.arithmetic.insert_stored(exponent, limbs, keys.clone())?;
        }
        Ok((set, name))
    }
}

fn disorder(reason: &str) -> Error {
    error::malformed(kinds::KEY_LIST, reason.into())
}

/// Writes envelopes and collects their hashes.
struct Sender<'w, W> {
    writer: &'w mut W,
    hashes: blake3::Hasher,
}

impl<W: Write> Sender<'_, W> {
    fn some<T: Wire>(&mut self, params: &T::Params, object: Option<&T>) -> Result<()> {
        object.map_or(Ok(()), |object| self.object(params, object))
    }

    fn object<T: Wire>(&mut self, params: &T::Params, object: &T) -> Result<()> {
        self.send(super::to_bytes(params, object)?)
    }

    fn send(&mut self, sealed: Vec<u8>) -> Result<()> {
        self.hashes.update(&ContentHash::of_sealed(&sealed).0);
        self.writer.write_all(&sealed)?;
        Ok(())
    }

    fn finish(self) -> Result<ContentHash> {
        let name = *self.hashes.finalize().as_bytes();
        self.writer.write_all(&name)?;
        Ok(ContentHash(name))
    }
}

/// Reads envelopes within a limit and collects their hashes.
struct Receiver<'r, R> {
    reader: &'r mut R,
    left: u64,
    hashes: blake3::Hasher,
}

impl<'r, R: Read> Receiver<'r, R> {
    fn new(reader: &'r mut R, limit: u64) -> Self {
        Self { reader, left: limit, hashes: blake3::Hasher::new() }
    }

    /// Reads and checks the list.
    fn list(&mut self, params: &Params) -> Result<KeyList> {
        // Step 1: the envelope of the list, bound to the fingerprint of the whole set.
        let fingerprint = params.fingerprint();
        let most = MOST_KEYS * ENTRY + OVERHEAD;
        let bytes = self.receive(kinds::KEY_LIST, kind::KEY_LIST, fingerprint, most)?;
        let payload = envelope::open(&bytes, kinds::KEY_LIST, kind::KEY_LIST, fingerprint)?;
        let list: KeyList = codec::decode(kinds::KEY_LIST, payload)?;
        // Step 2: the order is strict, so that no key appears twice.
        if !list.parts.0.is_sorted_by(|one, next| one.place() < next.place()) {
            return Err(disorder("the list is not in order, or has a key twice"));
        }
        // Step 3: automorphisms of the ring of degree N have odd exponents below 2N.
        let order = 2 * params.ckks().lattice().spec().degree as u32;
        let exponents = list.parts.0.iter().filter_map(|part| match part {
            Part::Galois(exponent, _) | Part::HoistedGalois(exponent) => Some(*exponent),
            _ => None,
        });
        if exponents.into_iter().any(|exponent| exponent % 2 == 0 || exponent >= order) {
            return Err(disorder("the exponent of an automorphism is even or too large"));
        }
        Ok(list)
    }

    /// Reads the keys of a list, in order. `galois` handles the keys of single rotations; it gets
    /// their exponent and limbs.
    fn keys(
        mut self,
        params: &Params,
        list: KeyList,
        mut galois: impl FnMut(&mut Self, &mut ckks::EvaluationKeys, u32, u32) -> Result<()>,
    ) -> Result<(EvaluationKeys, ContentHash)> {
        // Step 1: every key of the list.
        let (slots, lattice) = (params.ckks(), params.ckks().lattice());
        let mut keys = EvaluationKeys::none(params, KeyId(list.key));
        let mut hoisted: Option<(HoistedKey, GaloisKeys)> = None;
        for part in list.parts.0 {
            match part {
                Part::Relinearization => {
                    let strategy = slots.relin_strategy();
                    let most = strategy.seeded_byte_len(slots.limbs())?;
                    let key: RelinKeys = self.object(strategy, most)?;
                    keys.arithmetic.insert_relinearization(key)?;
                }
                Part::Galois(exponent, limbs) => {
                    galois(&mut self, &mut keys.arithmetic, exponent, limbs)?
                }
                // The list has this key in front of the Galois keys of its rank.
                Part::Hoisted => {
                    // It reduces at most twice the rank: no more rows than a key of a rotation has.
                    let most = GaloisKey::seeded_byte_len(lattice, lattice.q().limbs())?;
                    hoisted = Some((self.object(lattice, most)?, GaloisKeys::default()));
                }
                Part::HoistedGalois(exponent) => match &mut hoisted {
                    Some((HoistedKey { raised, .. }, galois)) => {
                        galois.insert(self.galois(raised, exponent, raised.q().limbs())?);
                    }
                    None => {
                        return Err(disorder("a hoisted rotation without its rank-reduction key"));
                    }
                },
                part => self.circuit_keys(params, part, &mut keys)?,
            }
        }
        // Step 2: hoisted rotations, of which all keys are there now.
        if let Some((HoistedKey { raised, down }, galois)) = hoisted {
            let hoisted = RankHoistedKeys::from_parts(lattice, &raised, galois, Some(down))?;
            keys.arithmetic.insert_hoisted(hoisted)?;
        }
        // Step 3: the hash of the hashes, and the check that all keys belong to one client.
        let name = self.finish()?;
        Ok((keys.of_one_client()?, name))
    }

    /// Reads the keys of a bootstrap, of the tables or of a bridge.
    fn circuit_keys(
        &mut self,
        params: &Params,
        part: Part,
        keys: &mut EvaluationKeys,
    ) -> Result<()> {
        match part {
            Part::Bootstrap => {
                let bootstrapper = params.bootstrapper()?;
                let most = bootstrapper.own_key_sizes().transit;
                keys.bootstrap = Some(self.object(bootstrapper.raising(), most)?);
            }
            Part::Functional if keys.bootstrap.is_some() && params.bootstraps_share_keys() => {
                keys.functional = keys.bootstrap.clone();
            }
            Part::Functional => {
                let functional = params.functional()?;
                let most = functional.own_key_sizes().transit;
                keys.functional = Some(self.object(functional.raising(), most)?);
            }
            Part::Tables(fingerprint, count) => {
                let tables = self.tables(params, fingerprint, count, keys.id())?;
                keys.lookups.tables = Some(tables.into());
            }
            Part::RingBridge => keys.lookups.ring = Some(self.ring_bridge(params)?.into()),
            Part::LinearBridge => {
                keys.lookups.linear = Some(self.linear_bridge(params)?.into());
            }
            // The caller reads the keys of the slots.
            Part::Relinearization | Part::Galois(..) | Part::Hoisted | Part::HoistedGalois(_) => {}
        }
        Ok(())
    }

    fn ring_bridge(&mut self, params: &Params) -> Result<RingBridgeKeys> {
        let lookups = params.lookups()?;
        let bridge =
            lookups.ring().ok_or_else(|| disorder("the parameters have no ring bridge"))?;
        self.object(bridge, lookups.key_bytes(lookups.lwe_params(), [Bridge::Ring]))
    }

    fn linear_bridge(&mut self, params: &Params) -> Result<LinearKeys> {
        let lookups = params.lookups()?;
        let most = lookups.key_bytes(lookups.lwe_params(), [Bridge::Linear]);
        let down: lwe::SeededKeySwitchKey = self.object(lookups.lwe_params(), most)?;
        let up: SeededRepackKey = self.object(params.ckks(), most)?;
        LinearKeys::new(lookups, &down, &up)
    }

    /// Receives an envelope of at most `most` bytes: what the parameters imply, whatever the header
    /// states and the caller allows.
    fn receive(
        &mut self,
        name: &'static str,
        kind: u16,
        fingerprint: Fingerprint,
        most: usize,
    ) -> Result<Vec<u8>> {
        let limit = self.left.min(most as u64);
        let bytes = envelope::receive(self.reader, name, kind, fingerprint, limit)?;
        self.left -= bytes.len() as u64;
        self.hashes.update(&ContentHash::of_sealed(&bytes).0);
        Ok(bytes)
    }

    /// Reads a key of at most `most` bytes of seeds and residues.
    fn object<T: Wire>(&mut self, params: &T::Params, most: usize) -> Result<T> {
        let most = most.saturating_add(OVERHEAD);
        let bytes = self.receive(T::NAME, T::KIND, params.fingerprint(), most)?;
        super::from_bytes(params, &bytes)
    }

    fn galois(&mut self, params: &mlwe::Params, exponent: u32, limbs: usize) -> Result<GaloisKey> {
        let key: GaloisKey = self.object(params, GaloisKey::seeded_byte_len(params, limbs)?)?;
        if key.exponent() != exponent as usize {
            return Err(disorder("a Galois key has another exponent than in the list"));
        }
        Ok(key)
    }

    /// The keys of the tables, whose engine follows from the fingerprint of their parameters.
    fn tables(
        &mut self,
        params: &Params,
        fingerprint: Fingerprint,
        count: u32,
        key: KeyId,
    ) -> Result<TableKeys> {
        let lattice = params.lookups()?.with_fingerprint(fingerprint);
        let lattice = lattice.ok_or_else(|| disorder("the tables have other parameters"))?;
        // Step 1: the LWE dimension determines the number of parts.
        if count as usize != lattice.spec().dimension.div_ceil(COORDINATES) {
            return Err(disorder("the blind-rotation key has the wrong number of parts"));
        }
        // Step 2: the parts, in the order of their coordinates.
        let most = SeededBlindRotationKey::byte_len(lattice);
        let parts = (0..count as usize).map(|i| {
            let part: RotationPart = self.object(lattice, most)?;
            let (first, last) = (i * COORDINATES, (i + 1) * COORDINATES);
            match part.coordinates() == (first..last.min(lattice.spec().dimension)) {
                true => Ok(part),
                false => {
                    Err(disorder("a part of the blind-rotation key has the wrong coordinates"))
                }
            }
        });
        // The parts are read lazily: only one is in memory in packed form.
        let rotation = BlindRotationKey::from_parts(lattice, parts)?;
        // Step 3: the key switch from the ring of the tables back to the LWE secret.
        let most = params.lookups()?.key_bytes(lattice, []) - most;
        let switch: lwe::SeededKeySwitchKey = self.object(lattice, most)?;
        if switch.source_dimension() != lattice.spec().ring_degree {
            return Err(disorder("the key switch of the tables has another ring"));
        }
        let lookup = LookupKeys { rotation, switch: switch.expand(lattice)?, key };
        Ok(TableKeys { lwe_params: lattice.clone(), lookup })
    }

    fn finish(self) -> Result<ContentHash> {
        // The trailing hash counts against the limit, too.
        let mut stated = [0; ContentHash::LEN];
        if self.left < stated.len() as u64 {
            let (found, limit) = (stated.len() as u64, self.left);
            return Err(error::too_long(kinds::KEY_LIST, found, limit));
        }
        self.reader.read_exact(&mut stated)?;
        let found = ContentHash(*self.hashes.finalize().as_bytes());
        match ContentHash(stated) {
            stated if stated == found => Ok(found),
            stated => Err(error::damaged(kinds::KEY_LIST, found, stated)),
        }
    }
}
