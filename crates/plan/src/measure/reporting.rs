//! How reports show a job.

use fiord_job::spec::Setting;

use crate::measure::specification;
use crate::model::{ContinueOnError, Reporting, Unified};
use crate::options::messages::Messages;
use crate::options::reading::{Reading, Word};

/// Reads the reporting options of a job.
pub(crate) fn reporting(job: Reading, messages: &mut Messages) -> Reporting {
    Reporting {
        group: job.flag("group_reporting"),
        unified: match job.plain_word("unified_rw_reporting") {
            "mixed" | "1" => Unified::Mixed,
            "both" | "2" => Unified::Both,
            _ => Unified::None,
        },
        significant_figures: job.int("significant_figures").unwrap_or(4).clamp(1, 10) as u8,
        stats: job.flag("stats"),
        disk_util: job.flag("disk_util"),
        per_core: job.flag("core_bandwidth"),
        kb_base: job.spec.bases.kb,
        unit_base: job.int("unit_base").unwrap_or(0).clamp(0, 8) as u8,
        continue_on_error: match job.plain_word("continue_on_error") {
            "read" => ContinueOnError { reads: true, ..ContinueOnError::default() },
            "write" => ContinueOnError { writes: true, ..ContinueOnError::default() },
            "io" => ContinueOnError { verification: false, ..ContinueOnError::ALL },
            "verify" => ContinueOnError { verification: true, ..ContinueOnError::default() },
            "all" | "1" => ContinueOnError::ALL,
            _ => ContinueOnError::default(),
        },
        spec: specification::stated(job, messages),
        ignore_findings: names(job.words("ignore_findings")),
    }
}

fn names(words: Vec<Word>) -> Vec<String> {
    words.into_iter().map(|(word, _)| word.to_owned()).collect()
}

/// Settings in the form that reports list them: documented name and typed text, which is empty if
/// there was none. If an option occurs several times, the list has only its last setting.
pub(crate) fn listed<'a>(settings: impl Iterator<Item = &'a Setting>) -> Vec<(String, String)> {
    let mut list: Vec<(String, String)> = Vec::new();
    for setting in settings {
        list.retain(|(name, _)| name != setting.def.name);
        list.push((setting.def.name.into(), setting.text.clone().unwrap_or_default()));
    }
    list
}
