//! Programs of many queries: each iteration is one query over the table, and its result the state
//! of the next one.

use std::sync::Arc;

use datafusion::{
    arrow::array::{Array, AsArray},
    prelude::SessionContext,
};

use crate::{Error, Hash, Node, Result, object::MOST_NOTE};

/// The state of an iteration: encrypted vectors of the key store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The queries that led to it.
    pub iteration: usize,
    /// The names of its vectors.
    pub vectors: Vec<Hash>,
}

impl State {
    /// Its text in the store.
    fn note(&self) -> Result<String> {
        let names: Vec<String> = self.vectors.iter().map(Hash::to_string).collect();
        let note = format!("{}\n{}\n", self.iteration, names.join("\n"));
        match note.len() <= MOST_NOTE {
            true => Ok(note),
            false => {
                let found = names.len();
                let reason = format!("{found} vectors: a state has at most {MOST_NOTE} bytes");
                Err(Error::plan("Iteration", reason))
            }
        }
    }
}

/// A program of many queries, under a name in the key store. The store holds the last state, so
/// that another process goes on where one ended, and gets the same bits. A name has one writer at a
/// time: two programs that run under one name replace each other's states.
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
    /// Those of the query; [`Error::Plan`] for another result than a row of as many vectors, and,
    /// before the query, for a state of too many vectors.
    pub async fn step(&self, session: &SessionContext, state: &State, sql: &str) -> Result<State> {
        // A state that cannot be kept is refused before anything is stored.
        let iteration = state.iteration + 1;
        State { iteration, vectors: state.vectors.clone() }.note()?;
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
            vectors.push(self.node.keys().put_state(vector.value(0))?);
        }
        // The objects first: the note never names an object that is not there.
        let next = State { iteration, vectors };
        self.keep(&next)?;
        Ok(next)
    }

    /// Makes a state the last one of the program, such as that of another program.
    ///
    /// # Errors
    /// [`Error::Store`]; [`Error::Plan`] for a state of too many vectors.
    pub fn keep(&self, state: &State) -> Result<()> {
        self.node.keys().put_note(&self.name, state.note()?)
    }
}
