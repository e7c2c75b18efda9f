//! Whether this process was started without a standard output (`>&-` in a shell).
//!
//! The Rust runtime opens `/dev/null` in place of standard streams that are closed, before `main`
//! runs. What a program writes then disappears without an error. A function in `.init_array` runs
//! before the runtime, and looks.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Run by the dynamic linker, or by the C library's start-up code in static programs.
#[used]
// SAFETY: the section holds pointers to functions without a result that ignore their arguments.
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: integers only; fcntl(2) needs nothing that the runtime sets up.
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
    fn tests_have_an_output() {
        assert!(!super::was_closed());
    }
}
