//! `he_sum`: the sum of the vectors of a group, slot by slot. It needs no key.

use std::{
    collections::BTreeMap,
    hash::{Hash as StdHash, Hasher},
    sync::Arc,
};

use bellerophon::{
    Ciphertext, Params,
    ckks::{self, CkksOps, simulator::SimCiphertext},
    format,
    mlwe::{self, KeyId},
};
use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray, BinaryArray, BooleanArray},
        datatypes::{DataType, Field, FieldRef},
    },
    common::{Result as EngineResult, ScalarValue},
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature,
        Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
    },
    physical_expr::expressions::Literal,
};
use rayon::prelude::*;

use crate::{
    Error, Node, Result,
    circuit::summand,
    shape::{Shape, Terms},
    vector,
};

pub(crate) const NAME: &str = "he_sum";

/// The aggregate of a node.
#[derive(Debug)]
pub(crate) struct Sum {
    node: Arc<Node>,
    signature: Signature,
    /// The function that the query calls: this one, or one that consists of sums.
    called: &'static str,
}

impl Sum {
    /// The function for a session, under the name that errors of a plan have.
    pub(crate) fn udaf(node: &Arc<Node>, called: &'static str) -> AggregateUDF {
        let signature = Signature::user_defined(Volatility::Immutable);
        AggregateUDF::new_from_impl(Self { node: node.clone(), signature, called })
    }

    /// The sums of no vectors.
    fn sums(&self, args: &AccumulatorArgs) -> Result<Sums> {
        let literal = args.exprs.get(1).and_then(|expr| expr.downcast_ref::<Literal>());
        let shape = match literal.map(Literal::value) {
            Some(ScalarValue::Utf8(Some(text))) => Shape::parse(NAME, text)?,
            _ => Shape::of(NAME, 1, &args.return_field)?,
        };
        let params = self.node.keys().params(shape.params(NAME)?)?;
        let owner = shape.owner(NAME)?;
        let adder = self.node.without_keys(&params, owner)?;
        let vector = shape.memory(&params);
        Ok(Sums { node: self.node.clone(), params, owner, adder, vector, sums: vec![] })
    }

    /// The shape of the sum of all vectors, as if they were one group.
    fn predicted(&self, field: &Field) -> Result<Shape> {
        let shape = Shape::of(self.called, 1, field)?;
        self.node.shape(&format!("{NAME} {shape:?}"), || self.simulated(&shape))
    }

    fn simulated(&self, shape: &Shape) -> Result<Shape> {
        let (params, simulator) = self.node.simulator(shape.params(NAME)?)?;
        let refused = |error: ckks::Error| Error::plan(self.called, error);
        let x =
            summand(&simulator, &shape.simulated(NAME, &params, &simulator)?).map_err(refused)?;
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
        let mut sum = shape.with(sum.metadata(), 1, simulator.report().work.seconds());
        let values = shape.meta()?.bounds.values;
        shape.gaps.summed(self.called)?;
        let mask = shape.gaps.mask().map(str::to_string);
        let terms = values.is_real().then(|| Terms { lo: values.lo(), hi: values.hi(), mask });
        (sum.rows, sum.terms) = (false, terms);
        Ok(sum)
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

    /// Vectors, and behind them the description of the result.
    fn coerce_types(&self, given: &[DataType]) -> EngineResult<Vec<DataType>> {
        use DataType::{Binary, BinaryView, LargeBinary, Utf8};
        match given {
            [Binary | BinaryView | LargeBinary] => Ok(vec![Binary]),
            [Binary | BinaryView | LargeBinary, Utf8] => Ok(vec![Binary, Utf8]),
            [other] => {
                let reason = format!("an argument of type {other}: need an encrypted column");
                Err(Error::plan(self.called, reason).into())
            }
            _ => Err(Error::plan(self.called, "it takes 1 argument").into()),
        }
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
        Ok(Box::new(self.sums(&args)?))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> EngineResult<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(self.sums(&args)?))
    }
}

/// The sums of all groups so far. A query without groups has one.
#[derive(Debug)]
struct Sums {
    node: Arc<Node>,
    params: Params,
    owner: KeyId,
    adder: ckks::Evaluator,
    /// Bytes of memory of a vector.
    vector: usize,
    sums: Vec<Option<Ciphertext>>,
}

