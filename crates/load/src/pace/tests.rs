//! The schedules keep their promises.

use fiord_plan::*;
use fiord_types::{Dir, Nanos, PerDir};
use proptest::prelude::*;

use super::latency_target::WindowResult;
use super::linear::Linear;
use super::poisson::Exponential;
use super::think::Thought;
use super::*;
use crate::rng::Rng;

const SECOND: u64 = 1_000_000_000;

fn job(mix: Mix, rate: PerDir<Option<Rate>>) -> JobPlan {
    let mut job = JobPlan::plain(EnginePlan::Null, 1 << 30);
    job.load.mix = mix;
    job.pace.rate = rate;
    job
}

proptest! {
    /// From one I/O per second to one per nanosecond: the n-th I/O is due at exactly n / rate.
    #[test]
    fn ios_are_due_when_the_rate_says(rate in 1u64..=SECOND, n in 1u64..20_000) {
        let mut linear = Linear::new(Rate::Ios(rate), 7);
        for _ in 0..n {
            linear.advance(4096);
        }
        let exact = u128::from(n) * u128::from(SECOND) / u128::from(rate);
        prop_assert_eq!(u128::from(linear.due() - 7), exact);
    }

    /// Mixed lengths: over any window of a schedule bytes and time agree to a thousandth, and to
    /// one I/O in windows of less than a thousand I/Os.
    #[test]
    fn bytes_keep_their_rate_over_any_window(
        rate in 512u64..40_000_000_000,
        lens in prop::collection::vec(prop::sample::select(vec![512u32, 4096, 65536, 1 << 20]), 50..400),
        from in 0usize..40,
    ) {
        let mut linear = Linear::new(Rate::Bytes(rate), 0);
        let dues: Vec<u64> = lens.iter().map(|len| {
            let due = linear.due();
            linear.advance(*len);
            due
        }).collect();
        for to in from + 1..dues.len() {
            let bytes: u128 = lens[from..to].iter().map(|l| u128::from(*l)).sum();
            let time = u128::from(dues[to] - dues[from]);
            let exact = bytes * u128::from(SECOND) / u128::from(rate);
            // Due times are whole nanoseconds. Only a change of the denominator can lose up to one
            // nanosecond, and here it never changes.
            prop_assert!(time.abs_diff(exact) <= 1, "{} for {}", time, exact);
        }
    }
}

/// Poisson arrivals are exponential: Kolmogorov-Smirnov test at a significance of 1 %, and the mean
/// within four standard deviations.
#[test]
fn arrivals_are_a_poisson_process() {
    const N: usize = 200_000;
    for rate in [Rate::Ios(1), Rate::Ios(50_000), Rate::Ios(20_000_000), Rate::Bytes(12_345_678)] {
        let rng = Rng::new(4711, Purpose::Arrival, 0);
        let mut poisson = Poisson::new(rate, 0, rng);
        let mut last = 0;
        let mut gaps: Vec<f64> = (0..N)
            .map(|_| {
                let gap = poisson.due() - last;
                last = poisson.due();
                poisson.advance(4096);
                gap as f64
            })
            .collect();
        let (numerator, denominator) = fraction(rate, 4096);
        let mean = numerator as f64 / denominator as f64;
        let measured = gaps.iter().sum::<f64>() / N as f64;
        assert!((measured / mean - 1.0).abs() < 4.0 / (N as f64).sqrt(), "{rate:?}: {measured}");
        gaps.sort_by(f64::total_cmp);
        let distance = gaps
            .iter()
            .enumerate()
            .map(|(i, gap)| {
                // Gaps are whole nanoseconds, so compare in the middle of one.
                let expected = 1.0 - (-(gap + 0.5) / mean).exp();
                let (below, above) = (i as f64 / N as f64, (i + 1) as f64 / N as f64);
                (expected - below).abs().min((expected - above).abs())
            })
            .fold(0.0, f64::max);
        // With a mean of 50 ns, one nanosecond is 2 %, and the steps of the distribution show.
        let grain = 1.0 / mean;
        assert!(distance < 1.63 / (N as f64).sqrt() + grain, "{rate:?}: {distance}");
    }
}

