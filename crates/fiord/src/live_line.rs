//! The line on the terminal that shows how far a run is.

use std::io::{self, Write};

use fiord_job::command::GeneralOptions;
use fiord_report::live;
use fiord_stat::progress::Progress;
use fiord_sys::terminal;
use fiord_types::{Nanos, plain};

use crate::sink::Sink;

/// The live line of a run.
pub(crate) struct LiveLine {
    /// Time between new lines.
    newline: Option<Nanos>,
    /// When the last new line came, from the beginning of the run.
    last_newline: Nanos,
    /// Length of the line on the terminal.
    shown: usize,
    used: bool,
}

impl LiveLine {
    /// A line that was not shown yet.
    pub(crate) fn new(general: &GeneralOptions) -> Self {
        LiveLine {
            newline: general.eta_newline.map(|ns| Nanos::from_secs((ns / 1_000_000_000).max(1))),
            last_newline: Nanos::ZERO,
            shown: 0,
            used: false,
        }
    }

    /// Replaces the line on the terminal by that of a layout, if the terminal can do that.
    pub(crate) fn show_layout(&mut self, line: &str) {
        let line = &*plain(line);
        if terminal::can_redraw(io::stdout()) {
            let text = live::padded(line, self.shown) + "\r";
            self.shown = line.len();
            to_terminal(&text);
        }
    }

    /// Removes the line of a layout, because other lines follow.
    pub(crate) fn clear(&mut self) {
        if self.shown > 0 {
            to_terminal(&format!("{}\r", live::padded("", self.shown)));
            self.shown = 0;
        }
    }

    /// Replaces the line on the terminal.
    pub(crate) fn show(&mut self, progress: &Progress) {
        let line = plain(&live::live_line(progress)).into_owned();
        let mut text = live::padded(&line, self.shown);
        text.push('\r');
        self.shown = line.len();
        if let Some(every) = self.newline
            && progress.elapsed >= self.last_newline.saturating_add(every)
        {
            self.last_newline = progress.elapsed;
            text.push('\n');
            self.shown = 0;
        }
        self.used = true;
        to_terminal(&text);
    }

    /// Leaves the line. Results on standard output begin with a new line themselves.
    pub(crate) fn end(&self, sink: &Sink) {
        if self.used && sink.is_file() {
            to_terminal("\n");
        }
    }
}

/// Writes to standard output and ignores errors, because the line is only decoration.
fn to_terminal(text: &str) {
    let mut out = io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
