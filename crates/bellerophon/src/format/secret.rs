//! The byte form of secret keys, apart from that of public objects.

use std::fmt;

use bellerophon_lookup::LookupSecrets;
use bellerophon_mlwe::{KeyId, SecretKey};
use bellerophon_ring::wire::{Fingerprint, Fingerprinted, SecretWire, SecretWords};
use bellerophon_ring::{Result, error::operation};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{Context, Header, codec, envelope, kind, kinds};
use crate::client::ClientKey;
use crate::error;
use crate::params::Params;

/// The bytes of a secret. They are overwritten on drop and not shown by `Debug`. They are not
/// encrypted: store them where nobody else can read them, and send them nowhere.
///
/// This type serves the secrets of private look-up. A [`ClientKey`] has methods of its own
/// ([`ClientKey::to_secret_bytes`]).
///
/// ```
/// use bellerophon::{bfv, format::{self, SecretBytes}, pir::{Client, Pending, QueryLayout}};
/// # use bellerophon::{pir::{Function, Server}, mlwe::Security};
/// use rand::{SeedableRng, rngs::{StdRng, SysRng}};
/// # fn main() -> bellerophon::Result<()> {
/// # let spec = bfv::ParamsSpec::lookup(257)?;
/// # let spec = bfv::ParamsSpec { degree: 64, security: Security::Insecure, ..spec };
/// # let params = bfv::Params::new(spec)?;
/// let mut rng = StdRng::try_from_rng(&mut SysRng).unwrap();
/// // One process sends a query, and ends.
/// let client = Client::generate(&params, &mut rng)?;
/// let (query, pending) = client.query(100, &[42, 7], QueryLayout::Paper, &mut rng)?;
/// let kept = [SecretBytes::of(&params, &client)?, SecretBytes::of(&params, &pending)?];
/// # let server = Server::new(&params, &client.server_keys(&mut rng)?)?;
/// # let table: Vec<u64> = (0..100).map(|i| i * i % 257).collect();
/// # let answer = server.evaluate(&Function::new(&params, &table)?, &query)?;
/// # let answer = format::to_bytes(&params, &answer)?;
/// // Another reads the answer of the server.
/// let (client, pending): (Client, Pending) = (kept[0].read(&params)?, kept[1].read(&params)?);
/// let found = client.read(&pending, &format::from_bytes(&params, &answer)?)?;
/// assert_eq!(*found, [42 * 42 % 257, 7 * 7]);
/// # Ok(())
/// # }
/// ```
pub struct SecretBytes(Zeroizing<Vec<u8>>);

impl SecretBytes {
    /// Wraps bytes that were read from storage.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Writes a secret in an envelope ([`format`](crate::format)).
    pub fn of<T: SecretWire>(params: &impl Context<T::Params>, secret: &T) -> Result<Self> {
        let params = params.context();
        let header = Header::new(T::KIND, params.fingerprint());
        let form = secret.to_secret_form(params)?;
        Ok(Self(Zeroizing::new(envelope::seal(header, &form)?)))
    }

    /// Reads a secret that [`of`](Self::of) wrote.
    pub fn read<T: SecretWire>(&self, params: &impl Context<T::Params>) -> Result<T> {
        let params = params.context();
        let payload = envelope::open(&self.0, T::NAME, T::KIND, params.fingerprint())?;
        T::from_secret_form(params, codec::decode(T::NAME, payload)?)
    }

    /// The bytes, for storage. They are secret: wipe every copy.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretBytes({} bytes)", self.0.len())
    }
}

/// The wire form of a client key: the coefficients of every secret.
#[derive(Debug, Serialize, Deserialize)]
pub struct ClientKeyForm {
    id: u128,
    slots: SecretWords,
    lookups: Option<[SecretWords; 2]>,
}

impl Fingerprinted for Params {
    fn fingerprint(&self) -> Fingerprint {
        Params::fingerprint(self)
    }
}

impl SecretWire for ClientKey {
    const KIND: u16 = kind::SECRET_KEY;
    const NAME: &'static str = kinds::SECRET_KEY;
    type Params = Params;
    type Form = ClientKeyForm;

