//! One input, and what came of it.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use crate::{HEAP, Target, World};

/// The time that one input may take.
pub const TIME: Duration = Duration::from_secs(1);

/// Bytes that reading may take whatever the length of the input.
pub const ROOM: usize = 16 << 10;

/// What is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The bytes were refused.
    Refused,
    /// They are an object, and it is written as the same bytes.
    Accepted,
}

/// What came of an input, and what it took.
#[derive(Debug, Clone, Copy)]
pub struct Report {
    /// Refused or accepted.
    pub outcome: Outcome,
    /// The most bytes on the heap, beyond those that stood there before.
    pub peak: usize,
    /// How long reading took.
    pub time: Duration,
}

/// What is not allowed.
#[derive(Debug)]
pub enum Fault {
    /// Reading, or writing what was read, panicked.
    Panic(String),
    /// More time than [`TIME`].
    Time(Duration),
    /// More memory than the target allows.
    Memory {
        /// Bytes on the heap.
        peak: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// What was read is written as other bytes.
    Silent {
        /// The first byte that differs.
        at: usize,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(message) => write!(f, "panic: {message}"),
            Self::Time(time) => write!(f, "{time:.2?} for one input"),
            Self::Memory { peak, limit } => write!(f, "{peak} bytes of memory: {limit} allowed"),
            Self::Silent { at } => {
                write!(f, "accepted, and written as other bytes from byte {at} on")
            }
        }
    }
}

/// Gives bytes to a target.
///
/// # Errors
/// Every fault.
pub fn trial(target: &Target, world: &'static World, bytes: &[u8]) -> Result<Report, Fault> {
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let start = Instant::now();
    let read = caught(|| (target.read)(world, bytes))?;
    let mut time = start.elapsed();
    let peak = HEAP.peak_usage().saturating_sub(before);
    let limit = target.memory.limit(bytes.len());
    if peak > limit {
        return Err(Fault::Memory { peak, limit });
    }
    // The machine may have done something else in between: the best of three counts.
    for _ in 0..2 {
        if time > TIME {
            let start = Instant::now();
            drop(caught(|| (target.read)(world, bytes))?);
            time = time.min(start.elapsed());
        }
    }
    if time > TIME {
        return Err(Fault::Time(time));
    }
    let Ok(read) = read else {
        return Ok(Report { outcome: Outcome::Refused, peak, time });
    };
    let (used, written) = (&bytes[..read.used], caught(read.write)?);
    if written != used {
        let differ = written.iter().zip(used).position(|(a, b)| a != b);
        return Err(Fault::Silent { at: differ.unwrap_or(written.len().min(used.len())) });
    }
    Ok(Report { outcome: Outcome::Accepted, peak, time })
}

fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let message = panic.downcast_ref::<String>().cloned();
        let message = message.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
        Fault::Panic(message.unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Memory, Read, Shape, TINY};

    fn target(read: fn(&'static World, &[u8]) -> bellerophon::Result<Read>) -> Target {
        let (samples, memory) = (|_: &'static World| vec![], Memory::DEFAULT);
        Target { name: "test", samples, read, shape: Shape::Single, memory }
    }

    fn judged(
        read: fn(&'static World, &[u8]) -> bellerophon::Result<Read>,
    ) -> Result<Report, Fault> {
        std::sync::LazyLock::force(&TINY);
        trial(&target(read), &TINY, &[1, 2, 3])
    }

    fn same(bytes: &[u8], used: usize) -> Read {
        let written = bytes.to_vec();
        Read { write: Box::new(move || written), used }
    }

    #[test]
    fn every_fault_is_seen() {
        let refused = judged(|_, _| Err(bellerophon::error::no_bytes())).unwrap();
        assert_eq!(refused.outcome, Outcome::Refused);
        let accepted = judged(|_, bytes| Ok(same(bytes, 3))).unwrap();
        assert_eq!(accepted.outcome, Outcome::Accepted);
        let panicked = judged(|_, bytes| Ok(same(bytes, bytes[2] as usize / (bytes.len() - 3))));
        assert!(matches!(panicked, Err(Fault::Panic(_))));
        let greedy = judged(|_, bytes| {
            drop(std::hint::black_box(vec![1u8; 2 * ROOM]));
            Ok(same(bytes, 3))
        });
        assert!(matches!(greedy, Err(Fault::Memory { peak, .. }) if peak >= 2 * ROOM));
        let deaf = judged(|_, bytes| Ok(same(&[1, 2, 4], bytes.len())));
        assert!(matches!(deaf, Err(Fault::Silent { at: 2 })));
        let deaf = judged(|_, bytes| Ok(same(&bytes[..2], bytes.len())));
        assert!(matches!(deaf, Err(Fault::Silent { at: 2 })));
        let slow = judged(|_, bytes| {
            std::thread::sleep(TIME + Duration::from_millis(50));
            Ok(same(bytes, 3))
        });
        assert!(matches!(slow, Err(Fault::Time(_))));
    }
}
