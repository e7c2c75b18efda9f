use fiord_sys::survey::fixture::Machine;

use super::*;

const GEN3: &str = "8.0";
const GEN4: &str = "16.0";

/// Two drives behind a switch with two lanes, one of them on half of its lanes, and a mounted disk.
fn machine() -> Machine {
    let machine = Machine::new();
    let root = machine.port(None, "0000:00:01.0", (GEN4, 2), (GEN4, 16));
    let up = machine.port(Some(&root), "0000:01:00.0", (GEN4, 2), (GEN4, 2));
    let a = machine.port(Some(&up), "0000:02:00.0", (GEN4, 2), (GEN4, 4));
    let b = machine.port(Some(&up), "0000:02:01.0", (GEN3, 4), (GEN3, 4));
    machine.nvme(Some(&a), "0000:03:00.0", 0, (GEN4, 2), (GEN4, 4));
    machine.nvme(Some(&b), "0000:04:00.0", 1, (GEN3, 4), (GEN4, 4));
    let disk = machine.disk("/sys/devices/virtual/block/sda", (8, 0), 500_000_000_000);
    machine.partition(&disk, 1, (8, 1), (1 << 20, 499_000_000_000));
    machine.write("/proc/self/mountinfo", "27 1 8:1 / /srv rw - ext4 /dev/sda1 rw");
    machine.disk("/sys/devices/virtual/block/loop0", (7, 0), 0);
    machine
}

fn shown(machine: &Machine, args: &[&str]) -> Result<String, DevicesError> {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: DevicesArgs,
    }
    let root = machine.root().path("/").display().to_string();
    let mut line = vec!["devices", "--root", &root];
    line.extend(args);
    show(&<Line as clap::Parser>::parse_from(line).args)
}

#[test]
fn the_table() {
    let all = DiskSurvey::new(machine().root(), SurveyDepth::Files).disks();
    let text = table::text(&choose(&all, &[], false), usize::MAX);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[1].contains("Gen4 x2 of x4") && lines[1].contains("2.0:1"), "{text}");
    assert!(lines[2].contains("Gen3 x4 of Gen4 x4"), "{text}");
    assert!(lines[3].starts_with("sda") && lines[3].ends_with("/srv"), "{text}");
}

#[test]
fn the_table_fits_any_terminal() {
    let all = DiskSurvey::new(machine().root(), SurveyDepth::Files).disks();
    for width in [48, 80, 100, 132] {
        let text = table::text(&choose(&all, &[], false), width);
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        assert!(text.contains("nvme0n1") && text.contains("1.00 TB"), "{text}");
    }
}

#[test]
fn the_sheet_names_every_link() {
    let text = shown(&machine(), &["nvme0n1"]).unwrap();
    for part in [
        "0000:01:00.0 Gen4 x2, 3.94 GB/s, shared with 1 other disk: 2.0:1",
        "0000:03:00.0 Gen4 x2 of x4, 3.94 GB/s",
        "/dev/nvme0n1, /dev/ng0n1, 259:0, namespace 1",
        "1.00 TB (1000204886016 bytes)",
        "not volatile",
        "41.9 °C",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("nvme1n1"), "{text}");
}

#[test]
fn the_tree_goes_up_to_the_root_complex() {
    let text = shown(&machine(), &["--tree"]).unwrap();
    let expected = "\
0000:00:01.0  root port
└─ 0000:01:00.0  bridge  Gen4 x2  3.94 GB/s  shared by 2 disks that could move 7.88 GB/s: 2.0:1
   ├─ 0000:02:00.0  bridge  Gen4 x2 of x4  3.94 GB/s
   │  └─ 0000:03:00.0  adapter  Gen4 x2 of x4  3.94 GB/s
   │     └─ nvme0n1  1.00 TB  Fiord Test 1T
   └─ 0000:02:01.0  bridge  Gen3 x4  3.94 GB/s
      └─ 0000:04:00.0  adapter  Gen3 x4 of Gen4 x4  3.94 GB/s
         └─ nvme1n1  1.00 TB  Fiord Test 1T
not on PCI
└─ sda  500 GB
";
    assert_eq!(text, expected);
}

#[test]
fn json_has_the_numbers() {
    let text = shown(&machine(), &["--format=json", "--all"]).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let devices = document["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 4);
    let drive = devices.iter().find(|device| device["name"] == "nvme0n1").unwrap();
    assert_eq!(drive["pcie"][3]["link"]["width"], 2);
    assert_eq!(drive["pcie"][3]["best"]["width"], 4);
    assert_eq!(drive["capacity"], 1_000_204_886_016_u64);
    let up = &document["links"][0];
    assert_eq!(
        (up["address"].as_str(), up["oversubscription"].as_f64()),
        (Some("0000:01:00.0"), Some(2.0))
    );
}

#[test]
fn an_unknown_disk_is_an_error() {
    let error = shown(&machine(), &["nvme7n1"]).unwrap_err();
    assert!(matches!(error, DevicesError::Unknown { name } if name == "nvme7n1"));
    let missing = resolve("/dev/fiord-none", &Root::machine());
    assert!(matches!(missing, Err(DevicesError::Target(TargetError::Missing { .. }))));
}

#[test]
fn without_a_mount_table_no_disk_is_called_unused() {
    let machine = machine();
    let said = "could not be checked";
    for how in [&[][..], &["--tree"], &["--long"], &["sda"]] {
        assert!(!shown(&machine, how).unwrap().contains(said), "{how:?}");
    }
    std::fs::remove_file(machine.root().path("/proc/self/mountinfo")).unwrap();
    for how in [&[][..], &["--tree"], &["--long"], &["sda"]] {
        let text = shown(&machine, how).unwrap();
        assert_eq!(text.matches(said).count(), 1, "{how:?}: {text}");
        assert!(text.contains("mount -t proc proc /proc"), "{text}");
    }
    let text = shown(&machine, &["--format=json"]).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(document["devices"][0]["uses"].is_null(), "{text}");
    assert!(document["uses_unchecked"].as_str().unwrap().contains("mountinfo"), "{text}");
}
