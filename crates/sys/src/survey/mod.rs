//! Every disk of the machine with all that is told of it: what `fiord devices` shows and what
//! findings about the machine are made of.
//!
//! | question | module |
//! |---|---|
//! | model, serial, bus, other nodes, cable | [`identity`] |
//! | the kernel's queue: scheduler, limits, zones | [`queue`] |
//! | PCI Express links up to the root complex | [`pcie`] |
//! | who shares a link, and is it too narrow | [`sharing`] |
//! | partitions | [`crate::block`] |
//! | holders, mounts, swap | [`crate::in_use`] |
//! | what lies on it | [`signature`] |
//! | temperature, wear, errors | [`health`] |
//! | a machine made of files, for tests | [`fixture`] |
//!
//! Everything is read below a [`Root`], so a tree of files can stand for a machine. Nothing is
//! written. A disk costs some fifty small files of sysfs; only [`Depth::Full`] talks to devices.

pub mod fixture;
pub mod health;
pub mod identity;
pub mod pcie;
pub mod queue;
pub mod sharing;
pub mod signature;

use std::path::PathBuf;

use crate::Error;
use crate::block;
use crate::file::{Device, Open};
use crate::in_use::{Use, Users};
use crate::nvme::admin::{self, Refused};
use crate::nvme::{self, Allocation, CommandSet, Namespace};
use crate::root::{Root, names, number};

pub use crate::block::Partition;
pub use health::{Health, Smart};
pub use identity::{Bus, Identity};
pub use queue::{Queue, Zones};
pub use sharing::SharedLink;

/// How far a survey goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Files of sysfs and procfs only.
    Files,
    /// NVMe controllers are asked for their SMART log and the format of the namespace.
    Health,
    /// The start of disks that udev does not know is read too, for signatures.
    Full,
}

/// One disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Disk {
    /// The kernel's name: `nvme0n1`, `sda`, `dm-0`; `ng0n1` for a namespace without a block device.
    pub name: String,
    /// Device number; `None` for a namespace without a block device.
    pub device: Option<Device>,
    /// Its resolved sysfs directory.
    pub sysfs: PathBuf,
    /// What kind it is.
    pub bus: Bus,
    /// Model, serial …
    pub identity: Identity,
    /// The NVMe generic node (`ng0n1`).
    pub generic: Option<String>,
    /// Namespace identifier.
    pub nsid: Option<u64>,
    /// Bytes.
    pub capacity: u64,
    /// Read-only.
    pub read_only: bool,
    /// Can be taken out.
    pub removable: bool,
    /// Its queue.
    pub queue: Queue,
    /// Commands that a SCSI or ATA device takes at a time.
    pub device_depth: Option<u64>,
    /// NUMA node it is next to; `None` where the machine has one, or does not say.
    pub numa_node: Option<u64>,
    /// Functions from the root complex to its controller: the first of several paths.
    pub pcie: Vec<pcie::Function>,
    /// Bytes a second between a SCSI or ATA disk and its adapter.
    pub cable: Option<u64>,
    /// Partitions.
    pub partitions: Vec<Partition>,
    /// Devices built on it or its partitions.
    pub holders: Vec<String>,
    /// Devices it is built on.
    pub members: Vec<String>,
    /// Mounts and swap of it, its partitions and what is built on them.
    pub uses: Vec<Use>,
    /// What lies on it; `None`: that could not be told.
    pub signatures: Option<Vec<String>>,
    /// Temperature, wear, errors.
    pub health: Health,
    /// Its NVMe format in words; needs the right to ask the device.
    pub format: Option<String>,
    /// How much of its NVMe namespace is allocated; `None` for zoned ones, whose zones say that, and
    /// where the device could not be asked.
    pub allocation: Option<Allocation>,
    /// What could not be read, and would be with more privilege.
    pub missing: Vec<&'static str>,
}

impl Disk {
    /// `/dev/nvme0n1`.
    pub fn node(&self) -> PathBuf {
        block::node(&self.name)
    }

    /// Bytes a second that the disk's own attachment carries: its PCIe link, or its cable.
    pub fn bandwidth(&self) -> Option<u64> {
        match self.bus {
            Bus::Nvme => self.pcie.last().and_then(|function| Some(function.now?.bytes())),
            _ => self.cable,
        }
    }

