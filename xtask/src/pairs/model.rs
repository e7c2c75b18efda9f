//! The options of jobs and the values from which cases are made.
//!
//! A value is a text of words separated by blanks, each an option without its dashes. A word that begins
//! with `b:` is an option of a second job. Tags are for patterns (`pattern.rs`).
//! `filename=disk` is a loop device of 8 MiB, and `filename=big` a file of 2 MiB that exists before the run.

/// A value of a parameter.
#[derive(Debug)]
pub(super) struct Value {
    /// Words of the command line.
    pub words: &'static str,
    /// What a job with this value does.
    pub tags: &'static str,
}

/// Options that exclude each other, or that belong to one subject.
#[derive(Debug)]
pub(super) struct Param {
    /// The subject, for `--only`.
    pub name: &'static str,
    /// Values. The first one is that of a case that does not choose another.
    pub values: &'static [Value],
}

/// A combination that is not run.
#[derive(Debug)]
pub(super) struct Rule {
    /// Pattern of the combination.
    pub never: &'static str,
    /// Reason.
    pub why: &'static str,
}

const fn v(words: &'static str, tags: &'static str) -> Value {
    Value { words, tags }
}

/// A value without tags.
const fn w(words: &'static str) -> Value {
    Value { words, tags: "" }
}

const fn param(name: &'static str, values: &'static [Value]) -> Param {
    Param { name, values }
}

