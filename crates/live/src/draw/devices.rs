//! The devices under the files of the jobs.

use ratatui_core::style::{Modifier, Style};

use super::numbers;
use super::pen::Pen;
use crate::model::{LiveDevice, LiveModel};

/// Maximum number of devices in the overview.
const MAX_DEVICES: usize = 4;

/// The rows that the devices take.
pub(super) fn rows(model: &LiveModel) -> u16 {
    match model.devices.len() {
        0 => 0,
        n => u16::try_from(n.min(MAX_DEVICES) + 1).unwrap_or(0),
    }
}

/// Draws as many devices as there are rows.
pub(super) fn devices(pen: &mut Pen<'_>, model: &LiveModel) {
    let room = pen.height().saturating_sub(1);
    if room == 0 {
        return;
    }
    let all = model.devices.len();
    let title = match all.saturating_sub(room.into()) {
        0 => format!("Device{}", fiord_types::plural(all)),
        more => format!("Devices ({more} more)"),
    };
    pen.rule(0, &title);
    for (device, y) in model.devices.iter().take(room.into()).zip(1..) {
        row(pen, y, device, model);
    }
}

fn row(pen: &mut Pen<'_>, y: u16, device: &LiveDevice, model: &LiveModel) {
    pen.text_in(0, y, 12, &device.name, Style::new().add_modifier(Modifier::BOLD));
    let queue = device.queue.last().copied().unwrap_or(0.0);
    let label = pen.look.label();
    let x = pen.text(13, y, "queue", label);
    pen.right(x, y, 7, &format!("{queue:.1}"), Style::new());
    let x = pen.text(x + 9, y, "busy", label);
    pen.right(x, y, 5, &format!("{:.0}%", device.util), Style::new());
    let mut x = x + 7;
    if let Some(degrees) = device.temperature {
        let unit = if pen.look.ascii { "C" } else { "°C" };
        x = pen.text(x, y, &format!("{degrees:.0} {unit}"), Style::new()) + 2;
    }
    for (label, rate) in [("read", device.rates.0), ("write", device.rates.1)] {
        if x + 18 <= pen.width() {
            let at = pen.text(x, y, label, pen.look.label());
            pen.right(at, y, 11, &numbers::rate(rate as f32, model.style), Style::new());
            x = at + 13;
        }
    }
    let room = pen.width().saturating_sub(x);
    if room >= 4 {
        pen.bars((x, y), (room, 1), &device.queue);
    }
}
