//! Secrets choose no branch and no address: sampling, encryption and decryption run under
//! valgrind's memcheck with every secret marked as undefined, on the portable back end and on AVX2.
//! Memcheck reports a conditional jump or an address that depends on a mark, through any
//! arithmetic.
//!
//! The program runs itself under valgrind, once for each case and back end. Two cases contain the
//! fault on purpose, and must be reported. Optimised builds only: the checks of a debug build
//! (overflow, `debug_assert`) branch on secrets.

mod cases;

use std::{
    env,
    process::{Command, ExitCode, Output},
};

use bellerophon::ring::backend::memcheck;

/// The case of the child process.
const CASE: &str = "BELLEROPHON_MEMCHECK_CASE";

/// The exit status of valgrind after a report.
const REPORTED: i32 = 99;

/// The reports that are no fault; docs/security/timing.md says why.
const DECLARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/memcheck/declared.supp");

/// The back ends that valgrind can run.
const BACKENDS: [&str; 2] = ["scalar", "avx2"];

fn main() -> ExitCode {
    if let Ok(name) = env::var(CASE) {
        let case = cases::ALL.iter().find(|case| case.name == name);
        assert!(memcheck::is_running(), "the case {name} does not run under valgrind");
        (case.expect("a case").run)();
        println!("finished {name}");
        return ExitCode::SUCCESS;
    }
    if let Some(reason) = cannot_run() {
        println!("memcheck: NOT RUN: {reason}");
        return ExitCode::SUCCESS;
    }
    let mut faults = 0;
    for backend in BACKENDS {
        for case in cases::ALL {
            let output = under_valgrind(backend, case.name);
            let fault = judge(case, &output);
            println!("memcheck, {backend}: {}: {}", case.name, fault.unwrap_or("as expected"));
            if fault.is_some() {
                faults += 1;
                println!("{}", String::from_utf8_lossy(&output.stderr));
            }
        }
    }
    match faults {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Why nothing can be checked here.
fn cannot_run() -> Option<&'static str> {
    if cfg!(not(all(target_arch = "x86_64", target_os = "linux"))) {
        return Some("needs x86-64 and Linux");
    }
    if cfg!(debug_assertions) {
        return Some("the checks of a debug build branch on secrets: use --release");
    }
    match Command::new("valgrind").arg("--version").output() {
        Ok(version) if version.status.success() => None,
        _ => Some("needs valgrind"),
    }
}

/// A case in a process of its own.
fn under_valgrind(backend: &str, case: &str) -> Output {
    Command::new("valgrind")
        .arg(format!("--error-exitcode={REPORTED}"))
        .arg(format!("--suppressions={DECLARED}"))
        .args(["--quiet", "--error-limit=no", "--num-callers=24"])
        .arg(env::current_exe().expect("the path of this program"))
        .env(CASE, case)
        .env("BELLEROPHON_BACKEND", backend)
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .expect("valgrind starts")
}

/// What is wrong with the outcome of a case.
fn judge(case: &cases::Case, output: &Output) -> Option<&'static str> {
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    if !stdout.contains(&format!("finished {}", case.name)) {
        return Some("FAILED, it did not finish");
    }
    match (case.must_report, output.status.code()) {
        (None, Some(0)) => None,
        (None, _) => Some("FAILED, a branch or an address depends on a secret"),
        (Some(words), Some(REPORTED)) if stderr.contains(words) => None,
        (Some(_), _) => Some("FAILED, the fault of this control was not reported"),
    }
}
