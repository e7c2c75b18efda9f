//! Differences that are documented.

use super::case::{Case, Space};
use super::compare::Difference;
use super::pattern::Pattern;

/// A difference with a reason.
#[derive(Debug)]
pub(super) struct Known {
    /// Cases that have it.
    pub when: &'static str,
    /// Facts that differ, separated by blanks. `*` at the end stands for every ending.
    pub aspects: &'static str,
    /// Words of `docs/differences.md` that document the difference.
    pub anchor: &'static str,
}

const fn known(when: &'static str, aspects: &'static str, anchor: &'static str) -> Known {
    Known { when, aspects, anchor }
}

/// What depends on the I/Os that a job does.
const WORK: &str = "ios.* bytes.* job.* traced.* covered.* begin.* end.* hot.* deciles.* sequential.* switches.* rows.* \
                    contents.* syncs";

/// Which blocks a job visits, and how often.
const SPREAD: &str = "begin.* end.* covered.* hot.* deciles.*";

/// What depends on the I/Os that are reported.
const REPORTED: &str = "ios.* bytes.* job.* rows.* directions.* syncs keys";

/// Every known difference.
pub(super) const KNOWN: &[Known] = &[
    known("", "depth.*", "Depths count only I/Os."),
    known("#writes", "contents.zlib", "fio repeats one buffer"),
    known("verify=null", "contents.*", "fio repeats one buffer"),
    known("verify=* #mixed", "status", "reports its own blocks as bad"),
    known("verify=* zonemode=*", "status", "reports its own blocks as bad"),
    known("verify=* random_distribution=*", "status", "reports its own blocks as bad"),
    known("experimental_verify=* #rand", "status", "reports its own blocks as bad"),
    known("experimental_verify=* #many", "status", "reports its own blocks as bad"),
    known("verify=* continue_on_error=all", "error.*", "reports its own blocks as bad"),
    known("experimental_verify=* loops=*", WORK, "With `experimental_verify`, each of the `loops`"),
    known("verify=* #holes", "status", "reports its own blocks as bad"),
    known("verify=* #sizes", "status", "reports its own blocks as bad"),
    known(
        "verify=* #holes",
        "ios.* bytes.* job.* traced.* covered.* rows.* syncs contents.*",
        "verifies `rw=write:8k` in two passes",
    ),
    known(
        "zonemode=* random_distribution=*",
        "ios.* bytes.* job.* traced.* covered.* hot.* sizes.* rows.* contents.* alignment.* begin.* end.* files.* largest.* smallest.* sequential.* switches.*",
        "ends a job with `random_distribution`",
    ),
    known(
        "zonemode=* file_append=*",
        "ios.* bytes.* job.* traced.* covered.* rows.* contents.*",
        "With `file_append`, fio writes half",
    ),
    known("flow_id=*", "time", "A job that waits for its share"),
    known("bs_unaligned=*", "sizes.*", "one in seven I/Os has the largest size"),
    known("io_submit_mode=*", "status", "`io_submit_mode=offload` works with every engine"),
    known(
        "ramp_time=* #paced",
        "hot.* deciles.* covered.* sequential.* time",
        "fio does not limit the rate in `ramp_time`",
    ),
    known("rwmixread=80 #paced", WORK, "does not reach the rates"),
    known("rwmixwrite=30 #paced", WORK, "does not reach the rates"),
    known("log_avg_msec=*", "columns.* directions.* rows.*", "or the only one; fio leaves it out"),
    known("log_hist_msec=*", "columns.* directions.* rows.*", "The last histogram is written"),
    known("#trims ioengine=posixaio", "rows.* directions.*", "Trims have a submission latency"),
    known(
        "rw=randread:8 #many",
        "deciles.* hot.* covered.*",
        "With `rw=randread:N` and several files",
    ),
    known(
        "rw_sequencer=identical #many",
        "deciles.* hot.* covered.*",
        "With `rw=randread:N` and several files",
    ),
    known("write_bw_log=l", "text.heads", "statistics of bandwidth and IOPS are of windows"),
    known(
        "ioengine=posixaio iodepth_batch=4 #paced",
        "status",
        "fio does not end a job with `posixaio`",
    ),
    known("ioengine=mmap verify=*", "status", "reports its own blocks as bad"),
    known("#trims ioengine=posixaio", "columns.*", "Trims have a submission latency"),
    known("verify=* dedupe_percentage=*", "contents.*", "decide what verified blocks contain"),
    known("verify=* #mixed #paced loops=*", WORK, "also verifies blocks of earlier passes"),
    known("#backwards offset=*", WORK, "With an `offset`, `rw=read:-8k` begins"),
    known("#backwards offset_align=4k", WORK, "With an `offset`, `rw=read:-8k` begins"),
    known("#pairs zonemode=*", WORK, "A job with strided zones does all its work."),
    known("#sizes zonemode=* #rand", WORK, "A random job does all requested I/O."),
    known("#sizes zonemode=* #rand", "sizes.*", "A random job does all requested I/O."),
    known("#skewed openfiles=*", WORK, "still accesses all files"),
    known("#skewed", "switches.*", "Random block sizes, offsets and directions"),
    known("random_distribution=zipf* #many", WORK, "A random job does all requested I/O."),
    known("#trims ioengine=vsync", "status", "`vsync` trims"),
    known("file_append=* io_size=3m", WORK, "`file_append` and `io_size`"),
    known("file_append=* ioengine=null", SPREAD, "`file_append` and `io_size`"),
    known("file_append=* ioengine=null", "alignment.*", "`file_append` and `io_size`"),
    known("random_generator=lfsr zonemode=*", SPREAD, "each visit to a zone draws"),
    known("bs=64k zonemode=* #rand", "status", "A zone that is smaller than a random block"),
    known("#ranges offset=25%", SPREAD, "with an `offset` in per cent** covers"),
    known("bs_is_seq_rand=*", "sizes.*", "A random job does all requested I/O."),
    known("#skewed", "files.*", "Random block sizes, offsets and directions"),
    known("random_distribution=normal*", "begin.* end.*", "reach all blocks of a file"),
    known("#mixed #sizes", "sizes.* hot.* deciles.*", "Random block sizes, offsets and directions"),
    known("#rand", "deciles.*", "Random block sizes, offsets and directions"),
    known("blockalign=8k #rand", WORK, "A random job does all requested I/O."),
    known("#sizes random_distribution=*", WORK, "A random job does all requested I/O."),
    known("bs=4k,8k random_distribution=*", WORK, "A random job does all requested I/O."),
    known("bs_is_seq_rand=*", "end.* begin.* covered.*", "With `bs_is_seq_rand`, random offsets"),
    known(
        "offset=25% loops=*",
        "ios.* bytes.* job.* traced.* rows.*",
        "`loops` does the same work in each pass.",
    ),
    known("offset=25% time_based=1", "deciles.* hot.*", "`loops` does the same work in each pass."),
    known(
        "#mixed #seq #async loops=*",
        SPREAD,
        "A sequential mixed job continues in the next pass",
    ),
    known("ioengine=mmap #writes", "contents.* length.*", "`mmap` does not fill the files"),
    known(
        "create_only=*",
        "names actions.* rows.* columns.* directions.*",
        "`create_only=1` leaves only the files",
    ),
    known(
        "openfiles=*",
        "covered.* files.* switches.* hot.* contents.* sizes.*",
        "several files and `openfiles`",
    ),
    known(
        "file_service_type=sequential",
        "covered.* files.* hot.* contents.*",
        "several files and `openfiles`",
    ),
    known("zonemode=* #backwards", WORK, "With strided zones, `rw=read:-8k` reads"),
    known("zonemode=* #many", WORK, "strided zones and several files"),
    known("verify=* ramp_time=*", REPORTED, "With `verify` and `ramp_time`, fio"),
    known(
        "verify=* #rand",
        "ios.read ios.total bytes.read job.* traced.read covered.read smallest.read sizes.read hot.read rows.*",
        "reads back every block that is whole",
    ),
    known(
        "verify=* #sizes",
        "ios.* job.* traced.* sizes.* smallest.* sequential.* rows.*",
        "reads back every block that is whole",
    ),
    known("verify=*", "switches.read sequential.read", "reads back every block that is whole"),
    known(
        "verify=* io_size=3m",
        "ios.* bytes.* job.* traced.* rows.* syncs",
        "`io_size` counts all bytes",
    ),
    known(
        "verify=* io_size=1m",
        "ios.* bytes.* job.* traced.* rows.* syncs",
        "makes as many writes as one that does not",
    ),
    known("verify=* write_iolog=*", "actions.*", "fiord flushes each file"),
    known("verify_backlog=* #syncs", "syncs", "An `fsync=N` counts writes only"),
    known("trim_percentage=* #syncs", "syncs", "An `fsync=N` counts writes only"),
    known("verify_backlog=* #mixed #paced", WORK, "Verify reads do not count into a rate"),
    known(
        "verify_backlog=* trim_percentage=*",
        "alignment.trim begin.trim covered.trim deciles.trim end.trim files.trim hot.trim largest.trim sequential.trim \
         sizes.trim smallest.trim switches.trim traced.trim",
        "With `verify_backlog`, fio trims nothing",
    ),
    known(
        "verify=* #skewed",
        "ios.* bytes.* job.* traced.read covered.read hot.read sizes.read rows.*",
        "reads back every block that is whole",
    ),
    known("verify=* blockalign=4k", "smallest.read", "reads back every block that is whole"),
    known("file_service_type=pareto:0.3", SPREAD, "divides the share of the hottest file"),
    known(
        "file_service_type=pareto:0.3",
        "switches.* contents.*",
        "divides the share of the hottest file",
    ),
    known("random_distribution=zoned_abs*", "status", "beyond one of the files is an error"),
    known("fixedbufs=*", "status", "`fixedbufs` and `registerfiles` work with"),
    known("io_submit_mode=* verify=*", WORK, "`io_submit_mode=offload` works with every engine"),
    known("io_submit_mode=* verify=*", "keys", "`io_submit_mode=offload` works with every engine"),
    known("dedupe_percentage=*", "contents.duplicates", "is the share of all blocks of 4 KiB"),
    known(
        "buffer_compress_percentage=*",
        "contents.duplicates",
        "is the share of all blocks of 4 KiB",
    ),
    known("verify=*", "time", "fiord flushes each file"),
    known("verify=* zonemode=*", WORK, "reports its own blocks as bad"),
    known(
        "verify=* trim_percentage=*",
        "ios.* bytes.* covered.* end.* traced.*",
        "Trimmed blocks are read back, too",
    ),
    known("flow_id=*", "status", "A job that waits for its share"),
    known("io_submit_mode=*", "syncs", "`io_submit_mode=offload` works with every engine"),
    known("file_append=* loops=*", WORK, "`loops` does the same work in each pass."),
    known("file_append=* loops=*", "length.*", "`loops` does the same work in each pass."),
    known(
        "#pairs number_ios=40 loops=*",
        "ios.* bytes.* job.* traced.* covered.* rows.* contents.*",
        "`loops` does the same work in each pass.",
    ),
    known("random_distribution=zipf* #many", SPREAD, "reach all blocks of a file"),
    known("random_distribution=pareto* #many", SPREAD, "reach all blocks of a file"),
    known("random_distribution=normal* #many", SPREAD, "reach all blocks of a file"),
    known("random_generator=lfsr blockalign=4k", SPREAD, "blocks larger than `blockalign`"),
    known("random_distribution=* blockalign=4k", SPREAD, "blocks larger than `blockalign`"),
    known("verify=* time_based=1 #many", REPORTED, "fio does so after each pass"),
    known("verify=* time_based=1 #odd", REPORTED, "fio does so after each pass"),
];

