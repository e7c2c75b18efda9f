//! Counts zones by state and sums up their capacity and data.

use fiord_sys::zone::{State, Zone};
use fiord_types::Bytes;

/// All states, in the order in which they are shown.
pub const STATES: [State; 8] = [
    State::NoWritePointer,
    State::Empty,
    State::ImplicitlyOpen,
    State::ExplicitlyOpen,
    State::Closed,
    State::Full,
    State::ReadOnly,
    State::Offline,
];

/// Counts and sums over a list of zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ZoneSums {
    /// Number of zones in each of [`STATES`].
    pub states: [u64; 8],
    /// Total capacity.
    pub capacity: Bytes,
    /// Total bytes before the write pointers. A full zone counts with its capacity.
    pub written: Bytes,
}

impl ZoneSums {
    /// Sums up `zones`.
    #[must_use]
    pub fn of(zones: &[Zone]) -> Self {
        let mut sums = ZoneSums::default();
        for zone in zones {
            if let Some(at) = STATES.iter().position(|state| *state == zone.state) {
                sums.states[at] += 1;
            }
            sums.capacity += zone.capacity;
            sums.written += zone.written();
        }
        sums
    }

    /// Number of zones that count towards the limit on open zones.
    pub fn open(&self) -> u64 {
        self.count(State::is_open)
    }

    /// Number of zones that count towards the limit on active zones.
    pub fn active(&self) -> u64 {
        self.count(State::is_active)
    }

    fn count(&self, is: fn(State) -> bool) -> u64 {
        STATES.iter().zip(self.states).filter(|(state, _)| is(**state)).map(|(_, n)| n).sum()
    }

    /// The states that occur, with their counts.
    pub fn present(&self) -> impl Iterator<Item = (State, u64)> {
        STATES.into_iter().zip(self.states).filter(|(_, n)| *n > 0)
    }
}
