//! The refusals of the facade.

use bellerophon_ring::wire::Fingerprint;
use bellerophon_ring::{Error, ErrorKind};

pub use bellerophon_ckks::error::missing_keys;
#[cfg(test)]
pub(crate) use bellerophon_ring::refusal;

use crate::format::kinds::printed;
use crate::format::{ContentHash, foreign as text};

pub fn no_look_ups(params: String) -> Error {
    ErrorKind::Unsupported.error(format!(
        "the parameters '{params}' have no look-ups: take `Preset::Functions`, or set \
         `ParamsSpec::lookup`"
    ))
}

/// Needs with an assumption that the client did not name.
pub fn not_allowed(what: &'static str, allow: &'static str) -> Error {
    ErrorKind::Request.error(format!(
        "the needs ask for {what}: whoever owns the secret key decides on that, not the \
         sender of the needs; call `Needs::{allow}` to accept it"
    ))
}

/// A budget file that does not count down from what was left.
pub fn budget_file(path: String, reason: &'static str) -> Error {
    ErrorKind::Budget.error(format!("the budget file {path}: {reason}"))
}

pub fn unserved(need: &'static str, params: String, reason: String) -> Error {
    ErrorKind::Unsupported
        .error(format!("the parameters '{params}' cannot serve `Needs::{need}`: {reason}"))
}

pub fn no_functional(params: String) -> Error {
    ErrorKind::Unsupported.error(format!(
        "the parameters '{params}' have no functional bootstrapping: take a preset for tables \
         such as `Preset::Tables(8)`, or `Preset::Smooth`, or set `ParamsSpec::functional`"
    ))
}

pub fn no_tables(bits: u32) -> Error {
    ErrorKind::Unsupported.error(format!(
        "no preset has tables of {bits}-bit integers: take `Preset::Tables` of 1 to 16"
    ))
}

pub fn no_small_tables(bits: u32) -> Error {
    ErrorKind::Unsupported.error(format!(
        "no preset of 16384 slots has tables of {bits}-bit integers: take `Preset::SmallTables` of \
         1 to 4, or `Preset::Tables`"
    ))
}

pub fn no_bootstrap(params: String) -> Error {
    ErrorKind::Unsupported.error(format!(
        "the parameters '{params}' have no bootstrapping: take `Preset::Bootstrapping`, or \
         set `ParamsSpec::bootstrap`"
    ))
}

pub fn no_bytes() -> Error {
    ErrorKind::Bytes.error("no bytes: the file is empty, or nothing was sent")
}

pub fn too_short(found: usize, least: usize) -> Error {
    ErrorKind::Bytes.error(format!("{found} bytes, and an object has at least {least}: cut off"))
}

/// The bytes do not begin as the format does.
pub fn foreign(found: &'static str) -> Error {
    ErrorKind::Bytes.error(format!("not an object of Bellerophon: {found}"))
}

/// A program on the way took the bytes for text.
pub fn decoded() -> Error {
    ErrorKind::Bytes.error(
        "not an object of Bellerophon any more: the bytes were decoded as text on the way: open \
         the file in binary mode",
    )
}

pub fn format_version(found: u16, needed: u16) -> Error {
    ErrorKind::Bytes.error(format!(
        "format version {found}: this library reads version {needed}: write the object again \
         with this release, or update the library"
    ))
}

pub fn object_kind(found: u16, needed: u16, name: &'static str) -> Error {
    ErrorKind::Bytes.error(format!(
        "the bytes hold {}, but the reader expects {name} (type {needed:#06x}): read them as \
         the type that was written, or send the other object",
        printed(found)
    ))
}

pub fn foreign_parameters(name: &'static str, found: Fingerprint, needed: Fingerprint) -> Error {
    ErrorKind::ParamsMismatch.error(format!(
        "{name} of the parameters {found}: the reader has {needed}: read the sender's \
         parameters first, or agree on a preset"
    ))
}

pub fn too_long(name: &'static str, found: u64, limit: u64) -> Error {
    ErrorKind::Bytes.error(format!("{name} of {found} bytes: the reader allows {limit}"))
}

pub fn envelope_length(found: u64, needed: u64) -> Error {
    ErrorKind::Bytes.error(format!(
        "{found} bytes, but the header states {needed}: truncated, or more than one object"
    ))
}

pub fn damaged(name: &'static str, found: ContentHash, stated: ContentHash) -> Error {
    ErrorKind::Bytes.error(format!(
        "{name}: the bytes are damaged: their hash is {found}, but the envelope states \
         {stated}"
    ))
}

pub fn reserved_bits(found: u32) -> Error {
    ErrorKind::Bytes.error(format!("reserved bits of the header are set: {found:#010x}"))
}

/// A secret that cannot be decrypted: which of the reasons holds is not told.
pub fn locked() -> Error {
    ErrorKind::Bytes.error(
        "the secret cannot be decrypted: the passphrase is another one, or the bytes were changed \
         or cut short",
    )
}

/// A secret under a passphrase whose cost is not allowed.
pub fn passphrase_cost(memory_kib: u32, passes: u32) -> Error {
    ErrorKind::Argument.error(format!(
        "a passphrase at {memory_kib} KiB of memory and {passes} passes: 65536 to 262144 KiB \
         and 3 to 16 passes are allowed (`PassphraseCost`)"
    ))
}

pub fn empty_passphrase() -> Error {
    ErrorKind::Argument.error(
        "an empty passphrase encrypts nothing: give one, or take `ClientKey::to_secret_bytes`",
    )
}

pub fn malformed(name: &'static str, reason: String) -> Error {
    ErrorKind::Bytes.error(format!("{name} cannot be read: {reason}"))
}

/// Why bytes that do not begin with a magic word and a whole head are no object.
pub(crate) fn no_object(bytes: &[u8], magic: &[u8; 8], least: usize) -> Error {
    let found = bytes.len();
    if bytes.is_empty() {
        return no_bytes();
    }
    if text::decoded(bytes, magic) {
        return decoded();
    }
    if bytes[..found.min(8)] == magic[..found.min(8)] {
        return too_short(found, least);
    }
    let unknown = "the bytes do not begin with its magic word";
    foreign(text::looks_like(bytes).unwrap_or(unknown))
}

/// This error, or its cause if a program on the way took the bytes for text.
pub(crate) fn or_decoded(error: Error, bytes: &[u8], magic: &[u8; 8]) -> Error {
    if text::decoded(bytes, magic) { decoded() } else { error }
}
