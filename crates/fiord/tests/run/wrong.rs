//! Tests of runs that fiord refuses: it touches no file, and the message says why.

use crate::fiord::Place;

#[test]
fn what_is_not_supported_ends_before_anything_is_touched() {
    let Some(place) = Place::confined(&[]) else { return };
    for option in ["--ioengine=libhdfs", "--ioengine=dfs"] {
        let ran = place.run(&format!("--name=a --rw=write --size=1m {option}"));
        assert_eq!(ran.status, Some(1), "{ran:?}");
        assert!(ran.err.contains("not supported yet") && ran.err.contains("job a"), "{}", ran.err);
        assert_eq!(ran.out, "");
        assert!(place.names().is_empty());
    }
}

#[test]
fn wrong_lines_touch_nothing() {
    let Some(place) = Place::confined(&[]) else { return };
    for line in [
        "",
        "--name=a --rw=sideways --size=1m",
        "--name=a --rw=read",
        "--name=a --rw=read --rwmixread=150 --size=1m",
        "--name=a --rw=read --no_such_option=1 --size=1m",
        "--name=a --rw=randrw:foo --size=1m",
        "--name=a --rw=read --size=1m --bs=0",
        "--name=a --rw=read --size=banana",
        "--name=a --rw=read --size=1m --ioengine=nosuch",
        "--name=a --rw=write --size=1m --readonly",
        "no-such-file.fio",
        "--output-format=xml --name=a --size=1m",
        "--name=a --size=1m --numjobs=3 --max-jobs=x",
        "--section=none --name=a --size=1m --rw=read",
    ] {
        let ran = place.run(line);
        let may_run = line.starts_with("--section");
        assert!(may_run || ran.status == Some(1), "{line}: {ran:?}");
        assert!(may_run || !ran.err.is_empty(), "{line}");
        assert!(!ran.err.contains("panicked"), "{line}: {}", ran.err);
        assert!(may_run || place.names().is_empty(), "{line}: {:?}", place.names());
    }
}

#[test]
fn directories_and_files_that_may_not_be_read() {
    let Some(place) = Place::confined(&[]) else { return };
    std::fs::create_dir(place.path("d")).unwrap();
    for rw in ["read", "write"] {
        let ran = place.run(&format!("--name=a --filename=d --rw={rw} --size=1m"));
        assert_eq!(ran.status, Some(1), "{ran:?}");
        assert!(ran.err.contains("directory"), "{}", ran.err);
    }
    let ran = place.run("--name=a --filename=/proc/none/of/this --rw=read --size=1m");
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("/proc/none"), "{}", ran.err);
    assert_eq!(place.names(), ["d"]);
}
