//! The prices of counted work.

use bellerophon_ckks::cost::{Prices, Work};
use bellerophon_lwe as lwe;
use bellerophon_ring::Result;
use serde::{Deserialize, Serialize};

use crate::{engine::Engine, error};

/// The prices of counted work, in seconds on one thread, and its scaling with threads.
///
/// [`SERVER`](Self::SERVER) is fixed, so plans made with it are the same on every machine.
/// [`calibrate`](Self::calibrate) measures kernels on this machine and returns another model; it
/// writes nothing. A model is plain numbers and serialises with serde.
///
/// Predicted times for the machine of the model are meant to be right within a factor of 2.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CostModel {
    /// The version of the model: [`VERSION`](Self::VERSION).
    pub version: u32,
    /// One of the `N log2 N` steps of an NTT of one limb, in operations on vectors.
    pub step: f64,
    /// One multiplication modulo a prime with its share of loads and stores, in operations on
    /// vectors.
    pub multiplication: f64,
    /// One of the `n' log2 n'` steps of a transform in a blind rotation with RGSW, with its share
    /// of products.
    pub rgsw_step: f64,
    /// The same with NTRU.
    pub ntru_step: f64,
    /// One residue of the key in a key switch of LWE values.
    pub lwe_word: f64,
    /// The serial part of the work on vectors.
    pub vector_serial: f64,
    /// The serial part of the work of look-ups, which are parallel over the values.
    pub table_serial: f64,
}

impl CostModel {
    /// The model version of this version of the library.
    pub const VERSION: u32 = 1;

    /// An idle core of an AMD EPYC with AVX-512 IFMA (Zen 5). On it a blind rotation of dimension
    /// 1024 with tables of degree 4096 takes 11 ms, and a table of 256 entries on 65536 values 3.1
    /// s. CPUs without IFMA take several times as long, by a factor that differs between prices:
    /// use [`calibrate`](Self::calibrate) there.
    pub const SERVER: Self = Self {
        version: Self::VERSION,
        step: 0.06e-9,
        multiplication: 0.26e-9,
        rgsw_step: 0.036e-9,
        ntru_step: 0.034e-9,
        lwe_word: 0.5e-9,
        vector_serial: 0.2,
        table_serial: 0.03,
    };

    /// Refuses models of another version, and invalid prices.
    pub(crate) fn check(&self) -> Result<()> {
        let prices =
            [self.step, self.multiplication, self.rgsw_step, self.ntru_step, self.lwe_word];
        let shares = [self.vector_serial, self.table_serial];
        let sensible = prices.iter().all(|p| p.is_finite() && *p > 0.0)
            && shares.iter().all(|s| (0.0..=1.0).contains(s));
        match self.version == Self::VERSION && sensible {
            true => Ok(()),
            false => Err(error::cost_model(self.version, Self::VERSION)),
        }
    }

    /// The time of work on vectors, in seconds.
    pub fn vectors(&self, work: &Work, threads: usize) -> f64 {
        let prices = Prices { step: self.step, multiplication: self.multiplication };
        work.seconds_at(&prices) * shared(self.vector_serial, threads)
    }

    /// The time of `count` blind rotations, in seconds. Each follows the key switch of an LWE value
    /// of `source` coordinates.
    pub fn rotations(
        &self,
        tables: &lwe::Params,
        source: usize,
        count: usize,
        threads: usize,
    ) -> f64 {
        // Each value takes the transforms of a blind rotation, and the key words of the key switch.
        let step = match Engine::of(tables) {
            Engine::Ntru => self.ntru_step,
            _ => self.rgsw_step,
        };
        let rotation = Self::steps(tables) * step;
        let words = source as f64 * tables.key_switch_gadget().digits() as f64;
        let each = rotation + words * self.lwe_word;
        // The work is parallel over the values.
        count as f64 * each * shared(self.table_serial, threads.min(count))
    }

    /// The number of transform steps in a blind rotation.
    pub(super) fn steps(tables: &lwe::Params) -> f64 {
        let degree = tables.spec().ring_degree as f64;
        tables.transforms() * degree * degree.log2()
    }
}

/// The default is [`CostModel::SERVER`].
impl Default for CostModel {
    fn default() -> Self {
        Self::SERVER
    }
}

/// Amdahl's law: the time on `threads` threads relative to one thread.
fn shared(serial: f64, threads: usize) -> f64 {
    serial + (1.0 - serial) / threads.max(1) as f64
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::{ErrorKind, refusal};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::toy;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]

        /// More values take longer, and more threads do not, whatever share runs in parallel. No
        /// more threads work than there are values.
        #[test]
        fn rotations_grow_with_the_count(table_serial in 0.0..=1.0, threads in 1usize..=64) {
            let model = CostModel { table_serial, ..CostModel::default() };
            let tables = toy();
            let time = |count, threads| model.rotations(tables.lwe_params(), 1024, count, threads);
            for count in 1..300 {
                let (own, more) = (time(count, threads), time(count + 1, threads));
                prop_assert!(own > 0.0 && more >= own * (1.0 - 1e-12), "{count}: {own}, {more}");
                prop_assert!(time(2 * threads * count, threads) > time(threads * count, threads));
                prop_assert!(time(count, threads + 1) <= own * (1.0 + 1e-12));
                // A value is the work of one thread.
                prop_assert_eq!(time(count, count + threads), time(count, count));
            }
        }
    }

    #[test]
    fn threads_shorten_and_the_version_counts() {
        let work = Work { degree: 1 << 15, transforms: 119.0, multiplications: 600.0, width: 1.0 };
        let model = CostModel::default();
        let times: Vec<f64> = (0..9).map(|threads| model.vectors(&work, threads)).collect();
        assert_eq!(times[0], times[1]);
        assert!(times[1..].windows(2).all(|pair| pair[1] < pair[0]), "{times:?}");
        assert!((0.005..0.1).contains(&times[1]), "{times:?}");
        model.check().unwrap();
        for bad in [
            CostModel { version: 0, ..model },
            CostModel { step: 0.0, ..model },
            CostModel { lwe_word: f64::NAN, ..model },
            CostModel { table_serial: 1.5, ..model },
        ] {
            assert!(
                refusal(&bad.check())
                    .is(&ErrorKind::Argument, "positive prices and shares from 0 to 1"),
                "{bad:?}"
            );
        }
    }
}
