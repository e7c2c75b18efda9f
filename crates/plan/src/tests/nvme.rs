//! `ioengine=io_uring_cmd` on imaginary namespaces, and what they do not support.

use fiord_sys::nvme::{
    CommandLimits, CommandSet, Controller, Deallocated, DriverLimits, FormatProtection,
    GuardFormat, IoCommands, LbaFormat, Namespace, NvmeDevice, ZonedIdentify, identify::Optional,
};

use fiord_types::Bytes;

use super::*;
use crate::machine::facts::FoundKind;
use crate::model::*;

/// A namespace of 1 GiB whose blocks have this many bytes of data and of metadata. Its controller
/// has every command except Write Uncorrectable and transfers at most 128 KiB.
pub(super) fn device(data: u32, metadata: u16) -> NvmeDevice {
    let optional = Optional {
        compare: true,
        write_uncorrectable: false,
        dataset_management: true,
        write_zeroes: true,
        verify: true,
        copy: true,
    };
    let format = LbaFormat {
        data: Bytes(u64::from(data)),
        metadata: Bytes(u64::from(metadata)),
        relative_performance: 0,
    };
    let blocks = (1 << 30) / u64::from(data);
    NvmeDevice {
        nsid: 1,
        command_set: CommandSet::Nvm,
        controller: Controller {
            serial: "s".into(),
            model: "m".into(),
            firmware: "f".into(),
            version: (1, 4, 0),
            max_transfer: Some(Bytes(128 << 10)),
            transfer_excludes_metadata: false,
            extended_lba_formats: false,
            flexible_placement: false,
            effects_log: false,
            directives: false,
            optional,
            volatile_cache: true,
            atomic_blocks: 1,
            atomic_power_fail_blocks: 1,
        },
        namespace: Namespace {
            size: blocks,
            capacity: blocks,
            used: blocks,
            format,
            format_index: 0,
            formats: vec![format],
            extended: false,
            protection: None,
            deallocated: Deallocated::Zeroes,
            zeroes_may_deallocate: true,
            thin: false,
            preferred_write: None,
            preferred_deallocate: None,
            optimal_write: None,
            boundary: None,
            write_protected: false,
        },
        commands: None,
        limits: CommandLimits { verify: Some(Bytes(512 << 10)), ..Default::default() },
        zoned: None,
        driver: Some(DriverLimits { max_transfer: Bytes(1 << 20), max_segments: 127, polls: true }),
    }
}

fn with(change: impl FnOnce(&mut NvmeDevice)) -> NvmeDevice {
    let mut device = device(512, 0);
    change(&mut device);
    device
}

fn machine(device: NvmeDevice) -> Fake {
    Fake::empty().namespace("/dev/ng0n1", device).disk("/dev/nvme0n1", 1 << 30)
}

const LINE: &str = "--name=a --ioengine=io_uring_cmd --filename=/dev/ng0n1";

fn plan(device: NvmeDevice, line: &str) -> JobPlan {
    job(&machine(device), &format!("{LINE} {line}"))
}

fn refused(device: NvmeDevice, line: &str) -> String {
    error(&machine(device), &format!("{LINE} {line}"))
}

fn nvme(plan: &JobPlan) -> &NvmePlan {
    let EnginePlan::IoUringCmd(plan) = &plan.engine else { panic!("{:?}", plan.engine) };
    let Commands::Nvme(nvme) = &plan.commands;
    nvme
}

#[test]
fn the_size_comes_from_the_namespace() {
    let plan = plan(device(4096, 0), "--bs=4k");
    assert_eq!(
        (plan.target.files[0].len, plan.target.files[0].kind),
        (Bytes(1 << 30), FileKind::Char)
    );
    let target = &nvme(&plan).targets[0];
    assert_eq!((target.block, target.split, target.metadata), (4096, None, None));
    assert_eq!(target.device.nsid, 1);
}

