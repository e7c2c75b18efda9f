//! Findings: what makes a result measure something else than its reader thinks. One module a
//! finding; nothing here changes a result.
//!
//! A finding is declared as a [`Check`]: its id, what it needs to know, and how it is told. [`lint`]
//! asks every check that needs only the plan.
//!
//! | finding | module |
//! |---|---|
//! | `depth-ignored` | [`depth_ignored`] |

pub mod depth_ignored;

use fiord_plan::Plan;
use fiord_stat::finding::Finding;

/// One kind of finding.
pub struct Check {
    /// Its stable name, in kebab-case.
    pub id: &'static str,
    /// What it is about, in a sentence.
    pub about: &'static str,
    /// Tells it from the plan alone: no look at the machine, no result.
    pub lint: fn(&Plan) -> Vec<Finding>,
}

/// Every check, by id.
pub const CHECKS: &[Check] = &[depth_ignored::CHECK];

/// What can be told before a run, from the plan alone; worst first.
pub fn lint(plan: &Plan) -> Vec<Finding> {
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|check| (check.lint)(plan)).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_in_kebab_case() {
        let mut ids: Vec<&str> = CHECKS.iter().map(|check| check.id).collect();
        assert!(ids.iter().all(|id| id.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), CHECKS.len());
    }
}
