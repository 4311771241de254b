//! The server, as the client sees it. Failures of the connection are retried; refusals of the
//! server are not.

use std::collections::{HashMap, HashSet};
use std::io::{BufReader, Read};
use std::net::IpAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use ureq::http::{Response, StatusCode, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body, SendBody};

use super::Place;
use super::decrypt::Reader;
use super::home::{Home, Job};
use crate::cli::{Failure, tell};
use crate::files::{self, Shared, about};
use crate::protocol::{
    Code, Hash, Info, JOBS_PAGE, JobId, KeyStatus, Refusal, State, Status, Token, VERSION,
};

/// The pause between two attempts, and between two looks at jobs: it grows while nothing changes,
/// whatever the server says.
const PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// Seconds that the server may delay an answer while a job runs.
const WAIT: u64 = 10;

/// The largest answer that is not a result, and the longest list of jobs in pages.
const LONGEST_ANSWER: u64 = 1 << 20;
const MOST_PAGES: usize = 64;

/// The longest time for the answer to an upload, for any other whole request, for one at least, for
/// an attempt to delete a job, and to find out that nobody is there.
const LONGEST: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_secs(60);
const SHORTEST: Duration = Duration::from_secs(1);
const DELETION: Duration = Duration::from_secs(5);
const CONNECT: Duration = Duration::from_secs(10);

/// Bytes of an upload that take a second on the slowest connection.
const SLOWEST: u64 = 16 << 10;

/// A server, with the client's token.
pub struct Remote {
    agent: Agent,
    base: String,
    token: Token,
    patience: Duration,
    /// The end of everything, if there is one.
    end: Option<Instant>,
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
    /// Whether the same request may succeed later.
    fn passes(&self) -> bool {
        match self {
            Self::Silence(_) => true,
            Self::Refused(refusal) => refusal.code.passes(),
            Self::Here(_) => false,
        }
    }

    /// Whether other requests would fail, too.
    fn concerns_all(&self) -> bool {
        match self {
            Self::Silence(_) => true,
            Self::Refused(Refusal { code, .. }) => {
                code.passes() || matches!(code, Code::StorageFull | Code::Unauthorised)
            }
            Self::Here(_) => false,
        }
    }
}

/// Refuses to send a token in the clear over a network, unless told.
fn check_url(url: &str, allow_http: bool) -> Result<(), Failure> {
    let uri: Uri = url.parse().map_err(|e| Failure::input(format!("--server: {e}")))?;
    let host = uri.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let here = host == "localhost" || address.is_ok_and(|ip| ip.to_canonical().is_loopback());
    match uri.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if here || allow_http => Ok(()),
        Some("http") => Err(Failure::input(
            "--server: plain HTTP would show the token to everybody on the way: take https, or \
             --allow-http",
        )),
        _ => Err(Failure::input("--server: need a URL such as https://exchange.example")),
    }
}

impl Remote {
    /// The server of the flags, if it speaks this protocol. The patience is for each request, or
    /// for all of them together.
    pub fn open(place: &Place, home: &Home, together: bool) -> Result<Self, Failure> {
        let url = place.server.as_deref().unwrap_or_default().trim_end_matches('/');
        check_url(url, place.allow_http)?;
        let mut tls = TlsConfig::builder();
        if let Some(path) = &place.ca {
            let pem = files::read(path, LONGEST_ANSWER)?;
            let root = Certificate::from_pem(&pem).map_err(|e| about(path, e))?;
            tls = tls.root_certs(RootCerts::new_with_certs(&[root]));
        }
        let config = Agent::config_builder()
            .tls_config(tls.build())
            .http_status_as_error(false)
            .max_redirects(0)
            // The token is only for the named server, and for no proxy.
            .proxy(None)
            .max_idle_age(Duration::from_secs(2))
            .timeout_resolve(Some(CONNECT))
            .timeout_connect(Some(CONNECT))
            .timeout_send_request(Some(SHORT))
            .timeout_recv_response(Some(LONGEST))
            .timeout_await_100(Some(Duration::from_secs(5)))
            .build();
        let patience = Duration::from_secs(place.patience);
        let remote = Self {
            agent: config.new_agent(),
            base: format!("{url}/{VERSION}"),
            token: home.token()?,
            patience,
            end: together.then(|| Instant::now() + patience),
        };
        let info: Info = remote.try_again(|| remote.ask("")).map_err(|t| remote.failure(t))?;
        match info.protocol == VERSION {
            true => Ok(remote),
            false => Err(Failure::input(format!("{url} speaks {}", info.protocol))),
        }
    }

