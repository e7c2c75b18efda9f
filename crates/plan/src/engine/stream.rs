//! Engines whose targets are streams of bytes: `net`, `netsplice`, `rdma`.

use fiord_job::option::table::{
    IO_SUBMIT_MODE, IoSubmitMode, READ_IOLOG, RW, VERIFY, VERIFY_PATTERN, Verify,
};
use fiord_types::Dir;

use crate::model::{EnginePlan, Load, Mix};
use crate::options::reading::Reading;

/// The remedy for a job whose order or direction a stream cannot follow.
const ONE_DIRECTION: &str = "To fix: use `rw=read` to receive or `rw=write` to send";

/// Refuses what a stream cannot do: random offsets, two directions, trims, verification, replays and
/// several threads.
pub(super) fn check(job: Reading, engine: &EnginePlan, load: &Load) {
    let name = engine.def().name;
    if load.mix.has(Dir::Trim) {
        let what = format!("`ioengine={name}` cannot trim: a stream stores nothing");
        job.report(job.error(RW, what).help(ONE_DIRECTION));
    } else if !matches!(load.mix, Mix::Read | Mix::Write) {
        let what = format!("a job with `ioengine={name}` either sends or receives");
        let help = "To fix: use one job with `rw=write` and one with `rw=read`; `pingpong` measures \
                    round trips";
        job.report(job.error(RW, what).help(help));
    } else if load.random {
        let what = format!("network IO can't be random: `ioengine={name}` has no offsets");
        job.report(job.error(RW, what).help(ONE_DIRECTION));
    }
    if job.get(VERIFY) != Verify::None || job.is_set(VERIFY_PATTERN) {
        let what = format!("`ioengine={name}` cannot verify: nothing can be read again");
        let option = if job.is_set(VERIFY) { VERIFY.def() } else { VERIFY_PATTERN.def() };
        job.report(job.error(option, what).help("To fix: leave it out"));
    }
    if job.get(READ_IOLOG).is_some() {
        let what = format!("`ioengine={name}` cannot replay a trace: it has no offsets");
        job.report(job.error(READ_IOLOG, what).help("To fix: leave it out"));
    }
    if job.get(IO_SUBMIT_MODE) == IoSubmitMode::Offload {
        let what = format!("`ioengine={name}` cannot share a connection among threads");
        job.report(
            job.error(IO_SUBMIT_MODE, what)
                .help("To fix: leave it out; `numjobs` makes more connections"),
        );
    }
}
