//! A terminal used as a whole screen, and its restoration however the process ends.
//!
//! The screen is shown on the terminal's second page (the alternate screen), so what was there before reappears at the
//! end. Keys arrive one by one and are not echoed. Ctrl-C still sends `SIGINT`; Ctrl-Z, Ctrl-\ and Ctrl-S do nothing,
//! because a stopped or frozen program would leave the terminal as it is.
//!
//! [`restore`] makes only calls that a signal handler may make. The last request to stop ([`crate::signal`]), the end of
//! memory ([`crate::shortage`]) and a panic hook call it too.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicPtr, Ordering};

use fiord_types::Errno;
use libc::{ECHO, ECHONL, ICANON, IEXTEN};

use crate::error::check;
use crate::{Error, Result};

/// Switches to the alternate screen, clears it and hides the cursor (xterm's control sequences, which all terminals of
/// today know).
const ENTER: &[u8] = b"\x1b[?1049h\x1b[2J\x1b[H\x1b[?25l";

/// Resets colours, shows the cursor and switches back to the normal screen.
const LEAVE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";

/// What to restore; null if no screen is in use.
static SAVED: AtomicPtr<Saved> = AtomicPtr::new(std::ptr::null_mut());

struct Saved {
    out: RawFd,
    keys: RawFd,
    modes: libc::termios,
}

/// A terminal in use as a screen. Dropping it restores the terminal.
#[derive(Debug)]
pub struct FullScreen {
    out: OwnedFd,
    keys: OwnedFd,
}

impl FullScreen {
    /// Switches a terminal to the screen. `out` receives what is drawn, and keys are read from `keys`.
    ///
    /// # Errors
    /// Errors of `tcgetattr(3)` and `tcsetattr(3)`: `ENOTTY` if `keys` is not a terminal. `EBUSY` if the process already
    /// uses a screen.
    pub fn open(out: OwnedFd, keys: OwnedFd) -> Result<FullScreen> {
        // SAFETY: a termios is plain memory that tcgetattr fills.
        let mut modes: libc::termios = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptor is open, and the call writes a termios.
        check("tcgetattr", unsafe { libc::tcgetattr(keys.as_raw_fd(), &raw mut modes) })?;
        let saved = Box::new(Saved { out: out.as_raw_fd(), keys: keys.as_raw_fd(), modes });
        // A handler may read the value at any time, so it is never freed.
        let saved = Box::into_raw(saved);
        let none = std::ptr::null_mut();
        if SAVED.compare_exchange(none, saved, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: the pointer is from `Box::into_raw`, and nothing else has it.
            drop(unsafe { Box::from_raw(saved) });
            return Err(Error::new("use a second screen", Errno::EBUSY));
        }
        // From here on, dropping it restores the terminal.
        let screen = FullScreen { out, keys };
        let modes = key_by_key(modes);
        // SAFETY: the descriptor is open, and the call reads a termios.
        check("tcsetattr", unsafe {
            libc::tcsetattr(screen.keys.as_raw_fd(), libc::TCSANOW, &raw const modes)
        })?;
        put(screen.out.as_raw_fd(), ENTER);
        Ok(screen)
    }

    /// The descriptor that receives what is drawn.
    #[must_use]
    pub fn out(&self) -> &OwnedFd {
        &self.out
    }

    /// The descriptor from which keys are read. A read returns at once, with 0 bytes if no key was pressed.
    #[must_use]
    pub fn keys(&self) -> &OwnedFd {
        &self.keys
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        restore();
    }
}

/// Whether a screen is in use. Not after [`restore`], so drawing must stop then.
pub fn is_open() -> bool {
    !SAVED.load(Ordering::Acquire).is_null()
}

/// Restores the terminal if a screen is in use. A signal handler may call it.
pub fn restore() {
    let saved = SAVED.swap(std::ptr::null_mut(), Ordering::AcqRel);
    // SAFETY: the pointer is null or from `Box::into_raw`, and the value is never freed.
    let Some(saved) = (unsafe { saved.as_ref() }) else { return };
    put(saved.out, LEAVE);
    // Keys that were pressed for the screen must not reach the shell, so they are discarded.
    // SAFETY: the call reads a termios. The descriptor may be closed at worst, which the call reports.
    unsafe { libc::tcsetattr(saved.keys, libc::TCSAFLUSH, &raw const saved.modes) };
}

/// The modes of a terminal that delivers single keys without echo.
fn key_by_key(mut modes: libc::termios) -> libc::termios {
    modes.c_lflag &= !(ICANON | ECHO | ECHONL | IEXTEN);
    modes.c_iflag &= !(libc::IXON | libc::IXOFF);
    modes.c_cc[libc::VMIN] = 0;
    modes.c_cc[libc::VTIME] = 0;
    for key in [libc::VSUSP, libc::VQUIT] {
        modes.c_cc[key] = libc::_POSIX_VDISABLE;
    }
    modes
}

/// Writes a short text and keeps errno, as a signal handler must.
fn put(fd: RawFd, text: &[u8]) {
    // SAFETY: write(2) reads `text`; the errno location belongs to this thread.
    unsafe {
        let errno = libc::__errno_location();
        let saved = *errno;
        libc::write(fd, text.as_ptr().cast(), text.len());
        *errno = saved;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::terminal::pseudo_terminal;

    fn local_flags(terminal: &OwnedFd) -> libc::tcflag_t {
        // SAFETY: a termios is plain memory that tcgetattr fills.
        let mut modes: libc::termios = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptor is open, and the call writes a termios.
        assert_eq!(unsafe { libc::tcgetattr(terminal.as_raw_fd(), &raw mut modes) }, 0);
        modes.c_lflag
    }

    /// One test, because a process has one screen.
    #[test]
    fn the_terminal_is_as_before_after_a_drop_and_after_a_restoration() {
        let Ok((master, terminal)) = pseudo_terminal(80, 24) else {
            eprintln!("skipped: no pseudo-terminals here");
            return;
        };
        let copy = || terminal.try_clone().unwrap();
        let before = local_flags(&terminal);
        assert_ne!(before & ECHO, 0);
        let screen = FullScreen::open(copy(), copy()).unwrap();
        assert!(is_open());
        assert_eq!(local_flags(&terminal) & (ECHO | ICANON), 0);
        assert_ne!(local_flags(&terminal) & libc::ISIG, 0, "Ctrl-C still sends a signal");
        assert_eq!(FullScreen::open(copy(), copy()).unwrap_err().errno, Errno::EBUSY);
        drop(screen);
        assert!(!is_open());
        assert_eq!(local_flags(&terminal), before);
        let screen = FullScreen::open(copy(), copy()).unwrap();
        restore();
        restore();
        assert!(!is_open());
        assert_eq!(local_flags(&terminal), before);
        drop(screen);
        // The kernel passes output on in the background, so a read may return a part of it.
        let both = [ENTER, LEAVE, ENTER, LEAVE].concat();
        let mut shown = vec![0; both.len()];
        std::fs::File::from(master).read_exact(&mut shown).unwrap();
        assert_eq!(String::from_utf8_lossy(&shown), String::from_utf8_lossy(&both));
        let null = || OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        assert_eq!(FullScreen::open(null(), null()).unwrap_err().errno, Errno::ENOTTY);
    }
}
