//! State that the conductor shares with the threads of the jobs.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};

use fiord_engine::sim::SimDisks;
use fiord_load::pace::{Flow, FlowTicket};
use fiord_plan::{FlowShare, JobPlan, Plan};
use fiord_stat::live::{Live, Totals};
use fiord_sys::process::ProcessEnding;
use fiord_types::Bytes;

use crate::debug::DebugOutput;
use crate::error::JobError;
use crate::events::CommandTime;
use crate::files::kept::FileKeeper;
use crate::files::layout::{Done, LayoutCounters};
use crate::files::lock::FileLocks;
use crate::files::set::Cached;
use crate::job::control::JobControl;
use crate::job::steady;
use crate::job::steady::SteadyMember;
use crate::job::thread::ControlGroups;
use crate::job::timebase::Timebase;
use crate::logs::RunLogs;
use crate::maps::VerifyMaps;
use crate::trace::iolog::Iologs;
use crate::trace::replay::TraceMerges;
use crate::verify::WriteProgress;
use crate::verify::save::{ExtentLists, Journals, StateStore};
use crate::worker_result::WorkerResult;
use crate::zones::ZoneTables;

/// The shared state of one job.
#[derive(Debug)]
pub(crate) struct Shared {
    pub control: JobControl,
    pub live: Live,
    /// How far the layout of its files is.
    pub layout: LayoutCounters,
    /// How far the reading of its files before its I/O is (`pre_read`).
    pub pre_read: LayoutCounters,
    /// Id of the job's thread; 0 before it runs.
    pub tid: AtomicU32,
    /// How far its writes are, if it keeps a state (`verify_state_save`, `--trigger-file`).
    pub writes: OnceLock<Arc<WriteProgress>>,
}

impl Shared {
    /// The shared states of all jobs of a plan. Jobs of one flow share that flow.
    pub(crate) fn of(plan: &Plan) -> Vec<Self> {
        let mut flows: Vec<(u32, Arc<Flow>)> = Vec::new();
        let mut flow_ticket = |share: FlowShare| {
            let known = flows.iter().find(|(id, _)| *id == share.id).map(|(_, flow)| flow.clone());
            let flow = known.unwrap_or_else(|| {
                let flow = Arc::<Flow>::default();
                flows.push((share.id, flow.clone()));
                flow
            });
            FlowTicket::new(flow, share.weight)
        };
        let shared = |(job, steady): (&JobPlan, Option<SteadyMember>)| Shared {
            control: JobControl::with_flow_ticket(job.pace.flow.map(&mut flow_ticket))
                .with_steady(steady),
            live: Live::new(),
            layout: LayoutCounters::default(),
            pre_read: LayoutCounters::default(),
            tid: AtomicU32::new(0),
            writes: OnceLock::new(),
        };
        plan.jobs.iter().zip(steady::memberships(&plan.jobs)).map(shared).collect()
    }
}

/// The state that all threads of a run share.
#[derive(Debug)]
pub(crate) struct Run {
    pub plan: Arc<Plan>,
    pub jobs: Vec<Shared>,
    /// The run is ending early: layouts stop, and no job starts.
    pub cancelled: AtomicBool,
    /// The run ends without waiting for the jobs that have not ended.
    pub abandoned: AtomicBool,
    /// Number of running commands (`exec_prerun`, `exec_postrun`).
    pub commands: AtomicUsize,
    /// Directory for files that the run itself creates (`--aux-path`).
    pub aux_path: PathBuf,
    pub groups: ControlGroups,
    pub timebase: Timebase,
    /// `lockfile`.
    pub locks: FileLocks,
    /// `create_serialize=0`: the files that several jobs may lay out at the same time.
    pub layout_locks: FileLocks,
    /// `zonemode=zbd`.
    pub zones: ZoneTables,
    /// The files on simulated devices.
    pub simulated: SimDisks,
    pub verify_maps: VerifyMaps,
    /// The lists of corrupt extents (`verify_extents`).
    pub verify_extents: ExtentLists,
    /// `merge_blktrace_file`.
    pub merges: TraceMerges,
    /// `write_iolog`.
    pub iologs: Iologs,
    /// `verify_journal`.
    pub journals: Journals,
    /// The logs of the jobs.
    pub logs: RunLogs,
    pub debug: Option<DebugOutput>,
    /// A trigger may end the run (`--trigger-file`).
    pub triggers: bool,
    /// The trigger has saved the states of the jobs.
    pub triggered: AtomicBool,
    /// A signal ends the run.
    pub signalled: AtomicBool,
    /// Keeps the verify states and the journals on another machine.
    pub keeper: Option<Arc<dyn FileKeeper>>,
}

impl Run {
    /// The totals of each job.
    pub(crate) fn totals(&self) -> impl Iterator<Item = Totals> {
        self.jobs.iter().map(|job| job.live.totals())
    }

    /// Where the states of jobs are saved.
    pub(crate) fn state_store(&self) -> StateStore<'_> {
        StateStore { aux_path: &self.aux_path, keeper: self.keeper.as_deref() }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// A message from a job's thread to the conductor.
#[derive(Debug)]
pub(crate) enum Message {
    LayingOut {
        index: usize,
        files: usize,
        bytes: Bytes,
    },
    Command {
        index: usize,
        when: CommandTime,
        output: PathBuf,
    },
    Warning {
        index: usize,
        what: String,
    },
    /// A job read data that it did not write (`verify`).
    BadBlock {
        index: usize,
        what: String,
    },
    /// A job survived an error (`error_dump`).
    SurvivedError {
        what: String,
    },
    /// A job is set up and waits to be released.
    Ready,
    /// The layout thread has finished a job.
    LaidOut {
        result: Result<Done, JobError>,
    },
    Ended {
        index: usize,
        result: Box<Finished>,
    },
    /// The command of the trigger has ended.
    TriggerEnded {
        line: String,
        ending: fiord_sys::Result<ProcessEnding>,
    },
}

/// How a job's thread ended.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    /// The worker's result; `None` if the worker never ran.
    pub worker: Option<Box<WorkerResult>>,
    /// An error before or after the worker.
    pub error: Option<JobError>,
    /// Pages in the page cache of each file that was open with `direct=1`.
    pub cached: Vec<Cached>,
}

impl Finished {
    /// The first error: the worker's, else the one before or after it.
    pub(crate) fn first_error(&self) -> Option<&JobError> {
        self.worker.as_deref().and_then(|w| w.error.as_ref()).or(self.error.as_ref())
    }
}

/// Sends a message. Ignores the error if the run has ended without waiting for this thread.
pub(crate) fn send(sender: &Sender<Message>, message: Message) {
    let _ = sender.send(message);
}
