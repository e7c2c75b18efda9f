//! One plain job.

use std::path::Path;

use fiord_types::{Bytes, Dir, Nanos};

use super::*;
use crate::model::*;

#[test]
fn a_plain_job() {
    let job = job(
        &Fake::empty(),
        "--name=a --rw=randread --bs=8k --size=1m --ioengine=libaio --iodepth=4",
    );
    assert_eq!(job.identity.name, "a");
    assert_eq!(job.target.files.len(), 1);
    let file = &job.target.files[0];
    assert_eq!(file.path, Path::new("a.0.0"));
    assert_eq!((file.offset, file.len), (Bytes::ZERO, Bytes::from_mib(1)));
    assert_eq!((file.size_now, file.size_needed), (None, Some(Bytes::from_mib(1))));
    assert_eq!(job.load.mix, Mix::Read);
    assert!(job.load.random);
    assert_eq!(job.load.blocks[Dir::Read], BlockSize::Fixed(8192));
    assert_eq!(job.end.bytes, Bytes(1 << 20));
    assert_eq!(job.end.loops, 1);
    assert_eq!(job.depth.depth, 4);
    assert_eq!(job.content, ContentPlan::Scramble);
    assert!(job.record.clat && job.record.lat && job.record.slat);
    assert_eq!(job.record.percentiles.len(), 17);
    assert_eq!(job.reporting.kb_base, 1024);
    assert_eq!(job.record.bandwidth_window, Nanos(500_000_000));
}

#[test]
fn options_as_reports_list_them() {
    let resolved = run(&Fake::empty(), "--size=8k --name=a --numjobs=2 --group_reporting").unwrap();
    assert_eq!(resolved.plan.global_options, [("size".to_string(), "8k".to_string())]);
    let own: Vec<(&str, &str)> = resolved.plan.jobs[1]
        .identity
        .options
        .iter()
        .map(|(n, t)| (n.as_str(), t.as_str()))
        .collect();
    assert_eq!(own, [("name", "a"), ("numjobs", "2"), ("group_reporting", "")]);
}

#[test]
fn no_size() {
    let what = error(&Fake::empty(), "--name=a --rw=read");
    assert!(what.contains("you need to specify size="), "{what}");
}
