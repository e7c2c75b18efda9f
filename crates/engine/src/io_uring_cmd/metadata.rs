//! Metadata of the ops: its buffers, and the protection information in it.

use fiord_plan::{MetadataPlan, NvmeTarget, ProtectionType, WriteCommand};
use fiord_types::FileIndex;

use super::command::{NvmeCommand, REMAP_TAGS};
use super::protection::dwords::{CHECK_APPLICATION, CHECK_GUARD, CHECK_REFERENCE, PRACT};
use super::protection::{Dwords, HostProtection, Mismatch};
use crate::Slot;

/// Metadata of a job whose namespaces have metadata.
#[derive(Debug)]
pub(super) struct Metadata {
    files: Vec<Option<FileMetadata>>,
    /// One buffer per slot for metadata that is transferred separately from the data; empty if
    /// there is none.
    buffers: Vec<u8>,
    /// Length in bytes of each buffer.
    stride: usize,
    /// Per slot, the read in flight whose protection information the engine will check.
    reads: Vec<Option<Read>>,
    /// Per slot, what was wrong with the last read.
    wrong: Vec<Option<Mismatch>>,
}

/// Metadata of one namespace.
#[derive(Debug, Clone, Copy)]
struct FileMetadata {
    plan: MetadataPlan,
    /// Generates and checks protection information on the host; `None` if the controller does it,
    /// or if there is none.
    host: Option<HostProtection>,
}

/// A read whose protection information is to be checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read {
    file: FileIndex,
    first: u64,
}

/// The blocks of a command, and their position in the op.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blocks {
    pub first: u64,
    /// Number of blocks.
    pub count: u32,
    /// Number of blocks of the same op that precede them, in other commands.
    pub before: u32,
}

impl Metadata {
    /// Allocates buffers for `slots` slots with data buffers of `buffer_bytes`. `None` if no
    /// namespace has metadata.
    pub(super) fn new(targets: &[NvmeTarget], slots: u32, buffer_bytes: u32) -> Option<Box<Self>> {
        let files: Vec<Option<FileMetadata>> = targets
            .iter()
            .map(|target| {
                let plan = target.metadata?;
                Some(FileMetadata { plan, host: HostProtection::new(&plan) })
            })
            .collect();
        let known = || files.iter().flatten();
        known().next()?;
        let separate = known().map(|file| file.plan.separate_bytes(buffer_bytes)).max();
        // The standard demands that metadata pointers are aligned to dwords (NVM 3.2.1).
        let stride = (separate.unwrap_or(0) as usize).next_multiple_of(8);
        let checked = if known().any(|file| file.host.is_some()) { slots as usize } else { 0 };
        Some(Box::new(Metadata {
            buffers: vec![0; stride * slots as usize],
            stride,
            reads: vec![None; checked],
            wrong: vec![None; checked],
            files,
        }))
    }

    fn of(&self, file: FileIndex) -> Option<FileMetadata> {
        self.files.get(file.get()).copied().flatten()
    }

    /// Sets the fields for protection information in a command. For all commands that have these
    /// fields, whether they transfer data or not.
    pub(super) fn mark(&self, file: FileIndex, blocks: Blocks, command: &mut NvmeCommand) {
        let Some(protection) = self.of(file).and_then(|file| file.plan.protection) else { return };
        let dwords = Dwords::new(&protection, blocks.first);
        command.cdw2 |= dwords.cdw2;
        command.cdw3 |= dwords.cdw3;
        command.cdw12 |= dwords.cdw12;
        command.cdw14 |= dwords.cdw14;
        command.cdw15 |= dwords.cdw15;
    }

    /// Sets the fields for protection information in a Zone Append, whose `blocks` begin with the
    /// zone's first block. The controller replaces the reference tags by those of the blocks that
    /// it chose.
    pub(super) fn mark_append(&self, file: FileIndex, blocks: Blocks, command: &mut NvmeCommand) {
        self.mark(file, blocks, command);
        let protection = self.of(file).and_then(|file| file.plan.protection);
        if protection.is_some_and(|protection| protection.kind != ProtectionType::Three) {
            command.cdw12 |= REMAP_TAGS;
        }
    }

