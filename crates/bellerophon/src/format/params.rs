//! The byte form of parameter sets.

use bellerophon_circuits::bootstrap::BootstrapSpec;
use bellerophon_circuits::fbt::FbtSpec;
use bellerophon_ckks as ckks;
use bellerophon_lookup::wire::LutForm;
use bellerophon_mlwe::Security;
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;
use bellerophon_ring::wire::{Fingerprint, Wire};
use serde::{Deserialize, Serialize};

use super::{Header, codec, envelope, kinds};
use crate::error;
use crate::params::Params;

/// The largest length of a name in bytes.
const NAME: usize = 200;

/// The wire form of a parameter set.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ParamsForm<'a> {
    name: &'a str,
    slots: ckks::wire::ParamsForm,
    lookup: Option<LutForm>,
    bootstrap: Option<BootstrapSpec>,
    functional: Option<FbtSpec>,
}

/// The parameters of this wire form are the security that the sender must have checked;
/// [`Security::Insecure`] accepts any set.
impl Wire for Params {
    const KIND: u16 = kinds::kind::PARAMS;
    const NAME: &'static str = kinds::PARAMS;
    type Params = Security;
    type Form<'a> = ParamsForm<'a>;

    fn to_form(&self, wanted: &Security) -> Result<ParamsForm<'_>> {
        check_name(self.name())?;
        self.form(self.name(), wanted)
    }

    fn from_form(wanted: &Security, form: ParamsForm) -> Result<Self> {
        // As `Params::new`: every part is checked anew, whatever the sender claims.
        check_name(form.name)?;
        let slots = ckks::Params::from_form(wanted, form.slots)?;
        let lookup = form.lookup.map(|lookup| lookup.into_spec(*wanted)).transpose()?;
        Self::over(form.name.into(), slots, lookup, form.bootstrap, form.functional)
    }
}

/// Checks a name: errors print it.
fn check_name(name: &str) -> Result<()> {
    if name.len() > NAME || name.chars().any(char::is_control) {
        let reason = format!("a name of {} bytes: need at most {NAME}, all printable", name.len());
        return Err(error::malformed(Params::NAME, reason));
    }
    Ok(())
}

impl Params {
    fn form<'a>(&self, name: &'a str, wanted: &Security) -> Result<ParamsForm<'a>> {
        Ok(ParamsForm {
            name,
            slots: self.ckks().to_form(wanted)?,
            lookup: self.optional_lookups().map(Into::into),
            bootstrap: self.bootstrapper().ok().map(|bootstrap| bootstrap.spec().clone()),
            functional: self.functional().ok().map(|functional| functional.spec().clone()),
        })
    }

    /// Writes the set in its envelope ([`format`](crate::format)): its specification, from which
    /// the reader builds it again. The report of the parameter search ([`choice`](Self::choice)) is
    /// not written.
    ///
    /// # Errors
    /// [`ErrorKind::Bytes`] for a name of more than 200 bytes or with control characters.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        envelope::seal(
            Header::new(Self::KIND, Fingerprint::NONE),
            &self.to_form(&Security::Insecure)?,
        )
    }

    /// Reads a set, with the checks of [`Params::new`](Self::new). Every part must state the
    /// security level `security`; [`Security::Insecure`] accepts any set, and whoever encrypts
    /// under it should know why.
    pub fn from_bytes(bytes: &[u8], security: Security) -> Result<Self> {
        super::from_bytes(&security, bytes)
    }

    /// The fingerprint of the set, which the envelopes of evaluation keys and secret keys carry. It
    /// does not depend on the name or the machine.
    ///
    /// It is computed once, from the bytes of the wire form without the name.
    pub fn fingerprint(&self) -> Fingerprint {
        // The hash covers the specification in its byte form, with a domain separation string.
        *self.0.fingerprint.get_or_init(|| {
            let mut bytes = Vec::new();
            let form = self.form("", &Security::Insecure);
            let encoded = form.and_then(|form| codec::encode(&form, &mut bytes));
            encoded.expect("a checked set has a form");
            Fingerprint::of_bytes("bellerophon 2026-11-24 parameter set", &bytes)
        })
    }
}
