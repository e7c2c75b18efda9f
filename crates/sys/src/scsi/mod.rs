//! SCSI: encoding commands, decoding sense data, and the kernel's generic driver.
//!
//! | question | module |
//! |---|---|
//! | what are the bytes of READ(16), UNMAP, WRITE SAME | [`cdb`] |
//! | why did the device refuse a command | [`sense`] |
//! | how is a command sent (`SG_IO`, `/dev/sgN`) | [`generic`] |
//! | how large is a logical unit | [`capacity`] |
//! | how many ranges one UNMAP takes | [`unmap`] |
//!
//! Formats are defined in SCSI Block Commands 4 ("SBC-4") and SCSI Primary Commands 5 ("SPC-5").

pub mod capacity;
pub mod cdb;
pub mod generic;
pub mod sense;
pub mod unmap;

pub use capacity::Capacity;
pub use cdb::{Cdb, Command, Compare, Length, TooLong};
pub use sense::Sense;
