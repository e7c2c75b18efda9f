//! Lists of objects: how many names an answer of S3 contains.

/// The root element of a list.
const ROOT: &[u8] = b"<ListBucketResult";

/// The element of each object in it.
const ITEM: &[u8] = b"<Contents>";

/// Counts the names in a list of objects (`ListObjectsV2` of S3), piece by piece.
///
/// ```
/// use fiord_formats::http::ListScan;
///
/// let mut scan = ListScan::default();
/// scan.read(b"<ListBucketResult><Cont");
/// scan.read(b"ents><Key>a</Key></Contents></ListBucketResult>");
/// assert!(scan.is_list() && scan.names() == 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ListScan {
    /// How many bytes of the root element the last bytes were.
    root: usize,
    /// How many bytes of the element of an object the last bytes were.
    item: usize,
    is_list: bool,
    names: u64,
}

impl ListScan {
    /// Reads the next piece.
    pub fn read(&mut self, piece: &[u8]) {
        for byte in piece {
            if !self.is_list && follows(ROOT, &mut self.root, *byte) {
                self.is_list = true;
            }
            if follows(ITEM, &mut self.item, *byte) {
                self.names += 1;
            }
        }
    }

    /// Whether the document so far is a list.
    #[must_use]
    pub const fn is_list(&self) -> bool {
        self.is_list
    }

    /// The number of names so far.
    #[must_use]
    pub const fn names(&self) -> u64 {
        self.names
    }
}

/// Whether this byte completes a tag. `known`: how many of its bytes were seen. Only the first byte of a tag is `<`, so a
/// byte that does not fit is either the beginning of the next one or in none.
fn follows(tag: &[u8], known: &mut usize, byte: u8) -> bool {
    *known = match tag.get(*known) {
        Some(next) if *next == byte => *known + 1,
        _ => usize::from(byte == b'<'),
    };
    let complete = *known == tag.len();
    if complete {
        *known = 0;
    }
    complete
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_counted_and_other_documents_are_no_lists() {
        let mut scan = ListScan::default();
        scan.read(b"<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><KeyCount>2</KeyCount>");
        scan.read(
            b"<Contents><Key>a</Key></Contents><<Contents><Key>&lt;Contents></Key></Contents>",
        );
        assert!(scan.is_list() && scan.names() == 2, "{scan:?}");
        let mut page = ListScan::default();
        page.read(b"<html><body>Contents</body></html>");
        assert_eq!((page.is_list(), page.names()), (false, 0));
    }

    proptest! {
        #[test]
        fn pieces_count_as_the_whole(text in "(<|Contents>|<Contents>|<ListBucketResult|x){0,40}", step in 1usize..9) {
            let (mut whole, mut pieces) = (ListScan::default(), ListScan::default());
            whole.read(text.as_bytes());
            text.as_bytes().chunks(step).for_each(|piece| pieces.read(piece));
            prop_assert_eq!(whole, pieces);
            prop_assert_eq!(whole.names(), text.matches("<Contents>").count() as u64);
        }
    }
}
