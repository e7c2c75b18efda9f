//! What ran on what?

use askama::Template;
use fiord_stat::hosts::HostReport;
use fiord_stat::report::{DeviceFacts, MachineReport};

use crate::quantity::Quantity;

use super::element::{HtmlCell, HtmlTable, PageSection, head, html};
use super::view::{MachineView, RunView};

/// Maximum number of hosts that are described one by one.
const MAX_HOSTS: usize = 24;

#[derive(Debug, Template)]
#[template(path = "machine.html")]
struct MachineFacts {
    name: String,
    facts: Vec<(&'static str, String)>,
    tables: String,
}

pub(crate) fn of_run(run: &RunView<'_>) -> PageSection {
    let shown = run.machines.iter().take(MAX_HOSTS);
    let mut body: String = shown.map(|machine| html(&facts(machine, run))).collect();
    if run.machines.is_empty() {
        body = "<p>No host sent a report.</p>".into();
    }
    if let Some(rest) = run.machines.len().checked_sub(MAX_HOSTS).filter(|rest| *rest > 0) {
        body += &format!("<p class=\"left-out\">{rest} more hosts are not described here.</p>");
    }
    PageSection { id: "machine", title: "On what".into(), about: String::new(), body }
}

fn facts(machine: &MachineView<'_>, run: &RunView<'_>) -> MachineFacts {
    let extras = &machine.report.extras;
    let mut facts: Vec<(&'static str, String)> = Vec::new();
    if let Some(known) = &extras.machine {
        facts.extend(of_machine(known));
    } else if let Some(host) = machine.host.and_then(|host| host.facts.as_ref()) {
        facts.push(("Host", host.hostname.clone()));
        facts.push(("Kernel", format!("{} {}", host.os, host.kernel)));
        let cpus = host.cpus.map(|cpus| format!("{cpus} CPUs, ")).unwrap_or_default();
        facts.push(("Processor", format!("{cpus}{}", host.arch)));
        facts.push(("Memory", Quantity::Size.text(host.memory.as_f64())));
    }
    let version = match machine.report.version.is_empty() {
        true => &run.whole.version,
        false => &machine.report.version,
    };
    facts.push(("Program", version.clone()));
    if let Some(clock) = &extras.clock {
        let cost = Quantity::Latency.text(clock.cost_ns);
        facts.push(("Clock", format!("{}, {cost} a reading", clock.source)));
    }
    if extras.machine.is_none() && machine.host.is_none() {
        facts.push(("Machine", "this result does not describe it".into()));
    }
    let devices = extras.machine.as_ref().map(|known| devices(&known.devices)).unwrap_or_default();
    let targets = machine.host.map(targets).unwrap_or_default();
    MachineFacts { name: machine.name.into(), facts, tables: devices + &targets }
}

fn of_machine(machine: &MachineReport) -> Vec<(&'static str, String)> {
    let MachineReport { hostname, kernel, arch, processor, memory, .. } = machine;
    let mut facts = vec![("Host", hostname.clone()), ("Kernel", kernel.clone())];
    let cpus = machine.cpus.map(|cpus| format!("{cpus} × ")).unwrap_or_default();
    let processor = if processor.is_empty() { arch } else { processor };
    facts.push(("Processor", format!("{cpus}{processor}")));
    facts.push(("Memory", Quantity::Size.text(memory.as_f64())));
    facts.retain(|(_, value)| !value.is_empty());
    facts
}

fn devices(devices: &[DeviceFacts]) -> String {
    if devices.is_empty() {
        return String::new();
    }
    let text = |text: &str| HtmlCell::text(if text.is_empty() { "–" } else { text });
    let row = |device: &DeviceFacts| {
        vec![
            text(&device.name),
            text(&device.model),
            HtmlCell::number(&Quantity::Size.text(device.capacity.as_f64())),
            text(&device.bus),
            text(&device.link),
            text(&device.scheduler),
            text(&device.blocks),
            text(&device.write_cache),
            text(&device.firmware),
        ]
    };
    let mut names = head(
        &[
            "device",
            "model",
            "capacity",
            "bus",
            "link",
            "scheduler",
            "blocks",
            "write cache",
            "firmware",
        ],
        9,
    );
    names[2].number = true;
    let rows = devices.iter().map(row).collect();
    html(&HtmlTable { caption: "Devices under the targets".into(), head: names, rows })
}

/// The files and devices that the jobs of a host use.
fn targets(host: &HostReport) -> String {
    const SHOWN: usize = 20;
    if host.targets.is_empty() {
        return String::new();
    }
    let text = |text: &str| HtmlCell::text(if text.is_empty() { "–" } else { text });
    let row = |target: &fiord_stat::hosts::HostTarget| {
        let use_ = if target.writes { "written" } else { "read" };
        vec![text(&target.path), text(&target.kind), text(&target.scheduler), text(use_)]
    };
    let rows = host.targets.iter().take(SHOWN).map(row).collect();
    let caption = match host.targets.len().saturating_sub(SHOWN) {
        0 => "Targets".to_owned(),
        rest => format!("Targets, without {rest} more"),
    };
    html(&HtmlTable { caption, head: head(&["target", "storage", "scheduler", "use"], 4), rows })
}
