//! Waiting for descriptors: one or several at once, with a limit, and from another thread.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use fiord_types::Errno;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::error::Named;
use crate::{Error, Result};

/// What to wait for on a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Data or a connection have arrived.
    Readable,
    /// Data can be sent, or a connection has been made or has failed.
    Writable,
    /// Either.
    Both,
}

/// A descriptor that [`wait`] waits for, and what it found.
///
/// The entry does not keep the descriptor open. A wait for a closed descriptor ends at once.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct PollEntry(libc::pollfd);

impl PollEntry {
    /// Waits for a descriptor.
    #[must_use]
    pub const fn new(fd: RawFd, readiness: Readiness) -> PollEntry {
        let events = match readiness {
            Readiness::Readable => libc::POLLIN,
            Readiness::Writable => libc::POLLOUT,
            Readiness::Both => libc::POLLIN | libc::POLLOUT,
        };
        PollEntry(libc::pollfd { fd, events, revents: 0 })
    }

    /// Whether a read would not block after the last [`wait`]: it returns data, the end or an error.
    #[must_use]
    pub const fn is_readable(&self) -> bool {
        self.0.revents & !libc::POLLOUT != 0
    }

    /// Whether a write would not block after the last [`wait`]: the descriptor takes data or returns an error.
    #[must_use]
    pub const fn is_writable(&self) -> bool {
        self.0.revents & !libc::POLLIN != 0
    }
}

/// Why [`wait`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// At least one descriptor is ready.
    Ready,
    /// The time is up.
    TimedOut,
    /// A signal arrived.
    Interrupted,
}

/// Waits until a descriptor is ready, the time is up or a signal arrives. `None` for `at_most` has no limit.
///
/// # Errors
/// Errors of `ppoll(2)`: `EINVAL` for more entries than the process may have open descriptors.
pub fn wait(entries: &mut [PollEntry], at_most: Option<Duration>) -> Result<Waited> {
    let limit = at_most.map(|time| libc::timespec {
        tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(time.subsec_nanos() as i32),
    });
    let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let (list, length) = (entries.as_mut_ptr().cast(), entries.len() as libc::nfds_t);
    // SAFETY: `list` has `length` entries, each of which is a pollfd, and the time outlives the call.
    match unsafe { libc::ppoll(list, length, limit, std::ptr::null()) } {
        0 => Ok(Waited::TimedOut),
        1.. => Ok(Waited::Ready),
        _ => match Error::last("ppoll") {
            Error { errno: Errno::EINTR, .. } => Ok(Waited::Interrupted),
            error => Err(error),
        },
    }
}

/// Waits for one descriptor.
///
/// # Errors
/// Errors of `ppoll(2)`.
pub fn wait_for(fd: impl AsFd, readiness: Readiness, at_most: Option<Duration>) -> Result<Waited> {
    wait(&mut [PollEntry::new(fd.as_fd().as_raw_fd(), readiness)], at_most)
}

/// Descriptors that are waited for again and again (`epoll(7)`). The kernel keeps the list, so a wait costs as much as the
/// descriptors that are ready, not as all of them.
#[derive(Debug)]
pub struct ReadableSet(OwnedFd);

/// Maximum number of descriptors that [`ReadableSet::take`] returns.
const MAX_READABLE: usize = 256;

impl ReadableSet {
    /// Creates an empty set.
    ///
    /// # Errors
    /// Errors of `epoll_create1(2)`.
    pub fn new() -> Result<ReadableSet> {
        epoll::create(epoll::CreateFlags::CLOEXEC).op("epoll_create1").map(ReadableSet)
    }

    /// Adds a descriptor under a number of the caller. A descriptor that is closed leaves the set.
    ///
    /// # Errors
    /// Errors of `epoll_ctl(2)`: `EPERM` for files, which are always readable.
    pub fn add(&self, fd: impl AsFd, number: u64) -> Result<()> {
        let data = epoll::EventData::new_u64(number);
        epoll::add(&self.0, fd, data, epoll::EventFlags::IN).op("epoll_ctl")
    }

    /// Removes a descriptor, if it is in the set.
    pub fn remove(&self, fd: impl AsFd) {
        let _ = epoll::delete(&self.0, fd);
    }

    /// Appends the numbers of descriptors that are readable, at most 256 of them. Does not wait; the descriptor of the set is
    /// readable as long as there are some.
    pub fn take(&self, numbers: &mut Vec<u64>) {
        let mut events = [const { MaybeUninit::uninit() }; MAX_READABLE];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        if let Ok((events, _)) = epoll::wait(&self.0, &mut events, Some(&at_once)) {
            numbers.extend(events.iter().map(|event| event.data.u64()));
        }
    }
}

