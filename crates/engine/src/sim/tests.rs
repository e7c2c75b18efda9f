use fiord_plan::EnginePlan;
use fiord_types::{Errno, Nanos};

use super::options::Fault;
use super::random::LatencyDistribution;
use super::*;
use crate::IoAttributes;

mod faults;

const BLOCK: u32 = 4096;

/// A simulated device and its slots, the first of which is the last in the list.
fn sim(slots: u32, options: SimOptions) -> (Sim, Vec<FreeSlot>) {
    let config = EngineConfig::plain(EnginePlan::Sim(Default::default()), slots, 4 * BLOCK);
    let mut sim = Sim::with_options(&config, options).unwrap();
    let free = sim.take_slots().into_iter().rev().collect();
    (sim, free)
}

fn options(list: &[(&str, &str)]) -> SimOptions {
    let list: Vec<_> =
        list.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
    SimOptions::parse(&list).unwrap()
}

fn op(kind: OpKind, block: u64) -> Op {
    Op {
        kind,
        file: FileIndex(0),
        offset: block * u64::from(BLOCK),
        len: BLOCK,
        at: 0,
        attributes: IoAttributes::PLAIN,
    }
}

/// Runs `count` reads of ascending blocks at full depth. Returns all outcomes in the order of
/// completion.
fn run(sim: &mut Sim, mut free: Vec<FreeSlot>, count: u64) -> Vec<(Slot, Outcome)> {
    let slots = free.len() as u32;
    let mut done = Completions::with_capacity(slots);
    let mut all = Vec::new();
    let mut next = 0;
    while (all.len() as u64) < count {
        while next < count
            && let Some(slot) = free.pop()
        {
            assert_eq!(sim.queue(slot, &op(OpKind::Read, next)), Queued::Pending);
            next += 1;
        }
        sim.reap(Want { min: 1, max: slots, timeout: None }, &mut done).unwrap();
        assert!(!done.is_empty());
        while let Some((slot, outcome)) = done.pop_front() {
            all.push((slot.index(), outcome));
            free.push(slot);
        }
    }
    all
}

fn one(sim: &mut Sim, free: &mut Vec<FreeSlot>, op: &Op) -> Outcome {
    assert_eq!(sim.queue(free.pop().unwrap(), op), Queued::Pending);
    let mut done = Completions::with_capacity(1);
    sim.reap(Want { min: 1, max: 1, timeout: None }, &mut done).unwrap();
    let (slot, outcome) = done.pop_front().unwrap();
    free.push(slot);
    outcome
}

#[test]
fn channels_limit_how_many_ops_are_served_at_a_time() {
    for (channels, depth, expected) in [(1, 8, 100), (4, 8, 25), (8, 4, 25), (0, 8, 13)] {
        let (mut sim, free) = sim(depth, SimOptions { channels, ..Default::default() });
        let start = sim.clock().now();
        run(&mut sim, free, 100);
        assert_eq!((sim.clock().now() - start) / 100_000, expected, "{channels} {depth}");
    }
}

#[test]
fn costs_pass_time() {
    let costs =
        SimOptions { submit_cost: Nanos(300), complete_cost: Nanos(50), ..Default::default() };
    let (mut sim, free) = sim(4, costs);
    let clock = sim.clock();
    let start = clock.now();
    for slot in free {
        assert_eq!(sim.queue(slot, &op(OpKind::Read, 0)), Queued::Pending);
    }
    assert_eq!(clock.now(), start);
    assert_eq!(sim.flush().unwrap(), 4);
    assert_eq!(clock.now() - start, 1200);
    let mut done = Completions::with_capacity(4);
    sim.reap(Want { min: 1, max: 4, timeout: None }, &mut done).unwrap();
    assert_eq!((done.len(), clock.now() - start), (1, 300 + 100_000 + 50));
}

#[test]
fn a_wait_ends_when_its_time_is_up() {
    let (mut sim, mut free) = sim(1, SimOptions::default());
    let start = sim.clock().now();
    assert_eq!(sim.queue(free.pop().unwrap(), &op(OpKind::Read, 0)), Queued::Pending);
    let mut done = Completions::with_capacity(1);
    sim.reap(Want { min: 1, max: 1, timeout: Some(60_000) }, &mut done).unwrap();
    assert_eq!((done.len(), sim.clock().now() - start), (0, 60_000));
    sim.reap(Want { min: 1, max: 1, timeout: Some(60_000) }, &mut done).unwrap();
    assert_eq!((done.len(), sim.clock().now() - start), (1, 100_000));
}

#[test]
fn a_poller_sees_time_pass() {
    let (mut sim, mut free) = sim(1, SimOptions::default());
    assert_eq!(sim.queue(free.pop().unwrap(), &op(OpKind::Read, 0)), Queued::Pending);
    let mut done = Completions::with_capacity(1);
    let polls = (0..)
        .take_while(|_| {
            sim.reap(Want { min: 0, max: 1, timeout: None }, &mut done).unwrap();
            done.is_empty()
        })
        .count();
    assert_eq!(polls, 1000);
}

#[test]
fn a_stall_holds_up_what_is_under_way() {
    let stalls = vec![(150_000, 1_000_000)];
    let (mut sim, free) = sim(1, SimOptions { stalls, ..Default::default() });
    let trace = sim.trace();
    run(&mut sim, free, 3);
    let start = sim.clock().start();
    let ends: Vec<u64> = trace.borrow().iter().map(|a| a.ended - start).collect();
    assert_eq!(ends, [100_000, 1_200_000, 1_300_000]);
}

