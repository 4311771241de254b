//! Four clients with fifty jobs each, good and bad ones mixed, against one server that is killed.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use super::processes::{Scratch, Server, finish, program, report, until};
use super::requests::{Peer, job_id};

const CLIENTS: usize = 4;

/// Good jobs of a client come in batches of this many.
const BATCHES: usize = 5;
const BATCH: usize = 6;

/// Bad jobs of a client, this many of each kind in [`Bad::ALL`].
const EACH: usize = 4;

/// Times that the server is killed.
const KILLS: usize = 3;

/// Values in a vector.
const COUNT: usize = 64;

/// What the answers may be off by; predicted and seen are below 1e-6.
const CLOSE: f64 = 1e-4;

/// The most that the server may take: up to 140 MB were seen. There is no room for the keys of all
/// clients, so that some are always read again; it checks two ciphertexts and runs two jobs at a
/// time.
const MOST_MEMORY: u64 = 256 << 20;

const FLAGS: [&str; 6] = ["--job-bytes", "1M", "--key-memory", "160M", "--workers", "2"];

/// Ways in which a request is bad.
#[derive(Debug, Clone, Copy)]
enum Bad {
    Truncated,
    Flipped,
    TooLong,
    Padded,
    WrongKey,
}

impl Bad {
    const ALL: [Self; 5] =
        [Self::Truncated, Self::Flipped, Self::TooLong, Self::Padded, Self::WrongKey];

    /// The codes with which it may be refused. A changed bit may be one of the fingerprint in the
    /// header.
    fn codes(self) -> &'static [&'static str] {
        match self {
            Self::Truncated | Self::Padded => &["malformed"],
            Self::Flipped => &["malformed", "wrong_parameters"],
            Self::TooLong => &["too_large"],
            Self::WrongKey => &["wrong_key"],
        }
    }
}

/// A client with what it has learned.
struct Client {
    folder: PathBuf,
    peer: Peer,
    keys: String,
    rng: StdRng,
    /// The values that it sent in good jobs, with the program.
    sent: HashMap<String, (&'static str, Vec<f64>)>,
    refused: usize,
    /// What was acknowledged and then not known.
    lost: usize,
    /// What went otherwise than it should, in words.
    failures: Vec<String>,
}

#[derive(Default)]
struct Tally {
    jobs: usize,
    ok: usize,
    refused: usize,
    lost: usize,
    wrong: usize,
    failures: Vec<String>,
}

const PROGRAMS: [&str; 3] = ["square-plus", "polynomial", "mean"];

/// The same in the clear, written down a second time.
fn in_the_clear(program: &str, x: &[f64]) -> Vec<f64> {
    match program {
        "square-plus" => x.iter().map(|v| v * v + v).collect(),
        "polynomial" => x
            .iter()
            .map(|v| 0.25 - 0.5 * v + 0.125 * v.powi(2) + 0.75 * v.powi(3) - 0.375 * v.powi(5))
            .collect(),
        "mean" => vec![x.iter().sum::<f64>() / x.len() as f64; x.len()],
        _ => panic!("no such program"),
    }
}

impl Client {
    fn new(number: usize, folder: PathBuf, server: &str) -> Self {
        let made = report(
            program("exchange_client")
                .args(["keygen", "--preset", "toy-insecure", "--programs"])
                .arg(PROGRAMS.join(","))
                .args(["--count", &COUNT.to_string(), "--server", &format!("http://{server}")])
                .arg("--dir")
                .arg(&folder),
        );
        assert_eq!(made["sent"], true);
        Self {
            peer: Peer::of(server, &folder),
            keys: made["keys"].as_str().expect("the name of the keys").to_string(),
            rng: StdRng::seed_from_u64(number as u64),
            folder,
            sent: HashMap::new(),
            refused: 0,
            lost: 0,
            failures: vec![],
        }
    }

    fn command(&self, command: &str, server: &str) -> std::process::Command {
        let mut call = program("exchange_client");
        call.arg(command).arg("--dir").arg(&self.folder);
        call.args(["--server", &format!("http://{server}"), "--patience", "60", "--threads", "1"]);
        call
    }

