//! `fiord precondition` on many hosts: each host runs the command itself, over ssh, and keeps its own progress.
//!
//! First each host says which data will be lost, and the user confirms once. Then all hosts write at the same time. A host
//! stops when its standard input ends: after Ctrl-C here, or when the connection is lost.

use std::process::ExitStatus;

use fiord_app::coordinator::reach::SshHost;
use fiord_run::Interrupts;

use super::{PreconditionArgs, PreconditionError, warn};
use crate::consent;
use crate::runs::over_ssh::{self, HostCommand, HostLine, HostStream};
use crate::session::{CommandEnd, Session};

/// The exit status of a command that was stopped.
const STOPPED: i32 = 128;

/// Runs the command on all hosts.
///
/// # Errors
/// ssh cannot be started, the user does not confirm, or nothing can be printed.
pub(super) fn run(
    args: &PreconditionArgs,
    hosts: &[SshHost],
    session: &mut Session<'_>,
    interrupts: &mut dyn Interrupts,
    terminal: bool,
) -> Result<CommandEnd, PreconditionError> {
    // As without hosts, the description belongs to the question, and to the results if there is no question.
    let is_result = args.dry_run || (args.yes && !terminal);
    let described =
        everywhere(hosts, "--dry-run", args, interrupts, &mut |line| match line.stream
            == HostStream::Out
            && is_result
        {
            true => Ok(session.print(&line.marked(hosts))?),
            false => warn(session.err, &line.marked(hosts)),
        })?;
    let end = conclude(hosts, &described, session)?;
    if end != CommandEnd::Done || args.dry_run {
        return Ok(end);
    }
    let count = hosts.len();
    let all = format!("All data on these devices of {count} hosts will be lost.\n");
    match is_result {
        true => session.print(&all)?,
        false => warn(session.err, &all)?,
    }
    consent::obtain(args.yes, session.ask)?;
    let ended = everywhere(hosts, "--attended", args, interrupts, &mut |line| match line.stream {
        HostStream::Out => Ok(session.print(&line.marked(hosts))?),
        HostStream::Err => warn(session.err, &line.marked(hosts)),
    })?;
    conclude(hosts, &ended, session)
}

/// Runs the command with one more option on all hosts.
fn everywhere(
    hosts: &[SshHost],
    option: &str,
    args: &PreconditionArgs,
    interrupts: &mut dyn Interrupts,
    show: &mut dyn FnMut(HostLine) -> Result<(), PreconditionError>,
) -> Result<Vec<ExitStatus>, PreconditionError> {
    let command = HostCommand { words: args.on_host(option), input: None };
    over_ssh::everywhere(hosts, &vec![command; hosts.len()], interrupts, show)
}

/// Names the hosts that failed. Returns how all of them ended together.
fn conclude(
    hosts: &[SshHost],
    ended: &[ExitStatus],
    session: &mut Session<'_>,
) -> Result<CommandEnd, PreconditionError> {
    let mut end = CommandEnd::Done;
    for (host, status) in hosts.iter().zip(ended) {
        match status.code() {
            Some(0) => {}
            Some(STOPPED) if end == CommandEnd::Done => end = CommandEnd::Stopped,
            Some(STOPPED) => {}
            _ => {
                end = CommandEnd::Failed;
                warn(session.err, &format!("fiord: host {}: {status}\n", host.name))?;
            }
        }
    }
    Ok(end)
}
