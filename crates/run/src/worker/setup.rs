//! Picks the source, the payload and the loop of a job, once, and runs the job.

use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use fiord_engine::{Engine, EngineConfig, EngineError, FreeSlot, MachineClock, Time};
use fiord_load::source::replay::TraceSource;
use fiord_load::{AnyContent, AnySource, Content, Io, LoadError, Source, SourceVisitor};
use fiord_plan::{DepthSupport, IoPrio, JobPlan, LogPlan, Record, VerifyPass};
use fiord_stat::live::Live;
use fiord_stat::recorder::{Recorder, axes};
use fiord_stat::slices::Slices;
use fiord_sys::bus::BusWatch;
use fiord_types::{Dir, Nanos};

use super::RunServices;
use super::core::{JobState, opens_all};
use super::hooks::{HookInputs, Hooks, IologHook};
use super::layers::{Borrowed, Layered};
use super::loops::mode::{
    Asynchronous, Bare, Dynamic, Managed, Mode, Synchronous, SynchronousOrTotal,
};
use super::loops::{Payload, Worker, open_all};
use super::traced::{Traced, Tracer};
use crate::content::content_of;
use crate::error::{JobError, Stage};
use crate::files::Files;
use crate::job::control::{JobControl, Phase};
use crate::logs::JobLog;
use crate::trace::replay::ReplayFeed;
use crate::verify::{MapInformer, Verifier, WriteJournal};
use crate::worker_result::WorkerResult;
use crate::zones::Placer;

/// The job that is set up, and what it needs for that.
pub(super) struct JobContext<'a> {
    pub(super) job: &'a JobPlan,
    pub(super) files: &'a mut dyn Files,
    control: &'a JobControl,
    live: &'a Live,
    services: &'a RunServices<'a>,
    /// CPU cycles per second, for `thinkcycles`.
    hertz: u64,
}

impl<'a> JobContext<'a> {
    /// `clock` times engines that do real I/O.
    pub(super) fn new(
        job: &'a JobPlan,
        files: &'a mut dyn Files,
        clock: MachineClock,
        control: &'a JobControl,
        live: &'a Live,
        services: &'a RunServices<'a>,
    ) -> Self {
        // A simulated device has no CPU: a cycle takes a nanosecond there.
        let cycles = clock.0.hertz().filter(|_| !job.engine.def().virtual_time);
        JobContext { job, files, control, live, services, hertz: cycles.unwrap_or(1_000_000_000) }
    }
}

/// Runs a job whose engine is behind a pointer, so that all such engines with a clock share one set of loops: it keeps
/// the program small and builds short. `tracer`: its I/Os are traced (`--debug=io`).
pub(super) fn with_boxed<C: Time + 'static>(
    engine: Result<Layered<(), C>, EngineError>,
    context: JobContext,
    tracer: Option<Tracer>,
) -> Box<WorkerResult> {
    let slots = context.job.slots();
    let engine = engine.map(|engine| match tracer {
        Some(tracer) => Layered::new(Layered::new(engine, Traced::new(tracer, slots)), ()),
        None => engine,
    });
    match Start::of(engine, context) {
        Ok(start) => start.run_any(),
        Err(result) => result,
    }
}

/// The result of a job that ended before its first I/O. `error`: why, unless it was stopped or has no
/// work. Not inlined: a result has some KB, which would be on the stack of each job.
#[cold]
#[inline(never)]
fn not_started(error: Option<JobError>) -> Box<WorkerResult> {
    Box::new(WorkerResult { error, ..WorkerResult::default() })
}

/// The result of a job that failed before its first I/O.
pub(super) fn failed(error: JobError) -> Box<WorkerResult> {
    not_started(Some(error))
}

/// The loop that a job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoopKind {
    /// Counts I/Os and bytes only.
    Bare,
    /// Takes the measurements that are on by default.
    Default,
    /// Decides at run time what to measure.
    Dynamic,
    /// Has hooks.
    Managed,
}

/// Runs a job on an engine that runs at the limit of the machine: it has a loop of its own for each source and each
/// common set of measurements, and one for other measurements. Jobs with hooks share one loop with [`with_boxed`].
/// Not inlined, so that the stack of a job has room for its own engine only.
#[inline(never)]
pub(super) fn with_hot<E: Engine + 'static>(
    config: &EngineConfig,
    make: fn(&EngineConfig) -> Result<E, EngineError>,
    context: JobContext,
) -> Box<WorkerResult> {
    let start = match Start::of(make(config), context) {
        Ok(start) => start,
        Err(result) => return result,
    };
    let job = start.context.job;
    if start.replay.is_some() || start.kind == LoopKind::Managed {
        return start.boxed().run_any();
    }
    if start.kind == LoopKind::Dynamic {
        return match fiord_load::any_source(job) {
            Ok(source) => start.run_dynamic(source),
            Err(error) => without_source(error),
        };
    }
    fiord_load::with_source(job, start).unwrap_or_else(without_source)
}