    /// Good jobs, by the client program.
    fn good(&mut self, server: &str, progress: &AtomicUsize) {
        let name = PROGRAMS[self.rng.random_range(0..PROGRAMS.len())];
        let mut call = self.command("encrypt", server);
        call.args(["--program", name]);
        let mut vectors = vec![];
        for _ in 0..BATCH {
            let length = self.rng.random_range(1..=COUNT);
            let x: Vec<f64> = (0..length).map(|_| self.rng.random_range(-1.0..=1.0)).collect();
            let text: Vec<String> = x.iter().map(f64::to_string).collect();
            call.arg(format!("--values={}", text.join(",")));
            vectors.push(x);
        }
        let made = report(&mut call);
        let ids = made["jobs"].as_array().expect("the names of the jobs");
        assert_eq!(ids.len(), BATCH);
        self.lost += made["sent_again"].as_u64().expect("a number") as usize;
        for (id, x) in ids.iter().zip(vectors) {
            self.sent.insert(id.as_str().expect("a name").to_string(), (name, x));
            progress.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A bad job, by hand: it must be refused for the right reason, and leave nothing behind.
    fn bad(&mut self, kind: Bad, number: usize, good: &[u8], foreign: &[u8]) {
        let id = job_id(&format!("{:?} {kind:?} {number}", self.folder));
        let path = format!("/v1/jobs/{id}?program=square-plus&keys={}", self.keys);
        let mut bytes = good.to_vec();
        match kind {
            Bad::Truncated => bytes.truncate(self.rng.random_range(0..bytes.len())),
            Bad::Flipped => {
                let bit = self.rng.random_range(0..8 * bytes.len());
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            Bad::TooLong => bytes.resize(2 << 20, 0),
            Bad::Padded => bytes.extend([0; 100]),
            Bad::WrongKey => bytes = foreign.to_vec(),
        }
        let answer = self.peer.insist("PUT", &path, &bytes);
        let after = self.peer.insist("GET", &format!("/v1/jobs/{id}"), b"");
        let fitting = kind.codes().iter().any(|code| answer.json["code"] == *code);
        match fitting && after.json["code"] == "unknown_job" {
            true => self.refused += 1,
            false => self.failures.push(format!("{kind:?}: {answer:?}, then {after:?}")),
        }
    }

    /// Fetches all answers by the client program, and compares them with the clear.
    fn settle(mut self, server: &str, bad: usize) -> Tally {
        let output = finish(self.command("decrypt", server).arg("--json"));
        let got: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let mut tally = Tally { refused: self.refused, ..Tally::default() };
        tally.jobs = self.sent.len() + bad;
        for answer in got["answers"].as_array().into_iter().flatten() {
            let known = answer["id"].as_str().and_then(|id| self.sent.remove(id));
            let values: Option<Vec<f64>> =
                serde_json::from_value(answer["values"].clone()).unwrap_or_default();
            match (known, values) {
                (Some((program, x)), Some(y)) if close(&y, &in_the_clear(program, &x)) => {
                    tally.ok += 1;
                }
                (Some((program, x)), values) => {
                    self.failures.push(format!("{answer}, asked {program} of {x:?}"));
                    match values {
                        Some(_) => tally.wrong += 1,
                        None => tally.lost += 1,
                    }
                }
                (None, _) => self.failures.push(format!("{answer}, which nobody asked for")),
            }
        }
        if !output.status.success() {
            self.failures.push(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        tally.lost += self.lost + self.sent.len();
        tally.failures = self.failures;
        tally
    }

    /// Jobs of a client that wait or run.
    fn open_jobs(peer: &Peer) -> usize {
        let list = peer.try_send("GET", "/v1/jobs", b"").map(|answer| answer.json);
        let open = |job: &&Value| job["state"] == "accepted" || job["state"] == "running";
        list.iter().flat_map(Value::as_array).flatten().filter(open).count()
    }
}

fn close(y: &[f64], expected: &[f64]) -> bool {
    y.len() == expected.len() && y.iter().zip(expected).all(|(a, b)| (a - b).abs() < CLOSE)
}

/// A ciphertext of a client that is not sent, for requests by hand.
fn ciphertext(folder: &Path) -> Vec<u8> {
    let made = report(
        program("exchange_client")
            .args(["encrypt", "--program", "square-plus", "--values", "0.5,-0.25"])
            .arg("--dir")
            .arg(folder),
    );
    let id = made["jobs"][0].as_str().expect("a name").to_string();
    let bytes = std::fs::read(folder.join("shared").join(format!("{id}.input")));
    // The client forgets it: it was never submitted.
    std::fs::remove_file(folder.join("jobs").join(id)).expect("what the client remembers");
    bytes.expect("the ciphertext")
}

#[test]
fn a_crowd_is_served_through_crashes() {
    let scratch = Scratch::new("crowd");
    let data = scratch.path("data");
    let mut server = Server::start(&data, None, &FLAGS);
    let address = server.address().to_string();
    let stranger = Client::new(CLIENTS, scratch.path("stranger"), &address);
    let foreign = ciphertext(&stranger.folder);
    let (mut peak, mut recovered) = (None, 0);
    let progress = AtomicUsize::new(0);
    let total = CLIENTS * BATCHES * BATCH;
    let folders: Vec<PathBuf> =
        (0..CLIENTS).map(|number| scratch.path(&format!("client{number}"))).collect();

    let tallies: Vec<Tally> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (address, foreign, progress) = (&address, &foreign, &progress);
                let folder = folders[number].clone();
                scope.spawn(move || {
                    let mut client = Client::new(number, folder, address);
                    let good = ciphertext(&client.folder);
                    let bad: Vec<Bad> = (0..EACH).flat_map(|_| Bad::ALL).collect();
                    let mut number = 0;
                    for kinds in bad.chunks(bad.len().div_ceil(BATCHES)) {
                        client.good(address, progress);
                        for &kind in kinds {
                            client.bad(kind, number, &good, foreign);
                            number += 1;
                        }
                    }
                    client.settle(address, bad.len())
                })
            })
            .collect();
        for kill in 1..=KILLS {
            let enough = kill * total / (KILLS + 1);
            let ended = || clients.iter().any(|client| client.is_finished());
            until("enough is sent", || progress.load(Ordering::Relaxed) >= enough || ended());
            // In the middle: while work waits.
            let mut peers = folders.iter().filter(|f| f.join("token").exists()).cycle();
            let mut open = || peers.next().map_or(0, |f| Client::open_jobs(&Peer::of(&address, f)));
            until("work waits", || open() >= 3 || ended());
            peak = peak.max(server.peak_rss_bytes());
            server.restart(&data, &FLAGS);
            recovered += server.recovered;
        }
        clients.into_iter().map(|c| c.join().expect("a client ends well")).collect()
    });
    peak = peak.max(server.peak_rss_bytes());

    let sum = |part: fn(&Tally) -> usize| tallies.iter().map(part).sum::<usize>();
    let report: Value = json!({
        "jobs": sum(|t| t.jobs),
        "ok": sum(|t| t.ok),
        "refused": sum(|t| t.refused),
        "lost": sum(|t| t.lost),
        "wrong": sum(|t| t.wrong),
        "peak_rss_bytes": peak,
        "clients": CLIENTS,
        "kills": KILLS,
        "recovered_jobs": recovered,
    });
    // Also where the output of tests is captured.
    writeln!(std::io::stdout(), "\n{report}").expect("standard output");
    let failures: Vec<&String> = tallies.iter().flat_map(|t| &t.failures).collect();
    assert!(failures.is_empty(), "{failures:#?}");
    assert_eq!(report["jobs"], CLIENTS * (BATCHES * BATCH + EACH * Bad::ALL.len()));
    assert_eq!(report["ok"], total);
    assert_eq!(report["refused"], CLIENTS * EACH * Bad::ALL.len());
    assert_eq!((&report["lost"], &report["wrong"]), (&json!(0), &json!(0)));
    assert!(recovered > 0, "the server was never killed while work waited");
    if cfg!(target_os = "linux") {
        let peak = peak.expect("Linux tells the memory of a process");
        assert!(peak < MOST_MEMORY, "{peak} bytes");
    }
    // The clients have deleted what they fetched, and nothing arrives any more.
    let incoming = std::fs::read_dir(data.join("incoming")).expect("the folder of the server");
    assert_eq!(incoming.count(), 0);
    for folder in &folders {
        let left = std::fs::read_dir(Peer::of(&address, folder).folder(&data));
        let left = left.expect("the files of a client").map(|file| file.unwrap().path());
        let left: Vec<_> = left.filter(|path| path.extension().unwrap() != "keys").collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
