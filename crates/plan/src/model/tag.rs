//! What an I/O carries beside its place: the form of a write, its priority, its placement.

/// What an I/O carries beside its place and direction. Most carry nothing: [`Tag::PLAIN`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Tag {
    /// The command that a write is made of.
    pub form: WriteForm,
    /// Which of the job's priorities, counted from 1; 0: the one that the job has anyway.
    pub priority: u8,
    /// Which of the job's placement identifiers, counted from 1; 0: none.
    pub placement: u16,
}

impl Tag {
    /// Nothing beside place and direction.
    pub const PLAIN: Tag = Tag { form: WriteForm::Data, priority: 0, placement: 0 };
}

/// The command that a write is made of (`write_mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum WriteForm {
    /// Bytes of the slot's buffer are written.
    #[default]
    Data,
    /// Write zeroes: no data is sent.
    Zeroes,
    /// Write uncorrectable: no data is sent.
    Uncorrectable,
    /// Verify: the device checks what it holds, no data is sent.
    Verify,
    /// Zone append: bytes of the slot's buffer go where the zone's write pointer is.
    Append,
}

impl WriteForm {
    /// Whether bytes of the slot's buffer are sent. Of a form without data nobody fills the buffer.
    pub const fn has_data(self) -> bool {
        matches!(self, WriteForm::Data | WriteForm::Append)
    }
}
