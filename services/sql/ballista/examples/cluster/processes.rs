//! A cluster of processes on this machine: this program again, as scheduler and as executors.

use std::{
    fs::{self, File},
    io,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    time::{Duration, Instant},
};

use common::program::Failure;
use serde_json::Value;

/// The longest wait for a process, in seconds: the machine may be busy.
const PATIENCE: u64 = 120;

/// A process of the cluster. It dies with its owner.
pub struct Process {
    pub child: Child,
    status: PathBuf,
}

impl Process {
    /// Starts this program as `role`. Its output goes to `folder/log`.
    pub fn start(folder: &Path, role: &str, arguments: &[String]) -> Result<Self, Failure> {
        fs::create_dir_all(folder).map_err(Failure::run)?;
        let log = File::create(folder.join("log")).map_err(Failure::run)?;
        let child = Command::new(std::env::current_exe().map_err(Failure::run)?)
            .arg(role)
            .args(arguments)
            // Its end is that of this process.
            .stdin(Stdio::piped())
            .stdout(log.try_clone().map_err(Failure::run)?)
            .stderr(log)
            .spawn();
        Ok(Self { child: child.map_err(Failure::run)?, status: folder.join("status") })
    }

    /// The last counters of the process.
    pub fn status(&self) -> Value {
        let text = fs::read_to_string(&self.status).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Whether the process still runs.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// SIGKILL: the process gets no chance to say anything.
    pub fn kill(&mut self) {
        // It may have ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }

    /// CPU seconds of the process so far, in steps of 10 ms.
    pub fn cpu_seconds(&self) -> f64 {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        // Two counters of hundredths of a second, user and system, are the fields 14 and 15 of the
        // line. The name of the program is the second one, in brackets.
        let text = text.unwrap_or_default();
        let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
        fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
    }

    /// The most memory that the process has had, in bytes.
    pub fn peak_bytes(&self) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let text = text.unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kib.unwrap_or(0) << 10
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The resources of each executor.
#[derive(Debug, Clone, Copy)]
pub struct Resources {
    pub threads: usize,
    pub memory_mib: usize,
}

/// A scheduler and its executors.
pub struct Cluster {
    /// `host:port` of the scheduler.
    pub address: String,
    pub scheduler: Process,
    pub executors: Vec<Process>,
    pub folder: PathBuf,
    /// The folder of each executor's copies of objects.
    caches: Vec<PathBuf>,
}

impl Cluster {
    /// Starts a cluster over the store of `home`. Executor `i` is on the node `nodes[i]`.
    pub fn start(
        home: &Path,
        name: &str,
        nodes: &[usize],
        resources: Resources,
    ) -> Result<Self, Failure> {
        let folder = home.join(name);
        let address = format!("127.0.0.1:{}", free_port()?);
        let status = |folder: &Path| ["--status".into(), text(&folder.join("status"))];
        let at = folder.join("scheduler");
        let arguments = ["--bind", &address, "--work", &text(&at)];
        let mut arguments = arguments.map(String::from).to_vec();
        arguments.extend(["--root".into(), text(home)]);
        arguments.extend(status(&at));
        let scheduler = Process::start(&at, "scheduler", &arguments)?;
        let mut cluster = Self { address, scheduler, executors: vec![], folder, caches: vec![] };
        for (i, node) in nodes.iter().enumerate() {
            let at = cluster.folder.join(format!("executor-{i}"));
            let cache = cluster.folder.join(format!("node-{node}"));
            let mut arguments: Vec<String> = [
                ("--scheduler", cluster.address.clone()),
                ("--bind", format!("127.0.0.1:{}", free_port()?)),
                ("--store", text(home)),
                ("--root", text(home)),
                ("--cache", text(&cache)),
                ("--work", text(&at.join("work"))),
                ("--threads", resources.threads.to_string()),
                ("--memory", resources.memory_mib.to_string()),
            ]
            .into_iter()
            .flat_map(|(name, value)| [name.to_string(), value])
            .collect();
            arguments.extend(status(&at));
            cluster.executors.push(Process::start(&at, "executor", &arguments)?);
            cluster.caches.push(cache);
        }
        let all = nodes.len() as u64;
        cluster.wait("executors that ask for work", |cluster| cluster.registered() == all)?;
        Ok(cluster)
    }

    /// The executors that the scheduler knows.
    pub fn registered(&self) -> u64 {
        self.scheduler.status()["executors"].as_u64().unwrap_or(0)
    }

    /// Waits for something to come true.
    pub fn wait(
        &mut self,
        what: &str,
        mut met: impl FnMut(&mut Self) -> bool,
    ) -> Result<(), Failure> {
        let begin = Instant::now();
        while !met(self) {
            if begin.elapsed() > Duration::from_secs(PATIENCE) || !self.scheduler.is_alive() {
                let log = self.folder.join("scheduler").join("log");
                let log = fs::read_to_string(log).unwrap_or_default();
                return Err(Failure::run(format!("no {what}: {log}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// The folder of an executor's results.
    pub fn results(&self, executor: usize) -> PathBuf {
        self.folder.join(format!("executor-{executor}")).join("work")
    }

    /// How often the executors of a node copied an object from the store, at most.
    pub fn key_loads_per_node(&self) -> f64 {
        let mut most: f64 = 0.0;
        for cache in &self.caches {
            let copies: u64 = (self.executors.iter().zip(&self.caches))
                .filter(|(_, other)| *other == cache)
                .map(|(executor, _)| executor.status()["downloads"].as_u64().unwrap_or(0))
                .sum();
            let names = fs::read_dir(cache).into_iter().flatten().flatten();
            let objects = names.filter(|entry| entry.path().extension().is_none()).count();
            most = most.max(copies as f64 / objects.max(1) as f64);
        }
        most
    }
}

fn free_port() -> Result<u16, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(Failure::run)?;
    Ok(listener.local_addr().map_err(Failure::run)?.port())
}

/// Ends this process when its owner ends, however that happens: its input ends then.
pub fn end_with_owner() {
    std::thread::spawn(|| {
        io::copy(&mut io::stdin(), &mut io::sink()).ok();
        process::exit(1)
    });
}

pub fn text(path: &Path) -> String {
    path.display().to_string()
}
