//! Functions of the engine that somebody calls on an encrypted column: errors that name ours.
//!
//! The engine looks at types while it plans a query, before any rule sees the plan: it would advise
//! to cast ciphertexts to text. Its functions are therefore replaced by [`Guided`] ones until the
//! query is planned.

use std::sync::Arc;

use datafusion::{
    arrow::datatypes::{DataType, Field, FieldRef},
    common::{
        Result as EngineResult,
        tree_node::{Transformed, TreeNode},
    },
    config::ConfigOptions,
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Expr, LogicalPlan,
        ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
        WindowFunctionDefinition,
        expr::{AggregateFunctionParams, WindowFunctionParams},
        function::AccumulatorArgs,
        simplify::{ExprSimplifyResult, SimplifyContext},
        type_coercion::functions::{UDFCoercionExt, fields_with_udf},
    },
};

use crate::Error;

/// Arguments of functions of the engine that are tried.
const ARGUMENTS: usize = 3;

/// A function of the engine whose refusal of encrypted arguments names ours.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Guided<F> {
    inner: Arc<F>,
    signature: Signature,
}

impl<F: UDFCoercionExt> Guided<F> {
    fn coerced(&self, given: &[DataType], serving: String) -> EngineResult<Vec<DataType>> {
        types(given, &*self.inner).map_err(|error| match given.contains(&DataType::Binary) {
            true => Error::plan("a function of the engine", serving).into(),
            false => error,
        })
    }
}

/// The types that a function makes of those of its arguments.
fn types(given: &[DataType], function: &impl UDFCoercionExt) -> EngineResult<Vec<DataType>> {
    let field = |given: &DataType| Arc::new(Field::new("argument", given.clone(), true));
    let fields: Vec<FieldRef> = given.iter().map(field).collect();
    let coerced = fields_with_udf(&fields, function)?;
    Ok(coerced.iter().map(|field| field.data_type().clone()).collect())
}

/// An aggregate of the engine with guidance.
pub(crate) fn aggregate(inner: Arc<AggregateUDF>) -> Arc<AggregateUDF> {
    let signature = Signature::user_defined(inner.signature().volatility);
    Arc::new(AggregateUDF::new_from_impl(Guided { inner, signature }))
}

/// A function of the engine, with guidance if it takes no bytes.
pub(crate) fn scalar(inner: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    let takes_bytes = |n| types(&vec![DataType::Binary; n], &*inner).is_ok();
    if (1..=ARGUMENTS).any(takes_bytes) {
        return inner;
    }
    let signature = Signature::user_defined(inner.signature().volatility);
    Arc::new(ScalarUDF::new_from_impl(Guided { inner, signature }))
}

/// The plan with the functions of the engine themselves.
pub(crate) fn unguided(plan: LogicalPlan) -> EngineResult<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|node| {
        node.map_expressions(|root| root.transform_up(|expr| Ok(bare(expr))))
    });
    Ok(plan?.data)
}

fn bare(mut expr: Expr) -> Transformed<Expr> {
    let function = |function: &AggregateUDF| {
        let guided = function.inner().downcast_ref::<Guided<AggregateUDF>>();
        guided.map(|guided| guided.inner.clone())
    };
    let replaced = match &mut expr {
        Expr::AggregateFunction(call) => function(&call.func).map(|inner| call.func = inner),
        Expr::WindowFunction(call) => match &mut call.fun {
            WindowFunctionDefinition::AggregateUDF(of) => function(of).map(|inner| *of = inner),
            WindowFunctionDefinition::WindowUDF(_) => None,
        },
        Expr::ScalarFunction(call) => {
            let guided = call.func.inner().downcast_ref::<Guided<ScalarUDF>>();
            guided.map(|guided| guided.inner.clone()).map(|inner| call.func = inner)
        }
        _ => None,
    };
    match replaced {
        Some(()) => Transformed::yes(expr),
        None => Transformed::no(expr),
    }
}

