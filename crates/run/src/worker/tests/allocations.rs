//! Checks that the inner loop allocates nothing: a job with many I/Os makes as many allocations as one with few.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use fiord_engine::MachineClock;
use fiord_plan::{EnginePlan, JobPlan, Mix, SimPlan};
use fiord_stat::live::Live;

use super::super::run;
use super::NoFiles;
use crate::control::JobControl;

/// The system allocator, with a count of the allocations of each thread.
struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

fn note() {
    // A thread that is ending no longer has a count.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: all calls are passed unchanged to the system allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
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

/// Number of allocations of a job that repeats its work `loops` times.
fn allocations(job: &JobPlan, loops: u64) -> u64 {
    let mut job = job.clone();
    job.end.loops = loops;
    let control = JobControl::new();
    control.go();
    let (live, clock) = (Live::new(), MachineClock::best());
    let before = COUNT.get();
    let result = run(&job, clock, &mut NoFiles(1), &control, &live, &|| (), None);
    let count = COUNT.get() - before;
    assert_eq!(result.error, None);
    let ios: u64 = result.recorder.totals().values().map(|t| t.1).sum();
    assert_eq!(ios, loops * 1024);
    count
}

fn check(engine: EnginePlan) {
    for mix in [Mix::Read, Mix::Write] {
        for (random, depth) in [(false, 1), (true, 1), (false, 32), (true, 32)] {
            let mut job = JobPlan::plain(engine.clone(), 4 << 20);
            job.load.mix = mix;
            job.load.random = random;
            job.depth.depth = depth;
            let (few, many) = (allocations(&job, 1), allocations(&job, 50));
            assert_eq!(few, many, "{mix:?}, random {random}, depth {depth}");
        }
    }
}

#[test]
fn null_allocates_nothing_per_io() {
    check(EnginePlan::Null);
}

#[test]
fn the_simulated_device_allocates_nothing_per_io() {
    check(EnginePlan::Sim(SimPlan { options: Vec::new() }));
}
