//! A blind-rotation key in parts: some coordinates each, so that neither side ever holds a second
//! form of all of them.

use std::ops::Range;

use bellerophon_ring::{Modulus, Ntt, Poly, Ring, aligned::AlignedVec, sample::Seed};

use super::{
    BlindRotationKey, MadeFor, Rows, SeededBlindRotationKey, SeededRows,
    cggi::{RgswRotationKey, SeededRgswRotationKey, with_masks},
    ntru::{NtruRotationKey, SeededNtruRotationKey, UnderF, copied},
};
use crate::{
    Engine, Error, Params, Result, ntru::switch::SeededRingSwitchKey, params::EngineContext,
};

/// Consecutive coordinates of a blind-rotation key as they travel. The first part of an NTRU key has
/// with it what belongs to no coordinate.
///
/// The parts of a key have its seed in common; those of two keys are never put together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RotationPart {
    pub(crate) coordinates: Range<usize>,
    pub(super) made_for: MadeFor,
    /// Of the masks: those of all rows of an RGSW key, those of the ring switch of an NTRU key.
    pub(crate) seed: Seed,
    /// Coordinate, limb, row, sign of an RGSW key; coordinate, digit, and if the rotation is ternary
    /// sign of an NTRU key.
    pub(crate) rows: AlignedVec,
    pub(crate) shared: Option<Shared>,
}

/// What an NTRU key has beside its coordinates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shared {
    /// The entry, and of the general rotation the last one and the automorphisms.
    pub(crate) rows: AlignedVec,
    /// The bodies of the ring switch.
    pub(crate) switch: Vec<Poly<Ntt>>,
}

impl RotationPart {
    /// The coordinates.
    pub fn coordinates(&self) -> Range<usize> {
        self.coordinates.clone()
    }

    /// Fails unless a part made for this is of these parameters.
    pub(crate) fn check_made_for(
        params: &Params,
        [dimension, degree]: [usize; 2],
        ring_modulus: u64,
        engine: Engine,
    ) -> Result<()> {
        let made_for = MadeFor { dimension, degree, ring_modulus, engine };
        made_for.check("reading a blind-rotation key", params)
    }

    /// Puts together what has been checked to be of the shape that the parameters need.
    pub(crate) fn new(
        params: &Params,
        coordinates: Range<usize>,
        seed: Seed,
        rows: AlignedVec,
        shared: Option<Shared>,
    ) -> Self {
        Self { made_for: MadeFor::of(params), coordinates, seed, rows, shared }
    }

    /// Fails with the operation's name unless the part is of these parameters.
    pub(crate) fn check(&self, op: &'static str, params: &Params) -> Result<()> {
        self.made_for.check(op, params)
    }
}

/// What the parts of a key of some parameters consist of.
pub(crate) struct Layout<'p> {
    /// The words of one coordinate modulo each prime, one prime after the other.
    pub(crate) coordinate: Vec<(&'p Modulus, usize)>,
    /// Of an NTRU key.
    pub(crate) shared: Option<SharedLayout<'p>>,
}

