//! All exit statuses. The manual page has the same table, and a test compares them.
//!
//! | status | when |
//! |---|---|
//! | 0 | all jobs succeeded, or there was nothing to run (`--version`, `--parse-only`, …) |
//! | 1 to 127 | number of failed jobs (127: 127 or more); a message on standard error names each |
//! | 1 | the command line or a job file is wrong or uses an unsupported option; no target was touched |
//! | 1 | a host refused the jobs or could not prepare them, so that no host ran them |
//! | 1 | the results could not be written |
//! | 128 | a signal (Ctrl-C, SIGTERM, SIGHUP) ended the run; the report covers the run so far |
//! | 141 | all jobs succeeded, but the reader closed standard output (`fiord … \| head`) |
//! | 128 | a second signal ended the run without the jobs that hang; the report contains their results so far |
//! | 130, 143 | a third signal (of subcommands: a second one) ended the program at once; there is no report |
//! | 246 | `fiord precondition`: everything is written, but `--limit` ended `--random` before the rate was steady |
//! | 247 | `fiord compare`: the measured change is beyond the limit of a condition (`--fail-if`), but can be chance |
//! | 248 | `fiord compare`: a condition (`--fail-if`) holds |
//! | 249 | a host of the run was lost or could not be reached; the totals lack its results |
//! | 250 | `fiord verify`, `fiord powercut`: flushed data is lost, or data is damaged; if that could not be checked: 1 |
//! | 251 | all jobs succeeded, but a job with `verify_complete` verified less than it wrote |
//! | 252 | `fiord check`: a result of these jobs would be suspect |
//! | 253 | `fiord check`: a result of these jobs would be invalid |
//! | 253 | everything ran, and with `--findings=fatal` a finding says that the result is invalid |
//!
//! fio 3.42 exits with the number of failed jobs modulo 256: 44 for 300 failed jobs, and 0 for 256.
//! fiord stops counting at 127, so that no number of failed jobs looks like success, like a signal
//! or like a finding. The statuses of findings lie above those that shells make of signals (129 to
//! 192) and those that systemd gives to commands it could not start (200 to 245).
//!
//! A reader of standard output that goes away does not stop a run. 141 is the status that a shell
//! shows for a program which `SIGPIPE` ends, such as fio.

use std::process::ExitCode;

use fiord_app::RunEnd;

/// Outcome of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Success,
    /// Nothing could run, or the results could not be written.
    Failure,
    /// Number of failed jobs.
    Failed(usize),
    /// A limit ended the preparation of a device before its rate was steady.
    NotSteady,
    /// The measured change is beyond the limit of a condition, but can be chance.
    ConditionUnproven,
    /// A condition on a comparison holds.
    ConditionHolds,
    /// A host of the run was lost or could not be reached.
    Partial,
    /// A target has lost or damaged data.
    DataLost,
    /// All jobs succeeded, but one verified less than it wrote.
    Unverified,
    /// The result would be suspect.
    Suspect,
    /// All jobs succeeded, but a finding classifies the result as invalid.
    Invalid,
    /// A signal ended the run.
    Signalled,
    /// All jobs succeeded, but the reader closed standard output.
    ReaderGone,
}

impl Exit {
    /// Returns the exit status of the process.
    pub fn status(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Failure => 1,
            // The cast is exact: the number lies between 1 and 127.
            Exit::Failed(jobs) => jobs.clamp(1, 127) as u8,
            Exit::Signalled => 128,
            Exit::ReaderGone => 141,
            Exit::NotSteady => 246,
            Exit::ConditionUnproven => 247,
            Exit::ConditionHolds => 248,
            Exit::Partial => 249,
            Exit::DataLost => 250,
            Exit::Unverified => 251,
            Exit::Suspect => 252,
            Exit::Invalid => 253,
        }
    }
}

impl From<RunEnd> for Exit {
    fn from(end: RunEnd) -> Exit {
        match end {
            RunEnd::Succeeded => Exit::Success,
            RunEnd::Invalid => Exit::Invalid,
            RunEnd::Unverified => Exit::Unverified,
            RunEnd::Failed(jobs) => Exit::Failed(jobs),
            RunEnd::Signalled => Exit::Signalled,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.status())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHERS: [Exit; 11] = [
        Exit::NotSteady,
        Exit::Success,
        Exit::Signalled,
        Exit::ReaderGone,
        Exit::ConditionUnproven,
        Exit::ConditionHolds,
        Exit::Partial,
        Exit::DataLost,
        Exit::Unverified,
        Exit::Suspect,
        Exit::Invalid,
    ];

    #[test]
    fn no_number_of_failed_jobs_looks_like_anything_else() {
        for jobs in (1..1000).chain([65_536, usize::MAX]) {
            let status = Exit::Failed(jobs).status();
            assert!(OTHERS.iter().all(|other| other.status() != status), "{jobs} jobs");
            assert_eq!(usize::from(status), jobs.min(127));
        }
    }

    #[test]
    fn the_manual_has_every_status() {
        let page = fiord_job::man::man(&[]);
        let (_, section) = page.split_once(".SH EXIT STATUS\n").unwrap();
        for exit in OTHERS.into_iter().chain([Exit::Failure]) {
            assert!(section.contains(&format!(".TP\n.B {}\n", exit.status())), "{exit:?}");
        }
        assert!(section.contains(".TP\n.B 1 to 127\n"));
    }
}
