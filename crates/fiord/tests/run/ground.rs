//! Surroundings for tests of findings: loop devices, file systems, a file that this process serves, and other
//! programs. Also recognizes findings that are about the machine and not about the test. Devices and mounts
//! need root; without it, the tests print that and pass.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use serde_json::Value;

use crate::fiord::{Place, until};

/// Creates a loop device on a file of the place.
pub(crate) struct Loop(PathBuf);

impl Loop {
    pub(crate) fn new(place: &Place, bytes: u64) -> Option<Loop> {
        let image = place.path("image");
        std::fs::File::create(&image).unwrap().set_len(bytes).unwrap();
        Loop::over(&image)
    }

    /// Creates a loop device on an existing file.
    pub(crate) fn over(image: &Path) -> Option<Loop> {
        let made = Command::new("losetup").args(["-f", "--show"]).arg(image).output();
        match made {
            Ok(made) if made.status.success() => {
                Some(Loop(String::from_utf8(made.stdout).unwrap().trim().into()))
            }
            _ => {
                eprintln!("skipped: loop devices need root and losetup");
                None
            }
        }
    }

    /// Makes the loop device use direct I/O on its file. Otherwise the page cache of the file answers.
    pub(crate) fn direct(self) -> Option<Loop> {
        let done = Command::new("losetup").arg("--direct-io=on").arg(&self.0).status();
        done.is_ok_and(|status| status.success()).then_some(self)
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    pub(crate) fn queue(&self, name: &str, value: &str) -> bool {
        std::fs::write(self.sysfs("queue").join(name), value).is_ok()
    }

    /// Reads a file of the device's directory in sysfs.
    pub(crate) fn sysfs(&self, name: &str) -> PathBuf {
        Path::new("/sys/block").join(self.0.file_name().unwrap()).join(name)
    }

    /// Calls `then` in another thread when a job that starts now has done 40 reads and writes on the device.
    pub(crate) fn once_a_job_runs<T: Send + 'static>(
        &self,
        then: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let stat = self.sysfs("stat");
        let ios = move || -> u64 {
            let counts = std::fs::read_to_string(&stat).unwrap();
            // The counts of reads and of writes (Documentation/block/stat.rst).
            counts.split_whitespace().step_by(4).take(2).map(|n| n.parse::<u64>().unwrap()).sum()
        };
        let before = ios();
        std::thread::spawn(move || {
            until("40 I/Os on the device", || ios() >= before + 40);
            then()
        })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.0).status();
    }
}

/// A file system on a loop device, mounted below the place, for the place's programs.
pub(crate) struct Mounted {
    pub point: PathBuf,
    unmount: Command,
    /// Dropped after the mount.
    _device: Option<Loop>,
}

impl Mounted {
    pub(crate) fn new(place: &Place, kind: &str) -> Option<Mounted> {
        Mounted::with(place, kind, &[])
    }

    /// A file system that is made with further options.
    pub(crate) fn with(place: &Place, kind: &str, options: &[&str]) -> Option<Mounted> {
        let device = Loop::new(place, 512 << 20)?.direct()?;
        let force = if kind == "ext4" { "-F" } else { "-f" };
        let mut make = Command::new(format!("mkfs.{kind}"));
        let made = make.args(["-q", force]).args(options).arg(device.path());
        let made = made.stdout(Stdio::null()).stderr(Stdio::null()).status();
        let point = place.path("mounted");
        std::fs::create_dir_all(&point).unwrap();
        let mut mount = place.program("mount", &format!("-t {kind} {}", device.path()));
        mount.arg(&point);
        let ok = |ran: std::io::Result<std::process::ExitStatus>| ran.is_ok_and(|s| s.success());
        if ok(made) && ok(mount.status()) {
            let mut unmount = place.program("umount", "");
            unmount.arg(&point);
            return Some(Mounted { point, unmount, _device: Some(device) });
        }
        eprintln!("skipped: no {kind} can be made here");
        None
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = self.unmount.status();
    }
}

/// Programs that use CPU time until this value is dropped.
pub(crate) struct Crowd(Vec<Child>);

impl Crowd {
    /// Starts them on one CPU.
    pub(crate) fn on_cpu_0(programs: usize) -> Crowd {
        let mut pinned = Command::new("taskset");
        pinned.args(["-c", "0", "sh", "-c", "while :; do :; done"]);
        Crowd::new(programs, &mut pinned)
    }

    /// Starts them on all permitted CPUs.
    pub(crate) fn anywhere(programs: usize) -> Crowd {
        Crowd::new(programs, Command::new("sh").args(["-c", "while :; do :; done"]))
    }

    fn new(programs: usize, command: &mut Command) -> Crowd {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Crowd((0..programs).filter_map(|_| command.spawn().ok()).collect())
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A program that reads a file or device from its disk repeatedly until this value is dropped.
pub(crate) struct Reader(Arc<AtomicBool>, Option<JoinHandle<()>>);

impl Reader {
    pub(crate) fn of(path: &Path) -> Reader {
        let (stop, path) = (Arc::new(AtomicBool::new(false)), path.to_owned());
        let stopped = stop.clone();
        let read = move || {
            while !stopped.load(Ordering::Relaxed) {
                let mut program = Command::new("dd");
                program.arg(format!("if={}", path.display()));
                program.args(["of=/dev/null", "bs=256k", "iflag=direct"]).stderr(Stdio::null());
                if !program.status().is_ok_and(|status| status.success()) {
                    return;
                }
            }
        };
        Reader(stop, Some(std::thread::spawn(read)))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        let _ = self.1.take().unwrap().join();
    }
}

/// Whether a finding is about the machine that runs the tests. The jobs here set none of the options that
/// these findings concern. If a fact does not change (clock, governor, nodes, schedulers), this function
/// checks it again. The activity of other programs during a test cannot be checked afterwards, so this
/// function accepts those findings by their text; their own tests show that they are silent on a quiet
/// machine.
pub(crate) fn of_this_machine(finding: &Value) -> bool {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let any = |directory: &str, file: &str, holds: &dyn Fn(&str) -> bool| {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let mut texts = entries.filter_map(|e| std::fs::read_to_string(e.path().join(file)).ok());
        texts.any(|text| holds(text.trim()))
    };
    let what = finding["what"].as_str().unwrap();
    match finding["id"].as_str().unwrap() {
        // Tests run in parallel, on shared machines: other programs compute and use the disks, and a
        // hypervisor has other guests.
        "noisy-neighbour" => true,
        // From the device's point of view, it waited for threads that had no CPU.
        "depth-not-reached" => finding["evidence"].to_string().contains("other programs computed"),
        // A limit that has an effect belongs to the group in which the tests were started, because no job
        // sets one. `groups.rs` tests a group with a limit and one without.
        "throttled-by-cgroup" => what.starts_with("the control group "),
        "clock-source" => {
            let clock = text("/sys/devices/system/clocksource/clocksource0/current_clocksource");
            ["hpet", "acpi_pm", "jiffies", "refined-jiffies"].contains(&clock.trim())
                || what.starts_with("the run's clock is slow")
        }
        "governor" => {
            let cpus = "/sys/devices/system/cpu";
            any(cpus, "cpufreq/scaling_governor", &|governor| governor != "performance")
                || what.starts_with("CPUs enter an idle state")
        }
        "numa" => Path::new("/sys/devices/system/node/node1").exists(),
        "scheduler" => any("/sys/block", "queue/scheduler", &|words| !words.contains("[none]")),
        _ => false,
    }
}
