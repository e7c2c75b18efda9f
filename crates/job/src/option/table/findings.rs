//! The findings, and the option that suppresses them.

use crate::option::declare::*;

/// The names of the findings, sorted. `crates/doctor` detects and reports them.
pub const NAMES: &[Word] = &[
    Word::new("aio-threads", "an `iodepth` above the number of threads of POSIX asynchronous I/O"),
    Word::new("bad-data", "data that is not what was written (`verify`)"),
    Word::new("buffered-not-synced", "buffered writes that the job never flushes"),
    Word::new("cache-hits", "reads that the page cache answered instead of the device"),
    Word::new("cache-under-direct", "direct I/O to a file with pages in the page cache"),
    Word::new("cached-working-set", "a working set that fits into a cache"),
    Word::new("clock-error", "clocks of hosts that could not be compared well"),
    Word::new("clock-source", "a system clock that is slow to read"),
    Word::new("compressible-data", "written data that the storage can compress or deduplicate"),
    Word::new("connection-per-request", "a server that closes the connection after each answer"),
    Word::new("contents-cost", "data generation that costs as much as the I/O"),
    Word::new("dentry-cache", "attributes that came from memory"),
    Word::new("depth-ignored", "an `iodepth` above 1 where only one I/O is in flight at a time"),
    Word::new("depth-not-reached", "fewer I/Os in flight than `iodepth`"),
    Word::new("device-errors", "errors that the device counted"),
    Word::new("direct-not-direct", "a file system without direct I/O"),
    Word::new("doubtful-job", "something in the job that is probably a mistake"),
    Word::new("drive-letter", "a colon in a file name that fiord reads as a separator"),
    Word::new("empty-zones", "zones without data to read"),
    Word::new("ended-in-ramp", "a job that ended within its ramp"),
    Word::new("existing-names", "files that `filecreate` opened because they existed"),
    Word::new("file-extended", "a read job that extends an existing file"),
    Word::new("generator-bound", "a result that the CPUs limit, not the device"),
    Word::new("governor", "CPUs that do not run at full speed"),
    Word::new(
        "hidden-stalls",
        "stalls that latencies from the actual start hide (coordinated \
                                omission)",
    ),
    Word::new("host-lost", "a host without a complete result"),
    Word::new("host-straggler", "a host that is much slower than the others"),
    Word::new("hosts-differ", "hosts with different kernels, CPUs, devices or schedulers"),
    Word::new("link-degraded", "a PCIe link below its maximum speed or width"),
    Word::new("log-bound", "jobs that waited for their logs"),
    Word::new("log-on-target", "a log on the disk that the job measures"),
    Word::new("loopback", "network connections that stay on the machine"),
    Word::new("misaligned", "I/Os that are not aligned to the device's blocks"),
    Word::new("no-data-moved", "a bandwidth although no data moves"),
    Word::new("no-effect", "options that have no effect"),
    Word::new("noisy-neighbour", "other users of the device or the machine"),
    Word::new("not-preconditioned", "a drive that was not written in full before the test"),
    Word::new("not-steady", "a result that is still changing"),
    Word::new("nothing-verified", "a job that should have verified data and verified none"),
    Word::new("numa", "memory or CPUs on another NUMA node than the device"),
    Word::new("offloads-off", "network interfaces whose offloads are off"),
    Word::new("overlapping-writers", "jobs that write the same range"),
    Word::new("oversubscribed-path", "targets that share a path with too little bandwidth"),
    Word::new("peer-limited", "a sender that waits for its peer"),
    Word::new("rate-and-rwmix", "rates for each direction together with a read/write mix"),
    Word::new("rate-missed", "a rate or CPU load that the job did not reach"),
    Word::new("reads-beyond-pointer", "reads that may go beyond the write pointers of zones"),
    Word::new("replay-late", "I/Os of a trace that were issued later than recorded"),
    Word::new("run-warning", "something in the job that the run could not do"),
    Word::new("same-start-offset", "jobs that read the same range"),
    Word::new("scheduler", "an I/O scheduler that delays and reorders I/Os"),
    Word::new("server-throttling", "a server that asks for fewer requests"),
    Word::new("shared-target", "hosts that use the same bytes of one device or file"),
    Word::new("size-per-job", "a size that applies to each worker, not to all together"),
    Word::new("slow-name-lookup", "a name server that is slow or does not answer"),
    Word::new("space-reserved", "reservations of space that the file has already"),
    Word::new("spec-exceeded", "a result far above the specification"),
    Word::new("spec-missed", "a result far below the specification"),
    Word::new("split-or-merged", "I/Os that reach the device in other sizes (split or merged)"),
    Word::new("start-skew", "hosts that did not start together"),
    Word::new("submission-blocks", "a submission call that blocks"),
    Word::new("target-in-use", "a target that is in use or holds a file system"),
    Word::new("thermal-throttle", "a device or CPU that throttles because it is hot"),
    Word::new("throttled-by-cgroup", "a control group that limits the job"),
    Word::new("tls-handshakes", "TLS handshakes in the latencies"),
    Word::new("too-short", "too few I/Os for a reliable result"),
    Word::new("unanswered-requests", "requests that a server did not answer"),
    Word::new("uneven-targets", "one slow target that slows the other targets down"),
    Word::new("unit-surprise", "a unit with an unexpected meaning"),
    Word::new("unwritten-data", "reads of data that was never written"),
    Word::new("value-adjusted", "values that fiord replaced by other values"),
    Word::new("volatile-cache", "writes that end in a volatile cache"),
    Word::new("window-limited", "a TCP window that is too small for the network"),
    Word::new("zero-data", "reads that return only zeros"),
    Word::new("zeroes-written", "a file system that writes zeroes to reserve space"),
    Word::new("zone-limits", "more open zones than the device supports"),
];

options! {
    Category::Results;

    /// Findings that fiord does not report for this job, separated by commas. A finding about the
    /// whole run is suppressed only if all its jobs ignore it.
    pub const IGNORE_FINDINGS: Opt<Option<Vec<&'static str>>> =
        option("ignore_findings", names_of(NAMES), "ignore_findings=size-per-job,too-short")
            .since("fiord");
}
