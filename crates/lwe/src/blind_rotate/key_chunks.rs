//! Blind-rotation keys in parts of consecutive coordinates, so that neither sender nor receiver
//! holds two forms of the whole key at once.

use std::ops::Range;

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{
    Error, Modulus, Ntt, Poly, Result, Ring, aligned::AlignedVec, sample::Seed,
};

use super::{
    BlindRotationKey, KeyParams, Rows, SeededBlindRotationKey, SeededRows,
    cggi::{RgswRotationKey, SeededRgswRotationKey, with_masks},
    ntru::{NtruKeyMaterial, NtruRotationKey, SeededNtruRotationKey, copied},
};
use crate::engine::Engine;
use crate::error;
use crate::ntru::{NtruContext, switch::SeededRingSwitchKey};
use crate::params::{EngineContext, Params};

/// Consecutive coordinates of a compressed blind-rotation key. The first part of an NTRU key also
/// contains the rows that belong to no coordinate.
///
/// All parts of a key carry its seed. Parts of two different keys are rejected on assembly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RotationPart {
    pub(crate) coordinates: Range<usize>,
    pub(super) key_params: KeyParams,
    /// The seed of the masks: of all rows of an RGSW key, of the ring key switch of an NTRU key.
    pub(crate) seed: Seed,
    /// Layout, outermost first. RGSW key: coordinate, limb, row, sign. NTRU key: coordinate, digit,
    /// and for the ternary rotation sign.
    pub(crate) rows: AlignedVec,
    pub(crate) shared: Option<Shared>,
}

/// The rows of an NTRU key that belong to no coordinate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shared {
    /// NTRU' of `1 / f`, and for the general rotation `evk_n` and the automorphism keys.
    pub(crate) rows: AlignedVec,
    /// The bodies of the ring key switch.
    pub(crate) switch: Vec<Poly<Ntt>>,
}

impl RotationPart {
    /// The range of coordinates in this part.
    pub fn coordinates(&self) -> Range<usize> {
        self.coordinates.clone()
    }

    /// Fails unless a part with these key parameters belongs to `params`.
    pub(crate) fn check_key_params(
        params: &Params,
        [dimension, degree]: [usize; 2],
        ring_modulus: u64,
        engine: Engine,
    ) -> Result<()> {
        let key_params = KeyParams { dimension, degree, ring_modulus, engine };
        key_params.check(params)
    }

    /// A part of contents whose shape the caller has checked against the parameters.
    pub(crate) fn new(
        params: &Params,
        coordinates: Range<usize>,
        seed: Seed,
        rows: AlignedVec,
        shared: Option<Shared>,
    ) -> Self {
        Self { key_params: KeyParams::of(params), coordinates, seed, rows, shared }
    }

    /// Fails with the operation's name unless the part belongs to these parameters.
    pub(crate) fn check(&self, params: &Params) -> Result<()> {
        self.key_params.check(params)
    }
}

/// The sizes of the parts of a key.
pub(crate) struct Layout<'p> {
    /// The words of one coordinate modulo each prime, one prime after the other.
    pub(crate) coordinate: Vec<(&'p Modulus, usize)>,
    /// The sizes of [`Shared`], for an NTRU key.
    pub(crate) shared: Option<SharedLayout<'p>>,
}

