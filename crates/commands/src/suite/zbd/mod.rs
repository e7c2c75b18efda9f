//! Suites for zoned devices, modelled on ZBDBench (Western Digital's benchmark suite for zoned
//! block devices): its workloads, settings, and criteria that void a number. Each suite is scaled
//! to the zones and limits of the device.
//!
//! | ZBDBench | here |
//! |---|---|
//! | `fio_zone_write` | [`mod@write`] |
//! | `fio_zone_throughput_avg_lat`, sequential | [`parallel`] |
//! | `fio_zone_throughput_avg_lat`, random reads | [`randread`] |
//! | `fio_zone_mixed` | [`mixed`] |

pub mod mixed;
pub mod parallel;
pub mod randread;
pub mod write;

use crate::amount;
use crate::suite::definition::{StepRequest, StepsError, SuiteStep};
use crate::suite::device::SuiteDevice;

/// Block sizes of ZBDBench.
pub const BLOCKS: &str = "4k,8k,16k,32k,64k,128k";
/// Numbers of jobs and queue depths of ZBDBench.
pub const PARALLEL: &str = "1,2,4,8,14,16,32,64,128";
/// Maximum number of writers in a preparing step, as in ZBDBench.
const WRITERS: u32 = 14;

/// Parses a value such as `64k` into bytes.
fn bytes(text: &str) -> Result<u64, StepsError> {
    amount::parse(text).map_err(|cause| StepsError::NotBytes { value: text.into(), cause })
}

/// Returns the values of `bs` that the device supports. Adds the others to `left_out`.
fn blocks<'a>(
    request: &StepRequest<'a>,
    left_out: &mut Vec<String>,
) -> Result<Vec<&'a str>, StepsError> {
    let mut taken = Vec::new();
    for text in request.axes.iter().filter(|a| a.name == "bs").flat_map(|a| &a.values) {
        if request.device.takes_blocks_of(bytes(text)?) {
            taken.push(text.as_str());
        } else {
            let granularity = request.device.facts.write_granularity;
            let capacity = request.device.capacity;
            left_out.push(format!(
                "bs={text}: writes must be multiples of {} bytes and at most {} bytes",
                granularity.0, capacity.0
            ));
        }
    }
    match taken.is_empty() {
        true => Err(StepsError::NoBlockSize),
        false => Ok(taken),
    }
}

/// Returns the values of a numeric axis up to a limit. Adds the others to `left_out`.
fn counts(
    request: &StepRequest,
    axis: &'static str,
    (most, why): (u32, &'static str),
    left_out: &mut Vec<String>,
) -> Result<Vec<u32>, StepsError> {
    let mut taken = Vec::new();
    for text in request.values(axis) {
        let count: u32 = text
            .parse()
            .ok()
            .filter(|n| *n > 0)
            .ok_or_else(|| StepsError::NotACount { axis, value: text.clone() })?;
        match count <= most {
            true => taken.push(count),
            false => left_out.push(format!("{axis}={count}: {why}")),
        }
    }
    match taken.is_empty() {
        true => Err(StepsError::NoValue { axis, why }),
        false => Ok(taken),
    }
}

/// Returns the number of jobs and the number of zones for each job. The remainder of the division
/// stays unused.
fn shares(device: &SuiteDevice, most: u32) -> (u32, u32) {
    let jobs = device.writers().min(most);
    (jobs, device.zones() / jobs)
}

/// Returns a step that fills the zones once; each writer fills its own zones sequentially.
fn fill(device: &SuiteDevice) -> SuiteStep {
    let (jobs, zones) = shares(device, WRITERS);
    SuiteStep::prepare(format!(
        "{}{}rw=write\nbs=128k\nsize={zones}z\noffset_increment={zones}z\nnumjobs={jobs}\n\
         job_max_open_zones=1\ngroup_reporting\n\n[prepare]\n",
        device.head(),
        device.one_by_one()
    ))
}

/// Number of zones that [`fill`] fills.
fn filled(device: &SuiteDevice) -> u32 {
    let (jobs, zones) = shares(device, WRITERS);
    jobs * zones
}
