//! The vectors of tables. A plan is refused or runs by the description of a column, and a vector is
//! computed with the range, the level and the noise that its own bytes state: they are compared
//! before anything is computed. The form of intermediate results, which states what a server
//! derived, is none that others hand in.

use std::sync::Arc;

use bellerophon::{
    Params, Result,
    ckks::{CiphertextMeta, Metadata},
};
use datafusion::{
    arrow::array::{Array, ArrayRef, BinaryArray},
    common::{Column, Result as EngineResult, tree_node::Transformed},
    logical_expr::{Expr, LogicalPlan, Projection},
};

use crate::{
    Error, Functions, Node,
    comparison::is_encrypted,
    shape::Shape,
    values,
    vector::{self, Stated},
};

/// The relative difference of numbers that operations derive in another order.
const ROUNDING: f64 = 1e-6;

/// The plan with a call above every scan that admits the vectors of its encrypted columns.
pub(crate) fn admitted(plan: LogicalPlan, functions: &Functions) -> EngineResult<LogicalPlan> {
    let admitted = plan.transform_up_with_subqueries(|node| {
        let LogicalPlan::TableScan(scan) = &node else { return Ok(Transformed::no(node)) };
        let schema = scan.projected_schema.clone();
        if !schema.fields().iter().any(|field| is_encrypted(field)) {
            return Ok(Transformed::no(node));
        }
        let columns = schema.iter().map(|(qualifier, field)| {
            let column = Expr::Column(Column::from((qualifier, field)));
            match is_encrypted(field) {
                true => functions.admit(column).alias_qualified(qualifier.cloned(), field.name()),
                false => column,
            }
        });
        let checked = Projection::try_new(columns.collect(), Arc::new(node))?;
        Ok(Transformed::yes(LogicalPlan::Projection(checked)))
    });
    Ok(admitted?.data)
}

/// The values of a column of a table, if all are admitted.
///
/// # Errors
/// [`Error::Row`] for bytes that are no vector, [`Error::Admission`] for one that its column does
/// not describe, or of a form that states what nobody checks.
pub(crate) fn check(
    node: &Node,
    params: &Params,
    column: &Shape,
    vectors: &BinaryArray,
) -> crate::Result<ArrayRef> {
    let rows: Vec<usize> = (0..vectors.len()).filter(|&row| vectors.is_valid(row)).collect();
    let reasons =
        node.each("the table", &rows, |row| refusal(params, column, vectors.value(row)))?;
    for (row, reason) in rows.into_iter().zip(reasons) {
        if let Some(reason) = reason {
            return Err(Error::Admission { row, reason });
        }
    }
    Ok(Arc::new(vectors.clone()))
}

/// Why a vector is not admitted to a column.
fn refusal(params: &Params, column: &Shape, bytes: &[u8]) -> Result<Option<String>> {
    let described = column.meta()?;
    if column.is_unpacked() {
        return values::refusal(params, &described, bytes);
    }
    Ok(match vector::stated(params, bytes)? {
        Stated::Refused(reason) => Some(reason.into()),
        Stated::Admitted(x) => beyond(&Metadata { level: column.level, meta: described }, &x),
    })
}

/// What a vector states beyond the description of its column.
fn beyond(column: &Metadata, x: &Metadata) -> Option<String> {
    let (CiphertextMeta { slots, bounds, .. }, found) = (column.meta, x.meta);
    let differs = |what: &str, found: String, described: String| {
        Some(format!("it states {what} {found}, its column {described}"))
    };
    if found.slots != slots {
        return differs("slots", found.slots.to_string(), slots.to_string());
    }
    if x.level < column.level {
        return differs("level", x.level.to_string(), column.level.to_string());
    }
    if !bounds.values.contains(&found.bounds.values) {
        let [found, described] = [found.bounds.values, bounds.values]
            .map(|range| format!("[{}, {}]", range.lo(), range.hi()));
        return differs("the range", found, described);
    }
    let has_padding = found.len < found.slots;
    if has_padding && column.meta.len == slots {
        return differs("values", found.len.to_string(), format!("{slots}, without padding"));
    }
    if has_padding && !bounds.padding.contains(&found.bounds.padding) {
        return Some("its padding has a wider range than that of its column".into());
    }
    let pairs = [(x.noise(), column.noise()), (x.excess(), column.excess())];
    let noisier = pairs.into_iter().find(|(found, most)| *found > most * (1.0 + ROUNDING));
    noisier.and_then(|(found, most)| {
        differs("a deviation of the error of", format!("{found:.3e}"), format!("{most:.3e}"))
    })
}
