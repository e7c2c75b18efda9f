use super::fixture::Machine;
use super::*;

const GEN3: &str = "8.0";
const GEN4: &str = "16.0";

fn survey(machine: &Machine) -> DiskSurvey {
    DiskSurvey::new(machine.root(), SurveyDepth::Files)
}

#[test]
fn a_drive_with_four_lanes_in_a_slot_with_two() {
    let machine = Machine::new();
    let port = machine.port(None, "0000:00:01.0", (GEN4, 2), (GEN4, 4));
    machine.nvme(Some(&port), "0000:01:00.0", 0, (GEN4, 2), (GEN4, 4));
    let disk = survey(&machine).disk("nvme0n1").unwrap();
    assert_eq!(disk.pcie.len(), 2);
    let link = pcie::links(&disk.pcie).next().unwrap();
    assert_eq!(link.address, "0000:01:00.0");
    assert_eq!(link.now.unwrap().to_string(), "16 GT/s x2");
    assert_eq!(link.link_best().unwrap().to_string(), "16 GT/s x4");
    assert_eq!(disk.bandwidth(), Some(3_938_461_538));
    assert_eq!(disk.identity.model.as_deref(), Some("Fiord Test 1T"));
    assert_eq!(disk.generic.as_deref(), Some("ng0n1"));
    assert_eq!(disk.health.temperature, Some(41.85));
    assert_eq!((disk.nsid, disk.numa_node), (Some(1), None));
}

#[test]
fn a_generation_four_drive_in_a_generation_three_slot() {
    let machine = Machine::new();
    let port = machine.port(None, "0000:00:01.0", (GEN3, 4), (GEN3, 4));
    machine.nvme(Some(&port), "0000:01:00.0", 0, (GEN3, 4), (GEN4, 4));
    let disk = survey(&machine).disk("nvme0n1").unwrap();
    let link = pcie::links(&disk.pcie).next().unwrap();
    assert_eq!(link.now, link.link_best(), "as good as the slot allows");
    assert_eq!(link.own_best.unwrap().to_string(), "16 GT/s x4");
}

#[test]
fn twelve_drives_share_a_switch_with_sixteen_lanes() {
    let machine = Machine::new();
    let root = machine.port(None, "0000:00:01.0", (GEN4, 16), (GEN4, 16));
    let up = machine.port(Some(&root), "0000:01:00.0", (GEN4, 16), (GEN4, 16));
    for n in 0..12u32 {
        let down = machine.port(Some(&up), &format!("0000:02:{n:02x}.0"), (GEN4, 4), (GEN4, 4));
        machine.nvme(Some(&down), &format!("0000:{:02x}:00.0", n + 3), n, (GEN4, 4), (GEN4, 4));
    }
    let survey = survey(&machine);
    let disks = survey.disks();
    let names: Vec<&str> = disks.iter().map(|disk| disk.name.as_str()).collect();
    assert_eq!(names[0..3], ["nvme0n1", "nvme1n1", "nvme2n1"]);
    assert_eq!(names[11], "nvme11n1");
    let links = sharing::links(&disks);
    let shared = links.iter().find(|link| link.address == "0000:01:00.0").unwrap();
    assert_eq!(shared.disks.len(), 12);
    assert!((shared.ratio() - 3.0).abs() < 1e-6, "{}", shared.ratio());
    let own = links.iter().find(|link| link.address == "0000:05:00.0").unwrap();
    assert_eq!((own.ratio(), own.disks.len()), (1.0, 1));
    assert!(sharing::links(&disks[..4]).iter().all(|link| link.ratio() <= 1.0));
}

#[test]
fn disks_behind_one_adapter_share_its_link() {
    let machine = Machine::new();
    let port = machine.port(None, "0000:00:01.0", (GEN3, 8), (GEN3, 8));
    let adapter = machine.pci(Some(&port), "0000:01:00.0", 0x01_0700, (GEN3, 8), (GEN3, 8));
    for n in 0..8 {
        let base = format!("{adapter}/host0/port-0:{n}");
        machine
            .write(&format!("{base}/phy-0:{n}/sas_phy/phy-0:{n}/negotiated_linkrate"), "12.0 Gbit");
        let target = format!("{base}/end_device-0:{n}/target0:0:{n}/0:0:{n}:0");
        machine.write(&format!("{target}/vendor"), "SEAGATE ");
        machine.write(&format!("{target}/model"), "ST1   ");
        machine.write(&format!("{target}/ioerr_cnt"), "0x1f");
        machine.write(&format!("{target}/queue_depth"), "254");
        let name = char::from(b'a' + n as u8);
        let disk = machine.disk(&format!("{target}/block/sd{name}"), (8, n * 16), 1 << 40);
        machine.link(&format!("{disk}/device"), &target);
    }
    let disks = survey(&machine).disks();
    assert_eq!(disks[0].bus, Bus::Scsi);
    assert_eq!(disks[0].cable, Some(1_200_000_000));
    assert_eq!(disks[0].health.scsi_errors, Some(31));
    assert_eq!(disks[0].device_depth, Some(254));
    assert_eq!(disks[0].identity.model.as_deref(), Some("SEAGATE ST1"));
    let links = sharing::links(&disks);
    assert_eq!(links.len(), 1);
    assert!((links[0].ratio() - 8.0 * 1.2 / 7.876_923_076).abs() < 1e-6);
}

