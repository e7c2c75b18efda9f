//! What is wrong with sectors of `verify=fiord`.
//!
//! 1. Each sector is judged alone: its header and its body tell where, when and by whom it was written.
//! 2. Sectors without a header are compared with displaced sectors nearby: shifted data.
//! 3. Old sectors beside new ones of one write: the write is torn.
//! 4. Adjacent sectors of one class become one extent.

use fiord_types::Bytes;

use super::{
    BadExtent, BitFlips, Diagnosis, Misdirection, Promise, Staleness, Tear, TearOrder, TearUnit,
};
use crate::integrity::sector::{
    RunId, SECTOR_MAGIC, SectorExpected, SectorFlags, SectorHeader, SectorSize, SectorWrite,
    SectorWriter, TargetId, body_word, header_words,
};
use crate::verify::body::Majority;

/// What a reader expects in the sectors that it reads.
pub struct ExpectedSectors<'a> {
    pub size: SectorSize,
    /// The target that was read.
    pub target: TargetId,
    /// The run whose data is expected.
    pub run: RunId,
    /// Generations count from 1 to this number and then begin again at 1. `None`: they do not begin again.
    pub cycle: Option<u16>,
    /// What the sector at an address must contain.
    pub state: &'a dyn Fn(u64) -> SectorState,
}

/// What a sector must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectorState {
    /// Anything: the job does not know, or did not write it.
    Unchecked,
    /// Zeros, because it was trimmed.
    Trimmed,
    /// Data of this run.
    Written {
        expected: SectorExpected,
        /// What the target had promised about the write.
        promise: Promise,
    },
}

/// What one sector contains.
#[derive(Debug, Clone)]
enum Verdict {
    /// What it must contain, or it is not checked. The write that it shows, if it shows one.
    Good(Option<SectorWrite>),
    /// Older data: part of a torn write if the sectors beside it are new.
    Old(Diagnosis, Option<SectorWriter>),
    /// New data before this byte of the sector and other data after it, or the reverse.
    Parts { at: usize, write: SectorWrite, order: TearOrder },
    /// Anything else that is wrong.
    Bad(Diagnosis),
    /// No header, and a body that says nothing.
    Unknown,
}

