//! The messages of client and server: names, states, refusals and answers, as in
//! `docs/EXCHANGE.md`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::cli::{parse_bytes, seconds};
use crate::words::line;

/// The first part of every path. Another version of the protocol gets another one.
pub const VERSION: &str = "v1";

/// The largest number of jobs in an answer to `GET /v1/jobs`; a list with fewer is the last one.
pub const JOBS_PAGE: usize = 256;

/// A name of `N` lower-case hexadecimal digits: safe in a path and as a file name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hex<const N: usize>([u8; N]);

/// The name of a job. The client draws it at random, so that it can repeat a request.
pub type JobId = Hex<32>;
/// The name of a client at the server: the hash of its token, which the server does not store.
pub type ClientId = Hex<32>;
/// The BLAKE3 hash of some bytes, or the name of a key set.
pub type Hash = Hex<64>;

/// The client's proof of identity: 256 random bits, known only to client and server.
#[derive(Clone)]
pub struct Token(Hex<64>);

impl Token {
    /// A token of random bytes.
    pub fn new(random: &[u8; 32]) -> Self {
        Self(Hex::of(random))
    }

    /// The digits.
    pub fn expose(&self) -> &str {
        self.0.as_str()
    }

    /// The server's name for the holder of the token.
    pub fn client(&self) -> ClientId {
        Hex::of(blake3::hash(self.expose().as_bytes()).as_bytes())
    }
}

impl FromStr for Token {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a token")
    }
}

impl<const N: usize> Hex<N> {
    /// The name of some bytes, two digits each.
    ///
    /// # Panics
    /// Unless there are `N / 2` or more; the rest is ignored.
    pub fn of(bytes: &[u8]) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        Self(std::array::from_fn(|i| {
            let byte = bytes[i / 2];
            DIGITS[usize::from(if i % 2 == 0 { byte >> 4 } else { byte & 15 })]
        }))
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("hexadecimal digits")
    }
}

impl Hex<64> {
    /// The BLAKE3 hash of some bytes.
    pub fn hash(bytes: &[u8]) -> Self {
        Self::of(blake3::hash(bytes).as_bytes())
    }
}

impl<const N: usize> FromStr for Hex<N> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = <[u8; N]>::try_from(text.as_bytes()).ok();
        let lower = |d: &u8| d.is_ascii_digit() || (b'a'..=b'f').contains(d);
        let digits = digits.filter(|digits| digits.iter().all(lower));
        digits.map(Self).ok_or_else(|| format!("need {N} lower-case hexadecimal digits"))
    }
}

impl<const N: usize> fmt::Display for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<const N: usize> fmt::Debug for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<const N: usize> TryFrom<String> for Hex<N> {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl<const N: usize> From<Hex<N>> for String {
    fn from(name: Hex<N>) -> Self {
        name.to_string()
    }
}

/// Text of the other side, as a [`line()`].
fn read_line<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map(|words| line(&words))
}

fn read_some_line<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let words = Option::<String>::deserialize(deserializer)?;
    Ok(words.map(|words| line(&words)))
}

/// The kind of a refused request or job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// A request that does not follow the protocol.
    BadRequest,
    /// Invalid bytes: truncated, changed, of another type or version.
    Malformed,
    /// Bytes whose hash differs from the name under which they were sent.
    HashMismatch,
    /// Parameters below the server's security level.
    Insecure,
    /// Parameters or keys that no program of the server uses.
    NotServed,
    /// No token, or one that the server does not accept.
    Unauthorised,
    /// No such path.
    UnknownPath,
    /// No such method for this path.
    Method,
    /// No such program.
    UnknownProgram,
    /// Keys that this client has not uploaded.
    UnknownKeys,
    /// A job that this client has not submitted.
    UnknownJob,
    /// The request took too long to arrive.
    TooSlow,
    /// Another job has this name.
    JobExists,
    /// Jobs wait for these keys.
    InUse,
    /// The job has no result yet.
    NotReady,
    /// A ciphertext under another key than the one named.
    WrongKey,
    /// A ciphertext of other parameters than those of the keys named.
    WrongParameters,
    /// No length was declared.
    LengthRequired,
    /// More bytes, parts or memory than the server accepts.
    TooLarge,
    /// The program cannot run on this ciphertext with these keys.
    NotComputable,
    /// The client has the largest number of waiting jobs.
    QueueFull,
    /// The client has the largest number of requests in progress.
    TooManyRequests,
    /// The job exceeded the time limit.
    TimeLimit,
    /// The server failed while it ran this job, or ended several times.
    Crashed,
    /// The server's files of the job are missing or damaged.
    Lost,
    /// The client, or all clients together, have used up their storage.
    StorageFull,
    /// The server has the largest number of clients.
    TooManyClients,
    /// A fault of the server.
    Internal,
}

