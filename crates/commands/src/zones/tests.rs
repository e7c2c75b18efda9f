use std::path::{Path, PathBuf};

use fiord_sys::in_use::{DeviceUse, WriteObstacle};
use fiord_sys::zone::fake::Fake;
use fiord_sys::zone::{State, ZoneAction, ZonedDevice};
use fiord_types::Bytes;
use proptest::prelude::*;

use crate::consent::{Answer, NoConsent, Scripted};
use crate::session::{CommandFormat, Session};
use crate::target::TargetError;
use crate::zones::args::{ActionArgs, ZonesArgs};
use crate::zones::change::{Change, ChangeError};
use crate::zones::error::ZonesError;
use crate::zones::range::RangeError;
use crate::zones::run::{change, open, show};
use crate::zones::{range, summary};

const MIB: u64 = 1 << 20;

/// Two conventional zones and six sequential ones: full, partly written, open, and three empty.
fn device() -> Fake {
    let fake = Fake::new(8, 2, 16 * MIB, 12 * MIB).limited(3, 4);
    fake.write(32 * MIB, 12 * MIB).unwrap();
    fake.write(48 * MIB, MIB).unwrap();
    fake.manage(ZoneAction::Close, Bytes(48 * MIB), Bytes(16 * MIB)).unwrap();
    fake.manage(ZoneAction::Open, Bytes(64 * MIB), Bytes(16 * MIB)).unwrap();
    fake
}

fn args() -> ZonesArgs {
    ZonesArgs {
        device: PathBuf::from("/dev/z"),
        range: None,
        each: false,
        format: CommandFormat::Table,
        action: ActionArgs::default(),
        yes: false,
        readonly: false,
    }
}

/// The output on standard output, or the error.
fn shown(args: &ZonesArgs, colours: bool) -> Result<String, ZonesError> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut ask = Scripted::new(Answer::NoTerminal);
    let mut session = Session { out: &mut out, columns: None, err: &mut err, ask: &mut ask };
    show(args, &device(), &mut session, colours)?;
    assert!(err.is_empty());
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn neighbours_that_are_alike_share_a_line() {
    assert_eq!(
        shown(&args(), false).unwrap(),
        "/dev/z: host-managed, 128 MiB in 8 zones of 16 MiB\n\
         open 1 of 3, active 2 of 4; blocks of 4 KiB, writes in multiples of 4 KiB\n\
         2 conventional, 3 empty, 1 explicit-open, 1 closed, 1 full; written 13 MiB of 104 MiB\n\
         \n\
         zones  type  state             start  write pointer  written  capacity    size\n  \
           0-1  cnv   conventional          0              -      0 B    16 MiB  16 MiB\n    \
             2  seq   full           33554432       46137344   12 MiB    12 MiB  16 MiB\n    \
             3  seq   closed         50331648       51380224    1 MiB    12 MiB  16 MiB\n    \
             4  seq   explicit-open  67108864       67108864      0 B    12 MiB  16 MiB\n  \
           5-7  seq   empty          83886080              -      0 B    12 MiB  16 MiB\n"
    );
}

#[test]
fn a_range_and_each_zone_by_itself() {
    let text =
        shown(&ZonesArgs { range: Some("4+3".into()), each: true, ..args() }, false).unwrap();
    let zones: Vec<&str> =
        text.lines().skip(5).map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(zones, ["4", "5", "6"]);
    let beyond = shown(&ZonesArgs { range: Some("9".into()), ..args() }, false).unwrap_err();
    assert!(beyond.to_string().contains("0 to 7"), "{beyond}");
}

#[test]
fn colours_only_where_asked_for() {
    assert!(!shown(&args(), false).unwrap().contains('\x1b'));
    assert!(shown(&args(), true).unwrap().contains("\x1b[33mclosed\x1b[0m"));
}

#[test]
fn json_has_every_zone_in_bytes() {
    let text = shown(&ZonesArgs { format: CommandFormat::Json, ..args() }, true).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["zones"].as_array().unwrap().len(), 8);
    assert_eq!(document["limits"]["max_active_zones"], 4);
    assert_eq!(document["limits"]["zone_append_max_bytes"], serde_json::Value::Null);
    assert_eq!(document["summary"]["states"]["empty"], 3);
    assert_eq!(document["zones"][0]["write_pointer_bytes"], serde_json::Value::Null);
    assert_eq!(document["zones"][3]["write_pointer_bytes"], 49 * MIB);
    assert_eq!(document["zones"][3]["type"], "sequential-required");
}

