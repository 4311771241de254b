//! The scalar functions: a value of an encrypted column for each row.

use std::{
    hash::{Hash as StdHash, Hasher},
    num::NonZeroUsize,
    sync::Arc,
};

use bellerophon::{
    Declaration,
    circuits::polynomial::Monomial,
    ckks::{self, Metadata},
    format,
};
use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray, BinaryArray, Int64Array},
        datatypes::{DataType, Field, FieldRef},
    },
    common::{Result as EngineResult, ScalarValue},
    logical_expr::{
        ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
        Signature, Volatility, expr,
        simplify::{ExprSimplifyResult, SimplifyContext},
    },
};

use crate::{
    Error, Hash, Node, Result, admission,
    circuit::Circuit,
    function::{Function, Parameter},
    gaps::Gaps,
    map::MapCall,
    node::guarded,
    server::{Server, published},
    settings,
    shape::{Shape, TABLE, Terms},
    values, vector,
};

use Parameter::{Integers, Number, Text, Vector};

/// A function of a node.
#[derive(Debug)]
pub(crate) struct ScalarFunction {
    pub(crate) function: Function,
    pub(crate) node: Arc<Node>,
    signature: Signature,
}

impl ScalarFunction {
    /// The function for a session.
    pub(crate) fn udf(function: Function, node: &Arc<Node>) -> ScalarUDF {
        // An object has no arguments that vary, but it must not become a literal of the plan: a
        // literal has no owner.
        let volatility = match function {
            Function::Object => Volatility::Volatile,
            _ => Volatility::Immutable,
        };
        let signature = Signature::user_defined(volatility);
        ScalarUDF::new_from_impl(Self { function, node: node.clone(), signature })
    }

    /// Whether a call has the description of its result as the last argument.
    pub(crate) fn is_described(&self, args: &[Expr]) -> bool {
        let constants = args.iter().map(|arg| match arg {
            Expr::Literal(value, _) => Some(value),
            _ => None,
        });
        self.description(&constants.collect::<Vec<_>>()).is_some()
    }

