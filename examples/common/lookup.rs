//! Common parts of the programs of private look-up: one client, one server, and their report.

use bellerophon::bfv::Params;
use bellerophon::pir::{Client, Query, Response, Server, ServerKeys};
use rand::CryptoRng;

use super::console::Stages;
use super::facts::Facts;
use super::output::{KEY_GENERATION, Report};
use super::program::Failure;
use super::stats::Errors;

/// The modulus of the answers.
pub const PLAIN: u64 = 65537;

pub const ENCRYPTION: &str = "encryption";
pub const EVALUATION: &str = "evaluation";
pub const DECRYPTION: &str = "decryption";

/// A client, and the server that holds its public keys.
pub struct Parties {
    pub client: Client,
    pub server: Server,
    keys: ServerKeys,
}

impl Parties {
    /// Makes the keys of the client.
    pub fn open<R: CryptoRng + ?Sized>(
        params: &Params,
        clock: &Stages,
        rng: &mut R,
    ) -> Result<Self, Failure> {
        let made = clock.run(KEY_GENERATION, || -> bellerophon::pir::Result<_> {
            let client = Client::generate(params, rng)?;
            let keys = client.server_keys(rng)?;
            Ok((client, keys))
        });
        let (client, keys) = made?;
        let server = Server::new(params, &keys)?;
        Ok(Self { client, server, keys })
    }

    /// The costs of a query, and the errors of the answers.
    pub fn outcome(
        &self,
        preset: &str,
        clock: &Stages,
        query: &Query,
        responses: &[Response],
        errors: &[f64],
    ) -> Facts {
        let params = self.client.params();
        let key_bytes = self.keys.byte_len(params) as u64;
        let query_bytes = query.byte_len(params) as u64;
        let bytes = |response: &Response| response.byte_len(params) as u64;
        let errors_of = Errors::between(&vec![0.0; errors.len()], errors);
        let report = Report {
            security_bits: params.security_bits(),
            engine: "ring repacking".into(),
            eval_s: clock.seconds(&[EVALUATION]),
            eval_key_bytes: key_bytes,
            ciphertext_bytes: query_bytes,
            ..Report::of(errors.len(), preset, clock, &errors_of)
        };
        Facts::of(report)
            .with("encrypt_s", clock.seconds(&[ENCRYPTION]))
            .with("decrypt_s", clock.seconds(&[DECRYPTION]))
            .with("query_bytes", query_bytes)
            .with("response_bytes", responses.iter().map(bytes).sum::<u64>())
            .with("key_bytes", key_bytes)
            .with("correct", errors.iter().filter(|&&error| error == 0.0).count())
    }
}
