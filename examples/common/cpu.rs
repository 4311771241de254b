//! CPU time of this process.

/// CPU seconds of all threads that this process has now, including system time: a busy machine does
/// not affect it. The seconds of threads that have ended are missing. `None` where the system does
/// not provide it (it is read from `schedstat` of the threads, on Linux, with a resolution of a few
/// milliseconds).
pub fn cpu_seconds() -> Option<f64> {
    let mut nanoseconds = 0;
    for thread in std::fs::read_dir("/proc/self/task").ok()? {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        nanoseconds += text.split_whitespace().next()?.parse::<u64>().ok()?;
    }
    Some(nanoseconds as f64 * 1e-9)
}