/// Changes the device. Returns the result, the text of both streams, and the number of questions.
fn changed(
    device: &Fake,
    (action, range): (ZoneAction, &str),
    (yes, answer): (bool, Answer),
) -> (Result<(), ZonesError>, String, u32) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut ask = Scripted::new(answer);
    let mut session = Session { out: &mut out, columns: None, err: &mut err, ask: &mut ask };
    let free: &dyn Fn() -> Result<(), TargetError> = &|| Ok(());
    let result = change(&ZonesArgs { yes, ..args() }, action, range, device, free, &mut session);
    assert!(!yes || err.is_empty(), "without a question nothing goes to standard error");
    let said = String::from_utf8([err, out].concat()).unwrap();
    (result.map(drop), said, ask.asked)
}

#[test]
fn a_reset_says_what_is_lost_and_asks() {
    let device = device();
    let (result, said, asked) = changed(&device, (ZoneAction::Reset, "all"), (false, Answer::No));
    assert!(matches!(result, Err(ZonesError::NoConsent(NoConsent::ByUser))) && asked == 1);
    assert_eq!(said, "/dev/z: 3 zones will be reset; 13 MiB of data will be lost\n");
    let (result, _, asked) =
        changed(&device, (ZoneAction::Reset, "all"), (false, Answer::NoTerminal));
    assert!(matches!(result, Err(ZonesError::NoConsent(NoConsent::NoTerminal))));
    assert_eq!((asked, device.resets()), (1, 0));
    let (result, said, _) = changed(&device, (ZoneAction::Reset, "all"), (false, Answer::Yes));
    result.unwrap();
    assert!(said.ends_with("/dev/z: 3 zones reset; skipped 2 zones without a write pointer\n"));
    assert_eq!(device.resets(), 6, "empty zones are reset as well");
    // No data is lost, so no question is asked.
    let (result, said, asked) =
        changed(&device, (ZoneAction::Reset, "2-7"), (false, Answer::NoTerminal));
    result.unwrap();
    assert_eq!(asked, 0);
    assert_eq!(said, "/dev/z: reset; all these zones were already empty\n");
}

#[test]
fn yes_answers_and_open_and_close_lose_nothing() {
    let device = device();
    let (result, said, asked) =
        changed(&device, (ZoneAction::Reset, "3"), (true, Answer::NoTerminal));
    result.unwrap();
    assert_eq!((asked, device.resets()), (0, 1));
    assert!(said.contains("1 zone will be reset; 1 MiB of data"));
    let (result, _, asked) = changed(&device, (ZoneAction::Open, "6"), (false, Answer::NoTerminal));
    result.unwrap();
    assert_eq!(asked, 0);
    assert_eq!(device.zone(96 * MIB).unwrap().state, State::ExplicitlyOpen);
    changed(&device, (ZoneAction::Close, "all"), (false, Answer::NoTerminal)).0.unwrap();
    assert_eq!(summary::ZoneSums::of(&device.zones().unwrap()).open(), 0);
    let (result, said, _) = changed(&device, (ZoneAction::Finish, "80m+16m"), (true, Answer::No));
    result.unwrap();
    assert!(said.contains("1 zone will be finished; 12 MiB of free space"), "{said}");
    let (result, ..) = changed(&device, (ZoneAction::Reset, "0-1"), (true, Answer::No));
    assert!(matches!(result, Err(ZonesError::NoWritePointer { .. })));
}

#[test]
fn a_device_that_is_mounted_while_the_question_waits_is_left_alone() {
    let device = device();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut ask = Scripted::new(Answer::Yes);
    let mut session = Session { out: &mut out, columns: None, err: &mut err, ask: &mut ask };
    let mounted = || {
        let user =
            WriteObstacle::Listed(DeviceUse::Mounted { device: "z".into(), point: "/srv".into() });
        Err(TargetError::InUse { path: "/dev/z".into(), user })
    };
    let result = change(&args(), ZoneAction::Reset, "all", &device, &mounted, &mut session);
    let error = result.unwrap_err().to_string();
    assert!(
        error.starts_with("/dev/z is in use: z is mounted on /srv\n  To fix: unmount"),
        "{error}"
    );
    assert_eq!(device.resets(), 0);
    // The check also runs between two ranges of zones.
    let asked = std::cell::Cell::new(0);
    let later = || match asked.replace(asked.get() + 1) {
        0 => Ok(()),
        _ => mounted(),
    };
    device.manage(ZoneAction::Finish, Bytes(64 * MIB), Bytes(16 * MIB)).unwrap();
    let zones = device.zones().unwrap();
    let change = Change::new(ZoneAction::Finish, &zones, 2..8);
    assert_eq!(change.runs, [3..4, 5..8]);
    assert!(change.carry_out(&device, &zones, &later).is_err());
    assert_eq!((device.finishes(), asked.get()), (2, 2));
}

