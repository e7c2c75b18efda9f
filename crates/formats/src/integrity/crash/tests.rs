//! Targets that crash: a model of a device with a volatile cache, its journal, and what the check says.

use std::path::PathBuf;

use fiord_types::Bytes;
use proptest::prelude::*;

use super::*;
use crate::integrity::diagnosis::FaultClass;
use crate::integrity::journal::{
    AnnouncedWrite, JOURNAL_UNIT, JournalEnd, JournalHeader, JournalReader, JournalRecord,
    JournalWriter, JournaledTarget,
};
use crate::integrity::sector::{
    RunId, SectorFlags, SectorHeader, SectorSize, SectorWrite, SectorWriter, TargetId,
};

const BLOCK: u64 = 1024;
const BLOCKS: u64 = 8;

fn header() -> JournalHeader {
    let (size, path) = (Bytes(BLOCK * BLOCKS), PathBuf::from("/dev/sdx"));
    JournalHeader {
        run: RunId::new(9, 9),
        block: Bytes(BLOCK),
        sector: SectorSize::MIN,
        sectors_may_tear: false,
        targets: vec![JournaledTarget { id: TargetId(3), size, base: Bytes(0), path }],
    }
}

/// A device, and the journal of the jobs that write to it.
#[derive(Debug, Clone)]
struct Device {
    journal: Vec<JournalRecord>,
    medium: Vec<u8>,
    /// Writes that were acknowledged and not flushed: offset and data.
    cache: Vec<(u64, Vec<u8>)>,
    /// Number of the next write of each job, and of the next flush.
    next: [u64; 3],
    flushes: u64,
}

impl Device {
    fn new() -> Self {
        let medium = vec![0x5a; (BLOCK * BLOCKS) as usize];
        Device { journal: Vec::new(), medium, cache: Vec::new(), next: [0; 3], flushes: 0 }
    }

    fn put(medium: &mut [u8], (offset, data): &(u64, Vec<u8>)) {
        medium[*offset as usize..][..data.len()].copy_from_slice(data);
    }

    fn data(writer: SectorWriter, offset: u64, length: u32) -> Vec<u8> {
        let write = SectorWrite {
            size: SectorSize::MIN,
            flags: SectorFlags::NONE,
            target: header().targets[0].id,
            run: header().run,
            job: writer.job,
            number: writer.number,
            start: offset,
            length,
        };
        let mut data = vec![0; length as usize];
        write.fill(offset, 1, &mut data);
        data
    }

    /// Announces and issues a write that is acknowledged. Returns its data.
    fn issue(&mut self, job: u16, block: u64, blocks: u64) -> (SectorWriter, u64, Vec<u8>) {
        let number = self.next[usize::from(job)];
        self.next[usize::from(job)] += 1;
        let writer = SectorWriter { job, number };
        let (offset, length) = (block * BLOCK, (blocks * BLOCK) as u32);
        self.journal.push(JournalRecord::Announced(
            writer,
            AnnouncedWrite { start: Bytes(offset), length: Bytes(u64::from(length)) },
        ));
        self.journal.push(JournalRecord::Issued { job });
        (writer, offset, Device::data(writer, offset, length))
    }

    fn write(&mut self, job: u16, block: u64, blocks: u64) {
        let (writer, offset, data) = self.issue(job, block, blocks);
        self.cache.push((offset, data));
        self.journal.push(JournalRecord::Completed { writer, target: 0, durable: false });
    }

    fn write_durably(&mut self, job: u16, block: u64) {
        let (writer, offset, data) = self.issue(job, block, 1);
        // What the cache has of this block is older.
        for (at, old) in &mut self.cache {
            if let Some(skip) = offset.checked_sub(*at).filter(|skip| *skip < old.len() as u64) {
                old[skip as usize..][..data.len()].copy_from_slice(&data);
            }
        }
        Device::put(&mut self.medium, &(offset, data));
        self.journal.push(JournalRecord::Completed { writer, target: 0, durable: true });
    }

    /// Trims blocks that no write in flight uses: what was there may stay or go.
    fn trim(&mut self, block: u64, blocks: u64) {
        let (start, length) = (Bytes(block * BLOCK), Bytes(blocks * BLOCK));
        self.journal.push(JournalRecord::Trimmed { start, length });
        self.cache.push((start.0, vec![0; length.0 as usize]));
    }

