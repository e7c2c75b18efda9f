//! Determines which zones an action changes and which data it destroys.

use std::ops::Range;

use fiord_sys::zone::{State, Zone, ZoneAction, ZonedDevice};
use fiord_types::Bytes;

use crate::amount::rounded;
use crate::target::TargetError;

/// Why zones cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// Another program uses the device.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The device refused. Zones before the first one are already changed.
    #[error("{} of {} failed: {source}", .action.name(), place(*.first, *.last))]
    Refused {
        action: ZoneAction,
        /// Number of the first zone of the failed command.
        first: usize,
        /// Number of the last zone of the failed command.
        last: usize,
        source: fiord_sys::Error,
    },
}

fn place(first: usize, last: usize) -> String {
    if first == last { format!("zone {first}") } else { format!("zones {first} to {last}") }
}

/// A planned change of zones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub action: ZoneAction,
    /// Ranges of adjacent zones to which the action is applied, by zone number.
    pub runs: Vec<Range<usize>>,
    /// Number of zones whose state changes.
    pub zones: u64,
    /// Bytes that a reset destroys, or that cannot be written after a finish.
    pub lost: Bytes,
    /// Number of zones in the range without a write pointer: conventional, read-only, offline.
    pub left_alone: u64,
}

impl Change {
    /// Plans `action` on the zones of `range`.
    #[must_use]
    pub fn new(action: ZoneAction, zones: &[Zone], range: Range<usize>) -> Change {
        let mut change =
            Change { action, runs: Vec::new(), zones: 0, lost: Bytes::ZERO, left_alone: 0 };
        for (index, zone) in zones.iter().enumerate().take(range.end).skip(range.start) {
            if !zone.is_sequential() || matches!(zone.state, State::ReadOnly | State::Offline) {
                change.left_alone += 1;
                continue;
            }
            let effect = has_effect(action, zone.state);
            // Empty zones are reset, too: since Linux 6.10 the block layer keeps its own write
            // pointers. They are out of date after a passthrough command, and a reset
            // corrects them.
            if !effect && action != ZoneAction::Reset {
                continue;
            }
            change.zones += u64::from(effect);
            change.lost += match action {
                ZoneAction::Reset => zone.written(),
                ZoneAction::Finish => zone.capacity - zone.written(),
                ZoneAction::Open | ZoneAction::Close => Bytes::ZERO,
            };
            match change.runs.last_mut().filter(|run| run.end == index) {
                Some(run) => run.end += 1,
                None => change.runs.push(index..index + 1),
            }
        }
        change
    }

    /// Whether the user must confirm: the change destroys data or makes free space unusable.
    #[must_use]
    pub fn is_destructive(&self) -> bool {
        matches!(self.action, ZoneAction::Reset | ZoneAction::Finish) && self.zones > 0
    }

    /// Describes the planned change in one sentence.
    #[must_use]
    pub fn sentence(&self, device: &str) -> String {
        let zones = zones(self.zones);
        let bytes = rounded(self.lost);
        match self.action {
            ZoneAction::Reset => {
                format!("{device}: {zones} will be reset; {bytes} of data will be lost")
            }
            ZoneAction::Finish => format!(
                "{device}: {zones} will be finished; {bytes} of free space cannot be \
                 written until a reset"
            ),
            ZoneAction::Open => format!("{device}: {zones} will be opened"),
            ZoneAction::Close => format!("{device}: {zones} will be closed"),
        }
    }

    /// Describes the completed change in one sentence.
    #[must_use]
    pub fn done(&self, device: &str) -> String {
        let past = match self.action {
            ZoneAction::Reset => "reset",
            ZoneAction::Finish => "finished",
            ZoneAction::Open => "opened",
            ZoneAction::Close => "closed",
        };
        let mut text = match (self.zones, self.action) {
            (0, ZoneAction::Reset) => {
                format!("{device}: reset; all these zones were already empty")
            }
            (0, _) => format!("{device}: nothing to do, all zones are already {past}"),
            (n, _) => format!("{device}: {} {past}", zones(n)),
        };
        match self.left_alone {
            0 => {}
            n => text += &format!("; skipped {} without a write pointer", zones(n)),
        }
        text
    }

    /// Applies the action to each range. Calls `free` before each range to check that the device is
    /// not in use.
    ///
    /// # Errors
    /// The failed range of zones and the cause; earlier ranges are already changed. Also the error
    /// of `free`.
    pub fn carry_out(
        &self,
        device: &dyn ZonedDevice,
        zones: &[Zone],
        free: &dyn Fn() -> Result<(), TargetError>,
    ) -> Result<(), ChangeError> {
        for run in &self.runs {
            free()?;
            let (first, last) = (&zones[run.start], &zones[run.end - 1]);
            let len = last.end() - first.start;
            device.manage(self.action, first.start, len).map_err(|source| {
                let (first, last) = (run.start, run.end - 1);
                ChangeError::Refused { action: self.action, first, last, source }
            })?;
        }
        Ok(())
    }
}

/// Whether `action` changes the state of a sequential zone in state `state`.
fn has_effect(action: ZoneAction, state: State) -> bool {
    match action {
        ZoneAction::Reset => state != State::Empty,
        ZoneAction::Finish => state != State::Full,
        // A full zone cannot be opened: let the device report the error.
        ZoneAction::Open => state != State::ExplicitlyOpen,
        ZoneAction::Close => state.is_open(),
    }
}

/// Formats a number of zones: `1 zone`, `2 zones`.
#[must_use]
pub fn zones(n: u64) -> String {
    if n == 1 { "1 zone".into() } else { format!("{n} zones") }
}
