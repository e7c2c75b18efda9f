use fiord_job::command::SeriesFormat;
use fiord_stat::progress::JobPhase;

use super::*;
use crate::fixture::{READING, job, run};

const BEGIN: Nanos = Nanos(1_795_485_951_000_000_000);
const SECOND: Nanos = Nanos::from_secs(1);

/// Number of I/Os and phase of each row that the snapshots add.
fn ios(snapshots: &[RunSnapshot], interval: Nanos) -> Vec<(u64, &'static str)> {
    let mut recorder = SeriesRecorder::new("h", interval);
    let mut all = Vec::new();
    for snapshot in snapshots {
        let rows = recorder.rows(BEGIN, snapshot);
        all.extend(rows.iter().map(|row| (row.ios, phase_word(row.phase))));
    }
    all
}

/// The last one has awkward names.
fn lines(format: SeriesFormat) -> String {
    let mut recorder = SeriesRecorder::new("node 1", SECOND);
    let mut text = header(format);
    for snapshot in [
        run(1000, vec![job("a", READING, 10)]),
        run(2000, vec![job("a", READING, 10)]),
        run(2500, vec![job("a,\"b\"\n=c\\", JobPhase::Reaped, 30)]),
    ] {
        let snapshot = RunSnapshot { last: snapshot.elapsed > SECOND * 2, ..snapshot };
        text.extend(recorder.rows(BEGIN, &snapshot).iter().map(|row| line(format, row)));
    }
    text
}

#[test]
fn csv() {
    insta::assert_snapshot!(lines(SeriesFormat::Csv));
}

#[test]
fn json_lines() {
    let text = lines(SeriesFormat::JsonLines);
    for line in text.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(row.as_object().unwrap().len(), COLUMNS.len());
    }
    insta::assert_snapshot!(text);
}

#[test]
fn influx() {
    insta::assert_snapshot!(lines(SeriesFormat::Influx));
}

#[test]
fn a_stall_has_rows_and_an_ended_job_has_none() {
    let rows = ios(
        &[
            run(1000, vec![job("a", JobPhase::Waiting, 0)]),
            run(2000, vec![job("a", READING, 5)]),
            run(3000, vec![job("a", READING, 5)]),
            run(4000, vec![job("a", JobPhase::Reaped, 7)]),
            run(5000, vec![job("a", JobPhase::Reaped, 7)]),
        ],
        SECOND,
    );
    assert_eq!(rows, [(5, "running"), (0, "running"), (2, "ended")]);
}

#[test]
fn the_counters_restart_at_the_end_of_the_ramp() {
    let rows = ios(
        &[
            run(1000, vec![job("a", JobPhase::Ramping, 5)]),
            run(2000, vec![job("a", READING, 8)]),
            run(3000, vec![job("a", READING, 9)]),
        ],
        SECOND,
    );
    assert_eq!(rows, [(5, "ramp"), (8, "running"), (1, "running")]);
}

#[test]
fn samples_between_two_rows_and_missed_ones_lose_nothing() {
    let at = |ms, ios| run(ms, vec![job("a", READING, ios)]);
    let last = RunSnapshot { last: true, ..at(5100, 9) };
    let snapshots =
        [at(501, 1), at(1001, 2), at(1502, 3), at(2900, 6), at(3400, 7), at(3999, 8), last];
    let counts =
        |interval| ios(&snapshots, interval).into_iter().map(|(n, _)| n).collect::<Vec<_>>();
    assert_eq!(counts(SECOND), [2, 4, 2, 1]);
    assert_eq!(counts(SECOND * 2), [6, 2, 1]);
    assert_eq!(counts(SECOND).iter().sum::<u64>(), 9);
}

#[test]
fn the_depth_is_the_rate_times_the_mean_time_in_flight() {
    let mut recorder = SeriesRecorder::new("h", SECOND);
    let snapshot = run(1000, vec![job("a", READING, 100)]);
    let rows = recorder.rows(BEGIN, &snapshot);
    // 100 I/Os per second, 5.05 ms on average.
    assert!((rows[0].depth().unwrap() - 0.505).abs() < 1e-9);
}
