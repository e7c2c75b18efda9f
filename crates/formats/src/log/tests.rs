//! Logs are read as they were written, and fio's own logs too.

use fiord_types::{Bytes, Dir, Nanos};
use proptest::prelude::*;

use super::compact::{CompactEntry, CompactReader, CompactWriter, LogDefinition, LogIndex, sealed};
use super::fz::{FzDecoder, FzEncoder};
use super::histogram::{Coarseness, HistogramReader, HistogramRow};
use super::text::{RowWriter, TextReader};
use super::*;

fn columns_of(bits: u8) -> LogColumns {
    let has = |bit: u8| bits >> bit & 1 == 1;
    LogColumns { both: has(0), offset: has(1), priority: has(2), issue_time: has(1) && has(3) }
}

fn text_of(rows: &[LogRow], columns: LogColumns) -> Vec<u8> {
    let (mut writer, mut text) = (RowWriter::new(columns), Vec::new());
    rows.iter().for_each(|row| writer.push(row, &mut text));
    text
}

fn rows_of(text: &[u8]) -> Vec<Result<LogRow, LogError>> {
    let mut reader = TextReader::new(text);
    std::iter::from_fn(|| reader.next_row().transpose()).collect()
}

/// A single I/O with all columns.
fn single() -> impl Strategy<Value = LogRow> {
    let dir = (0..3usize).prop_map(|at| Dir::ALL[at]);
    let size = prop_oneof![Just(512u64), Just(4096), 3..1_000_000u64];
    (any::<u64>(), any::<u64>(), dir, size, any::<u64>(), any::<u16>(), any::<u64>()).prop_map(
        |(time_ms, value, dir, block, offset, priority, issued)| LogRow {
            time_ms,
            value,
            maximum: Some(0),
            dir,
            block: Bytes(block),
            offset: Some(Bytes(offset)),
            priority,
            issue_time: Some(Nanos(issued)),
        },
    )
}

fn histogram() -> impl Strategy<Value = HistogramRow> {
    let filled = prop::collection::vec((any::<prop::sample::Index>(), any::<u64>()), 0..30);
    (any::<u64>(), 0..3usize, any::<u64>(), 0..=6u8, filled).prop_map(
        |(time_ms, dir, block, coarseness, filled)| {
            let mut counts = vec![0; histogram::BINS >> coarseness];
            for (bin, count) in filled {
                counts[bin.index(histogram::BINS >> coarseness)] = count;
            }
            HistogramRow { time_ms, dir: Dir::ALL[dir], block: Bytes(block), counts }
        },
    )
}

#[test]
fn rows_have_fios_bytes() {
    let row = LogRow {
        time_ms: 250,
        value: 201,
        maximum: Some(7140),
        dir: Dir::Write,
        block: Bytes(4096),
        offset: Some(Bytes(61440)),
        priority: 0x2002,
        issue_time: Some(Nanos(27000)),
    };
    let text = |bits| String::from_utf8(text_of(&[row], columns_of(bits))).expect("ASCII");
    assert_eq!(text(0), "250, 201, 1, 4096, 1\n");
    assert_eq!(text(1), "250, 201, 7140, 1, 4096, 1\n");
    assert_eq!(text(2), "250, 201, 1, 4096, 61440, 1\n");
    assert_eq!(text(4), "250, 201, 1, 4096, 0x2002\n");
    assert_eq!(text(14), "250, 201, 1, 4096, 61440, 0x2002, 27000\n");
    assert_eq!(text(15), "250, 201, 7140, 1, 4096, 61440, 0x2002, 27000\n");
    let window = LogRow { time_ms: u64::MAX, value: u64::MAX, ..LogRow::new(Dir::Read) };
    let expected = format!("{0}, {0}, 0, 0, 0, 0, 0x0000, 0\n", u64::MAX);
    assert_eq!(String::from_utf8(text_of(&[window], columns_of(15))).expect("ASCII"), expected);
    let huge = LogRow { block: Bytes::MAX, priority: u16::MAX, ..window };
    let expected = format!("{0}, {0}, 0, {0}, 0xffff\n", u64::MAX);
    assert_eq!(String::from_utf8(text_of(&[huge], columns_of(4))).expect("ASCII"), expected);
}

