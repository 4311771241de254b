//! One client and one server, and their report.

use std::ops::RangeInclusive;

use bellerophon::lwe::{LweVec, PublishedValues};
use bellerophon::{Engine, prelude::*};
use rand_chacha::ChaCha20Rng;

use super::args::{Common, Tables};
use super::console::Stages;
use super::facts::Facts;
use super::output::{KEY_GENERATION, Report};
use super::program::Failure;
use super::random;
use super::stats::Errors;

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
        let (client, keys) = stages.run(KEY_GENERATION, || -> bellerophon::Result<_> {
            let client = ClientKey::generate(&params)?;
            let keys = client.evaluation_keys(needs)?;
            Ok((client, keys))
        })?;
        let key_bytes = keys.byte_len() as u64;
        stages.made(key_bytes);
        let server = stages.run(SET_UP, || Evaluator::new(keys))?;
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
        let mut rng = random::fresh()?;
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
        Ok(self.server.publish(result, declared)?)
    }

    /// As [`publish`](Self::publish) for LWE values, with the standard deviation of their noise.
    pub fn publish_values(
        &self,
        results: &LweVec,
        range: RangeInclusive<f64>,
        noise: f64,
    ) -> Result<PublishedValues, Failure> {
        Ok(results.publish(range, noise)?)
    }

    /// The client decrypts a result.
    pub fn decrypt(&mut self, result: &Published) -> Result<Vec<f64>, Failure> {
        Ok(self.decrypt_all(std::slice::from_ref(result))?.remove(0))
    }

    /// The client decrypts several vectors.
    pub fn decrypt_all(&mut self, results: &[Published]) -> Result<Vec<Vec<f64>>, Failure> {
        self.decrypt_parts(results, |client, result| client.decrypt(result))
    }

    /// The client decrypts vectors of integers.
    pub fn decrypt_integers(
        &mut self,
        results: &[Published<IntVec>],
    ) -> Result<Vec<Vec<usize>>, Failure> {
        self.decrypt_parts(results, |client, result| client.decrypt_integers(result))
    }

    /// The client decrypts vectors of up to twice as many values as there are slots.
    pub fn decrypt_paired(
        &mut self,
        results: &[Published<PairedVec>],
    ) -> Result<Vec<Vec<f64>>, Failure> {
        self.decrypt_parts(results, |client, result| client.decrypt_paired(result))
    }

    /// The client decrypts LWE values, all parts in order.
    pub fn decrypt_values(&mut self, parts: &[PublishedValues]) -> Result<Vec<f64>, Failure> {
        Ok(self.decrypt_parts(parts, |client, values| client.decrypt_values(values))?.concat())
    }

    fn decrypt_parts<P, V>(
        &mut self,
        parts: &[P],
        decrypt: impl Fn(&ClientKey, &P) -> bellerophon::Result<V>,
    ) -> Result<Vec<V>, Failure> {
        let client = &self.client;
        let all = || parts.iter().map(|part| decrypt(client, part)).collect();
        let values: bellerophon::Result<_> = self.stages.run(DECRYPTION, all);
        Ok(values?)
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

    /// Notes the size of the result of the latest stage.
    pub fn made(&mut self, ciphertext: &Ciphertext) {
        let bytes = self.byte_len(ciphertext);
        self.stages.made(bytes);
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
        self.server.engine().map_or("none", Engine::name)
    }

    /// Seconds of the server's work so far.
    pub fn eval_s(&self) -> f64 {
        self.stages.seconds_except(&CLIENT)
    }

    /// The report of a program that processed `n` values.
    pub fn report(&self, n: usize, engine: &str, errors: &Errors) -> Facts {
        Facts::of(Report {
            security_bits: self.params.security_bits(),
            engine: engine.to_string(),
            eval_s: self.eval_s(),
            eval_key_bytes: self.key_bytes,
            ciphertext_bytes: self.sent_bytes,
            ..Report::of(n, self.params.name(), &self.stages, errors)
        })
    }

    /// The report of an operation on `n` values: beside that of every program, the server's seconds
    /// per value, the fractions of correct results, encrypted and in the clear, and the stages.
    pub fn outcome(
        &self,
        op: &str,
        n: usize,
        engine: &str,
        errors: &Errors,
        accuracy: [f64; 2],
    ) -> Facts {
        self.report(n, engine, errors)
            .with("op", op)
            .with("count", n)
            .with("s_per_value", self.eval_s() / n.max(1) as f64)
            .with("accuracy", accuracy[0])
            .with("accuracy_clear", accuracy[1])
            .stages(&self.stages)
    }
}

/// A preset for functions of whole vectors, adapted to vectors of `count` values: fewer slots take
/// smaller matrices and fewer keys at the same security.
pub fn params_for_vectors(preset: Preset, count: usize) -> Result<Params, Failure> {
    let mut spec = preset.spec()?;
    if let Some(functional) = &mut spec.functional {
        functional.slots = functional.slots.min(count.max(1).next_power_of_two());
    }
    Ok(Params::new(spec)?)
}

/// The requested preset.
pub fn params(flags: &Common) -> Result<Params, Failure> {
    Ok(Params::preset(flags.preset()?)?)
}
