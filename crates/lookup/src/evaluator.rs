//! The server of look-ups: its keys, and a look-up of a vector from end to end.

use bellerophon_circuits::CircuitOps;
use bellerophon_ckks::vectors::Vectors;
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use std::{borrow::Cow, fmt, ops::RangeInclusive};

use bellerophon_circuits::dft::SlotsToCoeffs;
use bellerophon_ckks as ckks;
use bellerophon_ckks::Ciphertext;
use bellerophon_lwe as lwe;
use bellerophon_ring::Result;

use crate::{
    bridge_choice::{Bridge, cheapest},
    counts::Counts,
    domain::{center, check_domain, range_within},
    error,
    flooding::Flood,
    keys::{LutKeys, TableKeys},
    map::{Added, Crossing, Map},
    params::LutParams,
    progress::{Observer, Watch},
    ring_bridge::{bridge::RingBridge, keys::RingBridgeKeys},
    stage::Stage,
};

/// What look-ups of a server work with: parameters, keys and settings, all by reference.
///
/// The operations check that their keys are present and return [`ErrorKind::MissingKey`]
/// otherwise. `op` is the name under which an operation appears in errors.
#[derive(Clone, Copy)]
pub struct LookupEvaluator<'a> {
    /// The evaluator of the slots.
    pub arithmetic: &'a ckks::Evaluator,
    /// The parameters.
    pub lookups: &'a LutParams,
    /// The keys of the tables and of the bridges.
    pub keys: &'a LutKeys,
    /// SlotsToCoeffs with encoded matrices ([`LutParams::encoded_to_coefficients`]).
    pub slots_to_coeffs: Option<&'a SlotsToCoeffs>,
    /// The bridge of plain look-ups.
    pub bridge: Option<Bridge>,
    /// The progress callback.
    pub watch: Option<&'a Watch>,
    /// Operations that can fail are counted here.
    pub counts: &'a Counts,
}

impl<'a> LookupEvaluator<'a> {
    /// Applies a function to every value by a table over `domain` (PEGASUS, Fig. 6), with noise
    /// flooding before the switch to LWE if `flood` is given. `f` is called only on the carried
    /// range of `x`; outside that range the table continues it by its value at the nearer end.
    ///
    /// # Errors
    /// [`ErrorKind::NotFinite`] names the argument at which `f` is not finite.
    pub(crate) fn map(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: &dyn Fn(f64) -> f64,
        flood: Option<&mut Flood<'_>>,
    ) -> Result<Ciphertext> {
        let lookups = self.lookups;
        let (tables, s2c) = (self.table_keys()?, self.slots_to_coeffs(flood.is_some())?);
        let (bridge, crossing) = self.crossing(x.len())?;

        // Step 1: the layout of the domain in the table. Refusals happen here, before any work,
        // except that of an operand whose own error leaves the domain: `Map::fitted`, after S2C.
        check_domain(&domain)?;
        let deviation = match &flood {
            Some(flood) => {
                flood.check(lookups.slots(), x)?;
                Some(flood.deviation(s2c, center(&domain))?)
            }
            None => None,
        };
        let map = Map::planned(lookups, &tables.lwe_params, bridge, &domain, deviation)?;
        let range = range_within(x.range(), &domain)?;
        let inside = |t: f64| f(t.clamp(*range.start(), *range.end()));
        let table = map.entry_encoding(&inside)?;
        let x = &*self.entering(x, lookups.levels(), flood.is_some())?;
        let flood = flood.zip(deviation);
        // Step 2: SlotsToCoeffs, so that the domain fills the table (Fig. 6, step 1).
        let (len, observer) = (x.len(), self.observer());
        observer.tell(Stage::SlotsToCoefficients, 0, len)?;
        let coeffs = map.slots_to_coeffs(self.arithmetic, s2c, x, flood)?;
        observer.tell(Stage::SlotsToCoefficients, len, len)?;
        // Step 3: extraction, key switch and blind rotation of every value (Fig. 6, steps 2 to 7).
        self.counts.looked_up(len);
        let values = map.look_up(tables, &crossing, &coeffs, &table, &inside, &observer)?;
        // Step 4: ring packing and reduction modulo q0 (Fig. 6, steps 8 to 10).
        observer.tell(Stage::Repacking, 0, len)?;
        self.counts.packed(len);
        let index = coeffs.grid().error(&range, f);
        let error = Added { noise: map.output_std(&table, len), index };
        let result = map.lwe_to_slots(self.arithmetic, &crossing, &values, &table, error)?;
        observer.tell(Stage::Repacking, len, len)?;
        // Two look-ups of one vector have the same errors of the index.
        Ok(result.of(x.origins().clone()))
    }

