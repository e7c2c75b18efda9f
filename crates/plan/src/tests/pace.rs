//! Rates, pauses and when a job is steady.

use fiord_types::{Dir, Nanos, SteadyLimit, SteadyMeasure, SteadyRule};

use super::fields::check;
use super::*;
use crate::model::*;

const SECOND: u64 = 1_000_000_000;

#[test]
fn steady_state() {
    let steady = |j: &JobPlan| j.end.steady.clone().unwrap();
    let line = "--ss=iops_slope:0.3% --ss_dur=1800 --ss_ramp=60 --ss_interval=30";
    let plan = steady(&job(&Fake::empty(), &format!("--name=a --size=1m {line}")));
    assert_eq!(plan.measure, SteadyMeasure::Iops);
    assert_eq!(plan.rule, SteadyRule::Slope(SteadyLimit { value: 0.3, percent: true }));
    assert_eq!(
        (plan.interval, plan.samples, plan.ramp),
        (Nanos::from_secs(30), 60, Nanos::from_secs(60))
    );
    assert_eq!(plan.spec, "iops_slope:0.300000%");
    check(&[
        ("", |j| j.end.steady.is_none()),
        ("--ss=iops:1%", |j| j.end.steady.is_none()),
        ("--ss_dur=2", |j| j.end.steady.as_ref().is_some_and(|s| s.spec == "iops_slope:0.010000%")),
        ("--ss=lat:500 --ss_dur=2", |j| {
            j.end.steady.as_ref().is_some_and(|s| {
                s.measure == SteadyMeasure::Latency
                    && s.rule == SteadyRule::Deviation(SteadyLimit { value: 500.0, percent: false })
            })
        }),
        ("--ss=iops:90%% --ss_dur=2", |j| {
            j.end.steady.as_ref().is_some_and(|s| s.spec == "iops:90.000000%")
        }),
        ("--ss=pts", |j| {
            j.end.steady.as_ref().is_some_and(|s| (s.samples, s.interval) == (5, Nanos(SECOND)))
        }),
    ]);
}

#[test]
fn pace() {
    check(&[
        ("", |j| j.pace == Pace { cycle: Nanos(SECOND), ..Pace::default() } && j.pace.is_free()),
        ("--rate_iops=70,30", |j| {
            j.pace.rate == [Some(Rate::Ios(70)), Some(Rate::Ios(30)), Some(Rate::Ios(30))]
        }),
        ("--rate=1m,", |j| j.pace.rate == [Some(Rate::Bytes(1 << 20)), None, None]),
        ("--rate=,500k", |j| {
            j.pace.rate == [None, Some(Rate::Bytes(500 << 10)), Some(Rate::Bytes(500 << 10))]
        }),
        ("--rate=1m --rate_min=512k --ratecycle=500", |j| {
            j.pace.min_rate[Dir::Read] == Some(Rate::Bytes(512 << 10))
                && j.pace.cycle == Nanos(SECOND / 2)
        }),
        ("--rate_iops=9 --rate_process=poisson --rate_ignore_thinktime=1", |j| {
            j.pace.process == RateProcess::Poisson && j.pace.forgive_think
        }),
        ("--thinktime=500 --thinktime_spin=100 --thinktime_blocks_type=issue", |j| {
            j.pace.think
                == Some(Think {
                    time: Nanos(500_000),
                    spin: Nanos(100_000),
                    blocks: Some(1),
                    on_issue: true,
                    ..Think::default()
                })
        }),
        ("--thinktime=1s --thinktime_iotime=9s", |j| {
            j.pace.think.is_some_and(|t| t.blocks.is_none() && t.io_time == Nanos(9 * SECOND))
        }),
        ("--thinkcycles=1000", |j| {
            j.pace.think.is_some_and(|t| (t.cycles, t.time) == (1000, Nanos::ZERO))
        }),
        ("--flow=-3 --flow_id=7 --flow_sleep=1000", |j| {
            j.pace.flow == Some(FlowShare { id: 7, weight: 3, sleep: Nanos(1_000_000) })
        }),
        ("--max_latency=5s,100", |j| {
            j.pace.max_latency == [5 * SECOND, 100_000, 100_000].map(|ns| Some(Nanos(ns)))
        }),
        ("--latency_target=2ms --latency_window=500ms --latency_percentile=99.9", |j| {
            j.pace.latency_target
                == Some(LatencyTargetPlan {
                    target: Nanos(2_000_000),
                    window: Nanos(SECOND / 2),
                    share_ppm: 999_000,
                    keep_on: false,
                })
        }),
    ]);
}

/// Contradicting options are an error; an option that makes another one ineffective is a warning.
#[test]
fn paces_that_contradict() {
    let base = "--name=a --size=1m";
    for (line, what) in [
        ("--rate=1m --rate_iops=100", "mutually exclusive"),
        ("--rate_min=1m --rate_iops_min=100", "mutually exclusive"),
        ("--rate=1m --rate_min=100m", "minimum rate exceeds rate"),
        ("--rate_iops=10 --rate_iops_min=11", "minimum rate exceeds rate"),
        ("--rate=40k --bs=4k --rate_iops_min=11", "minimum rate exceeds rate"),
        ("--rate_iops=10 --bs=4k --rate_min=41k", "minimum rate exceeds rate"),
    ] {
        let error = error(&Fake::empty(), &format!("{base} {line}"));
        assert!(error.contains(what), "{line}: {error}");
    }
    for (line, what) in [
        ("--rate_iops=1000 --thinktime=10ms", "never reached"),
        ("--rw=randrw --rwmixread=70 --rate_iops=100", "no effect"),
        ("--thinktime_spin=10", "no effect without `thinktime`"),
        ("--latency_window=10ms", "no effect without `latency_target`"),
        ("--flow=-3", "a share of 3"),
        ("--flow_sleep=3", "no effect without `flow`"),
    ] {
        let resolved = run(&Fake::empty(), &format!("{base} {line}")).unwrap();
        let found = resolved.warnings.iter().any(|w| w.what.contains(what));
        assert!(found, "{line}: {:#?}", resolved.warnings);
    }
    let quiet = run(&Fake::empty(), &format!("{base} --rate_iops=100 --thinktime=1ms")).unwrap();
    assert!(quiet.warnings.is_empty(), "{:#?}", quiet.warnings);
}

#[test]
fn a_mix_that_agrees_with_both_rates_needs_no_message() {
    let noted = |options: &str| {
        warned(&format!("--name=a --ioengine=null --size=1m --rw=randrw {options}")).len()
    };
    assert_eq!(noted("--rwmixread=70 --rate_iops=700,300"), 0);
    assert_eq!(noted("--rwmixwrite=30 --rate_iops=700,300"), 0);
    assert_eq!(noted("--rwmixread=70 --rate_iops=300,300"), 1);
    assert_eq!(noted("--rwmixread=70 --rate=7m,3m"), 1, "block sizes may differ");
}
