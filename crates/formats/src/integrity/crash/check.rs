//! Compares the blocks of a target with what the journal says.

use fiord_types::Bytes;

use super::order::{Ordinal, WriteOrder};
use super::table::BlockWindow;
use crate::integrity::diagnosis::{
    BadExtent, Diagnosis, ExpectedSectors, Promise, SectorState, Staleness, TearUnit,
};
use crate::integrity::journal::JournalHeader;
use crate::integrity::sector::{
    SectorCheck, SectorExpected, SectorHeader, SectorWriter, TargetId, header_words,
};

/// Maximum number of lost blocks of which the check remembers the write. It takes 64 MiB for them.
const MAX_MISSING: usize = 8 << 20;

/// What a bad extent means for the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashFault {
    /// The target acknowledged the data and a flush after it, and has older data.
    Lost,
    /// The data is neither old nor new.
    Corrupt,
}

/// Counts what a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CrashTally {
    checked: u64,
    lost: u64,
    corrupt: u64,
    torn: u64,
    flushed: u64,
    own: u64,
    /// A write that the journal does not announce.
    unannounced: Option<SectorWriter>,
    /// The newest write that was found. `Some(None)`: it was issued after all writes of the journal.
    newest: Option<Option<Ordinal>>,
    missing: Vec<Ordinal>,
}

impl CrashTally {
    /// Blocks that were compared with the journal.
    #[must_use]
    pub fn checked(&self) -> u64 {
        self.checked
    }

    /// Blocks that had been acknowledged and flushed, and contain older data.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Blocks that contain neither old nor new data.
    #[must_use]
    pub fn corrupt(&self) -> u64 {
        self.corrupt
    }

    /// Blocks that contain parts of several writes, all of which the journal allows.
    #[must_use]
    pub fn torn(&self) -> u64 {
        self.torn
    }

    /// Blocks of which a write was flushed.
    #[must_use]
    pub fn flushed(&self) -> u64 {
        self.flushed
    }

    /// Blocks with data of the run.
    #[must_use]
    pub fn own(&self) -> u64 {
        self.own
    }

    /// A write of the run that was found and that the journal does not announce: the journal lacks its end.
    #[must_use]
    pub fn unannounced(&self) -> Option<SectorWriter> {
        self.unannounced
    }

    /// The newest write that was found; `Some(None)`: one that was issued after all writes of the journal.
    #[must_use]
    pub fn newest(&self) -> Option<Option<Ordinal>> {
        self.newest
    }

    /// The last flushed writes of lost blocks, up to 8 million.
    #[must_use]
    pub fn take_missing(&mut self) -> Vec<Ordinal> {
        std::mem::take(&mut self.missing)
    }

    /// Adds the counts of another target.
    pub fn add(&mut self, other: &CrashTally) {
        self.checked += other.checked;
        self.lost += other.lost;
        self.corrupt += other.corrupt;
        self.torn += other.torn;
        self.flushed += other.flushed;
        self.own += other.own;
    }

    fn survived(&mut self, ordinal: Option<Ordinal>) {
        self.newest = Some(match (self.newest, ordinal) {
            (Some(Some(newest)), Some(ordinal)) => Some(newest.max(ordinal)),
            (None, ordinal) => ordinal,
            (Some(None), _) | (_, None) => None,
        });
    }
}

/// Checks blocks of a target.
#[derive(Debug)]
pub struct CrashCheck<'a> {
    header: &'a JournalHeader,
    target: TargetId,
    order: &'a WriteOrder,
    /// Bytes that a target writes as a whole, or not at all.
    atomic: u64,
    sectors: SectorCheck,
    tally: CrashTally,
    /// The write that was looked up last, and its place.
    last: Option<(SectorWriter, Option<Ordinal>)>,
}

/// What is wrong with a sector.
enum SectorFault {
    /// An older write than the last flushed one.
    Stale(SectorWriter),
    /// The bytes are not an intact sector of the run.
    Damaged,
}

