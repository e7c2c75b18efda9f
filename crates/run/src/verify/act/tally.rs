//! What a job has verified so far.

use std::path::Path;

use fiord_formats::integrity::diagnosis::BadExtent;
use fiord_formats::integrity::recheck::RereadConclusion;
use fiord_plan::VerifyPass;
use fiord_stat::verify::{FileExtent, Unverified, VerifyResults};
use fiord_types::Bytes;

/// Counts what is verified, and collects what is bad.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    results: VerifyResults,
    pass: VerifyPass,
    /// Bytes of writes that trims have discarded. Some may have been verified before.
    trimmed: Bytes,
    /// Bytes of writes that were overwritten before they were read back, as far as it is known.
    overwritten: Bytes,
    /// Nothing was written since the last pass.
    settled: bool,
    /// During a pass: bytes that were verified before it, and bytes that it reads.
    reading: Option<(Bytes, Bytes)>,
}

impl Tally {
    pub(crate) fn new(pass: VerifyPass) -> Self {
        let (results, trimmed, overwritten) = (VerifyResults::default(), Bytes::ZERO, Bytes::ZERO);
        Tally { results, pass, trimmed, overwritten, settled: true, reading: None }
    }

    /// A write of this length has completed.
    pub(crate) fn written(&mut self, bytes: u64, succeeded: bool) {
        let coverage = &mut self.results.coverage;
        coverage.written = coverage.written.saturating_add(Bytes(bytes));
        if !succeeded {
            coverage.skip(Unverified::Failed, Bytes(bytes));
        }
        self.settled = false;
    }

    /// A trim has discarded `bytes` bytes of writes.
    pub(crate) fn trimmed(&mut self, bytes: Bytes) {
        self.trimmed = self.trimmed.saturating_add(bytes);
    }

    /// Adds bytes of writes that were overwritten before they were read back.
    pub(crate) fn overwritten_in_run(&mut self, bytes: Bytes) {
        self.overwritten = self.overwritten.saturating_add(bytes);
    }

    /// These bytes were checked.
    pub(crate) fn verified(&mut self, bytes: u64) {
        let coverage = &mut self.results.coverage;
        coverage.verified = coverage.verified.saturating_add(Bytes(bytes));
        if self.pass != VerifyPass::AfterWrites {
            // An earlier run, or another job, wrote them.
            coverage.written = coverage.written.saturating_add(Bytes(bytes));
        }
    }

    /// Counts bytes of an earlier run that were not checked because their writes may be incomplete.
    pub(crate) fn uncertain(&mut self, bytes: u64) {
        if bytes > 0 {
            let coverage = &mut self.results.coverage;
            coverage.written = coverage.written.saturating_add(Bytes(bytes));
            coverage.skip(Unverified::InFlight, Bytes(bytes));
        }
    }

    /// Counts bytes that a job read without checking them. The job only reads.
    pub(crate) fn unchecked(&mut self, why: Unverified, bytes: u64) {
        let coverage = &mut self.results.coverage;
        coverage.written = coverage.written.saturating_add(Bytes(bytes));
        coverage.skip(why, Bytes(bytes));
    }

    /// Sets the number of writes of an earlier run that the job went over.
    pub(crate) fn replayed(&mut self, writes: u64) {
        self.results.replayed_writes = writes;
    }

    /// Adds bytes of an earlier run that were not checked, because another job has overwritten them.
    pub(crate) fn overwritten(&mut self, bytes: Bytes) {
        let coverage = &mut self.results.coverage;
        coverage.written = coverage.written.saturating_add(bytes);
        coverage.skip(Unverified::Overwritten, bytes);
    }

    /// A bad extent, and what further reads of it showed. Returns the extent before it if that is complete now.
    pub(crate) fn bad(
        &mut self,
        file: &Path,
        extent: BadExtent,
        reread: Option<RereadConclusion>,
    ) -> Option<FileExtent> {
        self.results.add(&file.to_string_lossy(), extent, reread)
    }

