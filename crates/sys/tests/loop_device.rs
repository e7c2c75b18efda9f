//! Tests block device calls on a loop device. Needs root and `losetup`, and reports that it skips the
//! test otherwise.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use fiord_sys::file::{self, InodeType, Open};
use fiord_sys::memory::{MemoryRegion, MemorySource};
use fiord_sys::{block, clock, diskstats, in_use};
use fiord_types::{Bytes, Errno};

const SIZE: u64 = 8 << 20;

/// A loop device on a sparse file; both are removed on drop.
struct Loop {
    device: PathBuf,
    backing: PathBuf,
}

impl Loop {
    fn new() -> Result<Loop, String> {
        let backing = std::env::temp_dir().join(format!("fiord-loop-{}", std::process::id()));
        let made = std::fs::File::create(&backing).and_then(|file| file.set_len(SIZE));
        made.map_err(|error| error.to_string())?;
        Loop::over(backing)
    }

    fn over(backing: PathBuf) -> Result<Loop, String> {
        let output = Command::new("losetup").args(["--find", "--show"]).arg(&backing).output();
        let device = match output {
            Ok(output) if output.status.success() => String::from_utf8(output.stdout).unwrap(),
            Ok(output) => {
                let _ = std::fs::remove_file(&backing);
                return Err(String::from_utf8_lossy(&output.stderr).into_owned());
            }
            Err(error) => {
                let _ = std::fs::remove_file(&backing);
                return Err(format!("losetup: {error}"));
            }
        };
        Ok(Loop { device: PathBuf::from(device.trim()), backing })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
        if self.backing.is_file() {
            let _ = std::fs::remove_file(&self.backing);
        }
    }
}

#[test]
fn everything_on_a_loop_device() {
    if fiord_sys::thread::user() != 0 {
        eprintln!("skipped: loop devices need root");
        return;
    }
    let device = match Loop::new() {
        Ok(device) => device,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let path = device.device.as_path();
    sizes(path);
    users(&device);
    contents(path);
    counters(path);
}

fn sizes(path: &Path) {
    let facts = file::facts(path).unwrap();
    assert_eq!(facts.kind, InodeType::Block);
    let node = facts.node.unwrap();
    assert_eq!(file::target_size(path).unwrap(), Some(Bytes(SIZE)));
    assert_eq!(block::sysfs_size(node), Some(SIZE));
    assert_eq!(block::name(node).unwrap(), path.file_name().unwrap().to_str().unwrap());
    let fd = Open::read_only().open(path).unwrap();
    assert_eq!(block::size(&fd).unwrap(), SIZE);
    let logical = block::logical_block(&fd).unwrap();
    assert!(logical >= 512 && logical.is_power_of_two());
    assert!(block::physical_block(&fd).unwrap() >= logical);
    assert_eq!(block::queue_number(node, "logical_block_size"), Some(u64::from(logical)));
    assert_eq!(in_use::user(path), Ok(None));
    assert!(!in_use::is_claimed(path).unwrap());
    let exclusive = Open::read_only().exclusive(true).open(path).unwrap();
    assert!(in_use::is_claimed(path).unwrap());
    drop(exclusive);
    let scheduler = block::scheduler(node).unwrap();
    block::set_scheduler(node, &scheduler.current).unwrap();
    assert_eq!(block::set_scheduler(node, "no-such").unwrap_err().errno, Errno::EINVAL);
}

/// A loop device on another device is found, although neither sysfs links nor claims show it there.
fn users(device: &Loop) {
    let user = |path: &Path| in_use::user(path).unwrap().map(|user| user.to_string());
    let name = |device: &Loop| device.device.file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(user(&device.backing), None, "an idle loop device holds no file");
    let upper = Loop::over(device.device.clone()).unwrap();
    let held = format!("{} is held by {}", name(device), name(&upper));
    assert_eq!(user(&device.device), Some(held.clone()));
    assert_eq!(user(&device.backing), Some(held));
    assert_eq!(user(&upper.device), None);
    drop(upper);
    assert_eq!(user(&device.device), None);
}

fn contents(path: &Path) {
    let fd = Open::read_write().open(path).unwrap();
    let file = std::fs::File::from(fd);
    file.write_all_at(&[7; 65536], 0).unwrap();
    file::fsync(&file).unwrap();
    assert!(file::drop_cache(&file, Bytes::ZERO, Bytes::ZERO).unwrap());
    if let Ok(pages) = file::cached_pages(&file, Bytes::ZERO, Bytes(SIZE)) {
        assert_eq!(pages.cached, 0, "{pages:?}");
    }
    let mut back = [0; 4096];
    block::write_zeroes(&file, 4096, 4096).unwrap();
    file.read_exact_at(&mut back, 4096).unwrap();
    assert!(back.iter().all(|&byte| byte == 0));
    match block::discard(&file, 0, 4096) {
        Ok(()) => {
            file.read_exact_at(&mut back, 0).unwrap();
            assert!(back.iter().all(|&byte| byte == 0), "a discarded loop block reads as zeroes");
        }
        Err(error) => assert_eq!(error.errno, Errno::EOPNOTSUPP, "{error}"),
    }
    assert_eq!(block::discard(&file, 1, 4096).unwrap_err().errno, Errno::EINVAL);
}

/// Sixteen direct reads of 4 KiB count as sixteen I/Os and 128 sectors, immediately.
fn counters(path: &Path) {
    let file = std::fs::File::from(Open::read_only().direct(true).open(path).unwrap());
    let mut region = MemoryRegion::new(&MemorySource::Malloc, 4096, 4096).unwrap();
    let watch = diskstats::DiskWatch::start([path]).unwrap();
    let start = clock::monotonic();
    for index in 0..16 {
        file.read_exact_at(region.as_mut_slice(), index * 4096).unwrap();
    }
    let took = clock::monotonic() - start;
    let activity = watch.activity().unwrap();
    let disk = &activity[0];
    assert!(disk.counters.read_ios >= 16, "{disk:?}");
    assert!(disk.counters.read_bytes >= Bytes::from_sectors(128), "{disk:?}");
    assert!(disk.elapsed.0 >= took);
    assert!(disk.utilisation() <= 100.0);
}
