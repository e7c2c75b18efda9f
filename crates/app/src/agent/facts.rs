//! What this machine is.

use fiord_fabric::message::HostFacts;
use fiord_job::load::{Loader, MachineLoader};
use fiord_sys::host;

/// The facts that the coordinator and its reports show about this machine.
pub(super) fn host_facts() -> HostFacts {
    HostFacts {
        version: fiord_job::version(),
        hostname: host::name(),
        os: "Linux".into(),
        kernel: kernel_text("osrelease"),
        arch: match std::env::consts::ARCH {
            "x86_64" => "x86-64".into(),
            other => other.to_owned(),
        },
        big_endian: cfg!(target_endian = "big"),
        wide: cfg!(target_pointer_width = "64"),
        cpus: u32::try_from(MachineLoader.cpus()).ok(),
        memory: host::memory().total,
        boot_id: boot_id(),
    }
}

/// Changes with each boot of this machine. Empty if the kernel does not say it.
pub(super) fn boot_id() -> String {
    kernel_text("random/boot_id")
}

/// The text of a file below `/proc/sys/kernel`; empty if it cannot be read.
fn kernel_text(name: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
    text.trim().to_owned()
}