    /// What stands for the medium where several disks are one: an NVMe controller's address.
    fn medium(&self) -> &str {
        match (self.bus, self.pcie.last()) {
            (Bus::Nvme, Some(function)) => &function.address,
            _ => &self.name,
        }
    }
}

/// Reads disks of one machine; what is common to all of them is read once.
#[derive(Debug)]
pub struct Survey {
    root: Root,
    users: Users,
    bridges: pcie::Bridges,
    depth: Depth,
}

impl Survey {
    /// Of the machine below `root`.
    pub fn new(root: Root, depth: Depth) -> Survey {
        // A tree of files has no devices that could be asked.
        let depth = if root.is_machine() { depth } else { Depth::Files };
        let users = Users::below(&root);
        Survey { users, bridges: pcie::Bridges::default(), root, depth }
    }

    /// Why mounts and swap could not be told of any disk: the mount table cannot be read. No disk
    /// then shows such a use, whether it has one or not.
    pub fn unchecked(&self) -> Option<Error> {
        self.users.readable().err()
    }

    /// Names of all disks, and of NVMe generic nodes that have no block device.
    pub fn names(&self) -> Vec<String> {
        let mut all = names(&self.root.path("/sys/block"));
        // `nvme0c1n1` is one path of a multipath namespace, not a disk.
        all.retain(|name| !is_nvme_path(name));
        let generic = names(&self.root.path("/sys/class/nvme-generic"));
        let lonely = |name: &String| {
            let block = nvme::device::block_name(name);
            block.is_some_and(|block| !all.contains(&block))
        };
        let lonely: Vec<String> = generic.into_iter().filter(lonely).collect();
        all.extend(lonely);
        all.sort_by_cached_key(|name| natural(name));
        all
    }

    /// Every disk. Devices are asked side by side, as each takes its time.
    pub fn disks(&self) -> Vec<Disk> {
        let names = self.names();
        let threads = if self.depth == Depth::Files { 1 } else { 16 };
        let share = names.len().div_ceil(threads).max(1);
        std::thread::scope(|scope| {
            let parts: Vec<_> = names
                .chunks(share)
                .map(|names| {
                    let one = move || names.iter().filter_map(|name| self.disk(name)).collect();
                    scope.spawn(one)
                })
                .collect();
            parts.into_iter().flat_map(|part| part.join().unwrap_or_else(|_| Vec::new())).collect()
        })
    }

    /// One disk by the kernel's name; `None` where there is none.
    pub fn disk(&self, name: &str) -> Option<Disk> {
        let block = self.root.path("/sys/block").join(name).canonicalize().ok();
        let sysfs = match block {
            Some(path) => path,
            None => self.root.path("/sys/class/nvme-generic").join(name).canonicalize().ok()?,
        };
        let bus = Bus::of(name, &sysfs);
        let partitions = block::partitions(&sysfs);
        let controllers =
            if bus == Bus::Nvme { identity::nvme_controllers(&sysfs) } else { Vec::new() };
        let way = controllers.first().unwrap_or(&sysfs);
        let device = block::device_number(&sysfs).filter(|_| !name.starts_with("ng"));
        let mut places: Vec<PathBuf> = controllers.clone();
        places.push(sysfs.join("device"));
        let mut disk = Disk {
            name: name.to_owned(),
            device,
            identity: Identity::of(bus, &sysfs),
            generic: identity::generic(&self.root, name),
            nsid: number(&sysfs.join("nsid")),
            capacity: number(&sysfs.join("size")).unwrap_or(0).saturating_mul(512),
            read_only: number(&sysfs.join("ro")) == Some(1),
            removable: number(&sysfs.join("removable")) == Some(1),
            queue: Queue::of(&sysfs),
            device_depth: identity::queue_depth(&sysfs),
            numa_node: numa_node(way),
            pcie: pcie::path_to(way, &self.bridges),
            cable: identity::cable(&sysfs),
            holders: self.users.holders(&sysfs, &partitions),
            members: names(&sysfs.join("slaves")),
            // That this could not be told is said once: `unchecked`.
            uses: self.users.of(&sysfs).unwrap_or_default(),
            signatures: device.and_then(|device| signature::by_udev(&self.root, device)),
            health: Health {
                temperature: health::temperature(places.iter().map(PathBuf::as_path)),
                smart: None,
                scsi_errors: health::scsi_errors(&sysfs),
            },
            format: None,
            allocation: None,
            missing: Vec::new(),
            partitions,
            bus,
            sysfs,
        };
        if self.depth != Depth::Files && bus == Bus::Nvme {
            ask_controller(&mut disk);
        }
        if self.depth == Depth::Full {
            read_signatures(&mut disk);
        }
        Some(disk)
    }
}

