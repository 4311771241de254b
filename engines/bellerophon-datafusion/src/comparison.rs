//! Queries that compare ciphertexts. Equal values have different ciphertexts, so an engine that
//! compares their bytes gives a wrong result without an error.

use std::collections::HashSet;

use datafusion::{
    arrow::datatypes::{DataType, Field},
    common::{
        Column, DFSchema, Result as EngineResult,
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
            let scope = Scope::of(node);
            check(node, &scope)?;
            node.apply_expressions(|root| {
                root.apply(|expr| {
                    check_expression(expr, &scope)?;
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })?;
        Ok(plan)
    }
}

/// Refuses what a node of a plan does with its rows.
fn check(node: &LogicalPlan, scope: &Scope) -> EngineResult<()> {
    let none_of = |clause, exprs: Vec<&Expr>| {
        exprs.into_iter().try_for_each(|expr| scope.refuse(clause, expr))
    };
    let none_of_all = |clause| {
        let columns = node.inputs().into_iter().flat_map(|input| input.schema().columns());
        columns.into_iter().try_for_each(|column| scope.refuse(clause, &Expr::Column(column)))
    };
    match node {
        LogicalPlan::Sort(sort) => {
            none_of("ORDER BY", sort.expr.iter().map(|by| &by.expr).collect())
        }
        LogicalPlan::Aggregate(groups) => none_of("GROUP BY", groups.group_expr.iter().collect()),
        LogicalPlan::Distinct(Distinct::All(_)) => none_of_all("DISTINCT"),
        LogicalPlan::RecursiveQuery(query) if query.is_distinct => none_of_all("UNION"),
        LogicalPlan::Distinct(Distinct::On(on)) => {
            none_of("DISTINCT ON", on.on_expr.iter().collect())?;
            let order = on.sort_expr.iter().flatten();
            none_of("ORDER BY", order.map(|by| &by.expr).collect())
        }
        LogicalPlan::Join(join) => {
            none_of("JOIN", join.on.iter().flat_map(|(left, right)| [left, right]).collect())
        }
        _ => Ok(()),
    }
}

/// Refuses what an expression does with its operands.
fn check_expression(expr: &Expr, scope: &Scope) -> EngineResult<()> {
    let refuse = |clause, operand: &Expr| scope.refuse(clause, operand);
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

/// The columns that the expressions of a node are over.
struct Scope {
    schema: DFSchema,
    /// Columns with ciphertexts whose description a function or a union of the engine dropped.
    concealed: HashSet<Column>,
}

impl Scope {
    fn of(node: &LogicalPlan) -> Self {
        let concealed = node.inputs().into_iter().flat_map(concealed).collect();
        Self { schema: shape::inputs(node), concealed }
    }

    /// Refuses an expression with ciphertexts.
    fn refuse(&self, clause: &'static str, expr: &Expr) -> EngineResult<()> {
        match self.has_ciphertexts(expr)? {
            true => Err(refusal(clause)),
            false => Ok(()),
        }
    }

    /// Whether an expression is encrypted, or a function of the engine of an encrypted one.
    fn has_ciphertexts(&self, expr: &Expr) -> EngineResult<bool> {
        let mut found = false;
        expr.apply(|part| {
            // What has no field yet fails elsewhere.
            let field = part.to_field(&self.schema).map(|(_, field)| field);
            found |= match part {
                Expr::Column(column) => self.concealed.contains(column),
                _ => false,
            };
            found |= field.as_ref().is_ok_and(|field| is_encrypted(field));
            // Numbers of values and presence are in the clear, and aggregates have their own check.
            let described = field.is_ok_and(|field| field.metadata().contains_key(FIELD));
            Ok(match part {
                _ if found => TreeNodeRecursion::Stop,
                _ if described => TreeNodeRecursion::Jump,
                Expr::IsNull(_) | Expr::IsNotNull(_) | Expr::AggregateFunction(_) => {
                    TreeNodeRecursion::Jump
                }
                _ => TreeNodeRecursion::Continue,
            })
        })?;
        Ok(found)
    }
}

/// The columns of a plan that projections and unions in it make of ciphertexts.
fn concealed(plan: &LogicalPlan) -> HashSet<Column> {
    match plan {
        LogicalPlan::Projection(rows) => {
            let scope = Scope::of(plan);
            let columns = rows.schema.columns().into_iter().zip(&rows.expr);
            let columns = columns.filter(|(_, expr)| scope.has_ciphertexts(expr).unwrap_or(false));
            columns.map(|(column, _)| column).collect()
        }
        // These give the columns of their inputs other names and descriptions.
        LogicalPlan::SubqueryAlias(_) | LogicalPlan::Union(_) | LogicalPlan::RecursiveQuery(_) => {
            let renamed = |input: &LogicalPlan| {
                let (inner, schema) = (concealed(input), input.schema());
                let fields = schema.columns().into_iter().zip(schema.fields());
                let held = fields.map(|(from, field)| inner.contains(&from) || is_encrypted(field));
                let columns = plan.schema().columns().into_iter().zip(held);
                columns.filter(|(_, held)| *held).map(|(to, _)| to).collect::<Vec<_>>()
            };
            plan.inputs().into_iter().flat_map(renamed).collect()
        }
        _ => plan.inputs().into_iter().flat_map(concealed).collect(),
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
