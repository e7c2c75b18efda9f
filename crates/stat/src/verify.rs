//! The results of verification: what was verified, and what was wrong.
//!
//! ```
//! use fiord_formats::integrity::diagnosis::{BadExtent, Diagnosis, FaultClass};
//! use fiord_stat::verify::{Unverified, VerifyResults};
//! use fiord_types::Bytes;
//!
//! let mut results = VerifyResults::default();
//! results.coverage.written = Bytes::from_kib(64);
//! results.coverage.verified = Bytes::from_kib(60);
//! results.coverage.skip(Unverified::RuntimeEnded, Bytes::from_kib(4));
//! let blank = |kib| BadExtent {
//!     start: Bytes::from_kib(kib), length: Bytes::from_kib(4), diagnosis: Diagnosis::Blank { ones: false },
//! };
//! results.add("/dev/sdx", blank(8), None);
//! results.add("/dev/sdx", blank(12), None);
//! results.finish();
//! assert_eq!(results.counts()[&FaultClass::Blank].extents(), 1);
//! assert_eq!(results.extents()[0].extent.length, Bytes::from_kib(8));
//! ```

use std::collections::BTreeMap;
use std::fmt;

use fiord_formats::integrity::diagnosis::{BadExtent, Diagnosis, FaultClass, Misdirection};
use fiord_formats::integrity::recheck::RereadConclusion;
use fiord_types::Bytes;
use serde::{Deserialize, Serialize};

use crate::maps::is_default;

/// The number of extents of each class that a report shows in full, unless the job says otherwise.
pub const SHOWN_EXTENTS: usize = 10;

/// How much of what a job wrote was verified. The sum of `verified` and all parts of `unverified` is `written`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Coverage {
    /// Bytes of all writes of the job.
    pub written: Bytes,
    /// Bytes of them that were read back and checked, whether right or wrong.
    pub verified: Bytes,
    /// Bytes of them that were not checked, by reason.
    pub unverified: BTreeMap<Unverified, Bytes>,
    /// `verify_complete`: the run fails if the job verified less than it could have.
    pub required: bool,
}

/// Why written bytes were not verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unverified {
    /// `runtime` ended before the verify pass had read them.
    RuntimeEnded,
    /// A later write replaced them.
    Overwritten,
    /// The write was in flight when the job ended.
    InFlight,
    /// The write failed, so the contents of its blocks are unknown.
    Failed,
    /// The bytes were trimmed.
    Trimmed,
    /// A job that only reads has read them, and no job of the run had written them.
    NeverWritten,
    /// The job does not verify (`do_verify=0`).
    NotAsked,
    /// The job ended after an error.
    JobFailed,
}

impl Unverified {
    /// All reasons, in the order of reports.
    pub const ALL: [Unverified; 8] = [
        Unverified::RuntimeEnded,
        Unverified::Overwritten,
        Unverified::InFlight,
        Unverified::Failed,
        Unverified::Trimmed,
        Unverified::NeverWritten,
        Unverified::NotAsked,
        Unverified::JobFailed,
    ];

    /// The word of the reason in reports, as serde has it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Unverified::RuntimeEnded => "runtime-ended",
            Unverified::Overwritten => "overwritten",
            Unverified::InFlight => "in-flight",
            Unverified::Failed => "failed",
            Unverified::Trimmed => "trimmed",
            Unverified::NeverWritten => "never-written",
            Unverified::NotAsked => "not-asked",
            Unverified::JobFailed => "job-failed",
        }
    }
}

impl Coverage {
    /// Adds bytes that were not verified.
    pub fn skip(&mut self, why: Unverified, bytes: Bytes) {
        if bytes > Bytes::ZERO {
            let sum = self.unverified.entry(why).or_default();
            *sum = sum.saturating_add(bytes);
        }
    }

    /// The job ended after an error, before it had read everything.
    pub fn job_failed(&mut self) {
        let rest = self.unverified.remove(&Unverified::RuntimeEnded);
        self.skip(Unverified::JobFailed, rest.unwrap_or_default());
    }

    /// Whether the job verified less than it could have: data that is still on the target was not checked.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        let gone = |why: &Unverified| matches!(why, Unverified::Overwritten | Unverified::Trimmed);
        self.unverified.iter().any(|(why, bytes)| !gone(why) && *bytes > Bytes::ZERO)
    }

    /// Whether the run fails because too little was verified (`verify_complete`).
    #[must_use]
    pub fn fails(&self) -> bool {
        self.required && self.is_incomplete()
    }

    fn merge(&mut self, other: &Coverage) {
        self.written = self.written.saturating_add(other.written);
        self.verified = self.verified.saturating_add(other.verified);
        self.required |= other.required;
        other.unverified.iter().for_each(|(why, bytes)| self.skip(*why, *bytes));
    }
}

