//! One client and one server, and the report that follows from what they did.

use std::fmt::Display;
use std::ops::RangeInclusive;

use bellerophon::lwe::{PublishedValues, Values};
use bellerophon::{MapEngine, prelude::*};
use rand::{SeedableRng, rngs::SysRng};
use rand_chacha::ChaCha20Rng;
use serde::Serialize;

use super::args::Common;
use super::console::{Console, Stages};
use super::memory::{human, peak_rss_bytes};
use super::output::Report;
use super::program::Failure;
use super::stats::Errors;

const KEY_GENERATION: &str = "key generation";
const ENCRYPTION: &str = "encryption";
const DECRYPTION: &str = "decryption";

const PREPARATION: &str = "training in the clear";

/// The client's stages, and what the server does before it hears of the client; all others are the
/// server's work.
const CLIENT: [&str; 4] = [KEY_GENERATION, ENCRYPTION, DECRYPTION, PREPARATION];

/// Part of a domain's width within which a result counts as right.
pub const CLOSE: f64 = 1.0 / 64.0;

/// A client, the server that holds its public keys, and the time that each of them took.
pub struct Session {
    pub params: Params,
    pub client: ClientKey,
    pub server: Evaluator,
    pub stages: Stages,
    key_bytes: u64,
    sent_bytes: u64,
}

impl Session {
    /// Makes the keys of the client for what the server is to do.
    pub fn open(params: Params, needs: &Needs) -> Result<Self, Failure> {
        let mut stages = Stages::default();
        let keys = stages.run(KEY_GENERATION, || {
            let client = ClientKey::generate(&params)?;
            let keys = client.evaluation_keys(needs)?;
            Ok((client, keys))
        });
        let (client, keys) = keys.map_err(|e: bellerophon::Error| Failure::run(e))?;
        let key_bytes = keys.byte_len() as u64;
        stages.made(key_bytes);
        let server = Evaluator::new(keys).map_err(Failure::run)?;
        Ok(Self { params, client, server, stages, key_bytes, sent_bytes: 0 })
    }

    /// The client encrypts values of a range at a level.
    pub fn encrypt(
        &mut self,
        values: &[f64],
        range: RangeInclusive<f64>,
        level: usize,
    ) -> Result<Ciphertext, Failure> {
        Ok(self.encrypt_all(&[values.to_vec()], range, level)?.remove(0))
    }

    /// The client encrypts several vectors, each in a ciphertext of its own.
    pub fn encrypt_all(
        &mut self,
        vectors: &[Vec<f64>],
        range: RangeInclusive<f64>,
        level: usize,
    ) -> Result<Vec<Ciphertext>, Failure> {
        let mut rng = ChaCha20Rng::try_from_rng(&mut SysRng).map_err(Failure::run)?;
        let client = &self.client;
        let encrypt = || -> bellerophon::Result<Vec<_>> {
            let one = |v: &Vec<f64>| client.encrypt_with(v, range.clone(), level, &mut rng);
            vectors.iter().map(one).collect()
        };
        let ciphertexts = self.stages.run(ENCRYPTION, encrypt).map_err(Failure::input)?;
        let bytes = ciphertexts.iter().map(|ciphertext| self.byte_len(ciphertext)).sum();
        self.stages.made(bytes);
        self.sent_bytes += bytes;
        Ok(ciphertexts)
    }

    /// The server states of a result what its program declares, nothing else, and sends it.
    pub fn publish(
        &self,
        result: &Ciphertext,
        declared: impl Into<Declaration>,
    ) -> Result<Published, Failure> {
        self.server.publish(result, declared).map_err(Failure::run)
    }

    /// As [`publish`](Self::publish) for LWE values, with the standard deviation of their noise.
    pub fn publish_values(
        &self,
        results: &Values,
        range: RangeInclusive<f64>,
        noise: f64,
    ) -> Result<PublishedValues, Failure> {
        results.publish(range, noise).map_err(Failure::run)
    }

    /// The client decrypts what the server sends.
    pub fn decrypt(&mut self, result: &Published) -> Result<Vec<f64>, Failure> {
        Ok(self.decrypt_all(std::slice::from_ref(result))?.remove(0))
    }

    /// The client decrypts several vectors.
    pub fn decrypt_all(&mut self, results: &[Published]) -> Result<Vec<Vec<f64>>, Failure> {
        let client = &self.client;
        let decrypt = || results.iter().map(|result| client.decrypt(result)).collect();
        let vectors: bellerophon::Result<_> = self.stages.run(DECRYPTION, decrypt);
        vectors.map_err(Failure::run)
    }

