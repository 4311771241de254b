//! The work of a bootstrap, by stages.

use bellerophon_ckks::cost::{Count, Prices, Steps, Work};

use super::{BootstrapStage, Bootstrapper};

/// Bytes that one thread reads from memory in a second: an assumption, for comparison with the
/// times of transforms and products only. No prediction of time counts it.
const READ: f64 = 42e9;

/// The counted work of one stage of a bootstrap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StageWork {
    /// The stage.
    pub stage: BootstrapStage,
    /// Transforms and multiplications.
    pub work: Work,
    /// Residue polynomials that basis conversions write.
    pub conversions: f64,
    /// Bytes of the keys in memory that are read, once for every key switch.
    pub key_bytes: f64,
}

impl StageWork {
    /// Seconds on one thread at [`Prices::SERVER`] of the transforms, of the multiplications with
    /// their loads and stores, and of one reading of the keys from memory.
    pub fn parts(&self) -> [(&'static str, f64); 3] {
        let Prices { step, multiplication } = Prices::SERVER;
        let transforms = self.work.seconds_at(&Prices { step, multiplication: 0.0 });
        let products = self.work.seconds_at(&Prices { step: 0.0, multiplication });
        [("transforms", transforms), ("products", products), ("keys", self.key_bytes / READ)]
    }

    /// The stages of a bootstrap of real numbers (one part of the slots) or complex numbers (two).
    pub fn of_bootstrap(bootstrapper: &Bootstrapper, parts: usize) -> Vec<Self> {
        let (raising, mod1) = (bootstrapper.raising(), bootstrapper.reduction());
        let stage = |stage, counted: &dyn Fn(&mut Count<'_>)| {
            let mut count = Count::new(bootstrapper.params());
            counted(&mut count);
            let Steps { conversions, key_bytes, .. } = count.steps();
            Self { stage, conversions, key_bytes, work: count.work() }
        };
        let eval_mod = |count: &mut Count<'_>| {
            (0..parts).for_each(|_| mod1.count(bootstrapper.reduction_level(), count));
        };
        vec![
            stage(BootstrapStage::SlotsToCoefficients, &|count| {
                raising.count_slots_to_coeffs(count)
            }),
            stage(BootstrapStage::Raise, &|count| raising.count_raise(count)),
            stage(BootstrapStage::CoefficientsToSlots, &|count| {
                raising.count_coeffs_to_slots(count)
            }),
            stage(BootstrapStage::EvalMod, &eval_mod),
        ]
    }
}

impl Bootstrapper {
    /// Counts a bootstrap of one part of the slots (real values) or of two.
    pub(crate) fn count(&self, parts: usize, count: &mut Count<'_>) {
        self.raising().count(count);
        (0..parts).for_each(|_| self.reduction().count(self.reduction_level(), count));
    }

    pub(crate) fn work(&self, parts: usize) -> Work {
        let mut count = Count::new(self.params());
        self.count(parts, &mut count);
        count.work()
    }
}
