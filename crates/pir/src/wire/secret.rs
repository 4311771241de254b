//! Plain forms of what a client stores: its secret, and the positions of the answers to a query.

use bellerophon_mlwe::KeyId;
use bellerophon_ring::Result;
use bellerophon_ring::wire::{SecretWire, SecretWords};
use serde::{Deserialize, Serialize};

use super::kind;
use crate::bfv::{Params, SecretKey};
use crate::client::{Client, Pending};
use crate::error;
use crate::query::MAX_POINTS;

/// The plain form of a [`SecretKey`].
#[derive(Debug, Serialize, Deserialize)]
pub struct ExactSecretForm {
    key: KeyId,
    coefficients: SecretWords,
}

impl SecretWire for SecretKey {
    const KIND: u16 = kind::EXACT_SECRET_KEY;
    const NAME: &'static str = "secret key of exact plaintexts";
    type Params = Params;
    type Form = ExactSecretForm;

    fn to_secret_form(&self, params: &Params) -> Result<ExactSecretForm> {
        params.check(self.params().fingerprint())?;
        // The words are wiped on drop, as the secret is.
        let coefficients = SecretWords::of_coefficients(self.coefficients())?;
        Ok(ExactSecretForm { key: self.id(), coefficients })
    }

    fn from_secret_form(params: &Params, form: ExactSecretForm) -> Result<Self> {
        // `restore` checks that the coefficients may be uniform ternary.
        let coefficients = form.coefficients.coefficients(params.degree())?;
        Self::restore(params, form.key, coefficients)
    }
}

/// The plain form of a [`Client`].
#[derive(Debug, Serialize, Deserialize)]
pub struct ClientForm {
    secret: ExactSecretForm,
    /// Whether its queries carry masks in place of a seed.
    send_masks: bool,
}

impl SecretWire for Client {
    const KIND: u16 = kind::CLIENT;
    const NAME: &'static str = "client of private look-up";
    type Params = Params;
    type Form = ClientForm;

    fn to_secret_form(&self, params: &Params) -> Result<ClientForm> {
        // The secret checks that it belongs to the parameters.
        let secret = self.secret.to_secret_form(params)?;
        Ok(ClientForm { secret, send_masks: self.send_masks })
    }

    fn from_secret_form(params: &Params, form: ClientForm) -> Result<Self> {
        let secret = SecretKey::from_secret_form(params, form.secret)?;
        Ok(Self { secret, send_masks: form.send_masks })
    }
}

/// The plain form of a [`Pending`].
#[derive(Debug, Serialize, Deserialize)]
pub struct PendingForm {
    id: u128,
    key: KeyId,
    points: u32,
    /// The index of the value that answers each point.
    values: SecretWords,
}

impl SecretWire for Pending {
    const KIND: u16 = kind::PENDING;
    const NAME: &'static str = "what a client keeps of a query";
    type Params = Params;
    type Form = PendingForm;

    fn to_secret_form(&self, params: &Params) -> Result<PendingForm> {
        params.check(self.fingerprint)?;
        Ok(PendingForm {
            id: self.id,
            key: self.key,
            points: self.values.len() as u32,
            // The indices tell which points share a value, so they are secret.
            values: SecretWords::of_indices(&self.values)?,
        })
    }

    fn from_secret_form(params: &Params, form: PendingForm) -> Result<Self> {
        // Limits the memory that the indices take.
        let points = form.points as usize;
        if points == 0 || points > MAX_POINTS {
            return Err(error::too_many_points(points, MAX_POINTS));
        }
        Ok(Self {
            id: form.id,
            key: form.key,
            values: form.values.indices(points)?,
            fingerprint: params.fingerprint(),
        })
    }
}
