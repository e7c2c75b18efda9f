//! Binary traces of VMware's virtual SCSI disks, as the public traces of CloudPhysics have them.
//!
//! Records follow each other, with little-endian integers:
//!
//! | bytes in version 1 | in version 2 | field |
//! |---|---|---|
//! | 0 to 3 | 4 to 7 | number of the record, which is not in order |
//! | 4 to 7 | 8 to 11 | length in bytes |
//! | 8 to 11 | 12 to 15 | number of scatter-gather elements |
//! | 12 to 13 | 0 to 1 | operation code of the SCSI command |
//! | 14 to 15 | 2 to 3 | version × 256 |
//! | 16 to 23 | 16 to 23 | first block, in units of 512 bytes |
//! | 24 to 31 | 24 to 31 | time in microseconds |
//! | none | 32 to 39 | response time, which is not used: its unit is not documented |
//!
//! Commands other than reads, writes and cache flushes are counted in [`TraceNotes::ignored`]. The trace has one disk.

use std::collections::VecDeque;
use std::io::{self, BufRead};

use fiord_types::{Bytes, Nanos};

use super::csv::range;
use super::error::{RowProblem, TraceError, TraceNotes};
use super::record::{TraceEvent, TraceIo, TraceKind, TraceName, TraceTarget};
use super::timeline::Timeline;
use super::window::SortWindow;
use super::{TraceFormat, TraceOptions, TraceReader};

/// Records that may be out of order.
const WINDOW: usize = 1024;
/// Maximum length of a record in bytes.
const MAX_RECORD: usize = 40;
/// Bytes that tell the format: two records.
pub(super) const START: usize = 2 * MAX_RECORD;
/// The name of the disk in events, as in the CSV version of the traces.
const DISK: &str = "disk";

/// The version of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VscsiVersion {
    One,
    Two,
}

impl VscsiVersion {
    /// The version of a trace with this start. Its first two records, or its only one, must have it.
    pub(super) fn of(start: &[u8]) -> Option<VscsiVersion> {
        [VscsiVersion::One, VscsiVersion::Two].into_iter().find(|version| {
            let len = version.record();
            let fits = |at: usize| {
                let record = start.get(at..at + len);
                record.is_some_and(|record| version.fits(record))
            };
            fits(0) && (start.len() == len || fits(len))
        })
    }

    /// Length of a record in bytes.
    const fn record(self) -> usize {
        match self {
            VscsiVersion::One => 32,
            VscsiVersion::Two => MAX_RECORD,
        }
    }

    fn fits(self, record: &[u8]) -> bool {
        let [_, version] = self.command(record);
        let number = match self {
            VscsiVersion::One => 1,
            VscsiVersion::Two => 2,
        };
        version == number << 8
    }

    /// The operation code and the version.
    fn command(self, record: &[u8]) -> [u16; 2] {
        let at = match self {
            VscsiVersion::One => 12,
            VscsiVersion::Two => 0,
        };
        [at, at + 2].map(|at| u16::from_le_bytes([record[at], record[at + 1]]))
    }

    fn len(self, record: &[u8]) -> u32 {
        let at = match self {
            VscsiVersion::One => 4,
            VscsiVersion::Two => 8,
        };
        let bytes = record[at..].first_chunk().copied();
        bytes.map_or(0, u32::from_le_bytes)
    }
}

/// What a SCSI command does. Source: SBC-4.
fn kind(operation: u16) -> Option<TraceKind> {
    match operation {
        0x08 | 0x28 | 0x88 | 0xa8 => Some(TraceKind::Read),
        // WRITE, and WRITE AND VERIFY.
        0x0a | 0x2a | 0x8a | 0xaa | 0x2e | 0x8e | 0xae => Some(TraceKind::Write),
        // SYNCHRONIZE CACHE.
        0x35 | 0x91 => Some(TraceKind::Sync),
        _ => None,
    }
}

/// Reads a trace of a virtual disk.
#[derive(Debug)]
pub(super) struct VscsiReader<R> {
    source: R,
    version: VscsiVersion,
    /// Where the next record begins.
    offset: u64,
    window: SortWindow<TraceIo>,
    ended: bool,
    /// The time of the first I/O.
    start: Option<Nanos>,
    timeline: Timeline,
    notes: TraceNotes,
    /// The name of the disk, which comes before its I/Os.
    pending: VecDeque<TraceEvent>,
}

