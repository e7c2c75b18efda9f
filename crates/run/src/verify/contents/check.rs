//! Compares the bytes of a read with what was written.

use fiord_formats::integrity::diagnosis::{BadExtent, ExpectedIntervals, Promise};
use fiord_formats::integrity::sector::SectorWriter;
use fiord_formats::verify::body::Difference;
use fiord_formats::verify::header::{Expected, HeaderLayout, VerifyHeader};
use fiord_formats::verify::interval;
use fiord_formats::verify::method::Method;
use fiord_formats::verify::pattern::BodyPattern;
use fiord_formats::verify::write::ExpectedWrite;
use fiord_load::verify::{GranuleState, WriteValue};
use fiord_plan::{JobPlan, VerifyPass, VerifyPlan};
use fiord_types::Bytes;

use super::bad_read::{BadContents, BadRead};
use super::certain::CertainWrites;
use super::fill::JobFormat;
use super::known::{KnownPart, KnownWrite};
use super::trimmed::TrimmedBlocks;

/// What the header of an interval must contain, apart from its place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct HeaderClues {
    seed: Option<u64>,
    number: Option<u64>,
    /// The value of the write in the map.
    value: Option<WriteValue>,
}

/// Checks reads in fio's formats.
#[derive(Debug, Clone)]
pub(crate) struct IntervalChecker {
    format: JobFormat,
    checks_seed: bool,
    checks_number: bool,
    /// The job wrote what it reads, so that a diagnosis can use the seed even if it is not checked.
    knows_seed: bool,
    pub trimmed: TrimmedBlocks,
    /// The writes that are checked; `None`: all.
    pub certain: Option<CertainWrites>,
    /// Bytes of the last read that were not checked, because their writes may be incomplete.
    pub uncertain: Bytes,
    /// An interval with its header at its start.
    moved: Vec<u8>,
}

impl IntervalChecker {
    pub(super) fn new(format: JobFormat, job: &JobPlan, plan: &VerifyPlan) -> Self {
        let has_seed = format.pattern.is_none();
        IntervalChecker {
            format,
            checks_seed: plan.checks_seed && has_seed,
            checks_number: plan.checks_number,
            knows_seed: plan.pass == VerifyPass::AfterWrites && has_seed,
            trimmed: TrimmedBlocks::of(plan),
            certain: CertainWrites::of(job, plan),
            uncertain: Bytes::ZERO,
            moved: Vec::new(),
        }
    }

    /// Checks the bytes of a read at `offset`. Calls `bad` for each bad interval, until it returns false. Returns the
    /// number of bytes that were checked.
    pub(super) fn check(
        &mut self,
        offset: u64,
        data: &[u8],
        known: &KnownWrite<'_>,
        bad: &mut dyn FnMut(BadRead) -> bool,
    ) -> u64 {
        self.uncertain = Bytes::ZERO;
        if self.format.method == Method::Null {
            return 0;
        }
        let mut checked = 0;
        for (range, part) in known.parts(offset, data.len()) {
            let Some(clues) = self.clues(&part) else { continue };
            checked += range.len() as u64;
            if !self.check_part(offset + range.start as u64, &data[range], &clues, bad) {
                break;
            }
        }
        checked - self.uncertain.0
    }

    /// `None`: the part is not checked.
    fn clues(&self, part: &KnownPart) -> Option<HeaderClues> {
        match *part {
            KnownPart::Nothing => Some(HeaderClues::default()),
            KnownPart::Write { number, .. } => Some(HeaderClues {
                seed: self.checks_seed.then(|| self.format.seed_of(number)),
                number: self.checks_number.then_some(number),
                value: None,
            }),
            KnownPart::State { state: GranuleState::Written(value), .. } => {
                Some(HeaderClues { value: Some(value), ..HeaderClues::default() })
            }
            KnownPart::State { .. } => None,
        }
    }