    /// Sets the fields for protection information in a command without data. With Write Zeroes the
    /// controller generates the protection information, because the host sends none. A Verify
    /// checks what `pi_chk` names, and generates nothing (NVM 3.2.5, 3.2.8).
    pub(super) fn mark_without_data(
        &mut self,
        form: WriteCommand,
        file: FileIndex,
        blocks: Blocks,
        command: &mut NvmeCommand,
    ) {
        if self.of(file).and_then(|file| file.plan.protection).is_none() {
            return;
        }
        self.mark(file, blocks, command);
        if form == WriteCommand::Zeroes {
            command.cdw12 &= !(CHECK_GUARD | CHECK_APPLICATION | CHECK_REFERENCE);
            command.cdw12 |= PRACT;
        } else {
            command.cdw12 &= !PRACT;
        }
    }

    /// Points a command to its part of the slot's metadata buffer.
    pub(super) fn point(
        &mut self,
        slot: Slot,
        file: FileIndex,
        blocks: Blocks,
        command: &mut NvmeCommand,
    ) {
        let Some(plan) = self.of(file).map(|file| file.plan) else { return };
        let bytes = |count: u32| plan.separate_bytes(plan.block_bytes) as usize * count as usize;
        let len = bytes(blocks.count);
        if len > 0 {
            let at = slot as usize * self.stride + bytes(blocks.before);
            if let Some(part) = self.buffers.get_mut(at..at + len) {
                command.metadata = part.as_mut_ptr() as u64;
                command.metadata_len = len as u32;
            }
        }
    }

    /// Generates the protection information of a write, if the host does that.
    pub(super) fn seal(&mut self, slot: Slot, file: FileIndex, first: u64, data: &mut [u8]) {
        if let Some(host) = self.of(file).and_then(|file| file.host) {
            host.generate(data, self.buffer(slot), first);
        }
    }

    /// Notes a read, which is checked when it has completed.
    pub(super) fn expect(&mut self, slot: Slot, file: FileIndex, first: u64) {
        let checked = self.of(file).is_some_and(|file| file.host.is_some());
        if let Some(read) = self.reads.get_mut(slot as usize) {
            *read = checked.then_some(Read { file, first });
        }
        if let Some(wrong) = self.wrong.get_mut(slot as usize) {
            *wrong = None;
        }
    }

    /// The slot's read, which has completed, if it is to be checked. Returns it once.
    pub(super) fn expected(&mut self, slot: Slot) -> Option<Read> {
        self.reads.get_mut(slot as usize).and_then(Option::take)
    }

    /// Checks the protection information of a read. Keeps what is wrong for [`Metadata::mismatch`].
    pub(super) fn is_right(&mut self, slot: Slot, read: Read, data: &[u8]) -> bool {
        let Some(host) = self.of(read.file).and_then(|file| file.host) else { return true };
        let Err(wrong) = host.verify(data, self.buffer(slot), read.first) else { return true };
        if let Some(last) = self.wrong.get_mut(slot as usize) {
            *last = Some(wrong);
        }
        false
    }