    /// Completes the last bad extent and returns it.
    pub(crate) fn finish(&mut self) -> Option<FileExtent> {
        self.results.finish()
    }

    /// A verify pass begins. `size`: what it reads if it does not read the writes of this run.
    pub(crate) fn pass_began(&mut self, size: Bytes) {
        let coverage = &self.results.coverage;
        let skipped: Bytes = coverage.unverified.values().copied().sum();
        let gone = [coverage.verified, skipped, self.trimmed, self.overwritten];
        let unread = gone.into_iter().fold(coverage.written, Bytes::saturating_sub);
        let total = if self.pass == VerifyPass::AfterWrites { unread } else { size };
        self.reading = Some((coverage.verified, total));
    }

    /// Bytes that the current pass has checked, and bytes that it reads. `None` outside of a pass.
    pub(crate) fn read_back(&self) -> Option<(Bytes, Bytes)> {
        let (before, total) = self.reading?;
        Some((self.results.coverage.verified.saturating_sub(before), total))
    }

    /// A verify pass has read everything.
    pub(crate) fn pass_ended(&mut self) {
        self.settled = true;
        self.reading = None;
    }

    /// Measuring begins now.
    pub(crate) fn restart(&mut self) {
        if let Some((done, total)) = self.read_back() {
            self.reading = Some((Bytes::ZERO, total.saturating_sub(done)));
        }
        self.results.coverage = VerifyResults::default().coverage;
        (self.trimmed, self.overwritten) = (Bytes::ZERO, Bytes::ZERO);
    }

    /// The results so far.
    pub(crate) fn results(&self) -> VerifyResults {
        let mut results = self.results.finished();
        let coverage = &mut results.coverage;
        // Blocks that several writes have written, or that several passes have read, count once for each.
        coverage.verified = coverage.verified.min(coverage.written);
        let skipped = coverage.unverified.values().fold(0, |sum, bytes| sum + bytes.0);
        let known = Bytes(coverage.verified.0.saturating_add(skipped));
        let rest = coverage.written.saturating_sub(known);
        let trimmed = rest.min(self.trimmed);
        if trimmed > Bytes::ZERO {
            coverage.skip(Unverified::Trimmed, trimmed);
        }
        let rest = rest.saturating_sub(trimmed);
        let overwritten = rest.min(self.overwritten);
        if overwritten > Bytes::ZERO && self.pass == VerifyPass::AfterWrites {
            coverage.skip(Unverified::Overwritten, overwritten);
        }
        let rest = match self.pass {
            VerifyPass::AfterWrites => rest.saturating_sub(overwritten),
            _ => rest,
        };
        let why = match self.pass {
            VerifyPass::WritesOnly => Unverified::NotAsked,
            _ if self.settled => Unverified::Overwritten,
            _ => Unverified::RuntimeEnded,
        };
        coverage.skip(why, rest);
        results
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_knows_how_much_it_reads() {
        let mut tally = Tally::new(VerifyPass::AfterWrites);
        assert_eq!(tally.read_back(), None);
        (0..4).for_each(|_| tally.written(4096, true));
        tally.written(4096, false);
        tally.verified(4096);
        tally.pass_began(Bytes(1));
        assert_eq!(tally.read_back(), Some((Bytes(0), Bytes(12_288))));
        tally.verified(8192);
        assert_eq!(tally.read_back(), Some((Bytes(8192), Bytes(12_288))));
        tally.restart();
        assert_eq!(tally.read_back(), Some((Bytes(0), Bytes(4096))));
        tally.pass_ended();
        assert_eq!(tally.read_back(), None);
        // The writes of an earlier run.
        let mut tally = Tally::new(VerifyPass::Only);
        tally.pass_began(Bytes(4096));
        assert_eq!(tally.read_back(), Some((Bytes(0), Bytes(4096))));
    }
}
