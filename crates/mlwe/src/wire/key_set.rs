//! Serialized forms of several Galois keys and of the keys of hoisted rotations.

use bellerophon_ring::{
    Result,
    wire::{List, Wire},
    wire_form,
};
use serde::{Deserialize, Serialize};

use super::{GaloisKeyForm, KeySwitchKeyForm, ParamsForm, kind};
use crate::dpad::RankHoistedKeys;
use crate::error;
use crate::galois::{GaloisKey, GaloisKeys};
use crate::params::Params;
use crate::rank_reduction::RankReduceKey;

/// The largest number of Galois keys in one form.
const MOST_KEYS: usize = 4096;

/// The largest ratio of the temporary rank of hoisted rotations to the rank.
const MOST_RAISED: usize = 2;

/// The plain form of [`GaloisKeys`]: each exponent once, in increasing order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GaloisKeysForm<'a>(#[serde(borrow)] List<GaloisKeyForm<'a>, MOST_KEYS>);

impl GaloisKeysForm<'_> {
    /// The form of keys of these parameters. Keys that stay in a file are loaded one by one.
    pub fn new(params: &Params, keys: &GaloisKeys) -> Result<GaloisKeysForm<'static>> {
        let forms = keys.exponents().map(|exponent| {
            let key = KeySwitchKeyForm::new(params, keys.get(exponent)?.key())?;
            Ok(GaloisKeyForm { exponent: exponent as u32, key })
        });
        Ok(GaloisKeysForm(List(forms.collect::<Result<_>>()?)))
    }

    /// Exponent and limbs of each key, known before any mask is expanded.
    pub fn rotations(&self) -> impl Iterator<Item = (usize, usize)> {
        self.0.0.iter().map(|form| (form.exponent as usize, form.key.limbs as usize))
    }

    /// The keys, each checked against the parameters.
    pub fn into_keys(self, params: &Params) -> Result<GaloisKeys> {
        let forms = self.0.0;
        // A second key of one exponent would be ignored.
        if !forms.is_sorted_by(|one, next| one.exponent < next.exponent) {
            return Err(error::parameter(
                "list of Galois keys",
                "exponents that do not increase".into(),
                "each exponent once, in increasing order".into(),
            ));
        }
        let mut keys = GaloisKeys::default();
        for form in forms {
            keys.insert(GaloisKey::from_form(params, form)?);
        }
        Ok(keys)
    }
}

/// The rank-reduction key from the temporary rank of hoisted rotations, with the parameters of that
/// rank. The Galois keys of that rank are read with these parameters.
#[derive(Debug, Clone)]
pub struct HoistedKey {
    /// The parameters of the temporary rank.
    pub raised: Params,
    /// The key back to the rank.
    pub down: RankReduceKey,
}

impl HoistedKeyForm<'static> {
    /// The form of the key and the parameters of `keys`, which lead back to `params`.
    pub fn new(params: &Params, keys: &RankHoistedKeys) -> Result<Self> {
        let down = KeySwitchKeyForm::new(params, keys.down().key())?;
        Ok(Self { raised: keys.raised().spec().into(), down })
    }
}

wire_form! {
    /// The plain form of a [`HoistedKey`].
    pub struct HoistedKeyForm<'a> for HoistedKey: kind::HOISTED_KEY, "key of hoisted rotations" {
        raised: ParamsForm = self.raised.spec().into(),
        down: KeySwitchKeyForm<'a> = KeySwitchKeyForm::new(params, self.down.key())?,
    }
    fn write(&self, params: &Params) {}
    fn read(params, form) {
        let down = RankReduceKey::from_form(params, form.down)?;
        // Bounds the memory: the NTT tables of another ring could be arbitrarily large.
        let spec = form.raised.into_spec(params.spec().security)?;
        let ranks = params.rank() + 1..=MOST_RAISED * params.rank();
        let own = (spec.degree, &spec.q) == (params.degree(), &params.spec().q);
        if !own || !ranks.contains(&spec.rank) {
            let (degree, rank) = (spec.degree, spec.rank);
            let found = format!("degree {degree}, rank {rank}, {} primes", spec.q.len());
            let needed = format!("the degree and primes of the slots, and a rank in {ranks:?}");
            return Err(error::parameter("parameters of hoisted rotations", found, needed));
        }
        Ok(Self { raised: Params::new(spec)?, down })
    }
}