impl ExpectedSectors<'_> {
    /// Says what is wrong with `found`, which was read at `start` of the target. Returns extents in ascending
    /// order; none if all sectors are right.
    #[must_use]
    pub fn diagnose(&self, start: Bytes, found: &[u8]) -> Vec<BadExtent> {
        let size = self.size.bytes();
        let address = |i: usize| start.0.wrapping_add((i * size) as u64);
        let mut verdicts: Vec<Verdict> = found
            .chunks(size)
            .enumerate()
            .map(|(i, sector)| self.judge(address(i), sector))
            .collect();
        let damaged = verdicts.iter().any(|verdict| matches!(verdict, Verdict::Unknown));
        if damaged {
            self.repair_headers(start, found, &mut verdicts);
            self.find_shifted(start, found, &mut verdicts);
        }
        let tears = self.tears(start, &verdicts);
        let mut extents: Vec<BadExtent> = Vec::new();
        for (i, ((verdict, tear), sector)) in
            verdicts.into_iter().zip(tears).zip(found.chunks(size)).enumerate()
        {
            let diagnosis = match (tear, verdict) {
                (Some(tear), _) => Diagnosis::Torn(tear),
                (None, Verdict::Good(_)) => continue,
                (None, Verdict::Old(diagnosis, _) | Verdict::Bad(diagnosis)) => diagnosis,
                (None, Verdict::Parts { at, .. }) => Diagnosis::unrecognized(sector, Some(at)),
                (None, Verdict::Unknown) => Diagnosis::unrecognized(sector, None),
            };
            let (start, length) = (Bytes(address(i)), Bytes(sector.len() as u64));
            let extent = BadExtent { start, length, diagnosis };
            if !extents.last_mut().is_some_and(|last| last.merge(&extent)) {
                extents.push(extent);
            }
        }
        extents
    }

    /// Judges the sector at `address` without looking at others.
    fn judge(&self, address: u64, sector: &[u8]) -> Verdict {
        let state = (self.state)(address);
        let zeros = sector.iter().all(|byte| *byte == 0);
        match state {
            SectorState::Unchecked => return Verdict::Good(None),
            SectorState::Trimmed if zeros => return Verdict::Good(None),
            _ => {}
        }
        // A rest that is shorter than a sector is written as zeros.
        if sector.len() < self.size.bytes() {
            return if zeros { Verdict::Good(None) } else { Verdict::Unknown };
        }
        if zeros || sector.iter().all(|byte| *byte == 0xff) {
            return Verdict::Old(Diagnosis::Blank { ones: !zeros }, None);
        }
        let Some(header) = SectorHeader::read(sector) else {
            return Verdict::Unknown;
        };
        let mut expected = vec![0; sector.len()];
        header.fill(&mut expected);
        let whole = self.judge_header(address, &header, state);
        if expected == sector {
            return whole;
        }
        match (BitFlips::between(&expected, sector), whole) {
            (Some(flips), Verdict::Good(_)) => Verdict::Bad(Diagnosis::BitFlips(flips)),
            (Some(_), whole) => whole,
            (None, whole) => parts(&header, &expected, sector, &whole),
        }
    }

    /// Judges a sector by its header, which is intact.
    fn judge_header(&self, address: u64, header: &SectorHeader, state: SectorState) -> Verdict {
        let write = &header.write;
        let found = SectorWriter { job: write.job, number: write.number };
        let belongs = Bytes(header.address);
        if write.target != self.target {
            return Verdict::Bad(Diagnosis::OtherTarget { target: write.target, belongs });
        }
        if write.run != self.run {
            let belongs = Some(belongs).filter(|belongs| belongs.0 != address);
            let diagnosis = Diagnosis::EarlierRun { run: Some(write.run), belongs };
            return Verdict::Old(diagnosis, None);
        }
        if header.address != address {
            // Sectors of a write that moved within its own place.
            let within = address.wrapping_sub(write.start) < u64::from(write.length);
            let by = address.wrapping_sub(header.address) as i64;
            return Verdict::Bad(match within {
                true => Diagnosis::Shifted { by },
                false => Diagnosis::Misdirected(Misdirection { other: belongs, foreign: true }),
            });
        }
        let (expected, promise) = match state {
            SectorState::Written { expected, promise } => (expected, promise),
            _ => (SectorExpected::default(), Promise::Unknown),
        };
        if matches!(state, SectorState::Written { .. }) && expected.accepts(header) {
            return Verdict::Good(Some(*write));
        }
        if expected.writer.is_some_and(|w| w.job != found.job || w.number < found.number) {
            return Verdict::Bad(Diagnosis::OtherJob { found });
        }
        let distance = |newest: u16| match self.cycle {
            Some(cycle) => {
                let cycle = i32::from(cycle).max(1);
                (i32::from(newest) - i32::from(header.generation)).rem_euclid(cycle) as u32
            }
            None => u32::from(newest.wrapping_sub(header.generation)),
        };
        let generations = expected.generation.map(distance).filter(|generations| *generations > 0);
        let stale = Staleness { generations, found, missing: expected.writer, promise };
        Verdict::Old(Diagnosis::Stale(stale), Some(found))
    }

    /// Finds flipped bits in headers: the body or the sectors beside it tell what the header was.
    fn repair_headers(&self, start: Bytes, found: &[u8], verdicts: &mut [Verdict]) {
        let size = self.size.bytes();
        let writes: Vec<SectorWrite> = verdicts
            .iter()
            .filter_map(|v| if let Verdict::Good(w) = v { *w } else { None })
            .collect();
        for (i, sector) in found.chunks_exact(size).enumerate() {
            if !matches!(verdicts[i], Verdict::Unknown) {
                continue;
            }
            let address = start.0.wrapping_add((i * size) as u64);
            let SectorState::Written { expected, .. } = (self.state)(address) else { continue };
            let covers = |w: &&SectorWrite| address.wrapping_sub(w.start) < u64::from(w.length);
            let beside = writes.iter().find(covers).copied();
            if let Some(header) = self.probable_header(address, sector, expected, beside) {
                let mut whole = vec![0; size];
                header.fill(&mut whole);
                if let Some(flips) = BitFlips::between(&whole, sector) {
                    verdicts[i] = Verdict::Bad(Diagnosis::BitFlips(flips));
                }
            }
        }
    }

    /// The header that a sector had before its bits were flipped, if its body says so.
    fn probable_header(
        &self,
        address: u64,
        sector: &[u8],
        expected: SectorExpected,
        beside: Option<SectorWrite>,
    ) -> Option<SectorHeader> {
        let seed = body_seed(sector, 8)?;
        let words = header_words(sector)?;
        let found = SectorWrite {
            size: self.size,
            flags: SectorFlags((words[0] >> 48) as u16),
            target: self.target,
            run: self.run,
            job: expected.writer.map_or((words[5] >> 32) as u16, |writer| writer.job),
            number: expected.writer.map_or(words[4], |writer| writer.number),
            start: words[6],
            length: words[5] as u32,
        };
        let generation = expected.generation.unwrap_or((words[5] >> 48) as u16);
        let of = |write: SectorWrite| SectorHeader { write, address, generation };
        let plain = [beside.map(of), Some(of(found))].into_iter().flatten();
        let flipped = (0..64).flat_map(|bit| {
            let bit = 1u64 << bit;
            [
                of(SectorWrite { number: found.number ^ bit, ..found }),
                of(SectorWrite { start: found.start ^ bit, ..found }),
                of(SectorWrite { length: found.length ^ bit as u32, ..found }),
                of(SectorWrite { job: found.job ^ bit as u16, ..found }),
                of(SectorWrite { flags: SectorFlags(found.flags.0 ^ bit as u16), ..found }),
                SectorHeader { generation: generation ^ bit as u16, ..of(found) },
            ]
        });
        plain.chain(flipped).find(|header| header.seed() == seed)
    }

    /// Finds sectors that are displaced by a number of bytes that is not a multiple of their size.
    fn find_shifted(&self, start: Bytes, found: &[u8], verdicts: &mut [Verdict]) {
        let size = self.size.bytes();
        let headers = found.windows(SECTOR_MAGIC.len()).enumerate();
        let magic = headers.filter(|(at, bytes)| at % size != 0 && *bytes == SECTOR_MAGIC);
        for at in magic.map(|(at, _)| at) {
            let Some(header) = SectorHeader::read(&found[at..]) else { continue };
            let by = start.0.wrapping_add(at as u64).wrapping_sub(header.address) as i64;
            // A reader that knows no run learns it from intact headers, of which shifted data has none.
            let own = header.write.run == self.run && header.write.target == self.target;
            if !own && by.unsigned_abs() >= found.len() as u64 {
                continue;
            }
            // The sector covers parts of two others. At the begin of the displaced data, the one before it has
            // lost the rest of its own.
            for i in [at / size, at / size + 1] {
                if let Some(verdict @ Verdict::Unknown) = verdicts.get_mut(i) {
                    *verdict = Verdict::Bad(Diagnosis::Shifted { by });
                }
            }
        }
    }

    /// For each sector the torn write that it is part of.
    fn tears(&self, start: Bytes, verdicts: &[Verdict]) -> Vec<Option<Tear>> {
        let size = self.size.bytes() as u64;
        let address = |i: usize| start.0.wrapping_add(i as u64 * size);
        let new = |verdict: &Verdict| match verdict {
            Verdict::Good(write) => *write,
            Verdict::Parts { write, .. } => Some(*write),
            _ => None,
        };
        let mut tears = vec![None; verdicts.len()];
        let mut i = 0;
        while i < verdicts.len() {
            if !self.is_old(address(i), &verdicts[i]) {
                i += 1;
                continue;
            }
            let rest = verdicts[i..].iter().enumerate();
            let end = i + rest.take_while(|(k, v)| self.is_old(address(i + k), v)).count();
            let inside = verdicts[i..end].iter().find_map(new);
            let before = i.checked_sub(1).and_then(|before| new(&verdicts[before]));
            let after = verdicts.get(end).and_then(new);
            for k in i..end {
                let covers = |w: &SectorWrite| {
                    address(k).wrapping_sub(w.start) < u64::from(w.length)
                        && !matches!(&verdicts[k], Verdict::Old(_, Some(found))
                            if *found == SectorWriter { job: w.job, number: w.number })
                };
                let write = [inside, before, after].into_iter().flatten().find(covers);
                tears[k] = write.map(|write| {
                    let head = before.is_some_and(|w| w == write);
                    let tail = after.is_some_and(|w| w == write);
                    tear(&write, (address(i), address(end)), (head, tail), &verdicts[i..end], size)
                });
            }
            i = end;
        }
        tears
    }

    /// Whether a sector can be the old part of a torn write.
    fn is_old(&self, address: u64, verdict: &Verdict) -> bool {
        match verdict {
            // What was never written before may be blank. Otherwise a torn write leaves older data.
            Verdict::Old(Diagnosis::Blank { .. }, _) => match (self.state)(address) {
                SectorState::Written { expected, .. } => expected.generation == Some(1),
                _ => false,
            },
            Verdict::Old(..) | Verdict::Parts { .. } => true,
            _ => false,
        }
    }
}