    fn to_secret_form(&self, params: &Params) -> Result<ClientKeyForm> {
        if params != self.params() {
            let (found, needed) = (self.params().fingerprint(), params.fingerprint());
            return Err(error::foreign_parameters(Self::NAME, found, needed));
        }
        let lookups = self.lookups.as_ref().map(LookupSecrets::to_words).transpose()?;
        let slots = SecretWords::of_coefficients(self.slots.all_coefficients())?;
        Ok(ClientKeyForm { id: self.id().0, slots, lookups })
    }

    fn from_secret_form(params: &Params, form: ClientKeyForm) -> Result<Self> {
        let malformed = |reason| error::malformed(Self::NAME, reason);
        let lattice = params.ckks().lattice();
        // Step 1: the secret of the slots, with the weight that its kind prescribes.
        let slots = form.slots.coefficients(lattice.dimension())?;
        if !lattice.spec().secret.may_be(&slots) {
            return Err(malformed(format!("the secret is not {}", lattice.spec().secret)));
        }
        let slots = SecretKey::restore(lattice, &slots, KeyId(form.id))?;
        // Step 2: the secrets of look-ups, present exactly if the parameters have look-ups.
        let lookups = match (params.optional_lookups(), form.lookups) {
            (None, None) => None,
            (Some(lookups), Some(words)) => Some(LookupSecrets::from_words(lookups, words)?),
            (lookups, _) => {
                let word = if lookups.is_some() { "missing" } else { "not in the parameters" };
                return Err(malformed(format!("the secrets of look-ups are {word}")));
            }
        };
        Ok(Self::from_secrets(params, slots, lookups))
    }
}

impl ClientKey {
    /// The secret key as bytes, for the owner to store: coefficients of all secrets and the public
    /// identity in an envelope ([`format`](crate::format)).
    pub fn to_secret_bytes(&self) -> Result<SecretBytes> {
        SecretBytes::of(self.params(), self)
    }

    /// The key that [`to_secret_bytes`](Self::to_secret_bytes) wrote.
    pub fn from_secret_bytes(params: &Params, bytes: &SecretBytes) -> Result<Self> {
        operation("from_secret_bytes", || bytes.read(params))
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::error::refusal;
    use crate::preset::{Preset, Toy};

    #[test]
    fn secrets_of_the_wrong_weight_are_refused() {
        let params = Params::preset(Preset::Insecure(Toy::Functions)).unwrap();
        let count = params.ckks().lattice().dimension();
        let client = ClientKey::generate(&params).unwrap();
        let read = |coefficients: Vec<i64>| {
            let slots = SecretWords::of_coefficients(&coefficients).unwrap();
            let form = client.to_secret_form(&params).unwrap();
            ClientKey::from_secret_form(&params, ClientKeyForm { slots, ..form })
        };
        for value in [0, 1] {
            assert!(
                matches!(refusal(&read(vec![value; count])).kind(), ErrorKind::Bytes),
                "{value}"
            );
        }
        read((0..count as i64).map(|i| i % 3 - 1).collect()).unwrap();
    }

    #[test]
    fn a_key_is_written_with_its_own_parameters() {
        let [own, other] = [Preset::Insecure(Toy::Functions), Preset::Insecure(Toy::Bootstrapping)]
            .map(|preset| Params::preset(preset).unwrap());
        let client = ClientKey::generate(&own).unwrap();
        let refused = SecretBytes::of(&other, &client);
        assert!(
            refusal(&refused)
                .is(&ErrorKind::ParamsMismatch, "read the sender's parameters first, or")
        );
    }

    /// A vector that grew would leave one in the memory that it had before.
    #[test]
    fn secret_bytes_leave_no_copy_behind() {
        for preset in [Preset::Insecure(Toy::Functions), Preset::Insecure(Toy::Bootstrapping)] {
            let params = Params::preset(preset).unwrap();
            let secret = ClientKey::generate(&params).unwrap().to_secret_bytes().unwrap();
            assert_eq!(secret.0.capacity(), secret.0.len());
        }
    }
}