impl<R: BufRead> VscsiReader<R> {
    pub(super) fn new(source: R, version: VscsiVersion, options: &TraceOptions) -> Self {
        let disk = TraceEvent::Target(TraceTarget::new(0), TraceName::Volume(DISK.to_owned()));
        VscsiReader {
            source,
            version,
            offset: 0,
            window: SortWindow::new(WINDOW),
            ended: false,
            start: None,
            timeline: Timeline::floating(options.longest_gap),
            notes: TraceNotes::default(),
            pending: VecDeque::from([disk]),
        }
    }

    fn fill(&mut self) -> Result<(), TraceError> {
        while !self.ended && !self.window.is_full() {
            let mut record = [0; MAX_RECORD];
            let record = &mut record[..self.version.record()];
            if !self.next_record(record)? {
                self.ended = true;
                break;
            }
            match self.io(record) {
                Ok(Some((time, io))) => self.window.put(time, io),
                Ok(None) => self.notes.ignored += 1,
                Err(problem) => {
                    return Err(TraceError::Record { offset: Bytes(self.offset), problem });
                }
            }
            self.offset += record.len() as u64;
        }
        Ok(())
    }

    /// Reads a record. Returns whether there is one.
    fn next_record(&mut self, record: &mut [u8]) -> Result<bool, TraceError> {
        let mut found = 0;
        while found < record.len() {
            match self.source.read(&mut record[found..]) {
                Ok(0) if found == 0 => return Ok(false),
                Ok(0) => {
                    return Err(TraceError::Truncated {
                        offset: Bytes(self.offset),
                        found: Bytes(found as u64),
                        expected: Bytes(record.len() as u64),
                    });
                }
                Ok(more) => found += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(TraceError::Read(error)),
            }
        }
        Ok(true)
    }

    /// The I/O of a record; `None`: it is another command.
    fn io(&mut self, record: &[u8]) -> Result<Option<(Nanos, TraceIo)>, RowProblem> {
        if !self.version.fits(record) {
            return Err(RowProblem::RecordVersion);
        }
        let [operation, _] = self.version.command(record);
        let Some(kind) = kind(operation) else { return Ok(None) };
        let number = |at: usize| record[at..].first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
        let time = number(24).checked_mul(1000).ok_or(RowProblem::TimeTooLarge)?;
        let len = self.version.len(record);
        if len == 0 && kind != TraceKind::Sync {
            return Ok(None);
        }
        let (offset, len) = match kind {
            TraceKind::Sync => (Bytes::ZERO, Bytes::ZERO),
            _ => range(number(16).checked_mul(512), Some(len.into()))?,
        };
        let time = Nanos(time);
        self.timeline.check(time)?;
        Ok(Some((time, TraceIo::new(time, TraceTarget::new(0), kind, offset, len))))
    }
}

