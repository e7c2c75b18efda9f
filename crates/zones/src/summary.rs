//! How many zones are in which state, and what they hold.

use fiord_sys::zone::{State, Zone};

/// In the order in which states are counted and shown.
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

/// Sums over zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Zones of each of [`STATES`].
    pub states: [u64; 8],
    /// Bytes that can be written in all of them together.
    pub capacity: u64,
    /// Bytes before the write pointers. A finished zone counts whole.
    pub written: u64,
}

impl Summary {
    /// Of these zones.
    pub fn of(zones: &[Zone]) -> Self {
        let mut sums = Summary::default();
        for zone in zones {
            if let Some(at) = STATES.iter().position(|state| *state == zone.state) {
                sums.states[at] += 1;
            }
            sums.capacity += zone.capacity;
            sums.written += zone.written();
        }
        sums
    }

    /// How many are in a state that takes an open resource.
    pub fn open(&self) -> u64 {
        self.count(State::is_open)
    }

    /// How many take an active resource.
    pub fn active(&self) -> u64 {
        self.count(State::is_active)
    }

    fn count(&self, is: fn(State) -> bool) -> u64 {
        STATES.iter().zip(self.states).filter(|(state, _)| is(**state)).map(|(_, n)| n).sum()
    }

    /// The states that there are, with their counts.
    pub fn present(&self) -> impl Iterator<Item = (State, u64)> {
        STATES.into_iter().zip(self.states).filter(|(_, n)| *n > 0)
    }
}
