//! A terminal used as a whole screen, and its restoration however the process ends.
//!
//! The screen is shown on the terminal's second page (the alternate screen), so what was there before reappears at the
//! end. Keys arrive one by one and are not echoed. Ctrl-C still sends `SIGINT`; Ctrl-Z, Ctrl-\ and Ctrl-S do nothing,
//! because a stopped or frozen program would leave the terminal as it is.
//!
//! [`restore`] makes only calls that a signal handler may make. The last request to stop ([`crate::signal`]), the end of
//! memory ([`crate::shortage`]) and a panic hook call it too.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicPtr, Ordering};

use fiord_types::Errno;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use crate::error::Named;
use crate::{Error, Result};

/// Switches to the alternate screen, clears it and hides the cursor (xterm's control sequences, which all terminals of
/// today know).
const ENTER: &[u8] = b"\x1b[?1049h\x1b[2J\x1b[H\x1b[?25l";

/// Resets colours, shows the cursor and switches back to the normal screen.
const LEAVE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";

/// What to restore; null if no screen is in use.
static SAVED: AtomicPtr<Saved> = AtomicPtr::new(std::ptr::null_mut());

#[derive(Debug)]
struct Saved {
    out: OwnedFd,
    keys: OwnedFd,
    modes: Termios,
}

/// A terminal in use as a screen. Dropping it restores the terminal.
#[derive(Debug)]
pub struct FullScreen(&'static Saved);

impl FullScreen {
    /// Switches a terminal to the screen. `out` receives what is drawn, and keys are read from `keys`.
    ///
    /// # Errors
    /// Errors of `tcgetattr(3)` and `tcsetattr(3)`: `ENOTTY` if `keys` is not a terminal. `EBUSY` if the process already
    /// uses a screen.
    pub fn open(out: OwnedFd, keys: OwnedFd) -> Result<FullScreen> {
        let modes = tcgetattr(&keys).op("tcgetattr")?;
        let wanted = key_by_key(modes.clone());
        let busy = Error::new("use a second screen", Errno::EBUSY);
        if is_open() {
            return Err(busy);
        }
        // A handler may use the value at any time, so it is never freed, and its descriptors stay open.
        let saved: &'static Saved = Box::leak(Box::new(Saved { out, keys, modes }));
        let (none, new) = (std::ptr::null_mut(), std::ptr::from_ref(saved).cast_mut());
        if SAVED.compare_exchange(none, new, Ordering::AcqRel, Ordering::Acquire).is_err() {
            return Err(busy);
        }
        // From here on, dropping it restores the terminal.
        let screen = FullScreen(saved);
        tcsetattr(&saved.keys, OptionalActions::Now, &wanted).op("tcsetattr")?;
        put(&saved.out, ENTER);
        Ok(screen)
    }

    /// The descriptor that receives what is drawn.
    #[must_use]
    pub fn out(&self) -> &OwnedFd {
        &self.0.out
    }

    /// The descriptor from which keys are read. A read returns at once, with 0 bytes if no key was pressed.
    #[must_use]
    pub fn keys(&self) -> &OwnedFd {
        &self.0.keys
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
    // SAFETY: the pointer is null or from `Box::leak`, and the value is never freed.
    let Some(saved) = (unsafe { saved.as_ref() }) else { return };
    put(&saved.out, LEAVE);
    // Keys that were pressed for the screen must not reach the shell, so they are discarded.
    let _ = tcsetattr(&saved.keys, OptionalActions::Flush, &saved.modes);
}

/// The modes of a terminal that delivers single keys without echo.
fn key_by_key(mut modes: Termios) -> Termios {
    modes.local_modes -=
        LocalModes::ICANON | LocalModes::ECHO | LocalModes::ECHONL | LocalModes::IEXTEN;
    modes.input_modes -= InputModes::IXON | InputModes::IXOFF;
    modes.special_codes[SpecialCodeIndex::VMIN] = 0;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    for key in [SpecialCodeIndex::VSUSP, SpecialCodeIndex::VQUIT] {
        modes.special_codes[key] = libc::_POSIX_VDISABLE;
    }
    modes
}

/// Writes a short text without the C library, so that errno keeps its value, as a signal handler must.
fn put(fd: &OwnedFd, text: &[u8]) {
    let _ = rustix::io::write(fd, text);
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::terminal::pseudo_terminal;

    fn local_flags(terminal: &OwnedFd) -> LocalModes {
        tcgetattr(terminal).unwrap().local_modes
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
        assert!(before.contains(LocalModes::ECHO));
        let screen = FullScreen::open(copy(), copy()).unwrap();
        assert!(is_open());
        let now = local_flags(&terminal);
        assert!(!now.intersects(LocalModes::ECHO | LocalModes::ICANON));
        assert!(now.contains(LocalModes::ISIG), "Ctrl-C still sends a signal");
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