/// The result of a job that has no source.
fn without_source(error: LoadError) -> Box<WorkerResult> {
    match error {
        // The plan has already warned about this.
        LoadError::NothingFits => not_started(None),
        error => failed(error.into()),
    }
}

/// The loop of a job without hooks.
fn plain_loop(job: &JobPlan, at_once: bool, instant: bool, recorder: &Recorder) -> LoopKind {
    if job.log.as_ref().is_some_and(LogPlan::follows_ios) {
        return LoopKind::Dynamic;
    }
    if at_once {
        return match recorder.axes {
            _ if recorder.lat_is_clat => LoopKind::Default,
            axes::BARE => LoopKind::Bare,
            axes::SYNC => LoopKind::Default,
            axes::LAT if instant => LoopKind::Default,
            _ => LoopKind::Dynamic,
        };
    }
    // Trims may complete as they are queued. The time that the payloads of the writes before them took
    // must not be in their latency.
    let trims_between = job.load.writes_data() && job.load.mix.has(Dir::Trim);
    if job.load.serialize_overlap || job.load.trim_ranges > 1 || trims_between {
        return LoopKind::Dynamic;
    }
    match with_neighbours(recorder.axes) {
        axes::BARE => LoopKind::Bare,
        axes::ASYNC => LoopKind::Default,
        _ => LoopKind::Dynamic,
    }
}

/// A job whose loop has been chosen.
struct Start<'a, E> {
    engine: E,
    /// The bytes of writes, if the job writes any.
    payload: Option<AnyContent>,
    context: JobContext<'a>,
    recorder: Box<Recorder>,
    kind: LoopKind,
    /// The trace that the job replays.
    replay: Option<ReplayFeed>,
}

impl<E: Engine + 'static> SourceVisitor for Start<'_, E> {
    type Out = Box<WorkerResult>;

    fn visit<S: Source>(self, source: S) -> Box<WorkerResult> {
        self.run::<S, HotLoops>(source)
    }

    /// What this source does for an I/O costs more than what a loop of its own would save.
    fn visit_general(self, source: AnySource) -> Box<WorkerResult> {
        self.boxed().run_from(source)
    }
}

impl<'a, E: Engine> Start<'a, E> {
    /// Chooses the loop of a job. The error is the result of a job that ends here.
    fn of(
        made: Result<E, EngineError>,
        context: JobContext<'a>,
    ) -> Result<Self, Box<WorkerResult>> {
        let engine = made.map_err(|error| failed(error.into()))?;
        let job = context.job;
        let payload = payload_of(job).map_err(failed)?;
        let at_once = engine.completes_at_once();
        let managed = Hooks::wanted(job) || job.pace.offload;
        let recorder = recorder(job, (at_once, E::INSTANT), managed);
        let kind = match managed {
            true => LoopKind::Managed,
            false => plain_loop(job, at_once, E::INSTANT, &recorder),
        };
        let replay = ReplayFeed::start(job, context.services.merges).map_err(failed)?;
        Ok(Start { engine, payload, context, recorder, kind, replay })
    }

    /// Puts the engine behind a pointer.
    fn boxed(self) -> Start<'a, Layered<(), E::Clock>>
    where
        E: 'static,
    {
        let Start { engine, payload, context, recorder, kind, replay } = self;
        Start { engine: Layered::new(engine, ()), payload, context, recorder, kind, replay }
    }

    /// Runs one of the loops that are compiled once for all sources.
    fn run_any(self) -> Box<WorkerResult> {
        let job = self.context.job;
        let source = match &self.replay {
            Some(replay) => {
                AnySource::Replay(TraceSource::new(Rc::clone(&replay.cursor), &job.load))
            }
            None => match fiord_load::any_source(job) {
                Ok(source) => source,
                Err(error) => return without_source(error),
            },
        };
        self.run_from(source)
    }

    /// Runs one of the loops that are compiled once for all sources, with this source.
    fn run_from(mut self, source: AnySource) -> Box<WorkerResult> {
        let verify = self.context.job.verify.as_ref();
        // The writes are read back without being written.
        let only = verify.is_some_and(|verify| verify.pass == VerifyPass::Only);
        let source = if only { AnySource::Ended } else { source };
        self.recorder.take_unasked();
        match self.kind {
            LoopKind::Managed => self.run::<AnySource, LoopsOf<Managed>>(source),
            _ => self.run_dynamic(source),
        }
    }

