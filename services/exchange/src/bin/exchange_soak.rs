//! Honest clients of a server, first alone and then beside hostile ones: how long their jobs take,
//! whether any is lost, and whether the server grows. The parameters are insecure toy ones, since
//! the exchange is what is measured; the hostile ones come from other loopback addresses.
//!
//! ```text
//! cargo run --release --manifest-path services/exchange/Cargo.toml --bin exchange_soak -- --json
//! --small
//! ```

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bellerophon::format::Header;
use bellerophon::prelude::*;
use bellerophon_exchange::cli::{self, Failure};
use bellerophon_exchange::programs::Program;
use bellerophon_exchange::protocol::{AnswerHead, Hex, JobId, State, Status, Token};
use bellerophon_exchange::server::{Exchange, admin, limits::Limits, program};
use bellerophon_exchange::wire;
use clap::Parser;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use ureq::Agent;

/// Measures honest clients beside hostile ones
#[derive(Debug, Parser)]
struct Arguments {
    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// 20 seconds instead of 10 minutes
    #[arg(long)]
    small: bool,

    /// Seconds altogether, a third of them without hostile clients
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(6..=86_400))]
    seconds: Option<u64>,

    /// Fail if the slowest of 100 honest jobs takes this many times as long beside hostile clients
    /// [default: 3 in runs of 10 minutes or more, no bound in others, which say little]
    #[arg(long, value_name = "FACTOR")]
    most_ratio: Option<f64>,

    /// Fail if the memory of the server grows by this part [default: 0.05, likewise]
    #[arg(long, value_name = "PART")]
    most_growth: Option<f64>,
}

/// Honest clients, and hostile ones of each kind.
const HONEST: usize = 2;
const HOSTILE: u8 = 4;

/// Silent connections that a hostile client holds.
const SILENT: usize = 100;

/// The pause of a hostile client between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// The first argument of this program where it is the server: `cargo run --bin exchange_soak`
/// builds no other one.
const SERVER: &str = "exchange_server";

/// What the answers may be off by.
const CLOSE: f64 = 1e-4;

/// The report.
#[derive(Debug, serde::Serialize)]
struct Report {
    seconds: u64,
    clients: usize,
    jobs: usize,
    baseline_p99_ms: f64,
    honest_p99_ms: f64,
    ratio: f64,
    lost: usize,
    wrong: usize,
    hostile_attempts: u64,
    rss_bytes: u64,
    rss_growth: f64,
}

impl Report {
    /// Fails a run in which honest clients have suffered.
    fn judge(&self, arguments: &Arguments) -> Result<(), Failure> {
        let Self { seconds, ratio, lost, wrong, rss_growth, .. } = *self;
        let [most_ratio, most_growth] =
            if seconds < 600 { [f64::INFINITY; 2] } else { [3.0, 0.05] };
        let most_ratio = arguments.most_ratio.unwrap_or(most_ratio);
        let most_growth = arguments.most_growth.unwrap_or(most_growth);
        match lost + wrong == 0 && ratio <= most_ratio && rss_growth < most_growth {
            true => Ok(()),
            false => Err(Failure::run(format!(
                "{lost} jobs lost, {wrong} answers wrong; in {seconds} s the slowest of 100 took \
                 {ratio:.2} times as long and memory grew by {:.1} %",
                100.0 * rss_growth
            ))),
        }
    }
}

