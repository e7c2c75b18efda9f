//! Picks the engine, the source, the content and the loop of a job, once.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use fiord_engine::{
    Engine, EngineConfig, EngineError, IoUring, IoUringCmd, Libaio, MachineClock, Mmap, Null,
    Offload, Psync, Pvsync, Pvsync2, Sg, Sim, SyncRw, Vsync,
};
use fiord_load::{AnyContent, Content, Io, LoadError, Source, SourceVisitor};
use fiord_plan::{Dir, EnginePlan, IoPrio, JobPlan, LockFile, Record};
use fiord_stat::live::Live;
use fiord_stat::recorder::{self, Recorder, axes};
use fiord_stat::slices::Slices;
use fiord_sys::usage::Usage;

use super::locked::{AnyEngine, Locked};
use super::pacing::{PACED, is_paced};
use super::session::{self, Fill, Session};
use super::traced::{Boxed, Traced, Tracer};
use super::zoned::ZONED;
use super::{Files, WorkerResult};
use crate::content::content_of;
use crate::control::{JobControl, Phase};
use crate::debug::DebugOutput;
use crate::error::JobError;
use crate::thread;
use crate::zones::Placer;

/// What surrounds a job while it is set up.
struct Surroundings<'a> {
    job: &'a JobPlan,
    files: &'a mut dyn Files,
    control: &'a JobControl,
    live: &'a Live,
    ready: &'a dyn Fn(),
    /// Cycles a second, for `thinkcycles`.
    hertz: u64,
}

/// Runs a job instance on the calling thread, to its end. `ready` is called when everything is set
/// up; the first I/O comes after [`JobControl::go`]. `clock` times engines that do real I/O. `debug`
/// takes the lines of `--debug`.
pub fn run(
    job: &JobPlan,
    clock: MachineClock,
    files: &mut dyn Files,
    control: &JobControl,
    live: &Live,
    ready: &dyn Fn(),
    debug: Option<&DebugOutput>,
) -> WorkerResult {
    control.set_phase(Phase::SetUp);
    // A simulated device has no processor; there, a cycle is a nanosecond.
    let simulated = matches!(job.engine, EnginePlan::Sim(_));
    let hertz = clock.0.hertz().filter(|_| !simulated).unwrap_or(1_000_000_000);
    let around = Surroundings { job, files, control, live, ready, hertz };
    let mut config = EngineConfig::for_job(job, clock);
    if !keeps_many(&job.engine) {
        // One buffer is all that such an engine can use.
        config.slots = 1;
    }
    if let Some(debug) = debug.filter(|debug| debug.wants("mem", job.identity.index)) {
        let bytes = u64::from(config.slots) * u64::from(config.buffer_bytes);
        debug.line("mem", thread::id(), format_args!("Alloc {bytes} for buffers"));
    }
    let tracer = Tracer::of(job, debug);
    let calls = !keeps_many(&job.engine) || matches!(job.engine, EnginePlan::Vsync);
    if job.pace.offload && calls {
        return offloaded(&config, around, tracer);
    }
    if job.target.lock != LockFile::None {
        return with_locks(&config, around, tracer);
    }
    if let Some(tracer) = tracer {
        return match any_engine(&config, job) {
            Some(engine) => traced(engine.map(Boxed), around, tracer),
            None => traced(Sim::new(&config), around, tracer),
        };
    }
    match &job.engine {
        EnginePlan::Psync => with_engine::<_, HOT_LOOPS>(Psync::new(&config), around),
        EnginePlan::Mmap { .. } => with_engine::<_, HOT_LOOPS>(Mmap::new(&config), around),
        EnginePlan::Null => with_engine::<_, HOT_LOOPS>(Null::new(&config), around),
        EnginePlan::Libaio { .. } => with_engine::<_, HOT_LOOPS>(Libaio::new(&config), around),
        EnginePlan::IoUring(_) => with_engine::<_, HOT_LOOPS>(IoUring::new(&config), around),
        EnginePlan::IoUringCmd(_) => with_engine::<_, HOT_LOOPS>(IoUringCmd::new(&config), around),
        EnginePlan::Sg(_) => with_engine::<_, ONE_LOOP>(Sg::new(&config), around),
        EnginePlan::Sync => with_engine::<_, ONE_LOOP>(SyncRw::new(&config), around),
        EnginePlan::Vsync => with_engine::<_, ONE_LOOP>(Vsync::new(&config), around),
        EnginePlan::Pvsync => with_engine::<_, ONE_LOOP>(Pvsync::new(&config), around),
        EnginePlan::Pvsync2 { .. } => with_engine::<_, ONE_LOOP>(Pvsync2::new(&config), around),
        EnginePlan::Sim(_) => with_engine::<_, SIM_LOOPS>(Sim::new(&config), around),
    }
}