#[test]
fn uses_of_a_disk_are_found_through_devices_built_on_it() {
    let machine = Machine::new();
    let disk = machine.disk("/sys/devices/virtual/block/sda", (8, 0), 1 << 40);
    let first = machine.partition(&disk, 1, (8, 1), (1 << 20, 1 << 30));
    let second = machine.partition(&disk, 2, (8, 2), (2 << 30, 1 << 30));
    let mapped = machine.disk("/sys/devices/virtual/block/dm-0", (252, 0), 1 << 30);
    machine.link(&format!("{second}/holders/dm-0"), &mapped);
    machine.link(&format!("{mapped}/slaves/sda2"), &second);
    machine.write(&format!("{mapped}/dm/name"), "vg-root");
    machine.write("/proc/self/mountinfo", "27 1 252:0 / / rw - ext4 /dev/mapper/vg-root rw");
    machine.write("/proc/swaps", "Filename Type Size Used Priority\n/dev/sda1 partition 1 0 -2");
    machine.write("/dev/sda1", "");
    machine.write("/run/udev/data/b8:0", "E:ID_PART_TABLE_TYPE=gpt\nE:ID_SERIAL=x");
    let survey = survey(&machine);
    let disk = survey.disk("sda").unwrap();
    assert_eq!(disk.partitions.len(), 2);
    assert_eq!(disk.partitions[0].start, Bytes(1 << 20));
    assert_eq!(disk.holders, ["dm-0"]);
    let uses: Vec<String> = disk.uses.iter().map(ToString::to_string).collect();
    assert_eq!(uses, ["sda1 is swap space", "dm-0 is mounted on /"]);
    assert_eq!(disk.signatures.as_deref(), Some(&["GPT partition table".to_owned()][..]));
    let mapped = survey.disk("dm-0").unwrap();
    assert_eq!(
        (mapped.members, mapped.identity.model.as_deref()),
        (vec!["sda2".to_owned()], Some("vg-root"))
    );
    assert!(first.ends_with("sda1"));
}

#[test]
fn a_survey_of_five_hundred_disks_takes_about_a_second_at_most() {
    let machine = Machine::new();
    let port = machine.port(None, "0000:00:01.0", (GEN4, 16), (GEN4, 16));
    for n in 0..500u32 {
        let address = format!("0000:{:02x}:{:02x}.0", n / 32 + 1, n % 32);
        machine.nvme(Some(&port), &address, n, (GEN4, 4), (GEN4, 4));
    }
    let survey = survey(&machine);
    let names = survey.names();
    // Measure the CPU time of this thread, because other tests may keep the machine busy.
    let before = crate::usage::ResourceUsage::of_thread().unwrap();
    let disks: Vec<Disk> = names.iter().filter_map(|name| survey.disk(name)).collect();
    let links = sharing::links(&disks);
    let used = crate::usage::ResourceUsage::of_thread().unwrap().since(&before);
    assert_eq!((disks.len(), links.len()), (500, 500));
    let ms = used.user.saturating_add(used.system).as_millis();
    // A second on an idle machine; other programs make caches cold.
    assert!(ms < 4000, "{ms} ms of CPU time");
}

#[test]
fn a_bridge_is_read_once() {
    let machine = Machine::new();
    let port = machine.port(None, "0000:00:01.0", (GEN4, 8), (GEN4, 8));
    for n in 0..2u32 {
        machine.nvme(Some(&port), &format!("0000:0{}:00.0", n + 1), n, (GEN4, 4), (GEN4, 4));
    }
    let survey = survey(&machine);
    let first = survey.disk("nvme0n1").unwrap();
    machine.write(&format!("{port}/current_link_width"), "1");
    let second = survey.disk("nvme1n1").unwrap();
    assert_eq!(first.pcie[0], second.pcie[0]);
    assert_eq!(second.pcie[1].address, "0000:02:00.0");
}

#[test]
fn this_machine_can_be_read() {
    let survey = DiskSurvey::new(Root::machine(), SurveyDepth::Files);
    for disk in survey.disks() {
        assert!(disk.queue.logical >= Bytes(512), "{disk:?}");
    }
    assert!(survey.disk("no-such-disk").is_none());
}
