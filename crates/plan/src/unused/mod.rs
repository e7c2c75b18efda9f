//! Warns of options that have no effect on the job that sets them. The modules whose names end in `rules` are the tables of
//! all reasons that follow from the job alone. A module that finds a reason in one file, device or part of a value calls
//! [`Reading::no_effect`] itself.
//!
//! | options | table |
//! |---|---|
//! | that only some engines have | `engine_rules`; `net_rules` for engines on networks |
//! | that raw flash does not have | `flash_rules` |
//! | about verification | `verify_rules` |
//! | about logs | `log_rules` |
//! | about traces, or overridden by a replayed trace | `replay_rules` |
//! | that name files | `target_rules` |
//! | all others | `rules` |
//!
//! A setting in `[global]` counts as unused only if no job that inherits it uses it.

mod conditions;
mod engine_rules;
mod flash_rules;
mod log_rules;
mod net_rules;
mod replay_rules;
mod rules;
mod target_rules;
mod verify_rules;

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::def::OptionDef;
use fiord_job::option::table::IOENGINE;
use fiord_job::option::value::Value;
use fiord_job::spec::Setting;

use crate::engine::activity;
use crate::model::{FileKind, JobPlan};
use crate::options::messages::Messages;
use crate::options::reading::Reading;
use engine_rules::ENGINE_OPTION_RULES;
use flash_rules::FLASH_RULES;
use log_rules::LOG_RULES;
use net_rules::NET_RULES;
use replay_rules::REPLAY_RULES;
use rules::{RULES, Reports, Rule};
use target_rules::TARGET_RULES;
use verify_rules::VERIFY_RULES;

/// The unused options found so far, in the order of the sections.
#[derive(Debug, Default)]
pub(crate) struct UnusedOptions {
    /// The option, whether it is a global setting, and the warning.
    found: Vec<(&'static OptionDef, bool, Diagnostic)>,
}

impl UnusedOptions {
    /// Adds the unused options of one section, each once: by the first rule that finds it.
    pub(crate) fn check(&mut self, job: Reading, plan: &JobPlan) {
        let mut seen: Vec<&OptionDef> = Vec::new();
        if !plan.engine.def().does_io {
            self.about_io(job, plan, &mut seen);
        }
        for rule in all_rules().filter(|rule| (rule.unused)(job, plan)) {
            for option in rule.options.iter().copied() {
                let Some(setting) = job.setting(option) else { continue };
                let reported = rule.reports != Reports::EachChanged || is_changed(setting);
                if !reported || seen.contains(&option) {
                    continue;
                }
                seen.push(option);
                let fill = |text: &str| filled(text, option, job, plan);
                let warning = job.no_effect(option, fill(rule.what));
                let warning = match rule.help {
                    "" => warning,
                    help => warning.help(fill(help)),
                };
                self.found.push((option, setting.global, warning));
                if rule.reports == Reports::FirstSet {
                    break;
                }
            }
        }
    }

    /// Adds the options about I/O of a job that does none.
    fn about_io(&mut self, job: Reading, plan: &JobPlan, seen: &mut Vec<&'static OptionDef>) {
        for setting in job.settings.iter().filter(|setting| activity::is_about_io(setting.def)) {
            let option = setting.def;
            if !is_changed(setting) || seen.contains(&option) {
                continue;
            }
            seen.push(option);
            let engine = plan.engine.def().name;
            let what = format!("`{}` has no effect: ioengine={engine} does no I/O", option.name);
            self.found.push((option, setting.global, job.no_effect(option, what)));
        }
    }

    /// Adds the warnings to `messages`: one for each section, and one for each global setting that
    /// no job uses.
    pub(crate) fn report(self, jobs: &[Reading], messages: &Messages) {
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

/// All rules. Of two that hold for an option, the first one is reported.
pub(crate) fn all_rules() -> impl Iterator<Item = &'static Rule> {
    let tables = [
        REPLAY_RULES,
        NET_RULES,
        FLASH_RULES,
        TARGET_RULES,
        RULES,
        ENGINE_OPTION_RULES,
        VERIFY_RULES,
        LOG_RULES,
    ];
    tables.into_iter().flatten()
}

/// Whether a setting differs from the default and does not just turn the option off.
fn is_changed(setting: &Setting) -> bool {
    let off = matches!(setting.value, Value::Flag(false) | Value::Int(0) | Value::Time(0));
    !off && setting.def.default_value().as_ref() != Some(&setting.value)
}

/// Replaces `{option}`, `{engine}` and `{device}` (the job's character device) in a text of a rule.
fn filled(text: &str, option: &OptionDef, job: Reading, plan: &JobPlan) -> String {
    let device = plan.target.files.iter().find(|file| file.kind == FileKind::Char);
    let device = device.map_or_else(String::new, |file| file.path.display().to_string());
    text.replace("{option}", option.name)
        .replace("{engine}", job.get(IOENGINE))
        .replace("{device}", &device)
}
