//! The texts of `--help`, `--cmdhelp` and `--enghelp`, in fio's layout.

use std::fmt::Write;

use super::table::{Argument, COMMANDS, CommandDef, HelpGroup};
use crate::diagnostic::Diagnostic;
use crate::option::def::{Kind, OptionDef, Scope, Support, Unit, Word};
use crate::option::table;
use crate::profile::ProfileDef;
use crate::suggest;

/// Width of the name column in the details of an option, in characters.
const NAME_WIDTH: usize = 20;
/// Maximum width of a line, in characters.
const LINE_WIDTH: usize = 100;

/// Maximum width of a line of `--help`, in characters.
const PAGE_WIDTH: usize = 80;
/// Width of the column of names in `--help`, in characters.
const PAGE_NAMES: usize = 27;
/// Width of the column of subcommands in `--help`, in characters.
const PAGE_COMMANDS: usize = 16;

/// Which subcommands the program has, which only the program itself knows: name and description of each.
pub type Subcommands<'a> = &'a [(String, String)];

/// The text of `--help`, at most 80 characters wide. `program` is the name by which the user called this program. Under
/// the name `fio`, the page looks like fio's: the options come first, in one list, because scripts search it.
#[must_use]
pub fn page(program: &str, subcommands: Subcommands) -> String {
    let version = super::version();
    let mut out = format!("{version}\n{program} [options] [job options] <job file(s)>\n");
    if program == "fio" {
        COMMANDS.iter().for_each(|command| general(&mut out, command));
        out.push('\n');
        list(&mut out, program, subcommands);
    } else {
        let _ = writeln!(out, "{program} COMMAND [...]\n");
        list(&mut out, program, subcommands);
        for group in HelpGroup::ALL {
            let _ = writeln!(out, "\n{}:", group.title());
            let own = COMMANDS.iter().filter(|command| command.group == group);
            own.for_each(|command| general(&mut out, command));
        }
    }
    out.push('\n');
    let text = format!(
        "Job options have the form --option=value. Before the first --name, they apply to all jobs; after --name=JOB, \
         they apply to that job. An option name can be shortened as long as it is unambiguous. `{program} --cmdhelp` \
         lists the job options, `{program} --cmdhelp=OPTION` explains one."
    );
    wrapped(&text, PAGE_WIDTH).iter().for_each(|line| {
        let _ = writeln!(out, "{line}");
    });
    out
}

fn list(out: &mut String, program: &str, subcommands: Subcommands) {
    let _ = writeln!(
        out,
        "Commands, which fio does not have (`{program} help COMMAND` explains each):"
    );
    for (name, doc) in subcommands {
        item(out, name, doc, PAGE_COMMANDS);
    }
}

/// Explains a general option.
fn general(out: &mut String, command: &CommandDef) {
    let name = match command.argument {
        Argument::None => format!("--{}", command.name),
        Argument::Required(what) => format!("--{}={what}", command.name),
        Argument::Optional(what) => format!("--{}[={what}]", command.name),
    };
    let later = if command.support == Support::Later { " (not supported yet)" } else { "" };
    item(out, &name, &format!("{}{later}", command.doc), PAGE_NAMES);
}

/// Writes a name and its description in two columns, of which the first is `names` characters wide.
fn item(out: &mut String, name: &str, doc: &str, names: usize) {
    let lines = wrapped(doc, PAGE_WIDTH - names);
    let mut left = format!("  {name}");
    if left.len() + 2 > names {
        let _ = writeln!(out, "{left}");
        left.clear();
    }
    for line in lines {
        let _ = writeln!(out, "{left:<names$}{line}");
        left.clear();
    }
}

/// The text of `--cmdhelp` and `--cmdhelp=all`: one line per job option.
#[must_use]
pub fn options() -> String {
    table::options().iter().map(|o| one_line(o)).collect()
}

/// The text of `--profile=NAME --cmdhelp`: one line per option of the profile.
pub fn profile(def: &ProfileDef) -> String {
    def.options.iter().copied().map(one_line).collect()
}

/// Explains an option of this name: of jobs, of engines, or of the command line. `None` if there is none.
#[must_use]
pub fn known_option(name: &str) -> Option<String> {
    if let Some(def) = table::find(name) {
        return Some(details(def));
    }
    let own: String = table::engine_options()
        .iter()
        .filter(|o| o.name == name || o.aliases.contains(&name))
        .map(|o| details(o))
        .collect();
    if !own.is_empty() {
        return Some(own);
    }
    let command = COMMANDS.iter().find(|c| c.name == name)?;
    Some(format!("{:>NAME_WIDTH$}: {}\n\n", command.name, command.doc))
}

