//! Queries that compare ciphertexts. Equal values have different ciphertexts, so an engine that
//! compares their bytes gives a wrong result without an error.

use datafusion::{
    arrow::datatypes::{DataType, Field},
    common::{
        DFSchema, Result as EngineResult,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    config::ConfigOptions,
    logical_expr::{
        Distinct, Expr, ExprSchemable, LogicalPlan, Operator, WindowFunctionDefinition,
    },
    optimizer::AnalyzerRule,
};

use crate::{
    Error,
    shape::{self, FIELD},
};

/// Aggregates of the engine that do not look at the bytes of their argument.
const HARMLESS: [&str; 4] = ["count", "first_value", "last_value", "array_agg"];

/// Functions of the engine that compare their arguments.
const COMPARING: [&str; 3] = ["nullif", "greatest", "least"];

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
            if has_encrypted(input) {
                return Err(refusal("DISTINCT"));
            }
            match input.as_ref() {
                LogicalPlan::Projection(rows) => {
                    let schema = rows.input.schema();
                    rows.expr.iter().try_for_each(|expr| refuse("DISTINCT", expr, schema))
                }
                _ => Ok(()),
            }
        }
        LogicalPlan::Distinct(Distinct::On(on)) => {
            none_of("DISTINCT ON", on.on_expr.iter().collect())?;
            let order = on.sort_expr.iter().flatten();
            none_of("ORDER BY", order.map(|by| &by.expr).collect())
        }
        LogicalPlan::RecursiveQuery(query) if query.is_distinct => {
            match has_encrypted(&query.static_term) || has_encrypted(&query.recursive_term) {
                true => Err(refusal("UNION")),
                false => Ok(()),
            }
        }
        LogicalPlan::Union(union) => {
            let lost = |input: &LogicalPlan| {
                let mut fields = input.schema().fields().iter().zip(union.schema.fields());
                fields.any(|(given, result)| is_encrypted(given) && !is_encrypted(result))
            };
            match union.inputs.iter().any(|input| lost(input)) {
                true => {
                    let reason = "encrypted columns of different descriptions meet in one column, \
                                  which has none";
                    Err(Error::plan("UNION", reason).into())
                }
                false => Ok(()),
            }
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
        Expr::Between(between) => {
            let operands = [&between.expr, &between.low, &between.high];
            operands.into_iter().try_for_each(|operand| refuse("BETWEEN", operand))
        }
        Expr::InList(list) => {
            refuse("IN", &list.expr)?;
            list.list.iter().try_for_each(|element| refuse("IN", element))
        }
        Expr::InSubquery(list) => {
            refuse("IN", &list.expr)?;
            refuse("IN", &Expr::ScalarSubquery(list.subquery.clone()))
        }
        Expr::SetComparison(set) => {
            refuse("a comparison", &set.expr)?;
            refuse("a comparison", &Expr::ScalarSubquery(set.subquery.clone()))
        }
        Expr::Like(like) | Expr::SimilarTo(like) => {
            refuse("LIKE", &like.expr)?;
            refuse("LIKE", &like.pattern)
        }
        Expr::Case(case) => case.expr.iter().try_for_each(|base| {
            refuse("CASE", base)?;
            case.when_then_expr.iter().try_for_each(|(when, _)| refuse("CASE", when))
        }),
        Expr::ScalarFunction(call) if COMPARING.contains(&call.name()) => {
            call.args.iter().try_for_each(|arg| refuse("a comparison", arg))
        }
        Expr::AggregateFunction(call) => {
            let params = &call.params;
            if params.distinct || !is_harmless(call.func.name()) {
                params.args.iter().try_for_each(|arg| refuse("an aggregate", arg))?;
            }
            params.order_by.iter().try_for_each(|by| refuse("ORDER BY", &by.expr))
        }
        Expr::WindowFunction(call) => {
            let params = &call.params;
            if let WindowFunctionDefinition::AggregateUDF(function) = &call.fun
                && (params.distinct || !is_harmless(function.name()))
            {
                params.args.iter().try_for_each(|arg| refuse("an aggregate", arg))?;
            }
            params.partition_by.iter().try_for_each(|by| refuse("PARTITION BY", by))?;
            params.order_by.iter().try_for_each(|by| refuse("ORDER BY", &by.expr))
        }
        _ => Ok(()),
    }
}

/// Whether an aggregate does not look at the bytes of its argument.
fn is_harmless(aggregate: &str) -> bool {
    aggregate.starts_with("he_") || HARMLESS.contains(&aggregate)
}

fn is_comparison(operator: Operator) -> bool {
    use Operator::*;
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// Refuses an encrypted expression, and functions of the engine of one, which have no description.
fn refuse(clause: &'static str, expr: &Expr, schema: &DFSchema) -> EngineResult<()> {
    let walk = expr.apply(|part| match part.to_field(schema) {
        Ok((_, field)) if is_encrypted(&field) => Err(refusal(clause)),
        // Numbers of values are in the clear.
        Ok((_, field)) if field.metadata().contains_key(FIELD) => Ok(TreeNodeRecursion::Jump),
        // So is presence. Aggregates are checked on their own; what has no field fails elsewhere.
        _ => Ok(match part {
            Expr::IsNull(_) | Expr::IsNotNull(_) | Expr::AggregateFunction(_) => {
                TreeNodeRecursion::Jump
            }
            _ => TreeNodeRecursion::Continue,
        }),
    });
    walk.map(|_| ())
}

/// Whether a plan has an encrypted column.
fn has_encrypted(plan: &LogicalPlan) -> bool {
    plan.schema().fields().iter().any(|field| is_encrypted(field))
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
