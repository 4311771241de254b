//! Byte forms of the keys of rank reduction, conversions of rings, and bootstrapping at a rank.
//!
//! Keys that lead from one parameter set to another are read with both sets.

use std::sync::Arc;

use bellerophon_mlwe::{RankReduceKey, RingConversion, RingSwitchKeys, wire as lattice};
use bellerophon_ring::wire::{List, Wire};
use serde::{Deserialize, Serialize};

use super::{BootstrapKeysForm, EvaluationKeysForm, kind};
use crate::{
    Error, Params, RankBootstrap, RankConversion, RankReduction, ReducingKeys, Result, RingSwitch,
    bootstrap::{BootstrapKeys, Bootstrapper},
};

/// The largest number of ranks of [`ReducingKeys`]: each has half the rank of the one before.
const MOST_RANKS: usize = 32;

/// The lattices of two parameter sets.
fn lattices((from, to): &(Params, Params)) -> (bellerophon_mlwe::Params, bellerophon_mlwe::Params) {
    (from.lattice().clone(), to.lattice().clone())
}

/// Read with the larger rank and the smaller one.
impl Wire for RankReduction {
    const KIND: u16 = kind::RANK_REDUCTION;
    const NAME: &'static str = "a rank reduction";
    type Params = (Params, Params);
    type Form<'a> = lattice::KeySwitchKeyForm<'a>;
    type Error = Error;

    fn to_form(&self, (from, to): &(Params, Params)) -> Result<lattice::KeySwitchKeyForm<'_>> {
        self.check_params(from, to)?;
        Ok(self.key().to_form(to.lattice())?)
    }

    fn from_form((from, to): &(Params, Params), form: lattice::KeySwitchKeyForm) -> Result<Self> {
        Self::from_parts(from, to, RankReduceKey::from_form(to.lattice(), form)?)
    }
}

/// Read with the parameters of the large ring and of the small one.
impl Wire for RankConversion {
    const KIND: u16 = kind::RANK_CONVERSION;
    const NAME: &'static str = "a rank conversion";
    type Params = (Params, Params);
    type Form<'a> = lattice::RingConversionForm<'a>;
    type Error = Error;

    fn to_form(&self, params: &(Params, Params)) -> Result<lattice::RingConversionForm<'_>> {
        Ok(self.rings().to_form(&lattices(params))?)
    }

    fn from_form(params: &(Params, Params), form: lattice::RingConversionForm) -> Result<Self> {
        let rings = RingConversion::from_form(&lattices(params), form)?;
        Ok(Self::from_parts(&params.0, &params.1, rings))
    }
}

/// Read with the parameters of the source and of the target.
impl Wire for RingSwitch {
    const KIND: u16 = kind::RING_SWITCH;
    const NAME: &'static str = "a ring switch";
    type Params = (Params, Params);
    type Form<'a> = lattice::RingSwitchKeysForm<'a>;
    type Error = Error;

    fn to_form(&self, params: &(Params, Params)) -> Result<lattice::RingSwitchKeysForm<'_>> {
        Ok(self.keys().to_form(&lattices(params))?)
    }

    fn from_form(params: &(Params, Params), form: lattice::RingSwitchKeysForm) -> Result<Self> {
        let keys = RingSwitchKeys::from_form(&lattices(params), form)?;
        Self::from_parts(&params.0, &params.1, keys)
    }
}

/// The plain form of a [`RankBootstrap`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankBootstrapForm<'a> {
    #[serde(borrow)]
    rings: lattice::RingConversionForm<'a>,
    #[serde(borrow)]
    keys: EvaluationKeysForm<'a>,
    #[serde(borrow)]
    own: BootstrapKeysForm<'a>,
}

/// Read with the parameters of the vectors and the bootstrapper over the larger ring.
impl Wire for RankBootstrap {
    const KIND: u16 = kind::RANK_BOOTSTRAP;
    const NAME: &'static str = "keys to bootstrap a rank";
    type Params = (Params, Arc<Bootstrapper>);
    type Form<'a> = RankBootstrapForm<'a>;
    type Error = Error;

    fn to_form(&self, (small, bootstrapper): &Self::Params) -> Result<RankBootstrapForm<'_>> {
        let large = bootstrapper.params();
        let (rings, keys, own) = self.parts();
        Ok(RankBootstrapForm {
            rings: rings.to_form(&(large.lattice().clone(), small.lattice().clone()))?,
            keys: EvaluationKeysForm::new(large, keys)?,
            own: own.to_form(bootstrapper.raising())?,
        })
    }

    fn from_form((small, bootstrapper): &Self::Params, form: RankBootstrapForm) -> Result<Self> {
        let large = bootstrapper.params();
        let both = (large.lattice().clone(), small.lattice().clone());
        let rings = RingConversion::from_form(&both, form.rings)?;
        let keys = form.keys.into_keys(large)?;
        let own = BootstrapKeys::from_form(bootstrapper.raising(), form.own)?;
        Self::from_parts(small, bootstrapper.clone(), rings, &keys, own)
    }
}

/// The plain form of [`ReducingKeys`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReducingKeysForm<'a> {
    /// The keys of every rank, the largest first.
    #[serde(borrow)]
    ranks: List<EvaluationKeysForm<'a>, MOST_RANKS>,
    /// The keys from each rank to the next.
    #[serde(borrow)]
    reductions: List<lattice::KeySwitchKeyForm<'a>, MOST_RANKS>,
}

/// Read with the parameters of the largest rank; those of the others follow ([`Params::ranks`]).
impl Wire for ReducingKeys {
    const KIND: u16 = kind::REDUCING_KEYS;
    const NAME: &'static str = "keys of all ranks";
    type Params = Params;
    type Form<'a> = ReducingKeysForm<'a>;
    type Error = Error;

    fn to_form(&self, params: &Params) -> Result<ReducingKeysForm<'_>> {
        self.check_params(params)?;
        let ranks = self.ranks().map(|(params, keys)| EvaluationKeysForm::new(params, keys));
        let reductions = self.reductions().map(|step| step.key().to_form(step.to().lattice()));
        Ok(ReducingKeysForm {
            ranks: List(ranks.collect::<Result<_>>()?),
            reductions: List(reductions.collect::<bellerophon_mlwe::Result<_>>()?),
        })
    }

    fn from_form(params: &Params, form: ReducingKeysForm) -> Result<Self> {
        let (sets, ranks, steps) = (params.ranks()?, form.ranks.0, form.reductions.0);
        Self::check_counts(&sets, ranks.len(), steps.len())?;
        // Each set of keys is read at its rank, each reduction at the two ranks that it connects.
        let keys = sets.iter().zip(ranks).map(|(set, form)| form.into_keys(set));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let pairs = sets.windows(2).map(|pair| (pair[0].clone(), pair[1].clone()));
        let steps = pairs.zip(steps).map(|(pair, form)| RankReduction::from_form(&pair, form));
        Self::from_parts(sets.iter().cloned().zip(keys).collect(), steps.collect::<Result<_>>()?)
    }
}