#[test]
fn the_writer_notices_what_changed_between_rows() {
    let mut row = LogRow::new(Dir::Read);
    let (mut writer, mut text) = (RowWriter::new(LogColumns::default()), Vec::new());
    writer.push(&row, &mut text);
    row.value = 1_234_567;
    writer.push(&row, &mut text);
    row.dir = Dir::Trim;
    writer.push(&row, &mut text);
    row.block = Bytes(512);
    writer.push(&row, &mut text);
    row.priority = REAL_TIME | 7;
    row.value = 10;
    writer.push(&row, &mut text);
    row.time_ms = 99;
    writer.push(&row, &mut text);
    row.time_ms = 0;
    writer.push(&row, &mut text);
    let expected = "0, 0, 0, 0, 0\n0, 1234567, 0, 0, 0\n0, 1234567, 2, 0, 0\n0, 1234567, 2, 512, 0\n\
                    0, 10, 2, 512, 1\n99, 10, 2, 512, 1\n0, 10, 2, 512, 1\n";
    assert_eq!(String::from_utf8(text).expect("ASCII"), expected);
}

#[test]
fn the_columns_are_inferred_from_the_rows() {
    let columns = |text: &str| TextReader::new(text.as_bytes()).columns().expect("text in memory");
    let (both, offset) = (columns_of(1), columns_of(2));
    assert_eq!(columns("250, 173, 7521, 0, 0, 0\n250, 200, 921, 1, 0, 0\n"), both, "windows");
    assert_eq!(columns("0, 60, 0, 0, 4096, 0\n0, 40, 0, 1, 4096, 0\n"), both, "single I/Os");
    assert_eq!(columns("0, 40, 0, 1, 4096, 0\n"), both, "one write: a block has not 1 byte");
    assert_eq!(columns("0, 60, 0, 4096, 61440, 0\n0, 40, 1, 4096, 0, 0\n"), offset);
    assert_eq!(columns("250, 8016, 0, 0, 0, 0x0000\n"), LogColumns { priority: true, ..offset });
    let all = "250, 8016, 8016, 0, 0, 0, 0x0000, 0\n";
    assert_eq!(columns(all), columns_of(15));
    assert_eq!(columns("0, 170, 0, 8192, 53248, 0, 250773\n"), columns_of(10));
    assert_eq!(columns("0, 60, 0, 0, 4096, 61440, 0\n"), columns_of(3));
    assert_eq!(columns("5, 6, 0, 4096\n"), LogColumns::default(), "fio before priorities");
    assert_eq!(columns("5, 6, 0, 4096, 8192\n"), offset, "fio before priorities");
}

#[test]
fn an_invalid_line_has_a_number_and_the_next_one_is_read() {
    let text = "0, 1, 0, 4096, 0\n\n0, x, 0, 4096, 0\n0, 1, 3, 4096, 0\n0, 1, 0\n0, 1, 0, 4096, 0x1g\n\
                0, 99999999999999999999, 0, 4096, 0\n9, 8, 1, 512, 1\r\n1, 1, 1, 4096, 4096, 0\n9, 8, 1";
    let found: Vec<String> = rows_of(text.as_bytes())
        .into_iter()
        .map(|row| row.map_or_else(|error| error.to_string(), |row| format!("{}", row.value)))
        .collect();
    let wrong = |line: u32, what: &str, text: &str| {
        format!("line {line} is not a row of a log: {what}: `{text}`")
    };
    assert_eq!(
        found,
        [
            "1".to_owned(),
            wrong(3, "column 2 (`x`) is not an unsigned integer of 64 bits", "0, x, 0, 4096, 0"),
            wrong(
                4,
                "the direction is 3, but must be 0 (read), 1 (write) or 2 (trim)",
                "0, 1, 3, 4096, 0"
            ),
            wrong(5, "it has 3 columns, expected 4 to 8", "0, 1, 0"),
            wrong(
                6,
                "the priority `0x1g` is neither 0, 1 nor 0x followed by four digits",
                "0, 1, 0, 4096, 0x1g"
            ),
            wrong(
                7,
                "column 2 (`99999999999999999999`) is not an unsigned integer of 64 bits",
                "0, 99999999999999999999, 0, 4096, 0"
            ),
            "8".to_owned(),
            wrong(
                9,
                "it has 6 columns, expected as many as the lines before it",
                "1, 1, 1, 4096, 4096, 0"
            ),
            wrong(10, "it has 3 columns, expected 4 to 8", "9, 8, 1"),
        ]
    );
}

