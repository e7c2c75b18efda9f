//! Warnings about options that have no effect on the job that sets them.

use fiord_job::diagnostic::{Level, Note};

use super::*;
use crate::machine::facts::FoundKind;
use crate::unused::engine_rules::ENGINE_OPTION_RULES;
use crate::unused::flash_rules::FLASH_RULES;
use crate::unused::log_rules::LOG_RULES;
use crate::unused::net_rules::NET_RULES;
use crate::unused::rules::{RULES, Rule};
use crate::unused::target_rules::TARGET_RULES;
use crate::unused::verify_rules::VERIFY_RULES;

/// One job for each rule, in the order of the table.
const EXAMPLES: &[&str] = &[
    "--rw=read --rwmixread=70",
    "--rw=randrw --rwmixread=70 --rate=1m",
    "--rw=randrw --rwmixread=70 --rate_iops=100",
    "--rw=write --block_error_percentiles=1",
    "--rw=randread --bs=8k --bs_is_seq_rand=1",
    "--rw=read --norandommap",
    "--rw=read --fsync=3",
    "--rw=read --zero_buffers",
    "--rw=write --buffer_compress_chunk=4k",
    "--rw=write --dedupe_global=1",
    "--rw=write --dedupe_percentage=10 --dedupe_working_set_percentage=10",
    "--rw=write --dedupe_percentage=10 --buffer_pattern=0xff",
    "--rw=write --buffer_compress_percentage=10 --zero_buffers",
    "--rw=write --dedupe_percentage=10 --zero_buffers",
    "--rw=randwrite --spr_op=0.2",
    "--rw=randwrite --sprandom=1 --norandommap --random_generator=lfsr --io_size=1m",
    "--ioengine=io_uring_cmd --filename=/dev/ng0n1 --rw=read --dataplacement=streams --plids=1",
    "--rw=write --plids=1",
    "--ioengine=io_uring_cmd --filename=/dev/ng0n1 --rw=write --dataplacement=streams \
     --plid_select=scheme --dp_scheme=scheme --plids=1",
    "--ioengine=io_uring_cmd --filename=/dev/ng0n1 --rw=write --dataplacement=streams --plids=1 \
     --dp_scheme=scheme",
    "--rw=write --max_open_zones=3",
    "--rw=write --zonerange=1m",
    "--ioengine=psync --filename=f --rw=write --zonemode=zbd --zonesize=64k --zonerange=128k",
    "--ioengine=psync --filename=f --rw=read --zonemode=zbd --zonesize=64k --job_max_open_zones=2",
    "--ioengine=psync --filename=f --rw=write --zonemode=zbd --zonesize=64k --zone_reset_threshold=0.5",
    "--ioengine=psync --filename=f --rw=write --zonemode=zbd --zonesize=64k --zone_reset_frequency=0.5",
    "--ioengine=psync --filename=f --rw=read --zonemode=zbd --zonesize=64k --zone_reset_threshold=0.5 \
     --zone_reset_frequency=0.5",
    "--ioengine=mmap --filename=f --direct=1",
    "--ioengine=falloc --filename=f --rw=write --direct=1",
    "--ioengine=page_fault --direct=1",
    "--ioengine=io_uring_cmd --filename=/dev/ng0n1 --rw=write --sync=dsync",
    "--ioengine=sg --filename=/dev/sg0 --rw=write --sync=1",
    "--ioengine=io_uring_cmd --filename=/dev/ng0n1 --rw=write --write_hint=short",
    "--ioengine=sg --filename=/dev/sg0 --rw=write --write_hint=short",
    "--ioengine=null --rw=write --write_hint=short",
    "--ioengine=null --ioscheduler=none",
    "--ioengine=psync --filename=/dev/zero --ioscheduler=none",
    "--ioengine=psync --filename=/dev/zero --fadvise_hint=random",
    "--iodepth_batch=4",
    "--hugepage-size=1g",
    "--cgroup_weight=500",
    "--exit_what=all",
    "--time_based",
    "--rw=randwrite --sprandom=1 --norandommap --random_generator=lfsr --time_based --runtime=3",
    "--steadystate=iops:1% --steadystate_ramp_time=3",
    "--rate_process=poisson",
    "--rate_cycle=500",
    "--rate=1m --rate_ignore_thinktime=1",
    "--thinktime_spin=10 --thinktime_blocks=2",
    "--flow_sleep=3",
    "--latency_window=10ms --latency_run=1",
    "--latency_slice=1m",
    "--flow_watermark=100",
];

