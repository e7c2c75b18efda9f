//! Generates the manual page, in roff, from the option table.

use std::fmt::Write;

use crate::command::help::{Subcommands, words_of};
use crate::command::table::{Argument, COMMANDS, CommandDef};
use crate::option::def::{Category, OptionDef, Scope, Support, Word};
use crate::option::shape::shape;
use crate::option::table;

/// The date of the manual pages: that of the version that they describe.
pub const DATE: &str = "2026-11-24";

/// The manual page of the program, with a list of the subcommands, up to and including the exit statuses.
#[must_use]
pub fn man(subcommands: Subcommands) -> String {
    let mut out = format!(
        ".\\\" Generated from the option table by `cargo xtask docs`.\n\
         .TH FIORD 1 \"{DATE}\" \"fiord\" \"User Commands\"\n\
         .SH NAME\nfiord \\- generate storage load and measure the result\n\
         .SH SYNOPSIS\n.B fiord\n[\\fIoptions\\fR] [\\fIjobfile\\fR ...]\n.br\n.B fiord\n\
         [\\fIoptions\\fR] \\-\\-name=\\fIjob\\fR [\\fIjob options\\fR] ...\n\
         .SH DESCRIPTION\n\
         .B fiord\nruns the jobs that job files or its command line describe, each in its own worker, \
         and reports bandwidth, IOPS and latency. Its job language, command line and output \
         are those of\n.BR fio (1).\n\
         .SH OPTIONS\n",
    );
    for command in COMMANDS {
        general(&mut out, command);
    }
    out.push_str(
        ".SH SUBCOMMANDS\nfio does not have these. fiord help SUBCOMMAND explains each, as does its manual page.\n",
    );
    for (name, doc) in subcommands {
        let _ = write!(out, ".TP\n.BR fiord\\-{} (1)\n{}.\n", escaped(name), escaped(doc));
    }
    out.push_str(".SH JOB OPTIONS\n");
    for category in Category::ALL {
        let _ = writeln!(out, ".SS {}", escaped(category.title()));
        for option in table::options().iter().filter(|o| o.category == category) {
            entry(&mut out, option);
        }
    }
    out.push_str(".SS Options of single engines\n");
    for option in table::engine_options() {
        entry(&mut out, option);
    }
    out.push_str(EXIT_STATUS);
    out
}

/// The section on exit statuses. `crates/fiord/src/exit.rs` defines them and tests this text.
const EXIT_STATUS: &str = "\
.SH EXIT STATUS
.TP
.B 0
All jobs succeeded, or there was nothing to run.
.TP
.B 1 to 127
This many jobs failed; 127 means 127 or more.
.TP
.B 1
The command line or a job file is wrong and nothing was touched, a host refused the jobs so that no host ran them, or
the results could not be written.
.TP
.B 128
A signal ended the run. The report covers the run up to the signal. A second signal ends the run
without waiting for jobs that hang. The report has their results so far, and messages name the operations that hang.
.TP
.B 130, 143
A third signal (for subcommands: a second one) ended the program immediately, without a report.
.TP
.B 141
All jobs succeeded, but the reader of standard output closed it, as with | head.
.TP
.B 246
.B fiord precondition
has written everything, but \\-\\-limit ended the random writes before their rate was steady.
.TP
.B 247
.B fiord compare
measured a change beyond the limit of a condition (\\-\\-fail-if), which can be chance.
.TP
.B 248
.B fiord compare
found that a condition (\\-\\-fail-if) holds.
.TP
.B 249
A host of the run was lost or could not be reached: the totals lack its results.
.TP
.B 250
.B fiord verify
or
.B fiord powercut
found that data which had been flushed is lost, or that data is damaged.
.TP
.B 251
All jobs succeeded, but a job with verify_complete verified less than it wrote.
.TP
.B 252
.B fiord check
found that a result of the jobs would be suspect.
.TP
.B 253
.B fiord check
found that a result of the jobs would be invalid; or all jobs succeeded, and with \\-\\-findings=fatal a \
finding says that the result is invalid.
";

fn general(out: &mut String, command: &CommandDef) {
    let _ = write!(out, ".TP\n\\fB\\-\\-{}\\fR", escaped(command.name));
    let _ = match command.argument {
        Argument::None => Ok(()),
        Argument::Required(value) => write!(out, "=\\fI{}\\fR", escaped(value)),
        Argument::Optional(value) => write!(out, "[=\\fI{}\\fR]", escaped(value)),
    };
    if let Some(letter) = command.letter {
        let _ = write!(out, ", \\fB\\-{letter}\\fR");
    }
    let note = if command.support == Support::Later { " (not supported yet)" } else { "" };
    let _ = write!(out, "\n{}{note}.\n", escaped(command.doc));
}

fn entry(out: &mut String, option: &OptionDef) {
    let names = std::iter::once(&option.name).chain(option.aliases);
    let names: Vec<String> = names.map(|n| format!("\\fB{}\\fR", escaped(n))).collect();
    let _ = write!(out, ".TP\n{}\n{}\n", names.join(", "), escaped(option.doc));
    if let Scope::Engine(engines) = option.scope {
        let _ = writeln!(out, "Engines: {}.", escaped(&engines.join(", ")));
    }
    let _ = writeln!(out, "Value: {}.", escaped(&shape(&option.kind)));
    if let Some(default) = option.default.filter(|d| !d.is_empty()) {
        let _ = writeln!(out, "Default: {}.", escaped(default));
    }
    match option.support {
        Support::Built | Support::WithoutFeature => {}
        Support::Accepted(why) => {
            let _ = writeln!(out, "Accepted without effect: {}.", escaped(why));
        }
        Support::Later => out.push_str("Not supported yet.\n"),
    }
    let words = words_of(&option.kind);
    if !words.is_empty() {
        out.push_str(".RS\n");
        words.iter().for_each(|word| item(out, word));
        out.push_str(".RE\n");
    }
}

fn item(out: &mut String, word: &Word) {
    let doc = match word.means {
        Some(means) => format!("the same as {means}"),
        None => word.doc.trim_end_matches('.').to_string(),
    };
    let _ = write!(out, ".TP\n\\fB{}\\fR\n{}.\n", escaped(word.name), escaped(&doc));
}

/// Escapes text so that roff prints it unchanged: no escapes and no request at the start of a line.
/// Removes the backquotes of Markdown.
#[must_use]
pub fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('`', "");
    match text.strip_prefix(['.', '\'']) {
        Some(_) => format!("\\&{text}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roff_requests_and_escapes_are_escaped() {
        assert_eq!(escaped("a-b `c` \\:"), "a\\-b c \\e:");
        assert_eq!(escaped(".fz files"), "\\&.fz files");
    }

    #[test]
    fn every_option_is_in_the_manual() {
        let page = man(&[]);
        for option in table::options() {
            assert!(page.contains(&format!("\\fB{}\\fR", escaped(option.name))), "{}", option.name);
        }
        // Only intended requests start with a full stop.
        let requests = [".\\\"", ".TH", ".SH", ".SS", ".TP", ".RS", ".RE", ".B", ".br", ".BR"];
        for line in page.lines().filter(|l| l.starts_with(['.', '\''])) {
            assert!(requests.contains(&line.split(' ').next().unwrap_or("")), "{line}");
        }
    }
}
