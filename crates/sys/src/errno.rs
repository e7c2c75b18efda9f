//! Names, texts and remedies of errno values.

/// Errno values with the names that their manual pages give them, ordered by name.
const NAMES: &[(i32, &str)] = &[
    (libc::E2BIG, "E2BIG"),
    (libc::EACCES, "EACCES"),
    (libc::EADDRINUSE, "EADDRINUSE"),
    (libc::EADDRNOTAVAIL, "EADDRNOTAVAIL"),
    (libc::EADV, "EADV"),
    (libc::EAFNOSUPPORT, "EAFNOSUPPORT"),
    (libc::EAGAIN, "EAGAIN"),
    (libc::EALREADY, "EALREADY"),
    (libc::EBADE, "EBADE"),
    (libc::EBADF, "EBADF"),
    (libc::EBADFD, "EBADFD"),
    (libc::EBADMSG, "EBADMSG"),
    (libc::EBADR, "EBADR"),
    (libc::EBADRQC, "EBADRQC"),
    (libc::EBADSLT, "EBADSLT"),
    (libc::EBFONT, "EBFONT"),
    (libc::EBUSY, "EBUSY"),
    (libc::ECANCELED, "ECANCELED"),
    (libc::ECHILD, "ECHILD"),
    (libc::ECHRNG, "ECHRNG"),
    (libc::ECOMM, "ECOMM"),
    (libc::ECONNABORTED, "ECONNABORTED"),
    (libc::ECONNREFUSED, "ECONNREFUSED"),
    (libc::ECONNRESET, "ECONNRESET"),
    (libc::EDEADLK, "EDEADLK"),
    (libc::EDESTADDRREQ, "EDESTADDRREQ"),
    (libc::EDOM, "EDOM"),
    (libc::EDOTDOT, "EDOTDOT"),
    (libc::EDQUOT, "EDQUOT"),
    (libc::EEXIST, "EEXIST"),
    (libc::EFAULT, "EFAULT"),
    (libc::EFBIG, "EFBIG"),
    (libc::EHOSTDOWN, "EHOSTDOWN"),
    (libc::EHOSTUNREACH, "EHOSTUNREACH"),
    (libc::EHWPOISON, "EHWPOISON"),
    (libc::EIDRM, "EIDRM"),
    (libc::EILSEQ, "EILSEQ"),
    (libc::EINPROGRESS, "EINPROGRESS"),
    (libc::EINTR, "EINTR"),
    (libc::EINVAL, "EINVAL"),
    (libc::EIO, "EIO"),
    (libc::EISCONN, "EISCONN"),
    (libc::EISDIR, "EISDIR"),
    (libc::EISNAM, "EISNAM"),
    (libc::EKEYEXPIRED, "EKEYEXPIRED"),
    (libc::EKEYREJECTED, "EKEYREJECTED"),
    (libc::EKEYREVOKED, "EKEYREVOKED"),
    (libc::EL2HLT, "EL2HLT"),
    (libc::EL2NSYNC, "EL2NSYNC"),
    (libc::EL3HLT, "EL3HLT"),
    (libc::EL3RST, "EL3RST"),
    (libc::ELIBACC, "ELIBACC"),
    (libc::ELIBBAD, "ELIBBAD"),
    (libc::ELIBEXEC, "ELIBEXEC"),
    (libc::ELIBMAX, "ELIBMAX"),
    (libc::ELIBSCN, "ELIBSCN"),
    (libc::ELNRNG, "ELNRNG"),
    (libc::ELOOP, "ELOOP"),
    (libc::EMEDIUMTYPE, "EMEDIUMTYPE"),
    (libc::EMFILE, "EMFILE"),
    (libc::EMLINK, "EMLINK"),
    (libc::EMSGSIZE, "EMSGSIZE"),
    (libc::EMULTIHOP, "EMULTIHOP"),
    (libc::ENAMETOOLONG, "ENAMETOOLONG"),
    (libc::ENAVAIL, "ENAVAIL"),
    (libc::ENETDOWN, "ENETDOWN"),
    (libc::ENETRESET, "ENETRESET"),
    (libc::ENETUNREACH, "ENETUNREACH"),
    (libc::ENFILE, "ENFILE"),
    (libc::ENOANO, "ENOANO"),
    (libc::ENOBUFS, "ENOBUFS"),
    (libc::ENOCSI, "ENOCSI"),
    (libc::ENODATA, "ENODATA"),
    (libc::ENODEV, "ENODEV"),
    (libc::ENOENT, "ENOENT"),
    (libc::ENOEXEC, "ENOEXEC"),
    (libc::ENOKEY, "ENOKEY"),
    (libc::ENOLCK, "ENOLCK"),
    (libc::ENOLINK, "ENOLINK"),
    (libc::ENOMEDIUM, "ENOMEDIUM"),
    (libc::ENOMEM, "ENOMEM"),
    (libc::ENOMSG, "ENOMSG"),
    (libc::ENONET, "ENONET"),
    (libc::ENOPKG, "ENOPKG"),
    (libc::ENOPROTOOPT, "ENOPROTOOPT"),
    (libc::ENOSPC, "ENOSPC"),
    (libc::ENOSR, "ENOSR"),
    (libc::ENOSTR, "ENOSTR"),
    (libc::ENOSYS, "ENOSYS"),
    (libc::ENOTBLK, "ENOTBLK"),
    (libc::ENOTCONN, "ENOTCONN"),
    (libc::ENOTDIR, "ENOTDIR"),
    (libc::ENOTEMPTY, "ENOTEMPTY"),
    (libc::ENOTNAM, "ENOTNAM"),
    (libc::ENOTRECOVERABLE, "ENOTRECOVERABLE"),
    (libc::ENOTSOCK, "ENOTSOCK"),
    (libc::ENOTTY, "ENOTTY"),
    (libc::ENOTUNIQ, "ENOTUNIQ"),
    (libc::ENXIO, "ENXIO"),
    (libc::EOPNOTSUPP, "EOPNOTSUPP"),
    (libc::EOVERFLOW, "EOVERFLOW"),
    (libc::EOWNERDEAD, "EOWNERDEAD"),
    (libc::EPERM, "EPERM"),
    (libc::EPFNOSUPPORT, "EPFNOSUPPORT"),
    (libc::EPIPE, "EPIPE"),
    (libc::EPROTO, "EPROTO"),
    (libc::EPROTONOSUPPORT, "EPROTONOSUPPORT"),
    (libc::EPROTOTYPE, "EPROTOTYPE"),
    (libc::ERANGE, "ERANGE"),
    (libc::EREMCHG, "EREMCHG"),
    (libc::EREMOTE, "EREMOTE"),
    (libc::EREMOTEIO, "EREMOTEIO"),
    (libc::ERESTART, "ERESTART"),
    (libc::ERFKILL, "ERFKILL"),
    (libc::EROFS, "EROFS"),
    (libc::ESHUTDOWN, "ESHUTDOWN"),
    (libc::ESOCKTNOSUPPORT, "ESOCKTNOSUPPORT"),
    (libc::ESPIPE, "ESPIPE"),
    (libc::ESRCH, "ESRCH"),
    (libc::ESRMNT, "ESRMNT"),
    (libc::ESTALE, "ESTALE"),
    (libc::ESTRPIPE, "ESTRPIPE"),
    (libc::ETIME, "ETIME"),
    (libc::ETIMEDOUT, "ETIMEDOUT"),
    (libc::ETOOMANYREFS, "ETOOMANYREFS"),
    (libc::ETXTBSY, "ETXTBSY"),
    (libc::EUCLEAN, "EUCLEAN"),
    (libc::EUNATCH, "EUNATCH"),
    (libc::EUSERS, "EUSERS"),
    (libc::EXDEV, "EXDEV"),
    (libc::EXFULL, "EXFULL"),
];

