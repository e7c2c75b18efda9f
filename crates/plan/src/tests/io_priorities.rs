//! Priorities of single I/Os.

use fiord_types::Dir;

use super::*;
use crate::model::*;

#[test]
fn priorities_of_single_ios() {
    const ENGINE: &str = "--direct=1 --ioengine=io_uring";
    let of = |line: &str| {
        let line = format!("{ENGINE} {line}");
        job(&Fake::default(), &format!("--name=a --filename=x --size=1m --rw=randrw {line}"))
    };
    let share = |block, percent, priority| PriorityShare { block, percent, priority };
    let prio = |class, level, hint| IoPrio { class, level, hint };
    assert_eq!(of("--cmdprio_percentage=0").load.priorities, None);
    let both = of("--cmdprio_percentage=30").load.priorities.unwrap();
    assert_eq!(both.values, [prio(1, 0, 0)]);
    assert_eq!(both.shares, [vec![share(None, 30, 1)], vec![share(None, 30, 1)], vec![]]);
    let each = "--cmdprio_percentage=30,5 --cmdprio_class=2,3 --cmdprio=4,0 --cmdprio_hint=9";
    let each = of(each).load.priorities.unwrap();
    assert_eq!(each.values, [prio(2, 4, 9), prio(3, 0, 9)]);
    assert_eq!(each.shares, [vec![share(None, 30, 1)], vec![share(None, 5, 2)], vec![]]);
    let split = "--bssplit=4k/50:8k/50 --cmdprio=2 \
                 --cmdprio_bssplit=4k/20/1/0/7:4k/10/2/4:8k/,8k/60";
    let split = of(split).load.priorities.unwrap();
    assert_eq!(split.values, [prio(1, 0, 7), prio(2, 4, 0), prio(1, 2, 0)]);
    assert_eq!(split.shares[Dir::Read], [share(Some(4096), 20, 1), share(Some(4096), 10, 2)]);
    assert_eq!(split.shares[Dir::Write], [share(Some(8192), 60, 3)]);
}

#[test]
fn refuses_invalid_priorities_of_single_ios() {
    let of = |line: &str| {
        let line = format!("--name=a --filename=x --size=1m --rw=randrw {line}");
        error(&Fake::default(), &line)
    };
    for (line, what) in [
        ("--cmdprio_percentage=1 --cmdprio_bssplit=4k/1", "mutually exclusive"),
        ("--cmdprio_bssplit=4k/90:4k/20", "add up to 110 per cent"),
        ("--cmdprio_bssplit=4k/10/4/0", "the class is not from 1 to 3"),
        ("--cmdprio_bssplit=4k/10/1", "a class needs a level"),
        ("--cmdprio_bssplit=4k/10/1/2/3/4", "too many slashes"),
        ("--cmdprio_bssplit=0/10", "not a block size"),
        ("--cmdprio_bssplit=4k/x", "4k/x"),
    ] {
        let found = of(&format!("--ioengine=io_uring {line}"));
        assert!(found.contains(what), "{line}: {found}");
    }
}
