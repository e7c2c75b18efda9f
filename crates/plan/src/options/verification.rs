//! Which method, pattern and trims the options of verification mean. Other options depend on them.

use fiord_formats::verify::method::Method;
use fiord_job::option::table::{
    EXPERIMENTAL_VERIFY, TRIM_BACKLOG, TRIM_BACKLOG_BATCH, TRIM_PERCENTAGE, TRIM_VERIFY_ZERO,
    VERIFY, VERIFY_ONLY, VERIFY_PATTERN, VERIFY_PATTERN_INTERVAL, Verify,
};
use fiord_types::{Bytes, Dir};

use crate::model::{Mix, VerifyMethod, VerifyPattern, VerifyTrims};
use crate::options::reading::Reading;

pub(crate) fn pattern(job: Reading) -> Option<VerifyPattern> {
    let parts = job.get(VERIFY_PATTERN).filter(|parts| !parts.is_empty())?;
    let interval =
        Some(job.get(VERIFY_PATTERN_INTERVAL)).filter(|interval| *interval > Bytes::ZERO);
    Some(VerifyPattern { parts, interval })
}

/// The method of a job. A pattern alone implies a header with it, but not if the job sets `verify=0`.
pub(crate) fn method(job: Reading) -> Option<VerifyMethod> {
    match job.get(VERIFY) {
        Verify::None if pattern(job).is_none() || job.is_set(VERIFY) => None,
        Verify::None => Some(VerifyMethod::Fio(Method::PatternHdr)),
        Verify::Fiord => Some(VerifyMethod::Fiord),
        word => fio_method(word).map(VerifyMethod::Fio),
    }
}

/// The method in fio's format that a word of `verify` means. `None`: it means none.
#[must_use]
pub fn fio_method(word: Verify) -> Option<Method> {
    Some(match word {
        Verify::None | Verify::Fiord => return None,
        Verify::Md5 => Method::Md5,
        Verify::Crc64 => Method::Crc64,
        Verify::Crc32 => Method::Crc32,
        Verify::Crc32c => Method::Crc32c,
        Verify::Crc16 => Method::Crc16,
        Verify::Crc7 => Method::Crc7,
        Verify::Sha1 => Method::Sha1,
        Verify::Sha256 => Method::Sha256,
        Verify::Sha512 => Method::Sha512,
        Verify::Sha3224 => Method::Sha3224,
        Verify::Sha3256 => Method::Sha3256,
        Verify::Sha3384 => Method::Sha3384,
        Verify::Sha3512 => Method::Sha3512,
        Verify::Xxhash => Method::Xxhash,
        Verify::Meta => Method::Meta,
        Verify::Pattern => Method::Pattern,
        Verify::PatternHdr => Method::PatternHdr,
        Verify::Null => Method::Null,
    })
}

/// Whether a job trims blocks that it has written.
pub(crate) fn trims_writes(job: Reading, mix: Mix) -> bool {
    mix.has(Dir::Write) && !job.get(VERIFY_ONLY) && trims_requested(job)
}

/// Whether the options of a job ask for trims of blocks that it has written.
pub(crate) fn trims_requested(job: Reading) -> bool {
    method(job).is_some() && trims(job).is_some()
}

/// The trims of a job: percentage and backlog are both needed. With `experimental_verify`, fio trims nothing.
pub(crate) fn trims(job: Reading) -> Option<VerifyTrims> {
    let percent = Some(job.get(TRIM_PERCENTAGE)).filter(|percent| *percent > 0)?;
    if job.get(EXPERIMENTAL_VERIFY) {
        return None;
    }
    let backlog = job.get(TRIM_BACKLOG).filter(|backlog| *backlog > 0)?;
    let all = u32::try_from(backlog).unwrap_or(u32::MAX);
    let batch = job.get(TRIM_BACKLOG_BATCH).filter(|batch| *batch > 0).unwrap_or(all);
    Some(VerifyTrims { percent, backlog, batch, must_read_zero: job.get(TRIM_VERIFY_ZERO) })
}
