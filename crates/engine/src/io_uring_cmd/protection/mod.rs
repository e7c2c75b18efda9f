//! Protection information of NVMe: the host generates it for writes, checks it after reads, and sets
//! it in commands.
//!
//! Pure functions over bytes. The plan ([`MetadataPlan`]) describes the format of a namespace and the
//! options of the job. The standard is the NVM Express NVM Command Set Specification 1.0, section 5.2,
//! End-to-end Data Protection.
//!
//! | question | module |
//! |---|---|
//! | which bytes of the metadata are which field | [`mod@tuple`] |
//! | how the checksum of a block is computed | [`guard`] |
//! | which fields of a command concern protection information | [`dwords`] |
//! | how a wrong block is reported | [`mismatch`] |

pub(crate) mod dwords;
pub(crate) mod guard;
pub(crate) mod mismatch;
pub(crate) mod tuple;

#[cfg(test)]
mod tests;

use std::ops::Range;

use fiord_plan::{MetadataPlan, ProtectionPlan, ProtectionType};

pub(crate) use dwords::Dwords;
pub(crate) use mismatch::{Field, Mismatch};
use tuple::Tuple;

/// Application tag that disables all checks of a block (5.2.3). Blocks that were never written or
/// are deallocated have it.
pub(crate) const UNCHECKED: u16 = 0xffff;

/// Generates and checks protection information for a job, if that is the work of the host and not
/// of the controller.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostProtection {
    metadata: MetadataPlan,
    plan: ProtectionPlan,
    /// First byte of the protection information in a block's metadata.
    start: usize,
}

impl HostProtection {
    /// For a job whose protection information the host handles (`pi_act=0`). `None` if the
    /// controller handles it, or if there is none.
    pub(crate) fn new(metadata: &MetadataPlan) -> Option<Self> {
        let plan = metadata.protection.filter(|plan| !plan.by_controller)?;
        let bytes = plan.guard.information_bytes();
        let all = usize::from(metadata.metadata_bytes);
        let start = if plan.first { 0 } else { all.checked_sub(bytes)? };
        (start + bytes <= all).then_some(HostProtection { metadata: *metadata, plan, start })
    }

    /// Generates the protection information of a write that begins at block `lba`.
    ///
    /// `data` is the slot's buffer and `separate` its metadata buffer, which is not used if the
    /// metadata is interleaved with the data. A partial block at the end is left unchanged.
    pub(crate) fn generate(&self, data: &mut [u8], separate: &mut [u8], lba: u64) {
        let stride = self.metadata.stride() as usize;
        let (block, meta) = (self.metadata.block_bytes as usize, self.metadata_bytes());
        if self.metadata.in_data() {
            for (i, whole) in data.chunks_exact_mut(stride).enumerate() {
                let (data, meta) = whole.split_at_mut(block);
                self.seal(data, meta, lba.wrapping_add(i as u64));
            }
        } else {
            let blocks = data.chunks_exact(block).zip(separate.chunks_exact_mut(meta));
            for (i, (data, meta)) in blocks.enumerate() {
                self.seal(data, meta, lba.wrapping_add(i as u64));
            }
        }
    }

    /// Checks the protection information of a read that begins at block `lba`.
    ///
    /// # Errors
    ///
    /// The first wrong block, and the field that is wrong.
    pub(crate) fn verify(&self, data: &[u8], separate: &[u8], lba: u64) -> Result<(), Mismatch> {
        let stride = self.metadata.stride() as usize;
        let (block, meta) = (self.metadata.block_bytes as usize, self.metadata_bytes());
        if self.metadata.in_data() {
            for (i, whole) in data.chunks_exact(stride).enumerate() {
                let (data, meta) = whole.split_at(block);
                self.check(data, meta, lba.wrapping_add(i as u64))?;
            }
        } else {
            let blocks = data.chunks_exact(block).zip(separate.chunks_exact(meta));
            for (i, (data, meta)) in blocks.enumerate() {
                self.check(data, meta, lba.wrapping_add(i as u64))?;
            }
        }
        Ok(())
    }

    fn metadata_bytes(&self) -> usize {
        usize::from(self.metadata.metadata_bytes)
    }

    fn place(&self) -> Range<usize> {
        self.start..self.start + self.plan.guard.information_bytes()
    }

    /// Writes the protection information of one block into its metadata.
    fn seal(&self, data: &[u8], meta: &mut [u8], lba: u64) {
        let tuple = Tuple {
            guard: guard::of(self.plan.guard, data, &meta[..self.start]),
            application: self.plan.application_tag,
            space: u128::from(self.plan.reference_tag(lba)),
        };
        tuple.write(self.plan.guard, &mut meta[self.place()]);
    }

    /// Checks the protection information of one block, in the order in which a controller does.
    fn check(&self, data: &[u8], meta: &[u8], lba: u64) -> Result<(), Mismatch> {
        let found = Tuple::read(self.plan.guard, &meta[self.place()]);
        if self.is_unchecked(&found) {
            return Ok(());
        }
        let wrong = |field, expected, found| Err(Mismatch { lba, field, expected, found });
        if self.plan.check.guard {
            let expected = guard::of(self.plan.guard, data, &meta[..self.start]);
            if found.guard != expected {
                return wrong(Field::Guard, expected, found.guard);
            }
        }
        if self.plan.check.application {
            let mask = self.plan.application_mask;
            let (expected, found) = (self.plan.application_tag & mask, found.application & mask);
            if found != expected {
                return wrong(Field::Application { mask }, expected.into(), found.into());
            }
        }
        if self.plan.check.reference && self.plan.kind != ProtectionType::Three {
            let expected = self.plan.reference_tag(lba);
            let found = found.space as u64 & self.plan.reference_mask();
            if found != expected {
                return wrong(Field::Reference, expected, found);
            }
        }
        Ok(())
    }

    /// Whether the tags disable all checks: with types 1 and 2 the application tag alone, with type
    /// 3 together with a reference tag of all ones (5.2.3).
    fn is_unchecked(&self, found: &Tuple) -> bool {
        let mask = self.plan.reference_mask();
        found.application == UNCHECKED
            && (self.plan.kind != ProtectionType::Three || found.space as u64 & mask == mask)
    }
}
