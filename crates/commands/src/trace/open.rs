//! Opens the files of a trace.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use fiord_formats::trace::blktrace::{BlktraceReader, CpuFileName};
use fiord_formats::trace::{self, InvalidLines, TraceOptions, TraceReader};
use fiord_types::Errno;

use super::args::TraceArgs;
use super::error::TraceCommandError;

/// Bytes that are read at once.
const BUFFER: usize = 256 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TraceFiles {
    StandardInput,
    One(PathBuf),
    Cpus(Vec<PathBuf>),
}

impl TraceFiles {
    /// The files that a path stands for.
    pub(super) fn of(path: &Path) -> Result<Self, TraceCommandError> {
        if path.as_os_str() == "-" {
            return Ok(TraceFiles::StandardInput);
        }
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let trace = match CpuFileName::parse(&name) {
            Some(cpu) => cpu.trace,
            None if path.exists() => return Ok(TraceFiles::One(path.to_path_buf())),
            None => &*name,
        };
        let directory = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let mut cpus = Vec::new();
        for entry in fs::read_dir(directory).map_err(cannot_open(path))? {
            let entry = entry.map_err(cannot_open(path))?;
            let name = entry.file_name();
            if let Some(file) = name.to_str().and_then(CpuFileName::parse)
                && file.trace == trace
            {
                cpus.push((file.cpu, entry.path()));
            }
        }
        cpus.sort();
        if cpus.is_empty() {
            return Err(cannot_open(path)(Errno::ENOENT.into()));
        }
        Ok(TraceFiles::Cpus(cpus.into_iter().map(|(_, path)| path).collect()))
    }

    pub(super) fn open(
        &self,
        args: &TraceArgs,
    ) -> Result<Box<dyn TraceReader + Send>, TraceCommandError> {
        let invalid = if args.skip_invalid { InvalidLines::Skip } else { InvalidLines::Stop };
        let options = TraceOptions { invalid, longest_gap: args.longest_gap };
        let source = match self {
            TraceFiles::StandardInput => buffered(Box::new(io::stdin())),
            TraceFiles::One(path) => buffered(Box::new(file(path)?)),
            TraceFiles::Cpus(paths) => {
                let files: Result<Vec<_>, TraceCommandError> = paths
                    .iter()
                    .map(|path| Ok(BufReader::with_capacity(BUFFER, file(path)?)))
                    .collect();
                return Ok(Box::new(BlktraceReader::new(files?, &options)));
            }
        };
        let failed = |source| TraceCommandError::Trace { path: args.file.clone(), source };
        trace::open(source, &options).map_err(failed)
    }

    /// Whether the trace can be read a second time.
    pub(super) fn can_repeat(&self) -> bool {
        match self {
            TraceFiles::StandardInput => false,
            TraceFiles::One(path) => path.is_file(),
            TraceFiles::Cpus(_) => true,
        }
    }
}

fn buffered(source: Box<dyn io::Read + Send>) -> impl BufRead + Send {
    BufReader::with_capacity(BUFFER, source)
}

fn file(path: &Path) -> Result<File, TraceCommandError> {
    File::open(path).map_err(cannot_open(path))
}

fn cannot_open(path: &Path) -> impl Fn(io::Error) -> TraceCommandError {
    move |source| TraceCommandError::Open { path: path.to_path_buf(), source }
}