/// As [`run`], for a job whose calls are made on threads of their own.
fn offloaded(config: &EngineConfig, around: Surroundings, tracer: Option<Tracer>) -> WorkerResult {
    let depth = around.job.depth.depth.max(1);
    macro_rules! offload {
        ($engine:ident) => {{
            let engine = Offload::new(config, depth, $engine::new);
            match tracer {
                Some(tracer) => {
                    traced(engine.map(|engine| Boxed(Box::new(engine))), around, tracer)
                }
                None => with_engine::<_, PACED_LOOP>(engine, around),
            }
        }};
    }
    match &around.job.engine {
        EnginePlan::Mmap { .. } => offload!(Mmap),
        EnginePlan::Sync => offload!(SyncRw),
        EnginePlan::Vsync => offload!(Vsync),
        EnginePlan::Pvsync => offload!(Pvsync),
        EnginePlan::Pvsync2 { .. } => offload!(Pvsync2),
        _ => offload!(Psync),
    }
}

/// As [`run`], for a job that locks its files around each I/O.
fn with_locks(config: &EngineConfig, around: Surroundings, tracer: Option<Tracer>) -> WorkerResult {
    let job = around.job;
    let Some(engine) = any_engine(config, job) else {
        return failed(JobError::new(
            "lockfile",
            22,
            "each job of ioengine=sim has a time of its own, so none can wait for another",
        ));
    };
    let locks = around.files.locks();
    let engine = engine.map(|engine| Locked::new(engine, job.target.lock, locks, config.slots));
    match tracer {
        Some(tracer) => traced(engine, around, tracer),
        None => with_engine::<_, ONE_LOOP>(engine, around),
    }
}

/// As [`run`], for a job whose I/Os are traced (`--debug=io`).
fn traced<E: Engine>(
    engine: Result<E, EngineError>,
    around: Surroundings,
    tracer: Tracer,
) -> WorkerResult {
    let slots = around.job.depth.depth.max(1);
    let traced = engine.map(|engine| Traced::new(engine, tracer, slots));
    with_engine::<_, ONE_LOOP>(traced, around)
}

/// A job's engine behind a pointer, where a loop of its own would not pay; `None` for the simulated
/// device, whose time is another.
fn any_engine(
    config: &EngineConfig,
    job: &JobPlan,
) -> Option<Result<Box<dyn AnyEngine>, EngineError>> {
    macro_rules! boxed {
        ($engine:ident) => {
            $engine::new(config).map(|engine| Box::new(engine) as Box<dyn AnyEngine>)
        };
    }
    Some(match &job.engine {
        EnginePlan::Psync => boxed!(Psync),
        EnginePlan::Mmap { .. } => boxed!(Mmap),
        EnginePlan::Null => boxed!(Null),
        EnginePlan::Libaio { .. } => boxed!(Libaio),
        EnginePlan::IoUring(_) => boxed!(IoUring),
        EnginePlan::IoUringCmd(_) => boxed!(IoUringCmd),
        EnginePlan::Sg(_) => boxed!(Sg),
        EnginePlan::Sync => boxed!(SyncRw),
        EnginePlan::Vsync => boxed!(Vsync),
        EnginePlan::Pvsync => boxed!(Pvsync),
        EnginePlan::Pvsync2 { .. } => boxed!(Pvsync2),
        EnginePlan::Sim(_) => return None,
    })
}

