//! Progress of long transfers.

use std::io::{self, IsTerminal, Read};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::common::memory::human;
use super::tell::tell;

/// Transfers below this many bytes have no progress bar.
const SHORT: u64 = 8 << 20;

/// The time between two lines about a transfer without a terminal.
const PATIENCE: Duration = Duration::from_secs(5);

/// A reader that shows its progress.
pub struct Watched<R> {
    inner: R,
    what: &'static str,
    bar: Option<ProgressBar>,
    done: u64,
    total: u64,
    told: Instant,
}

impl<R: Read> Watched<R> {
    /// A reader of `len` bytes.
    pub fn new(inner: R, what: &'static str, total: u64) -> Self {
        let bar = (total >= SHORT && io::stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template(
                "{msg} [{bar:40}] {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
            );
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(total).with_style(style).with_message(what)
        });
        Self { inner, what, bar, done: 0, total, told: Instant::now() }
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.done += read as u64;
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        } else if self.total >= SHORT && self.told.elapsed() >= PATIENCE {
            self.told = Instant::now();
            let (done, total) = (human(self.done), human(self.total));
            tell(format_args!("{}: {done} of {total}", self.what));
        }
        Ok(read)
    }
}

impl<R> Drop for Watched<R> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
