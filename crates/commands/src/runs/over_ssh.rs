//! A subcommand that many hosts run themselves, over ssh.
//!
//! Each host gets a command line and can get a file on its standard input, which stays open after the file. A host
//! must stop when its standard input ends: after Ctrl-C here, or when the connection is lost.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Take, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::Duration;

use fiord_app::coordinator::reach::SshHost;
use fiord_run::{Interrupt, Interrupts};
use fiord_types::{Bytes, Errno, HostIndex};

/// Time between two checks for Ctrl-C.
const TICK: Duration = Duration::from_millis(50);

/// Maximum length of a line that a host may print, bytes. The rest becomes another line.
const MAX_LINE: u64 = 1 << 16;

/// Bytes of the input of a host that are sent together.
const CHUNK: usize = 1 << 16;

/// Why the hosts cannot run the command.
#[derive(Debug, thiserror::Error)]
pub enum OverSshError {
    /// There is no command that reaches a host.
    #[error("--ssh names no command. To fix: leave it out, or name one: --ssh='ssh -p 2222'")]
    NoCommand,
    /// The command that reaches a host cannot be started.
    #[error("cannot start {program}: {}. To fix: install it, or name another program with --ssh", Errno::explain(.source))]
    Start { program: String, source: io::Error },
    /// The command that reaches a host cannot be waited for.
    #[error("cannot wait for the command on a host: {}", Errno::explain(.0))]
    Wait(#[source] io::Error),
    /// A file for a host cannot be read.
    #[error("cannot read {path}: {}", Errno::explain(.source))]
    Input { path: PathBuf, source: io::Error },
}

/// The stream of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostStream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// A line that a host printed.
#[derive(Debug)]
pub(crate) struct HostLine {
    pub host: HostIndex,
    pub stream: HostStream,
    /// Without its end, and without control characters, which could change what the terminal shows.
    pub text: String,
}

impl HostLine {
    /// The line after the name of its host.
    pub(crate) fn marked(&self, hosts: &[SshHost]) -> String {
        format!("<{}> {}\n", hosts[self.host].name, self.text)
    }
}

/// What a host runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostCommand {
    /// The arguments of fiord.
    pub words: Vec<String>,
    /// What it gets on its standard input.
    pub input: Option<HostInput>,
}

/// A file for the standard input of a host.
#[derive(Debug, Clone)]
pub(crate) struct HostInput {
    pub path: PathBuf,
    /// The bytes that the host expects.
    pub length: Bytes,
}

/// A host that runs the command.
struct RunningHost {
    child: Child,
    /// The standard input of the host stays open until this is dropped.
    keeps_input_open: Option<Sender<()>>,
}

/// Runs a command on each host until all have ended. The first interrupt stops the hosts, the second one does not wait for them.
/// `show` gets each line.
///
/// # Errors
/// A host cannot be started, or `show` fails.
pub(crate) fn everywhere<E: From<OverSshError>>(
    hosts: &[SshHost],
    commands: &[HostCommand],
    interrupts: &mut dyn Interrupts,
    show: &mut dyn FnMut(HostLine) -> Result<(), E>,
) -> Result<Vec<ExitStatus>, E> {
    let (sender, receiver) = mpsc::channel();
    let mut running = Vec::with_capacity(hosts.len());
    for (index, (host, command)) in hosts.iter().zip(commands).enumerate() {
        // Hosts that already run stop when their input is dropped.
        running.push(start(HostIndex::at(index), host, command, &sender)?);
    }
    drop(sender);
    let mut shown = Ok(());
    let mut interrupted = 0;
    loop {
        if let Some(Interrupt::End(_)) = interrupts.next() {
            interrupted += 1;
        }
        if interrupted > 0 || shown.is_err() {
            running.iter_mut().for_each(|host| drop(host.keeps_input_open.take()));
        }
        if interrupted > 1 {
            // A process that has ended needs no signal.
            running.iter_mut().for_each(|host| drop(host.child.kill()));
        }
        match receiver.recv_timeout(TICK) {
            Ok(line) if shown.is_ok() => shown = show(line),
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    shown?;
    let wait = |mut host: RunningHost| host.child.wait().map_err(OverSshError::Wait);
    let ended: Result<Vec<ExitStatus>, OverSshError> = running.into_iter().map(wait).collect();
    Ok(ended?)
}

/// Becomes true when standard input ends: the coordinator does not wait for this command any more.
pub(crate) fn input_end() -> Arc<AtomicBool> {
    let ended = Arc::new(AtomicBool::new(false));
    let own = Arc::clone(&ended);
    std::thread::spawn(move || {
        // An error is the end, too.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        own.store(true, Ordering::Relaxed);
    });
    ended
}

/// Starts the command on a host.
fn start(
    index: HostIndex,
    host: &SshHost,
    given: &HostCommand,
    sender: &Sender<HostLine>,
) -> Result<RunningHost, OverSshError> {
    let line = host.command(&given.words);
    let (program, arguments) = line.split_first().ok_or(OverSshError::NoCommand)?;
    let input = given.input.as_ref().map(|HostInput { path, length }| {
        let failed = |source| OverSshError::Input { path: path.clone(), source };
        File::open(path).map(|file| file.take(length.0)).map_err(failed)
    });
    let input = input.transpose()?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Ctrl-C on the terminal must not end ssh before the host has ended its work.
    command.process_group(0);
    let start_failed = |source| OverSshError::Start { program: program.clone(), source };
    let mut child = command.spawn().map_err(start_failed)?;
    let (keeps_input_open, closed) = mpsc::channel();
    if let Some(pipe) = child.stdin.take() {
        std::thread::spawn(move || feed(pipe, input, &closed));
    }
    if let Some(out) = child.stdout.take() {
        read(index, HostStream::Out, out, sender);
    }
    if let Some(err) = child.stderr.take() {
        read(index, HostStream::Err, err, sender);
    }
    Ok(RunningHost { child, keeps_input_open: Some(keeps_input_open) })
}

/// Sends a file, and keeps the pipe open until the other end of `closed` is dropped. If the file has become shorter, or the
/// host takes no more, the pipe is closed: the host then does not wait for the rest.
fn feed(mut pipe: ChildStdin, input: Option<Take<File>>, closed: &Receiver<()>) {
    if let Some(mut file) = input {
        let mut chunk = vec![0; CHUNK];
        while file.limit() > 0 && closed.try_recv() == Err(TryRecvError::Empty) {
            match file.read(&mut chunk) {
                Ok(length) if length > 0 && pipe.write_all(&chunk[..length]).is_ok() => {}
                _ => return,
            }
        }
    }
    // Nothing is ever sent: the error means that the other end was dropped.
    let _ = closed.recv();
}

/// Passes the lines of a stream on until it ends.
fn read(
    host: HostIndex,
    stream: HostStream,
    pipe: impl Read + Send + 'static,
    sender: &Sender<HostLine>,
) {
    let sender = sender.clone();
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut bytes = Vec::new();
        // An error of a pipe ends it, too.
        while pipe.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes).is_ok_and(|n| n > 0) {
            let text = String::from_utf8_lossy(&bytes);
            let plain = |c: char| if c.is_control() { '?' } else { c };
            let text = text.trim_end_matches('\n').chars().map(plain).collect();
            if sender.send(HostLine { host, stream, text }).is_err() {
                return;
            }
            bytes.clear();
        }
    });
}
