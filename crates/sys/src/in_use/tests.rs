use fiord_types::Errno;

use super::*;
use crate::survey::fixture::Machine;

/// Makes a machine with the disk `sdb` (8:16), which has one partition.
fn machine() -> (Machine, String) {
    let tree = Machine::new();
    let disk = tree.disk("/sys/devices/virtual/block/sdb", (8, 16), 1 << 30);
    let part = tree.partition(&disk, 1, (8, 17), (1 << 20, 1 << 20));
    tree.link("/sys/dev/block/8:16", &disk);
    tree.link("/sys/dev/block/8:17", &part);
    tree.write("/proc/self/mountinfo", "");
    (tree, disk)
}

fn with_loop(tree: &Machine, backing: &str) {
    let path = tree.disk("/sys/devices/virtual/block/loop0", (7, 0), 1 << 20);
    tree.write(&format!("{path}/loop/backing_file"), backing);
    tree.link("/sys/dev/block/7:0", &path);
}

fn sdb(node: Option<PathBuf>) -> Storage {
    Storage { name: "sdb".into(), device: Device { major: 8, minor: 16 }, node }
}

fn words(tree: &Machine, storage: &Storage) -> String {
    let found = Users::below(&tree.root()).user_of(storage);
    found.map_or_else(|e| e.to_string(), |user| user.map_or("free".into(), |u| u.to_string()))
}

const WITHOUT: &str = "open /dev/sdb: this block device has no node here. sysfs shows no holder and \
     this mount namespace no mount of it, but it may be mounted outside. To fix: give the container \
     the block device as well (`--device=/dev/sdb`, or `mknod /dev/sdb`)";

#[test]
fn a_device_without_a_node_is_not_taken_for_free() {
    let (tree, disk) = machine();
    assert_eq!(words(&tree, &sdb(None)), WITHOUT);
    // The holder of a partition is a sufficient answer.
    let mapped = tree.disk("/sys/devices/virtual/block/dm-0", (252, 0), 1 << 20);
    tree.link(&format!("{disk}/sdb1/holders/dm-0"), &mapped);
    assert_eq!(words(&tree, &sdb(None)), "sdb is held by dm-0");
    tree.write("/proc/self/mountinfo", "27 1 252:0 / /srv rw - ext4 /dev/mapper/x rw");
    assert_eq!(words(&tree, &sdb(None)), "dm-0 is mounted on /srv");
}

#[test]
fn a_device_that_cannot_be_opened_is_not_taken_for_free() {
    let (tree, _) = machine();
    // A regular file cannot be claimed; a missing node can be neither opened nor examined.
    tree.write("/dev/sdb", "");
    assert_eq!(words(&tree, &sdb(Some(tree.root().path("/dev/sdb")))), "free");
    assert!(words(&tree, &sdb(Some(tree.root().path("/dev/no")))).contains("ENOENT"));
}

#[test]
fn a_loop_device_over_a_disk_holds_it() {
    let (tree, disk) = machine();
    with_loop(&tree, "/dev/sdb");
    assert_eq!(words(&tree, &sdb(None)), "sdb is held by loop0");
    let users = Users::below(&tree.root());
    assert_eq!(users.holders(&tree.root().path(&disk), &[]), ["loop0"]);
    // The loop device is made of the disk, not of the partition.
    let part = Storage { name: "sdb1".into(), device: Device { major: 8, minor: 17 }, node: None };
    assert!(words(&tree, &part).contains("sdb1: this block device has no node here"));
    tree.write("/proc/self/mountinfo", "27 1 7:0 / /mnt rw - ext4 /dev/loop0 rw");
    assert_eq!(words(&tree, &sdb(None)), "loop0 is mounted on /mnt");
}

#[test]
fn a_file_behind_a_mounted_loop_device_is_in_use() {
    let (tree, _) = machine();
    tree.write("/srv/image", "");
    tree.write("/srv/other", "");
    with_loop(&tree, "/srv/image");
    tree.write("/proc/self/mountinfo", "27 1 7:0 / /mnt rw - ext4 /dev/loop0 rw");
    let users = Users::below(&tree.root());
    let of = |path: &str| users.user(&tree.root().path(path)).unwrap().map(|u| u.to_string());
    assert_eq!(of("/srv/image").as_deref(), Some("loop0 is mounted on /mnt"));
    assert_eq!(of("/srv/other"), None);
    assert_eq!(of("/srv/not-there"), None);
}

