//! Files: facts, opening, openers, allocation, syncing, cache, locks, removal.

mod allocate;
mod cache;
mod extent;
mod facts;
mod hint;
mod limits;
mod lock;
mod open;
mod openers;
mod remove;
mod sync;

pub use allocate::{Preallocate, allocate, truncate};
pub use cache::{Advice, CacheUse, advise, cached_pages, drop_cache};
pub use extent::{data_bytes, next_data, next_hole};
pub use facts::{
    Device, Facts, Kind, Space, exists, facts, facts_of, link_facts, space, space_for, target_size,
};
pub use hint::{Lifetime, rwf, set_lifetime};
pub use limits::{AtomicLimits, DirectLimits, atomic_limits, direct_limits, is_nocow};
pub use lock::{Lock, LockKind};
pub use open::{Open, open_directory, reopen};
pub use openers::{Opener, openers};
pub use remove::{make_directories, remove};
pub use sync::{RangeSync, fdatasync, fsync, sync_file_system, sync_range};

#[cfg(test)]
mod tests;
