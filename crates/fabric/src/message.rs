//! What the coordinator and the agents say to each other.
//!
//! A message is a JSON value, and bytes after it that JSON would make longer: the contents of a log. The first four
//! bytes are the length of the JSON (little-endian).
//!
//! | stage | the coordinator sends | the agent answers |
//! |---|---|---|
//! | greet | [`ToHost::Hello`] | [`FromHost::Welcome`], or [`FromHost::Busy`] |
//! | check | [`ToHost::Job`] | [`FromHost::Checked`], or [`FromHost::Refused`] |
//! | | [`ToHost::State`] for each verify state that jobs load, before [`ToHost::Job`] | |
//! | lay out | [`ToHost::LayOut`] | [`FromHost::Ready`], or [`FromHost::Ended`] if a job failed |
//! | compare clocks, before and after the run | [`ToHost::Probe`] | [`FromHost::Answer`], at once |
//! | run | [`ToHost::Start`] | [`FromHost::Event`] |
//! | collect | | [`FromHost::Result`] for each job, [`FromHost::Report`], [`FromHost::Log`], then [`FromHost::Ended`] |
//! | end | [`ToHost::Bye`] | closes the connection |
//!
//! The coordinator continues with the next stage when all hosts have answered. Both send heartbeats every second
//! ([`limits`](crate::limits)). Probes can arrive at any time. The coordinator can send [`ToHost::Stop`] at any time.
//!
//! From the layout on, a host sends parts of the files that must survive its crash ([`FromHost::Keep`]). The
//! coordinator answers with [`ToHost::Kept`] when a part is on its disk; a host waits for the answer before it
//! continues. It answers in the same way to the last part of a log, and the host removes its own copy then.

use std::num::{NonZeroU16, NonZeroU32};

use fiord_stat::finding::Finding;
pub use fiord_stat::hosts::{HostFacts, HostTarget};
use fiord_stat::job::JobData;
use fiord_stat::report::Report;
use fiord_types::{Bytes, HostIndex, JobIndex, Nanos, RunNumber};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToHost {
    /// The first message.
    Hello(Hello),
    /// Asks for the time of the agent's clock.
    Probe {
        /// When the coordinator sent it, by its own monotonic clock. The answer repeats it.
        #[serde(rename = "sent_ns")]
        sent: Nanos,
    },
    /// The jobs to check and to plan. Nothing is written yet.
    Job(Box<JobOrder>),
    /// Creates and opens the files, and allocates memory.
    LayOut,
    /// Starts the jobs.
    Start {
        /// When, by the monotonic clock of the agent.
        #[serde(rename = "at_ns")]
        at: Nanos,
    },
    /// Ends the jobs in an orderly way and sends their results.
    Stop {
        /// Why, for the agent's own messages.
        why: String,
        /// The number of the signal that the coordinator received. `None` if it stops for another reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
    },
    /// Ends the jobs as if they had done their work, because the user has seen enough, and sends their results.
    Finish,
    /// Asks for a report of the run so far.
    Status,
    /// Stops the jobs and saves their verify states with [`FromHost::Keep`]. Then runs [`JobOrder::trigger_command`].
    Trigger,
    /// A verify state of an earlier run that the jobs load. Its bytes follow the JSON.
    State {
        /// The file name as on a run without hosts: `local-JOB-INDEX-verify.state`.
        name: String,
    },
    /// A part of a file or a complete log is on the disk of the coordinator, or could not be written.
    Kept {
        /// The number of the part or of the log.
        number: KeepNumber,
        /// Why it could not be written. `None`: it is durable.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<String>,
    },
    /// The coordinator is alive.
    Heartbeat,
    /// Everything has arrived. The agent may end.
    Bye,
}

/// Who the coordinator is, and who the agent is to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Name and version of the coordinator's program.
    pub version: String,
    /// Who holds the agent, for the message that a second coordinator gets: `root@admin1, process 4711`.
    pub holder: String,
    /// The name of the host as the user wrote it (`$host`).
    pub host: String,
    /// The number of the host, from 0 (`$rank`).
    pub rank: HostIndex,
    /// How many hosts there are (`$ranks`).
    pub ranks: NonZeroU32,
}

