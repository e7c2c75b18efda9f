//! The table of contents of the book.

use std::fmt::Write;

/// Title and path in `docs` of each page, in the order of the book; an empty path begins a part.
const CONTENTS: &[(&str, &str)] = &[
    ("First steps", "first-steps.md"),
    ("Coming from fio", "from-fio.md"),
    ("Recipes", ""),
    ("Measure a drive", "recipes/drive.md"),
    ("Measure a file system", "recipes/file-system.md"),
    ("Measure a database load", "recipes/database.md"),
    ("Measure a zoned device", "recipes/zones.md"),
    ("Measure NVMe commands", "recipes/nvme.md"),
    ("Measure object storage", "recipes/objects.md"),
    ("Verify a drive", "recipes/verification.md"),
    ("Measure from many hosts", "recipes/hosts.md"),
    ("Results", ""),
    ("How numbers mislead", "misleading.md"),
    ("Reports as HTML pages", "report.md"),
    ("Comparing results", "compare.md"),
    ("Sweeps and the knee", "sweep.md"),
    ("Findings", "findings/README.md"),
    ("Logs", "logs.md"),
    ("Series and metrics", "metrics.md"),
    ("The view of a run", "live.md"),
    ("Reference", ""),
    ("Job options", "reference.md"),
    ("Engines", "engines.md"),
    ("Options and engines that work", "compatibility.md"),
    ("Differences from fio", "differences.md"),
    ("Devices", "devices.md"),
    ("Buffer contents", "contents.md"),
    ("Verification", "verification.md"),
    ("Cutting power", "powercut.md"),
    ("Network storage", "endpoints.md"),
    ("Metadata", "metadata.md"),
    ("NVMe commands", "nvme.md"),
    ("SCSI commands", "scsi.md"),
    ("Zoned devices", "zoned.md"),
    ("Traces", "traces.md"),
    ("Runs on many hosts", "hosts.md"),
    ("Runs on many hosts: reference", "hosts-reference.md"),
    ("Internals", ""),
    ("How fiord works", "internals.md"),
    ("Performance", "performance.md"),
    ("Engines in shared libraries", "external-engines.md"),
    ("The virtual machine for scenarios", "vm.md"),
    ("Packaging", "packaging.md"),
    ("Developing fiord", ""),
    ("Adding an option", "dev/option.md"),
    ("Adding an engine", "dev/engine.md"),
    ("Kinds of engines", "dev/engine-kinds.md"),
    ("Adding a hook", "dev/hook.md"),
    ("Adding a finding", "dev/finding.md"),
    ("Adding a column", "dev/column.md"),
    ("Adding a chart", "dev/chart.md"),
    ("Adding a subcommand", "dev/subcommand.md"),
    ("Errors", "dev/errors.md"),
    ("Writing a test", "dev/testing.md"),
    ("Testing options together", "dev/pairs.md"),
    ("Writing a scenario", "dev/scenario.md"),
    ("Changing unsafe code", "dev/unsafe.md"),
    ("Fuzzing a parser", "dev/fuzzing.md"),
    ("Measuring speed and size", "dev/measuring.md"),
    ("Writing documentation", "dev/documentation.md"),
    ("Making a release", "dev/release.md"),
];

/// Returns the text of `docs/SUMMARY.md`, in which the findings are below their list.
pub(crate) fn summary() -> String {
    let mut text = String::from("# Summary\n\n[fiord](README.md)\n\n");
    for (title, path) in CONTENTS {
        if path.is_empty() {
            let _ = writeln!(text, "\n# {title}\n");
        } else {
            let _ = writeln!(text, "- [{title}]({path})");
        }
        if *path == "findings/README.md" {
            for (name, _) in fiord_doctor::pages::pages() {
                if let Some(id) = name.strip_suffix(".md").filter(|id| *id != "README") {
                    let _ = writeln!(text, "  - [{id}](findings/{name})");
                }
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs;

    #[test]
    fn the_book_contains_every_page() {
        let summary = super::summary();
        let docs = crate::place::root().join("docs");
        for folder in ["", "recipes/", "findings/", "dev/"] {
            for entry in fs::read_dir(docs.join(folder)).unwrap() {
                let name = entry.unwrap().file_name().to_string_lossy().into_owned();
                let is_page = name.ends_with(".md") && name != "SUMMARY.md";
                let link = format!("({folder}{name})");
                assert!(
                    !is_page || summary.contains(&link),
                    "docs/{folder}{name} is not in the book. To fix: add it to CONTENTS in xtask/src/book/summary.rs"
                );
            }
        }
        for (_, path) in super::CONTENTS {
            assert!(docs.join(path).exists(), "docs/{path} is missing");
        }
    }
}
