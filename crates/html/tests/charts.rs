//! Snapshots of charts: the same data makes the same text.

use fiord_html::chart::bars::{ShareRow, share_bars, sparkline};
use fiord_html::chart::extents::{MappedExtent, extent_map};
use fiord_html::chart::heat::{HeatMap, heat_map};
use fiord_html::chart::line::{ChartCurve, ChartMark, LineChart, line_chart};
use fiord_html::chart::{CurveStyle, ScaleKind, ShadedKind, ShadedSpan};
use fiord_html::quantity::Quantity;

fn curve(name: &str, number: usize, points: &[(f64, f64)]) -> ChartCurve {
    ChartCurve {
        name: name.into(),
        style: CurveStyle::of(number),
        points: points.to_vec(),
        dots: Vec::new(),
    }
}

fn spans() -> Vec<ShadedSpan> {
    let span = |kind, from, to, label: &str| ShadedSpan { kind, from, to, label: label.into() };
    vec![span(ShadedKind::Ramp, 0.0, 2.0, "ramp"), span(ShadedKind::Steady, 6.0, 10.0, "steady")]
}

#[test]
fn rates_over_time() {
    let chart = LineChart {
        label: "IOPS over time".into(),
        across: ("time since the run began".into(), Quantity::Clock),
        up: ("IOPS".into(), Quantity::OpRate),
        up_kind: ScaleKind::Linear,
        curves: vec![
            curve(
                "reader <read>",
                0,
                &[
                    (1.0, 30_000.0),
                    (3.0, 42_000.0),
                    (5.0, f64::NAN),
                    (7.0, 41_000.0),
                    (9.0, 40_000.0),
                ],
            ),
            curve("writer", 1, &[(1.0, 10_000.0), (9.0, 12_000.0)]),
        ],
        spans: spans(),
        marks: Vec::new(),
    };
    insta::assert_snapshot!(line_chart(&chart).unwrap());
}

#[test]
fn percentiles_on_nines() {
    let chart = LineChart {
        label: "Latency over percentile".into(),
        across: ("percentile".into(), Quantity::Percent),
        up: ("latency".into(), Quantity::Latency),
        up_kind: ScaleKind::Log,
        curves: vec![
            curve("actual", 0, &[(0.0, 60e3), (50.0, 80e3), (99.0, 2e5), (99.99, 4e6)]),
            curve("intended", 1, &[(0.0, 60e3), (50.0, 90e3), (99.0, 8e5), (99.99, 2e7)]),
        ],
        spans: Vec::new(),
        marks: Vec::new(),
    };
    insta::assert_snapshot!(line_chart(&chart).unwrap());
}

#[test]
fn latency_over_throughput_with_a_knee() {
    let mut points = curve("p99", 0, &[(1e4, 1e5), (2e4, 1.1e5), (2.1e4, 4e5)]);
    points.dots = ["iodepth=1", "iodepth=2", "iodepth=4"].map(String::from).to_vec();
    let chart = LineChart {
        label: "Latency over throughput".into(),
        across: ("IOPS".into(), Quantity::OpRate),
        up: ("latency".into(), Quantity::Latency),
        up_kind: ScaleKind::Log,
        curves: vec![points],
        spans: Vec::new(),
        marks: vec![ChartMark { at: (2e4, 1.1e5), label: "knee: iodepth=2".into() }],
    };
    insta::assert_snapshot!(line_chart(&chart).unwrap());
}

#[test]
fn latencies_over_time() {
    let map = HeatMap {
        label: "Latencies over time".into(),
        begin: 0.0,
        window: 2.0,
        windows: vec![
            vec![(8e4, 90), (2e5, 10)],
            vec![(8e4, 100)],
            vec![],
            vec![(8e4, 1), (9e6, 1)],
            vec![(1e5, 5000), (3e5, 3)],
        ],
    };
    insta::assert_snapshot!(heat_map(&map, &spans()).unwrap());
}

#[test]
fn shares_and_small_curves() {
    let rows = [
        ShareRow { name: "reader".into(), shares: vec![0.02, 0.08, 0.9] },
        ShareRow {
            name: "a name that is too long for its place".into(),
            shares: vec![0.5, 0.5, 0.0],
        },
    ];
    insta::assert_snapshot!(share_bars("Shares", &["contents", "submission", "waiting"], &rows));
    insta::assert_snapshot!("small_curve", sparkline(&[1.0, 4.0, 2.0, 0.0]));
    assert_eq!(sparkline(&[1.0]), "");
}

#[test]
fn bad_extents() {
    let extent = |from: f64, long: f64, class: &str| MappedExtent {
        from,
        to: from + long,
        class: class.to_owned(),
        what: "<blank>".into(),
    };
    let extents =
        [extent(0.0, 4096.0, "blank"), extent(1e6, 3e5, "stale"), extent(8e6, 512.0, "blank")];
    insta::assert_snapshot!(extent_map("Bad extents", 0.0, &extents, &["blank", "stale"]));
}

#[test]
fn charts_without_points_are_left_out() {
    let chart = LineChart {
        label: String::new(),
        across: (String::new(), Quantity::Clock),
        up: (String::new(), Quantity::OpRate),
        up_kind: ScaleKind::Linear,
        curves: vec![curve("x", 0, &[(f64::NAN, 1.0), (1.0, f64::INFINITY)])],
        spans: spans(),
        marks: Vec::new(),
    };
    assert_eq!(line_chart(&chart), None);
    assert_eq!(heat_map(&HeatMap { windows: vec![vec![]], ..HeatMap::default() }, &[]), None);
}
