//! Engines whose target is memory of the job: `page_fault`.

use fiord_job::option::table::{IO_SUBMIT_MODE, IoSubmitMode};

use crate::model::{EnginePlan, Load};
use crate::options::reading::Reading;

/// Refuses `io_submit_mode=offload` on an engine that keeps data in memory: each thread has an engine of its own, and
/// so its own memory.
pub(super) fn check(job: Reading, engine: &EnginePlan, _: &Load) {
    if job.get(IO_SUBMIT_MODE) == IoSubmitMode::Offload {
        let name = engine.def().name;
        let what = format!("`ioengine={name}` cannot share its memory among threads");
        let help = "To fix: leave it out: the engine does not wait for a device";
        job.report(job.error(IO_SUBMIT_MODE, what).help(help));
    }
}
