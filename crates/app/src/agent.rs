//! The agent: runs jobs on this machine for a coordinator elsewhere, which starts and merges the runs of many hosts.
//!
//! An agent belongs to one coordinator at a time. It checks the jobs, lays their files out, waits for the common start
//! time, runs them, and sends their results. The jobs run on a thread of their own, so that the agent answers the
//! coordinator at any time. If the coordinator disappears, the agent stops the jobs within a second and removes the files
//! that they created.
//!
//! | question | module |
//! |---|---|
//! | what does the agent answer to which message, and when is a coordinator lost | `link.rs` |
//! | what happens from the order to its results | `work.rs` |
//! | how do the coordinator's wishes reach a run | `orders.rs` |
//! | how do messages of the run reach the coordinator | `outbox.rs` |
//! | where do the job files of an order come from | `loader.rs` |
//! | what is this machine | `facts.rs` |
//! | which storage do the jobs use, and how is it named on other hosts | `targets.rs` |
//! | how do logs reach the coordinator | `logs.rs` |
//! | which files did a run create | `created.rs` |
//! | which files does the coordinator keep, so that they survive a crash of this host | `keeping.rs` |
//! | what would the jobs do to this machine | `wishes.rs` |
//! | what may planning read of this machine | `allowed.rs` |

mod allowed;
mod created;
mod facts;
mod keeping;
mod link;
mod linked;
mod loader;
mod logs;
mod orders;
mod outbox;
mod targets;
#[cfg(test)]
mod tests;
mod wishes;
mod work;

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use fiord_doctor::CollectedFindings;
use fiord_fabric::contract::Fabric;
use fiord_fabric::policy::HostPolicy;
use fiord_types::Nanos;

pub(crate) use self::loader::OrderLoader;
use crate::introduction::Introduction;
use crate::prepared::RunEnd;

/// What an agent is, and what it needs of its process.
#[derive(Clone)]
pub struct AgentSettings {
    /// The agent accepts connections, and serves one coordinator after the other. Otherwise peer 0 of the fabric is its
    /// coordinator, and the agent ends with it.
    pub listens: bool,
    /// What coordinators may do with this machine.
    pub policy: HostPolicy,
    /// Functions that format what the coordinator prints.
    pub words: AgentWords,
    /// A coordinator that sends nothing for so long is lost. The agent sends a heartbeat four times as often.
    pub patience: Nanos,
    /// Makes [`Fabric::receive`] return early. Other threads call it.
    pub wake: Arc<dyn Fn() + Send + Sync>,
}

impl Debug for AgentSettings {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentSettings")
            .field("listens", &self.listens)
            .field("policy", &self.policy)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

/// The usual [`AgentSettings::patience`].
pub const PATIENCE: Nanos = Nanos::from_secs(4);

/// How an agent words what the coordinator prints, so that it looks as if the jobs ran alone on this machine.
#[derive(Debug, Clone, Copy)]
pub struct AgentWords {
    /// The lines that introduce jobs.
    pub introduction: fn(&Introduction) -> String,
    /// The name of each job, and what it does in one line, for the full-screen view.
    pub names: fn(&Introduction) -> Vec<(String, String)>,
    /// Findings before a run.
    pub notes: fn(&CollectedFindings) -> String,
    /// The exit status of a run.
    pub status: fn(RunEnd) -> u8,
}

/// What happens to an agent. `Display` is a line for its log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentNotice {
    /// A coordinator has taken the agent.
    #[error("{holder} is using this agent")]
    Held {
        /// Name and address of the coordinator.
        holder: String,
    },
    /// A peer was refused. Nothing was run for it.
    #[error("refused {peer}: {why}")]
    Refused {
        /// Address of the peer.
        peer: String,
        /// Reason for the refusal.
        why: String,
    },
    /// The only coordinator of this agent has nothing for it.
    #[error("{peer} ended the run: {why}")]
    Dismissed {
        /// Address of the coordinator, for messages.
        peer: String,
        /// Reason that the coordinator gave.
        why: String,
    },
    /// The coordinator has sent jobs.
    #[error("{holder} sent jobs: {arguments}")]
    Jobs {
        /// Name and address of the coordinator.
        holder: String,
        /// The arguments of the jobs.
        arguments: String,
    },
    /// The jobs of the coordinator are wrong here, or the policy forbids them. Nothing was run.
    #[error("refused the jobs of {holder}: {why}")]
    JobsRefused {
        /// Name and address of the coordinator.
        holder: String,
        /// The reason that the coordinator gets, in one line.
        why: String,
    },
    /// The coordinator is done.
    #[error("{holder} is done")]
    Released {
        /// Name and address of the coordinator.
        holder: String,
    },
    /// A check of jobs hangs, and its coordinator has disconnected. The agent serves other coordinators.
    #[error(
        "the check of the jobs of {holder} hangs, and the agent does not wait for it. To fix: check whether a file \
         that the jobs read is a pipe, or is on a file system that does not respond"
    )]
    Abandoned {
        /// Name and address of the coordinator.
        holder: String,
    },
    /// The coordinator has disappeared. Its jobs are stopped.
    #[error("lost {holder}: {why}; its jobs end, and the files that they created are removed")]
    Lost {
        /// Name and address of the coordinator.
        holder: String,
        /// What happened to the connection.
        why: String,
    },
}

/// How an agent ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEnd {
    /// The coordinator is done.
    Released,
    /// The only coordinator has disappeared, or was refused.
    Lost {
        /// What happened.
        why: String,
    },
    /// A signal to the agent, with this number.
    Signalled(i32),
}

/// Serves coordinators until the only one is done or lost, or until `signal` returns a signal that this process received.
/// `notify` receives what happens.
pub fn serve(
    fabric: &mut dyn Fabric,
    settings: &AgentSettings,
    signal: &dyn Fn() -> Option<i32>,
    notify: &mut dyn FnMut(AgentNotice),
) -> AgentEnd {
    link::AgentLink::new(fabric, settings, notify).serve(signal)
}
