//! Secret keys as bytes, which takes a step of its own.

use std::fmt;

use bellerophon_lwe as lwe;
use bellerophon_mlwe::{self as mlwe, KeyId, SecretKey, SecretKind};
use serde::{Deserialize, Serialize};
use serde_bytes::Bytes;
use zeroize::Zeroizing;

use super::{FormatError, Header, codec, envelope, kind};
use crate::{ClientKey, Params, Result, client::LookupSecrets};

const NAME: &str = "a client's secret key";

/// Bytes of a coefficient.
const WORD: usize = 2;

/// The bytes of a secret key: overwritten on drop, not shown by `Debug`. They are not encrypted:
/// store them where nobody else can read, and send them nowhere.
pub struct SecretBytes(Zeroizing<Vec<u8>>);

impl SecretBytes {
    /// Takes over bytes that were read from where the key is stored.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes, to be stored. Secret: wipe every copy.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretBytes({} bytes)", self.0.len())
    }
}

/// The coefficients of every secret, two bytes each.
#[derive(Serialize, Deserialize)]
struct SecretForm<'a> {
    id: u128,
    #[serde(borrow)]
    slots: &'a Bytes,
    #[serde(borrow)]
    lookups: Option<(&'a Bytes, &'a Bytes)>,
}

impl ClientKey {
    /// The secret key as bytes, for the owner to store: coefficients of all secrets and the public
    /// identity in an envelope ([`format`](crate::format)).
    ///
    /// # Errors
    /// None for keys made here.
    pub fn to_secret_bytes(&self) -> Result<SecretBytes> {
        let slots = packed(self.slots.all_coefficients());
        let lookups = self.lookups.as_ref().map(|secrets| {
            (packed(secrets.lwe.coefficients()), packed(secrets.ring.coefficients()))
        });
        let pair = lookups.as_ref();
        let form = SecretForm {
            id: self.id().0,
            slots: Bytes::new(&slots),
            lookups: pair.map(|(lwe, ring)| (Bytes::new(&lwe[..]), Bytes::new(&ring[..]))),
        };
        let header = Header::new(kind::SECRET_KEY, self.params().fingerprint());
        Ok(SecretBytes(Zeroizing::new(envelope::seal(header, &form)?)))
    }

    /// The key that [`to_secret_bytes`](Self::to_secret_bytes) wrote.
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) for other bytes and those of other parameters; those
    /// of the layers below for coefficients that their secrets do not have.
    pub fn from_secret_bytes(params: &Params, bytes: &SecretBytes) -> Result<Self> {
        let payload = envelope::open(bytes.expose(), NAME, kind::SECRET_KEY, params.fingerprint())?;
        let form: SecretForm = codec::decode(NAME, payload)?;
        let lattice = params.arithmetic().lattice();
        let slots = unpacked(form.slots, lattice.dimension())?;
        check_weight(lattice, &slots)?;
        let slots = SecretKey::restore(lattice, &slots, KeyId(form.id))?;
        let lookups = match (params.optional_lookups(), form.lookups) {
            (None, None) => None,
            (Some(lookups), Some((lwe, ring))) => {
                let lattice = lookups.lattice();
                let lwe = unpacked(lwe, lattice.dimension())?;
                let ring = unpacked(ring, lattice.ring_degree())?;
                Some(LookupSecrets {
                    lwe: lwe::SecretKey::restore_lwe(lattice, lwe)?,
                    ring: lwe::SecretKey::restore_ring(lattice, ring)?,
                })
            }
            (lookups, _) => {
                let word = if lookups.is_some() { "without" } else { "with" };
                let reason = format!("it comes {word} the secrets of look-ups");
                return Err(FormatError::Malformed { name: NAME, reason }.into());
            }
        };
        Ok(Self::from_secrets(params, slots, lookups))
    }
}

/// Refuses a secret that is lighter or heavier than its parameters draw them: for a sparse one by any
/// number, for a dense one by more than eight deviations.
fn check_weight(lattice: &mlwe::Params, secret: &[i64]) -> Result<()> {
    // Every coefficient is looked at; the weight of a secret of its kind tells nothing.
    let weight = secret.iter().fold(0, |weight, &c| weight + (c != 0) as u64) as f64;
    let n = secret.len() as f64;
    let fits = match lattice.secret_kind() {
        SecretKind::Sparse(needed) => weight == needed as f64,
        _ => (weight - 2.0 * n / 3.0).abs() <= 8.0 * (2.0 * n / 9.0).sqrt(),
    };
    match fits {
        true => Ok(()),
        false => {
            let reason = format!("no secret that is {}", lattice.secret_kind());
            Err(FormatError::Malformed { name: NAME, reason }.into())
        }
    }
}

fn packed(coefficients: &[i64]) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(WORD * coefficients.len()));
    coefficients.iter().for_each(|&c| bytes.extend_from_slice(&(c as i16).to_le_bytes()));
    bytes
}

fn unpacked(bytes: &[u8], count: usize) -> Result<Zeroizing<Vec<i64>>> {
    if bytes.len() != WORD * count {
        let found = bytes.len() / WORD;
        let reason = format!("a secret of {found} coefficients: its parameters have {count}");
        return Err(FormatError::Malformed { name: NAME, reason }.into());
    }
    let words =
        bytes.chunks_exact(WORD).map(|word| i64::from(i16::from_le_bytes([word[0], word[1]])));
    let mut coefficients = Zeroizing::new(Vec::with_capacity(count));
    coefficients.extend(words);
    Ok(coefficients)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;

    #[test]
    fn secrets_of_the_wrong_weight_are_refused() {
        let params = Params::preset(Preset::ToyInsecure).unwrap();
        let lattice = params.arithmetic().lattice();
        for value in [0, 1] {
            assert!(check_weight(lattice, &vec![value; lattice.dimension()]).is_err());
        }
        let half: Vec<i64> = (0..lattice.dimension() as i64).map(|i| i % 3 - 1).collect();
        check_weight(lattice, &half).unwrap();
        let sparse = mlwe::ParamsSpec { secret: SecretKind::Sparse(40), ..lattice.spec().clone() };
        let sparse = mlwe::Params::new(sparse).unwrap();
        assert!(check_weight(&sparse, &half).is_err());
        let light: Vec<i64> = (0..lattice.dimension()).map(|i| (i < 40) as i64).collect();
        check_weight(&sparse, &light).unwrap();
    }

    #[test]
    fn no_copy_of_a_secret_is_left_behind_by_a_vector_that_grew() {
        for preset in [Preset::ToyInsecure, Preset::ToyBootstrapping] {
            let params = Params::preset(preset).unwrap();
            let secret = ClientKey::generate(&params).unwrap().to_secret_bytes().unwrap();
            assert_eq!(secret.0.capacity(), secret.0.len());
        }
    }
}
