//! The bare loop: the system calls of a random read, an offset for each, and nothing else.
//!
//! The loop records no statistics, checks only that each transfer is complete, and makes no decision per
//! I/O. So it shows what a generator without any cost would reach on this machine. `cargo xtask bench`
//! runs it in turn with fiord and fio.
//!
//! `bare_loop ENGINE FILE KEY=VALUE…` with `bs`, `depth`, `batch` (I/Os per submission; by default all
//! free slots), `fixed` (registered buffers and file), `direct`, `cpu`, `ms` (run time), `size` (bytes
//! of the file that are used). `pmem` also has `write` (write instead of read; each write ends with a fence),
//! `map_sync` (`MAP_SYNC`), and its `direct` means non-temporal stores. `stream` sends blocks over TCP to a thread of its own
//! and uses no file; with `pingpong` each block comes back before the next one. `filecreate`, `filestat`, `filedelete`,
//! `dircreate`, `dirstat` and `dirdelete` make one call on each of `count` names in the directory FILE. Prints a
//! document in the format of fio's JSON output.

#[path = "../../src/io_uring/abi.rs"]
#[allow(dead_code)]
mod abi;
mod aio;
mod calls;
mod names;
#[cfg(target_arch = "x86_64")]
mod pmem;
mod stream;
mod uring;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

/// Options of the command line.
#[derive(Debug, Clone)]
pub struct Job {
    /// Bytes per I/O.
    pub block: usize,
    /// I/Os in flight.
    pub depth: u32,
    /// I/Os per submission.
    pub batch: u32,
    /// Register buffers and file.
    pub fixed: bool,
    /// Open the file with `O_DIRECT`; with `pmem`: store past the caches.
    pub direct: bool,
    /// Write instead of read.
    pub write: bool,
    /// Map the file with `MAP_SYNC`.
    pub map_sync: bool,
    /// Each block comes back before the next one is sent.
    pub pingpong: bool,
    /// CPU to run on.
    pub cpu: Option<usize>,
    /// Run time.
    pub time: Duration,
    /// Blocks in the used part of the file.
    pub blocks: u64,
    /// Names for the calls on names; 0: none.
    pub count: u64,
}

impl Job {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut job = Job {
            block: 4096,
            depth: 1,
            batch: 0,
            fixed: false,
            direct: false,
            write: false,
            map_sync: false,
            pingpong: false,
            cpu: None,
            time: Duration::from_secs(1),
            blocks: 0,
            count: 0,
        };
        let mut size = 0;
        for arg in args {
            let (key, value) = arg.split_once('=').ok_or(format!("{arg}: KEY=VALUE is wanted"))?;
            let number: u64 = value.parse().map_err(|e| format!("{arg}: {e}"))?;
            match key {
                "bs" => job.block = number.max(1) as usize,
                "depth" => job.depth = number.clamp(1, 4096) as u32,
                "batch" => job.batch = number as u32,
                "fixed" => job.fixed = number != 0,
                "direct" => job.direct = number != 0,
                "write" => job.write = number != 0,
                "pingpong" => job.pingpong = number != 0,
                "map_sync" => job.map_sync = number != 0,
                "cpu" => job.cpu = Some(number as usize),
                "ms" => job.time = Duration::from_millis(number),
                "size" => size = number,
                "count" => job.count = number,
                _ => return Err(format!("{key}: not known")),
            }
        }
        job.batch = if job.batch == 0 { job.depth } else { job.batch.min(job.depth) };
        job.blocks = size / job.block as u64;
        if job.blocks == 0 && job.count == 0 {
            return Err("size is less than a block".into());
        }
        Ok(job)
    }

    fn open(&self, engine: &str, path: &str) -> io::Result<File> {
        let flags = if self.direct && engine != "pmem" { libc::O_DIRECT } else { 0 };
        OpenOptions::new().read(true).write(self.write).custom_flags(flags).open(path)
    }
}

/// Random block offsets that visit every block once per pass, as with fio's random map, because
/// that decides which blocks are still in the CPU caches. A full-period generator modulo a power of
/// two, whose weak low bits are mixed with the high ones; numbers beyond the last block are
/// skipped.
#[derive(Debug)]
pub struct Offsets {
    state: u64,
    mask: u64,
    shift: u32,
    blocks: u64,
    block: u64,
}

impl Offsets {
    fn new(job: &Job) -> Self {
        let mask = job.blocks.next_power_of_two() - 1;
        let shift = mask.count_ones().div_ceil(2);
        Offsets { state: 1, mask, shift, blocks: job.blocks, block: job.block as u64 }
    }

