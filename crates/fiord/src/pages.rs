//! Generated documentation of the command line: manual pages and completions. The example `pages` writes it below `docs`.

mod manual;
mod sections;

use fiord_job::completion::{self, CompletedCommand, CompletedOption};
use fiord_job::man;

use crate::subcommand::{self, definition};

/// Returns every page with its path below the directory `docs`.
#[must_use]
pub fn all() -> Vec<(String, String)> {
    let line = definition::definitions();
    let completed = completed(&line);
    let mut pages = vec![
        ("fiord.1".to_owned(), manual::program(man::man(&definition::list()))),
        ("fiord-job.5".to_owned(), man::job_file()),
        ("completions/fiord.bash".to_owned(), completion::bash(&completed)),
        ("completions/_fiord".to_owned(), completion::zsh(&completed)),
        ("completions/fiord.fish".to_owned(), completion::fish(&completed)),
    ];
    pages.extend(
        line.get_subcommands()
            .map(|command| (format!("fiord-{}.1", command.get_name()), manual::page(command))),
    );
    pages
}

/// What shells complete after each subcommand.
fn completed(line: &clap::Command) -> Vec<CompletedCommand> {
    let of = |command: &clap::Command| CompletedCommand {
        name: command.get_name().to_owned(),
        about: command.get_about().map(ToString::to_string).unwrap_or_default(),
        takes_job: command.get_arguments().any(|arg| arg.get_id() == subcommand::JOB),
        words: match command.get_name() {
            "help" => line.get_subcommands().map(|other| other.get_name().to_owned()).collect(),
            _ => command.get_subcommands().map(|own| own.get_name().to_owned()).collect(),
        },
        options: command
            .get_arguments()
            .filter(|arg| !arg.is_hide_set())
            .filter_map(option)
            .collect(),
    };
    line.get_subcommands().map(of).collect()
}

/// What shells complete for an option. `None` for other arguments.
fn option(arg: &clap::Arg) -> Option<CompletedOption> {
    let takes_value = arg.get_action().takes_values();
    let words = arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    Some(CompletedOption {
        name: arg.get_long()?.to_owned(),
        about: arg.get_help().map(ToString::to_string).unwrap_or_default(),
        value: takes_value.then_some(words),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    #[test]
    fn the_committed_pages_are_current() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let stale = |(name, text): &(String, String)| {
            fs::read_to_string(docs.join(name)).ok().as_ref() != Some(text)
        };
        let stale: Vec<String> =
            super::all().into_iter().filter(stale).map(|(name, _)| name).collect();
        assert!(stale.is_empty(), "run `cargo xtask docs`: {stale:?}");
    }
}
