//! A progress bar for each device: phase, share, rate and remaining time. Drawn only on terminals, within their width.

use std::time::Duration;

use fiord_stat::progress::Progress;
use fiord_types::{Bytes, Dir};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::amount::{decimal_short, remaining};

/// The bars of all devices.
#[derive(Debug)]
pub(crate) struct Bars {
    all: MultiProgress,
}

impl Bars {
    /// Draws on standard error if `terminal` is set, else draws nothing.
    pub(super) fn new(terminal: bool) -> Self {
        let target = match terminal {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        Bars { all: MultiProgress::with_draw_target(target) }
    }

    /// Adds a bar. `size` and `position` are in bytes.
    pub(super) fn add(&self, name: &str, size: Bytes, position: Bytes) -> Bar {
        let bar = self.all.add(ProgressBar::new(size.0));
        // The message takes what is left of the line, so that no line is wider than the terminal.
        let style = ProgressStyle::with_template("{prefix} [{bar:12}] {percent:>3} % {wide_msg}");
        // The template is a valid constant, so the default style is never used.
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("=> "));
        bar.set_prefix(prefix(name, ""));
        bar.set_position(position.0);
        Bar { bar, name: name.to_owned(), size }
    }
}

/// The name of a device and what happens to it, in columns.
fn prefix(name: &str, phase: &str) -> String {
    format!("{name:NAME$.NAME$} {phase:PHASE$.PHASE$}")
}

/// Width of the name of a device in characters.
const NAME: usize = 12;
/// Width of the phase in characters.
const PHASE: usize = 10;

/// The bar of one device.
#[derive(Debug, Clone)]
pub(crate) struct Bar {
    bar: ProgressBar,
    name: String,
    size: Bytes,
}

impl Bar {
    /// Begins a sequential pass, the first of which has the number 1.
    pub(super) fn pass(&self, number: u32, of: u32) {
        self.bar.set_prefix(prefix(&self.name, &format!("pass {number}/{of}")));
    }

    /// Begins random writes, which end after `limit` at the latest. From now on, the bar shows the share of this time.
    pub(super) fn random(&self, limit: Duration) {
        self.bar.set_prefix(prefix(&self.name, "random"));
        self.bar.set_position(0);
        self.bar.set_length(limit.as_secs());
        self.bar.set_message("until the rate is steady");
    }

    /// Sets the position in bytes up to which all data is written.
    pub(super) fn at(&self, position: Bytes) {
        self.bar.set_position(position.0);
    }

    /// Updates the bar from the progress of a job that writes from byte `begin` to byte `end`.
    pub(super) fn filling(&self, progress: &Progress, (begin, end): (Bytes, Bytes)) {
        let rate = progress.bw[Dir::Write];
        let written: Bytes = progress.jobs.iter().map(|job| job.totals.bytes[Dir::Write]).sum();
        let position = begin.saturating_add(written).min(end);
        self.bar.set_position(position.0);
        let left = self.size.saturating_sub(position).checked_div(rate);
        let left = left.map(|s| format!(", {} left", remaining(s))).unwrap_or_default();
        self.bar.set_message(format!("{}/s{left}", decimal_short(rate)));
    }

    /// Updates the bar from the progress of random writes.
    pub(super) fn settling(&self, progress: &Progress, limit: Duration) {
        let done = progress.elapsed.as_secs();
        self.bar.set_position(done);
        let left = remaining(limit.as_secs().saturating_sub(done));
        let iops = progress.iops[Dir::Write];
        self.bar.set_message(format!("{iops} IOPS, < {left} left"));
    }

    /// Ends the bar with a last message.
    pub(super) fn done(&self, what: &str) {
        self.bar.finish_with_message(what.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_line_fits_80_columns() {
        let begin = prefix("nvme0n1-with-a-long-name", "pass 100/100");
        assert_eq!(begin, "nvme0n1-with pass 100/1");
        let messages = ["999.9 MB/s, 12 h 59 min left", "9999999 IOPS, < 11 h 59 min left"];
        for message in messages {
            let line = format!("{begin} [{:12}] 100 % {message}", "");
            assert!(line.len() <= 80, "{line}");
        }
        assert_eq!(prefix("sda", "random"), "sda          random    ");
    }
}
