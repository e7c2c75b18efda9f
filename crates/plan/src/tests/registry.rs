//! No option is forgotten: each that is said to work is read here.

use std::fs;
use std::path::{Path, PathBuf};

use fiord_job::option::def::{Scope, Support};
use fiord_job::option::table;

/// What stands beside the modules that read options: `idle` names those that a job has no use for.
const NO_READERS: [&str; 3] = ["idle", "model", "tests"];

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
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let missing: Vec<&str> = table::options()
        .iter()
        .chain(own)
        .filter(|o| o.support == Support::Built && !ELSEWHERE.contains(&o.name))
        .map(|o| o.name)
        .filter(|name| !sources.iter().any(|s| s.contains(&format!("\"{name}\""))))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

/// The text of every module that reads options.
fn sources(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let reads = |path: &PathBuf| NO_READERS.iter().all(|name| path.file_stem().unwrap() != *name);
    let (below, files): (Vec<_>, Vec<_>) = entries.filter(reads).partition(|path| path.is_dir());
    let files = files.iter().map(|file| fs::read_to_string(file).unwrap());
    files.chain(below.iter().flat_map(|directory| sources(directory))).collect()
}
