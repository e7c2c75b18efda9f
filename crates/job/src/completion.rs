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

/// The completion script for bash.
#[must_use]
pub fn bash() -> String {
    let mut names = String::new();
    let mut cases = String::new();
    for entry in entries() {
        let sign = if entry.value.is_some() { "=" } else { "" };
        let _ = writeln!(names, "        --{}{sign}", entry.name);
        if let Some(words) = entry.value.filter(|w| !w.is_empty()) {
            let _ = writeln!(cases, "        --{}) words=\"{}\" ;;", entry.name, words.join(" "));
        }
    }
    format!(
        "# Completion of fiord for bash, made by `cargo xtask docs`.\n\
         _fiord() {{\n    \
         local cur=${{COMP_WORDS[COMP_CWORD]}} option= words=\n    \
         # bash splits words at the equals sign.\n    \
         if [[ $cur == = ]]; then\n        \
         option=${{COMP_WORDS[COMP_CWORD-1]}} cur=\n    \
         elif (( COMP_CWORD > 1 )) && [[ ${{COMP_WORDS[COMP_CWORD-1]}} == = ]]; then\n        \
         option=${{COMP_WORDS[COMP_CWORD-2]}}\n    fi\n    \
         case $option in\n{cases}    esac\n    \
         local options=\"\n{names}    \"\n    \
         if [[ -n $words ]]; then\n        \
         mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n    \
         elif [[ -z $option && $cur == -* ]]; then\n        \
         mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n        \
         [[ ${{COMPREPLY[0]-}} == *= ]] && compopt -o nospace\n    \
         else\n        \
         compopt -o filenames\n        \
         mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n    fi\n}}\n\
         complete -F _fiord fiord\n"
    )
}

/// The completion script for zsh.
#[must_use]
pub fn zsh() -> String {
    let mut out = String::from(
        "#compdef fiord\n# Completion of fiord for zsh, made by `cargo xtask docs`.\n_arguments \\\n",
    );
    for entry in entries() {
        let doc: String = entry.doc.chars().filter(|c| !"[]'\\:\"$".contains(*c)).collect();
        let _ = match entry.value {
            None => writeln!(out, "    '*--{}[{doc}]' \\", entry.name),
            Some(words) if words.is_empty() => {
                writeln!(out, "    '*--{}=[{doc}]:value:_files' \\", entry.name)
            }
            Some(words) => {
                writeln!(out, "    '*--{}=[{doc}]:value:({})' \\", entry.name, words.join(" "))
            }
        };
    }
    out.push_str("    '*:job file:_files'\n");
    out
}

/// The completion script for fish.
#[must_use]
pub fn fish() -> String {
    let mut out = String::from("# Completion of fiord for fish, made by `cargo xtask docs`.\n");
    for entry in entries() {
        let doc = entry.doc.replace('\\', "\\\\").replace('\'', "\\'");
        let _ = match entry.value {
            None => writeln!(out, "complete -c fiord -l {} -d '{doc}'", entry.name),
            Some(words) if words.is_empty() => {
                writeln!(out, "complete -c fiord -l {} -r -d '{doc}'", entry.name)
            }
            Some(words) => {
                let words = words.join(" ");
                writeln!(out, "complete -c fiord -l {} -x -a '{words}' -d '{doc}'", entry.name)
            }
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

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
        for (shell, script) in [("bash", bash()), ("zsh", zsh()), ("fish", fish())] {
            assert_ne!(reads(shell, &script), Some(false), "{shell}");
        }
    }

    #[test]
    fn bash_completes_names_and_words() {
        let run = |words: &str| {
            let script = format!(
                "compopt() {{ :; }}\n{}COMP_WORDS=({words})\n\
                 COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))\n_fiord\necho \"${{COMPREPLY[@]}}\"\n",
                bash()
            );
            let out = Command::new("bash").arg("-c").arg(script).output().ok()?;
            Some(String::from_utf8_lossy(&out.stdout).trim().to_string())
        };
        if let Some(found) = run("fiord --rwmix") {
            assert_eq!(found, "--rwmixread= --rwmixwrite=");
            assert_eq!(run("fiord --rw = randr").unwrap(), "randread randrw");
            assert_eq!(run("fiord --name = x --norandomm").unwrap(), "--norandommap");
        }
    }
}