    /// The description of the result: a text behind the parameters.
    fn description<'a>(&self, constants: &[Option<&'a ScalarValue>]) -> Option<&'a str> {
        match *constants.get(self.function.least()..)?.last()? {
            Some(ScalarValue::Utf8(Some(text))) => Some(text),
            _ => None,
        }
    }

    /// What to compute, from the literal arguments; none for columns where literals are needed.
    fn operation(&self, constants: &[Option<&ScalarValue>]) -> Result<Operation> {
        let (name, parameters) = self.function.signature();
        let described = usize::from(self.description(constants).is_some());
        let constants = &constants[..constants.len() - described];
        let missing = |argument: usize| {
            let or = match parameters[argument] == Text && self.function == Function::Map {
                true => ", or a table of the key store, he_object('hash')",
                false => "",
            };
            Error::plan(name, format!("argument {} must be a literal{or}", argument + 1))
        };
        let number = |argument: usize| match constants.get(argument).copied().flatten() {
            Some(ScalarValue::Float64(Some(number))) if number.is_finite() => Ok(*number),
            Some(ScalarValue::Int64(Some(number))) => Ok(*number as f64),
            _ => Err(missing(argument)),
        };
        let text = |argument: usize| match constants.get(argument).copied().flatten() {
            Some(ScalarValue::Utf8(Some(text))) => Ok(text.as_str()),
            _ => Err(missing(argument)),
        };
        let circuit = match self.function {
            Function::Add => Circuit::Add,
            Function::Sub => Circuit::Sub,
            Function::Mul => Circuit::Mul,
            Function::Dot => Circuit::Dot,
            Function::Scale => Circuit::Scale(number(1)?),
            Function::Rotate => match number(1)? {
                // Larger numbers are no exact integers.
                step if step.fract() == 0.0 && step.abs() < (1u64 << 53) as f64 => {
                    Circuit::Rotate(step as i64)
                }
                _ => return Err(Error::plan(name, "argument 2 must be an integer")),
            },
            Function::Polynomial => Circuit::Polynomial(polynomial(name, text(1)?)?),
            Function::SumSlots => Circuit::SumSlots,
            Function::Refresh => Circuit::Bootstrap,
            Function::AssumeRange => Circuit::AssumeRange(number(1)?, number(2)?),
            Function::AssumeError => Circuit::AssumeError(number(1)?),
            Function::Divide | Function::Mean => {
                let literal = match constants.get(1).copied().flatten() {
                    Some(ScalarValue::Int64(Some(count))) => usize::try_from(*count).ok(),
                    _ => None,
                };
                let literal = literal.and_then(NonZeroUsize::new);
                return Ok(Operation::Divide(literal, self.function == Function::Mean));
            }
            Function::Count => return Ok(Operation::Count),
            Function::Admit if constants.len() == 1 => return Ok(Operation::Admit),
            Function::Admit => return Ok(Operation::Declare([number(1)?, number(2)?])),
            Function::Pack => return Ok(Operation::Pack),
            Function::Object => {
                let malformed = |reason| Error::plan(name, reason);
                return Ok(Operation::Object(text(0)?.parse().map_err(malformed)?));
            }
            Function::Publish => {
                let declared = Declaration::from(number(1)?..=number(2)?);
                let declared = match constants.len() == parameters.len() {
                    true => declared.with_level(match number(3)? {
                        level if level.fract() == 0.0 && (0.0..1e6).contains(&level) => {
                            level as usize
                        }
                        _ => return Err(Error::plan(name, "argument 4 must be a level")),
                    }),
                    false => declared,
                };
                return Ok(Operation::Publish(declared));
            }
            Function::Map => {
                let bits = match constants.len() == parameters.len() {
                    true => Some(number(4)?),
                    false => None,
                };
                let domain = (number(2)?, number(3)?);
                return Ok(Operation::Map(MapCall::new(&self.node, text(1)?, domain, bits)?));
            }
        };
        Ok(Operation::Circuit(circuit))
    }

    /// The shapes of the vectors among the arguments.
    fn shapes(&self, fields: &[FieldRef]) -> Result<Vec<Shape>> {
        let (name, parameters) = self.function.signature();
        let vectors = parameters.iter().zip(fields).enumerate();
        let vectors = vectors.filter(|(_, (parameter, _))| **parameter == Vector);
        vectors.map(|(i, (_, field))| Shape::of(name, i + 1, field)).collect()
    }

    /// The shape of the result: the library's prediction.
    fn predicted(&self, operation: &Operation, fields: &[FieldRef]) -> Result<Shape> {
        let (name, _) = self.function.signature();
        let shapes = self.shapes(fields)?;
        // A square has more noise than a product. Two expressions of one description may be one.
        let square = shapes.len() == 2 && fields[0] == fields[1];
        let key = format!("{name} {} {square} {shapes:?}", operation.key());
        self.node.shape(&key, || self.simulated(operation, &shapes, square))
    }

    fn simulated(&self, operation: &Operation, shapes: &[Shape], square: bool) -> Result<Shape> {
        let (name, _) = self.function.signature();
        let common = Shape::common(name, shapes)?;
        let vectors = shapes.iter().map(|shape| shape.vectors).max().unwrap_or(1);
        let (params, simulator) = self.node.simulator(common.params(name)?)?;
        let refused = |error: ckks::Error| Error::plan(name, error);
        let operands = shapes.iter().map(|shape| shape.simulated(name, &params, &simulator));
        let operands = operands.collect::<Result<Vec<_>>>()?;
        let mut borrowed: Vec<_> = operands.iter().collect();
        if square {
            borrowed[1] = borrowed[0];
        }
        let (result, seconds) = match operation {
            Operation::Circuit(circuit) => {
                (*circuit.evaluate(&simulator, &borrowed).map_err(refused)?.metadata(), None)
            }
            // A count of the query is not known: that of all vectors is the largest.
            Operation::Divide(literal, is_mean) => {
                let slots = operands[0].metadata().meta.slots;
                let most = NonZeroUsize::new(common.vectors.saturating_mul(slots));
                let count = literal.or(most).unwrap_or(NonZeroUsize::MIN);
                let circuit = Circuit::Divide(count, mean_range(common, *is_mean));
                (*circuit.evaluate(&simulator, &borrowed).map_err(refused)?.metadata(), None)
            }
            Operation::Map(call) => {
                let metadata = *operands[0].metadata();
                let (level, len) = (metadata.level, metadata.meta.len);
                let place = format!("{} {level} {len}", params.fingerprint());
                let request = call.request().count(len).level(level);
                let key = format!("{} {place}", call.key());
                let plan = self.node.map_plan(&key, || params.map_plan(&request));
                let plan = plan.map_err(|error| Error::plan(name, error))?;
                let Some(prediction) = plan.prediction() else {
                    return Err(Error::plan(name, format!("no engine serves it:\n{plan}")));
                };
                call.check(&metadata.meta.bounds.values, plan.chosen)?;
                let x = call.result(&simulator, &metadata, prediction)?;
                (*x.metadata(), Some(prediction.seconds))
            }
            Operation::Publish(declared) => {
                (published(name, params.ckks(), operands[0].metadata(), declared)?, None)
            }
            Operation::Declare(range) => {
                let x = operands[0].metadata();
                let declared = declared(*range, x, x.noise());
                (published(name, params.ckks(), x, &declared)?, None)
            }
            // Its operand has the description of the result.
            Operation::Pack | Operation::Count | Operation::Object(_) | Operation::Admit => {
                (*operands[0].metadata(), None)
            }
        };
        let each = seconds.unwrap_or_else(|| simulator.report().work.seconds());
        let mut result = common.with(&result, vectors, each * vectors as f64);
        // Sums over slots are one value in every slot.
        let is_total = matches!(self.function, Function::SumSlots | Function::Dot);
        result.rows = !is_total && shapes.iter().any(|shape| shape.rows);
        let keeps = matches!(self.function, Function::SumSlots | Function::Mean);
        let terms = common.terms.clone().filter(|_| keeps);
        if let Some(Terms { mask: Some(mask), .. }) = &terms
            && self.function == Function::Mean
        {
            let reason = format!(
                "its column has missing values, and their number is encrypted: the client divides \
                 he_sum_slots(he_sum(x)) by he_sum_slots(he_sum({mask})), the number of values"
            );
            return Err(Error::plan("a mean", reason));
        }
        let gaps: Vec<_> = shapes.iter().map(|shape| &shape.gaps).collect();
        (result.gaps, result.terms) = (Gaps::of(self.function, &gaps)?, terms);
        Ok(result)
    }

    /// Computes the rows of a batch.
    fn compute(&self, args: &ScalarFunctionArgs) -> Result<ArrayRef> {
        let (name, parameters) = self.function.signature();
        settings::checked(&args.config_options)?;
        let constants = args.args.iter().map(|arg| match arg {
            ColumnarValue::Scalar(scalar) => Some(scalar),
            ColumnarValue::Array(_) => None,
        });
        let constants = constants.collect::<Vec<_>>();
        let operation = self.operation(&constants)?;
        let rows = args.number_rows;
        let all: Vec<usize> = (0..rows).collect();
        if let Operation::Object(hash) = operation {
            let bytes = self.node.keys().vector(hash)?;
            return Ok(Arc::new(BinaryArray::from_iter_values((0..rows).map(|_| &bytes))));
        }
        // Step 1: columns of vectors.
        let vectors = parameters.iter().zip(&args.args).filter(|(p, _)| **p == Vector);
        let columns = vectors
            .map(|(_, value)| Ok(value.to_array(rows)?.as_binary::<i32>().clone()))
            .collect::<Result<Vec<BinaryArray>>>()?;
        let valid = |row: usize| columns.iter().all(|column| column.is_valid(row));
        // Step 2: parameters, keys, memory. The fields of the arguments need not carry metadata any
        // more where the function runs; that of its result does, or the call has its description.
        let shape = match self.description(&constants) {
            Some(text) => Shape::parse(name, text)?,
            None => Shape::on_field(&args.return_field)
                .ok_or(Error::NotEncrypted { function: name, argument: 1 })?,
        };
        let params = self.node.keys().params(shape.params(name)?)?;
        if matches!(operation, Operation::Admit) {
            return admission::check(&self.node, &params, &shape, &columns[0]);
        }
        let mut memory = (columns.len() + 1) * rows * shape.memory(&params);
        if matches!(operation, Operation::Pack) {
            // A residue takes a word of 64 bits; packed, it has 28 or more in all presets.
            let offsets = columns[0].value_offsets();
            memory += 3 * (offsets[rows] - offsets[0]) as usize;
        }
        let _reserved = self.node.reserve(name, memory)?;
        let read = |column: usize, row: usize| vector::read(&params, columns[column].value(row));
        if matches!(operation, Operation::Count) {
            let count = |row| match valid(row) {
                true => Ok(Some(vector::len(&params, columns[0].value(row))? as i64)),
                false => Ok(None),
            };
            let counts = self.node.rows(name, &all, count)?;
            return Ok(Arc::new(Int64Array::from(counts)));
        }
        let server = match self.function.needs_keys() {
            true => {
                let keys = settings::keys(name, &args.config_options)?;
                Server::Keys(keys, self.node.keys().evaluator(keys, &params)?)
            }
            false => Server::NoKeys(self.node.without_keys(&params, shape.owner(name)?)?),
        };
        // Step 3: the rows.
        let counts = match operation {
            Operation::Divide(..) => {
                counts(name, args.args[1].to_array(rows)?.as_primitive(), valid)?
            }
            _ => vec![],
        };
        let twice = columns.len() == 2 && same(&columns[0], &columns[1]);
        let compute = |row: usize| {
            if !valid(row) {
                return Ok(None);
            }
            if matches!(operation, Operation::Pack) {
                let packed = server.pack(&values::read(&params, columns[0].value(row))?)?;
                return format::to_bytes(&params, &packed).map(Some);
            }
            let x = read(0, row)?;
            let other = match columns.len() > 1 && !twice {
                true => Some(read(1, row)?),
                false => None,
            };
            let y = other.as_ref().unwrap_or(&x);
            match &operation {
                Operation::Circuit(circuit) => {
                    let result = circuit.evaluate(server.slots(), &[&x, y])?;
                    format::to_bytes(&params, &result).map(Some)
                }
                Operation::Divide(_, is_mean) => {
                    let Some(count) = counts[row] else { return Ok(None) };
                    let circuit = Circuit::Divide(count, mean_range(&shape, *is_mean));
                    let result = circuit.evaluate(server.slots(), &[&x])?;
                    format::to_bytes(&params, &result).map(Some)
                }
                Operation::Publish(declared) => {
                    let published = server.slots().publish(&x, *declared)?;
                    format::to_bytes(&params, &published).map(Some)
                }
                Operation::Declare(range) => {
                    // Above the half of a power of two, which it is rounded up to again.
                    let result = Metadata { level: shape.level, meta: shape.meta()? };
                    let declared = declared(*range, &result, 0.75 * result.noise());
                    format::to_bytes(&params, &server.slots().admit(&x, declared)?).map(Some)
                }
                Operation::Map(call) => {
                    let result = server.map(&self.node, call, &x)?;
                    format::to_bytes(&params, &result).map(Some)
                }
                Operation::Pack | Operation::Count | Operation::Object(_) | Operation::Admit => {
                    Ok(None)
                }
            }
        };
        let vectors = self.node.rows(name, &all, compute)?;
        self.node.on_threads(|| vector::column(name, &vectors))
    }
}

