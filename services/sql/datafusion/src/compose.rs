//! Functions that are expressions of others: means, variances, covariances. One definition serves
//! SQL and the DataFrame API.

use std::sync::Arc;

use datafusion::{
    arrow::datatypes::DataType,
    common::{DFSchema, Result as EngineResult},
    functions_aggregate::sum::sum_udaf,
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, Expr, ExprSchemable, Signature, Volatility,
        WindowFunctionDefinition,
        expr::{AggregateFunction, ScalarFunction as Call},
        function::AccumulatorArgs,
        planner::{ExprPlanner, PlannerResult, RawAggregateExpr, RawBinaryExpr, RawWindowExpr},
    },
    prelude::lit,
    sql::sqlparser::ast::BinaryOperator,
};

use crate::{
    Error, Lookup, Node,
    comparison::is_encrypted,
    function::Function,
    guide,
    lookup::{self, LookupFunction},
    scalar::ScalarFunction,
    sum::{self, Sum},
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
        /// The result in the form in which it leaves the server: with this range only, at the
        /// lowest level that holds it.
        fn publish(x: Expr, lo: f64, hi: f64) = Publish;
        /// The same at a declared level, for a result that is an operand again.
        fn publish_at(x: Expr, lo: f64, hi: f64, level: i64) = Publish;
        /// The same values with this range, whatever a narrower one they state, and with the noise,
        /// rounded up, and the level that their description has: an input of a client as a server
        /// with secret constants takes it.
        fn admit(x: Expr, lo: f64, hi: f64) = Admit;
        /// The number of values.
        fn count(x: Expr) = Count;
        /// An encrypted vector of the key store.
        fn object(hash: &str) = Object;
        /// A column of LWE vectors as one of encrypted vectors.
        fn pack(x: Expr) = Pack;
    }

    /// The vectors of a table, if its column describes them.
    pub(crate) fn described(&self, x: Expr) -> Expr {
        self.call(Function::Admit, vec![x])
    }

    /// The sum of the vectors of a group, slot by slot. Needs no key.
    pub fn sum(&self, x: Expr) -> Expr {
        self.sum_for(sum::NAME, x, &None)
    }

    /// The sum of the vectors of a group that a filter keeps, for a function of this name.
    fn sum_for(&self, called: &'static str, x: Expr, filter: &Filter) -> Expr {
        aggregate(Sum::udaf(&self.node, called).into(), x, filter)
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
        self.composed(Composed::Mean, [x.clone(), x], &None)
    }

    /// The variance `E[x^2] - E[x]^2` of the values of a group, in every slot.
    pub fn variance(&self, x: Expr) -> Expr {
        self.composed(Composed::Variance, [x.clone(), x], &None)
    }

    /// The covariance `E[x y] - E[x] E[y]` of the values of a group, in every slot.
    pub fn covariance(&self, x: Expr, y: Expr) -> Expr {
        self.composed(Composed::Covariance, [x, y], &None)
    }

    /// A composed aggregate of the rows that a filter keeps, of two columns, which may be one.
    fn composed(&self, composed: Composed, [x, y]: [Expr; 2], filter: &Filter) -> Expr {
        let (called, _) = composed.signature();
        // The mean of vectors, which have as many values as those of a column.
        let mean_of = |vectors: Expr, column: &Expr| {
            let sum = self.sum_slots(self.sum_for(called, vectors, filter));
            // The sum of a query is guided as well: equal aggregates are computed once.
            let count = guide::aggregate(sum_udaf());
            let count = aggregate(count, self.count(column.clone()), filter);
            self.call(Function::Mean, vec![sum, count])
        };
        match composed {
            Composed::Mean => mean_of(x.clone(), &x),
            Composed::Variance | Composed::Covariance => {
                let products = mean_of(self.mul(x.clone(), y.clone()), &x);
                self.sub(products, self.mul(mean_of(x.clone(), &x), mean_of(y.clone(), &y)))
            }
        }
    }

    fn call(&self, function: Function, args: Vec<Expr>) -> Expr {
        let function = Arc::new(ScalarFunction::udf(function, &self.node));
        Expr::ScalarFunction(Call::new_udf(function, args))
    }
}

