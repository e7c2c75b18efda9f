//! Options of `mmap`.

use crate::option::def::{Category, Kind, OptionDef};

const fn option(
    name: &'static str,
    kind: Kind,
    doc: &'static str,
    example: &'static str,
) -> OptionDef {
    OptionDef::new(name, kind, Category::Engine, doc, example)
}

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[option(
    "thp",
    Kind::COUNT,
    "Asks for transparent huge pages under the mapping (`MADV_HUGEPAGE`).",
    "thp=1",
)
.of(&["mmap"])];
