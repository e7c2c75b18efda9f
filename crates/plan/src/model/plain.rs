//! A job with every option at its default, for tests of other crates and benchmarks that have no
//! job file.

use std::path::PathBuf;

use fiord_types::{Bytes, JobIndex, Nanos, PerDir};

use super::*;

impl JobPlan {
    /// A job with sequential 4 KiB reads of one virtual file of `len` bytes at depth 1, with the
    /// default measurements.
    #[must_use]
    pub fn plain(engine: EnginePlan, len: u64) -> JobPlan {
        JobPlan {
            identity: identity(),
            start: Start {
                stonewall: false,
                wait_for: Vec::new(),
                delay: (Nanos::ZERO, Nanos::ZERO),
                prerun: None,
                postrun: None,
            },
            end: end(len),
            target: target(len),
            load: load(),
            crc: false,
            verify: None,
            informs_maps: false,
            journal: None,
            replay: None,
            iolog: None,
            content: ContentPlan::Scramble,
            engine,
            depth: Depth {
                depth: 1,
                batch: None,
                complete_min: None,
                complete_max: None,
                low: None,
            },
            pace: Pace::default(),
            process: process(),
            record: record(),
            log: None,
            reporting: reporting(),
            unavailable: None,
        }
    }
}

fn identity() -> Identity {
    Identity {
        name: "plain".into(),
        description: None,
        section: 0,
        instance: 0,
        instances: 1,
        index: JobIndex(0),
        group: 0,
        stonewall_group: 0,
        options: Vec::new(),
    }
}

fn end(len: u64) -> End {
    End {
        runtime: None,
        time_based: false,
        ramp_time: Nanos::ZERO,
        ramp_size: Bytes::ZERO,
        loops: 1,
        bytes: Bytes(len),
        sized: false,
        size: None,
        ios: None,
        with_io: false,
        exitall: false,
        exit_what: ExitWhat::Group,
        exitall_on_error: false,
        fill_device: false,
        space_reserve: Bytes::ZERO,
        steady: None,
    }
}

fn target(len: u64) -> Target {
    Target {
        files: vec![FilePlan {
            path: PathBuf::from("plain.0.0"),
            kind: FileKind::Virtual,
            offset: Bytes::ZERO,
            len: Bytes(len),
            beyond: Bytes::ZERO,
            size_now: None,
            size_needed: None,
            extends: Bytes::ZERO,
            zones: None,
        }],
        open_files: 1,
        reopens: false,
        service: FileService::RoundRobin(1),
        open: OpenPlan {
            direct: false,
            sync: SyncMode::None,
            atomic: false,
            invalidate: true,
            create: true,
            allow_mounted_write: false,
            advice: Advice::Auto,
            write_hint: None,
            append: false,
            read_only: false,
            generated: false,
        },
        layout: Layout {
            serialize: true,
            fsync: true,
            on_open: false,
            only: false,
            overwrite: false,
            pre_read: false,
            fallocate: Fallocate::Native,
        },
        lock: LockFile::None,
        unlink: false,
        unlink_each_loop: false,
        scheduler: None,
    }
}

fn load() -> Load {
    Load {
        mix: Mix::Read,
        random: false,
        random_percent: PerDir::all(100),
        step: Step::None,
        sequencer: Sequencer::Sequential,
        blocks: PerDir::from_fn(|_| BlockSize::Fixed(4096)),
        seq_rand: None,
        align: PerDir::all(4096),
        unaligned: false,
        distribution: Distribution::Even,
        sprandom: None,
        strided: None,
        zoned: None,
        no_map: false,
        generator: Generator::Tausworthe,
        seed: 0x89,
        repeat: true,
        fsync: 0,
        fdatasync: 0,
        write_barrier: 0,
        sync_file_range: None,
        end_fsync: false,
        fsync_on_close: false,
        end_syncfs: false,
        serialize_overlap: false,
        trim_ranges: 1,
        priorities: None,
        placement: None,
        uses_buffers: true,
        write_commands: Vec::new(),
    }
}

fn process() -> Process {
    Process {
        cpus: None,
        mem_policy: None,
        nice: 0,
        ioprio: None,
        uid: None,
        gid: None,
        cgroup: None,
        comm: None,
        memory: Memory::Malloc,
        memory_align: Bytes(4096),
        lock_memory: Bytes::ZERO,
    }
}

fn record() -> Record {
    Record {
        clat: true,
        slat: true,
        lat: true,
        bandwidth: true,
        bandwidth_window: Nanos(500_000_000),
        iops_window: Nanos(500_000_000),
        clat_percentiles: true,
        lat_percentiles: false,
        slat_percentiles: false,
        shares: true,
        block_errors: false,
        percentiles: vec![50.0, 99.0],
        percentile_decimals: 2,
        slices: None,
        clock: None,
        clock_cpu: None,
        start_clock_id: None,
    }
}

fn reporting() -> Reporting {
    Reporting {
        group: false,
        unified: Unified::None,
        significant_figures: 4,
        stats: true,
        disk_util: true,
        per_core: false,
        kb_base: 1024,
        unit_base: 0,
        continue_on_error: ContinueOnError::default(),
        error_dump: false,
        verify_extents: None,
        verify_complete: false,
        spec: Vec::new(),
        ignore_findings: Vec::new(),
    }
}
