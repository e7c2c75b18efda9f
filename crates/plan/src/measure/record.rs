//! What a job measures.

use crate::measure::slices;
use crate::model::{ClockSource, Record};
use crate::options::messages::Messages;
use crate::options::reading::Reading;

/// Nanoseconds per millisecond.
const MILLI: u64 = 1_000_000;

/// Reads the options of latencies, windows, percentiles and the clock.
pub(crate) fn record(job: Reading, messages: &mut Messages) -> Record {
    let reduce = job.flag("gtod_reduce");
    let on = |name: &str| !reduce && !job.flag(name);
    Record {
        clat: on("disable_clat"),
        slat: on("disable_slat"),
        lat: on("disable_lat"),
        bandwidth: on("disable_bw_measurement"),
        bandwidth_window: window(job, "bwavgtime"),
        iops_window: window(job, "iopsavgtime"),
        clat_percentiles: job.flag("clat_percentiles"),
        lat_percentiles: job.flag("lat_percentiles"),
        slat_percentiles: job.flag("slat_percentiles"),
        shares: job.flag("generator_shares"),
        percentiles: percentiles(job),
        percentile_decimals: percentile_decimals(job),
        slices: slices::latency_slices(job, messages),
        clock: match job.plain_word("clocksource") {
            "gettimeofday" => ClockSource::Gettimeofday,
            "clock_gettime" => ClockSource::ClockGettime,
            "cpu" => ClockSource::Cpu,
            _ => ClockSource::Auto,
        },
        clock_cpu: job.set_count32("gtod_cpu"),
        start_clock_id: job.set("job_start_clock_id").and_then(|_| {
            job.int("job_start_clock_id").map(|v| v.clamp(0, i32::MAX as i128) as i32)
        }),
    }
}

/// The length of a window in nanoseconds; at least one millisecond.
fn window(job: Reading, name: &str) -> u64 {
    job.time(name).max(MILLI)
}

/// The largest number of decimals in the typed text: `99.90` has two. The default list has two,
/// too.
fn percentile_decimals(job: Reading) -> u32 {
    let Some(text) = job.set("percentile_list").and_then(|s| s.text.as_deref()) else { return 2 };
    let digits = |part: &str| {
        let fraction = part.trim().split_once('.').map_or("", |(_, f)| f);
        fraction.bytes().take_while(u8::is_ascii_digit).count() as u32
    };
    text.split(':').map(digits).max().unwrap_or(0).min(15)
}

fn percentiles(job: Reading) -> Vec<f64> {
    let mut list = job.floats("percentile_list");
    list.retain(|p| p.is_finite());
    list.sort_by(f64::total_cmp);
    list.dedup();
    list
}
