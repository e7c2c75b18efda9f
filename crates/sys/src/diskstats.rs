//! The activity of the disks below a file, from the kernel's counters.
//!
//! The counters start at boot; the activity during a run is the difference of two readings. The
//! kernel counts an I/O when it completes, so readings before the first and after the last I/O are
//! exact however short the run is. Only the busy time is coarse: the kernel keeps it in scheduler
//! ticks (1 to 10 ms).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fiord_types::{Bytes, Errno, Nanos};

use crate::file::{Device, InodeType};
use crate::{Error, Result, block, clock, file, mount, node};

/// Counters of one block device, as in `/sys/block/*/stat` (Linux: Documentation/block/stat.rst).
/// The kernel counts times in milliseconds and data in sectors of 512 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Reads completed.
    pub read_ios: u64,
    /// Reads that were merged into another request before they reached the device.
    pub read_merges: u64,
    pub read_bytes: Bytes,
    /// Total time of all reads.
    pub read_time: Nanos,
    /// Writes completed.
    pub write_ios: u64,
    /// Writes that were merged into another request.
    pub write_merges: u64,
    /// Bytes written.
    pub write_bytes: Bytes,
    /// Total time of all writes.
    pub write_time: Nanos,
    /// I/Os in flight at the time of the reading. A difference keeps the later value.
    pub in_flight: u64,
    /// Time in which at least one I/O was in flight.
    pub busy: Nanos,
    /// Total time of all I/Os (`time_in_queue`).
    pub in_queue: Nanos,
    /// Discards completed (Linux 4.18).
    pub discard_ios: u64,
    /// Discards that were merged into another request.
    pub discard_merges: u64,
    pub discard_bytes: Bytes,
    /// Total time of all discards.
    pub discard_time: Nanos,
    /// Cache flushes completed (Linux 5.5).
    pub flush_ios: u64,
    /// Total time of all cache flushes.
    pub flush_time: Nanos,
}

impl Counters {
    /// Parses the numbers of a `stat` file, or of a `/proc/diskstats` line after the name: 11 fields,
    /// 15 since Linux 4.18, 17 since 5.5. Further fields are ignored.
    #[must_use]
    pub fn parse(text: &str) -> Option<Counters> {
        let mut fields = [0u64; 17];
        let mut count = 0;
        for (slot, word) in fields.iter_mut().zip(text.split_whitespace()) {
            *slot = word.parse().ok()?;
            count += 1;
        }
        let f = &fields;
        let sectors = Bytes::from_sectors;
        (count >= 11).then_some(Counters {
            read_ios: f[0],
            read_merges: f[1],
            read_bytes: sectors(f[2]),
            read_time: Nanos::from_millis(f[3]),
            write_ios: f[4],
            write_merges: f[5],
            write_bytes: sectors(f[6]),
            write_time: Nanos::from_millis(f[7]),
            in_flight: f[8],
            busy: Nanos::from_millis(f[9]),
            in_queue: Nanos::from_millis(f[10]),
            discard_ios: f[11],
            discard_merges: f[12],
            discard_bytes: sectors(f[13]),
            discard_time: Nanos::from_millis(f[14]),
            flush_ios: f[15],
            flush_time: Nanos::from_millis(f[16]),
        })
    }

    /// Returns the change from `earlier` to this reading. Tick counters wrap at 2^32 in the kernel.
    #[must_use]
    pub fn since(&self, earlier: &Counters) -> Counters {
        let count = |now: u64, then: u64| now.saturating_sub(then);
        let ticks = |now: Nanos, then: Nanos| {
            let (now, then) = (now.as_millis(), then.as_millis());
            let wrapped = || u64::from((now as u32).wrapping_sub(then as u32));
            Nanos::from_millis(now.checked_sub(then).unwrap_or_else(wrapped))
        };
        let (n, e) = (self, earlier);
        Counters {
            read_ios: count(n.read_ios, e.read_ios),
            read_merges: count(n.read_merges, e.read_merges),
            read_bytes: n.read_bytes.saturating_sub(e.read_bytes),
            read_time: ticks(n.read_time, e.read_time),
            write_ios: count(n.write_ios, e.write_ios),
            write_merges: count(n.write_merges, e.write_merges),
            write_bytes: n.write_bytes.saturating_sub(e.write_bytes),
            write_time: ticks(n.write_time, e.write_time),
            in_flight: n.in_flight,
            busy: ticks(n.busy, e.busy),
            in_queue: ticks(n.in_queue, e.in_queue),
            discard_ios: count(n.discard_ios, e.discard_ios),
            discard_merges: count(n.discard_merges, e.discard_merges),
            discard_bytes: n.discard_bytes.saturating_sub(e.discard_bytes),
            discard_time: ticks(n.discard_time, e.discard_time),
            flush_ios: count(n.flush_ios, e.flush_ios),
            flush_time: ticks(n.flush_time, e.flush_time),
        }
    }

