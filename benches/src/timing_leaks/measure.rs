//! Measurements of cases.

use std::convert::Infallible;
use std::hint::black_box;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use rand::{Rng, RngExt, TryCryptoRng, TryRng};
use rand_chacha::ChaCha20Rng;
use serde::Serialize;

use common::facts::Facts;

use super::rank_test::{THRESHOLD, signed_ranks, smallest_shift};
use crate::measure::median;

/// Samples per measurement of a sampler.
pub const DRAWS: usize = 1024;

/// The required outcome of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wanted {
    /// No difference.
    Same,
    /// A difference: a control.
    Different,
    /// Nothing is promised.
    Either,
}

/// What is compared, and the outcome that is required.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    pub classes: [&'static str; 2],
    pub wanted: Wanted,
}

/// A measured case.
#[derive(Debug)]
pub struct Row {
    pub case: Case,
    /// Number of pairs.
    pub count: usize,
    /// Median time of each class.
    pub median_ns: [f64; 2],
    /// Signed ranks of the second class less the first, in standard deviations.
    pub z: f64,
    /// The same of a second, independent measurement, made where the first one exceeds the
    /// threshold.
    pub again: Option<f64>,
    /// The smallest difference that would have been found.
    pub least_ns: f64,
}

impl Row {
    /// The row in a report.
    pub fn facts(&self) -> Facts {
        let Self { case, count, median_ns, z, again, least_ns } = self;
        Facts::default()
            .with("name", case.name)
            .with("classes", case.classes)
            .with("wanted", case.wanted)
            .with("count", count)
            .with("median_ns", median_ns)
            .with("z", z)
            .with("again", again)
            .with("least_ns", least_ns)
    }

    /// Whether the classes differ: in both measurements, and in the same direction.
    pub fn differs(&self) -> bool {
        self.again.is_some_and(|again| again.abs() > THRESHOLD && again * self.z > 0.0)
    }

    /// The fault, if there is one.
    pub fn complaint(&self) -> Option<String> {
        let Self { case: Case { name, wanted, .. }, z, again, .. } = self;
        let again = again.unwrap_or(f64::NAN);
        match wanted {
            Wanted::Same if self.differs() => {
                Some(format!("{name}: the classes differ (z = {z:.1}, then {again:.1})"))
            }
            Wanted::Different if !self.differs() => Some(format!(
                "{name}: the classes must differ, but the test does not distinguish them (z = \
                 {z:.1}, then {again:.1})"
            )),
            _ => None,
        }
    }
}

/// Measures cases, each with up to `count` pairs within a time.
pub struct Measurements {
    pub count: usize,
    pub time: Duration,
    /// Take the second class for both.
    pub equal: bool,
    pub rng: ChaCha20Rng,
    pub rows: Vec<Row>,
}

impl Measurements {
    /// Times `work` on what `prepare` makes for a class; only `work` is timed.
    pub fn case<T, U>(
        &mut self,
        case: Case,
        mut prepare: impl FnMut(usize, &mut ChaCha20Rng) -> T,
        mut work: impl FnMut(&mut T) -> U,
    ) {
        let times = self.pairs(&mut prepare, &mut work);
        let differences: Vec<f64> = times.iter().map(|[first, second]| second - first).collect();
        let z = signed_ranks(&differences);
        let again = (z.abs() > THRESHOLD).then(|| {
            let times = self.pairs(&mut prepare, &mut work);
            signed_ranks(&times.iter().map(|[first, second]| second - first).collect::<Vec<_>>())
        });
        self.rows.push(Row {
            case,
            count: times.len(),
            median_ns: [0, 1].map(|class| median(times.iter().map(|pair| pair[class]))),
            z,
            again,
            least_ns: smallest_shift(&differences),
        });
    }

    /// The times of both classes, pair by pair.
    fn pairs<T, U>(
        &mut self,
        prepare: &mut impl FnMut(usize, &mut ChaCha20Rng) -> T,
        work: &mut impl FnMut(&mut T) -> U,
    ) -> Vec<[f64; 2]> {
        let mut taken = |class: usize, rng: &mut ChaCha20Rng| {
            // The operand of the last measurement is freed by now, so this one takes the same
            // memory.
            let mut secret = prepare(class, rng);
            // Writes of the preparation end before the measurement begins.
            fence(Ordering::SeqCst);
            let begin = Instant::now();
            black_box(work(black_box(&mut secret)));
            begin.elapsed().as_nanos() as f64
        };
        let begin = Instant::now();
        let mut pairs = Vec::with_capacity(self.count);
        while pairs.len() < self.count && begin.elapsed() < self.time {
            let first = usize::from(self.rng.random::<bool>());
            let mut pair = [0.0; 2];
            for place in [first, 1 - first] {
                let class = if self.equal { 1 } else { place };
                pair[place] = taken(class, &mut self.rng);
            }
            pairs.push(pair);
        }
        // The first tenth warmed up caches and clocks.
        pairs.split_off(pairs.len() / 10)
    }

    /// A sampler of [`DRAWS`] numbers, each of which takes up to `each` words, on constant words
    /// and on random ones.
    pub fn sampler<U>(
        &mut self,
        name: &'static str,
        each: usize,
        mut sampler: impl FnMut(&mut Replay) -> U,
    ) {
        let fixed: Vec<u64> = (0..each * DRAWS).map(|_| self.rng.next_u64()).collect();
        let prepare = |class: usize, rng: &mut ChaCha20Rng| {
            let mut words: Vec<u64> = fixed.iter().map(|_| rng.next_u64()).collect();
            // Both classes write every word.
            let random = black_box(0u64.wrapping_sub(class as u64));
            words.iter_mut().zip(&fixed).for_each(|(w, f)| *w = (*w & random) | (f & !random));
            Replay { words, at: 0 }
        };
        let case = Case { name, classes: ["fixed", "random"], wanted: Wanted::Same };
        self.case(case, prepare, |replay| sampler(replay));
    }
}

/// A generator that replays prepared words.
pub struct Replay {
    words: Vec<u64>,
    at: usize,
}

impl TryRng for Replay {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.next_u64() as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let word = self.words[self.at % self.words.len()];
        self.at += 1;
        Ok(word)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
        Ok(())
    }
}

impl TryCryptoRng for Replay {}
