//! Replays the corpus and tries changes of it, on stable Rust.
//!
//! ```text
//! cargo run --release --manifest-path fuzz/Cargo.toml --bin replay -- --seconds 5
//! ```
//!
//! Prints a line for each target: how many inputs were tried, refused and accepted, and the most
//! that one took. The first fault ends the program with status 1; its input is written to
//! `--found`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        LazyLock, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bellerophon_fuzz::{
    TARGETS, TINY, Target, WIDE, World,
    mutate::Mutator,
    target,
    trial::{Outcome, Report, trial},
};
use clap::Parser;

/// Gives hostile bytes to every type that Bellerophon reads.
#[derive(Parser)]
struct Arguments {
    /// Seconds of changed inputs for each target.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Changed inputs for each target, at least.
    #[arg(long, default_value_t = 0)]
    executions: u64,
    /// Seconds for all targets together, at most: each takes its share.
    #[arg(long)]
    at_most: Option<f64>,
    /// Of one target alone.
    #[arg(long)]
    target: Option<String>,
    /// Of the changes.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The stored inputs: folders with a folder for each target. By default the golden files of the
    /// format, and the inputs of faults that were found and mended.
    #[arg(long, default_values = [
        concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors"),
        concat!(env!("CARGO_MANIFEST_DIR"), "/regressions"),
    ])]
    corpus: Vec<PathBuf>,
    /// Where the input of a fault is written.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/found"))]
    found: PathBuf,
    /// Takes larger parameters, where memory is all in the objects, and the objects made here in
    /// place of the corpus.
    #[arg(long)]
    wide: bool,
    /// Writes the valid objects of every target to this folder, and ends.
    #[arg(long)]
    write_corpus: Option<PathBuf>,
}

/// What was tried on a target.
#[derive(Default)]
struct Tally {
    tried: u64,
    refused: u64,
    accepted: u64,
    slowest: Duration,
    /// Bytes on the heap, of an input of so many bytes: where it was the most beside the input.
    largest: (usize, usize),
    /// The same among those accepted, where it was the largest share.
    share: f64,
}

impl Tally {
    fn add(&mut self, len: usize, report: Report) {
        self.tried += 1;
        match report.outcome {
            Outcome::Refused => self.refused += 1,
            Outcome::Accepted => {
                self.accepted += 1;
                self.share = self.share.max(report.peak as f64 / len.max(1) as f64);
            }
        }
        self.slowest = self.slowest.max(report.time);
        if report.peak > self.largest.0 {
            self.largest = (report.peak, len);
        }
    }
}

/// The input at work, so that one that never ends can be kept.
static CURRENT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// When it began, in milliseconds from the start of the program and never zero; zero in between.
static SINCE: AtomicU64 = AtomicU64::new(0);

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Seconds after which an input counts as one that never ends.
const NEVER: u64 = 60;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let world: &'static World = if arguments.wide { &WIDE } else { &TINY };
    let targets: Vec<&Target> = match &arguments.target {
        Some(name) => vec![target(name)?],
        None => TARGETS.iter().collect(),
    };
    if let Some(folder) = &arguments.write_corpus {
        return targets.iter().try_for_each(|target| write_samples(folder, target, world));
    }
    // Panics are reported with their input.
    std::panic::set_hook(Box::new(|_| ()));
    watch(arguments.found.clone());
    let share = arguments.at_most.map_or(f64::INFINITY, |most| most / targets.len() as f64);
    let seconds = Duration::from_secs_f64(arguments.seconds.min(share));
    println!("seed {}, {seconds:.1?} for each of {} targets", arguments.seed, targets.len());
    println!(
        "{:28}{:>10}{:>10}{:>10}{:>10}  largest heap of an input, share of an object, slowest",
        "target", "start", "tried", "refused", "accepted"
    );
    let all: Vec<_> = TARGETS.iter().map(|target| (target.samples)(world)).collect();
    for target in targets {
        fuzz(arguments, target, world, &all, seconds)?;
    }
    Ok(())
}