    /// The first wrong block of the slot's last read. Returns it once.
    pub(super) fn mismatch(&mut self, slot: Slot) -> Option<Mismatch> {
        self.wrong.get_mut(slot as usize).and_then(Option::take)
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        let at = slot as usize * self.stride;
        self.buffers.get_mut(at..at + self.stride).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fiord_plan::{Checks, Guard, ProtectionPlan};
    use fiord_sys::nvme::{NvmeDevice, identify};

    use super::*;

    fn target(extended: bool, metadata_bytes: u16, by_controller: bool) -> NvmeTarget {
        let nothing = Box::new([0; 4096]);
        let device = NvmeDevice {
            nsid: 1,
            command_set: identify::CommandSet::Nvm,
            controller: identify::Controller::parse(&nothing),
            namespace: identify::Namespace::parse(&nothing),
            commands: None,
            limits: Default::default(),
            zoned: None,
            driver: None,
        };
        let metadata = MetadataPlan {
            block_bytes: 512,
            metadata_bytes,
            extended,
            protection: Some(ProtectionPlan {
                guard: Guard::Crc16,
                kind: ProtectionType::One,
                first: false,
                storage_tag_bits: 0,
                by_controller,
                check: Checks { guard: true, reference: true, application: true },
                application_tag: 0x1234,
                application_mask: 0xffff,
            }),
        };
        let block = metadata.stride();
        NvmeTarget { device: Arc::new(device), metadata: Some(metadata), block, split: None }
    }

    const BLOCKS: Blocks = Blocks { first: 100, count: 4, before: 4 };

    #[test]
    fn protection_by_the_controller_needs_no_buffer() {
        let mut metadata = Metadata::new(&[target(false, 8, true)], 2, 4096).unwrap();
        let mut command = NvmeCommand::default();
        metadata.mark(FileIndex(0), BLOCKS, &mut command);
        metadata.point(1, FileIndex(0), BLOCKS, &mut command);
        assert_eq!((command.metadata, command.metadata_len), (0, 0));
        // PRACT and the three checks; the reference tag of the first block.
        assert_eq!((command.cdw12, command.cdw14), (0xf << 26, 100));
    }

    #[test]
    fn zone_appends_remap_reference_tags_except_with_type_3() {
        for (kind, cdw12, tag) in [
            (ProtectionType::One, 0xf << 26 | 1 << 25, 100),
            (ProtectionType::Two, 0xf << 26 | 1 << 25, 100),
            (ProtectionType::Three, 0b1110 << 26, 0),
        ] {
            let mut target = target(false, 8, true);
            if let Some(protection) = target.metadata.as_mut().and_then(|m| m.protection.as_mut()) {
                protection.kind = kind;
            }
            let metadata = Metadata::new(&[target], 2, 4096).unwrap();
            let mut command = NvmeCommand::default();
            metadata.mark_append(FileIndex(0), BLOCKS, &mut command);
            assert_eq!((command.cdw12, command.cdw14), (cdw12, tag), "{kind:?}");
        }
    }

    #[test]
    fn each_part_of_an_op_has_its_part_of_the_buffer() {
        let mut metadata = Metadata::new(&[target(false, 16, true)], 2, 4096).unwrap();
        let mut command = NvmeCommand::default();
        metadata.point(1, FileIndex(0), BLOCKS, &mut command);
        let begin = metadata.buffers.as_ptr() as u64 + 128;
        assert_eq!((command.metadata, command.metadata_len), (begin + 64, 64));
    }

    #[test]
    fn protection_generated_by_the_host_is_checked_by_the_host() {
        for extended in [true, false] {
            let mut metadata = Metadata::new(&[target(extended, 8, false)], 2, 4160).unwrap();
            let mut data = vec![7; if extended { 4160 } else { 4096 }];
            metadata.seal(1, FileIndex(0), 9, &mut data);
            metadata.expect(1, FileIndex(0), 9);
            let read = metadata.expected(1).unwrap();
            assert!(metadata.is_right(1, read, &data));
            assert_eq!(metadata.mismatch(1), None);
            data[3] ^= 1;
            assert!(!metadata.is_right(1, read, &data));
            // The mismatch belongs to this slot, and is returned once.
            assert_eq!(metadata.mismatch(0), None);
            assert_eq!(metadata.mismatch(1).map(|wrong| wrong.lba), Some(9));
            assert_eq!(metadata.mismatch(1), None);
            assert!(metadata.expected(1).is_none());
        }
    }

    #[test]
    fn commands_without_data() {
        for by_controller in [true, false] {
            let mut metadata = Metadata::new(&[target(false, 8, by_controller)], 1, 4096).unwrap();
            let mut with = |form| {
                let mut command = NvmeCommand::default();
                metadata.mark_without_data(form, FileIndex(0), BLOCKS, &mut command);
                (command.cdw12 >> 26, command.cdw14)
            };
            assert_eq!(with(WriteCommand::Zeroes), (0b1000, 100));
            assert_eq!(with(WriteCommand::Verify), (0b0111, 100));
        }
    }

    #[test]
    fn without_metadata_there_is_nothing() {
        let mut plain = target(false, 8, true);
        plain.metadata = None;
        assert!(Metadata::new(&[plain], 2, 4096).is_none());
    }
}
