//! An imaginary machine for tests.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use fiord_sys::flash::Flash;
use fiord_sys::in_use::{DeviceUse, Users, WriteObstacle};
use fiord_sys::nvme;
use fiord_sys::nvme::admin::Refused;
use fiord_types::{Bytes, Errno};

use crate::ScsiDisk;
use crate::machine::facts::{Facts, Found, FoundKind, NotScsi, Passthrough, ZoneFacts};

/// An imaginary machine: mainly a map from paths to files.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fake {
    things: BTreeMap<PathBuf, Found>,
    mounted: Vec<PathBuf>,
    secret: Vec<PathBuf>,
    streams: Vec<(PathBuf, u32)>,
    contents: BTreeMap<PathBuf, Vec<u8>>,
    namespaces: BTreeMap<PathBuf, Result<nvme::NvmeDevice, Refused>>,
    zoned: Vec<(PathBuf, ZoneFacts)>,
    flashes: Vec<(PathBuf, Flash)>,
}

impl Fake {
    /// A machine without files.
    pub(crate) fn empty() -> Self {
        Fake::default()
    }
    /// Adds a file of a kind and size in bytes.
    pub(crate) fn with(mut self, path: &str, kind: FoundKind, size: u64) -> Self {
        let found = Found { kind, size, readable: true, writable: true };
        self.things.insert(path.into(), found);
        self
    }
    /// Adds a regular file.
    pub(crate) fn file(self, path: &str, size: u64) -> Self {
        self.with(path, FoundKind::Regular, size)
    }
    /// Adds a file without permission to read or write.
    pub(crate) fn locked(mut self, path: &str) -> Self {
        let found =
            Found { kind: FoundKind::Regular, size: 1 << 20, readable: false, writable: false };
        self.things.insert(path.into(), found);
        self
    }
    /// Adds a directory.
    pub(crate) fn dir(self, path: &str) -> Self {
        self.with(path, FoundKind::Directory, 4096)
    }
    /// Adds a block device.
    pub(crate) fn disk(self, path: &str, size: u64) -> Self {
        self.with(path, FoundKind::Block, size)
    }
    /// Adds a block device that has write streams.
    pub(crate) fn streaming(mut self, path: &str, streams: u32) -> Self {
        self.streams.push((path.into(), streams));
        self.disk(path, 1 << 30)
    }
    /// Adds a text file.
    pub(crate) fn text_file(self, path: &str, text: &str) -> Self {
        self.file_of(path, text.as_bytes())
    }
    /// Adds a regular file with these contents.
    pub(crate) fn file_of(mut self, path: &str, contents: &[u8]) -> Self {
        self.contents.insert(path.into(), contents.into());
        self.file(path, contents.len() as u64)
    }
    /// Adds the generic character device of an NVMe namespace.
    pub(crate) fn namespace(mut self, path: &str, device: nvme::NvmeDevice) -> Self {
        self.namespaces.insert(path.into(), Ok(device));
        self.with(path, FoundKind::Char, 0)
    }
    /// Adds the generic character device of a namespace that cannot be identified.
    pub(crate) fn mute(mut self, path: &str, why: &str) -> Self {
        self.namespaces.insert(path.into(), Err(refused(why)));
        self.with(path, FoundKind::Char, 0)
    }
    /// Adds the generic character device of a namespace whose block device is mounted.
    pub(crate) fn mounted_namespace(mut self, path: &str, device: nvme::NvmeDevice) -> Self {
        self.mounted.push(path.into());
        self.namespace(path, device)
    }
    /// Adds the generic character device of a namespace whose block device cannot be opened.
    pub(crate) fn secret_namespace(mut self, path: &str, device: nvme::NvmeDevice) -> Self {
        self.secret.push(path.into());
        self.namespace(path, device)
    }
    /// Adds a zoned block device: zones of 16 MiB, of which 14 can be open.
    pub(crate) fn zoned(mut self, path: &str, zones: u64) -> Self {
        let facts = ZoneFacts { zone_size: 16 << 20, max_open: Some(14), max_active: Some(14) };
        self.zoned.push((path.into(), facts));
        self.disk(path, zones << 24)
    }
    /// Adds the generic character device of a zoned namespace: zones of 1 MiB.
    pub(crate) fn zoned_namespace(mut self, path: &str, device: nvme::NvmeDevice) -> Self {
        let facts = ZoneFacts { zone_size: 1 << 20, max_open: None, max_active: None };
        self.zoned.push((path.into(), facts));
        self.namespace(path, device)
    }
    /// Adds the zones of a SCSI disk that is there already: 32 zones of 16 MiB, of which 8 can be open.
    pub(crate) fn zones_of(mut self, path: &str) -> Self {
        let facts = ZoneFacts { zone_size: 16 << 20, max_open: Some(8), max_active: None };
        self.zoned.push((path.into(), facts));
        self
    }
    /// Adds a raw flash.
    pub(crate) fn flash(mut self, path: &str, flash: Flash) -> Self {
        let size = flash.size.0;
        self.flashes.push((path.into(), flash));
        self.with(path, FoundKind::Char, size)
    }
    /// Adds a regular file that backs a mounted loop device.
    pub(crate) fn used_file(mut self, path: &str, size: u64) -> Self {
        self.mounted.push(path.into());
        self.file(path, size)
    }
    /// Adds a mounted block device.
    pub(crate) fn mounted(mut self, path: &str) -> Self {
        self.mounted.push(path.into());
        self.disk(path, 1 << 30)
    }
}

