//! Tests that need no device: which targets and options are refused, and how sense data is
//! reported.

use fiord_sys::scsi::Sense;
use fiord_types::{Bytes, Errno};

use super::*;
use crate::DeviceStatus;

fn engine(plan: SgPlan) -> Sg {
    Sg::new(&EngineConfig::plain(EnginePlan::Sg(plan), 2, 4096)).unwrap()
}

fn file(path: &str, kind: FileKind) -> Attachment {
    let fd = std::fs::File::open(path).unwrap();
    Attachment {
        fd: Some(Arc::new(fd.into())),
        kind,
        offset: Bytes::ZERO,
        len: Bytes(4096),
        read_only: true,
    }
}

#[test]
fn what_is_no_scsi_device_is_refused_with_a_reason() {
    let mut sg = engine(SgPlan::default());
    let error = sg.attach(FileIndex(0), &file("/dev/null", FileKind::Char)).unwrap_err();
    assert!(error.to_string().contains("it is not a SCSI device"), "{error}");
    let op = Op {
        kind: OpKind::Read,
        file: FileIndex(0),
        offset: 0,
        len: 512,
        at: 0,
        attributes: crate::IoAttributes::PLAIN,
    };
    let slot = sg.take_slots().remove(0);
    assert!(matches!(sg.queue(slot, &op), Queued::Done(_, e) if e == Outcome::err(Errno::EBADF)));
}

#[test]
fn sense_data_travel_in_an_outcome() {
    let sense = Sense { key: 3, asc: 0x11, ascq: 0xff };
    let outcome = Outcome::scsi(sense);
    assert_eq!(outcome.get(), Err(Errno::EIO));
    assert_eq!(outcome.device_status(), Some(DeviceStatus::Scsi(sense)));
    assert_eq!(Outcome::err(Errno::EIO).device_status(), None);
    assert!(Outcome::nvme(0x281).device_status() != Outcome::scsi(sense).device_status());
}

#[test]
fn a_stream_is_opened_only_for_a_job_that_writes() {
    let null: OwnedFd = std::fs::File::open("/dev/null").unwrap().into();
    // The engine issues the command, which fails without a device.
    let error = stream(&null, SgWrite::Stream(0), false).unwrap_err();
    assert!(error.to_string().contains("STREAM CONTROL (open)"), "{error}");
    assert_eq!(stream(&null, SgWrite::Stream(0), true).unwrap(), (0, None));
    // The engine does not open a stream that the user opened; writes only name it.
    assert_eq!(stream(&null, SgWrite::Stream(7), false).unwrap(), (7, None));
}

/// A device that accepts every command. The test finds what was sent in the places.
fn taker(ranges: u32, blocks: u32) -> Device {
    let fd: OwnedFd = std::fs::File::options().write(true).open("/dev/null").unwrap().into();
    Device {
        raw: std::os::fd::AsRawFd::as_raw_fd(&fd),
        fd: Arc::new(fd),
        capacity: Capacity { blocks: 1 << 20, block: Bytes(512) },
        builder: CommandBuilder::new(&SgPlan::default(), 0),
        queues: true,
        in_flight: 0,
        unmap: unmap::UnmapLimits { ranges, blocks },
        stream: None,
    }
}

fn trim(offset: u64) -> Op {
    Op {
        kind: OpKind::Trim,
        file: FileIndex(0),
        offset,
        len: 4096,
        at: 0,
        attributes: crate::IoAttributes::PLAIN,
    }
}

#[test]
fn trims_of_a_batch_are_one_unmap_within_the_limits_of_the_device() {
    for (ranges, blocks, commands) in
        [(1, u32::MAX, 6), (4, u32::MAX, 2), (256, 16, 3), (256, 99, 1)]
    {
        let config = EngineConfig::plain(EnginePlan::Sg(SgPlan::default()), 8, 4096);
        let mut sg = Sg::new(&config).unwrap();
        sg.devices[0] = Some(taker(ranges, blocks));
        for slot in sg.take_slots().into_iter().take(6) {
            let op = trim(u64::from(slot.index()) * 8192);
            assert_eq!(sg.queue(slot, &op), Queued::Pending);
        }
        assert_eq!(sg.unsent.len(), commands, "{ranges} ranges of {blocks} blocks");
        let leaders = sg.unsent.clone();
        assert_eq!(sg.flush().unwrap(), 6);
        assert_eq!(
            (sg.device(FileIndex(0)).unwrap().in_flight as usize, sg.in_flight),
            (commands, 6)
        );
        let mut ended = Vec::new();
        for first in leaders {
            let place = &sg.places[first as usize];
            assert_eq!(place.header.dxfer_len as usize, place.list.len());
            let cdb = place.order.as_ref().unwrap().cdb;
            assert_eq!(cdb.as_bytes()[7..9], (place.list.len() as u16).to_be_bytes());
            let count = place.list.len() / 16;
            // SAFETY: the command is in flight, and its device has accepted it without using memory.
            let ops = unsafe { sg.ended(first, |slot| ended.push(slot.index())) };
            assert_eq!(ops as usize, count);
        }
        ended.sort_unstable();
        assert_eq!((ended, sg.in_flight), ((0..6).collect(), 0));
    }
}

/// A write that follows a trim is submitted after it, and so is a trim that follows the write.
#[test]
fn only_trims_that_follow_each_other_are_one_unmap() {
    let config = EngineConfig::plain(EnginePlan::Sg(SgPlan::default()), 8, 4096);
    let mut sg = Sg::new(&config).unwrap();
    sg.devices[0] = Some(taker(256, u32::MAX));
    let write = Op { kind: OpKind::Write, ..trim(0) };
    let ops = [trim(0), trim(4096), write, trim(8192), trim(12288)];
    for (slot, op) in sg.take_slots().into_iter().zip(ops) {
        assert_eq!(sg.queue(slot, &op), Queued::Pending);
    }
    assert_eq!(sg.unsent, [0, 2, 3]);
    assert_eq!(sg.flush().unwrap(), 5);
    for first in [0, 2, 3] {
        // SAFETY: the command is in flight, and its device has accepted it without using memory.
        unsafe { sg.ended(first, drop) };
    }
}
