//! What is told from the job alone.

use crate::findings::{finding, json, silent};
use crate::fiord::Place;

#[test]
fn depth_ignored() {
    let place = Place::new();
    let job = "--name=a --rw=randread --size=1m --bs=4k";
    let ran = json(&place, &format!("{job} --ioengine=psync --iodepth=32"));
    assert!(finding(&ran, "depth-ignored")["what"].as_str().unwrap().contains("iodepth=32"));
    silent(&json(&place, &format!("{job} --ioengine=libaio --iodepth=32")), "depth-ignored");
    silent(&json(&place, &format!("{job} --ioengine=psync --numjobs=2")), "depth-ignored");
}