/// Returns the symbolic name (`"ENOSPC"`), or `"E?"` for a number that Linux does not define.
///
/// If several names share a number, this is the usual one: `EAGAIN`, `EDEADLK`, `EOPNOTSUPP`.
#[must_use]
pub fn name(errno: i32) -> &'static str {
    NAMES.iter().find(|(number, _)| *number == errno).map_or("E?", |(_, name)| name)
}

/// Returns the errno with this symbolic name. The aliases `EWOULDBLOCK`, `EDEADLOCK` and `ENOTSUP`
/// are accepted too.
#[must_use]
pub fn number(name: &str) -> Option<i32> {
    let name = match name {
        "EWOULDBLOCK" => "EAGAIN",
        "EDEADLOCK" => "EDEADLK",
        "ENOTSUP" => "EOPNOTSUPP",
        other => other,
    };
    NAMES.iter().find(|(_, known)| *known == name).map(|(number, _)| *number)
}

/// Returns the C library's text for an errno (`"No space left on device"`).
#[must_use]
pub fn text(errno: i32) -> String {
    let mut buffer = [0u8; 256];
    // SAFETY: the pointer and length describe `buffer`, which outlives the call; the XSI form of
    // strerror_r (the one the libc crate binds) writes a NUL-terminated string into it.
    let rc = unsafe { libc::strerror_r(errno, buffer.as_mut_ptr().cast(), buffer.len()) };
    let end = buffer.iter().position(|&byte| byte == 0).unwrap_or(0);
    if rc != 0 && end == 0 {
        return format!("errno {errno}");
    }
    String::from_utf8_lossy(&buffer[..end]).into_owned()
}

