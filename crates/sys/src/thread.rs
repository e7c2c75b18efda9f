//! The calling thread: id, name, priorities, user and group.
//!
//! All functions affect one thread, not the process. The C library would change user and group of all threads together.

use std::ffi::CStr;
use std::num::NonZeroU64;

use rustix::process::{getegid, geteuid, getpriority_process, setpriority_process};
use rustix::thread::{self, Gid, Uid};

use crate::Result;
use crate::error::{Named, check};

/// Returns the kernel's id of the calling thread (`gettid(2)`).
#[must_use]
pub fn id() -> i32 {
    thread::gettid().as_raw_pid()
}

/// Sets the thread's name, which `top -H` and `/proc/*/comm` show. The kernel keeps 15 bytes; the name
/// is cut at a character boundary.
///
/// # Errors
/// Errors of `prctl(2)`.
pub fn set_name(name: &str) -> Result<()> {
    let mut buffer = [0u8; 16];
    let mut end = name.len().min(15);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    buffer[..end].copy_from_slice(&name.as_bytes()[..end]);
    let name = CStr::from_bytes_until_nul(&buffer).unwrap_or_default();
    thread::set_name(name).op("prctl PR_SET_NAME")
}

/// Sets the thread's timer slack in nanoseconds: how much later than requested the kernel may wake it, to
/// combine wake-ups (`PR_SET_TIMERSLACK` of `prctl(2)`). The default is 50 µs.
///
/// # Errors
/// Errors of `prctl(2)`.
pub fn set_timer_slack(ns: u64) -> Result<()> {
    thread::set_current_timer_slack(NonZeroU64::new(ns)).op("prctl PR_SET_TIMERSLACK")
}

/// Sets the thread's nice value, -20 to 19 (`setpriority(2)`); values outside are clamped.
///
/// # Errors
/// `EACCES` if the value is below the present one and the thread has neither `CAP_SYS_NICE` nor a
/// sufficient `RLIMIT_NICE`.
pub fn set_nice(value: i32) -> Result<()> {
    setpriority_process(Some(thread::gettid()), value).op("setpriority")
}

/// Returns the thread's nice value.
///
/// # Errors
/// Errors of `getpriority(2)`.
pub fn nice() -> Result<i32> {
    getpriority_process(Some(thread::gettid())).op("getpriority")
}

/// I/O priority class (`ioprio_set(2)`); the numbers of `prioclass=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IoClass {
    /// 0: the class follows from the nice value.
    None,
    /// 1: served before all others; needs `CAP_SYS_NICE` (Linux 5.14) or `CAP_SYS_ADMIN`.
    RealTime,
    /// 2: the default class.
    BestEffort,
    /// 3: served only when no other process uses the disk.
    Idle,
}

impl IoClass {
    /// Returns the class with this number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<IoClass> {
        [IoClass::None, IoClass::RealTime, IoClass::BestEffort, IoClass::Idle]
            .into_iter()
            .find(|class| *class as u32 == number)
    }
}

/// I/O priority of a thread or of one I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IoPriority {
    pub class: IoClass,
    /// Level within the class, 0 (highest) to 7.
    pub level: u8,
    /// Hint, 0 to 1023: a command duration limit descriptor (Linux 6.5).
    pub hint: u16,
}

impl IoPriority {
    /// Encodes the priority as `ioprio_set(2)` and each `io_uring` or libaio request take it: class in
    /// bits 13 to 15, hint in 3 to 12, level in 0 to 2. Larger values are cut.
    #[must_use]
    pub fn value(self) -> u16 {
        (self.class as u16) << 13 | (self.hint & 0x3ff) << 3 | u16::from(self.level & 7)
    }
}

/// Sets the thread's I/O priority.
///
/// # Errors
/// `EPERM` for [`IoClass::RealTime`] without the privilege; `EINVAL` if the kernel does not know the
/// value.
pub fn set_io_priority(priority: IoPriority) -> Result<()> {
    const IOPRIO_WHO_PROCESS: libc::c_int = 1;
    let value = libc::c_int::from(priority.value());
    // SAFETY: integers only; 0 is the calling thread.
    let rc = unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, value) };
    check("ioprio_set", rc).map(drop)
}