#[test]
fn equal_seeds_give_equal_runs() {
    let options = SimOptions {
        latency: [LatencyDistribution::Lognormal { median: 90_000, sigma: 0.5 }; 4],
        error_rate: 5.0,
        short_rate: 5.0,
        ..Default::default()
    };
    let accesses = |seed| {
        let (mut sim, free) = sim(8, SimOptions { seed, ..options.clone() });
        let trace = sim.trace();
        run(&mut sim, free, 1000);
        trace.take()
    };
    assert_eq!(accesses(3), accesses(3));
    assert_ne!(accesses(3), accesses(4));
}

#[test]
fn distributions_have_the_moments_they_promise() {
    let mut random = Random::new(1);
    let mut mean_of = |distribution: LatencyDistribution| {
        (0..200_000).map(|_| distribution.draw(&mut random)).sum::<u64>() as f64 / 200_000.0
    };
    for (distribution, mean) in [
        (LatencyDistribution::Constant(100_000), 100_000.0),
        (LatencyDistribution::Uniform(50_000, 150_000), 100_000.0),
        (LatencyDistribution::Normal { mean: 100_000, deviation: 20_000 }, 100_000.0),
        (LatencyDistribution::Exponential(100_000), 100_000.0),
        (
            LatencyDistribution::Lognormal { median: 100_000, sigma: 0.5 },
            100_000.0 * (0.5f64 * 0.5 / 2.0).exp(),
        ),
    ] {
        let found = mean_of(distribution);
        assert!((found / mean - 1.0).abs() < 0.01, "{distribution:?}: {found}");
    }
}

#[test]
fn faults_strike_where_and_when_the_options_say() {
    let errors = vec![
        Fault { errno: Errno::EIO, on: FaultOn::Bytes(4096, 8192) },
        Fault { errno: Errno::ENODEV, on: FaultOn::Op(4) },
    ];
    let (mut sim, mut free) =
        sim(1, SimOptions { errors, size: Bytes(4 * 4096 + 512), ..Default::default() });
    assert_eq!(one(&mut sim, &mut free, &op(OpKind::Read, 0)), Outcome::ok(BLOCK));
    assert_eq!(one(&mut sim, &mut free, &op(OpKind::Read, 1)), Outcome::err(Errno::EIO));
    assert_eq!(one(&mut sim, &mut free, &op(OpKind::Read, 2)), Outcome::ok(BLOCK));
    assert_eq!(one(&mut sim, &mut free, &op(OpKind::Read, 2)), Outcome::err(Errno::ENODEV));
    assert_eq!(one(&mut sim, &mut free, &op(OpKind::Read, 4)), Outcome::ok(512));
    assert_eq!(one(&mut sim, &mut free, &op(OpKind::Read, 5)), Outcome::err(Errno::EIO));
    assert_eq!(one(&mut sim, &mut free, &op(OpKind::Write, 5)), Outcome::err(Errno::ENOSPC));
}

#[test]
fn the_store_keeps_what_was_written() {
    let (mut sim, mut free) = sim(1, SimOptions { store: true, ..Default::default() });
    sim.buffer(&mut free[0]).fill(7);
    let odd = Op { offset: 1000, len: 10_000, at: 100, ..op(OpKind::Write, 0) };
    assert_eq!(one(&mut sim, &mut free, &odd), Outcome::ok(10_000));
    assert_eq!(one(&mut sim, &mut free, &op(OpKind::Trim, 1)), Outcome::ok(0));
    sim.buffer(&mut free[0]).fill(1);
    one(&mut sim, &mut free, &Op { offset: 0, len: 12_288, ..op(OpKind::Read, 0) });
    let data = sim.buffer(&mut free[0]);
    assert!(data[..1000].iter().chain(&data[4096..8192]).all(|b| *b == 0));
    assert!(data[1000..4096].iter().chain(&data[8192..11_000]).all(|b| *b == 7));
    assert!(data[11_000..12_288].iter().all(|b| *b == 0));
    assert!(data[12_288..].iter().all(|b| *b == 1));
}

#[test]
fn torn_and_lost_writes_say_that_they_worked() {
    let lost = options(&[("sim_lost_rate", "100")]);
    let (mut sim, mut free) = sim(1, lost);
    sim.buffer(&mut free[0]).fill(7);
    assert_eq!(one(&mut sim, &mut free, &op(OpKind::Write, 0)), Outcome::ok(BLOCK));
    one(&mut sim, &mut free, &op(OpKind::Read, 0));
    assert!(sim.buffer(&mut free[0])[..BLOCK as usize].iter().all(|b| *b == 0));

    let torn = options(&[("sim_torn_rate", "100")]);
    let (mut sim, mut free) = self::sim(1, torn);
    sim.buffer(&mut free[0]).fill(7);
    assert_eq!(one(&mut sim, &mut free, &op(OpKind::Write, 0)), Outcome::ok(BLOCK));
    one(&mut sim, &mut free, &op(OpKind::Read, 0));
    let kept = sim.buffer(&mut free[0])[..BLOCK as usize].iter().filter(|b| **b == 7).count();
    assert!(kept > 0 && kept < BLOCK as usize && kept % 512 == 0, "{kept}");
}
