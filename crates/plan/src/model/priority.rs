//! I/O priorities of single I/Os.

use fiord_types::PerDir;

use super::IoPrio;

/// The shares of I/Os that have their own priority instead of the job's (`cmdprio*`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Priorities {
    /// The priorities. [`IoAttributes::priority`](super::IoAttributes::priority) is a position in this list, counted
    /// from 1.
    pub values: Vec<IoPrio>,
    /// The shares of reads and of writes. Trims have none.
    pub shares: PerDir<Vec<PriorityShare>>,
}

/// A share of the I/Os of one direction. All shares that apply to an I/O add up to at most 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriorityShare {
    /// The share applies to I/Os of this many bytes. `None`: to all sizes.
    pub block: Option<u32>,
    /// Share in per cent, 1 to 100.
    pub percent: u8,
    /// Position in [`Priorities::values`], counted from 1.
    pub priority: u8,
}

impl IoPrio {
    /// The priority in the kernel's encoding (`IOPRIO_PRIO_VALUE_HINT` of `linux/ioprio.h`): the
    /// class in the three highest bits, then ten bits of hint, the level in the three lowest.
    #[must_use]
    pub const fn bits(self) -> u16 {
        (self.class as u16) << 13 | (self.hint & 0x3ff) << 3 | self.level as u16 & 7
    }

    /// Decodes the kernel's encoding; the inverse of [`IoPrio::bits`].
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        IoPrio { class: (bits >> 13) as u8, level: bits as u8 & 7, hint: bits >> 3 & 0x3ff }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_a_priority() {
        let prio = IoPrio { class: 2, level: 3, hint: 5 };
        assert_eq!(prio.bits(), 0x402b);
        assert_eq!(IoPrio { class: 1, level: 0, hint: 0 }.bits(), 1 << 13);
        for bits in [0, 1, 0x402b, 0x7fff, u16::MAX] {
            assert_eq!(IoPrio::from_bits(bits).bits(), bits);
        }
    }
}
