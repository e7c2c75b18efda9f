//! `fiord precondition` on many hosts: each host runs the command itself, over ssh, and keeps its own progress.
//!
//! First each host says which data will be lost, and the user confirms once. Then all hosts write at the same time. A host
//! stops when its standard input ends: after Ctrl-C here, or when the connection is lost.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use fiord_app::coordinator::reach::SshHost;
use fiord_run::{Interrupt, Interrupts};

use super::{PreconditionArgs, PreconditionError, warn};
use crate::consent;
use crate::session::{CommandEnd, Session};

/// The exit status of a command that was stopped.
const STOPPED: i32 = 128;

/// Time between two checks for Ctrl-C.
const TICK: Duration = Duration::from_millis(50);

/// The longest line that a host may print, bytes. The rest becomes another line.
const LONGEST_LINE: u64 = 4096;

/// The stream of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HostStream {
    Out,
    Err,
}

/// A line of a host, and the position of the host in the list.
type HostLine = (usize, HostStream, String);

/// A host that runs the command.
struct RunningHost {
    child: Child,
    /// The host works until this is closed.
    input: Option<ChildStdin>,
}

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
        everywhere(hosts, "--dry-run", args, interrupts, &mut |line, stream| match stream
            == HostStream::Out
            && is_result
        {
            true => Ok(session.print(line)?),
            false => warn(session.err, line),
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
    let ended =
        everywhere(hosts, "--attended", args, interrupts, &mut |line, stream| match stream {
            HostStream::Out => Ok(session.print(line)?),
            HostStream::Err => warn(session.err, line),
        })?;
    conclude(hosts, &ended, session)
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

/// Runs the command with one more option on all hosts, until all have ended. The first interrupt stops the hosts, the second
/// one does not wait for them. `show` gets each line with the name of its host.
fn everywhere(
    hosts: &[SshHost],
    option: &str,
    args: &PreconditionArgs,
    interrupts: &mut dyn Interrupts,
    show: &mut dyn FnMut(&str, HostStream) -> Result<(), PreconditionError>,
) -> Result<Vec<ExitStatus>, PreconditionError> {
    let (sender, receiver) = mpsc::channel();
    let mut running = Vec::with_capacity(hosts.len());
    for (index, host) in hosts.iter().enumerate() {
        // Hosts that already run stop when their input is dropped.
        running.push(start(index, host, &args.on_host(option), &sender)?);
    }
    drop(sender);
    let mut shown = Ok(());
    let mut interrupted = 0;
    loop {
        if let Some(Interrupt::End(_)) = interrupts.next() {
            interrupted += 1;
        }
        if interrupted > 0 || shown.is_err() {
            running.iter_mut().for_each(|host| drop(host.input.take()));
        }
        if interrupted > 1 {
            // A process that has ended needs no signal.
            running.iter_mut().for_each(|host| drop(host.child.kill()));
        }
        match receiver.recv_timeout(TICK) {
            Ok((host, stream, text)) if shown.is_ok() => {
                shown = show(&format!("<{}> {text}\n", hosts[host].name), stream);
            }
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    shown?;
    let wait = |mut host: RunningHost| host.child.wait().map_err(PreconditionError::Wait);
    running.into_iter().map(wait).collect()
}

/// Starts the command on a host.
fn start(
    index: usize,
    host: &SshHost,
    words: &[String],
    sender: &Sender<HostLine>,
) -> Result<RunningHost, PreconditionError> {
    let line = host.command(words);
    let (program, arguments) = line.split_first().ok_or(PreconditionError::NoCommand)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Ctrl-C on the terminal must not end ssh before the host has saved its progress.
    command.process_group(0);
    let start_failed = |source| PreconditionError::Start { program: program.clone(), source };
    let mut child = command.spawn().map_err(start_failed)?;
    let input = child.stdin.take();
    if let Some(out) = child.stdout.take() {
        read(index, HostStream::Out, out, sender);
    }
    if let Some(err) = child.stderr.take() {
        read(index, HostStream::Err, err, sender);
    }
    Ok(RunningHost { child, input })
}

/// Passes the lines of a stream on until it ends.
fn read(
    host: usize,
    stream: HostStream,
    pipe: impl Read + Send + 'static,
    sender: &Sender<HostLine>,
) {
    let sender = sender.clone();
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut bytes = Vec::new();
        // An error of a pipe ends it, too.
        while pipe.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes).is_ok_and(|n| n > 0) {
            let text = String::from_utf8_lossy(&bytes);
            // Control characters of a host could change what the terminal shows.
            let plain = |c: char| if c.is_control() { '?' } else { c };
            let text = text.trim_end_matches('\n').chars().map(plain).collect();
            if sender.send((host, stream, text)).is_err() {
                return;
            }
            bytes.clear();
        }
    });
}
