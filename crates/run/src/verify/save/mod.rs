//! What verification keeps on disk.
//!
//! | question | module |
//! |---|---|
//! | which state does the job save at its end, or at a trigger | `saved.rs` |
//! | how far are the writes of the job | `progress.rs` |
//! | where are the states of jobs saved (`verify_state_save`) | `states.rs` |
//! | where are corrupt extents listed (`verify_extents`) | `extents.rs` |
//! | how is the journal of writes made durable (`verify_journal`) | `journal.rs` |

mod extents;
mod journal;
mod progress;
mod saved;
mod states;

pub(super) use self::extents::ExtentList;
pub(crate) use self::extents::ExtentLists;
pub(crate) use self::journal::Journals;
pub(super) use self::journal::{Journal, JournalMark};
pub(crate) use self::progress::WriteProgress;
pub(super) use self::saved::SavedState;
pub(crate) use self::states::StateStore;
