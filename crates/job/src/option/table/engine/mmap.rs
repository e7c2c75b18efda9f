//! Options of engines that map memory.

use crate::option::declare::*;

options! {
    Category::Engine;

    /// Requests transparent huge pages for the mapping (`MADV_HUGEPAGE`). With `page_fault`, which is
    /// fiord's addition, 0 forbids them (`MADV_NOHUGEPAGE`); without the option, the kernel decides.
    pub const THP: Opt<Option<u32>> = option("thp", COUNT, "thp=1").of(&["mmap", "page_fault"]);
}
