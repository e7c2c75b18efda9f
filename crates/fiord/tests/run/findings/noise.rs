//! Noise for tests: programs that compute.

use std::process::{Child, Command, Stdio};

/// Programs that run until this goes.
pub struct Crowd(Vec<Child>);

impl Crowd {
    /// Programs that compute on one CPU.
    pub fn on_cpu_0(programs: usize) -> Crowd {
        let mut pinned = Command::new("taskset");
        pinned.args(["-c", "0", "sh", "-c", "while :; do :; done"]);
        Crowd::new(programs, &mut pinned)
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