/// The table with parsed patterns.
#[derive(Debug)]
pub(super) struct KnownTable(Vec<(Pattern, &'static Known)>);

impl KnownTable {
    pub(super) fn new(space: &Space) -> Self {
        KnownTable(KNOWN.iter().map(|known| (space.pattern(known.when), known)).collect())
    }

    /// Returns the entry for a difference of a case.
    pub(super) fn find(&self, case: &Case, difference: &Difference) -> Option<&'static Known> {
        let fits = |(pattern, known): &&(Pattern, &'static Known)| {
            known.aspects.split_whitespace().any(|aspect| is(aspect, &difference.aspect))
                && pattern.matches(case)
        };
        self.0.iter().find(fits).map(|(_, known)| *known)
    }
}

fn is(pattern: &str, aspect: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => aspect.starts_with(start),
        None => aspect == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::{PARAMS, RULES};
    use super::*;

    #[test]
    fn every_documented_difference_is_in_the_documentation() {
        let page = include_str!("../../../docs/differences.md");
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        for known in KNOWN {
            assert!(page.contains(known.anchor), "{}", known.anchor);
        }
        KnownTable::new(&Space::new(PARAMS, RULES));
    }

    #[test]
    fn aspects_are_compared_by_name() {
        assert!(is("ios.*", "ios.read") && is("time", "time"));
        assert!(!is("ios.read", "ios.write") && !is("time", "times"));
    }
}