    /// The client decrypts LWE values, those of all parts in order.
    pub fn decrypt_values(&mut self, parts: &[PublishedValues]) -> Result<Vec<f64>, Failure> {
        let client = &self.client;
        let decrypt = || parts.iter().map(|values| client.decrypt_values(values)).collect();
        let values: bellerophon::Result<Vec<_>> = self.stages.run(DECRYPTION, decrypt);
        Ok(values.map_err(Failure::run)?.concat())
    }

    /// What the server does on its own, in the clear.
    pub fn prepare<T>(&mut self, work: impl FnOnce() -> T) -> T {
        self.stages.run(PREPARATION, work)
    }

    /// A stage of the server. What it refuses, it refuses because of what the user asked for.
    pub fn serve<T, E: ToString>(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&Evaluator) -> Result<T, E>,
    ) -> Result<T, Failure> {
        let server = &self.server;
        self.stages.run(name, || work(server)).map_err(Failure::input)
    }

    /// Operations of the server that go through stages of their own and report them.
    pub fn follow<T, E: ToString>(
        &mut self,
        work: impl FnOnce(&Evaluator) -> Result<T, E>,
    ) -> Result<T, Failure> {
        let server = self.server.clone();
        let result = self.stages.follow(|callback| work(&server.with_progress(callback)));
        result.map_err(Failure::input)
    }

    /// Bytes of a ciphertext in memory.
    pub fn byte_len(&self, ciphertext: &Ciphertext) -> u64 {
        ciphertext.lattice().byte_len(self.params.arithmetic().lattice()) as u64
    }

    /// Bytes that the client has sent, keys not counted.
    pub fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// What reads the tables, as reports name it.
    pub fn engine(&self) -> &'static str {
        self.server.engine().map_or("none", MapEngine::name)
    }

    /// Seconds of the server's work so far.
    pub fn eval_s(&self) -> f64 {
        self.stages.seconds_except(&CLIENT)
    }

    /// The report of a program that processed `n` values.
    pub fn report(&self, n: usize, engine: &str, errors: &Errors) -> Report {
        Report {
            n,
            preset: self.params.name().to_string(),
            security_bits: self.params.security_bits(),
            engine: engine.to_string(),
            keygen_s: self.stages.seconds(&[KEY_GENERATION]),
            eval_s: self.eval_s(),
            max_abs_err: errors.max,
            mean_abs_err: errors.mean,
            eval_key_bytes: self.key_bytes,
            ciphertext_bytes: self.sent_bytes,
            peak_rss_bytes: peak_rss_bytes(),
            threads: rayon::current_num_threads(),
        }
    }
}

/// The preset that the flags ask for.
pub fn params(flags: &Common) -> Result<Params, Failure> {
    Params::preset(flags.preset()?).map_err(Failure::run)
}

/// What programs that apply functions report beside the common keys.
#[derive(Debug, Serialize)]
pub struct Outcome<'a> {
    #[serde(flatten)]
    pub report: Report,
    /// What was computed.
    pub op: String,
    /// Of how many things.
    pub count: usize,
    /// The server's seconds for each of them.
    pub s_per_value: f64,
    /// Fraction that is right, encrypted.
    pub accuracy: f64,
    /// Fraction that is right when the same is computed in the clear.
    pub accuracy_clear: f64,
    #[serde(serialize_with = "Stages::as_seconds")]
    pub stages: &'a Stages,
    #[serde(rename = "stage_bytes", serialize_with = "Stages::as_sizes")]
    pub sizes: &'a Stages,
}

impl<'a> Outcome<'a> {
    /// The outcome of an operation on `report.n` things.
    pub fn new(session: &'a Session, report: Report, op: impl ToString, right: [f64; 2]) -> Self {
        let [accuracy, accuracy_clear] = right;
        let count = report.n;
        let s_per_value = report.eval_s / count.max(1) as f64;
        let stages = &session.stages;
        let op = op.to_string();
        Self { report, op, count, s_per_value, accuracy, accuracy_clear, stages, sizes: stages }
    }

    /// The parameters, for people.
    pub fn say_parameters(&self, console: &Console) {
        let Report { preset, security_bits, engine, threads, .. } = &self.report;
        console.say(format_args!(
            "preset {preset}, {security_bits:.1}-bit security, engine {engine}, {threads} threads\n"
        ));
    }

    /// Errors, times and memory, for people.
    pub fn say_costs(&self, console: &Console, what: impl Display) {
        let Report { max_abs_err: max, mean_abs_err: mean, peak_rss_bytes, .. } = &self.report;
        console.errors(&Errors { max: *max, mean: *mean });
        console.say(format_args!(
            "server: {:.2} s, {:.2} ms for each of {} {what}",
            self.report.eval_s,
            1e3 * self.s_per_value,
            self.count
        ));
        console.stages(self.stages);
        let peak = peak_rss_bytes.map_or_else(|| "unknown".to_string(), human);
        console.say(format_args!("{:28} {:>11} {peak:>12}", "peak memory", ""));
    }
}
