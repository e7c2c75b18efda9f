//! Compressed traces: gzip is read, and for other compressions the error says how to decompress them.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use super::error::TraceError;

/// Bytes of a decompressed trace that are read at once.
const BUFFER: usize = 256 << 10;
/// Maximum size in bytes of the beginning of a stream that is decompressed to look at it.
const MAX_START: u64 = 16 << 20;

/// What compressed files and archives begin with, how they are called, and the command that unpacks them.
const PACKED: [(&[u8], &str, &str); 5] = [
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "zstd -dc"),
    (b"\xfd7zXZ\0", "compressed with xz", "xz -dc"),
    (b"BZh", "compressed with bzip2", "bzip2 -dc"),
    (b"\x04\x22\x4d\x18", "compressed with lz4", "lz4 -dc"),
    (b"PK\x03\x04", "a zip archive", "unzip -p"),
];
/// Where the name of the format is in the first header of a tar archive.
const TAR: (usize, &[u8]) = (257, b"ustar");

/// Whether a trace is compressed with gzip.
pub(super) fn is_gzip(start: &[u8]) -> bool {
    start.starts_with(b"\x1f\x8b\x08")
}

/// The error for a trace that must be unpacked first, if this is the start of one.
pub(super) fn must_be_unpacked(start: &[u8]) -> Option<TraceError> {
    let packed = |how, command| TraceError::Packed { how, command };
    if start.get(TAR.0..).is_some_and(|magic| magic.starts_with(TAR.1)) {
        return Some(packed("a tar archive", "tar -xO -f"));
    }
    let found = PACKED.iter().find(|(magic, ..)| start.starts_with(magic));
    found.map(|(_, how, command)| packed(how, command))
}

/// Decompresses a trace while it is read. The memory does not depend on the length of the trace.
pub(super) fn inflate<'a>(source: impl BufRead + Send + 'a) -> Box<dyn BufRead + Send + 'a> {
    let inflated = Inflated(MultiGzDecoder::new(source));
    Box::new(BufReader::with_capacity(BUFFER, inflated))
}

/// The beginning of a stream as readers see it: decompressed as far as it goes, if it is compressed.
#[must_use]
pub fn readable_start(head: &[u8]) -> Cow<'_, [u8]> {
    if !is_gzip(head) {
        return Cow::Borrowed(head);
    }
    let mut start = Vec::new();
    // The head ends anywhere in the compressed data, so the error at its end says nothing.
    let _ = MultiGzDecoder::new(head).take(MAX_START).read_to_end(&mut start);
    Cow::Owned(start)
}

/// Decompressed bytes. Its errors say what to do about damaged data.
#[derive(Debug)]
struct Inflated<R>(MultiGzDecoder<R>);

impl<R: BufRead> Read for Inflated<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match (error.raw_os_error(), error.kind()) {
            (Some(_), _) | (_, io::ErrorKind::Interrupted) => error,
            (None, io::ErrorKind::UnexpectedEof) => {
                io::Error::other("its gzip data end too early. To fix: copy the complete file")
            }
            (None, _) => io::Error::other(format!(
                "its gzip data are damaged ({error}). To fix: copy the file again, and check it with `gzip -t`"
            )),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::trace::{self, TraceEvent, TraceOptions};

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn alibaba(rows: u64) -> String {
        (0..rows)
            .map(|n| format!("1,R,{},4096,{}\n", n * 4096, 1_577_808_000_000_000 + n))
            .collect()
    }

    /// The number of I/Os, and the error that ends the trace.
    fn read(bytes: &[u8]) -> (u64, Option<String>) {
        let mut reader = match trace::open(bytes, &TraceOptions::default()) {
            Ok(reader) => reader,
            Err(error) => return (0, Some(error.to_string())),
        };
        let mut ios = 0;
        loop {
            match reader.next_event() {
                Ok(Some(event)) => ios += u64::from(matches!(event, TraceEvent::Io(_))),
                Ok(None) => return (ios, None),
                Err(TraceError::Read(error)) => return (ios, Some(error.to_string())),
                Err(error) => return (ios, Some(error.to_string())),
            }
        }
    }

    #[test]
    fn a_compressed_trace_has_the_events_of_the_trace() {
        let text = alibaba(20_000);
        assert_eq!(read(&gzip(text.as_bytes())), (20_000, None));
        let (first, second) = text.split_at(text.len() / 2);
        let both = [gzip(first.as_bytes()), gzip(second.as_bytes())].concat();
        assert_eq!(read(&both), (20_000, None), "several compressed files in one");
        assert_eq!(read(&gzip(b"")).1.as_deref(), Some("the trace is empty"));
    }

    #[test]
    fn damaged_compressed_data_are_an_error() {
        let packed = gzip(alibaba(20_000).as_bytes());
        let (ios, error) = read(&packed[..packed.len() / 2]);
        assert!(ios < 20_000 && error.unwrap().contains("copy the complete file"));
        let mut damaged = packed;
        let crc = damaged.len() - 8;
        damaged[crc] ^= 1;
        assert!(read(&damaged).1.unwrap().contains("gzip -t"));
    }

    #[test]
    fn other_compressions_name_the_command_that_unpacks_them() {
        for (magic, how, command) in PACKED {
            let error = read(&[magic, b"more"].concat()).1.unwrap();
            assert!(error.contains(how) && error.contains(command), "{error}");
        }
        let mut tar = vec![b'x'; 512];
        tar[257..262].copy_from_slice(b"ustar");
        assert!(read(&gzip(&tar)).1.unwrap().contains("tar -xO -f"));
    }

    #[test]
    fn the_beginning_of_a_stream_is_readable_before_its_end_arrives() {
        let text = alibaba(20_000);
        let packed = gzip(text.as_bytes());
        let start = readable_start(&packed[..packed.len() / 2]);
        assert!(start.len() > 1000 && text.as_bytes().starts_with(&start));
        assert_eq!(readable_start(b"plain"), Cow::Borrowed(b"plain"));
    }
}
