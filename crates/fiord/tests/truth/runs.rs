//! Runs what was drawn, and compares all of its outputs.

use serde_json::Value;

use crate::compared::Comparisons;
use crate::draw::{self, DrawnJob, DrawnLogs, DrawnRun};
use crate::expected::{EntryTruth, Span};
use crate::fiord::Place;
use crate::page::{self, PageEntry};
use crate::record::JobRecord;
use crate::{json, logs, metrics, series, terse, text};

/// An instance of a job that ran: its section, what was drawn, its record, the time in which it was measured, and the truth about it.
pub(crate) struct RanJob<'a> {
    pub section: usize,
    pub drawn: &'a DrawnJob,
    pub record: JobRecord,
    pub span: Span,
    pub truth: EntryTruth,
}

impl RanJob<'_> {
    /// The job ended with an error.
    fn dies(&self) -> bool {
        !self.drawn.asked.survives && !self.truth.errors.is_empty()
    }
}

fn command(run: &DrawnRun) -> String {
    let mut line = format!(
        "--output-format=json+,terse,normal --terse-version={} --output=o.txt --findings=off --series=s.jsonl \
         --series-format=jsonl --series-interval={}ms --metrics=m.prom --html=p.html",
        run.terse, run.interval
    );
    for (at, job) in run.jobs.iter().enumerate() {
        line += &format!(" --name=j{at} --ioengine=sim --sim_record=r{at}");
        job.options.iter().for_each(|option| line += &format!(" {option}"));
        line += if job.group { " --group_reporting" } else { "" };
        line += &format!(" --numjobs={}", job.instances);
        line += &log_options(at, job.logs);
    }
    line
}

fn log_options(at: usize, drawn: DrawnLogs) -> String {
    let all = format!(" --write_lat_log=l{at} --write_bw_log=l{at} --write_iops_log=l{at}");
    match drawn {
        DrawnLogs::None => String::new(),
        DrawnLogs::Single => format!("{all} --log_offset=1"),
        DrawnLogs::Windows(ms) => format!("{all} --log_avg_msec={ms}"),
        DrawnLogs::Histograms(ms, coarseness) => format!(
            " --write_hist_log=l{at} --log_hist_msec={ms} --log_hist_coarseness={coarseness}"
        ),
    }
}

/// Runs the jobs of a seed. Returns how many they are, the comparisons and the command line.
pub(crate) fn check(seed: u64) -> (usize, Comparisons, String) {
    let run = draw::run(seed);
    let line = command(&run);
    let place = Place::new();
    let ran = place.run(&line);
    let mut c = Comparisons::default();
    let Ok(output) = std::fs::read_to_string(place.path("o.txt")) else {
        c.wrong.push("there is no output".to_owned());
        return (run.jobs.len(), c, line);
    };
    let outputs = Outputs::of(&output);
    let jobs = &outputs.json["jobs"];
    let sections = run.jobs.iter().enumerate();
    let instances = sections.flat_map(|section| std::iter::repeat_n(section, section.1.instances));
    let instances: Vec<(usize, &DrawnJob)> = instances.collect();
    let mut ran_jobs = Vec::new();
    for (at, &(section, drawn)) in instances.iter().enumerate() {
        let name = format!("r{section}_sim.{}.log", at + 1);
        let record = std::fs::read_to_string(place.path(&name)).unwrap_or_default();
        let record = JobRecord::of(&record);
        let merged = drawn.group && instances.len() > 1;
        let span = span_of(&record, drawn);
        if !merged {
            // The entry of several jobs has the samples of all of them.
            check_span(&mut c, &jobs[at], span);
        }
        let truth = EntryTruth::of(&record, span, &drawn.asked);
        ran_jobs.push(RanJob { section, drawn, record, span, truth });
    }
    let died = ran_jobs.iter().filter(|job| job.dies()).count();
    c.same("exit status", ran.status.unwrap_or(-1), died as i32);
    c.same("messages on standard error", ran.err.is_empty(), died == 0);
    let page = std::fs::read_to_string(place.path("p.html")).unwrap_or_default();
    compare(&mut c, &run, (&outputs, &page), &ran_jobs);
    files(&mut c, &place, &ran_jobs);
    (instances.len(), c, line)
}

/// When the job was measured: from the first time at which the job looked after its ramp, to the last completion. A job whose
/// run time ends while it waits for the next I/O ends then.
fn span_of(record: &JobRecord, drawn: &DrawnJob) -> Span {
    let looks = record.reaps.iter().map(|(_, at, _)| *at);
    let begin = match drawn.ramp {
        0 => 0,
        ramp => looks.clone().find(|at| *at >= ramp).unwrap_or(ramp),
    };
    let dies = !drawn.asked.survives && record.ios.iter().any(|io| !io.is_done());
    let end = drawn.runtime.filter(|_| !dies).map_or(0, |runtime| begin + runtime);
    // As in fio, a job thinks after its last I/O, too.
    let ios = record.ios.iter().filter(|io| io.dir.is_some()).count() as u64;
    let think = drawn.think.filter(|(_, blocks)| ios.is_multiple_of(*blocks) && end == 0 && !dies);
    let last = record.last_end() + think.map_or(0, |(time, _)| time);
    let end = end.max(last);
    Span { begin: begin.min(end), end }
}

