//! Whether output goes to a terminal, how large it is, and pseudo-terminals.

use std::io::IsTerminal;
use std::os::fd::{AsFd, OwnedFd};

use rustix::process::getpgrp;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcgetpgrp, tcgetwinsize, tcsetwinsize};

use crate::Result;
use crate::error::Named;

/// Whether the file is a terminal (`isatty(3)`).
pub fn is_terminal(file: impl AsFd) -> bool {
    file.as_fd().is_terminal()
}

/// Whether a line on this file can be replaced by another one: it is a terminal, and not one that `TERM=dumb` says can only
/// append text.
pub fn can_redraw(file: impl AsFd) -> bool {
    is_terminal(file) && std::env::var_os("TERM").is_none_or(|name| name != "dumb")
}

/// Returns the number of columns of the terminal; `None` if the file is not a terminal, or the terminal
/// does not report its size (a serial line).
pub fn width(file: impl AsFd) -> Option<usize> {
    size(file).map(|(columns, _)| usize::from(columns))
}

/// Returns the numbers of columns and rows of the terminal; `None` if the file is not a terminal, or the terminal does
/// not report its size (a serial line).
pub fn size(file: impl AsFd) -> Option<(u16, u16)> {
    let size = tcgetwinsize(file).ok()?;
    (size.ws_col > 0).then_some((size.ws_col, size.ws_row))
}

/// Sets the size of a terminal, as a window that is resized does. The processes in its foreground receive `SIGWINCH`.
///
/// # Errors
/// Errors of `ioctl(2)`: `ENOTTY` if the file is not a terminal.
pub fn set_size(file: impl AsFd, columns: u16, rows: u16) -> Result<()> {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(file, size).op("ioctl TIOCSWINSZ")
}

/// Creates a pseudo-terminal of this size: its master, which reads what appears on the terminal and writes what is typed,
/// and the terminal.
///
/// # Errors
/// Errors of `posix_openpt(3)`: the system has no pseudo-terminals, or none is free. `EINVAL` before Linux 4.13.
pub fn pseudo_terminal(columns: u16, rows: u16) -> Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags).op("posix_openpt")?;
    unlockpt(&master).op("unlockpt")?;
    let terminal = ioctl_tiocgptpeer(&master, flags).op("ioctl TIOCGPTPEER")?;
    set_size(&terminal, columns, rows)?;
    Ok((master, terminal))
}

/// Whether this process is in the foreground of its terminal. A process in the background should not draw
/// a live status line.
pub fn is_foreground(file: impl AsFd) -> bool {
    tcgetpgrp(file).is_ok_and(|group| group == getpgrp())
}

/// Whether the file is the terminal of this process, but another process group is in its foreground. A change of its modes
/// would stop this process then.
pub fn is_background(file: impl AsFd) -> bool {
    tcgetpgrp(file).is_ok_and(|group| group != getpgrp())
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
    fn a_pseudo_terminal_reports_the_size_that_was_set() {
        let Ok((master, terminal)) = pseudo_terminal(80, 24) else {
            eprintln!("skipped: no pseudo-terminals here");
            return;
        };
        assert!(is_terminal(&terminal));
        assert_eq!(size(&terminal), Some((80, 24)));
        set_size(&master, 132, 50).unwrap();
        assert_eq!((size(&terminal), width(&terminal)), (Some((132, 50)), Some(132)));
        // It is not the terminal of this process.
        assert!(!is_foreground(&terminal) && !is_background(&terminal));
    }
}
