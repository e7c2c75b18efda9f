//! Options that need a property which the job may lack: a mix, random offsets, writes, a queue, a
//! rate. (The modules that read options warn of options that exclude each other.)

use fiord_job::option::def::OptionDef;
use fiord_job::option::table::{
    BUFFER_COMPRESS_CHUNK, BUFFER_COMPRESS_PERCENTAGE, BUFFER_CRC, BUFFER_PATTERN, CGROUP_NODELETE,
    CGROUP_WEIGHT, DEDUPE_PERCENTAGE, END_FSYNC, END_SYNCFS, FDATASYNC, FSYNC, FSYNC_ON_CLOSE,
    HUGEPAGE_SIZE, IODEPTH_BATCH, IODEPTH_BATCH_COMPLETE_MAX, IODEPTH_LOW, LATENCY_SLICE,
    LATENCY_TEST, NORANDOMMAP, OVERWRITE, PERCENTAGE_RANDOM, RANDOM_DISTRIBUTION, RANDOM_GENERATOR,
    RATE_PROCESS, REFILL_BUFFERS, RWMIXREAD, RWMIXWRITE, SCRAMBLE_BUFFERS, SYNC_FILE_RANGE,
    WRITE_BARRIER, ZERO_BUFFERS, pvsync2,
};
use fiord_job::option::value::Value;
use fiord_job::spec::Setting;
use fiord_types::PerDir;

use crate::model::{FileKind, JobPlan, Memory, Mix};

/// Options that have an effect only on jobs with one property.
pub(super) struct Rule {
    pub(super) options: &'static [&'static OptionDef],
    /// Whether a job has the property.
    pub(super) applies: fn(&JobPlan) -> bool,
    /// Why the options have no effect on other jobs: the end of a sentence in the warning.
    pub(super) why: &'static str,
    /// The remedy.
    pub(super) help: &'static str,
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        options: &[RWMIXREAD.def(), RWMIXWRITE.def()],
        applies: |job| matches!(job.load.mix, Mix::ReadWrite { .. }),
        why: "on a job that does not both read and write",
        help: "To fix: use `rw=rw` or `rw=randrw` for a mix",
    },
    Rule {
        options: &[LATENCY_SLICE.def(), LATENCY_TEST.def()],
        applies: |job| job.record.slices.is_some(),
        why: "without `latency_limits`",
        help: "To fix: add `latency_limits=1ms:5,8ms:1`: the shares of I/Os that may take longer",
    },
    Rule {
        options: &[HUGEPAGE_SIZE.def()],
        applies: |job| matches!(job.process.memory, Memory::ShmHuge(_) | Memory::MmapHuge { .. }),
        why: "on a job whose buffers are not in huge pages",
        help: "To fix: use `mem=mmaphuge` or `mem=shmhuge`",
    },
    Rule {
        options: &[
            PERCENTAGE_RANDOM.def(),
            RANDOM_DISTRIBUTION.def(),
            NORANDOMMAP.def(),
            RANDOM_GENERATOR.def(),
        ],
        applies: |job| job.load.random,
        why: "on a job whose offsets are not random",
        help: "To fix: use a random workload, such as `rw=randread`",
    },
    Rule {
        options: &[
            FSYNC.def(),
            FDATASYNC.def(),
            WRITE_BARRIER.def(),
            SYNC_FILE_RANGE.def(),
            END_FSYNC.def(),
            END_SYNCFS.def(),
            FSYNC_ON_CLOSE.def(),
            OVERWRITE.def(),
        ],
        applies: |job| job.load.mix.changes_data(),
        why: "on a job that writes nothing",
        help: "To fix: leave it out, or use a workload that writes",
    },
    Rule {
        options: &[
            BUFFER_COMPRESS_PERCENTAGE.def(),
            BUFFER_COMPRESS_CHUNK.def(),
            BUFFER_CRC.def(),
            BUFFER_PATTERN.def(),
            DEDUPE_PERCENTAGE.def(),
            REFILL_BUFFERS.def(),
            SCRAMBLE_BUFFERS.def(),
            ZERO_BUFFERS.def(),
        ],
        applies: makes_data,
        why: "on a job that writes nothing and lays out no file",
        help: "To fix: leave it out, or use a workload that writes",
    },
    Rule {
        options: &[IODEPTH_BATCH.def(), IODEPTH_BATCH_COMPLETE_MAX.def(), IODEPTH_LOW.def()],
        applies: |job| job.depth.depth > 1,
        why: "with `iodepth=1`: there is one I/O at a time",
        help: "To fix: raise `iodepth`",
    },
    Rule {
        options: &[CGROUP_WEIGHT.def(), CGROUP_NODELETE.def()],
        applies: |job| job.process.cgroup.is_some(),
        why: "without `cgroup`",
        help: "To fix: add `cgroup=NAME`",
    },
    Rule {
        options: &[pvsync2::UNCACHED.def()],
        applies: |job| !job.engine.def().access.sends_commands(),
        why: "with an engine that sends commands, which bypass the page cache",
        help: "To fix: leave it out",
    },
    Rule {
        options: &[RATE_PROCESS.def()],
        applies: |job| job.pace.rate != PerDir::all(None),
        why: "on a job that has no rate",
        help: "To fix: add `rate_iops=<I/Os a second>` or `rate=<bytes a second>`",
    },
];

/// Whether the job generates data: for its writes, or for files that it lays out.
fn makes_data(job: &JobPlan) -> bool {
    let files = job.target.files.iter().any(|file| file.kind == FileKind::Regular);
    job.load.writes_data() || files
}

/// Whether a setting differs from the default and does not just turn the option off.
pub(super) fn is_not_default(setting: &Setting) -> bool {
    let off = matches!(setting.value, Value::Flag(false) | Value::Int(0) | Value::Time(0));
    !off && setting.def.default_value().as_ref() != Some(&setting.value)
}

#[cfg(test)]
mod tests {
    use crate::tests::warned;

    #[test]
    fn each_unused_option_has_one_warning() {
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
            let found = warned(&format!("--name=a --rw=read --size=1m --ioengine=sim --{option}"));
            assert_eq!(found.len(), 1, "{option}: {found:?}");
            assert!(found[0].contains("has no effect"), "{found:?}");
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
}