impl<'a> CrashCheck<'a> {
    /// `target`: one of those of the journal. `atomic`: bytes that it writes as a whole even if it loses power. At least a
    /// sector.
    #[must_use]
    pub fn new(
        header: &'a JournalHeader,
        target: TargetId,
        order: &'a WriteOrder,
        atomic: Bytes,
    ) -> Self {
        let sectors = SectorCheck::new(header.sector, target, header.run);
        let atomic = atomic.0.max(header.sector.bytes() as u64);
        let tally = CrashTally::default();
        CrashCheck { header, target, order, atomic, sectors, tally, last: None }
    }

    /// What was found so far.
    #[must_use]
    pub fn tally(&self) -> &CrashTally {
        &self.tally
    }

    /// What was found so far.
    #[must_use]
    pub fn tally_mut(&mut self) -> &mut CrashTally {
        &mut self.tally
    }

    /// Checks blocks that were read at `start` of the target. `window` says what each block, by number, may contain;
    /// other blocks are not checked. Block 0 is the first one of the target. Calls `bad` for each bad extent, in ascending order.
    pub fn check(
        &mut self,
        start: u64,
        data: &[u8],
        window: &dyn Fn(u64) -> Option<BlockWindow>,
        bad: &mut dyn FnMut(BadExtent, CrashFault),
    ) {
        let block = usize::try_from(self.header.block.0).unwrap_or(usize::MAX);
        for (i, found) in data.chunks_exact(block).enumerate() {
            let address = start + i as u64 * self.header.block.0;
            if let Some(window) = window(address / self.header.block.0) {
                self.check_block(address, found, window, bad);
            }
        }
        if self.atomic > self.header.sector.bytes() as u64 {
            self.check_units(start, data, bad);
        }
    }

    /// A block cannot be read.
    pub fn unreadable(&mut self, window: BlockWindow) {
        self.tally.checked += 1;
        self.tally.flushed += u64::from(window.flushed.is_some());
        self.tally.corrupt += 1;
    }

    fn check_block(
        &mut self,
        address: u64,
        found: &[u8],
        window: BlockWindow,
        bad: &mut dyn FnMut(BadExtent, CrashFault),
    ) {
        self.tally.checked += 1;
        self.tally.flushed += u64::from(window.flushed.is_some());
        let size = self.header.sector.bytes();
        let mut faults: Vec<Option<SectorFault>> = Vec::new();
        let mut writers: Option<(SectorWriter, bool)> = None;
        let mut own = false;
        let intact = self.sectors.first_bad(address, &SectorExpected::default(), found).is_none();
        for (i, sector) in found.chunks_exact(size).enumerate() {
            let writer = match intact {
                true => writer_of(sector),
                false => self.intact_writer(address + (i * size) as u64, sector),
            };
            let fault = match writer {
                Some(writer) => {
                    own = true;
                    let several =
                        writers.is_some_and(|(first, several)| several || first != writer);
                    writers = Some((writer, several));
                    self.judge(writer, window)
                }
                None => self.judge_damaged(sector, window),
            };
            if fault.is_some() || !faults.is_empty() {
                faults.resize_with(i, || None);
                faults.push(fault);
            }
        }
        self.tally.own += u64::from(own);
        if faults.is_empty() {
            self.tally.torn += u64::from(writers.is_some_and(|(_, several)| several));
            return;
        }
        self.report(address, found, &faults, window, bad);
    }

    /// The write of a sector that is an intact one of this run, at its place.
    fn intact_writer(&mut self, address: u64, sector: &[u8]) -> Option<SectorWriter> {
        let bad = self.sectors.first_bad(address, &SectorExpected::default(), sector);
        if bad.is_some() { None } else { writer_of(sector) }
    }

    fn judge(&mut self, writer: SectorWriter, window: BlockWindow) -> Option<SectorFault> {
        let place = match self.last {
            Some((last, place)) if last == writer => place,
            _ => {
                if !self.order.is_announced(writer) {
                    self.tally.unannounced.get_or_insert(writer);
                }
                let place = self.order.ordinal(writer);
                self.last = Some((writer, place));
                self.tally.survived(place);
                place
            }
        };
        let newer = match (place, window.flushed) {
            (None, _) | (_, None) => true,
            (Some(place), Some(flushed)) => place >= flushed,
        };
        (!newer).then_some(SectorFault::Stale(writer))
    }

