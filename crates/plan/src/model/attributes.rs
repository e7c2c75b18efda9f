//! Attributes of an I/O other than offset and direction: write command, priority, placement.

/// Attributes of an I/O other than offset, length and direction. Most I/Os have [`IoAttributes::PLAIN`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct IoAttributes {
    /// The command that carries out a write, or a read of a verify pass.
    pub command: WriteCommand,
    /// Position in [`Priorities::values`](super::Priorities::values), counted from 1; 0: the job's
    /// own priority.
    pub priority: u8,
    /// Position in [`Placement::ids`](super::Placement::ids) of the file, counted from 1; 0: no
    /// placement identifier.
    pub placement: u16,
}

impl IoAttributes {
    /// A plain read, write or trim: no special command, priority or placement.
    pub const PLAIN: IoAttributes =
        IoAttributes { command: WriteCommand::Data, priority: 0, placement: 0 };
}

/// The command that carries out a write (`write_mode`), or a read of a verify pass (`verify_mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum WriteCommand {
    /// Writes the bytes of the buffer, or reads into it.
    #[default]
    Data,
    /// Write Zeroes; sends no data.
    Zeroes,
    /// Write Uncorrectable; sends no data.
    Uncorrectable,
    /// Verify: the device checks its stored data; sends no data.
    Verify,
    /// Zone Append: the device writes the bytes of the buffer at the write pointer of the zone.
    Append,
    /// Compare: the device compares its stored data with the bytes of the buffer. Only reads have this command.
    Compare,
    /// Writes the bytes of the buffer. They are durable when the write completes (FUA). Only `read_iolog` makes such
    /// writes, on engines whose system calls accept flags.
    Durable,
}

impl WriteCommand {
    /// Whether the command sends the bytes of the buffer. If not, the job does not fill the buffer.
    #[must_use]
    pub const fn has_data(self) -> bool {
        matches!(
            self,
            WriteCommand::Data
                | WriteCommand::Durable
                | WriteCommand::Append
                | WriteCommand::Compare
        )
    }
}
