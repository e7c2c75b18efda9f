//! The bytes of a range of the map, in little memory.

/// Ranges of up to this many granules need no allocation.
const FEW: usize = 30;

/// The bytes of a range of granules. Most I/Os cover few granules, and those of larger ones are mostly equal.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Bytes {
    Same(u8),
    Few([u8; FEW]),
    Many(Box<[u8]>),
}

/// A range of granules with the byte of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cells {
    pub(super) span: GranuleSpan,
    bytes: Bytes,
}

impl Cells {
    /// The range, all of whose bytes are `byte`.
    pub(super) fn all(span: GranuleSpan, byte: u8) -> Cells {
        Cells { span, bytes: Bytes::Same(byte) }
    }

    /// Stores the bytes of a part, which are in `word` at their places.
    #[inline]
    pub(super) fn set(&mut self, part: &WordPart, word: u64) {
        if let Bytes::Same(byte) = self.bytes {
            let byte = if part.index == 0 { (word >> part.shift()) as u8 } else { byte };
            if (word ^ splat(byte)) & part.mask() == 0 {
                self.bytes = Bytes::Same(byte);
                return;
            }
            self.unfold(byte);
        }
        let all = match &mut self.bytes {
            Bytes::Few(bytes) => &mut bytes[..],
            Bytes::Many(bytes) => bytes,
            Bytes::Same(_) => return,
        };
        let bytes = &word.to_le_bytes()[part.first..][..part.count];
        all[part.index..][..part.count].copy_from_slice(bytes);
    }

    #[cold]
    fn unfold(&mut self, byte: u8) {
        self.bytes = if self.span.count <= FEW {
            Bytes::Few([byte; FEW])
        } else {
            Bytes::Many(vec![byte; self.span.count].into())
        };
    }

    /// The bytes of a part at their places in its word.
    #[inline]
    pub(super) fn word(&self, part: &WordPart) -> u64 {
        let all = match &self.bytes {
            Bytes::Same(byte) => return splat(*byte),
            Bytes::Few(bytes) => &bytes[..],
            Bytes::Many(bytes) => bytes,
        };
        let mut word = [0; 8];
        word[part.first..][..part.count].copy_from_slice(&all[part.index..][..part.count]);
        u64::from_le_bytes(word)
    }

    /// The byte of each granule in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u8> + '_ {
        (0..self.span.count).map(|index| self.byte(index))
    }

    /// The byte of the granule at position `index` of the range.
    pub(super) fn byte(&self, index: usize) -> u8 {
        match &self.bytes {
            Bytes::Same(byte) => *byte,
            Bytes::Few(bytes) => bytes[index],
            Bytes::Many(bytes) => bytes[index],
        }
    }
}

/// A range of granules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GranuleSpan {
    first: usize,
    count: usize,
}

impl GranuleSpan {
    /// `count` granules from the granule with index `first` on.
    #[inline]
    pub(super) fn new(first: usize, count: usize) -> GranuleSpan {
        GranuleSpan { first, count }
    }

    /// The part of the range before the granule at position `index`.
    pub(super) fn before(self, index: usize) -> GranuleSpan {
        GranuleSpan { first: self.first, count: index }
    }

    /// Number of granules.
    pub(super) fn len(self) -> usize {
        self.count
    }

    /// Index of the granule at position `index` of the range.
    pub(super) fn granule(self, index: usize) -> u64 {
        (self.first + index) as u64
    }

    /// The parts of the range that lie in different words, in ascending order.
    #[inline]
    pub(super) fn parts(self) -> impl Iterator<Item = WordPart> {
        let mut index = 0;
        std::iter::from_fn(move || {
            if index == self.count {
                return None;
            }
            let at = self.first + index;
            let count = (8 - at % 8).min(self.count - index);
            let part = WordPart { word: at / 8, first: at % 8, count, index };
            index += count;
            Some(part)
        })
    }
}

/// The granules of a range that share a word.
#[derive(Debug, Clone, Copy)]
pub(super) struct WordPart {
    /// Index of the word.
    word: usize,
    /// Position of the first byte in the word.
    first: usize,
    /// Number of bytes.
    count: usize,
    /// Position of the first byte in the range.
    index: usize,
}

impl WordPart {
    /// Index of the word.
    #[inline]
    pub(super) fn word(&self) -> usize {
        self.word
    }

    /// Position in the range of the first granule.
    #[inline]
    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Positions of the bytes in the word.
    pub(super) fn bytes(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.count
    }

    #[inline]
    fn shift(&self) -> usize {
        self.first * 8
    }

    /// The bits of the word that belong to the part.
    #[inline]
    pub(super) fn mask(&self) -> u64 {
        (u64::MAX >> (64 - 8 * self.count)) << self.shift()
    }

    /// Position in the range of the first granule whose byte is `byte`.
    #[inline]
    pub(super) fn find(&self, word: u64, byte: u8) -> Option<usize> {
        // A byte of `zeros` is 0 where the word has `byte`. The lowest set bit of `hits` is exact: a borrow
        // can set bits only above it.
        let zeros = (word ^ splat(byte)) | !self.mask();
        let hits = zeros.wrapping_sub(splat(1)) & !zeros & splat(0x80);
        (hits != 0).then(|| self.index + hits.trailing_zeros() as usize / 8 - self.first)
    }
}

/// A word of which each byte is `byte`.
#[inline]
pub(super) const fn splat(byte: u8) -> u64 {
    0x0101_0101_0101_0101 * byte as u64
}
