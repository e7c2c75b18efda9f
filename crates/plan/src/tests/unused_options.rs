//! Warnings about options that have no effect on the job that sets them.

use super::*;
use crate::machine::facts::FoundKind;

fn warnings(line: &str) -> Vec<String> {
    let machine = Fake::empty()
        .disk("/dev/sda", 1 << 30)
        .with("/dev/sg0", FoundKind::Char, 0)
        .with("/dev/zero", FoundKind::Char, 0)
        .file("f", 1 << 20);
    let resolved = run(&machine, line).unwrap_or_else(|errors| panic!("{line}: {errors:?}"));
    resolved.warnings.into_iter().map(|warning| warning.what).collect()
}

#[test]
fn each_unused_option_has_a_warning() {
    let file = "--name=a --filename=f";
    let sg = "--name=a --filename=/dev/sg0 --ioengine=sg --bs=4k";
    let null = "--name=a --ioengine=null --size=1m";
    for (line, option) in [
        (format!("{sg} --rw=write --write_hint=short"), "write_hint"),
        (format!("{null} --rw=write --write_hint=short"), "write_hint"),
        (format!("{null} --ioscheduler=none"), "ioscheduler"),
        (format!("{sg} --rw=read --ioscheduler=none"), "ioscheduler"),
        ("--name=a --filename=/dev/zero --size=1m --ioscheduler=none".to_string(), "ioscheduler"),
        (
            "--name=a --filename=/dev/zero --size=1m --fadvise_hint=random".to_string(),
            "fadvise_hint",
        ),
        (format!("{sg} --rw=read --sg_write_mode=write_same"), "sg_write_mode"),
        (format!("{sg} --rw=read --writefua=1"), "writefua"),
        (format!("{sg} --rw=write --readfua=1"), "readfua"),
        (format!("{file} --ioengine=pvsync2 --hipri_percentage=50"), "hipri_percentage"),
        (format!("{file} --exit_what=all"), "exit_what"),
        (format!("{file} --rate_cycle=500"), "rate_cycle"),
        (format!("{file} --rate=1m --rate_ignore_thinktime=1"), "rate_ignore_thinktime"),
    ] {
        let found = warnings(&line);
        let said = found.iter().any(|what| what.contains(&format!("`{option}` has no effect")));
        assert!(said, "{line}: {found:?}");
    }
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
            let told = found.iter().filter(|what| what.contains("no effect without `cgroup`"));
            assert_eq!(told.count(), 1, "{line}: {found:?}");
        }
    }
}
