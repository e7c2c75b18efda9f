//! The system calls of a run, counted by `strace`.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use crate::fiord::Place;

/// Counts the successful system calls of these names (separated by commas) that all threads of a run make on the file
/// descriptors of its targets and pipes. `None` if strace is missing or may not trace.
pub(crate) fn counted(place: &Place, calls: &str, line: &str) -> Option<BTreeMap<String, usize>> {
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-e", &format!("trace={calls}"), "-o", "trace"]);
    command.arg(env!("CARGO_BIN_EXE_fiord")).args(line.split_whitespace());
    let ran = command.current_dir(place.path("")).stdin(Stdio::null()).output();
    let trace = std::fs::read_to_string(place.path("trace")).unwrap_or_default();
    if !ran.is_ok_and(|ran| ran.status.success()) || trace.is_empty() {
        println!("strace is missing or may not trace: passed over");
        return None;
    }
    let mut counts = BTreeMap::new();
    for line in trace.lines() {
        // `123 pread64(7</dir/target>, …` or `123 <... pread64 resumed> …`; a call counts where it begins.
        let call = line.split_once(' ').map_or("", |(_, rest)| rest.trim_start());
        let Some((name, arguments)) = call.split_once('(') else { continue };
        if arguments.contains("/target") || arguments.contains("<pipe:") {
            *counts.entry(name.to_owned()).or_default() += 1;
        }
    }
    Some(counts)
}
