//! The record of a simulated device (`sim_record`), as I/Os of the job.

use std::collections::HashMap;

/// Names of the directions.
pub(crate) const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

/// An I/O of the job: one op, or several if transfers were short. Times are in nanoseconds from the start of the job.
#[derive(Debug, Clone)]
pub(crate) struct DoneIo {
    /// Index in [`DIRECTIONS`]; `None`: a sync.
    pub dir: Option<usize>,
    pub offset: u64,
    pub bytes: u64,
    /// When the job queued it.
    pub start: u64,
    /// When the job submitted it.
    pub issue: u64,
    /// When the job learned that it had completed.
    pub end: u64,
    /// The errno of an I/O that failed.
    pub errno: Option<i64>,
    /// When the first short transfer ended, if one was short.
    pub short: Option<u64>,
    /// Number of the call that submitted its first op, and of the one that reaped its last one. They count together.
    pub submission: u64,
    pub reap: u64,
}

impl DoneIo {
    pub(crate) fn is_done(&self) -> bool {
        self.errno.is_none()
    }
    pub(crate) fn slat(&self) -> u64 {
        self.issue - self.start
    }
    pub(crate) fn clat(&self) -> u64 {
        self.end - self.issue
    }
    pub(crate) fn lat(&self) -> u64 {
        self.end - self.start
    }
}

/// A latency of an I/O, or another number.
pub(crate) type LatencyOf = fn(&DoneIo) -> u64;

#[derive(Debug, Clone, Default)]
pub(crate) struct JobRecord {
    /// The I/Os in the order of their ends.
    pub ios: Vec<DoneIo>,
    /// Number and time of each reap with completions, and how many it had.
    pub reaps: Vec<(u64, u64, u64)>,
}

/// An op of the record.
struct Line {
    slot: u64,
    dir: Option<usize>,
    offset: u64,
    len: u64,
    at: u64,
    queued: u64,
    submitted: u64,
    reaped: u64,
    submission: u64,
    reap: u64,
    result: i64,
}

impl Line {
    fn of(text: &str) -> Line {
        let fields: Vec<&str> = text.split(',').collect();
        assert_eq!(fields.len(), 13, "{text}");
        let number = |at: usize| -> u64 { fields[at].parse().unwrap() };
        assert!(number(8) <= number(9), "the job learns of an end before it: {text}");
        Line {
            slot: number(0),
            dir: DIRECTIONS.iter().position(|name| *name == fields[2]),
            offset: number(3),
            len: number(4),
            at: number(5),
            queued: number(6),
            submitted: number(7),
            reaped: number(9),
            submission: number(10),
            reap: number(11),
            result: fields[12].parse().unwrap(),
        }
    }
}

impl JobRecord {
    pub(crate) fn of(text: &str) -> JobRecord {
        let mut record = JobRecord::default();
        let mut begun: HashMap<u64, DoneIo> = HashMap::new();
        for line in text.lines().skip(1).map(Line::of) {
            match record.reaps.last_mut() {
                Some((reap, _, count)) if *reap == line.reap => *count += 1,
                _ => record.reaps.push((line.reap, line.reaped, 1)),
            }
            let io = begun.remove(&line.slot).unwrap_or(DoneIo {
                dir: line.dir,
                offset: line.offset,
                bytes: line.len,
                start: line.queued,
                issue: line.submitted,
                end: 0,
                errno: None,
                short: None,
                submission: line.submission,
                reap: 0,
            });
            let mut io = DoneIo { end: line.reaped, reap: line.reap, ..io };
            let moves = line.dir.is_some_and(|dir| dir < 2);
            if line.result < 0 || (moves && line.result == 0) {
                io.errno = Some(-line.result);
            } else if moves && (line.result as u64) < line.len {
                io.short.get_or_insert(line.reaped);
                begun.insert(line.slot, io);
                continue;
            }
            assert!(!moves || io.errno.is_some() || line.at + line.len == io.bytes);
            record.ios.push(io);
        }
        assert!(begun.is_empty(), "each op completes");
        record
    }

    /// The part of the record that counts: from `begin` on. An I/O that ended at this time does not count.
    pub(crate) fn measured(&self, begin: u64) -> JobRecord {
        let ios = self.ios.iter().filter(|io| io.end > begin || begin == 0);
        let reaps = self.reaps.iter().filter(|(_, at, _)| *at > begin || begin == 0);
        JobRecord { ios: ios.cloned().collect(), reaps: reaps.copied().collect() }
    }

    /// The end of the last op.
    pub(crate) fn last_end(&self) -> u64 {
        self.reaps.last().map_or(0, |(_, at, _)| *at)
    }
}
