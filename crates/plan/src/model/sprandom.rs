//! `sprandom`: one pass that leaves a flash drive as random writes would have left it.

/// How a drive is preconditioned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpRandom {
    /// `spr_num_regions`: parts of equal length that the writes are divided into, at least 1.
    pub regions: u32,
    /// `spr_op`: spare capacity as a fraction of what the drive offers, above 0 and at most 1.
    pub spare: f64,
    /// `spr_cs` is not 0: blocks are made stale one region later.
    pub late: bool,
}

impl SpRandom {
    /// The writes to a file of so many bytes in blocks of this size: as many as the drive has
    /// physical room for. Of what is left behind the last whole block the spare share counts.
    pub fn writes(&self, len: u64, block: u32) -> u64 {
        const PARTS: u128 = 1_000_000_000;
        let spare = (self.spare.clamp(0.0, 1.0) * PARTS as f64).round() as u128;
        let bytes = u128::from(len) + u128::from(len) * spare / PARTS;
        let writes = u64::try_from(bytes / u128::from(block.max(1)));
        writes.unwrap_or(u64::MAX)
    }
}
