//! Checks that some module reads every option that fiord supports.

use std::fs;
use std::path::{Path, PathBuf};

use fiord_job::option::def::{Scope, Support};
use fiord_job::option::table;

/// Modules that do not read options. `unused` only lists options.
const NO_READERS: [&str; 3] = ["unused", "model", "tests"];

/// Options that the reader handles itself, that have only one value so far, or that ask for what fiord always does
/// (a replay always reads its trace in pieces).
const ELSEWHERE: [&str; 5] = ["name", "kb_base", "profile", "cmd_type", "read_iolog_chunked"];

#[test]
fn every_built_option_is_read() {
    let own = table::engine_options().iter().filter(|o| match o.scope {
        Scope::Job => true,
        // `sim` parses its own options.
        Scope::Engine(engines) => !engines.contains(&"sim"),
    });
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let missing: Vec<&str> = table::options()
        .iter()
        .chain(own)
        .filter(|o| o.support == Support::Built && !ELSEWHERE.contains(&o.name))
        .map(|o| o.name)
        .filter(|name| {
            let handle = name.to_uppercase().replace('-', "_");
            !sources.iter().any(|text| mentions(text, &handle))
        })
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

/// Whether a text contains a word, and not only as a part of a longer one.
fn mentions(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}

/// The text of every module that reads options.
fn sources(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let reads = |path: &PathBuf| NO_READERS.iter().all(|name| path.file_stem().unwrap() != *name);
    let (below, files): (Vec<_>, Vec<_>) = entries.filter(reads).partition(|path| path.is_dir());
    let files = files.iter().map(|file| fs::read_to_string(file).unwrap());
    files.chain(below.iter().flat_map(|directory| sources(directory))).collect()
}
