//! A drive with a write cache that loses its contents when the power fails.
//!
//! Writes stay in memory until the host flushes them. When the power fails, each cached block survives or is lost
//! at random, independently of the others. A cached block that is overwritten may reach the medium before, because
//! drives also write back without a flush.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes of a block, the unit that survives or is lost. The namespaces that use such drives have blocks of this size.
const BLOCK: usize = 512;

/// What a drive does with writes that it has acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteCache {
    /// The drive keeps them in volatile memory until a flush or a write with FUA.
    Volatile,
    /// The drive keeps them in volatile memory, and acknowledges flushes without doing them.
    Lying,
}

impl WriteCache {
    /// Parses the value of `cache:` in the header of a device.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "volatile" => Some(WriteCache::Volatile),
            "lying" => Some(WriteCache::Lying),
            _ => None,
        }
    }
}

/// What happened to a drive during a boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DriveCounts {
    /// Acknowledged flushes.
    pub flushes: u64,
    /// Blocks that were lost when the power failed.
    pub lost: u64,
}

/// A drive: a file, and the blocks in its cache.
#[derive(Debug)]
pub(super) struct CachedDrive {
    medium: File,
    size: u64,
    cache: WriteCache,
    cached: BTreeMap<u64, [u8; BLOCK]>,
    random: u64,
    counts: DriveCounts,
}

impl CachedDrive {
    /// Opens the file of a drive. `seed` decides which blocks are lost.
    pub(super) fn open(path: &Path, cache: WriteCache, seed: u64) -> io::Result<Self> {
        let medium = OpenOptions::new().read(true).write(true).open(path)?;
        let size = medium.metadata()?.len();
        let (cached, counts) = (BTreeMap::new(), DriveCounts::default());
        Ok(CachedDrive { medium, size, cache, cached, random: seed, counts })
    }

    /// Size in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Whether blocks begin and end at these bytes, and lie on the drive.
    pub(super) fn has(&self, offset: u64, length: u64) -> bool {
        let whole = |bytes: u64| bytes.is_multiple_of(BLOCK as u64);
        whole(offset)
            && whole(length)
            && offset.checked_add(length).is_some_and(|end| end <= self.size)
    }

    /// Reads blocks.
    pub(super) fn read(&self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        self.medium.read_exact_at(data, offset)?;
        let first = offset / BLOCK as u64;
        for (block, bytes) in self.cached.range(first..first + (data.len() / BLOCK) as u64) {
            let at = (block - first) as usize * BLOCK;
            data[at..at + BLOCK].copy_from_slice(bytes);
        }
        Ok(())
    }

    /// Writes blocks. With `durable` (FUA), they reach the medium before the write is acknowledged.
    pub(super) fn write(&mut self, offset: u64, data: &[u8], durable: bool) -> io::Result<()> {
        let through = durable && self.cache == WriteCache::Volatile;
        for (i, bytes) in data.as_chunks::<BLOCK>().0.iter().enumerate() {
            let block = offset / BLOCK as u64 + i as u64;
            if let Some(older) = self.cached.remove(&block)
                && self.coin()
            {
                self.medium.write_all_at(&older, block * BLOCK as u64)?;
            }
            if through {
                self.medium.write_all_at(bytes, block * BLOCK as u64)?;
            } else {
                self.cached.insert(block, *bytes);
            }
        }
        Ok(())
    }

