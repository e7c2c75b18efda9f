//! How reports show a job.

use std::path::PathBuf;

use fiord_job::option::table::{
    CORE_BANDWIDTH, DISK_UTIL, ERROR_DUMP, FILENAME, GROUP_REPORTING, IGNORE_FINDINGS,
    SIGNIFICANT_FIGURES, STATS, UNIFIED_RW_REPORTING, UNIT_BASE, UnitBase, VERIFY_COMPLETE,
    VERIFY_EXTENTS,
};
use fiord_job::spec::Setting;

use crate::measure::specification;
use crate::model::Reporting;
use crate::options::errors;
use crate::options::reading::Reading;

/// Reads the reporting options of a job.
pub(crate) fn reporting(job: Reading) -> Reporting {
    Reporting {
        group: job.get(GROUP_REPORTING),
        unified: job.get(UNIFIED_RW_REPORTING),
        significant_figures: job.get(SIGNIFICANT_FIGURES),
        stats: job.get(STATS),
        disk_util: job.get(DISK_UTIL),
        per_core: job.get(CORE_BANDWIDTH),
        kb_base: job.spec.bases.kb,
        unit_base: match job.get(UNIT_BASE) {
            UnitBase::Engine if job.spec.engine().counts_bits => 1,
            UnitBase::Engine => 0,
            UnitBase::Bits => 1,
            UnitBase::Bytes => 8,
        },
        continue_on_error: errors::continue_on_error(job),
        error_dump: job.get(ERROR_DUMP),
        verify_extents: job.get(VERIFY_EXTENTS).map(PathBuf::from),
        verify_complete: job.get(VERIFY_COMPLETE),
        spec: specification::stated(job),
        ignore_findings: names(job.get(IGNORE_FINDINGS).unwrap_or_default()),
    }
}

fn names(words: Vec<&str>) -> Vec<String> {
    words.into_iter().map(str::to_owned).collect()
}

/// Settings in the form that reports list them: documented name and typed text, which is empty if
/// there was none. If an option occurs several times, the list has only its last setting; of `filename`, whose settings add
/// up, it has the names of all of them in one text.
pub(crate) fn listed<'a>(settings: impl Iterator<Item = &'a Setting>) -> Vec<(String, String)> {
    let mut list: Vec<(String, String)> = Vec::new();
    for setting in settings {
        let mut text = setting.shown_text().unwrap_or_default().into_owned();
        let earlier = list.iter().position(|(name, _)| name == setting.def.name);
        if let Some((_, names)) = earlier.map(|at| list.remove(at))
            && setting.def == FILENAME.def()
        {
            text = format!("{names}:{text}");
        }
        list.push((setting.def.name.into(), text));
    }
    list
}