    /// Judges a sector that is not an intact one of this run.
    fn judge_damaged(&self, sector: &[u8], window: BlockWindow) -> Option<SectorFault> {
        let header = header_words(sector).and_then(|words| SectorHeader::parse(&words));
        let own = header.is_some_and(|header| {
            header.write.run == self.header.run && header.write.target == self.target
        });
        if self.header.sectors_may_tear && window.pending {
            return None;
        }
        // Without a flushed write, the block may contain what it contained before the run.
        (own || window.flushed.is_some()).then_some(SectorFault::Damaged)
    }

    fn report(
        &mut self,
        address: u64,
        found: &[u8],
        faults: &[Option<SectorFault>],
        window: BlockWindow,
        bad: &mut dyn FnMut(BadExtent, CrashFault),
    ) {
        let size = self.header.sector.bytes() as u64;
        let fault = |at: u64| {
            let index = usize::try_from(at.saturating_sub(address) / size).ok()?;
            faults.get(index)?.as_ref()
        };
        let promise = if window.flushed.is_some() { Promise::Flushed } else { Promise::Issued };
        let state = |at: u64| match fault(at) {
            // Stale sectors are reported below.
            Some(SectorFault::Damaged) | None => {
                SectorState::Written { expected: SectorExpected::default(), promise }
            }
            Some(SectorFault::Stale(_)) => SectorState::Unchecked,
        };
        let (target, run) = (self.target, self.header.run);
        let expected =
            ExpectedSectors { size: self.header.sector, target, run, cycle: None, state: &state };
        let missing = window.flushed.and_then(|flushed| self.order.writer(flushed));
        let mut extents = expected.diagnose(Bytes(address), found);
        extents =
            extents.into_iter().flat_map(|one| self.of_renamed(one, address, found)).collect();
        for (i, fault) in (0u64..).zip(faults) {
            if let Some(SectorFault::Stale(writer)) = fault {
                let stale = Staleness { generations: None, found: *writer, missing, promise };
                let start = Bytes(address + i * size);
                let diagnosis = Diagnosis::Stale(stale);
                extents.push(BadExtent { start, length: Bytes(size), diagnosis });
            }
        }
        extents.sort_by_key(|extent| extent.start);
        // An accepted sector in a block without a flushed write is not damaged.
        extents.retain(|extent| {
            (extent.start.0..extent.end().0).step_by(size as usize).any(|at| fault(at).is_some())
        });
        extents.dedup_by(|next, extent| extent.merge(next));
        // A bad block must not go unreported.
        let (mut lost, mut corrupt) = (false, extents.is_empty());
        for mut extent in extents {
            extent.promise(promise);
            let kind = meaning(&extent.diagnosis, window);
            lost |= kind == CrashFault::Lost;
            corrupt |= kind == CrashFault::Corrupt;
            bad(extent, kind);
        }
        self.tally.corrupt += u64::from(corrupt);
        self.tally.lost += u64::from(lost && !corrupt);
        if let Some(flushed) = window.flushed
            && lost
            && !corrupt
            && self.tally.missing.len() < MAX_MISSING
        {
            self.tally.missing.push(flushed);
        }
    }

    /// A sector states the path of its target in its run, and the kernel may give a drive another name at each start. So
    /// data of another run with the name of another target, at its own address, is older data of this target: a target
    /// has no other reason to contain it. Returns the parts of an extent with this correction.
    fn of_renamed(&self, extent: BadExtent, address: u64, found: &[u8]) -> Vec<BadExtent> {
        let Diagnosis::OtherTarget { belongs, .. } = extent.diagnosis else { return vec![extent] };
        let size = self.header.sector.bytes();
        let at = extent.start.0.saturating_sub(address) as usize;
        let data = found.get(at..at + extent.length.0 as usize).unwrap_or_default();
        let mut parts: Vec<BadExtent> = Vec::new();
        for (i, sector) in data.chunks(size).enumerate() {
            let header = SectorHeader::read(sector);
            let run = header.map(|header| header.write.run).filter(|run| *run != self.header.run);
            let mut diagnosis = extent.diagnosis.clone();
            if run.is_some() && belongs == extent.start {
                diagnosis = Diagnosis::EarlierRun { run, belongs: None };
            } else if let Diagnosis::OtherTarget { belongs, .. } = &mut diagnosis {
                *belongs += Bytes((i * size) as u64);
            }
            let start = extent.start + Bytes((i * size) as u64);
            let part = BadExtent { start, length: Bytes(sector.len() as u64), diagnosis };
            if !parts.last_mut().is_some_and(|last| last.merge(&part)) {
                parts.push(part);
            }
        }
        parts
    }

