//! Checks that a namespace supports what a job does.

use std::fmt::Display;

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::def::OptionDef;
use fiord_job::option::table::{
    BA, BS_UNALIGNED, FILENAME, NUM_RANGE, OFFSET, OFFSET_INCREMENT, RW, VERIFY, Verify, io_uring,
    nvme,
};
use fiord_sys::nvme::CommandSet;
use fiord_types::{Bytes, Dir};

use crate::load::blocks::size_option;
use crate::load::{write_commands, zones};
use crate::model::{
    FilePlan, Load, Memory, NvmeTarget, ProtectionPlan, ProtectionType, Step, WriteCommand,
};
use crate::options::reading::Reading;

/// Maximum number of blocks in one command: the field has 16 bits, and 0 means one block (NVM
/// Command Set Specification 1.0, 3.2).
const MAX_BLOCKS: u64 = 1 << 16;

/// The properties of a job that the limits of a namespace apply to, and one of its files.
pub(super) struct LimitedJob<'a> {
    pub(super) job: Reading<'a>,
    pub(super) load: &'a Load,
    pub(super) file: &'a FilePlan,
    pub(super) memory: &'a Memory,
    /// Size of a memory page in bytes.
    pub(super) page: u64,
    /// `deac`.
    pub(super) deallocate: bool,
}

/// A limit on the bytes of a command, with its name.
struct Most {
    bytes: u64,
    what: String,
    /// An alternative remedy, appended to the help text.
    help: &'static str,
}