/// One job for each rule about options of engines, in the order of the table.
const ENGINE_EXAMPLES: &[&str] = &[
    "--ioengine=io_uring_cmd --filename=/dev/ng0n1 --uncached=1",
    "--ioengine=dev-dax --filename=/dev/dax0.0 --rw=write --direct=1",
    "--ioengine=pvsync2 --filename=f --hipri_percentage=50",
    "--ioengine=io_uring --filename=f --sqthread_poll_cpu=1",
    "--ioengine=io_uring --filename=f --cmdprio=1",
    "--ioengine=sg --filename=/dev/sg0 --rw=read --sg_write_mode=write_same",
    "--ioengine=sg --filename=/dev/sg0 --rw=read --writefua=1",
    "--ioengine=sg --filename=/dev/sg0 --rw=write --writefua=1 --sg_write_mode=write_same",
    "--ioengine=sg --filename=/dev/sg0 --rw=write --readfua=1",
    "--ioengine=sg --filename=/dev/sg0 --rw=write --stream_id=3",
    "--ioengine=io_uring_cmd --filename=/dev/ng0n1 --rw=write --deac=1",
    "--ioengine=io_uring_cmd --filename=/dev/ng1n1 --bs=520 --md_per_io_size=64",
    "--ioengine=io_uring_cmd --filename=/dev/ng0n1 --md_per_io_size=64",
    "--ioengine=io_uring_cmd --filename=/dev/ng0n1 --pi_chk=GUARD",
    "--ioengine=io_uring_cmd --filename=/dev/ng2n1 --pi_chk=REFTAG",
];

/// One job for each rule about logs, in the order of the table.
const LOG_EXAMPLES: &[&str] = &[
    "--log_avg_msec=100",
    "--write_lat_log=x --log_window_value=max",
    "--write_lat_log=x --log_hist_msec=100",
    "--write_hist_log=x",
    "--write_lat_log=x --log_empty=1",
    "--per_job_logs=0",
    "--write_lat_log=x --log_alternate_epoch_clock_id=1",
];

/// One job for each rule about verification, in the order of the table.
const VERIFY_EXAMPLES: &[&str] = &[
    "--rw=trim --verify=md5",
    "--rw=write --verify=md5 --ioengine=null",
    "--rw=write --verify_fatal=1",
    "--rw=read --verify=md5 --do_verify=0",
    "--rw=read --verify=md5 --verify_backlog=3",
    "--rw=write --verify=md5 --do_verify=0 --verify_async=2",
    "--rw=write --verify=md5 --verify_backlog_batch=3",
    "--rw=write --verify=md5 --verify_async_cpus=1",
    "--rw=write --verify=md5 --trim_percentage=3",
    "--rw=write --verify=md5 --trim_backlog=3",
    "--rw=write --verify=md5 --verify_pattern_interval=1k",
    "--rw=write --verify=fiord --verify_pattern=0xff",
    "--rw=write --verify=null --verify_offset=100",
    "--rw=write --verify=md5 --verify_interval=1000",
    "--rw=write --verify=md5 --bsrange=4k-8k --verify_write_sequence=1",
    "--rw=write --verify=fiord --dedupe_percentage=10",
    "--rw=write --verify=md5 --dedupe_percentage=10",
    "--rw=write --verify=meta --buffer_pattern=0xff",
    "--rw=write --verify=md5 --refill_buffers",
];