#[test]
fn options_of_commands() {
    let line = "--rw=write --readfua=1 --writefua=1 --deac=1 --write_mode=write/60:zeroes/40 \
                --hipri --fixedbufs --registerfiles --nonvectored=0 --force_async=2";
    let plan = plan(device(512, 0), line);
    let EnginePlan::IoUringCmd(engine) = &plan.engine else { panic!("{:?}", plan.engine) };
    assert!(engine.ring.hipri && engine.ring.fixed_buffers && engine.ring.register_files);
    assert!(!engine.ring.nonvectored && engine.ring.force_async == 2);
    let nvme = nvme(&plan);
    assert!(nvme.read_fua && nvme.write_fua && nvme.deallocate);
    assert_eq!(plan.load.write_commands, [(WriteCommand::Data, 60), (WriteCommand::Zeroes, 40)]);
    assert!(plan.load.writes_data());
}

#[test]
fn write_modes_without_data() {
    let plan = plan(device(512, 0), "--rw=write --write_mode=zeroes --bs=16m");
    assert_eq!(plan.load.write_commands, [(WriteCommand::Zeroes, 100)]);
    assert!(!plan.load.writes_data());
    let plain =
        super::job(&machine(device(512, 0)), &format!("{LINE} --rw=write --write_mode=write"));
    assert!(plain.load.write_commands.is_empty() && plain.load.writes_data());
}

#[test]
fn metadata_in_line_count_for_blocks() {
    let extended = |metadata, protection: Option<u8>| {
        let mut device = device(512, metadata);
        device.namespace.extended = true;
        device.namespace.protection = protection.map(|kind| FormatProtection {
            kind,
            first: false,
            guard: GuardFormat::Crc16,
            storage_tag_bits: 0,
        });
        device
    };
    let plan = plan(extended(8, None), "--bs=4160");
    assert_eq!(
        (nvme(&plan).targets[0].block, plan.target.files[0].len),
        (520, Bytes((2 << 20) * 520))
    );
    let message = refused(extended(8, None), "--bs=4k");
    assert!(message.contains("520 bytes, 512 of data and 8 of metadata"), "{message}");
    // Metadata is only protection information, which the controller inserts and strips.
    let stripped = super::job(&machine(extended(8, Some(1))), &format!("{LINE} --bs=4k"));
    assert_eq!(nvme(&stripped).targets[0].block, 512);
    let more = super::job(&machine(extended(16, Some(1))), &format!("{LINE} --bs=4224"));
    assert_eq!(nvme(&more).targets[0].block, 528);
}

#[test]
fn metadata_apart_do_not_count() {
    let plan = plan(device(512, 8), "--bs=4k");
    let target = &nvme(&plan).targets[0];
    assert_eq!((target.block, target.metadata.map(|m| m.separate_bytes(4096))), (512, Some(64)));
}

/// A namespace with protection information of this type in 8 bytes of separate metadata per block.
pub(super) fn protected(kind: u8) -> NvmeDevice {
    let mut device = device(512, 8);
    device.namespace.protection = Some(FormatProtection {
        kind,
        first: false,
        guard: GuardFormat::Crc16,
        storage_tag_bits: 0,
    });
    device
}

fn protection(device: NvmeDevice, line: &str) -> ProtectionPlan {
    nvme(&plan(device, line)).targets[0].metadata.unwrap().protection.unwrap()
}

#[test]
fn the_controller_handles_protection_information_by_default() {
    let plain = protection(protected(1), "--bs=4k");
    assert!(plain.by_controller && plain.check == Checks::default());
    assert_eq!((plain.application_tag, plain.application_mask), (0x1234, 0xffff));
    let line = "--bs=4k --pi_act=0 --md_per_io_size=64 --pi_chk=GUARD,apptag --apptag=0xbeef \
                --apptag_mask=0xff00";
    let ours = protection(protected(1), line);
    assert!(!ours.by_controller);
    assert_eq!(ours.check, Checks { guard: true, reference: false, application: true });
    assert_eq!((ours.application_tag, ours.application_mask), (0xbeef, 0xff00));
    // By default the metadata buffer has the size that the job needs.
    protection(protected(1), "--bs=4k --pi_act=0");
}

