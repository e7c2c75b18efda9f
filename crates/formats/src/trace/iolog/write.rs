//! Writes I/O logs of version 3.

use fiord_types::Nanos;

use crate::trace::record::{TraceIo, TraceTarget};

/// Which fields the lines of I/Os have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IologColumns {
    /// fio's fields. Write the line when the I/O is issued.
    #[default]
    Issue,
    /// Also latency and result ([`TraceIo::outcome`]). Write the line when the I/O is complete.
    Completion,
}

/// Formats the lines of an I/O log as bytes. The caller writes them to a file.
#[derive(Debug, Default)]
pub struct IologWriter {
    columns: IologColumns,
    /// Each name between two blanks, in the order of targets.
    names: Vec<Box<[u8]>>,
}

impl IologWriter {
    /// A writer of a log with these columns.
    #[must_use]
    pub fn new(columns: IologColumns) -> Self {
        IologWriter { columns, names: Vec::new() }
    }

    /// Appends the first line of a log.
    pub fn header(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"fio version 3 iolog\n");
    }

    /// Appends the line that adds a file, and returns the target for the lines of its I/Os.
    ///
    /// A line feed in a name would end the line: it becomes a question mark.
    pub fn add(&mut self, time: Nanos, name: &[u8], out: &mut Vec<u8>) -> TraceTarget {
        let target = TraceTarget::new(self.names.len() as u32);
        let mut blanks = Vec::with_capacity(name.len() + 2);
        blanks.push(b' ');
        blanks.extend(name.iter().map(|byte| if *byte == b'\n' { b'?' } else { *byte }));
        blanks.push(b' ');
        self.names.push(blanks.into());
        self.action(time, target, b"add", out);
        target
    }

    /// Appends the line that opens a file.
    pub fn open(&self, time: Nanos, target: TraceTarget, out: &mut Vec<u8>) {
        self.action(time, target, b"open", out);
    }

    /// Appends the line that closes a file.
    pub fn close(&self, time: Nanos, target: TraceTarget, out: &mut Vec<u8>) {
        self.action(time, target, b"close", out);
    }

    /// Appends the line of an I/O. With [`IologColumns::Completion`], an I/O without outcome has fio's fields only.
    pub fn io(&self, io: &TraceIo, out: &mut Vec<u8>) {
        self.start(io.time, io.target, out);
        out.extend_from_slice(io.kind.name().as_bytes());
        out.push(b' ');
        put_number(io.offset.0, out);
        out.push(b' ');
        put_number(io.len.0, out);
        if let (IologColumns::Completion, Some(outcome)) = (self.columns, &io.outcome) {
            out.push(b' ');
            put_number(outcome.latency.0, out);
            match outcome.result {
                Ok(bytes) => {
                    out.push(b' ');
                    put_number(bytes.0, out);
                }
                Err(errno) => {
                    out.extend_from_slice(b" -");
                    put_number(u64::from(errno.raw().unsigned_abs()), out);
                }
            }
        }
        out.push(b'\n');
    }

    fn action(&self, time: Nanos, target: TraceTarget, word: &[u8], out: &mut Vec<u8>) {
        self.start(time, target, out);
        out.extend_from_slice(word);
        out.push(b'\n');
    }

    fn start(&self, time: Nanos, target: TraceTarget, out: &mut Vec<u8>) {
        put_number(time.as_micros(), out);
        out.extend_from_slice(&self.names[target.index()]);
    }
}

/// Appends a number in decimal digits.
fn put_number(number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let (mut rest, mut start) = (number, digits.len());
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}