/// Returns the likely cause of a failure of `op` and the remedy, for causes that are well known.
#[must_use]
pub fn advice(op: &str, errno: i32) -> Option<&'static str> {
    let says = |word: &str| op.contains(word);
    Some(match errno {
        libc::EACCES | libc::EPERM if says("mlock") => {
            "the memory exceeds the memlock limit. To fix: raise it (ulimit -l), or run as root"
        }
        libc::EACCES | libc::EPERM if says("ioprio") => {
            "the real-time I/O class needs CAP_SYS_NICE or CAP_SYS_ADMIN. To fix: run as root"
        }
        libc::EACCES | libc::EPERM if says("setpriority") => {
            "a negative nice value needs CAP_SYS_NICE or a higher RLIMIT_NICE. To fix: run as root"
        }
        libc::EACCES | libc::EPERM if says("setres") => {
            "only root may change the user or group. To fix: run as root"
        }
        libc::EACCES | libc::EPERM if says("SHM_HUGETLB") => {
            "your group may not use huge pages. To fix: add it to vm.hugetlb_shm_group, or run as \
             root"
        }
        libc::ENOENT if says("write cgroup") => {
            "this kernel has no such control. To fix: for weights, use the BFQ scheduler or iocost"
        }
        libc::EACCES | libc::EPERM => {
            "this user has no permission. To fix: check the owner and mode of the file, or run as root"
        }
        libc::ENOMEM if says("HUGE") => {
            "there are no free huge pages (HugePages_Free in /proc/meminfo). To fix: raise \
             vm.nr_hugepages"
        }
        libc::ENOMEM | libc::EAGAIN if says("mlock") => {
            "the memory exceeds the memlock limit. To fix: raise it (ulimit -l)"
        }
        libc::EINVAL if says("O_DIRECT") => {
            "the file system does not support direct I/O. To fix: use direct=0 or another file system"
        }
        libc::ENODATA if says("mmap") => {
            "another program made the file shorter while it was mapped. To fix: stop that program"
        }
        libc::ENODEV if says("cgroup") => {
            "no hierarchy with a block I/O controller is mounted. To fix: mount one with io (cgroup \
             version 2) or blkio (version 1)"
        }
        libc::EMFILE => "too many open files. To fix: raise the nofile limit (ulimit -n)",
        libc::ENFILE => "too many open files in the whole system. To fix: raise fs.file-max",
        libc::EROFS => {
            "the file system is mounted read-only. To fix: mount it with `-o remount,rw`"
        }
        libc::ENOSPC if says("cgroup") => {
            "the cgroup has no CPUs or memory nodes, or there are too many cgroups"
        }
        libc::ENOSPC => "the file system is full. To fix: free space on it, or make `size` smaller",
        libc::EDQUOT => {
            "the user's disk quota is used up. To fix: delete files, or raise the quota"
        }
        libc::EFBIG => {
            "the file would exceed the limit of this process or of the file system. To fix: raise the \
             limit (ulimit -f unlimited), or make `size` smaller"
        }
        libc::EISDIR => "the path names a directory. To fix: name a file",
        libc::ENOTDIR => {
            "a component of the path is a file, not a directory. To fix: check the path"
        }
        libc::ENXIO | libc::ENODEV if says("open") => "there is no device behind this node",
        libc::ENOMEDIUM => "the drive has no medium. To fix: insert one",
        libc::EBUSY if says("open") => {
            "the device is in use (mounted, or held by another device or program)"
        }
        libc::ETXTBSY => "the file is a program that is running, or a swap file",
        libc::ENOSYS => "this kernel does not have the call, or a sandbox forbids it",
        libc::EIO => {
            "the device reported an error. To fix: find the cause in the kernel log (dmesg)"
        }
        libc::EUCLEAN => "the file system is damaged. To fix: run its checker (fsck)",
        libc::ESTALE => "the network file system lost the file. To fix: mount it again",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_agree() {
        for (errno, known) in NAMES {
            assert_eq!(name(*errno), *known, "two names for {errno}");
            assert_eq!(number(known), Some(*errno));
        }
        assert_eq!(name(9999), "E?");
        assert_eq!(number("ENOTSUP"), Some(libc::EOPNOTSUPP));
        assert_eq!(number("EFOO"), None);
    }

    #[test]
    fn texts_come_from_the_c_library() {
        assert_eq!(text(libc::ENOSPC), "No space left on device");
        assert_eq!(text(libc::EIO), "Input/output error");
        assert!(text(9999).contains("9999"));
    }

    #[test]
    fn advice_depends_on_the_call() {
        assert!(advice("mlock", libc::EPERM).unwrap().contains("memlock"));
        assert!(advice("open", libc::EACCES).unwrap().contains("owner"));
        assert!(advice("mmap MAP_HUGETLB", libc::ENOMEM).unwrap().contains("nr_hugepages"));
        assert_eq!(advice("mmap", libc::ENOMEM), None);
    }
}