fn check_span(c: &mut Comparisons, job: &Value, span: Span) {
    let of = |key: &str| job["fiord"]["samples"][key].as_u64().unwrap_or(0);
    c.same("begin of the measured part", of("measured_ns"), span.begin);
    c.same("end of the job", of("end_ns"), span.end);
}

/// The outputs of a run, which one file has one after the other.
pub(crate) struct Outputs<'a> {
    pub json: Value,
    pub terse: Vec<&'a str>,
    pub text: &'a str,
}

impl<'a> Outputs<'a> {
    pub(crate) fn of(output: &'a str) -> Self {
        let begin = output.find("\n{\n").map_or(0, |at| at + 1);
        let end = output[begin..].find("\n}\n").map_or(output.len(), |at| begin + at + 2);
        let terse = output[..begin].lines().filter(|line| line.contains(";fio-"));
        Outputs {
            json: serde_json::from_str(&output[begin..end]).unwrap_or_default(),
            terse: terse.collect(),
            text: &output[end..],
        }
    }
}

fn compare(
    c: &mut Comparisons,
    run: &DrawnRun,
    (outputs, html): (&Outputs<'_>, &str),
    jobs: &[RanJob<'_>],
) {
    let entries: Vec<EntryTruth> = match run.jobs[0].group {
        true => vec![EntryTruth::merged(jobs.iter().map(|job| &job.truth))],
        false => jobs.iter().map(|job| job.truth.clone()).collect(),
    };
    let group = text::GroupTruth::of(&entries, run.jobs[0].asked.unified);
    let found = outputs.json["jobs"].as_array().map_or(0, Vec::len);
    c.same("entries in JSON", found, entries.len());
    c.same("lines of terse output", outputs.terse.len(), entries.len());
    let mut shown = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let asked = &jobs[at].drawn.asked;
        let survives = match run.jobs[0].group {
            true => jobs.iter().any(|job| job.drawn.asked.survives),
            false => asked.survives,
        };
        let asked = crate::expected::Asked { survives, ..asked.clone() };
        json::entry(c, &outputs.json["jobs"][at], entry, &asked, group.bandwidths());
        if let Some(line) = outputs.terse.get(at) {
            terse::line(c, line, run.terse, entry, &asked, group.bandwidths());
        }
        let block = text::block(outputs.text, &format!("j{at}"));
        text::entry(c, block, entry, &asked);
        let own = if run.jobs[0].group { jobs } else { &jobs[at..=at] };
        let samples = &outputs.json["jobs"][at]["fiord"]["samples"];
        shown.push(PageEntry {
            label: format!("j{at}"),
            truth: entry,
            asked,
            records: own.iter().map(|job| &job.record).collect(),
            end: own.iter().map(|job| job.span.end).max().unwrap_or(0),
            failed: own.iter().any(RanJob::dies),
            window: samples["window_ns"].as_u64().unwrap_or(0),
        });
    }
    text::groups(c, outputs.text, &group);
    page::page(c, html, &outputs.json, &shown);
}

/// Compares the files that the run wrote.
fn files(c: &mut Comparisons, place: &Place, jobs: &[RanJob<'_>]) {
    let read = |name: String| std::fs::read_to_string(place.path(&name)).unwrap_or_default();
    let rows: Vec<Value> =
        read("s.jsonl".into()).lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let metrics = read("m.prom".into());
    for (at, job) in jobs.iter().enumerate() {
        let (record, span, asked) = (&job.record, job.span, &job.drawn.asked);
        let (name, section) = (format!("j{}", job.section), job.section);
        let own = |row: &&Value| row["job"] == name && row["job_index"] == at;
        let own: Vec<Value> = rows.iter().filter(own).cloned().collect();
        series::rows(c, &own, record, span, asked);
        metrics::job(c, &metrics, &[format!("job_index=\"{at}\"")], &job.truth, asked);
        let log = |kind: &str| read(format!("l{section}_{kind}.{}.log", at + 1));
        let texts = || ["lat", "clat", "slat", "bw", "iops"].map(|kind| (kind, log(kind))).to_vec();
        match job.drawn.logs {
            DrawnLogs::None => {}
            DrawnLogs::Single => logs::single(c, &texts(), record, span, asked),
            DrawnLogs::Windows(ms) => {
                logs::windowed(c, &texts(), record, (span, ms * 1_000_000), asked);
            }
            DrawnLogs::Histograms(ms, coarseness) => {
                let text = log("clat_hist");
                logs::histograms(
                    c,
                    &text,
                    record,
                    (span, ms * 1_000_000),
                    (coarseness, asked.clat),
                );
            }
        }
    }
    let alone = jobs.iter().filter(|job| !job.drawn.group || jobs.len() == 1);
    for (job, at) in alone.zip(0..) {
        let output = read("o.txt".into());
        let samples = &Outputs::of(&output).json["jobs"][at as usize]["fiord"]["samples"];
        series::samples(c, samples, &job.record, job.span);
    }
}
