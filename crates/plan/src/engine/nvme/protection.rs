//! How a job handles the metadata and the protection information of a namespace.

use fiord_job::option::value::ValueError;
use fiord_sys::nvme::{self, Device};
use fiord_types::Dir;

use crate::model::{Checks, Guard, Load, MetadataPlan, NvmeTarget, ProtectionPlan, ProtectionType};
use crate::options::messages::Messages;
use crate::options::reading::Reading;

/// Options of protection information, without `md_per_io_size`.
const OPTIONS: [&str; 4] = ["pi_act", "pi_chk", "apptag", "apptag_mask"];
/// The default application tag.
const TAG: u16 = 0x1234;
/// The application tag that disables all checks (NVM Command Set Specification 1.0, 5.2.3).
const UNCHECKED: u16 = 0xffff;

/// Refuses options of metadata if the engine sends no commands.
pub(super) fn of_commands_only(job: Reading, messages: &mut Messages) {
    for name in OPTIONS.into_iter().chain(["md_per_io_size"]).filter(|name| job.is_set(name)) {
        messages.push(
            job.error(
                name,
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
pub(super) fn metadata(job: Reading, device: &Device) -> Option<MetadataPlan> {
    let namespace = &device.namespace;
    (namespace.format.metadata > 0).then(|| MetadataPlan {
        block_bytes: namespace.format.data,
        metadata_bytes: namespace.format.metadata,
        extended: namespace.extended,
        protection: namespace.protection.map(|found| ProtectionPlan {
            guard: match found.guard {
                nvme::Guard::Crc16 => Guard::Crc16,
                nvme::Guard::Crc32 => Guard::Crc32,
                nvme::Guard::Crc64 => Guard::Crc64,
            },
            kind: match found.kind {
                1 => ProtectionType::One,
                2 => ProtectionType::Two,
                _ => ProtectionType::Three,
            },
            first: found.first,
            storage_tag_bits: found.storage_tag_bits,
            by_controller: !job.is_set("pi_act") || job.flag("pi_act"),
            check: checks(job).unwrap_or_default(),
            application_tag: tag(job, "apptag").unwrap_or(TAG),
            application_mask: tag(job, "apptag_mask").unwrap_or(u16::MAX),
        }),
    })
}

/// Parses `pi_chk`.
///
/// # Errors
/// A word is not a part of the protection information.
fn checks(job: Reading) -> Result<Checks, ValueError> {
    let mut checks = Checks::default();
    let text = job.set_text("pi_chk").unwrap_or_default();
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

/// The value of a 16-bit tag or mask. `None`: not set, or too large.
fn tag(job: Reading, name: &str) -> Option<u16> {
    job.set_count32(name).and_then(|value| u16::try_from(value).ok())
}

/// Refuses invalid values.
pub(super) fn values(job: Reading, messages: &mut Messages) {
    if let Err(wrong) = checks(job) {
        messages.push(
            job.error("pi_chk", wrong.what).help("To fix: write some of `GUARD,REFTAG,APPTAG`"),
        );
    }
    for name in ["apptag", "apptag_mask"] {
        if job.is_set(name) && tag(job, name).is_none() {
            messages.push(
                job.error(name, format!("`{name}` has 16 bits")).help(format!(
                    "To fix: write a value from 0 to 0xffff, such as `{name}=0x1234`"
                )),
            );
        }
    }
}

/// Refuses a `md_per_io_size` that is too small for the separate metadata of the job's largest
/// block.
pub(super) fn buffer(job: Reading, load: &Load, target: &NvmeTarget, messages: &mut Messages) {
    let (Some(size), Some(metadata)) = (job.set_count32("md_per_io_size"), &target.metadata) else {
        return;
    };
    let moved = [(Dir::Read, load.mix.has(Dir::Read)), (Dir::Write, load.writes_data())];
    let sizes = moved.into_iter().filter(|(_, moves)| *moves);
    let largest = sizes.map(|(dir, _)| load.blocks[dir].max()).max().unwrap_or(0);
    let needed = metadata.separate_bytes(largest);
    if size > 0 && needed > u64::from(size) {
        messages.push(
            job.error(
                "md_per_io_size",
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

/// Warns of options that have no effect with a namespace.
pub(super) fn without_effect(job: Reading, target: &NvmeTarget, messages: &mut Messages) {
    if target.metadata.as_ref().is_some_and(|metadata| metadata.extended)
        && job.is_set("md_per_io_size")
        && job.count("md_per_io_size") > Some(0)
    {
        messages.push(job.no_effect(
            "md_per_io_size",
            "`md_per_io_size` has no effect: the namespace transfers its metadata after the data of each block",
        ));
    }
    let Some(protection) = target.metadata.as_ref().and_then(|m| m.protection.as_ref()) else {
        for name in OPTIONS.into_iter().filter(|name| job.is_set(name)) {
            messages.push(job.no_effect(
                name,
                format!("`{name}` has no effect: the namespace has no protection information"),
            ));
        }
        if target.metadata.is_none() && job.is_set("md_per_io_size") {
            messages.push(job.no_effect(
                "md_per_io_size",
                "`md_per_io_size` has no effect: the namespace has no metadata",
            ));
        }
        return;
    };
    if protection.check.reference && protection.kind == ProtectionType::Three {
        messages.push(job.no_effect(
            "pi_chk",
            "reference tags are not checked: with protection type 3 they have no meaning",
        ));
    }
    if protection.application_tag == UNCHECKED && protection.check != Checks::default() {
        messages.push(
            job.warning("apptag", "blocks with the application tag 0xffff are not checked at all")
                .help("To fix: write another `apptag`"),
        );
    }
}
