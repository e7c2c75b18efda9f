//! The device view, below the lines that fio prints about disks.

use std::io::{self, Write};

use fiord_stat::device::{DeviceView, Issued};
use fiord_stat::units;
use fiord_types::Dir;

/// Writes the block, or nothing if no device had I/O.
pub(super) fn write(devices: &[DeviceView], out: &mut dyn Write) -> io::Result<()> {
    let busy = |device: &&DeviceView| device.dirs.values().any(|dir| dir.ios > 0);
    let mut devices = devices.iter().filter(busy).peekable();
    if devices.peek().is_none() {
        return Ok(());
    }
    writeln!(out, "\nAs the device saw it:")?;
    devices.try_for_each(|device| one(device, "  ", out))
}

fn one(device: &DeviceView, margin: &str, out: &mut dyn Write) -> io::Result<()> {
    let issued = device.issued.and_then(|issued| issued.depth);
    let issued = issued.map(|depth| format!(" (issued {depth:.2})")).unwrap_or_default();
    writeln!(
        out,
        "{margin}{}: depth={:.2}{issued}, busy={:.2}%, flushes={}",
        device.name, device.depth, device.util, device.flushes
    )?;
    for (dir, seen) in device.dirs.iter() {
        if seen.ios == 0 && device.issued.is_none_or(|issued| issued.ios[dir] == 0) {
            continue;
        }
        let ios = device.with_data(dir);
        write!(out, "{margin}  {}: ios={ios}", dir.name())?;
        if ios > 0 {
            write!(out, " of {}", size(device.size(dir)))?;
        }
        if let Some(issued) = &device.issued {
            write!(out, " ({})", asked(issued, dir))?;
        }
        write!(out, ", merged={}", seen.merges)?;
        if let Some(splits) = device.splits(dir).filter(|n| *n > 0) {
            write!(out, ", added by splits={splits}")?;
        }
        let zones = device.issued.map_or(0, |issued| issued.zone_commands);
        if let Some(flushes) = Some(device.empty(dir).saturating_sub(zones)).filter(|n| *n > 0) {
            write!(out, ", empty flushes={flushes}")?;
        }
        if dir == Dir::Write && zones > 0 {
            write!(out, ", zone commands={zones}")?;
        }
        writeln!(out, ", mean={:.3}msec", seen.mean_ms)?;
    }
    let margin = format!("{margin}  ");
    device.members.iter().try_for_each(|member| one(member, &margin, out))
}

fn asked(issued: &Issued, dir: Dir) -> String {
    match issued.ios[dir] {
        0 => "none issued".into(),
        ios => {
            let all = format!("issued {ios} of {}", size(issued.size(dir)));
            match issued.ramp_ios[dir] {
                0 => all,
                ramp => format!("{all}, {ramp} of them in ramps"),
            }
        }
    }
}

/// Formats bytes with a binary unit, like the limits of devices: `355.6KiB`.
fn size(bytes: f64) -> String {
    let scaled = units::BINARY.of(bytes);
    scaled.joined(usize::from(scaled.value.fract() >= 0.05))
}

#[cfg(test)]
mod tests {
    use fiord_stat::device::DeviceDir;
    use fiord_types::{Bytes, PerDir};

    use super::*;

    #[test]
    fn large_writes_that_reach_the_device_in_pieces_are_seen() {
        // Three of the 295 are flushes, which transfer no data and are not parts of writes.
        let written = DeviceDir { ios: 295, merges: 0, bytes: Bytes(100 << 20), mean_ms: 1.5 };
        let issued = Issued {
            ios: PerDir::new(0, 100, 0),
            bytes: PerDir::new(0, 100 << 20, 0).map(Bytes),
            depth: Some(8.0),
            ..Issued::default()
        };
        let device = DeviceView {
            name: "sda".into(),
            seconds: 1.0,
            dirs: PerDir::new(DeviceDir::default(), written, DeviceDir::default()),
            dir_seconds: PerDir::default(),
            flushes: 3,
            depth: 1.25,
            util: 99.5,
            issued: Some(issued),
            ..DeviceView::default()
        };
        let mut out = Vec::new();
        write(std::slice::from_ref(&device), &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\nAs the device saw it:\n  sda: depth=1.25 (issued 8.00), busy=99.50%, flushes=3\n    \
             write: ios=292 of 350.7KiB (issued 100 of 1MiB), merged=0, added by splits=192, empty \
             flushes=3, mean=1.500msec\n"
        );
        // With an fsync after each write, half of the I/Os are flushes, and the blocks keep their size.
        let synced = DeviceView {
            dirs: PerDir::new(
                DeviceDir::default(),
                DeviceDir { ios: 1064, bytes: Bytes(532 << 12), ..written },
                DeviceDir::default(),
            ),
            issued: Some(Issued {
                ios: PerDir::new(0, 532, 0),
                bytes: PerDir::new(0, 532 << 12, 0).map(Bytes),
                syncs: fiord_stat::ramp::SyncCount(532),
                ramp_ios: PerDir::new(0, 200, 0),
                ..Issued::default()
            }),
            ..device.clone()
        };
        let mut out = Vec::new();
        write(&[synced], &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let line = "write: ios=532 of 4KiB (issued 532 of 4KiB, 200 of them in ramps), merged=0, \
                    empty flushes=532, mean=";
        assert!(text.contains(line), "{text}");
        // Writes of other programs are not parts of this job's I/O.
        let none = Issued {
            ios: PerDir::new(1, 0, 0),
            bytes: PerDir::new(4096, 0, 0).map(Bytes),
            ..Issued::default()
        };
        let device = DeviceView { dirs: device.dirs, issued: Some(none), ..DeviceView::default() };
        assert_eq!(device.splits(Dir::Write), None);
        let mut out = Vec::new();
        write(&[DeviceView::default()], &mut out).unwrap();
        assert!(out.is_empty());
    }
}
