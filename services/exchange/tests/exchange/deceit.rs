//! What servers did to a client, and must not do again.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::processes::{Scratch, finish, program, report};

/// A server that says what it is told to say.
struct Liar {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    says: Says,
}

type Says = HashMap<String, Vec<u8>>;

/// Bodies that break off, and that stop without an end.
const CUT: &[u8] = b"cut";
const STALLED: &[u8] = b"stalled";

/// In the place of a body: the connection ends without an answer, once or always.
const GONE_ONCE: &[u8] = b"gone once";
const GONE: &[u8] = b"gone";

impl Liar {
    /// Answers requests such as `GET /v1/jobs` with these bodies, others with 404.
    fn start(says: Says) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, asked) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<_>>>::default());
        let (seen, all) = (asked.clone(), Arc::new(says.clone()));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (seen, says) = (seen.clone(), all.clone());
                thread::spawn(move || answer(stream, &seen, &says));
            }
        });
        Self { address, asked, says }
    }

    fn count(&self, part: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|line| line.contains(part)).count()
    }
}

fn answer(mut stream: TcpStream, seen: &Mutex<Vec<String>>, says: &Says) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let request = first.rsplit_once(' ').unwrap().0.to_string();
    let again = seen.lock().unwrap().contains(&request);
    seen.lock().unwrap().push(request.clone());
    let path = request.split('?').next().unwrap();
    let (status, body) = match says.get(&request).or_else(|| says.get(path)) {
        // The second page of a list is empty.
        Some(_) if request.contains("after=") => {
            ("200 OK", says.get("after").map_or(&b"[]"[..], |page| &page[..]))
        }
        Some(body) if body == GONE || body == GONE_ONCE && !again => return,
        Some(body) => ("200 OK", &body[..]),
        None => ("404 Not Found", &b"{\"code\": \"unknown_job\", \"reason\": \"no\"}"[..]),
    };
    // More than comes.
    let length = body.len() + if body == CUT || body == STALLED { 99 } else { 0 };
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    let _ = stream.write_all(body);
    if body == STALLED {
        thread::sleep(Duration::from_secs(60));
    }
}

/// A client with some jobs and their right answers, which lie nowhere any more.
struct Owner {
    home: PathBuf,
    jobs: Vec<String>,
    answers: Vec<Vec<u8>>,
}

impl Owner {
    fn new(home: &Path, values: &[&str]) -> Self {
        let keys = ["--preset", "toy-insecure", "--programs", "mean", "--count", "8"];
        report(client("keygen", home).args(keys));
        let mut call = client("encrypt", home);
        call.args(["--program", "mean"]);
        call.args(values.iter().map(|value| format!("--values={value}")));
        let jobs: Vec<String> = serde_json::from_value(report(&mut call)["jobs"].clone()).unwrap();
        let shared = home.join("shared");
        let mut evaluate = program("exchange_server");
        report(evaluate.args(["evaluate", "--accept-insecure", "--dir"]).arg(&shared));
        let answers = jobs.iter().map(|id| {
            let path = shared.join(format!("{id}.result"));
            let answer = fs::read(&path).unwrap();
            fs::remove_file(path).unwrap();
            answer
        });
        Self { home: home.to_path_buf(), answers: answers.collect(), jobs }
    }

    fn status(&self, job: usize, state: &str, refusal: Value) -> Value {
        json!({"id": self.jobs[job], "program": "mean", "keys": "0".repeat(64), "state": state,
            "ahead": 0, "stage": "st\u{1b}[31mage\u{202e}", "done": 1, "total": 2,
            "refusal": refusal, "result_bytes": 5})
    }

    /// A server with these states, which answers every job with the answer of the named place.
    fn server(&self, states: &[Value], answers: &[&[u8]]) -> Liar {
        let limits = json!({"job_bytes": 1, "key_bytes": 1, "queued_jobs": 1, "kept_jobs": 1,
            "kept_keys": 1, "job_seconds": 1, "stored_bytes": 1, "requests": 1});
        let info = json!({"protocol": "v1", "programs": [], "limits": limits});
        let mut says = Says::from([
            ("GET /v1".to_string(), info.to_string().into_bytes()),
            ("GET /v1/jobs".to_string(), Value::from(states).to_string().into_bytes()),
        ]);
        for (job, state) in self.jobs.iter().zip(states) {
            says.insert(format!("GET /v1/jobs/{job}"), state.to_string().into_bytes());
            says.insert(format!("DELETE /v1/jobs/{job}"), vec![]);
        }
        for (job, answer) in self.jobs.iter().zip(answers) {
            says.insert(format!("GET /v1/jobs/{job}/result"), answer.to_vec());
        }
        Liar::start(says)
    }

