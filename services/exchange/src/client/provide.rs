//! Encryption under the public key of somebody else.

use std::path::PathBuf;

use bellerophon::{format, mlwe::Security};
use serde_json::json;

use super::Place;
use super::encrypt::{Data, check};
use crate::cli::{self, Failure, say};
use crate::files;
use crate::programs::Program;
use crate::wire;

/// Encrypt a vector for the owner of a public key, without a secret key
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The owner's `shared/public`. Nothing in it proves whose it is: take it over a channel that
    /// does
    #[arg(long, value_name = "FILE")]
    public: PathBuf,

    /// Program that the owner will run on the vector, which declares its range
    #[arg(long, value_name = "NAME")]
    program: Program,

    #[command(flatten)]
    data: Data,

    /// File for the ciphertext, for the owner's `encrypt --provided`
    #[arg(long, value_name = "FILE")]
    to: PathBuf,

    /// Accept insecure parameters, for tests
    #[arg(long)]
    accept_insecure: bool,
}

/// Encrypts one vector.
pub fn run(place: &Place, arguments: &Arguments) -> Result<(), Failure> {
    let security = if arguments.accept_insecure { Security::Insecure } else { Security::Bits128 };
    let key = wire::read_public(&arguments.public, security)?;
    let vectors = arguments.data.vectors()?;
    let [values] = &vectors[..] else {
        let found = vectors.len();
        return Err(Failure::input(format!(
            "{found} vectors: provide takes one (--values, --csv)"
        )));
    };
    check(values, arguments.program, None)?;
    let x = key.encrypt(values, arguments.program.domain()).map_err(Failure::input)?;
    let bytes = format::to_bytes(key.params(), &x).map_err(Failure::run)?;
    files::write(&arguments.to, &bytes)?;
    let (n, security_bits) = (values.len(), key.params().security_bits());
    say(place.json, format_args!("{n} values for the key {}", key.id()));
    let ciphertext_bytes = bytes.len();
    cli::report(
        place.json,
        &json!({"n": n, "ciphertext_bytes": ciphertext_bytes, "security_bits": security_bits}),
    )
}
