//! The bytes of a write with `verify_pattern`.

/// A part of a pattern: what the job file says, with files replaced by their contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternPart {
    /// These bytes: text, numbers, or the contents of a file.
    Bytes(Vec<u8>),
    /// `%o`: the offset in 8 bytes, in little-endian order.
    Offset,
}

/// A pattern that repeats from the start of each write, or of each piece of `verify_pattern_interval` bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyPattern {
    parts: Vec<PatternPart>,
    interval: Option<u64>,
}

impl BodyPattern {
    /// A pattern; `None` if it has no bytes. An `interval` of 0 means one piece for each write.
    #[must_use]
    pub fn new(parts: Vec<PatternPart>, interval: u64) -> Option<Self> {
        let empty =
            parts.iter().all(|part| matches!(part, PatternPart::Bytes(bytes) if bytes.is_empty()));
        let interval = Some(interval).filter(|interval| *interval > 0);
        (!empty).then_some(BodyPattern { parts, interval })
    }

    /// Fills `write`, the whole contents of a write at `offset` of its file.
    pub fn fill(&self, offset: u64, write: &mut [u8]) {
        let most = self.interval.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        let mut start = offset;
        for piece in write.chunks_mut(most) {
            self.fill_piece(start, piece);
            start = start.wrapping_add(piece.len() as u64);
        }
    }

    fn fill_piece(&self, offset: u64, piece: &mut [u8]) {
        let offset = offset.to_le_bytes();
        let bytes = |part: &'_ PatternPart| match part {
            PatternPart::Bytes(bytes) => bytes.clone(),
            PatternPart::Offset => offset.to_vec(),
        };
        let once: Vec<u8> = self.parts.iter().flat_map(bytes).collect();
        for repetition in piece.chunks_mut(once.len()) {
            repetition.copy_from_slice(&once[..repetition.len()]);
        }
    }
}
