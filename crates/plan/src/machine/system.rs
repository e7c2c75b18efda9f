//! [`Facts`] about the machine that this process runs on.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use fiord_sys::file::{self, InodeType};
use fiord_sys::flash::Flash;
use fiord_sys::in_use::{Users, WriteObstacle};
use fiord_sys::nvme::admin::Refused;
use fiord_sys::scsi::generic::Addressee;
use fiord_sys::{block, host, nvme, scsi};
use fiord_types::Bytes;

use crate::machine::facts::{Facts, Found, FoundKind, NotScsi, Passthrough, ScsiDisk, ZoneFacts};

/// The machine that this process runs on.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemFacts;

/// Maximum size of a text file to read, in bytes; placement schemes are smaller.
const MAX_TEXT: u64 = 16 << 20;

fn to_io(error: fiord_sys::Error) -> io::Error {
    error.errno.into()
}

/// Checks that a block device is a whole disk. SCSI commands have addresses on the disk, so they
/// would not stay within a partition.
fn takes_commands(block: file::Device) -> Result<(), NotScsi> {
    match scsi::generic::addressee(block) {
        Addressee::Unit => Ok(()),
        Addressee::Partition => Err(NotScsi::Partition),
        Addressee::BuiltOn(below) => Err(NotScsi::BuiltOn(below)),
        Addressee::Other => Err(NotScsi::OtherDisk),
    }
}

fn node(path: &Path) -> Option<file::Device> {
    file::facts(path).ok()?.node
}

/// What the planner needs to know about a file with these facts.
fn found(path: &Path, facts: file::FileFacts) -> io::Result<Found> {
    let kind = match facts.kind {
        InodeType::Regular | InodeType::Link => FoundKind::Regular,
        InodeType::Block => FoundKind::Block,
        InodeType::Char => FoundKind::Char,
        InodeType::Pipe | InodeType::Socket => FoundKind::Pipe,
        InodeType::Directory => FoundKind::Directory,
    };
    let size = match kind {
        FoundKind::Regular => facts.size,
        FoundKind::Block => file::target_size(path).map_err(to_io)?.unwrap_or_default(),
        // A character device that reports no size has none.
        FoundKind::Char => file::target_size(path).ok().flatten().unwrap_or_default(),
        FoundKind::Pipe | FoundKind::Directory => Bytes::ZERO,
    };
    let access = |mode| rustix::fs::access(path, mode).is_ok();
    Ok(Found {
        kind,
        size: size.0,
        readable: access(rustix::fs::Access::READ_OK),
        writable: access(rustix::fs::Access::WRITE_OK),
    })
}

impl Facts for SystemFacts {
    fn look(&self, path: &Path) -> io::Result<Found> {
        found(path, file::facts(path).map_err(to_io)?)
    }