    /// Runs the loop without hooks that decides at run time what to measure.
    fn run_dynamic(self, source: AnySource) -> Box<WorkerResult> {
        self.run::<AnySource, LoopsOf<Dynamic>>(source)
    }

    /// Opens the files, waits for the other jobs, runs one of the loops of `L` and finishes.
    #[inline(never)]
    fn run<S: Source, L: Loops>(mut self, source: S) -> Box<WorkerResult> {
        let mut payload = self.payload.take();
        let kind = self.kind;
        let queued = !self.engine.completes_at_once();
        let managed = kind == LoopKind::Managed;
        let mut slots = self.engine.take_slots();
        let mut engine = Borrowed::of(&mut self.engine);
        let state = ready_state(
            &mut engine,
            &mut slots[..],
            &mut payload,
            self.context,
            self.recorder,
            self.replay,
            managed,
        );
        let state = match state {
            Ok(state) => state,
            Err(result) => return result,
        };
        let mut worker = Worker::new((self.engine, slots), source, payload, state);
        L::run(&mut worker, queued, kind);
        worker.finish();
        worker.result()
    }
}

/// The loops that are compiled for an engine and a source. They are part of the function in whose frame the worker lies: behind
/// a pointer, the worker would cost each I/O some time, because the pointer does not stay in a register.
trait Loops {
    /// Runs the loop of this kind. `queued`: the engine queues I/Os.
    fn run<E: Engine, S: Source>(worker: &mut AnyWorker<'_, E, S>, queued: bool, kind: LoopKind);
}

/// A worker with any payload.
type AnyWorker<'a, E, S> = Worker<'a, E, S, Option<AnyContent>>;

/// The loops of common sets of measurements.
struct HotLoops;

/// The loops of one mode.
struct LoopsOf<M>(PhantomData<M>);

// Constants, so that no loop is compiled that the engine never runs.
impl Loops for HotLoops {
    #[inline(always)]
    fn run<E: Engine, S: Source>(worker: &mut AnyWorker<'_, E, S>, queued: bool, kind: LoopKind) {
        match (queued, kind) {
            (true, LoopKind::Bare) if const { E::ASYNC } => worker.run_queued::<Bare>(),
            (true, _) if const { E::ASYNC } => worker.run_queued::<Asynchronous>(),
            (_, LoopKind::Bare) if const { at_once_possible::<E>() } => worker.run_direct::<Bare>(),
            (..) if const { E::INSTANT } => worker.run_direct::<SynchronousOrTotal>(),
            (..) if const { at_once_possible::<E>() } => worker.run_direct::<Synchronous>(),
            (..) => {}
        }
    }
}

impl<M: Mode> Loops for LoopsOf<M> {
    #[inline(always)]
    fn run<E: Engine, S: Source>(worker: &mut AnyWorker<'_, E, S>, queued: bool, _: LoopKind) {
        match queued {
            true if const { E::ASYNC } => worker.run_queued::<M>(),
            _ if const { at_once_possible::<E>() } => worker.run_direct::<M>(),
            _ => {}
        }
    }
}

/// Sets up a job until its first I/O may be issued. The error is the result of a job that ends here. Compiled once for
/// all engines with a clock.
#[inline(never)]
fn ready_state<'a, C: Time>(
    engine: &mut Borrowed<'_, C>,
    slots: &mut [FreeSlot],
    payload: &mut dyn Payload,
    mut context: JobContext<'a>,
    recorder: Box<Recorder>,
    replay: Option<ReplayFeed>,
    managed: bool,
) -> Result<Box<JobState<'a>>, Box<WorkerResult>> {
    let inputs = set_up(engine, slots, payload, &mut context, managed)?;
    let inputs = HookInputs { replay, ..inputs };
    let JobContext { job, files, control, live, hertz, services } = context;
    let log = JobLog::of(job, services.log, recorder.axes & axes::SLAT != 0);
    let now = engine.clock().now();
    let hooks = Hooks::of(job, inputs, hertz, now);
    let mut state = JobState::new(job, files, control, live, *recorder, hooks, now);
    let dumps = job.reporting.error_dump;
    state.error_dump = dumps.then(|| (Arc::clone(&services.error_dump), 0));
    state.buffers = watch_buffers(job, engine, slots);
    let origin = control.origin(now, job.engine.def().virtual_time);
    Ok(state.with_log(log).with_samples(origin, services.windows))
}

