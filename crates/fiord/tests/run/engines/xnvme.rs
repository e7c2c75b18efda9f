//! `ioengine=xnvme`, whose jobs run on other engines.

use super::calls::counted;
use crate::findings::{finding, json};
use crate::fiord::{Place, work};

#[test]
fn jobs_run_and_the_report_names_the_engine() {
    let place = Place::new();
    let job = "--name=j --ioengine=xnvme --rw=randread --bs=4k --size=256k --iodepth=4";
    for (interface, engine) in
        [("io_uring", "io_uring"), ("libaio", "libaio"), ("posix", "posixaio")]
    {
        let ran = json(&place, &format!("{job} --xnvme_async={interface}"));
        let (_, error, dirs) = work(&ran.json()).remove(0);
        assert_eq!((error, dirs[0].1), (0, 64), "{interface}");
        let what = finding(&ran, "value-adjusted")["what"].as_str().unwrap().to_owned();
        assert!(what.contains(&format!("its engine `{engine}`")), "{interface}: {what}");
    }
}

#[test]
fn the_calls_are_those_of_the_interface() {
    let place = Place::new();
    place.write("target", vec![1; 256 << 10]);
    let job =
        "--name=j --ioengine=xnvme --filename=target --rw=read --bs=64k --size=256k --direct=1";
    let calls = "pread64,preadv,io_submit";
    let Some(counts) = counted(&place, calls, &format!("{job} --xnvme_async=libaio")) else {
        return;
    };
    assert_eq!(counts.get("io_submit"), Some(&4), "{counts:?}");
}

#[test]
fn the_default_interface_is_refused() {
    let ran = Place::new().run("--name=j --ioengine=xnvme --rw=read --size=64k");
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("`xnvme_async=emu`, the default"), "{ran:?}");
    assert!(ran.err.contains("To fix: set `xnvme_async=io_uring_cmd`"), "{ran:?}");
}
