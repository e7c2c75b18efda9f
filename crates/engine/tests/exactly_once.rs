//! Random sequences of calls: every op that an engine accepts completes exactly once.

use fiord_engine::sim::SimOptions;
use fiord_engine::sim::random::LatencyDistribution;
mod scratch;

use fiord_engine::{
    Completions, Engine, EngineConfig, FreeSlot, IoAttributes, IoUring, Libaio, Null, Op, OpKind,
    Outcome, Queued, Sim, Slot, Time, Vsync, Want,
};
use fiord_plan::{EnginePlan, FaultEffect, FaultTrigger, IoUringPlan, LibaioPlan, SimFault};
use fiord_types::{Bytes, FileIndex, Nanos};
use proptest::prelude::*;
use scratch::{Scratch, attach};

/// A call that the user of an engine makes.
#[derive(Debug, Clone)]
enum Step {
    Queue(Slot, u8, u32),
    Flush,
    Reap(u32, u32, Option<u64>),
}

fn step(slots: u32) -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..slots, 0u8..6, 0u32..8192).prop_map(|(slot, kind, len)| Step::Queue(slot, kind, len)),
        1 => Just(Step::Flush),
        3 => (0..=slots + 1, 1..=slots, prop::option::of(0u64..300_000))
            .prop_map(|(min, max, timeout)| Step::Reap(min, max, timeout)),
    ]
}

fn kind(number: u8) -> OpKind {
    match number {
        0 => OpKind::Read,
        1 => OpKind::Write,
        2 => OpKind::Trim,
        3 => OpKind::Fsync,
        4 => OpKind::Fdatasync,
        _ => OpKind::SyncFileRange(7),
    }
}

/// Makes the calls, and keeps track of what is in flight. `free`: all slots of the engine.
fn follow<E: Engine>(
    engine: &mut E,
    free: Vec<FreeSlot>,
    steps: &[Step],
) -> Result<(), TestCaseError> {
    let slots = free.len() as u32;
    let mut free: Vec<Option<FreeSlot>> = free.into_iter().map(Some).collect();
    let mut in_flight: Vec<Option<u32>> = vec![None; slots as usize];
    let mut done = Completions::with_capacity(slots);
    let mut last = engine.clock().now();
    let drain = Step::Reap(slots, slots, None);
    for step in steps.iter().chain([&drain]) {
        match step {
            Step::Queue(index, number, len) => {
                let Some(slot) = free[*index as usize].take() else { continue };
                let op = Op {
                    kind: kind(*number),
                    file: FileIndex(0),
                    offset: 4096,
                    len: *len,
                    at: 0,
                    attributes: IoAttributes::PLAIN,
                };
                match engine.queue(slot, &op) {
                    Queued::Pending => in_flight[*index as usize] = Some(*len),
                    Queued::Done(slot, outcome) => {
                        prop_assert_eq!(slot.index(), *index);
                        free[*index as usize] = Some(slot);
                        prop_assert!(bounded(outcome, *len));
                    }
                    // A real engine may have to submit earlier ops before it accepts this one.
                    Queued::Full(slot) => {
                        free[*index as usize] = Some(slot);
                        prop_assert!(in_flight.iter().any(Option::is_some));
                    }
                }
            }
            Step::Flush => {
                engine.flush().unwrap();
            }
            Step::Reap(min, max, timeout) => {
                let waiting = in_flight.iter().flatten().count();
                let want = Want { min: *min, max: *max, timeout: *timeout };
                engine.reap(want, &mut done).unwrap();
                prop_assert!(done.len() <= *max as usize);
                if timeout.is_none() {
                    prop_assert!(done.len() >= waiting.min(*min as usize).min(*max as usize));
                }
                while let Some((slot, outcome)) = done.pop_front() {
                    let index = slot.index() as usize;
                    let len = in_flight[index].take();
                    prop_assert!(len.is_some_and(|len| bounded(outcome, len)));
                    prop_assert!(free[index].replace(slot).is_none(), "two tokens of a slot");
                }
            }
        }
        let now = engine.clock().now();
        prop_assert!(now >= last, "time went back");
        last = now;
    }
    prop_assert!(in_flight.iter().all(Option::is_none), "an op never completed");
    Ok(())
}

fn bounded(outcome: Outcome, len: u32) -> bool {
    outcome.get().map_or_else(|errno| errno.raw() > 0, |bytes| bytes <= len)
}

fn latency() -> impl Strategy<Value = LatencyDistribution> {
    let time = 0u64..1_000_000;
    prop_oneof![
        time.clone().prop_map(LatencyDistribution::Constant),
        (time.clone(), time.clone())
            .prop_map(|(a, b)| LatencyDistribution::Uniform(a.min(b), a.max(b))),
        (time.clone(), time.clone())
            .prop_map(|(mean, deviation)| LatencyDistribution::Normal { mean, deviation }),
        time.clone().prop_map(LatencyDistribution::Exponential),
        (time, 0.0..3.0f64)
            .prop_map(|(median, sigma)| LatencyDistribution::Lognormal { median, sigma }),
    ]
}

