use fiord_types::{Bytes, Nanos};
use proptest::prelude::*;

use crate::trace::{
    self, InvalidLines, RowProblem, TraceError, TraceEvent, TraceFlags, TraceFormat, TraceIo,
    TraceKind, TraceName, TraceNotes, TraceOptions,
};

struct Trace {
    format: TraceFormat,
    names: Vec<String>,
    ios: Vec<TraceIo>,
    notes: TraceNotes,
}

impl Trace {
    fn rows(&self) -> Vec<(u64, usize, TraceKind, u64, u64)> {
        let row = |io: &TraceIo| (io.time.0, io.target.index(), io.kind, io.offset.0, io.len.0);
        self.ios.iter().map(row).collect()
    }
    fn latencies(&self) -> Vec<u64> {
        self.ios.iter().map(|io| io.outcome.unwrap().latency.0).collect()
    }
}

fn read_with(text: &str, options: &TraceOptions) -> Result<Trace, TraceError> {
    let mut reader = trace::open(text.as_bytes(), options)?;
    let (mut names, mut ios) = (Vec::new(), Vec::new());
    while let Some(event) = reader.next_event()? {
        match event {
            TraceEvent::Target(target, TraceName::Volume(name)) => {
                assert_eq!(target.index(), names.len());
                names.push(name);
            }
            TraceEvent::Io(io) => ios.push(io),
            other => panic!("{other:?}"),
        }
    }
    Ok(Trace { format: reader.format(), names, ios, notes: reader.notes().clone() })
}

fn read(text: &str) -> Trace {
    read_with(text, &TraceOptions::default()).unwrap()
}

fn problem(text: &str) -> (u64, RowProblem) {
    match read_with(text, &TraceOptions::default()) {
        Err(TraceError::Line { line, problem, .. }) => (line, problem),
        other => panic!("{:?}", other.map(|trace| trace.ios)),
    }
}

use TraceKind::{Read, Sync, Trim, Write};

#[test]
fn msr_cambridge_counts_100_ns_since_1601_and_has_response_times() {
    let rows = "128166372003061629,hm,1,Read,383496192,32768,113736\n\
                128166372016382155,hm,1,Write,310983680,16384,44106\n\
                128166372026382155,src1,2,Read,512,512,10\n";
    for header in ["", "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\r\n"] {
        let trace = read(&format!("{header}{rows}"));
        assert_eq!(trace.format, TraceFormat::MsrCambridge);
        assert_eq!(trace.names, ["hm_1", "src1_2"]);
        let expected = [
            (0, 0, Read, 383_496_192, 32768),
            (1_332_052_600, 0, Write, 310_983_680, 16384),
            (2_332_052_600, 1, Read, 512, 512),
        ];
        assert_eq!(trace.rows(), expected);
        assert_eq!(trace.latencies(), [11_373_600, 4_410_600, 1000]);
    }
}

#[test]
fn alibaba_counts_microseconds_since_1970() {
    let trace = read(
        "0,R,126703644672,4096,1577808000000626\n1,W,19496058880,77824,1577808000000726\n0,W,0,512,1577808000001626\n",
    );
    assert_eq!(trace.format, TraceFormat::Alibaba);
    assert_eq!(trace.names, ["0", "1"]);
    let expected = [
        (0, 0, Read, 126_703_644_672, 4096),
        (100_000, 1, Write, 19_496_058_880, 77824),
        (1_000_000, 0, Write, 0, 512),
    ];
    assert_eq!(trace.rows(), expected);
}

#[test]
fn tencent_counts_seconds_and_sectors() {
    let trace = read("1538323200,12910952,128,0,1063\n1538323201,6338688,8,1,1627\n");
    assert_eq!(trace.format, TraceFormat::Tencent);
    assert_eq!(trace.format.resolution(), Nanos::from_secs(1));
    assert_eq!(trace.names, ["1063", "1627"]);
    let expected =
        [(0, 0, Read, 12_910_952 * 512, 65536), (1_000_000_000, 1, Write, 6_338_688 * 512, 4096)];
    assert_eq!(trace.rows(), expected);
}

#[test]
fn cloud_physics_counts_microseconds_sectors_and_bytes() {
    let trace = read("ts,lba,op,size\n5633898611441,18, r,4096\n5633898611541,8388608,w,512\n");
    assert_eq!(trace.format, TraceFormat::CloudPhysics);
    assert_eq!(trace.rows(), [(0, 0, Read, 9216, 4096), (100_000, 0, Write, 1 << 32, 512)]);
}

#[test]
fn biosnoop_states_completions_in_milliseconds_and_names_with_blanks() {
    let trace = read(
        "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  QUE(ms) LAT(ms)\n\
         0.000004    supervise      1950   xvda1   W 13092560   4096       0.00    0.74\n\
         0.000178    Web Content    1950   xvda1   RA 13092432  4096       0.10    0.11\n\
         0.010469    jbd2/xvda      1956   xvdb    FWFS 1309244 4096       0.00    1.24\n\
         0.020000    kworker        19     xvdb    D 8          65536      0.00    0.10\n\
         0.030000    kworker        19     xvdb    FF 0         0          0.00    0.10\n",
    );
    assert_eq!(trace.format, TraceFormat::Biosnoop);
    assert_eq!(trace.names, ["xvda1", "xvdb"]);
    let expected = [
        (0, 0, Write, 13_092_560 * 512, 4096),
        (704_000, 0, Read, 13_092_432 * 512, 4096),
        (9_965_000, 1, Write, 1_309_244 * 512, 4096),
        (20_636_000, 1, Trim, 4096, 65536),
        (30_636_000, 1, Sync, 0, 0),
    ];
    assert_eq!(trace.rows(), expected);
    assert_eq!(trace.latencies(), [740_000, 210_000, 1_240_000, 100_000, 100_000]);
    assert_eq!(trace.ios[1].flags, TraceFlags::AHEAD);
    let durable = TraceFlags::PREFLUSH | TraceFlags::FUA | TraceFlags::SYNC;
    assert_eq!(trace.ios[2].flags, durable);
}

