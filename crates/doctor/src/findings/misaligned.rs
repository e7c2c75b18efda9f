//! `misaligned`: I/Os straddle the device's physical blocks.

use fiord_job::option::def::OptionDef;
use fiord_job::option::table::{BA, BS, OFFSET};
use fiord_plan::JobPlan;
use fiord_stat::finding::Severity;
use fiord_sys::survey::Disk;
use fiord_types::{Bytes, Dir};

use crate::check::{Before, Check, CollectedFindings, FindingBuilder};
use crate::machine::Devices;

pub(crate) const CHECK: Check = Check {
    id: "misaligned",
    severity: Severity::Suspect,
    title: "I/Os that are not aligned to the device's physical blocks",
    about: "The device accepts I/O in logical blocks, often 512 bytes, and works internally in \
            physical blocks, often 4096 bytes. A write that does not cover whole physical blocks \
            makes the device read, change and write them back; a read touches one block more than \
            necessary.",
    detection: "For jobs with `direct=1`, fiord compares the smallest block size, the alignment \
                of offsets, the first byte of the region and the start of the partition with \
                `queue/physical_block_size`. Jobs that write are suspect, jobs that only read get \
                a note. The check is silent if everything is a multiple of the physical block, \
                and if logical and physical blocks have the same size.",
    effect: "On disks with 512-byte emulation, a write takes one more rotation of the platter. \
             Not measured.",
    remedy: "set `bs`, `blockalign` and `offset` to multiples of the physical block; or create a \
             new partition that starts at a multiple of 1 MiB (this destroys the data on the old \
             one).",
    lint: None,
    before: Some(before),
    after: None,
    hosts: None,
};

fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    for job in known.sections().filter(|job| job.target.open.direct) {
        for disk in known.machine.devices.of(job).iter().filter(|disk| disk.members.is_empty()) {
            findings.report_all(findings_of(job, disk, &known.machine.devices));
        }
    }
}

fn findings_of(job: &JobPlan, disk: &Disk, devices: &Devices) -> Vec<FindingBuilder> {
    let physical = disk.queue.physical.0;
    if physical <= disk.queue.logical.0 || physical == 0 {
        return Vec::new();
    }
    let name = &job.identity.name;
    let severity = if job.load.mix.has(Dir::Write) { Severity::Suspect } else { Severity::Note };
    let mut found = Vec::new();
    if let Some((what, value, option)) = odd(job, physical) {
        let finding = CHECK
            .for_job(
                job,
                format!("I/Os of job {name} are not whole physical blocks of {}", disk.name),
            )
            .evidence(format!("{what} is {value}, the physical block {physical} bytes"))
            .remedy(format!("set {} to a multiple of {physical}", option.name))
            .option(option);
        found.push(finding.at_most(severity));
    }
    let names = job.target.files.iter().filter_map(|file| devices.node(&file.path).file_name());
    for part in names.filter_map(|name| disk.partitions.iter().find(|part| *name == *part.name)) {
        if !part.start.0.is_multiple_of(physical) {
            let finding = CHECK
                .for_job(job, format!("partition {} is not aligned to physical blocks", part.name))
                .evidence(format!(
                    "it starts at byte {}, {} bytes after the start of a physical block of {physical} bytes",
                    part.start.0,
                    (part.start % Bytes(physical)).0
                ))
                .remedy("create a new partition that starts at a multiple of 1 MiB (this destroys the data on this one)");
            found.push(finding.at_most(severity));
        }
    }
    found
}

/// Returns the first property of the job that is not a multiple of the physical block: in words, its
/// value in bytes, and its option.
fn odd(job: &JobPlan, physical: u64) -> Option<(&'static str, u64, &'static OptionDef)> {
    for dir in job.load.mix.dirs().filter(|dir| *dir != Dir::Trim) {
        let block = u64::from(job.load.blocks[dir].min());
        if !block.is_multiple_of(physical) || job.load.unaligned {
            return Some(("the smallest block", block, BS.def()));
        }
        let align = job.load.align[dir];
        if job.load.random && !align.is_multiple_of(physical) {
            return Some(("the alignment of offsets", align, BA.def()));
        }
    }
    let offset =
        job.target.files.iter().map(|file| file.offset.0).find(|o| !o.is_multiple_of(physical))?;
    Some(("the first byte", offset, OFFSET.def()))
}

#[cfg(test)]
mod tests {
    use fiord_plan::BlockSize;
    use fiord_types::PerDir;

    use super::*;
    use crate::tests::drives::{found_before, one_drive};

    #[test]
    fn reports_blocks_smaller_than_physical_blocks() {
        let mut case = one_drive().writing();
        case.job().load.blocks = PerDir::from_fn(|_| BlockSize::Fixed(512));
        assert!(found_before(&CHECK, &case).is_empty(), "the device has blocks of 512");
        case.disks(|disk| disk.queue.physical = Bytes(4096));
        let found = found_before(&CHECK, &case);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Suspect));
        assert_eq!(found[0].evidence, "the smallest block is 512, the physical block 4096 bytes");
        case.job().load.blocks = PerDir::from_fn(|_| BlockSize::Fixed(8192));
        case.job().load.align = PerDir::all(8192);
        assert!(found_before(&CHECK, &case).is_empty());
        case.job().target.files[0].offset = Bytes(1536);
        assert!(found_before(&CHECK, &case)[0].evidence.starts_with("the first byte is 1536"));
    }
}
