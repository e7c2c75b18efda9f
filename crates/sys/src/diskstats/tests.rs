use super::*;

const FIXTURE: &str = "\
   7       0 loop0 1 2 3 4 5 6 7 8 9 10 11
 254       0 vda 66658 24283 3972498 10584 8144 21084 950640 2628 0 5816 13504 5069 62 297080 266 703 25
   8       1 sda1 1 2 3 4
 259       0 nvme0n1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
garbage
";

#[test]
fn parses_diskstats_of_every_kernel_generation() {
    let lines = parse(FIXTURE);
    let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(names, ["loop0", "vda", "nvme0n1"]);
    assert_eq!(lines[1].device, Device { major: 254, minor: 0 });
    let vda = lines[1].counters;
    assert_eq!(
        (vda.read_ios, vda.read_merges, vda.read_bytes),
        (66658, 24283, Bytes::from_sectors(3972498))
    );
    assert_eq!((vda.write_time.as_millis(), vda.in_flight, vda.busy.as_millis()), (2628, 0, 5816));
    assert_eq!(
        (vda.in_queue.as_millis(), vda.discard_ios, vda.flush_time.as_millis()),
        (13504, 5069, 25)
    );
    assert_eq!(lines[0].counters.discard_ios, 0);
    assert_eq!(lines[2].counters.discard_time, Nanos::from_millis(15));
    assert_eq!(Counters::parse("1 2 3"), None);
    assert_eq!(Counters::parse("a b c d e f g h i j k"), None);
}

#[test]
fn differences_survive_the_wrap_of_ticks() {
    let then = Counters {
        read_ios: 10,
        read_time: Nanos::from_millis(u64::from(u32::MAX) - 4),
        ..Counters::default()
    };
    let now = Counters {
        read_ios: 15,
        read_time: Nanos::from_millis(5),
        in_flight: 3,
        ..Counters::default()
    };
    let passed = now.since(&then);
    assert_eq!((passed.read_ios, passed.read_time.as_millis(), passed.in_flight), (5, 10, 3));
}

#[test]
fn utilisation_is_a_share_of_the_time() {
    let counters = Counters { busy: Nanos::from_millis(50), ..Counters::default() };
    let mut activity = Activity {
        name: "x".into(),
        counters,
        elapsed: Nanos::from_millis(100),
        members: Vec::new(),
    };
    assert!((activity.utilisation() - 50.0).abs() < 1e-9);
    activity.elapsed = Nanos::from_millis(1);
    assert_eq!(activity.utilisation(), 100.0);
    activity.elapsed = Nanos::ZERO;
    assert_eq!(activity.utilisation(), 0.0);
}

#[test]
fn nvme_names_are_told_apart_from_multipath_paths() {
    assert_eq!(nvme_head("nvme1n2"), Some((1, 2)));
    assert_eq!(nvme_head("nvme1c3n2"), None);
    assert_eq!(nvme_head("sda"), None);
    assert_eq!(nvme_path("nvme1c3n2"), Some((1, 2)));
    assert_eq!(nvme_path("nvme1n2"), None);
}

/// Uses a made-up sysfs: dm-0 on a partition of sda and on sdb.
#[test]
fn a_stacked_device_reports_its_members() {
    let root = std::env::temp_dir().join(format!("fiord-sysfs-{}", std::process::id()));
    for directory in ["sda/sda1", "sdb", "dm-0/slaves"] {
        std::fs::create_dir_all(root.join(directory)).unwrap();
    }
    std::fs::write(root.join("sda/sda1/partition"), "1\n").unwrap();
    for (disk, ios) in [("sda", 1), ("sdb", 2), ("dm-0", 3)] {
        std::fs::write(root.join(disk).join("stat"), format!("{ios} 0 0 0 0 0 0 0 0 0 0\n"))
            .unwrap();
    }
    std::os::unix::fs::symlink(root.join("sdb"), root.join("dm-0/slaves/sdb")).unwrap();
    std::os::unix::fs::symlink(root.join("sda/sda1"), root.join("dm-0/slaves/sda1")).unwrap();
    let disk = CountedDisk::at(&root.join("dm-0"), 8).unwrap();
    let names: Vec<&str> = disk.members.iter().map(|member| member.name.as_str()).collect();
    assert_eq!(names, ["sda", "sdb"]);

    let watched = Watched::start(disk).unwrap();
    std::fs::write(root.join("dm-0/stat"), "13 0 0 0 0 0 0 0 0 0 0\n").unwrap();
    std::fs::write(root.join("sda/stat"), "8 0 0 0 0 0 0 0 0 0 0\n").unwrap();
    let activity = watched.activity().unwrap();
    assert_eq!(activity.counters.read_ios, 10);
    let below: Vec<u64> = activity.members.iter().map(|one| one.counters.read_ios).collect();
    assert_eq!(below, [7, 0]);
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn finds_the_disks_of_this_machine() {
    assert!(disks_of(Path::new("/dev/null")).unwrap().is_empty());
    assert!(disks_of(Path::new("/proc/self/status")).unwrap().is_empty());
    let here = disks_of(Path::new("no/such/file")).unwrap();
    if here.is_empty() {
        eprintln!("skipped: the working directory is on no disk");
        return;
    }
    let watch = DiskWatch::start([Path::new("no/such/file"), Path::new(".")]).unwrap();
    assert_eq!(watch.disks().count(), here.len());
    crate::clock::sleep(std::time::Duration::from_millis(2));
    for activity in watch.activity().unwrap() {
        assert!(activity.elapsed >= Nanos::from_millis(2));
        assert!((0.0..=100.0).contains(&activity.utilisation()));
    }
}

#[test]
fn reads_are_counted_at_once() {
    let path = std::env::temp_dir().join(format!("fiord-diskstats-{}", std::process::id()));
    std::fs::write(&path, vec![7u8; 1 << 20]).unwrap();
    let watch = DiskWatch::start([path.as_path()]).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    file.sync_all().unwrap();
    let activity = watch.activity().unwrap();
    std::fs::remove_file(&path).unwrap();
    match activity.first() {
        None => eprintln!("skipped: {} is on no disk", path.display()),
        Some(disk) => assert!(disk.counters.write_bytes >= Bytes::from_sectors(8), "{disk:?}"),
    }
}