#[test]
fn the_integer_logarithm_is_exact_enough() {
    let mut draws = Exponential::new(Rng::new(3, Purpose::Arrival, 0));
    let mut bits = Rng::new(3, Purpose::Arrival, 0);
    for _ in 0..100_000 {
        let u = (bits.draw() | 1) as f64 / 2f64.powi(64);
        let drawn = draws.draw() as f64 / 2f64.powi(32);
        assert!((drawn + u.ln()).abs() < 3e-6, "{u}: {drawn}");
    }
}

/// Makes each I/O when it is due, until `end`. Returns the number of I/Os per direction.
fn made(job: &JobPlan, end: u64) -> [u64; 3] {
    let mut pacer = Pacer::new(job, 0).expect("it has a rate");
    let (mut now, mut count, mut pair) = (0, PerDir::all(0), false);
    loop {
        let dir = pacer.choose(now).unwrap_or_else(|| {
            pair = !pair;
            if pair { Dir::Trim } else { Dir::Write }
        });
        now = now.max(pacer.due(dir));
        if now >= end {
            return count.into_array();
        }
        count[dir] += 1;
        pacer.issued(dir, 4096);
        // Each I/O takes a microsecond.
        now += 1000;
    }
}

#[test]
fn each_direction_has_its_own_schedule() {
    let ios = |n: u64| Some(Rate::Ios(n));
    let mix = |read_percent| Mix::ReadWrite { read_percent };
    for percent in [1, 50, 90] {
        let both = made(&job(mix(percent), PerDir::new(ios(70), ios(30), ios(30))), 10 * SECOND);
        assert_eq!(both, [700, 300, 0], "{percent} % reads");
    }
    // Only one direction has a rate: the other is as fast as it can be.
    let [reads, writes, _] = made(&job(mix(50), PerDir::new(ios(1000), None, None)), SECOND);
    assert_eq!(reads, 1000);
    assert!(writes > 900_000, "{writes}");
    let [reads, writes, _] = made(&job(mix(50), PerDir::new(None, ios(1000), ios(1000))), SECOND);
    assert_eq!(writes, 1000);
    assert!(reads > 900_000, "{reads}");
    // If the rate is not reached, the direction has its share of the mix and no more.
    let [reads, writes, _] = made(&job(mix(10), PerDir::new(ios(500_000), None, None)), SECOND);
    assert!(reads.abs_diff(writes / 9) < writes / 100, "{reads}, {writes}");
    // A mix of one direction.
    assert_eq!(made(&job(mix(100), PerDir::all(ios(10))), SECOND), [10, 0, 0]);
}

/// Directions of the first I/Os, and how late each was compared with its schedule, in ns.
fn order(rates: [u64; 2], count: usize) -> Vec<(Dir, u64)> {
    let [read, write] = rates.map(|rate| Some(Rate::Ios(rate)));
    let mix = Mix::ReadWrite { read_percent: 50 };
    let mut pacer = Pacer::new(&job(mix, PerDir::new(read, write, None)), 0).unwrap();
    let mut now = 0;
    let mut step = || {
        let dir = pacer.choose(now).unwrap();
        let due = pacer.due(dir);
        now = now.max(due);
        assert_eq!(pacer.intended(dir), now, "an I/O is intended when the worker can issue it");
        pacer.issued(dir, 4096);
        (dir, now - due)
    };
    (0..count).map(|_| step()).collect()
}

/// With rates of both directions, a direction does not keep to the same places in the order: with several files, each file would
/// get one direction only.
#[test]
fn the_order_of_reads_and_writes_is_drawn() {
    for (rates, per) in [([3000, 3000], 2), ([3000, 1000], 4), ([1000, 3000], 4), ([70, 30], 10)] {
        let order = order(rates, 4000);
        let rare = if rates[0] < rates[1] { Dir::Read } else { Dir::Write };
        let mut places = vec![0; per];
        for (i, (dir, late)) in order.iter().enumerate() {
            places[i % per] += usize::from(*dir == rare);
            assert!(*late <= SECOND / rates[0].min(rates[1]), "{rates:?}: {late}");
        }
        let all: usize = places.iter().sum();
        let share = rates[rare as usize] as f64 / (rates[0] + rates[1]) as f64;
        assert!((all as f64 - 4000.0 * share).abs() <= 1.0, "{rates:?}: {all}");
        // Five standard deviations of a binomial distribution are less than a half of each.
        let even = all / per;
        assert!(places.iter().all(|n| n.abs_diff(even) < even / 2), "{rates:?}: {places:?}");
    }
}

