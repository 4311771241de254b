//! `he_sum`: the sum of the vectors of a group, slot by slot. It needs no key.

use std::{
    hash::{Hash as StdHash, Hasher},
    sync::Arc,
};

use bellerophon::{
    Ciphertext, Params,
    ckks::{self, CkksOps, simulator::SimCiphertext},
    format,
};
use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray},
        datatypes::{DataType, Field, FieldRef},
    },
    common::{Result as EngineResult, ScalarValue},
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, Signature, TypeSignature, Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
    },
    physical_expr::expressions::Literal,
};

use crate::{Error, Node, Result, circuit::summand, shape::Shape, vector};

const NAME: &str = "he_sum";

/// The aggregate of a node.
#[derive(Debug)]
pub(crate) struct Sum {
    node: Arc<Node>,
    signature: Signature,
}

impl Sum {
    /// The function for a session.
    pub(crate) fn udaf(node: &Arc<Node>) -> AggregateUDF {
        // The second argument is the description of the result.
        let described = TypeSignature::Exact(vec![DataType::Binary, DataType::Utf8]);
        let types = vec![TypeSignature::Exact(vec![DataType::Binary]), described];
        let signature = Signature::one_of(types, Volatility::Immutable);
        AggregateUDF::new_from_impl(Self { node: node.clone(), signature })
    }

    /// The shape of the sum of all vectors, as if they were one group.
    fn predicted(&self, field: &Field) -> Result<Shape> {
        let shape = Shape::of(NAME, 1, field)?;
        let (_, simulator) = self.node.simulator(shape.params(NAME)?)?;
        let refused = |error: ckks::Error| Error::plan(NAME, error);
        let x = summand(&simulator, &shape.simulated(&simulator)?).map_err(refused)?;
        // Sums of powers of two many vectors: the metadata of a sum do not depend on its order.
        let (mut sum, mut power): (Option<SimCiphertext>, _) = (None, x);
        let mut left = shape.vectors.max(1);
        loop {
            if left % 2 == 1 {
                sum = Some(match sum {
                    None => power.clone(),
                    Some(sum) => simulator.add(&sum, &power).map_err(refused)?,
                });
            }
            left /= 2;
            if left == 0 {
                break;
            }
            power = simulator.add(&power, &power).map_err(refused)?;
        }
        let sum = sum.unwrap_or(power);
        // The cost model counts no additions.
        Ok(shape.with(sum.metadata(), 1, simulator.report().work.seconds()))
    }
}

impl PartialEq for Sum {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.node, &other.node)
    }
}

impl Eq for Sum {}

impl StdHash for Sum {
    fn hash<H: Hasher>(&self, state: &mut H) {
        NAME.hash(state);
    }
}

impl AggregateUDFImpl for Sum {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> EngineResult<DataType> {
        Ok(DataType::Binary)
    }

    fn return_field(&self, fields: &[FieldRef]) -> EngineResult<FieldRef> {
        let field = Field::new(NAME, DataType::Binary, true);
        let shape = match fields {
            // Processes that receive a plan find the description in the argument itself.
            [_, text] => match Shape::of(NAME, 2, text) {
                Ok(shape) => shape,
                Err(_) => return Ok(Arc::new(field)),
            },
            _ => self.predicted(&fields[0])?,
        };
        Ok(Arc::new(shape.on(NAME, field)?))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> EngineResult<Vec<FieldRef>> {
        let name = format!("{}[sum]", args.name);
        Ok(vec![Arc::new(args.return_field.as_ref().clone().with_name(name))])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> EngineResult<Box<dyn Accumulator>> {
        let literal = args.exprs.get(1).and_then(|expr| expr.downcast_ref::<Literal>());
        let shape = match literal.map(Literal::value) {
            Some(ScalarValue::Utf8(Some(text))) => Shape::parse(NAME, text)?,
            _ => Shape::of(NAME, 1, &args.return_field)?,
        };
        let params = self.node.keys().params(shape.params(NAME)?)?;
        let adder = self.node.without_keys(&params, shape.owner(NAME)?)?;
        Ok(Box::new(SumState { node: self.node.clone(), params, adder, sum: None }))
    }
}

/// The sum so far.
#[derive(Debug)]
struct SumState {
    node: Arc<Node>,
    params: Params,
    adder: ckks::Evaluator,
    sum: Option<Ciphertext>,
}

impl SumState {
    fn add(&mut self, vectors: &ArrayRef) -> Result<()> {
        let vectors = vectors.as_binary::<i32>();
        let present: Vec<_> = (0..vectors.len()).filter(|&row| vectors.is_valid(row)).collect();
        let terms = self.node.rows(NAME, present.len(), |i| {
            let x = vector::read(&self.params, vectors.value(present[i]))?;
            Ok(summand(&self.adder, &x)?)
        })?;
        let all: Vec<_> = self.sum.iter().chain(&terms).collect();
        if !all.is_empty() {
            let sum = self.adder.add_many(&all).map_err(bellerophon::Error::from);
            let row = |source| Error::Row { function: NAME, row: 0, source: Box::new(source) };
            self.sum = Some(sum.map_err(row)?);
        }
        Ok(())
    }

    fn bytes(&self) -> Result<ScalarValue> {
        let bytes = self.sum.as_ref().map(|sum| format::to_bytes(&self.params, sum));
        Ok(ScalarValue::Binary(bytes.transpose()?))
    }
}

impl Accumulator for SumState {
    fn update_batch(&mut self, values: &[ArrayRef]) -> EngineResult<()> {
        Ok(self.add(&values[0])?)
    }

    /// The states of partitions are ciphertexts, as their vectors are.
    fn merge_batch(&mut self, states: &[ArrayRef]) -> EngineResult<()> {
        Ok(self.add(&states[0])?)
    }

    fn state(&mut self) -> EngineResult<Vec<ScalarValue>> {
        Ok(vec![self.bytes()?])
    }

    fn evaluate(&mut self) -> EngineResult<ScalarValue> {
        Ok(self.bytes()?)
    }

    fn size(&self) -> usize {
        let params = self.params.ckks();
        let bytes =
            |sum: &Ciphertext| params.limbs_at(sum.level()) * params.lattice().degree() * 16;
        size_of_val(self) + self.sum.as_ref().map_or(0, bytes)
    }
}
