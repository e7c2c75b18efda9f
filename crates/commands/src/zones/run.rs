//! Runs `fiord zones`, from the arguments to the output.

use std::path::Path;

use fiord_sys::file;
use fiord_sys::zone::{Zone, ZoneAction, ZonedDevice, ZonedFacts, ZonedNode};

use crate::consent;
use crate::session::{CommandEnd, CommandFormat, Session};
use crate::target::{TargetError, check_unused};
use crate::zones::args::ZonesArgs;
use crate::zones::change::Change;
use crate::zones::error::ZonesError;
use crate::zones::table::View;
use crate::zones::{json, range, table};

/// Shows or changes zones according to the command line. `colours`: whether to print in colour.
///
/// # Errors
/// The device has no zones, is in use, or refuses the change; the range is wrong; or the user does
/// not confirm.
pub fn run(
    args: &ZonesArgs,
    session: &mut Session,
    colours: bool,
) -> Result<CommandEnd, ZonesError> {
    let Some((action, range)) = args.action.asked() else {
        show(args, &open(&args.device, false)?, session, colours)?;
        return Ok(CommandEnd::Done);
    };
    // Before the device is opened for writing.
    if args.readonly {
        return Err(ZonesError::ReadOnly { device: args.device.clone() });
    }
    let free = || check_unused(&args.device);
    free()?;
    let device = open(&args.device, true)?;
    let change = change(args, action, range, &device, &free, session)?;
    repeat_on_block_device(&args.device, &change)?;
    Ok(CommandEnd::Done)
}

/// Opens a zoned device.
///
/// # Errors
/// The device does not exist or has no zones.
pub fn open(path: &Path, write: bool) -> Result<ZonedNode, ZonesError> {
    ZonedNode::open(path, write).map_err(|e| ZonesError::from_open(path, e))
}

/// Repeats a reset or finish that was sent through the character device on the block device of the
/// namespace. Since Linux 6.10 the block layer keeps its own write pointers and fails writes that
/// do not follow them; the repetition updates them.
fn repeat_on_block_device(path: &Path, change: &Change) -> Result<(), ZonesError> {
    let generic = file::facts(path).is_ok_and(|facts| facts.kind == file::InodeType::Char);
    if !generic || !matches!(change.action, ZoneAction::Reset | ZoneAction::Finish) {
        return Ok(());
    }
    let Some(storage) = fiord_sys::in_use::storage(path)? else { return Ok(()) };
    let block = storage.node.unwrap_or_else(|| fiord_sys::block::node(&storage.name));
    let again = || -> Result<(), ZonesError> {
        let device = ZonedNode::open(&block, true)?;
        let zones = device.zones()?;
        Ok(change.carry_out(&device, &zones, &|| check_unused(&block))?)
    };
    again().map_err(|e| ZonesError::BlockLayer {
        device: path.into(),
        block: block.clone(),
        source: Box::new(e),
    })
}

pub(crate) fn show(
    args: &ZonesArgs,
    device: &dyn ZonedDevice,
    session: &mut Session,
    colours: bool,
) -> Result<(), ZonesError> {
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
        CommandFormat::Table => table::text(&view),
        CommandFormat::Json => json::document(&view),
    };
    Ok(session.print_document(&text)?)
}

pub(crate) fn change(
    args: &ZonesArgs,
    action: ZoneAction,
    range: &str,
    device: &dyn ZonedDevice,
    free: &dyn Fn() -> Result<(), TargetError>,
    session: &mut Session,
) -> Result<Change, ZonesError> {
    let (facts, zones) = read(device)?;
    let range = range::read(range, &facts, &zones)?;
    let whole = range.len() as u64;
    let change = Change::new(action, &zones, range);
    let name = args.device.display().to_string();
    if change.left_alone == whole {
        return Err(ZonesError::NoWritePointer { device: args.device.clone() });
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

fn read(device: &dyn ZonedDevice) -> Result<(ZonedFacts, Vec<Zone>), ZonesError> {
    let (facts, zones) = (device.facts()?, device.zones()?);
    if zones.is_empty() { Err(ZonesError::Empty) } else { Ok((facts, zones)) }
}
