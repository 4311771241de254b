//! Predictions of a plan: seconds, levels and errors of every function of encrypted columns.

use std::{
    fmt::{self, Write},
    sync::Arc,
};

use datafusion::{
    common::{
        DFSchema, Result as EngineResult,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    execution::context::QueryPlanner,
    logical_expr::{Expr, ExprSchemable, LogicalPlan},
    physical_plan::ExecutionPlan,
    physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner},
};

use crate::{
    Error, Lookup, Result,
    function::ADMIT,
    lookup::LookupFunction,
    shape::{self, Shape},
};

/// The prediction of one function of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct NodePrediction {
    /// The expression.
    pub expression: String,
    /// Seconds on one thread for all vectors of the table, of this function alone.
    pub seconds: f64,
    /// The vectors that it is evaluated on, at most.
    pub vectors: usize,
    /// The levels of its result.
    pub level: usize,
    /// The standard deviation of the error of its result, or the bound of a map; 0 for a look-up,
    /// whose values are exact.
    pub error: f64,
}

/// The predictions of a plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Predictions(pub Vec<NodePrediction>);

impl Predictions {
    /// Predicts every function of encrypted columns in a plan. A plan that runs out of levels does
    /// not come this far: the engine refuses to make it.
    ///
    /// The error of a mean is that of the mean over all vectors: smaller groups have larger ones.
    ///
    /// # Errors
    /// Those of expressions that do not fit the plan.
    pub fn of(plan: &LogicalPlan) -> Result<Self> {
        let mut found = Self::default();
        plan.apply(|node| {
            let schema = shape::inputs(node);
            node.apply_expressions(|root| {
                root.apply(|expr| {
                    found.add(expr, &schema)?;
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })?;
        Ok(found)
    }

    /// Seconds of all functions on one thread.
    pub fn seconds(&self) -> f64 {
        self.0.iter().map(|node| node.seconds).sum()
    }

    fn add(&mut self, expr: &Expr, schema: &DFSchema) -> EngineResult<()> {
        let name = match expr {
            // The check of a column has no range.
            Expr::ScalarFunction(call) if call.name() == ADMIT && call.args.len() < 3 => {
                return Ok(());
            }
            Expr::ScalarFunction(call) => call.name(),
            Expr::AggregateFunction(call) => call.func.name(),
            _ => return Ok(()),
        };
        if !name.starts_with("he_") {
            return Ok(());
        }
        let expression = expr.schema_name().to_string();
        let looked_up = match expr {
            Expr::AggregateFunction(call) => {
                let function = call.func.inner().downcast_ref::<LookupFunction>();
                function.map(|function| (function, &call.params.args))
            }
            _ => None,
        };
        let node = match looked_up {
            // Its values are exact, and have no levels.
            Some((function, args)) => {
                let (vectors, seconds) = Lookup::of_args(args)?.predicted(function.node.keys())?;
                NodePrediction { expression, seconds, vectors, level: 0, error: 0.0 }
            }
            None => {
                let (_, field) = expr.to_field(schema)?;
                let shape = Shape::of("EXPLAIN", 1, &field)?;
                let (vectors, level, seconds) = (shape.vectors, shape.level, shape.seconds);
                let meta = shape.meta().map_err(Error::Library)?;
                let error = bellerophon::ckks::Metadata { level, meta }.noise();
                NodePrediction { expression, seconds, vectors, level, error }
            }
        };
        if !self.0.contains(&node) {
            self.0.push(node);
        }
        Ok(())
    }
}

impl fmt::Display for Predictions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>10} {:>8} {:>6} {:>9}  function", "seconds", "vectors", "level", "error")?;
        for node in &self.0 {
            let NodePrediction { expression, seconds, vectors, level, error } = node;
            let error = match *error {
                0.0 => "none".to_string(),
                error => format!("2^{:.1}", error.log2()),
            };
            writeln!(f, "{seconds:>10.3} {vectors:>8} {level:>6} {error:>9}  {expression}")?;
        }
        write!(f, "{:>10.3} seconds on one thread", self.seconds())
    }
}

/// The planner of the engine, which adds the predictions to what `EXPLAIN` prints.
#[derive(Debug)]
pub(crate) struct Planner;

#[async_trait::async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn datafusion::catalog::Session,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::default();
        let LogicalPlan::Explain(explain) = plan else {
            return planner.create_physical_plan(plan, session).await;
        };
        let predictions = Predictions::of(&explain.plan)?;
        let mut explain = explain.clone();
        if !predictions.0.is_empty() {
            let mut text = String::from("predictions of the functions of encrypted columns\n");
            write!(text, "{predictions}").expect("a string takes text");
            explain.stringified_plans.push(explained(text));
        }
        planner.create_physical_plan(&LogicalPlan::Explain(explain), session).await
    }
}

/// A part of the output of `EXPLAIN` that is always shown.
fn explained(text: String) -> datafusion::common::display::StringifiedPlan {
    use datafusion::common::display::{PlanType, StringifiedPlan};
    StringifiedPlan::new(PlanType::FinalLogicalPlan, text)
}
