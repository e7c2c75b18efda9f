//! Turns `SIGBUS` in a guarded range of memory into an error.
//!
//! A program that touches a mapped file beyond its end (another program shortened it), on a full
//! file system, or where the device fails gets `SIGBUS`, which ends the process. In a range with a
//! [`BusGuard`] the process survives: the signal handler maps a page of anonymous memory at the
//! faulting address, records the address and returns, so that the interrupted instruction
//! continues and completes. The handler unwinds no stack and jumps over no code.
//! [`BusGuard::fault`] then reports the fault.
//!
//! A guard lives as long as its mapping, so an access costs one load of the recorded address.
//!
//! From then on the anonymous page hides the file. The owner of the mapping must map the file again
//! before it uses that page; [`crate::mapping::Mapping`] does so.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, compiler_fence};

use fiord_types::Bytes;

use crate::error::check;
use crate::{Result, host};

/// A `SIGBUS` that occurred in a guarded range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BusFault {
    /// Bytes from the start of the guarded range to the first address that faulted.
    pub offset: Bytes,
}

/// The value of [`Range::fault`] while nothing has faulted.
const NOWHERE: usize = usize::MAX;

/// A slot in the list of guarded ranges. Slots are reused but never freed, because a signal handler
/// may be reading one.
#[derive(Debug)]
struct Range {
    used: AtomicBool,
    start: AtomicUsize,
    /// First address after the range; 0 while the slot guards nothing.
    end: AtomicUsize,
    /// First address that faulted, or [`NOWHERE`].
    fault: AtomicUsize,
    /// Size of the mapping's pages in bytes.
    page: AtomicUsize,
    next: *const Range,
}

// SAFETY: `next` is written before the range is published, and points to a range that is never freed.
unsafe impl Sync for Range {}

/// Head of the list of guarded ranges. The list only grows.
static RANGES: AtomicPtr<Range> = AtomicPtr::new(std::ptr::null_mut());

/// Iterates over all slots of the list.
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
    /// Claims an unused slot, or adds a new one to the list.
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

    /// Whether the range contains the address. A range that changes during the call belongs to another
    /// thread and does not match.
    fn contains(&self, address: usize) -> bool {
        let end = self.end.load(Ordering::Acquire);
        let start = self.start.load(Ordering::Acquire);
        (start..end).contains(&address) && self.end.load(Ordering::Acquire) == end
    }
}

/// While it lives, a `SIGBUS` in its range of memory does not end the process. Reads from a page
/// that faulted return zeroes, and writes to it are lost.
#[derive(Debug)]
pub struct BusGuard {
    range: &'static Range,
}

impl BusGuard {
    /// Guards `len` bytes from `start`. They must belong to one mapping that only one thread uses:
    /// another thread would read the anonymous page without noticing the fault.
    ///
    /// # Errors
    /// Errors of `sigaction(2)`.
    pub fn new(start: *const u8, len: usize) -> Result<BusGuard> {
        BusGuard::of_pages(start, len, host::page_size())
    }

    /// Guards `len` bytes from `start`, in a mapping whose pages have `page` bytes (huge pages). The
    /// rules of [`BusGuard::new`] apply.
    ///
    /// # Errors
    /// Errors of `sigaction(2)`.
    pub fn of_pages(start: *const u8, len: usize, page: usize) -> Result<BusGuard> {
        install()?;
        let range = Range::unused();
        range.fault.store(NOWHERE, Ordering::Relaxed);
        range.page.store(page, Ordering::Relaxed);
        range.start.store(start.addr(), Ordering::Release);
        range.end.store(start.addr() + len, Ordering::Release);
        Ok(BusGuard { range })
    }

    /// Returns the first fault since the last [`BusGuard::clear`].
    #[inline(always)]
    #[must_use]
    pub fn fault(&self) -> Option<BusFault> {
        // The accesses before this point are complete, so this thread's handler has recorded any fault.
        compiler_fence(Ordering::SeqCst);
        match self.range.fault.load(Ordering::Relaxed) {
            NOWHERE => None,
            address => Some(BusFault {
                offset: Bytes((address - self.range.start.load(Ordering::Relaxed)) as u64),
            }),
        }
    }

    /// Forgets the recorded fault.
    pub fn clear(&self) {
        self.range.fault.store(NOWHERE, Ordering::Relaxed);
    }
}

/// Observes the faults of a range that another owner guards.
#[derive(Debug, Clone, Copy)]
pub struct BusWatch {
    range: &'static Range,
}

impl PartialEq for BusWatch {
    fn eq(&self, other: &BusWatch) -> bool {
        std::ptr::eq(self.range, other.range)
    }
}

impl BusWatch {
    /// Returns a watch over the guarded range that contains the address, if there is one. The watch
    /// must not outlive the guard: it would report the faults of the slot's next owner.
    #[must_use]
    pub fn over(address: *const u8) -> Option<BusWatch> {
        ranges().find(|range| range.contains(address.addr())).map(|range| BusWatch { range })
    }

    /// Whether a page of the guarded range has faulted since the guard was last cleared.
    #[must_use]
    pub fn has_fault(&self) -> bool {
        self.range.fault.load(Ordering::Relaxed) != NOWHERE
    }
}

/// Whether a guard covers an address.
pub(crate) fn is_guarded(address: *const u8) -> bool {
    ranges().any(|range| range.contains(address.addr()))
}

impl Drop for BusGuard {
    fn drop(&mut self) {
        self.range.end.store(0, Ordering::Release);
        self.range.used.store(false, Ordering::Release);
    }
}

/// Installs the signal handler, once per process.
///
/// # Errors
/// Errors of `sigaction(2)`.
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
    check("sigaction", unsafe {
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut())
    })
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
        // The address is not guarded. Without a handler the fault recurs and ends the process, as it should.
        // SAFETY: signal(2) may be called in a handler; SIG_DFL is a valid disposition.
        unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
    }
}

/// Maps anonymous memory over the page of `page` bytes that contains the address.
fn put_page(address: usize, page: usize) -> bool {
    let start = address & !(page - 1);
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the page lies in a guarded range and the access to it has just failed, so no readable
    // data is lost; mmap is a bare system call, which a signal handler may make. The errno location is
    // this thread's own, and its value is restored.
    unsafe {
        let errno = libc::__errno_location();
        let saved = *errno;
        let new = libc::mmap(start as *mut libc::c_void, page, access, flags, -1, 0);
        *errno = saved;
        new != libc::MAP_FAILED
    }
}
