//! Functions of one variable that a query writes down: `x -> 1 / (1 + exp(-x))`.

use std::{f64::consts::PI, sync::Arc};

use bellerophon::{
    MapFunction,
    circuits::approx::{Ellipse, Function},
};
use datafusion::{
    arrow::{
        array::{AsArray, Float64Array},
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

/// Intervals between the places of the domain at which an expression is evaluated.
const SAMPLES: usize = 1 << 16;

/// Terms of the Chebyshev series that are tried: an expression that is smooth has fewer.
const TERMS: usize = 1 << 10;

/// Terms below this part of the largest one are rounding.
const ROUNDING: f64 = 1e-14;

/// The series of a smooth expression differs from it by less than this part of its magnitude at
/// every place.
const AGREEMENT: f64 = 1e-11;

/// The function of a text over a domain: a variable, an arrow, and an expression of SQL with that
/// variable. Quotients are those of numbers, also of integers.
///
/// The expression is evaluated at 65537 places of the domain at once. Where its Chebyshev series
/// ends early and agrees with it at all of them, the function is the series, whose values in the
/// complex plane the terms bound: the planner treats it as one of the library. Otherwise it is the
/// piecewise linear function through the places.
///
/// # Errors
/// The reason why the text is no function of the numbers of the domain.
pub(crate) fn compile(text: &str, [lo, hi]: [f64; 2]) -> Result<MapFunction, String> {
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
    let values = move |places: Vec<f64>| -> EngineResult<Vec<f64>> {
        let rows = places.len();
        let column = Arc::new(Float64Array::from(places));
        let batch = RecordBatch::try_new(schema.clone(), vec![column])?;
        let values = body.evaluate(&batch)?.into_array(rows)?;
        let values = values.as_primitive::<Float64Type>();
        Ok(values.iter().map(|value| value.unwrap_or(f64::NAN)).collect())
    };
    // Step 3: the values at places of the domain.
    if !(lo < hi && (hi - lo).is_finite()) {
        return Err(format!("its domain [{lo}, {hi}] needs finite ends, the lower one first"));
    }
    let step = (hi - lo) / SAMPLES as f64;
    let places: Vec<f64> = (0..=SAMPLES).map(|i| (lo + i as f64 * step).min(hi)).collect();
    let samples = values(places.clone()).map_err(|error| error.to_string())?;
    if let Some(i) = samples.iter().position(|value| !value.is_finite()) {
        return Err(format!("it has no finite value at {}", places[i]));
    }
    // Step 4: the series, or the samples.
    let (middle, radius) = (lo + (hi - lo) / 2.0, (hi - lo) / 2.0);
    let node = |j: usize| (PI * (j as f64 + 0.5) / TERMS as f64).cos();
    let nodes = (0..TERMS).map(|j| middle + radius * node(j)).collect();
    let series = Series::new([lo, hi], &values(nodes).map_err(|error| error.to_string())?);
    let magnitude = samples.iter().fold(f64::MIN_POSITIVE, |most, y| most.max(y.abs()));
    let agrees = |series: &Series| {
        let mut pairs = places.iter().zip(&samples);
        pairs.all(|(x, y)| (series.value(*x) - y).abs() <= AGREEMENT * magnitude)
    };
    if let Some(series) = series.filter(agrees) {
        let (series, bounds) = (Arc::new(series.clone()), Arc::new(series));
        let bound = move |ellipse: &Ellipse| bounds.bound(ellipse);
        return Ok(Function::analytic(text, move |x| series.value(x), bound).into());
    }
    let linear = move |x: f64| {
        let place = ((x - lo) / step).clamp(0.0, SAMPLES as f64);
        let i = (place as usize).min(SAMPLES - 1);
        let t = place - i as f64;
        samples[i] + t * (samples[i + 1] - samples[i])
    };
    Ok(MapFunction::closure(text, linear))
}

/// A Chebyshev series over a domain.
#[derive(Debug, Clone)]
struct Series {
    domain: [f64; 2],
    terms: Vec<f64>,
}

impl Series {
    /// The series that interpolates values at the Chebyshev nodes, without its terms of rounding;
    /// none if it has no end.
    fn new(domain: [f64; 2], values: &[f64]) -> Option<Self> {
        // cos(pi k (2 j + 1) / 2n) is an entry of one table of a period.
        let (n, period) = (values.len(), 4 * values.len());
        let cosines: Vec<f64> =
            (0..period).map(|m| (PI * m as f64 / (2 * n) as f64).cos()).collect();
        let term = |k: usize| {
            let products =
                values.iter().enumerate().map(|(j, y)| y * cosines[k * (2 * j + 1) % period]);
            products.sum::<f64>() * if k == 0 { 1.0 } else { 2.0 } / n as f64
        };
        let mut terms: Vec<f64> = (0..n).map(term).collect();
        let most = terms.iter().fold(0.0, |most: f64, c| most.max(c.abs()));
        let last = terms.iter().rposition(|c| c.abs() > ROUNDING * most).unwrap_or(0);
        terms.truncate(last + 1);
        (terms.len() <= n / 2 && most.is_finite()).then_some(Self { domain, terms })
    }

    /// The value at the place of the domain next to `x`, by Clenshaw's recurrence.
    fn value(&self, x: f64) -> f64 {
        let [lo, hi] = self.domain;
        let t = ((2.0 * x - lo - hi) / (hi - lo)).clamp(-1.0, 1.0);
        let (mut b, mut c) = (0.0, 0.0);
        for term in self.terms[1..].iter().rev() {
            (b, c) = (term + 2.0 * t * b - c, b);
        }
        self.terms[0] + t * b - c
    }

    /// A bound over an ellipse: `|T_k| <= rho^k` within the ellipse of the domain with parameter
    /// `rho`, on whose edge the distances from its foci sum up to `radius (rho + 1 / rho)`.
    fn bound(&self, ellipse: &Ellipse) -> Option<f64> {
        let [lo, hi] = self.domain;
        // The foci of the ellipse, and how far those of the domain are from them.
        let (left, right, height) = (ellipse.left(), ellipse.right(), ellipse.height());
        let (middle, half) = (0.5 * (left + right), 0.5 * (right - left));
        let focus = (half * half - height * height).max(0.0).sqrt();
        let apart = (middle - focus - lo).abs() + (middle + focus - hi).abs();
        let sum = (2.0 * half + apart) / (hi - lo);
        let rho = sum + (sum * sum - 1.0).max(0.0).sqrt();
        let bound = self.terms.iter().rev().fold(0.0, |bound, c| bound * rho + c.abs());
        bound.is_finite().then_some(bound)
    }
}
