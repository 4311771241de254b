//! `he_lookup`: private look-up in a table of the server. Every partition of the table is a shard,
//! whose state is one encrypted response; responses add up.

use std::{
    hash::{Hash as StdHash, Hasher},
    sync::Arc,
};

use bellerophon::{
    bfv,
    ckks::cost::Prices,
    format,
    mlwe::Security,
    pir::{Client, Pending, Query, Response, Server, ServerKeys, Shard},
};
use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray, BinaryArray, Int64Array},
        datatypes::{DataType, Field, FieldRef, Int64Type},
        record_batch::RecordBatch,
    },
    common::{Result as EngineResult, ScalarValue},
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, Expr, Signature, Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
    },
    physical_expr::expressions::Literal,
};

use crate::{
    Error, Hash, KeyStore, Node, Result,
    object::{MOST_PARAMS, REST},
};

pub(crate) const NAME: &str = "he_lookup";

/// The arguments in front of the names of objects: point and value.
const COLUMNS: usize = 2;

/// Polynomials of a key of one limb each, at most: digits of a bit, or digits over special primes.
const DIGITS: u64 = 64;

/// Bytes of a query, at most: 2 GiB of bodies, and as many masks.
const MOST_QUERY: u64 = (1 << 32) + REST;

/// The names of the objects of a private look-up in the key store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lookup {
    /// The parameters ([`bfv::Params`]).
    pub params: Hash,
    /// The public keys of the client ([`ServerKeys`]).
    pub keys: Hash,
    /// The encrypted points ([`Query`]).
    pub query: Hash,
}

impl Lookup {
    /// Stores the objects of a query.
    ///
    /// # Errors
    /// Those of [`KeyStore::put`], and of objects with other parameters.
    pub fn put(
        store: &KeyStore,
        params: &bfv::Params,
        keys: &ServerKeys,
        query: &Query,
    ) -> Result<Self> {
        Ok(Self {
            params: store.put(&format::to_bytes(&Security::Insecure, params)?)?,
            keys: store.put(&format::to_bytes(params, keys)?)?,
            query: store.put(&format::to_bytes(params, query)?)?,
        })
    }

    /// The names as they stand in SQL, behind the columns of points and values.
    fn parse(texts: [Option<&str>; 3]) -> Result<Self> {
        let mut hashes = texts.into_iter().enumerate().map(|(i, text)| {
            let missing = format!("argument {} must be a literal", COLUMNS + i + 1);
            let text = text.ok_or_else(|| Error::plan(NAME, missing))?;
            text.parse().map_err(|reason| Error::plan(NAME, reason))
        });
        let mut next = || hashes.next().unwrap_or_else(|| Err(Error::plan(NAME, "no argument")));
        Ok(Self { params: next()?, keys: next()?, query: next()? })
    }

    /// The names in the arguments of a call.
    pub(crate) fn of_args(args: &[Expr]) -> Result<Self> {
        let text = |i: usize| match args.get(COLUMNS + i) {
            Some(Expr::Literal(ScalarValue::Utf8(Some(text)), _)) => Some(text.as_str()),
            _ => None,
        };
        Self::parse([text(0), text(1), text(2)])
    }

    /// The parameters, the keys and the query. Keys and query must have one owner.
    fn read(&self, store: &KeyStore) -> Result<(bfv::Params, ServerKeys, Query)> {
        let params: bfv::Params = store.read(self.params, store.security(), MOST_PARAMS)?;
        let keys: ServerKeys = store.read(self.keys, &params, most_keys(&params))?;
        let query: Query = store.read(self.query, &params, MOST_QUERY)?;
        if keys.key() != query.key() {
            let [left, right] = [query.key(), keys.key()].map(|id| format!("{:032x}", id.0));
            return Err(Error::Owners { function: NAME, left, right });
        }
        Ok((params, keys, query))
    }

    /// Ciphertexts of the result, and seconds of one shard on one thread, or the reason why the
    /// query cannot be evaluated.
    pub(crate) fn predicted(&self, store: &KeyStore) -> Result<(usize, f64)> {
        let (params, _, query) = self.read(store)?;
        domain(&query)?;
        let [transforms, products] = query.shape().work(&params);
        let (degree, prices) = (params.degree() as f64, Prices::SERVER);
        let each = prices.step * degree.log2() * transforms + prices.multiplication * products;
        Ok((query.shape().response_ciphertexts(), degree * each))
    }
}

