//! Signals become interrupts of the run.

use fiord_run::{Interrupt, Interrupts};
use fiord_sys::signal::Signals;

/// Asks the signal handlers what has come. The second request to stop never gets here: it ends the
/// program where it is.
pub struct FromSignals {
    signals: &'static Signals,
    told_stop: bool,
    told_status: u32,
}

impl FromSignals {
    /// Installs the handlers.
    pub fn install() -> fiord_sys::Result<Self> {
        let signals = fiord_sys::signal::install()?;
        Ok(FromSignals { signals, told_stop: false, told_status: signals.status_requests() })
    }
}

impl Interrupts for FromSignals {
    fn next(&mut self) -> Option<Interrupt> {
        if self.signals.stop_requested() && !self.told_stop {
            self.told_stop = true;
            const SIGINT: i32 = 2;
            return Some(Interrupt::End(self.signals.stop_signal().unwrap_or(SIGINT)));
        }
        let asked = self.signals.status_requests();
        if asked != self.told_status {
            // Several that came together are answered by one report.
            self.told_status = asked;
            return Some(Interrupt::Status);
        }
        None
    }
}
