//! The map of a target: one byte for each granule.

use std::sync::atomic::{AtomicU64, Ordering};

use fiord_sys::memory::AtomicWords;
use fiord_types::Bytes;
use thiserror::Error;

use super::cells::{Cells, GranuleSpan, WordPart, splat};
use super::generations::{self, Generations};
use super::value::{GranuleState, IN_FLIGHT, NEVER_WRITTEN, TRIMMED, UNKNOWN, WriteValue};
use crate::LoadError;

/// Says for each granule of a target which write it contains. All jobs on the target share one map.
///
/// A granule is the unit in which jobs write: a divisor of all offsets and lengths. The map needs one byte for
/// each granule that was written, in whole pages; parts of the target that no job writes need no memory.
///
/// # Writes
///
/// A writer [claims](Self::claim) all granules of a write before it fills the buffer, and settles the claim when the
/// write completes: [`complete`](Self::complete), [`trim`](Self::trim), [`abandon`](Self::abandon) or
/// [`release`](Self::release). A claim is exclusive, so writes that overlap are serialized, within a job and between
/// jobs. A claim that is refused takes nothing, so jobs cannot block each other: of the jobs that claim at one moment,
/// the one that reaches the highest granule gets all of its granules.
///
/// # Reads
///
/// A reader takes a [snapshot](Self::snapshot) before the read. If nothing was in flight and the snapshot is
/// [unchanged](Self::is_unchanged) after the read, the data should be that of the snapshot. It is not proof of an
/// error if it is not: a write may have come and gone during the read and, by chance, have the value of the one before
/// it. So before a reader reports an error, it claims the granules, reads again, judges this data, and releases the claim.
///
/// ```
/// use fiord_load::verify::{GranuleState, WriteMap, WriteValue};
/// use fiord_types::Bytes;
///
/// let map = WriteMap::new(Bytes::from_kib(64), Bytes::from_kib(4))?;
/// let write = map.claim(8192, 4096).expect("nothing else writes");
/// assert!(map.claim(4096, 16384).is_err());
/// map.complete(write, WriteValue::of_generation(0));
///
/// let before = map.snapshot(8192, 4096);
/// // The job reads the block here.
/// assert!(before.is_settled() && map.is_unchanged(&before));
/// assert_eq!(map.state(8192), GranuleState::Written(WriteValue::of_generation(0)));
/// # Ok::<(), fiord_load::LoadError>(())
/// ```
#[derive(Debug)]
pub struct WriteMap {
    words: AtomicWords,
    bytes: u64,
    granule: u64,
    /// `None`: the values of the map are not generations.
    generations: Option<Box<Generations>>,
}

/// Granules that the holder owns until it settles the claim. A claim that is dropped instead leaves its granules in
/// flight forever.
#[must_use = "the granules stay in flight until the claim is settled"]
#[derive(Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The bytes before the claim.
    before: Cells,
}

impl Claimed {
    /// The state of each granule before the claim.
    pub fn previous(&self) -> impl Iterator<Item = GranuleState> + '_ {
        self.before.iter().map(GranuleState::of_byte)
    }
}

/// Why a claim was refused. It took nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ClaimRefused {
    /// The granule at this offset is claimed already. Claim again when that claim is settled.
    #[error("another I/O is in flight at offset {}", .0.0)]
    Busy(Bytes),
    /// The range ends beyond the target.
    #[error("the range ends beyond the end of the target")]
    Outside,
}

/// The states of a range at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapSnapshot {
    cells: Cells,
}

impl MapSnapshot {
    pub fn states(&self) -> impl Iterator<Item = GranuleState> + '_ {
        self.cells.iter().map(GranuleState::of_byte)
    }

    /// Whether no granule was claimed.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.cells.span.parts().all(|part| part.find(self.cells.word(&part), IN_FLIGHT).is_none())
    }
}

/// Adjacent granules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapRun {
    /// First byte.
    pub offset: Bytes,
    /// Number of bytes. The last granule of a target may be shorter than the others.
    pub len: Bytes,
}

