//! The targets of the I/O: files, directories, devices and their zones.

use crate::option::declare::*;

words! {
    /// `filetype`: the type of all files.
    pub enum FileType {
        None = new("none", "check the type of each file"),
        File = new("file", "all are regular files"),
        Block = new("block", "all are block devices"),
        Char = new("char", "all are character devices"),
    }

    /// `lockfile`: how jobs lock files against each other.
    pub enum LockFile {
        None = new("none", "no lock"),
        Exclusive = new("exclusive", "one worker at a time does I/O to a file"),
        ReadWrite = new("readwrite", "many readers or one writer at a time"),
    }

    /// `file_service_type`: the file of the next I/O.
    pub enum FileServiceType {
        Random = new("random", "any open file, with equal probability"),
        Zipf = new("zipf", "by a Zipf distribution over the files"),
        Pareto = new("pareto", "by a Pareto distribution over the files"),
        Normal = new("normal", "by a normal distribution over the files"),
        _ = alias("gauss", "normal"),
        RoundRobin = new("roundrobin", "one file after the other"),
        Sequential = new("sequential", "all of one file before the next file"),
    }

    /// `zonemode`: how a job uses zones.
    pub enum ZoneMode {
        None = new("none", "the target has no zones"),
        Strided = new(
            "strided",
            "the job transfers `zonesize` bytes in a zone, then skips to the next zone",
        ),
        Zbd = new("zbd", "a zoned block device, with sequential writes within each zone"),
    }
}

