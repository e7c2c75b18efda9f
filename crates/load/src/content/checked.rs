//! Blocks that end with a checksum of themselves (`buffer_crc`).

use crc_fast::CrcAlgorithm;

use super::AnyContent;
use crate::{Content, Io};

/// Bytes of the checksum.
pub const CRC: usize = 4;

/// Any content, the last [`CRC`] bytes of each block written being the CRC-32C of those before.
#[derive(Debug, Clone)]
pub struct Checked {
    inner: AnyContent,
}

impl Checked {
    /// The same content with a checksum.
    pub fn new(inner: AnyContent) -> Self {
        Checked { inner }
    }
}

/// The CRC-32C (Castagnoli, as iSCSI has it, RFC 3720) of `bytes`, as it is stored: the lowest byte
/// first.
pub fn crc(bytes: &[u8]) -> [u8; CRC] {
    // The library gives back 64 bits for checksums of every width.
    (crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32).to_le_bytes()
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
    use super::*;
    use crate::Tag;
    use fiord_plan::{Dir, EnginePlan, JobPlan};

    #[test]
    fn it_is_the_checksum_of_the_standard() {
        // RFC 3720, B.4: 32 bytes of zeroes, and of ones.
        assert_eq!(crc(&[0; 32]), [0xaa, 0x36, 0x91, 0x8a]);
        assert_eq!(crc(&[0xff; 32]), [0x43, 0xab, 0xa8, 0x62]);
    }

    #[test]
    fn every_block_of_every_content_ends_with_it() {
        let kinds = [fiord_plan::Content::Zero, fiord_plan::Content::Fixed];
        let kinds =
            kinds.into_iter().chain([fiord_plan::Content::Scramble, fiord_plan::Content::Refill]);
        for content in kinds {
            let plain = JobPlan::plain(EnginePlan::Null, 1 << 20);
            let job = JobPlan { content, crc: true, ..plain };
            let mut content = AnyContent::of(&job, 1).unwrap();
            assert!(content.touches());
            let mut buffer = vec![0; 256 << 10];
            content.prepare(&mut buffer);
            for len in [4096, 8, 256 << 10] {
                let io =
                    Io { dir: Dir::Write, file: 0, offset: 0, len: len as u32, tag: Tag::PLAIN };
                content.fill(&mut buffer[..len], &io);
                let (block, last) = buffer[..len].split_last_chunk::<CRC>().unwrap();
                assert_eq!(crc(block), *last, "{:?} {len}", job.content);
            }
        }
    }
}
