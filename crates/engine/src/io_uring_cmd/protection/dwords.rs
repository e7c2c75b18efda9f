//! Fields for protection information in read, write, compare and verify commands.
//!
//! NVM Command Set Specification 1.0, 3.2 (dwords of each command), 5.2.1.4.1 (storage and
//! reference tags in commands).

use fiord_plan::{Guard, ProtectionPlan, ProtectionType};

/// Command Dword 12, bit 29: the controller generates and strips protection information (`PRACT`).
pub(crate) const PRACT: u32 = 1 << 29;
/// Command Dword 12, bit 28: the controller checks the guard.
pub(crate) const CHECK_GUARD: u32 = 1 << 28;
/// Command Dword 12, bit 27: the controller checks the application tag.
pub(crate) const CHECK_APPLICATION: u32 = 1 << 27;
/// Command Dword 12, bit 26: the controller checks the reference tag.
pub(crate) const CHECK_REFERENCE: u32 = 1 << 26;

/// The bits of a command's dwords that belong to protection information. All other bits are 0, so
/// the values can be or-ed into a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Dwords {
    /// Highest bits of the storage and reference tags.
    pub cdw2: u32,
    /// Middle bits of the storage and reference tags.
    pub cdw3: u32,
    /// The field `PRINFO`.
    pub cdw12: u32,
    /// Lowest 32 bits of the storage and reference tags.
    pub cdw14: u32,
    /// Application tag (low half) and its mask (high half).
    pub cdw15: u32,
}

impl Dwords {
    /// Fields of a command whose first block is `lba`.
    pub(crate) const fn new(plan: &ProtectionPlan, lba: u64) -> Self {
        let tag = plan.reference_tag(lba);
        // The storage tag is 0, so the space holds only the reference tag. It fills the dwords from
        // below: a 16b guard leaves 32 bits; a 32b guard 80 bits up to dword 2, which a tag of at
        // most 64 bits does not reach; a 64b guard 48 bits up to the low half of dword 3.
        let high = match plan.guard {
            Guard::Crc16 => 0,
            Guard::Crc32 | Guard::Crc64 => (tag >> 32) as u32,
        };
        Dwords {
            cdw2: 0,
            cdw3: high,
            cdw12: information(plan),
            cdw14: tag as u32,
            cdw15: plan.application_tag as u32 | (plan.application_mask as u32) << 16,
        }
    }
}

/// The field `PRINFO` of dword 12.
const fn information(plan: &ProtectionPlan) -> u32 {
    let mut bits = 0;
    if plan.by_controller {
        bits |= PRACT;
    }
    if plan.check.guard {
        bits |= CHECK_GUARD;
    }
    if plan.check.application {
        bits |= CHECK_APPLICATION;
    }
    // A controller refuses a command that asks for this check with type 3 (5.2.3).
    if plan.check.reference && !matches!(plan.kind, ProtectionType::Three) {
        bits |= CHECK_REFERENCE;
    }
    bits
}

#[cfg(test)]
mod tests {
    use fiord_plan::Checks;

    use super::*;

    fn plan(guard: Guard, kind: ProtectionType) -> ProtectionPlan {
        ProtectionPlan {
            guard,
            kind,
            first: false,
            storage_tag_bits: 0,
            by_controller: true,
            check: Checks { guard: true, reference: true, application: false },
            application_tag: 0x1234,
            application_mask: 0xff00,
        }
    }

    #[test]
    fn each_format_places_its_tags() {
        let lba = 0x0102_0304_0506_0708;
        let at = |guard| Dwords::new(&plan(guard, ProtectionType::One), lba);
        let dwords = at(Guard::Crc16);
        assert_eq!((dwords.cdw2, dwords.cdw3, dwords.cdw14), (0, 0, 0x0506_0708));
        assert_eq!((dwords.cdw12, dwords.cdw15), (0x3400_0000, 0xff00_1234));
        assert_eq!((at(Guard::Crc64).cdw3, at(Guard::Crc64).cdw14), (0x0304, 0x0506_0708));
        assert_eq!((at(Guard::Crc32).cdw3, at(Guard::Crc32).cdw14), (0x0102_0304, 0x0506_0708));
    }

    #[test]
    fn type_3_has_no_reference_tag_to_check() {
        let dwords = Dwords::new(&plan(Guard::Crc16, ProtectionType::Three), 5);
        assert_eq!((dwords.cdw12, dwords.cdw14), (PRACT | CHECK_GUARD, 0));
    }
}
