//! What is wrong with a write in fio's formats: as much as header, body and pattern allow.
//!
//! The body can be computed from the seed in the header, so flipped bits are known to the bit. A part of an older
//! body tells its seed, so a torn write is recognized within an interval, too. A pattern without a header says
//! little: which bits differ, and where the data belongs if the pattern contains the offset.

use fiord_types::Bytes;

use super::{
    BadExtent, BitFlips, Diagnosis, Misdirection, Promise, Staleness, Tear, TearOrder, TearUnit,
};
use crate::integrity::sector::SectorWriter;
use crate::verify::body::Body;
use crate::verify::header::{Expected, HeaderLayout, MAGIC, VerifyHeader};
use crate::verify::interval::{self, exchange, header_and_digest};
use crate::verify::method::{Method, crc32c};
use crate::verify::write::{ExpectedWrite, WriteFormat};

/// Whether a write, which an intact header names, is the newest one of its blocks.
pub type IsNewest<'a> = &'a dyn Fn(SectorWriter) -> bool;

/// What a reader knows about the writes of a job in one of fio's formats.
#[derive(Clone, Copy)]
pub struct ExpectedIntervals<'a> {
    /// What writes contain.
    pub format: &'a WriteFormat,
    /// What the target had promised about the write.
    pub promise: Promise,
    /// When the run began, in seconds of the clock in the headers: older data is of an earlier run. `None`: unknown.
    pub began: Option<u32>,
    /// What the reader knows about the newest write apart from its seed and number. `None`: nothing.
    pub newest: Option<IsNewest<'a>>,
}

/// What one interval contains.
#[derive(Debug, Clone)]
enum IntervalVerdict {
    Good,
    /// Older data: part of a torn write if other intervals are new.
    Old(Diagnosis),
    /// New data up to this byte of the interval and older data after it, or the reverse.
    Parts(usize, TearOrder),
    Bad(Diagnosis),
    /// No header, and a body that says nothing.
    Unknown,
}