    fn flush(&mut self) {
        self.journal.push(JournalRecord::FlushIssued { flush: self.flushes, target: 0 });
        for write in std::mem::take(&mut self.cache) {
            Device::put(&mut self.medium, &write);
        }
        self.journal.push(JournalRecord::FlushCompleted(self.flushes));
        self.flushes += 1;
    }
}

/// What a check says: lost, out of order, corrupt and torn blocks, and the classes of the bad extents.
fn check(journal: &[JournalRecord], medium: &[u8], atomic: u64) -> ([u64; 4], Vec<FaultClass>) {
    let (counts, classes, unannounced) = check_all(journal, medium, atomic);
    assert_eq!(unannounced, None);
    (counts, classes)
}

/// Also returns a write that the journal does not announce.
fn check_all(
    journal: &[JournalRecord],
    medium: &[u8],
    atomic: u64,
) -> ([u64; 4], Vec<FaultClass>, Option<SectorWriter>) {
    let header = header();
    let mut summary = JournalSummary::default();
    journal.iter().for_each(|record| summary.apply(*record));
    let mut check = CrashCheck::new(&header, TargetId(3), summary.order(), Bytes(atomic));
    let mut classes = Vec::new();
    // Two parts, as of a large target.
    for part in [0..3, 3..BLOCKS] {
        let mut table = CrashTable::new(&summary, Bytes(BLOCK), part);
        journal.iter().for_each(|record| table.apply(*record));
        table.finish();
        let mut from = 0;
        while let Some(run) = table.next_run(from, 4) {
            let data = &medium[(run.start * BLOCK) as usize..(run.end * BLOCK) as usize];
            check.check(run.start * BLOCK, data, &|block| table.window(block), &mut |extent, _| {
                classes.push(extent.diagnosis.class());
            });
            from = run.end;
        }
    }
    let tally = check.tally_mut();
    let unannounced = tally.unannounced();
    let mut out_of_order = 0;
    if let Some(newest) = tally.newest() {
        let mut flushes = FlushBefore::new(0, newest);
        journal.iter().for_each(|record| flushes.apply(*record));
        let mut misorder = OutOfOrder::new(flushes, summary.order(), tally.take_missing());
        journal.iter().for_each(|record| misorder.apply(*record));
        out_of_order = misorder.blocks();
    }
    let tally = check.tally();
    ([tally.lost(), out_of_order, tally.corrupt(), tally.torn()], classes, unannounced)
}

#[test]
fn the_last_flushed_write_or_a_newer_one_is_accepted() {
    let mut device = Device::new();
    device.write(1, 0, 2);
    device.write(1, 1, 1);
    device.flush();
    let flushed = device.medium.clone();
    device.write(1, 1, 1);
    let (_, offset, data) = device.issue(1, 1, 1);
    let mut newest = flushed.clone();
    Device::put(&mut newest, &(offset, data));
    let mut middle = flushed.clone();
    Device::put(&mut middle, &device.cache[0]);
    for medium in [&flushed, &middle, &newest] {
        assert_eq!(check(&device.journal, medium, 512), ([0; 4], vec![]));
    }
    let mut torn = flushed;
    torn[1024..1536].copy_from_slice(&newest[1024..1536]);
    assert_eq!(check(&device.journal, &torn, 512), ([0, 0, 0, 1], vec![]));
    // The target writes blocks of 1024 bytes as a whole.
    assert_eq!(check(&device.journal, &torn, 1024), ([0, 0, 1, 1], vec![FaultClass::Torn]));
}

#[test]
fn lost_writes() {
    let mut device = Device::new();
    device.write(1, 0, 1);
    device.write(1, 0, 1);
    let old = device.cache[0].clone();
    let before = device.medium.clone();
    device.flush();
    let mut stale = device.medium.clone();
    Device::put(&mut stale, &old);
    assert_eq!(check(&device.journal, &stale, 512), ([1, 0, 0, 0], vec![FaultClass::Stale]));
    let unrecognized = vec![FaultClass::Unrecognized];
    assert_eq!(check(&device.journal, &before, 512), ([0, 0, 1, 0], unrecognized));
    let blank = vec![0; before.len()];
    assert_eq!(check(&device.journal, &blank, 512), ([1, 0, 0, 0], vec![FaultClass::Blank]));
    // Without a flush, or if it did not complete, nothing is lost.
    let without = &device.journal[..6];
    assert_eq!(check(without, &blank, 512), ([0; 4], vec![]));
    let incomplete = &device.journal[..7];
    assert_eq!(check(incomplete, &stale, 512), ([0; 4], vec![]));
    let mut durable = Device::new();
    durable.write_durably(1, 0);
    assert_eq!(check(&durable.journal, &blank, 512), ([1, 0, 0, 0], vec![FaultClass::Blank]));
}

