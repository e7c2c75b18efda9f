//! The supervisor's own process. Standard input is the socket.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use fiord_types::Errno;

use super::{EXITED, KILL, NOT_STARTED, SIGNALLED, TERMINATE};

/// Time between two rounds of `SIGKILL`, for processes that are started meanwhile.
const ROUND: Duration = Duration::from_millis(5);

/// Runs the program that the arguments name, until all of its processes have ended.
pub(super) fn run(mut arguments: impl Iterator<Item = OsString>) -> ! {
    // SAFETY: the descriptor is the socket that the parent passes, and has no other owner.
    let mut socket = unsafe { UnixStream::from_raw_fd(0) };
    let Ok(requests) = socket.try_clone() else { std::process::exit(1) };
    // Only the socket and SIGKILL end a supervisor.
    block_all_signals();
    // SAFETY: integers only.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    let program = match start(arguments.next().unwrap_or_default(), arguments) {
        Ok(pid) => pid,
        Err(error) => {
            tell(&mut socket, NOT_STARTED, Errno::of(&error).unwrap_or(Errno::EINVAL).raw());
            std::process::exit(1)
        }
    };
    std::thread::spawn(move || follow(requests));
    loop {
        let mut status = 0;
        // SAFETY: `status` is valid to write to.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, 0) };
        if pid == program {
            match libc::WIFSIGNALED(status) {
                true => tell(&mut socket, SIGNALLED, libc::WTERMSIG(status)),
                false => tell(&mut socket, EXITED, libc::WEXITSTATUS(status)),
            }
        } else if pid < 0 && Errno::last() == Errno::ECHILD {
            // No process is left.
            std::process::exit(0);
        }
    }
}

/// Starts the program. Returns its process id.
fn start(
    program: OsString,
    arguments: impl Iterator<Item = OsString>,
) -> std::io::Result<libc::pid_t> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).process_group(0);
    // SAFETY: between fork and exec the function only makes two system calls.
    unsafe { command.pre_exec(before_exec) };
    let child = command.spawn()?;
    Ok(child.id() as libc::pid_t)
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
            TERMINATE => signal_descendants(libc::SIGTERM),
            KILL => break,
            _ => {}
        }
    }
    loop {
        // The other thread ends this process when no descendant is left.
        signal_descendants(libc::SIGKILL);
        std::thread::sleep(ROUND);
    }
}

/// Sends a signal to all descendants.
fn signal_descendants(signal: i32) {
    for pid in descendants(std::process::id() as libc::pid_t) {
        // SAFETY: integers only. A process that has ended meanwhile is either a zombie, whose id is not
        // reused, or an orphan that this process adopts and waits for in another thread.
        unsafe { libc::kill(pid, signal) };
    }
}

/// The descendants of a process, parents before their children.
fn descendants(root: libc::pid_t) -> Vec<libc::pid_t> {
    let mut children: HashMap<libc::pid_t, Vec<libc::pid_t>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name in parentheses may contain anything. The state and the parent follow it.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        if let Some(parent) = parent.and_then(|parent| parent.parse().ok()) {
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

fn block_all_signals() {
    // SAFETY: a sigset is plain memory that sigfillset initialises.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
    }
}

/// Runs in the new process: unblocks all signals, and asks the kernel to kill the program if the
/// supervisor dies.
fn before_exec() -> std::io::Result<()> {
    // SAFETY: a sigset is plain memory that sigemptyset initialises; all calls are allowed between fork
    // and exec.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_through_other_process_groups() {
        let mut child = Command::new("sh").args(["-c", "setsid sleep 60 & wait"]).spawn().unwrap();
        let me = std::process::id() as libc::pid_t;
        let from = std::time::Instant::now();
        let sleeps = |pid: &libc::pid_t| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|c| c == "sleep\n")
        };
        let sleeper = loop {
            let below = descendants(child.id() as libc::pid_t);
            assert!(below.iter().all(|pid| descendants(me).contains(pid)));
            if let Some(pid) = below.into_iter().find(sleeps) {
                break pid;
            }
            assert!(from.elapsed() < Duration::from_secs(20));
        };
        // SAFETY: integers only.
        unsafe { libc::kill(sleeper, libc::SIGKILL) };
        child.wait().unwrap();
    }
}
