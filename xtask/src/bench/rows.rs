//! The rows of the benchmark: a name and a job, at the options' defaults unless named.

/// One row.
pub struct Row {
    /// What it shows.
    pub name: &'static str,
    /// The job's options. `FILE` stands for a file of 256 MiB in the page cache.
    pub job: &'static [&'static str],
}

/// All rows, in the order in which they run.
pub const ROWS: &[Row] = &[
    Row {
        name: "psync random read 4 KiB, page cache",
        job: &["--ioengine=psync", "--rw=randread", "--bs=4k", "FILE"],
    },
    Row {
        name: "psync random read 512 B, page cache",
        job: &["--ioengine=psync", "--rw=randread", "--bs=512", "FILE"],
    },
    Row {
        name: "psync sequential read 128 KiB, page cache",
        job: &["--ioengine=psync", "--rw=read", "--bs=128k", "FILE"],
    },
    Row {
        name: "psync random write 4 KiB, page cache",
        job: &["--ioengine=psync", "--rw=randwrite", "--bs=4k", "FILE"],
    },
    Row {
        name: "mmap random read 4 KiB",
        job: &["--ioengine=mmap", "--rw=randread", "--bs=4k", "FILE"],
    },
    Row {
        name: "libaio depth 1 random read 4 KiB",
        job: &["--ioengine=libaio", "--rw=randread", "--bs=4k", "FILE"],
    },
    Row {
        name: "libaio depth 32 random read 4 KiB",
        job: &["--ioengine=libaio", "--iodepth=32", "--rw=randread", "--bs=4k", "FILE"],
    },
    Row {
        name: "libaio depth 32 random read 4 KiB, O_DIRECT",
        job: &[
            "--ioengine=libaio",
            "--iodepth=32",
            "--direct=1",
            "--rw=randread",
            "--bs=4k",
            "FILE",
        ],
    },
    Row {
        name: "io_uring depth 1 random read 4 KiB",
        job: &["--ioengine=io_uring", "--rw=randread", "--bs=4k", "FILE"],
    },
    Row {
        name: "io_uring depth 32 random read 4 KiB",
        job: &["--ioengine=io_uring", "--iodepth=32", "--rw=randread", "--bs=4k", "FILE"],
    },
    Row {
        name: "io_uring depth 32 random read 512 B",
        job: &["--ioengine=io_uring", "--iodepth=32", "--rw=randread", "--bs=512", "FILE"],
    },
    Row {
        name: "io_uring depth 32, batches of 16, fixed, 512 B",
        job: &[
            "--ioengine=io_uring",
            "--iodepth=32",
            "--iodepth_batch_submit=16",
            "--iodepth_batch_complete_min=16",
            "--fixedbufs",
            "--registerfiles",
            "--rw=randread",
            "--bs=512",
            "FILE",
        ],
    },
    Row {
        name: "null depth 1 random read",
        job: &["--ioengine=null", "--rw=randread", "--bs=4k", "--norandommap"],
    },
    Row {
        name: "null depth 1 random read with the map",
        job: &["--ioengine=null", "--rw=randread", "--bs=4k"],
    },
    Row {
        name: "null depth 32 random read",
        job: &["--ioengine=null", "--iodepth=32", "--rw=randread", "--bs=4k", "--norandommap"],
    },
    Row {
        name: "null depth 32 mixed 70/30",
        job: &[
            "--ioengine=null",
            "--iodepth=32",
            "--rw=randrw",
            "--rwmixread=70",
            "--bs=4k",
            "--norandommap",
        ],
    },
    Row {
        name: "null writes 128 KiB, scrambled",
        job: &["--ioengine=null", "--rw=write", "--bs=128k"],
    },
    Row {
        name: "null writes 128 KiB, refilled",
        job: &["--ioengine=null", "--rw=write", "--bs=128k", "--refill_buffers"],
    },
];
