//! Programs of many queries: each iteration is one query over the table, and its result the state
//! of the next one.

use std::sync::Arc;

use datafusion::{
    arrow::array::{Array, AsArray},
    prelude::SessionContext,
};

use crate::{Error, Hash, Node, Result};

/// The state of an iteration: encrypted vectors of the key store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The queries that led to it.
    pub iteration: usize,
    /// The names of its vectors.
    pub vectors: Vec<Hash>,
}

/// A program of many queries, under a name in the key store. The store holds the last state, so
/// that another process goes on where one ended, and gets the same bits.
#[derive(Debug, Clone)]
pub struct Iteration {
    node: Arc<Node>,
    name: String,
}

impl Iteration {
    /// A program under a name. The parameters of its vectors must be loaded in the node
    /// ([`KeyStore::params`](crate::KeyStore::params)).
    pub fn new(node: &Arc<Node>, name: impl Into<String>) -> Self {
        Self { node: node.clone(), name: name.into() }
    }

    /// The last state, or the first one if there is none yet.
    ///
    /// # Errors
    /// [`Error::Store`], and [`Error::Plan`] for a note in the store that no program wrote.
    pub fn resume(&self, first: &[Hash]) -> Result<State> {
        let Some(text) = self.node.keys().note(&self.name)? else {
            return Ok(State { iteration: 0, vectors: first.to_vec() });
        };
        let malformed = || Error::plan("Iteration", format!("{:?} has no valid state", self.name));
        let mut words = text.split_whitespace();
        let iteration = words.next().and_then(|word| word.parse().ok()).ok_or_else(malformed)?;
        let vectors: std::result::Result<Vec<Hash>, _> = words.map(str::parse).collect();
        let vectors = vectors.map_err(|_| malformed())?;
        if vectors.len() != first.len() {
            return Err(malformed());
        }
        Ok(State { iteration, vectors })
    }

    /// Runs a query whose only row has the vectors of the next state, and stores that state.
    ///
    /// # Errors
    /// Those of the query; [`Error::Plan`] for another result than a row of as many vectors.
    pub async fn step(&self, session: &SessionContext, state: &State, sql: &str) -> Result<State> {
        let batches = session.sql(sql).await?.collect().await?;
        let rows: usize = batches.iter().map(|batch| batch.num_rows()).sum();
        let columns = batches.first().map_or(0, |batch| batch.num_columns());
        if (rows, columns) != (1, state.vectors.len()) {
            let needed = state.vectors.len();
            let reason = format!("a query of {rows} row(s), {columns} column(s): need 1, {needed}");
            return Err(Error::plan("Iteration", reason));
        }
        let batch = batches.iter().find(|batch| batch.num_rows() == 1).into_iter();
        let mut vectors = Vec::new();
        for column in batch.flat_map(|batch| batch.columns()) {
            let vector = column.as_binary_opt::<i32>().filter(|column| column.is_valid(0));
            let reason = "its query has a column without an encrypted vector";
            let vector = vector.ok_or_else(|| Error::plan("Iteration", reason))?;
            vectors.push(self.node.keys().put(vector.value(0))?);
        }
        // The objects first: the note never names an object that is not there.
        let next = State { iteration: state.iteration + 1, vectors };
        let names: Vec<String> = next.vectors.iter().map(Hash::to_string).collect();
        let note = format!("{}\n{}\n", next.iteration, names.join("\n"));
        self.node.keys().put_note(&self.name, note)?;
        Ok(next)
    }
}

/// The query of an iteration of logistic regression by gradient ascent: the weights of the next
/// state, `w + rate / rows sum (label - sigmoid(w x)) x`, for labels 0 and 1. The sigmoid is its
/// least-squares polynomial of degree 3 over [-8, 8] (Kim et al., JMIR 2018). It takes five levels,
/// and one more to clear padding.
///
/// `state` has a weight for every feature, in every slot of a vector. `rows` is the number of rows
/// of the table. Names are columns of the table, and enter the query as they are.
pub fn logistic_regression(
    table: &str,
    features: &[&str],
    label: &str,
    (rate, rows): (f64, usize),
    state: &State,
) -> String {
    let weighted = features.iter().zip(&state.vectors);
    let weighted = weighted.map(|(x, w)| format!("he_mul({x}, he_object('{w}'))"));
    let sum = weighted.reduce(|sum, term| format!("he_add({sum}, {term})")).unwrap_or_default();
    let sigmoid = format!("he_polynomial({sum}, '{}')", "0.5,0.15012,0,-0.001593");
    let columns = features.join(", ");
    let factor = rate / rows as f64;
    let next = features.iter().zip(&state.vectors).enumerate().map(|(i, (x, w))| {
        let gradient = format!("he_scale(he_sum_slots(he_sum(he_mul(error, {x}))), {factor:?})");
        format!("he_add(he_object('{w}'), {gradient}) AS w{i}")
    });
    let next: Vec<String> = next.collect();
    format!(
        "SELECT {} FROM (SELECT {columns}, he_sub({label}, {sigmoid}) AS error FROM {table})",
        next.join(", ")
    )
}
