//! Access to the outside world: job files, environment variables, and the facts about the machine that job files can
//! use.

use std::cell::RefCell;
use std::io::{self, Read};
use std::num::NonZeroU32;

use fiord_types::HostIndex;

/// The source of files, variables and facts about the machine. Tests use [`Memory`].
///
/// ```
/// use fiord_job::load::{Loader, Memory};
///
/// let mut loader = Memory::job("[a]\nsize=1m\n");
/// assert_eq!(loader.read("job.fio").unwrap(), b"[a]\nsize=1m\n");
/// assert!(loader.read("other.fio").is_err());
/// ```
pub trait Loader {
    /// The contents of a job file. `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read.
    fn read(&mut self, file: &str) -> io::Result<Vec<u8>>;
    /// The contents of a job file of this host (`--remote-config`), if another host sent the arguments.
    ///
    /// # Errors
    /// The file cannot be read, or no other host sent the arguments.
    fn read_own(&mut self, file: &str) -> io::Result<Vec<u8>> {
        let _ = file;
        Err(io::Error::other("--remote-config names a file of a server, so it needs --client"))
    }
    /// The value of an environment variable. `None` if it is not set.
    fn variable(&self, name: &str) -> Option<String>;
    /// The value of an environment variable of this host, for its own job files (`--remote-config`). `None` if it is not
    /// set, or not for others.
    fn own_variable(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }
    /// The contents of a file with a secret (`@file:PATH`). A host that gets a job from another one gets the secret as a
    /// variable with the name of the reference.
    ///
    /// # Errors
    /// The file cannot be read, or is not UTF-8 text.
    fn secret_file(&self, path: &str) -> io::Result<String> {
        self.variable(&format!("@file:{path}")).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
    /// The size of a memory page in bytes (`$pagesize`).
    fn page_size(&self) -> u64;
    /// The size of memory in MiB (`$mb_memory`).
    fn memory_mb(&self) -> u64;
    /// The number of online CPUs (`$ncpus`).
    fn cpus(&self) -> u64;
    /// Which of the hosts of a run this is (`$host`, `$rank`, `$ranks`).
    fn host(&self) -> HostWords;
}

/// What a job file can say about the host that runs it. A run without other hosts has one host with rank 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostWords {
    /// `$host`: its name, as the user wrote it.
    pub name: String,
    /// `$rank`: its number, from 0.
    pub rank: HostIndex,
    /// `$ranks`: how many hosts there are.
    pub ranks: NonZeroU32,
}

impl HostWords {
    /// The only host of a run.
    #[must_use]
    pub fn alone(name: &str) -> Self {
        HostWords { name: name.to_owned(), rank: HostIndex(0), ranks: NonZeroU32::MIN }
    }
}

/// The maximum size of a job file in bytes. It leaves room for thousands of jobs and stops at
/// `/dev/zero` and disk images.
const MAX_FILE_SIZE: u64 = 16 << 20;

/// Reads everything, up to the maximum size of a job file.
fn limited(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_FILE_SIZE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_SIZE {
        return Err(io::Error::other("it is larger than 16 MiB, so it is not a job file"));
    }
    Ok(bytes)
}

/// The real machine: its file system, environment and `/proc`.
#[derive(Debug, Default, Clone, Copy)]
pub struct MachineLoader;

impl Loader for MachineLoader {
    fn read(&mut self, file: &str) -> io::Result<Vec<u8>> {
        if file == "-" { limited(io::stdin().lock()) } else { limited(std::fs::File::open(file)?) }
    }
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var_os(name).map(|v| v.to_string_lossy().into_owned())
    }
    fn secret_file(&self, path: &str) -> io::Result<String> {
        let bytes = limited(std::fs::File::open(path)?)?;
        String::from_utf8(bytes).map_err(|_| io::Error::other("the file is not UTF-8 text"))
    }
    fn page_size(&self) -> u64 {
        // The auxiliary vector holds the page size. Its entries have two words; key 6 is AT_PAGESZ.
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
        // A list of CPUs such as `0-3,8`. It includes CPUs that this process may not use.
        let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
        match crate::option::read::cpu_set(text.trim(), &Default::default()) {
            Ok(set) => set.len() as u64,
            _ => std::thread::available_parallelism().map_or(1, |n| n.get() as u64),
        }
    }
    fn host(&self) -> HostWords {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        HostWords::alone(name.trim())
    }
}