#[test]
fn trims_and_writes_keep_the_lower_rate() {
    let ios = |n: u64| Some(Rate::Ios(n));
    let of = |write, trim| made(&job(Mix::TrimWrite, PerDir::new(None, write, trim)), SECOND);
    assert_eq!(of(ios(100), ios(1000)), [0, 100, 100]);
    assert_eq!(of(ios(1000), ios(100)), [0, 100, 100]);
    assert_eq!(of(ios(100), None), [0, 100, 101]);
}

#[test]
fn a_job_does_not_catch_up_on_shifted_time() {
    let mut pacer = Pacer::new(&job(Mix::Read, PerDir::all(Some(Rate::Ios(1000)))), 5).unwrap();
    pacer.issued(Dir::Read, 4096);
    assert_eq!(pacer.due(Dir::Read), 1_000_005);
    pacer.shift(77);
    assert_eq!(pacer.due(Dir::Read), 1_000_082);
    assert_eq!(pacer.due(Dir::Write), 0);
}

#[test]
fn pauses_come_after_a_number_of_ios_or_a_time() {
    let mut job = job(Mix::Read, PerDir::all(None));
    let think = Think { time: Nanos(100), spin: Nanos(30), blocks: Some(2), ..Think::default() };
    job.pace.think = Some(think);
    let mut thinker = Thinker::new(&job, 0).unwrap();
    assert_eq!(thinker.before(0, 0), Thought::Go);
    thinker.issued();
    assert_eq!(thinker.before(1, 1), Thought::Go);
    thinker.issued();
    assert_eq!(thinker.before(2, 2), Thought::Drain);
    assert_eq!(thinker.before(9, 0), Thought::Pause { busy: 30, idle: 70 });
    assert_eq!(thinker.before(109, 0), Thought::Go);
    // If I/Os are counted at submission, a pause waits for nothing.
    job.pace.think = Some(Think { on_issue: true, ..think });
    let mut thinker = Thinker::new(&job, 0).unwrap();
    thinker.issued();
    thinker.issued();
    assert_eq!(thinker.before(2, 2), Thought::Pause { busy: 30, idle: 70 });
    // Pauses by time.
    job.pace.think = Some(Think { blocks: None, io_time: Nanos(500), ..think });
    let mut thinker = Thinker::new(&job, 0).unwrap();
    thinker.issued();
    assert_eq!(thinker.before(499, 1), Thought::Go);
    assert_eq!(thinker.before(500, 1), Thought::Drain);
    assert_eq!(thinker.before(520, 0), Thought::Pause { busy: 30, idle: 70 });
    assert_eq!(thinker.before(1119, 0), Thought::Go);
    assert_eq!(thinker.before(1120, 0), Thought::Pause { busy: 30, idle: 70 });
}

#[test]
fn a_minimum_rate_tolerates_one_missing_io() {
    let mut job = job(Mix::Read, PerDir::all(None));
    job.pace.min_rate = PerDir::all(Some(Rate::Ios(100)));
    job.pace.cycle = Nanos(SECOND);
    let mut min_rate = MinRate::new(&job, 0).unwrap();
    assert_eq!(min_rate.check(SECOND - 1, PerDir::all((0, 0))), Ok(()));
    assert_eq!(min_rate.check(SECOND, PerDir::new((0, 99), (0, 0), (0, 0))), Ok(()));
    assert_eq!(min_rate.next(), 2 * SECOND);
    let missed = min_rate.check(2 * SECOND, PerDir::new((0, 99 + 98), (0, 0), (0, 0))).unwrap_err();
    assert_eq!((missed.dir, missed.got), (Dir::Read, 98));
}

/// The search finds the largest depth below a knee, wherever the knee is.
#[test]
fn the_search_finds_the_largest_depth() {
    for knee in 1..=64 {
        let mut job = job(Mix::Read, PerDir::all(None));
        job.depth.depth = 64;
        job.pace.latency_target = Some(LatencyTargetPlan {
            target: Nanos(100),
            window: Nanos(10),
            share_ppm: 990_000,
            keep_on: false,
        });
        let mut target = LatencyTarget::new(&job, 0).unwrap();
        let (mut now, mut windows) = (0, 0);
        loop {
            for i in 0..1000 {
                let late = target.depth() > knee && i % 50 == 0;
                target.ended(if late { 101 } else { 100 });
            }
            now += 10;
            windows += 1;
            if target.check(now) == WindowResult::Found {
                break;
            }
            assert!(windows < 12, "no end for {knee}");
        }
        assert_eq!(target.depth(), knee);
    }
}