    /// Finds writes of which a unit contains only a part, although the target writes units as a whole.
    fn check_units(&mut self, start: u64, data: &[u8], bad: &mut dyn FnMut(BadExtent, CrashFault)) {
        let unit = usize::try_from(self.atomic).unwrap_or(usize::MAX);
        let skip = (start.next_multiple_of(self.atomic) - start) as usize;
        let size = self.header.sector.bytes();
        for (i, found) in data.get(skip..).unwrap_or_default().chunks_exact(unit).enumerate() {
            let address = start + (skip + i * unit) as u64;
            let mut headers = Vec::with_capacity(unit / size);
            for (i, sector) in found.chunks_exact(size).enumerate() {
                let at = address + (i * size) as u64;
                let intact =
                    self.intact_writer(at, sector).and_then(|_| SectorHeader::read(sector));
                headers.push(intact.map(|header| {
                    let writer =
                        SectorWriter { job: header.write.job, number: header.write.number };
                    (header, self.order.ordinal(writer).unwrap_or(Ordinal(u64::MAX)))
                }));
            }
            let covers = |header: &SectorHeader| {
                let end = header.write.start.saturating_add(u64::from(header.write.length));
                header.write.start <= address && end >= address.saturating_add(self.atomic)
            };
            let whole = headers.iter().flatten().filter(|(header, _)| covers(header));
            let Some((header, newest)) = whole.max_by_key(|(_, ordinal)| *ordinal) else {
                continue;
            };
            let older = |one: &Option<(SectorHeader, Ordinal)>| {
                one.as_ref().is_none_or(|(_, ordinal)| ordinal < newest)
            };
            let Some(first) = headers.iter().position(older) else { continue };
            let tear = torn_unit(
                header,
                address,
                (first * size) as u64,
                headers.first().is_some_and(older),
            );
            let (start, length) = (Bytes(address), Bytes(self.atomic));
            self.tally.corrupt += self.atomic.div_ceil(self.header.block.0);
            bad(BadExtent { start, length, diagnosis: Diagnosis::Torn(tear) }, CrashFault::Corrupt);
        }
    }
}

fn torn_unit(
    header: &SectorHeader,
    unit: u64,
    first_old: u64,
    head_is_old: bool,
) -> super::super::diagnosis::Tear {
    use super::super::diagnosis::{Tear, TearOrder};
    let order = if head_is_old { TearOrder::TailNew } else { TearOrder::HeadNew };
    let boundary = if head_is_old { unit } else { unit + first_old };
    let whole = if boundary.is_multiple_of(4096) { TearUnit::Page } else { TearUnit::Sector };
    let at = Bytes(boundary.saturating_sub(header.write.start));
    Tear { write: Bytes(header.write.start), at, order, unit: whole, boundaries: 1 }
}

/// The write of an intact sector.
fn writer_of(sector: &[u8]) -> Option<SectorWriter> {
    let words = header_words(sector)?;
    Some(SectorWriter { job: (words[5] >> 32) as u16, number: words[4] })
}

/// What a diagnosis means for a block.
fn meaning(diagnosis: &Diagnosis, window: BlockWindow) -> CrashFault {
    let older = match diagnosis {
        Diagnosis::Blank { .. } | Diagnosis::EarlierRun { belongs: None, .. } => true,
        Diagnosis::Stale(_) => true,
        Diagnosis::Torn(tear) => tear.unit != TearUnit::Byte,
        _ => false,
    };
    if older && window.flushed.is_some() { CrashFault::Lost } else { CrashFault::Corrupt }
}