#[test]
fn a_line_of_any_length_takes_bounded_memory() {
    let mut text = vec![b'1'; 1 << 20];
    text.extend_from_slice(b"\n1, 2, 0, 4096, 0\n");
    let rows = rows_of(&text);
    assert!(
        rows[0].as_ref().is_err_and(|error| error.to_string().contains("more than 65536 bytes"))
    );
    assert_eq!(rows[1].as_ref().map(|row| row.value), Ok(2));
}

/// A log of fio 3.42 with `log_store_compressed`, `log_offset`, `log_prio` and `log_issue_time`: 12 I/Os.
const FZ_SINGLE: &str = "\
    eJxjYICA9VoM6OACkwKQFIDyPkCox2WoimwxtEH1KcB4EGq5DDOKIjlC+hZAqCgNVH1uaJoY0d3ZAKEKtVH1GeGyD6ZvAoSK\
    s0TVJ0LInVAw0xq//zDcCdXfYUeiPgMIpe5IpD6YOwMg1BRnIuMBZp8DhJruRqI7D0CoCg8S7SuAUJFeEH0An6EdXQ==";
/// A log of fio 3.42 with `log_store_compressed`, `log_avg_msec=250` and `log_window_value=both`: 8 windows.
const FZ_WINDOWS: &str = "\
    eJz7xQABl6G0OA+EZmRgUGBAAr+g9FIofVwbLoWi7gsjhL4L5ZtxYTcPpm4HlM/Dit28d0wQ+gaUL8KJ3TyYusVQvhgO814w\
    Q90FVR8ziQmreTB1V6B8SQ7s5gEAtp0Q3A==";

#[test]
fn fios_compressed_rows_are_read() {
    let text = |file: &str| {
        let file = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, file);
        let file = file.expect("base64");
        let (mut decoder, mut text) = (FzDecoder::new(&*file), Vec::new());
        while let Some((row, columns)) = decoder.next_row().expect("rows") {
            RowWriter::new(columns).push(&row, &mut text);
        }
        String::from_utf8(text).expect("ASCII")
    };
    let single = text(FZ_SINGLE);
    assert!(single.starts_with("0, 10927, 0, 4096, 61440, 0x2002, 30435\n0, 61, 0, 8192, 53248, "));
    assert!(single.ends_with("\n0, 30, 0, 4096, 28672, 0x2002, 215641\n"), "{single}");
    assert_eq!(single.lines().count(), 12);
    let windows = text(FZ_WINDOWS);
    assert!(windows.starts_with("250, 211, 3095, 1, 0, 0\n250, 165, 11207, 0, 0, 0\n"));
    assert!(windows.ends_with("\n1000, 212, 2073, 0, 0, 0\n"), "{windows}");
}

/// A first row that fits another form does not decide.
#[test]
fn a_damaged_first_row_does_not_change_the_columns() {
    // The first row could be one with a maximum, and the others have an offset.
    let text =
        "9, 100, 0, 1, 0, 0x0000\n9, 100, 0, 4096, 8192, 0x0000\n9, 100, 1, 4096, 0, 0x0000\n";
    let mut reader = TextReader::new(text.as_bytes());
    let mut rows = Vec::new();
    while let Some(row) = reader.next_row().unwrap() {
        rows.push((row.block.0, row.offset.unwrap().0, row.maximum));
    }
    assert_eq!(rows, [(1, 0, None), (4096, 8192, None), (4096, 0, None)]);
}

