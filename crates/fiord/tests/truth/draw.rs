//! Draws jobs: the same ones for each seed.

use crate::dice::Dice;
use crate::expected::Asked;

/// A job of a run.
#[derive(Debug, Clone)]
pub(crate) struct DrawnJob {
    /// Options of the job, without `name`.
    pub options: Vec<String>,
    pub asked: Asked,
    /// `ramp_time`, ns.
    pub ramp: u64,
    /// `runtime` with `time_based`, ns.
    pub runtime: Option<u64>,
    /// `thinktime` in ns, and after how many I/Os.
    pub think: Option<(u64, u64)>,
    pub group: bool,
    /// `numjobs`.
    pub instances: usize,
    pub logs: DrawnLogs,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum DrawnLogs {
    None,
    Single,
    /// Windows of this length, ms.
    Windows(u64),
    /// Histograms: length of a window in ms, coarseness.
    Histograms(u64, u32),
}

#[derive(Debug, Clone)]
pub(crate) struct DrawnRun {
    pub jobs: Vec<DrawnJob>,
    pub terse: u32,
    /// `--series-interval`, ms.
    pub interval: u64,
}

const MODES: [(&str, [bool; 3]); 11] = [
    ("read", [true, false, false]),
    ("randread", [true, false, false]),
    ("write", [false, true, false]),
    ("randwrite", [false, true, false]),
    ("rw", [true, true, false]),
    ("randrw", [true, true, false]),
    ("randrw --rwmixread=90", [true, true, false]),
    ("trim", [false, false, true]),
    ("randtrim", [false, false, true]),
    ("trimwrite", [false, true, true]),
    ("randread --percentage_random=40", [true, false, false]),
];

const LATENCIES: [&str; 7] = [
    "constant:100us",
    "constant:50ns",
    "uniform:10us:3ms",
    "normal:90us:30us",
    "exponential:400us",
    "lognormal:90us:0.9",
    "lognormal:40ms:1.5",
];

pub(crate) fn run(seed: u64) -> DrawnRun {
    let mut dice = Dice::new(seed);
    let count = dice.of(&[1, 1, 1, 2, 3]);
    let group = dice.one_in(2);
    // An entry of several jobs has one set of measurements, so that its numbers have one meaning.
    let (options, asked) = measurements(&mut dice);
    let jobs = (0..count).map(|_| job(&mut dice, group, (&options, &asked))).collect();
    DrawnRun { jobs, terse: dice.of(&[3, 4, 5]), interval: dice.of(&[1000, 250, 500]) }
}

fn job(dice: &mut Dice, group: bool, (measured, asked): (&[String], &Asked)) -> DrawnJob {
    let mut options: Vec<String> = measured.to_vec();
    let mut add = |text: &str| options.push(format!("--{text}"));
    let (mode, uses) = dice.of(&MODES);
    add(&format!("rw={mode}"));
    let latency = dice.of(&LATENCIES);
    add(&format!("sim_latency={latency}"));
    // Slow devices get fewer I/Os, so that their jobs stay short on the machine's clock, too.
    let fast = latency.contains("50ns");
    add(dice.of(&["bs=4k", "bs=512", "bs=64k", "bsrange=1k-16k", "bssplit=4k/60:8k/30:32k/10"]));
    let depth = dice.of(&[1, 1, 2, 4, 8, 16, 32, 64, 128]);
    add(&format!("iodepth={depth}"));
    if dice.one_in(4) && depth >= 4 {
        add(&format!("iodepth_batch={}", depth / 2));
    }
    if dice.one_in(4) && depth >= 4 {
        add(&format!("iodepth_batch_complete_min={}", depth / 4));
    }
    if dice.one_in(3) {
        add(&format!("sim_channels={}", dice.of(&[1, 2, 8])));
    }
    if dice.one_in(5) {
        add("sim_stall=20ms:40ms,200ms:1500ms");
    }
    if dice.one_in(6) {
        add("sim_submit_cost=3");
    }
    if dice.one_in(6) {
        add("sim_complete_cost=2");
    }
    if dice.one_in(6) {
        add("sim_short_rate=5");
    }
    add(&format!("sim_seed={}", 1 + dice.below(1000)));
    add(&format!("randseed={}", 1 + dice.below(1000)));
    if dice.one_in(4) && uses[1] {
        add(&format!("fsync={}", dice.of(&[1, 7, 32])));
    }
    let mut think = None;
    if dice.one_in(6) {
        let (text, time, blocks) = dice.of(&[
            ("thinktime=700", 700_000, 1),
            ("thinktime=3ms --thinktime_blocks=9", 3_000_000, 9),
        ]);
        add(text);
        think = Some((time, blocks));
    }
    if dice.one_in(5) {
        add(dice.of(&["norandommap", "loops=2", "offset=64k", "random_distribution=zipf:1.2"]));
    }
    let low = dice.one_in(6) && depth > 2;
    if low {
        add(&format!("iodepth_low={}", depth / 2));
    }
    let mut asked = Asked { uses, depth, ..asked.clone() };
    let paced = dice.one_in(6);
    if paced {
        let rate = if fast { 3000 } else { dice.of(&[30, 400, 3000]) };
        options.push(format!("--rate_iops={rate}"));
    }
    // In these cases more happens at one moment than a time can tell apart.
    let ramps = !paced && !low && think.is_none() && !latency.starts_with("constant");
    let (ramp, runtime) = end(dice, &mut options, fast, (depth, ramps));
    if dice.one_in(5) {
        options.push(format!("--sim_error_rate={}", dice.of(&[0.2, 2.0])));
        options.push("--continue_on_error=all".to_owned());
        asked.survives = true;
    } else if dice.one_in(8) {
        // The job ends with this I/O, and with those in flight.
        options.push(format!("--sim_errors=EIO#{}", 1 + dice.below(200)));
    }
    let logs = match dice.below(6) {
        0 | 1 => DrawnLogs::Single,
        2 => DrawnLogs::Windows(dice.of(&[10, 100, 1000])),
        3 => DrawnLogs::Histograms(dice.of(&[20, 500]), dice.of(&[0, 3, 6])),
        _ => DrawnLogs::None,
    };
    if let (DrawnLogs::Windows(ms), Some(windows)) = (logs, &mut asked.windows)
        && !asked.sets_windows
    {
        *windows = (ms * 1_000_000, ms * 1_000_000);
    }
    // Only a group has one entry for all of them.
    let instances = if group && dice.one_in(3) { dice.of(&[2, 3]) } else { 1 };
    DrawnJob { options, asked, ramp, runtime, think, group, instances, logs }
}

/// When the job ends. Returns its ramp and its run time in ns. `ramps`: it may have a ramp.
fn end(
    dice: &mut Dice,
    options: &mut Vec<String>,
    fast: bool,
    (depth, may_ramp): (u64, bool),
) -> (u64, Option<u64>) {
    let mut add = |text: String| options.push(format!("--{text}"));
    if fast || dice.one_in(2) {
        add("size=4m".into());
        add(format!("number_ios={}", 100 + dice.below(900)));
        return (0, None);
    }
    add("size=16m".into());
    add("time_based".into());
    // A virtual second with a latency of 100 us and a depth of 64 has very many I/Os.
    let (times, ramps) = match depth {
        0..=2 => ([40, 130, 700], [1, 30, 250]),
        3..=8 => ([20, 40, 130], [1, 10, 30]),
        _ => ([11, 20, 40], [1, 3, 10]),
    };
    let runtime = dice.of(&times);
    add(format!("runtime={runtime}ms"));
    if may_ramp && dice.one_in(2) {
        let ramp = dice.of(&ramps);
        add(format!("ramp_time={ramp}ms"));
        return (ramp * 1_000_000, Some(runtime * 1_000_000));
    }
    (0, Some(runtime * 1_000_000))
}

/// What the job measures and reports.
fn measurements(dice: &mut Dice) -> (Vec<String>, Asked) {
    let mut options: Vec<String> = Vec::new();
    let mut asked = Asked {
        slat: true,
        clat: true,
        lat: true,
        slat_percentiles: false,
        clat_percentiles: true,
        lat_percentiles: false,
        percentiles: vec![
            1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9,
            99.95, 99.99,
        ],
        uses: [false; 3],
        windows: Some((500_000_000, 500_000_000)),
        sets_windows: false,
        unified: "none",
        survives: false,
        depth: 0,
    };
    let mut add = |text: &str| options.push(format!("--{text}"));
    for (name, measured) in [
        ("disable_slat", &mut asked.slat),
        ("disable_clat", &mut asked.clat),
        ("disable_lat", &mut asked.lat),
    ] {
        if dice.one_in(8) {
            add(&format!("{name}=1"));
            *measured = false;
        }
    }
    if dice.one_in(10) {
        add("gtod_reduce=1");
        (asked.slat, asked.clat, asked.lat, asked.windows) = (false, false, false, None);
    }
    if dice.one_in(4) {
        add("lat_percentiles=1");
        asked.lat_percentiles = true;
        // As in fio, this replaces those of completion latencies, unless both are asked for.
        asked.clat_percentiles = dice.one_in(2);
        add(if asked.clat_percentiles { "clat_percentiles=1" } else { "clat_percentiles=0" });
    }
    if dice.one_in(4) {
        add("slat_percentiles=1");
        asked.slat_percentiles = true;
    }
    if dice.one_in(4) {
        add("percentile_list=0.5:25:50:99.999:100");
        asked.percentiles = vec![0.5, 25.0, 50.0, 99.999, 100.0];
    }
    if asked.windows.is_some() && dice.one_in(2) {
        let (bandwidth, iops) = (dice.of(&[5, 50, 300]), dice.of(&[7, 20, 100]));
        add(&format!("bwavgtime={bandwidth}"));
        add(&format!("iopsavgtime={iops}"));
        asked.windows = Some((bandwidth * 1_000_000, iops * 1_000_000));
        asked.sets_windows = true;
    }
    asked.unified = dice.of(&["none", "none", "none", "mixed", "both"]);
    add(&format!("unified_rw_reporting={}", asked.unified));
    (options, asked)
}