impl<R: BufRead> TraceReader for VscsiReader<R> {
    fn next_event(&mut self) -> Result<Option<TraceEvent>, TraceError> {
        if let Some(event) = self.pending.pop_front() {
            return Ok(Some(event));
        }
        self.fill()?;
        let Some((issued, io)) = self.window.take() else { return Ok(None) };
        let start = *self.start.get_or_insert(issued);
        let time = self.timeline.place(issued.saturating_sub(start), &mut self.notes);
        Ok(Some(TraceEvent::Io(TraceIo { time, ..io })))
    }
    fn notes(&self) -> &TraceNotes {
        &self.notes
    }
    fn format(&self) -> TraceFormat {
        TraceFormat::Vscsi
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace;

    /// A record: operation code, block, length and time.
    type Row = (u8, u64, u32, u64);

    fn one(rows: &[Row]) -> Vec<u8> {
        let record = |(number, (operation, block, len, time)): (u32, &Row)| {
            let mut record = ((number + 1) << 31).to_le_bytes().to_vec();
            record.extend(len.to_le_bytes());
            record.extend(7u32.to_le_bytes());
            record.extend([*operation, 0, 0, 1]);
            record.extend(block.to_le_bytes());
            record.extend(time.to_le_bytes());
            record
        };
        (0..).zip(rows).flat_map(record).collect()
    }

    fn two(rows: &[Row]) -> Vec<u8> {
        let record = |(number, (operation, block, len, time)): (u32, &Row)| {
            let mut record = vec![*operation, 0, 0, 2];
            record.extend(number.to_le_bytes());
            record.extend(len.to_le_bytes());
            record.extend(7u32.to_le_bytes());
            record.extend(block.to_le_bytes());
            record.extend(time.to_le_bytes());
            record.extend(99u64.to_le_bytes());
            record
        };
        (0..).zip(rows).flat_map(record).collect()
    }

    type Io = (u64, TraceKind, u64, u64);

    fn read(bytes: &[u8]) -> Result<(Vec<Io>, u64), TraceError> {
        let mut reader = trace::open(bytes, &TraceOptions::default())?;
        assert_eq!(reader.format(), TraceFormat::Vscsi);
        let mut ios = Vec::new();
        while let Some(event) = reader.next_event()? {
            match event {
                TraceEvent::Io(io) => ios.push((io.time.0, io.kind, io.offset.0, io.len.0)),
                TraceEvent::Target(_, TraceName::Volume(name)) => assert_eq!(name, "disk"),
                other => panic!("{other:?}"),
            }
        }
        Ok((ios, reader.notes().ignored))
    }

    /// A line feed is among the first bytes of some records.
    const ROWS: [Row; 6] = [
        (0x28, 42_932_745, 2560, 5_633_898_368_802),
        (0x12, 0, 36, 5_633_898_368_803),
        (0x2a, 10, 512, 5_633_898_368_902),
        (0x88, 0, 4096, 5_633_898_368_852),
        (0x35, 0, 0, 5_633_898_369_000),
        (0x2a, 3, 0, 5_633_898_369_001),
    ];

    #[test]
    fn both_versions_have_reads_writes_and_flushes_in_the_order_of_time() {
        let ios = vec![
            (0, TraceKind::Read, 42_932_745 * 512, 2560),
            (50_000, TraceKind::Read, 0, 4096),
            (100_000, TraceKind::Write, 5120, 512),
            (198_000, TraceKind::Sync, 0, 0),
        ];
        assert_eq!(read(&one(&ROWS)).unwrap(), (ios.clone(), 2));
        assert_eq!(read(&two(&ROWS)).unwrap(), (ios, 2));
        for bytes in [one(&ROWS[..1]), two(&ROWS[..1])] {
            assert_eq!(read(&bytes).unwrap().0.len(), 1, "a trace with one record");
        }
    }

    #[test]
    fn a_slow_source_of_single_bytes_is_detected_too() {
        let bytes = two(&ROWS);
        let slow = io::BufReader::with_capacity(1, &bytes[..]);
        let mut reader = trace::open(slow, &TraceOptions::default()).unwrap();
        assert_eq!(reader.format(), TraceFormat::Vscsi);
        assert!(reader.next_event().is_ok());
    }

    #[test]
    fn wrong_records_are_errors() {
        let bytes = one(&ROWS);
        let error = read(&bytes[..bytes.len() - 5]).unwrap_err();
        assert!(matches!(error, TraceError::Truncated { found: Bytes(27), .. }), "{error}");
        let mut other = one(&ROWS);
        other[3 * 32 + 15] = 9;
        let error = read(&other).unwrap_err();
        assert!(error.to_string().contains("byte 96 "), "{error}");
        let far = one(&[(0x28, u64::MAX / 512, 512, 1), (0x28, u64::MAX, 512, 2)]);
        assert!(matches!(read(&far), Err(TraceError::Record { problem: RowProblem::TooFar, .. })));
        let late = one(&[(0x28, 1, 512, 1), (0x28, 1, 512, u64::MAX)]);
        assert!(matches!(
            read(&late),
            Err(TraceError::Record { problem: RowProblem::TimeTooLarge, .. })
        ));
        let gap = one(&[(0x28, 1, 512, 1), (0x28, 1, 512, u64::MAX / 2000)]);
        assert!(matches!(
            read(&gap),
            Err(TraceError::Record { problem: RowProblem::Gap { .. }, .. })
        ));
    }
}
