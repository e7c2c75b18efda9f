//! The drives of the machine: sparse files that outlive a boot, so that a scenario can cut the power and look at
//! what survived.

use std::fmt::Write as _;
use std::fs::OpenOptions;

use anyhow::{Context, Result};

use super::cache::{CachedDrive, WriteCache};
use super::nbd::DriveServer;
use super::scratch::Scratch;

/// The drives of one scenario, or of several that share a boot.
#[derive(Debug)]
pub(super) struct Drives {
    folder: Scratch,
    /// Decides what a drive with a write cache loses.
    seed: u64,
    /// Number of the current boot, from 1.
    boot: u32,
    /// What each drive with a write cache lost in the last power cut, as shell assignments.
    lost: String,
}

/// What a boot needs of a drive.
pub(super) struct Attached {
    /// The argument of QEMU's `-drive`.
    pub argument: String,
    /// The server, if the drive has a write cache.
    pub server: Option<DriveServer>,
}

impl Drives {
    /// Without any drive yet.
    pub(super) fn new(seed: u64) -> Result<Self> {
        Ok(Drives { folder: Scratch::new()?, seed, boot: 1, lost: String::new() })
    }

    /// Attaches a drive to the machine. Creates its file if no earlier boot did.
    pub(super) fn attach(
        &self,
        name: &str,
        bytes: u64,
        cache: Option<WriteCache>,
    ) -> Result<Attached> {
        let path = self.folder.join(format!("{name}.img"));
        let create = || {
            let options = OpenOptions::new().create(true).truncate(false).write(true).clone();
            options.open(&path)?.set_len(bytes)
        };
        create().with_context(|| path.display().to_string())?;
        let Some(cache) = cache else {
            let path = path.display();
            let argument =
                format!("id={name},if=none,format=raw,cache=unsafe,discard=unmap,file={path}");
            return Ok(Attached { argument, server: None });
        };
        // Each drive and each boot loses other blocks.
        let own = name
            .bytes()
            .fold(u64::from(self.boot), |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let drive = CachedDrive::open(&path, cache, self.seed ^ own)
            .with_context(|| path.display().to_string())?;
        let socket = self.folder.join(format!("{name}.{}", self.boot));
        let server = DriveServer::start(name, drive, socket)?;
        let socket = server.socket().display();
        let argument = format!(
            "id={name},if=none,format=raw,cache=writeback,file=nbd+unix:///?socket={socket}"
        );
        Ok(Attached { argument, server: Some(server) })
    }

    /// Begins the next boot. `ended`: the servers of the machine, which has ended.
    pub(super) fn next_boot(&mut self, ended: Vec<DriveServer>) -> Result<()> {
        self.boot += 1;
        self.lost.clear();
        for server in ended {
            let name = server.name.replace('-', "_");
            let counts = server.end()?;
            let _ = writeln!(
                self.lost,
                "lost_{name}={} flushes_{name}={}",
                counts.lost, counts.flushes
            );
        }
        Ok(())
    }

    /// The assignments that tell the machine about this boot.
    pub(super) fn order(&self) -> String {
        format!("boot={}\n{}", self.boot, self.lost)
    }

    /// Number of the current boot, from 1.
    pub(super) fn boot(&self) -> u32 {
        self.boot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contents_of_a_drive_outlive_a_boot() {
        let mut drives = Drives::new(1).unwrap();
        let plain = drives.attach("plain", 4096, None).unwrap();
        assert!(plain.argument.contains("cache=unsafe") && plain.server.is_none());
        let image = drives.folder.join("plain.img");
        std::fs::write(&image, [7; 4096]).unwrap();
        let cached =
            drives.attach("a-long-name-of-a-drive", 4096, Some(WriteCache::Volatile)).unwrap();
        assert!(cached.argument.contains("cache=writeback,file=nbd+unix:///?socket=/"));
        assert_eq!((drives.boot(), drives.order().as_str()), (1, "boot=1\n"));
        drives.next_boot(cached.server.into_iter().collect()).unwrap();
        assert_eq!(
            drives.order(),
            "boot=2\nlost_a_long_name_of_a_drive=0 flushes_a_long_name_of_a_drive=0\n"
        );
        drives.attach("plain", 4096, None).unwrap();
        assert_eq!(std::fs::read(image).unwrap(), [7; 4096]);
        // A server of the next boot does not find a socket in its way.
        let again =
            drives.attach("a-long-name-of-a-drive", 4096, Some(WriteCache::Volatile)).unwrap();
        again.server.unwrap().end().unwrap();
    }
}