    /// Sends parameters and keys, unless the server has them.
    pub fn send_keys(&self, keys: Hash, path: &Path) -> Result<(), Failure> {
        let place = format!("/keys/{keys}");
        match self.try_again(|| self.ask::<KeyStatus>(&place)) {
            Ok(_) => return Ok(()),
            Err(Trouble::Refused(Refusal { code: Code::UnknownKeys, .. })) => {}
            Err(trouble) => return Err(self.failure(trouble)),
        }
        let sent = self.try_again(|| self.put::<KeyStatus>(&place, path));
        sent.map(drop).map_err(|trouble| self.failure(trouble))
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
            // The client chooses the name, so a repeated request is still one job.
            let place = format!("/jobs/{id}?program={}&keys={}", job.program, profile.keys);
            let input = home.shared.part(id, "input");
            match self.try_again(|| self.put::<Status>(&place, &input)) {
                Ok(_) => again += usize::from(!new.contains(&id)),
                Err(trouble) if trouble.concerns_all() => return Err(self.failure(trouble)),
                Err(trouble) => first = first.or(Some(self.failure(trouble))),
            }
        }
        first.map_or(Ok(again), Err)
    }

    fn knows(&self, job: JobId) -> Result<bool, Failure> {
        match self.try_again(|| self.ask::<Status>(&format!("/jobs/{job}"))) {
            Ok(_) => Ok(true),
            Err(Trouble::Refused(Refusal { code: Code::UnknownJob, .. })) => Ok(false),
            Err(trouble) => Err(self.failure(trouble)),
        }
    }

    /// Brings every answer that is there, or comes within the patience of the client, to the
    /// folder. One that stalls or breaks off is tried again after the others. Returns the jobs
    /// without an answer, each with the reason.
    pub fn fetch_all(
        &self,
        jobs: &[(JobId, Job)],
        folder: &Shared,
        reader: &Reader,
    ) -> Vec<(JobId, String)> {
        let mut open: Vec<_> = jobs.iter().filter(|(id, _)| !folder.is_answered(*id)).collect();
        let (mut troubles, mut pause) = (vec![], PAUSE);
        while !open.is_empty() {
            // Step 1: everything that has ended. Of the others, `late` has those that may still
            // come, and whether they have stalled.
            let (before, (found, missing)) = (open.len(), self.list(&open));
            let mut late: Vec<(bool, &(JobId, Job), String)> = vec![];
            for (place, one) in open.iter().enumerate() {
                let left = self.left();
                let status = found.get(&one.0);
                let ended = status.is_some_and(|status| status.state.is_final());
                // Whether it may still come, and the reason why it is not here.
                let trouble = match (status, &missing) {
                    // Beyond the end, one that stalls is enough.
                    (Some(_), _) if ended && left.is_zero() && late.iter().any(|late| late.0) => {
                        Some((true, "no time was left for it".to_string()))
                    }
                    (Some(status), _) if ended => {
                        let share = left / (before - place) as u32;
                        let most = share.max(SHORTEST);
                        let fetched = self.fetch(one, status, folder, reader, most).err();
                        fetched.map(|t| (t.passes(), self.failure(t).to_string()))
                    }
                    (Some(status), _) => {
                        Some((true, format!("not within {:?}: {}", self.patience, show(status))))
                    }
                    (None, Some(missing)) => Some(missing.clone()),
                    (None, None) => {
                        let refusal = Refusal::new(Code::UnknownJob, "");
                        Some((false, self.failure(Trouble::Refused(refusal)).to_string()))
                    }
                };
                match trouble {
                    None => {}
                    Some((true, why)) => late.push((ended, one, why)),
                    Some((false, why)) => troubles.push((one.0, why)),
                }
            }
            let left = self.left();
            if late.is_empty() || left.is_zero() {
                troubles.extend(late.into_iter().map(|(_, (id, _), why)| (*id, why)));
                break;
            }
            // Step 2: wait for the first of those that run, and in any case for some time. What has
            // stalled comes after the others.
            late.sort_by_key(|(stalled, ..)| *stalled);
            open = late.iter().map(|(_, one, _)| *one).collect();
            pause = if open.len() < before { PAUSE } else { LONGEST_PAUSE.min(pause * 2) };
            std::thread::sleep(pause.min(left));
            if let Some((false, (first, _), _)) = late.first() {
                let wait = WAIT.min(self.left().as_secs());
                let place = format!("/jobs/{first}?wait={wait}");
                let most = Duration::from_secs(wait) + SHORTEST;
                let status = self.request("GET", &place, most).and_then(parse::<Status>);
                if let Ok(status) = status {
                    tell(format_args!("job {first}: {}", show(&status)));
                }
            }
        }
        troubles
    }

    /// The states of open jobs, as far as the server tells them in time; whether others may still
    /// come, with the reason why they are missing, unless the server has none.
    fn list(&self, open: &[&(JobId, Job)]) -> (HashMap<JobId, Status>, Option<(bool, String)>) {
        let wanted: HashSet<JobId> = open.iter().map(|(id, _)| *id).collect();
        let (mut found, mut after) = (HashMap::new(), String::new());
        for page in 0..MOST_PAGES {
            if page > 0 && self.left().is_zero() {
                return (found, Some((true, "the list of jobs did not end in time".to_string())));
            }
            let page = self.try_again(|| self.ask::<Vec<Status>>(&format!("/jobs{after}")));
            let page = match page {
                Ok(page) => page,
                Err(trouble) => {
                    let passes = trouble.passes();
                    return (found, Some((passes, self.failure(trouble).to_string())));
                }
            };
            let last = page.len() < JOBS_PAGE;
            after = page.last().map_or(String::new(), |last| format!("?after={}", last.id));
            let known = page.into_iter().filter(|status| wanted.contains(&status.id));
            found.extend(known.map(|status| (status.id, status)));
            if last || found.len() == wanted.len() {
                return (found, None);
            }
        }
        (found, Some((true, format!("it is not among the first {MOST_PAGES} pages of jobs"))))
    }

    /// Brings the outcome of one job to the folder, if it is what it should be, in one attempt of
    /// at most this time.
    fn fetch(
        &self,
        (id, job): &(JobId, Job),
        status: &Status,
        folder: &Shared,
        reader: &Reader,
        most: Duration,
    ) -> Result<(), Trouble> {
        let kept = match (&status.refusal, status.state) {
            (Some(refusal), State::Refused) => {
                files::write_json(&folder.part(*id, "refused"), refusal)
            }
            _ => {
                let answer = self.request("GET", &format!("/jobs/{id}/result"), most)?;
                let bytes = read(answer, reader.largest())?;
                let wrong = |why| Trouble::Here(Failure::input(format!("a wrong answer: {why}")));
                reader.open(*id, job, &bytes).map_err(wrong)?;
                files::write(&folder.part(*id, "result"), &bytes)
            }
        };
        kept.map_err(Trouble::Here)
    }

    /// Deletes jobs. A server that does not say that a job is gone is asked again until the time is
    /// up. Returns the jobs that may still be there, each with the reason.
    pub fn forget(&self, jobs: &[JobId]) -> Vec<(JobId, String)> {
        let (mut open, mut left_over, mut pause) = (jobs.to_vec(), vec![], PAUSE);
        loop {
            let (before, mut late) = (open.len(), vec![]);
            for (place, id) in open.into_iter().enumerate() {
                let left = self.left();
                // Beyond the end, one that stays is enough.
                if left.is_zero() && !late.is_empty() {
                    late.push((id, "no time was left for it".to_string()));
                    continue;
                }
                let share = left / (before - place) as u32;
                match self.delete(id, share.clamp(SHORTEST, DELETION)) {
                    Ok(true) => {}
                    Ok(false) => late.push((id, "it is not gone from the disk yet".to_string())),
                    Err(trouble) => {
                        // A server whose disk refuses to record the deletion says `internal`.
                        let refused = matches!(&trouble,
                            Trouble::Refused(refusal) if refusal.code == Code::Internal);
                        let stays =
                            if trouble.passes() || refused { &mut late } else { &mut left_over };
                        stays.push((id, self.failure(trouble).to_string()));
                    }
                }
            }
            let left = self.left();
            if late.is_empty() || left.is_zero() {
                left_over.extend(late);
                return left_over;
            }
            open = late.into_iter().map(|(id, _)| id).collect();
            pause = if open.len() < before { PAUSE } else { LONGEST_PAUSE.min(pause * 2) };
            std::thread::sleep(pause.min(left));
        }
    }

    /// Whether a job is gone, after one attempt of at most this time to delete it.
    fn delete(&self, id: JobId, most: Duration) -> Result<bool, Trouble> {
        match self.request("DELETE", &format!("/jobs/{id}"), most) {
            Ok(answer) => Ok(answer.status() != StatusCode::ACCEPTED),
            Err(Trouble::Refused(Refusal { code: Code::UnknownJob, .. })) => Ok(true),
            Err(trouble) => Err(trouble),
        }
    }

    /// The time until the end, or the patience if there is none.
    fn left(&self) -> Duration {
        self.end.map_or(self.patience, |end| end.saturating_duration_since(Instant::now()))
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
        let end = self.end.unwrap_or_else(|| Instant::now() + self.patience);
        loop {
            match attempt() {
                Err(trouble) if trouble.passes() && Instant::now() < end => {}
                other => return other,
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn ask<T: DeserializeOwned>(&self, place: &str) -> Result<T, Trouble> {
        // One that stalls leaves time for another attempt.
        let half = self.end.map_or(SHORT, |_| self.left() / 2);
        parse(self.request("GET", place, half.clamp(SHORTEST, SHORT))?)
    }

    /// A request without an upload, and its whole answer within this time.
    fn request(
        &self,
        method: &str,
        place: &str,
        most: Duration,
    ) -> Result<Response<Body>, Trouble> {
        let url = format!("{}{place}", self.base);
        let request = match method {
            "DELETE" => self.agent.delete(&url),
            _ => self.agent.get(&url),
        };
        let request = request.config().timeout_global(Some(most)).build();
        judge(request.header("Authorization", self.bearer()).call())
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token.expose())
    }

    /// Sends a file, once the server has accepted it.
    fn put<T: DeserializeOwned>(&self, place: &str, path: &Path) -> Result<T, Trouble> {
        let url = format!("{}{place}", self.base);
        let file = files::open(path, u64::MAX).map_err(Trouble::Here)?;
        let length = file.metadata().map_err(|e| Trouble::Here(about(path, e)))?.len();
        let mut body = BufReader::new(file);
        let request = self
            .agent
            .put(&url)
            .config()
            .timeout_send_body(Some(LONGEST + Duration::from_secs(length / SLOWEST)))
            .timeout_recv_body(Some(SHORT))
            .build()
            .header("Authorization", self.bearer())
            .header("Content-Length", length.to_string())
            .header("Expect", "100-continue");
        parse(judge(request.send(SendBody::from_reader(&mut body)))?)
    }
}

/// A success, or the failure of the answer.
fn judge(answer: Result<Response<Body>, ureq::Error>) -> Result<Response<Body>, Trouble> {
    let response = answer.map_err(|e| match is_of_tls(&e) {
        true => Trouble::Here(Failure::input(format!("no encrypted connection: {e}"))),
        false => Trouble::Silence(e.to_string()),
    })?;
    if response.status().is_success() {
        return Ok(response);
    }
    let status = response.status();
    let refusal = read(response, LONGEST_ANSWER).ok();
    match refusal.and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
        Some(refusal) => Err(Trouble::Refused(refusal)),
        None if status.is_client_error() => {
            let why = format!("status {status} without a reason");
            Err(Trouble::Refused(Refusal::new(Code::BadRequest, why)))
        }
        None => Err(Trouble::Silence(format!("status {status} without a reason"))),
    }
}

