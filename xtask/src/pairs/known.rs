//! Differences that are documented.

use std::cmp::Ordering;

use super::case::{Case, Space};
use super::compare::Difference;
use super::pattern::Pattern;

/// A difference with a reason.
#[derive(Debug)]
pub(super) struct Known {
    /// Cases that have it.
    pub when: &'static str,
    /// Facts that differ, separated by blanks. `*` at the end stands for every ending, and at the beginning for every subject.
    /// `>` after that: fiord has more, `<`: fio has more. `status` is for jobs that run in fiord and fail in fio, `refusal` for
    /// the opposite.
    pub aspects: &'static str,
    /// Words of `docs/differences.md` that document the difference.
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
    known("#syncs", "depth.1<", "Depths count only I/Os."),
    known("#async #syncs", "depth.1", "Depths count only I/Os."),
    known("#async #paced", "depth.1", "depths, submissions and completions in the report then"),
    known("#async #trims", "depth.1", "depths, submissions and completions in the report then"),
    known("#async", "depth.1<", "depths, submissions and completions in the report then"),
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
    known("experimental_verify=* loops=*", MORE, "With `experimental_verify`, each of the `loops`"),
    known(
        "verify=* #holes trim_percentage=*",
        "covered.trim end.trim",
        "verifies `rw=write:8k` in two",
    ),
    known("verify=* #holes #sizes", "covered.*", "verifies `rw=write:8k` in two passes"),
    known("verify=* #holes", TIMES, "verifies `rw=write:8k` in two passes"),
    known("zonemode=* random_distribution=*", FULL, "ends a job with `random_distribution`"),
    known("zonemode=* random_distribution=*", SPREAD, "ends a job with `random_distribution`"),
    known("zonemode=* file_append=*", "contents.*", "With `file_append`, fio writes half"),
    known("zonemode=* file_append=*", MORE, "With `file_append`, fio writes half"),
    known("flow_id=*", "time<", "A job that waits for its share"),
    known("flow_id=*", "status", "A job that waits for its share"),
    known("bs_unaligned=*", "sizes.*", "one in seven I/Os has the largest size"),
    known("io_submit_mode=*", "status", "`io_submit_mode=offload` works with every engine"),
    known("io_submit_mode=*", "syncs>", "`io_submit_mode=offload` works with every engine"),
    known("io_submit_mode=* verify=*", FULL, "`io_submit_mode=offload` works with every engine"),
    known(
        "io_submit_mode=* verify=*",
        "keys depth.* names",
        "`io_submit_mode=offload` works with every engine",
    ),
    known(
        "ramp_time=* rate*",
        "hot.* deciles.* sequential.*",
        "fio does not limit the rate in `ramp_time`",
    ),
    known("rwmixread=80 rate*", MIX, "does not reach the rates"),
    known("rwmixwrite=30 rate*", MIX, "does not reach the rates"),
    known("#mixed #sizes rate_iops*", MIX, "computed from the smallest block"),
    known("#mixed #sizes rate_iops*", "ios.total job.*", "computed from the smallest block"),
    known("rwmixread=80 rate* verify=*", "ios.total job.*", "does not reach the rates"),
    known("rwmixwrite=30 rate* verify=*", "ios.total job.*", "does not reach the rates"),
    known("log_avg_msec=*", "columns.* directions.* rows.*", "or the only one; fio leaves it out"),
    known("log_hist_msec=*", "columns.* directions.* rows.*>", "The last histogram is written"),
    known("#trims ioengine=posixaio", "rows.*> directions.* columns.*", "Trims have a submission"),
    known("rw_sequencer=identical #many", SPREAD, "With `rw_sequencer=identical` and"),
    known("write_bw_log=l", "text.heads", "statistics of bandwidth and IOPS are of windows"),
    known("ioengine=posixaio iodepth_batch=4 #paced", "status", "not end a job with `posixaio`"),
    known("verify=* dedupe_percentage=*", "contents.*", "decide what verified blocks contain"),
    known("verify=* #mixed rate* loops=*", VERIFIED, "also verifies blocks of earlier"),
    known("verify=* rw=randwrite:4 loops=*", MORE, "also verifies blocks of earlier"),
    known("verify=* #mixed rate* loops=*", MIX, "Verify reads do not count into a rate"),
    known("#backwards offset=*", SPREAD, "With an `offset`, `rw=read:-8k` begins"),
    known("#backwards offset=* #sizes", MORE, "With an `offset`, `rw=read:-8k` begins"),
    known("#backwards offset=* bs=4k,8k", MORE, "With an `offset`, `rw=read:-8k` begins"),
    known("#skewed openfiles=*", FILES, "still accesses all files"),
    known("#skewed openfiles=*", LESS, "still accesses all files"),
    known("file_service_type=zipf:1.2", FILES, "divides the share of the hottest file"),
    known("file_service_type=pareto:0.3", FILES, "divides the share of the hottest file"),
    known("#trims ioengine=vsync", "status", "`vsync` trims"),
    known("trim_percentage=* ioengine=vsync", "status", "`vsync` trims"),
    known("file_append=* io_size=3m", MORE, "`file_append` and `io_size`"),
    known("file_append=* ioengine=null", SPREAD, "`file_append` and `io_size`"),
    known("file_append=* ioengine=null", "alignment.*", "`file_append` and `io_size`"),
    known("file_append=* ioengine=mmap", "output status", "`mmap` appends to files"),
    known("file_append=* loops=*", MORE, "`loops` does the same work in each pass."),
    known("random_generator=lfsr zonemode=*", SPREAD, "each visit to a zone draws"),
    known("bs=64k zonemode=* #rand", "refusal", "A zone that is smaller than a random block"),
    known("#ranges offset=25% #holes", LESS, "with an `offset` in per cent** covers"),
    known("#ranges ioengine=null", SPREAD, "With `ioengine=null`, fio ignores"),
    known("filesize=2m offset=25%", SPREAD, "with an `offset` in per cent** covers"),
    known("#ranges offset=25%", SPREAD, "with an `offset` in per cent** covers"),
    known("bs_is_seq_rand=*", "sizes.*", "With `bs_is_seq_rand`, random offsets"),
    known("bs_is_seq_rand=*", "end.* begin.* covered.*", "With `bs_is_seq_rand`, random offsets"),
    known("bs_is_seq_rand=* zonemode=*", MORE, "With `bs_is_seq_rand`, random offsets"),
    known("random_distribution=normal*", "begin.* end.*", "reach all blocks of a file"),
    known("random_distribution=normal*", "covered.*> contents.*", "reach all blocks of a file"),
    known("#sizes random_distribution=*", FULL, "A random job does all requested I/O."),
    known("bs_is_seq_rand=* random_distribution=*", FULL, "A random job does all requested I/O."),
    known("random_distribution=zipf* #many", FULL, "A random job does all requested I/O."),
    known("bsrange=4k-8k,2k-64k offset=25% #many", FULL, "A random job does all requested I/O."),
    known("bs=4k,8k random_distribution=* #writes", FULL, "A random job does all requested I/O."),
    known("#sizes zonemode=* #rand", FULL, "A random job does all requested I/O."),
    known("offset=25% loops=*", MORE, "`loops` does the same work in each pass."),
    known("offset=25% #holes loops=*", SPREAD, "`loops` does the same work in each pass."),
    known("offset=25% #seq time_based=1", "deciles.* hot.*", "`loops` does the same work in each"),
    known("#pairs number_ios=40 loops=*", "end.*<", "`loops` does the same work in each pass."),
    known("#pairs number_ios=40 loops=*", LESS, "`loops` does the same work in each pass."),
    known("#mixed #seq loops=*", SPREAD, "A sequential mixed job continues in the next"),
    known("#mixed #seq io_size=3m", SPREAD, "A sequential mixed job continues in the next"),
    known("#mixed #seq #timed", "hot.* deciles.*", "A sequential mixed job continues in the next"),
    known("ioengine=mmap #writes", "contents.*", "`mmap` does not fill the files"),
    known(
        "create_only=*",
        "names actions.* rows.* columns.* directions.*",
        "`create_only=1` leaves only the files",
    ),
    known("#nomap openfiles=*", FILES, "several files and `openfiles`"),
    known("#nomap openfiles=* create_on_open=1", "names length.*", "several files and `openfiles`"),
    known("#nomap file_service_type=sequential", FILES, "several files and `openfiles`"),
    known("zonemode=* #many", FILES, "strided zones and several files"),
    known("zonemode=* #many", MORE, "strided zones and several files"),
    known("zonemode=* #holes", SPREAD, "a hole does not lead out of the zone"),
    known("zonemode=* #backwards", SPREAD, "With strided zones, `rw=read:-8k` reads"),
    known("zonemode=* #backwards", "sequential.*", "With strided zones, `rw=read:-8k` reads"),
    known("verify=* ramp_time=*", MORE, "With `verify` and `ramp_time`, fio"),
    known(
        "verify=* ramp_time=*",
        "columns.* directions.* keys depth.* names",
        "With `verify` and `ramp_time`, fio",
    ),
    known("verify=* #sizes", VERIFIED, "reads back every block that is whole"),
    known("verify=* #skewed", VERIFIED, "reads back every block that is whole"),
    known("verify=* percentage_random=50", VERIFIED, "reads back every block that is whole"),
    known("verify=* percentage_random=50", "bytes.read<", "reads back every block that is whole"),
    known("verify=* zonemode=*", VERIFIED, "reads back every block that is whole"),
    known("verify=* zonemode=*", "bytes.read<", "reads back every block that is whole"),
    known("verify=* #skewed", "bytes.read<", "reads back every block that is whole"),
    known("verify=* blockalign=4k", VERIFIED, "reads back every block that is whole"),
    known("verify=*", "switches.read sequential.read", "reads back every block that is whole"),
    known("verify=* io_size=3m", TIMES, "`io_size` does not count"),
    known("verify=* write_iolog=*", "actions.* rows.*>", "fiord flushes each file"),
    known("verify=*", "time>", "fiord flushes each file"),
    known("verify_backlog=* openfiles=* #mixed", "status", "With `verify_backlog` and `openfiles`"),
    known("verify_backlog=* #syncs", "syncs>", "An `fsync=N` counts writes only"),
    known("trim_percentage=* #syncs", "syncs>", "An `fsync=N` counts writes only"),
    known("verify_backlog=* #mixed rate*", MIX, "Verify reads do not count into a rate"),
    known(
        "verify_backlog_batch=* trim_percentage=50",
        "*.trim ios.total> job.*>",
        "With `verify_backlog_batch`, fio",
    ),
    known("trim_percentage=*", "status", "Other jobs of fio with `trim_percentage`"),
    known("trim_percentage=* #mixed #seq #async", MORE, "it counts the trims, and makes fewer"),
    known("trim_percentage=* #mixed #seq #async", "end.*", "it counts the trims, and makes fewer"),
    known("trim_percentage=* #mixed #seq", LESS, "a sequential mixed job of fio goes on"),
    known("trim_percentage=* #mixed #seq", "end.*<", "a sequential mixed job of fio goes on"),
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
    known("random_distribution=zoned_abs*", "refusal", "beyond one of the files is an error"),
    known("fixedbufs=*", "status", "`fixedbufs` and `registerfiles` work with"),
    known("dedupe_percentage=*", "contents.duplicates", "is the share of all blocks of 4 KiB"),
    known(
        "buffer_compress_percentage=*",
        "contents.duplicates",
        "is the share of all blocks of 4 KiB",
    ),
    known("random_generator=lfsr blockalign=4k", FULL, "`random_generator=lfsr` with `blockalign`"),
    known("random_generator=lfsr blockalign=8k", FULL, "`random_generator=lfsr` with `blockalign`"),
    known("random_distribution=* blockalign=4k", "length.*>", "`blockalign` that is not the block"),
    known("random_distribution=* blockalign=4k", SPREAD, "`blockalign` that is not the block"),
    known("random_distribution=* blockalign=8k", FULL, "`blockalign` that is not the block"),
    known("random_distribution=zipf*", "deciles.*", "Random block sizes, offsets and directions"),
    known("random_distribution=pareto*", "deciles.*", "Random block sizes, offsets and directions"),
    known("rwmixread=80", "begin.* end.*", "Random block sizes, offsets and directions"),
    known("write_iolog=* sync_file_range=*", "actions.* rows.*<", "`sync_file_range` has no line"),
    known("bs=64k rw=randtrimwrite zonemode=*", FULL, "A job with strided zones does all its work"),
    known(
        "verify=* time_based=1 #many",
        "*.read rows.*< directions.* keys",
        "fio does so after each",
    ),
    known(
        "verify=* time_based=1 #odd",
        "*.read rows.*< directions.* keys",
        "fio does so after each",
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
