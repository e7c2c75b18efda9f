//! What is to be written, what is on it, and what refuses it.

use std::path::{Path, PathBuf};

use fiord_stat::units;
use fiord_sys::file::{self, Kind};
use fiord_sys::in_use::{self, Use, User};
use fiord_sys::root::Root;
use fiord_sys::survey::{Bus, Depth, Disk, Partition, Survey, signature};
use fiord_sys::zone::Model;

/// One device or file.
#[derive(Debug, Clone)]
pub struct Target {
    /// As it was named.
    pub path: PathBuf,
    /// In a word: `nvme0n1`, or the file's name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// What the same device is known by when it is met again.
    pub key: String,
    /// What is known of it; `None` for a file.
    pub disk: Option<Disk>,
    /// What lies on it.
    pub marks: Vec<String>,
    /// Of a whole disk: its partitions, and what lies on each.
    pub parts: Vec<(Partition, Vec<&'static str>)>,
    /// Of a loop device: the key of its file.
    backing: Option<String>,
}

/// Every target, each once; or why one of them is refused.
///
/// # Errors
/// A path that is no block device and no file, that is in use, or that cannot be looked at.
pub fn all(paths: &[PathBuf]) -> Result<Vec<Target>, String> {
    let mut targets: Vec<Target> = Vec::new();
    for path in paths {
        let target = one(path)?;
        if let Some(known) = targets.iter().find(|known| known.overlaps(&target)) {
            let (path, known) = (path.display(), known.path.display());
            return Err(format!(
                "{known} and {path} have bytes in common: one would be written twice at a time\n  \
                 help: name the disk or its partitions, and each once"
            ));
        }
        targets.push(target);
    }
    Ok(targets)
}

fn one(path: &Path) -> Result<Target, String> {
    let facts = file::facts(path).map_err(|error| match path.starts_with("/dev") {
        true => format!("{error}\n  help: `fiord devices` lists what there is"),
        false => error.to_string(),
    })?;
    if matches!(facts.kind, Kind::Block | Kind::Regular) {
        unused(path)?;
    }
    match facts.kind {
        Kind::Block => device(path),
        Kind::Regular if facts.size == 0 => Err(format!(
            "{} is empty\n  help: a file must have its size: `truncate -s 10G {0}`",
            path.display()
        )),
        Kind::Regular => Ok(Target {
            path: path.into(),
            name: path.display().to_string(),
            size: facts.size,
            key: file_key(&facts),
            disk: None,
            marks: Vec::new(),
            parts: Vec::new(),
            backing: None,
        }),
        _ => Err(format!("{} is neither a block device nor a file", path.display())),
    }
}

fn device(path: &Path) -> Result<Target, String> {
    let failed = |error: fiord_sys::Error| error.to_string();
    let number = file::facts(path).map_err(failed)?.node;
    let number = number.ok_or_else(|| format!("{} has no number", path.display()))?;
    let name = fiord_sys::block::name(number)
        .ok_or_else(|| format!("the kernel has no disk {} ({number})", path.display()))?;
    let whole = fiord_sys::block::whole_disk_path(number);
    let whole = whole.and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
    let sequence = whole.as_deref().and_then(|whole| sequence(&Root::machine(), whole));
    let disk = whole.and_then(|whole| Survey::new(Root::machine(), Depth::Health).disk(&whole));
    if let Some(disk) = &disk {
        let managed = |zones: &fiord_sys::survey::Zones| zones.model == Model::HostManaged;
        if disk.queue.zones.as_ref().is_some_and(managed) {
            return Err(format!(
                "{name} has zones, which take writes only in order\n  help: this job writes all of \
                 them, and destroys what they hold: fiord --name=fill --filename={} --direct=1 \
                 --zonemode=zbd --rw=write --bs=128k --write_zone_remainder=1",
                path.display()
            ));
        }
        if disk.read_only {
            return Err(format!(
                "{name} is read-only\n  help: `blockdev --setrw` changes that where the medium lets it"
            ));
        }
    }
    let size = fiord_sys::block::sysfs_size(number).unwrap_or(0);
    if size == 0 {
        return Err(format!("{name} has no capacity: no medium, or not set up"));
    }
    let logical = disk.as_ref().map_or(512, |disk| disk.queue.logical);
    let marks = signature::on_device(path, logical as usize).map_err(failed)?;
    let mut parts = Vec::new();
    for part in disk.iter().filter(|disk| disk.name == name).flat_map(|disk| &disk.partitions) {
        let marks = signature::on_part(path, part.start, logical as usize).map_err(failed)?;
        parts.push((part.clone(), marks));
    }
    Ok(Target {
        path: path.into(),
        key: key(&name, disk.as_ref(), size, sequence.as_deref()),
        name,
        size,
        marks: marks.into_iter().map(str::to_owned).collect(),
        parts,
        backing: disk.as_ref().and_then(backing),
        disk,
    })
}

fn file_key(facts: &file::Facts) -> String {
    format!("file {}:{} {}", facts.device, facts.inode, facts.size)
}

/// The file of a loop device.
fn backing(disk: &Disk) -> Option<String> {
    let path = disk.identity.model.as_ref().filter(|_| disk.bus == Bus::Loop)?;
    file::facts(Path::new(path)).ok().map(|facts| file_key(&facts))
}

/// Refuses what is mounted, swap, or held by something, and what cannot be told.
fn unused(path: &Path) -> Result<(), String> {
    match in_use::user(path) {
        Ok(None) => Ok(()),
        Ok(Some(user)) => {
            let what = match &user {
                User::Listed(Use::Mounted { .. }) => "unmount it first",
                User::Listed(Use::Swap { .. }) => "`swapoff` it first",
                User::Held { .. } => "take it away first",
            };
            let shown = path.display();
            let list = if path.is_file() { "losetup -j" } else { "lsblk" };
            Err(format!(
                "{shown} is in use: {user}\n  help: nothing overrides this; {what}; `{list} {shown}` \
                 and `fuser -v {shown}` say what else there is"
            ))
        }
        Err(why) => Err(format!("it cannot be told whether {} is in use: {why}", path.display())),
    }
}

/// By what it is, not by its name, which may be another's after the next start. What says nothing of
/// itself (a loop device, many a virtual disk) is known for as long as it is there: the kernel numbers
/// disks as they come (`diskseq`, Linux 5.14), anew after each start, which has an identifier.
/// Without that it is never met again.
fn key(name: &str, disk: Option<&Disk>, size: u64, sequence: Option<&str>) -> String {
    let id = disk.map(|disk| &disk.identity);
    let known = id.and_then(|id| id.wwid.clone().or_else(|| id.serial.clone()));
    match (known, sequence) {
        (Some(known), _) => format!("{known} {name} {size}"),
        (None, Some(sequence)) => format!("{sequence} {name} {size}"),
        (None, None) => format!("{} {name} {size}", once()),
    }
}

/// Which of all disks since the machine's start one is, in one word with the start.
fn sequence(root: &Root, disk: &str) -> Option<String> {
    let start = root.text("/proc/sys/kernel/random/boot_id")?;
    let number = root.number(format!("/sys/class/block/{disk}/diskseq"))?;
    Some(format!("{start}/{number}"))
}

/// A word that no other call says.
fn once() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    format!("once/{}/{}", std::process::id(), now.map_or(0, |since| since.as_nanos()))
}

