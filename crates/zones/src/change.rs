//! Which zones a change touches, and what is lost by it.

use std::ops::Range;

use fiord_sys::zone::{Action, State, Zone, ZonedDevice};

use crate::size;

/// What is going to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What to do.
    pub action: Action,
    /// Runs of zones that it is done to, by number.
    pub runs: Vec<Range<usize>>,
    /// How many of these change by it.
    pub zones: u64,
    /// Bytes that are lost (reset), or that cannot be written any more (finish).
    pub lost: u64,
    /// Zones in the range that have no state to change: conventional, read-only, offline.
    pub left_alone: u64,
}

impl Change {
    /// What an action does to the zones of a range.
    pub fn new(action: Action, zones: &[Zone], range: Range<usize>) -> Change {
        let mut change = Change { action, runs: Vec::new(), zones: 0, lost: 0, left_alone: 0 };
        for (index, zone) in zones.iter().enumerate().take(range.end).skip(range.start) {
            if !zone.is_sequential() || matches!(zone.state, State::ReadOnly | State::Offline) {
                change.left_alone += 1;
                continue;
            }
            let effect = has_effect(action, zone.state);
            // An empty zone is reset with the others: where the block layer keeps write pointers of
            // its own (Linux 6.10), a command passed through to the device has left them behind, and
            // a reset is what mends that.
            if !effect && action != Action::Reset {
                continue;
            }
            change.zones += u64::from(effect);
            change.lost += match action {
                Action::Reset => zone.written(),
                Action::Finish => zone.capacity - zone.written(),
                Action::Open | Action::Close => 0,
            };
            match change.runs.last_mut().filter(|run| run.end == index) {
                Some(run) => run.end += 1,
                None => change.runs.push(index..index + 1),
            }
        }
        change
    }

    /// Whether the user has to agree: what is written is lost, or room is.
    pub fn is_destructive(&self) -> bool {
        matches!(self.action, Action::Reset | Action::Finish) && self.zones > 0
    }

    /// What is going to happen, a sentence.
    pub fn sentence(&self, device: &str) -> String {
        let zones = zones(self.zones);
        let bytes = size::rounded(self.lost);
        match self.action {
            Action::Reset => {
                format!("{device}: {zones} will be reset; {bytes} written in them are lost")
            }
            Action::Finish => format!(
                "{device}: {zones} will be finished; {bytes} not yet written in them cannot be \
                 until they are reset"
            ),
            Action::Open => format!("{device}: {zones} will be opened"),
            Action::Close => format!("{device}: {zones} will be closed"),
        }
    }

    /// What has happened.
    pub fn done(&self, device: &str) -> String {
        let past = match self.action {
            Action::Reset => "reset",
            Action::Finish => "finished",
            Action::Open => "opened",
            Action::Close => "closed",
        };
        let mut text = match (self.zones, self.action) {
            (0, Action::Reset) => format!("{device}: reset; all these zones were empty"),
            (0, _) => format!("{device}: nothing to do, no zone has to be {past}"),
            (n, _) => format!("{device}: {} {past}", zones(n)),
        };
        match self.left_alone {
            0 => {}
            n => text += &format!("; {} without a write pointer left alone", zones(n)),
        }
        text
    }

    /// Does it, run by run; `free` says before each of them whether the device may still be changed.
    ///
    /// # Errors
    /// The zones at which it failed, and why; those before are done. What `free` says.
    pub fn carry_out(
        &self,
        device: &dyn ZonedDevice,
        zones: &[Zone],
        free: &dyn Fn() -> Result<(), String>,
    ) -> Result<(), String> {
        for run in &self.runs {
            free()?;
            let (first, last) = (&zones[run.start], &zones[run.end - 1]);
            let len = last.end() - first.start;
            device.manage(self.action, first.start, len).map_err(|error| {
                let place = match run.len() {
                    1 => format!("zone {}", run.start),
                    _ => format!("zones {} to {}", run.start, run.end - 1),
                };
                format!("{} of {place} failed: {error}", self.action.name())
            })?;
        }
        Ok(())
    }
}

/// Whether an action changes a sequential zone of this state.
fn has_effect(action: Action, state: State) -> bool {
    match action {
        Action::Reset => state != State::Empty,
        Action::Finish => state != State::Full,
        // A full zone cannot be opened: the device says so.
        Action::Open => state != State::ExplicitlyOpen,
        Action::Close => state.is_open(),
    }
}

/// `1 zone`, `2 zones`.
pub fn zones(n: u64) -> String {
    if n == 1 { "1 zone".into() } else { format!("{n} zones") }
}
