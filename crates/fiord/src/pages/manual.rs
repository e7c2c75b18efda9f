//! The manual page of each subcommand, in roff.

use std::fmt::Write;

use clap::{Arg, Command};
use fiord_job::man::{escaped, head};

use crate::pages::sections::{self, ManualEntry};

/// The manual page of a subcommand.
pub(super) fn page(command: &Command) -> String {
    let name = command.get_name();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut out = head(&format!("fiord-{name}"), 1, &about, "the command line");
    out.push_str(".SH SYNOPSIS\n");
    synopsis(&mut out, command);
    out.push_str(".SH DESCRIPTION\n");
    let described = command.get_long_about().or(command.get_about());
    paragraphs(&mut out, &described.map(ToString::to_string).unwrap_or_default());
    section(&mut out, "ARGUMENTS", command.get_positionals());
    section(&mut out, "OPTIONS", command.get_arguments().filter(|arg| !arg.is_positional()));
    actions(&mut out, command);
    let sections = sections::of(name);
    out.push_str(".SH EXIT STATUS\n");
    entries(&mut out, &sections.statuses());
    if !sections.files.is_empty() {
        out.push_str(".SH FILES\n");
        entries(&mut out, sections.files);
    }
    out.push_str(".SH ENVIRONMENT\n");
    entries(&mut out, &sections.variables());
    out.push_str(".SH EXAMPLES\n");
    examples(&mut out, sections.examples);
    out.push_str(".SH SEE ALSO\n.BR fiord (1)\n");
    out
}

/// The manual page of the program, from the page without these sections.
pub(super) fn program(page: String) -> String {
    let mut out = page;
    out.push_str(".SH FILES\n");
    entries(&mut out, sections::RUN_FILES);
    out.push_str(".SH ENVIRONMENT\n");
    entries(&mut out, sections::ENVIRONMENT);
    out.push_str(".SH EXAMPLES\n");
    examples(&mut out, sections::RUNS);
    out.push_str(".SH SEE ALSO\n.BR fiord\\-job (5),\n.BR fio (1)\n");
    out
}

/// The example command lines, each with what it does.
fn examples(out: &mut String, examples: &[ManualEntry]) {
    for (number, (line, what)) in examples.iter().enumerate() {
        let between = if number > 0 { ".PP\n" } else { "" };
        let _ = write!(
            out,
            "{between}{}:\n.PP\n.RS 4\n.nf\n{}\n.fi\n.RE\n",
            escaped(what),
            escaped(line)
        );
    }
}

/// Names, each with its meaning.
fn entries(out: &mut String, entries: &[ManualEntry]) {
    for (name, what) in entries {
        let _ = write!(out, ".TP\n\\fB{}\\fR\n{}\n", escaped(name), escaped(what));
    }
}

fn synopsis(out: &mut String, command: &Command) {
    let _ = write!(out, ".B fiord {}\n[\\fIOPTIONS\\fR]", escaped(command.get_name()));
    for arg in command.get_positionals() {
        let name = arg
            .get_value_names()
            .and_then(|names| names.first())
            .map_or("VALUE", |name| name.as_str());
        let more = if arg.get_num_args().is_some_and(|n| n.max_values() > 1) { " ..." } else { "" };
        let _ = match arg.is_required_set() {
            true => write!(out, " \\fI{}\\fR{more}", escaped(name)),
            false => write!(out, " [\\fI{}\\fR{more}]", escaped(name)),
        };
    }
    if command.has_subcommands() {
        out.push_str(" \\fIACTION\\fR");
    }
    out.push('\n');
}

/// Writes a text, whose paragraphs are separated by empty lines.
fn paragraphs(out: &mut String, text: &str) {
    for (number, paragraph) in text.split("\n\n").enumerate() {
        if number > 0 {
            out.push_str(".PP\n");
        }
        let _ = writeln!(out, "{}", escaped(&paragraph.replace('\n', " ")));
    }
}

fn section<'a>(out: &mut String, title: &str, args: impl Iterator<Item = &'a Arg>) {
    let mut shown = args.filter(|arg| !arg.is_hide_set()).peekable();
    if shown.peek().is_some() {
        let _ = writeln!(out, ".SH {title}");
    }
    shown.for_each(|arg| argument(out, arg));
}

fn argument(out: &mut String, arg: &Arg) {
    out.push_str(".TP\n");
    let values = arg.get_value_names().unwrap_or_default();
    let values: Vec<String> =
        values.iter().map(|name| format!("\\fI{}\\fR", escaped(name))).collect();
    let values = values.join(" ");
    let _ = match (arg.get_long(), arg.get_short()) {
        (None, _) => writeln!(out, "{values}"),
        (Some(long), short) => {
            let short = short.map(|short| format!("\\fB\\-{short}\\fR, ")).unwrap_or_default();
            let value = match (arg.get_action().takes_values(), arg.get_num_args()) {
                (false, _) => String::new(),
                (true, Some(n)) if n.min_values() == 0 => format!("[={values}]"),
                (true, _) => format!("={values}"),
            };
            writeln!(out, "{short}\\fB\\-\\-{}\\fR{value}", escaped(long))
        }
    };
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let full_stop =
        if help.ends_with(['.', ':', '`', ')']) && !help.ends_with("`)") { "" } else { "." };
    paragraphs(out, &format!("{help}{full_stop}"));
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|v| v.to_string_lossy().into_owned()).collect();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        let _ = writeln!(out, "Default: {}.", escaped(&defaults.join(",")));
    }
    let values = arg.get_possible_values();
    let shown = values.iter().filter(|value| !value.is_hide_set());
    let words: Vec<(String, String)> = shown
        .map(|value| {
            (
                value.get_name().to_owned(),
                value.get_help().map(ToString::to_string).unwrap_or_default(),
            )
        })
        .collect();
    if words.is_empty() || !arg.get_action().takes_values() {
        return;
    }
    out.push_str(".RS\n");
    for (word, what) in &words {
        let _ = write!(out, ".TP\n\\fB{}\\fR\n", escaped(word));
        let _ = writeln!(
            out,
            "{}",
            if what.is_empty() { "\\&".to_owned() } else { format!("{}.", escaped(what)) }
        );
    }
    out.push_str(".RE\n");
}

/// The subcommands of a subcommand.
fn actions(out: &mut String, command: &Command) {
    let own: Vec<&Command> =
        command.get_subcommands().filter(|own| own.get_name() != "help").collect();
    if own.is_empty() {
        return;
    }
    out.push_str(".SH ACTIONS\n");
    for action in own {
        let _ = writeln!(out, ".SS {}", escaped(action.get_name()));
        paragraphs(
            out,
            &format!("{}.", action.get_about().map(ToString::to_string).unwrap_or_default()),
        );
        action
            .get_arguments()
            .filter(|arg| !arg.is_hide_set() && !arg.is_global_set())
            .for_each(|arg| argument(out, arg));
    }
}
