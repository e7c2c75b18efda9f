//! What this machine is, for reports.

use fiord_job::load::{Loader, MachineLoader};
use fiord_stat::report::{DeviceFacts, MachineReport};
use fiord_sys::host;
use fiord_sys::survey::Disk;
use fiord_sys::survey::pcie::{self, Function, Speed};

/// Describes this machine and the disks under the targets of a run.
pub(crate) fn machine(disks: &[Disk]) -> MachineReport {
    MachineReport {
        hostname: host::name(),
        kernel: format!("Linux {}", kernel_text("osrelease")),
        arch: architecture(),
        processor: processor(),
        cpus: u32::try_from(MachineLoader.cpus()).ok(),
        memory: host::memory().total,
        devices: disks.iter().map(device).collect(),
    }
}

/// The processor architecture, as fio names it.
pub(crate) fn architecture() -> String {
    match std::env::consts::ARCH {
        "x86_64" => "x86-64".into(),
        other => other.to_owned(),
    }
}

/// The text of a file below `/proc/sys/kernel`; empty if it cannot be read.
pub(crate) fn kernel_text(name: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
    text.trim().to_owned()
}

/// The model of the first processor; empty if the kernel does not say it.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        matches!(key.trim(), "model name" | "Model" | "cpu model").then(|| value.trim().to_owned())
    });
    model.unwrap_or_default()
}

fn device(disk: &Disk) -> DeviceFacts {
    let queue = &disk.queue;
    let (logical, physical) = (queue.logical.0, queue.physical.0);
    DeviceFacts {
        name: disk.name.clone(),
        model: disk.identity.model.clone().unwrap_or_default(),
        firmware: disk.identity.firmware.clone().unwrap_or_default(),
        bus: disk.bus.word().to_owned(),
        capacity: disk.capacity,
        link: pcie::links(&disk.pcie).last().and_then(link).unwrap_or_default(),
        scheduler: queue.scheduler.as_ref().map(|(now, _)| now.clone()).unwrap_or_default(),
        blocks: match logical == physical {
            true => logical.to_string(),
            false => format!("{logical}/{physical}"),
        },
        write_cache: queue.write_cache.clone().unwrap_or_default(),
    }
}

/// A link, with the best one of the device if that is faster.
fn link(function: &Function) -> Option<String> {
    let words = |speed: Speed| match speed.generation() {
        Some(generation) => format!("PCIe {generation}.0 x{}", speed.width),
        None => speed.to_string(),
    };
    let now = function.now?;
    Some(match function.own_best.filter(|best| best.bytes() > now.bytes()) {
        Some(best) => format!("{} of {}", words(now), words(best)),
        None => words(now),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_kernel_and_memory() {
        let found = machine(&[]);
        assert!(found.kernel.starts_with("Linux ") && found.kernel.len() > 8, "{found:?}");
        assert!(found.memory > fiord_types::Bytes::from_mib(64), "{found:?}");
        assert!(found.cpus.is_some_and(|cpus| cpus > 0), "{found:?}");
    }
}
