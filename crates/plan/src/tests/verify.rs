//! Verification: `verify` and its options.

use fiord_formats::verify::method::Method;
use fiord_types::Bytes;

use super::*;
use crate::model::*;

/// The verification of the job of a command line on a machine without files.
fn verify(line: &str) -> VerifyPlan {
    let job = job(&Fake::empty(), &format!("--name=a --size=1m {line}"));
    job.verify.unwrap_or_else(|| panic!("{line} verifies nothing"))
}

fn refused(line: &str) -> String {
    error(&Fake::empty(), &format!("--name=a --size=1m {line}"))
}

#[test]
fn methods() {
    let verifies = |line: &str| {
        job(&Fake::empty(), &format!("--name=a --size=1m --rw=write {line}")).verify.is_some()
    };
    assert!(!verifies(""));
    assert!(!verifies("--verify=0"));
    assert!(!verifies("--verify=crc32c --rw=trim --ioengine=null"));
    for (word, method) in [
        ("crc32c", Method::Crc32c),
        ("crc32c-intel", Method::Crc32c),
        ("sha3-224", Method::Sha3224),
        ("pattern", Method::Pattern),
        ("null", Method::Null),
    ] {
        let plan = verify(&format!("--rw=write --verify={word} --verify_pattern=0xff"));
        assert_eq!(plan.method, VerifyMethod::Fio(method), "{word}");
    }
    let implied = verify("--rw=write --verify_pattern=0xff%o --verify_pattern_interval=4k");
    assert_eq!(implied.method, VerifyMethod::Fio(Method::PatternHdr));
    assert_eq!(implied.pattern.unwrap().interval, Some(Bytes(4096)));
    let fiord = verify("--rw=write --verify=fiord");
    assert_eq!((fiord.method, fiord.interval), (VerifyMethod::Fiord, Some(Bytes(512))));
}

#[test]
fn passes() {
    let pass = |line: &str| verify(&format!("--verify=md5 {line}")).pass;
    assert_eq!(pass("--rw=write"), VerifyPass::AfterWrites);
    assert_eq!(pass("--rw=randrw --do_verify=1"), VerifyPass::AfterWrites);
    assert_eq!(pass("--rw=randrw --do_verify=0"), VerifyPass::WritesOnly);
    assert_eq!(pass("--rw=write --verify_only"), VerifyPass::Only);
    assert_eq!(pass("--rw=randread"), VerifyPass::Reads);
}

#[test]
fn intervals() {
    let interval = |line: &str| verify(&format!("--verify=md5 --rw=write {line}")).interval;
    assert_eq!(interval(""), Some(Bytes(4096)));
    assert_eq!(interval("--verify_interval=512"), Some(Bytes(512)));
    assert_eq!(interval("--verify_interval=64k"), Some(Bytes(4096)));
    assert_eq!(interval("--bsrange=4k-6k"), Some(Bytes(2048)));
    assert_eq!(interval("--bsrange=4k-6k --bs_unaligned"), None);
}

#[test]
fn what_fails_before_the_first_io() {
    for (line, what) in [
        ("--verify=md5 --bs=96 --verify_offset=64", "do not fit at offset 64"),
        ("--verify=sha512 --bs=128", "no room for the header"),
        ("--verify=sha512 --verify_interval=128", "no room for the header"),
        ("--verify=md5 --verify_offset=60", "do not fit at offset 60"),
        ("--verify=md5 --verify_offset=4095", "do not fit at offset 4095"),
        ("--verify_pattern=0x010203040506070809 --bs=8 --verify=pattern", "longer than the block"),
        ("--verify=fiord --bs=100", "whole sectors of 512 bytes"),
        ("--verify=md5 --verify_only --do_verify=0", "without anything to do"),
    ] {
        let found = refused(&format!("--rw=write {line}"));
        assert!(found.contains(what), "{line}: {found}");
    }
}

#[test]
fn tracking() {
    let tracking = |line: &str| verify(&format!("--verify=md5 --ioengine=sim {line}")).tracking;
    let map = |granule| Tracking::Map { granule: Bytes(granule) };
    assert_eq!(tracking("--rw=write"), Tracking::Replay);
    assert_eq!(tracking("--rw=write --bsrange=4k-64k"), Tracking::Replay);
    assert_eq!(tracking("--rw=randwrite"), Tracking::Replay);
    assert_eq!(tracking("--rw=randrw --bs=8k"), Tracking::Replay);
    assert_eq!(tracking("--rw=randwrite --norandommap"), map(4096));
    assert_eq!(tracking("--rw=randwrite --bsrange=4k-64k"), map(4096));
    assert_eq!(tracking("--rw=randwrite --bssplit=6k/50:8k/50"), map(2048));
    assert_eq!(tracking("--rw=write --time_based --runtime=3"), map(4096));
    assert_eq!(tracking("--rw=write --io_size=2m"), map(4096));
    assert_eq!(tracking("--rw=trimwrite --offset=1k"), map(1024));
    assert_eq!(tracking("--rw=write --bsrange=1k-3k --bs_unaligned"), Tracking::Records);
}

/// Jobs that use one file at the same time agree on one map.
#[test]
fn jobs_with_one_target_share_a_map() {
    let line = "--size=1m --rw=write --verify=md5 --name=a --filename=f --bs=8k --name=b \
                --filename=f --bs=6k --name=c --filename=g";
    let jobs = jobs(&Fake::empty(), line);
    let tracking = |index: usize| jobs[index].verify.as_ref().unwrap().tracking;
    let map = Tracking::Map { granule: Bytes(2048) };
    assert_eq!([tracking(0), tracking(1), tracking(2)], [map, map, Tracking::Replay]);
}

/// Until the run verifies, a job that asks for it fails before the first I/O.
#[test]
fn the_run_refuses_jobs_that_verify() {
    for line in ["--verify=md5", "--verify_pattern=0xff"] {
        let args = ["--name=a", "--size=1m", "--rw=write", line].map(String::from);
        let invocation = fiord_job::invocation(&args, &mut load::Memory::default()).unwrap();
        let errors = crate::resolve_invocation(&invocation, &Fake::empty()).unwrap_err();
        assert!(errors[0].what.ends_with("is not supported yet"), "{errors:?}");
    }
}
