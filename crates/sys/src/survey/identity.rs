//! Identity of a disk: model and serial number, bus, and other device nodes.

use std::path::{Path, PathBuf};

use crate::node::nvme_generic_name_of;
use crate::root::{Root, names, number, text};

/// The kind of a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bus {
    /// An NVMe namespace.
    Nvme,
    /// A SCSI disk: SAS, iSCSI, USB and others.
    Scsi,
    /// A disk of the kernel's ATA layer.
    Ata,
    /// A virtio disk of a virtual machine.
    Virtio,
    /// An SD card or eMMC.
    Mmc,
    /// A device-mapper device.
    Mapper,
    /// A Linux software RAID device.
    Raid,
    /// A loop device.
    Loop,
    /// A device in memory: `zram`, `ram`, `pmem`.
    Memory,
    /// A `null_blk` device.
    Null,
    /// Any other device.
    Other,
}

impl Bus {
    /// Returns a short name, which tables and JSON show.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Bus::Nvme => "nvme",
            Bus::Scsi => "scsi",
            Bus::Ata => "ata",
            Bus::Virtio => "virtio",
            Bus::Mmc => "mmc",
            Bus::Mapper => "dm",
            Bus::Raid => "md",
            Bus::Loop => "loop",
            Bus::Memory => "memory",
            Bus::Null => "null",
            Bus::Other => "other",
        }
    }

    /// Whether the device is hardware, and not built on other block devices, a file or memory.
    #[must_use]
    pub const fn is_hardware(self) -> bool {
        matches!(self, Bus::Nvme | Bus::Scsi | Bus::Ata | Bus::Virtio | Bus::Mmc | Bus::Other)
    }

    pub(super) fn of(name: &str, sysfs: &Path) -> Bus {
        let begins = |prefix: &str| {
            let rest = name.strip_prefix(prefix);
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        if begins("nvme") || begins("ng") {
            Bus::Nvme
        } else if begins("loop") {
            Bus::Loop
        } else if begins("dm-") {
            Bus::Mapper
        } else if begins("md") {
            Bus::Raid
        } else if begins("zram") || begins("ram") || begins("pmem") {
            Bus::Memory
        } else if begins("nullb") {
            Bus::Null
        } else if begins("mmcblk") {
            Bus::Mmc
        } else if sysfs
            .components()
            .any(|part| part.as_os_str().to_string_lossy().starts_with("virtio"))
            && name.starts_with("vd")
        {
            Bus::Virtio
        } else if name.starts_with("sd") || name.starts_with("sr") {
            if ata_link(sysfs).is_some() { Bus::Ata } else { Bus::Scsi }
        } else {
            Bus::Other
        }
    }
}

/// Names and numbers of a disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskIdentity {
    /// Model name. For virtual devices: device-mapper name, RAID level, or backing file.
    pub model: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// World Wide Identifier (WWID).
    pub wwid: Option<String>,
}

impl DiskIdentity {
    pub(super) fn of(bus: Bus, sysfs: &Path) -> DiskIdentity {
        let device = sysfs.join("device");
        let of_device = |name: &str| text(&device.join(name));
        let own = |name: &str| text(&sysfs.join(name));
        match bus {
            Bus::Nvme => DiskIdentity {
                model: of_device("model"),
                firmware: of_device("firmware_rev"),
                serial: of_device("serial"),
                wwid: own("wwid"),
            },
            Bus::Scsi | Bus::Ata => DiskIdentity {
                model: scsi_model(of_device("vendor"), of_device("model")),
                firmware: of_device("rev"),
                serial: vital_serial(&device.join("vpd_pg80")),
                wwid: of_device("wwid"),
            },
            Bus::Mmc => DiskIdentity {
                model: of_device("name"),
                firmware: of_device("fwrev"),
                serial: of_device("serial"),
                wwid: None,
            },
            Bus::Mapper => DiskIdentity {
                model: own("dm/name"),
                wwid: own("dm/uuid"),
                ..DiskIdentity::default()
            },
            Bus::Raid => DiskIdentity { model: own("md/level"), ..DiskIdentity::default() },
            Bus::Loop => {
                DiskIdentity { model: own("loop/backing_file"), ..DiskIdentity::default() }
            }
            _ => {
                DiskIdentity { serial: own("serial"), wwid: own("wwid"), ..DiskIdentity::default() }
            }
        }
    }
}

/// Joins vendor and model. The kernel's ATA translation layer reports the vendor `ATA`, which is left
/// out.
fn scsi_model(vendor: Option<String>, model: Option<String>) -> Option<String> {
    match (vendor, model) {
        (Some(vendor), Some(model)) if vendor != "ATA" => Some(format!("{vendor} {model}")),
        (_, model) => model,
    }
}

