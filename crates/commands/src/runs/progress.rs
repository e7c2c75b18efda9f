//! Progress of runs: what is running, how far it is, and how long it can take. One line for each run; on a terminal the line
//! moves while the run continues.

use std::fmt::Display;
use std::io::Write;
use std::time::{Duration, Instant};

use fiord_types::Nanos;

use crate::amount::clock;

/// The widest line in characters.
const WIDTH: usize = 79;
/// Width of the bar between its brackets.
const BAR: usize = 12;
/// The shortest time between two pictures of the same line.
const PAUSE: Duration = Duration::from_millis(200);

/// Shows the progress of runs.
pub struct RunProgress<'a> {
    out: &'a mut dyn Write,
    /// Width of a line that is drawn again and again; `None`: the stream only takes whole lines.
    moving: Option<usize>,
    current: Option<CurrentRun>,
    /// Number and total duration of the runs that ended so far.
    ended: (u32, Duration),
}

struct CurrentRun {
    what: String,
    began: Instant,
    drawn: Option<Instant>,
    expected: ExpectedTime,
}

/// How long a run and those after it can take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExpectedTime {
    /// Maximum duration of the run; 0 if unknown.
    run: Nanos,
    /// Maximum duration of all runs after it; 0 if unknown or if there are none.
    rest: Nanos,
    /// Number of runs after it.
    runs_after: usize,
}

impl ExpectedTime {
    /// The maximum duration of a run and of all runs after it is known, or is 0.
    #[must_use]
    pub fn known(run: Nanos, rest: Nanos, runs_after: usize) -> Self {
        ExpectedTime { run, rest, runs_after }
    }

    /// Remaining time unknown; only the number of runs left is known.
    #[must_use]
    pub fn unknown(runs_after: usize) -> Self {
        ExpectedTime { runs_after, ..ExpectedTime::default() }
    }
}

impl<'a> RunProgress<'a> {
    /// Shows progress on a stream. `columns`: the width of the terminal, if it is one on which a line can be drawn again.
    pub fn new(out: &'a mut dyn Write, columns: Option<usize>) -> Self {
        // A line as wide as the terminal would wrap on some.
        let moving = columns.map(|columns| columns.saturating_sub(1).min(WIDTH));
        RunProgress { out, moving, current: None, ended: (0, Duration::ZERO) }
    }

    /// The stream, for other lines.
    pub fn stream(&mut self) -> &mut dyn Write {
        self.out
    }

    /// Writes a line. Progress that cannot be shown does not change the outcome.
    pub fn line(&mut self, text: impl Display) {
        let _ = writeln!(self.out, "{text}");
    }

    pub fn begin(&mut self, what: String, expected: ExpectedTime) {
        if self.moving.is_none() {
            let _ = write!(self.out, "{what} … ");
            let _ = self.out.flush();
        }
        self.current = Some(CurrentRun { what, began: Instant::now(), drawn: None, expected });
        self.tick();
    }

    /// Draws the line again, if it is time.
    pub fn tick(&mut self) {
        let typical = self.ended.1.checked_div(self.ended.0);
        let (Some(current), Some(width)) = (&mut self.current, self.moving) else { return };
        if current.drawn.is_some_and(|drawn| drawn.elapsed() < PAUSE) {
            return;
        }
        current.drawn = Some(Instant::now());
        let text =
            picture(&current.what, current.began.elapsed(), current.expected, typical, width);
        let _ = write!(self.out, "\r{text}\x1b[K");
        let _ = self.out.flush();
    }

    /// Ends the line of the run with its result.
    pub fn end(&mut self, result: impl Display) {
        let Some(current) = self.current.take() else { return };
        self.ended = (self.ended.0 + 1, self.ended.1 + current.began.elapsed());
        let _ = match self.moving {
            Some(_) => writeln!(self.out, "\r{} … {result}\x1b[K", current.what),
            None => writeln!(self.out, "{result}"),
        };
    }
}