#[test]
fn rows_that_were_written_at_completion_are_sorted_by_issue() {
    let trace = read(
        "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n\
         1.000 a 1 sda R 8 512 1.0\n1.001 a 1 sda R 16 512 500.0\n1.002 a 1 sda R 24 512 1.0\n",
    );
    let order: Vec<_> = trace.ios.iter().map(|io| io.offset.as_sectors()).collect();
    assert_eq!(order, [16, 8, 24]);
    assert_eq!(trace.notes, TraceNotes::default());
}

#[test]
fn wrong_units_are_refused_with_the_unit_that_would_fit() {
    let unit = |text: &str| match problem(text) {
        (1, RowProblem::Unit { unit, other }) => (unit, other),
        other => panic!("{other:?}"),
    };
    let windows = "units of 100 ns since 1601";
    assert_eq!(
        unit("1577808000000626,hm,1,Read,0,512,1"),
        (windows, Some("microseconds since 1970"))
    );
    assert_eq!(
        unit("0,R,0,512,1577808000"),
        ("microseconds since 1970", Some("seconds since 1970"))
    );
    assert_eq!(
        unit("1538323200123,0,8,0,1"),
        ("seconds since 1970", Some("milliseconds since 1970"))
    );
    assert_eq!(unit("17,hm,1,Read,0,512,1"), (windows, None));
    let error = read_with("0,R,0,512,1577808000", &TraceOptions::default()).err().unwrap();
    assert_eq!(
        error.to_string(),
        "line 1 of the trace is invalid: its timestamp is not a time between 1990 and 2100 in microseconds since \
         1970, but in seconds since 1970. To fix: convert the timestamps: \"0,R,0,512,1577808000\""
    );
    // Sectors in place of bytes, and bytes in place of sectors.
    assert_eq!(problem("0,R,8,8,1577808000000626"), (1, RowProblem::NoSectors));
    let implausible =
        RowProblem::Implausible { len: Bytes(2_147_483_648), most: Bytes::from_gib(1) };
    assert_eq!(problem("1538323200,0,4194304,0,1"), (1, implausible));
}

#[test]
fn wrong_rows_are_errors() {
    let after = |line: &str| problem(&format!("0,R,0,512,1577808000000626\n{line}\n"));
    let number = |field| RowProblem::NotANumber { field };
    for (line, expected) in [
        ("0,R,0,512", RowProblem::Columns { expected: 5 }),
        ("0,R,0,512,1,1", RowProblem::Columns { expected: 5 }),
        ("0,X,0,512,1577808000000626", RowProblem::Action),
        ("0,R,-1,512,1577808000000626", number("offset")),
        ("0,R,0,,1577808000000626", RowProblem::Missing { field: "length" }),
        ("0,R,9223372036854775808,512,1577808000000626", RowProblem::TooFar),
        ("0,R,0,512,1.5", number("timestamp")),
    ] {
        assert_eq!(after(line), (2, expected), "{line}");
    }
    let (line, gap) = after("0,R,0,512,1577995200000626");
    assert!(line == 2 && matches!(gap, RowProblem::Gap { .. }), "{gap:?}");
    assert!(matches!(
        read_with("1,2,3\n", &TraceOptions::default()),
        Err(TraceError::Unknown { .. })
    ));
    let options = TraceOptions { invalid: InvalidLines::Skip, ..TraceOptions::default() };
    let trace = read_with("0,R,0,512,15\n0,R,0,512,1577808000000626\n\nx\n", &options).unwrap();
    assert_eq!((trace.ios.len(), trace.notes.skipped), (1, 2));
}

proptest! {
    #[test]
    fn rows_of_any_order_within_the_window_are_sorted(
        mut rows in proptest::collection::vec((0..1u64 << 40, 0..1u64 << 50, 1..1u64 << 20), 1..100),
    ) {
        let text: String = rows
            .iter()
            .map(|(time, offset, len)| format!("7,W,{},{},{}\n", offset * 512, len * 512, 1_577_808_000_000_000 + time))
            .collect();
        let options = TraceOptions { longest_gap: Nanos::MAX, ..TraceOptions::default() };
        let trace = read_with(&text, &options).unwrap();
        rows.sort_by_key(|(time, ..)| *time);
        let start = rows[0].0;
        let expected: Vec<_> = rows
            .iter()
            .map(|(time, offset, len)| ((time - start) * 1000, 0, Write, offset * 512, len * 512))
            .collect();
        prop_assert_eq!(trace.rows(), expected);
    }

    #[test]
    fn no_text_causes_a_panic(
        header in prop_oneof![
            Just("TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)"),
            Just("ts,lba,op,size"),
            Just("Timestamp,Offset,Size,IOType,VolumeID"),
            Just("1538323200,12910952,128,0,1063"),
            Just("128166372003061629,hm,1,Read,383496192,32768,113736"),
        ],
        rows in "([0-9.,RWF ]{0,40}\n){0,10}",
    ) {
        let options = TraceOptions { invalid: InvalidLines::Skip, longest_gap: Nanos::MAX };
        let _ = read_with(&format!("{header}\n{rows}"), &options);
    }
}
