//! The lines of a text, without a copy where the source's buffer holds the whole line.

use std::io::{self, BufRead};

use memchr::memchr;

/// Maximum length of a line in bytes.
pub(crate) const MAX_LINE: usize = 64 * 1024;

pub(crate) enum TextLine<'a> {
    /// The line without its line feed.
    Whole(&'a [u8]),
    /// The first bytes of a line that is longer than [`MAX_LINE`].
    TooLong(&'a [u8]),
}

/// Reads lines. Memory is bounded by the source's buffer and [`MAX_LINE`].
#[derive(Debug)]
pub(crate) struct Lines<R> {
    source: R,
    /// Bytes of the source's buffer that belong to the line returned last.
    used: usize,
    number: u64,
    /// A line that crosses the end of the source's buffer.
    spill: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(source: R) -> Self {
        Lines { source, used: 0, number: 0, spill: Vec::new() }
    }
    /// Number of the line returned last, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
    /// The next line; `None` at the end.
    #[inline]
    pub(crate) fn next(&mut self) -> io::Result<Option<TextLine<'_>>> {
        self.source.consume(std::mem::take(&mut self.used));
        let buffer = loop {
            match self.source.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                // The borrow of a returned buffer would last too long.
                Ok(_) => break self.source.fill_buf()?,
            }
        };
        if buffer.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        match memchr(b'\n', buffer) {
            Some(end) if end > MAX_LINE => {
                self.used = end + 1;
                Ok(Some(TextLine::TooLong(&self.source.fill_buf()?[..MAX_LINE])))
            }
            Some(end) => {
                self.used = end + 1;
                // The buffer is not empty, so this reads nothing.
                Ok(Some(TextLine::Whole(&self.source.fill_buf()?[..end])))
            }
            None => self.collect(),
        }
    }
    /// A line of which the source's buffer holds only the start.
    #[cold]
    fn collect(&mut self) -> io::Result<Option<TextLine<'_>>> {
        self.spill.clear();
        loop {
            let buffer = match self.source.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            let end = memchr(b'\n', buffer);
            let part = &buffer[..end.unwrap_or(buffer.len())];
            // What does not fit is dropped: the caller needs only the start of such a line.
            let room = (MAX_LINE + 1).saturating_sub(self.spill.len());
            self.spill.extend_from_slice(&part[..part.len().min(room)]);
            let (used, last) = (part.len() + usize::from(end.is_some()), buffer.is_empty());
            self.source.consume(used);
            if end.is_some() || last {
                break;
            }
        }
        if self.spill.len() > MAX_LINE {
            return Ok(Some(TextLine::TooLong(&self.spill)));
        }
        Ok(Some(TextLine::Whole(&self.spill)))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use super::*;

    fn lines(text: &[u8], buffer: usize) -> Vec<(u64, Vec<u8>)> {
        let mut lines = Lines::new(BufReader::with_capacity(buffer, text));
        let mut all = Vec::new();
        while let Some(TextLine::Whole(line)) = lines.next().unwrap() {
            let line = line.to_vec();
            all.push((lines.number(), line));
        }
        all
    }

    #[test]
    fn lines_do_not_depend_on_the_buffer() {
        let text = b"one\n\nthree is longer\r\nlast";
        let expected: Vec<(u64, Vec<u8>)> = [&b"one"[..], b"", b"three is longer\r", b"last"]
            .iter()
            .zip(1..)
            .map(|(line, number)| (number, line.to_vec()))
            .collect();
        for buffer in [1, 2, 3, 4, 5, 7, 100] {
            assert_eq!(lines(text, buffer), expected, "{buffer}");
        }
    }

    #[test]
    fn a_line_without_end_needs_bounded_memory() {
        let mut lines = Lines::new(BufReader::new(io::repeat(b'a').take(1 << 20)));
        assert!(matches!(lines.next().unwrap(), Some(TextLine::TooLong(_))));
        assert!(lines.spill.capacity() <= 4 * MAX_LINE);
        assert!(lines.next().unwrap().is_none());
    }
}
