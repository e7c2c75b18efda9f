//! Signals to the process: stop, status, and a reader that went away.
//!
//! The handlers only count and write to an `eventfd`, which wakes whoever waits for it. Only the
//! last request to stop does more: it ends the process on the spot, whatever it hangs in. That is the
//! second one, or the third where the program reports something on the second
//! ([`Signals::report_on_second`]).
//!
//! The system calls that a signal interrupts are restarted (`SA_RESTART`), so that I/O under way
//! does not fail with `EINTR`. Threads that do I/O should call [`block_in_this_thread`] all the
//! same: then signals always arrive at the others.

use std::os::fd::{BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::error::check;
use crate::{Error, Result};

/// Two requests to stop that are closer than this count as one: a terminal's Ctrl-C that a parent
/// process passes on arrives twice.
const SAME_REQUEST_NS: u64 = 200_000_000;

static STOPS: AtomicU32 = AtomicU32::new(0);
/// Requests to stop that are passed on; the next one ends the process.
static PATIENCE: AtomicU32 = AtomicU32::new(1);
static LAST_STOP_NS: AtomicU64 = AtomicU64::new(0);
static STOP_SIGNAL: AtomicI32 = AtomicI32::new(0);
static STATUSES: AtomicU32 = AtomicU32::new(0);
static WAKE_FD: AtomicI32 = AtomicI32::new(-1);

/// What signals have asked for. There is one a process; get it by [`install`].
#[derive(Debug)]
pub struct Signals {
    fd: BorrowedFd<'static>,
}

/// Installs the handlers of `SIGINT`, `SIGTERM`, `SIGHUP` (unless it is ignored, as under
/// `nohup`) and `SIGUSR1`, and ignores `SIGPIPE`, so that writing to a closed pipe is an error
/// like any other. Calling it again gives the same value.
pub fn install() -> Result<&'static Signals> {
    static INSTALLED: OnceLock<Result<Signals>> = OnceLock::new();
    INSTALLED.get_or_init(install_once).as_ref().map_err(Clone::clone)
}

fn install_once() -> Result<Signals> {
    // SAFETY: integers only.
    let raw =
        check("eventfd", unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
    // SAFETY: the descriptor was just opened and is nobody else's.
    let raw = unsafe { OwnedFd::from_raw_fd(raw as i32) }.into_raw_fd();
    WAKE_FD.store(raw, Ordering::Release);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        set_handler(signal, on_stop as *const () as usize)?;
    }
    if !is_ignored(libc::SIGHUP)? {
        set_handler(libc::SIGHUP, on_stop as *const () as usize)?;
    }
    set_handler(libc::SIGUSR1, on_status as *const () as usize)?;
    set_handler(libc::SIGPIPE, libc::SIG_IGN)?;
    // SAFETY: the descriptor is never closed: it is in no owner's hands any more.
    Ok(Signals { fd: unsafe { BorrowedFd::borrow_raw(raw) } })
}

/// Makes a write beyond the limit on file sizes (`RLIMIT_FSIZE`, `ulimit -f`) fail with `EFBIG`
/// instead of ending the process with `SIGXFSZ`. The signal has a handler and is not ignored, so that
/// the programs this one starts have the default.
///
/// # Errors
/// That of `sigaction(2)`.
pub fn survive_file_size_limit() -> Result<()> {
    set_handler(libc::SIGXFSZ, on_file_size as *const () as usize)
}

extern "C" fn on_file_size(_: libc::c_int) {}

fn set_handler(signal: i32, handler: usize) -> Result<()> {
    // SAFETY: `sigaction` is a C struct for which all zeroes is a value (no flags, empty mask).
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `action` is valid; the handlers of this module only do what may be done in one.
    check("sigaction", unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) }).map(drop)
}

fn is_ignored(signal: i32) -> Result<bool> {
    // SAFETY: as in `set_handler`.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: with no new action, only the present one is written.
    check("sigaction", unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) })?;
    Ok(action.sa_sigaction == libc::SIG_IGN)
}

/// What a request to stop does.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    /// It is passed on: stop in good order.
    Stop,
    /// An echo of the one before.
    Echo,
    /// One more than are passed on: end at once.
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
    let now = crate::clock::monotonic();
    let counts = (STOPS.load(Ordering::Acquire), PATIENCE.load(Ordering::Acquire));
    match judge(counts, now, LAST_STOP_NS.load(Ordering::Acquire)) {
        Request::Stop => {
            STOP_SIGNAL.store(signal, Ordering::Release);
            LAST_STOP_NS.store(now, Ordering::Release);
            STOPS.fetch_add(1, Ordering::AcqRel);
            wake();
        }
        Request::Echo => {}
        // SAFETY: _exit may be called in a signal handler and runs nothing of this process.
        Request::End => unsafe { libc::_exit(128 + signal) },
    }
}

extern "C" fn on_status(_: libc::c_int) {
    STATUSES.fetch_add(1, Ordering::AcqRel);
    wake();
}

