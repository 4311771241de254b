//! A budget of statistical distance for all private answers about one table.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;

use super::privacy::CircuitPrivacy;
use crate::error;

/// `log2` of the smallest distance of a budget: below it, floating-point rounding would matter.
const SMALLEST: f64 = -100.0;

/// The statistical distance that all answers about one table may add up to.
///
/// Each answer of [`Server::evaluate_private`](super::Server::evaluate_private) and
/// [`Server::evaluate_shuffled`](super::Server::evaluate_shuffled) is within a distance
/// ([`CircuitPrivacy::log2_distance`]) of one that depends only on the values at the points of the
/// query. Distances of several answers add up, even if later queries depend on earlier answers. A
/// budget refuses an answer that would make their sum exceed its total.
///
/// Use one budget for each table, for the answers to all clients that may compare them, and keep it
/// as long as the table must stay private. A second budget for the same table adds its distance to
/// that of the first. A program that may stop stores [`log2_spent`](Self::log2_spent) before it
/// sends an answer, and continues with [`resume`](Self::resume).
///
/// ```
/// use bellerophon_pir::bfv::{Params, ParamsSpec};
/// use bellerophon_pir::{PrivacyBudget, QueryLayout, Shape, circuit_privacy};
///
/// # fn main() -> bellerophon_pir::Result<()> {
/// let params = Params::new(ParamsSpec::flooding(257)?)?;
/// let shape = Shape::new(&params, QueryLayout::Compact, &[1 << 16], 1000)?;
/// let each = circuit_privacy(&params, &shape)?;
/// let budget = PrivacyBudget::new(-40.0)?;
/// assert!(budget.answers(&each) > 900);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, PartialEq)]
pub struct PrivacyBudget {
    /// `log2` of the distance of all answers together. Without it nothing is promised.
    log2_total: Option<f64>,
    /// The sum of the distances of the answers so far.
    spent: f64,
}

impl PrivacyBudget {
    /// A budget for a statistical distance of `2^log2_distance` over all answers, with
    /// `log2_distance` from -100 to below 0.
    pub fn new(log2_distance: f64) -> Result<Self> {
        if !(SMALLEST..0.0).contains(&log2_distance) {
            let what = "log2 of the distance";
            let needed = "-100 to below 0, or PrivacyBudget::unstated() for no promise";
            return Err(error::value(what, log2_distance.to_string(), needed));
        }
        Ok(Self { log2_total: Some(log2_distance), spent: 0.0 })
    }

    /// A budget that promises nothing and refuses nothing: answers are re-randomised and flooded as
    /// far as the parameters allow, without a bound on what they reveal.
    pub fn unstated() -> Self {
        Self { log2_total: None, spent: 0.0 }
    }

    /// The budget of [`new`](Self::new) after answers with a total distance of `2^log2_spent`;
    /// minus infinity stands for no answers.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if more is spent than the whole budget.
    pub fn resume(log2_distance: f64, log2_spent: f64) -> Result<Self> {
        let budget = Self::new(log2_distance)?;
        if log2_spent.is_nan() || log2_spent > log2_distance {
            let what = "log2 of what is spent";
            let needed = "at most log2 of the whole budget";
            return Err(error::value(what, log2_spent.to_string(), needed));
        }
        Ok(Self { spent: log2_spent.exp2(), ..budget })
    }

    /// `log2` of the total distance of the budget; `None` if nothing is promised.
    pub fn log2_distance(&self) -> Option<f64> {
        self.log2_total
    }

    /// `log2` of the total distance of the answers so far, at most 0; minus infinity before the
    /// first.
    pub fn log2_spent(&self) -> f64 {
        self.spent.log2().min(0.0)
    }

    /// How many more answers with this distance fit the budget; `u64::MAX` if nothing is promised.
    pub fn answers(&self, privacy: &CircuitPrivacy) -> u64 {
        let Some(total) = self.log2_total else { return u64::MAX };
        ((total.exp2() - self.spent) / privacy.log2_distance.exp2()).floor() as u64
    }

    /// Refuses an answer that does not fit the rest of the budget.
    pub(crate) fn check(&self, privacy: &CircuitPrivacy) -> Result<()> {
        let Some(total) = self.log2_total else { return Ok(()) };
        // First whether any budget of this size can hold the answer, then whether the rest of it
        // can.
        let found = privacy.log2_distance;
        if found > total {
            return Err(error::circuit_privacy(found, total));
        }
        if self.spent + found.exp2() > total.exp2() {
            return Err(error::privacy_spent(found, self.log2_spent(), total));
        }
        Ok(())
    }

    /// Counts an answer that passed [`check`](Self::check).
    pub(crate) fn spend(&mut self, privacy: &CircuitPrivacy) {
        self.spent += privacy.log2_distance.exp2();
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::error::refusal;

    fn answer(log2_distance: f64) -> CircuitPrivacy {
        CircuitPrivacy { flood_bits: 80, log2_distance, variance: 1.0 }
    }

    #[test]
    fn distances_add_up_to_the_budget_and_no_further() {
        let mut budget = PrivacyBudget::new(-40.0).unwrap();
        assert_eq!((budget.log2_spent(), budget.answers(&answer(-43.0))), (f64::NEG_INFINITY, 8));
        for count in 1..=7u32 {
            budget.check(&answer(-43.0)).unwrap();
            budget.spend(&answer(-43.0));
            assert!((budget.log2_spent() - (f64::from(count).log2() - 43.0)).abs() < 1e-12);
        }
        // One of these is left, none that is twice as far, and one that alone is beyond the whole.
        assert_eq!((budget.answers(&answer(-43.0)), budget.answers(&answer(-42.0))), (1, 0));
        let refused = budget.check(&answer(-42.0)).unwrap_err();
        assert!(
            refused.is(&ErrorKind::Budget, "use a new table, or state a larger distance"),
            "{refused}"
        );
        let refused = budget.check(&answer(-39.0)).unwrap_err();
        assert!(refused.is(&ErrorKind::Noise, "is required: use"), "{refused}");
        budget.spend(&answer(-43.0));
        assert_eq!((budget.log2_spent(), budget.answers(&answer(-60.0))), (-40.0, 0));
        assert!(budget.check(&answer(-60.0)).is_err());
        let resumed = PrivacyBudget::resume(-40.0, budget.log2_spent()).unwrap();
        assert_eq!(resumed, budget);
        assert_eq!(
            PrivacyBudget::resume(-40.0, f64::NEG_INFINITY).unwrap(),
            PrivacyBudget::new(-40.0).unwrap()
        );
    }

    #[test]
    fn budgets_without_a_meaning_are_refused() {
        for distance in [0.0, 1.0, -101.0, f64::NAN, f64::NEG_INFINITY] {
            assert!(
                refusal(&PrivacyBudget::new(distance))
                    .is(&ErrorKind::Argument, "is not supported: need")
            );
        }
        for spent in [-39.9, f64::NAN, f64::INFINITY] {
            assert!(
                refusal(&PrivacyBudget::resume(-40.0, spent))
                    .is(&ErrorKind::Argument, "is not supported: need")
            );
        }
        let mut unstated = PrivacyBudget::unstated();
        unstated.check(&answer(0.0)).unwrap();
        unstated.spend(&answer(0.0));
        unstated.spend(&answer(0.0));
        assert_eq!((unstated.log2_distance(), unstated.log2_spent()), (None, 0.0));
        assert_eq!(unstated.answers(&answer(0.0)), u64::MAX);
    }
}
