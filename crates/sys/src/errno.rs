//! Remedies for failed system calls.

use fiord_types::Errno;

/// Returns the likely cause of a failure of `op` and the remedy, for causes that are well known.
#[must_use]
pub fn advice(op: &str, errno: Errno) -> Option<&'static str> {
    let says = |word: &str| op.contains(word);
    Some(match errno {
        Errno::EACCES | Errno::EPERM => missing_permission(op),
        Errno::ENOENT if says("write cgroup") => {
            "this kernel has no such control. To fix: for weights, use the BFQ scheduler or iocost"
        }
        Errno::ENOMEM if says("HUGE") => {
            "there are no free huge pages (HugePages_Free in /proc/meminfo). To fix: raise \
             vm.nr_hugepages"
        }
        Errno::ENOMEM | Errno::EAGAIN if says("mlock") => {
            "the memory exceeds the memlock limit. To fix: raise it (ulimit -l)"
        }
        Errno::EINVAL if says("O_DIRECT") => {
            "the file system does not support direct I/O. To fix: use direct=0 or another file system"
        }
        Errno::ENODATA if says("mmap") => {
            "another program made the file shorter while it was mapped. To fix: stop that program"
        }
        Errno::ENODEV if says("cgroup") => {
            "no hierarchy with a block I/O controller is mounted. To fix: mount one with io (cgroup \
             version 2) or blkio (version 1)"
        }
        Errno::EMFILE => "too many open files. To fix: raise the nofile limit (ulimit -n)",
        Errno::ENFILE => "too many open files in the whole system. To fix: raise fs.file-max",
        Errno::EROFS => {
            "the file system is mounted read-only. To fix: mount it with `-o remount,rw`"
        }
        Errno::ENOSPC if says("cgroup") => {
            "the cgroup has no CPUs or memory nodes, or there are too many cgroups. To fix: set its cpuset, or \
             remove unused cgroups"
        }
        Errno::ENOSPC => {
            "the file system has no space or no inodes left (`df -i`). To fix: remove files from it, or make \
             `size` or the number of files smaller"
        }
        Errno::EDQUOT => {
            "the user's disk quota is used up. To fix: delete files, or raise the quota"
        }
        Errno::EFBIG => {
            "the file would exceed the limit of this process or of the file system. To fix: raise the \
             limit (ulimit -f unlimited), or make `size` smaller"
        }
        Errno::EISDIR => "the path names a directory. To fix: name a file",
        Errno::ENOTDIR => {
            "a component of the path is a file, not a directory. To fix: check the path"
        }
        Errno::ENXIO | Errno::ENODEV if says("open") => {
            "no driver serves this device node. To fix: connect the device, or load its driver"
        }
        Errno::ENOMEDIUM => "the drive has no medium. To fix: insert one",
        Errno::EBUSY if says("open") => {
            "the device is in use (mounted, or held by another device or program). To fix: unmount it, or end the \
             program that holds it"
        }
        Errno::ETXTBSY => {
            "the file is a running program or a swap file. To fix: end it, or `swapoff` it"
        }
        Errno::ENOSYS => {
            "this kernel lacks the call, or a sandbox forbids it. To fix: use a newer kernel, or allow it"
        }
        Errno::EIO => {
            "the device reported an error. To fix: find the cause in the kernel log (dmesg)"
        }
        Errno::EUCLEAN => "the file system is damaged. To fix: run its checker (fsck)",
        Errno::ESTALE => "the network file system lost the file. To fix: mount it again",
        _ => return None,
    })
}

/// Returns the permission that a call needs, and the remedy.
fn missing_permission(op: &str) -> &'static str {
    let says = |word: &str| op.contains(word);
    if says("mlock") {
        "the memory exceeds the memlock limit. To fix: raise it (ulimit -l), or run as root"
    } else if says("ioprio") {
        "the real-time I/O class needs CAP_SYS_NICE or CAP_SYS_ADMIN. To fix: run as root"
    } else if says("setpriority") {
        "a negative nice value needs CAP_SYS_NICE or a higher RLIMIT_NICE. To fix: run as root"
    } else if says("setres") {
        "only root may change the user or group. To fix: run as root"
    } else if says("SHM_HUGETLB") {
        "your group may not use huge pages. To fix: add it to vm.hugetlb_shm_group, or run as root"
    } else {
        "this user has no permission. To fix: check the owner and mode of the file, or run as root"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_depends_on_the_call() {
        assert!(advice("mlock", Errno::EPERM).unwrap().contains("memlock"));
        assert!(advice("open", Errno::EACCES).unwrap().contains("owner"));
        assert!(advice("mmap MAP_HUGETLB", Errno::ENOMEM).unwrap().contains("nr_hugepages"));
        assert_eq!(advice("mmap", Errno::ENOMEM), None);
    }
}
