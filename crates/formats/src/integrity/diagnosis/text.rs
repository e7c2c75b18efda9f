//! A diagnosis in words.

use std::fmt;

use super::{
    BadExtent, BitFlips, Diagnosis, Misdirection, Promise, Staleness, Tear, TearOrder, TearUnit,
    Unrecognized,
};

/// The class, a colon, and one sentence without a full stop.
impl fmt::Display for BadExtent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.diagnosis.class().word())?;
        match &self.diagnosis {
            Diagnosis::ReadError { errno } => write!(f, "the read failed: {errno}"),
            Diagnosis::Blank { ones: false } => f.write_str("all bytes are zero"),
            Diagnosis::Blank { ones: true } => f.write_str("all bits are one"),
            Diagnosis::EarlierRun { run, belongs } => {
                match run {
                    Some(run) => {
                        write!(
                            f,
                            "run {run} wrote it, which started at {} s since 1970",
                            run.started()
                        )?;
                    }
                    None => f.write_str("an earlier run wrote it")?,
                }
                match belongs {
                    Some(belongs) => write!(f, "; it belongs at offset {}", belongs.0),
                    None => Ok(()),
                }
            }
            Diagnosis::OtherTarget { target, belongs } => {
                write!(f, "it belongs at offset {} of target {target}", belongs.0)
            }
            Diagnosis::Misdirected(misdirection) => self.misdirected(misdirection, f),
            Diagnosis::Stale(stale) => staleness(stale, f),
            Diagnosis::Torn(tear) => torn(tear, f),
            Diagnosis::BitFlips(flips) => flipped(flips, f),
            Diagnosis::Shifted { by } => {
                let side = if *by < 0 { "before" } else { "after" };
                write!(f, "the data is {} bytes {side} its place", by.unsigned_abs())
            }
            Diagnosis::Swapped { with } => {
                write!(f, "exchanged with the data at offset {}", with.0)
            }
            Diagnosis::OtherJob { found } => write!(
                f,
                "write {} of job {} of this run is here, and another write was expected: the jobs overlap, \
                 which is an error of the test",
                found.number, found.job
            ),
            Diagnosis::OtherMethod { written, job } => write!(
                f,
                "written with verify={written}, the job has verify={job}: not a fault of the medium. \
                 To fix: set verify={written}"
            ),
            Diagnosis::Unrecognized(unknown) => unrecognized(unknown, f),
        }
    }
}

impl BadExtent {
    fn misdirected(&self, misdirection: &Misdirection, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Misdirection { other, foreign } = *misdirection;
        let distance = misdirection.distance(self.start);
        let side = if distance < 0 { "before" } else { "after" };
        let distance = distance.unsigned_abs();
        match foreign {
            true => write!(
                f,
                "data of this run that belongs at offset {}, {distance} bytes {side} its place",
                other.0
            ),
            false => write!(
                f,
                "older data; the data that belongs here is at offset {}, {distance} bytes {side} its place",
                other.0
            ),
        }
    }
}

fn staleness(stale: &Staleness, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match stale.generations {
        Some(1) => f.write_str("1 generation old")?,
        Some(generations) => write!(f, "{generations} generations old")?,
        None => f.write_str("older data")?,
    }
    write!(f, ": write {} of job {}", stale.found.number, stale.found.job)?;
    if let Some(missing) = stale.missing {
        write!(f, " instead of write {}", missing.number)?;
    }
    f.write_str(match stale.promise {
        Promise::Unknown => "",
        Promise::Issued => "; the target had not acknowledged the newer write",
        Promise::Acknowledged => "; the target had acknowledged the newer write",
        Promise::Flushed => "; the target had acknowledged the newer write and a flush after it",
    })
}

fn torn(tear: &Tear, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (write, at) = (tear.write.0, tear.at.0);
    match tear.order {
        TearOrder::HeadNew => {
            write!(
                f,
                "the write at offset {write} ends after {at} bytes, then older data follows"
            )?;
        }
        TearOrder::TailNew => {
            write!(
                f,
                "the write at offset {write} lacks its first {at} bytes, older data is in their place"
            )?;
        }
    }
    f.write_str(match tear.unit {
        TearUnit::Interval => "; torn between two intervals",
        TearUnit::Page => "; torn at a multiple of 4096 bytes",
        TearUnit::Sector => "; torn between two sectors",
        TearUnit::Byte => "; torn within a sector",
    })
}

fn flipped(flips: &BitFlips, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let BitFlips { count, ones, units, .. } = *flips;
    match count {
        1 => f.write_str("1 bit differs")?,
        _ => write!(f, "{count} bits differ, {ones} of them are 1 instead of 0")?,
    }
    if units > 1 {
        let same = if flips.uniform { "equal" } else { "different" };
        write!(f, ", in {units} sectors at {same} positions")?;
    }
    if let Some(first) = flips.first.first() {
        let (expected, found) = (first.expected, first.found);
        write!(f, "; the first: byte {} is {found:#04x} instead of {expected:#04x}", first.at.0)?;
    }
    Ok(())
}

fn unrecognized(unknown: &Unrecognized, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("the data begins with ")?;
    unknown.first_bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
    match unknown.first_difference {
        Some(at) => write!(f, "; the first wrong byte is byte {}", at.0),
        None => Ok(()),
    }
}
