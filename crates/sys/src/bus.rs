//! `SIGBUS` as an error.
//!
//! Touching a mapped file beyond its end (somebody shortened it), on a full file system, or where
//! the device fails raises `SIGBUS`, which ends the process. Inside [`guarded`] it does not: the
//! handler puts a page of anonymous memory where the fault was, notes the address and returns, so
//! that the interrupted instruction goes on and runs to its end in order. No stack is unwound and
//! nothing is jumped over. [`guarded`] then reports the fault.
//!
//! The page that was put there hides the file from then on. Whoever owns the mapping must map the
//! file anew before using it again; [`crate::mapping::Mapping`] does that.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering, compiler_fence};

use crate::error::check;
use crate::{Result, host};

/// A `SIGBUS` in a guarded range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Bytes from the start of the guarded range to the first address that faulted.
    pub offset: usize,
}

/// No address: what [`Guard::fault`] holds while nothing has faulted.
const NOWHERE: usize = usize::MAX;

/// The range this thread guards. Only this thread and a handler that interrupts it look at it;
/// atomics with compiler fences are what makes that well defined.
struct Guard {
    start: AtomicUsize,
    end: AtomicUsize,
    fault: AtomicUsize,
}

thread_local! {
    // Const-initialised and without a destructor: reading it in a signal handler is a plain
    // access to thread-local memory, which `guarded` has touched before.
    static GUARD: Guard =
        const { Guard { start: AtomicUsize::new(0), end: AtomicUsize::new(0), fault: AtomicUsize::new(NOWHERE) } };
}

/// Page size, kept where the handler can read it.
static PAGE: AtomicUsize = AtomicUsize::new(4096);

/// Runs `body`; a `SIGBUS` at an address in `range` makes the result a [`Fault`] instead of
/// ending the process. What `body` read from the faulting page is then zeroes, and what it wrote
/// there is lost, so its result is dropped.
///
/// The range must belong to one mapping that only this thread uses: another thread would find the
/// anonymous page there without being told. Guards do not nest. [`install`] must have worked before:
/// without the handler a fault ends the process.
///
/// # Errors
/// The fault.
#[inline(always)]
pub fn guarded<T>(
    range: Range<*const u8>,
    body: impl FnOnce() -> T,
) -> std::result::Result<T, Fault> {
    let start = range.start as usize;
    GUARD.with(|guard| {
        guard.fault.store(NOWHERE, Ordering::Relaxed);
        guard.start.store(start, Ordering::Relaxed);
        guard.end.store(range.end as usize, Ordering::Relaxed);
        /// Disarms even if the body panics.
        struct Disarm<'a>(&'a Guard);
        impl Drop for Disarm<'_> {
            fn drop(&mut self) {
                compiler_fence(Ordering::SeqCst);
                self.0.end.store(0, Ordering::Relaxed);
            }
        }
        let disarm = Disarm(guard);
        compiler_fence(Ordering::SeqCst);
        let value = body();
        drop(disarm);
        match guard.fault.load(Ordering::Relaxed) {
            NOWHERE => Ok(value),
            address => Err(Fault { offset: address.saturating_sub(start) }),
        }
    })
}

/// Installs the handler, once a process.
///
/// # Errors
/// That of `sigaction(2)`.
pub fn install() -> Result<()> {
    static INSTALLED: OnceLock<Result<()>> = OnceLock::new();
    INSTALLED.get_or_init(install_once).clone()
}

fn install_once() -> Result<()> {
    PAGE.store(host::page_size(), Ordering::Release);
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
    let replaced = GUARD.with(|guard| {
        let inside = (guard.start.load(Ordering::Relaxed)..guard.end.load(Ordering::Relaxed))
            .contains(&address);
        if inside && guard.fault.load(Ordering::Relaxed) == NOWHERE {
            guard.fault.store(address, Ordering::Relaxed);
        }
        inside && put_page(address)
    });
    if !replaced {
        // Not ours: the same fault again, without a handler, ends the process as it should.
        // SAFETY: signal(2) may be called in a handler; SIG_DFL is a valid disposition.
        unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
    }
}

/// Puts an anonymous page at the address. Fails inside huge pages, whose mapping cannot be split.
fn put_page(address: usize) -> bool {
    let page = PAGE.load(Ordering::Acquire);
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
