//! Waiting for descriptors: one or several at once, with a limit, and from another thread.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use fiord_types::Errno;

use crate::error::check;
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
        // SAFETY: the call takes no pointers.
        let fd = check("epoll_create1", unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: the descriptor was just opened and has no other owner.
        Ok(ReadableSet(unsafe { OwnedFd::from_raw_fd(fd as RawFd) }))
    }

    /// Adds a descriptor under a number of the caller. A descriptor that is closed leaves the set.
    ///
    /// # Errors
    /// Errors of `epoll_ctl(2)`: `EPERM` for files, which are always readable.
    pub fn add(&self, fd: RawFd, number: u64) -> Result<()> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: number };
        let set = self.0.as_raw_fd();
        // SAFETY: the call reads one event.
        let ret = unsafe { libc::epoll_ctl(set, libc::EPOLL_CTL_ADD, fd, &raw mut event) };
        check("epoll_ctl", ret).map(drop)
    }

    /// Removes a descriptor, if it is in the set.
    pub fn remove(&self, fd: RawFd) {
        let set = self.0.as_raw_fd();
        // SAFETY: no event is needed for this operation.
        unsafe { libc::epoll_ctl(set, libc::EPOLL_CTL_DEL, fd, std::ptr::null_mut()) };
    }

    /// Appends the numbers of descriptors that are readable, at most 256 of them. Does not wait; the descriptor of the set is
    /// readable as long as there are some.
    pub fn take(&self, numbers: &mut Vec<u64>) {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; MAX_READABLE];
        let (set, list) = (self.0.as_raw_fd(), events.as_mut_ptr());
        // SAFETY: `events` has room for `MAX_READABLE` events.
        let count = unsafe { libc::epoll_wait(set, list, MAX_READABLE as i32, 0) };
        let count = usize::try_from(count).unwrap_or(0);
        numbers.extend(events[..count].iter().map(|event| event.u64));
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
    let fd = file.as_fd().as_raw_fd();
    // SAFETY: the call takes no pointers.
    let flags = check("fcntl F_GETFL", unsafe { libc::fcntl(fd, libc::F_GETFL) })? as i32;
    let flags = if waits { flags & !libc::O_NONBLOCK } else { flags | libc::O_NONBLOCK };
    // SAFETY: the call takes no pointers.
    check("fcntl F_SETFL", unsafe { libc::fcntl(fd, libc::F_SETFL, flags) }).map(drop)
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
        // SAFETY: the call takes no pointers.
        let fd =
            check("eventfd", unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        // SAFETY: the descriptor was just opened and has no other owner.
        Ok(WakeEvent(unsafe { OwnedFd::from_raw_fd(fd as RawFd) }))
    }

    /// Makes the descriptor readable until [`WakeEvent::take`]. Never waits.
    pub fn wake(&self) {
        let one = 1u64;
        // The counter can only be full after 2^64 calls; the descriptor is readable then, too.
        // SAFETY: write(2) reads eight bytes from `one`.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// Whether [`WakeEvent::wake`] was called since the last call. Never waits.
    #[allow(clippy::must_use_candidate, reason = "some callers only want an unreadable descriptor")]
    pub fn take(&self) -> bool {
        take_event(self.0.as_fd())
    }

    /// Gives the descriptor away, which then stays open.
    pub(crate) fn into_fd(self) -> OwnedFd {
        self.0
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
    let mut count = 0u64;
    // SAFETY: read(2) writes eight bytes to `count`.
    unsafe { libc::read(fd.as_raw_fd(), (&raw mut count).cast(), 8) == 8 }
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
        set.add(one.as_raw_fd(), 5).unwrap();
        set.add(other.as_raw_fd(), u64::MAX).unwrap();
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
        set.remove(one.as_raw_fd());
        assert_eq!(readable(), [u64::MAX]);
        drop(other);
        assert_eq!(readable(), []);
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        assert_eq!(set.add(file.as_raw_fd(), 1).unwrap_err().errno, Errno::EPERM);
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
