//! The devices of the machine: `tests/vm/devices/NAME.sh`.
//!
//! The header says what the device needs. The functions `up` and `down` of the script start and stop the
//! device inside the machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::cache::WriteCache;
use super::drives::Drives;
use super::header::{self, Header};
use super::nbd::DriveServer;

const KEYS: &[&str] =
    &["gives", "modules", "drive", "cache", "qemu", "not-with", "packages", "files"];

#[derive(Debug)]
pub(super) struct Device {
    /// The name of its file.
    pub name: String,
    /// Description in one line.
    pub title: String,
    /// Names of the device under `/dev/fiord`.
    pub gives: Vec<String>,
    /// Required kernel modules, without their dependencies.
    pub modules: Vec<String>,
    /// Arguments of QEMU, with `DRIVE` for the name of its drive.
    qemu: Vec<String>,
    /// Size of its drive in bytes.
    drive: Option<u64>,
    /// The write cache of its drive, if that can lose its contents.
    cache: Option<WriteCache>,
    /// Devices that cannot run at the same time.
    not_with: Vec<String>,
    /// Files of the host to copy into the machine: absolute paths, in which `*` stands for any characters of the
    /// last component.
    pub files: Vec<String>,
    /// The Debian packages that contain these files.
    pub packages: Vec<String>,
    pub script: PathBuf,
}

impl Device {
    fn read(path: &Path) -> Result<Self> {
        let header = Header::read(path, KEYS)?;
        let drive = header.one("drive")?.map(bytes).transpose()?;
        let cache = header.one("cache")?.map(|text| {
            WriteCache::parse(text)
                .with_context(|| format!("cache is 'volatile', 'lying' or not said, not '{text}'"))
        });
        let stem = path.file_stem().context("a device has a name")?;
        let device = Device {
            name: stem.to_string_lossy().into_owned(),
            gives: header.words("gives"),
            modules: header.words("modules"),
            qemu: header.words("qemu"),
            not_with: header.words("not-with"),
            drive,
            cache: cache.transpose()?,
            files: header.words("files"),
            packages: header.words("packages"),
            title: header.title,
            script: path.to_owned(),
        };
        ensure!(!device.gives.is_empty(), "{}: the header does not say 'gives'", path.display());
        ensure!(device.drive.is_some() || device.cache.is_none(), "a cache needs a drive");
        Ok(device)
    }

    /// Returns QEMU's arguments for the device, and attaches its drive. Adds the server of the drive to `servers`.
    pub(super) fn arguments(
        &self,
        drives: &Drives,
        servers: &mut Vec<DriveServer>,
    ) -> Result<Vec<String>> {
        let mut arguments = Vec::new();
        let drive = format!("{}-drive", self.name);
        if let Some(bytes) = self.drive {
            let attached = drives.attach(&drive, bytes, self.cache)?;
            arguments.extend(["-drive".to_owned(), attached.argument]);
            servers.extend(attached.server);
        }
        arguments.extend(self.qemu.iter().map(|word| word.replace("DRIVE", &drive)));
        Ok(arguments)
    }
}

/// All devices, sorted by name.
#[derive(Debug)]
pub(super) struct Devices(Vec<Device>);

impl Devices {
    /// Reads all devices of a directory.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let mut devices = Vec::new();
        for path in header::scripts(folder)? {
            devices.push(Device::read(&path)?);
        }
        Ok(Devices(devices))
    }

    pub(super) fn named(&self, name: &str) -> Result<&Device> {
        self.0.iter().find(|device| device.name == name).with_context(|| {
            let names: Vec<&str> = self.0.iter().map(|device| device.name.as_str()).collect();
            format!("unknown device '{name}'; available: {}", names.join(", "))
        })
    }

    /// Returns several devices, each once, in the order of their names.
    pub(super) fn named_all(
        &self,
        names: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Vec<&Device>> {
        let mut wanted = BTreeSet::new();
        for name in names {
            wanted.insert(self.named(name.as_ref())?.name.as_str());
        }
        Ok(self.0.iter().filter(|device| wanted.contains(device.name.as_str())).collect())
    }

    /// Returns all devices except those that cannot run at the same time as an earlier one.
    pub(super) fn together(&self) -> Vec<&Device> {
        let mut chosen: Vec<&Device> = Vec::new();
        for device in &self.0 {
            if !chosen.iter().any(|other| device.not_with.contains(&other.name)) {
                chosen.push(device);
            }
        }
        chosen
    }

    /// Returns all devices.
    pub(super) fn all(&self) -> impl Iterator<Item = &Device> {
        self.0.iter()
    }
}

/// Parses a size with its unit: `64M`, `1G`.
fn bytes(text: &str) -> Result<u64> {
    let (number, shift) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 10),
        Some(b'M') => (&text[..text.len() - 1], 20),
        Some(b'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number: u64 = number.parse().with_context(|| format!("'{text}' is not a size"))?;
    number.checked_shl(shift).with_context(|| format!("'{text}' is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_committed_device_can_be_read_and_each_link_is_one_device_s() {
        let devices = Devices::read(&crate::place::root().join("tests/vm/devices")).unwrap();
        let mut links = BTreeSet::new();
        for device in devices.all() {
            for link in &device.gives {
                assert!(links.insert(link.clone()), "{link} is given twice");
            }
            for other in &device.not_with {
                let other = devices.named(other).unwrap();
                assert!(other.not_with.contains(&device.name), "{}", device.name);
            }
        }
        assert!(devices.together().len() > 5);
    }

    #[test]
    fn sizes() {
        assert_eq!(bytes("64M").unwrap(), 64 << 20);
        assert_eq!(bytes("512").unwrap(), 512);
        assert!(bytes("M").is_err());
        assert!(bytes("").is_err());
    }
}
