//! The targets of the I/O: files, directories, devices and their zones.

use crate::option::def::{Category, Kind, OptionDef, Suffix, Unit, Word, options_of};
use crate::option::read;

const PATHS: Kind = Kind::Custom { name: "paths separated by colons", read: read::paths };
const RATIO: Kind = Kind::Floats { min: 0.0, max: 1.0, max_len: 1 };

options_of!(Category::Target);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "directory",
        PATHS,
        "The directory for generated files, and the base of relative `filename`s. With several \
         directories, separated by colons, the workers of a job take them in turn; jobs that set \
         `filename` use the first. Write `\\:` for a colon in a name.",
        "directory=/mnt/a:/mnt/b",
    ),
    option(
        "filename",
        PATHS,
        "The files or devices to read and write, separated by colons. All workers of the job share \
         them, and `nrfiles` has no effect. A second `filename` adds to the first one, also to \
         the one in `[global]`. Write `\\:` for a colon in a name. `-` is standard input for a \
         job that reads and standard output for a job that writes.",
        "filename=/dev/nvme0n1:/dev/nvme1n1",
    ),
    option(
        "filename_format",
        Kind::Text,
        "The pattern for generated file names, used when `filename` is not set. fiord replaces \
         `$jobname`, `$jobnum`, `$filenum` and `$clientuid`, and creates directories that the \
         pattern names. Leave out `$jobnum` to let the workers of a job share one set of files.",
        "filename_format=data.$jobnum.$filenum",
    )
    .default("$jobname.$jobnum.$filenum"),
    option(
        "unique_filename",
        Kind::Bool,
        "Whether a server puts the address of its client before generated file names, so that \
         several clients can share a directory.",
        "unique_filename=0",
    )
    .default("1")
    .accepted("only a run for a remote client prefixes file names"),
    option(
        "filetype",
        Kind::words(&[
            Word::new("none", "check the type of each file"),
            Word::new("file", "all are regular files"),
            Word::new("block", "all are block devices"),
            Word::new("char", "all are character devices"),
        ]),
        "States the type of all files of the job, so that fiord does not have to check each file \
         of a very large set.",
        "filetype=file",
    )
    .default("none")
    .since("3.42"),
    option(
        "opendir",
        Kind::Text,
        "Adds every file in this directory and its subdirectories. The value is a single path; \
         colons in it need no backslash.",
        "opendir=/mnt/data",
    ),
    option(
        "lockfile",
        Kind::words(&[
            Word::new("none", "no lock"),
            Word::new("exclusive", "one worker at a time does I/O to a file"),
            Word::new("readwrite", "many readers or one writer at a time"),
        ]),
        "Locks a file around each I/O to it. This is for jobs that share files.",
        "lockfile=readwrite",
    )
    .default("none")
    .under("filename"),
    option(
        "nrfiles",
        Kind::COUNT,
        "How many files each worker of the job has. Unless `filesize` is set, `size` is divided \
         evenly between them.",
        "nrfiles=16",
    )
    .alias(&["nr_files"])
    .default("1"),
    option(
        "openfiles",
        Kind::COUNT,
        "How many of its files a worker keeps open at a time. Without it, a worker keeps all its \
         files open.",
        "openfiles=4",
    ),
    option(
        "file_service_type",
        Kind::Words {
            words: &[
                Word::new("random", "any open file, with equal probability"),
                Word::new("zipf", "by a Zipf distribution over the files"),
                Word::new("pareto", "by a Pareto distribution over the files"),
                Word::new("normal", "by a normal distribution over the files"),
                Word::alias("gauss", "normal"),
                Word::new("roundrobin", "one file after the other"),
                Word::new("sequential", "all of one file before the next file"),
            ],
            suffix: Suffix::Text,
        },
        "How the worker chooses the file for the next I/O. After `random`, `roundrobin` and \
         `sequential`, a number says how many I/Os go to a file before the worker chooses again \
         (`random:8`). After the skewed distributions, the number is their parameter.",
        "file_service_type=random:8",
    )
    .default("roundrobin")
    .under("nrfiles"),
    option(
        "ioscheduler",
        Kind::Text,
        "Sets this I/O scheduler on the block device under the files before the job starts.",
        "ioscheduler=none",
    ),
    option(
        "create_serialize",
        Kind::Bool,
        "Lays out files one job at a time, so that the files of different jobs do not interleave \
         on the medium.",
        "create_serialize=0",
    )
    .default("1"),
    option(
        "create_fsync",
        Kind::Bool,
        "Flushes each file after laying it out.",
        "create_fsync=0",
    )
    .default("1"),
    option(
        "create_on_open",
        Kind::Bool,
        "Creates each file when the job opens it, instead of laying out all files before the run.",
        "create_on_open=1",
    )
    .default("0"),
    option(
        "create_only",
        Kind::Bool,
        "Lays out the files and stops without doing the job's I/O.",
        "create_only=1",
    )
    .default("0"),
    option(
        "allow_file_create",
        Kind::Bool,
        "Whether fiord may create missing files. With 0, a missing file is an error.",
        "allow_file_create=0",
    )
    .default("1"),
    option(
        "allow_mounted_write",
        Kind::Bool,
        "Permits writes that may destroy data that the system needs: to a block device that is \
         mounted or in use, and to regular files in system directories such as `/etc` and `/usr`.",
        "allow_mounted_write=1",
    )
    .default("0"),
    option(
        "pre_read",
        Kind::Bool,
        "Reads the files into the page cache before the run. This turns `invalidate` off, so that \
         the run starts with the cached data.",
        "pre_read=1",
    )
    .default("0"),
    option(
        "unlink",
        Kind::Bool,
        "Removes the job's files after the job.",
        "unlink=1",
    )
    .default("0"),
    option(
        "unlink_each_loop",
        Kind::Bool,
        "Removes the job's files after each of its `loops`.",
        "unlink_each_loop=1",
    )
    .default("0"),
    option(
        "zonemode",
        Kind::words(&[
            Word::new("none", "the target has no zones"),
            Word::new("strided", "the job transfers `zonesize` bytes in a zone, then skips to the \
                                  next zone"),
            Word::new("zbd", "a zoned block device, with sequential writes within each zone"),
        ]),
        "How the target is divided into zones. Without zones the other zone options have no effect.",
        "zonemode=zbd",
    )
    .default("none"),
    option(
        "zonerange",
        Kind::BYTES64,
        "The size of a zone with `zonemode=strided`. The job uses `zonesize` bytes of it.",
        "zonerange=256m",
    )
    .default("0"),
    option(
        "zonesize",
        Kind::BYTES64,
        "How many bytes the job transfers in a zone before it moves to the next (`strided`), or \
         the size of the device's zones (`zbd`).",
        "zonesize=64m",
    )
    .default("0"),
    option(
        "zonecapacity",
        Kind::BYTES64,
        "How much of each emulated zone is writable, if less than the zone size. Zoned devices \
         report their own zone capacity.",
        "zonecapacity=48m",
    )
    .default("0"),
    option(
        "zoneskip",
        Kind::Amount,
        "The number of bytes to skip between two zones with `zonemode=strided`.",
        "zoneskip=192m",
    )
    .default("0"),
    option(
        "read_beyond_wp",
        Kind::Bool,
        "Permits reads beyond the write pointer of a zone. The device answers them without \
         accessing its medium, so such reads do not measure the medium.",
        "read_beyond_wp=1",
    )
    .default("0"),
    option(
        "max_open_zones",
        Kind::Int { min: 0, max: 4096, unit: Unit::Count },
        "How many zones all jobs together may have open for writing at a time. 0 means the \
         device's own limit.",
        "max_open_zones=14",
    )
    .default("0"),
    option(
        "job_max_open_zones",
        Kind::Int { min: 0, max: 4096, unit: Unit::Count },
        "How many zones each worker may have open for writing at a time. 0 means no limit for each \
         worker.",
        "job_max_open_zones=1",
    )
    .default("0"),
    option(
        "ignore_zone_limits",
        Kind::Bool,
        "Permits a `max_open_zones` above the device's own limit.",
        "ignore_zone_limits=1",
    )
    .default("0"),
    option(
        "zone_reset_threshold",
        RATIO,
        "The fraction of the job's range, between 0 and 1, that must hold data before the job \
         resets zones during the run.",
        "zone_reset_threshold=0.8",
    ),
    option(
        "zone_reset_frequency",
        RATIO,
        "How often the job resets a zone after it passes `zone_reset_threshold`: 0.01 means after \
         every hundredth write.",
        "zone_reset_frequency=0.01",
    ),
    option(
        "recover_zbd_write_error",
        Kind::Bool,
        "After a failed write, reads the write pointers from the device and continues from there. \
         It needs `continue_on_error`.",
        "recover_zbd_write_error=1",
    )
    .since("3.42"),
    option(
        "write_zone_remainder",
        Kind::Bool,
        "Fills the end of a zone with a smaller write if less than one block is left there, \
         instead of sending a command that finishes the zone.",
        "write_zone_remainder=1",
    )
    .alias(&["write_zone_remainders"])
    .since("3.42"),
];