/// What a function computes, with its literal arguments.
#[derive(Debug, Clone)]
enum Operation {
    Circuit(Circuit),
    Map(MapCall),
    Publish(Declaration),
    /// Division by an integer of the row, which may be a literal; whether the result is a mean.
    Divide(Option<NonZeroUsize>, bool),
    /// A column of a table.
    Admit,
    /// A declaration of the query for a vector of anybody.
    Declare([f64; 2]),
    /// The number of values.
    Count,
    /// A vector of the key store.
    Object(Hash),
    /// LWE vectors to vectors in slots.
    Pack,
}

impl Operation {
    /// A text that says what is computed, for caches.
    fn key(&self) -> String {
        match self {
            Self::Map(call) => call.key(),
            operation => format!("{operation:?}"),
        }
    }
}

/// The declaration of a query: a range, with the noise, level and scale of a description.
fn declared([lo, hi]: [f64; 2], x: &Metadata, noise: f64) -> Declaration {
    let declared = Declaration::from(lo..=hi).with_noise(noise);
    declared.with_level(x.level).with_scale(x.meta.scale)
}

/// The range of a mean, which is that of what it is of.
fn mean_range(shape: &Shape, is_mean: bool) -> Option<[f64; 2]> {
    shape.terms.as_ref().filter(|_| is_mean).map(|terms| [terms.lo, terms.hi])
}