/// Watches buffers that lie in a file (`mem=mmapshared:FILE`), which may become shorter. `slots`: all slots of the
/// engine.
fn watch_buffers(job: &JobPlan, engine: &mut impl Engine, slots: &mut [FreeSlot]) -> Vec<BusWatch> {
    if job.process.memory.path().is_none() {
        return Vec::new();
    }
    // The buffers of `io_submit_mode=offload` lie in a region for each slot.
    let watch = |slot| BusWatch::over(engine.buffer(slot).as_ptr());
    let mut watches: Vec<BusWatch> = slots.iter_mut().filter_map(watch).collect();
    watches.dedup();
    watches
}

/// Whether an engine may complete ops as they are queued.
const fn at_once_possible<E: Engine>() -> bool {
    !E::ASYNC || E::SOMETIMES_AT_ONCE
}

/// Prepares buffers, opens the files and waits for the jobs that start together with this one. The error
/// is the result of a job that ends here.
fn set_up<E: Engine>(
    engine: &mut E,
    slots: &mut [FreeSlot],
    payload: &mut dyn Payload,
    context: &mut JobContext,
    managed: bool,
) -> Result<HookInputs, Box<WorkerResult>> {
    let fail = failed;
    let job = context.job;
    if payload.writes() {
        slots.iter_mut().for_each(|slot| payload.prepare(engine.buffer(slot)));
    }
    let mut placer =
        context.files.zones().and_then(|tables| Placer::new(job, tables)).map_err(fail)?;
    let mut verify = Verifier::of(job, &context.services.verify).map_err(fail)?;
    let informer = MapInformer::of(job, context.services.verify.maps).map_err(fail)?;
    if let Some(placer) = &mut placer {
        let maps =
            context.services.verify.maps.of_job(job).map_err(JobError::from).map_err(fail)?;
        match &mut verify {
            Some(verify) => verify.join_zones(job, placer, maps),
            None => placer.verify(job, maps, (None, false)),
        }
        .map_err(fail)?;
    }
    let journal = WriteJournal::of(job, &context.services.verify).map_err(fail)?;
    let iolog = IologHook::of(job, context.services.iologs).map_err(fail)?;
    // Otherwise the source says which file to open when.
    if opens_all(job) {
        open_all(engine, context.files).map_err(fail)?;
    }
    if managed {
        // Waits must end on time. Where the kernel refuses this they end a little later.
        let _ = fiord_sys::thread::set_timer_slack(1);
    }
    context.control.set_phase(Phase::Waiting);
    (context.services.ready)();
    if !context.control.wait_for_go() {
        return Err(not_started(None));
    }
    engine.connect().map_err(|e| fail(JobError::from(e).during(Stage::Connect)))?;
    if context.control.stopped() {
        return Err(not_started(None));
    }
    context.files.starting().map_err(fail)?;
    context.control.wait_for_start();
    Ok(HookInputs {
        ticket: context.control.take_seat(),
        placer,
        iolog,
        journal,
        verify,
        informer,
        replay: None,
    })
}

/// The bytes of a job's writes. `None` if it writes none, or if a hook makes them.
fn payload_of(job: &JobPlan) -> Result<Option<AnyContent>, JobError> {
    let writes = job.load.writes_data() && !Verifier::fills(job);
    writes.then(|| content_of(job, &job.content, salt())).transpose()
}

/// A number that makes the data of every run different, so that deduplicating storage finds no duplicates of an
/// earlier run. All jobs of a run have the same salt, so that they can write equal data.
fn salt() -> u64 {
    static SALT: OnceLock<u64> = OnceLock::new();
    *SALT.get_or_init(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |t| t.as_nanos() as u64)
    })
}

/// `None` is the payload of a job that writes no bytes: it has no writes, or only commands without data. One type for
/// both, because loops are compiled again for each type.
impl Payload for Option<AnyContent> {
    #[inline(always)]
    fn writes(&self) -> bool {
        self.is_some()
    }
    #[inline(always)]
    fn fill(&mut self, buffer: &mut [u8], io: &Io) -> bool {
        let Some(content) = self else { return false };
        content.fill(buffer, io);
        content.takes_time(buffer.len())
    }
    fn prepare(&mut self, buffer: &mut [u8]) {
        if let Some(content) = self {
            content.prepare(buffer);
        }
    }
}

/// The default measurements of an engine that completes each I/O at once.
const SYNC_AND_LAT: u32 = axes::SYNC | axes::LAT;

