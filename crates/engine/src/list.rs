//! The list of engines.

/// Calls a macro with the list of engines, one line each.
///
/// A line is `VARIANT => TYPE, LOOPS, KIND;`:
///
/// - `VARIANT` of [`fiord_plan::EnginePlan`], which selects the engine.
/// - `TYPE`: implements [`Engine`](crate::Engine) and has a constructor
///   `new(&EngineConfig) -> Result<TYPE, EngineError>`.
/// - `LOOPS`: which loops the worker compiles for it. `HOT`: one for each common combination of
///   source and measurements, for engines that run at the limit of the machine. `BOXED`: none. The
///   engine is behind a pointer, and all such engines share the loops, which keeps the program
///   small. `SIM`: as `BOXED`; in tests, as `HOT`.
/// - `KIND`: `calls` for an engine whose system calls the worker can make on other threads
///   (`io_submit_mode=offload`), with one engine for each slot; `queues` for an engine that does not
///   need that; `virtual_time` for an engine with a clock of its own.
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
            Sync => SyncRw, BOXED, calls;
            Vsync => Vsync, BOXED, calls;
            Pvsync => Pvsync, BOXED, calls;
            Pvsync2 => Pvsync2, BOXED, calls;
            Mmap => Mmap, HOT, calls;
            Mtd => Mtd, BOXED, calls;
            Splice => Splice, BOXED, calls;
            PosixAio => PosixAio, BOXED, queues;
            Libaio => Libaio, HOT, queues;
            IoUring => IoUring, HOT, queues;
            IoUringCmd => IoUringCmd, HOT, queues;
            Sg => Sg, BOXED, queues;
            Libzbc => Libzbc, BOXED, calls;
            E4defrag => E4defrag, BOXED, calls;
            Falloc => Falloc, BOXED, calls;
            Ftruncate => Ftruncate, BOXED, calls;
            Names => Names, BOXED, calls;
            NamesRing => NamesRing, BOXED, queues;
            Net => Net, BOXED, calls;
            Netsplice => Netsplice, BOXED, calls;
            Rdma => Rdma, BOXED, queues;
            Null => Null, HOT, queues;
            Libblkio => Libblkio, BOXED, queues;
            Libiscsi => Libiscsi, BOXED, queues;
            Nfs => Nfs, BOXED, queues;
            Nbd => Nbd, BOXED, queues;
            Http => Http, BOXED, queues;
            Rados => Rados, BOXED, queues;
            Rbd => Rbd, BOXED, queues;
            Gfapi => Gfapi, BOXED, calls;
            GfapiAsync => GfapiAsync, BOXED, queues;
            External => External, BOXED, queues;
            Libpmem => Libpmem, BOXED, calls;
            DevDax => DevDax, BOXED, calls;
            PageFault => PageFault, BOXED, calls;
            Cpuio => Cpuio, BOXED, queues;
            Exec => Exec, BOXED, queues;
            Sim => Sim, SIM, virtual_time;
        }
    };
}