/// A lost write is out of order if a write survived that was issued after its flush.
#[test]
fn out_of_order() {
    let mut device = Device::new();
    device.write(1, 0, 1);
    device.flush();
    device.write(1, 4, 1);
    let survivor = device.cache[0].clone();
    let mut medium = vec![0; device.medium.len()];
    let blank = vec![FaultClass::Blank];
    assert_eq!(check(&device.journal, &medium, 512), ([1, 0, 0, 0], blank.clone()));
    Device::put(&mut medium, &survivor);
    assert_eq!(check(&device.journal, &medium, 512), ([1, 1, 0, 0], blank.clone()));
    // It was issued before the flush.
    let mut device = Device::new();
    device.write(1, 0, 1);
    device.write(1, 4, 1);
    device.flush();
    assert_eq!(check(&device.journal, &medium, 512), ([1, 0, 0, 0], blank));
}

/// The kernel may give a drive another name, so that data of an earlier run states another target.
#[test]
fn data_of_an_earlier_run_under_another_name_is_older_data() {
    let mut device = Device::new();
    device.write(1, 0, 2);
    device.flush();
    let other = |target, run, at| {
        let mut write = SectorHeader::read(&device.medium).unwrap().write;
        (write.target, write.run) = (TargetId(target), run);
        let mut medium = device.medium.clone();
        write.fill(at, 1, &mut medium[1024..2048]);
        medium
    };
    let earlier = RunId::new(5, 5);
    let [lost, corrupt] = [[1, 0, 0, 0], [0, 0, 1, 0]];
    let check = |medium: &[u8]| check(&device.journal, medium, 512);
    assert_eq!(check(&other(3, earlier, 1024)), (lost, vec![FaultClass::EarlierRun]));
    assert_eq!(check(&other(4, earlier, 1024)), (lost, vec![FaultClass::EarlierRun]));
    // It belongs elsewhere, or this run wrote it to another target.
    assert_eq!(check(&other(4, earlier, 0)), (corrupt, vec![FaultClass::OtherTarget]));
    let this_run = other(4, header().run, 1024);
    assert_eq!(check(&this_run), (corrupt, vec![FaultClass::OtherTarget]));
}

/// Whether and when a trim is carried out is not known. A later write counts again.
#[test]
fn trimmed_blocks_may_contain_anything() {
    let mut device = Device::new();
    device.write(1, 0, 2);
    device.flush();
    let old = device.medium.clone();
    device.journal.push(JournalRecord::Trimmed { start: Bytes(BLOCK), length: Bytes(BLOCK) });
    let blank = |from: u64| {
        let mut medium = device.medium.clone();
        medium[from as usize..][..BLOCK as usize].fill(0);
        medium
    };
    assert_eq!(check(&device.journal, &old, 512), ([0; 4], vec![]));
    assert_eq!(check(&device.journal, &blank(BLOCK), 512), ([0; 4], vec![]));
    let lost = ([1, 0, 0, 0], vec![FaultClass::Blank]);
    assert_eq!(check(&device.journal, &blank(0), 512), lost);
    let mut again = device.clone();
    again.write(1, 1, 1);
    for medium in [&old, &blank(BLOCK)] {
        assert_eq!(check(&again.journal, medium, 512), ([0; 4], vec![]));
    }
    again.flush();
    assert_eq!(check(&again.journal, &again.medium, 512), ([0; 4], vec![]));
    assert_eq!(check(&again.journal, &blank(BLOCK), 512).0[0], 1);
    assert_eq!(check(&again.journal, &old, 512).0[0], 1);
}

