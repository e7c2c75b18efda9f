//! `fiord precondition` on many hosts: each host runs the command itself, over ssh, and keeps its own progress.
//!
//! First each host says which data will be lost, and the user confirms once. Then all hosts write at the same time. A host
//! stops when its standard input ends: after Ctrl-C here, or when the connection is lost.

use std::process::ExitStatus;

use fiord_app::coordinator::reach::SshHost;
use fiord_html::result::{FilledTarget, PreconditionDocument};
use fiord_run::Interrupts;
use fiord_types::HostIndex;

use super::output::{Output, PreconditionFormat};
use super::{PreconditionArgs, PreconditionError, warn};
use crate::consent;
use crate::runs::over_ssh::{self, HostCommand, HostLine, HostStream};
use crate::session::{CommandEnd, Session};

/// The exit status of a command that was stopped.
const STOPPED: i32 = 128;

/// The exit status of a command whose limit ended the random writes before their rate was steady.
const NOT_STEADY: i32 = 246;

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
    let format = args.format;
    // As without hosts, the description belongs to the question, and to the results if there is no question. A document
    // has no place for it.
    let is_result = args.dry_run || (args.yes && !terminal);
    let is_silent = is_result && format == PreconditionFormat::Json;
    let mut output = Output::open(args)?;
    let mut lines: Vec<HostLine> = Vec::new();
    let first = if args.dry_run { format } else { PreconditionFormat::Text };
    let words = args.on_host("--dry-run", first);
    let described = everywhere(hosts, words, interrupts, &mut |line| match line.stream {
        HostStream::Out if is_silent => {
            lines.push(line);
            Ok(())
        }
        HostStream::Out if is_result => output.write(&line.marked(hosts), session),
        _ => warn(session.err, &line.marked(hosts)),
    })?;
    if args.dry_run && is_silent {
        output.document(targets(hosts, &lines)?, session)?;
    }
    let end = conclude(hosts, &described, session)?;
    if end != CommandEnd::Done || args.dry_run {
        return Ok(end);
    }
    let count = hosts.len();
    let all = format!("All data on these devices of {count} hosts will be lost.\n");
    match is_result {
        true if is_silent => {}
        true => output.write(&all, session)?,
        false => warn(session.err, &all)?,
    }
    consent::obtain(args.yes, session.ask)?;
    lines.clear();
    let words = args.on_host("--attended", format);
    let ended = everywhere(hosts, words, interrupts, &mut |line| match line.stream {
        HostStream::Out if format == PreconditionFormat::Json => {
            lines.push(line);
            Ok(())
        }
        HostStream::Out => output.write(&line.marked(hosts), session),
        HostStream::Err => warn(session.err, &line.marked(hosts)),
    })?;
    if format == PreconditionFormat::Json {
        output.document(targets(hosts, &lines)?, session)?;
    }
    conclude(hosts, &ended, session)
}

/// Runs the command with these arguments on all hosts.
fn everywhere(
    hosts: &[SshHost],
    words: Vec<String>,
    interrupts: &mut dyn Interrupts,
    show: &mut dyn FnMut(HostLine) -> Result<(), PreconditionError>,
) -> Result<Vec<ExitStatus>, PreconditionError> {
    let command = HostCommand { words, input: None };
    over_ssh::everywhere(hosts, &vec![command; hosts.len()], interrupts, show)
}

/// The devices of all hosts, from the document that each of them printed. A host that failed before its first write printed
/// none.
fn targets(hosts: &[SshHost], lines: &[HostLine]) -> Result<Vec<FilledTarget>, PreconditionError> {
    let mut all = Vec::new();
    for (index, host) in hosts.iter().enumerate() {
        let own = lines.iter().filter(|line| line.host == HostIndex::at(index));
        let text: Vec<&str> = own.map(|line| line.text.as_str()).collect();
        if text.is_empty() {
            continue;
        }
        let of_host = |source| PreconditionError::OfHost { host: host.name.clone(), source };
        let document: PreconditionDocument =
            serde_json::from_str(&text.join("\n")).map_err(of_host)?;
        let named = |target| FilledTarget { host: host.name.clone(), ..target };
        all.extend(document.targets.into_iter().map(named));
    }
    Ok(all)
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
            Some(STOPPED) if end != CommandEnd::Failed => end = CommandEnd::Stopped,
            Some(NOT_STEADY) if end == CommandEnd::Done => end = CommandEnd::NotSteady,
            Some(STOPPED | NOT_STEADY) => {}
            _ => {
                end = CommandEnd::Failed;
                warn(session.err, &format!("fiord: host {}: {status}\n", host.name))?;
            }
        }
    }
    Ok(end)
}
