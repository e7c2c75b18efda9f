use std::io::{BufRead, BufReader};

use fiord_types::{Bytes, Errno, Nanos};
use proptest::prelude::*;

use super::{BlktraceReader, BlktraceRecord, MergeSource, merge};
use crate::trace::{
    self, RowProblem, TraceCompletion, TraceError, TraceEvent, TraceFlags, TraceIo, TraceKind,
    TraceName, TraceNotes, TraceOptions, TraceReader, TraceTarget,
};

// Categories and events of include/uapi/linux/blktrace_api.h.
const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const SYNC: u32 = 1 << 19;
const QUEUE: u32 = 1 << 20;
const COMPLETE: u32 = 1 << 23;
const PASSTHROUGH: u32 = 1 << 25;
const NOTIFY: u32 = 1 << 26;
const META: u32 = 1 << 28;
const DISCARD: u32 = 1 << 29;
const FUA: u32 = 1 << 31;
const CGROUP: u32 = 1 << 8;

const SDB: u32 = 8 << 20 | 16;
const SDC: u32 = 8 << 20 | 32;

/// The bytes of a record, written field by field from the kernel's header.
fn bytes(
    big: bool,
    time: u64,
    sector: u64,
    len: u32,
    action: u32,
    device: u32,
    payload: &[u8],
) -> Vec<u8> {
    let mut out = Vec::new();
    let order = |mut field: Vec<u8>| {
        if big {
            field.reverse();
        }
        field
    };
    out.extend(order(0x6561_7407u32.to_le_bytes().into()));
    out.extend(order(77u32.to_le_bytes().into())); // sequence
    out.extend(order(time.to_le_bytes().into()));
    out.extend(order(sector.to_le_bytes().into()));
    out.extend(order(len.to_le_bytes().into()));
    out.extend(order(action.to_le_bytes().into()));
    out.extend(order(4242u32.to_le_bytes().into())); // pid
    out.extend(order(device.to_le_bytes().into()));
    out.extend(order(3u32.to_le_bytes().into())); // cpu
    let error = if action & COMPLETE != 0 && sector == 900 { 5u16 } else { 0 };
    out.extend(order(error.to_le_bytes().into()));
    out.extend(order((payload.len() as u16).to_le_bytes().into()));
    assert_eq!(out.len(), 48);
    out.extend_from_slice(payload);
    out
}

fn queued(time: u64, sector: u64, len: u32, categories: u32) -> Vec<u8> {
    bytes(false, time, sector, len, QUEUE | categories | 1, SDB, b"")
}

fn read(trace: &[u8]) -> Result<(Vec<TraceEvent>, TraceNotes), TraceError> {
    collect(&mut *trace::open(trace, &TraceOptions::default())?)
}

fn collect(reader: &mut dyn TraceReader) -> Result<(Vec<TraceEvent>, TraceNotes), TraceError> {
    let mut events = Vec::new();
    while let Some(event) = reader.next_event()? {
        events.push(event);
    }
    Ok((events, reader.notes().clone()))
}

fn ios(events: &[TraceEvent]) -> Vec<TraceIo> {
    let io = |event: &TraceEvent| match event {
        TraceEvent::Io(io) => Some(*io),
        _ => None,
    };
    events.iter().filter_map(io).collect()
}

const T0: TraceTarget = TraceTarget::new(0);
const T1: TraceTarget = TraceTarget::new(1);

fn sample(big: bool) -> Vec<u8> {
    let record = |time, sector, len, action, device, payload: &[u8]| {
        bytes(big, time, sector, len, action, device, payload)
    };
    [
        record(900, 0, 0, NOTIFY, 0, b"fio\0"),
        record(1000, 8, 4096, QUEUE | READ | 1, SDB, b""),
        record(1100, 16, 4096, QUEUE | WRITE | SYNC | 1 | CGROUP, SDB, &[1; 16]),
        record(1200, u64::MAX, 0, QUEUE | WRITE | FLUSH | 1, SDB, b""),
        record(1300, 24, 512, QUEUE | WRITE | FLUSH | FUA | META | 1, SDC, b""),
        record(1400, 32, 65536, QUEUE | WRITE | DISCARD | 1, SDB, b""),
        record(1500, 40, 4096, QUEUE | READ | 2, SDB, b""),
        record(1600, 8, 8192, COMPLETE | READ | 8, SDB, b""),
        record(1700, 900, 512, COMPLETE | WRITE | 8, SDC, b""),
        record(1800, 0, 36, QUEUE | PASSTHROUGH | READ | 1, SDB, b"\x12\0\0"),
        record(1900, 8, 4096, READ | 7, SDB, b""),
    ]
    .concat()
}

