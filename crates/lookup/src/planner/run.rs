//! What a request leads to: its plan, and its evaluation.

use bellerophon_ckks::Ciphertext;
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;

use super::{
    choice::Choice,
    plan::MapPlan,
    predict::Planner,
    prepared::Prepared,
    request::{MapRequest, Wanted, refused},
    subject::{MapServer, PlanSubject},
};
use crate::{error, flooding::Flood, local_poly::Smooth};

impl<P: PlanSubject> Planner<'_, P> {
    /// Predicts cost and error of every engine. An engine that does not qualify is not an error:
    /// its row gives the reason. Where only tables can serve the request
    /// ([`MapRequest::engines`](super::MapRequest::engines)), the plan is that of the tables.
    ///
    /// # Errors
    /// An engine that does not qualify is no error, unless the request takes tables alone: then
    /// [`ErrorKind::Accuracy`] if no correction reaches the accuracy.
    pub fn plan(&self) -> Result<MapPlan> {
        self.request.check_flooding()?;
        if self.takes_tables() {
            return self.plan_of_tables();
        }
        let Choice { plan, prepared, goal } = self.choice()?;
        let plan = match goal {
            // Only a plan that is shown tells what other keys could do.
            Some(goal) if self.server.is_some() => self.with_missing(&goal, plan),
            _ => plan,
        };
        Ok(MapPlan { ready: self.ready(prepared), ..plan })
    }

    /// Whether only tables can serve the request: it names no other engine, states a typical
    /// accuracy, or asks for noise flooding.
    fn takes_tables(&self) -> bool {
        let MapRequest { accuracy, flooding, .. } = self.request;
        let tables = self.request.names_tables() || matches!(accuracy, Wanted::Typical(_));
        flooding.is_some() || tables && !self.replaces_tables() && !self.request.compares()
    }

    /// Whether other engines take the place of tables: there are no look-ups, and keys for
    /// products.
    pub(super) fn replaces_tables(&self) -> bool {
        let multiplies = self
            .server
            .is_none_or(|server| server.arithmetic.keys().relinearization_keys().is_some());
        self.params.lookups().is_err() && multiplies
    }

    /// Applies the function of the request to every value of the vector that was planned for
    /// ([`for_vector`](Self::for_vector)): by tables where only tables can serve it, else by the
    /// fastest engine that qualifies, as in [`plan`](Self::plan).
    ///
    /// # Errors
    /// [`ErrorKind::Accuracy`] if no engine qualifies, with the reason of each;
    /// [`ErrorKind::Request`] for a prepared plan of another request.
    pub fn run(&self) -> Result<Ciphertext> {
        let (server, x) = self.operands()?;
        if self.request.flooding.is_some() {
            let reason = "noise flooding spends a budget: call `Evaluator::map_flooded`";
            return refused(reason);
        }
        // Step 1: what an earlier plan has prepared.
        if let Some(ready) = self.request.ready.as_ref().and_then(|ready| ready.0.as_ref()) {
            let same = ready.domain == self.domain
                && ready.function == self.request.name()
                && ready.slots == *self.params.slots();
            if !same {
                let reason = "the plan is for another function, domain or parameters: plan this \
                              request";
                return refused(reason);
            }
            return self.run_prepared(&ready.prepared, &server, x);
        }
        // Step 2: tables, if nothing else comes into question.
        if self.takes_tables() {
            let lookups = self.params.lookups().and_then(|_| server.with_lookups())?;
            self.table_engine()?;
            let (domain, f) = (&self.domain, |x: f64| self.request.value(x));
            return Ok(match self.request.accuracy {
                Wanted::Typical(accuracy) => {
                    self.request.check_corrected()?;
                    let smooth = Smooth::new(&f, &self.request.derivatives);
                    lookups.map_to_accuracy(x, domain, &smooth, accuracy)?
                }
                _ => lookups.map(x, domain.clone(), &f, None)?,
            });
        }
        // Step 3: the engine that the planner chooses.
        let Choice { plan, prepared, goal } = self.choice()?;
        match prepared {
            Some(prepared) => self.run_prepared(&prepared, &server, x),
            None => {
                let error = goal.map_or(f64::INFINITY, |goal| goal.log2_error.exp2());
                let (function, refusals) = (plan.function.clone(), plan.refusals());
                Err(error::no_plan(function, error, refusals))
            }
        }
    }

    /// As [`run`](Self::run) by plain tables, with noise flooding before the switch to LWE values.
    ///
    /// # Errors
    /// [`ErrorKind::Request`] for requests that need more than a plain table.
    pub fn run_flooded(&self, flood: &mut Flood<'_>) -> Result<Ciphertext> {
        let (server, x) = self.operands()?;
        self.request.check_flooding()?;
        self.params.lookups()?;
        self.table_engine()?;
        let f = |x: f64| self.request.value(x);
        let lookups = server.with_lookups()?;
        lookups.map(x, self.domain.clone(), &f, Some(flood))
    }

    fn operands(&self) -> Result<(MapServer<'_>, &Ciphertext)> {
        self.bound().ok_or_else(|| error::missing_keys("map"))
    }

    /// Evaluates a prepared engine.
    fn run_prepared(
        &self,
        prepared: &Prepared,
        server: &MapServer<'_>,
        x: &Ciphertext,
    ) -> Result<Ciphertext> {
        let (domain, f) = (&self.domain, |x: f64| self.request.value(x));
        Ok(match prepared {
            Prepared::Vector(program) => {
                let y = program.apply(server.arithmetic, x, &self.interval);
                program.with_error(server.arithmetic, y?)
            }
            Prepared::Table => server.with_lookups()?.map(x, domain.clone(), &f, None)?,
            Prepared::Corrected { order } => {
                let smooth = Smooth::new(&f, &self.request.derivatives);
                server.with_lookups()?.map_of_order(x, domain, &smooth, *order)?
            }
        })
    }
}
