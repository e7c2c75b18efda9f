//! How long the jobs of a host may run, as far as their options say.

use fiord_job::option::table::{
    CREATE_SERIALIZE, END_FSYNC, END_SYNCFS, EXEC_POSTRUN, EXEC_PRERUN, FSYNC_ON_CLOSE, PRE_READ,
    RAMP_SIZE, RAMP_TIME, RUNTIME, STARTDELAY, VERIFY,
};
use fiord_job::spec::JobSpec;
use fiord_types::Nanos;

/// The longest time that the jobs may run. `None` if something without a limit of time belongs to a job.
pub(super) fn longest(jobs: &[JobSpec]) -> Option<Nanos> {
    // As if they ran one after the other.
    let times: Option<Vec<Nanos>> = jobs.iter().map(longest_of).collect();
    times.filter(|times| !times.is_empty()).map(|times| times.into_iter().sum())
}

fn longest_of(job: &JobSpec) -> Option<Nanos> {
    let runtime = Some(job.get(RUNTIME)).filter(|time| *time > Nanos::ZERO)?;
    // Flushes at the end write whatever is in the page cache.
    let flushes = [END_FSYNC.def(), END_SYNCFS.def(), FSYNC_ON_CLOSE.def()];
    let before = [RAMP_SIZE.def(), PRE_READ.def(), CREATE_SERIALIZE.def()];
    let others = [VERIFY.def(), EXEC_PRERUN.def(), EXEC_POSTRUN.def()];
    let mut endless = flushes.into_iter().chain(before).chain(others);
    if endless.any(|option| job.is_set(option)) {
        return None;
    }
    let delay = Nanos(job.get(STARTDELAY).high());
    Some(runtime.saturating_add(delay).saturating_add(job.get(RAMP_TIME).unwrap_or(Nanos::ZERO)))
}

#[cfg(test)]
mod tests {
    use fiord_job::invocation;
    use fiord_job::load::Memory;

    use super::*;

    #[test]
    fn only_times_bound_a_run() {
        let of = |line: &str| {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let invocation = invocation(&arguments, &mut Memory::default()).unwrap();
            longest(&invocation.jobs).map(Nanos::as_secs)
        };
        let one = "--name=a --rw=write --size=1g --filename=f";
        assert_eq!(of(one), None);
        assert_eq!(of(&format!("{one} --runtime=10")), Some(10));
        assert_eq!(of(&format!("{one} --runtime=10 --ramp_time=5 --startdelay=1-3")), Some(18));
        assert_eq!(
            of(&format!("{one} --runtime=10 --name=b --runtime=20 --rw=read --size=1m")),
            Some(30)
        );
        assert_eq!(of(&format!("{one} --runtime=10 --verify=crc32c")), None);
        assert_eq!(of(&format!("{one} --runtime=10 --end_fsync=1")), None);
        assert_eq!(of(&format!("{one} --runtime=10 --fsync_on_close=1")), None);
        assert_eq!(of(&format!("{one} --runtime=10 --name=b --rw=read --size=1m")), None);
    }
}
