//! Runs `fiord zones`, from the arguments to the output.

use std::io::Write;
use std::path::Path;

use fiord_sys::zone::{Action, Device, Zone, ZonedDevice};
use fiord_sys::{Error, file};

use crate::zones::args::{Args, Format};
use crate::zones::change::Change;
use crate::zones::consent::{self, Ask};
use crate::zones::table::View;
use crate::zones::{in_use, json, range, table};

/// Output streams and the source of answers.
pub struct Session<'a> {
    /// Stream for results.
    pub out: &'a mut dyn Write,
    /// Stream for questions.
    pub err: &'a mut dyn Write,
    /// Whether to print results in colour.
    pub colours: bool,
    /// Source of answers.
    pub ask: &'a mut dyn Ask,
}

/// Shows or changes zones according to the command line.
///
/// # Errors
/// A message for the user.
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

/// Repeats a reset or finish that was sent through the character device on the block device of the
/// namespace. Since Linux 6.10 the block layer keeps its own write pointers and fails writes that
/// do not follow them; the repetition updates them.
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
            "the zones of {} are changed, but writes through {block} may fail until its zones are reset: {e}",
            path.display()
        )
    })
}

/// Checks that the device may be changed, before it is opened for writing.
fn may_change(args: &Args) -> Result<(), String> {
    let device = args.device.display();
    if args.readonly {
        return Err(format!("{device}: --readonly forbids changes of zones"));
    }
    in_use::nobody(&args.device)
}

/// Explains an error from opening a zoned device.
pub fn explain(path: &Path, error: Error) -> String {
    const EOPNOTSUPP: i32 = 95;
    const ENOTTY: i32 = 25;
    let device = path.display();
    match error.errno {
        EOPNOTSUPP => format!(
            "{device} has no zones: it is neither a zoned block device (queue/zoned in sysfs) nor a \
             namespace of the Zoned Namespace command set"
        ),
        ENOTTY => match file::facts(path).map(|facts| facts.kind) {
            Ok(file::Kind::Char) => format!("{device} is not an NVMe generic device: {error}"),
            _ => {
                format!(
                    "{device} is not a device. To fix: name a zoned device, such as /dev/nvme0n1"
                )
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
            Err(format!("cannot write the list of zones: {e}"))
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

fn read(device: &dyn ZonedDevice) -> Result<(fiord_sys::zone::Facts, Vec<Zone>), String> {
    let facts = device.facts().map_err(|e| e.to_string())?;
    let zones = device.zones().map_err(|e| e.to_string())?;
    match zones.is_empty() {
        true => Err("the device reported no zones".into()),
        false => Ok((facts, zones)),
    }
}
