//! The list of engines.

/// Calls a macro with the list of engines, one line each.
///
/// A line is `VARIANT => TYPE, LOOPS, KIND;`:
///
/// - `VARIANT` of [`fiord_plan::EnginePlan`], which selects the engine.
/// - `TYPE`: implements [`Engine`](crate::Engine) and has a constructor
///   `new(&EngineConfig) -> Result<TYPE, EngineError>`.
/// - `LOOPS`: which loops the worker compiles for it. `HOT`: one for each common combination of
///   source and measurements, for engines that run at the limit of the machine. `ONE`: one that
///   decides at run time, for all others: it keeps the program small. `SIM`: `HOT` in tests.
/// - `KIND`: `calls` for an engine whose system calls the worker can make on other threads
///   (`io_submit_mode=offload`); `queues` for an engine that does not need that; `virtual_time` for
///   an engine with a clock of its own.
///
/// ```
/// macro_rules! count {
///     ($($variant:ident => $type:ident, $loops:ident, $kind:ident;)*) => {
///         [$(stringify!($variant)),*].len()
///     };
/// }
/// assert!(fiord_engine::for_each_engine!(count) > 10);
/// ```
#[macro_export]
macro_rules! for_each_engine {
    ($then:ident) => {
        $then! {
            Psync => Psync, HOT, calls;
            Sync => SyncRw, ONE, calls;
            Vsync => Vsync, ONE, calls;
            Pvsync => Pvsync, ONE, calls;
            Pvsync2 => Pvsync2, ONE, calls;
            Mmap => Mmap, HOT, calls;
            Libaio => Libaio, HOT, queues;
            IoUring => IoUring, HOT, queues;
            IoUringCmd => IoUringCmd, HOT, queues;
            Sg => Sg, ONE, queues;
            Null => Null, HOT, queues;
            Sim => Sim, SIM, virtual_time;
        }
    };
}
