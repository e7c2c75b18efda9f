//! Checks that the inner loop allocates nothing: a job with many I/Os makes no more allocations than one with few.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fiord_plan::{EnginePlan, JobPlan, Mix, Plan, SimPlan};
use fiord_run::events::EventSender;
use fiord_run::{NoInterrupts, RunOptions, run};

/// The system allocator, with a count of the allocations of all threads but the one of the test.
struct Counting;

static COUNT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IS_COUNTED: Cell<bool> = const { Cell::new(true) };
}

fn count() {
    // A thread that is ending no longer has the flag.
    if IS_COUNTED.try_with(Cell::get).unwrap_or(false) {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: all calls are passed unchanged to the system allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract.
        unsafe { System.realloc(old, layout, size) }
    }
    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Number of allocations on the thread of a job that repeats its work `loops` times, and number of windows of its samples.
fn allocations(job: &JobPlan, loops: u64) -> (u64, u64) {
    let mut job = job.clone();
    job.end.loops = loops;
    let plan = Arc::new(Plan { jobs: vec![job], global_options: Vec::new() });
    let options = RunOptions {
        bandwidth_log: None,
        progress: None,
        latencies: false,
        snapshots: None,
        status: None,
        aux_path: PathBuf::from("."),
        version: "fio-3.42 (test)".into(),
        utc_offset_s: 0,
        debug: None,
        trigger: fiord_run::Trigger::default(),
        idle_profile: None,
        gate: None,
        keep_data: false,
        keeper: None,
    };
    let before = COUNT.load(Ordering::Relaxed);
    let result = run(plan, &options, &EventSender::ignored(), &mut NoInterrupts, &mut || {});
    let count = COUNT.load(Ordering::Relaxed) - before;
    assert!(result.errors.is_empty(), "{:?}", result.errors);
    let ios: u64 = result.report.jobs[0].dirs.iter().map(|dir| dir.total_ios).sum();
    assert_eq!(ios, loops * 1024);
    (count, result.report.jobs[0].samples.spans().len() as u64)
}

/// One test, because the count is that of the process.
#[test]
fn an_io_allocates_nothing() {
    IS_COUNTED.set(false);
    for engine in
        [EnginePlan::Null, EnginePlan::Sim(SimPlan { options: Vec::new(), ..SimPlan::default() })]
    {
        for mix in [Mix::Read, Mix::Write] {
            for (random, depth) in [(false, 1), (true, 1), (false, 32), (true, 32)] {
                let mut job = JobPlan::plain(engine.clone(), 4 << 20);
                job.load.mix = mix;
                job.load.random = random;
                job.depth.depth = depth;
                job.reporting.stats = true;
                let ((few, _), (many, windows)) = (allocations(&job, 1), allocations(&job, 50));
                let what = format!("{engine:?}, {mix:?}, random {random}, depth {depth}");
                // A few allocations depend on how the threads take turns. Each window of samples takes its own.
                let most = few + 10 + 8 * windows;
                assert!(many < most, "{what}: {few} in 1024 I/Os, {many} in 50 times as many");
            }
        }
    }
}