/// Whether an engine can have more than one op in flight.
pub(crate) fn keeps_many(engine: &EnginePlan) -> bool {
    match engine {
        EnginePlan::Psync
        | EnginePlan::Sync
        | EnginePlan::Pvsync
        | EnginePlan::Pvsync2 { .. }
        | EnginePlan::Mmap { .. } => false,
        EnginePlan::Vsync
        | EnginePlan::Libaio { .. }
        | EnginePlan::IoUring(_)
        | EnginePlan::IoUringCmd(_)
        | EnginePlan::Sg(_)
        | EnginePlan::Null
        | EnginePlan::Sim(_) => true,
    }
}

/// A job that ended before its first I/O.
fn failed(error: JobError) -> WorkerResult {
    WorkerResult {
        recorder: Recorder::default(),
        error: Some(error),
        survived: None,
        runtime_ns: 0,
        usage: Usage::default(),
        delays: Default::default(),
        shares: None,
        depth_found: None,
        zones: None,
    }
}

/// `LOOPS`: which loops are compiled for jobs that nothing holds back.
fn with_engine<E: Engine, const LOOPS: u8>(
    made: Result<E, EngineError>,
    around: Surroundings,
) -> WorkerResult {
    let engine = match made {
        Ok(engine) => engine,
        Err(e) => {
            let help = e.help.map_or(String::new(), |help| format!("; {help}"));
            let detail = format!("{}{help}", e.what);
            return failed(JobError::new("set-up of the I/O engine", e.errno, detail));
        }
    };
    let job = around.job;
    let result = if job.load.zoned.is_some() {
        fiord_load::any_source(job).map(|s| with_content::<E, _, ZONED_LOOP>(engine, s, around))
    } else if const { LOOPS == PACED_LOOP } || is_paced(job) {
        fiord_load::any_source(job).map(|s| with_content::<E, _, PACED_LOOP>(engine, s, around))
    } else if const { LOOPS == HOT_LOOPS } {
        fiord_load::with_source(job, WithEngine::<E, LOOPS> { engine, around })
    } else {
        fiord_load::any_source(job).map(|s| with_content::<E, _, LOOPS>(engine, s, around))
    };
    match result {
        Ok(result) => result,
        // The plan has warned of it.
        Err(LoadError::NothingFits) => {
            WorkerResult { error: None, ..failed(JobError::new("start", 0, "")) }
        }
        Err(e) => load_failed(&e),
    }
}

/// The loop is compiled for each common set of measurements.
const HOT_LOOPS: u8 = 0;
/// One loop that decides at run time, for engines that are rarely used in a hurry: builds are
/// shorter for it.
const ONE_LOOP: u8 = 1;
/// Those of the simulated device: in tests the ones that are compiled for real engines, so that their
/// latencies can be compared with the truth.
const SIM_LOOPS: u8 = if cfg!(test) { HOT_LOOPS } else { ONE_LOOP };
/// One loop that also waits for what is due.
const PACED_LOOP: u8 = 2;
/// The same, which also places each I/O in a zone.
const ZONED_LOOP: u8 = 3;

/// Whether a loop waits for something beside I/Os.
const fn waits(loops: u8) -> bool {
    loops == PACED_LOOP || loops == ZONED_LOOP
}

fn load_failed(error: &LoadError) -> WorkerResult {
    failed(JobError::new("set-up of the load", 22, error.to_string()))
}

struct WithEngine<'a, E, const LOOPS: u8> {
    engine: E,
    around: Surroundings<'a>,
}

impl<E: Engine, const LOOPS: u8> SourceVisitor for WithEngine<'_, E, LOOPS> {
    type Out = WorkerResult;

    fn visit<S: Source>(self, source: S) -> WorkerResult {
        with_content::<E, S, LOOPS>(self.engine, source, self.around)
    }
}

