//! The list of all findings.

use crate::check::Check;
use crate::findings::*;

/// All checks, sorted by id.
pub const CHECKS: &[&Check] = &[
    &aio_threads::CHECK,
    &bad_data::CHECK,
    &buffered_not_synced::CHECK,
    &cache_hits::CHECK,
    &cache_under_direct::CHECK,
    &cached_working_set::CHECK,
    &clock_error::CHECK,
    &clock_source::CHECK,
    &compressible_data::CHECK,
    &connection_per_request::CHECK,
    &contents_cost::CHECK,
    &dentry_cache::CHECK,
    &depth_ignored::CHECK,
    &depth_not_reached::CHECK,
    &device_errors::CHECK,
    &direct_not_direct::CHECK,
    &doubtful_job::CHECK,
    &drive_letter::CHECK,
    &empty_zones::CHECK,
    &ended_in_ramp::CHECK,
    &existing_names::CHECK,
    &file_extended::CHECK,
    &generator_bound::CHECK,
    &governor::CHECK,
    &hidden_stalls::CHECK,
    &host_lost::CHECK,
    &host_straggler::CHECK,
    &hosts_differ::CHECK,
    &link_degraded::CHECK,
    &log_bound::CHECK,
    &log_on_target::CHECK,
    &loopback::CHECK,
    &misaligned::CHECK,
    &no_data_moved::CHECK,
    &no_effect::CHECK,
    &noisy_neighbour::CHECK,
    &not_preconditioned::CHECK,
    &not_steady::CHECK,
    &nothing_verified::CHECK,
    &numa::CHECK,
    &offloads_off::CHECK,
    &overlapping_writers::CHECK,
    &oversubscribed_path::CHECK,
    &peer_limited::CHECK,
    &rate_and_rwmix::CHECK,
    &rate_missed::CHECK,
    &reads_beyond_pointer::CHECK,
    &replay_late::CHECK,
    &run_warning::CHECK,
    &same_start_offset::CHECK,
    &scheduler::CHECK,
    &server_throttling::CHECK,
    &shared_target::CHECK,
    &size_per_job::CHECK,
    &slow_name_lookup::CHECK,
    &space_reserved::CHECK,
    &spec_exceeded::CHECK,
    &spec_missed::CHECK,
    &split_or_merged::CHECK,
    &start_skew::CHECK,
    &submission_blocks::CHECK,
    &target_in_use::CHECK,
    &thermal_throttle::CHECK,
    &throttled_by_cgroup::CHECK,
    &tls_handshakes::CHECK,
    &too_short::CHECK,
    &unanswered_requests::CHECK,
    &uneven_targets::CHECK,
    &unit_surprise::CHECK,
    &unwritten_data::CHECK,
    &value_adjusted::CHECK,
    &volatile_cache::CHECK,
    &window_limited::CHECK,
    &zero_data::CHECK,
    &zeroes_written::CHECK,
    &zone_limits::CHECK,
];

/// The checks that repeat the warnings of the reader and of the planner, one for each kind of
/// [`Note`](fiord_job::diagnostic::Note).
pub(crate) const NOTED: [&Check; 3] =
    [&no_effect::CHECK, &value_adjusted::CHECK, &doubtful_job::CHECK];

/// Ids of findings that are documented but not implemented yet.
pub const LATER: &[&str] = &[];

/// Returns the check with this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Check> {
    CHECKS.iter().copied().find(|check| check.id == id)
}

#[cfg(test)]
mod tests {
    use fiord_job::option::table::findings::NAMES;

    use super::*;

    #[test]
    fn every_finding_name_has_a_check_or_is_listed_as_later() {
        let mut here: Vec<&str> =
            CHECKS.iter().map(|check| check.id).chain(LATER.iter().copied()).collect();
        here.sort_unstable();
        let known: Vec<&str> = NAMES.iter().map(|word| word.name).collect();
        assert_eq!(here, known);
    }

    #[test]
    fn checks_are_sorted_by_id() {
        assert!(CHECKS.is_sorted_by_key(|check| check.id));
    }

    #[test]
    fn every_check_has_a_stage_and_all_texts_of_its_page() {
        for check in CHECKS {
            assert!(check.stages().next().is_some(), "{} has no stage", check.id);
            for text in [check.title, check.about, check.detection, check.effect, check.remedy] {
                assert!(!text.trim().is_empty(), "{} has an empty text", check.id);
                assert!(!text.contains('\t'), "{}: {text}", check.id);
            }
            assert!(!check.title.ends_with('.'), "{}", check.id);
        }
    }
}
