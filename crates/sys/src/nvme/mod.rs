//! NVMe: Identify data of namespaces and controllers, and the meaning of statuses.
//!
//! | question | module |
//! |---|---|
//! | what do Identify data report: formats, limits, optional commands | [`identify`] |
//! | what is behind this `/dev/ngXnY` | [`device`] |
//! | how is an admin command sent | [`admin`] |
//! | which placement identifiers may writes use | [`placement`] |
//! | what is the name of status 4081h | [`status`] |
//!
//! Formats are defined in the NVM Express Base Specification 2.0 ("Base"), the NVM Command Set
//! Specification 1.0 ("NVM") and the Zoned Namespace Command Set Specification 1.1 ("ZNS"). The parsers
//! are pure functions of the data that the controller returned; nothing here writes to a device.

pub mod admin;
pub mod device;
pub mod identify;
pub mod placement;
pub mod status;

pub use device::{DriverLimits, NvmeDevice};
pub use identify::{
    Allocation, CommandLimits, CommandSet, Controller, Deallocated, FormatProtection, GuardFormat,
    IoCommands, LbaFormat, Namespace, ZonedIdentify,
};
pub use status::Status;