/// Describes a tear: `from..to` is old, and the write is new before (`head`) or after it (`tail`).
fn tear(
    write: &SectorWrite,
    (from, to): (u64, u64),
    (head, tail): (bool, bool),
    verdicts: &[Verdict],
    size: u64,
) -> Tear {
    let part = |i: usize, verdict: Option<&Verdict>| match verdict {
        Some(Verdict::Parts { at, order, .. }) => {
            Some((from + i as u64 * size + *at as u64, *order))
        }
        _ => None,
    };
    let first = part(0, verdicts.first()).filter(|(_, order)| *order == TearOrder::HeadNew);
    let last = part(verdicts.len().saturating_sub(1), verdicts.last())
        .filter(|(_, order)| *order == TearOrder::TailNew);
    let (boundary, order) = match (first, last) {
        (Some(first), _) => first,
        (None, Some(last)) => last,
        (None, None) if head => (from, TearOrder::HeadNew),
        (None, None) => (to, TearOrder::TailNew),
    };
    let at = boundary.wrapping_sub(write.start);
    let unit = match boundary {
        b if b.is_multiple_of(4096) => TearUnit::Page,
        b if b.is_multiple_of(size) => TearUnit::Sector,
        _ => TearUnit::Byte,
    };
    let boundaries = u32::from(head || first.is_some()) + u32::from(tail || last.is_some());
    Tear { write: Bytes(write.start), at: Bytes(at), order, unit, boundaries: boundaries.max(1) }
}

