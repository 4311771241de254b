//! Queries that count rows. A row of a table with encrypted columns is a vector of rows of the
//! table in the clear, so an engine that counts its rows gives a wrong number without an error.

use datafusion::{
    arrow::datatypes::{DataType, Field},
    common::{
        Column, DFSchema, Result as EngineResult, ScalarValue,
        tree_node::{Transformed, TreeNode},
    },
    functions::expr_fn::coalesce,
    functions_aggregate::sum::sum_udaf,
    logical_expr::{
        Aggregate, Distinct, Expr, ExprSchemable, JoinType, LogicalPlan, Projection,
        expr::AggregateFunction, expr::WindowFunction, when,
    },
    prelude::lit,
};

use crate::{
    Error, Functions,
    comparison::{Scope, is_encrypted},
    shape::{FIELD, Shape},
};

/// Aggregates of the engine whose result does not depend on how often a row occurs.
const INSENSITIVE: [&str; 11] = [
    "min",
    "max",
    "first_value",
    "last_value",
    "any_value",
    "bool_and",
    "bool_or",
    "bit_and",
    "bit_or",
    "approx_distinct",
    "grouping",
];

/// The plan with counts of rows of the table in the clear in place of counts of vectors. What
/// counts vectors otherwise is refused, with what serves.
pub(crate) fn counted(plan: LogicalPlan, functions: &Functions) -> EngineResult<LogicalPlan> {
    let counted = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Aggregate(groups) if origins(&groups.input) > 0 => {
            aggregate(groups, functions)
        }
        node => check(&node).map(|()| Transformed::no(node)),
    });
    Ok(counted?.data)
}

/// How many tables with a vector in each row meet in a row of a plan.
fn origins(plan: &LogicalPlan) -> usize {
    match plan {
        LogicalPlan::TableScan(scan) => {
            usize::from(scan.source.schema().fields().iter().any(|field| holds_rows(field)))
        }
        // A row for each group.
        LogicalPlan::Aggregate(_) | LogicalPlan::Distinct(Distinct::All(_)) => 0,
        LogicalPlan::Union(union) => {
            union.inputs.iter().map(|input| origins(input)).max().unwrap_or(0)
        }
        LogicalPlan::RecursiveQuery(query) => origins(&query.static_term),
        LogicalPlan::Join(join) => match join.join_type {
            JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => origins(&join.left),
            JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => origins(&join.right),
            _ => origins(&join.left) + origins(&join.right),
        },
        _ => plan.inputs().into_iter().map(origins).sum(),
    }
}

/// Whether a value of a field is a vector of rows. A sum or a weight is one value in every slot.
fn holds_rows(field: &Field) -> bool {
    is_encrypted(field) && Shape::on_field(field).is_none_or(|shape| shape.rows)
}

/// Refuses `LIMIT`, `DISTINCT ON`, and window functions other than counts of values where a row is
/// a vector.
fn check(node: &LogicalPlan) -> EngineResult<()> {
    let refuse = |clause: &'static str, reason: &str| -> EngineResult<()> {
        let vectors = node.inputs().into_iter().map(origins).sum::<usize>() > 0;
        match vectors {
            true => Err(Error::plan(clause, format!("{VECTORS}: {reason}")).into()),
            false => Ok(()),
        }
    };
    match node {
        LogicalPlan::Limit(limit) if !is_zero(limit.fetch.as_deref()) => refuse("LIMIT", GROUPS),
        LogicalPlan::Sort(sort) if sort.fetch.is_some() => refuse("LIMIT", GROUPS),
        LogicalPlan::Distinct(Distinct::On(on)) => {
            let scope = Scope::of(node);
            let first = on.select_expr.iter().map(|expr| scope.has_ciphertexts(expr));
            match first.collect::<EngineResult<Vec<_>>>()?.contains(&true) {
                true => refuse("DISTINCT ON", GROUPS),
                false => Ok(()),
            }
        }
        LogicalPlan::Window(window) => {
            window.window_expr.iter().try_for_each(|expr| match bare(expr) {
                Expr::WindowFunction(call) if !counts_values(&call.params.args, &window.input) => {
                    refuse("a window function", &in_place_of(call))
                }
                _ => Ok(()),
            })
        }
        _ => Ok(()),
    }
}

const VECTORS: &str = "its rows are vectors of rows of the table in the clear";

const GROUPS: &str = "take all rows, those of some groups (WHERE), or aggregates, which have a row \
                      for each group";

/// What serves in place of a window function.
fn in_place_of(call: &WindowFunction) -> String {
    match call.fun.name() {
        "count" => "take sum(he_count(x)) OVER, or count with GROUP BY".into(),
        name => {
            format!("{name} would see vectors: take aggregates with GROUP BY, or he_rotate(x, k)")
        }
    }
}

/// `LIMIT 0` asks for the columns of a result.
fn is_zero(fetch: Option<&Expr>) -> bool {
    matches!(fetch, Some(Expr::Literal(number, _)) if *number == ScalarValue::from(0i64))
}

