//! The columns of each format, and how the first line tells the format.

use fiord_types::Nanos;

use super::biosnoop::Biosnoop;
use super::field::{Epoch, direction, number, range};
use super::row::CsvRow;
use crate::trace::TraceFormat;
use crate::trace::error::RowProblem;
use crate::trace::record::{TraceFlags, TraceKind};

/// How the lines of a trace are laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::trace) enum CsvLayout {
    MsrCambridge,
    Alibaba,
    Tencent,
    CloudPhysics,
    Biosnoop(Biosnoop),
}

/// Names of the columns in the first line.
const NAMES: [(&str, CsvLayout); 4] = [
    ("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime", CsvLayout::MsrCambridge),
    ("device_id,opcode,offset,length,timestamp", CsvLayout::Alibaba),
    ("Timestamp,Offset,Size,IOType,VolumeID", CsvLayout::Tencent),
    ("ts,lba,op,size", CsvLayout::CloudPhysics),
];

impl CsvLayout {
    /// The layout of a trace that begins with `line`, and whether this line names the columns.
    pub(in crate::trace) fn of(line: &[u8]) -> Option<(CsvLayout, bool)> {
        let line = line.trim_ascii();
        let named =
            NAMES.into_iter().find(|(names, _)| line.eq_ignore_ascii_case(names.as_bytes()));
        if let Some((_, layout)) = named {
            return Some((layout, true));
        }
        if let Some(columns) = Biosnoop::of(line) {
            return Some((CsvLayout::Biosnoop(columns), true));
        }
        let number = |text: &[u8]| number(text, "").is_ok();
        let layout = match fields(line)? {
            Fields::Seven([.., kind, _, _, _]) if direction(kind).is_some() => {
                CsvLayout::MsrCambridge
            }
            Fields::Five([device, kind, ..]) if number(device) && direction(kind).is_some() => {
                CsvLayout::Alibaba
            }
            Fields::Five([a, b, c, b"0" | b"1", e]) if [a, b, c, e].into_iter().all(number) => {
                CsvLayout::Tencent
            }
            Fields::Four([ts, lba, kind, _])
                if number(ts) && number(lba) && direction(kind).is_some() =>
            {
                CsvLayout::CloudPhysics
            }
            _ => return None,
        };
        Some((layout, false))
    }

    pub(in crate::trace) fn format(&self) -> TraceFormat {
        match self {
            CsvLayout::MsrCambridge => TraceFormat::MsrCambridge,
            CsvLayout::Alibaba => TraceFormat::Alibaba,
            CsvLayout::Tencent => TraceFormat::Tencent,
            CsvLayout::CloudPhysics => TraceFormat::CloudPhysics,
            CsvLayout::Biosnoop(_) => TraceFormat::Biosnoop,
        }
    }

    /// Parses a line that is not empty.
    #[inline]
    pub(super) fn row<'a>(&self, line: &'a [u8]) -> Result<CsvRow<'a>, RowProblem> {
        match self {
            CsvLayout::MsrCambridge => msr(line),
            CsvLayout::Alibaba => alibaba(line),
            CsvLayout::Tencent => tencent(line),
            CsvLayout::CloudPhysics => cloud_physics(line),
            CsvLayout::Biosnoop(columns) => columns.row(line),
        }
    }
}

enum Fields<'a> {
    Four([&'a [u8]; 4]),
    Five([&'a [u8]; 5]),
    Seven([&'a [u8]; 7]),
}

fn fields(line: &[u8]) -> Option<Fields<'_>> {
    let four = split(line).map(Fields::Four);
    four.or_else(|_| split(line).map(Fields::Five)).or_else(|_| split(line).map(Fields::Seven)).ok()
}

/// The fields of a line, which must be exactly `N`.
#[inline]
fn split<const N: usize>(line: &[u8]) -> Result<[&[u8]; N], RowProblem> {
    let mut found = [&b""[..]; N];
    let mut rest = line;
    for (index, field) in found.iter_mut().enumerate() {
        let end = rest.iter().position(|byte| *byte == b',');
        match end {
            Some(end) if index + 1 < N => (*field, rest) = (&rest[..end], &rest[end + 1..]),
            None if index + 1 == N => *field = rest,
            _ => return Err(RowProblem::Columns { expected: N }),
        }
    }
    Ok(found)
}

fn msr(line: &[u8]) -> Result<CsvRow<'_>, RowProblem> {
    let [time, host, disk, kind, offset, len, response] = split(line)?;
    let issued = Epoch::WINDOWS.time(number(time, "timestamp")?)?;
    let kind = direction(kind).ok_or(RowProblem::Action)?;
    let (offset, len) = range(Some(number(offset, "offset")?), Some(number(len, "size")?))?;
    let response = number(response, "response time")?;
    Ok(CsvRow {
        issued,
        volume: (host.trim_ascii(), disk.trim_ascii()),
        kind,
        offset,
        len,
        flags: TraceFlags::NONE,
        latency: Some(Nanos(response.saturating_mul(100))),
    })
}

fn alibaba(line: &[u8]) -> Result<CsvRow<'_>, RowProblem> {
    let [device, kind, offset, len, time] = split(line)?;
    let issued = Epoch::MICROSECONDS.time(number(time, "timestamp")?)?;
    let kind = direction(kind).ok_or(RowProblem::Action)?;
    let (offset, len) = range(Some(number(offset, "offset")?), Some(number(len, "length")?))?;
    let volume = (device.trim_ascii(), &b""[..]);
    Ok(CsvRow { issued, volume, kind, offset, len, flags: TraceFlags::NONE, latency: None })
}

fn tencent(line: &[u8]) -> Result<CsvRow<'_>, RowProblem> {
    let [time, offset, len, kind, volume] = split(line)?;
    let issued = Epoch::SECONDS.time(number(time, "timestamp")?)?;
    let kind = match kind.trim_ascii() {
        b"0" => TraceKind::Read,
        b"1" => TraceKind::Write,
        _ => return Err(RowProblem::Action),
    };
    let sectors = |text, field| Ok(number(text, field)?.checked_mul(512));
    let (offset, len) = range(sectors(offset, "offset")?, sectors(len, "size")?)?;
    let volume = (volume.trim_ascii(), &b""[..]);
    Ok(CsvRow { issued, volume, kind, offset, len, flags: TraceFlags::NONE, latency: None })
}

fn cloud_physics(line: &[u8]) -> Result<CsvRow<'_>, RowProblem> {
    let [time, lba, kind, len] = split(line)?;
    let micros = number(time, "timestamp")?;
    let issued = micros.checked_mul(1000).ok_or(RowProblem::NotANumber { field: "timestamp" })?;
    let kind = direction(kind).ok_or(RowProblem::Action)?;
    let (offset, len) = range(number(lba, "lba")?.checked_mul(512), Some(number(len, "size")?))?;
    Ok(CsvRow {
        issued: Nanos(issued),
        volume: (b"disk", b""),
        kind,
        offset,
        len,
        flags: TraceFlags::NONE,
        latency: None,
    })
}
