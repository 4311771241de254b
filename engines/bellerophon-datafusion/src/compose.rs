//! Functions that are expressions of others: means, variances, covariances. One definition serves
//! SQL and the DataFrame API.

use std::sync::Arc;

use datafusion::{
    arrow::datatypes::DataType,
    common::Result as EngineResult,
    functions_aggregate::sum::sum,
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, Expr, Signature, Volatility,
        WindowFunctionDefinition,
        expr::{AggregateFunction, ScalarFunction as Call},
        function::AccumulatorArgs,
        planner::{ExprPlanner, PlannerResult, RawAggregateExpr, RawWindowExpr},
    },
    prelude::lit,
};

use crate::{
    Error, Lookup, Node,
    function::Function,
    lookup::{self, LookupFunction},
    scalar::ScalarFunction,
    sum::Sum,
};

/// The functions of a node as expressions, for the DataFrame API: the same as in SQL.
#[derive(Debug, Clone)]
pub struct Functions {
    node: Arc<Node>,
}

macro_rules! calls {
    ($($(#[$attribute:meta])* fn $name:ident($($arg:ident: $type:ty),*) = $function:ident;)*) => {$(
        $(#[$attribute])*
        pub fn $name(&self, $($arg: $type),*) -> Expr {
            self.call(Function::$function, vec![$(Expr::from(Argument::from($arg))),*])
        }
    )*};
}

impl Functions {
    /// The functions of a node.
    pub fn new(node: &Arc<Node>) -> Self {
        Self { node: node.clone() }
    }

    calls! {
        /// `x + y`, slot by slot.
        fn add(x: Expr, y: Expr) = Add;
        /// `x - y`, slot by slot.
        fn sub(x: Expr, y: Expr) = Sub;
        /// `x y`, slot by slot. Takes a level.
        fn mul(x: Expr, y: Expr) = Mul;
        /// The sum of `x y` over the slots, in every slot. Takes a level.
        fn dot(x: Expr, y: Expr) = Dot;
        /// `factor x`. Takes a level.
        fn scale(x: Expr, factor: f64) = Scale;
        /// Value `i + step` at place `i`.
        fn rotate(x: Expr, step: i64) = Rotate;
        /// A polynomial, given by its coefficients: `"1,0,-0.5"` is `1 - x^2 / 2`.
        fn polynomial(x: Expr, coefficients: &str) = Polynomial;
        /// The sum of the values, in every slot.
        fn sum_slots(x: Expr) = SumSlots;
        /// The same values with new levels, by bootstrapping.
        fn refresh(x: Expr) = Refresh;
        /// `x` divided by the integer of the row. Takes a level.
        fn divide(x: Expr, count: Expr) = Divide;
        /// A function over a domain, to 12 bits after the binary point.
        fn map(x: Expr, function: &str, lo: f64, hi: f64) = Map;
        /// A function over a domain, to `bits` bits after the binary point.
        fn map_to(x: Expr, function: &str, lo: f64, hi: f64, bits: f64) = Map;
        /// The same values with a range that the caller promises, where interval arithmetic derives
        /// a wider one.
        fn assume_range(x: Expr, lo: f64, hi: f64) = AssumeRange;
        /// The same values with a standard deviation of the error that the caller promises, where
        /// the library bounds it by a larger one.
        fn assume_error(x: Expr, error: f64) = AssumeError;
        /// The result in the form in which it leaves the server: with this range only.
        fn publish(x: Expr, lo: f64, hi: f64) = Publish;
        /// The number of values.
        fn count(x: Expr) = Count;
        /// An encrypted vector of the key store.
        fn object(hash: &str) = Object;
        /// A column of LWE vectors as one of encrypted vectors.
        fn pack(x: Expr) = Pack;
    }

    /// The sum of the vectors of a group, slot by slot. Needs no key.
    pub fn sum(&self, x: Expr) -> Expr {
        let function = Arc::new(Sum::udaf(&self.node));
        let call = AggregateFunction::new_udf(function, vec![x], false, None, vec![], None);
        Expr::AggregateFunction(call)
    }

    /// The values of a table in the clear at the encrypted points of a query: private look-up.
    /// `point` and `value` are integer columns.
    pub fn lookup(&self, point: Expr, value: Expr, lookup: &Lookup) -> Expr {
        let names = [lookup.params, lookup.keys, lookup.query].map(|name| lit(name.to_string()));
        let args = [point, value].into_iter().chain(names).collect();
        let function = Arc::new(LookupFunction::udaf(&self.node));
        let call = AggregateFunction::new_udf(function, args, false, None, vec![], None);
        Expr::AggregateFunction(call)
    }

    /// The mean of the values of a group, in every slot.
    pub fn mean(&self, x: Expr) -> Expr {
        self.mean_of(x.clone(), x)
    }

    /// The variance `E[x^2] - E[x]^2` of the values of a group, in every slot.
    pub fn variance(&self, x: Expr) -> Expr {
        self.covariance(x.clone(), x)
    }

    /// The covariance `E[x y] - E[x] E[y]` of the values of a group, in every slot.
    pub fn covariance(&self, x: Expr, y: Expr) -> Expr {
        let products = self.mean_of(self.mul(x.clone(), y.clone()), x.clone());
        let means = self.mul(self.mean(x.clone()), self.mean_of(y, x));
        self.sub(products, means)
    }

    /// The mean of the values of vectors that have as many values as `counted`.
    fn mean_of(&self, x: Expr, counted: Expr) -> Expr {
        self.divide(self.sum_slots(self.sum(x)), sum(self.count(counted)))
    }

    fn call(&self, function: Function, args: Vec<Expr>) -> Expr {
        let function = Arc::new(ScalarFunction::udf(function, &self.node));
        Expr::ScalarFunction(Call::new_udf(function, args))
    }
}

/// An argument of a function: an expression or a constant.
enum Argument {
    Expr(Expr),
    Number(f64),
    Integer(i64),
    Text(String),
}

impl From<Expr> for Argument {
    fn from(x: Expr) -> Self {
        Self::Expr(x)
    }
}

impl From<f64> for Argument {
    fn from(x: f64) -> Self {
        Self::Number(x)
    }
}

impl From<i64> for Argument {
    fn from(x: i64) -> Self {
        Self::Integer(x)
    }
}

impl From<&str> for Argument {
    fn from(x: &str) -> Self {
        Self::Text(x.into())
    }
}

impl From<Argument> for Expr {
    fn from(argument: Argument) -> Self {
        match argument {
            Argument::Expr(x) => x,
            Argument::Number(x) => lit(x),
            Argument::Integer(x) => lit(x),
            Argument::Text(x) => lit(x),
        }
    }
}

/// An aggregate of SQL that is an expression of other functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Composed {
    Mean,
    Variance,
    Covariance,
}

impl Composed {
    const fn signature(self) -> (&'static str, usize) {
        match self {
            Self::Mean => ("he_mean", 1),
            Self::Variance => ("he_variance", 1),
            Self::Covariance => ("he_covariance", 2),
        }
    }
}

/// The name of a composed aggregate, which [`Composer`] replaces by its expression.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Name {
    composed: Composed,
    signature: Signature,
}