    fn decrypt(&self, server: &Liar, flags: &[&str]) -> (Output, Value) {
        let mut call = client("decrypt", &self.home);
        call.args(["--json", "--server", &format!("http://{}", server.address)]).args(flags);
        let output = finish(&mut call);
        let report = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        (output, report)
    }
}

fn client(command: &str, home: &Path) -> Command {
    let mut call = program("exchange_client");
    call.arg(command).arg("--dir").arg(home);
    call
}

/// Found 5: one bad or endless job kept the client from all its other answers. Found 9: a server
/// that always says `running` was asked 14 thousand times a second.
#[test]
fn found_5_and_9_endless_jobs_delay_no_others() {
    let scratch = Scratch::new("endless");
    let owner = Owner::new(&scratch.path("client"), &["0.5", "0.25", "-1"]);
    let states = [
        owner.status(0, "running", Value::Null),
        owner.status(1, "done", Value::Null),
        owner.status(2, "done", Value::Null),
    ];
    // The first never ends, and the second is something else than an answer.
    let server = owner.server(&states, &[b"", b"bad", &owner.answers[2]]);
    let start = Instant::now();
    let (output, got) = owner.decrypt(&server, &["--patience", "3"]);
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    assert_eq!(output.status.code(), Some(2));
    let trouble = |job: usize| got["answers"][job]["trouble"].to_string();
    assert!(trouble(0).contains("not within 3s") && trouble(1).contains("a wrong answer"), "{got}");
    assert!((got["answers"][2]["values"][0].as_f64().unwrap() + 1.0).abs() < 1e-4, "{got}");
    // What is here is deleted there, and nothing else.
    assert_eq!(
        (server.count("DELETE"), server.count(&format!("DELETE /v1/jobs/{}", owner.jobs[2]))),
        (1, 1)
    );
    let asked = server.asked.lock().unwrap().len();
    assert!(asked < 50, "{asked} requests in 3 s");
}

/// The deletion of a job was asked for once: a server that was killed then kept the answer, and the
/// client forgot the job.
#[test]
fn jobs_are_deleted_on_both_sides_or_on_neither() {
    let scratch = Scratch::new("deletion");
    let owner = Owner::new(&scratch.path("client"), &["0.5", "0.25"]);
    let states: Vec<Value> = (0..2).map(|job| owner.status(job, "done", Value::Null)).collect();
    let mut says = owner.server(&states, &[&owner.answers[0], &owner.answers[1]]).says;
    let place = |job: usize| format!("DELETE /v1/jobs/{}", owner.jobs[job]);
    says.extend([(place(0), GONE_ONCE.to_vec()), (place(1), GONE.to_vec())]);
    let known = |job: usize| owner.home.join("jobs").join(&owner.jobs[job]).exists();
    let decrypt = |says: &Says| {
        let server = Liar::start(says.clone());
        let start = Instant::now();
        let (output, got) = owner.decrypt(&server, &["--patience", "3"]);
        assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
        assert!(output.status.success(), "{output:?}");
        (server, String::from_utf8(output.stderr).unwrap(), got["answers"].clone())
    };
    let (server, said, answers) = decrypt(&says);
    assert!(answers[0]["values"].is_array() && answers[1]["values"].is_array(), "{answers}");
    assert_eq!(server.count(&place(0)), 2, "once more, and no more than that");
    assert!(server.count(&place(1)) >= 3 && server.count("DELETE") < 20);
    assert!(said.contains(&format!("job {} is kept", owner.jobs[1])), "{said}");
    assert!(!known(0) && known(1));
    // The next call has the answer, and deletes it where it is.
    says.insert(place(1), vec![]);
    let (server, _, answers) = decrypt(&says);
    assert!(answers[0]["id"] == owner.jobs[1] && answers[0]["values"].is_array(), "{answers}");
    assert_eq!((server.count("/result"), server.count("DELETE")), (0, 1));
    assert!(!known(1));
}

