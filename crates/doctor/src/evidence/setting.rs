//! Options that a remedy sets or leaves out.

use std::fmt::Display;

use fiord_job::option::def::OptionDef;
use fiord_stat::claim::ClaimedSetting;

/// Returns an option of a remedy with its value: `iodepth=16`.
pub(crate) fn set(option: impl Into<&'static OptionDef>, value: impl Display) -> ClaimedSetting {
    let option = option.into().name.to_owned();
    ClaimedSetting { job: None, option, value: Some(value.to_string()) }
}

/// Returns an option that a remedy leaves out.
pub(crate) fn leave_out(option: impl Into<&'static OptionDef>) -> ClaimedSetting {
    ClaimedSetting { job: None, option: option.into().name.to_owned(), value: None }
}

/// Lists the options: `a=1`, `a=1 and b=2`, `a=1, b=2 and c=3`.
pub(crate) fn listed(settings: &[ClaimedSetting]) -> String {
    match settings {
        [] => String::new(),
        [one] => one.to_string(),
        [all @ .., last] => {
            let all: Vec<String> = all.iter().map(ToString::to_string).collect();
            format!("{} and {last}", all.join(", "))
        }
    }
}