/// Adds one to the eventfd. The interrupted code must not see another errno.
fn wake() {
    let one = 1u64;
    // SAFETY: write(2) may be called in a signal handler; eight bytes are read from `one`. The
    // errno location is this thread's own.
    unsafe {
        let errno = libc::__errno_location();
        let saved = *errno;
        libc::write(WAKE_FD.load(Ordering::Acquire), (&raw const one).cast(), 8);
        *errno = saved;
    }
}

impl Signals {
    /// Whether stopping was asked for: one atomic load.
    #[inline]
    pub fn stop_requested(&self) -> bool {
        STOPS.load(Ordering::Acquire) > 0
    }

    /// How often stopping was asked for: at most once, or twice after [`Signals::report_on_second`].
    pub fn stop_requests(&self) -> u32 {
        STOPS.load(Ordering::Acquire)
    }

    /// From now on the second request to stop is passed on, too, and the third one ends the process.
    pub fn report_on_second(&self) {
        PATIENCE.store(2, Ordering::Release);
    }

    /// The signal that asked for it.
    pub fn stop_signal(&self) -> Option<i32> {
        self.stop_requested().then(|| STOP_SIGNAL.load(Ordering::Acquire))
    }

    /// How often a status report was asked for (`SIGUSR1`) since the start.
    pub fn status_requests(&self) -> u32 {
        STATUSES.load(Ordering::Acquire)
    }

    /// Becomes readable when a signal arrives, for a poll loop of one's own; [`Signals::wait`] and
    /// [`Signals::drain`] make it unreadable again.
    pub fn fd(&self) -> BorrowedFd<'static> {
        self.fd
    }

    /// Waits for a signal at most so long. Returns whether one arrived (one that arrived before
    /// counts until it was waited for).
    pub fn wait(&self, at_most: Duration) -> bool {
        use std::os::fd::AsRawFd;
        let mut poll = libc::pollfd { fd: self.fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let limit = libc::timespec {
            tv_sec: libc::time_t::try_from(at_most.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: libc::c_long::from(at_most.subsec_nanos() as i32),
        };
        // SAFETY: one pollfd and a timespec, both alive during the call.
        unsafe { libc::ppoll(&mut poll, 1, &limit, std::ptr::null()) };
        self.drain()
    }

    /// Whether a signal has arrived since the last time; does not wait.
    pub fn drain(&self) -> bool {
        use std::os::fd::AsRawFd;
        let mut count = 0u64;
        // SAFETY: eight bytes are written to `count`; the eventfd does not block.
        unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut count).cast(), 8) == 8 }
    }
}

/// Keeps `SIGINT`, `SIGTERM`, `SIGHUP` and `SIGUSR1` away from the calling thread and the threads
/// it starts; the process's other threads get them.
pub fn block_in_this_thread() -> Result<()> {
    // SAFETY: a sigset is plain memory that sigemptyset and sigaddset initialise.
    let rc = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1] {
            libc::sigaddset(&mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut())
    };
    if rc == 0 { Ok(()) } else { Err(Error::new("pthread_sigmask", rc)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn only_a_second_request_that_is_no_echo_ends() {
        assert_eq!(judge((0, 1), 5, 0), Request::Stop);
        assert_eq!(judge((1, 1), SAME_REQUEST_NS, 1), Request::Echo);
        assert_eq!(judge((1, 1), 2 * SAME_REQUEST_NS, 1), Request::End);
        assert_eq!(judge((1, 2), 2 * SAME_REQUEST_NS, 1), Request::Stop);
        assert_eq!(judge((2, 2), 2 * SAME_REQUEST_NS, 1), Request::End);
    }

    /// Runs one of the bodies below in a process of its own, as signals concern all of it.
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

    fn send(signal: i32) {
        // SAFETY: sends a signal to this process; integers only.
        unsafe { libc::kill(libc::getpid(), signal) };
    }

    #[test]
    fn requests_are_counted() {
        if !is_child("requests_are_counted") {
            let output = in_child("requests_are_counted");
            assert!(output.status.success(), "{output:?}");
            return;
        }
        let signals = install().unwrap();
        assert!(!signals.wait(Duration::from_millis(1)));
        send(libc::SIGUSR1);
        assert!(signals.wait(Duration::from_secs(5)));
        assert_eq!(signals.status_requests(), 1);
        assert!(!signals.stop_requested());
        std::thread::spawn(|| block_in_this_thread().unwrap()).join().unwrap();
        send(libc::SIGTERM);
        assert!(signals.wait(Duration::from_secs(5)));
        assert_eq!(signals.stop_signal(), Some(libc::SIGTERM));
        send(libc::SIGPIPE);
    }

    #[test]
    fn the_second_ends() {
        if !is_child("the_second_ends") {
            let output = in_child("the_second_ends");
            assert_eq!(output.status.code(), Some(128 + libc::SIGINT), "{output:?}");
            return;
        }
        install().unwrap();
        send(libc::SIGINT);
        std::thread::sleep(Duration::from_nanos(SAME_REQUEST_NS + 50_000_000));
        send(libc::SIGINT);
        std::thread::sleep(Duration::from_secs(5));
        panic!("still here");
    }
}