fn machine() -> Fake {
    let mut extended = nvme::device(512, 8);
    extended.namespace.extended = true;
    Fake::empty()
        .disk("/dev/sda", 1 << 30)
        .with("/dev/sg0", FoundKind::Char, 0)
        .with("/dev/zero", FoundKind::Char, 0)
        .with("/dev/dax0.0", FoundKind::Char, 1 << 30)
        .namespace("/dev/ng0n1", nvme::device(512, 0))
        .namespace("/dev/ng1n1", extended)
        .namespace("/dev/ng2n1", nvme::protected(3))
        .text_file("scheme", "0, 4096, 1")
        .file("f", 1 << 20)
        .flash("/dev/mtd0", flash::nand())
}

fn warnings(line: &str) -> Vec<String> {
    let resolved = run(&machine(), line).unwrap_or_else(|errors| panic!("{line}: {errors:?}"));
    resolved.warnings.into_iter().map(|warning| warning.what).collect()
}

/// One job for each rule about networks, in the order of the table.
const NET_EXAMPLES: &[&str] = &[
    "--ioengine=net --listen --port=1 --direct=1",
    "--ioengine=net --hostname=h --port=1 --rw=write --fsync=1",
    "--ioengine=net --protocol=unix --filename=s --nodelay=1",
    "--ioengine=net --listen --port=1 --ttl=2",
    "--ioengine=rdma --port=1 --rw=read --verb=send",
    "--ioengine=http --filename=/a --rw=write --fsync=1",
    "--ioengine=http --filename=/a --http_s3_region=x",
    "--ioengine=http --filename=/a --http_swift_auth_token=x",
    "--ioengine=http --filename=/a --http_mode=s3 --http_user=x",
    "--ioengine=http --filename=/a --http_ca_file=x",
    "--ioengine=http --filename=/a --rw=write --http_read=head",
    "--ioengine=http --filename=/a --http_list_keys=9",
    "--ioengine=http --filename=/a --http_mode=s3 --rw=write --bs=1m --http_s3_part_size=1m",
];

/// One job for each rule about the names of files, in the order of the table.
const TARGET_EXAMPLES: &[&str] = &["--ioengine=rbd --pool=p --rbdname=i --filename=g"];
/// One job for each rule about raw flash, in the order of the table.
const FLASH_EXAMPLES: &[&str] = &["--ioengine=mtd --filename=/dev/mtd0 --rw=write --sync=1"];

#[test]
fn each_rule_reports_its_option_once_and_where_it_is_set() {
    check_rules(RULES, EXAMPLES);
    check_rules(ENGINE_OPTION_RULES, ENGINE_EXAMPLES);
    check_rules(VERIFY_RULES, VERIFY_EXAMPLES);
    check_rules(LOG_RULES, LOG_EXAMPLES);
    check_rules(NET_RULES, NET_EXAMPLES);
    check_rules(TARGET_RULES, TARGET_EXAMPLES);
    check_rules(FLASH_RULES, FLASH_EXAMPLES);
}

fn check_rules(rules: &[Rule], examples: &[&str]) {
    assert_eq!(examples.len(), rules.len(), "one example for each rule");
    for (rule, example) in rules.iter().zip(examples) {
        let line = format!("--name=a --ioengine=sim --size=1m {example}");
        let resolved = run(&machine(), &line).unwrap_or_else(|errors| panic!("{line}: {errors:?}"));
        let mut found = resolved.warnings;
        found.retain(|warning| warning.level == Level::Warning(Note::NoEffect));
        let [warning] = &found[..] else { panic!("{line}: {found:?}") };
        let option = warning.subject.option.unwrap();
        assert!(rule.options.contains(&option), "{line}: {warning:?}");
        let what = rule.what.replace("{option}", option.name);
        let start = what.split('{').next().unwrap_or_default();
        assert!(warning.what.starts_with(&format!("job `a`: {start}")), "{line}: {warning:?}");
        assert!(!warning.what.contains('{'), "{warning:?}");
        let set = warning.place.as_ref().unwrap().text();
        assert!(set.starts_with(option.name), "{line}: points at {set}");
    }
}

#[test]
fn an_option_is_reported_once_even_if_several_rules_hold() {
    let found = warnings("--name=a --ioengine=sim --size=1m --rw=read --buffer_compress_chunk=4k");
    assert_eq!(
        found,
        [
            "job `a`: `buffer_compress_chunk` has no effect on a job that writes nothing and lays out no file"
        ]
    );
}