/// The names of all options: of jobs, of engines, and of the command line.
pub fn option_names() -> impl Iterator<Item = &'static str> {
    let of_jobs = table::options().iter().chain(table::engine_options());
    let of_jobs = of_jobs.flat_map(|o| std::iter::once(o.name).chain(o.aliases.iter().copied()));
    of_jobs.chain(COMMANDS.iter().map(|command| command.name))
}

/// Whether this is the name of an option, or an abbreviation of one.
#[must_use]
pub fn begins_an_option(name: &str) -> bool {
    option_names().any(|option| option.starts_with(name))
}

/// The text of `--cmdhelp=NAME`. For an unknown name, shows the closest match; the exit status is 0
/// in this case too, as in fio.
#[must_use]
pub fn option(name: &str) -> String {
    if let Some(text) = known_option(name) {
        return text;
    }
    let names = table::options().iter().flat_map(|o| {
        std::iter::once(o.name).chain(o.aliases.iter().copied()).map(move |n| (n, *o))
    });
    let near = suggest::nearest(name, names.clone().map(|(n, _)| n));
    match names.into_iter().find(|(n, _)| Some(*n) == near) {
        Some((_, def)) => {
            format!("No such command: {name} - showing closest match\n{}", details(def))
        }
        None => format!("No such command: {name}\n"),
    }
}

/// The text of `--enghelp[=ENGINE[,OPTION]]`. The list of engines contains only supported engines,
/// because scripts use it to find out what they can run.
///
/// # Errors
/// The engine or the option does not exist, or the engine has no options.
pub fn engine(text: Option<&str>) -> Result<String, Diagnostic> {
    let Some(text) = text.filter(|t| !t.is_empty()) else {
        let mut out = String::from("Available IO engines:\n");
        for e in table::engines().iter().filter(|e| e.support == Support::Built) {
            let _ = writeln!(out, "\t{}", e.name);
        }
        return Ok(out);
    };
    let (name, wanted) = match text.split_once(',') {
        Some((n, w)) => (n, Some(w)),
        None => (text, None),
    };
    let Some(engine) = table::find_engine(name) else {
        let error = Diagnostic::error(format!("IO engine {name} not found"), None);
        let near = suggest::nearest(name, table::engines().iter().map(|e| e.name));
        return Err(match near {
            Some(n) => error.help(format!("did you mean `{n}`?")),
            None => error.help("`--enghelp` lists the engines"),
        });
    };
    let own: Vec<&OptionDef> = table::engine_options()
        .iter()
        .copied()
        .filter(|o| matches!(o.scope, Scope::Engine(_)) && o.fits(engine.name))
        .collect();
    match wanted {
        None if own.is_empty() => {
            Err(Diagnostic::error(format!("IO engine {} has no options", engine.name), None)
                .help(engine.doc))
        }
        None => Ok(own.iter().map(|o| one_line(o)).collect()),
        Some(wanted) => own
            .iter()
            .find(|o| o.name == wanted || o.aliases.contains(&wanted))
            .map(|o| details(o))
            .ok_or_else(|| {
                let error = Diagnostic::error(
                    format!("No such command: ioengine {name} has no option {wanted}"),
                    None,
                );
                match suggest::nearest(wanted, own.iter().map(|o| o.name)) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.help(format!("`--enghelp={name}` lists its options")),
                }
            }),
    }
}

fn one_line(def: &OptionDef) -> String {
    let indent = if def.parent.is_some() { 2 } else { 0 };
    let later = if def.support == Support::Later { " (not supported yet)" } else { "" };
    let (blank, width) = ("", 24 - indent);
    format!("{blank:indent$}{:<width$}: {}{later}\n", def.name, first_sentence(def.doc))
}

/// The first sentence of a doc, without its full stop.
fn first_sentence(doc: &str) -> &str {
    let end = doc.find(". ").unwrap_or(doc.len());
    doc[..end].trim_end_matches('.')
}

fn details(def: &OptionDef) -> String {
    let mut out = format!("{:>NAME_WIDTH$}: {}\n", def.name, first_sentence(def.doc));
    let mut line = |name: &str, text: &str| {
        let _ = writeln!(out, "{name:>NAME_WIDTH$}: {text}");
    };
    for alias in def.aliases {
        line("alias", alias);
    }
    line("type", &type_text(def));
    line("default", def.default.unwrap_or("no default"));
    if let Some(range) = range_text(&def.kind) {
        line("range", &range);
    }
    if let Scope::Engine(engines) = def.scope {
        line("engines", &engines.join(", "));
    }
    let words = words_of(&def.kind);
    for (i, w) in words.iter().enumerate() {
        let doc = match w.means {
            Some(means) => format!("same as {means}"),
            None if w.support == Support::Later => format!("{} (not supported yet)", w.doc),
            None => w.doc.to_string(),
        };
        let text = format!("{:<10} {doc}", w.name);
        line(if i == 0 { "valid values" } else { "" }, text.trim_end());
    }
    let rest = def.doc[first_sentence(def.doc).len()..].trim_start_matches(['.', ' ']);
    let rest = without_links(rest);
    for (i, part) in wrapped(&rest, LINE_WIDTH - NAME_WIDTH - 2).iter().enumerate() {
        line(if i == 0 { "more" } else { "" }, part);
    }
    if !def.example.is_empty() {
        line("example", def.example);
    }
    match def.support {
        Support::Built | Support::WithoutFeature => {}
        Support::Accepted(why) => line("note", &format!("accepted, but has no effect: {why}")),
        Support::Later => line("note", "not supported yet: a job that uses it ends before any I/O"),
    }
    out.push('\n');
    out
}

