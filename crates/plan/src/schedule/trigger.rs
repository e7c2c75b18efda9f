//! The trigger that ends a run: `--trigger-file`, `--trigger-timeout`, `--trigger`.

use std::path::{Component, Path, PathBuf};

use fiord_job::command::{GeneralOptions, TriggerOptions};
use fiord_job::diagnostic::{Diagnostic, Note};

use crate::machine::facts::{Facts, FoundKind};
use crate::model::JobPlan;
use crate::options::messages::Messages;

/// Refuses a trigger that would harm files or lose the states of the jobs, and warns about one that cannot fire.
/// `aux_path`: the directory of the states.
pub(crate) fn check(
    trigger: &TriggerOptions,
    plans: &[JobPlan],
    aux_path: &Path,
    facts: &dyn Facts,
    messages: &Messages,
) {
    if trigger.command.is_some() && !trigger.can_fire() {
        let what = "`--trigger` has no effect: nothing says when it runs";
        let help = "To fix: add --trigger-file=FILE or --trigger-timeout=TIME";
        messages.push(Diagnostic::warning(Note::NoEffect, what, None).help(help));
    }
    if trigger.remote_command.is_some() {
        let what = "`--trigger-remote` runs a command on other hosts, and no host is named";
        let help = "To fix: use --trigger, or name hosts (--hosts, --client)";
        messages.push(Diagnostic::error(what, None).help(help));
    }
    if let Some(file) = &trigger.file {
        check_file(Path::new(file), plans, facts, messages);
    }
    let saves = plans.iter().any(|plan| plan.verify.as_ref().is_some_and(|v| v.pass.writes()));
    if trigger.can_fire() && saves {
        check_directory(aux_path, facts, messages);
    }
}

/// Refuses a directory of states that does not exist.
fn check_directory(aux_path: &Path, facts: &dyn Facts, messages: &Messages) {
    if facts.look(aux_path).is_ok_and(|found| found.kind == FoundKind::Directory) {
        return;
    }
    let what = format!(
        "the trigger cannot save the verify states: `{}` is not a directory",
        aux_path.display()
    );
    let help = "To fix: create the directory, or set --aux-path to another one";
    messages.push(Diagnostic::error(what, None).help(help));
}

/// What is wrong with the trigger of a run whose jobs are on other hosts.
#[must_use]
pub fn wrong_with_hosts(general: &GeneralOptions, facts: &dyn Facts) -> Vec<Diagnostic> {
    let messages = Messages::default();
    let (trigger, no_exec) = (&general.trigger, general.no_exec);
    let commands = [("--trigger", &trigger.command), ("--trigger-remote", &trigger.remote_command)];
    for (name, _) in commands.iter().filter(|(_, command)| command.is_some()) {
        if !trigger.can_fire() {
            let what = format!("`{name}` has no effect: nothing says when it runs");
            let help = "To fix: add --trigger-file=FILE or --trigger-timeout=TIME";
            messages.push(Diagnostic::error(what, None).help(help));
        }
        if no_exec {
            let what = format!("`{name}` is forbidden by --no-exec: it runs a command");
            messages.push(Diagnostic::error(what, None).help("To fix: leave out one of them"));
        }
    }
    if let Some(file) = &trigger.file {
        check_file(Path::new(file), &[], facts, &messages);
    }
    if trigger.can_fire() {
        check_directory(Path::new(general.aux_path.as_deref().unwrap_or(".")), facts, &messages);
    }
    messages.errors.take()
}

/// Refuses a trigger file whose removal would lose data.
fn check_file(path: &Path, plans: &[JobPlan], facts: &dyn Facts, messages: &Messages) {
    let refuse = |why: String| {
        let what = format!("`--trigger-file={}`: {why}", path.display());
        let help = "To fix: choose the name of a file that does not exist";
        Diagnostic::error(what, None).help(help)
    };
    let whole = plain(path);
    let uses = |plan: &&JobPlan| {
        plan.target.files.iter().any(|file| file.kind.has_path() && plain(&file.path) == whole)
    };
    if let Some(plan) = plans.iter().find(uses) {
        let name = &plan.identity.name;
        messages
            .push(refuse(format!("this is a file of job `{name}`, and the trigger removes it")));
        return;
    }
    match facts.look(path) {
        Ok(found) if found.kind != FoundKind::Regular => {
            let kind = found.kind.in_words();
            messages.push(refuse(format!("this is {kind}, which the trigger would remove")));
        }
        Ok(found) if found.size > 0 => {
            let why = format!("this file has {} bytes, which the trigger would remove", found.size);
            messages.push(refuse(why));
        }
        Ok(_) => {}
        Err(_) => {
            let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let directory = directory.unwrap_or(Path::new("."));
            if facts.look(directory).is_err() {
                let what = format!(
                    "the trigger waits for `{}`, and the directory `{}` does not exist",
                    path.display(),
                    directory.display()
                );
                let help = "To fix: create the directory, or correct --trigger-file";
                messages.push(Diagnostic::warning(Note::DoubtfulJob, what, None).help(help));
            }
        }
    }
}

/// The path without `.` components.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}
