//! One boot of the machine: a QEMU process with its serial ports.
//!
//! Every port is a Unix socket. This program listens on it before it starts QEMU, which connects to it. The
//! connection ends when QEMU ends. The console goes to a file.

use std::fs;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::Bench;
use super::host;
use super::initramfs::{self, Order};
use super::nbd::DriveServer;
use super::scenario::Clock;
use super::scratch::Scratch;

/// The serial ports of the machine. It only listens on `alive`: it switches itself off when this program has
/// ended for any reason.
const PORTS: [&str; 5] = ["results", "stdout", "stderr", "files", "alive"];

/// A running machine and the directory of its files, which is removed with it.
pub(super) struct Machine {
    child: Child,
    folder: Scratch,
    ports: Vec<(&'static str, UnixStream)>,
    servers: Vec<DriveServer>,
}

impl Machine {
    /// Starts a machine. Its console goes to a file, or to this terminal.
    pub(super) fn start(bench: &Bench, order: &Order, console: Option<&Path>) -> Result<Self> {
        let folder = Scratch::new()?;
        let mut arguments = vec!["-kernel".to_owned(), bench.kernel.image.display().to_string()];
        let initrd = folder.join("initrd");
        initramfs::write(&initrd, bench, order)?;
        arguments.extend(["-initrd".to_owned(), initrd.display().to_string()]);
        let clock = match order.clock {
            Clock::Host => "-accel tcg,thread=multi",
            // Two nanoseconds per instruction.
            Clock::Instructions => "-accel tcg -icount shift=1,sleep=on",
        };
        arguments.extend(words(&format!(
            "-M q35 {clock} -cpu max -m {} -smp {} -nodefaults -no-user-config \
             -display none -no-reboot -device virtio-rng-pci -device virtio-serial-pci",
            bench.options.memory, bench.options.cpus
        )));
        let quiet = if console.is_some() { "" } else { " quiet" };
        arguments.push("-append".into());
        // On a busy host the emulated timer is late, and the kernel would take it for broken.
        arguments.push(format!(
            "console=ttyS0 panic=-1 oops=panic nvme_core.multipath=N tsc=reliable no_timer_check mitigations=off{quiet}"
        ));
        match console {
            Some(path) => arguments.extend(["-serial".into(), format!("file:{}", path.display())]),
            None => arguments
                .extend(words("-chardev stdio,id=tty,mux=on,signal=off -serial chardev:tty")),
        }
        let mut listeners = Vec::new();
        for port in PORTS {
            let path = folder.join(port);
            listeners.push((port, UnixListener::bind(&path).context("cannot listen on a socket")?));
            arguments.push("-chardev".into());
            arguments.push(format!("socket,id={port},path={}", path.display()));
            arguments.push("-device".into());
            arguments.push(format!("virtserialport,chardev={port},name={port}"));
        }
        let mut servers = Vec::new();
        for device in order.devices {
            arguments.extend(device.arguments(order.drives, &mut servers)?);
        }
        let terminal = || if console.is_some() { Stdio::null() } else { Stdio::inherit() };
        let errors = folder.join("errors");
        let child = Command::new(host::find("qemu-system-x86_64").context("QEMU is gone")?)
            .args(&arguments)
            .stdin(terminal())
            .stdout(terminal())
            .stderr(fs::File::create(&errors).with_context(|| errors.display().to_string())?)
            .spawn()
            .context("QEMU cannot be started")?;
        let mut machine = Machine { child, folder, ports: Vec::new(), servers };
        for (port, listener) in listeners {
            let stream = machine.accept(&listener)?;
            machine.ports.push((port, stream));
        }
        Ok(machine)
    }

    /// Waits for QEMU to connect. If QEMU ends instead, the error has its output.
    fn accept(&mut self, listener: &UnixListener) -> Result<UnixStream> {
        listener.set_nonblocking(true)?;
        let began = Instant::now();
        loop {
            match listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false)?;
                    return Ok(stream);
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error).context("cannot accept QEMU's connection"),
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("QEMU ended with {status}:\n{}", self.errors());
            }
            if began.elapsed() > Duration::from_secs(30) {
                bail!("QEMU does not open its serial ports");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns QEMU's standard error.
    pub(super) fn errors(&self) -> String {
        fs::read_to_string(self.folder.join("errors")).unwrap_or_default()
    }

    /// Returns a port for reading; each port can be taken once.
    pub(super) fn port(&mut self, name: &str) -> Result<UnixStream> {
        let at = self.ports.iter().position(|(port, _)| *port == name);
        Ok(self.ports.swap_remove(at.context("a port can be taken once")?).1)
    }

    /// Waits for the machine to switch itself off.
    pub(super) fn wait(&mut self, limit: Duration) -> Result<bool> {
        let began = Instant::now();
        while self.child.try_wait()?.is_none() {
            if began.elapsed() > limit {
                self.kill();
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(true)
    }

    /// Ends the machine immediately.
    pub(super) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Ends the machine immediately, as when its power fails. Returns the servers of its drives.
    pub(super) fn cut(mut self) -> Vec<DriveServer> {
        self.kill();
        std::mem::take(&mut self.servers)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.kill();
    }
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}
