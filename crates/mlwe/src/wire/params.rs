//! Parameter sets as they travel: their specification.

use bellerophon_ring::wire::Wire;
use serde::{Deserialize, Serialize};

use crate::{Error, Params, ParamsSpec, Result, SecretKind, Security};

/// The plain form of a parameter set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParamsForm {
    degree: u32,
    rank: u32,
    q: Vec<u64>,
    p: Vec<u64>,
    secret: SecretForm,
    sigma: f64,
    security: SecurityForm,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum SecretForm {
    Ternary,
    Sparse(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum SecurityForm {
    Bits128,
    Bits128Classical,
    Insecure,
}

impl From<&ParamsSpec> for ParamsForm {
    fn from(spec: &ParamsSpec) -> Self {
        Self {
            degree: spec.degree as u32,
            rank: spec.rank as u32,
            q: spec.q.clone(),
            p: spec.p.clone(),
            secret: match spec.secret {
                SecretKind::Ternary => SecretForm::Ternary,
                SecretKind::Sparse(weight) => SecretForm::Sparse(weight as u32),
            },
            sigma: spec.sigma,
            security: match spec.security {
                Security::Bits128 => SecurityForm::Bits128,
                Security::Bits128Classical => SecurityForm::Bits128Classical,
                Security::Insecure => SecurityForm::Insecure,
            },
        }
    }
}

impl ParamsForm {
    /// The specification, if it asks for the security that the reader wants or the reader wants
    /// none. It is not checked yet: [`Params::new`] does.
    ///
    /// # Errors
    /// [`Error::Parameter`] for another security.
    pub fn into_spec(self, wanted: Security) -> Result<ParamsSpec> {
        let security = match self.security {
            SecurityForm::Bits128 => Security::Bits128,
            SecurityForm::Bits128Classical => Security::Bits128Classical,
            SecurityForm::Insecure => Security::Insecure,
        };
        if wanted != security && wanted != Security::Insecure {
            return Err(Error::Parameter {
                field: "security",
                found: security.name().into(),
                needed: format!("{}, which the reader asks for", wanted.name()),
            });
        }
        Ok(ParamsSpec {
            degree: self.degree as usize,
            rank: self.rank as usize,
            q: self.q,
            p: self.p,
            secret: match self.secret {
                SecretForm::Ternary => SecretKind::Ternary,
                SecretForm::Sparse(weight) => SecretKind::Sparse(weight as usize),
            },
            sigma: self.sigma,
            security,
        })
    }
}

/// Read for the security that the sender must have checked; [`Security::Insecure`] takes any set.
impl Wire for Params {
    const KIND: u16 = super::kind::PARAMS;
    const NAME: &'static str = "lattice parameters";
    type Params = Security;
    type Form<'a> = ParamsForm;
    type Error = Error;

    fn fingerprint(_: &Security) -> u64 {
        0
    }

    fn to_form(&self, _: &Security) -> Result<ParamsForm> {
        Ok(self.spec().into())
    }

    fn from_form(wanted: &Security, form: ParamsForm) -> Result<Self> {
        Self::new(form.into_spec(*wanted)?)
    }
}
