//! Warnings about options that have no effect on the job that sets them.

use fiord_job::diagnostic::{Level, Note};

use super::*;
use crate::machine::facts::FoundKind;
use crate::unused::all_rules;

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
        .text_file("trace", "fio version 2 iolog\nf add\nf open\nf read 0 4096\nf close\n")
        .file("f", 1 << 20)
        .flash("/dev/mtd0", flash::nand())
}

fn warnings(line: &str) -> Vec<String> {
    let resolved = run(&machine(), line).unwrap_or_else(|errors| panic!("{line}: {errors:?}"));
    resolved.warnings.into_iter().map(|warning| warning.what).collect()
}

#[test]
fn each_rule_reports_its_option_once_and_where_it_is_set() {
    for rule in all_rules() {
        // A trace says how much a job does.
        let size = if rule.example.contains("read_iolog") { "" } else { "--size=1m" };
        let line = format!("--name=a --ioengine=sim {size} {}", rule.example);
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
