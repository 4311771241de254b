//! Objects as bytes, with refusals that say what was wrong with them.
#![allow(dead_code, reason = "client and server use their own parts of this module")]

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};
use std::ops::RangeInclusive;
use std::path::Path;

use bellerophon::ckks::{self, SeededCiphertext};
use bellerophon::format::{self, ContentHash, FormatError, Header, SecretBytes};
use bellerophon::lwe;
use bellerophon::mlwe::{self, Security};
use bellerophon::ring::wire::Wire;
use bellerophon::{Error, prelude::*};
use rand::{SeedableRng, rngs::SysRng};
use rand_chacha::ChaCha20Rng;

use super::common::program::Failure;
use super::protocol::{Code, Hash, Hex, Refusal};
use super::shared::about;

/// Bytes of a parameter set, at most.
const MOST_PARAMETERS: u64 = 1 << 20;

/// A secret key, at most.
const MOST_SECRET: u64 = 16 << 20;

/// What is wrong with bytes, as a refusal.
fn refusal(error: Error) -> Refusal {
    let code = match &error {
        Error::Format(FormatError::Fingerprint { .. }) => Code::WrongParameters,
        Error::Format(FormatError::TooLong { .. }) => Code::TooLarge,
        Error::Format(FormatError::Io(e)) if e.kind() != ErrorKind::UnexpectedEof => Code::Internal,
        Error::Mlwe(e) | Error::Ckks(ckks::Error::Mlwe(e)) if weak(e) => Code::Insecure,
        Error::Lwe(lwe::Error::Insecure { .. }) => Code::Insecure,
        _ => Code::Malformed,
    };
    Refusal::new(code, error)
}

/// Whether parameters are less secure than was asked for, or say that they are.
fn weak(error: &mlwe::Error) -> bool {
    match error {
        mlwe::Error::Insecure { .. } | mlwe::Error::NoEstimate { .. } => true,
        mlwe::Error::Parameter { field, .. } => *field == "security",
        _ => false,
    }
}

/// Bytes that break off are the sender's fault; a disk that does not give them is not.
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

/// A parameter set that somebody sent.
pub fn parameters(bytes: &[u8], security: Security) -> Result<Params, Refusal> {
    Params::from_bytes(bytes, security).map_err(refusal)
}

/// A key set that somebody sent, of at most so many bytes and nothing behind them, with its name.
pub fn keys(
    params: &Params,
    mut reader: impl Read,
    limit: u64,
) -> Result<(EvaluationKeys, Hash), Refusal> {
    let (keys, name) = EvaluationKeys::read_named(params, &mut reader, limit).map_err(refusal)?;
    match reader.read(&mut [0]).map_err(unread)? {
        0 => Ok((keys, hash(name))),
        _ => Err(Refusal::new(Code::Malformed, "there are bytes behind the keys")),
    }
}

/// An encrypted vector that somebody sent, fresh or not.
pub fn ciphertext(params: &Params, bytes: &[u8]) -> Result<Ciphertext, Refusal> {
    let read = || match Header::parse(bytes)?.kind {
        SeededCiphertext::KIND => {
            let fresh: SeededCiphertext = format::from_bytes(params, bytes)?;
            Ok(fresh.expand(params.arithmetic())?)
        }
        _ => format::from_bytes(params, bytes),
    };
    read().map_err(refusal)
}

/// A result that a server has published. Nothing else is an answer: a result of which a server says more
/// than its program declares has another type.
pub fn published(params: &Params, bytes: &[u8]) -> Result<Published, Refusal> {
    format::from_bytes(params, bytes).map_err(refusal)
}

/// A published result as bytes.
pub fn bytes(params: &Params, y: &Published) -> bellerophon::Result<Vec<u8>> {
    format::to_bytes(params, y)
}

/// Encrypts a vector in the form in which it travels. The ciphertext tells the number of values and
/// the range that is given, nothing else.
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

/// Writes parameters and keys into one file: the name of the keys, and its size.
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

/// The secret key of a file.
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
