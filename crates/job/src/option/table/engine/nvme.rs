//! Options for the commands that `io_uring_cmd` sends to NVMe and SCSI devices.

use crate::option::declare::*;

const BOTH: &[&str] = &["io_uring", "io_uring_cmd"];
const METADATA: &[&str] = &["io_uring", "io_uring_cmd", "xnvme"];

words! {
    /// The words of `verify_mode`.
    pub enum VerifyMode {
        Read = new("read", "reads the data and compares it in fiord"),
        Compare = new("compare", "lets the device compare the data"),
    }

    /// The words of `cmd_type`.
    pub enum CmdType {
        Nvme = new("nvme", "NVMe commands to a namespace's character device"),
        Bsg = later("bsg", "SCSI commands to a block SCSI generic device"),
    }

    /// The words of `cdb_len`.
    pub enum CdbLen {
        Shortest = later("0", "the shortest command that fits"),
        Bytes10 = later("10", "10 bytes"),
        Bytes16 = later("16", "16 bytes"),
        Bytes32 = later("32", "32 bytes"),
    }

    /// The words of `verify_bytchk`.
    pub enum VerifyBytchk {
        Medium = later("0", "the device only reads its medium"),
        Blocks = later("1", "the device compares every block with the data sent"),
        OneBlock = later("3", "the device compares every block with the one block sent"),
    }

    /// The words of `read_mode`.
    pub enum ReadMode {
        Read = later("read", "reads"),
        Prefetch = later("prefetch", "the device loads its cache and sends no data"),
    }
}

options! {
    Category::Engine;

    /// Sets force unit access on reads: the device reads from its medium, not from its cache.
    pub const READFUA: Opt<bool> = option("readfua", BOOL, "readfua=1")
        .of(&["io_uring", "io_uring_cmd", "sg"])
        .default("0");

    /// Sets force unit access on writes: a write completes when its data is on the medium.
    pub const WRITEFUA: Opt<bool> = option("writefua", BOOL, "writefua=1")
        .of(&["io_uring", "io_uring_cmd", "sg"])
        .default("0");

    /// The NVMe command that the job sends for writes: `write`, `uncor`, `zeroes`, `verify` or
    /// `zone_append`, or several of them with percentages.
    pub const WRITE_MODE: Opt<String> = option("write_mode", TEXT, "write_mode=write/60:zeroes/40")
        .of(BOTH)
        .default("write")
        .since("3.42");

    /// The command that verifies written data.
    pub const VERIFY_MODE: Opt<VerifyMode> = option("verify_mode", one_of(), "verify_mode=compare")
        .of(BOTH)
        .default("read")
        .since("3.42");

    /// The type of passthrough command.
    pub const CMD_TYPE: Opt<CmdType> = option("cmd_type", one_of(), "cmd_type=bsg")
        .of(BOTH)
        .default("nvme");

    /// The length of SCSI commands.
    pub const CDB_LEN: Opt<CdbLen> = option("cdb_len", one_of(), "cdb_len=16")
        .of(BOTH)
        .default("0")
        .since("3.42")
        .later();

    /// What a SCSI verify command compares.
    pub const VERIFY_BYTCHK: Opt<VerifyBytchk> =
        option("verify_bytchk", one_of(), "verify_bytchk=1")
            .of(BOTH)
            .default("0")
            .since("3.42")
            .later();

    /// The SCSI command that the job sends for reads.
    pub const READ_MODE: Opt<ReadMode> = option("read_mode", one_of(), "read_mode=prefetch")
        .of(BOTH)
        .default("read")
        .since("3.42")
        .later();

    /// The size of the metadata buffer of each I/O, for namespaces that transfer metadata
    /// separately from data. By default, the buffer is large enough for the largest block.
    pub const MD_PER_IO_SIZE: Opt<Bytes> = option("md_per_io_size", BYTES, "md_per_io_size=64")
        .of(METADATA)
        .default("0")
        .since("3.42");

    /// Lets the controller insert protection information on writes and remove it on reads. With 0,
    /// the protection information travels with the data: fiord generates it for writes and, on
    /// reads, also checks the parts that `pi_chk` names.
    pub const PI_ACT: Opt<bool> = option("pi_act", BOOL, "pi_act=0")
        .of(METADATA)
        .default("1")
        .since("3.42");

    /// Which parts of the protection information are checked: `GUARD`, `REFTAG`, `APPTAG`,
    /// separated by commas. Without it, no part is checked.
    pub const PI_CHK: Opt<Option<String>> = option("pi_chk", TEXT, "pi_chk=GUARD,REFTAG")
        .of(METADATA)
        .since("3.42");

    /// The application tag of the protection information.
    pub const APPTAG: Opt<u32> = option("apptag", COUNT, "apptag=0x1234")
        .of(METADATA)
        .default("0x1234")
        .since("3.42");

    /// The bits of the application tag that are checked.
    pub const APPTAG_MASK: Opt<u32> = option("apptag_mask", COUNT, "apptag_mask=0xff00")
        .of(METADATA)
        .default("0xffff")
        .since("3.42");

    /// Permits the device to deallocate blocks on write zeroes commands.
    pub const DEAC: Opt<bool> = option("deac", BOOL, "deac=1")
        .of(BOTH)
        .default("0")
        .since("3.42");

    /// Splits an I/O that is larger than the device's largest command into several commands. The
    /// I/O completes with its last command. Without it, fiord refuses such block sizes.
    pub const NVME_SPLIT: Opt<bool> = option("nvme_split", BOOL, "nvme_split=1")
        .of(&["io_uring_cmd"])
        .default("0")
        .since("fiord");
}