#[test]
fn a_change_that_fails_names_the_zones() {
    let device = device();
    let (result, ..) = changed(&device, (ZoneAction::Open, "2"), (true, Answer::No));
    let error = result.unwrap_err();
    assert!(matches!(error, ZonesError::Change(ChangeError::Refused { first: 2, last: 2, .. })));
    assert!(error.to_string().starts_with("zone open of zone 2 failed: "), "{error}");
}

#[test]
fn only_a_zoned_device_is_opened() {
    let error = |path: &str| open(Path::new(path), false).unwrap_err();
    assert!(matches!(error("/dev/fiord-none"), ZonesError::Target(TargetError::Missing { .. })));
    assert!(matches!(error("/dev/null"), ZonesError::NotNvme { .. }));
    assert!(matches!(error("/proc/self/status"), ZonesError::NotADevice { .. }));
}

#[test]
fn what_an_action_is_done_to() {
    let zones = device().zones().unwrap();
    let runs = |action| -> Vec<(usize, usize)> {
        Change::new(action, &zones, 0..8).runs.iter().map(|run| (run.start, run.end)).collect()
    };
    assert_eq!(runs(ZoneAction::Reset), [(2, 8)]);
    assert_eq!(runs(ZoneAction::Finish), [(3, 8)]);
    assert_eq!(runs(ZoneAction::Close), [(4, 5)]);
    assert_eq!(runs(ZoneAction::Open), [(2, 4), (5, 8)]);
}

#[test]
fn ranges() {
    let device = device();
    let (facts, zones) = (device.facts().unwrap(), device.zones().unwrap());
    let read = |text: &str| range::read(text, &facts, &zones);
    assert_eq!(read("all"), Ok(0..8));
    assert_eq!(read("3"), Ok(3..4));
    assert_eq!(read("0-7"), Ok(0..8));
    assert_eq!(read(" 2 + 4 "), Ok(2..6));
    assert_eq!(read("0x2"), Ok(2..3));
    assert_eq!(read("16m"), Ok(1..2));
    assert_eq!(read("0-32m"), Ok(0..2));
    assert_eq!(read("112m+16m"), Ok(7..8));
    let error = read("17m-32m").unwrap_err();
    assert!(matches!(error, RangeError::NoBorder { .. }));
    assert!(error.to_string().contains("16777216 to 33554432"), "{error}");
    for wrong in
        ["", "x", "3-", "-1", "8", "3-2", "2+0", "4+5", "1-99999999999999999999", "1m", "200m-1t"]
    {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

proptest! {
    #[test]
    fn no_range_panics_or_leaves_the_device(text in "[0-9a-z+-]{0,12}") {
        let device = device();
        let (facts, zones) = (device.facts().unwrap(), device.zones().unwrap());
        if let Ok(range) = range::read(&text, &facts, &zones) {
            prop_assert!(range.start < range.end && range.end <= 8);
        }
    }

    #[test]
    fn in_zones_and_in_bytes_is_the_same(first in 0u64..8, count in 1u64..8) {
        prop_assume!(first + count <= 8);
        let device = device();
        let (facts, zones) = (device.facts().unwrap(), device.zones().unwrap());
        let read = |text: String| range::read(&text, &facts, &zones);
        let expected = Ok(first as usize..(first + count) as usize);
        prop_assert_eq!(&read(format!("{first}+{count}")), &expected);
        prop_assert_eq!(&read(format!("{first}-{}", first + count - 1)), &expected);
        prop_assert_eq!(&read(format!("{}m+{}m", first * 16, count * 16)), &expected);
        prop_assert_eq!(&read(format!("{}m-{}m", first * 16, (first + count) * 16)), &expected);
    }
}