#[test]
fn a_target_out_of_reach_is_tried_at_depth_one() {
    let mut job = job(Mix::Read, PerDir::all(None));
    job.depth.depth = 8;
    job.pace.latency_target = Some(LatencyTargetPlan {
        target: Nanos(1),
        window: Nanos(10),
        share_ppm: 0,
        keep_on: false,
    });
    job.pace.latency_target.as_mut().unwrap().share_ppm = 1_000_000;
    let mut target = LatencyTarget::new(&job, 0).unwrap();
    for window in 1..50 {
        (0..9).for_each(|_| target.ended(2));
        assert_ne!(target.check(window * 10), WindowResult::Found);
    }
    assert_eq!(target.depth(), 1);
}

#[test]
fn latency_run_follows_the_device() {
    let mut job = job(Mix::Read, PerDir::all(None));
    job.depth.depth = 32;
    job.pace.latency_target = Some(LatencyTargetPlan {
        target: Nanos(9),
        window: Nanos(10),
        share_ppm: 1_000_000,
        keep_on: true,
    });
    let mut target = LatencyTarget::new(&job, 0).unwrap();
    let mut now = 0;
    for knee in [20, 5, 28] {
        for _ in 0..400 {
            (0..40).for_each(|_| target.ended(if target.depth() > knee { 10 } else { 1 }));
            now += 10;
            assert_ne!(target.check(now), WindowResult::Found);
        }
        assert!(
            target.depth() <= knee + 1 && target.depth() + 4 > knee,
            "{knee}: {}",
            target.depth()
        );
    }
}

#[test]
fn a_flow_keeps_its_shares() {
    let flow = std::sync::Arc::new(Flow::default());
    let mut seats: Vec<FlowTicket> = [3, 1].map(|w| FlowTicket::new(flow.clone(), w)).into();
    seats.iter_mut().for_each(FlowTicket::join);
    let mut count = [0u64; 2];
    for round in 0..100_000 {
        // Both jobs ask equally often, so without the flow each would get half.
        let i = round % 2;
        if seats[i].may_go() {
            seats[i].issued();
            count[i] += 1;
        }
    }
    let share = count[0] as f64 / (count[0] + count[1]) as f64;
    assert!((share - 0.75).abs() < 0.001, "{count:?}");
    // A job that is alone in the flow has no share to keep.
    seats.remove(0);
    for _ in 0..1000 {
        assert!(seats[0].may_go());
        seats[0].issued();
    }
    // A job that joins late starts at the level of the others.
    let mut late = FlowTicket::new(flow, 1);
    late.join();
    assert!(late.may_go() && seats[0].may_go());
}

/// Two jobs that wait in turn: each does I/Os until it must wait, then the other one. `wait`: the time of a wait, ns. Returns the
/// number of waits and the I/Os of each job.
fn waits_in_turn(ios: u64, wait: u64) -> (u64, [u64; 2]) {
    let flow = std::sync::Arc::new(Flow::default());
    let mut seats: Vec<FlowTicket> = [3, 1].map(|w| FlowTicket::new(flow.clone(), w)).into();
    seats.iter_mut().for_each(FlowTicket::join);
    let (mut now, mut waits, mut count) = (0, 0, [0; 2]);
    for turn in 0.. {
        let seat = &mut seats[turn % 2];
        while seat.may_go() {
            seat.issued();
            count[turn % 2] += 1;
        }
        seat.waits(now);
        waits += 1;
        now += wait;
        if count[0] + count[1] > ios {
            break;
        }
    }
    (waits, count)
}

#[test]
fn fast_jobs_of_a_flow_wait_seldom_and_slow_ones_keep_their_shares_closely() {
    let (waits, count) = waits_in_turn(1_000_000, 50_000);
    let share = count[0] as f64 / (count[0] + count[1]) as f64;
    assert!(waits < 2_000 && (share - 0.75).abs() < 0.02, "{waits}, {count:?}");
    // These I/Os take a millisecond each.
    let (waits, count) = waits_in_turn(10_000, 20_000_000);
    assert!(waits > 300 && count[0].abs_diff(3 * count[1]) < 100, "{waits}, {count:?}");
}
