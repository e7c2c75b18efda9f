//! Which hooks a job has: a table with one row for each hook.

use fiord_load::pace::FlowTicket;
use fiord_plan::{JobPlan, Mix};
use fiord_types::PerDir;

use super::block_errors::BlockLifetimes;
use super::cpu_load::CpuLoad;
use super::flow::FlowHook;
use super::iolog::IologHook;
use super::latency_target::DepthSearch;
use super::list::Hooks;
use super::max_latency::MaxLatency;
use super::min_rate::RateFloor;
use super::pacing::Pacing;
use super::priorities::PriorityLatencies;
use super::replay::ReplayHook;
use super::slices::SliceCounts;
use super::zones::ZoneHook;
use crate::hook::Hook;
use crate::trace::replay::ReplayFeed;
use crate::verify::{MapInformer, Verifier, WriteJournal};
use crate::zones::Placer;

/// What hooks need that the plan does not have. Behind pointers, so that jobs without these features need no stack for them.
#[derive(Default)]
pub(crate) struct HookInputs {
    /// The job's place in its flow.
    pub ticket: Option<FlowTicket>,
    /// Places the I/Os in zones.
    pub placer: Option<Box<Placer>>,
    /// The trace that the job replays.
    pub replay: Option<ReplayFeed>,
    /// Records the I/Os for a replay.
    pub iolog: Option<Box<IologHook>>,
    /// Records the writes for a check after a crash.
    pub journal: Option<Box<WriteJournal>>,
    /// Verifies the writes.
    pub verify: Option<Box<Verifier>>,
    /// Tells the maps of other jobs what the job overwrites.
    pub informer: Option<Box<MapInformer>>,
}

/// What the constructor of a hook gets.
struct HookSetup<'a> {
    job: &'a JobPlan,
    inputs: HookInputs,
    /// CPU cycles per second, for `thinkcycles`.
    hertz: u64,
    /// When the first I/O of the job is due, ns.
    now: u64,
}

/// A hook: which jobs have it, and how it is made.
struct HookRow {
    wanted: fn(&JobPlan) -> bool,
    /// `None`: this job does not need the hook after all.
    make: fn(&mut HookSetup<'_>) -> Option<Box<dyn Hook>>,
}

/// All hooks, in the order in which they are called.
///
/// A hook that decides something comes before those that only measure. The zones come last of those that
/// delay I/Os, because an I/O that has its place keeps others from it.
const TABLE: [HookRow; 15] = [
    HookRow {
        wanted: |job| job.pace.latency_target.is_some(),
        make: |with| DepthSearch::of(with.job, with.now).map(boxed),
    },
    HookRow {
        wanted: |job| job.pace.rate != PerDir::all(None) || job.pace.think.is_some(),
        make: |with| Pacing::of(with.job, with.hertz, with.now).map(boxed),
    },
    HookRow {
        wanted: |job| job.pace.cpu_load.is_some(),
        make: |with| CpuLoad::of(with.job, with.now).map(boxed),
    },
    HookRow {
        wanted: |job| job.replay.is_some(),
        make: |with| with.inputs.replay.take().map(|feed| boxed(ReplayHook::new(with.job, &feed))),
    },
    HookRow {
        wanted: |job| job.pace.flow.is_some(),
        make: |with| FlowHook::of(with.job, with.inputs.ticket.take()).map(boxed),
    },
    HookRow {
        wanted: |job| job.load.zoned.is_some(),
        make: |with| with.inputs.placer.take().map(|placer| boxed(ZoneHook::new(*placer))),
    },
    // A write is recorded as completed before another job may write its blocks.
    HookRow {
        wanted: |job| job.journal.is_some(),
        make: |with| with.inputs.journal.take().map(|journal| journal as Box<dyn Hook>),
    },
    HookRow {
        wanted: |job| job.verify.is_some(),
        make: |with| with.inputs.verify.take().map(|verify| verify as Box<dyn Hook>),
    },
    HookRow {
        wanted: |job| job.informs_maps,
        make: |with| with.inputs.informer.take().map(|informer| informer as Box<dyn Hook>),
    },
    HookRow {
        wanted: |job| job.iolog.is_some(),
        make: |with| with.inputs.iolog.take().map(|iolog| iolog as Box<dyn Hook>),
    },
    HookRow {
        wanted: |job| job.pace.min_rate != PerDir::all(None),
        make: |with| RateFloor::of(with.job, with.now).map(boxed),
    },
    HookRow {
        wanted: |job| job.record.slices.is_some(),
        make: |with| SliceCounts::of(with.job).map(boxed),
    },
    HookRow {
        wanted: |job| job.load.priorities.is_some(),
        make: |with| PriorityLatencies::of(with.job).map(boxed),
    },
    HookRow {
        wanted: |job| job.pace.max_latency != PerDir::all(None),
        make: |with| MaxLatency::of(with.job).map(boxed),
    },
    HookRow {
        wanted: |job| job.record.block_errors,
        make: |with| BlockLifetimes::of(with.job).map(boxed),
    },
];

impl Hooks {
    pub(crate) fn wanted(job: &JobPlan) -> bool {
        // The loop with hooks also completes the pairs at the end of the job.
        job.load.mix == Mix::TrimWrite || TABLE.iter().any(|row| (row.wanted)(job))
    }

    /// The hooks of a job whose first I/O is due at `now`. `hertz`: CPU cycles per second, for `thinkcycles`.
    pub(crate) fn of(job: &JobPlan, inputs: HookInputs, hertz: u64, now: u64) -> Self {
        if !Hooks::wanted(job) {
            return Hooks::none();
        }
        let mut setup = HookSetup { job, inputs, hertz, now };
        let rows = TABLE.iter().filter(|row| (row.wanted)(job));
        Hooks::new(rows.filter_map(|row| (row.make)(&mut setup)).collect(), job.slots())
    }
}

fn boxed(hook: impl Hook + 'static) -> Box<dyn Hook> {
    Box::new(hook)
}
