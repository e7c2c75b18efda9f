//! `fiord verify` on many hosts: each host gets the journal that the coordinator has kept for it, and checks its own targets.

use std::path::PathBuf;
use std::process::ExitStatus;

use fiord_app::coordinator::keeping::journal_of;
use fiord_app::coordinator::reach::SshHost;
use fiord_run::NoInterrupts;
use fiord_types::{Bytes, HostIndex};
use serde_json::{Map, Value, json};

use super::args::VerifyArgs;
use super::error::VerifyError;
use crate::runs::over_ssh::{self, HostCommand, HostInput, HostLine, HostStream};
use crate::session::{CommandEnd, CommandFormat, Session};

/// The exit status of a host that has lost data.
const DATA_LOST: i32 = 250;

/// Checks the targets of all hosts at the same time, and prints the results in the order of the hosts.
///
/// # Errors
/// An option has no meaning here, a journal is missing, or ssh cannot be started.
pub(super) fn run(
    args: &VerifyArgs,
    hosts: &[SshHost],
    session: &mut Session,
) -> Result<CommandEnd, VerifyError> {
    if let Some(option) = args.only_here() {
        return Err(VerifyError::OnlyHere { option });
    }
    let commands: Result<Vec<_>, _> = hosts.iter().map(|host| command(args, host)).collect();
    let mut lines: Vec<HostLine> = Vec::new();
    // Ctrl-C ends this process at once, and with it the standard input of the hosts.
    let ended =
        over_ssh::everywhere(hosts, &commands?, &mut NoInterrupts, &mut |line: HostLine| {
            lines.push(line);
            Ok::<(), VerifyError>(())
        })?;
    lines.sort_by_key(|line| line.host);
    let (printed, messages): (Vec<HostLine>, Vec<HostLine>) =
        lines.into_iter().partition(|line| line.stream == HostStream::Out);
    match args.format {
        CommandFormat::Table => {
            let text: String = printed.iter().map(|line| line.marked(hosts)).collect();
            session.print(&text)?;
        }
        CommandFormat::Json => session.print_document(&document(hosts, &printed))?,
    }
    for line in messages {
        session.report(line.marked(hosts).trim_end());
    }
    Ok(conclude(hosts, &ended, session))
}

/// What a host runs.
fn command(args: &VerifyArgs, host: &SshHost) -> Result<HostCommand, VerifyError> {
    let path: PathBuf = journal_of(&args.journal, &host.name);
    let length = std::fs::metadata(&path).map(|found| Bytes(found.len()));
    let length = length.map_err(|source| VerifyError::NoJournal {
        host: host.name.clone(),
        path: path.clone(),
        source,
    })?;
    let words = args.on_host(&path, length);
    Ok(HostCommand { words, input: Some(HostInput { path, length }) })
}

/// One JSON document: the reports of the hosts by their names, `null` if a host could not check its targets.
fn document(hosts: &[SshHost], lines: &[HostLine]) -> String {
    let mut reports = Map::new();
    for (index, host) in hosts.iter().enumerate() {
        let own = lines.iter().filter(|line| line.host == HostIndex::at(index));
        let text: Vec<&str> = own.map(|line| line.text.as_str()).collect();
        let report = serde_json::from_str(&text.join("\n")).unwrap_or(Value::Null);
        reports.insert(host.name.clone(), report);
    }
    format!("{:#}\n", json!({ "hosts": reports }))
}

/// Names the hosts that could not check their targets. Data that are proved to be lost matter more.
fn conclude(hosts: &[SshHost], ended: &[ExitStatus], session: &mut Session) -> CommandEnd {
    let mut end = CommandEnd::Done;
    for (host, status) in hosts.iter().zip(ended) {
        match status.code() {
            Some(0) => {}
            Some(DATA_LOST) => end = CommandEnd::DataLost,
            _ => {
                session.report(format_args!("host {}: {status}", host.name));
                if end == CommandEnd::Done {
                    end = CommandEnd::Failed;
                }
            }
        }
    }
    end
}