/// The server, ended on drop, and its folder.
struct Server {
    child: Child,
    address: SocketAddr,
    folder: PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[derive(Debug, Parser)]
struct Defaults {
    #[command(flatten)]
    limits: Limits,
}

/// Invites the honest clients and starts a server.
fn start() -> Result<(Server, Vec<Token>), Failure> {
    let folder = std::env::temp_dir().join(format!("exchange-soak-{}", std::process::id()));
    let invited = {
        let limits = Defaults::parse_from(["exchange_soak"]).limits;
        let exchange = Exchange::open(&folder, limits, 1, 0, bellerophon::mlwe::Security::Insecure);
        let exchange = exchange.map_err(Failure::run)?;
        let invite = |number| {
            let command = admin::Command::Invite { name: format!("honest {number}"), quota: None };
            let answer = exchange.command(command).map_err(Failure::run)?;
            let token = answer["invitation"].as_str().unwrap_or_default();
            token.parse::<Token>().map_err(Failure::run)
        };
        (0..HONEST).map(invite).collect::<Result<_, _>>()?
    };
    let program = std::env::current_exe().map_err(Failure::run)?;
    let mut child = Command::new(program)
        .arg(SERVER)
        .args(["--accept-insecure", "--json", "--log", "off", "--listen", "127.0.0.1:0", "--data"])
        .arg(&folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(Failure::run)?;
    let mut line = String::new();
    let stdout = child.stdout.take();
    let read = stdout.map(|stdout| BufReader::new(stdout).read_line(&mut line));
    read.transpose().map_err(Failure::run)?;
    let said: serde_json::Value = serde_json::from_str(&line).map_err(Failure::run)?;
    let address = serde_json::from_value(said["listening"].clone()).map_err(Failure::run)?;
    Ok((Server { child, address, folder }, invited))
}

/// An honest client.
struct Honest {
    agent: Agent,
    base: String,
    token: Token,
    client: ClientKey,
    keys: Hex<64>,
}

impl Honest {
    fn new(address: SocketAddr, token: Token, folder: &Path) -> Result<Self, Failure> {
        let params = Params::preset(Preset::Insecure(Toy::Functions)).map_err(Failure::run)?;
        let client = ClientKey::generate(&params).map_err(Failure::run)?;
        let needs = Program::Mean.add_needs(Needs::new(), &params, 8).map_err(Failure::run)?;
        let keys = client.evaluation_keys(&needs).map_err(Failure::run)?;
        let path = folder.join(format!("soak-{}", token.client()));
        let (keys, _) = wire::write_keys(&keys, &path)?;
        let config = Agent::config_builder().http_status_as_error(false).proxy(None);
        let agent = config.max_idle_age(Duration::from_secs(2)).build().new_agent();
        let honest = Self { agent, base: format!("http://{address}/v1"), token, client, keys };
        let bytes = std::fs::read(&path).map_err(Failure::run)?;
        match honest.put(&format!("/keys/{keys}"), &bytes) {
            Some(201) => Ok(honest),
            status => Err(Failure::run(format!("keys: {status:?}"))),
        }
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token.expose())
    }

    fn put(&self, place: &str, bytes: &[u8]) -> Option<u16> {
        let request = self.agent.put(format!("{}{place}", self.base));
        let answer = request.header("Authorization", self.bearer()).send(bytes);
        answer.ok().map(|answer| answer.status().as_u16())
    }

    fn get(&self, place: &str) -> Option<Vec<u8>> {
        let request = self.agent.get(format!("{}{place}", self.base));
        let mut answer = request.header("Authorization", self.bearer()).call().ok()?;
        answer.body_mut().read_to_vec().ok().filter(|_| answer.status() == 200)
    }

    /// Runs a job to its end. `None` if it is lost; else whether the answer is right.
    fn job(&self, turn: u64) -> Option<bool> {
        let values = [0.5, -0.25, (turn % 100) as f64 / 100.0];
        let input = wire::encrypt(&self.client, &values, Program::Mean.domain()).ok()?;
        let id: JobId = Hex::of(&rand::random::<[u8; 16]>());
        let place = format!("/jobs/{id}");
        let job = format!("{place}?program=mean&keys={}", self.keys);
        // A connection may break; the same job is then sent again.
        let again = |attempt: &mut dyn FnMut() -> Option<()>| {
            (0..20).find_map(|_| {
                attempt().or_else(|| {
                    thread::sleep(Duration::from_millis(50));
                    None
                })
            })
        };
        again(&mut || self.put(&job, &input).filter(|status| *status == 202).map(drop))?;
        again(&mut || {
            let status: Status =
                serde_json::from_slice(&self.get(&format!("{place}?wait=10"))?).ok()?;
            (status.state == State::Done).then_some(())
        })?;
        let mut answer = vec![];
        again(&mut || {
            answer = self.get(&format!("{place}/result"))?;
            Some(())
        })?;
        let delete = self.agent.delete(format!("{}{place}", self.base));
        let _ = delete.header("Authorization", self.bearer()).call();
        let result = AnswerHead::open(id, self.token.client(), &answer).ok()?;
        let result = wire::published(self.client.params(), result).ok()?;
        let found = self.client.decrypt(&result).ok()?;
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Some(found.len() == 3 && found.iter().all(|v| (v - mean).abs() < CLOSE))
    }
}

/// What honest clients have seen.
#[derive(Default)]
struct Seen {
    milliseconds: Vec<f64>,
    lost: usize,
    wrong: usize,
}

/// Honest work for some time; calls `look` now and then.
fn work(honest: &[Honest], time: Duration, mut look: impl FnMut(Duration)) -> Seen {
    let (seen, start) = (Mutex::new(Seen::default()), Instant::now());
    thread::scope(|scope| {
        for client in honest {
            let seen = &seen;
            scope.spawn(move || {
                let mut turn = 0;
                while start.elapsed() < time {
                    turn += 1;
                    let begin = Instant::now();
                    let outcome = client.job(turn);
                    let mut seen = seen.lock();
                    match outcome {
                        None => seen.lost += 1,
                        Some(right) => seen.wrong += usize::from(!right),
                    }
                    seen.milliseconds.push(begin.elapsed().as_secs_f64() * 1e3);
                }
            });
        }
        while start.elapsed() < time {
            thread::sleep(Duration::from_millis(100));
            look(start.elapsed());
        }
    });
    seen.into_inner()
}

/// The value that 99 of 100 do not exceed.
fn p99(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len() * 99).div_ceil(100).saturating_sub(1);
    values.get(place).copied().unwrap_or(f64::NAN)
}

/// A connection from a hostile address.
async fn connect(to: SocketAddr, from: u8) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::new(127, 0, 1, from), 0).into())?;
    socket.connect(to).await
}