/// The names of the composed aggregates, for SQL.
pub(crate) fn names() -> Vec<Arc<AggregateUDF>> {
    let all = [Composed::Mean, Composed::Variance, Composed::Covariance];
    let udaf = |composed: Composed| {
        let (_, arguments) = composed.signature();
        let types = vec![DataType::Binary; arguments];
        let signature = Signature::exact(types, Volatility::Immutable);
        Arc::new(AggregateUDF::new_from_impl(Name { composed, signature }))
    };
    all.into_iter().map(udaf).collect()
}

impl Name {
    fn unplanned<T>(&self) -> EngineResult<T> {
        let reason = "a session without its planner: take one of `session()`";
        Err(Error::plan(self.composed.signature().0, reason).into())
    }
}

impl AggregateUDFImpl for Name {
    fn name(&self) -> &str {
        self.composed.signature().0
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> EngineResult<DataType> {
        self.unplanned()
    }

    fn accumulator(&self, _: AccumulatorArgs) -> EngineResult<Box<dyn Accumulator>> {
        self.unplanned()
    }
}

/// Replaces the composed aggregates of SQL by their expressions.
#[derive(Debug)]
pub(crate) struct Composer(pub(crate) Functions);

impl ExprPlanner for Composer {
    fn plan_aggregate(
        &self,
        call: RawAggregateExpr,
    ) -> EngineResult<PlannerResult<RawAggregateExpr>> {
        // The engine would replace DISTINCT by a grouping.
        if call.distinct && call.func.inner().is::<Sum>() {
            let reason = "DISTINCT compares ciphertexts, which differ for equal values";
            return Err(Error::plan("he_sum", reason).into());
        }
        // The second argument is for descriptions: the engine would make text of a column.
        if call.args.len() != 1 && call.func.inner().is::<Sum>() {
            return Err(Error::plan("he_sum", "it takes 1 argument").into());
        }
        if let Some(function) = call.func.inner().downcast_ref::<LookupFunction>() {
            if call.distinct {
                let reason = "DISTINCT would hide rows that have the same point";
                return Err(Error::plan(lookup::NAME, reason).into());
            }
            // A query that does not fit its keys is refused before it starts.
            Lookup::of_args(&call.args)?.predicted(function.node.keys())?;
        }
        let Some(name) = call.func.inner().downcast_ref::<Name>() else {
            return Ok(PlannerResult::Original(call));
        };
        let (text, arguments) = name.composed.signature();
        let plain = !call.distinct && call.filter.is_none() && call.order_by.is_empty();
        if call.args.len() != arguments || !plain {
            let reason = format!("it takes {arguments} argument(s), and no clauses");
            return Err(Error::plan(text, reason).into());
        }
        let title = Expr::AggregateFunction(AggregateFunction::new_udf(
            call.func.clone(),
            call.args.clone(),
            false,
            None,
            vec![],
            None,
        ));
        let mut args = call.args.into_iter();
        let mut next = || args.next().ok_or_else(|| Error::plan(text, "no argument"));
        let x = next()?;
        let composed = match name.composed {
            Composed::Mean => self.0.mean(x),
            Composed::Variance => self.0.variance(x),
            Composed::Covariance => self.0.covariance(x, next()?),
        };
        Ok(PlannerResult::Planned(composed.alias(title.schema_name().to_string())))
    }

    fn plan_window(&self, call: RawWindowExpr) -> EngineResult<PlannerResult<RawWindowExpr>> {
        let WindowFunctionDefinition::AggregateUDF(function) = &call.func_def else {
            return Ok(PlannerResult::Original(call));
        };
        let function = function.inner();
        let name = match function.downcast_ref::<Name>() {
            Some(name) => name.composed.signature().0,
            None if function.is::<Sum>() => "he_sum",
            None if function.is::<LookupFunction>() => lookup::NAME,
            None => return Ok(PlannerResult::Original(call)),
        };
        Err(Error::plan(name, "it is no window function: take GROUP BY in place of OVER").into())
    }
}
