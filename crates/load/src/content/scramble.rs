//! Random bytes that are different in every write: the default.
//!
//! New bytes for each write would take longer than everything else that a generator does. But a buffer
//! that is written again as it is could be found again by storage that looks for duplicates, and
//! storage that compresses looks for repetitions in records: 128 KiB is the default of ZFS and the most
//! of btrfs, 1 MiB the usual choice for large files.
//!
//! Writes below 128 KiB, of which several can share a record, are made in groups of 4 KiB. Each 512 byte
//! sector gets a mark that no other sector of the job has ever had, so no two blocks are equal, whatever
//! block size storage looks for duplicates with; one cache line in eight is touched. The other bytes are
//! new where the last ones have been written before
//!
//! - to the same MiB of the file: nothing in a record of that size or less is alike;
//! - to a MiB that cannot be told from it: so blocks that are alike but for their marks are ten where
//!   writes are random, and never more than 64.
//!
//! A group says itself where it was written, in 16 bytes of its first sector, see `Trail`. In jobs that
//! also read, or write blocks of several sizes, that also tells whether something else has been put
//! there since.
//!
//! Where all writes have one size of 128 KiB or more, each fills a record alone, and only gets marks.

use super::random::Lanes;
use crate::{Content, Io};

/// Bytes between two marks.
const SECTOR: usize = 512;

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Lines of a sector.
const LINES: usize = SECTOR / LINE;

/// Bytes whose contents are kept or renewed together.
const GROUP: usize = LINES * SECTOR;

/// A write of this size or more fills a record of compressing storage alone.
const RECORD: usize = 128 << 10;

/// Two writes to the same stretch of this size, a power of two, are alike nowhere: 1 MiB.
const STRETCH: u32 = 20;

/// Added for each mark: odd, so all 2^64 marks are different; no mark looks like its neighbours.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// `STRIDE` times this is 1 modulo 2^64: it turns the difference of two marks into sectors.
const UNSTRIDE: u64 = inverse(STRIDE);

/// What was marked longer ago than this, in groups, is renewed where signatures are looked at closely:
/// 2 MiB of writes.
const RECENT: u64 = 512;

/// The inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the bits that
/// are right, of which the number itself has three.
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut right = 3;
    while right < 64 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        right *= 2;
    }
    inverse
}

/// Where the bytes of a group have been written: one of 64 bits for each stretch, chosen by its number.
#[derive(Debug, Clone, Copy)]
struct Trail(u64);

impl Trail {
    /// With another write. `None` where the bytes are to be renewed.
    #[inline]
    fn go_on(self, place: u64) -> Option<Trail> {
        (self.0 & place == 0).then_some(Trail(self.0 | place))
    }

    /// The bits of the stretches that a group at this offset of a file lies in: two at most.
    #[inline]
    fn place(file: u32, offset: u64) -> u64 {
        let [first, last] = [offset, offset.wrapping_add(GROUP as u64 - 1)].map(|at| at >> STRETCH);
        // Multiples of the golden ratio: neighbours are far apart.
        let bit =
            |stretch: u64| 1 << ((stretch ^ u64::from(file) << 40).wrapping_mul(STRIDE) >> 58);
        if first == last { bit(first) } else { bit(first) | bit(last) }
    }

    /// As it stands behind a mark: no two blocks have the same bits there.
    #[inline]
    fn hidden(self, mark: u64) -> u64 {
        self.0 ^ mark.rotate_left(29)
    }

    /// What stands behind this mark.
    #[inline]
    fn shown(word: u64, mark: u64) -> Trail {
        Trail(word ^ mark.rotate_left(29))
    }
}

/// Which of the last groups have been written on from: one bit each. A job that reads finds groups in
/// its buffers that it wrote before; their trails are those of then, and must not be gone on with twice.
#[derive(Debug, Clone, Default)]
struct Continued([u64; RECENT as usize / 64]);

impl Continued {
    /// Whether the group with this number has not been gone on with before. From now on it has.
    #[inline]
    fn first_time(&mut self, number: u64) -> bool {
        let (word, bit) = self.bit(number);
        let first = *word & bit == 0;
        *word |= bit;
        first
    }

    /// A new group has this number.
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
    /// Groups made, where signatures are looked at.
    groups: u64,
    /// What is in a buffer may be other than what was last put there: something that was read, or part
    /// of a block of another size.
    doubtful: bool,
    /// All writes have one size.
    one_size: bool,
    continued: Continued,
}

impl Scramble {
    /// Random bytes and the first mark from `lanes`. `read_into`: whether buffers are also read into;
    /// `one_size`: whether all blocks that are written have one size.
    pub fn new(mut lanes: Lanes, read_into: bool, one_size: bool) -> Self {
        let mark = lanes.word();
        let doubtful = read_into || !one_size;
        Scramble { lanes, mark, groups: 0, doubtful, one_size, continued: Continued::default() }
    }

    /// Makes a group of a write that may share a record with others, to be written at this place.
    #[inline]
    fn group(&mut self, group: &mut [u8; GROUP], place: u64) {
        let line = line_of(group);
        let (mark, word) = signature(group, line);
        // Without doubt the signature is that of the last write; or the bytes are the first, and any
        // trail will do.
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

    /// Sectors marked since this mark was made; any number where it is none.
    #[inline]
    fn since(&self, mark: u64) -> u64 {
        self.mark.wrapping_sub(mark).wrapping_mul(UNSTRIDE)
    }

    /// Whether the group with this mark is recent, and nothing has been written on from it.
    #[inline]
    fn latest(&mut self, mark: u64) -> bool {
        // A signature holds the first mark of its group.
        let ago = self.since(mark) / LINES as u64;
        ago < RECENT - 1 && self.continued.first_time(self.groups.wrapping_sub(ago))
    }

    /// Marks the sectors of a group. Where in the sectors, its bytes say: at the same place in all, marks
    /// would fall into a few sets of the cache and push each other out.
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

    /// New bytes for a group, with its signature.
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

    /// A write of any length.
    #[inline(never)]
    fn fill_groups(&mut self, buffer: &mut [u8], io: &Io) {
        let alone = self.one_size && buffer.len() >= RECORD;
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

/// Which line of a sector holds its mark: any, but always the same until the bytes are renewed.
#[inline]
fn line_of(group: &[u8; GROUP]) -> usize {
    // A byte behind the signature.
    usize::from(group[16]) % LINES
}

/// The mark in the first sector of a group, and the word behind it.
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
        // Most writes are of one group.
        if buffer.len() == GROUP
            && let Some(group) = buffer.first_chunk_mut()
        {
            return self.group(group, Trail::place(io.file, io.offset));
        }
        self.fill_groups(buffer, io);
    }
}