pub(super) const PARAMS: &[Param] = &[
    param(
        "rw",
        &[
            v("rw=read", "reads seq"),
            v("rw=write", "writes seq"),
            v("rw=randread", "reads rand"),
            v("rw=randwrite", "writes rand"),
            v("rw=rw", "reads writes seq mixed"),
            v("rw=randrw", "reads writes rand mixed"),
            v("rw=randrw rwmixread=80", "reads writes rand mixed"),
            v("rw=rw rwmixwrite=30", "reads writes seq mixed"),
            v("rw=randrw percentage_random=50", "reads writes rand mixed nomap"),
            v("rw=randread percentage_random=30", "reads rand nomap"),
            v("rw=read:4k", "reads seq holes"),
            v("rw=write:8k", "writes seq holes"),
            v("rw=read:-8k", "reads seq holes backwards"),
            v("rw=randread:8", "reads rand nomap"),
            v("rw=randwrite:4", "writes rand nomap"),
            v("rw=randread:4 rw_sequencer=identical", "reads rand nomap"),
            v("rw=rw:2 rw_sequencer=sequential", "reads writes seq mixed holes odd"),
            v("rw=trim", "trims seq"),
            v("rw=randtrim", "trims rand"),
            v("rw=trimwrite", "trims writes seq pairs"),
            v("rw=randtrimwrite", "trims writes rand pairs"),
        ],
    ),
    param(
        "bs",
        &[
            w("bs=4k"),
            w("bs=16k"),
            w("bs=64k"),
            w("bs=4k,8k"),
            v("bs=3k", "odd"),
            v("bsrange=4k-16k", "sizes"),
            v("bsrange=4k-8k,2k-64k", "sizes"),
            v("bsrange=1k-8k bs_unaligned=1", "odd sizes"),
            v("bssplit=4k/50:16k/50", "sizes"),
            v("bssplit=8k/50:16k/50,4k/100", "sizes"),
            v("bs=4k blockalign=8k", "nomap"),
            v("bs=8k blockalign=4k", "nomap"),
            w("bs=4k,16k bs_is_seq_rand=1"),
        ],
    ),
    param(
        "size",
        &[
            w("size=1m"),
            w("size=256k"),
            v("size=250k", "odd"),
            w("size=1m io_size=3m"),
            w("size=1m io_size=300k"),
            w("size=1m io_size=1m"),
            w("size=1m number_ios=40"),
            w("filesize=2m size=1m"),
            v("filesize=64k-256k size=1m", "ranges"),
        ],
    ),
    param(
        "offset",
        &[
            w(""),
            w("offset=64k"),
            w("offset=25%"),
            w("offset_increment=32k"),
            v("offset=5k", "odd"),
            w("offset=10k offset_align=4k"),
        ],
    ),
    param(
        "files",
        &[
            w(""),
            v("nrfiles=4", "many"),
            v("nrfiles=16", "many"),
            w("filename=one"),
            v("filename=f:g:h", "many"),
            v("filename=disk", "disk"),
            v("filename=big", "exists"),
            v("nrfiles=3 filename_format=x.$jobnum.$filenum", "many"),
        ],
    ),
    param(
        "service",
        &[
            w(""),
            w("file_service_type=sequential"),
            w("file_service_type=random"),
            w("file_service_type=roundrobin:3"),
            w("file_service_type=random:4"),
            v("file_service_type=zipf:1.2", "skewed"),
            v("file_service_type=pareto:0.3", "skewed"),
            v("file_service_type=gauss:30", "skewed"),
        ],
    ),
    param("openfiles", &[w(""), w("openfiles=1"), w("openfiles=2")]),
    param(
        "numjobs",
        &[w(""), w("numjobs=2"), w("numjobs=3 group_reporting=1"), w("numjobs=2 thread=1")],
    ),
    param(
        "second",
        &[
            w(""),
            w("b:stonewall=1"),
            w("b:rw=randwrite"),
            w("b:new_group=1 group_reporting=1"),
            w("b:wait_for=a b:rw=randread"),
        ],
    ),
    param("depth", &[w("iodepth=1"), w("iodepth=4"), w("iodepth=16")]),
    param(
        "batch",
        &[
            w(""),
            w("iodepth_batch=4"),
            w("iodepth_batch_complete_min=2"),
            w("iodepth_batch_complete_min=1 iodepth_batch_complete_max=8"),
            w("iodepth_batch_submit=2 iodepth_low=2"),
        ],
    ),
    param(
        "engine",
        &[
            w("ioengine=psync"),
            w("ioengine=sync"),
            w("ioengine=vsync"),
            w("ioengine=pvsync2"),
            w("ioengine=mmap"),
            v("ioengine=libaio", "async"),
            v("ioengine=io_uring", "async"),
            v("ioengine=io_uring fixedbufs=1 registerfiles=1", "async"),
            v("ioengine=posixaio", "async"),
            v("ioengine=null", "nodata"),
        ],
    ),
    param("direct", &[w(""), w("direct=1"), w("sync=1"), w("sync=dsync")]),
    param(
        "distribution",
        &[
            w(""),
            v("random_distribution=zipf:1.2", "nomap"),
            v("random_distribution=zipf:0.9:0.3", "nomap"),
            v("random_distribution=pareto:0.2", "nomap"),
            v("random_distribution=normal", "nomap"),
            v("random_distribution=normal:20", "nomap"),
            v("random_distribution=normal:10:0.2", "nomap"),
            v("random_distribution=zoned:50/5:30/15:20/80", "nomap"),
            v("random_distribution=zoned_abs:60/64k:30/128k:10/64k", "nomap"),
        ],
    ),
    param("generator", &[w(""), w("random_generator=lfsr"), w("random_generator=tausworthe64")]),
    param("map", &[w(""), v("norandommap=1", "nomap"), w("softrandommap=1")]),
    param(
        "zone",
        &[
            w(""),
            w("zonemode=strided zonesize=32k zonerange=64k"),
            w("zonemode=strided zonesize=32k zonerange=64k zoneskip=64k"),
            w("zonemode=strided zonesize=16k zoneskip=16k"),
        ],
    ),
    param(
        "verify",
        &[
            w(""),
            w("verify=md5"),
            w("verify=crc32c"),
            w("verify=sha256"),
            w("verify=xxhash"),
            w("verify=meta"),
            w("verify=null"),
            w("verify=pattern verify_pattern=0x5a"),
            w("verify=crc64 verify_pattern=%o"),
        ],
    ),
    param(
        "verifying",
        &[
            w(""),
            w("verify_interval=1k"),
            w("verify_offset=64"),
            w("do_verify=0"),
            w("verify_backlog=8"),
            w("verify_backlog=8 verify_backlog_batch=4"),
            w("experimental_verify=1"),
            w("verify_async=2"),
            w("verify_fatal=1"),
            w("verifysort=0"),
            w("verify_state_save=0"),
            w("verify_header_seed=0"),
        ],
    ),
    param(
        "flush",
        &[
            w(""),
            v("fsync=4", "syncs"),
            v("fdatasync=3", "syncs"),
            w("end_fsync=1"),
            w("fsync_on_close=1"),
            v("sync_file_range=write:8", "syncs"),
        ],
    ),
    param(
        "rate",
        &[
            w(""),
            v("rate_iops=2000", "paced"),
            v("rate=8m", "paced"),
            v("rate_iops=2000,1000", "paced"),
            v("rate_iops=2000 rate_process=poisson", "paced"),
        ],
    ),
    param(
        "think",
        &[
            w(""),
            v("thinktime=300us", "paced"),
            v("thinktime=2ms thinktime_blocks=4", "paced"),
            v("thinktime=500us thinktime_spin=200us", "paced"),
            v("thinktime=2ms thinktime_blocks=4 thinktime_blocks_type=issue", "paced"),
            v("thinktime=5ms thinktime_iotime=10ms", "paced"),
        ],
    ),
    param("loops", &[w(""), w("loops=2"), w("loops=3")]),
    param(
        "time",
        &[
            w(""),
            v("time_based=1 runtime=200ms", "timed"),
            w("runtime=10m"),
            v("time_based=1 runtime=300ms ramp_time=100ms", "timed"),
            w("startdelay=50ms"),
        ],
    ),
    param(
        "buffers",
        &[
            w(""),
            w("zero_buffers=1"),
            w("refill_buffers=1"),
            w("scramble_buffers=0"),
            w("buffer_pattern=0xdeadbeef"),
            w("buffer_compress_percentage=60"),
            w("buffer_compress_percentage=60 buffer_compress_chunk=1k refill_buffers=1"),
            w("dedupe_percentage=50"),
            w("dedupe_percentage=50 dedupe_mode=working_set"),
            w("dedupe_percentage=30 buffer_compress_percentage=50"),
        ],
    ),
    param("overlap", &[w(""), w("serialize_overlap=1")]),
    param("submit", &[w(""), w("io_submit_mode=offload")]),
    param(
        "logs",
        &[
            w(""),
            w("write_lat_log=l"),
            w("write_bw_log=l write_iops_log=l"),
            w("write_lat_log=l log_offset=1 log_prio=1"),
            w("write_bw_log=l log_avg_msec=50"),
            w("write_lat_log=l log_avg_msec=20 log_window_value=both"),
            w("write_hist_log=l log_hist_msec=20"),
            w("write_lat_log=l per_job_logs=0"),
            w("write_iolog=l.log"),
        ],
    ),
    param(
        "output",
        &[
            w("output-format=json"),
            w("output-format=json+"),
            w("output-format=json,normal"),
            w("output-format=json,terse"),
            w("output-format=json,terse terse-version=5"),
        ],
    ),
    param(
        "measure",
        &[
            w(""),
            w("clat_percentiles=0"),
            w("lat_percentiles=1 slat_percentiles=1"),
            w("percentile_list=50:99"),
            w("disable_clat=1"),
            w("disable_slat=1 disable_lat=1"),
            w("gtod_reduce=1"),
            w("unified_rw_reporting=1"),
            w("unified_rw_reporting=both"),
            w("significant_figures=6 kb_base=1000"),
        ],
    ),
    param(
        "trim",
        &[
            w(""),
            w("trim_percentage=50 trim_backlog=8"),
            w("trim_percentage=100 trim_backlog=4 trim_verify_zero=1"),
        ],
    ),
    param("flow", &[w(""), w("flow_id=1 flow=4"), w("flow_id=1 flow=2 b:flow=6")]),
    param(
        "create",
        &[
            w(""),
            w("create_on_open=1"),
            w("create_serialize=0"),
            w("create_fsync=0 fallocate=none"),
            w("fallocate=truncate"),
            w("overwrite=1"),
            w("pre_read=1"),
            w("unlink=1"),
            w("file_append=1"),
            w("create_only=1"),
        ],
    ),
    param(
        "errors",
        &[w(""), w("continue_on_error=all"), v("exitall=1", "raced"), w("max_latency=10m")],
    ),
    param("memory", &[w(""), w("mem=mmap"), w("mem=shm"), w("iomem_align=16k")]),
    param("cache", &[w(""), w("invalidate=0"), w("fadvise_hint=random"), w("lockfile=readwrite")]),
];

