//! The list of engines.

/// Calls a macro with the list of engines, one line each. [`EnginePlan`](crate::EnginePlan), the planner's choice of an engine,
/// the set-up of jobs and the tests of all engines are made from it.
///
/// A line is `VARIANT(OPTIONS): LOOPS, KIND, [NAME, READER];`:
///
/// - `VARIANT` of `EnginePlan`. The type of this name in `fiord-engine` implements the engine, and has a constructor
///   `new(&EngineConfig) -> Result<Self, EngineError>`.
/// - `OPTIONS`: the type of the engine's options, if it has any.
/// - `LOOPS`: which loops the worker compiles for it. `HOT`: one for each common combination of
///   source and measurements, for engines that run at the limit of the machine. `BOXED`: none. The
///   engine is behind a pointer, and all such engines share the loops, which keeps the program
///   small. `SIM`: as `BOXED`; in tests, as `HOT`.
/// - `KIND`: `calls` for an engine whose system calls the worker can make on other threads
///   (`io_submit_mode=offload`), with one engine for each slot; `queues` for an engine that does not
///   need that; `virtual_time` for an engine with a clock of its own.
/// - `NAME`: the engine's entry in the table of `fiord-job`, which describes it.
/// - `READER`: the function in the planner's directory `engine/` that reads `OPTIONS`.
///
/// `[]`: the entry depends on the options, which `EnginePlan::def` and the planner's `engine/mod.rs` treat separately.
///
/// ```
/// macro_rules! count {
///     ($($variant:ident $(($options:ty))?: $loops:ident, $kind:ident, $name:tt;)*) => {
///         [$(stringify!($variant)),*].len()
///     };
/// }
/// assert!(fiord_plan::for_each_engine!(count) > 10);
/// ```
#[macro_export]
macro_rules! for_each_engine {
    ($then:ident) => {
        $then! {
            Psync: HOT, calls, ["psync"];
            SyncRw: BOXED, calls, ["sync"];
            Vsync: BOXED, calls, ["vsync"];
            Pvsync: BOXED, calls, ["pvsync"];
            Pvsync2(Pvsync2Plan): BOXED, calls, ["pvsync2", calls::pvsync2];
            Mmap(MmapPlan): HOT, calls, ["mmap", calls::mmap];
            Mtd(MtdPlan): BOXED, calls, ["mtd", flash::options];
            Splice: BOXED, calls, ["splice"];
            PosixAio: BOXED, queues, ["posixaio"];
            Libaio(LibaioPlan): HOT, queues, ["libaio", calls::libaio];
            IoUring(IoUringPlan): HOT, queues, ["io_uring", ring::ring];
            IoUringCmd(Box<PassthroughPlan>): HOT, queues, ["io_uring_cmd", nvme::passthrough];
            Sg(SgPlan): BOXED, queues, ["sg", scsi::options];
            Libzbc: BOXED, calls, ["libzbc"];
            E4defrag(E4defragPlan): BOXED, calls, ["e4defrag", defrag::options];
            Falloc: BOXED, calls, ["falloc"];
            Ftruncate: BOXED, calls, ["ftruncate"];
            Names(Box<NamesPlan>): BOXED, calls, [];
            NamesRing(Box<NamesPlan>): BOXED, queues, [];
            Net(NetPlan): BOXED, calls, ["net", net::options];
            Netsplice(NetPlan): BOXED, calls, ["netsplice", net::spliced];
            Rdma(RdmaPlan): BOXED, queues, ["rdma", rdma::options];
            Null: HOT, queues, ["null"];
            Libblkio(Box<LibblkioPlan>): BOXED, queues, [];
            Libiscsi(Box<IscsiPlan>): BOXED, queues, ["libiscsi", iscsi::options];
            Nfs(Box<NfsPlan>): BOXED, queues, ["nfs", nfs::options];
            Nbd(Box<NbdPlan>): BOXED, queues, ["nbd", nbd::options];
            Http(Box<HttpPlan>): BOXED, queues, ["http", http::options];
            Rados(Box<RadosPlan>): BOXED, queues, ["rados", ceph::rados];
            Rbd(Box<RbdPlan>): BOXED, queues, ["rbd", ceph::rbd];
            Gfapi(Box<GfapiPlan>): BOXED, calls, ["gfapi", gfapi::options];
            GfapiAsync(Box<GfapiPlan>): BOXED, queues, ["gfapi_async", gfapi::options];
            External(PathBuf): BOXED, queues, ["external", library];
            Libpmem(PmemPlan): BOXED, calls, ["libpmem", pmem::options];
            DevDax(PmemPlan): BOXED, calls, ["dev-dax", pmem::device];
            PageFault(PageFaultPlan): BOXED, calls, ["page_fault", calls::page_fault];
            Cpuio(CpuioPlan): BOXED, queues, ["cpuio", activity::cpuio];
            Exec(Box<ExecPlan>): BOXED, queues, ["exec", activity::exec];
            Sim(SimPlan): SIM, virtual_time, ["sim", simulated::options];
        }
    };
}
