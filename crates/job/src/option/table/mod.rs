//! The table of options. Each category has a module; the order is that of the reference.
//!
//! To add an option, declare it in the module of its category (`docs/dev/option.md`). The parser, the help, the reference,
//! the man page and the shell completions use this declaration.

use std::sync::LazyLock;

use super::def::{OptionDef, Scope};
use super::engine::EngineDef;

mod block_size;
mod buffers;
mod depth;
mod engine;
mod engines;
mod errors;
pub mod findings;
mod io_size;
mod io_type;
mod job;
mod process;
mod profile;
mod rate;
mod replay;
mod results;
mod steady_state;
mod target;
#[cfg(test)]
mod tests;
mod time;
mod units;
mod verify;

pub use block_size::*;
pub use buffers::*;
pub use depth::*;
pub use engine::*;
pub use errors::*;
pub use findings::*;
pub use io_size::*;
pub use io_type::*;
pub use job::*;
pub use process::*;
pub use profile::*;
pub use rate::*;
pub use replay::*;
pub use results::*;
pub use steady_state::*;
pub use target::*;
pub use time::*;
pub use units::*;
pub use verify::*;

/// The options that any job may have, one slice per category.
const JOB_TABLES: [&[&OptionDef]; 19] = [
    units::OPTIONS,
    job::OPTIONS,
    time::OPTIONS,
    target::OPTIONS,
    io_type::OPTIONS,
    block_size::OPTIONS,
    buffers::OPTIONS,
    io_size::OPTIONS,
    engine::OPTIONS,
    depth::OPTIONS,
    rate::OPTIONS,
    replay::OPTIONS,
    process::OPTIONS,
    verify::OPTIONS,
    steady_state::OPTIONS,
    results::OPTIONS,
    findings::OPTIONS,
    errors::OPTIONS,
    profile::OPTIONS,
];

static JOB: LazyLock<Vec<&'static OptionDef>> =
    LazyLock::new(|| JOB_TABLES.into_iter().flatten().copied().collect());
static ENGINE: LazyLock<Vec<&'static OptionDef>> =
    LazyLock::new(|| engine::TABLES.into_iter().flatten().copied().collect());

/// All options that any job may have, in the order of the reference.
#[must_use]
pub fn options() -> &'static [&'static OptionDef] {
    &JOB
}

/// All options that only some engines have. A name may occur several times, for different engines.
#[must_use]
pub fn engine_options() -> &'static [&'static OptionDef] {
    &ENGINE
}

#[must_use]
pub fn engines() -> &'static [EngineDef] {
    &engines::ENGINES
}

/// The engine with this name or alias.
#[must_use]
pub fn find_engine(name: &str) -> Option<&'static EngineDef> {
    let called = |e: &&EngineDef| e.aliases.contains(&name);
    // Two passes, because few engines have another name.
    engines().iter().find(|e| e.name == name).or_else(|| engines().iter().find(called))
}

/// The option of an engine that names the target of a job. `None`: `filename` and similar options name the targets.
#[must_use]
pub fn target_option(engine: &EngineDef) -> Option<&'static OptionDef> {
    find_for_engine(engine.name, engine.target_named_by).filter(|_| engine.names_target())
}

/// The engine with this documented name. Call it in a `const` block: the program then does not
/// compile if the table has no such engine.
///
/// ```
/// use fiord_job::option::table;
/// assert!(const { table::engine("mmap") }.is_synchronous());
/// ```
///
/// ```compile_fail
/// # use fiord_job::option::table;
/// assert!(const { table::engine("mnap") }.is_synchronous());
/// ```
///
/// # Panics
///
/// If the table has no such engine.
#[must_use]
pub const fn engine(name: &str) -> &'static EngineDef {
    let mut i = 0;
    while i < engines::ENGINES.len() {
        if equal(engines::ENGINES[i].name, name) {
            return &engines::ENGINES[i];
        }
        i += 1;
    }
    panic!("the table has no engine of this name")
}

const fn equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut same = a.len() == b.len();
    let mut i = 0;
    while same && i < a.len() {
        same = a[i] == b[i];
        i += 1;
    }
    same
}

/// The job option with this exact name or alias. Does not search the options of engines.
#[must_use]
pub fn find(name: &str) -> Option<&'static OptionDef> {
    find_in(options(), name)
}

/// The option with this exact name or alias for a job that uses `engine` (a documented name). An
/// option of the engine takes precedence over a job option.
#[must_use]
pub fn find_for_engine(engine: &str, name: &str) -> Option<&'static OptionDef> {
    let own = engine_options().iter().filter(|o| o.fits(engine));
    own.copied().find(|o| is_called(o, name)).or_else(|| find(name))
}

/// The documented names of the engines that have their own option with this name or alias. The
/// message about an option that does not fit the job's engine lists them.
#[must_use]
pub fn engines_with(name: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    for option in engine_options().iter().filter(|o| is_called(o, name)) {
        if let Scope::Engine(engines) = option.scope {
            found.extend(engines.iter().filter(|e| !found.contains(*e)).collect::<Vec<_>>());
        }
    }
    found
}

fn find_in(table: &[&'static OptionDef], name: &str) -> Option<&'static OptionDef> {
    table.iter().copied().find(|o| is_called(o, name))
}

fn is_called(option: &OptionDef, name: &str) -> bool {
    option.name == name || option.aliases.contains(&name)
}
