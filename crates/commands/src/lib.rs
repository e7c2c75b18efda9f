//! Subcommands that fio does not have.
//!
//! | question | module |
//! |---|---|
//! | `fiord sweep`: which settings give which result, and where is the knee | [`sweep`] |
//! | `fiord suite`: which runs answer one question about a device | [`suite`] |
//! | `fiord zones`: which zones does a device have, and how are they reset | [`zones`] |
//! | `fiord devices`: which disks does the machine have, and which links do they share | [`devices`] |
//! | `fiord precondition`: how is a device filled before a measurement | [`precondition`] |

#![forbid(unsafe_code)]

pub mod devices;
pub mod precondition;
pub mod suite;
pub mod sweep;
pub mod zones;
