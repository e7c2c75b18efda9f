//! The sizes of huge pages that the kernel offers, and how to request one of them.
//!
//! Each size has a pool in `/sys/kernel/mm/hugepages/hugepages-<KiB>kB/`
//! (`Documentation/admin-guide/mm/hugetlbpage.rst`). The flags of a mapping or segment select the pool:
//! bits 26 to 31 hold the base-2 logarithm of the size (`asm-generic/hugetlb_encode.h`;
//! `MAP_HUGE_SHIFT` and `SHM_HUGE_SHIFT` are the same). If these bits are zero, the kernel uses the
//! default size, `Hugepagesize` of `/proc/meminfo`.

use std::path::{Path, PathBuf};

use fiord_types::Bytes;

/// Directory that contains the pools.
const POOLS: &str = "/sys/kernel/mm/hugepages";

/// The huge pages of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    /// Size of a page.
    pub page: Bytes,
    /// Number of pages in the pool (`nr_hugepages`).
    pub reserved: u64,
    /// Number of pages that are neither in use nor promised to a mapping.
    pub free: u64,
}

impl Pool {
    /// Returns the file that sets the number of pages in the pool with this page size.
    #[must_use]
    pub fn file(page: Bytes) -> PathBuf {
        Path::new(POOLS).join(format!("hugepages-{}kB/nr_hugepages", page.0 / 1024))
    }
}

/// Lists the pools of this kernel, ordered by page size; empty if it has no huge pages.
#[must_use]
pub fn pools() -> Vec<Pool> {
    pools_in(Path::new(POOLS))
}

fn pools_in(directory: &Path) -> Vec<Pool> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let pool = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        let kib: u64 =
            name.to_str()?.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        let number = |name: &str| -> Option<u64> {
            std::fs::read_to_string(entry.path().join(name)).ok()?.trim().parse().ok()
        };
        let free = number("free_hugepages")?.saturating_sub(number("resv_hugepages")?);
        Some(Pool { page: Bytes(kib.checked_mul(1024)?), reserved: number("nr_hugepages")?, free })
    };
    let mut pools: Vec<Pool> = entries.filter_map(pool).collect();
    pools.sort_by_key(|pool| pool.page);
    pools
}

/// Returns the bits of `mmap(2)` and `shmget(2)` flags that request pages of this size, a power of two.
pub(crate) fn flag(page: Bytes) -> i32 {
    /// `HUGETLB_FLAG_ENCODE_SHIFT`.
    const SHIFT: u32 = 26;
    /// `HUGETLB_FLAG_ENCODE_MASK`.
    const MASK: u32 = 0x3f;
    ((page.0.checked_ilog2().unwrap_or(0) & MASK) << SHIFT) as i32
}

/// Formats a page size with its unit, such as `2 MiB`.
#[must_use]
pub fn words(page: Bytes) -> String {
    let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let fits = units.into_iter().find(|(_, unit)| page.0 >= *unit && page.0.is_multiple_of(*unit));
    fits.map_or(format!("{} bytes", page.0), |(name, unit)| format!("{} {name}", page.0 / unit))
}

/// Explains why `bytes` of memory are not available in pages of this size, and gives the remedy.
pub(crate) fn missing(page: Bytes, bytes: Bytes) -> String {
    let wanted = bytes.0.div_ceil(page.0.max(1));
    let (words, file) = (words(page), Pool::file(page));
    let Some(pool) = pools().into_iter().find(|pool| pool.page == page) else {
        return format!(
            "this kernel has no huge pages of {words}. To fix: use a size that is listed in {POOLS}"
        );
    };
    let more = pool.reserved + wanted.saturating_sub(pool.free).max(1);
    format!(
        "not enough huge pages of {words}: {wanted} needed, {} of {} reserved pages are free. To fix: \
         as root, run `echo {more} > {}` and read the file back: it holds the number of pages that the \
         kernel could reserve (soon after boot it can reserve most)",
        pool.free,
        pool.reserved,
        file.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_are_read_with_their_free_pages() {
        let base = std::env::temp_dir().join(format!("fiord-pools-{}", std::process::id()));
        for (name, [reserved, free, promised]) in
            [("hugepages-1048576kB", [1, 1, 0]), ("hugepages-2048kB", [20, 12, 4])]
        {
            std::fs::create_dir_all(base.join(name)).unwrap();
            for (file, n) in
                [("nr_hugepages", reserved), ("free_hugepages", free), ("resv_hugepages", promised)]
            {
                std::fs::write(base.join(name).join(file), format!("{n}\n")).unwrap();
            }
        }
        std::fs::create_dir_all(base.join("other")).unwrap();
        let found = pools_in(&base);
        std::fs::remove_dir_all(&base).unwrap();
        let small = Pool { page: Bytes(2 << 20), reserved: 20, free: 8 };
        assert_eq!(found, [small, Pool { page: Bytes(1 << 30), reserved: 1, free: 1 }]);
        assert!(pools_in(Path::new("/nowhere")).is_empty());
    }

    /// Compares with the values of `asm-generic/hugetlb_encode.h`.
    #[test]
    fn flags_match_the_kernels_encoding() {
        assert_eq!(flag(Bytes(2 << 20)), libc::MAP_HUGE_2MB);
        assert_eq!(flag(Bytes(1 << 30)), libc::MAP_HUGE_1GB);
        assert_eq!(flag(Bytes(64 << 10)), 16 << 26);
        assert_eq!(flag(Bytes(16 << 30)) as u32, 34 << 26);
    }

    #[test]
    fn a_shortage_of_huge_pages_is_reported_with_the_remedy() {
        assert_eq!(
            (words(Bytes(2 << 20)), words(Bytes(64 << 10))),
            ("2 MiB".into(), "64 KiB".into())
        );
        assert!(missing(Bytes(3 << 20), Bytes(1)).contains("no huge pages of 3 MiB"));
        for pool in pools() {
            let said = missing(pool.page, pool.page.saturating_mul(5));
            assert!(said.contains("5 needed"), "{said}");
            assert!(said.contains(Pool::file(pool.page).to_str().unwrap()), "{said}");
        }
    }
}