/// Replays what is stored, then tries changes of it, and of it with parts of `all` objects.
fn fuzz(
    arguments: &Arguments,
    target: &Target,
    world: &'static World,
    all: &[Vec<Vec<u8>>],
    seconds: Duration,
) -> Result<(), String> {
    let mut mutator = Mutator::new(arguments.seed ^ hash(target.name));
    let samples = (target.samples)(world);
    let mut corpus = samples.clone();
    if !arguments.wide {
        corpus.extend(stored(&arguments.corpus, target.name)?);
    }
    let mut tally = Tally::default();
    let one = |bytes: &[u8], tally: &mut Tally| {
        begin(bytes);
        let judged = trial(target, world, bytes);
        SINCE.store(0, Ordering::Relaxed);
        let report = judged.map_err(|fault| {
            let path = keep(&arguments.found, bytes);
            format!("{}: {fault}; the input is {path}", target.name)
        })?;
        tally.add(bytes.len(), report);
        Ok::<_, String>(report.outcome)
    };
    for bytes in &samples {
        if one(bytes, &mut tally)? != Outcome::Accepted {
            return Err(format!("{}: an object made here is refused", target.name));
        }
    }
    for bytes in &corpus {
        one(bytes, &mut tally)?;
    }
    let mut tally = Tally::default();
    let start = Instant::now();
    while start.elapsed() < seconds || tally.tried < arguments.executions {
        let bytes = &corpus[mutator.below(corpus.len())];
        // Sometimes of another type.
        let other = match mutator.below(16) {
            0 => &all[mutator.below(all.len())][0],
            _ => &corpus[mutator.below(corpus.len())],
        };
        // One in eight as it is; the others behind envelopes that are right.
        let changed = match mutator.below(8) {
            0 => mutator.object(bytes, other),
            _ => target.seal(&samples[0], &mutator.sealed(target.shape, bytes, other)),
        };
        one(&changed, &mut tally)?;
    }
    println!(
        "{:28}{:>10}{:>10}{:>10}{:>10}  {} of {} bytes, {:.2}, {:.1?}",
        target.name,
        corpus.len(),
        tally.tried,
        tally.refused,
        tally.accepted,
        tally.largest.0,
        tally.largest.1,
        tally.share,
        tally.slowest
    );
    Ok(())
}

/// The inputs of a target, folder by folder in the order of their names.
fn stored(folders: &[PathBuf], name: &str) -> Result<Vec<Vec<u8>>, String> {
    let mut inputs = Vec::new();
    for folder in folders.iter().map(|folder| folder.join(name)).filter(|folder| folder.is_dir()) {
        let read = || {
            let paths = fs::read_dir(&folder)?.map(|entry| entry.map(|entry| entry.path()));
            let mut paths = paths.collect::<Result<Vec<PathBuf>, _>>()?;
            paths.sort();
            paths.iter().map(fs::read).collect::<Result<Vec<_>, _>>()
        };
        let read: Result<_, std::io::Error> = read();
        inputs.extend(read.map_err(|error| format!("{}: {error}", folder.display()))?);
    }
    Ok(inputs)
}

fn write_samples(folder: &Path, target: &Target, world: &'static World) -> Result<(), String> {
    let folder = folder.join(target.name);
    let write = || {
        fs::create_dir_all(&folder)?;
        for (i, bytes) in (target.samples)(world).iter().enumerate() {
            fs::write(folder.join(format!("{i}.bin")), bytes)?;
        }
        Ok(())
    };
    write().map_err(|error: std::io::Error| format!("{}: {error}", folder.display()))
}

/// Writes the input of a fault, and returns where.
fn keep(folder: &Path, bytes: &[u8]) -> String {
    let name = format!("{:016x}.bin", bytes.iter().fold(0, |h, &b| mix(h, b)));
    let path = folder.join(name);
    match fs::create_dir_all(folder).and_then(|()| fs::write(&path, bytes)) {
        Ok(()) => path.display().to_string(),
        Err(error) => format!("lost: {}: {error}", path.display()),
    }
}

fn mix(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
}

fn hash(name: &str) -> u64 {
    name.bytes().fold(0, mix)
}

fn begin(bytes: &[u8]) {
    let mut current = CURRENT.lock().expect("no panic holds it");
    current.clear();
    current.extend_from_slice(bytes);
    SINCE.store(START.elapsed().as_millis() as u64 + 1, Ordering::Relaxed);
}

/// Ends the program when an input never does.
fn watch(found: PathBuf) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let since = SINCE.load(Ordering::Relaxed);
            if since > 0 && START.elapsed().as_millis() as u64 > since + 1000 * NEVER {
                let path = keep(&found, &CURRENT.lock().expect("no panic holds it"));
                eprintln!("more than {NEVER} s for one input: {path}");
                std::process::exit(1);
            }
        }
    });
}