impl LimitedJob<'_> {
    /// Adds one error for everything that the namespace does not support.
    pub(super) fn check(&self, target: &NvmeTarget, polled: bool) {
        self.blocks(target);
        self.offsets(target);
        self.optional_commands(target);
        self.sizes(target);
        if self.load.mix.has(Dir::Trim) {
            self.ranges(target);
        }
        let namespace = &target.device.namespace;
        if namespace.write_protected && self.load.mix.changes_data() {
            self.job.report(self.error(FILENAME, "is write protected").help(
                "To fix: lift its write protection (`nvme set-feature -f 0x84`), or only read",
            ));
        }
        if self.deallocate && !namespace.zeroes_may_deallocate {
            self.job.report(
                self.job.no_effect(
                    nvme::DEAC,
                    format!("`{}` reports that its Write Zeroes does not deallocate (DLFEAT): `deac` has no effect", self.shown()),
                )
                .help("To fix: use `rw=trim` to deallocate"),
            );
        }
        if polled && target.device.driver.is_some_and(|driver| !driver.polls) {
            self.job.report(
                self.job
                    .no_effect(
                        io_uring::HIPRI,
                        format!(
                            "`{}` has no polled queues: completions still arrive by interrupt",
                            self.shown()
                        ),
                    )
                    .help("To fix: load the driver with polled queues: `nvme.poll_queues=2`"),
            );
        }
    }

    fn shown(&self) -> impl Display {
        self.file.path.display()
    }

    fn error(&self, option: impl Into<&'static OptionDef>, what: impl Display) -> Diagnostic {
        self.job.error(option, format!("`{}` {what}", self.shown()))
    }

    /// A warning about a deallocation that the controller may refuse or execute only in part.
    fn deallocation_warning(
        &self,
        option: impl Into<&'static OptionDef>,
        what: impl Display,
    ) -> Diagnostic {
        let may =
            "it may refuse such a command (Command Size Limit Exceeded) or execute only part of it";
        self.job.warning(option, format!("`{}` {what}: {may}", self.shown()))
    }

    fn used(&self) -> impl Iterator<Item = Dir> {
        self.load.mix.dirs()
    }

    /// Checks that block sizes are multiples of the logical block size.
    fn blocks(&self, target: &NvmeTarget) {
        let block = target.block;
        let option = size_option(self.job);
        for dir in self.used() {
            let odd = self.load.blocks[dir].sizes();
            let Some(odd) = odd.into_iter().find(|bytes| !bytes.is_multiple_of(block)) else {
                continue;
            };
            let format = target.device.namespace.format;
            let made_of = if block > format.data.0 as u32 {
                format!(
                    "{block} bytes, {} of data and {} of metadata",
                    format.data.0, format.metadata.0
                )
            } else {
                format!("{block} bytes")
            };
            let near = u64::from(odd).next_multiple_of(block.into());
            self.job.report(
                self.error(
                    option,
                    format!("has blocks of {made_of}, and {odd} bytes are not a multiple of that"),
                )
                .help(format!("To fix: write a block size of {near} bytes")),
            );
        }
        if self.load.unaligned {
            self.job.report(
                self.error(BS_UNALIGNED, format!("takes whole blocks of {block} bytes only"))
                    .help("To fix: leave out `bs_unaligned`"),
            );
        }
    }

    /// Checks that offsets, alignment and steps are multiples of the logical block size.
    fn offsets(&self, target: &NvmeTarget) {
        let block = u64::from(target.block);
        let whole = |option: &'static OptionDef, value: u64| {
            let what =
                format!("has blocks of {block} bytes, and {value} is not a multiple of that");
            let near = value.next_multiple_of(block);
            self.error(option, what).help(format!("To fix: write `{}={near}`", option.name))
        };
        if !self.file.offset.is_multiple_of(Bytes(block)) {
            let option = match self.job.is_set(OFFSET) {
                true => OFFSET.def(),
                false => OFFSET_INCREMENT.def(),
            };
            self.job.report(whole(option, self.file.offset.0));
        }
        if self.job.is_set(BA) {
            let odd = self.used().map(|dir| self.load.align[dir]);
            if let Some(align) = odd.into_iter().find(|align| !align.is_multiple_of(block)) {
                self.job.report(whole(BA.def(), align));
            }
        }
        if let Step::Skip(skip) = self.load.step
            && !skip.unsigned_abs().is_multiple_of(block)
        {
            let what = format!(
                "has blocks of {block} bytes, and the step of {skip} is not a multiple of that"
            );
            self.job.report(self.error(RW, what).help("To fix: write a step of whole blocks"));
        }
    }

    /// Checks that the controller supports the optional commands that the job sends.
    fn optional_commands(&self, target: &NvmeTarget) {
        let identified = target.device.controller.optional;
        let has = |opcode, bit| target.device.has_command(opcode, bit);
        let unsupported = |option: &'static OptionDef, command: &str, bit: u32, help: &str| {
            self.error(option, format!("has no {command} command (ONCS bit {bit} is 0)")).help(help)
        };
        for (form, _) in &self.load.write_commands {
            let (name, bit, there) = match form {
                WriteCommand::Zeroes => ("Write Zeroes", 3, has(0x08, identified.write_zeroes)),
                WriteCommand::Uncorrectable => {
                    ("Write Uncorrectable", 1, has(0x04, identified.write_uncorrectable))
                }
                WriteCommand::Verify => ("Verify", 7, has(0x0c, identified.verify)),
                WriteCommand::Data
                | WriteCommand::Durable
                | WriteCommand::Append
                | WriteCommand::Compare => continue,
            };
            if !there {
                let help =
                    format!("To fix: leave `{}` out of `write_mode`", write_commands::word(*form));
                self.job.report(unsupported(nvme::WRITE_MODE.def(), name, bit, &help));
            }
        }
        self.comparisons(target);
        if self.load.mix.has(Dir::Trim) && !has(0x09, identified.dataset_management) {
            let help =
                "To fix: leave out trims; `write_mode=zeroes` with `deac=1` may deallocate, too";
            self.job.report(unsupported(RW.def(), "Dataset Management", 2, help));
        }
        let appends =
            self.load.write_commands.iter().any(|(form, _)| *form == WriteCommand::Append);
        if appends && target.device.command_set != CommandSet::Zoned {
            self.job.report(
                self.error(nvme::WRITE_MODE, "has no zones to append to")
                    .help("To fix: name a zoned namespace, or leave out `zone_append`"),
            );
        }
        let protection = target.metadata.as_ref().and_then(|metadata| metadata.protection.as_ref());
        let made_here =
            |found: &&ProtectionPlan| found.kind != ProtectionType::Three && !found.by_controller;
        if appends && protection.as_ref().is_some_and(made_here) {
            self.job.report(
                self.error(
                    nvme::WRITE_MODE,
                    "has protection information with reference tags, which contain the block \
                     address: a Zone Append reports its address only when it completes",
                )
                .help("To fix: leave out `pi_act=0`, so that the controller generates them, or use `write_mode=write`"),
            );
        }
        if appends && !zones::wanted(self.job) {
            self.job.report(
                self.job
                    .error(
                        nvme::WRITE_MODE,
                        "io_uring_cmd with write_mode=zone_append requires zonemode=zbd",
                    )
                    .help("To fix: add `zonemode=zbd`"),
            );
        }
    }

    /// Checks that the controller can compare data for a job that wants that.
    fn comparisons(&self, target: &NvmeTarget) {
        if self.job.get(nvme::VERIFY_MODE) != nvme::VerifyMode::Compare {
            return;
        }
        if !target.device.has_command(0x05, target.device.controller.optional.compare) {
            self.job.report(
                self.error(nvme::VERIFY_MODE, "has no Compare command (ONCS bit 0 is 0)")
                    .help("To fix: use `verify_mode=read`"),
            );
        }
        if target.metadata.is_some() {
            self.job.report(
                self.error(
                    nvme::VERIFY_MODE,
                    "has metadata, which a Compare compares as well, and which `verify` does not define",
                )
                .help("To fix: use `verify_mode=read`"),
            );
        }
    }

    /// Checks the block sizes against the limits on the bytes of one command.
    fn sizes(&self, target: &NvmeTarget) {
        let option = size_option(self.job);
        for dir in self.used() {
            let bytes = u64::from(self.load.blocks[dir].max());
            for most in self.limits_of(dir, target) {
                if bytes > most.bytes {
                    let what = format!(
                        "takes at most {} bytes {}; the job has blocks of {bytes}",
                        most.bytes, most.what
                    );
                    let message = match dir {
                        Dir::Trim => self.deallocation_warning(option, what),
                        Dir::Read | Dir::Write => self.error(option, what),
                    };
                    self.job.report(message.help(format!(
                        "To fix: write a block size of {} bytes or less{}",
                        most.bytes, most.help
                    )));
                    break;
                }
            }
        }
    }

    /// Checks the limits on the ranges of one deallocation (NVM 1.0, 4.1.5.4: DMRL, DMSL). The
    /// limits are recommendations: the controller decides what to do with a command that exceeds
    /// them.
    fn ranges(&self, target: &NvmeTarget) {
        let ranges = self.load.trim_ranges;
        let limits = &target.device.limits;
        let block = u64::from(target.block);
        let bytes = u64::from(self.load.blocks[Dir::Trim].max()) * u64::from(ranges);
        let most = limits.deallocate_blocks.map(|blocks| blocks.saturating_mul(block));
        if let Some(most) = limits.deallocate_ranges.filter(|most| u32::from(*most) < ranges) {
            self.job.report(
                self.deallocation_warning(
                    NUM_RANGE,
                    format!("takes at most {most} ranges in a Dataset Management command (DMRL)"),
                )
                .help(format!("To fix: write `num_range={most}` or less")),
            );
        } else if let Some(most) = most.filter(|most| *most < bytes) {
            self.job.report(
                self.deallocation_warning(
                    NUM_RANGE,
                    format!("deallocates at most {most} bytes in one command (DMSL); the job has {bytes}"),
                )
                .help("To fix: write fewer ranges or a smaller `bs`"),
            );
        }
    }

    fn limits_of(&self, dir: Dir, target: &NvmeTarget) -> Vec<Most> {
        let device = &target.device;
        let block = u64::from(target.block);
        // Limits of commands without data count bytes on the medium, without metadata.
        let data = device.namespace.format.data;
        let scaled = |bytes: Bytes| (bytes / data).saturating_mul(block);
        let mut all = Vec::new();
        let whole = Some(MAX_BLOCKS.saturating_mul(block));
        let forms: Vec<WriteCommand> = match dir {
            Dir::Read => vec![WriteCommand::Data],
            Dir::Write if self.load.write_commands.is_empty() => vec![WriteCommand::Data],
            Dir::Write => self.load.write_commands.iter().map(|(form, _)| *form).collect(),
            Dir::Trim => {
                let blocks = device.limits.deallocate_range_blocks.map(u64::from);
                let range = blocks.map(|n| n.saturating_mul(block));
                all.extend(most(range, "in a range of Dataset Management (DMRSL)", ""));
                return all;
            }
        };
        for form in forms {
            let limits = &device.limits;
            match form {
                WriteCommand::Data | WriteCommand::Durable if self.job.get(nvme::NVME_SPLIT) => {}
                // The device would choose the order of the parts of a split append.
                WriteCommand::Data
                | WriteCommand::Durable
                | WriteCommand::Append
                | WriteCommand::Compare => self.transfer(target, form, &mut all),
                WriteCommand::Zeroes => {
                    let limit = limits.write_zeroes.map(scaled);
                    all.extend(most(limit, "in a Write Zeroes command (WZSL)", ""));
                    all.extend(most(whole, "in one command (65536 blocks)", ""));
                    // The zeros are read back.
                    if self.job.get(VERIFY) != Verify::None && !self.job.get(nvme::NVME_SPLIT) {
                        self.transfer(target, WriteCommand::Data, &mut all);
                    }
                }
                WriteCommand::Uncorrectable => {
                    let limit = limits.write_uncorrectable.map(scaled);
                    all.extend(most(limit, "in a Write Uncorrectable command (WUSL)", ""));
                    all.extend(most(whole, "in one command (65536 blocks)", ""));
                }
                WriteCommand::Verify => {
                    all.extend(most(limits.verify.map(scaled), "in a Verify command (VSL)", ""));
                    all.extend(most(whole, "in one command (65536 blocks)", ""));
                }
            }
            if form == WriteCommand::Append {
                let limit = device.zoned.and_then(|zoned| zoned.max_append);
                all.extend(most(limit.map(|limit| limit.0), "in a Zone Append command (ZASL)", ""));
            }
        }
        all
    }

    /// Adds the limits on the data that one command transfers.
    fn transfer(&self, target: &NvmeTarget, form: WriteCommand, all: &mut Vec<Most>) {
        let split = match form {
            WriteCommand::Append => "",
            _ => ", or have larger ones split (`nvme_split=1`)",
        };
        let whole = MAX_BLOCKS.saturating_mul(target.block.into());
        let limit = target.device.max_transfer();
        all.extend(limit.map(|(bytes, name)| Most {
            bytes: bytes.0 - bytes.0 % u64::from(target.block),
            what: format!("in one command ({name})"),
            help: split,
        }));
        if let Some(bytes) = self.scattered(target) {
            let pages = ", or use huge pages (`iomem=mmaphuge`)";
            all.extend(most(Some(bytes), "in pages that are not contiguous (max_segments)", pages));
        }
        all.extend(most(Some(whole), "in one command (65536 blocks)", split));
    }

    /// The largest transfer in bytes if the pages of a buffer are not contiguous. `None`: no limit,
    /// or huge pages, which are contiguous.
    fn scattered(&self, target: &NvmeTarget) -> Option<u64> {
        if matches!(self.memory, Memory::ShmHuge(_) | Memory::MmapHuge { .. }) {
            return None;
        }
        let segments = target.device.driver?.max_segments;
        Some(u64::from(segments).saturating_mul(self.page))
    }

    /// The size in bytes of the commands that larger I/Os are split into. `None`: no limit is
    /// known.
    pub(super) fn split(&self, target: &NvmeTarget) -> Option<u32> {
        let block = u64::from(target.block);
        let limits =
            [target.device.max_transfer().map(|(bytes, _)| bytes.0), self.scattered(target)];
        let least = limits.into_iter().flatten().min()?;
        u32::try_from((least / block).max(1) * block).ok()
    }
}

fn most(bytes: Option<u64>, what: &str, help: &'static str) -> Option<Most> {
    bytes.map(|bytes| Most { bytes, what: what.into(), help })
}