/// Number of bad extents of a class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FaultCount {
    extents: u64,
    /// Number of bytes of the extents.
    pub bytes: Bytes,
}

impl FaultCount {
    /// Number of extents.
    #[must_use]
    pub fn extents(&self) -> u64 {
        self.extents
    }
}

/// A bad extent of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileExtent {
    pub file: String,
    /// The size of the file; `None` if it is unknown.
    #[serde(default, rename = "file_size_bytes", skip_serializing_if = "Option::is_none")]
    pub file_size: Option<Bytes>,
    /// What is wrong where.
    #[serde(flatten)]
    pub extent: BadExtent,
    /// What further reads of the extent showed; `None` if it was not read again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reread: Option<RereadConclusion>,
}

/// The file, offset and length in bytes, the class, and an explanation, on one line.
impl fmt::Display for FileExtent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BadExtent { start, length, .. } = self.extent;
        write!(f, "{}: offset {}, length {}, {}", self.file, start.0, length.0, self.extent)?;
        match self.reread {
            Some(conclusion) => write!(f, "; {}", conclusion.sentence()),
            None => Ok(()),
        }
    }
}

/// What the verification of one or more jobs found. Merging is exact: counts and coverage of merged results equal
/// those of one job that found everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerifyResults {
    /// How much was verified.
    pub coverage: Coverage,
    /// Writes of an earlier run that the job went over without writing (`verify_only`).
    #[serde(skip_serializing_if = "is_default")]
    pub replayed_writes: u64,
    counts: BTreeMap<FaultClass, FaultCount>,
    /// The first extents of each class, in the order in which they were found.
    extents: Vec<FileExtent>,
    /// Maximum number of extents of each class in `extents`.
    shown: usize,
    /// The extent that was added last: the next one may continue it.
    last: Option<FileExtent>,
}

impl Default for VerifyResults {
    fn default() -> Self {
        VerifyResults::showing(SHOWN_EXTENTS)
    }
}

impl VerifyResults {
    /// Results that keep the first `shown` extents of each class in full.
    #[must_use]
    pub fn showing(shown: usize) -> Self {
        VerifyResults {
            coverage: Coverage::default(),
            replayed_writes: 0,
            counts: BTreeMap::new(),
            extents: Vec::new(),
            shown,
            last: None,
        }
    }

    /// Adds a bad extent. Merges it into the extent that was added last if it continues it. Otherwise returns that
    /// extent, which is now complete.
    pub fn add(
        &mut self,
        file: &str,
        extent: BadExtent,
        reread: Option<RereadConclusion>,
    ) -> Option<FileExtent> {
        if let Some(last) = &mut self.last
            && last.file == file
            && last.reread == reread
            && last.extent.merge(&extent)
        {
            return None;
        }
        let complete = self.finish();
        self.last = Some(FileExtent { file: file.to_owned(), file_size: None, extent, reread });
        complete
    }

    /// Completes the extent that was added last, and returns it.
    pub fn finish(&mut self) -> Option<FileExtent> {
        let mut complete = self.last.take()?;
        self.relate(&mut complete);
        let class = complete.extent.diagnosis.class();
        self.count(class, complete.extent.length);
        self.keep(complete.clone());
        Some(complete)
    }

    /// A copy in which the extent that was added last is complete.
    #[must_use]
    pub fn finished(&self) -> Self {
        let mut copy = self.clone();
        copy.finish();
        copy
    }

    /// Number of bad extents by class. Without the extent that was added last, until [`VerifyResults::finish`].
    #[must_use]
    pub fn counts(&self) -> &BTreeMap<FaultClass, FaultCount> {
        &self.counts
    }

    /// Bytes of all bad extents. Without the extent that was added last, until [`VerifyResults::finish`].
    #[must_use]
    pub fn bad_bytes(&self) -> Bytes {
        self.counts.values().fold(Bytes::ZERO, |sum, count| sum.saturating_add(count.bytes))
    }

    /// The first extents of each class.
    #[must_use]
    pub fn extents(&self) -> &[FileExtent] {
        &self.extents
    }

    /// States the sizes of the files with bad extents, if `size` knows them.
    pub fn state_sizes(&mut self, size: impl Fn(&str) -> Option<Bytes>) {
        for extent in &mut self.extents {
            extent.file_size = size(&extent.file);
        }
    }

    /// Number of extents that are counted and not among [`VerifyResults::extents`].
    #[must_use]
    pub fn not_shown(&self) -> u64 {
        let extents = self.counts.values().map(|count| count.extents);
        extents.fold(0, u64::saturating_add).saturating_sub(self.extents.len() as u64)
    }

