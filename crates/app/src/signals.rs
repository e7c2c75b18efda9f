//! Turns signals into interrupts of the run.

use fiord_run::{Interrupt, Interrupts};
use fiord_sys::signal::Signals;

/// Polls the signal handlers. The last stop request is not visible here, because its handler ends
/// the program at once.
pub struct FromSignals {
    signals: &'static Signals,
    reported_stops: u32,
    reported_status: u32,
}

impl FromSignals {
    /// Installs the handlers.
    ///
    /// # Errors
    /// Errors of [`fiord_sys::signal::install`].
    pub fn install() -> fiord_sys::Result<Self> {
        let signals = fiord_sys::signal::install()?;
        Ok(FromSignals { signals, reported_stops: 0, reported_status: signals.status_requests() })
    }

    /// What the handlers write to.
    #[must_use]
    pub fn source(&self) -> &'static Signals {
        self.signals
    }

    /// Also passes on the second stop request, upon which the run reports its results so far.
    pub fn report_on_second(&self) {
        self.signals.report_on_second();
    }

    /// Returns a function that checks for a stop request, without consuming it.
    pub fn stop_asked(&self) -> impl Fn() -> bool + use<> {
        let signals = self.signals;
        move || signals.stop_requested()
    }
}

impl Interrupts for FromSignals {
    fn next(&mut self) -> Option<Interrupt> {
        if self.signals.stop_requests() > self.reported_stops {
            self.reported_stops += 1;
            const SIGINT: i32 = 2;
            return Some(Interrupt::End(self.signals.stop_signal().unwrap_or(SIGINT)));
        }
        let asked = self.signals.status_requests();
        if asked != self.reported_status {
            // One report answers several pending requests.
            self.reported_status = asked;
            return Some(Interrupt::Status);
        }
        None
    }
}
