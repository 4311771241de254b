//! Queries that compare ciphertexts. Equal values have different ciphertexts, so an engine that
//! compares their bytes gives a wrong result without an error.

use std::collections::HashSet;

use datafusion::{
    arrow::datatypes::{DataType, Field, FieldRef},
    common::{
        Column, DFSchema, Result as EngineResult,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    logical_expr::{Distinct, Expr, ExprSchemable, LogicalPlan, Operator},
};

use crate::{
    Error,
    shape::{self, FIELD},
};

const COMPARED: &str = "it compares ciphertexts, which differ for equal values: group and sort by \
                        columns in the clear";

const AGGREGATED: &str = "it compares ciphertexts, which differ for equal values, or its result \
                          does not say that it has some: take he_sum, count or first_value";

/// Functions of the engine that compare their arguments, besides those that give a Boolean.
const COMPARING: [&str; 3] = ["nullif", "greatest", "least"];

/// Refuses plans that compare, sort or group encrypted values, and those that give them to
/// aggregates of the engine that could.
pub(crate) fn check(plan: &LogicalPlan) -> EngineResult<()> {
    let checked = plan.apply_with_subqueries(|node| {
        let scope = Scope::of(node);
        check_node(node, &scope)?;
        node.apply_expressions(|root| {
            root.apply(|expr| {
                check_expression(expr, &scope)?;
                Ok(TreeNodeRecursion::Continue)
            })
        })
    });
    checked.map(|_| ())
}

/// Refuses what a node of a plan does with its rows.
fn check_node(node: &LogicalPlan, scope: &Scope) -> EngineResult<()> {
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
        Expr::ScalarFunction(call) if scope.compares(call.name(), expr) => {
            call.args.iter().try_for_each(|arg| refuse("a comparison", arg))
        }
        Expr::AggregateFunction(call) => {
            let params = &call.params;
            if params.distinct {
                params.args.iter().try_for_each(|arg| refuse("DISTINCT", arg))?;
            }
            scope.refuse_aggregate(call.func.name(), expr, &params.args)?;
            params.order_by.iter().try_for_each(|by| refuse("ORDER BY", &by.expr))
        }
        Expr::WindowFunction(call) => {
            let params = &call.params;
            if params.distinct {
                params.args.iter().try_for_each(|arg| refuse("DISTINCT", arg))?;
            }
            scope.refuse_aggregate(call.fun.name(), expr, &params.args)?;
            params.partition_by.iter().try_for_each(|by| refuse("PARTITION BY", by))?;
            params.order_by.iter().try_for_each(|by| refuse("ORDER BY", &by.expr))
        }
        _ => Ok(()),
    }
}

fn is_comparison(operator: Operator) -> bool {
    use Operator::*;
    let is_pattern = matches!(
        operator,
        RegexMatch
            | RegexIMatch
            | RegexNotMatch
            | RegexNotIMatch
            | LikeMatch
            | ILikeMatch
            | NotLikeMatch
            | NotILikeMatch
    );
    is_pattern
        || matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq)
        || matches!(operator, IsDistinctFrom | IsNotDistinctFrom)
}

/// The columns that the expressions of a node are over.
pub(crate) struct Scope {
    schema: DFSchema,
    /// Columns with ciphertexts whose description a function or a union of the engine dropped.
    concealed: HashSet<Column>,
}

impl Scope {
    pub(crate) fn of(node: &LogicalPlan) -> Self {
        let concealed = node.inputs().into_iter().flat_map(concealed).collect();
        Self { schema: shape::inputs(node), concealed }
    }

    /// Refuses an expression with ciphertexts.
    fn refuse(&self, clause: &'static str, expr: &Expr) -> EngineResult<()> {
        match self.has_ciphertexts(expr)? {
            true => Err(Error::plan(clause, COMPARED).into()),
            false => Ok(()),
        }
    }

    /// Refuses an aggregate or a window function of ciphertexts. Functions of the engine that only
    /// choose a row keep the description of their argument; others may compare, or their results
    /// hold ciphertexts without a description.
    fn refuse_aggregate(&self, name: &str, call: &Expr, args: &[Expr]) -> EngineResult<()> {
        let harmless = name == "count" || name.starts_with("he_");
        if harmless || self.field(call).is_some_and(|field| is_encrypted(&field)) {
            return Ok(());
        }
        let clause = "an aggregate or a window function";
        args.iter().try_for_each(|arg| match self.has_ciphertexts(arg)? {
            true => Err(Error::plan(clause, AGGREGATED).into()),
            false => Ok(()),
        })
    }

    /// Whether a function of the engine compares its arguments, or the elements of an array.
    fn compares(&self, name: &str, call: &Expr) -> bool {
        let is_test = || self.field(call).is_some_and(|it| *it.data_type() == DataType::Boolean);
        COMPARING.contains(&name) || name.starts_with("array_") || is_test()
    }

    /// The field of an expression. What has none yet fails elsewhere.
    fn field(&self, expr: &Expr) -> Option<FieldRef> {
        expr.to_field(&self.schema).ok().map(|(_, field)| field)
    }

    /// Whether an expression is encrypted, or a function of the engine of an encrypted one.
    pub(crate) fn has_ciphertexts(&self, expr: &Expr) -> EngineResult<bool> {
        let mut found = false;
        expr.apply(|part| {
            let field = self.field(part);
            found |= match part {
                Expr::Column(column) => self.concealed.contains(column),
                Expr::ScalarSubquery(query) => {
                    let hidden = concealed(&query.subquery);
                    query.subquery.schema().columns().iter().any(|column| hidden.contains(column))
                }
                _ => false,
            };
            found |= field.as_ref().is_some_and(|field| is_encrypted(field));
            // Numbers of values and presence are in the clear, and aggregates have their own check.
            let described = field.is_some_and(|field| field.metadata().contains_key(FIELD));
            Ok(match part {
                _ if found => TreeNodeRecursion::Stop,
                _ if described => TreeNodeRecursion::Jump,
                Expr::IsNull(_)
                | Expr::IsNotNull(_)
                | Expr::AggregateFunction(_)
                | Expr::WindowFunction(_) => TreeNodeRecursion::Jump,
                _ => TreeNodeRecursion::Continue,
            })
        })?;
        Ok(found)
    }
}

/// The columns of a plan with ciphertexts whose description projections and unions in it dropped.
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
        LogicalPlan::Unnest(rows) => {
            let (inner, from) = (concealed(&rows.input), rows.input.schema().columns());
            let columns = rows.schema.columns().into_iter().zip(&rows.dependency_indices);
            columns.filter(|(_, of)| inner.contains(&from[**of])).map(|(to, _)| to).collect()
        }
        _ => plan.inputs().into_iter().flat_map(concealed).collect(),
    }
}

/// Whether a field has ciphertexts: numbers of values are described, too, and are in the clear.
pub(crate) fn is_encrypted(field: &Field) -> bool {
    field.metadata().contains_key(FIELD) && *field.data_type() != DataType::Int64
}