impl Code {
    /// The HTTP status of the refusal.
    pub fn status(self) -> u16 {
        match self {
            Self::BadRequest | Self::Malformed | Self::HashMismatch => 400,
            Self::Unauthorised => 401,
            Self::Insecure | Self::NotServed => 403,
            Self::UnknownPath | Self::UnknownProgram | Self::UnknownKeys | Self::UnknownJob => 404,
            Self::Method => 405,
            Self::TooSlow => 408,
            Self::JobExists | Self::InUse | Self::NotReady => 409,
            Self::WrongKey | Self::WrongParameters => 409,
            Self::LengthRequired => 411,
            Self::TooLarge => 413,
            Self::NotComputable | Self::TimeLimit | Self::Crashed | Self::Lost => 422,
            Self::QueueFull | Self::TooManyRequests => 429,
            Self::Internal => 500,
            Self::TooManyClients => 503,
            Self::StorageFull => 507,
        }
    }

    /// Whether the same request may succeed later.
    pub fn passes(self) -> bool {
        matches!(self, Self::QueueFull | Self::TooManyRequests | Self::TooManyClients)
    }

    /// The refusal in words. The client takes them from here, and none from the server.
    pub fn text(self) -> &'static str {
        match self {
            Self::BadRequest => "the request does not follow the protocol",
            Self::Malformed => {
                "truncated or damaged bytes, or an object of another type or version"
            }
            Self::HashMismatch => "the bytes are not those that their name says",
            Self::Insecure => "the parameters are below the security level of the server",
            Self::NotServed => "no program of the server uses such parameters or keys",
            Self::Unauthorised => {
                "the server does not know this token: ask its operator for an invitation"
            }
            Self::UnknownPath => "the server has no such path",
            Self::Method => "the path does not support this method",
            Self::UnknownProgram => "the server has no such program",
            Self::UnknownKeys => "the server does not have these keys: `send` brings them",
            Self::UnknownJob => "the server does not have this job: `send` brings it",
            Self::TooSlow => "the request took too long to arrive, or to be answered",
            Self::JobExists => "the server has another job of this name",
            Self::InUse => "jobs wait for these keys",
            Self::NotReady => "the job has not ended",
            Self::WrongKey => "the ciphertext is under another secret key than the keys named",
            Self::WrongParameters => "the ciphertext has other parameters than the keys named",
            Self::LengthRequired => "declare the length of the body in Content-Length",
            Self::TooLarge => "more bytes, primes or memory than the server accepts",
            Self::NotComputable => {
                "the program cannot run on this ciphertext with these keys: its level, its range \
                 or a missing key"
            }
            Self::QueueFull => "as many jobs of this client wait or run as the server allows",
            Self::TooManyRequests => {
                "too many requests of this client at once, or the memory of the server is in use: \
                 try again later"
            }
            Self::TimeLimit => "the job took longer than the server allows",
            Self::Crashed => "the server failed while it ran this job",
            Self::Lost => "the disk of the server has lost a part of the job: encrypt it again",
            Self::StorageFull => {
                "no storage is left for this client, or on the server: fetch results and delete \
                 them"
            }
            Self::TooManyClients => {
                "the server has no place for another client without an invitation"
            }
            Self::Internal => "the server failed: its operator finds the reason in the log",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A refusal: the body of every answer that is not a success. Its kind alone is sent and stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The kind.
    pub code: Code,
    /// Details where it arises, for logs. They may repeat what only that side knows, and never
    /// leave it.
    #[serde(skip)]
    pub details: String,
}

impl Refusal {
    /// A refusal with its details, as a [`line()`].
    pub fn new(code: Code, details: impl fmt::Display) -> Self {
        Self { code, details: line(&details.to_string()) }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.code.text())?;
        match self.details.as_str() {
            "" => Ok(()),
            details => write!(f, " ({details})"),
        }
    }
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// On disk and waiting; a restart of the server restores this state.
    Accepted,
    /// A worker runs it.
    Running,
    /// Its result is on disk.
    Done,
    /// It will not be computed, for the given reason.
    Refused,
}

