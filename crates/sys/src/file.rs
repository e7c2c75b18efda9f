//! Files: facts, opening, who has one open, guarded writing, allocation, syncing, cache, locks.

mod allocate;
mod cache;
mod extent;
mod facts;
mod guard;
mod hint;
mod limits;
mod lock;
mod mark;
mod open;
mod openers;
mod sync;
mod system;
mod whole_rows;

pub use crate::node::Device;
pub use allocate::{Preallocate, allocate, truncate};
pub use cache::{CacheUse, PageCacheAdvice, advise, cached_pages, drop_cache};
pub use extent::{data_parts, next_data, next_hole, written};
pub use facts::{
    FileFacts, FileSystemSpace, InodeType, exists, facts, facts_of, link_facts, space, space_for,
    target_size,
};
pub use guard::{Creator, FileGuard, Opened};
pub use hint::{Lifetime, rwf, set_lifetime};
pub use limits::{AtomicLimits, DirectLimits, atomic_limits, direct_limits, is_nocow};
pub use lock::{Lock, LockKind};
pub use mark::{is_buffer_file, is_created_by_fiord};
pub use open::{Open, open_directory, reopen};
pub use openers::{Opener, openers};
pub use sync::{RangeSync, fdatasync, fsync, sync_file_system, sync_range};
pub use system::{DIRECTORIES, EXCEPT, SystemFile, directory_of};
pub use whole_rows::RowFile;

#[cfg(test)]
mod tests;