    /// Acknowledges a flush. Only an honest drive makes its cache durable.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.counts.flushes += 1;
        if self.cache == WriteCache::Volatile { self.write_back() } else { Ok(()) }
    }

    /// Switches the drive off in good order: it writes its cache to the medium.
    pub(super) fn switch_off(mut self) -> io::Result<DriveCounts> {
        self.write_back()?;
        Ok(self.counts)
    }

    /// The power fails: a random part of the cache is lost.
    pub(super) fn lose_power(mut self) -> io::Result<DriveCounts> {
        for (block, bytes) in std::mem::take(&mut self.cached) {
            if self.coin() {
                self.medium.write_all_at(&bytes, block * BLOCK as u64)?;
            } else {
                self.counts.lost += 1;
            }
        }
        Ok(self.counts)
    }

    fn write_back(&mut self) -> io::Result<()> {
        for (block, bytes) in std::mem::take(&mut self.cached) {
            self.medium.write_all_at(&bytes, block * BLOCK as u64)?;
        }
        Ok(())
    }

    /// Returns `true` in half of all calls (the generator is SplitMix64).
    fn coin(&mut self) -> bool {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: usize = 256;

    fn drive(name: &str, cache: WriteCache) -> (CachedDrive, std::path::PathBuf) {
        let path = std::env::temp_dir().join(format!("fiord-cache-{}-{name}", std::process::id()));
        std::fs::write(&path, vec![0u8; BLOCKS * BLOCK]).unwrap();
        (CachedDrive::open(&path, cache, 7).unwrap(), path)
    }

    /// Number of blocks on the medium that contain `byte`.
    fn on_medium(path: &Path, byte: u8) -> usize {
        let data = std::fs::read(path).unwrap();
        data.chunks(BLOCK).filter(|block| block.iter().all(|b| *b == byte)).count()
    }

    #[test]
    fn what_was_flushed_survives_and_the_rest_at_random() {
        let (mut drive, path) = drive("volatile", WriteCache::Volatile);
        drive.write(0, &[1; BLOCKS * BLOCK], false).unwrap();
        assert_eq!(on_medium(&path, 1), 0, "the cache is not the medium");
        drive.flush().unwrap();
        assert_eq!(on_medium(&path, 1), BLOCKS);
        drive.write(0, &[2; BLOCKS * BLOCK], false).unwrap();
        let mut back = vec![0; BLOCKS * BLOCK];
        drive.read(0, &mut back).unwrap();
        assert!(back.iter().all(|b| *b == 2), "a read returns what was written");
        let counts = drive.lose_power().unwrap();
        let newer = on_medium(&path, 2);
        assert!((64..192).contains(&newer), "{newer} of 256 blocks survive");
        assert_eq!(on_medium(&path, 1), BLOCKS - newer);
        assert_eq!(counts, DriveCounts { flushes: 1, lost: (BLOCKS - newer) as u64 });
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_write_with_fua_survives_without_a_flush() {
        let (mut drive, path) = drive("fua", WriteCache::Volatile);
        drive.write(0, &[1; BLOCKS * BLOCK], false).unwrap();
        drive.write(0, &[2; 64 * BLOCK], true).unwrap();
        drive.lose_power().unwrap();
        let data = std::fs::read(&path).unwrap();
        assert!(data[..64 * BLOCK].iter().all(|b| *b == 2), "an older cached block replaced it");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_lying_drive_loses_what_was_flushed() {
        let (mut drive, path) = drive("lying", WriteCache::Lying);
        drive.write(0, &[1; 128 * BLOCK], false).unwrap();
        drive.write(128 * BLOCK as u64, &[1; 128 * BLOCK], true).unwrap();
        drive.flush().unwrap();
        let counts = drive.lose_power().unwrap();
        assert!(counts.flushes == 1 && counts.lost > 64, "{counts:?}");
        assert_eq!(on_medium(&path, 1), BLOCKS - counts.lost as usize);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn nothing_is_lost_when_it_is_switched_off_in_good_order() {
        let (mut drive, path) = drive("off", WriteCache::Lying);
        drive.write(0, &[1; BLOCKS * BLOCK], false).unwrap();
        assert_eq!(drive.switch_off().unwrap().lost, 0);
        assert_eq!(on_medium(&path, 1), BLOCKS);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn only_whole_blocks_of_the_drive() {
        let (drive, path) = drive("has", WriteCache::Volatile);
        assert!(drive.has(0, drive.size()) && !drive.has(512, drive.size()) && !drive.has(0, 100));
        assert!(!drive.has(u64::MAX - 511, 512));
        std::fs::remove_file(path).unwrap();
    }
}
