use fiord_types::{Bytes, Errno, Nanos};
use proptest::prelude::*;

use super::{IologColumns, IologWriter};
use crate::trace::{
    self, InvalidLines, RowProblem, TraceError, TraceEvent, TraceIo, TraceKind, TraceName,
    TraceNotes, TraceOptions, TraceOutcome, TraceTarget,
};

fn read_with(
    log: &[u8],
    options: &TraceOptions,
) -> Result<(Vec<TraceEvent>, TraceNotes), TraceError> {
    let mut reader = trace::open(log, options)?;
    let mut events = Vec::new();
    while let Some(event) = reader.next_event()? {
        events.push(event);
    }
    Ok((events, reader.notes().clone()))
}

fn read(log: &str) -> Result<Vec<TraceEvent>, TraceError> {
    Ok(read_with(log.as_bytes(), &TraceOptions::default())?.0)
}

fn problem(log: &str) -> (u64, RowProblem) {
    match read(log) {
        Err(TraceError::Line { line, problem, .. }) => (line, problem),
        other => panic!("{log:?}: {other:?}"),
    }
}

fn ios(log: &str) -> Vec<(u64, TraceKind, u64, u64)> {
    let ios = read(log).unwrap().into_iter().filter_map(|event| match event {
        TraceEvent::Io(io) => Some((io.time.as_micros(), io.kind, io.offset.0, io.len.0)),
        _ => None,
    });
    ios.collect()
}

fn path(name: &str) -> TraceName {
    TraceName::Path(name.into())
}

const T0: TraceTarget = TraceTarget::new(0);
const T1: TraceTarget = TraceTarget::new(1);

/// A log that fio 3.42 wrote, shortened.
const FIO: &str = "\
fio version 3 iolog
55 /tmp/x add
418 /tmp/x open
423 /tmp/x trim 28672 4096
439 /tmp/x write 28672 4096
451 /tmp/x datasync 16384 0
466 /tmp/x close
";

#[test]
fn a_log_of_fio_is_read_and_written_byte_for_byte() {
    let events = read(FIO).unwrap();
    assert_eq!(events[0], TraceEvent::Target(T0, path("/tmp/x")));
    assert_eq!(events[1], TraceEvent::Open(T0));
    let first =
        TraceIo::new(Nanos::from_micros(423), T0, TraceKind::Trim, Bytes(28672), Bytes(4096));
    assert_eq!(events[2], TraceEvent::Io(first));
    assert_eq!(events[5], TraceEvent::Close(T0));

    let mut writer = IologWriter::new(IologColumns::Issue);
    let mut out = Vec::new();
    writer.header(&mut out);
    assert_eq!(writer.add(Nanos(55_999), b"/tmp/x", &mut out), T0);
    writer.open(Nanos::from_micros(418), T0, &mut out);
    for event in &events {
        if let TraceEvent::Io(io) = event {
            writer.io(io, &mut out);
        }
    }
    writer.close(Nanos::from_micros(466), T0, &mut out);
    assert_eq!(String::from_utf8(out).unwrap(), FIO);
}

#[test]
fn version_2_has_waits_instead_of_times() {
    let log = "fio version 2 iolog\n/a add\n/b add\n/a open\n/a read 0 4096\n/a wait 20 0\n/b sync 0 0\n\
               /a wait 35 0\n/a write 4096 512\n/a close\n";
    assert_eq!(
        ios(log),
        [
            (0, TraceKind::Read, 0, 4096),
            (20_000, TraceKind::Sync, 0, 0),
            (35_000, TraceKind::Write, 4096, 512)
        ]
    );
    assert_eq!(problem("fio version 3 iolog\n0 /a add\n1 /a wait 20 0\n"), (3, RowProblem::Wait));
}

#[test]
fn blanks_line_ends_and_further_fields_are_read_as_fio_reads_them() {
    let log = "fio version 3 iolog\r\n  0\t/a   add\r\n\r\n1 /a open\r\n 5  /a\tread  0 4096 \r\n\
               6 /a read 4096 4096 more 1 2\r\n7 /a read 8192 512";
    let expected = [(5, 0, 4096), (6, 4096, 4096), (7, 8192, 512)]
        .map(|(time, offset, len)| (time, TraceKind::Read, offset, len));
    assert_eq!(ios(log), expected);
}