#[test]
fn refuses_invalid_protection_options() {
    for (line, why) in [
        ("--pi_chk=GUARD,CRC", "`CRC` is not a part"),
        ("--apptag=0x12345", "`apptag` has 16 bits"),
        ("--pi_act=0 --md_per_io_size=63", "have 64 bytes of separate metadata"),
        ("--pi_act=0 --md_per_io_size=64 --bsrange=4k-8k", "have 128 bytes of separate metadata"),
    ] {
        let message = refused(protected(1), &format!("--bs=4k {line}"));
        assert!(message.contains(why), "{line}: {message}");
    }
    let block = Fake::empty().disk("/dev/nvme0n1", 1 << 30);
    let line = "--name=a --ioengine=io_uring --filename=/dev/nvme0n1 --bs=4k --pi_act=0";
    assert!(error(&block, line).contains("`pi_act` works only with pass-through commands"));
}

/// Each line has options and a part of the error on a plain namespace.
#[test]
fn refuses_what_a_namespace_does_not_support() {
    for (line, why) in [
        ("--bs=1000", "blocks of 512 bytes, and 1000 bytes are not a multiple"),
        ("--bsrange=512-1000", "1000 bytes are not a multiple"),
        ("--bssplit=4k/50:700/50", "700 bytes are not a multiple"),
        ("--bsrange=512-4k --bs_unaligned", "takes whole blocks of 512 bytes only"),
        ("--bs=4k --offset=100", "100 is not a multiple"),
        ("--bs=4k --ba=100 --rw=randread", "100 is not a multiple"),
        ("--bs=4k --rw=read:700", "the step of 700"),
        ("--bs=256k", "takes at most 131072 bytes in one command (MDTS)"),
        ("--bs=4k,256k --rw=rw", "takes at most 131072 bytes in one command (MDTS)"),
        (
            "--bs=1m --rw=write --write_mode=verify",
            "at most 524288 bytes in a Verify command (VSL)",
        ),
        ("--bs=64m --rw=write --write_mode=zeroes", "33554432 bytes in one command (65536 blocks)"),
        ("--rw=write --write_mode=uncor", "no Write Uncorrectable command (ONCS bit 1"),
        ("--rw=write --write_mode=zone_append --zonemode=none", "has no zones"),
        ("--rw=write --write_mode=write/60:zeroes/30", "add up to 90 %"),
        ("--rw=write --sync_file_range=write:8", "no page cache"),
        ("--nowait=1", "no flag to fail"),
        ("--readonly --rw=write --write_mode=zeroes", "--readonly is set"),
        ("--readonly --rw=trim", "--readonly is set"),
        ("--offset=1g", "is at or past the end"),
    ] {
        let message = refused(device(512, 0), line);
        assert!(message.contains(why), "{line}: {message}");
    }
}

