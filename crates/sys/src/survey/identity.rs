//! What a disk is called: by its maker, by its bus, and by the kernel's other nodes.

use std::path::{Path, PathBuf};

use crate::nvme;
use crate::root::{Root, names, number, text};

/// What kind of device the kernel's name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bus {
    /// An NVMe namespace.
    Nvme,
    /// A SCSI disk: SAS, iSCSI, USB …
    Scsi,
    /// A disk of the ATA layer.
    Ata,
    /// A paravirtual disk.
    Virtio,
    /// SD card or eMMC.
    Mmc,
    /// Device mapper.
    Mapper,
    /// Linux software RAID.
    Raid,
    /// A file.
    Loop,
    /// Memory: `zram`, `ram`, `pmem`.
    Memory,
    /// `null_blk`.
    Null,
    /// Anything else.
    Other,
}

impl Bus {
    /// In one word.
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

    /// Whether there is a device behind it that is not another block device or a file.
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

/// Names and numbers of one disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// The maker's name for it; for what nobody made, what it is built on.
    pub model: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// World wide identifier.
    pub wwid: Option<String>,
}

impl Identity {
    pub(super) fn of(bus: Bus, sysfs: &Path) -> Identity {
        let device = sysfs.join("device");
        let of_device = |name: &str| text(&device.join(name));
        let own = |name: &str| text(&sysfs.join(name));
        match bus {
            Bus::Nvme => Identity {
                model: of_device("model"),
                firmware: of_device("firmware_rev"),
                serial: of_device("serial"),
                wwid: own("wwid"),
            },
            Bus::Scsi | Bus::Ata => Identity {
                model: scsi_model(of_device("vendor"), of_device("model")),
                firmware: of_device("rev"),
                serial: vital_serial(&device.join("vpd_pg80")),
                wwid: of_device("wwid"),
            },
            Bus::Mmc => Identity {
                model: of_device("name"),
                firmware: of_device("fwrev"),
                serial: of_device("serial"),
                wwid: None,
            },
            Bus::Mapper => {
                Identity { model: own("dm/name"), wwid: own("dm/uuid"), ..Identity::default() }
            }
            Bus::Raid => Identity { model: own("md/level"), ..Identity::default() },
            Bus::Loop => Identity { model: own("loop/backing_file"), ..Identity::default() },
            _ => Identity { serial: own("serial"), wwid: own("wwid"), ..Identity::default() },
        }
    }
}

/// `ATA` is what the kernel's translation layer says for a vendor, not a maker.
fn scsi_model(vendor: Option<String>, model: Option<String>) -> Option<String> {
    match (vendor, model) {
        (Some(vendor), Some(model)) if vendor != "ATA" => Some(format!("{vendor} {model}")),
        (_, model) => model,
    }
}

/// Unit Serial Number VPD page (SPC-6, 7.7.19): four bytes of header, then text.
fn vital_serial(path: &Path) -> Option<String> {
    let page = std::fs::read(path).ok()?;
    let serial = String::from_utf8_lossy(page.get(4..)?).trim_matches(['\0', ' ']).to_owned();
    (!serial.is_empty()).then_some(serial)
}

/// The generic character device of an NVMe namespace's block device: `ng0n1` of `nvme0n1`.
pub(super) fn generic(root: &Root, name: &str) -> Option<String> {
    let generic = nvme::device::generic_name_of(name)?;
    root.path("/sys/class/nvme-generic").join(&generic).exists().then_some(generic)
}

/// Directories of the controllers that lead to a namespace: one, or with multipath several.
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

/// The `ata1/link1/ata_link/link1` directory of a disk of the ATA layer.
fn ata_link(sysfs: &Path) -> Option<PathBuf> {
    let port = sysfs.ancestors().find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_prefix("ata").is_some_and(|n| n.parse::<u32>().is_ok())
    })?;
    let link = names(port).into_iter().find(|name| name.starts_with("link"))?;
    Some(port.join(&link).join("ata_link").join(link))
}

/// Bytes a second between a SCSI or ATA disk and its adapter, after 8b/10b coding (SATA 3.5, SAS-3;
/// SAS-4 at 22.5 Gbit/s codes 128b/150b).
pub(super) fn cable(sysfs: &Path) -> Option<u64> {
    if let Some(link) = ata_link(sysfs) {
        return line_rate(&text(&link.join("sata_spd"))?);
    }
    // The port nearest to the disk: `port-0:0/end_device-0:0/target0:0:0/…`.
    let port = sysfs.ancestors().find(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("port-"))
    })?;
    let rates = names(port).into_iter().filter(|name| name.starts_with("phy-")).filter_map(|phy| {
        line_rate(&text(&port.join(&phy).join("sas_phy").join(&phy).join("negotiated_linkrate"))?)
    });
    Some(rates.sum()).filter(|sum| *sum > 0)
}

/// `6.0 Gbps`, `12.0 Gbit`.
fn line_rate(text: &str) -> Option<u64> {
    let rate: f64 = text.split_whitespace().next()?.parse().ok()?;
    let coded = if rate > 20.0 { 128.0 / 150.0 } else { 0.8 };
    (rate > 0.0).then_some((rate * 1e9 * coded / 8.0) as u64)
}

/// How many commands a SCSI or ATA device takes at a time.
pub(super) fn queue_depth(sysfs: &Path) -> Option<u64> {
    number(&sysfs.join("device/queue_depth"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buses_by_name() {
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
    fn cables() {
        assert_eq!(line_rate("6.0 Gbps"), Some(600_000_000));
        assert_eq!(line_rate("12.0 Gbit"), Some(1_200_000_000));
        assert_eq!(line_rate("22.5 Gbit"), Some(2_400_000_000));
        assert_eq!(line_rate("<unknown>"), None);
        assert_eq!(scsi_model(Some("ATA".into()), Some("X".into())).as_deref(), Some("X"));
        assert_eq!(scsi_model(Some("WDC".into()), Some("X".into())).as_deref(), Some("WDC X"));
    }
}
