//! No option is forgotten: each that is said to work is read here.

use fiord_job::option::def::{Scope, Support};
use fiord_job::option::table;

/// Every module that reads options.
const SOURCES: &[&str] = &[
    include_str!("../blocks.rs"),
    include_str!("../checks.rs"),
    include_str!("../content.rs"),
    include_str!("../cpus.rs"),
    include_str!("../depth.rs"),
    include_str!("../distribution.rs"),
    include_str!("../engine.rs"),
    include_str!("../files.rs"),
    include_str!("../finish.rs"),
    include_str!("../forms.rs"),
    include_str!("../groups.rs"),
    include_str!("../load.rs"),
    include_str!("../memory.rs"),
    include_str!("../nvme/limits.rs"),
    include_str!("../nvme/mod.rs"),
    include_str!("../nvme/protection.rs"),
    include_str!("../open.rs"),
    include_str!("../pace.rs"),
    include_str!("../placement.rs"),
    include_str!("../priority.rs"),
    include_str!("../process.rs"),
    include_str!("../ranges.rs"),
    include_str!("../record.rs"),
    include_str!("../reporting.rs"),
    include_str!("../resolve.rs"),
    include_str!("../scsi.rs"),
    include_str!("../seeds.rs"),
    include_str!("../sizes.rs"),
    include_str!("../specification.rs"),
    include_str!("../sprandom.rs"),
    include_str!("../start.rs"),
    include_str!("../steady.rs"),
    include_str!("../zones.rs"),
];

/// Options that the language itself has used up, or that have one value only until their other
/// words are built.
const ELSEWHERE: [&str; 4] = ["name", "kb_base", "profile", "cmd_type"];

#[test]
fn every_built_option_is_read() {
    let own = table::engine_options().iter().filter(|o| match o.scope {
        Scope::Job => true,
        // `sim` takes all of its own as typed.
        Scope::Engine(engines) => !engines.contains(&"sim"),
    });
    let missing: Vec<&str> = table::options()
        .iter()
        .chain(own)
        .filter(|o| o.support == Support::Built && !ELSEWHERE.contains(&o.name))
        .map(|o| o.name)
        .filter(|name| !SOURCES.iter().any(|s| s.contains(&format!("\"{name}\""))))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}
