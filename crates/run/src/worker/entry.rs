//! Runs a job on its engine, with the layers around it that its options ask for.

use std::sync::Arc;

use fiord_engine::{EngineConfig, EngineError, MachineClock};
use fiord_plan::{EndpointError, EndpointSubject, JobPlan, LockFile};
use fiord_stat::live::Live;
use fiord_types::Errno;

use super::layers::{Boxed, Layered};
use super::locked::Locked;
use super::setup::{JobContext, failed, with_boxed};
use super::traced::Tracer;
use super::{RunServices, engines};
use crate::error::{JobError, Stage};
use crate::files::Files;
use crate::files::lock::FileLock;
use crate::job::control::{JobControl, Phase};
use crate::job::thread;
use crate::worker_result::WorkerResult;

/// Runs a job instance on the calling thread to its end. Calls `ready` when everything is set up; the first I/O
/// follows [`JobControl::go`]. `clock` times engines that do real I/O.
pub(crate) fn run(
    job: &JobPlan,
    clock: MachineClock,
    files: &mut dyn Files,
    control: &JobControl,
    live: &Live,
    services: &RunServices<'_>,
) -> Box<WorkerResult> {
    control.set_phase(Phase::SetUp);
    if let Some(why) = &job.unavailable {
        return failed(unavailable(why));
    }
    let mut config = EngineConfig::for_job(job, clock);
    config.disks = files.simulated();
    config.end = control.end().clone();
    let context = JobContext::new(job, files, clock, control, live, services);
    if !job.engine.def().in_flight.uses_depth() {
        // Such an engine can use only one buffer.
        config.slots = 1;
    }
    let debug = services.debug;
    if let Some(debug) = debug.filter(|debug| debug.wants("mem", job.identity.index)) {
        let bytes = u64::from(config.slots) * config.buffer_bytes.0;
        debug.line("mem", thread::id(), format_args!("Alloc {bytes} for buffers"));
    }
    let tracer = Tracer::of(job, debug);
    if job.pace.offload
        && let Some(engine) = engines::offloaded(&config, job)
    {
        return with_boxed(engine, context, tracer);
    }
    if job.target.lock != LockFile::None {
        let locks = context.files.locks();
        return with_boxed(locked(&config, job, locks), context, tracer);
    }
    match tracer {
        Some(tracer) => engines::run_traced(&config, context, tracer),
        None => engines::run_job(&config, context),
    }
}

/// The error of a job that cannot run, as the planner found out.
fn unavailable(why: &EndpointError) -> JobError {
    let EndpointError { what, help, errno, about } = why.clone();
    let stage = match about {
        EndpointSubject::Library => Stage::EngineSetUp,
        _ => Stage::Connect,
    };
    JobError::from(EngineError { what, help, errno }).during(stage)
}

/// The engine of a job that locks its files around each I/O (`lockfile`).
fn locked(
    config: &EngineConfig,
    job: &JobPlan,
    locks: Vec<Arc<FileLock>>,
) -> Result<Boxed, EngineError> {
    let Some(engine) = engines::any_engine(config, job) else {
        return Err(EngineError {
            what: format!(
                "lockfile: each job of ioengine={} has its own virtual time, so jobs cannot wait for a lock",
                job.engine.def().name
            ),
            help: None,
            errno: Some(Errno::EINVAL),
        });
    };
    let locked = Locked::new(job.target.lock, locks, config.slots);
    Ok(Layered::new(Layered::new(engine?, locked), ()))
}
