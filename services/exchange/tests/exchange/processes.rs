//! The programs: started, told to stop, killed.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A program of the exchange.
pub fn program(name: &str) -> Command {
    let path = match name {
        "exchange_server" => env!("CARGO_BIN_EXE_exchange_server"),
        "exchange_client" => env!("CARGO_BIN_EXE_exchange_client"),
        "exchange_admin" => env!("CARGO_BIN_EXE_exchange_admin"),
        "exchange_soak" => env!("CARGO_BIN_EXE_exchange_soak"),
        other => panic!("no program {other}"),
    };
    let mut program = Command::new(path);
    // Nobody listens: the token goes to the named server only, and not to a proxy.
    for proxy in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        program.env(proxy, "http://127.0.0.1:1");
    }
    program
}

/// An empty folder, removed when the test ends well.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("bellerophon-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// Longer than anything here takes, by far.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Waits until something is so; it is a failure if that takes too long.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "not within {PATIENCE:?}: {what}");
        thread::sleep(Duration::from_millis(3));
    }
}

/// Runs a program to its end.
pub fn finish(command: &mut Command) -> Output {
    command.output().expect("the program starts")
}

/// The JSON report of a program that ends well.
pub fn report(command: &mut Command) -> Value {
    let output = finish(command.arg("--json"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    serde_json::from_slice(&output.stdout).expect("one JSON object on standard output")
}

/// A server that runs.
pub struct Server {
    child: Child,
    address: String,
    /// Jobs that it found on disk.
    pub recovered: u64,
    /// Its address for monitoring.
    pub metrics: Option<String>,
    log: Arc<Mutex<String>>,
}

impl Server {
    /// Starts a server on a folder, on any free port or on that of `before`.
    pub fn start(data: &Path, before: Option<&str>, flags: &[&str]) -> Self {
        Self::start_strict(data, before, &[flags, &["--accept-insecure"]].concat())
    }

    /// As [`start`](Self::start), for secure parameters alone.
    pub fn start_strict(data: &Path, before: Option<&str>, flags: &[&str]) -> Self {
        Self::launch(program("exchange_server"), data, before, flags)
    }

    /// As [`start`](Self::start), under a limit of the shell such as `ulimit -n`.
    #[cfg(unix)]
    pub fn start_with(
        limit: &str,
        most: u64,
        data: &Path,
        before: Option<&str>,
        flags: &[&str],
    ) -> Self {
        let server = program("exchange_server");
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{limit} {most}; exec \"$0\" \"$@\"")]);
        shell.arg(server.get_program());
        Self::launch(shell, data, before, &[flags, &["--accept-insecure"]].concat())
    }

    fn launch(mut server: Command, data: &Path, before: Option<&str>, flags: &[&str]) -> Self {
        let mut child = server
            .args(["--json", "--listen", before.unwrap_or("127.0.0.1:0")])
            .arg("--data")
            .arg(data)
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("the server says where it listens");
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line:?}: {e}"));
        let address = said["listening"].as_str().expect("an address").to_string();
        let (log, mut stderr) =
            (Arc::<Mutex<String>>::default(), child.stderr.take().expect("piped"));
        let kept = log.clone();
        thread::spawn(move || {
            let mut piece = [0; 1 << 12];
            while let Ok(bytes @ 1..) = stderr.read(&mut piece) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&piece[..bytes]));
            }
        });
        let recovered = said["recovered"].as_u64().expect("a number");
        let metrics = said["metrics"].as_str().map(str::to_string);
        Self { child, address, recovered, metrics, log }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// What it has said on standard error.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Tells it to stop (SIGTERM), and waits until it has.
    pub fn stop(mut self) -> std::process::ExitStatus {
        let told = Command::new("kill").arg(self.child.id().to_string()).status();
        assert!(told.expect("kill runs").success());
        self.child.wait().expect("it has ended")
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The most memory that it has had, where the system says.
    pub fn peak_rss_bytes(&self) -> Option<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib * 1024)
    }

    /// Ends it without a chance to tidy up (SIGKILL), and says where it listened.
    pub fn kill(mut self) -> String {
        self.end();
        self.address.clone()
    }

    /// As [`kill`](Self::kill), then starts another one.
    pub fn restart(&mut self, data: &Path, flags: &[&str]) {
        self.end();
        *self = Self::start(data, Some(&self.address), flags);
    }

    fn end(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it has ended");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