#[test]
fn names_may_contain_blanks_and_actions() {
    let log = "fio version 3 iolog\n0 /a add\n0 /a b add\n0 /a read add\n1 /a b open\n\
               2 /a b read 0 1\n3 /a read 0 2\n4 /a read read 0 3\n5 /a b sync 0 4\n";
    let events = read(log).unwrap();
    let names: Vec<_> = ["/a", "/a b", "/a read"].map(path).into();
    let mut found = Vec::new();
    let mut rows = Vec::new();
    for event in events {
        match event {
            TraceEvent::Target(_, name) => found.push(name),
            TraceEvent::Io(io) => rows.push((io.target.index(), io.len.0)),
            TraceEvent::Open(target) => assert_eq!(target, T1),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(found, names);
    assert_eq!(rows, [(1, 1), (0, 2), (2, 3), (1, 4)]);
}

#[test]
fn an_invalid_line_is_reported_with_number_text_and_reason() {
    let log =
        |line: &str| format!("fio version 3 iolog\n0 /a add\n1 /a open\n{line}\n9 /a read 0 1\n");
    let number = |field| RowProblem::NotANumber { field };
    let missing = |field| RowProblem::Missing { field };
    for (line, expected) in [
        ("bad line here", number("timestamp")),
        ("-1 /a read 0 4096", number("timestamp")),
        ("1.5 /a read 0 4096", number("timestamp")),
        ("5", missing("action")),
        ("5 /a", missing("action")),
        ("5 /a jump 0 4096", RowProblem::Action),
        ("5 /a read", missing("offset")),
        ("5 /a read 4096", missing("length")),
        ("5 /a read 0x1000 4096", number("offset")),
        ("5 /a read 0 -4096", number("length")),
        ("5 /a read 0 99999999999999999999", number("length")),
        ("5 /b read 0 4096", RowProblem::NotAdded),
        ("5 /b c read 0 4096", RowProblem::NotAdded),
        ("5 /b open", RowProblem::NotAdded),
        ("5 /a read 9223372036854775808 0", RowProblem::TooFar),
        ("5 /a read 9223372036854775807 1", RowProblem::TooFar),
        ("5 /a read 18446744073709551615 18446744073709551615", RowProblem::TooFar),
    ] {
        assert_eq!(problem(&log(line)), (4, expected), "{line}");
    }
    let error = read(&log("5 /a jump 0 4096")).unwrap_err().to_string();
    assert_eq!(error, "line 4 of the trace is invalid: unknown action: \"5 /a jump 0 4096\"");
    assert_eq!(ios(&log("5 /a read 9223372036854775806 1")).len(), 2);
}

#[test]
fn invalid_lines_are_skipped_and_counted_on_request() {
    let log = b"fio version 3 iolog\n0 /a add\nwhat?\n5 /a read 0 4096\n6 /b read 0 1\n";
    let options = TraceOptions { invalid: InvalidLines::Skip, ..TraceOptions::default() };
    let (events, notes) = read_with(log, &options).unwrap();
    assert_eq!((events.len(), notes.skipped), (2, 2));
    let first = notes.first_skipped.unwrap();
    assert_eq!((first.line, first.text.as_str()), (3, "what?"));
}

#[test]
fn a_line_of_any_length_needs_bounded_memory() {
    let log = format!("fio version 3 iolog\n0 /a add\n1 /a read 0 {}\n", "1".repeat(1 << 20));
    assert_eq!(problem(&log), (3, RowProblem::TooLong { most: 65536 }));
}

#[test]
fn times_that_go_backwards_keep_the_order_of_the_lines() {
    let log = b"fio version 3 iolog\n0 /a add\n500 /a read 0 1\n300 /a read 1 1\n600 /a read 2 1\n";
    let (events, notes) = read_with(log, &TraceOptions::default()).unwrap();
    let times: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            TraceEvent::Io(io) => Some((io.time.as_micros(), io.offset.0)),
            _ => None,
        })
        .collect();
    assert_eq!(times, [(500, 0), (500, 1), (600, 2)]);
    assert_eq!((notes.backwards, notes.furthest_back), (1, Nanos::from_micros(200)));
}

#[test]
fn an_implausible_gap_is_an_error() {
    let log = "fio version 3 iolog\n0 /a add\n1 /a read 0 1\n86400000002 /a read 0 1\n";
    let gap = RowProblem::Gap { gap: Nanos(86_400_000_001_000), most: Nanos::from_secs(86400) };
    assert_eq!(problem(log), (4, gap));
    let options = TraceOptions { longest_gap: Nanos::MAX, ..TraceOptions::default() };
    assert_eq!(read_with(log.as_bytes(), &options).unwrap().0.len(), 3);
    // No time overflows.
    let log = b"fio version 3 iolog\n0 /a add\n18446744073709551615 /a read 0 1\n";
    assert_eq!(read_with(log, &options).unwrap().0.len(), 2);
}

