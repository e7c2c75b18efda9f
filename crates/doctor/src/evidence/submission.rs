//! How long the threads of a job sleep in the call that submits its I/Os.

use fiord_stat::shares::{LoopStage, StageShares};
use fiord_types::Nanos;

use crate::check::Entry;
use crate::machine::{Evidence, Unavailable};

/// Minimum share of the threads' time that they sleep in submission.
pub(crate) const SHARE: f64 = 0.5;
/// Minimum share of the sampled rounds in which submission took most of the time. A thread that loses
/// its CPU makes only single rounds long.
const ROUNDS: f64 = 0.75;
/// Minimum number of sampled rounds.
const MIN_ROUNDS: u64 = 5;

/// Returns whether submission takes most of the time, in most of the sampled rounds.
pub(crate) fn mostly_submits(shares: &StageShares) -> bool {
    shares.rounds() >= MIN_ROUNDS
        && shares.share(LoopStage::Submission) >= SHARE
        && shares.submitting() as f64 >= shares.rounds() as f64 * ROUNDS
}

/// Returns the minimum share of a printed job's time in which its threads slept in submission. Returns
/// an error if the kernel does not report how long threads wait for a CPU.
pub(crate) fn blocked(entry: &Entry<'_>, shares: &StageShares) -> Evidence<f64> {
    let report = entry.report;
    let ready = report.delays.ready.ok_or_else(|| {
        Unavailable("waiting time for CPUs: the kernel has no /proc/thread-self/schedstat".into())
    })?;
    let ready = ready.0 as f64 / report.runtime.max(Nanos::from_millis(1)).0 as f64;
    let computed = (report.usr_cpu + report.sys_cpu) / 100.0;
    Ok(shares.share(LoopStage::Submission) - computed - ready)
}

/// Returns the mean time that submission slept per I/O, and the mean latency of an I/O, both in ns.
pub(crate) fn each(entry: &Entry<'_>, blocked: f64) -> (f64, f64) {
    let dirs = || entry.report.dirs.iter();
    let ios: u64 = dirs().map(|row| row.total_ios).sum();
    let busiest = dirs().max_by_key(|row| row.total_ios);
    let lat = busiest.map_or(0.0, |row| if row.lat.n > 0 { row.lat.mean } else { row.clat.mean });
    (entry.report.runtime.0 as f64 * blocked / ios.max(1) as f64, lat)
}