/// The jobs of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobOrder {
    /// The arguments of fiord. They name job files by their place in `files`, or files of the agent if the user asks for
    /// that (`--remote-config`).
    pub arguments: Vec<String>,
    /// Names and contents of the job files that the arguments and their `include` lines name.
    pub files: Vec<(String, String)>,
    /// The environment variables that the job files use, with the values that they have at the coordinator.
    pub variables: Vec<(String, String)>,
    /// How the hosts share their targets.
    pub data: HostsData,
    /// The connections of this host to others, for jobs that name a `peer`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<NetLink>,
    /// The number by which the ends of these connections know each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunNumber>,
    /// Time between two progress events. `None`: no such events.
    #[serde(default, rename = "progress_ns", skip_serializing_if = "Option::is_none")]
    pub progress: Option<Nanos>,
    /// Progress events contain the latencies of each job ([`fiord_stat::progress::JobProgress::latency`]).
    #[serde(default, skip_serializing_if = "is_false")]
    pub latencies: bool,
    /// Time between two snapshots of the run. `None`: no such events.
    #[serde(default, rename = "snapshots_ns", skip_serializing_if = "Option::is_none")]
    pub snapshots: Option<Nanos>,
    /// The agent sends the logs that the jobs write, then removes them.
    #[serde(default)]
    pub fetch_logs: bool,
    /// The coordinator may send [`ToHost::Trigger`]. All jobs that write and verify have a verify state then.
    #[serde(default)]
    pub triggers: bool,
    /// The shell command that the host runs when the trigger has fired and its verify states are at the coordinator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger_command: Option<String>,
}

/// Whether a field need not be written.
fn is_false(value: &bool) -> bool {
    !value
}

/// The number of a part of a file that the coordinator keeps, or of a log. Each host counts its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeepNumber(pub u64);

/// A file of a host that the coordinator keeps.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptName {
    /// The verify state with the file name `local-JOB-INDEX-verify.state`.
    State(String),
    /// The journal with the name that `verify_journal` gives it.
    Journal(String),
}

/// A connection over a network between two hosts of a run (`peer`), as one of them sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetLink {
    /// The number of the job among those that the job files contain.
    pub job: JobIndex,
    /// The name of the other host, as the user wrote it.
    pub host: String,
    /// The name or address of the other host in the network.
    pub address: String,
    /// The port of the first instance of the job.
    pub port: NonZeroU16,
    /// The job file has the other end of this connection, and this host has the end that answers.
    pub answers: bool,
}

/// How the hosts share their targets (`--hosts-data`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostsData {
    /// Each host uses targets of its own. Two hosts that would write one device are an error.
    #[default]
    Private,
    /// All hosts use the complete targets.
    Same,
    /// Each host uses its own part of the targets: of N hosts, each uses one N-th.
    Split,
}

