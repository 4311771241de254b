//! Serialized forms of blind-rotation keys, in parts and in one piece.

use bellerophon_ring::{
    Modulus, Result, aligned::AlignedVec, sample::Seed, wire::Packed, wire_form,
};
use serde::{Deserialize, Serialize};

use super::kind;
use crate::blind_rotate::{Layout, RotationPart, SeededBlindRotationKey, Shared};
use crate::engine::{Engine, NtruRotation, NtruSpec, RgswGadget};
use crate::error;
use crate::params::Params;

/// The serialized form of an [`Engine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EngineForm {
    /// [`RgswGadget::SpecialModulus`].
    SpecialModulus {
        /// The special prime.
        modulus: u64,
    },
    /// [`RgswGadget::Digits`].
    Digits {
        /// Bits of a digit.
        base_log: u32,
        /// Number of digits.
        count: u32,
    },
    /// [`NtruSpec`].
    Ntru {
        /// `Q`.
        modulus: u64,
        /// Bits of a digit of the external product.
        base_log: u32,
        /// Number of these digits.
        count: u32,
        /// For the general rotation, the largest `k` for which `X -> X^(5^k)` has a key.
        window: Option<u32>,
        /// Bits of a digit of the ring key switch, and the number of these digits.
        switch: (u32, u32),
    },
}

impl From<&Engine> for EngineForm {
    fn from(engine: &Engine) -> Self {
        match *engine {
            Engine::Rgsw(RgswGadget::SpecialModulus { modulus }) => {
                Self::SpecialModulus { modulus }
            }
            Engine::Rgsw(RgswGadget::Digits { base_log, count }) => {
                Self::Digits { base_log, count: count as u32 }
            }
            Engine::Ntru(ntru) => Self::Ntru {
                modulus: ntru.modulus,
                base_log: ntru.base_log,
                count: ntru.count as u32,
                window: match ntru.rotation {
                    NtruRotation::Ternary => None,
                    NtruRotation::Any { window } => Some(window as u32),
                },
                switch: (ntru.switch_base_log, ntru.switch_count as u32),
            },
        }
    }
}

impl From<EngineForm> for Engine {
    fn from(form: EngineForm) -> Self {
        match form {
            EngineForm::SpecialModulus { modulus } => {
                Self::Rgsw(RgswGadget::SpecialModulus { modulus })
            }
            EngineForm::Digits { base_log, count } => {
                Self::Rgsw(RgswGadget::Digits { base_log, count: count as usize })
            }
            EngineForm::Ntru { modulus, base_log, count, window, switch } => Self::Ntru(NtruSpec {
                modulus,
                base_log,
                count: count as usize,
                rotation: window.map_or(NtruRotation::Ternary, |window| NtruRotation::Any {
                    window: window as usize,
                }),
                switch_base_log: switch.0,
                switch_count: switch.1 as usize,
            }),
        }
    }
}

/// The serialized form of a [`RotationPart`], and of a [`SeededBlindRotationKey`] as the part of
/// all coordinates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RotationForm<'a> {
    /// The parameters that the key depends on.
    dimension: u32,
    degree: u32,
    ring_modulus: u64,
    engine: EngineForm,
    /// The seed of the masks: of an RGSW key, or of the ring key switch of an NTRU key.
    seed: Seed,
    /// The first coordinate, and the number of coordinates.
    first: u32,
    count: u32,
    /// The rows. Layout of an RGSW key, outermost first: coordinate, prime (`q0`, special), row,
    /// sign (plus, minus), residues. Layout of an NTRU key: coordinate, digit, for the ternary
    /// rotation sign, residues modulo `Q`. Each coordinate and prime is one run of bytes.
    #[serde(borrow)]
    rows: Packed<'a>,
    /// In the part with the first coordinate of an NTRU key, and empty otherwise: NTRU' of `1 / f`,
    /// and for the general rotation `evk_n`, the keys of `X -> 1 / X` and of the powers of 5, each
    /// digit by digit.
    #[serde(borrow)]
    shared: Packed<'a>,
    /// In the part with the first coordinate of an NTRU key, and empty otherwise: the bodies of the
    /// ring key switch modulo `q0`, digit by digit.
    #[serde(borrow)]
    switch: Packed<'a>,
}

