//! One client and one server, and their report.

use std::fmt::Display;
use std::ops::RangeInclusive;

use bellerophon::ckks::fbt::{PublishedIntegers, PublishedPaired};
use bellerophon::lwe::{LweVec, PublishedValues};
use bellerophon::{LutEngine, prelude::*};
use rand::{SeedableRng, rngs::SysRng};
use rand_chacha::ChaCha20Rng;
use serde::Serialize;

use super::args::{Common, Tables};
use super::console::{Console, Stages};
use super::memory::{human, peak_rss_bytes};
use super::output::Report;
use super::program::Failure;
use super::stats::Errors;

const KEY_GENERATION: &str = "key generation";
const ENCRYPTION: &str = "encryption";
const DECRYPTION: &str = "decryption";

const PREPARATION: &str = "training in the clear";
const SET_UP: &str = "server set-up";

/// The stages of the client, and the preparation of the server before it receives values; all other
/// stages are the server's work.
const CLIENT: [&str; 5] = [KEY_GENERATION, SET_UP, ENCRYPTION, DECRYPTION, PREPARATION];

/// The error, relative to the domain's width, up to which a result counts as right.
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
    /// As [`open`](Self::open) for plain look-ups, with the level at which operands enter tables.
    pub fn with_tables(params: Params, tables: &Tables) -> Result<(Self, usize), Failure> {
        let (_, needs) = tables.of(&params)?;
        let level = params.lookups().map_err(Failure::input)?.levels();
        Ok((Self::open(params, &needs)?, level))
    }

    /// Generates the keys of the client for the needs of the server.
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
        let server = stages.run(SET_UP, || Evaluator::new(keys)).map_err(Failure::run)?;
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
        self.encrypt_parts(
            vectors,
            |client, v, rng| client.encrypt_with(v, range.clone(), level, rng),
            |ciphertext| ciphertext,
        )
    }

    /// The client encrypts vectors of integers of `0 .. modulus`, each in a ciphertext of its own.
    pub fn encrypt_integers(
        &mut self,
        vectors: &[&[usize]],
        modulus: usize,
        level: usize,
    ) -> Result<Vec<IntVec>, Failure> {
        self.encrypt_parts(
            vectors,
            |client, v, rng| client.encrypt_with(v, Modulo(modulus), level, rng),
            |integers| integers.values().inner(),
        )
    }

    /// The client encrypts vectors of up to twice as many values of a range as there are slots.
    pub fn encrypt_paired(
        &mut self,
        vectors: &[&[f64]],
        range: RangeInclusive<f64>,
        level: usize,
    ) -> Result<Vec<PairedVec>, Failure> {
        self.encrypt_parts(
            vectors,
            |client, v, rng| client.encrypt_with(v, Paired(range.clone()), level, rng),
            PairedVec::inner,
        )
    }

    /// The client encrypts vectors; `ciphertext` selects the ciphertext that it sends of each.
    fn encrypt_parts<T, C>(
        &mut self,
        vectors: &[T],
        encrypt: impl Fn(&ClientKey, &T, &mut ChaCha20Rng) -> bellerophon::Result<C>,
        ciphertext: impl Fn(&C) -> &Ciphertext,
    ) -> Result<Vec<C>, Failure> {
        let mut rng = ChaCha20Rng::try_from_rng(&mut SysRng).map_err(Failure::run)?;
        let client = &self.client;
        let encrypt_all = || vectors.iter().map(|v| encrypt(client, v, &mut rng)).collect();
        let encrypted: bellerophon::Result<Vec<C>> = self.stages.run(ENCRYPTION, encrypt_all);
        let encrypted = encrypted.map_err(Failure::input)?;
        let bytes = encrypted.iter().map(|part| self.byte_len(ciphertext(part))).sum();
        self.stages.made(bytes);
        self.sent_bytes += bytes;
        Ok(encrypted)
    }

    /// The server publishes a result with the declaration of the program, and nothing else.
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
        results: &LweVec,
        range: RangeInclusive<f64>,
        noise: f64,
    ) -> Result<PublishedValues, Failure> {
        results.publish(range, noise).map_err(Failure::run)
    }

    /// The client decrypts a result.
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

    /// The client decrypts vectors of integers.
    pub fn decrypt_integers(
        &mut self,
        results: &[PublishedIntegers],
    ) -> Result<Vec<Vec<usize>>, Failure> {
        let client = &self.client;
        let decrypt = || results.iter().map(|result| client.decrypt_integers(result)).collect();
        let vectors: bellerophon::Result<_> = self.stages.run(DECRYPTION, decrypt);
        vectors.map_err(Failure::run)
    }

    /// The client decrypts vectors of up to twice as many values as there are slots.
    pub fn decrypt_paired(
        &mut self,
        results: &[PublishedPaired],
    ) -> Result<Vec<Vec<f64>>, Failure> {
        let client = &self.client;
        let decrypt = || results.iter().map(|result| client.decrypt_paired(result)).collect();
        let vectors: bellerophon::Result<_> = self.stages.run(DECRYPTION, decrypt);
        vectors.map_err(Failure::run)
    }

    /// The client decrypts LWE values, all parts in order.
    pub fn decrypt_values(&mut self, parts: &[PublishedValues]) -> Result<Vec<f64>, Failure> {
        let client = &self.client;
        let decrypt = || parts.iter().map(|values| client.decrypt_values(values)).collect();
        let values: bellerophon::Result<Vec<_>> = self.stages.run(DECRYPTION, decrypt);
        Ok(values.map_err(Failure::run)?.concat())
    }

    /// Work of the server on its own, in the clear.
    pub fn prepare<T>(&mut self, work: impl FnOnce() -> T) -> T {
        self.stages.run(PREPARATION, work)
    }

    /// A stage of the server. Its refusals are due to the user's request.
    pub fn serve<T, E: ToString>(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&Evaluator) -> Result<T, E>,
    ) -> Result<T, Failure> {
        let server = &self.server;
        self.stages.run(name, || work(server)).map_err(Failure::input)
    }

    /// Operations of the server that report stages of their own.
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
        ciphertext.lattice().byte_len(self.params.ckks().lattice()) as u64
    }

    /// Bytes that the client has sent, without keys.
    pub fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// The engine of the tables, as reports name it.
    pub fn engine(&self) -> &'static str {
        self.server.engine().map_or("none", LutEngine::name)
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

