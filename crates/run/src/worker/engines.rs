//! Creates the engine of a job, and runs the job on it.
//!
//! The macro [`setup`] expands to one arm for each line of [`fiord_plan::for_each_engine`].

use fiord_engine::{Engine, EngineConfig, EngineError, MachineClock, Offload};
use fiord_plan::{EnginePlan, JobPlan};

use super::layers::{Boxed, Layered, Sendable};
use super::setup::{JobContext, with_boxed, with_hot};
use super::traced::Tracer;
use crate::worker_result::WorkerResult;

macro_rules! setup {
    ($($engine:ident $(($options:ty))?: $loops:ident, $kind:ident, $name:tt;)*) => {
        /// Runs a job on the loops that its engine has in the list.
        pub(super) fn run_job(config: &EngineConfig, context: JobContext) -> Box<WorkerResult> {
            match &context.job.engine {
                $(EnginePlan::$engine { .. } => run!($loops $engine, config, context),)*
            }
        }

        /// Runs a job whose I/Os are traced (`--debug=io`). Its engine is behind a pointer.
        pub(super) fn run_traced(
            config: &EngineConfig,
            context: JobContext,
            tracer: Tracer,
        ) -> Box<WorkerResult> {
            match &context.job.engine {
                $(EnginePlan::$engine { .. } => {
                    with_boxed(boxed(config, fiord_engine::$engine::new), context, Some(tracer))
                })*
            }
        }

        /// The engine of a job behind a pointer, where a separately compiled loop is not worthwhile. `None` for an
        /// engine with a clock of its own, which has a different type.
        pub(super) fn any_engine(
            config: &EngineConfig,
            job: &JobPlan,
        ) -> Option<Result<Boxed, EngineError>> {
            let engine = match &job.engine {
                $(EnginePlan::$engine { .. } => any!($kind $engine, config),)*
            };
            debug_assert_eq!(engine.is_none(), job.engine.def().virtual_time, "list and table");
            engine
        }

        /// The engine of a job that makes its system calls on separate threads (`io_submit_mode=offload`). `None`
        /// for an engine that queues I/Os itself.
        pub(super) fn offloaded(
            config: &EngineConfig,
            job: &JobPlan,
        ) -> Option<Result<Boxed, EngineError>> {
            let engine = match &job.engine {
                $(EnginePlan::$engine { .. } => offload!($kind $engine, config, job),)*
            };
            debug_assert_eq!(engine.is_some(), job.engine.def().is_synchronous(), "list and table");
            engine
        }
    };
}

macro_rules! run {
    (HOT $engine:ident, $config:ident, $context:ident) => {
        with_hot($config, fiord_engine::$engine::new, $context)
    };
    // Tests compare the latencies of the simulated device with the truth, in the loops that real engines have.
    (SIM $engine:ident, $config:ident, $context:ident) => {
        if const { cfg!(test) } {
            with_hot($config, fiord_engine::$engine::new, $context)
        } else {
            run!(BOXED $engine, $config, $context)
        }
    };
    (BOXED $engine:ident, $config:ident, $context:ident) => {
        with_boxed(boxed($config, fiord_engine::$engine::new), $context, None)
    };
}

macro_rules! any {
    (virtual_time $engine:ident, $config:ident) => {
        None
    };
    ($kind:ident $engine:ident, $config:ident) => {
        Some(boxed($config, fiord_engine::$engine::new))
    };
}

macro_rules! offload {
    (calls $engine:ident, $config:ident, $job:ident) => {
        Some(offload($config, $job, &|config| fiord_engine::$engine::new(config).map(sendable)))
    };
    ($kind:ident $engine:ident, $config:ident, $job:ident) => {
        None
    };
}

fiord_plan::for_each_engine!(setup);

fn sendable(engine: impl Engine<Clock = MachineClock> + Send + 'static) -> Sendable {
    Layered::sendable(engine)
}

/// An engine whose system calls are made on separate threads. `make` creates the engine of one thread. Compiled once
/// for all engines.
fn offload(
    config: &EngineConfig,
    job: &JobPlan,
    make: &dyn Fn(&EngineConfig) -> Result<Sendable, EngineError>,
) -> Result<Boxed, EngineError> {
    Offload::new(config, job.slots(), make).map(|engine| Layered::new(engine, ()))
}

/// An engine behind a pointer. Not inlined: the frames of all engines would add up in the function that selects one,
/// and that function is on the stack of each job while it runs.
#[inline(never)]
fn boxed<E: Engine + 'static>(
    config: &EngineConfig,
    make: fn(&EngineConfig) -> Result<E, EngineError>,
) -> Result<Layered<(), E::Clock>, EngineError> {
    make(config).map(|engine| Layered::new(engine, ()))
}