/// Whether two columns are one: a square is cheaper than a product.
fn same(x: &BinaryArray, y: &BinaryArray) -> bool {
    x.value_data().as_ptr() == y.value_data().as_ptr() && x.value_offsets() == y.value_offsets()
}

/// The divisors of the rows that have a vector.
fn counts(
    function: &'static str,
    counts: &Int64Array,
    valid: impl Fn(usize) -> bool,
) -> Result<Vec<Option<NonZeroUsize>>> {
    let divisor = |(row, count): (usize, Option<i64>)| match count.filter(|_| valid(row)) {
        None => Ok(None),
        Some(count) => match usize::try_from(count).ok().and_then(NonZeroUsize::new) {
            None => Err(Error::Divisor { function, row, count }),
            divisor => Ok(divisor),
        },
    };
    counts.iter().enumerate().map(divisor).collect()
}

/// The coefficients of a polynomial, the constant first, with commas between them.
fn polynomial(name: &'static str, text: &str) -> Result<Monomial> {
    let numbers: std::result::Result<Vec<f64>, _> =
        text.split(',').map(|number| number.trim().parse()).collect();
    let numbers = numbers.map_err(|_| {
        let reason = format!("{text:?} is no polynomial: need coefficients such as '1,0,-0.5'");
        Error::plan(name, reason)
    })?;
    Monomial::new(&numbers).map_err(|error| Error::plan(name, error))
}