    /// Returns the sum of two changes that follow each other; `later` is the second.
    #[must_use]
    pub fn plus(&self, later: &Counters) -> Counters {
        let (n, l) = (self, later);
        Counters {
            read_ios: n.read_ios.saturating_add(l.read_ios),
            read_merges: n.read_merges.saturating_add(l.read_merges),
            read_bytes: n.read_bytes.saturating_add(l.read_bytes),
            read_time: n.read_time.saturating_add(l.read_time),
            write_ios: n.write_ios.saturating_add(l.write_ios),
            write_merges: n.write_merges.saturating_add(l.write_merges),
            write_bytes: n.write_bytes.saturating_add(l.write_bytes),
            write_time: n.write_time.saturating_add(l.write_time),
            in_flight: l.in_flight,
            busy: n.busy.saturating_add(l.busy),
            in_queue: n.in_queue.saturating_add(l.in_queue),
            discard_ios: n.discard_ios.saturating_add(l.discard_ios),
            discard_merges: n.discard_merges.saturating_add(l.discard_merges),
            discard_bytes: n.discard_bytes.saturating_add(l.discard_bytes),
            discard_time: n.discard_time.saturating_add(l.discard_time),
            flush_ios: n.flush_ios.saturating_add(l.flush_ios),
            flush_time: n.flush_time.saturating_add(l.flush_time),
        }
    }
}

/// One line of `/proc/diskstats`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Device number.
    pub device: Device,
    /// The kernel's name.
    pub name: String,
    /// Counters of this device.
    pub counters: Counters,
}

/// Parses `/proc/diskstats`. Lines in an unknown format are skipped (partitions had four numbers
/// before Linux 2.6.25).
pub fn parse(text: &str) -> Vec<Line> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Line> {
    let (major, rest) = line.trim_start().split_once(' ')?;
    let (minor, rest) = rest.trim_start().split_once(' ')?;
    let (name, rest) = rest.trim_start().split_once(' ')?;
    let device = Device { major: major.parse().ok()?, minor: minor.parse().ok()? };
    Some(Line { device, name: name.to_owned(), counters: Counters::parse(rest)? })
}

/// A whole disk, with the disks that it is built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedDisk {
    /// The kernel's name: `sda`, `nvme0n1`, `dm-0`, `md127`.
    pub name: String,
    /// The disk's sysfs directory, which contains `stat`.
    sysfs: PathBuf,
    /// The whole disks that a device-mapper or md device is built on, or the paths of an NVMe multipath
    /// device; each once, ordered by name.
    pub members: Vec<CountedDisk>,
}

impl CountedDisk {
    /// Returns the whole disk of a block device or partition; `None` if sysfs does not know it.
    #[must_use]
    pub fn of(device: Device) -> Option<CountedDisk> {
        CountedDisk::at(&block::whole_disk_path(device)?, 8)
    }

    /// `depth` bounds the recursion, so that a loop in sysfs cannot make this run forever.
    fn at(sysfs: &Path, depth: usize) -> Option<CountedDisk> {
        let name = sysfs.file_name()?.to_str()?.to_owned();
        let mut members: Vec<CountedDisk> = match depth {
            0 => Vec::new(),
            _ => below(sysfs, &name)
                .iter()
                .filter_map(|path| CountedDisk::at(path, depth - 1))
                .collect(),
        };
        members.sort_by(|a, b| a.name.cmp(&b.name));
        members.dedup_by(|a, b| a.name == b.name);
        Some(CountedDisk { name, sysfs: sysfs.to_path_buf(), members })
    }

    /// Reads the temperature in °C; that of the hottest disk for a device that is built from others. `None` if there is
    /// no sensor.
    #[must_use]
    pub fn temperature(&self) -> Option<f64> {
        let own = crate::survey::temperature(&self.sysfs);
        let hottest = |members: &[CountedDisk]| {
            members.iter().filter_map(CountedDisk::temperature).reduce(f64::max)
        };
        own.or_else(|| hottest(&self.members))
    }

    /// Reads the current counters.
    ///
    /// # Errors
    /// Errors of reading the `stat` file; `EINVAL` if its format is unknown.
    pub fn counters(&self) -> Result<Counters> {
        let path = self.sysfs.join("stat");
        let text = std::fs::read_to_string(&path)
            .map_err(|error| Error::from_io("read", &error).at(&path))?;
        Counters::parse(&text).ok_or_else(|| Error::new("parse", Errno::EINVAL).at(path))
    }
}

