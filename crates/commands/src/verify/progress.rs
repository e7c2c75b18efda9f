//! How far `fiord verify` is, on a terminal.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use fiord_report::live::{layout_line, padded};
use fiord_stat::report::NumberStyle;
use fiord_types::{Bytes, Nanos};

/// Time between two lines.
const EVERY: Duration = Duration::from_millis(500);

/// Shows on standard error what is checked, how far that is and how long it takes. Programs that read standard error take any
/// output there for a failure, so only a terminal shows it.
#[derive(Debug)]
pub struct VerifyProgress {
    /// Whether the terminal can replace a line.
    shown: bool,
    began: Instant,
    due: Instant,
    /// Length of the line on the terminal.
    length: usize,
}

impl VerifyProgress {
    /// Progress of a check that begins now. `shown`: standard error is a terminal that can replace a line.
    #[must_use]
    pub fn new(shown: bool) -> Self {
        let began = Instant::now();
        VerifyProgress { shown, began, due: began + EVERY, length: 0 }
    }

    /// A target is read next.
    pub(super) fn begin(&mut self) {
        self.began = Instant::now();
    }

    /// The check has done `done` of the `total` bytes that the journal names of this target.
    pub(super) fn checked(&mut self, target: &str, done: Bytes, total: Bytes) {
        let now = Instant::now();
        if self.shown && now >= self.due {
            self.due = now + EVERY;
            let line = line(target, (done, total), now - self.began);
            let _ = write!(io::stderr(), "{}\r", padded(&line, self.length));
            self.length = line.chars().count();
        }
    }

    /// Removes the line, because results follow.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.length) > 0 {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for VerifyProgress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn line(target: &str, sizes: (Bytes, Bytes), elapsed: Duration) -> String {
    let elapsed = Nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
    layout_line(target, "checking", sizes, elapsed, NumberStyle::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_how_far_and_how_long() {
        let sizes = (Bytes::from_mib(256), Bytes::from_mib(1024));
        assert_eq!(
            line("/dev/sdb", sizes, Duration::from_secs(2)),
            "/dev/sdb: checking [25.0%][256MiB of 1024MiB][128MiB/s][eta 00m:06s]"
        );
    }
}
