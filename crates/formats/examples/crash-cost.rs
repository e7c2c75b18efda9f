//! Prints the time and memory of reading the journal of many writes, as `fiord verify` does:
//! `cargo run --release -p fiord-formats --example crash-cost -- MILLIONS JOBS`.
//!
//! Random writes of 4 KiB to 1 TiB, with a flush after every 1000. The records are generated anew for each reading.

use std::time::Instant;

use fiord_formats::integrity::crash::{CrashTable, JournalSummary};
use fiord_formats::integrity::journal::{AnnouncedWrite, JournalRecord};
use fiord_formats::integrity::sector::SectorWriter;
use fiord_types::Bytes;

const BLOCK: u64 = 4096;
const BLOCKS: u64 = 1 << 28;

fn records(writes: u64, jobs: u16, mut apply: impl FnMut(JournalRecord)) {
    for i in 0..writes {
        let job = (i % u64::from(jobs)) as u16;
        let writer = SectorWriter { job, number: i / u64::from(jobs) };
        let block = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 36;
        let write = AnnouncedWrite { start: Bytes(block * BLOCK), length: Bytes(BLOCK) };
        apply(JournalRecord::Announced(writer, write));
        apply(JournalRecord::Issued { job });
        apply(JournalRecord::Completed { writer, target: 0, durable: false });
        if i % 1000 == 999 {
            apply(JournalRecord::FlushIssued { flush: i, target: 0 });
            apply(JournalRecord::FlushCompleted(i));
        }
    }
}

fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.unwrap_or("VmHWM: unknown").split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
}

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let writes = numbers.first().unwrap_or(&100) * 1_000_000;
    let jobs = *numbers.get(1).unwrap_or(&1) as u16;
    let start = Instant::now();
    let mut summary = JournalSummary::default();
    records(writes, jobs, |record| summary.apply(record));
    println!("summary: {:.1?}, peak memory {}", start.elapsed(), peak());
    let mut from = 0;
    let mut flushed = 0;
    while from < BLOCKS {
        let mut table = CrashTable::new(&summary, Bytes(BLOCK), from..BLOCKS);
        records(writes, jobs, |record| table.apply(record));
        table.finish();
        let part = table.part();
        flushed += part.clone().filter_map(|block| table.window(block)?.flushed).count();
        from = part.end;
        println!("blocks up to {from}: {:.1?}, peak memory {}", start.elapsed(), peak());
    }
    println!("{flushed} blocks were flushed by {writes} writes of {jobs} jobs");
}
