//! `zbd/write`: what a device writes when it is filled over and over.

use crate::definition::{Definition, Filled, Request, Step, Steps};
use crate::zbd::{WRITERS, blocks, bytes, counts, shares};

/// The suite.
pub const DEFINITION: Definition = Definition {
    name: "zbd/write",
    about: "Writes the device full six times, up to 14 zones at a time: the throughput of each pass.",
    axes: &[("bs", "64k"), ("pass", "1,2,3,4,5,6")],
    times: (0, 0),
    steps,
};

/// Each pass writes every zone once. The first finds empty zones; the others reset each zone when
/// they come to it, and that is a part of what is measured.
fn steps(request: &Request) -> Result<Steps, String> {
    let mut all = Steps::default();
    let device = request.device;
    let (jobs, zones) = shares(device, WRITERS);
    let passes = counts(request, "pass", (u32::MAX, ""), &mut all.left_out)?;
    if !passes.iter().copied().eq(1..=passes.len() as u32) {
        return Err("a pass is what it is by those before it: `pass` is 1,2,3 and so on".into());
    }
    for bs in blocks(request, &mut all.left_out)? {
        for pass in &passes {
            // Each job writes whole blocks: what is left of a zone's capacity stays unwritten.
            let whole = device.capacity / bytes(bs)? * bytes(bs)?;
            let amount = whole * u64::from(zones);
            let job = format!(
                "{}{}rw=write\nbs={bs}\nsize={zones}z\nio_size={amount}\noffset_increment={zones}z\n\
                 numjobs={jobs}\njob_max_open_zones=1\ngroup_reporting\n\n[write]\n",
                device.head(),
                device.one_by_one()
            );
            let settings = vec![("bs".into(), bs.into()), ("pass".into(), pass.to_string())];
            let first = *pass == 1;
            let finds = (!first).then_some(Filled { zones: jobs * zones, bytes: whole });
            all.steps.push(Step { reset: first, finds, ..Step::measure(settings, job) });
        }
    }
    Ok(all)
}
