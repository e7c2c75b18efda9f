//! The view on a terminal: opens it, reads keys on a thread of its own, and draws. Everything else of this crate is pure.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fiord_sys::poll::{self, PollEntry, Readiness, WakeEvent};
use fiord_sys::screen::{self, FullScreen};
use fiord_sys::terminal::TerminalWriter;
use fiord_sys::{signal, terminal};
use ratatui_core::terminal::Terminal;

use crate::backend::AnsiTerminal;
use crate::controls::{LiveControls, LiveWish};
use crate::draw::draw;
use crate::keys::{LiveKey, keys};
use crate::look::LiveLook;
use crate::model::LiveModel;

/// How often the size of the terminal is checked. Drawing at the rate of the run would follow a resize too late.
const RESIZE_CHECK: Duration = Duration::from_millis(250);

/// Stack size of the thread that reads keys, bytes. It also draws.
const STACK: usize = 512 << 10;

/// Why there is no view. No run has started.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// There is no terminal.
    #[error(
        "the full-screen view needs a terminal, but neither standard output nor standard error is one"
    )]
    NoTerminal,
    /// The terminal has no cursor to position.
    #[error(
        "the full-screen view needs a terminal that can position its cursor, but TERM is `dumb`"
    )]
    DumbTerminal,
    /// The process runs in the background.
    #[error("the full-screen view needs the terminal, but this process runs in the background")]
    Background,
    /// A system call failed.
    #[error("cannot open the full-screen view: {0}")]
    System(#[from] fiord_sys::Error),
    /// A system call failed.
    #[error("cannot open the full-screen view: {0}")]
    Io(#[from] io::Error),
}

impl LiveError {
    /// The remedies: one for the terminal, if it is the cause, then `other`, which does without the view.
    #[must_use]
    pub fn to_fix(&self, other: &str) -> String {
        match self {
            LiveError::NoTerminal => {
                format!("To fix: run it in a terminal (over ssh: `ssh -t`), or {other}")
            }
            LiveError::DumbTerminal => format!("To fix: use another terminal, or {other}"),
            LiveError::Background => format!("To fix: start it without `&`, or {other}"),
            LiveError::System(_) | LiveError::Io(_) => format!("To fix: {other}"),
        }
    }
}

/// Finds the terminal for the view: standard output, or standard error if the results go elsewhere. Returns the descriptor
/// to draw on and the one to read keys from.
///
/// # Errors
/// There is no terminal that can show the view.
pub fn find_terminal() -> Result<(OwnedFd, OwnedFd), LiveError> {
    let out = match (terminal::is_terminal(io::stdout()), terminal::is_terminal(io::stderr())) {
        (true, _) => copy(io::stdout())?,
        (false, true) => copy(io::stderr())?,
        (false, false) => return Err(LiveError::NoTerminal),
    };
    if std::env::var_os("TERM").is_some_and(|name| name == "dumb") {
        return Err(LiveError::DumbTerminal);
    }
    if terminal::is_background(&out) {
        return Err(LiveError::Background);
    }
    // Standard input may be a job file.
    let keys = match terminal::is_terminal(io::stdin()) {
        true => copy(io::stdin())?,
        false => out.try_clone()?,
    };
    Ok((out, keys))
}

fn copy(stream: impl AsFd) -> io::Result<OwnedFd> {
    stream.as_fd().try_clone_to_owned()
}

/// What the screen shows, shared by the thread that reads keys and the one that receives events.
struct ShownScreen {
    model: LiveModel,
    /// What a paused view shows.
    frozen: Option<LiveModel>,
    controls: LiveControls,
    look: LiveLook,
    terminal: Terminal<AnsiTerminal>,
    /// What keys ask of a replay.
    wishes: Vec<LiveWish>,
}

impl ShownScreen {
    fn draw(&mut self) {
        // A panic or the last signal has given the terminal back.
        if !screen::is_open() {
            return;
        }
        let ShownScreen { model, frozen, controls, look, terminal, .. } = self;
        let model = frozen.as_ref().unwrap_or(model);
        let drawn = terminal.draw(|frame| draw(model, controls, *look, frame.buffer_mut()));
        if drawn.is_err() {
            // The terminal has taken a part of the output at most: the next drawing starts afresh.
            let _ = terminal.clear();
        }
    }

    /// Whether the size of the terminal has changed since the last drawing.
    fn was_resized(&mut self) -> bool {
        let drawn = self.terminal.current_buffer_mut().area.as_size();
        self.terminal.size().is_ok_and(|now| now != drawn)
    }

    /// Handles a key. Returns whether the user wants the run to end.
    fn press(&mut self, key: LiveKey) -> bool {
        let model = self.frozen.as_ref().unwrap_or(&self.model);
        let wish = self.controls.press(key, model);
        match wish {
            Some(LiveWish::Redraw) => drop(self.terminal.clear()),
            Some(LiveWish::Pause) if !self.controls.is_replay() => {
                self.frozen = self.controls.paused().then(|| self.model.clone());
            }
            Some(LiveWish::End) => {
                self.frozen = None;
                if !self.controls.is_replay() {
                    self.model.ending("ending the run");
                }
            }
            Some(wish) => self.wishes.push(wish),
            None => {}
        }
        wish == Some(LiveWish::End)
    }
}

/// What the threads share.
struct LiveShared {
    shown: Mutex<ShownScreen>,
    /// Notified when a key asks something of a replay, or wants it to end.
    asked: Condvar,
    /// The user wants the run to end.
    end: Arc<AtomicBool>,
    /// Ends the thread that reads keys.
    close: WakeEvent,
}

impl LiveShared {
    fn end(&self) {
        self.end.store(true, Ordering::Release);
        self.asked.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, ShownScreen> {
        fiord_sys::interleaving::point();
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The view on a terminal. Dropping it restores the terminal.
pub struct LiveScreen {
    shared: Arc<LiveShared>,
    keys: Option<JoinHandle<()>>,
    /// Dropped last.
    _screen: FullScreen,
}

impl LiveScreen {
    /// Opens the view on a terminal: see [`find_terminal`]. `end` becomes true when the user wants the run to end.
    ///
    /// # Errors
    /// A system call failed, or the process has a view already.
    pub fn open(
        (out, keys): (OwnedFd, OwnedFd),
        model: LiveModel,
        controls: LiveControls,
        look: LiveLook,
        end: Arc<AtomicBool>,
    ) -> Result<LiveScreen, LiveError> {
        let (drawing, reading) = (TerminalWriter::new(&out)?, File::from(keys.try_clone()?));
        let close = WakeEvent::new()?;
        restore_on_panic();
        let full = FullScreen::open(out, keys)?;
        let terminal = Terminal::new(AnsiTerminal::new(drawing))?;
        let shown =
            ShownScreen { model, frozen: None, controls, look, terminal, wishes: Vec::new() };
        let shared =
            Arc::new(LiveShared { shown: Mutex::new(shown), asked: Condvar::new(), end, close });
        shared.lock().draw();
        let reader = Arc::clone(&shared);
        let body = move || read_keys(&reader, reading);
        let keys = thread::Builder::new().name("keys".into()).stack_size(STACK).spawn(body)?;
        Ok(LiveScreen { shared, keys: Some(keys), _screen: full })
    }

    /// Changes what the view shows, and draws it unless it is paused.
    pub fn update(&self, change: impl FnOnce(&mut LiveModel)) {
        let mut shown = self.shared.lock();
        change(&mut shown.model);
        if shown.frozen.is_none() {
            shown.draw();
        }
    }

    /// What keys have asked of a replay since the last call. Waits for a key, at most for `limit`.
    #[must_use]
    pub fn wait_wishes(&self, limit: Duration) -> Vec<LiveWish> {
        let ended = || self.shared.end.load(Ordering::Acquire);
        let waits = |shown: &mut ShownScreen| shown.wishes.is_empty() && !ended();
        let waited = self.shared.asked.wait_timeout_while(self.shared.lock(), limit, waits);
        let (mut shown, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut shown.wishes)
    }

    /// Changes what a replay shows, and whether it is paused, and draws it.
    pub fn show_replay(&self, paused: bool, change: impl FnOnce(&mut LiveModel)) {
        let mut shown = self.shared.lock();
        shown.controls.set_paused(paused);
        change(&mut shown.model);
        shown.draw();
    }
}

impl Drop for LiveScreen {
    fn drop(&mut self) {
        self.shared.close.wake();
        if let Some(keys) = self.keys.take() {
            // A panic of that thread was printed.
            let _ = keys.join();
        }
    }
}

/// Reads keys, and redraws when the terminal was resized, until the view closes.
fn read_keys(shared: &LiveShared, mut keyboard: File) {
    // The threads that poll for signals should receive them.
    let _ = signal::block_in_this_thread();
    let mut gone = false;
    let mut bytes = [0; 256];
    while screen::is_open() {
        let mut entries = [
            PollEntry::new(shared.close.as_fd().as_raw_fd(), Readiness::Readable),
            PollEntry::new(keyboard.as_raw_fd(), Readiness::Readable),
        ];
        // A terminal that is gone is always readable.
        let waited = if gone { &mut entries[..1] } else { &mut entries[..] };
        if poll::wait(waited, Some(RESIZE_CHECK)).is_err() || entries[0].is_readable() {
            return;
        }
        let resized = shared.lock().was_resized();
        let pressed = match !gone && entries[1].is_readable() {
            true => keyboard.read(&mut bytes).unwrap_or(0),
            false => 0,
        };
        gone |= entries[1].is_readable() && pressed == 0;
        if gone && shared.lock().controls.is_replay() {
            // A run ends by itself, a replay does not.
            shared.end();
        }
        if pressed == 0 && !resized {
            continue;
        }
        let mut shown = shared.lock();
        if keys(&bytes[..pressed]).into_iter().filter(|key| shown.press(*key)).count() > 0 {
            shared.end.store(true, Ordering::Release);
        }
        shown.draw();
        drop(shown);
        shared.asked.notify_all();
    }
}

/// Restores the terminal before a panic is printed, also if the panic is another thread's. The view does not come back: the
/// message must stay readable.
fn restore_on_panic() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            screen::restore();
            previous(panic);
        }));
    });
}