/// Bytes of the keys of a client, at most: polynomials for each stage of packing and each digit,
/// and the two of a public key.
fn most_keys(params: &bfv::Params) -> u64 {
    let (degree, limbs) = (params.degree() as u64, params.ring().moduli().count() as u64);
    let polys = u64::from(degree.ilog2()) * DIGITS + 2;
    polys * degree * limbs * size_of::<u64>() as u64 + REST
}

/// The points of a query of one variable.
fn domain(query: &Query) -> Result<usize> {
    match query.shape().domains() {
        [domain] => Ok(*domain),
        domains => {
            let reason = format!("its query has {} variables: need 1", domains.len());
            Err(Error::plan(NAME, reason))
        }
    }
}

/// Decrypts the result of a look-up: a row with the response of [`he_lookup`](crate#functions). The
/// values are in the order of the points of the query.
///
/// # Errors
/// [`Error::Column`] for another result, or the response to another query.
pub fn read_lookup(
    client: &Client,
    pending: &Pending,
    batches: &[RecordBatch],
    column: &str,
) -> Result<Vec<u64>> {
    let failed = |reason: String| Error::Column { column: column.into(), reason };
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let batch = batches.iter().find(|batch| batch.num_rows() == 1 && rows == 1);
    let found = batch.and_then(|batch| batch.column_by_name(column)?.as_binary_opt::<i32>());
    let bytes = found.filter(|column| column.is_valid(0)).map(|column| column.value(0));
    let bytes = bytes.ok_or_else(|| failed("the result is no row with a response".into()))?;
    let response: Response = format::from_bytes(client.params(), bytes)?;
    let values = client.read(pending, &response).map_err(|error| failed(error.to_string()))?;
    Ok(values.to_vec())
}

/// The aggregate of a node.
#[derive(Debug)]
pub(crate) struct LookupFunction {
    pub(crate) node: Arc<Node>,
    signature: Signature,
}

impl LookupFunction {
    /// The function for a session.
    pub(crate) fn udaf(node: &Arc<Node>) -> AggregateUDF {
        let (number, text) = (DataType::Int64, DataType::Utf8);
        let types = vec![number.clone(), number, text.clone(), text.clone(), text];
        let signature = Signature::exact(types, Volatility::Immutable);
        AggregateUDF::new_from_impl(Self { node: node.clone(), signature })
    }
}

impl PartialEq for LookupFunction {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.node, &other.node)
    }
}

impl Eq for LookupFunction {}

impl StdHash for LookupFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        NAME.hash(state);
    }
}

impl AggregateUDFImpl for LookupFunction {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> EngineResult<DataType> {
        Ok(DataType::Binary)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> EngineResult<Vec<FieldRef>> {
        let field = |part: &str| {
            Arc::new(Field::new(format!("{}[{part}]", args.name), DataType::Binary, true))
        };
        Ok(vec![field("response"), field("points")])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> EngineResult<Box<dyn Accumulator>> {
        let text = |i: usize| {
            let literal = args.exprs.get(COLUMNS + i)?.downcast_ref::<Literal>()?;
            match literal.value() {
                ScalarValue::Utf8(Some(text)) => Some(text.as_str()),
                _ => None,
            }
        };
        let lookup = Lookup::parse([text(0), text(1), text(2)])?;
        let node = self.node.clone();
        let (params, keys, query) = lookup.read(node.keys())?;
        let server = Server::new(&params, &keys).map_err(Error::Library)?;
        let points = Points::new(domain(&query)?);
        let (rows, responses) = Default::default();
        Ok(Box::new(LookupState { node, params, server, query, points, rows, responses }))
    }
}

/// The points that have a row, one bit for each point of the domain.
#[derive(Debug)]
struct Points {
    domain: usize,
    bits: Vec<u8>,
}

impl Points {
    fn new(domain: usize) -> Self {
        Self { domain, bits: vec![0; domain.div_ceil(8)] }
    }

    /// Adds a point, which must be new.
    fn insert(&mut self, point: usize) -> Result<()> {
        let (byte, bit) = (point / 8, 1 << (point % 8));
        if self.bits[byte] & bit != 0 {
            return Err(Error::Twice { function: NAME, point });
        }
        self.bits[byte] |= bit;
        Ok(())
    }

    /// Adds the points of another shard.
    fn merge(&mut self, other: &[u8]) -> Result<()> {
        if other.len() != self.bits.len() {
            let reason = format!("a state for another domain than {} points", self.domain);
            return Err(Error::plan(NAME, reason));
        }
        for (i, (mine, theirs)) in self.bits.iter_mut().zip(other).enumerate() {
            if *mine & theirs != 0 {
                let point = 8 * i + (*mine & theirs).trailing_zeros() as usize;
                return Err(Error::Twice { function: NAME, point });
            }
            *mine |= theirs;
        }
        Ok(())
    }
}

/// A shard so far.
struct LookupState {
    node: Arc<Node>,
    params: bfv::Params,
    server: Server,
    query: Query,
    points: Points,
    /// Rows that no response has yet.
    rows: Vec<(usize, u64)>,
    responses: Option<Response>,
}

impl std::fmt::Debug for LookupState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LookupState").field("rows", &self.rows.len()).finish_non_exhaustive()
    }
}

