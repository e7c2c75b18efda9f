//! When a job ends: bytes, I/Os, times and loops, and which other jobs end with it.

use fiord_job::option::value::Amount;

use crate::load::zones;
use crate::model::{End, ExitWhat, FilePlan};
use crate::options::messages::Messages;
use crate::options::reading::Reading;
use crate::schedule::steady;
use crate::target::sizes::share;

/// The end of the jobs of one section. Its `bytes` are 0 here: they depend on the files of the
/// instance.
pub(crate) fn end(job: Reading, messages: &mut Messages) -> End {
    if matches!(job.amount("io_size"), Some(Amount::Percent(p)) if p > 100.0) {
        messages.push(
            job.error("io_size", "io_size values greater than 100% aren't supported")
                .help("To fix: write bytes: `io_size=40g`"),
        );
    }
    if matches!(zones::amount(job, "io_size"), Some(Amount::Zones(_))) && !zones::wanted(job) {
        messages.push(
            job.error("io_size", "`io_size` is given in zones, but the job has none")
                .help("To fix: add a `zonemode`, or write bytes: `io_size=40g`"),
        );
    }
    let runtime = Some(job.time("runtime")).filter(|t| *t > 0);
    let time_based = job.flag("time_based");
    if time_based && runtime.is_none() {
        messages.push(
            job.no_effect(
                "time_based",
                "time_based requires a runtime/timeout setting: the job does its work once",
            )
            .help("To fix: add `runtime=30s`, or leave out `time_based`"),
        );
    }
    End {
        runtime,
        time_based: time_based && runtime.is_some(),
        ramp_time: job.time("ramp_time"),
        ramp_size: job.count("ramp_size").unwrap_or(0),
        loops: job.count("loops").unwrap_or(1).max(1),
        bytes: 0,
        ios: job.count("number_ios").filter(|n| *n > 0),
        exitall: job.flag("exitall"),
        exit_what: match job.plain_word("exit_what") {
            "stonewall" => ExitWhat::Stonewall,
            "all" => ExitWhat::All,
            _ => ExitWhat::Group,
        },
        exitall_on_error: job.flag("exitall_on_error"),
        fill_device: job.flag("fill_device"),
        space_reserve: job.count("space_reserve").unwrap_or(0),
        steady: steady::steady(job, messages),
    }
}

/// Bytes of one loop: `io_size`, otherwise the whole blocks of the regions, limited by `size` if
/// `filesize` is set. `block` is the smallest block in bytes.
pub(crate) fn bytes(job: Reading, files: &[FilePlan], block: u32) -> u64 {
    let block = u64::from(block.max(1));
    let whole = files.iter().fold(0u64, |sum, f| sum.saturating_add(f.len / block * block));
    match zones::amount(job, "io_size") {
        Some(Amount::Bytes(b)) if b > 0 => b,
        Some(Amount::Zones(count)) if count > 0 => {
            let zones = files.iter().find_map(|file| file.zones);
            zones.map_or(whole, |zones| count.saturating_mul(zones.size))
        }
        Some(Amount::Percent(p)) if p > 0.0 => {
            share(files.iter().fold(0u64, |sum, f| sum.saturating_add(f.len)), p)
        }
        _ => match job.amount("size") {
            Some(Amount::Bytes(b)) if b > 0 && job.is_set("filesize") => whole.min(b),
            _ => whole,
        },
    }
}