/// The recorder for what a job measures. `at_once`: the engine completes each I/O at once; `instant`: ops take no time
/// ([`Engine::INSTANT`]); `managed`: the loop has hooks.
fn recorder(job: &JobPlan, (at_once, instant): (bool, bool), managed: bool) -> Box<Recorder> {
    // vsync gathers adjacent I/Os and completes them in one call. As in fio, it has no submission latency.
    let at_once_or_gathered = at_once || job.engine.def().in_flight == DepthSupport::Combined;
    let mut wanted = wanted_axes(&job.record, at_once_or_gathered);
    // As in fio, a call on a name has a completion latency only, which is in no coarse bucket.
    if at_once && job.engine.names().is_some() {
        wanted &= axes::CLAT | axes::CLAT_HIST;
    }
    let reads_back = job.verify.as_ref().is_some_and(|verify| verify.pass.reads_back());
    let trims = job.verify.as_ref().is_some_and(|verify| verify.trims.is_some());
    let mixed = |dir: &Dir| {
        job.load.mix.has(*dir) || *dir == Dir::Read && reads_back || *dir == Dir::Trim && trims
    };
    let dirs: Vec<Dir> = Dir::ALL.into_iter().filter(mixed).collect();
    let taken = if at_once && instant { wanted } else { with_neighbours(wanted) };
    let mut recorder = Box::new(Recorder::new(taken, &dirs));
    recorder.axes = wanted;
    let histograms = axes::CLAT_HIST | axes::LAT_HIST;
    if wanted & (axes::LAT | histograms) == axes::LAT && !(at_once && instant) {
        // For what the job does over time: the loops that take only what is asked for take this, too.
        recorder.note_unasked(axes::LAT_HIST);
        dirs.iter().for_each(|dir| recorder.dirs[*dir].lat_hist.reserve());
    }
    if let Some(priorities) = &job.load.priorities {
        let own = job.process.ioprio.map_or(0, IoPrio::bits);
        let others = priorities.values.iter().map(|value| value.bits());
        recorder.prioritize(&dirs, std::iter::once(own).chain(others));
    }
    recorder.slices = slices(job);
    // Total and completion latency are equal if nothing happens between the start of an I/O and its issue.
    recorder.lat_is_clat = at_once
        && match recorder.axes {
            SYNC_AND_LAT => !managed || job.log.is_none(),
            // Total latencies alone get a histogram, too: series and charts need it. On an instant engine, it would cost as
            // much as the I/O.
            axes::LAT => !instant && job.log.is_none(),
            _ => false,
        };
    if recorder.lat_is_clat && job.log.is_some() {
        // The loop decides at run time what to record.
        recorder.axes = axes::SYNC;
    }
    recorder
}

/// The slices of `latency_limits`, with memory for the whole run.
fn slices(job: &JobPlan) -> Option<Box<Slices>> {
    /// Maximum number of slices to allocate in advance: more than a year of hours.
    const MAX_ALLOCATED: u64 = 10_000;
    let slices = job.record.slices.as_ref()?;
    let bounds: Vec<Nanos> = slices.limits.iter().map(|(over, _)| *over).collect();
    let expected =
        job.end.runtime.map_or(0, |t| t.0.div_ceil(slices.length.0.max(1))).min(MAX_ALLOCATED) + 1;
    Some(Box::new(Slices::new(slices.length, &bounds, expected as usize)))
}

/// The measurements that the loop of queued I/Os takes if `wanted` is requested: all default ones instead of a
/// part of them. The others are cleared at the end. Deciding at each I/O would cost more than taking all.
fn with_neighbours(wanted: u32) -> u32 {
    if wanted != axes::BARE && wanted & !axes::ASYNC == 0 { axes::ASYNC } else { wanted }
}

/// The measurements that a job's options request. Engines that complete at once have no submission latency.
/// Completion latencies always go into a histogram, because the coarse buckets derive from it. So a job without
/// percentiles (`clat_percentiles=0`) runs the same loop as one with them.
fn wanted_axes(record: &Record, at_once: bool) -> u32 {
    let slat = record.slat && !at_once;
    [
        (slat, axes::SLAT),
        (record.clat, axes::CLAT | axes::BUCKETS | axes::CLAT_HIST),
        (record.lat, axes::LAT),
        (slat && record.slat_percentiles, axes::SLAT_HIST),
        (record.lat && record.lat_percentiles, axes::LAT_HIST),
    ]
    .into_iter()
    .filter_map(|(on, bits)| on.then_some(bits))
    .fold(0, |all, bits| all | bits)
}