impl Sums {
    /// Adds the vectors of `rows` to their groups.
    fn add(
        &mut self,
        vectors: &ArrayRef,
        rows: impl Iterator<Item = usize>,
        group: impl Fn(usize) -> usize,
    ) -> Result<()> {
        // Step 1: all vectors, in parallel, also those of different groups.
        let vectors = vectors.as_binary::<i32>();
        let rows: Vec<usize> = rows.filter(|&row| vectors.is_valid(row)).collect();
        let _reserved = self.node.reserve(NAME, rows.len() * self.vector)?;
        let terms = self.node.rows(NAME, &rows, |row| {
            let x = vector::read(&self.params, vectors.value(row))?;
            let (found, needed) = (x.lattice().ident().key, self.owner);
            if found != needed {
                return Err(mlwe::error::key_mismatch(found, needed));
            }
            summand(&self.adder, &x)
        })?;
        // Step 2: the sums, in place, group by group.
        let mut groups = BTreeMap::<usize, Vec<(usize, Ciphertext)>>::new();
        for (row, term) in rows.into_iter().zip(terms) {
            groups.entry(group(row)).or_default().push((row, term));
        }
        let parts =
            groups.into_iter().map(|(group, terms)| (group, self.sums[group].take(), terms));
        let parts: Vec<_> = parts.collect();
        let adder = &self.adder;
        let sums: Vec<Result<_>> = self.node.on_threads(|| {
            let sums = parts.into_par_iter();
            sums.map(|(group, sum, terms)| Ok((group, total(adder, sum, terms)?))).collect()
        });
        for sum in sums {
            let (group, sum) = sum?;
            self.sums[group] = sum;
        }
        Ok(())
    }

    /// The sums in the byte format.
    fn bytes(&self, sums: &[Option<Ciphertext>]) -> Result<Vec<Option<Vec<u8>>>> {
        let all: Vec<usize> = (0..sums.len()).collect();
        self.node.each(NAME, &all, |group| {
            sums[group].as_ref().map(|sum| format::to_bytes(&self.params, sum)).transpose()
        })
    }

    fn only(&mut self) -> EngineResult<ScalarValue> {
        Ok(ScalarValue::Binary(self.bytes(&self.sums)?.pop().flatten()))
    }

    fn emit(&mut self, groups: EmitTo) -> EngineResult<ArrayRef> {
        let sums = groups.take_needed(&mut self.sums);
        let bytes = self.bytes(&sums)?;
        Ok(self.node.on_threads(|| vector::column(NAME, &bytes))?)
    }

    fn memory(&self) -> usize {
        size_of_val(self) + self.sums.iter().flatten().count() * self.vector
    }
}

impl Accumulator for Sums {
    fn update_batch(&mut self, values: &[ArrayRef]) -> EngineResult<()> {
        self.sums.resize(1, None);
        Ok(self.add(&values[0], 0..values[0].len(), |_| 0)?)
    }

    /// The states of partitions are ciphertexts, as their vectors are.
    fn merge_batch(&mut self, states: &[ArrayRef]) -> EngineResult<()> {
        Accumulator::update_batch(self, states)
    }

    fn state(&mut self) -> EngineResult<Vec<ScalarValue>> {
        Ok(vec![self.only()?])
    }

    fn evaluate(&mut self) -> EngineResult<ScalarValue> {
        self.only()
    }

    fn size(&self) -> usize {
        self.memory()
    }
}

impl GroupsAccumulator for Sums {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> EngineResult<()> {
        self.sums.resize(total, None);
        let rows = (0..groups.len()).filter(|&row| is_kept(filter, row));
        Ok(self.add(&values[0], rows, |row| groups[row])?)
    }

    fn merge_batch(
        &mut self,
        states: &[ArrayRef],
        groups: &[usize],
        total: usize,
    ) -> EngineResult<()> {
        GroupsAccumulator::update_batch(self, states, groups, None, total)
    }

    fn state(&mut self, groups: EmitTo) -> EngineResult<Vec<ArrayRef>> {
        Ok(vec![self.emit(groups)?])
    }

    /// A vector is the state of its own sum.
    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> EngineResult<Vec<ArrayRef>> {
        let vectors = values[0].as_binary::<i32>().iter().enumerate();
        let kept = vectors.map(|(row, vector)| vector.filter(|_| is_kept(filter, row)));
        Ok(vec![Arc::new(kept.collect::<BinaryArray>())])
    }

    fn evaluate(&mut self, groups: EmitTo) -> EngineResult<ArrayRef> {
        self.emit(groups)
    }

    fn size(&self) -> usize {
        self.memory()
    }
}

/// The sum of a group with the vectors of these rows.
fn total(
    adder: &ckks::Evaluator,
    sum: Option<Ciphertext>,
    terms: Vec<(usize, Ciphertext)>,
) -> Result<Option<Ciphertext>> {
    terms.into_iter().try_fold(sum, |sum, (row, term)| {
        let Some(mut sum) = sum else { return Ok(Some(term)) };
        let failed = |error: ckks::Error| {
            let source = Box::new(error);
            Error::Row { function: NAME, row, source }
        };
        adder.add_assign(&mut sum, &term).map_err(failed)?;
        Ok(Some(sum))
    })
}

/// Whether a row is one of those that an aggregate is over.
fn is_kept(filter: Option<&BooleanArray>, row: usize) -> bool {
    filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
}