/// How much of a target is in which state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MapCounts {
    /// See [`GranuleState::NeverWritten`].
    pub never_written: Bytes,
    /// See [`GranuleState::InFlight`].
    pub in_flight: Bytes,
    /// See [`GranuleState::Unknown`].
    pub unknown: Bytes,
    /// See [`GranuleState::Trimmed`].
    pub trimmed: Bytes,
    /// See [`GranuleState::Written`].
    pub written: Bytes,
}

impl WriteMap {
    /// Creates the map of a target of this size, of which nothing was written.
    ///
    /// # Errors
    ///
    /// There is not enough memory.
    pub fn new(bytes: Bytes, granule: Bytes) -> Result<WriteMap, LoadError> {
        let granule = granule.0.max(1);
        let count = bytes.0.div_ceil(granule);
        let words = AtomicWords::new(usize::try_from(count.div_ceil(8)).unwrap_or(usize::MAX))
            .map_err(|source| {
                let (bytes, granule) = (Bytes(count), Bytes(granule));
                LoadError::WriteMapMemory { bytes, granule, source }
            })?;
        Ok(WriteMap { words, bytes: bytes.0, granule, generations: None })
    }

    /// The values of the map are generations: [`WriteValue::next`] follows each of them. The map counts the generations that
    /// a byte cannot count.
    #[must_use]
    pub fn counting_generations(self) -> WriteMap {
        WriteMap { generations: Some(Box::new(Generations::new())), ..self }
    }

    /// Appends for each granule of a range how many generations it had before those that its value counts. Appends
    /// nothing if that is 0 for all of them.
    pub fn generations_before(&self, offset: u64, len: u64, list: &mut Vec<u16>) {
        if let (Some(generations), Some(span)) = (&self.generations, self.span(offset, len)) {
            generations.before(span, list);
        }
    }

    /// Like [`generations_before`](Self::generations_before), for claimed granules after the next write. The write
    /// must be completed with the [next](WriteValue::next) value of each granule that contains a write.
    pub fn generations_after_write(&self, claimed: &Claimed, list: &mut Vec<u16>) {
        let Some(generations) = &self.generations else { return };
        let (before, start) = (&claimed.before, list.len());
        generations.before(before.span, list);
        for (index, byte) in
            before.iter().enumerate().filter(|(_, byte)| *byte == WriteValue::COUNT)
        {
            if generations.reserve(before.span.granule(index)) {
                if list.len() == start {
                    list.resize(start + before.span.len(), 0);
                }
                let place = &mut list[start + index];
                *place = generations::sum(*place, u16::from(byte));
            }
        }
    }

    /// Counts the generations that claimed granules have had: `count` returns their number from the state before the
    /// claim.
    fn count_generations(&self, claimed: &Claimed, count: impl Fn(GranuleState) -> u16) {
        if let Some(generations) = &self.generations {
            let before = &claimed.before;
            generations.add_all(before.span, |i| count(GranuleState::of_byte(before.byte(i))));
        }
    }

    /// Bytes of the target for each byte of the map.
    #[must_use]
    pub fn granule(&self) -> Bytes {
        Bytes(self.granule)
    }

    /// Size of the target in bytes.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    /// Claims all granules that a range of bytes touches.
    ///
    /// # Errors
    ///
    /// One of them is claimed already, or the range is not within the target.
    #[inline]
    pub fn claim(&self, offset: u64, len: u64) -> Result<Claimed, ClaimRefused> {
        let span = self.span(offset, len).ok_or(ClaimRefused::Outside)?;
        let mut before = Cells::all(span, NEVER_WRITTEN);
        for part in span.parts() {
            match self.take(&part) {
                Ok(word) => before.set(&part, word),
                Err(index) => {
                    let taken = span.before(part.index());
                    self.settle(taken, |part| before.word(part));
                    let busy = span.granule(index) * self.granule;
                    return Err(ClaimRefused::Busy(Bytes(busy)));
                }
            }
        }
        Ok(Claimed { before })
    }

    /// Marks the granules of a part as in flight, and returns the word before. Otherwise returns the position in the
    /// range of a granule that is claimed.
    #[inline]
    fn take(&self, part: &WordPart) -> Result<u64, usize> {
        let word = self.word(part);
        let mut before = word.load(Ordering::Acquire);
        loop {
            if let Some(index) = part.find(before, IN_FLIGHT) {
                return Err(index);
            }
            let after = before & !part.mask() | splat(IN_FLIGHT) & part.mask();
            match word.compare_exchange_weak(before, after, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok(before),
                Err(now) => before = now,
            }
        }
    }

