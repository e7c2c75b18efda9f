//! One run of one contender: the command, and the figure that it gives.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::contender::Contender;
use super::patience::{self, NotHere};
use super::place::Place;
use super::row::{FILE_BYTES, Job, What};
use super::watch::Watch;

/// Options of the runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct MeasureOptions {
    /// The CPU to which everything is pinned. Two jobs also use the next one.
    pub cpu: u32,
    /// Run time of a measurement.
    pub seconds: f64,
    /// Size in bytes of the file that is laid out.
    pub layout: u64,
    /// Number of files in the row with very many files.
    pub files: u64,
    /// Number of names in the rows about engines on names.
    pub names: u64,
    /// How long a program may run.
    pub limit: Duration,
    /// Count I/Os per second of CPU time instead of elapsed time.
    pub per_cpu: bool,
}

/// Runs a contender on a job and returns the figure.
pub(super) fn figure(
    who: &Contender,
    what: What,
    job: Job,
    place: &mut Place,
    how: MeasureOptions,
) -> Result<f64> {
    match what {
        What::Rate => {
            if job.has("SEALED") {
                seal(who, job, place, how)?;
            }
            let mut command = Command::new(&who.program);
            timed(&mut command, job, place, how)?;
            rate(&run(who.name, command, how)?, how.per_cpu)
        }
        What::NameRate => {
            let mut command = Command::new(&who.program);
            common(&mut command, job, place, how)?;
            name_rate(who.name, command, place, how)
        }
        What::CpuTime => {
            let mut command = Command::new(&who.program);
            timed(&mut command, job, place, how)?;
            cpu_time(&run(who.name, command, how)?)
        }
        What::Instructions => instructions(who, job, place, how),
        What::OwnMemory | What::Resident => {
            let mut command = Command::new(&who.program);
            timed(&mut command, job, place, how)?;
            peak_memory(who, what, command)
        }
        What::FirstIo | What::Exit => {
            let mut command = Command::new(&who.program);
            common(&mut command, job, place, how)?;
            let (first, exit) = around_io(who, command, &place.file())?;
            Ok(if what == What::FirstIo { first } else { exit }.as_secs_f64())
        }
        What::Layout => {
            let mut command = Command::new(&who.program);
            common(&mut command, job, place, how)?;
            command.arg(format!("--size={}", how.layout));
            command.arg(format!("--filename={}", place.layout().display()));
            layout(who.name, command, place, how)
        }
        What::ManyFiles => {
            let mut command = Command::new(&who.program);
            common(&mut command, job, place, how)?;
            many_files(who.name, command, place, how)
        }
        What::WholeRun => {
            let mut command = Command::new(&who.program);
            common(&mut command, job, place, how)?;
            let start = Instant::now();
            run(who.name, command, how)?;
            Ok(start.elapsed().as_secs_f64())
        }
    }
}

/// Runs the bare loop and returns its I/Os per second.
pub(super) fn bare(
    program: &Path,
    settings: &str,
    what: What,
    job: Job,
    place: &mut Place,
    how: MeasureOptions,
) -> Result<f64> {
    if what == What::NameRate {
        return bare_names(program, settings, place, how);
    }
    let target = if job.has("LOOP") { loop_device(place)? } else { place.file() };
    let mut settings = settings.split(' ');
    let mut command = Command::new(program);
    command.args(settings.next()).arg(target).args(settings).args([
        format!("size={FILE_BYTES}"),
        format!("cpu={}", how.cpu),
        format!("ms={}", (how.seconds * 1000.0) as u64),
    ]);
    rate(&run("the bare loop", command, how)?, how.per_cpu)
}

/// Runs `t/io_uring`, which runs for whole seconds, and returns the I/Os of the best second.
pub(super) fn tool(
    program: Option<&Path>,
    settings: &str,
    place: &Place,
    how: MeasureOptions,
) -> Result<f64> {
    let Some(program) = program else {
        return Err(NotHere("not found. To fix: name it with --t-io-uring".into()).into());
    };
    if how.per_cpu {
        return Err(NotHere("does not report its CPU time".into()).into());
    }
    let mut command = Command::new("taskset");
    command.args(["-c", &how.cpu.to_string()]).arg(program).args(settings.split(' '));
    // It prints a rate every second except the last one, so a run of one second prints none.
    command.arg(format!("-r{}", how.seconds.round().max(2.0))).arg(place.file());
    let rate = best_second(&run("t/io_uring", command, how)?)?;
    if rate > 0.0 { Ok(rate) } else { Err(NotHere("printed no rate".into()).into()) }
}

