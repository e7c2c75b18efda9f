//! Generates shell completions from the option table.

use std::fmt::Write;

use crate::command::help::words_of;
use crate::command::table::{Argument, COMMANDS};
use crate::option::def::{Kind, OptionDef};
use crate::option::table;

/// A long option for a shell.
struct Entry {
    /// The name without dashes.
    name: &'static str,
    /// A description of one line.
    doc: String,
    /// The known values, if the option takes a value.
    value: Option<Vec<&'static str>>,
}

/// All options of the command line. Each name occurs once.
fn entries() -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    for command in COMMANDS {
        let value = (command.argument != Argument::None).then(Vec::new);
        all.push(Entry { name: command.name, doc: command.doc.into(), value });
    }
    for option in table::options().iter().chain(table::engine_options()) {
        for name in std::iter::once(&option.name).chain(option.aliases) {
            if all.iter().all(|e| e.name != *name) {
                let value = (!matches!(option.kind, Kind::Switch)).then(|| words(option));
                all.push(Entry { name, doc: first_sentence(option.doc), value });
            }
        }
    }
    all
}

fn words(option: &OptionDef) -> Vec<&'static str> {
    match option.kind {
        Kind::Bool => vec!["0", "1"],
        kind => words_of(&kind).iter().map(|w| w.name).collect(),
    }
}

/// The first sentence of a doc, without its full stop and without Markdown.
fn first_sentence(doc: &str) -> String {
    let end = doc.find(". ").unwrap_or(doc.len() - 1);
    doc[..end].replace('`', "")
}

/// What shells complete after a subcommand, which only the program itself knows.
#[derive(Debug)]
pub struct CompletedCommand {
    pub name: String,
    /// A description of one line.
    pub about: String,
    /// Whether the options of jobs may follow it.
    pub takes_job: bool,
    /// Words that may follow it, such as its own subcommands.
    pub words: Vec<String>,
    /// Options of the subcommand.
    pub options: Vec<CompletedOption>,
}

/// What shells complete for an option of a subcommand.
#[derive(Debug)]
pub struct CompletedOption {
    /// The name without dashes.
    pub name: String,
    /// A description of one line.
    pub about: String,
    /// The known values, if the option takes a value.
    pub value: Option<Vec<String>>,
}

/// The completion script for bash.
#[must_use]
pub fn bash(commands: &[CompletedCommand]) -> String {
    let (mut names, mut cases) = (String::new(), String::new());
    for entry in entries() {
        let sign = if entry.value.is_some() { "=" } else { "" };
        let _ = writeln!(names, "        --{}{sign}", entry.name);
        if let Some(words) = entry.value.filter(|w| !w.is_empty()) {
            let _ = writeln!(cases, "        --{}) words=\"{}\" ;;", entry.name, words.join(" "));
        }
    }
    let mut own = String::new();
    for command in commands {
        let _ = writeln!(own, "        {})", command.name);
        let options: Vec<String> = command.options.iter().map(with_sign).collect();
        let _ = writeln!(own, "            options=\"{}\"", options.join(" "));
        if !command.words.is_empty() {
            let _ = writeln!(own, "            others=\"{}\"", command.words.join(" "));
        }
        if command.takes_job {
            own.push_str("            options+=\" $job_options\"\n");
        }
        let valued: Vec<(&str, &Vec<String>)> = command
            .options
            .iter()
            .filter_map(|o| Some((o.name.as_str(), o.value.as_ref()?)))
            .collect();
        if !valued.is_empty() {
            own.push_str("            case $option in\n");
            for (name, words) in valued {
                let _ = writeln!(own, "                --{name}) words=\"{}\" ;;", words.join(" "));
            }
            own.push_str("            esac\n");
        }
        own.push_str("            ;;\n");
    }
    let first: Vec<&str> = commands.iter().map(|command| command.name.as_str()).collect();
    BASH.replace("@CASES@", &cases)
        .replace("@NAMES@", &names)
        .replace("@OWN@", &own)
        .replace("@FIRST@", &first.join(" "))
}

/// The option as a user types it before its value.
fn with_sign(option: &CompletedOption) -> String {
    format!("--{}{}", option.name, if option.value.is_some() { "=" } else { "" })
}