/// Returns the sysfs directories of the whole disks directly below a disk.
fn below(sysfs: &Path, name: &str) -> Vec<PathBuf> {
    let list = |directory: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(directory).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
    };
    let mut found = Vec::new();
    for link in list(&sysfs.join("slaves")) {
        let Ok(path) = link.canonicalize() else { continue };
        let whole = if path.join("partition").exists() { path.parent() } else { None };
        found.push(whole.map_or(path.clone(), Path::to_path_buf));
    }
    if let Some((subsystem, namespace)) = nvme_head(name) {
        for path in list(Path::new("/sys/block")) {
            let is_path = path
                .file_name()
                .and_then(|file| file.to_str())
                .is_some_and(|file| nvme_path(file) == Some((subsystem, namespace)));
            if let (true, Ok(path)) = (is_path, path.canonicalize()) {
                found.push(path);
            }
        }
    }
    found
}

/// Parses the name of a namespace, which may be the head of a multipath device: `nvme1n2` → (1, 2).
fn nvme_head(name: &str) -> Option<(u32, u32)> {
    let (subsystem, namespace) = name.strip_prefix("nvme")?.split_once('n')?;
    Some((subsystem.parse().ok()?, namespace.parse().ok()?))
}

/// Parses the name of a path to a namespace: `nvme1c3n2` → (1, 2), through controller 3.
fn nvme_path(name: &str) -> Option<(u32, u32)> {
    let (subsystem, rest) = name.strip_prefix("nvme")?.split_once('c')?;
    let (controller, namespace) = rest.split_once('n')?;
    controller.parse::<u32>().ok()?;
    Some((subsystem.parse().ok()?, namespace.parse().ok()?))
}

/// Returns the whole disks that hold a path (a file, a directory, a device, or a file that does not
/// exist yet). Empty if the path is on no disk of this machine: tmpfs, NFS, `/dev/null`.
///
/// For a file system with several devices (btrfs) it returns all of them, for an overlay those of
/// the upper directory.
///
/// # Errors
/// Errors of `stat(2)` and of reading the mount table.
pub fn disks_of(path: &Path) -> Result<Vec<CountedDisk>> {
    let mut disks: Vec<CountedDisk> = Vec::new();
    for device in devices_of(path, 4)? {
        if let Some(disk) = CountedDisk::of(device)
            && !disks.iter().any(|known| known.name == disk.name)
        {
            disks.push(disk);
        }
    }
    Ok(disks)
}

/// Finds the disks that hold paths. It looks up each file system once, because a job may have a
/// hundred thousand files.
#[derive(Debug, Default)]
pub struct DiskFinder {
    /// Key: the device number of the file system (`false`), or of the block device itself (`true`).
    known: HashMap<(Device, bool), Arc<[CountedDisk]>>,
}

impl DiskFinder {
    /// Returns what [`disks_of`] returns for this path; empty if that fails.
    pub fn find(&mut self, path: &Path) -> Arc<[CountedDisk]> {
        let Some(place) = place(path) else {
            return disks_of(path).unwrap_or_default().into();
        };
        let find = || disks_of(path).unwrap_or_default().into();
        Arc::clone(self.known.entry(place).or_insert_with(find))
    }
}

/// Returns the key under which the disks of a path are cached: the number of its file system
/// (`false`), or of a block device (`true`). A path that does not exist is on the file system of the nearest
/// directory above it. `None` if nothing is known, or for a character device.
fn place(path: &Path) -> Option<(Device, bool)> {
    let above = path.ancestors().map(|above| match above.as_os_str().is_empty() {
        true => Path::new("."),
        false => above,
    });
    let facts = above.into_iter().find_map(|path| file::facts(path).ok())?;
    match (facts.kind, facts.node) {
        (InodeType::Block, Some(node)) => Some((node, true)),
        (InodeType::Char, _) => None,
        _ => Some((facts.device, false)),
    }
}

fn devices_of(path: &Path, depth: usize) -> Result<Vec<Device>> {
    let existing = mount::nearest_existing(path);
    let facts = file::facts(&existing)?;
    match (facts.kind, facts.node) {
        (InodeType::Block, Some(node)) => return Ok(vec![node]),
        (InodeType::Char, Some(node)) => {
            let beside = node::nvme_block_sibling(node);
            return Ok(beside.map(|(_, block)| block).into_iter().collect());
        }
        _ if facts.device.major != 0 => return Ok(vec![facts.device]),
        _ => {}
    }
    let Some(mount) = mount::holding(&existing)? else { return Ok(Vec::new()) };
    if let Some(upper) = mount.super_option("upperdir") {
        return if depth == 0 { Ok(Vec::new()) } else { devices_of(Path::new(upper), depth - 1) };
    }
    Ok(mount.devices())
}

