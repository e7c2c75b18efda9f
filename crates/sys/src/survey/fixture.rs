//! A machine made of files, to test code that reads sysfs and procfs: a directory with `sys`, `proc` and
//! `dev`, laid out as by the kernel, including links.

#![allow(clippy::must_use_candidate, reason = "the methods change the tree")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::root::Root;

/// The directory tree of the machine; removed on drop.
#[derive(Debug)]
pub struct Machine {
    directory: PathBuf,
}

/// A link: its speed in GT/s as sysfs prints it, and its lanes.
pub type Link = (&'static str, u32);

impl Default for Machine {
    fn default() -> Self {
        Machine::new()
    }
}

impl Machine {
    /// Creates an empty machine.
    ///
    /// # Panics
    /// Like all methods of this type, panics if the directory for temporary files cannot be written.
    pub fn new() -> Machine {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fiord-machine-{}-{count}", std::process::id());
        // The tree has thousands of small files, so prefer a file system in memory.
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.into() } else { std::env::temp_dir() };
        let machine = Machine { directory: parent.join(name) };
        for part in ["sys/block", "sys/class/nvme-generic", "proc/self", "dev"] {
            std::fs::create_dir_all(machine.directory.join(part)).expect("a temporary directory");
        }
        machine
    }

    /// Returns the root of the machine.
    pub fn root(&self) -> Root {
        Root::at(&self.directory)
    }

    /// Writes a file, and creates missing directories above it.
    pub fn write(&self, path: &str, text: &str) -> &Machine {
        let path = self.root().path(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("a directory");
        std::fs::write(path, format!("{text}\n")).expect("a file");
        self
    }

    /// Makes `path` a link to another path of the machine.
    pub fn link(&self, path: &str, target: &str) -> &Machine {
        let path = self.root().path(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("a directory");
        std::os::unix::fs::symlink(self.root().path(target), path).expect("a link");
        self
    }

    /// Adds a PCI function below another one (given by its directory), or below the root complex. Returns
    /// its directory.
    pub fn pci(
        &self,
        above: Option<&str>,
        address: &str,
        class: u32,
        now: Link,
        best: Link,
    ) -> String {
        let above = above.unwrap_or("/sys/devices/pci0000:00");
        let path = format!("{above}/{address}");
        let file = |name: &str, text: String| {
            self.write(&format!("{path}/{name}"), &text);
        };
        file("class", format!("0x{class:06x}"));
        file("vendor", "0x1b36".into());
        file("device", "0x0010".into());
        file("numa_node", "-1".into());
        file("current_link_speed", format!("{} GT/s PCIe", now.0));
        file("current_link_width", now.1.to_string());
        file("max_link_speed", format!("{} GT/s PCIe", best.0));
        file("max_link_width", best.1.to_string());
        path
    }

    /// Adds a port of a root complex or switch. Returns its directory.
    pub fn port(&self, above: Option<&str>, address: &str, now: Link, best: Link) -> String {
        self.pci(above, address, 0x06_0400, now, best)
    }

    /// Adds an NVMe controller with one namespace, `nvme<n>n1` of 1 TB. Returns the namespace's directory.
    pub fn nvme(
        &self,
        above: Option<&str>,
        address: &str,
        n: u32,
        now: Link,
        best: Link,
    ) -> String {
        let function = self.pci(above, address, 0x01_0802, now, best);
        let controller = format!("{function}/nvme/nvme{n}");
        for (name, text) in [("model", "Fiord Test 1T"), ("serial", "S0"), ("firmware_rev", "1.0")]
        {
            self.write(&format!("{controller}/{name}"), text);
        }
        self.write(&format!("{controller}/hwmon3/temp1_input"), "41850");
        let disk = self.disk(&format!("{controller}/nvme{n}n1"), (259, n), 1_000_204_886_016);
        self.link(&format!("{disk}/device"), &controller);
        self.write(&format!("{disk}/nsid"), "1");
        self.link(&format!("/sys/class/nvme-generic/ng{n}n1"), &controller);
        disk
    }

    /// Adds a disk with default queue attributes at this directory. Returns the directory.
    pub fn disk(&self, path: &str, (major, minor): (u32, u32), bytes: u64) -> String {
        let name = path.rsplit('/').next().unwrap_or(path);
        let own = [
            ("dev", format!("{major}:{minor}")),
            ("size", (bytes / 512).to_string()),
            ("ro", "0".into()),
            ("removable", "0".into()),
        ];
        let queue = [
            ("logical_block_size", "512"),
            ("physical_block_size", "512"),
            ("minimum_io_size", "512"),
            ("optimal_io_size", "0"),
            ("scheduler", "[none] mq-deadline"),
            ("write_cache", "write through"),
            ("fua", "0"),
            ("nr_requests", "1023"),
            ("max_sectors_kb", "128"),
            ("max_hw_sectors_kb", "128"),
            ("max_segments", "33"),
            ("nomerges", "0"),
            ("iostats", "1"),
            ("rotational", "0"),
            ("zoned", "none"),
        ];
        for (name, text) in own {
            self.write(&format!("{path}/{name}"), &text);
        }
        for (name, text) in queue {
            self.write(&format!("{path}/queue/{name}"), text);
        }
        self.write(&format!("{path}/mq/0/nr_tags"), "1023");
        self.link(&format!("/sys/block/{name}"), path);
        path.to_owned()
    }

    /// Adds a partition to a disk (given by its directory), with its first byte and its size in bytes.
    /// Returns its directory.
    pub fn partition(
        &self,
        disk: &str,
        n: u32,
        device: (u32, u32),
        (start, size): (u64, u64),
    ) -> String {
        let name = disk.rsplit('/').next().unwrap_or(disk);
        let joint = if name.ends_with(|c: char| c.is_ascii_digit()) { "p" } else { "" };
        let path = format!("{disk}/{name}{joint}{n}");
        self.write(&format!("{path}/partition"), &n.to_string());
        self.write(&format!("{path}/dev"), &format!("{}:{}", device.0, device.1));
        self.write(&format!("{path}/start"), &(start / 512).to_string());
        self.write(&format!("{path}/size"), &(size / 512).to_string());
        path
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Files that cannot be removed stay until the system cleans up temporary files.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