#[test]
fn truncated_and_damaged_compressed_logs_give_the_rows_before() {
    let (mut encoder, mut file) = (FzEncoder::new(LogColumns::default()), Vec::new());
    let mut ends = Vec::new();
    for value in 0..10_000 {
        encoder.push(&LogRow { value: value * value, ..LogRow::new(Dir::Read) });
        if value % 4000 == 3999 {
            encoder.finish_stream(&mut file);
            ends.push(file.len());
        }
    }
    encoder.finish_stream(&mut file);
    let read = |file: &[u8]| {
        let mut decoder = FzDecoder::new(file);
        let mut rows = 0;
        loop {
            match decoder.next_row() {
                Ok(Some((row, _))) => assert_eq!(row.value, rows * rows),
                Ok(None) => return (rows, None),
                Err(error) => return (rows, Some(error)),
            }
            rows += 1;
        }
    };
    assert_eq!(read(&file), (10_000, None));
    let (rows, error) = read(&file[..file.len() - 7]);
    assert!(rows > 8000, "{rows}");
    assert_eq!(error, Some(LogError::Truncated { rows }));
    file[ends[0]] = 0;
    let (rows, error) = read(&file);
    assert!(rows == 4000 && matches!(error, Some(LogError::Compressed { .. })), "{rows} {error:?}");
    assert!(matches!(read(b"0, 1, 0, 4096, 0\n"), (0, Some(LogError::Compressed { .. }))));
}

fn definition(kind: LogKind, columns: LogColumns) -> LogDefinition {
    LogDefinition {
        name: "größe".to_owned(),
        thread: 3,
        kind,
        columns,
        window_ms: 250,
        coarseness: Coarseness::default(),
    }
}

/// The rows of a compact file, and the errors.
fn compact_rows(file: &[u8]) -> (Vec<LogRow>, Vec<LogError>) {
    let (mut rows, mut errors) = (Vec::new(), Vec::new());
    let mut reader = match CompactReader::new(file) {
        Ok(reader) => reader,
        Err(error) => return (rows, vec![error]),
    };
    loop {
        match reader.next_entry() {
            Ok(Some(CompactEntry::Row(_, row))) => rows.push(row),
            Ok(Some(CompactEntry::Histogram(..))) => {}
            Ok(None) => return (rows, errors),
            Err(error) => errors.push(error),
        }
    }
}

/// A compact file with this number of rows, one block for each thousand rows.
fn compact_file(rows: u64) -> (Vec<u8>, Vec<usize>) {
    let (mut file, mut ends) = (Vec::new(), Vec::new());
    let mut writer = CompactWriter::new(&mut file);
    let log = writer.define(&definition(LogKind::Iops, LogColumns::default()));
    for value in 1..=rows {
        writer.push(log, &LogRow { value, ..LogRow::new(Dir::Read) });
        if value % 1000 == 0 {
            writer.flush(&mut file);
            ends.push(file.len());
        }
    }
    (file, ends)
}

#[test]
fn a_compact_log_is_readable_up_to_where_it_was_cut() {
    let (file, ends) = compact_file(3000);
    assert_eq!(compact_rows(&file).0.len(), 3000);
    for (blocks, end) in ends.iter().enumerate() {
        let (rows, errors) = compact_rows(&file[..*end]);
        assert_eq!((rows.len(), errors.len()), ((blocks + 1) * 1000, 0));
    }
    for cut in [ends[1] + 1, ends[1] + 15, ends[1] + 16, ends[2] - 1] {
        let (rows, errors) = compact_rows(&file[..cut]);
        assert_eq!((rows.len(), errors), (2000, vec![LogError::Truncated { rows: 2000 }]));
    }
    assert_eq!(compact_rows(&file[..7]).1, [LogError::NotCompact]);
    let mut later = file;
    later[7] = 9;
    assert_eq!(compact_rows(&later).1, [LogError::Version(9)]);
}

