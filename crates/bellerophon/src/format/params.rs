//! Parameter sets as they travel.

use bellerophon_ckks::{self as ckks, bootstrap::Bootstrapper, wire::BootstrapForm};
use bellerophon_lwe::{self as lwe, wire::EngineForm};
use bellerophon_mlwe::{
    Security,
    wire::{SecretForm, SecurityForm},
};
use bellerophon_ring::wire::{Fingerprint, Wire};
use serde::{Deserialize, Serialize};

use super::{Header, codec, envelope};
use crate::{Error, Params, Result, lookups::Lookups, params};

/// Longest name.
const NAME: usize = 200;

/// The plain form of a parameter set.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ParamsForm<'a> {
    name: &'a str,
    slots: ckks::wire::ParamsForm,
    lookup: Option<LookupForm>,
    refresh: Option<BootstrapForm>,
}

/// The plain form of what a set has for look-ups.
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
    fn new(lookups: &Lookups) -> Self {
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
            log2_failure: lookups.log2_failure(),
            ring_bridge: lookups.ring().map(|ring| ring.spec().weight as u32),
        }
    }

    fn lookups(self, slots: &ckks::Params, wanted: Security, highest: usize) -> Result<Lookups> {
        let spec = lwe::ParamsSpec {
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
        Lookups::new(slots, spec, self.log2_failure, ring_bridge, highest)
    }
}

/// Read for the security that the sender must have checked; [`Security::Insecure`] takes any set.
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
        check_name(form.name)?;
        let slots = ckks::Params::from_form(wanted, form.slots)?;
        let refresh = match form.refresh {
            Some(refresh) => Some(Bootstrapper::new(&slots, refresh.into())?),
            None => None,
        };
        let highest = params::levels(&slots, refresh.as_ref());
        let lookups =
            form.lookup.map(|lookup| lookup.lookups(&slots, *wanted, highest)).transpose()?;
        let refresh = refresh.map(Into::into);
        Self::checked(form.name.into(), slots, lookups, refresh, None)
    }
}

/// Names are printed in errors.
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
            slots: self.arithmetic().to_form(wanted)?,
            lookup: self.optional_lookups().map(LookupForm::new),
            refresh: self.bootstrapper().ok().map(|refresh| refresh.spec().into()),
        })
    }

    /// The set in its envelope ([`format`](crate::format)): its specification, from which the reader
    /// builds it again. How it was chosen ([`choice`](Self::choice)) does not travel.
    ///
    /// # Errors
    /// [`Error::Format`] for a name of more than 200 bytes, or with control characters.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        envelope::seal(
            Header::new(Self::KIND, Fingerprint::NONE),
            &self.to_form(&Security::Insecure)?,
        )
    }

    /// A set that somebody sent, checked as [`Params::new`](Self::new) does. `security` is what
    /// every part of it must have asked for; [`Security::Insecure`] takes any set, and whoever
    /// encrypts under it should know why.
    ///
    /// # Errors
    /// As [`format::from_bytes`](crate::format::from_bytes), and those of [`new`](Self::new).
    pub fn from_bytes(bytes: &[u8], security: Security) -> Result<Self> {
        super::from_bytes(&security, bytes)
    }

    /// Equal for sets that differ in nothing but their name, on any machine: what envelopes of
    /// evaluation keys and secret keys carry.
    ///
    /// It is that of the bytes of the set's form without its name, computed once.
    pub fn fingerprint(&self) -> Fingerprint {
        *self.0.fingerprint.get_or_init(|| {
            let mut bytes = Vec::new();
            let form = self.form("", &Security::Insecure);
            let encoded = form.and_then(|form| codec::encode(&form, &mut bytes));
            encoded.expect("a checked set has a form");
            Fingerprint::of_bytes("bellerophon 2026-11-24 parameter set", &bytes)
        })
    }
}
