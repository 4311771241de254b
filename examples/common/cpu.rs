//! Time that this process has run.

/// Seconds for which the threads of this process have run so far, those in the system included: what a
/// busy machine does not stretch. `None` where the system does not say (it is read from `schedstat` of
/// the threads, which Linux has and keeps to a few milliseconds).
pub fn cpu_seconds() -> Option<f64> {
    let mut nanoseconds = 0;
    for thread in std::fs::read_dir("/proc/self/task").ok()? {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        nanoseconds += text.split_whitespace().next()?.parse::<u64>().ok()?;
    }
    Some(nanoseconds as f64 * 1e-9)
}
