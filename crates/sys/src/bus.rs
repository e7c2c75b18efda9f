//! `SIGBUS` as an error.
//!
//! Touching a mapped file beyond its end (somebody shortened it), on a full file system, or where
//! the device fails raises `SIGBUS`, which ends the process. In a range with a [`Guard`] it does not:
//! the handler puts a page of anonymous memory where the fault was, notes the address and returns, so
//! that the interrupted instruction goes on and runs to its end in order. No stack is unwound and
//! nothing is jumped over. [`Guard::fault`] then tells.
//!
//! A guard stands as long as the mapping does, so that an access costs one look at what the handler
//! may have noted.
//!
//! The page that was put there hides the file from then on. Whoever owns the mapping must map the
//! file anew before using it again; [`crate::mapping::Mapping`] does that.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, compiler_fence};

use crate::error::check;
use crate::{Result, host};

/// A `SIGBUS` in a guarded range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Bytes from the start of the guarded range to the first address that faulted.
    pub offset: usize,
}

/// No address: what [`Range::fault`] holds while nothing has faulted.
const NOWHERE: usize = usize::MAX;

/// A place in the list of guarded ranges. Never freed, for a handler may be looking at it; used again.
#[derive(Debug)]
struct Range {
    used: AtomicBool,
    start: AtomicUsize,
    /// First address behind it; 0 while there is no range.
    end: AtomicUsize,
    /// First address that faulted.
    fault: AtomicUsize,
    /// Size of the mapping's pages.
    page: AtomicUsize,
    next: *const Range,
}

// SAFETY: `next` is written before others see the range, and points to one that is never freed.
unsafe impl Sync for Range {}

/// The guarded ranges, as a list that only grows.
static RANGES: AtomicPtr<Range> = AtomicPtr::new(std::ptr::null_mut());

/// All places of the list.
fn ranges() -> impl Iterator<Item = &'static Range> {
    let mut next = RANGES.load(Ordering::Acquire).cast_const();
    std::iter::from_fn(move || {
        // SAFETY: null, or a range that is never freed.
        let range = unsafe { next.as_ref() }?;
        next = range.next;
        Some(range)
    })
}

impl Range {
    /// A place nobody uses.
    fn unused() -> &'static Range {
        let claimed = |range: &&Range| !range.used.swap(true, Ordering::AcqRel);
        if let Some(range) = ranges().find(claimed) {
            return range;
        }
        let new = Box::leak(Box::new(Range {
            used: AtomicBool::new(true),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            fault: AtomicUsize::new(NOWHERE),
            page: AtomicUsize::new(0),
            next: RANGES.load(Ordering::Acquire),
        }));
        loop {
            let next = new.next.cast_mut();
            match RANGES.compare_exchange(next, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return new,
                Err(first) => new.next = first,
            }
        }
    }

    /// Whether the address is in it. A range that changes meanwhile is not this thread's.
    fn contains(&self, address: usize) -> bool {
        let end = self.end.load(Ordering::Acquire);
        let start = self.start.load(Ordering::Acquire);
        (start..end).contains(&address) && self.end.load(Ordering::Acquire) == end
    }
}

/// Keeps a `SIGBUS` in a range of memory from ending the process, while it lives. What is read from
/// a page that faulted is zeroes, and what is written there is lost.
#[derive(Debug)]
pub struct Guard {
    range: &'static Range,
}

impl Guard {
    /// Guards `len` bytes from `start`. They must belong to one mapping that only one thread uses:
    /// another one would find the anonymous page there without being told.
    ///
    /// # Errors
    /// That of `sigaction(2)`.
    pub fn new(start: *const u8, len: usize) -> Result<Guard> {
        Guard::of_pages(start, len, host::page_size())
    }

    /// As [`Guard::new`], for a mapping that consists of pages of `page` bytes.
    ///
    /// # Errors
    /// That of `sigaction(2)`.
    pub fn of_pages(start: *const u8, len: usize, page: usize) -> Result<Guard> {
        install()?;
        let range = Range::unused();
        range.fault.store(NOWHERE, Ordering::Relaxed);
        range.page.store(page, Ordering::Relaxed);
        range.start.store(start.addr(), Ordering::Release);
        range.end.store(start.addr() + len, Ordering::Release);
        Ok(Guard { range })
    }

    /// The first fault since the last [`Guard::clear`].
    #[inline(always)]
    pub fn fault(&self) -> Option<Fault> {
        // The accesses before are done: a handler of this thread has noted what they met with.
        compiler_fence(Ordering::SeqCst);
        match self.range.fault.load(Ordering::Relaxed) {
            NOWHERE => None,
            address => Some(Fault { offset: address - self.range.start.load(Ordering::Relaxed) }),
        }
    }

    /// Forgets the fault.
    pub fn clear(&self) {
        self.range.fault.store(NOWHERE, Ordering::Relaxed);
    }
}

/// Sees the faults of a guarded range that another owner guards.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    range: &'static Range,
}

impl PartialEq for Watch {
    fn eq(&self, other: &Watch) -> bool {
        std::ptr::eq(self.range, other.range)
    }
}

impl Watch {
    /// The guarded range in which the address lies, if there is one. The watch must not outlive the
    /// guard: it would see the faults of the range's next owner.
    pub fn over(address: *const u8) -> Option<Watch> {
        ranges().find(|range| range.contains(address.addr())).map(|range| Watch { range })
    }

    /// Whether a page of the guarded range was lost.
    pub fn has_fault(&self) -> bool {
        self.range.fault.load(Ordering::Relaxed) != NOWHERE
    }
}

/// Whether a guard stands over an address.
pub(crate) fn is_guarded(address: *const u8) -> bool {
    ranges().any(|range| range.contains(address.addr()))
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.range.end.store(0, Ordering::Release);
        self.range.used.store(false, Ordering::Release);
    }
}

/// Installs the handler, once a process.
///
/// # Errors
/// That of `sigaction(2)`.
fn install() -> Result<()> {
    static INSTALLED: OnceLock<Result<()>> = OnceLock::new();
    INSTALLED.get_or_init(install_once).clone()
}

fn install_once() -> Result<()> {
    // SAFETY: `sigaction` is a C struct for which all zeroes is a value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_bus as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: `action` is valid and the handler has the form that SA_SIGINFO asks for.
    check("sigaction", unsafe { libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut()) })
        .map(drop)
}

extern "C" fn on_bus(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo, and for SIGBUS it holds an address.
    let address = unsafe { (*info).si_addr() } as usize;
    let replaced = ranges().find(|range| range.contains(address)).is_some_and(|range| {
        if range.fault.load(Ordering::Relaxed) == NOWHERE {
            range.fault.store(address, Ordering::Relaxed);
        }
        put_page(address, range.page.load(Ordering::Relaxed))
    });
    if !replaced {
        // Not ours: the same fault again, without a handler, ends the process as it should.
        // SAFETY: signal(2) may be called in a handler; SIG_DFL is a valid disposition.
        unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
    }
}

/// Puts anonymous memory in place of the page of `page` bytes at the address.
fn put_page(address: usize, page: usize) -> bool {
    let start = address & !(page - 1);
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the page lies in a range its owner guards and could not be accessed just now, so no
    // data is lost that could be had; mmap is a bare system call, which a handler may make. The
    // errno location is this thread's own and gets its value back.
    unsafe {
        let errno = libc::__errno_location();
        let saved = *errno;
        let new = libc::mmap(start as *mut libc::c_void, page, access, flags, -1, 0);
        *errno = saved;
        new != libc::MAP_FAILED
    }
}