impl ExpectedIntervals<'_> {
    /// Says what is wrong with `found`, the whole contents of a write. Returns extents in ascending order; none if
    /// everything is right.
    #[must_use]
    pub fn diagnose(&self, expected: &ExpectedWrite, found: &[u8]) -> Vec<BadExtent> {
        let step = match self.format.method() {
            Method::Null => return Vec::new(),
            Method::Pattern => PIECE,
            _ => self.format.step(found.len()),
        };
        let pieces = found.chunks(step).enumerate();
        let mut verdicts: Vec<IntervalVerdict> = match self.format.method() {
            Method::Pattern => self.judge_pattern(expected, found),
            _ => pieces
                .map(|(i, piece)| self.judge(expected, found.len(), i * step, piece))
                .collect(),
        };
        if verdicts.iter().any(|verdict| matches!(verdict, IntervalVerdict::Unknown)) {
            self.find_displaced(expected, found, step, &mut verdicts);
        }
        let mut extents: Vec<BadExtent> = Vec::new();
        for (i, piece) in found.chunks(step).enumerate() {
            let (mut from, mut to) = (i * step, i * step + piece.len());
            match verdicts[i] {
                IntervalVerdict::Parts(at, TearOrder::HeadNew) => from += at,
                IntervalVerdict::Parts(at, TearOrder::TailNew) => to = from + at,
                _ => {}
            }
            let knows = expected.seed.is_some() || expected.number.is_some();
            let knows = knows || self.newest.is_some();
            let tear = tear((expected, knows), step, &verdicts, i);
            let diagnosis = match (tear, verdicts[i].clone()) {
                (_, IntervalVerdict::Good) => continue,
                (Some(tear), _) => Diagnosis::Torn(tear),
                (None, IntervalVerdict::Old(diagnosis) | IntervalVerdict::Bad(diagnosis)) => {
                    diagnosis
                }
                (None, _) => Diagnosis::unrecognized(piece, None),
            };
            let start = Bytes(expected.offset).saturating_add(Bytes(from as u64));
            let extent = BadExtent { start, length: Bytes((to - from) as u64), diagnosis };
            if !extents.last_mut().is_some_and(|last| last.merge(&extent)) {
                extents.push(extent);
            }
        }
        extents
    }

    /// Judges the interval at `position` of a write of `length` bytes.
    fn judge(
        &self,
        expected: &ExpectedWrite,
        length: usize,
        position: usize,
        found: &[u8],
    ) -> IntervalVerdict {
        let mut interval = found.to_vec();
        let right = self.format.check_interval(expected, position, &mut interval).is_ok();
        if right && self.newest.is_none() {
            return IntervalVerdict::Good;
        }
        if let Some(ones) = blank(found) {
            return IntervalVerdict::Old(Diagnosis::Blank { ones });
        }
        // An interval that is too short was not exchanged when it was written.
        let _ = exchange(&mut interval, self.taken(), self.format.header_offset());
        match VerifyHeader::read(&interval) {
            Ok(header) if right && self.is_newest(&header) => IntervalVerdict::Good,
            Ok(header) if self.has_other_method(expected, position, &interval, &header) => {
                let (written, job) = (header.method.word(), self.format.method().word());
                let (written, job) = (written.to_owned(), job.to_owned());
                IntervalVerdict::Bad(Diagnosis::OtherMethod { written, job })
            }
            Ok(header) => self.judge_by_header(expected, length, position, &interval, &header),
            Err(_) => self.judge_by_body(expected, length, position, &interval),
        }
    }

    /// Whether the interval is intact and in its place, but was written with another method. If the job has written,
    /// such data is older than its writes, which are missing.
    fn has_other_method(
        &self,
        expected: &ExpectedWrite,
        position: usize,
        interval: &[u8],
        header: &VerifyHeader,
    ) -> bool {
        let offset = expected.offset.wrapping_add(position as u64);
        let length = interval.len() as u32;
        let alone = Expected { length, offset, seed: None, number: None };
        self.began.is_none()
            && header.method != self.format.method()
            && header.method.has_header()
            && interval::check(interval, header.method, &alone).is_ok()
    }

    /// Judges an interval whose header is intact.
    fn judge_by_header(
        &self,
        expected: &ExpectedWrite,
        length: usize,
        position: usize,
        interval: &[u8],
        header: &VerifyHeader,
    ) -> IntervalVerdict {
        let here = expected.offset.wrapping_add(position as u64);
        let written = self.rebuild(header, length, position, interval);
        let alone =
            Expected { length: header.length, offset: header.offset, seed: None, number: None };
        let intact = written.as_deref() == Some(interval)
            || !self.compares_pattern()
                && interval::check(interval, self.format.method(), &alone).is_ok();
        let flips = written.as_deref().and_then(|written| BitFlips::between(written, interval));
        if header.offset != here {
            return IntervalVerdict::Bad(match intact || flips.is_some() {
                true => self.elsewhere(expected, length, here, header),
                false => Diagnosis::unrecognized(interval, None),
            });
        }
        let newest = header.length as usize == interval.len()
            && expected.seed.is_none_or(|seed| seed == header.seed)
            && expected.number.is_none_or(|number| number == header.number)
            && self.is_newest(header);
        match (newest, intact, flips) {
            (true, true, _) => IntervalVerdict::Bad(Diagnosis::unrecognized(interval, None)),
            (true, false, Some(flips)) => IntervalVerdict::Bad(Diagnosis::BitFlips(flips)),
            (false, true, _) | (false, false, Some(_)) => {
                IntervalVerdict::Old(self.older(expected, header))
            }
            (_, false, None) => {
                let written = written.unwrap_or_default();
                let differs = |(a, b): (&u8, &u8)| a != b;
                let at = written.iter().zip(interval).position(differs).unwrap_or(0);
                let at = aligned(here, at);
                let tail = &interval[at..];
                let seed = Body::seed_of(length as u64, (position + at) as u64, tail);
                let other = seed.is_some_and(|seed| seed != header.seed);
                match newest {
                    true if other || blank(tail).is_some() => {
                        IntervalVerdict::Parts(at, TearOrder::HeadNew)
                    }
                    // A tail that begins at the start of the interval leaves nothing that is old.
                    false
                        if at > 0
                            && other
                            && expected.seed.is_none_or(|newest| seed == Some(newest)) =>
                    {
                        IntervalVerdict::Parts(at, TearOrder::TailNew)
                    }
                    _ => IntervalVerdict::Bad(Diagnosis::unrecognized(interval, Some(at))),
                }
            }
        }
    }

    /// Judges an interval whose header is damaged: the body may tell what the header was.
    fn judge_by_body(
        &self,
        expected: &ExpectedWrite,
        length: usize,
        position: usize,
        interval: &[u8],
    ) -> IntervalVerdict {
        let taken = self.taken();
        let Some(data) = interval.get(taken..) else { return IntervalVerdict::Unknown };
        let seed = match self.compares_pattern() {
            true => expected.seed.or(Some(word(interval, 8))),
            false => Body::seed_of(length as u64, (position + taken) as u64, data),
        };
        let Some(seed) = seed.filter(|seed| expected.seed.is_none_or(|newest| newest == *seed))
        else {
            return IntervalVerdict::Unknown;
        };
        let header = VerifyHeader {
            layout: HeaderLayout::Current,
            method: self.format.method(),
            length: interval.len() as u32,
            seed,
            offset: expected.offset.wrapping_add(position as u64),
            seconds: word(interval, 24) as u32,
            fraction: (word(interval, 24) >> 32) as u32,
            number: expected.number.unwrap_or(word(interval, 32)),
            thread: word(interval, 40) as u16,
        };
        let Some(plain) = self.rebuild(&header, length, position, interval) else {
            return IntervalVerdict::Unknown;
        };
        let header = repaired(&header, interval, &plain).unwrap_or(header);
        let Some(written) = self.rebuild(&header, length, position, interval) else {
            return IntervalVerdict::Unknown;
        };
        if let Some(flips) = BitFlips::between(&written, interval) {
            return IntervalVerdict::Bad(Diagnosis::BitFlips(flips));
        }
        let last = written.iter().zip(interval).rposition(|(a, b)| a != b).map_or(0, |at| at + 1);
        match blank(&interval[..last]) {
            Some(_) => IntervalVerdict::Parts(last, TearOrder::TailNew),
            None => IntervalVerdict::Unknown,
        }
    }

    /// Judges a write without headers, in pieces.
    fn judge_pattern(&self, expected: &ExpectedWrite, found: &[u8]) -> Vec<IntervalVerdict> {
        let Some(pattern) = self.format.pattern() else { return Vec::new() };
        let mut written = vec![0; found.len()];
        pattern.fill(expected.offset, &mut written);
        if written != found
            && let Some(other) = pattern.stated_offset(found).filter(|at| *at != expected.offset)
        {
            pattern.fill(other, &mut written);
            if written == found {
                let position = |i: usize| Bytes(other.wrapping_add((i * PIECE) as u64));
                let misdirected = |(i, _)| {
                    let other = position(i);
                    IntervalVerdict::Bad(Diagnosis::Misdirected(Misdirection {
                        other,
                        foreign: true,
                    }))
                };
                return found.chunks(PIECE).enumerate().map(misdirected).collect();
            }
            pattern.fill(expected.offset, &mut written);
        }
        let judge = |(written, found): (&[u8], &[u8])| match blank(found) {
            _ if written == found => IntervalVerdict::Good,
            Some(ones) => IntervalVerdict::Bad(Diagnosis::Blank { ones }),
            None => match BitFlips::between(written, found) {
                Some(flips) => IntervalVerdict::Bad(Diagnosis::BitFlips(flips)),
                None => IntervalVerdict::Unknown,
            },
        };
        written.chunks(PIECE).zip(found.chunks(PIECE)).map(judge).collect()
    }

    /// Finds data that is displaced by some bytes: by its headers, or by comparison with the body.
    fn find_displaced(
        &self,
        expected: &ExpectedWrite,
        found: &[u8],
        step: usize,
        verdicts: &mut [IntervalVerdict],
    ) {
        let length = found.len() as u64;
        let magic = MAGIC.to_le_bytes();
        let mut by = None;
        let mut seed = expected.seed;
        if self.format.method().has_header() {
            for at in (0..found.len()).filter(|at| found[*at..].starts_with(&magic)) {
                let Ok(header) = VerifyHeader::read(&found[at..]) else { continue };
                let in_write = header.offset.wrapping_sub(expected.offset);
                if in_write >= length || expected.seed.is_some_and(|seed| seed != header.seed) {
                    continue;
                }
                seed = Some(header.seed);
                let right = in_write.wrapping_add(self.format.header_offset() as u64);
                by = by.or(Some((at as u64).wrapping_sub(right) as i64).filter(|by| *by != 0));
            }
        }
        by = by.or_else(|| self.displacement(expected, found, seed?));
        let Some(by) = by else { return };
        for (verdict, _) in verdicts.iter_mut().zip(found.chunks(step)) {
            if matches!(verdict, IntervalVerdict::Unknown) {
                *verdict = IntervalVerdict::Bad(Diagnosis::Shifted { by });
            }
        }
    }

    /// Compares the middle of `found` with all positions of the write.
    fn displacement(&self, expected: &ExpectedWrite, found: &[u8], seed: u64) -> Option<i64> {
        let mut written = vec![0; found.len()];
        self.format.fill_body(seed, expected.offset, &mut written);
        let middle = found.len() / 2;
        let sample = found.get(middle..middle + SAMPLE)?;
        let mut places = written.windows(SAMPLE).enumerate().filter(|(_, bytes)| *bytes == sample);
        let (place, _) = places.next()?;
        // A pattern that repeats fits in many places.
        let unique = places.next().is_none() && place != middle;
        unique.then_some(middle as i64 - place as i64)
    }

    /// Data with an intact header that belongs at another offset.
    fn elsewhere(
        &self,
        expected: &ExpectedWrite,
        length: usize,
        here: u64,
        header: &VerifyHeader,
    ) -> Diagnosis {
        let belongs = Bytes(header.offset);
        if self.is_of_earlier_run(header) {
            return Diagnosis::EarlierRun { run: None, belongs: Some(belongs) };
        }
        let within = header.offset.wrapping_sub(expected.offset) < length as u64;
        match within && expected.seed.is_none_or(|seed| seed == header.seed) {
            true => Diagnosis::Shifted { by: here.wrapping_sub(header.offset) as i64 },
            false => Diagnosis::Misdirected(Misdirection { other: belongs, foreign: true }),
        }
    }

    /// Data of an earlier write at the right place.
    fn older(&self, expected: &ExpectedWrite, header: &VerifyHeader) -> Diagnosis {
        if self.is_of_earlier_run(header) {
            return Diagnosis::EarlierRun { run: None, belongs: None };
        }
        let writer = |number| SectorWriter { job: header.thread, number };
        Diagnosis::Stale(Staleness {
            generations: None,
            found: writer(header.number),
            missing: expected.number.map(writer),
            promise: self.promise,
        })
    }

    /// Whether the header can be that of the newest write.
    fn is_newest(&self, header: &VerifyHeader) -> bool {
        let writer = SectorWriter { job: header.thread, number: header.number };
        self.newest.is_none_or(|newest| newest(writer))
    }

    fn is_of_earlier_run(&self, header: &VerifyHeader) -> bool {
        self.began.is_some_and(|began| header.seconds < began)
    }

    /// Whether the bodies of intervals are a pattern that is compared.
    fn compares_pattern(&self) -> bool {
        self.format.pattern().is_some() && self.format.method().compares_pattern()
    }

    fn taken(&self) -> usize {
        header_and_digest(HeaderLayout::Current, self.format.method())
    }

    /// Computes an interval from its header; `None` if it is too short. Takes from `found` what nothing determines.
    fn rebuild(
        &self,
        header: &VerifyHeader,
        length: usize,
        position: usize,
        found: &[u8],
    ) -> Option<Vec<u8>> {
        let mut interval = vec![0; found.len()];
        match self.format.pattern() {
            Some(pattern) => {
                let write = header.offset.wrapping_sub(position as u64);
                pattern.fill_from(write, position as u64, &mut interval);
            }
            None if header.method == Method::Meta => interval.copy_from_slice(found),
            None => {
                let mut body = vec![0; length];
                let write = header.offset.wrapping_sub(position as u64);
                self.format.fill_body(header.seed, write, &mut body);
                interval.copy_from_slice(body.get(position..position + found.len())?);
            }
        }
        let header = VerifyHeader { method: self.format.method(), ..*header };
        interval::seal(&mut interval, &header).ok()?;
        Some(interval)
    }
}

