//! What did the devices see?

use fiord_stat::device::DeviceView;
use fiord_stat::report::DiskReport;
use fiord_types::{Dir, PerDir};

use crate::chart::bars::cell_bar;
use crate::quantity::Quantity;

use super::element::{HtmlCell, HtmlTable, PageSection, head, html};
use super::view::{MachineView, RunView};

pub(crate) fn of_run(run: &RunView<'_>) -> Option<PageSection> {
    let mut body = String::new();
    for machine in &run.machines {
        let mut views = Vec::new();
        let devices = &machine.report.extras.devices;
        devices.iter().for_each(|device| flat(device, 0, device, &mut views));
        body += &match views.is_empty() {
            false => compared(machine, &views),
            true => counted(machine),
        };
    }
    let about = "The application issues I/Os to a file or a device; the kernel splits, merges and queues them. Different \
                 numbers on the two sides are that work, or another program. Rates refer to the time in which jobs did I/O in \
                 the direction, ramps included.";
    (!body.is_empty()).then(|| PageSection {
        id: "devices",
        title: "Application and device".into(),
        about: about.into(),
        body,
    })
}

struct DeviceRow<'a> {
    depth: usize,
    view: &'a DeviceView,
    /// Time of each direction, seconds; 0 if it is not known.
    seconds: PerDir<f64>,
}

/// `whole`: the device that a job used, of which `device` is a member.
fn flat<'a>(
    device: &'a DeviceView,
    depth: usize,
    whole: &'a DeviceView,
    out: &mut Vec<DeviceRow<'a>>,
) {
    out.push(DeviceRow { depth, view: device, seconds: whole.dir_seconds });
    device.members.iter().for_each(|member| flat(member, depth + 1, whole, out));
}

fn caption(machine: &MachineView<'_>) -> String {
    match machine.name {
        "" => "Devices during the run".into(),
        host => format!("Devices of {host} during the run"),
    }
}

/// What jobs issued, next to what the device completed.
fn compared(machine: &MachineView<'_>, views: &[DeviceRow<'_>]) -> String {
    let names = [
        "device",
        "",
        "IOPS",
        "",
        "bandwidth",
        "I/O size",
        "in flight",
        "mean time",
        "merged",
        "split",
        "busy",
    ];
    let mut rows = Vec::new();
    for DeviceRow { depth, view, seconds } in views {
        for dir in Dir::ALL {
            let seen = view.dirs[dir];
            let issued = view.issued.as_ref().filter(|issued| issued.ios[dir] > 0);
            if seen.ios == 0 && issued.is_none() {
                continue;
            }
            let known = Some(seconds[dir]).filter(|seconds| *seconds > 0.0);
            let seconds = known.unwrap_or(view.seconds).max(f64::MIN_POSITIVE);
            let most = (seen.ios.max(issued.map_or(0, |issued| issued.ios[dir])).max(1)) as f64;
            if let Some(issued) = issued {
                let (ios, bytes) = (issued.ios[dir] as f64, issued.bytes[dir].as_f64());
                rows.push(vec![
                    HtmlCell::text(&format!("{}{} {}", indent(*depth), view.name, dir.name())),
                    HtmlCell::text("application"),
                    number(Quantity::OpRate, ios / seconds),
                    HtmlCell::html(cell_bar(ios / most, 0)),
                    number(Quantity::ByteRate, bytes / seconds),
                    number(Quantity::Size, issued.size(dir)),
                    issued.depth.map_or(HtmlCell::number("–"), depth_cell),
                    HtmlCell::number("–"),
                    HtmlCell::number("–"),
                    HtmlCell::number("–"),
                    HtmlCell::number("–"),
                ]);
            }
            let ios = view.with_data(dir) as f64;
            let name = format!("{}{} {}", indent(*depth), view.name, dir.name());
            let splits = view.splits(dir).map(|n| number(Quantity::Count, n as f64));
            rows.push(vec![
                HtmlCell::text(if issued.is_some() { "" } else { &name }),
                HtmlCell::text("device"),
                number(Quantity::OpRate, ios / seconds),
                HtmlCell::html(cell_bar(ios / most, 1)),
                number(Quantity::ByteRate, seen.bytes.as_f64() / seconds),
                number(Quantity::Size, view.size(dir)),
                depth_cell(view.depth),
                number(Quantity::Latency, seen.mean_ms * 1e6),
                number(Quantity::Count, seen.merges as f64),
                splits.unwrap_or_else(|| HtmlCell::number("–")),
                number(Quantity::Percent, view.util),
            ]);
        }
    }
    match rows.is_empty() {
        true => String::new(),
        false => html(&HtmlTable { caption: caption(machine), head: head(&names, 2), rows }),
    }
}

/// The counters of the devices, of reports without the application's side, such as fio's.
fn counted(machine: &MachineView<'_>) -> String {
    let names = ["device", "reads", "writes", "read", "written", "merged", "busy"];
    let row = |disk: &DiskReport| {
        let counts = &disk.counts;
        vec![
            HtmlCell::text(&disk.name),
            number(Quantity::Count, counts.ios[0] as f64),
            number(Quantity::Count, counts.ios[1] as f64),
            number(Quantity::Size, counts.sectors[0] as f64 * 512.0),
            number(Quantity::Size, counts.sectors[1] as f64 * 512.0),
            number(Quantity::Count, (counts.merges[0] + counts.merges[1]) as f64),
            number(Quantity::Percent, counts.util),
        ]
    };
    let rows: Vec<_> = machine.report.disks.iter().map(row).collect();
    match rows.is_empty() {
        true => String::new(),
        false => html(&HtmlTable { caption: caption(machine), head: head(&names, 1), rows }),
    }
}

fn indent(depth: usize) -> String {
    "↳ ".repeat(depth)
}

fn number(quantity: Quantity, value: f64) -> HtmlCell {
    HtmlCell::number(&quantity.text(value))
}

fn depth_cell(depth: f64) -> HtmlCell {
    HtmlCell::number(&format!("{depth:.1}"))
}