#[test]
fn a_log_that_two_runs_appended_to_continues_its_time() {
    let log = "fio version 3 iolog\n0 /a add\n10 /a read 0 1\nfio version 3 iolog\n0 /a add\n0 /b add\n\
               5 /b read 0 2\nfio version 2 iolog\n/a wait 1 0\n/a read 0 3\n";
    let expected = [(10, 1), (15, 2), (1015, 3)].map(|(time, len)| (time, TraceKind::Read, 0, len));
    assert_eq!(ios(log), expected);
}

#[test]
fn other_first_lines_are_refused() {
    let version = |log: &str| match read(log) {
        Err(TraceError::Version { found }) => found,
        other => panic!("{other:?}"),
    };
    assert_eq!(version("fio version 1 iolog\n0, 1, 2\n"), "1");
    assert_eq!(version("fio version 4 iolog\n"), "4");
    assert!(matches!(read("hello\n"), Err(TraceError::Unknown { start }) if start == "hello\n"));
    assert!(matches!(read(""), Err(TraceError::Empty)));
}

#[test]
fn completions_are_sorted_by_issue() {
    let log = "fio version 3 iolog\n0 /a add\n1 /a open\n\
               20 /a read 4096 4096 1500 4096\n10 /a write 0 4096 90000 -5\n15 /a sync 0 0 95000 0\n99 /a close\n";
    let events = read(log).unwrap();
    let ios: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            TraceEvent::Io(io) => Some((io.time.as_micros(), io.kind, io.outcome.unwrap())),
            _ => None,
        })
        .collect();
    let outcome = |latency, result| TraceOutcome { latency: Nanos(latency), result };
    assert_eq!(
        ios,
        [
            (10, TraceKind::Write, outcome(90_000, Err(Errno::EIO))),
            (15, TraceKind::Sync, outcome(95_000, Ok(Bytes::ZERO))),
            (20, TraceKind::Read, outcome(1500, Ok(Bytes(4096)))),
        ]
    );
    assert_eq!(events.last(), Some(&TraceEvent::Close(T0)));
}

fn any_io() -> impl Strategy<Value = (TraceIo, usize)> {
    let outcome = (any::<u64>(), 0..1u64 << 30, any::<bool>()).prop_map(|(latency, n, ok)| {
        let result = if ok { Ok(Bytes(n)) } else { Err(Errno::from_raw(1 + (n % 133) as i32)) };
        TraceOutcome { latency: Nanos(latency), result }
    });
    let range = (0..1u64 << 62, 0..1u64 << 62);
    (0..1000u64, 0..5usize, range, proptest::option::of(outcome), 0..4usize).prop_map(
        |(step, kind, (offset, len), outcome, file)| {
            let (time, target) = (Nanos::from_micros(step), T0);
            let io = TraceIo::new(time, target, TraceKind::ALL[kind], Bytes(offset), Bytes(len));
            (TraceIo { outcome, ..io }, file)
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        names in proptest::collection::hash_set("/[a-z .]{0,12}[a-z]", 4),
        ios in proptest::collection::vec(any_io(), 0..60),
        completions in any::<bool>(),
    ) {
        let columns =
            if completions { IologColumns::Completion } else { IologColumns::Issue };
        let mut writer = IologWriter::new(columns);
        let mut out = Vec::new();
        writer.header(&mut out);
        let mut expected = Vec::new();
        for name in &names {
            let target = writer.add(Nanos::ZERO, name.as_bytes(), &mut out);
            expected.push(TraceEvent::Target(target, path(name)));
        }
        let mut time = Nanos::ZERO;
        for (io, file) in ios {
            time += io.time;
            let target = TraceTarget::new(file as u32);
            let outcome = io.outcome.filter(|_| completions);
            writer.io(&TraceIo { time, target, ..io }, &mut out);
            expected.push(TraceEvent::Io(TraceIo { time, target, outcome, ..io }));
        }
        let (events, notes) = read_with(&out, &TraceOptions::default()).unwrap();
        prop_assert_eq!(events, expected);
        prop_assert_eq!(notes, TraceNotes::default());
    }

    #[test]
    fn no_text_causes_a_panic(text in "(fio version [23] iolog\n)?([0-9]{0,3}[ \t]?/?[ab ]{0,2} ?(add|open|read|wait)? ?[0-9]{0,20} ?[0-9-]{0,3}\n?){0,20}") {
        let _ = read(&text);
        let options = TraceOptions { invalid: InvalidLines::Skip, longest_gap: Nanos::MAX };
        let _ = read_with(text.as_bytes(), &options);
    }
}
