//! What a job does when it has read bad data.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fiord_formats::integrity::diagnosis::BadExtent;
use fiord_plan::{JobPlan, VerifyMethod, VerifyPlan};
use fiord_types::{Errno, FileIndex};

use super::dump::Dumps;
use crate::error::{JobError, Stage};
use crate::hook::Disposition;
use crate::verify::contents::{BadContents, BadRead, JudgedRead};

/// Maximum number of messages about bad intervals of one job.
const MAX_MESSAGES: u64 = 1000;

/// Reports bad data, and decides whether the job continues.
pub(crate) struct ErrorPolicy {
    method: &'static str,
    job: Vec<PathBuf>,
    continues: bool,
    fatal: bool,
    dumps: Option<Dumps>,
    report: Arc<dyn Fn(String) + Send + Sync>,
    messages: u64,
}

impl ErrorPolicy {
    /// `aux_path`: directory for dumps. `report`: receives a message about each bad block.
    pub(crate) fn of(
        job: &JobPlan,
        plan: &VerifyPlan,
        aux_path: &Path,
        report: Arc<dyn Fn(String) + Send + Sync>,
    ) -> Self {
        ErrorPolicy {
            method: word(plan.method),
            job: job.target.files.iter().map(|file| file.path.clone()).collect(),
            continues: job.reporting.continue_on_error.verification.accepts_bad_data(),
            fatal: plan.fatal,
            dumps: plan.dump.then(|| Dumps::new(aux_path.to_path_buf())),
            report,
            messages: 0,
        }
    }

    /// Reports a bad interval. `extents`: what is wrong with the read. `expected`: the whole read as it should be, if
    /// that is known.
    pub(crate) fn report(
        &mut self,
        read: JudgedRead<'_>,
        bad: &BadRead,
        extents: &[BadExtent],
        expected: Option<&[u8]>,
    ) {
        self.messages += 1;
        if self.messages <= MAX_MESSAGES {
            let mut text = self.text(read, bad);
            let end = bad.offset.saturating_add(bad.len);
            let diagnosis = extents.iter().find(|one| one.start < end && one.end() > bad.offset);
            if let Some(diagnosis) = diagnosis
                && !matches!(bad.difference, BadContents::Sectors(_))
            {
                text.push_str(&format!("; {diagnosis}"));
            }
            let position = bad.offset.saturating_sub(read.offset()).0 as usize;
            if let Some(dumps) = &self.dumps {
                let range = position..position + bad.len.0 as usize;
                let expected = expected.and_then(|expected| expected.get(range.clone()));
                let found = read.data.get(range).unwrap_or_default();
                text.push_str(&dumps.save(self.path(read.op.file), bad.offset, found, expected));
            }
            if self.messages == MAX_MESSAGES {
                text.push_str("; further bad blocks of this job are counted and not listed");
            }
            (self.report)(text);
        }
    }

    /// Whether the job ends at the first bad interval.
    pub(crate) fn is_fatal(&self) -> bool {
        self.fatal
    }

    fn text(&self, read: JudgedRead<'_>, bad: &BadRead) -> String {
        format!(
            "verify={} failed on {} at offset {}, length {}: {} (read of {} bytes at offset {})",
            self.method,
            self.path(read.op.file).display(),
            bad.offset.0,
            bad.len.0,
            bad.difference,
            read.data.len(),
            read.offset().0,
        )
    }

    pub(crate) fn path(&self, file: FileIndex) -> &Path {
        self.job.get(file.get()).map_or(Path::new("-"), PathBuf::as_path)
    }

    /// Whether bad intervals are saved to files.
    pub(crate) fn dumps(&self) -> bool {
        self.dumps.is_some()
    }

    /// The consequence of a read whose first bad interval is `bad`.
    pub(crate) fn consequence(&self, read: JudgedRead<'_>, bad: &BadRead) -> Disposition {
        let mut error = JobError::new(Stage::Verify, Errno::EILSEQ, bad.difference.to_string())
            .at(self.path(read.op.file));
        error.offset = Some(bad.offset.0);
        match (self.continues, self.fatal) {
            (true, false) => Disposition::Survive(Box::new(error)),
            (true, true) => Disposition::End(Box::new(error)),
            (false, _) => Disposition::Fail(Box::new(error)),
        }
    }
}

/// The value of `verify` that selects this method.
fn word(method: VerifyMethod) -> &'static str {
    match method {
        VerifyMethod::Fio(method) => method.word(),
        VerifyMethod::Fiord => "fiord",
    }
}
