//! `zbd/write`: write throughput when a device is filled repeatedly.

use fiord_types::Bytes;

use crate::suite::definition::{Definition, Filled, StepRequest, Steps, StepsError, SuiteStep};
use crate::suite::zbd::{WRITERS, blocks, bytes, counts, shares};

pub const DEFINITION: Definition = Definition {
    name: "zbd/write",
    about: "Fills the device six times, up to 14 zones at a time: throughput of each pass.",
    axes: &[("bs", "64k"), ("pass", "1,2,3,4,5,6")],
    times: (0, 0),
    steps,
};

/// Builds the passes. Each pass writes every zone once. The first pass writes empty zones; later
/// passes reset each zone before they write it, and the measurement includes these resets.
fn steps(request: &StepRequest) -> Result<Steps, StepsError> {
    let mut all = Steps::default();
    let device = request.device;
    let (jobs, zones) = shares(device, WRITERS);
    let passes = counts(request, "pass", (u32::MAX, ""), &mut all.left_out)?;
    if !passes.iter().copied().eq(1..=passes.len() as u32) {
        return Err(StepsError::PassOrder);
    }
    for bs in blocks(request, &mut all.left_out)? {
        for pass in &passes {
            // Each job writes whole blocks, so the end of a zone may stay unwritten.
            let whole = (device.capacity / bytes(bs)?).0 * bytes(bs)?;
            let amount = whole * u64::from(zones);
            let job = format!(
                "{}{}rw=write\nbs={bs}\nsize={zones}z\nio_size={amount}\noffset_increment={zones}z\n\
                 numjobs={jobs}\njob_max_open_zones=1\ngroup_reporting\n\n[write]\n",
                device.head(),
                device.one_by_one()
            );
            let settings = vec![("bs".into(), bs.into()), ("pass".into(), pass.to_string())];
            let first = *pass == 1;
            let finds = (!first).then_some(Filled { zones: jobs * zones, bytes: Bytes(whole) });
            all.steps.push(SuiteStep { reset: first, finds, ..SuiteStep::measure(settings, job) });
        }
    }
    Ok(all)
}