impl State {
    /// Whether the state is final.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Refused)
    }
}

/// The server's report of a job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Status {
    /// Its name.
    pub id: JobId,
    /// The program.
    #[serde(deserialize_with = "read_line")]
    pub program: String,
    /// The keys.
    pub keys: Hash,
    /// Its state.
    pub state: State,
    /// The number of jobs of the same client before it.
    pub ahead: usize,
    /// The current stage of a running job.
    #[serde(deserialize_with = "read_some_line")]
    pub stage: Option<String>,
    /// The progress in this stage.
    pub done: usize,
    /// The number of steps in this stage.
    pub total: usize,
    /// The reason if it was refused.
    pub refusal: Option<Refusal>,
    /// Bytes of the answer, its head included.
    pub result_bytes: Option<u64>,
}

/// A program that the server offers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Offer {
    /// Its name.
    #[serde(deserialize_with = "read_line")]
    pub name: String,
    /// What it computes.
    #[serde(deserialize_with = "read_line")]
    pub computes: String,
}

/// The limits of a client, as flags of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::Args)]
pub struct Bounds {
    /// Largest ciphertext of a job, in bytes (K, M, G for powers of 1024)
    #[arg(long, value_name = "BYTES", default_value = "64M", value_parser = parse_bytes)]
    pub job_bytes: u64,

    /// Largest upload of parameters and keys
    #[arg(long, value_name = "BYTES", default_value = "2G", value_parser = parse_bytes)]
    pub key_bytes: u64,

    /// Jobs of one client that wait or run
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub queued_jobs: usize,

    /// Jobs that are kept for one client, ended ones too
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub kept_jobs: usize,

    /// Key sets that are kept for one client
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub kept_keys: usize,

    /// Seconds that a job may run once its keys are loaded
    #[arg(long, value_name = "S", default_value_t = 600, value_parser = seconds())]
    pub job_seconds: u64,

    /// Bytes that are kept for one client without a quota of its own
    #[arg(
        long = "client-storage",
        value_name = "BYTES",
        default_value = "8G",
        value_parser = parse_bytes
    )]
    pub stored_bytes: u64,

    /// Requests of one client at the same time
    #[arg(long = "client-requests", value_name = "N", default_value_t = 8)]
    pub requests: usize,
}

/// The server's description of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Info {
    /// [`VERSION`].
    #[serde(deserialize_with = "read_line")]
    pub protocol: String,
    /// The programs that it offers.
    pub programs: Vec<Offer>,
    /// The limits of a client.
    pub limits: Bounds,
}

/// The answer to an upload of keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeyStatus {
    /// The name of the keys.
    pub keys: Hash,
    /// Their size.
    pub bytes: u64,
    /// The name of the parameters.
    #[serde(deserialize_with = "read_line")]
    pub params: String,
}

/// The head of an answer: a line in front of the published result that binds it to its job and its
/// owner, so that answers cannot be swapped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerHead {
    /// The job.
    pub job: JobId,
    /// The client that submitted it.
    pub owner: ClientId,
    /// The BLAKE3 hash of the result.
    pub hash: Hash,
}

impl AnswerHead {
    /// The largest number of bytes of a head.
    pub const LONGEST: usize = 512;

    /// A result behind its head.
    pub fn seal(job: JobId, owner: ClientId, result: &[u8]) -> Vec<u8> {
        let head = Self { job, owner, hash: Hash::hash(result) };
        let mut bytes = serde_json::to_vec(&head).expect("three strings");
        bytes.push(b'\n');
        bytes.extend(result);
        bytes
    }

    /// The result in an answer to this job of this client, if it is whole.
    ///
    /// # Errors
    /// A sentence about an answer to another job or client, or about damaged bytes.
    pub fn open(job: JobId, owner: ClientId, bytes: &[u8]) -> Result<&[u8], String> {
        let end = bytes.iter().take(Self::LONGEST).position(|b| *b == b'\n');
        let end = end.ok_or("no answer: its head is missing")?;
        let head: Self = serde_json::from_slice(&bytes[..end]).map_err(|e| e.to_string())?;
        if (head.job, head.owner) != (job, owner) {
            return Err(format!("the answer to job {} of client {}", head.job, head.owner));
        }
        let result = &bytes[end + 1..];
        match Hash::hash(result) == head.hash {
            true => Ok(result),
            false => Err("the answer is damaged: its hash differs from that in its head".into()),
        }
    }
}
