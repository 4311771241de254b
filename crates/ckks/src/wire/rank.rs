//! Byte forms of the keys of rank reduction and of conversions of rings.
//!
//! Keys that lead from one parameter set to another are read with both sets.

use bellerophon_mlwe::{
    self as mlwe, RankReduceKey, RingConversion, RingSwitchKeys,
    wire::{self as lattice, Ends},
};
use bellerophon_ring::{Result, wire::List, wire_form};

use super::{EvaluationKeysForm, kind};
use crate::params::Params;
use crate::rank::{RankConversion, RankReduction, ReducingKeys, RingSwitch};

/// The largest number of ranks of [`ReducingKeys`]: each has half the rank of the one before.
const MOST_RANKS: usize = 32;

/// The lattices of two parameter sets.
fn lattices((from, to): &Ends<Params>) -> Ends<mlwe::Params> {
    (from.lattice().clone(), to.lattice().clone())
}

wire_form! {
    // Read with the larger rank and the smaller one.
    for RankReduction: kind::RANK_REDUCTION, "a rank reduction" as lattice::KeySwitchKeyForm<'a>;
    fn write(&self, (from, to): &Ends<Params>) {
        self.check_params(from, to)?;
        self.key().to_form(to.lattice())
    }
    fn read((from, to), form) {
        Self::from_parts(from, to, RankReduceKey::from_form(to.lattice(), form)?)
    }
}

wire_form! {
    // Read with the parameters of the large ring and of the small one.
    for RankConversion: kind::RANK_CONVERSION, "a rank conversion"
        as lattice::RingConversionForm<'a>;
    fn write(&self, params: &Ends<Params>) {
        self.rings().to_form(&lattices(params))
    }
    fn read(params, form) {
        let rings = RingConversion::from_form(&lattices(params), form)?;
        Ok(Self::from_parts(&params.0, &params.1, rings))
    }
}

wire_form! {
    // Read with the parameters of the source and of the target.
    for RingSwitch: kind::RING_SWITCH, "a ring switch" as lattice::RingSwitchKeysForm<'a>;
    fn write(&self, params: &Ends<Params>) {
        self.keys().to_form(&lattices(params))
    }
    fn read(params, form) {
        let keys = RingSwitchKeys::from_form(&lattices(params), form)?;
        Self::from_parts(&params.0, &params.1, keys)
    }
}

wire_form! {
    /// The plain form of [`ReducingKeys`].
    ///
    /// Read with the parameters of the largest rank; those of the others follow
    /// ([`Params::ranks`]).
    pub struct ReducingKeysForm<'a> for ReducingKeys: kind::REDUCING_KEYS, "keys of all ranks" {
        /// The keys of every rank, the largest first.
        ranks: List<EvaluationKeysForm<'a>, MOST_RANKS> = List(ranks.collect::<Result<_>>()?),
        /// The keys from each rank to the next.
        reductions: List<lattice::KeySwitchKeyForm<'a>, MOST_RANKS> =
            List(reductions.collect::<mlwe::Result<_>>()?),
    }
    fn write(&self, params: &Params) {
        self.check_params(params)?;
        let ranks = self.ranks().map(|(params, keys)| EvaluationKeysForm::new(params, keys));
        let reductions = self.reductions().map(|step| step.key().to_form(step.to().lattice()));
    }
    fn read(params, form) {
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
