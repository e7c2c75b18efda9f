//! Whether this process was started without a standard output (`>&-` in a shell).
//!
//! Before `main` runs, the Rust runtime opens `/dev/null` in place of closed standard streams. Output of
//! the program then disappears without an error. A function in `.init_array` runs before the runtime and
//! checks the stream.

use std::sync::atomic::{AtomicBool, Ordering};

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

#[cfg(test)]
mod tests {
    #[test]
    fn a_test_process_has_a_standard_output() {
        assert!(!super::was_closed());
    }
}