/// The head of a request with a token that nobody has seen before.
fn head(method: &str, path: &str, length: u64) -> Vec<u8> {
    let token = Token::new(&rand::random());
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Length: {length}\r\n\r\n",
        token.expose()
    )
    .into_bytes()
}

/// One attempt of a hostile client: what it sends, and whether it then listens.
fn attempt(kind: u8, params: &[u8]) -> (Vec<u8>, bool) {
    let keys = format!("/v1/keys/{}", Hex::<64>::of(&rand::random::<[u8; 32]>()));
    match kind {
        0 => (head("GET", "/v1/jobs", 0), true),
        // Keys that begin well and go on as empty envelopes.
        1 => {
            let mut bytes = head("PUT", &keys, 1 << 30);
            bytes.extend_from_slice(params);
            (0..1000).for_each(|_| bytes.extend_from_slice(&params[..Header::LEN]));
            (bytes, true)
        }
        2 => {
            let mut bytes = head("PUT", &keys, 1 << 20);
            bytes.extend([7; 1 << 14]);
            (bytes, true)
        }
        // A body that never comes, and a head that never ends.
        3 => (head("PUT", &keys, 1 << 20), false),
        _ => (b"GET /v1 HTTP/1.1\r\nHost: ".to_vec(), false),
    }
}

/// Hostile clients until they are told to stop.
fn attack(to: SocketAddr, stop: &Arc<AtomicBool>, count: &Arc<AtomicU64>) -> Result<(), Failure> {
    let params =
        Params::preset(Preset::Insecure(Toy::Functions)).and_then(|params| params.to_bytes());
    let params: Arc<[u8]> = params.map_err(Failure::run)?.into();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(Failure::run)?.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for kind in 0..=5 {
            for from in 1..=HOSTILE {
                let (params, stop, count) = (params.clone(), stop.clone(), count.clone());
                tasks.spawn(async move {
                    let mut silent = std::collections::VecDeque::new();
                    while !stop.load(Ordering::Relaxed) {
                        count.fetch_add(1, Ordering::Relaxed);
                        tokio::time::sleep(PAUSE).await;
                        let Ok(mut stream) = connect(to, from).await else { continue };
                        if kind < 5 {
                            let (bytes, listens) = attempt(kind, &params);
                            let _ = stream.write_all(&bytes).await;
                            if listens {
                                let mut answer = [0; 512];
                                let read = stream.read(&mut answer);
                                let _ = tokio::time::timeout(Duration::from_secs(1), read).await;
                                continue;
                            }
                        }
                        silent.push_back(stream);
                        if silent.len() > SILENT {
                            silent.pop_front();
                        }
                    }
                });
            }
        }
        while tasks.join_next().await.is_some() {}
    });
    Ok(())
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let seconds = arguments.seconds.unwrap_or(if arguments.small { 20 } else { 600 });
    let (server, tokens) = start()?;
    let honest = tokens.into_iter().map(|token| Honest::new(server.address, token, &server.folder));
    let honest: Vec<Honest> = honest.collect::<Result<_, _>>()?;
    let (alone, beside) = (Duration::from_secs(seconds / 3), Duration::from_secs(seconds * 2 / 3));
    let baseline = work(&honest, alone, |_| {});

    let (stop, attempts) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
    let (to, told, count) = (server.address, stop.clone(), attempts.clone());
    let hostile = thread::spawn(move || attack(to, &told, &count));
    // The largest memory in the second and in the last quarter.
    let mut rss = [0, 0];
    let attacked = work(&honest, beside, |elapsed| {
        let now = cli::memory(server.child.id(), "VmRSS").unwrap_or(0);
        match (4 * elapsed.as_millis() / beside.as_millis().max(1)) as u64 {
            1 => rss[0] = now.max(rss[0]),
            3 => rss[1] = now.max(rss[1]),
            _ => {}
        }
    });
    stop.store(true, Ordering::Relaxed);
    hostile.join().map_err(|_| Failure::run("a hostile client failed"))??;

    let jobs = baseline.milliseconds.len() + attacked.milliseconds.len();
    let (baseline_p99_ms, honest_p99_ms) = (p99(baseline.milliseconds), p99(attacked.milliseconds));
    let report = Report {
        seconds,
        clients: HONEST,
        jobs,
        baseline_p99_ms,
        honest_p99_ms,
        ratio: honest_p99_ms / baseline_p99_ms,
        lost: baseline.lost + attacked.lost,
        wrong: baseline.wrong + attacked.wrong,
        hostile_attempts: attempts.load(Ordering::Relaxed),
        rss_bytes: rss[1],
        rss_growth: rss[1] as f64 / rss[0].max(1) as f64 - 1.0,
    };
    cli::say(arguments.json, format_args!("{report:?}"));
    cli::report(arguments.json, &report)?;
    report.judge(arguments)
}

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1).peekable();
    match words.next_if(|word| word == SERVER) {
        Some(name) => cli::run_with(std::iter::once(name).chain(words), program::run),
        None => cli::run(run),
    }
}