fn with_content<E: Engine, S: Source, const LOOPS: u8>(
    engine: E,
    source: S,
    around: Surroundings,
) -> WorkerResult {
    if !around.job.load.writes_data() {
        return start::<E, S, _, LOOPS>(engine, source, NoContent, around);
    }
    match content_of(around.job, &around.job.content, salt()) {
        Ok(content) => start::<E, S, _, LOOPS>(engine, source, content, around),
        Err(error) => failed(error),
    }
}

/// Different bytes in every run, so that storage that finds duplicates finds none of the last run's;
/// the same for all jobs of a run, so that they can share some.
fn salt() -> u64 {
    static SALT: OnceLock<u64> = OnceLock::new();
    *SALT.get_or_init(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |t| t.as_nanos() as u64)
    })
}

/// A job that writes no bytes: none at all, or by commands that carry none.
struct NoContent;

impl Fill for NoContent {
    const WRITES: bool = false;
    fn fill(&mut self, _buffer: &mut [u8], _io: &Io) -> bool {
        false
    }
    fn prepare(&mut self, _buffer: &mut [u8]) {}
}

impl Fill for AnyContent {
    const WRITES: bool = true;
    #[inline]
    fn fill(&mut self, buffer: &mut [u8], io: &Io) -> bool {
        Content::fill(self, buffer, io);
        self.touches()
    }
    fn prepare(&mut self, buffer: &mut [u8]) {
        Content::prepare(self, buffer);
    }
}

/// Opens the files, waits for the others, runs and finishes.
fn start<E: Engine, S: Source, C: Fill, const LOOPS: u8>(
    mut engine: E,
    source: S,
    mut content: C,
    around: Surroundings,
) -> WorkerResult {
    let Surroundings { job, files, control, live, ready, hertz } = around;
    let at_once = engine.completes_at_once();
    if C::WRITES {
        for slot in 0..if at_once { 1 } else { job.depth.depth.max(1) } {
            content.prepare(engine.buffer(slot));
        }
    }
    let recorder = recorder(job, at_once, waits(LOOPS));
    let (wanted, same) = (recorder.axes, recorder.lat_is_clat);
    let placer = files.zones().and_then(|owners| Placer::new(job, owners));
    let placer = match placer {
        Ok(placer) => placer,
        Err(error) => return failed(error),
    };
    if !session::opens_all(job) {
        // The source says when to open which.
    } else if let Err(error) = session::open_all(&mut engine, files) {
        return failed(error);
    }
    if const { waits(LOOPS) } {
        // Waits are to end when they should. Where this is refused they end a little later.
        let _ = fiord_sys::thread::set_timer_slack(1);
    }
    control.set_phase(Phase::Waiting);
    ready();
    if !control.wait_for_go() {
        return WorkerResult { error: None, ..failed(JobError::new("start", 0, "")) };
    }
    if let Err(error) = files.starting() {
        return failed(error);
    }
    let mut session = Session::new(
        (engine, source, content),
        (job, files),
        (control, live),
        (recorder, hertz),
        placer,
    );
    // Constants, so that no loop is compiled that the engine never runs.
    if const { E::ASYNC } && !at_once {
        // Trims may end as they are queued: the bytes of the writes before them are not their time.
        let trims_between = C::WRITES && job.load.mix.has(Dir::Trim);
        let dynamic = job.load.serialize_overlap || job.load.trim_ranges > 1 || trims_between;
        let wanted = if dynamic { axes::DYNAMIC } else { wanted };
        run_queued::<LOOPS, _, _, _>(&mut session, wanted);
    } else if const { !E::ASYNC || E::SOMETIMES_AT_ONCE } {
        run_direct::<LOOPS, _, _, _>(&mut session, if same { axes::SYNC } else { wanted });
    }
    session.finish();
    session.result()
}