fn refused(why: &str) -> Refused {
    Refused::Kernel(fiord_sys::Error::new("identify", Errno::EACCES).saying(why))
}

impl Facts for Fake {
    fn look(&self, path: &Path) -> io::Result<Found> {
        self.things.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        self.look(directory)?;
        let below = self
            .things
            .iter()
            .filter(|(p, f)| p.starts_with(directory) && f.kind != FoundKind::Directory);
        Ok(below.map(|(p, _)| p.clone()).collect())
    }
    fn logical_block(&self, _: &Path) -> Option<u32> {
        Some(512)
    }
    fn dax_alignment(&self, device: &Path) -> Option<Bytes> {
        device.to_str()?.starts_with("/dev/dax").then_some(Bytes(2 << 20))
    }
    fn passthrough(&self, device: &Path) -> Option<Passthrough> {
        match device == Path::new("/dev/sg0") {
            true => Some(Passthrough::Scsi),
            false => self.namespaces.contains_key(device).then_some(Passthrough::Nvme),
        }
    }
    fn namespace(&self, device: &Path) -> Result<nvme::NvmeDevice, Refused> {
        self.namespaces.get(device).cloned().unwrap_or_else(|| Err(refused("there is none")))
    }
    fn generic_sibling(&self, device: &Path) -> Option<PathBuf> {
        (device == Path::new("/dev/nvme0n1")).then(|| "/dev/ng0n1".into())
    }
    fn block_sibling(&self, device: &Path) -> Option<PathBuf> {
        (device == Path::new("/dev/ng0n1")).then(|| "/dev/nvme0n1".into())
    }
    fn zones(&self, device: &Path) -> Option<ZoneFacts> {
        self.zoned.iter().find(|(path, _)| path == device).map(|(_, facts)| *facts)
    }
    fn scsi_disk(&self, device: &Path) -> Result<ScsiDisk, NotScsi> {
        match device.to_str() {
            Some("/dev/sda" | "/dev/sg0") => {
                Ok(ScsiDisk { blocks: 1 << 20, block: 512, max_transfer: Some(1 << 19) })
            }
            Some("/dev/sda1") => Err(NotScsi::Partition),
            _ => Err(NotScsi::OtherDevice),
        }
    }
    fn flash(&self, device: &Path) -> Option<Flash> {
        self.flashes.iter().find(|(path, _)| path == device).map(|(_, flash)| flash.clone())
    }
    fn user(&self, device: &Path, _: &Users) -> Result<Option<WriteObstacle>, fiord_sys::Error> {
        match self.mounted.iter().any(|m| m == device) {
            true => {
                let listed = DeviceUse::Mounted { device: "it".into(), point: "/mnt".into() };
                Ok(Some(WriteObstacle::Listed(listed)))
            }
            false if self.secret.iter().any(|s| s == device) => {
                Err(fiord_sys::Error::new("open", Errno::EACCES).saying("EACCES"))
            }
            false => Ok(None),
        }
    }
    fn system_directory(&self, path: &Path) -> Option<String> {
        let names = ["/etc", "/usr", "/dev"];
        names.iter().find(|name| path.starts_with(name)).map(|name| name.to_string())
    }
    fn is_link(&self, path: &Path) -> bool {
        path.ends_with("link.0.0")
    }
    fn is_created_by_fiord(&self, path: &Path) -> bool {
        path.ends_with("own")
    }
    fn takes_buffers(&self, path: &Path) -> bool {
        self.look(path).map_or(true, |found| found.size == 0)
    }
    fn free_space(&self, _: &Path) -> Option<u64> {
        Some(1 << 30)
    }
    fn placement_ids(&self, _: &Path) -> Result<Vec<u16>, Refused> {
        Ok(vec![0, 1, 2, 0x100])
    }
    fn write_streams(&self, device: &Path) -> Option<u32> {
        self.streams.iter().find(|s| s.0 == device).map(|s| s.1)
    }
    fn text(&self, path: &Path) -> io::Result<String> {
        let contents = self.contents(path, Bytes(u64::MAX))?;
        String::from_utf8(contents).map_err(io::Error::other)
    }
    fn contents(&self, path: &Path, _: Bytes) -> io::Result<Vec<u8>> {
        self.contents.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
    fn open_trace(&self, path: &Path) -> io::Result<Box<dyn io::Read + Send>> {
        Ok(Box::new(io::Cursor::new(self.contents(path, Bytes(u64::MAX))?)))
    }
    fn block_device(&self, major: u32, minor: u32) -> Option<PathBuf> {
        (major == 8)
            .then(|| PathBuf::from(format!("/dev/sd{}", (b'a' + (minor / 16) as u8) as char)))
    }
    fn page_size(&self) -> u64 {
        4096
    }
    fn huge_pages(&self) -> Vec<u64> {
        vec![2 << 20, 1 << 30]
    }
    fn cpus(&self) -> Vec<u32> {
        vec![0, 1, 2, 3]
    }
    fn nodes(&self) -> Vec<u32> {
        vec![0, 1]
    }
    fn cpus_of_node(&self, node: u32) -> Vec<u32> {
        vec![node * 2, node * 2 + 1]
    }
    fn entropy(&self) -> u64 {
        42
    }
}