/// What serves in place of an aggregate.
fn serving_aggregate(name: &str) -> String {
    let serving = match name {
        "avg" | "mean" => "he_mean(x)",
        "sum" => "he_sum(x), slot by slot, or he_sum_slots(he_sum(x)), the sum of all values",
        "corr" => "he_covariance(x, y), and he_variance of both",
        name if name.starts_with("covar") => "he_covariance(x, y)",
        name if name.starts_with("var") || name.starts_with("std") => {
            "he_variance(x), the square of the standard deviation"
        }
        name if name.contains("median") || name.contains("percentile") => {
            "he_mean(x) or he_variance(x): SQL has no order statistics of encrypted values"
        }
        _ => "he_sum(x), he_mean(x), he_variance(x) or he_covariance(x, y)",
    };
    format!("{name} takes no encrypted column: take {serving}")
}

/// What serves in place of a function of single values.
fn serving_scalar(name: &str) -> String {
    let serving = match name {
        "abs" | "cos" | "exp" | "ln" | "sin" | "sqrt" | "tanh" => {
            format!("he_map(x, '{name}', lo, hi)")
        }
        "power" => "he_mul(x, x), he_polynomial(x, '0,0,0,1'), or he_map".into(),
        name if name.ends_with("length") => {
            "he_count(x), the number of values of a vector".to_string()
        }
        name => format!("he_map(x, 'x -> {name}(x)', lo, hi) if it is a function of numbers"),
    };
    format!("{name} takes no encrypted column: take {serving}")
}

impl AggregateUDFImpl for Guided<AggregateUDF> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, params: &AggregateFunctionParams) -> EngineResult<String> {
        self.inner.schema_name(params)
    }

    fn human_display(&self, params: &AggregateFunctionParams) -> EngineResult<String> {
        self.inner.human_display(params)
    }

    fn window_function_schema_name(&self, params: &WindowFunctionParams) -> EngineResult<String> {
        self.inner.window_function_schema_name(params)
    }

    fn display_name(&self, params: &AggregateFunctionParams) -> EngineResult<String> {
        self.inner.display_name(params)
    }

    fn window_function_display_name(&self, params: &WindowFunctionParams) -> EngineResult<String> {
        self.inner.window_function_display_name(params)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> EngineResult<Vec<DataType>> {
        self.coerced(given, serving_aggregate(self.inner.name()))
    }

    fn return_type(&self, given: &[DataType]) -> EngineResult<DataType> {
        self.inner.return_type(given)
    }

    fn return_field(&self, fields: &[FieldRef]) -> EngineResult<FieldRef> {
        self.inner.return_field(fields)
    }

    fn is_nullable(&self) -> bool {
        self.inner.is_nullable()
    }

    fn accumulator(&self, args: AccumulatorArgs) -> EngineResult<Box<dyn Accumulator>> {
        self.inner.accumulator(args)
    }
}

impl ScalarUDFImpl for Guided<ScalarUDF> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> EngineResult<String> {
        self.inner.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> EngineResult<Vec<DataType>> {
        self.coerced(given, serving_scalar(self.inner.name()))
    }

    fn return_type(&self, given: &[DataType]) -> EngineResult<DataType> {
        self.inner.return_type(given)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> EngineResult<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn with_updated_config(&self, config: &ConfigOptions) -> Option<ScalarUDF> {
        let updated = self.inner.inner().with_updated_config(config)?;
        Some(scalar(Arc::new(updated)).as_ref().clone())
    }

    /// Functions that are evaluated become others here: an executor has no rule that replaces them.
    fn simplify(
        &self,
        args: Vec<Expr>,
        context: &SimplifyContext,
    ) -> EngineResult<ExprSimplifyResult> {
        self.inner.simplify(args, context)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> EngineResult<ColumnarValue> {
        self.inner.invoke_with_args(args)
    }
}