/// Each line has a job that verifies with commands that cannot be verified, and a part of the error.
#[test]
fn verifies_only_commands_that_store_the_data() {
    let able = with(|device| device.controller.optional.write_uncorrectable = true);
    for (line, why) in [
        (
            "--verify=fiord --write_mode=zeroes --verify_journal=j",
            "`verify_journal` does not record writes of zeros",
        ),
        (
            "--verify=md5 --write_mode=zeroes --trim_percentage=9 --trim_backlog=9 --trim_verify_zero=0",
            "the contents of trimmed blocks are unknown",
        ),
        ("--verify=fiord --write_mode=uncor", "`write_mode=uncor` makes every read"),
        ("--verify=crc32c --write_mode=verify", "`write_mode=verify` writes nothing"),
        ("--verify=crc32c --do_verify=0 --write_mode=verify", "writes nothing"),
        ("--verify=crc32c --verify_mode=compare", "contents follow from their offsets"),
        (
            "--verify=pattern --verify_pattern=%o --verify_mode=compare --nvme_split=1",
            "`nvme_split` does not split",
        ),
    ] {
        let message = refused(able.clone(), &format!("--rw=write {line}"));
        assert!(
            message.contains(why) && !message.contains("not supported yet"),
            "{line}: {message}"
        );
    }
    let zoned = Fake::empty().zoned_namespace("/dev/ng0n1", with(make_zoned));
    let line = "--zonemode=zbd --rw=write --write_mode=zone_append --verify=md5";
    let message = error(&zoned, &format!("{LINE} {line}"));
    assert!(message.contains("lets the device choose where"), "{message}");
    // A job that only reads writes with no command.
    let reads = plan(able.clone(), "--rw=read --verify=pattern --verify_pattern=0");
    assert_eq!(reads.verify.unwrap().pass, VerifyPass::Reads);
    plan(able, "--rw=write --write_mode=write --verify=crc32c");
}

#[test]
fn the_device_compares_for_a_job_that_asks_for_it() {
    let pattern = "--verify=pattern --verify_pattern=%o";
    let compared = plan(device(512, 0), &format!("--rw=write {pattern} --verify_mode=compare"));
    assert!(nvme(&compared).compares && compared.verify.unwrap().compares_on_device);
    let read = plan(device(512, 0), &format!("--rw=write {pattern} --verify_mode=read"));
    assert!(!nvme(&read).compares && !read.verify.unwrap().compares_on_device);
    let message = refused(device(512, 8), &format!("--rw=write {pattern} --verify_mode=compare"));
    assert!(message.contains("has metadata, which a Compare compares as well"), "{message}");
    let block = Fake::empty().disk("/dev/nvme0n1", 1 << 30);
    let line = "--name=a --ioengine=io_uring --filename=/dev/nvme0n1 --rw=write";
    let message = error(&block, &format!("{line} {pattern} --verify_mode=compare"));
    assert!(message.contains("`verify_mode` works only with pass-through commands"), "{message}");
}

#[test]
fn refuses_commands_that_a_controller_does_not_support() {
    let poor = || with(|device| device.controller.optional = Optional::default());
    for (line, why) in [
        ("--rw=trim", "Dataset Management"),
        ("--rw=randtrimwrite", "Dataset Management"),
        ("--rw=write --write_mode=zeroes", "Write Zeroes"),
        ("--rw=write --write_mode=write/50:verify/50", "Verify"),
    ] {
        let message = refused(poor(), line);
        assert!(message.contains(&format!("has no {why} command")), "{line}: {message}");
    }
    let line = "--rw=write --verify=pattern --verify_pattern=%o --verify_mode=compare";
    let message = refused(poor(), line);
    assert!(message.contains("has no Compare command (ONCS bit 0"), "{message}");
    plan(poor(), "--rw=randrw");
    // This controller reports the command only in its Commands Supported and Effects log.
    let mut log = Box::new([0u8; 4096]);
    log[1024 + 0x0c * 4] = 1;
    let mut says_so = poor();
    says_so.commands = Some(IoCommands::parse(&log));
    plan(says_so.clone(), "--rw=write --write_mode=verify");
    assert!(refused(says_so, "--rw=trim").contains("has no Dataset Management"));
}