/// A flush of one target says nothing about the others.
#[test]
fn each_target_has_its_own_flushes() {
    let writer = |number| SectorWriter { job: 1, number };
    let far = 64 * BLOCK;
    let mut journal = Vec::new();
    for (number, start, target) in [(0, 0, 0), (1, far, 1)] {
        let write = AnnouncedWrite { start: Bytes(start), length: Bytes(BLOCK) };
        journal.push(JournalRecord::Announced(writer(number), write));
        journal.push(JournalRecord::Issued { job: 1 });
        let durable = false;
        journal.push(JournalRecord::Completed { writer: writer(number), target, durable });
    }
    let flush = |flush, target| {
        [JournalRecord::FlushIssued { flush, target }, JournalRecord::FlushCompleted(flush)]
    };
    let flushed = |journal: &[JournalRecord]| {
        let mut summary = JournalSummary::default();
        journal.iter().for_each(|record| summary.apply(*record));
        let mut table = CrashTable::new(&summary, Bytes(BLOCK), 0..100);
        journal.iter().for_each(|record| table.apply(*record));
        table.finish();
        let is = |block| table.window(block).unwrap().flushed.is_some();
        (is(0), is(64), summary.flushed())
    };
    assert_eq!(flushed(&journal), (false, false, 0));
    journal.extend(flush(0, 1));
    assert_eq!(flushed(&journal), (false, true, 1));
    journal.extend(flush(1, 0));
    assert_eq!(flushed(&journal), (true, true, 2));
}

/// A journal may be cut at any byte: the check accepts the target, or says that the journal lacks its end.
#[test]
fn a_journal_cut_at_any_byte_is_never_taken_for_a_loss() {
    let mut device = Device::new();
    let mut writer = JournalWriter::new(header().run);
    let (mut journal, mut added) = (Vec::new(), 0);
    for step in 0..30u64 {
        match step % 5 {
            4 => device.flush(),
            3 => device.write_durably(1, step % BLOCKS),
            _ => device.write((1 + step % 2) as u16, step * 3 % BLOCKS, 1),
        }
        if step % 4 == 3 {
            device.journal[added..].iter().for_each(|record| writer.add(*record));
            added = device.journal.len();
            assert!(writer.take_block(&mut journal));
        }
    }
    let write = |medium: &mut Vec<u8>, write| Device::put(medium, write);
    let mut newest = device.medium.clone();
    device.cache.iter().for_each(|one| write(&mut newest, one));
    let (mut whole, mut short) = (0, 0);
    for cut in 0..=journal.len() {
        let mut reader = JournalReader::new(header().run);
        reader.push(&journal[..cut]);
        let (mut records, mut found) = (Vec::new(), Vec::new());
        while reader.next_block(&mut records).unwrap() {
            found.append(&mut records);
        }
        let end = reader.end().unwrap();
        assert_eq!(end == JournalEnd::Complete, cut % JOURNAL_UNIT == 0, "{cut}");
        for medium in [&device.medium, &newest] {
            let (counts, classes, unannounced) = check_all(&found, medium, 512);
            assert_eq!((counts[0], counts[2]), (0, 0), "{cut}: {classes:?}");
            whole += u32::from(unannounced.is_none());
            short += u32::from(unannounced.is_some());
        }
    }
    assert!(whole > 1000 && short > 1000, "{whole} {short}");
}

#[test]
fn damaged_sectors() {
    let mut device = Device::new();
    device.write(1, 0, 2);
    let unflushed = device.cache[0].1.clone();
    let mut medium = device.medium.clone();
    medium[..2048].copy_from_slice(&unflushed);
    medium[700] ^= 4;
    // Even a write that was not flushed must not be damaged within a sector.
    assert_eq!(check(&device.journal, &medium, 512), ([0, 0, 1, 0], vec![FaultClass::BitFlips]));
    device.flush();
    let mut medium = device.medium.clone();
    medium.copy_within(1024..1536, 0);
    assert_eq!(check(&device.journal, &medium, 512).0, [0, 0, 1, 0]);
}

/// The order of the writes of several jobs comes from the journal.
#[test]
fn several_jobs() {
    let mut order = WriteOrder::default();
    let mut expected = Vec::new();
    let mut next = [0; 3];
    for i in 0u64..2000 {
        let job = if i < 600 { 1 } else { (i * i % 7 % 3) as u16 };
        let writer = SectorWriter { job, number: next[usize::from(job)] };
        next[usize::from(job)] += 1;
        order.announced(writer);
        order.issued(job);
        expected.push(writer);
    }
    for (i, writer) in expected.iter().enumerate() {
        assert_eq!(order.ordinal(*writer), Some(Ordinal(i as u64)), "{writer:?}");
        assert_eq!(order.writer(Ordinal(i as u64)), Some(*writer));
    }
    assert_eq!(order.count_issued(), 2000);
    assert_eq!(order.ordinal(SectorWriter { job: 1, number: next[1] }), None);
    assert!(!order.is_announced(SectorWriter { job: 7, number: 0 }));

    let mut device = Device::new();
    device.write(1, 0, 1);
    device.write(2, 0, 1);
    let of_second = device.cache[1].clone();
    device.write(1, 0, 1);
    device.flush();
    let mut stale = device.medium.clone();
    Device::put(&mut stale, &of_second);
    assert_eq!(check(&device.journal, &stale, 512), ([1, 0, 0, 0], vec![FaultClass::Stale]));
}

