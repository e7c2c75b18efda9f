//! The supervisor's own process. Standard input is the socket.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use fiord_types::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper,
    set_parent_process_death_signal, wait,
};

use super::{EXITED, KILL, NOT_STARTED, SIGNALLED, TERMINATE};
use crate::process::unblock_signals;
use crate::signal;

/// Time between two rounds of `SIGKILL`, for processes that are started meanwhile.
const ROUND: Duration = Duration::from_millis(5);

/// Runs the program that the arguments name, until all of its processes have ended.
pub(super) fn run(mut arguments: impl Iterator<Item = OsString>) -> ! {
    let socket = || std::io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from);
    let (Ok(mut socket), Ok(requests)) = (socket(), socket()) else { std::process::exit(1) };
    // Only the socket and SIGKILL end a supervisor.
    let _ = signal::mask(libc::SIG_SETMASK, 1..=libc::SIGRTMAX());
    let _ = set_child_subreaper(Some(getpid()));
    let program = match start(arguments.next().unwrap_or_default(), arguments) {
        Ok(pid) => pid,
        Err(error) => {
            tell(&mut socket, NOT_STARTED, Errno::of(&error).unwrap_or(Errno::EINVAL).raw());
            std::process::exit(1)
        }
    };
    std::thread::spawn(move || follow(requests));
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == program => match status.terminating_signal() {
                Some(signal) => tell(&mut socket, SIGNALLED, signal),
                None => tell(&mut socket, EXITED, status.exit_status().unwrap_or(0)),
            },
            // No process is left.
            Err(rustix::io::Errno::CHILD) => std::process::exit(0),
            _ => {}
        }
    }
}

/// Starts the program. Returns its process id.
fn start(program: OsString, arguments: impl Iterator<Item = OsString>) -> std::io::Result<Pid> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).process_group(0);
    // SAFETY: between fork and exec the function only makes two system calls.
    unsafe { command.pre_exec(before_exec) };
    Ok(Pid::from_child(&command.spawn()?))
}

/// Sends a message. The parent may have ended.
fn tell(socket: &mut UnixStream, kind: u8, number: i32) {
    let [a, b, c, d] = number.to_le_bytes();
    let _ = socket.write_all(&[kind, a, b, c, d]);
}

/// Carries out requests. Kills all processes when the parent has ended.
fn follow(mut requests: UnixStream) {
    let mut request = [0];
    while requests.read_exact(&mut request).is_ok() {
        match request[0] {
            TERMINATE => signal_descendants(Signal::TERM),
            KILL => break,
            _ => {}
        }
    }
    loop {
        // The other thread ends this process when no descendant is left.
        signal_descendants(Signal::KILL);
        std::thread::sleep(ROUND);
    }
}

/// Sends a signal to all descendants.
fn signal_descendants(signal: Signal) {
    for pid in descendants(getpid()) {
        // A process that has ended meanwhile is either a zombie, whose id is not reused, or an orphan that this process
        // adopts and waits for in another thread.
        let _ = kill_process(pid, signal);
    }
}

/// The descendants of a process, parents before their children.
fn descendants(root: Pid) -> Vec<Pid> {
    let number = |text: &str| text.parse().ok().and_then(Pid::from_raw);
    let mut children: HashMap<Pid, Vec<Pid>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(number) else { continue };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name in parentheses may contain anything. The state and the parent follow it.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        if let Some(parent) = parent.and_then(number) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = vec![root];
    let mut at = 0;
    while let Some(parent) = found.get(at) {
        at += 1;
        found.extend(children.remove(parent).unwrap_or_default());
    }
    found.split_off(1)
}

/// Runs in the new process: unblocks all signals, and asks the kernel to kill the program if the
/// supervisor dies.
fn before_exec() -> std::io::Result<()> {
    unblock_signals()?;
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_through_other_process_groups() {
        let mut child = Command::new("sh").args(["-c", "setsid sleep 60 & wait"]).spawn().unwrap();
        let from = std::time::Instant::now();
        let sleeps = |pid: &Pid| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|c| c == "sleep\n")
        };
        let sleeper = loop {
            let below = descendants(Pid::from_child(&child));
            assert!(below.iter().all(|pid| descendants(getpid()).contains(pid)));
            if let Some(pid) = below.into_iter().find(sleeps) {
                break pid;
            }
            assert!(from.elapsed() < Duration::from_secs(20));
        };
        kill_process(sleeper, Signal::KILL).unwrap();
        child.wait().unwrap();
    }
}
