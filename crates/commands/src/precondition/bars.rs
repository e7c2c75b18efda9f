//! A progress bar for each device: share written, rate and remaining time. Drawn only on terminals.

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
        let style = ProgressStyle::with_template("{prefix:14} [{bar:30}] {percent:>3} % {msg}");
        // The template is a valid constant, so the default style is never used.
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("=> "));
        bar.set_prefix(name.to_owned());
        bar.set_position(position.0);
        Bar { bar, size: Bytes(size.0) }
    }
}

/// The bar of one device.
#[derive(Debug, Clone)]
pub(crate) struct Bar {
    bar: ProgressBar,
    size: Bytes,
}

impl Bar {
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

    /// Updates the bar from the progress of random writes, whose remaining time is unknown.
    pub(super) fn settling(&self, progress: &Progress) {
        let minutes = progress.elapsed.as_secs() / 60;
        let iops = progress.iops[Dir::Write];
        self.bar.set_message(format!("random writes until steady, {iops} IOPS, {minutes} min"));
    }

    /// Ends the bar with a last message.
    pub(super) fn done(&self, what: &str) {
        self.bar.finish_with_message(what.to_owned());
    }
}
