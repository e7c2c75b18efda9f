//! What a run is given and what it gives back.

use std::path::PathBuf;

use fiord_stat::report::Report;

use crate::debug::DebugOutput;
use crate::error::JobError;

/// What came from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// End the run well; a second one ends it without the jobs that hang.
    End(i32),
    /// Report how the running jobs stand.
    Status,
}

/// Where interrupts come from.
pub trait Interrupts {
    /// The next one that has come and was not told yet.
    fn next(&mut self) -> Option<Interrupt>;
}

/// None ever comes.
#[derive(Debug, Default, Clone, Copy)]
pub struct Undisturbed;

impl Interrupts for Undisturbed {
    fn next(&mut self) -> Option<Interrupt> {
        None
    }
}

/// How to run, beside what the plan says.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Time between two [`Event::Progress`](crate::events::Event::Progress), ns; `None`: there are none.
    pub progress: Option<u64>,
    /// Time between two [`Event::Status`](crate::events::Event::Status) (`--status-interval`), ns.
    pub status: Option<u64>,
    /// Where files that the run itself makes go (`--aux-path`).
    pub aux_path: PathBuf,
    /// What the report says about who wrote it.
    pub version: String,
    /// Seconds to add to UTC for local time.
    pub utc_offset_s: i32,
    /// What `--debug` asks for.
    pub debug: Option<DebugOutput>,
}

/// What a run came to.
#[derive(Debug)]
pub struct RunResult {
    /// Everything that was measured.
    pub report: Report,
    /// The errors that ended jobs, by index in the plan.
    pub errors: Vec<(usize, JobError)>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Jobs that did not end in time and were left behind, by index in the plan, with what they hang in.
    pub stuck: Vec<(usize, JobError)>,
}
