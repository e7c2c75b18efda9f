//! Whether this process was started without a standard output (`>&-` in a shell), and taking it away from the rest of the
//! program.
//!
//! Before `main` runs, the Rust runtime opens `/dev/null` in place of closed standard streams. Output of
//! the program then disappears without an error. A function in `.init_array` runs before the runtime and
//! checks the stream.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::{fcntl_dupfd_cloexec, fcntl_getfd};
use rustix::stdio::{dup2_stdin, dup2_stdout, stderr, stdin, stdout};

use crate::Result;
use crate::error::Named;

static CLOSED: AtomicBool = AtomicBool::new(false);

/// The dynamic linker runs this function; in static programs the C library's start-up code does.
#[used]
// SAFETY: the section holds pointers to functions without a result that ignore their arguments.
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = look;

extern "C" fn look() {
    // The system call does not depend on the runtime.
    CLOSED.store(fcntl_getfd(stdout()).is_err(), Ordering::Relaxed);
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
    let copy = |fd: BorrowedFd| fcntl_dupfd_cloexec(fd, 3).op("fcntl F_DUPFD");
    let streams = (copy(stdin())?, copy(stdout())?);
    let null = crate::file::Open::read_only().open("/dev/null".as_ref())?;
    dup2_stdin(null).op("dup2")?;
    dup2_stdout(stderr()).op("dup2")?;
    Ok(streams)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_test_process_has_a_standard_output() {
        assert!(!super::was_closed());
    }
}
