//! The calling thread: number, name, priorities, user and group.
//!
//! Everything here concerns one thread, not the process, by the kernel's own calls: the C library
//! would change user and group of all threads together.

use crate::Result;
use crate::error::check;

/// The kernel's number of the calling thread.
pub fn id() -> i32 {
    // SAFETY: takes nothing, returns an integer; cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

/// Names the thread, as `top -H` and `/proc/*/comm` show it. The kernel keeps 15 bytes.
pub fn set_name(name: &str) -> Result<()> {
    let mut buffer = [0u8; 16];
    let mut end = name.len().min(15);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    buffer[..end].copy_from_slice(&name.as_bytes()[..end]);
    // SAFETY: PR_SET_NAME reads at most 16 bytes through the pointer; the buffer ends in a NUL.
    check("prctl PR_SET_NAME", unsafe { libc::prctl(libc::PR_SET_NAME, buffer.as_ptr()) }).map(drop)
}

/// How late the kernel may wake the thread, to wake others with it (`PR_SET_TIMERSLACK`), ns; the
/// usual is 50 µs.
pub fn set_timer_slack(ns: u64) -> Result<()> {
    // SAFETY: integers only.
    check("prctl PR_SET_TIMERSLACK", unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, ns as libc::c_ulong)
    })
    .map(drop)
}

/// Sets the thread's nice value, -20 to 19 (`setpriority(2)`; more is cut). Going below the
/// present value needs `CAP_SYS_NICE` or `RLIMIT_NICE`.
pub fn set_nice(value: i32) -> Result<()> {
    let who = id() as libc::id_t;
    // SAFETY: integers only.
    check("setpriority", unsafe { libc::setpriority(libc::PRIO_PROCESS, who, value) }).map(drop)
}

/// The thread's nice value.
pub fn nice() -> Result<i32> {
    // The system call returns 20 - nice (1 to 40), so that -1 is always an error; the C
    // library's wrapper would turn that back and make it ambiguous.
    // SAFETY: integers only.
    let rc = unsafe { libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, id()) };
    Ok(20 - check("getpriority", rc)? as i32)
}

/// I/O priority class; the numbers of `prioclass=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IoClass {
    /// 0: follows the nice value.
    None,
    /// 1: before all others; needs `CAP_SYS_NICE` (Linux 5.14) or `CAP_SYS_ADMIN`.
    RealTime,
    /// 2: the usual one.
    BestEffort,
    /// 3: only when nobody else wants the disk.
    Idle,
}

impl IoClass {
    /// The class with this number.
    pub fn from_number(number: u32) -> Option<IoClass> {
        [IoClass::None, IoClass::RealTime, IoClass::BestEffort, IoClass::Idle]
            .into_iter()
            .find(|class| *class as u32 == number)
    }
}

/// An I/O priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IoPriority {
    /// Class.
    pub class: IoClass,
    /// Level in the class, 0 (first) to 7.
    pub level: u8,
    /// Hint, 0 to 1023: a command duration limit descriptor (Linux 6.5).
    pub hint: u16,
}

impl IoPriority {
    /// As the kernel takes it, in `ioprio_set(2)` and in each `io_uring` or libaio request: class
    /// in bits 13 to 15, hint in 3 to 12, level in 0 to 2. What does not fit is cut.
    pub fn value(self) -> u16 {
        (self.class as u16) << 13 | (self.hint & 0x3ff) << 3 | u16::from(self.level & 7)
    }
}

/// Sets the thread's I/O priority.
pub fn set_io_priority(priority: IoPriority) -> Result<()> {
    const IOPRIO_WHO_PROCESS: libc::c_int = 1;
    let value = libc::c_int::from(priority.value());
    // SAFETY: integers only; 0 is the calling thread.
    let rc = unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, value) };
    check("ioprio_set", rc).map(drop)
}

/// The thread's I/O priority as the kernel keeps it (see [`IoPriority::value`]).
pub fn io_priority() -> Result<u16> {
    const IOPRIO_WHO_PROCESS: libc::c_int = 1;
    // SAFETY: integers only; 0 is the calling thread.
    let rc = unsafe { libc::syscall(libc::SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0) };
    Ok(check("ioprio_get", rc)? as u16)
}

/// Makes the calling thread act as this user: real, effective and saved id. It loses root's
/// capabilities and cannot go back. Needs root, or the id it has. Change the group first.
pub fn set_user(uid: u32) -> Result<()> {
    // SAFETY: integers only; changes the credentials of this thread alone.
    let rc = unsafe { libc::syscall(libc::SYS_setresuid, uid, uid, uid) };
    check("setresuid", rc).map(drop)
}

/// Makes the calling thread act as this group. Needs root, or the id it has.
pub fn set_group(gid: u32) -> Result<()> {
    // SAFETY: integers only; changes the credentials of this thread alone.
    let rc = unsafe { libc::syscall(libc::SYS_setresgid, gid, gid, gid) };
    check("setresgid", rc).map(drop)
}

/// The thread's effective user id.
pub fn user() -> u32 {
    // SAFETY: takes nothing, cannot fail.
    unsafe { libc::geteuid() }
}

/// The thread's effective group id.
pub fn group() -> u32 {
    // SAFETY: takes nothing, cannot fail.
    unsafe { libc::getegid() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs in a thread of its own, which keeps what was changed.
    fn alone(body: impl FnOnce() + Send + 'static) {
        std::thread::spawn(body).join().unwrap();
    }

    #[test]
    fn names_are_cut_at_a_character() {
        alone(|| {
            set_name("fiord job sixteen").unwrap();
            let comm = format!("/proc/self/task/{}/comm", id());
            assert_eq!(std::fs::read_to_string(&comm).unwrap(), "fiord job sixte\n");
            set_name("fiord-äöüäöü").unwrap();
            assert_eq!(std::fs::read_to_string(&comm).unwrap(), "fiord-äöüä\n");
        });
    }

    #[test]
    fn nice_is_the_threads_own() {
        let before = nice().unwrap();
        alone(move || {
            set_nice(before.max(0) + 1).unwrap();
            assert_eq!(nice().unwrap(), before.max(0) + 1);
        });
        assert_eq!(nice().unwrap(), before);
    }

    #[test]
    fn io_priorities() {
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
    fn user_and_group_of_one_thread() {
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
            assert_eq!(set_user(0).unwrap_err().errno, libc::EPERM);
        });
        assert_eq!(user(), 0);
    }
}
