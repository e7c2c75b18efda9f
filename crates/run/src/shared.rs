//! What the run keeps of each job, shared by its thread and the run's own.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;

use fiord_load::pace::{Flow, FlowTicket};
use fiord_plan::{FlowShare, JobPlan, Plan};
use fiord_stat::live::Live;

use crate::control::JobControl;
use crate::debug::DebugOutput;
use crate::error::JobError;
use crate::files::Cached;
use crate::layout::Done;
use crate::lock::FileLocks;
use crate::steady::{self, Membership};
use crate::thread::ControlGroups;
use crate::timebase::Timebase;
use crate::worker::WorkerResult;
use crate::zones::ZoneTables;

/// One job's part.
#[derive(Debug)]
pub(crate) struct Shared {
    pub control: JobControl,
    pub live: Live,
    /// The thread's id, 0 before it runs.
    pub tid: AtomicU32,
}

impl Shared {
    /// One for each job of a plan; those of one flow have their places in it.
    pub fn of(plan: &Plan) -> Vec<Self> {
        let mut flows: Vec<(u32, Arc<Flow>)> = Vec::new();
        let mut seat = |share: FlowShare| {
            let known = flows.iter().find(|(id, _)| *id == share.id).map(|(_, flow)| flow.clone());
            let flow = known.unwrap_or_else(|| {
                let flow = Arc::<Flow>::default();
                flows.push((share.id, flow.clone()));
                flow
            });
            FlowTicket::new(flow, share.weight)
        };
        let shared = |(job, steady): (&JobPlan, Option<Membership>)| Shared {
            control: JobControl::with_seat(job.pace.flow.map(&mut seat)).judged(steady),
            live: Live::new(),
            tid: AtomicU32::new(0),
        };
        plan.jobs.iter().zip(steady::memberships(&plan.jobs)).map(shared).collect()
    }
}

/// What all threads of a run share.
#[derive(Debug)]
pub(crate) struct Run {
    pub plan: Arc<Plan>,
    pub jobs: Vec<Shared>,
    /// The run is being cut short: no layout goes on, no job starts.
    pub cancelled: AtomicBool,
    /// The run ends without the jobs that have not ended.
    pub abandoned: AtomicBool,
    /// Commands that run (`exec_prerun`, `exec_postrun`).
    pub commands: AtomicUsize,
    /// Where files that the run itself makes go (`--aux-path`).
    pub aux_path: PathBuf,
    pub groups: ControlGroups,
    pub timebase: Timebase,
    /// `lockfile`.
    pub locks: FileLocks,
    /// `zonemode=zbd`.
    pub zones: ZoneTables,
    /// `--debug`.
    pub debug: Option<DebugOutput>,
}

impl Run {
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// What a job's thread tells the run.
#[derive(Debug)]
pub(crate) enum Message {
    LayingOut {
        index: usize,
        files: usize,
        bytes: u64,
    },
    Command {
        index: usize,
        when: &'static str,
        output: PathBuf,
    },
    Warning {
        index: usize,
        what: String,
    },
    /// A job is set up and waits for the others.
    Ready,
    /// The layout of a job has ended, where jobs are laid out one after another.
    LaidOut {
        result: Result<Done, JobError>,
    },
    Ended {
        index: usize,
        result: Box<Finished>,
    },
}

/// How a job's thread ended.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    /// What the worker did; `None` when it was never reached.
    pub worker: Option<WorkerResult>,
    /// What went wrong before or after it.
    pub error: Option<JobError>,
    /// Of each file that was open with `direct=1`: its pages in the page cache.
    pub cached: Vec<Cached>,
}

impl Finished {
    /// The first thing that went wrong.
    pub fn first_error(&self) -> Option<&JobError> {
        self.worker.as_ref().and_then(|w| w.error.as_ref()).or(self.error.as_ref())
    }
}

/// A message that nobody hears is no error: the run has ended without waiting.
pub(crate) fn tell(sender: &Sender<Message>, message: Message) {
    let _ = sender.send(message);
}
