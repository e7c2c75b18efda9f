//! The subcommands and their options.
//!
//! The enum `SubcommandArgs` is the only list of them: the help, the manual pages, the completions and the suggestions are made
//! from it.

use std::path::Path;

use clap::{CommandFactory, Parser, Subcommand};
use fiord_commands::{
    compare, devices, keys, live, log, powercut, precondition, repeat, report, series, skew, suite,
    sweep, trace, verify, zones,
};
use fiord_job::suggest;

use crate::check;

/// The command line of a subcommand.
#[derive(Debug, Parser)]
#[command(name = "fiord", max_term_width = 80)]
#[command(disable_help_subcommand = true)]
pub(super) struct SubcommandLine {
    #[command(subcommand)]
    pub(super) command: SubcommandArgs,
}

/// A subcommand with its options.
#[derive(Debug, Subcommand)]
pub(super) enum SubcommandArgs {
    /// Check jobs for mistakes and for causes of misleading results, without I/O.
    Check(check::CheckArgs),
    /// List the options of job files.
    Options {
        /// List only options, values and engines that are not supported yet.
        #[arg(long)]
        unsupported: bool,
    },
    /// Compare results: which side is better, and how certain is that.
    Compare(compare::CompareArgs),
    /// Repeat jobs, so that their results can be compared.
    Run(repeat::RunArgs),
    /// Run a job at many settings, print a table and find the knee.
    Sweep(sweep::SweepArgs),
    /// Show how a random distribution spreads the I/O over the data.
    Skew(skew::SkewArgs),
    /// Show, convert and plot logs of bandwidth, IOPS and latencies.
    Log(log::LogArgs),
    /// Print what the jobs of a finished run did over time: CSV, JSON lines or InfluxDB.
    Series(series::SeriesArgs),
    /// Replay a finished run on the whole screen, from its JSON or its page.
    Live(live::LiveArgs),
    /// Show, reset, finish, open or close the zones of a device.
    Zones(zones::ZonesArgs),
    /// Run a benchmark suite on a device, or list the suites.
    Suite(suite::SuiteArgs),
    /// Show disks: properties, PCIe links, health and users.
    Devices(devices::DevicesArgs),
    /// Fill devices with data before a measurement.
    Precondition(precondition::PreconditionArgs),
    /// Check after a crash whether a drive or file still has all flushed data.
    Verify(verify::VerifyArgs),
    /// Cut the power of a device in the middle of writes and check what it kept.
    Powercut(powercut::PowercutArgs),
    /// Summarize a trace of I/Os, and write a job that approximates it.
    Trace(trace::TraceArgs),
    /// Show results of earlier runs as an HTML page.
    Report(report::ReportArgs),
    /// Make, show and trust the keys of connections between hosts.
    Keys(keys::KeysArgs),
    /// Explain a command, a job option or a finding.
    Help {
        /// A command, such as `sweep`, a job option, such as `iodepth`, or a finding, such as `cache-hits`. Without it, lists
        /// all commands.
        topic: Vec<String>,
    },
}

/// The definitions of all subcommands, complete with the options that each has by itself.
pub(crate) fn definitions() -> clap::Command {
    let mut line = SubcommandLine::command();
    line.build();
    line
}

/// The subcommands and a description of each.
pub(crate) fn list() -> Vec<(String, String)> {
    let about = |command: &clap::Command| command.get_about().map(ToString::to_string);
    let line = SubcommandLine::command();
    let shown = line.get_subcommands().filter(|command| !command.is_hide_set());
    shown
        .map(|command| (command.get_name().to_owned(), about(command).unwrap_or_default()))
        .collect()
}

/// Suggests a subcommand for a word.
pub(crate) fn nearest(word: &str) -> Option<String> {
    let names = list();
    suggest::nearest(word, names.iter().map(|(name, _)| name.as_str())).map(str::to_owned)
}

/// Suggests a subcommand for a first argument that is neither a subcommand, an option nor a file.
pub(crate) fn meant(first: &str) -> Option<String> {
    if first.starts_with('-') || Path::new(first).exists() {
        return None;
    }
    nearest(first)
}

/// The text of `fiord COMMAND --help`, where the words name a subcommand, or one of a subcommand's own. `None` if there is
/// no such subcommand.
pub(crate) fn explained(words: &[String]) -> Option<String> {
    let line = SubcommandLine::command();
    let mut at = &line;
    for word in words {
        at = at.find_subcommand(word)?;
    }
    let all = ["fiord"].into_iter().chain(words.iter().map(String::as_str)).chain(["--help"]);
    SubcommandLine::try_parse_from(all).err().map(|help| help.to_string())
}

/// Writes a message of clap like the other messages of this program.
pub(super) fn refusal(text: &str, subcommand: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let text = text
        .replace("\n\nFor more information, try '--help'.\n", "\n")
        .replace("\n  tip: ", "\n  help: ");
    let text = meant_instead(&text);
    format!("{text}  To fix: `fiord help {subcommand}` explains what it accepts\n")
}

/// Suggests in the words of a run: clap writes `a similar value exists: 'never'`.
fn meant_instead(text: &str) -> String {
    let line = |line: &str| {
        let similar = line.strip_prefix("  help: ").filter(|help| help.contains("similar"));
        match similar.and_then(|help| help.split_once(": ")) {
            Some((_, names)) => format!("  help: did you mean {}?", names.replace('\'', "`")),
            None => line.to_owned(),
        }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_sound() {
        SubcommandLine::command().debug_assert();
    }

    #[test]
    fn every_subcommand_has_a_description_of_one_line() {
        for (name, about) in list() {
            assert!(about.chars().count() > 10 && !about.ends_with('.'), "{name}: {about}");
        }
    }

    #[test]
    fn a_word_near_a_subcommand_suggests_it() {
        assert_eq!(nearest("swep").as_deref(), Some("sweep"));
        assert_eq!(nearest("xyzzyx"), None);
        assert_eq!(meant("--swep"), None);
    }
}