    /// The next offset in bytes.
    #[inline(always)]
    pub fn draw(&mut self) -> u64 {
        loop {
            self.state = self.state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
            let low = self.state & self.mask;
            let mixed = (low ^ (low >> self.shift)).wrapping_mul(0x9e37_79b9_7f4a_7c15) & self.mask;
            let at = mixed ^ (mixed >> self.shift);
            if at < self.blocks {
                return at * self.block;
            }
        }
    }
}

/// Memory for the I/Os. Each block begins at a page boundary.
#[derive(Debug)]
pub struct Memory {
    base: *mut u8,
    stride: usize,
    /// The whole memory.
    pub bytes: usize,
}

impl Memory {
    /// Allocates a block for each slot.
    #[must_use]
    pub fn new(job: &Job) -> Self {
        let stride = job.block.next_multiple_of(4096);
        let bytes = stride * job.depth as usize;
        let layout = std::alloc::Layout::from_size_align(bytes, 4096).expect("a sane size");
        // SAFETY: the size is not 0. The memory is never freed, so it lives as long as the process.
        let base = unsafe { std::alloc::alloc_zeroed(layout) };
        assert!(!base.is_null(), "no memory");
        Memory { base, stride, bytes }
    }

    /// Address of the slot's block.
    #[inline(always)]
    #[must_use]
    pub fn at(&self, slot: u32) -> *mut u8 {
        self.base.wrapping_add(slot as usize * self.stride)
    }
}

/// Calls `turn`, which does some I/Os and returns their number, until the time is up. Reads the
/// clock once in `every` turns.
#[inline(always)]
pub fn drive(job: &Job, every: u32, mut turn: impl FnMut(&mut Offsets) -> u64) -> Measured {
    let mut offsets = Offsets::new(job);
    let start = Instant::now();
    let before = cpu_time();
    let mut ios = 0;
    loop {
        for _ in 0..every {
            ios += turn(&mut offsets);
        }
        let wall = start.elapsed();
        if wall >= job.time {
            let after = cpu_time();
            return Measured { ios, wall, user: after.0 - before.0, system: after.1 - before.1 };
        }
    }
}

/// Result of a run.
#[derive(Debug)]
pub struct Measured {
    ios: u64,
    wall: Duration,
    user: Duration,
    system: Duration,
}

/// CPU time that this thread has used: user, system.
fn cpu_time() -> (Duration, Duration) {
    // SAFETY: all-zero is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is written by the call.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    let duration =
        |t: libc::timeval| Duration::new(t.tv_sec as u64, (t.tv_usec as u32).saturating_mul(1000));
    (duration(usage.ru_utime), duration(usage.ru_stime))
}

/// Exits with a message.
pub fn die(what: &str) -> ! {
    eprintln!("bare_loop: {what}: {}", io::Error::last_os_error());
    std::process::exit(1);
}

fn pin(cpu: usize) {
    // SAFETY: all-zero is the empty set, and the macro stays within it.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu % (8 * size_of::<libc::cpu_set_t>()), &mut set);
        set
    };
    // SAFETY: the call reads the set.
    if unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) } != 0 {
        die("sched_setaffinity");
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [engine, path, rest @ ..] = args.as_slice() else {
        eprintln!("bare_loop ENGINE FILE KEY=VALUE…");
        std::process::exit(2);
    };
    let job = Job::parse(rest).unwrap_or_else(|e| {
        eprintln!("bare_loop: {e}");
        std::process::exit(2);
    });
    if let Some(cpu) = job.cpu {
        pin(cpu);
    }
    let measured = match names::run(&job, engine, path) {
        Some(measured) => measured,
        None => on_file(&job, engine, path),
    };
    print(&measured);
}

/// Runs the loop of an engine that works on a file.
fn on_file(job: &Job, engine: &str, path: &str) -> Measured {
    let file = job.open(engine, path).unwrap_or_else(|e| {
        eprintln!("bare_loop: {path}: {e}");
        std::process::exit(1);
    });
    match engine {
        "psync" => calls::psync(job, &file),
        "mmap" => calls::mmap(job, &file),
        "io_uring" => uring::run(job, &file),
        #[cfg(target_arch = "x86_64")]
        "pmem" => pmem::run(job, &file),
        "libaio" => aio::run(job, &file),
        "stream" => stream::run(job),
        _ => {
            eprintln!(
                "bare_loop: {engine}: psync, mmap, io_uring, libaio, pmem, stream and the engines on names are known"
            );
            std::process::exit(2);
        }
    }
}

fn print(m: &Measured) {
    let wall = m.wall.as_secs_f64();
    println!(
        "{{\"jobs\":[{{\"jobname\":\"bare\",\"read\":{{\"iops\":{:.3},\"total_ios\":{}}},\
         \"usr_cpu\":{:.3},\"sys_cpu\":{:.3}}}]}}",
        m.ios as f64 / wall,
        m.ios,
        100.0 * m.user.as_secs_f64() / wall,
        100.0 * m.system.as_secs_f64() / wall,
    );
}