/// A message from an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromHost {
    /// The agent belongs to this coordinator now.
    Welcome(Box<HostFacts>),
    /// Another coordinator holds the agent.
    Busy {
        /// [`Hello::holder`] of that coordinator, and where it is.
        holder: String,
    },
    /// Answers a probe.
    Answer {
        /// The time in the probe.
        #[serde(rename = "sent_ns")]
        sent: Nanos,
        /// When the probe arrived, by the monotonic clock of the agent.
        #[serde(rename = "received_ns")]
        received: Nanos,
        /// When this answer was sent, by that clock.
        #[serde(rename = "answered_ns")]
        answered: Nanos,
    },
    /// The jobs are valid.
    Checked(Box<HostJobs>),
    /// The jobs are invalid, or the host's policy forbids them. Nothing was touched.
    Refused {
        /// The complete messages, as `fiord` would print them on that host.
        text: String,
    },
    /// All files are laid out and open. The jobs wait for [`ToHost::Start`].
    Ready,
    /// An event of the run (`fiord_run::events::Event`).
    Event(Value),
    /// The raw data of one job.
    Result {
        /// The number of the job in the plan.
        job: JobIndex,
        /// What it measured.
        data: Box<JobData>,
    },
    /// The report of this host alone, with its findings.
    Report(Box<Report>),
    /// A part of a log that a job wrote. The bytes follow the JSON. [`ToHost::Kept`] answers the last part.
    Log {
        /// The name of the log, as the options of the job give it.
        name: String,
        /// The number of the log, which all its parts have. Logs and parts of other files are counted together.
        number: KeepNumber,
        /// Where in the log the part begins.
        offset: Bytes,
        /// The log ends with this part.
        last: bool,
    },
    /// A part of a file that must survive a crash of the host. The bytes follow the JSON. [`ToHost::Kept`] answers.
    Keep {
        file: KeptName,
        /// Where in the file the part begins. A part at 0 replaces the file.
        offset: Bytes,
        /// The number of the part.
        number: KeepNumber,
    },
    /// The run is over, and everything was sent.
    Ended(Box<Ended>),
    /// The agent is alive.
    Heartbeat,
}

/// Jobs that a host has checked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HostJobs {
    /// The lines that introduce the jobs in the text output, without the name of the host.
    pub introduction: String,
    /// Warnings, as `fiord` would print them on that host. Empty if there are none.
    pub warnings: String,
    /// The files and devices that the jobs use.
    pub targets: Vec<HostTarget>,
    /// The name of each job, and what it does in one line, in the order of the plan.
    #[serde(default)]
    pub names: Vec<(String, String)>,
    /// Findings before the run; `warnings` contains them as text.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// How the run of a host ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The exit status that `fiord` would have had on that host. `None` if a signal ended the run.
    pub status: Option<u8>,
    /// What ended jobs: messages without the name of the host.
    pub errors: Vec<String>,
    /// The number of the signal that ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// When each job that waited for [`ToHost::Start`] proceeded to its first I/O, by the agent's monotonic clock, in
    /// the order of the plan. `None` for jobs that did not wait.
    #[serde(rename = "started_ns")]
    pub started: Vec<Option<Nanos>>,
    /// When the last job ended, by that clock. `None` if no job has started.
    #[serde(rename = "finished_ns")]
    pub finished: Option<Nanos>,
}

/// Why a message cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// The message is shorter than its own head says.
    #[error("the message has {length} bytes, too few for its content")]
    Short {
        /// How many it has.
        length: Bytes,
    },
    /// The JSON is not one of the messages.
    #[error("cannot decode the message ({0}). To fix: run one version of fiord on all hosts")]
    Content(#[from] serde_json::Error),
}

/// Turns a message, and bytes that belong to it, into the bytes that a fabric moves.
///
/// ```
/// use fiord_fabric::message::{ToHost, decode, encode};
///
/// let bytes = encode(&ToHost::Heartbeat, b"abc");
/// let (message, attached) = decode::<ToHost>(&bytes).unwrap();
/// assert_eq!((message, attached), (ToHost::Heartbeat, &b"abc"[..]));
/// ```
///
/// # Panics
/// Never: all messages can be written as JSON.
#[must_use]
pub fn encode(message: &impl Serialize, attached: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message).expect("all messages can be written as JSON");
    let length = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX);
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(attached);
    bytes
}

/// Reads a message, and the bytes that belong to it.
///
/// # Errors
/// The bytes are not a message of this kind.
pub fn decode<M: DeserializeOwned>(bytes: &[u8]) -> Result<(M, &[u8]), MessageError> {
    let short = || MessageError::Short { length: Bytes(bytes.len() as u64) };
    let (head, rest) = bytes.split_first_chunk::<4>().ok_or_else(short)?;
    let length = u32::from_le_bytes(*head) as usize;
    let (json, attached) = rest.split_at_checked(length).ok_or_else(short)?;
    Ok((serde_json::from_slice(json)?, attached))
}
