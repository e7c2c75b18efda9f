//! Creates the engine of a job, and runs the job on it.
//!
//! The macro [`setup`] expands to one arm for each line of [`fiord_engine::for_each_engine`]. If the compiler reports a
//! variant of [`EnginePlan`] that is not covered here, add its line to that list.

use fiord_engine::{Engine, EngineConfig, EngineError, MachineClock, Offload};
use fiord_plan::{EnginePlan, JobPlan};

use super::WorkerResult;
use super::layers::{Boxed, Layered};
use super::setup::{HOT, LOGGED, MANAGED_LOGGED, ONE, SIM, Surroundings, with_boxed, with_engine};
use super::traced::{Traced, Tracer};

macro_rules! setup {
    ($($plan:ident => $engine:ident, $loops:ident, $kind:ident;)*) => {
        /// Runs a job on the loops that its engine has in the list.
        pub(super) fn run_job(config: &EngineConfig, around: Surroundings) -> WorkerResult {
            match &around.job.engine {
                $(EnginePlan::$plan { .. } => run!($loops $engine, config, around),)*
            }
        }

        /// Runs a job whose engine is behind a pointer, on the `LOOPS` that are compiled once for all engines. `tracer`:
        /// its I/Os are traced (`--debug=io`).
        pub(super) fn run_boxed<const LOOPS: u8>(
            config: &EngineConfig,
            around: Surroundings,
            tracer: Option<Tracer>,
        ) -> WorkerResult {
            match &around.job.engine {
                $(EnginePlan::$plan { .. } => in_box!($kind $engine, LOOPS, config, around, tracer),)*
            }
        }

        /// The engine of a job behind a pointer, where a separately compiled loop is not worthwhile. `None` for an
        /// engine with a clock of its own, which has a different type.
        pub(super) fn any_engine(
            config: &EngineConfig,
            job: &JobPlan,
        ) -> Option<Result<Boxed, EngineError>> {
            let engine = match &job.engine {
                $(EnginePlan::$plan { .. } => any!($kind $engine, config),)*
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
                $(EnginePlan::$plan { .. } => offload!($kind $engine, config, job),)*
            };
            debug_assert_eq!(engine.is_some(), job.engine.def().is_synchronous(), "list and table");
            engine
        }
    };
}

macro_rules! run {
    (BOXED $engine:ident, $config:ident, $around:ident) => {
        with_boxed::<ONE>(fiord_engine::$engine::new($config).map(boxed), $around, None)
    };
    ($loops:ident $engine:ident, $config:ident, $around:ident) => {
        with_engine::<_, $loops>(fiord_engine::$engine::new($config), $around)
    };
}

macro_rules! any {
    (virtual_time $engine:ident, $config:ident) => {
        None
    };
    ($kind:ident $engine:ident, $config:ident) => {
        Some(fiord_engine::$engine::new($config).map(boxed))
    };
}

macro_rules! in_box {
    (virtual_time $engine:ident, $loops:ident, $config:ident, $around:ident, $tracer:ident) => {{
        let engine = fiord_engine::$engine::new($config);
        let slots = $around.job.slots();
        // Its I/Os cost nothing, so it has no fast loops.
        match ($tracer.map(|tracer| Traced::new(tracer, slots)), $loops == LOGGED) {
            (Some(traced), true) => {
                with_engine::<_, MANAGED_LOGGED>(engine.map(|e| Layered::new(e, traced)), $around)
            }
            (Some(traced), false) => {
                with_engine::<_, ONE>(engine.map(|e| Layered::new(e, traced)), $around)
            }
            (None, true) => with_engine::<_, MANAGED_LOGGED>(engine, $around),
            (None, false) => with_engine::<_, ONE>(engine, $around),
        }
    }};
    ($kind:ident $engine:ident, $loops:ident, $config:ident, $around:ident, $tracer:ident) => {
        with_boxed::<$loops>(fiord_engine::$engine::new($config).map(boxed), $around, $tracer)
    };
}

macro_rules! offload {
    (calls $engine:ident, $config:ident, $job:ident) => {
        Some(Offload::new($config, $job.slots(), fiord_engine::$engine::new).map(boxed))
    };
    ($kind:ident $engine:ident, $config:ident, $job:ident) => {
        None
    };
}

fiord_engine::for_each_engine!(setup);

fn boxed(engine: impl Engine<Clock = MachineClock> + 'static) -> Boxed {
    Layered::new(engine, ())
}