/// The condition on the rows of an aggregate, if there is one.
type Filter = Option<Box<Expr>>;

fn aggregate(function: Arc<AggregateUDF>, x: Expr, filter: &Filter) -> Expr {
    let filter = filter.clone();
    let call = AggregateFunction::new_udf(function, vec![x], false, filter, vec![], None);
    Expr::AggregateFunction(call)
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
            return Err(Error::plan(sum::NAME, reason).into());
        }
        // The second argument is for descriptions: the engine would make text of a column.
        if call.args.len() != 1 && call.func.inner().is::<Sum>() {
            return Err(Error::plan(sum::NAME, "it takes 1 argument").into());
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
            let func = guided(call.func);
            return Ok(PlannerResult::Original(RawAggregateExpr { func, ..call }));
        };
        let (text, arguments) = name.composed.signature();
        if call.args.len() != arguments || call.distinct || !call.order_by.is_empty() {
            let reason = format!("it takes {arguments} argument(s), and no clauses but FILTER");
            return Err(Error::plan(text, reason).into());
        }
        let title = Expr::AggregateFunction(AggregateFunction::new_udf(
            call.func.clone(),
            call.args.clone(),
            false,
            call.filter.clone(),
            vec![],
            None,
        ));
        let ([x] | [x, _], [.., y]) = (&call.args[..], &call.args[..]) else {
            return Ok(PlannerResult::Original(call));
        };
        let composed = self.0.composed(name.composed, [x.clone(), y.clone()], &call.filter);
        Ok(PlannerResult::Planned(composed.alias(title.schema_name().to_string())))
    }

    /// The engine adds no ciphertexts: the error names the function that does.
    fn plan_binary_op(
        &self,
        call: RawBinaryExpr,
        schema: &DFSchema,
    ) -> EngineResult<PlannerResult<RawBinaryExpr>> {
        let (operator, serving) = match call.op {
            BinaryOperator::Plus => ("+", "he_add(x, y)"),
            BinaryOperator::Minus => ("-", "he_sub(x, y)"),
            BinaryOperator::Multiply => ("*", "he_mul(x, y), or he_scale(x, c) for a literal"),
            BinaryOperator::Divide => {
                ("/", "he_scale(x, c) for a literal, or he_divide(x, n) for an integer")
            }
            BinaryOperator::Modulo => ("%", "he_map(x, 'x -> x % c', lo, hi)"),
            _ => return Ok(PlannerResult::Original(call)),
        };
        let encrypted = |operand: &Expr| {
            let field = operand.to_field(schema).map(|(_, field)| field);
            field.is_ok_and(|field| is_encrypted(&field))
        };
        if encrypted(&call.left) || encrypted(&call.right) {
            let reason = format!("an operand is encrypted: take {serving}");
            return Err(Error::plan(operator, reason).into());
        }
        Ok(PlannerResult::Original(call))
    }

    fn plan_window(&self, call: RawWindowExpr) -> EngineResult<PlannerResult<RawWindowExpr>> {
        let WindowFunctionDefinition::AggregateUDF(function) = &call.func_def else {
            return Ok(PlannerResult::Original(call));
        };
        let function = function.inner();
        let name = match function.downcast_ref::<Name>() {
            Some(name) => name.composed.signature().0,
            None if function.is::<Sum>() => sum::NAME,
            None if function.is::<LookupFunction>() => lookup::NAME,
            None => {
                let WindowFunctionDefinition::AggregateUDF(function) = call.func_def else {
                    return Ok(PlannerResult::Original(call));
                };
                let func_def = WindowFunctionDefinition::AggregateUDF(guided(function));
                return Ok(PlannerResult::Original(RawWindowExpr { func_def, ..call }));
            }
        };
        Err(Error::plan(name, "it is no window function: take GROUP BY in place of OVER").into())
    }
}

/// A function with guidance to ours. A count takes any column.
fn guided(function: Arc<AggregateUDF>) -> Arc<AggregateUDF> {
    match function.inner().is::<Sum>() || function.inner().is::<LookupFunction>() {
        true => function,
        false if function.name() == "count" => function,
        false => guide::aggregate(function),
    }
}