#[test]
fn limits_of_controllers_and_drivers() {
    let zeroes = with(|device| device.limits.write_zeroes = Some(Bytes(1 << 20)));
    let message = refused(zeroes, "--rw=write --write_mode=zeroes --bs=2m");
    assert!(message.contains("1048576 bytes in a Write Zeroes command (WZSL)"), "{message}");
    let unlimited = || with(|device| device.controller.max_transfer = None);
    let message = refused(unlimited(), "--bs=2m");
    assert!(message.contains("1048576 bytes in one command (the driver's max_hw"), "{message}");
    let message = refused(unlimited(), "--bs=1m");
    assert!(message.contains("520192 bytes in pages that are not contiguous"), "{message}");
    plan(unlimited(), "--bs=1m --iomem=mmaphuge");
    plan(unlimited(), "--bs=512k --bs=508k");
}

/// The limits of trims are recommendations: the controller decides what to do with a larger one.
#[test]
fn trims_beyond_what_a_controller_recommends_are_a_warning() {
    let limited = with(|device| {
        device.limits.deallocate_ranges = Some(4);
        device.limits.deallocate_range_blocks = Some(8);
        device.limits.deallocate_blocks = Some(16);
    });
    let machine = machine(limited);
    for (line, why) in [
        ("--bs=4k", None),
        ("--bs=4k --num_range=2", None),
        ("--bs=8k", Some("takes at most 4096 bytes in a range of Dataset Management (DMRSL)")),
        ("--bs=512 --num_range=5", Some("takes at most 4 ranges in a Dataset Management command")),
        ("--bs=4k --num_range=4", Some("deallocates at most 8192 bytes in one command (DMSL)")),
    ] {
        let resolved = run(&machine, &format!("{LINE} --rw=trim {line}")).unwrap();
        let warnings: Vec<String> = resolved.warnings.into_iter().map(|w| w.what).collect();
        assert_eq!(warnings.len(), usize::from(why.is_some()), "{line}: {warnings:?}");
        assert!(why.is_none_or(|why| warnings[0].contains(why)), "{line}: {warnings:?}");
    }
}

#[test]
fn nvme_split_splits_larger_ios() {
    let plan = plan(device(512, 0), "--bs=1m --nvme_split=1");
    assert_eq!(nvme(&plan).targets[0].split, Some(128 << 10));
    let scattered = with(|device| device.controller.max_transfer = None);
    let plan = super::job(&machine(scattered), &format!("{LINE} --bs=1m --nvme_split=1"));
    assert_eq!(nvme(&plan).targets[0].split, Some(127 * 4096));
    // Commands without data are not split.
    refused(device(512, 0), "--bs=64m --rw=write --write_mode=zeroes --nvme_split=1");
}

fn make_zoned(device: &mut NvmeDevice) {
    device.command_set = CommandSet::Zoned;
    device.zoned = Some(ZonedIdentify {
        zone_blocks: 2048,
        max_active: Some(9),
        max_open: None,
        read_across_zones: false,
        max_append: Some(Bytes(64 << 10)),
    });
}

#[test]
fn only_the_controller_generates_reference_tags_of_appends() {
    for (kind, act, taken) in
        [(1, 0, false), (2, 0, false), (3, 0, true), (1, 1, true), (2, 1, true), (3, 1, true)]
    {
        let mut zoned = protected(kind);
        make_zoned(&mut zoned);
        let machine = Fake::empty().zoned_namespace("/dev/ng0n1", zoned);
        let line = format!("{LINE} --zonemode=zbd --rw=write --bs=4k --pi_act={act}");
        job(&machine, &line);
        let line = format!("{line} --write_mode=zone_append");
        if taken {
            assert_eq!(job(&machine, &line).load.write_commands, [(WriteCommand::Append, 100)]);
        } else {
            let message = error(&machine, &line);
            assert!(message.contains("protection information with reference tags"), "{message}");
        }
    }
}

