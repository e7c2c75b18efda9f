//! Options that bear on what a job may not have at all: a mix, random offsets, writes, a queue, a
//! rate. (Options that exclude each other are told where they are read.)

use fiord_job::option::value::Value;
use fiord_job::spec::Setting;

use crate::model::{EnginePlan, FileKind, JobPlan, Memory, Mix};
use crate::reading::Reading;

/// Options that bear on one thing.
pub(super) struct Rule {
    pub(super) options: &'static [&'static str],
    /// Whether it occurs in a job.
    pub(super) bears: fn(&JobPlan) -> bool,
    /// Why they have no effect where it does not.
    pub(super) why: &'static str,
    /// What to do about it.
    pub(super) help: &'static str,
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        options: &["rwmixread", "rwmixwrite"],
        bears: |job| matches!(job.load.mix, Mix::ReadWrite { .. }),
        why: "on a job that does not both read and write",
        help: "To fix: use `rw=rw` or `rw=randrw` for a mix",
    },
    Rule {
        options: &["latency_slice", "latency_test"],
        bears: |job| job.record.slices.is_some(),
        why: "without `latency_limits`",
        help: "To fix: add `latency_limits=1ms:5,8ms:1`: the shares of I/Os that may take longer",
    },
    Rule {
        options: &["hugepage-size"],
        bears: |job| matches!(job.process.memory, Memory::ShmHuge(_) | Memory::MmapHuge { .. }),
        why: "on a job whose buffers are not in huge pages",
        help: "To fix: use `mem=mmaphuge` or `mem=shmhuge`",
    },
    Rule {
        options: &["percentage_random", "random_distribution", "norandommap", "random_generator"],
        bears: |job| job.load.random,
        why: "on a job whose offsets are not random",
        help: "To fix: use a random workload, such as `rw=randread`",
    },
    Rule {
        options: &[
            "fsync",
            "fdatasync",
            "write_barrier",
            "sync_file_range",
            "end_fsync",
            "end_syncfs",
            "fsync_on_close",
            "overwrite",
        ],
        bears: |job| job.load.mix.changes_data(),
        why: "on a job that writes nothing",
        help: "To fix: leave it out, or use a workload that writes",
    },
    Rule {
        options: &[
            "buffer_compress_percentage",
            "buffer_compress_chunk",
            "buffer_crc",
            "buffer_pattern",
            "dedupe_percentage",
            "refill_buffers",
            "scramble_buffers",
            "zero_buffers",
        ],
        bears: makes_data,
        why: "on a job that writes nothing and lays out no file",
        help: "To fix: leave it out, or use a workload that writes",
    },
    Rule {
        options: &["iodepth_batch", "iodepth_batch_complete_max", "iodepth_low"],
        bears: |job| job.depth.depth > 1,
        why: "with `iodepth=1`: there is one I/O at a time",
        help: "To fix: raise `iodepth`",
    },
    Rule {
        options: &["cgroup_weight", "cgroup_nodelete"],
        bears: |job| job.process.cgroup.is_some(),
        why: "without `cgroup`",
        help: "To fix: add `cgroup=NAME`",
    },
    Rule {
        options: &["uncached"],
        bears: |job| !matches!(job.engine, EnginePlan::IoUringCmd(_)),
        why: "with an engine that sends commands, which bypass the page cache",
        help: "To fix: leave it out",
    },
    Rule {
        options: &["rate_process"],
        bears: |job| job.pace.rate != [None; 3],
        why: "on a job that has no rate",
        help: "To fix: add `rate_iops=<I/Os a second>` or `rate=<bytes a second>`",
    },
];

/// Whether some bytes of the job's contents are written: by its I/Os, or into a file before.
fn makes_data(job: &JobPlan) -> bool {
    let null = matches!(job.engine, EnginePlan::Null | EnginePlan::Sim(_));
    let files = !null && job.target.files.iter().any(|file| file.kind == FileKind::Regular);
    job.load.writes_data() || files
}

/// Whether a setting is more than the default, or than nothing.
pub(super) fn says_something(job: Reading, setting: &Setting) -> bool {
    let off = matches!(setting.value, Value::Flag(false) | Value::Int(0) | Value::Time(0));
    !off && job.spec.default_of(setting.def).as_ref() != Some(&setting.value)
}

#[cfg(test)]
mod tests {
    use fiord_job::option::table;

    use super::*;
    use crate::tests::warned;

    #[test]
    fn every_name_is_an_option() {
        for name in RULES.iter().flat_map(|rule| rule.options) {
            let any = table::find(name).is_some_and(|def| def.name == *name);
            assert!(any || !table::engines_with(name).is_empty(), "{name}");
        }
    }

    #[test]
    fn each_is_told_alone() {
        for option in [
            "rwmixread=70",
            "percentage_random=50",
            "random_distribution=zipf:1.2",
            "norandommap",
            "fsync=3",
            "end_fsync=1",
            "overwrite=1",
            "buffer_compress_percentage=50",
            "iodepth_batch=4",
            "rate_process=poisson",
            "cgroup_weight=500",
            "cgroup_nodelete=1",
            "hugepage-size=1g",
            "latency_slice=1m",
        ] {
            let told = warned(&format!("--name=a --rw=read --size=1m --ioengine=sim --{option}"));
            assert_eq!(told.len(), 1, "{option}: {told:?}");
            assert!(told[0].contains("has no effect"), "{told:?}");
        }
    }

    #[test]
    fn what_bears_or_says_nothing_is_not() {
        let sim = "--size=1m --ioengine=sim";
        for line in [
            "--name=a --rw=randrw --rwmixread=70 --norandommap --fsync=3 --iodepth=8 --iodepth_batch=4",
            "--name=a --rw=read --fsync=0 --norandommap=0 --overwrite=0 --percentage_random=100",
            "--name=a --rw=read --rate_iops=100 --rate_process=poisson",
            // A floor without a rate is kept, and a window without a criterion has one by default.
            "--name=a --rw=read --rate_min=1m --ss_dur=10",
            // For all jobs, and one needs it.
            "--cgroup_nodelete=1 --rw=read --name=a --name=b --cgroup=bench",
            "--norandommap --end_fsync=1 --rw=read --name=a --name=b --rw=randwrite",
        ] {
            assert_eq!(warned(&format!("{sim} {line}")), Vec::<String>::new(), "{line}");
        }
        let file = "--name=a --rw=read --size=1m --filename=/tmp/fiord-idle --zero_buffers=1";
        assert_eq!(warned(file), Vec::<String>::new(), "the file is laid out with it");
    }

    #[test]
    fn of_all_jobs_it_is_told_once_and_of_one_with_its_name() {
        let both = "--size=1m --ioengine=sim --rw=read --end_fsync=1 --name=a --name=b";
        let told = |name| {
            vec![format!("job `{name}`: `end_fsync` has no effect on a job that writes nothing")]
        };
        assert_eq!(warned(both), told("a"));
        let own = "--size=1m --ioengine=sim --name=a --rw=write --name=b --rw=read --end_fsync=1";
        assert_eq!(warned(own), told("b"));
    }
}