/// Parses the figure in `Maximum IOPS=1.5M`.
fn best_second(text: &str) -> Result<f64> {
    let figure = text.lines().find_map(|line| line.trim().strip_prefix("Maximum IOPS="));
    let figure = figure.with_context(|| format!("t/io_uring printed:\n{text}"))?.trim();
    let (number, scale) = match figure.chars().last() {
        Some('K') => (&figure[..figure.len() - 1], 1e3),
        Some('M') => (&figure[..figure.len() - 1], 1e6),
        _ => (figure, 1.0),
    };
    Ok(number.parse::<f64>().with_context(|| figure.to_string())? * scale)
}

/// Returns the `dd` command that writes as much as a layout and flushes at its end, as a layout does.
pub(super) fn dd(place: &Place, how: MeasureOptions) -> Result<f64> {
    let mut command = Command::new("dd");
    command.args(["if=/dev/zero", "bs=1M", "conv=fsync", "status=none"]);
    command.arg(format!("count={}", how.layout >> 20));
    command.arg(format!("of={}", place.layout().display()));
    layout("dd", command, place, how)
}

/// Returns the options of all runs, then those of the row.
fn common(command: &mut Command, job: Job, place: &mut Place, how: MeasureOptions) -> Result<()> {
    command.current_dir(&place.dir);
    command.args(["--name=bench", "--output-format=json", "--invalidate=0", "--thread"]);
    command.arg(format!("--size={FILE_BYTES}"));
    if job.has("TWO_CPUS") {
        command.arg(format!("--cpus_allowed={},{}", how.cpu, next_cpu(how.cpu)?));
        command.arg("--cpus_allowed_policy=split");
    } else if job.has("SHARED_CPUS") {
        command.arg(format!("--cpus_allowed={},{}", how.cpu, next_cpu(how.cpu)?));
    } else {
        command.arg(format!("--cpus_allowed={}", how.cpu));
    }
    for option in job.options() {
        match option {
            "FILE" => command.arg(format!("--filename={}", place.file().display())),
            "TARGET" => command.arg(format!("--libblkio_path={}", place.file().display())),
            "SEALED" => command.arg(format!("--filename={}", place.sealed().display())),
            "RADOS" => command.args(server(place.servers.rados(&place.file()))?),
            "RBD" => command.args(server(place.servers.rbd(&place.file()))?),
            "GFAPI" => command.args(server(place.servers.gfapi())?),
            "NFS" => command.args(server(place.servers.nfs(&place.dir))?),
            "ISCSI" => command.args(server(place.servers.iscsi(&place.dir))?),
            "TRACE" => command.arg(format!("--read_iolog={}", place.trace(how.seconds)?.display())),
            "HTTP" => command.args(server(place.servers.http(&place.dir))?),
            "NBD" => command.args(server(place.servers.nbd(&place.dir))?),
            "LOOP" => command.arg(format!("--filename={}", loop_device(place)?.display())),
            "SECOND_CPU" => command.arg(format!("--verify_async_cpus={}", next_cpu(how.cpu)?)),
            "PEER" => command.args([
                "--name=peer".to_owned(),
                "--thread".to_owned(),
                format!("--cpus_allowed={}", how.cpu),
            ]),
            "TWO_CPUS" | "SHARED_CPUS" => continue,
            other => command.arg(other),
        };
    }
    Ok(())
}

/// Writes the file that a job reads, with the job's own options, so that the job can verify it.
fn seal(who: &Contender, job: Job, place: &mut Place, how: MeasureOptions) -> Result<()> {
    let mut command = Command::new(&who.program);
    common(&mut command, job, place, how)?;
    command.args(["--rw=write", "--do_verify=0", "--verify_state_save=0"]);
    run(who.name, command, how).map(drop)
}

/// Returns another CPU.
fn next_cpu(cpu: u32) -> Result<u32> {
    match std::thread::available_parallelism()?.get() as u32 {
        1 => Err(NotHere("this machine has only one CPU".into()).into()),
        count => Ok((cpu + 1) % count),
    }
}

/// The options of a job on a server, if it could be started.
fn server(options: Result<&[String]>) -> Result<&[String]> {
    options.map_err(|e| NotHere(format!("{e:#}")).into())
}

fn loop_device(place: &mut Place) -> Result<PathBuf> {
    place.loop_device().map_err(|e| NotHere(format!("{e:#}")).into())
}

/// Limits the job by run time.
fn timed(command: &mut Command, job: Job, place: &mut Place, how: MeasureOptions) -> Result<()> {
    common(command, job, place, how)?;
    let ms = (how.seconds * 1000.0) as u64;
    command.args(["--time_based".to_string(), format!("--runtime={ms}ms")]);
    Ok(())
}