/// Reads a Unit Serial Number VPD page (SPC-6, 7.7.19): a header of four bytes, then text.
fn vital_serial(path: &Path) -> Option<String> {
    let page = std::fs::read(path).ok()?;
    let serial = String::from_utf8_lossy(page.get(4..)?).trim_matches(['\0', ' ']).to_owned();
    (!serial.is_empty()).then_some(serial)
}

/// Returns the generic character device of an NVMe namespace's block device: `ng0n1` for `nvme0n1`.
pub(super) fn generic(root: &Root, name: &str) -> Option<String> {
    let generic = nvme_generic_name_of(name)?;
    root.path("/sys/class/nvme-generic").join(&generic).exists().then_some(generic)
}

/// Returns the directories of the controllers of a namespace: one, or several with multipath.
pub(super) fn nvme_controllers(sysfs: &Path) -> Vec<PathBuf> {
    let is_controller = |name: &str| {
        let rest = name.strip_prefix("nvme").unwrap_or_default();
        !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
    };
    let Ok(parent) = std::fs::canonicalize(sysfs.join("device")) else { return Vec::new() };
    let own = parent.file_name().and_then(|name| name.to_str()).is_some_and(is_controller);
    if own {
        return vec![parent];
    }
    let links = names(&parent).into_iter().filter(|name| is_controller(name));
    links.filter_map(|name| parent.join(name).canonicalize().ok()).collect()
}

/// Returns the `ata1/link1/ata_link/link1` directory of a disk of the ATA layer.
fn ata_link(sysfs: &Path) -> Option<PathBuf> {
    let port = sysfs.ancestors().find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_prefix("ata").is_some_and(|n| n.parse::<u32>().is_ok())
    })?;
    let link = names(port).into_iter().find(|name| name.starts_with("link"))?;
    Some(port.join(&link).join("ata_link").join(link))
}

/// Returns the bandwidth between a SCSI or ATA disk and its adapter in bytes per second, after 8b/10b
/// coding (SATA 3.5, SAS-3; SAS-4 at 22.5 Gbit/s codes 128b/150b).
pub(super) fn cable(sysfs: &Path) -> Option<u64> {
    if let Some(link) = ata_link(sysfs) {
        return line_rate(&text(&link.join("sata_spd"))?);
    }
    // Find the port nearest to the disk: `port-0:0/end_device-0:0/target0:0:0/…`.
    let port = sysfs.ancestors().find(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("port-"))
    })?;
    let rates = names(port).into_iter().filter(|name| name.starts_with("phy-")).filter_map(|phy| {
        line_rate(&text(&port.join(&phy).join("sas_phy").join(&phy).join("negotiated_linkrate"))?)
    });
    Some(rates.sum()).filter(|sum| *sum > 0)
}

/// Converts a line rate (`6.0 Gbps`, `12.0 Gbit`) to bytes per second after line coding.
fn line_rate(text: &str) -> Option<u64> {
    let rate: f64 = text.split_whitespace().next()?.parse().ok()?;
    let coded = if rate > 20.0 { 128.0 / 150.0 } else { 0.8 };
    (rate > 0.0).then_some((rate * 1e9 * coded / 8.0) as u64)
}

/// Returns the number of commands that a SCSI or ATA device accepts at a time.
pub(super) fn queue_depth(sysfs: &Path) -> Option<u64> {
    number(&sysfs.join("device/queue_depth"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bus_follows_from_the_kernels_name() {
        let bus = |name: &str| Bus::of(name, Path::new("/sys/devices/x"));
        assert_eq!(bus("nvme0n1"), Bus::Nvme);
        assert_eq!(bus("dm-3"), Bus::Mapper);
        assert_eq!(bus("md127"), Bus::Raid);
        assert_eq!(bus("zram0"), Bus::Memory);
        assert_eq!(bus("nullb0"), Bus::Null);
        assert_eq!(bus("sda"), Bus::Scsi);
        assert_eq!(bus("drbd0"), Bus::Other);
        let virtio = Path::new("/sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda");
        assert_eq!(Bus::of("vda", virtio), Bus::Virtio);
    }

    #[test]
    fn line_rates_and_models_are_read() {
        assert_eq!(line_rate("6.0 Gbps"), Some(600_000_000));
        assert_eq!(line_rate("12.0 Gbit"), Some(1_200_000_000));
        assert_eq!(line_rate("22.5 Gbit"), Some(2_400_000_000));
        assert_eq!(line_rate("<unknown>"), None);
        assert_eq!(scsi_model(Some("ATA".into()), Some("X".into())).as_deref(), Some("X"));
        assert_eq!(scsi_model(Some("WDC".into()), Some("X".into())).as_deref(), Some("WDC X"));
    }
}
