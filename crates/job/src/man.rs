//! Generates the manual pages of the program and of job files, in roff, from the option table.

use std::fmt::Write;

use crate::command::help::{Subcommands, words_of};
use crate::command::table::{Argument, COMMANDS, CommandDef};
use crate::option::def::{Category, OptionDef, Support};
use crate::option::{reference, table};
use crate::profile::PROFILES;

/// The date of the manual pages: that of the version that they describe.
const DATE: &str = "2026-11-24";

/// The manual page of the program, with a list of the subcommands, up to and including the exit statuses.
#[must_use]
pub fn man(subcommands: Subcommands) -> String {
    let about = "generate storage load and measure the result";
    let mut out = head("fiord", 1, about, "the option table");
    out.push_str(
        "\
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
    out.push_str(
        ".SH JOB OPTIONS\n.BR fiord\\-job (5)\ndescribes job files and their options, which are also options of the command line.\n",
    );
    out.push_str(EXIT_STATUS);
    out
}

/// The manual page of job files and their options.
#[must_use]
pub fn job_file() -> String {
    let mut out = head("fiord-job", 5, "job files and job options of fiord", "the option table");
    let _ = write!(out, "{JOB_FILE}.PP\n{}\n.SH OPTIONS\n", escaped(reference::PREAMBLE));
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
    for profile in PROFILES {
        let (name, doc) = (escaped(profile.name), escaped(profile.doc));
        let _ = write!(out, ".SS Options of the profile {name}\n{doc}\n");
        profile.options.iter().for_each(|option| entry(&mut out, option));
    }
    out.push_str(".SH SEE ALSO\n.BR fiord (1)\n");
    out
}

/// The head of a manual page and its section on the name. `source` is what the page is generated from.
#[must_use]
pub fn head(name: &str, section: u8, about: &str, source: &str) -> String {
    let kind = if section == 1 { "User Commands" } else { "File Formats" };
    let (title, name, about) = (escaped(&name.to_uppercase()), escaped(name), escaped(about));
    format!(
        ".\\\" Generated from {source} by `cargo xtask docs`.\n\
         .TH {title} {section} \"{DATE}\" \"fiord\" \"{kind}\"\n\
         .SH NAME\n{name} \\- {about}\n"
    )
}

/// The syntax of job files.
const JOB_FILE: &str = "\
.SH SYNOPSIS
.nf
; a comment
[global]
bs=4k
size=1g

[reader]
rw=randread
include common.fio
.fi
.SH DESCRIPTION
A job file consists of sections. [global] has defaults for the sections after it; each other section is a job, with the
name of the section. A line sets an option. A comment begins with ; or # and ends with the line. include inserts the
lines of another file, which has no sections.
.PP
Values can contain ${VAR}, a variable of the environment, and words about the machine: $pagesize, $mb_memory (memory in
MiB) and $ncpus; in a run on many hosts also $host, $rank and $ranks.
.PP
.B fiord help
.I OPTION
explains one option.
.B fiord check
finds mistakes in a job file without any I/O.
";

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
    if let Some(limit) = reference::limit(option) {
        let _ = writeln!(out, "{}", escaped(&limit));
    }
    let facts = breakable(&reference::facts(option));
    let _ = write!(out, ".br\n{facts}\n.br\nExample: {}\n", breakable(option.example));
    let words = words_of(&option.kind);
    if !words.is_empty() {
        out.push_str(".RS\n");
        for word in words {
            let meaning = reference::meaning(word, option);
            let meaning = escaped(meaning.trim_end_matches('.'));
            let _ = write!(out, ".TP\n\\fB{}\\fR\n{meaning}.\n", escaped(word.name));
        }
        out.push_str(".RE\n");
    }
}

/// Escapes text, and permits a line break after each colon inside a word, because lists can be longer than a line.
fn breakable(text: &str) -> String {
    escaped(text).replace(':', ":\\:").replace(":\\: ", ": ")
}

/// Escapes text so that roff prints it unchanged: no escapes, no typographic quotes, and no request at the start of a line.
/// Removes the backquotes of Markdown.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\e"),
            '-' => out.push_str("\\-"),
            '\'' => out.push_str("\\(aq"),
            '^' => out.push_str("\\(ha"),
            '~' => out.push_str("\\(ti"),
            '`' => {}
            '.' if out.is_empty() => out.push_str("\\&."),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roff_requests_and_escapes_are_escaped() {
        assert_eq!(escaped("a-b `c` \\:"), "a\\-b c \\e:");
        assert_eq!(escaped("`.fz` files"), "\\&.fz files");
        assert_eq!(escaped("'~' ^"), "\\(aq\\(ti\\(aq \\(ha");
    }

    #[test]
    fn every_option_is_in_the_manual() {
        let page = job_file();
        for option in table::options().iter().chain(table::engine_options()) {
            assert!(page.contains(&format!("\\fB{}\\fR", escaped(option.name))), "{}", option.name);
        }
        // Only intended requests start with a full stop.
        let requests = [
            ".\\\"", ".TH", ".SH", ".SS", ".TP", ".PP", ".RS", ".RE", ".B", ".I", ".br", ".BR",
            ".nf", ".fi",
        ];
        for line in [page, man(&[])].concat().lines().filter(|l| l.starts_with(['.', '\''])) {
            assert!(requests.contains(&line.split(' ').next().unwrap_or("")), "{line}");
        }
    }
}
