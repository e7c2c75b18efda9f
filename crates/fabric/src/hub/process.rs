//! The process that connects to an agent: usually ssh.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

use fiord_sys::poll::set_blocking;
use fiord_sys::process::ProcessEnding;
use rustix::process::{Pid, Signal, kill_process_group};

use super::wire::Wire;
use crate::contract::Loss;
use crate::frame::printable;

/// Status with which shells and ssh report that there is no such command.
const NO_SUCH_COMMAND: i32 = 127;

/// A process that speaks the protocol on its standard input and output.
#[derive(Debug)]
pub(super) struct AgentProcess {
    child: Child,
    /// Standard error of the process, until that ends.
    errors: Option<File>,
    last_line: LastLine,
    /// The command line, for messages.
    command: String,
    ending: Option<ProcessEnding>,
}

impl AgentProcess {
    /// Starts a program in a process group of its own, so that Ctrl-C in a terminal does not reach it.
    pub(super) fn start(command: &[String]) -> Result<(AgentProcess, Wire), Loss> {
        let (program, arguments) = command.split_first().unwrap_or((const { &String::new() }, &[]));
        let spawned = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut child = spawned.map_err(|error| {
            let error = fiord_sys::Error::from_io("execve", &error).at(program);
            let why = format!("cannot start `{program}`: {error}. To fix: install it, or use another program (--ssh)");
            Loss::NotReached { why }
        })?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(errors)) = streams else {
            unreachable!("all streams are pipes")
        };
        let (input, output, errors) =
            (OwnedFd::from(input), OwnedFd::from(output), OwnedFd::from(errors));
        let (last_line, command) = (LastLine::default(), command.join(" "));
        set_blocking(&errors, false).map_err(Loss::System)?;
        let wire = Wire::pipes(output, input).map_err(Loss::System)?;
        let errors = Some(File::from(errors));
        Ok((AgentProcess { child, errors, last_line, command, ending: None }, wire))
    }

    /// The descriptor of its standard error, until that ends.
    pub(super) fn errors(&self) -> Option<BorrowedFd<'_>> {
        self.errors.as_ref().map(AsFd::as_fd)
    }

    /// Reads what it has printed on standard error. Only the last line is kept.
    pub(super) fn read_errors(&mut self) {
        let mut buffer = [0; 4096];
        // A process that prints without end does not stop the others.
        for _ in 0..16 {
            let Some(errors) = &mut self.errors else { return };
            match errors.read(&mut buffer) {
                Ok(0) => self.errors = None,
                Ok(count) => self.last_line.push(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.errors = None,
            }
        }
    }

    /// Whether it has ended. Does not wait.
    pub(super) fn has_ended(&mut self) -> bool {
        if self.ending.is_none() {
            self.ending = match self.child.try_wait() {
                Ok(None) => None,
                Ok(Some(status)) => Some(ending(status)),
                // Another part of the program has waited for it.
                Err(_) => Some(ProcessEnding::Exited(0)),
            };
        }
        self.ending.is_some()
    }

    /// Kills it and its descendants that did not leave its process group.
    pub(super) fn kill(&mut self) {
        if self.has_ended() {
            return;
        }
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It may just have ended.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill();
    }

    /// Why nothing more comes from it. `heard`: it has spoken the protocol. Call it after the end of its standard output.
    pub(super) fn loss(&mut self, heard: bool) -> Loss {
        self.read_errors();
        let line = self.last_line.text();
        let how = match self.ending {
            Some(ending) => ending.to_string(),
            None => "it closed its standard output".to_owned(),
        };
        if heard {
            let said = if line.is_empty() { how } else { format!("{line} ({how})") };
            return Loss::Closed { said };
        }
        let said = if line.is_empty() { String::new() } else { format!(": {line}") };
        let fix = match self.ending {
            Some(ProcessEnding::Exited(NO_SUCH_COMMAND)) => {
                "install fiord on the host, in a directory of the PATH of shells that are not interactive"
            }
            _ => "run the command by hand; it must not ask for anything",
        };
        Loss::NotReached { why: format!("`{}` failed ({how}){said}. To fix: {fix}", self.command) }
    }
}

fn ending(status: ExitStatus) -> ProcessEnding {
    match status.code() {
        Some(code) => ProcessEnding::Exited(code),
        None => ProcessEnding::Killed(status.signal().unwrap_or(0)),
    }
}

/// The last line of a text that is not empty.
#[derive(Debug, Default)]
struct LastLine {
    complete: Vec<u8>,
    /// The line that has not ended.
    begun: Vec<u8>,
}

impl LastLine {
    /// Maximum number of bytes of a line that are kept.
    const MAX_KEPT: usize = 1000;

    fn push(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = Self::MAX_KEPT.saturating_sub(self.begun.len());
            self.begun.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.begun);
                if !line.trim_ascii().is_empty() {
                    self.complete = line;
                }
            }
        }
    }

    fn text(&self) -> String {
        let begun = !self.begun.trim_ascii().is_empty();
        printable(if begun { &self.begun } else { &self.complete }, Self::MAX_KEPT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_line_is_kept() {
        let mut last = LastLine::default();
        for part in ["Warning: ", "added\r\nno such", " host\n", "\n \n"] {
            last.push(part.as_bytes());
        }
        assert_eq!(last.text(), "no such host");
        last.push(b"x\x1b[1m");
        last.push(&[b'y'; 9000]);
        assert_eq!(last.text(), format!("x?[1m{}", "y".repeat(995)));
        last.push(b"\nend");
        assert_eq!((last.text().as_str(), last.complete.len()), ("end", 1000));
    }
}
