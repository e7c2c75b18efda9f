//! The list of all findings.

use crate::Check;

/// All checks, sorted by id.
pub const CHECKS: &[&Check] = &[
    &crate::buffered_not_synced::CHECK,
    &crate::cache_hits::CHECK,
    &crate::cache_under_direct::CHECK,
    &crate::cached_working_set::CHECK,
    &crate::clock_source::CHECK,
    &crate::compressible_data::CHECK,
    &crate::contents_cost::CHECK,
    &crate::depth_ignored::CHECK,
    &crate::depth_not_reached::CHECK,
    &crate::device_errors::CHECK,
    &crate::direct_not_direct::CHECK,
    &crate::doubtful_job::CHECK,
    &crate::drive_letter::CHECK,
    &crate::empty_zones::CHECK,
    &crate::file_extended::CHECK,
    &crate::generator_bound::CHECK,
    &crate::governor::CHECK,
    &crate::hidden_stalls::CHECK,
    &crate::link_degraded::CHECK,
    &crate::misaligned::CHECK,
    &crate::no_effect::CHECK,
    &crate::noisy_neighbour::CHECK,
    &crate::not_preconditioned::CHECK,
    &crate::not_steady::CHECK,
    &crate::numa::CHECK,
    &crate::overlapping_writers::CHECK,
    &crate::oversubscribed_path::CHECK,
    &crate::rate_and_rwmix::CHECK,
    &crate::rate_missed::CHECK,
    &crate::reads_beyond_pointer::CHECK,
    &crate::run_warning::CHECK,
    &crate::same_start_offset::CHECK,
    &crate::scheduler::CHECK,
    &crate::size_per_job::CHECK,
    &crate::spec_exceeded::CHECK,
    &crate::spec_missed::CHECK,
    &crate::split_or_merged::CHECK,
    &crate::submission_blocks::CHECK,
    &crate::target_in_use::CHECK,
    &crate::thermal_throttle::CHECK,
    &crate::throttled_by_cgroup::CHECK,
    &crate::too_short::CHECK,
    &crate::uneven_targets::CHECK,
    &crate::unit_surprise::CHECK,
    &crate::unwritten_data::CHECK,
    &crate::value_adjusted::CHECK,
    &crate::volatile_cache::CHECK,
    &crate::zero_data::CHECK,
    &crate::zone_limits::CHECK,
];

/// Ids of findings that are documented but not implemented yet.
pub const LATER: &[&str] = &[];

/// Returns the check with this id.
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
