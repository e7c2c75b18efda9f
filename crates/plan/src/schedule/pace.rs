//! How fast a job issues I/Os: rates, think times, flows, latency targets.

use fiord_types::{Dir, PerDir};

use crate::model::{FlowShare, LatencyGoal, Load, Mix, Pace, Rate, RateProcess, Think};
use crate::options::messages::Messages;
use crate::options::reading::Reading;

/// Nanoseconds per second.
const SECOND: u64 = 1_000_000_000;
/// The largest rate: 2^60 I/Os or bytes per second, which no device reaches.
const FASTEST: u64 = 1 << 60;
/// The default of `latency_window` in nanoseconds.
const WINDOW: u64 = 5 * SECOND;

/// Reads the options of rates, think times, flows and latency targets.
pub(crate) fn pace(job: Reading, load: &Load, messages: &mut Messages) -> Pace {
    let pace = Pace {
        rate: rates(job, ["rate", "rate_iops"], messages),
        floor: rates(job, ["rate_min", "rate_iops_min"], messages),
        cycle: job.time("rate_cycle").max(1_000_000),
        process: match job.plain_word("rate_process") {
            "poisson" => RateProcess::Poisson,
            _ => RateProcess::Linear,
        },
        forgive_think: job.flag("rate_ignore_thinktime"),
        think: think(job, messages),
        flow: flow(job, messages),
        // The list is in microseconds, like all lists of times.
        max_latency: job
            .ints("max_latency")
            .map(|us| us.and_then(positive).map(|us| us.saturating_mul(1000))),
        goal: goal(job, messages),
        offload: job.plain_word("io_submit_mode") == "offload",
    };
    floors(job, &pace, load, messages);
    mixed(job, &pace, load, messages);
    hidden(job, &pace, messages);
    if pace.offload && !matches!(job.plain_word("lockfile"), "" | "none") {
        messages.push(
            job.error("lockfile", "`lockfile` does not work with `io_submit_mode=offload`")
                .help("To fix: leave out one of them"),
        );
    }
    pace
}

fn positive(value: i128) -> Option<u64> {
    u64::try_from(value).ok().filter(|v| *v > 0)
}

/// Reads rates in bytes or in I/Os per second. Refuses a job that sets both kinds.
fn rates(job: Reading, names: [&str; 2], messages: &mut Messages) -> PerDir<Option<Rate>> {
    let [bytes, ios] = names.map(|name| {
        let values = job.ints(name).map(|v| v.and_then(positive));
        values.map(|v| v.map(|v| v.min(FASTEST)))
    });
    if bytes != PerDir::all(None) && ios != PerDir::all(None) {
        let [a, b] = names;
        messages.push(
            job.error(b, format!("{a} and {b} are mutually exclusive: a job has one kind of rate"))
                .help(format!("To fix: leave out `{a}` or `{b}`")),
        );
    }
    PerDir::from_fn(|dir| bytes[dir].map(Rate::Bytes).or(ios[dir].map(Rate::Ios)))
}