impl AsFd for ReadableSet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Makes reads and writes of a file wait (`true`), or fail with `EAGAIN` where they would wait. It changes all descriptors
/// of the open file, also those of other processes.
///
/// # Errors
/// Errors of `fcntl(2)`.
pub fn set_blocking(file: impl AsFd, waits: bool) -> Result<()> {
    let mut flags = fcntl_getfl(&file).op("fcntl F_GETFL")?;
    flags.set(OFlags::NONBLOCK, !waits);
    fcntl_setfl(&file, flags).op("fcntl F_SETFL")
}

/// Wakes a thread that waits for its descriptor (`eventfd(2)`).
#[derive(Debug)]
pub struct WakeEvent(OwnedFd);

impl WakeEvent {
    /// Creates an event that has not happened.
    ///
    /// # Errors
    /// Errors of `eventfd(2)`.
    pub fn new() -> Result<WakeEvent> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        eventfd(0, flags).op("eventfd").map(WakeEvent)
    }

    /// Makes the descriptor readable until [`WakeEvent::take`]. Never waits. A signal handler may call it.
    pub fn wake(&self) {
        // The counter can only be full after 2^64 calls; the descriptor is readable then, too.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Whether [`WakeEvent::wake`] was called since the last call. Never waits.
    #[allow(clippy::must_use_candidate, reason = "some callers only want an unreadable descriptor")]
    pub fn take(&self) -> bool {
        take_event(self.0.as_fd())
    }
}

impl AsFd for WakeEvent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Sets the counter of an event descriptor that does not block to 0. Returns whether it was larger.
#[allow(clippy::must_use_candidate, reason = "some callers only want an unreadable descriptor")]
pub fn take_event(fd: BorrowedFd<'_>) -> bool {
    rustix::io::read(fd, &mut [0u8; 8]) == Ok(8)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn only_ready_descriptors_are_reported() {
        let (mut one, mut other) = UnixStream::pair().unwrap();
        let at_once = Some(Duration::ZERO);
        let entry = |stream: &UnixStream, what| PollEntry::new(stream.as_raw_fd(), what);
        let mut entries = [entry(&one, Readiness::Readable), entry(&other, Readiness::Both)];
        assert_eq!(wait(&mut entries[..1], at_once), Ok(Waited::TimedOut));
        one.write_all(b"x").unwrap();
        assert_eq!(wait(&mut entries, None), Ok(Waited::Ready));
        assert!(!entries[0].is_readable() && entries[1].is_readable() && entries[1].is_writable());
        other.read_exact(&mut [0]).unwrap();
        assert_eq!(wait(&mut entries, at_once), Ok(Waited::Ready));
        assert!(!entries[1].is_readable() && entries[1].is_writable());
        drop(other);
        assert_eq!(wait_for(&one, Readiness::Readable, None), Ok(Waited::Ready));
    }

    #[test]
    fn a_set_knows_its_readable_descriptors() {
        let (mut one, mut other) = UnixStream::pair().unwrap();
        let set = ReadableSet::new().unwrap();
        set.add(&one, 5).unwrap();
        set.add(&other, u64::MAX).unwrap();
        let readable = || {
            let mut numbers = Vec::new();
            set.take(&mut numbers);
            numbers.sort_unstable();
            let waited = wait_for(&set, Readiness::Readable, Some(Duration::ZERO)).unwrap();
            assert_eq!(waited == Waited::Ready, !numbers.is_empty());
            numbers
        };
        assert_eq!(readable(), []);
        one.write_all(b"x").unwrap();
        other.write_all(b"x").unwrap();
        assert_eq!(readable(), [5, u64::MAX]);
        set.remove(&one);
        assert_eq!(readable(), [u64::MAX]);
        drop(other);
        assert_eq!(readable(), []);
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        assert_eq!(set.add(&file, 1).unwrap_err().errno, Errno::EPERM);
    }

    #[test]
    fn an_event_wakes_another_thread() {
        let event = WakeEvent::new().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| event.wake());
            let limit = Some(Duration::from_secs(60));
            assert_eq!(wait_for(&event, Readiness::Readable, limit), Ok(Waited::Ready));
        });
        assert!(event.take() && !event.take());
    }

    #[test]
    fn a_file_can_fail_instead_of_waiting() {
        let (mut one, _other) = UnixStream::pair().unwrap();
        set_blocking(&one, false).unwrap();
        assert_eq!(one.read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
        set_blocking(&one, true).unwrap();
        one.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        assert!(one.read(&mut [0]).is_err());
    }
}
