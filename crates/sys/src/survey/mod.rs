//! A survey of all disks of the machine. `fiord devices` shows it, and findings about the machine are
//! based on it.
//!
//! | question | module |
//! |---|---|
//! | model, serial number, bus, other nodes, cable | [`identity`] |
//! | the kernel's queue: scheduler, limits, zones | [`queue`] |
//! | PCI Express links up to the root complex | [`pcie`] |
//! | which disks share a link, and is it too narrow | [`sharing`] |
//! | partitions | [`crate::block`] |
//! | holders, mounts, swap | [`crate::in_use`] |
//! | file systems, partition tables and other signatures | [`signature`] |
//! | temperature, wear, errors | [`health`] |
//! | a machine made of files, for tests | [`fixture`] |
//!
//! The survey reads everything below a [`Root`], so a directory tree can stand for a machine. It writes
//! nothing. Each disk costs about fifty reads of small files in sysfs; only [`SurveyDepth::Health`] and
//! [`SurveyDepth::Full`] access devices.

pub mod fixture;
pub mod health;
pub mod identity;
pub mod pcie;
pub mod queue;
pub mod sharing;
pub mod signature;

use std::path::{Path, PathBuf};

use fiord_types::{Bytes, Errno};

use crate::Error;
use crate::block;
use crate::file::{Device, Open};
use crate::in_use::{DeviceUse, Users};
use crate::node::nvme_block_name;
use crate::nvme::admin::{self, Refused};
use crate::nvme::{Allocation, CommandSet, Namespace};
use crate::root::{Root, names, number};

pub use crate::block::Partition;
pub use health::{Health, Smart};
pub use identity::{Bus, DiskIdentity};
pub use queue::{Queue, QueueZones};
pub use sharing::SharedLink;

/// How much a survey reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurveyDepth {
    /// Only files of sysfs and procfs.
    Files,
    /// Also the SMART log of NVMe controllers and the format of their namespaces.
    Health,
    /// Also the first blocks of disks that udev does not know, to find signatures.
    Full,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Disk {
    /// The kernel's name: `nvme0n1`, `sda`, `dm-0`; `ng0n1` for a namespace without a block device.
    pub name: String,
    /// Device number; `None` for a namespace without a block device.
    pub device: Option<Device>,
    /// Resolved sysfs directory.
    pub sysfs: PathBuf,
    /// Kind of the device.
    pub bus: Bus,
    /// Model, serial number and similar.
    pub identity: DiskIdentity,
    /// Name of the NVMe generic node (`ng0n1`).
    pub generic: Option<String>,
    /// NVMe namespace identifier (NSID).
    pub nsid: Option<u64>,
    pub capacity: Bytes,
    pub read_only: bool,
    /// Whether its medium is removable.
    pub removable: bool,
    /// Attributes of its queue.
    pub queue: Queue,
    /// Number of commands that a SCSI or ATA device accepts at a time.
    pub device_depth: Option<u64>,
    /// NUMA node that it is attached to; `None` if the machine has only one, or does not report it.
    pub numa_node: Option<u64>,
    /// PCI functions from the root complex to its controller. With several paths, those of the first.
    pub pcie: Vec<pcie::Function>,
    /// Bandwidth between a SCSI or ATA disk and its adapter, in bytes per second.
    pub cable: Option<u64>,
    pub partitions: Vec<Partition>,
    /// Devices built on it or its partitions.
    pub holders: Vec<String>,
    /// Devices that it is built on.
    pub members: Vec<String>,
    /// Mounts and swap of the disk, its partitions and devices built on them.
    pub uses: Vec<DeviceUse>,
    /// Signatures on the disk (file systems, partition tables …); `None` if they could not be read.
    pub signatures: Option<Vec<String>>,
    /// Temperature, wear and errors.
    pub health: Health,
    /// NVMe format as text; `None` if the device could not be asked.
    pub format: Option<String>,
    /// Allocated part of its NVMe namespace; `None` for zoned namespaces, whose zones report that, and if
    /// the device could not be asked.
    pub allocation: Option<Allocation>,
    /// Descriptions of the data that could not be read for lack of privilege.
    pub missing: Vec<&'static str>,
}

impl Disk {
    /// Returns the path of its node, such as `/dev/nvme0n1`.
    #[must_use]
    pub fn node(&self) -> PathBuf {
        block::node(&self.name)
    }

    /// Returns the bandwidth of the disk's own attachment (PCIe link or cable) in bytes per second.
    #[must_use]
    pub fn bandwidth(&self) -> Option<u64> {
        match self.bus {
            Bus::Nvme => self.pcie.last().and_then(|function| Some(function.now?.bytes())),
            _ => self.cable,
        }
    }

    /// Identifies the medium. Namespaces of one NVMe controller share it; for them it is the controller's
    /// address.
    fn medium(&self) -> &str {
        match (self.bus, self.pcie.last()) {
            (Bus::Nvme, Some(function)) => &function.address,
            _ => &self.name,
        }
    }
}

/// Reads the disks of one machine. It reads information that disks share only once.
#[derive(Debug)]
pub struct DiskSurvey {
    root: Root,
    users: Users,
    bridges: pcie::Bridges,
    depth: SurveyDepth,
}

impl DiskSurvey {
    /// Prepares a survey of the machine below `root`.
    #[must_use]
    pub fn new(root: Root, depth: SurveyDepth) -> DiskSurvey {
        // A directory tree has no devices that could be accessed.
        let depth = if root.is_machine() { depth } else { SurveyDepth::Files };
        let users = Users::below(&root);
        DiskSurvey { users, bridges: pcie::Bridges::default(), root, depth }
    }