/// The script for bash, without what the tables contain.
const BASH: &str = r#"# Completion of fiord for bash, made by `cargo xtask docs`.
_fiord() {
    local cur=${COMP_WORDS[COMP_CWORD]} option= words= others=
    # bash splits words at the equals sign.
    if [[ $cur == = ]]; then
        option=${COMP_WORDS[COMP_CWORD-1]} cur=
    elif (( COMP_CWORD > 1 )) && [[ ${COMP_WORDS[COMP_CWORD-1]} == = ]]; then
        option=${COMP_WORDS[COMP_CWORD-2]}
    fi
    case $option in
@CASES@    esac
    local job_options="
@NAMES@    "
    local options=$job_options
    (( COMP_CWORD > 1 )) && case ${COMP_WORDS[1]} in
@OWN@    esac
    (( COMP_CWORD == 1 )) && others="@FIRST@"
    if [[ -n $words ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
    elif [[ -z $option && $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
        [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
    else
        compopt -o filenames
        mapfile -t COMPREPLY < <([[ -z $option ]] && compgen -W "$others" -- "$cur"; compgen -f -- "$cur")
    fi
}
complete -F _fiord fiord
"#;

/// The completion script for zsh.
#[must_use]
pub fn zsh(commands: &[CompletedCommand]) -> String {
    let mut out = String::from(
        "#compdef fiord\n# Completion of fiord for zsh, made by `cargo xtask docs`.\n\
         local -a job_options own\nlocal curcontext=$curcontext state line\njob_options=(\n",
    );
    for entry in entries() {
        let words = entry.value.as_ref().map(|words| words.join(" "));
        let _ = writeln!(out, "    {}", zsh_option(entry.name, &entry.doc, words.as_deref()));
    }
    out.push_str(")\nif (( CURRENT == 2 )); then\n    local -a commands=(\n");
    for command in commands {
        let _ = writeln!(out, "        '{}:{}'", command.name, for_zsh(&command.about));
    }
    out.push_str(
        "    )\n    [[ $words[2] != -* ]] && _describe -t commands command commands\n    \
         _arguments $job_options '*:job file:_files'\n    return\nfi\ncase $words[2] in\n",
    );
    for command in commands {
        let _ = writeln!(out, "    {})\n        own=(", command.name);
        for option in &command.options {
            let words = option.value.as_ref().map(|words| words.join(" "));
            let _ = writeln!(
                out,
                "            {}",
                zsh_option(&option.name, &option.about, words.as_deref())
            );
        }
        if !command.words.is_empty() {
            let _ = writeln!(out, "            '1:word:({})'", command.words.join(" "));
        }
        out.push_str("        )\n");
        if command.takes_job {
            out.push_str("        own+=($job_options)\n");
        }
        out.push_str("        ;;\n");
    }
    out.push_str(
        "    *) _arguments $job_options '*:job file:_files'; return ;;\nesac\n\
         # The subcommand is the first word for what follows.\nshift words\n(( CURRENT-- ))\n\
         _arguments $own '*:file:_files'\n",
    );
    out
}

/// An option in the form of `_arguments`.
fn zsh_option(name: &str, doc: &str, words: Option<&str>) -> String {
    let doc = for_zsh(doc);
    match words {
        None => format!("'*--{name}[{doc}]'"),
        Some("") => format!("'*--{name}=[{doc}]:value:_files'"),
        Some(words) => format!("'*--{name}=[{doc}]:value:({words})'"),
    }
}

/// A description without the characters that `_arguments` and quotes use.
fn for_zsh(doc: &str) -> String {
    doc.replace('\n', " ").chars().filter(|c| !"[]'\\:\"$`".contains(*c)).collect()
}

/// The completion script for fish.
#[must_use]
pub fn fish(commands: &[CompletedCommand]) -> String {
    let names: Vec<&str> = commands.iter().map(|command| command.name.as_str()).collect();
    let with_jobs: Vec<&str> = commands
        .iter()
        .filter(|command| command.takes_job)
        .map(|command| command.name.as_str())
        .collect();
    let others: Vec<&str> =
        names.iter().filter(|name| !with_jobs.contains(name)).copied().collect();
    let mut out = format!(
        "# Completion of fiord for fish, made by `cargo xtask docs`.\n\
         # Whether the word after `fiord` is one of these.\n\
         function __fiord_in\n    set -l words (commandline -opc)\n    contains -- \"$words[2]\" $argv\nend\n\
         # Whether it is the first word.\n\
         function __fiord_first\n    test (count (commandline -opc)) -eq 1\nend\n\
         # Whether options of jobs may follow.\n\
         function __fiord_job\n    not __fiord_in {}\nend\n",
        others.join(" ")
    );
    for entry in entries() {
        let words = entry.value.as_ref().map(|words| words.join(" "));
        let _ = writeln!(
            out,
            "{}",
            fish_option("__fiord_job", entry.name, &entry.doc, words.as_deref())
        );
    }
    for command in commands {
        let doc = for_fish(&command.about);
        let _ = writeln!(out, "complete -c fiord -n __fiord_first -a {} -d '{doc}'", command.name);
        let inside = format!("'__fiord_in {}'", command.name);
        if !command.words.is_empty() {
            let _ =
                writeln!(out, "complete -c fiord -n {inside} -f -a '{}'", command.words.join(" "));
        }
        for option in &command.options {
            let words = option.value.as_ref().map(|words| words.join(" "));
            let _ = writeln!(
                out,
                "{}",
                fish_option(&inside, &option.name, &option.about, words.as_deref())
            );
        }
    }
    out
}

fn fish_option(condition: &str, name: &str, doc: &str, words: Option<&str>) -> String {
    let doc = for_fish(doc);
    match words {
        None => format!("complete -c fiord -n {condition} -l {name} -d '{doc}'"),
        Some("") => format!("complete -c fiord -n {condition} -l {name} -r -d '{doc}'"),
        Some(words) => {
            format!("complete -c fiord -n {condition} -l {name} -x -a '{words}' -d '{doc}'")
        }
    }
}

/// A description within single quotes of fish.
fn for_fish(doc: &str) -> String {
    doc.replace('\n', " ").replace('\\', "\\\\").replace('\'', "\\'")
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    fn commands() -> Vec<CompletedCommand> {
        let option = |name: &str, value| CompletedOption {
            name: name.into(),
            about: "It's [odd]".into(),
            value,
        };
        let words = Some(vec!["table".into(), "json".into()]);
        vec![CompletedCommand {
            name: "sweep".into(),
            about: "Run a job's \"points\"".into(),
            takes_job: true,
            words: vec!["first".into()],
            options: vec![
                option("format", words),
                option("dir", Some(Vec::new())),
                option("restart", None),
            ],
        }]
    }

    /// Lets a shell check the syntax of a script without running it. `None` if the shell is not
    /// installed.
    fn reads(shell: &str, script: &str) -> Option<bool> {
        let mut child = Command::new(shell)
            .arg("-n")
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        child.stdin.take()?.write_all(script.as_bytes()).ok()?;
        Some(child.wait().ok()?.success())
    }

    #[test]
    fn shells_accept_their_completion_scripts() {
        for (shell, script) in
            [("bash", bash(&commands())), ("zsh", zsh(&commands())), ("fish", fish(&commands()))]
        {
            assert_ne!(reads(shell, &script), Some(false), "{shell}");
        }
    }

    #[test]
    fn bash_completes_names_and_words() {
        let run = |words: &str| {
            let script = format!(
                "compopt() {{ :; }}\n{}COMP_WORDS=({words})\n\
                 COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))\n_fiord\necho \"${{COMPREPLY[@]}}\"\n",
                bash(&commands())
            );
            let out = Command::new("bash").arg("-c").arg(script).output().ok()?;
            Some(String::from_utf8_lossy(&out.stdout).trim().to_string())
        };
        if let Some(found) = run("fiord --rwmix") {
            assert_eq!(found, "--rwmixread= --rwmixwrite=");
            assert_eq!(run("fiord --rw = randr").unwrap(), "randread randrw");
            assert_eq!(run("fiord --name = x --norandomm").unwrap(), "--norandommap");
            assert_eq!(run("fiord swee").unwrap(), "sweep");
            assert_eq!(run("fiord sweep --rest").unwrap(), "--restart");
            assert_eq!(run("fiord sweep --format = j").unwrap(), "json");
            assert_eq!(run("fiord sweep --norandomm").unwrap(), "--norandommap");
        }
    }
}