/// Whether encryption failed: the certificate of a server is wrong, or it speaks no TLS. That does
/// not pass.
fn is_of_tls(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::Io(e) => e.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()),
        ureq::Error::Rustls(_) | ureq::Error::Tls(_) => true,
        _ => false,
    }
}

/// The body of an answer of at most `most` bytes.
fn read(response: Response<Body>, most: u64) -> Result<Vec<u8>, Trouble> {
    let mut bytes = vec![];
    let mut body = response.into_body().into_reader().take(most + 1);
    body.read_to_end(&mut bytes).map_err(|e| Trouble::Silence(e.to_string()))?;
    if bytes.len() as u64 > most {
        let why = format!("the server sends more than the {most} bytes that an answer may have");
        return Err(Trouble::Here(Failure::input(why)));
    }
    Ok(bytes)
}

fn parse<T: DeserializeOwned>(response: Response<Body>) -> Result<T, Trouble> {
    let bytes = read(response, LONGEST_ANSWER)?;
    serde_json::from_slice(&bytes).map_err(|e| Trouble::Silence(e.to_string()))
}

/// The state of a job, for people who wait.
fn show(Status { state, ahead, stage, done, total, .. }: &Status) -> String {
    match (state, stage) {
        (State::Running, Some(stage)) => format!("{stage}, {done} of {total}"),
        (State::Running, None) => "running".to_string(),
        (State::Accepted, _) => format!("{ahead} before it"),
        _ => "ended".to_string(),
    }
}
