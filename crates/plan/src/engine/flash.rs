//! `ioengine=mtd`: whether a target is a raw flash, and whether it permits the job's sizes and offsets.

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::def::OptionDef;
use fiord_job::option::table::file_operations::SKIP_BAD;
use fiord_job::option::table::{
    BA, BS_UNALIGNED, FILENAME, IO_SUBMIT_MODE, IoSubmitMode, OFFSET, OFFSET_INCREMENT, RW,
    TRIM_PERCENTAGE, TRIM_VERIFY_ZERO,
};
use fiord_sys::flash::Flash;
use fiord_types::{Bytes, Dir};

use crate::files::region::Extent;
use crate::files::usage::Candidate;
use crate::load::blocks::size_option;
use crate::machine::facts::{Found, FoundKind};
use crate::machine::survey::Survey;
use crate::model::{EnginePlan, FileKind, FilePlan, JobPlan, Load, MtdPlan, Step};
use crate::options::reading::Reading;
use crate::options::verification::trims_writes;

/// How to find the devices of raw flash.
const NAME_ONE: &str =
    "To fix: name the character device of one (/dev/mtd0; `cat /proc/mtd` lists them)";

pub(super) fn options(job: Reading) -> MtdPlan {
    MtdPlan { skip_bad: job.get(SKIP_BAD) }
}

/// The kind and the extent of the raw flash at a path. `None`: it does not support the job, and a message says why.
pub(super) fn target(
    candidate: Candidate,
    found: Found,
    survey: &mut Survey,
) -> Option<(FileKind, Extent)> {
    let Candidate { job, path, usage } = candidate;
    let shown = path.display();
    let flash = match found.kind {
        FoundKind::Char => survey.facts.flash(path),
        _ => None,
    };
    let Some(flash) = flash else {
        let is = match found.kind {
            FoundKind::Char => "not raw flash",
            other => other.in_words(),
        };
        let what =
            format!("`{shown}` is {is}, and `ioengine={}` works on raw flash", usage.engine.name);
        job.report(job.error(FILENAME, what).help(NAME_ONE));
        return None;
    };
    if usage.changes && !flash.writable {
        let what = format!("`{shown}` is read-only");
        let help = "To fix: use `rw=read`, or name a device that can be written (/dev/mtd0, not /dev/mtd0ro)";
        job.report(job.error(FILENAME, what).help(help));
        return None;
    }
    Some((FileKind::Char, Extent::Fixed(flash.size.0)))
}

/// Refuses threads that share a flash.
pub(super) fn threads(job: Reading, engine: &EnginePlan, _: &Load) {
    if job.get(IO_SUBMIT_MODE) == IoSubmitMode::Offload {
        let name = engine.def().name;
        let what = format!(
            "`ioengine={name}` makes its calls on one thread: a flash carries out one operation at a time"
        );
        job.report(job.error(IO_SUBMIT_MODE, what).help("To fix: leave it out"));
    }
}

/// Refuses sizes and offsets that the flashes of a job do not permit.
pub(super) fn check(job: Reading, plan: &mut JobPlan, files: &[FilePlan], survey: &mut Survey) {
    let load = &plan.load;
    for file in files {
        let Some(flash) = survey.facts.flash(&file.path) else { continue };
        let on = OnFlash { job, load, file, flash };
        let before = job.messages.error_count();
        if load.mix.has(Dir::Write) {
            on.fits(Dir::Write, on.flash.write_unit, "is written in units of");
        }
        if load.mix.has(Dir::Trim) && job.messages.error_count() == before {
            on.fits(Dir::Trim, on.flash.erase_block, "is erased in blocks of");
        }
        if trims_writes(job, load.mix) {
            on.trims_of_written_blocks();
        }
        if job.messages.error_count() > before {
            return;
        }
    }
}

/// A job and one of its flashes.
struct OnFlash<'a> {
    job: Reading<'a>,
    load: &'a Load,
    file: &'a FilePlan,
    flash: Flash,
}

impl OnFlash<'_> {
    /// An error about a number of bytes that is not a multiple of `unit`.
    fn odd(&self, option: &'static OptionDef, odd: u64, unit: Bytes, is: &str) -> Diagnostic {
        let what = format!(
            "`{}` {is} {unit} bytes, and {odd} is not a multiple of that",
            self.file.path.display()
        );
        self.job.error(option, what).help(format!("To fix: write {}", odd.next_multiple_of(unit.0)))
    }

    /// Checks that sizes and offsets of one direction are multiples of `unit`.
    fn fits(&self, dir: Dir, unit: Bytes, is: &str) {
        let whole = |bytes: u64| bytes.is_multiple_of(unit.0);
        let sizes = self.load.blocks[dir].sizes();
        if let Some(odd) = sizes.into_iter().map(u64::from).find(|bytes| !whole(*bytes)) {
            self.job.report(self.odd(size_option(self.job), odd, unit, is));
        }
        if self.load.unaligned && unit > Bytes(1) {
            let what = format!("`{}` {is} {unit} bytes", self.file.path.display());
            let help = "To fix: leave out `bs_unaligned`";
            self.job.report(self.job.error(BS_UNALIGNED, what).help(help));
        }
        if !whole(self.file.offset.0) {
            let option = match self.job.is_set(OFFSET) {
                true => OFFSET.def(),
                false => OFFSET_INCREMENT.def(),
            };
            self.job.report(self.odd(option, self.file.offset.0, unit, is));
        }
        let align = self.load.align[dir];
        if self.job.is_set(BA) && !whole(align) {
            self.job.report(self.odd(BA.def(), align, unit, is));
        }
        if let Step::Skip(skip) = self.load.step
            && !whole(skip.unsigned_abs())
        {
            self.job.report(self.odd(RW.def(), skip.unsigned_abs(), unit, is));
        }
    }

    /// Refuses trims of single written blocks (`trim_percentage`) that are not erase blocks, or are expected to
    /// contain zeros.
    fn trims_of_written_blocks(&self) {
        let job = self.job;
        let shown = self.file.path.display();
        let unit = self.flash.erase_block;
        let sizes = self.load.blocks[Dir::Write].sizes();
        if sizes.into_iter().any(|bytes| !Bytes(bytes.into()).is_multiple_of(unit)) {
            let what = format!(
                "`{shown}` is erased in blocks of {unit} bytes, and the job trims blocks that it writes"
            );
            let help = format!("To fix: write `bs={unit}`, or leave out `trim_percentage`");
            job.report(job.error(TRIM_PERCENTAGE, what).help(help));
        }
        if job.get(TRIM_VERIFY_ZERO) {
            let what = format!(
                "all bits of an erased block of `{shown}` are 1, so that it contains no zeros"
            );
            job.report(
                job.error(TRIM_VERIFY_ZERO, what).help("To fix: write `trim_verify_zero=0`"),
            );
        }
    }
}