/// Runs a command to its end and returns its standard output.
fn run(name: &str, command: Command, how: MeasureOptions) -> Result<String> {
    checked(name, &patience::output(name, command, how.limit)?)
}

/// Returns the standard output of a successful run.
fn checked(name: &str, output: &Output) -> Result<String> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("is not supported yet") {
        return Err(NotHere("not supported yet".into()).into());
    }
    // Older versions of fio lack some engines.
    if errors.contains("not loadable") {
        return Err(NotHere("lacks the engine".into()).into());
    }
    bail!("{name} failed:\n{errors}{text}");
}

/// Returns the I/Os per second in fio's JSON, summed over jobs and directions. Per second of CPU time, it sums
/// the rates of the jobs.
fn rate(text: &str, per_cpu: bool) -> Result<f64> {
    let document = document(text)?;
    let jobs = document["jobs"].as_array().map_or(&[][..], Vec::as_slice);
    let mut sum = 0.0;
    for job in jobs {
        let iops: f64 =
            ["read", "write", "trim"].iter().filter_map(|d| job[d]["iops"].as_f64()).sum();
        let cpu = job["usr_cpu"].as_f64().unwrap_or(0.0) + job["sys_cpu"].as_f64().unwrap_or(0.0);
        sum += match per_cpu {
            true if cpu > 0.0 => iops / (cpu / 100.0),
            true => 0.0,
            false => iops,
        };
    }
    ensure!(sum > 0.0, "the run did no I/O");
    Ok(sum)
}

/// The JSON document of a run. fio prints notes before it.
fn document(text: &str) -> Result<Value> {
    let document = text.find('{').map_or("", |at| &text[at..]);
    serde_json::from_str(document).with_context(|| format!("printed:\n{text}"))
}

/// Returns the CPU time of the jobs, in per cent of their run time.
fn cpu_time(text: &str) -> Result<f64> {
    let document = document(text)?;
    let jobs = document["jobs"].as_array().map_or(&[][..], Vec::as_slice);
    let used = jobs.iter().flat_map(|job| [&job["usr_cpu"], &job["sys_cpu"]]);
    Ok(used.filter_map(Value::as_f64).sum())
}

/// Counts the instructions of a job in two sizes. The difference is the cost of the I/Os.
fn instructions(who: &Contender, job: Job, place: &mut Place, how: MeasureOptions) -> Result<f64> {
    if let Err(e) = Command::new("valgrind").arg("--version").output() {
        return Err(NotHere(format!("no valgrind ({e})")).into());
    }
    let few: u64 = if how.seconds < 1.0 { 2_000 } else { 20_000 };
    let many = few * 21;
    let mut counts = [0.0; 2];
    for (count, ios) in counts.iter_mut().zip([few, many]) {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(&who.program);
        common(&mut command, job, place, how)?;
        // The calibration of the CPU's counter takes a fixed time, not a fixed number of instructions.
        command.arg("--clocksource=clock_gettime").arg(format!("--io_size={}", ios * 4096));
        let output = patience::output(who.name, command, how.limit)?;
        checked(who.name, &output)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        *count = collected(&errors).with_context(|| format!("callgrind printed:\n{errors}"))?;
    }
    if counts[1] <= counts[0] {
        return Err(NotHere("the run is too short to separate I/Os from the rest".into()).into());
    }
    Ok((counts[1] - counts[0]) / (many - few) as f64)
}

