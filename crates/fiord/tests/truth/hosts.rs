//! Runs on several hosts, which are directories of this machine: the entries of the hosts, and the totals of all of them.

use serde_json::Value;

use crate::compared::{Comparisons, Rounding::SixDecimals};
use crate::dice::Dice;
use crate::expected::{Asked, EntryTruth, RowTruth, Span};
use crate::fiord::Place;
use crate::page::{self, PageEntry};
use crate::record::JobRecord;
use crate::runs::Outputs;
use crate::{each_seed, json, metrics, series, ssh, terse, text};

/// Runs that the normal tests make.
const SAMPLE: u64 = 6;

/// A run: its options, what it asks for, and how many jobs each host has in how many entries.
struct Drawn {
    line: String,
    asked: Asked,
    hosts: usize,
    jobs: usize,
    group: bool,
}

fn drawn(seed: u64) -> Drawn {
    let mut dice = Dice::new(seed);
    let (mode, uses) = dice.of(&[
        ("randread", [true, false, false]),
        ("write", [false, true, false]),
        ("randrw", [true, true, false]),
        ("trimwrite", [false, true, true]),
    ]);
    let asked = Asked {
        slat: true,
        clat: true,
        lat: true,
        clat_percentiles: true,
        percentiles: vec![1.0, 50.0, 99.0, 99.9, 100.0],
        uses,
        windows: Some((5_000_000, 7_000_000)),
        sets_windows: true,
        unified: dice.of(&["none", "none", "both", "mixed"]),
        survives: dice.one_in(3),
        ..Asked::default()
    };
    let (jobs, group) = dice.of(&[(1, false), (2, false), (2, true)]);
    let errors = if asked.survives { "--sim_error_rate=3 --continue_on_error=all" } else { "" };
    // Each host has another device and another number of I/Os.
    let job = dice.line(&[
        &["--bs=4k", "--bssplit=4k/60:16k/40"],
        &["--iodepth=1", "--iodepth=4", "--iodepth=32"],
        &["--number_ios=3${rank}7", "--number_ios=9${rank}"],
        &["--sim_latency=lognormal:9${rank}us:0.9", "--sim_latency=exponential:${rank}900us"],
        &["", "--sim_short_rate=5"],
    ]);
    let line = format!(
        "--output-format=json+,terse,normal --terse-version=5 --output=o.txt --html=p.html --metrics=m.prom \
         --series=s.jsonl --series-format=jsonl --findings=off --name=j0 --ioengine=sim \
         --sim_record=r --size=8m --rw={mode} --sim_seed={}${{rank}} --randseed={}${{rank}} --bwavgtime=5 --iopsavgtime=7 \
         --percentile_list=1:50:99:99.9:100 --unified_rw_reporting={} --numjobs={jobs} {} {errors} {job}",
        1 + dice.below(99),
        1 + dice.below(99),
        asked.unified,
        if group { "--group_reporting" } else { "" },
    );
    Drawn { line, asked, hosts: dice.of(&[2, 3]), jobs, group }
}

struct HostJob {
    record: JobRecord,
    truth: EntryTruth,
}

impl HostJob {
    fn of(place: &Place, (host, job): (usize, usize), asked: &Asked) -> HostJob {
        let path = place.path(&format!("n{}/r_sim.{}.log", host + 1, job + 1));
        let record = JobRecord::of(&std::fs::read_to_string(path).unwrap_or_default());
        let truth = EntryTruth::of(&record, Span { begin: 0, end: record.last_end() }, asked);
        HostJob { record, truth }
    }
}

fn check(drawn: &Drawn) -> Comparisons {
    let mut c = Comparisons::default();
    let place = ssh::place();
    let names = format!("n[1-{}]", drawn.hosts);
    let ran = place.run(&format!("{} {}", ssh::options(&place, &names), drawn.line));
    c.same("messages on standard error", ran.err.as_str(), "");
    let read = |name: &str| std::fs::read_to_string(place.path(name)).unwrap_or_default();
    let (output, html) = (read("o.txt"), read("p.html"));
    let outputs = Outputs::of(&output);
    let asked = &drawn.asked;
    let jobs = |host| (0..drawn.jobs).map(move |job| (host, job));
    let jobs = |host| jobs(host).map(|at| HostJob::of(&place, at, asked)).collect::<Vec<_>>();
    let hosts: Vec<Vec<HostJob>> = (0..drawn.hosts).map(jobs).collect();
    let mut entries = Vec::new();
    for (number, jobs) in hosts.iter().enumerate() {
        let parts = jobs.chunks(if drawn.group { drawn.jobs } else { 1 });
        let merged = |part: &[HostJob]| EntryTruth::merged(part.iter().map(|job| &job.truth));
        let own: Vec<EntryTruth> = parts.map(merged).collect();
        let group = text::GroupTruth::of(&own, asked.unified);
        for entry in own {
            let found = &outputs.json["client_stats"][entries.len()];
            let name = found["hostname"].as_str().unwrap_or("");
            c.same("host", name, format!("n{}", number + 1).as_str());
            json::entry(&mut c, found, &entry, asked, group.bandwidths());
            if let Some(line) = outputs.terse.get(entries.len()) {
                terse::line(&mut c, line, 5, &entry, asked, group.bandwidths());
            }
            entries.push(entry);
        }
        let truths: Vec<&EntryTruth> = jobs.iter().map(|job| &job.truth).collect();
        host_total(&mut c, &outputs.json["fiord"]["hosts"][number], &truths);
    }
    total(&mut c, &outputs, &entries, asked);
    files(&mut c, (&read("m.prom"), &read("s.jsonl")), &hosts, asked);
    page::page(&mut c, &html, &outputs.json, &shown(drawn, &outputs.json, &hosts, &entries));
    c
}