#[test]
fn a_damaged_block_is_skipped() {
    let (file, ends) = compact_file(3000);
    let mut damaged = file.clone();
    damaged[ends[0] + 40] ^= 4;
    let (rows, errors) = compact_rows(&damaged);
    let at = ends[0] as u64;
    assert_eq!((rows.len(), errors), (2000, vec![LogError::Block { at, what: "checksum" }]));
    let mut damaged = file.clone();
    damaged[ends[0]..ends[0] + 16].fill(0);
    let (rows, errors) = compact_rows(&damaged);
    assert_eq!((rows.len(), errors), (2000, vec![LogError::Block { at, what: "start" }]));
    // The definition of the log is in the first block.
    let mut damaged = file;
    damaged[20] ^= 1;
    let (rows, errors) = compact_rows(&damaged);
    assert_eq!((rows.len(), errors.len()), (0, 3));
}

#[test]
fn a_row_of_all_columns_takes_less_than_ten_bytes() {
    let (mut file, mut writer, logs, rows) = (Vec::new(), None, 3, 100_000u64);
    let writer = writer.get_or_insert_with(|| CompactWriter::new(&mut file));
    let log: Vec<LogIndex> =
        [LogKind::SubmissionLatency, LogKind::CompletionLatency, LogKind::TotalLatency]
            .map(|kind| writer.define(&definition(kind, columns_of(14))))
            .to_vec();
    let mut out = Vec::new();
    for i in 0..rows {
        // Random offsets on a terabyte, 80 to 145 us with outliers of 2 ms, 100,000 IOPS.
        let random = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let latency = 80_000 + random % 65_536 + if i % 500 == 0 { 2_000_000 } else { 0 };
        for (at, log) in log.iter().enumerate() {
            writer.push(
                *log,
                &LogRow {
                    time_ms: i / 100,
                    value: if at == 0 { 900 + random % 512 } else { latency },
                    dir: if random % 10 < 7 { Dir::Read } else { Dir::Write },
                    block: Bytes(4096),
                    offset: Some(Bytes(random % (1 << 28) * 4096)),
                    issue_time: Some(Nanos(i * 10_000 + random % 1000)),
                    ..LogRow::new(Dir::Read)
                },
            );
        }
        writer.take_ready(&mut out);
    }
    writer.flush(&mut out);
    let each = out.len() as f64 / (logs * rows) as f64;
    assert!(each < 10.0, "{each} bytes");
    println!("{each} bytes per row");
}

