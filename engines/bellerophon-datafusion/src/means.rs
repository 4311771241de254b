//! Means: a quotient that states the range of the values that it is a mean of. Its operands are
//! checked, as anybody may call its function.

use datafusion::{
    common::{
        Result as EngineResult,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    logical_expr::{Aggregate, Expr, LogicalPlan, expr::AggregateFunction},
};

use crate::{Error, function::Function, scalar::ScalarFunction, sum::Sum};

const OPERANDS: &str = "its operands are not the sum of all values of a group and their number: \
                        take he_mean(x), or he_divide(x, n), whose range is that of a quotient";

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
    let is_count = |of: &[Expr]| matches!(of, [x] if called(x, Function::Count).is_some());
    let (values, number) = (&sum.params, &count.params);
    sum.func.inner().is::<Sum>()
        && count.func.name() == "sum"
        && is_count(&number.args)
        && !number.distinct
        && values.filter == number.filter
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

/// The groups whose rows, or some of them, a node sees.
fn below(node: &LogicalPlan) -> Option<&Aggregate> {
    let [input] = node.inputs()[..] else { return None };
    match input {
        LogicalPlan::Aggregate(groups) => Some(groups),
        LogicalPlan::Filter(_) | LogicalPlan::Sort(_) | LogicalPlan::Window(_) => below(input),
        _ => None,
    }
}
