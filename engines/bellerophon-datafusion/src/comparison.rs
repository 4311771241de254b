//! Queries that compare ciphertexts. Equal values have different ciphertexts, so an engine that
//! compares their bytes gives a wrong result without an error.

use datafusion::{
    arrow::datatypes::{DataType, Field},
    common::{
        DFSchema, Result as EngineResult,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    config::ConfigOptions,
    logical_expr::{Distinct, Expr, ExprSchemable, LogicalPlan, Operator},
    optimizer::AnalyzerRule,
};

use crate::{
    Error,
    shape::{self, FIELD},
};

/// Aggregates of the engine that do not look at the bytes of their argument.
const HARMLESS: [&str; 4] = ["count", "first_value", "last_value", "array_agg"];

/// Refuses plans that compare, sort or group encrypted values.
#[derive(Debug)]
pub(crate) struct NoComparisons;

impl AnalyzerRule for NoComparisons {
    fn name(&self) -> &str {
        "refuse_comparisons_of_ciphertexts"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> EngineResult<LogicalPlan> {
        plan.apply_with_subqueries(|node| {
            let schema = shape::inputs(node);
            check(node, &schema)?;
            node.apply_expressions(|root| {
                root.apply(|expr| {
                    check_expression(expr, &schema)?;
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })?;
        Ok(plan)
    }
}

/// Refuses what a node of a plan does with its rows.
fn check(node: &LogicalPlan, schema: &DFSchema) -> EngineResult<()> {
    let none_of = |clause, exprs: Vec<&Expr>| {
        exprs.into_iter().try_for_each(|expr| refuse(clause, expr, schema))
    };
    match node {
        LogicalPlan::Sort(sort) => {
            none_of("ORDER BY", sort.expr.iter().map(|by| &by.expr).collect())
        }
        LogicalPlan::Aggregate(groups) => none_of("GROUP BY", groups.group_expr.iter().collect()),
        LogicalPlan::Distinct(Distinct::All(input)) => {
            match input.schema().fields().iter().any(|field| is_encrypted(field)) {
                true => Err(refusal("DISTINCT")),
                false => Ok(()),
            }
        }
        LogicalPlan::Distinct(Distinct::On(on)) => {
            none_of("DISTINCT ON", on.on_expr.iter().collect())
        }
        LogicalPlan::Join(join) => {
            none_of("JOIN", join.on.iter().flat_map(|(left, right)| [left, right]).collect())
        }
        _ => Ok(()),
    }
}

/// Refuses what an expression does with its operands.
fn check_expression(expr: &Expr, schema: &DFSchema) -> EngineResult<()> {
    let refuse = |clause, operand: &Expr| refuse(clause, operand, schema);
    match expr {
        Expr::BinaryExpr(pair) if is_comparison(pair.op) => {
            refuse("a comparison", &pair.left)?;
            refuse("a comparison", &pair.right)
        }
        Expr::Between(between) => refuse("BETWEEN", &between.expr),
        Expr::InList(list) => refuse("IN", &list.expr),
        Expr::InSubquery(list) => refuse("IN", &list.expr),
        Expr::Like(like) | Expr::SimilarTo(like) => refuse("LIKE", &like.expr),
        Expr::Case(case) => case.expr.iter().try_for_each(|base| refuse("CASE", base)),
        Expr::AggregateFunction(call) => {
            let (name, params) = (call.func.name(), &call.params);
            let harmless = name.starts_with("he_") || HARMLESS.contains(&name);
            if !harmless || params.distinct {
                params.args.iter().try_for_each(|arg| refuse("an aggregate", arg))?;
            }
            params.order_by.iter().try_for_each(|by| refuse("ORDER BY", &by.expr))
        }
        Expr::WindowFunction(call) => {
            let params = &call.params;
            params.partition_by.iter().try_for_each(|by| refuse("PARTITION BY", by))?;
            params.order_by.iter().try_for_each(|by| refuse("ORDER BY", &by.expr))
        }
        _ => Ok(()),
    }
}

fn is_comparison(operator: Operator) -> bool {
    use Operator::*;
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// Refuses an encrypted expression.
fn refuse(clause: &'static str, expr: &Expr, schema: &DFSchema) -> EngineResult<()> {
    // What has no field yet fails elsewhere.
    match expr.to_field(schema) {
        Ok((_, field)) if is_encrypted(&field) => Err(refusal(clause)),
        _ => Ok(()),
    }
}

/// Whether a field has ciphertexts: numbers of values are described, too, and are in the clear.
fn is_encrypted(field: &Field) -> bool {
    field.metadata().contains_key(FIELD) && *field.data_type() != DataType::Int64
}

fn refusal(clause: &'static str) -> datafusion::common::DataFusionError {
    let reason = "it compares ciphertexts, which differ for equal values: group and sort by columns \
                  in the clear";
    Error::plan(clause, reason).into()
}
