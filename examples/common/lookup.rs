//! Common parts of the programs of private look-up: one client, one server, and their report.

use bellerophon::bfv::Params;
use bellerophon::pir::{Client, Query, Response, Server, ServerKeys};
use rand::CryptoRng;
use serde::Serialize;

use super::console::Stages;
use super::memory::peak_rss_bytes;
use super::output::Report;
use super::program::Failure;

/// The modulus of the answers.
pub const PLAIN: u64 = 65537;

const KEY_GENERATION: &str = "key generation";
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
        clock: &mut Stages,
        rng: &mut R,
    ) -> Result<Self, Failure> {
        let made = clock.run(KEY_GENERATION, || -> bellerophon::pir::Result<_> {
            let client = Client::generate(params, rng)?;
            let keys = client.server_keys(rng)?;
            Ok((client, keys))
        });
        let (client, keys) = made.map_err(Failure::run)?;
        let server = Server::new(params, &keys).map_err(Failure::run)?;
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
    ) -> Outcome {
        let params = self.client.params();
        let key_bytes = self.keys.byte_len(params) as u64;
        let query_bytes = query.byte_len(params) as u64;
        let bytes = |response: &Response| response.byte_len(params) as u64;
        Outcome {
            report: Report {
                n: errors.len(),
                preset: preset.to_string(),
                security_bits: params.security_bits(),
                engine: "ring repacking".into(),
                keygen_s: clock.seconds(&[KEY_GENERATION]),
                eval_s: clock.seconds(&[EVALUATION]),
                max_abs_err: errors.iter().copied().fold(0.0, f64::max),
                mean_abs_err: errors.iter().sum::<f64>() / errors.len() as f64,
                eval_key_bytes: key_bytes,
                ciphertext_bytes: query_bytes,
                peak_rss_bytes: peak_rss_bytes(),
                threads: rayon::current_num_threads(),
            },
            encrypt_s: clock.seconds(&[ENCRYPTION]),
            decrypt_s: clock.seconds(&[DECRYPTION]),
            query_bytes,
            response_bytes: responses.iter().map(bytes).sum(),
            key_bytes,
            correct: errors.iter().filter(|&&error| error == 0.0).count(),
        }
    }
}

/// The report of every program of private look-up.
#[derive(Debug, Serialize)]
pub struct Outcome {
    #[serde(flatten)]
    pub report: Report,
    pub encrypt_s: f64,
    pub decrypt_s: f64,
    pub query_bytes: u64,
    pub response_bytes: u64,
    pub key_bytes: u64,
    /// The number of correct answers.
    pub correct: usize,
}
