//! Options that set one field of the plan.

use std::num::NonZeroU8;

use fiord_types::{Bytes, Dir, Nanos, PerDir};

use super::*;
use crate::model::*;

const SECOND: u64 = 1_000_000_000;

/// A command line and a condition that its job must satisfy.
type Line = (&'static str, fn(&JobPlan) -> bool);

fn percent(number: u8) -> NonZeroU8 {
    NonZeroU8::new(number).unwrap()
}

pub(super) fn check(table: &[Line]) {
    for (line, holds) in table {
        let line = format!("--name=a --size=1m {line}");
        let job = job(&Fake::empty(), &line);
        assert!(holds(&job), "{line}: {job:#?}");
    }
}

#[test]
fn load() {
    check(&[
        ("", |j| j.load.mix == Mix::Read && !j.load.random && j.load.repeat),
        ("--rw=randwrite", |j| j.load.mix == Mix::Write && j.load.random),
        ("--rw=readwrite", |j| j.load.mix == Mix::ReadWrite { read_percent: 50 }),
        ("--rw=randrw --rwmixread=30 --rwmixwrite=20", |j| {
            j.load.mix == Mix::ReadWrite { read_percent: 80 }
        }),
        ("--rw=randrw --rwmixwrite=20 --rwmixread=30", |j| {
            j.load.mix == Mix::ReadWrite { read_percent: 30 }
        }),
        ("--rw=trim --ioengine=null --bs=4g --size=16g", |j| {
            j.load.blocks[Dir::Trim] == BlockSize::Fixed(1 << 31) && j.end.bytes == Bytes(16 << 30)
        }),
        ("--rw=read --ioengine=null --bs=,,5g --size=16g", |j| {
            j.load.blocks[Dir::Trim] == BlockSize::Fixed(5 << 28)
        }),
        ("--rw=randtrim --ioengine=null --bsrange=4k-4g --size=16g", |j| {
            j.load.blocks[Dir::Trim] == BlockSize::Range { min: 4096, max: u32::MAX - 4095 }
        }),
        ("--rw=randtrimwrite --ioengine=null", |j| j.load.mix == Mix::TrimWrite && j.load.random),
        ("--io_size=1m", |j| j.end.sized),
        ("--io_size=0", |j| !j.end.sized),
        ("--rw=trim --ioengine=null", |j| j.load.mix == Mix::Trim),
        ("--rw=randread:8", |j| j.load.step == Step::EveryNth(8)),
        ("--rw=read:4k", |j| j.load.step == Step::Skip(4096)),
        ("--rw=randread:8 --rw_sequencer=identical", |j| j.load.sequencer == Sequencer::Identical),
        ("--percentage_random=50,60", |j| j.load.random_percent == [50, 60, 60]),
        ("--norandommap", |j| j.load.no_map),
        // In fio 3.42, too, `lfsr` visits each block once, whatever `norandommap` says.
        ("--norandommap --random_generator=lfsr --rw=randread", |j| !j.load.no_map),
        // A write fills the block that was trimmed.
        ("--rw=randtrimwrite --ioengine=null --bs=4k,4k,8k", |j| {
            j.load.blocks[Dir::Write] == BlockSize::Fixed(8192)
        }),
        ("--ba=512 --rw=randread", |j| j.load.align == PerDir::all(512) && j.load.no_map),
        // fio 3.42 keeps the map if offsets are multiples of the smallest block.
        ("--ba=4k --rw=randread", |j| !j.load.no_map),
        ("--ba=4k --bsrange=4k-64k --rw=randread", |j| !j.load.no_map),
        ("--ba=4k --bssplit=4k/50:16k/50 --rw=randread", |j| !j.load.no_map),
        ("--ba=16k --bssplit=4k/50:16k/50 --rw=randread", |j| j.load.no_map),
        ("--ba=4k,8k --bs=4k,8k --rw=randrw", |j| !j.load.no_map),
        ("--ba=4k --bs=4k,8k --rw=randrw", |j| j.load.no_map),
        ("--ba=8k --bs=4k,8k --rw=randwrite", |j| !j.load.no_map),
        ("--bs=8k", |j| j.load.align == PerDir::all(8192)),
        ("--random_generator=lfsr", |j| j.load.generator == Generator::Lfsr),
        ("--random_generator=tausworthe64", |j| j.load.generator == Generator::Tausworthe64),
        ("--fsync=8 --fdatasync=4 --write_barrier=2", |j| {
            (j.load.fsync, j.load.fdatasync, j.load.write_barrier) == (8, 4, 2)
        }),
        ("--sync_file_range=wait_before,write:8", |j| j.load.sync_file_range == Some((8, 3))),
        ("--end_fsync=1 --fsync_on_close=1 --end_syncfs=1", |j| {
            j.load.end_fsync && j.load.fsync_on_close && j.load.end_syncfs
        }),
        ("--serialize_overlap=1 --randrepeat=0", |j| j.load.serialize_overlap && !j.load.repeat),
    ]);
}

/// `bssplit` takes precedence over `bsrange`, and `bsrange` over `bs`. The expected values follow
/// from the number of I/Os that fio 3.42 made.
#[test]
fn blocks() {
    check(&[
        ("--bs=8k,", |j| j.load.blocks == [8192, 4096, 4096].map(BlockSize::Fixed)),
        ("--bs=,8k", |j| j.load.blocks == [4096, 8192, 8192].map(BlockSize::Fixed)),
        ("--bs=8k,16k --bs_is_seq_rand=1 --rw=write", |j| {
            j.load.blocks == PerDir::from_fn(|_| BlockSize::Fixed(8192))
        }),
        ("--bs=8k,16k,32k --bs_is_seq_rand=1 --rw=randrw", |j| {
            j.load.blocks == PerDir::from_fn(|_| BlockSize::Fixed(16384))
                && j.load.align == PerDir::all(16384)
        }),
        ("--bs=8k,16k --bs_is_seq_rand=1 --rw=randrw --percentage_random=100,0,50", |j| {
            let kinds = j.load.blocks.clone().into_array();
            kinds[0] == BlockSize::Fixed(16384)
                && kinds[1] == BlockSize::Fixed(8192)
                && matches!(kinds[2], BlockSize::SeqRand(_))
        }),
        ("--bs=8k,16k --bs_is_seq_rand=1 --rw=randread:3", |j| {
            (j.load.blocks[Dir::Read].min(), j.load.blocks[Dir::Read].max()) == (8192, 16384)
        }),
        ("--bs=8k,16k", |j| j.load.blocks == [8192, 16384, 16384].map(BlockSize::Fixed)),
        ("--bsrange=4k-8k --bs=16k", |j| {
            j.load.blocks[Dir::Read] == BlockSize::Range { min: 4096, max: 8192 }
        }),
        ("--bsrange=8k-4k", |j| {
            j.load.blocks[Dir::Read] == BlockSize::Range { min: 4096, max: 8192 }
        }),
        ("--bsrange=4k-4k", |j| j.load.blocks[Dir::Read] == BlockSize::Fixed(4096)),
        ("--bssplit=4k/50:8k/50 --bs=16k", |j| {
            j.load.blocks[Dir::Read] == BlockSize::Split(vec![(4096, 50), (8192, 50)])
        }),
        ("--bssplit=4k/0:8k/100", |j| j.load.blocks[Dir::Read] == BlockSize::Fixed(8192)),
        ("--bsrange=4k-8k --bs_unaligned", |j| j.load.unaligned),
        ("--bs=3g --size=8g --ioengine=null", |j| j.end.bytes == Bytes(6 << 30)),
    ]);
}

#[test]
fn engines_and_depth() {
    check(&[
        ("--ioengine=sync", |j| j.engine == EnginePlan::SyncRw),
        ("--ioengine=vsync", |j| j.engine == EnginePlan::Vsync),
        ("--ioengine=pvsync", |j| j.engine == EnginePlan::Pvsync),
        ("--ioengine=pvsync2 --hipri", |j| {
            j.engine
                == EnginePlan::Pvsync2(Pvsync2Plan {
                    hipri_percent: Some(percent(100)),
                    ..Pvsync2Plan::default()
                })
        }),
        ("--ioengine=pvsync2 --hipri --hipri_percentage=20 --uncached=1 --nowait=1", |j| {
            j.engine
                == EnginePlan::Pvsync2(Pvsync2Plan {
                    hipri_percent: Some(percent(20)),
                    uncached: true,
                    nowait: true,
                })
        }),
        ("--ioengine=mmap --thp=1", |j| j.engine == EnginePlan::Mmap(MmapPlan { thp: true })),
        ("--ioengine=libpmem --filename=f --rw=write", |j| {
            j.engine == EnginePlan::Libpmem(PmemPlan::default()) && !j.drops_cache_each_pass()
        }),
        ("--ioengine=libpmem --filename=f --rw=write --direct=1 --sync=1 --pmem_force=1", |j| {
            let plan = PmemPlan { non_temporal: true, drain: true, any_file: true };
            j.engine == EnginePlan::Libpmem(plan) && !j.target.open.direct
        }),
        // A fence on one thread does not wait for the stores of another one.
        ("--ioengine=libpmem --filename=f --rw=write --io_submit_mode=offload", |j| {
            j.engine == EnginePlan::Libpmem(PmemPlan { drain: true, ..PmemPlan::default() })
        }),
        ("--ioengine=page_fault", |j| {
            j.engine == EnginePlan::PageFault(PageFaultPlan { thp: None })
        }),
        ("--ioengine=page_fault --thp=0", |j| {
            j.engine == EnginePlan::PageFault(PageFaultPlan { thp: Some(false) })
        }),
        ("--ioengine=cpuio --cpuload=20 --cpuchunks=7 --cpumode=qsort --exit_on_io_done=1", |j| {
            let plan =
                CpuioPlan { load_percent: percent(20), chunk: Nanos(7000), mode: CpuMode::Qsort };
            let idle = j.target.files.is_empty() && j.end.bytes == Bytes::ZERO;
            j.engine == EnginePlan::Cpuio(plan)
                && j.pace.cpu_load == Some(percent(20))
                && j.end.with_io
                && idle
        }),
        ("--ioengine=cpuio --cpuload=100 --rw=randwrite --bs=8k", |j| {
            j.pace.cpu_load.is_none() && j.load.mix == Mix::Read
        }),
        ("--runtime=7 --ioengine=exec --program=x --arguments=-%r,%n --grace_time=3", |j| {
            let plan = ExecPlan {
                program: "x".into(),
                arguments: vec!["-7,a".into()],
                grace: Nanos::from_secs(3),
                output: Some(("a.stdout".into(), "a.stderr".into())),
            };
            j.engine == EnginePlan::Exec(Box::new(plan))
        }),
        (
            "--ioengine=exec --program=x --std_redirect=0",
            |j| matches!(&j.engine, EnginePlan::Exec(plan) if plan.output.is_none()),
        ),
        ("--ioengine=libaio --userspace_reap --libaio_vectored=1 --nowait=1", |j| {
            j.engine
                == EnginePlan::Libaio(LibaioPlan {
                    userspace_reap: true,
                    nowait: true,
                    vectored: true,
                })
        }),
        ("--ioengine=io_uring", |j| {
            let plain = IoUringPlan { nonvectored: true, ..Default::default() };
            j.engine == EnginePlan::IoUring(plain)
        }),
        (
            "--ioengine=io_uring --hipri --fixedbufs --registerfiles --sqthread_poll \
             --sqthread_poll_cpu=1 --nonvectored=0 --uncached=1 --nowait=1 --force_async=8",
            |j| {
                j.engine
                    == EnginePlan::IoUring(IoUringPlan {
                        hipri: true,
                        fixed_buffers: true,
                        register_files: true,
                        sqpoll: true,
                        sqpoll_cpu: Some(1),
                        nonvectored: false,
                        uncached: true,
                        nowait: true,
                        force_async: 8,
                    })
            },
        ),
        ("--ioengine=sim --sim_seed=7", |j| {
            j.engine
                == EnginePlan::Sim(SimPlan {
                    options: vec![("sim_seed".into(), "7".into())],
                    ..SimPlan::default()
                })
        }),
        ("--ioengine=null", |j| j.target.files[0].kind == FileKind::Virtual),
        ("--ioengine=libaio --iodepth=8 --iodepth_batch=16 --iodepth_low=9", |j| {
            (j.depth.depth, j.depth.batch, j.depth.low) == (8, Some(8), None)
        }),
        ("--ioengine=libaio --iodepth=8 --iodepth_batch=0 --iodepth_low=4", |j| {
            (j.depth.batch, j.depth.low) == (Some(0), Some(4))
        }),
        (
            "--ioengine=libaio --iodepth=8 --iodepth_batch_complete_min=4 \
             --iodepth_batch_complete_max=2",
            |j| (j.depth.complete_min, j.depth.complete_max) == (Some(4), Some(4)),
        ),
        ("--ioengine=libaio --iodepth=8 --iodepth_batch=4 --iodepth_batch_complete=4", |j| {
            (j.depth.batch, j.depth.complete_min, j.depth.complete_max)
                == (Some(4), Some(4), Some(4))
        }),
        // If the job sets one option, the others have fio's defaults.
        ("--ioengine=libaio --iodepth=8 --iodepth_batch_complete_max=0", |j| {
            (j.depth.batch, j.depth.complete_min, j.depth.complete_max)
                == (Some(1), Some(1), Some(1))
        }),
        ("--ioengine=libaio --iodepth=8 --iodepth_batch_complete=0 --iodepth_batch=4", |j| {
            (j.depth.batch, j.depth.complete_min, j.depth.low) == (Some(1), Some(0), Some(0))
        }),
        (
            "--ioengine=libaio --iodepth=8 --iodepth_batch_complete=0 \
             --iodepth_batch_complete_max=4",
            |j| {
                (j.depth.complete_min, j.depth.complete_max, j.depth.low)
                    == (Some(0), Some(4), None)
            },
        ),
        ("--ioengine=libaio --iodepth=8", |j| {
            (j.depth.batch, j.depth.complete_min, j.depth.complete_max) == (None, None, None)
        }),
    ]);
}

#[test]
fn ends_and_starts() {
    check(&[
        ("--runtime=2", |j| j.end.runtime == Some(Nanos(2 * SECOND)) && !j.end.time_based),
        ("--runtime=1500ms --time_based", |j| {
            j.end.runtime == Some(Nanos(SECOND / 2 * 3)) && j.end.time_based
        }),
        // fio 3.42 warns and does the work once.
        ("--time_based", |j| j.end.runtime.is_none() && !j.end.time_based),
        ("--ramp_time=1 --ramp_size=4k", |j| {
            (j.end.ramp_time, j.end.ramp_size) == (Nanos(SECOND), Bytes(4096))
        }),
        ("--loops=0", |j| j.end.loops == 1),
        ("--loops=3 --number_ios=7", |j| (j.end.loops, j.end.ios) == (3, Some(7))),
        ("--exitall", |j| j.end.exitall && j.end.exit_what == ExitWhat::Group),
        ("--exitall --exit_what=all", |j| j.end.exit_what == ExitWhat::All),
        ("--exitall --exit_what=stonewall --exitall_on_error", |j| {
            j.end.exit_what == ExitWhat::Stonewall && j.end.exitall_on_error
        }),
        ("--space_reserve=4g --rw=write", |j| j.end.space_reserve == Bytes(4 << 30)),
        ("--buffer_crc=1 --rw=write", |j| j.crc),
        ("--buffer_crc=1 --rw=read", |j| !j.crc),
        ("--core_bandwidth=1 --rw=write", |j| j.reporting.per_core),
        ("--fill_device=1 --rw=write", |j| j.end.fill_device && j.end.bytes == Bytes(1 << 20)),
        ("--fill_device=1 --rw=write --size=0", |j| {
            j.end.bytes > Bytes(1 << 60) && j.target.files[0].size_needed.is_none()
        }),
        // The imaginary machine has 1 GiB free: the layout extends a file to read to that size.
        ("--fill_device=1 --rw=read --size=0", |j| {
            j.target.files[0].size_needed == Some(Bytes(1 << 30))
        }),
        ("--startdelay=2", |j| j.start.delay == (Nanos(2 * SECOND), Nanos(2 * SECOND))),
        ("--startdelay=10ms-20ms", |j| j.start.delay == (Nanos(10_000_000), Nanos(20_000_000))),
        ("--exec_prerun=sync --exec_postrun=true", |j| {
            j.start.prerun.as_deref() == Some("sync") && j.start.postrun.as_deref() == Some("true")
        }),
    ]);
}

#[test]
fn targets() {
    check(&[
        ("", |j| j.target.open.invalidate && j.target.open.create && j.target.open.read_only),
        ("--rw=write", |j| !j.target.open.read_only && j.target.layout.serialize),
        ("--direct=1", |j| j.target.open.direct),
        ("--buffered=0", |j| j.target.open.direct),
        ("--direct=1 --buffered=1", |j| !j.target.open.direct),
        ("--buffered=1 --direct=1", |j| j.target.open.direct),
        ("--sync=1", |j| j.target.open.sync == SyncMode::Sync),
        ("--sync=dsync", |j| j.target.open.sync == SyncMode::Dsync),
        ("--atomic=1 --ioengine=io_uring --rw=write", |j| j.target.open.atomic),
        ("--invalidate=0", |j| !j.target.open.invalidate),
        ("--pre_read=1", |j| !j.target.open.invalidate && j.target.layout.pre_read),
        ("--fadvise_hint=0", |j| j.target.open.advice == Advice::None),
        ("--fadvise_hint=1", |j| j.target.open.advice == Advice::Auto),
        ("--fadvise_hint=noreuse", |j| j.target.open.advice == Advice::NoReuse),
        ("--write_hint=long", |j| j.target.open.write_hint == Some(WriteHint::Long)),
        ("--fallocate=keep", |j| j.target.layout.fallocate == Fallocate::Keep),
        ("--fallocate=1", |j| j.target.layout.fallocate == Fallocate::Posix),
        ("--fallocate=0", |j| j.target.layout.fallocate == Fallocate::None),
        ("--create_serialize=0 --create_fsync=0", |j| {
            !j.target.layout.serialize && !j.target.layout.fsync
        }),
        ("--create_only=1 --overwrite=1", |j| j.target.layout.only && j.target.layout.overwrite),
        ("--create_on_open=1 --rw=write", |j| j.target.layout.on_open),
        ("--unlink=1 --unlink_each_loop=1", |j| j.target.unlink && j.target.unlink_each_loop),
        ("--lockfile=readwrite", |j| j.target.lock == LockFile::ReadWrite),
        ("--file_service_type=random:8", |j| j.target.service == FileService::Random(8)),
        ("--file_service_type=sequential", |j| j.target.service == FileService::Sequential),
        ("", |j| j.target.service == FileService::RoundRobin(1)),
        ("--nrfiles=4", |j| j.target.open_files == 4),
        ("--nrfiles=4 --openfiles=2", |j| j.target.open_files == 2),
        ("--nrfiles=4 --openfiles=9", |j| j.target.open_files == 4),
        ("--nrfiles=4 --openfiles=0", |j| j.target.open_files == 4),
        ("--ioscheduler=none", |j| j.target.scheduler.as_deref() == Some("none")),
    ]);
}

#[test]
fn contents_and_memory() {
    check(&[
        ("--scramble_buffers=0", |j| j.content == ContentPlan::Fixed),
        ("--refill_buffers", |j| j.content == ContentPlan::Refill),
        ("--zero_buffers --refill_buffers", |j| j.content == ContentPlan::Zero),
        (
            "--buffer_pattern=0xff",
            |j| matches!(&j.content, ContentPlan::Pattern(p) if p.len() == 1),
        ),
        ("--mem=mmaphuge:/huge/f", |j| {
            j.process.memory == Memory::MmapHuge { file: Some("/huge/f".into()), page: None }
        }),
        ("--mem=shmhuge --hugepage-size=1g", |j| {
            j.process.memory == Memory::ShmHuge(Some(Bytes(1 << 30)))
        }),
        ("--mem=mmaphuge --hugepage-size=2m", |j| {
            j.process.memory == Memory::MmapHuge { file: None, page: Some(Bytes(2 << 20)) }
        }),
        ("--iomem=shm --iomem_align=512", |j| {
            j.process.memory == Memory::Shm && j.process.memory_align == Bytes(512)
        }),
        ("--lockmem=4k", |j| j.process.lock_memory == Bytes(4096)),
        ("--numa_mem_policy=prefer:1", |j| j.process.mem_policy == Some(MemPolicy::Prefer(1))),
        ("--numa_mem_policy=bind:0-1", |j| {
            j.process.mem_policy == Some(MemPolicy::Bind(vec![0, 1]))
        }),
        ("--numa_mem_policy=local", |j| j.process.mem_policy == Some(MemPolicy::Local)),
    ]);
}

#[test]
fn processes() {
    check(&[
        ("", |j| j.process.ioprio.is_none() && j.process.nice == 0),
        ("--nice=-3 --comm=x --uid=7 --gid=8", |j| {
            let p = &j.process;
            (p.nice, p.comm.as_deref(), p.uid, p.gid) == (-3, Some("x"), Some(7), Some(8))
        }),
        ("--prio=4", |j| j.process.ioprio == Some(IoPrio { class: 2, level: 4, hint: 0 })),
        ("--prioclass=3 --priohint=5", |j| {
            j.process.ioprio == Some(IoPrio { class: 3, level: 0, hint: 5 })
        }),
        ("--cgroup=x --cgroup_weight=500 --cgroup_nodelete=1", |j| {
            j.process.cgroup == Some(Cgroup { name: "x".into(), weight: Some(500), keep: true })
        }),
    ]);
}

#[test]
fn records_and_reports() {
    check(&[
        ("--gtod_reduce=1", |j| {
            !j.record.clat && !j.record.slat && !j.record.lat && !j.record.bandwidth
        }),
        ("--disable_clat=1", |j| !j.record.clat && j.record.slat && j.record.lat),
        ("--disable_slat=1", |j| !j.record.slat && j.record.clat),
        ("--disable_lat=1", |j| !j.record.lat && j.record.clat),
        ("--disable_bw=1", |j| !j.record.bandwidth && j.record.clat),
        ("--bwavgtime=250 --iopsavgtime=2s", |j| {
            (j.record.bandwidth_window, j.record.iops_window)
                == (Nanos(SECOND / 4), Nanos(2 * SECOND))
        }),
        ("--write_bw_log=x --log_avg_msec=50", |j| {
            (j.record.bandwidth_window, j.record.iops_window)
                == (Nanos::from_millis(50), Nanos(SECOND / 2))
        }),
        ("--write_iops_log=x --log_avg_msec=50 --iopsavgtime=200", |j| {
            (j.record.bandwidth_window, j.record.iops_window)
                == (Nanos(SECOND / 2), Nanos::from_millis(200))
        }),
        ("", |j| j.record.shares),
        ("--generator_shares=0", |j| !j.record.shares),
        ("--lat_percentiles=1 --slat_percentiles=1 --clat_percentiles=0", |j| {
            j.record.lat_percentiles && j.record.slat_percentiles && !j.record.clat_percentiles
        }),
        ("--percentile_list=99:50:99.9", |j| j.record.percentiles == [50.0, 99.0, 99.9]),
        ("--percentile_list=50:99.90", |j| j.record.percentile_decimals == 2),
        ("--percentile_list=50", |j| j.record.percentile_decimals == 0),
        ("--bs=4k", |j| j.record.percentile_decimals == 2),
        ("--rw=read:8k --kb_base=1000", |j| j.load.step == Step::Skip(8192)),
        ("--kb_base=1000 --rw=read:8k", |j| j.load.step == Step::Skip(8000)),
        ("--rw=read:-4k", |j| j.load.step == Step::Skip(-4096)),
        ("--rw=write:8g", |j| j.load.step == Step::Skip(8 << 30)),
        ("--rw=read:0", |j| j.load.step == Step::None),
        ("--clocksource=cpu", |j| j.record.clock == Some(ClockSource::Cpu)),
        ("--job_start_clock_id=1", |j| j.record.start_clock_id == Some(1)),
        ("--gtod_cpu=2", |j| j.record.clock_cpu == Some(2)),
        ("--group_reporting --unified_rw_reporting=both", |j| {
            j.reporting.group && j.reporting.unified == Unified::Both
        }),
        ("--unified_rw_reporting=1", |j| j.reporting.unified == Unified::Mixed),
        ("--significant_figures=6 --stats=0 --disk_util=0", |j| {
            j.reporting.significant_figures == 6 && !j.reporting.stats && !j.reporting.disk_util
        }),
        ("--kb_base=1000 --unit_base=8", |j| {
            (j.reporting.kb_base, j.reporting.unit_base) == (1000, 8)
        }),
        ("--continue_on_error=io", |j| {
            j.reporting.continue_on_error
                == ContinueOnError { verification: Tolerance::None, ..ContinueOnError::ALL }
        }),
        ("--rw=write --verify=md5 --verify_complete=1", |j| j.reporting.verify_complete),
        ("--rw=write --verify=md5 --verify_extents=bad.txt", |j| {
            j.reporting.verify_extents.as_deref() == Some(std::path::Path::new("bad.txt"))
        }),
        ("--ignore_error=EIO:5,,EILSEQ", |j| {
            let continues = &j.reporting.continue_on_error;
            (&continues.reads, &continues.writes)
                == (&Tolerance::Listed(vec![5, 5]), &Tolerance::None)
                && continues.verification.accepts_bad_data()
        }),
        ("--block_error_percentiles=1 --rw=trim --ioengine=null", |j| j.record.block_errors),
        ("--error_dump=1", |j| j.reporting.error_dump),
        ("--continue_on_error=1", |j| j.reporting.continue_on_error == ContinueOnError::ALL),
        ("--description=words", |j| j.identity.description.as_deref() == Some("words")),
    ]);
}

#[test]
fn warnings() {
    let machine = Fake::empty().disk("/dev/d", 1 << 20);
    let table = [
        ("--size=1m --iodepth=16", "queue depth will be capped at 1"),
        (
            "--size=1m --ioengine=libaio --iodepth=8 --iodepth_batch_complete=0",
            "keeps one I/O in flight",
        ),
        ("--size=1m --iomem_align=3000", "is not a power of two: fiord uses 4096"),
        ("--size=1m --time_based", "time_based requires a runtime/timeout setting"),
        ("--size=1m --ba=512 --rw=randread", "turns off randommap"),
        (
            "--size=1m --ba=512 --rw=randread --random_generator=lfsr",
            "blocks overlap, or leave gaps",
        ),
        ("--size=1m --ioengine=mmap --direct=1", "`direct` has no effect"),
        ("--size=1m --ioengine=io_uring --sqthread_poll_cpu=1", "no effect without"),
        ("--size=2m --filename=/dev/d", "has only 1048576 bytes"),
        ("--filename=/dev/d --file_append=1", "`file_append` has no effect"),
        ("--filename=/dev/d --space_reserve=1g", "`space_reserve` has no effect"),
        ("--size=10k --nrfiles=3", "3 of 3 files are smaller than a block"),
        ("--size=12k --filename=x:y:z --nrfiles=2", "only the first 2 of 3 names"),
    ];
    for (line, part) in table {
        let resolved = run(&machine, &format!("--name=a {line}")).unwrap();
        let said = resolved.warnings.iter().any(|w| w.what.contains(part) && w.place.is_some());
        assert!(said, "{line}: {:?}", resolved.warnings);
    }
    assert_eq!(run(&machine, "--name=a --size=1m").unwrap().warnings, []);
}

#[test]
fn refuses_invalid_single_values() {
    let table = [
        ("--size=1m --rw=randread:0", "out of range"),
        ("--size=1m --file_service_type=random:x --nrfiles=2", "must be 1 or more"),
        ("--size=1m --atomic=1", "does not support atomic writes"),
        ("--size=1m --create_on_open=1", "still empty when the job reads it"),
        ("--size=1m --rw=write --bs=4 --buffer_crc=1", "has no room for its CRC"),
        ("--size=1m --nrfiles=0", "not a valid number of files"),
        ("--size=1m --filename=-", "is a pipe or socket"),
        ("--size=8z", "given in zones"),
        ("--size=1m --cgroup=../../x", "not a valid name of a control group"),
    ];
    for (line, part) in table {
        let what = error(&Fake::empty(), &format!("--name=a {line}"));
        assert!(what.contains(part), "{line}: {what}");
    }
}

/// Plans with many instances and many files need little time and memory.
#[test]
fn large_jobs() {
    let machine = Fake::empty();
    let begun = std::time::Instant::now();
    assert_eq!(jobs(&machine, "--name=a --size=1m --numjobs=4000 --ioengine=null").len(), 4000);
    let many = job(&machine, "--name=a --size=10g --nrfiles=100000");
    assert_eq!(many.target.files.len(), 100_000);
    assert_eq!(many.target.files[99_999].path.to_str(), Some("a.0.99999"));
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}

/// A message points at the text of the setting.
#[test]
fn messages_point_at_the_setting() {
    let errors = run(&Fake::empty(), "--name=a --rw=write --size=1000").unwrap_err();
    let place = errors[0].place.as_ref().unwrap();
    assert!(place.source.text[place.span.clone()].contains("1000"), "{place:?}");
    assert!(!errors[0].help.is_empty());
}