impl LookupState {
    fn insert(&mut self, points: &Int64Array, values: &Int64Array) -> Result<()> {
        let (domain, plain) = (self.points.domain, self.params.plain());
        let refused = |row, what, below| Error::Cell { function: NAME, row, what, below };
        for row in (0..points.len()).filter(|&row| points.is_valid(row) && values.is_valid(row)) {
            let point = usize::try_from(points.value(row)).ok().filter(|&point| point < domain);
            let point = point.ok_or_else(|| refused(row, "point", domain as u64))?;
            let value = u64::try_from(values.value(row)).ok().filter(|&value| value < plain);
            let value = value.ok_or_else(|| refused(row, "value", plain))?;
            self.points.insert(point)?;
            self.rows.push((point, value));
        }
        Ok(())
    }

    fn add(&mut self, response: Response) -> Result<()> {
        let sum = match &self.responses {
            None => response,
            Some(sum) => {
                let sum = Response::sum(&self.params, &[sum.clone(), response]);
                sum?
            }
        };
        self.responses = Some(sum);
        Ok(())
    }

    /// The response to all rows so far.
    fn response(&mut self) -> Result<Option<&Response>> {
        let rows = std::mem::take(&mut self.rows);
        let points = rows.iter().map(|&(point, _)| point);
        if let (Some(first), Some(last)) = (points.clone().min(), points.max()) {
            // One shard from the first point to the last: points without a row have the value 0.
            let mut values = vec![0; last - first + 1];
            rows.iter().for_each(|&(point, value)| values[point - first] = value);
            let (params, server, query) = (&self.params, &self.server, &self.query);
            let memory = 2 * params.degree() * size_of::<u64>() * query.shape().blocks();
            let _reserved = self.node.reserve(NAME, memory)?;
            let mut responses = self.node.rows(NAME, &[0], |_| {
                let shard = Shard::new(params, self.points.domain, first, &values)?;
                server.evaluate_shard(&shard, query)
            })?;
            if let Some(response) = responses.pop() {
                self.add(response)?;
            }
        }
        Ok(self.responses.as_ref())
    }

    /// A response in the byte format; none if no shard has a row.
    fn bytes(&self, response: Option<&Response>) -> Result<ScalarValue> {
        let bytes = response.map(|response| format::to_bytes(&self.params, response));
        Ok(ScalarValue::Binary(bytes.transpose()?))
    }
}

impl Accumulator for LookupState {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> EngineResult<()> {
        let [points, values] = [0, 1].map(|i| columns[i].as_primitive::<Int64Type>());
        Ok(self.insert(points, values)?)
    }

    /// The states of shards: responses, and the points that they answer.
    fn merge_batch(&mut self, states: &[ArrayRef]) -> EngineResult<()> {
        let [responses, points]: [&BinaryArray; 2] = [0, 1].map(|i| states[i].as_binary::<i32>());
        for row in (0..responses.len()).filter(|&row| responses.is_valid(row)) {
            self.points.merge(points.value(row))?;
            let response = format::from_bytes(&self.params, responses.value(row));
            self.add(response.map_err(|source| Error::Row {
                function: NAME,
                row,
                source: Box::new(source),
            })?)?;
        }
        Ok(())
    }

    fn state(&mut self) -> EngineResult<Vec<ScalarValue>> {
        let response = self.response()?.cloned();
        let points = ScalarValue::Binary(Some(self.points.bits.clone()));
        Ok(vec![self.bytes(response.as_ref())?, points])
    }

    fn evaluate(&mut self) -> EngineResult<ScalarValue> {
        let response = self.response()?.cloned();
        let response = response.map(|response| response.truncated(&self.params)).transpose();
        let response = response.map_err(Error::Library)?;
        Ok(self.bytes(response.as_ref())?)
    }

    fn size(&self) -> usize {
        let polys = 2 * self.query.shape().ciphertexts() + 2 * self.query.shape().blocks();
        size_of_val(self)
            + self.points.bits.len()
            + self.rows.capacity() * size_of::<(usize, u64)>()
            + polys * self.params.degree() * size_of::<u64>()
    }
}
