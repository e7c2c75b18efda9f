//! Blocks that end with their own checksum (`buffer_crc`).

use super::AnyContent;
use crate::{Content, Io};

/// Length of the checksum in bytes.
pub const CRC: usize = 4;

/// Any content, with the last [`CRC`] bytes of each written block replaced by the CRC-32C of the
/// bytes before them.
#[derive(Debug, Clone)]
pub struct Checked {
    inner: AnyContent,
}

impl Checked {
    /// Adds a checksum to a content.
    #[must_use]
    pub fn new(inner: AnyContent) -> Self {
        Checked { inner }
    }
}

/// CRC-32C of `bytes` (Castagnoli, as in iSCSI, RFC 3720), as it is stored: lowest byte first.
#[must_use]
pub fn crc(bytes: &[u8]) -> [u8; CRC] {
    (!fiord_simd::crc32c::update(!0, bytes)).to_le_bytes()
}

impl Content for Checked {
    fn prepare(&mut self, buffer: &mut [u8]) {
        self.inner.prepare(buffer);
    }

    fn fill(&mut self, buffer: &mut [u8], io: &Io) {
        self.inner.fill(buffer, io);
        if let Some((block, last)) = buffer.split_last_chunk_mut::<CRC>() {
            *last = crc(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use fiord_types::{Dir, FileIndex};

    use super::*;
    use crate::IoAttributes;
    use fiord_plan::{EnginePlan, JobPlan};

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        // RFC 3720, B.4: 32 bytes of zeros, and 32 bytes of ones.
        assert_eq!(crc(&[0; 32]), [0xaa, 0x36, 0x91, 0x8a]);
        assert_eq!(crc(&[0xff; 32]), [0x43, 0xab, 0xa8, 0x62]);
    }

    #[test]
    fn every_block_of_every_content_ends_with_its_checksum() {
        let kinds = [fiord_plan::ContentPlan::Zero, fiord_plan::ContentPlan::Fixed];
        let kinds = kinds
            .into_iter()
            .chain([fiord_plan::ContentPlan::Scramble, fiord_plan::ContentPlan::Refill]);
        for content in kinds {
            let plain = JobPlan::plain(EnginePlan::Null, 1 << 20);
            let job = JobPlan { content, crc: true, ..plain };
            let mut content = AnyContent::of(&job, 1).unwrap();
            assert!(content.touches());
            let mut buffer = vec![0; 256 << 10];
            content.prepare(&mut buffer);
            for len in [4096, 8, 256 << 10] {
                let io = Io {
                    dir: Dir::Write,
                    file: FileIndex(0),
                    offset: 0,
                    len: len as u32,
                    attributes: IoAttributes::PLAIN,
                };
                content.fill(&mut buffer[..len], &io);
                let (block, last) = buffer[..len].split_last_chunk::<CRC>().unwrap();
                assert_eq!(crc(block), *last, "{:?} {len}", job.content);
            }
        }
    }
}