proptest! {
    #[test]
    fn text_is_read_as_it_was_written(
        rows in prop::collection::vec(single(), 1..40), bits in 0u8..16,
    ) {
        let columns = columns_of(bits);
        let read: Vec<LogRow> = rows_of(&text_of(&rows, columns))
            .into_iter().map(|row| row.expect("a row")).collect();
        let expected: Vec<LogRow> = rows.iter().map(|row| row.with_columns(columns)).collect();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn compressed_rows_are_read_as_they_were_written(
        rows in prop::collection::vec(single(), 1..200), bits in 0u8..16, each in 1..50usize,
    ) {
        let columns = columns_of(bits);
        let (mut encoder, mut file) = (FzEncoder::new(columns), Vec::new());
        for part in rows.chunks(each) {
            part.iter().for_each(|row| encoder.push(row));
            encoder.finish_stream(&mut file);
        }
        let mut decoder = FzDecoder::new(&*file);
        for row in &rows {
            let priority = row.priority;
            let expected = LogRow { priority, ..row.with_columns(columns) };
            prop_assert_eq!(decoder.next_row().expect("a row"), Some((expected, columns)));
        }
        prop_assert_eq!(decoder.next_row().expect("the end"), None);
    }

    #[test]
    fn compact_rows_are_read_as_they_were_written(
        rows in prop::collection::vec(single(), 1..200), bits in 0u8..16, each in 1..50usize,
        histograms in prop::collection::vec(histogram(), 1..3),
    ) {
        let columns = columns_of(bits);
        let mut file = Vec::new();
        let mut writer = CompactWriter::new(&mut file);
        let mut defined = vec![definition(LogKind::Bandwidth, columns)];
        let log = writer.define(&defined[0]);
        for part in rows.chunks(each) {
            part.iter().for_each(|row| writer.push(log, row));
            writer.flush(&mut file);
        }
        for row in &histograms {
            let coarseness = row.coarseness().expect("a coarseness");
            defined.push(LogDefinition {
                coarseness, ..definition(LogKind::Histogram, LogColumns::default())
            });
            let log = writer.define(defined.last().expect("a log"));
            writer.push_histogram(log, row);
        }
        writer.flush(&mut file);
        let mut reader = CompactReader::new(&*file).expect("a compact log");
        for row in &rows {
            let priority = row.priority;
            let expected = LogRow { priority, ..row.with_columns(columns) };
            let entry = reader.next_entry().expect("a row");
            prop_assert_eq!(entry, Some(CompactEntry::Row(log, expected)));
        }
        for (at, row) in histograms.into_iter().enumerate() {
            let expected = CompactEntry::Histogram(LogIndex(at as u32 + 1), row);
            prop_assert_eq!(reader.next_entry().expect("a histogram"), Some(expected));
        }
        prop_assert_eq!(reader.next_entry().expect("the end"), None);
        prop_assert_eq!(reader.definitions(), &*defined);
    }

    #[test]
    fn histograms_are_read_as_they_were_written(row in histogram(), coarser in 0u8..7) {
        let mut text = Vec::new();
        histogram::write_row(&row, &mut text);
        let read = HistogramReader::new(&*text).next_row().expect("a row");
        prop_assert_eq!(read.as_ref(), Some(&row));
        let coarser = Coarseness::new(coarser).expect("at most 6");
        if row.counts.len() == histogram::BINS {
            let mut text = Vec::new();
            histogram::write(row.time_ms, row.dir, row.block, &row.counts, coarser, &mut text);
            let read = HistogramReader::new(&*text).next_row().expect("a row");
            prop_assert_eq!(read, row.coarser(coarser));
        }
    }

    #[test]
    fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        let _ = rows_of(&bytes);
        let _ = compact_rows(&bytes);
        let _ = compact_rows(&[b"FRDLOGS\x01FLGB".as_slice(), &bytes].concat());
        let mut file = b"FRDLOGS\x01".to_vec();
        sealed(&bytes, &mut file);
        let _ = compact_rows(&file);
        let mut decoder = FzDecoder::new(&*bytes);
        while let Ok(Some(_)) = decoder.next_row() {}
        let mut reader = HistogramReader::new(&*bytes);
        while !matches!(reader.next_row(), Ok(None)) {}
    }
}

#[test]
fn bins_have_fios_bounds() {
    let bounds = |coarseness: u8, bin| {
        let (start, end) = Coarseness::new(coarseness).expect("at most 6").bounds(bin);
        (start.0, end.0)
    };
    assert_eq!(bounds(0, 0), (0, 1));
    assert_eq!(bounds(0, 127), (127, 128));
    assert_eq!(bounds(0, 128), (128, 130));
    assert_eq!(bounds(0, 191), (254, 256));
    assert_eq!(bounds(0, 192), (256, 260));
    assert_eq!(bounds(6, 1), (64, 128));
    assert_eq!(bounds(6, 2), (128, 256));
    assert_eq!(bounds(0, 1855).1, 1 << 34);
}

#[test]
fn histograms_of_another_coarseness_in_one_file_are_refused() {
    let row = |bins| {
        let counts = vec![1; bins];
        HistogramRow { time_ms: 1, dir: Dir::Read, block: Bytes(4096), counts }
    };
    let mut text = Vec::new();
    for bins in [464, 464, 232, 464] {
        histogram::write_row(&row(bins), &mut text);
    }
    let mut reader = HistogramReader::new(&*text);
    assert!(reader.next_row().is_ok() && reader.next_row().is_ok());
    let error = reader.next_row().expect_err("other bins").to_string();
    assert!(error.starts_with("line 3 ") && error.contains("has 232 bins"), "{error}");
    assert!(error.contains("before it have 464"), "{error}");
    assert_eq!(reader.next_row(), Ok(Some(row(464))));
    assert_eq!(row(464).coarser(Coarseness::default()), None);
    let short = histogram::parse(b"1, 0, 4096, 0, 0").expect_err("two bins");
    assert!(short.to_string().starts_with("it has 5 columns"), "{short}");
}
