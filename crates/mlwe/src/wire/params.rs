//! Serialized forms of parameter sets: their specification.

use bellerophon_ring::{Result, wire::List, wire_form};
use serde::{Deserialize, Serialize};

use crate::error;
use crate::params::{MOST_PRIMES, Params, ParamsSpec};
use crate::security::{SecretKind, Security};

/// The plain form of a parameter set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParamsForm {
    degree: u32,
    rank: u32,
    q: List<u64, MOST_PRIMES>,
    p: List<u64, MOST_PRIMES>,
    secret: SecretForm,
    sigma: f64,
    security: SecurityForm,
}

/// The plain form of a [`SecretKind`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum SecretForm {
    /// [`SecretKind::Ternary`].
    Ternary,
    /// [`SecretKind::Sparse`].
    Sparse(u32),
    /// [`SecretKind::Bounded`].
    Bounded(u32),
}

impl From<SecretKind> for SecretForm {
    fn from(secret: SecretKind) -> Self {
        match secret {
            SecretKind::Ternary => Self::Ternary,
            SecretKind::Sparse(weight) => Self::Sparse(weight as u32),
            SecretKind::Bounded(w) => Self::Bounded(w),
        }
    }
}

impl From<SecretForm> for SecretKind {
    fn from(form: SecretForm) -> Self {
        match form {
            SecretForm::Ternary => Self::Ternary,
            SecretForm::Sparse(weight) => Self::Sparse(weight as usize),
            SecretForm::Bounded(w) => Self::Bounded(w),
        }
    }
}

/// The plain form of a [`Security`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum SecurityForm {
    /// [`Security::Bits128`].
    Bits128,
    /// [`Security::Bits128Classical`].
    Bits128Classical,
    /// [`Security::Insecure`].
    Insecure,
}

impl From<Security> for SecurityForm {
    fn from(security: Security) -> Self {
        match security {
            Security::Bits128 => Self::Bits128,
            Security::Bits128Classical => Self::Bits128Classical,
            Security::Insecure => Self::Insecure,
        }
    }
}

impl SecurityForm {
    /// The security level, if the reader requires this level or none ([`Security::Insecure`]).
    pub fn checked(self, wanted: Security) -> Result<Security> {
        let stated = match self {
            Self::Bits128 => Security::Bits128,
            Self::Bits128Classical => Security::Bits128Classical,
            Self::Insecure => Security::Insecure,
        };
        // A reader that requires `Insecure` accepts every level.
        if wanted != stated && wanted != Security::Insecure {
            return Err(error::parameter(
                "security",
                stated.name().into(),
                format!(
                    "{}, which the reader requires: ask the sender for such a set, or read with \
                     `Security::{stated:?}`",
                    wanted.name()
                ),
            ));
        }
        Ok(stated)
    }
}

impl From<&ParamsSpec> for ParamsForm {
    fn from(spec: &ParamsSpec) -> Self {
        Self {
            degree: spec.degree as u32,
            rank: spec.rank as u32,
            q: List(spec.q.clone()),
            p: List(spec.p.clone()),
            secret: spec.secret.into(),
            sigma: spec.sigma,
            security: spec.security.into(),
        }
    }
}

impl ParamsForm {
    /// The specification, if its security level is the one that the reader requires, or if the
    /// reader requires none. The specification is not checked yet: [`Params::new`] does that.
    pub fn into_spec(self, wanted: Security) -> Result<ParamsSpec> {
        Ok(ParamsSpec {
            degree: self.degree as usize,
            rank: self.rank as usize,
            q: self.q.0,
            p: self.p.0,
            secret: self.secret.into(),
            sigma: self.sigma,
            security: self.security.checked(wanted)?,
        })
    }
}

wire_form! {
    // The reader states the security level that it requires. [`Security::Insecure`] accepts any
    // set.
    for Params: super::kind::PARAMS, "lattice parameters" as ParamsForm;
    fn write(&self, _: &Security) {
        Ok(self.spec().into())
    }
    fn read(wanted, form) {
        Self::new(form.into_spec(*wanted)?)
    }
}
