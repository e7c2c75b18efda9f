//! What a job measures.

use fiord_job::option::handle::Opt;
use fiord_job::option::table::{
    BLOCK_ERROR_PERCENTILES, BWAVGTIME, CLAT_PERCENTILES, CLOCKSOURCE, DISABLE_BW_MEASUREMENT,
    DISABLE_CLAT, DISABLE_LAT, DISABLE_SLAT, GENERATOR_SHARES, GTOD_CPU, GTOD_REDUCE, IOPSAVGTIME,
    JOB_START_CLOCK_ID, LAT_PERCENTILES, LOG_AVG_MSEC, PERCENTILE_LIST, SLAT_PERCENTILES,
    WRITE_BW_LOG, WRITE_IOPS_LOG,
};
use fiord_types::Nanos;

use crate::measure::slices;
use crate::model::Record;
use crate::options::reading::Reading;

/// The shortest window, in nanoseconds.
const MILLI: u64 = 1_000_000;

/// Reads the options of latencies, windows, percentiles and the clock.
pub(crate) fn record(job: Reading) -> Record {
    let reduce = job.get(GTOD_REDUCE);
    let on = |off: Opt<bool>| !reduce && !job.get(off);
    Record {
        clat: on(DISABLE_CLAT),
        slat: on(DISABLE_SLAT),
        lat: on(DISABLE_LAT),
        bandwidth: on(DISABLE_BW_MEASUREMENT),
        bandwidth_window: window(job, BWAVGTIME, WRITE_BW_LOG),
        iops_window: window(job, IOPSAVGTIME, WRITE_IOPS_LOG),
        clat_percentiles: job.get(CLAT_PERCENTILES),
        lat_percentiles: job.get(LAT_PERCENTILES),
        slat_percentiles: job.get(SLAT_PERCENTILES),
        shares: job.get(GENERATOR_SHARES),
        block_errors: job.get(BLOCK_ERROR_PERCENTILES),
        percentiles: percentiles(job),
        percentile_decimals: percentile_decimals(job),
        slices: slices::latency_slices(job),
        clock: job.get(CLOCKSOURCE),
        clock_cpu: job.get(GTOD_CPU),
        start_clock_id: job.get(JOB_START_CLOCK_ID).map(|id| i32::try_from(id).unwrap_or(i32::MAX)),
    }
}

/// Length of the windows of a rate. If the job logs the rate and does not set `own`, the windows are those of the log.
fn window(job: Reading, own: Opt<Nanos>, log: Opt<Option<String>>) -> Nanos {
    let average = job.get(LOG_AVG_MSEC);
    let is_of_log = job.is_set(log) && !job.is_set(own) && average > Nanos::ZERO;
    let window = if is_of_log { average } else { job.get(own) };
    window.max(Nanos(MILLI))
}

/// The largest number of decimals in the typed text: `99.90` has two. The default list has two,
/// too.
fn percentile_decimals(job: Reading) -> u32 {
    let Some(text) = job.spec.setting(PERCENTILE_LIST).and_then(|s| s.text.as_deref()) else {
        return 2;
    };
    let digits = |part: &str| {
        let fraction = part.trim().split_once('.').map_or("", |(_, f)| f);
        fraction.bytes().take_while(u8::is_ascii_digit).count() as u32
    };
    text.split(':').map(digits).max().unwrap_or(0).min(15)
}

fn percentiles(job: Reading) -> Vec<f64> {
    let mut list = job.get(PERCENTILE_LIST);
    list.retain(|p| p.is_finite());
    list.sort_by(f64::total_cmp);
    list.dedup();
    list
}
