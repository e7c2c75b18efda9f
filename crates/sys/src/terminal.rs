//! Whether output goes to a terminal, and how wide it is.

use std::os::fd::{AsFd, AsRawFd};

/// Whether the file is a terminal (`isatty(3)`).
pub fn is_terminal(file: impl AsFd) -> bool {
    // SAFETY: the descriptor is open while borrowed.
    unsafe { libc::isatty(file.as_fd().as_raw_fd()) == 1 }
}

/// Returns the number of columns of the terminal; `None` if the file is not a terminal, or the terminal
/// does not report its size (a serial line).
pub fn width(file: impl AsFd) -> Option<usize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes a winsize through the pointer.
    let rc = unsafe { libc::ioctl(file.as_fd().as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    (rc == 0 && size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Whether this process is in the foreground of its terminal. A process in the background should not draw
/// a live status line.
pub fn is_foreground(file: impl AsFd) -> bool {
    // SAFETY: the descriptor is open while borrowed; both calls take and return integers.
    unsafe { libc::tcgetpgrp(file.as_fd().as_raw_fd()) == libc::getpgrp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_not_a_terminal() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(!is_terminal(&file));
        assert_eq!(width(&file), None);
        assert!(!is_foreground(&file));
    }

    #[test]
    fn a_pseudo_terminal_reports_the_width_that_was_set() {
        // SAFETY: plain flags; the result is checked.
        let raw = unsafe { libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC) };
        if raw < 0 {
            eprintln!("skipped: no pseudo-terminals here");
            return;
        }
        // SAFETY: the descriptor was just opened and has no other owner.
        let master = unsafe { <std::os::fd::OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(raw) };
        assert!(is_terminal(&master));
        let size = libc::winsize { ws_row: 24, ws_col: 132, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: TIOCSWINSZ reads a winsize through the pointer.
        assert_eq!(unsafe { libc::ioctl(raw, libc::TIOCSWINSZ, &raw const size) }, 0);
        assert_eq!(width(&master), Some(132));
    }
}
