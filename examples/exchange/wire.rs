//! Objects as bytes, with refusals that name the fault.
#![allow(dead_code, reason = "client and server use their own parts of this module")]

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::ops::RangeInclusive;
use std::path::Path;

use bellerophon::ckks::SeededCiphertext;
use bellerophon::format::{self, ContentHash, FormatError, Header, SecretBytes};
use bellerophon::lwe;
use bellerophon::mlwe::{self, Security};
use bellerophon::ring::wire::Wire;
use bellerophon::{Error, ErrorKind, prelude::*};
use rand::{SeedableRng, rngs::SysRng};
use rand_chacha::ChaCha20Rng;

use super::common::program::Failure;
use super::protocol::{Code, Hash, Hex, Refusal};
use super::shared::about;

/// The largest size of a parameter set in bytes.
const MOST_PARAMETERS: u64 = 1 << 20;

/// The largest size of a secret key in bytes.
const MOST_SECRET: u64 = 16 << 20;

/// The fault of bytes, as a refusal.
fn refusal(error: Error) -> Refusal {
    let code = match error.kind() {
        ErrorKind::Format(FormatError::Fingerprint { .. }) => Code::WrongParameters,
        ErrorKind::Format(FormatError::TooLong { .. }) => Code::TooLarge,
        ErrorKind::Format(FormatError::Io(e)) if e.kind() != io::ErrorKind::UnexpectedEof => {
            Code::Internal
        }
        ErrorKind::Mlwe(e) if weak(e) => Code::Insecure,
        ErrorKind::Lwe(lwe::ErrorKind::Insecure { .. }) => Code::Insecure,
        _ => Code::Malformed,
    };
    Refusal::new(code, error)
}

/// Whether parameters are less secure than required, or say that they are.
fn weak(error: &mlwe::ErrorKind) -> bool {
    match error {
        mlwe::ErrorKind::Insecure { .. } | mlwe::ErrorKind::NoEstimate { .. } => true,
        mlwe::ErrorKind::Parameter { field, .. } => *field == "security",
        _ => false,
    }
}

/// Truncated bytes are a fault of the sender; a disk that does not return them is not.
fn unread(error: std::io::Error) -> Refusal {
    refusal(FormatError::Io(error).into())
}

/// The bytes of a parameter set, and nothing behind them.
pub fn read_parameters(reader: &mut impl Read) -> Result<Vec<u8>, Refusal> {
    let mut bytes = vec![0; Header::LEN];
    reader.read_exact(&mut bytes).map_err(unread)?;
    let header = Header::parse(&bytes).map_err(refusal)?;
    if header.kind != Params::KIND {
        return Err(Refusal::new(Code::Malformed, "another object than parameters"));
    }
    let total = header.total();
    if total > MOST_PARAMETERS {
        let why = format!("parameters of {total} bytes: at most {MOST_PARAMETERS}");
        return Err(Refusal::new(Code::TooLarge, why));
    }
    let rest = total - bytes.len() as u64;
    reader.take(rest).read_to_end(&mut bytes).map_err(unread)?;
    Ok(bytes)
}

/// A received parameter set.
pub fn params(bytes: &[u8], security: Security) -> Result<Params, Refusal> {
    Params::from_bytes(bytes, security).map_err(refusal)
}

/// A received key set of at most `limit` bytes, and nothing behind it, with its name.
pub fn keys(
    params: &Params,
    mut reader: impl Read,
    limit: u64,
) -> Result<(EvaluationKeys, Hash), Refusal> {
    let (keys, name) = EvaluationKeys::read_named(params, &mut reader, limit).map_err(refusal)?;
    match reader.read(&mut [0]).map_err(unread)? {
        0 => Ok((keys, hash(name))),
        _ => Err(Refusal::new(Code::Malformed, "there are extra bytes behind the keys")),
    }
}

/// A received encrypted vector, fresh or not.
pub fn ciphertext(params: &Params, bytes: &[u8]) -> Result<Ciphertext, Refusal> {
    let read = || match Header::parse(bytes)?.kind {
        SeededCiphertext::KIND => {
            let fresh: SeededCiphertext = format::from_bytes(params, bytes)?;
            Ok(fresh.expand(params.ckks())?)
        }
        _ => format::from_bytes(params, bytes),
    };
    read().map_err(refusal)
}

/// A result that a server has published. Nothing else is an answer: a result with more metadata
/// than its program declares has another type.
pub fn published(params: &Params, bytes: &[u8]) -> Result<Published, Refusal> {
    format::from_bytes(params, bytes).map_err(refusal)
}

/// A published result as bytes.
pub fn bytes(params: &Params, y: &Published) -> bellerophon::Result<Vec<u8>> {
    format::to_bytes(params, y)
}

/// Encrypts a vector in its wire form. The ciphertext states the number of values and the given
/// range, and nothing else.
pub fn encrypt(
    client: &ClientKey,
    values: &[f64],
    range: RangeInclusive<f64>,
) -> Result<Vec<u8>, Failure> {
    let mut rng = ChaCha20Rng::try_from_rng(&mut SysRng).map_err(Failure::run)?;
    let params = client.params();
    let fresh = client.encrypt_seeded_with(values, range, params.levels(), &mut rng);
    format::to_bytes(params, &fresh.map_err(Failure::input)?).map_err(Failure::run)
}

/// Writes parameters and keys into one file. Returns the name of the keys and the size.
pub fn write_keys(keys: &EvaluationKeys, path: &Path) -> Result<(Hash, u64), Failure> {
    let params = keys.params().to_bytes().map_err(Failure::run)?;
    super::shared::write_with(path, false, |file| {
        let mut out = BufWriter::new(&mut *file);
        out.write_all(&params)?;
        let name = keys.write_to(&mut out).map_err(std::io::Error::other)?;
        out.flush()?;
        drop(out);
        Ok((hash(name), file.metadata()?.len()))
    })
}

/// Reads the secret key from its file.
pub fn read_secret(params: &Params, path: &Path) -> Result<ClientKey, Failure> {
    let mut bytes =
        Vec::with_capacity(fs::metadata(path).map_err(|e| about(path, e))?.len() as usize);
    let file = File::open(path).map_err(|e| about(path, e))?;
    let read = BufReader::new(file).take(MOST_SECRET).read_to_end(&mut bytes);
    let bytes = SecretBytes::new(bytes);
    read.map_err(|e| about(path, e))?;
    ClientKey::from_secret_bytes(params, &bytes).map_err(|e| about(path, e))
}

fn hash(name: ContentHash) -> Hash {
    Hex::of(&name.0)
}