#[test]
fn records_of_either_byte_order_become_events() {
    let device = |minor| TraceName::Device { major: 8, minor };
    let io = |time, target, kind, offset, len, flags| {
        let io = TraceIo::new(Nanos(time), target, kind, Bytes(offset), Bytes(len));
        TraceEvent::Io(TraceIo { flags, ..io })
    };
    let done = |time, target, kind, offset, len, error| {
        let (time, offset, len) = (Nanos(time), Bytes(offset), Bytes(len));
        TraceEvent::Completed(TraceCompletion { time, target, kind, offset, len, error })
    };
    let none = TraceFlags::NONE;
    let all = TraceFlags::PREFLUSH | TraceFlags::FUA | TraceFlags::META;
    let expected = vec![
        TraceEvent::Target(T0, device(16)),
        io(0, T0, TraceKind::Read, 4096, 4096, none),
        io(100, T0, TraceKind::Write, 8192, 4096, TraceFlags::SYNC),
        io(200, T0, TraceKind::Sync, 0, 0, none),
        TraceEvent::Target(T1, device(32)),
        io(300, T1, TraceKind::Write, 12288, 512, all),
        io(400, T0, TraceKind::Trim, 16384, 65536, none),
        TraceEvent::Merged(T0),
        done(600, T0, TraceKind::Read, 4096, 8192, None),
        done(700, T1, TraceKind::Write, 900 * 512, 512, Some(Errno::EIO)),
    ];
    for big in [false, true] {
        let (events, notes) = read(&sample(big)).unwrap();
        assert_eq!(events, expected, "{big}");
        // The passthrough command and the issue to the driver.
        assert_eq!(notes, TraceNotes { ignored: 2, ..TraceNotes::default() });
    }
}

#[test]
fn the_source_may_return_any_number_of_bytes() {
    let expected = read(&sample(false)).unwrap();
    for capacity in [1, 7, 47, 48, 49, 100] {
        let source = BufReader::with_capacity(capacity, &*sample(false).leak());
        let mut reader = trace::open(source, &TraceOptions::default()).unwrap();
        assert_eq!(collect(&mut *reader).unwrap(), expected, "{capacity}");
    }
}

#[test]
fn a_truncated_record_is_an_error_with_its_offset() {
    let whole = [queued(5, 8, 512, READ), bytes(false, 6, 0, 0, NOTIFY, 0, b"abcdef")].concat();
    for len in 49..whole.len() {
        match read(&whole[..len]) {
            Err(TraceError::Truncated { offset: Bytes(48), found, expected }) => {
                assert_eq!(found.0, len as u64 - 48);
                assert_eq!(expected.0, if len < 96 { 48 } else { 54 });
            }
            other => panic!("{len}: {other:?}"),
        }
    }
    assert!(read(&whole[..48]).is_ok() && read(&whole).is_ok());
    let message = read(&whole[..60]).unwrap_err().to_string();
    assert_eq!(
        message,
        "the trace ends within the record at byte 48: 12 of 48 bytes. \
         To fix: copy the complete trace, or cut it off at this byte"
    );
}

#[test]
fn wrong_records_are_errors() {
    let mut other_magic = [queued(5, 8, 512, READ), queued(6, 8, 512, READ)].concat();
    other_magic[48] = 8;
    let problem = RowProblem::Magic { found: 0x6561_7408, expected: 0x6561_7407 };
    match read(&other_magic) {
        Err(TraceError::Record { offset: Bytes(48), problem: found }) => assert_eq!(found, problem),
        other => panic!("{other:?}"),
    }
    other_magic[0] = 5;
    assert!(matches!(read(&other_magic), Err(TraceError::BlktraceVersion { found: 5 })));
    for (sector, len) in [(u64::MAX, 512), (1 << 55, 0x100), ((1 << 54) - 1, 513)] {
        match read(&queued(5, sector, len, READ)) {
            Err(TraceError::Sequence { sequence: 77, problem: RowProblem::TooFar }) => {}
            other => panic!("{sector}: {other:?}"),
        }
    }
    assert_eq!(ios(&read(&queued(5, (1 << 54) - 1, 511, READ)).unwrap().0).len(), 1);
    let gap = [queued(5, 8, 512, READ), queued(86_400_000_000_006, 8, 512, READ)].concat();
    assert!(matches!(
        read(&gap),
        Err(TraceError::Sequence { problem: RowProblem::Gap { .. }, .. })
    ));
}

