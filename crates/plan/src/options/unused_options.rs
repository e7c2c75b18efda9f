//! Warns of options that have no effect on the job that sets them.
//!
//! A setting in `[global]` counts as unused only if no job that inherits it uses it.

mod rules;

use fiord_types::Dir;

use crate::model::{Access, EnginePlan, FileKind, FilePlan, JobPlan, Load};
use crate::options::messages::Messages;
use crate::options::reading::Reading;
use fiord_job::diagnostic::Diagnostic;

/// The unused options found so far, in the order of the sections.
#[derive(Debug, Default)]
pub(crate) struct UnusedOptions {
    /// Name of the option, whether it is a global setting, and the warning.
    found: Vec<(&'static str, bool, Diagnostic)>,
}

impl UnusedOptions {
    /// Adds the unused options of one section.
    pub(crate) fn check(&mut self, job: Reading, plan: &JobPlan) {
        let (engine, load, files) = (&plan.engine, &plan.load, &plan.target.files);
        let mut add = |name: &'static str, why: String, help: &'static str| {
            let Some(setting) = job.set(name) else { return };
            let what = format!("`{name}` has no effect {why}");
            self.found.push((name, setting.global, job.no_effect(name, what).help(help)));
        };
        directions(job, load, &mut add);
        without_base_option(job, &mut add);
        no_files(job, engine, files, &mut add);
        for rule in rules::RULES.iter().filter(|rule| !(rule.applies)(plan)) {
            for name in rule.options {
                if job.set(name).is_some_and(|setting| rules::is_not_default(job, setting)) {
                    add(name, rule.why.into(), rule.help);
                }
            }
        }
    }

    /// Adds the warnings to `messages`: one for each section, and one for each global setting that
    /// no job uses.
    pub(crate) fn report(self, jobs: &[Reading], messages: &mut Messages) {
        let inherits = |name: &str| {
            jobs.iter().filter(|job| job.set(name).is_some_and(|setting| setting.global)).count()
        };
        for (index, (name, global, message)) in self.found.iter().enumerate() {
            let same = |(other, global, _): &&(&str, bool, Diagnostic)| *global && other == name;
            let first = !self.found[..index].iter().any(|found| same(&found));
            let all = self.found.iter().filter(same).count() >= inherits(name);
            if !global || (first && all) {
                messages.push(message.clone());
            }
        }
    }
}

/// Finds options for a direction that the job does not use.
fn directions(job: Reading, load: &Load, add: &mut impl FnMut(&'static str, String, &'static str)) {
    let writes = load.mix.has(Dir::Write);
    // Verification reads the data that the job wrote.
    let reads = load.mix.has(Dir::Read) || job.is_set("verify");
    let none = |what: &str| format!("on a job that {what}");
    for name in ["write_mode", "sg_write_mode"] {
        let other = job.set_text(name).is_some_and(|word| word != "write")
            || !matches!(job.plain_word(name), "" | "write");
        if !writes && other {
            add(name, none("writes nothing"), "To fix: use `rw=write` or `rw=randwrite`");
        }
    }
    if !writes && job.flag("writefua") {
        add("writefua", none("writes nothing"), "To fix: leave it out, or use `rw=write`");
    }
    if !reads && job.flag("readfua") {
        add("readfua", none("reads nothing"), "To fix: leave it out; `writefua` is for writes");
    }
}

/// Finds options that refine another option which the job does not set.
fn without_base_option(job: Reading, add: &mut impl FnMut(&'static str, String, &'static str)) {
    let without = |names: &str| format!("without {names}");
    if !job.flag("hipri") {
        add("hipri_percentage", without("`hipri`"), "To fix: add `hipri`");
    }
    if !job.flag("exitall") && !job.flag("exitall_on_error") {
        let names = without("`exitall` or `exitall_on_error`");
        add(
            "exit_what",
            names,
            "To fix: add `exitall`, which ends the other jobs when this one ends",
        );
    }
    if !job.is_set("rate_min") && !job.is_set("rate_iops_min") {
        let names = without("`rate_min` or `rate_iops_min`");
        add(
            "rate_cycle",
            names,
            "To fix: leave it out; it is the interval at which minimum rates are checked",
        );
    }
    if job.flag("rate_ignore_thinktime") && job.time("thinktime") == 0 {
        add("rate_ignore_thinktime", without("`thinktime`"), "To fix: leave it out");
    }
}

/// Finds options for files on a job whose engine sends commands or accesses no file.
fn no_files(
    job: Reading,
    engine: &EnginePlan,
    files: &[FilePlan],
    add: &mut impl FnMut(&'static str, String, &'static str),
) {
    let word = job.plain_word("ioengine");
    let hinted = !matches!(job.plain_word("write_hint"), "" | "none");
    match engine.def().access {
        Access::ScsiCommands if hinted => {
            add(
                "write_hint",
                "with an engine that sends commands".into(),
                "To fix: leave it out: it is for writes to files",
            );
        }
        Access::Nothing if hinted => {
            add(
                "write_hint",
                format!("with `ioengine={word}`"),
                "To fix: leave it out: nothing is written",
            );
        }
        _ => {}
    }
    if !files.is_empty() && files.iter().all(|file| !file.kind.has_path()) {
        add(
            "ioscheduler",
            format!("with `ioengine={word}`"),
            "To fix: leave it out: there is no device",
        );
    } else if let Some(file) = files.iter().find(|file| file.kind == FileKind::Char) {
        let on = format!("on the character device `{}`", file.path.display());
        let help = "To fix: set it beforehand: echo NAME > /sys/block/DISK/queue/scheduler";
        add("ioscheduler", on.clone(), help);
        if job.plain_word("fadvise_hint") != "0" {
            add("fadvise_hint", on, "To fix: leave it out: it is for the page cache of files");
        }
    }
}
