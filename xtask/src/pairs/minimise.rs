//! Makes a case that shows a difference smaller.

use super::case::Case;
use super::space::Space;

/// Drops values of the case while `still` finds the difference. A smaller case that the rules forbid is not
/// tried, so a value that another one needs stays.
pub(super) fn minimise(
    space: &Space,
    case: Case,
    mut still: impl FnMut(&Case) -> anyhow::Result<bool>,
) -> anyhow::Result<Case> {
    let mut case = case;
    loop {
        let before = case.clone();
        for choice in before.choices() {
            let smaller = case.without(choice.param);
            if space.broken(&smaller).is_none() && still(&smaller)? {
                case = smaller;
            }
        }
        if case == before {
            return Ok(case);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::{PARAMS, RULES};
    use super::*;

    fn smaller(case: &str, cause: &str) -> String {
        let space = Space::new(PARAMS, RULES);
        let cause = space.pattern(cause);
        let case = space.parse(case).unwrap();
        let smaller = minimise(&space, case, |case| Ok(cause.matches(case))).unwrap();
        space.text(&smaller)
    }

    #[test]
    fn only_the_cause_is_left() {
        let case = "rw=randwrite bs=16k nrfiles=4 iodepth=4 ioengine=libaio loops=2";
        assert_eq!(smaller(case, "bs=16k loops=2"), "bs=16k loops=2");
        assert_eq!(smaller(case, "nrfiles=4"), "nrfiles=4");
    }

    #[test]
    fn prerequisites_of_the_cause_stay() {
        let case = "rw=randwrite bs=16k nrfiles=4 iodepth=4 ioengine=libaio verify=md5";
        assert_eq!(smaller(case, "verify=*"), "rw=randwrite verify=md5");
        assert_eq!(smaller(case, "iodepth=4"), "iodepth=4 ioengine=libaio");
    }
}
