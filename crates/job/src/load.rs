//! The one door to the world: job files, variables and the three machine facts that job files may
//! name.

use std::io::{self, Read};

/// Where texts and variables come from. Tests use [`Memory`].
pub trait Loader {
    /// A job file's bytes; `-` is standard input.
    fn read(&mut self, file: &str) -> io::Result<Vec<u8>>;
    /// An environment variable.
    fn variable(&self, name: &str) -> Option<String>;
    /// Bytes in a memory page (`$pagesize`).
    fn page_size(&self) -> u64;
    /// Mebibytes of memory (`$mb_memory`).
    fn memory_mb(&self) -> u64;
    /// CPUs online (`$ncpus`).
    fn cpus(&self) -> u64;
}

/// Bytes a job file may have: thousands of jobs fit, `/dev/zero` and disk images do not.
const LARGEST: u64 = 16 << 20;

/// Reads everything, or refuses what is no job file.
fn limited(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other("it has more than 16 MiB, so it is no job file"));
    }
    Ok(bytes)
}

/// The file system, the environment and `/proc`.
#[derive(Debug, Default, Clone, Copy)]
pub struct Machine;

impl Loader for Machine {
    fn read(&mut self, file: &str) -> io::Result<Vec<u8>> {
        if file == "-" { limited(io::stdin().lock()) } else { limited(std::fs::File::open(file)?) }
    }
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var_os(name).map(|v| v.to_string_lossy().into_owned())
    }
    fn page_size(&self) -> u64 {
        // The auxiliary vector holds the page size: entries of two words, key 6 is AT_PAGESZ.
        let bytes = std::fs::read("/proc/self/auxv").unwrap_or_default();
        let word = |b: &[u8]| b.try_into().map(usize::from_ne_bytes).unwrap_or(0);
        let size = size_of::<usize>();
        bytes
            .chunks_exact(2 * size)
            .find(|pair| word(&pair[..size]) == 6)
            .map_or(4096, |pair| word(&pair[size..]) as u64)
    }
    fn memory_mb(&self) -> u64 {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let kib = text.lines().find_map(|l| l.strip_prefix("MemTotal:")?.split_whitespace().next());
        kib.and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) / 1024
    }
    fn cpus(&self) -> u64 {
        // `0-3,8`: the CPUs online, whatever this process may use.
        let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
        match crate::option::read::cpu_set(text.trim(), &Default::default()) {
            Ok(crate::option::value::Value::Set(set)) => set.len() as u64,
            _ => std::thread::available_parallelism().map_or(1, |n| n.get() as u64),
        }
    }
}

/// Files and variables held in memory.
#[derive(Debug, Default, Clone)]
pub struct Memory {
    /// Name and text of each file.
    pub files: Vec<(String, String)>,
    /// Name and value of each variable.
    pub variables: Vec<(String, String)>,
}

impl Memory {
    /// One file named `job.fio`.
    pub fn job(text: &str) -> Self {
        Memory { files: vec![("job.fio".into(), text.into())], variables: Vec::new() }
    }
}

impl Loader for Memory {
    fn read(&mut self, file: &str) -> io::Result<Vec<u8>> {
        let found = self.files.iter().find(|(n, _)| n == file);
        found
            .map(|(_, t)| t.clone().into_bytes())
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone())
    }
    fn page_size(&self) -> u64 {
        4096
    }
    fn memory_mb(&self) -> u64 {
        1000
    }
    fn cpus(&self) -> u64 {
        4
    }
}
