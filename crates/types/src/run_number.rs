//! The number of a run on many hosts.

/// A random number that all hosts of a run know. The ends of a connection tell it to each other, so that two runs which use
/// one port do not meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct RunNumber(pub u64);
