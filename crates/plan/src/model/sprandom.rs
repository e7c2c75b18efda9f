//! `sprandom`: one write pass that brings a flash drive into the state that long random writes
//! leave.

/// The parameters of `sprandom`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpRandom {
    /// `spr_num_regions`: number of equal parts that the writes are divided into; at least 1.
    pub regions: u32,
    /// `spr_op`: spare capacity as a fraction of the capacity that the drive offers; above 0 and at
    /// most 1.
    pub spare: f64,
    /// `spr_cs` is not 0: the job makes blocks stale one region later, when they have left the
    /// drive's cache.
    pub late: bool,
}

impl SpRandom {
    /// The number of writes to a file of `len` bytes in blocks of `block` bytes: as many as fit
    /// into the physical capacity of the drive. The spare capacity of a partial block at the end
    /// counts.
    #[must_use]
    pub fn writes(&self, len: u64, block: u32) -> u64 {
        const PARTS: u128 = 1_000_000_000;
        let spare = (self.spare.clamp(0.0, 1.0) * PARTS as f64).round() as u128;
        let bytes = u128::from(len) + u128::from(len) * spare / PARTS;
        let writes = u64::try_from(bytes / u128::from(block.max(1)));
        writes.unwrap_or(u64::MAX)
    }
}