/// The job files of this host, for one that another host sent the arguments to.
pub(crate) struct OwnFiles<'a>(pub(crate) &'a mut dyn Loader);

impl Loader for OwnFiles<'_> {
    fn read(&mut self, file: &str) -> io::Result<Vec<u8>> {
        self.0.read_own(file)
    }
    fn variable(&self, name: &str) -> Option<String> {
        self.0.own_variable(name)
    }
    fn page_size(&self) -> u64 {
        self.0.page_size()
    }
    fn memory_mb(&self) -> u64 {
        self.0.memory_mb()
    }
    fn cpus(&self) -> u64 {
        self.0.cpus()
    }
    fn host(&self) -> HostWords {
        self.0.host()
    }
}

/// Records the files and variables that it gets from another loader, so that another host can parse the same arguments.
///
/// ```
/// use fiord_job::load::{Loader, Memory, RecordingLoader};
///
/// let mut memory = Memory::job("[a]\nsize=1m\n");
/// let mut recording = RecordingLoader::of(&mut memory);
/// recording.read("job.fio").unwrap();
/// assert_eq!(recording.into_memory().files, [("job.fio".to_string(), "[a]\nsize=1m\n".to_string())]);
/// ```
pub struct RecordingLoader<'a> {
    from: &'a mut dyn Loader,
    files: Vec<(String, String)>,
    variables: RefCell<Vec<(String, String)>>,
}

impl<'a> RecordingLoader<'a> {
    /// Records what `from` returns.
    pub fn of(from: &'a mut dyn Loader) -> Self {
        RecordingLoader { from, files: Vec::new(), variables: RefCell::default() }
    }

    /// What was recorded: each file and variable once. A file that is not UTF-8 is missing; the parser refuses it anyway.
    #[must_use]
    pub fn into_memory(self) -> Memory {
        Memory { files: self.files, variables: self.variables.into_inner() }
    }
}

impl Loader for RecordingLoader<'_> {
    fn read(&mut self, file: &str) -> io::Result<Vec<u8>> {
        // Standard input can be read only once.
        if let Some((_, text)) = self.files.iter().find(|(name, _)| name == file) {
            return Ok(text.clone().into_bytes());
        }
        let bytes = self.from.read(file)?;
        if let Ok(text) = String::from_utf8(bytes.clone()) {
            self.files.push((file.to_string(), text));
        }
        Ok(bytes)
    }
    fn variable(&self, name: &str) -> Option<String> {
        let value = self.from.variable(name)?;
        let mut variables = self.variables.borrow_mut();
        if !variables.iter().any(|(known, _)| known == name) {
            variables.push((name.to_string(), value.clone()));
        }
        Some(value)
    }
    fn secret_file(&self, path: &str) -> io::Result<String> {
        let value = self.from.secret_file(path)?;
        let name = format!("@file:{path}");
        let mut variables = self.variables.borrow_mut();
        if !variables.iter().any(|(known, _)| *known == name) {
            variables.push((name, value.clone()));
        }
        Ok(value)
    }
    fn page_size(&self) -> u64 {
        self.from.page_size()
    }
    fn memory_mb(&self) -> u64 {
        self.from.memory_mb()
    }
    fn cpus(&self) -> u64 {
        self.from.cpus()
    }
    fn host(&self) -> HostWords {
        self.from.host()
    }
}

/// Files and variables in memory, for tests.
#[derive(Debug, Default, Clone)]
pub struct Memory {
    /// The name and the text of each file.
    pub files: Vec<(String, String)>,
    /// The name and the value of each variable.
    pub variables: Vec<(String, String)>,
}

impl Memory {
    /// Creates a loader with one file, `job.fio`.
    #[must_use]
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
    fn host(&self) -> HostWords {
        HostWords::alone("localhost")
    }
}