/// One result that broke off was asked for until the end, before any other.
#[test]
fn broken_or_stalled_results_are_retried_last() {
    let scratch = Scratch::new("stall");
    let owner = Owner::new(&scratch.path("client"), &["0.5", "0.25", "-1"]);
    let states: Vec<Value> = (0..3).map(|job| owner.status(job, "done", Value::Null)).collect();
    let server = owner.server(&states, &[CUT, STALLED, &owner.answers[2]]);
    let start = Instant::now();
    let (output, got) = owner.decrypt(&server, &["--patience", "6"]);
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    assert_eq!(output.status.code(), Some(2));
    assert!((got["answers"][2]["values"][0].as_f64().unwrap() + 1.0).abs() < 1e-4, "{got}");
    assert!(got["answers"][0]["trouble"].is_string() && got["answers"][1]["trouble"].is_string());
    let asked = server.asked.lock().unwrap().clone();
    let times = |job: usize| {
        let line = format!("GET /v1/jobs/{}/result", owner.jobs[job]);
        let places = asked.iter().enumerate().filter(|(_, asked)| **asked == line);
        places.map(|(place, _)| place).collect::<Vec<_>>()
    };
    let [cut, stalled, good] = [0, 1, 2].map(times);
    assert!(good.len() == 1 && good[0] < cut[1] && good[0] < stalled[1], "{asked:?}");
}

/// A server that lists full pages for ever kept the client for hours.
#[test]
fn a_list_without_an_end_is_read_up_to_a_bound() {
    let scratch = Scratch::new("pages");
    let owner = Owner::new(&scratch.path("client"), &["0.5"]);
    let mut other = owner.status(0, "running", Value::Null);
    other["id"] = "0".repeat(32).into();
    let mut says = owner.server(&vec![other; 256], &[]).says;
    says.insert("after".to_string(), says["GET /v1/jobs"].clone());
    let server = Liar::start(says);
    let start = Instant::now();
    let (_, got) = owner.decrypt(&server, &["--patience", "2"]);
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    assert!(got["answers"][0]["trouble"].is_string(), "{got}");
    assert!(server.count("after=") <= 64 * 8, "{}", server.count("after="));
}

/// Found 5: a disk without room ended in a livelock.
#[test]
fn found_5_unkept_answers_are_named_and_others_come() {
    let scratch = Scratch::new("no-room");
    let owner = Owner::new(&scratch.path("client"), &["0.5", "0.25"]);
    let states = [owner.status(0, "done", Value::Null), owner.status(1, "done", Value::Null)];
    let server = owner.server(&states, &[&owner.answers[0], &owner.answers[1]]);
    // The first cannot be written.
    fs::create_dir(owner.home.join("shared").join(format!("{}.result.part", owner.jobs[0])))
        .unwrap();
    let start = Instant::now();
    let (output, got) = owner.decrypt(&server, &["--patience", "60"]);
    assert!(start.elapsed() < Duration::from_secs(20), "it does not try for ever");
    assert_eq!(output.status.code(), Some(2));
    assert!(got["answers"][0]["trouble"].to_string().contains(".result"), "{got}");
    assert!(got["answers"][1]["values"].is_array(), "{got}");
    assert_eq!(server.count("DELETE"), 1);
}

/// Found 6: escapes and bidirectional controls in a peer's words reached the terminal. A refusal is
/// put in words by the client itself.
#[test]
fn found_6_no_terminal_obeys_a_peer() {
    let scratch = Scratch::new("escapes");
    let owner = Owner::new(&scratch.path("client"), &["0.5", "0.25", "1"]);
    let evil = "red \u{1b}[31m \u{9b}2J right \u{202e} \u{2066}left\u{200f} bell \u{7} \r\n new";
    let refusal = json!({"code": "not_computable", "reason": evil});
    let states = [
        owner.status(0, "refused", refusal),
        owner.status(1, "running", Value::Null),
        owner.status(2, "done", Value::Null),
    ];
    // What the client has kept may come from outside, too.
    let path = owner.home.join("jobs").join(&owner.jobs[0]);
    let mut kept: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    kept["program"] = "mean\u{9b}\u{202e}\u{e0101}".into();
    fs::write(&path, kept.to_string()).unwrap();
    let mut head = json!({"job": owner.jobs[2], "owner": "0", "hash": evil}).to_string();
    head.push('\n');
    let server = owner.server(&states, &[b"", b"", head.as_bytes()]);
    for json in [true, false] {
        let mut call = client("decrypt", &owner.home);
        call.args(["--keep", "--patience", "2", "--server", &format!("http://{}", server.address)]);
        let output = finish(if json { call.arg("--json") } else { &mut call });
        let mut said = String::from_utf8(output.stderr).unwrap();
        said.push_str(&String::from_utf8(output.stdout).unwrap());
        assert!(said.contains("\\u{1b}[31m"), "escaped: {said}");
        assert!(said.contains("not_computable: the program cannot run") && !said.contains("red "));
        if json {
            let (_, report) = said.rsplit_once("\n{").unwrap();
            let report: Value = serde_json::from_str(&format!("{{{report}")).expect("JSON");
            let program = report["answers"][0]["program"].as_str().unwrap();
            assert_eq!(program, "mean\u{9b}\u{202e}\u{e0101}", "escapes of JSON itself");
        }
        let bad =
            |c: char| c.is_control() && c != '\n' || "\u{202e}\u{2066}\u{200f}\u{9b}".contains(c);
        assert!(!said.contains(bad), "{said:?}");
    }
    // The same in a folder that a peer has written.
    let path = owner.home.join("shared").join(format!("{}.refused", owner.jobs[1]));
    fs::write(path, json!({"code": "lost", "reason": evil}).to_string()).unwrap();
    let said = finish(&mut client("decrypt", &owner.home)).stdout;
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("lost: the disk of the server") && !said.contains("red "), "{said}");
}