/// Refuses a minimum rate above the rate.
fn floors(job: Reading, pace: &Pace, load: &Load, messages: &mut Messages) {
    for dir in Dir::ALL {
        let block = u64::from(load.blocks[dir].min().max(1));
        let largest = u64::from(load.blocks[dir].max().max(1));
        let above = match (pace.rate[dir], pace.floor[dir]) {
            (Some(Rate::Bytes(rate)), Some(Rate::Bytes(floor))) => floor > rate,
            (Some(Rate::Ios(rate)), Some(Rate::Ios(floor))) => floor > rate,
            // Compare with the most I/Os per second that the rate permits.
            (Some(Rate::Bytes(rate)), Some(Rate::Ios(floor))) => floor > rate.div_ceil(block),
            (Some(Rate::Ios(rate)), Some(Rate::Bytes(floor))) => {
                floor > rate.saturating_mul(largest)
            }
            _ => false,
        };
        if above {
            let name = if matches!(pace.floor[dir], Some(Rate::Bytes(_))) {
                "rate_min"
            } else {
                "rate_iops_min"
            };
            messages.push(
                job.error(
                    name,
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

/// Warns of a mix that has no effect: if reads and writes both have a rate, the rates decide the
/// mix. A mix that agrees with the rates needs no warning.
fn mixed(job: Reading, pace: &Pace, load: &Load, messages: &mut Messages) {
    let Mix::ReadWrite { read_percent } = load.mix else { return };
    let (Some(read), Some(write)) = (pace.rate[Dir::Read], pace.rate[Dir::Write]) else { return };
    let agree = match (read, write) {
        (Rate::Ios(read), Rate::Ios(write)) => {
            let all = u128::from(read) + u128::from(write);
            u128::from(read) * 100 == all * u128::from(read_percent)
        }
        _ => false,
    };
    let name = ["rwmixread", "rwmixwrite"].into_iter().find(|name| job.is_set(name));
    if let (false, Some(name)) = (agree, name) {
        let option = if job.is_set("rate") { "rate" } else { "rate_iops" };
        messages.push(
            job.no_effect(
                name,
                format!(
                    "reads and writes have a rate each, and the rates decide the mix: `{name}` has \
                     no effect"
                ),
            )
            .help(format!("To fix: give both rates: `{option}=<reads>,<writes>`")),
        );
    }
}

/// Warns if think times make the rate unreachable.
fn hidden(job: Reading, pace: &Pace, messages: &mut Messages) {
    let Some(think) = pace.think.filter(|t| t.time > 0) else { return };
    let slowest = pace.rate.values().flatten().filter_map(|rate| match rate {
        Rate::Ios(n) => Some(SECOND / n),
        Rate::Bytes(_) => None,
    });
    let (Some(gap), Some(blocks)) = (slowest.max(), think.blocks) else { return };
    let spread = think.time / u64::from(blocks.max(1));
    if spread > gap {
        messages.push(
            job.warning(
                "thinktime",
                format!(
                    "a pause of {} us after every {blocks} I/O(s) allows {} I/Os a second at most: \
                     the rate is never reached",
                    think.time / 1000,
                    SECOND / spread.max(1)
                ),
            )
            .help("To fix: make `thinktime` shorter, `thinktime_blocks` larger, or leave one of them out"),
        );
    }
}

fn think(job: Reading, messages: &mut Messages) -> Option<Think> {
    let time = job.time("thinktime");
    let mut think = Think {
        time,
        spin: job.time("thinktime_spin"),
        cycles: job.count("thinkcycles").unwrap_or(0),
        blocks: None,
        on_issue: job.plain_word("thinktime_blocks_type") == "issue",
        io_time: job.time("thinktime_iotime"),
    };
    if time == 0 {
        let idle =
            ["thinktime_spin", "thinktime_blocks", "thinktime_blocks_type", "thinktime_iotime"];
        if let Some(name) = idle.into_iter().find(|name| job.is_set(name)) {
            messages.push(
                job.no_effect(name, format!("`{name}` has no effect without `thinktime`"))
                    .help("To fix: add `thinktime=<time>`"),
            );
        }
        think = Think { cycles: think.cycles, ..Think::default() };
        return (think.cycles > 0).then_some(think);
    }
    // With `thinktime_iotime`, the number of I/Os counts only if the job sets it.
    if think.io_time == 0 || job.is_set("thinktime_blocks") {
        think.blocks = Some(job.count32("thinktime_blocks").unwrap_or(1).max(1));
    }
    if think.spin > time {
        messages.push(job.adjusted(
            "thinktime_spin",
            "`thinktime_spin` is longer than `thinktime`: the job busy-waits for the whole pause",
        ));
        think.spin = time;
    }
    Some(think)
}

fn flow(job: Reading, messages: &mut Messages) -> Option<FlowShare> {
    let weight = job.int("flow").unwrap_or(0);
    if weight < 0 {
        messages.push(
            job.adjusted(
                "flow",
                format!(
                    "`flow={weight}` is read as a share of {}, as older versions meant it",
                    -weight
                ),
            )
            .help(format!("To fix: write `flow={}`", -weight)),
        );
    }
    if weight == 0 {
        if job.is_set("flow_sleep") {
            messages.push(
                job.no_effect("flow_sleep", "`flow_sleep` has no effect without `flow`")
                    .help("To fix: add `flow=<weight>`"),
            );
        }
        return None;
    }
    Some(FlowShare {
        id: job.count32("flow_id").unwrap_or(0),
        weight: u32::try_from(weight.unsigned_abs()).unwrap_or(u32::MAX),
        sleep: job.time("flow_sleep"),
    })
}

fn goal(job: Reading, messages: &mut Messages) -> Option<LatencyGoal> {
    let target = job.time("latency_target");
    let share = job.floats("latency_percentile").first().copied().unwrap_or(100.0);
    if target == 0 {
        let idle = ["latency_window", "latency_percentile", "latency_run"];
        if let Some(name) = idle.into_iter().find(|name| job.is_set(name)) {
            messages.push(
                job.no_effect(name, format!("`{name}` has no effect without `latency_target`"))
                    .help("To fix: add `latency_target=<time>`"),
            );
        }
        return None;
    }
    Some(LatencyGoal {
        target,
        window: Some(job.time("latency_window")).filter(|ns| *ns > 0).unwrap_or(WINDOW),
        share_ppm: (share * 10_000.0).round() as u32,
        keep_on: job.flag("latency_run"),
    })
}
