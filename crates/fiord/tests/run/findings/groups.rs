//! Tests of `throttled-by-cgroup`, and of `noisy-neighbour` when CPUs are short. Control groups (of
//! either version) need root; without it, the tests print that and pass.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::findings::{finding, silent};
use crate::fiord::{Place, Ran};
use crate::ground::{Crowd, Loop};

/// Buffered reads that only the CPU limits.
const COMPUTES: &str = "--name=a --filename=c --size=1m --bs=4k --rw=read --ioengine=psync \
                        --invalidate=0 --pre_read=1 --time_based --runtime=2";

/// A control group below that of this process. Dropping it removes the group.
struct Group(PathBuf);

impl Group {
    /// Creates a group with this controller; `None` if that is not possible. With version 2, the
    /// controller must already be enabled for child groups: the test does not change the machine.
    fn new(controller: &str) -> Option<Group> {
        let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
        let made = groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            let mine = |mount: &&str| {
                let Some((_, rest)) = mount.split_once(" - ") else { return false };
                let mut words = rest.split(' ');
                let (kind, options) = (words.next(), words.nth(1).unwrap_or_default());
                let has = options.split(',').any(|option| option == controller);
                kind == Some(if controllers.is_empty() { "cgroup2" } else { "cgroup" })
                    && (controllers.is_empty() || has)
            };
            let here = controllers.split(',').any(|name| name == controller);
            let point = mounts.lines().find(mine)?.split(' ').nth(4)?;
            let above = Path::new(point).join(path.trim_start_matches('/'));
            let below = std::fs::read_to_string(above.join("cgroup.subtree_control"));
            let offered = below.is_ok_and(|text| text.split_whitespace().any(|n| n == controller));
            let group = above.join(format!("fiord-{controller}-{}", std::process::id()));
            let usable = here || controllers.is_empty() && offered;
            (usable && std::fs::create_dir(&group).is_ok()).then_some(Group(group))
        });
        if made.is_none() {
            eprintln!("skipped: no control group with {controller} can be made");
        }
        made
    }

    /// Writes the value to the first of these files that exists in the group.
    fn set(&self, files: &[(&str, &str)]) {
        let file = files.iter().find(|(name, _)| self.0.join(name).exists());
        let (name, value) = file.expect("a file of the controller");
        std::fs::write(self.0.join(name), value).expect(name);
    }

    /// Runs fiord in the group.
    fn run(&self, place: &Place, line: &str) -> Ran {
        let inside = r#"echo $$ > "$0/cgroup.procs" && exec "$@""#;
        let mut command = Command::new("sh");
        command.args(["-c", inside]).arg(&self.0).arg(env!("CARGO_BIN_EXE_fiord"));
        command.arg("--output-format=json").args(line.split_whitespace());
        Ran::from(command.current_dir(place.path(".")).output().unwrap()).ok()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn reports_a_group_with_a_fifth_of_a_cpu() {
    let place = Place::new();
    let Some(group) = Group::new("cpu") else { return };
    // Parent groups may have limits of their own: look only for findings about this group.
    let name = group.0.file_name().unwrap().to_str().unwrap().to_owned();
    let of_it = |ran: &Ran| {
        let findings = ran.json()["fiord"]["findings"].as_array().cloned().unwrap_or_default();
        let mut entry = findings.into_iter().filter(|f| f["id"] == "throttled-by-cgroup");
        entry.find(|f| f["what"].as_str().unwrap().contains(&name))
    };
    let free = group.run(&place, COMPUTES);
    assert!(of_it(&free).is_none(), "{free:?}");
    group.set(&[("cpu.max", "20000 100000"), ("cpu.cfs_quota_us", "20000")]);
    let entry = of_it(&group.run(&place, COMPUTES)).expect("a finding");
    let evidence = entry["evidence"].as_str().unwrap();
    assert!(evidence.ends_with("it has 20000 µs of CPU time in each 100000 µs"), "{entry}");
    let times: u64 = evidence.split(' ').next().unwrap().parse().unwrap();
    assert!((2..=24).contains(&times), "in 2 s of periods of 100 ms: {entry}");
}

#[test]
fn reports_a_group_with_a_write_limit() {
    let place = Place::new();
    let Some(device) = Loop::new(&place, 64 << 20) else { return };
    let number = std::fs::read_to_string(device.sysfs("dev")).unwrap();
    let number = number.trim();
    let Some(group) = Group::new("blkio").or_else(|| Group::new("io")) else { return };
    let job = format!(
        "--name=a --filename={} --rw=write --bs=64k --size=2m --direct=1 --end_fsync=1",
        device.path()
    );
    silent(&group.run(&place, &job), "throttled-by-cgroup");
    let (new, old) = (format!("{number} wbps=1048576"), format!("{number} 1048576"));
    group.set(&[("io.max", &new), ("blkio.throttle.write_bps_device", &old)]);
    let ran = group.run(&place, &job);
    let entry = finding(&ran, "throttled-by-cgroup");
    let evidence = entry["evidence"].as_str().unwrap();
    assert!(evidence.starts_with("writes at most 1048576 bytes a second; reached: "), "{entry}");
    let rate = ran.json()["jobs"][0]["write"]["bw_bytes"].as_f64().unwrap();
    assert!(rate < 1.6e6, "it holds: {rate}");
    let slower = group.run(&place, &format!("{job} --size=512k --rate=256k"));
    silent(&slower, "throttled-by-cgroup");
}

#[test]
fn reports_other_programs_that_compute() {
    if !Path::new("/proc/pressure/cpu").exists() {
        return eprintln!("not possible here: the kernel does not report waiting times for CPUs");
    }
    let place = Place::new();
    let cpus = std::thread::available_parallelism().unwrap().get();
    let stat = std::fs::read_to_string("/proc/stat").unwrap();
    let all = stat.lines().filter(|line| line.starts_with("cpu")).count() - 1;
    if cpus < all {
        return eprintln!(
            "not possible here: {cpus} of {all} CPUs are too few to show in the totals"
        );
    }
    let others = Crowd::anywhere(cpus + 1);
    let ran = place.run(&format!("--output-format=json {COMPUTES}")).ok();
    drop(others);
    let found = ran.json()["fiord"]["findings"].as_array().cloned().unwrap();
    let entry = found.iter().find(|f| f["what"] == "other programs used the CPUs during the run");
    let entry = entry.unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!((&entry["id"], &entry["severity"]), (&"noisy-neighbour".into(), &"suspect".into()));
    // The unit tests of the finding cover a quiet machine. A run without files does not check it.
    let virtual_job = "--output-format=json --name=a --ioengine=null --size=64m --bs=4k --rw=read";
    silent(&place.run(virtual_job).ok(), "noisy-neighbour");
}
