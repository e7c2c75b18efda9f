//! Differences that are documented.

use std::cmp::Ordering;

use super::case::Case;
use super::compare::Difference;
use super::pattern::Pattern;
use super::space::Space;

/// A difference with a reason.
#[derive(Debug)]
pub(super) struct Known {
    /// Cases that have it.
    pub when: &'static str,
    /// Facts that differ, separated by blanks. `*` at the end stands for every ending, and at the beginning for every subject.
    /// `>` after that: fiord has more, `<`: fio has more. `status` is for jobs that run in fiord and fail in fio, `refusal` for
    /// the opposite.
    pub aspects: &'static str,
    /// Words of the row in `docs/differences.md` that documents the difference.
    pub anchor: &'static str,
}

const fn known(when: &'static str, aspects: &'static str, anchor: &'static str) -> Known {
    Known { when, aspects, anchor }
}

/// fiord does more.
const MORE: &str = "ios.*> bytes.*> job.*> traced.*> covered.*> rows.*> syncs>";

/// fio does more.
const LESS: &str = "ios.*< bytes.*< job.*< traced.*< covered.*< rows.*< syncs<";

/// fio ends the job early, so that nothing else can be equal.
const FULL: &str = "ios.*> bytes.*> job.*> traced.*> covered.*> rows.*> syncs> files.*> begin.* end.* hot.* deciles.* sizes.* \
                    smallest.* largest.* sequential.* switches.* alignment.* contents.*";

/// Which blocks a job visits, and how often.
const SPREAD: &str = "begin.* end.* covered.* hot.* deciles.* contents.*";

/// How a job divides its work between reads and writes.
const MIX: &str = "ios.read ios.write bytes.* traced.* covered.* end.* rows.* syncs contents.*";

/// How many reads verify how many writes, and their sizes.
const VERIFIED: &str = "ios.read ios.total job.* traced.read rows.* sizes.read smallest.read sequential.read alignment.read";

/// Number of I/Os, but not which blocks they touch.
const TIMES: &str = "ios.* bytes.* job.* traced.* rows.* syncs";

/// Which files a job visits.
const FILES: &str = "files.* switches.* begin.* end.* covered.* hot.* deciles.* contents.*";

