//! Signals become interrupts of the run.

use fiord_run::{Interrupt, Interrupts};
use fiord_sys::signal::Signals;

/// Asks the signal handlers what has come. The last request to stop never gets here: it ends the
/// program where it is.
pub struct FromSignals {
    signals: &'static Signals,
    told_stops: u32,
    told_status: u32,
}

impl FromSignals {
    /// Installs the handlers.
    pub fn install() -> fiord_sys::Result<Self> {
        let signals = fiord_sys::signal::install()?;
        Ok(FromSignals { signals, told_stops: 0, told_status: signals.status_requests() })
    }

    /// Passes on the second request to stop, too: the run then reports what it has.
    pub fn report_on_second(&self) {
        self.signals.report_on_second();
    }

    /// Tells whether stopping was asked for, whoever heard it.
    pub fn stop_asked(&self) -> impl Fn() -> bool + use<> {
        let signals = self.signals;
        move || signals.stop_requested()
    }
}

impl Interrupts for FromSignals {
    fn next(&mut self) -> Option<Interrupt> {
        if self.signals.stop_requests() > self.told_stops {
            self.told_stops += 1;
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
