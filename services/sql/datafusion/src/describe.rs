//! Descriptions of results as arguments, for engines that send plans to other processes.
//!
//! A plan on its way to an executor loses the metadata of the fields of its expressions. The client
//! therefore writes the public description of every result into the call, as a last argument.

use datafusion::{
    common::{
        DFSchema, Result as EngineResult, ScalarValue,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        Expr, ExprSchemable, LogicalPlan, expr::FieldMetadata, expr_rewriter::NamePreserver,
    },
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

use crate::{
    scalar::ScalarFunction,
    shape::{self, FIELD},
    sum::Sum,
};

/// The last rule of the optimizer in a session whose queries run in other processes: it writes the
/// description of every encrypted result into its call. Functions that find one there need no field
/// metadata, no parameters and no simulation to be planned again.
#[derive(Debug, Default, Clone, Copy)]
pub struct Describe;

impl OptimizerRule for Describe {
    fn name(&self) -> &str {
        "describe_encrypted_results"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> EngineResult<Transformed<LogicalPlan>> {
        let schema = shape::inputs(&plan);
        let names = NamePreserver::new(&plan);
        let rewritten = plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let described = expr.transform_up(|expr| described(expr, &schema))?;
            Ok(described.update_data(|expr| name.restore(expr)))
        })?;
        match rewritten.transformed {
            true => rewritten.map_data(|plan| plan.recompute_schema()),
            false => Ok(rewritten),
        }
    }
}

/// The call with the description of its result, if it is one of ours without.
fn described(mut expr: Expr, schema: &DFSchema) -> EngineResult<Transformed<Expr>> {
    let lacks = match &expr {
        Expr::ScalarFunction(call) => {
            let function = call.func.inner().downcast_ref::<ScalarFunction>();
            function.is_some_and(|function| !function.is_described(&call.args))
        }
        Expr::AggregateFunction(call) => {
            call.func.inner().is::<Sum>() && call.params.args.len() == 1
        }
        _ => false,
    };
    if !lacks {
        return Ok(Transformed::no(expr));
    }
    let (_, field) = expr.to_field(schema)?;
    let Some(text) = field.metadata().get(FIELD) else { return Ok(Transformed::no(expr)) };
    let metadata = FieldMetadata::new([(FIELD.to_string(), text.clone())].into());
    let description = Expr::Literal(ScalarValue::Utf8(Some(text.clone())), Some(metadata));
    match &mut expr {
        Expr::ScalarFunction(call) => call.args.push(description),
        Expr::AggregateFunction(call) => call.params.args.push(description),
        _ => {}
    }
    Ok(Transformed::yes(expr))
}
