//! Options of `sg`.

use crate::option::declare::*;

words! {
    /// The words of `sg_write_mode`.
    pub enum SgWriteMode {
        Write = new("write", "plain writes"),
        WriteAndVerify = new("write_and_verify", "the device checks each write on the medium"),
        _ = alias("verify", "write_and_verify"),
        WriteSame = new("write_same", "the device writes one block over the whole range"),
        _ = alias("same", "write_same"),
        WriteSameNdob = new(
            "write_same_ndob",
            "the device writes one block over the whole range, and the command carries no data",
        ),
        VerifyBytchk00 = new(
            "verify_bytchk_00",
            "the device reads its medium and compares nothing",
        ),
        VerifyBytchk01 = new(
            "verify_bytchk_01",
            "the device compares all blocks with the data sent",
        ),
        VerifyBytchk11 = new(
            "verify_bytchk_11",
            "the device compares all blocks with the one block sent",
        ),
        WriteStream = new("write_stream", "writes that belong to `stream_id`"),
    }
}

options! {
    Category::Engine;

    /// Asks the driver to poll for completions of reads and writes.
    pub const HIPRI: Opt<bool> = option("hipri", SWITCH, "hipri").of(&["sg"]);

    /// The SCSI command that the job sends for writes.
    pub const SG_WRITE_MODE: Opt<SgWriteMode> =
        option("sg_write_mode", one_of(), "sg_write_mode=write_same").of(&["sg"]).default("write");

    /// The stream of `write_stream` commands. With 0, the job opens a stream and closes it at its
    /// end.
    pub const STREAM_ID: Opt<u32> = option("stream_id", COUNT, "stream_id=3")
        .of(&["sg"])
        .default("0");
}