#[test]
fn used_options_have_no_warning() {
    let file = "--name=a --filename=f";
    for line in [
        file.to_owned(),
        "--name=a --ioengine=null --size=1m --write_hint=none".into(),
        "--name=a --filename=/dev/zero --size=1m".into(),
        "--name=a --filename=/dev/zero --size=1m --fadvise_hint=0".into(),
        "--name=a --filename=/dev/sda --ioscheduler=none".into(),
        "--name=a --filename=/dev/sg0 --ioengine=sg --rw=randrw --readfua=1 --writefua=1".into(),
        "--name=a --filename=/dev/sg0 --ioengine=sg --rw=read --sg_write_mode=write".into(),
        format!("{file} --ioengine=pvsync2 --hipri --hipri_percentage=50"),
        format!("{file} --exitall --exit_what=all"),
        format!("{file} --exitall_on_error --exit_what=all"),
        format!("{file} --rate=1m --rate_min=100k --rate_cycle=500"),
        format!("{file} --rate=1m --thinktime=10 --rate_ignore_thinktime=1"),
        format!("{file} --cgroup_nodelete=0"),
    ] {
        let found = warnings(&line);
        assert!(!found.iter().any(|what| what.contains("has no effect")), "{line}: {found:?}");
    }
}

/// A global option counts as unused only if no job uses it.
#[test]
fn global_options_that_one_job_uses_have_no_warning() {
    let jobs =
        "--rate_cycle=500 --name=a --filename=f --rate=1m --rate_min=1k --name=b --filename=f";
    assert_eq!(warnings(jobs), [""; 0]);
    let none = warnings("--rate_cycle=500 --name=a --filename=f --name=b --filename=f");
    assert_eq!(none.iter().filter(|what| what.contains("`rate_cycle`")).count(), 1, "{none:?}");
}

/// fio runs such a job, so this is a warning, and only one if all jobs inherit the option.
#[test]
fn control_group_options_without_a_name_have_one_warning() {
    for option in ["cgroup_nodelete=1", "cgroup_weight=500"] {
        for line in [
            format!("--name=a --filename=f --{option}"),
            format!("--{option} --name=a --filename=f --name=b --filename=f"),
        ] {
            let found = warnings(&line);
            let matching = found.iter().filter(|what| what.contains("no effect without `cgroup`"));
            assert_eq!(matching.count(), 1, "{line}: {found:?}");
        }
    }
}

#[test]
fn used_options_and_defaults_have_no_warning() {
    let sim = "--size=1m --ioengine=sim";
    for line in [
        "--name=a --rw=randrw --rwmixread=70 --norandommap --fsync=3 --iodepth=8 --iodepth_batch=4",
        "--name=a --rw=read --fsync=0 --norandommap=0 --overwrite=0 --percentage_random=100",
        "--name=a --rw=read --rate_iops=100 --rate_process=poisson",
        // A minimum rate works without a rate, and a window has a default criterion.
        "--name=a --rw=read --rate_min=1m --ss_dur=10",
        // Set for all jobs, and one of them uses it.
        "--cgroup_nodelete=1 --rw=read --name=a --name=b --cgroup=bench",
        "--norandommap --end_fsync=1 --rw=read --name=a --name=b --rw=randwrite",
    ] {
        assert_eq!(warned(&format!("{sim} {line}")), Vec::<String>::new(), "{line}");
    }
    let file = "--name=a --rw=read --size=1m --filename=/tmp/fiord-idle --zero_buffers=1";
    assert_eq!(warned(file), Vec::<String>::new(), "the file is laid out with it");
}

#[test]
fn a_global_option_has_one_warning_and_a_local_one_names_its_job() {
    let both = "--size=1m --ioengine=sim --rw=read --end_fsync=1 --name=a --name=b";
    let warning = |name| {
        vec![format!("job `{name}`: `end_fsync` has no effect on a job that writes nothing")]
    };
    assert_eq!(warned(both), warning("a"));
    let own = "--size=1m --ioengine=sim --name=a --rw=write --name=b --rw=read --end_fsync=1";
    assert_eq!(warned(own), warning("b"));
}