/// Two loop devices share one file, and only the second is in use.
#[test]
fn every_loop_device_of_a_file_counts() {
    let (tree, _) = machine();
    tree.write("/srv/image", "");
    with_loop(&tree, "/srv/image");
    let second = tree.disk("/sys/devices/virtual/block/loop1", (7, 1), 1 << 20);
    tree.write(&format!("{second}/loop/backing_file"), "/srv/image");
    tree.link("/sys/dev/block/7:1", &second);
    tree.write("/proc/self/mountinfo", "27 1 7:1 / /mnt rw - ext4 /dev/loop1 rw");
    let users = Users::below(&tree.root());
    let facts = file::facts(&tree.root().path("/srv/image")).unwrap();
    let names: Vec<&str> = users.loops_of(&facts).map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["loop0", "loop1"]);
    let path = tree.root().path("/srv/image");
    match users.user(&path) {
        // The machine itself has a loop0, which only root may open.
        Err(error) if error.errno == Errno::EACCES => {
            eprintln!("not possible here: an ordinary user cannot open /dev/loop0");
        }
        user => {
            let user = user.unwrap().map(|user| user.to_string());
            assert_eq!(user.as_deref(), Some("loop1 is mounted on /mnt"));
        }
    }
    // The list is not read again.
    tree.write("/sys/devices/virtual/block/loop0/loop/backing_file", "/srv/other");
    assert_eq!(users.loops_of(&facts).count(), 2);
}

/// In a chroot or an early boot nothing is mounted on /proc and /sys.
#[test]
fn without_proc_a_file_is_free_and_a_device_is_an_error() {
    let tree = Machine::new();
    tree.write("/srv/file", "");
    let users = Users::below(&tree.root());
    assert_eq!(users.user(&tree.root().path("/srv/file")), Ok(None));
    assert!(users.tables.get().is_none(), "the mount table was read");
    assert_eq!(users.user(Path::new("/dev/null")), Ok(None));
    assert!(users.tables.get().is_none() && users.readable().is_err());
    let why = words(&tree, &sdb(None));
    assert!(why.contains("mountinfo: the file does not exist: /proc is not mounted"), "{why}");
}

#[test]
fn swap_is_found_by_name() {
    let (tree, _) = machine();
    tree.write("/proc/swaps", "Filename Type Size Used Priority\n/dev/sdb1 partition 1 0 -2");
    tree.write("/dev/sdb1", "");
    assert_eq!(words(&tree, &sdb(None)), "sdb1 is swap space");
}

#[test]
fn flash_is_in_use_by_ubi_or_a_flash_file_system() {
    let (tree, _) = machine();
    let flash =
        Storage { name: "mtdblock3".into(), device: Device { major: 31, minor: 3 }, node: None };
    assert_eq!(words(&tree, &flash), "free");
    tree.write("/sys/class/ubi/ubi0/mtd_num", "3");
    assert_eq!(words(&tree, &flash), "mtdblock3 is held by ubi0");
    tree.write("/proc/self/mountinfo", "27 1 31:3 / /rom rw - jffs2 mtd3 rw");
    assert_eq!(words(&tree, &flash), "31:3 is mounted on /rom");
}

#[test]
fn the_root_disk_is_in_use() {
    let root = file::facts(Path::new("/")).unwrap().device;
    if root.major == 0 {
        eprintln!("skipped: / is not on one block device");
        return;
    }
    let uses = Users::now().of_device(root).unwrap();
    let mounted = |found: &DeviceUse| matches!(found, DeviceUse::Mounted { point, .. } if point == Path::new("/"));
    assert!(uses.iter().any(mounted), "{uses:?}");
}

#[test]
fn files_that_are_not_storage_are_free() {
    assert_eq!(user(Path::new("/dev/null")), Ok(None));
    assert_eq!(user(Path::new("/proc")), Ok(None));
}
