//! Without a device: what is refused, and how sense data travel.

use fiord_sys::scsi::Sense;

use super::*;
use crate::DeviceStatus;

fn engine(plan: SgPlan) -> Sg {
    Sg::new(&EngineConfig::plain(EnginePlan::Sg(plan), 2, 4096)).unwrap()
}

fn file(path: &str, kind: FileKind) -> Target {
    let fd = std::fs::File::open(path).unwrap();
    Target { fd: Some(Arc::new(fd.into())), kind, offset: 0, len: 4096, read_only: true }
}

#[test]
fn what_is_no_scsi_device_is_refused_with_a_reason() {
    let mut sg = engine(SgPlan::default());
    let error = sg.attach(0, &file("/dev/null", FileKind::Char)).unwrap_err();
    assert!(error.to_string().contains("it is no SCSI device"), "{error}");
    let op = Op { kind: OpKind::Read, file: 0, offset: 0, len: 512, at: 0, tag: crate::Tag::PLAIN };
    assert_eq!(sg.queue(0, &op), Queued::Done(Outcome::err(libc::EBADF)));
}

#[test]
fn sense_data_travel_in_an_outcome() {
    let sense = Sense { key: 3, asc: 0x11, ascq: 0xff };
    let outcome = Outcome::scsi(sense);
    assert_eq!(outcome.get(), Err(libc::EIO));
    assert_eq!(outcome.device_status(), Some(DeviceStatus::Scsi(sense)));
    assert_eq!(Outcome::err(libc::EIO).device_status(), None);
    assert!(Outcome::nvme(0x281).device_status() != Outcome::scsi(sense).device_status());
}

#[test]
fn a_stream_is_opened_only_for_a_job_that_writes() {
    let null: OwnedFd = std::fs::File::open("/dev/null").unwrap().into();
    // The command is sent: no device, no stream.
    let error = stream(&null, SgWrite::Stream(0), false).unwrap_err();
    assert!(error.to_string().contains("STREAM CONTROL (open)"), "{error}");
    assert_eq!(stream(&null, SgWrite::Stream(0), true).unwrap(), (0, None));
    // One that the user opened is named in writes alone.
    assert_eq!(stream(&null, SgWrite::Stream(7), false).unwrap(), (7, None));
}
