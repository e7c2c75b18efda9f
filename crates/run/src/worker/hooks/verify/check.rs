//! Compares the bytes of a read with what was written.

use fiord_formats::verify::header::{Corruption, Expected, HeaderLayout, VerifyHeader};
use fiord_formats::verify::interval;
use fiord_formats::verify::method::Method;

use fiord_types::Bytes;

use super::fill::JobFormat;

/// What a reader knows about the write whose bytes it reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct WriteClues {
    /// The seed of its body.
    pub seed: Option<u64>,
    /// Its number.
    pub number: Option<u64>,
}

/// An interval that does not contain what was written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BadRead {
    /// Offset in the file.
    pub offset: Bytes,
    /// Length.
    pub len: Bytes,
    /// How it differs.
    pub difference: BadContents,
}

impl BadRead {
    /// Whether the header of the interval is intact, so that the rest can be computed from it.
    pub(super) fn has_intact_header(&self) -> bool {
        matches!(
            self.difference,
            BadContents::Pattern { .. } | BadContents::Sealed(Corruption::Digest(_))
        )
    }
}

/// How an interval differs from what was written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum BadContents {
    /// The header or the digest.
    #[error("{0}")]
    Sealed(#[from] Corruption),
    /// A byte of the pattern.
    #[error("byte {position} of the read is {found:#04x}, the pattern has {expected:#04x}")]
    Pattern {
        /// Position in the I/O.
        position: u64,
        expected: u8,
        found: u8,
    },
}

/// Checks reads.
#[derive(Debug, Clone)]
pub(super) struct Checker {
    format: JobFormat,
    /// The bytes that a pattern gives for the whole I/O.
    expected: Vec<u8>,
    /// An interval with its header at its start.
    moved: Vec<u8>,
}

impl Checker {
    pub(super) fn new(format: JobFormat) -> Self {
        Checker { format, expected: Vec::new(), moved: Vec::new() }
    }

    /// Checks the bytes of a read at `offset`. Calls `bad` for each bad interval, until it returns false.
    pub(super) fn check(
        &mut self,
        offset: u64,
        data: &[u8],
        write: &WriteClues,
        mut bad: impl FnMut(BadRead) -> bool,
    ) {
        if self.format.method == Method::Null {
            return;
        }
        let compares = matches!(self.format.method, Method::Pattern | Method::PatternHdr);
        let pattern = self.format.pattern.as_ref().filter(|_| compares);
        if let Some(pattern) = pattern {
            self.expected.resize(data.len(), 0);
            pattern.fill(offset, &mut self.expected);
        }
        let has_pattern = pattern.is_some();
        for (at, interval) in self.format.intervals(offset, data) {
            let position = (at - offset) as usize;
            let expected = has_pattern.then(|| &self.expected[position..position + interval.len()]);
            let result =
                check_interval(&self.format, &mut self.moved, (at, interval), write, expected);
            if let Err(mut difference) = result {
                if let BadContents::Pattern { position: within, .. } = &mut difference {
                    *within += position as u64;
                }
                let (offset, len) = (Bytes(at), Bytes(interval.len() as u64));
                if !bad(BadRead { offset, len, difference }) {
                    return;
                }
            }
        }
    }
}

/// Checks one interval. `expected`: its bytes according to the pattern, if its contents are compared.
fn check_interval(
    format: &JobFormat,
    moved: &mut Vec<u8>,
    (offset, interval): (u64, &[u8]),
    write: &WriteClues,
    expected: Option<&[u8]>,
) -> Result<(), BadContents> {
    let mut body = 0;
    let mut found = interval;
    if format.method.has_header() {
        if format.moves_headers() {
            // An interval too short for its header has a bad header, too.
            for layout in [HeaderLayout::Current, HeaderLayout::Before341] {
                moved.clear();
                moved.extend_from_slice(interval);
                let _ = format.exchange(moved, layout);
                if VerifyHeader::read(moved).is_ok_and(|header| header.layout == layout) {
                    break;
                }
            }
            found = moved;
        }
        let length = u32::try_from(interval.len()).unwrap_or(u32::MAX);
        let header = Expected { length, offset, seed: write.seed, number: write.number };
        body = match expected {
            Some(_) => VerifyHeader::check(found, &header)?.layout.header_length(),
            None => interval::check(found, format.method, &header)?.layout.header_length(),
        };
    }
    let Some(expected) = expected else { return Ok(()) };
    let pairs = || found.iter().zip(expected).enumerate().skip(body);
    match pairs().find(|(_, (found, expected))| found != expected) {
        None => Ok(()),
        Some((position, (&found, &expected))) => {
            Err(BadContents::Pattern { position: position as u64, expected, found })
        }
    }
}
