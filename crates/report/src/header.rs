//! The lines before a run: the properties of each job, how many jobs start, which files are laid out.

use fiord_stat::progress::{HeaderKind, JobHeader};
use fiord_stat::report::NumberStyle;
use fiord_types::{Bytes, Dir};

use crate::style::size;

/// Formats the line or two lines that introduce a job section.
#[must_use]
pub fn job(header: &JobHeader, style: NumberStyle) -> String {
    let JobHeader { name, group_id, .. } = header;
    let mut text = match &header.kind {
        HeaderKind::Io { rw, bs, seq_rand, engine, iodepth } => {
            let range = |dir| format!("{}-{}", size(bs[dir].0, style), size(bs[dir].1, style));
            let third = match seq_rand {
                true => "bs_is_seq_rand".to_string(),
                false => format!("(T) {}", range(Dir::Trim)),
            };
            format!(
                "{name}: (g={group_id}): rw={rw}, bs=(R) {}, (W) {}, {third}, \
                 ioengine={engine}, iodepth={iodepth}\n",
                range(Dir::Read),
                range(Dir::Write)
            )
        }
        HeaderKind::Cpu { .. } | HeaderKind::Program { .. } => String::new(),
    };
    if header.members > 1 {
        text.push_str("...\n");
    }
    text
}

/// Formats the lines that a job without I/O prints when it starts; empty for any other job.
#[must_use]
pub fn job_started(header: &JobHeader) -> String {
    match &header.kind {
        HeaderKind::Cpu { engine, mode, load, chunk } => {
            let chunk = chunk.as_micros();
            let name = &header.name;
            format!("{name} ({mode}): ioengine={engine}, cpuload={load}, cpucycle={chunk}\n")
        }
        HeaderKind::Program { program, arguments, output } => {
            let name = &header.name;
            let line = [program, arguments].map(String::as_str).join(" ");
            let runs = match output {
                Some((out, err)) => {
                    let (out, err) = (out.display(), err.display());
                    format!("Saving output of {} : stdout={out} stderr={err}", line.trim_end())
                }
                None => format!("Running {}", line.trim_end()),
            };
            format!("{name} : program={program}, arguments={arguments}\n{name} : {runs}\n")
        }
        HeaderKind::Io { .. } => String::new(),
    }
}

/// Formats `Starting 2 processes` or `Starting 1 thread and 2 processes`. Scripts search for these words,
/// so they follow the option `thread` although fiord runs all jobs in threads.
#[must_use]
pub fn starting(threads: u32, processes: u32) -> String {
    let some = |n: u32, one: &str, many: &str| match n {
        1 => format!("1 {one}"),
        n => format!("{n} {many}"),
    };
    let threads_text = some(threads, "thread", "threads");
    let processes_text = some(processes, "process", "processes");
    match (threads, processes) {
        (0, _) => format!("Starting {processes_text}\n"),
        (_, 0) => format!("Starting {threads_text}\n"),
        _ => format!("Starting {threads_text} and {processes_text}\n"),
    }
}

/// Formats `a: Laying out IO file (1 file / 8MiB)`.
#[must_use]
pub fn laying_out(job: &str, files: u64, size: Bytes) -> String {
    let mib = size.0 >> 20;
    match files {
        1 => format!("{job}: Laying out IO file (1 file / {mib}MiB)\n"),
        n => format!("{job}: Laying out IO files ({n} files / total {mib}MiB)\n"),
    }
}

#[cfg(test)]
mod tests {
    use fiord_types::{Nanos, PerDir};

    use super::*;

    #[test]
    fn introductions() {
        let kind = HeaderKind::Io {
            rw: "randrw".into(),
            bs: PerDir::new((4096, 4096), (8192, 65536), (4096, 4096))
                .map(|(least, most)| (Bytes(least), Bytes(most))),
            seq_rand: false,
            engine: "psync".into(),
            iodepth: 1,
        };
        let header = JobHeader { name: "a".into(), group_id: 0, kind, members: 2 };
        assert_eq!(
            job(&header, NumberStyle::default()),
            "a: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 8192B-64.0KiB, (T) 4096B-4096B, \
             ioengine=psync, iodepth=1\n...\n"
        );
    }
    #[test]
    fn lines_at_the_start_of_jobs_without_io() {
        let line =
            |kind| job_started(&JobHeader { name: "a".into(), group_id: 0, kind, members: 1 });
        let cpu = HeaderKind::Cpu {
            engine: "cpuio".into(),
            mode: "qsort".into(),
            load: 50,
            chunk: Nanos(50_000_000),
        };
        assert_eq!(line(cpu), "a (qsort): ioengine=cpuio, cpuload=50, cpucycle=50000\n");
        let output = Some(("a.stdout".into(), "a.stderr".into()));
        let program = |output| HeaderKind::Program {
            program: "/bin/sleep".into(),
            arguments: "1".into(),
            output,
        };
        assert_eq!(
            line(program(output)),
            "a : program=/bin/sleep, arguments=1\n\
             a : Saving output of /bin/sleep 1 : stdout=a.stdout stderr=a.stderr\n"
        );
        assert!(line(program(None)).ends_with("a : Running /bin/sleep 1\n"));
    }
    #[test]
    fn beginnings() {
        assert_eq!(starting(0, 1), "Starting 1 process\n");
        assert_eq!(starting(2, 0), "Starting 2 threads\n");
        assert_eq!(starting(1, 2), "Starting 1 thread and 2 processes\n");
        assert_eq!(laying_out("a", 1, Bytes(8 << 20)), "a: Laying out IO file (1 file / 8MiB)\n");
        assert_eq!(
            laying_out("a", 3, Bytes(1000)),
            "a: Laying out IO files (3 files / total 0MiB)\n"
        );
    }
}
