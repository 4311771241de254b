//! Who encrypts the vectors of a table: the owner of the key, or a provider with its public key.

use bellerophon::{
    ClientKey, Params, PublicKey,
    ckks::{Bounds, Encoder, Interval, Metadata, Provided, SeededCiphertext},
    format,
    mlwe::{self, KeyId},
    rand::{
        SeedableRng,
        rngs::{StdRng, SysRng},
    },
};

use crate::Result;

/// Who encrypts.
#[derive(Debug)]
pub(crate) enum Author<'k> {
    Owner(&'k ClientKey),
    /// The parameters, and the public key as their lattice takes it.
    Provider(Params, Box<mlwe::PublicKey>),
}

impl<'k> Author<'k> {
    pub(crate) fn provider(key: &PublicKey) -> Result<Self> {
        let params = key.params().clone();
        let key = format::from_bytes(&params, &key.to_bytes()?)?;
        Ok(Self::Provider(params, Box::new(key)))
    }

    pub(crate) fn params(&self) -> &Params {
        match self {
            Self::Owner(client) => client.params(),
            Self::Provider(params, _) => params,
        }
    }

    /// The identity of the owner.
    pub(crate) fn id(&self) -> KeyId {
        match self {
            Self::Owner(client) => client.id(),
            Self::Provider(_, key) => key.key(),
        }
    }

    /// Encrypts values in as many slots as the parameters have; those behind the values are zero.
    pub(crate) fn encrypt(&self, values: &[f64], range: Interval) -> Result<Vec<u8>> {
        match self {
            Self::Owner(client) => {
                let x = seeded(client, values, range)?;
                Ok(format::to_bytes(client.params(), &x)?)
            }
            Self::Provider(params, key) => {
                Ok(format::to_bytes(params, &provided(params, key, values, range)?)?)
            }
        }
    }

    /// What is public about a vector with padding.
    pub(crate) fn describe(&self, range: Interval) -> Result<Metadata> {
        let values = vec![range.lo(); self.params().ckks().max_slots() - 1];
        Ok(match self {
            Self::Owner(client) => {
                let meta = seeded(client, &values, range)?.meta;
                Metadata { level: client.params().levels(), meta }
            }
            Self::Provider(params, key) => provided(params, key, &values, range)?.metadata(),
        })
    }
}

/// A vector of the owner, whose mask is a seed.
fn seeded(client: &ClientKey, values: &[f64], range: Interval) -> Result<SeededCiphertext> {
    let slots = client.params().ckks().max_slots();
    if values.len() == slots {
        return Ok(client.encrypt_seeded(values, range.lo()..=range.hi())?);
    }
    let zero = Interval::real(0.0, 0.0)?;
    let bounds = Bounds { values: range, padding: zero };
    let (all, mut padded) = (bounds.slots(), values.to_vec());
    padded.resize(slots, 0.0);
    let mut x = client.encrypt_seeded(&padded, all.lo()..=all.hi())?;
    (x.meta.len, x.meta.bounds) = (values.len(), bounds);
    Ok(x)
}

/// A vector under a public key.
fn provided(
    params: &Params,
    key: &mlwe::PublicKey,
    values: &[f64],
    range: Interval,
) -> Result<Provided> {
    let (limbs, params) = (params.ckks().limbs_at(params.levels()), params.ckks());
    let (encoder, slots) = (Encoder::new(params), params.max_slots());
    let plain = encoder.encode_in(values, range, slots, params.scale(), limbs);
    let plain = plain?;
    let rng = StdRng::try_from_rng(&mut SysRng);
    let mut rng = rng.expect("the operating system provides random bytes");
    Ok(Provided::encrypt(params, &plain, key, &mut rng)?)
}
