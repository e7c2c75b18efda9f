//! Whether this process was started without a standard output (`>&-` in a shell), and taking it away from the rest of the
//! program.
//!
//! Before `main` runs, the Rust runtime opens `/dev/null` in place of closed standard streams. Output of
//! the program then disappears without an error. A function in `.init_array` runs before the runtime and
//! checks the stream.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Result;
use crate::error::check;

static CLOSED: AtomicBool = AtomicBool::new(false);

/// The dynamic linker runs this function; in static programs the C library's start-up code does.
#[used]
// SAFETY: the section holds pointers to functions without a result that ignore their arguments.
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: integers only; fcntl(2) does not depend on the runtime.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// Whether standard output was closed when the process started.
pub fn was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Takes standard input and standard output for a protocol: returns both, and puts `/dev/null` and standard error in their
/// places. What the rest of the program prints then appears on standard error.
///
/// # Errors
/// Errors of `fcntl(2)`, `open(2)` and `dup2(2)`.
pub fn take_streams() -> Result<(OwnedFd, OwnedFd)> {
    let copy = |fd: RawFd| -> Result<OwnedFd> {
        // SAFETY: the call takes no pointers.
        let copy = check("fcntl F_DUPFD", unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) })?;
        // SAFETY: the descriptor is new and belongs to nothing else.
        Ok(unsafe { OwnedFd::from_raw_fd(copy as RawFd) })
    };
    let streams = (copy(libc::STDIN_FILENO)?, copy(libc::STDOUT_FILENO)?);
    let null = crate::file::Open::read_only().open("/dev/null".as_ref())?;
    for (from, to) in [(null.as_raw_fd(), 0), (libc::STDERR_FILENO, 1)] {
        // SAFETY: the call takes no pointers. The program uses descriptors 0 and 1 only by these numbers.
        check("dup2", unsafe { libc::dup2(from, to) })?;
    }
    Ok(streams)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_test_process_has_a_standard_output() {
        assert!(!super::was_closed());
    }
}
