//! From the arguments to what is printed.

use std::io::Write;
use std::path::Path;

use fiord_sys::zone::{Action, Device, Zone, ZonedDevice};
use fiord_sys::{Error, file};

use crate::args::{Args, Format};
use crate::change::Change;
use crate::consent::{self, Ask};
use crate::table::View;
use crate::{in_use, json, range, table};

/// Where things are said, and who answers.
pub struct Session<'a> {
    /// Results.
    pub out: &'a mut dyn Write,
    /// What is going to happen and has happened.
    pub err: &'a mut dyn Write,
    /// Whether results are shown in colours.
    pub colours: bool,
    /// Who is asked.
    pub ask: &'a mut dyn Ask,
}

/// Does what the command line says.
///
/// # Errors
/// Why not, as it is to be printed.
pub fn run(args: &Args, session: &mut Session) -> Result<(), String> {
    let action = args.action.asked();
    if action.is_some() {
        may_change(args)?;
    }
    let device =
        Device::open(&args.device, action.is_some()).map_err(|e| explain(&args.device, e))?;
    match action {
        None => show(args, &device, session),
        Some((action, range)) => {
            let free = || in_use::nobody(&args.device);
            let change = change(args, (action, range), (&device, &free), session)?;
            renew(&args.device, &change)
        }
    }
}

/// What was passed through to a namespace is done again through its block device, where it changes
/// nothing but what the block layer knows: since Linux 6.10 that keeps write pointers of its own and
/// fails writes which do not follow them.
fn renew(path: &Path, change: &Change) -> Result<(), String> {
    let generic = file::facts(path).is_ok_and(|facts| facts.kind == file::Kind::Char);
    if !generic || !matches!(change.action, Action::Reset | Action::Finish) {
        return Ok(());
    }
    let storage = fiord_sys::in_use::storage(path).map_err(|e| e.to_string())?;
    let Some(storage) = storage else { return Ok(()) };
    let block = storage.node.unwrap_or_else(|| fiord_sys::block::node(&storage.name));
    let again = || -> Result<(), String> {
        let device = Device::open(&block, true).map_err(|e| e.to_string())?;
        let zones = device.zones().map_err(|e| e.to_string())?;
        change.carry_out(&device, &zones, &|| in_use::nobody(&block))
    };
    again().map_err(|e| {
        let block = block.display();
        format!(
            "{} is done, but writes through {block} may fail until its zones are reset: {e}",
            path.display()
        )
    })
}

/// Whether a device may be changed at all, before it is opened for writing.
fn may_change(args: &Args) -> Result<(), String> {
    let device = args.device.display();
    if args.readonly {
        return Err(format!("{device}: --readonly permits no change of zones"));
    }
    in_use::nobody(&args.device)
}

/// What an error of opening a zoned device means, in words.
pub fn explain(path: &Path, error: Error) -> String {
    const EOPNOTSUPP: i32 = 95;
    const ENOTTY: i32 = 25;
    let device = path.display();
    match error.errno {
        EOPNOTSUPP => format!(
            "{device} has no zones: it is no zoned block device (queue/zoned in sysfs) and no \
             namespace of the Zoned Namespace command set"
        ),
        ENOTTY => match file::facts(path).map(|facts| facts.kind) {
            Ok(file::Kind::Char) => format!("{device} is no NVMe generic device: {error}"),
            _ => {
                format!("{device} is no device; zones are those of a device, such as /dev/nvme0n1")
            }
        },
        _ => error.to_string(),
    }
}

pub(crate) fn show(
    args: &Args,
    device: &dyn ZonedDevice,
    session: &mut Session,
) -> Result<(), String> {
    let (facts, zones) = read(device)?;
    let shown = match &args.range {
        Some(text) => range::read(text, &facts, &zones)?,
        None => 0..zones.len(),
    };
    let view = View {
        device: &args.device,
        facts: &facts,
        zones: &zones,
        shown: (shown.start, shown.end),
        each: args.each,
        colours: session.colours,
    };
    let text = match args.format {
        Format::Table => table::text(&view),
        Format::Json => json::document(&view),
    };
    match session.out.write_all(text.as_bytes()).and_then(|()| session.out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("the zones cannot be written: {e}"))
        }
        _ => Ok(()),
    }
}

pub(crate) fn change(
    args: &Args,
    (action, range): (Action, &str),
    (device, free): (&dyn ZonedDevice, &dyn Fn() -> Result<(), String>),
    session: &mut Session,
) -> Result<Change, String> {
    let (facts, zones) = read(device)?;
    let range = range::read(range, &facts, &zones)?;
    let whole = range.len() as u64;
    let change = Change::new(action, &zones, range);
    let name = args.device.display().to_string();
    if change.left_alone == whole {
        return Err(format!("{name}: no zone in this range has a write pointer"));
    }
    if change.is_destructive() {
        // It belongs to the question; without one it is a part of the result.
        let to = if args.yes { &mut session.out } else { &mut session.err };
        let _ = writeln!(to, "{}", change.sentence(&name));
        consent::obtain(args.yes, session.ask)?;
    }
    change.carry_out(device, &zones, free)?;
    let _ = writeln!(session.out, "{}", change.done(&name));
    Ok(change)
}

fn read(device: &dyn ZonedDevice) -> Result<(fiord_sys::zone::Facts, Vec<Zone>), String> {
    let facts = device.facts().map_err(|e| e.to_string())?;
    let zones = device.zones().map_err(|e| e.to_string())?;
    match zones.is_empty() {
        true => Err("the device reports no zones".into()),
        false => Ok((facts, zones)),
    }
}
