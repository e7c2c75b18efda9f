//! The events of a run. The run prints nothing itself: it sends events through a [`channel`], and an observer on
//! another thread receives them.
//!
//! | question | module |
//! |---|---|
//! | what happens to events that a slow observer has not received yet | [`queue`] |
//!
//! ```
//! use fiord_run::events::{EventKind, observe};
//!
//! let started = EventKind::JobStarted { index: 0, pid: 4711 };
//! let mut kinds = Vec::new();
//! observe(|event| kinds.push(event.kind), |sender| sender.send(started.clone()))?;
//! assert_eq!(kinds, [started]);
//! # Ok::<(), std::io::Error>(())
//! ```

pub mod queue;

use std::path::PathBuf;

use fiord_stat::progress::Progress;
use fiord_stat::report::Report;
use fiord_stat::snapshot::RunSnapshot;
use fiord_types::{Bytes, Errno, Nanos};
use serde::{Deserialize, Serialize};

use crate::error::JobError;

pub use queue::{EventReceiver, EventSender, channel, observe};

/// An event of a run, and when it occurred.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Wall-clock time since 1970 (UTC).
    #[serde(rename = "unix_ns")]
    pub unix_time: Nanos,
    /// Time since the channel was created, by a clock that never goes back.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Nanos,
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The layout starts to create or extend files of a job.
    LayingOut {
        /// The job's name.
        job: String,
        /// Number of files.
        files: usize,
        /// Total size of these files after the layout.
        bytes: Bytes,
    },
    /// How far the layout of a job is, or the reading of its files before its I/O, if the user wants to see progress.
    LayoutProgress {
        /// The job's name.
        job: String,
        /// What is done.
        work: LayoutWork,
        /// Data that is written or read.
        done: Bytes,
        /// All data that this work writes or reads.
        total: Bytes,
        /// Time since this work began.
        elapsed: Nanos,
    },
    /// The layout before the run is complete; no job has started.
    LaidOut,
    /// `exec_prerun` or `exec_postrun` starts. Its output goes to a file.
    Command {
        job: String,
        /// Which of the two.
        when: CommandTime,
        /// The file that receives its output.
        output: PathBuf,
    },
    /// A job was released and begins its I/O.
    JobStarted {
        /// Index in the plan.
        index: usize,
        /// Id of its thread.
        pid: u32,
    },
    /// A job has ended, with or without an error.
    JobEnded {
        /// Index in the plan.
        index: usize,
        job: String,
        /// Id of its thread; 0 if it never had one.
        pid: u32,
        /// The error that stopped it.
        failure: Option<JobFailure>,
    },
    /// The run continues without something that the user asked for. The result contains this too
    /// (`Extras::warnings`).
    Warning {
        /// The job's name; `None` for the whole run.
        job: Option<String>,
        /// What the run could not do.
        what: String,
    },
    /// A job read data that differ from what was written (`verify`).
    BadBlock {
        /// The job's name.
        job: String,
        /// Which data, and how they differ.
        what: String,
    },
    /// A job continues after an I/O that failed (`error_dump`).
    SurvivedError {
        /// The file, the error, the kind of I/O, its offset and its length.
        what: String,
    },
    /// Rates, latencies and remaining time of the run and of each job.
    Progress(Box<Progress>),
    /// What the jobs have done so far (`--series`, `--metrics`).
    Snapshot(Box<RunSnapshot>),
    /// A report of the run so far (`--status-interval`, SIGUSR1).
    Status(Box<Report>),
    /// A trigger ends the run early (`--trigger-file`). The states of the jobs are saved.
    Triggered {
        /// Why it fired.
        cause: TriggerCause,
        /// Number of verify states that were saved.
        states: usize,
        /// The command that runs now.
        command: Option<String>,
    },
    /// A signal ends the run early.
    Terminating {
        /// Number of the signal.
        signal: i32,
    },
}

/// Work on the files of a job before its I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LayoutWork {
    /// Files are created or extended.
    Layout,
    /// Files are read into the page cache (`pre_read`).
    PreRead,
}

impl LayoutWork {
    /// The work in words, for the line on the terminal.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            LayoutWork::Layout => "laying out",
            LayoutWork::PreRead => "reading ahead",
        }
    }
}

/// Why a trigger fired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TriggerCause {
    /// The trigger file appeared.
    File,
    /// The time of the trigger was over.
    Timeout,
    /// The coordinator of the run fired it on all hosts.
    Coordinator,
}

impl TriggerCause {
    /// The cause in words, for messages.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            TriggerCause::File => "the trigger file exists",
            TriggerCause::Timeout => "the time of --trigger-timeout is over",
            TriggerCause::Coordinator => "the coordinator fired it",
        }
    }
}

/// When a command of a job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommandTime {
    /// Before the job (`exec_prerun`).
    Prerun,
    /// After the job (`exec_postrun`).
    Postrun,
}

impl CommandTime {
    /// The word in messages and in the name of the output file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            CommandTime::Prerun => "prerun",
            CommandTime::Postrun => "postrun",
        }
    }
}

/// A [`JobError`] as text, for observers in other processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFailure {
    /// The errno in reports, never 0.
    pub errno: Errno,
    /// The file concerned; `-` stands for no file.
    pub file: String,
    /// The operation that failed.
    pub operation: String,
    /// Short text of the cause.
    pub meaning: String,
    /// The whole message, with the remedy.
    pub message: String,
}

impl From<&JobError> for JobFailure {
    fn from(error: &JobError) -> JobFailure {
        let (file, operation) = error.site();
        JobFailure {
            errno: error.reported_errno(),
            file,
            operation,
            meaning: error.meaning(),
            message: error.to_string(),
        }
    }
}