    /// Returns why mounts and swap could not be determined for any disk: the error of reading the mount
    /// table. If there is one, [`Disk::uses`] is empty for every disk.
    pub fn unchecked(&self) -> Option<Error> {
        self.users.readable().err()
    }

    /// Returns the names of all disks, and of NVMe generic nodes without a block device.
    pub fn names(&self) -> Vec<String> {
        let mut all = names(&self.root.path("/sys/block"));
        // `nvme0c1n1` is one path of a multipath namespace, not a disk.
        all.retain(|name| !is_nvme_path(name));
        let generic = names(&self.root.path("/sys/class/nvme-generic"));
        let lonely = |name: &String| {
            let block = nvme_block_name(name);
            block.is_some_and(|block| !all.contains(&block))
        };
        let lonely: Vec<String> = generic.into_iter().filter(lonely).collect();
        all.extend(lonely);
        all.sort_by_cached_key(|name| natural(name));
        all
    }

    /// Reads all disks. Devices are accessed in parallel, because each takes time.
    pub fn disks(&self) -> Vec<Disk> {
        let names = self.names();
        let threads = if self.depth == SurveyDepth::Files { 1 } else { 16 };
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

    /// Reads the disk with this kernel name; `None` if there is none.
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
            identity: DiskIdentity::of(bus, &sysfs),
            generic: identity::generic(&self.root, name),
            nsid: number(&sysfs.join("nsid")),
            capacity: Bytes::from_sectors(number(&sysfs.join("size")).unwrap_or(0)),
            read_only: number(&sysfs.join("ro")) == Some(1),
            removable: number(&sysfs.join("removable")) == Some(1),
            queue: Queue::of(&sysfs),
            device_depth: identity::queue_depth(&sysfs),
            numa_node: numa_node(way),
            pcie: pcie::path_to(way, &self.bridges),
            cable: identity::cable(&sysfs),
            holders: self.users.holders(&sysfs, &partitions),
            members: names(&sysfs.join("slaves")),
            // `unchecked` reports this error once for all disks.
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
        if self.depth != SurveyDepth::Files && bus == Bus::Nvme {
            ask_controller(&mut disk);
        }
        if self.depth == SurveyDepth::Full {
            read_signatures(&mut disk);
        }
        Some(disk)
    }
}

/// Reads the temperature in °C of the disk with this sysfs directory from its hwmon sensor; `None` if it has none. An NVMe
/// drive is asked for it (the kernel asks at most once per second).
#[must_use]
pub fn temperature(sysfs: &Path) -> Option<f64> {
    let mut places = identity::nvme_controllers(sysfs);
    places.push(sysfs.join("device"));
    health::temperature(places.iter().map(PathBuf::as_path))
}

/// Description of the SMART log, which only root may read.
const SMART: &str = "wear, bytes written, errors (SMART log)";

/// Reads the SMART log, the format and the allocation of a namespace from its controller.
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
        // The controller has no such log; some virtual controllers do not.
        Err(Refused::Controller(_)) => {}
    }
    let nsid = admin::namespace_id(&node).unwrap_or(0);
    if let Ok(data) = admin::identify(&node, nsid, admin::IdentifySubject::Namespace) {
        let namespace = Namespace::parse(&data);
        disk.format = Some(format_words(&namespace));
        // Controllers before NVMe 1.3 have no descriptors and only the NVM command set.
        let descriptors = admin::identify(&node, nsid, admin::IdentifySubject::Descriptors);
        let set = descriptors.map_or(CommandSet::Nvm, |data| CommandSet::in_descriptors(&data));
        disk.allocation = (set == CommandSet::Nvm).then(|| Allocation::of(&namespace));
    }
}

/// Formats an LBA format as `512+8 bytes (format 1 of 4), protection type 1`.
fn format_words(namespace: &Namespace) -> String {
    let format = &namespace.format;
    let size = match format.metadata {
        Bytes::ZERO => format.data.0.to_string(),
        metadata => format!("{}+{}", format.data.0, metadata.0),
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

/// Reads the signatures of a disk that udev does not know from its first blocks.
fn read_signatures(disk: &mut Disk) {
    if disk.signatures.is_some() || disk.capacity == Bytes::ZERO || disk.device.is_none() {
        return;
    }
    match signature::on_device(&disk.node(), disk.queue.logical.0 as usize) {
        Ok(found) => disk.signatures = Some(found.into_iter().map(str::to_owned).collect()),
        Err(error) if matches!(error.errno, Errno::EACCES | Errno::EPERM) => {
            disk.missing.push("signatures of file systems and partition tables");
        }
        // The device is asleep, without a medium, or broken: its signatures stay unknown.
        Err(_) => {}
    }
}

/// Reads `numa_node` of the nearest directory above the disk that has it; −1 means none.
fn numa_node(sysfs: &std::path::Path) -> Option<u64> {
    let text = sysfs.ancestors().find_map(|path| crate::root::text(&path.join("numa_node")))?;
    text.parse().ok()
}

/// Whether a name is one path of a multipath namespace (`nvme0c1n1`).
fn is_nvme_path(name: &str) -> bool {
    name.strip_prefix("nvme").is_some_and(|rest| rest.contains('c'))
}

/// Returns a key that sorts `sdb` before `sdaa` and `nvme2n1` before `nvme10n1`.
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
