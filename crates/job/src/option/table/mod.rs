//! The table of options. (A handful for the first jobs; the whole table replaces this file.)

use super::def::{Category, EngineDef, Kind, OptionDef, Scope, Suffix, Support, Unit, Word};

const fn opt(name: &'static str, kind: Kind, default: Option<&'static str>) -> OptionDef {
    OptionDef { default, ..OptionDef::new(name, kind, Category::Job, "", "") }
}
const RW: &[Word] = &[
    Word::new("read", ""),
    Word::new("write", ""),
    Word::new("randread", ""),
    Word::new("randwrite", ""),
    Word::alias("readwrite", "rw"),
    Word::new("rw", ""),
    Word::new("randrw", ""),
];
const ENGINES: &[Word] = &[
    Word::new("psync", ""),
    Word::new("null", ""),
    Word::new("libaio", ""),
    Word::new("io_uring", ""),
];
const COUNT: Kind = Kind::int(1, u32::MAX as u64);
static JOB: &[&OptionDef] = &[
    &opt("name", Kind::Text, None),
    &OptionDef {
        aliases: &["readwrite"],
        ..opt("rw", Kind::Words { words: RW, suffix: Suffix::Int }, Some("read"))
    },
    &OptionDef {
        aliases: &["blocksize"],
        ..opt("bs", Kind::Ints { min: 1, max: u64::MAX, unit: Unit::Bytes }, Some("4096"))
    },
    &opt("size", Kind::Amount, None),
    &opt("io_size", Kind::Amount, None),
    &opt("offset", Kind::Amount, Some("0")),
    &opt("ioengine", Kind::words(ENGINES), Some("psync")),
    &opt("iodepth", COUNT, Some("1")),
    &opt("numjobs", COUNT, Some("1")),
    &OptionDef {
        aliases: &["timeout"],
        ..opt("runtime", Kind::Time { unit: Unit::Seconds }, Some("0"))
    },
    &opt("time_based", Kind::Switch, None),
    &opt("stonewall", Kind::Switch, None),
    &opt("group_reporting", Kind::Switch, None),
    &opt("direct", Kind::Bool, Some("0")),
    &opt("filename", Kind::Custom { name: "paths", read: super::read::paths }, None),
    &opt("kb_base", Kind::int(1000, 1024), Some("1024")),
    &opt("rwmixread", Kind::Int { min: 0, max: 100, unit: Unit::Percent }, Some("50")),
    &opt("nice", Kind::int(-20, 19), Some("0")),
];
static OWN: &[&OptionDef] = &[&OptionDef {
    scope: Scope::Engine(&["libaio"]),
    ..opt("userspace_reap", Kind::Switch, None)
}];
static ENGINE_DEFS: &[EngineDef] = &[
    EngineDef { name: "psync", aliases: &[], doc: "", support: Support::Built, synchronous: true },
    EngineDef { name: "null", aliases: &[], doc: "", support: Support::Built, synchronous: false },
    EngineDef {
        name: "libaio",
        aliases: &[],
        doc: "",
        support: Support::Built,
        synchronous: false,
    },
    EngineDef {
        name: "io_uring",
        aliases: &[],
        doc: "",
        support: Support::Built,
        synchronous: false,
    },
];
/// Every option that any job may have.
pub fn options() -> &'static [&'static OptionDef] {
    JOB
}
/// Every option that only some engines have.
pub fn engine_options() -> &'static [&'static OptionDef] {
    OWN
}
/// Every engine.
pub fn engines() -> &'static [EngineDef] {
    ENGINE_DEFS
}
/// The engine with this name or alias.
pub fn find_engine(name: &str) -> Option<&'static EngineDef> {
    engines().iter().find(|e| e.name == name || e.aliases.contains(&name))
}
/// The option of any job with this exact name or alias.
pub fn find(name: &str) -> Option<&'static OptionDef> {
    options().iter().copied().find(|o| o.name == name || o.aliases.contains(&name))
}
/// The option with this exact name or alias that a job of `engine` may have.
pub fn find_for_engine(engine: &str, name: &str) -> Option<&'static OptionDef> {
    let own = |o: &&&'static OptionDef| matches!(o.scope, Scope::Engine(e) if e.contains(&engine));
    engine_options().iter().filter(own).copied().find(|o| o.name == name).or_else(|| find(name))
}
/// The engines that have an option of this name.
pub fn engines_with(name: &str) -> Vec<&'static str> {
    let own = engine_options().iter().filter(|o| o.name == name);
    own.flat_map(|o| if let Scope::Engine(e) = o.scope { e.to_vec() } else { vec![] }).collect()
}
