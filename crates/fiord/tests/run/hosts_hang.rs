//! A device that hangs on one of several hosts: a file system that does not answer.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fiord::{end, signal};
use crate::fuse::{FOREVER, Served};
use crate::hosts;

const SOON: Duration = Duration::from_secs(30);

/// A run on `n1`, whose file is on a disk, and on `n2`, whose file hangs.
#[test]
fn the_other_hosts_finish_and_ctrl_c_reports_with_the_name_of_the_one_that_hangs() {
    let place = hosts::place();
    std::fs::create_dir_all(place.path("n1")).unwrap();
    place.write("n1/f", vec![7; 16 << 20]);
    let Some(served) = Served::new(&place, FOREVER) else { return };
    std::os::unix::fs::symlink(place.path("served"), place.path("n2")).unwrap();
    // The file system has one file, so the hosts do not keep their process ids in their directories.
    let script = std::fs::read_to_string(place.path("ssh")).unwrap();
    let script =
        script.replace("cd \"$host\" || exit 1\necho $$ > pid\n", "echo $$ > \"pid.$host\"\n");
    place.write("ssh", script);
    // Neither end may wait for the output of an agent that hangs.
    let line = format!(
        "exec {} {} --name=a --rw=read --bs=4k --size=1m --filename=$PWD/'$host'/f --runtime=30 \
         --output-format=json --write_bw_log=x --log_avg_msec=500 >out 2>err",
        env!("CARGO_BIN_EXE_fiord"),
        hosts::options(&place, "n[1-2]"),
    );
    let child = place.shell(&line).spawn().unwrap();
    // The results of a host arrive with its logs.
    hosts::wait_for(&place, "x_bw.1.log.n1");
    std::thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    signal(&child, "INT");
    let ran = end(child, SOON);
    let took = begun.elapsed();
    let read = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
    let (out, err) = (read("out"), read("err"));
    // The coordinator ended although the agent hangs in the kernel. Now the agent ends, too.
    let pid = read("pid.n2");
    drop(served);
    assert!(took < Duration::from_secs(8), "{took:?} {err}");
    assert!(err.contains("host n2"), "{err}");
    assert!(!err.contains("host n1"), "{err}");
    let document: Value = serde_json::from_str(&out).unwrap();
    let hosts = &document["fiord"]["hosts"];
    // A host that was abandoned is lost. One whose agent could still report is not.
    let status = if hosts[1]["complete"] == 1 { 128 } else { 249 };
    assert_eq!(ran.status, Some(status), "{out}{err}");
    assert_eq!((&hosts[0]["complete"], &hosts[0]["io_bytes"]), (&1.into(), &(1 << 20).into()));
    assert_eq!(document["client_stats"][0]["read"]["io_bytes"], 1 << 20, "{document}");
    // The host said what hangs before it ended, or was abandoned.
    let about = format!("{}{}{err}", hosts[1]["failure"], hosts[1]["errors"]);
    assert!(
        about.contains("hangs in") || about.contains("it did not end within"),
        "{document}{err}"
    );
    let from = Instant::now();
    while std::path::Path::new(&format!("/proc/{}", pid.trim())).exists() {
        assert!(from.elapsed() < SOON, "the agent goes on");
        std::thread::sleep(Duration::from_millis(10));
    }
}
