//! The type of a job's I/O: direction, order, randomness, flushing.

use crate::option::declare::*;

words! {
    /// `rw`: the directions and the order of I/O.
    pub enum Rw {
        Read = new("read", "sequential reads"),
        Write = new("write", "sequential writes"),
        Trim = new("trim", "sequential trims"),
        RandRead = new("randread", "random reads"),
        RandWrite = new("randwrite", "random writes"),
        RandTrim = new("randtrim", "random trims"),
        Rw = new("rw", "sequential reads and writes mixed"),
        _ = alias("readwrite", "rw"),
        RandRw = new("randrw", "random reads and writes mixed"),
        TrimWrite = new("trimwrite", "trims each block, then writes it, sequentially"),
        RandTrimWrite = new("randtrimwrite", "trims each block, then writes it, in random order"),
    }

    /// `rw_sequencer`: the offset of I/Os for which a random job draws no new one.
    pub enum Sequencer {
        Sequential = new("sequential", "each further I/O follows the previous one sequentially"),
        Identical = new("identical", "all these I/Os go to the same offset"),
    }

    /// `unified_rw_reporting`: how reports combine the directions.
    pub enum Unified {
        None = new("none", "each direction separately"),
        Mixed = new("mixed", "only the sum of all directions"),
        Both = new("both", "each direction separately, and the sum"),
        _ = alias("0", "none"),
        _ = alias("1", "mixed"),
        _ = alias("2", "both"),
    }

    /// `fallocate`: how the layout allocates the space of a file.
    pub enum Fallocate {
        None = new("none", "reserves no space"),
        Native = new("native", "`fallocate(2)` where the file system supports it"),
        Posix = new("posix", "`posix_fallocate(3)`"),
        Keep = new("keep", "`fallocate(2)` without changing the file size"),
        Truncate = new("truncate", "only sets the file size"),
        _ = alias("0", "none"),
        _ = alias("1", "posix"),
    }

    /// `fadvise_hint`: the advice that a job gives with `posix_fadvise(2)`.
    pub enum Advice {
        None = new("0", "gives no advice"),
        Auto = new("1", "random or sequential, to match the job"),
        Random = new("random", "`POSIX_FADV_RANDOM`"),
        Sequential = new("sequential", "`POSIX_FADV_SEQUENTIAL`"),
        NoReuse = new("noreuse", "`POSIX_FADV_NOREUSE`"),
    }

    /// `write_hint` (`F_SET_RW_HINT`, see `linux/fcntl.h`): how long written data lives.
    pub enum WriteHint {
        None = new("none", "no lifetime"),
        Short = new("short", "overwritten soon"),
        Medium = new("medium", "kept for a while"),
        Long = new("long", "kept for a long time"),
        Extreme = new("extreme", "kept longest"),
    }

    /// `random_distribution`: how random offsets are distributed.
    pub enum RandomDistribution {
        Random = new("random", "all blocks have the same probability"),
        Zipf = new("zipf", "few blocks get most of the I/O: `zipf:THETA[:CENTRE]`"),
        Pareto = new(
            "pareto",
            "few blocks get most of the I/O, by a power law: `pareto:POWER[:CENTRE]`",
        ),
        Normal = new(
            "normal",
            "a bell curve, whose blocks lie all over the range: `normal[:DEVIATION[:CENTRE]]`; DEVIATION, up to 50, widens it",
        ),
        Zoned = new(
            "zoned",
            "percentages of the I/O for percentages of the range: `zoned:60/10:40/90`",
        ),
        ZonedAbs = new(
            "zoned_abs",
            "percentages of the I/O for ranges of bytes: `zoned_abs:60/20g:40/100g`",
        ),
        Sequence = new("sequence", "these block numbers, repeated: `sequence:2,0,1`"),
    }

    /// `random_generator`: the pseudo-random number generator of offsets.
    pub enum Generator {
        Tausworthe = new(
            "tausworthe",
            "random numbers of 64 bits; in fio of 32 bits, so that it reaches only a part of very large targets",
        ),
        Lfsr = new("lfsr", "a shift register that visits every block once without a random map"),
        Tausworthe64 = new("tausworthe64", "64-bit random numbers"),
    }

    /// `sync_file_range`: steps of writeback.
    pub enum SyncFileRange {
        WaitBefore = new("wait_before", "waits for writeback that is already in progress"),
        Write = new("write", "starts writeback of dirty pages"),
        WaitAfter = new("wait_after", "waits for this writeback"),
    }

    /// `sync`: which synchronous mode a job opens its files in.
    pub enum SyncMode {
        None = new("none", "writes may stay in caches"),
        _ = alias("0", "none"),
        Sync = new(
            "sync",
            "a write completes when its data and metadata are on stable storage (`O_SYNC`)",
        ),
        _ = alias("1", "sync"),
        Dsync = new("dsync", "a write completes when its data is on stable storage (`O_DSYNC`)"),
    }
}

