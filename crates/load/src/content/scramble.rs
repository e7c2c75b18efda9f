//! Random bytes that are different in every write: the default content.
//!
//! Generating new bytes for each write would take longer than everything else that a load generator
//! does. But storage with deduplication would find a buffer again that is written unchanged, and storage
//! with compression looks for repetitions in records: 128 KiB is the default of ZFS and the maximum of
//! btrfs, 1 MiB the usual choice for large files.
//!
//! Writes below 128 KiB, of which several can share a record, are made in groups of 4 KiB. Each sector
//! of 512 bytes gets a mark that no other sector of the job has ever had. So no two blocks are equal,
//! whatever block size the storage compares, and a group touches one cache line in eight. The other
//! bytes are renewed if they have been written before
//!
//! - to the same MiB of the file, so that nothing within a record of that size or less repeats;
//! - to a MiB that has the same bit in the trail (see below). So about ten blocks are alike except for
//!   their marks if writes are random, and never more than 64.
//!
//! A group itself records where it was written, in 16 bytes of its first sector: see `Trail`. In jobs
//! that also read, or write blocks of several sizes, this record also shows whether something else has
//! been put into the buffer since.
//!
//! If all writes have one size of 128 KiB or more, each write fills a record alone and only gets marks. Blocks that go
//! to a peer over a network form no records, and only get marks, too.

use fiord_types::FileIndex;

use super::random::Lanes;
use crate::{Content, Io};

/// Distance between two marks in bytes.
const SECTOR: usize = 512;

/// Length of a cache line in bytes.
const LINE: usize = 64;

/// Cache lines per sector.
const LINES: usize = SECTOR / LINE;

/// Number of bytes that are kept or renewed together.
const GROUP: usize = LINES * SECTOR;

/// A write of this many bytes or more fills a record of compressing storage alone.
const RECORD: usize = 128 << 10;

/// Binary logarithm of the size of a stretch of the file, 1 MiB. Two writes to the same stretch
/// have no bytes in common.
const STRETCH: u32 = 20;

/// Step from one mark to the next: odd, so that all 2^64 marks are different, and large, so that a
/// mark does not resemble its neighbours.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Inverse of `STRIDE` modulo 2^64, which converts the difference of two marks to a number of
/// sectors.
const UNSTRIDE: u64 = inverse(STRIDE);

/// Number of recent groups, 2 MiB of writes. If the signatures have to be checked, a group that was
/// marked longer ago is renewed.
const RECENT: u64 = 512;

/// Inverse of an odd number modulo 2^64 by Newton's iteration. Each step doubles the number of
/// correct bits; the number itself has three.
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut right = 3;
    while right < 64 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        right *= 2;
    }
    inverse
}

/// Where the bytes of a group have been written: a set of 64 bits, of which each stretch has one.
#[derive(Debug, Clone, Copy)]
struct Trail(u64);

impl Trail {
    /// Adds another write. `None` if the bytes must be renewed.
    #[inline]
    fn go_on(self, place: u64) -> Option<Trail> {
        (self.0 & place == 0).then_some(Trail(self.0 | place))
    }

    /// The bits of the stretches that a group at this offset of a file lies in, at most two.
    #[inline]
    fn place(file: FileIndex, offset: u64) -> u64 {
        let [first, last] = [offset, offset.wrapping_add(GROUP as u64 - 1)].map(|at| at >> STRETCH);
        // Multiples of the golden ratio, so that neighbouring stretches have distant bits.
        let bit =
            |stretch: u64| 1 << ((stretch ^ u64::from(file.0) << 40).wrapping_mul(STRIDE) >> 58);
        if first == last { bit(first) } else { bit(first) | bit(last) }
    }

    /// The trail as it is stored after a mark, so that no two blocks have the same bits there.
    #[inline]
    fn hidden(self, mark: u64) -> u64 {
        self.0 ^ mark.rotate_left(29)
    }

    /// Decodes the trail that is stored after this mark.
    #[inline]
    fn shown(word: u64, mark: u64) -> Trail {
        Trail(word ^ mark.rotate_left(29))
    }
}

/// Which of the recent groups have been continued, one bit each. A job that reads finds groups in
/// its buffers that it wrote earlier, with their trails of that time. It must not continue such a
/// trail twice.
#[derive(Debug, Clone, Default)]
struct Continued([u64; RECENT as usize / 64]);

impl Continued {
    /// Whether the group with this number has not been continued before. Marks it as continued.
    #[inline]
    fn first_time(&mut self, number: u64) -> bool {
        let (word, bit) = self.bit(number);
        let first = *word & bit == 0;
        *word |= bit;
        first
    }

    /// Assigns the number to a new group.
    #[inline]
    fn forget(&mut self, number: u64) {
        let (word, bit) = self.bit(number);
        *word &= !bit;
    }

    #[inline]
    fn bit(&mut self, number: u64) -> (&mut u64, u64) {
        let place = (number % RECENT) as usize;
        (&mut self.0[place / 64], 1 << (place % 64))
    }
}

/// Random bytes that differ in every write (`scramble_buffers`).
#[derive(Debug, Clone)]
pub struct Scramble {
    lanes: Lanes,
    /// The last mark.
    mark: u64,
    /// Number of groups made, counted if signatures have to be checked.
    groups: u64,
    /// A buffer may hold something other than the last write put there: data that was read, or part
    /// of a block of another size.
    doubtful: bool,
    /// All writes have one size.
    one_size: bool,
    /// No write shares a record with another one.
    marks_only: bool,
    continued: Continued,
}