/// Found 7: answers that a malicious server chooses decrypt to embeddings of the secret key.
#[test]
fn found_7_values_warn_and_are_shared_with_flooding() {
    let scratch = Scratch::new("share");
    let owner = Owner::new(&scratch.path("client"), &["0.5,0.25"]);
    let path = owner.home.join("shared").join(format!("{}.result", owner.jobs[0]));
    let decrypt = |flags: &[&str]| {
        fs::write(&path, &owner.answers[0]).unwrap();
        let output = finish(client("decrypt", &owner.home).args(["--json", "--keep"]).args(flags));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("warning: nothing proves"), "{said}");
        let got: Value = serde_json::from_slice(&output.stdout).expect("JSON alone");
        serde_json::from_value::<Vec<f64>>(got["answers"][0]["values"].clone()).expect(&said)
    };
    // Twice the same, since nothing is added; with noise for others, twice something else.
    assert_eq!(decrypt(&[]), decrypt(&[]));
    let (first, second) = (decrypt(&["--share"]), decrypt(&["--share"]));
    assert!(first != second && first.iter().all(|v| (v - 0.375).abs() < 0.05), "{first:?}");
    // The bytes of a `BudgetFile`, made with the key.
    let sharing = owner.home.join("sharing");
    let left = || u64::from_le_bytes(fs::read(&sharing).unwrap()[44..52].try_into().unwrap());
    assert_eq!(left(), 1022, "each counts");
    // At the same time, too: calls reserved the same results.
    let mut calls: Vec<_> = (0..6)
        .map(|_| {
            let mut call = client("decrypt", &owner.home);
            call.args(["--json", "--keep", "--share"]).stdout(Stdio::null()).stderr(Stdio::null());
            call.spawn().unwrap()
        })
        .collect();
    assert!(calls.iter_mut().all(|call| call.wait().unwrap().success()));
    assert_eq!(left(), 1016);
    // A lost count is no new one, nor is one that cannot be read: a lost one was.
    let lost = || {
        let output = finish(client("decrypt", &owner.home).args(["--keep", "--share"]));
        assert_eq!(output.status.code(), Some(2));
        let why = String::from_utf8(output.stderr).unwrap();
        assert!(why.contains("sharing") && why.contains("used up"), "{why}");
    };
    fs::rename(&sharing, scratch.path("sharing")).unwrap();
    lost();
    assert!(!sharing.exists());
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("nowhere", &sharing).unwrap();
        lost();
        fs::remove_file(&sharing).unwrap();
    }
    // Other keys in the same folder have a count of their own.
    fs::rename(scratch.path("sharing"), &sharing).unwrap();
    fs::remove_file(owner.home.join("secret")).unwrap();
    let keys = ["--preset", "toy-insecure", "--programs", "mean", "--count", "8"];
    report(client("keygen", &owner.home).args(keys));
    assert_eq!(left(), 1024);
    // The page says it before anything else.
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/EXCHANGE.md");
    let page = fs::read_to_string(page).unwrap();
    let first = page.split("\n\n").nth(1).unwrap();
    assert!(first.contains("malicious server") && first.contains("secret key"), "{first}");
}

