//! System calls of the I/O path, issued without the C library.
//!
//! `syscall(2)` of the C library moves every argument to another register. Its wrappers of blocking
//! calls are cancellation points, which cost two locked instructions per I/O in a program with
//! several threads; fiord cancels no threads. On architectures without an instruction below, the C
//! library issues the call.

use libc::c_long;

/// Defines a function for a system call with this number of arguments. A call with fewer arguments
/// leaves more registers to the loop around it: with six registers where four suffice, reads took 1
/// % longer.
macro_rules! call {
    ($name:ident, $count:tt, $($register:tt $at:tt),*) => {
        /// Issues the system call. Returns the result of the kernel: a negative number is an errno.
        ///
        /// # Safety
        ///
        /// What the system call `number` demands of its arguments.
        #[inline(always)]
        pub(crate) unsafe fn $name(number: c_long, args: [usize; $count]) -> i64 {
            #[cfg(target_arch = "x86_64")]
            {
                let ret: i64;
                // SAFETY: the instruction changes rax, rcx, r11 and the memory that the system call
                // writes, for which the caller vouches.
                unsafe {
                    std::arch::asm!(
                        "syscall",
                        inlateout("rax") number => ret,
                        $(in($register) args[$at],)*
                        lateout("rcx") _,
                        lateout("r11") _,
                        options(nostack),
                    );
                }
                ret
            }
            #[cfg(not(target_arch = "x86_64"))]
            // SAFETY: the caller vouches for the arguments.
            crate::error::raw_result(unsafe { libc::syscall(number, $(args[$at]),*) })
        }
    };
}

call!(call4, 4, "rdi" 0, "rsi" 1, "rdx" 2, "r10" 3);
call!(call6, 6, "rdi" 0, "rsi" 1, "rdx" 2, "r10" 3, "r8" 4, "r9" 5);

#[cfg(test)]
mod tests {
    use fiord_types::Errno;

    use super::*;

    #[test]
    fn counts_and_errnos_come_back() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&file) as usize;
        let mut data = [0u8; 4];
        let at = data.as_mut_ptr().expose_provenance();
        // SAFETY: `data` has room for four bytes.
        assert_eq!(unsafe { call4(libc::SYS_pread64, [fd, at, 4, 0]) }, 4);
        assert_eq!(&data, b"\x7fELF");
        // SAFETY: `data` has room for four bytes, and -1 is not a descriptor.
        let ret = unsafe { call4(libc::SYS_pread64, [-1isize as usize, at, 4, 0]) };
        assert_eq!(ret, Errno::EBADF.as_result());
        // SAFETY: maps memory at an address that the kernel chooses, then unmaps it.
        unsafe {
            let (access, kind) = (libc::PROT_READ, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            let args = [0, 4096, access as usize, kind as usize, -1isize as usize, 0];
            let map = call6(libc::SYS_mmap, args);
            assert!(map > 0, "{map}");
            assert_eq!(call4(libc::SYS_munmap, [map as usize, 4096, 0, 0]), 0);
        }
    }
}
