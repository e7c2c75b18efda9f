//! The policy that forbids jobs to run programs (`--no-exec`).
//!
//! This is the only place that decides it. A server that runs the jobs of others sets
//! [`PlanOptions::no_exec`](crate::PlanOptions), and a job cannot unset it.

use fiord_job::command::TriggerOptions;
use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::table::{EXEC_POSTRUN, EXEC_PRERUN, IOENGINE};

use crate::options::messages::Messages;
use crate::options::reading::Reading;

const HELP: &str = "To fix: leave it out, or run without --no-exec if the jobs may run programs";

/// Refuses every job that would run a program or load code, and a trigger with a command.
pub(crate) fn refuse(jobs: &[Reading], trigger: Option<&TriggerOptions>, messages: &Messages) {
    for job in jobs {
        if job.spec.engine().runs_programs {
            let what = format!("ioengine={} is forbidden by --no-exec", job.get(IOENGINE));
            job.report(job.error(IOENGINE, what).help(HELP));
        }
        for option in [EXEC_PRERUN, EXEC_POSTRUN] {
            if job.get(option).is_some() {
                let what = format!("`{}` is forbidden by --no-exec", option.name());
                job.report(job.error(option, what).help(HELP));
            }
        }
    }
    if trigger.is_some_and(|trigger| trigger.command.is_some()) {
        let what = "`--trigger` is forbidden by --no-exec: it runs a command";
        messages.push(Diagnostic::error(what, None).help(HELP));
    }
}