    /// The write succeeded: all granules contain it.
    #[inline]
    pub fn complete(&self, claimed: Claimed, value: WriteValue) {
        self.settle(claimed.before.span, |_| splat(value.byte()));
    }

    /// The write succeeded. `value` returns the value of each granule from its state before the claim.
    pub fn complete_each(
        &self,
        claimed: Claimed,
        mut value: impl FnMut(GranuleState) -> WriteValue,
    ) {
        let before = &claimed.before;
        self.settle(before.span, |part| {
            let mut bytes = before.word(part).to_le_bytes();
            for (index, byte) in (part.index()..).zip(&mut bytes[part.bytes()]) {
                if let (WriteValue::COUNT, Some(generations)) = (*byte, &self.generations) {
                    let granule = before.span.granule(index);
                    generations.add_to_existing(granule, u16::from(WriteValue::COUNT));
                }
                *byte = value(GranuleState::of_byte(*byte)).byte();
            }
            u64::from_le_bytes(bytes)
        });
    }

    /// The trim succeeded, or a zone with the granules was reset.
    pub fn trim(&self, claimed: Claimed) {
        self.count_generations(&claimed, generations_written);
        self.settle(claimed.before.span, |_| splat(TRIMMED));
    }

    /// The write or trim failed, or it did not complete: what the granules contain is unknown.
    pub fn abandon(&self, claimed: Claimed) {
        // The generation of the write itself may be on the target, too.
        self.count_generations(&claimed, |before| match before {
            GranuleState::Unknown | GranuleState::Trimmed => u16::from(WriteValue::COUNT),
            state => generations_written(state) + 1,
        });
        self.settle(claimed.before.span, |_| splat(UNKNOWN));
    }

    /// A job that does not use this map has written the granules: what they contain is unknown.
    pub fn overwrite(&self, claimed: Claimed) {
        self.count_generations(&claimed, generations_written);
        self.settle(claimed.before.span, |_| splat(UNKNOWN));
    }

    /// The claim was for a read, or the write was never issued: the granules contain what they contained before.
    pub fn release(&self, claimed: Claimed) {
        self.settle(claimed.before.span, |part| claimed.before.word(part));
    }

    /// Replaces the bytes of claimed granules. `after` returns them at their places in the word.
    #[inline]
    fn settle(&self, span: GranuleSpan, mut after: impl FnMut(&WordPart) -> u64) {
        for part in span.parts() {
            // Only the owner of a claim changes the bytes of its granules, and these are known, so this sets them
            // without a loop.
            let change = (splat(IN_FLIGHT) ^ after(&part)) & part.mask();
            self.word(&part).fetch_xor(change, Ordering::AcqRel);
        }
    }

    /// The states of the granules that a range of bytes touches. Leaves out what is not within the target.
    ///
    /// The states of up to 8 granules are of one moment. For a longer range this holds if the snapshot is
    /// [settled](MapSnapshot::is_settled) and later found [unchanged](Self::is_unchanged).
    #[must_use]
    pub fn snapshot(&self, offset: u64, len: u64) -> MapSnapshot {
        let len = len.min(self.bytes.saturating_sub(offset));
        let span = self.span(offset, len).unwrap_or(GranuleSpan::new(0, 0));
        let mut cells = Cells::all(span, NEVER_WRITTEN);
        for part in span.parts() {
            cells.set(&part, self.word(&part).load(Ordering::Acquire));
        }
        MapSnapshot { cells }
    }

    /// Whether all granules have the state that they had in the snapshot.
    #[must_use]
    pub fn is_unchanged(&self, before: &MapSnapshot) -> bool {
        let same = |part: WordPart| {
            let now = self.word(&part).load(Ordering::Acquire);
            (now ^ before.cells.word(&part)) & part.mask() == 0
        };
        before.cells.span.parts().all(same)
    }

    /// The state of the granule that contains this byte; never written if it is not within the target.
    #[must_use]
    pub fn state(&self, offset: u64) -> GranuleState {
        let state = self.snapshot(offset, 1).states().next();
        state.unwrap_or(GranuleState::NeverWritten)
    }