/// The sizes of [`Shared`].
pub(crate) struct SharedLayout<'p> {
    /// The words of the rows under `f`.
    pub(crate) rows: (&'p Modulus, usize),
    /// The ring of the key switch and the number of its bodies.
    pub(crate) switch: (&'p Ring, usize),
}

impl<'p> Layout<'p> {
    pub(crate) fn of(params: &'p Params) -> Self {
        match params.engine() {
            EngineContext::Rgsw(context) => {
                // One body for each row and sign.
                let words = context.rows() * 2 * context.ring().degree();
                let coordinate = context.ring().moduli().map(|q| (q, words)).collect();
                Self { coordinate, shared: None }
            }
            EngineContext::Ntru(context) => {
                let q = context.gadget().modulus();
                // Words of one coordinate, and of the rows that belong to no coordinate.
                let words = NtruRotationKey::ciphertexts(context)
                    .map(|ciphertexts| ciphertexts * context.digit_words());
                let switch = (context.table_ring(), context.switch_gadget().digits());
                let shared = SharedLayout { rows: (q, words[1]), switch };
                Self { coordinate: vec![(q, words[0])], shared: Some(shared) }
            }
        }
    }

    /// The words of one coordinate.
    pub(crate) fn words(&self) -> usize {
        self.coordinate.iter().map(|(_, words)| words).sum()
    }
}

/// An iterator over the parts of a key, `size` coordinates each.
fn parts(
    key_params: KeyParams,
    params: &Params,
    size: usize,
    part: impl Fn(Range<usize>) -> RotationPart,
) -> Result<impl ExactSizeIterator<Item = RotationPart>> {
    key_params.check(params)?;
    if size == 0 {
        let (what, needed) = ("coordinates of a part", "1 or more");
        return Err(error::number(what, 0.0, needed));
    }
    // The last part takes the remaining coordinates.
    let n = key_params.dimension;
    Ok((0..n.div_ceil(size)).map(move |i| part(i * size..n.min((i + 1) * size))))
}

impl SeededBlindRotationKey {
    /// The key in parts of `size` coordinates, created one by one. The last part may have fewer.
    pub fn parts(
        &self,
        params: &Params,
        size: usize,
    ) -> Result<impl ExactSizeIterator<Item = RotationPart>> {
        parts(self.key_params, params, size, move |coordinates| self.part(params, coordinates))
    }

    /// One part. The caller has checked that the key belongs to the parameters.
    pub(crate) fn part(&self, params: &Params, coordinates: Range<usize>) -> RotationPart {
        let (seed, rows, shared) = match (&self.rows, params.engine()) {
            (SeededRows::Rgsw(key), EngineContext::Rgsw(_)) => {
                let element = Layout::of(params).words();
                let words = coordinates.start * element..coordinates.end * element;
                (key.seed, copied(&key.bodies[words]), None)
            }
            (SeededRows::Ntru(key), EngineContext::Ntru(context)) => {
                // Only the first part carries the rows that belong to no coordinate.
                let rows = key.own.rows(context, coordinates.clone());
                let shared =
                    || Shared { rows: key.own.shared(), switch: key.switch.bodies.clone() };
                (key.switch.seed, rows, (coordinates.start == 0).then(shared))
            }
            _ => unreachable!("the key fits the parameters"),
        };
        RotationPart { key_params: self.key_params, coordinates, seed, rows, shared }
    }

    /// Fails with the operation's name unless the key belongs to these parameters.
    pub(crate) fn check(&self, params: &Params) -> Result<()> {
        self.key_params.check(params)
    }

    /// Assembles the key from all its parts, in order. The parts are checked as by
    /// [`BlindRotationKey::from_parts`].
    pub(crate) fn from_parts(
        params: &Params,
        parts: impl IntoIterator<Item = Result<RotationPart>>,
    ) -> Result<Self> {
        // Step 1: collect the rows of all parts in the layout that the key stores.
        let arrange = |part: RotationPart| match params.engine() {
            EngineContext::Rgsw(_) => part.rows,
            EngineContext::Ntru(context) => NtruKeyMaterial::arrange(context, part.rows),
        };
        let whole = Whole::of(params, parts, arrange)?;
        // Step 2: build the key of the engine. An RGSW key consists of the rows alone.
        let rows = match params.engine() {
            EngineContext::Ntru(context) => SeededRows::Ntru(whole.ntru(context)?),
            EngineContext::Rgsw(_) => {
                SeededRows::Rgsw(SeededRgswRotationKey { seed: whole.seed, bodies: whole.rows })
            }
        };
        Ok(Self { key_params: KeyParams::of(params), rows })
    }
}

impl BlindRotationKey {
    /// Assembles the expanded key from all its parts, in order. Each part is expanded on arrival,
    /// so that at most one part is in memory in compressed form.
    ///
    /// # Errors
    /// The error of the first part that is `Err`; [`ErrorKind::Bytes`] unless the parts are all
    /// those of one key.
    pub fn from_parts(
        params: &Params,
        parts: impl IntoIterator<Item = Result<RotationPart>>,
    ) -> Result<Self> {
        // Step 1: expand the rows of each part: masks for RGSW, the rotation's layout for NTRU.
        let expand = |part: RotationPart| match params.engine() {
            EngineContext::Rgsw(context) => {
                with_masks(context, &part.seed, part.coordinates.start, &part.rows)
            }
            EngineContext::Ntru(context) => NtruKeyMaterial::arrange(context, part.rows),
        };
        let whole = Whole::of(params, parts, expand)?;
        // Step 2: build the key of the engine, with the ring key switch expanded for NTRU.
        let rows = match params.engine() {
            EngineContext::Ntru(context) => {
                let SeededNtruRotationKey { own, switch } = whole.ntru(context)?;
                Rows::Ntru(NtruRotationKey { own, switch: switch.expand(context) })
            }
            EngineContext::Rgsw(_) => {
                Rows::Rgsw(RgswRotationKey { seed: whole.seed, words: whole.rows })
            }
        };
        Ok(Self { key_params: KeyParams::of(params), rows })
    }

    /// The key in the parts of [`SeededBlindRotationKey::parts`], without the whole compressed key
    /// in memory.
    pub fn parts(
        &self,
        params: &Params,
        size: usize,
    ) -> Result<impl ExactSizeIterator<Item = RotationPart>> {
        parts(self.key_params, params, size, move |coordinates| self.part(params, coordinates))
    }

    fn part(&self, params: &Params, coordinates: Range<usize>) -> RotationPart {
        let (seed, rows, shared) = match (&self.rows, params.engine()) {
            (Rows::Rgsw(key), EngineContext::Rgsw(context)) => {
                (key.seed, key.bodies(context, coordinates.clone()), None)
            }
            (Rows::Ntru(key), EngineContext::Ntru(context)) => {
                // Only the first part carries the rows that belong to no coordinate.
                let rows = key.own.rows(context, coordinates.clone());
                let SeededRingSwitchKey { seed, bodies: switch } = key.switch.compress();
                let shared = || Shared { rows: key.own.shared(), switch };
                (seed, rows, (coordinates.start == 0).then(shared))
            }
            _ => unreachable!("the key fits the parameters"),
        };
        RotationPart { key_params: self.key_params, coordinates, seed, rows, shared }
    }

    /// The compressed key.
    pub(crate) fn compress(&self, params: &Params) -> Result<SeededBlindRotationKey> {
        let parts = self.parts(params, self.key_params.dimension)?;
        SeededBlindRotationKey::from_parts(params, parts.map(Ok::<_, Error>))
    }
}

/// All parts of a key, joined.
struct Whole {
    seed: Seed,
    rows: AlignedVec,
    shared: Option<Shared>,
}

impl Whole {
    /// Takes parts in order until all coordinates are complete, and joins the results of `f`.
    fn of(
        params: &Params,
        parts: impl IntoIterator<Item = Result<RotationPart>>,
        f: impl Fn(RotationPart) -> AlignedVec,
    ) -> Result<Self> {
        // `first` holds the seed and the shared rows of the first part, `next` the next coordinate.
        let (mut first, mut next) = (None, 0);
        let mut rows = Vec::new();
        for part in parts {
            // Step 1: the part belongs to these parameters and continues the previous part.
            let mut part = part?;
            part.key_params.check(params)?;
            if part.coordinates.start != next || part.coordinates.is_empty() {
                return Err(error::part(part.coordinates, next..params.spec().dimension));
            }
            // Step 2: the part has the seed of the first part, so it belongs to the same key.
            if first.get_or_insert_with(|| (part.seed, part.shared.take())).0 != part.seed {
                return Err(error::foreign_part(part.coordinates));
            }
            next = part.coordinates.end;
            rows.push(f(part));
        }
        // Step 3: the parts cover all coordinates.
        let missing = || error::part(next..next, next..params.spec().dimension);
        match first {
            Some((seed, shared)) if next == params.spec().dimension => {
                Ok(Self { seed, rows: joined(rows), shared })
            }
            _ => Err(missing()),
        }
    }

    /// The key of NTRU whose rows these are.
    fn ntru(self, context: &NtruContext) -> Result<SeededNtruRotationKey> {
        let shared = self.shared.expect("the first part of an NTRU key contains the shared rows");
        let own = NtruKeyMaterial::of_rows(context, self.rows, &shared.rows)?;
        let switch = SeededRingSwitchKey { seed: self.seed, bodies: shared.switch };
        Ok(SeededNtruRotationKey { own, switch })
    }
}

/// All words in one buffer. Each part is freed before the next is copied.
fn joined(mut parts: Vec<AlignedVec>) -> AlignedVec {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let mut all = AlignedVec::zeroed(parts.iter().map(|part| part.len()).sum());
    let mut rest = &mut all[..];
    for part in parts {
        let (here, after) = rest.split_at_mut(part.len());
        here.copy_from_slice(&part);
        rest = after;
    }
    all
}