impl PartialEq for ScalarFunction {
    fn eq(&self, other: &Self) -> bool {
        self.function == other.function && Arc::ptr_eq(&self.node, &other.node)
    }
}

impl Eq for ScalarFunction {}

impl StdHash for ScalarFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.hash(state);
    }
}

impl ScalarUDFImpl for ScalarFunction {
    fn name(&self) -> &str {
        self.function.signature().0
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> EngineResult<Vec<DataType>> {
        let (name, parameters) = self.function.signature();
        let least = self.function.least();
        let described = given.len() > least && given.last() == Some(&DataType::Utf8);
        let given = &given[..given.len() - usize::from(described)];
        if !(least..=parameters.len()).contains(&given.len()) {
            let needed = match least == parameters.len() {
                true => least.to_string(),
                false => format!("{least} to {}", parameters.len()),
            };
            let reason = format!("{} argument(s): need {needed}", given.len());
            return Err(Error::plan(name, reason).into());
        }
        let coerced = |(parameter, given): (&Parameter, &DataType)| match (parameter, given) {
            (Vector, DataType::Binary | DataType::LargeBinary | DataType::BinaryView) => {
                Ok(DataType::Binary)
            }
            // Integers stay integers: a cast would hide that the argument is a literal.
            (Number, DataType::Int64) | (Integers, DataType::Int64) => Ok(DataType::Int64),
            (Number, DataType::Float64) => Ok(DataType::Float64),
            (Text, DataType::Utf8) => Ok(DataType::Utf8),
            // The name of an object.
            (Text, DataType::Binary) if self.function == Function::Map => Ok(DataType::Binary),
            (parameter, given) => {
                let reason = format!("an argument of type {given}: need {parameter:?}");
                Err(Error::plan(name, reason).into())
            }
        };
        let description = described.then_some(Ok(DataType::Utf8));
        parameters.iter().zip(given).map(coerced).chain(description).collect()
    }

    fn return_type(&self, _: &[DataType]) -> EngineResult<DataType> {
        Ok(match self.function {
            Function::Count => DataType::Int64,
            _ => DataType::Binary,
        })
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> EngineResult<FieldRef> {
        let (name, _) = self.function.signature();
        // A missing argument gives a missing result, and nothing else does.
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        let field = Field::new(name, self.return_type(&[])?, nullable);
        if let Some(text) = self.description(args.scalar_arguments) {
            return Ok(Arc::new(Shape::parse(name, text)?.on(name, field)?));
        }
        if self.function == Function::Admit && args.arg_fields.len() == 1 {
            let column = args.arg_fields[0].as_ref().clone();
            return Ok(Arc::new(column.with_data_type(DataType::Binary)));
        }
        // The name of a table is that of an object, until the call is simplified.
        let tables = args.arg_fields.iter().map(|field| {
            let table = field.metadata().get(TABLE)?;
            Some(ScalarValue::from(table.as_str()))
        });
        let tables = tables.collect::<Vec<_>>();
        let constants = args.scalar_arguments.iter().zip(&tables);
        let constants = constants.map(|(constant, table)| constant.or(table.as_ref()));
        let operation = self.operation(&constants.collect::<Vec<_>>())?;
        if let Operation::Object(hash) = operation {
            let keys = self.node.keys();
            if keys.is_table(hash)? {
                let named = [(TABLE.to_string(), hash.to_string())];
                return Ok(Arc::new(field.with_metadata(named.into())));
            }
            let shape = self.node.shape(&format!("{name} {hash}"), || {
                let (params, x) = keys.object(hash)?;
                let owner = x.lattice().ident().key;
                let mut shape = Shape::new(params, owner, 1, &x.metadata());
                shape.rows = false;
                Ok(shape)
            })?;
            return Ok(Arc::new(shape.on(name, field)?));
        }
        // The planner of a map calls the function.
        let shape = guarded(|| self.predicted(&operation, args.arg_fields));
        let panicked = |message| Error::plan(name, format!("the function panicked: {message}"));
        let shape = shape.map_err(panicked)??;
        Ok(Arc::new(shape.on(name, field)?))
    }

    /// A table in the place of a literal becomes the literal of its name: executors get no field
    /// metadata, and no copy of the table for every row.
    fn simplify(
        &self,
        mut args: Vec<Expr>,
        _: &SimplifyContext,
    ) -> EngineResult<ExprSimplifyResult> {
        let (_, parameters) = self.function.signature();
        let texts = parameters.iter().zip(&mut args).filter(|(parameter, _)| **parameter == Text);
        let mut simplified = false;
        for (_, arg) in texts {
            let Expr::ScalarFunction(call) = &*arg else { continue };
            let Some(object) = call.func.inner().downcast_ref::<Self>() else { continue };
            if object.function == Function::Object
                && let [hash, ..] = &call.args[..]
            {
                *arg = hash.clone();
                simplified = true;
            }
        }
        if !simplified {
            return Ok(ExprSimplifyResult::Original(args));
        }
        let function = Arc::new(Self::udf(self.function, &self.node));
        let call = Expr::ScalarFunction(expr::ScalarFunction::new_udf(function, args));
        Ok(ExprSimplifyResult::Simplified(call))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> EngineResult<ColumnarValue> {
        Ok(ColumnarValue::Array(self.compute(&args)?))
    }
}
