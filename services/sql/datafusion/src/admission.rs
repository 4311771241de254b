//! The vectors of tables. A plan is refused or runs by the description of a column, and a vector is
//! computed with the range, the level and the noise that its own bytes state: they are those of the
//! column, or nothing is computed. The form of intermediate results, which states what a server
//! derived, is none that others hand in.

use std::sync::Arc;

use bellerophon::{
    Params, Result,
    ckks::{CiphertextMeta, Interval, Metadata, noise::slot_std},
    mlwe::KeyId,
};
use datafusion::{
    arrow::array::{Array, ArrayRef, BinaryArray},
    common::{Column, Result as EngineResult, tree_node::Transformed},
    logical_expr::{Expr, LogicalPlan, Projection},
};

use crate::{
    Error, Functions, Node,
    comparison::is_encrypted,
    function::ADMIT,
    shape::Shape,
    values,
    vector::{self, ROUNDING, Stated, variances},
};

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
                true => {
                    functions.described(column).alias_qualified(qualifier.cloned(), field.name())
                }
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
    let owner = column.owner(ADMIT)?;
    let rows: Vec<usize> = (0..vectors.len()).filter(|&row| vectors.is_valid(row)).collect();
    let refused = |row| refusal(params, column, owner, vectors.value(row));
    let reasons = node.each("the table", &rows, refused)?;
    for (row, reason) in rows.into_iter().zip(reasons) {
        if let Some(reason) = reason {
            return Err(Error::Admission { row, reason });
        }
    }
    Ok(Arc::new(vectors.clone()))
}

/// Why a vector is not admitted to a column of this owner.
fn refusal(params: &Params, column: &Shape, owner: KeyId, bytes: &[u8]) -> Result<Option<String>> {
    let described = column.meta()?;
    if let Some(form) = column.lwe {
        return values::refusal(params, &described, form, owner, bytes);
    }
    Ok(match vector::stated(params, bytes)? {
        Stated::Refused(reason) => Some(reason.into()),
        Stated::Admitted(_, key) if key != owner => Some(foreign(key, owner)),
        Stated::Admitted(x, _) => different(&Metadata { level: column.level, meta: described }, &x),
    })
}

/// Why a vector of another owner is not admitted.
pub(crate) fn foreign(found: KeyId, owner: KeyId) -> String {
    format!("it belongs to the owner {:032x}, its column to {:032x}", found.0, owner.0)
}

/// What a vector states other than its column; it may have less noise. A narrower range is not
/// admitted either: how a query is planned, and what it refuses, depends on the range of the
/// column, which no row chooses.
fn different(column: &Metadata, x: &Metadata) -> Option<String> {
    let (CiphertextMeta { slots, bounds, scale, .. }, found) = (column.meta, x.meta);
    let differs = |what: &str, found: String, described: String| {
        Some(format!("it states {what} {found}, its column {described}"))
    };
    if found.slots != slots {
        return differs("slots", found.slots.to_string(), slots.to_string());
    }
    if x.level != column.level {
        return differs("level", x.level.to_string(), column.level.to_string());
    }
    if !is_near(found.scale, scale, scale) {
        let [found, described] = [found.scale, scale].map(|scale| format!("2^{:.6}", scale.log2()));
        return differs("the scale", found, described);
    }
    if !is_same(&found.bounds.values, &bounds.values) {
        let [found, described] = [found.bounds.values, bounds.values]
            .map(|range| format!("[{}, {}]", range.lo(), range.hi()));
        return differs("the range", found, described);
    }
    let has_padding = found.len < found.slots;
    if has_padding && column.meta.len == slots {
        return differs("values", found.len.to_string(), format!("{slots}, without padding"));
    }
    if has_padding && !is_same(&found.bounds.padding, &bounds.padding) {
        return Some("its padding has another range than that of its column".into());
    }
    let mut pairs = variances(&found).into_iter().zip(variances(&column.meta));
    let noisier = pairs.find(|(found, most)| *found > most * (1.0 + ROUNDING));
    noisier.and_then(|(found, most)| {
        let [found, most] = [found, most].map(|variance| {
            let deviation = slot_std(variance, slots, scale, bounds.values.is_real());
            format!("{deviation:.3e}")
        });
        differs("a deviation of the error of", found, most)
    })
}

/// Whether two ranges are one.
pub(crate) fn is_same(x: &Interval, y: &Interval) -> bool {
    let near = |x: f64, end: f64| is_near(x, end, y.bound());
    x.is_real() == y.is_real() && near(x.lo(), y.lo()) && near(x.hi(), y.hi())
}

/// Whether numbers of a size are one but for the last bits, which operations may derive in another
/// order.
pub(crate) fn is_near(x: f64, y: f64, size: f64) -> bool {
    (x - y).abs() <= ROUNDING * size
}
