//! Byte forms of key requests, and of evaluation keys as a part of other keys.

use bellerophon_mlwe::{KeyId, RankHoistedKeys, RelinKeys, wire as lattice};
use bellerophon_ring::{
    Error, Result,
    wire::{List, Wire},
    wire_form,
};
use serde::{Deserialize, Serialize};

use crate::error;
use crate::keys::{EvaluationKeys, KeyLevels};
use crate::params::Params;

/// The largest number of rotations of a request.
const MOST_ROTATIONS: usize = 4096;

/// The plain form of a [`KeyLevels`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyLevelsForm {
    relinearization: Option<u32>,
    conjugation: Option<u32>,
    hoisted: Option<u32>,
    /// Step and level, by increasing step.
    rotations: List<(i64, u32), MOST_ROTATIONS>,
}

wire_form! {
    // The levels must be levels of the parameters.
    for KeyLevels: super::kind::KEY_LEVELS, "a key request" as KeyLevelsForm;
    fn write(&self, params: &Params) {
        self.check(params)?;
        let level = |level: Option<usize>| level.map(|level| level as u32);
        let rotations = self.rotations.iter().map(|(&step, &level)| (step, level as u32));
        Ok(KeyLevelsForm {
            relinearization: level(self.relinearization),
            conjugation: level(self.conjugation),
            hoisted: level(self.hoisted),
            rotations: List(rotations.collect()),
        })
    }
    fn read(params, form) {
        let rotations = form.rotations.0;
        // A second entry of one step would be merged with the first.
        if !rotations.is_sorted_by(|(one, _), (next, _)| one < next) {
            let needed = "each step once, in increasing order".into();
            let found = "steps that do not increase".into();
            return Err(error::key_list(found, needed));
        }
        let mut request = Self::default();
        for (step, level) in rotations {
            request = request.rotate([step], level as usize);
        }
        if let Some(level) = form.relinearization {
            request = request.multiply(level as usize);
        }
        if let Some(level) = form.conjugation {
            request = request.conjugate(level as usize);
        }
        if let Some(level) = form.hoisted {
            request = request.rotate_hoisted(level as usize);
        }
        request.check(params)?;
        Ok(request)
    }
}

/// The plain form of [`EvaluationKeys`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvaluationKeysForm<'a> {
    key: KeyId,
    #[serde(borrow)]
    relinearization: Option<lattice::RelinKeysForm<'a>>,
    #[serde(borrow)]
    galois: lattice::GaloisKeysForm<'a>,
    #[serde(borrow)]
    hoisted: Option<(lattice::HoistedKeyForm<'a>, lattice::GaloisKeysForm<'a>)>,
}

impl<'a> EvaluationKeysForm<'a> {
    /// The form of keys of these parameters.
    pub fn new(params: &Params, keys: &'a EvaluationKeys) -> Result<Self> {
        let lattice = params.lattice();
        let relinearization = keys.relinearization_keys();
        let hoisted = keys.hoisted_keys().map(|keys| {
            let down = lattice::HoistedKeyForm::new(lattice, keys)?;
            Ok::<_, Error>((down, lattice::GaloisKeysForm::new(keys.raised(), keys.galois())?))
        });
        Ok(Self {
            key: keys.secret_id(),
            relinearization: relinearization
                .map(|keys| keys.to_form(params.relin_strategy()))
                .transpose()?,
            galois: lattice::GaloisKeysForm::new(lattice, keys.galois_keys())?,
            hoisted: hoisted.transpose()?,
        })
    }

    /// The keys, each checked against the parameters and the stated secret key.
    pub fn into_keys(self, params: &Params) -> Result<EvaluationKeys> {
        let lattice = params.lattice();
        let mut keys = EvaluationKeys::none(params, self.key);
        if let Some(form) = self.relinearization {
            keys.insert_relinearization(RelinKeys::from_form(params.relin_strategy(), form)?)?;
        }
        for key in self.galois.into_keys(lattice)?.iter() {
            keys.insert_galois(key.clone())?;
        }
        if let Some((form, galois)) = self.hoisted {
            let lattice::HoistedKey { raised, down } =
                lattice::HoistedKey::from_form(lattice, form)?;
            let galois = galois.into_keys(&raised)?;
            keys.insert_hoisted(RankHoistedKeys::from_parts(
                lattice,
                &raised,
                galois,
                Some(down),
            )?)?;
        }
        Ok(keys)
    }
}