/// The activity of one disk between two readings.
#[derive(Debug, Clone, PartialEq)]
pub struct Activity {
    /// The disk's name.
    pub name: String,
    /// Change of the counters between the readings.
    pub counters: Counters,
    /// Time between the readings.
    pub elapsed: Nanos,
    /// Activity of the disks below it; empty for a plain disk.
    pub members: Vec<Activity>,
}

impl Activity {
    /// Returns the activity of a disk in two intervals, of which `later` is the second.
    #[must_use]
    pub fn plus(&self, later: &Activity) -> Activity {
        let both = self.members.iter().zip(&later.members);
        Activity {
            name: self.name.clone(),
            counters: self.counters.plus(&later.counters),
            elapsed: self.elapsed.saturating_add(later.elapsed),
            members: both.map(|(member, later)| member.plus(later)).collect(),
        }
    }

    /// Returns the share of the time in which the disk was busy, in percent, at most 100.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        if self.elapsed == Nanos::ZERO {
            return 0.0;
        }
        (self.counters.busy.as_millis() as f64 * 1e8 / self.elapsed.0 as f64).min(100.0)
    }
}

/// One watched disk, with its counters at the start.
#[derive(Debug)]
struct Watched {
    disk: CountedDisk,
    start: Counters,
    start_ns: u64,
    members: Vec<Watched>,
}

impl Watched {
    fn start(disk: CountedDisk) -> Result<Watched> {
        let members = disk.members.iter().cloned().map(Watched::start).collect::<Result<_>>()?;
        let start_ns = clock::monotonic();
        Ok(Watched { start: disk.counters()?, start_ns, disk, members })
    }

    fn activity(&self) -> Result<Activity> {
        let counters = self.disk.counters()?.since(&self.start);
        Ok(Activity {
            name: self.disk.name.clone(),
            counters,
            elapsed: Nanos(clock::monotonic().saturating_sub(self.start_ns)),
            members: self.members.iter().map(Watched::activity).collect::<Result<_>>()?,
        })
    }

    fn restart(&mut self) -> Result<()> {
        self.start_ns = clock::monotonic();
        self.start = self.disk.counters()?;
        self.members.iter_mut().try_for_each(Watched::restart)
    }
}

/// Watches the disks below a set of files, from its creation on.
#[derive(Debug, Default)]
pub struct DiskWatch {
    disks: Vec<Watched>,
}

impl DiskWatch {
    /// Starts watching the disks below these paths. Each disk is watched once; their order follows the
    /// paths. A path without a disk is skipped, because it has no counters.
    ///
    /// # Errors
    /// Errors of [`disks_of`] and [`CountedDisk::counters`].
    pub fn start<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<DiskWatch> {
        let mut watch = DiskWatch::default();
        for path in paths {
            watch.add(path)?;
        }
        Ok(watch)
    }

    /// Starts watching the disks of one more path.
    ///
    /// # Errors
    /// Errors of [`disks_of`] and [`CountedDisk::counters`].
    pub fn add(&mut self, path: &Path) -> Result<()> {
        self.add_disks(&disks_of(path)?)
    }

    /// Starts watching these disks too.
    ///
    /// # Errors
    /// Errors of [`CountedDisk::counters`].
    pub fn add_disks(&mut self, disks: &[CountedDisk]) -> Result<()> {
        for disk in disks {
            if !self.disks.iter().any(|known| known.disk.name == disk.name) {
                self.disks.push(Watched::start(disk.clone())?);
            }
        }
        Ok(())
    }

    /// Starts over: activity until now does not count (for example when the ramp time ends).
    ///
    /// # Errors
    /// Errors of [`CountedDisk::counters`].
    pub fn restart(&mut self) -> Result<()> {
        self.disks.iter_mut().try_for_each(Watched::restart)
    }

    /// Returns the activity of the disks since the start. May be called repeatedly.
    ///
    /// # Errors
    /// Errors of [`CountedDisk::counters`].
    pub fn activity(&self) -> Result<Vec<Activity>> {
        self.disks.iter().map(Watched::activity).collect()
    }

    /// Iterates over the watched disks.
    pub fn disks(&self) -> impl Iterator<Item = &CountedDisk> {
        self.disks.iter().map(|watched| &watched.disk)
    }
}

#[cfg(test)]
mod tests;
