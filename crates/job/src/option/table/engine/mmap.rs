//! Options of `mmap`.

use crate::option::declare::*;

options! {
    Category::Engine;

    /// Requests transparent huge pages for the mapping (`MADV_HUGEPAGE`).
    pub const THP: Opt<Option<u32>> = option("thp", COUNT, "thp=1").of(&["mmap"]);
}