/// A journal with absurd records does not make the check slow or large.
#[test]
fn absurd_records() {
    let writer = SectorWriter { job: 65535, number: u64::MAX };
    let write = AnnouncedWrite { start: Bytes(u64::MAX), length: Bytes(u64::from(u32::MAX)) };
    let journal = [
        JournalRecord::Announced(writer, write),
        JournalRecord::Announced(SectorWriter { number: 0, ..writer }, write),
        JournalRecord::Issued { job: 1 },
        JournalRecord::Completed { writer, target: 0, durable: true },
        JournalRecord::FlushCompleted(7),
        JournalRecord::Failed(SectorWriter { number: 0, ..writer }),
    ];
    let medium = vec![0; (BLOCK * BLOCKS) as usize];
    assert_eq!(check(&journal, &medium, 512), ([0; 4], vec![]));
}

proptest! {
    /// A device that keeps every flushed write, and any part of the others, is never at fault: whatever was issued,
    /// completed and flushed by several jobs, and however much of the journal's end is missing.
    #[test]
    fn a_correct_device_is_accepted(
        steps in proptest::collection::vec((0u8..10, 1u16..3, 0u64..BLOCKS, 1u64..3), 1..60),
        keeps in proptest::collection::vec(any::<u8>(), 60),
        cut in 0usize..80,
    ) {
        let mut device = Device::new();
        for (kind, job, block, blocks) in steps {
            let blocks = blocks.min(BLOCKS - block);
            match kind {
                0 | 1 => device.flush(),
                2 => device.write_durably(job, block),
                3 => device.trim(block, blocks),
                _ => device.write(job, block, blocks),
            }
        }
        // The last writes may be in flight.
        let mut medium = device.medium.clone();
        for (write, keep) in device.cache.iter().zip(&keeps) {
            let (offset, data) = write;
            // All of a write, none of it, or some of its sectors.
            for (i, sector) in data.chunks(512).enumerate() {
                if keep >> (i % 8) & 1 == 1 || *keep > 200 {
                    Device::put(&mut medium, &(offset + i as u64 * 512, sector.to_vec()));
                }
            }
        }
        // Records at the end may be missing in the journal, announcements never.
        let end = device.journal.len().saturating_sub(cut);
        let announces = |record: &JournalRecord| {
            matches!(record, JournalRecord::Announced(..) | JournalRecord::Trimmed { .. })
        };
        let mut journal = device.journal[..end].to_vec();
        journal.extend(device.journal[end..].iter().filter(|record| announces(record)));
        let ([lost, misordered, corrupt, _], classes) = check(&journal, &medium, 512);
        prop_assert_eq!((lost, misordered, corrupt), (0, 0, 0), "{:?}", classes);
    }

    /// A device that loses a flushed write, and has no newer write of its block, is always found out.
    #[test]
    fn a_lost_write_is_found(
        steps in proptest::collection::vec((1u16..3, 0u64..BLOCKS), 1..30),
        lost in any::<proptest::sample::Index>(),
    ) {
        let mut device = Device::new();
        for (job, block) in &steps {
            device.write(*job, *block, 1);
        }
        let writes = device.cache.clone();
        device.flush();
        let lost = lost.index(writes.len());
        let mut medium = vec![0; device.medium.len()];
        let kept = writes.iter().enumerate().filter(|(i, _)| *i != lost);
        kept.for_each(|(_, write)| Device::put(&mut medium, write));
        let superseded = writes[lost + 1..].iter().any(|(offset, _)| *offset == writes[lost].0);
        let (counts, _) = check(&device.journal, &medium, 512);
        prop_assert_eq!(counts, [u64::from(!superseded), 0, 0, 0]);
    }
}