    /// The first run of granules that `wanted` selects, from the granule of `offset` on, in the order of addresses.
    /// It has at most `most` bytes, but at least one granule. Call it again with the end of the run for the next one.
    ///
    /// Other jobs may change the granules at any time, so take a [snapshot](Self::snapshot) before you read them.
    pub fn next_run(
        &self,
        offset: u64,
        most: Bytes,
        wanted: impl Fn(GranuleState) -> bool,
    ) -> Option<MapRun> {
        let end = self.bytes.div_ceil(self.granule);
        let mut first = offset / self.granule;
        let skips_unwritten = !wanted(GranuleState::NeverWritten);
        while first < end && !wanted(self.state_of(first)) {
            let word = &self.words[(first / 8) as usize];
            let empty = skips_unwritten && word.load(Ordering::Relaxed) == 0;
            first = if empty { (first / 8 + 1) * 8 } else { first + 1 };
        }
        if first >= end || offset >= self.bytes {
            return None;
        }
        let most = (most.0 / self.granule).max(1).min(end - first);
        let more = (first + 1..first + most).take_while(|at| wanted(self.state_of(*at)));
        let last = more.last().unwrap_or(first);
        let offset = first * self.granule;
        let stop = (last + 1).saturating_mul(self.granule).min(self.bytes);
        Some(MapRun { offset: Bytes(offset), len: Bytes(stop - offset) })
    }

    /// Like [`next_run`](Self::next_run), for all granules that contain a write.
    #[must_use]
    pub fn next_written(&self, offset: u64, most: Bytes) -> Option<MapRun> {
        self.next_run(offset, most, |state| matches!(state, GranuleState::Written(_)))
    }

    /// Counts the bytes in each state. Looks at each granule of the target.
    #[must_use]
    pub fn counts(&self) -> MapCounts {
        let mut bytes = [0u64; 256];
        for word in self.words.iter() {
            match word.load(Ordering::Acquire) {
                0 => bytes[0] += 8,
                word => word.to_le_bytes().into_iter().for_each(|byte| bytes[byte as usize] += 1),
            }
        }
        // The last word has bytes for granules beyond the target, which are 0. The last granule may be short.
        let count = self.bytes.div_ceil(self.granule);
        bytes[0] -= self.words.len() as u64 * 8 - count;
        let mut counts = MapCounts::default();
        for (byte, n) in (0..=255u8).zip(bytes) {
            *counts.of(GranuleState::of_byte(byte)) += Bytes(n.saturating_mul(self.granule));
        }
        if count > 0 {
            let last = counts.of(self.state_of(count - 1));
            *last = last.saturating_sub(Bytes(count.saturating_mul(self.granule) - self.bytes));
        }
        counts
    }

    /// State of the granule with this index, which must be within the target.
    #[inline]
    fn state_of(&self, index: u64) -> GranuleState {
        let word = self.words[(index / 8) as usize].load(Ordering::Acquire);
        GranuleState::of_byte((word >> (index % 8 * 8)) as u8)
    }

    /// The granules that a range of bytes touches.
    #[inline]
    fn span(&self, offset: u64, len: u64) -> Option<GranuleSpan> {
        let end = offset.checked_add(len).filter(|end| *end <= self.bytes)?;
        let first = offset / self.granule;
        let count = if len == 0 { 0 } else { end.div_ceil(self.granule) - first };
        Some(GranuleSpan::new(first as usize, count as usize))
    }

    #[inline]
    fn word(&self, part: &WordPart) -> &AtomicU64 {
        &self.words[part.word()]
    }
}

/// How many generations the value of a granule counts.
fn generations_written(state: GranuleState) -> u16 {
    match state {
        GranuleState::Written(value) => u16::from(value.byte()),
        _ => 0,
    }
}

impl MapCounts {
    fn of(&mut self, state: GranuleState) -> &mut Bytes {
        match state {
            GranuleState::NeverWritten => &mut self.never_written,
            GranuleState::InFlight => &mut self.in_flight,
            GranuleState::Unknown => &mut self.unknown,
            GranuleState::Trimmed => &mut self.trimmed,
            GranuleState::Written(_) => &mut self.written,
        }
    }
}

#[cfg(test)]
mod tests;