impl Target {
    /// Whether a byte of one is a byte of the other.
    fn overlaps(&self, other: &Target) -> bool {
        let whole = |target: &Target| target.disk.as_ref().is_some_and(|d| d.name == target.name);
        let disk = |target: &Target| target.disk.as_ref().map(|disk| disk.name.clone());
        let shared = disk(self).is_some() && disk(self) == disk(other);
        let below = |a: &Target, b: &Target| a.backing.as_ref() == Some(&b.key);
        self.key == other.key
            || self.name == other.name
            || (shared && (whole(self) || whole(other)))
            || below(self, other)
            || below(other, self)
    }

    /// What will be lost, in lines.
    pub fn describe(&self) -> String {
        let mut text = format!("{}\n", self.path.display());
        let mut add = |name: &str, what: Option<String>| {
            if let Some(what) = what.filter(|what| !what.is_empty()) {
                text.push_str(&format!("  {name:<14}{what}\n"));
            }
        };
        if let Some(disk) = &self.disk {
            add("model", disk.identity.model.clone());
            add("serial", disk.identity.serial.clone());
        }
        add("size", Some(bytes(self.size)));
        let disk = self.disk.as_ref().filter(|disk| disk.name != self.name);
        add("partition of", disk.map(|disk| disk.name.clone()));
        for (i, (part, marks)) in self.parts.iter().enumerate() {
            let mut what = vec![bytes(part.size)];
            what.extend(marks.iter().map(|mark| mark.to_string()));
            let name = if i == 0 { "partitions" } else { "" };
            add(name, Some(format!("{} ({})", part.name, what.join(", "))));
        }
        match (self.marks.as_slice(), self.disk.is_some()) {
            ([], true) => add("on it", Some("nothing that is known".into())),
            ([], false) => add("on it", Some("whatever the file holds".into())),
            (marks, _) => add("on it", Some(marks.join(", "))),
        }
        text
    }
}

/// Bytes with a decimal unit.
pub(crate) fn bytes(bytes: u64) -> String {
    let scaled = units::DECIMAL.of_rounded(bytes as f64);
    scaled.text(usize::from(scaled.index > 0 && scaled.value < 99.95))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_without_an_identity_is_known_while_it_is_there() {
        let place = std::env::temp_dir().join(format!("fiord-diskseq-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = place.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let root = Root::at(&place);
        let now = || sequence(&root, "vda").map(|word| key("vda", None, 4096, Some(&word)));
        assert_eq!(now(), None);
        write("proc/sys/kernel/random/boot_id", "b-1\n");
        write("sys/class/block/vda/diskseq", "9\n");
        let first = now().unwrap();
        assert_eq!(first, "b-1/9 vda 4096");
        assert_eq!(now().unwrap(), first);
        // Another disk that got the same name, and the same number after another start.
        write("sys/class/block/vda/diskseq", "10\n");
        assert_ne!(now().unwrap(), first);
        write("sys/class/block/vda/diskseq", "9\n");
        write("proc/sys/kernel/random/boot_id", "b-2\n");
        assert_ne!(now().unwrap(), first);
        // Where the kernel does not number them nothing is picked up.
        assert_ne!(key("vda", None, 4096, None), key("vda", None, 4096, None));
        std::fs::remove_dir_all(place).unwrap();
    }
}
