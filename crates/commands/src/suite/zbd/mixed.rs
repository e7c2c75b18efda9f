//! `zbd/mixed`: latency of random reads during writes at a given rate.
//!
//! If the writes miss their rate, the latency does not apply to that rate: it is void, and the
//! table shows the achieved rate.

use crate::suite::definition::{Definition, StepKind, StepRequest, Steps, StepsError, SuiteStep};
use crate::suite::zbd::{WRITERS, bytes, fill, filled};

pub const DEFINITION: Definition = Definition {
    name: "zbd/mixed",
    about: "Latency of random 4 KiB reads during random writes at a given rate; void if the writes \
            miss the rate.",
    axes: &[(
        "rate",
        "0,25m,50m,75m,100m,125m,150m,175m,200m,300m,400m,500m,600m,700m,800m,900m,1000m",
    )],
    times: (30, 180),
    steps,
};

fn steps(request: &StepRequest) -> Result<Steps, StepsError> {
    let device = request.device;
    let (zones, open) = (filled(device), device.writers().min(WRITERS));
    let (writes, reads) = (65536.max(device.facts.write_granularity.0), 4096);
    let reads = reads.max(device.facts.block.0);
    // Overwrite twice the capacity in random order of zones after the device is full: in this state
    // it must reclaim space.
    let amount = 2 * u64::from(zones) * ((device.capacity / writes).0 * writes);
    let writer =
        format!("rw=randwrite\nnorandommap\nbs={writes}\nsize={zones}z\nmax_open_zones={open}\n");
    let head: String = device
        .head()
        .lines()
        .filter(|l| !l.starts_with("max_open_zones"))
        .fold(String::new(), |text, line| text + line + "\n")
        + device.queued();
    let mut steps = vec![fill(device)];
    steps.push(SuiteStep {
        settings: vec![("prepare".into(), "overwrite".into())],
        reset: false,
        ..SuiteStep::prepare(format!("{head}{writer}io_size={amount}\n\n[overwrite]\n"))
    });
    let times =
        format!("time_based\nramp_time={}\nruntime={}\n", request.ramp_time, request.runtime);
    for rate in request.values("rate") {
        let target = bytes(rate)?;
        let write = match target {
            0 => String::new(),
            _ => format!("\n[write]\n{writer}rate={rate}\n"),
        };
        let job = format!(
            "{head}{times}{write}\n[read]\nrw=randread\nnorandommap\nbs={reads}\nsize={zones}z\n"
        );
        let settings = vec![("rate".into(), rate.clone())];
        let target = (target > 0).then_some(target);
        let step = SuiteStep::measure(settings, job);
        steps.push(SuiteStep { kind: StepKind::MeasureReads, target, ..step });
    }
    Ok(Steps { steps, left_out: Vec::new() })
}
