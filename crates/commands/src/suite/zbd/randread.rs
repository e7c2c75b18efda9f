//! `zbd/randread`: throughput and latency of random reads of full zones by block size and queue
//! depth.

use crate::suite::definition::{Definition, StepRequest, Steps, StepsError, SuiteStep};
use crate::suite::zbd::{BLOCKS, PARALLEL, blocks, counts, fill, filled};

pub const DEFINITION: Definition = Definition {
    name: "zbd/randread",
    about: "Random reads of full zones: throughput and latency by block size and queue depth.",
    axes: &[("iodepth", PARALLEL), ("bs", BLOCKS)],
    times: (15, 15),
    steps,
};

fn steps(request: &StepRequest) -> Result<Steps, StepsError> {
    let device = request.device;
    let mut all = Steps { steps: vec![fill(device)], ..Steps::default() };
    let blocks = blocks(request, &mut all.left_out)?;
    for depth in counts(request, "iodepth", (u32::MAX, ""), &mut all.left_out)? {
        for bs in &blocks {
            let job = format!(
                "{}{}rw=randread\nnorandommap\nbs={bs}\niodepth={depth}\nsize={}z\ntime_based\n\
                 ramp_time={}\nruntime={}\n\n[randread]\n",
                device.head(),
                device.queued(),
                filled(device),
                request.ramp_time,
                request.runtime
            );
            let settings =
                vec![("iodepth".into(), depth.to_string()), ("bs".into(), bs.to_string())];
            all.steps.push(SuiteStep::measure(settings, job));
        }
    }
    Ok(all)
}