    fn look_at_link(&self, path: &Path) -> (io::Result<Found>, bool) {
        match file::link_facts(path) {
            Ok(facts) if facts.kind == InodeType::Link => (self.look(path), true),
            Ok(facts) => (found(path, facts), false),
            Err(error) => (Err(to_io(error)), false),
        }
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        let mut todo = vec![directory.to_path_buf()];
        while let Some(next) = todo.pop() {
            for entry in std::fs::read_dir(&next)? {
                let entry = entry?;
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    todo.push(entry.path());
                } else if !kind.is_symlink() {
                    found.push(entry.path());
                }
            }
        }
        found.sort();
        Ok(found)
    }

    fn logical_block(&self, device: &Path) -> Option<u32> {
        block::queue_number(node(device)?, "logical_block_size")?.try_into().ok()
    }

    fn dax_alignment(&self, device: &Path) -> Option<Bytes> {
        block::dax_alignment(node(device)?)
    }

    fn passthrough(&self, device: &Path) -> Option<Passthrough> {
        let node = node(device)?;
        let nvme = fiord_sys::node::nvme_generic_name(node).map(|_| Passthrough::Nvme);
        nvme.or_else(|| scsi::generic::name(node).map(|_| Passthrough::Scsi))
    }

    fn namespace(&self, device: &Path) -> Result<nvme::NvmeDevice, Refused> {
        nvme::device::inspect(device)
    }

    fn generic_sibling(&self, device: &Path) -> Option<PathBuf> {
        nvme::device::generic_sibling(node(device)?)
    }

    fn block_sibling(&self, device: &Path) -> Option<PathBuf> {
        let (name, _) = block::block_device_of_generic(node(device)?)?;
        Some(block::node(&name))
    }

    fn zones(&self, device: &Path) -> Option<ZoneFacts> {
        let found = fiord_sys::zone::outline(device)?;
        Some(ZoneFacts {
            zone_size: found.zone_size.0,
            max_open: found.max_open,
            max_active: found.max_active,
        })
    }

    fn scsi_disk(&self, device: &Path) -> Result<ScsiDisk, NotScsi> {
        let found = file::facts(device)?;
        let block = match (found.kind, found.node) {
            (InodeType::Block, node) => node,
            (_, Some(node)) if scsi::generic::name(node).is_some() => {
                scsi::generic::block_sibling(node).map(|(_, block)| block)
            }
            _ => return Err(NotScsi::OtherDevice),
        };
        if let (InodeType::Block, Some(block)) = (found.kind, block) {
            takes_commands(block)?;
        }
        let capacity = scsi::capacity::of(device)?;
        let kib = block.and_then(|block| block::queue_number(block, "max_hw_sectors_kb"));
        // Some drivers report the largest number if they have no limit.
        let limited = kib.filter(|kib| *kib < u64::from(u32::MAX >> 1));
        Ok(ScsiDisk {
            blocks: capacity.blocks,
            block: capacity.block.0 as u32,
            max_transfer: limited.map(|kib| kib * 1024),
        })
    }

    fn flash(&self, device: &Path) -> Option<Flash> {
        fiord_sys::flash::describe(node(device)?)
    }

    fn user(
        &self,
        device: &Path,
        users: &Users,
    ) -> Result<Option<WriteObstacle>, fiord_sys::Error> {
        users.user(device)
    }

    fn system_directory(&self, path: &Path) -> Option<String> {
        Some(file::directory_of(path).ok()??.directory.to_owned())
    }

    fn is_link(&self, path: &Path) -> bool {
        file::link_facts(path).is_ok_and(|facts| facts.kind == InodeType::Link)
    }

    fn is_created_by_fiord(&self, path: &Path) -> bool {
        file::is_created_by_fiord(path)
    }

    fn takes_buffers(&self, path: &Path) -> bool {
        fiord_sys::memory::takes_buffers(path)
    }

    fn free_space(&self, path: &Path) -> Option<u64> {
        file::space_for(path).ok().map(|s| s.available.0)
    }

    fn placement_ids(&self, device: &Path) -> Result<Vec<u16>, Refused> {
        let node = file::Open::read_only().open(device).map_err(Refused::Kernel)?;
        nvme::placement::identifiers(&node)
    }

    fn write_streams(&self, device: &Path) -> Option<u32> {
        block::queue_number(node(device)?, "max_write_streams")?.try_into().ok()
    }

    fn text(&self, path: &Path) -> io::Result<String> {
        let contents = self.contents(path, Bytes(MAX_TEXT))?;
        String::from_utf8(contents).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
    }

    fn contents(&self, path: &Path, most: Bytes) -> io::Result<Vec<u8>> {
        let size = file::facts(path).map_err(to_io)?.size;
        if size > most {
            return Err(io::Error::other(format!("it has {} bytes, more than {}", size.0, most.0)));
        }
        std::fs::read(path)
    }

    fn open_trace(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        if path == Path::new("-") {
            return Ok(Box::new(io::stdin()));
        }
        if file::facts(path).map_err(to_io)?.kind == InodeType::Socket {
            return Ok(Box::new(UnixStream::connect(path)?));
        }
        Ok(Box::new(std::fs::File::open(path)?))
    }

    fn block_device(&self, major: u32, minor: u32) -> Option<PathBuf> {
        block::name(file::Device { major, minor }).map(|name| block::node(&name))
    }

    fn page_size(&self) -> u64 {
        host::page_size() as u64
    }

    fn huge_pages(&self) -> Vec<u64> {
        fiord_sys::huge_pages::pools().into_iter().map(|pool| pool.page.0).collect()
    }

    fn cpus(&self) -> Vec<u32> {
        numbers("/sys/devices/system/cpu/online").unwrap_or_else(|| {
            let count = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
            (0..count).collect()
        })
    }

    fn nodes(&self) -> Vec<u32> {
        numbers("/sys/devices/system/node/online").unwrap_or_else(|| vec![0])
    }

    fn cpus_of_node(&self, node: u32) -> Vec<u32> {
        let path = format!("/sys/devices/system/node/node{node}/cpulist");
        numbers(&path).unwrap_or_else(|| self.cpus())
    }

    fn entropy(&self) -> u64 {
        // The standard library seeds every `RandomState` from the kernel's random numbers.
        RandomState::new().build_hasher().finish()
    }
}

/// Reads a file of sysfs that contains a list such as `0-3,8`.
fn numbers(path: &str) -> Option<Vec<u32>> {
    parse(std::fs::read_to_string(path).ok()?.trim())
}

fn parse(text: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for part in text.split(',').filter(|p| !p.is_empty()) {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high): (u32, u32) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
        all.extend(low..=high.min(low.saturating_add(65_535)));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_lists_of_sysfs() {
        assert_eq!(parse("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!(parse(""), Some(vec![]));
        assert_eq!(parse("x"), None);
    }

    #[test]
    fn lists_and_looks_up_files() {
        let base = std::env::temp_dir().join(format!("fiord-plan-{}", std::process::id()));
        std::fs::create_dir_all(base.join("in")).unwrap();
        std::fs::write(base.join("in/b"), [0; 10]).unwrap();
        std::fs::write(base.join("a"), []).unwrap();
        std::os::unix::fs::symlink("a", base.join("link")).unwrap();
        let listed = SystemFacts.list(&base);
        let found = SystemFacts.look(&base.join("in/b"));
        let free = SystemFacts.free_space(&base.join("not/there/yet"));
        std::fs::remove_dir_all(&base).unwrap();
        assert_eq!(listed.unwrap(), [base.join("a"), base.join("in/b")]);
        let found = found.unwrap();
        assert_eq!((found.kind, found.size), (FoundKind::Regular, 10));
        assert!(found.readable && free.is_some());
    }

    #[test]
    fn facts_of_this_machine_are_plausible() {
        let machine = SystemFacts;
        assert!(!machine.cpus().is_empty());
        assert!(machine.page_size().is_power_of_two());
        assert_eq!(machine.look(Path::new("/")).unwrap().kind, FoundKind::Directory);
        assert_eq!(
            machine.look(Path::new("/no/such")).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        assert_ne!(machine.entropy(), machine.entropy());
    }
}