/// Found 9: downloads of up to a gigabyte, and answers that could be swapped.
#[test]
fn found_9_answers_are_bounded_and_tied_to_their_job() {
    let scratch = Scratch::new("swapped");
    let owner = Owner::new(&scratch.path("client"), &["0.5", "0.25", "1"]);
    let other = Owner::new(&scratch.path("other"), &["0.5"]);
    let done = |job| owner.status(job, "done", Value::Null);
    // Of another job, of another client, and without an end.
    let long = vec![b' '; 64 << 20];
    let server =
        owner.server(&[done(0), done(1), done(2)], &[&owner.answers[1], &other.answers[0], &long]);
    let (output, got) = owner.decrypt(&server, &["--patience", "5"]);
    assert_eq!(output.status.code(), Some(2));
    let trouble = |job: usize| got["answers"][job]["trouble"].to_string();
    assert!(trouble(0).contains("the answer to job"), "{got}");
    assert!(trouble(1).contains("the answer to job"), "{got}");
    assert!(trouble(2).contains("sends more than the"), "{got}");
    assert_eq!(server.count("DELETE"), 0);
    // In a folder, too.
    let path = |job: usize| owner.home.join("shared").join(format!("{}.result", owner.jobs[job]));
    fs::write(path(0), &owner.answers[1]).unwrap();
    let output = finish(&mut client("decrypt", &owner.home));
    assert_eq!(output.status.code(), Some(2));
}

/// Found 9: values stood on the command line, where everybody reads them.
#[test]
fn found_9_values_come_from_standard_input() {
    let scratch = Scratch::new("stdin");
    let home = scratch.path("client");
    let keys = ["--preset", "toy-insecure", "--programs", "mean", "--count", "8"];
    report(client("keygen", &home).args(keys));
    let encrypt = |text: &str| {
        let mut call = client("encrypt", &home);
        call.args(["--program", "mean", "--json", "--values", "-"]);
        call.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = call.spawn().unwrap();
        // It may stop reading.
        let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
        child.wait_with_output().unwrap()
    };
    let made: Value = serde_json::from_slice(&encrypt("0.5,-0.25\n\n1\n").stdout).unwrap();
    assert_eq!((made["jobs"].as_array().unwrap().len(), &made["n"]), (2, &3.into()));
    // The last one was cut at 16 MiB, in the middle of a number.
    let long = format!("0.5\n{}0.25\n", "\n".repeat((16 << 20) - 7));
    for bad in ["", "0.5,98.765x\n", &long] {
        let output = encrypt(bad);
        assert_eq!(output.status.code(), Some(2));
        assert!(!String::from_utf8(output.stderr).unwrap().contains("98.765"));
    }
}

/// Found 9: files of the client and the server were private only if the umask was.
#[cfg(unix)]
#[test]
fn found_9_files_are_private_whatever_the_umask() {
    use std::os::unix::fs::PermissionsExt;
    fn look(path: &Path, count: &mut usize) {
        let mode = fs::symlink_metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{path:?}: {mode:o}");
        *count += 1;
        if path.is_dir() {
            fs::read_dir(path).unwrap().for_each(|file| look(&file.unwrap().path(), count));
        }
    }
    let scratch = Scratch::new("umask");
    let (home, data) = (scratch.path("client"), scratch.path("data"));
    let open = |call: &Command, more: &[&str]| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "umask 000; exec \"$0\" \"$@\""]).arg(call.get_program());
        shell.args(call.get_args()).args(more);
        shell
    };
    let keys = ["--preset", "toy-insecure", "--programs", "mean", "--count", "8"];
    report(&mut open(&client("keygen", &home), &keys));
    let mut server = program("exchange_server");
    server.args(["--accept-insecure", "--json", "--listen", "127.0.0.1:0", "--data"]).arg(&data);
    let mut server = open(&server, &[]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = [0; 512];
    let read = server.stdout.as_mut().unwrap().read(&mut line).unwrap();
    let said: Value = serde_json::from_slice(&line[..read]).unwrap();
    let url = format!("http://{}", said["listening"].as_str().unwrap());
    let encrypt = ["--program", "mean", "--values=0.5", "--server", &url];
    report(&mut open(&client("encrypt", &home), &encrypt));
    report(&mut open(&client("decrypt", &home), &["--keep", "--server", &url]));
    let mut count = 0;
    [home, data].iter().for_each(|path| look(path, &mut count));
    assert!(count >= 14, "{count} files and folders");
    server.kill().unwrap();
    server.wait().unwrap();
}