/// The recorder of what a job wants measured.
fn recorder(job: &JobPlan, at_once: bool, waits: bool) -> Recorder {
    // What is handed over when neighbours have gathered is handed over and done in one: fio, too,
    // tells no submission latency of vsync.
    let at_once_or_gathered = at_once || matches!(job.engine, EnginePlan::Vsync);
    let wanted = wanted_axes(&job.record, at_once_or_gathered);
    let dirs: Vec<recorder::Dir> = recorder::Dir::ALL
        .into_iter()
        .zip([Dir::Read, Dir::Write, Dir::Trim])
        .filter(|(_, dir)| job.load.mix.has(*dir))
        .map(|(recorded, _)| recorded)
        .collect();
    let mut recorder = Recorder::new(with_neighbours(wanted), &dirs);
    recorder.axes = wanted;
    if let Some(priorities) = &job.load.priorities {
        let own = job.process.ioprio.map_or(0, IoPrio::bits);
        let others = priorities.values.iter().map(|value| value.bits());
        recorder.prioritize(&dirs, std::iter::once(own).chain(others));
    }
    recorder.slices = slices(job);
    // One number for both where nothing lies between the start of an I/O and its issue.
    recorder.lat_is_clat = at_once && recorder.axes == axes::SYNC | axes::LAT && !waits;
    recorder
}

/// `latency_limits`, with room for the slices of the whole run.
fn slices(job: &JobPlan) -> Option<Box<Slices>> {
    /// More than a year by the hour.
    const MOST: u64 = 10_000;
    let slices = job.record.slices.as_ref()?;
    let bounds: Vec<u64> = slices.limits.iter().map(|(over, _)| *over).collect();
    let expected = job.end.runtime.unwrap_or(0).div_ceil(slices.length.max(1)).min(MOST) + 1;
    Some(Box::new(Slices::new(slices.length, &bounds, expected as usize)))
}

/// Picks the loop for what is measured.
fn run_direct<const LOOPS: u8, E: Engine, S: Source, C: Fill>(
    session: &mut Session<'_, E, S, C>,
    wanted: u32,
) {
    // Constants, so that nothing is compiled for the branches not taken.
    if const { LOOPS == PACED_LOOP } {
        return session.run_direct::<{ axes::DYNAMIC | PACED }>();
    }
    if const { LOOPS == ZONED_LOOP } {
        return session.run_direct::<{ axes::DYNAMIC | PACED | ZONED }>();
    }
    if const { LOOPS == HOT_LOOPS } {
        match wanted {
            axes::BARE => return session.run_direct::<{ axes::BARE }>(),
            axes::SYNC => return session.run_direct::<{ axes::SYNC }>(),
            _ => {}
        }
    }
    session.run_direct::<{ axes::DYNAMIC }>();
}

/// Picks the loop for what is measured.
fn run_queued<const LOOPS: u8, E: Engine, S: Source, C: Fill>(
    session: &mut Session<'_, E, S, C>,
    wanted: u32,
) {
    // Constants, so that nothing is compiled for the branches not taken.
    if const { LOOPS == PACED_LOOP } {
        return session.run_queued::<{ axes::DYNAMIC | PACED }>();
    }
    if const { LOOPS == ZONED_LOOP } {
        return session.run_queued::<{ axes::DYNAMIC | PACED | ZONED }>();
    }
    if const { LOOPS == HOT_LOOPS } {
        match with_neighbours(wanted) {
            axes::BARE => return session.run_queued::<{ axes::BARE }>(),
            axes::ASYNC => return session.run_queued::<{ axes::ASYNC }>(),
            _ => {}
        }
    }
    session.run_queued::<{ axes::DYNAMIC }>();
}

/// What the loop of queued I/Os takes where `wanted` is asked for: all of what it takes by default
/// rather than a part, and what was not asked for is forgotten at the end. Deciding at each I/O
/// costs more than all of it.
fn with_neighbours(wanted: u32) -> u32 {
    if wanted != axes::BARE && wanted & !axes::ASYNC == 0 { axes::ASYNC } else { wanted }
}

/// What the job's options ask to be measured. Engines that complete at once have no submission
/// latency. Completion latencies always go into a histogram: from it come the coarse buckets too,
/// so that a job without percentiles (`clat_percentiles=0`) runs the same loop as one with them.
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
