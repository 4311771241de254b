//! Objects as bytes, with refusals that name the fault.

use std::io::{BufWriter, Read, Write};
use std::ops::RangeInclusive;
use std::path::Path;

use bellerophon::ckks::{CiphertextMeta, SeededCiphertext, simulator::Simulator};
use bellerophon::format::{self, Header, SecretBytes};
use bellerophon::mlwe::{KeyId, Security};
use bellerophon::prelude::*;
use bellerophon::ring::wire::Wire;

use crate::cli::Failure;
use crate::cost;
use crate::files::{self, about};
use crate::protocol::{Code, Hash, Hex, Refusal};

/// The largest sizes of a secret key and of a public key in bytes.
const LONGEST_SECRET: u64 = 16 << 20;
const LARGEST_PUBLIC: u64 = 1 << 28;

/// The largest size of a parameter set in bytes.
const LONGEST_PARAMS: u64 = 1 << 20;

/// Bytes of headers and metadata around the residues of a result.
const AROUND: u64 = 1 << 16;

fn malformed(why: impl std::fmt::Display) -> Refusal {
    Refusal::new(Code::Malformed, why)
}

/// The bytes of a parameter set at the front of a file of keys, and nothing behind them.
///
/// # Errors
/// For another object, and for one that is truncated or too long.
pub fn read_params(reader: &mut impl Read) -> Result<Vec<u8>, Refusal> {
    let mut bytes = vec![];
    reader.take(Header::LEN as u64).read_to_end(&mut bytes).map_err(malformed)?;
    let header = Header::parse(&bytes).map_err(malformed)?;
    if header.kind != Params::KIND || header.total() > LONGEST_PARAMS {
        return Err(malformed("no parameters at the front"));
    }
    let rest = header.total() - bytes.len() as u64;
    reader.take(rest).read_to_end(&mut bytes).map_err(malformed)?;
    Ok(bytes)
}

/// A received parameter set.
///
/// # Errors
/// `too_large` and `not_served` by [`cost::check`], `insecure` for parameters below `security`,
/// `malformed` for other faults.
pub fn params(bytes: &[u8], security: Security) -> Result<Params, Refusal> {
    cost::check(bytes)?;
    Params::from_bytes(bytes, security).map_err(|e| {
        let insecure = Params::from_bytes(bytes, Security::Insecure).is_ok();
        Refusal::new(if insecure { Code::Insecure } else { Code::Malformed }, e)
    })
}

/// Keys in memory.
pub struct Loaded {
    /// The server on them.
    pub server: Evaluator,
    /// The secret key to which they belong.
    pub secret: KeyId,
    /// Their name.
    pub name: Hash,
}

/// A received key set of `bytes` bytes at most, and nothing behind it.
///
/// # Errors
/// For bytes that are no keys of these parameters.
pub fn keys(params: &Params, mut reader: impl Read, bytes: u64) -> Result<Loaded, Refusal> {
    let read = EvaluationKeys::read_named(params, &mut reader, bytes);
    let (keys, name) = read.map_err(malformed)?;
    if reader.read(&mut [0]).map_err(malformed)? > 0 {
        return Err(malformed("there are extra bytes behind the keys"));
    }
    let secret = keys.id();
    let server = Evaluator::new(keys).map_err(malformed)?;
    Ok(Loaded { server, secret, name: Hex::of(&name.0) })
}

/// A received encrypted vector: fresh, of a provider, or published. Nobody vouches for the range
/// and the noise of other results.
///
/// # Errors
/// `wrong_parameters` for other parameters, `malformed` for other faults.
pub fn ciphertext(params: &Params, bytes: &[u8]) -> Result<Ciphertext, Refusal> {
    let header = Header::parse(bytes).map_err(malformed)?;
    if header.fingerprint != params.ckks().lattice().fingerprint() {
        return Err(Refusal::new(Code::WrongParameters, "the ciphertext has other parameters"));
    }
    let read = || match header.kind {
        SeededCiphertext::KIND => {
            let fresh: SeededCiphertext = format::from_bytes(params, bytes)?;
            let x = fresh.expand(params.ckks())?;
            Ok::<_, bellerophon::Error>(states_noise(params, &x)?.then_some(x))
        }
        <Provided>::KIND => Ok(Some(format::from_bytes::<Provided>(params, bytes)?.into())),
        // Any other type is refused with its name.
        _ => Ok(Some(format::from_bytes::<Published>(params, bytes)?.into())),
    };
    let other = || malformed("it states another noise than an encryption has");
    read().map_err(malformed)?.ok_or_else(other)
}

