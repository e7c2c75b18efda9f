//! Signals to the process: requests to stop, requests for a status report, and closed pipes.
//!
//! The handlers only count and write to an `eventfd`, which wakes the thread that waits for it. Only the
//! last request to stop does more: it ends the process immediately, even if a thread hangs. That is the
//! second request, or the third if the program handles the second one
//! ([`Signals::report_on_second`]).
//!
//! System calls that a signal interrupts are restarted (`SA_RESTART`), so that I/O in flight does not
//! fail with `EINTR`. Threads that do I/O should nevertheless call [`block_in_this_thread`], so that
//! signals always arrive at other threads.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use fiord_types::Errno;

use crate::clock::monotonic::monotonic;
use crate::error::check;
use crate::poll::{self, Readiness, WakeEvent};
use crate::{Error, Result};

/// Two requests to stop within this time count as one: a Ctrl-C that a parent process passes on arrives
/// twice.
const SAME_REQUEST_NS: u64 = 200_000_000;

static STOPS: AtomicU32 = AtomicU32::new(0);
/// Number of requests to stop that the program handles; the next one ends the process.
static PATIENCE: AtomicU32 = AtomicU32::new(1);
static LAST_STOP_NS: AtomicU64 = AtomicU64::new(0);
static STOP_SIGNAL: AtomicI32 = AtomicI32::new(0);
static STATUSES: AtomicU32 = AtomicU32::new(0);
/// What the handlers wake.
static WAKE: OnceLock<WakeEvent> = OnceLock::new();

/// The requests that signals have made. Each process has one value; [`install`] returns it.
#[derive(Debug)]
pub struct Signals {
    event: &'static WakeEvent,
}

/// The number and the name of a signal that asks a process to end, such as `signal 2 (SIGINT)`; only the number of another
/// signal.
#[must_use]
pub fn words(signal: i32) -> String {
    let name = match signal {
        libc::SIGINT => " (SIGINT)",
        libc::SIGTERM => " (SIGTERM)",
        libc::SIGHUP => " (SIGHUP)",
        _ => "",
    };
    format!("signal {signal}{name}")
}

/// Installs handlers for `SIGINT`, `SIGTERM`, `SIGHUP` (unless it is ignored, as under `nohup`) and
/// `SIGUSR1`, and ignores `SIGPIPE`, so that a write to a closed pipe returns an error. Later calls
/// return the same value.
///
/// # Errors
/// Errors of `eventfd(2)` and `sigaction(2)`.
pub fn install() -> Result<&'static Signals> {
    static INSTALLED: OnceLock<Result<Signals>> = OnceLock::new();
    INSTALLED.get_or_init(install_once).as_ref().map_err(Clone::clone)
}

fn install_once() -> Result<Signals> {
    let event = WakeEvent::new()?;
    let event = WAKE.get_or_init(|| event);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        set_handler(signal, on_stop as *const () as usize)?;
    }
    if !is_ignored(libc::SIGHUP)? {
        set_handler(libc::SIGHUP, on_stop as *const () as usize)?;
    }
    set_handler(libc::SIGUSR1, on_status as *const () as usize)?;
    set_handler(libc::SIGPIPE, libc::SIG_IGN)?;
    Ok(Signals { event })
}

/// Whether a signal has asked this process to stop, for waits that have no [`Signals`].
#[must_use]
pub fn stop_requested() -> bool {
    STOPS.load(Ordering::Acquire) > 0
}

/// Makes a write beyond the limit on file sizes (`RLIMIT_FSIZE`, `ulimit -f`) fail with `EFBIG` instead
/// of ending the process with `SIGXFSZ`. It installs a handler instead of ignoring the signal, so that
/// programs that this process starts keep the default action.
///
/// # Errors
/// Errors of `sigaction(2)`.
pub fn survive_file_size_limit() -> Result<()> {
    set_handler(libc::SIGXFSZ, on_file_size as *const () as usize)
}

extern "C" fn on_file_size(_: libc::c_int) {}

fn set_handler(signal: i32, handler: usize) -> Result<()> {
    // SAFETY: `sigaction` is a C struct for which all zeroes is a value (no flags, empty mask).
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `action` is valid; the handlers of this module only make calls that a handler may make.
    check("sigaction", unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) })
        .map(drop)
}

fn is_ignored(signal: i32) -> Result<bool> {
    // SAFETY: as in `set_handler`.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: without a new action, the call only writes the current one.
    check("sigaction", unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) })?;
    Ok(action.sa_sigaction == libc::SIG_IGN)
}

/// How to treat a request to stop.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    /// The program stops in good order.
    Stop,
    /// A repetition of the previous request; ignore it.
    Echo,
    /// One request more than the program handles: end the process immediately.
    End,
}

fn judge((already, patience): (u32, u32), now_ns: u64, last_ns: u64) -> Request {
    if already > 0 && now_ns.saturating_sub(last_ns) < SAME_REQUEST_NS {
        Request::Echo
    } else if already < patience {
        Request::Stop
    } else {
        Request::End
    }
}

extern "C" fn on_stop(signal: libc::c_int) {
    let now = monotonic();
    let counts = (STOPS.load(Ordering::Acquire), PATIENCE.load(Ordering::Acquire));
    match judge(counts, now, LAST_STOP_NS.load(Ordering::Acquire)) {
        Request::Stop => {
            STOP_SIGNAL.store(signal, Ordering::Release);
            LAST_STOP_NS.store(now, Ordering::Release);
            STOPS.fetch_add(1, Ordering::AcqRel);
            wake();
        }
        Request::Echo => {}
        Request::End => {
            crate::screen::restore();
            // SAFETY: _exit may be called in a signal handler and runs no code of this process.
            unsafe { libc::_exit(128 + signal) }
        }
    }
}

