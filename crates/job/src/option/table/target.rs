//! What is read and written: files, directories, devices and their zones.

use crate::option::def::{Category, Kind, OptionDef, Suffix, Unit, Word, options_of};
use crate::option::read;

const PATHS: Kind = Kind::Custom { name: "paths separated by colons", read: read::paths };
const RATIO: Kind = Kind::Floats { min: 0.0, max: 1.0, max_len: 1 };

options_of!(Category::Target);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "directory",
        PATHS,
        "Where generated files are put, and what relative `filename`s are relative to. Of several \
         directories, separated by colons, the workers of a job take one each in turn; jobs that name \
         their files use the first. Write `\\:` for a colon in a name.",
        "directory=/mnt/a:/mnt/b",
    ),
    option(
        "filename",
        PATHS,
        "The files or devices to work on, separated by colons. All workers of the job share them, and \
         `nrfiles` has no effect. A second `filename` adds to the first, that of `[global]` too. Write \
         `\\:` for a colon in a name. `-` is standard input for a job that reads and standard output for \
         one that writes.",
        "filename=/dev/nvme0n1:/dev/nvme1n1",
    ),
    option(
        "filename_format",
        Kind::Text,
        "How names are made up for files that `filename` does not name: `$jobname`, `$jobnum`, \
         `$filenum` and `$clientuid` are replaced, and directories in it are created. Leave `$jobnum` \
         out to let the workers of a job share one set of files.",
        "filename_format=data.$jobnum.$filenum",
    )
    .default("$jobname.$jobnum.$filenum"),
    option(
        "unique_filename",
        Kind::Bool,
        "Whether a server puts its client's address before generated names, so that several clients \
         can share a directory.",
        "unique_filename=0",
    )
    .default("1")
    .accepted("only a run for a remote client prefixes file names"),
    option(
        "filetype",
        Kind::words(&[
            Word::new("none", "look at each file"),
            Word::new("file", "all are regular files"),
            Word::new("block", "all are block devices"),
            Word::new("char", "all are character devices"),
        ]),
        "Says what all files of the job are, which saves one look at each of a very large set.",
        "filetype=file",
    )
    .default("none")
    .since("3.42"),
    option(
        "opendir",
        Kind::Text,
        "Adds every file found in this directory and below it. It is a single path, in which colons \
         need no backslash.",
        "opendir=/mnt/data",
    ),
    option(
        "lockfile",
        Kind::words(&[
            Word::new("none", "no lock"),
            Word::new("exclusive", "one worker at a time does I/O to a file"),
            Word::new("readwrite", "many readers or one writer at a time"),
        ]),
        "Locks a file around each I/O to it, for jobs that share files.",
        "lockfile=readwrite",
    )
    .default("none")
    .under("filename"),
    option(
        "nrfiles",
        Kind::COUNT,
        "How many files each worker of the job has. `size` is divided evenly between them unless \
         `filesize` is given.",
        "nrfiles=16",
    )
    .alias(&["nr_files"])
    .default("1"),
    option(
        "openfiles",
        Kind::COUNT,
        "How many of its files a worker holds open at a time; all of them when it is not set.",
        "openfiles=4",
    ),
    option(
        "file_service_type",
        Kind::Words {
            words: &[
                Word::new("random", "any open file, evenly"),
                Word::new("zipf", "by a Zipf distribution over the files"),
                Word::new("pareto", "by a Pareto distribution over the files"),
                Word::new("normal", "by a normal distribution over the files"),
                Word::alias("gauss", "normal"),
                Word::new("roundrobin", "one after the other"),
                Word::new("sequential", "one is finished before the next is begun"),
            ],
            suffix: Suffix::Text,
        },
        "How the file of the next I/O is chosen. After `random`, `roundrobin` and `sequential` a \
         number says how many I/Os stay with a file (`random:8`); after the skewed distributions it \
         is their parameter.",
        "file_service_type=random:8",
    )
    .default("roundrobin")
    .under("nrfiles"),
    option(
        "ioscheduler",
        Kind::Text,
        "Switches the block device under the files to this I/O scheduler before the job starts.",
        "ioscheduler=none",
    ),
    option(
        "create_serialize",
        Kind::Bool,
        "Lays out the files of one job after the other, so that they do not interleave on the medium.",
        "create_serialize=0",
    )
    .default("1"),
    option(
        "create_fsync",
        Kind::Bool,
        "Flushes each file after it was laid out.",
        "create_fsync=0",
    )
    .default("1"),
    option(
        "create_on_open",
        Kind::Bool,
        "Makes no file ahead of the run: each comes into being when the job opens it.",
        "create_on_open=1",
    )
    .default("0"),
    option(
        "create_only",
        Kind::Bool,
        "Lays out the files and stops; the job's I/O is not done.",
        "create_only=1",
    )
    .default("0"),
    option(
        "allow_file_create",
        Kind::Bool,
        "Whether missing files may be made. With 0 a missing file is an error.",
        "allow_file_create=0",
    )
    .default("1"),
    option(
        "allow_mounted_write",
        Kind::Bool,
        "Permits writes that may destroy what the system needs: to a block device that is mounted or in \
         use, and to regular files in system directories such as `/etc` and `/usr`.",
        "allow_mounted_write=1",
    )
    .default("0"),
    option(
        "pre_read",
        Kind::Bool,
        "Reads the files through once before the run so that they are in the page cache, and leaves \
         them there: `invalidate` is off.",
        "pre_read=1",
    )
    .default("0"),
    option(
        "unlink",
        Kind::Bool,
        "Removes the job's files when it has ended.",
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
            Word::new("strided", "I/O stays in a zone for `zonesize` bytes, then skips"),
            Word::new("zbd", "a zoned block device: sequential writes within a zone"),
        ]),
        "How the target is divided into zones. Without zones the other zone options have no effect.",
        "zonemode=zbd",
    )
    .default("none"),
    option(
        "zonerange",
        Kind::BYTES64,
        "The size of a zone of `zonemode=strided`, of which `zonesize` bytes are used.",
        "zonerange=256m",
    )
    .default("0"),
    option(
        "zonesize",
        Kind::BYTES64,
        "The bytes to transfer in a zone before the job moves on (`strided`), or the size of the \
         zones of the device (`zbd`).",
        "zonesize=64m",
    )
    .default("0"),
    option(
        "zonecapacity",
        Kind::BYTES64,
        "How much of an emulated zone can be written when that is less than its size. Devices that \
         have zones report their own capacity.",
        "zonecapacity=48m",
    )
    .default("0"),
    option(
        "zoneskip",
        Kind::Amount,
        "The bytes left out between two zones of `zonemode=strided`.",
        "zoneskip=192m",
    )
    .default("0"),
    option(
        "read_beyond_wp",
        Kind::Bool,
        "Lets reads go to the part of a zone that was not written. The device answers those without \
         touching its medium, so the result is no measure of it.",
        "read_beyond_wp=1",
    )
    .default("0"),
    option(
        "max_open_zones",
        Kind::Int { min: 0, max: 4096, unit: Unit::Count },
        "How many zones all jobs together may write to at a time. 0 takes the device's own limit.",
        "max_open_zones=14",
    )
    .default("0"),
    option(
        "job_max_open_zones",
        Kind::Int { min: 0, max: 4096, unit: Unit::Count },
        "How many zones each worker may write to at a time. 0 sets no limit of its own.",
        "job_max_open_zones=1",
    )
    .default("0"),
    option(
        "ignore_zone_limits",
        Kind::Bool,
        "Lets `max_open_zones` exceed what the device says it can hold open.",
        "ignore_zone_limits=1",
    )
    .default("0"),
    option(
        "zone_reset_threshold",
        RATIO,
        "The filled share of the job's range, between 0 and 1, above which zones are reset during the \
         run.",
        "zone_reset_threshold=0.8",
    ),
    option(
        "zone_reset_frequency",
        RATIO,
        "How often a zone is reset once the threshold is passed: 0.01 means after every hundredth \
         write.",
        "zone_reset_frequency=0.01",
    ),
    option(
        "recover_zbd_write_error",
        Kind::Bool,
        "After a failed write asks the device where its write pointers are and goes on from there. It \
         needs `continue_on_error`.",
        "recover_zbd_write_error=1",
    )
    .since("3.42"),
    option(
        "write_zone_remainder",
        Kind::Bool,
        "Fills the end of a zone that is shorter than a block with a smaller write, in place of \
         finishing the zone by command.",
        "write_zone_remainder=1",
    )
    .alias(&["write_zone_remainders"])
    .since("3.42"),
];
