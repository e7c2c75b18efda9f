//! What a run on many hosts is given, and what it says meanwhile.

use fiord_types::{Bytes, HostIndex, Nanos};
use serde_json::Value;

use crate::message::{Ended, HostFacts, HostJobs, JobOrder, KeepNumber, KeptName};
use crate::outcome::{HostFailure, HostStage};

/// A run on many hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunOrder {
    /// The hosts, in the order of their ranks. The fabric has one peer for each.
    pub hosts: Vec<HostOrder>,
    /// Name and version of this program.
    pub version: String,
    /// Who runs it, for the message that another coordinator gets: `root@admin1, process 4711`.
    pub holder: String,
    /// What happens when a host is lost.
    pub on_lost: OnLost,
}

/// What one host is given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostOrder {
    /// Name of the host as the user wrote it.
    pub name: String,
    /// The TCP port of its agent. `None` if it is reached in another way.
    pub port: Option<u16>,
    pub job: JobOrder,
    /// The verify states that its jobs may load: the file name on a run without hosts, and the contents.
    pub states: Vec<(String, Vec<u8>)>,
    /// The longest time that its jobs may run; `None` if only the host knows when they end.
    pub longest: Option<Nanos>,
}

/// What happens when a host is lost or cannot take part (`--on-lost`). A host that refuses the jobs always ends the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnLost {
    /// The other hosts end their jobs and report.
    #[default]
    Abort,
    /// The other hosts continue.
    Continue,
}

/// What happens during a run on many hosts. Texts of hosts contain no control characters but line ends and tabs.
#[derive(Debug, Clone, PartialEq)]
pub enum HostsEvent {
    /// All hosts continue with this stage.
    Stage(HostStage),
    /// An agent has answered.
    Welcomed { host: HostIndex, facts: Box<HostFacts> },
    /// A host has checked its jobs.
    Checked { host: HostIndex, jobs: Box<HostJobs> },
    /// A host has laid out and opened its files.
    Ready { host: HostIndex },
    /// The start was decided.
    Starting {
        /// When the jobs start, by the monotonic clock of the coordinator.
        at: Nanos,
    },
    /// An event of a host's run (`fiord_run::events::Event`).
    Run { host: HostIndex, event: Value },
    /// A host has sent all its results.
    Ended {
        host: HostIndex,
        /// How its run ended.
        ended: Box<Ended>,
    },
    /// A host does nothing, and the run waits for it.
    Idle {
        host: HostIndex,
        /// The stage in which it does nothing: it checks its jobs, lays out files, or runs its jobs.
        stage: HostStage,
        /// How long it has done nothing at least.
        idle: Nanos,
        /// The time without a sign of progress after which the run no longer waits for the host.
        limit: Nanos,
    },
    /// A host reports progress of its jobs although their run time is over.
    Overdue {
        host: HostIndex,
        /// The longest time that its jobs may run.
        longest: Nanos,
        /// The time since the start after which the run no longer waits for the host.
        limit: Nanos,
    },
    /// A host is lost, refuses its jobs, or cannot continue.
    Failed { host: HostIndex, failure: HostFailure },
    /// The conductor orders all hosts to end their jobs.
    Stopping {
        why: String,
        /// The signal that the coordinator received.
        signal: Option<i32>,
    },
}

/// What the coordinator's user wants of all hosts during the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostsRequest {
    /// A report of the run so far. The hosts send it as an event.
    Status,
    /// The jobs end as if they had done their work. Before they have started, this waits for their start.
    Finish,
    /// The hosts stop their jobs and save the verify states ([`JobOrder::triggers`]).
    Trigger,
    /// A part of a file ([`HostsAction::Keep`]) or a log ([`HostsAction::Log`]) was kept, or could not be.
    Kept {
        /// The host that waits.
        host: HostIndex,
        /// The number of the part or of the log.
        number: KeepNumber,
        /// Why it could not be written. `None`: it is durable.
        failed: Option<String>,
    },
}

/// A part of a file of a host that the coordinator keeps. The name is the host's word: it must not become a path unless the
/// jobs' own options name such a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptPart {
    /// The host, which waits for [`HostsRequest::Kept`].
    pub host: HostIndex,
    pub file: KeptName,
    /// Where in the file the part begins. A part at 0 replaces the file.
    pub offset: Bytes,
    pub number: KeepNumber,
    pub bytes: Vec<u8>,
}

/// What the conductor wants its driver to do.
#[derive(Debug, Clone, PartialEq)]
pub enum HostsAction {
    /// Send a message.
    Send {
        to: HostIndex,
        message: Vec<u8>,
    },
    /// Send a clock probe with the time at which it is sent.
    Probe {
        to: HostIndex,
    },
    /// Accept long messages of the host.
    Trust {
        host: HostIndex,
    },
    Refuse {
        host: HostIndex,
        why: String,
    },
    /// End the connection to the host.
    Close {
        host: HostIndex,
    },
    /// End the connection to the host at once.
    Abandon {
        host: HostIndex,
    },
    /// Tell the user.
    Event(HostsEvent),
    /// Write a part of a file, make it durable, and answer with [`HostsRequest::Kept`].
    Keep(KeptPart),
    /// Write a part of a log. After the last one, answer with [`HostsRequest::Kept`].
    Log {
        host: HostIndex,
        /// The name that the host gave.
        name: String,
        /// The number of the log.
        number: KeepNumber,
        /// Where the part begins.
        offset: Bytes,
        bytes: Vec<u8>,
        /// The log ends with this part.
        last: bool,
    },
}
