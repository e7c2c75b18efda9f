//! The format of `verify=fiord`, the journal of writes (`verify_journal`), and what is wrong with data that was read back.
//!
//! | question | module |
//! |---|---|
//! | what does a sector of `verify=fiord` contain | [`sector`] |
//! | why is data wrong, in this format or one of fio's: torn, stale, misdirected, … | [`diagnosis`] |
//! | which writes had a target received and flushed before a crash | [`journal`] |
//! | what may a target contain after a crash | [`crash`] |
//! | is bad data wrong on the medium, or only on its way | [`recheck`] |

pub mod crash;
pub mod diagnosis;
pub mod journal;
pub mod recheck;
pub mod sector;
