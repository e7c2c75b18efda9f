//! Arguments of a run on the command line of a subcommand.
//!
//! Subcommands that run or check jobs accept job files and job options like a run: without `--` before them, and mixed
//! with their own options. An option that the subcommand has is its own; every other one belongs to the job.

use clap::{Arg, ArgAction, Command};

/// The name of the argument that takes what belongs to a job.
pub(crate) const JOB: &str = "job";

/// Puts the arguments that belong to a job after `--`, which ends the options of the subcommand for clap. Keeps the
/// arguments of a subcommand that takes no job.
///
/// An option without `=` whose value is the next argument takes it along only if the subcommand has the option: the
/// arguments of a job keep their order, so the value still follows its option.
pub(super) fn sorted(command: &Command, args: &[String]) -> Vec<String> {
    if !command.get_arguments().any(|arg| arg.get_id() == JOB) {
        return args.to_vec();
    }
    let others = command.get_positionals().filter(|arg| arg.get_id() != JOB).count();
    let (mut own, mut job) = (Vec::new(), Vec::new());
    let mut words = 0;
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if arg == "--" {
            job.extend(rest.cloned());
            break;
        }
        match option_of(command, arg) {
            Some(option) => {
                own.push(arg.clone());
                if takes_next(option, arg) {
                    own.extend(rest.next().cloned());
                }
            }
            None if is_help(arg) => own.push(arg.clone()),
            // The first words are the subcommand's, unless options of a job came before them: they can be its values.
            None if words < others && job.is_empty() && !arg.starts_with('-') => {
                words += 1;
                own.push(arg.clone());
            }
            None => job.push(arg.clone()),
        }
    }
    if !job.is_empty() {
        own.push("--".into());
        own.append(&mut job);
    }
    own
}

/// The option of the subcommand that an argument names exactly.
pub(super) fn option_of<'a>(command: &'a Command, arg: &str) -> Option<&'a Arg> {
    let name = arg.strip_prefix("--")?.split('=').next()?;
    command.get_opts().chain(flags(command)).find(|option| option.get_long() == Some(name))
}

fn flags(command: &Command) -> impl Iterator<Item = &Arg> {
    command
        .get_arguments()
        .filter(|arg| arg.get_long().is_some() && !arg.get_action().takes_values())
}

/// Whether the value of an option is the next argument.
pub(super) fn takes_next(option: &Arg, arg: &str) -> bool {
    !arg.contains('=') && matches!(option.get_action(), ArgAction::Set | ArgAction::Append)
}

fn is_help(arg: &str) -> bool {
    matches!(arg, "--help" | "-h")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted_line(line: &str) -> String {
        let command = Command::new("sweep")
            .arg(Arg::new("device"))
            .arg(Arg::new(JOB).num_args(0..))
            .arg(Arg::new("set").long("set").action(ArgAction::Append))
            .arg(Arg::new("restart").long("restart").action(ArgAction::SetTrue));
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        sorted(&command, &args).join(" ")
    }

    #[test]
    fn what_the_subcommand_does_not_have_belongs_to_the_job() {
        for (line, expected) in [
            ("/dev/x --set iodepth=1,2 --rw=read", "/dev/x --set iodepth=1,2 -- --rw=read"),
            ("--rw=read /dev/x --set=bs=4k", "--set=bs=4k -- --rw=read /dev/x"),
            ("/dev/x a.fio --restart --bs 4k", "/dev/x --restart -- a.fio --bs 4k"),
            ("/dev/x -- --set=a a.fio", "/dev/x -- --set=a a.fio"),
            ("/dev/x --help", "/dev/x --help"),
            ("/dev/x --restart", "/dev/x --restart"),
            ("/dev/x --restarts", "/dev/x -- --restarts"),
        ] {
            assert_eq!(sorted_line(line), expected, "{line}");
        }
    }

    #[test]
    fn a_subcommand_without_jobs_gets_its_arguments_as_they_are() {
        let args = ["--nosuch".to_owned(), "x".to_owned()];
        assert_eq!(sorted(&Command::new("zones"), &args), args);
    }
}