/// Whether a fresh vector states the noise that an encryption under the secret key has.
fn states_noise(params: &Params, x: &Ciphertext) -> bellerophon::Result<bool> {
    let CiphertextMeta { slots, bounds, .. } = *x.meta();
    let range = bounds.slots();
    let values = vec![0f64.clamp(range.lo(), range.hi()); slots];
    let fresh = Simulator::new(params.ckks()).encrypt(&values, range, x.level())?;
    let variances = |meta: &CiphertextMeta| {
        let noise = meta.noise;
        [noise.total, noise.peak, noise.bound, noise.excess]
    };
    // Sums of several variances may be rounded in another order.
    let near = |(found, expected): (f64, f64)| (found - expected).abs() <= 1e-6 * expected;
    Ok(variances(x.meta()).into_iter().zip(variances(&fresh.metadata().meta)).all(near))
}

/// A result that a server has published. Nothing else is an answer: a result with more metadata
/// than its program declares has another type.
///
/// # Errors
/// For anything else.
pub fn published(params: &Params, bytes: &[u8]) -> Result<Published, Refusal> {
    format::from_bytes(params, bytes).map_err(malformed)
}

/// The largest number of bytes of a result under these parameters.
pub fn largest_result(params: &Params) -> u64 {
    let (slots, lattice) = (params.ckks(), params.ckks().lattice());
    8 * (lattice.spec().rank as u64 + 1) * (slots.lattice().spec().degree * slots.limbs()) as u64
        + AROUND
}

/// Encrypts a vector in its wire form. The ciphertext states the number of values and the given
/// range, and nothing else.
///
/// # Errors
/// If the values do not fit.
pub fn encrypt(
    client: &ClientKey,
    values: &[f64],
    range: RangeInclusive<f64>,
) -> Result<Vec<u8>, Failure> {
    let fresh = client.encrypt_seeded(values, range).map_err(Failure::input)?;
    format::to_bytes(client.params(), &fresh).map_err(Failure::run)
}

/// Writes parameters and a public key into one file, for providers.
///
/// # Errors
/// If the file cannot be written.
pub fn write_public(key: &PublicKey, path: &Path) -> Result<(), Failure> {
    let mut bytes = key.params().to_bytes().map_err(Failure::run)?;
    bytes.extend(key.to_bytes().map_err(Failure::run)?);
    files::write(path, &bytes)
}

/// Reads parameters and a public key. Nothing proves whose they are.
///
/// # Errors
/// For anything else.
pub fn read_public(path: &Path, security: Security) -> Result<PublicKey, Failure> {
    let bytes = files::read(path, LARGEST_PUBLIC)?;
    let mut rest = &bytes[..];
    let read = read_params(&mut rest).and_then(|bytes| params(&bytes, security));
    let params = read.map_err(|e| about(path, e))?;
    PublicKey::from_bytes(&params, rest).map_err(|e| about(path, e))
}

/// Writes parameters and keys into one file. Returns the name of the keys and the size.
///
/// # Errors
/// If the file cannot be written.
pub fn write_keys(keys: &EvaluationKeys, path: &Path) -> Result<(Hash, u64), Failure> {
    let params = keys.params().to_bytes().map_err(Failure::run)?;
    files::write_with(path, |file| {
        let mut out = BufWriter::new(&mut *file);
        out.write_all(&params)?;
        let name = keys.write_to(&mut out).map_err(std::io::Error::other)?;
        out.flush()?;
        drop(out);
        Ok((Hex::of(&name.0), file.metadata()?.len()))
    })
    .map_err(|e| about(path, e))
}

/// Reads the secret key from its file.
///
/// # Errors
/// If the file cannot be read, holds no secret key of these parameters, or is under another
/// passphrase, or under none.
pub fn read_secret(
    params: &Params,
    path: &Path,
    passphrase: Option<&SecretBytes>,
) -> Result<ClientKey, Failure> {
    let bytes = SecretBytes::new(files::read(path, LONGEST_SECRET)?);
    let read = match (passphrase, SecretBytes::is_encrypted(bytes.expose())) {
        (None, false) => ClientKey::from_secret_bytes(params, &bytes),
        (Some(passphrase), true) => {
            ClientKey::from_encrypted_bytes(params, bytes.expose(), passphrase.expose())
        }
        (None, true) => {
            let why = "the key is encrypted: name the file with its passphrase (--passphrase)";
            return Err(about(path, why));
        }
        (Some(_), false) => {
            return Err(about(path, "the key is not encrypted: leave --passphrase out"));
        }
    };
    read.map_err(|e| about(path, e))
}