#[test]
fn never_emulates_zones_on_a_zoned_namespace_without_a_block_device() {
    let line = format!("{LINE} --zonemode=zbd --rw=write");
    let zoned = || with(make_zoned);
    let job = |device: NvmeDevice, line: &str| super::job(&machine(device), line);
    let zones = job(zoned(), &line).target.files[0].zones;
    assert_eq!(zones, Some(Zones { size: Bytes(1 << 20), emulated: None }));
    let message = error(&machine(zoned()), &format!("{line} --zonesize=2m"));
    assert!(message.contains("does not match disk zone size"), "{message}");
    let message = error(&machine(zoned()), &format!("{line} --max_open_zones=10"));
    assert!(message.contains("more than the 9 zones"), "{message}");
    let silent = NvmeDevice { zoned: None, ..zoned() };
    let message = error(&machine(silent), &format!("{line} --zonesize=2m"));
    assert!(message.contains("cannot determine"), "{message}");
    // A namespace of the NVM command set has no zones, so emulated zones hide none.
    let zones = job(device(512, 0), &format!("{line} --zonesize=2m")).target.files[0].zones;
    assert_eq!(zones, Some(Zones { size: Bytes(2 << 20), emulated: Some(Bytes(2 << 20)) }));
}

#[test]
fn zone_append_needs_zones() {
    let zoned = with(make_zoned);
    let message = refused(zoned.clone(), "--rw=write --write_mode=zone_append");
    assert!(message.contains("requires zonemode=zbd"), "{message}");
    let machine = Fake::empty().zoned_namespace("/dev/ng0n1", zoned);
    let line = format!("{LINE} --zonemode=zbd --rw=write --write_mode=zone_append");
    assert_eq!(job(&machine, &line).load.write_commands, [(WriteCommand::Append, 100)]);
    for (modes, word) in [("verify", "verify"), ("write/50:uncor/50", "uncor")] {
        let line = format!("{LINE} --zonemode=zbd --rw=write --write_mode={modes}");
        let message = error(&machine, &line);
        assert!(message.contains(&format!("`write_mode={word}` does not write at")), "{message}");
    }
    let message = error(&machine, &format!("{line} --bs=128k"));
    assert!(message.contains("65536 bytes in a Zone Append command (ZASL)"), "{message}");
    // The parts of a split append could change their order.
    let message = error(&machine, &format!("{line} --bs=256k --nvme_split=1"));
    assert!(message.contains("131072 bytes in one command (MDTS)"), "{message}");
}

#[test]
fn refuses_the_wrong_kind_of_device() {
    let machine = machine(device(512, 0)).file("/data", 1 << 20);
    for path in ["/dev/nvme0n1", "/data"] {
        let line = format!("--name=a --ioengine=io_uring_cmd --filename={path}");
        let Err(errors) = run(&machine, &line) else { panic!("{path}") };
        assert!(errors[0].what.contains("generic character device of a namespace"), "{errors:?}");
        let help = errors[0].help.join(" ");
        assert_eq!(path == "/dev/nvme0n1", help.contains("filename=/dev/ng0n1"), "{help}");
    }
    for engine in ["psync", "io_uring", "libaio", "mmap"] {
        let line = format!("--name=a --ioengine={engine} --filename=/dev/ng0n1 --size=1m");
        let message = error(&machine, &line);
        assert!(message.contains("takes commands, not reads and writes"), "{engine}: {message}");
    }
    let missing =
        error(&machine, "--name=a --ioengine=io_uring_cmd --filename=/dev/ng9n9 --size=1m");
    assert!(missing.contains("there is no device `/dev/ng9n9`"), "{missing}");
    let other = machine.with("/dev/null", FoundKind::Char, 0);
    let message = error(&other, "--name=a --ioengine=io_uring_cmd --filename=/dev/null --size=1m");
    assert!(message.contains("is a character device"), "{message}");
}

#[test]
fn refuses_to_write_to_a_device_in_use() {
    let machine = Fake::empty().mounted_namespace("/dev/ng0n1", device(512, 0));
    for line in ["--rw=write", "--rw=trim", "--rw=write --write_mode=zeroes"] {
        let message = error(&machine, &format!("{LINE} {line}"));
        assert!(message.contains("appears mounted"), "{line}: {message}");
    }
    job(&machine, LINE);
    job(&machine, &format!("{LINE} --rw=write --allow_mounted_write=1"));
}

