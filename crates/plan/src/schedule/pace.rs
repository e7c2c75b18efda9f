//! How fast a job issues I/Os: rates, think times, flows, latency targets.

use fiord_job::option::handle::Opt;
use fiord_job::option::table::{
    FLOW, FLOW_ID, FLOW_SLEEP, IO_SUBMIT_MODE, IoSubmitMode, LATENCY_PERCENTILE, LATENCY_RUN,
    LATENCY_TARGET, LATENCY_WINDOW, LOCKFILE, MAX_LATENCY, RATE, RATE_CYCLE, RATE_IGNORE_THINKTIME,
    RATE_IOPS, RATE_IOPS_MIN, RATE_MIN, RATE_PROCESS, THINKCYCLES, THINKTIME, THINKTIME_BLOCKS,
    THINKTIME_BLOCKS_TYPE, THINKTIME_IOTIME, THINKTIME_SPIN, ThinktimeBlocksType,
};
use fiord_types::{Bytes, Dir, Nanos, PerDir};

use crate::model::{FlowShare, LatencyTargetPlan, Load, LockFile, Pace, Rate, Think};
use crate::options::reading::Reading;

/// Nanoseconds per second.
const SECOND: u64 = 1_000_000_000;
/// The largest rate: 2^60 I/Os or bytes per second, which no device reaches.
const FASTEST: u64 = 1 << 60;
/// The default of `latency_window`.
const WINDOW: Nanos = Nanos::from_secs(5);

/// Reads the options of rates, think times, flows and latency targets.
pub(crate) fn pace(job: Reading, load: &Load) -> Pace {
    let pace = Pace {
        rate: rates(job, RATE, RATE_IOPS),
        min_rate: rates(job, RATE_MIN, RATE_IOPS_MIN),
        cycle: job.get(RATE_CYCLE).max(Nanos::from_millis(1)),
        process: job.get(RATE_PROCESS),
        forgive_think: job.get(RATE_IGNORE_THINKTIME),
        think: think(job),
        cpu_load: None,
        flow: flow(job),
        // The list is in microseconds, like all lists of times.
        max_latency: job
            .get(MAX_LATENCY)
            .unwrap_or_default()
            .map(|us| us.filter(|us| *us > 0).map(Nanos::from_micros)),
        latency_target: latency_target(job),
        offload: job.get(IO_SUBMIT_MODE) == IoSubmitMode::Offload,
    };
    floors(job, &pace, load);
    hidden(job, &pace);
    if pace.offload && job.get(LOCKFILE) != LockFile::None {
        job.report(
            job.error(LOCKFILE, "`lockfile` does not work with `io_submit_mode=offload`")
                .help("To fix: leave out one of them"),
        );
    }
    pace
}

/// Reads rates in bytes or in I/Os per second. Refuses a job that sets both kinds.
fn rates(
    job: Reading,
    in_bytes: Opt<Option<PerDir<Option<Bytes>>>>,
    in_ios: Opt<Option<PerDir<Option<u32>>>>,
) -> PerDir<Option<Rate>> {
    let limit = |rate: u64| (rate > 0).then_some(rate.min(FASTEST));
    let bytes =
        job.get(in_bytes).unwrap_or_default().map(|rate| rate.and_then(|rate| limit(rate.0)));
    let ios = job.get(in_ios).unwrap_or_default().map(|rate| rate.map(u64::from).and_then(limit));
    if bytes != PerDir::all(None) && ios != PerDir::all(None) {
        let (a, b) = (in_bytes.name(), in_ios.name());
        job.report(
            job.error(
                in_ios,
                format!("{a} and {b} are mutually exclusive: a job has one kind of rate"),
            )
            .help(format!("To fix: leave out `{a}` or `{b}`")),
        );
    }
    PerDir::from_fn(|dir| bytes[dir].map(Rate::Bytes).or(ios[dir].map(Rate::Ios)))
}

