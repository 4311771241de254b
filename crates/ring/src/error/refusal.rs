//! The error type of all crates.

use std::{borrow::Cow, fmt};

use super::ErrorKind;

/// An operation that was refused: which one, what kind of refusal it is, and what was found, what
/// is needed and what helps. No message repeats an encrypted value or a constant of a program.
#[derive(Clone, PartialEq)]
pub struct Error(Box<Refusal>);

#[derive(Clone, PartialEq)]
struct Refusal {
    op: &'static str,
    kind: ErrorKind,
    message: Cow<'static, str>,
}

/// `Result` with the error of all crates.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The operation that was refused; empty if the error names none.
    pub fn op(&self) -> &'static str {
        self.0.op
    }

    /// The kind of the refusal.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// What was found, what is needed and what helps, without the operation.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Whether this is an error of a kind whose message contains `words`.
    pub fn is(&self, kind: &ErrorKind, words: &str) -> bool {
        self.kind() == kind && self.message().contains(words)
    }

    /// The same error, raised during `op`. The name replaces that of an inner operation, so that
    /// callers read the name of what they called.
    #[doc(hidden)]
    pub fn during(mut self, op: &'static str) -> Self {
        self.0.op = op;
        self
    }

    /// The same error, raised during `op` unless it names an operation already.
    #[doc(hidden)]
    pub fn during_if_unnamed(self, op: &'static str) -> Self {
        if self.op().is_empty() { self.during(op) } else { self }
    }
}

impl ErrorKind {
    /// An error of this kind that names no operation yet.
    pub fn error(self, message: impl Into<Cow<'static, str>>) -> Error {
        Error(Box::new(Refusal { op: "", kind: self, message: message.into() }))
    }
}

/// The operation, if one is named, and the message.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.op() {
            "" => f.write_str(self.message()),
            op => write!(f, "{op}: {}", self.message()),
        }
    }
}

/// The message, so that a program whose `main` returns an error prints it. The alternate form
/// `{:#?}` shows the structure.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return fmt::Display::fmt(self, f);
        }
        let (op, kind, message) = (self.op(), self.kind(), self.message());
        let mut structure = f.debug_struct("Error");
        structure.field("op", &op).field("kind", kind).field("message", &message).finish()
    }
}

impl std::error::Error for Error {}

/// Programs read and write files beside bytes of this library, under one error type.
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        super::io(error)
    }
}

/// Names the operation in a refused result.
#[doc(hidden)]
pub trait During {
    /// The same result; an error is raised during `op`.
    fn during(self, op: &'static str) -> Self;

    /// The same result; an error is raised during `op` unless it names an operation already.
    fn during_if_unnamed(self, op: &'static str) -> Self;
}

impl<T> During for Result<T> {
    fn during(self, op: &'static str) -> Self {
        self.map_err(|error| error.during(op))
    }

    fn during_if_unnamed(self, op: &'static str) -> Self {
        self.map_err(|error| error.during_if_unnamed(op))
    }
}

/// The steps of a public operation: their errors name it.
#[doc(hidden)]
pub fn operation<T>(op: &'static str, steps: impl FnOnce() -> Result<T>) -> Result<T> {
    steps().during(op)
}

/// Refuses unless a condition holds.
#[doc(hidden)]
pub fn ensure(holds: bool, refusal: impl FnOnce() -> Error) -> Result<()> {
    if holds { Ok(()) } else { Err(refusal()) }
}

/// The refusal in a result, for tests.
#[doc(hidden)]
#[track_caller]
pub fn refusal<T>(result: &Result<T>) -> &Error {
    match result {
        Err(error) => error,
        Ok(_) => panic!("not refused"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_outermost_operation() {
        let error = ErrorKind::Level.error("level 3: need 2");
        assert_eq!(error.to_string(), "level 3: need 2");
        let named = Err::<(), _>(error.clone()).during("inner").during("outer");
        assert_eq!(refusal(&named).to_string(), "outer: level 3: need 2");
        assert_eq!(named.during_if_unnamed("first").unwrap_err().op(), "outer");
        assert_eq!(error.clone().during_if_unnamed("first").op(), "first");
        assert_ne!(error.clone().during("a"), error);
        assert!(error.is(&ErrorKind::Level, "need 2") && !error.is(&ErrorKind::Level, "need 3"));
        let shown = format!("{error:#?}");
        assert!(shown.contains("Level") && format!("{error:?}") == error.to_string(), "{shown}");
    }
}
