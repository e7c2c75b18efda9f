//! Exit statuses, all of them.
//!
//! | status | when |
//! |---|---|
//! | 0 | everything ran to its end, or there was nothing to run (`--version`, `--parse-only`, …) |
//! | 1 to 127 | so many jobs failed (127: or more); a message on standard error names each |
//! | 1 | the command line or a job file is wrong, or asks for what is not supported; nothing was touched |
//! | 1 | the results could not be written |
//! | 2 | `fiord check`: a result of these jobs would be suspect |
//! | 3 | `fiord check`: a result of these jobs would be invalid |
//! | 3 | everything ran, and with `--findings=fatal` a finding says that the result is invalid |
//! | 128 | a signal (Ctrl-C, SIGTERM, SIGHUP) ended the run; the report is complete as far as it went |
//! | 130, 143 | a second signal ended the program at once; there is no report |
//!
//! A reader of standard output that goes away (`fiord … | head`) changes nothing: the run goes on to
//! its end and the status is what it would have been.

use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All went well.
    Success,
    /// Nothing could be run, or the results could not be written.
    Failure,
    /// So many jobs failed.
    Failed(usize),
    /// The result would be suspect.
    Suspect,
    /// All went well, and the result measures something else than it seems to.
    Invalid,
    /// A signal ended the run.
    Signalled,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        match exit {
            Exit::Success => ExitCode::SUCCESS,
            Exit::Failure => ExitCode::from(1),
            Exit::Suspect => ExitCode::from(2),
            Exit::Invalid => ExitCode::from(3),
            // From 128 on a shell would read it as a signal, and 256 as success.
            Exit::Failed(jobs) => ExitCode::from(jobs.clamp(1, 127) as u8),
            Exit::Signalled => ExitCode::from(128),
        }
    }
}