/// The text with `docs/page.md` instead of a link to it.
fn without_links(text: &str) -> String {
    let mut parts = text.split('[');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once("](").and_then(|(_, link)| link.split_once(')')) {
            Some((page, after)) => out += &format!("docs/{page}{after}"),
            None => out += &format!("[{part}"),
        }
    }
    out
}

/// Breaks a text into lines of at most `width` characters, if its words permit it.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(l) if l.chars().count() + 1 + word.chars().count() <= width => {
                l.push(' ');
                l.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// The words of a kind, including aliases. Empty for kinds without words.
#[must_use]
pub fn words_of(kind: &Kind) -> &'static [Word] {
    match kind {
        Kind::Words { words, .. } | Kind::WordList { words, .. } => words,
        _ => &[],
    }
}

fn type_text(def: &OptionDef) -> String {
    match def.kind {
        Kind::Switch => "empty or boolean value ([0|1])".into(),
        Kind::Bool => "boolean value (opt=1)".into(),
        Kind::Text | Kind::Words { .. } => "string (opt=bla)".into(),
        Kind::WordList { .. } => "strings separated by ',' (opt=bla,blub)".into(),
        Kind::Int { .. } => "integer value (opt=100)".into(),
        Kind::Ints { .. } => "one to three integer values (opt=100[,200[,300]])".into(),
        Kind::Amount { .. } => "size, percentage or zones (opt=1g, opt=20%, opt=8z)".into(),
        Kind::Time { unit } => {
            let bare = match unit {
                Unit::Micros => "microseconds",
                Unit::Millis => "milliseconds",
                _ => "seconds",
            };
            format!("string with time postfix (opt=10s), {bare} without one")
        }
        Kind::Floats { .. } => {
            "list of floating point values separated by ':' (opt=5.9:7.8)".into()
        }
        Kind::Ranges { .. } => "one to three ranges (opt=1k-4k[,4k-8k[,1k-8k]])".into(),
        Kind::Custom { name, .. } => name.to_string(),
    }
}

fn range_text(kind: &Kind) -> Option<String> {
    match *kind {
        Kind::Bool => Some("min=0, max=1".into()),
        Kind::Int { min, max: u64::MAX, .. } | Kind::Ints { min, max: u64::MAX, .. } => {
            Some(format!("min={min}"))
        }
        Kind::Int { min, max, .. } | Kind::Ints { min, max, .. } => {
            Some(format!("min={min}, max={max}"))
        }
        Kind::Floats { min, max, .. } => Some(format!("min={min:.6}, max={max:.6}")),
        Kind::Ranges { min } => Some(format!("min={min}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subcommands() -> Vec<(String, String)> {
        vec![(
            "precondition".into(),
            "Fill devices with data before a measurement, and then some more".into(),
        )]
    }

    #[test]
    fn the_page_fits_a_terminal_and_lists_every_option_once() {
        for program in ["fiord", "fio"] {
            let page = page(program, &subcommands());
            for line in page.lines() {
                assert!(line.chars().count() <= PAGE_WIDTH, "{line}");
            }
            for command in COMMANDS {
                let named = |line: &&str| {
                    let name = line
                        .trim_start()
                        .strip_prefix("--")
                        .and_then(|l| l.strip_prefix(command.name));
                    line.starts_with("  --")
                        && name.is_some_and(|rest| {
                            !rest.starts_with(|c: char| c == '-' || c.is_alphanumeric())
                        })
                };
                assert_eq!(page.lines().filter(named).count(), 1, "{program}: {}", command.name);
            }
        }
    }

    #[test]
    fn commands_come_first_except_under_the_name_of_fio() {
        let at = |program, what| page(program, &subcommands()).find(what).unwrap();
        assert!(at("fiord", "  precondition") < at("fiord", "  --output="));
        assert!(at("fio", "  precondition") > at("fio", "  --output="));
        assert!(page("fio", &[]).contains("\nfio [options] [job options] <job file(s)>\n"));
    }
}
