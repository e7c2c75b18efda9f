//! The result of a check as text and as JSON.

use std::fmt::Write as _;

use fiord_formats::integrity::crash::JournalSummary;
use fiord_formats::integrity::journal::JournalEnd;
use fiord_stat::verify::FileExtent;
use serde_json::{Map, Value, json};

use super::check::CrashFindings;
use super::journal::JournalFile;

/// What a report shows.
pub(super) struct CrashReport<'a> {
    pub journal: &'a JournalFile,
    pub summary: &'a JournalSummary,
    pub end: JournalEnd,
    pub target: &'a str,
    pub findings: &'a CrashFindings,
}

impl CrashReport<'_> {
    /// Whether the target contains everything that it had promised.
    pub(super) fn is_right(&self) -> bool {
        self.findings.tally.lost() == 0 && self.findings.tally.corrupt() == 0
    }

    fn verdict(&self) -> &'static str {
        match (self.findings.tally.lost(), self.findings.tally.corrupt()) {
            (1.., _) => "lost",
            (0, 1..) => "corrupt",
            (0, 0) => "ok",
        }
    }

    /// The report for people.
    pub(super) fn text(&self) -> String {
        let CrashFindings { results, tally, .. } = self.findings;
        let (summary, order) = (self.summary, self.summary.order());
        let mut text = match self.verdict() {
            "lost" => format!("{}: LOST data that it had acknowledged and flushed\n", self.target),
            "corrupt" => format!("{}: CORRUPT data\n", self.target),
            _ => format!("{}: everything that it had flushed is there\n", self.target),
        };
        let torn_end = match self.end {
            JournalEnd::Complete => "",
            JournalEnd::Torn { .. } => "; the journal ends within a block, as after a crash",
        };
        let _ = writeln!(
            text,
            "  journal: run {}, writes: {} announced, {} issued, {} acknowledged, {} flushed, {} failed; flushes: {} \
             issued, {} completed{torn_end}",
            self.journal.header.run,
            order.count_announced(),
            order.count_issued(),
            summary.acknowledged(),
            summary.flushed(),
            summary.failed(),
            summary.flushes_issued(),
            summary.flushes_completed(),
        );
        let _ = writeln!(
            text,
            "  checked: {} blocks of {} bytes, {} of them flushed",
            tally.checked(),
            self.journal.header.block.0,
            tally.flushed()
        );
        let _ = writeln!(
            text,
            "  lost: {} blocks, {} of them out of order: a write issued after the flush is there",
            tally.lost(),
            self.findings.out_of_order()
        );
        let _ = writeln!(text, "  corrupt: {} blocks", tally.corrupt());
        let _ = writeln!(
            text,
            "  torn: {} blocks contain parts of several writes, which is allowed",
            tally.torn()
        );
        if summary.trims() > 0 {
            let _ = writeln!(
                text,
                "  trims: {} issued; what they cover is checked only where a later write was flushed",
                summary.trims()
            );
        }
        if tally.flushed() == 0 {
            text.push_str(
                "  note: the journal contains no flushed write, so nothing can be lost. To fix: add fsync=N or sync=1 \
                 to the job\n",
            );
        }
        for extent in results.extents() {
            let _ = writeln!(text, "  {extent}");
        }
        if results.not_shown() > 0 {
            let _ = writeln!(
                text,
                "  and {} further extents, which --extents=FILE lists",
                results.not_shown()
            );
        }
        text
    }

    /// One JSON document.
    pub(super) fn json(&self) -> String {
        let findings = self.findings;
        let (summary, order) = (self.summary, self.summary.order());
        let header = &self.journal.header;
        let counts = findings.results.counts().iter();
        let faults: Map<String, Value> = counts
            .map(|(class, count)| {
                let value = json!({ "extents": count.extents(), "bytes": count.bytes });
                (class.word().to_owned(), value)
            })
            .collect();
        let extents: Vec<&FileExtent> = findings.results.extents().iter().collect();
        let document = json!({
            "journal": self.journal.path.display().to_string(),
            "journal_end": match self.end {
                JournalEnd::Complete => "complete",
                JournalEnd::Torn { .. } => "torn",
            },
            "target": self.target,
            "run": header.run,
            "run_started": header.run.started(),
            "verdict": self.verdict(),
            "writes_announced": order.count_announced(),
            "writes_issued": order.count_issued(),
            "writes_acknowledged": summary.acknowledged(),
            "writes_flushed": summary.flushed(),
            "writes_failed": summary.failed(),
            "trims": summary.trims(),
            "flushes_issued": summary.flushes_issued(),
            "flushes_completed": summary.flushes_completed(),
            "block_bytes": header.block,
            "blocks_checked": findings.tally.checked(),
            "blocks_flushed": findings.tally.flushed(),
            "blocks_lost": findings.tally.lost(),
            "blocks_out_of_order": findings.out_of_order(),
            "blocks_torn": findings.tally.torn(),
            "blocks_corrupt": findings.tally.corrupt(),
            "faults": faults,
            "extents": extents,
        });
        format!("{document:#}\n")
    }
}