options! {
    Category::Target;

    /// The directory for generated files, and the base of relative `filename`s. With several
    /// directories, separated by colons, the workers of a job take them in turn; jobs that set
    /// `filename` use the first. Write `\:` for a colon in a name.
    pub const DIRECTORY: Opt<Option<Vec<String>>> = option(
        "directory",
        custom("paths separated by colons", &Reader(read::paths)),
        "directory=/mnt/a:/mnt/b",
    );

    /// The files or devices to read and write, separated by colons. All workers of the job share
    /// them, and `nrfiles` has no effect. A second `filename` adds to the first one, also to the
    /// one in `[global]`. Write `\:` for a colon in a name. `-` is standard input for a job that
    /// reads and standard output for a job that writes.
    pub const FILENAME: Opt<Option<Vec<String>>> = option(
        "filename",
        custom("paths separated by colons", &Reader(read::paths)),
        "filename=/dev/nvme0n1:/dev/nvme1n1",
    );

    /// The pattern for generated file names, used when `filename` is not set. fiord replaces
    /// `$jobname`, `$jobnum`, `$filenum` and `$clientuid`, and creates directories that the pattern
    /// names. Leave out `$jobnum` to let the workers of a job share one set of files.
    pub const FILENAME_FORMAT: Opt<String> =
        option("filename_format", TEXT, "filename_format=data.$jobnum.$filenum")
            .default("$jobname.$jobnum.$filenum");

    /// Whether a server (`--server`) puts the address of its client before the names of files in
    /// `directory`, so that several clients can share a directory. It has no effect in other runs.
    pub const UNIQUE_FILENAME: Opt<bool> =
        option("unique_filename", BOOL, "unique_filename=0").default("1");

    /// States the type of all files of the job, so that fiord does not have to check each file of a
    /// very large set.
    pub const FILETYPE: Opt<FileType> = option("filetype", one_of(), "filetype=file")
        .default("none")
        .since("3.42");

    /// Adds every file in this directory and its subdirectories. The value is a single path; colons
    /// in it need no backslash.
    pub const OPENDIR: Opt<Option<String>> = option("opendir", TEXT, "opendir=/mnt/data");

    /// Locks a file around each I/O to it. This is for jobs that share files.
    pub const LOCKFILE: Opt<LockFile> = option("lockfile", one_of(), "lockfile=readwrite")
        .default("none")
        .under("filename");

    /// How many files each worker of the job has. Unless `filesize` is set, `size` is divided
    /// evenly between them.
    pub const NRFILES: Opt<u32> = option("nrfiles", COUNT, "nrfiles=16")
        .alias(&["nr_files"])
        .default("1");

    /// How many of its files a worker keeps open at a time. Without it, a worker keeps all its
    /// files open.
    pub const OPENFILES: Opt<Option<u32>> = option("openfiles", COUNT, "openfiles=4");

    /// How the worker chooses the file for the next I/O. After `random`, `roundrobin` and
    /// `sequential`, a number says how many I/Os go to a file before the worker chooses again
    /// (`random:8`). After the skewed distributions, the number is their parameter, as in
    /// `random_distribution`; a file counts as 1024 places of the distribution. Files with a large
    /// share start over when all their blocks were accessed, so that they keep their share.
    pub const FILE_SERVICE_TYPE: Opt<WithSuffix<FileServiceType>> =
        option("file_service_type", one_of_with(Suffix::Text), "file_service_type=random:8")
            .default("roundrobin")
            .under("nrfiles");

    /// Sets this I/O scheduler on the block device under the files before the job starts.
    pub const IOSCHEDULER: Opt<Option<String>> = option("ioscheduler", TEXT, "ioscheduler=none");

    /// Lays out files one job at a time, so that the files of different jobs do not interleave on
    /// the medium.
    pub const CREATE_SERIALIZE: Opt<bool> = option("create_serialize", BOOL, "create_serialize=0")
        .default("1");

    /// Flushes each file after laying it out.
    pub const CREATE_FSYNC: Opt<bool> = option("create_fsync", BOOL, "create_fsync=0").default("1");

    /// Creates each file when the job opens it, instead of laying out all files before the run. A job that also writes reads
    /// what the file has so far; reads at its end are short.
    pub const CREATE_ON_OPEN: Opt<bool> = option("create_on_open", BOOL, "create_on_open=1")
        .default("0");

    /// Lays out the files and stops without doing the job's I/O.
    pub const CREATE_ONLY: Opt<bool> = option("create_only", BOOL, "create_only=1").default("0");

    /// Whether fiord may create missing files. With 0, a missing file is an error.
    pub const ALLOW_FILE_CREATE: Opt<bool> =
        option("allow_file_create", BOOL, "allow_file_create=0").default("1");

    /// Permits writes that may destroy data that the system needs: to a block device that is
    /// mounted or in use, and to regular files in system directories such as `/etc` and `/usr`.
    pub const ALLOW_MOUNTED_WRITE: Opt<bool> =
        option("allow_mounted_write", BOOL, "allow_mounted_write=1").default("0");

    /// Reads the files into the page cache before the run. This turns `invalidate` off, so that the
    /// run starts with the cached data.
    pub const PRE_READ: Opt<bool> = option("pre_read", BOOL, "pre_read=1").default("0");

    /// Removes the job's files after the job.
    pub const UNLINK: Opt<bool> = option("unlink", BOOL, "unlink=1").default("0");

    /// Removes the job's files after each of its `loops`.
    pub const UNLINK_EACH_LOOP: Opt<bool> = option("unlink_each_loop", BOOL, "unlink_each_loop=1")
        .default("0");

    /// How the target is divided into zones. Without zones the other zone options have no effect.
    pub const ZONEMODE: Opt<ZoneMode> = option("zonemode", one_of(), "zonemode=zbd")
        .default("none");

    /// The size of a zone with `zonemode=strided`. The job uses `zonesize` bytes of it.
    pub const ZONERANGE: Opt<Bytes> = option("zonerange", BYTES64, "zonerange=256m").default("0");

    /// How many bytes the job transfers in a zone before it moves to the next (`strided`), or the
    /// size of the device's zones (`zbd`).
    pub const ZONESIZE: Opt<Bytes> = option("zonesize", BYTES64, "zonesize=64m").default("0");

    /// How much of each emulated zone is writable, if less than the zone size. Zoned devices report
    /// their own zone capacity.
    pub const ZONECAPACITY: Opt<Bytes> = option("zonecapacity", BYTES64, "zonecapacity=48m")
        .default("0");

    /// The number of bytes to skip between two zones with `zonemode=strided`.
    pub const ZONESKIP: Opt<Amount> = option("zoneskip", AMOUNT, "zoneskip=192m").default("0");

    /// Permits reads beyond the write pointer of a zone, beyond its capacity and across its end. The device answers
    /// them without accessing its medium, so such reads do not measure the medium.
    pub const READ_BEYOND_WP: Opt<bool> = option("read_beyond_wp", BOOL, "read_beyond_wp=1")
        .default("0");

    /// How many zones all jobs together may have open for writing at a time. 0 means the device's
    /// own limit.
    pub const MAX_OPEN_ZONES: Opt<u32> = option("max_open_zones", int(0, 4096), "max_open_zones=14")
        .default("0");

    /// How many zones each worker may have open for writing at a time. 0 means no limit for each
    /// worker.
    pub const JOB_MAX_OPEN_ZONES: Opt<u32> =
        option("job_max_open_zones", int(0, 4096), "job_max_open_zones=1").default("0");

    /// Permits a `max_open_zones` above the device's own limit.
    pub const IGNORE_ZONE_LIMITS: Opt<bool> =
        option("ignore_zone_limits", BOOL, "ignore_zone_limits=1").default("0");

    /// The fraction of the job's range, between 0 and 1, that must hold data before the job resets
    /// zones during the run.
    pub const ZONE_RESET_THRESHOLD: Opt<Option<f64>> =
        option("zone_reset_threshold", float(0.0, 1.0), "zone_reset_threshold=0.8");

    /// How often the job resets a zone after it passes `zone_reset_threshold`: 0.01 means after
    /// every hundredth write.
    pub const ZONE_RESET_FREQUENCY: Opt<Option<f64>> =
        option("zone_reset_frequency", float(0.0, 1.0), "zone_reset_frequency=0.01");

    /// After a failed write, reads the write pointers from the device and continues from there. It
    /// needs `continue_on_error`.
    pub const RECOVER_ZBD_WRITE_ERROR: Opt<bool> =
        option("recover_zbd_write_error", BOOL, "recover_zbd_write_error=1").since("3.42");

    /// Fills the end of a zone with a smaller write if less than one block is left there, instead
    /// of sending a command that finishes the zone.
    pub const WRITE_ZONE_REMAINDER: Opt<bool> =
        option("write_zone_remainder", BOOL, "write_zone_remainder=1")
            .alias(&["write_zone_remainders"])
            .since("3.42");
}
