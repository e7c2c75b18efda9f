//! Warns of options that have no effect on the job that sets them.
//!
//! A setting in `[global]` counts as unused only if no job that inherits it uses it.

mod rules;

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::def::OptionDef;
use fiord_job::option::table::sg::SgWriteMode;
use fiord_job::option::table::{
    EXIT_WHAT, EXITALL, EXITALL_ON_ERROR, FADVISE_HINT, IOENGINE, IOSCHEDULER, RATE_CYCLE,
    RATE_IGNORE_THINKTIME, RATE_IOPS_MIN, RATE_MIN, THINKTIME, VERIFY, WRITE_HINT, nvme, pvsync2,
    sg,
};
use fiord_types::Dir;

use crate::model::{Access, Advice, EnginePlan, FileKind, FilePlan, JobPlan, Load, WriteHint};
use crate::options::messages::Messages;
use crate::options::reading::Reading;

/// The unused options found so far, in the order of the sections.
#[derive(Debug, Default)]
pub(crate) struct UnusedOptions {
    /// The option, whether it is a global setting, and the warning.
    found: Vec<(&'static OptionDef, bool, Diagnostic)>,
}

impl UnusedOptions {
    /// Adds the unused options of one section.
    pub(crate) fn check(&mut self, job: Reading, plan: &JobPlan) {
        let (engine, load, files) = (&plan.engine, &plan.load, &plan.target.files);
        let mut add = |option: &'static OptionDef, why: String, help: &'static str| {
            let Some(setting) = job.setting(option) else { return };
            let what = format!("`{}` has no effect {why}", option.name);
            self.found.push((option, setting.global, job.no_effect(option, what).help(help)));
        };
        directions(job, load, &mut add);
        without_base_option(job, &mut add);
        no_files(job, engine, files, &mut add);
        for rule in rules::RULES.iter().filter(|rule| !(rule.applies)(plan)) {
            for option in rule.options {
                if job.setting(*option).is_some_and(rules::is_not_default) {
                    add(option, rule.why.into(), rule.help);
                }
            }
        }
    }

    /// Adds the warnings to `messages`: one for each section, and one for each global setting that
    /// no job uses.
    pub(crate) fn report(self, jobs: &[Reading], messages: &mut Messages) {
        let inherits = |option: &'static OptionDef| {
            let global = |job: &&Reading| job.setting(option).is_some_and(|setting| setting.global);
            jobs.iter().filter(global).count()
        };
        for (index, (option, global, message)) in self.found.iter().enumerate() {
            let same =
                |(other, global, _): &&(&OptionDef, bool, Diagnostic)| *global && other == option;
            let first = !self.found[..index].iter().any(|found| same(&found));
            let all = self.found.iter().filter(same).count() >= inherits(option);
            if !global || (first && all) {
                messages.push(message.clone());
            }
        }
    }
}

/// Finds options for a direction that the job does not use.
fn directions(
    job: Reading,
    load: &Load,
    add: &mut impl FnMut(&'static OptionDef, String, &'static str),
) {
    let writes = load.mix.has(Dir::Write);
    // Verification reads the data that the job wrote.
    let reads = load.mix.has(Dir::Read) || job.is_set(VERIFY);
    let none = |what: &str| format!("on a job that {what}");
    for (option, other) in [
        (nvme::WRITE_MODE.def(), job.get(nvme::WRITE_MODE) != "write"),
        (sg::SG_WRITE_MODE.def(), job.get(sg::SG_WRITE_MODE) != SgWriteMode::Write),
    ] {
        if !writes && other {
            add(option, none("writes nothing"), "To fix: use `rw=write` or `rw=randwrite`");
        }
    }
    if !writes && job.get(nvme::WRITEFUA) {
        add(
            nvme::WRITEFUA.def(),
            none("writes nothing"),
            "To fix: leave it out, or use `rw=write`",
        );
    }
    if !reads && job.get(nvme::READFUA) {
        add(
            nvme::READFUA.def(),
            none("reads nothing"),
            "To fix: leave it out; `writefua` is for writes",
        );
    }
}

/// Finds options that refine another option which the job does not set.
fn without_base_option(
    job: Reading,
    add: &mut impl FnMut(&'static OptionDef, String, &'static str),
) {
    let without = |names: &str| format!("without {names}");
    if !job.get(pvsync2::HIPRI) {
        add(pvsync2::HIPRI_PERCENTAGE.def(), without("`hipri`"), "To fix: add `hipri`");
    }
    if !job.get(EXITALL) && !job.get(EXITALL_ON_ERROR) {
        let names = without("`exitall` or `exitall_on_error`");
        add(
            EXIT_WHAT.def(),
            names,
            "To fix: add `exitall`, which ends the other jobs when this one ends",
        );
    }
    if !job.is_set(RATE_MIN) && !job.is_set(RATE_IOPS_MIN) {
        let names = without("`rate_min` or `rate_iops_min`");
        add(
            RATE_CYCLE.def(),
            names,
            "To fix: leave it out; it is the interval at which minimum rates are checked",
        );
    }
    if job.get(RATE_IGNORE_THINKTIME) && job.get(THINKTIME) == 0 {
        add(RATE_IGNORE_THINKTIME.def(), without("`thinktime`"), "To fix: leave it out");
    }
}

/// Finds options for files on a job whose engine sends commands or accesses no file.
fn no_files(
    job: Reading,
    engine: &EnginePlan,
    files: &[FilePlan],
    add: &mut impl FnMut(&'static OptionDef, String, &'static str),
) {
    let word = job.get(IOENGINE);
    let hinted = job.get(WRITE_HINT).is_some_and(|hint| hint != WriteHint::None);
    match engine.def().access {
        Access::ScsiCommands if hinted => {
            add(
                WRITE_HINT.def(),
                "with an engine that sends commands".into(),
                "To fix: leave it out: it is for writes to files",
            );
        }
        Access::Nothing if hinted => {
            add(
                WRITE_HINT.def(),
                format!("with `ioengine={word}`"),
                "To fix: leave it out: nothing is written",
            );
        }
        _ => {}
    }
    if !files.is_empty() && files.iter().all(|file| !file.kind.has_path()) {
        add(
            IOSCHEDULER.def(),
            format!("with `ioengine={word}`"),
            "To fix: leave it out: there is no device",
        );
    } else if let Some(file) = files.iter().find(|file| file.kind == FileKind::Char) {
        let on = format!("on the character device `{}`", file.path.display());
        let help = "To fix: set it beforehand: echo NAME > /sys/block/DISK/queue/scheduler";
        add(IOSCHEDULER.def(), on.clone(), help);
        if job.get(FADVISE_HINT) != Advice::None {
            add(FADVISE_HINT.def(), on, "To fix: leave it out: it is for the page cache of files");
        }
    }
}