/// The entries as the page shows them. All hosts are this machine, so they have one name, and numbers after it.
fn shown<'a>(
    drawn: &Drawn,
    json: &Value,
    hosts: &'a [Vec<HostJob>],
    entries: &'a [EntryTruth],
) -> Vec<PageEntry<'a>> {
    let size = if drawn.group { drawn.jobs } else { 1 };
    let parts = hosts.iter().flat_map(|jobs| jobs.chunks(size));
    let own = json["fiord"]["hosts"][0]["own_name"].as_str().unwrap_or_default();
    let one = |(at, (truth, part)): (usize, (&'a EntryTruth, &'a [HostJob]))| PageEntry {
        label: match at {
            0 if drawn.jobs == size => format!("{own}: j0"),
            at => format!("{own}: j0 #{}", at + 1),
        },
        truth,
        asked: drawn.asked.clone(),
        records: part.iter().map(|job| &job.record).collect(),
        end: part.iter().map(|job| job.record.last_end()).max().unwrap_or(0),
        failed: false,
        window: json["client_stats"][at]["fiord"]["samples"]["window_ns"].as_u64().unwrap_or(0),
    };
    entries.iter().zip(parts).enumerate().map(one).collect()
}

/// The metrics and the series of each job of each host.
fn files(
    c: &mut Comparisons,
    (metrics, series): (&str, &str),
    hosts: &[Vec<HostJob>],
    asked: &Asked,
) {
    let rows: Vec<Value> = series.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (number, jobs) in hosts.iter().enumerate() {
        for (at, job) in jobs.iter().enumerate() {
            let name = format!("n{}", number + 1);
            let labels = [format!("host=\"{name}\""), format!("job_index=\"{at}\"")];
            metrics::job(c, metrics, &labels, &job.truth, asked);
            let own = |row: &&Value| row["host"] == name && row["job_index"] == at;
            let own: Vec<Value> = rows.iter().filter(own).cloned().collect();
            let span = Span { begin: 0, end: job.record.last_end() };
            series::rows(c, &own, &job.record, span, asked);
        }
    }
}

/// The sum of all hosts.
fn total(c: &mut Comparisons, outputs: &Outputs<'_>, entries: &[EntryTruth], asked: &Asked) {
    let all = EntryTruth::merged(entries.iter());
    let clients = outputs.json["client_stats"].as_array().map_or(0, Vec::len);
    c.same("entries of hosts, and their sum", clients, entries.len() + 1);
    c.same("lines of terse output", outputs.terse.len(), entries.len() + 1);
    // As in fio, the shares of the sum refer to the rates of its entries together.
    let sum = |of: &dyn Fn(&EntryTruth) -> RowTruth| {
        entries.iter().map(|e| of(e).bandwidth()).sum::<u64>()
    };
    let rates = [
        sum(&|entry| entry.rows[0].clone()),
        sum(&|entry| entry.rows[1].clone()),
        sum(&|entry| entry.rows[2].clone()),
        sum(&EntryTruth::mixed),
    ];
    let found = &outputs.json["client_stats"][entries.len()];
    c.same("name of the sum", found["jobname"].as_str().unwrap_or(""), "All clients");
    json::entry(c, found, &all, asked, rates);
    if let Some(line) = outputs.terse.last() {
        terse::line(c, line, 5, &all, asked, rates);
    }
    text::entry(c, text::block(outputs.text, "All clients"), &all, asked);
}

/// What the jobs of a host did together.
fn host_total(c: &mut Comparisons, host: &Value, jobs: &[&EntryTruth]) {
    let rows = || jobs.iter().flat_map(|job| &job.rows);
    let ios: usize = rows().map(|row| row.ios.len()).sum();
    let bytes: u64 = rows().map(|row| row.bytes).sum();
    let runtime = rows().map(|row| row.runtime_ms).max().unwrap_or(0);
    for (key, expected) in
        [("io_bytes", bytes), ("runtime", runtime), ("bw_bytes", bytes * 1000 / runtime.max(1))]
    {
        c.same(&format!("{key} of a host"), host[key].as_u64().unwrap_or(u64::MAX), expected);
    }
    let found = host["iops"].as_f64().unwrap_or(f64::NAN);
    c.close("iops of a host", found, ios as f64 * 1000.0 / runtime.max(1) as f64, SixDecimals);
}

#[test]
fn results_of_hosts_and_their_totals_are_those_of_the_records() {
    each_seed(SAMPLE, |seed| {
        let drawn = drawn(seed);
        Some((check(&drawn), drawn.line))
    });
}