options! {
    Category::IoType;

    /// Bypasses the page cache (`O_DIRECT`). Sizes and offsets must then be multiples of the
    /// device's logical block size. `direct` is the opposite of `buffered`.
    pub const DIRECT: Opt<bool> = option("direct", BOOL, "direct=1").default("0");

    /// Uses the page cache. `buffered` is the opposite of `direct`; the later of the two counts.
    pub const BUFFERED: Opt<bool> = option("buffered", BOOL, "buffered=0").default("1");

    /// Requests atomic writes: after a crash, a write is either complete or has not happened
    /// (`RWF_ATOMIC`, Linux 6.11). It applies to engines that can pass the flag to the kernel.
    pub const ATOMIC: Opt<bool> = option("atomic", BOOL, "atomic=1").default("0");

    /// The direction and order of the I/O. In a random load, a number after a colon says how many
    /// I/Os follow before the job chooses a new random offset (see `rw_sequencer`). In a sequential
    /// load, it says how many bytes the job skips after each I/O.
    pub const RW: Opt<WithSuffix<Rw>> = option("rw", one_of_with(Suffix::Step), "rw=randread:8")
        .alias(&["readwrite"])
        .default("read");

    /// What the job does between two random offsets when `rw` has a number after a colon.
    pub const RW_SEQUENCER: Opt<Sequencer> =
        option("rw_sequencer", one_of(), "rw_sequencer=identical").default("sequential");

    /// The percentage of reads in a mixed load.
    pub const RWMIXREAD: Opt<u8> = option("rwmixread", PERCENT, "rwmixread=70").default("50");

    /// The percentage of writes in a mixed load. If the sum of it and `rwmixread` is not 100, the
    /// later option counts.
    pub const RWMIXWRITE: Opt<u8> = option("rwmixwrite", PERCENT, "rwmixwrite=30").default("50");

    /// Whether the report shows reads, writes and trims separately, combined, or both.
    pub const UNIFIED_RW_REPORTING: Opt<Unified> =
        option("unified_rw_reporting", one_of(), "unified_rw_reporting=both").default("none");

    /// Uses the same random sequence in every run. With 0, each run uses a new sequence.
    pub const RANDREPEAT: Opt<bool> = option("randrepeat", BOOL, "randrepeat=0")
        .alias(&["allrandrepeat"])
        .default("1")
        .under("rw");

    /// The seed of all random choices. Without it, `randrepeat` decides.
    pub const RANDSEED: Opt<u64> =
        option("randseed", custom("number", &Reader(read::seed)), "randseed=42")
            .default("0x89")
            .under("rw");

    /// How fiord reserves space when it lays out a file.
    pub const FALLOCATE: Opt<Fallocate> = option("fallocate", one_of(), "fallocate=none")
        .default("native");

    /// The advice about the access pattern that fiord gives the kernel for each file.
    pub const FADVISE_HINT: Opt<Advice> = option("fadvise_hint", one_of(), "fadvise_hint=0")
        .default("1");

    /// Tells the kernel how long written data is expected to stay valid (`F_SET_RW_HINT`).
    pub const WRITE_HINT: Opt<Option<WriteHint>> =
        option("write_hint", one_of(), "write_hint=short");

    /// The distribution of random offsets over the range.
    pub const RANDOM_DISTRIBUTION: Opt<WithSuffix<RandomDistribution>> =
        option("random_distribution", one_of_with(Suffix::Text), "random_distribution=zipf:1.2")
            .default("random");

    /// With `random_distribution=sequence`, adds the length of the sequence to the block numbers
    /// after each pass, instead of repeating the same block numbers.
    pub const RANDOM_SEQUENCE_STRIDE: Opt<bool> =
        option("random_sequence_stride", BOOL, "random_sequence_stride=1")
            .default("0")
            .since("3.42");

    /// The percentage of I/Os in a random load that go to random offsets; the others are
    /// sequential. Up to three values, for reads, writes and trims.
    pub const PERCENTAGE_RANDOM: Opt<PerDir<Option<u8>>> =
        option("percentage_random", per_dir(0, 100, Unit::Percent), "percentage_random=80,100")
            .default("100,100,100");

    /// Chooses each random offset independently, without tracking which blocks the job has visited.
    /// Some blocks then occur several times and others never.
    pub const NORANDOMMAP: Opt<bool> = option("norandommap", SWITCH, "norandommap").under("rw");

    /// Continues without a random map if there is not enough memory for one.
    pub const SOFTRANDOMMAP: Opt<bool> = option("softrandommap", BOOL, "softrandommap=1")
        .default("0")
        .under("norandommap")
        .accepted("the random map is not a block of memory whose allocation could fail");

    /// The generator of random offsets.
    pub const RANDOM_GENERATOR: Opt<Generator> =
        option("random_generator", one_of(), "random_generator=lfsr").default("tausworthe");

    /// Preconditions a flash drive in one pass. It writes the whole physical capacity in an order
    /// that leaves the fraction of stale blocks that random writes would leave in the steady state.
    pub const SPRANDOM: Opt<bool> = option("sprandom", BOOL, "sprandom=1")
        .default("0")
        .under("rw")
        .since("3.42");

    /// The number of regions into which `sprandom` divides the drive. More regions come closer to
    /// the steady state.
    pub const SPR_NUM_REGIONS: Opt<u32> = option("spr_num_regions", COUNT, "spr_num_regions=400")
        .default("100")
        .under("sprandom")
        .since("3.42");

    /// The over-provisioning of the drive for `sprandom`: the spare capacity as a fraction between
    /// 0 and 1.
    pub const SPR_OP: Opt<f64> = option("spr_op", float(0.0, 1.0), "spr_op=0.28")
        .default("0.15")
        .under("sprandom")
        .since("3.42");

    /// The size of the drive's write cache for `sprandom`. If it is not 0, `sprandom` makes blocks
    /// stale one region later, when the cache no longer holds them.
    pub const SPR_CS: Opt<Bytes> = option("spr_cs", BYTES, "spr_cs=64m")
        .default("0")
        .under("sprandom")
        .since("3.42");

    /// Calls `fsync(2)` after this many writes. 0 means never.
    pub const FSYNC: Opt<u32> = option("fsync", COUNT, "fsync=32").default("0");

    /// Calls `fdatasync(2)` after this many writes. 0 means never.
    pub const FDATASYNC: Opt<u32> = option("fdatasync", COUNT, "fdatasync=1").default("0");

    /// Makes every N-th write a barrier: the job finishes all earlier writes first, and later
    /// writes wait for it. 0 means never.
    pub const WRITE_BARRIER: Opt<u32> = option("write_barrier", COUNT, "write_barrier=64")
        .default("0");

    /// Calls `sync_file_range(2)` with these flags over the range written since the last call. The
    /// number after the colon says after how many writes.
    pub const SYNC_FILE_RANGE: Opt<Option<Vec<WithSuffix<SyncFileRange>>>> =
        option("sync_file_range", list_of_with(Suffix::Int), "sync_file_range=wait_before,write:8");

    /// Makes sure before the run that each file to be written exists in its full size, so that no
    /// write of the job has to extend it.
    pub const OVERWRITE: Opt<bool> = option("overwrite", BOOL, "overwrite=1").default("0");

    /// Flushes every file after the job's last write. The job's time includes the flush.
    pub const END_FSYNC: Opt<bool> = option("end_fsync", BOOL, "end_fsync=1").default("0");

    /// Flushes the whole file system once (`syncfs(2)`) after the job's last write.
    pub const END_SYNCFS: Opt<bool> = option("end_syncfs", BOOL, "end_syncfs=1")
        .default("0")
        .since("3.42");

    /// Flushes a file every time the job closes it, not only at the end of the job. The job's time
    /// includes the flush.
    pub const FSYNC_ON_CLOSE: Opt<bool> = option("fsync_on_close", BOOL, "fsync_on_close=1")
        .default("0");

    /// Drops a file's pages from the page cache before the run. If the job goes through the file
    /// more than once (`loops`, `time_based`, `io_size`), it also drops them before each pass. With
    /// 0, a job may find its data in memory. Direct I/O leaves no pages there, so a direct job
    /// drops them once.
    pub const INVALIDATE: Opt<bool> = option("invalidate", BOOL, "invalidate=0").default("1");

    /// Whether each write must reach stable storage before it completes.
    pub const SYNC: Opt<SyncMode> = option("sync", one_of(), "sync=dsync").default("none");
}
