//! Front of `lookup/ordering.rs`: functions of several values on slots.

use std::ops::RangeInclusive;

use bellerophon_lookup as lookup;

use crate::evaluator::Evaluator;

/// Functions of the values of one vector, or slotwise functions of several vectors, on a domain:
/// from [`Evaluator::within`].
pub type OrderOps<'a> = lookup::OrderOps<'a, Evaluator>;

impl Evaluator {
    /// Functions of several values that lie in a domain: maximum and minimum, argmax, comparison,
    /// sorting, pooling.
    ///
    /// ```
    /// use bellerophon::{SortOrder, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// let client = ClientKey::generate(&Params::preset(Preset::Insecure(Toy::Functions))?)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().map())?)?;
    /// let within = server.within(-1.0..=1.0);
    /// let x = client.encrypt(&[0.5, -0.75, 0.0, 0.875], -1.0..=1.0)?;
    /// let sorted = client.decrypt(&within.sort(&x, SortOrder::Ascending)?)?;
    /// # for (found, expected) in sorted.iter().zip([-0.75, 0.0, 0.5, 0.875]) {
    /// #     assert!((found - expected).abs() < 0.1, "{sorted:?}");
    /// # }
    /// let y = client.encrypt(&[0.0, 0.5, 0.5, -0.5], -1.0..=1.0)?;
    /// let larger = client.decrypt(&within.max(&[&x, &y])?)?; // 0.5, 0.5, 0.5, 0.875
    /// # for (found, expected) in larger.iter().zip([0.5, 0.5, 0.5, 0.875]) {
    /// #     assert!((found - expected).abs() < 0.1, "{larger:?}");
    /// # }
    /// # Ok(())
    /// # }
    /// ```
    pub fn within(&self, domain: RangeInclusive<f64>) -> OrderOps<'_> {
        OrderOps::new(self, domain)
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_lookup::{Engine, distinguishable, most_indices};

    use crate::params::Params;
    use crate::preset::{Preset, Toy};

    /// The table in the documentation of [`OrderOps::argmax_index`].
    #[test]
    fn the_most_places_are_those_of_the_table() {
        use Preset::{Functions, FunctionsFine, FunctionsPrecise, Insecure};
        let expected = [
            (Functions, [Some(460), Some(118), Some(4096)]),
            (FunctionsFine, [Some(642), Some(95), Some(4095)]),
            (FunctionsPrecise, [None, Some(76), Some(4095)]),
            (Insecure(Toy::Functions), [Some(1426), Some(446), Some(4096)]),
        ];
        for (preset, expected) in expected {
            let params = Params::preset(preset).unwrap();
            let lookups = params.lookups().unwrap();
            let failure = lookups.spec().log2_failure - 1.0;
            let sets =
                [lookups.on(Engine::Ntru), lookups.on(Engine::Rgsw), lookups.on(Engine::Corrected)];
            let most = sets
                .each_ref()
                .map(|set| set.as_ref().ok().map(|set| most_indices(set, failure, 1 << 16)));
            assert_eq!(most, expected, "{preset:?}");
            for set in sets.into_iter().flatten() {
                assert!(
                    distinguishable(set, failure, 1) && !distinguishable(set, failure, 1 << 13)
                );
            }
        }
    }
}
