//! The errors of this crate.

use std::{fmt, io};

use bellerophon::format::Header;
use datafusion::{common::DataFusionError, object_store};

use crate::Hash;

/// The result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What failed, on what, and what was needed. In a query it arrives as
/// [`DataFusionError::External`], or as [`DataFusionError::ObjectStore`] if a store failed, so that
/// an engine can repeat the task.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An encrypted value of a row cannot be computed with.
    #[error("{function}, row {row} of its batch: {source}")]
    Row {
        /// The function of the query.
        function: &'static str,
        /// The row in its record batch.
        row: usize,
        /// The error of the library.
        source: Box<bellerophon::Error>,
    },
    /// A vector of a table that its column does not describe, or of a form that nobody hands in.
    #[error("the table, row {row} of its batch: {reason}")]
    Admission {
        /// The row in its record batch.
        row: usize,
        /// What was found, and what is needed.
        reason: String,
    },
    /// A number of a plain table that a look-up cannot take. The error does not contain it.
    #[error("{function}, row {row} of its batch: the {what} is not in 0..{below}")]
    Cell {
        /// The function of the query.
        function: &'static str,
        /// The row in its record batch.
        row: usize,
        /// Point or value.
        what: &'static str,
        /// The size of the domain, or the modulus of plaintexts.
        below: u64,
    },
    /// A division by an integer that counts nothing.
    #[error("{function}, row {row} of its batch: division by {count}: need an integer above zero")]
    Divisor {
        /// The function of the query.
        function: &'static str,
        /// The row in its record batch.
        row: usize,
        /// The integer.
        count: i64,
    },
    /// A function panicked. Only the query fails.
    #[error("{function}, row {row} of its batch: the function panicked: {message}")]
    Panicked {
        /// The function of the query.
        function: &'static str,
        /// The row in its record batch.
        row: usize,
        /// The message of the panic.
        message: String,
    },
    /// The plan cannot be evaluated: refused before it starts.
    #[error("{function} cannot be planned: {reason}")]
    Plan {
        /// The function of the query.
        function: &'static str,
        /// The error of the library's simulator, or what is wrong with the arguments.
        reason: String,
    },
    /// Columns of different owners meet in one expression.
    #[error(
        "{function}: its operands belong to the owners {left} and {right}: a query computes on the \
         columns of one owner"
    )]
    Owners {
        /// The function of the query.
        function: &'static str,
        /// The owner of an operand.
        left: String,
        /// The owner of a later operand.
        right: String,
    },
    /// A point of a look-up with two rows, in one shard or in two.
    #[error("{function}: two rows of the table have the point {point}: need one at most")]
    Twice {
        /// The function of the query.
        function: &'static str,
        /// The point.
        point: usize,
    },
    /// An argument does not carry the description of an encrypted column.
    #[error(
        "{function}: argument {argument} is no encrypted column: take a column of a file that \
         `TableWriter` wrote, read in a session of `session()`"
    )]
    NotEncrypted {
        /// The function of the query.
        function: &'static str,
        /// The argument, counted from 1.
        argument: usize,
    },
    /// A setting is missing.
    #[error("{function} needs the setting `{name}`: SET {name} = '..'")]
    Setting {
        /// The function of the query.
        function: &'static str,
        /// The setting.
        name: &'static str,
    },
    /// A setting has a value with which encrypted columns cannot be computed.
    #[error("the setting `{name}` is {found}: need {needed}: take a session of `session()`")]
    SessionSetting {
        /// The setting.
        name: &'static str,
        /// Its value.
        found: String,
        /// The values that are allowed.
        needed: String,
    },
    /// An object of a store is not what its name says.
    #[error("object {hash}: {fault}")]
    Object {
        /// The name of the object.
        hash: Hash,
        /// What is wrong.
        fault: ObjectFault,
    },
    /// A secret was about to enter a store.
    #[error("{0} is a secret of the client: only public objects enter a key store")]
    Secret(&'static str),
    /// Loaded keys that are in use leave no memory for others.
    #[error(
        "keys of {needed} bytes: {pinned} bytes of other keys are in use, and the budget is \
         {budget}: raise the budget, or run fewer queries at once"
    )]
    Budget {
        /// Bytes of the keys.
        needed: u64,
        /// Bytes of the keys in use.
        pinned: u64,
        /// The budget.
        budget: u64,
    },
    /// A table of a client cannot be encrypted.
    #[error("column {column:?}: {reason}")]
    Column {
        /// The column.
        column: String,
        /// What is wrong.
        reason: String,
    },
    /// The library refused an object or an operation.
    #[error(transparent)]
    Library(#[from] bellerophon::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] object_store::Error),
    /// The cache folder or a file failed.
    #[error("{path}: {source}")]
    File {
        /// The file or folder.
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] DataFusionError),
}

/// What is wrong with an object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectFault {
    /// The bytes hash to another name.
    #[error("the SHA-256 of its bytes is {0}: it is damaged, or another object was stored")]
    Hash(Hash),
    /// The envelope holds a secret.
    #[error("it holds a secret of a client, which no server may have: destroy it and the key")]
    Secret,
    /// The envelope holds another type than the caller needs.
    #[error("it has the type {found:#06x}: need {needed}")]
    Kind {
        /// The type number of the envelope.
        found: u16,
        /// The needed object.
        needed: &'static str,
    },
    /// A table is not what the caller needs.
    #[error("it is a table, which only `he_map` takes: need {0}")]
    IsTable(&'static str),
    /// The bytes are no table.
    #[error(
        "it is no table: need two or more finite numbers with semicolons between them, in at most \
         16 MiB"
    )]
    Table,
    /// The object is an intermediate result.
    #[error("{}", crate::vector::UNPUBLISHED)]
    Unpublished,
    /// A fresh vector states less noise than its parameters give it.
    #[error("{0}")]
    Stated(&'static str),
    /// The bytes have no valid header.
    #[error("{0}")]
    Header(bellerophon::Error),
    /// The parameters of a vector are not known here.
    #[error("its parameters are not loaded: call `KeyStore::params` with their name first")]
    UnknownParams,
    /// The object is longer than its type, its parameters and its header say.
    #[error("it has {found} bytes or more: its type, its parameters and its header allow {most}")]
    Long {
        /// The bytes that it has, or that have arrived.
        found: u64,
        /// The bytes that it has at most.
        most: u64,
    },
    /// The object is shorter than a header.
    #[error("it has {0} bytes, fewer than a header of {len}", len = Header::LEN)]
    Short(usize),
}

impl From<Error> for DataFusionError {
    fn from(error: Error) -> Self {
        match error {
            Error::Engine(error) => error,
            // Faults of a store are worth another attempt of the task.
            Error::Store(error) => Self::ObjectStore(Box::new(error)),
            other => Self::External(Box::new(other)),
        }
    }
}

impl Error {
    /// An error of a file or folder.
    pub(crate) fn file(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        |source| Self::File { path, source }
    }

    /// A plan that is refused.
    pub(crate) fn plan(function: &'static str, reason: impl fmt::Display) -> Self {
        Self::Plan { function, reason: reason.to_string() }
    }
}