/// Parses the total that callgrind prints at its end.
fn collected(text: &str) -> Option<f64> {
    let line = text.lines().rev().find(|line| line.contains("Collected"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

/// Returns the peak of memory in bytes. The value of `wait` is at least that of the parent, so this reads
/// `/proc` while the process runs.
fn peak_memory(who: &Contender, what: What, mut command: Command) -> Result<f64> {
    let fields: &[&str] =
        if what == What::OwnMemory { &["RssAnon:", "RssShmem:"] } else { &["VmHWM:"] };
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut peak = 0;
    while child.try_wait()?.is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        peak = peak.max(fields.iter().map(|field| kib(&text, field)).sum::<u64>() * 1024);
        std::thread::sleep(Duration::from_millis(2));
    }
    checked(who.name, &child.wait_with_output()?)?;
    ensure!(peak > 0, "the process ended before its memory could be read");
    Ok(peak as f64)
}

/// Reads a field of `/proc/PID/status` that is in KiB; 0 if it is missing.
fn kib(status: &str, field: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// Returns the time from the start to the first access of a file, and from the last access to the exit.
fn around_io(who: &Contender, mut command: Command, file: &Path) -> Result<(Duration, Duration)> {
    let watch = Watch::on(file)?;
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let start = Instant::now();
    let child: Child = command.spawn()?;
    let ended = std::thread::spawn(move || {
        let output = child.wait_with_output();
        (output, Instant::now())
    });
    let at = watch.first_access(Duration::from_secs(20))?;
    let (output, end) = ended.join().map_err(|_| anyhow::anyhow!("waiting failed"))?;
    checked(who.name, &output?)?;
    Ok((at - start, end - at))
}

/// Returns the bytes per second at which a command creates the file.
fn layout(name: &str, command: Command, place: &Place, how: MeasureOptions) -> Result<f64> {
    let _ = std::fs::remove_file(place.layout());
    let start = Instant::now();
    let output = patience::output(name, command, how.limit)?;
    let passed = start.elapsed();
    checked(name, &output)?;
    let made = std::fs::metadata(place.layout()).map_or(0, |facts| facts.len());
    let _ = std::fs::remove_file(place.layout());
    ensure!(made == how.layout, "{name} made a file of {made} bytes");
    Ok(made as f64 / passed.as_secs_f64())
}

/// Returns the seconds of a run that lays out and reads very many files.
fn many_files(name: &str, mut command: Command, place: &Place, how: MeasureOptions) -> Result<f64> {
    let directory = place.many_files();
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory)?;
    command.arg(format!("--directory={}", directory.display()));
    command.args([format!("--nrfiles={}", how.files), "--filesize=4k".into()]);
    command.arg(format!("--size={}", how.files * 4096));
    let start = Instant::now();
    let output = patience::output(name, command, how.limit)?;
    let passed = start.elapsed();
    checked(name, &output)?;
    let made = std::fs::read_dir(&directory)?.count() as u64;
    let _ = std::fs::remove_dir_all(&directory);
    ensure!(made == how.files, "{name} made {made} files");
    Ok(passed.as_secs_f64())
}

/// Runs a job on names in an empty directory to its end, and returns its I/Os per second.
fn name_rate(name: &str, mut command: Command, place: &Place, how: MeasureOptions) -> Result<f64> {
    let directory = place.names();
    renew(&directory)?;
    command.arg(format!("--directory={}", directory.display()));
    command.args([format!("--nrfiles={}", how.names), format!("--size={}", how.names * 4096)]);
    let result = run(name, command, how).and_then(|text| rate(&text, how.per_cpu));
    let _ = std::fs::remove_dir_all(&directory);
    result
}

/// Makes the calls of a job on names without anything else, and returns their number per second.
fn bare_names(program: &Path, call: &str, place: &Place, how: MeasureOptions) -> Result<f64> {
    let directory = place.names();
    renew(&directory)?;
    let mut command = Command::new(program);
    command.arg(call).arg(&directory);
    command.args([format!("count={}", how.names), format!("cpu={}", how.cpu)]);
    let result = run("the bare loop", command, how).and_then(|text| rate(&text, how.per_cpu));
    let _ = std::fs::remove_dir_all(&directory);
    result
}

/// Makes an empty directory.
fn renew(directory: &Path) -> Result<()> {
    let _ = std::fs::remove_dir_all(directory);
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iops_are_summed_over_jobs_and_directions() {
        let text = r#"{"jobs":[{"read":{"iops":70.5},"write":{"iops":30},"usr_cpu":25,"sys_cpu":25},
                               {"read":{"iops":1},"usr_cpu":100,"sys_cpu":0}]}"#;
        assert_eq!(rate(text, false).expect("they are there"), 101.5);
        assert_eq!(rate(text, true).expect("they are there"), 202.0);
        assert!(rate(r#"{"jobs":[]}"#, false).is_err());
        assert!(rate("fio: failed", false).is_err());
    }

    #[test]
    fn the_best_second_of_t_io_uring() {
        let rate = |text| best_second(text).expect("it is there");
        assert_eq!(rate("IOPS=2K\nMaximum IOPS=79488\n"), 79488.0);
        assert_eq!(rate("Maximum IOPS=1.75M\n"), 1_750_000.0);
        assert_eq!(rate("Maximum IOPS=812K\n"), 812_000.0);
        assert!(best_second("nothing").is_err());
    }

    #[test]
    fn the_total_of_callgrind() {
        let text = "==7== Events    : Ir\n==7== Collected : 12345\n==7== \n";
        assert_eq!(collected(text), Some(12345.0));
        assert_eq!(collected("==7== nothing"), None);
    }
}