/// What an NTRU key has beside its coordinates.
pub(crate) struct SharedLayout<'p> {
    /// The words of the rows under `f`.
    pub(crate) rows: (&'p Modulus, usize),
    /// The ring of the switch and its bodies.
    pub(crate) switch: (&'p Ring, usize),
}

impl<'p> Layout<'p> {
    pub(crate) fn of(params: &'p Params) -> Self {
        match params.engine() {
            EngineContext::Rgsw(context) => {
                let words = context.rows() * 2 * context.ring().degree();
                let coordinate = context.ring().moduli().map(|q| (q, words)).collect();
                Self { coordinate, shared: None }
            }
            EngineContext::Ntru(context) => {
                let q = context.gadget().modulus();
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

/// Part after part of a key of some parameters.
fn parts(
    made_for: MadeFor,
    params: &Params,
    size: usize,
    part: impl Fn(Range<usize>) -> RotationPart,
) -> Result<impl ExactSizeIterator<Item = RotationPart>> {
    made_for.check(WRITE, params)?;
    if size == 0 {
        let (what, needed) = ("coordinates of a part", "1 or more");
        return Err(Error::Number { what, found: 0.0, needed });
    }
    let n = made_for.dimension;
    Ok((0..n.div_ceil(size)).map(move |i| part(i * size..n.min((i + 1) * size))))
}

impl SeededBlindRotationKey {
    /// The key in parts of `size` coordinates, made one by one; the last may have fewer.
    ///
    /// # Errors
    /// If the parameters are not those of the key, or the size is 0.
    pub fn parts(
        &self,
        params: &Params,
        size: usize,
    ) -> Result<impl ExactSizeIterator<Item = RotationPart>> {
        parts(self.made_for, params, size, move |coordinates| self.part(params, coordinates))
    }

    /// One part; the key is of the parameters.
    pub(crate) fn part(&self, params: &Params, coordinates: Range<usize>) -> RotationPart {
        let (seed, rows, shared) = match (&self.rows, params.engine()) {
            (SeededRows::Rgsw(key), EngineContext::Rgsw(_)) => {
                let element = Layout::of(params).words();
                let words = coordinates.start * element..coordinates.end * element;
                (key.seed, copied(&key.bodies[words]), None)
            }
            (SeededRows::Ntru(key), EngineContext::Ntru(context)) => {
                let rows = key.own.rows(context, coordinates.clone());
                let shared =
                    || Shared { rows: key.own.shared(), switch: key.switch.bodies.clone() };
                (key.switch.seed, rows, (coordinates.start == 0).then(shared))
            }
            _ => unreachable!("the key fits the parameters"),
        };
        RotationPart { made_for: self.made_for, coordinates, seed, rows, shared }
    }

    /// Fails with the operation's name unless the key is of these parameters.
    pub(crate) fn check(&self, op: &'static str, params: &Params) -> Result<()> {
        self.made_for.check(op, params)
    }

    /// The key of all its parts, in order.
    ///
    /// # Errors
    /// That of the first part that is none; [`Error::Part`] unless the parts are all those of one key;
    /// and if they are not of these parameters.
    pub fn from_parts<E: From<Error>>(
        params: &Params,
        parts: impl IntoIterator<Item = std::result::Result<RotationPart, E>>,
    ) -> std::result::Result<Self, E> {
        let arrange = |part: RotationPart| match params.engine() {
            EngineContext::Rgsw(_) => part.rows,
            EngineContext::Ntru(context) => UnderF::arrange(context, part.rows),
        };
        let Whole { seed, rows, shared } = Whole::of(params, parts, arrange)?;
        let rows = match (params.engine(), shared) {
            (EngineContext::Ntru(context), Some(shared)) => {
                let own = UnderF::of_rows(context, rows, &shared.rows)?;
                let switch = SeededRingSwitchKey { seed, bodies: shared.switch };
                SeededRows::Ntru(SeededNtruRotationKey { own, switch })
            }
            (EngineContext::Ntru(_), None) => unreachable!("{FIRST}"),
            _ => SeededRows::Rgsw(SeededRgswRotationKey { seed, bodies: rows }),
        };
        Ok(Self { made_for: MadeFor::of(params), rows })
    }
}

impl BlindRotationKey {
    /// The key of all its parts, in order, made ready for use one by one: there is never more of the
    /// form that travels than one part.
    ///
    /// # Errors
    /// As [`SeededBlindRotationKey::from_parts`].
    pub fn from_parts<E: From<Error>>(
        params: &Params,
        parts: impl IntoIterator<Item = std::result::Result<RotationPart, E>>,
    ) -> std::result::Result<Self, E> {
        let expand = |part: RotationPart| match params.engine() {
            EngineContext::Rgsw(context) => {
                with_masks(context, &part.seed, part.coordinates.start, &part.rows)
            }
            EngineContext::Ntru(context) => UnderF::arrange(context, part.rows),
        };
        let Whole { seed, rows, shared } = Whole::of(params, parts, expand)?;
        let rows = match (params.engine(), shared) {
            (EngineContext::Ntru(context), Some(shared)) => {
                let own = UnderF::of_rows(context, rows, &shared.rows)?;
                let switch = SeededRingSwitchKey { seed, bodies: shared.switch };
                Rows::Ntru(NtruRotationKey { own, switch: switch.expand(context) })
            }
            (EngineContext::Ntru(_), None) => unreachable!("{FIRST}"),
            _ => Rows::Rgsw(RgswRotationKey { seed, words: rows }),
        };
        Ok(Self { made_for: MadeFor::of(params), rows })
    }

    /// The key in parts as [`SeededBlindRotationKey::parts`] gives them, without ever having all of the
    /// form that travels.
    ///
    /// # Errors
    /// If the parameters are not those of the key, or the size is 0.
    pub fn parts(
        &self,
        params: &Params,
        size: usize,
    ) -> Result<impl ExactSizeIterator<Item = RotationPart>> {
        parts(self.made_for, params, size, move |coordinates| self.part(params, coordinates))
    }

    fn part(&self, params: &Params, coordinates: Range<usize>) -> RotationPart {
        let (seed, rows, shared) = match (&self.rows, params.engine()) {
            (Rows::Rgsw(key), EngineContext::Rgsw(context)) => {
                (key.seed, key.bodies(context, coordinates.clone()), None)
            }
            (Rows::Ntru(key), EngineContext::Ntru(context)) => {
                let rows = key.own.rows(context, coordinates.clone());
                let SeededRingSwitchKey { seed, bodies: switch } = key.switch.compress();
                let shared = || Shared { rows: key.own.shared(), switch };
                (seed, rows, (coordinates.start == 0).then(shared))
            }
            _ => unreachable!("the key fits the parameters"),
        };
        RotationPart { made_for: self.made_for, coordinates, seed, rows, shared }
    }

    /// The form that travels.
    ///
    /// # Errors
    /// If the parameters are not those of the key.
    pub fn compress(&self, params: &Params) -> Result<SeededBlindRotationKey> {
        let parts = self.parts(params, self.made_for.dimension)?;
        SeededBlindRotationKey::from_parts(params, parts.map(Ok::<_, Error>))
    }
}

const WRITE: &str = "writing a blind-rotation key";

/// Why what belongs to no coordinate is there.
const FIRST: &str = "the first part of an NTRU key has it";

/// All parts of a key.
struct Whole {
    seed: Seed,
    rows: AlignedVec,
    shared: Option<Shared>,
}

impl Whole {
    /// Takes parts in order, until all coordinates are there, and makes of the rows of each what
    /// `f` says.
    fn of<E: From<Error>>(
        params: &Params,
        parts: impl IntoIterator<Item = std::result::Result<RotationPart, E>>,
        f: impl Fn(RotationPart) -> AlignedVec,
    ) -> std::result::Result<Self, E> {
        let op = "assembling a blind-rotation key";
        let (mut first, mut next) = (None, 0);
        let mut rows = Vec::new();
        for part in parts {
            let mut part = part?;
            part.made_for.check(op, params)?;
            if part.coordinates.start != next || part.coordinates.is_empty() {
                let found = part.coordinates;
                return Err(Error::Part { found, needed: next..params.dimension() }.into());
            }
            if first.get_or_insert_with(|| (part.seed, part.shared.take())).0 != part.seed {
                return Err(Error::ForeignPart { found: part.coordinates }.into());
            }
            next = part.coordinates.end;
            rows.push(f(part));
        }
        let missing = || Error::Part { found: next..next, needed: next..params.dimension() };
        match first {
            Some((seed, shared)) if next == params.dimension() => {
                Ok(Self { seed, rows: joined(rows), shared })
            }
            _ => Err(missing().into()),
        }
    }
}

/// All words in one buffer; each part is given back before the next is copied.
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