    /// The evaluator of tables and of functions of several LWE values. It reports to the progress
    /// callback.
    pub fn tables(&self) -> Result<lwe::Evaluator<'a>> {
        let keys = self.table_keys()?;
        let tables = lwe::Evaluator::new(&keys.lwe_params, &keys.lookup);
        let tables = tables.with_failure(self.lookups.log2_table_failure())?;
        let tables = tables.counted(&self.counts.indices);
        Ok(match self.watch {
            Some(watch) => tables.observed(&*watch.look_ups),
            None => tables,
        })
    }

    /// The keys of the tables.
    pub(crate) fn table_keys(&self) -> Result<&'a TableKeys> {
        self.keys.tables.as_deref().ok_or_else(|| error::missing_keys("map"))
    }

    /// The bridge for `count` values, and its keys.
    pub(crate) fn crossing(&self, count: usize) -> Result<(Bridge, Crossing<'a>)> {
        // Only bridges whose keys are present.
        let ring = self.lookups.ring().zip(self.keys.ring.as_deref());
        // A bridge that was asked for is not replaced by another one.
        let bridge = match self.bridge {
            None => cheapest(count, ring.is_some(), self.keys.linear.is_some()),
            asked => Some(self.lookups.bridge(asked)?),
        };
        match (bridge, ring, self.keys.linear.as_deref()) {
            (Some(Bridge::Ring), Some((ring, keys)), _) => {
                Ok((Bridge::Ring, Crossing::Ring(ring, keys)))
            }
            (Some(Bridge::Linear), _, Some(keys)) => Ok((Bridge::Linear, Crossing::Linear(keys))),
            // No bridge has keys.
            (None, ..) => Err(error::missing_keys("map")),
            // There are keys, but not those of the bridge that was asked for.
            _ => Err(error::missing_keys("bridge")),
        }
    }

    /// The ring bridge and its keys.
    pub(super) fn ring_bridge(&self) -> Result<(&'a RingBridge, &'a RingBridgeKeys)> {
        let ring = self.lookups.ring().ok_or_else(error::no_ring_bridge)?;
        // The program may have asked for the keys of the linear bridge only.
        let need = if self.keys.linear.is_some() { "bridge" } else { "map" };
        Ok((ring, self.keys.ring.as_deref().ok_or_else(|| error::missing_keys(need))?))
    }

    /// The operand with the levels that SlotsToCoeffs needs, bootstrapped if the evaluator does so
    /// automatically. An operand to be flooded is never bootstrapped: its noise bound holds for its
    /// own level.
    pub(super) fn entering<'x>(
        &self,
        x: &'x Ciphertext,
        needed: usize,
        flooded: bool,
    ) -> Result<Cow<'x, Ciphertext>> {
        let left = x.level();
        if left >= needed {
            return Ok(Cow::Borrowed(x));
        }
        if self.arithmetic.refreshes().is_some() && !flooded {
            return Ok(Cow::Owned(self.arithmetic.bootstrap(x)?));
        }
        Err(ckks::error::out_of_levels(needed, left))
    }

    /// The SlotsToCoeffs transform of a look-up, at a larger output scale for flooded values.
    pub(super) fn slots_to_coeffs(&self, flooded: bool) -> Result<&'a SlotsToCoeffs> {
        let plain = self.slots_to_coeffs.ok_or_else(|| error::missing_keys("map"))?;
        match flooded {
            true => self.lookups.flooded_to_coefficients(),
            false => Ok(plain),
        }
    }

    pub(super) fn observer(&self) -> Observer<'a> {
        Observer::new(self.watch)
    }
}

impl fmt::Debug for LookupEvaluator<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LookupEvaluator")
            .field("tables", &self.keys.tables.is_some())
            .field("ring_bridge", &self.keys.ring.is_some())
            .field("linear_bridge", &self.keys.linear.is_some())
            .field("bridge", &self.bridge)
            .finish_non_exhaustive()
    }
}