#[test]
fn files_of_several_cpus_are_read_in_the_order_of_time() {
    let first = [queued(1000, 1, 512, READ), queued(4000, 4, 512, READ)].concat();
    let second = [
        queued(2000, 2, 512, READ),
        // An interrupt was recorded before the record that it interrupted.
        queued(3500, 3, 512, WRITE),
        queued(3000, 5, 512, READ),
    ]
    .concat();
    let files = [&first[..], &second[..], b""];
    let mut reader = BlktraceReader::new(files, &TraceOptions::default());
    let (events, notes) = collect(&mut reader).unwrap();
    let order: Vec<_> = ios(&events).iter().map(|io| (io.time.0, io.offset.as_sectors())).collect();
    assert_eq!(order, [(0, 1), (1000, 2), (2000, 5), (2500, 3), (3000, 4)]);
    assert_eq!(notes, TraceNotes::default());

    let files = [&first[..], &second[..50]];
    match collect(&mut BlktraceReader::new(files, &TraceOptions::default())) {
        Err(TraceError::File { file: 1, source }) => {
            assert!(matches!(*source, TraceError::Truncated { .. }));
        }
        other => panic!("{other:?}"),
    }
}

fn source(files: Vec<Vec<u8>>, scalar: f64, iterations: u64) -> MergeSource<'static> {
    let open = move || {
        let boxed =
            |file: &Vec<u8>| -> Box<dyn BufRead> { Box::new(std::io::Cursor::new(file.clone())) };
        Ok(files.iter().map(boxed).collect())
    };
    MergeSource { open: Box::new(open), scalar, iterations }
}

#[test]
fn traces_are_merged_with_scale_and_iterations() {
    let a = [queued(1000, 1, 512, READ), queued(3000, 2, 512, WRITE), queued(9000, 3, 512, READ)];
    let b = [
        bytes(true, 1, 0, 0, NOTIFY, 0, b"name"),
        bytes(true, 70_000, 4, 512, QUEUE | READ | 1, SDC, b""),
        bytes(true, 73_000, 5, 512, QUEUE | WRITE | 1, SDC, b"payload"),
    ];
    let mut out = Vec::new();
    let traces = vec![source(vec![a.concat()], 50.0, 2), source(vec![b.concat()], 100.0, 1)];
    let summary = merge(traces, &mut out).unwrap();
    assert_eq!((summary.records, summary.length), (8, Nanos(8000)));
    assert_eq!(out.len(), 8 * 48);
    let order: Vec<_> = ios(&read(&out).unwrap().0)
        .iter()
        .map(|io| (io.time.0, io.offset.as_sectors(), io.target.index()))
        .collect();
    let expected = [
        (0, 1, 0),
        (0, 4, 1),
        (1000, 2, 0),
        (3000, 5, 1),
        (4000, 3, 0),
        (4000, 1, 0),
        (5000, 2, 0),
        (8000, 3, 0),
    ];
    assert_eq!(order, expected);

    // Each record is that of the kernel's header: byte for byte that of the trace, with a new time and number.
    let mut expected = queued(0, 1, 512, READ);
    expected[4..8].copy_from_slice(&[1, 0, 0, 0]);
    assert_eq!(&out[..48], expected);
}

#[test]
fn an_error_while_merging_names_the_trace() {
    let whole = queued(1000, 1, 512, READ);
    let traces =
        vec![source(vec![whole.clone()], 100.0, 1), source(vec![whole[..40].into()], 100.0, 1)];
    match merge(traces, &mut Vec::new()) {
        Err(TraceError::File { file: 1, .. }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(merge(vec![source(vec![], 100.0, 3)], &mut Vec::new()).unwrap().records, 0);
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        steps in proptest::collection::vec((0..1u64 << 40, 0..1u64 << 53, 1..1u32 << 20, any::<bool>()), 0..50),
    ) {
        let (mut out, mut expected, mut time) = (Vec::new(), Vec::new(), 0);
        for (number, (step, sector, sectors, write)) in steps.into_iter().enumerate() {
            time += if number == 0 { 0 } else { step };
            let record = BlktraceRecord {
                time: Nanos(time + 12345),
                sector,
                len: Bytes::from(sectors * 512),
                action: QUEUE | if write { WRITE } else { READ } | 1,
                device: SDB,
                ..BlktraceRecord::default()
            };
            record.write(&mut out);
            let kind = if write { TraceKind::Write } else { TraceKind::Read };
            expected.push(TraceIo::new(Nanos(time), T0, kind, Bytes::from_sectors(sector), record.len));
        }
        if !out.is_empty() {
            prop_assert_eq!(ios(&read(&out).unwrap().0), expected);
        }
    }

    #[test]
    fn no_bytes_cause_a_panic(noise in proptest::collection::vec((0..200usize, any::<u8>()), 0..20)) {
        let mut trace = sample(false);
        for (at, byte) in noise {
            let at = at % trace.len();
            trace[at] = byte;
        }
        let _ = read(&trace);
        let _ = merge(vec![source(vec![trace.clone(), sample(true)], 33.3, 2)], &mut Vec::new());
    }
}