/// Every known difference.
pub(super) const KNOWN: &[Known] = &[
    known("#syncs", "depth.1<", "`IO depths` | include syncs"),
    known("#async #syncs", "depth.1", "`IO depths` | include syncs"),
    known("#async #paced", "depth.1", "submission without `iodepth_batch*`"),
    known("#async #trims", "depth.1", "submission without `iodepth_batch*`"),
    known("#async", "depth.1<", "submission without `iodepth_batch*`"),
    known("#odd #writes", "contents.zlib>", "fio repeats one buffer"),
    known("bsrange=4k-8k,2k-64k #writes", "contents.zlib>", "fio repeats one buffer"),
    known("verify=null", "contents.duplicates<", "fio repeats one buffer"),
    known("verify=* percentage_random=50", "status", "reports its own blocks as bad"),
    known("verify=* zonemode=*", "status", "reports its own blocks as bad"),
    known("verify=* random_distribution=*", "status", "reports its own blocks as bad"),
    known("experimental_verify=* #mixed", "status", "reports its own blocks as bad"),
    known("experimental_verify=* #rand", "status", "reports its own blocks as bad"),
    known("verify=* #skewed", "status", "reports its own blocks as bad"),
    known("ioengine=mmap verify=*", "status", "reports its own blocks as bad"),
    known("verify=* continue_on_error=all", VERIFIED, "reports its own blocks as bad"),
    known("verify=* continue_on_error=all", "bytes.read", "reports its own blocks as bad"),
    known("verify=* continue_on_error=all", "error.*<", "reports its own blocks as bad"),
    known("experimental_verify=* loops=*", MORE, "`experimental_verify` with `loops`"),
    known(
        "verify=* #holes trim_percentage=*",
        "covered.trim end.trim",
        "holes (`rw=write:8k`) | makes two passes",
    ),
    known("verify=* #holes #sizes", "covered.*", "holes (`rw=write:8k`) | makes two passes"),
    known("verify=* #holes", TIMES, "holes (`rw=write:8k`) | makes two passes"),
    known(
        "zonemode=* random_distribution=*",
        FULL,
        "`random_distribution` | ends at the first offset",
    ),
    known(
        "zonemode=* random_distribution=*",
        SPREAD,
        "`random_distribution` | ends at the first offset",
    ),
    known("zonemode=* file_append=*", "contents.*", "`file_append` | writes half"),
    known("zonemode=* file_append=*", MORE, "`file_append` | writes half"),
    known("flow_id=*", "time<", "`flow` | a waiting job sleeps"),
    known("flow_id=*", "status", "`flow` | a waiting job sleeps"),
    known("bs_unaligned=*", "sizes.*", "one in seven I/Os has the largest size"),
    known("io_submit_mode=*", "status", "`io_submit_mode=offload` works with every engine"),
    known("io_submit_mode=*", "syncs>", "`io_submit_mode=offload` works with every engine"),
    known("io_submit_mode=* verify=*", FULL, "`io_submit_mode=offload` works with every engine"),
    known(
        "io_submit_mode=* verify=*",
        "keys depth.* names",
        "`io_submit_mode=offload` works with every engine",
    ),
    known("ramp_time=* rate*", "hot.* deciles.* sequential.*", "rate in `ramp_time` | not limited"),
    known("rwmixread=80 rate*", MIX, "does not reach the rates"),
    known("rwmixwrite=30 rate*", MIX, "does not reach the rates"),
    known("#mixed #sizes rate_iops*", MIX, "computed from the smallest block"),
    known("#mixed #sizes rate_iops*", "ios.total job.*", "computed from the smallest block"),
    known("rwmixread=80 rate* verify=*", "ios.total job.*", "does not reach the rates"),
    known("rwmixwrite=30 rate* verify=*", "ios.total job.*", "does not reach the rates"),
    known("log_avg_msec=*", "columns.* directions.* rows.*", "last window | fio leaves it out"),
    known(
        "log_hist_msec=*",
        "columns.* directions.* rows.*>",
        "written for latencies and histograms",
    ),
    known(
        "#trims ioengine=posixaio",
        "rows.*> directions.* columns.*",
        "trims with `posixaio` | have no `slat`",
    ),
    known("rw_sequencer=identical #many", SPREAD, "`rw_sequencer=identical` and"),
    known("write_bw_log=l", "text.heads", "statistics of rates in a job that logs each I/O"),
    known(
        "ioengine=posixaio iodepth_batch=4 #paced",
        "status",
        "`posixaio` with `iodepth_batch` and `thinktime`",
    ),
    known("verify=* dedupe_percentage=*", "contents.*", "decide the contents below headers"),
    known("verify=* #mixed rate* loops=*", VERIFIED, "checks blocks of earlier passes"),
    known("verify=* rw=randwrite:4 loops=*", MORE, "checks blocks of earlier passes"),
    known("verify=* #mixed rate* loops=*", MIX, "verify reads under a rate"),
    known("#backwards offset=*", SPREAD, "`rw=read:-8k` with an `offset`"),
    known("#backwards offset=* #sizes", MORE, "`rw=read:-8k` with an `offset`"),
    known("#backwards offset=* bs=4k,8k", MORE, "`rw=read:-8k` with an `offset`"),
    known("#skewed openfiles=*", FILES, "accesses all files"),
    known("#skewed openfiles=*", LESS, "accesses all files"),
    known("file_service_type=zipf:1.2", FILES, "halves the share of the hottest file"),
    known("file_service_type=pareto:0.3", FILES, "halves the share of the hottest file"),
    known("#trims ioengine=vsync", "status", "`vsync` | trims fail"),
    known("trim_percentage=* ioengine=vsync", "status", "`vsync` | trims fail"),
    known("file_append=* io_size=3m", MORE, "`file_append` and `io_size`"),
    known("file_append=* ioengine=null", SPREAD, "`file_append` and `io_size`"),
    known("file_append=* ioengine=null", "alignment.*", "`file_append` and `io_size`"),
    known(
        "file_append=* ioengine=mmap",
        "output status",
        "`mmap` | refuses small blocks, some offsets",
    ),
    known("file_append=* loops=*", MORE, "the same work in each pass"),
    known(
        "random_generator=lfsr zonemode=*",
        SPREAD,
        "draws the same blocks in each visit to a zone",
    ),
    known("bs=64k zonemode=* #rand", "refusal", "zone that is smaller than a random block"),
    known("#ranges offset=25% #holes", LESS, "`offset` in per cent with `filesize`"),
    known("#ranges ioengine=null", SPREAD, "With `ioengine=null`, fio ignores"),
    known("filesize=2m offset=25%", SPREAD, "`offset` in per cent with `filesize`"),
    known("#ranges offset=25%", SPREAD, "`offset` in per cent with `filesize`"),
    known("bs_is_seq_rand=*", "sizes.*", "`bs_is_seq_rand` | random offsets"),
    known("bs_is_seq_rand=*", "end.* begin.* covered.*", "`bs_is_seq_rand` | random offsets"),
    known("bs_is_seq_rand=* zonemode=*", MORE, "`bs_is_seq_rand` | random offsets"),
    known("random_distribution=normal*", "begin.* end.*", "reach all blocks of a file"),
    known("random_distribution=normal*", "covered.*> contents.*", "reach all blocks of a file"),
    known("#sizes random_distribution=*", FULL, "does all requested I/O"),
    known("bs_is_seq_rand=* random_distribution=*", FULL, "does all requested I/O"),
    known("random_distribution=zipf* #many", FULL, "does all requested I/O"),
    known("bsrange=4k-8k,2k-64k offset=25% #many", FULL, "does all requested I/O"),
    known("bs=4k,8k random_distribution=* #writes", FULL, "does all requested I/O"),
    known("#sizes zonemode=* #rand", FULL, "does all requested I/O"),
    known("#mixed #rand offset=25% io_size=3m", MORE, "and an `offset` in per cent | ends after"),
    known("offset=25% loops=*", MORE, "the same work in each pass"),
    known("offset=25% #holes loops=*", SPREAD, "the same work in each pass"),
    known("offset=25% #seq time_based=1", "deciles.* hot.*", "the same work in each pass"),
    known("#pairs number_ios=40 loops=*", "end.*<", "the same work in each pass"),
    known("#pairs number_ios=40 loops=*", LESS, "the same work in each pass"),
    known("#mixed #seq loops=*", SPREAD, "`loops` of a sequential job that is mixed"),
    known("#mixed #seq io_size=3m", SPREAD, "`loops` of a sequential job that is mixed"),
    known("#mixed #seq #timed", "hot.* deciles.*", "`loops` of a sequential job that is mixed"),
    known("ioengine=mmap #writes", "contents.*", "does not fill the files"),
    known(
        "create_only=*",
        "names actions.* rows.* columns.* directions.*",
        "`create_only=1` leaves only the files",
    ),
    known("#nomap openfiles=*", FILES, "several files with few `openfiles`"),
    known(
        "#nomap openfiles=* create_on_open=1",
        "names length.*",
        "several files with few `openfiles`",
    ),
    known("#nomap file_service_type=sequential", FILES, "several files with few `openfiles`"),
    known("zonemode=* #many", FILES, "visits some strided zones several times"),
    known("zonemode=* #many", MORE, "visits some strided zones several times"),
    known("zonemode=* #holes", SPREAD, "also writes outside of the zones"),
    known("zonemode=* #backwards", SPREAD, "reads the last block of the file repeatedly"),
    known("zonemode=* #backwards", "sequential.*", "reads the last block of the file repeatedly"),
    known("verify=* ramp_time=*", MORE, "`verify` with `ramp_time`"),
    known(
        "verify=* ramp_time=*",
        "columns.* directions.* keys depth.* names",
        "`verify` with `ramp_time`",
    ),
    known("verify=* #sizes", VERIFIED, "order of the verify pass"),
    known("verify=* #skewed", VERIFIED, "order of the verify pass"),
    known("verify=* percentage_random=50", VERIFIED, "order of the verify pass"),
    known("verify=* percentage_random=50", "bytes.read<", "order of the verify pass"),
    known("verify=* zonemode=*", VERIFIED, "order of the verify pass"),
    known("verify=* zonemode=*", "bytes.read<", "order of the verify pass"),
    known("verify=* #skewed", "bytes.read<", "order of the verify pass"),
    known("verify=* blockalign=4k", VERIFIED, "order of the verify pass"),
    known("verify=*", "switches.read sequential.read", "order of the verify pass"),
    known("verify=* io_size=3m", TIMES, "count blocks read back"),
    known("verify=* write_iolog=*", "actions.* rows.*>", "fiord flushes each file"),
    known("verify=*", "time>", "fiord flushes each file"),
    known("verify_backlog=* openfiles=* #mixed", "status", "`verify_backlog` with `openfiles`"),
    known("verify_backlog=* #syncs", "syncs>", "`fsync=N` | may skip a sync"),
    known("trim_percentage=* #syncs", "syncs>", "`fsync=N` | may skip a sync"),
    known("verify_backlog=* #mixed rate*", MIX, "verify reads under a rate"),
    known(
        "verify_backlog_batch=* trim_percentage=50",
        "*.trim ios.total> job.*>",
        "`verify_backlog_batch` with `trim_percentage`",
    ),
    known("trim_percentage=*", "status", "hangs, reports trimmed blocks"),
    known(
        "trim_percentage=* #mixed #seq #async",
        MORE,
        "continues beyond `size`, or ends before it",
    ),
    known(
        "trim_percentage=* #mixed #seq #async",
        "end.*",
        "continues beyond `size`, or ends before it",
    ),
    known("trim_percentage=* #mixed #seq", LESS, "continues beyond `size`, or ends before it"),
    known("trim_percentage=* #mixed #seq", "end.*<", "continues beyond `size`, or ends before it"),
    known(
        "#seq #writes io_size=3m zonemode=*",
        "covered.*> end.* sequential.*>",
        "sequential writes beyond `size`",
    ),
    known("#seq #writes #timed zonemode=*", "sequential.*>", "sequential writes beyond `size`"),
    known(
        "rw=trimwrite io_size=3m zonemode=*",
        "*.trim< ios.total< job.*<",
        "sequential writes beyond `size`",
    ),
    known("random_distribution=zoned_abs*", "refusal", "beyond one of the files | does no I/O"),
    known("fixedbufs=*", "status", "`fixedbufs`, `registerfiles` | fail"),
    known("dedupe_percentage=*", "contents.duplicates", "is the share of all blocks of 4 KiB"),
    known(
        "buffer_compress_percentage=*",
        "contents.duplicates",
        "is the share of all blocks of 4 KiB",
    ),
    known(
        "random_generator=lfsr blockalign=4k",
        FULL,
        "or `random_generator=lfsr`, with a `blockalign`",
    ),
    known(
        "random_generator=lfsr blockalign=8k",
        FULL,
        "or `random_generator=lfsr`, with a `blockalign`",
    ),
    known(
        "random_distribution=* blockalign=4k",
        "length.*>",
        "`blockalign` that is not the block size",
    ),
    known("random_distribution=* blockalign=4k", SPREAD, "`blockalign` that is not the block size"),
    known("random_distribution=* blockalign=8k", FULL, "`blockalign` that is not the block size"),
    known("random_distribution=zipf*", "deciles.*", "random block sizes, offsets and directions"),
    known("random_distribution=pareto*", "deciles.*", "random block sizes, offsets and directions"),
    known("rwmixread=80", "begin.* end.*", "random block sizes, offsets and directions"),
    known("write_iolog=* sync_file_range=*", "actions.* rows.*<", "`sync_file_range` has no line"),
    known(
        "bs=64k rw=randtrimwrite zonemode=*",
        FULL,
        "`rw=randtrimwrite` with blocks as large as `zonerange`",
    ),
    known(
        "verify=* time_based=1 #many",
        "*.read rows.*< directions.* keys",
        "`time_based` | reads back after each pass",
    ),
    known(
        "verify=* time_based=1 #odd",
        "*.read rows.*< directions.* keys",
        "`time_based` | reads back after each pass",
    ),
    known("experimental_verify=* #sizes", "status", "reports its own blocks as bad"),
    known("experimental_verify=* #holes", "status", "reports its own blocks as bad"),
    known("verify=* loops=* io_size=300k", TIMES, "checks blocks of earlier passes"),
    known("verify=* loops=* trim_percentage=*", MORE, "checks blocks of earlier passes"),
    known("verify=* loops=* trim_percentage=*", "contents.*", "checks blocks of earlier passes"),
    known("verify_backlog=* number_ios=40", TIMES, "count blocks read back"),
    known("verify_backlog=* number_ios=40", SPREAD, "count blocks read back"),
    known("verify_backlog=* #mixed rate*", "ios.total job.*", "verify reads under a rate"),
    known("#mixed rate* flow_id=*", MIX, "does not reach the rates"),
    known("#mixed rate* sync=*", MIX, "does not reach the rates"),
    known("trim_percentage=* #async", MORE, "trims fewer blocks above depth 1"),
    known("trim_percentage=* #async", "*.trim contents.*", "trims fewer blocks above depth 1"),
    known("trim_percentage=* io_size=300k", LESS, "continues beyond `size`, or ends before it"),
    known("io_submit_mode=* lockfile=*", "refusal", "Only `page_fault`, `lockfile`"),
    known("ioengine=mmap create_on_open=1", FULL, "writes nothing with `create_on_open`"),
    known("ioengine=mmap offset=10k", "status", "`mmap` | refuses small blocks, some offsets"),
    known("#mixed scramble_buffers=0", "contents.*", "`zero_buffers`, `scramble_buffers=0`"),
    known("random_distribution=normal* #many", FULL, "does all requested I/O"),
    known("random_generator=lfsr bs_is_seq_rand=*", FULL, "does all requested I/O"),
    known("filesize=2m loops=* #async", SPREAD, "asynchronous on a file longer than `size`"),
    known("#backwards #many", SPREAD, "`rw=read:-8k` with an `offset` or several files"),
    known("zonemode=* #backwards", MORE, "reads the last block of the file repeatedly"),
    known("zonemode=* #many", LESS, "visits some strided zones several times"),
    known("zonemode=* #many", "sequential.*", "visits some strided zones several times"),
    known("zonemode=* numjobs=*", "status", "refuses its own clones"),
    known("zonemode=* offset=25%", "deciles.* hot.*", "begins the first pass at the start"),
    known(
        "#nomap file_service_type=sequential verify=*",
        TIMES,
        "several files with few `openfiles`",
    ),
    known(
        "file_service_type=sequential create_on_open=1",
        "names length.*",
        "several files with few `openfiles`",
    ),
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
            known.aspects.split_whitespace().any(|aspect| is(aspect, difference))
                && pattern.matches(case)
        };
        self.0.iter().find(fits).map(|(_, known)| *known)
    }
}

