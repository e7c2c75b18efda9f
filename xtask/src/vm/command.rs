//! `--run` and `--shell`: a command or a shell prompt on the devices.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::Bench;
use super::devices::Device;
use super::drives::Drives;
use super::initramfs::Order;
use super::qemu::Machine;

/// Time limits of a boot before the command starts and after it ends.
const AROUND: Duration = Duration::from_secs(90);

/// Runs a command and returns its exit code.
pub(super) fn run(bench: &Bench, line: &str) -> Result<ExitCode> {
    let devices = devices(bench)?;
    let drives = Drives::new(bench.options.seed)?;
    let order = Order {
        devices: &devices,
        drives: &drives,
        clock: bench.options.clock,
        order: format!(
            "mode=run\nlimit={}\ndevices='{}'\n",
            bench.options.limit.as_secs(),
            names(&devices)
        ),
        files: vec![("/vm/command".into(), format!("{line}\n").into_bytes())],
    };
    let console = super::place().join("console-run.log");
    let mut machine = Machine::start(bench, &order, Some(&console))?;
    let out = copy(machine.port("stdout")?, io::stdout());
    let err = copy(machine.port("stderr")?, io::stderr());
    let files = files(machine.port("files")?, bench.options.out.clone());
    let mut results = machine.port("results")?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        results.read_to_string(&mut text).map(|_| text)
    });
    let in_time = machine.wait(bench.options.limit + AROUND)?;
    for thread in [out, err, files] {
        thread.join().map_err(|_| anyhow::anyhow!("a copying thread ended"))??;
    }
    let results = reader.join().map_err(|_| anyhow::anyhow!("the reading thread ended"))??;
    ensure!(in_time, "the machine did not end in time; its console: {}", console.display());
    match results.lines().find_map(|line| line.strip_prefix("end run 0 ")) {
        Some(status) => Ok(ExitCode::from(status.parse::<u8>().unwrap_or(1))),
        None => bail!(
            "the machine ended before the command did; its console: {}\n{}",
            console.display(),
            machine.errors()
        ),
    }
}

/// Starts a shell prompt.
pub(super) fn shell(bench: &Bench) -> Result<ExitCode> {
    let devices = devices(bench)?;
    let drives = Drives::new(bench.options.seed)?;
    let order = Order {
        devices: &devices,
        drives: &drives,
        clock: bench.options.clock,
        order: format!("mode=shell\ndevices='{}'\n", names(&devices)),
        files: Vec::new(),
    };
    let mut machine = Machine::start(bench, &order, None)?;
    let files = files(machine.port("files")?, bench.options.out.clone());
    machine.wait(Duration::MAX)?;
    files.join().map_err(|_| anyhow::anyhow!("a copying thread ended"))??;
    Ok(ExitCode::SUCCESS)
}

fn devices(bench: &Bench) -> Result<Vec<&Device>> {
    match bench.options.devices.as_slice() {
        [] => Ok(bench.devices.together()),
        names => bench.devices.named_all(names),
    }
}

fn names(devices: &[&Device]) -> String {
    devices.iter().map(|device| device.name.as_str()).collect::<Vec<_>>().join(" ")
}

fn copy(mut from: UnixStream, mut to: impl Write + Send + 'static) -> JoinHandle<Result<()>> {
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let len = from.read(&mut buffer)?;
            if len == 0 {
                return Ok(());
            }
            to.write_all(&buffer[..len])?;
            to.flush()?;
        }
    })
}

/// Unpacks the archive of the files in `/out`, or discards it.
fn files(
    mut from: UnixStream,
    folder: Option<impl AsRef<Path> + Send + 'static>,
) -> JoinHandle<Result<()>> {
    std::thread::spawn(move || {
        let Some(folder) = folder else {
            io::copy(&mut from, &mut io::sink())?;
            return Ok(());
        };
        let folder = folder.as_ref();
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let mut tar = Command::new("tar")
            .args(["--extract", "--no-same-owner", "--directory"])
            .arg(folder)
            .stdin(Stdio::piped())
            .spawn()
            .context("tar cannot be run")?;
        if let Some(mut to) = tar.stdin.take() {
            io::copy(&mut from, &mut to)?;
        }
        ensure!(tar.wait()?.success(), "the files in /out could not be copied completely");
        Ok(())
    })
}
