//! How a job handles the metadata and the protection information of a namespace.

use fiord_job::option::def::OptionDef;
use fiord_job::option::table::nvme::{APPTAG, APPTAG_MASK, MD_PER_IO_SIZE, PI_ACT, PI_CHK};
use fiord_job::option::value::ValueError;
use fiord_sys::nvme::{self, NvmeDevice};
use fiord_types::{Bytes, Dir};

use crate::model::{Checks, Guard, Load, MetadataPlan, NvmeTarget, ProtectionPlan, ProtectionType};
use crate::options::reading::Reading;

/// Options of protection information, without `md_per_io_size`.
const OPTIONS: [&OptionDef; 4] = [PI_ACT.def(), PI_CHK.def(), APPTAG.def(), APPTAG_MASK.def()];
/// The application tag that disables all checks (NVM Command Set Specification 1.0, 5.2.3).
const UNCHECKED: u16 = 0xffff;

/// Refuses options of metadata if the engine sends no commands.
pub(super) fn of_commands_only(job: Reading) {
    let all = OPTIONS.into_iter().chain([MD_PER_IO_SIZE.def()]);
    for option in all.filter(|option| job.is_set(*option)) {
        let name = option.name;
        job.report(
            job.error(
                option,
                format!(
                    "`{name}` works only with pass-through commands: fiord does not support \
                     metadata on reads and writes of a block device yet"
                ),
            )
            .help(format!("To fix: use `ioengine=io_uring_cmd`, or leave out `{name}`")),
        );
    }
}

/// How the job handles the metadata of a namespace. `None`: the namespace has no metadata.
pub(super) fn metadata(job: Reading, device: &NvmeDevice) -> Option<MetadataPlan> {
    let namespace = &device.namespace;
    (namespace.format.metadata > Bytes::ZERO).then(|| MetadataPlan {
        block_bytes: namespace.format.data.0 as u32,
        metadata_bytes: namespace.format.metadata.0 as u16,
        extended: namespace.extended,
        protection: namespace.protection.map(|found| ProtectionPlan {
            guard: match found.guard {
                nvme::GuardFormat::Crc16 => Guard::Crc16,
                nvme::GuardFormat::Crc32 => Guard::Crc32,
                nvme::GuardFormat::Crc64 => Guard::Crc64,
            },
            kind: match found.kind {
                1 => ProtectionType::One,
                2 => ProtectionType::Two,
                _ => ProtectionType::Three,
            },
            first: found.first,
            storage_tag_bits: found.storage_tag_bits,
            by_controller: job.get(PI_ACT),
            check: checks(job).unwrap_or_default(),
            application_tag: job.get(APPTAG).try_into().unwrap_or_default(),
            application_mask: job.get(APPTAG_MASK).try_into().unwrap_or_default(),
        }),
    })
}

/// Parses `pi_chk`.
///
/// # Errors
/// A word is not a part of the protection information.
fn checks(job: Reading) -> Result<Checks, ValueError> {
    let mut checks = Checks::default();
    let text = job.get(PI_CHK).unwrap_or_default();
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match word.to_ascii_uppercase().as_str() {
            "GUARD" => checks.guard = true,
            "REFTAG" => checks.reference = true,
            "APPTAG" => checks.application = true,
            _ => {
                let what = format!("`{word}` is not a part of the protection information");
                return Err(ValueError::new(what));
            }
        }
    }
    Ok(checks)
}

/// Refuses invalid values.
pub(super) fn values(job: Reading) {
    if let Err(wrong) = checks(job) {
        job.report(
            job.error(PI_CHK, wrong.what).help("To fix: write some of `GUARD,REFTAG,APPTAG`"),
        );
    }
    for tag in [APPTAG, APPTAG_MASK] {
        if job.get(tag) > u16::MAX.into() {
            let name = tag.name();
            job.report(
                job.error(tag, format!("`{name}` has 16 bits")).help(format!(
                    "To fix: write a value from 0 to 0xffff, such as `{name}=0x1234`"
                )),
            );
        }
    }
}

/// Refuses a `md_per_io_size` that is too small for the separate metadata of the job's largest
/// block.
pub(super) fn buffer(job: Reading, load: &Load, target: &NvmeTarget) {
    let (Some(size), Some(metadata)) = (job.explicit(MD_PER_IO_SIZE), &target.metadata) else {
        return;
    };
    let moved = [(Dir::Read, load.mix.has(Dir::Read)), (Dir::Write, load.writes_data())];
    let sizes = moved.into_iter().filter(|(_, moves)| *moves);
    let largest = sizes.map(|(dir, _)| load.blocks[dir].max()).max().unwrap_or(0);
    let needed = metadata.separate_bytes(largest);
    if size > Bytes::ZERO && Bytes(needed) > size {
        job.report(
            job.error(
                MD_PER_IO_SIZE,
                format!(
                    "I/Os of {largest} bytes have {needed} bytes of separate metadata, {} per \
                     block: the buffer of {size} bytes is too small",
                    metadata.metadata_bytes
                ),
            )
            .help(format!("To fix: write `md_per_io_size={needed}`, or leave it out")),
        );
    }
}

/// Warns of a tag that disables the checks of a namespace.
pub(super) fn unchecked_tag(job: Reading, target: &NvmeTarget) {
    let protection = target.metadata.as_ref().and_then(|metadata| metadata.protection.as_ref());
    if protection.is_some_and(|protection| {
        protection.application_tag == UNCHECKED && protection.check != Checks::default()
    }) {
        job.report(
            job.warning(
                APPTAG,
                "the controller does not check blocks with the application tag 0xffff",
            )
            .help("To fix: write another `apptag`"),
        );
    }
}