/// Bytes of a piece of a write without headers.
const PIECE: usize = 512;
/// Bytes that find the place of displaced data.
const SAMPLE: usize = 32;

/// Finds the header that fits the checksum in `interval`: `plain`, or one with another bit in a field that nothing
/// but the damaged header states.
fn repaired(header: &VerifyHeader, interval: &[u8], plain: &[u8]) -> Option<VerifyHeader> {
    let stored = word(interval, 40) >> 32;
    let fits = |header: &VerifyHeader| {
        let mut bytes = [0; 48];
        bytes[42..44].copy_from_slice(&plain[42..44]);
        header.write(&mut bytes).is_ok() && u64::from(crc32c(&bytes[..44])) == stored
    };
    let flipped = (0..64).flat_map(|bit| {
        let bit = 1u64 << bit;
        [
            VerifyHeader { number: header.number ^ bit, ..*header },
            VerifyHeader { seconds: header.seconds ^ bit as u32, ..*header },
            VerifyHeader { fraction: header.fraction ^ bit as u32, ..*header },
            VerifyHeader { thread: header.thread ^ bit as u16, ..*header },
        ]
    });
    std::iter::once(*header).chain(flipped).find(fits)
}

/// The boundary of a sector shortly before position `at` of an interval at offset `here`, or `at` itself. The first
/// bytes of two bodies can be equal, so the first difference can come after the boundary.
fn aligned(here: u64, at: usize) -> usize {
    let behind = (here.wrapping_add(at as u64) % 512) as usize;
    if behind < 8 { at.saturating_sub(behind) } else { at }
}

