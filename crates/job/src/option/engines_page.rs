//! Generates the page of engines, in Markdown, from the engine table.

use std::fmt::Write;

use super::def::Support;
use super::engine::{DepthSupport, EngineAccess, EngineDef, PmemTarget, WritePlacement};
use super::table;

/// The text of `docs/engines.md`: what each engine can do, and which engines do not work yet.
#[must_use]
pub fn page() -> String {
    let mut out = String::from(
        "# Engines\n\n`cargo xtask docs` generates this page from the declarations in \
         `crates/job/src/option/table/engines.rs`. The [reference](reference.md#engines) has the \
         options of each engine.\n\n## Engines that work\n\n",
    );
    let supported = |engine: &&EngineDef| engine.support != Support::Later;
    for engine in table::engines().iter().filter(supported) {
        let _ = writeln!(out, "- `{}`: {}", engine.name, engine.doc);
    }
    out.push_str(
        "\n| engine | works on | I/Os in flight | `atomic` | priority of each I/O | trims of \
         several ranges | data placement | last run, against what |\n|---|---|---|---|---|---|---|---|\n",
    );
    for engine in table::engines().iter().filter(supported) {
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} | {} | {} | {} | {} |",
            engine.name,
            works_on(engine),
            in_flight(engine.in_flight),
            yes(engine.atomic),
            yes(engine.priorities),
            yes(engine.trim_ranges),
            placement(engine.placement),
            engine.tested,
        );
    }
    out.push_str(
        "\nWith `io_submit_mode=offload`, an engine that has one I/O in flight makes its \
         calls on `iodepth` threads.\n\n## Engines that do not work yet\n\nA run that uses one ends \
         before any I/O.\n\n| engine | | works on | needs |\n|---|---|---|---|\n",
    );
    for engine in table::engines().iter().filter(|engine| !supported(engine)) {
        let (name, doc, needs) = (engine.name, engine.doc, engine.needs);
        let _ = writeln!(out, "| `{name}` | {doc} | {} | {needs} |", works_on(engine));
    }
    out
}

fn yes(has: bool) -> &'static str {
    if has { "yes" } else { "" }
}

fn works_on(engine: &EngineDef) -> &'static str {
    match engine.access {
        EngineAccess::Calls if engine.moves_data => "files and devices",
        EngineAccess::Calls => "files, without data",
        EngineAccess::Mapping => "mapped files and devices",
        EngineAccess::PersistentMemory(PmemTarget::File) => "files in persistent memory (DAX)",
        EngineAccess::PersistentMemory(PmemTarget::Device) => "device-DAX character devices",
        EngineAccess::NvmeCommands => "NVMe generic character devices",
        EngineAccess::ScsiCommands if engine.needs_zones => {
            "zoned SCSI disks and their generic character devices"
        }
        EngineAccess::ScsiCommands => "SCSI disks and their generic character devices",
        EngineAccess::Flash => "raw flash: character devices of MTD",
        EngineAccess::Extents => "files and block devices, without data",
        EngineAccess::Names(call) if call.on_directories() => "names of directories",
        EngineAccess::Names(_) => "names of files",
        EngineAccess::Endpoint => "a server",
        EngineAccess::Library => "files and devices, through a library",
        EngineAccess::Memory => "memory of the job",
        EngineAccess::Stream => "a connection to a peer",
        EngineAccess::Nothing if engine.virtual_time => "nothing, in virtual time",
        EngineAccess::Nothing => "nothing",
    }
}

fn in_flight(in_flight: DepthSupport) -> &'static str {
    match in_flight {
        DepthSupport::One => "1",
        DepthSupport::Combined => "`iodepth` adjacent ones in one call",
        DepthSupport::ManyIfDirect => "`iodepth` with `direct=1`, otherwise 1",
        DepthSupport::ManyOnCharDevice => "`iodepth` on a character device, otherwise 1",
        DepthSupport::OnePerFile => "`iodepth`, and 1 for each file",
        DepthSupport::Many => "`iodepth`",
    }
}

fn placement(placement: WritePlacement) -> &'static str {
    match placement {
        WritePlacement::None => "",
        WritePlacement::KernelStreams => "streams of the kernel",
        WritePlacement::Commands => "handles and streams",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_supported_engines_say_what_they_ran_against() {
        for engine in table::engines() {
            let supported = engine.support != Support::Later;
            assert_eq!(supported, !engine.tested.is_empty(), "{}", engine.name);
        }
    }

    #[test]
    fn each_engine_has_one_row() {
        let page = page();
        for engine in table::engines() {
            let rows = page.matches(&format!("\n| `{}` |", engine.name)).count();
            assert_eq!(rows, 1, "{}", engine.name);
        }
        assert!(page.contains("| `mmap` | mapped files and devices | 1 |"), "{page}");
        assert!(page.contains("| `dfs` |") && page.contains("| libdfs and a DAOS cluster"));
    }
}