impl RotationForm<'static> {
    /// The form of a part. The caller has checked that it belongs to the parameters.
    fn of(params: &Params, part: &RotationPart) -> Self {
        // Step 1: the rows, one run for each coordinate and prime.
        let (layout, spec) = (Layout::of(params), params.spec());
        let mut rest = &part.rows[..];
        let rows = part.coordinates().flat_map(|_| &layout.coordinate).map(|&(q, words)| {
            let (run, after) = rest.split_at(words);
            rest = after;
            (q, run)
        });
        let rows = Packed::limbs(rows);
        // Step 2: the rows that belong to no coordinate, if the part has them.
        let (shared, switch) = match (&layout.shared, &part.shared) {
            (Some(layout), Some(shared)) => (
                Packed::words(layout.rows.0, &shared.rows),
                Packed::polys(layout.switch.0, shared.switch.iter()),
            ),
            _ => (Packed::default(), Packed::default()),
        };
        Self {
            dimension: spec.dimension as u32,
            degree: spec.ring_degree as u32,
            ring_modulus: spec.ring_modulus,
            engine: (&spec.engine).into(),
            seed: part.seed,
            first: part.coordinates.start as u32,
            count: part.coordinates.len() as u32,
            rows,
            shared,
            switch,
        }
    }
}

impl RotationForm<'_> {
    /// The part, checked against the parameters.
    fn into_part(self, params: &Params) -> Result<RotationPart> {
        // Step 1: key parameters and coordinates.
        RotationPart::check_key_params(
            params,
            [self.dimension as usize, self.degree as usize],
            self.ring_modulus,
            self.engine.into(),
        )?;
        let (first, count) = (self.first as usize, self.count as usize);
        let coordinates = first..first.saturating_add(count);
        if count == 0 || coordinates.end > params.spec().dimension {
            return Err(error::part(coordinates, 0..params.spec().dimension));
        }
        // Step 2: the length of the rows, before memory is allocated for them.
        let layout = Layout::of(params);
        let len = |&(q, words): &(&Modulus, usize)| Packed::words_len(q, words);
        self.rows.check(count * layout.coordinate.iter().map(len).sum::<usize>())?;
        // Step 3: the rows, one run for each coordinate and prime.
        let mut rows = AlignedVec::zeroed(count * layout.words());
        let mut rest = &mut rows[..];
        let mut runs = Vec::with_capacity(count * layout.coordinate.len());
        for &(q, words) in coordinates.clone().flat_map(|_| &layout.coordinate) {
            let (run, after) = rest.split_at_mut(words);
            rest = after;
            runs.push((q, run));
        }
        self.rows.unpack_limbs(runs.into_iter())?;
        // Step 4: the rows that belong to no coordinate, in the first part of an NTRU key only.
        let shared = match layout.shared {
            Some(layout) if first == 0 => {
                let (q, words) = layout.rows;
                self.shared.check(Packed::words_len(q, words))?;
                let mut rows = AlignedVec::zeroed(words);
                self.shared.unpack_limbs(std::iter::once((q, &mut rows[..])))?;
                let (ring, bodies) = layout.switch;
                Some(Shared { rows, switch: self.switch.unpack_polys(ring, bodies)? })
            }
            _ => {
                self.shared.check(0)?;
                self.switch.check(0)?;
                None
            }
        };
        Ok(RotationPart::new(params, coordinates, self.seed, rows, shared))
    }
}

wire_form! {
    for RotationPart: kind::ROTATION_PART, "part of a blind-rotation key" as RotationForm<'a>;
    fn write(&self, params: &Params) {
        self.check(params)?;
        Ok(RotationForm::of(params, self))
    }
    fn read(params, form) {
        form.into_part(params)
    }
}

wire_form! {
    // For keys that fit in memory twice. For larger keys see [`SeededBlindRotationKey::parts`].
    for SeededBlindRotationKey: kind::BLIND_ROTATION_KEY, "blind-rotation key" as RotationForm<'a>;
    fn write(&self, params: &Params) {
        self.check(params)?;
        Ok(RotationForm::of(params, &self.part(params, 0..params.spec().dimension)))
    }
    fn read(params, form) {
        Self::from_parts(params, std::iter::once(form.into_part(params)))
    }
}
