//! Lambdas in SQL: `he_map(v, x -> 1 / (1 + exp(-x)), -8, 8)`.
//!
//! The planner of the engine takes lambdas as arguments of its functions of lists alone. A lambda
//! of `he_map` therefore becomes the text of its expression before the query is planned.

use std::ops::ControlFlow;

use datafusion::{
    config::Dialect,
    prelude::{DataFrame, SessionContext},
    sql::{
        parser::Statement,
        sqlparser::ast::{
            Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, LambdaFunction, Value,
            visit_expressions_mut,
        },
    },
};

use crate::{Error, Result};

/// Plans a query as [`SessionContext::sql`], with lambdas as functions of `he_map`. The query is
/// parsed in the dialect of DuckDB.
///
/// # Errors
/// Those of [`SessionContext::sql`], also for a lambda whose expression has other columns;
/// [`Error::Plan`] for a lambda that is no function of one variable, or declares its type.
pub async fn sql(session: &SessionContext, query: &str) -> Result<DataFrame> {
    let state = session.state();
    let mut statement = state.sql_to_statement(query, &Dialect::DuckDB)?;
    texts(&mut statement)?;
    let plan = state.statement_to_plan(statement).await?;
    Ok(session.execute_logical_plan(plan).await?)
}

/// Replaces the lambdas of a statement.
fn texts(statement: &mut Statement) -> Result<()> {
    let statement = match statement {
        Statement::Explain(explain) => return texts(&mut explain.statement),
        Statement::Statement(statement) => statement,
        _ => return Ok(()),
    };
    let replaced = visit_expressions_mut(statement.as_mut(), |expr| match expr {
        Expr::Function(call) if is_map(call) => match replace(call) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        },
        _ => ControlFlow::Continue(()),
    });
    match replaced {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

fn is_map(call: &Function) -> bool {
    call.name.to_string().eq_ignore_ascii_case("he_map")
}

/// Replaces the lambdas of a call by their texts.
fn replace(call: &mut Function) -> Result<()> {
    let FunctionArguments::List(list) = &mut call.args else { return Ok(()) };
    for arg in &mut list.args {
        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = arg
            && let Expr::Lambda(lambda) = expr
        {
            *expr = Expr::Value(Value::SingleQuotedString(text(lambda)?).into());
        }
    }
    Ok(())
}

/// The text of a lambda.
fn text(lambda: &LambdaFunction) -> Result<String> {
    let refuse = |reason: &str| Err(Error::plan("he_map", format!("{lambda} {reason}")));
    let mut variables = lambda.params.iter();
    let (Some(variable), None) = (variables.next(), variables.next()) else {
        return refuse("is no function of one variable");
    };
    if variable.data_type.is_some() {
        return refuse("declares a type: its variable is a number");
    }
    if variable.name.quote_style.is_some() {
        return refuse("quotes its variable: write a name without quotes");
    }
    let body = lambda.body.to_string();
    if body.contains("--") {
        return refuse("has two signs in a row, which begin a comment: write -(-x)");
    }
    // Names without quotes have no case.
    Ok(format!("{} -> {body}", variable.name.value.to_lowercase()))
}