/// A preset for functions of whole vectors, adapted to vectors of `count` values: fewer slots take
/// smaller matrices and fewer keys at the same security.
pub fn params_for_vectors(preset: Preset, count: usize) -> Result<Params, Failure> {
    let mut spec = preset.spec().map_err(Failure::run)?;
    if let Some(functional) = &mut spec.functional {
        functional.slots = functional.slots.min(count.max(1).next_power_of_two());
    }
    Params::new(spec).map_err(Failure::run)
}

/// The requested preset.
pub fn params(flags: &Common) -> Result<Params, Failure> {
    Params::preset(flags.preset()?).map_err(Failure::run)
}

/// The report of programs that apply functions, beside the common fields.
#[derive(Debug, Serialize)]
pub struct Outcome<'a> {
    #[serde(flatten)]
    pub report: Report,
    /// The name of the operation.
    pub op: String,
    /// The number of values.
    pub count: usize,
    /// The server's seconds per value.
    pub s_per_value: f64,
    /// The fraction of correct results, encrypted.
    pub accuracy: f64,
    /// The fraction of correct results for the same computation in the clear.
    pub accuracy_clear: f64,
    #[serde(serialize_with = "Stages::as_seconds")]
    pub stages: &'a Stages,
    #[serde(rename = "stage_bytes", serialize_with = "Stages::as_sizes")]
    pub sizes: &'a Stages,
}

impl<'a> Outcome<'a> {
    /// The outcome of an operation on `report.n` values.
    pub fn new(session: &'a Session, report: Report, op: impl ToString, right: [f64; 2]) -> Self {
        let [accuracy, accuracy_clear] = right;
        let count = report.n;
        let s_per_value = report.eval_s / count.max(1) as f64;
        let stages = &session.stages;
        let op = op.to_string();
        Self { report, op, count, s_per_value, accuracy, accuracy_clear, stages, sizes: stages }
    }

    /// Prints the parameters.
    pub fn say_parameters(&self, console: &Console) {
        let Report { preset, security_bits, engine, threads, .. } = &self.report;
        console.say(format_args!(
            "preset {preset}, {security_bits:.1}-bit security, engine {engine}, {threads} threads\n"
        ));
    }

    /// Prints errors, times and memory.
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