extern "C" fn on_status(_: libc::c_int) {
    STATUSES.fetch_add(1, Ordering::AcqRel);
    wake();
}

/// Adds one to the eventfd. The system call does not go through the C library, so errno stays as the interrupted code left it.
fn wake() {
    if let Some(event) = WAKE.get() {
        event.wake();
    }
}

impl Signals {
    /// Whether a signal has asked the program to stop. Costs one atomic load.
    #[inline]
    pub fn stop_requested(&self) -> bool {
        STOPS.load(Ordering::Acquire) > 0
    }

    /// Returns the number of requests to stop: at most 1, or 2 after [`Signals::report_on_second`].
    pub fn stop_requests(&self) -> u32 {
        STOPS.load(Ordering::Acquire)
    }

    /// From now on, the program handles the second request to stop too, and the third one ends the process.
    pub fn report_on_second(&self) {
        PATIENCE.store(2, Ordering::Release);
    }

    /// Returns the signal that asked the program to stop.
    #[must_use]
    pub fn stop_signal(&self) -> Option<i32> {
        self.stop_requested().then(|| STOP_SIGNAL.load(Ordering::Acquire))
    }

    /// Returns how often a status report has been requested (`SIGUSR1`).
    pub fn status_requests(&self) -> u32 {
        STATUSES.load(Ordering::Acquire)
    }

    /// Returns a descriptor that becomes readable when a signal arrives, for use in a poll loop.
    /// [`Signals::wait`] and [`Signals::drain`] make it unreadable again.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'static> {
        self.event.as_fd()
    }

    /// Waits for a signal, at most for the given time. Returns whether one has arrived since the last call;
    /// a signal that arrived before this call counts too.
    #[allow(clippy::must_use_candidate, reason = "some callers only wait")]
    pub fn wait(&self, at_most: Duration) -> bool {
        // `drain` tells whether a signal arrived, also if the wait fails.
        let _ = poll::wait_for(self.event, Readiness::Readable, Some(at_most));
        self.drain()
    }

    /// Returns whether a signal has arrived since the last call. Does not wait.
    #[must_use]
    pub fn drain(&self) -> bool {
        self.event.take()
    }
}

/// Blocks `SIGINT`, `SIGTERM`, `SIGHUP` and `SIGUSR1` in the calling thread and in threads that it
/// starts, so that other threads receive them.
///
/// # Errors
/// Errors of `pthread_sigmask(3)`.
pub fn block_in_this_thread() -> Result<()> {
    mask(libc::SIG_BLOCK, [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1])
}

/// Changes which signals the calling thread blocks. May be called between fork and exec.
pub(crate) fn mask(how: i32, signals: impl IntoIterator<Item = i32>) -> Result<()> {
    // SAFETY: a sigset is plain memory that sigemptyset and sigaddset initialise.
    let rc = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut())
    };
    if rc == 0 { Ok(()) } else { Err(Error::new("pthread_sigmask", Errno::from_raw(rc))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, getpid, kill_process};
    use std::process::Command;

    #[test]
    fn a_repeated_request_is_ignored_and_one_too_many_ends_the_process() {
        assert_eq!(judge((0, 1), 5, 0), Request::Stop);
        assert_eq!(judge((1, 1), SAME_REQUEST_NS, 1), Request::Echo);
        assert_eq!(judge((1, 1), 2 * SAME_REQUEST_NS, 1), Request::End);
        assert_eq!(judge((1, 2), 2 * SAME_REQUEST_NS, 1), Request::Stop);
        assert_eq!(judge((2, 2), 2 * SAME_REQUEST_NS, 1), Request::End);
    }

    /// Runs one of the tests below in its own process, because signals affect the whole process.
    fn in_child(body: &str) -> std::process::Output {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("signal::tests::{body}"), "--nocapture", "--test-threads=1"])
            .env("FIORD_SIGNAL_CHILD", body)
            .output()
            .unwrap()
    }

    fn is_child(body: &str) -> bool {
        std::env::var("FIORD_SIGNAL_CHILD").is_ok_and(|name| name == body)
    }

    fn send(signal: Signal) {
        kill_process(getpid(), signal).unwrap();
    }

    #[test]
    fn requests_are_counted_and_a_closed_pipe_does_not_kill() {
        if !is_child("requests_are_counted_and_a_closed_pipe_does_not_kill") {
            let output = in_child("requests_are_counted_and_a_closed_pipe_does_not_kill");
            assert!(output.status.success(), "{output:?}");
            return;
        }
        let signals = install().unwrap();
        assert!(!signals.wait(Duration::from_millis(1)));
        send(Signal::USR1);
        assert!(signals.wait(Duration::from_secs(5)));
        assert_eq!(signals.status_requests(), 1);
        assert!(!signals.stop_requested());
        std::thread::spawn(|| block_in_this_thread().unwrap()).join().unwrap();
        send(Signal::TERM);
        assert!(signals.wait(Duration::from_secs(5)));
        assert_eq!(signals.stop_signal(), Some(libc::SIGTERM));
        send(Signal::PIPE);
    }

    #[test]
    fn the_second_request_ends_the_process() {
        if !is_child("the_second_request_ends_the_process") {
            let output = in_child("the_second_request_ends_the_process");
            assert_eq!(output.status.code(), Some(128 + libc::SIGINT), "{output:?}");
            return;
        }
        install().unwrap();
        send(Signal::INT);
        std::thread::sleep(Duration::from_nanos(SAME_REQUEST_NS + 50_000_000));
        send(Signal::INT);
        std::thread::sleep(Duration::from_secs(5));
        panic!("the process still runs");
    }
}