prop_compose! {
    fn options()(
        seed in any::<u64>(),
        latency in [latency(), latency(), latency(), latency()],
        channels in 0u32..10,
        error_rate in 0.0..100.0f64,
        short_rate in 0.0..100.0f64,
        torn_rate in 0.0..100.0f64,
        stalls in prop::collection::vec((0u64..2_000_000, 0u64..1_000_000), 0..3),
        size in prop_oneof![Just(0u64), 4000u64..10_000].prop_map(Bytes),
        submit_cost in (0u64..1000).prop_map(Nanos),
        complete_cost in (0u64..1000).prop_map(Nanos),
    ) -> SimOptions {
        let effect = FaultEffect::Torn { sectors: None, unit: Bytes(512) };
        let trigger = FaultTrigger { rate: Some(torn_rate), ..FaultTrigger::default() };
        let faults = vec![SimFault { effect, trigger }];
        SimOptions {
            seed, latency, channels, error_rate, short_rate, faults, stalls, size, submit_cost,
            complete_cost, store: true, ..Default::default()
        }
    }
}

fn run() -> impl Strategy<Value = (u32, Vec<Step>)> {
    (1u32..9).prop_flat_map(|slots| (Just(slots), prop::collection::vec(step(slots), 0..200)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn on_a_simulated_device((slots, steps) in run(), options in options()) {
        let config = EngineConfig::plain(EnginePlan::Sim(Default::default()), slots, 8192);
        let mut sim = Sim::with_options(&config, options).unwrap();
        let free = sim.take_slots();
        follow(&mut sim, free, &steps)?;
    }

    #[test]
    fn on_null((slots, steps) in run()) {
        let config = EngineConfig::plain(EnginePlan::Null, slots, 8192);
        let mut null = Null::new(&config).unwrap();
        let free = null.take_slots();
        follow(&mut null, free, &steps)?;
    }

    #[test]
    fn on_a_simulated_device_there_is_always_room((slots, steps) in run()) {
        let config = EngineConfig::plain(EnginePlan::Sim(Default::default()), slots, 8192);
        let mut sim = Sim::new(&config).unwrap();
        let op = Op { kind: OpKind::Read, file: FileIndex(0), offset: 0, len: 512, at: 0, attributes: IoAttributes::PLAIN };
        for slot in sim.take_slots() {
            prop_assert_eq!(sim.queue(slot, &op), Queued::Pending);
        }
        let mut done = Completions::with_capacity(slots);
        sim.reap(Want { min: slots, max: slots, timeout: None }, &mut done).unwrap();
        let mut free: Vec<FreeSlot> = std::iter::from_fn(|| Some(done.pop_front()?.0)).collect();
        free.sort_by_key(FreeSlot::index);
        follow(&mut sim, free, &steps)?;
    }
}

/// Makes random calls to a real engine on a file.
fn on_a_file<E: Engine>(
    make: impl Fn(&EngineConfig) -> Result<E, fiord_engine::EngineError>,
    plan: EnginePlan,
) {
    let file = Scratch::new("once", 8192);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(24));
    let result = runner.run(&run(), |(slots, steps)| {
        let config = EngineConfig::plain(plan.clone(), slots, 8192);
        let mut engine = make(&config).unwrap();
        attach(&mut engine, FileIndex(0), &file.target(8192, false));
        let free = engine.take_slots();
        follow(&mut engine, free, &steps)
    });
    result.unwrap();
}

#[test]
fn on_vsync() {
    on_a_file(Vsync::new, EnginePlan::Vsync);
}

#[test]
fn on_libaio() {
    for vectored in [false, true] {
        let plan =
            EnginePlan::Libaio(LibaioPlan { userspace_reap: vectored, nowait: false, vectored });
        on_a_file(Libaio::new, plan);
    }
}

#[test]
fn on_io_uring() {
    let plain = IoUringPlan { nonvectored: true, ..Default::default() };
    on_a_file(IoUring::new, EnginePlan::IoUring(plain));
    on_a_file(IoUring::new, EnginePlan::IoUring(IoUringPlan { force_async: 2, ..plain }));
    let all = IoUringPlan { fixed_buffers: true, register_files: true, sqpoll: true, ..plain };
    on_a_file(IoUring::new, EnginePlan::IoUring(all));
}

#[test]
#[cfg(feature = "libblkio")]
fn on_libblkio() {
    use fiord_plan::{BlkioInstance, LibblkioDriver, LibblkioPlan, LibblkioWaitMode};

    let instance = BlkioInstance::new(LibblkioDriver::IoUring, "target".into());
    for wait in [LibblkioWaitMode::Block, LibblkioWaitMode::Eventfd, LibblkioWaitMode::Loop] {
        let plan = LibblkioPlan {
            instance: instance.clone(),
            polled: false,
            vectored: wait == LibblkioWaitMode::Loop,
            zeroes_on_trim: true,
            wait,
            completion_events: wait == LibblkioWaitMode::Eventfd,
        };
        on_a_file(fiord_engine::Libblkio::new, EnginePlan::Libblkio(Box::new(plan)));
    }
}
