//! Functions of one variable that a query writes down: `x -> 1 / (1 + exp(-x))`.

use std::sync::Arc;

use bellerophon::MapFunction;
use datafusion::{
    arrow::{
        array::{Array, AsArray, Float64Array},
        datatypes::{DataType, Field, Float64Type, Schema},
        record_batch::RecordBatch,
    },
    common::{
        DFSchema, Result as EngineResult,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator},
    physical_expr::PhysicalExpr,
    prelude::SessionContext,
};

/// Whether a text is such a function.
pub(crate) fn is_expression(text: &str) -> bool {
    text.contains("->")
}

/// The function of a text: a variable, an arrow, and an expression of SQL with that variable.
/// Quotients are those of numbers, also of integers.
///
/// # Errors
/// The reason why the text is no function of a number.
pub(crate) fn compile(text: &str) -> Result<MapFunction, String> {
    // Step 1: the variable, a column of numbers for the engine.
    let (variable, body) = text.split_once("->").ok_or("it has no arrow")?;
    let variable = variable.trim();
    let name = |c: char| c.is_ascii_lowercase() || c == '_';
    if !variable.starts_with(name) || !variable.chars().all(|c| name(c) || c.is_ascii_digit()) {
        return Err(format!(
            "{variable:?} is no name of a variable: need lower-case letters and digits"
        ));
    }
    let schema = Arc::new(Schema::new(vec![Field::new(variable, DataType::Float64, false)]));
    // Step 2: the expression, as the engine compiles those of its own columns.
    let compiled = || -> EngineResult<Option<Arc<dyn PhysicalExpr>>> {
        let context = SessionContext::new();
        let columns = DFSchema::try_from(schema.as_ref().clone())?;
        let body = context.parse_sql_expr(body, &columns)?;
        if body.is_volatile() {
            return Ok(None);
        }
        // Quotients are those of numbers: 1 / 2 is a half.
        let quotients = body.transform_up(|expr| match expr {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Divide, right }) => {
                let left = Box::new(left.cast_to(&DataType::Float64, &columns)?);
                let quotient = BinaryExpr { left, op: Operator::Divide, right };
                Ok(Transformed::yes(Expr::BinaryExpr(quotient)))
            }
            expr => Ok(Transformed::no(expr)),
        });
        let body = quotients?.data.cast_to(&DataType::Float64, &columns)?;
        context.create_physical_expr(body, &columns).map(Some)
    };
    let body = compiled().map_err(|error| error.to_string())?;
    let body = body.ok_or("its value is not the same for every evaluation")?;
    let value = move |x: f64| -> EngineResult<Option<f64>> {
        let column = Arc::new(Float64Array::from(vec![x]));
        let batch = RecordBatch::try_new(schema.clone(), vec![column])?;
        let value = body.evaluate(&batch)?.into_array(1)?;
        let value = value.as_primitive::<Float64Type>();
        Ok(value.is_valid(0).then(|| value.value(0)))
    };
    // Step 3: an expression that fails for every number fails for this one.
    value(1.0).map_err(|error| error.to_string())?;
    // The planner refuses functions whose values are not finite.
    let value = move |x| value(x).ok().flatten().unwrap_or(f64::NAN);
    Ok(MapFunction::closure(text, value))
}
