//! The names of the files that `blktrace` writes, one for each CPU.

/// The name of a file with the records of one CPU: `NAME.blktrace.CPU`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuFileName<'a> {
    /// What the names of all files of the trace begin with.
    pub trace: &'a str,
    pub cpu: u32,
}

impl<'a> CpuFileName<'a> {
    /// Splits the name of a file; `None` if it is not the name of such a file.
    ///
    /// ```
    /// use fiord_formats::trace::blktrace::CpuFileName;
    ///
    /// let name = CpuFileName::parse("sdb.blktrace.12").unwrap();
    /// assert_eq!((name.trace, name.cpu), ("sdb", 12));
    /// assert_eq!(CpuFileName::parse("sdb.bin"), None);
    /// ```
    #[must_use]
    pub fn parse(name: &'a str) -> Option<Self> {
        let (start, cpu) = name.rsplit_once('.')?;
        let trace = start.strip_suffix(".blktrace")?;
        let digits = !cpu.is_empty() && cpu.bytes().all(|byte| byte.is_ascii_digit());
        Some(CpuFileName { trace, cpu: cpu.parse().ok().filter(|_| digits)? })
    }
}
