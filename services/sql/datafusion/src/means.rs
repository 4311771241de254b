//! Means: a quotient that states the range of the values that it is a mean of. Its operands are
//! checked, as anybody may call its function.

use datafusion::{
    common::{
        DFSchema, Result as EngineResult,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    logical_expr::{
        Aggregate, Expr, ExprSchemable, LogicalPlan, expr::AggregateFunction,
        utils::split_conjunction,
    },
};

use crate::{Error, function::Function, scalar::ScalarFunction, sum::Sum};

const OPERANDS: &str = "its operands are not the sum of all values of a group and their number: \
                        take he_mean(x), he_divide(x, n), whose range is that of a quotient, or, \
                        for he_covariance of columns that may be NULL, FILTER (WHERE x IS NOT \
                        NULL AND y IS NOT NULL)";

/// Refuses plans with a mean of anything but the sum of the values of a group and their number.
pub(crate) fn check(plan: &LogicalPlan) -> EngineResult<()> {
    let checked = plan.apply_with_subqueries(|node| {
        node.apply_expressions(|root| {
            root.apply(|expr| match called(expr, Function::Mean) {
                Some([sum, count]) if is_mean(sum, count, node) => Ok(TreeNodeRecursion::Continue),
                Some(_) => Err(Error::plan(Function::Mean.signature().0, OPERANDS).into()),
                None => Ok(TreeNodeRecursion::Continue),
            })
        })
    });
    checked.map(|_| ())
}

/// The arguments of a call of one of our functions.
fn called(expr: &Expr, function: Function) -> Option<&[Expr]> {
    let Expr::ScalarFunction(call) = expr else { return None };
    let found = call.func.inner().downcast_ref::<ScalarFunction>()?;
    (found.function == function).then_some(&call.args[..])
}

/// Whether operands are the sum of the values of a group and the number of those values.
fn is_mean(sum: &Expr, count: &Expr, node: &LogicalPlan) -> bool {
    let Some([sum]) = called(sum, Function::SumSlots) else { return false };
    let (Some(sum), Some(count)) = (aggregate(sum, node), aggregate(count, node)) else {
        return false;
    };
    let (values, number) = (&sum.params, &count.params);
    let ([summed], [count_of]) = (&values.args[..], &number.args[..]) else { return false };
    let (Some([counted]), Some(groups)) = (called(count_of, Function::Count), groups(node)) else {
        return false;
    };
    let rows = Rows { filter: values.filter.as_deref(), schema: groups.input.schema() };
    sum.func.inner().is::<Sum>()
        && count.func.name() == "sum"
        && !values.distinct
        && !number.distinct
        && values.filter == number.filter
        && rows.have_as_many(summed, counted)
}

/// The rows of an aggregate.
struct Rows<'a> {
    filter: Option<&'a Expr>,
    schema: &'a DFSchema,
}

impl Rows<'_> {
    /// Whether vectors are summed of as many values as are counted: of the counted column, or
    /// products of it and of columns that have a vector in every row.
    fn have_as_many(&self, summed: &Expr, counted: &Expr) -> bool {
        let factors = called(summed, Function::Mul).unwrap_or(std::slice::from_ref(summed));
        factors.contains(counted) && factors.iter().all(|x| x == counted || self.is_present(x))
    }

    fn is_present(&self, x: &Expr) -> bool {
        let stated = |filter: &&Expr| {
            let is_stated = |e: &&Expr| matches!(e, Expr::IsNotNull(of) if **of == *x);
            split_conjunction(filter).iter().any(is_stated)
        };
        self.filter.as_ref().is_some_and(stated) || !x.nullable(self.schema).unwrap_or(true)
    }
}

/// The aggregate that an expression of a node is, in the node or in the groups below it.
fn aggregate<'a>(expr: &'a Expr, node: &'a LogicalPlan) -> Option<&'a AggregateFunction> {
    match expr {
        Expr::Alias(alias) => aggregate(&alias.expr, node),
        Expr::AggregateFunction(call) => Some(call),
        Expr::Column(column) => {
            let groups = below(node)?;
            let place = groups.schema.maybe_index_of_column(column)?;
            let keys = groups.schema.fields().len() - groups.aggr_expr.len();
            aggregate(groups.aggr_expr.get(place.checked_sub(keys)?)?, node)
        }
        _ => None,
    }
}

/// The groups that a node makes or sees.
fn groups(node: &LogicalPlan) -> Option<&Aggregate> {
    match node {
        LogicalPlan::Aggregate(groups) => Some(groups),
        _ => below(node),
    }
}

/// The groups whose rows, or some of them, a node sees.
fn below(node: &LogicalPlan) -> Option<&Aggregate> {
    let [input] = node.inputs()[..] else { return None };
    match input {
        LogicalPlan::Aggregate(groups) => Some(groups),
        LogicalPlan::Filter(_) | LogicalPlan::Sort(_) | LogicalPlan::Window(_) => below(input),
        _ => None,
    }
}
