//! NVMe: what a namespace and its controller say of themselves, and what a status means.
//!
//! | question | module |
//! |---|---|
//! | what does Identify data say: formats, limits, optional commands | [`identify`] |
//! | what is behind this `/dev/ngXnY` | [`device`] |
//! | how is an admin command sent | [`admin`] |
//! | where may writes be placed | [`placement`] |
//! | what is status 4081h called | [`status`] |
//!
//! Formats are those of the NVM Express Base Specification 2.0 ("Base"), the NVM Command Set
//! Specification 1.0 ("NVM") and the Zoned Namespace Command Set Specification 1.1 ("ZNS"). The
//! parsers are pure functions over what the controller returned; nothing here writes to a device.

pub mod admin;
pub mod device;
pub mod identify;
pub mod placement;
pub mod status;

pub use device::{Device, DriverLimits};
pub use identify::{
    Allocation, CommandLimits, CommandSet, Controller, Deallocated, Guard, IoCommands, LbaFormat,
    Namespace, Protection, Zoned,
};
pub use status::Status;