/// The line of a run in progress. `typical`: how long runs took so far, if any ended.
fn picture(
    what: &str,
    elapsed: Duration,
    expected: ExpectedTime,
    typical: Option<Duration>,
    width: usize,
) -> String {
    let nanos = |time: Duration| Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    // Whole seconds, rounded down: the length of a run is not reached before its end.
    let elapsed = Nanos::from_secs(elapsed.as_secs());
    let (whole, about) = match (expected.run, typical) {
        (Nanos::ZERO, None) => (Nanos::ZERO, ""),
        (Nanos::ZERO, Some(typical)) => (nanos(typical), "about "),
        (run, _) => (run, ""),
    };
    let rest = match expected.rest {
        Nanos::ZERO if about.is_empty() => Nanos::ZERO,
        Nanos::ZERO => whole.saturating_mul(expected.runs_after as u64),
        rest => rest,
    };
    let mut text = if whole == Nanos::ZERO {
        clock(elapsed)
    } else {
        let share = (elapsed.as_f64() / whole.as_f64()).min(1.0);
        let full = (share * BAR as f64) as usize;
        let bar = format!("{}{}", "=".repeat(full), " ".repeat(BAR - full));
        format!("[{bar}] {:>3.0} %  {} of {about}{}", share * 100.0, clock(elapsed), clock(whole))
    };
    let left = rest.saturating_add(whole.saturating_sub(elapsed));
    if rest > Nanos::ZERO {
        let most = if about.is_empty() { "at most " } else { about };
        text += &format!(", {most}{} left", clock(left));
    }
    let room = width.saturating_sub(text.chars().count() + 1);
    let what: String = match what.chars().count() > room {
        true => what.chars().take(room.saturating_sub(1)).chain(['…']).collect(),
        false => what.to_owned(),
    };
    format!("{what} {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = Nanos(1_000_000_000);

    fn shown(what: &str, seconds: u64, expected: ExpectedTime, typical: Option<u64>) -> String {
        let typical = typical.map(Duration::from_secs);
        picture(what, Duration::from_secs(seconds), expected, typical, WIDTH)
    }

    #[test]
    fn a_run_of_known_length_has_a_bar() {
        let expected = ExpectedTime { run: SECOND * 30, rest: SECOND * 60, runs_after: 2 };
        assert_eq!(
            shown("[1/3] iodepth=1", 15, expected, None),
            "[1/3] iodepth=1 [======      ]  50 %  15 s of 30 s, at most 75 s left"
        );
        let last = ExpectedTime { rest: Nanos::ZERO, runs_after: 0, ..expected };
        assert_eq!(
            shown("[3/3] iodepth=4", 40, last, None),
            "[3/3] iodepth=4 [============] 100 %  40 s of 30 s"
        );
    }

    #[test]
    fn a_run_of_unknown_length_is_compared_with_earlier_ones() {
        let unknown = ExpectedTime { runs_after: 2, ..ExpectedTime::default() };
        assert_eq!(shown("[1/3] a", 3, unknown, None), "[1/3] a 3 s");
        assert_eq!(
            shown("[2/3] b", 5, unknown, Some(20)),
            "[2/3] b [===         ]  25 %  5 s of about 20 s, about 55 s left"
        );
    }

    #[test]
    fn no_line_is_wider_than_80_columns() {
        let long = "[100/128] bs=128k iodepth=256 numjobs=16 ioengine=io_uring repeat 10";
        let expected =
            ExpectedTime { run: SECOND * 36_000, rest: SECOND * 900_000, runs_after: 99 };
        let line = shown(long, 35_999, expected, None);
        assert!(line.chars().count() < 80 && line.contains("at most"), "{line}");
    }

    #[test]
    fn without_a_terminal_each_run_is_one_line() {
        let mut out = Vec::new();
        let mut progress = RunProgress::new(&mut out, None);
        progress.begin("[1/1] a".into(), ExpectedTime::default());
        progress.tick();
        progress.end("done");
        assert_eq!(String::from_utf8(out).unwrap(), "[1/1] a … done\n");
    }
}