/// Returns the thread's I/O priority as the kernel keeps it (see [`IoPriority::value`]).
///
/// # Errors
/// Errors of `ioprio_get(2)`.
pub fn io_priority() -> Result<u16> {
    const IOPRIO_WHO_PROCESS: libc::c_int = 1;
    // SAFETY: integers only; 0 is the calling thread.
    let rc = unsafe { libc::syscall(libc::SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0) };
    Ok(check("ioprio_get", rc)? as u16)
}

/// Sets the real, effective and saved user id of the calling thread. The thread loses root's
/// capabilities and cannot get them back. Set the group first.
///
/// # Errors
/// `EPERM` unless the thread is root or has this id already.
pub fn set_user(uid: u32) -> Result<()> {
    let uid = Uid::from_raw_unchecked(uid);
    thread::set_thread_res_uid(uid, uid, uid).op("setresuid")
}

/// Sets the real, effective and saved group id of the calling thread.
///
/// # Errors
/// `EPERM` unless the thread is root or has this id already.
pub fn set_group(gid: u32) -> Result<()> {
    let gid = Gid::from_raw_unchecked(gid);
    thread::set_thread_res_gid(gid, gid, gid).op("setresgid")
}

/// Returns the thread's effective user id.
#[must_use]
pub fn user() -> u32 {
    geteuid().as_raw()
}

/// Returns the thread's effective group id.
#[must_use]
pub fn group() -> u32 {
    getegid().as_raw()
}

#[cfg(test)]
mod tests {
    use fiord_types::Errno;

    use super::*;

    /// Runs `body` in its own thread, because its changes are permanent.
    fn alone(body: impl FnOnce() + Send + 'static) {
        std::thread::spawn(body).join().unwrap();
    }

    #[test]
    fn long_names_are_cut_at_a_character_boundary() {
        alone(|| {
            set_name("fiord job sixteen").unwrap();
            let comm = format!("/proc/self/task/{}/comm", id());
            assert_eq!(std::fs::read_to_string(&comm).unwrap(), "fiord job sixte\n");
            set_name("fiord-äöüäöü").unwrap();
            assert_eq!(std::fs::read_to_string(&comm).unwrap(), "fiord-äöüä\n");
        });
    }

    #[test]
    fn nice_changes_only_the_calling_thread() {
        let before = nice().unwrap();
        alone(move || {
            set_nice(before.max(0) + 1).unwrap();
            assert_eq!(nice().unwrap(), before.max(0) + 1);
        });
        assert_eq!(nice().unwrap(), before);
    }

    #[test]
    fn io_priorities_are_encoded_and_set() {
        let priority = IoPriority { class: IoClass::BestEffort, level: 3, hint: 0 };
        assert_eq!(priority.value(), 2 << 13 | 3);
        let hinted = IoPriority { class: IoClass::RealTime, level: 0, hint: 5 };
        assert_eq!(hinted.value(), 1 << 13 | 5 << 3);
        assert_eq!(IoClass::from_number(3), Some(IoClass::Idle));
        assert_eq!(IoClass::from_number(4), None);
        alone(move || match set_io_priority(priority) {
            Ok(()) => assert_eq!(io_priority().unwrap(), priority.value()),
            Err(error) => eprintln!("no I/O priorities here: {error}"),
        });
    }

    #[test]
    fn user_and_group_change_only_in_the_calling_thread() {
        if user() != 0 {
            eprintln!("skipped: needs root");
            return;
        }
        alone(|| {
            if let Err(error) = set_group(65534).and_then(|()| set_user(65534)) {
                eprintln!("skipped: {error}");
                return;
            }
            assert_eq!((user(), group()), (65534, 65534));
            assert_eq!(set_user(0).unwrap_err().errno, Errno::EPERM);
        });
        assert_eq!(user(), 0);
    }
}
