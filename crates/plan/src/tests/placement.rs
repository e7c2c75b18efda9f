//! Placement hints for writes.

use super::*;
use crate::model::*;

fn disk() -> Fake {
    Fake::empty()
        .streaming("/dev/x", 4)
        .streaming("/dev/none", 0)
        .disk("/dev/old", 1 << 30)
        .text_file("scheme", "0, 1m, 3\n\n1m, 2m, 1\n2m,1g,3\n")
        .text_file("bad", "0, 1m, 3\n1m, 1m, 1\n")
}

fn line(rest: &str) -> String {
    let engine = "--ioengine=io_uring --direct=1 --rw=write --bs=4k --dataplacement=streams";
    format!("--name=a --filename=/dev/x {engine} {rest}")
}

fn placed(rest: &str) -> Placement {
    job(&disk(), &line(rest)).load.placement.unwrap()
}

#[test]
fn streams_of_a_block_device() {
    let placement = placed("--plids=1,3-4");
    assert_eq!(placement.ids, [vec![1, 3, 4]]);
    assert_eq!(
        (placement.by, placement.select),
        (PlacementKind::Streams, PlacementSelect::RoundRobin)
    );
    assert_eq!(placed("--plids=2 --plid_select=random").select, PlacementSelect::Random);
}

#[test]
fn a_scheme_names_streams_by_range() {
    let placement = placed("--plid_select=scheme --dp_scheme=scheme");
    assert_eq!(placement.ids, [vec![3, 1]]);
    let range = |start, end, placement| SchemeRange { start, end, placement };
    const M: u64 = 1 << 20;
    let ranges = vec![range(0, M, 1), range(M, 2 * M, 2), range(2 * M, 1 << 30, 1)];
    assert_eq!(placement.select, PlacementSelect::Scheme(ranges));
}

#[test]
fn handles_of_a_namespace() {
    let machine = Fake::empty()
        .namespace("/dev/ng0n1", super::nvme::device(4096, 0))
        .text_file("scheme", "0, 1m, 3\n");
    let of = |rest: &str| {
        let line = "--name=a --filename=/dev/ng0n1 --ioengine=io_uring_cmd --rw=write --bs=4k";
        run(&machine, &format!("{line} {rest}"))
    };
    let placed = |rest: &str| of(rest).unwrap().plan.jobs[0].load.placement.clone().unwrap();
    // The machine lists 0, 1, 2 and 100h.
    assert_eq!(placed("--fdp=1").ids, [vec![0, 1, 2, 0x100]]);
    let some = placed("--dataplacement=fdp --plids=3,0-1");
    assert_eq!((some.by, &some.ids[..]), (PlacementKind::Fdp, &[vec![0x100, 0, 1]][..]));
    let scheme = placed("--fdp=1 --plid_select=scheme --dp_scheme=scheme");
    let range = SchemeRange { start: 0, end: 1 << 20, placement: 4 };
    assert_eq!(scheme.select, PlacementSelect::Scheme(vec![range]));
    assert_eq!(scheme.ids, [vec![0, 1, 2, 0x100]]);
    assert_eq!(placed("--dataplacement=streams --plids=9").ids, [vec![9]]);
    let wrong = of("--fdp=1 --plids=4").unwrap_err();
    assert!(wrong[0].what.contains("no placement handle of index 4"), "{wrong:?}");
}

#[test]
fn refuses_invalid_placement_options() {
    for (rest, what) in [
        ("", "need a list of stream numbers"),
        ("--plids=5", "has no write stream 5"),
        ("--plids=0", "has no write stream 0"),
        ("--plids=3-1", "ends before it begins"),
        ("--plids=1 --direct=0", "need direct I/O"),
        ("--plids=1 --filename=/dev/none", "`/dev/none` has no write streams"),
        ("--plids=1 --filename=/dev/old", "does not support write streams"),
        ("--plids=1 --filename=new --size=1m", "is not a block device"),
        ("--plids=1 --fdp=1", "contradict"),
        ("--dataplacement=none --fdp=1", "contradict"),
        ("--dataplacement=none --fdp=1 --rw=read", "contradict"),
        ("--plid_select=scheme", "needs a scheme"),
        ("--plid_select=scheme --dp_scheme=bad", "line 2 of `bad`"),
        ("--plid_select=scheme --dp_scheme=missing", "cannot read `missing`"),
        ("--dataplacement=fdp", "does not support placement handles"),
        ("--plids=1 --ioengine=psync", "does not support streams"),
    ] {
        let found = error(&disk(), &line(rest));
        assert!(found.contains(what), "{rest}: {found}");
    }
}