/// A sector whose body contradicts its intact header: the parts of two sectors, or unknown.
fn parts(header: &SectorHeader, expected: &[u8], sector: &[u8], whole: &Verdict) -> Verdict {
    let differs = |(i, (a, b)): (usize, (&u8, &u8))| (a != b).then_some(i);
    let at = expected.iter().zip(sector).enumerate().find_map(differs).unwrap_or(0);
    let tail = &sector[at..];
    let all = |byte: u8| tail.len() > 8 && tail.iter().all(|found| *found == byte);
    let blank = all(0) || all(0xff);
    let other = body_seed(sector, at.div_ceil(8)).is_some_and(|seed| seed != header.seed());
    match whole {
        Verdict::Good(_) if blank || other => {
            Verdict::Parts { at, write: header.write, order: TearOrder::HeadNew }
        }
        _ => Verdict::Bad(Diagnosis::unrecognized(sector, Some(at))),
    }
}

/// The seed that most words of a body from word `from` on have; `None` if no seed has the majority.
fn body_seed(sector: &[u8], from: usize) -> Option<u64> {
    let mut majority = Majority::default();
    for (i, word) in sector.as_chunks::<8>().0.iter().enumerate().skip(from) {
        majority.vote(u64::from_le_bytes(*word).wrapping_sub(body_word(0, i)));
    }
    majority.winner()
}

#[cfg(test)]
#[path = "sectors_tests.rs"]
mod tests;