#[test]
fn options_without_effect_on_a_namespace_have_a_warning() {
    let extended = with(|device| {
        device.namespace.format.metadata = Bytes(8);
        device.namespace.extended = true;
    });
    let line = format!("{LINE} --bs=520 --md_per_io_size=64");
    let resolved = run(&machine(extended), &line).unwrap();
    let said = resolved.warnings.iter().any(|w| w.what.contains("after the data of each block"));
    assert!(said, "{:?}", resolved.warnings);
    let resolved = run(&machine(device(512, 0)), &format!("{LINE} --uncached=1")).unwrap();
    let said: Vec<&str> = resolved.warnings.iter().map(|w| w.what.as_str()).collect();
    assert!(
        said.iter().any(
            |what| what.contains("`uncached` has no effect with an engine that sends commands")
        ),
        "{said:?}"
    );
    for (words, option) in [
        ("--rw=read --write_mode=zeroes", "write_mode"),
        ("--rw=read --writefua=1", "writefua"),
        ("--rw=write --readfua=1", "readfua"),
    ] {
        let resolved = run(&machine(device(512, 0)), &format!("{LINE} {words}")).unwrap();
        let said = |w: &Diagnostic| w.what.contains(&format!("`{option}` has no effect"));
        assert!(resolved.warnings.iter().any(said), "{words}: {:?}", resolved.warnings);
    }
}

#[test]
fn a_device_whose_use_is_unknown_counts_as_in_use() {
    let machine = Fake::empty().secret_namespace("/dev/ng0n1", device(512, 0));
    let message = error(&machine, &format!("{LINE} --rw=write"));
    assert!(message.contains("cannot determine whether `/dev/ng0n1` is in use: open: EACCES"));
    job(&machine, LINE);
    job(&machine, &format!("{LINE} --rw=write --allow_mounted_write=1"));
}

#[test]
fn refuses_a_namespace_that_cannot_be_identified() {
    let machine = Fake::empty().mute("/dev/ng0n1", "Permission denied");
    let message = error(&machine, LINE);
    assert!(message.contains("cannot be identified: identify: Permission denied"), "{message}");
    let keys = with(|device| device.command_set = CommandSet::KeyValue);
    assert!(refused(keys, "").contains("it has no blocks"));
    let odd = with(|device| device.namespace.format.data = Bytes::ZERO);
    assert!(refused(odd, "").contains("LBA format 0, which has no block size"));
    let guarded = || with(|device| device.namespace.write_protected = true);
    assert!(refused(guarded(), "--rw=write").contains("is write protected"));
    plan(guarded(), "");
}

#[test]
fn options_of_commands_need_an_engine_that_sends_them() {
    for option in ["write_mode=zeroes", "readfua=1", "writefua=1", "deac=1"] {
        let line = format!("--name=a --size=1m --rw=write --ioengine=io_uring --{option}");
        let message = error(&Fake::empty(), &line);
        assert!(message.contains("only with pass-through commands"), "{option}: {message}");
    }
    job(&Fake::empty(), "--name=a --size=1m --rw=write --ioengine=io_uring --write_mode=write");
}

#[test]
fn options_of_files_have_no_effect_on_commands() {
    for (option, named) in [("sync=dsync", "`sync`"), ("write_hint=short", "`write_hint`")] {
        let resolved = run(&machine(device(512, 0)), &format!("{LINE} --rw=write --{option}"));
        let warnings = resolved.unwrap().warnings;
        assert!(warnings.iter().any(|w| w.what.contains(named)), "{option}: {warnings:?}");
    }
    let plain = run(&machine(device(512, 0)), &format!("{LINE} --rw=write --sync=none --direct=1"));
    assert_eq!(plain.unwrap().warnings, []);
}