/// Combinations that no case has: neither program accepts them, or an option has no effect there.
pub(super) const RULES: &[Rule] = &[
    Rule { never: "verify=* !#writes", why: "no run wrote the data before" },
    Rule { never: "verify=* #trims", why: "a trimmed block has no header" },
    Rule { never: "verify=* #nodata", why: "the engine keeps no data" },
    Rule { never: "verify=* buffer_pattern=*", why: "the contents are those of the method" },
    Rule { never: "verify=* numjobs=* #disk", why: "clones overwrite each other's blocks" },
    Rule { never: "verify=* numjobs=* filename=*", why: "clones overwrite each other's blocks" },
    Rule { never: "verify=* b:rw=randwrite filename=*", why: "the jobs share a file" },
    Rule { never: "verify=* b:* filename=*", why: "the jobs share a file" },
    Rule { never: "verify=pattern verify_header_seed=*", why: "the method has no header" },
    Rule { never: "verify=pattern verify_offset=*", why: "the method has no header" },
    Rule { never: "verify=sha256 verify_offset=*", why: "bytes of the digest would be lost" },
    Rule { never: "verify=null verify_offset=*", why: "the method has no header" },
    Rule { never: "verify_pattern=%o b:rw=randread", why: "the option needs writes" },
    Rule { never: "verify=* b:rw=randread", why: "the second job would check data of nobody" },
    Rule { never: "verify_interval=* !verify=*", why: "no effect" },
    Rule { never: "verify_offset=* !verify=*", why: "no effect" },
    Rule { never: "verify_offset=* verify_pattern=*", why: "bytes of the pattern would be lost" },
    Rule { never: "do_verify=* !verify=*", why: "no effect" },
    Rule { never: "verify_backlog=* !verify=*", why: "no effect" },
    Rule { never: "experimental_verify=* !verify=*", why: "no effect" },
    Rule { never: "verify_async=* !verify=*", why: "no effect" },
    Rule { never: "verify_fatal=* !verify=*", why: "no effect" },
    Rule { never: "verifysort=* !verify=*", why: "no effect" },
    Rule { never: "verify_state_save=* !verify=*", why: "no effect" },
    Rule { never: "verify_header_seed=* !verify=*", why: "no effect" },
    Rule { never: "trim_percentage=* !verify=*", why: "no effect" },
    Rule { never: "trim_percentage=* !#disk", why: "only devices have trims" },
    Rule { never: "#trims !#disk", why: "only devices have trims" },
    Rule { never: "#trims #nodata", why: "the device would not be used" },
    Rule { never: "#trims ioengine=mmap", why: "fio's engine has no trims of devices" },
    Rule { never: "#trims b:*", why: "the second job would need writes" },
    Rule { never: "#trims write_iolog=*", why: "fio's log of trims is another subject" },
    Rule { never: "#odd direct=1", why: "direct I/O needs aligned blocks" },
    Rule { never: "#odd #disk", why: "blocks are not multiples of a sector" },
    Rule { never: "#odd ioengine=mmap", why: "fio's engine needs whole pages" },
    Rule { never: "bsrange=4k-8k,2k-64k ioengine=mmap", why: "fio's engine needs whole pages" },
    Rule { never: "#nodata direct=1", why: "no effect" },
    Rule { never: "#nodata sync=*", why: "no effect" },
    Rule { never: "direct=1 ioengine=mmap", why: "no effect" },
    Rule { never: "sync=* !#writes", why: "no effect" },
    Rule { never: "sync=* ioengine=mmap", why: "no effect" },
    Rule { never: "random_distribution=* !#rand", why: "no effect" },
    Rule { never: "random_generator=* !#rand", why: "no effect" },
    Rule { never: "norandommap=* !#rand", why: "no effect" },
    Rule { never: "softrandommap=* !#rand", why: "no effect" },
    Rule { never: "random_generator=lfsr #sizes", why: "the generator needs one block size" },
    Rule { never: "random_generator=lfsr bs=4k,8k", why: "the generator needs one block size" },
    Rule { never: "random_generator=lfsr random_distribution=*", why: "only one draws" },
    Rule { never: "bs_is_seq_rand=* !percentage_random=*", why: "no effect" },
    Rule { never: "file_service_type=* !#many", why: "no effect" },
    Rule { never: "openfiles=* !#many", why: "no effect" },
    Rule { never: "#ranges !#many", why: "a range is for several files" },
    Rule { never: "#ranges #disk", why: "a device has a size" },
    Rule { never: "#ranges #exists", why: "the file has a size" },
    Rule { never: "#ranges filename=one", why: "a range is for several files" },
    Rule { never: "iodepth_batch=* iodepth=1", why: "no effect" },
    Rule { never: "iodepth_batch_complete_min=* iodepth=1", why: "no effect" },
    Rule { never: "iodepth_batch_submit=* iodepth=1", why: "no effect" },
    Rule { never: "iodepth=4 !#async", why: "no effect" },
    Rule { never: "iodepth=16 !#async", why: "no effect" },
    Rule { never: "serialize_overlap=* iodepth=1", why: "no effect" },
    Rule { never: "io_submit_mode=* !#async", why: "no effect" },
    Rule { never: "zero_buffers=* !#writes", why: "no effect" },
    Rule { never: "refill_buffers=* !#writes", why: "no effect" },
    Rule { never: "scramble_buffers=* !#writes", why: "no effect" },
    Rule { never: "buffer_pattern=* !#writes", why: "no effect" },
    Rule { never: "buffer_compress_percentage=* !#writes", why: "no effect" },
    Rule { never: "dedupe_percentage=* !#writes", why: "no effect" },
    Rule { never: "dedupe_mode=working_set #many", why: "fio refuses several files" },
    Rule { never: "fsync=* !#writes", why: "no effect" },
    Rule { never: "fdatasync=* !#writes", why: "no effect" },
    Rule { never: "end_fsync=* !#writes", why: "no effect" },
    Rule { never: "fsync_on_close=* !#writes", why: "no effect" },
    Rule { never: "sync_file_range=* !#writes", why: "no effect" },
    Rule { never: "sync_file_range=* #async", why: "fio syncs a range after the last I/O" },
    Rule { never: "overwrite=* !#writes", why: "no effect" },
    Rule { never: "file_append=* !#writes", why: "no effect" },
    Rule { never: "pre_read=* !#reads", why: "no effect" },
    Rule { never: "create_on_open=* #disk", why: "the device exists" },
    Rule { never: "create_only=* #disk", why: "the device exists" },
    Rule { never: "file_append=* #disk", why: "a device has no end to append to" },
    Rule { never: "fallocate=* #disk", why: "the device exists" },
    Rule { never: "unlink=* #disk", why: "the device is for other cases, too" },
    Rule { never: "create_on_open=* #reads", why: "nothing could be read" },
    Rule { never: "create_on_open=* b:rw=randread", why: "nothing could be read" },
    Rule { never: "unlink=* filename=* b:*", why: "the second job needs the file" },
    Rule { never: "pre_read=* direct=1", why: "fio's buffer is not aligned" },
    Rule { never: "pre_read=* #nodata", why: "no effect" },
    Rule { never: "flow_id=* !numjobs=* !b:*", why: "a flow needs two jobs" },
    Rule { never: "flow_id=* b:stonewall=1", why: "a flow needs jobs side by side" },
    Rule { never: "flow_id=* b:wait_for=a", why: "a flow needs jobs side by side" },
    Rule { never: "b:flow=6 !b:rw=randwrite !b:new_group=1", why: "a flow needs a second job" },
    Rule { never: "log_avg_msec=* gtod_reduce=*", why: "no latencies" },
    Rule { never: "write_lat_log=* disable_lat=*", why: "no latencies" },
    Rule { never: "write_lat_log=* disable_clat=*", why: "no latencies" },
    Rule { never: "write_lat_log=* gtod_reduce=*", why: "no latencies" },
    Rule { never: "write_hist_log=* disable_clat=*", why: "no latencies" },
    Rule { never: "write_hist_log=* gtod_reduce=*", why: "no latencies" },
    Rule { never: "write_iolog=* numjobs=*", why: "a log of several jobs is another subject" },
    Rule { never: "write_iolog=* b:*", why: "a log of several jobs is another subject" },
];
