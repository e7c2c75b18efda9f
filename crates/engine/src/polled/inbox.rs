//! Requests to a library that reports each answer by a call: a record for each slot, and the list of slots whose requests
//! are over.
//!
//! The library has no threads of its own, so that the calls come only from within calls that the engine makes.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ffi::c_void;

use crate::Slot;

/// What the library tells about a failure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LibraryText(pub String);

/// The requests of a job, by slot. `T` is what a request needs while the library has it, and its result.
#[derive(Debug)]
pub struct Inbox<T> {
    records: Box<[UnsafeCell<Record<T>>]>,
    /// On the heap, because the records point to it.
    over: Box<UnsafeCell<VecDeque<Slot>>>,
}

#[derive(Debug)]
struct Record<T> {
    slot: Slot,
    /// The library has the request.
    active: bool,
    request: T,
    over: *mut VecDeque<Slot>,
}

impl<T> Inbox<T> {
    /// Records for this many slots. `new` makes the contents of one without a request.
    pub(crate) fn new(slots: u32, new: impl Fn() -> T) -> Self {
        let over = Box::new(UnsafeCell::new(VecDeque::with_capacity(slots as usize)));
        let record = |slot| {
            UnsafeCell::new(Record { slot, active: false, request: new(), over: over.get() })
        };
        Inbox { records: (0..slots).map(record).collect(), over }
    }

    /// The request of a slot, while the library runs no callback.
    ///
    /// # Safety
    ///
    /// The result is not used while the library runs, and there is one such result at a time.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn request(&self, slot: Slot) -> &mut T {
        // SAFETY: the caller vouches for the access.
        unsafe { &mut (*self.records[slot as usize].get()).request }
    }

    /// Begins a request. Returns the pointer that the library passes back to the callback, which calls [`finish`].
    #[inline]
    pub(crate) fn begin(&self, slot: Slot) -> *mut c_void {
        let record = self.records[slot as usize].get();
        // SAFETY: the slot has no request, so that no callback uses the record.
        unsafe { (*record).active = true };
        record.cast()
    }

    /// Takes a request back that the library did not accept.
    pub(crate) fn cancel(&self, slot: Slot) {
        // SAFETY: the library does not have the request.
        unsafe { (*self.records[slot as usize].get()).active = false };
    }

    /// The number of requests that are over and were not taken.
    #[inline]
    pub(crate) fn ready(&self) -> usize {
        // SAFETY: callbacks run only within calls of the library, and none is running.
        unsafe { (*self.over.get()).len() }
    }

    /// Takes the slot of a request that is over.
    #[inline]
    pub(crate) fn take(&self) -> Option<Slot> {
        // SAFETY: as in `ready`.
        unsafe { (*self.over.get()).pop_front() }
    }

    /// Ends the request of a slot, after the library has given it up. `end` sets its result.
    pub(crate) fn end(&self, slot: Slot, end: impl FnOnce(&mut T)) {
        // SAFETY: the library has ended, so that no callback uses the record.
        unsafe { finish(self.records[slot as usize].get().cast(), end) };
    }
}

/// Ends a request: `end` sets its result. Does nothing if the request is over already.
///
/// # Safety
///
/// `private` is a result of [`Inbox::begin`] for the same `T`, the [`Inbox`] still exist, and nothing else uses
/// them at this moment.
#[inline]
pub(crate) unsafe fn finish<T>(private: *mut c_void, end: impl FnOnce(&mut T)) {
    // SAFETY: the caller vouches for the pointer.
    let record = unsafe { &mut *private.cast::<Record<T>>() };
    if !std::mem::replace(&mut record.active, false) {
        return;
    }
    end(&mut record.request);
    // SAFETY: the list lives as long as the records. It has room for all slots.
    unsafe { (*record.over).push_back(record.slot) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_ends_once() {
        let calls = Inbox::new(3, || 0);
        let pointers: Vec<_> = (0..3).map(|slot| calls.begin(slot)).collect();
        for _ in 0..2 {
            // SAFETY: the pointer is that of a record of this type.
            unsafe { finish::<i32>(pointers[1], |result| *result += 5) };
        }
        assert_eq!((calls.ready(), calls.take(), calls.take()), (1, Some(1), None));
        // SAFETY: no callback runs.
        assert_eq!(unsafe { *calls.request(1) }, 5);
        calls.cancel(0);
        (0..3).for_each(|slot| calls.end(slot, |result| *result = -1));
        assert_eq!((calls.take(), calls.take()), (Some(2), None));
        // SAFETY: no callback runs.
        assert_eq!(unsafe { (*calls.request(0), *calls.request(2)) }, (0, -1));
    }
}