    /// Adds the results of another job.
    pub fn merge(&mut self, other: &VerifyResults) {
        self.finish();
        let mut other = other.clone();
        other.finish();
        self.coverage.merge(&other.coverage);
        self.replayed_writes = self.replayed_writes.saturating_add(other.replayed_writes);
        for (class, count) in &other.counts {
            let sum = self.counts.entry(*class).or_default();
            sum.extents = sum.extents.saturating_add(count.extents);
            sum.bytes = sum.bytes.saturating_add(count.bytes);
        }
        other.extents.into_iter().for_each(|extent| self.keep(extent));
    }

    fn count(&mut self, class: FaultClass, bytes: Bytes) {
        let sum = self.counts.entry(class).or_default();
        sum.extents = sum.extents.saturating_add(1);
        sum.bytes = sum.bytes.saturating_add(bytes);
    }

    fn keep(&mut self, extent: FileExtent) {
        let class = extent.extent.diagnosis.class();
        let of_class = |e: &&FileExtent| e.extent.diagnosis.class() == class;
        if self.extents.iter().filter(of_class).count() < self.shown {
            self.extents.push(extent);
        }
    }

    /// Finds the other half of a misdirected write, or of an exchange of two blocks, among the extents that are
    /// kept in full. Both halves get the same class.
    fn relate(&mut self, new: &mut FileExtent) {
        let start = new.extent.start;
        let length = new.extent.length;
        let mut recount = None;
        for old in self.extents.iter_mut().filter(|old| old.file == new.file) {
            let theirs = old.extent.start;
            match (&new.extent.diagnosis, &old.extent.diagnosis) {
                (Diagnosis::Misdirected(a), Diagnosis::Misdirected(b))
                    if a.foreign && b.foreign && a.other == theirs && b.other == start =>
                {
                    new.extent.diagnosis = Diagnosis::Swapped { with: theirs };
                    recount = Some((old.extent.diagnosis.class(), old.extent.length));
                    old.extent.diagnosis = Diagnosis::Swapped { with: start };
                }
                (Diagnosis::Misdirected(a), lost)
                    if a.foreign && is_loss(lost) && within(theirs, a.other, length) =>
                {
                    let other = start.saturating_add(theirs.saturating_sub(a.other));
                    recount = Some((lost.class(), old.extent.length));
                    let found = Misdirection { other, foreign: false };
                    old.extent.diagnosis = Diagnosis::Misdirected(found);
                }
                (lost, Diagnosis::Misdirected(b))
                    if b.foreign && is_loss(lost) && within(start, b.other, old.extent.length) =>
                {
                    let other = theirs.saturating_add(start.saturating_sub(b.other));
                    let found = Misdirection { other, foreign: false };
                    new.extent.diagnosis = Diagnosis::Misdirected(found);
                }
                _ => continue,
            }
            if let Some((class, bytes)) = recount {
                let now = old.extent.diagnosis.class();
                self.move_count(class, now, bytes);
            }
            return;
        }
    }

    fn move_count(&mut self, from: FaultClass, to: FaultClass, bytes: Bytes) {
        if let Some(sum) = self.counts.get_mut(&from) {
            sum.extents = sum.extents.saturating_sub(1);
            sum.bytes = sum.bytes.saturating_sub(bytes);
        }
        self.counts.retain(|_, count| count.extents > 0);
        self.count(to, bytes);
    }
}

/// What JSON states about the results: [`VerifyResults`] as it is has the form in which hosts exchange it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StatedResults {
    written_bytes: Bytes,
    verified_bytes: Bytes,
    unverified_bytes: BTreeMap<Unverified, Bytes>,
    faults: BTreeMap<FaultClass, FaultCount>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extents: Vec<FileExtent>,
}

impl From<&VerifyResults> for StatedResults {
    fn from(results: &VerifyResults) -> Self {
        let Coverage { written, verified, ref unverified, .. } = results.coverage;
        StatedResults {
            written_bytes: written,
            verified_bytes: verified,
            unverified_bytes: unverified.clone(),
            faults: results.counts.clone(),
            extents: results.extents.clone(),
        }
    }
}

impl From<StatedResults> for VerifyResults {
    fn from(stated: StatedResults) -> Self {
        let coverage = Coverage {
            written: stated.written_bytes,
            verified: stated.verified_bytes,
            unverified: stated.unverified_bytes,
            required: false,
        };
        let StatedResults { faults, extents, .. } = stated;
        VerifyResults { coverage, counts: faults, extents, ..VerifyResults::default() }
    }
}

/// Whether the diagnosis says that an older state of a block was found: the newest data may be elsewhere.
fn is_loss(diagnosis: &Diagnosis) -> bool {
    matches!(
        diagnosis.class(),
        FaultClass::Stale | FaultClass::Blank | FaultClass::EarlierRun | FaultClass::OtherTarget
    )
}

fn within(at: Bytes, start: Bytes, length: Bytes) -> bool {
    start <= at && at < start.saturating_add(length)
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