/// The 8 bytes at `at` as an integer; 0 if there are fewer.
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes
        .get(at..)
        .and_then(|bytes| bytes.first_chunk())
        .map_or(0, |word| u64::from_le_bytes(*word))
}

/// Whether all bytes are 0x00 (`Some(false)`) or 0xff (`Some(true)`). No bytes are neither.
fn blank(bytes: &[u8]) -> Option<bool> {
    let all = |byte: u8| !bytes.is_empty() && bytes.iter().all(|found| *found == byte);
    if all(0) { Some(false) } else { all(0xff).then_some(true) }
}

/// The tear that interval `i` is part of: it is old, and others of the write are new. `knows`: the reader can tell new
/// intervals from old ones.
fn tear(
    (expected, knows): (&ExpectedWrite, bool),
    step: usize,
    verdicts: &[IntervalVerdict],
    i: usize,
) -> Option<Tear> {
    use IntervalVerdict::{Good, Old, Parts};
    let old = |verdict: &IntervalVerdict| match verdict {
        // A blank part is not older data: the job wrote this place before, or a torn write looks like that.
        Old(diagnosis) => !matches!(diagnosis, Diagnosis::Blank { .. }),
        Parts(..) => true,
        _ => false,
    };
    if !old(&verdicts[i]) {
        return None;
    }
    let first = (0..=i).rev().take_while(|k| old(&verdicts[*k])).last().unwrap_or(i);
    let end = (i..verdicts.len()).find(|k| !old(&verdicts[*k])).unwrap_or(verdicts.len());
    let is_new = |k: usize| matches!(verdicts.get(k), Some(Good));
    let head = knows && first > 0 && is_new(first - 1);
    let tail = knows && is_new(end);
    let part = (first..end).find_map(|k| match verdicts[k] {
        Parts(at, order) => Some((k * step + at, order)),
        _ => None,
    });
    let (at, order) = match part {
        Some(part) => part,
        None if head => (first * step, TearOrder::HeadNew),
        None if tail => (end * step, TearOrder::TailNew),
        None => return None,
    };
    let boundary = expected.offset.wrapping_add(at as u64);
    let unit = match boundary {
        b if b.is_multiple_of(4096) => TearUnit::Page,
        _ if part.is_none() => TearUnit::Interval,
        b if b.is_multiple_of(512) => TearUnit::Sector,
        _ => TearUnit::Byte,
    };
    let boundaries = u32::from(head) + u32::from(tail) + u32::from(part.is_some());
    Some(Tear { write: Bytes(expected.offset), at: Bytes(at as u64), order, unit, boundaries })
}

#[cfg(test)]
#[path = "fio_tests.rs"]
mod tests;
