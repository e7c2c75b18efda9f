//! Options of `mmap`.

use crate::option::def::{Category, Kind, OptionDef, options_of};

options_of!(Category::Engine);

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[option(
    "thp",
    Kind::COUNT,
    "Requests transparent huge pages for the mapping (`MADV_HUGEPAGE`).",
    "thp=1",
)
.of(&["mmap"])];