/// Whether a difference is one of those that `pattern` names.
fn is(pattern: &str, difference: &Difference) -> bool {
    let ours_is = |wanted| mean(&difference.ours).partial_cmp(&mean(&difference.theirs)) == wanted;
    if let Some(pattern) = pattern.strip_suffix('>') {
        return named(pattern, difference) && ours_is(Some(Ordering::Greater));
    }
    if let Some(pattern) = pattern.strip_suffix('<') {
        return named(pattern, difference) && ours_is(Some(Ordering::Less));
    }
    named(pattern, difference)
}

fn named(pattern: &str, difference: &Difference) -> bool {
    let aspect = match difference.aspect.as_str() {
        "status" if difference.ours.starts_with("fails") => "refusal",
        "status" if !difference.ours.starts_with("runs") => "crash",
        aspect => aspect,
    };
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => aspect.ends_with(end),
        (_, Some(start)) => aspect.starts_with(start),
        _ => aspect == pattern,
    }
}

/// The mean of the numbers that a difference shows. A run without the fact has 0.
fn mean(shown: &str) -> f64 {
    let number = |text: &str| text.trim_end_matches(" ms").parse::<f64>().unwrap_or_default();
    let numbers: Vec<f64> = shown.split(", ").map(number).collect();
    numbers.iter().sum::<f64>() / numbers.len() as f64
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

    fn difference(aspect: &str, ours: &str, theirs: &str) -> Difference {
        Difference { aspect: aspect.into(), ours: ours.into(), theirs: theirs.into() }
    }

    #[test]
    fn aspects_are_compared_by_name() {
        let reads = difference("ios.read", "5", "6");
        assert!(is("ios.*", &reads) && is("ios.read", &reads));
        assert!(is("*.read", &reads) && !is("*.write", &reads));
        assert!(!is("ios.write", &reads) && !is("ios", &reads));
    }

    #[test]
    fn an_aspect_may_say_which_program_has_more() {
        let more = difference("ios.read", "86, 87", "64, 70, 68");
        assert!(is("ios.*>", &more) && !is("ios.*<", &more));
        let less = difference("time", "400 ms", "20268 ms, 7093 ms");
        assert!(is("time<", &less) && !is("time>", &less));
        assert!(is("traced.*>", &difference("traced.trim", "3", "nothing")));
    }

    #[test]
    fn a_job_that_only_fio_runs_has_its_own_aspect() {
        let ours_fails = difference("status", "fails: no such file", "runs");
        assert!(is("refusal", &ours_fails) && !is("status", &ours_fails));
        let theirs_fails = difference("status", "runs", "killed at the limit");
        assert!(is("status", &theirs_fails) && !is("refusal", &theirs_fails));
        let ours_panics = difference("status", "panics", "runs");
        assert!(!is("status", &ours_panics) && !is("refusal", &ours_panics));
    }
}
