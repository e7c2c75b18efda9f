//! Runs `fiord zones`, from the arguments to the output.

use std::path::Path;

use fiord_sys::file;
use fiord_sys::zone::{Action, Device, Facts, Zone, ZonedDevice};

use crate::consent;
use crate::session::{CommandEnd, Format, Session};
use crate::target::{TargetError, check_unused};
use crate::zones::args::Args;
use crate::zones::change::Change;
use crate::zones::error::Error;
use crate::zones::table::View;
use crate::zones::{json, range, table};

/// Shows or changes zones according to the command line. `colours`: whether to print in colour.
///
/// # Errors
/// The device has no zones, is in use, or refuses the change; the range is wrong; or the user does
/// not confirm.
pub fn run(args: &Args, session: &mut Session, colours: bool) -> Result<CommandEnd, Error> {
    let Some((action, range)) = args.action.asked() else {
        show(args, &open(&args.device, false)?, session, colours)?;
        return Ok(CommandEnd::Done);
    };
    // Before the device is opened for writing.
    if args.readonly {
        return Err(Error::ReadOnly { device: args.device.clone() });
    }
    let free = || check_unused(&args.device);
    free()?;
    let device = open(&args.device, true)?;
    let change = change(args, (action, range), (&device, &free), session)?;
    repeat_on_block_device(&args.device, &change)?;
    Ok(CommandEnd::Done)
}

/// Opens a zoned device.
///
/// # Errors
/// The device does not exist or has no zones.
pub fn open(path: &Path, write: bool) -> Result<Device, Error> {
    Device::open(path, write).map_err(|e| Error::from_open(path, e))
}

/// Repeats a reset or finish that was sent through the character device on the block device of the
/// namespace. Since Linux 6.10 the block layer keeps its own write pointers and fails writes that
/// do not follow them; the repetition updates them.
fn repeat_on_block_device(path: &Path, change: &Change) -> Result<(), Error> {
    let generic = file::facts(path).is_ok_and(|facts| facts.kind == file::Kind::Char);
    if !generic || !matches!(change.action, Action::Reset | Action::Finish) {
        return Ok(());
    }
    let Some(storage) = fiord_sys::in_use::storage(path)? else { return Ok(()) };
    let block = storage.node.unwrap_or_else(|| fiord_sys::block::node(&storage.name));
    let again = || -> Result<(), Error> {
        let device = Device::open(&block, true)?;
        let zones = device.zones()?;
        Ok(change.carry_out(&device, &zones, &|| check_unused(&block))?)
    };
    again().map_err(|e| Error::BlockLayer {
        device: path.into(),
        block: block.clone(),
        source: Box::new(e),
    })
}

pub(crate) fn show(
    args: &Args,
    device: &dyn ZonedDevice,
    session: &mut Session,
    colours: bool,
) -> Result<(), Error> {
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
        colours,
    };
    let text = match args.format {
        Format::Table => table::text(&view),
        Format::Json => json::document(&view),
    };
    Ok(session.print(&text)?)
}

pub(crate) fn change(
    args: &Args,
    (action, range): (Action, &str),
    (device, free): (&dyn ZonedDevice, &dyn Fn() -> Result<(), TargetError>),
    session: &mut Session,
) -> Result<Change, Error> {
    let (facts, zones) = read(device)?;
    let range = range::read(range, &facts, &zones)?;
    let whole = range.len() as u64;
    let change = Change::new(action, &zones, range);
    let name = args.device.display().to_string();
    if change.left_alone == whole {
        return Err(Error::NoWritePointer { device: args.device.clone() });
    }
    if change.is_destructive() {
        // With a question the sentence goes to standard error; without one it is part of the
        // result.
        let to = if args.yes { &mut session.out } else { &mut session.err };
        let _ = writeln!(to, "{}", change.sentence(&name));
        consent::obtain(args.yes, session.ask)?;
    }
    change.carry_out(device, &zones, free)?;
    let _ = writeln!(session.out, "{}", change.done(&name));
    Ok(change)
}

fn read(device: &dyn ZonedDevice) -> Result<(Facts, Vec<Zone>), Error> {
    let (facts, zones) = (device.facts()?, device.zones()?);
    if zones.is_empty() { Err(Error::Empty) } else { Ok((facts, zones)) }
}
