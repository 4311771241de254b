//! Vectors that leave the server, and vectors that it admits, with declared metadata.

use bellerophon_circuits::fbt::PublishExt;
use bellerophon_circuits::fbt::{IntVec, PairedVec};
#[cfg(doc)]
use bellerophon_ckks as ckks;
use bellerophon_ckks::{Ciphertext, Declaration, Published};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;

use crate::evaluator::Evaluator;

/// # Declared metadata
/// What is said of a vector is what the program declares, not what the values suggest
/// ([`ckks::Evaluator::publish`]).
impl Evaluator {
    /// A result in the form that may leave the server: with the range (`lo..=hi`) or
    /// [`Declaration`] of the program, at the declared level and scale.
    ///
    /// # Errors
    /// [`ErrorKind::Declaration`] for a result that the declaration does not cover; the error does
    /// not say by how much.
    pub fn publish(
        &self,
        x: &Ciphertext,
        declaration: impl Into<Declaration>,
    ) -> Result<Published> {
        self.arithmetic.publish(x, declaration)
    }

    /// As [`publish`](Self::publish), for a paired vector.
    pub fn publish_paired(
        &self,
        x: &PairedVec,
        declaration: impl Into<Declaration>,
    ) -> Result<Published<PairedVec>> {
        self.arithmetic.publish_paired(x, declaration)
    }

    /// An input of a client as a vector of the declared metadata, whatever the client stated within
    /// them. A server with secret constants admits every input.
    ///
    /// # Errors
    /// [`ErrorKind::Declaration`] for an input that exceeds the declaration.
    pub fn admit(&self, x: &Ciphertext, declaration: impl Into<Declaration>) -> Result<Ciphertext> {
        self.arithmetic.admit(x, declaration)
    }

    /// As [`admit`](Self::admit), for a paired vector.
    pub fn admit_paired(
        &self,
        x: &PairedVec,
        declaration: impl Into<Declaration>,
    ) -> Result<PairedVec> {
        self.arithmetic.admit_paired(x, declaration)
    }

    /// As [`admit`](Self::admit), for integers below a modulus.
    pub fn admit_integers(
        &self,
        x: &IntVec,
        modulus: usize,
        declaration: impl Into<Declaration>,
    ) -> Result<IntVec> {
        self.arithmetic.admit_integers(x, modulus, declaration)
    }
}
