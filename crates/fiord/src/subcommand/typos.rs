//! Finds mistyped options of subcommands, and suggests what was meant as a run does.

use clap::{Arg, Command};
use fiord_job::command::{args, help};
use fiord_job::diagnostic::Diagnostic;
use fiord_job::spec::Place;
use fiord_job::suggest;

use super::JOB;
use super::job_arguments::{option_of, takes_next};

/// The message about the first option that neither the subcommand nor a job of it has, if it is the subcommand's that
/// was meant. `line`: the arguments with the name of the subcommand. Messages about options of jobs are those of a run.
pub(super) fn find(command: &Command, line: &[String]) -> Option<Diagnostic> {
    let takes_job = command.get_arguments().any(|arg| arg.get_id() == JOB);
    // Options of a subcommand can stand after the name of one of its own: `fiord keys create --keys=DIR`. clap says
    // where they may stand.
    let mut levels = vec![command];
    let mut own = vec!["help"];
    own.extend(shown(command));
    let mut at = 1;
    while let Some(arg) = line.get(at).filter(|arg| *arg != "--") {
        at += 1;
        if let Some(inner) = levels.last().and_then(|command| command.find_subcommand(arg)) {
            levels.push(inner);
            own.extend(shown(inner));
            continue;
        }
        if let Some(option) = levels.iter().find_map(|command| option_of(command, arg)) {
            at += usize::from(takes_next(option, arg));
            continue;
        }
        let Some(name) = arg.strip_prefix("--").and_then(|rest| rest.split('=').next()) else {
            continue;
        };
        if own.contains(&name) || takes_job && help::begins_an_option(name) {
            continue;
        }
        let mut all = own.clone();
        if takes_job {
            help::option_names().for_each(|name| all.push(name));
        }
        let near = suggest::nearest(name, all.into_iter());
        let near = near.filter(|near| own.contains(near));
        if takes_job && near.is_none() {
            continue;
        }
        return Some(unknown(line, at - 1, arg, name, near));
    }
    None
}

/// The options that the help of a command lists.
fn shown(command: &Command) -> impl Iterator<Item = &str> {
    command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(Arg::get_long)
}

fn unknown(line: &[String], at: usize, arg: &str, name: &str, near: Option<&str>) -> Diagnostic {
    let (source, starts) = args::source_of(line);
    let start = starts[at] + "--".len();
    let place = Place { source, span: start..start + name.len() };
    let help = match near {
        Some(near) => format!("did you mean `--{near}`?"),
        None => format!("To fix: `fiord help {}` lists its options", line[0]),
    };
    Diagnostic::error(format!("unrecognized option '{arg}'"), Some(place)).help(help)
}

#[cfg(test)]
mod tests {
    use clap::ArgAction;

    use super::*;

    fn found(line: &str, job: bool) -> Option<String> {
        let mut command = Command::new("sweep")
            .arg(Arg::new("set").long("set").action(ArgAction::Append))
            .arg(Arg::new("repeat").long("repeat").action(ArgAction::Set))
            .arg(Arg::new("restart").long("restart").action(ArgAction::SetTrue));
        if job {
            command = command.arg(Arg::new(JOB).num_args(0..));
        }
        let line: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        find(&command, &line).map(|wrong| wrong.help.join("\n"))
    }

    #[test]
    fn a_mistyped_option_of_the_subcommand_has_a_suggestion() {
        for line in ["sweep --repaet=3 --name=a", "sweep --name=a --size=1m --repat 3"] {
            assert_eq!(found(line, true).as_deref(), Some("did you mean `--repeat`?"), "{line}");
        }
        assert_eq!(found("sweep --restrat", false).as_deref(), Some("did you mean `--restart`?"));
        let lists = found("sweep --xyzzyx", false);
        assert_eq!(lists.as_deref(), Some("To fix: `fiord help sweep` lists its options"));
    }

    #[test]
    fn options_of_a_subcommand_can_stand_around_the_name_of_one_of_its_own() {
        let create = Command::new("create")
            .arg(Arg::new("shared").long("shared").action(ArgAction::SetTrue));
        let keys = Arg::new("keys").long("keys").global(true).action(ArgAction::Set);
        let command = Command::new("keys").arg(keys).subcommand(create);
        let found = |line: &str| {
            let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
            find(&command, &line).map(|wrong| wrong.help.join("\n"))
        };
        for line in [
            "keys create --shared --keys=k",
            "keys --keys k create --shared",
            "keys create --keys k",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
        assert_eq!(found("keys create --kyes=k").as_deref(), Some("did you mean `--keys`?"));
    }

    #[test]
    fn options_of_jobs_are_left_to_the_job() {
        for line in [
            "sweep --rw=read --iodepht=3",
            "sweep --iodep=3 --set bs=4k --restart",
            "sweep --set --repaet=1 a.fio",
            "sweep --restart -- --repaet=3",
            "sweep --xyzzyx",
        ] {
            assert_eq!(found(line, true), None, "{line}");
        }
    }
}