/// What nobody but root may ask an NVMe controller.
const SMART: &str = "wear, bytes written, errors (SMART log)";

/// SMART log, format and allocation of a namespace, from its controller.
fn ask_controller(disk: &mut Disk) {
    let Ok(node) = Open::read_only().nonblocking(true).open(&disk.node()) else {
        disk.missing.push(SMART);
        return;
    };
    match admin::smart_log(&node) {
        Ok(log) => {
            let smart = Smart::parse(&log);
            disk.health.temperature = disk.health.temperature.or(smart.temperature.map(f64::from));
            disk.health.smart = Some(smart);
        }
        Err(Refused::Kernel(_)) => disk.missing.push(SMART),
        // A controller without the log, as some virtual ones are.
        Err(Refused::Controller(_)) => {}
    }
    let nsid = admin::namespace_id(&node).unwrap_or(0);
    if let Ok(data) = admin::identify(&node, nsid, admin::Subject::Namespace) {
        let namespace = Namespace::parse(&data);
        disk.format = Some(format_words(&namespace));
        // Controllers before NVMe 1.3 have no descriptors, and only the NVM command set.
        let descriptors = admin::identify(&node, nsid, admin::Subject::Descriptors);
        let set = descriptors.map_or(CommandSet::Nvm, |data| CommandSet::in_descriptors(&data));
        disk.allocation = (set == CommandSet::Nvm).then(|| Allocation::of(&namespace));
    }
}

/// `512+8 (format 1 of 4), protection type 1`.
fn format_words(namespace: &Namespace) -> String {
    let format = &namespace.format;
    let size = match format.metadata {
        0 => format.data.to_string(),
        metadata => format!("{}+{metadata}", format.data),
    };
    let kinds = namespace.formats.len();
    let mut text = format!("{size} bytes (format {} of {kinds})", namespace.format_index);
    if let Some(protection) = &namespace.protection {
        text.push_str(&format!(", protection type {}", protection.kind));
    }
    if namespace.thin {
        text.push_str(", thinly provisioned");
    }
    text
}

/// What lies on a disk that udev does not know, from its first blocks.
fn read_signatures(disk: &mut Disk) {
    if disk.signatures.is_some() || disk.capacity == 0 || disk.device.is_none() {
        return;
    }
    match signature::on_device(&disk.node(), disk.queue.logical as usize) {
        Ok(found) => disk.signatures = Some(found.into_iter().map(str::to_owned).collect()),
        Err(error) if matches!(error.errno, libc::EACCES | libc::EPERM) => {
            disk.missing.push("what lies on it");
        }
        // Asleep, without a medium, broken: not told.
        Err(_) => {}
    }
}

/// `numa_node` of the nearest directory above that has one; −1 means none.
fn numa_node(sysfs: &std::path::Path) -> Option<u64> {
    let text = sysfs.ancestors().find_map(|path| crate::root::text(&path.join("numa_node")))?;
    text.parse().ok()
}

/// `nvme0c1n1`.
fn is_nvme_path(name: &str) -> bool {
    name.strip_prefix("nvme").is_some_and(|rest| rest.contains('c'))
}

/// A key that sorts `sdb` before `sdaa` and `nvme2n1` before `nvme10n1`.
fn natural(name: &str) -> (String, usize, Vec<u64>, String) {
    let head: String = name.chars().take_while(|c| !c.is_ascii_digit()).collect();
    let numbers =
        name.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
    let family = if head.starts_with("sd") || head.starts_with("vd") {
        head[..2].to_owned()
    } else {
        head.clone()
    };
    (family, head.len(), numbers, name.to_owned())
}

#[cfg(test)]
mod tests;
