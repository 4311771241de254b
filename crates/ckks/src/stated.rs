//! Vectors in the forms in which they travel: a lattice ciphertext and a statement, from which all
//! metadata of the vector follow.
//!
//! - [`Provided`](crate::Provided): from whoever encrypts under the public key of an owner, who
//!   states shape and range. The noise follows from the parameters.
//! - [`Published`](crate::Published): from a server, which states what its program declares: shape,
//!   range and noise.
//!
//! The vectors themselves are payloads: [`Ciphertext`] and the types of functional bootstrapping.

use std::{borrow::Borrow, fmt, ops::Deref};

use bellerophon_mlwe as mlwe;
use bellerophon_ring::Result;
use serde::{Serialize, de::DeserializeOwned};

use crate::ciphertext::Ciphertext;
use crate::params::Params;

/// The sender of [`Provided`](crate::Provided) vectors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ByProvider {}

/// The sender of [`Published`](crate::Published) vectors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ByServer {}

/// A vector that the sender `By` describes by a statement.
pub trait Payload<By>: Sized {
    /// The type number of its byte form ([`Wire::KIND`](bellerophon_ring::wire::Wire::KIND)).
    const KIND: u16;
    /// The name of its byte form in messages.
    const NAME: &'static str;
    /// All that the sender says of the vector, in the order of the bytes.
    type Statement: fmt::Debug + Clone + PartialEq + Serialize + DeserializeOwned;

    /// The vector of a ciphertext and a statement. Its metadata follow from the statement and the
    /// parameters.
    ///
    /// # Errors
    /// For a statement that these parameters do not allow.
    fn from_statement(
        params: &Params,
        lattice: mlwe::Ciphertext,
        statement: &Self::Statement,
    ) -> Result<Self>;

    /// The ciphertext.
    fn ciphertext(&self) -> &Ciphertext;
}

/// A vector with the metadata that its sender states, and no others.
///
/// It is read with [`AsRef`], and [`into_inner`](Self::into_inner) gives the vector.
#[derive(Debug, Clone, PartialEq)]
pub struct Stated<T: Payload<By>, By> {
    pub(crate) vector: T,
    pub(crate) statement: T::Statement,
}

impl<T: Payload<By>, By> Stated<T, By> {
    /// A ciphertext with a statement. Whether the statement holds of the values is not checked
    /// here: functions such as [`Evaluator::publish`](crate::Evaluator::publish) do.
    #[doc(hidden)]
    pub fn of(params: &Params, lattice: mlwe::Ciphertext, statement: T::Statement) -> Result<Self> {
        Ok(Self { vector: T::from_statement(params, lattice, &statement)?, statement })
    }

    /// What the sender states.
    pub fn statement(&self) -> &T::Statement {
        &self.statement
    }

    /// The vector.
    pub fn into_inner(self) -> T {
        self.vector
    }
}

impl<T: Payload<By>, By> AsRef<T> for Stated<T, By> {
    fn as_ref(&self) -> &T {
        &self.vector
    }
}

/// Operations take a provided vector like any other.
impl<T: Payload<ByProvider>> Deref for Stated<T, ByProvider> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.vector
    }
}

impl<T: Payload<ByProvider>> Borrow<T> for Stated<T, ByProvider> {
    fn borrow(&self) -> &T {
        &self.vector
    }
}
