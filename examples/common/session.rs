//! One client and one server, and their report.

use bellerophon::{Engine, Message, prelude::*};

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

/// A vector that a client sends.
pub trait Sent {
    /// The ciphertext of the vector.
    fn ciphertext(&self) -> &Ciphertext;
}

impl Sent for Ciphertext {
    fn ciphertext(&self) -> &Ciphertext {
        self
    }
}

impl Sent for PairedVec {
    fn ciphertext(&self) -> &Ciphertext {
        self.inner()
    }
}

impl Sent for IntVec {
    fn ciphertext(&self) -> &Ciphertext {
        self.values().inner()
    }
}

/// A client, the server that holds its public keys, and the time that each of them took.
pub struct Session {
    pub params: Params,
    pub client: ClientKey,
    pub server: Evaluator,
    pub stages: Stages,
    pub key_bytes: u64,
    /// Bytes that the client has sent, without keys.
    pub sent_bytes: u64,
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
        let stages = Stages::default();
        let (client, keys) = keys(&params, needs, &stages)?;
        let key_bytes = keys.byte_len() as u64;
        let server = stages.run(SET_UP, || Evaluator::new(keys))?;
        Ok(Self { params, client, server, stages, key_bytes, sent_bytes: 0 })
    }

    /// The client encrypts values of a message, such as a range, at a level.
    pub fn encrypt<M: Message<Vector: Sent> + Clone>(
        &mut self,
        values: &[M::Value],
        message: M,
        level: usize,
    ) -> Result<M::Vector, Failure> {
        Ok(self.encrypt_all(&[values], message, level)?.remove(0))
    }

    /// The client encrypts several vectors, each in a ciphertext of its own.
    pub fn encrypt_all<M: Message<Vector: Sent> + Clone>(
        &mut self,
        vectors: &[impl AsRef<[M::Value]>],
        message: M,
        level: usize,
    ) -> Result<Vec<M::Vector>, Failure> {
        let mut rng = random::fresh()?;
        let mut encrypt =
            |v: &[M::Value]| self.client.encrypt_with(v, message.clone(), level, &mut rng);
        let encrypt_all = || vectors.iter().map(|v| encrypt(v.as_ref())).collect();
        let encrypted: bellerophon::Result<Vec<M::Vector>> =
            self.stages.run(ENCRYPTION, encrypt_all);
        let encrypted = encrypted.map_err(Failure::input)?;
        let bytes = encrypted.iter().map(|vector| self.byte_len(vector.ciphertext())).sum();
        self.stages.made(bytes);
        self.sent_bytes += bytes;
        Ok(encrypted)
    }

    /// The server publishes a result with the declaration of the program, and nothing else; the
    /// client decrypts it.
    pub fn read(
        &mut self,
        result: &Ciphertext,
        declared: impl Into<Declaration>,
    ) -> Result<Vec<f64>, Failure> {
        let published = self.server.publish(result, declared)?;
        self.decrypt(|client| client.decrypt(&published))
    }

    /// The client decrypts results.
    pub fn decrypt<T>(
        &mut self,
        work: impl FnOnce(&ClientKey) -> bellerophon::Result<T>,
    ) -> Result<T, Failure> {
        Ok(self.stages.run(DECRYPTION, || work(&self.client))?)
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

/// Generates the secrets of a client and the public keys for the needs of a server.
pub fn keys(
    params: &Params,
    needs: &Needs,
    stages: &Stages,
) -> Result<(ClientKey, EvaluationKeys), Failure> {
    let made = stages.run(KEY_GENERATION, || -> bellerophon::Result<_> {
        let client = ClientKey::generate(params)?;
        let keys = client.evaluation_keys(needs)?;
        Ok((client, keys))
    })?;
    stages.made(made.1.byte_len() as u64);
    Ok(made)
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

/// Refuses a number of images that is no power of two, or more than `most`.
pub fn check_count(count: usize, most: usize, params: &Params) -> Result<(), Failure> {
    if count.is_power_of_two() && count <= most {
        return Ok(());
    }
    let name = params.name();
    let need = format!("need a power of two, at most {most} for the preset {name}");
    Err(Failure::input(format!("--count {count}: {need}")))
}

pub fn params(flags: &Common) -> Result<Params, Failure> {
    Ok(Params::preset(flags.preset()?)?)
}
