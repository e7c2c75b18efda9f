//! Whether output goes to a terminal, how large it is, a writer that does not wait forever, and pseudo-terminals.

use std::io::IsTerminal;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use fiord_types::Errno;
use rustix::fs::{Mode, OFlags};
use rustix::process::getpgrp;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcgetpgrp, tcgetwinsize, tcsetwinsize};

use crate::error::Named;
use crate::poll::{self, Readiness};
use crate::{Error, Result};

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

/// How long a write waits for a terminal that takes no output.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often a write that waits looks whether the terminal has room.
const LOOK: Duration = Duration::from_millis(20);

/// Writes to a terminal, and gives up if that takes nothing for half a second.
///
/// A thread in `write(2)` could wait forever: when Ctrl-C discards what a pseudo-terminal has not shown yet, Linux (6.18 and
/// before) does not wake a thread that waits for room in it, unless that thread receives the signal.
#[derive(Debug)]
pub struct TerminalWriter {
    out: OwnedFd,
    /// The last write gave up.
    stuck: bool,
}

impl TerminalWriter {
    /// Writes to this terminal. The writer opens it again, without blocking, because other programs share the descriptor and its
    /// flags. If the process must not open it (after `su`), the writer blocks.
    ///
    /// # Errors
    /// Errors of `fcntl(2)` with `F_DUPFD_CLOEXEC`.
    pub fn new(terminal: &OwnedFd) -> Result<TerminalWriter> {
        let path = format!("/proc/self/fd/{}", terminal.as_raw_fd());
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let out = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(own) => own,
            Err(_) => rustix::io::fcntl_dupfd_cloexec(terminal, 0).op("fcntl F_DUPFD_CLOEXEC")?,
        };
        Ok(TerminalWriter { out, stuck: false })
    }

    /// Writes everything.
    ///
    /// # Errors
    /// `ETIMEDOUT`: the terminal took nothing for half a second, so that a part of the bytes is missing. Until it takes output
    /// again, further calls end at once. Errors of `write(2)`: `EIO` if the terminal is gone.
    pub fn write_all(&mut self, mut bytes: &[u8]) -> Result<()> {
        let mut moved = Instant::now();
        while !bytes.is_empty() {
            match rustix::io::write(&self.out, bytes) {
                Ok(written) => {
                    bytes = &bytes[written..];
                    (self.stuck, moved) = (false, Instant::now());
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => {
                    self.stuck |= moved.elapsed() > PATIENCE;
                    if self.stuck {
                        return Err(Error::new("write to the terminal", Errno::ETIMEDOUT));
                    }
                    poll::wait_for(&self.out, Readiness::Writable, Some(LOOK))?;
                }
                Err(error) => return Err(error).op("write to the terminal"),
            }
        }
        Ok(())
    }
}

impl AsFd for TerminalWriter {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.out.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use rustix::termios::{QueueSelector, tcflush};

    use super::*;

    #[test]
    fn a_terminal_that_discards_or_keeps_its_output_does_not_hold_a_writer_up() {
        let Ok((master, terminal)) = pseudo_terminal(80, 24) else {
            eprintln!("skipped: no pseudo-terminals here");
            return;
        };
        let mut writer = TerminalWriter::new(&terminal).unwrap();
        let drawing = std::thread::spawn(move || {
            for _ in 0..300 {
                // A busy machine may read too late.
                let written = writer.write_all(&[b'x'; 8000]);
                assert!(written.is_ok() || writer.stuck, "{written:?}");
            }
            writer
        });
        let mut master = std::fs::File::from(master);
        while !drawing.is_finished() {
            // Ctrl-C discards the output in the same way. A thread in `write` waits forever after a few rounds.
            let room = poll::wait_for(&master, Readiness::Readable, Some(LOOK)).unwrap();
            if room == poll::Waited::Ready {
                let _ = master.read(&mut [0; 4096]).unwrap();
                tcflush(&terminal, QueueSelector::OFlush).unwrap();
            }
        }
        let mut writer = drawing.join().unwrap();
        // Nothing reads any more.
        let full = (0..8).find_map(|_| writer.write_all(&[b'x'; 8000]).err());
        assert_eq!(full.unwrap().errno, Errno::ETIMEDOUT);
        // The next write does not wait.
        assert!(writer.stuck);
        assert_eq!(writer.write_all(b"x").unwrap_err().errno, Errno::ETIMEDOUT);
        while writer.write_all(b"y").is_err() {
            let _ = master.read(&mut [0; 4096]).unwrap();
        }
    }

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
