//! The byte form of parameter sets.

use bellerophon_ckks::{
    self as ckks,
    bootstrap::Bootstrapper,
    fbt::FunctionalBootstrapper,
    wire::{BootstrapForm, FbtForm},
};
use bellerophon_lwe::{self as lwe, wire::EngineForm};
use bellerophon_mlwe::{
    Security,
    wire::{SecretForm, SecurityForm},
};
use bellerophon_ring::wire::{Fingerprint, Wire};
use serde::{Deserialize, Serialize};

use super::{Header, codec, envelope};
#[cfg(doc)]
use crate::ErrorKind;
use crate::{
    Error, LutParams, LutSpec, Params, Result,
    params::{self, Bootstraps},
};

/// The largest length of a name in bytes.
const NAME: usize = 200;

/// The wire form of a parameter set.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ParamsForm<'a> {
    name: &'a str,
    slots: ckks::wire::ParamsForm,
    lookup: Option<LookupForm>,
    bootstrap: Option<BootstrapForm>,
    functional: Option<FbtForm>,
}

/// The wire form of the look-up part of a set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LookupForm {
    dimension: u32,
    modulus: u64,
    secret: SecretForm,
    sigma: f64,
    key_switch_base_log: u32,
    key_switch_digits: u32,
    ring_degree: u32,
    ring_modulus: u64,
    engine: EngineForm,
    ring_secret: SecretForm,
    ring_sigma: f64,
    security: SecurityForm,
    log2_failure: f64,
    ring_bridge: Option<u32>,
}

impl LookupForm {
    fn new(lookups: &LutParams) -> Self {
        // The set of the specification; the other engines are derived from it.
        let spec = lookups.lattice().spec();
        Self {
            dimension: spec.dimension as u32,
            modulus: spec.modulus,
            secret: spec.secret.into(),
            sigma: spec.sigma,
            key_switch_base_log: spec.key_switch_base_log,
            key_switch_digits: spec.key_switch_digits as u32,
            ring_degree: spec.ring_degree as u32,
            ring_modulus: spec.ring_modulus,
            engine: (&spec.engine).into(),
            ring_secret: spec.ring_secret.into(),
            ring_sigma: spec.ring_sigma,
            security: spec.security.into(),
            log2_failure: lookups.spec().log2_failure,
            ring_bridge: lookups.ring().map(|ring| ring.spec().weight as u32),
        }
    }

    fn lookups(
        self,
        slots: &ckks::Params,
        wanted: Security,
        highest_level: usize,
    ) -> Result<LutParams> {
        let tables = lwe::ParamsSpec {
            dimension: self.dimension as usize,
            modulus: self.modulus,
            secret: self.secret.into(),
            sigma: self.sigma,
            key_switch_base_log: self.key_switch_base_log,
            key_switch_digits: self.key_switch_digits as usize,
            ring_degree: self.ring_degree as usize,
            ring_modulus: self.ring_modulus,
            engine: self.engine.into(),
            ring_secret: self.ring_secret.into(),
            ring_sigma: self.ring_sigma,
            security: self.security.checked(wanted)?,
        };
        let ring_bridge = self.ring_bridge.map(|weight| weight as usize);
        let spec = LutSpec { tables, log2_failure: self.log2_failure, ring_bridge, highest_level };
        Ok(LutParams::new(slots, spec)?)
    }
}

/// The parameters of this wire form are the security that the sender must have checked;
/// [`Security::Insecure`] accepts any set.
impl Wire for Params {
    const KIND: u16 = super::kind::PARAMS;
    const NAME: &'static str = "a parameter set";
    type Params = Security;
    type Form<'a> = ParamsForm<'a>;
    type Error = Error;

    fn to_form(&self, wanted: &Security) -> Result<ParamsForm<'_>> {
        check_name(self.name())?;
        self.form(self.name(), wanted)
    }

    fn from_form(wanted: &Security, form: ParamsForm) -> Result<Self> {
        // As `Params::new`: every part is checked anew, whatever the sender claims.
        check_name(form.name)?;
        // Step 1: the CKKS parameters.
        let slots = ckks::Params::from_form(wanted, form.slots)?;
        // Step 2: the bootstrappers, on the modulus chain that step 1 has checked.
        let bootstrap = match form.bootstrap {
            Some(bootstrap) => Some(Bootstrapper::new(&slots, bootstrap.into())?),
            None => None,
        };
        let functional = match form.functional {
            Some(functional) => Some(FunctionalBootstrapper::new(&slots, functional.into())?),
            None => None,
        };
        // Step 3: look-ups, whose results return at most at the highest level for programs.
        let highest = params::levels(&slots, bootstrap.as_ref(), functional.as_ref());
        let lookups =
            form.lookup.map(|lookup| lookup.lookups(&slots, *wanted, highest)).transpose()?;
        // Step 4: the promises of the whole set, on the simulator.
        let bootstraps = Bootstraps {
            bootstrap: bootstrap.map(Into::into),
            functional: functional.map(Into::into),
        };
        Self::checked(form.name.into(), slots, lookups, bootstraps, None)
    }
}

/// Checks a name: errors print it.
fn check_name(name: &str) -> Result<()> {
    if name.len() > NAME || name.chars().any(char::is_control) {
        let reason = format!("a name of {} bytes: need at most {NAME}, all printable", name.len());
        return Err(super::FormatError::Malformed { name: Params::NAME, reason }.into());
    }
    Ok(())
}

impl Params {
    fn form<'a>(&self, name: &'a str, wanted: &Security) -> Result<ParamsForm<'a>> {
        Ok(ParamsForm {
            name,
            slots: self.ckks().to_form(wanted)?,
            lookup: self.optional_lookups().map(LookupForm::new),
            bootstrap: self.bootstrapper().ok().map(|bootstrap| bootstrap.spec().into()),
            functional: self.functional().ok().map(|functional| functional.spec().into()),
        })
    }

    /// Writes the set in its envelope ([`format`](crate::format)): its specification, from which
    /// the reader builds it again. The report of the parameter search ([`choice`](Self::choice)) is
    /// not written.
    ///
    /// # Errors
    /// [`ErrorKind::Format`] for a name of more than 200 bytes or with control characters.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        envelope::seal(
            Header::new(Self::KIND, Fingerprint::NONE),
            &self.to_form(&Security::Insecure)?,
        )
    }

    /// Reads a set, with the checks of [`Params::new`](Self::new). Every part must state the
    /// security level `security`; [`Security::Insecure`] accepts any set, and whoever encrypts
    /// under it should know why.
    ///
    /// # Errors
    /// As [`format::from_bytes`](crate::format::from_bytes), and those of [`new`](Self::new).
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
