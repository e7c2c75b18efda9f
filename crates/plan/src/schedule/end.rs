//! When a job ends: bytes, I/Os, times and loops, and which other jobs end with it.

use fiord_job::option::table::{
    EXIT_WHAT, EXITALL, EXITALL_ON_ERROR, FILL_DEVICE, IO_SIZE, LOOPS, NUMBER_IOS, RAMP_SIZE,
    RAMP_TIME, RUNTIME, SIZE, SPACE_RESERVE, TIME_BASED, activity,
};
use fiord_job::option::value::Amount;
use fiord_types::{Bytes, Nanos};

use crate::files::sizes::share;
use crate::load::zones;
use crate::model::{End, FilePlan};
use crate::options::reading::Reading;
use crate::schedule::steady;

/// The end of the jobs of one section. Its `bytes` are 0 here: they depend on the files of the
/// instance.
pub(crate) fn end(job: Reading) -> End {
    if matches!(job.get(IO_SIZE), Some(Amount::Percent(p)) if p > 100.0) {
        job.report(
            job.error(IO_SIZE, "io_size values greater than 100% aren't supported")
                .help("To fix: write bytes: `io_size=40g`"),
        );
    }
    if matches!(zones::amount(job, job.get(IO_SIZE)), Some(Amount::Zones(_))) && !zones::wanted(job)
    {
        job.report(
            job.error(IO_SIZE, "`io_size` is given in zones, but the job has none")
                .help("To fix: add a `zonemode`, or write bytes: `io_size=40g`"),
        );
    }
    let runtime = Some(job.get(RUNTIME)).filter(|t| *t > Nanos::ZERO);
    let time_based = job.get(TIME_BASED);
    End {
        runtime,
        time_based: time_based && runtime.is_some(),
        ramp_time: job.get(RAMP_TIME).unwrap_or(Nanos::ZERO),
        ramp_size: job.get(RAMP_SIZE).unwrap_or(Bytes::ZERO),
        loops: u64::from(job.get(LOOPS)).max(1),
        bytes: Bytes::ZERO,
        sized: io_size(job).is_some(),
        size: size(job),
        ios: Some(job.get(NUMBER_IOS)).filter(|n| *n > 0),
        with_io: job.get(activity::EXIT_ON_IO_DONE),
        exitall: job.get(EXITALL),
        exit_what: job.get(EXIT_WHAT),
        exitall_on_error: job.get(EXITALL_ON_ERROR),
        fill_device: job.get(FILL_DEVICE),
        space_reserve: job.get(SPACE_RESERVE),
        steady: steady::steady(job),
    }
}

/// Bytes of one loop: `io_size`, otherwise the whole blocks of the regions, limited by `size`. `block` is the smallest block in bytes.
pub(crate) fn bytes(job: Reading, files: &[FilePlan], block: u32) -> u64 {
    let block = u64::from(block.max(1));
    let whole = files.iter().fold(0u64, |sum, f| sum.saturating_add(f.len.0 / block * block));
    match io_size(job) {
        Some(Amount::Bytes(b)) => b,
        Some(Amount::Zones(count)) => {
            let zones = files.iter().find_map(|file| file.zones);
            zones.map_or(whole, |zones| zones.size.saturating_mul(count).0)
        }
        Some(Amount::Percent(p)) => {
            share(files.iter().fold(0u64, |sum, f| sum.saturating_add(f.len.0)), p)
        }
        // The last block may cross the end of `size`, and `filesize` may be larger.
        None => size(job).map_or(whole, |size| whole.min(size.0)),
    }
}

/// `size`, if it is a number of bytes and more than 0.
fn size(job: Reading) -> Option<Bytes> {
    match job.get(SIZE) {
        Some(Amount::Bytes(bytes)) if bytes > 0 => Some(Bytes(bytes)),
        _ => None,
    }
}

/// `io_size`, if it is more than 0.
fn io_size(job: Reading) -> Option<Amount> {
    let amount = zones::amount(job, job.get(IO_SIZE))?;
    let some = match amount {
        Amount::Bytes(bytes) => bytes > 0,
        Amount::Zones(count) => count > 0,
        Amount::Percent(percent) => percent > 0.0,
    };
    some.then_some(amount)
}