/// Refuses a minimum rate above the rate.
fn floors(job: Reading, pace: &Pace, load: &Load) {
    for dir in Dir::ALL {
        let block = u64::from(load.blocks[dir].min().max(1));
        let largest = u64::from(load.blocks[dir].max().max(1));
        let above = match (pace.rate[dir], pace.min_rate[dir]) {
            (Some(Rate::Bytes(rate)), Some(Rate::Bytes(least))) => least > rate,
            (Some(Rate::Ios(rate)), Some(Rate::Ios(least))) => least > rate,
            // Compare with the most I/Os per second that the rate permits.
            (Some(Rate::Bytes(rate)), Some(Rate::Ios(least))) => least > rate.div_ceil(block),
            (Some(Rate::Ios(rate)), Some(Rate::Bytes(least))) => {
                least > rate.saturating_mul(largest)
            }
            _ => false,
        };
        if above {
            let option = match pace.min_rate[dir] {
                Some(Rate::Bytes(_)) => RATE_MIN.def(),
                _ => RATE_IOPS_MIN.def(),
            };
            let name = option.name;
            job.report(
                job.error(
                    option,
                    format!(
                        "minimum rate exceeds rate: for {}s it can never be reached",
                        dir.name()
                    ),
                )
                .help(format!("To fix: lower `{name}`, or raise the rate")),
            );
            return;
        }
    }
}

/// Warns if think times make the rate unreachable.
fn hidden(job: Reading, pace: &Pace) {
    let Some(think) = pace.think.filter(|t| t.time > Nanos::ZERO) else { return };
    let slowest = pace.rate.values().flatten().filter_map(|rate| match rate {
        Rate::Ios(n) => Some(SECOND / n),
        Rate::Bytes(_) => None,
    });
    let (Some(gap), Some(blocks)) = (slowest.max(), think.blocks) else { return };
    let spread = think.time.0 / u64::from(blocks.max(1));
    if spread > gap {
        job.report(
            job.warning(
                THINKTIME,
                format!(
                    "a pause of {} us after every {blocks} I/O(s) allows {} I/Os a second at most: \
                     the rate is never reached",
                    think.time.as_micros(),
                    SECOND / spread.max(1)
                ),
            )
            .help("To fix: make `thinktime` shorter, `thinktime_blocks` larger, or leave one of them out"),
        );
    }
}

fn think(job: Reading) -> Option<Think> {
    let time = job.get(THINKTIME);
    let mut think = Think {
        time,
        spin: job.get(THINKTIME_SPIN),
        cycles: job.get(THINKCYCLES).into(),
        blocks: None,
        on_issue: job.get(THINKTIME_BLOCKS_TYPE) == ThinktimeBlocksType::Issue,
        io_time: job.get(THINKTIME_IOTIME),
    };
    if time == Nanos::ZERO {
        think = Think { cycles: think.cycles, ..Think::default() };
        return (think.cycles > 0).then_some(think);
    }
    // With `thinktime_iotime`, the number of I/Os counts only if the job sets it.
    if think.io_time == Nanos::ZERO || job.is_set(THINKTIME_BLOCKS) {
        think.blocks = Some(job.get(THINKTIME_BLOCKS).max(1));
    }
    if think.spin > time {
        job.report(job.adjusted(
            THINKTIME_SPIN,
            "`thinktime_spin` is longer than `thinktime`: the job busy-waits for the whole pause",
        ));
        think.spin = time;
    }
    Some(think)
}

fn flow(job: Reading) -> Option<FlowShare> {
    let weight = job.get(FLOW);
    if weight < 0 {
        job.report(
            job.adjusted(
                FLOW,
                format!(
                    "`flow={weight}` is read as a share of {}, as in older versions of fio",
                    -weight
                ),
            )
            .help(format!("To fix: write `flow={}`", -weight)),
        );
    }
    if weight == 0 {
        return None;
    }
    Some(FlowShare {
        id: job.get(FLOW_ID),
        weight: weight.unsigned_abs(),
        sleep: job.get(FLOW_SLEEP),
    })
}

fn latency_target(job: Reading) -> Option<LatencyTargetPlan> {
    let target = job.get(LATENCY_TARGET).unwrap_or(Nanos::ZERO);
    let share = job.get(LATENCY_PERCENTILE);
    if target == Nanos::ZERO {
        return None;
    }
    Some(LatencyTargetPlan {
        target,
        window: job.get(LATENCY_WINDOW).filter(|ns| *ns > Nanos::ZERO).unwrap_or(WINDOW),
        share_ppm: (share * 10_000.0).round() as u32,
        keep_on: job.get(LATENCY_RUN),
    })
}
