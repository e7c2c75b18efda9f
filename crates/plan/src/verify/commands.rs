//! Which commands of a job can be verified: those that store the bytes of a write at its offset, or zeros (`write_mode`,
//! `sg_write_mode`), and a Compare of known bytes (`verify_mode`).

use fiord_formats::verify::method::Method;
use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::table::nvme::{NVME_SPLIT, VERIFY_MODE, WRITE_MODE};
use fiord_job::option::table::sg::{SG_WRITE_MODE, SgWriteMode};
use fiord_job::option::table::{TRIM_VERIFY_ZERO, VERIFY_JOURNAL};
use fiord_types::Dir;

use crate::load::write_commands;
use crate::model::{EngineAccess, JobPlan, VerifyMethod, VerifyPlan, WriteCommand};
use crate::options::reading::Reading;

const NOTHING_TO_CHECK: &str =
    "To fix: leave out `verify`, or write with a command that stores the data";

/// How many of the writes of a job are of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    All,
    Some,
}

/// How many of the writes of a job store zeros. `None`: none of them.
pub(super) fn zeroes(plan: &JobPlan) -> Option<Share> {
    let mut commands = plan.load.write_commands.iter().map(|(command, _)| *command);
    let is_zeroes = |command| command == WriteCommand::Zeroes;
    if !plan.load.mix.has(Dir::Write) || !commands.clone().any(is_zeroes) {
        return None;
    }
    Some(if commands.all(is_zeroes) { Share::All } else { Share::Some })
}

/// Refuses writes of zeros whose blocks could not be told from others.
fn zeroes_are_known(job: Reading, verify: &VerifyPlan) {
    if !verify.zeroes {
        return;
    }
    if verify.trims.is_some_and(|trims| !trims.must_read_zero) {
        let what = "with `trim_verify_zero=0`, the contents of trimmed blocks are unknown, and so are those of the \
                    blocks that the job fills with zeros";
        let error = job.error(TRIM_VERIFY_ZERO, what);
        job.report(error.help("To fix: leave out `trim_verify_zero`, or write no zeros"));
    }
    if job.get(VERIFY_JOURNAL).is_some_and(|file| !file.is_empty()) {
        let what = "`verify_journal` does not record writes of zeros, because zeros do not say which write they belong to";
        let error = job.error(VERIFY_JOURNAL, what);
        job.report(error.help("To fix: leave it out, or write data"));
    }
}

/// Refuses writes with commands that do not store the bytes of the write at its offset, and comparisons of bytes that
/// the job does not know.
pub(super) fn check(job: Reading, plan: &JobPlan, verify: &VerifyPlan) {
    if plan.load.mix.has(Dir::Write)
        && let Some(error) = stores_other_bytes(job, plan)
    {
        job.report(error);
    }
    zeroes_are_known(job, verify);
    if !verify.compares_on_device {
        return;
    }
    if verify.method != VerifyMethod::Fio(Method::Pattern) {
        job.report(
            job.error(
                VERIFY_MODE,
                "a device can only compare blocks whose contents follow from their offsets",
            )
            .help("To fix: use `verify=pattern` with a `verify_pattern`, or `verify_mode=read`"),
        );
    }
    if job.get(NVME_SPLIT) {
        job.report(
            job.error(
                VERIFY_MODE,
                "each Compare is one command, which `nvme_split` does not split",
            )
            .help("To fix: leave out `nvme_split`, or use `verify_mode=read`"),
        );
    }
}

/// The error of a job whose writes store other bytes than their own, or none.
fn stores_other_bytes(job: Reading, plan: &JobPlan) -> Option<Diagnostic> {
    if plan.engine.def().access == EngineAccess::ScsiCommands {
        let (what, help) = match job.get(SG_WRITE_MODE) {
            SgWriteMode::Write
            | SgWriteMode::WriteAndVerify
            | SgWriteMode::WriteStream
            | SgWriteMode::WriteSameNdob => return None,
            SgWriteMode::WriteSame => (
                "the device repeats one block instead of the data that `verify` checks",
                NOTHING_TO_CHECK,
            ),
            SgWriteMode::VerifyBytchk00
            | SgWriteMode::VerifyBytchk01
            | SgWriteMode::VerifyBytchk11 => {
                ("the command writes nothing, so there is nothing to verify", NOTHING_TO_CHECK)
            }
        };
        return Some(job.error(SG_WRITE_MODE, what).help(help));
    }
    let (what, help) = plan.load.write_commands.iter().find_map(|(form, _)| {
        let (what, help) = match form {
            WriteCommand::Data
            | WriteCommand::Durable
            | WriteCommand::Compare
            | WriteCommand::Zeroes => return None,
            WriteCommand::Uncorrectable => {
                ("makes every read of its blocks fail, so they cannot be verified", NOTHING_TO_CHECK)
            }
            WriteCommand::Verify => {
                ("writes nothing, so there is nothing to verify", NOTHING_TO_CHECK)
            }
            WriteCommand::Append => (
                "lets the device choose where each block goes, so no block is known to be at its offset",
                "To fix: use `write_mode=write`, or leave out `verify`",
            ),
        };
        Some((format!("`write_mode={}` {what}", write_commands::word(*form)), help))
    })?;
    Some(job.error(WRITE_MODE, what).help(help))
}
