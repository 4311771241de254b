//! Requests by hand: what the client program would never send.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::processes::{PATIENCE, Scratch, Server, program, report};

use bellerophon_exchange::protocol::{ClientId, Hex, JobId, Refusal, State, Status, Token};

/// An answer: its status, and its JSON if there is some.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub json: Value,
}

impl Answer {
    /// The kind of a refusal, which is all that it says.
    pub fn refused(&self) -> String {
        let refusal: Refusal = serde_json::from_value(self.json.clone())
            .unwrap_or_else(|e| panic!("{self:?} is no refusal: {e}"));
        assert_eq!(self.json, serde_json::json!({"code": refusal.code}));
        assert_eq!(self.status, refusal.code.status(), "{self:?}");
        refusal.code.to_string()
    }
}

/// Somebody who talks to a server.
#[derive(Clone)]
pub struct Peer {
    address: String,
    token: String,
}

impl Peer {
    pub fn new(address: &str, token: &str) -> Self {
        Self { address: address.to_string(), token: token.to_string() }
    }

    /// The client whose folder this is.
    pub fn of(address: &str, folder: &Path) -> Self {
        let token = std::fs::read_to_string(folder.join("token")).expect("the client's token");
        Self::new(address, &token)
    }

    /// The server's name for this client.
    pub fn name(&self) -> ClientId {
        let token: Token = self.token.parse().expect("a token");
        token.client()
    }

    /// The folder of this client at the server.
    pub fn folder(&self, data: &Path) -> PathBuf {
        data.join("blobs").join(self.name().as_str())
    }

    /// Sends bytes as they are, and reads the answer.
    pub fn raw(&self, bytes: &str) -> Option<Answer> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
        stream.write_all(bytes.as_bytes()).ok()?;
        read_answer(&mut stream)
    }

    fn head(&self, method: &str, path: &str, length: Option<u64>) -> String {
        let length = length.map_or(String::new(), |n| format!("Content-Length: {n}\r\n"));
        format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Connection: close\r\n{length}\r\n",
            self.address, self.token
        )
    }

    /// Connects and sends the beginning of a request with an announced length.
    pub fn begin(
        &self,
        method: &str,
        path: &str,
        announced: Option<u64>,
    ) -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.write_all(self.head(method, path, announced).as_bytes())?;
        Ok(stream)
    }

    /// Sends a request; `None` if the server is missing or disappears meanwhile.
    pub fn try_send(&self, method: &str, path: &str, body: &[u8]) -> Option<Answer> {
        let mut stream = self.begin(method, path, Some(body.len() as u64)).ok()?;
        // A server that refuses early closes its side: what counts is what it says.
        let _ = stream.write_all(body);
        read_answer(&mut stream)
    }

    /// Sends a request to a server that is there.
    pub fn send(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        self.try_send(method, path, body).unwrap_or_else(|| panic!("no answer to {method} {path}"))
    }

    /// Sends a request as often as it takes while the server is away.
    pub fn insist(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        for _ in 0..600 {
            if let Some(answer) = self.try_send(method, path, body)
                && answer.status != 429
            {
                return answer;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("no answer to {method} {path} within a minute");
    }
}

/// Reads an answer to its end.
pub fn read_answer(stream: &mut TcpStream) -> Option<Answer> {
    let mut bytes = vec![];
    let _ = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let json = serde_json::from_slice(&bytes[end + 4..]).unwrap_or(Value::Null);
    Some(Answer { status, json })
}

/// A unique name of a job.
pub fn job_id(salt: &str) -> JobId {
    Hex::of(blake3::hash(salt.as_bytes()).as_bytes())
}

/// A client whose keys are at the server.
pub struct Setting {
    pub folder: PathBuf,
    pub peer: Peer,
    pub keys: String,
    /// A ciphertext that was not sent.
    pub input: Vec<u8>,
}

impl Setting {
    pub fn path(&self, salt: &str, program: &str) -> String {
        format!("/v1/jobs/{}?program={program}&keys={}", job_id(salt), self.keys)
    }

    /// The state of a job once it has ended.
    pub fn wait(&self, salt: &str) -> Status {
        let (path, start) = (format!("/v1/jobs/{}?wait=30", job_id(salt)), Instant::now());
        loop {
            let answer = self.peer.send("GET", &path, b"");
            let status: Status = serde_json::from_value(answer.json.clone())
                .unwrap_or_else(|e| panic!("{answer:?}: {e}"));
            if status.state.is_final() {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "{status:?}");
        }
    }

    /// Submits a job that is accepted.
    pub fn submit(&self, salt: &str, program: &str) {
        assert_eq!(self.peer.send("PUT", &self.path(salt, program), &self.input).status, 202);
    }

    /// Whether a job has the state.
    pub fn is(&self, salt: &str, state: State) -> bool {
        let answer = self.peer.send("GET", &format!("/v1/jobs/{}", job_id(salt)), b"");
        answer.json["state"] == serde_json::to_value(state).unwrap()
    }
}

/// A client of this server with keys for arithmetic, or for look-ups too.
pub fn setting_for(folder: &Path, server: &Server, programs: &str) -> Setting {
    let made = report(
        program("exchange_client")
            .args(["keygen", "--preset", "toy-insecure", "--programs", programs, "--count", "8"])
            .args(["--server", &server.url(), "--dir"])
            .arg(folder),
    );
    let made_job = report(
        program("exchange_client")
            .args(["encrypt", "--program", programs.split(',').next().unwrap()])
            .args(["--values", "0.5,-0.25", "--dir"])
            .arg(folder),
    );
    let id = made_job["jobs"][0].as_str().expect("a name");
    let input = std::fs::read(folder.join("shared").join(format!("{id}.input")));
    // The client forgets it: it was never submitted.
    std::fs::remove_file(folder.join("jobs").join(id)).expect("what the client remembers");
    Setting {
        folder: folder.to_path_buf(),
        peer: Peer::of(server.address(), folder),
        keys: made["keys"].as_str().expect("a name").to_string(),
        input: input.expect("the ciphertext"),
    }
}

/// A client of this server with keys for arithmetic.
pub fn setting(folder: &Path, server: &Server) -> Setting {
    setting_for(folder, server, "mean,square-plus")
}

/// A folder with a server in it, and a client of that server with keys for arithmetic.
pub fn serving(name: &str, flags: &[&str]) -> (Scratch, PathBuf, Server, Setting) {
    let scratch = Scratch::new(name);
    let data = scratch.path("data");
    let server = Server::start(&data, None, flags);
    let ours = setting(&scratch.path("ours"), &server);
    (scratch, data, server, ours)
}
