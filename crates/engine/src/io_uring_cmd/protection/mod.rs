//! Protection information of NVMe: made for writes, checked after reads, asked for in commands.
//!
//! Pure functions over bytes; the plan ([`MetadataPlan`]) says how a namespace is formatted and what
//! the job wants. The standard is the NVM Express NVM Command Set Specification 1.0, section 5.2,
//! End-to-end Data Protection.
//!
//! | question | module |
//! |---|---|
//! | which bytes of the metadata are which field | [`mod@tuple`] |
//! | what is the checksum of a block | [`guard`] |
//! | what does a command say of protection information | [`dwords`] |
//! | how is a wrong block reported | [`mismatch`] |

pub mod dwords;
pub mod guard;
pub mod mismatch;
pub mod tuple;

#[cfg(test)]
mod tests;

use std::ops::Range;

use fiord_plan::{MetadataPlan, ProtectionPlan, ProtectionType};

pub use dwords::Dwords;
pub use mismatch::{Field, Mismatch};
use tuple::Tuple;

/// The application tag that says: check nothing of this block (5.2.3). So do blocks that were never
/// written or are deallocated.
pub const UNCHECKED: u16 = 0xffff;

/// What to do with the metadata of a job's I/Os where that is the host's work, and not the
/// controller's.
#[derive(Debug, Clone, Copy)]
pub struct Protection {
    metadata: MetadataPlan,
    plan: ProtectionPlan,
    /// Where in a block's metadata the protection information begins.
    start: usize,
}

impl Protection {
    /// For a job whose protection information is made and checked here (`pi_act=0`); `None` where
    /// there is none, or the controller does it.
    pub fn new(metadata: &MetadataPlan) -> Option<Self> {
        let plan = metadata.protection.filter(|plan| !plan.by_controller)?;
        let bytes = plan.guard.information_bytes();
        let all = usize::from(metadata.metadata_bytes);
        let start = if plan.first { 0 } else { all.checked_sub(bytes)? };
        (start + bytes <= all).then_some(Protection { metadata: *metadata, plan, start })
    }

    /// Makes the protection information of a write that begins at `lba`.
    ///
    /// `data` is the slot's buffer; `separate` its metadata buffer, not used where metadata lies
    /// among the data. What is not a whole block is left alone.
    pub fn generate(&self, data: &mut [u8], separate: &mut [u8], lba: u64) {
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

    /// Checks what a read from `lba` on brought.
    ///
    /// # Errors
    /// The first block that is not what it should be, and the field that shows it.
    pub fn verify(&self, data: &[u8], separate: &[u8], lba: u64) -> Result<(), Mismatch> {
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

    /// Writes one block's protection information into its metadata.
    fn seal(&self, data: &[u8], meta: &mut [u8], lba: u64) {
        let tuple = Tuple {
            guard: guard::of(self.plan.guard, data, &meta[..self.start]),
            application: self.plan.application_tag,
            space: u128::from(self.plan.reference_tag(lba)),
        };
        tuple.write(self.plan.guard, &mut meta[self.place()]);
    }

    /// Looks at one block's protection information, in the order in which a controller does.
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

    /// Whether the tags say that nothing is to be checked: the application tag alone for types 1 and
    /// 2, together with a reference tag of all ones for type 3 (5.2.3).
    fn is_unchecked(&self, found: &Tuple) -> bool {
        let mask = self.plan.reference_mask();
        found.application == UNCHECKED
            && (self.plan.kind != ProtectionType::Three || found.space as u64 & mask == mask)
    }
}