    /// Checks a part of a read that is a whole write, or a granule. False if there is no more to check.
    fn check_part(
        &mut self,
        offset: u64,
        data: &[u8],
        clues: &HeaderClues,
        bad: &mut dyn FnMut(BadRead) -> bool,
    ) -> bool {
        let compares = self.format.method.compares_pattern();
        for (at, interval) in self.format.intervals(offset, data) {
            if self.is_uncertain(interval) {
                self.uncertain += Bytes(interval.len() as u64);
                continue;
            }
            let pattern = self.format.pattern.as_ref().filter(|_| compares);
            let pattern = pattern.map(|pattern| (pattern, offset));
            let result =
                check_interval(&self.format, &mut self.moved, (at, interval), clues, pattern);
            if let Err(difference) = result {
                let (offset, len) = (Bytes(at), Bytes(interval.len() as u64));
                if !bad(BadRead { offset, len, difference }) {
                    return false;
                }
            }
        }
        true
    }

    /// Whether an interval may be a part of an incomplete write.
    fn is_uncertain(&mut self, interval: &[u8]) -> bool {
        let Some(certain) = self.certain.as_ref().filter(|_| self.format.method.has_header())
        else {
            return false;
        };
        let found = at_start(&self.format, &mut self.moved, interval);
        let header = VerifyHeader::read(found).ok();
        let header = header.filter(|header| header.layout == HeaderLayout::Current);
        !certain.includes(header.map(|header| header.number))
    }

    /// Says what is wrong with a read that has bad intervals. `began`: when the run began, in seconds of the clock in
    /// the headers.
    pub(super) fn diagnose(
        &self,
        offset: u64,
        data: &[u8],
        known: &KnownWrite<'_>,
        began: Option<u32>,
    ) -> Vec<BadExtent> {
        let mut extents = Vec::new();
        for (range, part) in known.parts(offset, data.len()) {
            let Some(clues) = self.clues(&part) else { continue };
            let HeaderClues { mut seed, number, value } = clues;
            if let KnownPart::Write { number, .. } = part
                && self.knows_seed
            {
                seed = Some(self.format.seed_of(number));
            }
            let expected = ExpectedWrite { offset: offset + range.start as u64, seed, number };
            let newest = |write: SectorWriter| {
                let found = WriteValue::of_number(write.number, u32::from(write.job));
                value.is_none_or(|wanted| wanted == found)
            };
            let intervals = ExpectedIntervals {
                format: self.format.contents(),
                promise: Promise::Unknown,
                began,
                newest: value.is_some().then_some(&newest),
            };
            extents.extend(intervals.diagnose(&expected, &data[range]));
        }
        extents
    }
}

/// Checks one interval. `pattern`: the pattern with which its contents are compared, and the offset of the whole write.
fn check_interval(
    format: &JobFormat,
    moved: &mut Vec<u8>,
    (offset, interval): (u64, &[u8]),
    clues: &HeaderClues,
    pattern: Option<(&BodyPattern, u64)>,
) -> Result<(), BadContents> {
    let mut body = 0;
    let mut found = interval;
    if format.method.has_header() {
        found = at_start(format, moved, interval);
        let length = u32::try_from(interval.len()).unwrap_or(u32::MAX);
        let wanted = Expected { length, offset, seed: clues.seed, number: clues.number };
        let header = match pattern {
            Some(_) => VerifyHeader::check(found, &wanted)?,
            None => interval::check(found, format.method, &wanted)?,
        };
        body = header.layout.header_length();
        let value = WriteValue::of_number(header.number, u32::from(header.thread));
        if clues.value.is_some_and(|wanted| wanted != value) {
            return Err(BadContents::Stale { number: header.number, thread: header.thread });
        }
    }
    let Some((pattern, write)) = pattern else { return Ok(()) };
    let position = offset - write + body as u64;
    match pattern.first_difference(write, position, found.get(body..).unwrap_or_default()) {
        None => Ok(()),
        Some(Difference { position, expected, found }) => {
            Err(BadContents::Pattern { position, expected, found })
        }
    }
}

/// The bytes of an interval with its header at their start. `moved`: memory for them.
fn at_start<'d>(format: &JobFormat, moved: &'d mut Vec<u8>, interval: &'d [u8]) -> &'d [u8] {
    if !format.moves_headers() {
        return interval;
    }
    // An interval too short for its header has a bad header, too.
    for layout in [HeaderLayout::Current, HeaderLayout::Before341] {
        moved.clear();
        moved.extend_from_slice(interval);
        let _ = format.exchange(moved, layout);
        if VerifyHeader::read(moved).is_ok_and(|header| header.layout == layout) {
            break;
        }
    }
    moved
}