/// Whether an expression counts values of vectors: then it is about vectors, and says so.
fn counts_values(args: &[Expr], input: &LogicalPlan) -> bool {
    let schema: &DFSchema = input.schema();
    let is_count = |expr: &Expr| {
        let field = expr.to_field(schema).map(|(_, field)| field);
        field.is_ok_and(|field| {
            field.metadata().contains_key(FIELD) && *field.data_type() == DataType::Int64
        })
    };
    args.iter().any(|arg| arg.exists(|expr| Ok(is_count(expr))).unwrap_or(false))
}

/// An expression without its names.
fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => bare(&alias.expr),
        expr => expr,
    }
}

/// Aggregates over vectors: counts of rows, and aggregates that do not depend on their number.
fn aggregate(groups: Aggregate, functions: &Functions) -> EngineResult<Transformed<LogicalPlan>> {
    // Step 1: every count becomes a sum of counts.
    let mut names = Vec::new();
    let mut aggregates = Vec::new();
    for expr in &groups.aggr_expr {
        let sum = match bare(expr) {
            Expr::AggregateFunction(call) => sum_of_counts(call, &groups.input, functions)?,
            _ => None,
        };
        aggregates.push(match sum {
            None => expr.clone(),
            Some(sum) => {
                names.push(expr.schema_name().to_string());
                sum.alias(expr.schema_name().to_string())
            }
        });
    }
    if names.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Aggregate(groups)));
    }
    // Step 2: a sum of nothing is missing, a count of nothing is zero.
    let columns = groups.schema.iter().map(|(qualifier, field)| {
        let column = Expr::Column(Column::from((qualifier, field)));
        match qualifier.is_none() && names.contains(field.name()) {
            true => coalesce(vec![column, lit(0i64)]).alias(field.name()),
            false => column,
        }
    });
    let columns: Vec<_> = columns.collect();
    let sums = Aggregate::try_new(groups.input, groups.group_expr, aggregates)?;
    let plan = Projection::try_new(columns, LogicalPlan::Aggregate(sums).into())?;
    Ok(Transformed::yes(LogicalPlan::Projection(plan)))
}

/// The sum of the counts of values for a count of rows; none for an aggregate that stays.
fn sum_of_counts(
    call: &AggregateFunction,
    input: &LogicalPlan,
    functions: &Functions,
) -> EngineResult<Option<Expr>> {
    let (name, params) = (call.func.name(), &call.params);
    let harmless = INSENSITIVE.contains(&name) || name.starts_with("he_") || params.distinct;
    if harmless || counts_values(&params.args, input) {
        return Ok(None);
    }
    let refused = |reason: &str| {
        let reason = format!("{name} would take a vector as one row: {VECTORS}: {reason}");
        Error::plan("an aggregate", reason)
    };
    if name != "count" {
        let reason =
            "weight a vector by he_count(x), the number of its values: sum(n * he_count(x))";
        return Err(refused(reason).into());
    }
    if origins(input) > 1 {
        let reason = "a row here has vectors of two tables: count each, sum(he_count(x))";
        return Err(refused(reason).into());
    }
    // Step 1: a column that has a vector in every row.
    let schema: &DFSchema = input.schema();
    let count_of = |x: Expr| functions.count(x);
    let every = schema.iter().find(|(_, field)| !field.is_nullable() && is_countable(field));
    let every = every.map(|(qualifier, field)| Expr::Column(Column::from((qualifier, field))));
    // Step 2: the condition on the rows that count. The number of values of a column with a mask is
    // encrypted.
    for arg in &params.args {
        let shape = Shape::on_field(&arg.to_field(schema)?.1);
        if let Some(mask) = shape.as_ref().and_then(|shape| shape.gaps.mask()) {
            let reason = format!(
                "{arg} has missing values, and their number is encrypted: take \
                 he_sum_slots(he_sum({mask})), or count(*) for all rows"
            );
            return Err(Error::plan("count", reason).into());
        }
    }
    let condition = presence(&params.args, schema)?;
    let count = match (&params.args[..], every, condition) {
        ([arg], _, Some(_)) if is_countable(&arg.to_field(schema)?.1) => count_of(arg.clone()),
        (_, Some(x), None) => count_of(x),
        (_, Some(x), Some(present)) => when(present, count_of(x)).end()?,
        (_, None, _) => {
            let reason = "no column here has all of them: take sum(he_count(x)) of the column that \
                          you count, where it is at hand";
            return Err(refused(reason).into());
        }
    };
    let filter = params.filter.clone();
    let sum = AggregateFunction::new_udf(sum_udaf(), vec![count], false, filter, vec![], None);
    Ok(Some(Expr::AggregateFunction(sum)))
}

/// Whether `he_count` gives the number of rows of a value of a field.
fn is_countable(field: &Field) -> bool {
    let shape = Shape::on_field(field).filter(|_| is_encrypted(field));
    shape.is_some_and(|shape| shape.rows && shape.lwe.is_none())
}

/// The condition that no argument of a count is missing; none if all rows have all.
fn presence(args: &[Expr], schema: &DFSchema) -> EngineResult<Option<Expr>> {
    let mut condition = None;
    for arg in args {
        if arg.nullable(schema)? {
            let present = arg.clone().is_not_null();
            condition = Some(match condition {
                None => present,
                Some(others) => Expr::and(others, present),
            });
        }
    }
    Ok(condition)
}
