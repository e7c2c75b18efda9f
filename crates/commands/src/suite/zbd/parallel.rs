//! `zbd/seqwrite` and `zbd/seqread`: throughput and latency of sequential I/O by block size and
//! number of jobs. Each job has its own zones and a queue depth of 1.

use crate::suite::definition::{Definition, StepRequest, Steps, StepsError, SuiteStep};
use crate::suite::zbd::{BLOCKS, PARALLEL, blocks, counts, fill, filled};

/// The suite of sequential writes.
pub const SEQWRITE: Definition = Definition {
    name: "zbd/seqwrite",
    about: "Sequential writes: throughput and latency by block size and number of jobs.",
    axes: &[("jobs", PARALLEL), ("bs", BLOCKS)],
    times: (15, 30),
    steps: seqwrite,
};

/// The suite of sequential reads.
pub const SEQREAD: Definition = Definition {
    name: "zbd/seqread",
    about: "Sequential reads of full zones: throughput and latency by block size and number of jobs.",
    axes: &[("jobs", PARALLEL), ("bs", BLOCKS)],
    times: (15, 30),
    steps: seqread,
};

/// Number of zones for each job, if the device has enough.
const ZONES: u32 = 9;

fn seqwrite(request: &StepRequest) -> Result<Steps, StepsError> {
    let device = request.device;
    let most = (device.writers(), "the device has fewer zones or a lower limit on open zones");
    points(request, "write", (most, device.zones()), Steps::default())
}

fn seqread(request: &StepRequest) -> Result<Steps, StepsError> {
    let device = request.device;
    let prepared = Steps { steps: vec![fill(device)], ..Steps::default() };
    let zones = filled(device);
    points(request, "read", ((zones, "the device has fewer zones"), zones), prepared)
}

/// Returns a step for each point. Write steps start with reset zones.
fn points(
    request: &StepRequest,
    rw: &str,
    (most, zones): ((u32, &'static str), u32),
    mut all: Steps,
) -> Result<Steps, StepsError> {
    let device = request.device;
    let blocks = blocks(request, &mut all.left_out)?;
    for jobs in counts(request, "jobs", most, &mut all.left_out)? {
        let own = (zones / jobs).clamp(1, ZONES);
        for bs in &blocks {
            let open = if rw == "write" { "job_max_open_zones=1\n" } else { "" };
            let job = format!(
                "{}{}rw={rw}\nbs={bs}\nsize={own}z\noffset_increment={own}z\nnumjobs={jobs}\n{open}\
                 group_reporting\ntime_based\nramp_time={}\nruntime={}\n\n[seq{rw}]\n",
                device.head(),
                device.one_by_one(),
                request.ramp_time,
                request.runtime
            );
            let settings = vec![("jobs".into(), jobs.to_string()), ("bs".into(), bs.to_string())];
            all.steps.push(SuiteStep { reset: rw == "write", ..SuiteStep::measure(settings, job) });
        }
    }
    Ok(all)
}
