//! The server, as the client sees it. Failures of the connection are retried; refusals of the
//! server are not.

use std::io::{BufReader, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use ureq::http::Response;
use ureq::{Agent, Body, SendBody};

use super::Place;
use super::common::program::Failure;
use super::home::Home;
use super::protocol::{Code, Hash, Info, JobId, KeyStatus, Refusal, State, Status, Token, VERSION};
use super::shared::{self, Shared};
use super::tell::tell;
use super::transfer::Watched;

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(200);

/// Seconds that the server may delay an answer while a job runs.
const WAIT: u64 = 10;

/// The largest answer that is not a result.
const LONGEST_ANSWER: u64 = 1 << 20;

/// The largest result.
pub const LARGEST_RESULT: u64 = 1 << 30;

/// A server, with the client's token.
pub struct Remote {
    agent: Agent,
    base: String,
    token: Token,
    patience: Duration,
}

/// The reason why a request failed.
enum Trouble {
    /// No answer.
    Silence(String),
    /// A refusal.
    Refused(Refusal),
    /// A failure on the client's side.
    Here(Failure),
}

impl Trouble {
    /// Whether other requests would fail, too.
    fn concerns_all(&self) -> bool {
        match self {
            Self::Silence(_) => true,
            Self::Refused(refusal) => refusal.code.passes() || refusal.code == Code::StorageFull,
            Self::Here(_) => false,
        }
    }
}

impl Remote {
    /// The server of the flags, if it speaks this protocol.
    pub fn open(place: &Place, home: &Home) -> Result<Self, Failure> {
        let url = place.server.as_deref().unwrap_or_default().trim_end_matches('/');
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            // The token is only for the named server, and for no proxy.
            .proxy(None)
            .timeout_connect(Some(Duration::from_secs(10)))
            .timeout_recv_response(Some(Duration::from_secs(600)))
            .timeout_per_read(Some(Duration::from_secs(600)))
            .timeout_await_100(Some(Duration::from_secs(5)))
            .build();
        let remote = Self {
            agent: config.new_agent(),
            base: format!("{url}/{VERSION}"),
            token: home.token()?,
            patience: Duration::from_secs(place.patience),
        };
        let info: Info = remote.get("")?;
        match info.protocol == VERSION {
            true => Ok(remote),
            false => Err(Failure::input(format!("{url} speaks {}", info.protocol))),
        }
    }

    /// Sends parameters and keys, unless the server has them.
    pub fn send_keys(&self, keys: Hash, path: &Path) -> Result<(), Failure> {
        let place = format!("/keys/{keys}");
        match self.try_again(|| self.ask::<KeyStatus>("GET", &place)) {
            Ok(_) => return Ok(()),
            Err(Trouble::Refused(Refusal { code: Code::UnknownKeys, .. })) => {}
            Err(trouble) => return Err(self.failure(trouble)),
        }
        let sent = self.try_again(|| self.put::<KeyStatus>(&place, path, "upload"));
        sent.map(drop).map_err(|trouble| self.failure(trouble))
    }

    /// Sends a job. The client chooses its name, so a repeated request is still one job.
    fn send_job(&self, job: JobId, program: &str, keys: Hash, input: &Path) -> Result<(), Trouble> {
        let place = format!("/jobs/{job}?program={program}&keys={keys}");
        self.try_again(|| self.put::<Status>(&place, input, "job")).map(drop)
    }

    /// Sends what the server lacks: the keys, and the jobs without an answer. Returns the number of
    /// jobs that are not among `new`. A fault of one job does not prevent the others from being
    /// sent.
    pub fn send_open(&self, home: &Home, new: &[JobId]) -> Result<usize, Failure> {
        let profile = home.profile()?;
        self.send_keys(profile.keys, &home.shared.keys())?;
        let (mut again, mut first) = (0, None);
        for (id, job) in home.open_jobs()? {
            if home.shared.is_answered(id) || !new.contains(&id) && self.knows(id)? {
                continue;
            }
            let input = home.shared.part(id, "input");
            match self.send_job(id, &job.program, profile.keys, &input) {
                Ok(()) => again += usize::from(!new.contains(&id)),
                Err(trouble) if trouble.concerns_all() => return Err(self.failure(trouble)),
                Err(trouble) => first = first.or(Some(self.failure(trouble))),
            }
        }
        first.map_or(Ok(again), Err)
    }

    fn knows(&self, job: JobId) -> Result<bool, Failure> {
        match self.try_again(|| self.ask::<Status>("GET", &format!("/jobs/{job}"))) {
            Ok(_) => Ok(true),
            Err(Trouble::Refused(Refusal { code: Code::UnknownJob, .. })) => Ok(false),
            Err(trouble) => Err(self.failure(trouble)),
        }
    }

    /// Waits for a job to end, and writes its result, or the refusal, to the folder, unless they
    /// are there. A refusal that is not the outcome of the job is returned.
    pub fn fetch(&self, job: JobId, folder: &Shared) -> Result<Option<Refusal>, Failure> {
        if folder.is_answered(job) {
            return Ok(None);
        }
        let mut told = Instant::now();
        let status = loop {
            let status =
                self.try_again(|| self.ask::<Status>("GET", &format!("/jobs/{job}?wait={WAIT}")));
            let status = match status {
                Ok(status) => status,
                Err(Trouble::Refused(refusal)) => return Ok(Some(refusal)),
                Err(trouble) => return Err(self.failure(trouble)),
            };
            if status.state.is_final() {
                break status;
            }
            if told.elapsed() >= Duration::from_secs(WAIT / 2) {
                told = Instant::now();
                show(&status);
            }
        };
        if let (State::Refused, Some(refusal)) = (status.state, &status.refusal) {
            return shared::write_json(&folder.part(job, "refused"), refusal).map(|()| None);
        }
        let to = folder.part(job, "result");
        let place = format!("/jobs/{job}/result");
        let bytes = self.try_again(|| {
            let response = self.request("GET", &place)?;
            let length = status.result_bytes.unwrap_or(0).min(LARGEST_RESULT);
            let body = response.into_body().into_reader();
            let mut bytes = vec![];
            let read = Watched::new(body, "download", length).take(length).read_to_end(&mut bytes);
            match read {
                Ok(_) if bytes.len() as u64 == length => Ok(bytes),
                Ok(_) => Err(Trouble::Silence("the result broke off".to_string())),
                Err(e) => Err(Trouble::Silence(e.to_string())),
            }
        });
        match bytes {
            Ok(bytes) => shared::write(&to, &bytes).map(|()| None),
            Err(Trouble::Refused(refusal)) => Ok(Some(refusal)),
            Err(trouble) => Err(self.failure(trouble)),
        }
    }

    /// Makes the server forget a job.
    pub fn delete_job(&self, job: JobId) -> Result<(), Failure> {
        let gone = self.try_again(|| match self.request("DELETE", &format!("/jobs/{job}")) {
            // An earlier attempt, whose answer was lost, has deleted it.
            Err(Trouble::Refused(Refusal { code: Code::UnknownJob, .. })) => Ok(()),
            other => other.map(drop),
        });
        gone.map_err(|trouble| self.failure(trouble))
    }

    fn get<T: DeserializeOwned>(&self, place: &str) -> Result<T, Failure> {
        self.try_again(|| self.ask("GET", place)).map_err(|trouble| self.failure(trouble))
    }

    fn failure(&self, trouble: Trouble) -> Failure {
        match trouble {
            Trouble::Here(failure) => failure,
            Trouble::Silence(why) => Failure::input(format!("{}: {why}", self.base)),
            Trouble::Refused(refusal) => {
                Failure::input(format!("{} refused: {refusal}", self.base))
            }
        }
    }

    /// Retries until the server answers, or the time is up.
    fn try_again<T>(&self, mut attempt: impl FnMut() -> Result<T, Trouble>) -> Result<T, Trouble> {
        let end = Instant::now() + self.patience;
        loop {
            match attempt() {
                Err(Trouble::Silence(_)) if Instant::now() < end => {}
                Err(Trouble::Refused(r)) if r.code.passes() && Instant::now() < end => {}
                other => return other,
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn ask<T: DeserializeOwned>(&self, method: &str, place: &str) -> Result<T, Trouble> {
        parse(self.request(method, place)?)
    }

    fn request(&self, method: &str, place: &str) -> Result<Response<Body>, Trouble> {
        let url = format!("{}{place}", self.base);
        let request = match method {
            "DELETE" => self.agent.delete(&url),
            _ => self.agent.get(&url),
        };
        judge(request.header("Authorization", self.bearer()).call())
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token.expose())
    }

    /// Sends a file, once the server has accepted it.
    fn put<T: DeserializeOwned>(
        &self,
        place: &str,
        path: &Path,
        what: &'static str,
    ) -> Result<T, Trouble> {
        let url = format!("{}{place}", self.base);
        let file = shared::open(path, u64::MAX).map_err(Trouble::Here)?;
        let length = file.metadata().map_err(|e| Trouble::Here(shared::about(path, e)))?.len();
        let mut body = Watched::new(BufReader::new(file), what, length);
        let request = self
            .agent
            .put(&url)
            .header("Authorization", self.bearer())
            .header("Content-Length", length.to_string())
            .header("Expect", "100-continue");
        parse(judge(request.send(SendBody::from_reader(&mut body)))?)
    }
}

/// A success, or the failure of the answer.
fn judge(answer: Result<Response<Body>, ureq::Error>) -> Result<Response<Body>, Trouble> {
    let response = answer.map_err(|e| Trouble::Silence(e.to_string()))?;
    if response.status().is_success() {
        return Ok(response);
    }
    let status = response.status();
    let refusal = read(response).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    match refusal {
        Some(refusal) => Err(Trouble::Refused(refusal)),
        None if status.is_client_error() => {
            let why = format!("status {status} without a reason");
            Err(Trouble::Refused(Refusal::new(Code::BadRequest, why)))
        }
        None => Err(Trouble::Silence(format!("status {status} without a reason"))),
    }
}

fn read(response: Response<Body>) -> Result<Vec<u8>, Trouble> {
    let mut bytes = vec![];
    let mut body = response.into_body().into_reader().take(LONGEST_ANSWER);
    body.read_to_end(&mut bytes).map_err(|e| Trouble::Silence(e.to_string()))?;
    Ok(bytes)
}

fn parse<T: DeserializeOwned>(response: Response<Body>) -> Result<T, Trouble> {
    serde_json::from_slice(&read(response)?).map_err(|e| Trouble::Silence(e.to_string()))
}

/// The state of a job, for people who wait.
fn show(Status { id, state, ahead, stage, done, total, .. }: &Status) {
    match (state, stage) {
        (State::Running, Some(stage)) => {
            tell(format_args!("job {id}: {stage}, {done} of {total}"));
        }
        (State::Running, None) => tell(format_args!("job {id}: running")),
        _ => tell(format_args!("job {id}: {ahead} before it")),
    }
}
