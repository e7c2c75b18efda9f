//! What this machine is.

use fiord_fabric::message::HostFacts;
use fiord_job::load::{Loader, MachineLoader};
use fiord_sys::host;

use crate::machine::{architecture, kernel_text};

/// The facts that the coordinator and its reports show about this machine.
pub(super) fn host_facts() -> HostFacts {
    HostFacts {
        version: fiord_job::version(),
        hostname: host::name(),
        os: "Linux".into(),
        kernel: kernel_text("osrelease"),
        arch: architecture(),
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