impl Scramble {
    /// Draws random bytes and the first mark from `lanes`. `read_into`: the job also reads into the
    /// buffers. `one_size`: all writes have one size.
    #[must_use]
    pub fn new(mut lanes: Lanes, read_into: bool, one_size: bool) -> Self {
        let mark = lanes.word();
        let doubtful = read_into || !one_size;
        let continued = Continued::default();
        Scramble { lanes, mark, groups: 0, doubtful, one_size, marks_only: false, continued }
    }

    /// For blocks that go to a peer: each sector gets a mark, and the other bytes stay.
    #[must_use]
    pub fn of_stream(lanes: Lanes) -> Self {
        Scramble { marks_only: true, ..Scramble::new(lanes, false, true) }
    }

    /// Whether changing a buffer of this length takes less time than reading a clock.
    #[inline]
    #[must_use]
    pub fn is_quick(&self, len: usize) -> bool {
        self.marks_only && len == GROUP
    }

    /// Makes a group of a write that may share a record with other writes. `place`: the bits of its
    /// stretches.
    #[inline]
    fn group(&mut self, group: &mut [u8; GROUP], place: u64) {
        let line = line_of(group);
        let (mark, word) = signature(group, line);
        // If `doubtful` is false, the signature is that of the last write, or the bytes are those
        // of `prepare`, and any trail is right.
        let known = !self.doubtful || self.latest(mark);
        match known.then(|| Trail::shown(word, mark).go_on(place)).flatten() {
            Some(trail) => self.mark_and_sign(group, line, trail),
            None => self.renew(group, place),
        }
    }

    /// Makes a group of a write that fills records alone.
    #[inline]
    fn group_alone(&mut self, group: &mut [u8; GROUP], place: u64) {
        let line = line_of(group);
        if !self.doubtful {
            return self.mark(group, line);
        }
        if self.latest(signature(group, line).0) {
            self.mark_and_sign(group, line, Trail(place));
        } else {
            self.renew(group, place);
        }
    }

    /// Number of sectors marked since this mark was made; an arbitrary number if it is not a mark.
    #[inline]
    fn since(&self, mark: u64) -> u64 {
        self.mark.wrapping_sub(mark).wrapping_mul(UNSTRIDE)
    }

    /// Whether the group with this mark is recent and has not been continued.
    #[inline]
    fn latest(&mut self, mark: u64) -> bool {
        // A signature holds the first mark of its group.
        let ago = self.since(mark) / LINES as u64;
        ago < RECENT - 1 && self.continued.first_time(self.groups.wrapping_sub(ago))
    }

    /// Marks the sectors of a group. The bytes of the group determine the cache line in each
    /// sector: with the same line in all groups, the marks would use only a few sets of the cache
    /// and evict each other.
    #[inline]
    fn mark(&mut self, group: &mut [u8; GROUP], line: usize) {
        let mut mark = self.mark;
        for sector in group.as_chunks_mut::<SECTOR>().0 {
            mark = mark.wrapping_add(STRIDE);
            sector.as_chunks_mut::<LINE>().0[line % LINES][..8]
                .copy_from_slice(&mark.to_le_bytes());
        }
        self.mark = mark;
    }

    #[inline]
    fn mark_and_sign(&mut self, group: &mut [u8; GROUP], line: usize, trail: Trail) {
        let first = self.mark.wrapping_add(STRIDE);
        self.mark(group, line);
        group.as_chunks_mut::<LINE>().0[line % LINES][8..16]
            .copy_from_slice(&trail.hidden(first).to_le_bytes());
        self.count();
    }

    /// Fills a group with new bytes and a signature.
    #[inline(never)]
    fn renew(&mut self, group: &mut [u8; GROUP], place: u64) {
        self.lanes.fill(group);
        self.mark_and_sign(group, line_of(group), Trail(place));
    }

    /// Counts a group.
    #[inline]
    fn count(&mut self) {
        if self.doubtful {
            self.groups += 1;
            self.continued.forget(self.groups);
        }
    }

    /// Makes a write of any length.
    #[inline(never)]
    fn fill_groups(&mut self, buffer: &mut [u8], io: &Io) {
        let alone = self.marks_only || self.one_size && buffer.len() >= RECORD;
        let mut offset = io.offset;
        let (groups, rest) = buffer.as_chunks_mut::<GROUP>();
        for group in groups {
            let place = Trail::place(io.file, offset);
            if alone {
                self.group_alone(group, place)
            } else {
                self.group(group, place)
            }
            offset += GROUP as u64;
        }
        if !rest.is_empty() {
            self.lanes.fill(rest);
        }
    }
}

/// The cache line of a sector that holds its mark: any line, but always the same until the bytes
/// are renewed.
#[inline]
fn line_of(group: &[u8; GROUP]) -> usize {
    // A byte after the signature.
    usize::from(group[16]) % LINES
}

/// The mark in the first sector of a group, and the word after it.
#[inline]
fn signature(group: &[u8; GROUP], line: usize) -> (u64, u64) {
    let words = group.as_chunks::<LINE>().0[line % LINES].as_chunks::<8>().0;
    (u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1]))
}

impl Content for Scramble {
    fn prepare(&mut self, buffer: &mut [u8]) {
        self.lanes.fill(buffer);
    }

    #[inline(always)]
    fn fill(&mut self, buffer: &mut [u8], io: &Io) {
        // Most writes consist of one group.
        if buffer.len() == GROUP
            && let Some(group) = buffer.first_chunk_mut()
        {
            if self.marks_only {
                let line = line_of(group);
                return self.mark(group, line);
            }
            return self.group(group, Trail::place(io.file, io.offset));
        }
        self.fill_groups(buffer, io);
    }
}
