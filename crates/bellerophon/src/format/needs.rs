//! The byte form of the needs of a program: a server sends them to the client that makes the keys.
//!
//! The bytes do not choose assumptions: what was read has the word of the client for none.

use bellerophon_ckks::{KeyLevels, wire::KeyLevelsForm};
use bellerophon_lookup::{Bridge, Engine};
use bellerophon_ring::Result;
use bellerophon_ring::wire::{List, Wire};
use serde::{Deserialize, Serialize};

use super::{kind, kinds};
use crate::needs::Needs;
use crate::params::Params;
use crate::{error, keys};

/// The largest number of rotations, and of tables.
const MOST: usize = 4096;

/// The bridges, numbered from 1.
const BRIDGES: [Bridge; 2] = [Bridge::Ring, Bridge::Linear];

/// The engines of blind rotation, numbered from 1; 0 stands for none.
const ENGINES: [Engine; 2] = [Engine::Rgsw, Engine::Ntru];

/// The wire form of [`Needs`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NeedsForm {
    multiply: bool,
    conjugate: bool,
    lookups: bool,
    bridges: List<u32, 3>,
    corrected: bool,
    engine: u32,
    bootstrap: bool,
    functional: bool,
    rotate_any: bool,
    rotations: List<i64, MOST>,
    sums: Option<u32>,
    tables: List<(u32, u32), MOST>,
    keys: KeyLevelsForm,
}

/// The parameters must be able to serve the needs.
impl Wire for Needs {
    const KIND: u16 = kind::NEEDS;
    const NAME: &'static str = kinds::NEEDS;
    type Params = Params;
    type Form<'a> = NeedsForm;

    fn to_form(&self, params: &Params) -> Result<NeedsForm> {
        keys::key_spec(params, self)?;
        // Checked needs have numbers below the slots.
        let tables = self.tables.iter().map(|&(rows, columns)| (rows as u32, columns as u32));
        Ok(NeedsForm {
            multiply: self.multiply,
            conjugate: self.conjugate,
            lookups: self.lookups,
            bridges: List(self.bridges.iter().map(|bridge| number(&BRIDGES, bridge)).collect()),
            corrected: self.corrected,
            engine: self.engine.map_or(0, |engine| number(&ENGINES, &engine)),
            bootstrap: self.bootstrap,
            functional: self.functional,
            rotate_any: self.rotate_any,
            rotations: List(self.rotations.iter().copied().collect()),
            sums: self.sums.map(|most| most as u32),
            tables: List(tables.collect()),
            keys: self.keys.to_form(params.ckks())?,
        })
    }

    fn from_form(params: &Params, form: NeedsForm) -> Result<Self> {
        // Step 1: each entry of a list once, in increasing order.
        let (bridges, rotations, tables) = (form.bridges.0, form.rotations.0, form.tables.0);
        let sorted = bridges.is_sorted_by(|one, next| one < next)
            && rotations.is_sorted_by(|one, next| one < next)
            && tables.is_sorted_by(|one, next| one < next);
        if !sorted {
            let reason = "a list is not in order, or has an entry twice".into();
            return Err(error::malformed(Self::NAME, reason));
        }
        let needs = Self {
            multiply: form.multiply,
            conjugate: form.conjugate,
            lookups: form.lookups,
            bridges: bridges
                .into_iter()
                .map(|found| numbered(&BRIDGES, found))
                .collect::<Result<_>>()?,
            corrected: form.corrected,
            engine: match form.engine {
                0 => None,
                found => Some(numbered(&ENGINES, found)?),
            },
            bootstrap: form.bootstrap,
            functional: form.functional,
            rotate_any: form.rotate_any,
            rotations: rotations.into_iter().collect(),
            sums: form.sums.map(|most| most as usize),
            tables: tables
                .iter()
                .map(|&(rows, columns)| (rows as usize, columns as usize))
                .collect(),
            keys: KeyLevels::from_form(params.ckks(), form.keys)?,
            allowed_ntru: false,
            allowed_ranks: false,
        };
        // Step 2: the parameters must serve them, as for needs that a program states.
        keys::key_spec(params, &needs)?;
        Ok(needs)
    }
}

/// The number of an item in bytes.
fn number<T: PartialEq>(items: &[T], item: &T) -> u32 {
    1 + items.iter().position(|other| other == item).expect("every item is listed") as u32
}

/// The item of a number in bytes.
fn numbered<T: Copy>(items: &[T], number: u32) -> Result<T> {
    let item = (number as usize).checked_sub(1).and_then(|place| items.get(place).copied());
    item.ok_or_else(|| error::malformed(Needs::NAME, format!("unknown number {number}")))
}
